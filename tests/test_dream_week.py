"""A week of one person, four clients and two time zones: what is in the logs, in MEMORY.md and
proposed, against a list that was written before.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from kept_state import keep_state
from simulated_week import Night, Week, change_text, entries_of, facts_of, live, plain
from week_gold import END, ENTRIES, FORBIDDEN, FORBIDDEN_IN_MEMORY, FREE, NIGHTS, SAID, Change

from mdmem.past.messages import ParsedNote
from mdmem.past.notes import parse_message
from mdmem.text.facts import parse_item

KEPT = 0.9
"""The least share of the entries of the gold list."""


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory, empty_repository: Path) -> Iterator[Week]:
    with pytest.MonkeyPatch.context() as patch:
        week = Week.begin(
            tmp_path_factory.mktemp("week"), empty_repository, patch, 'dream = "apply"'
        )
        live(week)
        yield week


def written_entries(week: Week) -> list[tuple[str, str, str, str]]:
    """Day, minute, source and line of each entry."""
    sources: dict[tuple[str, str], str] = {}
    for name in week.files():
        if name.startswith("memory/2026-"):
            facts = week.call("facts", "--json", "--all", "-n", "0", "--file", name).values["facts"]
            sources |= {(name, fact["text"]): fact["source"] for fact in facts}
    return [
        (day, minute, sources[f"memory/{day}.md", line.partition("] ")[2]], line)
        for day, minute, line in entries_of(week)
    ]


def test_the_entries_of_the_week(week: Week):
    gold, written = ENTRIES, written_entries(week)
    assert len(gold) >= 60
    assert len(set(gold)) == len(gold)
    assert sorted(set(written)) == sorted(written)
    kept = set(gold) & set(written)
    assert len(kept) >= KEPT * len(gold), sorted(set(gold) - kept)
    assert len(set(written) - kept) <= (1 - KEPT) * len(gold), sorted(set(written) - kept)


def test_nothing_forbidden_is_written(week: Week):
    memory = b"\n".join(week.files().values()).decode()
    everything = memory + week.git("log", "--all", "-p", "--format=%B")
    assert [words for words in FORBIDDEN if words in everything] == []


def gold_texts(gold: list[Change]) -> Counter[str]:
    return Counter(change_text(change.old, change.new) for change in gold)


def own_notes(week: Week, night: Night) -> list[ParsedNote]:
    """What the commits of a night say, newest first."""
    log = week.git("log", "--format=%B%x00", f"{night.commit_before}..HEAD", root=night.copy)
    return [
        note
        for message in log.split("\0")
        if (note := parse_message(message.strip())).run and note.run.startswith("dream/")
    ]


@pytest.mark.parametrize("name", NIGHTS)
def test_what_a_night_changes(week: Week, name: str):
    night, gold = week.nights[name], NIGHTS[name].applied
    before, after = (
        Counter(facts_of(files["MEMORY.md"])) for files in (night.files_before, night.files_after)
    )
    assert Counter(new for new in (after - before).elements() if new not in FREE) == Counter(
        change.new for change in gold if change.new
    )
    assert before - after == Counter(change.old for change in gold if change.old)
    assert {note.run for note in own_notes(week, night)} <= {
        f"dream/{day}" for day in NIGHTS[name].days
    }


@pytest.mark.parametrize("name", NIGHTS)
def test_what_a_night_states(week: Week, name: str):
    night, gold = week.nights[name], NIGHTS[name].applied
    notes, texts = own_notes(week, night), {}
    for files in (night.files_before, night.files_after):
        items = (line for line in files["MEMORY.md"].decode().splitlines() if line.startswith("- "))
        texts |= {parse_item(line).id: plain(line) for line in items}
    pairs = {
        (texts[old], texts[new])
        for note in notes
        for old, new in note.supersedes
        if new is not None
    }
    assert pairs == {(change.old, change.new) for change in gold if change.old and change.new}
    facts = week.call("facts", "--json", "-n", "0", "--file", "MEMORY.md", root=night.copy).values[
        "facts"
    ]
    sources = {(fact["source"], plain(fact["text"])) for fact in facts}
    assert {(change.source, change.new) for change in gold if change.new} <= sources
    *_, last = NIGHTS[name].days
    said = {plain(line) for day, _, _, line in ENTRIES if day in NIGHTS[name].days}
    runs = {texts[fact]: note.run for note in notes for fact, _ in note.cites if fact in texts}
    removed = {change.old for change in gold if not change.new}
    assert {text: run for text, run in runs.items() if text not in (*FREE, *removed)} == {
        change.new: f"dream/{last}" for change in gold if change.new
    }
    assert {SAID.get(change.new, change.new) for change in gold if change.new} <= said


@pytest.mark.parametrize("name", NIGHTS)
def test_what_stands_proposed_after_a_night(week: Week, name: str):
    proposed = [text for text in week.nights[name].proposed if not text.endswith(FREE)]
    assert Counter(proposed) == gold_texts(NIGHTS[name].proposed)


def test_the_end_of_the_week(week: Week):
    facts = [text for text in facts_of(week.files()["MEMORY.md"]) if text not in FREE]
    assert Counter(facts) == Counter(END)
    memory = week.files()["MEMORY.md"].decode()
    assert [words for words in FORBIDDEN_IN_MEMORY if words in memory] == []
    assert all(
        night.files_before["USER.md"] == night.files_after["USER.md"]
        for night in week.nights.values()
    )
    assert sum(len(night.applied) for night in NIGHTS.values()) >= 15


def morning(night: Night, folder: Path) -> Path:
    """A copy of the repository as it is on the morning after a night."""
    return keep_state(Path(shutil.copytree(night.copy, folder / night.copy.name, symlinks=True)))


@pytest.mark.parametrize("name", NIGHTS)
def test_each_morning_is_given_back(week: Week, tmp_path: Path, name: str):
    night = week.nights[name]
    root = morning(night, tmp_path)
    for run in dict.fromkeys(note.run for note in own_notes(week, night)):
        week.call("revert", str(run), at=night.time, root=root)
    assert week.git("status", "--porcelain", root=root) == ""
    files = week.files(root)
    logs = {path for path in files if path.startswith("memory/")}
    assert {path: data for path, data in files.items() if path not in logs} == {
        path: data for path, data in night.files_before.items() if path not in logs
    }
    assert {path: files[path] for path in logs} == {path: night.files_after[path] for path in logs}


def test_what_a_person_accepted_stays(week: Week, tmp_path: Path):
    night = week.nights["third"]
    root = morning(night, tmp_path)
    week.call("revert", "dream/2026-03-03", at=night.time, root=root)
    before, after = (
        Counter(facts_of(files["MEMORY.md"])) for files in (night.files_after, week.files(root))
    )
    assert before - after == Counter(change.new for change in NIGHTS["second"].applied)
    assert after - before == Counter()


def test_what_a_person_took_back_stays_out(week: Week, tmp_path: Path):
    night = week.nights["sixth"]
    root = morning(night, tmp_path)
    week.call("revert", "dream/2026-03-10", at=night.time, root=root)
    memory = week.files(root)["MEMORY.md"]
    for days in (1, 7):  # the last one judges what was not taken once more
        week.call("run", at=night.time + timedelta(days=days), root=root)
    assert week.files(root)["MEMORY.md"] == memory


def test_an_early_night_is_taken_back_late(week: Week, tmp_path: Path):
    night, gold = week.nights["sixth"], NIGHTS["first"].applied
    root = morning(night, tmp_path)
    answer = week.call("revert", "dream/2026-03-02", at=night.time, root=root, status=1)
    assert "later edits changed what dream/2026-03-02 did: 2 changes" in answer.err
    assert week.files(root) == night.files_after
    week.call("revert", "dream/2026-03-02", "--skip", at=night.time, root=root)
    before, after = (
        Counter(facts_of(files["MEMORY.md"])) for files in (night.files_after, week.files(root))
    )
    assert before - after == Counter(change.new for change in gold if not change.old)
    assert after - before == Counter()


def test_a_night_is_dreamt_once(week: Week, tmp_path: Path):
    night = week.nights["sixth"]
    root = morning(night, tmp_path)
    head = week.git("rev-parse", "HEAD", root=root)
    for words in (
        ("run",),
        ("dream", "--apply"),
        ("dream", "--day", "2026-03-10", "--apply"),
        ("dream", "--day", "2026-03-02", "--apply"),
    ):
        week.call(*words, at=night.time, root=root)
    assert week.git("rev-parse", "HEAD", root=root) == head


def test_a_night_that_only_proposes(
    tmp_path: Path, empty_repository: Path, monkeypatch: pytest.MonkeyPatch
):
    week = Week.begin(tmp_path, empty_repository, monkeypatch)  # the default
    names = ("first", "second")
    live(week, names[-1])
    before = Counter(facts_of(week.files()["MEMORY.md"]))
    waiting = NIGHTS[names[0]].proposed
    new = [each for each in NIGHTS[names[1]].proposed if each not in waiting]
    gold = [NIGHTS[names[0]].applied + waiting, NIGHTS[names[1]].applied + new]
    assert not before & Counter(change.new for night in gold for change in night)
    assert Counter(text for text in week.proposed() if not text.endswith(FREE)) == sum(
        map(gold_texts, gold), Counter()
    )
    for night, day in zip(gold, ("2026-03-02", "2026-03-03"), strict=True):
        week.call("accept", f"dream/{day}", at=week.nights[names[-1]].time)
        after = Counter(facts_of(week.files()["MEMORY.md"]))
        assert Counter(new for new in (after - before).elements() if new not in FREE) == Counter(
            change.new for change in night
        )
        assert before - after == Counter(change.old for change in night if change.old)
        before = after
    assert week.proposed() == ()
