"""Commit messages with their notes, written and read. A message that a squash left may hold several."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mdmem.addresses import join_path
from mdmem.document import split_lines
from mdmem.errors import printable
from mdmem.history.differences import changed_lines
from mdmem.model import CommitId, FactId, FilePath, Op, Provenance, SectionPath, Source, Supersession
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace

if TYPE_CHECKING:
    from mdmem import secrets
else:
    secrets = late.module("mdmem.secrets")


_QUOTED_LINES = 20
_QUOTED_CHARACTERS = 200
_SUBJECT_CHARACTERS = 200
_TRAILER_CHARACTERS = 1000
_LIST_MARKER = late.pattern(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")
_PATH = late.pattern(r"(?i)^(.+?\.md): ")
_FACT = late.pattern(r"[0-9a-f]{8}")
_COMMIT = late.pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REVERTED_BY_GIT = late.pattern(r"(?m)^This reverts commit ([0-9a-f]{40}(?:[0-9a-f]{24})?)\b")
_TRAILER = late.pattern(r"[A-Za-z0-9][A-Za-z0-9-]*: ?.*|\(cherry picked from commit [0-9a-f]+\)")
_APPENDED = late.pattern(
    r"[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+: .+|(?:Bug|Cc|Closes|Fixes|Issue|Link|Refs|See): .+|\(cherry picked from commit [0-9a-f]+\)|-{3,}"
)
"""A line that is added to a message which is written: not `Fix: …`, which may be another commit's subject."""
_OPERATION = late.pattern(r"Mdmem-Op: ([\w-]+)")
_QUOTE = late.pattern(r"[+-] .+|\(\d+ more lines\)")
_BULLET = late.pattern(r"^[*-] ")
_SUBJECT = late.pattern(r"(?i)(?:.+?\.md|mdmem|\d+ memory files): ([\w-]+)")
_FENCED = late.pattern(r"(?ms)^[ \t]*(`{3,}|~{3,})[^`\n]*\n.*?^[ \t]*\1[`~]*[ \t]*$")
_SQUASHED_BY_GIT = "Squashed commit of the following:"
_LOGGED_COMMIT = late.pattern(r"commit [0-9a-f]{40,64}\b")
_CODE_INDENT = 4
"""From so many spaces on, what stands in a message may be an example."""
_BY_A_PERSON = Provenance(source=Source.USER_STATED, confidence=Source.USER_STATED.confidence)

FactPair = tuple[FactId, FactId]


@dataclass(frozen=True, slots=True)
class CommitNote:
    """The note in the message of a commit of mdmem: all that it states besides the change itself.

    `ended` are facts without a successor; `confirms` are facts whose words are said again, from this source. `claimed_by` is the agent that
    calls a text the user's own.
    """

    op: Op
    path: FilePath
    section: SectionPath
    provenance: Provenance
    supersedes: tuple[Supersession, ...] = ()
    ended: tuple[FactId, ...] = ()
    also: bool = False
    retracts: tuple[FactId, ...] = ()
    confirms: tuple[FactId, ...] = ()
    contradicts: tuple[FactPair, ...] = ()
    resolves: tuple[FactPair, ...] = ()
    reverts: tuple[CommitId, ...] = ()
    claimed_by: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """The note of a commit as far as its message can be read: people and rebases edit messages, and malformed parts are left out.

    `op` is None for a person's commit, and an `Op` unless a later version wrote it: `Op.SAVE` for edits by hand that an agent had committed. `path` is the file that the subject names. `section`
    is the joined path as `section_name` gives it, empty for the text before the first heading. `supersedes` pairs a fact with its
    successor, None where it has none.
    """

    op: str | None
    path: FilePath | None
    section: str
    provenance: Provenance
    claimed_by: str | None = None
    also: bool = False
    supersedes: tuple[tuple[FactId, FactId | None], ...] = ()
    retracts: tuple[FactId, ...] = ()
    confirms: tuple[FactId, ...] = ()
    contradicts: tuple[FactPair, ...] = ()
    resolves: tuple[FactPair, ...] = ()
    reverts: tuple[CommitId, ...] = ()

    @property
    def is_by_hand(self) -> bool:
        """True if the change was made without mdmem, so that only the difference tells what it did to facts."""
        return self.op in (None, Op.SAVE)


@dataclass(frozen=True, slots=True)
class QuotingNote:
    """One note of a message with the lines that it quotes, in the form of `quoted_line`: those that came and those that went.

    `is_own` is the note at the end of the message, which is the commit's. The others are of commits that were squashed into it: `is_formal`
    where they stand there as a squash leaves them, else they may be examples in what a person wrote.
    """

    note: ParsedNote
    came: frozenset[str]
    went: frozenset[str]
    is_own: bool
    is_formal: bool


