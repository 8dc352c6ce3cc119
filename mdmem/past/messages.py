"""The notes in commit messages, written and read one at a time; `notes` finds them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from mdmem import secrets
from mdmem.model import (
    CommitId,
    FactId,
    FilePath,
    Op,
    Provenance,
    SectionPath,
    Source,
    Supersession,
)
from mdmem.model.errors import printable
from mdmem.past.differences import changed_lines
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import join_path, split_lines

_QUOTED_LINES = 20
_QUOTED_CHARACTERS = 200
_SUBJECT_CHARACTERS = 200
_TRAILER_CHARACTERS = 1000
_LIST_MARKER = late.pattern(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")
_PATH = late.pattern(r"(?i)^(.+?\.md): ")
_FACT = late.pattern(r"[0-9a-f]{8}")
_COMMIT = late.pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LINE = r"[1-9][0-9]{0,8}"
_REFERENCE = rf"[^\s/]+/\S(?:.*\S)?#{_LINE}"
"""A line of a session, CLIENT/SESSION#LINE. The id of a session may hold any sign."""
_CITED = late.pattern(rf"([0-9a-f]{{8}}) ({_REFERENCE}(?:-{_LINE})?)")
_OF_FACT = late.pattern(r"([0-9a-f]{8}) +(\S.*)")
_READ = late.pattern(rf"({_REFERENCE}) ([0-9a-f]{{12}})")
_REVERTED_BY_GIT = late.pattern(r"(?m)^This reverts commit ([0-9a-f]{7,64})\b")
_BETWEEN_PARAGRAPHS = late.pattern(r"\n(?:[ \t]*\n)+")
_MADE_BY_GIT = late.pattern(r"Signed-off-by: |\(cherry picked from commit ")
_TRAILER = late.pattern(r"[A-Za-z0-9-]+[ \t]*:|\(cherry picked from commit ")
_PERSON = late.pattern(r"(.+?)(?: <(.*)>)?")
_CLAIM = late.pattern(r"(?m)^ {0,4}Mdmem-Claimed-By: +(\S.*?)\s*$")
_BY_AN_AGENT = Provenance(source=Source.INFERRED, confidence=Source.INFERRED.confidence)
_BY_A_PERSON = Provenance(source=Source.USER_STATED, confidence=Source.USER_STATED.confidence)

_MOST_CHARACTERS = 4_000_000
_MOST_TRAILERS = 20_000
"""One commit of mdmem has some hundreds at most, so that the squash of a hundred is read."""

FactPair = tuple[FactId, FactId]


