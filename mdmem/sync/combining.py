"""Compare the two sides, and merge them into the commit that both are to have.

Proposals are exchanged, so that they can be decided on any machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from mdmem import repo
from mdmem.changes.commit_notes import with_arrivals
from mdmem.folder.layout import WORKSPACE_MARKS, is_marked
from mdmem.folder.machine import machine_name, safe_name
from mdmem.merge import again, setup
from mdmem.merge.again import merge_trailers
from mdmem.model import CommitId, FactId, FilePath, Op
from mdmem.model.errors import (
    RefusedChange,
    RepositoryProblem,
    SectionProblem,
    SyncProblem,
    number_of,
    shell_word,
    verb,
)
from mdmem.model.pipelines import SetAside
from mdmem.model.proposals import MOST_PARTS, MOST_PROPOSALS, PartName
from mdmem.past import people_only
from mdmem.proposals import branches, listings, rewriting
from mdmem.proposals.branches import ProposalRef
from mdmem.proposals.listings import Proposal
from mdmem.purge.purging import PURGE_TRAILER
from mdmem.repo import Repository, branch_commits
from mdmem.repo.discovery import find_removal
from mdmem.repo.first_parent import reaches
from mdmem.repo.merge_trees import merge_trees
from mdmem.repo.remotes import DEVICES, Remote
from mdmem.review import deciding
from mdmem.startup.records import dataclass, replace
from mdmem.sync.outgoing import (
    foreign_paths,
    require_memory_alone,
    require_no_conflict,
    require_no_secrets,
)
from mdmem.sync.purged_line import (
    brings_purged,
    is_purged_text_back,
    make_again,
    purged_words,
)
from mdmem.workspace import Say, Workspace, open_at, permission
from mdmem.workspace.sync_state import SyncState

_DEEPENINGS, _FIRST_DEPTH = 5, 50
_MOST_SQUASHES = 50
_SCRATCH_NAME = "sync-mark"


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that was made, and the commit that ends it: itself, or one after it."""

    commit: CommitId
    merge: CommitId
    contradicts: tuple[tuple[FactId, FactId], ...] = ()
    kept: tuple[FactId, ...] = ()
    kept_files: tuple[FilePath, ...] = ()
    set_aside: tuple[SetAside, ...] = ()


@dataclass(frozen=True, slots=True)
class Combined:
    """The commit that both sides are to have, and the merges that were made for it.

    `taken_in` are the devices whose branches are in it now, `barred` says of others that an agent
    changed there what only people may change. `mark` was removed, and is kept: the
    file that makes the folder a workspace.
    """

    commit: CommitId
    merges: tuple[Merged, ...] = ()
    taken_in: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()
    mark: FilePath | None = None

    @property
    def kept_files(self) -> tuple[FilePath, ...]:
        of_merges = (path for merge in self.merges for path in merge.kept_files)
        return (*of_merges, *([self.mark] if self.mark else []))


def combine(
    workspace: Workspace,
    remote: Remote,
    state: SyncState,
    theirs: CommitId | None,
    ours: CommitId | None,
    all_files: bool = False,
    join: bool = False,
    sets_up: bool = True,
    is_protected: bool = False,
    takes_devices: bool = True,
) -> Combined | None:
    """The commit to land and to push; None where neither side has any.

    `all_files`: other files than memory may change too. `join`: the two sides may have begun
    separately. `sets_up`: see that git merges by section. `is_protected`: the branch takes pull
    requests alone, perhaps squashed.
    Raises: SyncProblem (`remote-rewound`, `remote-purged`, `purge-unpushed`, `remote-unrelated`,
    `sync-foreign`, `sync-conflict`), RepositoryProblem (`git-too-old`).
    """
    repository = workspace.repository.at_root()
    _require_forward(workspace, remote, state, theirs, ours)
    if is_purged_text_back(repository, theirs, ours):
        raise SyncProblem(
            "purge-unpushed",
            f"text that was purged here has come to {remote.name} again, from an old clone",
            f"To purge it there too: {verb('sync', 'purge')}",
        )
    if not all_files:
        require_memory_alone(workspace, theirs, ours)
    if theirs is None or ours is None:
        commit = theirs or ours
        return Combined(commit=commit) if commit else None
    if reaches(repository, ours, theirs):
        combined = Combined(commit=ours)
    elif reaches(repository, theirs, ours):
        combined = Combined(commit=theirs)
    else:
        if not join:
            _require_common_past(repository, remote, theirs, ours)
        if sets_up:
            set_up(workspace, again=True)
        if is_protected:
            theirs = _with_squashed(workspace, remote, theirs, ours)
        merged = _merge(workspace, remote, theirs, ours, machine_name())
        combined = Combined(commit=merged.commit, merges=(merged,))
    if takes_devices:
        combined = _with_devices(workspace, remote, combined, all_files, sets_up)
    return _with_mark(workspace, combined, ours)


