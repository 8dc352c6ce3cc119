"""The parts of a proposal, each judged against the current files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from mdmem.editors.sameness import StatementIndex
from mdmem.folder import files
from mdmem.model import (
    CommitId,
    Fact,
    FactId,
    FileKind,
    FilePath,
    Op,
    SectionPath,
    Source,
    Supersession,
)
from mdmem.model.proposals import (
    PartName,
    PartOp,
    PartOrigin,
    PartState,
    PartView,
    PlaceChange,
)
from mdmem.model.trail import Occurrence
from mdmem.past.notes import parse_message
from mdmem.proposals import pieces, taking
from mdmem.proposals.branches import DecidedPart, ProposedNote, ProposedNotes, part_origin
from mdmem.proposals.pieces import EMPTY, FactPiece, FileFacts, FileSource, ItemPlace, SectionPiece
from mdmem.proposals.taking import Freshness, Judgement
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import join_path, parse_bytes
from mdmem.text.facts import Item, ids_of, item_text
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.past.table import Trail


@dataclass(frozen=True, slots=True)
class Part:
    view: PartView
    piece: FactPiece | SectionPiece | None
    source: FileSource | None = None
    supersedes: tuple[Supersession, ...] = ()
    ended: tuple[FactId, ...] = ()
    retracts: tuple[FactId, ...] = ()
    confirms: tuple[FactId, ...] = ()
    contradicts: tuple[tuple[FactId, FactId], ...] = ()
    keys: tuple[tuple[FactId, str], ...] = ()
    promotes: tuple[FactId, ...] = ()
    forgets: bool = False
    """Forget the fact everywhere, not only in this file."""
    proposed: ProposedNote | None = None

    @property
    def name(self) -> PartName:
        return self.view.name

    @property
    def is_stated(self) -> bool:
        """True for a statement that changes no text."""
        return bool(self.ended or self.retracts or self.confirms)


@dataclass(frozen=True, slots=True)
class FileVersions:
    """A changed file: the base, the proposed text, and the base under current section paths."""

    path: FilePath
    base: FileFacts
    tip: FileFacts
    base_now: FileFacts
    to_now: Mapping[SectionPath, SectionPath]


class StandingMemory:
    def __init__(self, workspace: Workspace, trail: Trail) -> None:
        self._workspace = workspace
        self._trail = trail
        self._files: dict[FilePath, FileFacts] = {}
        self._bases: dict[
            tuple[FilePath, int], tuple[FileFacts, FileFacts, Mapping[SectionPath, SectionPath]]
        ] = {}
        self._statements: dict[FilePath, tuple[StatementIndex, list[FactId]]] = {}

    def file(self, path: FilePath) -> FileFacts:
        if path not in self._files:
            data = files.read(files.path_on_disk(self._workspace.root, path))
            self._files[path] = FileFacts(parse_bytes(data) if data is not None else EMPTY)
        return self._files[path]

    def versions(self, path: FilePath, base: FileFacts, tip: FileFacts) -> FileVersions:
        if (path, id(base)) not in self._bases:
            now = self.file(path).document
            renamed, to_now = (
                (base.document, {})
                if now.text == base.document.text
                else pieces.with_paths_of(base.document, now)
            )
            base_now = base if renamed is base.document else FileFacts(renamed)
            self._bases[path, id(base)] = (base, base_now, to_now)
        _, base_now, to_now = self._bases[path, id(base)]
        return FileVersions(path=path, base=base, tip=tip, base_now=base_now, to_now=to_now)

    def is_log(self, path: FilePath) -> bool:
        return self._workspace.kind_of(path) is FileKind.DAILY

    def live(self, fact: FactId) -> list[Occurrence]:
        """The lines that state a fact now."""
        return [each for each in self._trail.occurrences_of(fact) if each.ended is None]

    def current(self, fact: FactId) -> list[Occurrence]:
        """The lines that state a fact and still count."""
        return [each for each in self.live(fact) if not self._trail.marks_of(each.number)]

    def has_had(self, path: FilePath, fact: FactId, since: CommitId | None) -> bool:
        """True if a file came to state a fact after a commit (None: ever)."""
        commit = self._trail.commit_with_id(since) if since else None
        return (commit is not None or since is None) and any(
            each.entry.path == path
            and (commit is None or each.begun > commit.number)
            and not self._was_left_out(each)
            for each in self._trail.occurrences_of(fact)
        )

    def _was_left_out(self, occurrence: Occurrence) -> bool:
        end = self._trail.commit_numbered(occurrence.ended) if occurrence.ended else None
        return end is not None and len(end.parents) > 1

    def last_change(self, path: FilePath, goes: Sequence[Item], piece: FactPiece) -> PlaceChange:
        for item in goes:
            if place := next((e for e in self.live(item.fact.id) if e.entry.path == path), None):
                origin = place.origin
                actor = origin.claimed_by or origin.actor
                return PlaceChange(self._agent(actor), self._workspace.local_time(origin.time))
            return PlaceChange()
        gone = self._trail.occurrences_of(piece.old.item.fact.id) if piece.old else ()
        ends = [each.ended for each in gone if each.ended and each.entry.path == path]
        commit = self._trail.commit_numbered(ends[-1]) if ends else None
        if commit is None:
            return PlaceChange()
        note = parse_message(commit.message)
        actor = note.claimed_by or note.provenance.actor
        return PlaceChange(self._agent(actor), self._workspace.local_time(commit.time))

    def _agent(self, actor: str | None) -> str | None:
        return actor if actor and self._workspace.is_agent(actor) else None

    def is_persons(self, fact: Fact) -> bool:
        """True if a person's commit states a fact in a daily log, with or without its key."""
        return any(
            self._is_in_own_commit(each)
            for name in ids_of(fact)
            for each in self.current(name)
            if self.is_log(each.entry.path)
        )

    def _is_in_own_commit(self, occurrence: Occurrence) -> bool:
        origin = occurrence.origin
        commit = self._trail.commit_with_id(origin.commit)
        is_stated = origin.source is Source.USER_STATED and origin.claimed_by is None
        return is_stated and commit is not None and parse_message(commit.message).op is None

    def resembling(self, path: FilePath, text: str) -> Iterator[FactId]:
        if path not in self._statements:
            facts = self.file(path)
            items = [item for section in facts.paths for item in facts.in_section(section)]
            self._statements[path] = (
                StatementIndex(item.fact.text for item in items),
                [item.fact.id for item in items],
            )
        statements, ids = self._statements[path]
        return (ids[number] for number in statements.find(text))


