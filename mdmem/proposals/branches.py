"""The branches of proposals: their names, which stand, how one is begun, rewritten and closed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection
from itertools import count

from mdmem.errors import ProposalProblem
from mdmem.model import CommitId
from mdmem.model.actors import RESERVED_ACTORS
from mdmem.model.proposals import KEPT_DAYS, MOST_PROPOSALS
from mdmem.repo import Repository, branch_commits
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.wording import verb

PREFIX = "refs/heads/mdmem/proposals/"
CLOSED = "refs/mdmem/closed/"
MADE = "refs/mdmem/made/"
"""The refs that hold each proposal as mdmem made it in this very repository.

A name says nothing of who made a branch: it may have been fetched, or checked out from a remote.
"""
_NAME = late.pattern(rf"{PREFIX}(.+)/([0-9a-f]{{8}})")
_UNSAFE = late.pattern(r"[^A-Za-z0-9_]+")
_MOST_ACTOR = 40
_NOBODY = "person"
"""The actor's place in the name of a branch that somebody without a name proposed."""
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class ProposalRef:
    """The branch of a proposal, and its newest commit. `actor` is as the name of the branch has it.

    `is_own`: mdmem made it here, all but what `mdmem propose` took over.
    """

    id: str
    actor: str
    name: str
    tip: CommitId
    is_own: bool = False


def safe_actor(actor: str | None) -> str:
    """An actor's name as a part of the name of a branch; never that of an actor of mdmem's own, unless it is one."""
    name = _UNSAFE.sub("-", actor or "").strip("-")[:_MOST_ACTOR].strip("-") or _NOBODY
    return f"{name}-" if name != actor and name.casefold() in RESERVED_ACTORS else name


def new_id(repository: Repository, content: str, decided: Collection[str]) -> str:
    """An id that no proposal has or had, made of what is proposed; `decided` are those of which history speaks.

    Raises:
        ProposalProblem: `too-many-proposals`.
    """
    standing = standing_proposals(repository)
    require_few(standing)
    closed = (name.removeprefix(CLOSED) for name in branch_commits.list_refs(repository, CLOSED))
    taken = {*standing, *decided, *closed}
    return next(name for number in count() if (name := _id(content, number)) not in taken)


def require_few(standing: Collection[str]) -> None:
    """Refuse one proposal more than may stand.

    Raises:
        ProposalProblem: `too-many-proposals`.
    """
    if len(standing) >= MOST_PROPOSALS:
        hint = f"{verb('accept')} or {verb('reject')} some; to list them: {verb('proposals')}"
        raise ProposalProblem("too-many-proposals", f"there are already {MOST_PROPOSALS} open proposals, the maximum", hint)


def _id(content: str, number: int = 0) -> str:
    return hashlib.sha256(f"{content}\0{number}".encode("utf-8", "replace")).hexdigest()[:8]


def find_same(repository: Repository, message: str) -> ProposalRef | None:
    """The standing proposal that began with a commit of this message, from which `new_id` made its id; None where there is none."""
    ref = standing_proposals(repository).get(_id(message))
    if ref is None:
        return None
    commits = branch_commits.commits_not_in(repository, [ref.tip], repository.head()).values()
    return ref if any(commit.message.rstrip() == with_id(message, ref.id).rstrip() for commit in commits) else None


def with_id(message: str, proposal: str) -> str:
    """The message of a commit that proposes what it changes: what it did is dated by the merge that brings it."""
    return f"{message.rstrip()}\nMdmem-Proposed: {proposal}\n"


def branch_name(actor: str | None, proposal: str) -> str:
    """The full name of a proposal's branch."""
    return f"{PREFIX}{safe_actor(actor)}/{proposal}"


def standing_proposals(repository: Repository) -> dict[str, ProposalRef]:
    """The proposals whose branches stand, by their ids."""
    made = _made_here(repository)
    refs = branch_commits.list_refs(repository, PREFIX, made)
    matches = ((_NAME.fullmatch(name), name, tip) for name, tip in sorted(refs.items()))
    return {
        match[2]: ProposalRef(
            id=match[2],
            actor=match[1],
            name=name,
            tip=tip,
            is_own=refs.get(f"{made}{match[2]}") == tip,
        )
        for match, name, tip in matches
        if match
    }


