"""Each row of the table of `trust`, at one door that asks it.

A scenario holds by the table as it is. It fails where its row is taken out, and where the row lets
its origin do everything.
"""

import os
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from conftest import World
from dream_records import entry, memory_of, stands
from model_sessions import SMALL, aged, settings
from pi_sessions import write_session
from proposal_actions import on
from scripted_models import MODEL, quoting_agents, serving
from workspaces import NOW, Desk, desk

from mdmem.folder import config, trust
from mdmem.folder.config import Settings
from mdmem.folder.trust import TextOrigin, Trust
from mdmem.memory import Memory, hosts
from mdmem.model import Source
from mdmem.model.errors import WorkspaceProblem
from mdmem.model.pipelines import DreamOp
from mdmem.model.proposals import ProposeBranch
from mdmem.model.searches import ListFacts
from mdmem.model.sessions import Message, Speaker
from mdmem.model.writes import Remember, WriteOptions
from mdmem.nights.dream.cases import Limits, Suggestion, decide
from mdmem.sessions.drafts import DraftRules, draw

ALL = Trust(
    most=Source.USER_STATED,
    has_key=True,
    adds=True,
    replaces=True,
    ends_users_word=True,
    decides=True,
    is_served=True,
    settings=frozenset(Settings.__match_args__),
)
LIMITS = Limits(applies=True, most=20, done=0, budget_lines=200, budget_bytes=25_000)


