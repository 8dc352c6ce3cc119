"""`task`: the file of tasks, and the edits of it that `task_notes` works out, carried out one after the other."""

from __future__ import annotations

from collections.abc import Callable

from mdmem import files
from mdmem.changes import task_notes
from mdmem.changes.apply import apply_all
from mdmem.document import Document, parse_bytes
from mdmem.model import Op
from mdmem.model.reads import SectionView
from mdmem.model.writes import Change, WriteOptions, WriteResult
from mdmem.queries.show import show_section
from mdmem.startup.records import replace
from mdmem.workspace import Say, Workspace

Apply = Callable[[Change], WriteResult]


def start_task(workspace: Workspace, name: str, goal: str, options: WriteOptions, apply: Apply) -> WriteResult:
    """Begin a task; one that is there already is gone on with, and nothing is changed.

    Raises:
        TextProblem: `empty-text`, `bad-text`. SectionProblem: `section-ambiguous`.
    """
    edits = task_notes.start_edits(_document(workspace), name, goal, workspace.now(), options)
    if not edits:
        task = show_task(workspace, name)
        return WriteResult(changed=False, path=task.path, section=task.section, etag=task.etag, commit=None)
    return apply(edits[0])


def add_task_note(workspace: Workspace, name: str, text: str, options: WriteOptions, apply: Apply) -> WriteResult:
    """Add a note to a task.

    Raises:
        TextProblem: `empty-text`. SectionProblem: `task-not-found`, `section-ambiguous`.
    """
    (edit,) = task_notes.note_edits(_document(workspace), name, text, workspace.now(), options)
    return apply(edit)


def finish_task(workspace: Workspace, name: str, outcome: str, options: WriteOptions, say: Say) -> WriteResult:
    """End a task: log its outcome, then take its notes out, or nothing at all. The answer says where it is logged.

    Raises:
        TextProblem: `empty-text`. SectionProblem: `task-not-found`, `section-ambiguous`; `section-changed`: a note came in meanwhile.
    """
    edits = task_notes.finish_edits(_document(workspace), name, outcome, options)
    logged, removed = apply_all(workspace, edits, options, say)
    return replace(
        logged,
        changed=True,
        commit=removed.commit,
        removed=removed.removed,
        diff=None if logged.diff is None or removed.diff is None else logged.diff + removed.diff,
        notes=(*logged.notes, *removed.notes),
        warnings=(*logged.warnings, *removed.warnings),
        op=Op.LOG,
    )


def show_task(workspace: Workspace, name: str) -> SectionView:
    """The notes of a task.

    Raises:
        SectionProblem: `task-not-found`, `section-ambiguous`.
    """
    return show_section(workspace, task_notes.show_arguments(_document(workspace), name))


def task_names(workspace: Workspace) -> tuple[str, ...]:
    """The names of the tasks that are not done."""
    return task_notes.open_task_names(_document(workspace))


def _document(workspace: Workspace) -> Document | None:
    data = files.read(files.path_on_disk(workspace.root, task_notes.TASKS_PATH))
    return parse_bytes(data) if data is not None else None
