"""`forget --purge`: plan a purge, and rewrite files, index and history without the words."""

from __future__ import annotations

import sqlite3
import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeAlias

from mdmem import events, repo
from mdmem.changes.recover import lock_workspace, recover
from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep
from mdmem.folder.layout import is_markdown
from mdmem.index.catching_up import index_unchecked
from mdmem.index.schema import BrokenIndex
from mdmem.lookup import lookup
from mdmem.model import MAX_FILE_BYTES, CommitId, FactId, FileKind
from mdmem.model.errors import FactProblem, RepositoryProblem, number_of, shell_word, verb
from mdmem.model.trail import Entry
from mdmem.model.writes import Purge, PurgePlan, PurgeResult
from mdmem.past import fresh_trail
from mdmem.proposals import branches
from mdmem.purge import history_rewrite, ref_rewrite
from mdmem.purge.history_rewrite import LinkedWorktree, Objects, RewriteRules, RewrittenHistory, git
from mdmem.purge.target import PurgeTarget, purge_rules, purge_target, purged_message, purged_text
from mdmem.repo import Identity, Repository
from mdmem.startup.records import dataclass, replace
from mdmem.text import check
from mdmem.text.fact_names import id_prefix
from mdmem.text.facts import holds_key, parse_item, parse_text
from mdmem.vectors import store
from mdmem.vectors.store import FOLDER_NAME
from mdmem.workspace import Say, Workspace, state

_TRIES = 50
_LOCK_SECONDS = 30.0
_KEPT_STATE = (files.LOCK_NAME, journal.WRITE_NAME, "workspace", "sync.json")
_MANY_FILES = 100
PURGE_TRAILER = "Mdmem-Op: purge"
FindTranscripts: TypeAlias = "Callable[[PurgeTarget], HeldTranscripts]"


def files_holding(
    root: Path, paths: Sequence[str], target: PurgeTarget
) -> Iterator[tuple[Path, bytes | None]]:
    """Files that hold the target, with their bytes (None: they cannot be rewritten)."""
    rules = purge_rules(target)
    for path in paths:
        full_path = root / path
        try:
            status = full_path.lstat()
            if not stat.S_ISREG(status.st_mode):
                continue
            data = full_path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            yield full_path, None
            continue
        if rules.binary(data):
            yield full_path, None
        elif purged_text(target, data, is_markdown(path)) != data:
            yield full_path, data if status.st_size <= MAX_FILE_BYTES else None


def purge_file(full_path: Path, target: PurgeTarget) -> None:
    """Rewrite a file without the target. Raises: RepositoryProblem (`busy`)."""
    for _ in range(_TRIES):
        data = files.read(full_path)
        if data is None:
            return
        after = purged_text(target, data, is_markdown(full_path.name))
        if after == data or files.replace(full_path, after, data, files.temporary_name()):
            return
    raise RepositoryProblem(
        "busy",
        "another program keeps saving a file that contains the text",
        "Close it there and purge again.",
    )


def require_no_record(workspace: Workspace, target: PurgeTarget) -> None:
    """Refuse while another workspace's unfinished write would bring the target back.

    Raises: RepositoryProblem (`repository-busy`).
    """
    own = workspace.state.resolve()
    for folder in _state_folders(workspace):
        left = journal.load(folder / journal.WRITE_NAME) if folder.resolve() != own else None
        if left is None or not isinstance(left.then, CommitStep):
            continue
        message = left.then.message.encode("utf-8", "replace")
        if purged_message(target, message) != message:
            raise RepositoryProblem(
                "repository-busy",
                "another workspace here has an unfinished write that contains the text",
                f"To finish it, run {verb('save')} there.",
            )


def empty_state(
    workspace: Workspace,
    target: PurgeTarget | None,
    kept: Collection[str],
    kept_folder: Path | None = None,
) -> None:
    """Keep locks, records, events, and `kept` files without the target.

    `target` is None where the words are not known here. `kept_folder` is one without them.
    """
    for folder in _state_folders(workspace):
        with ExitStack() as locks:
            vectors = (files.VECTORS_LOCK,) if (folder / FOLDER_NAME).exists() else ()
            for name in (files.MESSAGES_LOCK, files.INDEX_LOCK, files.TRAIL_LOCK, *vectors):
                locks.enter_context(files.lock(folder / name, _LOCK_SECONDS))
            for path in folder.iterdir():
                if path.name in _KEPT_STATE or path.suffix == ".lock":
                    continue
                if path.is_dir():
                    if path != kept_folder:
                        files.remove_tree(path)
                elif not (
                    path.name in kept or path.match("*.tmp") or path.match("events*.jsonl")
                ) or _may_hold(path.read_bytes(), target):
                    path.unlink(missing_ok=True)


