"""Undo one change in a text that was edited since: the inverse patch, by lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mdmem.editors import EditResult
from mdmem.editors.merge3.sequences import matching_items
from mdmem.model import FactId, Op, SectionPath
from mdmem.model.errors import SectionProblem
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, Section, lines_without_ends, parse, with_line_end
from mdmem.text.facts import items, nested_items, own_fact


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines of the changed text, and those (from `old_start` on) before the change."""

    start: int
    end: int
    old_start: int
    old_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SearchRange:
    """Lines `start` to `end` of the changed text, now among `now_start` to `now_end`.

    `now_of`, ascending on both sides, has those unchanged since.
    """

    start: int
    end: int
    now_start: int
    now_end: int
    now_of: dict[int, int]


_Placement = tuple[int, _Hunk]


def undo(
    now: Document, after: str, before: str, only: frozenset[FactId] | None = None
) -> EditResult:
    """Revert the change from `before` to `after` in a document; later changes stay.

    Parts that are undone already stay so; `only` limits the change to the lines of these facts.
    Raises SectionProblem: `revert-conflict` with current (`now`) and reverted lines (`then`).
    """
    changed, old = lines_without_ends(after), lines_without_ends(before)
    current = lines_without_ends(now.text)
    ranges = _search_ranges(changed, current, after, now)
    hunks = (
        list(_hunks_by_section(changed, old, after, before))
        if len(ranges) > 1
        else _hunks(changed, old)
    )
    if only is not None:
        added, removed = _lines_of(after, only), _lines_of(before, only)
        hunks = [part for hunk in hunks for part in _parts_about(hunk, changed, added, removed)]
    placements = sorted(
        _placements(hunks, changed, current, ranges, None if only is None else now),
        key=lambda placement: placement[0],
        reverse=True,
    )
    lines, end = list(now.lines), now.line_end
    for line, hunk in placements:
        lines[line : line + hunk.end - hunk.start] = [
            with_line_end(old_line, end) + end for old_line in hunk.old_lines
        ]
    text = _join_lines(lines, now)
    return EditResult(
        text=text,
        op=Op.REVERT,
        section=_section_of(text, now, *placements[-1]) if placements else (),
    )


def _section_of(text: str, now: Document, line: int, hunk: _Hunk) -> SectionPath:
    first = next(
        (number for number, old_line in enumerate(hunk.old_lines) if old_line.strip()), None
    )
    return (() if first is None else parse(text).path_at(line + first)) or now.path_at(line)


def _join_lines(lines: list[str], now: Document) -> str:
    """Only the last line may lack a line end, and only if the file's did."""
    last = len(lines) - 1
    text = now.bom + "".join(
        line if line.endswith(("\n", "\r")) or number == last else line + now.line_end
        for number, line in enumerate(lines)
    )
    ends_with_line_end = now.text.endswith(("\n", "\r")) or not now.text
    return (
        text
        if ends_with_line_end or not text.endswith(now.line_end)
        else text.removesuffix(now.line_end)
    )


# The change: what differs between two texts.


def _hunks(changed: Sequence[str], old: Sequence[str]) -> list[_Hunk]:
    hunks = []
    line = old_line = 0
    for start, old_start in (*matching_items(changed, old), (len(changed), len(old))):
        if start > line or old_start > old_line:
            hunks.append(_Hunk(line, start, old_line, tuple(old[old_line:old_start])))
        line, old_line = start + 1, old_start + 1
    return hunks


def _hunks_by_section(
    changed: Sequence[str], old: Sequence[str], after: str, before: str
) -> Iterator[_Hunk]:
    """Split at headings that both texts have, so that no hunk moves a heading."""
    new_sections, old_sections = parse(after).sections, parse(before).sections
    pairs = matching_items(
        [section.path for section in new_sections], [section.path for section in old_sections]
    )
    matches = [(new_sections[a].start, old_sections[b].start) for a, b in pairs]
    for (start, old_start), (end, old_end) in pairwise(
        [(0, 0), *matches, (len(changed), len(old))]
    ):
        for hunk in _hunks(changed[start:end], old[old_start:old_end]):
            yield _Hunk(
                start + hunk.start, start + hunk.end, old_start + hunk.old_start, hunk.old_lines
            )


def _lines_of(text: str, facts: frozenset[FactId]) -> set[int]:
    """The lines of facts, and of nested items by their own words."""
    listed = items(parse(text))
    nested = ((own_fact(each).id, each) for item in listed for each, _ in nested_items(item))
    return {
        line
        for fact, item in (*((item.fact.id, item) for item in listed), *nested)
        if fact in facts
        for line in range(item.start, item.end)
    }


