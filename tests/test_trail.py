"""The trail in real repositories: what is current, what was, and memory as it was on each day."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from dated_memory import DAYS, EMPLOYERS, DatedMemory, change_employers, facts_saying
from workspaces import code_of

from mdmem.index import catching_up
from mdmem.model import FilePath, Op, Provenance, Source, Status, Supersession
from mdmem.model.errors import MdmemError
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.proposals import AdviceKind
from mdmem.model.searches import ListFacts
from mdmem.model.writes import (
    Action,
    Contradict,
    EditSection,
    Forget,
    Log,
    Remember,
    Resolve,
    Revert,
    WriteOptions,
)
from mdmem.past.messages import CommitNote, compose_message
from mdmem.text.facts import fact_id


class TestOneKey:
    def test_only_the_newest_is_found(self, dated: DatedMemory) -> None:
        change_employers(dated)
        assert dated.texts("works at") == ["employer: works at Notion"]

    def test_history_has_the_older_ones_with_what_replaced_them(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        hits = {str(hit.fact): hit for hit in dated.search("works at", history=True)}
        assert [hits[fact].status for fact in ids] == [Status.SUPERSEDED] * 3 + [Status.CURRENT]
        assert [hits[fact].superseded_by for fact in ids] == [*ids[1:], None]

    @pytest.mark.parametrize("number", range(4))
    def test_each_day_has_its_own(self, dated: DatedMemory, number: int) -> None:
        change_employers(dated)
        hits = dated.search("works at", as_of=DAYS[number])
        assert [hit.text for hit in hits] == [f"employer: works at {EMPLOYERS[number]}"]
        assert [hit.status for hit in hits] == [Status.CURRENT]
        later = ["2026-01-20", "2026-02-20", "2026-03-20", "2026-11-20"][number]
        assert dated.texts("works at", as_of=later) == [f"employer: works at {EMPLOYERS[number]}"]

    def test_lines_are_those_of_the_commit(self, dated: DatedMemory) -> None:
        change_employers(dated)
        at = dated.at
        at.write(
            "MEMORY.md",
            "# Memory\n\nA new paragraph.\n\nAnother one.\n"
            + at.read("MEMORY.md").removeprefix("# Memory\n"),
        )
        later = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-05-10T12:00:00")
        at.world.git(at.root, "commit", "-q", "-am", "by hand", environment=later)
        assert dated.search("works at", as_of=DAYS[3])[0].start_line == 5
        assert dated.search("works at")[0].start_line == 9

    def test_chain(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        history = dated.on("2027-01-01").history(ShowHistory(ids[1]))
        assert isinstance(history, FactHistory)
        assert history.status is Status.SUPERSEDED
        assert [(link.id, link.text) for link in history.chain] == [
            (i, f"employer: works at {p}") for i, p in zip(ids, EMPLOYERS, strict=True)
        ]
        assert [f"{link.start:%Y-%m-%d}" for link in history.chain] == DAYS
        assert history.chain[-1].end is None

    def test_back_to_an_old_value(self, dated: DatedMemory) -> None:
        change_employers(dated)
        dated.on("2026-05-10").apply(Remember("works at Stripe", section="Work", key="employer"))
        assert dated.texts("works at") == ["employer: works at Stripe"]
        assert dated.texts("works at", as_of="2026-04-20") == ["employer: works at Notion"]


class TestEditsByAPerson:
    def test_a_person_s_edit_supersedes_by_its_key(self, dated: DatedMemory) -> None:
        at = dated.at
        for employer in ("Stripe", "Linear"):
            at.write("MEMORY.md", f"# Memory\n\n## Work\n\n- employer: {employer}\n")
            at.commit(employer)
        hits = dated.search("employer", history=True)
        assert [(hit.text, hit.status) for hit in hits] == [
            ("employer: Linear", Status.CURRENT),
            ("employer: Stripe", Status.SUPERSEDED),
        ]
        assert hits[1].superseded_by == hits[0].fact

    def test_what_is_taken_out_was_removed(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("MEMORY.md", "# Memory\n\n## Home\n")
        at.commit("gone")
        assert dated.texts("Oslo") == []
        (hit,) = dated.search("Oslo", history=True)
        assert (hit.status, hit.path, hit.start_line) == (Status.REMOVED, "MEMORY.md", 7)

    @pytest.mark.parametrize("staged", [False, True])
    def test_so_was_what_stood_in_a_file_that_is_gone(
        self, dated: DatedMemory, staged: bool
    ) -> None:
        at = dated.at
        at.write("memory/fruit.md", "# Fruit\n\n- kiwi\n")
        held_by = at.commit("fruit")
        assert dated.texts("kiwi")
        at.git("rm", "-q", "memory/fruit.md") if staged else (at.root / "memory/fruit.md").unlink()
        expected = ("kiwi", Status.REMOVED, "memory/fruit.md", 3, held_by)
        for _ in range(2):
            assert dated.texts("kiwi") == []
            for (hit,) in (dated.search("kiwi", history=True), facts_saying(dated, "kiwi")):
                assert (hit.text, hit.status, hit.path, hit.start_line, hit.commit) == expected
            catching_up.rebuild_index(at.workspace, True, print)
        at.commit("gone")
        (hit,) = dated.search("kiwi", history=True)
        assert (hit.text, hit.status, hit.path, hit.start_line, hit.commit) == expected
        at.git("checkout", "-q", "HEAD~", "--", "memory/fruit.md")
        assert [hit.status for hit in dated.search("kiwi", history=True)] == [
            Status.CURRENT,
            Status.REMOVED,
        ]

    def test_what_is_not_committed_has_no_past(self, dated: DatedMemory) -> None:
        at = dated.at
        head = at.git("rev-parse", "HEAD").strip()
        at.write("MEMORY.md", "# Memory\n\n## Home\n\n- lives in Rome\n")
        assert dated.texts("lives") == ["lives in Rome"]
        assert dated.texts("lives", as_of=head) == ["lives in Oslo"]
        assert sorted(dated.texts("lives", history=True)) == ["lives in Oslo", "lives in Rome"]


class TestLogs:
    def test_a_line_of_a_log_is_superseded_by_a_trailer(self, dated: DatedMemory) -> None:
        old = dated.on("2026-01-10").apply(Log("deploys go through Jenkins", kind="fact")).added[0]
        new = dated.on("2026-02-10").apply(
            Log("deploys go through Buildkite", kind="fact", options=WriteOptions(supersedes=old))
        )
        assert [(pair.old, pair.new) for pair in new.supersedes] == [(old, new.added[0])]
        assert dated.texts("deploys") == ["deploys go through Buildkite"]
        assert dated.texts("deploys", as_of="2026-01-20") == ["deploys go through Jenkins"]
        hits = dated.search("deploys", history=True)
        assert {hit.text: hit.superseded_by for hit in hits} == {
            "deploys go through Jenkins": new.added[0],
            "deploys go through Buildkite": None,
        }
        assert "Jenkins" in dated.at.read("memory/2026-01-10.md")

    def test_said_again_it_is_nothing_new(self, dated: DatedMemory) -> None:
        old = dated.on("2026-01-10").apply(Log("a", kind="fact")).added[0]
        change = Log("b", kind="fact", options=WriteOptions(supersedes=old))
        assert dated.on("2026-02-10").apply(change).changed
        assert not dated.on("2026-02-10").apply(change).changed

    def test_a_mark_alone(self, dated: DatedMemory) -> None:
        old = dated.on("2026-01-10").apply(Log("deploys on Monday", kind="fact")).added[0]
        dated.on("2026-01-11").apply(Remember("deploys on Friday", section="Work"))
        before = dated.at.read("MEMORY.md")
        done = dated.on("2026-01-12").apply(
            Remember("deploys on Friday", section="Work", options=WriteOptions(supersedes=old))
        )
        assert done.changed
        assert done.commit
        assert dated.at.read("MEMORY.md") == before
        assert dated.texts("deploys") == ["deploys on Friday"]

    def test_retracted(self, dated: DatedMemory) -> None:
        fact = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact")).added[0]
        done = dated.on("2026-01-11").apply(Forget(fact))
        assert done.changed
        assert done.commit
        assert dated.texts("sky") == []
        assert [hit.status for hit in dated.search("sky", history=True)] == [Status.REMOVED]
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-01-12").apply(Forget(fact, options=WriteOptions(session="another")))
        assert failure.value.code == "fact-not-found"

    @pytest.mark.every(3)
    @pytest.mark.parametrize("renamed", [False, True])
    @pytest.mark.parametrize(
        "change",
        [
            Forget,
            lambda old: Log("the sky is blue", kind="fact", options=WriteOptions(supersedes=old)),
        ],
    )
    def test_as_of_a_time_at_which_a_mark_held_that_was_taken_back(
        self, dated: DatedMemory, change: Callable[[str], Any], renamed: bool
    ) -> None:
        at, path = dated.at, "memory/2026-01-10.md"
        logged = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact"))
        old = str(logged.added[0])
        dated.on("2026-01-10").apply(Remember("blue", section="Home"))
        dated.on("2026-01-10").apply(Contradict(old, "blue"))
        done = dated.on("2026-01-12").apply(change(old))
        if renamed:
            at.git("mv", path, path := "memory/2026-01-10-sky.md")
            at.git("commit", "-qm", "renamed", "--date=2026-01-13T12:00:00")
        dated.on("2026-01-14").apply(Revert(str(done.commit)))

        def require_current_as_of_each_day() -> None:
            for day in ("2026-01-11", "2026-01-12", "2026-01-13", "2026-01-15"):
                is_current = day in ("2026-01-11", "2026-01-15")
                assert dated.texts("green", as_of=day) == ["the sky is green"] * is_current
                (hit,) = [hit for hit in dated.search("blue", as_of=day) if hit.text == "blue"]
                assert hit.contradicts == (old,) * is_current

        require_current_as_of_each_day()
        (hit,) = dated.search("green", history=True)
        assert (hit.status, hit.commit) == (Status.CURRENT, logged.commit)
        at.write(path, at.read(path).replace("green", "green #sky"))
        require_current_as_of_each_day()
        at.write(path, "# 2026-01-10\n")
        require_current_as_of_each_day()
        at.git("commit", "-qam", "gone", "--date=2026-01-16T12:00:00")
        require_current_as_of_each_day()
        catching_up.rebuild_index(at.workspace, True, print)
        require_current_as_of_each_day()
        assert [hit.status for hit in dated.search("green", history=True)] == [Status.REMOVED]

    def test_a_side_commit_knows_nothing_of_what_was_said_here_since(
        self, dated: DatedMemory
    ) -> None:
        at, log = dated.at, Log("penguin", kind="fact", time="10:00")
        dated.on("2026-01-10").apply(log)
        at.git("switch", "-q", "-c", "side")
        dated.on("2026-01-11").apply(Forget("penguin"))
        at.git("switch", "-q", "main")
        dated.on("2026-01-12").apply(Forget("penguin"))
        dated.on("2026-01-10").apply(replace(log, again=True))
        at.git("merge", "-q", "--no-edit", "side")
        assert dated.texts("penguin") == ["penguin"]

    def test_in_several_logs_all_are_retracted_or_the_one_that_is_meant(
        self, dated: DatedMemory
    ) -> None:
        for day, time in (
            ("2026-01-10", "08:00"),
            ("2026-01-11", "09:00"),
            ("2026-01-12", "10:00"),
        ):
            dated.on("2026-01-12").apply(Log("the sky is green", day=day, time=time))
        one = dated.on("2026-01-13").apply(Forget("the sky is green", file="memory/2026-01-11.md"))
        assert (one.forgotten, len(one.also)) == (("memory/2026-01-11.md:7",), 2)
        assert dated.texts("sky") == ["the sky is green"]
        rest = dated.on("2026-01-13").apply(Forget("the sky is green"))
        assert rest.forgotten == ("memory/2026-01-12.md:7", "memory/2026-01-10.md:7")
        assert not dated.on("2026-01-13").apply(Forget("the sky is green")).changed
        assert dated.texts("sky") == []

    def test_a_line_that_somebody_tags_is_retracted_still(self, dated: DatedMemory) -> None:
        at = dated.at
        fact = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact")).added[0]
        dated.on("2026-01-11").apply(Forget(fact))
        at.write(
            "memory/2026-01-10.md", at.read("memory/2026-01-10.md").replace("green", "green #sky")
        )
        assert dated.texts("sky") == []
        again = Forget(fact, options=WriteOptions(session="another"))
        assert code_of(lambda: dated.on("2026-01-12").apply(again)) == "fact-not-found"
        at.commit("tagged")
        assert dated.texts("sky") == []

    def test_what_is_written_in_another_way_and_not_committed_is_one_statement(
        self, dated: DatedMemory
    ) -> None:
        at = dated.at
        head = at.git("rev-parse", "HEAD").strip()
        at.write("MEMORY.md", at.read("MEMORY.md").replace("lives in Oslo", "lives in Oslo #home"))
        (hit,) = dated.search("Oslo", history=True)
        assert (hit.status, hit.uncommitted, hit.tags) == (Status.CURRENT, True, ("home",))
        (hit,) = dated.search("Oslo", as_of=head)
        assert (hit.uncommitted, hit.tags) == (False, ())

    @pytest.mark.parametrize(
        "change",
        [
            Remember("lives in Rome", section="Home", tags=("city",)),
            Remember("lives in Rome", section="Home", until="2027-06-01"),
            EditSection(
                "Home",
                Action.REPLACE,
                "- lives in Rome",
                "-  lives  in Rome",
                options=WriteOptions(source=Source.AUTO),
            ),
        ],
        ids=["tag", "until", "spacing"],
    )
    def test_written_in_another_way_it_keeps_its_source(
        self, dated: DatedMemory, change: Remember | EditSection
    ) -> None:
        stated = dated.on("2026-01-10").apply(
            Remember(
                "lives in Rome", section="Home", options=WriteOptions(source=Source.USER_STATED)
            )
        )
        done = dated.on("2026-01-11").apply(change)
        assert (done.changed, done.added, done.removed) == (True, (), ())
        (hit,) = [
            hit for hit in dated.search("Rome", min_confidence=0.9) if hit.fact == stated.added[0]
        ]
        assert (hit.source, hit.confidence, hit.commit) == (Source.USER_STATED, 0.95, done.commit)
        history = dated.on("2027-01-01").history(ShowHistory(str(stated.added[0])))
        assert isinstance(history, FactHistory)
        assert [(link.made.source, link.made.confidence) for link in history.chain] == [
            (hit.source, hit.confidence)
        ]

    def test_the_same_again_begins_anew(self, dated: DatedMemory) -> None:
        fact = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact")).added[0]
        dated.on("2026-01-10T13:00:00").apply(Forget(fact))
        dated.on("2026-01-10T13:00:00").apply(Log("the sky is green", kind="fact", again=True))
        assert dated.texts("sky") == ["the sky is green"]


class TestOverruled:
    """A commit that says of a line in a file edited in place that it is over, and
    leaves it there.
    """

    def _superseded(self, dated: DatedMemory, *texts: str) -> None:
        for text in texts:
            dated.on("2026-01-10").apply(Remember(text, also=True))
        old, new = fact_id(texts[0]), dated.on("2026-01-11").apply(Log("that is over")).added[0]
        note = CommitNote(
            Op.SUPERSEDE,
            FilePath("MEMORY.md"),
            ("Memory", "Facts"),
            Provenance(),
            supersedes=(Supersession(old, new),),
        )
        dated.at.git("commit", "-q", "--allow-empty", "-m", compose_message(note))

    def test_it_stands_and_is_found(self, dated: DatedMemory) -> None:
        self._superseded(dated, "drinks tea")
        assert dated.texts("tea") == dated.texts("tea", as_of="HEAD") == ["drinks tea"]
        assert not dated.on("2026-01-12").apply(Remember("drinks tea")).changed

    def test_it_is_a_value_of_its_key(self, dated: DatedMemory) -> None:
        self._superseded(dated, "drink: tea", "drink: milk")
        assert (
            code_of(lambda: dated.on("2026-01-12").apply(Remember("drink: water")))
            == "key-ambiguous"
        )

    def test_review_lists_it(self, dated: DatedMemory) -> None:
        self._superseded(dated, "drinks tea")
        assert self._advice(dated) == [True]
        dated.on("2026-01-12").apply(Forget("that is over"))
        assert self._advice(dated) == [False]

    def _advice(self, dated: DatedMemory) -> list[bool]:
        """Tell of each piece of advice on superseded lines whether it is safe."""
        return [
            each.safe
            for each in dated.on("2026-01-12").review().advice
            if each.kind is AdviceKind.SUPERSEDED
        ]


class TestContradictions:
    def test_by_key(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("MEMORY.md", "# Memory\n\n## Work\n\n- employer: Stripe\n- employer: Linear\n")
        at.commit("both")
        hits = dated.search("employer")
        assert [hit.contradicts for hit in hits] == [(hits[1].fact,), (hits[0].fact,)]
        dated.on("2026-06-01").apply(Resolve(str(hits[0].fact), str(hits[1].fact)))
        assert [hit.contradicts for hit in dated.search("employer")] == [(), ()]

    def test_each_section_has_its_own(self, dated: DatedMemory) -> None:
        pair = "- color: red\n- color: blue\n"
        dated.at.write("MEMORY.md", f"# Memory\n\n## A\n\n{pair}\n## B\n\n{pair}")
        dated.at.commit("both")
        conflicts = [
            (view.key, view.first.section[-1], view.first.text, view.second.text)
            for view in dated.on("2026-06-01").conflicts().conflicts
        ]
        assert conflicts == [
            ("color", "A", "color: red", "color: blue"),
            ("color", "B", "color: red", "color: blue"),
        ]

    def test_by_a_key_that_one_of_them_names(self, dated: DatedMemory) -> None:
        dated.at.write("MEMORY.md", "# Memory\n\n## A\n\n- Drink: tea\n- drink: coffee\n")
        dated.at.commit("all")
        assert [view.key for view in dated.on("2026-06-01").conflicts().conflicts] == ["drink"]

    def test_by_hand(self, dated: DatedMemory) -> None:
        dated.on("2026-01-10").apply(Remember("sleeps late", section="Home"))
        done = dated.on("2026-01-11").apply(Log("up at five, as ever", kind="fact"))
        mark = Contradict("sleeps late", str(done.added[0]))
        assert dated.on("2026-01-12").apply(mark).changed
        assert not dated.on("2026-01-12").apply(mark).changed
        hit = dated.search("sleeps")[0]
        assert hit.contradicts == done.added
        (conflict,) = dated.on("2026-01-13").conflicts().conflicts
        assert {conflict.first.text, conflict.second.text} == {"sleeps late", "up at five, as ever"}
        assert conflict.key is None

    def test_as_of_each_time(self, dated: DatedMemory) -> None:
        """By key, until it was resolved; by hand, until the mark was taken back; and not before
        either was there.
        """
        at = dated.at
        blue = dated.on("2026-01-10").apply(Remember("blue", section="Home", key="colour")).added[0]
        red = (
            dated.on("2026-01-11")
            .apply(Log("red it is, and no other colour", kind="fact"))
            .added[0]
        )
        at.write("MEMORY.md", at.read("MEMORY.md") + "- colour: green\n")
        both = at.commit("both")
        green = fact_id("colour: green")
        marked = dated.on("2026-01-12").apply(Contradict(str(blue), str(red))).commit
        resolved = dated.on("2026-01-13").apply(Resolve(str(blue), str(green))).commit
        back = dated.on("2026-01-14").apply(Revert(str(marked))).commit
        dated.on("2026-01-15").apply(Forget(str(green)))
        for commit, expected in (
            (f"{both}~", {blue: (), red: ()}),
            (both, {blue: (green,), green: (blue,), red: ()}),
            (marked, {blue: (green, red), green: (blue,), red: (blue,)}),
            (resolved, {blue: (red,), green: (), red: (blue,)}),
            (back, {blue: (), green: (), red: ()}),
        ):
            assert {
                hit.fact: hit.contradicts
                for hit in dated.search("colour", as_of=commit)
                if hit.fact in (blue, green, red)
            } == expected

    def test_as_of_a_day_on_which_one_had_expired(self, dated: DatedMemory) -> None:
        dated.at.write(
            "MEMORY.md", "# Memory\n\n- colour: blue\n- colour: green (until 2026-02-01)\n"
        )
        dated.at.git("commit", "-qam", "both", "--date=2026-01-10T12:00:00")
        for day, number in (("2026-01-20", 1), ("2026-02-20", 0)):
            assert len(dated.search("blue", as_of=day)[0].contradicts) == number

    @pytest.mark.parametrize(
        "way", ["superseded", "retracted", "forgotten", "reworded", "file gone", "expired"]
    )
    def test_one_that_the_other_is_no_longer(self, dated: DatedMemory, way: str) -> None:
        """Whatever becomes of it, and in whichever file; what comes back contradicts again."""
        at = dated.at
        at.write("memory/tea.md", "- hates tea (until 2026-06-01)\n")
        at.commit("tea")
        dated.on("2026-01-10").apply(Remember("likes tea", section="Home"))
        dated.on("2026-01-10").apply(Log("detests tea", kind="fact"))
        other = "detests tea" if way in ("superseded", "retracted") else "hates tea"
        dated.on("2026-01-11").apply(Contradict("likes tea", other))
        assert self._against(dated, "2026-01-11") != ()
        memory = dated.on("2026-01-12")
        match way:
            case "superseded":
                memory.apply(Log("adores tea", kind="fact", options=WriteOptions(supersedes=other)))
            case "retracted" | "forgotten":
                memory.apply(Forget(other))
            case "reworded":
                at.write("memory/tea.md", "- the green leaves from China are not for him\n")
                at.commit("reworded")
            case "file gone":
                (at.root / "memory/tea.md").unlink()
                at.commit("gone")
        assert self._against(dated, "2026-06-02") == ()
        assert dated.on("2026-06-02").conflicts().conflicts == ()
        if way in ("retracted", "forgotten"):
            dated.on("2026-01-13").apply(Revert("HEAD"))
            assert self._against(dated, "2026-01-13") != ()

    def _against(self, dated: DatedMemory, day: str) -> tuple[str, ...]:
        (hit,) = [hit for hit in dated.search("likes tea", day) if hit.text == "likes tea"]
        (fact,) = [
            fact for fact in dated.on(day).facts(ListFacts()).facts if fact.text == "likes tea"
        ]
        assert hit.contradicts == fact.contradicts
        return hit.contradicts

    def test_several_values_are_none(self, dated: DatedMemory) -> None:
        for pet in ("cat", "dog"):
            dated.on("2026-01-10").apply(Remember(pet, section="Home", key="pet", also=True))
        assert {hit.contradicts for hit in dated.search("pet")} == {()}
