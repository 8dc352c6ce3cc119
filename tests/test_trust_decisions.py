"""The decisions of docs/trust.md: what each is read from, and who can write that."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from program_source import PACKAGE, PATHS, nodes

from mdmem.folder import trust
from mdmem.folder.config import Settings
from mdmem.folder.trust import TextOrigin

PAGE = Path(__file__).parents[1] / "docs" / "trust.md"
OWN = {
    "who you are",
    "which authors are agents",
    "which names of actors are persons",
    "who sends a message in a chat",
    "whether a workspace is adopted",
    "whether a state folder is yours",
    "which proposals are yours",
    "who may accept, reject, purge, adopt and change settings",
    "which programs run",
    "which addresses are reached",
    "whether and with what to sync",
    "whether signatures are required, and whose count",
    "which workspaces are read together",
    "the words of a prompt",
}
"""The decisions about whom to trust, and what leaves the machine: nobody else can write them."""
PLACES = {
    "workspace/adoption.py": ["your list"],
    "agenthooks.py": ["events.jsonl"],
    "past/__init__.py": ["versions.db"],
    "index/background.py": ["lock"],
    "index/catching_up.py": ["index/", "index-progress"],
    "index/session_messages.py": ["messages/"],
    "past/trail_update.py": ["versions.db"],
    "past/verifying.py": ["signatures.json"],
    "changes/commit_notes.py": ["sync.json"],
    "changes/file_write.py": ["write-ahead.json"],
    "changes/moves.py": ["write-ahead.json"],
    "changes/placing.py": ["landing.json"],
    "purge/purging.py": ["vectors/", "write-ahead.json"],
    "changes/recover.py": ["write-ahead.json", "landing.json"],
    "nights/digest/cursors.py": ["transcripts.json"],
    "nights/digest/digesting.py": ["transcripts.json"],
    "nights/digest/known_sessions.py": ["transcripts.json"],
    "nights/digest/model_step.py": ["model/", "transcripts.json"],
    "nights/digest/overview.py": ["transcripts.json", "model.jsonl", "runs.jsonl"],
    "nights/digest/purging.py": ["transcripts.json"],
    "nights/digest/starting.py": ["reported/"],
    "nights/digest/writing.py": ["given/"],
    "health/surroundings.py": ["lock", "events.jsonl"],
    "health/wiring.py": ["hosts.json"],
    "health/contents.py": ["index/", "events.jsonl", "write-ahead.json"],
    "nights/dream/dreaming.py": ["dream.json", "runs.jsonl"],
    "nights/dream/due.py": ["dream.json"],
    "nights/dream/model_step.py": ["model/", "model.jsonl"],
    "events.py": ["events.jsonl"],
    "folder/budget.py": ["left-out"],
    "folder/machine.py": ["proposals.key"],
    "context/given.py": ["given/"],
    "llm/asking.py": ["model/", "model.jsonl"],
    "memory/__init__.py": ["events.jsonl", "runs.jsonl", "lines.json"],
    "memory/adopting.py": ["lock", "events.jsonl"],
    "memory/contexts.py": ["given/"],
    "memory/first_hour.py": ["setup.json"],
    "memory/figures.py": ["events.jsonl", "runs.jsonl"],
    "memory/pipeline_steps.py": ["dream.json"],
    "memory/pool_writes.py": ["given/"],
    "memory/running.py": ["runs.jsonl"],
    "page/pages.py": ["index/"],
    "page/app.py": ["page-PORT.json"],
    "proposals/listings.py": ["lists/"],
    "queries/correctable.py": ["index/"],
    "queries/fact_changes.py": ["changes.json"],
    "queries/status.py": ["branches.json"],
    "repo/signatures.py": ["signatures.json"],
    "workspace/state.py": ["state-ids"],
    "nights/imports/importing.py": ["runs.jsonl"],
    "nights/steps.py": ["runs.jsonl", "reported/"],
    "health/sync_status.py": ["sync-news"],
    "workspace/sync_state.py": ["sync.json"],
    "sync/syncing.py": ["sync.again", "sync.purge"],
    "vectors/store.py": ["vectors/"],
    "vectors/questions.py": ["vectors/", "vectors-failures"],
    "vectors/source.py": ["vectors/"],
    "fleet/settings.py": ["fleet.clones/"],
    "workspace/__init__.py": ["boundary", "signatures.json"],
}
"""The modules that read state, and what of it."""


def table() -> dict[str, tuple[str, str]]:
    """What a decision is read from, and who can write that."""
    section = PAGE.read_text(encoding="utf-8").split("## Decisions")[1]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    return {decision: (source, writer) for decision, source, writer in rows[1:]}


def named(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def places() -> Iterator[str]:
    for path in PATHS:
        if any(map(_reads_state, nodes(path))):
            yield path.relative_to(PACKAGE).as_posix()


def _reads_state(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="state", value=value):
            return ast.unparse(value).endswith("workspace")
        case ast.arg(arg="state", annotation=ast.Name(id="Path")):
            return True
        case ast.Attribute(attr="user_state_folder") | ast.Name(id="_state_folder"):
            return True
    return False


@pytest.mark.parametrize("name", Settings.__match_args__)
def test_each_setting_decides_something(name: str):
    rows = [decision for decision, (source, _) in table().items() if name in named(source)]
    assert rows, "a row of docs/trust.md names what a new setting decides"
    if name in trust.trust(TextOrigin.WORKSPACE_SETTINGS).settings:
        assert OWN.isdisjoint(rows), "what a repository may set decides nothing about whom to trust"
        assert all("pushers" in table()[row][1] for row in rows)
    elif OWN.isdisjoint(rows):
        assert all(table()[row][1].startswith(("you", "pushers; agents")) for row in rows)


def test_whom_to_trust_is_the_users_own_to_say():
    assert {row: table()[row][1] for row in OWN} == dict.fromkeys(OWN, "you")


def test_each_place_that_reads_state_has_its_row():
    assert sorted(PLACES) == sorted(places())
    sources = "".join(source for source, _ in table().values())
    files = {name for names in PLACES.values() for name in names}
    assert files <= named(sources) | {"your list"}
    assert "your list" in sources


def test_state_is_only_the_users():
    """What is in a state folder that is not the user's own decides nothing."""
    files = {name for names in PLACES.values() for name in names} - {"your list", "lock"}
    for source, writer in table().values():
        if not files.isdisjoint(named(source)):
            assert writer.startswith("you") or "as text" in writer
