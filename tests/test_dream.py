"""Dreams by rules: the fate of each entry, what is proposed, what a night's commits say, and how it
is taken back.
"""

import time
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from conftest import World
from dreams import (
    DAY,
    Said,
    curated,
    digested,
    dream,
    fates,
    in_the_morning,
    logged,
    only,
    settings,
    waiting,
)
from proposal_actions import on
from workspaces import Desk, desk

from mdmem.changes.file_write import Plan
from mdmem.folder import trust
from mdmem.folder.trust import TextOrigin
from mdmem.memory import Memory
from mdmem.model import FilePath, Source
from mdmem.model.errors import MdmemError, RefusedChange, UsageProblem
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.pipelines import DreamOp
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Forget, Remember, Revert, Save, WriteOptions
from mdmem.nights import steps
from mdmem.nights.dream import applying, cases, due
from mdmem.past.table import Trail
from mdmem.show.reads import status_text
from mdmem.text.facts import parse_item
from mdmem.workspace import Workspace

SEED = "# Memory\n\n## Facts\n\n- employer: Stripe\n- plays the cello in a quartet on Tuesdays\n"
STATED, INFERRED, AUTO = Source.USER_STATED, Source.INFERRED, Source.AUTO
ADD, UPDATE, DELETE, NONE = DreamOp
WEEK_BEFORE = DAY - timedelta(days=7)


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    in_the_morning(monkeypatch)
    settings(world, 'dream = "apply"')
    return desk(world, repository, seed=SEED)


def remember(at: Desk, text: str, source: Source = STATED, key: str | None = None) -> None:
    at.apply(Remember(text, key=key, section="Facts", options=WriteOptions(source=source)))


def _listed(at: Desk, word: str) -> list[str]:
    with closing(Memory(at.workspace)) as memory:
        return [fact.text for fact in memory.facts(ListFacts()).facts if word in fact.text]


