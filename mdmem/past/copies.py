"""The marks of one step: what its commits state about facts, and the ends of these as they reach
their copies in daily logs, which no commit names. Pure.

A log records what was said, a curated file what is true. So the end of a fact in a curated file
ends the log lines that said it before, and the stated end of one log line ends its earlier copies.
A line that was said later begins anew.

In a log the text stays, and a mark says what of it has ended. In a file that is edited in place the
text is right: what it says is current, whatever a commit says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from mdmem.model import CommitId, FactId, FilePath, Op, SectionPath
from mdmem.model.trail import (
    CLOSING_MARKS,
    Commit,
    Entry,
    Fate,
    Mark,
    MarkKind,
    Occurrence,
    StatedRevert,
    TrailCommit,
)
from mdmem.past.file_changes import joined_by_moves
from mdmem.past.messages import ParsedNote, quoted_line
from mdmem.past.notes import QuotingNote, parse_message, parse_notes
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.facts import fact_id, may_have_copies, normalise

if TYPE_CHECKING:
    from mdmem.past.line import EarlierTrail
    from mdmem.past.table import Trail

# The commits whose statements a revert ends, or a reverted revert restores

_SHA1_DIGITS = 40


@dataclass(frozen=True, slots=True)
class StepReverts:
    """The reverts of one step, and their effects.

    `stated` name `reverted` commits and, if `names_others`, some that HEAD does not reach. After
    the step all `taken_back` commits state nothing: the marks of the `ended` ones end, `restored`
    marks hold again.
    """

    stated: tuple[StatedRevert, ...] = ()
    reverted: tuple[TrailCommit, ...] = ()
    names_others: bool = False
    taken_back: frozenset[CommitId] = frozenset()
    ended: tuple[CommitId, ...] = ()
    restored: tuple[Mark, ...] = ()


def taken_back(reverts: Collection[StatedRevert]) -> frozenset[CommitId]:
    """The commits that are taken back by a revert that is not taken back itself."""
    commits: frozenset[CommitId] = frozenset()
    # Each round settles the reverts of those that the one before has settled.
    for _ in range(len(reverts) + 1):
        before, commits = (
            commits,
            frozenset(revert.reverted for revert in reverts if revert.commit not in commits),
        )
        if commits == before:
            break
    return commits


def read_reverts(
    commit: CommitId,
    named: Sequence[CommitId],
    trail: EarlierTrail,
    brought_by: Callable[[CommitId], Collection[CommitId]],
) -> StepReverts:
    """Work out the effects of a step's reverts; the ids `named` may be short.

    `brought_by` gives the commits of a merge, which its revert takes back along with it.
    """
    if not named:
        return StepReverts()
    earlier = trail.reverts()
    stating = {revert.commit for revert in earlier}
    stated: list[StatedRevert] = []
    reverted: dict[int, TrailCommit] = {}
    names_others = False
    for name in (_full_id(shortened, trail) for shortened in named):
        known = trail.commit_with_id(name)
        names_others |= known is None
        brought = (
            [each for each in brought_by(name) if each != name]
            if known is None or known.is_merge
            else []
        )
        for each in filter(None, (known, *map(trail.commit_with_id, brought))):
            reverted[each.number] = each
        more = (each for each in brought if each in stating or trail.marks_stated_by(each))
        stated += (StatedRevert(commit, each) for each in (name, *more))
    before, after = taken_back(earlier), taken_back((*earlier, *stated))
    return StepReverts(
        stated=tuple(stated),
        reverted=tuple(reverted[number] for number in sorted(reverted)),
        names_others=names_others,
        taken_back=after,
        ended=tuple(sorted(after - before)),
        restored=tuple(_restored_marks(before - after, trail)),
    )


def _full_id(commit: CommitId, trail: EarlierTrail) -> CommitId:
    if len(commit) >= _SHA1_DIGITS:
        return commit
    known = trail.commit_with_id(commit)
    return known.commit if known else trail.stating_commit(commit) or commit


def _restored_marks(commits: Collection[CommitId], trail: EarlierTrail) -> Iterator[Mark]:
    marks_of = {commit: marks for commit in commits if (marks := trail.marks_stated_by(commit))}
    for number in sorted({marks[0].begun for marks in marks_of.values()}):
        for commit in trail.commits_with_marks_from(number):
            marks = marks_of.get(commit, ())
            if marks and marks[0].begun == number:
                newest_end = max(mark.ended or 0 for mark in marks)
                yield from (mark for mark in marks if mark.ended == newest_end)


# Marks


def current_successor(fact: FactId | None, trail: EarlierTrail) -> FactId | None:
    """The current fact that a fact has become, itself if current; None if it was removed."""
    passed = set[FactId]()
    while fact is not None and fact not in passed:
        passed.add(fact)
        every = trail.occurrences_of(fact)
        marks = [trail.stated_marks_of(each.number) for each in every if each.ended is None]
        if not all(marks):
            return fact
        successors = [mark.other for of_one in marks for mark in of_one]
        successors = successors or [
            each.successor for each in every if each.fate is Fate.SUPERSEDED
        ]
        fact = successors[-1] if successors else None
    return None


def share_key(first: Iterable[Entry], second: Iterable[Entry]) -> bool:
    """True if facts hold one key in one section: such values contradict each other anyway."""
    places = [
        {(each.path, each.section, normalise(each.key)) for each in entries if each.key}
        for entries in (first, second)
    ]
    return not places[0].isdisjoint(places[1])


def merge_contradictions(
    replaced: Iterable[Occurrence],
    sides: Sequence[EarlierTrail],
    order: Callable[[int], tuple[int, CommitId]],
    entries_in_merge: Callable[[FactId], Collection[Entry]],
) -> Iterator[Mark]:
    """Mark the two facts that sides of a merge made of one, and that it has, as contradicting.

    It holds since the later was said, whoever merged. `replaced` are the occurrences that several
    sides ended or marked; `entries_in_merge` gives the entries of a fact that the merge has.
    """
    for occurrence in replaced:
        ends = [end for side in sides if (end := _replacement(occurrence, side))]
        for (first, ended_first), (second, ended_second) in combinations(ends, 2):
            entries = entries_in_merge(first), entries_in_merge(second)
            if first == second or not all(entries) or share_key(*entries):
                continue
            later = max(ended_first, ended_second, key=order)
            yield Mark(
                kind=MarkKind.CONTRADICTS,
                commit=order(later)[1],
                begun=later,
                fact=min(first, second),
                other=max(first, second),
            )


def _replacement(occurrence: Occurrence, trail: EarlierTrail) -> tuple[FactId, int] | None:
    """The current fact that a side made of an occurrence, and the commit that did so first.

    One that a side has only moved is itself: where another side replaced it, both stay.
    """
    runs = joined_by_moves(trail.occurrences_of(occurrence.entry.fact or FactId("")))
    last = next(
        (run[-1] for run in runs if any(each.number == occurrence.number for each in run)), None
    )
    if last is None:
        return None
    marks = (
        [mark for mark in trail.stated_marks_of(last.number) if mark.kind is MarkKind.SUPERSEDED]
        if last.ended is None
        else []
    )
    if last.ended is None and not marks:
        fact = last.entry.fact
        return (fact, last.begun) if fact and last.number != occurrence.number else None
    number, successor = (marks[0].begun, marks[0].other) if marks else (last.ended, last.successor)
    current = current_successor(successor, trail)
    return None if number is None or current is None else (current, number)


@dataclass(frozen=True, slots=True)
class CommitClaims:
    commit: Commit
    note: ParsedNote

    def is_about(self, path: FilePath, section: SectionPath) -> bool:
        return self.note.path in (None, path) and self.note.names_section(section)


@dataclass(frozen=True, slots=True)
class StatedSupersession:
    """A commit states that one fact has another as its successor, or (None) that it has none."""

    claims: CommitClaims
    old: FactId
    new: FactId | None


@dataclass(slots=True)
class StepMarks:
    """The marks of a step; `begun` and `ended_rows` are what begins and ends in it so far."""

    number: int
    own_claims: CommitClaims
    """The commit's own, besides those of others that were squashed into it."""
    reverts: StepReverts
    trail: EarlierTrail
    is_log: Callable[[FilePath], bool]
    begun: list[Occurrence] = field(default_factory=list)
    ended_rows: set[int] = field(default_factory=set)
    marks: list[Mark] = field(default_factory=list)
    _places: dict[FactId | None, list[int]] = field(default_factory=dict)
    """The places of each fact in `begun`, as far as it was asked for."""
    _placed: int = 0
    _filed: dict[int, list[Mark]] = field(default_factory=dict)
    """The marks of each row, as far as they were asked for."""
    _count: int = 0

    def live_occurrences(self, fact: FactId) -> Iterator[tuple[int, Occurrence]]:
        """A fact's live occurrences after this step, with rows (negative if begun here)."""
        for occurrence in self.trail.occurrences_of(fact):
            if occurrence.ended is None and occurrence.number not in self.ended_rows:
                yield occurrence.number, occurrence
        for place in range(self._placed, len(self.begun)):
            self._places.setdefault(self.begun[place].entry.fact, []).append(place)
        self._placed = len(self.begun)
        for place in self._places.get(fact, ()):
            yield -place - 1, self.begun[place]

    def carry_over(self, row: int) -> None:
        """Set an earlier occurrence's marks in force on the one that began last in its place."""
        self.marks += [
            replace(mark, occurrence=-len(self.begun)) for mark in self._earlier_marks(row)
        ]

    def add_superseded(self, supersessions: Sequence[StatedSupersession]) -> None:
        for supersession in supersessions:
            if not self._had_ended_before(supersession):
                self._mark(
                    MarkKind.SUPERSEDED, supersession.claims, supersession.old, supersession.new
                )

    def add_contradictions(self, supersessions: Iterable[StatedSupersession]) -> None:
        """Mark what a commit made of an already replaced fact as contradicting the other."""
        for supersession in supersessions:
            old, new = supersession.old, supersession.new
            other = current_successor(old, self.trail)
            if new is None or other is None or other in (old, new):
                continue
            entries = [
                [
                    each.entry
                    for row, each in self.live_occurrences(fact)
                    if not self._marks_in_force(row)
                ]
                for fact in (other, new)
            ]
            if all(entries) and not share_key(*entries):
                self.marks.append(
                    self._new_mark(MarkKind.CONTRADICTS, supersession.claims, new, other)
                )

    def add_other_claims(self, claims: CommitClaims) -> None:
        for fact in claims.note.retracts:
            self._mark(MarkKind.RETRACTED, claims, fact, None)
        for kind, pairs in (
            (MarkKind.CONTRADICTS, claims.note.contradicts),
            (MarkKind.RESOLVED, claims.note.resolves),
        ):
            self.marks += [self._new_mark(kind, claims, fact, other) for fact, other in pairs]

    def restore(self) -> None:
        """Set the marks again whose revert is taken back, on what their occurrences became."""
        for mark in self.reverts.restored:
            if not mark.occurrence:
                self.marks.append(replace(mark, begun=self.number, ended=None))
            elif (meant := self._occurrence_now(mark)) and self._can_be_restored(mark, *meant):
                self.marks.append(replace(mark, begun=self.number, ended=None, occurrence=meant[0]))

    def _occurrence_now(self, mark: Mark) -> tuple[int, Occurrence] | None:
        """The live occurrence that a marked one became, or that replaces it in this step."""
        runs = joined_by_moves(self.trail.occurrences_of(mark.fact))
        last = next(
            (run[-1] for run in runs if any(each.number == mark.occurrence for each in run)), None
        )
        live = dict(self.live_occurrences(mark.fact))
        if last is None or last.number in live:
            return (last.number, last) if last else None
        return next(
            (
                (row, each)
                for row, each in live.items()
                if row < 0 and entry_location(each.entry) == entry_location(last.entry)
            ),
            None,
        )

    def _can_be_restored(self, mark: Mark, row: int, occurrence: Occurrence) -> bool:
        """True unless the mark would close a circle: the successor has to be live, not current."""
        is_overruled = mark.kind is MarkKind.OVERRULED
        if is_overruled == self.is_log(occurrence.entry.path):
            return False
        successor, passed = None if is_overruled else mark.other, set[FactId]()
        while successor is not None and successor not in passed:
            marks = [
                self._marks_in_force(each)
                for each, _ in self.live_occurrences(successor)
                if each != row
            ]
            if not all(marks):
                return True
            passed.add(successor)
            successor = (
                next((each.other for on_row in marks for each in on_row if each.other), None)
                if marks
                else successor
            )
        return successor is None

    def _new_mark(
        self, kind: MarkKind, claims: CommitClaims, fact: FactId, other: FactId | None, row: int = 0
    ) -> Mark:
        return Mark(
            kind=kind,
            commit=claims.commit.id,
            begun=self.number,
            fact=fact,
            other=other,
            occurrence=row,
        )

    def _had_ended_before(self, supersession: StatedSupersession) -> bool:
        """True if a fact replaced by a squashed commit had ended in that commit's section."""
        claims = supersession.claims
        if claims is self.own_claims:
            return False
        occurrences = self.trail.occurrences_of(supersession.old)
        in_section = [
            each for each in occurrences if claims.is_about(each.entry.path, each.entry.section)
        ]
        return bool(in_section) and all(each.ended is not None for each in in_section)

    def _mark(
        self, kind: MarkKind, claims: CommitClaims, fact: FactId, other: FactId | None
    ) -> None:
        occurrence = self.meant_occurrence(claims, fact, other)
        if occurrence is None:
            return
        row, path = occurrence
        if not self.is_log(path):
            self._overrule(claims, fact, other, row, path)
        elif other is None or self._is_current(other, besides=row):
            self.marks.append(self._new_mark(kind, claims, fact, other, row))

    def meant_occurrence(
        self, claims: CommitClaims, fact: FactId, other: FactId | None
    ) -> tuple[int, FilePath] | None:
        """The current occurrence that a commit means, in its own section first, then newest.

        Of equal ones in a section it is the earliest: a commit means what was there before.
        """
        current = [
            (row, each)
            for row, each in self.live_occurrences(fact)
            if not self._marks_in_force(row) and not (fact == other and row < 0)
        ]
        if not current:
            return None

        def nearness(numbered: tuple[int, Occurrence]) -> tuple[bool, bool, int, int]:
            row, each = numbered
            return (
                claims.is_about(each.entry.path, each.entry.section),
                each.entry.path == claims.note.path,
                each.begun,
                abs(row),
            )

        nearest = max(current, key=nearness)[1].entry
        equal = (
            row for row, each in current if entry_location(each.entry) == entry_location(nearest)
        )
        return min(equal, key=lambda row: (row < 0, abs(row))), nearest.path

    def _overrule(
        self, claims: CommitClaims, fact: FactId, other: FactId | None, row: int, path: FilePath
    ) -> None:
        """Note that a commit ends an occurrence that its file keeps; a merge's text decides."""
        if claims is self.own_claims or claims.note.path != path:
            self.marks.append(self._new_mark(MarkKind.OVERRULED, claims, fact, other, row))

    def _is_current(self, fact: FactId, besides: int) -> bool:
        """True if a fact has a current occurrence besides a row: others supersede nothing."""
        return any(
            row != besides and not self._marks_in_force(row)
            for row, _ in self.live_occurrences(fact)
        )

    def _earlier_marks(self, row: int) -> list[Mark]:
        return [
            mark
            for mark in self.trail.stated_marks_of(row)
            if mark.kind in CLOSING_MARKS and mark.commit not in self.reverts.ended
        ]

    def _marks_in_force(self, row: int) -> list[Mark]:
        for mark in self.marks[self._count :]:
            if mark.kind in CLOSING_MARKS and mark.ended is None:
                self._filed.setdefault(mark.occurrence, []).append(mark)
        self._count = len(self.marks)
        here = self._filed.get(row)
        return here or (self._earlier_marks(row) if row > 0 else [])