def _with_squashed(
    workspace: Workspace, remote: Remote, theirs: CommitId, ours: CommitId
) -> CommitId:
    """Their commit, joined with what was sent from here if one of theirs has all of that.

    So what changed here since is told from what a squash of it brought.
    """
    repository, name = workspace.repository.at_root(), machine_name()
    for sent in remote.devices().values():
        if not reaches(repository, ours, sent) or reaches(repository, theirs, sent):
            continue
        line = ("rev-list", "--first-parent", "--reverse", theirs, f"^{sent}")
        for each in repository.git(*line).decode().split()[-_MOST_SQUASHES:]:
            tree = repository.git("rev-parse", f"{each}^{{tree}}").decode().strip()
            if merge_trees(repository, CommitId(each), sent, name).tree == tree:
                message = f"sync: meet {each[:10]}\n\nMdmem-Op: {Op.SYNC}\nMdmem-Actor: sync\n"
                date = _date(workspace)
                tree = f"{theirs}^{{tree}}"
                theirs = branch_commits.commit_tree(repository, tree, [theirs, sent], message, date)
                break
    return theirs


def _date(workspace: Workspace) -> dict[str, str]:
    return branch_commits.date_variables(repo.raw_date(workspace.now()), workspace.identity())


def _with_mark(workspace: Workspace, combined: Combined, ours: CommitId) -> Combined:
    """Put the last mark of the workspace back, if the other side removed it and did not rename it.

    The commit depends on nothing but the one before it, so that each clone makes the same.
    """
    repository, prefix = workspace.repository.at_root(), workspace.repository.prefix
    marks = [FilePath(f"{prefix}{name}") for name in WORKSPACE_MARKS]
    tip = combined.commit
    if tip == ours or any(_has(repository, tip, marks)) or not any(_has(repository, ours, marks)):
        return combined
    removal = find_removal(repository, tip, marks)
    if removal is None:
        return combined
    removed_by, (mark, *_) = removal
    row = repository.git("ls-tree", "-z", f"{removed_by}^", "--", f":(literal){mark}")
    mode, _, blob = row.partition(b"\t")[0].decode().split()
    (before,) = branch_commits.commits_not_in(repository, [tip], CommitId(f"{tip}^@")).values()
    trailers = (f"Mdmem-Reverts: {removed_by}", f"Mdmem-Kept-File: {' '.join(mark.split())}")
    lines = (f"sync: keep {mark}", "", f"Mdmem-Op: {Op.SYNC}", "Mdmem-Actor: sync", *trailers, "")
    commit = branch_commits.NewCommit(
        message="\n".join(lines).encode("utf-8", "surrogateescape"),
        author=before.author,
        committer=before.committer,
        files={os.fsencode(mark): branch_commits.StoredFile(mode, blob)},
        parent=tip,
    )
    kept = branch_commits.make_commits(repository, _SCRATCH_NAME, [commit])
    repository.run("update-ref", "-d", f"{branch_commits.SCRATCH}{_SCRATCH_NAME}")
    return replace(combined, commit=kept, mark=mark)


def _has(repository: Repository, commit: CommitId, paths: Sequence[FilePath]) -> list[bool]:
    return [data is not None for data in repository.read(commit, paths).values()]


