"""Judge pieces against a current document, and apply them by three-way merge. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto

from mdmem.editors import EditResult, daily, likeness
from mdmem.editors import facts as fact_editor
from mdmem.editors.fact_difference import fact_difference
from mdmem.editors.merge3.merging import MergeNotes, merge3
from mdmem.editors.section import append_to_section, insert_blocks, strip_blank_lines
from mdmem.model import FileKind, Op, SectionPath
from mdmem.model.rules import is_minute
from mdmem.proposals.pieces import (
    FactPiece,
    FileFacts,
    FileSource,
    ItemPlace,
    SectionPiece,
    renamed_pieces,
    same_prose,
    with_paths_of,
    written_lines,
)
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document, Section, decode, is_blank, parse, with_line_end
from mdmem.text.facts import Item, holds_key, item_text, items, nested_items, parse_item

_SAME_LINE = 0.55


class Freshness(Enum):
    FRESH = auto()
    DONE = auto()
    """The file already has all of it."""
    OVERTAKEN = auto()
    """Its place was changed since."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A piece's freshness, the items it removes, and the text now in its place, if any."""

    freshness: Freshness
    goes: tuple[Item, ...] = ()
    standing: str | None = None


# Facts.


def judge_fact(
    piece: FactPiece, base: FileFacts, now: FileFacts, is_log: bool = False
) -> Judgement:
    """Judge a fact's change; `base` is the file where the proposal began."""
    new, old = piece.new, piece.old
    if new is not None and old is not None and new.item.fact.id == old.item.fact.id:
        return _judge_labels(old, new, now)
    same = () if new is None else now.holders(new.item.fact.id, None if is_log else new.section)
    if old is None:
        return (
            Judgement(Freshness.DONE, standing=_text(same))
            if same
            else _judge_addition(piece.place, base, now, is_log)
        )
    stays = now.holders(old.item.fact.id, old.section)
    goes = stays or now.only_holder(old.item.fact.id)
    if goes:
        # An item moved meanwhile is changed there, but not removed.
        is_fresh = _merges(old, new, goes[0]) and bool(stays or new)
        return Judgement(
            Freshness.FRESH if is_fresh else Freshness.OVERTAKEN, goes[:1], _text(goes)
        )
    if same:
        return Judgement(Freshness.DONE, standing=_text(same))
    successors = _successors(old, base, now)
    if new is None and not successors:
        return Judgement(Freshness.DONE)
    if successors and any(nested_items(old.item)) and _merges(old, new, successors[0]):
        return Judgement(Freshness.FRESH, tuple(successors[:1]), _text(successors))
    return Judgement(Freshness.OVERTAKEN, tuple(successors[:1]), _text(successors))


def _judge_labels(old: ItemPlace, new: ItemPlace, now: FileFacts) -> Judgement:
    holders = now.holders(old.item.fact.id, old.section) or now.only_holder(old.item.fact.id)
    if new.item.raw.rstrip() in [item.raw.rstrip() for item in holders]:
        return Judgement(Freshness.DONE, standing=_text(holders))
    same = tuple(item for item in holders if item.raw.rstrip() == old.item.raw.rstrip()) or holders
    is_fresh = bool(same) and _merges(old, new, same[0])
    return Judgement(Freshness.FRESH if is_fresh else Freshness.OVERTAKEN, same[:1], _text(same))


def _merges(old: ItemPlace, new: ItemPlace | None, now: Item) -> bool:
    """True if label changes on both sides merge; a relabelled line cannot be removed."""
    if now.raw.rstrip() == old.item.raw.rstrip():
        return True
    lines = [
        f"{raw.rstrip()}\n".encode() for raw in (old.item.raw, now.raw, new.item.raw if new else "")
    ]
    return new is not None and merge3(lines[0], lines[1], lines[2]).notes == MergeNotes()


def _judge_addition(place: ItemPlace, base: FileFacts, now: FileFacts, is_log: bool) -> Judgement:
    if is_log:
        return Judgement(Freshness.FRESH)
    if base.has_section(place.section) and not now.has_section(place.section):
        return Judgement(Freshness.OVERTAKEN)
    rivals = [
        item
        for item in key_rivals(place, now)
        if item.fact.id not in base.ids(place.section) | place.same_key
    ]
    return (
        Judgement(Freshness.OVERTAKEN, tuple(rivals[:1]), _text(rivals))
        if rivals
        else Judgement(Freshness.FRESH)
    )


