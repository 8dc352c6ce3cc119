"""Plan a change of a file in its current state, and check it; nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from mdmem.changes.commit_notes import marked_places
from mdmem.changes.file_write import Plan
from mdmem.changes.verbs import (
    EditedText,
    FileEdit,
    RevertEdit,
    foundations,
    verb_of,
    writer_of,
)
from mdmem.editors import EditResult
from mdmem.editors import facts as fact_editor
from mdmem.editors.fact_difference import FactDifference, fact_difference
from mdmem.editors.list_items import Foundation, Foundations
from mdmem.folder import files
from mdmem.folder.layout import guarded_kind, is_markdown
from mdmem.lookup import lookup
from mdmem.lookup.lookup import FactLocation
from mdmem.model import FactId, FileKind, FilePath, Op, Source, Supersession
from mdmem.model.errors import RepositoryProblem, field
from mdmem.model.writes import Forget, Remember, WriteOptions
from mdmem.startup.records import replace
from mdmem.text import check
from mdmem.text.document import Document, decode, parse, parse_bytes
from mdmem.text.facts import Item, items
from mdmem.workspace import Workspace

_MOST_FACTS, _MOST_NAMED, _QUOTED = 20, 3, 60
_PROPOSABLE = frozenset({"log", "remember", "forget", "edit-section"})
_SOURCE_WORDS = {
    Source.INFERRED: "an inferred",
    Source.AUTO: "an automatic",
    Source.USER_STATED: "a claimed",
}
"""A weaker source before its noun; what the user stated is weaker only where an agent claims it."""


def plan_edit(
    workspace: Workspace, edit: FileEdit, path: FilePath, *, proposes: bool = False
) -> Plan:
    """Plan an edit (`proposes` is for its notes); nothing is written. Raises: MdmemError."""
    full_path = files.path_on_disk(workspace.root, path)
    before = lookup.read_file(workspace, path, full_path)
    check.refuse_recalled(verb_of(edit).new_texts(edit), before)
    old = workspace.parse(path, before) if before is not None else None
    edited = foundations.edit_and_supersede(workspace, edit, path, old)
    result = edited.result
    decode(result.text.encode())
    new = workspace.parse(path, result.text)
    facts = _changed_facts(result.op, path, old, new)
    derived = () if result.also or result.op is Op.REVERT else facts.supersedes
    pairs = tuple(dict.fromkeys((*result.supersedes, *derived)))
    stated, ended, companion = _stated_supersession(workspace, edit, edited, facts, pairs)
    plan = Plan(
        path=path,
        full_path=full_path,
        before=before,
        old=old,
        new=new,
        edit=result,
        added=_added(result.op, facts.added, edited.fact),
        removed=tuple(item.fact.id for item in facts.removed),
        supersedes=tuple(dict.fromkeys((*pairs, *stated))),
        ended=ended,
        retracts=edited.retracts,
        marks=bool(stated or ended or edited.retracts or result.confirms),
        actor=edit.options.actor,
        companion=companion,
        fact=edited.fact,
    )
    restored = tuple(item.fact.text for item in facts.added) if plan.op is Op.REVERT else ()
    plan = replace(plan, replaced=_replaced_texts(plan, facts.removed), restored=restored)
    try:
        plan, notes = _with_places(workspace, edit, plan)
    except RepositoryProblem as problem:
        notes = [f"cannot tell which log entries say the same: {problem.message}"]
    warnings = _check(workspace, edit.options, plan)
    bases = [] if edited.foundations is None else [edited.foundations]
    options, decided = edit.options, verb_of(edit).decides(edit)
    better = [] if decided else _find_better_founded(workspace, options, plan, facts.removed, bases)
    notes += [each.note for each in bases if each.note]
    if better:
        warnings = (*warnings, "weaker-source")
        note = _weaker_source_note(options.source, better, bool(plan.added), proposes)
        notes.append(note + _advice_to_person(workspace, edit))
    states = facts.added if isinstance(edit, Remember) else ()
    notes += _expired_notes(workspace, states) if states else []
    if (before is None or states) and not workspace.kind_of(path).is_memory:
        warnings = (*warnings, "not-memory")
        notes.append(
            f"not-memory: {path} is not searched; move it below memory/, or add it to paths in"
            " mdmem.toml"
        )
    notes += edited.notes
    plan = replace(plan, warnings=warnings, notes=tuple(dict.fromkeys(notes)))
    plan = _with_links(workspace, plan, edited.others) if plan.op is Op.LINKS else plan
    if not proposes and workspace.is_agent(writer_of(edit)):
        _require_permitted(workspace, edit, plan)
    return plan


def _require_permitted(workspace: Workspace, edit: FileEdit, plan: Plan) -> None:
    workspace.require_permitted(
        writer_of(edit),
        [(each.path, each.before, each.after) for each in plan.files],
        marked_places(
            workspace,
            {*plan.retracts, *plan.ended, *(pair.old for pair in plan.supersedes)}.difference(
                *(each.removed for each in plan.files)
            ),
        ),
        edit.verb in _PROPOSABLE and workspace.kind_of(plan.path).is_memory,
    )


def _with_links(workspace: Workspace, plan: Plan, texts: Iterable[tuple[FilePath, str]]) -> Plan:
    """The plan with the other files whose links change, and the pairs of facts in all of them."""
    others = []
    for path, text in texts:
        full_path = files.path_on_disk(workspace.root, path)
        before = files.read(full_path) or b""
        others.append(
            Plan(
                path=path,
                full_path=full_path,
                before=before,
                old=parse_bytes(before),
                new=parse(text),
                edit=EditResult(text=text, op=Op.LINKS, section=()),
                actor=plan.actor,
            )
        )
    pairs = (
        Supersession(old.fact.id, new.fact.id)
        for each in (plan, *others)
        if each.old
        for old, new in zip(items(each.old), items(each.new), strict=True)
        if old.fact.id != new.fact.id
    )
    return replace(plan, others=tuple(others), supersedes=tuple(dict.fromkeys(pairs)))


def _added(op: Op, added: Iterable[Item], stated: FactId | None) -> tuple[FactId, ...]:
    """In the order of the file; of a log's, which may come with a template, the stated one last."""
    facts = [item.fact.id for item in added]
    return tuple(sorted(facts, key=lambda fact: op is Op.LOG and fact == stated))


