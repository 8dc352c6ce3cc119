"""Measure the first hour: from sessions that nobody has read to the block of the next session.

    python benchmarks/first_hour.py [--sessions 30] [--bytes 500000]

The sessions are those of made_transcripts, one a day up to yesterday, with three plain statements
in each, none of them twice. Nothing is installed on the machine: scripts take the place of systemd
and cron.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from commands import environment
from made_memory import Language
from made_transcripts import PROJECT, Talk, claude, message_of

MDMEM = str(Path(sys.executable).with_name("mdmem"))
STATEMENTS = (
    "We decided to keep the {} in {}, because {} was too slow.",
    "The {} server of {} runs on port {}.",
    "I prefer {} over {} for {}.",
)
QUESTIONS = (
    "can you look at {} and {}?", "why does {} fail after {}?", "what does {} do in {}?",
)  # fmt: skip
_SHORT = 5
SUBJECTS = ("keep the {}", "The {} server", "{} over")
"""Searches in memory afterwards."""


def make(home: Path, count: int, size: int) -> list[str]:
    """Write the sessions; return words of each statement."""
    folder = home / ".claude/projects" / PROJECT.replace("/", "-")
    folder.mkdir(parents=True)
    talk = Talk(5, QUESTIONS)
    words = (word for word in dict.fromkeys(Language(6).say(40_000)) if len(word) > _SHORT)
    said = []
    for number in range(count):
        begun = datetime.now(UTC) - timedelta(days=count - number)
        session = f"{number:08x}-0000-4000-8000-{number:012}"
        data = b"".join(claude(talk, session, begun, size))
        for statement, subject in zip(STATEMENTS, SUBJECTS, strict=True):
            filled = [next(words) for _ in range(3)]
            begun += timedelta(minutes=1)
            data += message_of(session, begun, statement.format(*filled))
            said.append(subject.format(filled[0]))
        path = folder / f"{session}.jsonl"
        path.write_bytes(data)
        os.utime(path, (begun.timestamp(), begun.timestamp()))
    return said


def with_stand_ins(home: Path, variables: dict[str, str]) -> dict[str, str]:
    """The same environment, with programs for timers that do nothing."""
    (home / "bin").mkdir()
    for name in ("systemctl", "crontab"):
        (home / "bin" / name).write_text("#!/bin/sh\n")
        (home / "bin" / name).chmod(0o755)
    return variables | {"PATH": f"{home / 'bin'}:{variables['PATH']}", "MDMEM_SERVER": "off"}


def main() -> None:
    """Make the sessions, set up, and print what it took and what the next session is told."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--bytes", type=int, default=500_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mdmem-", ignore_cleanup_errors=True) as place:
        home = Path(place) / "home"
        variables = with_stand_ins(home, environment(home))
        said = make(home, asked.sessions, asked.bytes)
        begun = time.perf_counter()
        done = subprocess.run(
            [MDMEM, "setup", "--yes"], cwd=home, env=variables, capture_output=True, check=True
        )
        wall, used = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        block = done.stdout.decode().partition("</mdmem-context>")[0]
        memory = (home / "notes/MEMORY.md").read_text()
        print(f"commands 1, files edited by hand 0, sessions {asked.sessions}")
        print(f"{used.ru_utime + used.ru_stime:.1f} s cpu, {wall:.1f} s")
        print(f"{used.ru_maxrss / 1024:.0f} MB at most in a process")
        kept = [sum(words in text for words in said) for text in (memory, block)]
        print(f"of {len(said)} statements in MEMORY.md {kept[0]}, in the block {kept[1]}")


if __name__ == "__main__":
    main()