def _with_devices(
    workspace: Workspace, remote: Remote, combined: Combined, all_files: bool, sets_up: bool
) -> Combined:
    """Merge the branches of devices that cannot merge themselves, in the order of their names."""
    repository = workspace.repository.at_root()
    devices = remote.devices()
    words = purged_words(repository, combined.commit) if devices else ()
    for branch, tip in devices.items():
        name = safe_name(branch)
        base = branch_commits.merge_base(repository, combined.commit, tip)
        if base in (tip, None):  # it is in already, or has nothing to do with this memory
            continue
        if place := _barred_place(workspace, tip, combined.commit):
            said = f"{DEVICES}{name} was not merged: only people may change {place}"
            combined = replace(combined, barred=(*combined.barred, said))
            continue
        if not all_files:
            try:
                require_memory_alone(workspace, tip, combined.commit)
            except RepositoryProblem as problem:
                raise RepositoryProblem(
                    problem.code,
                    f"branch {branch} cannot be read: {problem.message}",
                    "To delete it there:"
                    f" git push {shell_word(remote.name)} --delete {shell_word(DEVICES + branch)}",
                ) from problem
        taken_in = (*combined.taken_in, name)
        if words and brings_purged(repository, tip, combined.commit, words):
            commit = make_again(workspace, combined.commit, tip, combined.commit, lambda _: None)
            combined = replace(combined, commit=commit, taken_in=taken_in)
            continue
        if sets_up:
            set_up(workspace, again=True)
        merged = _merge(workspace, remote, combined.commit, tip, name)
        merges = (*combined.merges, merged)
        combined = replace(combined, commit=merged.commit, merges=merges, taken_in=taken_in)
    return combined


def _barred_place(workspace: Workspace, tip: CommitId, base: CommitId) -> str | None:
    """A place that agents changed on the way to a commit, though only people may change it."""
    rules, repository = permission.rules_of(workspace), workspace.repository
    commits = branch_commits.commits_not_in(repository, [tip], base) if rules else {}
    of_agents = [
        (each.id, each.parents)
        for each in commits.values()
        if people_only.agent_of(each.message, workspace.settings.people)
    ]
    changes = people_only.changes_of(repository, rules, of_agents) if rules else ()
    return next((place.name for _, places in changes for place in places), None)


def is_purge_unsent(
    repository: Repository, remote: Remote, seen: CommitId | None, ours: CommitId | None
) -> bool:
    """True if text was purged here that the remote still has; nothing is fetched."""
    if seen is None or ours is None or reaches(repository, ours, seen):
        return False
    tracked = repository.commit_named(remote.tracking_ref)
    if tracked and reaches(repository, ours, tracked):  # the purge came from there
        return False
    if not _purges(repository, ours, seen if repository.has(seen) else None):
        return False
    theirs = remote.tip()
    return theirs is not None and not reaches(repository, ours, theirs)


def is_purged_there(
    repository: Repository, seen: CommitId | None, theirs: CommitId | None, ours: CommitId | None
) -> bool:
    return (
        seen is not None
        and theirs is not None
        and ours is not None
        and not reaches(repository, theirs, seen)
        and reaches(repository, ours, seen)
        and (_purges(repository, theirs, ours) or is_purged_text_back(repository, ours, theirs))
    )


def _require_forward(
    workspace: Workspace,
    remote: Remote,
    state: SyncState,
    theirs: CommitId | None,
    ours: CommitId | None,
) -> None:
    """Refuse a remote that lacks what it had, unless a person has left that here too."""
    repository, seen = workspace.repository, state.seen
    if seen is None or (theirs and reaches(repository, theirs, seen)):
        return
    if ours is None or not reaches(repository, ours, seen):
        return
    if is_purged_there(repository, seen, theirs, ours):
        raise SyncProblem(
            "remote-purged",
            f"another machine purged text from {remote.name}",
            f"To purge it here too: {verb('sync', 'purge')}",
        )
    at = f", present at {workspace.local_time(int(state.last)):%H:%M}," if state.last else ""
    name, branch = shell_word(remote.name), shell_word(remote.branch)
    if theirs is None:
        again = f"git push {name} {shell_word(f'HEAD:refs/heads/{remote.branch}')}"
        raise SyncProblem(
            "remote-rewound",
            f"{remote.name} no longer has the branch {remote.branch}: {seen[:8]}{at} is missing",
            f"To put it back: {repository.command_line(again)}",
        )
    push = repository.command_line(f"git push --force-with-lease {name} {branch}")
    reset = repository.command_line(
        f"git reset --keep {shell_word(f'{remote.name}/{remote.branch}')}"
    )
    raise SyncProblem(
        "remote-rewound",
        f"{remote.name}/{remote.branch} was rewound: {seen[:8]}{at} is missing",
        f"To put it back: {push}. To remove it here too: {reset}",
    )


def is_reached(repository: Repository, commit: CommitId, *tips: CommitId) -> bool:
    return any(reaches(repository, tip, commit) for tip in tips)