def _changed_facts(op: Op, path: FilePath, old: Document | None, new: Document) -> FactDifference:
    """None of a renamed section, mdmem's instructions, and files that are not Markdown."""
    if op in (Op.RENAME, Op.LINKS, Op.INIT) or not is_markdown(path):
        return FactDifference()
    return fact_difference(old, new)


def _expired_notes(workspace: Workspace, added: Iterable[Item]) -> list[str]:
    today = workspace.now().date()
    return [
        f"the fact has expired already: its last day was {item.fact.until}"
        for item in added
        if item.fact.until is not None and item.fact.until < today
    ]


def _with_places(workspace: Workspace, edit: FileEdit, plan: Plan) -> tuple[Plan, list[str]]:
    if workspace.contents is not None or isinstance(edit, RevertEdit):
        return plan, []
    if isinstance(edit, Forget):
        forgotten, also, notes = _forgotten_places(
            workspace, edit, plan.path, plan.old, plan.new, (*plan.removed, *plan.retracts)
        )
        is_log = workspace.kind_of(plan.path) is FileKind.DAILY
        marked = [each for each in forgotten if each.path != plan.path and not is_log]
        places, in_logs = (tuple(map(_place, each)) for each in (forgotten, marked))
        return replace(plan, forgotten=places, also=also, marked=in_logs), notes
    over = {*plan.added, *plan.ended, *(pair.old for pair in plan.supersedes)}
    gone = [fact for fact in plan.removed if fact not in over]
    if not gone or workspace.kind_of(plan.path) is FileKind.DAILY:
        return plan, []
    return plan, _still_logged(workspace, gone)


