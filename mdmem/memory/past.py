"""What memory said before: the history of a section and of a fact, who wrote which line, when a text came and went."""

from __future__ import annotations

from mdmem import config, files, history, layout
from mdmem.document import Document, decode, find, join_path, parse, plain_title
from mdmem.errors import FactProblem, HistoryProblem, PathProblem, SectionProblem, TextProblem, UsageProblem
from mdmem.facts import id_prefix
from mdmem.history import trails
from mdmem.library import date, datetime
from mdmem.memory import recorded, trail
from mdmem.memory.workspace import Say, Workspace, missing_file
from mdmem.model import PATH_SEPARATOR, CommitId, FactId, FilePath, SectionPath, Status
from mdmem.model.past import AskHistory, Blame, BlamedLine, FactHistory, FactLink, RevisionView, SectionHistory, Stays, StayView
from mdmem.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdmem.memory import moments
    from mdmem.model.searches import Hit
    from mdmem.model.trail import Commit, Landmark, Revision
    from mdmem.search.results import Match
    from mdmem.versions import Versions

_MAX_CHANGES = 10_000


def tell(workspace: Workspace, wanted: AskHistory, say: Say) -> SectionHistory | FactHistory:
    """What a section or a fact said before; without either, what was changed in a file or in all memory.

    Raises:
        UsageProblem: the limit is out of its range.
        SectionProblem, PathProblem, FactProblem: there is none, or it cannot be told which.
    """
    if not 1 <= wanted.limit <= _MAX_CHANGES:
        raise UsageProblem(f"-n is {wanted.limit}, which is not from 1 to {_MAX_CHANGES}")
    with trail.fresh(workspace, say) as known:
        if wanted.what is None:
            return _of_files(workspace, known, wanted)
        in_file = wanted.file is not None or wanted.nth is not None
        if not in_file and (fact := recorded.by_text(known, wanted.what)) is not None:
            return _of_fact(workspace, known, fact, wanted.limit)
        try:
            return _of_section(workspace, known, wanted)
        except (SectionProblem, PathProblem) as problem:
            if in_file or problem.code not in ("section-not-found", "file-not-found"):
                raise
            if (fact := recorded.by_id(known, wanted.what)) is not None:
                return _of_fact(workspace, known, fact, wanted.limit)
            if id_prefix(wanted.what):
                message = f"there is no section and no fact {wanted.what!r}"
                raise FactProblem("fact-not-found", message, "mdmem facts --all lists the facts with their ids.") from problem
            if facts := recorded.like(known, wanted.what):
                message = f"there is no section {wanted.what[:80]!r}, and no fact that says just that"
                raise SectionProblem("section-not-found", message, facts, **problem.details) from problem
            raise


# Of a section.


def _of_section(workspace: Workspace, known: Versions, wanted: AskHistory) -> SectionHistory:
    path = layout.parse_path(wanted.file) if wanted.file is not None else workspace.curated
    newest = _lineage(workspace, known, path, wanted.what or "", wanted.nth)
    if newest is None:
        return SectionHistory(path, _on_disk(workspace, path, wanted)[1], (), _notes(workspace, known))
    found = known.revisions(newest.lineage, wanted.limit + 1)
    views = [_view(workspace, known, one, before) for one, before in zip(found, (*found[1:], None), strict=False)]
    gone = [_farewell(workspace, known, newest)] if newest.ended is not None else []
    return SectionHistory(newest.path, newest.section, tuple([*gone, *views][: wanted.limit]), _notes(workspace, known))


def _on_disk(workspace: Workspace, path: FilePath, wanted: AskHistory) -> tuple[Document, SectionPath, int]:
    """A section of a file as it is, and which of those with its path it is, from 1."""
    data = files.read(files.locate(workspace.root, path))
    if data is None:
        raise missing_file(workspace, path)
    document = parse(decode(data))
    section = find(document, wanted.what or "", wanted.nth)
    alike = [one for one in document.sections if one.path == section.path]
    return document, section.path, alike.index(section) + 1


def _lineage(workspace: Workspace, known: Versions, path: FilePath, address: str, nth: int | None) -> Revision | None:
    """The newest revision of the section that is meant: one of the file as it is, else one that it used to have.

    None is a section that is in no commit yet.
    """
    try:
        _, section, number = _on_disk(workspace, path, AskHistory(address, nth=nth))
    except (SectionProblem, PathProblem) as problem:
        if problem.code not in ("section-not-found", "file-not-found"):
            raise
        former = [one for one in known.lineages(path) if one.ended is not None and _answers(one.section, address)]
        if not former:
            raise
        if len(former) > 1 and nth is None:
            places = [{"section": join_path(one.section)} for one in former]
            raise SectionProblem(
                "section-ambiguous",
                f"{len(former)} sections that {path} used to have match {address!r}",
                "Name one with --nth.",
                sections=places,
            ) from problem
        if nth is not None and not 1 <= nth <= len(former):
            raise
        return former[(nth or 1) - 1]
    return next((one for one in known.sections(path) if (one.section, one.nth) == (section, number)), None)


