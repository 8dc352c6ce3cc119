"""What memory said before: the history of a section and of a fact, who wrote which line, when a text came and went."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from mdmem import files, history, layout
from mdmem.addresses import find_section, join_path
from mdmem.catchup import trail_update
from mdmem.document import Document, is_blank, parse_bytes, plain_title
from mdmem.errors import FactProblem, PathProblem, SectionProblem, TextProblem
from mdmem.facts import id_prefix
from mdmem.history import chains, section_texts, sections
from mdmem.model import PATH_SEPARATOR, FactId, FileKind, FilePath, SectionPath, Status
from mdmem.model.history import (
    Blame,
    BlamedLine,
    FactHistory,
    FactLink,
    PresenceView,
    RevisionView,
    SectionHistory,
    ShowHistory,
    TextHistory,
)
from mdmem.model.trail import Commit, MainlineCommit, Revision
from mdmem.queries import lookup
from mdmem.startup.records import dataclass, replace
from mdmem.trail import Trail
from mdmem.wording import field, verb
from mdmem.workspace import Say, Workspace, missing_file, read_committed


def show_history(workspace: Workspace, wanted: ShowHistory, say: Say) -> SectionHistory | FactHistory:
    """What a section (or the text before the first heading) or a fact said before; without any, what was changed in a file or in all memory.

    Raises:
        SectionProblem, PathProblem, FactProblem: there is none, or it cannot be told which.
    """
    path = _memory_file(workspace, wanted.file) if wanted.file is not None else None
    with trail_update.fresh_trail(workspace, say) as known:
        if wanted.preamble:
            return _of_section(workspace, known, path or workspace.curated, wanted)
        if wanted.what is None:
            return _of_files(workspace, known, path, wanted.limit)
        if wanted.nth is None and (fact := _held(known, lookup.fact_by_text(known, wanted.what), path)) is not None:
            return _of_fact(workspace, known, fact, path, wanted.limit)
        try:
            return _of_section(workspace, known, path or workspace.curated, wanted)
        except (SectionProblem, PathProblem) as problem:
            if wanted.nth is not None or problem.code not in ("section-not-found", "file-not-found"):
                raise
            if (fact := _held(known, lookup.fact_by_id(known, wanted.what), path)) is not None:
                return _of_fact(workspace, known, fact, path, wanted.limit)
            if path is not None and problem.code == "file-not-found":
                raise
            if (saved := _not_committed(workspace, known, wanted.what, path)) is not None:
                return saved
            if id_prefix(wanted.what):
                message = f"there is no section and no fact {wanted.what!r}{f' in {path}' if path else ''}"
                raise FactProblem("fact-not-found", message, f"{verb('facts', 'everything')} lists the facts with their ids.") from problem
            if facts := lookup.similar_facts_hint(known, wanted.what, path):
                message = f"there is no section {wanted.what[:80]!r}, and no fact that says just that"
                raise SectionProblem("section-not-found", message, facts, **problem.details) from problem
            raise


def _memory_file(workspace: Workspace, file: str) -> FilePath:
    """The file that is named, which is of those that a trail is kept of.

    Raises:
        PathProblem: `not-memory`: it is not.
    """
    path = layout.parse_path(file)
    if not workspace.kind_of(path).is_memory and files.path_on_disk(workspace.root, path).exists():
        hint = f"git log -p -- {path} and git blame {path} tell what git knows."
        raise PathProblem("not-memory", f"{path} is not memory: no trail of it is kept", hint)
    return path


# Of a section.


def _of_section(workspace: Workspace, known: Trail, path: FilePath, wanted: ShowHistory) -> SectionHistory:
    newest = _lineage(workspace, known, path, wanted.what, wanted.nth)
    if newest is None:
        return SectionHistory(path, _on_disk(workspace, path, wanted.what, wanted.nth).section, (), _notes(workspace, known))
    found = known.revisions(newest.lineage, wanted.limit + 1)
    views = [_view(workspace, known, one, before) for one, before in zip(found, (*found[1:], None), strict=False)]
    gone = [_removal(workspace, known, newest)] if newest.ended is not None else []
    return SectionHistory(newest.path, newest.section, tuple([*gone, *views][: wanted.limit]), _notes(workspace, known))


@dataclass(frozen=True, slots=True)
class _SectionOnDisk:
    """A section of a file as it is, lines `start` up to `end`; at place 0, with the empty path, the text before the first heading.

    `nth` counts those with its path from 1.
    """

    document: Document
    place: int
    section: SectionPath
    nth: int
    start: int
    end: int


def _on_disk(workspace: Workspace, path: FilePath, address: str | None, nth: int | None) -> _SectionOnDisk:
    """The section that is meant of a file as it is; without an address the text before the first heading."""
    data = files.read(files.path_on_disk(workspace.root, path))
    if data is None:
        raise missing_file(workspace, path)
    document = parse_bytes(data)
    if address is not None:
        section = find_section(document, address, nth)
        before = sum(one.path == section.path for one in document.sections[: section.index])
        return _SectionOnDisk(document, section.index + 1, section.path, before + 1, section.start, section.end)
    if not document.slice(document.front, document.preamble_end).strip():
        raise SectionProblem("section-not-found", f"{path} has no text before the first heading")
    return _SectionOnDisk(document, 0, (), 1, document.front, document.preamble_end)


def _lineage(workspace: Workspace, known: Trail, path: FilePath, address: str | None, nth: int | None) -> Revision | None:
    """The newest revision of the section that is meant: one of the file as it is, else as HEAD has it, else one that it used to have.

    None is a section that is in no commit yet.
    """
    try:
        section = _on_disk(workspace, path, address, nth)
    except (SectionProblem, PathProblem) as problem:
        if problem.code not in ("section-not-found", "file-not-found"):
            raise
        alike = [one for one in known.newest_revisions(path) if _answers(one.section, address)]
        standing = [one for one in alike if one.ended is None and one.path == path]
        former = standing or [one for one in alike if one.ended is not None]
        if not former:
            raise
        if len(former) > 1 and nth is None:
            places = [{"section": join_path(one.section)} for one in former]
            raise SectionProblem(
                "section-ambiguous",
                f"{len(former)} sections that {path} used to have match {repr(address) if address else field('preamble')}",
                f"Name one with {field('nth')}.",
                sections=places,
            ) from problem
        if nth is not None and not 1 <= nth <= len(former):
            raise
        return former[(nth or 1) - 1]
    return _newest(workspace, known, path, section)


def _newest(workspace: Workspace, known: Trail, path: FilePath, section: _SectionOnDisk) -> Revision | None:
    """The newest revision of a section on disk: the one that a commit of the file as it is would go on from."""
    alike = sum(one.path == section.section for one in section.document.sections)
    same = known.live_revisions(path, {section.section})
    if len(same) == (alike if section.place else 1):
        return next(one for one in same if one.nth == section.nth)
    rows = known.live_revisions(path)
    if not rows:
        return None
    head = parse_bytes(read_committed(workspace, path, known.newest_commit.commit if known.newest_commit else None) or b"")
    old, new = sections.whole_range(head).parts, sections.whole_range(section.document).parts
    was = next((old[place] for place, part in sections.match_sections(old, new).items() if part.position == section.place), None)
    return next((one for one in rows if was and (one.section, one.nth) == (was.section, was.nth)), None)


def _answers(path: SectionPath, address: str | None) -> bool:
    """Whether an address names a section that a file used to have, by the end of its path; none the text before the first heading."""
    if address is None:
        return not path
    titles = [plain_title(title).casefold() for title in path]
    wanted = [plain_title(title).casefold() for title in address.split(PATH_SEPARATOR)]
    return titles[-len(wanted) :] == wanted or titles[-1:] == [plain_title(address).casefold()]


def _view(workspace: Workspace, known: Trail, one: Revision, before: Revision | None) -> RevisionView:
    landmark = known.commit_numbered(one.begun)
    assert landmark is not None  # a revision begins with a landmark
    return _revision_view(workspace, known, landmark, one.text, before.text if before else "", one.path, one.section)


def _removal(workspace: Workspace, known: Trail, last: Revision) -> RevisionView:
    """The change that took a section out."""
    landmark = known.commit_numbered(last.ended or 0)
    assert landmark is not None  # a revision ends with a landmark
    return _revision_view(workspace, known, landmark, "", last.text, last.path, last.section)


def _revision_view(
    workspace: Workspace, known: Trail, landmark: MainlineCommit, text: str, before: str, path: FilePath, section: SectionPath
) -> RevisionView:
    teller = _least_sure_commit(known, landmark, text, before, path)
    said = history.parse_message(teller.message)
    return RevisionView(
        landmark.commit,
        workspace.local_time(landmark.time),
        teller.author,
        said.provenance.actor,
        said.op,
        said.provenance.source,
        said.provenance.confidence,
        said.provenance.reason,
        text,
        before,
        path,
        section,
        said.claimed_by,
    )


def _least_sure_commit(known: Trail, landmark: MainlineCommit, text: str, before: str, path: FilePath) -> MainlineCommit | Commit:
    """Whose word a change is: its own commit's; of what a merge brought that of the commit which is least sure of a line."""
    if not landmark.merge:
        return landmark
    lines = [line for line in history.changed_lines(before, text)[1] if not is_blank(line)]
    brought = [_origin_commit(known, landmark, path, line) for line in lines]
    return min(brought, key=lambda commit: history.commit_origin(commit).confidence, default=landmark)