def _purges(repository: Repository, tip: CommitId, without: CommitId | None) -> bool:
    command = ("log", "-1", "--format=%H", f"--grep=^{PURGE_TRAILER}$", "--end-of-options", tip)
    return bool(repository.git(*command, *([f"^{without}"] if without else [])))


def _require_common_past(
    repository: Repository, remote: Remote, theirs: CommitId, ours: CommitId
) -> None:
    depth, tries = _FIRST_DEPTH, _DEEPENINGS if repository.is_shallow() else 0
    while branch_commits.merge_base(repository, theirs, ours) is None:
        if tries == 0:
            raise SyncProblem(
                "remote-unrelated",
                f"{remote.name}/{remote.branch} and this branch have no commit in common",
                f"To merge two memories that were created separately: {verb('sync', 'join')}",
            )
        remote.fetch(f"--deepen={depth}")
        depth, tries = 2 * depth, tries - 1


def _merge(
    workspace: Workspace, remote: Remote, theirs: CommitId, ours: CommitId, name: str
) -> Merged:
    repository = workspace.repository.at_root()
    is_joined = branch_commits.merge_base(repository, theirs, ours) is None
    merged = merge_trees(repository, theirs, ours, name, unrelated=is_joined)
    if merged.conflicts:
        require_no_conflict(workspace, (theirs, ours), merged.conflicts)

    def text_of(path: FilePath) -> bytes | None:
        return repository.blobs([f"{merged.tree}:{path}"])[0]

    of_files = merge_trailers(
        repository,
        again.files_of_both(repository, theirs, ours),
        text_of,
        workspace.environment,
    )
    of_moved = again.trailers_of_moved(repository, theirs, ours, text_of)
    of_facts = tuple(dict.fromkeys((*of_files, *of_moved)))
    trailers = [
        f"Mdmem-Op: {Op.SYNC}",
        "Mdmem-Actor: sync",
        *of_facts,
        *(f"Mdmem-Kept-File: {' '.join(path.split())}" for path in merged.kept_files),
        *(f"Mdmem-Set-Aside: {' '.join(e.path.split())} {e.blob}" for e in merged.set_aside),
    ]
    message = "\n".join([f"sync: merge {name} into {remote.branch}", "", *trailers, ""])
    message = with_arrivals(workspace, message)
    date = _date(workspace)
    tree = merged.with_ours or merged.tree
    commit = merge = branch_commits.commit_tree(repository, tree, [theirs, ours], message, date)
    if merged.with_ours:
        names = ", ".join(each.path for each in merged.set_aside)
        message = "\n".join([f"sync: take {names} from {remote.name}", "", *trailers[:2], ""])
        commit = branch_commits.commit_tree(repository, merged.tree, [merge], message, date)
    words = [trailer.split() for trailer in of_facts]
    return Merged(
        commit=commit,
        merge=merge,
        contradicts=tuple(
            (FactId(facts[0]), FactId(facts[1]))
            for name, *facts in words
            if name == "Mdmem-Contradicts:"
        ),
        kept=tuple(FactId(facts[0]) for name, *facts in words if name == "Mdmem-Kept:"),
        kept_files=merged.kept_files,
        set_aside=merged.set_aside,
    )


def set_up(workspace: Workspace, again: bool = False) -> None:
    """Have git merge memory by section here, as `init` does; `again`: see whether it still does."""
    if again or setup.driver_command(workspace.repository) is None:
        repository = workspace.repository.at_root()
        marks = {path.rpartition("/") for path in repository.tracked()}
        roots = {repository.root / folder for folder, _, name in marks if name in WORKSPACE_MARKS}
        for root in {workspace.root, *filter(is_marked, roots)}:
            setup.install(
                workspace if root == workspace.root else open_at(root, workspace.environment),
                sys.executable,
            )


# Proposals

Tips = dict[str, CommitId]
"""Commits by the full names of branches."""


