"""The branches of proposals (named, listed, begun, rewritten, closed), and the provenance of their
parts: what their commits state besides text.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path
from typing import TypeVar

from mdmem.editors import sameness
from mdmem.folder import layout, trust
from mdmem.folder.layout import is_markdown
from mdmem.folder.machine import host_name, make_user_key, user_key
from mdmem.folder.trust import TextOrigin
from mdmem.model import CommitId, FactId, FilePath, Source, Supersession
from mdmem.model.errors import PathProblem, ProposalProblem, RepositoryProblem, shell_word, verb
from mdmem.model.proposals import (
    KEPT_DAYS,
    MOST_PROPOSALS,
    PartName,
    PartOrigin,
    PartState,
    is_number,
)
from mdmem.model.reads import UnreadableProposal, Waiting
from mdmem.model.rules import RESERVED_ACTORS, fold_actor
from mdmem.past.differences import changed_lines
from mdmem.past.messages import ParsedNote, parse_trailers, quoted_line
from mdmem.past.notes import parse_message, parse_notes
from mdmem.repo import Repository, branch_commits
from mdmem.repo.branch_commits import BlobChange, BranchCommit
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import parse_item
from mdmem.workspace import Workspace, used_workspaces

T = TypeVar("T")
_UNREADABLE = frozenset({"broken-repository", "git-failed", "missing-history"})
"""Codes of failures that may concern one branch only."""


@dataclass(frozen=True, slots=True)
class ProposedBranch:
    """A proposal's branch, with its first-parent `commits` that HEAD lacks, oldest first.

    `base` is where it began, None for an unborn HEAD; `files` are the workspace's Markdown files
    that differ from it, `others` the remaining paths, `shared_with` other workspaces with Markdown
    files among these.
    """

    ref: ProposalRef
    commits: tuple[BranchCommit, ...]
    commit_changes: tuple[Sequence[BlobChange], ...]
    base: CommitId | None
    files: tuple[tuple[FilePath, BlobChange], ...]
    others: tuple[str, ...]
    shared_with: tuple[Path, ...]

    @property
    def is_ahead(self) -> bool:
        """True if HEAD lacks something of it that is for this workspace."""
        return bool(self.commits) and (bool(self.files) or not self.others)


def read_branches(
    workspace: Workspace, refs: Iterable[ProposalRef], head: CommitId | None
) -> list[ProposedBranch]:
    refs, repository = list(refs), workspace.repository
    ahead = branch_commits.commits_not_in(repository, [ref.tip for ref in refs], head)
    chains = [_chain(ahead, ref.tip) for ref in refs]
    bases = [_base(workspace, ref, chain, head) for ref, chain in zip(refs, chains, strict=True)]
    base_trees = branch_commits.trees_of(repository, bases)
    trees = [
        [tree, *(commit.tree for commit in chain)]
        for tree, chain in zip(base_trees, chains, strict=True)
    ]
    steps = [pair for row in trees for pair in pairwise(row)]
    changes = branch_commits.changed_blobs(
        repository, [*((row[0], row[-1]) for row in trees), *steps]
    )
    of_steps = iter(changes[len(refs) :])
    folders = _Folders(workspace)
    return [
        folders.branch(ref, chain, tuple(next(of_steps) for _ in chain), base, changed)
        for ref, chain, base, changed in zip(refs, chains, bases, changes, strict=False)
    ]


def _chain(ahead: Mapping[CommitId, BranchCommit], tip: CommitId) -> tuple[BranchCommit, ...]:
    chain = []
    commit: CommitId | None = tip
    while commit is not None and commit in ahead:
        chain.append(ahead[commit])
        commit = next(iter(ahead[commit].parents), None)
    return tuple(reversed(chain))


def _base(
    workspace: Workspace, ref: ProposalRef, chain: Sequence[BranchCommit], head: CommitId | None
) -> CommitId | None:
    if not chain:
        return ref.tip
    if head is not None and any(len(commit.parents) > 1 for commit in chain):
        return branch_commits.merge_base(workspace.repository, head, ref.tip)
    return next(iter(chain[0].parents), None)


class _Folders:
    def __init__(self, workspace: Workspace) -> None:
        self._settings = workspace.settings
        self._own = os.fsencode(workspace.repository.prefix)
        root = workspace.repository.root
        used = used_workspaces(workspace.root, workspace.environment)
        others = [folder for folder in used if folder != workspace.root]
        self._others = {
            os.fsencode(f"{folder.relative_to(root)}/").removeprefix(b"./"): folder
            for folder in others
        }

    def branch(
        self,
        ref: ProposalRef,
        commits: tuple[BranchCommit, ...],
        commit_changes: tuple[Sequence[BlobChange], ...],
        base: CommitId | None,
        changes: Sequence[BlobChange],
    ) -> ProposedBranch:
        files, others = [], []
        for change in changes:
            path = self._memory_path(change)
            if path is None:
                others.append(change)
            else:
                files.append((path, change))
        return ProposedBranch(
            ref=ref,
            commits=commits,
            commit_changes=commit_changes,
            base=base,
            files=tuple(files),
            others=tuple(os.fsdecode(change.path) for change in others),
            shared_with=tuple(
                dict.fromkeys(
                    owner
                    for change in others
                    if is_markdown(os.fsdecode(change.path)) and (owner := self._owner(change.path))
                )
            ),
        )

    def _memory_path(self, change: BlobChange) -> FilePath | None:
        """The path in the workspace of a file that may hold memory, else None."""
        if not change.is_plain or not change.path.startswith(self._own) or self._owner(change.path):
            return None
        name = os.fsdecode(change.path.removeprefix(self._own))
        try:
            path = layout.parse_path(name)
        except PathProblem:
            return None
        is_read_only = layout.within(path, self._settings.extra_paths)
        return path if path == name and not is_read_only else None

    def _owner(self, path: bytes) -> Path | None:
        """The innermost workspace around a file, if it is another one."""
        around = [folder for folder in (self._own, *self._others) if path.startswith(folder)]
        return self._others.get(max(around, key=len)) if around else None


def read_each(
    refs: Sequence[ProposalRef],
    read: Callable[[Sequence[ProposalRef]], list[T]],
) -> tuple[list[T], tuple[UnreadableProposal, ...]]:
    """Read proposals at once; if that fails, by halves to find the unreadable branches."""
    try:
        return read(refs), ()
    except RepositoryProblem as problem:
        if problem.code not in _UNREADABLE:
            raise
        if len(refs) == 1:
            unreadable = UnreadableProposal(
                id=refs[0].id,
                branch=refs[0].name.removeprefix("refs/heads/"),
                reason=problem.message,
                hint=problem.marked_hint or "To see more: git fsck",
            )
            return [], (unreadable,)
    middle = len(refs) // 2
    first, first_unreadable = read_each(refs[:middle], read)
    second, second_unreadable = read_each(refs[middle:], read)
    return [*first, *second], (*first_unreadable, *second_unreadable)


def waiting(workspace: Workspace) -> Waiting:
    refs = list(open_proposals(workspace).values())
    if not refs:
        return Waiting()
    head = workspace.repository.head()
    read, unreadable = read_each(refs, lambda some: read_branches(workspace, some, head))
    ahead = [branch for branch in read if branch.is_ahead]
    oldest = min((branch.commits[0].time for branch in ahead), default=None)
    since = None if oldest is None else workspace.local_time(oldest)
    return Waiting(proposals=len(ahead), since=since, unreadable=unreadable)


_PREFIX = "refs/heads/mdmem/proposals/"
CLOSED = "refs/mdmem/closed/"
MADE = "refs/mdmem/made/"
"""Refs that hold each proposal as mdmem made it for this user.

