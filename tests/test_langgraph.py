"""LangGraph's store on a workspace, against its own in memory; not installed: skipped."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from conftest import World, examples
from hypothesis import given
from hypothesis import strategies as st
from workspaces import TOKEN, Desk, desk

import mdmem
from mdmem.model.errors import MdmemError
from mdmem.text import stored_items
from mdmem.text.document import parse

base = pytest.importorskip("langgraph.store.base", reason="langgraph-checkpoint is not installed")

from langgraph.store.memory import InMemoryStore  # noqa: E402

from mdmem.langgraph import MdmemStore  # noqa: E402

ADA = ("memory", "ada")


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.fixture
def store(at: Desk) -> MdmemStore:
    return MdmemStore(mdmem.open(at.root))


def shown(item: Any) -> Any:
    return item and (item.namespace, item.key, item.value)


def test_what_people_see(at: Desk, store: MdmemStore):
    store.put(ADA, "likes", {"content": "- coffee: with milk\n- no sugar"})
    store.put(ADA, "age", {"years": 36, "name": "Zoë"})
    assert at.read("memory/store/%6Demory/ada.md") == (
        "# ada\n\n## likes\n\n- coffee: with milk\n- no sugar\n\n## age\n\n"
        '```json\n{\n "years": 36,\n "name": "Zoë"\n}\n```\n'
    )
    assert at.subjects()[:2] == [
        "memory/store/%6Demory/ada.md: replace age",
        "memory/store/%6Demory/ada.md: replace likes",
    ]
    message = at.git("log", "-1", "--format=%B")
    assert "Mdmem-Actor: langgraph" in message
    assert "Mdmem-Source: inferred" in message
    store.delete(ADA, "likes")
    assert at.read("memory/store/%6Demory/ada.md").startswith("# ada\n\n## age\n")
    assert mdmem.open(at.root).search("Zoë").hits[0].path == "memory/store/%6Demory/ada.md"


def test_a_batch_is_one_commit_a_file_and_reads_first(at: Desk, store: MdmemStore):
    store.put(("a",), "k", {"n": 1})
    before = len(at.subjects())
    ops = [
        base.PutOp(("a",), "k", {"n": 2}),
        base.GetOp(("a",), "k"),
        base.PutOp(("a",), "k", {"n": 3}),
        base.PutOp(("a",), "new", {"n": 4}),
        base.PutOp(("b",), "k", {"n": 5}),
        base.PutOp(("c",), "never was", None),
    ]
    assert store.batch(ops)[1].value == {"n": 1}
    assert len(at.subjects()) == before + 2
    assert [item.value["n"] for item in store.search(())] == [3, 4, 5]
    assert not (at.root / "memory/store/c.md").exists()


LABELS = ("a", "b", "Memory", "x y", "2026-03-05")
KEYS = ("k", "K", "a/b", "..", "ü", "", "1")


def operation(chance: random.Random) -> Any:
    namespace = tuple(chance.choices(LABELS, k=chance.randint(1, 2)))
    key = chance.choice(KEYS)
    value = chance.choice(
        [
            {"content": f"text {chance.randrange(9)}"},
            {"n": chance.randrange(4), "deep": {"n": [None, 1.5]}},
        ]
    )
    return chance.choice(
        [
            base.PutOp(namespace, key, value),
            base.PutOp(namespace, key, value),
            base.PutOp(namespace, key, None),
            base.GetOp(namespace, key),
            base.SearchOp(namespace, chance.choice([None, {"n": {"$gte": 2}}, {"n": 1}]), limit=99),
            base.SearchOp(namespace[:1], limit=99),
            base.ListNamespacesOp((base.MatchCondition("prefix", (namespace[0],)),), limit=99),
            base.ListNamespacesOp((base.MatchCondition("suffix", ("*", namespace[-1])),), limit=99),
        ]
    )


@pytest.mark.parametrize("number", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_operations_give_what_the_store_in_memory_gives(store: MdmemStore, number: int):
    other, chance = InMemoryStore(), random.Random(57)
    for _ in range(number):
        op = operation(chance)
        if isinstance(op, base.SearchOp) and op.filter and "$" in str(op.filter):
            # of a missing key the other one raises
            (ours,), theirs = store.batch([op]), []
            theirs = [
                item
                for item in other.batch([op._replace(filter=None)])[0]
                if item.value.get("n", -1) >= 2
            ]
        else:
            (ours,), (theirs,) = store.batch([op]), other.batch([op])
        if isinstance(op, base.ListNamespacesOp):
            # named difference: a namespace without items is not listed
            theirs = [
                each
                for each in theirs
                if any(item.namespace == each for item in other.search(each, limit=99))
            ]
            assert ours == theirs
        elif isinstance(op, base.SearchOp):
            # named difference: namespaces come in the order of their names
            in_order = sorted(theirs, key=lambda item: item.namespace)
            assert list(map(shown, ours)) == list(map(shown, in_order))
        else:
            assert shown(ours) == shown(theirs)


ODD_KEYS = [
    "same",
    "Same",
    "SAME",
    "a.b",
    "a/b",
    "..",
    "\0",
    "\n",
    " x ",
    "",
    "%",
    "%41",
    "A",
    "# h",
    "é",
    "e\u0301",
    "👩‍👩‍👧",
    "k" * 500,
    "👍" * 500,
    "- [ ] x",
    "`a`",
    "*",
    "a > b",
]


def test_keys_are_exact(store: MdmemStore):
    for number, key in enumerate(ODD_KEYS):
        store.put(("keys",), key, {"n": number})
    assert [store.get(("keys",), key).value["n"] for key in ODD_KEYS] == [*range(len(ODD_KEYS))]
    assert [item.key for item in store.search(("keys",), limit=99)] == ODD_KEYS
    for key in ODD_KEYS[::2]:
        store.delete(("keys",), key)
    assert [item.key for item in store.search(("keys",), limit=99)] == ODD_KEYS[1::2]


ODD_LABELS = [
    "Foo",
    "foo",
    "FOO",
    "memory",
    "MEMORY",
    "agents",
    "claude",
    "user",
    "2026-03-05",
    "con",
    "a b",
    "a\\b",
    "a:b",
    "..".replace(".", "‥"),
    "%41",
    "é",
    "e\u0301",
    "node_modules",
    "x_conflict-20260101-101010",
    "git~1",
    "-",
    "_",
    "~",
]


def test_namespaces_are_exact(at: Desk, store: MdmemStore):
    for number, label in enumerate(ODD_LABELS):
        store.put((label,), "k", {"n": number})
        store.put((label, label), "k", {"n": -number})
    for number, label in enumerate(ODD_LABELS):
        assert store.get((label,), "k").value == {"n": number}
        assert store.get((label, label), "k").value == {"n": -number}
    assert set(store.list_namespaces(limit=99)) == {
        *((label,) for label in ODD_LABELS),
        *((label, label) for label in ODD_LABELS),
    }
    names = [path.relative_to(at.root).as_posix() for path in at.root.rglob("memory/store/**/*.md")]
    kinds = {at.workspace.kind_of(name) for name in names}
    assert (len(names), kinds) == (2 * len(ODD_LABELS), {"evergreen"})
    assert len({name.casefold() for name in names}) == len(names)


ODD_VALUES: list[dict[str, Any]] = [
    {},
    {"content": ""},
    {"content": " x"},
    {"content": "a\r\nb"},
    {"content": "# heading"},
    {"content": "a\n==="},
    {"content": "```\ncode\n```"},
    {"content": "```json\n{}\n```"},
    {"content": "<!-- open"},
    {"content": "<div>\nx"},
    {"content": "a %% b"},
    {"content": "- a\n  - b\n\nc"},
    {"content": "a\n\nb  \nc"},
    {"content": "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs"},
    {"content": "a\u2028b\u0085c\x0cd"},
    {"content": "[x]: http://x\n"},
    {"content": "---\na: 1\n---"},
    {"content": None},
    {"content": "x", "more": 1},
    {"text": "\ud800", "nul": "\0", "ü": "漢字 👍"},
    {"n": 10**40, "f": 1e-300, "t": True, "none": None, "l": [[], {}, [{"a": [1]}]]},
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=repr)
def test_values_are_exact(store: MdmemStore, value: dict[str, Any]):
    store.put(("v",), "before", {"content": "stays"})
    store.put(("v",), "k", value)
    store.put(("v",), "after", {"content": "stays, too"})
    assert store.get(("v",), "k").value == value
    store.put(("v",), "k", {"content": "plain"})
    store.put(("v",), "k", value)
    assert [item.key for item in store.search(("v",))] == ["before", "k", "after"]
    assert store.get(("v",), "k").value == value


@given(st.text() | st.text("#`~-=<>*[]()!%\\ \n\tab1.:|_", max_size=60))
@examples(400)
def test_any_text_comes_back(text: str):
    body = stored_items.write({"content": text})
    document = parse(
        stored_items.put(parse("# t\n\n## a\n\nx\n\n## b\n\ny\n"), {"a": body, "c": body})
    )
    items = stored_items.items(document)
    assert list(items) == ["a", "b", "c"]
    for key in ("a", "c"):
        assert stored_items.read(stored_items.body_of(document, items[key])) == (
            {"content": text},
            False,
        )


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((("a",), "the key", {"n": float("nan")}), "'the key'"),
        ((("a",), "the key", {"n": (1, 2)}), "'the key'"),
        ((("a",), "the key", {1: 2}), "'the key'"),
        ((("a",), "the key", {"n": object()}), "'the key'"),
        ((("a",), "the key", {"n": nested(5000)}), "'the key'"),
        ((("a",), "the \ud800", {"n": 1}), "'the "),
        ((("a", "n" * 201), "k", {"n": 1}), "too long"),
        ((("a\ud800",), "k", {"n": 1}), "surrogates"),
        ((("a",), "k", {"n": 1}, ["n"]), "index"),
        ((("a",), "k", {"content": "x" * 5_000_000}), "5,0"),
        ((("a",), "k", {"content": TOKEN}), "secret"),
        ((("a",) * 600, "k", {"n": 1}), "too long"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(
    at: Desk, store: MdmemStore, arguments: tuple[Any, ...], named: str
):
    store.put(("a",), "k", {"n": 0})
    before = at.tree_state()
    with pytest.raises((ValueError, NotImplementedError, MdmemError), match=named):
        store.put(*arguments)
    assert at.tree_state() == before


def test_values_near_the_limit(store: MdmemStore):
    value = {"content": "word " * 900_000 + "end", "n": 1}
    store.put(("large",), "k", value)
    assert store.get(("large",), "k").value == value


def test_lifetimes_and_fields_are_refused(store: MdmemStore):
    with pytest.raises(NotImplementedError, match="TTL"):
        store.put(("a",), "k", {"n": 1}, ttl=5)
    with pytest.raises(NotImplementedError, match="ttl"):
        store.batch([base.PutOp(("a",), "k", {"n": 1}, ttl=5)])
    store.put(("a",), "k", {"n": 1}, index=False)
    assert store.get(("a",), "k").value == {"n": 1}


def test_an_actor_who_proposes_is_refused(at: Desk, store: MdmemStore):
    settings = at.world.home / ".config/mdmem/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('write = "propose"\n')
    with pytest.raises(MdmemError) as caught:
        MdmemStore(mdmem.open(at.root)).put(("a",), "k", {"n": 1})
    assert caught.value.code == "not-allowed"
    assert not (at.root / "memory/store").exists()


def test_search_by_words(store: MdmemStore):
    store.put(("docs", "a"), "fish", {"content": "- salmon swims upstream\n- trout does, too"})
    store.put(("docs", "a", "b"), "bird", {"text": "the salmon thrush sings", "n": 2})
    store.put(("docs",), "stone", {"text": "granite", "n": 1})
    store.put(("other",), "fish", {"text": "salmon"})
    found = store.search(("docs",), query="salmon")
    assert {item.key for item in found if item.score} >= {"fish", "bird"}
    assert all(item.namespace[0] == "docs" for item in found)
    assert [
        item.key for item in store.search(("docs",), query="salmon", filter={"n": {"$gt": 1}})
    ] == ["bird"]
    assert [item.key for item in store.search(("docs",), query="granite", limit=1)] == ["stone"]
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    pages = [store.search(("docs",), query="salmon", limit=1, offset=n) for n in range(2)]
    assert [item.key for page in pages for item in page] == [item.key for item in found[:2]]
    assert store.search(("nowhere",), query="salmon") == []
    assert len(store.search((), query="  ")) == 4


def test_dates_are_those_of_commits(at: Desk, store: MdmemStore, monkeypatch: pytest.MonkeyPatch):
    for day, value in ((6, "one\n\ntwo"), (7, "one")):
        monkeypatch.setenv("MDMEM_NOW", f"2026-03-0{day}T10:00:00+00:00")
        MdmemStore(mdmem.open(at.root)).put(("a",), "k", {"content": value})
    item = store.get(("a",), "k")
    assert [date.astimezone(UTC).day for date in (item.created_at, item.updated_at)] == [6, 7]
    at.write("memory/store/by-hand.md", "## k\n\nnot committed\n")
    assert store.get(("by-hand",), "k").created_at.tzinfo is not None


def test_the_store_says_what_the_file_says(at: Desk, store: MdmemStore):
    for key in "abc":
        store.put(("hand",), key, {"content": f"text of {key}"})
    path = "memory/store/hand.md"
    text = at.read(path).replace("text of a", "Ada's words").replace("## b\n\ntext of b\n\n", "")
    at.write(
        path,
        text.replace("text of c", '```json\n{"n": }\n```') + "\n## my own\n\n```json\n[1]\n```\n",
    )
    broken = '```json\n{"n": }\n```'
    assert {item.key: item.value for item in store.search(("hand",))} == {
        "a": {"content": "Ada's words"},
        "c": {"content": broken},
        "my own": {"content": "```json\n[1]\n```"},
    }
    problems = [(each.code, each.line) for each in mdmem.open(at.root).check() if each.path == path]
    assert problems == [("bad-json", 7), ("bad-json", 13)]
    store.put(("hand",), "my own", {"n": 2})
    assert "## my own\n" in at.read(path)
    assert store.get(("hand",), "my own").value == {"n": 2}
    assert "as yours" not in at.subjects()[1]


def test_an_open_fence_takes_no_item_in(at: Desk, store: MdmemStore):
    store.put(("open",), "k", {"n": 1})
    at.write("memory/store/open.md", at.read("memory/store/open.md") + "\n```\nnever closed\n")
    before = at.tree_state()
    with pytest.raises(MdmemError, match="line 11") as caught:
        store.put(("open",), "new", {"n": 2})
    assert caught.value.code == "open-block"
    assert at.tree_state() == before
    store.put(("open",), "k", {"n": 2})
    assert store.get(("open",), "k").value == {"n": 2}


def test_threads_lose_nothing(store: MdmemStore):
    def write(thread: int) -> None:
        for number in range(20):
            store.put(("threads", str(number % 2)), f"{thread}-{number}", {"n": number})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(store.search(("threads",), limit=999)) == 160


@pytest.mark.slow
def test_tasks_lose_nothing(store: MdmemStore):
    import asyncio

    async def write(task: int) -> None:
        for number in range(20):
            await store.aput(("tasks",), f"{task}-{number}", {"n": number})

    async def all_tasks() -> None:
        await asyncio.gather(*map(write, range(50)))

    asyncio.run(all_tasks())
    assert len(store.search(("tasks",), limit=9999)) == 1000
