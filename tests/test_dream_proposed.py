"""Nights that propose: each entry that is proposed is a part of its own."""

from contextlib import closing, suppress
from datetime import timedelta
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
    settings,
    waiting,
)
from proposal_actions import on
from workspaces import Desk, desk

from mdmem.cli.terminal import in_flags
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.errors import MdmemError
from mdmem.model.pipelines import TOO_MANY_WAIT, DreamOp
from mdmem.show.runs import dream_notes
from mdmem.show.values import to_json

ADD, UPDATE, DELETE, NONE = DreamOp


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    in_the_morning(monkeypatch)
    settings(world, 'dream = "propose"')
    return desk(world, repository, seed="# Memory\n\n## Facts\n")


def parts(at: Desk) -> list[str | None]:
    return sorted(part.new or "" for part in waiting(at))


class TestWhatIsOnlyProposed:
    def test_is_not_replaced_by_what_resembles_it(self, at: Desk):
        first, second = "the printer in room 12 is broken", "the printer in room 14 is broken"
        digested(at, Said(first, minute="10:00"), Said(second, minute="11:00", line=2))
        assert fates(dream(at, dry_run=True)) == {first: (ADD, False), second: (ADD, False)}
        assert fates(dream(at)) == {first: (ADD, False), second: (ADD, False)}
        assert parts(at) == [f"[fact] {first}", f"[fact] {second}"]
        assert {change.op for change in dream(at, str(DAY)).changes} == {NONE}

    def test_is_proposed_each_where_several_resemble_it(self, at: Desk):
        texts = [f"the printer in room {number} is broken" for number in (12, 14, 16)]
        digested(
            at,
            *(
                Said(text, minute=f"1{number}:00", line=number + 1)
                for number, text in enumerate(texts)
            ),
        )
        assert fates(dream(at)) == dict.fromkeys(texts, (ADD, False))
        assert parts(at) == [f"[fact] {text}" for text in texts]

    def test_is_not_replaced_by_another_value_of_many(self, at: Desk):
        at.write(
            f"memory/{DAY}.md",
            f"# {DAY}\n\n## 10:00\n\n- [fact] sister: Anna\n\n## 11:00\n\n- [fact] sister: Berta\n",
        )
        at.commit()
        assert fates(dream(at)) == {"sister: Anna": (ADD, False), "sister: Berta": (ADD, False)}
        assert parts(at) == ["sister: Anna", "sister: Berta"]

    def test_is_not_replaced_by_a_weaker_value(self, at: Desk):
        before = DAY - timedelta(days=1)
        digested(at, Said("I work at Stripe", key="employer", minute="10:00"))
        digested(
            at, Said("employer: Linear", key="employer", minute="11:00", source=Source.INFERRED)
        )
        digested(
            at,
            Said(
                "employer: Linear",
                key="employer",
                source=Source.INFERRED,
                session="claude/bbbbbbbb",
                day=before,
            ),
        )
        assert fates(dream(at)) == {
            "employer: Stripe": (ADD, False),
            "employer: Linear": (NONE, False),
        }
        assert parts(at) == ["employer: Stripe"]

    def test_is_not_replaced_by_a_weaker_value_of_a_later_night(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        at.write(f"memory/{DAY}.md", f"# {DAY}\n\n- [fact] boat: the Heron\n")
        at.commit()
        dream(at)
        for number in (1, 2):
            logged(
                at,
                "boat: the Shark",
                day=DAY + timedelta(days=number),
                session=f"claude/aaaaaaa{number}",
            )
        in_the_morning(monkeypatch, f"{DAY + timedelta(days=3)}T07:00:00+00:00")
        assert {change.why for change in dream(at).changes} == {
            "a better supported value is proposed"
        }
        assert parts(at) == ["boat: the Heron"]

    def test_is_not_taken_out_by_a_request_to_forget(self, at: Desk):
        digested(at, Said("the gate code is on the fridge", minute="10:00"))
        digested(
            at,
            Said(
                "forget that the gate code is on the fridge", minute="11:00", source=Source.INFERRED
            ),
        )
        assert dream(at).changes[0].op is ADD
        assert parts(at) == ["[fact] the gate code is on the fridge"]

    def test_in_a_night_of_too_many_changes(self, world: World, at: Desk):
        settings(world, 'dream = "apply"', "dream_changes = 1")
        first, second = "the printer in room 12 is broken", "the printer in room 14 is broken"
        digested(
            at,
            Said(first, minute="10:00"),
            Said("I prefer tea", minute="10:30"),
            Said(second, minute="11:00", line=2),
        )
        assert set(fates(dream(at)).values()) == {(ADD, False)}
        assert len(parts(at)) == 3

    def test_a_branch_that_is_checked_out_stays_as_it_is(self, at: Desk, tmp_path: Path):
        digested(at, Said("the shed is painted green"))
        dream(at)
        branch = at.git("for-each-ref", "--format=%(refname:short)", "refs/heads/mdmem").strip()
        at.git("worktree", "add", "-q", str(tmp_path / "other"), branch)
        digested(at, Said("I prefer tea", minute="10:00", line=2))
        with suppress(MdmemError):
            dream(at)
        assert at.git("-C", str(tmp_path / "other"), "status", "--porcelain") == ""

    def test_what_is_carried_out_is_still_replaced(self, world: World, at: Desk):
        settings(world, 'dream = "apply"')
        first, second = "the printer in room 12 is broken", "the printer in room 14 is broken"
        digested(at, Said(first, minute="10:00"), Said(second, minute="11:00", line=2))
        assert fates(dream(at)) == {first: (ADD, True), second: (UPDATE, False)}
        assert curated(at) == [f"- [fact] {first}"]

    def test_no_more_than_may_wait(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("mdmem.nights.dream.applying.MOST_STANDING_PARTS", 2)
        texts = ("the shed is painted green", "I prefer tea over coffee", "my boat lies in Bergen")
        before = DAY - timedelta(days=1)
        for number, day in enumerate((before, DAY)):
            digested(
                at,
                Said(
                    "the pump hums at night",
                    source=Source.AUTO,
                    day=day,
                    session=f"claude/aaaaaaa{number}",
                    minute="23:00",
                ),
            )
        digested(
            at,
            *(
                Said(text, minute=f"1{number}:00", line=number + 2)
                for number, text in enumerate(texts)
            ),
        )
        result = dream(at)
        assert parts(at) == ["[fact] boat lies in Bergen", "[fact] prefer tea over coffee"]
        assert {change.text for change in result.changes if change.why == TOO_MANY_WAIT} == {
            texts[0],
            "the pump hums at night",
        }
        assert (
            dream_notes(result)[0] == "2 entries more not proposed; up to 100 can be open at once."
        )


class TestMemoryThatTakesNothing:
    """What cannot be written for a reason that lies in memory waits until that is mended, and the
    night says so.
    """

    TEXT = "the shed is painted green"

    @pytest.mark.parametrize("wanted", ["propose", "apply"])
    @pytest.mark.parametrize(
        ("broken", "code"),
        [
            ("# Memory\n\n## Work\n\n### Facts\n\n## Home\n\n### Facts\n", "section-ambiguous"),
            ("# Memory\n\n## Facts\n\n```\nopen\n", "open-block"),
            ("# Memory\n\n## Facts\n\n- a \0\n", "unsupported-file"),
        ],
    )
    def test_an_entry_waits(self, world: World, at: Desk, wanted: str, broken: str, code: str):
        settings(world, f'dream = "{wanted}"')
        digested(
            at, Said(self.TEXT), Said("I prefer tea", minute="10:00", kind="preference", line=2)
        )
        mended = at.read("MEMORY.md")
        at.write("MEMORY.md", broken)
        at.commit()
        for _ in range(2):
            with pytest.raises(MdmemError) as refused:
                dream(at)
            assert refused.value.code == code
            assert "--nth" not in in_flags(refused.value.marked_hint)
        at.write("MEMORY.md", mended)
        at.commit()
        assert self.TEXT in fates(dream(at))
        assert [line for line in (*curated(at), *parts(at)) if self.TEXT in line] == [
            f"{'- ' if wanted == 'apply' else ''}[fact] {self.TEXT}"
        ]

    def test_a_link_is_named(self, world: World, at: Desk, tmp_path: Path):
        settings(world, 'dream = "apply"')
        digested(at, Said(self.TEXT))
        (tmp_path / "outside.md").write_text("# Outside\n")
        (at.root / "MEMORY.md").unlink()
        (at.root / "MEMORY.md").symlink_to(tmp_path / "outside.md")
        at.commit()
        with pytest.raises(MdmemError) as refused:
            dream(at)
        assert (refused.value.code, (tmp_path / "outside.md").read_text()) == (
            "bad-path",
            "# Outside\n",
        )

    def test_a_branch_that_is_checked_out_is_named(self, at: Desk, tmp_path: Path):
        digested(at, Said(self.TEXT))
        dream(at)
        branch = at.git("for-each-ref", "--format=%(refname:short)", "refs/heads/mdmem").strip()
        at.git("worktree", "add", "-q", str(tmp_path / "other"), branch)
        digested(at, Said("I prefer tea", minute="10:00", line=2))
        with pytest.raises(MdmemError) as refused:
            dream(at)
        assert refused.value.code == "checked-out"
        at.git("worktree", "remove", str(tmp_path / "other"))
        assert fates(dream(at)) == {"prefer tea": (ADD, False)}

    def test_an_entry_that_may_not_be_written_holds_up_nothing(self, world: World, at: Desk):
        settings(world, 'dream = "apply"')
        key = "ghp_" + "016C7e8f9A0b1C2d3E4f5A6b7C8d9E0f1A2b"
        at.write(
            f"memory/{DAY}.md", f"# {DAY}\n\n- [fact] the token is {key}\n- [fact] {self.TEXT}\n"
        )
        at.commit()
        result = dream(at)
        assert sorted(fates(result).values()) == [(ADD, True), (NONE, False)]
        assert {change["text"] for change in to_json(result)["changes"]} == {
            self.TEXT,
            "the token is [REDACTED:github-token]",
        }
        assert dream(at).changes == ()


class TestWhatThePersonWrote:
    """Entries that a person committed to a day's log."""

    LINE = "the shed is painted green"

    @pytest.fixture
    def written(self, at: Desk) -> Desk:
        at.write(f"memory/{DAY}.md", f"# {DAY}\n\n- [fact] {self.LINE}\n")
        at.commit()
        dream(at)
        return at

    def test_is_proposed_and_taken_as_theirs(self, written: Desk):
        (part,) = waiting(written)
        assert part.origin.source is Source.USER_STATED
        with closing(Memory(written.workspace)) as memory:
            memory.proposals.decide(on(f"dream/{DAY}"))
        assert "Mdmem-Source: user-stated" in written.git("log", "-1", "--format=%B")

    def test_is_no_duplicate_of_the_line_in_the_log(self, written: Desk):
        (part,) = waiting(written)
        assert part.duplicate_of is None

    def test_what_an_agent_logs_as_theirs_is_inferred(self, at: Desk):
        for number, day in enumerate((DAY - timedelta(days=1), DAY)):
            logged(
                at, self.LINE, source=Source.USER_STATED, day=day, session=f"claude/aaaaaaa{number}"
            )
        dream(at)
        (part,) = waiting(at)
        assert part.origin.source is Source.INFERRED


def test_a_line_whose_value_the_users_change_names_may_go(
    world: World, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    in_the_morning(monkeypatch)
    settings(world, 'dream = "apply"')
    at = desk(world, repository, seed="# Memory\n\n## Facts\n\n- malt supplier: Crisp\n")
    digested(
        at,
        Said("malt comes from Simpsons these days, Crisp got too dear"),
        Said("we pay Crisp by card", minute="11:00", line=2),
    )
    dream(at)
    assert len(curated(at)) == 3
    assert [(part.old, part.new) for part in waiting(at)] == [("malt supplier: Crisp", None)]