A branch's name does not tell: it may have been fetched, or checked out from a remote. So may such a
ref: its own name is a code made of the branch's name and its commit with the user's key, so that
the refs of a copy count for the same user, and none that was seen helps to forge another.
"""
_NAME = late.pattern(rf"{_PREFIX}(.+)/([0-9a-f]{{8}})")
_UNSAFE = late.pattern(r"[^A-Za-z0-9_]+")
_MOST_ACTOR = 40
_NOBODY = "person"
"""The actor in a branch's name if unknown."""
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class ProposalRef:
    """A proposal's branch and newest commit; `actor` is from its name.

    `is_own`: mdmem made it for this user, in this repository or one that it is a copy of.
    """

    id: str
    actor: str
    name: str
    tip: CommitId
    is_own: bool = False

    @property
    def ending(self) -> str:
        """The end of its branch's name: a machine, or the id that version 0.2.0 gave it."""
        return self.name.rpartition("/")[2]


def safe_actor(actor: str | None) -> str:
    """An actor's name for a branch; never an mdmem actor's, unless it is one."""
    name = _UNSAFE.sub("-", actor or "").strip("-")[:_MOST_ACTOR].strip("-") or _NOBODY
    return f"{name}-" if name != actor and name.casefold() in RESERVED_ACTORS else name


