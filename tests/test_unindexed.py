"""What a person has just saved is found as it will be after an update, without one."""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tantivy
from conftest import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workspaces import NOW, Desk, desk

from mdmem import files
from mdmem.catchup import background, index
from mdmem.memory import Memory
from mdmem.model.searches import Hit, Search
from mdmem.model.writes import Contradict, Log, WriteOptions
from mdmem.search.overlay import kept_length
from mdmem.startup.records import replace

NEAR = 0.04
"""How far a score may be from the one after an update, as a share of it."""
_WORDS = """
    tea coffee green black Oslo Stripe meeting harbour boat sail budget invoice deploy database server release garden piano concert
    train Monday yesterday three many question answer 茶が好き café milk sugar water river summer ticket flight hotel laptop keyboard editor
"""
WORDS = _WORDS.split()
RARE = [
    f"{start}{end}"
    for start in ("bra", "clo", "dri", "fel", "gno", "hum", "jal", "kem")
    for end in ("dop", "fin", "gat", "lum", "nor", "pex")
]
PATHS = ("MEMORY.md", "memory/2026-03-05.md", "memory/topic.md")


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


def say(_: str) -> None:
    pass


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS if chance.random() < 0.4 else RARE) for _ in range(chance.randint(2, 14)))


def filled(at: Desk) -> Desk:
    """A memory of some hundred entries, committed and indexed."""
    chance = random.Random(6)
    for day in range(1, 29):
        lines = "".join(f"- {chance.choice(('Zoe: ', *[''] * 5))}{sentence(chance)}{chance.choice(('', '?'))}\n" for _ in range(25))
        at.write(f"memory/2026-02-{day:02}.md", f"# 2026-02-{day:02}\n\n{lines}")
    for path in PATHS:
        at.write(path, "# Title\n\n## Part\n\n" + "".join(f"- {sentence(chance)}\n" for _ in range(8)))
    at.commit()
    index.fresh_index(at.workspace, say)
    return at


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return filled(desk(world, repository))


def settled(at: Desk) -> None:
    """Have the files be old enough for their stamps to tell a change, and the index hold them."""
    for _ in range(200):
        index.fresh_index(at.workspace, say)
        if index.index_as_is(at.workspace)[1]:
            return
    raise AssertionError("the index does not catch up")


def at_once(at: Desk, query: str, limit: int = 20) -> tuple[Hit, ...] | None:
    """The answer by what lies over the index; None where it was brought up to date first."""
    before = _documents(at)
    found = Memory(at.workspace).search(Search(query, limit=limit))
    assert not found.stale
    assert found.notes == ()
    return found.hits if _documents(at) == before else None


def _documents(at: Desk) -> int:
    return (at.workspace.state / "index" / "documents" / "meta.json").stat().st_mtime_ns


def after_update(at: Desk, query: str, limit: int = 20) -> tuple[Hit, ...]:
    index.fresh_index(at.workspace, say)
    return Memory(at.workspace).search(Search(query, limit=limit)).hits


def assert_alike(found: Sequence[Hit], expected: Sequence[Hit]) -> None:
    """The same entries with nearly the same scores, in the same order but for near ties; the last ones may be others that are as good."""
    assert len(found) == len(expected)
    scores = {_place(hit): hit.score for hit in expected}
    least = min((hit.score for hit in expected), default=0.0)
    for hit in found:
        assert hit.score == pytest.approx(scores.get(_place(hit), least), rel=NEAR)
    others = {_place(hit): replace(hit, score=0.0) for hit in expected}
    assert all(replace(hit, score=0.0) == others[_place(hit)] for hit in found if _place(hit) in others)
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, rel=NEAR)


def _place(hit: Hit) -> tuple[str, int]:
    return hit.path, hit.start_line


