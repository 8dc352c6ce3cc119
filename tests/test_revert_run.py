"""Reverts of runs: all that a digest wrote is taken back, or nothing, and does not come back."""

from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from conftest import World
from killed_write import killed_after
from pi_sessions import digest as digest_files
from pi_sessions import texts, write_session
from workspaces import NOW, Desk, code_of, desk

from mdmem.changes import apply as applied
from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.memory import Memory
from mdmem.model import FactId, FilePath, Source
from mdmem.model.errors import MdmemError
from mdmem.model.searches import ListFacts
from mdmem.model.writes import DayEntry, DigestDay, Log, Revert, WriteOptions, WriteResult
from mdmem.text.facts import fact_id

RUN, OTHER = "digest/20260304T090000Z-0a1b2c3d", "digest/20260304T100000Z-0a1b2c3d"
FIRST, SECOND = date(2026, 3, 3), date(2026, 3, 4)
MOST_STEPS = 60


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def write(
    at: Desk,
    text: str,
    day: date = SECOND,
    run: str = RUN,
    source: Source = Source.USER_STATED,
    minute: str = "09:00",
) -> FactId:
    entry = DayEntry(minute=minute, text=text, kind="fact", cites="claude/5a1e0012#7")
    change = DigestDay(
        day=day,
        entries=(entry,),
        run=run,
        options=WriteOptions(source=source, session="claude/5a1e0012"),
    )
    (fact,) = applied.apply(at.workspace, change, lambda _: None).added
    return fact


def revert(at: Desk, reference: str = RUN, **more: bool) -> WriteResult:
    options = WriteOptions(dry_run=more.pop("dry_run", False))
    return at.apply(Revert(reference=reference, options=options, **more))


def facts(at: Desk) -> set[str]:
    with closing(Memory(at.workspace)) as memory:
        return {fact.text for fact in memory.facts(ListFacts(limit=0)).facts} - {
            "works at Stripe",
            "lives in Oslo",
        }


@pytest.fixture
def run(at: Desk) -> tuple[FactId, ...]:
    """A run with commits of two days and two sources, with another run between and a person's entry
    behind it.
    """
    first = write(at, "the pump is old", FIRST)
    write(at, "the boat is red", run=OTHER)
    second = write(at, "the valve is new")
    third = write(at, "it leaks at night", source=Source.INFERRED, minute="11:00")
    at.apply(Log("by hand", day=SECOND.isoformat(), time="12:00"))
    return first, second, third


def test_all_that_a_run_wrote_counts_no_more(at: Desk, run: tuple[FactId, ...]):
    before = at.read("memory/2026-03-04.md")
    result = revert(at)
    assert (result.changed, result.removed) == (True, (run[2], run[1], run[0]))
    assert result.notes == (f"{RUN}: 3 commits of 3 undone",)
    assert facts(at) == {"the boat is red", "by hand"}
    assert at.read("memory/2026-03-04.md") == before


@pytest.mark.parametrize("apart", [False, True])
def test_what_a_run_superseded_of_its_own_does_not_come_back(at: Desk, apart: bool):
    earlier = write(at, "the pump is old", run=OTHER)
    wrong, entries = fact_id("the exam is on 3 December"), []
    if apart:
        assert write(at, "the exam is on 3 December") == wrong
    else:
        entries = [
            DayEntry(
                minute="09:00",
                text="the exam is on 3 December",
                kind="fact",
                cites="claude/5a1e0012#7",
            )
        ]
    for text, old in (("actually, on 4 December", wrong), ("actually, the pump is new", earlier)):
        entries.append(
            DayEntry(
                minute="09:01", text=text, kind="fact", cites="claude/5a1e0012#8", supersedes=old
            )
        )
    options = WriteOptions(source=Source.USER_STATED, session="claude/5a1e0012")
    applied.apply(
        at.workspace,
        DigestDay(day=SECOND, entries=tuple(entries), run=RUN, options=options),
        lambda _: None,
    )
    assert facts(at) == {"actually, on 4 December", "actually, the pump is new"}
    revert(at)
    assert facts(at) == {"the pump is old"}


