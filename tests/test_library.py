"""The library: `mdmem.open`, verbs by keyword, failures as plain text, and what users' tools see."""

import ast
import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from program_source import PACKAGE
from workspaces import NOW, Desk, desk

import mdmem
from mdmem.memory import Memory as OpenedMemory

PAGE = Path(__file__).parents[1] / "docs/library.md"
PROGRAMS = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def memory(at: Desk) -> mdmem.Memory:
    return mdmem.open(at.root)


def test_every_verb_by_keyword(at: Desk):
    with mdmem.open(str(at.root), actor="agent/diary", session="s1") as memory:
        logged = memory.log("walked 8 km", fact=True, tags=["sport"])
        kept = memory.remember("Helix", key="editor", kind="preference", source="user-stated")
        memory.edit("Home", append="- a wombat", file="MEMORY.md")
        hit, *_ = memory.search("editor", limit=3).hits
        assert (hit.text, hit.source, hit.claimed_by) == (
            "editor: Helix",
            "user-stated",
            "agent/diary",
        )
        assert memory.search("walked", tags="sport").hits[0].fact == logged.fact
        assert "wombat" in memory.show("Home").text
        assert memory.show().section == ()
        memory.remember("Vim", key="editor", supersedes=kept.fact, reason="they said so")
        history = memory.history("editor")
        assert [link.text for link in history.chain] == ["editor: Helix", "editor: Vim"]
        block = memory.context("which editor do I use?", tokens=300)
        assert "Vim" in block.text
        assert block.budget == 300
        assert memory.forget("editor: Vim").forgotten
    assert at.git("log", "-1", "--format=%B").split("\n\n")[-2].splitlines()[-2:] == [
        "Mdmem-Actor: agent/diary",
        "Mdmem-Session: s1",
    ]


def test_records_in_place_of_keywords(memory: mdmem.Memory):
    memory.apply(mdmem.Remember("Oslo", key="home"))
    query = mdmem.Search("home", limit=1)
    assert memory.search(query) == memory.search("home", limit=1)
    assert len(memory.search(query, limit=5).hits) > 1
    assert memory.show(mdmem.Show(section="Home")) == memory.show("Home")
    assert memory.history(mdmem.ShowHistory("home")) == memory.history("home")
    assert memory.context(mdmem.BuildContext("home", preview=True)).text


@pytest.mark.parametrize(
    ("call", "kind", "named"),
    [
        (lambda memory: memory.remember("x", source="rumour"), ValueError, "rumour"),
        (lambda memory: memory.search("x", source="rumour"), ValueError, "rumour"),
        (lambda memory: memory.remember("x", sorce="auto"), TypeError, "sorce"),
        (lambda memory: memory.search("x", limt=3), TypeError, "limt"),
        (lambda memory: memory.show("Home", nht=1), TypeError, "nht"),
        (lambda memory: mdmem.Memory(memory.workspace.root), TypeError, "mdmem.open("),
        (lambda memory: OpenedMemory("."), TypeError, "mdmem.open("),
        (lambda memory: mdmem.opne("."), AttributeError, "opne"),
    ],
)
def test_a_wrong_word_is_named(
    memory: mdmem.Memory, call: Callable[[Any], object], kind: type[Exception], named: str
):
    with pytest.raises(kind, match=re.escape(named)):
        call(memory)


def test_failures_are_plain_text(memory: mdmem.Memory):
    with pytest.raises(mdmem.errors.MdmemError) as caught:
        memory.forget("there is no such fact")
    assert (caught.value.code, caught.value.hint) == (
        "fact-not-found",
        "To list facts with their ids: facts",
    )
    assert "\ufdd0" in caught.value.marked_hint
    assert mdmem.MdmemError is mdmem.errors.MdmemError


def test_what_is_found_has_to_be_adopted(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(at.root)
    monkeypatch.delenv("MDMEM_ADOPT")
    with pytest.raises(mdmem.MdmemError, match="has to adopt"):
        mdmem.open()
    with pytest.raises(mdmem.MdmemError, match="has to adopt"):
        mdmem.open(environment={**os.environ, "MDMEM_WORKSPACE": str(at.root)})
    adopted = {**os.environ, "MDMEM_ADOPT": str(at.root)}
    assert mdmem.open(environment=adopted).workspace.root == at.root
    assert mdmem.open(".").workspace.root == at.root
    with pytest.raises(mdmem.MdmemError) as caught:
        mdmem.open(".", actor="web")
    assert caught.value.code == "reserved-actor"


def test_tasks_write_in_turn(at: Desk):
    async def write() -> None:
        async with mdmem.AsyncMemory(mdmem.open(at.root)) as memory:
            await asyncio.gather(*(memory.log(f"line {number}") for number in range(8)))
            found = await memory.search("line", limit=20)
            assert {hit.text for hit in found.hits} == {f"line {number}" for number in range(8)}

    asyncio.run(write())


@pytest.mark.parametrize("program", PROGRAMS, ids=["diary", "handler", "script"])
def test_programs_of_the_page(at: Desk, program: str):
    command = [sys.executable, "-W", "error", "-c", program, at.root]
    shown = at.world.run(at.root, command).stdout
    expected = {
        "diary": "MEMORY.md:13 editor: Helix\n",
        "handle": "8 answers\n",
        "last backup": "last backup: ",
    }
    assert next(words for name, words in expected.items() if name in program) in shown


def test_the_page_is_short():
    assert len(PROGRAMS) == 3
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 120


def test_the_names_that_types_and_programs_see_are_the_same():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    typed = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert typed == set(mdmem.__all__)
    assert all(getattr(mdmem, name) is not None for name in mdmem.__all__)


def test_import_loads_nothing():
    loaded = "import sys, mdmem; print(*[name for name in sys.modules if 'mdmem' in name])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", loaded], capture_output=True, text=True, check=True
    )
    assert [name for name in done.stdout.split() if not name.startswith("__editable__")] == [
        "mdmem"
    ]


USERS_PROGRAM = """
import mdmem

with mdmem.open(".", actor="x") as memory:
    reveal_type(memory.log("x", tags=["a"]))
    reveal_type(memory.search("x", limit=3).hits)
    reveal_type(memory.show("Home", "MEMORY.md"))
    reveal_type(memory.history("x"))
    reveal_type(memory.context("x"))
    memory.search("x", limt=3)
    memory.remember("x", tags=3)

async def main() -> None:
    reveal_type(await mdmem.AsyncMemory(memory).remember("x", key="y"))

try:
    mdmem.opne(".")
except mdmem.errors.MdmemError as problem:
    reveal_type(problem.hint)
"""


@pytest.mark.costly
def test_mypy_knows_the_types_for_a_users_program(tmp_path: Path):
    (tmp_path / "user.py").write_text(USERS_PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "user.py"]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("user.py")]
    revealed = [line.split('"')[1] for line in lines if "Revealed" in line]
    assert revealed == [
        "mdmem.model.writes.WriteResult",
        "tuple[mdmem.model.searches.Hit, ...]",
        "mdmem.model.reads.SectionView",
        "mdmem.model.history.SectionHistory | mdmem.model.history.FactHistory",
        "mdmem.model.prompts.ContextBlock",
        "mdmem.model.writes.WriteResult",
        "str",
    ]
    errors = [line for line in lines if "error" in line]
    assert [line.rpartition("[")[2].rstrip("]") for line in errors] == [
        "call-overload",
        "call-overload",
        "arg-type",
        "attr-defined",
    ]
