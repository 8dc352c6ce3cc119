"""Marks on two facts: that they contradict each other, or do not. No text changes."""

from __future__ import annotations

from collections.abc import Callable

from mdmem.changes.commit_notes import commit_note, complete_options, with_provenance
from mdmem.changes.recover import lock_workspace, recover
from mdmem.lookup import lookup
from mdmem.model import FactId, FileKind, Op, Provenance
from mdmem.model.errors import FactProblem, field, shell_word, verb
from mdmem.model.trail import MarkKind
from mdmem.model.writes import Contradict, Resolve, WriteResult
from mdmem.past import fresh_trail
from mdmem.past.messages import CommitNote
from mdmem.queries.conflicts import NamedPart, PartPair, part_pairs
from mdmem.startup.records import dataclass, replace
from mdmem.text import check
from mdmem.text.document import preamble_etag, section_etag
from mdmem.text.fact_names import names_any
from mdmem.text.facts import own_fact
from mdmem.workspace import Say, Workspace


@dataclass(frozen=True, slots=True)
class _MarkPlan:
    """A mark to make; `changes` is False if it is in force. `etag`: the first fact's section."""

    note: CommitNote
    etag: str
    changes: bool


def apply(workspace: Workspace, change: Contradict | Resolve, say: Say) -> WriteResult:
    """Mark two facts as contradicting each other, or as not doing so. Raises: MdmemError."""
    options = complete_options(workspace, change.options)
    with lock_workspace(workspace, say):
        recover(workspace, say)
        plan = _plan_mark(workspace, change)
        check.refuse_errors(check.secrets_in_options(options), options.allow)
        writes = plan.changes and not options.dry_run
        commit = (
            commit_note(workspace, with_provenance(workspace, plan.note, options))
            if writes
            else None
        )
    return WriteResult(
        changed=plan.changes,
        path=plan.note.path,
        section=plan.note.section,
        etag=plan.etag,
        commit=commit,
        diff="" if options.dry_run else None,
        op=plan.note.op,
    )


def _plan_mark(workspace: Workspace, change: Contradict | Resolve) -> _MarkPlan:
    """Raises: FactProblem (`fact-not-found`, `fact-ambiguous`, `same-fact`)."""
    if isinstance(change, Resolve) and (parts := _named_parts(workspace, change)):
        first, second = parts.first, parts.second
        return _mark_plan(workspace, first, (first.id, second.id), resolves=True)
    kinds = tuple(FileKind)
    resolves = isinstance(change, Resolve)
    command = verb("conflicts", "resolve") if resolves else verb("contradicts")

    def locate(name: str, named: Callable[[FactId], str]) -> lookup.FactLocation:
        current = lookup.current_locations(
            workspace, lookup.locate_fact(workspace, name, kinds, keys=True)
        ) or [
            replace(place, item=replace(place.item, fact=own_fact(place.item)))
            for place, _ in lookup.locate_nested(workspace, name, lookup.MEMORY)
        ]
        hint = f"To remove the wrong ones: {verb('forget')} ID {field('file')} FILE"
        return lookup.require_one_location(workspace, current, name, named, hint)

    locations = [
        locate(change.first, lambda fact: f"{command} {fact} {shell_word(change.second)}"),
        locate(change.second, lambda fact: f"{command} {shell_word(change.first)} {fact}"),
    ]
    place = locations[0]
    pair = place.item.fact.id, locations[1].item.fact.id
    if pair[0] == pair[1]:
        raise FactProblem("same-fact", f"{change.first!r} and {change.second!r} are the same fact")
    return _mark_plan(workspace, place, pair, resolves)


def _named_parts(workspace: Workspace, change: Resolve) -> PartPair | None:
    names = (change.first, change.second)
    with fresh_trail(workspace) as trail:
        for pair in part_pairs(workspace, trail):
            for ids in ((pair.first.id, pair.second.id), (pair.second.id, pair.first.id)):
                if all(names_any(name, (part,)) for name, part in zip(names, ids, strict=True)):
                    return pair
    return None


def _mark_plan(
    workspace: Workspace,
    place: lookup.FactLocation | NamedPart,
    pair: tuple[FactId, FactId],
    resolves: bool,
) -> _MarkPlan:
    document = place.document
    line = place.line if isinstance(place, NamedPart) else place.item.start
    note = CommitNote(
        op=Op.RESOLVE if resolves else Op.CONTRADICT,
        path=place.path,
        section=document.path_at(line),
        provenance=Provenance(),
        contradicts=() if resolves else (pair,),
        resolves=(pair,) if resolves else (),
    )
    kind = MarkKind.RESOLVED if resolves else MarkKind.CONTRADICTS
    section = document.section_at(line)
    etag = section_etag(document, section) if section else preamble_etag(document)
    return _MarkPlan(note, etag, _mark_in_force(workspace, pair) is not kind)


def _mark_in_force(workspace: Workspace, pair: tuple[FactId, FactId]) -> MarkKind | None:
    with fresh_trail(workspace) as trail:
        kinds = [mark.kind for mark in trail.pair_marks() if {mark.fact, mark.other} == set(pair)]
    return kinds[-1] if kinds else None
