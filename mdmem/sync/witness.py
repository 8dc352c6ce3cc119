"""Hold this machine's clock against commits that come from others (`past/clocks`)."""

from __future__ import annotations

from collections.abc import Callable

from mdmem.changes.commit_notes import commit_message
from mdmem.changes.recover import lock_workspace, recover
from mdmem.health import dating
from mdmem.model import CommitId
from mdmem.past import clocks, fresh_trail
from mdmem.past.lines import nearest_commits
from mdmem.repo import commit_seconds
from mdmem.workspace import Say, Workspace
from mdmem.workspace.sync_state import keep_arrival

_TOLERATED_SECONDS = 3600


def witness(workspace: Workspace, before: CommitId | None, after: CommitId, say: Say) -> None:
    """Say whose clocks were ahead of this one's in what was landed on top of a commit.

    The next commit that mdmem makes here says so too, unless this clock is in doubt itself.
    """
    if before is None:
        return
    repository, now = workspace.repository, workspace.now().timestamp()
    output = repository.git("log", "-z", "--format=%ct %at%n%B", after, f"^{before}")
    dates = (row.partition(b"\n")[0].split(b" ") for row in output.split(b"\0")[:-1])
    latest = max((min(map(commit_seconds, each)) for each in dates), default=0)
    if latest <= now + _TOLERATED_SECONDS and clocks.ARRIVED.encode() not in output:
        return
    with fresh_trail(workspace, say) as trail:
        had, came = (nearest_commits(workspace, trail, each) for each in (before, after))
        commits = trail.commits_after()
    if len(had) != 1 or len(came) != 1:
        return
    known = [each for each in commits if had[0].reaches(each.number)]
    new = [
        each for each in commits if came[0].reaches(each.number) and not had[0].reaches(each.number)
    ]
    for line in dating.dated_back(commits, {each.commit for each in new}):
        say(line)
    last = max(new, key=lambda each: each.moment, default=came[0])
    if last.moment <= now + _TOLERATED_SECONDS:
        return
    say(dating.ahead(last, now))
    newest = max(known, key=lambda each: each.moment)
    if newest.moment > now:
        say(dating.behind(newest, now))
        return
    keep_arrival(workspace, clocks.trailer(had[0].commit, came[0].commit, now))


def date_back(workspace: Workspace, is_right: Callable[[str], bool], say: Say) -> str:
    """Date back what HEAD has ahead of this clock, if a person says that this clock is right.

    `is_right` is asked with what is ahead. Returns a line on what was done; empty for nothing.
    Raises RepositoryProblem, WorkspaceProblem (`not-allowed`).
    """
    workspace.require_person(workspace.actor, "date back commits")
    now = workspace.now().timestamp()
    with fresh_trail(workspace, say) as trail:
        commits = trail.commits_after()
    if not commits or commits[-1].moment <= now + clocks.DAY_SECONDS:
        return ""
    ahead, newest = dating.ahead(commits[-1], now), clocks.settle(commits).newest
    by_id = {each.commit: each for each in commits if each.is_needed}
    names = workspace.repository.git("rev-list", "--first-parent", "HEAD").decode().split()
    line = [by_id[CommitId(name)] for name in names if name in by_id]
    before = next((each for each in line if newest[each.number] <= now), None)
    count = sum(before is None or not before.reaches(each.number) for each in commits)
    if before is None or count > clocks.MOST_BETWEEN:
        return f"{ahead}, and so are {count} commits: too many to date them back"
    if not is_right(ahead):
        return ""
    trailer = clocks.trailer(before.commit, line[0].commit, now)
    with lock_workspace(workspace, say):
        recover(workspace, say)
        commit = commit_message(workspace, f"doctor: date back what was ahead\n\n{trailer}\n")
    return f"dated back what was ahead of this machine's clock (commit {commit[:10]})"