def key_rivals(place: ItemPlace, now: FileFacts) -> list[Item]:
    fact = place.item.fact
    same = now.key_holders(place.section, fact.key) if fact.key else ()
    return [item for item in same if item.fact.id != fact.id]


def _successors(old: ItemPlace, base: FileFacts, now: FileFacts) -> list[Item]:
    earlier = base.ids(old.section)
    later = [item for item in now.in_section(old.section) if item.fact.id not in earlier]
    key = old.item.fact.key
    if key and (holders := [item for item in later if holds_key(item.fact, key)]):
        return holders
    ranked = [
        (likeness.likeness(old.item.fact.text, item.fact.text), -item.start, item) for item in later
    ]
    alike, _, nearest = max(ranked, key=lambda row: row[:2], default=(0.0, 0, None))
    return [nearest] if nearest is not None and alike >= _SAME_LINE else []


def _text(stated: Sequence[Item]) -> str | None:
    return item_text(stated[0].raw).strip() if stated else None


@dataclass(frozen=True, slots=True)
class PutText:
    """A file with a piece in it, and its section; `text` is None if overtaken. `merged`: in an item
    in which other nested items have changed since.
    """

    text: str | None
    section: SectionPath
    judgement: Judgement
    merged: bool = False


def put_fact(
    piece: FactPiece,
    source: FileSource,
    now: Document,
    kind: FileKind,
    *,
    wording: str | None = None,
    is_forced: bool = False,
    keeps: bool = False,
) -> PutText:
    """Merge a fact's change into the current file `now`, as a person's `wording` if any.

    `source` is the file where the proposal began; `is_forced` overrides later changes. `keeps`: add
    the fact beside what it would replace.
    Raises: SectionProblem (`body-escapes-section`, `open-block`): other text would change.
    """
    (in_base,) = renamed_pieces([piece], {new: old for old, new in source.paths.items()})
    base, to_now = (
        (source.base, {}) if now.text == source.base.text else with_paths_of(source.base, now)
    )
    (as_now,) = renamed_pieces([in_base], to_now)
    base_facts, section = FileFacts(base), as_now.place.section
    judgement = judge_fact(as_now, base_facts, FileFacts(now), kind is FileKind.DAILY)
    if judgement.freshness is Freshness.DONE and wording is None:
        return PutText(now.text, section, judgement)
    if keeps and piece.new is not None:
        added = _take_fact(replace(as_now, old=None), (), now, kind is FileKind.DAILY, wording)
        return PutText(*added, replace(judgement, goes=()))
    is_fresh, has_base = judgement.freshness is Freshness.FRESH, base_facts.has_section(section)
    if (
        is_fresh
        and has_base
        and (text := _merge_fact(in_base, source.base, now, judgement.goes, kind, wording))
        is not None
    ):
        old = piece.old and piece.old.item.fact.id
        merged = wording is None and any(each.fact.id != old for each in judgement.goes)
        return PutText(text, section, judgement, merged)
    if not is_forced and (has_base or not is_fresh):
        return PutText(None, section, judgement)
    text, section = _take_fact(as_now, judgement.goes, now, kind is FileKind.DAILY, wording)
    if piece.new is not None and judgement.goes:
        successor = piece.fact if wording is None else parse_item(written(wording)).id
        edited = EditResult(text=text, op=Op.ACCEPT, section=section)
        text = fact_editor.hand_on_labels(edited, judgement.goes[0], successor).text
    return PutText(text, section, judgement)


def _merge_fact(
    piece: FactPiece,
    base: Document,
    now: Document,
    replaced: Sequence[Item],
    kind: FileKind,
    wording: str | None,
) -> str | None:
    """Three-way merge of a piece (under base paths); None where both changed one line.

    `replaced`: the items of `now` that may go.
    """
    goes = (piece.old.item,) if piece.old else ()
    theirs, _ = _take_fact(piece, goes, base, kind is FileKind.DAILY, wording)
    result = merge3(base.text.encode(), now.text.encode(), theirs.encode(), kind)
    if result.data is None or _notes_other_conflicts(result.notes, piece.place):
        return None
    merged = decode(result.data)
    lost = {item.fact.id for item in fact_difference(now, parse(merged)).removed}
    return merged if lost <= {item.fact.id for item in (*goes, *replaced)} else None


