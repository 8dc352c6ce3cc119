"""The shell sessions in the documentation, run for real: `make docs` writes down what they print, a test holds that it is current.

A block that is marked `sh-session` is one; lines that begin with `$ ` are commands for sh, the lines below are what they print, on
standard output and standard error alike. The sessions of a page are one session: they share a folder that is empty at first, in the home
of a person called Ada, where it is always the same morning. So ids are always the same too, those of commits included. One thing is
rewritten: the folder in which it all happens is shown as /home/ada.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = tuple(Path(__file__).parents[1] / name for name in ("README.md", "docs/file-format.md"))
NOW = "2026-03-05T09:30:00+00:00"
_HOME = "/home/ada"
_FOLDER = "notes"
_BLOCK = re.compile(r"(?<=^```sh-session\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
_GIT_SETTINGS = "[user]\n\tname = Ada Example\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"


def sealed(home: Path) -> dict[str, str]:
    """An environment in which neither the machine's settings nor the person's count."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TMPDIR") if name in os.environ}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": NOW,
        "GIT_COMMITTER_DATE": NOW,
        "MDMEM_NOW": NOW,
    }


def replayed(text: str, home: Path) -> str:
    """A page with what its commands print now."""
    (home / _FOLDER).mkdir(parents=True)
    (home / ".gitconfig").write_text(_GIT_SETTINGS)
    return _BLOCK.sub(lambda block: "".join(_run(command, home) for command in commands(block[0])), text)


def commands(block: str) -> list[str]:
    """The commands of a block; one goes on over lines that end with a backslash, or up to the end of its here-document."""
    found: list[str] = []
    ends = ""
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(line.removeprefix("$ "))
            ends = found[-1].partition("<<'")[2].partition("'")[0]
        elif found and (ends or found[-1].endswith("\\")):
            found[-1] += f"\n{line}"
            ends = "" if line == ends else ends
    return found


def _run(command: str, home: Path) -> str:
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=home / _FOLDER,
        env=sealed(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    printed = done.stdout.replace(str(home), _HOME)
    return f"$ {command}\n{printed}"


if __name__ == "__main__":
    for page in PAGES:
        with tempfile.TemporaryDirectory(prefix="mdmem-", ignore_cleanup_errors=True) as folder:
            page.write_text(replayed(page.read_text(encoding="utf-8"), Path(folder).resolve() / "home"), encoding="utf-8")