def _parts_about(
    hunk: _Hunk, changed: Sequence[str], added: set[int], removed: set[int]
) -> Iterator[_Hunk]:
    new_lines = [line for line in range(hunk.start, hunk.end) if line in added]
    old_lines = [line for line, _ in enumerate(hunk.old_lines, hunk.old_start) if line in removed]
    unselected = [changed[line] for line in range(hunk.start, hunk.end) if line not in added]
    unselected += [
        words for line, words in enumerate(hunk.old_lines, hunk.old_start) if line not in removed
    ]
    if not new_lines and not old_lines:
        return
    if not any(words.strip() for words in unselected):
        yield hunk
        return
    old_words = tuple(hunk.old_lines[line - hunk.old_start] for line in old_lines)
    if not new_lines:
        start = hunk.start if old_lines[0] == hunk.old_start else hunk.end
        yield _Hunk(start, start, old_lines[0], old_words)
    for start in (line for line in new_lines if line - 1 not in new_lines):
        end = next(line for line in range(start + 1, hunk.end + 1) if line not in new_lines)
        yield _Hunk(start, end, hunk.old_start, old_words if start == new_lines[0] else ())


def _without_blank_edges(hunk: _Hunk, changed: Sequence[str]) -> _Hunk:
    start, end = hunk.start, hunk.end
    while end > start and not changed[end - 1].strip():
        end -= 1
    while start < end and not changed[start].strip():
        start += 1
    return _Hunk(start, end, hunk.old_start, _strip_blank(hunk.old_lines)) if start < end else hunk


def _strip_blank(lines: Sequence[str]) -> tuple[str, ...]:
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return tuple(lines[filled[0] : filled[-1] + 1]) if filled else ()


# Where the lines of the changed text are now.


def _search_ranges(
    changed: Sequence[str], current: Sequence[str], after: str, now: Document
) -> list[_SearchRange]:
    now_of = dict(matching_items(changed, current))
    sections = (
        list(_section_ranges(changed, current, parse(after), now))
        if len(now_of) < len(changed)
        else []
    )
    moved = [section for section in sections if now_of.get(section.start) != section.now_start]
    moved_from = {line for section in moved for line in range(section.start, section.end)}
    moved_to = {line for section in moved for line in range(section.now_start, section.now_end)}
    rest = {
        line: now_line
        for line, now_line in now_of.items()
        if line not in moved_from and now_line not in moved_to
    }
    whole = _SearchRange(start=0, end=len(changed), now_start=0, now_end=len(current), now_of=rest)
    return [*(sections if moved else ()), whole]


def _section_ranges(
    changed: Sequence[str], current: Sequence[str], after: Document, now: Document
) -> Iterator[_SearchRange]:
    new_sections = _unique_sections(now)
    for path, old in _unique_sections(after).items():
        new = new_sections.get(path)
        if new:
            pairs = matching_items(changed[old.start : old.end], current[new.start : new.end])
            now_of = {old.start + line: new.start + now_line for line, now_line in pairs}
            yield _SearchRange(
                start=old.start, end=old.end, now_start=new.start, now_end=new.end, now_of=now_of
            )


def _unique_sections(document: Document) -> dict[SectionPath, Section]:
    counts = Counter(section.path for section in document.sections)
    return {section.path: section for section in document.sections if counts[section.path] == 1}


def _range_of(hunk: _Hunk, changed: Sequence[str], ranges: Sequence[_SearchRange]) -> _SearchRange:
    inner = _without_blank_edges(hunk, changed)
    first = inner.start if inner.start < inner.end else inner.start - 1
    return next(
        (section for section in ranges if section.start <= first and inner.end <= section.end),
        ranges[-1],
    )


def _neighbourhood(hunk: _Hunk, within: _SearchRange) -> tuple[int, int]:
    kept = tuple(within.now_of)
    above, below = bisect_left(kept, hunk.start), bisect_left(kept, hunk.end)
    start = within.now_of[kept[above - 1]] + 1 if above else within.now_start
    return start, within.now_of[kept[below]] if below < len(kept) else within.now_end


# Hunks in the text as it is.


