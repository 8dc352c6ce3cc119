"""The provenance of each part of a proposal, and what its commits state besides text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from mdmem.editors import sameness
from mdmem.folder import trust
from mdmem.folder.trust import TextOrigin
from mdmem.model import CommitId, FactId, FilePath, Source, Supersession
from mdmem.model.proposals import PartName, PartOrigin, PartState
from mdmem.model.rules import RESERVED_ACTORS, fold_actor
from mdmem.past.differences import changed_lines
from mdmem.past.messages import ParsedNote, parse_trailers, quoted_line
from mdmem.past.notes import parse_message, parse_notes
from mdmem.proposals.branches import ProposedBranch, safe_actor
from mdmem.repo import Repository, branch_commits
from mdmem.repo.branch_commits import BlobChange, BranchCommit
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.facts import parse_item
from mdmem.workspace import Workspace

_TRAILER = late.pattern(r"([0-9a-f]{8}) (\S.*)")
_DECISIONS = {
    "Accepts": PartState.ACCEPTED,
    "Rejects": PartState.REJECTED,
    "Closes": PartState.SUPERSEDED,
}


@dataclass(frozen=True, slots=True)
class DecidedPart:
    proposal: str
    name: PartName
    state: PartState
    commit: CommitId
    time: datetime
    path: FilePath | None
    section: str
    text: str | None
    proposed_by: str | None = None
    is_removal: bool = False


Decisions = dict[str, dict[PartName, DecidedPart]]


def decisions(repository: Repository, tip: CommitId | None) -> Decisions:
    """All decisions in a commit's history by proposal and part; the newest of several."""
    decided: Decisions = {}
    for commit, time, message in branch_commits.messages_with(
        repository, "^Mdmem-(Accepts|Rejects|Closes): [0-9a-f]{8} ", tip
    ):
        for part in _decided(commit, time, message):
            decided.setdefault(part.proposal, {}).setdefault(part.name, part)
    return decided


def decisions_on(decided: Decisions, proposal: str, branch: str) -> Mapping[PartName, DecidedPart]:
    """The decisions on a proposal's parts, also those that name it as version 0.2.0 did."""
    actor, _, ending = branch.rpartition("/")
    older = {
        name: part
        for name, part in decided.get(ending, {}).items()
        if actor.endswith(f"/{safe_actor(part.proposed_by)}")
    }
    return older | decided.get(proposal, {})


def rejected_parts(repository: Repository, tip: CommitId | None) -> list[DecidedPart]:
    """The rejected parts in a commit's history, newest first."""
    rows = branch_commits.messages_with(repository, "^Mdmem-Rejects: [0-9a-f]{8} ", tip)
    return [part for row in rows for part in _decided(*row) if part.state is PartState.REJECTED]


def _decided(commit: CommitId, time: int, message: str) -> Iterator[DecidedPart]:
    trailers = parse_trailers(message)
    note = parse_message(message)
    quotes: Mapping[FactId, str] = {
        parse_item(f"- {line[2:]}").id: line
        for line in message.split("\n")
        if line.startswith(("- ", "+ "))
    }
    for name, state in _DECISIONS.items():
        for value in trailers.get(name, ()):
            if match := _TRAILER.fullmatch(value):
                quote = quotes.get(FactId(match[2]))
                # A rejection quotes how memory stays: without what was proposed, with what was to
                # go.
                is_removal = (
                    state is PartState.REJECTED and quote is not None and quote.startswith("+")
                )
                yield DecidedPart(
                    proposal=match[1],
                    name=match[2],
                    state=state,
                    commit=commit,
                    time=datetime.fromtimestamp(time, UTC),
                    path=note.path,
                    section=note.section,
                    text=quote[2:] if quote else None,
                    proposed_by=next(iter(trailers.get("Proposed-By", ())), None),
                    is_removal=is_removal,
                )


def says_the_same(part: DecidedPart, fact: FactId, text: str) -> bool:
    return part.name == fact or (part.text is not None and sameness.resemble(text, part.text))


_PROPOSED_BRANCH = "propose"
"""The operation of the empty commit that makes a proposal of a branch."""
_PIPELINES = ("digest", "dream")
"""Reserved actors whose cites carry a source or quote the person's own lines."""


