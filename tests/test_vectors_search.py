"""A search with a model of vectors: its order, its freshness and its faults."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import World
from test_vectors_fill import TOKEN, filled, set_up
from test_vectors_source import server as server
from vector_models import VectorServer, answer
from workspaces import Desk, desk

from mdmem.llm.asking import LOG_NAME
from mdmem.memory import Memory
from mdmem.model.searches import Search, SearchResult
from mdmem.model.writes import Forget, Remember, WriteOptions
from mdmem.show.hits import search_text
from mdmem.show.values import to_json
from mdmem.vectors import questions
from mdmem.vectors.store import FOLDER_NAME, ROWS_NAME, TABLE_NAME

OTHERS = """
    rope hangs in the attic above grey boxes
    attic window needs new rope soon
    paint for fences stands near Martin
    glass was ordered from Bergen last autumn
    wire costs nine crowns each metre
    cloth must dry slowly outdoors
    Nadia plays chess every Thursday evening
    invoices leave before noon
    the kettle whistles too loudly
    Oskar prefers trains over planes
    tulips bloom behind grandmother's greenhouse
    passwords expire each quarter
    the printer jams with thick paper
    Leila studies marine biology abroad
    winter tyres go on in October
    the router restarts at midnight
"""
MANY = "".join(f"- {line.strip()}\n" for line in OTHERS.strip().splitlines())
CURATED = f"""# Memory

## Things

