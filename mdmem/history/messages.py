"""What a commit says of a change: the message with its trailers, both ways, and the commit that brought each line in."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from mdmem.document import join_path, lines_without_ends, split_lines
from mdmem.errors import printable
from mdmem.model import CommitId, FactId, FilePath, Op, Provenance, SectionPath, Source, Supersession
from mdmem.model.trail import Commit, Origin
from mdmem.repo.patches import FilePatch
from mdmem.startup import late
from mdmem.startup.records import dataclass, field

if TYPE_CHECKING:
    from mdmem import secrets
else:
    secrets = late.module("mdmem.secrets")


_QUOTED_LINES = 20
_QUOTED_CHARACTERS = 200
_SUBJECT_CHARACTERS = 200
_TRAILER_CHARACTERS = 1000
_PIECE = 256
_LIST_MARKER = re.compile(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")
_PATH = re.compile(r"(?i)^(.+?\.md): ")
_FACT = re.compile(r"[0-9a-f]{8}")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REVERTED_BY_GIT = re.compile(r"(?m)^This reverts commit ([0-9a-f]{40}(?:[0-9a-f]{24})?)\b")
_BY_A_PERSON = Provenance(Source.USER_STATED, Source.USER_STATED.confidence)

FactPair = tuple[FactId, FactId]


@dataclass(frozen=True, slots=True)
class CommitNote:
    """What a commit of mdmem says besides the change itself.

    `ended` are facts that nothing took the place of; `claimed_by` is the agent that says that the user said so.
    """

    op: Op
    path: FilePath
    section: SectionPath
    provenance: Provenance
    supersedes: tuple[Supersession, ...] = ()
    ended: tuple[FactId, ...] = ()
    also: bool = False
    retracts: tuple[FactId, ...] = ()
    contradicts: tuple[FactPair, ...] = ()
    resolves: tuple[FactPair, ...] = ()
    reverts: tuple[CommitId, ...] = ()
    claimed_by: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """What a commit message says, as far as it can be read: people and rebases edit messages, and what is malformed is not said.

    `op` is None for a person's commit, an `Op` where it is known. `path` is the file that the subject names. `section` is the joined
    path as `section_name` gives it, empty for the text before the first heading. In `supersedes` the second is None where nothing
    took the place of the first.
    """

    op: str | None
    path: FilePath | None
    section: str
    provenance: Provenance
    claimed_by: str | None = None
    also: bool = False
    supersedes: tuple[tuple[FactId, FactId | None], ...] = ()
    retracts: tuple[FactId, ...] = ()
    contradicts: tuple[FactPair, ...] = ()
    resolves: tuple[FactPair, ...] = ()
    reverts: tuple[CommitId, ...] = ()


def _one_line(text: str, limit: int = _QUOTED_CHARACTERS) -> str:
    folded = " ".join(printable(text, keep="\n\r\t").split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def section_name(section: SectionPath) -> str:
    """A section's path as `Mdmem-Section` holds it."""
    return _one_line(join_path(section), _TRAILER_CHARACTERS)


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went out and came in between the common beginning and the common end of two texts."""
    old, new = split_lines(before), split_lines(after)
    start, end = common_ends(old, new)
    return old[start : len(old) - end], new[start : len(new) - end]


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many things two sequences begin with in common, and how many of the rest they end with in common."""
    most = min(len(old), len(new))
    start = _common(old, new, most)
    return start, _common(old[::-1], new[::-1], most - start)


def _common(old: Sequence[object], new: Sequence[object], most: int) -> int:
    """How many of the first `most` things two sequences begin with in common: by large pieces, then by halves."""
    start, size = 0, _PIECE
    while size:
        while start + size <= most and old[start : start + size] == new[start : start + size]:
            start += size
        size //= 2
    return start


def _quoted(before: str, after: str) -> list[str]:
    removed, added = changed_lines(before, after)
    parts = (("-", secrets.redact("".join(removed))), ("+", secrets.redact("".join(added))))
    changed = [(sign, line.strip()) for sign, part in parts for line in split_lines(part) if line.strip()]
    lines = [f"{sign} {_one_line(_LIST_MARKER.sub('', line))}" for sign, line in changed[:_QUOTED_LINES]]
    more = len(changed) - _QUOTED_LINES
    return [*lines, f"({more} more lines)"] if more > 0 else lines