def _purge_vectors(workspace: Workspace, target: PurgeTarget) -> Path | None:
    """The index is the one from before the purge: it still has the target's texts."""
    folder = workspace.state / FOLDER_NAME
    if not folder.is_dir() or workspace.settings.vectors == "off":
        return None
    rules = purge_rules(target)

    def is_kept(text: str, entries: Sequence[Entry]) -> bool:
        return not rules.holds(text.encode("utf-8", "replace")) and not any(
            entry.fact is not None and entry.fact == target.fact for entry in entries
        )

    with suppress(sqlite3.Error, OSError, BrokenIndex):
        with files.lock(workspace.state / files.VECTORS_LOCK, _LOCK_SECONDS):
            store.keep_passages(workspace, index_unchecked(workspace), is_kept)
        return folder
    return None


def _state_folders(workspace: Workspace) -> list[Path]:
    return [
        folder
        for home in state.homes(workspace.repository, workspace.environment)
        for folder in sorted(home.glob("*"))
        if folder.is_dir()
    ]


def _may_hold(data: bytes, target: PurgeTarget | None) -> bool:
    """Queries in the events are escaped and cut, so these always may."""
    is_known = target is not None and purge_rules(target).holds(data)
    return is_known or events.holds_queries(data)


@dataclass(frozen=True, slots=True)
class PurgeScope:
    workspace: Workspace
    memory: tuple[Path, ...]

    @property
    def repository(self) -> Repository:
        return self.workspace.repository


@dataclass(frozen=True, slots=True)
class HeldTranscripts:
    """Session transcripts that still hold the words, and the state that stops redigesting.

    `reads` are their last lines; `purged` is the words' number and short hash (empty: none left).
    `kept_state` files stay unless they hold the words.
    """

    paths: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    purged: str = ""
    kept_state: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PurgeNote:
    """The purge's note in a commit: when (git's raw form), who, and why."""

    date: str
    identity: Identity | None = None
    actor: str | None = None
    session: str | None = None
    reason: str | None = None


def plan_rewrite(
    scope: PurgeScope, words: str, fact: FactId | None, find_transcripts: FindTranscripts
) -> PurgePlan:
    """Raises: TextProblem (`bad-text`), FactProblem (`fact-not-found`), RepositoryProblem
    (`cannot-purge`, `repository-busy`).
    """
    target = purge_target(words, fact)
    plan = _plan(scope, target, Objects(scope.repository.root, keep=False))[0]
    return replace(plan, notices=(*plan.notices, *_transcript_notices(find_transcripts(target))))


def purge_everywhere(
    scope: PurgeScope,
    words: str,
    fact: FactId | None,
    note: PurgeNote,
    find_transcripts: FindTranscripts,
) -> PurgeResult:
    """Killed before the refs move, it has changed nothing; after, a second run completes it.

    The caller holds the lock, has settled the journal, and knows that the repository is
    not busy. Raises: as `plan_rewrite`.
    """
    started = int(time.time())
    repository, target = scope.repository, purge_target(words, fact)
    rules = purge_rules(target)
    objects = Objects(repository.root, keep=True)
    plan, rewrite = _plan(scope, target, objects)
    transcripts = find_transcripts(target)
    commit = _move_refs(
        scope.workspace, rewrite, objects, note, _note_message(note, target, transcripts)
    )
    ref_rewrite.update_index_entries(repository, rewrite)
    for full_path, data in list(
        files_holding(repository.root, history_rewrite.worktree_files(repository.root), target)
    ):
        if data is not None:
            purge_file(full_path, target)
    ref_rewrite.refresh_index(repository)
    vectors = _purge_vectors(scope.workspace, target)
    empty_state(scope.workspace, target, transcripts.kept_state, vectors)
    ref_rewrite.drop_old_objects(repository, rules, started)
    notices = (
        *plan.notices,
        *_transcript_notices(transcripts),
        *_remaining_notices(repository, rules),
    )
    return PurgeResult(plan, commit, notices)


# The plan.