@dataclass(frozen=True, slots=True)
class CommitNote:
    """The note in the message of a commit of mdmem: all that it states besides the change itself.

    `ended` are facts without a successor; `confirms` are facts whose words are said again, from
    this source. `claimed_by` is the agent that calls a text the user's own. `only`: just the
    removed line is forgotten, its fact is current elsewhere. `promotes` pairs facts of logs with
    what the change made of them in a curated file.

    Of a digest: `more_sections` are the other sections with new entries, `more_sessions` the other
    sessions in which they were said, `run` names the run, `cites` tells where each fact was said,
    `keys` what it is about, `senders` who said it where that was not the user, and `reads` how far
    transcripts are read. Of a dream, too; `dreamt` is the commit through which it has judged what
    came in. Of a decision: the `proposal` and the agent that it is `proposed_by`; `accepts`,
    `closes` (rivals of what it accepts) and `rejects` are pairs of a proposal and a part. Of a
    proposal: `again` are the decisions on these parts after which they are proposed once more;
    `overtaken` if what the part would change had changed when its branch was made anew.
    """

    op: Op
    path: FilePath
    section: SectionPath
    provenance: Provenance
    supersedes: tuple[Supersession, ...] = ()
    ended: tuple[FactId, ...] = ()
    also: bool = False
    only: bool = False
    retracts: tuple[FactId, ...] = ()
    confirms: tuple[FactId, ...] = ()
    contradicts: tuple[FactPair, ...] = ()
    resolves: tuple[FactPair, ...] = ()
    reverts: tuple[CommitId, ...] = ()
    promotes: tuple[FactPair, ...] = ()
    claimed_by: str | None = None
    more_sections: tuple[SectionPath, ...] = ()
    more_sessions: tuple[str, ...] = ()
    run: str | None = None
    cites: tuple[tuple[FactId, str], ...] = ()
    keys: tuple[tuple[FactId, str], ...] = ()
    reads: tuple[str, ...] = ()
    senders: tuple[tuple[FactId, str], ...] = ()
    dreamt: CommitId | None = None
    proposal: str | None = None
    proposed_by: str | None = None
    accepts: tuple[tuple[str, str], ...] = ()
    closes: tuple[tuple[str, str], ...] = ()
    rejects: tuple[tuple[str, str], ...] = ()
    again: tuple[CommitId, ...] = ()
    overtaken: bool = False


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """A commit's note as far as readable: people edit messages; malformed parts are left out.

    `op` is None for a commit made with git (an agent's has `claimed_by`), and an `Op` unless a
    later version wrote it: `Op.SAVE` for edits by hand that an agent had committed. `path` is the
    file that the subject names. `section` is the joined path as `section_name` gives it, empty for
    the text before the first heading; of a digest, the first of its `sections`. `supersedes` pairs
    a fact with its successor, or None. The other fields are those of `CommitNote`: `cites` pairs a
    fact with the lines of a session (`CLIENT/SESSION#LINE[-LINE]`), `reads` the last line read of a
    session with its hash.
    """

    op: str | None
    path: FilePath | None
    section: str
    provenance: Provenance
    claimed_by: str | None = None
    also: bool = False
    only: bool = False
    supersedes: tuple[tuple[FactId, FactId | None], ...] = ()
    retracts: tuple[FactId, ...] = ()
    confirms: tuple[FactId, ...] = ()
    contradicts: tuple[FactPair, ...] = ()
    resolves: tuple[FactPair, ...] = ()
    reverts: tuple[CommitId, ...] = ()
    promotes: tuple[FactPair, ...] = ()
    sections: tuple[str, ...] = ()
    run: str | None = None
    cites: tuple[tuple[FactId, str], ...] = ()
    keys: tuple[tuple[FactId, str], ...] = ()
    reads: tuple[tuple[str, str], ...] = ()
    senders: tuple[tuple[FactId, str], ...] = ()
    dreamt: CommitId | None = None
    again: tuple[CommitId, ...] = ()
    overtaken: bool = False
    proposed_by: str | None = None

    def names_section(self, section: SectionPath) -> bool:
        name = section_name(section)
        return name == self.section or name in self.sections

    def cites_of(self, fact: FactId) -> tuple[str, ...]:
        return tuple(cited for each, cited in self.cites if each == fact)

    def attribute_of(self, fact: FactId) -> str | None:
        return next((key for each, key in self.keys if each == fact), None)

    def sender_of(self, fact: FactId) -> str | None:
        return next((name for each, name in self.senders if each == fact), None)

    @property
    def is_by_hand(self) -> bool:
        """True for a change made without mdmem: only the difference tells what it did to facts."""
        return self.op in (None, Op.SAVE, Op.SYNC)


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
    changed: list[tuple[str, str]] = []
    for before, after in changes:
        removed, added = changed_lines(before, after)
        parts = (("-", secrets.redact("".join(removed))), ("+", secrets.redact("".join(added))))
        changed += [
            (sign, line.strip())
            for sign, part in parts
            for line in split_lines(part)
            if line.strip()
        ]
    lines = [f"{sign} {quoted_line(line)}" for sign, line in changed[:_QUOTED_LINES]]
    more = len(changed) - _QUOTED_LINES
    return [*lines, *([f"({more} more lines)"] if more > 0 else []), *([""] if lines else [])]


def _trailers(values: Iterable[tuple[str, str]]) -> list[str]:
    return [
        f"Mdmem-{name}: {_one_line(value, _TRAILER_CHARACTERS)}"
        for name, value in values
        if value.strip()
    ]


def compose_joined(
    subject: str, blocks: Sequence[tuple[CommitNote, Sequence[tuple[str, str]]]]
) -> str:
    if len(blocks) == 1:
        note, changes = blocks[0]
        return compose_message(note, *changes, subject=subject)
    composed = (compose_message(note, *changes) for note, changes in blocks)
    return "\n".join([subject, "", *composed])


