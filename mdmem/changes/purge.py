"""`forget --purge`: the fact named, the purge under the workspace's lock."""

from __future__ import annotations

import os

from mdmem import repo
from mdmem.changes import purge_history
from mdmem.changes.purge_history import PurgeNote, PurgePlan, PurgeResult, PurgeScope
from mdmem.changes.recover import lock_workspace, recover
from mdmem.changes.refusals import refuse_errors, secrets_in_text
from mdmem.errors import FactProblem
from mdmem.facts import id_prefix, parse_item
from mdmem.model import FactId, FileKind
from mdmem.model.writes import Purge
from mdmem.queries import lookup
from mdmem.workspace import Say, Workspace


def plan_purge(workspace: Workspace, wanted: Purge) -> PurgePlan:
    """What a purge would change; nothing is changed.

    Raises:
        FactProblem: no such fact, or several. TextProblem: the words are too short to be purged.
        RefusedChange: `secret-found`: the note would hold a secret.
    """
    _require_clean_note(wanted)
    return purge_history.plan_rewrite(_scope(workspace), *_named(workspace, wanted.fact))


def run_purge(workspace: Workspace, wanted: Purge, say: Say) -> PurgeResult:
    """Take a text out of files, index and all history. It cannot be undone.

    Raises:
        FactProblem: no such fact, or several. MdmemError: it cannot be purged, or not to the end; running it again completes it.
    """
    _require_clean_note(wanted)
    with lock_workspace(workspace, say):
        workspace.repository.require_ready(workspace.settings.allow_detached, workspace.repository.branch())
        recover(workspace, say)
        words, fact = _named(workspace, wanted.fact)
        actor = wanted.actor or os.environ.get("MDMEM_ACTOR") or workspace.settings.actor
        note = PurgeNote(repo.raw_date(workspace.now()), workspace.identity(), actor, wanted.session, wanted.reason)
        return purge_history.purge_everywhere(_scope(workspace), words, fact, note)


def _scope(workspace: Workspace) -> PurgeScope:
    return PurgeScope(workspace.repository, workspace.state, tuple(found.full_path for found in workspace.memory_files().values()))


def _require_clean_note(wanted: Purge) -> None:
    """The note must bring no secret into history."""
    for name, text in (("reason", wanted.reason), ("session", wanted.session), ("actor", wanted.actor)):
        refuse_errors(secrets_in_text(name, text or ""), wanted.allow)


def _named(workspace: Workspace, name: str) -> tuple[str, FactId | None]:
    """The words and the id of the fact that is meant; words that no file holds may still stand in history."""
    kinds = tuple(kind for kind in FileKind if kind.is_memory)
    found = {item.fact.id: item.fact for _, _, item in lookup.locate_fact(workspace, name, kinds)}
    if len(found) > 1:
        ids = sorted(found)
        raise FactProblem("fact-ambiguous", f"{name[:80]!r} fits several facts: {', '.join(ids)}", "Give the id.", facts=ids)
    if found:
        fact = next(iter(found.values()))
        return fact.text, fact.id
    if id_prefix(name):
        raise FactProblem("fact-not-found", f"no file holds a fact {name.strip()}", "What stands in history only is named by its words.")
    said = parse_item(name.strip())
    return said.text, said.id
