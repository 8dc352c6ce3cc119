"""Moments of commits whose clocks were wrong: witnesses, forged ones, and who is told of them."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from clock_replay import DAY, DatedCommit, read_log, replay_moments
from conftest import World
from hypothesis import given
from hypothesis import strategies as st
from test_lives_of_facts import fresh_repository
from test_syncing import Pair, fact, sync
from test_syncing import pair as pair
from workspaces import Desk

from mdmem.folder.files import SYNC_STATE
from mdmem.memory import Memory
from mdmem.model import CommitId
from mdmem.model.errors import verb
from mdmem.model.history import ShowHistory
from mdmem.model.pipelines import Sync
from mdmem.model.trail import TrailCommit
from mdmem.model.writes import Log
from mdmem.past import fresh_trail
from mdmem.past.clocks import settle, trailer
from mdmem.past.steps import with_past
from mdmem.workspace import open_at
from mdmem.workspace.sync_state import load_state

START = 1_760_000_000
HOUR = 3600


def trail_of(commits: Sequence[DatedCommit]) -> list[TrailCommit]:
    """The commits as the trail has them, in the given order."""
    made: dict[str, TrailCommit] = {}
    for number, each in enumerate(commits, 1):
        commit = TrailCommit(
            number, CommitId(each.name), each.written, "Ada", each.message, committed=each.committed
        )
        made[each.name] = with_past(commit, [made[parent] for parent in each.parents])
    return list(made.values())


def moments(commits: Sequence[DatedCommit]) -> dict[str, int]:
    settled = settle(trail_of(commits)).moments
    return {each.name: settled[number] for number, each in enumerate(commits, 1)}


def name(number: int) -> str:
    return f"{number:040x}"


def chain(*times: int, message: str = "") -> list[DatedCommit]:
    """Commits one after another; the last has a message."""
    return [
        DatedCommit(
            name(number),
            (name(number - 1),) if number else (),
            time,
            time,
            message if number == len(times) - 1 else "",
        )
        for number, time in enumerate(times)
    ]


def arrival(before: int, came: int, time: int) -> str:
    return f"x\n\n{trailer(CommitId(name(before)), CommitId(name(came)), time)}\n"


AHEAD = (START, START + 9 * DAY, START + 9 * DAY + 5, START + HOUR)
"""Two commits that are nine days ahead, between two by a right clock."""


def test_a_witness_dates_back_what_it_took_in() -> None:
    told = chain(*AHEAD, message=arrival(0, 2, START + HOUR))
    assert [*moments(told).values()] == [START, START + HOUR, START + HOUR, START + HOUR]
    assert [*moments(chain(*AHEAD)).values()] == [START, *(START + 9 * DAY + n for n in (0, 5, 5))]


@pytest.mark.parametrize(
    "message",
    [
        arrival(0, 2, START - 1),  # too early: before what had been there
        arrival(0, 2, 978_307_200),  # by a clock that woke up in 2001
        arrival(0, 2, START + 2 * HOUR),  # by a clock that is behind what it says
        arrival(1, 2, START + HOUR),  # what was there is later
        arrival(7, 2, START + HOUR),  # of commits that are not there
        arrival(0, 7, START + HOUR),
        arrival(2, 0, START + HOUR),  # the wrong way round
        arrival(3, 2, START + HOUR),  # on top of itself
        f"x\n\nMdmem-Arrived: {name(0)} {name(2)} yesterday\n",
        f"x\n\nMdmem-Arrived: {name(0)} {name(2)} 2025-99-99T99:99:99Z\n",
        f"x\n\n  Mdmem-Arrived: {name(0)} {name(2)} 2025-10-09T09:53:20Z\n",
    ],
)
def test_a_forged_arrival_counts_for_nothing(message: str) -> None:
    assert moments(chain(*AHEAD, message=message)) == moments(chain(*AHEAD))


@pytest.mark.parametrize("count", [1000, 1001])
def test_an_arrival_speaks_of_a_thousand_commits(count: int) -> None:
    message = arrival(0, count, START + HOUR)
    told = moments(
        chain(START, *[START + 9 * DAY] * count, START + HOUR, message=message),
    )
    assert set(told.values()) == {START, START + (HOUR if count == 1000 else 9 * DAY)}


def test_an_arrival_of_another_line_counts_for_nothing() -> None:
    first, ahead, *_ = chain(*AHEAD)
    message = arrival(0, 1, START + HOUR)
    apart = DatedCommit(name(8), (name(0),), START + HOUR, START + HOUR, message)
    assert moments([first, ahead, apart])[name(1)] == START + 9 * DAY
    merge = DatedCommit(name(9), (name(1), name(8)), START + HOUR, START + HOUR)
    assert moments([first, ahead, apart, merge])[name(1)] == START + 9 * DAY


def test_of_several_arrivals_the_earliest_counts() -> None:
    told = [
        *chain(*AHEAD, message=arrival(0, 2, START + HOUR)),
        DatedCommit(
            name(4), (name(3),), START + HOUR, START + HOUR, arrival(0, 1, START + HOUR // 2)
        ),
    ]
    assert [*moments(told).values()][1:3] == [START + HOUR // 2, START + HOUR]


def random_history(random: Random, count: int) -> list[DatedCommit]:
    """Commits on lines that merge, by clocks that are often ahead, some with arrivals, some forged."""
    commits: list[DatedCommit] = []
    for number in range(count):
        parents = {
            random.choice(commits).name for _ in range(min(number, random.choice((1, 1, 2))))
        }
        time = START + number * HOUR + random.choice((0, 0, 0, 5 * DAY, 2 * HOUR, -400 * DAY))
        told = [
            trailer(
                CommitId(random.choice(commits).name),
                CommitId(random.choice(commits).name),
                START + number * HOUR + random.choice((0, 0, -HOUR, -3 * HOUR)),
            )
            for _ in range(random.choice((0, 1, 2)) if commits else 0)
        ]
        message = "\n".join(("x", "", *told))
        commits.append(DatedCommit(name(number), tuple(sorted(parents)), time, time, message))
    return commits


def another_order(random: Random, commits: list[DatedCommit]) -> list[DatedCommit]:
    """The commits as another clone may have got them, parents first."""
    waiting, order = list(commits), list[DatedCommit]()
    while waiting:
        done = {each.name for each in order}
        ready = [each for each in waiting if done.issuperset(each.parents)]
        order.append(random.choice(ready))
        waiting.remove(order[-1])
    return order


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 40))
def test_moments_are_those_of_the_page_in_whatever_order_commits_came(
    seed: int, count: int
) -> None:
    random = Random(seed)
    commits = random_history(random, count)
    expected = replay_moments(commits)
    assert moments(commits) == expected
    assert moments(another_order(random, commits)) == expected


def at_time(world: World, seconds: int) -> World:
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{seconds} +0000")
    return World(world.home, dict(world.environment) | dates)


def write_commits(world: World, root: Path, random: Random, count: int) -> None:
    """Commits of a file each, dated and told of as in a random history, on three branches."""
    ids: list[str] = []
    for number in range(count):
        branch = random.choice("abc")
        is_new = world.git(root, "rev-parse", "-q", "--verify", branch, check=False).returncode
        world.git(root, "switch", "-q", *(["-c"] if is_new else []), branch)
        ahead = random.choice((0, 0, 0, 0, 5 * DAY, 2 * HOUR, -400 * DAY))
        dated = at_time(world, START + number * HOUR + ahead)
        (root / f"{branch}.md").write_text(f"# M\n\n- fact {number}\n")
        if random.random() < 0.2 and number > 3:
            dated.git(root, "merge", "-q", "--no-edit", random.choice(ids))
        told = [
            trailer(
                CommitId(random.choice(ids[-8:])),
                CommitId(random.choice(ids[-4:])),
                START + number * HOUR - random.choice((0, HOUR)),
            )
            for _ in range(random.choice((0, 0, 1)) if ids else 0)
        ]
        dated.git(root, "add", "-A")
        dated.git(root, "commit", "-q", "--allow-empty", "-m", "\n".join(("x", "", *told)))
        ids.append(dated.git(root, "rev-parse", "HEAD").stdout.strip())
    for branch in "abc":
        at_time(world, START + count * HOUR).git(root, "merge", "-q", "--no-edit", branch)


@pytest.mark.parametrize("seed", range(3))
def test_a_trail_that_grows_and_shrinks_tells_what_a_new_one_tells(
    world: World, tmp_path: Path, seed: int
) -> None:
    random, root = Random(seed), fresh_repository(world, tmp_path, seed)
    world.git(root, "config", "user.name", "Ada")
    world.git(root, "config", "user.email", "ada@example.org")
    (root / "mdmem.toml").write_text('paths = ["*.md"]\n')
    (root / "a.md").write_text("# M\n")
    world.git(root, "add", "-A")
    at_time(world, START).git(root, "commit", "-q", "-m", "begin")
    write_commits(world, root, random, 30)
    top = world.git(root, "rev-parse", "HEAD").stdout.strip()
    names = world.git(root, "rev-list", "HEAD").stdout.split()
    for each in [*(random.choice(names) for _ in range(6)), top]:
        world.git(root, "reset", "-q", "--hard", each)
        expected = replay_moments(read_log(root, dict(world.environment)))
        with fresh_trail(open_at(root, os.environ)) as trail:
            found = trail.commits_after()
            assert {each.commit: each.moment for each in found} == {
                each.commit: expected[each.commit] for each in found
            }
            began = {each.commit: each.moment for each in found}
            for path in ("a.md", "b.md", "c.md"):
                for occurrence in trail.occurrences_in(path):
                    assert occurrence.origin.time == began[occurrence.origin.commit]


# Two machines.


Clock = Callable[[str], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the clock of mdmem to an hour, such as `2026-03-05T10`."""
    return lambda hour: monkeypatch.setenv("MDMEM_NOW", f"{hour}:00:00+00:00")


