"""Secrets on their way into memory: refused before anything is written, and their values nowhere
afterwards.
"""

import json
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import World
from workspaces import MARK, NOW, SEED, TOKEN, Desk, append, desk

from mdmem import events
from mdmem.cli import main
from mdmem.folder.hook_files import install
from mdmem.memory import Memory, staged_problems
from mdmem.model.errors import MdmemError
from mdmem.model.writes import (
    Action,
    Change,
    EditSection,
    Forget,
    Log,
    Remember,
    Save,
    WriteOptions,
)

OTHER = "gh" + "p_" + "b7Jp3YrV8wKl5UaM6bXs" + "Q4dT5hNo2CeF6gIj"
LOG = "memory/2026-03-05.md"


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def nowhere(at: Desk, value: str = TOKEN) -> None:
    """Assert that a value is in no file of the work tree or the git folder, and in no object."""
    holding = [
        str(path)
        for path in at.root.rglob("*")
        if path.is_file() and value.encode() in path.read_bytes()
    ]
    assert holding == []
    objects = (at.root / ".git" / "objects").glob("??/*")
    assert not any(value.encode() in zlib.decompress(path.read_bytes()) for path in objects)


def failure(action: Callable[[], object]) -> MdmemError:
    with pytest.raises(MdmemError) as raised:
        action()
    return raised.value


REFUSED: list[tuple[Change, int]] = [
    (append(f"- deploys with {TOKEN}"), 6),
    (EditSection("Work", Action.BODY, f"- a\n- b\n\n{TOKEN}"), 8),
    (EditSection("Work", Action.PREPEND, TOKEN), 5),
    (EditSection("Work", Action.REPLACE, "Stripe", TOKEN), 5),
    (EditSection("Work", Action.RENAME, TOKEN), 3),
    (EditSection(TOKEN, Action.BODY, "- a", create=True), 11),
    (Log(f"got {TOKEN}"), 7),
    (Remember(f"uses {TOKEN}", section="Work"), 6),
    (Remember(TOKEN, section="Work", key="token"), 6),
]
NOTE_FIELDS = ["reason", "actor", "session"]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("change", "line"), REFUSED)
def test_refused(at: Desk, change: Change, line: int, dry_run: bool):
    before = at.tree_state()
    problem = failure(lambda: at.apply(replace(change, options=WriteOptions(dry_run=dry_run))))
    assert (problem.code, problem.details) == (
        "secret-found",
        {"line": line, "kind": "github-token"},
    )
    assert problem.message.endswith(".md: possible secret (github-token) in the text given")
    assert problem.hint.startswith("Remove it. False alarm?")
    assert problem.hint.endswith(" Nothing was written.")
    assert TOKEN not in problem.message + problem.hint
    assert at.tree_state() == before
    nowhere(at)


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("name", NOTE_FIELDS)
def test_refused_beside_the_text(at: Desk, name: str, dry_run: bool):
    before = at.tree_state()
    problem = failure(lambda: at.apply(append(dry_run=dry_run, **{name: f"a {TOKEN}"})))
    assert (problem.code, problem.details) == ("secret-found", {"line": 1, "kind": "github-token"})
    assert str(problem).startswith(f"{name}:1: ")
    assert TOKEN not in problem.message + problem.hint
    assert at.tree_state() == before
    nowhere(at)