def own_branch(actor: str | None) -> tuple[str, str]:
    return _id_and_name(actor, host_name())


def own_ref(workspace: Workspace, actor: str | None) -> ProposalRef | None:
    return open_proposals(workspace).get(own_branch(actor)[0])


def new_branch(
    workspace: Workspace, actor: str | None, content: str, decided: Collection[str]
) -> tuple[str, str]:
    """New here, and to the `decided` ids. Raises: ProposalProblem (`too-many-proposals`)."""
    open_refs = open_proposals(workspace)
    require_few(open_refs)
    closed_refs = branch_commits.list_refs(workspace.repository, CLOSED)
    closed = (name.removeprefix(CLOSED) for name in closed_refs)
    taken = {*open_refs, *decided, *closed}
    seed = f"{content}\0{host_name()}"
    names = (_id_and_name(actor, _digest(f"{seed}\0{number}")) for number in count())
    return next(each for each in names if each[0] not in taken)


def _id_and_name(actor: str | None, ending: str) -> tuple[str, str]:
    name = f"{safe_actor(actor)}/{ending}"
    return _digest(name), f"{_PREFIX}{name}"


def require_few(open_refs: Collection[str]) -> None:
    """Refuse a proposal above the maximum. Raises: ProposalProblem (`too-many-proposals`)."""
    if len(open_refs) >= MOST_PROPOSALS:
        hint = f"Decide some of them. To list them: {verb('proposals')}"
        raise ProposalProblem(
            "too-many-proposals",
            f"there are already {MOST_PROPOSALS} open proposals, the maximum",
            hint,
        )


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:8]


def with_id(message: str, proposal: str) -> str:
    """The message of a proposing commit; history dates its changes by the merge."""
    return f"{message.rstrip()}\nMdmem-Proposed: {proposal}\n"


def open_proposals(workspace: Workspace) -> dict[str, ProposalRef]:
    refs = branch_commits.list_refs(workspace.repository, _PREFIX, MADE)
    key = user_key(workspace.environment)
    proposals = {}
    for name, tip in sorted(refs.items()):
        if ref := parse_ref(name, tip):
            is_own = key is not None and refs.get(_made_ref(key, ref)) == tip
            proposals[ref.id] = replace(ref, is_own=is_own)
    return proposals


