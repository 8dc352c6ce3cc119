"""Measure the processor time of a backfill: `mdmem digest` over sessions that nobody has read, and
again where nothing is new.

And that of their search, which reads them all the first time, and nothing the second.

    python benchmarks/backfill.py [--megabytes 100] [--folder /dev/shm] [--profile]

The sessions are those of made_transcripts. Of the same bytes three figures are given, each the
whole of the one before and more: reading and drawing entries, the digest with all that it writes
(git's processes included), and the digest again.
"""

import argparse
import cProfile
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

from commands import environment
from made_transcripts import make

from mdmem.sessions.drafts import DraftRules, draw
from mdmem.sessions.files import read_file

MDMEM = str(Path(sys.executable).with_name("mdmem"))


def processor_seconds() -> float:
    """Processor time of this process and of its ended children."""
    own, children = (
        resource.getrusage(resource.RUSAGE_SELF),
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def measure(name: str, size: int, work: Callable[[], object]) -> None:
    """Run once, and print how many megabytes it read in a second of processor time."""
    begun, wall = processor_seconds(), time.perf_counter()
    work()
    used, passed = processor_seconds() - begun, time.perf_counter() - wall
    print(f"{name:<40}{size / used / 1e6:8.1f} MB/s{used:9.2f} s cpu{passed:9.2f} s", flush=True)


def draw_all(paths: list[Path]) -> tuple[int, int]:
    """Read every session and draw its entries: how many messages and entries there are."""
    messages = entries = 0
    for path in paths:
        transcript = read_file(str(path))
        if transcript is not None:
            rules = DraftRules(zone=UTC, tools_line=transcript.tools_line)
            messages += len(transcript.messages)
            entries += len(draw(transcript.messages, rules).drafts)
    return messages, entries


def main() -> None:
    """Make the sessions, and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument(
        "--folder",
        type=Path,
        default=None,
        help="where sessions and workspace are made; in memory is best",
    )
    parser.add_argument(
        "--profile", action="store_true", help="show where the time of reading and drawing goes"
    )
    parser.add_argument("--only-rules", action="store_true", help="leave out what writes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as top:
        sessions, workspace = Path(top, "sessions"), Path(top, "memory")
        sessions.mkdir()
        count = make(sessions, options.megabytes * 1_000_000)
        paths = sorted(sessions.iterdir())
        size = sum(path.stat().st_size for path in paths)
        print(f"{count} sessions, {size / 1e6:.0f} MB")
        if options.profile:
            profile = cProfile.Profile()
            profile.runcall(draw_all, paths)
            pstats.Stats(profile).sort_stats("tottime").print_stats(35)
        measure("read and draw", size, lambda: print("messages, entries", draw_all(paths)))
        if options.only_rules:
            return
        own = environment(Path(top, "home"))
        settings = Path(top, "home", ".config", "mdmem", "config.toml")
        settings.parent.mkdir(parents=True)
        settings.write_text(f'sessions = ["{sessions}/*.jsonl"]\nsession_scope = "all"\n')
        subprocess.run(
            [MDMEM, "init", str(workspace)], env=own, check=True, stdout=subprocess.DEVNULL
        )
        words = [MDMEM, "-C", str(workspace), "digest", "-q"]
        for name in ("digest", "digest again"):
            measure(
                name,
                size,
                lambda: subprocess.run(words, env=own, check=True, stdout=subprocess.DEVNULL),
            )
        words = [MDMEM, "-C", str(workspace), "search", "the importer", "--sessions", "-q"]
        for name in ("search --sessions", "search --sessions again"):
            measure(
                name,
                size,
                lambda: subprocess.run(words, env=own, check=True, stdout=subprocess.DEVNULL),
            )
        entries = subprocess.run(
            ["git", "-C", str(workspace), "rev-list", "--count", "HEAD"],
            env=own,
            capture_output=True,
            text=True,
            check=True,
        )
        print(f"commits {entries.stdout.strip()}")


if __name__ == "__main__":
    os.nice(5)
    main()
