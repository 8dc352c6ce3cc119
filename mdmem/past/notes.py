"""The notes in a commit message: its own, and those of commits squashed into it.

Of words that were purged from history a note has a short hash: only who has them can tell.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from mdmem.folder import trust
from mdmem.folder.trust import TextOrigin
from mdmem.model import FactId, FilePath, SectionPath, Source
from mdmem.model.trail import Commit, Origin, TrailCommit
from mdmem.past.messages import (
    ParsedNote,
    is_over_bound,
    named_path,
    note_by_hand,
    parse_note,
    parse_trailers,
    quoted_line,
)
from mdmem.repo.first_parent import FilePatch
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import lines_without_ends
from mdmem.text.facts import normalise, parse_item

if TYPE_CHECKING:
    from mdmem.past.table import Trail

_TRAILER = late.pattern(r"[A-Za-z0-9][A-Za-z0-9-]*: ?.*|\(cherry picked from commit [0-9a-f]+\)")
_APPENDED = late.pattern(
    r"[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+: .+|(?:Bug|Cc|Closes|Fixes|Issue|Link|Refs|See):"
    r" .+|\(cherry picked from commit [0-9a-f]+\)|-{3,}"
)
"""A line added below a finished message; not `Fix: …`, maybe another commit's subject."""
_OPERATION = late.pattern(r"Mdmem-Op: ([\w-]+)")
_QUOTE = late.pattern(r"[+-] .+|\(\d+ more lines\)")
_BULLET = late.pattern(r"^[*-] ")
_SUBJECT = late.pattern(r"(?i)(?:.+?\.md|mdmem|\d+ memory files): ([\w-]+)")
_FENCED = late.pattern(r"(?ms)^[ \t]*(`{3,}|~{3,})[^`\n]*\n.*?^[ \t]*\1[`~]*[ \t]*$")
_SQUASHED_BY_GIT = "Squashed commit of the following:"
_LOGGED_COMMIT = late.pattern(r"commit [0-9a-f]{40,64}\b")
_KEPT_MESSAGES = 8
"""The facts of one commit ask for its message again and again."""
_CODE_INDENT = 4
"""The indentation from which on a paragraph of a message may be an example."""


@dataclass(frozen=True, slots=True)
class QuotingNote:
    """A note with the lines added and removed that it quotes, in the form of `quoted_line`.

    `is_own`: the commit's, at the end. Others are of squashed commits: `is_formal` where they have
    the form that a squash leaves, else they may be examples in what a person wrote.
    """

    note: ParsedNote
    came: frozenset[str]
    went: frozenset[str]
    is_own: bool
    is_formal: bool


@lru_cache(_KEPT_MESSAGES)
def parse_message(message: str) -> ParsedNote:
    """Read a commit message; one without `Mdmem-Op` is a person's, and states nothing of facts.

    The notes of a squash are joined: the last, with all statements of the others, the weakest
    source among them, and the run that all have.
    """
    notes = [each.note for each in parse_notes(message) if each.is_own or each.is_formal]
    if len(notes) < 2:
        return notes[0] if notes else note_by_hand(message)
    weakest = weakest_note(notes)
    return replace(
        notes[-1],
        provenance=weakest.provenance,
        claimed_by=weakest.claimed_by,
        also=any(note.also for note in notes),
        supersedes=tuple(pair for note in notes for pair in note.supersedes),
        retracts=tuple(fact for note in notes for fact in note.retracts),
        confirms=tuple(fact for note in notes for fact in note.confirms),
        contradicts=tuple(pair for note in notes for pair in note.contradicts),
        resolves=tuple(pair for note in notes for pair in note.resolves),
        reverts=tuple(commit for note in notes for commit in note.reverts),
        promotes=tuple(pair for note in notes for pair in note.promotes),
        run=notes[-1].run if len({note.run for note in notes}) == 1 else None,
        cites=tuple(pair for note in notes for pair in note.cites),
        keys=tuple(pair for note in notes for pair in note.keys),
        reads=tuple(read for note in notes for read in note.reads),
        senders=tuple(pair for note in notes for pair in note.senders),
        again=tuple(commit for note in notes for commit in note.again),
    )


def weakest_note(notes: Iterable[ParsedNote]) -> ParsedNote:
    """The note with the weakest source, then the least confidence, then a claimed one."""
    return min(
        notes,
        key=lambda note: (
            note.provenance.source.strength,
            note.provenance.confidence,
            note.claimed_by is None,
        ),
    )


