"""Facts over days and weeks, from the history of real repositories."""

import json
import re
from collections import Counter
from datetime import date
from itertools import pairwise

import pytest
from commandline import Shell
from dated_memory import DatedMemory, change_employers
from dated_memory import dated as dated
from dated_memory import dated_desk as dated_desk
from dated_memory import facts_at_once as facts_at_once
from hypothesis import given
from hypothesis import strategies as st
from workspaces import code_of

from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.history import FactDay, FactTrends, ShowChanges, ShowTrends
from mdmem.model.searches import ListFacts
from mdmem.model.trail import TrailCommit
from mdmem.model.writes import Contradict, Forget, Log, Remember, WriteOptions
from mdmem.past import fresh_trail
from mdmem.past.lifetimes import half_life, survival
from mdmem.past.table import Trail

pytestmark = pytest.mark.usefixtures("facts_at_once")
STATED = WriteOptions(source=Source.USER_STATED)
CLAUDE = WriteOptions(actor="agent/claude")


def trends(memory: Memory, days: int = 42) -> FactTrends:
    answer = memory.trends(ShowTrends(days))
    assert len(answer.days) == days
    assert all(len(row.days) == days for row in (*answer.writers, *answer.kinds))
    last = answer.days[-1]
    assert last.stated + last.inferred + last.automatic == answer.current
    assert sum(kind.count for kind in answer.kinds) == answer.current
    assert sum(day.people + day.agents for day in answer.days) == sum(
        writer.count for writer in answer.writers
    )
    active = memory.activity(ShowTrends(days))
    makers = {day.day: (day.people, day.agents) for day in active.days}
    assert active.writers == answer.writers
    assert [makers.get(day.day, (0, 0)) for day in answer.days] == [
        (day.people, day.agents) for day in answer.days
    ]
    return answer


def day_of(answer: FactTrends, day: str) -> FactDay:
    (found,) = [each for each in answer.days if each.day == date.fromisoformat(day)]
    return found


def counts(day: FactDay) -> tuple[int, int, int]:
    return day.stated, day.inferred, day.automatic


def test_days_end_with_the_facts_that_were_current_then(dated: DatedMemory) -> None:
    dated.on("2026-02-01").apply(Remember("tea", key="drink", section="Home", options=STATED))
    dated.on("2026-02-03").apply(Remember("water", key="drink", section="Home", options=CLAUDE))
    dated.on("2026-02-03").apply(Log("it rained"))
    dated.on("2026-02-05").apply(Forget("it rained"))
    dated.on("2026-02-06").apply(Forget("drink: water"))
    answer = trends(dated.on("2026-02-07"), 8)
    oslo = 1 if counts(answer.days[0])[0] else 0  # the seed, whatever its source
    assert [counts(day) for day in answer.days] == [
        (oslo, 1 - oslo, 0),
        (oslo + 1, 1 - oslo, 0),
        (oslo + 1, 1 - oslo, 0),
        (oslo, 3 - oslo, 0),
        (oslo, 3 - oslo, 0),
        (oslo, 2 - oslo, 0),
        (oslo, 1 - oslo, 0),
        (oslo, 1 - oslo, 0),
    ]
    third = day_of(answer, "2026-02-03")
    assert (third.added, third.replaced, third.removed) == (1, 1, 0)
    assert (third.people, third.agents) == (1, 1)
    assert day_of(answer, "2026-02-05").removed == 1


def test_they_tell_what_changes_and_facts_tell(dated: DatedMemory) -> None:
    change_employers(dated)
    dated.on("2026-04-12").apply(Log("a\nb", options=CLAUDE))
    memory = dated.on("2026-04-12")
    answer = trends(memory, 100)
    told = memory.changes(ShowChanges(since="2026-01-03", limit=0)).changes
    assert sum(day.added + day.replaced + day.removed for day in answer.days) == len(told)
    assert answer.current == memory.facts(ListFacts(limit=1)).total
    assert {each.name: each.count for each in answer.writers} == Counter(
        change.made.actor or change.made.author for change in told
    )


