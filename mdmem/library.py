"""The library: `mdmem.open`, and a `Memory` whose verbs take keywords and make the records of them.

`import mdmem` loads this at the first use of a name.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast, overload

from mdmem import memory
from mdmem.memory import hosts
from mdmem.model import Source
from mdmem.model.history import FactHistory, SectionHistory, ShowHistory
from mdmem.model.prompts import BuildContext, ContextBlock
from mdmem.model.reads import SectionView, Show
from mdmem.model.rules import require_unreserved
from mdmem.model.searches import Search, SearchResult
from mdmem.model.writes import EditSection, Forget, Log, Remember, WriteOptions, WriteResult
from mdmem.startup.records import replace
from mdmem.workspace import find_workspace, open_at

P = ParamSpec("P")
T = TypeVar("T")


class Options(TypedDict, total=False):
    """The keywords of every write: the fields of `WriteOptions`."""

    source: Source | str
    confidence: float | None
    actor: str | None
    session: str | None
    reason: str | None
    supersedes: str | None
    dry_run: bool
    allow: Collection[str]


def _fields(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The values as records have them. Raises ValueError (a source that is none)."""
    read: dict[str, Callable[[Any], Any]] = {
        "source": lambda name: name if name is None else Source(name),
        "tags": lambda tags: (tags,) if isinstance(tags, str) else tuple(tags),
        "allow": frozenset,
    }
    return {name: read.get(name, lambda value: value)(keywords[name]) for name in keywords}


def _asked(kind: type[T], given: object, name: str, keywords: Mapping[str, Any]) -> T:
    """The record that was given, with these fields, or a new one with `given` for `name`."""
    if isinstance(given, kind):
        return cast("T", replace(cast("Any", given), **_fields(keywords)))
    return kind(**{name: given}, **_fields(keywords))