- the charabanc went to Zoe
- my leech is Ada Okafor
- the ticket for the old bus is lost
{MANY}"""
CAR = "who mended our jalopy"


@pytest.fixture
def at(world: World, repository: Path, server: VectorServer) -> Desk:
    at = desk(world, repository)
    set_up(world, server.url, vectors="weak")
    at.write("MEMORY.md", CURATED)
    at.commit()
    filled(at)
    server.requests.clear()
    return at


def search(at: Desk, query: str, **more: object) -> SearchResult:
    return Memory(at.workspace).search(Search(query=query, **more))  # type: ignore[arg-type]


def texts(result: SearchResult) -> list[str]:
    return [hit.text for hit in result.hits]


def test_an_entry_without_a_word_of_the_question(at: Desk, server: VectorServer):
    assert search(at, CAR, words_only=True).hits == ()
    found = search(at, CAR)
    assert texts(found)[0] == "the charabanc went to Zoe"
    assert found.hits[0].like
    assert found.vectors is None
    assert to_json(found)["hits"][0]["like"] is True
    assert "(like)" in search_text(found, False)
    assert server.texts == [CAR]


def test_a_memory_of_two_entries_has_none_above_chance(at: Desk, server: VectorServer):
    at.write("MEMORY.md", "# Memory\n\n- one\n- two\n")
    filled(at)
    found = search(at, CAR)
    assert (found.hits, found.vectors) == ((), None)
    assert server.texts[-1] == CAR


def test_behind_what_words_found(at: Desk):
    found = search(at, "rope hangs in the attic above the grey boxes of the sawbones", limit=12)
    places = [number for number, hit in enumerate(found.hits, 1) if hit.like]
    assert texts(found)[0] == "rope hangs in the attic above grey boxes"
    assert places == [3]
    assert found.hits[places[0] - 1].text == "my leech is Ada Okafor"
    scores = [hit.score for hit in found.hits if not hit.near]
    assert scores == sorted(scores, reverse=True)


def test_likeness_orders_what_words_found(at: Desk):
    at.write(
        "MEMORY.md",
        f"{CURATED}- Zebedee paid for the bus\n- Zebedee paid for supper\n- Zebedee is tall\n",
    )
    filled(at)
    question = "Zebedee paid for which meal"
    by_words = texts(search(at, question, words_only=True))
    found = search(at, question, explain=True)
    assert texts(found)[0] == "Zebedee paid for supper"
    assert set(by_words) <= set(texts(found))
    explanation = found.hits[0].explanation
    assert explanation is not None
    score = sum(part.score for part in explanation.parts)
    for factor in explanation.factors:
        score *= factor.value
    assert "likeness" in [factor.name for factor in explanation.factors]
    assert score == pytest.approx(found.hits[0].score, abs=0.01)


@pytest.mark.parametrize("query", ["ticket", '"the old bus"', "src/car/doctor.py"])
def test_one_word_a_path_and_a_quoted_text_are_not_sent(at: Desk, server: VectorServer, query: str):
    assert search(at, query).vectors is None
    assert not server.requests


def test_always_asked(at: Desk, server: VectorServer):
    set_up(at.world, server.url, vectors="always")
    search(at, "the ticket for the old bus")
    assert server.texts == ["the ticket for the old bus"]


def test_words_only(at: Desk, server: VectorServer):
    found = search(at, CAR, words_only=True)
    assert (found.vectors, to_json(found)["vectors"]) == ("off", "off")
    assert not server.requests


def test_the_same_question_twice(at: Desk, server: VectorServer):
    memory = Memory(at.workspace)
    first = to_json(memory.search(Search(query=CAR)))
    again = to_json(memory.search(Search(query=CAR)))
    in_another_process = to_json(search(at, CAR))
    assert first == again == in_another_process
    assert len(server.requests) == 1


def test_no_word_of_a_question_is_kept(at: Desk):
    search(at, "who mended our jalopy zyzzyva")
    for path in at.workspace.state.rglob("*"):
        if path.is_file() and "index" not in path.parts:
            assert b"zyzzyva" not in path.read_bytes(), path
    assert "embed" in (at.workspace.state / LOG_NAME).read_text()


def test_a_question_is_sent_without_secrets(at: Desk, server: VectorServer):
    search(at, f"who mended our jalopy with {TOKEN} <private>at the old mill</private>")
    search(at, "<private>who mended our jalopy</private>")
    assert server.texts == ["who mended our jalopy with [REDACTED:github-token]"]


def test_what_is_not_current_is_never_brought_in(at: Desk):
    Memory(at.workspace).apply(Forget("the charabanc went to Zoe"))
    Memory(at.workspace).apply(Remember("the charabanc is red", until="2026-03-01"))
    filled(at)
    assert "the charabanc went to Zoe" not in texts(search(at, CAR))
    assert "the charabanc is red (until 2026-03-01)" not in texts(search(at, CAR))


def test_superseded_text_is_never_brought_in(at: Desk):
    new = Remember(
        "the boat went to Zoe", options=WriteOptions(supersedes="the charabanc went to Zoe")
    )
    Memory(at.workspace).apply(new)
    assert search(at, CAR, history=True).vectors is None
    assert texts(search(at, CAR)) == []


def test_text_that_expired_since_is_never_brought_in(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T10:00:00")
    red = "the charabanc is red (until 2026-04-01)"
    at.write("MEMORY.md", CURATED.replace("the charabanc went to Zoe", red))
    filled(at)
    assert red in texts(search(at, CAR))
    monkeypatch.setenv("MDMEM_NOW", "2026-04-02T10:00:00")
    assert texts(search(at, CAR)) == []


def test_text_of_another_branch_is_never_brought_in(at: Desk):
    at.git("switch", "-q", "-c", "other")
    at.write("MEMORY.md", CURATED.replace("went to Zoe", "went to Max"))
    at.commit()
    filled(at)
    assert texts(search(at, CAR)) == ["the charabanc went to Max"]
    at.git("switch", "-q", "-")
    assert texts(search(at, CAR)) == ["the charabanc went to Zoe"]


def test_unsaved_text_and_edits_by_hand(at: Desk):
    at.write("MEMORY.md", CURATED.replace("the charabanc went to Zoe", "the boat went to Zoe"))
    assert "the charabanc went to Zoe" not in texts(search(at, CAR))


def test_behind_before_it_is_filled(at: Desk, server: VectorServer):
    set_up(at.world, server.url, vectors_name="another")
    found = search(at, CAR)
    assert (found.hits, found.vectors) == ((), "behind")
    assert not server.requests
    filled(at)
    assert search(at, CAR).hits[0].like
    assert len(list((at.workspace.state / FOLDER_NAME).iterdir())) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedd',
        b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}',
        b"a" * 500_000,
    ],
)
def test_a_bad_answer(at: Desk, server: VectorServer, data: bytes):
    expected = to_json(search(at, "rope in the attic of Wilhelmina", words_only=True))
    server.answer = lambda texts: data
    found = to_json(search(at, "rope in the attic of Wilhelmina"))
    assert found.pop("vectors") == "down"
    assert {**expected, "vectors": None} == {**found, "vectors": None}


def test_another_length(at: Desk, server: VectorServer):
    server.answer = lambda texts: {"data": [{"embedding": [1.0, 2.0]}]}
    assert search(at, CAR).vectors == "down"


def test_no_server(at: Desk, server: VectorServer):
    set_up(at.world, "http://127.0.0.1:1/v1", vectors="weak")
    expected = search(at, "rope in the attic of Wilhelmina", words_only=True)
    found = search(at, "rope in the attic of Wilhelmina")
    assert (found.hits, found.vectors) == (expected.hits, "down")


def test_three_failures_pause(at: Desk, server: VectorServer):
    server.status = 500
    states = [search(at, f"{CAR} {number}").vectors for number in range(5)]
    assert states == ["down"] * 5
    assert len(server.requests) == 3
    server.status = 200
    failures = at.workspace.state / questions.FAILURES_NAME
    os.utime(failures, (time.time() - 61, time.time() - 61))
    assert search(at, f"{CAR} again").vectors is None
    assert not failures.exists()


def test_a_late_answer_is_kept_for_the_next(at: Desk, server: VectorServer):
    own = at.world.home / ".config/mdmem/config.toml"
    own.write_text(own.read_text() + "vectors_wait = 10\n")
    server.wait = 0.15
    memory = Memory(at.workspace)
    assert memory.search(Search(query=CAR)).vectors == "late"
    thread = memory.workspace.resources.get(questions.KeptQuestions).asking
    assert thread is not None
    thread.join()
    assert memory.search(Search(query=CAR)).hits[0].like
    assert len(server.requests) == 1


def test_a_question_waits_for_the_one_before(at: Desk, server: VectorServer):
    server.wait = 0.15
    workspace = at.workspace
    first = questions.AskedMeaning(workspace, CAR, 0.01, is_kept=False)
    assert (first.likeness([]), first.state) == (None, "late")
    second = questions.AskedMeaning(workspace, "who is the sawbones?", 5, is_kept=False)
    assert second.likeness([]) is not None
    assert second.state is None
    assert server.texts == [CAR, "who is the sawbones?"]


def test_questions_of_several_threads_are_asked_one_by_one(at: Desk, server: VectorServer):
    workspace, begun = at.workspace, list[int]()

    def answered(texts: list[str]) -> object:
        begun.append(len(server.requests))
        return answer(texts)

    server.answer, server.wait = answered, 0.05
    ready = threading.Barrier(4)

    def ask(number: int) -> str | None:
        asked = questions.AskedMeaning(workspace, f"{CAR} {number % 3}", 5, is_kept=False)
        ready.wait()
        asked.likeness([])
        return asked.state

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [None] * 4
    assert begun == [1, 2, 3]


def test_without_numpy(at: Desk, server: VectorServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(questions, "find_spec", lambda name: None)
    found = search(at, CAR)
    assert found.vectors == "down"
    assert "[vectors]" in found.notes[0]
    assert not server.requests


def test_settings_that_are_incomplete(at: Desk, server: VectorServer):
    set_up(at.world, "ftp://x", vectors="weak")
    found = search(at, CAR)
    assert (found.vectors, found.notes) == ("down", ("vectors_url is not a server address",))
    assert Memory(at.workspace).status().notes[0] == "vectors_url is not a server address"


@pytest.mark.costly
def test_off_is_as_if_there_were_none(at: Desk, server: VectorServer):
    (at.world.home / ".config/mdmem/config.toml").unlink()
    query = "rope in the attic of Wilhelmina"
    off = to_json(search(at, query))
    assert "vectors" not in off
    script = (
        "import sys, os; from pathlib import Path; from mdmem.memory import Memory\n"
        "from mdmem.model.searches import Search\n"
        "from mdmem.workspace import open_at\n"
        "memory = Memory(open_at(Path.cwd(), os.environ))\n"
        f"memory.search(Search(query={query!r}))\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'numpy'"
        " or name.startswith(('mdmem.vectors', 'mdmem.llm', 'http'))])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], cwd=at.root, capture_output=True, text=True, check=True
    )
    assert shown.stdout == "[]\n"
    assert not server.requests


def test_a_store_that_is_damaged(at: Desk, server: VectorServer):
    (folder,) = (at.workspace.state / FOLDER_NAME).iterdir()
    (folder / TABLE_NAME).write_bytes(b"no table" * 1000)
    assert search(at, CAR).vectors == "behind"
    filled(at)
    assert search(at, CAR).hits[0].like


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_rows_that_were_cut_off(at: Desk, server: VectorServer, kept: int):
    (folder,) = (at.workspace.state / FOLDER_NAME).iterdir()
    rows = folder / ROWS_NAME
    rows.write_bytes(rows.read_bytes()[:kept])
    assert search(at, CAR).vectors == ("behind" if kept < 100 else None)
    filled(at)
    assert search(at, CAR).hits[0].like


def test_answers_of_another_model_are_not_compared(at: Desk, server: VectorServer):
    def turned(texts: list[str]) -> object:
        answered = answer(texts)
        for item in answered["data"]:
            item["embedding"].reverse()
        return answered

    server.answer = turned
    set_up(at.world, server.url, vectors_name="turned")
    filled(at)
    assert search(at, CAR).hits[0].text == "the charabanc went to Zoe"
