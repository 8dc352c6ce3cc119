"""Measure the everyday commands, beside what a person would otherwise type, on memories that this
script makes.

    python benchmarks/commands.py [--entries 5000 50000] [--runs 15]

Each figure is the ratio of the median to that of a row above it, of runs taken in turn (A B C A B C
…), so it holds on a noisy machine too; milliseconds are printed beside it for comparison. The
floor of a write is a bare start of Python and a durable `git commit` of the file; of a read it is a
bare start of Python. `mdmem` is the command beside this Python, a new process each time.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from made_memory import make

from mdmem.folder.trust import HOST_MARKS

MDMEM = [str(Path(sys.executable).with_name("mdmem"))]
WORDS = "dinner budget"
DURABLE = "git -c core.fsync=committed,loose-object,reference,index commit -q -m m --"
Command = Callable[[], list[str]]


def environment(home: Path) -> dict[str, str]:
    """A home of its own, in which git knows a name and a person types."""
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Bench\n\temail = bench@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "MDMEM_", "XDG_")) and name not in HOST_MARKS
    }
    return kept | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_COLOR": "1",
        "TZ": "UTC",
        "MDMEM_SERVER": "off",
    }


def milliseconds(command: list[str], own: Mapping[str, str]) -> tuple[float, float]:
    """Wall and processor time of a command, child processes included."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{shlex.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return 1000 * (time.perf_counter() - begun), 1000 * (used.ru_utime + used.ru_stime)


def compare(title: str, rows: Mapping[str, Command], own: Mapping[str, str], runs: int) -> None:
    """Run each in turn, and print the medians beside the first row's."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for number in range(runs + 2):
        for name, command in rows.items():
            times = milliseconds(command(), own)
            if number >= 2:  # the first two warm the caches
                taken[name].append(times)
    print(f"\n{title:<52}{'ms':>8}{'cpu ms':>8}{'x':>7}")
    floor = median(wall for wall, _ in next(iter(taken.values())))
    for name, times in taken.items():
        wall, processor = (median(column) for column in zip(*times, strict=True))
        print(f"{name:<52}{wall:8.1f}{processor:8.1f}{wall / floor:7.2f}", flush=True)


def shell(folder: Path, words: str) -> list[str]:
    """A shell command in a folder."""
    return ["sh", "-c", f"cd {shlex.quote(str(folder))} && {words}"]


def append_and(folder: Path, path: str, words: str) -> list[str]:
    """A line more in a file, and then a command."""
    return shell(folder, f"echo '- one {time.time_ns()}' >> {path} && {words} {path}")


def measure(top: Path, entries: int, own: Mapping[str, str], runs: int) -> None:
    """All commands on a memory of so many entries."""
    plain, ours = top / "plain", top / "ours"
    for folder in (plain, ours):
        make(folder, entries)
        subprocess.run(
            shell(folder, "git init -q && git add -A && git commit -q -m memory"),
            env=own,
            check=True,
        )
    mdmem = [*MDMEM, "-C", str(ours)]
    subprocess.run([*MDMEM, "init", str(ours)], env=own, check=True, stdout=subprocess.DEVNULL)
    begun = time.perf_counter()
    subprocess.run([*mdmem, "reindex", "--full"], env=own, check=True, stdout=subprocess.DEVNULL)
    built = time.perf_counter() - begun
    logs = sorted((ours / "memory").glob("*.md"))
    sections = sum(
        path.read_text(encoding="utf-8").count("\n#") + 1 for path in (ours / "MEMORY.md", *logs)
    )
    heading = next(
        line[3:]
        for line in (ours / "MEMORY.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    )
    log = logs[0].relative_to(ours).as_posix()
    print(
        f"\n{entries} entries in {sections} sections of {len(logs) + 1} files; built in {built:.1f}"
        f" s ({sections / built:.0f} sections/s)"
    )

    compare(
        "a write, committed",
        {
            "bare Python, durable git commit": lambda: append_and(
                plain, "MEMORY.md", f"{sys.executable} -I -S -c pass; {DURABLE}"
            ),
            "git commit": lambda: append_and(plain, "MEMORY.md", "git commit -q -m m --"),
            "mdmem edit-section": lambda: [
                *mdmem,
                "edit-section",
                heading,
                "--body",
                f"- one {time.time_ns()}",
            ],
            "mdmem log": lambda: [*mdmem, "log", f"one {time.time_ns()}"],
            "mdmem remember": lambda: [*mdmem, "remember", f"one {time.time_ns()}", "--key", "one"],
        },
        own,
        runs,
    )
    subprocess.run([*mdmem, "search", WORDS], env=own, check=True, stdout=subprocess.DEVNULL)
    time.sleep(2)  # the catch-up in the background has had its turn
    reading: dict[str, Command] = {
        "bare Python": lambda: [sys.executable, "-I", "-S", "-c", "pass"],
        "git grep": lambda: shell(plain, f"git grep -n -i -E '{WORDS.replace(' ', '|')}'"),
        "mdmem search": lambda: [*mdmem, "search", WORDS],
        "mdmem show": lambda: [*mdmem, "show", heading],
        "mdmem facts": lambda: [*mdmem, "facts", "--section", heading],
        "mdmem history": lambda: [*mdmem, "history", heading, "-n", "20"],
    }
    compare("a read", reading, own, runs)

    def dirty() -> list[str]:
        with (ours / log).open("a", encoding="utf-8") as file:
            file.write(f"- one {time.time_ns()}\n")
        return [*mdmem, "search", WORDS]

    compare(
        "a file just saved by hand",
        {"bare Python": reading["bare Python"], "mdmem search": dirty},
        own,
        runs,
    )
    compare(
        "a person's own commit",
        {
            "bare Python, durable git commit": lambda: append_and(
                plain, log, f"{sys.executable} -I -S -c pass; {DURABLE}"
            ),
            "git commit of a log, our hooks": lambda: append_and(
                ours, log, "git commit -q -m m --"
            ),
        },
        own,
        runs,
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    for entries in args.entries:
        with tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True
        ) as temporary:  # a catch-up may still write there
            top = Path(temporary)
            measure(top, entries, environment(top / "home"), args.runs)


if __name__ == "__main__":
    main()