def test_refused_as_actor_from_the_environment(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MDMEM_ACTOR", TOKEN)
    assert failure(lambda: at.apply(append())).code == "secret-found"
    nowhere(at)


@pytest.mark.parametrize("name", ["--body", *(f"--{name}" for name in NOTE_FIELDS)])
def test_the_command_line_says_no_value(at: Desk, name: str):
    words = [
        "edit-section",
        "Work",
        "--json",
        *(["--append", MARK] if name != "--body" else []),
        name,
        f"x {TOKEN}",
    ]
    done = at.world.run(at.root, [sys.executable, "-m", "mdmem", *words], check=False)
    answer = json.loads(done.stderr)
    assert (done.returncode, answer["error"], answer["kind"]) == (1, "secret-found", "github-token")
    assert TOKEN not in done.stdout + done.stderr
    nowhere(at)
    recorded = list(events.read_events(at.workspace.state))
    assert [event.code for event in recorded] == ["secret-found"]


NAMES = [
    f"memory/{TOKEN}.md",
    f"memory/{TOKEN}/a.md",
    f"memory/2026-03-05-{TOKEN}.md",
    f"memory/{TOKEN.replace('_', chr(92) + '_')}.md",
]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("name", NAMES[:2])
def test_refused_as_the_name_of_a_file(at: Desk, name: str, dry_run: bool):
    before = at.tree_state()
    change = EditSection(
        "New", Action.APPEND, "- x", file=name, create=True, options=WriteOptions(dry_run=dry_run)
    )
    problem = failure(lambda: at.apply(change))
    assert (problem.code, problem.details) == ("secret-found", {"line": 1, "kind": "github-token"})
    assert problem.message.startswith("memory/[REDACTED:github-token]")
    assert problem.message.endswith(".md: possible secret (github-token) in the name of the file")
    assert TOKEN not in problem.message + problem.hint
    assert at.tree_state() == before
    assert at.apply(replace(change, options=WriteOptions(allow=frozenset({"secret"})))).commit


@pytest.mark.parametrize("name", NAMES)
def test_refused_as_the_name_of_a_file_that_a_person_made(at: Desk, name: str):
    at.write(name, "# A\n\n- x\n")
    memory = Memory(at.workspace)
    problem = failure(lambda: memory.save(Save()))
    assert problem.code == "secret-found"
    assert TOKEN not in problem.message + problem.hint
    (listed,) = (problem for problem in memory.check() if problem.code == "secret-found")
    assert "[REDACTED:github-token]" in listed.path
    at.git("add", "-A")
    (staged,) = staged_problems(at.root, os.environ)
    assert (staged.code, staged.path) == ("secret-found", listed.path)
    at.git("reset", "-q")
    if "2026" not in name and chr(92) not in name:
        pending = failure(lambda: at.apply(append(section="A", file=name)))
        assert pending.code == "pending-secret"
        assert TOKEN not in pending.message + pending.hint
    assert memory.save(Save(allow=frozenset({"secret"})))


def test_refused_as_the_new_name_of_a_file(at: Desk):
    at.write("memory/a.md", "# A\n\n- x\n- y\n- z\n")
    at.commit("more")
    at.git("mv", "memory/a.md", NAMES[0])
    assert [problem.code for problem in staged_problems(at.root, os.environ)] == ["secret-found"]


def test_a_name_that_is_in_git_is_named_by_check_alone(at: Desk):
    at.write(NAMES[0], "# A\n\n- x\n")
    at.commit("more")
    assert at.apply(append(section="A", file=NAMES[0])).commit
    assert [problem.code for problem in Memory(at.workspace).check()] == ["secret-found"]


def test_a_refusal_that_quotes_a_line_says_no_value(at: Desk):
    at.write(LOG, f"# 2026-03-05\n\n## 10:00\n\n- {TOKEN}\n")
    at.commit("before")
    at.write(LOG, "# 2026-03-05\n\n## 10:00\n\n- x\n")
    problem = failure(lambda: Memory(at.workspace).save(Save()))
    assert (problem.code, TOKEN in problem.message + problem.hint) == ("append", False)


@pytest.mark.parametrize(
    "words",
    [
        ["show", f"{TOKEN}.md"],
        ["show", TOKEN],
        ["remember", "x", "--kind", TOKEN],
        ["forget", TOKEN],
        ["log", "x", "--date", TOKEN],
        ["edit-section", "Work", "--append", "x", "--file", f"{TOKEN}.md"],
        ["remember", "x", "--file", f"../{TOKEN}.md"],
        [TOKEN],
        ["log", "x", f"--{TOKEN}"],
    ],
)
def test_no_failure_says_a_value(
    at: Desk,
    words: list[str],
    commands_built_once: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(at.root)
    for more in ([], ["--json"]):
        assert main([*words, *more]) in (1, 2)
        printed = capsys.readouterr()
        assert printed.out or printed.err
        assert TOKEN not in printed.out + printed.err
    nowhere(at)


@pytest.mark.parametrize("change", [change for change, _ in REFUSED])
def test_allowed_by_option(at: Desk, change: Change):
    assert at.apply(replace(change, options=WriteOptions(allow=frozenset({"secret"})))).commit
    assert any(TOKEN in path.read_text() for path in at.root.rglob("*.md"))


@pytest.mark.parametrize("allow", [frozenset(), frozenset({"shrink"})])
def test_another_allowance_is_none(at: Desk, allow: frozenset[str]):
    assert failure(lambda: at.apply(append(TOKEN, allow=allow))).code == "secret-found"


def test_allowed_by_comment(at: Desk):
    assert at.apply(append(f"- {TOKEN} <!-- mdmem: allow secret -->")).commit


class TestThereBefore:
    @pytest.fixture
    def leaky(self, world: World, repository: Path) -> Desk:
        return desk(
            world,
            repository,
            seed=SEED.replace("- works at Stripe\n", f"- works at Stripe\n- token {TOKEN}\n"),
        )

    @pytest.mark.parametrize(
        "change",
        [
            append(),
            append(section="Home"),
            Remember("likes tea", section="Work"),
            Forget(f"token {TOKEN}"),
            EditSection("Work", Action.BODY, "- nothing"),
            EditSection("Work", Action.DELETE),
            EditSection("Work", Action.BODY, f"- token {TOKEN}\n- works at Stripe"),
            EditSection("Work", Action.RENAME, "Job"),
            EditSection("Work", Action.REPLACE, f"- token {TOKEN}", "- gone"),
        ],
    )
    def test_it_blocks_nothing_else(self, leaky: Desk, change: Change):
        assert leaky.apply(change).commit

    @pytest.mark.parametrize("change", [append(f"- token {TOKEN}", section="Home"), append(OTHER)])
    def test_one_more_is_refused(self, leaky: Desk, change: Change):
        assert failure(lambda: leaky.apply(change)).code == "secret-found"


class TestByHand:
    HAND = SEED + f"- pin {TOKEN}\n"

    @pytest.mark.parametrize("staged", [False, True])
    def test_pending(self, at: Desk, staged: bool):
        at.write("MEMORY.md", self.HAND)
        if staged:
            at.git("add", "MEMORY.md")
        before = at.tree_state()
        problem = failure(lambda: at.apply(append()))
        assert (problem.code, problem.details) == (
            "pending-secret",
            {"line": 10, "kind": "github-token"},
        )
        assert TOKEN not in problem.message + problem.hint
        assert at.tree_state() == before
        assert at.apply(append(allow=frozenset({"secret"}))).commit
        assert len(at.subjects()) == 3

    def test_pending_elsewhere_is_no_matter(self, at: Desk):
        at.write("memory/topic.md", TOKEN)
        assert at.apply(append()).commit

    def test_pending_edit_that_takes_it_out(self, at: Desk):
        at.write("MEMORY.md", self.HAND)
        at.commit("leak")
        at.write("MEMORY.md", SEED)
        assert at.apply(append()).commit

    def test_save(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        at.write("MEMORY.md", self.HAND)
        before = at.tree_state()
        problem = failure(lambda: Memory(at.workspace).save(Save()))
        assert (problem.code, problem.details) == (
            "secret-found",
            {"line": 10, "kind": "github-token"},
        )
        assert TOKEN not in problem.message + problem.hint
        assert at.tree_state() == before
        monkeypatch.setenv("MDMEM_ALLOW", "secret")
        assert Memory(at.workspace).save(Save())[0]

    @pytest.mark.parametrize("hooked", [False, True])
    def test_a_save_that_is_allowed_by_option(self, at: Desk, hooked: bool):
        if hooked:
            install(at.workspace.repository.hooks_dir, sys.executable)
        at.write("MEMORY.md", self.HAND)
        assert (
            failure(lambda: Memory(at.workspace).save(Save(allow=frozenset({"shrink"})))).code
            == "secret-found"
        )
        assert Memory(at.workspace).save(Save(allow=frozenset({"secret"})))[0]

    def test_the_message_of_a_save(self, at: Desk):
        at.write("MEMORY.md", SEED + MARK + "\n")
        before = at.tree_state()
        assert failure(lambda: Memory(at.workspace).save(Save(f"a {TOKEN}"))).code == "secret-found"
        assert at.tree_state() == before
        nowhere(at)
        assert Memory(at.workspace).save(Save(f"a {TOKEN}", frozenset({"secret"})))[0]

    def test_the_hook(self, at: Desk):
        install(at.workspace.repository.hooks_dir, sys.executable)
        at.write("MEMORY.md", self.HAND)
        at.git("add", "-A")
        refused = at.world.git(at.root, "commit", "-q", "-m", "x", check=False)
        assert refused.returncode == 1
        assert "MEMORY.md:10: possible secret (github-token)" in refused.stderr
        assert "MDMEM_ALLOW=secret" in refused.stderr
        assert TOKEN not in refused.stdout + refused.stderr
        passed = at.world.git(
            at.root, "commit", "-q", "-m", "x", environment={"MDMEM_ALLOW": "secret"}
        )
        assert "allowed: possible secret" in passed.stderr
        assert len(at.subjects()) == 2

    def test_the_hook_lets_a_removal_pass(self, at: Desk):
        at.write("MEMORY.md", self.HAND)
        at.commit("leak")
        install(at.workspace.repository.hooks_dir, sys.executable)
        at.write("MEMORY.md", SEED)
        at.commit("mended")
        assert at.subjects()[0] == "mended"


def test_other_markdown_is_not_guarded(at: Desk):
    at.write("README.md", f"# Read\n\n{TOKEN}\n")
    assert at.apply(append(OTHER, "Read", "README.md")).commit
    install(at.workspace.repository.hooks_dir, sys.executable)
    at.write("docs.md", TOKEN)
    at.commit("x")


def test_an_edit_that_shrinks_leaves_a_warning_event(world: World, repository: Path):
    at = desk(
        world,
        repository,
        seed=SEED + "\n## Long\n\n" + "".join(f"- fact {number}\n" for number in range(60)),
    )
    memory = Memory(at.workspace)
    edit = EditSection("Long", Action.BODY, "- one")
    assert memory.apply(edit).commit
    assert memory.apply(append()).commit
    assert [event.warnings for event in events.read_events(at.workspace.state)] == [
        ("shrink", "weaker-source"),
        (),
    ]
