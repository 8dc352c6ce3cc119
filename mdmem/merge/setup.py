"""Have git merge memory files with mdmem: a driver in git's settings, attributes that name it.

Attributes are in `.git/info/attributes`, which nobody else gets, or in a committed
`.gitattributes`. In either, a workspace's lines are in one piece below mdmem's comment; all other
lines are other people's, and stay.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mdmem.folder import files, layout
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import RepositoryProblem
from mdmem.repo.runner import TimeUpError, converse, environment
from mdmem.repo.worktree import Repository
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import split_lines
from mdmem.workspace import Workspace

DRIVER_NAME = "mdmem"
_SECTION = f"merge.{DRIVER_NAME}"
_DESCRIPTION = "memory files by section and fact (mdmem)"
_WORDS = ("-P", "-m", "mdmem", "merge-driver", "%O", "%A", "%B", "%P")
_PLACEHOLDER = late.pattern(r"%([OABP%])")
_TRIAL_SECONDS = 30.0
_TRIAL = {"O": "- a line\n", "A": "- a line\n", "B": "- a line\n- one more\n"}
"""Three texts that any driver merges: only theirs was changed."""
SHARED_PATH = FilePath(".gitattributes")
"""The file of attributes that every clone gets, in the workspace's own folder."""
_NAMES_DRIVER = f" merge={DRIVER_NAME} diff=markdown"
_NAMES_NONE = " !merge !diff"
_COMMENT = "# mdmem: memory files in {} are merged by section and fact"
_ANY_COMMENT = late.pattern(r"(?m)^# mdmem: memory files in .+ are merged by section and fact\r?$")
_ESCAPED = late.pattern(r"[\\*?\[]")
_NEEDS_QUOTES = late.pattern(r'[\s"\\\x00-\x1f]')


def command_line(python: str) -> str:
    """The driver's command line, a shell's, with `%O` and its like; -P: no imports from here."""
    return " ".join((shlex.quote(python).replace("%", "%%"), *_WORDS))


def driver_command(repository: Repository) -> str | None:
    """The command line that git runs for the driver; None where no settings define it."""
    return repository.setting(f"{_SECTION}.driver")


def _works(repository: Repository, command: str) -> bool:
    """True if a driver's command line starts the Python of this process, or passes a trial."""
    program = _program(command)
    return str(program) == sys.executable or (
        _may_try(repository, command, program) and runs(command)
    )


def _may_try(repository: Repository, command: str, program: Path | None) -> bool:
    """True if a driver's command line is mdmem's, or set outside of the repository.

    Settings of a repository may come from a stranger, and so may programs in its folders.
    """
    if program is not None:
        folder = program.parent.resolve()
        theirs = (repository.root, repository.common_dir)
        return not any(map(folder.is_relative_to, theirs))
    scope = repository.git("config", "--show-scope", "--get", f"{_SECTION}.driver")
    return not scope.startswith((b"local", b"worktree"))


def _program(command: str) -> Path | None:
    """The program of a command line that `command_line` could have made; None for any other."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    program = words[0].replace("%%", "%") if words else ""
    is_ours = Path(program).is_absolute() and command == command_line(program)
    return Path(program) if is_ours else None


def set_driver(repository: Repository, command: str) -> None:
    """Define the driver in the repository's own settings, for all of its work trees."""
    repository.git("config", "--local", "--replace-all", f"{_SECTION}.name", _DESCRIPTION)
    repository.git("config", "--local", "--replace-all", f"{_SECTION}.driver", command)


def remove_driver(repository: Repository) -> bool:
    """Take the driver out of the repository's own settings; False where it is not there."""
    return repository.run("config", "--local", "--remove-section", _SECTION).status == 0


def attributes_file(repository: Repository) -> Path:
    """The file of attributes that no commit has, one for all work trees."""
    name = repository.git("rev-parse", "--git-path", "info/attributes").removesuffix(b"\n")
    return repository.folder / os.fsdecode(name)


