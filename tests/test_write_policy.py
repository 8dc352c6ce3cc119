"""Agents that propose: by no door does their write change a file, git's index or HEAD, but for
days' logs.

The tables are complete by construction: what the program lists (commands, tools, records, methods,
events) and they do not have fails a test.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from inspect import getmembers
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, get_args

import pytest
from command_table import (
    A_DOOR,
    AGENT,
    LOGGED,
    NO_WRITE,
    OPTIONS,
    PROPOSED,
    RECORDS,
    REFUSED,
    TODAY,
    YESTERDAY,
    Fate,
)
from command_table import ROWS as COMMAND_ROWS
from commandline import commands_built_once as commands_built_once
from conftest import World, sealed_world
from dreams import Said, digested, settings
from proposal_actions import on
from session_files import claude
from workspaces import Desk, TreeState, match_index

from mdmem import agenthooks, memory
from mdmem.changes.tasks import Tasks
from mdmem.cli import main
from mdmem.cli.commands import COMMANDS
from mdmem.folder.trust import HOST_MARKS
from mdmem.mcp.door import Door
from mdmem.mcp.tools import TOOLS
from mdmem.memory import Memory
from mdmem.memory.pipeline_steps import Pipelines
from mdmem.memory.proposals import Proposals
from mdmem.memtool import Backend
from mdmem.memtool import backend as tool_commands
from mdmem.model.pipelines import Digest, Dream
from mdmem.model.proposals import Propose, ProposeBranch
from mdmem.model.writes import (
    Change,
    MovePath,
    Purge,
    Remember,
    Save,
    WholeFileEdit,
    WriteOptions,
)
from mdmem.proposals import branches

NOW = "2026-03-05T10:00:00"
SEED = (
    "# Memory\n\n## Facts\n\n- home: Oslo\n- likes tea\n- it rained\n\n"
    "## Work\n\nThe office is at the harbour.\n\n- employer: Stripe\n- employer: Figma\n"
)
FILES = {
    "MEMORY.md": SEED,
    YESTERDAY: "# 2026-03-04\n\n## 09:00\n\n- it rained\n- the key is under the mat\n",
    "memory/house.md": "# House\n\n- two floors\n- one garden\n",
    "memory/tasks.md": "# Tasks\n\n## Move\n\nGoal: to Redis.\n",
    "notes.txt": "no memory\n",
}
PROPOSING = {
    "for all agents": ('write = "propose"', ""),
    "for one agent": ('[actor."x"]\nwrite = "propose"', ""),
    "in one workspace": ('[in."{root}"]\nwrite = "propose"', ""),
    "by the workspace": ('write = "apply"', "agents_propose = true"),
}


@pytest.fixture(scope="session")
def laid_out(tmp_path_factory: pytest.TempPathFactory, empty_repository: Path) -> Path:
    """A workspace with an open proposal and a branch, made once."""
    folder = tmp_path_factory.mktemp("laid_out")
    repository = Path(shutil.copytree(empty_repository, folder / "repository"))
    with pytest.MonkeyPatch.context() as patch:
        at = Desk(sealed_world(folder, patch), repository)
        patch.setenv("MDMEM_NOW", NOW)
        for path, text in FILES.items():
            at.write(path, text)
        at.commit("files")
        at.git("switch", "-q", "-c", "feature")
        at.write("MEMORY.md", SEED.replace("likes tea", "likes coffee"))
        at.commit("coffee")
        at.git("switch", "-q", "main")
        with closing(Memory.open(at.root, os.environ)) as opened:
            edit = Remember("plays the cello", section="Facts", options=WriteOptions(actor="bot"))
            opened.proposals.propose(Propose(edit))
    return repository


@pytest.fixture
def at(world: World, repository: Path, laid_out: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """That workspace, with a person's edit that is not committed."""
    monkeypatch.setenv("MDMEM_NOW", NOW)
    shutil.copytree(laid_out, repository, dirs_exist_ok=True)
    match_index(repository)
    at = Desk(world, repository)
    at.write("memory/house.md", FILES["memory/house.md"] + "- a person's line\n")
    at.write("memory/draft.md", "# A person's draft\n")
    monkeypatch.chdir(at.root)
    return at


