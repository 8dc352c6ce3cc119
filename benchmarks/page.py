"""Measure the pages of the web page, in process: CPU of the first one, and of those that follow.

    python benchmarks/page.py [--entries 50000] [--calls 40] [--workspace DIR]

Each page is asked for once before it is counted; shown are the median and what 95 of 100 take at
most, in milliseconds of CPU of this process and its children, and what the page weighs. 50,000
entries are 10,000 sections; their newest days are commits of their own. `--workspace` measures a
copy of a memory that is there.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from statistics import median, quantiles

from commands import environment
from made_memory import make

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

NEWEST = date(2026, 2, 28)
COMMITTED_DAYS = 120
QUERIES = ("dinner budget", "decide garden", "deploy database", "name of the boat", "Monday")


def cpu() -> float:
    """Milliseconds of CPU so far, those of ended children too."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (time.process_time() + children.ru_utime + children.ru_stime)


def commit(folder: Path, values: dict[str, str], day: date) -> None:
    """Commit everything at noon of a day."""
    moment = f"{day}T12:00:00+00:00"
    dated = values | {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    for words in (
        ["add", "-A"],
        ["commit", "-q", "--no-verify", "--allow-empty", "-m", f"log of {day}"],
    ):
        subprocess.run(["git", *words], cwd=folder, env=dated, check=True)


def made(folder: Path, count: int, values: dict[str, str]) -> None:
    """A workspace whose past is one commit; the newest days are commits of their own."""
    make(folder, count)
    days = [NEWEST - timedelta(days=number) for number in reversed(range(COMMITTED_DAYS))]
    logs = {day: folder / f"memory/{day}.md" for day in days}
    texts = {day: log.read_text() for day, log in logs.items() if log.exists()}
    for day in texts:
        logs[day].unlink()
    mdmem = [sys.executable, "-m", "mdmem", "-C", str(folder)]
    before = values | {"MDMEM_NOW": f"{days[0] - timedelta(days=1)}T12:00:00+00:00"}
    subprocess.run([*mdmem, "init"], env=before, check=True, capture_output=True)
    commit(folder, values, days[0])
    for day, text in texts.items():
        logs[day].write_text(text)
        commit(folder, values, day)
    subprocess.run([*mdmem, "reindex"], env=values, check=True, capture_output=True)


def addresses(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The pages by name, and the addresses that are asked for in turn."""
    from mdmem.memory import Memory
    from mdmem.model.reads import Show
    from mdmem.model.searches import ListFacts
    from mdmem.page.pages import Links

    memory, link = Memory.open(folder, os.environ), Links()
    curated = memory.workspace.curated
    sections = memory.outline(curated).sections[1:6]
    facts = memory.facts(ListFacts(limit=5)).facts
    days = [NEWEST - timedelta(days=number) for number in range(5)]
    assert memory.show(Show(file=curated))
    yield "search", [link.search(q=words) for words in QUERIES]
    yield "today", [link.today()]
    yield "section", [link.section(curated, row.section) for row in sections]
    yield "fact", [link.fact(hit.fact) for hit in facts if hit.fact]
    yield "day", [link.day(day) for day in days]
    yield "review", [link.review()]
    yield "timeline", [link.days()]
    yield "trends", [link.trends()]
    yield "files", [link.files()]
    yield "file", [link.file(f"memory/{day}.md") for day in days]
    yield "health", [link.health()]
    memory.close()


def measure(folder: Path, calls: int) -> None:
    """Print a row for each page."""
    from page_driver import ask

    from mdmem.memory import Memory
    from mdmem.page.app import build_app
    from mdmem.page.pages import Links, Reader

    app = build_app(Reader(Memory.open(folder, os.environ), Links(), "token"))
    begun = cpu()
    first = ask(app, "GET", "/")
    print(f"{'first page':<12}{cpu() - begun:8.1f}{'':8}{len(first.text):10,} characters")
    for name, pages in addresses(folder):
        times = []
        for number in range(calls + len(pages)):
            begun = cpu()
            answer = ask(app, "GET", pages[number % len(pages)])
            times.append(cpu() - begun)
            assert answer.status == 200, (name, pages[number % len(pages)], answer.text)
        times = times[len(pages) :]
        print(
            f"{name:<12}{median(times):8.1f}{quantiles(times, n=20)[18]:8.1f}"
            f"{len(answer.text):10,} characters",
            flush=True,
        )


def main() -> None:
    """Make or copy a workspace, and measure it in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=50_000)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure, chosen.calls)
        return
    with tempfile.TemporaryDirectory() as name:
        values = environment(Path(name, "home")) | {"MDMEM_NOW": f"{NEWEST}T18:00:00+00:00"}
        folder = Path(name, "notes")
        if chosen.workspace:
            shutil.copytree(chosen.workspace, folder, symlinks=True)
        else:
            made(folder, chosen.entries, values)
        print(f"{'':12}{'median':>8}{'p95':>8}")
        words = ["--measure", str(folder), "--calls", str(chosen.calls)]
        subprocess.run([sys.executable, __file__, *words], env=values, check=True)


if __name__ == "__main__":
    main()