def test_once_more_changes_nothing(at: Desk, run: tuple[FactId, ...]):
    revert(at)
    head = at.git("rev-parse", "HEAD")
    result = revert(at)
    assert (result.changed, result.commit, result.notes) == (
        False,
        None,
        (f"nothing from {RUN} is left to undo",),
    )
    assert (result.diff, revert(at, dry_run=True).diff) == (None, "")
    assert at.git("rev-parse", "HEAD") == head


def test_with_its_lines(at: Desk, run: tuple[FactId, ...]):
    revert(at, take_out=True)
    assert facts(at) == {"the boat is red", "by hand"}
    log = at.read("memory/2026-03-04.md")
    assert (
        log[log.index("## ") :] == "## 09:00\n\n- [fact] the boat is red\n\n## 12:00\n\n- by hand\n"
    )
    first = at.read("memory/2026-03-03.md")
    assert (first.startswith("# 2026-03-03\n"), "##" in first, first.endswith("-->\n")) == (
        True,
        False,
        True,
    )
    head = at.git("rev-parse", "HEAD")
    assert not revert(at, take_out=True).changed
    assert at.git("rev-parse", "HEAD") == head


def test_the_lines_of_what_came_between_stay(at: Desk):
    for minute, number in (("09:00", 1), ("11:00", 2)):
        write(at, f"pump number {number}", minute=minute)
    before = at.read("memory/2026-03-04.md")
    for minute, number in (("08:30", 1), ("09:00", 2), ("10:00", 3), ("12:00", 4)):
        write(at, f"boat of length {number}", minute=minute, run=OTHER)
    others = at.read("memory/2026-03-04.md")
    revert(at, OTHER, take_out=True)
    assert at.read("memory/2026-03-04.md") == before
    at.git("reset", "-q", "--hard", "HEAD~4")
    assert at.read("memory/2026-03-04.md") == others
    revert(at, take_out=True)
    log = at.read("memory/2026-03-04.md")
    rest = {"08:30": 1, "09:00": 2, "10:00": 3, "12:00": 4}
    assert log[log.index("## ") :] == "\n".join(
        f"## {minute}\n\n- [fact] boat of length {number}\n" for minute, number in rest.items()
    )


def test_the_lines_can_go_later(at: Desk, run: tuple[FactId, ...]):
    revert(at)
    assert revert(at, take_out=True).changed
    assert "leaks" not in at.read("memory/2026-03-04.md")


def test_a_dry_run_shows_it_and_changes_nothing(at: Desk, run: tuple[FactId, ...]):
    before = at.tree_state()
    planned = revert(at, dry_run=True)
    assert planned.removed == (run[2], run[1], run[0])
    assert planned.notes[0] == f"{RUN}: 3 commits of 3 to undo"
    shown = revert(at, dry_run=True, take_out=True)
    assert "-- [fact] it leaks at night" in (shown.diff or "")
    assert at.tree_state() == before


def test_what_somebody_stated_again_is_theirs(at: Desk):
    write(at, "the pump is old", source=Source.INFERRED)
    write(at, "the valve is new", source=Source.INFERRED, minute="10:00")
    at.apply(
        Log(
            "the pump is old",
            kind="fact",
            day=SECOND.isoformat(),
            options=WriteOptions(source=Source.USER_STATED),
        )
    )
    revert(at)
    assert facts(at) == {"the pump is old"}
    revert(at, take_out=True)
    assert facts(at) == {"the pump is old"}
    assert "valve" not in at.read("memory/2026-03-04.md")


