"""Tell whose statement each new entry and line is, by the notes in a commit's message. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from mdmem.history.messages import ParsedNote, note_by_hand, quoted_line
from mdmem.history.notes import QuotingNote, parse_notes, weakest_note
from mdmem.model import FactId, FilePath, SectionPath
from mdmem.model.trail import Commit, Origin
from mdmem.repo.first_parent import FilePatch
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import lines_without_ends
from mdmem.text.facts import parse_item


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A commit's changes: lines in the form of `quoted_line`, and facts added and removed."""

    came: frozenset[str]
    went: frozenset[str] = frozenset()
    facts: frozenset[FactId] = frozenset()

    def quoted_by(self, note: QuotingNote) -> bool:
        """True if a note quotes some of it."""
        return not (note.came.isdisjoint(self.came) and note.went.isdisjoint(self.went))

    def named_by(self, note: ParsedNote) -> bool:
        """True if a note names one of the facts."""
        pairs = (*note.supersedes, *note.contradicts, *note.resolves, note.retracts, note.confirms)
        return any(not self.facts.isdisjoint(pair) for pair in pairs)

    def limit(self, each: QuotingNote) -> ParsedNote:
        """The note of a squashed commit with its statements about this text only."""
        note, facts = each.note, self.facts
        return replace(
            note,
            supersedes=tuple(pair for pair in note.supersedes if not facts.isdisjoint(pair)),
            retracts=tuple(fact for fact in note.retracts if fact in facts),
            confirms=tuple(fact for fact in note.confirms if fact in facts),
            contradicts=tuple(pair for pair in note.contradicts if not facts.isdisjoint(pair)),
            resolves=tuple(pair for pair in note.resolves if not facts.isdisjoint(pair)),
            reverts=note.reverts if self.quoted_by(each) else (),
            promotes=tuple(pair for pair in note.promotes if pair[1] in facts),
            cites=tuple(pair for pair in note.cites if pair[0] in facts),
            keys=tuple(pair for pair in note.keys if pair[0] in facts),
        )


class Statements:
    """The notes of a commit that count, each for what it quotes.

    A note left by a squash counts if it has the form of one, or speaks of what the commit changed:
    so examples in a person's message count for nothing.
    """

    def __init__(self, commit: Commit, changed: Callable[[], ChangedText]) -> None:
        self.commit = commit
        quoting = parse_notes(commit.message)
        own = next((each.note for each in quoting if each.is_own), None)
        self._limited: tuple[ParsedNote, ...] = ()
        if len(quoting) > (own is not None):
            text = changed()
            quoting = tuple(
                each
                for each in quoting
                if each.is_own or each.is_formal or text.quoted_by(each) or text.named_by(each.note)
            )
            self._limited = tuple(text.limit(each) for each in quoting if not each.is_own)
        self._quoting = quoting
        by_hand = note_by_hand(commit.message)
        self._own = (
            replace(own, reverts=(*own.reverts, *by_hand.reverts))
            if own and by_hand.reverts
            else own or by_hand
        )
        self._weakest = weakest_note(each.note for each in quoting) if quoting else self._own
        self.tells_where_said = any(each.note.cites for each in quoting)
        self._origins: dict[int, Origin] = {}

    @property
    def notes(self) -> tuple[ParsedNote, ...]:
        """All that the commit states: first the squashed notes about its changes, last its own."""
        return (*self._limited, self._own)

    def is_of_many(self) -> bool:
        """True if several notes count: lines may be different people's statements."""
        return len(self._quoting) > 1

    def note(
        self, lines: Sequence[str], path: FilePath | None = None, section: SectionPath = ()
    ) -> ParsedNote:
        """The note whose statement an entry is, by its lines.

        The last note that quotes its first line, or the last that quotes another of its lines,
        whichever has the weaker source; a note of the entry's section goes before others. Where
        none quotes any, it is the weakest of all.
        """
        if not self.is_of_many():
            return self._weakest
        quoted = [quoted_line(line) for line in lines if line.strip()]
        notes = [
            note
            for part in (quoted[:1], quoted[1:])
            if (note := self._last_note_quoting(part, path, section))
        ]
        return weakest_note(notes) if notes else self._weakest

    def _last_note_quoting(
        self, lines: Collection[str], path: FilePath | None, section: SectionPath
    ) -> ParsedNote | None:
        notes = [each.note for each in self._quoting if not each.came.isdisjoint(lines)]
        in_section = [
            note for note in notes if note.path in (None, path) and note.names_section(section)
        ]
        return next(reversed(in_section or notes), None)

    def origin(self, note: ParsedNote, fact: FactId | None = None) -> Origin:
        """The origin of a note's statement: one object a note, but for the facts of a digest."""
        origin = self._shared_origin(note)
        citing = (
            self._citing_note(note, fact)
            if fact is not None and (note.cites or self.tells_where_said)
            else None
        )
        if fact is None or citing is None:
            return origin
        return replace(origin, cites=citing.cites_of(fact), attribute=citing.attribute_of(fact))

    @property
    def only_origin(self) -> tuple[Origin, bool] | None:
        """The origin of every line, and if a key has several values; None where lines differ."""
        return (
            None
            if self.is_of_many() or self.tells_where_said
            else (self._shared_origin(self._weakest), self._weakest.also)
        )

    def _citing_note(self, note: ParsedNote, fact: FactId) -> ParsedNote | None:
        """The note that tells where a fact was said: its own, else the last that tells."""
        candidates = (
            [note]
            if note is not self._weakest
            else [note, *(each.note for each in reversed(self._quoting))]
        )
        return next(
            (
                each
                for each in candidates
                if each.cites and any(cited == fact for cited, _ in each.cites)
            ),
            None,
        )

    def _shared_origin(self, note: ParsedNote) -> Origin:
        if id(note) not in self._origins:
            self._origins[id(note)] = Origin(
                commit=self.commit.id,
                time=self.commit.time,
                source=note.provenance.source,
                confidence=note.provenance.confidence,
                author=f"{self.commit.author} <{self.commit.email}>",
                actor=note.provenance.actor,
                session=note.provenance.session,
                claimed_by=note.claimed_by,
            )
        return self._origins[id(note)]


