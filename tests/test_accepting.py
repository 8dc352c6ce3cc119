"""Parts of a proposal put onto a file as it is, and what their commits say. Pure."""

import shlex
from dataclasses import replace
from typing import Any

import pytest
from proposal_actions import problem

from mdmem.model import FactId, FileKind, FilePath, Op, Provenance, Source, Supersession
from mdmem.model.errors import field, verb
from mdmem.model.proposals import PartOp, PartOrigin, PartState, PartView
from mdmem.model.writes import WriteOptions
from mdmem.past.messages import CommitNote
from mdmem.proposals import pieces
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import FactPiece, FileFacts, FileSource, SectionPiece
from mdmem.review.deciding import VERB, AcceptEdit, PartTaking, edit, overtaken
from mdmem.text.document import parse
from mdmem.text.facts import fact_id

BASE = "# M\n\n## A\n\nSome words.\n\n- one\n- two\n- k: v\n"
LOG = "# 2026-03-05\n\n## 09:00\n\n- early\n"
PATH, SECTION = FilePath("MEMORY.md"), ("M", "A")
ORIGIN = PartOrigin(source=Source.INFERRED, confidence=0.7, actor="bot")
NAMED = fact_id("two")


def accept(taking: PartTaking) -> AcceptEdit:
    return AcceptEdit(taking, WriteOptions())


def new_texts(taking: PartTaking) -> tuple[str, ...]:
    return VERB.new_texts(accept(taking))


def complete_note(note: CommitNote, taking: PartTaking) -> CommitNote:
    return VERB.complete_note(note, accept(taking), ())


def view(name: str, op: PartOp = PartOp.ADD, **fields: Any) -> PartView:
    defaults = {
        "path": PATH,
        "section": SECTION,
        "old": None,
        "new": None,
        "origin": ORIGIN,
        "state": PartState.OPEN,
    }
    return PartView(**{"name": name, "op": op, **defaults, **fields})


def part(old: str, new: str, base: str = BASE, **fields: Any) -> Part:
    """The part that changes one text of the base."""
    before, after = FileFacts(parse(base)), FileFacts(parse(base.replace(old, new, 1)))
    facts = pieces.fact_pieces(before, after)
    (piece,) = facts or pieces.section_pieces(before, after, facts, {})
    name = piece.fact if isinstance(piece, FactPiece) else piece.name
    return Part(
        view=view(name, new=new.strip("- \n")),
        piece=piece,
        source=FileSource(before.document, {}),
        **fields,
    )


def stated(**fields: Any) -> Part:
    return Part(view=view(NAMED, PartOp.CONFIRM), piece=None, **fields)


def note(**fields: Any) -> CommitNote:
    return CommitNote(
        **{"op": Op.ACCEPT, "path": PATH, "section": SECTION, "provenance": Provenance(), **fields}
    )


# Onto a file.


def test_a_fact() -> None:
    taken = edit(
        PartTaking("0123abcd", part("- two", "- two and a half")), parse(BASE), FileKind.EVERGREEN
    )
    new = fact_id("two and a half")
    assert (taken.result.text, taken.result.op, taken.result.section) == (
        BASE.replace("two", "two and a half"),
        Op.ACCEPT,
        SECTION,
    )
    assert taken.result.supersedes == (Supersession(NAMED, new),)


def test_a_fact_in_a_persons_words() -> None:
    taken = edit(
        PartTaking("0123abcd", part("- two", "- two and a half"), "more\nor less", True),
        parse(BASE),
        FileKind.EVERGREEN,
    )
    new = fact_id("more or less")
    assert taken.result.text == BASE.replace("- two", "- more\n  or less")
    assert taken.result.supersedes == (Supersession(NAMED, new),)


def test_a_removal_supersedes_nothing() -> None:
    taken = edit(PartTaking("0123abcd", part("- two\n", "")), parse(BASE), FileKind.EVERGREEN)
    assert (taken.result.text, taken.result.supersedes) == (BASE.replace("- two\n", ""), ())


def test_a_fact_with_another_label_is_the_same() -> None:
    taken = edit(
        PartTaking("0123abcd", part("- two", "- two #even")), parse(BASE), FileKind.EVERGREEN
    )
    assert taken.result.supersedes == ()


def test_a_fact_supersedes_what_its_proposal_names_if_that_goes_or_stays_in_a_log() -> None:
    named = (
        Supersession(FactId("0" * 8), fact_id("late")),
        Supersession(fact_id("early"), fact_id("late")),
    )
    logged = PartTaking("0123abcd", part("- early\n", "- early\n- late\n", LOG, supersedes=named))
    assert edit(logged, parse(LOG), FileKind.DAILY).result.supersedes == named
    assert edit(logged, parse(LOG), FileKind.EVERGREEN).result.supersedes == ()
    going = part(
        "- k: v",
        "- k: w",
        supersedes=(
            Supersession(NAMED, fact_id("k: w")),
            Supersession(fact_id("k: v"), fact_id("k: w")),
        ),
    )
    assert (
        edit(PartTaking("0123abcd", going), parse(BASE), FileKind.EVERGREEN).result.supersedes
        == going.supersedes[1:]
    )