def parse_ref(name: str, tip: CommitId) -> ProposalRef | None:
    """A proposal by the full name of its branch; None for any other branch."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    proposal, _ = _id_and_name(match[1], match[2])
    return ProposalRef(id=proposal, actor=match[1], name=name, tip=tip)


def made_again(workspace: Workspace, moved: Mapping[str, str]) -> dict[str, CommitId]:
    refs = (ref for ref in open_proposals(workspace).values() if ref.name in moved)
    return _made_refs(workspace, *(replace(ref, tip=CommitId(moved[ref.name])) for ref in refs))


def _made_refs(workspace: Workspace, *refs: ProposalRef) -> dict[str, CommitId]:
    key = user_key(workspace.environment)
    return {_made_ref(key, ref): ref.tip for ref in refs if ref.is_own} if key else {}


def _made_ref(key: bytes, ref: ProposalRef) -> str:
    content = f"{ref.name}\0{ref.tip}".encode("utf-8", "surrogateescape")
    return f"{MADE}{hashlib.blake2b(content, key=key, digest_size=16).hexdigest()}"


def move(workspace: Workspace, before: ProposalRef | None, after: ProposalRef) -> bool:
    """`before` None begins it; False if it moved meanwhile. It stays own only if it was before."""
    is_own = before is None or before.is_own
    if is_own:
        make_user_key(workspace.environment)
    moves = _moves(workspace, before, replace(after, is_own=is_own))
    return branch_commits.move_refs(workspace.repository, moves, scratch=after.id)


def adopt(workspace: Workspace, before: ProposalRef | None, after: ProposalRef) -> bool:
    """Take a proposal as another machine has it, as not made here; False if it moved meanwhile."""
    moves = _moves(workspace, before, replace(after, is_own=False))
    return branch_commits.move_refs(workspace.repository, moves)


def _moves(
    workspace: Workspace, before: ProposalRef | None, after: ProposalRef
) -> list[tuple[str, str | None, str | None]]:
    old, new = _made_refs(workspace, *([before] if before else [])), _made_refs(workspace, after)
    return [
        (after.name, after.tip, before.tip if before else None),
        *((name, tip, "") for name, tip in new.items()),
        *((name, None, tip) for name, tip in old.items() if name not in new),
    ]


def find_proposal(workspace: Workspace, named: str) -> ProposalRef:
    """By an id, the beginning of one, or a branch name or its end. Raises: ProposalProblem."""
    open_refs = open_proposals(workspace)
    name = f"{_PREFIX}{named.strip().removeprefix('refs/heads/').removeprefix('mdmem/proposals/')}"
    word = name.rpartition("/")[2].casefold()
    refs = (
        [ref for ref in open_refs.values() if ref.name == name]
        or [ref for ref in open_refs.values() if word and ref.id.startswith(word)]
        or [ref for ref in open_refs.values() if word and ref.ending.startswith(word)]
    )
    if len(refs) == 1:
        return refs[0]
    if refs:
        names = ", ".join(ref.id for ref in refs)
        raise ProposalProblem(
            "ambiguous",
            f"{len(refs)} proposals have ids that begin with {word!r}",
            f"They are {names}.",
        )
    closed = [
        name
        for name in branch_commits.list_refs(workspace.repository, CLOSED)
        if word and name.removeprefix(CLOSED).startswith(word)
    ]
    if closed:
        name = closed[0].removeprefix(CLOSED)
        raise ProposalProblem(
            "proposal-not-found",
            f"{name} is decided and closed",
            f"To see its changes: git log {shell_word(closed[0])}",
        )
    raise ProposalProblem(
        "proposal-not-found",
        f"{named} is a number of the list, not an id"
        if is_number(named)
        else f"no proposal {named[:80]!r}",
        f"To list open proposals, with their ids at the end: {verb('proposals')}",
    )


def require_movable(repository: Repository, ref: ProposalRef) -> None:
    """Refuse a branch that a work tree has. Raises: ProposalProblem (`checked-out`)."""
    if (folder := branch_commits.checked_out_in(repository, ref.name)) is not None:
        message = f"the branch of {ref.id} is checked out in {folder}"
        raise ProposalProblem(
            "checked-out", message, "Commit to it there, or switch to another branch first."
        )


def close(workspace: Workspace, ref: ProposalRef, original: CommitId) -> bool:
    """Delete a proposal's branch, keeping its commits for a while; False if it moved meanwhile."""
    repository, name = workspace.repository, f"{CLOSED}{ref.id}"
    kept = branch_commits.list_refs(repository, name).get(name)
    moves: list[tuple[str, str | None, str | None]] = [
        (ref.name, None, ref.tip),
        (name, original, kept),
    ]
    moves += [(made, None, tip) for made, tip in _made_refs(workspace, ref).items()]
    return branch_commits.move_refs(repository, moves, scratch=ref.id)


def drop_old(workspace: Workspace) -> None:
    """Delete expired closed proposals, and what killed processes left."""
    repository = workspace.repository
    oldest = int(time.time()) - KEPT_DAYS * _DAY_SECONDS
    refs = branch_commits.list_refs(repository, _PREFIX, CLOSED, MADE, branch_commits.SCRATCH)
    closed = {name: tip for name, tip in refs.items() if name.startswith(CLOSED)}
    times = branch_commits.commit_times(repository, closed.values())
    over = [(name, None, tip) for name, tip in closed.items() if times.get(tip, oldest) < oldest]
    tips = {tip for name, tip in refs.items() if parse_ref(name, tip)}
    left = [
        (name, None, tip)
        for name, tip in refs.items()
        # Of an open proposal it is the user's own, or another's who shares the repository.
        if name.startswith(branch_commits.SCRATCH) or (name.startswith(MADE) and tip not in tips)
    ]
    if over or left:
        branch_commits.move_refs(repository, [*over, *left])