def _origin_commit(known: Trail, landmark: MainlineCommit, path: FilePath, text: str) -> Commit:
    """The commit that brought in a line: the landmark itself, unless it is a merge that has the line from a side commit."""
    side = known.side_commit_of_line(landmark.number, path, text.strip()) if landmark.merge else None
    return side or Commit(landmark.commit, landmark.time, landmark.author, landmark.message)


def _of_files(workspace: Workspace, known: Trail, path: FilePath | None, limit: int) -> SectionHistory:
    """The newest changes of a file, or of all memory, section by section."""
    found = known.section_changes(path, limit)
    if path is not None and not found and files.read(files.path_on_disk(workspace.root, path)) is None:
        raise missing_file(workspace, path)
    views = []
    for landmark, before, now in found:
        place = now or before
        assert place is not None  # a change is of something
        texts = now.text if now else "", before.text if before else ""
        views.append(_revision_view(workspace, known, landmark, *texts, place.path, place.section))
    return SectionHistory(path or "", (), tuple(views), _notes(workspace, known))


# Of a fact.


def _held(known: Trail, fact: FactId | None, path: FilePath | None) -> FactId | None:
    """A fact, where the file that is meant (None: any) ever held it."""
    return fact if fact is not None and _rows(known, fact, path) else None


def _rows(known: Trail, fact: FactId, path: FilePath | None) -> set[int]:
    return {one.number for one in known.occurrences_of(fact) if path in (None, one.entry.path)}