def compose_message(note: CommitNote, *changes: tuple[str, str], subject: str | None = None) -> str:
    """Write a commit message: subject, quoted changes (texts before and after), trailers."""
    short = note.section[1:] if len(note.section) > 1 else note.section
    named = f"{note.path}: {note.op} {join_path(short)}".rstrip()
    subject = _one_line(subject or named, _SUBJECT_CHARACTERS)
    provenance = note.provenance
    trailers = [
        ("Op", note.op.value),
        ("Section", join_path(note.section)),
        *(("Section", join_path(section)) for section in note.more_sections),
        ("Source", provenance.source.value),
        ("Confidence", f"{provenance.confidence:g}"),
        *(("Supersedes", f"{pair.old} {pair.new}") for pair in note.supersedes),
        *(("Supersedes", f"{old} -") for old in note.ended),
        *(("Retracts", fact) for fact in note.retracts),
        *(("Confirms", fact) for fact in note.confirms),
        *(("Contradicts", " ".join(pair)) for pair in note.contradicts),
        *(("Resolves", " ".join(pair)) for pair in note.resolves),
        *(("Reverts", commit) for commit in note.reverts),
        *(("Promotes", " ".join(pair)) for pair in note.promotes),
        ("Also", "true" if note.also else ""),
        ("Only", "true" if note.only else ""),
        ("Actor", provenance.actor or ""),
        ("Session", provenance.session or ""),
        *(("Session", session) for session in note.more_sessions),
        ("Run", note.run or ""),
        *(("Cites", f"{fact} {cited}") for fact, cited in note.cites),
        *(("Key", f"{fact} {key}") for fact, key in note.keys),
        *(("Sender", f"{fact} {name}") for fact, name in note.senders),
        *(("Read", read) for read in note.reads),
        ("Dreamt", note.dreamt or ""),
        ("Proposal", note.proposal or ""),
        ("Proposed-By", note.proposed_by or ""),
        *(("Accepts", " ".join(pair)) for pair in note.accepts),
        *(("Closes", " ".join(pair)) for pair in note.closes),
        *(("Rejects", " ".join(pair)) for pair in note.rejects),
        *(("Again", commit) for commit in note.again),
        ("Overtaken", "true" if note.overtaken else ""),
        ("Claimed-By", note.claimed_by or ""),
        ("Reason", provenance.reason or ""),
    ]
    return "\n".join([subject, "", *_quoted(changes), *_trailers(trailers), ""])


def compose_claimed_save(
    text: str, changes: Iterable[tuple[str, str]], agent: str, op: Op = Op.SAVE
) -> str:
    """Write the message of pending edits committed by an agent, who may not have made them.

    `text` has no quotes and trailers; `changes` are the texts of the files before and after.
    """
    source = Source.INFERRED
    trailers = (
        ("Op", op.value),
        ("Source", source.value),
        ("Confidence", f"{source.confidence:g}"),
        ("Actor", agent),
        ("Claimed-By", agent),
    )
    return "\n".join([text.rstrip(), "", *_quoted(changes), *_trailers(trailers), ""])


def compose_pulled_save(
    path: FilePath, statements: Iterable[tuple[Provenance, str | None, Sequence[str]]]
) -> str:
    """Write the message for a text left by a stopped pull, a block for each source.

    `statements` are the sources, each with the agent that claims it and its lines.
    """
    blocks = []
    for provenance, claimed_by, lines in statements:
        trailers = (
            ("Op", Op.SAVE.value),
            ("Source", provenance.source.value),
            ("Confidence", f"{provenance.confidence:g}"),
            ("Claimed-By", claimed_by or ""),
        )
        subject = _one_line(f"{path}: save what a stopped pull left", _SUBJECT_CHARACTERS)
        blocks.append(
            "\n".join([subject, "", *_quoted([("", "".join(lines))]), *_trailers(trailers), ""])
        )
    return "\n".join(blocks)


def is_over_bound(message: str) -> bool:
    """True for a message that states nothing, since it is too long to be read at each update."""
    return (
        len(message) > _MOST_CHARACTERS
        or message.count("Mdmem-") > _MOST_TRAILERS
        or message.count("This reverts commit ") > _MOST_TRAILERS
    )


def parse_trailers(text: str) -> dict[str, list[str]]:
    """The `Mdmem-` trailers in the last paragraph of a message, by name without the prefix."""
    values: dict[str, list[str]] = {}
    if is_over_bound(text):
        return values
    for line in text.replace("\r\n", "\n").rstrip().split("\n\n")[-1].split("\n"):
        name, colon, value = line.partition(": ")
        if colon and name.startswith("Mdmem-"):
            values.setdefault(name.removeprefix("Mdmem-"), []).append(value.strip())
    return values


def is_proposed(message: str) -> bool:
    """True for the message of a commit that only proposes what it changes."""
    return "Mdmem-Proposed: " in message and "Proposed" in parse_trailers(message)


def accepting_author(message: str) -> tuple[str, str] | None:
    """The person for whom a program merged a proposal (`Mdmem-Accepted-By: NAME <EMAIL>`)."""
    names = (
        parse_trailers(message).get("Accepted-By", ()) if "Mdmem-Accepted-By: " in message else ()
    )
    return next(
        ((match[1], match[2] or "") for match in map(_PERSON.fullmatch, names) if match), None
    )