def test_what_it_superseded_holds_again(at: Desk):
    old = at.apply(
        Log("the exam is on 3 December", kind="fact", day=SECOND.isoformat(), time="08:00")
    ).added[0]
    entry = DayEntry(
        minute="09:00",
        text="the exam is on 4 December",
        kind="fact",
        cites="claude/5a1e0012#7",
        supersedes=old,
    )
    applied.apply(at.workspace, DigestDay(day=SECOND, entries=(entry,), run=RUN), lambda _: None)
    assert facts(at) == {"the exam is on 4 December"}
    revert(at)
    assert facts(at) == {"the exam is on 3 December"}


def test_what_later_edits_hold_fast_is_named_and_can_be_left(at: Desk, run: tuple[FactId, ...]):
    at.write(
        "memory/2026-03-04.md",
        at.read("memory/2026-03-04.md").replace("it leaks at night", "it leaks at noon"),
    )
    at.commit("corrected")
    before = at.tree_state()
    with pytest.raises(MdmemError) as failure:
        revert(at, take_out=True)
    assert failure.value.code == "revert-conflict"
    assert [(each["path"], each["fact"]) for each in failure.value.details["conflicts"]] == [
        ("memory/2026-03-04.md", run[2])
    ]
    assert at.tree_state() == before
    result = revert(at, take_out=True, skip=True)
    assert any(note == "kept: memory/2026-03-04.md: it leaks at night" for note in result.notes)
    assert facts(at) == {"the boat is red", "by hand", "it leaks at noon"}


def rewrite(at: Desk, message: str, **texts: str) -> str:
    """Write notes below `memory/` by hand, and return the commit."""
    for name, text in texts.items():
        at.write(f"memory/{name}.md", text)
    return at.commit(message)


OF_RUN = f"changed\n\nMdmem-Op: replace\nMdmem-Run: {RUN}\n"
PUMPS = "# Pumps\n\n- the pump is old\n- the valve is new\n"
NEW_PUMPS = PUMPS.replace("is old", "is green").replace(
    "# Pumps\n", "# Pumps\n\nWords of the run.\n"
)


def test_what_holds_one_file_does_not_keep_the_others(at: Desk):
    rewrite(at, "three files", a=PUMPS, b=PUMPS, c=PUMPS)
    changed = rewrite(
        at,
        OF_RUN,
        a=PUMPS.replace("old", "  red\n  and tall"),
        b=PUMPS.replace("- the pump is old\n", ""),
        c=NEW_PUMPS,
    )
    (at.root / "memory" / "b.md").unlink()
    rewrite(at, "changed again", a=PUMPS.replace("old", "blue"))
    with pytest.raises(MdmemError) as failure:
        revert(at)
    lines = [
        "memory/a.md: - the pump is red",
        "memory/b.md: these lines have changed since that commit (from line 1)",
    ]
    assert failure.value.hint.splitlines()[:-1] == lines
    conflicts = failure.value.details["conflicts"]
    assert [(each["commit"], each["path"], each["line"]) for each in conflicts] == [
        (changed, "memory/a.md", 3),
        (changed, "memory/b.md", 1),
    ]
    result = revert(at, skip=True)
    assert [
        note.removeprefix("kept: ") for note in result.notes if note.startswith("kept")
    ] == lines
    assert (at.read("memory/c.md"), at.git("diff", "--name-only", "HEAD~")) == (
        PUMPS,
        "memory/c.md\n",
    )


@pytest.mark.parametrize(("count", "more"), [(8, ""), (9, "2 more"), (10, "3 more")])
def test_eight_lines_name_what_is_held(at: Desk, count: int, more: str):
    names = [f"n{number:02}" for number in range(count)]
    rewrite(at, "files", **dict.fromkeys(names, PUMPS))
    rewrite(at, OF_RUN, **dict.fromkeys(names, PUMPS.replace("old", "red")))
    rewrite(at, "changed again", **dict.fromkeys(names, PUMPS.replace("old", "blue")))
    with pytest.raises(MdmemError) as failure:
        revert(at)
    *lines, last, _ = failure.value.hint.splitlines()
    assert (len(lines), last) == (7, more or "memory/n07.md: - the pump is red")


