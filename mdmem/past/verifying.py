"""Ask git for the signatures of the trail's commits, and judge by them whose lines may be a user's.

Nobody who searches waits for that: until git was asked, a commit counts as unsigned.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from mdmem.folder import files
from mdmem.model import CommitId, rules
from mdmem.model.trail import TrailCommit
from mdmem.past import trail_update
from mdmem.past.lines import nearest_commits
from mdmem.past.messages import parse_trailers
from mdmem.repo import Repository, first_parent
from mdmem.repo.signatures import (
    KnownSignatures,
    load_signatures,
    read_signers,
    save_signatures,
    signatures,
)
from mdmem.startup.records import replace
from mdmem.workspace import Workspace

_BATCH, _MOST_SECONDS = 250, 1.0
"""Commits that are asked about at once; the longest wait for another process that asks."""


def verify(workspace: Workspace, most: int | None = None) -> bool:
    """Ask git for what is not known yet, unless that is more than `most` commits.

    True if commits of the trail count otherwise now: it ends before them, and is to be brought up
    to HEAD. Raises WorkspaceProblem (`bad-settings`), RepositoryProblem (`git-failed`; `busy`:
    another process asks), StorageProblem, OSError.
    """
    settings, repository = workspace.settings, workspace.repository
    barred = [repository.root, repository.git_dir, repository.common_dir]
    named = Path(settings.signers) if settings.signers else None
    signers = read_signers(repository.folder, named, barred)
    people = {*settings.people, *settings.me, *filter(None, [signers.address])}
    lock, has_cut = workspace.state / files.SIGNATURES_LOCK, False
    with trail_update.updated_trail(workspace) as trail, files.lock(lock, _MOST_SECONDS):
        judged = [signers.digest, settings.verify, str(trail.head), *sorted(people)]
        known = load_signatures(workspace.state)
        if known.judged == judged:
            return False
        if known.judged[:1] != judged[:1]:
            known = replace(known, by_commit={})
        commits = trail.commits_after()
        line = first_parent.line(repository) if settings.verify == "require" and commits else []
        while True:
            unknown = _unknown(known, commits, _beginning(repository, known, line, people))
            some = unknown[:_BATCH] if most is None or len(unknown) <= most else []
            answers = signatures(repository.folder, some, signers)
            now = KnownSignatures(judged[:1], {**known.by_commit, **answers}, known.stating)
            beginning = _beginning(repository, now, line, people)
            if is_done := not _unknown(now, commits, beginning):
                now = replace(now, judged=judged)
            if line:
                persons = _persons(now, people)
                first = next((each for each in beginning if is_done and each in persons), None)
                reached_by = nearest_commits(workspace, trail, first) if first else ()
                stating = (
                    each.commit
                    for each in commits
                    if any(one.reaches(each.number) for one in reached_by)
                    or (each.commit in persons and not _names_agent(each, people))
                )
                now = replace(now, stating=frozenset(stating))
            has_cut |= _keep(workspace, commits, known, now)
            if is_done or not some:
                return has_cut
            known = now


def _persons(known: KnownSignatures, people: Collection[str]) -> Collection[CommitId]:
    """The commits that a person signed."""
    signed = {c: each.by for c, each in known.by_commit.items() if each.state == "signed"}
    persons = {name for name in signed.values() if name and rules.is_person(name, people)}
    return {commit for commit, name in signed.items() if name in persons}


def _beginning(
    repository: Repository,
    known: KnownSignatures,
    line: Sequence[CommitId],
    people: Collection[str],
) -> Sequence[CommitId]:
    """The commits up to the first of a line that a person signed, parents first.

    A person may have signed some of it: whoever merges may make any line the first.
    """
    persons = _persons(known, people)
    first = next((each for each in line if each in persons), None)
    return [name for name, _ in first_parent.commits_reached(repository, first)] if first else line


def _unknown(
    known: KnownSignatures, commits: Sequence[TrailCommit], beginning: Sequence[CommitId]
) -> list[CommitId]:
    """The commits that git is to be asked about, first those on which most depends."""
    claims_first = sorted(commits, key=lambda each: not _may_state(each))
    names = dict.fromkeys([*beginning, *(each.commit for each in claims_first)])
    return [each for each in names if each not in known.by_commit]


def _may_state(commit: TrailCommit) -> bool:
    """True for a commit that calls its lines the user's: all others count as they are."""
    return "Mdmem-Source: user-stated" in commit.message or "Mdmem-Op: " not in commit.message


def _names_agent(commit: TrailCommit, people: Collection[str]) -> bool:
    """True if a person's machine signed for an agent, whom the commit names."""
    actors = map(rules.fold_actor, parse_trailers(commit.message).get("Actor", ()))
    own = (*rules.RESERVED_ACTORS, *people)
    return not all(rules.is_person(actor, own) for actor in actors)


def _keep(
    workspace: Workspace,
    commits: Sequence[TrailCommit],
    known: KnownSignatures,
    now: KnownSignatures,
) -> bool:
    """Keep what is known now; True if the trail was cut before what counts otherwise by that."""
    changed = known.stating ^ now.stating
    names = [each.commit for each in commits if each.commit in changed and _may_state(each)]
    with (
        files.lock(workspace.state / files.TRAIL_LOCK, workspace.settings.lock_timeout),
        trail_update.stored_trail(workspace) as trail,
    ):
        numbers = [each.number for each in map(trail.commit_with_id, names) if each]
        if numbers:
            trail_update.cut(workspace, trail, min(numbers) - 1)
        save_signatures(workspace.state, now)
    return bool(numbers)
