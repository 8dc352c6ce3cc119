"""Measure what each part of the ranking is worth, on a benchmark of conversations written as daily
logs.

    python benchmarks/tune.py DATA [--one] [--without]

DATA holds `queries.jsonl` and one folder a conversation with its `memory/`; `score.py`, which knows
how a run is scored, lies two folders above it, or where --score says. Prints one row for each step
from plain BM25 to the whole ranking: R@5, R@10, MRR@10, R@1000t and day-R@5 in percent, then what
the step gained, with the standard error of the paired difference (bootstrap over questions) and the
number of conversations that gained in R@10. --one asks one index of all conversations; --without
starts from the whole and takes one part away.

A number is changed only for a gain larger than its error, on the public half, and never for one
conversation alone.
"""

import argparse
import importlib.util
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from types import ModuleType

from mdmem.folder.layout import kind_of
from mdmem.index import indexed, ranking, schema
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.model import FilePath
from mdmem.text import english, terms
from mdmem.text.document import parse
from mdmem.text.facts import entries

METRICS = ("R@5", "R@10", "MRR@10", "R@1000t", "day-R@5")
CATEGORIES = ("single-hop", "multi-hop", "temporal", "open-domain")
DEPTH, SAMPLES = 60, 1000
NOTHING = 1e-9
TODAY = date(2024, 6, 1)
Settings = Mapping[str, object]
Rows = list[tuple[str, list[float]]]

PLAIN: Settings = {
    "FIELD_WEIGHTS": {name: ranking.FIELD_WEIGHTS[name] for name in ("text", "grams")},
    "RARITY_WEIGHT": 1e9,
    "MEMBER_SHARE": NOTHING,
    "INFLECTED_SHARE": NOTHING,
    "JOINED_WEIGHT": NOTHING,
    "WEAK_WORD_WEIGHT": 1.0,
    "SPEAKER_FACTOR": 1.0,
    "DATE_FACTOR": 1.0,
    "QUESTION_FACTOR": 1.0,
    "ANSWER_FACTORS": {},
    "DAY_SHARE": 0.0,
    "BESIDE_FACTOR": 1.0,
    "BORROWED_FACTOR": 1.0,
}
WHOLE: Settings = {name: getattr(ranking, name) for name in PLAIN}
_WEIGHTS = ranking.FIELD_WEIGHTS
_TIME, _AMOUNT = ranking.ANSWER_FACTORS.items()


def fields(*names: str) -> Settings:
    """The weights of these fields alone."""
    return {
        "FIELD_WEIGHTS": {
            name: weight for name, weight in _WEIGHTS.items() if name in ("text", "grams", *names)
        }
    }


def whole(*names: str) -> Settings:
    """These settings as they are in the whole ranking."""
    return {name: WHOLE[name] for name in names}


STEPS: list[tuple[str, Settings]] = [
    ("neighbours", fields("around", "grams_around")),
    ("headings", fields("around", "grams_around", "heading")),
    ("speaker", whole("SPEAKER_FACTOR")),
    ("date", whole("DATE_FACTOR")),
    ("a question is no answer", whole("QUESTION_FACTOR")),
    ("words of time", {"ANSWER_FACTORS": dict([_TIME])}),
    ("question before", fields("around", "grams_around", "heading", "asked")),
    ("words of like meaning", whole("RARITY_WEIGHT")),
    ("weak words", whole("WEAK_WORD_WEIGHT")),
    ("amounts", {"ANSWER_FACTORS": dict([_TIME, _AMOUNT])}),
    ("best of the day", whole("DAY_SHARE")),
    ("kinds of things", whole("MEMBER_SHARE")),
    ("words that begin alike", whole("INFLECTED_SHARE")),
    ("two words as one", whole("JOINED_WEIGHT")),
    ("hits beside each other", whole("BESIDE_FACTOR", "BORROWED_FACTOR")),
]
WITHOUT: list[tuple[str, Settings]] = [
    *(
        (f"no {name}", fields(*(_WEIGHTS.keys() - {name})))
        for name in ("around", "heading", "asked")
    ),
    *((f"no {name}", {name: PLAIN[name]}) for name in PLAIN if name != "FIELD_WEIGHTS"),
]