def compose_message(note: CommitNote, before: str, after: str) -> str:
    """The commit message of a change of mdmem's: subject, the changed lines quoted, trailers."""
    short = note.section[1:] if len(note.section) > 1 else note.section
    subject = _one_line(f"{note.path}: {note.op} {join_path(short)}".rstrip(), _SUBJECT_CHARACTERS)
    said = note.provenance
    trailers = [
        ("Op", note.op.value),
        ("Section", join_path(note.section)),
        ("Source", said.source.value),
        ("Confidence", f"{said.confidence:g}"),
        *(("Supersedes", f"{pair.old} {pair.new}") for pair in note.supersedes),
        *(("Supersedes", f"{old} -") for old in note.ended),
        *(("Retracts", fact) for fact in note.retracts),
        *(("Contradicts", " ".join(pair)) for pair in note.contradicts),
        *(("Resolves", " ".join(pair)) for pair in note.resolves),
        *(("Reverts", commit) for commit in note.reverts),
        ("Also", "true" if note.also else ""),
        ("Actor", said.actor or ""),
        ("Session", said.session or ""),
        ("Claimed-By", note.claimed_by or ""),
        ("Reason", said.reason or ""),
    ]
    lines = [f"Mdmem-{name}: {_one_line(value, _TRAILER_CHARACTERS)}" for name, value in trailers if value.strip()]
    quoted = _quoted(before, after)
    return "\n".join([subject, "", *quoted, *([""] if quoted else []), *lines, ""])


def parse_trailers(text: str) -> dict[str, list[str]]:
    """The `Mdmem-` trailers of a commit message (its last paragraph), by name without the prefix."""
    found: dict[str, list[str]] = {}
    for line in text.replace("\r\n", "\n").rstrip().split("\n\n")[-1].split("\n"):
        name, colon, value = line.partition(": ")
        if colon and name.startswith("Mdmem-"):
            found.setdefault(name.removeprefix("Mdmem-"), []).append(value.strip())
    return found


def parse_message(message: str) -> ParsedNote:
    """What a commit message says. One without `Mdmem-Op` is a person's, who counts as the user and says nothing of facts.

    What git writes of its own reverts (`This reverts commit …`) counts as `Mdmem-Reverts`.
    """
    values = parse_trailers(message)
    if not any(values.get("Op", ())):
        return ParsedNote(None, None, "", _BY_A_PERSON, reverts=tuple(map(CommitId, _REVERTED_BY_GIT.findall(message))))

    def first(name: str) -> str | None:
        return next(filter(None, values.get(name, ())), None)

    path = _PATH.match(message)
    source = _source(first("Source"))
    return ParsedNote(
        op=_op(first("Op") or ""),
        path=FilePath(path[1]) if path else None,
        section=first("Section") or "",
        provenance=Provenance(source, _confidence(first("Confidence"), source), first("Actor"), first("Session"), first("Reason")),
        claimed_by=first("Claimed-By"),
        also=first("Also") == "true",
        supersedes=tuple(_successions(values.get("Supersedes", ()))),
        retracts=tuple(FactId(value) for value in values.get("Retracts", ()) if _FACT.fullmatch(value)),
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


def _successions(values: Iterable[str]) -> Iterable[tuple[FactId, FactId | None]]:
    for words in map(str.split, values):
        if len(words) == 2 and _FACT.fullmatch(words[0]) and (words[1] == "-" or _FACT.fullmatch(words[1])):
            yield FactId(words[0]), FactId(words[1]) if words[1] != "-" else None


def _pairs(values: Iterable[str]) -> Iterable[FactPair]:
    for old, new in _successions(values):
        if new is not None:
            yield old, new


def commit_origin(commit: Commit) -> Origin:
    """What a commit says of the lines it brings in. One without `Mdmem-Op` is a person's, who counts as the user."""
    provenance = parse_message(commit.message).provenance
    return Origin(commit.id, commit.time, provenance.source, provenance.confidence)


@dataclass(slots=True)
class Origins:
    """Which commit brought in which line, file by file (`lines`: path, then the stripped line), and which file had which name before."""

    lines: dict[FilePath, dict[str, Origin]] = field(default_factory=dict)
    renamed: dict[FilePath, FilePath] = field(default_factory=dict)

    def of(self, path: FilePath, line: str, earlier: Mapping[str, Origin]) -> Origin | None:
        """The origin of a line: by these commits, else as it was known `earlier`."""
        return self.lines.get(path, {}).get(line) or earlier.get(line)


def line_origins(history: Iterable[tuple[Commit, Sequence[FilePatch]]]) -> Origins:
    """The origins of the lines that these commits (oldest first) brought in; a renamed file keeps those of its lines."""
    found = Origins()
    for commit, patches in history:
        brought = commit_origin(commit)
        for patch in patches:
            if patch.renamed_from:
                found.lines.setdefault(patch.path, {}).update(found.lines.get(patch.renamed_from, {}))
                found.renamed[patch.path] = found.renamed.get(patch.renamed_from, patch.renamed_from)
            for added in patch.added:
                found.lines.setdefault(patch.path, {}).update((line.strip(), brought) for line in lines_without_ends(added))
    return found
