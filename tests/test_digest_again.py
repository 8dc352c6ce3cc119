"""Transcripts that change between two digests, as clients and people change them: nothing is
doubled, and nothing lost.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from pi_sessions import digest, write_session
from workspaces import NOW, Desk, desk

from mdmem.text.document import parse
from mdmem.text.facts import items

SAID = (
    "We decided to keep the old pump.",
    "agent: Noted.",
    "I prefer calls before noon.",
    "We decided to sell the boat.",
)
KEPT = [text for text in SAID if not text.startswith("agent: ")]
MORE = "We decided to paint the roof."


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def entries(at: Desk) -> Counter[str]:
    return Counter(item.fact.text for item in items(parse(at.read("memory/2026-03-04.md"))))


def append(path: Path, *texts: str) -> None:
    """Add messages to a session of pi."""
    other = write_session(path.parent, *SAID, *texts, session="0f0f0000")
    lines = other.read_text().splitlines(keepends=True)
    other.unlink()
    path.write_text(path.read_text() + "".join(lines[1 + len(SAID) :]))


def same_again(path: Path) -> Path:
    return path


def other_inode(path: Path) -> Path:
    copy = path.with_suffix(".new")
    shutil.copyfile(path, copy)
    append(copy, MORE)
    copy.replace(path)
    return path


def grown(path: Path) -> Path:
    append(path, MORE)
    return path


def shrunk(path: Path) -> Path:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    return path


def shrunk_and_grown(path: Path) -> Path:
    lines = path.read_text().splitlines(keepends=True)
    append(path, MORE)
    path.write_text(
        "".join([*lines[:2], *path.read_text().splitlines(keepends=True)[len(lines) :]])
    )
    return path


def torn(path: Path) -> Path:
    append(path, MORE)
    path.write_text(path.read_text() + '{"type": "message", "id": "000000ff", "mess')
    return path


def copied(path: Path) -> Path:
    copy = path.with_name("copy.jsonl")
    shutil.copyfile(path, copy)
    append(copy, MORE)
    return copy


def forked(path: Path) -> Path:
    fork = path.with_name("fork.jsonl")
    fork.write_text(path.read_text().replace("5a1e0000", "6b2f0000"))
    append(fork, MORE)
    return fork


def with_a_line_before(path: Path) -> Path:
    first, *lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join([first, '{"type": "model_change", "id": "000000fe", "parentId": null}\n', *lines])
    )
    append(path, MORE)
    return path


@pytest.mark.parametrize("loses", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        same_again,
        grown,
        other_inode,
        shrunk,
        shrunk_and_grown,
        torn,
        copied,
        forked,
        with_a_line_before,
    ],
    ids=lambda each: each.__name__,
)
def test_nothing_is_doubled_and_nothing_lost(
    at: Desk, tmp_path: Path, change: Callable[[Path], Path], loses: bool
):
    path = write_session(tmp_path, *SAID)
    digest(at, path)
    changed = change(path)
    if loses:
        for file in at.workspace.state.glob("*.json"):
            file.unlink()
    digest(at, changed)
    grew = MORE in changed.read_text()
    assert entries(at) == Counter([*KEPT, *([MORE] if grew else [])])
    assert digest(at, path, changed).entries == []


def test_a_compaction(at: Desk, tmp_path: Path):
    path = tmp_path / "5a1e0000.jsonl"

    def record(number: int, text: str, **more: Any) -> dict[str, Any]:
        values = {
            "type": "user",
            "sessionId": "5a1e0000",
            "cwd": "/w",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}",
        }
        values |= {
            "timestamp": f"2026-03-04T09:0{number}:00.000Z",
            "message": {"role": "user", "content": text},
        }
        return values | {"origin": {"kind": "human"}, "promptSource": "typed"} | more

    before = [record(number, text) for number, text in enumerate(KEPT)]
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "sessionId": "5a1e0000",
        "uuid": "u5",
        "parentUuid": None,
    }
    boundary |= {"timestamp": "2026-03-04T09:05:00.000Z", "content": "Conversation compacted"}
    summary = record(
        6,
        f"We decided to sell the house. {KEPT[0]}",
        isCompactSummary=True,
        origin={"kind": "auto"},
    )
    after = [boundary, summary, before[-1] | {"parentUuid": "u6"}, record(7, MORE)]
    for records in (before, [*before, *after]):
        path.write_text("".join(json.dumps(each) + "\n" for each in records))
        digest(at, path)
    assert entries(at) == Counter([*KEPT, MORE])
