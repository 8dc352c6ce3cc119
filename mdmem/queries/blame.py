"""The lines of a section, a fact or a file with the commit that brought in each."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from mdmem.catchup import trails
from mdmem.errors import FactProblem, PathProblem, SectionProblem
from mdmem.facts import items
from mdmem.history import section_texts
from mdmem.history.sources import line_origin, restated
from mdmem.layout import is_markdown
from mdmem.model import FilePath, SectionPath
from mdmem.model.history import Blame, BlamedLine, ShowBlame
from mdmem.model.trail import Origin
from mdmem.queries import lookup, suggestions
from mdmem.queries.section_revisions import (
    SectionOnDisk,
    TimeOf,
    commit_times,
    memory_file,
    newest_revision,
    section_on_disk,
    sections_on_disk,
    shallow_notes,
    statement_of,
)
from mdmem.trail import Trail
from mdmem.wording import field, verb
from mdmem.workspace import Say, Workspace


def show_blame(workspace: Workspace, request: ShowBlame, say: Say) -> Blame:
    """The lines of a section, a fact, a file, or the text before the first heading, with the commit that brought in each.

    A word that could be several of these is taken as section, text, key, id, file: the first that fits.

    Raises:
        SectionProblem, PathProblem, FactProblem: there is none, or several are meant.
    """
    path, word = memory_file(workspace, request.file), request.section
    with trails.fresh_trail(workspace, say) as trail:
        try:
            section = section_on_disk(workspace, path, word, request.nth)
        except (SectionProblem, PathProblem) as problem:
            if word is None or problem.code not in ("section-not-found", "file-not-found"):
                raise
            file = path if request.file is not None else None
            if (other := _blame_fact(workspace, trail, word, file) or _blame_file(workspace, trail, word, file)) is not None:
                return other
            if not isinstance(problem, SectionProblem):
                raise
            raise suggestions.with_suggestions(
                workspace,
                lookup.with_similar_facts(trail, problem, word, lambda fact: f"{verb('blame')} {fact}", file),
                word,
                request.file,
                lambda path: f"{verb('blame')} {shlex.quote(word)} {field('file')} {shlex.quote(path)}",
            ) from problem
        lines = _blamed_lines(workspace, trail, path, [section])
        return Blame(path=path, section=section.section, lines=lines, notes=shallow_notes(workspace, trail))


def _blame_fact(workspace: Workspace, trail: Trail, word: str, file: FilePath | None) -> Blame | None:
    """The lines of a current fact; None where there is none.

    Raises:
        FactProblem: `fact-ambiguous`: several are meant; `fact-not-found`: it is no longer current.
    """
    fact = lookup.named_fact(trail, word, file)
    if fact is None:
        return None
    current = lookup.current_occurrences(trail, fact, file)
    for path in sorted({each.entry.path for each in current}, key=lambda path: (path != workspace.curated, path)):
        for section in sections_on_disk(workspace, path):
            in_section = items(section.document, section.start, section.end)
            if (item := next((each for each in in_section if each.fact.id == fact), None)) is not None:
                lines = tuple(line for line in _blamed_lines(workspace, trail, path, [section]) if item.start < line.line <= item.end)
                return Blame(path=path, section=section.section, lines=lines, notes=shallow_notes(workspace, trail))
    message = f"{word[:80]!r} is no longer current"
    raise FactProblem("fact-not-found", message, f"To see what happened: {verb('history')} {fact}")


def _blame_file(workspace: Workspace, trail: Trail, word: str, file: FilePath | None) -> Blame | None:
    """All lines of a file; None where a word means none.

    Raises:
        PathProblem: `file-not-found`: it is the name of a file that is not there.
    """
    path = suggestions.file_named(workspace, word) if file is None else None
    if path is None:
        if file is None and is_markdown(word):
            raise suggestions.missing_file(workspace, word)
        return None
    lines = _blamed_lines(workspace, trail, path, sections_on_disk(workspace, path))
    return Blame(path=path, section=(), lines=lines, notes=shallow_notes(workspace, trail))


def _blamed_lines(workspace: Workspace, trail: Trail, path: FilePath, sections: Sequence[SectionOnDisk]) -> tuple[BlamedLine, ...]:
    """The lines of one section of a file, or of all, with the commit that brought in each."""
    time_of = commit_times(workspace, trail)
    # A line may have another source than its commit states: it was confirmed, or a revert brought it back.
    live = trail.live_occurrences(path, [section.section for section in sections] if len(sections) == 1 else None)
    origins = {(each.entry.section, each.entry.first_line): each.origin for each in live}
    return tuple(line for section in sections for line in _lines_of_section(workspace, trail, path, section, time_of, origins))


def _lines_of_section(
    workspace: Workspace,
    trail: Trail,
    path: FilePath,
    section: SectionOnDisk,
    time_of: TimeOf,
    origins: Mapping[tuple[SectionPath, str], Origin],
) -> Iterator[BlamedLine]:
    text = section.document.slice(section.start, section.end)
    newest = newest_revision(workspace, trail, path, section)
    past = trail.section_past(newest) if newest else ()
    revisions = [*(each for each in past if each != newest), *([newest] if newest else [])]
    for number, line in enumerate(section_texts.blame_lines(revisions, trail.order, text), section.start + 1):
        trail_commit = trail.commit_numbered(line.commit) if line.commit else None
        commit = statement_of(trail_commit) if trail_commit else None
        origin = line_origin(commit, line.text) if commit else None
        if origin and (live_origin := origins.get((section.section, line.text.strip()))):
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
