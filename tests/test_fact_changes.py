"""What commits did to facts, in real repositories; and days shown."""

import sys

import pytest
from dated_memory import DatedMemory, change_employers
from dated_memory import facts_at_once as facts_at_once
from workspaces import append, code_of

from mdmem.memory import Memory
from mdmem.merge import setup
from mdmem.model import Source
from mdmem.model.errors import HistoryProblem, UsageProblem
from mdmem.model.history import ChangeKind, DayView, FactChange, ShowChanges, ShowHistory
from mdmem.model.reads import SectionView, Show
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.show.past import changes_text, day_notes, day_text, history_text

OLD, NEW = "works at Figma", "works at Notion"


def changes(memory: Memory, **wanted: object) -> list[str]:
    """Changes in short: + added, - removed, both with -> replaced."""
    return [short(change) for change in memory.changes(ShowChanges(**wanted)).changes]


def short(change: FactChange) -> str:
    if change.replaced:
        return f"{change.replaced.text} -> {change.text}"
    return f"{'+' if change.kind == 'added' else '-'} {change.text}"


@pytest.mark.usefixtures("facts_at_once")
class TestChanges:
    def test_a_commit_of_many_files_is_told_in_their_order(self, dated: DatedMemory) -> None:
        for name in ("b", "A", "a/c", "a.b", "a"):
            dated.at.write(f"memory/{name}.md", f"- [decision] z of {name}\n- a of {name}\n")
        dated.at.git("add", "memory")
        dated.at.git("commit", "-q", "-m", "import")
        memory = dated.on("2026-02-02")
        told = changes(memory, limit=0)
        assert told == [
            *("+ z of A", "+ a of A", "+ z of a.b", "+ a of a.b"),
            *("+ z of a", "+ a of a", "+ z of a/c", "+ a of a/c"),
            *("+ z of b", "+ a of b", "+ lives in Oslo"),
        ]
        for count in range(1, len(told)):
            assert changes(memory, limit=count) == told[:count]

    def test_a_value_that_another_replaces_is_one_change(self, dated: DatedMemory) -> None:
        change_employers(dated)
        memory = dated.on("2026-05-01")
        assert changes(memory) == [
            "employer: works at Figma -> employer: works at Notion",
            "employer: works at Linear -> employer: works at Figma",
            "employer: works at Stripe -> employer: works at Linear",
            "+ employer: works at Stripe",
            "+ lives in Oslo",
        ]

    def test_all_of_one(self, dated: DatedMemory) -> None:
        first = dated.on("2026-02-01").apply(Remember("tea", key="drink", section="Home"))
        options = WriteOptions(
            source=Source.USER_STATED, actor="agent/main", session="s-1", reason="the doctor"
        )
        second = dated.on("2026-02-02").apply(
            Remember("water", key="drink", section="Home", options=options)
        )
        (change,) = dated.on("2026-02-02").changes(ShowChanges(limit=1)).changes
        assert change.replaced is not None
        assert (change.fact, change.replaced.id) == (second.added[0], first.added[0])
        assert (change.path, change.section, change.line) == ("MEMORY.md", ("Memory", "Home"), 8)
        made = change.made
        assert (made.commit, f"{made.time:%Y-%m-%d %H:%M}") == (
            second.commit,
            "2026-02-02 12:00",
        )
        assert (made.author, made.actor, made.session) == ("Ada Example", "agent/main", "s-1")
        assert (made.op, made.source, made.confidence) == ("remember", "user-stated", 0.95)
        assert (made.claimed_by, made.reason, made.run, made.proposal) == (
            "agent/main",
            "the doctor",
            None,
            None,
        )

    def test_a_fact_that_is_taken_out_has_who_did_it_and_why(self, dated: DatedMemory) -> None:
        options = WriteOptions(actor="agent/main", reason="moved")
        dated.on("2026-02-01").apply(Forget("lives in Oslo", options=options))
        (change, _) = dated.on("2026-02-01").changes(ShowChanges()).changes
        assert (short(change), change.made.op, change.made.actor, change.made.reason) == (
            "- lives in Oslo",
            "forget",
            "agent/main",
            "moved",
        )

    def test_a_line_of_a_log_that_is_superseded_or_retracted(self, dated: DatedMemory) -> None:
        dated.on("2026-02-01").apply(Log("the beta ships"))
        dated.on("2026-02-02").apply(
            Log("the beta waits", options=WriteOptions(supersedes="the beta ships"))
        )
        dated.on("2026-02-03").apply(Forget("the beta waits"))
        assert changes(dated.on("2026-02-03"), since="2026-02-02") == [
            "- the beta waits",
            "the beta ships -> the beta waits",
        ]

    def test_a_line_that_moves_is_no_change(self, dated: DatedMemory) -> None:
        before = changes(dated.on("2026-02-01"))
        at = dated.at
        at.write("MEMORY.md", "# Memory\n\n## Work\n\n- lives in Oslo\n\n## Home\n")
        at.commit("moved")
        at.git("mv", "MEMORY.md", "memory.md")
        at.commit("renamed")
        assert changes(dated.on("2026-02-01")) == before == ["+ lives in Oslo"]

    def test_each_commit_of_several_lines_is_told_of_for_what_it_did_itself(
        self, dated: DatedMemory
    ) -> None:
        at = dated.at
        at.git("branch", "side")
        dated.on("2026-02-01").apply(
            Remember("one", section="Work", options=WriteOptions(actor="agent/main"))
        )
        dated.on("2026-02-05").apply(
            Remember("both", section="Work", options=WriteOptions(actor="agent/main"))
        )
        at.git("switch", "-q", "side")
        dated.on("2026-02-02").apply(
            Forget("lives in Oslo", options=WriteOptions(actor="agent/side"))
        )
        dated.on("2026-02-03").apply(Log("two", options=WriteOptions(actor="agent/side")))
        options = WriteOptions(source=Source.USER_STATED, actor="agent/side")
        dated.on("2026-02-04").apply(Remember("both", section="Work", options=options))
        told = (
            dated.on("2026-02-06").changes(ShowChanges(limit=3)).changes
        )  # the trail is made before the merge brings more
        assert [short(change) for change in told] == ["+ both", "+ two", "- lives in Oslo"]
        at.git("switch", "-q", "-")
        at.git("merge", "-q", "--no-edit", "-X", "ours", "side")
        memory = dated.on("2026-02-06")
        told = memory.changes(ShowChanges()).changes
        assert [(f"{each.made.time:%m-%d}", short(each), each.made.actor) for each in told] == [
            ("02-04", "+ both", "agent/side"),
            ("02-03", "+ two", "agent/side"),
            ("02-02", "- lives in Oslo", "agent/side"),
            ("02-01", "+ one", "agent/main"),
            ("01-01", "+ lives in Oslo", None),
        ]
        assert (told[0].made.source, told[0].made.confidence) == ("user-stated", 0.95)
        for number in range(1, len(told)):
            assert memory.changes(ShowChanges(limit=number)).changes == told[:number]
        assert (
            memory.changes(ShowChanges(since="2026-02-02", until="2026-02-03")).changes == told[1:3]
        )
        for start in range(len(told)):
            day = f"{told[start].made.time:%Y-%m-%d}"
            newest = memory.changes(ShowChanges(until=day, limit=2)).changes
            assert newest == told[start : start + 2]
        assert memory.changes(ShowChanges(since="0001-01-02")).changes == told

    def test_by_day_actor_file_and_number(self, dated: DatedMemory) -> None:
        dated.on("2026-02-01").apply(Remember("one", section="Home"))
        dated.on("2026-02-02").apply(Log("two", options=WriteOptions(actor="Agent/Main")))
        dated.on("2026-02-03").apply(Log("three", options=WriteOptions(actor="agent/main")))
        memory = dated.on("2026-02-03")
        assert changes(memory, since="yesterday") == ["+ three", "+ two"]
        assert changes(memory, since="2026-02-01", until="yesterday") == ["+ two", "+ one"]
        assert changes(memory, actor="agent/main") == ["+ three", "+ two"]
        assert changes(memory, actor="ada example") == ["+ one", "+ lives in Oslo"]
        assert changes(memory, file="memory") == ["+ three", "+ two"]
        assert (
            changes(memory, file="2026-02-02.md")
            == changes(memory, file="memory/2026-02-02.md")
            == ["+ two"]
        )
        assert changes(memory, where="logs") == ["+ three", "+ two"]
        assert changes(memory, where="curated") == ["+ one", "+ lives in Oslo"]
        assert changes(memory, limit=1, until="2026-02-02") == ["+ two"]
        assert changes(memory, limit=1, where="curated") == ["+ one"]
        assert changes(memory, limit=2) == ["+ three", "+ two"]
        assert changes(memory, limit=1, file="MEMORY.md") == ["+ one"]
        assert len(changes(memory, limit=0)) == 4

    def test_by_commit(self, dated: DatedMemory) -> None:
        one = dated.on("2026-02-01").apply(Remember("one", section="Home")).commit
        dated.on("2026-02-02").apply(append("Prose about Oslo.", section="Home"))
        memory = dated.on("2026-02-03")
        assert one
        assert changes(memory, commit=one) == changes(memory, commit=one[:10]) == ["+ one"]
        assert changes(memory, commit=one, limit=1, until="2026-02-01") == ["+ one"]
        assert changes(memory, commit="HEAD") == []
        dated.at.git("checkout", "-q", "--orphan", "other")
        dated.at.git("commit", "-q", "-m", "elsewhere")
        other = dated.at.git("rev-parse", "HEAD")
        dated.at.git("checkout", "-q", "main")
        for unknown in ("HEAD~9", "0" * 40, "--all", other):
            with pytest.raises(HistoryProblem) as caught:
                changes(memory, commit=unknown)
            assert caught.value.code == "commit-not-found"

    def test_older_ones_that_are_left_out_are_said_to_be_there(self, dated: DatedMemory) -> None:
        dated.on("2026-02-01").apply(Remember("one", section="Home"))
        assert (
            "Older changes not shown"
            in dated.on("2026-02-01").changes(ShowChanges(limit=1)).notes[0]
        )
        assert dated.on("2026-02-01").changes(ShowChanges(limit=2)).notes == ()

    def test_what_no_fact_is_concerned_by_is_none(self, dated: DatedMemory) -> None:
        dated.on("2026-02-01").apply(append("Prose about Oslo.", section="Home"))
        dated.at.write("AGENTS.md", "- always run the tests\n")
        dated.at.write("README.md", "- no memory\n")
        dated.at.commit()
        assert changes(dated.on("2026-02-01")) == ["+ lives in Oslo"]

    def test_lines_of_a_merge_are_those_of_their_own_commits(self, dated: DatedMemory) -> None:
        at = dated.at
        at.git("checkout", "-q", "-b", "side")
        dated.on("2026-02-01").apply(
            Log("on the side", options=WriteOptions(actor="agent/side", reason="why not"))
        )
        at.git("checkout", "-q", "main")
        dated.on("2026-02-02").apply(Log("on the line"))
        at.git("merge", "-q", "--no-edit", "side")
        found = {
            change.text: change for change in dated.on("2026-02-03").changes(ShowChanges()).changes
        }
        assert (found["on the side"].made.actor, found["on the side"].made.reason) == (
            "agent/side",
            "why not",
        )
        assert f"{found['on the side'].made.time:%Y-%m-%d}" == "2026-02-01"

    def test_each_value_that_one_replaces_is_told(self, dated: DatedMemory) -> None:
        at, stated = dated.at, WriteOptions(source=Source.USER_STATED)
        setup.install(at.workspace, sys.executable)
        dated.on("2026-02-01").apply(Remember("tea", key="drink", section="Home"))
        at.git("checkout", "-q", "-b", "side")
        dated.on("2026-02-02").apply(Remember("water", key="drink", section="Home"))
        at.git("checkout", "-q", "main")
        milk = Remember("milk", key="drink", section="Home", options=stated)
        dated.on("2026-02-03").apply(milk)
        at.git("merge", "-q", "--no-edit", "side")
        juice = Remember("juice", key="drink", section="Home", options=stated)
        done = dated.on("2026-02-04").apply(juice)
        assert len(done.removed) == 2
        assert changes(dated.on("2026-02-04"), commit=done.commit) == [
            "drink: milk -> drink: juice",
            "drink: water -> drink: juice",
        ]

    def test_without_a_commit_there_are_none(self, dated: DatedMemory) -> None:
        assert changes(dated.on("2026-02-01"), since="2026-01-15") == []
        with pytest.raises(UsageProblem):
            dated.on("2026-02-01").changes(ShowChanges(since="zorro"))
        with pytest.raises(UsageProblem):
            ShowChanges(limit=-1)
        with pytest.raises(UsageProblem):
            ShowChanges(where="house.md")

    def test_as_text_by_day(self, dated: DatedMemory) -> None:
        dated.on("2026-02-01").apply(Remember("tea", key="drink", section="Home"))
        dated.on("2026-02-02").apply(
            Remember("water", key="drink", section="Home", options=WriteOptions(reason="x"))
        )
        listed = dated.on("2026-02-02").changes(ShowChanges(since="2026-02-01")).changes
        lines = changes_text(listed, colour=False).splitlines()
        ids = [change.fact for change in listed]
        commits = [change.made.commit[:10] for change in listed]
        assert lines == [
            "2026-02-02",
            f"  12:00  replaced   drink: tea  ->  drink: water  [{ids[0]}]",
            f'         {commits[0]}  remember, "x"  MEMORY.md: Memory > Home',
            "2026-02-01",
            f"  12:00  added      drink: tea  [{ids[1]}]",
            f"         {commits[1]}  remember  MEMORY.md: Memory > Home",
        ]

    def test_a_log_entry_that_keeps_its_line_is_forgotten_and_not_removed(
        self, dated: DatedMemory
    ) -> None:
        dated.on("2026-02-01").apply(Log("rain in the hills"))
        dated.on("2026-02-02").apply(Forget("rain in the hills"))
        listed = dated.on("2026-02-02").changes(ShowChanges(since="2026-02-02")).changes
        assert [change.kind for change in listed] == [ChangeKind.REMOVED]
        assert "  12:00  forgotten  rain in the hills" in changes_text(listed, colour=False)