def _notes_other_conflicts(notes: MergeNotes, place: ItemPlace) -> bool:
    together = {place.item.fact.id, *place.same_key}
    return replace(notes, contradictions=()) != MergeNotes() or any(
        not together.issuperset(pair[:2]) for pair in notes.contradictions
    )


def _take_fact(
    piece: FactPiece, goes: Sequence[Item], document: Document, is_log: bool, wording: str | None
) -> tuple[str, SectionPath]:
    new = piece.new
    raw = None if new is None else new.item.raw.rstrip() if wording is None else written(wording)
    if raw is not None and goes:
        return _replace(document, goes[0], raw)
    for item in goes:
        return fact_editor.forget(document, item).text, document.path_at(item.start)
    if new is None or raw is None:
        return document.text, piece.place.section
    return _add(document, new, with_line_end(raw, "\n"), is_log)


def written(text: str) -> str:
    first, *rest = text.strip().replace("\r\n", "\n").split("\n")
    first = first if first.startswith(("- ", "* ", "+ ")) else f"- {first}"
    return "\n".join(
        [
            first,
            *(f"  {line}" if line.strip() and not line.startswith(" ") else line for line in rest),
        ]
    )


def _replace(now: Document, item: Item, raw: str) -> tuple[str, SectionPath]:
    ending = item.raw[len(item.raw.rstrip("\r\n")) :]
    return fact_editor.replace_item(
        now, item, with_line_end(raw, now.line_end) + ending
    ), now.path_at(item.start)


def _add(now: Document, place: ItemPlace, raw: str, is_log: bool) -> tuple[str, SectionPath]:
    if is_log and place.section and is_minute(place.section[-1]) and now.sections:
        added = daily.insert(now, {place.section[-1]: [raw]})
        return added.text, added.section
    target = next((section for section in now.sections if section.path == place.section), None)
    if target is None and place.section:
        return _with_section(now, place.section, place.headings, raw), place.section
    if (text := _behind_neighbour(now, target, place, raw)) is not None:
        return text, place.section
    if target is not None:
        return append_to_section(now, target, raw), place.section
    return insert_blocks(now, (now.preamble_end, raw)), place.section


def _behind_neighbour(
    now: Document, section: Section | None, place: ItemPlace, raw: str
) -> str | None:
    """Insert behind the nearest fact above that is still there; None: none is."""
    path = section.path if section else ()
    stands = {item.fact.id: item for item in items(now) if now.path_at(item.start) == path}
    neighbour = next((stands[fact] for fact in place.above if fact in stands), None)
    if neighbour is None or neighbour.start == max(item.start for item in stands.values()):
        return None
    line = with_line_end(raw, now.line_end) + now.line_end
    end = neighbour.end
    while end > neighbour.start and is_blank(now.lines[end - 1]):
        end -= 1
    text = now.bom + now.slice(0, end) + line + now.slice(end, len(now.lines))
    return text if len(items(parse(text))) == len(items(now)) + 1 else None


# Other text.


def judge_section(
    piece: SectionPiece, base: Document, now: FileFacts
) -> tuple[Judgement, str | None]:
    """Judge a heading's or prose change; with it the new file, None if overtaken."""
    document, old, new = now.document, piece.old, piece.new
    if old is not None and new is not None and old != new and piece.target is None:
        return _judge_renaming(piece, old, new, document)
    if new is None:
        return _judge_removal(piece, now, _prose(now, piece.section))
    if old is None:
        standing = _prose(now, new)
        if standing is None:
            return Judgement(Freshness.FRESH), _with_section(
                document, new, piece.headings, piece.after or ""
            )
        if same_prose(standing, piece.after):
            return Judgement(Freshness.DONE, standing=standing), document.text
        if standing:
            return Judgement(Freshness.OVERTAKEN, standing=standing), None
        section = next(section for section in document.sections if section.path == new)
        return Judgement(Freshness.FRESH), _with_own_text(
            document, section.body, section.end, piece.after or ""
        )
    return _judge_text(piece, base, document, _prose(now, new, old))


def _prose(now: FileFacts, *paths: SectionPath) -> str | None:
    return next((now.prose(path) for path in paths if now.has_section(path)), None)


