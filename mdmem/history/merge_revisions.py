"""Match the section texts of a merge to those of its sides. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from mdmem.document import split_lines
from mdmem.history.file_changes import EarlierTrail
from mdmem.history.merge_entries import MergeFile, MergeParent, Order
from mdmem.history.sections import section_parts
from mdmem.model import FilePath, SectionPath
from mdmem.model.trail import Revision
from mdmem.startup.records import dataclass, field

_Place = tuple[SectionPath, int]


@dataclass(slots=True)
class RevisionFates:
    """The section texts of a file of a merge: rows that a side had ended and that stand, rows that the merge ended, rows that go on in
    others (with the commits that brought these in), and the texts that no side has.
    """

    standing: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    joined: list[tuple[int, int]] = field(default_factory=list)
    begun: list[Revision] = field(default_factory=list)
    sections: set[SectionPath] = field(default_factory=set)
    """The sections that not all sides have as the merge has them, from the same commit."""


def match_revisions(number: int, file: MergeFile, parents: Sequence[MergeParent], trail: EarlierTrail, order: Order) -> RevisionFates:
    """Match the sections of a merge, commit `number`, to what is live on its sides, by their paths and texts."""
    of_sides = [parent.trail.live_revisions(path) for parent, path in zip(parents, file.before, strict=True)]
    rows_of_sides = [{each.number for each in revisions} for revisions in of_sides]
    by_place: dict[_Place, dict[int, Revision]] = defaultdict(dict)
    for revisions in of_sides:
        for each in revisions:
            by_place[each.section, each.nth][each.number] = each
    if file.same_as is not None:
        texts = {(each.section, each.nth): each.text for each in of_sides[file.same_as]}
    else:
        parts = section_parts(file.page.document) if file.page else ()
        texts = {(part.section, part.nth): part.text for part in parts if part.text}
    live = {each.number for path in dict.fromkeys((*file.before, file.path)) for each in trail.live_revisions(path)}
    fates = RevisionFates()
    for place, text in texts.items():
        candidates = sorted(by_place.pop(place, {}).values(), key=lambda each: (order(each.begun), each.number))
        of_all = all(candidates[0].number in rows for rows in rows_of_sides) if len(candidates) == 1 else False
        if of_all and candidates[0].text == text and candidates[0].number in live and candidates[0].path == file.path:
            continue
        fates.sections.add(place[0])
        alike = [each for each in candidates if each.text == text and each.path == file.path]
        dropped = [each.number for each in candidates if alike and each.number in live and _is_dropped(each, alike[0], parents)]
        if alike and not dropped:
            _go_on(alike[0], candidates, live, fates)
            continue
        fates.ended += [each.number for each in candidates if each.number in live]
        fates.begun.append(_new_revision(number, file.path, place, text, candidates, trail, has_dropped=bool(dropped)))
    fates.sections |= {section for section, _ in by_place}
    fates.ended += [row for rows in by_place.values() for row in rows if row in live]
    return fates


def _is_dropped(revision: Revision, kept: Revision, parents: Sequence[MergeParent]) -> bool:
    """True if a side had put one text in the place of another one, which the merge has."""
    knew = any(parent.knows(revision.begun) and parent.knows(kept.begun) for parent in parents)
    return knew and revision.text != kept.text


def _go_on(kept: Revision, candidates: Sequence[Revision], live: set[int], fates: RevisionFates) -> None:
    """Have one text of the sides go on, and the others in it."""
    if kept.number not in live:
        fates.standing.append(kept.number)
    others = (each for each in candidates if each.number != kept.number and each.number in live)
    fates.joined += [(each.number, kept.begun) for each in others]


def _new_revision(
    number: int,
    path: FilePath,
    place: _Place,
    text: str,
    before: Sequence[Revision],
    trail: EarlierTrail,
    *,
    has_dropped: bool,
) -> Revision:
    """The text of a section that no side has; only put together of theirs, unless a line is the merge's own or missing without a side's doing."""
    earlier = before or tuple(filter(None, [trail.last_revision(path, *place)]))
    lines = [Counter(map(str.strip, split_lines(each.text))) for each in before]
    now = Counter(map(str.strip, split_lines(text)))
    has_own = any(count > max((each[line] for each in lines), default=0) for line, count in now.items())
    lost = any(count > now[line] and line for line, count in _common(lines).items())
    return Revision(
        lineage=earlier[0].lineage if earlier else 0,
        begun=number,
        path=path,
        section=place[0],
        nth=place[1],
        text=text,
        unchanged_text=len(before) > 1 and not has_own and not lost and not has_dropped,
        previous=tuple(each.number for each in earlier),
    )


def _common(lines: Sequence[Counter[str]]) -> Counter[str]:
    """The lines that all have."""
    common = Counter(lines[0]) if lines else Counter[str]()
    for each in lines[1:]:
        common &= each
    return common
