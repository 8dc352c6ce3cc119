"""Which change is to be taken back, and what that comes to."""

from collections.abc import Sequence
from dataclasses import dataclass

from mdmem import history, layout
from mdmem.document import decode, parse
from mdmem.editors import facts as fact_editor
from mdmem.errors import FactProblem, HistoryProblem
from mdmem.memory import recorded, trail
from mdmem.memory.planning import Rework
from mdmem.memory.workspace import Workspace
from mdmem.model import CommitId, FactId, FileKind, FilePath, Occurrence, Op, Provenance, Revert, WriteResult
from mdmem.repo import line
from mdmem.repo.line import Changed, LineCommit
from mdmem.versions import Versions


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """The files whose change is taken back, and what is to be said besides (None: nothing)."""

    files: tuple[Rework, ...]
    note: history.Note | None


@dataclass(frozen=True, slots=True)
class _Target:
    """The commit whose change is meant; of a fact's, only the lines with its words."""

    commit: CommitId
    path: FilePath | None = None
    words: str | None = None


def draw_up(workspace: Workspace, change: Revert) -> RevertPlan:
    """What taking a change back comes to; nothing is written.

    Raises:
        FactProblem: `fact-not-found`, `ambiguous`: a word that is a fact and a commit.
        HistoryProblem: `commit-not-found`; `cannot-revert`: a merge, or a commit without a change of memory.
    """
    with trail.fresh(workspace) as known:
        target = _target(workspace, known, change.what)
        (commit,) = line.described(workspace.repository, [target.commit])
        _require_revertible(workspace, commit)
        changes = [
            one for one in commit.changes if workspace.kind_of(one.path).is_memory and target.path in (None, one.path, one.before_path)
        ]
        files: list[Rework] = []
        retracts: list[FactId] = []
        for changed in changes:
            before, after = _texts(workspace, changed)
            if workspace.kind_of(changed.path) is FileKind.DAILY:
                retracts += _added(known, changed.path, before, after, target.words)
            else:
                files.append(Rework(changed.path, before, after, target.words, target.commit, change.options))
        note = _note(commit, changes, retracts, known)
    if not files and note is None:
        raise HistoryProblem("cannot-revert", f"{target.commit[:10]} did nothing to memory that still stands")
    return RevertPlan(tuple(files), note)


def _require_revertible(workspace: Workspace, commit: LineCommit) -> None:
    repository, name = workspace.repository, commit.commit.id
    if len(commit.parents) > 1:
        raise HistoryProblem("cannot-revert", f"{name[:10]} is a merge", "Name one of the commits that it brought.")
    if not repository.is_ancestor(name):
        raise HistoryProblem("commit-not-found", f"{name[:10]} is not in the history of HEAD", "mdmem history lists what is.")
    if name in repository.borders():
        hint = "git fetch --unshallow brings the rest."
        raise HistoryProblem("cannot-revert", f"this clone is shallow and begins with {name[:10]}: what it changed cannot be told", hint)


def _texts(workspace: Workspace, changed: Changed) -> tuple[str, str]:
    blobs = [blob for blob in (changed.before, changed.after) if blob]
    found = dict(zip(blobs, workspace.repository.blobs(blobs), strict=True))
    before, after = (decode(found.get(blob or "") or b"") for blob in (changed.before, changed.after))
    return before, after


def _added(known: Versions, path: FilePath, before: str, after: str, words: str | None) -> list[FactId]:
    """The entries of a day's log that a commit brought in and that still count."""
    brought = [item.fact for item in fact_editor.difference(parse(before), parse(after)).added]
    standing = {one.entry.fact for one in known.standing(path) if not known.marks_of(one.number)}
    return [fact.id for fact in brought if fact.id in standing and (words is None or words == fact.text)]


def _note(commit: LineCommit, changes: Sequence[Changed], retracts: Sequence[FactId], known: Versions) -> history.Note | None:
    """What is to be said besides: entries of a log count no more, and what the commit said of standing facts holds no more."""
    said = history.said(commit.commit.message)
    landmark = known.landmark_of(commit.commit.id)
    marks = [mark for mark in (*known.marks(), *known.pairs()) if landmark and mark.begun == landmark.number]
    alone = bool(marks) and not changes
    if not retracts and not alone:
        return None
    path = next((change.path for change in changes), said.path or FilePath(layout.CURATED_NAMES[0]))
    section = tuple(said.section.split(" > ")) if said.section else ()
    return history.Note(Op.REVERT, path, section, Provenance(), retracts=tuple(retracts), reverts=(commit.commit.id,))


def _target(workspace: Workspace, known: Versions, word: str) -> _Target:
    """A word as exact text of a fact, as an id of one, as a commit."""
    if (fact := recorded.by_text(known, word)) is not None:
        return _last_change(known, known.having(fact))
    commit = workspace.repository.commit_named(word)
    fact = recorded.by_id(known, word)
    if fact is not None and commit is not None:
        hint = "Give more digits of the commit, or the fact's text."
        raise FactProblem("ambiguous", f"{word!r} is a fact and a commit", hint, facts=[fact])
    if fact is not None:
        return _last_change(known, known.having(fact))
    if commit is None:
        hint = "mdmem history lists commits, mdmem facts --all lists facts."
        raise HistoryProblem("commit-not-found", f"there is no fact and no commit {word[:80]!r}", hint)
    return _Target(commit)


def _last_change(known: Versions, found: Sequence[Occurrence]) -> _Target:
    """What last happened to a fact: it came, it went, or something was said of it."""
    last = found[-1]
    path, words = last.entry.path, last.entry.text
    if last.ended is not None and (landmark := known.landmark(last.ended)):
        return _Target(landmark.commit, path, words)
    marks = known.marks_of(last.number)
    if marks and (landmark := known.landmark(marks[-1].begun)):
        return _Target(landmark.commit)
    return _Target(last.origin.commit, path, words)


def together(results: Sequence[WriteResult]) -> WriteResult:
    """The results of several files as one: the first file's, with what all of them did."""
    first = results[0]
    diffs = [result.diff for result in results if result.diff is not None]
    return WriteResult(
        any(result.changed for result in results),
        first.path,
        first.section,
        first.etag,
        next((result.commit for result in reversed(results) if result.commit), None),
        tuple(fact for result in results for fact in result.added),
        tuple(fact for result in results for fact in result.removed),
        tuple(pair for result in results for pair in result.supersedes),
        "".join(diffs) if diffs else None,
        tuple(note for result in results for note in result.notes),
        tuple(warning for result in results for warning in result.warnings),
        Op.REVERT,
    )
