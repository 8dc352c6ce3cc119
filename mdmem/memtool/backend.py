"""Answer the tool's commands, checked before anything is opened, on one memory: each is one call
and one text for a model. Thread-safe.

The texts are those of the SDK's reference, else code and message.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from mdmem import secrets
from mdmem.folder.layout import CURATED_NAMES, PROFILE_NAMES
from mdmem.memory import Memory, hosts
from mdmem.model import errors
from mdmem.model.errors import MdmemError, PathProblem, UsageProblem, attempt, json_line
from mdmem.model.writes import (
    CreateFile,
    InsertText,
    MovePath,
    ReplaceText,
    WholeFileEdit,
    WriteOptions,
)
from mdmem.queries.folders import FolderView
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.workspace import adoption

ROOT = "/memories"
FOLDER = "memory"
_OWN = {name.casefold() for name in (*CURATED_NAMES, *PROFILE_NAMES)}


def is_own(name: str) -> bool:
    """True for the name of one of the workspace's own files: the curated one, a profile."""
    return name.casefold() in _OWN


def _workspace_path(path: str, curated: str, names: Iterable[str]) -> str:
    """The path in the workspace that a path of the tool means.

    `names` are those in the workspace's own folder; a profile may be written in any case.
    Raises PathProblem (`bad-path`) for a path outside /memories or with forbidden characters.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise refusal("bad-path", f"Path must start with {ROOT}, got: {path}")
    if "\0" in path:
        raise PathProblem("bad-path", f"{path!r} contains a NUL character")
    parts: list[str] = []
    for part in path[len(ROOT) :].split("/"):
        plain = unquote(part)
        if plain != part and (
            "/" in plain or "\\" in plain or "\0" in plain or plain in (".", "..")
        ):
            raise _escape(path)
        if part == "..":
            if not parts:
                raise _escape(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if len(parts) == 1 and is_own(parts[0]):
        return _own_file(parts[0], curated, names)
    return "/".join((FOLDER, *parts))


def _own_file(name: str, curated: str, names: Iterable[str]) -> str:
    if name.casefold() == curated.casefold():
        return curated
    same = [each for each in names if each.casefold() == name.casefold()]
    usual = next(each for each in PROFILE_NAMES if each.casefold() == name.casefold())
    return name if name in same else same[0] if same else usual


def refusal(code: str, text: str) -> MdmemError:
    """A failure with exactly the reference's text."""
    return PathProblem(code, text, reference=text)


def _escape(path: str) -> MdmemError:
    return refusal("bad-path", f"Path {path} would escape {ROOT} directory")