def _forgotten_places(
    workspace: Workspace,
    edit: Forget,
    path: FilePath,
    before: Document | None,
    after: Document,
    facts: Sequence[FactId],
) -> tuple[list[FactLocation], tuple[str, ...], list[str]]:
    """The forgotten line and its log copies, lines that still state it, and notes on those."""
    assert before is not None  # it contains the fact
    if not facts:
        return [], (), []
    fact = facts[0]
    is_log = workspace.kind_of(path) is FileKind.DAILY
    logs = lookup.log_copies(workspace, fact)
    own = (
        logs[:1]
        if is_log
        else [FactLocation(path, before, item) for item in fact_difference(before, after).removed]
    )
    if is_log and edit.is_of_copy:
        own = [each for each in logs if each.path == path][:1]
    elsewhere = [
        each for each in lookup.locate_fact(workspace, fact, lookup.EDITABLE) if each.path != path
    ]
    elsewhere += [] if is_log else lookup.locate_in(path, after, fact)
    copies = [each for each in logs if all(each is not one for one in own)]
    kept = copies if edit.is_of_copy else []
    forgotten = own if edit.is_of_copy else [*own, *copies]
    notes = [f"the fact is still in {_listed(map(_named_place, elsewhere))}"] if elsewhere else []
    notes += [_unchanged_note(kept)] if kept else []
    return (
        forgotten,
        tuple(map(_named_place, [*elsewhere, *kept])),
        notes,
    )


def _still_logged(workspace: Workspace, facts: Sequence[FactId]) -> list[str]:
    copies = (lookup.log_copies(workspace, fact) for fact in facts[:_MOST_FACTS])
    return [
        _unchanged_note(logs, f' "{" ".join(logs[0].item.fact.text.split())[:_QUOTED]}"')
        for logs in islice(filter(None, copies), _MOST_NAMED)
    ]


def _unchanged_note(logs: Sequence[FactLocation], name: str = "") -> str:
    entry = f"entry{name} is" if len(logs) == 1 else f"entries{name} are"
    return f"the log {entry} unchanged and still current: {_listed(map(_place, logs))}"


def _listed(places: Iterable[str]) -> str:
    first, rest = (every := list(places))[:_MOST_NAMED], len(every) - _MOST_NAMED
    return "; ".join([*first, f"{rest} more"] if rest > 0 else first)


def _place(location: FactLocation) -> str:
    return f"{location.path}:{location.item.start + 1}"


def _named_place(location: FactLocation) -> str:
    section = location.document.path_at(location.item.start)
    return f"{_place(location)}, {section[-1]}" if section else _place(location)


def _find_better_founded(
    workspace: Workspace,
    options: WriteOptions,
    plan: Plan,
    removed: Sequence[Item],
    bases: list[Foundations],
) -> list[tuple[Item, Foundation]]:
    """Foundations that had to be looked up are added to `bases`."""
    over = {*plan.retracts, *plan.ended, *(pair.old for pair in plan.supersedes)} - {
        fact for each in plan.files for fact in each.removed
    }
    if (
        not (removed or over or plan.companion)
        or not foundations.own_foundation(workspace, options).may_be_weaker
    ):
        return []
    better = []
    gone = [item for item in removed if item.fact.id not in plan.added]
    if plan.old and gone:
        if not (bases and all(item.start in bases[0].by_line for item in gone)):
            bases.append(
                foundations.find_foundations(workspace, plan.path, plan.old, gone, options)
            )
        better = [(item, bases[-1].of(item)) for item in gone if bases[-1].is_better(item)]
    elsewhere = [] if plan.companion is None else _removed_locations(plan.companion)
    for fact in over:
        elsewhere += lookup.current_locations(
            workspace, lookup.locate_fact(workspace, fact, (FileKind.DAILY,))
        )
    for location in elsewhere:
        bases.append(
            foundations.find_foundations(
                workspace, location.path, location.document, [location.item], options
            )
        )
        item = location.item
        better += [(item, bases[-1].of(item))] if bases[-1].is_better(item) else []
    return better


