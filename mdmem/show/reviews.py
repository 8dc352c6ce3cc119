"""Proposals as text and as JSON; a person sees every character, invisible ones too."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from mdmem.model.errors import number_of, shell_word
from mdmem.model.proposals import (
    SEVERAL_VALUES,
    DecidedItem,
    ListDecision,
    PartOp,
    PartState,
    PartView,
    ProposalList,
    ProposalView,
    ProposedHit,
    ProposedWrite,
)
from mdmem.model.rules import BLANK
from mdmem.past.differences import DiffKind, word_difference
from mdmem.show.formatting import named_commit
from mdmem.show.writes import proposed_line, write_text
from mdmem.text.document import join_path

_INDENT = "    "
# invisible, though they count as letters, marks or symbols; with compatible forms
_INVISIBLE = BLANK | frozenset("\u3164\uffa0")
_SIGNS = {
    PartOp.ADD: "+",
    PartOp.UPDATE: "~",
    PartOp.DELETE: "-",
    PartOp.RETRACT: "-",
    PartOp.CONFIRM: "=",
    PartOp.SECTION: "#",
}


def visible(text: str, keep: str = "\n") -> str:
    """Show by number each character that is invisible, steers a terminal or changes text order.

    That includes variation selectors and emoji joiners: a proposed text may hide words in them.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or not _is_hidden(c) else f"<U+{ord(c):04X}>" for c in text)


def _is_hidden(character: str) -> bool:
    if character in _INVISIBLE or not (
        character.isprintable() or unicodedata.category(character) == "Zs"
    ):
        return True
    return (
        unicodedata.category(character) == "Zs" and character not in " \u3000"
    ) or "VARIATION SELECTOR" in unicodedata.name(character, "")


def shown_line(text: str) -> str:
    return visible(" ".join(text.splitlines()), keep="")


# What a verb proposed.


def proposed_text(done: ProposedWrite, fact: str | None = None) -> str:
    if not done.repeats and (done.result.diff is not None or not done.result.changed):
        return write_text(done.result, fact)
    return proposed_line(done.result, done.proposal, fact)


# Proposals.


def proposals_json(listed: ProposalList, now: datetime) -> dict[str, Any]:
    numbered = listed.numbered
    return {
        "proposals": [_summary_json(view, now) for view in listed.views],
        "unreadable": listed.unreadable,
        "stamp": numbered.stamp or None,
        "items": numbered.items,
        "unlisted": numbered.unlisted,
    }


def _summary_json(view: ProposalView, now: datetime) -> dict[str, Any]:
    states = Counter(part.state for part in view.parts)
    waiting = [part for part in view.parts if part.state.waits]
    return {
        "proposal": view.id,
        "actor": view.actor,
        "branch": view.branch,
        "since": view.since,
        "days": _days(view.since, now),
        "parts": len(waiting),
        "added": sum(part.new is not None for part in waiting),
        "removed": sum(part.old is not None for part in waiting),
        "fresh": states[PartState.OPEN],
        "overtaken": states[PartState.OVERTAKEN],
        "duplicates": [
            {"part": part.name, "fact": part.duplicate_of} for part in waiting if part.duplicate_of
        ],
        "contradicts": [
            {"part": part.name, "fact": part.contradicts} for part in waiting if part.contradicts
        ],
        "reason": view.reason,
    }


def _days(since: datetime, now: datetime) -> int:
    return max(0, (now.date() - since.date()).days)


def proposal_text(view: ProposalView) -> str:
    head = f"{view.id} {shown_line(view.actor)}" + (
        f": {shown_line(view.reason)}" if view.reason else ""
    )
    others = (
        [f"not memory, left alone: {', '.join(map(shown_line, view.others))}"]
        if view.others
        else []
    )
    return "\n".join([head, *(line for part in view.parts for line in _part_lines(part)), *others])


def _part_lines(part: PartView) -> Iterator[str]:
    where = f"{part.path}: {join_path(part.section)}" if part.section else part.path
    shown = "outdated" if part.state is PartState.OVERTAKEN else part.state
    state = "" if part.state is PartState.OPEN else f" ({shown})"
    yield f"{_SIGNS[part.op]} {shown_line(part.name)} {shown_line(where)}{state}"
    if part.op is PartOp.UPDATE and part.old is not None and part.new is not None:
        yield from _indented(_words(part.old, part.new))
    else:
        yield from _indented("\n".join([*_signed("- ", part.old), *_signed("+ ", part.new)]))
    if part.state is PartState.OVERTAKEN:
        yield from _indented("\n".join(_signed("now: ", part.standing or "nothing")))
    origin = part.origin
    details = [
        f"{origin.source}, {origin.confidence:g}",
        *([f"because {shown_line(origin.reason)}"] if origin.reason else []),
        *origin.cites,
    ]
    yield f"{_INDENT}{shown_line('; '.join(details))}"
    if part.state.waits and part.duplicate_of:
        yield f"{_INDENT}already in memory, as {part.duplicate_of}"
    if part.state.waits and part.contradicts:
        yield f"{_INDENT}would contradict {part.contradicts}"


