"""The engine of one machine: one tantivy index of the rows of all repositories, in a folder.

What is held of a repository is a document beside its rows, so that one commit of the engine brings
both, and a crash leaves those of the commit before.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import tantivy
from tantivy import Occur, Query

from mdmem.fleet.engine import (
    FORM,
    NUMBERS,
    Change,
    FleetCandidate,
    FleetTerm,
    Held,
    Readable,
    Term,
    Totals,
)
from mdmem.folder import files
from mdmem.index import query, ranking, schema
from mdmem.index.indexed import as_label
from mdmem.index.overlay import counted
from mdmem.index.query import Filter
from mdmem.index.schema import LENGTHS, add_documents, call_engine, call_writer
from mdmem.model import FilePath
from mdmem.model.errors import (
    FleetProblem,
    RepositoryProblem,
    StorageProblem,
    WorkspaceProblem,
    verb,
)
from mdmem.startup.records import replace
from mdmem.text.terms import ENGLISH, encodable, most_used

_DOCUMENTS, _NEW, _LOCK = "documents", "documents.new", "lock"
_HELD = "mark:held"
_LOCK_SECONDS = 30.0
_TIED = 5
"""Digits of scores that count."""


@cache
def _schema() -> tantivy.Schema:
    builder = schema.schema_builder()
    builder.add_text_field("repo", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("tie", fast=True)
    return builder.build()


class _State(NamedTuple):
    """The index as it was opened, and what it holds of each repository."""

    stamp: object
    searcher: tantivy.Searcher
    held: Mapping[str, Held]
    engine_total: float


class FolderEngine:
    answering = 1

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._documents = folder / _DOCUMENTS
        self._state: _State | None = None
        self._counted = lru_cache(100_000)(self._count)
        self.totals = lru_cache(8)(self._totals)

    def make(self) -> None:
        is_new = not self._folder.exists()
        if not is_new and not (self._folder / _LOCK).exists() and any(self._folder.iterdir()):
            raise WorkspaceProblem(
                "bad-settings", f"{self._folder} is not empty, and no fleet's", "Name another one."
            )
        files.make_folders(self._folder, files.PRIVATE_FOLDER)
        (self._folder / _LOCK).touch(0o600)
        with self._locked():
            if not self._documents.exists():
                self._created(_DOCUMENTS)

    def _created(self, name: str) -> tantivy.Index:
        folder = self._folder / name
        if folder.exists():
            files.remove_tree(folder)
        files.make_folders(folder, files.PRIVATE_FOLDER)
        return schema.prepared(call_writer(tantivy.Index, _schema(), str(folder)))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with files.lock(self._folder / _LOCK, _LOCK_SECONDS), self._in_own_words():
                yield
        except RepositoryProblem as problem:
            raise FleetProblem(
                "fleet-busy",
                f"another mdmem has been writing {self._folder} for 30 s",
                "Try again.",
            ) from problem

    @contextmanager
    def _in_own_words(self) -> Iterator[None]:
        try:
            yield
        except StorageProblem as problem:
            hint = f"Is its disk full? If not, remove {self._folder}, and: {verb('fleet index')}"
            raise FleetProblem("fleet-failed", problem.message, hint) from problem

    def _now(self) -> _State:
        stamp = files.stamp(f"{self._documents}/meta.json")
        if self._state is None or self._state.stamp != stamp:
            if stamp is None:
                raise FleetProblem(
                    "no-fleet", f"nothing is indexed in {self._folder}", verb("fleet index")
                )
            with self._in_own_words():
                self._state = _read(schema.prepared(self._open()).searcher(), stamp)
            self._counted.cache_clear()
            self.totals.cache_clear()
        return self._state

    def _open(self) -> tantivy.Index:
        return call_engine(tantivy.Index.open, str(self._documents))

    def held(self) -> Mapping[str, Held]:
        return self._now().held

    def put(self, changes: Sequence[Change]) -> None:
        with self._locked():
            state = self._now()
            index = schema.prepared(self._open())
            with schema.writing(index, self._documents) as writer:
                for change in changes:
                    before = state.held.get(change.repository)
                    if (before and before.commit) == change.before:
                        _put(writer, change)
                call_writer(writer.commit)

    def drop(self, repositories: Collection[str]) -> None:
        with (
            self._locked(),
            schema.writing(schema.prepared(self._open()), self._documents) as writer,
        ):
            for repository in repositories:
                call_writer(writer.delete_documents_by_term, "repo", repository)
            call_writer(writer.commit)

    def _totals(self, readable: Readable) -> Totals:
        searcher, every = self._now().searcher, _readable_query(Query.all_query(), readable)
        lengths = {name: {"sum": {"field": length}} for name, length in LENGTHS.items()}
        sums = call_engine(searcher.aggregate, every, lengths)
        result: Any = call_engine(searcher.search, every, 1)  # its stub does not know the count
        held = len(self.held() if readable is None else self.held().keys() & set(readable))
        tokens = {name: total["value"] or 0 for name, total in sums.items()}
        return Totals(int(result.count) - held, tokens)

    def counts(self, terms: Collection[Term], readable: Readable) -> Mapping[Term, int]:
        self._now()
        return {term: self._counted(term, readable) for term in terms}

    def _count(self, term: Term, readable: Readable) -> int:
        searcher = self._now().searcher
        if not call_engine(searcher.doc_freq, *term):
            return 0
        asked = _readable_query(query.term_query((*term, 1.0, "")), readable)
        result: Any = call_engine(searcher.search, asked, 1)  # its stub does not know the count
        return int(result.count)

    def beginning(self, start: str, readable: Readable) -> Sequence[str]:
        words = call_engine(self._now().searcher.terms_with_prefix, "text", start, limit=20)
        return [word for word, _ in words if self._counted(("text", word), readable)]

    def candidates(
        self,
        asked: Sequence[FleetTerm],
        totals: Totals,
        passing: tuple[Filter, date],
        readable: Readable,
        limit: int,
    ) -> Sequence[FleetCandidate]:
        state, every = self._now(), self.totals(None)
        # What the engine adds by its own counts and lengths is made up for by the weights.
        factors = {
            name: ranking.saturation(1, every.average(name) or 1, totals.average(name) or 1)
            for name in LENGTHS
        }
        weighted = query.any_term_query(
            (
                field,
                term,
                worth
                * factors[field]
                / ranking.rarity(
                    state.engine_total, call_engine(state.searcher.doc_freq, field, term)
                ),
                term,
            )
            for field, term, worth in asked
        )
        filtered = query.filtered_query(_readable_query(weighted, readable), *passing)
        found = call_engine(state.searcher.search, filtered, limit, count=False).hits
        return _with_numbers(state.searcher, found)

    def shown(self, keys: Sequence[Any]) -> Sequence[tuple[str, bytes]]:
        documents = (call_engine(searcher.doc, address) for searcher, address in keys)
        return [(each["repo"][0], bytes(each["row"][0])) for each in documents]

    def purge(self) -> None:
        """Write the index again from its current rows, and put the new one in its place."""
        with self._locked():
            state, new = self._now(), self._created(_NEW)
            with schema.writing(new, self._folder / _NEW) as writer:
                for repository, held in state.held.items():
                    _add(writer, repository, held, _files_of(state.searcher, repository))
                call_writer(writer.commit)
            files.exchange_folders(self._folder / _NEW, self._documents)
            files.remove_tree(self._folder / _NEW)

    def describe(self) -> Mapping[str, int]:
        sizes = (each.stat().st_size for each in self._documents.iterdir())
        return {"bytes": sum(sizes), "shards": 1, "answering": 1}


def _read(searcher: tantivy.Searcher, stamp: object) -> _State:
    addresses = _addresses(searcher, _term("label", _HELD))
    documents = [call_engine(searcher.doc, address) for address in addresses]
    held = {each["repo"][0]: Held(*json.loads(bytes(each["row"][0]))) for each in documents}
    total = counted(searcher, _term("label", _HELD), addresses[0]) if addresses else 0
    return _State(stamp=stamp, searcher=searcher, held=held, engine_total=total)


def _term(field: str, term: str) -> Query:
    return Query.term_query(_schema(), field, term, index_option="basic")


def _addresses(searcher: tantivy.Searcher, asked: Query) -> list[tantivy.DocAddress]:
    most = max(1, searcher.num_docs)
    return [address for _, address in call_engine(searcher.search, asked, most, count=False).hits]


def _put(writer: tantivy.IndexWriter, change: Change) -> None:
    """Replace the documents of a change; nothing is there before the writer's commit."""
    name = change.repository

    def delete(field: str, term: str) -> None:
        call_writer(writer.delete_documents_by_term, field, term)

    if change.whole or change.before is None:
        delete("repo", name)
    for path in (*change.gone, *(file.path for file in change.files)):
        delete("label", _file_label(name, path))
    delete("label", as_label("held", name))
    files_of = ((each.path, each.documents) for each in change.files)
    _add(writer, name, Held(change.commit, FORM), files_of)


