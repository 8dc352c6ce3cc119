"""The shell sessions in the documentation, run for real: `make docs` writes down what they print, a
test holds that it is current.

A block that is marked `sh-session` is one; lines that begin with `$ ` are commands for sh, the
lines below are what they print, on standard output and standard error alike. The sessions of a page
are one session: they share a folder that is empty at first, in the home of a person called Ada,
where it is always the same machine and the same morning, until a comment with a day (`$ #
2026-04-01`) says that it is another, and always the same folder, until a `cd` leaves it. So ids are
always the same too, those of commits included. What a page names (`<!-- home: FOLDER -->`) is in
that home before. The folder in which it all happens is shown as /home/ada, and what a page masks
(`<!-- mask: REGEX -> TEXT -->`, such as a duration) as that text. Nothing else is rewritten.

The pages under tests/data/answers record what each command prints, as text and as JSON.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_CLIENTS = sorted((ROOT / "docs" / "clients").glob("*.md"))
PAGES = (
    ROOT / "README.md",
    ROOT / "docs/tour.md",
    ROOT / "docs/file-format.md",
    ROOT / "docs/machines.md",
    ROOT / "docs/obsidian.md",
    ROOT / "docs/fleet.md",
    ROOT / "docs/signing.md",
    *(page for page in _CLIENTS if "```sh-session" in page.read_text(encoding="utf-8")),
    *sorted((ROOT / "tests/data/answers").glob("*.md")),
)
NOW = "2026-03-05T09:30:00+00:00"
_HOME = "/home/ada"
_FOLDER = "notes"
_DAY = re.compile(r"# (\d{4}-\d{2}-\d{2})$")
_FOLDER_CHANGE = re.compile(r"cd (\S+)$")
_MASK = re.compile(r"^<!-- mask: (.+) -> (.+) -->$", re.MULTILINE)
_FILES = re.compile(r"^<!-- home: (.+) -->$", re.MULTILINE)
_BLOCK = re.compile(r"(?<=^```sh-session\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
_GIT_SETTINGS = (
    "[user]\n\tname = Ada Example\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
)

_PYTHON, _TEMPORARY = ".python", ".tmp"
_MACHINE = 'import platform\n\nplatform.node = lambda: "ada"\n'
"""Each Python of a session believes that it is on this machine."""
_SYSTEM = ("systemctl", "crontab", "claude")
"""Programs that do nothing there."""


@dataclass
class Session:
    """The folder and the day that a page's session has reached."""

    home: Path
    folder: Path
    printed: Callable[..., str]
    masks: Sequence[tuple[str, str]] = ()
    now: str = NOW

    def run(self, command: str) -> str:
        """A command of a page, and what it prints."""
        if day := _DAY.match(command):
            self.now = day[1] + NOW[len(day[1]) :]
            return f"$ {command}\n"
        if other := _FOLDER_CHANGE.match(command):
            self.folder = self.folder / other[1]
            return f"$ {command}\n"
        printed = self.printed(command, self).replace(str(self.home), _HOME)
        for masked, shown in self.masks:
            printed = re.sub(masked, shown, printed)
        return f"$ {command}\n{printed}"


def sealed(home: Path, now: str) -> dict[str, str]:
    """An environment in which neither the machine's settings nor the person's count."""
    return {
        "PATH": os.pathsep.join(
            [str(home / _PYTHON), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
        "MDMEM_SERVER": "off",
        "HOME": str(home),
        "TMPDIR": str(home / _TEMPORARY),  # where a server of this user would be found
        "PYTHONPATH": str(home / _PYTHON),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": now,
        "GIT_COMMITTER_DATE": now,
        "MDMEM_NOW": now,
    }


def printed_by_shell(command: str, session: Session) -> str:
    """The output of a command in a process of its own."""
    return subprocess.run(
        ["sh", "-c", command],
        cwd=session.folder,
        env=sealed(session.home, session.now),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=60,
        check=False,
    ).stdout


def replayed(
    text: str, home: Path, printed: Callable[[str, Session], str] = printed_by_shell
) -> str:
    """A page with what its commands print now."""
    (home / _FOLDER).mkdir(parents=True)
    (home / ".gitconfig").write_text(_GIT_SETTINGS)
    (home / _PYTHON).mkdir()
    (home / _TEMPORARY).mkdir()
    (home / _PYTHON / "sitecustomize.py").write_text(_MACHINE)
    for name in _SYSTEM:
        (home / _PYTHON / name).write_text("#!/bin/sh\n")
        (home / _PYTHON / name).chmod(0o755)
    for folder in _FILES.findall(text):
        # Their times are those of this run: what is old is offered by no setup.
        shutil.copytree(ROOT / folder, home, copy_function=shutil.copyfile, dirs_exist_ok=True)
    session = Session(home, home / _FOLDER, printed, _MASK.findall(text))
    return _BLOCK.sub(lambda block: "".join(map(session.run, commands(block[0]))), text)


def commands(block: str) -> list[str]:
    """The commands of a block; one goes on over lines that end with a backslash, or up to the end
    of its here-document.
    """
    typed: list[str] = []
    ends = ""
    for line in block.splitlines():
        if line.startswith("$ "):
            typed.append(line.removeprefix("$ "))
            ends = typed[-1].partition("<<'")[2].partition("'")[0]
        elif typed and (ends or typed[-1].endswith("\\")):
            typed[-1] += f"\n{line}"
            ends = "" if line == ends else ends
    return typed


if __name__ == "__main__":
    for page in PAGES:
        with tempfile.TemporaryDirectory(prefix="mdmem-", ignore_cleanup_errors=True) as folder:
            page.write_text(
                replayed(page.read_text(encoding="utf-8"), Path(folder).resolve() / "home"),
                encoding="utf-8",
            )
