"""Find the revisions of the section that a user means, as it is on disk, as HEAD has it, or as it used to be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from mdmem import files, layout
from mdmem.addresses import find_section, join_path
from mdmem.document import Document, Section, parse_bytes, plain_title
from mdmem.errors import PathProblem, SectionProblem
from mdmem.history import sections
from mdmem.model import PATH_SEPARATOR, FilePath, SectionPath
from mdmem.model.trail import Commit, Revision, TrailCommit
from mdmem.queries import dates, suggestions
from mdmem.startup.records import dataclass
from mdmem.trail import Trail
from mdmem.wording import field
from mdmem.workspace import Workspace, read_committed

TimeOf = Callable[[int], datetime]


@dataclass(frozen=True, slots=True)
class SectionOnDisk:
    """A section of a file as it is, lines `start` up to `end`, counted from 0; at position 0, with the empty path, the preamble.

    `nth` counts the sections with this path, from 1.
    """

    document: Document
    position: int
    section: SectionPath
    nth: int
    start: int
    end: int


def commit_times(workspace: Workspace, trail: Trail) -> TimeOf:
    """A function that gives the moment of a commit in the user's time zone, for one answer."""
    moments = trail.moments(dates.end_of_today(workspace))
    return lambda number: workspace.local_time(moments.of(number))


def memory_file(workspace: Workspace, file: str | None) -> FilePath:
    """The path of a memory file that a user names; without a name that of the curated file.

    Raises:
        PathProblem: `not-memory`: the file is none of which a trail is kept.
    """
    if file is None:
        return workspace.curated
    path = layout.parse_path(file)
    if not workspace.kind_of(path).is_memory and files.path_on_disk(workspace.root, path).exists():
        hint = f"Ask git: git log -p -- {path}; git blame {path}"
        raise PathProblem("not-memory", f"{path} is not memory, and has no trail", hint)
    return path


def section_on_disk(workspace: Workspace, path: FilePath, address: str | None, nth: int | None) -> SectionOnDisk:
    """The section of a file that an address means; without an address the text before the first heading.

    Raises:
        PathProblem, SectionProblem: there is no such file or section.
    """
    data = files.read(files.path_on_disk(workspace.root, path))
    if data is None:
        raise suggestions.missing_file(workspace, path)
    document = parse_bytes(data)
    if address is not None:
        return _on_disk(document, find_section(document, address, nth))
    if not document.slice(document.front, document.preamble_end).strip():
        raise SectionProblem("section-not-found", f"{path} has no text before the first heading")
    return _on_disk(document, None)


def sections_on_disk(workspace: Workspace, path: FilePath) -> list[SectionOnDisk]:
    """Every section of a file, and before them the text before the first heading, where there is any.

    Raises:
        PathProblem: the file cannot be read.
    """
    document = parse_bytes(files.read(files.path_on_disk(workspace.root, path)) or b"")
    has_preamble = bool(document.slice(document.front, document.preamble_end).strip())
    return [_on_disk(document, section) for section in (*([None] if has_preamble else []), *document.sections)]


def _on_disk(document: Document, section: Section | None) -> SectionOnDisk:
    if section is None:
        return SectionOnDisk(document=document, position=0, section=(), nth=1, start=document.front, end=document.preamble_end)
    return SectionOnDisk(
        document=document,
        position=section.index + 1,
        section=section.path,
        nth=1 + sum(earlier.path == section.path for earlier in document.sections[: section.index]),
        start=section.start,
        end=section.end,
    )


def find_newest_revision(workspace: Workspace, trail: Trail, path: FilePath, address: str | None, nth: int | None) -> Revision | None:
    """The newest revision of the section that an address means; None if it is in no commit yet.

    The section may be one of the file as it is, else as HEAD has it, else one that the file used to have.

    Raises:
        PathProblem, SectionProblem: there is no such file or section.
    """
    try:
        section = section_on_disk(workspace, path, address, nth)
    except (SectionProblem, PathProblem) as problem:
        if problem.code not in ("section-not-found", "file-not-found"):
            raise
        matches = [revision for revision in trail.newest_revisions(path) if _is_addressed(revision.section, address)]
        live = [revision for revision in matches if revision.ended is None and revision.path == path]
        candidates = live or [revision for revision in matches if revision.ended is not None]
        if not candidates:
            raise
        if len(candidates) > 1 and nth is None:
            raise SectionProblem(
                "section-ambiguous",
                f"{len(candidates)} sections that {path} used to have match {repr(address) if address else field('preamble')}",
                f"Name one with {field('nth')}.",
                sections=[{"section": join_path(revision.section)} for revision in candidates],
            ) from problem
        if nth is not None and not 1 <= nth <= len(candidates):
            raise
        return candidates[(nth or 1) - 1]
    return newest_revision(workspace, trail, path, section)


def newest_revision(workspace: Workspace, trail: Trail, path: FilePath, section: SectionOnDisk) -> Revision | None:
    """The newest revision of a section on disk, which a commit of the file as it is would continue; None if there is none."""
    count = sum(each.path == section.section for each in section.document.sections) if section.position else 1
    live = trail.live_revisions(path, {section.section})
    if len(live) == count:
        return next(revision for revision in live if revision.nth == section.nth)
    live = trail.live_revisions(path)
    if not live:
        return None
    head = parse_bytes(read_committed(workspace, path, trail.newest_commit.commit if trail.newest_commit else None) or b"")
    old, new = sections.whole_range(head).parts, sections.whole_range(section.document).parts
    matches = sections.match_sections(old, new)
    before = next((old[position] for position, part in matches.items() if part.position == section.position), None)
    if before is None:
        return None
    return next((revision for revision in live if (revision.section, revision.nth) == (before.section, before.nth)), None)


def _is_addressed(path: SectionPath, address: str | None) -> bool:
    """True if an address means a section that a file used to have, by the end of its path; no address means the preamble."""
    if address is None:
        return not path
    titles = [plain_title(title).casefold() for title in path]
    addressed = [plain_title(title).casefold() for title in address.split(PATH_SEPARATOR)]
    return titles[-len(addressed) :] == addressed or titles[-1:] == [plain_title(address).casefold()]


def statement_of(commit: TrailCommit) -> Commit:
    """A commit of the trail, as whoever stated what it brought in."""
    return Commit(id=commit.commit, time=commit.time, author=commit.author, message=commit.message, email=commit.email)


def shallow_notes(workspace: Workspace, trail: Trail) -> tuple[str, ...]:
    """A line for the user that tells how far back history goes in a clone without all of it."""
    if missing_past := workspace.missing_past():
        return (missing_past,)
    first = trail.commit_numbered(1)
    if first is None or not workspace.repository.is_shallow():
        return ()
    return (
        (
            f"this clone is shallow: its history begins on {workspace.local_time(first.time):%Y-%m-%d}. To "
            "get the rest: git fetch --unshallow"
        ),
    )
