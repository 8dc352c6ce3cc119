"""LangGraph's store on a workspace: a namespace is a file, an item a section. `MdmemStore`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import eq, ge, gt, le, lt, ne
from threading import Lock
from typing import Any, cast
from urllib.parse import unquote

from mdmem.changes.verbs import EditedText, Verb
from mdmem.editors import EditResult
from mdmem.folder import installed, layout
from mdmem.memory import Memory
from mdmem.model import FilePath, SectionPath
from mdmem.model import Op as Operation
from mdmem.model.errors import PathProblem
from mdmem.model.searches import MAX_HITS, Search
from mdmem.model.writes import WriteOptions
from mdmem.startup.records import dataclass
from mdmem.text import stored_items
from mdmem.text.document import Document, parse
from mdmem.workspace import Workspace

installed.require_packages(
    ("langgraph", "langgraph.store"), "the store needs its extra", "langgraph"
)
# behind the line that says what is missing
from langgraph.store.base import (  # noqa: E402
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

_ACTOR = "langgraph"  # where the memory has none
_OPERATORS = {"$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_WIDER = 4
_Namespace = tuple[str, ...]
_Placed = tuple[SectionPath, SearchItem]


@dataclass(frozen=True, slots=True)
class PutItems:
    """Write the texts of items into their file; None removes one."""

    verb = "put-items"
    home = "langgraph"

    path: FilePath
    bodies: Mapping[str, str | None]
    options: WriteOptions


def _edit(
    workspace: Workspace, change: PutItems, path: FilePath, document: Document | None
) -> EditedText:
    old = document or parse(f"# {path.rpartition('/')[2].removesuffix('.md')}\n")
    text = stored_items.put(old, change.bodies)
    key, *others = change.bodies
    item = stored_items.items(parse(text)).get(key) or stored_items.items(old).get(key)
    removes = all(body is None for body in change.bodies.values())
    operation = Operation.DELETE if removes else Operation.REPLACE
    section = () if others or item is None else item.path
    return EditedText(result=EditResult(text=text, op=operation, section=section))


VERB = Verb(
    file=lambda workspace, change: layout.parse_path(change.path),
    edit=_edit,
    new_texts=lambda change: tuple(filter(None, change.bodies.values())),
    appends=lambda change: False,
)


class MdmemStore(BaseStore):
    """A store of LangGraph in a workspace, below `memory/store` (docs/library.md).

    Raises MdmemError where a write is refused, ValueError for a namespace, key or value that a file
    cannot keep, NotImplementedError for `ttl` and for `index` with fields; nothing is written then,
    but where a batch is refused in its second file, its first one is.
    """

    __slots__ = ("_memory", "_writing")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory.reading_with(None)
        self._writing = Lock()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `batch`, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer the reads, then write: one commit a file, of a key the last value."""
        asked = list(ops)
        puts: dict[FilePath, dict[str, str | None]] = {}
        for op in asked:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                puts.setdefault(_path_of(op.namespace), {})[op.key] = _body_of(op)
        results = [self._answer(op) for op in asked]
        with self._writing:
            for path, bodies in puts.items():
                self._put(path, bodies)
        return results

    def _put(self, path: FilePath, bodies: Mapping[str, str | None]) -> None:
        workspace = self._memory.workspace
        if any(body is not None for body in bodies.values()) or (workspace.root / path).exists():
            session = workspace.environment.get("MDMEM_SESSION") or None
            options = WriteOptions(actor=workspace.actor or _ACTOR, session=session)
            self._memory.apply(cast("Any", PutItems(path, bodies, options)))

    def _answer(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = [each for each in self._items(op.namespace) if each[1].key == op.key]
                return next(map(_without_score, self._dated(found)), None)
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._list_namespaces(op)
        return None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found: Iterable[_Placed] = (
            self._ranked(op.query, op)
            if op.query and op.query.strip()
            else (
                each for name in self._namespaces(op.namespace_prefix) for each in self._items(name)
            )
        )
        passing = [each for each in found if _passes(each[1].value, op.filter or {})]
        return self._dated(passing[op.offset : op.offset + op.limit])

    def _ranked(self, query: str, op: SearchOp) -> list[_Placed]:
        """The items with a hit, best first; `op.filter` may leave out any of them."""
        path, root = _path_of(op.namespace_prefix), self._memory.workspace.root
        places = [each for each in (path, path.removesuffix(".md")) if (root / each).exists()]
        wanted = op.offset + op.limit
        limit = MAX_HITS if op.filter else min(max(wanted, 1), MAX_HITS)
        while True:
            answers = [
                self._memory.search(Search(query=query, limit=limit, file=each)).hits
                for each in places
            ]
            hits = sorted(sum(answers, ()), key=lambda hit: (hit.near, -hit.score))
            items = {
                (path, section): (section, item)
                for path in {hit.path for hit in hits}
                for section, item in self._items(_namespace_of(path))
            }
            found: dict[tuple[str, SectionPath], _Placed] = {}
            for hit in hits:
                around = ((hit.path, hit.section[:depth]) for depth in range(len(hit.section) + 1))
                for place in filter(items.get, around):
                    if found.setdefault(place, items[place])[1].score is None:
                        items[place][1].score = hit.score
            is_whole = all(len(answer) < limit for answer in answers) or limit == MAX_HITS
            if len(found) >= wanted or is_whole:
                return list(found.values())
            limit = min(_WIDER * limit, MAX_HITS)

    def _list_namespaces(self, op: ListNamespacesOp) -> list[_Namespace]:
        names = [
            name
            for name in self._namespaces()
            if all(_fits(each, name) for each in op.match_conditions or ()) and self._items(name)
        ]
        return sorted({name[: op.max_depth] for name in names})[op.offset : op.offset + op.limit]

    def _namespaces(self, prefix: Sequence[str] = ()) -> list[_Namespace]:
        root, path = self._memory.workspace.root, _path_of(prefix)
        files = (root / path, *(root / path.removesuffix(".md")).rglob("*.md"))
        names = (each.relative_to(root).as_posix() for each in files if each.is_file())
        return sorted(_namespace_of(name) for name in names if _is_own(name))

    def _items(self, namespace: Sequence[str]) -> list[_Placed]:
        """The items of a file, as if they were written now, each with its section."""
        try:
            text = self._memory.look(_path_of(namespace))
        except PathProblem as problem:
            if problem.code != "file-not-found":
                raise
            text = ""
        document, now = parse(text if isinstance(text, str) else ""), datetime.now(UTC)
        items = []
        for key, section in stored_items.items(document).items():
            value, _ = stored_items.read(stored_items.body_of(document, section))
            item = SearchItem(
                namespace=tuple(namespace), key=key, value=value, created_at=now, updated_at=now
            )
            items.append((section.path, item))
        return items

    def _dated(self, found: Sequence[_Placed]) -> list[SearchItem]:
        """Items with the times of the first and the last commit that changed each, if any has."""
        for name in {item.namespace for _, item in found}:
            sections = [section for section, item in found if item.namespace == name]
            times = self._memory.section_times(_path_of(name), sections)
            for section, item in found:
                if item.namespace == name and section in times:
                    item.created_at, item.updated_at = times[section]
        return [item for _, item in found]


def _without_score(item: SearchItem) -> Item:
    return Item(
        value=item.value,
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _path_of(namespace: Sequence[str]) -> FilePath:
    return FilePath(f"{'/'.join((layout.STORE, *map(stored_items.file_name, namespace)))}.md")


def _namespace_of(path: str) -> _Namespace:
    return tuple(map(unquote, path.removesuffix(".md").split("/")[2:]))


def _is_own(path: str) -> bool:
    try:
        return path == _path_of(_namespace_of(path))
    except ValueError:
        return False


def _body_of(op: PutOp) -> str | None:
    if op.ttl is not None:
        raise NotImplementedError("ttl is not supported: an item stays until it is deleted")
    if op.index:
        raise NotImplementedError("index with fields is not supported: all of an item is searched")
    try:
        stored_items.title_of(op.key)
        return None if op.value is None else stored_items.write(op.value)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(f"the item {op.key[:80]!r} cannot be kept: {problem}") from problem


def _fits(condition: MatchCondition, name: _Namespace) -> bool:
    path = tuple(condition.path)
    part = name[: len(path)] if condition.match_type == "prefix" else name[len(name) - len(path) :]
    return len(part) == len(path) and all(b in ("*", a) for a, b in zip(part, path, strict=True))


def _passes(value: Any, condition: Any) -> bool:
    """True for a value with what a filter asks for; keys may be dotted."""
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_compares(value, name, condition[name]) for name in condition)
        return isinstance(value, Mapping) and all(
            _passes(_at(value, name), condition[name]) for name in condition
        )
    if isinstance(condition, list | tuple) and isinstance(value, list):
        return len(value) == len(condition) and all(map(_passes, value, condition))
    return bool(value == condition)


def _at(value: Any, name: str) -> Any:
    if not isinstance(value, Mapping) or name in value:
        return value.get(name) if isinstance(value, Mapping) else None
    first, dot, rest = name.partition(".")
    return _at(value.get(first), rest) if dot else None


def _compares(value: Any, name: str, other: Any) -> bool:
    if name not in _OPERATORS:
        raise ValueError(f"Unsupported operator: {name}")
    if name in ("$eq", "$ne"):
        return bool(_OPERATORS[name](value, other))
    try:
        return bool(_OPERATORS[name](float(value), float(other)))
    except (TypeError, ValueError, OverflowError):
        return False
