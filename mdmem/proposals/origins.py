"""Whose statement each part of a proposal is, and what its commits state besides their texts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from mdmem import history
from mdmem.facts import parse_item
from mdmem.history.messages import ParsedNote, quoted_line
from mdmem.history.notes import parse_message, parse_notes
from mdmem.model import FactId, FilePath, Source, Supersession
from mdmem.model.proposals import PartOrigin
from mdmem.repo.branch_commits import BlobChange, BranchCommit
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace

PROPOSED_BRANCH = "propose"
"""The operation of the empty commit that makes a proposal of a branch."""
_PIPELINES = ("digest", "dream")
"""The actors whose cites carry a source, or the person's own lines that they take up: no one else may be called so."""


@dataclass(frozen=True, slots=True)
class ProposedNote:
    """A commit of a proposal with its note, and the files and facts that it changed."""

    commit: BranchCommit
    note: ParsedNote
    paths: frozenset[FilePath]
    facts: frozenset[FactId]


class ProposedNotes:
    """The commits of a proposal with their notes, oldest first. `is_agents`: an agent proposed them, whoever made them."""

    def __init__(self, notes: Sequence[ProposedNote], actor: str | None, reason: str | None, is_agents: bool) -> None:
        self.notes = tuple(notes)
        self.actor, self.reason, self.is_agents = actor, reason, is_agents
        self._by_path: dict[FilePath, ProposedNote] = {}
        self._by_fact: dict[tuple[FilePath, FactId], ProposedNote] = {}
        self._supersedes: dict[FactId, list[Supersession]] = {}
        self._contradicts: dict[FactId, list[tuple[FactId, FactId]]] = {}
        self._keys: dict[FactId, list[tuple[FactId, str]]] = {}
        for each in self.notes:
            self._by_path |= dict.fromkeys(each.paths, each)
            self._by_fact |= {(path, fact): each for path in each.paths for fact in each.facts}
            for old, new in each.note.supersedes:
                if new is not None:
                    self._supersedes.setdefault(new, []).append(Supersession(old, new))
            for pair in each.note.contradicts:
                for fact in pair:
                    self._contradicts.setdefault(fact, []).append(pair)
            for fact, key in each.note.keys:
                self._keys.setdefault(fact, []).append((fact, key))

    def of_fact(self, path: FilePath, fact: FactId) -> ProposedNote | None:
        """The last commit that changed a fact; else the last one that changed its file."""
        return self._by_fact.get((path, fact)) or self._by_path.get(path)

    def marks(self) -> tuple[ProposedNote, ...]:
        """The commits that state something and change no text."""
        return tuple(each for each in self.notes if not each.paths and each.note.op not in (None, PROPOSED_BRANCH))

    def supersedes(self, fact: FactId) -> tuple[Supersession, ...]:
        """The facts that a fact supersedes, as the commits state it."""
        return tuple(dict.fromkeys(self._supersedes.get(fact, ())))

    def contradicts(self, fact: FactId) -> tuple[tuple[FactId, FactId], ...]:
        """The contradictions of a fact that the commits state."""
        return tuple(dict.fromkeys(self._contradicts.get(fact, ())))

    def keys(self, fact: FactId) -> tuple[tuple[FactId, str], ...]:
        """The attributes of a fact that the commits state."""
        return tuple(dict.fromkeys(self._keys.get(fact, ())))


