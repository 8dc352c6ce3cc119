"""The merge driver in git's settings, the attributes that name it, and whether it runs. See gitattributes(5), "Defining a custom merge driver"."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mdmem.errors import RepositoryProblem
from mdmem.model import FilePath
from mdmem.repo.process import TimeUpError, converse
from mdmem.repo.runner import environment
from mdmem.repo.worktree import Repository
from mdmem.startup import late

DRIVER_NAME = "mdmem"
"""The name of the driver in settings and attributes."""
_SECTION = f"merge.{DRIVER_NAME}"
_DESCRIPTION = "memory files by section and fact (mdmem)"
_WORDS = ("-P", "-m", "mdmem", "merge-driver", "%O", "%A", "%B", "%P")
_PLACEHOLDER = late.pattern(r"%([OABP%])")
_TRIAL_SECONDS = 30.0
_TRIAL = {"O": "- a line\n", "A": "- a line\n", "B": "- a line\n- one more\n"}
"""Three texts that any driver merges: only theirs was changed."""


def command_line(python: str) -> str:
    """The driver's command line in git's settings: git replaces `%O` and its like, and gives it to a shell. -P: nothing is imported from the work tree."""
    return " ".join((shlex.quote(python).replace("%", "%%"), *_WORDS))


def driver_command(repository: Repository) -> str | None:
    """The command line that git runs for the driver; None where no settings define it."""
    return repository.setting(f"{_SECTION}.driver")


def may_be_tried(repository: Repository, command: str) -> bool:
    """True if a driver's command line is the user's own.

    It is one of mdmem's, or set outside of the repository: settings of a repository may come from a
    stranger, and so may programs in its folders.
    """
    program = _program(command)
    if program is not None:
        folder = program.parent.resolve()
        theirs = (repository.root, repository.common_dir)
        return str(program) == sys.executable or not any(map(folder.is_relative_to, theirs))
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
    """The attribute `merge` of files of the workspace, by all files of attributes; `unspecified` where none gives it."""
    text = b"\0".join(map(os.fsencode, paths))
    fields = repository.git("check-attr", "--stdin", "-z", "merge", text=text).split(b"\0")
    return {FilePath(os.fsdecode(path)): value.decode() for path, value in zip(fields[::3], fields[2::3], strict=False)}


def runs(command: str) -> bool:
    """True if a command line merges three texts as git would have it do."""
    with tempfile.TemporaryDirectory(prefix="mdmem-") as folder:
        for name, text in _TRIAL.items():
            Path(folder, name).write_bytes(text.encode())
        names = {name: name for name in _TRIAL} | {"P": "MEMORY.md", "%": "%"}
        line = _PLACEHOLDER.sub(lambda match: names[match[1]], command)
        try:
            status, _, _ = converse(["sh", "-c", 'cd "$1" && eval "$2"', "sh", folder, line], environment(), b"", _TRIAL_SECONDS)
        except TimeUpError:
            return False
        except OSError as problem:
            raise RepositoryProblem("git-failed", f"no shell can be started: {problem.strerror}") from problem
        return status == 0 and Path(folder, "A").read_bytes() == _TRIAL["B"].encode()