_TRAILER = late.pattern(r"([0-9a-f]{8}) (\S.*)")
_DECISIONS = {
    "Accepts": PartState.ACCEPTED,
    "Rejects": PartState.REJECTED,
    "Closes": PartState.SUPERSEDED,
}


@dataclass(frozen=True, slots=True)
class DecidedPart:
    proposal: str
    name: PartName
    state: PartState
    commit: CommitId
    time: datetime
    path: FilePath | None
    section: str
    text: str | None
    proposed_by: str | None = None
    is_removal: bool = False


Decisions = dict[str, dict[PartName, DecidedPart]]


def decisions(repository: Repository, tip: CommitId | None) -> Decisions:
    """All decisions in a commit's history by proposal and part; the newest of several."""
    decided: Decisions = {}
    for commit, made, message in branch_commits.messages_with(
        repository, "^Mdmem-(Accepts|Rejects|Closes): [0-9a-f]{8} ", tip
    ):
        for part in _decided(commit, made, message):
            decided.setdefault(part.proposal, {}).setdefault(part.name, part)
    return decided


def decisions_on(decided: Decisions, proposal: str, branch: str) -> Mapping[PartName, DecidedPart]:
    """The decisions on a proposal's parts, also those that name it as version 0.2.0 did."""
    actor, _, ending = branch.rpartition("/")
    older = {
        name: part
        for name, part in decided.get(ending, {}).items()
        if actor.endswith(f"/{safe_actor(part.proposed_by)}")
    }
    return older | decided.get(proposal, {})


def rejected_parts(repository: Repository, tip: CommitId | None) -> list[DecidedPart]:
    """The rejected parts in a commit's history, newest first."""
    rows = branch_commits.messages_with(repository, "^Mdmem-Rejects: [0-9a-f]{8} ", tip)
    return [part for row in rows for part in _decided(*row) if part.state is PartState.REJECTED]


def _decided(commit: CommitId, time: int, message: str) -> Iterator[DecidedPart]:
    trailers = parse_trailers(message)
    note = parse_message(message)
    quotes: Mapping[FactId, str] = {
        parse_item(f"- {line[2:]}").id: line
        for line in message.split("\n")
        if line.startswith(("- ", "+ "))
    }
    for name, state in _DECISIONS.items():
        for value in trailers.get(name, ()):
            if match := _TRAILER.fullmatch(value):
                quote = quotes.get(FactId(match[2]))
                # A rejection quotes how memory stays: without what was proposed, with what was to
                # go.
                is_removal = (
                    state is PartState.REJECTED and quote is not None and quote.startswith("+")
                )
                yield DecidedPart(
                    proposal=match[1],
                    name=match[2],
                    state=state,
                    commit=commit,
                    time=datetime.fromtimestamp(time, UTC),
                    path=note.path,
                    section=note.section,
                    text=quote[2:] if quote else None,
                    proposed_by=next(iter(trailers.get("Proposed-By", ())), None),
                    is_removal=is_removal,
                )


def says_the_same(part: DecidedPart, fact: FactId, text: str) -> bool:
    return part.name == fact or (part.text is not None and sameness.resemble(text, part.text))


_PROPOSED_BRANCH = "propose"
"""The operation of the empty commit that makes a proposal of a branch."""
_PIPELINES = ("digest", "dream")
"""Reserved actors whose cites carry a source or quote the person's own lines."""


@dataclass(frozen=True, slots=True)
class ProposedNote:
    """A proposal's commit with its note, files and facts.

    `is_own`: mdmem made it here; of any other, only the author's name is trusted.
    """

    commit: BranchCommit
    note: ParsedNote
    paths: frozenset[FilePath]
    facts: frozenset[FactId]
    is_own: bool

    @property
    def author(self) -> str:
        """The author's name, never that of an mdmem actor."""
        name = self.commit.author.decode("utf-8", "replace").partition(" <")[0].strip()
        return f"{name}-" if fold_actor(name) in RESERVED_ACTORS else name