def _judge_text(
    piece: SectionPiece, base: Document, now: Document, standing: str | None
) -> tuple[Judgement, str | None]:
    before, after, stands = (
        Counter(written_lines(text or "")) for text in (piece.before, piece.after, standing)
    )
    if same_prose(standing, piece.after):
        return Judgement(Freshness.DONE, standing=standing), now.text
    if standing is None or (before - after) - stands:
        return Judgement(Freshness.OVERTAKEN, standing=standing), None
    result = merge3(base.text.encode(), now.text.encode(), (piece.target or base.text).encode())
    if result.data is None or result.notes != MergeNotes():
        return Judgement(Freshness.OVERTAKEN, standing=standing), None
    return Judgement(Freshness.FRESH, standing=standing), decode(result.data)


def _judge_renaming(
    piece: SectionPiece, old: SectionPath, new: SectionPath, now: Document
) -> tuple[Judgement, str | None]:
    named = {section.path: section for section in now.sections}
    if old not in named:
        return (
            Judgement(
                Freshness.DONE if new in named else Freshness.OVERTAKEN,
                standing=piece.after if new in named else None,
            ),
            None,
        )
    lines = list(now.lines)
    lines[named[old].start : named[old].body] = [f"{piece.after}{now.line_end}"]
    standing = now.slice(named[old].start, named[old].body).rstrip("\r\n")
    return Judgement(Freshness.FRESH, standing=standing), now.bom + "".join(lines)


def _judge_removal(
    piece: SectionPiece, now: FileFacts, standing: str | None
) -> tuple[Judgement, str | None]:
    document = now.document
    section = now.section(piece.section)
    if standing is None or section is None:
        return Judgement(Freshness.DONE), document.text
    if not same_prose(standing, piece.before):
        return Judgement(Freshness.OVERTAKEN, standing=standing), None
    if now.in_section(piece.section) or section.tree_end > section.end:
        return Judgement(Freshness.FRESH, standing=standing), None
    text = (
        document.bom
        + document.slice(0, section.start)
        + document.slice(section.end, len(document.lines))
    )
    return Judgement(Freshness.FRESH, standing=standing), text


def _with_section(now: Document, path: SectionPath, headings: tuple[str, ...], body: str) -> str:
    depth = len(path) - 1
    while depth and not any(section.path == path[:depth] for section in now.sections):
        depth -= 1
    parent = (
        next((section for section in now.sections if section.path == path[:depth]), None)
        if depth
        else None
    )
    line = parent.tree_end if parent else len(now.lines)
    return insert_blocks(
        now, (line, "\n\n".join([*headings[depth:], body] if body else headings[depth:]))
    )


def _with_own_text(now: Document, start: int, end: int, text: str) -> str:
    """Replace the prose in a section's own lines; its facts stay, behind it."""
    kept = [item.raw.rstrip() for item in items(now, start, end)]
    blocks = [block for block in (text, "\n".join(kept)) if block]
    body = with_line_end("\n\n".join(blocks), now.line_end) + now.line_end if blocks else ""
    lead = now.line_end if start and body else ""
    tail = now.line_end if end < len(now.lines) else ""
    return now.bom + now.slice(0, start) + lead + body + tail + now.slice(end, len(now.lines))


def put_section(
    piece: SectionPiece,
    source: FileSource,
    now: Document,
    *,
    wording: str | None = None,
    is_forced: bool = False,
) -> PutText:
    judgement, text = judge_section(piece, source.base, FileFacts(now))
    is_overtaken = judgement.freshness is Freshness.OVERTAKEN
    if wording is not None and (is_forced or not is_overtaken):
        text = _force_section(replace(piece, after=strip_blank_lines(wording).rstrip()), now)
    elif text is None and is_forced and piece.new is not None:
        text = _force_section(piece, now)
    return PutText(text, piece.section, judgement)


def _force_section(piece: SectionPiece, now: Document) -> str:
    """Write the prose anyway; facts stay. Raises SectionProblem (`section-not-found`)."""
    text = piece.after or ""
    # the text before the first heading, of which front matter is a part where the proposal speaks
    # of it
    if not piece.section:
        has_front = any(parse(each).front for each in (piece.before or "", text))
        return _with_own_text(now, 0 if has_front else now.front, now.preamble_end, text)
    section = next(
        (section for section in now.sections if section.path in (piece.new, piece.old)), None
    )
    if section is None:
        titles = enumerate(piece.section, 1)
        headings = piece.headings or tuple(f"{'#' * level} {title}" for level, title in titles)
        return _with_section(now, piece.section, headings, text)
    return _with_own_text(now, section.body, section.end, text)