def _plan(
    scope: PurgeScope, target: PurgeTarget, objects: Objects
) -> tuple[PurgePlan, RewrittenHistory]:
    repository, rules = scope.repository, purge_rules(target)
    history_rewrite.require_rewritable(repository)
    require_no_record(scope.workspace, target)
    linked = history_rewrite.linked_worktrees(repository)
    rewrite = history_rewrite.rewrite_history(repository, rules, objects, linked)
    _require_clean_worktrees(linked, rewrite, target)
    paths = history_rewrite.worktree_files(repository.root)
    holding_files = list(files_holding(repository.root, paths, target))
    changed_files = sum(data is not None for _, data in holding_files)
    refs = len(rewrite.moved)
    outside = _count_outside(scope, paths, target)
    is_reachable = bool(changed_files or rewrite.commits or rewrite.tags or refs)
    holding_objects = set() if is_reachable else ref_rewrite.objects_holding(repository, rules)
    loose = (
        len(holding_objects.difference(ref_rewrite.reachable_objects(repository)))
        if holding_objects
        else 0
    )
    plan = PurgePlan(
        files=changed_files,
        commits=rewrite.commits,
        messages=rewrite.messages,
        tags=rewrite.tags,
        refs=refs,
        signatures=rewrite.signatures,
        loose=loose,
        notices=(
            *_size_notices(changed_files, loose),
            *_limit_notices(repository, rewrite, len(holding_files) - changed_files),
            *(
                [f"Not removed from {number_of(outside, 'memory file')} outside this repository."]
                if outside
                else ()
            ),
            *_id_notices(repository, target),
        ),
    )
    if not plan.has_changes and not _has_purge_note(repository):
        raise _not_found(target, outside + len(holding_files) + len(holding_objects))
    return plan, rewrite


def _require_clean_worktrees(
    linked: Sequence[LinkedWorktree], rewrite: RewrittenHistory, target: PurgeTarget
) -> None:
    blobs = {blob for blob, _ in rewrite.blobs}
    for worktree in linked:
        staged = any(entry.blob in blobs for entry in history_rewrite.index_entries(worktree.root))
        if staged or any(
            files_holding(worktree.root, history_rewrite.worktree_files(worktree.root), target)
        ):
            raise RepositoryProblem(
                "cannot-purge",
                "a linked worktree contains it in its files or its index, which are not rewritten"
                " from here",
                "Remove it there first, or remove the worktree (git worktree remove).",
            )


def _not_found(target: PurgeTarget, unreachable: int) -> FactProblem:
    if unreachable:
        message = (
            f"{target.words[:80]!r} is only where it cannot be removed from here:"
            f" {number_of(unreachable, 'file or object', 'files or objects')}"
        )
        hint = (
            "Look in remote-tracking refs (git log --remotes), in binary or unreadable files, and"
            " in extra_paths."
        )
        return FactProblem("fact-not-found", message, hint)
    return FactProblem(
        "fact-not-found",
        f"{target.words[:80]!r} is in no file and no commit",
        f"To list facts: {verb('facts')}",
    )


def _count_outside(scope: PurgeScope, paths: Collection[str], target: PurgeTarget) -> int:
    """Count files with the target in extra paths or nested repositories, unknown to git."""
    root, inside = scope.repository.root.resolve(), frozenset(paths)
    outside = [
        path
        for path in (path.resolve() for path in scope.memory)
        if not path.is_relative_to(root) or str(path.relative_to(root)) not in inside
    ]
    return sum(1 for path in outside for _ in files_holding(path.parent, [path.name], target))


# Notices.


def _size_notices(files: int, loose: int) -> Iterator[str]:
    if files > _MANY_FILES:
        yield f"It is in {number_of(files, 'file')} of the work tree: are these the right words?"
    if loose:
        yield (
            f"It is in {number_of(loose, 'object')} that only reflogs, if anything, still refer to."
        )


def _id_notices(repository: Repository, target: PurgeTarget) -> Iterator[str]:
    if target.fact and ref_rewrite.is_in_a_message(repository, target.fact):
        yield (
            "The fact's id, a short hash of its text, stays in the trailers of other commits:"
            " anyone who guesses the text can tell that it was here."
        )


