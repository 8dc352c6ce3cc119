"""The lines of a section with the commit that brought in each."""

from __future__ import annotations

from mdmem.catchup import trail_update
from mdmem.errors import SectionProblem
from mdmem.history import section_texts
from mdmem.history.sources import line_origin, restated
from mdmem.model.history import Blame, BlamedLine, ShowBlame
from mdmem.queries import dates, suggestions
from mdmem.queries.section_revisions import memory_file, newest_revision, section_on_disk, shallow_notes, statement_of
from mdmem.workspace import Say, Workspace


def show_blame(workspace: Workspace, request: ShowBlame, say: Say) -> Blame:
    """The lines of a section, or of the text before the first heading, with the commit that brought in each.

    Raises:
        SectionProblem, PathProblem: there is no such section.
    """
    path = memory_file(workspace, request.file)
    try:
        section = section_on_disk(workspace, path, request.section, request.nth)
    except SectionProblem as problem:
        raise suggestions.with_suggestions(workspace, problem, request.section, request.file) from problem
    text = section.document.slice(section.start, section.end)
    with trail_update.fresh_trail(workspace, say) as trail:
        newest = newest_revision(workspace, trail, path, section)
        past = trail.section_past(newest) if newest else ()
        revisions = [*(each for each in past if each != newest), *([newest] if newest else [])]
        # A line may have another source than its commit states: it was confirmed, or a revert brought it back.
        live = trail.live_occurrences(path)
        origins = {each.entry.first_line: each.origin for each in live if each.entry.section == section.section}
        moments = trail.moments(dates.end_of_today(workspace))
        lines = []
        for number, line in enumerate(section_texts.blame_lines(revisions, trail.order, text), section.start + 1):
            trail_commit = trail.commit_numbered(line.commit) if line.commit else None
            commit = statement_of(trail_commit) if trail_commit else None
            origin = line_origin(commit, line.text) if commit else None
            if origin and (live_origin := origins.get(line.text.strip())):
                origin = restated(origin, live_origin)
            view = BlamedLine(
                line=number,
                text=line.text,
                commit=origin.commit if origin else None,
                time=workspace.local_time(moments.of(trail_commit.number)) if trail_commit else None,
                author=commit.author if commit else None,
                source=origin.source if origin else None,
                confidence=origin.confidence if origin else None,
                cites=origin.cites if origin else (),
            )
            lines.append(view)
        return Blame(path=path, section=section.section, lines=tuple(lines), notes=shallow_notes(workspace, trail))
