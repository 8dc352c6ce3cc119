"""Apply a part of a proposal to a file in its current state, with provenance."""

from __future__ import annotations

from mdmem.changes.verbs import EditedText, Verb
from mdmem.editors import EditResult
from mdmem.model import FactId, FileKind, Op, Supersession
from mdmem.model.errors import ProposalProblem, field, shell_word, verb
from mdmem.model.proposals import PartOp, PartState
from mdmem.model.writes import WriteOptions
from mdmem.past.messages import CommitNote
from mdmem.proposals import taking
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import EMPTY, FactPiece, FileFacts, FileSource, SectionPiece
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document, parse
from mdmem.text.facts import parse_item


@dataclass(frozen=True, slots=True)
class PartTaking:
    """A part to accept, in a person's own `text` if any, or `anyway`, despite later changes.

    `keeps`: beside what it would replace. `voices` are parts that propose the same, `closes` its
    rivals: pairs of a proposal and a part.
    """

    proposal: str
    part: Part
    text: str | None = None
    anyway: bool = False
    keeps: bool = False
    voices: tuple[tuple[str, str], ...] = ()
    closes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AcceptEdit:
    verb = "accept"
    home = "review.accept"

    taking: PartTaking
    options: WriteOptions


def edit(change: PartTaking, document: Document | None, kind: FileKind) -> EditedText:
    """Raises: ProposalProblem (`overtaken`, unless `anyway`), SectionProblem."""
    now, part = document or EMPTY, change.part
    if part.view.state is PartState.OVERTAKEN and not change.anyway:
        raise overtaken(change, part.view.standing)
    match part.piece, part.source:
        case FactPiece() as piece, FileSource() as source:
            return _edit_fact(change, piece, source, now, kind)
        case SectionPiece() as piece, FileSource() as source:
            return _edit_section(change, piece, source, now)
    result = EditResult(
        text=now.text, op=Op.ACCEPT, section=part.view.section, confirms=part.confirms
    )
    return EditedText(result=result, retracts=(*part.retracts, *part.ended))


def _edit_fact(
    change: PartTaking, piece: FactPiece, source: FileSource, now: Document, kind: FileKind
) -> EditedText:
    put = taking.put_fact(
        piece,
        source,
        now,
        kind,
        wording=change.text,
        is_forced=change.anyway,
        keeps=change.keeps,
    )
    if put.text is None:
        raise overtaken(change, put.judgement.standing)
    new = _new_fact(change)
    if new is not None and not FileFacts(parse(put.text)).holders(new, None):
        raise ProposalProblem(
            "overtaken",
            f"{change.part.name} would have another meaning in its place",
            "Write it by hand.",
        )
    supersedes = _supersedes(
        change, new, {item.fact.id for item in put.judgement.goes}, kind is FileKind.DAILY
    )
    return EditedText(
        result=EditResult(
            text=put.text,
            op=Op.ACCEPT,
            section=put.section,
            supersedes=supersedes,
            also=change.keeps,
        )
    )


def _new_fact(change: PartTaking) -> FactId | None:
    piece = change.part.piece
    if not isinstance(piece, FactPiece) or piece.new is None:
        return None
    return piece.fact if change.text is None else parse_item(taking.written(change.text)).id


def _supersedes(
    change: PartTaking, new: FactId | None, went: set[FactId], is_log: bool
) -> tuple[Supersession, ...]:
    if new is None:
        return ()
    stated = [pair.old for pair in change.part.supersedes if pair.old in went or is_log]
    return tuple(
        Supersession(old, new) for old in dict.fromkeys((*sorted(went), *stated)) if old != new
    )


def _edit_section(
    change: PartTaking, piece: SectionPiece, source: FileSource, now: Document
) -> EditedText:
    put = taking.put_section(piece, source, now, wording=change.text, is_forced=change.anyway)
    if put.text is None:
        raise overtaken(change, put.judgement.standing)
    return EditedText(result=EditResult(text=put.text, op=Op.ACCEPT, section=put.section))


def overtaken(change: PartTaking, standing: str | None) -> ProposalProblem:
    view = change.part.view
    now, proposed = standing or "nothing", view.new or "to remove it"
    message = f"{view.name} is outdated: its target has changed since it was proposed"
    words = " ".join(map(shell_word, (change.proposal, view.name)))
    command = f"{verb('accept')} {words} {field('anyway')}"
    hint = f"Now there: {now}\nProposed: {proposed}\nTo accept it anyway: {command}"
    return ProposalProblem(
        "overtaken", message, hint, part=view.name, standing=standing, proposed=view.new
    )


def _complete_note(note: CommitNote, edit: AcceptEdit, added: tuple[FactId, ...]) -> CommitNote:
    change, part = edit.taking, edit.taking.part
    fact = _new_fact(change) or FactId(part.name)
    return replace(
        note,
        proposal=change.proposal,
        proposed_by=part.view.origin.actor,
        accepts=((change.proposal, part.name), *change.voices),
        closes=change.closes,
        cites=tuple((fact, cited) for cited in part.view.origin.cites),
        contradicts=part.contradicts if change.text is None else (),
        keys=part.keys if change.text is None else (),
        promotes=tuple((log, fact) for log in part.promotes),
        only=part.view.op is PartOp.DELETE and not part.forgets,
    )


VERB = Verb(
    file=lambda workspace, edit: edit.taking.part.view.path,
    edit=lambda workspace, change, path, document: edit(
        change.taking, document, workspace.kind_of(path)
    ),
    new_texts=lambda edit: tuple(
        text for text in (edit.taking.text, edit.taking.part.view.new) if text
    ),
    appends=lambda edit: edit.taking.part.view.op in (PartOp.ADD, PartOp.RETRACT, PartOp.CONFIRM),
    decides=lambda edit: not edit.taking.anyway,
    complete_note=_complete_note,
)