def _not_committed(workspace: Workspace, known: Trail, name: str, path: FilePath | None) -> FactHistory | None:
    """The history, empty yet, of a fact that stands on disk and is in no commit."""
    kinds = tuple(kind for kind in FileKind if kind.is_memory)
    for place, _, item in lookup.locate_fact(workspace, name, kinds):
        if path in (None, place):
            over = item.fact.until is not None and item.fact.until < workspace.now().date()
            return FactHistory(item.fact.id, Status.EXPIRED if over else Status.CURRENT, (), _notes(workspace, known))
    return None


def _of_fact(workspace: Workspace, known: Trail, fact: FactId, path: FilePath | None, limit: int) -> FactHistory:
    today = workspace.now().date()
    chain = [_as_it_stands(link, today) for link in chains.fact_chain(fact, known, _rows(known, fact, path))]
    holding = [link.status for link in chain if link.id == fact]
    status = Status.CURRENT if Status.CURRENT in holding else holding[-1]
    return FactHistory(fact, status, _links(workspace, known, chain[-limit:]), _notes(workspace, known))


def _as_it_stands(link: chains.ChainLink, today: date) -> chains.ChainLink:
    """A link of a chain, on the day on which it is asked for."""
    over = link.status is Status.CURRENT and link.until is not None and link.until < today
    return replace(link, status=Status.EXPIRED) if over else link