def note_by_hand(message: str) -> ParsedNote:
    """The note of a message without `Mdmem-Op`: a person's, or an agent's who claims its changes.

    The line of git's own reverts (`This reverts commit …`) counts as `Mdmem-Reverts`; it may have a
    short id. Only a merge's trailers name its contradictions; a claim counts wherever a squash put
    it. One that exceeds the bound counts as an agent's: its claim is not read.
    """
    if is_over_bound(message):
        return ParsedNote(op=None, path=None, section="", provenance=_BY_AN_AGENT)
    reverts = tuple(map(CommitId, _REVERTED_BY_GIT.findall(message)))
    made = (
        parse_trailers(_trailer_block(message)).get("Contradicts", ())
        if "Mdmem-Contradicts: " in message
        else ()
    )
    claim = _CLAIM.search(message) if "Mdmem-Claimed-By: " in message else None
    return ParsedNote(
        op=None,
        path=None,
        section="",
        provenance=replace(_BY_AN_AGENT, actor=claim[1]) if claim else _BY_A_PERSON,
        claimed_by=claim[1] if claim else None,
        reverts=reverts,
        contradicts=tuple(_pairs(made)),
    )


def _trailer_block(message: str) -> str:
    """The last paragraph if git-interpret-trailers(1) takes it for trailers; never the first."""
    _, *paragraphs = _BETWEEN_PARAGRAPHS.split(message.replace("\r\n", "\n").strip())
    lines = paragraphs[-1].split("\n") if paragraphs else []
    # What is indented goes on with the line before.
    own = [line for line in lines if not line.startswith((" ", "\t"))]
    others = [line for line in own if not _TRAILER.match(line)]
    is_block = not others or (
        any(map(_MADE_BY_GIT.match, own)) and 3 * (len(own) - len(others)) >= len(others)
    )
    return "\n".join(lines) if is_block else ""


def named_path(subject: str) -> FilePath | None:
    match = _PATH.match(subject)
    return FilePath(match[1]) if match else None


def parse_note(lines: Sequence[str], path: FilePath | None) -> ParsedNote:
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
        only=first("Only") == "true",
        supersedes=tuple(_supersessions(values.get("Supersedes", ()))),
        retracts=tuple(_facts(values.get("Retracts", ()))),
        confirms=tuple(_facts(values.get("Confirms", ()))),
        contradicts=tuple(_pairs(values.get("Contradicts", ()))),
        resolves=tuple(_pairs(values.get("Resolves", ()))),
        reverts=tuple(_commits(values.get("Reverts", ()))),
        promotes=tuple(_pairs(values.get("Promotes", ()))),
        sections=tuple(filter(None, values.get("Section", ()))),
        run=first("Run"),
        cites=tuple(_of_facts(_CITED, values.get("Cites", ()))),
        keys=tuple(_of_facts(_OF_FACT, values.get("Key", ()))),
        reads=tuple(_matched(_READ, values.get("Read", ()))),
        senders=tuple(_of_facts(_OF_FACT, values.get("Sender", ()))),
        dreamt=next(_commits(values.get("Dreamt", ())), None),
        again=tuple(_commits(values.get("Again", ()))),
        overtaken="Overtaken" in values,
        proposed_by=first("Proposed-By"),
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


def _matched(pattern: re.Pattern[str], values: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((match[1], match[2]) for value in values if (match := pattern.fullmatch(value)))


def _of_facts(pattern: re.Pattern[str], values: Iterable[str]) -> Iterator[tuple[FactId, str]]:
    return ((FactId(fact), text) for fact, text in _matched(pattern, values))


def _commits(values: Iterable[str]) -> Iterator[CommitId]:
    return (CommitId(value) for value in values if _COMMIT.fullmatch(value))


def _facts(values: Iterable[str]) -> Iterable[FactId]:
    return (FactId(value) for value in values if _FACT.fullmatch(value))


def _supersessions(values: Iterable[str]) -> Iterable[tuple[FactId, FactId | None]]:
    for words in map(str.split, values):
        if (
            len(words) == 2
            and _FACT.fullmatch(words[0])
            and (words[1] == "-" or _FACT.fullmatch(words[1]))
        ):
            yield FactId(words[0]), FactId(words[1]) if words[1] != "-" else None


def _pairs(values: Iterable[str]) -> Iterable[FactPair]:
    for old, new in _supersessions(values):
        if new is not None:
            yield old, new