def test_writers_are_people_or_agents_the_one_with_most_changes_first(
    dated: DatedMemory,
) -> None:
    for number in range(3):
        dated.on("2026-02-01").apply(Log(f"entry {number}", options=CLAUDE))
    dated.on("2026-02-01").apply(Log("by the same", options=WriteOptions(actor="Agent/Claude")))
    dated.at.write("MEMORY.md", "# Memory\n\n- by hand\n- lives in Oslo\n")
    dated.at.git("config", "user.name", "Grace")
    dated.at.commit("a person's")
    answer = trends(dated.on("2027-01-01"), 3000)
    assert [(each.name, each.is_agent, each.count) for each in answer.writers] == [
        ("Agent/Claude", True, 4),
        ("Ada Example", False, 1),
        ("Grace", False, 1),
    ]


def test_the_user_is_one_writer_under_several_names(dated: DatedMemory) -> None:
    folder = dated.at.world.home / ".config" / "mdmem"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text('people = ["ada", "mum", "ben"]\nowner = ["Mum"]\n')
    dated.on("2026-02-01").apply(Log("by the author"))
    for name in ("ada", "mum", "ben"):
        dated.on("2026-02-01").apply(Log(f"by {name}", options=WriteOptions(actor=name)))
    memory = dated.on("2026-02-02")
    writers = trends(memory, 5).writers
    assert [(each.name, each.count) for each in writers] == [("Ada Example", 3), ("ben", 1)]
    for name in ("Ada Example", "ada"):
        told = memory.changes(ShowChanges(actor=name, where="logs")).changes
        assert [each.text for each in told] == ["by mum", "by ada", "by the author"]


def test_an_actor_whom_the_user_lists_is_a_person(dated: DatedMemory) -> None:
    folder = dated.at.world.home / ".config" / "mdmem"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text('people = ["grace"]\n')
    dated.on("2026-02-01").apply(Log("one", options=WriteOptions(actor="Grace")))
    (writer,) = trends(dated.on("2026-02-01"), 1).writers
    assert (writer.name, writer.is_agent) == ("Grace", False)


def test_kinds(dated: DatedMemory) -> None:
    for kind, text in (("decision", "one"), ("decision", "two"), ("lesson", "three")):
        dated.on("2026-02-01").apply(Log(text, kind=kind))
    dated.on("2026-02-03").apply(Forget("three"))
    kinds = {each.kind: each.days for each in trends(dated.on("2026-02-03"), 4).kinds}
    assert kinds == {"decision": (0, 2, 2, 2), "": (1, 1, 1, 1), "lesson": (0, 1, 1, 0)}


def test_a_fact_that_expires_is_not_current_from_the_next_day_on(dated: DatedMemory) -> None:
    dated.on("2026-02-01").apply(Remember("on leave", section="Home", until="2026-02-03"))
    for day, there in (("2026-02-03", 2), ("2026-02-04", 1)):
        memory = dated.on(day)
        answer = trends(memory, 4)
        assert answer.current == memory.facts(ListFacts()).total == there
    assert [sum(counts(day)) for day in answer.days] == [2, 2, 2, 1]


def test_a_fact_in_several_places_counts_once_with_its_strongest_source(
    dated: DatedMemory,
) -> None:
    dated.on("2026-02-01").apply(Log("plays chess"))
    dated.on("2026-02-02").apply(Remember("plays chess", section="Home", options=STATED))
    answer = trends(dated.on("2026-02-02"), 2)
    before, after = answer.days
    assert counts(after)[0] - counts(before)[0] == 1
    assert sum(counts(before)) == sum(counts(after)) == answer.current == 2


def test_a_line_of_a_log_that_became_a_curated_fact_counts_as_that(dated: DatedMemory) -> None:
    logged = dated.on("2026-02-01").apply(Log("I always drink tea in the morning")).added[0]
    before = trends(dated.on("2026-02-02"), 3).current
    dated.on("2026-02-03").apply(
        Remember("drinks tea in the morning", entry=logged, section="Home", options=STATED)
    )
    memory = dated.on("2026-02-03")
    assert before == trends(memory, 4).current == memory.facts(ListFacts(limit=0)).total


def test_a_line_that_moves_goes_on(dated: DatedMemory) -> None:
    dated.on("2026-02-01").apply(Remember("tea", section="Home"))
    at = dated.at
    at.write("MEMORY.md", "# Memory\n\n## Work\n\n- tea\n- lives in Oslo\n\n## Home\n")
    at.git("add", "-A")
    at.git("commit", "-q", "-m", "moved", "--date=2026-02-10T10:00:00+00:00")
    answer = trends(dated.on("2027-01-01"), 1)
    assert answer.current == 2
    assert answer.survival == ()
    assert answer.half_life_days is None


