"""Measure calls on a memory that is held open, as a server does: searches, searches after a save,
edits, histories, answers that pages show, and the memory taken.

    python benchmarks/warm.py [--entries 5000 50000] [--calls 2000] [--workspace DIR]

An edit is beside a durable `git commit` of the same file, the two in turn (`x` is the ratio of
their medians); searches and histories are in milliseconds: the median, and what 99 of 100 take at
most. Each part runs in a process of its own, the first search of which is not counted.
`--workspace` measures a copy of a memory that is there.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from commands import DURABLE, append_and, environment, shell
from made_memory import make

from mdmem.memory import Memory
from mdmem.model.history import ShowHistory, ShowTrends
from mdmem.model.reads import ListFiles
from mdmem.model.searches import Search
from mdmem.model.writes import Action, EditSection

QUERIES = (
    "dinner budget",
    "what did we decide about the garden",
    "deploy database",
    "the name of the boat",
    "meeting on Monday",
)
WARMING_CALLS = 20
SAVES, EDITS, HISTORIES = 100, 30, 100


def timed(action: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    begun = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begun)


def processor_time(action: Callable[[], object]) -> float:
    """Milliseconds of this process for one call."""
    begun = time.process_time()
    action()
    return 1000 * (time.process_time() - begun)


def show(name: str, times: list[float], note: str = "") -> None:
    """Print a row."""
    print(f"{name:<44}{median(times):8.2f}{quantiles(times, n=100)[98]:8.2f}  {note}", flush=True)


def opened(folder: Path) -> Memory:
    """A memory after its first calls."""
    memory = Memory.open(folder, os.environ)
    for number in range(WARMING_CALLS):
        memory.search(Search(QUERIES[number % len(QUERIES)]))
    return memory


def resident() -> float:
    """MiB of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def searches(folder: Path, calls: int) -> None:
    """Nothing changes between them."""
    memory = opened(folder)
    times = [
        timed(lambda number=number: memory.search(Search(QUERIES[number % len(QUERIES)])))
        for number in range(calls)
    ]
    show(
        "search",
        times,
        f"{resident():.0f} MiB after {calls} calls" if sys.platform == "linux" else "",
    )


def saves(folder: Path, calls: int) -> None:
    """A log is saved by hand before each."""
    memory = opened(folder)
    log = sorted((folder / "memory").glob("*.md"))[0]
    before, times = log.read_bytes(), []
    for number in range(min(calls, SAVES)):
        log.write_bytes(before + f"\n- zorblax{number}\n".encode())
        begun = time.perf_counter()
        hits = memory.search(Search(f"zorblax{number}")).hits
        times.append(1000 * (time.perf_counter() - begun))
        if not any(f"zorblax{number}" in hit.text for hit in hits):
            raise SystemExit(f"save {number} was not found")
    log.write_bytes(before)
    show("search, a file just saved by hand", times)


def edits(folder: Path, calls: int) -> None:
    """In turn with durable commits in a repository of the same files."""
    memory = opened(folder)
    plain = folder.with_name("plain")
    heading = next(
        line[3:]
        for line in (folder / "MEMORY.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    )
    ours, theirs = [], []
    for number in range(min(calls, EDITS) + 2):
        commit = append_and(plain, "MEMORY.md", DURABLE)
        theirs.append(timed(lambda commit=commit: subprocess.run(commit, check=True)))
        edit = EditSection(heading, Action.BODY, f"- edit {number} {time.time_ns()}")
        ours.append(timed(lambda edit=edit: memory.apply(edit)))
    show("durable git commit", theirs[2:])
    show("edit", ours[2:], f"x {median(ours[2:]) / median(theirs[2:]):.2f}")
    times = [
        timed(lambda: memory.history(ShowHistory(heading, limit=20)))
        for _ in range(min(calls, HISTORIES))
    ]
    show("history, newest 20", times)


def answers(folder: Path, calls: int) -> None:
    """Those that pages show: the first, in processor time, and the others."""
    memory = opened(folder)
    asked: dict[str, Callable[[], object]] = {
        "trends, 42 days": lambda: memory.trends(ShowTrends()),
        "files, 12 of them": lambda: memory.files(ListFiles(limit=12)),
        "proposals": memory.proposals.standing,
        "contradictions": memory.conflicts,
        "unsaved files": memory.unsaved,
        "status": memory.status,
    }
    for name, ask in asked.items():
        first = processor_time(ask)
        show(f"{name}, again", [processor_time(ask) for _ in range(calls)], f"first {first:.1f}")


PARTS = {part.__name__: part for part in (searches, saves, edits, answers)}


def measure(folder: Path, calls: int, own: dict[str, str]) -> None:
    """All parts, on a folder of memory that may be written."""
    plain = folder.with_name("plain")
    shutil.copytree(folder, plain)
    subprocess.run(shell(plain, "git config core.hooksPath /dev/null"), env=own, check=True)
    for copied in (folder, plain):
        subprocess.run(shell(copied, "git update-index -q --refresh"), env=own, check=True)
    subprocess.run(
        shell(
            folder, f"{sys.executable} -m mdmem init . && {sys.executable} -m mdmem reindex --full"
        ),
        env=own,
        check=True,
    )
    print(f"{'':<44}{'p50 ms':>8}{'p99 ms':>8}")
    for name in PARTS:
        command = [
            sys.executable,
            __file__,
            "--part",
            name,
            "--calls",
            str(calls),
            "--workspace",
            str(folder),
        ]
        subprocess.run(command, env=own, check=True)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        PARTS[args.part](args.workspace, args.calls)
        return
    for entries in [None] if args.workspace else args.entries:
        with tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True
        ) as temporary:  # a catch-up may still write there
            top = Path(temporary)
            own, folder = environment(top / "home"), top / "ours"
            if entries is None:
                shutil.copytree(args.workspace, folder)
                shutil.rmtree(folder / ".git" / "mdmem", ignore_errors=True)
            else:
                make(folder, entries)
                subprocess.run(
                    shell(folder, "git init -q && git add -A && git commit -q -m memory"),
                    env=own,
                    check=True,
                )
                print(f"\n{entries} entries")
            measure(folder, args.calls, own)


if __name__ == "__main__":
    main()
