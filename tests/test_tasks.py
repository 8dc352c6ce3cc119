"""Tasks: pure on documents, and carried out in real repositories, interrupted after each change."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, desk

from mdmem.changes import tasks
from mdmem.folder.layout import TASKS_PATH
from mdmem.memory import Memory
from mdmem.model import Op
from mdmem.model.errors import MdmemError, plain
from mdmem.model.reads import Show
from mdmem.model.writes import Action, Change, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.text.document import Document, parse, tree_etag
from mdmem.text.facts import parse_text

AT = datetime.fromisoformat(NOW)
OPTIONS = WriteOptions(actor="agent/main")
FILE = "# Tasks\n\n## Move it\n\n- 2026-03-05 09:58 goal: Redis\n\n## Other `one`\n\n- 2026-03-04 23:59 goal: x\n"
LOG = "memory/2026-03-05.md"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def tasks_file(at: Desk) -> Document | None:
    return parse(at.read(TASKS_PATH)) if (at.root / tasks.TASKS_PATH).exists() else None


def carry_out(at: Desk, changes: tuple[Change, ...]) -> list[bool]:
    return [at.apply(change).changed for change in changes]


def begin(at: Desk, name: str, goal: str, now: datetime = AT) -> list[bool]:
    return carry_out(at, tasks.start_edits(tasks_file(at), name, goal, now, OPTIONS))


def add_note(at: Desk, name: str, text: str, now: datetime = AT) -> list[bool]:
    return carry_out(at, tasks.note_edits(tasks_file(at), name, text, now, OPTIONS))


# In a repository.


def test_its_own_notes_are_not_to_be_replaced(at: Desk) -> None:
    memory = Memory(at.workspace)
    memory.apply(Remember("the session store of the shop is Redis", section="Facts", create=True))
    memory.tasks.start("Move it", "the session store of the shop is Redis", OPTIONS)
    memory.tasks.note("Move it", "the session store of the shop is Postgres", OPTIONS)
    memory.reindex()
    outcome = "the session store of the shop is Postgres"
    logged = memory.apply(
        Log(f"Move it: {outcome}", kind="task", options=replace(OPTIONS, dry_run=True))
    )
    assert TASKS_PATH in [each.path for each in logged.like]
    done = memory.tasks.end("Move it", outcome, OPTIONS)
    assert {each.path for each in done.like} == {"MEMORY.md"}


def test_a_task_from_start_to_done(at: Desk) -> None:
    at.write(TASKS_PATH, tasks.NEW_TASKS)
    assert begin(at, "Move it", "sessions live in Redis") == [True]
    assert add_note(at, "move IT", "the migration is written", AT + timedelta(minutes=12)) == [True]
    assert add_note(at, "Move it", "all tests pass", AT + timedelta(days=1)) == [True]
    assert add_note(
        at, "Move it", "# not a heading\n```\nnor a fence", AT + timedelta(days=1, minutes=1)
    ) == [True]
    assert at.read(TASKS_PATH) == (
        "# Tasks\n\n## Move it\n\n"
        "- 2026-03-05 10:00 goal: sessions live in Redis\n"
        "- 10:12 the migration is written\n"
        "- 2026-03-06 10:00 all tests pass\n"
        "- 10:01 # not a heading\n  \\```\n  nor a fence\n"
    )
    assert carry_out(
        at, tasks.finish_edits(tasks_file(at), "Move it", "moved,\nand faster", OPTIONS)
    ) == [True, True]
    assert at.read(TASKS_PATH) == "# Tasks\n\n"
    assert at.read(LOG).endswith("\n\n## 10:00\n\n- [task] Move it: moved, and faster\n")


def test_a_task_in_a_file_that_is_not_there(at: Desk) -> None:
    assert begin(at, "Move it", "Redis") == [True]
    assert tasks.open_task_names(tasks_file(at)) == ("Move it",)
    assert add_note(at, "Move it", "begun") == [True]


def test_a_task_that_is_there_is_gone_on_with(at: Desk) -> None:
    at.write(TASKS_PATH, FILE)
    assert begin(at, "MOVE it", "something else") == []
    assert begin(at, "Other one", "something else") == []
    assert at.read(TASKS_PATH) == FILE


def test_who_begins_the_same_task_at_the_same_moment_loses_nothing(at: Desk) -> None:
    first = tasks.start_edits(None, "Move it", "Redis", AT, OPTIONS)
    second = tasks.start_edits(None, "Move it", "Postgres", AT, OPTIONS)
    assert carry_out(at, (*first, *first, *second)) == [True, False, True]
    assert at.read(TASKS_PATH).endswith(
        "- 2026-03-05 10:00 goal: Redis\n- 2026-03-05 10:00 goal: Postgres\n"
    )


def test_a_note_that_is_given_again_is_written_once(at: Desk) -> None:
    at.write(TASKS_PATH, FILE)
    assert add_note(at, "Move it", "begun") == [True]
    assert add_note(at, "Move it", "begun") == [False]


@pytest.mark.parametrize("interrupted_after", [0, 1])
def test_an_interruption_loses_nothing(at: Desk, interrupted_after: int) -> None:
    at.write(TASKS_PATH, FILE)
    carry_out(
        at, tasks.finish_edits(tasks_file(at), "Move it", "moved", OPTIONS)[:interrupted_after]
    )
    assert "Move it" in tasks.open_task_names(tasks_file(at))
    carry_out(at, tasks.finish_edits(tasks_file(at), "Move it", "moved", OPTIONS))
    assert tasks.open_task_names(tasks_file(at)) == ("Other one",)
    assert at.read(LOG).count("moved") == 1


def test_what_is_gone_on_with_answers_as_what_was_not_interrupted(at: Desk) -> None:
    at.write(TASKS_PATH, FILE)
    carry_out(at, tasks.finish_edits(tasks_file(at), "Move it", "moved", OPTIONS)[:1])
    done = Memory(at.workspace).tasks.end("Move it", "moved", OPTIONS)
    assert (done.changed, done.op, done.commit) == (
        True,
        Op.LOG,
        at.git("rev-parse", "HEAD").strip(),
    )


def logged(at: Desk, **options: str) -> None:
    at.apply(Log("Move it: moved", kind="task", options=OPTIONS, again=True, **options))


def logged_before(at: Desk) -> None:
    logged(at)
    begin(at, "Move it", "Redis")


def logged_with_the_beginning(at: Desk) -> None:
    at.write(TASKS_PATH, "# Tasks\n\n## Move it\n\n- 2026-03-05 09:58 goal: Redis\n")
    at.write(LOG, "# 2026-03-05\n\n## 10:00\n\n- [task] Move it: moved\n")
    at.commit()


def logged_before_and_then_for_another_day(at: Desk) -> None:
    logged_before(at)
    logged(at, day="2026-03-04")


def logged_and_retracted(at: Desk) -> None:
    begin(at, "Move it", "Redis")
    logged(at)
    at.apply(Forget(parse_text("Move it: moved").id, LOG, options=OPTIONS))


def logged_since(at: Desk) -> None:
    begin(at, "Move it", "Redis")
    logged(at)


@pytest.mark.parametrize(
    ("prepare", "times"),
    [
        (logged_before, 2),
        (logged_with_the_beginning, 2),
        (logged_before_and_then_for_another_day, 2),
        (logged_and_retracted, 2),
        (logged_since, 1),
    ],
)
def test_the_outcome_is_logged_again_unless_it_was_since_the_task_began(
    at: Desk, prepare: Callable[[Desk], None], times: int
) -> None:
    prepare(at)
    done = Memory(at.workspace).tasks.end("Move it", "moved", OPTIONS)
    assert at.read(LOG).count("- [task] Move it: moved\n") == times
    assert (done.changed, done.op, tasks.open_task_names(tasks_file(at))) == (True, Op.LOG, ())


def test_the_answer_says_what_both_changes_came_with(at: Desk) -> None:
    at.write(
        TASKS_PATH,
        FILE.replace(
            "Redis\n", "Redis\n" + "- a long line of notes that goes with its task\n" * 20
        ),
    )
    at.write(LOG, "# 2026-03-05\n")
    done = Memory(at.workspace).tasks.end("Move it", "moved", OPTIONS)
    assert [note.split(" of ")[1].split()[0] for note in done.notes[:2]] == [LOG, TASKS_PATH]
    assert done.warnings == ("weaker-source",)


@pytest.mark.parametrize("log", ["", "# 2026-03-05\n\n- by hand\n"])
def test_what_cannot_be_taken_out_is_not_logged_either(at: Desk, log: str) -> None:
    at.write(TASKS_PATH, FILE)
    if log:
        at.write(LOG, log)
    at.commit()
    at.hook("pre-commit", f"! git diff --cached --name-only | grep -qx {TASKS_PATH}")
    before = at.tree_state()
    with pytest.raises(MdmemError) as failure:
        Memory(at.workspace).tasks.end("Move it", "moved", OPTIONS)
    assert (failure.value.code, at.tree_state()) == ("commit-failed", before)


def test_done_shown_beforehand_changes_nothing(at: Desk) -> None:
    at.write(TASKS_PATH, FILE)
    before = at.tree_state()
    done = Memory(at.workspace).tasks.end("Move it", "moved", replace(OPTIONS, dry_run=True))
    assert (done.commit, at.tree_state()) == (None, before)
    assert done.diff is not None
    assert [path in done.diff for path in (LOG, TASKS_PATH)] == [True, True]


def test_done_takes_out_only_what_it_has_seen(at: Desk) -> None:
    at.write(TASKS_PATH, FILE)
    logged, taken_out = tasks.finish_edits(tasks_file(at), "Move it", "moved", OPTIONS)
    add_note(at, "Move it", "not quite")
    with pytest.raises(MdmemError) as failure:
        at.apply(taken_out)
    assert failure.value.code == "section-changed"
    assert "not quite" in at.read(TASKS_PATH)
    assert at.apply(logged).changed


def test_notes_with_headings_of_their_own_go_with_their_task(at: Desk) -> None:
    at.write(
        TASKS_PATH,
        FILE.replace("## Other", "### Plan\n\n- by hand\n\n### Move it\n\n- deeper\n\n## Other"),
    )
    assert add_note(at, "Move it", "begun") == [True]
    assert "- 2026-03-05 09:58 goal: Redis\n- 10:00 begun\n" in at.read(TASKS_PATH)
    assert begin(at, "Plan", "another task") == [True]
    assert tasks.open_task_names(tasks_file(at)) == ("Move it", "Other one", "Plan")
    carry_out(at, tasks.finish_edits(tasks_file(at), "Move it", "moved", OPTIONS))
    assert tasks.open_task_names(tasks_file(at)) == ("Other one", "Plan")
    assert "by hand" not in at.read(TASKS_PATH)


# Pure.


def test_what_is_given() -> None:
    document = parse(FILE)
    (change,) = tasks.start_edits(document, "New", "x", AT, OPTIONS)
    line = "- 2026-03-05 10:00 goal: x"
    assert change == EditSection(
        "Tasks > New", Action.APPEND, line, file="memory/tasks.md", create=True, options=OPTIONS
    )
    (note,) = tasks.note_edits(document, "other one", "y", AT, OPTIONS)
    assert note == EditSection(
        "Tasks > Other `one`",
        Action.APPEND,
        "- 2026-03-05 10:00 y",
        file="memory/tasks.md",
        options=OPTIONS,
    )
    logged, taken_out = tasks.finish_edits(document, "other one", "y", OPTIONS)
    assert logged == Log("Other one: y", kind="task", options=OPTIONS)
    section = document.sections[2]
    where = {
        "section": "Tasks > Other `one`",
        "file": "memory/tasks.md",
        "expect": tree_etag(document, section),
    }
    assert taken_out == EditSection(action=Action.DELETE, subtree=True, options=OPTIONS, **where)
    assert tasks.show_arguments(document, "move it") == Show("memory/tasks.md", "Tasks > Move it")
    (change,) = tasks.start_edits(parse("## A\n"), "New", "x", AT, OPTIONS)
    assert change.section == "New"
    assert tasks.tasks_named(document, "None") == []
    assert tasks.show_arguments(parse("## A\n\n## B\n"), "b") == Show("memory/tasks.md", "B")
    assert tasks.open_task_names(document) == ("Move it", "Other one")
    assert tasks.open_task_names(None) == ()


def test_a_task_with_a_section_of_its_path_above_it_is_named_by_its_number() -> None:
    document = parse("# Tasks\n\n### A\n\n- deep\n\n## A\n\n- x\n")
    (note,) = tasks.note_edits(document, "A", "y", AT, OPTIONS)
    _, taken_out = tasks.finish_edits(document, "A", "y", OPTIONS)
    assert (note.section, note.nth, taken_out.section, taken_out.nth) == (
        "Tasks > A",
        2,
        "Tasks > A",
        2,
    )


@pytest.mark.parametrize(
    ("last", "stamp"),
    [
        ("2026-03-05 09:00 x", "10:00"),
        ("2026-03-04 09:00 x", "2026-03-05 10:00"),
        ("2026-03-04 09:00 x\n- 2026-03-05 09:00 y\n- 09:30 z", "10:00"),
        ("by hand", "2026-03-05 10:00"),
        ("2026-03-99 09:00 x", "2026-03-05 10:00"),
    ],
)
def test_a_note_has_the_day_where_it_is_another(last: str, stamp: str) -> None:
    (change,) = tasks.note_edits(parse(f"# Tasks\n\n## A\n\n- {last}\n"), "A", "text", AT, OPTIONS)
    assert change.text == f"- {stamp} text"


FUNCTIONS = {
    "start": "start_edits",
    "note": "note_edits",
    "done": "finish_edits",
    "show": "show_arguments",
}


def code(verb: str, *arguments: object) -> str:
    with pytest.raises(MdmemError) as failure:
        getattr(tasks, FUNCTIONS[verb])(*arguments)
    return failure.value.code


@pytest.mark.parametrize(
    ("verb", "arguments", "expected"),
    [
        ("start", (parse(FILE), "A > B", "x", AT, OPTIONS), "bad-text"),
        ("start", (parse(FILE), "A\nB", "x", AT, OPTIONS), "bad-text"),
        ("start", (parse(FILE), " ", "x", AT, OPTIONS), "bad-text"),
        ("start", (parse(FILE), "tasks", "x", AT, OPTIONS), "bad-text"),
        ("start", (parse(FILE), "<!-- x -->", "x", AT, OPTIONS), "bad-text"),
        ("start", (None, "Tasks", "x", AT, OPTIONS), "bad-text"),
        ("start", (None, "A", " ", AT, OPTIONS), "empty-text"),
        ("start", (parse("## A\n\n## A\n"), "a", "x", AT, OPTIONS), "section-ambiguous"),
        ("note", (parse(FILE), "Move it", "\n", AT, OPTIONS), "empty-text"),
        ("note", (parse("## A\n\n## A\n"), "a", "x", AT, OPTIONS), "section-ambiguous"),
        (
            "note",
            (parse("# T\n\n## A\n\n- x\n\n## T > A\n"), "a", "x", AT, OPTIONS),
            "section-ambiguous",
        ),
        ("done", (parse(FILE), "Move it", "", OPTIONS), "empty-text"),
        ("done", (parse(FILE), "Move", "x", OPTIONS), "task-not-found"),
        ("done", (parse(FILE), "Tasks", "x", OPTIONS), "task-not-found"),
        ("show", (None, "Move it"), "task-not-found"),
        ("show", (parse("# Tasks\n\n## A\n\n### B\n"), "B"), "task-not-found"),
    ],
)
def test_refusals(verb: str, arguments: tuple[object, ...], expected: str) -> None:
    assert code(verb, *arguments) == expected


@pytest.mark.parametrize(
    ("verb", "arguments", "field"),
    [
        ("start", (None, "A", " ", AT, OPTIONS), "goal"),
        ("note", (parse(FILE), "Move it", " ", AT, OPTIONS), "note"),
    ],
)
def test_the_field_that_is_empty_is_named(
    verb: str, arguments: tuple[object, ...], field: str
) -> None:
    with pytest.raises(MdmemError, match=f"the {field} is empty"):
        getattr(tasks, FUNCTIONS[verb])(*arguments)


def test_the_nearest_names_are_told() -> None:
    with pytest.raises(MdmemError) as failure:
        tasks.show_arguments(parse(FILE), "Move itt")
    assert (failure.value.hint, failure.value.details["near"]) == (
        "Did you mean Move it?",
        ["Move it"],
    )
    with pytest.raises(MdmemError) as failure:
        tasks.show_arguments(parse(FILE), "zzz")
    assert failure.value.hint == "The tasks are: Move it; Other one"
    with pytest.raises(MdmemError) as failure:
        tasks.show_arguments(None, "zzz")
    assert plain(failure.value.hint) == "To start one: task start NAME GOAL"


def test_tasks_of_one_name_are_relevant_cues_their_lines() -> None:
    with pytest.raises(MdmemError) as caught:
        tasks.show_arguments(parse("# Tasks\n\n## A\n\n## B\n\n## A\n"), "a")
    assert caught.value.details["sections"] == [
        {"section": "Tasks > A", "line": 3},
        {"section": "Tasks > A", "line": 7},
    ]
    assert "lines 3, 7" in caught.value.hint