def _answers(path: SectionPath, address: str) -> bool:
    """Whether an address names a section that a file used to have, by the end of its path."""
    titles = [plain_title(title).casefold() for title in path]
    wanted = [plain_title(title).casefold() for title in address.split(PATH_SEPARATOR)]
    return titles[-len(wanted) :] == wanted or titles[-1:] == [plain_title(address).casefold()]


def _view(workspace: Workspace, known: Versions, one: Revision, before: Revision | None) -> RevisionView:
    landmark = known.landmark(one.begun)
    assert landmark is not None  # a revision begins with a landmark
    return _told(workspace, landmark, one.text, before.text if before else "", one.path, one.section)


def _farewell(workspace: Workspace, known: Versions, last: Revision) -> RevisionView:
    """The change that took a section out."""
    landmark = known.landmark(last.ended or 0)
    assert landmark is not None  # a revision ends with a landmark
    return _told(workspace, landmark, "", last.text, last.path, last.section)


def _told(workspace: Workspace, landmark: Landmark, text: str, before: str, path: str, section: SectionPath) -> RevisionView:
    said = history.said(landmark.message)
    return RevisionView(
        landmark.commit,
        moment(workspace, landmark.time),
        landmark.author,
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


def _of_files(workspace: Workspace, known: Versions, wanted: AskHistory) -> SectionHistory:
    """The newest changes of a file, or of all memory, section by section."""
    path = layout.parse_path(wanted.file) if wanted.file is not None else None
    found = known.changes(path, wanted.limit)
    if path is not None and not found and files.read(files.locate(workspace.root, path)) is None:
        raise missing_file(workspace, path)
    views = []
    for landmark, before, now in found:
        place = now or before
        assert place is not None  # a change is of something
        views.append(_told(workspace, landmark, now.text if now else "", before.text if before else "", place.path, place.section))
    return SectionHistory(path or "", (), tuple(views), _notes(workspace, known))


# Of a fact.


def _of_fact(workspace: Workspace, known: Versions, fact: FactId, limit: int) -> FactHistory:
    today = workspace.now().date()
    chain = [_as_it_stands(link, today) for link in trails.chain(fact, known)]
    holding = [link.status for link in chain if link.id == fact]
    status = Status.CURRENT if Status.CURRENT in holding else holding[-1]
    return FactHistory(fact, status, _links(workspace, known, chain[-limit:]), _notes(workspace, known))


def _as_it_stands(link: trails.Link, today: date) -> trails.Link:
    """A link of a chain, on the day on which it is asked for."""
    over = link.status is Status.CURRENT and link.until is not None and link.until < today
    return replace(link, status=Status.EXPIRED) if over else link


def _links(workspace: Workspace, known: Versions, chain: Sequence[trails.Link]) -> tuple[FactLink, ...]:
    """The links of a chain, with what the commits that brought them in say; a merge may have brought some of these."""
    from mdmem.repo import line  # here, so that the history of a section does not pay for loading it

    found = {link.commit: known.landmark_of(link.commit) for link in chain}
    beside = line.described(workspace.repository, [commit for commit, landmark in found.items() if landmark is None])
    told: dict[CommitId, Landmark | Commit] = {one.commit.id: one.commit for one in beside}
    told |= {commit: landmark for commit, landmark in found.items() if landmark is not None}
    return tuple(_link(workspace, link, told[link.commit]) for link in chain)


def _link(workspace: Workspace, link: trails.Link, commit: Landmark | Commit) -> FactLink:
    said = history.said(commit.message)
    return FactLink(
        link.id,
        link.text,
        moment(workspace, link.start.time),
        moment(workspace, link.end.time) if link.end else None,
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


def blame(workspace: Workspace, address: str, file: str | None, nth: int | None, say: Say) -> Blame:
    """Which commit brought in each line of a section.

    Raises:
        SectionProblem, PathProblem: there is no such section.
    """
    path = layout.parse_path(file) if file is not None else workspace.curated
    document, section, number = _on_disk(workspace, path, AskHistory(address, nth=nth))
    at = [one for one in document.sections if one.path == section][number - 1]
    text = document.slice(at.start, at.end)
    with trail.fresh(workspace, say) as known:
        newest = next((one for one in known.sections(path) if (one.section, one.nth) == (section, number)), None)
        revisions = known.revisions(newest.lineage) if newest else ()
        lines = []
        for number, found in enumerate(trails.blame(revisions, text), at.start + 1):
            landmark = known.landmark(found.landmark) if found.landmark else None
            said = history.said(landmark.message).provenance if landmark else None
            lines.append(
                BlamedLine(
                    number,
                    found.text,
                    landmark.commit if landmark else None,
                    moment(workspace, landmark.time) if landmark else None,
                    landmark.author if landmark else None,
                    said.source if said else None,
                    said.confidence if said else None,
                )
            )
        return Blame(path, section, tuple(lines), _notes(workspace, known))


def when(workspace: Workspace, text: str, say: Say) -> Stays:
    """From which commit to which a text stood where in memory, oldest first; none where it never did.

    Raises:
        TextProblem: `empty-text`.
    """
    if not text.strip():
        raise TextProblem("empty-text", "there is no text to look for")
    with trail.fresh(workspace, say) as known:
        views = []
        for stay in trails.stays(known, text):
            came, went = known.landmark(stay.came), known.landmark(stay.went) if stay.went is not None else None
            assert came is not None  # a text comes with a landmark
            views.append(
                StayView(
                    stay.path,
                    stay.section,
                    came.commit,
                    moment(workspace, came.time),
                    went.commit if went else None,
                    moment(workspace, went.time) if went else None,
                )
            )
        return Stays(text, tuple(views), _notes(workspace, known))


def at(workspace: Workspace, known: Versions, word: str) -> tuple[Landmark, date]:
    """The landmark that a date, a moment or a commit means, and the day on which expiry is judged.

    Raises:
        UsageProblem: what looks like a date is none.
        HistoryProblem: `before-history`, `commit-not-found`.
    """
    from mdmem.memory import moments  # here, as below: only a search of what was pays for loading it

    if (span := moments.iso(workspace, word)) is not None:
        return _at_end_of(workspace, known, word, span)
    commit = workspace.repository.commit_named(word)
    if commit is None and (span := moments.in_words(workspace, word)) is not None:
        return _at_end_of(workspace, known, word, span)
    found = known.landmark_of(commit) if commit else None
    if found is None:
        why = "does not lie on the first-parent line of HEAD" if commit else "is no date and no commit"
        raise HistoryProblem("commit-not-found", f"{word[:80]!r} {why}", _shallow(workspace) or "mdmem history lists commits.")
    return found, moment(workspace, found.time).date()


def _at_end_of(workspace: Workspace, known: Versions, word: str, span: moments.Span) -> tuple[Landmark, date]:
    """The newest landmark of the days up to the end of a span."""
    from mdmem.memory import moments

    seconds, day = moments.end_of(workspace, span)
    found = known.latest(seconds)
    if found is None:
        first = known.landmark(1)
        since = f"memory begins on {moment(workspace, first.time):%Y-%m-%d}" if first else "nothing is committed yet"
        raise HistoryProblem("before-history", f"{word} lies before the first commit: {since}", _shallow(workspace))
    return found, day


def as_they_stood(workspace: Workspace, commit: CommitId, matches: Sequence[Match]) -> tuple[Hit, ...]:
    """The hits with the lines of their files as a commit has them."""
    from mdmem.memory import pages  # here, so that only a search, which has loaded it, pays for it
    from mdmem.memory.standing import identity

    paths = list(dict.fromkeys(match.row.entry.path for match in matches))
    found = workspace.repository.read(commit, paths)
    entries = {path: pages.at_commit(found, path) for path in paths}

    def lines(match: Match) -> Hit:
        wanted = identity(match.row.entry)
        same = next((entry for entry in entries[match.row.entry.path] if identity(entry) == wanted), match.row.entry)
        return replace(match.hit, start_line=same.start_line, end_line=same.end_line)

    return tuple(lines(match) for match in matches)


def moment(workspace: Workspace, seconds: int) -> datetime:
    """Seconds since 1970 in the user's zone."""
    return datetime.fromtimestamp(seconds).astimezone(config.zone(workspace.settings.timezone))


def _shallow(workspace: Workspace) -> str:
    return "This clone is shallow: git fetch --unshallow brings the rest." if workspace.repository.is_shallow() else ""


def _notes(workspace: Workspace, known: Versions) -> tuple[str, ...]:
    """How far back can be seen, where that is not to the beginning."""
    first = known.landmark(1)
    if first is None or not workspace.repository.is_shallow():
        return ()
    return (f"this clone is shallow: it sees back to {moment(workspace, first.time):%Y-%m-%d}; git fetch --unshallow brings the rest",)