@pytest.fixture
def at(world: World, repository: Any, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def drawn(text: str, **fields: Any) -> list[Source]:
    """The sources of the entries that are drawn from one message."""
    values = {"speaker": Speaker.USER, "typed": True, "mark": f"{2:012x}"} | fields
    message = Message(line=2, time=datetime(2026, 3, 4, 9, tzinfo=UTC), text=text, **values)
    return [draft.source for draft in draw([message], DraftRules(zone=UTC, tools_line=0)).drafts]


def update(origin: TextOrigin, old: Source) -> bool:
    """True if a night carries out by itself that an entry takes the place of a line."""
    candidate = entry("I work at Figma", attribute="employer", origin=origin)
    change = Suggestion(
        op=DreamOp.UPDATE,
        candidate=candidate,
        why="",
        old=stands("employer: Stripe", old, key="employer", attribute="employer"),
        text=candidate.text,
        source=candidate.source,
        is_sure=True,
    )
    return bool(
        decide([change], memory_of(change.old) if change.old else memory_of(), LIMITS).applied
    )


def person(at: Desk) -> None:
    assert not at.workspace.is_agent(None)
    at.workspace.require_person(None, "accept")


def plain_statement(at: Desk) -> None:
    assert drawn("I work at Stripe.") == [Source.USER_STATED]
    assert update(TextOrigin.PLAIN_STATEMENT, Source.USER_STATED)


def message(at: Desk) -> None:
    assert drawn("Proofread this please\n\nDear team, I work at Initech now.") == [Source.INFERRED]
    assert not update(TextOrigin.MESSAGE, Source.AUTO)


def other_sender(at: Desk) -> None:
    assert drawn("I work at Initech.", sender="Mallory") == [Source.INFERRED]
    assert not update(TextOrigin.OTHER_SENDER, Source.AUTO)


def agent(at: Desk) -> None:
    options = WriteOptions(source=Source.USER_STATED, actor="agent/x")
    at.apply(Remember("likes tea", options=options))
    assert "Mdmem-Claimed-By: agent/x" in at.git("log", "-1", "--format=%B")
    with pytest.raises(WorkspaceProblem):
        at.workspace.require_person("agent/x", "accept")


def material(at: Desk) -> None:
    assert drawn("I work at Initech.", typed=False) == []


def rule(at: Desk) -> None:
    addition = Suggestion(
        op=DreamOp.ADD,
        candidate=entry("x" * 60),
        why="",
        text="x" * 60,
        source=Source.USER_STATED,
        is_sure=True,
    )
    full = Limits(applies=True, most=20, done=0, budget_lines=1, budget_bytes=1)
    suggested = decide([addition], memory_of(stands("likes tea")), full).proposed
    assert [each.source for each in suggested if each.op is DreamOp.DELETE] == [Source.AUTO]


def proposal(at: Desk) -> None:
    at.git("switch", "-qc", "contrib")
    at.write("MEMORY.md", at.read("MEMORY.md") + "- lives in Bergen\n")
    at.git("-c", "user.name=Mallory", "commit", "-qam", "by hand")
    at.git("switch", "-q", "main")
    with closing(Memory(at.workspace)) as memory:
        view = memory.proposals.propose_branch(ProposeBranch("contrib"))
        memory.proposals.decide(on(view.id))
        (fact,) = [each for each in memory.facts(ListFacts()).facts if "Bergen" in each.text]
    assert fact.source is Source.INFERRED


def other_author(at: Desk) -> None:
    assert not update(TextOrigin.OTHER_AUTHOR, Source.AUTO)
    row = trust.trust(TextOrigin.OTHER_AUTHOR)
    assert (row.most, row.decides) == (Source.USER_STATED, False)


def stranger(at: Desk) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MDMEM_ADOPT"}
    assert hosts.find_host_workspace(environment, str(at.root)).repository is None


def workspace_settings(at: Desk) -> None:
    at.write("mdmem.toml", 'flush_prompt = "Run this"\n')
    with pytest.raises(WorkspaceProblem, match="may not set flush_prompt"):
        config.load(at.root, at.root, os.environ)
    at.write("mdmem.toml", "budget_lines = 7\n")
    assert config.load(at.root, at.root, os.environ).budget_lines == 7


def model(at: Desk) -> None:
    folder = at.world.home / "sessions"
    folder.mkdir()
    with serving(quoting_agents) as server, closing(Memory(at.workspace)) as memory:
        settings(at, folder, f'model_url = "{server.url}"', f'model_name = "{MODEL}"')
        aged(write_session(folder, *(f"agent: {SMALL.format(number)}" for number in range(2, 12))))
        memory.pipelines.run()
        sources = {
            fact.source for fact in memory.facts(ListFacts()).facts if "drip slowly" in fact.text
        }
    assert sources == {Source.AUTO}


SCENARIOS: dict[TextOrigin, Callable[[Desk], None]] = {
    TextOrigin.PERSON: person,
    TextOrigin.PLAIN_STATEMENT: plain_statement,
    TextOrigin.MESSAGE: message,
    TextOrigin.OTHER_SENDER: other_sender,
    TextOrigin.AGENT: agent,
    TextOrigin.MATERIAL: material,
    TextOrigin.RULE: rule,
    TextOrigin.PROPOSAL: proposal,
    TextOrigin.OTHER_AUTHOR: other_author,
    TextOrigin.STRANGER: stranger,
    TextOrigin.WORKSPACE_SETTINGS: workspace_settings,
    TextOrigin.MODEL: model,
}
MAY_DO_EVERYTHING = (TextOrigin.PERSON, TextOrigin.PLAIN_STATEMENT)
"""Their rows are not what keeps anybody out."""


def test_each_row_has_a_scenario() -> None:
    assert list(SCENARIOS) == list(TextOrigin)


@pytest.mark.parametrize("origin", TextOrigin)
def test_it_holds_by_the_table(origin: TextOrigin, at: Desk) -> None:
    SCENARIOS[origin](at)


@pytest.mark.parametrize("origin", TextOrigin)
def test_it_fails_without_its_row(
    origin: TextOrigin, at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {each: row for each, row in trust.TABLE.items() if each is not origin}
    monkeypatch.setattr(trust, "TABLE", rows)
    with pytest.raises((KeyError, AssertionError)):
        SCENARIOS[origin](at)


@pytest.mark.parametrize(
    "origin", [origin for origin in TextOrigin if origin not in MAY_DO_EVERYTHING]
)
def test_it_fails_where_its_origin_may_do_everything(
    origin: TextOrigin, at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "TABLE", {**trust.TABLE, origin: ALL})
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        SCENARIOS[origin](at)