class ProposedNotes:
    """A proposal's commits with notes, oldest first, its actor and its reason."""

    def __init__(
        self, notes: Sequence[ProposedNote], actor: str | None, reason: str | None
    ) -> None:
        self.notes = tuple(notes)
        self.actor, self.reason = actor, reason
        self._by_path: dict[FilePath, ProposedNote] = {}
        self._by_fact: dict[tuple[FilePath, FactId], ProposedNote] = {}
        self._supersedes: dict[FactId, list[Supersession]] = {}
        self._contradicts: dict[FactId, list[tuple[FactId, FactId]]] = {}
        self._keys: dict[FactId, list[tuple[FactId, str]]] = {}
        self._promotes: dict[FactId, list[FactId]] = {}
        for each in self.notes:
            self._by_path |= dict.fromkeys(each.paths, each)
            self._by_fact |= {(path, fact): each for path in each.paths for fact in each.facts}
            if not each.is_own:
                continue  # whoever accepts a part sees only its text
            for old, new in each.note.supersedes:
                if new is not None:
                    self._supersedes.setdefault(new, []).append(Supersession(old, new))
            for pair in each.note.contradicts:
                for fact in pair:
                    self._contradicts.setdefault(fact, []).append(pair)
            for fact, key in each.note.keys:
                self._keys.setdefault(fact, []).append((fact, key))
            for log, fact in each.note.promotes:
                self._promotes.setdefault(fact, []).append(log)

    def of_fact(self, path: FilePath, fact: FactId) -> ProposedNote | None:
        return self._by_fact.get((path, fact)) or self._by_path.get(path)

    def marks(self) -> tuple[ProposedNote, ...]:
        """The commits that state something and change no text."""
        return tuple(
            each
            for each in self.notes
            if not each.paths and each.note.op not in (None, _PROPOSED_BRANCH)
        )

    def supersedes(self, fact: FactId) -> tuple[Supersession, ...]:
        pairs = list(self._supersedes.get(fact, ()))
        for pair in pairs:
            older = [Supersession(each.old, fact) for each in self._supersedes.get(pair.old, ())]
            pairs += [each for each in older if each.old != fact and each not in pairs]
        return tuple(dict.fromkeys(pairs))

    def pairs(self) -> tuple[Supersession, ...] | None:
        """The facts that others replace; None where not all commits are mdmem's own.

        Edits of one proposal have nothing to do with each other, however alike their texts are.
        """
        if not all(each.is_own for each in self.notes):
            return None
        return tuple(pair for fact in self._supersedes for pair in self.supersedes(fact))

    def contradicts(self, fact: FactId) -> tuple[tuple[FactId, FactId], ...]:
        return tuple(dict.fromkeys(self._contradicts.get(fact, ())))

    def keys(self, fact: FactId) -> tuple[tuple[FactId, str], ...]:
        return tuple(dict.fromkeys(self._keys.get(fact, ())))

    def promotes(self, fact: FactId) -> tuple[FactId, ...]:
        return tuple(dict.fromkeys(self._promotes.get(fact, ())))


def read_notes(workspace: Workspace, branches: Sequence[ProposedBranch]) -> list[ProposedNotes]:
    parsed = [_parsed_commits(branch) for branch in branches]
    unquoted = [
        change
        for branch, commits in zip(branches, parsed, strict=True)
        for each, row in zip(commits, branch.commit_changes, strict=True)
        for change in row
        if each.quoted is None and _is_text(change)
    ]
    names = dict.fromkeys(
        blob for change in unquoted for blob in (change.before, change.after) if blob
    )
    blobs = workspace.repository.contents(list(names))
    prefix = os.fsencode(workspace.repository.prefix)
    read = []
    for branch, commits in zip(branches, parsed, strict=True):
        notes = []
        for each, row in zip(commits, branch.commit_changes, strict=True):
            paths = [
                change.path.removeprefix(prefix) for change in row if change.path.startswith(prefix)
            ]
            facts = _changed_facts(row, blobs) if each.quoted is None else each.quoted
            if len(each.commit.parents) > 1:  # what it brings is of the branch that it merges
                paths, facts = [], frozenset()
            notes.append(
                ProposedNote(
                    commit=each.commit,
                    note=each.note,
                    paths=frozenset(FilePath(os.fsdecode(path)) for path in paths),
                    facts=facts,
                    is_own=each.is_own,
                )
            )
        read.append(_branch_notes(notes))
    return read