def city(at: Desk, value: str) -> str:
    """Since when a value of the city is told."""
    history = Memory.open(at.root, os.environ).history(ShowHistory("city"))
    (since,) = [link.start for link in history.chain if link.text.endswith(value)]
    return f"{since:%Y-%m-%dT%H}"


def synced(at: Desk) -> list[str]:
    """The lines that a sync prints."""
    lines: list[str] = []
    Memory.open(at.root, os.environ, lines.append).sync(Sync())
    return lines


def noted(at: Desk) -> str:
    return "\n".join(Memory.open(at.root, os.environ).status().notes)


def test_a_clock_that_is_ahead_is_named_and_moves_nothing(pair: Pair, clock: Clock) -> None:
    ada, bo = pair.ada, pair.bo
    clock("2026-03-07T10")
    ada.apply(fact("city: Paris", supersedes="city: Rome"))
    ahead = f"{ada.head()[:8]} by ada is dated 2 days ahead of this machine's clock"
    assert synced(ada) == []
    clock("2026-03-05T10")
    assert synced(bo) == [ahead]
    (line,) = load_state(bo.workspace).arrived
    assert synced(bo) == []
    bo.apply(fact("city: Oslo", supersedes="city: Paris"))
    assert bo.git("log", "-1", "--format=%B").strip().endswith(f"\n{line}")
    assert load_state(bo.workspace).arrived == ()
    bo.apply(Log("later"))
    assert "Mdmem-Arrived" not in bo.git("log", "-1", "--format=%B")
    told = f"1 commit by ada dated back by bo ({bo.git('rev-parse', 'HEAD~')[:8]})"
    synced(bo)
    assert synced(ada) == [told]
    for day in ("05T11", "06T10", "09T10"):
        clock(f"2026-03-{day}")
        for at in (ada, bo):
            assert [city(at, value) for value in ("Paris", "Oslo")] == ["2026-03-05T10"] * 2
    for at in (ada, bo):
        found = Memory.open(at.root, os.environ).examine()
        assert told in [each.message for each in found]