def _statements_of_lines(commit: Commit, lines: Sequence[str]) -> Statements:
    return Statements(commit, lambda: ChangedText(frozenset(map(quoted_line, lines))))


def line_notes(commit: Commit, lines: Sequence[str]) -> list[ParsedNote]:
    """The note whose statement each of some lines is that a commit brought in."""
    statements = _statements_of_lines(commit, lines)
    return [statements.note((line,)) for line in lines]


def line_cites(commit: Commit, lines: Sequence[str]) -> tuple[str, ...]:
    """The lines of sessions where the facts were said that a commit brought in with some lines."""
    if "Mdmem-Cites: " not in commit.message:
        return ()
    statements = _statements_of_lines(commit, lines)
    return tuple(cited for line in lines for cited in _line_origin(statements, line).cites)


def line_origin(commit: Commit, line: str) -> Origin:
    """The origin of an added line; a commit without `Mdmem-Op` is a person's, thus the user's."""
    return _line_origin(_statements_of_lines(commit, [line]), line)


def _line_origin(statements: Statements, line: str, path: FilePath | None = None) -> Origin:
    note = statements.note((line,), path)
    return statements.origin(note, parse_item(line).id if statements.tells_where_said else None)


def restated(origin: Origin, stated: Origin) -> Origin:
    """An origin with the source of another one, and all that goes with it."""
    return replace(
        origin,
        source=stated.source,
        confidence=stated.confidence,
        claimed_by=stated.claimed_by,
        cites=stated.cites,
        attribute=stated.attribute,
    )


def line_origins(
    history: Iterable[tuple[Commit, Sequence[FilePatch]]],
) -> dict[FilePath, dict[str, Origin]]:
    """The origins of lines that commits (oldest first) added, by file and stripped line.

    A renamed file keeps those of its lines. What a revert brings back has the source that it had.
    """
    origins: dict[FilePath, dict[str, Origin]] = {}
    for commit, patches in history:
        added = [
            (patch, [line.strip() for text in patch.added for line in lines_without_ends(text)])
            for patch in patches
        ]
        statements = _statements_of_lines(commit, [line for _, lines in added for line in lines])
        reverts = any(note.reverts for note in statements.notes)
        for patch, new_lines in added:
            lines = origins.setdefault(patch.path, {})
            if patch.renamed_from:
                lines.update(origins.get(patch.renamed_from, {}))
            for line in new_lines:
                origin = _line_origin(statements, line, patch.path)
                lines[line] = restated(origin, lines[line]) if reverts and line in lines else origin
    return origins
