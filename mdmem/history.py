"""What a commit says of a change: the message with its trailers, both ways, and the commit that brought each line in."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mdmem import secrets
from mdmem.document import join_path, split_lines
from mdmem.errors import printable
from mdmem.model import Commit, FactId, FilePath, Op, Origin, Provenance, SectionPath, Source, Superseded
from mdmem.repo import FilePatch

_QUOTED_LINES = 20
_QUOTED_CHARACTERS = 200
_SUBJECT_CHARACTERS = 200
_LIST_MARKER = re.compile(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")


@dataclass(frozen=True, slots=True)
class Note:
    """What a commit of mdmem says besides the change itself."""

    op: Op
    path: FilePath
    section: SectionPath
    provenance: Provenance
    supersedes: tuple[Superseded, ...] = ()
    ended: tuple[FactId, ...] = ()
    also: bool = False


def _one_line(text: str, limit: int = _QUOTED_CHARACTERS) -> str:
    folded = " ".join(printable(text, keep="\n\r\t").split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went out and came in between the common beginning and the common end of two texts."""
    old, new = split_lines(before), split_lines(after)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return old[start : len(old) - end], new[start : len(new) - end]


def _quoted(before: str, after: str) -> list[str]:
    removed, added = changed_lines(before, after)
    parts = (("-", secrets.redact("".join(removed))), ("+", secrets.redact("".join(added))))
    changed = [(sign, line.strip()) for sign, part in parts for line in split_lines(part) if line.strip()]
    lines = [f"{sign} {_one_line(_LIST_MARKER.sub('', line))}" for sign, line in changed[:_QUOTED_LINES]]
    more = len(changed) - _QUOTED_LINES
    return [*lines, f"({more} more lines)"] if more > 0 else lines


def message(note: Note, before: str, after: str) -> str:
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
        ("Also", "true" if note.also else ""),
        ("Actor", said.actor or ""),
        ("Session", said.session or ""),
        ("Reason", said.reason or ""),
    ]
    lines = [f"Mdmem-{name}: {_one_line(value, 1000)}" for name, value in trailers if value.strip()]
    quoted = _quoted(before, after)
    return "\n".join([subject, "", *quoted, *([""] if quoted else []), *lines, ""])


def trailers(text: str) -> dict[str, list[str]]:
    """The `Mdmem-` trailers of a commit message (its last paragraph), by name without the prefix."""
    found: dict[str, list[str]] = {}
    for line in text.rstrip().split("\n\n")[-1].split("\n"):
        name, colon, value = line.partition(": ")
        if colon and name.startswith("Mdmem-"):
            found.setdefault(name.removeprefix("Mdmem-"), []).append(value.strip())
    return found


def origin(commit: Commit) -> Origin:
    """What a commit says of the lines it brings in. One without `Mdmem-Op` is a person's, who counts as the user."""
    said = trailers(commit.message)
    if "Op" not in said:
        return Origin(commit.id, commit.time, Source.USER_STATED, Source.USER_STATED.confidence)
    try:
        source = Source(said.get("Source", [""])[0])
    except ValueError:
        source = Source.INFERRED
    try:
        confidence = float(said.get("Confidence", [""])[0])
    except ValueError:
        confidence = source.confidence
    if math.isnan(confidence):
        confidence = source.confidence
    return Origin(commit.id, commit.time, source, min(1.0, max(0.0, confidence)))


@dataclass(slots=True)
class Origins:
    """Which commit brought in which line, file by file (`lines`: path, then the stripped line), and which file had which name before."""

    lines: dict[FilePath, dict[str, Origin]] = field(default_factory=dict)
    renamed: dict[FilePath, FilePath] = field(default_factory=dict)

    def of(self, path: FilePath, line: str, earlier: Mapping[str, Origin]) -> Origin | None:
        """The origin of a line: by these commits, else as it was known `earlier`."""
        return self.lines.get(path, {}).get(line) or earlier.get(line)


def origins(history: Iterable[tuple[Commit, Sequence[FilePatch]]]) -> Origins:
    """The origins of the lines that these commits (oldest first) brought in; a renamed file keeps those of its lines."""
    found = Origins()
    for commit, patches in history:
        said = origin(commit)
        for patch in patches:
            if patch.renamed_from:
                found.lines.setdefault(patch.path, {}).update(found.lines.get(patch.renamed_from, {}))
                found.renamed[patch.path] = found.renamed.get(patch.renamed_from, patch.renamed_from)
            if patch.added:
                found.lines.setdefault(patch.path, {}).update((line.strip(), said) for line in patch.added)
    return found
