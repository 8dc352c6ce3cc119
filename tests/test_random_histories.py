"""Nothing that stands is hidden: random histories in real repositories, each state compared with
what git itself holds.
"""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import pytest
from conftest import World
from git_oracle import Oracle, contradicting, identity, lines_of
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from trail_dump import dump
from workspaces import Desk

from mdmem.memory import Memory
from mdmem.model.errors import MdmemError
from mdmem.model.searches import Hit, ListFacts, Search
from mdmem.model.writes import Forget, Log, Remember, Revert, WriteOptions
from mdmem.past import fresh_trail, trail_update
from mdmem.past.table import Trail

WORDS = ("Oslo", "Bergen", "Rome")
SEED = "# Memory\n\n## Facts\n\n- where: zebra in Oslo\n- the zebra sleeps\n\n## Other\n\n- a zebra in Rome\n"
SWITCHES = ("main", "side", "other")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
_UNTIL = re.compile(r" \(until \d{4}-\d{2}-\d{2}\)$")


class History:
    """One history as it comes to be."""

    def __init__(self, world: World, patch: pytest.MonkeyPatch) -> None:
        folder = Path(mkdtemp(dir=world.home.parent)) / "repository"
        folder.mkdir()
        self.at = Desk(world, folder)
        self.patch = patch
        self.now = START
        self.logged = 0
        self.on_the_day()
        self.git("init", "-q")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        self.git("config", "merge.conflictStyle", "merge")
        self.at.write("MEMORY.md", SEED)
        self.at.write(
            "memory/topic.md", "# Topic\n\n## Animals\n\n- zebra with stripes\n- who: zebra Zoe\n"
        )
        self.commit("seed")
        self.oracle = Oracle(self.git)

    # The world.

    def on_the_day(self, dates: Mapping[str, str] | None = None) -> None:
        stamp = self.now.isoformat()
        self.dates = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp, **(dates or {})}
        self.patch.setenv("MDMEM_NOW", stamp)

    def git(self, *arguments: str, check: bool = True) -> str:
        return self.at.world.git(
            self.at.root, *arguments, check=check, environment=self.dates
        ).stdout

    def tried(self, *arguments: str) -> bool:
        """Run git; True if it worked."""
        return (
            self.at.world.git(
                self.at.root, *arguments, check=False, environment=self.dates
            ).returncode
            == 0
        )

    def commit(self, message: str = "by hand") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    @property
    def memory(self) -> Memory:
        return Memory.open(self.at.root, os.environ)

    def files(self) -> dict[str, str]:
        paths = sorted(self.at.root.rglob("*.md"))
        return {str(path.relative_to(self.at.root)): path.read_text() for path in paths}

    @property
    def is_pending(self) -> bool:
        return bool(self.git("status", "--porcelain").strip())

    # What people and agents do.

    def remember(self, first: int, second: int) -> None:
        key = ("where", "who", None)[first % 3]
        text = f"zebra in {WORDS[second % 3]}" if key else f"a zebra in {WORDS[second % 3]}"
        self.memory.apply(Remember(text, key=key, section="Facts" if first < 4 else "Other"))

    def remember_until(self, first: int, second: int) -> None:
        until = (self.now + timedelta(days=first - 2)).date().isoformat()
        self.memory.apply(
            Remember(f"the zebra eats in {WORDS[second % 3]}", section="Other", until=until)
        )

    def replace(self, first: int, second: int) -> None:
        lines = [line for line in lines_of(self.files()) if not line.is_logged]
        old = lines[first % len(lines)]
        self.memory.apply(
            Remember(
                f"zebra number {second}",
                section="Facts",
                options=WriteOptions(supersedes=identity(old.text)),
            )
        )

    def forget(self, first: int, second: int) -> None:
        lines = [line for line in lines_of(self.files()) if not line.is_logged]
        line = lines[(8 * first + second) % len(lines)]
        self.memory.apply(Forget(identity(line.text), file=line.path))

    def log(self, first: int, second: int) -> None:
        self._log(f"zebra sat in {WORDS[second % 2]}", first, second)

    def _log(self, text: str, first: int, second: int, supersedes: str | None = None) -> None:
        self.logged += 1
        change = Log(
            text=text,
            kind="fact",
            tags=(f"t{self.logged}",),
            time="10:00",
            day=f"2026-03-0{1 + (first == 0)}",
            again=second > 4,
            options=WriteOptions(supersedes=supersedes),
        )
        self.memory.apply(change)

    def _logged_text(self, number: int) -> str | None:
        texts = [line.text for line in lines_of(self.files()) if line.is_logged]
        return texts[number % len(texts)] if texts else None

    def log_instead(self, first: int, second: int) -> None:
        if text := self._logged_text(first):
            self._log(f"zebra sat in {WORDS[second % 2]}", first, second, identity(text))

    def remember_instead(self, first: int, second: int) -> None:
        if text := self._logged_text(first):
            options = WriteOptions(supersedes=identity(text))
            self.memory.apply(
                Remember(f"a zebra in {WORDS[second % 3]}", section="Facts", options=options)
            )

    def retract(self, first: int, second: int) -> None:
        if text := self._logged_text(first):
            self.memory.apply(Forget(identity(text)))

    def revert_change(self, first: int, second: int) -> None:
        self.memory.apply(Revert(f"HEAD~{first % 4}"))

    def edit(self, first: int, second: int) -> None:
        path = (
            "MEMORY.md",
            next(
                path
                for path in self.files()
                if path.startswith("memory/") and not path[7].isdigit()
            ),
        )[first % 2]
        lines = self.at.read(path).splitlines(keepends=True)
        index = 2 + (second * 3) % max(1, len(lines) - 2)
        new = f"- where: zebra in {WORDS[second % 3]}\n"
        match first // 2:
            case 0:
                lines.insert(index, new)
            case 1:
                lines[index:] = lines[index + 1 :]
            case 2:
                lines[index:] = [*lines[index + 1 :], *lines[index : index + 1]]
            case _:
                lines[index : index + 1] = (
                    [new]
                    if lines[index : index + 1] and lines[index].startswith("- ")
                    else lines[index : index + 1]
                )
        self.at.write(path, "".join(lines))

    def edit_and_commit(self, first: int, second: int) -> None:
        self.edit(first, second)
        self.commit()

    def edit_of_another_time(self, first: int, second: int) -> None:
        early = {"GIT_AUTHOR_DATE": (self.now - timedelta(days=2)).isoformat()}
        late = {"GIT_AUTHOR_DATE": (self.now + timedelta(days=40)).isoformat()}
        never = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2099-01-01T00:00:00Z")
        self.on_the_day((early, early, late, never)[second % 4])
        self.edit_and_commit(first, second)

    def amend(self, first: int, second: int) -> None:
        self.edit(first, second)
        self.git("add", "-A")
        self.git("commit", "-q", "--amend", "--no-edit", "--allow-empty")

    def squash(self, first: int, second: int) -> None:
        count = 2 + first % 3
        if self.git("rev-list", "--count", "--first-parent", "HEAD").strip() > str(
            count
        ) and self.tried("rev-parse", "-q", "--verify", f"HEAD~{count}"):
            messages = self.git(
                "log", "--first-parent", "--reverse", "--format=%B", f"HEAD~{count}..HEAD"
            ).split("\n\n\n")
            self.git("reset", "-q", "--soft", f"HEAD~{count}")
            self.commit("\n\n".join(messages) if second % 2 else messages[0])

    def reorder(self, first: int, second: int) -> None:
        if self.tried("rev-parse", "-q", "--verify", "HEAD~2") and not self.git(
            "log", "--merges", "--format=%H", "HEAD~2..HEAD"
        ):
            last, before, base = (
                self.git("rev-parse", f"HEAD~{back}").strip() for back in (0, 1, 2)
            )
            self.git("reset", "-q", "--hard", base)
            if not self.tried(
                "cherry-pick", "--allow-empty", "--keep-redundant-commits", last, before
            ):
                self.git("cherry-pick", "--abort")
                self.git("reset", "-q", "--hard", last)

    def switch(self, first: int, second: int) -> None:
        branch = SWITCHES[first % 3]
        self.tried("switch", "-q", branch) or self.tried("switch", "-q", "-c", branch)

    def _another_branch(self, first: int) -> str:
        here = self.git("branch", "--show-current").strip()
        branches = [
            branch
            for branch in self.git("branch", "--format=%(refname:short)").split()
            if branch != here
        ]
        return branches[first % len(branches)] if branches else here

    def cherry_pick(self, first: int, second: int) -> None:
        if not self.tried(
            "cherry-pick",
            "--allow-empty",
            "--keep-redundant-commits",
            f"{self._another_branch(first)}~{second % 2}",
        ):
            self.tried("cherry-pick", "--abort")

    def merge(self, first: int, second: int) -> None:
        other = self._another_branch(first)
        if second == 7:
            self.tried("merge", "-q", "-s", "ours", "-m", "keep ours", other)
        elif second == 6:
            self.tried(
                "merge", "-q", "-X", "theirs", "--no-ff", "-m", "theirs wins", other
            ) or self._resolve(first)
        elif not self.tried(
            "merge", "-q", "--no-edit", *(["--no-ff"] if second % 2 else []), other
        ):
            self._resolve(second)

    def _resolve(self, way: int) -> None:
        """Resolve a merge by hand: ours, theirs, or both."""
        for path in self.git("diff", "--name-only", "--diff-filter=U").splitlines():
            if way % 3 < 2 and self.tried("checkout", ("--ours", "--theirs")[way % 3], "--", path):
                continue
            if (self.at.root / path).exists():
                lines = self.at.read(path).splitlines(keepends=True)
                self.at.write(
                    path,
                    "".join(
                        line for line in lines if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>")
                    ),
                )
        self.commit("merged by hand")

    def octopus(self, first: int, second: int) -> None:
        here = self.git("branch", "--show-current").strip()
        branches = [
            branch
            for branch in self.git("branch", "--format=%(refname:short)").split()
            if branch != here
        ]
        if len(branches) > 1 and not self.tried("merge", "-q", "--no-edit", *branches):
            self.git("reset", "-q", "--hard")

    def _revert(self, commit: str) -> None:
        """Revert a commit with git or, where that finds nothing to take out, with an empty commit
        that says so.
        """
        is_merge = self.tried("rev-parse", "-q", "--verify", f"{commit}^2")
        if self.tried("revert", "--no-edit", *(["-m", "1"] if is_merge else []), commit):
            return
        if self.tried("diff", "--quiet", "HEAD"):
            self.tried("revert", "--quit")
            self.commit(f"Revert\n\nThis reverts commit {commit}.")
        else:
            self.tried("revert", "--abort") or self.git("reset", "-q", "--hard")

    def revert(self, first: int, second: int) -> None:
        if commit := self.git(
            "rev-parse", "-q", "--verify", f"HEAD~{first % 3}", check=False
        ).strip():
            self._revert(commit)

    def revert_merge(self, first: int, second: int) -> None:
        if merges := self.git(
            "log", "--merges", *(["--first-parent"] if first < 5 else []), "--format=%H"
        ).split():
            self._revert(merges[0])

    def _merged_commits(self) -> list[str]:
        """What merges brought to the branch: statements first."""
        mainline = self.git("rev-list", "--first-parent", "HEAD").split()
        stating = self.git(
            "rev-list", "--no-merges", "--grep=^Mdmem-Supersedes", "--grep=^Mdmem-Retracts", "HEAD"
        ).split()
        listed = dict.fromkeys([*stating, *self.git("rev-list", "--no-merges", "HEAD").split()])
        return [commit for commit in listed if commit not in mainline]

    def revert_side(self, first: int, second: int) -> None:
        if commits := self._merged_commits():
            self._revert(commits[first % min(4, len(commits))])

    def revert_change_of_side(self, first: int, second: int) -> None:
        if commits := self._merged_commits():
            self.memory.apply(Revert(commits[first % min(4, len(commits))]))

    def revert_a_revert(self, first: int, second: int) -> None:
        if reverts := self.git(
            "log", "--grep=^This reverts commit", "--grep=^Mdmem-Reverts: ", "--format=%H"
        ).split():
            self._revert(reverts[first % min(2, len(reverts))])

    def merge_of_marks(self, first: int, second: int) -> None:
        """A branch on which some lines of logs are over already, merged, and something of that
        reverted.
        """
        here = self.git("branch", "--show-current").strip()
        self.log(1, 2 + first % 2)
        self.tried("switch", "-q", "-C", "marks")
        for action in (History.retract, History.log_instead)[:: 1 if first < 4 else -1]:
            with suppress(MdmemError):
                action(self, first, second % 5)
        self.tried("switch", "-q", here)
        if self.tried("merge", "-q", "--no-ff", "--no-edit", "marks"):
            (History.revert_side, History.revert_merge, History.revert_change_of_side)[second % 3](
                self, first, second
            )

    def reset(self, first: int, second: int) -> None:
        self.tried("reset", "-q", "--hard", f"HEAD~{1 + first % 3}")

    def stash(self, first: int, second: int) -> None:
        self.edit(first, second)
        self.tried("stash")
        self.log(first, second)
        self.tried("stash", "pop") or self.git("reset", "-q", "--hard")

    def rename(self, first: int, second: int) -> None:
        names = ("memory/topic.md", "memory/zoo.md", "memory/deep/topic.md")
        old = next(name for name in names if name in self.files())
        new = names[first % 3]
        if new != old:
            (self.at.root / new).parent.mkdir(exist_ok=True)
            self.git("mv", old, new)
            self.commit("renamed")


