"""Acknowledged writes survive a power cut: at every moment of every verb that writes, on a disk
that forgets what was not synced.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from command_table import UNDER_POWER_CUTS
from conftest import World
from powercut import Git, Look, Recorder, State, Step, cuts, lay_out, left_at_the_end, story
from proposal_actions import on
from workspaces import MARK, NOW, SEED, Desk, append, code_of, desk

from mdmem.memory import Memory, initialise
from mdmem.model.proposals import Propose
from mdmem.model.reads import Initialise
from mdmem.model.writes import (
    Action,
    Change,
    Contradict,
    CreateFile,
    EditSection,
    Log,
    MovePath,
    Purge,
    Remember,
    Resolve,
    Revert,
    Save,
    WriteOptions,
)

JOURNAL = ".git/mdmem/root/write-ahead.json"
OPTIONS = WriteOptions(actor="agent/main")
TASK, PROPOSAL = "Move it", "0123abcd"


def nothing(at: Desk) -> None:
    """No preparation, not even a first write."""


def used(at: Desk) -> None:
    at.workspace.ensure_state()


def leave_pending_edit(at: Desk) -> None:
    used(at)
    at.write("MEMORY.md", SEED.replace("- lives", "- a line of Ada's\n- lives"))


def saved_by_hand(at: Desk) -> None:
    leave_pending_edit(at)
    at.write("memory/new.md", "# New\n\n- by hand\n")


def of_two_files(at: Desk) -> None:
    at.write("memory/new.md", "# New\n")
    at.commit("a second file")
    saved_by_hand(at)
    at.commit("two files")


def with_a_fact_elsewhere(at: Desk) -> None:
    at.write("memory/a.md", "# A\n\n- lives in Rome\n- plays chess\n")
    at.commit("a second file")
    used(at)


def after(*changes: Change) -> Callable[[Desk], None]:
    def carry_out(at: Desk) -> None:
        for change in changes:
            at.apply(change)

    return carry_out


def begun(at: Desk) -> None:
    Memory(at.workspace).tasks.start(TASK, "Redis", OPTIONS)


def proposed(at: Desk) -> None:
    """A proposal under a name that is known."""
    used(at)
    edit = Remember("likes tea", section="Home", options=OPTIONS)
    proposals = Memory(at.workspace).proposals
    branch = proposals.show(proposals.propose(Propose(edit)).proposal or "").branch
    at.git("branch", "-m", branch, f"mdmem/proposals/agent-main/{PROPOSAL}")


def applied(change: Change) -> Callable[[Memory], object]:
    return lambda memory: memory.apply(change)


def changed_file(change: CreateFile | MovePath) -> Callable[[Memory], object]:
    return lambda memory: memory.change_file(change)


ELSEWHERE = Remember(
    "lives in Paris", section="Home", options=WriteOptions(supersedes="lives in Rome")
)
PAIR = ("works at Stripe", "lives in Oslo")
VERBS: dict[str, tuple[Callable[[Desk], None], Callable[[Memory], object]]] = {
    **{edit.verb: (used, applied(edit)) for edit in UNDER_POWER_CUTS},
    "log, after others": (
        after(Log("the day before", day="2026-03-04"), Log("before")),
        applied(Log("the mark")),
    ),
    "log, the first": (nothing, applied(Log("the mark"))),
    "log, of a new day": (after(Log("the day before", day="2026-03-04")), applied(Log("the mark"))),
    "edit-section, after a person's edits": (leave_pending_edit, applied(append())),
    "edit-section, a new file": (
        used,
        applied(EditSection("Note", Action.BODY, MARK, file="note.md", create=True)),
    ),
    "edit-section, in new folders": (
        used,
        applied(EditSection("Note", Action.BODY, MARK, file="memory/deep/er/a.md", create=True)),
    ),
    "remember, in place of a fact elsewhere": (with_a_fact_elsewhere, applied(ELSEWHERE)),
    "revert": (after(append()), applied(Revert("HEAD"))),
    "revert, of two files": (of_two_files, applied(Revert("HEAD"))),
    "contradicts": (used, applied(Contradict(*PAIR))),
    "conflicts --resolve": (after(Contradict(*PAIR)), applied(Resolve(*PAIR))),
    "save": (saved_by_hand, lambda memory: memory.save(Save())),
    "memory-tool, a new file of another sort": (
        used,
        changed_file(CreateFile("memory/note.txt", MARK)),
    ),
    "memory-tool, a file removed": (
        with_a_fact_elsewhere,
        changed_file(MovePath("memory/a.md", None)),
    ),
    "memory-tool, a file renamed": (
        with_a_fact_elsewhere,
        changed_file(MovePath("memory/a.md", "memory/b.md")),
    ),
    "memory-tool, a file moved": (
        with_a_fact_elsewhere,
        changed_file(MovePath("memory/a.md", "notes/deep/a.md")),
    ),
    "accept": (proposed, lambda memory: memory.proposals.decide(on(PROPOSAL))),
    "reject": (proposed, lambda memory: memory.proposals.decide(on(PROPOSAL, accepts=False))),
    "task start": (used, lambda memory: memory.tasks.start(TASK, "Redis", OPTIONS)),
    "task note": (begun, lambda memory: memory.tasks.note(TASK, "half way", OPTIONS)),
    "task done": (begun, lambda memory: memory.tasks.end(TASK, "it is moved", OPTIONS)),
}
"""Each verb, after the preparations that it needs."""


@dataclass(frozen=True)
class Commit:
    """A commit's files, and those files of git's that hold what it brought."""

    tree: State
    objects: State


@dataclass(frozen=True)
class Recorded:
    """A verb as it was carried out: the steps, and every commit that HEAD has been on, from
    `before` to `last`.
    """

    first: Look
    steps: Sequence[Step]
    commits: Mapping[str, Commit]
    before: str
    last: str

    def problems(self, steps: Sequence[Step] | None = None) -> list[str]:
        """The problems of the states that power cuts leave; `steps` replaces the recorded ones."""
        steps = self.steps if steps is None else steps
        wrong = [
            f"after step {number}: {problem}"
            for number, state in cuts(self.first, steps)
            for problem in self._wrong_in(state, False)
        ]
        lost = [
            f"at the end: {problem}"
            for state in left_at_the_end(self.first, steps)
            for problem in self._wrong_in(state, True)
        ]
        return list(dict.fromkeys([*wrong, *lost]))

    def _wrong_in(self, state: State, acknowledged: bool) -> Iterator[str]:
        """Problems that the next command could not settle: files that are neither as committed nor
        as the record says.
        """
        head = commit_in(state)
        if head not in self.commits:
            yield f"HEAD is {head or 'gone'}"
            return
        if acknowledged and head != self.last:
            yield "the commit is lost"
        yield from (
            f"{path} is damaged or lost"
            for path, data in self.commits[head].objects.items()
            if state.get(path) != data
        )
        promised = set() if acknowledged else values(journal_in(state))
        names = {Path(text).name for text in promised if isinstance(text, str)}
        moved = moved_in(journal_in(state))
        if head == self.before and is_half_done(state):
            yield "one of two files is in place, and the other one not ready"
        committed, pending = self.commits[head].tree, self.pending if head == self.before else {}
        for path in sorted({*committed, *filter(is_workspaces, state)}):
            data = state.get(path)
            if path.endswith(".tmp"):
                settled = Path(path).name.replace(".back.tmp", ".tmp") in names
            else:
                settled = data == committed.get(path) or (
                    data is not None and {path, digest(data)} <= promised
                )
                settled |= path in pending and data == pending[path]
            if (
                path == moved
                # before the commit it is in HEAD, if not under its new name; after it, it stays away
            ):
                settled = data is None or (settled and head == self.before)
            if not settled:
                yield f"{path} is neither as committed nor as recorded: {data!r}"

    @property
    def pending(self) -> State:
        """A person's edits that were not committed before."""
        before, committed = next(cuts(self.first, []))[1], self.commits[self.before].tree
        return {
            path: data
            for path, data in before.items()
            if is_workspaces(path) and data != committed.get(path)
        }


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_workspaces(path: str) -> bool:
    return not path.startswith(".git/")


