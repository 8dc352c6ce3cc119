"""`forget --purge`: look up the fact, and purge it under the workspace's lock."""

from __future__ import annotations

from mdmem import repo
from mdmem.changes import purge_history
from mdmem.changes.purge_history import FindTranscripts, PurgeNote, PurgeScope
from mdmem.changes.recover import lock_workspace, recover
from mdmem.changes.refusals import refuse_errors, secrets_in_text
from mdmem.errors import FactProblem
from mdmem.fact_names import id_prefix
from mdmem.facts import parse_item
from mdmem.model import FactId, FileKind
from mdmem.model.purges import PurgePlan, PurgeResult
from mdmem.model.writes import Purge
from mdmem.queries import lookup
from mdmem.workspace import Say, Workspace


def plan_purge(workspace: Workspace, arguments: Purge, find_transcripts: FindTranscripts) -> PurgePlan:
    """Plan a purge; nothing is changed.

    Raises:
        FactProblem: no such fact, or several. TextProblem: the words are too short to be purged.
        RefusedChange: `secret-found`: the note would hold a secret.
    """
    _require_clean_note(arguments)
    return purge_history.plan_rewrite(_scope(workspace), *_words_and_fact(workspace, arguments.fact), find_transcripts)


def run_purge(workspace: Workspace, arguments: Purge, say: Say, find_transcripts: FindTranscripts) -> PurgeResult:
    """Take a text out of files, index and all history. It cannot be undone. What `find_transcripts` finds is not changed, but named.

    Raises:
        WorkspaceProblem: `not-allowed`: an agent purges nothing.
        FactProblem: no such fact, or several.
        MdmemError: it cannot be purged, or not to the end; running it again completes it.
    """
    _require_clean_note(arguments)
    actor = workspace.given_actor(arguments.actor)
    workspace.require_person(actor, "purge")
    with lock_workspace(workspace, say):
        workspace.repository.require_ready(workspace.settings.allow_detached, workspace.repository.branch())
        recover(workspace, say)
        words, fact = _words_and_fact(workspace, arguments.fact)
        note = PurgeNote(
            date=repo.raw_date(workspace.now()),
            identity=workspace.identity(),
            actor=actor,
            session=arguments.session,
            reason=arguments.reason,
        )
        return purge_history.purge_everywhere(_scope(workspace), words, fact, note, find_transcripts)


def _scope(workspace: Workspace) -> PurgeScope:
    return PurgeScope(workspace.repository, workspace.state, tuple(listed.full_path for listed in workspace.memory_files().values()))


def _require_clean_note(arguments: Purge) -> None:
    """Refuse a note that would bring a secret into history."""
    for name, text in (("reason", arguments.reason), ("session", arguments.session), ("actor", arguments.actor)):
        refuse_errors(secrets_in_text(name, text or ""), arguments.allow)


def _words_and_fact(workspace: Workspace, reference: str) -> tuple[str, FactId | None]:
    """The words and the id of the fact that is meant; words that no file holds may still stand in history."""
    kinds = tuple(kind for kind in FileKind if kind.is_memory)
    facts = {location.item.fact.id: location.item.fact for location in lookup.locate_fact(workspace, reference, kinds)}
    if len(facts) > 1:
        ids = sorted(facts)
        raise FactProblem("fact-ambiguous", f"{reference[:80]!r} matches several facts: {', '.join(ids)}", "Give the id.", facts=ids)
    if facts:
        fact = next(iter(facts.values()))
        return fact.text, fact.id
    if id_prefix(reference):
        raise FactProblem(
            "fact-not-found", f"no file has a fact {reference.strip()}", "To purge text that is only in history, give its words."
        )
    fact = parse_item(reference.strip())
    return fact.text, fact.id
