"""A vault of forty notes with what the usual plugins of Obsidian write, adopted as it is."""

import json
import os
from datetime import date
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk

from mdmem.memory import Memory
from mdmem.memory.adopting import initialise
from mdmem.model.errors import FactProblem
from mdmem.model.prompts import BuildContext
from mdmem.model.reads import Initialise
from mdmem.model.searches import Hit, ListFacts, Search
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.text.document import parse_bytes
from mdmem.text.facts import as_read

NOTES = {
    "People/Mira.md": (
        "---\naliases: [skipper]\ntags: [people/crew]\nborn: 1984-02-01\nship: '[[Crane]]'\n---\n"
        "# Mira\n\n## Phone\n\n- +47 555 0101 ^phone\n\n%%\nbirthday gift: a sextant\n%%\n"
    ),
    "People/Olga.md": "# Olga\n\n- rows on Tuesdays #people/operators\n- knows [[Mira#Phone|her number]]\n",
    "Crane.md": (
        "# Crane\n\nbuilt:: 1998\n\n- lies in Bergen %%buyer: Rotterdam%%\n- ==needs== a new mast[^1]\n"
        "- sold to [[Mira]] [price:: 400]\n- ~~sold in May~~\n- ![[plan.png]]\n\n"
        "The winch came from #suppliers in Oslo, see [[Olga]].\n\n[^1]: says the surveyor\n"
    ),
    "Tasks.md": (
        "# Tasks\n\n- [ ] oil the winch 📅 2026-03-20\n- [x] paint the mast ✅ 2026-03-01\n"
        "- [-] sell the dinghy\n"
    ),
    "Advice.md": "# Advice\n\n> [!warning] Ice\n> Never cross the lake in March.\n\n- ask [[Nobody]] first\n",
    "Board.md": (
        "---\nkanban-plugin: board\n---\n\n## Todo\n\n- [ ] order ropes\n\n## Done\n\n"
        '**Complete**\n- [x] buy paint\n\n%% kanban:settings\n```\n{"kanban-plugin":"board"}\n```\n%%\n'
    ),
    "Queries.md": '# Queries\n\n```dataview\nTABLE secretcolumn FROM "People"\n```\n\n- the list is above\n',
    "Boat.md": "# Boat\n\n- engine\n    - fuel: diesel\n\n| Part | Age |\n|---|---|\n| keel | 12 |\n",
    "Templates/Daily.md": "# {{date:dddd}} {{title}}\n\n## Log\n",
    "Templates/Person.md": "# {{title}}\n\n- templateword\n",
    "Daily/2026/2026-03-04.md": "# Wednesday\n\n## Log\n\n- saw a heron\n",
    ".trash/Old.md": "- trashword\n",
    "Sketch.excalidraw.md": "- drawingword\n",
    "Windows.md": "# Windows\r\n\r\n- has returns\r\n",
    "Sign.md": "\ufeff# Sign\n\n- begins with a mark",
}
VAULT = {
    ".obsidian/app.json": json.dumps({"alwaysUpdateLinks": True}),
    ".obsidian/templates.json": json.dumps({"folder": "Templates"}),
    ".obsidian/daily-notes.json": json.dumps(
        {"folder": "Daily", "format": "YYYY/YYYY-MM-DD", "template": "Templates/Daily"}
    ),
    "Yard.canvas": '{"nodes":[\n{"id":"a","type":"text","text":"a slip for the keel"}\n]}',
}
MORE = {f"Log book/Trip {n}.md": f"# Trip {n}\n\n- sailed {n} miles\n" for n in range(25)}
FACTS = {
    "+47 555 0101",
    "rows on Tuesdays",
    "knows [[Mira#Phone|her number]]",
    "lies in Bergen",
    "==needs== a new mast[^1]",
    "sold to [[Mira]] [price:: 400]",
    "ask [[Nobody]] first",
    "the list is above",
    "engine\n  - fuel: diesel",
    "saw a heron",
    "has returns",
    "begins with a mark",
}
FOUND = [
    ("sextant", None),
    ("rotterdam", None),
    ("secretcolumn", None),
    ("templateword", None),
    ("trashword", None),
    ("drawingword", None),
    ("settings", None),
    ("May", None),
    ("phone", "People/Olga.md:4 knows her number"),
    ("skipper", "People/Mira.md:11 +47 555 0101"),
    ("born", "People/Mira.md:4 born: 1984-02-01"),
    ("built", "Crane.md:3 built: 1998"),
    ("price", "Crane.md:7 price: 400"),
    ("needs mast", "Crane.md:6 needs a new mast"),
    ("suppliers", "Crane.md:11 The winch came from #suppliers in Oslo, see Olga."),
    ("tag:people Tuesdays", "People/Olga.md:3 rows on Tuesdays"),
    ("paint mast", "Tasks.md:4 [x] paint the mast ✅ 2026-03-01"),
    ("cross the lake", "Advice.md:3 > Ice\n> Never cross the lake in March."),
    ("diesel", "Boat.md:4 engine > fuel: diesel"),
    ("keel age", "Boat.md:8 Part: keel · Age: 12"),
    ("slip", "Yard.canvas:2 a slip for the keel"),
    ("heron", "Daily/2026/2026-03-04.md:5 saw a heron"),
]


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The vault as its owner had it, adopted."""
    made = Desk(world, repository)
    for path, text in {**NOTES, **VAULT, **MORE}.items():
        made.write(path, text.encode())
    made.commit()
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T09:30:00")
    initialise(Initialise(str(made.root), hooks=False), os.environ)
    return made


@pytest.fixture
def memory(at: Desk) -> Memory:
    return Memory.open(at.root, os.environ)


def unchanged(at: Desk, but: str = "") -> bool:
    written = {path: text for path, text in {**NOTES, **VAULT, **MORE}.items() if path != but}
    return all((at.root / path).read_bytes() == text.encode() for path, text in written.items())


def place(hit: Hit) -> str:
    return f"{hit.path}:{hit.start_line} {as_read(hit.text)}"


def test_it_has_forty_notes():
    assert len(NOTES) + len(MORE) == 40


def test_its_facts(at: Desk, memory: Memory):
    facts = memory.facts(ListFacts(limit=0)).facts
    assert {hit.text for hit in facts if hit.path not in MORE} == FACTS
    assert len(facts) == len(FACTS) + len(MORE)
    tasks = memory.facts(ListFacts(kind="task")).facts
    assert sorted(hit.text for hit in tasks) == [
        "[ ] oil the winch 📅 2026-03-20",
        "[ ] order ropes",
    ]
    assert {hit.text for hit in memory.facts(ListFacts(tags=("people",))).facts} == {
        "+47 555 0101",
        "rows on Tuesdays",
    }
    for key, value in (("ship", "[[Crane]]"), ("built", "1998"), ("price", "400")):
        assert [hit.text for hit in memory.facts(ListFacts(key=key)).facts] == [f"{key}: {value}"]
    assert unchanged(at)


@pytest.mark.parametrize(("query", "first"), FOUND, ids=[query for query, _ in FOUND])
def test_what_is_found(at: Desk, memory: Memory, query: str, first: str | None):
    hits = [hit for hit in memory.search(Search(query)).hits if not hit.near]
    assert (place(hits[0]) if hits else None) == first
    assert unchanged(at)


def test_what_agents_get(at: Desk, memory: Memory):
    block = memory.context(BuildContext()).text
    assert "saw a heron" in block
    asked = memory.context(BuildContext(prompt="Who bought the crane, and what does it need?")).text
    assert "sold to Mira" in asked
    assert "needs a new mast" in asked
    for private in ("sextant", "Rotterdam", "kanban", "[[", "[^1]", "^phone"):
        assert private not in block + asked
    assert "1998" not in block
    assert unchanged(at)


def test_its_own_conventions_are_kept(at: Desk, memory: Memory):
    done = memory.apply(Remember("+47 555 0199", options=WriteOptions(supersedes="+47 555 0101")))
    assert done.path == "People/Mira.md"
    assert "- +47 555 0199 ^phone\n" in at.read("People/Mira.md")
    done = memory.apply(EditSection("Phone", Action.RENAME, "Calls", file="People/Mira.md"))
    assert "[[Mira#Calls|her number]]" in at.read("People/Olga.md")
    with pytest.raises(FactProblem, match="is a field of its note"):
        memory.apply(Forget("built: 1998"))
    done = memory.apply(Log("met Olga"))
    assert done.path == "Daily/2026/2026-03-05.md"
    assert at.read(done.path).startswith("# Thursday 2026-03-05\n\n## Log\n")
    assert memory.check() == ()
    assert [hit.day for hit in memory.search(Search("met Olga")).hits][:1] == [date(2026, 3, 5)]


@pytest.mark.parametrize(
    "path", [path for path in NOTES if parse_bytes(NOTES[path].encode()).sections]
)
def test_an_edit_changes_its_section_alone(at: Desk, memory: Memory, path: str):
    for number, section in enumerate(parse_bytes(NOTES[path].encode()).sections):
        before = (at.root / path).read_bytes()
        document = parse_bytes(before)
        now = document.sections[number]
        edit = EditSection(section.title, Action.APPEND, f"- word{number}", file=path)
        if memory.workspace.kind_of(path).is_memory:
            memory.apply(edit)
            after = (at.root / path).read_bytes()
            start = document.bom + document.slice(0, now.body)
            assert after.startswith(start.encode())
            assert after.endswith(document.slice(now.end, len(document.lines)).encode())
            assert f"- word{number}".encode() in after
            kept = [line for line in document.lines if line.strip()]
            assert [line for line in kept if line.rstrip().encode() not in after] == []
    assert unchanged(at, but=path)
