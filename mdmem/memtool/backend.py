"""Answer the tool's commands on one memory: each is one call and one text. Thread-safe."""

from __future__ import annotations

from collections.abc import Callable

from mdmem import adoption
from mdmem.errors import PathProblem, attempt
from mdmem.memory import Memory, hosts
from mdmem.memtool import texts
from mdmem.memtool.commands import (
    FOLDER,
    ROOT,
    Command,
    is_own,
    parse_command,
    refusal,
    workspace_path,
)
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

    outcome = attempt(work, texts.in_commands)
    if isinstance(outcome, str):
        return ToolAnswer(outcome)
    return ToolAnswer(texts.failure_text(command, outcome), outcome["error"])


def _path(memory: Memory, path: str) -> str:
    workspace = memory.workspace
    return workspace_path(path, workspace.curated, (each.name for each in workspace.root.iterdir()))


def _view(memory: Memory, command: Command, actor: str | None) -> str:
    path = _path(memory, command.path)
    if path == FOLDER:
        return _view_root(memory, command, actor)
    view = memory.look(path, actor)
    if isinstance(view, str):
        return texts.file_text(command.path, view, command.values["view_range"])
    return texts.folder_text(command.path, view.size, _rows(view))


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
    return texts.folder_text(
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
        return texts.proposed_text(command, result.proposal)
    return (
        texts.replaced_text(result.excerpt)
        if command.name == "str_replace"
        else texts.done_text(command)
    )