def test_a_file_that_it_made_and_that_is_gone_is_in_nobody_s_way(at: Desk):
    rewrite(at, OF_RUN, a=PUMPS)
    (at.root / "memory" / "a.md").unlink()
    at.commit("gone")
    assert revert(at).notes == (f"nothing from {RUN} is left to undo",)


def test_other_messages_may_name_it_in_any_encoding(at: Desk):
    write(at, "the pump is old")
    at.git("config", "i18n.logOutputEncoding", "UTF-16")
    write(at, "the boat is red", run=OTHER)
    (at.root / "message").write_bytes(
        f"see\n\nMdmem-Run: {RUN}\n\nMdmem-Op: save\nMdmem-Run: {OTHER}\nMdmem-Reason: caf".encode()
        + b"\xe9\n"
    )
    at.git("-c", "i18n.commitEncoding=none", "commit", "-q", "--allow-empty", "-F", "message")
    revert(at)
    assert facts(at) == {"the boat is red"}


def test_what_a_person_took_out_of_a_log_holds_nothing(at: Desk):
    """Of a commit of two days, the first day's line is gone; the same words stand in
    another file.
    """
    at.git("checkout", "-q", "-b", "side")
    write(at, "the pump is old", FIRST)
    write(at, "the valve is new")
    at.git("checkout", "-q", "main")
    at.git("merge", "-q", "--squash", "side")
    at.world.git(at.root, "commit", "-q", environment={"GIT_EDITOR": "true"})
    rewrite(at, "elsewhere", a="- the pump is old\n")
    at.write(
        "memory/2026-03-03.md",
        at.read("memory/2026-03-03.md").replace("- [fact] the pump is old\n", ""),
    )
    at.commit("taken out")
    revert(at, take_out=True)
    assert facts(at) == {"the pump is old"}
    assert "valve" not in at.read("memory/2026-03-04.md")


def test_nothing_is_done_where_a_part_fails(at: Desk, run: tuple[FactId, ...]):
    before = at.tree_state()
    at.hook("commit-msg", 'grep -q 2026-03-03 "$1" && { echo no; exit 1; }; exit 0')
    for take_out in (False, True):
        with pytest.raises(MdmemError):
            revert(at, take_out=take_out)
        assert at.tree_state() == before


def test_what_was_begun_is_finished(at: Desk, run: tuple[FactId, ...]):
    revert(at)
    at.git("reset", "-q", "--hard", "HEAD~2")
    assert "it leaks at night" not in facts(at)
    assert revert(at).removed == (run[1], run[0])
    assert facts(at) == {"the boat is red", "by hand"}


def test_what_a_killed_one_put_in_place_is_finished_first(at: Desk):
    write(at, "the pump is old")
    path = FilePath("memory/2026-03-04.md")
    before = at.read(path)
    revert(at, take_out=True)
    subjects, message = at.subjects(), at.git("log", "-1", "--format=%B")
    at.git("reset", "-q", "HEAD~")
    digests = [files.digest(text.encode()) for text in (before, at.read(path))]
    temporary = ".mdmem-0123456789abcdef.tmp"
    step = FileStep(path, *digests, temporary)
    killed = Journal((step,), CommitStep(message, "@1772700000 +0000"))
    journal.save(at.workspace.state / journal.WRITE_NAME, killed)
    left = at.tree_state(), at.state()
    assert not revert(at, take_out=True, dry_run=True).changed
    assert (at.tree_state(), at.state()) == left
    assert not revert(at, take_out=True).changed
    assert (at.subjects(), at.git("status", "--porcelain")) == (subjects, "")


@pytest.mark.parametrize("take_out", [False, True])
def test_its_commits_name_who_asked_for_it(
    at: Desk, monkeypatch: pytest.MonkeyPatch, take_out: bool
):
    write(at, "the pump is old")
    monkeypatch.setenv("MDMEM_ACTOR", "ada")
    revert(at, take_out=take_out)
    assert "\nMdmem-Actor: ada\n" in at.git("log", "-1", "--format=%B")


