"""Measure a search of several workspaces beside one index of all of them: `python
benchmarks/pool.py DATA [--cut N]`, with the folder that README.md tells of. Each conversation is a
workspace; of the first N, each day is one.

R@10 and MRR@10 in percent, and the milliseconds of CPU of a question: in its own index alone, in a
pool of all, in one index of all, and by each index's own counts in one order.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from conversations import TODAY, Question, build_index, read_files, read_questions

from mdmem.folder.layout import kind_of
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.pooled import pool_indexes
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.results import Match, rank_key
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.model import FilePath
from mdmem.startup.records import replace
from mdmem.text.document import parse
from mdmem.text.facts import entries

LIMIT = 10
Place = tuple[str, str, int, int]
Ask = Callable[[Question], Sequence[Place]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cut", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    files, questions = read_workspaces(arguments.data, arguments.cut)
    own = {name: build_index(of_one) for name, of_one in files.items()}
    joined, _ = pool_indexes(dict(own))
    one = index_of_all(files)
    print(f"{'':28}{'R@10':>8}{'MRR@10':>8}{'ms':>8}")
    for row, ask in {
        "the right one alone": lambda question: [
            place(match, question.conversation)
            for match in search(own[question.conversation], question)
        ],
        "a pool": lambda question: [
            place(match, match.hit.workspace) for match in search(joined, question)
        ],
        "one index of all": lambda question: [
            (match.hit.path.partition("/")[0], match.hit.path.partition("/")[2], *lines(match))
            for match in search(one, question)
        ],
        "each by its own counts": lambda question: [
            place(match, name) for match, name in by_own_counts(own, question)
        ],
    }.items():
        print(f"{row:28}{measure(questions, ask)}")


def read_workspaces(data: Path, cut: int) -> tuple[dict[str, dict[str, str]], list[Question]]:
    """Files of each workspace, and the questions that one of them can answer.

    The first `cut` conversations are cut into workspaces of a day each.
    """
    folders = [folder for folder in sorted(data.iterdir()) if (folder / "memory").is_dir()]
    files: dict[str, dict[str, str]] = {}
    workspace_of: dict[tuple[str, str], str] = {}
    for number, folder in enumerate(folders):
        for path, text in read_files(folder).items():
            name = f"{folder.name}-{Path(path).stem}" if number < cut else folder.name
            files.setdefault(name, {})[path] = text
            workspace_of[folder.name, path] = name
    questions = []
    for question in read_questions(data):
        names = {workspace_of.get((question.conversation, path)) for path, _ in question.evidence}
        if len(names) == 1 and (name := names.pop()):
            questions.append(Question(name, question.text, question.evidence))
    return files, questions


def index_of_all(files: dict[str, dict[str, str]]) -> SearchIndex:
    """One index of all workspaces, each in a folder of its own."""
    index = SearchIndex.in_memory()
    pages = []
    for name, of_one in files.items():
        for path, text in of_one.items():
            parts = tuple(
                replace(entry, path=FilePath(f"{name}/{path}"))
                for entry in entries(parse(text), FilePath(path), nested=True)
            )
            pages.append(
                FileEntries(
                    path=FilePath(f"{name}/{path}"),
                    entries=parts,
                    origins=(None,) * len(parts),
                    uncommitted=(False,) * len(parts),
                    kind=kind_of(path),
                )
            )
    index.update(pages, (), EMPTY_SNAPSHOT)
    return index


def search(index: SearchIndex, question: Question) -> Sequence[Match]:
    """The first matches of an index."""
    return index.finder.search(IndexQuery(question.text, LIMIT, Filter(valid_on=TODAY), TODAY))


def by_own_counts(own: dict[str, SearchIndex], question: Question) -> list[tuple[Match, str]]:
    """The matches of each index by its own counts, in one order."""
    matches = [(match, name) for name, index in own.items() for match in search(index, question)]
    return sorted(matches, key=lambda pair: rank_key(pair[0]))[:LIMIT]


def place(match: Match, name: str | None) -> Place:
    """The workspace, path and lines of a match."""
    return (name or "", match.hit.path, *lines(match))


def lines(match: Match) -> tuple[int, int]:
    """The first and the last line of a match."""
    return match.hit.start_line, match.hit.end_line


def measure(questions: Sequence[Question], ask: Ask) -> str:
    """A row: recall and reciprocal rank in percent, and milliseconds of CPU a question."""
    for question in questions[:50]:
        ask(question)
    begin = time.process_time()
    answers = [ask(question) for question in questions]
    spent = (time.process_time() - begin) / len(questions)
    recall = rank = 0.0
    for question, places in zip(questions, answers, strict=True):
        found = [
            [
                number
                for number, (name, path, first, last) in enumerate(places, 1)
                if name == question.conversation and path == file and first <= line <= last
            ]
            for file, line in question.evidence
        ]
        recall += sum(map(bool, found)) / len(found)
        rank += max((1 / number for numbers in found for number in numbers), default=0)
    count = len(questions)
    return f"{100 * recall / count:8.1f}{100 * rank / count:8.1f}{1000 * spent:8.2f}"


if __name__ == "__main__":
    main()
