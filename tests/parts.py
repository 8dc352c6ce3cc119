"""Run tests in processes side by side, one more than there are cores, since tests wait for other
processes and for the disk. Each has a part of the test files: processes that share the tests of a
file both collect it. What they print is put together.

    python tests/parts.py [--record] [--record-slowly] [FILE…] [an option of pytest…]
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import kept_map
from kept_map import MAP, ROOT

PROCESSES = min(os.cpu_count() or 1, 8) + 1
"""A container may have a small share of many cores."""
PROGRESS = re.compile(r"\S* *\[ *\d+%\]$")
SUMMARY = re.compile(r"=+ short test summary info =+")
TOTAL = re.compile(r"\d+ \w.* in [\d.]+s")
COUNT = re.compile(r"(\d+) ([a-z ]+?)s?(?=,| in )")
NOT_RUN = ("deselected", "left out", "warning")
NONE_COLLECTED = 5


@dataclass(frozen=True)
class Outcome:
    """How the tests of one process or of several went."""

    status: int
    counts: Counter[str]
    failures: Sequence[str] = ()
    summary: Sequence[str] = ()

    @property
    def ran(self) -> int:
        """How many tests ran."""
        return self.counts.total() - sum(self.counts[word] for word in NOT_RUN)


def test_files() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py"))


def divided(files: Iterable[str], seconds: Mapping[str, float], count: int) -> list[list[str]]:
    """Parts of about the same length, the longest files first; a file whose seconds are not known
    takes as long as others of its size, and at least one part holds files.
    """
    sizes = {file: (ROOT / file).stat().st_size for file in files}
    known = sum(size for file, size in sizes.items() if file in seconds)
    rate = sum(seconds.get(file, 0) for file in sizes) / known if known else 1
    length = {file: seconds.get(file, size * rate) for file, size in sizes.items()}
    parts, total = [list[str]() for _ in range(count)], [0.0] * count
    for file in sorted(length, key=lambda file: -length[file]):
        shortest = total.index(min(total))
        parts[shortest].append(file)
        total[shortest] += length[file]
    return [sorted(part) for part in parts if part]


def run(parts: Sequence[Sequence[str]]) -> Outcome:
    """Run pytest with the arguments of each part, at the same time."""
    started = time.monotonic()
    with ThreadPoolExecutor(max(len(parts), 1)) as pool:
        outcomes = list(pool.map(_run_one, parts))
    whole = Outcome(
        next((one.status for one in outcomes if one.status not in {0, NONE_COLLECTED}), 0),
        sum((one.counts for one in outcomes), Counter[str]()),
    )
    summary = [line for one in outcomes for line in one.summary]
    for line in (
        *(line for one in outcomes for line in one.failures),
        *([" short test summary info ".center(80, "="), *summary] if summary else ()),
    ):
        print(line)
    words = [
        f"{number} {word}{'s' if word in {'error', 'warning'} and number > 1 else ''}"
        for word, number in sorted(whole.counts.items(), key=lambda count: count[0] != "failed")
    ]
    print(f"{', '.join(words) or 'no tests ran'} in {time.monotonic() - started:.0f} s", flush=True)
    return whole


def _run_one(arguments: Sequence[str]) -> Outcome:
    """Run pytest once, and print how far it is."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    rest = list[str]()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in map(str.rstrip, process.stdout or ()):
            if rest or not PROGRESS.match(line):
                rest.append(line)
            else:
                print(line, flush=True)
    status = process.returncode
    total = max((place for place, line in enumerate(rest) if TOTAL.match(line)), default=None)
    if total is None:
        words = [] if status == NONE_COLLECTED else [*rest, f"pytest ended with status {status}"]
        return Outcome(status or 1, Counter(), words)
    counts = Counter({word: int(number) for number, word in COUNT.findall(rest[total])})
    start = next((place for place, line in enumerate(rest) if SUMMARY.match(line)), total)
    failures = [*rest[:start], *rest[total + 1 :]]
    return Outcome(status, counts, failures, rest[start + 1 : total])


def record(files: Sequence[str], options: Sequence[str] = ()) -> Outcome:
    """Run test files, and record which functions their tests enter."""
    kept = kept_map.read()
    parts = divided(files, kept.seconds(), PROCESSES)
    paths = [MAP.with_name(f"part-{number}") for number in range(len(parts))]
    for path in paths:
        path.unlink(missing_ok=True)
    outcome = run(
        [[*options, f"--record={path}", *part] for path, part in zip(paths, parts, strict=True)]
    )
    kept_map.write(kept_map.put_together([*map(kept_map.read, paths), kept]))
    for path in paths:
        path.unlink(missing_ok=True)
    return outcome


def main(arguments: Sequence[str]) -> int:
    files = [each for each in arguments if each.endswith(".py")] or test_files()
    options = [each for each in arguments if each not in files and not each.startswith("--record")]
    if "--record-slowly" in arguments or ("--record" in arguments and kept_map.IS_CHEAP):
        outcome = record(files, options)
    else:  # the seconds that are kept are those of the suite
        seconds = {} if "-m" in options else kept_map.read().seconds()
        outcome = run([[*options, *part] for part in divided(files, seconds, PROCESSES)])
    return outcome.status or (0 if outcome.ran else NONE_COLLECTED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
