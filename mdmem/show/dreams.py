"""Results of `dream`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mdmem import secrets
from mdmem.addresses import join_path
from mdmem.model.dreams import MOST_STANDING_PARTS, TOO_MANY_WAIT, DreamChange, DreamOp, DreamResult
from mdmem.show.formatting import one_line
from mdmem.wording import number_of, verb

_SIGNS = {DreamOp.ADD: "+", DreamOp.UPDATE: "~", DreamOp.DELETE: "-", DreamOp.NONE: " "}


def dream_json(result: DreamResult) -> dict[str, Any]:
    """A night as an object."""
    return {
        "run": result.run,
        "days": [day.isoformat() for day in result.days],
        "changes": [_change_json(change) for change in result.changes],
        "requests": result.requests,
        "bytes": result.size,
        "tokens": result.tokens,
        "refused": result.refused,
        "outcome": result.outcome,
        "message": result.message,
    }


def _change_json(change: DreamChange) -> dict[str, Any]:
    return {
        "op": change.op.value,
        "fact": change.fact,
        "old": change.old,
        "path": change.path,
        "section": join_path(change.section),
        "text": secrets.redact(change.text) if change.op is DreamOp.NONE else change.text,
        "source": change.source.value,
        "applied": change.applied,
        "why": change.why,
        "cites": list(change.cites),
        "commit": change.commit if change.applied else None,
        "proposal": change.proposal,
    }


def dream_text(result: DreamResult) -> str:
    """The changes, a line each, a line of figures, and a line for each reason why entries are left."""
    return "\n".join(one_line(line) for line in _lines(result))


def _lines(result: DreamResult) -> Iterator[str]:
    for change in result.changes:
        if change.op is not DreamOp.NONE:
            fate = "" if change.applied else ", proposed" if change.proposal else ", to be proposed"
            cites = f"; {', '.join(change.cites)}" if change.cites else ""
            yield f"{_SIGNS[change.op]} {change.fact} {change.text}  ({change.source.value}{fate}: {change.why}{cites})"
    changes = [change for change in result.changes if change.op is not DreamOp.NONE]
    applied = sum(change.applied for change in changes)
    reasons = Counter(change.why for change in result.changes if change.op is DreamOp.NONE)
    yield f"{result.run}: {applied} applied, {len(changes) - applied} proposed, {reasons.total()} skipped"
    for why, count in reasons.most_common():
        yield f"  {count} skipped: {why}"
    if result.requests:
        refused = f", {number_of(result.refused, 'suggestion')} refused" if result.refused else ""
        yield f"model: {number_of(result.requests, 'request')} ({result.size:,} bytes, {result.tokens:,} tokens){refused}"


def dream_notes(result: DreamResult) -> tuple[str, ...]:
    """Lines for the user besides."""
    notes = [result.message] if result.message else []
    if surplus := sum(change.why == TOO_MANY_WAIT for change in result.changes):
        notes.append(f"{number_of(surplus, 'entry', 'entries')} more not proposed; up to {MOST_STANDING_PARTS} can be open at once.")
    if any(change.proposal for change in result.changes):
        notes.append(f"To review: {verb('proposals')}. To accept everything: {verb('accept')} {result.run}")
    return tuple(notes)