def test_of_another_machine_s_run_that_was_merged(at: Desk):
    at.git("checkout", "-q", "-b", "side")
    write(at, "the pump is old", FIRST)
    at.git("checkout", "-q", "main")
    at.apply(Log("by hand"))
    at.git("merge", "-q", "--no-edit", "side")
    assert facts(at) == {"the pump is old", "by hand"}
    revert(at)
    assert facts(at) == {"by hand"}


def test_what_was_squashed_with_other_work_is_named(at: Desk):
    at.git("checkout", "-q", "-b", "side")
    write(at, "the pump is old")
    write(at, "the boat is red", run=OTHER)
    at.git("checkout", "-q", "main")
    at.git("merge", "-q", "--squash", "side")
    at.world.git(at.root, "commit", "-q", environment={"GIT_EDITOR": "true"})
    squash = at.git("rev-parse", "HEAD").strip()
    assert code_of(lambda: revert(at)) == "revert-conflict"
    write(at, "the valve is new", FIRST)
    result = revert(at, skip=True)
    assert facts(at) == {"the pump is old", "the boat is red"}
    assert f"kept: {squash[:10]}: other work was squashed with it" in result.notes


def test_a_name_that_means_nothing_or_two_things(at: Desk, run: tuple[FactId, ...]):
    with pytest.raises(MdmemError) as failure:
        revert(at, "digest/20200101T000000Z-00000000")
    assert failure.value.code == "commit-not-found"
    assert failure.value.message == "no fact, commit or run 'digest/20200101T000000Z-00000000'"
    at.git("branch", RUN)
    assert code_of(lambda: revert(at)) == "ambiguous"
    with pytest.raises(MdmemError) as failure:
        Revert("HEAD", take_out=True)
    assert failure.value.code == "usage"


def test_where_nothing_is_committed_there_is_none(world: World, repository: Path):
    at = Desk(world, repository)
    at.write("MEMORY.md", "- one\n")
    assert code_of(lambda: revert(at)) == "commit-not-found"


@pytest.mark.parametrize("take_out", [False, True])
def test_a_digest_does_not_bring_it_back(at: Desk, tmp_path: Path, take_out: bool):
    path = write_session(
        tmp_path, "We decided to keep the old pump.", "agent: Noted.", "I prefer calls before noon."
    )
    result = digest_files(at, path)
    assert len(texts(result)) == 2
    revert(at, result.run, take_out=take_out)
    assert facts(at) == set()
    (at.workspace.state / "transcripts.json").unlink()
    assert texts(digest_files(at, path)) == []
    copy = write_session(tmp_path, "We decided to keep the old pump.", session="6b2f0000")
    assert texts(digest_files(at, copy)) == []
    assert facts(at) == set()


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in (1, 2, 3))]
)
@pytest.mark.parametrize("take_out", [False, True])
def test_killed_at_any_step_the_next_one_does_the_rest(
    at: Desk, tmp_path: Path, take_out: bool, first: int
):
    write(at, "the pump is old", FIRST)
    write(at, "the boat is red", run=OTHER)
    write(at, "the valve is new", minute="10:00")
    change = Revert(reference=RUN, take_out=take_out)
    copies = killed_after(
        at, tmp_path, lambda copy: copy.apply(change), range(first, MOST_STEPS, 4)
    )
    assert len(copies) > 3
    assert not copies[-1][1], "it has more steps than are tried"
    for copy, _ in copies:
        copy.apply(change)
        assert facts(copy) == {"the boat is red"}
        assert copy.git("status", "--porcelain") == ""
        reverted = [
            line
            for line in copy.git("log", "--format=%B").splitlines()
            if line.startswith("Mdmem-Reverts: ")
        ]
        assert len(set(reverted)) == len(reverted) == 2
        assert not copy.apply(change).changed