def read_notes(
    workspace: Workspace, branches: Sequence[Sequence[BranchCommit]], changes: Sequence[Sequence[Sequence[BlobChange]]]
) -> list[ProposedNotes]:
    """The notes of some branches, read at once.

    Args:
        workspace: the workspace that the branches are for.
        branches: the commits of each, oldest first.
        changes: of each commit the files that it changed.
    """
    parsed = [[(commit, *_quoted_facts(commit.message)) for commit in commits] for commits in branches]
    unquoted = [
        change
        for commits, rows in zip(parsed, changes, strict=True)
        for (_, _, facts), row in zip(commits, rows, strict=True)
        for change in row
        if facts is None and _is_text(change)
    ]
    names = dict.fromkeys(blob for change in unquoted for blob in (change.before, change.after) if blob)
    blobs = workspace.repository.contents(list(names))
    prefix = os.fsencode(workspace.repository.prefix)
    read = []
    for commits, rows in zip(parsed, changes, strict=True):
        notes = []
        for (commit, note, facts), row in zip(commits, rows, strict=True):
            if len(commit.parents) > 1:  # what it brings is of the branch that it merges
                notes.append(ProposedNote(commit=commit, note=note, paths=frozenset(), facts=frozenset()))
                continue
            paths = frozenset(FilePath(os.fsdecode(each.path.removeprefix(prefix))) for each in row if each.path.startswith(prefix))
            about = _changed_facts(row, blobs) if facts is None else facts
            notes.append(ProposedNote(commit=commit, note=note, paths=paths, facts=about))
        read.append(_branch_notes(workspace, notes))
    return read


def _branch_notes(workspace: Workspace, notes: Sequence[ProposedNote]) -> ProposedNotes:
    named = [each.note for each in notes if each.note.op == PROPOSED_BRANCH]
    actors = [each.note.provenance.actor for each in notes if each.note.provenance.actor]
    actor = named[-1].provenance.actor if named else (actors[0] if actors else None)
    reason = named[-1].provenance.reason if named else None
    return ProposedNotes(notes, actor, reason, is_agents=bool(named) and workspace.is_agent(actor))


def _is_text(change: BlobChange) -> bool:
    return change.is_plain and change.path.lower().endswith(b".md")


def _quoted_facts(message: str) -> tuple[ParsedNote, frozenset[FactId] | None]:
    """The note of a commit, and the facts in the lines that it quotes; None where it does not quote them all."""
    notes, lines = parse_notes(message), message.split("\n")
    note = notes[0].note if len(notes) == 1 and notes[0].is_own else parse_message(message)
    if note.op is None or len(notes) != 1 or any(line.endswith((" more lines)", "…")) for line in lines):
        return note, None
    return note, frozenset(parse_item(f"- {line[2:]}").id for line in lines if line.startswith(("+ ", "- ")))


def _changed_facts(changes: Sequence[BlobChange], blobs: Mapping[str, bytes]) -> frozenset[FactId]:
    facts = set()
    for change in filter(_is_text, changes):
        before, after = (blobs[blob].decode("utf-8", "replace") if blob else "" for blob in (change.before, change.after))
        for lines in history.changed_lines(before, after):
            facts |= {parse_item(f"- {quoted_line(line)}").id for line in lines if line.strip()}
    return frozenset(facts)


def part_origin(
    workspace: Workspace, notes: ProposedNotes, proposed: ProposedNote | None, fact: FactId | None, is_persons: bool = False
) -> PartOrigin:
    """Whose statement a part is once it is accepted: an agent's claim that the user said it is only inferred.

    `is_persons`: a commit of the person's own brought its words into a day's log, from which a night proposes it.
    """
    if proposed is None:
        return PartOrigin(source=Source.INFERRED, confidence=Source.INFERRED.confidence, actor=notes.actor, reason=notes.reason)
    note = proposed.note
    source, confidence = note.provenance.source, note.provenance.confidence
    cites = tuple(cited for cited_fact, cited in note.cites if cited_fact == fact)
    is_pipelines = note.provenance.actor in _PIPELINES and (bool(cites) or is_persons) and note.claimed_by is None and not notes.is_agents
    is_claim = note.claimed_by is not None or notes.is_agents or (note.op is not None and workspace.is_agent(note.provenance.actor))
    if source is Source.USER_STATED and is_claim and not is_pipelines:
        source, confidence = Source.INFERRED, min(confidence, Source.INFERRED.confidence)
    return PartOrigin(
        source=source,
        confidence=confidence,
        actor=note.provenance.actor or notes.actor,
        session=note.provenance.session,
        reason=note.provenance.reason or notes.reason,
        cites=cites,
        run=note.run,
    )