Action = Callable[[History, int, int], None]
ACTIONS: tuple[Action, ...] = (
    *(
        History.remember,
        History.remember,
        History.remember_until,
        History.replace,
        History.forget,
        History.log,
        History.log,
        History.log,
    ),
    *(
        History.log_instead,
        History.log_instead,
        History.remember_instead,
        History.retract,
        History.retract,
    ),
    *(
        History.revert_change,
        History.edit,
        History.edit_and_commit,
        History.edit_and_commit,
        History.edit_of_another_time,
        History.amend,
    ),
    *(
        History.squash,
        History.reorder,
        History.switch,
        History.switch,
        History.switch,
        History.cherry_pick,
        History.merge,
        History.merge,
    ),
    *(
        History.merge,
        History.octopus,
        History.revert,
        History.revert_merge,
        History.reset,
        History.stash,
        History.rename,
    ),
    *(
        History.merge_of_marks,
        History.merge_of_marks,
        History.revert_side,
        History.revert_change_of_side,
        History.revert_a_revert,
    ),
)
KEEP_PENDING = (
    History.edit,
    History.remember,
    History.replace,
    History.forget,
    History.log,
    History.log_instead,
    History.retract,
)


def play(history: History, action: Action, first: int, second: int) -> None:
    history.now += timedelta(hours=7)
    history.on_the_day()
    before = history.git("rev-parse", "HEAD").strip()
    if history.is_pending and action not in KEEP_PENDING:
        history.commit("what was pending")
    with suppress(
        MdmemError, ZeroDivisionError
    ):  # refused, or there is no line left: nothing was done
        action(history, first, second)
    history.on_the_day()
    if not (history.at.root / "MEMORY.md").exists():  # the first commit was reverted
        history.git("reset", "-q", "--hard", before)