def edited(text: str, chance: random.Random) -> str:
    """A file with some lines changed, added, taken out and moved."""
    lines = text.splitlines(keepends=True)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(3, len(lines) + 1) if len(lines) > 3 else len(lines)
        match chance.randrange(6):
            case 0:
                lines.insert(place, f"- {sentence(chance)}\n")
            case 1:
                lines[place : place + 1] = []
            case 2:
                lines[place : place + 1] = [f"- {sentence(chance)} xyzzy\n"]
            case 3:
                lines.insert(place, f"\n## {chance.choice(WORDS)}\n\n")
            case 4:
                lines.insert(place, f"- [decision] {chance.choice(WORDS).lower()}: {sentence(chance)} #tag\n")
            case _:
                lines.append(lines.pop(min(place, len(lines) - 1)))
    return "".join(lines)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_any_edit_is_found_as_after_an_update(at: Desk, seed: int) -> None:
    chance = random.Random(seed)
    at.git("checkout", "-q", "--", ".")
    if chance.random() < 0.3:
        index.rebuild_index(at.workspace, True, say)
    settled(at)
    for path in chance.sample(PATHS, chance.randint(1, 2)):
        at.write(path, edited(at.read(path), chance))
    queries = [
        *(" ".join(chance.sample([*WORDS, *RARE], chance.randint(1, 3))) for _ in range(4)),
        "xyzzy",
        "What did Zoe say on 5 March 2026?",
    ]
    found = [at_once(at, query) for query in queries]
    for query, one in zip(queries, found, strict=True):
        if one is not None:  # what was not sure was brought up to date
            assert_alike(one, after_update(at, query))