def _limit_notices(
    repository: Repository, rewrite: RewrittenHistory, unreadable: int
) -> Iterator[str]:
    common = repository.common_dir
    remotes = git(repository.root, "remote").split()
    remote_refs = history_rewrite.remote_refs(repository)
    if remotes or remote_refs:
        yield (
            f"Not removed from {number_of(remote_refs, 'remote-tracking ref')} of"
            f" {number_of(len(remotes), 'remote')}: what was pushed or fetched is still there and"
            f" on the server. To purge it there too: {verb('sync', 'purge')}. The server may keep"
            " the old history until it cleans up; branches that are not memory's have to be pushed"
            " by force."
        )
    if rewrite.signatures:
        yield (
            f"{number_of(rewrite.signatures, 'signature')} dropped: rewritten commits and tags"
            " cannot keep them."
        )
    if rewrite.binaries:
        yield f"Not removed from {number_of(rewrite.binaries, 'binary object')}."
    if rewrite.names:
        yield f"Not removed from {number_of(rewrite.names, 'name')} of files or folders."
    if rewrite.links:
        yield f"Not removed from the target of {number_of(rewrite.links, 'symbolic link')}."
    if rewrite.people:
        yield f"Not removed from the author or committer of {number_of(rewrite.people, 'commit')}."
    if unreadable:
        why = f"binary, larger than {MAX_FILE_BYTES:,} bytes, or not readable"
        yield (
            f"Not removed from {number_of(unreadable, 'file')} of the work tree that cannot be"
            f" rewritten ({why})."
        )
    if rewrite.submodules or (common / "modules").exists():
        yield "Submodules are repositories of their own and are not searched."
    if repository.is_shallow():
        yield "This is a shallow clone: only the history that it has is rewritten."
    if (common / "objects" / "info" / "alternates").exists():
        yield "This repository borrows objects from another one, which is not searched or changed."
    if any((common / "objects" / "pack").glob("*.keep")):
        yield "Packs marked to be kept (.keep) are not changed."
    if (common / "lfs").exists():
        yield "Git LFS objects are not searched."
    yield (
        "Reflogs are emptied and unreachable objects are deleted: nothing can be restored from"
        " them."
    )
    yield (
        "Not removed from other clones, bundles, backups and caches, nor from text in encodings"
        " other than UTF-8."
    )


def _transcript_notices(transcripts: HeldTranscripts) -> Iterator[str]:
    for path in transcripts.paths:
        yield (
            f"Not removed from the transcript {path}, which belongs to its client; the transcript"
            " now counts as read."
        )
    if transcripts.purged:
        yield (
            "A short hash of the text is kept in the commit, so that transcripts do not bring it"
            " back; someone who guesses the text can confirm it."
        )


def _remaining_notices(repository: Repository, rules: RewriteRules) -> Iterator[str]:
    if count := len(ref_rewrite.objects_holding(repository, rules)):
        yield (
            f"{number_of(count, 'object')} in this repository still contain it (remote-tracking"
            " refs, kept packs, binary files, names, borrowed objects, objects that another"
            " program has just written)."
        )
    if count := ref_rewrite.git_files_holding(repository, rules):
        yield (
            f"Not removed from {number_of(count, 'file')} of git's own folder (settings, hooks,"
            " names of branches or tags)."
        )


# The commit with the note.


def _move_refs(
    workspace: Workspace,
    rewrite: RewrittenHistory,
    objects: Objects,
    note: PurgeNote,
    message: str,
) -> CommitId | None:
    """Move the refs, with the note on HEAD unless a killed earlier run left one."""
    repository = workspace.repository
    has_note = not rewrite.moved and _has_purge_note(repository)
    tips = (
        {}
        if has_note
        else ref_rewrite.add_purge_note(
            repository, rewrite, objects, message, note.date, note.identity
        )
    )
    objects.flush()
    ref_rewrite.move_refs(repository, rewrite, tips | branches.made_again(workspace, tips))
    return repository.head()


def _note_message(note: PurgeNote, target: PurgeTarget, transcripts: HeldTranscripts) -> str:
    trailers = [PURGE_TRAILER]
    for name, value in (("Actor", note.actor), ("Session", note.session), ("Reason", note.reason)):
        text = " ".join(
            purged_message(target, (value or "").encode("utf-8", "replace")).decode().split()
        )
        trailers += [f"Mdmem-{name}: {text}"] if text else []
    trailers += [f"Mdmem-Read: {read}" for read in transcripts.reads]
    trailers += [f"Mdmem-Purged: {transcripts.purged}"] if transcripts.purged else []
    return "\n".join(["Purged a text from history", "", *trailers, ""])


def _has_purge_note(repository: Repository) -> bool:
    """True if HEAD is a purge's note: running it again completes an interrupted one."""
    head = repository.head()
    return (
        head is not None
        and PURGE_TRAILER
        in git(repository.root, "cat-file", "commit", head).decode("utf-8", "replace").splitlines()
    )


