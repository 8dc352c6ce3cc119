"""Commits with clocks that were wrong, in words for people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from mdmem.model import CommitId
from mdmem.model.errors import number_of, printable
from mdmem.model.trail import TrailCommit
from mdmem.past import clocks
from mdmem.past.steps import with_past
from mdmem.repo import Repository, commit_seconds
from mdmem.repo.branch_commits import commits_not_in

_MOST_NAME, _MOST_NAMES = 60, 3


def span(seconds: float) -> str:
    hours = max(1, round(seconds / 3600))
    return number_of(round(hours / 24), "day") if hours >= 24 else number_of(hours, "hour")


def ahead(commit: TrailCommit, now: float) -> str:
    named = f"{commit.commit[:8]} by {_name(commit)}"
    return f"{named} is dated {span(commit.moment - now)} ahead of this machine's clock"


def behind(commit: TrailCommit, now: float) -> str:
    named = f"{commit.commit[:8]} by {_name(commit)}"
    return f"this machine's clock is {span(commit.moment - now)} behind {named}"


def _name(commit: TrailCommit) -> str:
    return printable(commit.author, keep="")[:_MOST_NAME]


def dated_back(
    commits: Sequence[TrailCommit], among: Collection[CommitId] | None = None
) -> Iterator[str]:
    """Say which commits were dated back, and by which commit (of some) with `Mdmem-Arrived`."""
    settled, by_number = clocks.settle(commits), {each.number: each for each in commits}
    for arrival in settled.arrivals:
        told = [
            each
            for first, last in arrival.covered
            for each in map(by_number.__getitem__, range(first, last + 1))
            if settled.moments[each.number] == arrival.time < min(each.time, each.committed)
        ]
        if told and (among is None or arrival.by.commit in among):
            names = list(dict.fromkeys(map(_name, told)))
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            yield (
                f"{number_of(len(told), 'commit')} by {', '.join(names[:_MOST_NAMES])}{more} dated"
                f" back by {_name(arrival.by)} ({arrival.by.commit[:8]})"
            )


def read_dates(repository: Repository) -> list[TrailCommit]:
    """All commits of HEAD, oldest first, with nothing but what their moments need."""
    made: dict[CommitId, TrailCommit] = {}
    for each in reversed(commits_not_in(repository, [CommitId("HEAD")], None).values()):
        commit = TrailCommit(
            number=len(made) + 1,
            commit=each.id,
            time=each.time,
            author=each.author.decode("utf-8", "replace").rpartition(" <")[0],
            message=each.message,
            committed=commit_seconds(each.committer.split()[-2]),
        )
        made[each.id] = with_past(commit, [made[name] for name in each.parents if name in made])
    return [*made.values()]
