"""The calls of the tools: each fills an argument record and makes one call on Memory.

A result is one text for a model: bounded, without secrets or terminal control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from posixpath import normpath
from typing import Any

from mdmem import secrets
from mdmem.context.parts import Paragraph, clean_line, write_block
from mdmem.folder import layout
from mdmem.lookup import lookup
from mdmem.mcp.arguments import in_arguments
from mdmem.mcp.tools import SCOPE, WORKSPACE
from mdmem.memory import Memory
from mdmem.model import FileKind, FilePath, Source
from mdmem.model.errors import (
    FactProblem,
    PathProblem,
    WorkspaceProblem,
    json_line,
    number_of,
    printable,
)
from mdmem.model.history import DayView, ShowHistory
from mdmem.model.prompts import BuildContext, Purpose
from mdmem.model.reads import Outline, SectionView, Show
from mdmem.model.searches import BuildProgress, FactList, Hit, Search, SearchResult
from mdmem.model.writes import EditSection, Forget, Log, Remember, WriteOptions, WriteResult
from mdmem.show import past as histories
from mdmem.show import writes
from mdmem.show.formatting import also_notes, hit_remarks, section_line, tags_behind, unread_text
from mdmem.show.hits import with_excerpts
from mdmem.show.past import changes_text
from mdmem.show.values import to_json
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import as_read, item_text


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool with its checked arguments, and who calls in which session.

    `write_pool`: it may write to the other workspaces of the pool.
    """

    tool: str
    values: Mapping[str, Any]
    actor: str
    session: str | None
    write_pool: bool = False

    @property
    def options(self) -> WriteOptions:
        return WriteOptions(
            source=Source(self.values.get("source", Source.INFERRED)),
            actor=self.actor,
            session=self.session,
            reason=self.values.get("reason"),
            supersedes=self.values.get("supersedes"),
        )


def answer(memory: Memory, call: ToolCall) -> str:
    """The text of a tool's answer; the call is recorded as an event. Raises MdmemError."""
    with memory.record_call(call.tool, call.actor, call.session):
        return _ANSWERS[call.tool](_written_to(memory, call), call)


def _written_to(memory: Memory, call: ToolCall) -> Memory:
    name = call.values.get(WORKSPACE)
    if name is None:
        return memory
    if not call.write_pool:
        raise WorkspaceProblem(
            "not-allowed",
            "this server writes to its own workspace alone",
            "Leave workspace out. The user can start it as mdmem mcp --write-pool.",
        )
    return memory.of_pool(name)


# Reading.


def _search(memory: Memory, call: ToolCall) -> str:
    values = call.values
    tags = tuple(values.get("tags", ()))
    query = values.get("query", "").strip()
    if not query and not any(values.get(name) for name in ("since", "until", "history", "as_of")):
        return facts_text(memory.recall(tags, values["limit"]))
    request = Search(
        query=query,
        limit=values["limit"],
        tags=tags,
        since=values.get("since"),
        until=values.get("until"),
        history=values.get("history", False),
        as_of=values.get("as_of"),
        fleet=SCOPE in values,
    )
    return search_text(memory.search(request))


def _get(memory: Memory, call: ToolCall) -> str:
    name, file = call.values.get("name"), call.values.get("file")
    whole = name is not None and file is None and layout.is_markdown(name)
    if whole:
        name, file = None, name
    if file is not None:
        require_memory_file(memory, file)
    if call.values.get("history"):
        return _history(memory, name, file)
    if name is None and not whole:
        return outline_text(memory.outline(file))
    view = memory.show_named(Show(file=file, section=name))
    return section_text(view) if isinstance(view, SectionView) else day_text(view)


def _history(memory: Memory, name: str | None, file: str | None) -> str:
    past = memory.history(ShowHistory(target=name, file=file))
    lines = clean(histories.history_text(past, words=True, colour=False)).split("\n")
    return bounded(
        lines,
        "memory_get of a section or a fact",
        (*also_notes(past.also), *map(clean, past.notes)),
    )


def require_memory_file(memory: Memory, file: str) -> None:
    """Raises PathProblem (`not-memory`, `bad-path`) for a file that is not memory."""
    workspace = memory.workspace
    path = normpath(file)
    is_memory = (
        path in workspace.memory_files()
        if layout.is_outside(path)
        else workspace.kind_of(layout.parse_path(file)).is_memory
    )
    if not is_memory:
        raise PathProblem(
            "not-memory",
            f"{file[:80]} is not memory",
            "memory_get without a name lists the sections of MEMORY.md.",
        )


def _context(memory: Memory, call: ToolCall) -> str:
    request = BuildContext(
        prompt=call.values.get("prompt"),
        purpose=Purpose.SESSION,
        budget=call.values["budget"],
        session=None if "as_of" in call.values else call.session,
        as_of=call.values.get("as_of"),
    )
    block = memory.context(request)
    return block.text or (BEHIND if block.stale else NO_MATCH)


# Writing.


