"""Agents that propose: each door answers them from memory with what they have proposed, and nobody
else sees it.

The tables are complete by construction: a command, a tool or a resource that they do not have fails
a test.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from command_table import ROWS, SEEN, UNSEEN, WORD
from commandline import commands_built_once as commands_built_once
from conftest import World, keep_from_background, sealed_world
from dreams import settings
from proposal_actions import on
from workspaces import Desk, desk, match_index

from mdmem.cli import main
from mdmem.mcp.door import Door
from mdmem.mcp.tools import FILE_URI, TOOLS
from mdmem.memory import Memory
from mdmem.memtool import Backend
from mdmem.model.errors import SectionProblem
from mdmem.model.searches import ListFacts
from mdmem.model.writes import WriteOptions
from mdmem.proposals import branches, listings

NOW = "2026-03-05T10:00:00"
SEED = "# Memory\n\n## Facts\n\n- home: Oslo\n- likes tea\n\n## Work\n\nThe office is at the harbour.\n"
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_remember", {"text": f"has a {WORD}", "section": "Facts", "tags": [WORD]}),
    ("memory_remember", {"text": f"{WORD} street", "key": "home", "section": "Facts"}),
    ("memory_edit", {"section": "Work", "append": f"It has a {WORD}."}),
    ("memory_task", {"action": "start", "name": f"{WORD} house", "text": f"for the {WORD}"}),
)
CREATED = {"path": "/memories/zoo.md", "file_text": f"# Zoo\n\n- one {WORD}\n"}


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory, empty_repository: Path) -> Path:
    """A workspace in which the client x proposed much, by two doors; made once."""
    folder = tmp_path_factory.mktemp("laid_out")
    repository = Path(shutil.copytree(empty_repository, folder / "repository"))
    with pytest.MonkeyPatch.context() as patch:
        keep_from_background(patch)
        made = desk(sealed_world(folder, patch), repository, seed=SEED)
        patch.setenv("MDMEM_NOW", NOW)
        settings(made.world, 'write = "propose"')
        patch.chdir(made.root)
        with door(made) as opened:
            for tool, arguments in WRITES:
                text, failed = opened.call_tool(tool, arguments, "x")
                assert not failed, text
                assert json.loads(text)["proposed"]
        assert tool_answer(made, "mcp/x", "create", **CREATED).startswith("Proposed as ")
    return repository


@pytest.fixture
def at(world: World, repository: Path, laid_out: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """That workspace, and nothing written since."""
    monkeypatch.setenv("MDMEM_NOW", NOW)
    shutil.copytree(laid_out, repository, dirs_exist_ok=True)
    shutil.copytree(laid_out.parent / "home" / ".local", world.home / ".local")
    match_index(repository)
    at = Desk(world, repository)
    settings(at.world, 'write = "propose"')
    monkeypatch.chdir(at.root)
    return at


@contextmanager
def door(at: Desk) -> Iterator[Door]:
    opened = Door(str(at.root), os.environ)
    try:
        yield opened
    finally:
        opened.close(1)


def tool_answer(at: Desk, actor: str, command: str, **values: Any) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDMEM_ACTOR", actor)
        backend = Backend(Memory.open(at.root, os.environ))
        try:
            return backend.call({"command": command, **values})
        finally:
            backend.close()


def parts(at: Desk) -> dict[str, str | None]:
    proposals, _ = listings.read_standing(at.workspace)
    return {part.name: part.view.new for each in proposals for part in each.parts}


# Who sees what.

TOOL_READS: Mapping[str, list[tuple[dict[str, Any], bool]]] = {
    "memory_get": [
        ({"name": "Facts"}, SEEN),
        ({"name": "Work"}, SEEN),
        ({"name": "MEMORY.md"}, SEEN),
        ({"name": "home"}, SEEN),
        ({"name": f"has a {WORD}"}, SEEN),
        ({"file": "memory/zoo.md", "name": "Zoo"}, SEEN),
        ({"file": "memory/tasks.md"}, SEEN),
        ({"name": "Facts", "history": True}, UNSEEN),
    ],
    "memory_search": [
        ({"query": WORD}, SEEN),
        ({"query": "home"}, SEEN),
        ({"tags": [WORD]}, SEEN),
        ({"query": WORD, "history": True}, UNSEEN),
        ({"query": "home", "as_of": "today"}, UNSEEN),
    ],
    "memory_context": [({"prompt": "home, tea and the office"}, UNSEEN)],
    "memory_task": [
        ({"action": "list"}, SEEN),
        ({"action": "show", "name": f"{WORD} house"}, SEEN),
    ],
}


def test_each_tool_that_reads_has_its_rows() -> None:
    reads = {name for name, tool in TOOLS.items() if not tool.writes}
    assert set(TOOL_READS) == reads | {"memory_task"}


@pytest.mark.parametrize(
    ("tool", "arguments", "seen"),
    [(tool, *row) for tool, rows in TOOL_READS.items() for row in rows],
    ids=repr,
)
def test_the_tools_of_the_server(
    at: Desk, tool: str, arguments: dict[str, Any], seen: bool
) -> None:
    asked = json.dumps(arguments)
    for client, sees in (("x", seen), ("y", False)):
        with door(at) as opened:
            text, _ = opened.call_tool(tool, arguments, client)
        shows = WORD in (text.replace(WORD, "", asked.count(WORD)) if "no " in text else text)
        assert shows is sees, (client, text)


@pytest.mark.parametrize("path", ["MEMORY.md", "memory/zoo.md", "memory/tasks.md"])
def test_the_resources_of_the_server(at: Desk, path: str) -> None:
    for client, sees in (("x", True), ("y", False)):
        with door(at) as opened:
            text, _ = opened.read_resource(f"{FILE_URI}{path}", client)
        assert (WORD in text) is sees, (client, text)


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/memories/MEMORY.md", WORD),
        ("/memories/zoo.md", WORD),
        ("/memories/tasks.md", WORD),
        ("/memories", "zoo.md"),
    ],
)
def test_the_memory_tool(at: Desk, path: str, word: str) -> None:
    assert word in tool_answer(at, "mcp/x", "view", path=path)
    other = tool_answer(at, "mcp/y", "view", path=path)
    assert word not in other.replace(path, "")


@pytest.mark.parametrize(
    ("name", "words", "seen"),
    [(name, *call) for name, row in ROWS.items() for call in row.own],
    ids=repr,
)
def test_the_command_line(
    at: Desk,
    commands_built_once: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    words: str,
    seen: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"")))
    for actor, sees in (("mcp/x", seen), ("mcp/y", False), ("", False)):
        monkeypatch.setenv("MDMEM_ACTOR", actor)
        capsys.readouterr()
        main([*name.split(), *shlex.split(words)])
        assert (WORD in capsys.readouterr().out) is sees, actor


def test_a_hit_says_that_it_is_proposed(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with door(at) as opened:
        text, _ = opened.call_tool("memory_search", {"query": "home"}, "x")
    (line,) = [line for line in text.split("\n") if "home" in line]
    assert line.startswith(f"- MEMORY.md:5 home: {WORD} street")
    assert line.endswith("(proposed)")
    assert "Oslo" not in text
    monkeypatch.setenv("MDMEM_ACTOR", "mcp/x")
    with closing(Memory.open(at.root, os.environ)) as opened_memory:
        facts = opened_memory.recall((WORD,)).facts
    assert [(hit.text, hit.proposed) for hit in facts] == [(f"has a {WORD}", True)]


def test_a_short_list_counts_what_is_proposed_too(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = {}
    for actor in ("mcp/x", "mcp/y"):
        monkeypatch.setenv("MDMEM_ACTOR", actor)
        with closing(Memory.open(at.root, os.environ)) as opened:
            listed = opened.facts(ListFacts(limit=1))
        assert len(listed.facts) == 1
        totals[actor] = listed.total
    assert totals["mcp/y"] == 2
    assert totals["mcp/x"] > 2


def test_an_actor_named_in_a_command_notes_what_it_has_begun(at: Desk) -> None:
    by_x = WriteOptions(actor="mcp/x")
    with closing(Memory.open(at.root, os.environ)) as opened:
        opened.tasks.note(f"{WORD} house", "half is done", by_x)
        with pytest.raises(SectionProblem) as caught:
            opened.tasks.note(f"{WORD} house", "half", WriteOptions(actor="mcp/y"))
    assert caught.value.code == "task-not-found"
    assert any("half is done" in (text or "") for text in parts(at).values())


def test_a_removal_that_empties_a_file_is_seen(at: Desk) -> None:
    at.write("memory/last.md", "- the last one\n")
    at.commit("by hand")
    with door(at) as opened:
        answer, failed = opened.call_tool("memory_forget", {"fact": "the last one"}, "x")
        assert not failed, answer
    view = {"path": "/memories/last.md"}
    assert "the last one" not in tool_answer(at, "mcp/x", "view", **view)
    assert "the last one" in tool_answer(at, "mcp/y", "view", **view)


def test_without_the_setting_nobody_sees_it(at: Desk) -> None:
    settings(at.world)
    assert WORD not in tool_answer(at, "mcp/x", "view", path="/memories/MEMORY.md")
    with door(at) as opened:
        assert WORD not in opened.call_tool("memory_get", {"name": "Facts"}, "x")[0]


# Editing what one has proposed.

Edit = Callable[[Desk], None]


def edit_by_etag(at: Desk) -> None:
    with door(at) as opened:
        text, _ = opened.call_tool("memory_get", {"name": "Work"}, "x")
        arguments = {"section": "Work", "replace": WORD, "with": "lion", "expect": text.split()[-1]}
        answer, failed = opened.call_tool("memory_edit", arguments, "x")
    assert not failed, answer


def replace_words(at: Desk) -> None:
    path = "/memories/MEMORY.md"
    old, new = f"It has a {WORD}.", "It has a lion."
    answer = tool_answer(at, "mcp/x", "str_replace", path=path, old_str=old, new_str=new)
    assert answer.startswith("Proposed as "), answer


@pytest.mark.parametrize("edit", [edit_by_etag, replace_words])
def test_an_agent_edits_what_it_has_proposed(at: Desk, edit: Edit) -> None:
    before = len(parts(at))
    edit(at)
    assert len(parts(at)) == before
    assert "The office is at the harbour.\n\nIt has a lion." in parts(at).values()
    (proposal,) = branches.open_proposals(at.workspace)
    with closing(Memory.open(at.root, os.environ)) as opened:
        opened.proposals.decide(on(proposal))
    text = at.read("MEMORY.md")
    assert "It has a lion.\n" in text
    assert f"- home: {WORD} street\n" in text
    assert at.read("memory/zoo.md") == CREATED["file_text"]


def test_an_agent_goes_on_in_a_file_that_it_has_proposed(at: Desk) -> None:
    answer = tool_answer(
        at, "mcp/x", "insert", path="/memories/zoo.md", insert_line=3, insert_text="- two lions\n"
    )
    assert answer.startswith("Proposed as "), answer
    assert "two lions" in tool_answer(at, "mcp/x", "view", path="/memories/zoo.md")
    assert "does not exist" in tool_answer(at, "mcp/y", "view", path="/memories/zoo.md")
    answer = tool_answer(at, "mcp/x", "create", **CREATED)
    assert "already exists" in answer


def test_an_agent_takes_back_what_it_has_proposed(at: Desk) -> None:
    with door(at) as opened:
        answer, failed = opened.call_tool("memory_forget", {"fact": f"has a {WORD}"}, "x")
        assert not failed, answer
        note = {"action": "note", "name": f"{WORD} house", "text": "half is done"}
        answer, failed = opened.call_tool("memory_task", note, "x")
        assert not failed, answer
    assert f"has a {WORD} #{WORD}" not in parts(at).values()
    assert any("half is done" in (text or "") for text in parts(at).values())


def test_what_was_overtaken_is_seen_as_it_is_in_memory(at: Desk) -> None:
    at.write("MEMORY.md", SEED.replace("Oslo", "Bergen"))
    at.commit("by hand")
    with door(at) as opened:
        text, _ = opened.call_tool("memory_get", {"name": "Facts"}, "x")
    assert "- home: Bergen" in text
    assert f"- has a {WORD}" in text


def test_what_a_person_has_not_saved_is_seen_too(at: Desk) -> None:
    at.write("MEMORY.md", SEED.replace("likes tea", "likes green tea"))
    with door(at) as opened:
        text, _ = opened.call_tool("memory_get", {"name": "Facts"}, "x")
    assert "- likes green tea" in text
    assert f"- has a {WORD}" in text