class PartReader:
    def __init__(
        self,
        workspace: Workspace,
        notes: ProposedNotes,
        base: CommitId | None,
        decided: Mapping[PartName, DecidedPart],
        memory: StandingMemory,
    ) -> None:
        self._workspace = workspace
        self._notes = notes
        self._base = base
        self._decided = decided
        self._memory = memory

    def of_file(self, file: FileVersions) -> list[Part]:
        now, is_log = self._memory.file(file.path), self._memory.is_log(file.path)
        renamed, paths = pieces.with_paths_of(file.base.document, file.tip.document)
        base = file.base if renamed is file.base.document else FileFacts(renamed)
        changed = pieces.fact_pieces(base, file.tip, self._notes.pairs())
        source = FileSource(base=file.base.document, paths=paths)
        fitted = pieces.renamed_pieces(
            pieces.renamed_pieces(changed, {new: old for old, new in paths.items()}), file.to_now
        )
        parts = []
        for piece, as_now in zip(changed, fitted, strict=True):
            judgement = taking.judge_fact(as_now, file.base_now, now, is_log)
            if self._was_done(file.path, piece, judgement):
                judgement = replace(judgement, freshness=Freshness.DONE)
            parts.append(
                replace(
                    self._fact_part(file.path, as_now, judgement, now), piece=piece, source=source
                )
            )
        if is_log:
            return parts
        sections = pieces.section_pieces(file.base, file.tip, changed, paths)
        return parts + [
            replace(self._section_part(file, section, now), source=source) for section in sections
        ]

    def _was_done(self, path: FilePath, piece: FactPiece, judgement: Judgement) -> bool:
        """True for a fact that memory had since the proposal began, whatever became of it."""
        is_new = piece.new is not None and (
            piece.old is None or piece.old.item.fact.id != piece.fact
        )
        return (
            is_new
            and judgement.freshness is not Freshness.DONE
            and self._memory.has_had(path, piece.fact, self._base)
        )

    def _fact_part(
        self, path: FilePath, piece: FactPiece, judgement: Judgement, now: FileFacts
    ) -> Part:
        fact = piece.fact
        proposed = self._notes.of_fact(path, fact)
        rivals = taking.key_rivals(piece.new, now) if piece.new else []
        goes = {item.start for item in judgement.goes}
        view = PartView(
            name=fact,
            path=path,
            section=piece.place.section,
            op=(
                PartOp.DELETE
                if piece.new is None
                else PartOp.ADD
                if piece.old is None
                else PartOp.UPDATE
            ),
            old=item_text(piece.old.item.raw).strip() if piece.old else None,
            new=item_text(piece.new.item.raw).strip() if piece.new else None,
            origin=self._origin(proposed, fact, piece.new),
            state=self._state(fact, proposed, judgement.freshness),
            standing=judgement.standing,
            duplicate_of=self._duplicate(piece, path, {item.fact.id for item in judgement.goes}),
            contradicts=next((item.fact.id for item in rivals if item.start not in goes), None),
            key=piece.place.item.fact.key,
            since=self._since(proposed),
            changed=(
                self._memory.last_change(path, judgement.goes, piece)
                if judgement.freshness is Freshness.OVERTAKEN
                else None
            ),
        )
        supersedes = self._notes.supersedes(fact) if piece.new else ()
        contradicts, keys = self._notes.contradicts(fact), self._notes.keys(fact)
        return Part(
            view=view,
            piece=piece,
            supersedes=supersedes,
            contradicts=contradicts,
            keys=keys,
            promotes=self._notes.promotes(fact),
            forgets=piece.new is None
            and proposed is not None
            and proposed.note.op is Op.FORGET
            and not proposed.note.only,
            proposed=proposed,
        )

    def _duplicate(self, piece: FactPiece, path: FilePath, goes: set[FactId]) -> FactId | None:
        """A current equal fact elsewhere, or a similar one in the same file.

        The log that a curated line is drawn from does not count.
        """
        if piece.new is None or (
            piece.old is not None and piece.old.item.fact.id == piece.new.item.fact.id
        ):
            return None
        fact = piece.new.item.fact
        elsewhere = [
            each.entry
            for each in self._memory.current(fact.id)
            if each.entry.path != path or each.entry.section != piece.new.section
        ]
        if any(
            self._memory.is_log(path) or not self._memory.is_log(entry.path) for entry in elsewhere
        ):
            return fact.id
        return next(
            (
                same
                for same in self._memory.resembling(path, fact.text)
                if same != fact.id and same not in goes
            ),
            None,
        )

    def _section_part(self, file: FileVersions, piece: SectionPiece, now: FileFacts) -> Part:
        judgement, _ = taking.judge_section(piece, file.base.document, now)
        about = [each for each in self._notes.notes if file.path in each.paths]
        named = [each for each in about if each.note.section == join_path(piece.section)]
        proposed = next(reversed(named or about), None)
        view = PartView(
            name=piece.name,
            path=file.path,
            section=piece.section,
            op=PartOp.SECTION,
            old=piece.before,
            new=piece.after,
            origin=self._origin(proposed, None),
            state=self._state(piece.name, proposed, judgement.freshness),
            standing=judgement.standing,
            since=self._since(proposed),
        )
        return Part(view=view, piece=piece, proposed=proposed)

    def _since(self, proposed: ProposedNote | None) -> datetime | None:
        return self._workspace.local_time(proposed.commit.time) if proposed else None

    def _origin(
        self, proposed: ProposedNote | None, fact: FactId | None, new: ItemPlace | None = None
    ) -> PartOrigin:
        is_stated = (
            new is not None
            and proposed is not None
            and proposed.note.provenance.source is Source.USER_STATED
        )
        is_persons = is_stated and new is not None and self._memory.is_persons(new.item.fact)
        return part_origin(self._workspace, self._notes, proposed, fact, is_persons)

    def _state(
        self, name: PartName, proposed: ProposedNote | None, freshness: Freshness
    ) -> PartState:
        decision = self._decided.get(name)
        if decision and not (proposed and decision.commit in proposed.note.again):
            return decision.state
        match freshness:
            case Freshness.FRESH if proposed and proposed.note.overtaken:
                return PartState.OVERTAKEN
            case Freshness.FRESH:
                return PartState.OPEN
            case Freshness.DONE:
                return PartState.ACCEPTED
            case Freshness.OVERTAKEN:
                return PartState.OVERTAKEN

    # Parts without a text.

    def of_statements(self, taken: Iterable[PartName]) -> list[Part]:
        """Statements of commits without text changes; `taken` are names in use."""
        names, parts = set(taken), []
        for proposed in self._notes.marks():
            note = proposed.note
            ended = tuple(old for old, new in note.supersedes if new is None)
            for fact in (*note.retracts, *ended, *note.confirms):
                if fact not in names:
                    names.add(fact)
                    parts.append(self._stated_part(proposed, fact, is_ended=fact in ended))
        return parts

    def _stated_part(self, proposed: ProposedNote, fact: FactId, is_ended: bool) -> Part:
        note = proposed.note
        live = self._memory.live(fact)
        is_open = bool(self._memory.current(fact))
        is_confirmation = fact in note.confirms
        text = live[-1].entry.text if live else None
        view = PartView(
            name=fact,
            path=live[-1].entry.path if live else note.path or self._workspace.curated,
            section=live[-1].entry.section if live else (),
            op=PartOp.CONFIRM if is_confirmation else PartOp.RETRACT,
            old=None if is_confirmation else text,
            new=text if is_confirmation else None,
            origin=self._origin(proposed, fact),
            state=self._state(fact, proposed, Freshness.FRESH if is_open else Freshness.DONE),
            standing=text if is_open else None,
            since=self._since(proposed),
        )
        return Part(
            view=view,
            piece=None,
            ended=(fact,) if is_ended else (),
            retracts=(fact,) if fact in note.retracts else (),
            confirms=(fact,) if is_confirmation else (),
            proposed=proposed,
        )

    def of_decisions(self, taken: Iterable[PartName]) -> list[Part]:
        names = set(taken)
        return [
            Part(view=self._decided_view(decision), piece=None)
            for name, decision in self._decided.items()
            if name not in names
        ]

    def _decided_view(self, decision: DecidedPart) -> PartView:
        return PartView(
            name=decision.name,
            path=decision.path or self._workspace.curated,
            section=tuple(decision.section.split(" > ")) if decision.section else (),
            op=(
                PartOp.SECTION
                if "@" in decision.name
                else PartOp.DELETE
                if decision.is_removal
                else PartOp.ADD
            ),
            old=decision.text if decision.is_removal else None,
            new=None if decision.is_removal else decision.text,
            origin=self._origin(None, None),
            state=decision.state,
        )
