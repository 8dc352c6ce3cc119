"""A section or a file as it was: from the newest commits of that time, merged where there are several."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mdmem import merges
from mdmem.catchup import trails
from mdmem.document import Document, parse_bytes
from mdmem.editors.merge3.merging import merge3
from mdmem.errors import PathProblem
from mdmem.facts import items
from mdmem.model import CommitId, FilePath, SectionPath
from mdmem.model.reads import SectionView, Show
from mdmem.queries.as_of import PastState, resolve_as_of, was_current, was_live
from mdmem.queries.section_revisions import memory_file
from mdmem.queries.show import view_of
from mdmem.repo.first_parent import merge_bases
from mdmem.startup.records import replace
from mdmem.trail import Trail
from mdmem.wording import verb
from mdmem.workspace import Say, Workspace


def show_as_of(workspace: Workspace, request: Show, as_of: str, say: Say) -> SectionView:
    """One section, the text before the first heading, or a whole file, as it was.

    Args:
        workspace: the memory.
        request: names the section and the file as they were called then.
        as_of: a day, a moment, or a commit.
        say: takes notes for the user.

    Raises:
        UsageProblem, HistoryProblem: `as_of` means no state of memory.
        PathProblem, SectionProblem: there was no such file or section.
    """
    path = memory_file(workspace, request.file) or workspace.curated
    with trails.fresh_trail(workspace, say) as trail:
        past = resolve_as_of(workspace, trail, as_of)
        data = _file_of(workspace, path, past.commits)
        if data is None:
            message = f"there was no {path} as of {past.words}"
            raise PathProblem("file-not-found", message, f"To see what changed: {verb('changes')}")
        document = parse_bytes(data)
        return _view(trail, past, path, document, request)


def _file_of(workspace: Workspace, path: FilePath, commits: Sequence[CommitId]) -> bytes | None:
    """A file as some commits have it together; None where none has it."""
    repository = workspace.repository
    versions = {commit: repository.read(commit, [path])[path] for commit in commits}
    if not any(version is not None for version in versions.values()):
        return None
    newest, *others = reversed(commits)
    data = versions[newest] or b""
    for commit in others:
        version = versions[commit] or b""
        base = merges.base_text(repository, merge_bases(repository, newest, commit), path)
        merged = None if base is None else merge3(base, data, version, workspace.kind_of(path)).data
        data = data if merged is None else merged  # what then is not in it follows as said by then
    return data


def _view(trail: Trail, past: PastState, path: FilePath, document: Document, request: Show) -> SectionView:
    view, section = view_of(path, document, request, past.commit)
    view = replace(view, as_of=past.words, commits=past.commits)
    if past.is_tree:
        return view
    wanted = section.path if section else () if request.preamble else None
    ended, said = _differences(trail, past, path, document, wanted)
    lines = range(section.body if section else view.start_line - 1, view.end_line) if view.text else ()
    text = "".join(document.slice(line, line + 1) for line in lines if line not in ended)
    return replace(view, text=text, said=said)


def _differences(
    trail: Trail, past: PastState, path: FilePath, document: Document, section: SectionPath | None
) -> tuple[Collection[int], tuple[str, ...]]:
    """The lines of a document whose facts had ended, and those of facts that had been said and that it has not, as after a rebase."""
    occurrences = [each for each in trail.occurrences_in(path) if each.entry.fact and section in (None, each.entry.section)]
    known = {(each.entry.section, each.entry.fact) for each in occurrences}
    live = {(each.entry.section, each.entry.fact) for each in occurrences if was_live(each, past.known)}
    places = [(item, (document.path_at(item.start), item.fact.id)) for item in items(document)]
    innermost = {line: place for item, place in places for line in range(item.start, item.end)}
    ended = {line for line, place in innermost.items() if place in known - live}
    there = {place for _, place in places}
    current = [each.entry for each in occurrences if was_current(trail, each, past.known)]
    return ended, tuple(entry.first_line for entry in current if (entry.section, entry.fact) not in there)