@dataclass(frozen=True, slots=True)
class ProposedNote:
    """A proposal's commit with its note, files and facts.

    `is_own`: mdmem made it here; of any other, only the author's name is trusted.
    """

    commit: BranchCommit
    note: ParsedNote
    paths: frozenset[FilePath]
    facts: frozenset[FactId]
    is_own: bool

    @property
    def author(self) -> str:
        """The author's name, never that of an mdmem actor."""
        name = self.commit.author.decode("utf-8", "replace").partition(" <")[0].strip()
        return f"{name}-" if fold_actor(name) in RESERVED_ACTORS else name


class ProposedNotes:
    """A proposal's commits with notes, oldest first, its actor and its reason."""

    def __init__(
        self, notes: Sequence[ProposedNote], actor: str | None, reason: str | None
    ) -> None:
        self.notes = tuple(notes)
        self.actor, self.reason = actor, reason
        self._by_path: dict[FilePath, ProposedNote] = {}
        self._by_fact: dict[tuple[FilePath, FactId], ProposedNote] = {}
        self._supersedes: dict[FactId, list[Supersession]] = {}
        self._contradicts: dict[FactId, list[tuple[FactId, FactId]]] = {}
        self._keys: dict[FactId, list[tuple[FactId, str]]] = {}
        self._promotes: dict[FactId, list[FactId]] = {}
        for each in self.notes:
            self._by_path |= dict.fromkeys(each.paths, each)
            self._by_fact |= {(path, fact): each for path in each.paths for fact in each.facts}
            if not each.is_own:
                continue  # whoever accepts a part sees only its text
            for old, new in each.note.supersedes:
                if new is not None:
                    self._supersedes.setdefault(new, []).append(Supersession(old, new))
            for pair in each.note.contradicts:
                for fact in pair:
                    self._contradicts.setdefault(fact, []).append(pair)
            for fact, key in each.note.keys:
                self._keys.setdefault(fact, []).append((fact, key))
            for log, fact in each.note.promotes:
                self._promotes.setdefault(fact, []).append(log)

    def of_fact(self, path: FilePath, fact: FactId) -> ProposedNote | None:
        return self._by_fact.get((path, fact)) or self._by_path.get(path)

    def marks(self) -> tuple[ProposedNote, ...]:
        """The commits that state something and change no text."""
        return tuple(
            each
            for each in self.notes
            if not each.paths and each.note.op not in (None, _PROPOSED_BRANCH)
        )

    def supersedes(self, fact: FactId) -> tuple[Supersession, ...]:
        pairs = list(self._supersedes.get(fact, ()))
        for pair in pairs:
            older = [Supersession(each.old, fact) for each in self._supersedes.get(pair.old, ())]
            pairs += [each for each in older if each.old != fact and each not in pairs]
        return tuple(dict.fromkeys(pairs))

    def pairs(self) -> tuple[Supersession, ...] | None:
        """The facts that others replace; None where not all commits are mdmem's own.

        Edits of one proposal have nothing to do with each other, however alike their texts are.
        """
        if not all(each.is_own for each in self.notes):
            return None
        return tuple(pair for fact in self._supersedes for pair in self.supersedes(fact))

    def contradicts(self, fact: FactId) -> tuple[tuple[FactId, FactId], ...]:
        return tuple(dict.fromkeys(self._contradicts.get(fact, ())))

    def keys(self, fact: FactId) -> tuple[tuple[FactId, str], ...]:
        return tuple(dict.fromkeys(self._keys.get(fact, ())))

    def promotes(self, fact: FactId) -> tuple[FactId, ...]:
        return tuple(dict.fromkeys(self._promotes.get(fact, ())))


def read_notes(workspace: Workspace, branches: Sequence[ProposedBranch]) -> list[ProposedNotes]:
    parsed = [_parsed_commits(branch) for branch in branches]
    unquoted = [
        change
        for branch, commits in zip(branches, parsed, strict=True)
        for each, row in zip(commits, branch.commit_changes, strict=True)
        for change in row
        if each.quoted is None and _is_text(change)
    ]
    names = dict.fromkeys(
        blob for change in unquoted for blob in (change.before, change.after) if blob
    )
    blobs = workspace.repository.contents(list(names))
    prefix = os.fsencode(workspace.repository.prefix)
    read = []
    for branch, commits in zip(branches, parsed, strict=True):
        notes = []
        for each, row in zip(commits, branch.commit_changes, strict=True):
            paths = [
                change.path.removeprefix(prefix) for change in row if change.path.startswith(prefix)
            ]
            facts = _changed_facts(row, blobs) if each.quoted is None else each.quoted
            if len(each.commit.parents) > 1:  # what it brings is of the branch that it merges
                paths, facts = [], frozenset()
            notes.append(
                ProposedNote(
                    commit=each.commit,
                    note=each.note,
                    paths=frozenset(FilePath(os.fsdecode(path)) for path in paths),
                    facts=facts,
                    is_own=each.is_own,
                )
            )
        read.append(_branch_notes(notes))
    return read