def test_a_merge_tells_of_what_came_ahead(pair: Pair, clock: Clock) -> None:
    ada, bo = pair.ada, pair.bo
    clock("2026-03-07T10")
    ada.apply(Log("of the future"))
    sync(ada)
    clock("2026-03-05T10")
    bo.apply(Log("of today"))
    (ahead,) = synced(bo)
    assert "ahead of this machine's clock" in ahead
    clock("2026-03-07T12")
    ada.apply(Log("of the future once more"))
    sync(ada)
    clock("2026-03-05T12")
    bo.apply(Log("of today once more"))
    assert len(load_state(bo.workspace).arrived) == 0
    bo.git("commit", "-q", "--allow-empty", "-m", "by hand")
    synced(bo)
    names = replay_moments(read_log(bo.root, dict(bo.world.environment)))
    with fresh_trail(bo.workspace) as trail:
        assert all(names[each.commit] == each.moment for each in trail.commits_after())


def test_a_clock_in_doubt_is_named_and_is_no_witness(pair: Pair, clock: Clock) -> None:
    ada, bo = pair.ada, pair.bo
    clock("2026-03-05T10")
    ada.apply(Log("said today"))
    sync(ada)
    clock("2001-01-01T00")
    lines = synced(bo)
    assert lines[0].startswith(f"{ada.head()[:8]} by ada is dated ")
    assert lines[1].startswith("this machine's clock is ")
    assert lines[1].endswith(f"behind {pair.ada.git('rev-parse', 'HEAD~')[:8]} by ada")
    assert load_state(bo.workspace).arrived == ()