def test_survival_is_of_curated_facts(dated: DatedMemory) -> None:
    dated.on("2026-01-01").apply(Log("a log is not curated"))
    dated.on("2026-01-02").apply(Forget("a log is not curated"))
    change_employers(dated)  # three ended, after 31, 28 and 31 days
    answer = trends(dated.on("2026-04-11"))
    assert answer.survival == ((28, 0.75), (31, 0.25))  # of Oslo, and the four employers
    assert answer.half_life_days == pytest.approx(31, abs=0.1)


def test_sections_that_change_and_those_that_do_not(dated: DatedMemory) -> None:
    change_employers(dated)
    dated.on("2026-04-11").apply(Log("not curated"))
    answer = trends(dated.on("2026-04-11"), 60)
    (most,) = answer.changed_most
    assert (most.path, most.section, most.count) == ("MEMORY.md", ("Memory", "Work"), 2)
    assert f"{most.last:%Y-%m-%d %H:%M}" == "2026-04-10 12:00"
    assert [(each.section, each.count) for each in answer.untouched] == [
        (("Memory", "Home"), 0),
    ]


def test_a_section_that_changed_often_is_untouched_from_a_week_on(dated: DatedMemory) -> None:
    change_employers(dated)
    dated.on("2026-04-16").apply(Remember("in Oslo", section="Home"))

    def untouched(day: str) -> list[tuple[str, str]]:
        sections = trends(dated.on(day), 60).untouched
        return [(each.section[-1], f"{each.last:%m-%d}") for each in sections]

    assert untouched("2026-04-16") == []
    assert untouched("2026-04-18") == [("Work", "04-10")]
    assert untouched("2026-04-24") == [("Work", "04-10"), ("Home", "04-16")]


def test_contradictions_by_day(dated: DatedMemory) -> None:
    dated.on("2026-02-01").apply(Log("one"))
    dated.on("2026-02-01").apply(Log("two"))
    dated.on("2026-02-02").apply(Contradict("one", "two"))
    assert [day.contradicted for day in trends(dated.on("2026-02-03"), 3).days] == [0, 1, 0]


def test_days_are_those_of_the_zone_in_the_settings(dated: DatedMemory) -> None:
    dated.at.write("mdmem.toml", 'timezone = "Asia/Kolkata"\n')
    dated.on("2026-02-01T00:10:00").apply(Log("after midnight there"))
    dated.on("2026-01-31T23:50:00").apply(Log("before it"))
    answer = trends(dated.on("2026-02-01T09:00:00"), 2)
    assert [day.added for day in answer.days] == [1, 1]
    assert [sum(counts(day)) for day in answer.days] == [2, 3]


def test_what_is_later_than_now_counts_as_now(dated: DatedMemory) -> None:
    dated.on("2026-03-01").apply(Log("of a clock that was ahead"))
    answer = trends(dated.on("2026-02-01"), 2)
    assert [day.added for day in answer.days] == [0, 1]
    assert answer.current == 2


def test_an_empty_history(dated: DatedMemory) -> None:
    at = dated.at
    at.git("switch", "-q", "--orphan", "empty")
    at.write("MEMORY.md", "- not saved\n")
    answer = trends(dated.on("2026-02-01"), 3)
    assert (answer.current, answer.writers, answer.kinds, answer.untouched) == (0, (), (), ())


def test_a_number_of_days_out_of_range_is_refused() -> None:
    assert code_of(lambda: ShowTrends(0)) == "usage"


def test_what_is_committed_and_another_day_are_told_at_once(dated: DatedMemory) -> None:
    memory = dated.on("2026-02-01")
    first = trends(memory)
    dated.at.write("memory/2026-02-01.md", "- not saved\n")
    assert trends(memory) == first
    assert len(trends(memory, 7).days) == 7
    dated.at.commit("saved")
    assert trends(memory).current == first.current + 1
    dated.on("2026-02-02")
    assert trends(memory).days[-1].day == date(2026, 2, 2)


