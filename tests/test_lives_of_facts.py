"""Begin, end and whoever did it, of random commits on several lines, against what git's trees alone
tell.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from conftest import World
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mdmem.model.trail import Fate
from mdmem.past import fresh_trail
from mdmem.past.file_changes import joined_by_moves
from mdmem.past.table import Trail
from mdmem.text.facts import parse_text
from mdmem.workspace import open_at

DAY = 24 * 60 * 60
START = 1_760_000_000
AUTHORS = ("Ada <ada@example.org>", "Bo <bo@example.org>")


@dataclass(frozen=True)
class Commit:
    """A commit of the made history: its place, its parents' places, what it has of facts, and its
    clock.
    """

    parents: tuple[int, ...]
    facts: frozenset[str]
    written: int
    committed: int
    author: str


def made_history(random: Random, count: int, lines: int) -> list[Commit]:
    """Commits on several lines that merge each other: each brings a fact in, takes one out, or
    both; some clocks are wrong.
    """
    commits = [Commit((), frozenset({"seed"}), START, START, AUTHORS[0])]
    heads = [0] * lines
    time, new = START, 0
    while len(commits) < count:
        line = random.randrange(lines)
        time += random.randrange(60, DAY)
        committed = time + random.choice((*(0,) * 16, DAY // 2, -365 * DAY))
        written = committed - random.choice((0, 0, 0, 3 * DAY))
        clock = (written, committed, random.choice(AUTHORS))
        other = random.choice(heads)
        if (
            random.random() < 0.3
            and other != heads[line]
            and len(past(commits, heads[line]) & {other}) == 0
        ):
            sides = (heads[line], other)
            if other in past(commits, heads[line]) or heads[line] in past(commits, other):
                continue
            commits.append(Commit(sides, merged(commits, *sides), *clock))
        else:
            facts = set(commits[heads[line]].facts)
            if facts and random.random() < 0.45:
                facts.discard(random.choice(sorted(facts)))
            if random.random() < 0.7:
                new += random.random() < 0.9
                facts.add(f"fact {new}")
            if facts == commits[heads[line]].facts:
                continue
            commits.append(Commit((heads[line],), frozenset(facts), *clock))
        heads[line] = len(commits) - 1
    while (
        len(
            tips := sorted(
                set(heads) - {each for head in heads for each in past(commits, head) - {head}}
            )
        )
        > 1
    ):
        time += DAY
        commits.append(
            Commit((tips[0], tips[1]), merged(commits, *tips[:2]), time, time, AUTHORS[0])
        )
        heads = [len(commits) - 1, *tips[2:]]
    return commits


def past(commits: list[Commit], place: int) -> set[int]:
    """A commit and all before it."""
    reached, waiting = set[int](), [place]
    while waiting:
        if (each := waiting.pop()) not in reached:
            reached.add(each)
            waiting += commits[each].parents
    return reached


def merged(commits: list[Commit], ours: int, theirs: int) -> frozenset[str]:
    """What both have, and what one has that the other never took out."""
    of_both = (commits[ours].facts, commits[theirs].facts)
    kept = set(of_both[0] & of_both[1])
    for here, there, other in ((of_both[0], of_both[1], theirs), (of_both[1], of_both[0], ours)):
        ever = {fact for each in past(commits, other) for fact in commits[each].facts}
        kept |= {fact for fact in here - there if fact not in ever}
    return frozenset(kept)


def moments(commits: list[Commit]) -> list[int]:
    """When each commit counts as made."""
    found: list[int] = []
    for each in commits:
        before = max((found[parent] for parent in each.parents), default=None)
        right = min(each.written, each.committed)
        found.append(right if before is None or each.committed >= before - DAY else before)
    return found


Life = tuple[str, str | None]


def lives(commits: list[Commit], names: list[str]) -> dict[str, set[Life]]:
    """For each fact that came once on each line that has it, the commits that brought it in and
    took it out.
    """
    times = moments(commits)

    def order(place: int) -> tuple[int, str]:
        return times[place], names[place]

    told: dict[str, set[Life]] = {}
    for fact in {fact for each in commits for fact in each.facts}:
        begun, ended, doubtful = [], [], False
        for place, each in enumerate(commits):
            before = [fact in commits[parent].facts for parent in each.parents]
            if len(each.parents) > 1:
                doubtful |= (
                    fact in each.facts
                    and not all(before)
                    and any(set(ended) & past(commits, parent) for parent in each.parents)
                )
            elif fact in each.facts and not any(before):
                doubtful |= any(set(begun) & past(commits, place) for _ in (0,))
                begun.append(place)
            elif any(before) and fact not in each.facts:
                ended.append(place)
        # What was brought in again after an end, or ended before the sides that brought it in met,
        # is more than one life.
        if doubtful or (len(begun) > 1 and ended) or (fact in commits[-1].facts and ended):
            continue
        told[fact] = {
            (names[min(begun, key=order)], names[min(ended, key=order)] if ended else None)
        }
    return told


def write_history(world: World, root: Path, commits: list[Commit]) -> list[str]:
    """Have git take in the commits; their ids."""
    stream = []
    for place, each in enumerate(commits, 1):
        text = "# Memory\n\n## Facts\n\n" + "".join(f"- {fact}\n" for fact in sorted(each.facts))
        stream.append(
            f"commit refs/heads/main\nmark :{place}\nauthor {each.author} {each.written} +0000"
        )
        stream.append(f"committer {each.author} {each.committed} +0000\ndata 0")
        stream += [
            f"{'merge' if number else 'from'} :{parent + 1}"
            for number, parent in enumerate(each.parents)
        ]
        stream.append(f"M 100644 inline MEMORY.md\ndata {len(text)}\n{text}")
    marks = root.parent / "marks"
    text = "\n".join(stream) + "\ndone\n"
    command = ["git", "fast-import", "--quiet", "--force", "--done", f"--export-marks={marks}"]
    subprocess.run(command, cwd=root, env=dict(world.environment), input=text.encode(), check=True)
    world.git(root, "reset", "-q", "--hard", "main")
    ids: Mapping[int, str] = {
        int(mark[1:]): name for mark, name in map(str.split, marks.read_text().splitlines())
    }
    return [ids[place] for place in range(1, len(commits) + 1)]


def require_lives_as_made(world: World, root: Path, seed: int, count: int, lines: int) -> None:
    commits = made_history(Random(seed), count, lines)
    names = write_history(world, root, commits)
    workspace = open_at(root, os.environ)
    times = dict(zip(names, moments(commits), strict=True))
    expected = lives(commits, names)
    assert len(expected) * 3 > len({fact for each in commits for fact in each.facts})
    with fresh_trail(workspace) as trail:
        for commit in trail.commits_after():
            assert commit.moment == times[commit.commit]
        for fact, of_fact in expected.items():
            own = [
                each
                for each in trail.occurrences_of(parse_text(fact).id)
                if each.fate is not Fate.JOINED
            ]
            found = {
                (_name(trail, run[0].begun), _name(trail, run[-1].ended))
                for run in joined_by_moves(own)
            }
            assert found == of_fact, fact
        for time in sorted(times.values())[:: max(1, len(times) // 40)]:
            known = trail.moments.upto(time)
            counted = {
                commit.commit
                for commit in trail.commits_after()
                if any(first <= commit.number <= last for first, last in known)
            }
            assert counted == {name for name, moment in times.items() if moment <= time}


def _name(trail: Trail, number: int | None) -> str | None:
    commit = trail.commit_numbered(number) if number else None
    return commit.commit if commit else None


one_world = settings(
    phases=(Phase.generate,),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def fresh_repository(world: World, folder: Path, seed: int) -> Path:
    root = folder / f"history{seed}" / "repository"
    root.mkdir(parents=True)
    world.git(root, "init", "-q", "-b", "main")
    return root


@settings(one_world, max_examples=4)
@given(seed=st.integers(0, 2**32 - 1), lines=st.integers(1, 5))
def test_facts_begin_and_end_with_the_commits_that_did_it(
    world: World, tmp_path_factory: pytest.TempPathFactory, seed: int, lines: int
) -> None:
    require_lives_as_made(
        world, fresh_repository(world, tmp_path_factory.mktemp("lives"), seed), seed, 75, lines
    )


@pytest.mark.slow
def test_two_thousand_commits_on_five_lines(world: World, tmp_path: Path) -> None:
    require_lives_as_made(world, fresh_repository(world, tmp_path, 1), 1, 2000, 5)
