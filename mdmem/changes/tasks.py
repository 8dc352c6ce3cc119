"""Working notes of a task: a section in `memory/tasks.md` until it is done.

    ## Move the sessions
    - 2026-03-05 10:00 goal: sessions live in Redis
    - 10:12 the migration is written

The edits for each verb are in an order in which an interruption loses nothing, and all of them can
be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from mdmem.changes import repeats
from mdmem.changes.apply import FindSimilar, apply_all
from mdmem.changes.commit_notes import complete_options
from mdmem.editors.section import heading
from mdmem.folder import files, layout
from mdmem.folder.layout import NEW_TASKS, TASKS_PATH
from mdmem.lookup import lookup
from mdmem.model import PATH_SEPARATOR, Op
from mdmem.model.errors import SectionProblem, TextProblem, one_of, verb
from mdmem.model.reads import SectionView, Show
from mdmem.model.writes import Action, Change, EditSection, Log, WriteOptions, WriteResult
from mdmem.past import fresh_trail
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import (
    MATCH_RULES,
    Document,
    Section,
    address_of,
    clean_input,
    fold_space,
    join_path,
    parse_bytes,
    plain_title,
    similar_paths,
    tree_etag,
)
from mdmem.text.facts import find_same_item, item_text, parse_item, section_items, write_item
from mdmem.workspace import Say, Workspace

_LEVEL = 2
_MOST_NAMED = 8
_DAY = late.pattern(r"(\d{4}-\d{2}-\d{2}) \d{2}:\d{2} ")


def start_edits(
    document: Document | None, name: str, goal: str, now: datetime, options: WriteOptions
) -> tuple[EditSection, ...]:
    """No edit where the task exists. Raises: TextProblem, SectionProblem (`section-ambiguous`)."""
    if document and tasks_named(document, name):
        _find(document, name)
        return ()
    address = _new_address(document, name)
    # It is appended, so that two goals stay if two people begin the same task at once.
    line = _line(f"goal: {_clean(goal, 'goal')}", now, None)
    return (
        EditSection(
            section=address,
            action=Action.APPEND,
            text=line,
            file=TASKS_PATH,
            create=True,
            options=options,
        ),
    )


def note_edits(
    document: Document | None, name: str, text: str, now: datetime, options: WriteOptions
) -> tuple[EditSection, ...]:
    """The note has its time, and its day if that differs from the line before."""
    tasks, section = _find(document, name)
    line = _line(_clean(text, "note"), now, _last_day(tasks, section))
    address, nth = _address(tasks, section)
    return (
        EditSection(
            section=address,
            action=Action.APPEND,
            text=line,
            file=TASKS_PATH,
            nth=nth,
            options=options,
        ),
    )


def finish_edits(
    document: Document | None, name: str, outcome: str, options: WriteOptions
) -> tuple[Log, EditSection]:
    """Remove the section only if it has not changed since."""
    tasks, section = _find(document, name)
    address, nth = _address(tasks, section)
    etag = tree_etag(tasks, section)
    return (
        _outcome_entry(section, outcome, options),
        EditSection(
            section=address,
            action=Action.DELETE,
            file=TASKS_PATH,
            nth=nth,
            expect=etag,
            subtree=True,
            options=options,
        ),
    )


def _outcome_entry(section: Section, outcome: str, options: WriteOptions) -> Log:
    text = f"{plain_title(section.title)}: {fold_space(_clean(outcome, 'outcome'))}"
    return Log(text=text, kind="task", options=options)


def show_arguments(document: Document | None, name: str) -> Show:
    """Show a task. Raises: SectionProblem (`task-not-found`, `section-ambiguous`)."""
    address, nth = _address(*_find(document, name))
    return Show(TASKS_PATH, address, nth)


def open_task_names(document: Document | None) -> tuple[str, ...]:
    """The open tasks' names, in file order."""
    return tuple(plain_title(section.title) for section in _tasks(document)) if document else ()


def _tasks(document: Document) -> list[Section]:
    return [section for section in document.sections if section.level == _LEVEL]