# What memory says of it.


def places(hits: tuple[Hit, ...]) -> set[tuple[str, str, str]]:
    return {
        (hit.path, (hit.section or ("",))[-1], _UNTIL.sub("", hit.text)) for hit in hits if hit.fact
    }


def require_agreement(history: History) -> None:
    memory, day = history.memory, history.now.date().isoformat()
    head = history.git("rev-parse", "HEAD").strip()
    state = replace(history.oracle.state(head), lines=lines_of(history.files()))
    current = state.current(day)
    sure = {
        line.location
        for line in state.lines
        if not (line.is_logged and identity(line.text) in state.doubtful)
    }
    expected = {line.location for line in current} & sure
    listed = memory.facts(ListFacts(limit=0)).facts
    hits = tuple(hit for hit in memory.search(Search("zebra", limit=500)).hits if not hit.near)
    every = {line.location for line in state.lines}
    for answer in (places(listed), places(hits)):
        assert answer <= every, "what does not stand is found"
        assert answer & sure == expected
    conflicts = memory.conflicts().conflicts
    named = places(tuple(hit for view in conflicts for hit in (view.first, view.second)))
    assert named & sure == contradicting(line for line in current if line.location in sure) & sure
    assert {
        place for hit in hits if hit.contradicts for place in places((hit,))
    } & sure == named & sure