def _placements(
    hunks: Sequence[_Hunk],
    changed: Sequence[str],
    current: Sequence[str],
    ranges: Sequence[_SearchRange],
    facts_in: Document | None,
) -> Iterator[_Placement]:
    """`facts_in`: the current document, if each hunk is about facts, whatever became of others."""
    unmatched = _unmatched(current, ranges, hunks)
    in_sections = {
        line for section in ranges[:-1] for line in range(section.now_start, section.now_end)
    }
    for hunk in reversed(hunks):
        within = _range_of(hunk, changed, ranges)
        start, end = _neighbourhood(hunk, within)
        neighbours = [
            current[line]
            for line in range(start, end)
            if within is not ranges[-1] or line not in in_sections
        ]
        if _is_undone(hunk, changed, within.now_of, neighbours, unmatched):
            continue
        placement = _placement(hunk, changed, within)
        if placement is None and facts_in is not None:
            placement = _placement_of_fact(hunk, changed, current, (start, end), facts_in)
        if placement is not None:
            yield placement
        elif any(line.strip() for line in (*changed[hunk.start : hunk.end], *hunk.old_lines)):
            raise _conflict(hunk, changed, start, current[start:end])
        # Otherwise it is a hunk of blank lines that others have come between: it stays.


def _unmatched(
    current: Sequence[str], ranges: Sequence[_SearchRange], hunks: Sequence[_Hunk]
) -> Counter[str]:
    matched = {now_line for section in ranges for now_line in section.now_of.values()}
    removed = Counter(line for hunk in hunks for line in hunk.old_lines)
    return Counter(words for line, words in enumerate(current) if line not in matched) - removed


def _is_undone(
    hunk: _Hunk,
    changed: Sequence[str],
    now_of: dict[int, int],
    neighbours: Sequence[str],
    unmatched: Counter[str],
) -> bool:
    added = [line for line in range(hunk.start, hunk.end) if changed[line].strip()]
    if any(line in now_of for line in added):
        return False
    removed = _strip_blank(hunk.old_lines)
    if not removed:
        return (
            bool(added)
            and not _strip_blank(neighbours)
            and not any(changed[line] in unmatched for line in added)
        )
    return any(
        tuple(neighbours[start : start + len(removed)]) == removed
        for start in range(len(neighbours))
    )


def _placement(hunk: _Hunk, changed: Sequence[str], within: _SearchRange) -> _Placement | None:
    """A hunk's place, without blank lines around it if only these moved; None: changed since."""
    for candidate in (hunk, _without_blank_edges(hunk, changed)):
        line = _line_now(candidate, within, len(changed))
        if line is not None:
            return line, candidate
    return None


def _placement_of_fact(
    hunk: _Hunk,
    changed: Sequence[str],
    current: Sequence[str],
    neighbourhood: tuple[int, int],
    now: Document,
) -> _Placement | None:
    """A fact's own line, wherever it is now; of a removed one the place between what remained.

    None where that line is not there once, or other sections are in that place.
    """
    start, end = neighbourhood
    if hunk.start == hunk.end:
        sections = {now.path_at(line) for line in range(max(0, start - 1), end)}
        return (start, hunk) if len(sections) == 1 else None
    inner = _without_blank_edges(hunk, changed)
    lines = list(changed[inner.start : inner.end])
    places = [
        line
        for line, words in enumerate(current)
        if words == lines[0] and list(current[line : line + len(lines)]) == lines
    ]
    is_single = len(places) == 1 and Counter(changed)[lines[0]] == 1
    return (places[0], inner) if is_single else None


def _line_now(hunk: _Hunk, within: _SearchRange, total: int) -> int | None:
    now_of = within.now_of
    if hunk.start < hunk.end:
        lines = [now_of.get(line) for line in range(hunk.start, hunk.end)]
        start = lines[0]
        return (
            start if start is not None and lines == list(range(start, start + len(lines))) else None
        )
    if total and not within.now_end:
        return None
    if hunk.start == 0:
        return 0
    above = now_of.get(hunk.start - 1)
    if above is not None:
        return above + 1
    return within.now_end if hunk.start == total and not now_of else now_of.get(hunk.start)


def _conflict(hunk: _Hunk, changed: Sequence[str], line: int, now: Sequence[str]) -> SectionProblem:
    return SectionProblem(
        "revert-conflict",
        f"these lines have changed since that commit (from line {line + 1})",
        "Undo the later change first, or edit the section.",
        now="\n".join(now),
        then="\n".join(hunk.old_lines),
        made="\n".join(changed[hunk.start : hunk.end]),
        line=line + 1,
    )