def commit_in(state: State) -> str:
    """The commit that HEAD leads to."""
    target = state.get(".git/HEAD", b"").decode().removeprefix("ref: ").strip()
    return state.get(f".git/{target}", b"").decode().strip()


def journal_in(state: State) -> list[tuple[str, Any]]:
    """The parts of the journal; none where there is none or it is not whole."""
    try:
        return json.loads(state.get(JOURNAL, b"[]"))
    except ValueError:
        return []


def moved_in(parts: list[tuple[str, Any]]) -> str | None:
    """The old name of what is moved; None where nothing is."""
    return next((fields["path"] for name, fields in parts if name == "Rename"), None)


def is_half_done(state: State) -> bool:
    """True if the first of two files is in place, and the bytes of the second are nowhere."""
    steps = [fields for name, fields in journal_in(state) if name == "FileStep"]
    if len(steps) < 2:
        return False
    first, second = steps
    ready = str(Path(second["path"]).with_name(second["temporary"]))
    is_ready = any(
        digest(state.get(path, b"")) == second["after"] for path in (second["path"], ready)
    )
    return digest(state.get(first["path"], b"")) == first["after"] and not is_ready


def values(part: object) -> set[object]:
    """Everything that a journal says: paths, digests, the names of temporary files."""
    if isinstance(part, dict):
        return values([*part, *part.values()])
    return set().union(*map(values, part)) if isinstance(part, list) else {part}


