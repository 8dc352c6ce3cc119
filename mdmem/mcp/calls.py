"""The calls of the tools: each fills an argument record and makes one call on Memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import normpath
from typing import Any

from mdmem.errors import FactProblem, PathProblem, WorkspaceProblem, json_line
from mdmem.folder import layout
from mdmem.mcp import texts
from mdmem.mcp.arguments import in_arguments
from mdmem.mcp.tools import WORKSPACE
from mdmem.memory import Memory
from mdmem.model import FileKind, FilePath, Source
from mdmem.model.history import ShowHistory
from mdmem.model.prompts import BuildContext, Purpose
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import Search
from mdmem.model.writes import EditSection, Forget, Log, Remember, WriteOptions, WriteResult
from mdmem.queries import lookup
from mdmem.queries.context.parts import clean_line
from mdmem.show import history as histories
from mdmem.show import writes
from mdmem.show.formatting import also_notes
from mdmem.startup.records import dataclass, replace


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
        """The options of a write."""
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
    """The memory that a call is for. Raises WorkspaceProblem (`not-allowed`), UsageProblem."""
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
    tags = tuple(tag.removeprefix("#") for tag in values.get("tags", ()))
    query = values.get("query", "").strip()
    if not query and not any(values.get(name) for name in ("since", "until", "history", "as_of")):
        return texts.facts_text(memory.recall(tags, values["limit"]))
    request = Search(
        query=query,
        limit=values["limit"],
        tags=tags,
        since=values.get("since"),
        until=values.get("until"),
        history=values.get("history", False),
        as_of=values.get("as_of"),
    )
    return texts.search_text(memory.search(request))


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
        return texts.outline_text(memory.outline(file))
    view = memory.show_named(Show(file=file, section=name))
    return texts.section_text(view) if isinstance(view, SectionView) else texts.day_text(view)


def _history(memory: Memory, name: str | None, file: str | None) -> str:
    past = memory.history(ShowHistory(target=name, file=file))
    lines = texts.clean(histories.history_text(past, words=True, colour=False)).split("\n")
    return texts.bounded(
        lines,
        "memory_get of a section or a fact",
        (*also_notes(past.also), *map(texts.clean, past.notes)),
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
        session=call.session,
    )
    block = memory.context(request)
    return block.text or (texts.BEHIND if block.stale else texts.NO_MATCH)


# Writing.


def _written(result: WriteResult) -> str:
    hint = in_arguments(writes.write_hint(result, may_promote=False))
    like = tuple(replace(each, text=texts.clean(each.text)) for each in result.like)
    return json_line(
        writes.write_json(replace(result, like=like)) | ({"hint": hint} if hint else {})
    )


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
    """The current log entries with the text of a call, by its actor in its session."""
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
    """Raise PathProblem for a file with instructions to agents: only a person changes it."""
    layout.require_no_host_file(path)
    if memory.workspace.kind_of(path) is FileKind.BOOTSTRAP:
        raise layout.host_file_problem(path)


def _require_no_instruction(memory: Memory, fact: str | None) -> None:
    """Raise PathProblem for a fact in a file with instructions to agents."""
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
            notes = {"text": texts.clean(memory.tasks.show(name).text)}
            return json_line(writes.write_json(result) | notes)
        case "note":
            return _written(memory.tasks.note(name, text, call.options))
        case "done":
            return _written(memory.tasks.end(name, text, call.options))
        case "show":
            return texts.section_text(memory.tasks.show(name))
        case _:
            return texts.bounded(
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