def merge_attributes(repository: Repository, paths: Sequence[FilePath]) -> dict[FilePath, str]:
    """The attribute `merge` of files of the workspace; `unspecified` where none gives it."""
    text = b"\0".join(map(os.fsencode, paths))
    fields = repository.git("check-attr", "--stdin", "-z", "merge", text=text).split(b"\0")
    return {
        FilePath(os.fsdecode(path)): value.decode()
        for path, value in zip(fields[::3], fields[2::3], strict=False)
    }


def runs(command: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="mdmem-") as folder:
        for name, text in _TRIAL.items():
            Path(folder, name).write_bytes(text.encode())
        names = {name: name for name in _TRIAL} | {"P": "MEMORY.md", "%": "%"}
        line = _PLACEHOLDER.sub(lambda match: names[match[1]], command)
        try:
            status, _, _ = converse(
                ["sh", "-c", 'cd "$1" && eval "$2"', "sh", folder, line],
                environment(),
                b"",
                _TRIAL_SECONDS,
            )
        except TimeUpError:
            return False
        except OSError as problem:
            raise RepositoryProblem(
                "git-failed", f"no shell can be started: {problem.strerror}"
            ) from problem
        return status == 0 and Path(folder, "A").read_bytes() == _TRIAL["B"].encode()


@dataclass(frozen=True, slots=True)
class MergeSetup:
    """The state of git as far as it merges the memory files of a workspace.

    `named`: attributes name the driver for any file, `complete`: for all that may come; `elsewhere`
    are files with another value. `command` is the driver in the settings; `works`: it merges.
    """

    named: bool
    complete: bool
    elsewhere: tuple[tuple[FilePath, str], ...]
    command: str | None
    works: bool

    @property
    def state(self) -> str:
        """`installed`, `missing`, or `broken` where the driver's program does not exist."""
        if self.command is not None and not self.works:
            return "broken"
        return "missing" if self.command is None or not self.complete else "installed"


def inspect(workspace: Workspace) -> MergeSetup:
    """Tell how git is set up; the driver is tried, where it is not a stranger's."""
    command = driver_command(workspace.repository)
    values = merge_attributes(workspace.repository, _merged_paths(workspace))
    elsewhere = tuple((path, value) for path, value in values.items() if value != DRIVER_NAME)
    return MergeSetup(
        named=len(elsewhere) < len(values),
        complete=not elsewhere or _is_listed(workspace),
        elsewhere=elsewhere,
        command=command,
        works=command is not None and _works(workspace.repository, command),
    )


def install(workspace: Workspace, python: str) -> tuple[str, ...]:
    """Set git up, and return what was written: `settings`, `attributes`; may be repeated.

    A working driver stays; attributes that others gave need no lines of mdmem's. Raises MdmemError
    (the settings or the attributes cannot be written).
    """
    repository, setup = workspace.repository, inspect(workspace)
    written = []
    if not setup.works:
        set_driver(repository, command_line(python))
        written.append("settings")
    if not setup.complete:
        lines = _lines(workspace, repository.prefix)
        _edit_attributes(
            attributes_file(repository), lambda text: with_lines(text, repository.prefix, lines)
        )
        written.append("attributes")
    return tuple(written)


def uninstall(workspace: Workspace) -> bool:
    """Remove a workspace's own lines, and the driver with the last ones; False: nothing there."""
    changed = drop_own_lines(workspace)
    if _ANY_COMMENT.search(_read(attributes_file(workspace.repository))):
        return changed
    return remove_driver(workspace.repository) or changed


def shared_text(workspace: Workspace) -> str:
    return with_lines(_read(workspace.root / SHARED_PATH), "", _lines(workspace, ""))


def drop_own_lines(workspace: Workspace) -> bool:
    return _edit_attributes(
        attributes_file(workspace.repository),
        lambda text: with_lines(text, workspace.repository.prefix, ()),
    )


# The lines.