def recorded(at: Desk, carry_out: Callable[[], object]) -> Recorded:
    """Record the steps of some work in a workspace."""
    before = at.git("rev-parse", "HEAD").strip()
    with Recorder(at.root) as recorder:
        carry_out()
    heads = list(dict.fromkeys(reversed(at.git("log", "-g", "--format=%H").split())))
    commits = {
        commit: Commit(tree(at, commit), objects(at, f"{before}..{commit}"))
        for commit in heads[heads.index(before) :]
    }
    return Recorded(
        recorder.first, recorder.steps, commits, before, at.git("rev-parse", "HEAD").strip()
    )


def tree(at: Desk, commit: str) -> dict[str, bytes]:
    paths = at.git("ls-tree", "-r", "-z", "--name-only", commit).split("\0")[:-1]
    return {path: at.git("show", f"{commit}:{path}").encode() for path in paths}


def objects(at: Desk, commits: str) -> dict[str, bytes]:
    """The files of git's that hold the objects of some commits."""
    names = at.git("rev-list", "--objects", "--no-object-names", commits).split()
    paths = [f".git/objects/{name[:2]}/{name[2:]}" for name in names]
    return {path: (at.root / path).read_bytes() for path in paths}


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def record(at: Desk, verb: str) -> Recorded:
    prepare, carry_out = VERBS[verb]
    prepare(at)
    memory = Memory.open(at.root, os.environ)
    return recorded(at, lambda: carry_out(memory))


def without(steps: Sequence[Step], number: int) -> list[Step]:
    """The steps as they would be without one sync, or with git told to sync nothing."""
    step = steps[number]
    left = [Git(step.command, False, step.look)] if isinstance(step, Git) else []
    return [*steps[:number], *left, *steps[number + 1 :]]


def is_sync(step: Step) -> bool:
    return not isinstance(step, Look | Git) or (isinstance(step, Git) and step.command == "commit")


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_lost_whenever_the_power_goes(at: Desk, verb: str):
    write = record(at, verb)
    assert write.last != write.before
    assert write.problems() == [], "\n".join(story(write.first, write.steps))
    if VERBS[verb][0] is not nothing:
        for number in filter(lambda number: is_sync(write.steps[number]), range(len(write.steps))):
            assert write.problems(without(write.steps, number)), (
                f"{write.steps[number]} is not needed, or this test cannot tell"
            )


REFUSED: dict[str, Change] = {
    "remember, in place of a fact elsewhere": ELSEWHERE,
    "edit-section": append(),
    "edit-section, after a person's edits": append(),
    "edit-section, a new file": EditSection("Note", Action.BODY, MARK, file="note.md", create=True),
    "edit-section, in new folders": EditSection(
        "Note", Action.BODY, MARK, file="memory/deep/er/a.md", create=True
    ),
}


@pytest.mark.parametrize("verb", REFUSED)
def test_what_a_hook_refused_does_not_come_back(at: Desk, verb: str):
    VERBS[verb][0](at)
    at.hook("commit-msg", "! grep -q Mdmem-Op $1")
    write = recorded(at, lambda: code_of(lambda: at.apply(REFUSED[verb])))
    assert write.last == write.before
    assert write.problems() == [], "\n".join(story(write.first, write.steps))


def test_the_order_of_a_write(at: Desk):
    at.apply(append("- before"))
    write = record(at, "edit-section")
    lines = [
        re.sub(r"\.mdmem-\w+\.tmp", "TEMPORARY", line) for line in story(write.first, write.steps)
    ]
    assert [line for line in lines if not line.startswith("  ")] == [
        ".git/mdmem/root/TEMPORARY is new",
        "synced TEMPORARY",
        ".git/mdmem/root/TEMPORARY is gone",
        ".git/mdmem/root/write-ahead.json is new",
        "synced the folder .git/mdmem/root",
        "TEMPORARY is new",
        "synced TEMPORARY",
        "TEMPORARY is another file",
        "MEMORY.md is another file",
        "TEMPORARY is gone",
        "synced the folder .",
        "git commit, durable",
        ".git/mdmem/root/write-ahead.json is gone",
        ".git/mdmem/root/events.jsonl is new",
    ]


