"""The forms of the page: each calls memory on behalf of the reader, and reports in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from secrets import token_urlsafe
from typing import Any, TypeAlias
from urllib.parse import urlencode

from mdmem.memory import Memory
from mdmem.model import CommitId, FactId, FileKind, Source, Status
from mdmem.model.errors import (
    FactProblem,
    HistoryProblem,
    MdmemError,
    ProposalProblem,
    RefusedChange,
    SectionProblem,
    UsageProblem,
    failure_json,
    number_of,
    typed,
)
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.proposals import Decide, ItemChoice, ListDecision, Selection
from mdmem.model.searches import Hit, ListFacts
from mdmem.model.writes import (
    Forget,
    LikeFact,
    Log,
    Remember,
    Resolve,
    Revert,
    Save,
    WriteOptions,
    WriteResult,
)
from mdmem.page.pages import COMMIT, Done, Page, Reader, address_parts, failure_title, own_path
from mdmem.page.views.review import Card, ReviewItem, ReviewValue, cards
from mdmem.startup.records import replace
from mdmem.text.document import join_path
from mdmem.text.facts import shortened

Fields: TypeAlias = Mapping[str, str]

MAX_LINES = 32
"""Maximum number of result lines kept until a page shows them."""
_MAX_QUOTED = 80
_STALE = (FactProblem, HistoryProblem, ProposalProblem, RefusedChange, SectionProblem)
"""Failures that mean that memory is not, or no longer, as the page showed it."""
_ADDING = ("log", "remember")
"""Forms that depend on the typed text only, not on what a page showed."""


def do(reader: Reader, verb: str, fields: Fields) -> str | Page:
    """Carry out a form: the address to go on to, or a page that asks again. Raises MdmemError."""
    action = _ACTIONS.get(verb)
    if action is None:
        raise UsageProblem(f"unknown form {verb[:80]!r}")
    with reader.memory.record_call(f"page-{verb}", None) as event:
        done = action(reader, fields)
        if isinstance(done, Page):
            event.done(changed=False)
            return done
        event.done(commit=CommitId(done.commit.split()[0]) if done.commit else None)
    name = token_urlsafe(9)
    reader.done[name] = done
    while len(reader.done) > MAX_LINES:
        reader.done.pop(next(iter(reader.done)), None)
    return _back({**fields, "back": done.address or fields.get("back", "")}, name)


def refused_page(
    reader: Reader, problem: MdmemError, status: int, verb: str, fields: Fields
) -> Page:
    fact = FactId(fields.get("fact", ""))
    is_replaced = fact and is_stale(verb, problem)
    current = reader.memory.successors((fact,)).get(fact, fact) if is_replaced else fact
    title = failure_title(0 if isinstance(problem, RefusedChange) else status)
    return _ask_again(
        verb,
        {**fields, "fact": current},
        title=title,
        status=status,
        told=failure_json(problem, typed),
    )


def is_stale(verb: str, problem: MdmemError) -> bool:
    return verb not in _ADDING and isinstance(problem, _STALE)


def _ask_again(
    verb: str,
    fields: Fields,
    title: str,
    status: int,
    told: Mapping[str, Any],
    like: Sequence[LikeFact] = (),
) -> Page:
    return Page(
        template="refused",
        title=title,
        values={
            "verb": verb,
            "fields": {name: fields.get(name, "") for name in _TYPED},
            "message": told["message"],
            "hint": told["hint"],
            "like": like,
        },
        data=told,
        back=_back(fields),
        status=status,
    )


_TYPED = ("text", "reason", "key", "kind", "section", "fact")


def _back(fields: Fields, done: str = "") -> str:
    """The address to go back to; `done` names the result to show there."""
    address, _, place = own_path(fields.get("back", "")).partition("#")
    path, query = address_parts(address)
    pairs = [pair for pair in query if pair[0] != "done"] + ([("done", done)] if done else [])
    asked = f"?{urlencode(pairs, errors='surrogateescape')}" if pairs else ""
    return f"{path}{asked}#{place}" if place else f"{path}{asked}"


def _need(fields: Fields, name: str) -> str:
    if value := fields.get(name, "").strip():
        return value
    raise UsageProblem(f"the form has no {name}")


def _person(fields: Fields) -> WriteOptions:
    return WriteOptions(source=Source.USER_STATED, reason=fields.get("reason", "").strip() or None)


def _done(line: str, text: str, result: WriteResult) -> Done:
    return Done(f"{line}: {shortened(' '.join(text.split()), _MAX_QUOTED)}", result.commit or "")


# Proposals.


def _decide(reader: Reader, fields: Fields) -> Done:
    """Decide on parts of one proposal, all or none; a name without a part means all of it."""
    proposals, proposal = reader.memory.proposals, _need(fields, "proposal")
    asked = [each.partition(":") for each in _need(fields, "do").split("\n")]
    asked = [each for each in asked if not each[2]][:1] or asked
    decisions = {decision for decision, _, _ in asked}
    if decisions - set(_DECISIONS) or len(decisions) > 1:
        raise UsageProblem("a proposal is accepted or rejected")
    decision, _, first = asked[0]
    listed = proposals.standing()
    card = next((card for card in cards(listed) if card.view.id == proposal), None)
    named = [_named(card, part) for _, _, part in asked] if card and first else []
    if card is None or None in named:
        raise _moved(proposal)
    chosen = [each for each in named if each is not None]
    shown = {card.shown, *(item.shown for item, _ in chosen[: 2 - len(chosen)])}
    if fields.get("tip", "") != card.view.tip or fields.get("shown", "") not in shown:
        raise _moved(proposal)
    accepts = decision == "accept"
    if first:
        choices = tuple(_choice(decision, item, value) for item, value in chosen)
    else:
        choices = tuple(ItemChoice(number=each.number) for each in card.plain) if accepts else ()
    decided = proposals.decide(
        Decide(
            choices=choices,
            selection=None if choices else Selection(proposal=proposal),
            accepts=accepts,
            stamp=listed.numbered.stamp or None,
            anyway=accepts and any(not value.row.is_fresh for _, value in chosen),
            leaves=not chosen,
            expect=((proposal, card.view.tip),),
        )
    )
    if decided.moved is not None:
        raise _moved(proposal)
    done = _decided(decided, chosen[0][1] if len(chosen) == 1 else None, accepts)
    is_closed = proposal in decided.closed
    return replace(done, address=reader.links.review()) if is_closed else done


_DECISIONS = ("accept", "reject", "reject-item")


def _named(card: Card, part: str) -> tuple[ReviewItem, ReviewValue] | None:
    for item in card.items:
        for value in item.values:
            if (value.listed.proposal, value.listed.view.name) == (card.view.id, part):
                return item, value
    return None


def _choice(decision: str, item: ReviewItem, value: ReviewValue) -> ItemChoice:
    """One value of an item, or (`reject-item`) all of them."""
    place = None if decision == "reject-item" or not item.is_rival else item.values.index(value)
    return ItemChoice(number=item.number, value=place, accepts=decision == "accept")


def _decided(decided: ListDecision, value: ReviewValue | None, accepts: bool) -> Done:
    commit = " ".join(reversed(decided.commits)) if decided.accepted else ""
    word = "Accepted" if accepts else "Rejected"
    if value is None:
        left = f", left {len(decided.left)}" if decided.left else ""
        count = len(decided.accepted) + len(decided.rejected)
        return Done(f"{word} {number_of(count, 'change')}{left}", commit)
    removal = "" if decided.rejected or value.row.kind != "removed" else " the removal of"
    closed = len(decided.superseded)
    closing = f" ({number_of(closed, 'other value')} closed)" if closed else ""
    return Done(f"{word}{removal}: {shortened(value.row.label, _MAX_QUOTED)}{closing}", commit)


def _moved(proposal: str) -> ProposalProblem:
    return ProposalProblem(
        "proposals-moved",
        f"proposal {proposal} has changed since this page was loaded; nothing was done",
        "Look at it again before you decide.",
    )


# Contradictions.


def _keep(reader: Reader, fields: Fields) -> Done:
    kept, other = _pair(reader, _need(fields, "fact"), _need(fields, "other"))
    result = reader.memory.apply(
        Forget(fact=_need(fields, "other"), file=other.path, options=_person(fields))
    )
    return _done("Kept", kept.text, result)


def _both(reader: Reader, fields: Fields) -> Done:
    names = _need(fields, "first"), _need(fields, "second")
    text, result = _pair(reader, *names)[0].text, reader.memory.apply(Resolve(*names))
    return _done("Kept both, they do not contradict each other", text, result)


def _pair(reader: Reader, fact: str, other: str) -> tuple[Hit, Hit]:
    for conflict in reader.memory.conflicts().conflicts:
        pair = conflict.first, conflict.second
        for one, another in (pair, pair[::-1]):
            if (one.fact, another.fact) == (fact, other):
                return one, another
    raise FactProblem(
        "fact-not-found",
        "these two do not contradict each other any more; nothing was done",
        "Look at them again before you decide.",
    )


# Facts.


def _replace(reader: Reader, fields: Fields) -> Done:
    memory, text = reader.memory, _need(fields, "text")
    fact = _current(memory, fields)
    options = replace(_person(fields), supersedes=fact.fact)
    change: Log | Remember = (
        Log(text=text, kind=fact.kind, tags=fact.tags, options=options)
        if memory.workspace.kind_of(fact.path) is FileKind.DAILY
        else Remember(
            text=text,
            file=fact.path,
            section=join_path(fact.section) or None,
            key=fact.key,
            kind=fact.kind,
            tags=fact.tags,
            options=options,
        )
    )
    result = memory.apply(change)
    return _done("Replaced by" if result.changed else "It says this already", text, result)


def _forget(reader: Reader, fields: Fields) -> Done:
    fact = _current(reader.memory, fields)
    change = Forget(fact=_need(fields, "fact"), file=fact.path, options=_person(fields))
    return _done("Forgotten", fact.text, reader.memory.apply(change))


def _current(memory: Memory, fields: Fields) -> Hit:
    name = _need(fields, "fact")
    history = memory.history(ShowHistory(target=name, by_id=True))
    if isinstance(history, FactHistory):
        listed = memory.facts(ListFacts(ids=(history.fact,), everything=True)).facts
        for status in (Status.CURRENT, Status.EXPIRED):
            if hit := next((each for each in listed if each.status is status), None):
                return hit
    raise FactProblem(
        "fact-not-found",
        f"{name[:80]} is no longer current; nothing was done",
        "Look at it again before you decide.",
    )


def _undo(reader: Reader, fields: Fields) -> Done:
    commits = _need(fields, "commit").split()
    if not all(map(COMMIT.fullmatch, commits)):
        raise UsageProblem("a change is named by its commit")
    reverts: list[str] = []
    for commit in commits:
        result = reader.memory.apply(Revert(commit))
        if not result.changed:
            raise HistoryProblem("cannot-revert", f"change {commit[:10]} was undone before", "")
        reverts.append(result.commit or "")
    return Done(
        f"Undone: change {', '.join(commit[:10] for commit in commits)}",
        " ".join(reversed(reverts)),
    )


def _save(reader: Reader, fields: Fields) -> Done:
    commit, paths = reader.memory.save(Save())
    return Done(f"Saved {', '.join(paths)}" if commit else "Nothing was left to save", commit or "")


# Adding.


def _log(reader: Reader, fields: Fields) -> Done | Page:
    kind = fields.get("kind", "").strip() or None
    change = Log(text=_need(fields, "text"), kind=kind, options=_person(fields))
    return _add(reader, "log", "Logged", fields, change)


def _remember(reader: Reader, fields: Fields) -> Done | Page:
    change = Remember(
        text=_need(fields, "text"),
        key=fields.get("key", "").strip() or None,
        section=fields.get("section", "").strip() or None,
        options=_person(fields),
    )
    return _add(reader, "remember", "Remembered", fields, change)


def _add(
    reader: Reader, verb: str, line: str, fields: Fields, change: Log | Remember
) -> Done | Page:
    """Add a text; ask first whether it replaces what it resembles, unless that was asked before."""
    preview = replace(change, options=replace(change.options, dry_run=True))
    if fields.get("anyway") or not (like := reader.memory.apply(preview).like):
        return _done(line, change.text, reader.memory.apply(change))
    told = {
        "error": "similar",
        "message": "Memory has something similar. Nothing was added yet.",
        "hint": "",
        "like": [each.fact for each in like],
    }
    return _ask_again(verb, fields, "Does it replace this?", 409, told, like)


_ACTIONS: Mapping[str, Callable[[Reader, Fields], Done | Page]] = {
    "decide": _decide,
    "keep": _keep,
    "both": _both,
    "replace": _replace,
    "forget": _forget,
    "undo": _undo,
    "save": _save,
    "log": _log,
    "remember": _remember,
}