def _one_line(text: str, limit: int = _QUOTED_CHARACTERS) -> str:
    folded = " ".join(printable(text, keep="\n\r\t").split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def section_name(section: SectionPath) -> str:
    """The path of a section as the trailer `Mdmem-Section` holds it."""
    return _one_line(join_path(section), _TRAILER_CHARACTERS)


def quoted_line(line: str) -> str:
    """The form in which a message quotes a line: without list marker, on one line, not too long."""
    return _one_line(_LIST_MARKER.sub("", line.strip()))


def _quoted(changes: Iterable[tuple[str, str]]) -> list[str]:
    """Quote the lines that went out and came in between texts before and after; an empty line follows them."""
    changed: list[tuple[str, str]] = []
    for before, after in changes:
        removed, added = changed_lines(before, after)
        parts = (("-", secrets.redact("".join(removed))), ("+", secrets.redact("".join(added))))
        changed += [(sign, line.strip()) for sign, part in parts for line in split_lines(part) if line.strip()]
    lines = [f"{sign} {quoted_line(line)}" for sign, line in changed[:_QUOTED_LINES]]
    more = len(changed) - _QUOTED_LINES
    return [*lines, *([f"({more} more lines)"] if more > 0 else []), *([""] if lines else [])]


def _trailers(values: Iterable[tuple[str, str]]) -> list[str]:
    return [f"Mdmem-{name}: {_one_line(value, _TRAILER_CHARACTERS)}" for name, value in values if value.strip()]


def compose_message(note: CommitNote, before: str, after: str) -> str:
    """Write the commit message of a change: subject, the changed lines quoted, trailers."""
    short = note.section[1:] if len(note.section) > 1 else note.section
    subject = _one_line(f"{note.path}: {note.op} {join_path(short)}".rstrip(), _SUBJECT_CHARACTERS)
    provenance = note.provenance
    trailers = [
        ("Op", note.op.value),
        ("Section", join_path(note.section)),
        ("Source", provenance.source.value),
        ("Confidence", f"{provenance.confidence:g}"),
        *(("Supersedes", f"{pair.old} {pair.new}") for pair in note.supersedes),
        *(("Supersedes", f"{old} -") for old in note.ended),
        *(("Retracts", fact) for fact in note.retracts),
        *(("Confirms", fact) for fact in note.confirms),
        *(("Contradicts", " ".join(pair)) for pair in note.contradicts),
        *(("Resolves", " ".join(pair)) for pair in note.resolves),
        *(("Reverts", commit) for commit in note.reverts),
        ("Also", "true" if note.also else ""),
        ("Actor", provenance.actor or ""),
        ("Session", provenance.session or ""),
        ("Claimed-By", note.claimed_by or ""),
        ("Reason", provenance.reason or ""),
    ]
    return "\n".join([subject, "", *_quoted([(before, after)]), *_trailers(trailers), ""])


def compose_claimed_save(text: str, changes: Iterable[tuple[str, str]], agent: str) -> str:
    """Write the message of pending edits that are committed while an agent is the actor, who may have made them or not.

    Args:
        text: the message without quotes and trailers.
        changes: the texts of the files before and after.
        agent: the actor.
    """
    source = Source.INFERRED
    trailers = (
        ("Op", Op.SAVE.value),
        ("Source", source.value),
        ("Confidence", f"{source.confidence:g}"),
        ("Actor", agent),
        ("Claimed-By", agent),
    )
    return "\n".join([text.rstrip(), "", *_quoted(changes), *_trailers(trailers), ""])


def parse_trailers(text: str) -> dict[str, list[str]]:
    """The `Mdmem-` trailers of a commit message (in its last paragraph), by name without the prefix."""
    values: dict[str, list[str]] = {}
    for line in text.replace("\r\n", "\n").rstrip().split("\n\n")[-1].split("\n"):
        name, colon, value = line.partition(": ")
        if colon and name.startswith("Mdmem-"):
            values.setdefault(name.removeprefix("Mdmem-"), []).append(value.strip())
    return values


def parse_message(message: str) -> ParsedNote:
    """Read a commit message. One without `Mdmem-Op` is a person's, who counts as the user and states nothing of facts.

    The notes of a squash are joined: the last one with all that the others state, and with the weakest source among them.
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
    )


def note_by_hand(message: str) -> ParsedNote:
    """The note of a person's message. The line of git's own reverts (`This reverts commit …`) counts as `Mdmem-Reverts`."""
    reverts = tuple(map(CommitId, _REVERTED_BY_GIT.findall(message)))
    return ParsedNote(op=None, path=None, section="", provenance=_BY_A_PERSON, reverts=reverts)


def weakest_note(notes: Iterable[ParsedNote]) -> ParsedNote:
    """The note with the weakest source; of these the one with the least confidence."""
    return min(notes, key=lambda note: (note.provenance.source.strength, note.provenance.confidence))


def parse_notes(message: str) -> tuple[QuotingNote, ...]:
    """Read all notes of a message, oldest first and the commit's own last; none in a person's.

    A squash leaves the messages of the commits behind each other, indented or not, with what was added to each (Reviewed-by and the like).
    A note is a paragraph of trailers with `Mdmem-Op` among them; what is fenced is an example.
    """
    if "Mdmem-Op: " not in message:
        return ()
    paragraphs = list(_paragraphs(message))
    positions = [position for position, paragraph in enumerate(paragraphs) if paragraph.is_note]
    notes: list[QuotingNote] = []
    newest_first: list[QuotingNote] = []
    for position in positions:
        note = _quoting_note(paragraphs, position, message if len(positions) == 1 else "", is_last=position == positions[-1])
        if paragraphs[position].is_logged:
            newest_first.insert(0, note)
        else:
            notes += [*newest_first, note]
            newest_first = []
    return (*notes, *newest_first)


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """Lines of a message without an empty one, without their common indent. `is_logged` is of a commit in the list that git's squash makes."""

    indent: int
    lines: tuple[str, ...]
    is_logged: bool

    @property
    def is_note(self) -> bool:
        """True for trailers with `Mdmem-Op` among them; lines that a program has wrapped may lie between."""
        trailers = sum(1 for line in self.lines if _TRAILER.fullmatch(line))
        starts = _TRAILER.fullmatch(self.lines[0]) is not None
        return starts and 2 * trailers > len(self.lines) and any(_OPERATION.fullmatch(line) for line in self.lines)

    @property
    def is_appended(self) -> bool:
        """True for what is added to a message that is written."""
        return all(_APPENDED.fullmatch(line) for line in self.lines)

    @property
    def is_quote(self) -> bool:
        """True for the lines that a note quotes."""
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
            yield _Paragraph(indent, tuple(each[indent:] for each in lines), is_logged and indent > 0)
            lines = []


def _quoting_note(paragraphs: Sequence[_Paragraph], position: int, message: str, *, is_last: bool) -> QuotingNote:
    """The note in a paragraph, with the quote and the subject before it; `message` may name the file where these do not."""
    paragraph, above = paragraphs[position], position - 1
    quotes: Sequence[str] = ()
    if above >= 0 and paragraphs[above].is_quote:
        quotes, above = paragraphs[above].lines, above - 1
    subject = _BULLET.sub("", paragraphs[above].lines[0]) if above >= 0 and not paragraphs[above].is_note else ""
    path = _PATH.match(subject) or _PATH.match(message)
    note = _parsed_note(paragraph.lines, FilePath(path[1]) if path else None)
    named = _SUBJECT.match(subject)
    is_named = named is not None and named[1] in (note.op, "edited", "removed")
    came, went = (Counter(line[2:] for line in quotes if line.startswith(sign)) for sign in "+-")
    # What lies between two changes of a file is quoted as gone and as come.
    return QuotingNote(
        note=note,
        came=frozenset(came - went),
        went=frozenset(went - came),
        is_own=is_last and not paragraph.indent and all(each.is_appended for each in paragraphs[position + 1 :]),
        is_formal=paragraph.is_logged or (is_named and paragraph.indent < _CODE_INDENT),
    )


def _parsed_note(lines: Sequence[str], path: FilePath | None) -> ParsedNote:
    values = parse_trailers("\n".join(lines))

    def first(name: str) -> str | None:
        return next(filter(None, values.get(name, ())), None)

    source = _source(first("Source"))
    return ParsedNote(
        op=_op(first("Op") or ""),
        path=path,
        section=first("Section") or "",
        provenance=Provenance(
            source=source,
            confidence=_confidence(first("Confidence"), source),
            actor=first("Actor"),
            session=first("Session"),
            reason=first("Reason"),
        ),
        claimed_by=first("Claimed-By"),
        also=first("Also") == "true",
        supersedes=tuple(_supersessions(values.get("Supersedes", ()))),
        retracts=tuple(_facts(values.get("Retracts", ()))),
        confirms=tuple(_facts(values.get("Confirms", ()))),
        contradicts=tuple(_pairs(values.get("Contradicts", ()))),
        resolves=tuple(_pairs(values.get("Resolves", ()))),
        reverts=tuple(CommitId(value) for value in values.get("Reverts", ()) if _COMMIT.fullmatch(value)),
    )


def _op(name: str) -> str:
    try:
        return Op(name)
    except ValueError:
        return name


def _source(name: str | None) -> Source:
    try:
        return Source(name or "")
    except ValueError:
        return Source.INFERRED


def _confidence(number: str | None, source: Source) -> float:
    try:
        confidence = float(number or "")
    except ValueError:
        return source.confidence
    return source.confidence if math.isnan(confidence) else min(1.0, max(0.0, confidence))


def _facts(values: Iterable[str]) -> Iterable[FactId]:
    return (FactId(value) for value in values if _FACT.fullmatch(value))


def _supersessions(values: Iterable[str]) -> Iterable[tuple[FactId, FactId | None]]:
    for words in map(str.split, values):
        if len(words) == 2 and _FACT.fullmatch(words[0]) and (words[1] == "-" or _FACT.fullmatch(words[1])):
            yield FactId(words[0]), FactId(words[1]) if words[1] != "-" else None


def _pairs(values: Iterable[str]) -> Iterable[FactPair]:
    for old, new in _supersessions(values):
        if new is not None:
            yield old, new
