"""Measure what a model of vectors adds to words: `python benchmarks/vectors.py SETS --url URL
--name NAME` (or `--command …`, or `--local` for an installed package).

SETS is the folder that `other_texts.py` wrote, or with --conversations the data of `tune.py`. For
each set R@10 and MRR@10 in percent by words, with vectors where words leave doubt (`doubt`) and for
each question (`always`), the share of questions that leave doubt, and the share of first ten
places that went to entries without a word of the question. Entries are embedded once. With --half
only the questions that numbers were chosen with (`tuning`), or only the others (`held-out`).
"""

import argparse
import random
import shlex
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conversations import build_index, index_conversations, read_files, read_questions
from other_measure import DEPTH, FIRST, TODAY, Question, read_set

from mdmem.folder.config import Settings
from mdmem.index import ranking
from mdmem.index.indexer import SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.ranking import Likeness, may_be_asked
from mdmem.vectors.questions import ComparedRows, compare
from mdmem.vectors.source import VectorSource, embedding_model, open_source
from mdmem.vectors.store import EmbeddedText, VectorStore, opened_store

BATCH, SECONDS = 64, 120.0
MODES = ("doubt", "always")
Rows = dict[str, list[tuple[float, float, float, float]]]


@dataclass
class MeasuredMeaning:
    """The meaning of a question, which counts whether it was asked for."""

    source: VectorSource
    store: VectorStore
    rows: ComparedRows
    question: str
    is_always_asked: bool
    weight: float
    sent: int = field(default=0)

    def likeness(self, keys: Sequence[int]) -> Likeness:
        """See `search.blend.Meaning`."""
        self.sent = 1
        vector = self.source.embed([self.question], "query", SECONDS).vectors[0]
        return compare(self.store, self.rows, vector, self.store.rows(keys))


def embed(index: SearchIndex, source: VectorSource, store: VectorStore) -> None:
    """Embed the entries of an index."""
    finder = index.finder
    assert finder is not None
    paths = {finder.path_at(address) for _, _, address in finder.passages(TODAY)}
    texts = {key: text for path in sorted(paths) for key, text, _ in finder.passages_of(path)}
    keys = store.missing(list(texts))
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        vectors = source.embed([texts[key] for key in batch], "passage", SECONDS).vectors
        store.add(
            [EmbeddedText(key, 0, vector) for key, vector in zip(batch, vectors, strict=True)]
        )


def measure(
    index: SearchIndex,
    questions: Sequence[Question],
    source: VectorSource,
    weight: float = ranking.WEIGHT,
) -> Rows:
    """R@10, reciprocal rank, whether it was sent, and places without a word, by mode."""
    rows: Rows = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, opened_store(Path(folder)) as store:
        embed(index, source, store)
        compared = ComparedRows(store, store.dimensions or 0)
        for question in questions:
            for mode in ("words", *MODES):
                meaning = MeasuredMeaning(
                    source, store, compared, question.text, mode == "always", weight
                )
                asked = mode != "words" and may_be_asked(question.text)
                query = IndexQuery(
                    query=question.text,
                    limit=DEPTH,
                    filter=Filter(valid_on=TODAY),
                    today=TODAY,
                    meaning=meaning if asked else None,
                )
                hits = [match.hit for match in index.finder.search(query)]
                lines = [(hit.path, hit.start_line, hit.end_line) for hit in hits]
                like = sum(hit.like for hit in hits[:FIRST]) / FIRST
                rows[mode].append((*question.measures(lines), meaning.sent, like))
    return rows


def sets(args: argparse.Namespace) -> Iterator[tuple[str, SearchIndex, Sequence[Question]]]:
    """The sets by name, each with its index and questions."""
    if args.conversations:
        asked: Mapping[str, list[Question]] = defaultdict(list)
        for each in read_questions(args.sets):
            asked[each.conversation].append(Question(each.text, tuple(each.evidence)))
        for name, index in index_conversations(args.sets).items():
            yield name, index, asked[name]
        return
    for folder in sorted(args.sets.iterdir()):
        if not args.names or folder.name in args.names:
            yield folder.name, build_index(read_files(folder)), read_set(folder)


def half_of(questions: Sequence[Question], name: str) -> Sequence[Question]:
    """Half of the questions of a set, the same at every run."""
    shuffled, middle = list(questions), len(questions) // 2
    random.Random(7).shuffle(shuffled)
    return shuffled[:middle] if name == "tuning" else shuffled[middle:]


def show(name: str, rows: Rows) -> None:
    """Print a row of the table."""
    means = {
        mode: [100 * sum(column) / len(values) for column in zip(*values, strict=True)]
        for mode, values in rows.items()
    }
    cells = "".join(f"{means[mode][at]:>8.1f}" for at in (0, 1) for mode in ("words", *MODES))
    last = f"{means['doubt'][2]:>8.0f}{means['always'][3]:>8.1f}"
    print(f"{name:<18}{len(rows['words']):>5}{cells}{last}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--conversations", action="store_true")
    parser.add_argument("--url")
    parser.add_argument("--name", default="model")
    parser.add_argument("--command", type=shlex.split, default=[])
    parser.add_argument("--local", action="store_true")
    parser.add_argument("--half", choices=("tuning", "held-out"))
    args = parser.parse_args()
    settings = Settings(
        vectors="local" if args.local else "always",
        vectors_url=args.url,
        vectors_name=args.name,
        vectors_command=tuple(args.command),
    )
    source = open_source(embedding_model(settings, {}))
    weight = ranking.LOCAL_WEIGHT if args.local else ranking.WEIGHT
    columns = [
        f"{measure_name} {mode}" for measure_name in ("R", "MRR") for mode in ("wo", "do", "al")
    ]
    print(f"{'':<18}{'n':>5}" + "".join(f"{each:>8}" for each in columns) + "    sent    like")
    every: Rows = defaultdict(list)
    for name, index, questions in sets(args):
        chosen = half_of(questions, args.half) if args.half else questions
        rows = measure(index, chosen, source, weight)
        show(name, rows)
        for mode, values in rows.items():
            every[mode] += values
    show("all", every)
    source.close()


if __name__ == "__main__":
    main()