def _links(workspace: Workspace, known: Trail, chain: Sequence[chains.ChainLink]) -> tuple[FactLink, ...]:
    """The links of a chain, with what the commits that brought them in say; a merge may have brought some of these."""
    return tuple(_link(workspace, link, known.commit_with_id(link.commit) or known.side_commit(link.commit)) for link in chain)


def _link(workspace: Workspace, link: chains.ChainLink, commit: MainlineCommit | Commit | None) -> FactLink:
    assert commit is not None  # a fact comes with a landmark, or with one that a merge brought
    said = history.parse_message(commit.message)
    return FactLink(
        link.id,
        link.text,
        workspace.local_time(link.start.time),
        workspace.local_time(link.end.time) if link.end else None,
        link.source,
        link.confidence,
        link.commit,
        link.path,
        link.section,
        link.status,
        commit.author,
        said.provenance.actor,
        said.op,
        said.provenance.reason,
        said.claimed_by,
    )


# Line by line, and by words.


def blame(workspace: Workspace, address: str | None, file: str | None, nth: int | None, say: Say) -> Blame:
    """Which commit brought in each line of a section, or (None) of the text before the first heading.

    Raises:
        SectionProblem, PathProblem: there is no such section.
    """
    path = _memory_file(workspace, file) if file is not None else workspace.curated
    section = _on_disk(workspace, path, address, nth)
    text = section.document.slice(section.start, section.end)
    with trail_update.fresh_trail(workspace, say) as known:
        newest = _newest(workspace, known, path, section)
        revisions = known.revisions(newest.lineage) if newest else ()
        paths = {one.begun: one.path for one in revisions}
        lines = []
        for number, found in enumerate(section_texts.blame_lines(revisions, text), section.start + 1):
            landmark = known.commit_numbered(found.commit) if found.commit else None
            commit = _origin_commit(known, landmark, paths[landmark.number], found.text) if landmark else None
            origin = history.commit_origin(commit) if commit else None
            lines.append(
                BlamedLine(
                    number,
                    found.text,
                    origin.commit if origin else None,
                    workspace.local_time(origin.time) if origin else None,
                    commit.author if commit else None,
                    origin.source if origin else None,
                    origin.confidence if origin else None,
                )
            )
        return Blame(path, section.section, tuple(lines), _notes(workspace, known))


def when(workspace: Workspace, text: str, say: Say) -> TextHistory:
    """From which commit to which a text stood where in memory, oldest first; none where it never did.

    Raises:
        TextProblem: `empty-text`.
    """
    if not text.strip():
        raise TextProblem("empty-text", "there is no text to look for")
    with trail_update.fresh_trail(workspace, say) as known:
        views = []
        for stay in section_texts.text_presences(known, text):
            came, went = known.commit_numbered(stay.came), known.commit_numbered(stay.went) if stay.went is not None else None
            assert came is not None  # a text comes with a landmark
            views.append(
                PresenceView(
                    stay.path,
                    stay.section,
                    came.commit,
                    workspace.local_time(came.time),
                    went.commit if went else None,
                    workspace.local_time(went.time) if went else None,
                )
            )
        return TextHistory(text, tuple(views), _notes(workspace, known))


def _notes(workspace: Workspace, known: Trail) -> tuple[str, ...]:
    """How far back can be seen, where that is not to the beginning."""
    first = known.commit_numbered(1)
    if first is None or not workspace.repository.is_shallow():
        return ()
    return (f"this clone is shallow: it sees back to {workspace.local_time(first.time):%Y-%m-%d}; git fetch --unshallow brings the rest",)