class TestWhatIsLaidOver:
    def test_new_text_is_found_at_once_as_a_person_s(self, at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        started: list[object] = []
        monkeypatch.setattr(background, "start_catching_up", started.append)
        at.write("MEMORY.md", at.read("MEMORY.md") + "- a zorblax on the harbour\n")
        found = at_once(at, "zorblax")
        assert found is not None
        assert [(hit.text, hit.uncommitted, hit.commit) for hit in found[:1]] == [("a zorblax on the harbour", True, None)]
        assert len(started) == 1

    def test_what_stood_in_the_file_before_keeps_its_commit_and_gets_its_new_lines(self, at: Desk) -> None:
        text = at.read("memory/topic.md")
        at.write("memory/topic.md", text.replace("## Part\n", "- first\n\n## Part\n"))
        query = text.splitlines()[4]
        found = at_once(at, query, 3)
        assert found is not None
        assert_alike(found, after_update(at, query, 3))
        assert all(hit.commit and not hit.uncommitted for hit in found)

    def test_what_was_taken_out_is_not_found(self, at: Desk) -> None:
        at.write("memory/topic.md", at.read("memory/topic.md") + "- a zorblax\n")
        index.fresh_index(at.workspace, say)
        settled(at)
        at.write("memory/topic.md", at.read("memory/topic.md").replace("- a zorblax\n", ""))
        assert at_once(at, "zorblax") == ()

    def test_nor_a_file_that_is_gone(self, at: Desk) -> None:
        at.write("memory/new.md", "- a zorblax\n")
        settled(at)
        (at.root / "memory/new.md").unlink()
        assert at_once(at, "zorblax") == ()

    def test_a_file_that_takes_the_place_of_one_that_was_taken_out(self, at: Desk) -> None:
        text = at.read("memory/topic.md")
        (at.root / "memory/topic.md").unlink()
        settled(at)
        at.write("memory/topic.md", "- a zorblax\n")
        found = at_once(at, "zorblax")
        assert found is not None
        assert_alike(found, after_update(at, "zorblax"))
        (at.root / "memory/topic.md").unlink()
        settled(at)
        at.write("memory/topic.md", text)
        query = text.splitlines()[4]
        assert at_once(at, query, 1) is None
        assert after_update(at, query, 1)[0].commit

    def test_a_new_file_is_found(self, at: Desk) -> None:
        at.write("memory/new.md", "- a zorblax\n")
        found = at_once(at, "zorblax")
        assert found is not None
        assert [hit.path for hit in found] == ["memory/new.md"]

    def test_nothing_waits_for_a_process_that_is_indexing(self, at: Desk) -> None:
        at.write("mdmem.toml", "lock_timeout = 0.05\n")
        at.write("memory/new.md", "- a zorblax\n")
        with files.lock(at.workspace.state / files.INDEX_LOCK, 1):
            found = at_once(at, "zorblax")
        assert found is not None
        assert len(found) == 1

    def test_an_expired_line_is_not_found(self, at: Desk) -> None:
        at.write("memory/new.md", "- a zorblax (until 2026-01-01)\n- a zorblax (until 2026-12-31)\n")
        found = at_once(at, "zorblax")
        assert found is not None
        assert len(found) == 1


NOT_SURE = {
    "a contradiction": lambda at: at.write("memory/topic.md", "# Title\n\n- tea: green zorblax\n- tea: black zorblax\n"),
    "much at once": lambda at: [at.write(f"memory/new{number}.md", "- a zorblax\n") for number in range(10)],
    "a large file": lambda at: at.write("memory/new.md", "- a zorblax\n" * 10_000),
    "another commit": lambda at: (at.write("memory/new.md", "- a zorblax\n"), at.commit()),
    "other settings": lambda at: at.write("mdmem.toml", 'language = "de"\n') and at.write("memory/new.md", "- a zorblax\n"),
    "a file that cannot be read": lambda at: at.write("memory/bad.md", b"caf\xe9") and at.write("memory/new.md", "- a zorblax\n"),
}


@pytest.mark.parametrize("name", NOT_SURE)
def test_what_is_not_sure_is_indexed_first(at: Desk, name: str) -> None:
    NOT_SURE[name](at)
    assert at_once(at, "zorblax") is None
    assert found_by(at, "zorblax")


@pytest.mark.parametrize("wanted", [{"explain": True}, {"history": True}, {"as_of": "HEAD"}, {"file": "memory"}, {"kind": "fact"}], ids=str)
def test_only_a_plain_search_is_answered_so(at: Desk, wanted: dict[str, Any]) -> None:
    at.write("memory/new.md", "- a zorblax\n")
    before = _documents(at)
    Memory(at.workspace).search(Search("zorblax", **wanted))
    assert _documents(at) != before


def found_by(at: Desk, query: str) -> tuple[Hit, ...]:
    """What is found, without what only stands near it."""
    return tuple(hit for hit in Memory(at.workspace).search(Search(query)).hits if query in hit.text)


class TestMarks:
    """Of what a commit says of a line, the index tells too little; such files are indexed."""

    def test_a_line_that_comes_back_is_the_commit_s_again(self, at: Desk) -> None:
        text = at.read("memory/topic.md")
        line = text.splitlines()[-1]
        at.write("memory/topic.md", text.replace(f"{line}\n", ""))
        settled(at)
        at.write("memory/topic.md", f"{text}- more\n")
        assert at_once(at, line.removeprefix("- "), 1) is None
        assert found_by(at, line.removeprefix("- "))[0].commit

    def test_a_marked_line_stays_marked(self, at: Desk) -> None:
        result = at.apply(Log("the zorblax is green"))
        at.apply(Log("the zorblax is blue", options=WriteOptions(supersedes=result.added[0])))
        settled(at)
        assert [hit.text for hit in found_by(at, "zorblax")] == ["the zorblax is blue"]
        at.write(result.path, at.read(result.path) + "- and more of the zorblax\n")
        assert at_once(at, "zorblax") is None
        assert {hit.text for hit in found_by(at, "zorblax")} == {"the zorblax is blue", "and more of the zorblax"}

    def test_facts_marked_as_contradicting_each_other(self, at: Desk) -> None:
        one, other = (at.apply(Log(text)).added[0] for text in ("the zorblax is green", "the zorblax is blue"))
        at.apply(Contradict(one, other))
        settled(at)
        at.write("memory/new.md", "- a zorblax\n")
        assert at_once(at, "zorblax") is None


def test_lengths_are_kept_as_the_engine_does() -> None:
    index = tantivy_index()
    assert index == {length: kept_length(length) for length in index}


def tantivy_index() -> dict[int, int]:
    """What a field of so many terms counts for, by the engine's own account."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    builder.add_integer_field("length", stored=True)
    fields = builder.build()
    index = tantivy.Index(fields)
    writer = index.writer(15_000_000, 1)
    for length in (*range(1, 200), 1000, 5000, 12_345):
        writer.add_document(tantivy.Document.from_dict({"text": " ".join(["tea"] * length), "length": length}, fields))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    asked = tantivy.Query.term_query(fields, "text", "tea", index_option="freq")
    kept = {}
    for _, address in searcher.search(asked, 1000).hits:
        told = re.search(r'"value": ([\d.]+),\s+"description": "dl, ', asked.explain(searcher, address).to_json())
        assert told
        kept[searcher.doc(address)["length"][0]] = round(float(told[1]))
    return kept