class OpenedMemory(memory.Memory):
    """A workspace and what can be done with it; a context manager. Made by `mdmem.open`.

    A verb makes the record of its keywords, and takes the record itself where it only reads. It
    raises MdmemError, ValueError for a source that is none, TypeError for an unknown keyword.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _options(self, given: Options) -> WriteOptions:
        session = self._workspace.environment.get("MDMEM_SESSION") or None
        return WriteOptions(**{"session": session, **_fields(given)})

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        also: bool = False,
        kind: str | None = None,
        tags: Sequence[str] = (),
        file: str | None = None,
        section: str | None = None,
        create: bool = False,
        until: str | None = None,
        **options: Unpack[Options],
    ) -> WriteResult:
        """Put a fact into a curated file, by default MEMORY.md; committed when this returns."""
        return self.apply(
            Remember(
                text=text,
                file=file,
                section=section,
                create=create,
                key=key,
                also=also,
                kind=kind,
                until=until,
                **_fields({"tags": tags}),
                options=self._options(options),
            )
        )

    def log(
        self,
        text: str,
        *,
        fact: bool = False,
        kind: str | None = None,
        tags: Sequence[str] = (),
        day: str | None = None,
        time: str | None = None,
        again: bool = False,
        **options: Unpack[Options],
    ) -> WriteResult:
        """Append an entry to a day's log, by default today's; `fact`: of the kind `fact`."""
        return self.apply(
            Log(
                text=text,
                kind=kind or ("fact" if fact else None),
                day=day,
                time=time,
                again=again,
                **_fields({"tags": tags}),
                options=self._options(options),
            )
        )

    def forget(
        self,
        fact: str,
        *,
        file: str | None = None,
        section: str | None = None,
        everywhere: bool = False,
        **options: Unpack[Options],
    ) -> WriteResult:
        """Remove a fact, named by its text, id or a prefix of that; history keeps it."""
        return self.apply(
            Forget(
                fact=fact,
                file=file,
                section=section,
                everywhere=everywhere,
                options=self._options(options),
            )
        )

    def edit(
        self,
        section: str | None,
        *,
        body: str | None = None,
        append: str | None = None,
        prepend: str | None = None,
        replace: str | None = None,
        replacement: str | None = None,
        rename: str | None = None,
        delete: bool = False,
        file: str | None = None,
        create: bool = False,
        after: str | None = None,
        nth: int | None = None,
        expect: str | None = None,
        subtree: bool = False,
        **options: Unpack[Options],
    ) -> WriteResult:
        """Change a section, or (None) the text before the first, in one of six ways.

        These are `body`, `append`, `prepend`, `replace` with `replacement`, `rename`, `delete`.
        """
        return self.apply(
            EditSection.of(
                section,
                preamble=section is None,
                body=body,
                append=append,
                prepend=prepend,
                replace=replace,
                replacement=replacement,
                rename=rename,
                delete=delete,
                file=file,
                create=create,
                after=after,
                nth=nth,
                expect=expect,
                subtree=subtree,
                options=self._options(options),
            )
        )

    @overload
    def search(self, query: Search) -> SearchResult: ...
    @overload
    def search(
        self,
        query: str = "",
        *,
        limit: int = 8,
        file: str | None = None,
        section: str | None = None,
        kind: str | None = None,
        tags: Sequence[str] = (),
        actor: str | None = None,
        session: str | None = None,
        source: Source | str | None = None,
        since: str | None = None,
        until: str | None = None,
        min_confidence: float | None = None,
        recent_days: int | None = None,
        history: bool = False,
        as_of: str | None = None,
        explain: bool = False,
        sessions: bool = False,
        words_only: bool = False,
        days: bool = True,
    ) -> SearchResult: ...
    def search(self, query: Search | str = "", **narrowing: Any) -> SearchResult:
        """Find the entries that answer a query best."""
        return super().search(_asked(Search, query, "query", narrowing))

    @overload
    def show(self, section: Show) -> SectionView: ...
    @overload
    def show(
        self,
        section: str | None = None,
        file: str | None = None,
        *,
        nth: int | None = None,
        preamble: bool = False,
    ) -> SectionView: ...
    def show(
        self, section: Show | str | None = None, file: str | None = None, **which: Any
    ) -> SectionView:
        """Read a section or, without one, a whole file, by default MEMORY.md."""
        return super().show(_asked(Show, section, "section", _named(file, which)))

    @overload
    def history(self, section: ShowHistory) -> SectionHistory | FactHistory: ...
    @overload
    def history(
        self,
        section: str | None = None,
        file: str | None = None,
        *,
        nth: int | None = None,
        limit: int = 20,
        preamble: bool = False,
    ) -> SectionHistory | FactHistory: ...
    def history(
        self, section: ShowHistory | str | None = None, file: str | None = None, **which: Any
    ) -> SectionHistory | FactHistory:
        """Show how a section or a fact changed; without either, of a file or of all memory."""
        return super().history(_asked(ShowHistory, section, "target", _named(file, which)))

    @overload
    def context(self, prompt: BuildContext, without_pool: bool = False) -> ContextBlock: ...
    @overload
    def context(
        self,
        prompt: str | None = None,
        without_pool: bool = False,
        *,
        session: str | None = None,
        tokens: int | None = None,
    ) -> ContextBlock: ...
    def context(
        self,
        prompt: BuildContext | str | None = None,
        without_pool: bool = False,
        **block: Any,
    ) -> ContextBlock:
        """The block for a prompt, or (None) for the start of a session; `tokens` at most."""
        fields = {"budget" if name == "tokens" else name: block[name] for name in block}
        return super().context(_asked(BuildContext, prompt, "prompt", fields), without_pool)


def _named(file: str | None, keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    return keywords if file is None else {**keywords, "file": file}


Memory = OpenedMemory


def open(  # noqa: A001 - as one says it: mdmem.open
    path: Path | str | None = None,
    *,
    actor: str | None = None,
    session: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> OpenedMemory:
    """Open the workspace in a folder that the caller vouches for.

    Without a path it is that of MDMEM_WORKSPACE or the current folder, and only if the user has
    adopted it. `actor` and `session` are those of all calls that name none; `environment` is the
    process's by default.

    Raises WorkspaceProblem (`no-workspace`, `not-adopted`, `bad-settings`, `reserved-actor`),
    RepositoryProblem (`not-a-repository`, `broken-repository`, `bare-repository`).
    """
    given = {"MDMEM_ACTOR": actor, "MDMEM_SESSION": session}
    variables = {**(os.environ if environment is None else environment)}
    variables |= {name: value for name, value in given.items() if value is not None}
    require_unreserved(actor or "")
    workspace = open_at(find_workspace(None if path is None else Path(path), variables), variables)
    if path is None and not workspace.is_adopted:
        raise hosts.not_adopted()
    return OpenedMemory(workspace)


Verb = Callable[Concatenate["AsyncMemory", P], Coroutine[Any, Any, T]]


def _awaited(
    method: Callable[Concatenate[OpenedMemory, P], T], *, in_turn: bool = True
) -> Verb[P, T]:
    async def call(memory: AsyncMemory, /, *args: P.args, **keywords: P.kwargs) -> T:
        async with memory.writing if in_turn else nullcontext():
            return await asyncio.to_thread(method, memory.memory, *args, **keywords)

    return wraps(method)(call)


class AsyncMemory:
    """The verbs of a `Memory` to be awaited, each in a thread, writes one after another.

    It belongs to one event loop.
    """

    def __init__(self, memory: OpenedMemory) -> None:
        self.memory = memory
        self.writing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        self.memory.close()

    apply = _awaited(OpenedMemory.apply)
    remember = _awaited(OpenedMemory.remember)
    log = _awaited(OpenedMemory.log)
    forget = _awaited(OpenedMemory.forget)
    edit = _awaited(OpenedMemory.edit)
    search = _awaited(OpenedMemory.search, in_turn=False)
    show = _awaited(OpenedMemory.show, in_turn=False)
    history = _awaited(OpenedMemory.history, in_turn=False)
    context = _awaited(OpenedMemory.context, in_turn=False)
    facts = _awaited(OpenedMemory.facts, in_turn=False)
