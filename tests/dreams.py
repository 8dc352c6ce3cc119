"""Days' logs as digests, agents and persons leave them, and nights that dream them."""

import os
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pytest
from conftest import World
from workspaces import Desk

from mdmem.changes import apply
from mdmem.changes.commit_notes import complete_options
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.pipelines import Dream, DreamChange, DreamOp, DreamResult
from mdmem.model.proposals import PartView
from mdmem.model.writes import DayEntry, DigestDay, Log, WriteOptions
from mdmem.startup.records import replace

DAY = date(2026, 3, 6)
MORNING = "2026-03-07T07:00:00+00:00"


@dataclass(frozen=True)
class Said:
    """Something that a digest cites of a session."""

    text: str
    minute: str = "09:00"
    source: Source = Source.USER_STATED
    kind: str = "fact"
    key: str | None = None
    session: str = "claude/aaaaaaaa"
    line: int = 1
    sender: str | None = None
    day: date = DAY


def settings(world: World, *lines: str) -> None:
    path = world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, ""]))


def digested(at: Desk, *sayings: Said) -> None:
    """Write entries into their days' logs as a digest does."""
    for said in sayings:
        entry = DayEntry(
            minute=said.minute,
            text=said.text if said.sender is None else f"{said.sender}: {said.text}",
            kind=said.kind,
            cites=f"{said.session}#{said.line}",
            key=said.key,
            sender=said.sender,
            time=datetime(said.day.year, said.day.month, said.day.day, tzinfo=UTC),
        )
        change = DigestDay(
            day=said.day,
            entries=(entry,),
            run="digest/20260307T000000Z-0",
            options=WriteOptions(source=said.source),
        )
        workspace = at.workspace
        change = replace(change, options=complete_options(workspace, change.options, own_work=True))
        apply.apply_all(workspace, [change], change.options, print)


def logged(
    at: Desk,
    text: str,
    *,
    source: Source = Source.INFERRED,
    day: date = DAY,
    kind: str = "fact",
    session: str | None = None,
) -> None:
    """Have an agent log something."""
    options = WriteOptions(source=source, actor="bot", session=session)
    apply.apply(
        at.workspace,
        Log(text, kind=kind, day=day.isoformat(), time="10:00", options=options),
        print,
    )


def dream(at: Desk, *days: str, **fields: Any) -> DreamResult:
    with closing(Memory(at.workspace)) as memory:
        return memory.pipelines.dream(Dream(days=days, **fields))


def fates(result: DreamResult) -> dict[str, tuple[DreamOp, bool]]:
    """The fate of each text."""
    return {change.text: (change.op, change.applied) for change in result.changes}


def only(result: DreamResult) -> DreamChange:
    (change,) = result.changes
    return change


def curated(at: Desk) -> list[str]:
    """The list items of the curated file."""
    return [line for line in at.read("MEMORY.md").splitlines() if line.startswith("- ")]


def waiting(at: Desk) -> list[PartView]:
    """The parts that wait, of all proposals."""
    with closing(Memory(at.workspace)) as memory:
        return [
            part
            for proposal in memory.proposals.standing().views
            for part in proposal.parts
            if part.state.waits
        ]


def in_the_morning(monkeypatch: pytest.MonkeyPatch, time: str = MORNING) -> None:
    """Have it be a time."""
    monkeypatch.setenv("MDMEM_NOW", time)
    assert os.environ["MDMEM_NOW"] == time