class TestDays:
    def day(self, memory: Memory, word: str) -> DayView:
        view = memory.show_named(Show(section=word))
        assert isinstance(view, DayView)
        return view

    @pytest.mark.parametrize("word", ["2026-02-02", "yesterday", "Yesterday", "1 day ago"])
    def test_a_day_has_its_log_and_what_else_changed(self, dated: DatedMemory, word: str) -> None:
        for day in ("2026-02-01", "2026-02-02", "2026-02-03"):
            dated.on(day).apply(Log(f"rain on {day}"))
            dated.on(day).apply(Remember(f"sun on {day}", section="Home"))
        view = self.day(dated.on("2026-02-03"), word)
        assert [(log.path, "rain on 2026-02-02" in log.text) for log in view.logs] == [
            ("memory/2026-02-02.md", True)
        ]
        assert [short(change) for change in view.changes] == ["+ sun on 2026-02-02"]
        text = day_text(view, terminal=False, colour=False)
        assert (
            text.index("rain on 2026-02-02")
            < text.index("Changed:")
            < text.index("sun on 2026-02-02")
        )

    def test_all_logs_of_a_day_and_none(self, dated: DatedMemory) -> None:
        dated.at.write("memory/2026-02-01-trip.md", "# Trip\n\n- by train\n")
        dated.on("2026-02-01").apply(Log("rain"))
        assert [log.path for log in self.day(dated.on("2026-02-01"), "today").logs] == [
            "memory/2026-02-01-trip.md",
            "memory/2026-02-01.md",
        ]
        empty = self.day(dated.on("2026-02-01"), "2026-01-20")
        assert (empty.logs, empty.changes) == ((), ())

    def test_the_day_of_adoption_is_short(self, dated: DatedMemory) -> None:
        dated.at.write("mdmem.toml", 'paths = ["notes/*.md"]\n')
        for n in range(12):
            dated.at.write(f"notes/n{n}.md", f"# Note {n}\n\n- fact {n} a\n- fact {n} b\n")
        day = dated.at.world.environment["GIT_AUTHOR_DATE"][:10]
        dated.at.commit()
        memory = dated.on(day)
        (line, *_) = history_text(memory.history(ShowHistory()), False, False).splitlines()
        assert line.endswith("  12 files, 24 entries")
        view = self.day(memory, "today")
        assert (len(view.changes), view.more) == (20, 4)
        assert day_notes(view)[-1].startswith("4 more changes: ")

    def test_what_a_log_lost_is_told(self, dated: DatedMemory) -> None:
        dated.on("2026-02-01").apply(Log("rain"))
        dated.on("2026-02-01").apply(Forget("rain"))
        assert [short(change) for change in self.day(dated.on("2026-02-01"), "today").changes] == [
            "- rain"
        ]

    def test_a_section_with_such_a_name_is_meant_first(self, dated: DatedMemory) -> None:
        memory = dated.on("2026-02-01")
        memory.apply(
            EditSection(
                section="Memory > Today", action=Action.BODY, text="- plan the trip", create=True
            )
        )
        view = memory.show_named(Show(section="today"))
        assert isinstance(view, SectionView)
        assert (view.section, [(each.sort, each.name) for each in view.also]) == (
            ("Memory", "Today"),
            [("day", "2026-02-01")],
        )

    @pytest.mark.parametrize(
        "word", ["2026-02-30", "May", "Mon", "zorro", "Q1 2026", "1/2/2026", "2 habits"]
    )
    def test_what_is_no_day_is_a_section_that_is_missing(
        self, dated: DatedMemory, word: str
    ) -> None:
        assert (
            code_of(lambda: dated.on("2026-02-01").show_named(Show(section=word)))
            == "section-not-found"
        )