NEXT_PATH = "next.md"
NEXT = EditSection("Next", Action.BODY, "- the next", file=NEXT_PATH, create=True)


def is_settled(at: Desk, write: Recorded, state: State, folder: Path) -> bool:
    """Have the next command settle what a cut has left. True if the verb is done after that."""
    left = Desk(at.world, lay_out(state, folder))
    left.apply(NEXT)
    assert not [
        place
        for place in left.root.rglob("*")
        if place.suffix == ".tmp" or place.name == Path(JOURNAL).name
    ]
    left.git("fsck", "--strict", "--no-dangling")
    committed, now = tree(left, "HEAD"), files_in(left)
    assert {
        path: data for path, data in now.items() if data != committed.get(path)
    }.items() <= write.pending.items()
    assert set(committed) <= set(now)
    del committed[NEXT_PATH]
    assert committed in [commit.tree for commit in write.commits.values()]
    made = int(left.git("rev-list", "--count", f"{write.before}..HEAD~"))
    return made == len(write.commits) - 1 and committed == write.commits[write.last].tree


def files_in(at: Desk) -> dict[str, bytes]:
    return {path: data for path, data in at.tree_state().files.items() if isinstance(data, bytes)}


FEW = ["log, of a new day", "edit-section"]


@pytest.mark.parametrize(
    "verb", [verb if verb in FEW else pytest.param(verb, marks=pytest.mark.slow) for verb in VERBS]
)
def test_the_next_command_settles_what_a_power_cut_left(at: Desk, tmp_path: Path, verb: str):
    write = record(at, verb)
    left = [state for _, state in cuts(write.first, write.steps)]
    done = [
        is_settled(at, write, state, tmp_path / f"cut {number}")
        for number, state in enumerate(left)
    ]
    assert set(done) == {False, True}
    last = left_at_the_end(write.first, write.steps)
    assert all(
        is_settled(at, write, state, tmp_path / f"end {number}")
        for number, state in enumerate(last)
    )


def exchanged(at: Desk) -> State:
    """The state that a cut leaves just after the file was exchanged."""
    write = record(at, "edit-section")
    return next(
        state
        for _, state in cuts(write.first, write.steps)
        if MARK.encode() in state["MEMORY.md"] and temporary_in(state)
    )


def temporary_in(state: State) -> str | None:
    return next((path for path in state if is_workspaces(path) and path.endswith(".tmp")), None)


@pytest.mark.parametrize("safe", [True, False], ids=["after a power cut", "after a kill"])
def test_the_power_may_go_again_while_that_is_settled(at: Desk, tmp_path: Path, safe: bool):
    state = exchanged(at)
    left = Desk(at.world, lay_out(state, tmp_path / "left"))
    write = recorded(left, lambda: left.apply(NEXT))
    assert len(write.commits) == 3
    if not safe:  # that the two files have each other's names is not on the disk yet
        names = write.first.folders[""]
        others = names | {
            "MEMORY.md": names[str(temporary_in(state))],
            str(temporary_in(state)): names["MEMORY.md"],
        }
        before = Look({**write.first.folders, "": others}, write.first.contents)
        write = replace(write, first=before, steps=[write.first, *write.steps])
    assert write.problems() == [], "\n".join(story(write.first, write.steps))


def test_what_a_person_saved_at_the_last_moment_stays_then(at: Desk, tmp_path: Path):
    state = exchanged(at)
    temporary, saved = temporary_in(state), b"# Saved\n"
    assert temporary
    left = Desk(at.world, lay_out({**state, temporary: saved}, tmp_path / "left"))
    write = recorded(left, lambda: left.apply(NEXT))
    for _, state in cuts(write.first, write.steps):
        assert state["MEMORY.md"] == saved or (
            state[temporary] == saved and Path(temporary).name in values(journal_in(state))
        )


def kept(state: State) -> State:
    """The files that have to survive: not logs and caches, and not what is made anew."""
    return {
        path: data
        for path, data in state.items()
        if not re.search(r"/(logs/.*|COMMIT_EDITMSG|lock|workspace|events\.jsonl)$", path)
    }


