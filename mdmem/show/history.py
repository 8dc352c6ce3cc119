"""Results of looking back: histories, who brought in which line, when a text stood where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mdmem.addresses import join_path
from mdmem.errors import printable
from mdmem.history.differences import DiffKind, line_difference, word_difference
from mdmem.model import Source
from mdmem.model.history import Blame, BlamedLine, FactHistory, FactLink, PresenceView, RevisionView, SectionHistory, TextHistory
from mdmem.show.formatting import PLAIN, dim, iso, one_line, section_line, short_id

Marked = tuple[DiffKind, str]

_OUT, _IN = "\x1b[31m", "\x1b[32m"
_CONTEXT_LINES = 2
_INDENT = "    "


# The history of a section.


def history_json(found: SectionHistory | FactHistory) -> dict[str, Any]:
    """What a section or a fact said before."""
    if isinstance(found, FactHistory):
        return {"fact": found.fact, "status": found.status, "chain": [_link_json(link) for link in found.chain]}
    return {"path": found.path, "section": join_path(found.section), "revisions": [_revision_json(one) for one in found.revisions]}


def _revision_json(one: RevisionView) -> dict[str, Any]:
    end = "\r\n" if "\r\n" in one.before + one.text else "\n"
    before, text = (said and said.rstrip("\r\n") + end for said in (one.before, one.text))  # a revision's last line has no line end
    return {
        "commit": one.commit,
        "time": one.time.isoformat(),
        "author": one.author,
        "actor": one.actor,
        "op": one.op,
        "source": one.source,
        "confidence": one.confidence,
        "reason": one.reason,
        "diff": line_difference(before, text),
        "text": one.text,
        "claimed_by": one.claimed_by,
        "path": one.path,
        "section": join_path(one.section),
    }


def history_text(found: SectionHistory | FactHistory, words: bool, colour: bool) -> str:
    """What a section or a fact said before, a line a change; with `words` what each changed, word by word."""
    if isinstance(found, FactHistory):
        return "\n".join(_chain_lines(found.chain, words, colour))
    return "\n".join(text for one in found.revisions for text in _revision_lines(one, found, words, colour)).rstrip("\n")


def _revision_lines(one: RevisionView, found: SectionHistory, words: bool, colour: bool) -> Iterator[str]:
    where = "" if (one.path, one.section) == (found.path, found.section) else f"  {_place(one.path, one.section)}"
    yield dim(one_line(f"{one.time:%Y-%m-%d}  {_who(one)}{where}"), colour)
    if words:
        yield from _changed(one.before, one.text, colour)
        yield ""


def _who(one: RevisionView | FactLink) -> str:
    """Which commit it was, what that did, who says so, how surely and why."""
    plain = one.op is not None and (one.source, one.confidence) == (Source.INFERRED, Source.INFERRED.confidence)
    by_hand = one.op is None
    actor = one.actor or (one.author if by_hand else "")
    claimed = f" (claimed by {one.claimed_by})" if one.claimed_by else ""
    said = (
        "by hand" if by_hand else str(one.op),
        "" if plain or by_hand else f"{one.source}{claimed} {one.confidence:g}",
        f"by {actor}" if actor and not by_hand else actor,
    )
    reason = f', "{one.reason}"' if one.reason else ""
    return f"{short_id(one.commit)}  {', '.join(filter(None, said))}{reason}"


def _tabbed(text: str) -> str:
    """A line of a file; its tabs stay."""
    return printable(text, keep="\t")


def _place(path: str, section: tuple[str, ...]) -> str:
    return f"{path}: {section_line(section)}" if section else path


# The history of a fact.


def _link_json(link: FactLink) -> dict[str, Any]:
    return {
        "id": link.id,
        "text": link.text,
        "from": link.start.isoformat(),
        "to": iso(link.end),
        "source": link.source,
        "confidence": link.confidence,
        "commit": link.commit,
        "path": link.path,
        "section": join_path(link.section),
        "status": link.status,
        "author": link.author,
        "actor": link.actor,
        "op": link.op,
        "reason": link.reason,
        "claimed_by": link.claimed_by,
    }


def _chain_lines(chain: Sequence[FactLink], words: bool, colour: bool) -> Iterator[str]:
    for before, link in zip((None, *chain), chain, strict=False):
        until = f"{link.end:%Y-%m-%d}" if link.end else " " * len("2026-03-05")
        yield one_line(f"{link.start:%Y-%m-%d} - {until}  {link.id}  {' '.join(link.text.split())}  ({link.status})")
        yield dim(one_line(f"{_INDENT}{_who(link)}  {_place(link.path, link.section)}"), colour)
        if words and before is not None and before.end == link.start:
            yield from _changed(before.text, link.text, colour)


# Word by word.


def _changed(before: str, after: str, colour: bool) -> Iterator[str]:
    """What differs between two texts, word by word, with some lines around it."""
    rows = list(_rows(word_difference(before, after)))
    told = [any(piece is not DiffKind.KEPT for piece, _ in row) for row in rows]
    near = [any(told[max(0, n - _CONTEXT_LINES) : n + _CONTEXT_LINES + 1]) for n in range(len(rows))]
    for n, row in enumerate(rows):
        if near[n]:
            yield (_INDENT + "".join(_marked(piece, _tabbed(text), colour) for piece, text in row)).rstrip()
        elif n and near[n - 1] and any(near[n:]):
            yield f"{_INDENT}…"


def _rows(pieces: Iterable[Marked]) -> Iterator[list[Marked]]:
    """A difference line by line."""
    row: list[Marked] = []
    for piece, text in pieces:
        *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for part in whole:
            yield [*row, (piece, part)]
            row = []
        if rest:
            row.append((piece, rest))
    if row:
        yield row


def _marked(piece: DiffKind, text: str, colour: bool) -> str:
    if not text or piece == "kept":
        return text
    if colour:
        return f"{_OUT if piece == 'out' else _IN}{text}{PLAIN}"
    return f"[-{text}-]" if piece == "out" else f"{{+{text}+}}"


# Line by line, and by text.


def blame_json(found: Blame) -> dict[str, Any]:
    """Which commit brought in each line of a section."""
    rows = (
        {
            "line": one.line,
            "text": one.text,
            "commit": one.commit,
            "time": iso(one.time),
            "author": one.author,
            "source": one.source,
            "confidence": one.confidence,
        }
        for one in found.lines
    )
    return {"path": found.path, "section": join_path(found.section), "lines": list(rows)}


def blame_text(found: Blame, colour: bool) -> str:
    """Each line of a section behind its commit, day and source."""
    width = max((len(one.source or "") for one in found.lines), default=0)
    return "\n".join(f"{dim(_brought(one, width), colour)}  {_tabbed(one.text)}".rstrip() for one in found.lines)


def _brought(one: BlamedLine, width: int) -> str:
    if one.commit is None or one.time is None:
        return "uncommitted".ljust(len("0123456789 2026-03-05 ") + width)
    return f"{short_id(one.commit)} {one.time:%Y-%m-%d} {one.source or '':<{width}}"


def presences_json(found: TextHistory) -> dict[str, Any]:
    """When a text stood where."""
    rows = (
        {
            "path": stay.path,
            "section": join_path(stay.section),
            "came": stay.came,
            "came_at": iso(stay.came_at),
            "went": stay.went,
            "went_at": iso(stay.went_at),
        }
        for stay in found.stays
    )
    return {"text": found.text, "stays": list(rows)}


def presences_text(found: TextHistory) -> str:
    """When a text stood where, a line each, the commits that it came and went with named."""
    return "\n".join(map(_stay_text, found.stays))


def _stay_text(stay: PresenceView) -> str:
    went = f"went {stay.went_at:%Y-%m-%d} with {short_id(stay.went)}" if stay.went_at else "and stands"
    return one_line(f"{_place(stay.path, stay.section)}  came {stay.came_at:%Y-%m-%d} with {short_id(stay.came)}, {went}")