def _written(result: WriteResult) -> str:
    hint = in_arguments(writes.write_hint(result, may_promote=False))
    like = tuple(replace(each, text=clean(each.text)) for each in result.like)
    return json_line(to_json(replace(result, like=like, hint=hint)))


def _remember(memory: Memory, call: ToolCall) -> str:
    values = call.values
    _require_no_instruction(memory, values.get("supersedes"))
    change = Remember(
        text=values["text"],
        section=values.get("section"),
        key=values.get("key"),
        kind=values.get("kind"),
        tags=tuple(values.get("tags", ())),
        until=values.get("until"),
        options=call.options,
    )
    return _written(memory.apply(change))


def _log(memory: Memory, call: ToolCall) -> str:
    values = call.values
    _require_no_instruction(memory, values.get("supersedes"))
    change = Log(
        text=values["text"],
        kind=values.get("kind"),
        tags=tuple(values.get("tags", ())),
        options=call.options,
    )
    try:
        return _written(memory.apply(change))
    except FactProblem as problem:
        logged = _just_logged(memory, change) if problem.code == "supersede-in-place" else []
        if not logged:
            raise
        # The entry takes the place of the line, as `remember --from` has it.
        promotion = Remember(
            text="",
            file=str(problem.details["path"]),
            entry=logged[-1].item.fact.id,
            options=change.options,
        )
        return _written(memory.apply(promotion))


def _just_logged(memory: Memory, change: Log) -> list[lookup.FactLocation]:
    workspace, options = memory.workspace, change.options
    entries = lookup.locate_fact(workspace, change.text, (FileKind.DAILY,))
    current = lookup.current_locations(workspace, entries)
    return lookup.written_by(workspace, current, options.actor, options.session)


def _edit(memory: Memory, call: ToolCall) -> str:
    values = call.values
    if values.get("file") is not None:
        require_memory_file(memory, values["file"])
        _require_no_host_file(memory, layout.parse_path(values["file"]))
    change = EditSection.of(
        values["section"],
        body=values.get("body"),
        append=values.get("append"),
        replace=values.get("replace"),
        replacement=values.get("with"),
        delete=values.get("delete", False),
        file=values.get("file"),
        expect=values.get("expect"),
        options=call.options,
    )
    return _written(memory.apply(change))


def _require_no_host_file(memory: Memory, path: FilePath) -> None:
    layout.require_no_host_file(path)
    if memory.workspace.kind_of(path) is FileKind.BOOTSTRAP:
        raise layout.host_file_problem(path)


def _require_no_instruction(memory: Memory, fact: str | None) -> None:
    if fact and (
        lines := lookup.locate_fact(memory.workspace, fact, (FileKind.BOOTSTRAP,), keys=True)
    ):
        raise layout.host_file_problem(lines[0].path)


def _forget(memory: Memory, call: ToolCall) -> str:
    _require_no_instruction(memory, call.values["fact"])
    return _written(memory.apply(Forget(fact=call.values["fact"], options=call.options)))


def _task(memory: Memory, call: ToolCall) -> str:
    name, text = call.values.get("name", ""), call.values.get("text", "")
    match call.values["action"]:
        case "start":
            result = memory.tasks.start(name, text, call.options)
            if result.changed or result.proposed:
                return _written(result)
            notes = clean(memory.tasks.show(name).text)
            return json_line({**to_json(result), "text": notes})
        case "note":
            return _written(memory.tasks.note(name, text, call.options))
        case "done":
            return _written(memory.tasks.end(name, text, call.options))
        case "show":
            return section_text(memory.tasks.show(name))
        case _:
            return bounded(
                [f"- {clean_line(task)}" for task in memory.tasks.names()] or ["No tasks."],
                "memory_task show",
            )


_ANSWERS: Mapping[str, Callable[[Memory, ToolCall], str]] = {
    "memory_search": _search,
    "memory_get": _get,
    "memory_context": _context,
    "memory_remember": _remember,
    "memory_log": _log,
    "memory_edit": _edit,
    "memory_forget": _forget,
    "memory_task": _task,
}


MOST_CHARACTERS = 8000
NO_MATCH = "No match."
BEHIND = "The index is behind."
_WHY_BEHIND = "the index is behind: "  # start of the core's note on why the index is behind
_RESERVED_CHARACTERS = 300  # characters reserved for the lines below a text that was cut


def clean(text: str) -> str:
    """Remove secrets, and make everything visible that could hide or steer."""
    return printable(secrets.redact(text.replace("\r\n", "\n")))


def bounded(lines: Iterable[str], how: str, last: Sequence[str] = ()) -> str:
    """Join lines up to the maximum length; a line counts the rest and says `how` to get it.

    `last` is always included.
    """
    entries = list(lines)
    room = MOST_CHARACTERS - sum(len(line) + 1 for line in last)
    shown = 0
    used = 0
    for entry in entries:
        used += len(entry) + 1
        if used > room - (_RESERVED_CHARACTERS if shown + 1 < len(entries) else 0):
            break
        shown += 1
    if shown == len(entries):
        return "\n".join((*entries, *last))
    if not shown:
        entries[0] = f"{entries[0][: room - _RESERVED_CHARACTERS].rstrip()}…"
        shown = 1
    left = len(entries) - shown
    more = [f"… {left:,} more: {how}"] if left else [f"… the rest: {how}"]
    return "\n".join((*entries[:shown], *more, *last))


