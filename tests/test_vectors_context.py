"""A prompt's block with a model of vectors: what it brings in, and what stays silent."""

import pytest
from test_vectors_fill import set_up
from test_vectors_search import at as at
from test_vectors_source import server as server
from vector_models import VectorServer
from workspaces import Desk

from mdmem.memory import Memory
from mdmem.model.prompts import BuildContext, Purpose
from mdmem.vectors.store import FOLDER_NAME

PROMPT = "does rope hang in the attic above grey boxes, or has the sawbones taken it?"


@pytest.fixture(autouse=True)
def always(at: Desk, server: VectorServer) -> None:
    set_up(at.world, server.url, vectors="always")


def block(at: Desk, prompt: str | None, purpose: Purpose = Purpose.PROMPT) -> str:
    request = BuildContext(prompt=prompt, budget=300, purpose=purpose)
    return Memory(at.workspace).context(request).text


def test_an_entry_that_is_like_the_prompt(at: Desk, server: VectorServer):
    assert "leech" in block(at, PROMPT)
    assert server.texts == [PROMPT]
    set_up(at.world, server.url, vectors="off")
    assert "leech" not in block(at, PROMPT)


@pytest.mark.parametrize("prompt", ["yes, go on", "fix the failing test", "who drives my jalopy?"])
def test_nothing_is_sent_for_what_words_do_not_carry(at: Desk, server: VectorServer, prompt: str):
    assert block(at, prompt) == ""
    assert not server.requests


def test_a_session_never_waits(at: Desk, server: VectorServer):
    assert block(at, None, Purpose.SESSION)
    assert not server.requests


def test_prompts_are_not_kept_on_disk(at: Desk, server: VectorServer):
    (table,) = (at.workspace.state / FOLDER_NAME).glob("*/rows.db")
    before = table.read_bytes()
    block(at, PROMPT)
    assert table.read_bytes() == before


def test_a_dead_server_leaves_the_block_of_words(at: Desk, server: VectorServer):
    set_up(at.world, server.url, vectors="off")
    expected = block(at, PROMPT)
    set_up(at.world, server.url, vectors="always")
    server.status = 500
    assert block(at, PROMPT) == expected