def _made_here(repository: Repository) -> str:
    """The refs below `MADE` that count: a copy of a repository, or one out of an archive, has another number."""
    return f"{MADE}{repository.common_dir.stat().st_ino}/"


def move(repository: Repository, before: ProposalRef | None, after: ProposalRef) -> bool:
    """Move a proposal's branch to a commit made here, or begin it (`before` is None); False where it moved meanwhile.

    It is mdmem's own where it was so before.
    """
    moves: list[tuple[str, str | None, str | None]] = [(after.name, after.tip, before.tip if before else None)]
    if before is None or before.is_own:
        moves.append((f"{_made_here(repository)}{after.id}", after.tip, ""))
    return branch_commits.move_refs(repository, moves, scratch=after.id)


def find_proposal(repository: Repository, named: str) -> ProposalRef:
    """The standing proposal that an id, the beginning of one, or the name of its branch means.

    Raises:
        ProposalProblem: `proposal-not-found`, `ambiguous`.
    """
    standing = standing_proposals(repository)
    word = named.strip().removeprefix("refs/heads/").removeprefix("mdmem/proposals/").rpartition("/")[2].casefold()
    refs = [ref for name, ref in standing.items() if word and name.startswith(word)]
    if len(refs) == 1:
        return refs[0]
    if refs:
        names = ", ".join(ref.id for ref in refs)
        raise ProposalProblem("ambiguous", f"{len(refs)} proposals have ids that begin with {word!r}", f"They are {names}.")
    closed = [name for name in branch_commits.list_refs(repository, CLOSED) if word and name.removeprefix(CLOSED).startswith(word)]
    if closed:
        name = closed[0].removeprefix(CLOSED)
        raise ProposalProblem("proposal-not-found", f"{name} is decided and closed", f"To see its changes: git log {closed[0]}")
    raise ProposalProblem("proposal-not-found", f"no proposal {named[:80]!r}", f"To list open proposals: {verb('proposals')}")


def require_movable(repository: Repository, ref: ProposalRef) -> None:
    """Refuse to move a branch under somebody's feet.

    Raises:
        ProposalProblem: `checked-out`: a work tree has it.
    """
    if (folder := branch_commits.checked_out_in(repository, ref.name)) is not None:
        message = f"the branch of {ref.id} is checked out in {folder}"
        raise ProposalProblem("checked-out", message, "Commit to it there, or switch to another branch first.")


def close(repository: Repository, ref: ProposalRef, original: CommitId) -> bool:
    """Take a proposal's branch away, and keep its commits for a while; False where it moved meanwhile."""
    kept = branch_commits.list_refs(repository, f"{CLOSED}{ref.id}").get(f"{CLOSED}{ref.id}")
    moves: list[tuple[str, str | None, str | None]] = [(ref.name, None, ref.tip), (f"{CLOSED}{ref.id}", original, kept)]
    moves += [(f"{_made_here(repository)}{ref.id}", None, ref.tip)] if ref.is_own else []
    return branch_commits.move_refs(repository, moves, scratch=ref.id)


def drop_old(repository: Repository) -> None:
    """Forget closed proposals once their time is over, and what killed processes left."""
    oldest = int(time.time()) - KEPT_DAYS * _DAY_SECONDS
    closed = branch_commits.list_refs(repository, CLOSED)
    times = branch_commits.commit_times(repository, closed.values())
    over = [(name, None, tip) for name, tip in closed.items() if times.get(tip, oldest) < oldest]
    current = {f"{_made_here(repository)}{proposal}" for proposal in standing_proposals(repository)}
    rest = branch_commits.list_refs(repository, branch_commits.SCRATCH, MADE)
    left = [(name, None, commit) for name, commit in rest.items() if name not in current]
    if over or left:
        branch_commits.move_refs(repository, [*over, *left])
