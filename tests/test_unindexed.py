"""A search finds what a person has just saved as it will after an update, without one."""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tantivy
from commandline import MadeOnce
from conftest import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workspaces import NOW, Desk, desk

from mdmem.folder import files
from mdmem.index import background, catching_up
from mdmem.index.overlay import kept_length
from mdmem.memory import Memory
from mdmem.model.searches import Hit, Search
from mdmem.model.writes import Contradict, Log, WriteOptions
from mdmem.startup.records import replace

NEAR = 0.04
"""The most by which a score may differ from the one after an update, as a share of it."""
_WORDS = """
    tea coffee green black Oslo Stripe meeting harbour boat sail budget invoice deploy database
    server release garden piano concert
    train Monday yesterday three many question answer 茶が好き café milk sugar water river summer ticket
    flight hotel laptop keyboard editor
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
    return " ".join(
        chance.choice(WORDS if chance.random() < 0.4 else RARE)
        for _ in range(chance.randint(2, 14))
    )


def fill(at: Desk) -> None:
    """Make a memory of some hundred entries, committed and indexed."""
    chance = random.Random(6)
    for day in range(1, 29):
        lines = "".join(
            f"- {chance.choice(('Zoe: ', *[''] * 5))}{sentence(chance)}{chance.choice(('', '?'))}\n"
            for _ in range(25)
        )
        at.write(f"memory/2026-02-{day:02}.md", f"# 2026-02-{day:02}\n\n{lines}")
    for path in PATHS:
        at.write(
            path, "# Title\n\n## Part\n\n" + "".join(f"- {sentence(chance)}\n" for _ in range(8))
        )
    at.commit()
    catching_up.fresh_index(at.workspace, say)


@pytest.fixture
def at(world: World, repository: Path, made_once: MadeOnce) -> Desk:
    made_once("some hundred entries", lambda: fill(desk(world, repository)))
    at = Desk(world, repository)
    settle(at)  # files that were copied have other stamps
    return at


def settle(at: Desk) -> None:
    """Wait until the files are old enough for their stamps to tell a change, and the index has
    them.
    """
    for _ in range(200):
        catching_up.fresh_index(at.workspace, say)
        if catching_up.index_as_is(at.workspace)[1]:
            return
    raise AssertionError("the index does not catch up")


def hits_without_update(at: Desk, query: str, limit: int = 20) -> tuple[Hit, ...] | None:
    """The hits of a search through the overlay; None where it brought the index up to
    date first.
    """
    before = _documents(at)
    result = Memory(at.workspace).search(Search(query, limit=limit))
    assert not result.stale
    assert result.notes == ()
    return result.hits if _documents(at) == before else None


def _documents(at: Desk) -> int:
    return (at.workspace.state / "index" / "documents" / "meta.json").stat().st_mtime_ns


def hits_after_update(at: Desk, query: str, limit: int = 20) -> tuple[Hit, ...]:
    catching_up.fresh_index(at.workspace, say)
    return Memory(at.workspace).search(Search(query, limit=limit)).hits


def assert_similar(hits: Sequence[Hit], expected: Sequence[Hit]) -> None:
    """The same entries with nearly the same scores, in the same order but for near ties; the last
    ones may be others with equal scores.
    """
    assert len(hits) == len(expected)
    scores = {_location(hit): hit.score for hit in expected}
    least = min((hit.score for hit in expected), default=0.0)
    for hit in hits:
        assert hit.score == pytest.approx(scores.get(_location(hit), least), rel=NEAR)
    unscored = {_location(hit): replace(hit, score=0.0) for hit in expected}
    assert all(
        replace(hit, score=0.0) == unscored[_location(hit)]
        for hit in hits
        if _location(hit) in unscored
    )
    for hit, expected_hit in zip(hits, expected, strict=True):
        assert hit.score == pytest.approx(expected_hit.score, rel=NEAR)


def _location(hit: Hit) -> tuple[str, int]:
    return hit.path, hit.start_line


def with_random_edits(text: str, chance: random.Random) -> str:
    """A file with some lines changed, added, taken out and moved."""
    lines = text.splitlines(keepends=True)
    for _ in range(chance.randint(1, 4)):
        position = chance.randrange(3, len(lines) + 1) if len(lines) > 3 else len(lines)
        match chance.randrange(6):
            case 0:
                lines.insert(position, f"- {sentence(chance)}\n")
            case 1:
                lines[position : position + 1] = []
            case 2:
                lines[position : position + 1] = [f"- {sentence(chance)} xyzzy\n"]
            case 3:
                lines.insert(position, f"\n## {chance.choice(WORDS)}\n\n")
            case 4:
                lines.insert(
                    position,
                    f"- [decision] {chance.choice(WORDS).lower()}: {sentence(chance)} #tag\n",
                )
            case _:
                lines.append(lines.pop(min(position, len(lines) - 1)))
    return "".join(lines)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_any_edit_gives_the_hits_of_an_update(at: Desk, seed: int) -> None:
    chance = random.Random(seed)
    at.git("checkout", "-q", "--", ".")
    if chance.random() < 0.3:
        catching_up.rebuild_index(at.workspace, True, say)
    settle(at)
    for path in chance.sample(PATHS, chance.randint(1, 2)):
        at.write(path, with_random_edits(at.read(path), chance))
    queries = [
        *(" ".join(chance.sample([*WORDS, *RARE], chance.randint(1, 3))) for _ in range(4)),
        "xyzzy",
        "What did Zoe say on 5 March 2026?",
    ]
    answers = [hits_without_update(at, query) for query in queries]
    for query, hits in zip(queries, answers, strict=True):
        if hits is not None:  # else the index was brought up to date
            assert_similar(hits, hits_after_update(at, query))


class TestOverlay:
    def test_new_text_is_found_as_a_persons_without_an_update(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started: list[object] = []
        monkeypatch.setattr(background, "start_catching_up", started.append)
        at.write("MEMORY.md", at.read("MEMORY.md") + "- a zorblax on the harbour\n")
        hits = hits_without_update(at, "zorblax")
        assert hits is not None
        assert [(hit.text, hit.uncommitted, hit.commit) for hit in hits[:1]] == [
            ("a zorblax on the harbour", True, None)
        ]
        assert len(started) == 1

    def test_unchanged_entries_keep_their_commit_and_get_new_lines(self, at: Desk) -> None:
        text = at.read("memory/topic.md")
        at.write("memory/topic.md", text.replace("## Part\n", "- first\n\n## Part\n"))
        query = text.splitlines()[4]
        hits = hits_without_update(at, query, 3)
        assert hits is not None
        assert_similar(hits, hits_after_update(at, query, 3))
        assert all(hit.commit and not hit.uncommitted for hit in hits)

    def test_removed_text_is_not_found(self, at: Desk) -> None:
        at.write("memory/topic.md", at.read("memory/topic.md") + "- a zorblax\n")
        catching_up.fresh_index(at.workspace, say)
        settle(at)
        at.write("memory/topic.md", at.read("memory/topic.md").replace("- a zorblax\n", ""))
        assert hits_without_update(at, "zorblax") == ()

    def test_a_removed_file_is_not_found(self, at: Desk) -> None:
        at.write("memory/new.md", "- a zorblax\n")
        settle(at)
        (at.root / "memory/new.md").unlink()
        assert hits_without_update(at, "zorblax") == ()

    def test_a_file_in_the_place_of_a_removed_one(self, at: Desk) -> None:
        text = at.read("memory/topic.md")
        (at.root / "memory/topic.md").unlink()
        settle(at)
        at.write("memory/topic.md", "- a zorblax\n")
        hits = hits_without_update(at, "zorblax")
        assert hits is not None
        assert_similar(hits, hits_after_update(at, "zorblax"))
        (at.root / "memory/topic.md").unlink()
        settle(at)
        at.write("memory/topic.md", text)
        query = text.splitlines()[4]
        assert hits_without_update(at, query, 1) is None
        assert hits_after_update(at, query, 1)[0].commit

    def test_a_new_file_is_found(self, at: Desk) -> None:
        at.write("memory/new.md", "- a zorblax\n")
        hits = hits_without_update(at, "zorblax")
        assert hits is not None
        assert [hit.path for hit in hits] == ["memory/new.md"]

    def test_nothing_waits_for_a_process_that_is_indexing(self, at: Desk) -> None:
        at.write("mdmem.toml", "lock_timeout = 0.05\n")
        at.write("memory/new.md", "- a zorblax\n")
        with files.lock(at.workspace.state / files.INDEX_LOCK, 1):
            hits = hits_without_update(at, "zorblax")
        assert hits is not None
        assert len(hits) == 1

    def test_an_expired_line_is_not_found(self, at: Desk) -> None:
        at.write(
            "memory/new.md", "- a zorblax (until 2026-01-01)\n- a zorblax (until 2026-12-31)\n"
        )
        hits = hits_without_update(at, "zorblax")
        assert hits is not None
        assert len(hits) == 1


UNCERTAIN = {
    "a contradiction": lambda at: at.write(
        "memory/topic.md", "# Title\n\n- tea: green zorblax\n- tea: black zorblax\n"
    ),
    "much at once": lambda at: [
        at.write(f"memory/new{number}.md", "- a zorblax\n") for number in range(10)
    ],
    "a large file": lambda at: at.write("memory/new.md", "- a zorblax\n" * 10_000),
    "another commit": lambda at: (at.write("memory/new.md", "- a zorblax\n"), at.commit()),
    "other settings": lambda at: (
        at.write("mdmem.toml", 'language = "de"\n') and at.write("memory/new.md", "- a zorblax\n")
    ),
    "a file that cannot be read": lambda at: (
        at.write("memory/bad.md", b"caf\xe9") and at.write("memory/new.md", "- a zorblax\n")
    ),
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_uncertain_cases_are_indexed_first(at: Desk, name: str) -> None:
    UNCERTAIN[name](at)
    assert hits_without_update(at, "zorblax") is None
    assert hits_containing(at, "zorblax")


@pytest.mark.parametrize(
    "arguments",
    [{"explain": True}, {"history": True}, {"as_of": "HEAD"}, {"file": "memory"}, {"kind": "fact"}],
    ids=str,
)
def test_only_searches_of_what_is_current_use_the_overlay(
    at: Desk, arguments: dict[str, Any]
) -> None:
    at.write("memory/new.md", "- a zorblax\n")
    before = _documents(at)
    Memory(at.workspace).search(Search("zorblax", **arguments))
    assert _documents(at) != before


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("2026-02-03", "- Zoe: {}\n- Zoe: {}\n", "- Zoe: {}\n- Max: {}\n"),
        ("list", "- common{} {}\n- common{} {}\n", "- {} one\n- {} two\n"),
    ],
)
def test_an_edit_that_gives_neighbours_another_weight(
    at: Desk, name: str, before: str, after: str
) -> None:
    def text(lines: str) -> str:
        part, other = lines.splitlines(keepends=True)
        count = part.count("{}")
        return f"# {name}\n\n" + "".join(
            part.format(*[f"pair{number}", RARE[number]][-count:])
            + other.format(*[f"pair{number}", RARE[-number]][-count:])
            for number in range(1, 20)
        )

    path = f"memory/{name}.md"
    at.write(path, text(before))
    settle(at)
    at.write(path, text(after))
    query = f"{RARE[7]} {RARE[9]}"
    hits = hits_without_update(at, query)
    assert hits is not None
    assert_similar(hits, hits_after_update(at, query))


def hits_containing(at: Desk, query: str) -> tuple[Hit, ...]:
    """The hits that contain the query."""
    return tuple(
        hit for hit in Memory(at.workspace).search(Search(query)).hits if query in hit.text
    )


class TestMarks:
    """The index does not have all marks on a line, so files with marks are indexed."""

    def test_a_line_that_is_put_back_has_its_commit_again(self, at: Desk) -> None:
        text = at.read("memory/topic.md")
        line = text.splitlines()[-1]
        at.write("memory/topic.md", text.replace(f"{line}\n", ""))
        settle(at)
        at.write("memory/topic.md", f"{text}- more\n")
        assert hits_without_update(at, line.removeprefix("- "), 1) is None
        assert hits_containing(at, line.removeprefix("- "))[0].commit

    def test_a_marked_line_stays_marked(self, at: Desk) -> None:
        result = at.apply(Log("the zorblax is green"))
        at.apply(Log("the zorblax is blue", options=WriteOptions(supersedes=result.added[0])))
        settle(at)
        assert [hit.text for hit in hits_containing(at, "zorblax")] == ["the zorblax is blue"]
        at.write(result.path, at.read(result.path) + "- and more of the zorblax\n")
        assert hits_without_update(at, "zorblax") is None
        assert {hit.text for hit in hits_containing(at, "zorblax")} == {
            "the zorblax is blue",
            "and more of the zorblax",
        }

    def test_facts_marked_as_contradicting_each_other(self, at: Desk) -> None:
        green, blue = (
            at.apply(Log(text)).added[0] for text in ("the zorblax is green", "the zorblax is blue")
        )
        at.apply(Contradict(green, blue))
        settle(at)
        at.write("memory/new.md", "- a zorblax\n")
        assert hits_without_update(at, "zorblax") is None


def test_lengths_are_stored_as_by_the_engine() -> None:
    lengths = engine_lengths()
    assert lengths == {length: kept_length(length) for length in lengths}


def engine_lengths() -> dict[int, int]:
    """The length that the engine scores a field with, by its number of terms, from the engine's own
    explanation.
    """
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    builder.add_integer_field("length", stored=True)
    fields = builder.build()
    catching_up = tantivy.Index(fields)
    writer = catching_up.writer(15_000_000, 1)
    for length in (*range(1, 200), 1000, 5000, 12_345):
        writer.add_document(
            tantivy.Document.from_dict(
                {"text": " ".join(["tea"] * length), "length": length}, fields
            )
        )
    writer.commit()
    writer.wait_merging_threads()
    catching_up.reload()
    searcher = catching_up.searcher()
    query = tantivy.Query.term_query(fields, "text", "tea", index_option="freq")
    lengths = {}
    for _, address in searcher.search(query, 1000).hits:
        match = re.search(
            r'"value": ([\d.]+),\s+"description": "dl, ', query.explain(searcher, address).to_json()
        )
        assert match
        lengths[searcher.doc(address)["length"][0]] = round(float(match[1]))
    return lengths
