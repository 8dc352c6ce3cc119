"""The lines of a section, a fact or a file with the commit that brought in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from mdmem.editors.sections import SectionPart, SectionParts, became
from mdmem.folder import files
from mdmem.folder.layout import is_markdown
from mdmem.lookup import dates, lookup
from mdmem.model import PATH_SEPARATOR, FilePath, SectionPath
from mdmem.model.errors import FactProblem, PathProblem, SectionProblem
from mdmem.model.history import Blame, BlamedLine, ShowBlame
from mdmem.model.trail import Origin, Revision
from mdmem.model.wording import field, shell_word, verb
from mdmem.past import differences, fresh_trail
from mdmem.past.notes import line_origin, restated, statement_of
from mdmem.past.table import Trail
from mdmem.text.addresses import find_section, join_path, preamble_remedy
from mdmem.text.document import parse_bytes, plain_title
from mdmem.text.facts import items
from mdmem.workspace import Say, Workspace, read_committed

TimeOf = Callable[[int], datetime]


def commit_times(workspace: Workspace, trail: Trail) -> TimeOf:
    moments = trail.moments(dates.end_of_today(workspace))
    return lambda number: workspace.local_time(moments.of(number))


def section_on_disk(
    workspace: Workspace, path: FilePath, address: str | None, nth: int | None
) -> SectionPart:
    """The section of an address, or the preamble; raises PathProblem, SectionProblem."""
    data = files.read(files.path_on_disk(workspace.root, path))
    if data is None:
        raise lookup.missing_file(workspace, path)
    document = parse_bytes(data)
    if address is not None:
        remedy = preamble_remedy(document)
        section = find_section(document, address, nth, file=path, remedy=remedy)
        return SectionParts(document).sections[section.index + 1]
    if not document.slice(document.front, document.preamble_end).strip():
        raise SectionProblem("section-not-found", f"{path} has no text before the first heading")
    return SectionParts(document).sections[0]


def sections_on_disk(workspace: Workspace, path: FilePath) -> list[SectionPart]:
    """Every section of a file, and first its preamble, if any. Raises PathProblem."""
    document = parse_bytes(files.read(files.path_on_disk(workspace.root, path)) or b"")
    has_preamble = bool(document.slice(document.front, document.preamble_end).strip())
    return list(SectionParts(document).sections[0 if has_preamble else 1 :])


def find_newest_revision(
    workspace: Workspace, trail: Trail, path: FilePath, address: str | None, nth: int | None
) -> Revision | None:
    """The newest revision of a section, also of a past one; raises PathProblem, SectionProblem."""
    try:
        section = section_on_disk(workspace, path, address, nth)
    except (SectionProblem, PathProblem) as problem:
        if problem.code not in ("section-not-found", "file-not-found"):
            raise
        matches = [
            revision
            for revision in trail.newest_revisions(path)
            if _is_addressed(revision.section, address)
        ]
        live = [
            revision for revision in matches if revision.ended is None and revision.path == path
        ]
        candidates = live or [revision for revision in matches if revision.ended is not None]
        if not candidates:
            raise
        if len(candidates) > 1 and nth is None:
            raise SectionProblem(
                "section-ambiguous",
                f"{len(candidates)} sections that {path} used to have match"
                f" {repr(address) if address else field('preamble')}",
                f"Name one with {field('nth')}.",
                sections=[{"section": join_path(revision.section)} for revision in candidates],
            ) from problem
        if nth is not None and not 1 <= nth <= len(candidates):
            raise
        return candidates[(nth or 1) - 1]
    return newest_revision(workspace, trail, path, section)


def newest_revision(
    workspace: Workspace, trail: Trail, path: FilePath, section: SectionPart
) -> Revision | None:
    """The newest revision, which a commit of the section on disk would continue, if any."""
    count = (
        sum(each.path == section.path for each in section.document.sections)
        if section.position
        else 1
    )
    live = trail.live_revisions(path, {section.path})
    if len(live) == count:
        return next(revision for revision in live if revision.nth == section.nth)
    live = trail.live_revisions(path)
    if not live:
        return None
    head = parse_bytes(read_committed(workspace, path, trail.head) or b"")
    old, new = SectionParts(head), SectionParts(section.document)
    matches = became(old, new)
    before = next((old.sections[a] for a, b in matches.items() if b == section.position), None)
    if before is None:
        return None
    return next(
        (
            revision
            for revision in live
            if (revision.section, revision.nth) == (before.path, before.nth)
        ),
        None,
    )


def _is_addressed(path: SectionPath, address: str | None) -> bool:
    """Addresses match the end of a path; no address means the preamble."""
    if address is None:
        return not path
    titles = [plain_title(title).casefold() for title in path]
    addressed = [plain_title(title).casefold() for title in address.split(PATH_SEPARATOR)]
    return titles[-len(addressed) :] == addressed or titles[-1:] == [
        plain_title(address).casefold()
    ]


def shallow_notes(workspace: Workspace, trail: Trail) -> tuple[str, ...]:
    if missing_past := workspace.missing_past():
        return (missing_past,)
    first = trail.commit_numbered(1)
    if first is None or not workspace.repository.is_shallow():
        return ()
    return (
        (
            "this clone is shallow: its history begins on"
            f" {workspace.local_time(first.time):%Y-%m-%d}. To get the rest: git fetch --unshallow"
        ),
    )


def show_blame(workspace: Workspace, request: ShowBlame, say: Say) -> Blame:
    """The lines of a section, fact, file or preamble, with the commit that added each.

    An ambiguous word is taken as section, text, key, id, file: the first that fits.
    """
    path, word = lookup.memory_file(workspace, request.file), request.section
    with fresh_trail(workspace, say) as trail:
        try:
            section = section_on_disk(workspace, path, word, request.nth)
        except (SectionProblem, PathProblem) as problem:
            if word is None or problem.code not in ("section-not-found", "file-not-found"):
                raise
            file = path if request.file is not None else None
            if (
                other := _blame_fact(workspace, trail, word, file)
                or _blame_file(workspace, trail, word, file)
            ) is not None:
                return other
            if not isinstance(problem, SectionProblem) or request.nth is not None:
                raise
            problem = lookup.without_namesake(problem, word, file)
            raise lookup.with_suggestions(
                workspace,
                lookup.with_similar_facts(
                    trail, problem, word, lambda fact: f"{verb('blame')} {fact}", file
                ),
                word,
                request.file,
                lambda path: (
                    f"{verb('blame')} {shell_word(word)} {field('file')} {shell_word(path)}"
                ),
            ) from problem
        lines = _blamed_lines(workspace, trail, path, [section])
        return Blame(
            path=path, section=section.path, lines=lines, notes=shallow_notes(workspace, trail)
        )


def _blame_fact(
    workspace: Workspace, trail: Trail, word: str, file: FilePath | None
) -> Blame | None:
    fact = lookup.named_fact(trail, word, file)
    if fact is None:
        return None
    current = lookup.current_occurrences(trail, fact, file)
    for path in sorted(
        {each.entry.path for each in current}, key=lambda path: (path != workspace.curated, path)
    ):
        for section in sections_on_disk(workspace, path):
            in_section = items(section.document, section.start, section.end)
            if (
                item := next((each for each in in_section if each.fact.id == fact), None)
            ) is not None:
                lines = tuple(
                    line
                    for line in _blamed_lines(workspace, trail, path, [section])
                    if item.start < line.line <= item.end
                )
                return Blame(
                    path=path,
                    section=section.path,
                    lines=lines,
                    notes=shallow_notes(workspace, trail),
                )
    message = f"{word[:80]!r} is no longer current"
    raise FactProblem("fact-not-found", message, f"To see what happened: {verb('history')} {fact}")


def _blame_file(
    workspace: Workspace, trail: Trail, word: str, file: FilePath | None
) -> Blame | None:
    path = lookup.file_named(workspace, word) if file is None else None
    if path is None:
        if file is None and is_markdown(word):
            raise lookup.missing_file(workspace, lookup.memory_file(workspace, word))
        return None
    lines = _blamed_lines(workspace, trail, path, sections_on_disk(workspace, path))
    return Blame(path=path, section=(), lines=lines, notes=shallow_notes(workspace, trail))


def _blamed_lines(
    workspace: Workspace, trail: Trail, path: FilePath, sections: Sequence[SectionPart]
) -> tuple[BlamedLine, ...]:
    time_of = commit_times(workspace, trail)
    # A line may have another source than its commit states: it was confirmed, or a revert brought
    # it back.
    live = trail.live_occurrences(
        path, [section.path for section in sections] if len(sections) == 1 else None
    )
    origins = {(each.entry.section, each.entry.first_line): each.origin for each in live}
    return tuple(
        line
        for section in sections
        for line in _lines_of_section(workspace, trail, path, section, time_of, origins)
    )


def _lines_of_section(
    workspace: Workspace,
    trail: Trail,
    path: FilePath,
    section: SectionPart,
    time_of: TimeOf,
    origins: Mapping[tuple[SectionPath, str], Origin],
) -> Iterator[BlamedLine]:
    text = section.document.slice(section.start, section.end)
    newest = newest_revision(workspace, trail, path, section)
    past = trail.section_past(newest) if newest else ()
    revisions = [*(each for each in past if each != newest), *([newest] if newest else [])]
    for number, line in enumerate(
        differences.blame_lines(revisions, trail.order, text), section.start + 1
    ):
        trail_commit = trail.commit_numbered(line.commit) if line.commit else None
        commit = statement_of(trail_commit) if trail_commit else None
        origin = line_origin(commit, line.text) if commit else None
        if origin and (live_origin := origins.get((section.path, line.text.strip()))):
            origin = restated(origin, live_origin)
        yield BlamedLine(
            line=number,
            text=line.text,
            commit=origin.commit if origin else None,
            time=time_of(trail_commit.number) if trail_commit else None,
            author=commit.author if commit else None,
            source=origin.source if origin else None,
            confidence=origin.confidence if origin else None,
            cites=origin.cites if origin else (),
        )