def exchange(
    workspace: Workspace, remote: Remote, head: CommitId, seen: Tips, say: Say
) -> Tips | None:
    """Bring the proposals of both sides together; None where somebody else was faster.

    `seen`: the commits that both had last; `head`: the commit of memory that both have now. One
    that is decided is deleted on both sides, and one that moved on both is merged by its parts.

    Returns: what both have now. Raises SyncProblem (as `Remote.fetch`).
    """
    there = remote.proposals()
    devices = {f"refs/heads/{DEVICES}{name}": tip for name, tip in remote.devices().items()}
    if not (there or devices or branches.open_proposals(workspace)):
        return {}
    work = _Exchange(workspace, head, seen, there, say)
    for name in sorted({*work.local, *work.there}):
        try:
            work.bring(name)
        except RepositoryProblem as problem:
            if problem.code != "git-failed":
                raise
            say(f"proposal {name.rpartition('/')[2]} is not synced: {problem.message}")
    work.close_decided()
    # What such a branch brought is in memory by now, without that text.
    wanted = work.wanted | dict.fromkeys(
        name for name, tip in devices.items() if work.is_purged(tip) and work.is_related(tip)
    )
    updates = {
        name: (
            tip,
            None if tip and (old is None or reaches(workspace.repository, tip, old)) else old,
        )
        for name, tip in wanted.items()
        if tip != (old := (there | devices).get(name))
    }
    try:
        is_done = not work.is_late and (not updates or remote.update(updates))
    except SyncProblem as problem:
        if problem.code != "remote-refused":
            raise
        say(f"proposals stay where they are: {problem.message}")
        return seen
    if not is_done:
        return None
    kept = {name: tip for name, tip in seen.items() if name in work.local or name in there}
    return {name: tip for name, tip in (kept | wanted).items() if tip}


