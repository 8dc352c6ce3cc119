"""Measure the ranking beside plain BM25 on texts that are no conversations: `python
benchmarks/other_measure.py SETS [NAME…]`.

SETS is the folder that `other_texts.py` or `more_texts.py` wrote. For each set R@10 and MRR@10 in
percent of a plain BM25 and of the ranking as it is, and the difference in R@10 with its 95 %
interval (paired bootstrap over questions). `below` marks a set where the whole interval lies below
zero. `crowd` tells how related the hits are: of the first eight by the ranking, the percentage with
another of them within two lines.

The plain BM25 knows stems (by the language at the end of the set's name), stop words and headings:
one field of the words of an entry, of the headings above it and of the file's name, with pairs of
characters for scripts without spaces. It shares nothing with the ranking but the cutting into
entries and words.
"""

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from conversations import build_index, read_files

from mdmem.folder.config import LANGUAGES
from mdmem.index.indexed import heading_words, words_of_text
from mdmem.index.indexer import SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.model import FilePath
from mdmem.text.document import parse
from mdmem.text.facts import entries, shown_text
from mdmem.text.terms import ENGLISH, grams, query_terms

K1, B = 1.2, 0.75
FIRST, DEPTH = 10, 30
SHOWN, WITHIN = 8, 2
SAMPLES = 2000
TODAY = date(2026, 6, 1)


Lines = tuple[str, int, int]


@dataclass(frozen=True)
class Question:
    """A question, and the lines that answer it."""

    text: str
    evidence: tuple[tuple[str, int], ...]

    def measures(self, lines: Sequence[Lines]) -> tuple[float, float]:
        """R@10 and the reciprocal rank of some results."""
        ranks = [
            next(
                (
                    rank
                    for rank, (path, first, last) in enumerate(lines[:FIRST], 1)
                    if path == file and first <= line <= last
                ),
                0,
            )
            for file, line in self.evidence
        ]
        best = min((rank for rank in ranks if rank), default=0)
        return sum(map(bool, ranks)) / len(ranks), 1 / best if best else 0.0


class PlainSearch:
    """BM25 over one field of words and headings."""

    def __init__(self, files: dict[str, str], language: str) -> None:
        self.language = language
        self.lines: list[Lines] = []
        self.lengths: list[int] = []
        self.holding: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for path, text in files.items():
            for entry in entries(parse(text), FilePath(path), nested=True):
                own, above = (
                    words_of_text(shown_text(entry), language),
                    heading_words(FilePath(path), entry.section, language),
                )
                words = [
                    *own.indexed.split(),
                    *above.indexed.split(),
                    *(gram for gram in grams((*own.runs, *above.runs)) if len(gram) == 2),
                ]
                for word, count in Counter(words).items():
                    self.holding[word].append((len(self.lines), count))
                self.lines.append((path, entry.start_line, entry.end_line))
                self.lengths.append(len(words))
        self.mean_length = sum(self.lengths) / len(self.lengths)

    def search(self, question: str) -> list[Lines]:
        """The best entries for a question."""
        terms = query_terms(question, (self.language,))
        scores: dict[int, float] = defaultdict(float)
        for term in (*terms.words, *terms.grams):
            held = self.holding.get(term, ())
            rarity = math.log(1 + (len(self.lines) - len(held) + 0.5) / (len(held) + 0.5))
            for number, count in held:
                scores[number] += (
                    rarity
                    * count
                    * (K1 + 1)
                    / (count + K1 * (1 - B + B * self.lengths[number] / self.mean_length))
                )
        return [
            self.lines[number]
            for number in sorted(scores, key=lambda number: -scores[number])[:DEPTH]
        ]


def read_set(folder: Path) -> list[Question]:
    """The questions of a set."""
    rows = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    return [
        Question(row["question"], tuple((path, line) for path, line in row["evidence_lines"]))
        for row in rows
    ]


def search(index: SearchIndex, question: str) -> list[Lines]:
    """The best entries by the ranking as it is."""
    matches = index.finder.search(IndexQuery(question, DEPTH, Filter(valid_on=TODAY), TODAY))
    return [(match.hit.path, match.hit.start_line, match.hit.end_line) for match in matches]


def crowded(lines: Sequence[Lines]) -> tuple[int, int]:
    """The number of the first hits that have another of them within two lines, and of the first
    hits.
    """

    def is_near(hit: Lines, other: Lines) -> bool:
        return (
            hit != other
            and hit[0] == other[0]
            and max(hit[1] - other[2], other[1] - hit[2]) <= WITHIN
        )

    first = lines[:SHOWN]
    return sum(any(is_near(hit, other) for other in first) for hit in first), len(first)


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean."""
    rng = random.Random(1)
    means = sorted(
        sum(rng.choices(differences, k=len(differences))) / len(differences) for _ in range(SAMPLES)
    )
    return means[SAMPLES // 40], means[-SAMPLES // 40]


def compare(
    name: str,
    plain: Sequence[tuple[float, float]],
    ranked: Sequence[tuple[float, float]],
    near: float,
) -> None:
    """Print a row of the table."""
    low, high = interval(
        [after[0] - before[0] for before, after in zip(plain, ranked, strict=True)]
    )
    cells = [
        100 * sum(row[at] for row in rows) / len(rows) for at in (0, 1) for rows in (plain, ranked)
    ]
    print(
        f"{name:<18}{len(plain):>5}" + "".join(f"{cell:>8.1f}" for cell in cells),
        f"{near:>5.0f} {cells[1] - cells[0]:+7.1f}  [{100 * low:+.1f},"
        f" {100 * high:+.1f}]{'  below' if high < 0 else ''}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    print(f"{'':<18}{'n':>5}{'plain':>8}{'ranked':>8}{'MRR':>8}{'ranked':>8} crowd    R@10")
    for folder in sorted(args.sets.iterdir()):
        if not args.names or folder.name in args.names:
            files, questions = read_files(folder), read_set(folder)
            language = LANGUAGES.get(folder.name.rpartition("-")[2], ENGLISH)
            plain, index = PlainSearch(files, language), build_index(files)
            ranked = [search(index, question.text) for question in questions]
            counts = [crowded(lines) for lines in ranked]
            compare(
                folder.name,
                [question.measures(plain.search(question.text)) for question in questions],
                [
                    question.measures(lines)
                    for question, lines in zip(questions, ranked, strict=True)
                ],
                100 * sum(count for count, _ in counts) / sum(shown for _, shown in counts),
            )


if __name__ == "__main__":
    main()