def _words(old: str, new: str) -> str:
    """Two wordings as one text: what goes in [-…-], what comes in {+…+}."""
    marks = {DiffKind.KEPT: ("", ""), DiffKind.OUT: ("[-", "-]"), DiffKind.IN: ("{+", "+}")}
    return "".join(
        f"{marks[kind][0]}{visible(text)}{marks[kind][1]}"
        for kind, text in word_difference(old, new)
    )


def _signed(sign: str, text: str | None) -> list[str]:
    return (
        []
        if text is None
        else [f"{sign}{line}" for line in visible(text.replace("\r\n", "\n")).split("\n")]
    )


def _indented(text: str) -> list[str]:
    return [f"{_INDENT}{line}" for line in text.split("\n")]


# Decisions on one proposal.


def decision_json(decision: ListDecision, accepts: bool) -> dict[str, Any]:
    decided = (
        {"accepted": decision.accepted, "overtaken": decision.overtaken}
        if accepts
        else {"rejected": [each.part.name for each in decision.rejected]}
    )
    is_rejected = bool(decision.rejected) and not decision.dry_run
    return {
        "changed": is_rejected or any(each.result.changed for each in decision.accepted),
        "proposal": decision.proposal,
        **decided,
        "commits": decision.commits,
        "closed": bool(decision.closed),
    }


def accepted_text(decision: ListDecision) -> str:
    if decision.dry_run:
        lines = [write_text(each.result) for each in decision.accepted]
        return "\n".join(lines) or "nothing to accept"
    lines = [
        f"accepted {shown_line(_with_place(each.part))}{named_commit(each.result.commit)}"
        for each in decision.accepted
    ]
    return "\n".join(lines or [f"nothing to accept in {decision.proposal}"])


def decision_notes(decision: ListDecision) -> tuple[str, ...]:
    accept = f"mdmem review --accept {shell_word(decision.proposal)}"
    left = [
        f"{part.name} is outdated. To accept it anyway: {accept} {shell_word(part.name)} --anyway"
        for part in decision.overtaken
    ]
    return (
        *(note for each in decision.accepted for note in each.result.notes),
        *left,
        *([f"{decision.proposal} is closed; nothing is left to decide"] if decision.closed else []),
    )


def _with_place(part: PartView) -> str:
    return f"{part.name} into {part.path}{f': {join_path(part.section)}' if part.section else ''}"


def rejected_text(decision: ListDecision) -> str:
    verb = "would reject" if decision.dry_run else "rejected"
    lines = [
        f"{verb} {_with_text(each.part)}{named_commit(each.result.commit)}"
        for each in decision.rejected
    ]
    return "\n".join(lines or [f"nothing to reject in {decision.proposal}"])


def _with_text(part: PartView) -> str:
    return f"{shown_line(part.name)}: {shown_line(part.new or part.old or '')}"


# Decisions by number.


def list_decision_text(decision: ListDecision, accepts: bool) -> str:
    if decision.dry_run:
        lines = [write_text(each.result) for each in decision.accepted]
        lines += [f"would reject {_numbered_text(each)}" for each in decision.rejected]
    else:
        lines = [f"accepted {_numbered_text(each)}" for each in decision.accepted]
        lines += [f"superseded {_short_text(part)}" for _, part in decision.superseded]
        lines += [f"rejected {_numbered_text(each)}" for each in decision.rejected]
    return "\n".join(dict.fromkeys(lines)) or f"nothing to {'accept' if accepts else 'reject'}"


def _numbered_text(each: DecidedItem) -> str:
    return f"item {each.number}: {_short_text(each.part)}{named_commit(each.result.commit)}"


def _short_text(part: PartView) -> str:
    is_section = part.op is PartOp.SECTION
    text = shown_line(join_path(part.section) if is_section else part.new or part.old or "")
    return f"removal of {text}" if part.op is PartOp.DELETE else text


def list_decision_notes(decision: ListDecision, accepts: bool) -> tuple[str, ...]:
    command = "accept" if accepts else "reject"
    lines = [note for each in decision.accepted for note in each.result.notes]
    for why, anyway in dict.fromkeys((left.why, left.anyway) for left in decision.left):
        same = [left for left in decision.left if (left.why, left.anyway) == (why, anyway)]
        numbers = [str(left.number) for left in same if left.number]
        if numbers:
            takes_newest = accepts and why == SEVERAL_VALUES
            lines.append(
                f"left item{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {why}."
                f" To {command} {'the newest' if takes_newest else 'anyway'}: mdmem {command}"
                f" {' '.join(numbers)}{' --anyway' if anyway else ''}"
            )
        else:
            count = len(same)
            lines.append(
                f"left {number_of(count, 'item')} {why}. To list them: mdmem review --proposals"
            )
    return tuple(lines)


# Hits.


def hits_text(hits: Sequence[ProposedHit]) -> str:
    return "\n".join(
        f"{hit.proposal} {_SIGNS[hit.part.op]} {shown_line(f'{hit.part.name} {hit.part.path}')}:"
        f" {shown_line(hit.part.new or hit.part.old or '')}"
        for hit in hits
    )