def with_lines(text: str, prefix: str, lines: tuple[str, ...]) -> str:
    """Attributes with these lines for the workspace at `prefix`: in place of its own, or last."""
    comment = _COMMENT.format(_quoted(f"/{prefix}"))
    old = split_lines(text)
    start = next(
        (number for number, line in enumerate(old) if line.rstrip("\r\n") == comment), None
    )
    new = [f"{line}\n" for line in (comment, *lines)] if lines else []
    if start is None:
        end_of_line = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{end_of_line}{''.join(new)}" if new else text
    end = start + 1
    while end < len(old) and old[end].rstrip("\r\n").endswith((_NAMES_DRIVER, _NAMES_NONE)):
        end += 1
    return "".join([*old[:start], *new, *old[end:]])


def _lines(workspace: Workspace, prefix: str) -> tuple[str, ...]:
    start = "/" + _ESCAPED.sub(r"\\\g<0>", prefix)
    named = [
        f"{_quoted(start + pattern)}{_NAMES_DRIVER}"
        for pattern in dict.fromkeys(_patterns(workspace))
    ]
    read_only = [
        path.rstrip("/") for path in workspace.settings.extra_paths if not layout.is_outside(path)
    ]
    patterns = [
        _ESCAPED.sub(r"\\\g<0>", path) + ("" if layout.is_markdown(path) else "/**")
        for path in read_only
    ]
    return (*named, *(f"{_quoted(start + pattern)}{_NAMES_NONE}" for pattern in patterns))


def _patterns(workspace: Workspace) -> Iterator[str]:
    yield from layout.CURATED_NAMES
    yield from layout.PROFILE_NAMES
    yield "memory/**/*.md"
    if workspace.root.name == "memory":
        yield "*.md"
    globs = [layout.log_glob(workspace.settings.daily)] if workspace.settings.daily else []
    for glob in map(layout.whole_glob, (*globs, *workspace.settings.paths)):
        yield (
            glob
            if layout.is_markdown(glob)
            else f"{glob}/*.md"
            if glob.endswith("**")
            else f"{glob}.md"
        )


def _quoted(pattern: str) -> str:
    if not _NEEDS_QUOTES.search(pattern):
        return pattern
    escapes = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return (
        '"'
        + "".join(
            escapes.get(c) or (f"\\{c}" if c in '"\\' else f"\\{ord(c):03o}" if c < " " else c)
            for c in pattern
        )
        + '"'
    )


def _is_listed(workspace: Workspace) -> bool:
    prefix = workspace.repository.prefix
    own, shared = _read(attributes_file(workspace.repository)), _read(workspace.root / SHARED_PATH)
    return own == with_lines(own, prefix, _lines(workspace, prefix)) or shared == with_lines(
        shared, "", _lines(workspace, "")
    )


def _merged_paths(workspace: Workspace) -> list[FilePath]:
    settings = workspace.settings
    listed = [
        workspace.curated,
        workspace.log_path(workspace.now().date()),
        *workspace.memory_files(),
    ]
    return [
        path
        for path in dict.fromkeys(listed)
        if not layout.is_outside(path)
        and not layout.within(path, settings.extra_paths)
        and workspace.kind_of(path) is not FileKind.BOOTSTRAP
    ]


# The files.


def _read(path: Path) -> str:
    return (files.read(path) or b"").decode("utf-8", "surrogateescape")


def _edit_attributes(path: Path, change: Callable[[str], str]) -> bool:
    """Change a file of attributes, or remove it if empty; False where nothing changes."""
    before = files.read(path)
    text = change((before or b"").decode("utf-8", "surrogateescape"))
    data = text.encode("utf-8", "surrogateescape")
    if data == (before or b""):
        return False
    if not data:
        files.remove(path)
        return True
    files.make_folders(path.parent)
    if not files.replace(path, data, before, files.temporary_name()):
        raise RepositoryProblem("busy", f"{path} was changed meanwhile", "Try again.")
    return True