@lru_cache(_KEPT_MESSAGES)
def parse_notes(message: str) -> tuple[QuotingNote, ...]:
    """Read all notes of a message, oldest first and the commit's own last; none in a person's.

    A squash leaves the messages behind each other, indented or not, with lines added to each
    (Reviewed-by). A note is a paragraph of trailers with `Mdmem-Op`; fenced text is an example.
    """
    count = message.count("Mdmem-Op: ")
    if not count or is_over_bound(message):
        return ()
    last = message.rstrip().rpartition("\n\n")[2].split("\n")
    if (
        count == 1
        and _OPERATION.fullmatch(last[0])
        and all(line.startswith("Mdmem-") for line in last)
    ):
        own = parse_note(last, named_path(message))
        return (
            QuotingNote(note=own, came=frozenset(), went=frozenset(), is_own=True, is_formal=True),
        )
    paragraphs = list(_paragraphs(message))
    positions = [position for position, paragraph in enumerate(paragraphs) if paragraph.is_note]
    notes: list[QuotingNote] = []
    newest_first: list[QuotingNote] = []
    for position in positions:
        note = _quoting_note(
            paragraphs,
            position,
            message if len(positions) == 1 else "",
            is_last=position == positions[-1],
        )
        if paragraphs[position].is_logged:
            newest_first.insert(0, note)
        else:
            notes += [*newest_first, note]
            newest_first = []
    return (*notes, *newest_first)


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """Lines of a message between empty ones, dedented; `is_logged`: from git's list of a squash."""

    indent: int
    lines: tuple[str, ...]
    is_logged: bool

    @property
    def is_note(self) -> bool:
        """True for trailers with `Mdmem-Op`; lines that a program wrapped may lie between."""
        trailers = sum(1 for line in self.lines if _TRAILER.fullmatch(line))
        starts = _TRAILER.fullmatch(self.lines[0]) is not None
        return (
            starts
            and 2 * trailers > len(self.lines)
            and any(_OPERATION.fullmatch(line) for line in self.lines)
        )

    @property
    def is_appended(self) -> bool:
        return all(_APPENDED.fullmatch(line) for line in self.lines)

    @property
    def is_quote(self) -> bool:
        return all(_QUOTE.fullmatch(line) for line in self.lines)


def _paragraphs(message: str) -> Iterator[_Paragraph]:
    text = _FENCED.sub("", message.replace("\r\n", "\n"))
    lines: list[str] = []
    is_squash = is_logged = False
    for line in (*text.split("\n"), ""):
        if line.strip():
            lines.append(line.expandtabs().rstrip())
        elif lines:
            indent = min(len(each) - len(each.lstrip(" ")) for each in lines)
            if not indent:
                is_squash = is_squash or _SQUASHED_BY_GIT in lines
                is_logged = is_squash and _LOGGED_COMMIT.match(lines[0]) is not None
            yield _Paragraph(
                indent, tuple(each[indent:] for each in lines), is_logged and indent > 0
            )
            lines = []


def _quoting_note(
    paragraphs: Sequence[_Paragraph], position: int, message: str, *, is_last: bool
) -> QuotingNote:
    """The note in a paragraph with quote and subject; `message` may name the file."""
    paragraph, above = paragraphs[position], position - 1
    quotes: Sequence[str] = ()
    if above >= 0 and paragraphs[above].is_quote:
        quotes, above = paragraphs[above].lines, above - 1
    subject = (
        _BULLET.sub("", paragraphs[above].lines[0])
        if above >= 0 and not paragraphs[above].is_note
        else ""
    )
    note = parse_note(paragraph.lines, named_path(subject) or named_path(message))
    named = _SUBJECT.match(subject)
    is_named = (named is not None and named[1] in (note.op, "edited", "removed")) or (
        note.run is not None and subject.startswith(f"{note.run.partition('/')[0]}: ")
    )
    came, went = (Counter(line[2:] for line in quotes if line.startswith(sign)) for sign in "+-")
    # Unchanged lines between two changes of a file are quoted as removed and as added.
    return QuotingNote(
        note=note,
        came=frozenset(came - went),
        went=frozenset(went - came),
        is_own=is_last
        and not paragraph.indent
        and all(each.is_appended for each in paragraphs[position + 1 :]),
        is_formal=paragraph.is_logged or (is_named and paragraph.indent < _CODE_INDENT),
    )


# Words purged from history

_PURGED_TRAILER = "Purged"
_DIGITS = 8
_PURGED = late.pattern(rf"([1-9][0-9]{{0,5}}) ([0-9a-f]{{{_DIGITS}}})")
_WORD = late.pattern(r"\w+")
_FEWEST_LETTERS = 4
"""The fewest letters of a single word that is purged; with digits it may be shorter."""
_MEANT_DAY = late.pattern(r"\s*\(\d{4}(?:-\d\d(?:-\d\d)?)?(?: to \d{4}-\d\d-\d\d)?\)")
"""A day in parentheses, as a digest adds it to a relative one."""


@dataclass(frozen=True, slots=True)
class PurgedWords:
    count: int
    hash: str
    time: datetime

    def stand_in(self, words: list[str]) -> bool:
        """True if they occur among words, in sequence, and tell one text from others."""
        found = (words[at : at + self.count] for at in range(len(words) - self.count + 1))
        return any(_hash(some) == self.hash and not _are_common(some) for some in found)


