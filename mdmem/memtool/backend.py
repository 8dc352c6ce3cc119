"""Answer the tool's commands on one memory: each is one call and one text. Thread-safe."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO

from mdmem.memory import Memory, hosts
from mdmem.memtool import commands
from mdmem.memtool.commands import (
    FOLDER,
    ROOT,
    Command,
    is_own,
    parse_command,
    refusal,
    workspace_path,
)
from mdmem.model.errors import PathProblem, UsageProblem, attempt, json_line
from mdmem.model.writes import (
    CreateFile,
    InsertText,
    MovePath,
    ReplaceText,
    WholeFileEdit,
    WriteOptions,
)
from mdmem.queries.folders import FolderView
from mdmem.startup.records import dataclass
from mdmem.workspace import adoption

_ACTOR = "memory-tool"  # where neither MDMEM_ACTOR nor the settings name an agent


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A text for the model; `code` is that of a failure, None for success."""

    text: str
    code: str | None = None


class Backend:
    """The memory tool on a workspace."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def call(self, command: object) -> str:
        """The text for a command such as `{"command": "view", "path": "/memories"}`."""
        return self.answer(command).text

    def answer(self, command: object) -> ToolAnswer:
        """Like `call`, with the code of a failure."""
        return answer(lambda: self._memory, lambda: command)

    def close(self) -> None:
        """Release cached resources."""
        self._memory.close()


def answer(open_memory: Callable[[], Memory], read_command: Callable[[], object]) -> ToolAnswer:
    """Answer a command on a memory that is opened once the command has been read and checked."""
    command: Command | None = None

    def work() -> str:
        nonlocal command
        command = parse_command(read_command())
        memory = open_memory()
        workspace = memory.workspace
        if not adoption.is_adopted(workspace.repository, workspace.environment):
            raise hosts.not_adopted()
        options = WriteOptions(
            actor=workspace.actor if workspace.is_agent(workspace.actor) else _ACTOR,
            session=workspace.environment.get("MDMEM_SESSION") or None,
        )
        with memory.record_call(
            f"memory-tool-{command.name}", options.actor or _ACTOR, options.session
        ):
            return (
                _view(memory, command, options.actor)
                if command.name == "view"
                else _change(memory, command, options)
            )

    outcome = attempt(work, commands.in_commands)
    if isinstance(outcome, str):
        return ToolAnswer(outcome)
    return ToolAnswer(commands.failure_text(command, outcome), outcome["error"])


def _path(memory: Memory, path: str) -> str:
    workspace = memory.workspace
    return workspace_path(path, workspace.curated, (each.name for each in workspace.root.iterdir()))


def _view(memory: Memory, command: Command, actor: str | None) -> str:
    path = _path(memory, command.path)
    if path == FOLDER:
        return _view_root(memory, command, actor)
    view = memory.look(path, actor)
    if isinstance(view, str):
        return commands.file_text(command.path, view, command.values["view_range"])
    return commands.folder_text(command.path, view.size, _rows(view))


def _view_root(memory: Memory, command: Command, actor: str | None) -> str:
    # memory/ need not exist yet; the workspace's own files are listed in it
    try:
        view = memory.look(FOLDER, actor)
    except PathProblem as problem:
        if problem.code != "file-not-found":
            raise
        view = FolderView(0, ())
    if isinstance(view, str):
        raise PathProblem("bad-path", f"{FOLDER} is a file, not a folder")
    around = memory.look("", actor)
    entries = () if isinstance(around, str) else around.entries
    own = [
        (entry.size, entry.path) for entry in entries if not entry.is_folder and is_own(entry.path)
    ]
    inner = [row for row in _rows(view) if not is_own(row[1])]
    return commands.folder_text(
        command.path, view.size, sorted([*own, *inner], key=lambda row: row[1].split("/"))
    )


def _rows(view: FolderView) -> list[tuple[int, str]]:
    return [
        (entry.size, f"{entry.path}/" if entry.is_folder else entry.path) for entry in view.entries
    ]


def _change(memory: Memory, command: Command, options: WriteOptions) -> str:
    values, path = command.values, _path(memory, command.path)
    if command.name in ("delete", "rename") and path == FOLDER:
        raise refusal("bad-path", f"Cannot {command.name} the {ROOT} directory itself")
    change: WholeFileEdit | MovePath
    match command.name:
        case "create":
            change = CreateFile(path, values["file_text"], options)
        case "str_replace":
            change = ReplaceText(path, values["old_str"], values["new_str"], options)
        case "insert":
            change = InsertText(path, values["insert_line"], values["insert_text"], options)
        case "delete":
            change = MovePath(path, None, options)
        case _:
            change = MovePath(path, _path(memory, values["new_path"]), options)
    result = memory.change_file(change)
    if result.proposal is not None:
        return commands.proposed_text(command, result.proposal)
    return (
        commands.replaced_text(result.excerpt)
        if command.name == "str_replace"
        else commands.done_text(command)
    )


# `mdmem memory-tool`: a JSON line of output for each JSON line of input, in the same order

_MOST_BYTES = 32_000_000  # of a line: the largest editable file fits, fully escaped
_CATCH_UP_SECONDS = 10.0


def serve(folder: str | None, environment: Mapping[str, str]) -> int:
    """Answer lines until the input ends; return the exit status."""
    opened = _Opened(folder, environment)
    for line in _lines(sys.stdin.buffer):
        if line is None or line.strip():
            print(
                json_line(_answer_object(answer(opened.memory, partial(_parse, line)))), flush=True
            )
    opened.close()
    return 0


def _answer_object(outcome: ToolAnswer) -> dict[str, object]:
    if outcome.code is None:
        return {"content": outcome.text, "is_error": False}
    return {"content": outcome.text, "is_error": True, "error": outcome.code}


def _lines(source: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of the input; None for one that is too long, of which nothing is kept."""
    while line := source.readline(_MOST_BYTES):
        is_whole = line.endswith(b"\n") or len(line) < _MOST_BYTES
        while not is_whole:
            rest = source.readline(_MOST_BYTES)
            is_whole = rest.endswith(b"\n") or len(rest) < _MOST_BYTES
            line = b""
        yield line or None


def _parse(line: bytes | None) -> object:
    if line is None:
        raise UsageProblem(f"the line has more than {_MOST_BYTES:,} bytes")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(
            "the line is not JSON",
            'One object per line, as in {"command": "view", "path": "/memories"}',
        ) from problem


class _Opened:
    """A memory opened by the first command that needs it; after a failure, the next one retries."""

    def __init__(self, folder: str | None, environment: Mapping[str, str]) -> None:
        self._folder = Path(folder) if folder else None
        self._environment = environment
        self._memory: Memory | None = None

    def memory(self) -> Memory:
        if self._memory is None:
            repository = hosts.require_host_workspace(self._environment, self._folder)
            self._memory = Memory.open_in(repository, self._environment)
        return self._memory

    def close(self) -> None:
        # waits up to a limit until the index has caught up
        if self._memory is not None:
            self._memory.await_catch_up(_CATCH_UP_SECONDS)
            self._memory.close()
