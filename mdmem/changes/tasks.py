"""Tasks: the file of their notes read, and the changes that `tasks` works out carried out one after the other."""

from __future__ import annotations

from collections.abc import Callable

from mdmem import files
from mdmem.changes import apply, task_notes
from mdmem.document import Document, parse_bytes
from mdmem.model import Op
from mdmem.model.reads import SectionView
from mdmem.model.writes import Change, WriteOptions, WriteResult
from mdmem.queries.show import show_section as show_section
from mdmem.startup.records import replace
from mdmem.workspace import Say, Workspace

Apply = Callable[[Change], WriteResult]


def _document(workspace: Workspace) -> Document | None:
    data = files.read(files.path_on_disk(workspace.root, task_notes.TASKS_PATH))
    return parse_bytes(data) if data is not None else None


def start_task(workspace: Workspace, name: str, goal: str, options: WriteOptions, apply: Apply) -> WriteResult:
    """Begin a task; one that is there already is gone on with, and nothing is changed.

    Raises:
        TextProblem: `empty-text`, `bad-text`. SectionProblem: `section-ambiguous`.
    """
    changes = task_notes.start_edits(_document(workspace), name, goal, workspace.now(), options)
    if not changes:
        there = show_task(workspace, name)
        return WriteResult(False, there.path, there.section, there.etag, None)
    return apply(changes[0])


def add_task_note(workspace: Workspace, name: str, text: str, options: WriteOptions, apply: Apply) -> WriteResult:
    """Add a note to a task.

    Raises:
        TextProblem: `empty-text`. SectionProblem: `task-not-found`, `section-ambiguous`.
    """
    (change,) = task_notes.note_edits(_document(workspace), name, text, workspace.now(), options)
    return apply(change)


def finish_task(workspace: Workspace, name: str, outcome: str, options: WriteOptions, say: Say) -> WriteResult:
    """End a task: its outcome logged, then its notes taken out, or nothing at all. What is answered is where it is logged.

    Raises:
        TextProblem: `empty-text`. SectionProblem: `task-not-found`, `section-ambiguous`; `section-changed`: a note came in meanwhile.
    """
    logged, gone = apply.apply_all(workspace, task_notes.finish_edits(_document(workspace), name, outcome, options), options, say)
    return replace(
        logged,
        changed=True,
        commit=gone.commit,
        removed=gone.removed,
        diff=None if logged.diff is None or gone.diff is None else logged.diff + gone.diff,
        notes=(*logged.notes, *gone.notes),
        warnings=(*logged.warnings, *gone.warnings),
        op=Op.LOG,
    )


def show_task(workspace: Workspace, name: str) -> SectionView:
    """The notes of a task.

    Raises:
        SectionProblem: `task-not-found`, `section-ambiguous`.
    """
    return show_section(workspace, task_notes.show_arguments(_document(workspace), name))


def task_names(workspace: Workspace) -> tuple[str, ...]:
    """The tasks that are not done."""
    return task_notes.open_task_names(_document(workspace))
