"""The commits whose statements a revert ends, or a reverted revert restores. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from mdmem.history.file_changes import EarlierTrail
from mdmem.model import CommitId
from mdmem.model.trail import Mark, StatedRevert, TrailCommit
from mdmem.startup.records import dataclass

_SHA1_DIGITS = 40


@dataclass(frozen=True, slots=True)
class StepReverts:
    """The reverts of one step, and their effects.

    `stated` name `reverted` commits and, if `names_others`, some that HEAD does not reach. After
    the step all `taken_back` commits state nothing: the marks of the `ended` ones end, `restored`
    marks hold again.
    """

    stated: tuple[StatedRevert, ...] = ()
    reverted: tuple[TrailCommit, ...] = ()
    names_others: bool = False
    taken_back: frozenset[CommitId] = frozenset()
    ended: tuple[CommitId, ...] = ()
    restored: tuple[Mark, ...] = ()


def taken_back(reverts: Collection[StatedRevert]) -> frozenset[CommitId]:
    """The commits that are taken back by a revert that is not taken back itself."""
    commits: frozenset[CommitId] = frozenset()
    # Each round settles the reverts of those that the one before has settled.
    for _ in range(len(reverts) + 1):
        before, commits = (
            commits,
            frozenset(revert.reverted for revert in reverts if revert.commit not in commits),
        )
        if commits == before:
            break
    return commits


def read_reverts(
    commit: CommitId,
    named: Sequence[CommitId],
    trail: EarlierTrail,
    brought_by: Callable[[CommitId], Collection[CommitId]],
) -> StepReverts:
    """Work out the effects of a step's reverts; the ids `named` may be short.

    `brought_by` gives the commits of a merge, which its revert takes back along with it.
    """
    if not named:
        return StepReverts()
    earlier = trail.reverts()
    stating = {revert.commit for revert in earlier}
    stated: list[StatedRevert] = []
    reverted: dict[int, TrailCommit] = {}
    names_others = False
    for name in (_full_id(shortened, trail) for shortened in named):
        known = trail.commit_with_id(name)
        names_others |= known is None
        brought = (
            [each for each in brought_by(name) if each != name]
            if known is None or known.is_merge
            else []
        )
        for each in filter(None, (known, *map(trail.commit_with_id, brought))):
            reverted[each.number] = each
        more = (each for each in brought if each in stating or trail.marks_stated_by(each))
        stated += (StatedRevert(commit, each) for each in (name, *more))
    before, after = taken_back(earlier), taken_back((*earlier, *stated))
    return StepReverts(
        stated=tuple(stated),
        reverted=tuple(reverted[number] for number in sorted(reverted)),
        names_others=names_others,
        taken_back=after,
        ended=tuple(sorted(after - before)),
        restored=tuple(_restored_marks(before - after, trail)),
    )


def _full_id(commit: CommitId, trail: EarlierTrail) -> CommitId:
    if len(commit) >= _SHA1_DIGITS:
        return commit
    known = trail.commit_with_id(commit)
    return known.commit if known else trail.stating_commit(commit) or commit


def _restored_marks(commits: Collection[CommitId], trail: EarlierTrail) -> Iterator[Mark]:
    """The last marks of commits that are no longer taken back, in their order."""
    marks_of = {commit: marks for commit in commits if (marks := trail.marks_stated_by(commit))}
    for number in sorted({marks[0].begun for marks in marks_of.values()}):
        for commit in trail.commits_with_marks_from(number):
            marks = marks_of.get(commit, ())
            if marks and marks[0].begun == number:
                newest_end = max(mark.ended or 0 for mark in marks)
                yield from (mark for mark in marks if mark.ended == newest_end)
