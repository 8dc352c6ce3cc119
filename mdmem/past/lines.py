"""The commits that the trail needs, each with its nearest ones before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mdmem.folder import trust
from mdmem.model import CommitId
from mdmem.model.trail import TrailCommit
from mdmem.past.messages import accepting_author, is_proposed
from mdmem.past.steps import with_past
from mdmem.past.table import Trail
from mdmem.repo import first_parent
from mdmem.repo.first_parent import ChangedFile, CommitChanges
from mdmem.repo.worktree import STATING
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ReadCommit:
    """A commit with its changes against each parent in the trail, by numbers; 0 without parents.

    `git_parents` are those that git knows.
    """

    commit: TrailCommit
    changes: Mapping[int, Sequence[ChangedFile]]
    git_parents: tuple[CommitId, ...]


class Lines:
    """Numbers the commits read, but those that neither change Markdown nor state anything."""

    def __init__(
        self, workspace: Workspace, trail: Trail, dated: Mapping[CommitId, int] | None = None
    ) -> None:
        """`dated`: moments known from what later commits say (`clocks`)."""
        self._repository, self._trail, self._dated = workspace.repository, trail, dated or {}
        self._agents = workspace.agent_authors
        self._stating = workspace.stating_commits()
        self._nearest: dict[CommitId, tuple[int, ...]] = {}
        self._commits: dict[int, TrailCommit] = {}
        self._proposed: set[int] | None = None
        self.count_read = 0

    def read(self, history: Iterable[CommitChanges], head: CommitId) -> Iterator[ReadCommit]:
        """The commits for the trail, always with HEAD; `history` has parents before children."""
        newest = self._trail.newest_commit
        number = newest.number if newest else 0
        for each in history:
            self.count_read += 1
            nearest = [self.nearest(parent) for parent in each.parents]
            parents = self._independent({number for numbers in nearest for number in numbers})
            changes = {
                numbers[0] if numbers else 0: changed
                for numbers, changed in zip(nearest or [()], each.by_parent, strict=True)
                if numbers == () or numbers[0] in parents
            }
            is_needed = (
                len(parents) > 1
                or any(changes.values())
                or any(words in each.commit.message for words in STATING)
            )
            if not is_needed and each.commit.id != head:
                self._nearest[each.commit.id] = parents
                continue
            number += 1
            self._nearest[each.commit.id] = (number,) if is_needed else parents
            self._commits[number] = commit = with_past(
                TrailCommit(
                    number=number,
                    commit=each.commit.id,
                    time=each.commit.time,
                    author=each.commit.author,
                    message=each.commit.message,
                    email=each.commit.email,
                    committed=each.committed,
                    brought=0 if is_proposed(each.commit.message) else None,
                    is_needed=is_needed,
                    by_agent=trust.is_agent_author(
                        f"{each.commit.author} <{each.commit.email}>", *self._agents
                    )
                    or trust.is_forge_squash(each.commit.message, each.committer)
                    or (self._stating is not None and each.commit.id not in self._stating),
                ),
                [self.commit(parent) for parent in parents],
                self._dated.get(each.commit.id),
            )
            kept = {parent: changes.get(parent, ()) for parent in commit.parents} or {
                0: changes.get(0, ())
            }
            yield ReadCommit(commit, kept, each.parents)

    def brought_by(self, merge: TrailCommit) -> list[TrailCommit]:
        """The proposed commits that a merge brings, with its time and author; call it in order."""
        if self._proposed is None:
            self._proposed = {each.number for each in self._trail.proposed_commits()}
        sides = [self.commit(number) for number in merge.parents]
        brought = []
        for commit in [self.commit(number) for number in self._proposed if len(sides) > 1]:
            of_sides = [(side, side.reaches(commit.number)) for side in sides]
            is_met = not all(has for _, has in of_sides) and any(
                has and side.brought is not None for side, has in of_sides
            )
            is_first = not commit.brought or (
                not merge.reaches(commit.brought)
                and self.order(merge.number) < self.order(commit.brought)
            )
            if is_met and is_first:
                brought.append(_brought(commit, merge))
        if merge.brought is not None:
            self._proposed.add(merge.number)
        self._commits |= {each.number: each for each in brought}
        return brought

    def commit(self, number: int) -> TrailCommit:
        if number not in self._commits:
            found = self._trail.commit_numbered(number)
            assert found is not None  # parents come before their children
            self._commits[number] = found
        return self._commits[number]

    def order(self, number: int) -> tuple[int, CommitId]:
        commit = self.commit(number)
        return commit.moment, commit.commit

    def _independent(self, numbers: set[int]) -> tuple[int, ...]:
        if len(numbers) < 2:
            return tuple(numbers)
        commits = [self.commit(number) for number in numbers]
        return tuple(
            each.number
            for each in commits
            if not any(other is not each and other.reaches(each.number) for other in commits)
        )

    def nearest(self, name: CommitId) -> tuple[int, ...]:
        """The nearest commits of the trail to one: itself, or those before it."""
        if name not in self._nearest:
            known = self._trail.commit_with_id(name)
            if known is not None:
                self._nearest[name] = (known.number,) if known.is_needed else known.parents
            else:
                self._walk_back(name)
        return self._nearest[name]

    def _walk_back(self, name: CommitId) -> None:
        numbers = {
            commit.commit: commit.number
            for commit in self._trail.commits_after()
            if commit.is_needed
        }
        for each, parents in first_parent.commits_reached(self._repository, name):
            if each in self._nearest:
                continue
            if each in numbers:
                self._nearest[each] = (numbers[each],)
            else:
                before = {number for parent in parents for number in self._nearest.get(parent, ())}
                self._nearest[each] = self._independent(before)


def _brought(commit: TrailCommit, merge: TrailCommit) -> TrailCommit:
    author, email = accepting_author(merge.message) or (merge.author, merge.email)
    return replace(
        commit,
        brought=merge.number,
        time=merge.time,
        committed=merge.committed,
        moment=merge.moment,
        author=author,
        email=email,
    )


def nearest_commits(workspace: Workspace, trail: Trail, name: CommitId) -> tuple[TrailCommit, ...]:
    lines = Lines(workspace, trail)
    return tuple(lines.commit(number) for number in lines.nearest(name))