def set_up(at: Desk, setting: str) -> None:
    own, workspace = PROPOSING[setting]
    settings(at.world, own.replace("{root}", str(at.root)))
    if workspace:
        at.write("mdmem.toml", f"{workspace}\n")
        at.commit("settings", "mdmem.toml")


def the_proposal(at: Desk) -> str:
    (proposal,) = (
        ref.id for ref in branches.open_proposals(at.workspace).values() if ref.actor == "bot"
    )
    return proposal


@dataclass(frozen=True)
class Seen:
    """What is in a workspace."""

    tree: TreeState
    commits: str
    proposals: int


def look(at: Desk) -> Seen:
    proposals = len(at.git("for-each-ref", "refs/heads/mdmem/proposals").splitlines())
    return Seen(at.tree_state(), at.git("rev-list", "HEAD"), proposals)


def check(at: Desk, before: Seen, fate: Fate, text: str) -> None:
    """Nothing of the workspace has changed, but for days' logs where the fate is to log."""
    after = look(at)
    if fate is LOGGED:
        changed = at.git("diff", "--name-only", before.commits.split()[0], "HEAD").split()
        assert changed, text
        assert set(changed) <= {TODAY, YESTERDAY}
        kept = {
            path: data for path, data in before.tree.files.items() if path not in (TODAY, YESTERDAY)
        }
        assert {path: after.tree.files[path] for path in kept} == kept
        assert set(after.tree.files) <= {*kept, TODAY, YESTERDAY}
    else:
        assert (after.tree, after.commits) == (before.tree, before.commits), text
    assert after.proposals - before.proposals == (fate is PROPOSED), text


# Lines that only people may change, here all.

RULES = 'people_only = ["**/*.md"]\n'


def set_rules(at: Desk) -> None:
    """Let a person write rules, which hold before they are committed."""
    at.write("mdmem.toml", RULES)


def ruled(fate: Fate, words: str = "") -> Fate:
    """What becomes of a write where the rules cover all files: only what is asked to is proposed."""
    is_asked = "--propose" in words or "feature" in words
    return REFUSED if fate in (PROPOSED, LOGGED) and not is_asked else fate


# The command line.

ROWS = [(name, *call) for name, row in COMMAND_ROWS.items() for call in row.fates]
WRITING = [row for row in ROWS if row[2] not in (NO_WRITE, A_DOOR)]
"""What a person would have written with; in an agent's hands none of it changes memory."""
BY_ACTOR = {name for name, _, _ in WRITING} - {"init", "import", "digest", "dream", "sync"}


def test_each_command_has_its_rows() -> None:
    assert list(COMMAND_ROWS) == list(COMMANDS)
    assert all(row.fates for row in COMMAND_ROWS.values())


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    at: Desk,
    commands_built_once: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    def run(name: str, words: str, *more: str) -> tuple[int, str, str]:
        transcript = claude(at.world.home, "remember that the ferry leaves at nine")
        words = words.replace("{transcript}", str(transcript))
        if "{proposal}" in words:
            words = words.replace("{proposal}", the_proposal(at))
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"")))
        capsys.readouterr()
        status = main([*name.split(), *shlex.split(words), *more])
        return status, *capsys.readouterr()

    return run


def check_command(at: Desk, run: Run, row: tuple[str, str, Fate], *more: str) -> None:
    name, words, fate = row
    before = look(at)
    status, out, err = run(name, words, *more, *(() if fate is NO_WRITE else ("--json",)))
    check(at, before, fate, f"{out}{err}")
    if fate in (PROPOSED, LOGGED):
        assert status == 0, err
        assert fate is LOGGED or json.loads(out)["proposal"]
    elif fate is NO_WRITE:
        assert status != 2, err
    else:
        assert (status, json.loads(err)["error"]) == (1, fate.value)