@dataclass(frozen=True, slots=True)
class _ParsedCommit:
    """A commit with its note, and the facts quoted (None: read the difference)."""

    commit: BranchCommit
    note: ParsedNote
    quoted: frozenset[FactId] | None
    is_own: bool


def _parsed_commits(branch: ProposedBranch) -> list[_ParsedCommit]:
    """Commits up to that of `mdmem propose`, which took them over, are not mdmem's own."""
    read = [_quoted_facts(commit.message) for commit in branch.commits]
    taken_over = [number for number, (note, _) in enumerate(read) if note.op == _PROPOSED_BRANCH]
    first = (taken_over[-1] if taken_over else 0) if branch.ref.is_own else len(read)
    return [
        _ParsedCommit(commit, note, quoted if number >= first else None, is_own=number >= first)
        for number, (commit, (note, quoted)) in enumerate(zip(branch.commits, read, strict=True))
    ]


def _branch_notes(notes: Sequence[ProposedNote]) -> ProposedNotes:
    named = [
        each.note.provenance for each in notes if each.is_own and each.note.op == _PROPOSED_BRANCH
    ]
    actors = [each.note.provenance.actor if each.is_own else each.author for each in notes]
    actor = next(filter(None, [*(each.actor for each in named[-1:]), *actors]), None)
    return ProposedNotes(notes, actor, named[-1].reason if named else None)


def _is_text(change: BlobChange) -> bool:
    return change.is_plain and change.path.lower().endswith(b".md")


def _quoted_facts(message: str) -> tuple[ParsedNote, frozenset[FactId] | None]:
    """The facts are None where the message does not quote them all."""
    notes, lines = parse_notes(message), message.split("\n")
    note = notes[0].note if len(notes) == 1 and notes[0].is_own else parse_message(message)
    if (
        note.op is None
        or len(notes) != 1
        or any(line.endswith((" more lines)", "…")) for line in lines)
    ):
        return note, None
    return note, frozenset(
        parse_item(f"- {line[2:]}").id for line in lines if line.startswith(("+ ", "- "))
    )


def _changed_facts(changes: Sequence[BlobChange], blobs: Mapping[str, bytes]) -> frozenset[FactId]:
    facts = set()
    for change in filter(_is_text, changes):
        before, after = (
            blobs[blob].decode("utf-8", "replace") if blob else ""
            for blob in (change.before, change.after)
        )
        for lines in changed_lines(before, after):
            facts |= {parse_item(f"- {quoted_line(line)}").id for line in lines if line.strip()}
    return frozenset(facts)


def part_origin(
    workspace: Workspace,
    notes: ProposedNotes,
    proposed: ProposedNote | None,
    fact: FactId | None,
    is_persons: bool = False,
) -> PartOrigin:
    """The provenance of an accepted part; an agent's claim of the user's word is inferred.

    A commit not made here has its author's name, and at most a proposal's confidence. `is_persons`:
    the person committed the words to a daily log.
    """
    if proposed is None:
        return PartOrigin(
            source=Source.INFERRED,
            confidence=Source.INFERRED.confidence,
            actor=notes.actor,
            reason=notes.reason,
        )
    note = proposed.note
    source, confidence = note.provenance.source, note.provenance.confidence
    if not proposed.is_own:
        most = trust.limit_source(TextOrigin.PROPOSAL, source) or Source.AUTO
        return PartOrigin(
            source=most,
            confidence=confidence if most is source else most.confidence,
            actor=proposed.author,
            reason=note.provenance.reason or notes.reason,
        )
    cites = tuple(cited for cited_fact, cited in note.cites if cited_fact == fact)
    is_pipelines = (
        note.provenance.actor in _PIPELINES
        and (bool(cites) or is_persons)
        and note.claimed_by is None
    )
    is_claim = note.claimed_by is not None or (
        note.op is not None and workspace.is_agent(note.provenance.actor)
    )
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