class _Exchange:
    """The proposals of both sides, and in `wanted` the commits that both are to have (None: none).

    What is not in `wanted` stays as it is on both sides.
    """

    def __init__(
        self, workspace: Workspace, head: CommitId, seen: Tips, there: Tips, say: Say
    ) -> None:
        self._workspace, self._head, self._seen, self._say = workspace, head, seen, say
        self._repository = workspace.repository
        self._words = purged_words(self._repository, head)
        refs = (branches.parse_ref(name, tip) for name, tip in there.items())
        self.wanted: dict[str, CommitId | None] = {}
        self.is_late = False
        self.there = {ref.name: self._without_purged(ref) for ref in refs if ref}
        self.local = {
            ref.name: self._without_purged(ref, is_here=True)
            for ref in branches.open_proposals(self._workspace).values()
        }
        self._decided: list[Proposal] = []
        self._read = self._read_all()

    def is_purged(self, tip: CommitId) -> bool:
        return bool(self._words) and brings_purged(self._repository, tip, self._head, self._words)

    def is_related(self, tip: CommitId) -> bool:
        return branch_commits.merge_base(self._repository, tip, self._head) is not None

    def _without_purged(self, ref: ProposalRef, is_here: bool = False) -> ProposalRef:
        if not self.is_purged(ref.tip):
            return ref
        tip = make_again(self._workspace, self._head, ref.tip, self._head, self._say)
        after = replace(ref, tip=tip)
        if is_here and not branches.move(self._workspace, ref, after):
            self.is_late = True
        return after

    def _read_all(self) -> dict[tuple[str, CommitId], Proposal]:
        """The proposals of both sides, and as both had them; not those that are too long."""
        refs = [ref for ref in (*self.local.values(), *self.there.values()) if self._is_short(ref)]
        refs += [
            replace(ref, tip=seen)
            for ref in self.local.values()
            if (seen := self._seen.get(ref.name)) and self._repository.has(seen)
        ]
        distinct = list({(ref.name, ref.tip): ref for ref in reversed(refs)}.values())
        read, _ = branches.read_each(
            distinct, lambda some: listings.read_proposals(self._workspace, some)
        )
        return {(each.ref.name, each.ref.tip): each for each in read}

    def _is_short(self, ref: ProposalRef) -> bool:
        if ref.tip == self._seen.get(ref.name):
            return True
        command = ("rev-list", "--count", f"--max-count={MOST_PARTS + 1}", ref.tip, "--not", "HEAD")
        is_short = int(self._repository.git(*command)) <= MOST_PARTS
        if not is_short:
            self._say(f"proposal {ref.id} is not synced: more than {MOST_PARTS:,} commits")
        return is_short

    def bring(self, name: str) -> None:
        refs = [side[name] for side in (self.local, self.there) if name in side]
        read = [each for ref in refs if (each := self._read.get((name, ref.tip)))]
        if len(read) < len(refs):
            return
        ours = read[0] if name in self.local else None
        theirs = read[-1] if name in self.there else None
        seen = self._seen.get(name)
        if all(map(self._is_decided, read)):
            self._decided += [ours] if ours else []
            self.wanted[name] = None
        elif ours is None or theirs is None:
            self._send(ours) if ours else self._take(None, read[0])
        elif ours.ref.tip == theirs.ref.tip:
            self.wanted[name] = ours.ref.tip
        elif seen == theirs.ref.tip or self._reaches(ours, theirs):
            self._send(ours)
        elif not ours.ref.is_own and (seen == ours.ref.tip or self._reaches(theirs, ours)):
            self._take(ours, theirs)
        else:
            self._merge(ours, theirs)

    def _reaches(self, one: Proposal, other: Proposal) -> bool:
        return reaches(self._repository, one.ref.tip, other.ref.tip)

    def _is_decided(self, proposal: Proposal) -> bool:
        """True if memory has all of it, or says of each part what became of it."""
        return deciding.is_decided(self._workspace, proposal) and (
            not proposal.branch.commits
            or (bool(proposal.view.parts) and not self._foreign(proposal))
        )

    def close_decided(self) -> None:
        if self._decided:
            deciding.settle(self._workspace, self._decided)

    def _foreign(self, proposal: Proposal) -> list[str]:
        return foreign_paths(self._workspace, proposal.ref.tip, self._head)

    def _may_move(self, proposal: Proposal) -> bool:
        if paths := self._foreign(proposal):
            files = number_of(len(paths), "file")
            self._say(
                f"proposal {proposal.ref.id} is not synced: it changes {files} outside memory"
            )
        return not paths

    def _send(self, ours: Proposal) -> None:
        """Send a proposal, unless the remote's memory lacks its base."""
        base = ours.view.base
        is_there = base is None or reaches(self._repository, self._head, base)
        if not is_there or not self._may_move(ours):
            return
        try:
            require_no_secrets(self._workspace, self._head, ours.ref.tip)
        except RefusedChange as problem:
            self._say(f"proposal {ours.ref.id} is not synced: {problem.message}")
            return
        self.wanted[ours.ref.name] = ours.ref.tip

    def _take(self, ours: Proposal | None, theirs: Proposal) -> None:
        if ours is None and len(self.local) >= MOST_PROPOSALS:
            self._say(f"proposal {theirs.ref.id} is not synced: {MOST_PROPOSALS} are open here")
        elif self._may_move(theirs) and (ours is None or self._is_movable(ours)):
            before, after = ours.ref if ours else None, theirs.ref
            if branches.adopt(self._workspace, before, after):
                self.local[after.name] = after
                self.wanted[after.name] = after.tip
            elif self._repository.commit_named(after.name) != (before.tip if before else None):
                self.is_late = True
            else:
                self._say(f"proposal {after.id} is not synced: git cannot name a branch so")

    def _is_movable(self, ours: Proposal) -> bool:
        is_checked_out = branch_commits.checked_out_in(self._repository, ours.ref.name) is not None
        if is_checked_out:
            self._say(f"proposal {ours.ref.id} is not synced: its branch is checked out")
        return not is_checked_out

    def _merge(self, ours: Proposal, theirs: Proposal) -> None:
        """Keep the parts that both have, and those that one has added.

        A proposal that was made here stays so, unless the other side has added to it.
        """
        ref = ours.ref
        base = self._read.get((ref.name, self._seen.get(ref.name, CommitId(""))))
        old = _waiting(base) if base else set()
        mine, others = _waiting(ours), _waiting(theirs)
        names = (mine & others) | ((mine | others) - old)
        is_this_alone = not (ours.branch.shared_with or theirs.branch.shared_with)
        is_ours = ref.is_own and names <= mine
        if names == others and is_this_alone and not is_ours:
            self._take(ours, theirs)
        elif is_this_alone and names == {part.name for part in ours.parts}:
            self._send(ours)
        elif self._may_move(theirs) and self._is_movable(ours):
            tip = self._head
            try:
                for proposal, kept in ((ours, names & mine), (theirs, names - mine)):
                    parts = [part for part in proposal.parts if part.name in kept]
                    tip = rewriting.rebuild(self._workspace, proposal, parts, tip) or tip
            except SectionProblem as problem:
                self._say(f"proposal {ref.id} is not synced: {problem.message}")
                return
            merged = replace(ref, tip=tip)
            move = branches.move if is_ours else branches.adopt
            if move(self._workspace, ref, merged):
                self._send(replace(ours, branch=replace(ours.branch, ref=merged)))
            else:
                self.is_late = True


def _waiting(proposal: Proposal) -> set[PartName]:
    return {part.name for part in proposal.parts if part.view.state.waits}