def _add(
    writer: tantivy.IndexWriter,
    repository: str,
    held: Held,
    new: Iterable[tuple[FilePath, Iterable[dict[str, Any]]]],
) -> None:
    def documents() -> Iterator[tantivy.Document]:
        for path, all_fields in new:
            label = _file_label(repository, path)
            for line, fields in enumerate(all_fields):
                own = {"repo": repository, "tie": _tie(repository, path, line)}
                own["label"] = f"{fields['label']} {label}"
                yield schema.as_document({**fields, **own}, _schema())
        label = f"{_HELD} {as_label('held', repository)}"
        row = [json.dumps(held).encode()]
        yield schema.as_document({"label": label, "repo": repository, "row": row}, _schema())

    add_documents(writer, documents())


def _files_of(
    searcher: tantivy.Searcher, repository: str
) -> Iterator[tuple[FilePath, Iterable[dict[str, Any]]]]:
    """The documents of a repository's files, made again from their rows."""
    asked = Query.boolean_query(
        [(Occur.Must, _term("repo", repository)), (Occur.MustNot, _term("label", _HELD))]
    )
    documents = (call_engine(searcher.doc, address) for address in _addresses(searcher, asked))
    rows = [replace(schema.parse_row(bytes(each["row"][0])), copied=True) for each in documents]
    for path, group in groupby(schema.in_file_order(rows), key=lambda row: row.entry.path):
        of_file = list(group)
        usual = most_used([row.language for row in of_file], ENGLISH)
        yield path, schema.document_fields(path, of_file, usual)


def _with_numbers(searcher: tantivy.Searcher, found: Sequence[Any]) -> list[FleetCandidate]:
    addresses = [address for _, address in found]
    columns = [
        call_engine(searcher.fast_field_values, name, addresses) if addresses else ()
        for name in (*NUMBERS, "tie")
    ]
    candidates = [
        FleetCandidate(
            score=score,
            tie=tie,
            numbers=dict(zip(NUMBERS, numbers, strict=True)),
            key=(searcher, address),
        )
        for (score, address), *numbers, tie in zip(found, *columns, strict=True)
    ]
    return sorted(candidates, key=lambda each: (-round(each.score, _TIED), each.tie))


def _readable_query(asked: Query, readable: Readable) -> Query:
    if readable is None:
        return asked
    mine = Query.const_score_query(Query.term_set_query(_schema(), "repo", list(readable)), 0.0)
    return Query.boolean_query([(Occur.Must, asked), (Occur.Must, mine)])


def _file_label(repository: str, path: str) -> str:
    return as_label("of", f"{repository}\0{encodable(path)}")


def _tie(repository: str, path: str, line: int) -> int:
    place = f"{repository}\0{encodable(path)}\0{line}".encode()
    return int.from_bytes(blake2b(place, digest_size=7).digest())