def hit_line(hit: Hit) -> str:
    kind = f"[{hit.kind}] " if hit.kind else ""
    tags = "".join(f" #{clean_line(tag)}" for tag in tags_behind(hit))
    marks = "".join(
        f" {mark}" for mark in ((f"[{hit.fact}]",) if hit.fact else ()) + hit_remarks(hit)
    )
    about = f" ({clean_line(hit.about)})" if hit.about else ""
    return f"- {clean_line(hit.place)} {kind}{clean_line(as_read(hit.text))}{about}{tags}{marks}"


def _notes(stale: bool, notes: Iterable[str]) -> list[str]:
    lines = [clean(in_arguments(note)) for note in notes]
    return [BEHIND, *(line.removeprefix(_WHY_BEHIND) for line in lines)] if stale else lines


def search_text(result: SearchResult) -> str:
    as_of = [f"Memory as of {result.as_of}."] if result.as_of else []
    days = [
        f"{name}: {day}" for name, day in (("since", result.since), ("until", result.until)) if day
    ]
    return _listed(
        with_excerpts(result).hits,
        [*as_of, *days, *_notes(result.stale, result.notes)],
        result.building,
    )


def facts_text(listed: FactList) -> str:
    left_out = (
        [f"{len(listed.facts)} of {listed.total}: memory_search with limit"]
        if 0 < len(listed.facts) < listed.total
        else []
    )
    return _listed(listed.facts, [*left_out, *_notes(listed.stale, listed.notes)], listed.building)


def _listed(hits: Sequence[Hit], notes: Sequence[str], building: BuildProgress | None) -> str:
    empty = f"{unread_text(building)}." if building else NO_MATCH
    return bounded(
        [hit_line(hit) for hit in hits] or [empty],
        "memory_search with limit, or memory_get NAME",
        notes,
    )


def section_text(view: SectionView) -> str:
    if view.fact:
        return _fact_text(view)
    name = f" {section_line(view.section)}" if view.section else ""
    subsections = (
        [f"subsections: {'; '.join(map(section_line, view.subsections))}"]
        if view.section and view.subsections
        else []
    )
    lines = clean(view.text.strip("\r\n")).split("\n")
    below = [clean(line)[: _RESERVED_CHARACTERS * 2] for line in subsections]
    etag = view.etag if view.section else view.tree_etag
    return bounded(
        [f"# {clean_line(view.path)}:{view.start_line}{clean(name)}", *lines],
        "memory_search, or memory_get NAME of a part",
        [*below, *map(clean, also_notes(view.also)), f"etag {etag}"],
    )


def framed(parts: Mapping[str, str]) -> str:
    """Texts by their headings, in the frame of a block; their lines must be clean already."""
    return write_block(
        [Paragraph(heading, tuple(text.split("\n"))) for heading, text in parts.items()]
    )


def _fact_text(view: SectionView) -> str:
    lines = clean(view.text.strip("\r\n")).split("\n")
    first = f"- {clean_line(view.path)}:{view.start_line} {item_text(lines[0])} [{view.fact}]"
    below = (
        *map(clean, also_notes(view.also)),
        f"section {clean(section_line(view.section))}",
        f"etag {view.etag}",
    )
    return bounded([first, *lines[1:]], "memory_search", below)


def day_text(view: DayView) -> str:
    lines = [
        line
        for log in view.logs
        for line in (f"# {clean_line(log.path)}", *clean(log.text.strip("\r\n")).split("\n"))
    ]
    changes = changes_text(view.changes, colour=False) if view.changes else ""
    changed = ["", "Changed:", *clean(changes).split("\n")] if changes else []
    changed += [number_of(view.more, "more change")] if view.more else []
    return bounded(
        [*lines, *changed] or [f"Nothing was logged on {view.day}."], "memory_get of a file"
    )


def outline_text(outline: Outline) -> str:
    rows = [
        f"{'  ' * (len(row.section) - 1)}- :{row.line} {clean(section_line(row.section[-1:]))}"
        f" (etag {row.etag})"
        for row in outline.sections
    ]
    return bounded([f"# {clean_line(outline.path)}", *rows], "memory_get NAME")


def failure_text(failure: Mapping[str, Any]) -> str:
    """A failure (of `errors.attempt`) as one JSON object of bounded length."""
    text = json_line(failure)
    if len(text) <= MOST_CHARACTERS:
        return text
    return json_line({name: _shortened(value) for name, value in failure.items()})


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > MOST_CHARACTERS // 4:
            return f"{value[: MOST_CHARACTERS // 4]}… (the rest: memory_get)"
        case list():
            return [_shortened(each) for each in value[:4]]
    return value
