"""Tools and agents that use LangGraph's store; not installed: skipped."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import Desk, desk

import mdmem

pytest.importorskip("langgraph.store.base", reason="langgraph-checkpoint is not installed")

from mdmem.langgraph import MdmemStore


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.fixture
def store(at: Desk) -> MdmemStore:
    return MdmemStore(mdmem.open(at.root))


@pytest.mark.filterwarnings("ignore")
def test_tools_of_langmem(at: Desk, store: MdmemStore):
    langmem = pytest.importorskip("langmem", reason="langmem is not installed")
    manage = langmem.create_manage_memory_tool(("memories", "{user}"), store=store)
    search = langmem.create_search_memory_tool(("memories", "{user}"), store=store)
    config = {"configurable": {"user": "ada"}}
    made = manage.invoke({"content": "Ada likes dark roast", "action": "create"}, config)
    key = made.rpartition(" ")[2]
    assert f"## {key}\n\nAda likes dark roast\n" in at.read("memory/store/memories/ada.md")
    assert "dark roast" in search.invoke({"query": "which roast"}, config)
    assert search.invoke({"query": "which roast"}, {"configurable": {"user": "eve"}}) == "[]"
    manage.invoke({"content": "Ada likes light roast", "action": "update", "id": key}, config)
    assert "light roast" in search.invoke({"query": "which roast"}, config)
    manage.invoke({"action": "delete", "id": key}, config)
    assert search.invoke({"query": "which roast"}, config) == "[]"


@pytest.mark.filterwarnings("ignore")
def test_a_deep_agent_remembers_in_another_thread(at: Desk, store: MdmemStore):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deepagents = pytest.importorskip("deepagents", reason="deepagents is not installed")
        from deepagents.backends import StoreBackend
        from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage, ToolMessage
        from langgraph.checkpoint.memory import InMemorySaver

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

    def call(name: str, **arguments: Any) -> AIMessage:
        return AIMessage("", tool_calls=[{"id": name, "name": name, "args": arguments}])

    path = "/coffee.md"
    script = iter(
        [
            call("write_file", file_path=path, content="# Coffee\n\nAda takes it black.\n"),
            AIMessage("noted"),
            call("read_file", file_path=path),
            AIMessage("black"),
        ]
    )
    agent = deepagents.create_deep_agent(
        model=Scripted(messages=script),
        store=store,
        backend=StoreBackend(namespace=lambda _: ("agents", "ada@example")),
        checkpointer=InMemorySaver(),
    )
    for thread, text in (("one", "I take my coffee black."), ("two", "How do I take my coffee?")):
        config = {"configurable": {"thread_id": thread}}
        answer = agent.invoke({"messages": [("user", text)]}, config)
    read = [each.content for each in answer["messages"] if isinstance(each, ToolMessage)]
    assert "Ada takes it black." in read[0]
    assert "Ada takes it black." in at.read("memory/store/%61gents/ada%40example.md")
    assert mdmem.open(at.root).search("black").hits