def test_other_text() -> None:
    change = PartTaking("0123abcd", part("Some words.", "Other words."))
    assert isinstance(change.part.piece, SectionPiece)
    taken = edit(change, parse(BASE), FileKind.EVERGREEN)
    assert (taken.result.text, taken.result.op, taken.result.section) == (
        BASE.replace("Some", "Other"),
        Op.ACCEPT,
        SECTION,
    )
    own = edit(replace(change, text="Own words."), parse(BASE), FileKind.EVERGREEN)
    assert own.result.text == BASE.replace("Some", "Own")


def test_a_statement_on_facts() -> None:
    taken = edit(PartTaking("0123abcd", stated(confirms=(NAMED,))), parse(BASE), FileKind.EVERGREEN)
    assert (taken.result.text, taken.result.confirms, taken.retracts) == (BASE, (NAMED,), ())
    taken = edit(
        PartTaking("0123abcd", stated(retracts=(NAMED,), ended=(fact_id("one"),))),
        parse(BASE),
        FileKind.EVERGREEN,
    )
    assert (taken.result.confirms, taken.retracts) == ((), (NAMED, fact_id("one")))


@pytest.mark.parametrize(
    ("change", "now", "standing"),
    [
        (
            PartTaking("0123abcd", part("- two", "- two and a half")),
            BASE.replace("two", "two and a third"),
            "two and a third",
        ),
        (
            PartTaking("0123abcd", part("Some words.", "Other words.")),
            BASE.replace("Some", "Third"),
            "Third words.",
        ),
    ],
)
def test_an_overtaken_part_is_refused_unless_it_is_taken_anyway(
    change: PartTaking, now: str, standing: str
) -> None:
    error = problem(edit, change, parse(now), FileKind.EVERGREEN)
    new = change.part.view.new
    assert (error.code, error.details) == (
        "overtaken",
        {"part": change.part.name, "standing": standing, "proposed": new},
    )
    assert error.hint.startswith(f"Now there: {standing}\nProposed: {new}\n")
    forced = edit(replace(change, anyway=True), parse(now), FileKind.EVERGREEN)
    assert forced.result.text == now.replace(standing, new or "")
    own = replace(change, text="Own words.")
    assert problem(edit, own, parse(now), FileKind.EVERGREEN).code == "overtaken"
    assert (
        "Own words." in edit(replace(own, anyway=True), parse(now), FileKind.EVERGREEN).result.text
    )


def test_an_overtaken_part_of_which_nothing_stands() -> None:
    error = overtaken(PartTaking("0123abcd", stated()), None)
    assert error.hint.startswith("Now there: nothing\nProposed: to remove it\n")


def test_what_takes_an_overtaken_part_can_be_pasted() -> None:
    change = PartTaking("0123abcd", part("Some words.", "Other words."))
    words = shlex.split(overtaken(change, "x").marked_hint.rpartition(": ")[2])
    assert words == [*shlex.split(verb("accept")), "0123abcd", change.part.name, field("anyway")]


def test_words_that_would_read_otherwise() -> None:
    change = PartTaking("0123abcd", part("- two", "- two\n- three"), "<!-- nothing -->", True)
    error = problem(edit, change, parse(BASE), FileKind.EVERGREEN)
    assert (error.code, error.hint) == ("overtaken", "Write it by hand.")


# What may be said of a part.


def test_texts_of_a_part() -> None:
    change = PartTaking("0123abcd", Part(view=view(NAMED, new="two"), piece=None))
    assert (new_texts(change), new_texts(replace(change, text="2"))) == (("two",), ("2", "two"))
    assert new_texts(PartTaking("0123abcd", stated())) == ()


def test_parts_that_a_log_takes() -> None:
    taken = [
        op
        for op in PartOp
        if VERB.appends(accept(PartTaking("0123abcd", Part(view=view(NAMED, op), piece=None))))
    ]
    assert taken == [PartOp.ADD, PartOp.RETRACT, PartOp.CONFIRM]


# The commit.

PAIR, KEY = (fact_id("two and a half"), fact_id("one")), (fact_id("two and a half"), "size")


def test_the_note_of_a_part_as_it_is() -> None:
    its_part = part("- two", "- two and a half", contradicts=(PAIR,), keys=(KEY,))
    origin = replace(ORIGIN, cites=("claude/a#1", "claude/a#2"))
    its_part = replace(its_part, view=replace(its_part.view, origin=origin))
    name = fact_id("two and a half")
    written = note(supersedes=(Supersession(NAMED, name),))
    assert complete_note(written, PartTaking("0123abcd", its_part)) == replace(
        written,
        proposal="0123abcd",
        proposed_by="bot",
        accepts=(("0123abcd", name),),
        cites=((name, "claude/a#1"), (name, "claude/a#2")),
        contradicts=(PAIR,),
        keys=(KEY,),
    )
    own = complete_note(written, PartTaking("0123abcd", its_part, "2.5"))
    assert own.accepts == (("0123abcd", name),)
    assert own.cites == ((fact_id("2.5"), "claude/a#1"), (fact_id("2.5"), "claude/a#2"))
    assert (own.contradicts, own.keys) == ((), ())


def test_the_note_of_a_part_that_brings_no_fact() -> None:
    origin = replace(ORIGIN, cites=("claude/a#1",))
    for each in (stated(), part("- two\n", "")):
        cited = replace(each, view=replace(each.view, origin=origin))
        assert complete_note(note(), PartTaking("0123abcd", cited)).cites == (
            (NAMED, "claude/a#1"),
        )