@dataclass(frozen=True, slots=True)
class _ParsedCommit:
    """A commit with its note, and the facts quoted (None: read the difference)."""

    commit: BranchCommit
    note: ParsedNote
    quoted: frozenset[FactId] | None
    is_own: bool


def _parsed_commits(branch: ProposedBranch) -> list[_ParsedCommit]:
    """Commits up to that of `mdmem propose`, which took them over, are not mdmem's own."""
    read = [_quoted_facts(commit.message) for commit in branch.commits]
    taken_over = [number for number, (note, _) in enumerate(read) if note.op == _PROPOSED_BRANCH]
    first = (taken_over[-1] if taken_over else 0) if branch.ref.is_own else len(read)
    return [
        _ParsedCommit(commit, note, quoted if number >= first else None, is_own=number >= first)
        for number, (commit, (note, quoted)) in enumerate(zip(branch.commits, read, strict=True))
    ]


def _branch_notes(notes: Sequence[ProposedNote]) -> ProposedNotes:
    named = [
        each.note.provenance for each in notes if each.is_own and each.note.op == _PROPOSED_BRANCH
    ]
    actors = [each.note.provenance.actor if each.is_own else each.author for each in notes]
    actor = next(filter(None, [*(each.actor for each in named[-1:]), *actors]), None)
    return ProposedNotes(notes, actor, named[-1].reason if named else None)


def _is_text(change: BlobChange) -> bool:
    return change.is_plain and change.path.lower().endswith(b".md")


def _quoted_facts(message: str) -> tuple[ParsedNote, frozenset[FactId] | None]:
    """The facts are None where the message does not quote them all."""
    notes, lines = parse_notes(message), message.split("\n")
    note = notes[0].note if len(notes) == 1 and notes[0].is_own else parse_message(message)
    if (
        note.op is None
        or len(notes) != 1
        or any(line.endswith((" more lines)", "…")) for line in lines)
    ):
        return note, None
    return note, frozenset(
        parse_item(f"- {line[2:]}").id for line in lines if line.startswith(("+ ", "- "))
    )


def _changed_facts(changes: Sequence[BlobChange], blobs: Mapping[str, bytes]) -> frozenset[FactId]:
    facts = set()
    for change in filter(_is_text, changes):
        before, after = (
            blobs[blob].decode("utf-8", "replace") if blob else ""
            for blob in (change.before, change.after)
        )
        for lines in changed_lines(before, after):
            facts |= {parse_item(f"- {quoted_line(line)}").id for line in lines if line.strip()}
    return frozenset(facts)


def part_origin(
    workspace: Workspace,
    notes: ProposedNotes,
    proposed: ProposedNote | None,
    fact: FactId | None,
    is_persons: bool = False,
) -> PartOrigin:
    """The provenance of an accepted part; an agent's claim of the user's word is inferred.

    A commit not made here has its author's name, and at most a proposal's confidence. `is_persons`:
    the person committed the words to a daily log.
    """
    if proposed is None:
        return PartOrigin(
            source=Source.INFERRED,
            confidence=Source.INFERRED.confidence,
            actor=notes.actor,
            reason=notes.reason,
        )
    note = proposed.note
    source, confidence = note.provenance.source, note.provenance.confidence
    if not proposed.is_own:
        most = trust.limit_source(TextOrigin.PROPOSAL, source) or Source.AUTO
        return PartOrigin(
            source=most,
            confidence=confidence if most is source else most.confidence,
            actor=proposed.author,
            reason=note.provenance.reason or notes.reason,
        )
    cites = tuple(cited for cited_fact, cited in note.cites if cited_fact == fact)
    is_pipelines = (
        note.provenance.actor in _PIPELINES
        and (bool(cites) or is_persons)
        and note.claimed_by is None
    )
    is_claim = note.claimed_by is not None or (
        note.op is not None and workspace.is_agent(note.provenance.actor)
    )
    if source is Source.USER_STATED and is_claim and not is_pipelines:
        source, confidence = Source.INFERRED, min(confidence, Source.INFERRED.confidence)
    return PartOrigin(
        source=source,
        confidence=confidence,
        actor=note.provenance.actor or notes.actor,
        session=note.provenance.session,
        reason=note.provenance.reason or notes.reason,
        cites=cites,
        run=note.run,
    )