def plan_purge(
    workspace: Workspace, arguments: Purge, find_transcripts: FindTranscripts
) -> PurgePlan:
    """Plan a purge; nothing is changed.

    Raises: FactProblem (`fact-not-found`, `fact-ambiguous`), TextProblem (`bad-text`),
    RefusedChange (`secret-found` in the note), RepositoryProblem (`cannot-purge`,
    `repository-busy`).
    """
    check.refuse_errors(check.secrets_in_options(arguments), arguments.allow)
    words, fact = _words_and_fact(workspace, arguments.fact)
    plan = plan_rewrite(_scope(workspace), words, fact, find_transcripts)
    return replace(plan, notices=(*_key_notices(arguments.fact, words, fact), *plan.notices))


def run_purge(
    workspace: Workspace, arguments: Purge, say: Say, find_transcripts: FindTranscripts
) -> PurgeResult:
    """Transcripts are only named. Raises: WorkspaceProblem (`not-allowed`: agents cannot purge)."""
    check.refuse_errors(check.secrets_in_options(arguments), arguments.allow)
    actor = workspace.given_actor(arguments.actor)
    workspace.require_person(actor, "purge")
    with lock_workspace(workspace, say):
        workspace.require_ready()
        recover(workspace, say)
        words, fact = _words_and_fact(workspace, arguments.fact)
        note = PurgeNote(
            date=repo.raw_date(workspace.now()),
            identity=workspace.identity(),
            actor=actor,
            session=arguments.session,
            reason=arguments.reason,
        )
        done = purge_everywhere(_scope(workspace), words, fact, note, find_transcripts)
        return replace(done, notices=(*_key_notices(arguments.fact, words, fact), *done.notices))


def _scope(workspace: Workspace) -> PurgeScope:
    return PurgeScope(
        workspace,
        tuple(listed.full_path for listed in workspace.memory_files().values()),
    )


def _words_and_fact(workspace: Workspace, reference: str) -> tuple[str, FactId | None]:
    """Words that no file holds may still be in history; a key means its current fact alone."""
    kinds = tuple(kind for kind in FileKind if kind.is_memory)
    locations = lookup.locate_fact(workspace, reference, kinds, keys=True)
    if all(holds_key(location.item.fact, reference) for location in locations):
        locations = _current(workspace, locations)
    facts = {location.item.fact.id: location.item.fact for location in locations}
    if len(facts) > 1:
        ids = sorted(facts)
        is_key = all(holds_key(fact, reference) for fact in facts.values())
        raise FactProblem(
            "fact-ambiguous",
            f"{reference[:80]!r} matches several facts: {', '.join(ids)}",
            f"Give the id. {_way_to_the_text(reference)}" if is_key else "Give the id.",
            facts=ids,
        )
    if facts:
        fact = next(iter(facts.values()))
        return fact.text, fact.id
    if id_prefix(reference):
        raise FactProblem(
            "fact-not-found",
            f"no file has a fact {reference.strip()}",
            "To purge text that is only in history, give its words.",
        )
    _refuse_past_key(workspace, reference)
    fact = parse_item(reference.strip())
    return fact.text, fact.id


def _current(
    workspace: Workspace, locations: Sequence[lookup.FactLocation]
) -> list[lookup.FactLocation]:
    curated = [each for each in locations if workspace.kind_of(each.path) is not FileKind.DAILY]
    return curated or lookup.current_locations(workspace, locations)


def _refuse_past_key(workspace: Workspace, reference: str) -> None:
    """Refuse a key whose values are only in history: these would stay there, without the key."""
    with fresh_trail(workspace) as trail:
        fact = lookup.fact_by_key(trail, reference)
    if fact is not None:
        raise FactProblem(
            "fact-not-found",
            f"no current fact has the key {reference[:80]!r}",
            "To purge a value that is only in history, give its whole text; to see it:"
            f" {verb('history')} {fact}. {_way_to_the_text(reference)}",
        )


def _key_notices(reference: str, words: str, fact: FactId | None) -> Iterator[str]:
    if fact is not None and holds_key(parse_text(words), reference):
        yield (
            f"The word given is the key of the fact {fact}: only that fact is purged, not the word"
            f" elsewhere. {_way_to_the_text(reference)}"
        )


def _way_to_the_text(key: str) -> str:
    """The command that purges what a key says: behind a list marker it is a text, and no key."""
    item = f"- {key.strip()}"
    way = f"{verb('forget', 'purge')} {shell_word(item)}"
    return f"To purge the word itself everywhere, write it as a list item: {way}"
