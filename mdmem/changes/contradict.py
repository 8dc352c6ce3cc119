"""What is said of two facts without changing a text: that they contradict each other, or that they do not."""

from __future__ import annotations

from mdmem import history
from mdmem.catchup import trail_update
from mdmem.document import preamble_etag, section_etag
from mdmem.errors import FactProblem
from mdmem.model import FactId, FileKind, Op, Provenance
from mdmem.model.trail import MarkKind
from mdmem.model.writes import Contradict, Resolve
from mdmem.queries import lookup
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class MarkPlan:
    """What a commit is to say; `changes` is False where that has been said and still holds. `etag` is of the section of the first fact."""

    note: history.CommitNote
    etag: str
    changes: bool


def plan_mark(workspace: Workspace, change: Contradict | Resolve) -> MarkPlan:
    """What a mark of two facts comes to.

    Raises:
        FactProblem: `fact-not-found`, `fact-ambiguous`; `same-fact`: both name one fact.
    """
    kinds = tuple(FileKind)
    places = [
        lookup.require_one_location(
            workspace,
            lookup.current_locations(workspace, lookup.locate_fact(workspace, name, kinds)),
            name,
            "mdmem forget takes out those that are not meant.",
        )
        for name in (change.one, change.other)
    ]
    (path, document, first), (_, _, second) = places
    pair = first.fact.id, second.fact.id
    if pair[0] == pair[1]:
        raise FactProblem("same-fact", f"{change.one!r} and {change.other!r} are the same fact")
    resolves = isinstance(change, Resolve)
    note = history.CommitNote(
        Op.RESOLVE if resolves else Op.CONTRADICT,
        path,
        document.path_at(first.start),
        Provenance(),
        contradicts=() if resolves else (pair,),
        resolves=(pair,) if resolves else (),
    )
    kind = MarkKind.RESOLVED if resolves else MarkKind.CONTRADICTS
    section = document.section_at(first.start)
    etag = section_etag(document, section) if section else preamble_etag(document)
    return MarkPlan(note, etag, _last_said(workspace, pair) is not kind)


def _last_said(workspace: Workspace, pair: tuple[FactId, FactId]) -> MarkKind | None:
    with trail_update.fresh_trail(workspace) as known:
        said = [mark.kind for mark in known.pair_marks() if {mark.one, mark.other} == set(pair)]
    return said[-1] if said else None