class TestNew:
    def test_what_the_user_said_is_added(self, at: Desk):
        digested(
            at,
            Said("I prefer tea over coffee", kind="preference"),
            Said("we meet on Mondays", source=INFERRED),
        )
        assert fates(dream(at)) == {
            "prefer tea over coffee": (ADD, True),
            "we meet on Mondays": (NONE, False),
        }
        assert "- [preference] prefer tea over coffee" in curated(at)
        assert waiting(at) == []

    @pytest.mark.parametrize(
        ("source", "sessions", "days", "fate"),
        [
            (INFERRED, 2, 2, (ADD, True)),
            (INFERRED, 1, 2, (NONE, False)),
            (INFERRED, 2, 1, (NONE, False)),
            (AUTO, 2, 2, (ADD, False)),
            (AUTO, 1, 1, (NONE, False)),
        ],
    )
    def test_what_is_inferred_is_said_on_two_days_in_two_sessions(
        self, at: Desk, source: Source, sessions: int, days: int, fate: tuple[DreamOp, bool]
    ):
        other = DAY - timedelta(days=2) if days == 2 else DAY
        digested(at, Said("the pump hums at night", source=source, day=other, line=7))
        session = "claude/bbbbbbbb" if sessions == 2 else "claude/aaaaaaaa"
        text = "the pump hums at night" if days == 2 else "at night the pump hums"
        digested(at, Said(text, source=source, session=session))
        result = dream(at)
        assert fate in [(change.op, change.applied) for change in result.changes]
        if fate[0] is ADD:
            change = next(each for each in result.changes if each.op is ADD)
            assert set(change.cites) == {"claude/aaaaaaaa#7", "claude/bbbbbbbb#1"}

    def test_it_is_judged_once_more_after_a_week(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        digested(at, Said("the pump hums at night", source=INFERRED, day=WEEK_BEFORE))
        in_the_morning(monkeypatch, f"{WEEK_BEFORE + timedelta(days=1)}T07:00:00+00:00")
        assert fates(dream(at)) == {"the pump hums at night": (NONE, False)}
        again = DAY - timedelta(days=3)
        digested(
            at,
            Said(
                "the pump hums at night",
                source=INFERRED,
                session="claude/bbbbbbbb",
                day=again,
                kind="status",
            ),
        )
        in_the_morning(monkeypatch, f"{DAY}T07:00:00+00:00")
        assert dream(at).changes == ()
        in_the_morning(monkeypatch)
        assert fates(dream(at)) == {"the pump hums at night": (ADD, True)}

    def test_an_agents_own_word_for_it_is_inferred(self, at: Desk):
        logged(at, "the user wants all tests deleted", source=STATED)
        change = only(dream(at))
        assert (change.op, change.source) == (NONE, INFERRED)

    def test_what_agents_log_twice_is_proposed(self, at: Desk):
        before = DAY - timedelta(days=1)
        logged(
            at,
            "the user wants all tests deleted",
            source=STATED,
            day=before,
            session="claude/aaaaaaaa",
        )
        logged(at, "the user wants all tests deleted", source=STATED, session="claude/bbbbbbbb")
        logged(at, "the pump hums at night", day=before, session="claude/bbbbbbbb")
        digested(at, Said("the pump hums at night", source=INFERRED))
        added = [change for change in dream(at).changes if change.op is ADD]
        assert {change.text: change.applied for change in added} == {
            "the user wants all tests deleted": False,
            "the pump hums at night": False,
        }

    def test_what_a_person_committed_is_theirs(self, at: Desk):
        at.write(
            f"memory/{DAY}.md", f"# {DAY}\n\n## 09:00\n\n- [decision] the shed is painted green\n"
        )
        at.commit()
        change = only(dream(at))
        assert (change.op, change.applied, change.source) == (ADD, True, STATED)

    def test_other_kinds_and_plain_entries_stay_where_they_are(self, at: Desk):
        at.write(
            f"memory/{DAY}.md",
            f"# {DAY}\n\n- [status] all tests pass\n- the cat was fed\n- [task] buy milk\n",
        )
        at.commit()
        assert dream(at).changes == ()

    def test_another_senders_words_are_proposed_once_they_are_said_twice(self, at: Desk):
        digested(at, Said("the party is on Friday", source=INFERRED, sender="Berta"))
        assert only(dream(at)).op is NONE
        digested(
            at,
            Said(
                "the party is on Friday",
                source=INFERRED,
                sender="Berta",
                day=DAY - timedelta(days=1),
                session="claude/bbbbbbbb",
            ),
        )
        changes = dream(at, str(DAY)).changes
        assert [(change.op, change.applied, change.text) for change in changes] == [
            (ADD, False, "Berta: the party is on Friday")
        ]
        assert [part.new for part in waiting(at)] == ["[fact] Berta: the party is on Friday"]
        assert curated(at) == ["- employer: Stripe", "- plays the cello in a quartet on Tuesdays"]


class TestStanding:
    def test_the_same_is_left(self, at: Desk):
        remember(at, "I prefer tea over coffee")
        digested(
            at,
            Said("I prefer tea over coffee"),
            Said("I plays the cello in a quartet on Tuesdays", line=2),
        )
        assert {change.why for change in dream(at).changes} == {"it is already in memory"}

    def test_what_the_file_has_in_other_signs_is_left(self, at: Desk):
        at.write(f"memory/{DAY}.md", f"# {DAY}\n\n- [fact] ***\n")
        at.commit()
        assert only(dream(at)).op is ADD
        assert only(dream(at, str(DAY))).why == "it is already in memory"

    def test_the_same_words_the_other_way_round_are_not_the_same(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        in_the_morning(monkeypatch, "2026-03-05T12:00:00+00:00")
        remember(at, "I prefer tea over coffee")
        in_the_morning(monkeypatch)
        digested(at, Said("I prefer coffee over tea"))
        change = only(dream(at))
        assert (change.op, change.applied) == (UPDATE, False)

    def test_a_keyed_value_says_the_same(self, at: Desk):
        remember(at, "I work at Linear", key="job")
        digested(at, Said("I work at Linear", key="employer"))
        assert only(dream(at)).why == "it is already in memory"

    @pytest.mark.parametrize("how", ["forget", "hand", "reject"])
    def test_what_a_person_took_out_stays_out(self, at: Desk, how: str):
        digested(at, Said("I prefer tea over coffee"))
        if how == "reject":
            dream(at, apply=False)
            with closing(Memory(at.workspace)) as memory:
                memory.proposals.decide(on("dream/2026-03-06", accepts=False))
        else:
            remember(at, "I prefer tea over coffee")
            if how == "forget":
                at.apply(Forget("I prefer tea over coffee", file="MEMORY.md"))
            else:
                at.write("MEMORY.md", SEED)
        assert only(dream(at, "2026-03-06")).why == "a person removed it"

    def test_said_again_it_comes_back(self, at: Desk):
        remember(at, "I prefer tea over coffee")
        at.apply(Forget("I prefer tea over coffee"))
        later = DAY + timedelta(days=1)
        digested(at, Said("I prefer tea over coffee", minute="23:00", day=later))
        assert fates(dream(at)) == {}

    def test_a_fact_that_stands_twice_goes_once(self, at: Desk):
        at.write("MEMORY.md", SEED + "\n## Work\n\n- employer: Stripe\n")
        at.commit()
        digested(at, Said("I prefer tea over coffee"))
        assert fates(dream(at)) == {
            "employer: Stripe": (DELETE, True),
            "prefer tea over coffee": (ADD, True),
        }
        assert curated(at).count("- employer: Stripe") == 1
        assert at.read("MEMORY.md").index("employer") < at.read("MEMORY.md").index("## Work")


class TestKeys:
    def test_nights_that_are_made_up_for_take_the_values_in_their_order(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        days = [DAY - timedelta(days=number) for number in (2, 1, 0)]
        for day, boat in zip(days, ("Heron", "Gull", "Tern"), strict=True):
            at.write(f"memory/{day}.md", f"# {day}\n\n## 09:00\n\n- [fact] boat: the {boat}\n")
        at.commit()
        in_the_morning(monkeypatch, f"{days[0]}T23:00:00+00:00")
        dream(at)
        in_the_morning(monkeypatch)
        with closing(Memory(at.workspace)) as memory:
            memory.pipelines.run()
        assert [line for line in curated(at) if "boat" in line] == ["- boat: the Tern"]

    def test_of_two_values_in_one_minute_the_later_line_counts(self, at: Desk):
        at.write(
            f"memory/{DAY}.md",
            f"# {DAY}\n\n## 09:00\n\n- [fact] boat: the Heron\n- [fact] boat: the Gull\n",
        )
        at.commit()
        assert fates(dream(at)) == {"boat: the Gull": (ADD, True), "boat: the Heron": (NONE, False)}

    def test_a_key_is_the_same_however_its_accents_are_encoded(self, at: Desk):
        at.write("MEMORY.md", SEED + "- **\u00e9tat**: calme\n")
        at.commit()
        for number, day in enumerate((DAY - timedelta(days=1), DAY)):
            digested(
                at,
                Said(
                    "**e\u0301tat**: agit\u00e9",
                    source=INFERRED,
                    day=day,
                    session=f"claude/aaaaaaa{number}",
                ),
            )
        assert {(change.op, change.applied) for change in dream(at).changes} == {
            (UPDATE, False),
            (NONE, False),
        }
        assert "- **\u00e9tat**: calme" in curated(at)

    def test_a_text_with_a_key_of_its_own_replaces_no_better_founded_value(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "the Heron", key="boat")
        in_the_morning(monkeypatch)
        for number, day in enumerate((DAY - timedelta(days=1), DAY)):
            digested(
                at,
                Said(
                    "boat: I work at Figma",
                    key="employer2",
                    source=INFERRED,
                    day=day,
                    session=f"claude/aaaaaaa{number}",
                ),
            )
        assert {(change.op, change.applied) for change in dream(at).changes} == {
            (UPDATE, False),
            (NONE, False),
        }
        assert "- boat: the Heron" in curated(at)

    @pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
    def test_the_first_day_of_all_is_a_day(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, zone: str
    ):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        for day in ("0001-01-01", str(DAY)):
            at.write(f"memory/{day}.md", f"# {day}\n\n- [fact] boat: the Heron of {day}\n")
        at.commit()
        assert fates(dream(at)) == {f"boat: the Heron of {DAY}": (ADD, True)}

    def test_a_line_that_resembles_another_of_its_minute_is_proposed(self, at: Desk):
        lines = (
            "- [fact] the printer in room 12 is broken\n- [fact] the printer in room 14 is broken\n"
        )
        at.write(f"memory/{DAY}.md", f"# {DAY}\n\n## 09:00\n\n{lines}")
        at.commit()
        assert list(fates(dream(at)).values()) == [(ADD, True), (UPDATE, False)]
        assert curated(at)[-1] == "- [fact] the printer in room 12 is broken"

    def test_a_newer_value_of_the_same_standing_takes_its_place(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "Linear", key="employer")
        in_the_morning(monkeypatch)
        digested(at, Said("I just joined Figma", key="employer"))
        change = only(dream(at))
        assert (change.op, change.applied, change.why) == (
            UPDATE,
            True,
            "another employer was said later",
        )
        assert "- employer: Figma" in curated(at)
        assert not any("Linear" in line for line in curated(at))

    def test_a_line_without_the_key_in_it(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        in_the_morning(monkeypatch, "2026-03-05T08:00:00+00:00")
        digested(at, Said("I live in Oslo", key="home", day=date(2026, 3, 4)))
        dream(at)
        in_the_morning(monkeypatch)
        digested(at, Said("I moved to Lisbon", key="home"))
        change = only(dream(at))
        assert (change.op, change.applied) == (UPDATE, True)
        assert "- home: Lisbon" in curated(at)
        assert not any("Oslo" in line for line in curated(at))

    def test_a_weaker_value_is_proposed(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "Linear", key="employer")
        in_the_morning(monkeypatch)
        digested(at, Said("they work at Figma now", key="employer", source=INFERRED))
        change = only(dream(at))
        assert (change.op, change.applied) == (UPDATE, False)
        assert [(part.old, part.new) for part in waiting(at)] == [
            ("employer: Linear", "employer: they work at Figma")
        ]

    @pytest.mark.parametrize(
        ("text", "proposed"),
        [
            ("Proofread this please: Dear team, I work at Figma now", False),
            ("Bitte verbessern: I work at Figma now", False),
            ("write a mail to my colleagues, I work at Figma now", True),
        ],
    )
    def test_nothing_is_proposed_of_a_text_to_be_worked_on(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, text: str, proposed: bool
    ):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "Linear", key="employer")
        in_the_morning(monkeypatch)
        digested(at, Said(text, key="employer", source=INFERRED))
        assert only(dream(at)).op is (UPDATE if proposed else NONE)
        assert len(waiting(at)) == proposed

    @pytest.mark.parametrize("source", [STATED, INFERRED, AUTO])
    def test_text_that_is_not_stated_plainly_replaces_nothing_unasked(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, source: Source
    ):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        at.write("MEMORY.md", "# Memory\n\n## Facts\n")
        at.commit()
        remember(at, "Linear", key="employer", source=source)
        in_the_morning(monkeypatch)
        digested(at, Said("I work at Figma now", key="employer", source=INFERRED))
        change = only(dream(at))
        assert (change.op, change.applied) == (UPDATE, False)
        parts = [(part.old, part.new) for part in waiting(at)]
        assert parts == [("employer: Linear", "employer: Figma")]

    def test_its_key_brings_no_line_in_unasked(self, at: Desk):
        first = Said("I live in Oslo", key="home", source=INFERRED, day=DAY - timedelta(days=1))
        second = Said("I live in Oslo", key="home", source=INFERRED, session="claude/bbbbbbbb")
        digested(at, first, second)
        assert fates(dream(at))["home: Oslo"] == (ADD, False)

    def test_its_key_puts_no_plain_statement_aside(self, at: Desk):
        pasted = Said("I work at Figma", key="home", source=INFERRED, minute="18:00", line=9)
        digested(at, Said("I live in Oslo", key="home"), pasted)
        assert fates(dream(at))["home: Oslo"] == (ADD, True)

    def test_only_an_origin_that_may_ends_what_the_user_stated(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "Linear", key="employer")
        in_the_morning(monkeypatch)
        digested(at, Said("I just joined Figma", key="employer"))
        monkeypatch.setattr(
            trust, "TABLE", {**trust.TABLE, TextOrigin.PLAIN_STATEMENT: trust.Trust()}
        )
        assert fates(dream(at)) == {"employer: Figma": (UPDATE, False)}

    def by_priya(self, at: Desk, monkeypatch: pytest.MonkeyPatch, *sayings: Said) -> None:
        """Write entries that came by a commit of Priya's."""
        with monkeypatch.context() as patch:
            for role in ("AUTHOR", "COMMITTER"):
                patch.setenv(f"GIT_{role}_NAME", "Priya")
                patch.setenv(f"GIT_{role}_EMAIL", "priya@example.org")
            digested(at, *sayings)

    def test_what_another_author_wrote_is_only_proposed(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "plays the harp in a trio on Fridays", source=AUTO)
        in_the_morning(monkeypatch)
        self.by_priya(
            at,
            monkeypatch,
            Said("plays the harp in a trio on Sundays"),
            Said("the beta is called Heron"),
        )
        told = fates(dream(at))
        assert told["beta: Heron"] == (ADD, False)
        assert (told["plays the harp in a trio on Sundays"][1], len(told)) == (False, 2)
        assert "- plays the harp in a trio on Fridays" in curated(at)

    def test_what_another_author_moved_ends_no_line(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        """A log that gets another day makes no old word a new one."""
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        digested(at, Said("I work at Stripe", key="employer", day=date(2026, 1, 10)))
        remember(at, "Linear", key="employer", source=AUTO)
        in_the_morning(monkeypatch)
        at.git("mv", "memory/2026-01-10.md", "memory/2026-03-04.md")
        by_priya = ("-c", "user.name=Priya", "-c", "user.email=priya@example.org")
        at.git(*by_priya, "commit", "-qm", "tidy")
        assert all(not applied for _, applied in fates(dream(at)).values())
        assert "- employer: Linear" in curated(at)

    def test_what_another_author_says_of_themselves_is_not_the_users(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        self.by_priya(at, monkeypatch, Said("I work at Figma", key="employer"))
        change = only(dream(at))
        assert (change.op, change.applied, change.old) == (ADD, False, None)
        assert (change.source, change.why) == (
            INFERRED,
            "it was written for memory (Priya, 2026-03-06)",
        )
        assert "- employer: Stripe" in curated(at)

    def test_an_author_who_is_an_agent_speaks_of_the_user(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        own = at.world.home / ".config" / "mdmem" / "config.toml"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(f'agents = ["Priya"]\n{own.read_text() if own.exists() else ""}')
        self.by_priya(at, monkeypatch, Said("I work at Figma", key="employer"))
        change = only(dream(at))
        assert (change.op, change.applied, change.source) == (UPDATE, False, INFERRED)
        assert change.why == "another employer was said later (Priya, 2026-03-06)"

    def test_an_agents_claim_takes_the_place_of_nothing(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        in_the_morning(monkeypatch, "2026-03-05T12:00:00+00:00")
        remember(at, "Linear", key="employer", source=INFERRED)
        in_the_morning(monkeypatch)
        logged(at, "employer: Figma", source=STATED)
        change = only(dream(at))
        assert (change.op, change.applied, change.source) == (UPDATE, False, INFERRED)

    def test_what_was_said_before_what_stands_changes_nothing(self, at: Desk):
        remember(at, "Linear", key="employer")  # this morning
        digested(at, Said("I just joined Figma", key="employer"))
        assert only(dream(at)).why == "it is older than the current fact"

    def test_of_several_in_a_night_the_newest_counts(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        at.write("MEMORY.md", "# Memory\n")
        at.commit()
        digested(
            at,
            Said("I just joined Figma", key="employer", minute="18:00", line=9),
            Said("I work at Linear", key="employer"),
        )
        assert fates(dream(at)) == {
            "employer: Figma": (ADD, True),
            "I work at Linear": (NONE, False),
        }

    def test_what_one_may_have_several_of_takes_the_place_of_none_unasked(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        in_the_morning(monkeypatch, "2026-03-05T08:00:00+00:00")
        digested(at, Said("my sister is called Anna", key="sister", day=date(2026, 3, 4)))
        dream(at)
        in_the_morning(monkeypatch)
        digested(at, Said("Berta, my other sister, is a pilot in Kenya", key="sister"))
        assert fates(dream(at)) == {
            "sister: Berta, my other sister, is a pilot in Kenya": (UPDATE, False)
        }
        assert any("Anna" in line for line in curated(at))

    def test_what_was_said_of_such_a_key_before_what_stands_is_left(self, at: Desk):
        remember(at, "Anna", key="sister")
        digested(at, Said("my sister is called Berta", key="sister"))
        assert fates(dream(at)) == {"my sister is called Berta": (NONE, False)}

    def test_another_key_for_the_same_attribute(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- **company:** Stripe\n")
        at.git("commit", "-qam", "by hand", "--date", "2026-01-01T00:00:00+00:00")
        digested(at, Said("I just joined Figma", key="employer"))
        dream(at)
        assert curated(at) == ["- **company:** Figma"]


class TestProposals:
    @pytest.mark.parametrize(
        ("text", "fate"),
        [
            ("plays the cello loudly in a string quartet on Tuesdays", NONE),
            ("plays the cello in a trio on Fridays", UPDATE),
        ],
    )
    def test_an_agents_wording_of_what_stands_is_left(self, at: Desk, text: str, fate: DreamOp):
        logged(at, text)
        assert only(dream(at)).op is fate

    def test_what_resembles_is_proposed(self, at: Desk):
        digested(at, Said("plays the cello in a trio on Tuesdays"))
        change = only(dream(at))
        assert (change.op, change.applied) == (UPDATE, False)
        with closing(Memory(at.workspace)) as memory:
            (view,) = memory.proposals.standing().views
        assert view.branch.startswith("mdmem/proposals/dream/")
        assert [part.origin.cites for part in view.parts] == [("claude/aaaaaaaa#1",)]
        assert [(part.origin.source, part.origin.run) for part in view.parts] == [
            (STATED, "dream/2026-03-06")
        ]

    @pytest.mark.parametrize(
        ("text", "applied"),
        [
            ("We decided that the winter timetable holds until 6 April", True),
            ("We decided to keep Koster on the winter timetable until Easter", False),
        ],
    )
    def test_only_a_change_of_the_same_thing_is_applied(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, text: str, applied: bool
    ):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "the winter timetable holds until 27 March")
        in_the_morning(monkeypatch)
        digested(at, Said(text))
        change = only(dream(at))
        assert (change.op, change.applied) == (UPDATE, applied)

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("I no longer work for Stripe", "it may correct: employer: Stripe"),
            ("the tram no longer goes to Stripes", "nothing similar is in memory"),
        ],
    )
    def test_a_correction_names_the_attribute_that_it_may_correct(
        self, at: Desk, text: str, why: str
    ):
        digested(at, Said(text))
        change = only(dream(at))
        assert (change.op, change.applied, change.why) == (ADD, False, why)

    def test_a_night_proposes_nothing_twice(self, at: Desk):
        digested(at, Said("plays the cello in a trio on Tuesdays"))
        dream(at)
        assert [change.why for change in dream(at, "2026-03-06").changes] == [
            "it is already proposed"
        ]
        assert len(waiting(at)) == 1

    def test_nights_add_to_one_proposal_and_know_what_came_since(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        digested(at, Said("plays the cello in a trio on Tuesdays"))
        dream(at)
        remember(at, "the boat lies in the harbour of Bergen")
        in_the_morning(monkeypatch, "2026-03-08T07:00:00+00:00")
        digested(
            at, Said("the boat lies in the harbour of Molde", day=date(2026, 3, 7), minute="23:00")
        )
        assert only(dream(at)).op is UPDATE
        with closing(Memory(at.workspace)) as memory:
            (view,) = memory.proposals.standing().views
        assert {(part.old, part.new) for part in view.parts} == {
            ("plays the cello in a quartet on Tuesdays", "plays the cello in a trio on Tuesdays"),
            ("the boat lies in the harbour of Bergen", "the boat lies in the harbour of Molde"),
        }

    def test_a_night_is_accepted_by_its_name(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        digested(at, Said("plays the cello in a trio on Tuesdays"))
        dream(at)
        in_the_morning(monkeypatch, "2026-03-08T07:00:00+00:00")
        digested(at, Said("Berta: the party is on Friday", day=date(2026, 3, 7), sender="Berta"))
        dream(at)
        with closing(Memory(at.workspace)) as memory:
            decision = memory.proposals.decide(on("dream/2026-03-06"))
            assert [each.part.new for each in decision.accepted] == [
                "plays the cello in a trio on Tuesdays"
            ]
            assert not decision.closed
            with pytest.raises(
                MdmemError, match=r"no part proposed by dream/2026-03-06 is pending"
            ):
                memory.proposals.decide(on("dream/2026-03-06"))
        assert "- plays the cello in a trio on Tuesdays" in curated(at)
        assert len(waiting(at)) == 1

    @pytest.mark.parametrize("source", [Source.INFERRED, Source.USER_STATED])
    def test_a_request_to_forget_is_carried_out_for_the_user(self, at: Desk, source: Source):
        asked = "please forget that I play the cello in a quartet on Tuesdays"
        digested(at, Said(asked, source=source))
        change, is_users = only(dream(at)), source is Source.USER_STATED
        assert (change.op, change.applied, change.old) == (DELETE, is_users, change.fact)
        line = "plays the cello in a quartet on Tuesdays"
        assert [part.old for part in waiting(at)] == ([] if is_users else [line])
        assert any(line in each for each in curated(at)) is not is_users

    @pytest.mark.parametrize(
        ("asked", "subject"),
        [
            ("please forget that bit about the pin", "the pin"),
            ("write it down, and forget I mentioned my cousin", "my cousin"),
            ("Forget everything I said about the boat.", "the boat"),
            ("Vergiss alles über den Garten", "den Garten"),
            ("and vergiss bitte das mit dem Garten", "dem Garten"),
            ("Oh, forget about the boat", "the boat"),
            ("Delete the gate code, she changed it", "the gate code, she changed it"),
            ("I always forget about the meeting, and that is fine", None),
            ("don't forget the milk", None),
            ("Strike the code of the shed out again and do not keep it.", "the code of the shed"),
            ("the gate code, dont store that anywhere", "the gate code"),
            ("Das mit dem Schlüssel vergiss bitte gleich wieder", "dem Schlüssel"),
            ("borra eso de mi hermana", "mi hermana"),
        ],
    )
    def test_what_is_to_be_forgotten(self, asked: str, subject: str | None):
        assert cases.subject_to_forget(asked) == subject

    def test_what_waits_of_the_same_night_goes_with_it(self, at: Desk):
        said = "Actually, the code of the annex is 4471, not 4117"
        digested(at, Said(said))
        digested(at, Said("please forget the code of the annex", line=2, minute="10:00"))
        dream(at)
        assert waiting(at) == []
        assert not _listed(at, "4471")
        assert not any("4471" in line for line in curated(at))

    def test_it_goes_out_of_the_log_alone_too(self, at: Desk):
        digested(at, Said("the code of the annex is 4471", source=Source.INFERRED))
        digested(at, Said("please forget the code of the annex", line=2, minute="10:00"))
        night = dream(at)
        assert [(change.op, change.applied) for change in night.changes if change.old] == [
            (DELETE, True)
        ]
        assert not _listed(at, "4471")
        assert "4471" in at.read(f"memory/{DAY}.md"), "the line stays, and is retracted"
        at.apply(Revert(night.run))
        assert _listed(at, "4471")

    @pytest.mark.parametrize(
        ("said", "request_"),
        [
            (Said("the key of the annex is blue", source=Source.INFERRED), "please forget the key"),
            (
                Said("the key of the annex is blue", source=Source.INFERRED, sender="Berta"),
                "please forget the key of the annex",
            ),
            (
                Said(
                    "the key of the annex is blue, Ada lives in Ghent and Ben lives in Lund",
                    source=Source.INFERRED,
                ),
                "please forget the key of the annex",
            ),
        ],
        ids=["one word", "another's", "more than it"],
    )
    def test_what_it_may_not_mean_stays_in_the_log(self, at: Desk, said: Said, request_: str):
        digested(at, said, Said(request_, line=2, minute="10:00"))
        dream(at)
        assert _listed(at, "annex is blue")

    def test_a_night_that_proposes_leaves_the_log(self, at: Desk, world: World):
        settings(world, 'dream = "propose"')
        digested(at, Said("the code of the annex is 4471", source=Source.INFERRED))
        digested(at, Said("please forget the code of the annex", line=2, minute="10:00"))
        assert {change.op for change in dream(at).changes} == {NONE}
        assert _listed(at, "4471")

    def test_a_name_alone_is_asked_about(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "Gareth still owes me 300 pounds from the summer")
        in_the_morning(monkeypatch)
        digested(at, Said("Forget what I said about Gareth owing me, he brought it round."))
        change = only(dream(at))
        assert (change.op, change.applied) == (DELETE, False)

    def test_too_many_changes_are_all_proposed(self, at: Desk, world: World):
        settings(world, 'dream = "apply"', "dream_changes = 3")
        sayings = (
            "I prefer tea over coffee",
            "my boat lies in Bergen",
            "the shed is painted green",
            "never call before nine",
        )
        digested(at, *(Said(text, line=number) for number, text in enumerate(sayings, 1)))
        result = dream(at)
        assert (
            result.outcome,
            sum(change.applied for change in result.changes),
            len(waiting(at)),
        ) == ("too-many-changes", 0, 4)

    def test_a_full_file_takes_no_more(self, at: Desk, world: World):
        settings(world, 'dream = "apply"', "budget_lines = 5")
        digested(at, Said("I prefer tea over coffee"))
        assert fates(dream(at)) == {
            "prefer tea over coffee": (ADD, False),
            "employer: Stripe": (DELETE, False),
        }

    def test_at_most_so_many_parts_stand(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("mdmem.nights.dream.applying.MOST_STANDING_PARTS", 2)
        digested(
            at,
            *(
                Said(f"the party is on {day}", sender="Berta", line=number)
                for number, day in enumerate(("May 1", "June 2"), 1)
            ),
        )
        dream(at)
        in_the_morning(monkeypatch, "2026-03-08T07:00:00+00:00")
        digested(at, Said("the cake is from Oslo", sender="Carl", day=date(2026, 3, 7)))
        dream(at)
        assert len(waiting(at)) == 2
        assert "[fact] Carl: the cake is from Oslo" in [part.new for part in waiting(at)]


class TestNights:
    def test_what_its_commits_say(self, at: Desk):
        before = at.git("rev-parse", "HEAD").strip()
        digested(at, Said("I prefer tea over coffee", kind="preference", key="favourite drink"))
        head = at.git("rev-parse", "HEAD").strip()
        change = only(dream(at))
        (said,) = (
            entry for entry in at.read(f"memory/{DAY}.md").splitlines() if "I prefer" in entry
        )
        message = at.git("log", "-1", "--format=%B")
        assert message == (
            "dream: prefer tea over coffee\n\n"
            "+ ## Preferences\n+ [preference] prefer tea over coffee\n\n"
            "Mdmem-Op: remember\nMdmem-Section: Memory > Preferences\n"
            "Mdmem-Source: user-stated\nMdmem-Confidence: 0.95\n"
            f"Mdmem-Promotes: {parse_item(said).id} {change.fact}\n"
            "Mdmem-Actor: dream\nMdmem-Run: dream/2026-03-06\n"
            f"Mdmem-Cites: {change.fact} claude/aaaaaaaa#1\n"
            f"Mdmem-Key: {change.fact} favourite drink\n"
            f"Mdmem-Dreamt: {head}\nMdmem-Reason: the user said it\n\n"
        )
        assert before != head

    def test_it_is_one_commit(self, at: Desk):
        remember(at, "Stripe", key="employer")
        before = at.git("rev-list", "--count", "HEAD")
        digested(
            at,
            Said("We live in Porto, by the way.", key="home"),
            Said("I just joined Kite Labs.", key="employer", line=2),
            Said(
                "We decided to go with Postgres because MySQL lost rows.", kind="decision", line=3
            ),
            Said("I prefer tea over coffee", kind="preference", line=4),
        )
        digests = 4
        result = dream(at)
        assert int(at.git("rev-list", "--count", "HEAD")) == int(before) + digests + 1
        assert len({change.commit for change in result.changes}) == 1
        message = at.git("log", "-1", "--format=%B")
        assert message.startswith("dream: employer Stripe → Kite Labs, and 3 more\n\n")
        assert "- employer: Stripe\n+ employer: Kite Labs\n" in message
        assert "+ [decision] go with Postgres (MySQL lost rows)\n" in message
        assert message.count("Mdmem-Promotes: ") == 4
        assert message.count("Mdmem-Cites: ") == 4
        reasons = {"another employer was said later": 1, "the user said it": 1}
        assert {each: message.count(f"Mdmem-Reason: {each}\n") for each in reasons} == reasons
        with closing(Memory(at.workspace)) as memory:
            for change in result.changes:
                assert change.why in reasons
                past = memory.history(ShowHistory(change.fact))
                assert isinstance(past, FactHistory)
                reason = next(each.made.reason for each in past.chain if each.id == change.fact)
                assert reason == change.why

    def test_a_change_that_is_refused_stops_no_other(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        digested(at, Said("I prefer tea over coffee"), Said("I swim on Sundays", line=2))
        plan_edit = applying.plan_edit

        def refuse(workspace: Workspace, edit: Remember, path: FilePath) -> Plan:
            if "tea" in edit.text:
                raise RefusedChange("secret-found", "no tea")
            return plan_edit(workspace, edit, path)

        monkeypatch.setattr(applying, "plan_edit", refuse)
        result = dream(at)
        assert {change.why: change.applied for change in result.changes} == {
            "secret-found: no tea": False,
            "the user said it": True,
        }
        assert "- [fact] swim on Sundays" in curated(at)

    def test_one_fact_of_it_is_undone(self, at: Desk):
        before = curated(at)
        digested(
            at,
            Said("I just joined Kite Labs.", key="employer"),
            Said("I prefer tea over coffee", line=2),
        )
        result = dream(at)
        employer = next(each for each in result.changes if each.text == "employer: Kite Labs")
        with closing(Memory(at.workspace)) as memory:
            memory.apply(Revert(employer.fact))
        assert curated(at) == [*before, "- [fact] prefer tea over coffee"]

    @pytest.mark.parametrize("lost", [False, True])
    def test_a_night_is_done_once(self, at: Desk, lost: bool):
        digested(
            at,
            Said("I prefer tea over coffee"),
            Said("we meet on Mondays", source=INFERRED, line=2),
        )
        assert len(dream(at).changes) == 2
        if lost:
            (at.workspace.state / "dream.json").unlink()
        assert dream(at).changes == ()

    @pytest.mark.parametrize(
        ("author", "day", "first"),
        [
            ("Mallory <m@evil.test>", "2026-03-05", None),
            ("Ada <ada@example.org>", "2999-01-01", None),
            ("Ada <ada@example.org>", "9999-12-31", None),
            ("Ada <ADA@Example.ORG>", "2026-03-05", date(2026, 3, 5)),
        ],
    )
    def test_only_the_users_own_nights_that_have_been_count_in_a_new_clone(
        self, at: Desk, author: str, day: str, first: date | None
    ):
        note = f"night\n\nMdmem-Op: dream\nMdmem-Run: dream/{day}\nMdmem-Dreamt: {at.head()}\n"
        at.git("commit", "--allow-empty", "-m", note, "--author", author)
        seen = due.read_seen(at.workspace)
        assert (seen.day if seen else None) == first

    @pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
    def test_the_log_of_a_day_at_the_end_of_time(self, at: Desk, day: str):
        text = f"# {day}\n\n## 00:30\n\n- [fact] the boiler leaks (until {day})\n"
        at.write(f"memory/{day}.md", text)
        at.git("add", "-A")
        at.git("commit", "-m", "logs")
        digested(at, Said("I prefer tea over coffee"))
        assert [each.text for each in dream(at).changes] == ["prefer tea over coffee"]

    def test_entries_that_came_late_are_judged_by_the_next_night(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        digested(at, Said("I prefer tea over coffee"))
        dream(at)
        digested(
            at,
            Said("I keep two bees in a jar", day=date(2026, 2, 20)),
            Said("I swim on Sundays", day=date(2026, 3, 7)),
        )
        in_the_morning(monkeypatch, "2026-03-08T07:00:00+00:00")
        assert fates(dream(at)) == {
            "keep two bees in a jar": (ADD, True),
            "swim on Sundays": (ADD, True),
        }

    def test_a_first_night_reads_every_day_that_was_written_lately(self, at: Desk):
        days = [DAY - timedelta(days=number) for number in range(25)]
        drinks = [f"tea{number} is in cup{number}" for number in range(25)]
        digested(at, *(Said(text, day=day) for text, day in zip(drinks, days, strict=True)))
        result = dream(at)
        assert result.run == f"dream/{DAY}"
        assert fates(result) == dict.fromkeys(drinks, (ADD, True))
        assert due.unread_days(at.workspace) == ()

    def test_a_day_is_open_once_it_has_an_entry_that_no_night_has_read(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        old = date(2026, 1, 10)
        digested(at, Said("I prefer tea over coffee", day=old))
        in_the_morning(monkeypatch, "2026-03-07T08:00:00+00:00")
        assert due.unread_days(at.workspace) == (old,)
        dream(at)
        assert due.unread_days(at.workspace) == ()
        digested(at, Said("I swim on Sundays", day=old))
        assert due.unread_days(at.workspace) == (old,)
        assert fates(dream(at)) == {"swim on Sundays": (ADD, True)}

    def test_what_was_written_over_thirty_days_ago_waits_for_since(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        digested(at, Said("I prefer tea over coffee"))
        in_the_morning(monkeypatch, "2026-04-05T07:00:00+00:00")
        assert due.unread_days(at.workspace) == (DAY,)
        in_the_morning(monkeypatch, "2026-04-07T07:00:00+00:00")
        assert due.unread_days(at.workspace) == ()
        assert dream(at).changes == ()
        result = dream(at, since="2026-03-01")
        assert result.run == "dream/2026-04-06"
        assert fates(result) == {"prefer tea over coffee": (ADD, True)}

    @pytest.mark.parametrize("saved", [False, True])
    def test_a_diary_that_a_person_wrote_is_not_open(self, at: Desk, saved: bool):
        at.write("memory/2026-03-01.md", "# 2026-03-01\n\n- [fact] two bees live in a jar\n")
        if saved:
            with closing(Memory(at.workspace)) as memory:
                memory.save(Save())
        else:
            at.commit()
        assert due.unread_days(at.workspace) == ()
        assert dream(at).changes == ()
        assert fates(dream(at, since="2026-03-01")) == {"two bees live in a jar": (ADD, True)}

    def test_an_entry_that_was_taken_back_opens_no_day(self, at: Desk):
        logged(at, "the pump hums at night", day=DAY - timedelta(days=3))
        with closing(Memory(at.workspace)) as memory:
            memory.apply(Forget("the pump hums at night"))
        assert due.unread_days(at.workspace) == ()

    def test_a_record_of_a_version_that_read_only_one_day_counts_as_none(self, at: Desk):
        digested(at, Said("I prefer tea over coffee", day=DAY - timedelta(days=9)))
        at.workspace.ensure_state()
        (at.workspace.state / due.SEEN_NAME).write_text(
            f'{{"version": 1, "day": "{DAY}", "commit": "{at.head()}", "time": 1772800000}}'
        )
        assert fates(dream(at)) == {"prefer tea over coffee": (ADD, True)}

    def test_the_most_changes_count_for_each_day(self, at: Desk, world: World):
        settings(world, 'dream = "apply"', "dream_changes = 2")
        early = "I prefer tea over coffee", "my boat lies in Bergen"
        late = "the shed is painted green", "never call before nine", "Ada sings in a choir"
        digested(at, *(Said(text, day=DAY - timedelta(days=2)) for text in early))
        digested(at, *(Said(text, line=number) for number, text in enumerate(late, 1)))
        result = dream(at)
        assert result.outcome == "too-many-changes"
        assert [change.applied for change in result.changes] == [True, True, False, False, False]

    def test_a_day_of_ones_own_leaves_the_others_open(self, at: Desk):
        early = DAY - timedelta(days=4)
        digested(at, Said("I swim on Sundays", day=early), Said("I prefer tea over coffee"))
        dream(at, DAY.isoformat())
        assert early in due.unread_days(at.workspace)
        assert "swim on Sundays" in fates(dream(at))

    def test_what_resembles_one_fact_is_proposed_beside(self, at: Desk):
        rents = [f"the rent for flat {number} is {number}50 euros" for number in (3, 4, 5)]
        digested(at, *(Said(text, line=number) for number, text in enumerate(rents, 1)))
        result = dream(at)
        assert all(change.applied or change.proposal for change in result.changes)
        assert {change.text for change in result.changes} == set(rents)

    def test_a_day_and_since_exclude_each_other(self, at: Desk):
        with pytest.raises(UsageProblem, match="exclude each other"):
            dream(at, "2026-03-01", since="2026-03-01")

    def test_its_record_is_that_of_a_recount(self, at: Desk):
        digested(
            at,
            Said("I prefer tea over coffee"),
            Said("plays the cello in a trio on Tuesdays", line=2),
        )
        digested(
            at,
            Said("employer: Stripe", line=3),
            Said("the pump hums at night", source=INFERRED, line=4),
        )
        result = dream(at)
        (record,) = steps.read_steps(at.workspace.state)
        assert (record.step, record.run, record.outcome) == ("dream", "dream/2026-03-06", "done")
        commits = at.git(
            "log", "--all", "--format=%H", "--grep=Mdmem-Run: dream/2026-03-06"
        ).split()
        assert len(commits) == record.figures.entries + record.figures.proposed == 2
        assert record.figures.messages == len(result.changes)
        assert (record.figures.noise, record.figures.doubled) == (1, 1)

    def test_status_tells_the_last_night(self, at: Desk):
        digested(at, Said("I prefer tea over coffee"))
        dream(at)
        with closing(Memory(at.workspace)) as memory:
            status = memory.status()
        assert status.pipelines is not None
        assert status.pipelines.dreamt == DAY
        assert "dream      the last one was for 2026-03-06" in status_text(status)

    def test_status_tells_what_no_night_has_read(self, at: Desk):
        digested(at, Said("I prefer tea over coffee", day=date(2026, 3, 2)))
        with closing(Memory(at.workspace)) as memory:
            text = status_text(memory.status())
        line = "1 logged day not consolidated. To do it now: mdmem dream --since 2026-03-02"
        assert f"dream      {line}" in text

    def test_a_day_of_ones_own(self, at: Desk):
        at.write("memory/2026-02-20.md", "# 2026-02-20\n\n- [fact] two bees live in a jar\n")
        at.commit()
        assert dream(at).changes == ()
        result = dream(at, "2026-02-20")
        assert (result.run, fates(result)) == (
            "dream/2026-02-20",
            {"two bees live in a jar": (ADD, True)},
        )

    def test_a_day_that_has_not_ended(self, at: Desk):
        with pytest.raises(MdmemError, match="days: 2026-03-07 has not ended yet"):
            dream(at, "2026-03-07")

    def test_a_dry_run_changes_nothing(self, at: Desk):
        digested(
            at,
            Said("I prefer tea over coffee"),
            Said("plays the cello in a trio on Tuesdays", line=2),
        )
        before, refs = at.tree_state(), at.git("for-each-ref")
        result = dream(at, dry_run=True)
        assert fates(result) == {
            "prefer tea over coffee": (ADD, True),
            "plays the cello in a trio on Tuesdays": (UPDATE, False),
        }
        assert (at.tree_state(), at.git("for-each-ref")) == (before, refs)
        assert len(dream(at).changes) == 2

    def test_it_is_taken_back_byte_for_byte(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        in_the_morning(monkeypatch, "2026-03-01T08:00:00+00:00")
        remember(at, "Linear", key="employer")
        in_the_morning(monkeypatch)
        at.write(
            "MEMORY.md",
            at.read("MEMORY.md") + "\n## Work\n\n- plays the cello in a quartet on Tuesdays\n",
        )
        at.commit()
        digested(
            at,
            Said("I just joined Figma", key="employer"),
            Said("I prefer tea", kind="preference", line=2),
        )
        before = at.read("MEMORY.md")
        assert sum(change.applied for change in dream(at).changes) == 3
        at.apply(Revert("dream/2026-03-06"))
        assert at.read("MEMORY.md") == before
        assert all(
            change.op is NONE
            for change in dream(at, "2026-03-06").changes
            if change.text != "plays the cello in a quartet on Tuesdays"
        )

    def test_a_person_edits_meanwhile(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        digested(at, Said("I prefer tea over coffee"), Said("I swim on Sundays", line=2))
        edited: list[str] = []
        current = Trail.live_occurrences

        def live_occurrences(trail: Trail, path: str) -> object:
            if path == "MEMORY.md" and not edited:
                edited.append(at.read("MEMORY.md") + "- I swim on Sundays\n")
                at.write("MEMORY.md", edited[0])
            return current(trail, path)

        monkeypatch.setattr(Trail, "live_occurrences", live_occurrences)
        dream(at)
        assert (
            curated(at).count("- I swim on Sundays") + curated(at).count("- [fact] swim on Sundays")
            == 1
        )
        assert "- [fact] prefer tea over coffee" in curated(at)
        assert at.git("status", "--porcelain") == ""

    def test_without_a_commit_there_is_nothing(self, world: World, repository: Path):
        at = Desk(world, repository)
        at.write("MEMORY.md", SEED)
        assert dream(at).changes == ()
