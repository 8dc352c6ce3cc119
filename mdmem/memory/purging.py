"""`forget --purge`: the fact named, the purge under the workspace's lock."""

import re

from mdmem import files, purge, repo
from mdmem.errors import FactProblem
from mdmem.facts import parse_item
from mdmem.memory.planning import occurrences
from mdmem.memory.workspace import Workspace
from mdmem.memory.writing import Say, recover
from mdmem.model import FactId, FileKind, Purge
from mdmem.purge import Purged, PurgePlan

_ID = re.compile(r"[0-9a-f]{6,8}")


def plan(workspace: Workspace, wanted: Purge) -> PurgePlan:
    """What a purge would change; nothing is changed.

    Raises:
        FactProblem: no such fact, or several. TextProblem: the words are too short to be purged.
    """
    return _planned(workspace, wanted, *_named(workspace, wanted.fact))


def _planned(workspace: Workspace, wanted: Purge, words: str, fact: FactId | None) -> PurgePlan:
    """The plan; after a purge there may be nothing left, which is fine."""
    found = purge.plan(workspace.repository, words, fact)
    if not found.found and not purge.is_noted(workspace.repository):
        raise FactProblem("fact-not-found", f"{wanted.fact[:80]!r} stands nowhere, in no file and in no commit", "mdmem facts lists them.")
    return found


def carry_out(workspace: Workspace, wanted: Purge, say: Say) -> Purged:
    """Take a text out of files, index and all history. It cannot be undone.

    Raises:
        FactProblem: no such fact, or several. MdmemError: it cannot be purged, or not to the end; running it again completes it.
    """
    workspace.ensure_state()
    with files.lock(workspace.state / files.LOCK_NAME, workspace.settings.lock_timeout, say):
        workspace.repository.require_ready(workspace.settings.allow_detached, workspace.repository.branch())
        identity = workspace.identity()
        recover(workspace)
        words, fact = _named(workspace, wanted.fact)
        _planned(workspace, wanted, words, fact)
        moment = repo.raw_date(workspace.now())
        return purge.purge(workspace.repository, words, fact, wanted.reason or "", moment, identity)


def _named(workspace: Workspace, name: str) -> tuple[str, FactId | None]:
    """The words and the id of the fact that is meant; words that no file holds may still stand in history."""
    found = {item.fact.id: item.fact for _, _, item in occurrences(workspace, name, tuple(kind for kind in FileKind if kind.is_memory))}
    if len(found) > 1:
        ids = sorted(found)
        raise FactProblem("fact-ambiguous", f"{name[:80]!r} fits several facts: {', '.join(ids)}", "Give the id.", facts=ids)
    if found:
        fact = next(iter(found.values()))
        return fact.text, fact.id
    if _ID.fullmatch(name.strip().casefold()):
        raise FactProblem("fact-not-found", f"no file holds a fact {name.strip()}", "What stands in history only is named by its words.")
    said = parse_item(name.strip())
    return said.text, said.id