@pytest.mark.parametrize("folder", ["new", "new/deep/er"])
def test_a_workspace_that_was_made_is_there_after_a_power_cut(
    world: World, tmp_path: Path, folder: str
):
    top = tmp_path / "top"
    top.mkdir()
    with Recorder(top) as recorder:
        made = initialise(Initialise(str(top / folder)), os.environ)
    assert made.made_repository
    assert made.hooks
    require_kept(recorder)


def test_so_is_one_in_a_repository_that_was_there(at: Desk):
    with Recorder(at.root) as recorder:
        made = initialise(Initialise(str(at.root / "sub"), here=True), os.environ)
    assert made.commit
    require_kept(recorder)


def test_which_workspace_a_state_folder_is_for_is_never_half_said(at: Desk):
    at.write("sub/MEMORY.md", SEED)
    with Recorder(at.root) as recorder:
        Desk(at.world, at.root / "sub").workspace.ensure_state()
    records = {
        data
        for _, state in cuts(recorder.first, recorder.steps)
        for path, data in state.items()
        if path.endswith("/workspace")
    }
    assert records == {b"sub/"}


def test_hooks_that_were_taken_out_do_not_come_back(at: Desk):
    memory = Memory.open(at.root, os.environ)
    memory.hooks.install()
    with Recorder(at.root) as recorder:
        assert memory.hooks.uninstall()
    assert not [
        path
        for state in left_at_the_end(recorder.first, recorder.steps)
        for path in state
        if path.startswith(".git/hooks/")
    ]


def require_kept(recorder: Recorder) -> None:
    """Assert that a power cut at the end loses nothing."""
    whole = kept(dict(files_below(recorder.root)))
    for state in left_at_the_end(recorder.first, recorder.steps):
        assert sorted(path for path, data in whole.items() if state.get(path) != data) == []


def files_below(root: Path) -> Iterator[tuple[str, bytes]]:
    for place in root.rglob("*"):
        if place.is_file() and place.suffix != ".sample":
            yield str(place.relative_to(root)), place.read_bytes()


WORDS = "works at Stripe"


def test_what_was_purged_does_not_come_back(at: Desk, tmp_path: Path):
    at.apply(append())
    with Recorder(at.root) as recorder:
        Memory.open(at.root, os.environ).purge(Purge(WORDS))
    for number, state in enumerate(left_at_the_end(recorder.first, recorder.steps)):
        require_purged(Desk(at.world, lay_out(state, tmp_path / f"end {number}")))


def require_purged(at: Desk) -> None:
    assert WORDS not in at.read("MEMORY.md")
    assert WORDS not in at.git("log", "--all", "-p")
    assert all(
        WORDS.encode() not in data for path, data in files_below(at.root) if is_workspaces(path)
    )
    assert at.git("status", "--porcelain", "-uno") == ""
    at.git("fsck", "--strict", "--no-dangling")


@pytest.mark.slow
def test_a_second_purge_completes_one_that_a_power_cut_ended(at: Desk, tmp_path: Path):
    at.apply(append())
    with Recorder(at.root) as recorder:
        Memory.open(at.root, os.environ).purge(Purge(WORDS))
    for number, (_, state) in enumerate(cuts(recorder.first, recorder.steps)):
        left = Desk(at.world, lay_out(state, tmp_path / f"cut {number}"))
        Memory.open(left.root, os.environ).purge(Purge(WORDS))
        require_purged(left)


def test_git_syncs_what_a_commit_consists_of(at: Desk, tmp_path: Path):
    """The objects of a commit (blob, tree, commit), the branch, and the index where git writes it
    alone, by git's own counts.

    Newer versions of git count it in an event of its own.
    """
    trace = tmp_path / "trace"
    at.world.run(at.root, ["git", "config", "--global", "trace2.eventTarget", trace])
    at.apply(Log("the mark"))
    flushes: dict[str, int] = {}
    names: dict[str, str] = {}
    for line in trace.read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "cmd_name":
            names[event["sid"]] = event["name"]
        elif event["event"] == "data" and event.get("key") == "fsync/hardware-flush":
            flushes[names[event["sid"]]] = int(event["value"])
        elif event["event"] == "counter" and event.get("name") == "hardware-flush":
            flushes[names[event["sid"]]] = int(event["count"])
    assert flushes["commit"] >= 5
    assert flushes["add"] >= 1
