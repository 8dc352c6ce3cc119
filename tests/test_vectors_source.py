"""Texts to vectors: what is sent, what is refused, and what is counted."""

import json
import math
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from vector_models import DIMENSIONS, VectorServer, answer, vector_command, vector_server

from mdmem.folder.config import Settings, load
from mdmem.llm import asking
from mdmem.llm.requests import BAD_ANSWER, BUDGET, DOWN, REFUSED, ModelFailure
from mdmem.model.errors import WorkspaceProblem
from mdmem.vectors import source
from mdmem.vectors.source import Embedder, EmbeddingModel, embedding_model, open_source


@pytest.fixture
def server() -> Iterator[VectorServer]:
    with vector_server() as serving:
        yield serving


def settings_of(**values: Any) -> Settings:
    return Settings(**{"vectors": "always", "vectors_name": "words", **values})


def ask(server: VectorServer, *texts: str, seconds: float = 5) -> source.EmbeddedTexts:
    model = embedding_model(settings_of(vectors_url=server.url), {})
    return open_source(model).embed(texts, "passage", seconds)


def failure(server: VectorServer, *texts: str, seconds: float = 5) -> ModelFailure:
    with pytest.raises(ModelFailure) as raised:
        ask(server, *texts, seconds=seconds)
    return raised.value


def test_vectors_in_order_and_one_unit_long(server: VectorServer):
    def turned(texts: list[str]) -> Any:
        answered = answer(texts)
        return {**answered, "data": answered["data"][::-1]}

    server.answer = turned
    embedded = ask(server, "the car", "a meal")
    assert embedded.tokens == 6
    assert [len(each) for each in embedded.vectors] == [DIMENSIONS] * 2
    assert all(math.isclose(math.hypot(*each), 1, abs_tol=1e-6) for each in embedded.vectors)
    assert [max(range(5), key=each.__getitem__) for each in embedded.vectors] == [0, 2]


def test_prefixes_and_key(server: VectorServer):
    settings = settings_of(
        vectors_url=server.url, vectors_key_env="KEY", vectors_prefix=("q: ", "p: ")
    )
    opened = open_source(embedding_model(settings, {"KEY": "k1"}))
    opened.embed(["the car"], "query", 5)
    opened.embed(["the car"], "passage", 5)
    assert server.texts == ["q: the car", "p: the car"]
    assert server.headers[0]["Authorization"] == "Bearer k1"


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        [[1.0, 0.0]],
        [[1.0, 0.0], [1.0]],
        [[1.0, 0.0], [0.0, 0.0]],
        [[1.0, 0.0], [float("nan"), 1.0]],
        [[1.0, 0.0], [float("inf"), 1.0]],
        [[1.0, 0.0], [1e300, 1e300]],
        [[1.0, 0.0], "ab"],
        [[1.0, 0.0], [None, 1.0]],
        [[1.0, 0.0], []],
    ],
)
def test_refused_vectors(server: VectorServer, vectors: list[Any]):
    data = [{"index": number, "embedding": each} for number, each in enumerate(vectors)]
    server.answer = lambda texts: {"data": data}
    assert failure(server, "one", "two").outcome == BAD_ANSWER


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"data": 1}', b"a" * 500_000])
def test_refused_answers(server: VectorServer, data: bytes):
    server.answer = lambda texts: data
    assert failure(server, "one").outcome == BAD_ANSWER


@pytest.mark.parametrize(
    ("status", "outcome", "is_passing"),
    [(500, DOWN, True), (429, DOWN, True), (401, REFUSED, False), (302, REFUSED, False)],
)
def test_status(server: VectorServer, status: int, outcome: str, is_passing: bool):
    server.status = status
    failed = failure(server, "one")
    assert (failed.outcome, failed.is_passing) == (outcome, is_passing)


def test_a_slow_server(server: VectorServer):
    server.wait = 0.2
    assert failure(server, "one", seconds=0.05).outcome == DOWN