def entry_location(entry: Entry) -> tuple[FilePath, SectionPath]:
    return entry.path, entry.section


_MINUTE = 60
_FORGETTING = (Op.FORGET, Op.ACCEPT)
"""The operations that remove a fact for good; any other one removes only a line."""
_Line = Sequence[Occurrence]
"""The occurrences of one line of a file: each became the next."""


@dataclass(frozen=True, slots=True)
class _End:
    """An end that reaches copies, until it is taken back; `rows` are those it was stated of."""

    number: int
    kind: MarkKind
    other: FactId | None
    taken_back: int | None = None
    rows: frozenset[int] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class _Promotion:
    """A curated fact that replaces a line of a log from one commit to another."""

    fact: FactId
    begun: int
    ended: int | None


class CopyFates:
    """Derives the marks of copies for one state of the trail.

    `is_log` tells the logs, `said` when a line was said, in seconds since 1970.
    """

    def __init__(
        self,
        trail: Trail,
        is_log: Callable[[FilePath], bool],
        said: Callable[[Occurrence], int],
    ) -> None:
        self._trail = trail
        self._is_log = is_log
        self._said = said
        self._commit = cache(trail.commit_numbered)
        self._notes = cache(self._read_notes)

    def marks(self, fact: FactId) -> tuple[Mark, ...]:
        """The marks on copies of a fact, in the order of their rows and commits."""
        lines = self.log_lines(fact)
        if not lines:
            return ()
        ends: list[_End] = []
        promotions: list[_Promotion] = []
        entry = lines[-1][-1].entry
        if may_have_copies(entry.text, entry.key or _attribute(lines)):
            ends += [*self._stated_ends(lines), *self._curated_ends(fact)]
        for curated, line, begun in self._promoted_lines(fact, lines):
            self._follow(curated, line, begun, ends, promotions)
        ends.sort(key=lambda end: self._trail.order(end.number))
        marks = [
            mark
            for line in lines
            for mark in (*self._closing_marks(line, ends), *self._promotion_marks(line, promotions))
        ]
        return tuple(
            sorted(
                marks, key=lambda mark: (mark.occurrence, self._trail.order(mark.begun), mark.kind)
            )
        )

    def log_lines(self, fact: FactId) -> list[_Line]:
        return [line for line in self._lines(fact) if self._is_log(line[-1].entry.path)]

    def _curated_lines(self, fact: FactId) -> list[_Line]:
        return [line for line in self._lines(fact) if not self._is_log(line[-1].entry.path)]

    def _lines(self, fact: FactId) -> list[_Line]:
        return list(
            joined_by_moves(
                each for each in self._trail.occurrences_of(fact) if each.fate is not Fate.JOINED
            )
        )

    # Ends.

    def _stated_ends(self, lines: Sequence[_Line]) -> Iterator[_End]:
        """The ends that commits state of lines of logs, but for those of one line alone."""
        for line in lines:
            rows = frozenset(each.number for each in line)
            for mark in (
                mark
                for row in rows
                for mark in self._trail.stated_marks_of(row, include_ended=True)
            ):
                commit = self._trail.commit_with_id(mark.commit)
                note = parse_message(commit.message) if commit else None
                if note is None or not (note.only or note.op is Op.REVERT):
                    yield _End(
                        number=mark.begun,
                        kind=mark.kind,
                        other=mark.other,
                        taken_back=mark.ended,
                        rows=rows,
                    )

    def _curated_ends(self, fact: FactId) -> Iterator[_End]:
        return (
            end for line in self._curated_lines(fact) if (end := self._end_of_line(fact, line[-1]))
        )

    def _end_of_line(self, fact: FactId, last: Occurrence) -> _End | None:
        if last.ended is None or last.successor == fact:
            return None
        if last.fate is Fate.SUPERSEDED:
            kind, other = MarkKind.SUPERSEDED, last.successor
        elif last.fate is Fate.REMOVED and self._forgets(last):
            kind, other = MarkKind.RETRACTED, None
        else:
            return None
        return _End(
            number=last.ended, kind=kind, other=other, taken_back=self._taken_back(fact, last.ended)
        )

    def _forgets(self, last: Occurrence) -> bool:
        """True if the commit that removed a line forgot its fact, and not that copy alone."""
        assert last.ended is not None  # it was removed
        notes = self._notes(last.ended)
        forgetting = [each for each in notes if each.note.op in _FORGETTING and not each.note.only]
        return bool(forgetting) and (
            len(notes) == 1
            or any(quoted_line(last.entry.first_line) in each.went for each in forgetting)
        )

    def _taken_back(self, fact: FactId, ended: int) -> int | None:
        """The commit that took an end back, and so brought the fact in again."""
        commit = self._commit(ended)
        for revert in self._trail.reverts_of(commit.commit) if commit else ():
            taken = self._trail.commit_with_id(revert)
            if (
                taken is not None
                and revert not in self._reverted_commits
                and any(line[0].begun == taken.number for line in self._curated_lines(fact))
            ):
                return taken.number
        return None

    @cached_property
    def _reverted_commits(self) -> frozenset[CommitId]:
        return taken_back(self._trail.reverts())

    def _closing_marks(self, line: _Line, ends: Sequence[_End]) -> Iterator[Mark]:
        """The marks that end a line, of each end up to the first not taken back."""
        rows = {each.number for each in line}
        for end in ends:
            if not rows.isdisjoint(end.rows):
                if end.taken_back is None:
                    return
            elif self._reaches(end, line[0]):
                yield from (
                    self._mark(end.kind, each, end.number, end.other, end.taken_back)
                    for each in self._live_at(line, end.number)
                )
                if end.taken_back is None:
                    return

    def _reaches(self, end: _End, first: Occurrence) -> bool:
        """True if a line was not said later than an end; within one minute the commits tell."""
        moment, said, begun = (
            self._trail.order(end.number)[0],
            self._said(first),
            self._trail.order(first.begun)[0],
        )
        if said // _MINUTE != moment // _MINUTE:
            return said < moment
        if begun != moment:
            return begun < moment
        commit = self._commit(first.begun)
        return first.begun == end.number or commit is None or not commit.reaches(end.number)

    def _live_at(self, line: _Line, number: int) -> Iterator[Occurrence]:
        order = self._trail.order(number)
        return (
            each for each in line if each.ended is None or self._trail.order(each.ended) > order
        )

    def here_again(self, fact: FactId) -> Iterator[Occurrence]:
        """The lines, edited in place, of a fact that a commit forgot without knowing of them."""
        lines = self._curated_lines(fact)
        ends = [
            each
            for line in lines
            for each in self._trail.contested_ends_of(line[-1].number)
            if self._forgets(each)
        ]
        forgotten = [
            *(
                line[-1]
                for line in lines
                if line[-1].fate is Fate.REMOVED and self._forgets(line[-1])
            ),
            *ends,
        ]
        for line in lines:
            if line[-1].ended is None and any(
                self._is_unknown_to(line, each) for each in forgotten
            ):
                yield line[-1]

    def _is_unknown_to(self, line: _Line, end: Occurrence) -> bool:
        """True if a line came in beside the end of another, or after a merge took back its own."""
        assert end.ended is not None  # it was forgotten
        if end.number == line[-1].number:
            return True
        begun, ended = self._commit(line[0].begun), self._commit(end.ended)
        return (
            bool(begun and ended)
            and not (begun and begun.reaches(end.ended))
            and not (ended and ended.reaches(line[0].begun))
        )

    # Promotions.

    def _promoted_lines(
        self, fact: FactId, lines: Sequence[_Line]
    ) -> Iterator[tuple[FactId, _Line, int]]:
        """The curated lines that say a log's fact, each with its fact and the commit since when."""
        for number, curated in self._trail.promotions_of(fact):
            commit = self._commit(number)
            for line in self._curated_lines(curated) if curated != fact else ():
                if commit and any(
                    commit.reaches(each.begun) and not (each.ended and commit.reaches(each.ended))
                    for each in line
                ):
                    yield curated, line, number
        attribute = _attribute(lines)
        if attribute is not None:
            curated = fact_id(f"{attribute}: {lines[-1][-1].entry.text}")
            for line in self._curated_lines(curated) if curated != fact else ():
                yield curated, line, line[0].begun

    def _follow(
        self, fact: FactId, line: _Line, begun: int, ends: list[_End], promotions: list[_Promotion]
    ) -> None:
        following: _Line | None = line
        while following is not None:
            last = following[-1]
            promotions.append(_Promotion(fact, begun, last.ended))
            back = None if last.ended is None else self._taken_back(fact, last.ended)
            ends += [end] if (end := self._end_of_line(fact, last)) else []
            following = next(
                (
                    each
                    for each in self._curated_lines(fact)
                    if back is not None and each[0].begun == back
                ),
                None,
            )
            begun = back or begun

    def _promotion_marks(self, line: _Line, promotions: Sequence[_Promotion]) -> Iterator[Mark]:
        order, last = self._trail.order, line[-1]
        for each in dict.fromkeys(promotions):
            begun = max(each.begun, last.begun, key=order)
            if each.ended is None or order(each.ended) > order(begun):
                yield self._mark(MarkKind.PROMOTED, last, begun, each.fact, each.ended)

    def _mark(
        self, kind: MarkKind, on: Occurrence, begun: int, other: FactId | None, ended: int | None
    ) -> Mark:
        return Mark(
            kind=kind,
            commit=self._trail.order(begun)[1],
            begun=begun,
            fact=on.entry.fact or FactId(""),
            other=other,
            occurrence=on.number,
            ended=ended,
        )

    def _read_notes(self, number: int) -> tuple[QuotingNote, ...]:
        commit = self._commit(number)
        return parse_notes(commit.message) if commit else ()


def _attribute(lines: Sequence[_Line]) -> str | None:
    return next(
        (each.origin.attribute for line in lines for each in line if each.origin.attribute), None
    )