def tasks_named(document: Document, name: str) -> list[Section]:
    for rule in MATCH_RULES:
        sections = [section for section in _tasks(document) if rule(section.title) == rule(name)]
        if sections:
            return sections
    return []


def _find(document: Document | None, name: str) -> tuple[Document, Section]:
    sections = tasks_named(document, name) if document else []
    if document is None or not sections:
        titles = {
            join_path(section.path): plain_title(section.title)
            for section in (_tasks(document) if document else ())
        }
        near = [
            titles[path]
            for path in (similar_paths(document, name) if document else ())
            if path in titles
        ]
        names = near or list(titles.values())[:_MOST_NAMED]
        listed = "; ".join(names)
        hint = (
            f"Did you mean {one_of(near)}?"
            if near
            else f"The tasks are: {listed}"
            if names
            else f"To start one: {verb('task start')} NAME GOAL"
        )
        raise SectionProblem("task-not-found", f"no task {name[:120]!r}", hint, near=near)
    if len(sections) > 1:
        lines = ", ".join(str(section.start + 1) for section in sections)
        views = [
            {"section": join_path(section.path), "line": section.start + 1} for section in sections
        ]
        message = f"{len(sections)} tasks are called {name[:120]!r}"
        raise SectionProblem(
            "section-ambiguous",
            message,
            f"They are in {TASKS_PATH}, lines {lines}: rename one.",
            sections=views,
        )
    return document, sections[0]


def _address(document: Document, section: Section) -> tuple[str, int | None]:
    address = address_of(document, section)
    if address is None:
        message = (
            f"the task {section.title[:120]!r} cannot be named: its path is the title of another"
            " section"
        )
        raise SectionProblem("section-ambiguous", message, f"Rename one of them in {TASKS_PATH}.")
    return address


def _new_address(document: Document | None, name: str) -> str:
    heading(_LEVEL, name)
    title = fold_space(name)
    if PATH_SEPARATOR in title:
        raise TextProblem(
            "bad-text",
            f"{name[:80]!r} cannot be a task's name: {PATH_SEPARATOR.strip()!r} separates headings",
        )
    if not plain_title(title):
        raise TextProblem(
            "bad-text", f"{name[:80]!r} cannot be a task's name: it has no readable characters"
        )
    above = (
        next((section for section in document.sections if section.level < _LEVEL), None)
        if document
        else None
    )
    file_title = above.title if above else NEW_TASKS.removeprefix("# ").strip()
    if plain_title(file_title).casefold() == plain_title(title).casefold():
        raise TextProblem(
            "bad-text", f"{name[:80]!r} is the title of {TASKS_PATH}", "Give the task another name."
        )
    return join_path((above.title, title)) if above else title


def _clean(text: str, field: str) -> str:
    cleaned = clean_input(text, field).strip()
    if not cleaned:
        raise TextProblem("empty-text", f"the {field} is empty")
    return cleaned


def _line(text: str, now: datetime, day: date | None) -> str:
    stamp = f"{now:%H:%M}" if now.date() == day else f"{now:%Y-%m-%d %H:%M}"
    return write_item(f"{stamp} {text}")


def _last_day(document: Document, section: Section) -> date | None:
    days = [
        match[1]
        for item in section_items(document, section)
        if (match := _DAY.match(item_text(item.raw)))
    ]
    try:
        return date.fromisoformat(days[-1]) if days else None
    except ValueError:
        return None