def test_activity_is_right_in_a_memory_held_open_whatever_happens_to_history(
    dated: DatedMemory,
) -> None:
    memory, at = dated.on("2026-02-02"), dated.at

    def counted() -> int:
        return sum(writer.count for writer in trends(memory, 7).writers)

    memory.apply(Log("tea", options=CLAUDE))
    memory.apply(Remember("lives in Bergen", section="Home", key="city"))
    assert counted() == 2
    memory.apply(Remember("lives in Narvik", section="Home", key="city"))
    memory.apply(Forget("tea"))
    assert counted() == 4
    at.git("switch", "-q", "-c", "side", "HEAD~2")
    memory.apply(Log("on a branch"))
    assert counted() == 3
    at.git("switch", "-q", "-")
    assert counted() == 4
    at.git("merge", "-q", "--no-edit", "side")
    assert counted() == 5
    at.git("reset", "-q", "--hard", "HEAD~1")
    memory.apply(Log("another one", options=CLAUDE))
    assert counted() == 5
    for branch, name in (("left", "HEAD"), ("right", "HEAD~1")):
        at.git("switch", "-q", "-c", branch, name)
        at.write("memory/both.md", "- on both sides\n")
        at.commit(branch)
        assert counted() == 6
    for branch, other in (("left", "right"), ("right", "left^1")):
        at.git("switch", "-q", branch)
        assert counted() == 6
        at.git("merge", "-q", "--no-edit", other)
        assert counted() == 6
    at.git("commit", "-q", "--amend", "--no-edit", "--author", "Eve <eve@example.test>")
    assert counted() == 6
    at.write("mdmem.toml", 'extra_paths = ["notes.md"]\n')
    at.write("notes.md", "- one more\n")
    at.commit("notes")
    assert counted() == 7
    at.write("mdmem.toml", "")
    assert counted() == 6


@pytest.mark.parametrize("facts_at_once", [1_000], indirect=True)
def test_activity_after_a_commit_reads_that_commit_alone(
    dated: DatedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, read = dated.on("2026-02-02"), list[int]()
    for number in range(9):
        memory.apply(Log(f"tea {number}"))
    memory.activity(ShowTrends(7))
    memory.apply(Log("coffee"))
    with fresh_trail(memory.workspace):
        pass
    commit_numbered = Trail.commit_numbered

    def counted(trail: Trail, number: int) -> TrailCommit | None:
        read.append(number)
        return commit_numbered(trail, number)

    monkeypatch.setattr(Trail, "commit_numbered", counted)
    (writer,) = memory.activity(ShowTrends(7)).writers
    of_first_commit = {1}  # it tells if the clone is shallow
    assert (writer.count, len(set(read) - of_first_commit)) == (10, 1)


# The command.


def test_the_command_adds_the_facts_of_a_workspace(shell: Shell) -> None:
    shell.git("add", "-A")
    shell.git("commit", "-q", "-m", "all")
    shell.run("remember", "a person likes tea", "--source", "user-stated", "--kind", "preference")
    answer = shell.run("trends", "--json", "--weeks", "2").answer["facts"]
    listed = shell.run("facts", "-n", "0", "--json").answer["facts"]
    assert answer["current"] == len({fact["id"] for fact in listed})
    assert answer["days"][-1]["added"] >= 1
    assert {"kind": "preference", "count": 2} in [
        {name: row[name] for name in ("kind", "count")} for row in answer["kinds"]
    ]
    assert json.dumps(answer).count("tea") == 0
    text = shell.run("trends").out
    assert "current facts; " in text
    assert "changed most" in text
    assert "untouched longest" not in text
    assert ("after 0 days" in text, "last 0.0 days" in text) == (False, False)
    assert re.search(r"^user-stated +\d", text, re.MULTILINE)


def test_a_repository_with_a_file_of_that_name_is_no_workspace(shell: Shell) -> None:
    folder = shell.world.home / "foreign"
    shell.git("clone", "-q", ".", str(folder))
    assert (folder / "MEMORY.md").exists()
    assert "facts" not in shell.run("trends", str(folder), "--json").answer
    assert not (folder / ".git" / "mdmem").exists()


# Pure.


@given(
    st.dictionaries(st.integers(0, 9), st.integers(1, 4)),
    st.dictionaries(st.integers(0, 9), st.integers(1, 4)),
)
def test_survival_only_falls_and_gives_the_half_life(
    ended: dict[int, int], living: dict[int, int]
) -> None:
    curve = list(survival(ended, living))
    assert [age for age, _ in curve] == sorted(ended)
    shares = [1.0, *(share for _, share in curve)]
    assert all(before > after for before, after in pairwise(shares))
    assert half_life(ended, living) == next(
        (age for age, share in curve if share <= 0.5 + 1e-9), None
    )
    if not living:
        total = sum(ended.values())
        for age, share in curve:
            assert share == pytest.approx(
                sum(count for other, count in ended.items() if other > age) / total
            )