def require_agreement_as_of(history: History) -> None:
    """As of any commit, what its own tree and its past tell. The day on which expiry is judged is
    told by other tests.
    """
    for commit in history.git("rev-list", "HEAD").split()[::4]:
        result = history.memory.search(Search("zebra", limit=500, as_of=commit))
        assert result.commit == commit
        state = history.oracle.state(commit)
        doubtful = {
            line.location
            for line in state.lines
            if line.until or (line.is_logged and identity(line.text) in state.doubtful)
        }
        answer = places(tuple(hit for hit in result.hits if not hit.near))
        assert answer <= {line.location for line in state.lines}
        assert answer - doubtful == {line.location for line in state.current("")} - doubtful


def require_same_trail_as_rebuilt(history: History) -> None:
    workspace = history.at.workspace
    with fresh_trail(workspace) as kept, Trail.in_memory() as rebuilt:
        trail_update.replay_new_commits(workspace, rebuilt, workspace.repository.head())
        assert dump(kept) == dump(rebuilt)


def require_a_history_that_agrees(
    world: World, patch: pytest.MonkeyPatch, seed: int, length: int
) -> None:
    random = Random(seed)
    history = History(world, patch)
    for _ in range(length):
        action, first, second = random.choice(ACTIONS), random.randrange(8), random.randrange(8)
        note(f"{action.__name__} {first} {second}")
        play(history, action, first, second)
        require_agreement(history)
    require_agreement_as_of(history)
    require_same_trail_as_rebuilt(history)


# What comes first in a history decides what the rest does: a smaller one would be another one.
one_world = settings(
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
seeds = st.integers(0, 2**32 - 1)


@settings(one_world, max_examples=2)
@given(seeds)
def test_each_state_is_what_git_holds(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    require_a_history_that_agrees(world, monkeypatch, seed, 10)


@pytest.mark.slow
@settings(one_world, max_examples=300)
@given(seeds)
def test_each_state_of_many_histories_is_what_git_holds(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    require_a_history_that_agrees(world, monkeypatch, seed, 14)
