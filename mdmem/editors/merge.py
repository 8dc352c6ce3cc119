"""One change taken back out of a text that has gone on since: the inverse patch, by lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from mdmem.document import Document, Section, lines_without_ends, parse, with_line_end
from mdmem.editors import EditResult
from mdmem.errors import SectionProblem
from mdmem.facts import items
from mdmem.model import FactId, Op, SectionPath
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines of the changed text, from `start` up to `end`, and what stood there before the change (from line `at` on)."""

    start: int
    end: int
    at: int
    before: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SearchRange:
    """Lines `start` up to `end` of the changed text, and the lines `top` up to `bottom` as they are now: where each stands among these."""

    start: int
    end: int
    top: int
    bottom: int
    places: dict[int, int]


def undo(now: Document, after: str, before: str, only: frozenset[FactId] | None = None) -> EditResult:
    """The document without the change that made `after` of `before`; everything later stays.

    What has been taken back already stays as it is.

    Args:
        now: the file as it is.
        after: its text just after the change.
        before: its text just before it.
        only: of the change no more than the lines of these facts.

    Raises:
        SectionProblem: `revert-conflict`, with the lines as they are (`now`) and as they would become (`then`): they were changed
            again since.
    """
    old, changed, lines = lines_without_ends(before), lines_without_ends(after), list(now.lines)
    hunks = _hunks(changed, old)
    if only is not None:
        came, went = _lines_of(after, only), _lines_of(before, only)
        hunks = [part for hunk in hunks for part in _parts(hunk, changed, came, went)]
    here, end = lines_without_ends(now.text), now.line_end
    grounds = _grounds(changed, here, after, now)
    strays = _unmatched(here, grounds, hunks)
    apart = {n for ground in grounds[:-1] for n in range(ground.top, ground.bottom)}
    found: list[tuple[int, _Hunk]] = []
    for hunk in reversed(hunks):
        ground = _ground_of(hunk, changed, grounds)
        start, below = _between(hunk, ground)
        there = [here[n] for n in range(start, below) if ground is not grounds[-1] or n not in apart]
        if _is_undone(hunk, changed, ground.places, there, strays):
            continue
        placed = _placed(hunk, changed, ground.places, ground.bottom)
        if placed is None and not any(line.strip() for line in (*changed[hunk.start : hunk.end], *hunk.before)):
            continue  # blank lines that others have come between
        if placed is None:
            raise _conflict(hunk, changed, start, here[start:below])
        found.append(placed)
    found.sort(key=lambda placed: placed[0], reverse=True)
    for place, part in found:
        lines[place : place + part.end - part.start] = [with_line_end(line, end) + end for line in part.before]
    text = _ended(lines, now)
    return EditResult(text, Op.REVERT, _section_of(text, now, *found[-1]) if found else ())


def _section_of(text: str, now: Document, place: int, hunk: _Hunk) -> SectionPath:
    """The section that a hunk's lines came back to; where only lines went, or blank ones came, the one that they stood in."""
    first = next((n for n, line in enumerate(hunk.before) if line.strip()), None)
    return (() if first is None else parse(text).path_at(place + first)) or now.path_at(place)


def _matching(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]]:
    """What two lists of lines have in common: where it begins in each, and how long it is."""
    top = 0
    while top < min(len(one), len(other)) and one[top] == other[top]:
        top += 1
    end = 0
    while end < min(len(one), len(other)) - top and one[-1 - end] == other[-1 - end]:
        end += 1
    middle = SequenceMatcher(None, one[top : len(one) - end], other[top : len(other) - end], autojunk=False)
    blocks = [(a + top, b + top, size) for a, b, size in middle.get_matching_blocks() if size]
    return [(0, 0, top), *blocks, (len(one) - end, len(other) - end, end)]


def _hunks(changed: Sequence[str], old: Sequence[str]) -> list[_Hunk]:
    hunks = []
    at = place = 0
    for start, other, size in _matching(changed, old):
        if start > at or other > place:
            hunks.append(_Hunk(at, start, place, tuple(old[place:other])))
        at, place = start + size, other + size
    return hunks


def _lines_of(text: str, facts: frozenset[FactId]) -> set[int]:
    return {n for item in items(parse(text)) if item.fact.id in facts for n in range(item.start, item.end)}


def _parts(hunk: _Hunk, changed: Sequence[str], came: set[int], went: set[int]) -> Iterator[_Hunk]:
    """What of a hunk is about the lines that `came` and `went`: all of it, where the rest of it is blank."""
    mine = [n for n in range(hunk.start, hunk.end) if n in came]
    back = [n for n, _ in enumerate(hunk.before, hunk.at) if n in went]
    others = [changed[n] for n in range(hunk.start, hunk.end) if n not in came]
    others += [line for n, line in enumerate(hunk.before, hunk.at) if n not in went]
    if not mine and not back:
        return
    if not any(line.strip() for line in others):
        yield hunk
        return
    before = tuple(hunk.before[n - hunk.at] for n in back)
    if not mine:
        at = hunk.start if back[0] == hunk.at else hunk.end
        yield _Hunk(at, at, back[0], before)
    for start in (n for n in mine if n - 1 not in mine):
        end = next(n for n in range(start + 1, hunk.end + 1) if n not in mine)
        yield _Hunk(start, end, hunk.at, before if start == mine[0] else ())


