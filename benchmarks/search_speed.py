"""Measure how fast a search is in process, how large the index, and how fast it is built, on a
memory that this script makes.

    python benchmarks/search_speed.py [--entries 100000] [--runs 5] [--folder DIR] [--trail]

The memory is made of invented words, the same at every run: one MEMORY.md and a daily log for each
day, with list items of 8 to 18 words whose frequencies fall as in a language (Zipf). Two kinds of
queries are asked: words of the memory, from one to six, and questions as a person puts them, with a
name and a date. Each kind is asked once to warm up; then p50 and p99 are the medians of the runs.

--folder keeps the memory and its index there and uses what an earlier run left. --trail builds
everything as `mdmem reindex --full` does, in a repository with one commit: the table of versions
too, from which the index is made there. Then whole searches are timed as well, as a process that
lives makes them: distinct queries, each asked once, with the look at every file's time stamp, in
milliseconds of processor time.
"""

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from statistics import median

from made_memory import NAMES, Language, make

from mdmem.folder.layout import kind_of
from mdmem.index import catching_up
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.schema import Lifetime
from mdmem.index.snapshot import INDEX_NAME, Snapshot
from mdmem.memory import Memory
from mdmem.model import CommitId, FilePath, Source
from mdmem.model.searches import Search
from mdmem.model.trail import Origin
from mdmem.text.document import parse
from mdmem.text.facts import entries
from mdmem.workspace import open_at

TODAY = date(2026, 3, 1)
QUERIES, DISTINCT, SHOWN = 600, 200, 8
QUESTIONS = (
    "When did {name} go to the {0} {1}?",
    "What does {name} think of {0} and {1}?",
    "How many {0} did we buy in {month} 2025?",
    "Who decided on the {0}, and why not {1} or {2}?",
    "Where is the {0} of the {1}?",
    "Which {0} is used for {1} since {month}?",
)
MONTHS = ("January", "March", "June", "October")
ORIGIN = Origin(
    commit=CommitId("a" * 40), time=1_760_000_000, source=Source.USER_STATED, confidence=0.95
)


def words_of_memory() -> list[str]:
    """From one to six words, half of them rare."""
    language = Language(3)
    rare = language.words[400:]
    return [
        " ".join(
            language.random.choice(rare) if language.random.random() < 0.5 else language.say(1)[0]
            for _ in range(1 + number % 6)
        )
        for number in range(QUERIES)
    ]


def questions() -> list[str]:
    """Questions as a person puts them."""
    language = Language(5)
    choose = language.random.choice
    return [
        choose(QUESTIONS).format(
            *language.say(2), choose(language.words), name=choose(NAMES), month=choose(MONTHS)
        )
        for _ in range(QUERIES)
    ]


def read(folder: Path) -> Iterator[FileEntries]:
    """The files as the index takes them, all from one commit."""
    for file in (folder / "MEMORY.md", *sorted((folder / "memory").glob("*.md"))):
        path = FilePath(file.relative_to(folder).as_posix())
        file_entries = entries(parse(file.read_text(encoding="utf-8")), path, nested=True)
        count = len(file_entries)
        yield FileEntries(
            path,
            file_entries,
            (ORIGIN,) * count,
            (False,) * count,
            kind_of(path),
            (Lifetime(1),) * count,
        )


def index_of(folder: Path) -> SearchIndex:
    """The index of the files alone."""
    index_folder = folder / INDEX_NAME
    index = SearchIndex.open(index_folder)
    if index.finder.count == 0:
        index = SearchIndex.create(index_folder)
        index.update(read(folder), (), Snapshot(ORIGIN.commit))
    return index


def reindex(folder: Path) -> SearchIndex:
    """The index of a repository with one commit, made from its table of versions."""
    if not (folder / ".git").exists():
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "memory"]):
            identity = [
                "-c",
                "user.name=Bench",
                "-c",
                "user.email=bench@example.org",
                "-c",
                "commit.gpgsign=false",
            ]
            subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    return catching_up.rebuild_index(open_at(folder, os.environ), full=True, say=print).index


def ask(index: SearchIndex, queries: Sequence[str], runs: int) -> tuple[float, float]:
    """p50 and p99 in milliseconds."""

    def run() -> list[float]:
        taken = []
        for query in queries:
            begun = time.perf_counter()
            index.finder.search(IndexQuery(query, SHOWN, Filter(valid_on=TODAY), TODAY))
            taken.append(1000 * (time.perf_counter() - begun))
        return sorted(taken)

    run()
    rounds = [run() for _ in range(runs)]
    return median(taken[len(taken) // 2] for taken in rounds), median(
        taken[len(taken) * 99 // 100] for taken in rounds
    )


def ask_whole(folder: Path, queries: Sequence[str]) -> tuple[float, float]:
    """Mean milliseconds of processor time of a search, and of its look at the files."""
    memory, workspace = Memory.open(folder, os.environ), open_at(folder, os.environ)
    memory.search(Search(query="first"))
    catching_up.fresh_index(workspace, print, current=True)
    begun = time.process_time()
    for query in queries:
        memory.search(Search(query=query))
    searched = time.process_time()
    for _ in queries:
        catching_up.fresh_index(workspace, print, current=True)
    each = 1000 / len(queries)
    return (searched - begun) * each, (time.process_time() - searched) * each


def report(folder: Path, build: Callable[[Path], SearchIndex], runs: int) -> None:
    """Build, ask, and print."""
    texts = [
        path.read_text(encoding="utf-8")
        for path in (folder / "MEMORY.md", *(folder / "memory").glob("*.md"))
    ]
    size, sections = (
        sum(len(text.encode()) for text in texts),
        sum(text.count("\n#") + text.startswith("#") for text in texts),
    )
    begun = time.perf_counter()
    index = build(folder)
    taken = time.perf_counter() - begun
    stored = sum(
        path.stat().st_size for path in folder.rglob(f"{INDEX_NAME}/**/*") if path.is_file()
    )
    print(
        f"{index.finder.count} entries in {sections} sections, {size / 1e6:.1f} MB; opened or built in"
        f" {taken:.1f} s",
        end="",
    )
    print(f", {sections / taken:.0f} sections/s; index {stored / size:.2f} x the text", flush=True)
    for name, queries in (("words", words_of_memory()), ("questions", questions())):
        middle, slow = ask(index, queries, runs)
        print(f"{name:<10} p50 {middle:.2f} ms   p99 {slow:.2f} ms", flush=True)
    if build is reindex:
        whole, look = ask_whole(folder, questions()[:DISTINCT])
        print(f"whole search, CPU {whole:.2f} ms, of it time stamps {look:.2f} ms", flush=True)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--folder", type=Path, help="kept, and used again (default: a temporary one)"
    )
    parser.add_argument("--trail", action="store_true", help="build as `mdmem reindex --full` does")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        make(folder, args.entries)
        report(folder, reindex if args.trail else index_of, args.runs)


if __name__ == "__main__":
    main()
