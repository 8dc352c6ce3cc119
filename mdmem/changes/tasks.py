"""`task`: read the file of tasks, and carry out the edits of `task_notes`."""

from __future__ import annotations

from collections.abc import Callable

from mdmem.catchup import trails
from mdmem.changes import repeats, task_notes
from mdmem.changes.apply import apply_all
from mdmem.changes.commit_notes import complete_options
from mdmem.errors import SectionProblem
from mdmem.folder import files, layout
from mdmem.model import Op
from mdmem.model.reads import SectionView
from mdmem.model.writes import Change, Log, WriteOptions, WriteResult
from mdmem.queries import lookup
from mdmem.queries.show import show_section
from mdmem.startup.records import replace
from mdmem.text.document import Document, parse_bytes
from mdmem.text.facts import find_same_item, parse_item, write_item
from mdmem.workspace import Say, Workspace

Apply = Callable[[Change], WriteResult]


def start_task(
    workspace: Workspace, name: str, goal: str, options: WriteOptions, apply: Apply
) -> WriteResult:
    """Begin a task, or continue the one there with nothing changed.

    Raises: TextProblem (`empty-text`, `bad-text`), SectionProblem (`section-ambiguous`).
    """
    edits = task_notes.start_edits(_document(workspace), name, goal, workspace.now(), options)
    if not edits:
        task = show_task(workspace, name)
        return WriteResult(
            changed=False, path=task.path, section=task.section, etag=task.etag, commit=None
        )
    return apply(edits[0])


def add_task_note(
    workspace: Workspace, name: str, text: str, options: WriteOptions, apply: Apply
) -> WriteResult:
    """Add a note to an open task.

    Raises: TextProblem (`empty-text`), SectionProblem (`task-not-found`, `section-ambiguous`).
    """
    (edit,) = task_notes.note_edits(_document(workspace), name, text, workspace.now(), options)
    return apply(edit)


def finish_task(
    workspace: Workspace, name: str, outcome: str, options: WriteOptions, say: Say
) -> WriteResult:
    """Log a task's outcome, then remove its notes; all or nothing.

    Raises: TextProblem (`empty-text`), SectionProblem (`task-not-found`, `section-ambiguous`;
    `section-changed`: there is a new note).
    """
    document = _document(workspace)
    try:
        entry, deletion = task_notes.finish_edits(document, name, outcome, options)
    except SectionProblem as problem:
        complete = complete_options(workspace, options)
        repeat = (
            repeats.find_finished_task(workspace, name, outcome, complete)
            if problem.code == "task-not-found"
            else None
        )
        if repeat is None:
            raise
        return repeat
    entry = replace(entry, again=not _is_logged(workspace, document, entry, name))
    logged, removed = apply_all(workspace, [entry, deletion], options, say)
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


def _is_logged(workspace: Workspace, tasks: Document | None, entry: Log, name: str) -> bool:
    """True if an earlier, interrupted call logged this outcome since the task began."""
    path = workspace.log_path(workspace.now().date())
    data = files.read(files.path_on_disk(workspace.root, path))
    item = write_item(entry.text)
    if tasks is None or data is None or find_same_item(parse_bytes(data), item) is None:
        return False
    sections = {section.path for section in task_notes.tasks_named(tasks, name)}
    with trails.fresh_trail(workspace) as trail:
        begun = [
            trail.came_with(each) for each in trail.live_revisions(layout.TASKS_PATH, sections)
        ]
        logged = [
            each.begun
            for each in trail.occurrences_of(parse_item(item).id)
            if each.entry.path == path and each.ended is None and not trail.marks_of(each.number)
        ]
    return bool(begun) and max(logged, default=0) > max(begun)


def show_task(workspace: Workspace, name: str) -> SectionView:
    """Show a task. Raises: SectionProblem (`task-not-found`, `section-ambiguous`)."""
    return show_section(workspace, task_notes.show_arguments(_document(workspace), name))


def task_names(workspace: Workspace) -> tuple[str, ...]:
    """The names of open tasks."""
    return task_notes.open_task_names(_document(workspace))


def _document(workspace: Workspace) -> Document | None:
    path = layout.TASKS_PATH
    data = lookup.read_file(workspace, path, files.path_on_disk(workspace.root, path))
    return parse_bytes(data) if data is not None else None
