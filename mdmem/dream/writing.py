"""Carry out or propose one change of a night: as the verb that a person would use, with what a pipeline's commit says."""

from __future__ import annotations

from mdmem.addresses import join_path
from mdmem.dream.suggestions import Suggestion
from mdmem.model import CommitId
from mdmem.model.dreams import DreamOp
from mdmem.model.writes import Forget, PipelineNote, Remember, WriteOptions

ACTOR = "dream"
"""The actor of these commits, one of mdmem's own."""


def edit_of(suggestion: Suggestion, run: str, *, dreamt: CommitId | None = None, dry_run: bool = False) -> Remember | Forget:
    """The edit that carries out a change.

    Args:
        suggestion: the change, which is no NONE.
        run: the name of the night.
        dreamt: the commit through which the night has judged what came in; for its last change.
        dry_run: nothing is to be written.
    """
    candidate, old = suggestion.candidate, suggestion.old
    pipeline = PipelineNote(
        actor=ACTOR,
        run=run,
        cites=suggestion.cites,
        attribute=candidate.attribute if candidate else None,
        sender=candidate.sender if candidate else None,
        dreamt=dreamt,
        promotes=candidate.fact if candidate and suggestion.op is not DreamOp.DELETE else None,
    )
    options = WriteOptions(
        source=suggestion.source,
        confidence=suggestion.confidence,
        reason=suggestion.why,
        supersedes=old.fact if old and suggestion.op is DreamOp.UPDATE and suggestion.key is None else None,
        dry_run=dry_run,
        pipeline=pipeline,
    )
    section = join_path(old.section) if old and old.section else suggestion.section
    if suggestion.op is DreamOp.DELETE and old is not None:
        return Forget(fact=old.fact, file=old.path, section=section, everywhere=candidate is not None, options=options)
    return Remember(
        text=suggestion.text,
        file=old.path if old else None,
        section=section,
        create=old is None,
        key=suggestion.key,
        also=suggestion.also,
        kind=candidate.kind if candidate and (old is None or old.kind is not None) else None,
        tags=candidate.tags if candidate else (),
        options=options,
    )
