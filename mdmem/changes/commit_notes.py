"""Notes in commits: provenance, pending edits, and statements that change no file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from mdmem import repo
from mdmem.folder import files, trust
from mdmem.lookup import lookup
from mdmem.model import (
    CommitId,
    FactId,
    FileKind,
    FilePath,
    Provenance,
    SectionPath,
    Source,
)
from mdmem.model.writes import PipelineNote, WriteOptions
from mdmem.past.messages import CommitNote, compose_claimed_save, compose_message
from mdmem.repo import commits, git_files
from mdmem.startup.records import replace
from mdmem.workspace import Workspace


def complete_options(
    workspace: Workspace, options: WriteOptions, own_work: bool = False
) -> WriteOptions:
    """Own work of mdmem gets no actor, who could claim it. Raises: `reserved-actor`."""
    own_work = own_work or options.pipeline is not None
    actor = None if own_work else workspace.given_actor(options.actor)
    is_persons = options.typed and actor is None and not own_work
    source = Source.USER_STATED if is_persons else options.source
    confidence = source.confidence if options.confidence is None else options.confidence
    return replace(options, source=source, confidence=confidence, actor=actor)


def with_provenance(workspace: Workspace, note: CommitNote, options: WriteOptions) -> CommitNote:
    provenance = Provenance(
        source=options.source,
        confidence=options.source.confidence if options.confidence is None else options.confidence,
        actor=options.actor,
        session=options.session,
        reason=options.reason,
    )
    claims = trust.is_claim(workspace.origin_of(options.actor), options.source)
    return replace(note, provenance=provenance, claimed_by=options.actor if claims else None)


def with_pipeline(note: CommitNote, pipeline: PipelineNote, facts: Sequence[FactId]) -> CommitNote:
    fact = facts[-1] if facts else None
    return replace(
        note,
        provenance=replace(note.provenance, actor=pipeline.actor),
        run=pipeline.run,
        cites=tuple((fact, cited) for cited in pipeline.cites) if fact else (),
        keys=((fact, pipeline.attribute),) if fact and pipeline.attribute else (),
        senders=((fact, pipeline.sender),) if fact and pipeline.sender else (),
        dreamt=pipeline.dreamt,
        promotes=((pipeline.promotes, fact),) if fact and pipeline.promotes else (),
    )


def joined_note(notes: Sequence[CommitNote]) -> CommitNote:
    """One note for several changes of a file with one provenance."""
    section, *more = dict.fromkeys(note.section for note in notes)
    return replace(
        notes[0],
        section=section,
        more_sections=tuple(more),
        supersedes=tuple(dict.fromkeys(pair for note in notes for pair in note.supersedes)),
        ended=tuple(fact for note in notes for fact in note.ended),
        retracts=tuple(fact for note in notes for fact in note.retracts),
        confirms=tuple(fact for note in notes for fact in note.confirms),
        contradicts=tuple(pair for note in notes for pair in note.contradicts),
        promotes=tuple(dict.fromkeys(pair for note in notes for pair in note.promotes)),
        cites=tuple(dict.fromkeys(pair for note in notes for pair in note.cites)),
        keys=tuple(dict.fromkeys(pair for note in notes for pair in note.keys)),
        senders=tuple(pair for note in notes for pair in note.senders),
    )


def saved_message(
    workspace: Workspace,
    text: str,
    files: Iterable[tuple[bytes | None, bytes | None]],
    actor: str | None,
    is_asked: bool = False,
) -> str:
    """`files` are bytes before and after. An agent claims the edits; where signatures are required,
    mdmem does, unless a person asked to commit just them: nobody knows who typed them.
    """
    claimant = actor if actor is not None and workspace.is_agent(actor) else None
    if claimant is None and (is_asked or workspace.settings.verify != "require"):
        return f"{text}\n"
    changes = [(_text(before), _text(after)) for before, after in files]
    return compose_claimed_save(text, changes, claimant or "mdmem")


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def commit_note(workspace: Workspace, note: CommitNote, *changes: tuple[str, str]) -> CommitId:
    """Commit a note that changes no file, leaving staged files staged, and quoting `changes`.

    Raises WorkspaceProblem (`not-allowed`: an agent marks a fact that only people may change).
    """
    require_marks_permitted(workspace, note)
    return commit_message(workspace, compose_message(note, *changes))


def require_marks_permitted(workspace: Workspace, note: CommitNote) -> None:
    """Raises WorkspaceProblem (`not-allowed`: an agent marks a fact of people alone)."""
    replaced = (pair.old for pair in note.supersedes)
    marked = {*replaced, *note.ended, *note.retracts, *chain(*note.contradicts, *note.resolves)}
    actor = note.provenance.actor
    workspace.require_permitted(actor, (), marked_places(workspace, marked))


def marked_places(
    workspace: Workspace, facts: Iterable[FactId]
) -> Iterator[list[tuple[FilePath, SectionPath]]]:
    """The files and sections of each fact that is marked without a change of its text."""
    for fact in facts:
        found = lookup.locate_fact(workspace, fact, tuple(FileKind))
        yield [(each.path, each.document.path_at(each.item.start)) for each in found]


def commit_message(workspace: Workspace, message: str) -> CommitId:
    """Commit a message without any file."""
    workspace.require_ready()
    order = commits.CommitOrder(
        paths=(),
        message=with_arrivals(workspace, message),
        date=repo.raw_date(workspace.now()),
        hook_timeout=workspace.settings.hook_timeout,
        identity=workspace.identity(),
    )
    commit = commits.commit(workspace.repository, order).id
    forget_arrivals(workspace)
    return commit


def with_arrivals(workspace: Workspace, message: str) -> str:
    """The message of the next commit here, with what syncs have to say in it (`sync/witness`)."""
    state = _sync_state(workspace)
    return "\n".join([message.rstrip(), *state["arrived"], ""]) if state else message


def forget_arrivals(workspace: Workspace) -> None:
    if state := _sync_state(workspace):
        kept = json.dumps(state | {"arrived": []})
        files.write_cache(workspace.state / files.SYNC_STATE, kept)


def _sync_state(workspace: Workspace) -> dict[str, Any] | None:
    """The stored state of syncs, where there is something to say and it can be read."""
    kept = git_files.read_bytes(f"{workspace.state}/{files.SYNC_STATE}")
    with suppress(ValueError):
        return json.loads(kept) if kept and b'"arrived": ["' in kept else None
    return None
