"""The commits whose statements a revert ends, and those whose statements hold again because a revert is taken back itself. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from mdmem.history.file_changes import EarlierTrail
from mdmem.model import CommitId
from mdmem.model.trail import MainlineCommit, Mark, StatedRevert
from mdmem.startup.records import dataclass

_SHA1_DIGITS = 40


@dataclass(frozen=True, slots=True)
class StepReverts:
    """The reverts of one step, and their effects.

    Those that its commits `stated` name `mainline` commits and, if `names_side_commits`, others. All commits that are `taken_back` after the
    step state nothing any more: the marks of the `ended` ones end here. The `restored` marks hold again.
    """

    stated: tuple[StatedRevert, ...] = ()
    mainline: tuple[MainlineCommit, ...] = ()
    names_side_commits: bool = False
    taken_back: frozenset[CommitId] = frozenset()
    ended: tuple[CommitId, ...] = ()
    restored: tuple[Mark, ...] = ()


def taken_back(reverts: Collection[StatedRevert]) -> frozenset[CommitId]:
    """The commits that are taken back by a revert that is not taken back itself."""
    commits: frozenset[CommitId] = frozenset()
    for _ in range(len(reverts) + 1):  # each round settles the reverts of those that the one before has settled
        before, commits = commits, frozenset(revert.reverted for revert in reverts if revert.commit not in commits)
        if commits == before:
            break
    return commits


def read_reverts(
    named: Mapping[CommitId, Sequence[CommitId]], trail: EarlierTrail, brought_by: Callable[[CommitId], Collection[CommitId]]
) -> StepReverts:
    """Work out the effects of a step's reverts.

    Args:
        named: the commits of the step, each with those that it reverts; their ids may be shortened.
        trail: up to the commit before.
        brought_by: gives the commits that a merge brought in, and that its revert takes back along with it.
    """
    if len(named) == 1 and not any(named.values()):
        return StepReverts()
    earlier = trail.reverts()
    if not earlier and not any(named.values()):
        return StepReverts()
    stating = {*named, *(revert.commit for revert in earlier)}
    stated: list[StatedRevert] = []
    mainline: dict[int, MainlineCommit] = {}
    names_side_commits = False
    for commit, shortened in ((commit, each) for commit, ids in named.items() for each in ids):
        reverted = _full_id(shortened, named, trail)
        on_mainline = trail.commit_with_id(reverted)
        if on_mainline:
            mainline[on_mainline.number] = on_mainline
        brought = brought_by(reverted) if on_mainline is None or on_mainline.merge else ()
        names_side_commits |= on_mainline is None
        more = (each for each in brought if each != reverted and (each in stating or trail.marks_stated_by(each)))
        stated += (StatedRevert(commit, each) for each in (reverted, *more))
    before, after = taken_back(earlier), taken_back((*earlier, *stated))
    return StepReverts(
        stated=tuple(stated),
        mainline=tuple(mainline[number] for number in sorted(mainline)),
        names_side_commits=names_side_commits,
        taken_back=after,
        ended=tuple(sorted(after - before)),
        restored=tuple(_restored_marks(before - after, trail)),
    )


def _full_id(commit: CommitId, named: Collection[CommitId], trail: EarlierTrail) -> CommitId:
    """The whole id of a commit that a message names, as far as it is one of this step or of the trail."""
    if len(commit) >= _SHA1_DIGITS:
        return commit
    on_mainline = trail.commit_with_id(commit)
    in_step = [each for each in named if each.startswith(commit)]
    return on_mainline.commit if on_mainline else trail.stating_commit(commit) or next(iter(in_step), commit)


def _restored_marks(commits: Collection[CommitId], trail: EarlierTrail) -> Iterator[Mark]:
    """The marks of commits that are taken back no more, as they were when they ended, in the order in which they were set."""
    marks_of = {commit: marks for commit in commits if (marks := trail.marks_stated_by(commit))}
    for number in sorted({marks[0].begun for marks in marks_of.values()}):
        for commit in trail.commits_with_marks_from(number):
            marks = marks_of.get(commit, ())
            if marks and marks[0].begun == number:
                newest_end = max(mark.ended or 0 for mark in marks)
                yield from (mark for mark in marks if mark.ended == newest_end)