# required arguments of each command; `view` may have a `view_range` too
_ARGUMENTS: Mapping[str, Mapping[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
_TYPES = {str: "a text", int: "a whole number"}


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its checked arguments."""

    name: str
    values: Mapping[str, Any]

    @property
    def path(self) -> str:
        """The path that the command is about."""
        return str(self.values["old_path" if self.name == "rename" else "path"])


def _parse_command(sent: object) -> Command:
    """Check a command, ignoring unknown arguments as the reference does.

    Raises UsageProblem for missing or wrong arguments, MdmemError (`usage`) for an unknown command.
    """
    if not isinstance(sent, Mapping):
        raise UsageProblem(
            'a command is one JSON object, as in {"command": "view", "path": "/memories"}'
        )
    name = sent.get("command")
    arguments = _ARGUMENTS.get(name) if isinstance(name, str) else None
    if arguments is None:
        raise _unknown(name)
    for argument, kind in arguments.items():
        value = sent.get(argument)
        if value is None:
            raise UsageProblem(f"{name} needs {argument}", f"It takes {', '.join(arguments)}.")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UsageProblem(f"{argument} must be {_TYPES[kind]}")
    values = {argument: sent[argument] for argument in arguments}
    return Command(
        str(name),
        values | ({"view_range": _parse_range(sent.get("view_range"))} if name == "view" else {}),
    )


def _unknown(name: object) -> MdmemError:
    return (
        refusal("usage", f"Unknown command: {name}")
        if name is not None
        else UsageProblem("command is missing", f"Use one of {', '.join(_ARGUMENTS)}.")
    )


def _parse_range(value: object) -> tuple[int, int] | None:
    # None is all, also for a list of another length
    if value is None:
        return None
    if not isinstance(value, list) or not all(
        isinstance(each, int) and not isinstance(each, bool) for each in value
    ):
        raise UsageProblem(
            "view_range must be a list of two whole numbers",
            "[1, 20], or [10, -1] from line 10 to the end.",
        )
    return (value[0], value[1]) if len(value) == 2 else None


_NUMBER_WIDTH = 6
_UNITS = "BKMG"
_STEP = 1024
_IN_FOLDER = late.pattern(rf"(?<![\w/.-]){FOLDER}/")  # the beginning of a path of the workspace

_FIELDS = {"workspace": "MDMEM_WORKSPACE"}

_DONE = {
    "create": "File created successfully at: {path}",
    "insert": "The file {path} has been edited.",
    "delete": "Successfully deleted {path}",
    "rename": "Successfully renamed {old_path} to {new_path}",
}
_MISSING = "The path {path} does not exist. Please provide a valid path."
# the reference's texts by command and code
_FAILED: Mapping[tuple[str, str], str] = {
    ("view", "file-not-found"): _MISSING,
    ("str_replace", "file-not-found"): _MISSING,
    ("insert", "file-not-found"): _MISSING,
    ("delete", "file-not-found"): "The path {path} does not exist",
    ("rename", "file-not-found"): "The path {old_path} does not exist",
    ("str_replace", "is-folder"): "The path {path} is not a file.",
    ("insert", "is-folder"): "The path {path} is not a file.",
    ("create", "file-exists"): "File {path} already exists",
    ("rename", "file-exists"): "The destination {new_path} already exists",
    (
        "str_replace",
        "text-not-found",
    ): "No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.",
    ("str_replace", "text-ambiguous"): (
        "No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines:"
        " {numbers}. Please ensure it is unique"
    ),
    (
        "insert",
        "bad-line",
    ): "Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {last}].",
}


def _done_text(command: Command) -> str:
    """The answer to a command that changed something."""
    return secrets.redact(_DONE[command.name].format(**command.values))


def proposed_text(command: Command, proposal: str) -> str:
    """The answer to a command that only proposed a change."""
    text = (
        f"Proposed as {proposal}: {command.path} is unchanged until a person accepts this"
        f" ({errors.verb('proposals')} {errors.shell_word(proposal)})."
    )
    return secrets.redact(_in_commands(text))


def _replaced_text(excerpt: Iterable[tuple[int, str]]) -> str:
    """The answer to `str_replace`: the lines around the change."""
    shown = "\n".join(_numbered(number, line) for number, line in excerpt)
    return (
        "The memory file has been edited. Here is the snippet showing the change (with line"
        f" numbers):\n{secrets.redact(shown)}"
    )


def file_text(path: str, text: str, lines: tuple[int, int] | None) -> str:
    """The lines of a file with their numbers, or some of them; secrets are not shown."""
    shown, start = _without_secrets(text).split("\n"), 0
    if lines is not None:
        first, last = lines
        start = max(1, first) - 1
        shown = shown[start : len(shown) if last == -1 else last]
    numbered = "\n".join(_numbered(number, line) for number, line in enumerate(shown, start + 1))
    return f"Here's the content of {path} with line numbers:\n{numbered}"


def _folder_text(path: str, size: int, entries: Iterable[tuple[int, str]]) -> str:
    """The content of a folder: sizes and paths, those of folders with a slash at the end."""
    header = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    )
    rows = [f"{_size(size)}\t{path}", *(f"{_size(each)}\t{path}/{name}" for each, name in entries)]
    return secrets.redact("\n".join((header, *rows)))


def failure_text(command: Command | None, failure: Mapping[str, Any]) -> str:
    """A failure (the object of `errors`) in one line: the reference's words where it has some."""
    text = failure.get("reference")
    if (
        text is None
        and command is not None
        and (template := _FAILED.get((command.name, failure["error"])))
    ):
        numbers = ", ".join(map(str, failure.get("lines", ())))
        text = template.format(**command.values, numbers=numbers, last=failure.get("last"))
    if text is None:
        hint = f" {failure['hint']}" if failure["hint"] else ""
        text = _IN_FOLDER.sub(f"{ROOT}/", f"{failure['error']}: {failure['message']}.{hint}")
    return secrets.redact(str(text))


def _in_commands(text: str) -> str:
    """A message of the core with verbs as typed on the command line."""
    return errors.translate(text, lambda field: _FIELDS.get(field, field), errors.command)


def _without_secrets(text: str) -> str:
    # keeps the number of lines
    lines = text.split("\n")
    for secret in reversed(secrets.find(text)):
        first = text.count("\n", 0, secret.start)
        inside = text.count("\n", secret.start, secret.end)
        whole = secrets.redact("\n".join(lines[first : first + inside + 1]))
        lines[first : first + inside + 1] = [whole, *[""] * (inside - whole.count("\n"))]
    return "\n".join(lines)


def _numbered(number: int, line: str) -> str:
    return f"{number:>{_NUMBER_WIDTH}}\t{line}"


def _size(size: int) -> str:
    """A number of bytes as the reference writes it: 0B, 512B, 1.5K."""
    power = min((size.bit_length() - 1) // 10, len(_UNITS) - 1) if size else 0
    shown = size / _STEP**power
    return f"{int(shown)}{_UNITS[power]}" if shown == int(shown) else f"{shown:.1f}{_UNITS[power]}"


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
        command = _parse_command(read_command())
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

    outcome = attempt(work, _in_commands)
    if isinstance(outcome, str):
        return ToolAnswer(outcome)
    return ToolAnswer(failure_text(command, outcome), outcome["error"])


def _path(memory: Memory, path: str) -> str:
    workspace = memory.workspace
    return _workspace_path(
        path, workspace.curated, (each.name for each in workspace.root.iterdir())
    )


def _view(memory: Memory, command: Command, actor: str | None) -> str:
    path = _path(memory, command.path)
    if path == FOLDER:
        return _view_root(memory, command, actor)
    view = memory.look(path, actor)
    if isinstance(view, str):
        return file_text(command.path, view, command.values["view_range"])
    return _folder_text(command.path, view.size, _rows(view))


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
    return _folder_text(
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
        return proposed_text(command, result.proposal)
    return _replaced_text(result.excerpt) if command.name == "str_replace" else _done_text(command)


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
