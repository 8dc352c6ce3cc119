"""Google ADK's memory service on a workspace; not installed: skipped."""

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import Desk, desk

import mdmem
from mdmem.model.errors import MdmemError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("google.adk.memory", reason="google-adk is not installed")
    from google.adk.events.event import Event
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai import types

    from mdmem.adk import MdmemMemoryService

USER: dict[str, Any] = {"app_name": "Shop", "user_id": "ada@example.org"}
OTHER: dict[str, Any] = {"app_name": "Shop", "user_id": "eve"}
FILE = "memory/adk/%53hop/ada%40example%2Eorg.md"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.fixture
def service(at: Desk) -> MdmemMemoryService:
    return MdmemMemoryService(mdmem.open(at.root))


def event(author: str, text: str, **more: Any) -> Event:
    content = types.Content(parts=[types.Part(text=text)])
    return Event(author=author, content=content, timestamp=1772700000.0, **more)


EVENTS = [
    event("user", "I am allergic to peanuts. What do you have?"),
    event("shop", "We have dates.", partial=True),
    event("shop", "Decision: the order goes to Porto."),
    Event(
        author="shop",
        content=types.Content(
            parts=[types.Part(function_call=types.FunctionCall(name="remember peanuts", args={}))]
        ),
    ),
    event("user", "I prefer invoices by e-mail."),
]


def session(user: dict[str, Any], name: str = "s 1") -> Session:
    return Session(id=name, **user, events=EVENTS)


def found(service: MdmemMemoryService, query: str, user: dict[str, Any] = USER) -> list[str]:
    answer = asyncio.run(service.search_memory(**user, query=query))
    return [entry.content.parts[0].text for entry in answer.memories]


def test_a_session_is_a_section_of_its_users_file(at: Desk, service: MdmemMemoryService):
    asyncio.run(service.add_session_to_memory(session(USER)))
    text = at.read(FILE)
    assert "## s%201\n" in text
    assert all(words in text for words in ("peanuts", "e-mail"))
    assert "dates" not in text
    assert "Mdmem-Source: inferred" in at.git("log", "-1", "--format=%B")
    assert "Mdmem-Actor: adk" in at.git("log", "-1", "--format=%B")
    assert [text for text in found(service, "which invoices?") if "e-mail" in text]
    assert found(service, "which invoices?", OTHER) == []
    assert found(service, " ") == []


def test_twice_is_once_and_what_was_deleted_stays_away(at: Desk, service: MdmemMemoryService):
    asyncio.run(service.add_session_to_memory(session(USER)))
    text, head = at.read(FILE), at.head()
    asyncio.run(service.add_session_to_memory(session(USER)))
    asyncio.run(service.add_events_to_memory(**USER, events=EVENTS[:1], session_id="s 1"))
    assert (at.read(FILE), at.head()) == (text, head)
    entry, *_ = asyncio.run(service.search_memory(**USER, query="invoices")).memories
    with pytest.raises(MdmemError):
        asyncio.run(service.delete_memory(**OTHER, memory_id=entry.id))
    with pytest.raises(ValueError, match="memory_id is missing"):
        asyncio.run(service.delete_memory(**USER, memory_id=None))
    asyncio.run(service.delete_memory(**USER, memory_id=entry.id))
    assert found(service, "invoices") == []
    asyncio.run(service.add_session_to_memory(session(USER)))
    assert found(service, "invoices") == []
    asyncio.run(service.add_events_to_memory(**USER, events=EVENTS))
    assert len(found(service, "invoices")) == 1
    assert "## Session\n" in at.read(FILE)


def test_memories_have_tags_and_may_be_shared(at: Desk, service: MdmemMemoryService):
    entry = MemoryEntry(content=types.Content(parts=[types.Part(text="size of shoes: 41")]))
    given = {"tags": ["shoes", "size"], "ttl": 5}
    asyncio.run(service.add_memory(**USER, memories=[entry], custom_metadata=given))
    assert "- size of shoes: 41 #shoes #size\n" in at.read(FILE)
    other = MemoryEntry(
        content=types.Content(parts=[types.Part(text="likes\n- boots")]),
        custom_metadata={"tags": "no list"},
    )
    asyncio.run(service.add_memory(**USER, memories=[other]))
    (found_entry,) = asyncio.run(service.search_memory(**USER, query="boots")).memories
    assert found_entry.content.parts[0].text == "likes > boots"
    asyncio.run(service.delete_memory(**USER, memory_id=found_entry.id))
    assert found(service, "boots") == []
    assert found(service, "Stripe") == []
    everybody = MdmemMemoryService(mdmem.open(at.root), shared=True)
    assert found(everybody, "Stripe") == ["works at Stripe"]
    assert found(everybody, "Stripe", OTHER) == ["works at Stripe"]
    first, *_ = asyncio.run(everybody.search_memory(**USER, query="shoes")).memories
    assert (first.id, first.timestamp is None) == (
        mdmem.open(at.root).search("shoes").hits[0].fact,
        False,
    )