def _weaker_source_note(
    source: Source, better: Sequence[tuple[Item, Foundation]], replaces: bool, would: bool
) -> str:
    is_users = all(each.source is Source.USER_STATED and not each.claimed for _, each in better)
    lost = f"something {'the user stated' if is_users else 'better supported'}"
    kind = _SOURCE_WORDS[source]
    done = (
        f"{'would replace' if would else 'replaced'} {lost} with {kind} value"
        if replaces
        else f"{kind} change {'would remove' if would else 'removed'} {lost}"
    )
    named = "; ".join(
        f"{item.fact.id} {item.fact.text.splitlines()[0][:_QUOTED]}"
        for item, _ in better[:_MOST_NAMED]
    )
    return f"weaker-source: {done}: {named}"


def _advice_to_person(workspace: Workspace, edit: FileEdit) -> str:
    if edit.options.pipeline is not None or workspace.is_agent(edit.options.actor):
        return ""
    source = f"{field('source')} {Source.USER_STATED.value}"
    return f" (if you say so yourself: {field('vouch') if edit.verb == 'accept' else source})"


def _removed_locations(plan: Plan) -> list[lookup.FactLocation]:
    document = plan.old or plan.new
    return [
        lookup.FactLocation(plan.path, document, item)
        for item in fact_difference(plan.old, plan.new).removed
    ]


def _stated_supersession(
    workspace: Workspace,
    edit: FileEdit,
    edited: EditedText,
    facts: FactDifference,
    pairs: Iterable[Supersession],
) -> tuple[tuple[Supersession, ...], tuple[FactId, ...], Plan | None]:
    """Return the pair, or the fact that ends without a successor; `pairs` are not stated again.

    The plan removes that fact from another file, if it is in one.
    """
    if edit.options.supersedes is None:
        return (), (), None
    successor = edited.fact or (facts.added[-1].fact.id if facts.added else None)
    old, location = edited.superseded, None
    if old is None:
        old, location = foundations.fact_to_supersede(workspace, edit, facts.removed, successor)
    companion = _plan_removal(workspace, edit.options, location) if location else None
    if companion and companion.edit.supersedes:
        return companion.edit.supersedes, (), companion
    if old is None or old == successor or any(pair.old == old for pair in pairs):
        return (), (), companion
    return (
        ((Supersession(old, successor),), (), companion) if successor else ((), (old,), companion)
    )


def _replaced_texts(plan: Plan, removed: Iterable[Item]) -> tuple[str, ...]:
    if plan.op is Op.REVERT:
        return tuple(item.fact.text for item in removed)
    superseded = {pair.old for pair in plan.supersedes}
    elsewhere = _removed_locations(plan.companion) if plan.companion else ()
    gone = (*removed, *(each.item for each in elsewhere))
    return tuple(item.fact.text for item in gone if item.fact.id in superseded)


def _plan_removal(
    workspace: Workspace, options: WriteOptions, location: lookup.FactLocation
) -> Plan:
    document = location.document
    result = fact_editor.forget_at(document, location.item)
    new = document.reparse(result.text)
    plan = Plan(
        path=location.path,
        full_path=files.path_on_disk(workspace.root, location.path),
        before=document.text.encode(),
        old=document,
        new=new,
        edit=result,
        removed=tuple(item.fact.id for item in fact_difference(document, new).removed),
        actor=options.actor,
    )
    return replace(plan, warnings=_check(workspace, options, plan))


def _check(workspace: Workspace, options: WriteOptions, plan: Plan) -> tuple[str, ...]:
    """Return the codes that are let through; mdmem's edits may shrink the section they name."""
    if not plan.changes:
        return ()
    problems = check.find_errors(
        plan.path,
        plan.before,
        plan.after,
        guarded_kind(plan.path, workspace.kind_of(plan.path)),
        is_note=workspace.is_note(plan.path),
    )
    in_text = map(check.in_given_text, problems)
    check.refuse_errors(
        [*in_text, *check.secrets_in_options(options)], options.allow | {"shrink", "append"}
    )
    return tuple(dict.fromkeys(problem.code for problem in problems if problem.level == "error"))
