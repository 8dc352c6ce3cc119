"""The ends of facts as they reach their copies in daily logs, which no commit names. Pure.

A log records what was said, a curated file what is true. So the end of a fact in a curated file
ends the log lines that said it before, and the stated end of one log line ends its earlier copies.
A line that was said later begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from mdmem.model import CommitId, FactId, FilePath, Op
from mdmem.model.trail import Fate, Mark, MarkKind, Occurrence
from mdmem.past.chains import joined_by_moves
from mdmem.past.messages import quoted_line
from mdmem.past.notes import QuotingNote, parse_message, parse_notes
from mdmem.past.step_marks import taken_back
from mdmem.startup.records import dataclass, field
from mdmem.text.facts import fact_id, may_have_copies

if TYPE_CHECKING:
    from mdmem.past.table import Trail

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