def _places(changed: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Where each line of the changed text stands now."""
    return {start + n: other + n for start, other, size in _matching(changed, now) for n in range(size)}


def _grounds(changed: Sequence[str], here: Sequence[str], after: str, now: Document) -> list[_SearchRange]:
    """Where one was moved, each section by itself; and last the file without those that were."""
    places = _places(changed, here)
    apart = list(_by_section(changed, here, parse(after), now)) if len(places) < len(changed) else []
    moved = [ground for ground in apart if places.get(ground.start) != ground.top]
    lines = {n for ground in moved for n in range(ground.start, ground.end)}
    taken = {place for ground in moved for place in range(ground.top, ground.bottom)}
    kept = {n: place for n, place in places.items() if n not in lines and place not in taken}
    return [*(apart if moved else ()), _SearchRange(0, len(changed), 0, len(here), kept)]


def _by_section(changed: Sequence[str], here: Sequence[str], then: Document, now: Document) -> Iterator[_SearchRange]:
    olds, news = _by_path(then), _by_path(now)
    for path, old in olds.items():
        new = news.get(path)
        if new:
            found = _places(changed[old.start : old.end], here[new.start : new.end])
            yield _SearchRange(old.start, old.end, new.start, new.end, {old.start + n: new.start + place for n, place in found.items()})


def _by_path(document: Document) -> dict[SectionPath, Section]:
    """The sections that no other has the path of."""
    count = Counter(section.path for section in document.sections)
    return {section.path: section for section in document.sections if count[section.path] == 1}


def _ground_of(hunk: _Hunk, changed: Sequence[str], grounds: Sequence[_SearchRange]) -> _SearchRange:
    """The section that a hunk's lines came into, or went from, where that stands by itself; else the file."""
    bare = _bare(hunk, changed)
    first = bare.start if bare.start < bare.end else bare.start - 1
    return next((ground for ground in grounds if ground.start <= first and bare.end <= ground.end), grounds[-1])


def _unmatched(here: Sequence[str], grounds: Sequence[_SearchRange], hunks: Sequence[_Hunk]) -> Counter[str]:
    """The lines that stand now, but not in the place of any of the changed text, and that the change did not take out."""
    known = {place for ground in grounds for place in ground.places.values()}
    return Counter(line for n, line in enumerate(here) if n not in known) - Counter(line for hunk in hunks for line in hunk.before)


def _placed(hunk: _Hunk, changed: Sequence[str], places: dict[int, int], lines: int) -> tuple[int, _Hunk] | None:
    """Where a hunk's lines stand now, and the hunk; without blank lines around it, where only these do not stand by it any more.

    None where its lines were changed since.
    """
    for one in (hunk, _bare(hunk, changed)):
        place = _place(one, places, len(changed), lines)
        if place is not None:
            return place, one
    return None


def _bare(hunk: _Hunk, changed: Sequence[str]) -> _Hunk:
    """A hunk without the blank lines around what came with it and around what went."""
    start, end = hunk.start, hunk.end
    while end > start and not changed[end - 1].strip():
        end -= 1
    while start < end and not changed[start].strip():
        start += 1
    return _Hunk(start, end, hunk.at, _trimmed(hunk.before)) if start < end else hunk


def _trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines without the blank ones around them."""
    said = [n for n, line in enumerate(lines) if line.strip()]
    return tuple(lines[said[0] : said[-1] + 1]) if said else ()


def _place(hunk: _Hunk, places: dict[int, int], total: int, lines: int) -> int | None:
    """Where a hunk's lines stand now; None where they were changed since."""
    if hunk.start < hunk.end:
        found = [places.get(n) for n in range(hunk.start, hunk.end)]
        start = found[0]
        return start if start is not None and found == list(range(start, start + len(found))) else None
    if total and not lines:
        return None
    if hunk.start == 0:
        return 0
    if (above := places.get(hunk.start - 1)) is not None:
        return above + 1
    return lines if hunk.start == total and not places else places.get(hunk.start)


def _between(hunk: _Hunk, ground: _SearchRange) -> tuple[int, int]:
    """The lines that stand now between what stood above a hunk and what stood below it: their first, and the one after the last."""
    standing = tuple(ground.places)  # from above to below, as are the places
    above, below = bisect_left(standing, hunk.start), bisect_left(standing, hunk.end)
    start = ground.places[standing[above - 1]] + 1 if above else ground.top
    return start, ground.places[standing[below]] if below < len(standing) else ground.bottom


def _is_undone(hunk: _Hunk, changed: Sequence[str], places: dict[int, int], there: Sequence[str], strays: Counter[str]) -> bool:
    """Whether what the change took out is `there`, in its place, again, and what it brought in is not.

    Where it only brought something in, that must not stray elsewhere either.
    """
    made = [n for n in range(hunk.start, hunk.end) if changed[n].strip()]
    if any(n in places for n in made):
        return False
    wanted = _trimmed(hunk.before)
    if not wanted:
        return bool(made) and not _trimmed(there) and not any(changed[n] in strays for n in made)
    return any(tuple(there[at : at + len(wanted)]) == wanted for at in range(len(there)))


def _conflict(hunk: _Hunk, changed: Sequence[str], start: int, now: Sequence[str]) -> SectionProblem:
    then, made = hunk.before, changed[hunk.start : hunk.end]
    return SectionProblem(
        "revert-conflict",
        f"line {start + 1}: what the change made of it was changed again since",
        "Undo the later change first, or edit the section.",
        now="\n".join(now),
        then="\n".join(then),
        made="\n".join(made),
        line=start + 1,
    )


def _ended(lines: list[str], now: Document) -> str:
    """The lines as a text; only the last may be without a line end, if the file's last was."""
    text = now.bom + "".join(
        line if line.endswith(("\n", "\r")) or number == len(lines) - 1 else line + now.line_end for number, line in enumerate(lines)
    )
    closed = now.text.endswith(("\n", "\r")) or not now.text
    return text if closed or not text.endswith(now.line_end) else text.removesuffix(now.line_end)
