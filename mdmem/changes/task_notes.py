"""Working notes of a task: a section in `memory/tasks.md` until it is done.

    ## Move the sessions
    - 2026-03-05 10:00 goal: sessions live in Redis
    - 10:12 the migration is written

Nothing is written here: the edits for each verb are in an order in which an interruption loses
nothing, and all of them can be repeated.
"""

from __future__ import annotations

from datetime import date, datetime

from mdmem.editors.outline import heading
from mdmem.errors import SectionProblem, TextProblem
from mdmem.folder.layout import NEW_TASKS, TASKS_PATH
from mdmem.model import PATH_SEPARATOR
from mdmem.model.reads import Show
from mdmem.model.writes import Action, EditSection, Log, WriteOptions
from mdmem.startup import late
from mdmem.text.addresses import MATCH_RULES, address_of, join_path, similar_paths
from mdmem.text.document import Document, Section, clean_input, fold_space, plain_title, tree_etag
from mdmem.text.facts import item_text, section_items, write_item
from mdmem.wording import verb

_LEVEL = 2
_MOST_NAMED = 8
_DAY = late.pattern(r"(\d{4}-\d{2}-\d{2}) \d{2}:\d{2} ")


def start_edits(
    document: Document | None, name: str, goal: str, now: datetime, options: WriteOptions
) -> tuple[EditSection, ...]:
    """Begin a task: its section, with the goal; no edit where the task exists.

    Raises: TextProblem (`empty-text`, `bad-text`), SectionProblem (`section-ambiguous`).
    """
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
    """Add a note with its time, and its day if that differs from the line before.

    Raises: TextProblem (`empty-text`), SectionProblem (`task-not-found`, `section-ambiguous`).
    """
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
    """Log the outcome, then remove the task's section if it has not changed since.

    Raises: TextProblem (`empty-text`), SectionProblem (`task-not-found`, `section-ambiguous`).
    """
    tasks, section = _find(document, name)
    address, nth = _address(tasks, section)
    etag = tree_etag(tasks, section)
    return (
        outcome_entry(section, outcome, options),
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


def outcome_entry(section: Section, outcome: str, options: WriteOptions) -> Log:
    """The log line of a task's outcome. Raises: TextProblem (`empty-text`)."""
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
    """The tasks with a name, by the first rule that matches any."""
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
            f"Did you mean {listed}?"
            if near
            else f"Its tasks are: {listed}"
            if names
            else f"To start one: {verb('task start')} NAME"
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
    """The task's path, and its number where its notes have a section with that path."""
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
    """A list item with its time, and its day unless that is `day`, that of the item before."""
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