class TestNames:
    """`show_named` and the verbs that look back take a fact by its text, key or id, and a file."""

    def test_a_fact_is_shown_as_it_is(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        memory = dated.on("2026-05-01")
        for name in (
            "employer",
            "employer: works at Notion",
            "Employer: works at Notion.",
            ids[3],
            ids[3][:6],
        ):
            view = memory.show_named(Show(section=name))
            assert isinstance(view, SectionView)
            assert (view.fact, view.text, view.start_line, view.end_line) == (
                ids[3],
                "- employer: works at Notion\n",
                5,
                5,
            )
            assert (view.path, view.section) == ("MEMORY.md", ("Memory", "Work"))
            assert view.etag == memory.show(Show(section="Work")).etag

    def test_the_curated_copy_is_shown_and_the_others_are_named(self, dated: DatedMemory) -> None:
        dated.on("2026-02-01").apply(Log("a cat"))
        dated.on("2026-02-01").apply(Remember("a cat", section="Home"))
        view = dated.on("2026-02-01").show_named(Show(section="a cat"))
        assert isinstance(view, SectionView)
        assert (view.path, [(each.sort, each.name) for each in view.also]) == (
            "MEMORY.md",
            [("place", "memory/2026-02-01.md:7")],
        )

    def test_a_fact_that_nobody_has_committed(self, dated: DatedMemory) -> None:
        dated.at.write("MEMORY.md", "# Memory\n\n- pet: a cat\n")
        view = dated.on("2026-02-01").show_named(Show(section="pet"))
        assert isinstance(view, SectionView)
        assert (view.text, view.commit, view.uncommitted) == ("- pet: a cat\n", None, True)

    def test_a_fact_that_is_no_longer_current(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        assert (
            code_of(lambda: dated.on("2026-05-01").show_named(Show(section=ids[0])))
            == "fact-not-found"
        )

    def test_a_key_of_several_facts(self, dated: DatedMemory) -> None:
        dated.at.write("MEMORY.md", "# Memory\n\n- pet: a cat\n- pet: a dog\n")
        dated.at.commit()
        assert (
            code_of(lambda: dated.on("2026-02-01").show_named(Show(section="pet")))
            == "fact-ambiguous"
        )

    @pytest.mark.parametrize("word", ["memory/rooms.md", "memory/rooms", "Rooms.md", "ROOMS"])
    def test_a_file(self, dated: DatedMemory, word: str) -> None:
        dated.at.write("memory/rooms.md", "- kitchen is blue\n")
        view = dated.on("2026-02-01").show_named(Show(section=word))
        assert isinstance(view, SectionView)
        assert (view.path, view.section, view.text) == (
            "memory/rooms.md",
            (),
            "- kitchen is blue\n",
        )