def test_no_server():
    model = EmbeddingModel("words", ("", ""), url="http://127.0.0.1:1/v1")
    with pytest.raises(ModelFailure) as raised:
        open_source(model).embed(["one"], "query", 1)
    assert raised.value.outcome == DOWN


@pytest.mark.costly
def test_a_command_stays_open(tmp_path: Path):
    settings = settings_of(vectors_command=vector_command(tmp_path))
    opened = open_source(embedding_model(settings, {}))
    first = opened.embed(["the car", "a meal"], "passage", 10)
    second = opened.embed(["the automobile " * 9_000], "query", 10)
    opened.close()
    assert [len(first.vectors), len(second.vectors)] == [2, 1]
    assert (tmp_path / "starts").read_text() == "x"


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("print('no')", BAD_ANSWER),
        ("print('{}')", BAD_ANSWER),
        ("raise SystemExit(1)", DOWN),
        pytest.param("input(); input()", DOWN, marks=pytest.mark.costly),
    ],
)
def test_a_command_that_fails(program: str, outcome: str):
    model = EmbeddingModel("words", ("", ""), command=(sys.executable, "-Ic", program))
    opened = open_source(model)
    with pytest.raises(ModelFailure) as raised:
        opened.embed(["one"], "query", 0.5)
    assert raised.value.outcome == outcome


def test_no_such_command():
    model = EmbeddingModel("words", ("", ""), command=("/no/such/program",))
    with pytest.raises(ModelFailure) as raised:
        open_source(model).embed(["one"], "query", 5)
    assert raised.value.outcome == REFUSED


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"vectors_url": "http://127.0.0.1/v1", "vectors_command": ("x",)},
        {"vectors_url": "ftp://127.0.0.1"},
        {"vectors_url": "http://ada:key@127.0.0.1"},
        {"vectors_url": "http://127.0.0.1/v1", "vectors_name": None},
        {"vectors_url": "http://127.0.0.1/v1", "vectors_key_env": "MISSING"},
    ],
)
def test_incomplete_settings(values: dict[str, Any]):
    with pytest.raises(WorkspaceProblem) as raised:
        embedding_model(settings_of(**values), {})
    assert raised.value.code == "no-model"


def test_requests_are_logged_without_words_and_count(tmp_path: Path, server: VectorServer):
    model = embedding_model(settings_of(vectors_url=server.url), {})

    def embedder(most: int) -> Embedder:
        settings = settings_of(model_tokens_day=most)
        now = datetime(2026, 3, 5, tzinfo=UTC)
        return Embedder(tmp_path, open_source(model), settings, lambda: now)

    embedder(100).passages(["the silver car", "a meal"])
    with pytest.raises(ModelFailure) as raised:
        embedder(7).question("where is the silver car?", 5)
    assert raised.value.outcome == BUDGET
    assert len(server.requests) == 1
    lines = [json.loads(line) for line in (tmp_path / asking.LOG_NAME).read_text().splitlines()]
    assert [(line["task"], line["tokens_in"], line["outcome"]) for line in lines] == [
        ("embed", 6, "answered"),
        ("embed", 0, BUDGET),
    ]
    assert "silver" not in (tmp_path / asking.LOG_NAME).read_text()
    assert len(list(asking.read_records(tmp_path))) == 2


def test_the_users_own_settings_name_a_model(world: World, tmp_path: Path):
    own = world.home / ".config/mdmem/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(
        'vectors = "weak"\nvectors_command = ["x"]\nvectors_prefix = ["", "passage: "]\n'
    )
    settings = load(tmp_path, None, os.environ)
    assert (settings.vectors, settings.vectors_prefix) == ("weak", ("", "passage: "))


def test_a_prefix_for_each_side(world: World, tmp_path: Path):
    own = world.home / ".config/mdmem/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('vectors_prefix = ["query: "]\n')
    with pytest.raises(WorkspaceProblem) as raised:
        load(tmp_path, None, os.environ)
    assert raised.value.code == "bad-settings"