# Carrying the edits out.


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a workspace.

    `seen_by` is memory as an actor (None: the workspace's) sees it, `read` shows a section of it;
    `write` does some work that writes, as an event with this name.
    """

    workspace: Workspace
    seen_by: Callable[[str | None], Workspace]
    read: Callable[[Workspace, Show], SectionView]
    say: Say
    find_similar: FindSimilar
    apply: Callable[[Change], WriteResult]
    write: Callable[[str, WriteOptions, Callable[[], WriteResult]], WriteResult]

    def start(self, name: str, goal: str, options: WriteOptions) -> WriteResult:
        """Begin a task; where it exists, it is continued and nothing is changed.

        Raises TextProblem (`empty-text`, `bad-text`), SectionProblem (`section-ambiguous`).
        """
        workspace = self.workspace
        edits = start_edits(_document(workspace), name, goal, workspace.now(), options)
        if not edits:
            task = self._show(workspace, name)
            return WriteResult(
                changed=False, path=task.path, section=task.section, etag=task.etag, commit=None
            )
        return self.apply(edits[0])

    def note(self, name: str, text: str, options: WriteOptions) -> WriteResult:
        """Add a note to an open task.

        Raises TextProblem (`empty-text`), SectionProblem (`task-not-found`, `section-ambiguous`).
        """
        workspace = self.seen_by(self.workspace.given_actor(options.actor))
        (edit,) = note_edits(_document(workspace), name, text, workspace.now(), options)
        return self.apply(edit)

    def end(self, name: str, outcome: str, options: WriteOptions) -> WriteResult:
        """Log the outcome of a task and remove its notes: both, or nothing.

        Raises TextProblem (`empty-text`), SectionProblem (`task-not-found`, `section-ambiguous`;
        `section-changed`: there is a new note), MdmemError as any write.
        """
        return self.write("task-done", options, lambda: self._finish(name, outcome, options))

    def _finish(self, name: str, outcome: str, options: WriteOptions) -> WriteResult:
        workspace = self.workspace
        document = _document(workspace)
        try:
            entry, deletion = finish_edits(document, name, outcome, options)
        except SectionProblem as problem:
            complete = complete_options(workspace, options)
            repeat = (
                repeats.find_finished_task(
                    workspace,
                    lambda tasks: tasks_named(tasks, name),
                    lambda task: _outcome_entry(task, outcome, complete),
                    complete,
                )
                if problem.code == "task-not-found"
                else None
            )
            if repeat is None:
                raise
            return repeat
        entry = replace(entry, again=not _is_logged(workspace, document, entry, name))
        logged, removed = apply_all(
            workspace, [entry, deletion], options, self.say, self.find_similar
        )
        return replace(
            logged,
            changed=True,
            commit=removed.commit,
            removed=removed.removed,
            like=tuple(each for each in logged.like if each.fact not in removed.removed),
            diff=None
            if logged.diff is None or removed.diff is None
            else logged.diff + removed.diff,
            notes=(*logged.notes, *removed.notes),
            warnings=(*logged.warnings, *removed.warnings),
            op=Op.LOG,
        )

    def show(self, name: str) -> SectionView:
        """Read the notes of a task.

        Raises SectionProblem (`task-not-found`, `section-ambiguous`).
        """
        return self._show(self.seen_by(None), name)

    def names(self) -> tuple[str, ...]:
        """List the names of the open tasks."""
        return open_task_names(_document(self.seen_by(None)))

    def _show(self, workspace: Workspace, name: str) -> SectionView:
        return self.read(workspace, show_arguments(_document(workspace), name))


def _is_logged(workspace: Workspace, tasks: Document | None, entry: Log, name: str) -> bool:
    """True if an earlier, interrupted call logged this outcome since the task began."""
    path = workspace.log_path(workspace.now().date())
    data = files.read(files.path_on_disk(workspace.root, path))
    item = write_item(entry.text)
    if tasks is None or data is None:
        return False
    if find_same_item(workspace.parse(path, data), item) is None:
        return False
    sections = {section.path for section in tasks_named(tasks, name)}
    with fresh_trail(workspace) as trail:
        begun = [
            trail.came_with(each) for each in trail.live_revisions(layout.TASKS_PATH, sections)
        ]
        logged = [
            each.begun
            for each in trail.occurrences_of(parse_item(item).id)
            if each.entry.path == path and each.ended is None and not trail.marks_of(each.number)
        ]
    return bool(begun) and max(logged, default=0) > max(begun)


def _document(workspace: Workspace) -> Document | None:
    path = layout.TASKS_PATH
    data = lookup.read_file(workspace, path, files.path_on_disk(workspace.root, path))
    return parse_bytes(data) if data is not None else None