def test_a_damaged_state_of_syncs_stops_no_write(pair: Pair) -> None:
    at = pair.ada
    sync(at)
    (at.workspace.state / SYNC_STATE).write_text('{"line": "", "arrived": ["Mdmem-Arr')
    assert at.apply(Log("rain")).changed
    assert "Mdmem-Arr" not in at.git("log", "-1", "--format=%B")


def test_a_clock_an_hour_ahead_is_no_fault(pair: Pair, clock: Clock) -> None:
    clock("2026-03-05T11")
    pair.ada.apply(Log("said today"))
    sync(pair.ada)
    clock("2026-03-05T10")
    assert synced(pair.bo) == []
    assert load_state(pair.bo.workspace).arrived == ()


def test_a_head_that_is_ahead_is_dated_back_by_a_person(pair: Pair, clock: Clock) -> None:
    ada = pair.ada
    clock("2026-03-09T10")
    ada.apply(fact("city: Paris", supersedes="city: Rome"))
    clock("2026-03-05T10")
    memory = Memory.open(ada.root, os.environ)
    assert city(ada, "Paris") == "2026-03-09T10"
    ahead = f"{ada.head()[:8]} by ada is dated 4 days ahead of this machine's clock"
    assert f"{ahead}. If that clock was wrong: {verb('doctor', 'fix')}" in noted(ada)
    assert ahead in [each.message for each in memory.examine()]
    asked: list[str] = []
    assert memory.date_back(lambda line: asked.append(line) or False) == ""
    assert asked == [ahead]
    assert memory.date_back(lambda _: True).startswith("dated back what was ahead")
    assert city(ada, "Paris") == "2026-03-05T10"
    assert "ahead of" not in noted(ada)
    assert memory.date_back(lambda _: True) == ""
    assert ahead not in [each.message for each in memory.examine()]


def test_where_all_is_ahead_nothing_is_dated_back(pair: Pair, clock: Clock) -> None:
    clock("2026-03-05T10")
    clock("2001-01-01T00")
    said = Memory.open(pair.ada.root, os.environ).date_back(lambda _: True)
    assert said.endswith(", and so are 1 commits: too many to date them back")
