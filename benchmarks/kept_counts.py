"""Measure that what prints little costs little, however large memory is and however long its past.

    python benchmarks/kept_counts.py [--entries 4465 45305 450331] [--commits 20000] [--runs 5]

Processor time (children included) and peak memory of each command: the least of some runs, after
one that is not counted. The first row of each table is the floor, a command that opens memory and
prints one file's headings. Growth is (unit + last size above the floor) / (unit + first), the unit
four times a bare start of Python: a difference near nothing divided by another says nothing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from commands import MDMEM, environment
from made_memory import make

SECONDS = 4320
"""Between two commits: twenty a day."""
READS = {
    "outline": ["outline", "memory/2026-02-28.md"],
    "changes": ["changes"],
    "trends": ["stats", "trends"],
    "status": ["status"],
    "conflicts": ["conflicts"],
}


def cost(command: Sequence[str], own: Mapping[str, str], runs: int) -> tuple[float, float]:
    """Milliseconds of processor time, and MiB at the peak."""
    costs = []
    for _ in range(runs + 1):
        null = subprocess.DEVNULL
        process = subprocess.Popen(command, env=own, stdout=null, stderr=null)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
        costs.append((1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024))
    return min(costs[1:])


def add_commits(folder: Path, count: int, own: Mapping[str, str]) -> None:
    """So many commits, twenty a day, each of which replaces one of fifty values of MEMORY.md."""
    now = int(time.time())

    def stream() -> Iterator[str]:
        values = {f"value {n}": "begins" for n in range(50)}
        for number in range(count):
            values[f"value {number % 50}"] = f"is {number}"
            text = "# Memory\n\n## Values\n\n" + "".join(
                f"- {key}:: {value}\n" for key, value in values.items()
            )
            moment = now - (count - number) * SECONDS
            begin = "from refs/heads/main^0\n" if not number else ""
            yield (
                f"commit refs/heads/main\ncommitter Bench <bench@example.org> {moment} +0000\n"
                f"data 1\nx\n{begin}M 100644 inline MEMORY.md\ndata {len(text)}\n{text}\n"
            )

    git = ["git", "-C", str(folder)]
    importing = [*git, "fast-import", "--quiet"]
    with subprocess.Popen(importing, stdin=subprocess.PIPE, text=True, env=own) as process:
        assert process.stdin
        process.stdin.writelines(stream())  # not at once: a child counts what its parent has
    for words in (["reset", "-q", "--hard"], ["repack", "-adq"]):
        subprocess.run([*git, *words], env=own, check=True)


def main() -> None:
    """Make memories of each size, and one of many commits, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, nargs="+", default=[4_465, 45_305, 450_331])
    parser.add_argument("--commits", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        own = environment(top / "home")
        unit = 4 * cost([sys.executable, "-c", "pass"], own, asked.runs)[0]
        figures: dict[str, dict[str, tuple[float, float]]] = {}
        titles = [*(f"{count:,} entries" for count in asked.entries), f"{asked.commits:,} commits"]
        for title, count in zip(titles, [*asked.entries, asked.entries[0]], strict=True):
            folder = top / title.replace(" ", "-")
            make(folder, count)
            before = {
                "GIT_COMMITTER_DATE": f"{int(time.time()) - (asked.commits + 1) * SECONDS} +0000"
            }
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all of it"]):
                subprocess.run(["git", "-C", str(folder), *words], env=own | before, check=True)
            if title == titles[-1]:
                add_commits(folder, asked.commits, own)
            for words in (["init", str(folder)], ["-C", str(folder), "reindex"]):
                subprocess.run([*MDMEM, *words], env=own, check=True, stdout=subprocess.DEVNULL)
            command = [*MDMEM, "-C", str(folder)]
            figures[title] = {
                verb: cost([*command, *words], own, asked.runs) for verb, words in READS.items()
            }
        first, floor = figures[titles[0]], next(iter(READS))
        print(f"unit {unit:.0f} ms; ms of processor time, MiB, growth of both")
        for title in titles:
            print(title)
            for verb, (spent, memory) in figures[title].items():
                above = unit + spent - figures[title][floor][0]
                grown = above / (unit + first[verb][0] - first[floor][0])
                by_memory = memory / first[verb][1]
                print(f"  {verb:10}{spent:8.0f}{memory:8.0f}   x{grown:.2f}  x{by_memory:.2f}")


if __name__ == "__main__":
    main()