@pytest.mark.parametrize("row", [row for row in ROWS if row[2] is not A_DOOR], ids=repr)
def test_no_command_writes_past_it(
    at: Desk, run: Run, row: tuple[str, str, Fate], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(at, "for one agent")
    monkeypatch.setenv("MDMEM_ACTOR", AGENT)
    check_command(at, run, row)


PIPELINES_OF_COMMANDS = ("digest", "dream", "sync", "init", "import")


@pytest.mark.parametrize(
    "row",
    [
        row
        for row in WRITING
        if row[0] not in PIPELINES_OF_COMMANDS and row[:2] != ("review", "--apply")
    ],
    ids=repr,
)
def test_no_command_changes_what_only_people_may(
    at: Desk, run: Run, row: tuple[str, str, Fate], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_rules(at)
    monkeypatch.setenv("MDMEM_ACTOR", AGENT)
    name, words, fate = row
    if "README.md" in words:
        return  # no memory, and `**/*.md` covers it all the same
    check_command(at, run, (name, words, ruled(fate, words)))


@pytest.mark.parametrize("setting", [name for name in PROPOSING if name != "for one agent"])
@pytest.mark.parametrize("name", [name for name in COMMAND_ROWS if name in BY_ACTOR])
def test_no_actor_writes_past_it(at: Desk, run: Run, name: str, setting: str) -> None:
    """One row of each command that writes: what becomes of a write does not hang on the door."""
    set_up(at, setting)
    for words, fate in COMMAND_ROWS[name].fates:
        if fate in (PROPOSED, LOGGED, REFUSED):
            check_command(at, run, (name, words, fate), "--actor", AGENT)
            break


@pytest.mark.parametrize(("variable", "host"), HOST_MARKS.items())
def test_no_hosts_shell_writes_past_it(
    at: Desk, run: Run, variable: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by another name either."""
    settings(at.world, f'[actor."{host}"]\nwrite = "propose"')
    monkeypatch.setenv(variable, "1")
    for row in (
        ("remember", "'has a cat' --section Facts", PROPOSED),
        ("remember", "'has a dog' --section Facts --actor another", PROPOSED),
        ("log", "'the sun shone'", LOGGED),
        ("revert", "HEAD", REFUSED),
        ("save", "--actor another", REFUSED),
    ):
        check_command(at, run, row)


@pytest.mark.parametrize(
    "row",
    [
        row
        for row in WRITING
        if row[2] in (PROPOSED, REFUSED) and "--propose" not in row[1] and row[0] != "sync"
    ],
    ids=repr,
)
def test_a_person_writes_as_ever(at: Desk, run: Run, row: tuple[str, str, Fate]) -> None:
    """So each row is of something that writes; a sync needs a remote for that."""
    name, words, _ = row
    settings(at.world, 'write = "propose"')
    before = look(at)
    status, _, err = run(name, words)
    assert status == 0, err
    after = look(at)
    assert after.commits != before.commits or (name, words) in WITHOUT_A_COMMIT


WITHOUT_A_COMMIT = {
    ("propose", "feature"),
    ("init", "."),
    ("dream", "--apply"),
    ("review", "--apply"),
}


def test_an_answer_says_that_it_is_proposed(at: Desk, run: Run) -> None:
    settings(at.world, 'write = "propose"')
    words = ("remember", "'has a cat' --section Facts", "--actor", AGENT)
    answer = json.loads(run(*words, "--dry-run", "--json")[1])
    assert (answer["proposed"], answer["proposal"], "has a cat" in answer["diff"]) == (
        True,
        None,
        True,
    )
    _, out, err = run(*words)
    proposal = out.split()[2].rstrip(":")
    assert out.startswith(f"proposed as {proposal}: MEMORY.md: Memory > Facts [")
    assert out.endswith("] (nothing changed yet)\n")
    assert err == f"mdmem: A person decides: mdmem review --proposals {proposal}\n"
    answer = json.loads(run(*words, "--json")[1])
    assert (answer["changed"], answer["proposed"], answer["proposal"]) == (False, True, proposal)
    assert answer["hint"] == f"A person decides: mdmem review --proposals {proposal}"
    assert run(*words)[1].startswith(f"already proposed in {proposal}: ")
    _, out, _ = run("remember", "'likes tea' --section Facts", "--actor", AGENT, "--json")
    assert "proposed" not in json.loads(out)


def test_what_was_only_proposed_is_taken_back(at: Desk, run: Run) -> None:
    settings(at.world, 'write = "propose"')
    fact = "'has a cat'"
    _, out, _ = run("remember", f"{fact} --section Facts", "--actor", AGENT)
    proposal = out.split()[2].rstrip(":")
    _, out, err = run("forget", fact, "--actor", AGENT)
    assert out.startswith(f"no longer proposed in {proposal}: MEMORY.md: Memory > Facts [")
    assert err == ""
    run("remember", f"{fact} --section Facts", "--actor", AGENT)
    answer = json.loads(run("forget", fact, "--actor", AGENT, "--json")[1])
    assert (answer["proposed"], answer["taken_back"], "hint" in answer) == (True, True, False)


def test_a_proposed_removal_that_is_stated_again_is_taken_back(at: Desk, run: Run) -> None:
    settings(at.world, 'write = "propose"')
    for verb, beginning in (("forget", "proposed as "), ("remember", "no longer proposed in ")):
        assert run(verb, "'likes tea' --section Facts", "--actor", AGENT)[1].startswith(beginning)


def test_a_task_is_proposed_once(at: Desk, run: Run) -> None:
    settings(at.world, 'write = "propose"')
    for beginning in ("proposed as", "already proposed in"):
        assert run("task start", "Paint white", "--actor", AGENT)[1].startswith(beginning)


# The server.

SERVER: Mapping[str, list[tuple[dict[str, Any], Fate]]] = {
    "memory_remember": [
        ({"text": "has a cat", "section": "Facts"}, PROPOSED),
        ({"text": "has a dog", "section": "Facts", "supersedes": "likes tea"}, PROPOSED),
    ],
    "memory_log": [
        ({"text": "the sun shone"}, LOGGED),
        ({"text": "it shone", "supersedes": "the key is under the mat"}, LOGGED),
        ({"text": "likes coffee", "supersedes": "likes tea"}, Fate.IN_PLACE),
    ],
    "memory_edit": [
        ({"section": "Facts", "append": "- has a cat"}, PROPOSED),
        ({"section": "Facts", "replace": "tea", "with": "coffee"}, PROPOSED),
        ({"section": "Facts", "body": "- has a cat", "expect": "{etag}"}, PROPOSED),
        ({"section": "Facts", "delete": True, "expect": "{etag}"}, PROPOSED),
    ],
    "memory_forget": [({"fact": "likes tea"}, PROPOSED)],
    "memory_task": [
        ({"action": "start", "name": "Paint", "text": "white"}, PROPOSED),
        ({"action": "note", "name": "Move", "text": "half is done"}, PROPOSED),
        ({"action": "done", "name": "Move", "text": "moved"}, REFUSED),
        ({"action": "show", "name": "Move"}, NO_WRITE),
        ({"action": "list"}, NO_WRITE),
    ],
}


def test_each_tool_that_writes_has_its_rows() -> None:
    assert set(SERVER) == {name for name, tool in TOOLS.items() if tool.writes}
    actions = {row["action"] for row, _ in SERVER["memory_task"]}
    assert actions == set(TOOLS["memory_task"].arguments["action"]["enum"])


@pytest.mark.parametrize("setting", ["for one agent", "by the workspace"])
@pytest.mark.parametrize(
    ("tool", "arguments", "fate"),
    [(tool, *row) for tool, rows in SERVER.items() for row in rows],
    ids=repr,
)
def test_no_tool_writes_past_it(
    at: Desk, tool: str, arguments: dict[str, Any], fate: Fate, setting: str
) -> None:
    set_up(at, setting)
    before = look(at)
    with closing_door(at) as door:
        if "expect" in arguments:
            section, _ = door.call_tool("memory_get", {"name": "Facts"}, "x")
            arguments = arguments | {"expect": section.split()[-1]}
        text, failed = door.call_tool(tool, arguments, "x")
    check(at, before, fate, text)
    assert failed is (fate not in (PROPOSED, LOGGED, NO_WRITE))
    if failed:
        assert json.loads(text)["error"] == fate.value
    elif fate is PROPOSED:
        answer = json.loads(text)
        assert (answer["changed"], answer["proposed"]) == (True, True)
        assert answer["hint"] == f"A person decides: mdmem review --proposals {answer['proposal']}"
    elif fate is LOGGED:
        assert "proposed" not in json.loads(text)


@pytest.mark.parametrize(
    ("tool", "arguments", "fate"),
    [(tool, *row) for tool, rows in SERVER.items() for row in rows if "expect" not in row[0]],
    ids=repr,
)
def test_no_tool_changes_what_only_people_may(
    at: Desk, tool: str, arguments: dict[str, Any], fate: Fate
) -> None:
    set_rules(at)
    before = look(at)
    with closing_door(at) as door:
        text, failed = door.call_tool(tool, arguments, "x")
    check(at, before, fate if fate is NO_WRITE else REFUSED, text)
    assert failed is (fate is not NO_WRITE)
    if failed:
        assert json.loads(text)["error"] == ruled(fate).value


@contextmanager
def closing_door(at: Desk) -> Iterator[Door]:
    door = Door(str(at.root), os.environ)
    try:
        yield door
    finally:
        door.close(1)


# The memory tool.

NEW = "# Cats\n\n- Miez\n"
MEMORY_TOOL: Mapping[str, list[tuple[dict[str, Any], Fate]]] = {
    "view": [({"path": "/memories/MEMORY.md"}, NO_WRITE)],
    "create": [
        ({"path": "/memories/cats.md", "file_text": NEW}, PROPOSED),
        ({"path": "/memories/2026-03-05.md", "file_text": "# 2026-03-05\n\n- warm\n"}, LOGGED),
        ({"path": "/memories/cats.txt", "file_text": NEW}, REFUSED),
        ({"path": "/memories/empty.md", "file_text": ""}, REFUSED),
        ({"path": "/memories/CLAUDE.md", "file_text": NEW}, Fate.BAD_PATH),
        ({"path": "/memories/cats/MEMORY.md", "file_text": NEW}, Fate.BAD_PATH),
        ({"path": "/memories/house.md", "file_text": NEW}, Fate.EXISTS),
        ({"path": "/memories/draft.md", "file_text": NEW}, Fate.EXISTS),
    ],
    "str_replace": [
        ({"path": "/memories/MEMORY.md", "old_str": "tea", "new_str": "coffee"}, PROPOSED),
        ({"path": "/memories/MEMORY.md", "old_str": "harbour", "new_str": "port"}, PROPOSED),
        (
            {
                "path": "/memories/MEMORY.md",
                "old_str": "- home: Oslo\n- likes tea",
                "new_str": "- likes tea\n- home: Oslo",
            },
            REFUSED,
        ),
        (
            {"path": "/memories/2026-03-04.md", "old_str": "rained", "new_str": "shone"},
            Fate.APPEND_ONLY,
        ),
    ],
    "insert": [
        ({"path": "/memories/MEMORY.md", "insert_line": 5, "insert_text": "- a cat"}, PROPOSED),
        ({"path": "/memories/2026-03-04.md", "insert_line": 6, "insert_text": "- warm"}, LOGGED),
    ],
    "delete": [
        ({"path": "/memories/house.md"}, REFUSED),
        ({"path": "/memories/MEMORY.md"}, REFUSED),
        ({"path": "/memories/2026-03-04.md"}, REFUSED),
    ],
    "rename": [({"old_path": "/memories/house.md", "new_path": "/memories/home.md"}, REFUSED)],
}


def test_each_command_of_the_memory_tool_has_its_rows() -> None:
    assert set(MEMORY_TOOL) == set(tool_commands._ARGUMENTS)


@pytest.fixture
def backend(at: Desk) -> Iterator[Backend]:
    backend = Backend(Memory.open(at.root, os.environ))
    yield backend
    backend.close()


@pytest.mark.parametrize(
    ("command", "values", "fate"),
    [(command, *row) for command, rows in MEMORY_TOOL.items() for row in rows],
    ids=repr,
)
def test_the_memory_tool_does_not_write_past_it(
    at: Desk, backend: Backend, command: str, values: dict[str, Any], fate: Fate
) -> None:
    set_up(at, "for all agents")
    before = look(at)
    answer = backend.answer({"command": command, **values})
    check(at, before, fate, answer.text)
    assert answer.code == (None if fate in (PROPOSED, LOGGED, NO_WRITE) else fate.value)
    if fate is PROPOSED:
        proposal = answer.text.split()[2].rstrip(":")
        assert answer.text == (
            f"Proposed as {proposal}: {values['path']} is unchanged until a person accepts this"
            f" (mdmem review --proposals {proposal})."
        )


@pytest.mark.parametrize(
    ("command", "values", "fate"),
    [(command, *row) for command, rows in MEMORY_TOOL.items() for row in rows],
    ids=repr,
)
def test_the_memory_tool_does_not_change_what_only_people_may(
    at: Desk, backend: Backend, command: str, values: dict[str, Any], fate: Fate
) -> None:
    set_rules(at)
    if values.get("path", "").endswith((".txt", "2026-03-04.md")) and command != "insert":
        return  # in no place, or a day's log, of which nothing is removed
    before = look(at)
    answer = backend.answer({"command": command, **values})
    check(at, before, REFUSED if fate is not NO_WRITE else fate, answer.text)
    assert answer.code == (None if fate is NO_WRITE else ruled(fate).value)


def test_the_memory_tool_is_no_person(at: Desk, backend: Backend) -> None:
    settings(at.world, 'people = ["ada"]\nactor = "ada"\nwrite = "propose"')
    before = look(at)
    answer = backend.answer({"command": "create", "path": "/memories/cats.md", "file_text": NEW})
    check(at, before, PROPOSED, answer.text)


@pytest.mark.parametrize(
    ("command", "values"),
    [
        (command, values)
        for command, rows in MEMORY_TOOL.items()
        for values, fate in rows
        if fate is PROPOSED
    ],
    ids=repr,
)
def test_a_changed_file_that_is_accepted_is_as_the_tool_would_have_made_it(
    at: Desk, backend: Backend, command: str, values: dict[str, Any]
) -> None:
    set_up(at, "for all agents")
    path = "MEMORY.md" if "MEMORY" in values["path"] else "memory/cats.md"
    proposal = backend.call({"command": command, **values}).split()[2].rstrip(":")
    with closing(Memory.open(at.root, os.environ)) as opened:
        opened.proposals.decide(on(proposal))
    accepted = at.read(path)
    at.git("reset", "-q", "--hard", "HEAD^")
    settings(at.world)
    backend.call({"command": command, **values})
    assert accepted == at.read(path)


# The facade.

CALLS: Mapping[str, tuple[Callable[[Memory, str], object], Fate]] = {
    "Memory.purge": (lambda at, _: at.purge(Purge("likes tea", actor=AGENT)), REFUSED),
    "Memory.fix_links": (lambda at, _: at.fix_links(OPTIONS), REFUSED),
    "Memory.save": (lambda at, _: at.save(Save(actor=AGENT)), REFUSED),
    "Memory.apply_advice": (lambda at, _: at.apply_advice(OPTIONS), REFUSED),
    "Memory.examine": (lambda at, _: at.examine(fix=True), NO_WRITE),
    "Memory.date_back": (lambda at, _: at.date_back(lambda _: True), NO_WRITE),
    "Memory.reindex": (lambda at, _: at.reindex(full=True), NO_WRITE),
    "Tasks.start": (lambda at, _: at.tasks.start("Paint", "white", OPTIONS), PROPOSED),
    "Tasks.note": (lambda at, _: at.tasks.note("Move", "half", OPTIONS), PROPOSED),
    "Tasks.end": (lambda at, _: at.tasks.end("Move", "moved", OPTIONS), REFUSED),
    "Proposals.propose": (
        lambda at, _: at.proposals.propose(
            Propose(Remember("a", section="Facts", options=OPTIONS))
        ),
        PROPOSED,
    ),
    "Proposals.propose_branch": (
        lambda at, _: at.proposals.propose_branch(ProposeBranch("feature", actor=AGENT)),
        PROPOSED,
    ),
    "Proposals.decide": (
        lambda at, named: at.proposals.decide(on(named, options=OPTIONS)),
        REFUSED,
    ),
}
BY_RECORD = {"Memory.apply", "Memory.change_file"}
PIPELINES = {
    *("Pipelines.digest", "Pipelines.dream", "Pipelines.run"),
    "Pipelines.import_memory",  # for a person alone: tests/test_imports.py
}
"""They write for the user, by the user's settings; see below."""
NOT_MEMORY = {
    *(
        f"Memory.{name}"
        for name in [
            "activity",
            "await_catch_up",
            "blame",
            "changes",
            "check",
            "close",
            "conflicts",
            "context",
            "drop_given",
            "empty_answer_notes",
            "facts",
            "files",
            "flush",
            "file_names",
            "flush_prompts",
            "history",
            "linking_to",
            "look",
            "more_on_branches",
            "of_pool",
            "open",
            "open_in",
            "outline",
            "plan_purge",
            "reading_with",
            "recall",
            "record_call",
            "review",
            "search",
            "section_times",
            "show",
            "show_as_of",
            "show_named",
            "status",
            "successors",
            "sync",
            "sync_if_due",
            "sync_news",
            "tags",
            "trends",
            "unsaved",
            "when",
        ]
    ),
    *(f"Tasks.{name}" for name in ("names", "show")),
    *(f"Proposals.{name}" for name in ("item_text", "part_text", "search", "show", "standing")),
    *(
        f"Pipelines.{name}"
        for name in (
            [
                *("add_status", "cited_messages", "figures", "list_sessions", "schedule"),
                *("show_session", "start_digest"),
            ]
        )
    ),
}


def test_each_record_and_method_has_its_row() -> None:
    assert set(RECORDS) == {*get_args(Change), *get_args(WholeFileEdit), MovePath}
    methods = {
        f"{kind.__name__}.{name}"
        for kind in (Memory, Tasks, Proposals, Pipelines)
        for name, member in getmembers(kind, callable)
        if not name.startswith("_") and name not in getattr(kind, "__match_args__", ())
    }
    assert methods == {*CALLS, *BY_RECORD, *PIPELINES, *NOT_MEMORY}
    functions = {name for name in memory.__all__ if name != "Memory"}
    # `initialise` is the command `init`; `leave` and `adopt_found` write the user's own list
    assert functions == {
        "code_repository",
        *("adopt_found", "find_unadopted", "find_workspace", "initialise", "leave"),
        *("check_push", "install_server_hook"),
        *("markdown_trends", "staged_problems"),
    }


@pytest.mark.parametrize("row", [*RECORDS, *CALLS], ids=str)
def test_no_call_writes_past_it(at: Desk, row: type | str) -> None:
    set_up(at, "in one workspace")
    before, proposal = look(at), the_proposal(at)
    with closing(Memory.open(at.root, os.environ)) as opened:
        if isinstance(row, str):
            call, fate = CALLS[row]
            work: Callable[[], object] = partial(call, opened, proposal)
        else:
            record, fate = RECORDS[row]
            does = opened.apply if row in get_args(Change) else opened.change_file
            work = partial(does, record)
        if fate is REFUSED:
            with pytest.raises(memory.module("model.errors").MdmemError) as caught:
                work()
            assert caught.value.code == "not-allowed"
        else:
            work()
    check(at, before, fate, "")


@pytest.mark.parametrize("row", [*RECORDS, *CALLS], ids=str)
def test_no_call_changes_what_only_people_may(at: Desk, row: type | str) -> None:
    set_rules(at)
    before, proposal = look(at), the_proposal(at)
    with closing(Memory.open(at.root, os.environ)) as opened:
        if isinstance(row, str):
            call, fate = CALLS[row]
            if row in ("Memory.fix_links", "Memory.apply_advice"):
                return  # nothing is there to do
            work: Callable[[], object] = partial(call, opened, proposal)
        else:
            record, fate = RECORDS[row]
            work = partial(opened.apply if row in get_args(Change) else opened.change_file, record)
        if ruled(fate) is REFUSED and not str(row).startswith("Proposals.propose"):
            with pytest.raises(memory.module("model.errors").MdmemError) as caught:
                work()
            assert caught.value.code == "not-allowed"
            fate = REFUSED
        else:
            work()
    check(at, before, fate, "")


# Hooks of a host, and pipelines.

SUMMARY = "Memory:\n- [decision] ship the beta on Fridays\n"


@pytest.mark.parametrize("name", agenthooks._HANDLERS)
def test_no_hook_of_a_host_writes_past_it(
    at: Desk, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(at, "for all agents")
    monkeypatch.setenv("CLAUDECODE", "1")
    before = look(at)
    event = agenthooks.HookEvent(
        name=name, session="s1", folder=str(at.root), prompt="tea?", summary=SUMMARY
    )
    agenthooks.answer(event, os.environ)
    check(at, before, LOGGED if name == "PostCompact" else NO_WRITE, name)


def test_pipelines_write_for_the_user(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest writes days' logs, and a night is applied where the user's own settings say so."""
    monkeypatch.setenv("CLAUDECODE", "1")
    settings(at.world, 'write = "propose"', 'dream = "apply"')
    before = look(at)
    transcript = claude(at.world.home, "remember that the ferry leaves at nine")
    with closing(Memory.open(at.root, os.environ)) as opened:
        assert opened.pipelines.digest(Digest(sessions=(str(transcript),))).commits
        check(at, before, LOGGED, "")
        digested(at, Said("I work at Linear", key="employer", day=date(2026, 3, 4)))
        assert opened.pipelines.dream(Dream(days=("2026-03-04",))).commits


def test_pipelines_propose_what_only_people_may_change(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no persons: what a rule covers they propose, and the run goes on."""
    set_rules(at)
    settings(at.world, 'dream = "apply"')
    before = look(at)
    transcript = claude(at.world.home, "remember that the ferry leaves at nine")
    with closing(Memory.open(at.root, os.environ)) as opened:
        result = opened.pipelines.digest(Digest(sessions=(str(transcript),)))
        assert result.figures.entries == 1
        check(at, before, PROPOSED, "")
        at.write("mdmem.toml", 'people_only = ["MEMORY.md"]')
        digested(at, Said("my bicycle is red", key="bicycle", day=date(2026, 3, 4)))
        before = look(at)
        (change,) = opened.pipelines.dream(Dream(days=("2026-03-04",))).changes
        assert change.proposal
        assert not change.applied
        assert "bicycle" not in at.read("MEMORY.md")
        check(at, before, PROPOSED, "")
        opened.proposals.decide(on(change.proposal))
    assert "bicycle" in at.read("MEMORY.md"), "a person accepts it"


@pytest.mark.parametrize("words", [". --agents AGENTS.md", ". --shared"])
def test_init_does_not_change_what_only_people_may(
    at: Desk, run: Run, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_rules(at)
    monkeypatch.setenv("MDMEM_ACTOR", AGENT)
    check_command(at, run, ("init", words, REFUSED))