def purged_trailer(text: str) -> str:
    """The value of `Mdmem-Purged` for words: their number and hash; empty for none."""
    words = _words(without_meant_days(text))
    return f"{len(words)} {_hash(words)}" if words else ""


def purged_words(trail: Trail, now: datetime) -> tuple[PurgedWords, ...]:
    """The words that were purged; a purge dated ahead of now counts from its commit's past."""
    commits, latest = trail.commits_stating(f"Mdmem-{_PURGED_TRAILER}: "), now.timestamp()
    return tuple(
        each
        for commit in commits
        for each in parse_purged(commit.message, trail.moments.newest_before(commit, latest))
    )


def parse_purged(message: str, time: int) -> Iterator[PurgedWords]:
    """The words that a commit records as purged; `time` is in seconds since 1970."""
    said = datetime.fromtimestamp(time, UTC)
    for match in map(_PURGED.fullmatch, parse_trailers(message).get(_PURGED_TRAILER, ())):
        if match:
            yield PurgedWords(int(match[1]), match[2], said)


def holds_purged(text: str, time: datetime, purged: tuple[PurgedWords, ...]) -> bool:
    """True if a text has words that were purged after the time at which it was said."""
    later = [each for each in purged if time <= each.time]
    words = _words(without_meant_days(text)) if later else []
    return any(each.stand_in(words) for each in later)


def without_meant_days(text: str) -> str:
    return _MEANT_DAY.sub("", text)


def _words(text: str) -> list[str]:
    return _WORD.findall(normalise(text))


def _are_common(words: list[str]) -> bool:
    """True for words that are in most sentences: their hash would silence what nobody purged."""
    from mdmem.text.languages import words_of  # noqa: PLC0415 - 3 ms, only for purged words

    return words_of("STOP_WORDS").issuperset(words) or (
        len(words) == 1 and words[0].isalpha() and len(words[0]) < _FEWEST_LETTERS
    )


def _hash(words: list[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:_DIGITS]


# Whose statement each new entry and line is


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A commit's changes: lines in the form of `quoted_line`, and facts added and removed."""

    came: frozenset[str]
    went: frozenset[str] = frozenset()
    facts: frozenset[FactId] = frozenset()

    def quoted_by(self, note: QuotingNote) -> bool:
        return not (note.came.isdisjoint(self.came) and note.went.isdisjoint(self.went))

    def named_by(self, note: ParsedNote) -> bool:
        pairs = (*note.supersedes, *note.contradicts, *note.resolves, note.retracts, note.confirms)
        return any(not self.facts.isdisjoint(pair) for pair in pairs)

    def limit(self, each: QuotingNote) -> ParsedNote:
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


def _as_stated(note: ParsedNote, commit: Commit | TrailCommit) -> ParsedNote:
    """A commit's note with no more than its author may say."""
    provenance = note.provenance
    if not commit.by_agent or provenance.source is not Source.USER_STATED:
        return note
    source = trust.limit_source(TextOrigin.AGENT, provenance.source) or Source.AUTO
    confidence = min(provenance.confidence, source.confidence)
    return replace(note, provenance=replace(provenance, source=source, confidence=confidence))


def commit_note(commit: TrailCommit) -> ParsedNote:
    """The note of a commit as `parse_message` reads it, with no more than its author may say."""
    return _as_stated(parse_message(commit.message), commit)


class Statements:
    """The notes of a commit that count, each for what it quotes.

    A note left by a squash counts if it has the form of one, or speaks of what the commit changed:
    so examples in a person's message count for nothing.
    """

    def __init__(self, commit: Commit, changed: Callable[[], ChangedText]) -> None:
        self.commit = commit
        quoting = parse_notes(commit.message)
        if commit.by_agent:
            quoting = tuple(replace(each, note=_as_stated(each.note, commit)) for each in quoting)
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
        by_hand = _as_stated(note_by_hand(commit.message), commit)
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


def statement_of(commit: TrailCommit) -> Commit:
    """A commit of the trail, as whoever stated what it brought in."""
    return Commit(
        id=commit.commit,
        time=commit.moment,
        author=commit.author,
        message=commit.message,
        email=commit.email,
        by_agent=commit.by_agent,
    )


def _statements_of_lines(commit: Commit, lines: Sequence[str]) -> Statements:
    return Statements(commit, lambda: ChangedText(frozenset(map(quoted_line, lines))))


def line_notes(commit: Commit, lines: Sequence[str]) -> list[ParsedNote]:
    statements = _statements_of_lines(commit, lines)
    return [statements.note((line,)) for line in lines]


def line_cites(commit: Commit, lines: Sequence[str]) -> tuple[str, ...]:
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