class Bench:
    """The questions of a data folder, and the indexes that answer them."""

    def __init__(self, data: Path, scorer: Path, one_index: bool) -> None:
        self.data, self.one_index = data, one_index
        self.score = _module(scorer)
        lines = (data / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        self.questions = [
            question for question in map(json.loads, lines) if question["category"] != "adversarial"
        ]
        self.spaces = self.score.Workspaces(data)
        self.indexes = self.build()

    def build(self) -> dict[str, SearchIndex]:
        """An index a conversation, or the same one for each."""
        names = sorted({question["conversation"] for question in self.questions})
        if self.one_index:
            return dict.fromkeys(
                names, _index(page for name in names for page in _pages(self.data, name))
            )
        return {name: _index(_pages(self.data, name)) for name in names}

    def run(self, settings: Settings) -> Rows:
        """Conversation and metrics of each question."""
        for name, value in settings.items():
            setattr(ranking, name, value)
        ranking._cue_worth.cache_clear()
        for index in self.indexes.values():
            index.finder.lexicon.drop_relatives()
        return [(question["conversation"], self.ask(question)) for question in self.questions]

    def ask(self, question: dict[str, str]) -> list[float]:
        """The metrics of one question."""
        matches = self.indexes[question["conversation"]].search(
            IndexQuery(question["question"], DEPTH, Filter(valid_on=TODAY), TODAY)
        )
        hits = [match.hit for match in matches]
        results = [(*hit.path.split("/", 1), hit.start_line, hit.end_line) for hit in hits]
        measured = self.score.score_query(question, results, self.spaces)
        return [measured[name] for name in METRICS]


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _pages(data: Path, conversation: str) -> Iterator[FileEntries]:
    for file in sorted((data / conversation / "memory").glob("*.md")):
        path = FilePath(f"{conversation}/memory/{file.name}")
        file_entries = entries(parse(file.read_text(encoding="utf-8")), path, nested=True)
        yield FileEntries(
            path,
            file_entries,
            (None,) * len(file_entries),
            (False,) * len(file_entries),
            kind_of(path),
        )


def _index(pages: Iterable[FileEntries]) -> SearchIndex:
    index = SearchIndex.in_memory()
    index.update(pages, (), EMPTY_SNAPSHOT)
    return index


def _means(rows: Rows) -> list[float]:
    return [
        100 * sum(column) / len(rows)
        for column in zip(*(values for _, values in rows), strict=True)
    ]


def _gain(rows: Rows, before: Rows) -> str:
    """The mean difference of each metric with its standard error, and how many conversations gained
    in R@10.
    """
    rng = random.Random(1)
    differences = [
        (name, [new - old for new, old in zip(now, then, strict=True)])
        for (name, now), (_, then) in zip(rows, before, strict=True)
    ]
    samples = [_means(rng.choices(differences, k=len(differences))) for _ in range(SAMPLES)]
    means = _means(differences)
    errors = [
        (sum((sample[at] - mean) ** 2 for sample in samples) / SAMPLES) ** 0.5
        for at, mean in enumerate(means)
    ]
    better = sum(
        _means([row for row in differences if row[0] == name])[1] > 0
        for name in {name for name, _ in rows}
    )
    return (
        " ".join(f"{mean:+5.1f}±{error:.1f}" for mean, error in zip(means, errors, strict=True))
        + f"  {better}"
    )


def _show(name: str, rows: Rows, before: Rows | None = None) -> None:
    print(
        f"{name:<26}" + "".join(f"{mean:>8.1f}" for mean in _means(rows)),
        _gain(rows, before) if before else "",
        sep="   ",
        flush=True,
    )


def _categories(bench: Bench, rows: Rows) -> None:
    for name in CATEGORIES:
        _show(
            name,
            [
                row
                for row, question in zip(rows, bench.questions, strict=True)
                if question["category"] == name
            ],
        )


def _forget_stems() -> None:
    """Empty every cache that holds stems."""
    for module in (english, terms, indexed, schema):
        for value in list(vars(module).values()):
            if (
                hasattr(value, "cache_clear")
                and value.__module__ == module.__name__
                and value is not schema.schema
            ):
                value.cache_clear()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--score", type=Path, help="score.py (default: two folders above DATA)")
    parser.add_argument("--one", action="store_true", help="one index for all conversations")
    parser.add_argument("--without", action="store_true", help="take one part away from the whole")
    args = parser.parse_args()
    forms, english.BASE_FORMS = english.BASE_FORMS, {}
    bench = Bench(args.data, args.score or args.data.resolve().parent.parent / "score.py", args.one)
    print(f"{'':<26}" + "".join(f"{name:>8}" for name in METRICS))
    before = bench.run(PLAIN)
    _show("plain BM25", before)
    english.BASE_FORMS = forms
    _forget_stems()
    bench.indexes = bench.build()
    rows = bench.run(PLAIN)
    _show("irregular forms", rows, before)
    if args.without:
        rows = bench.run(WHOLE)
        _show("the whole", rows)
    settings = dict(WHOLE if args.without else PLAIN)
    for name, change in WITHOUT if args.without else STEPS:
        before, rows = rows, bench.run({**settings, **change})
        _show(name, rows, before)
        if args.without:
            rows = before
        else:
            settings |= change
    _categories(bench, rows)


if __name__ == "__main__":
    main()
