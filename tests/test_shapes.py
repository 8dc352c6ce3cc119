"""What lasts, what passes, and what orders an agent: `data/statements.tsv` and `data/orders.tsv`,
written before they were tried.
"""

from pathlib import Path

import pytest
from test_plain_statements import drafts, message

from mdmem.sessions.plain import find_cue, is_stated, own_clauses
from mdmem.sessions.sentences import Sentence, is_noise, sentences
from mdmem.sessions.shapes import Shape, asks_for_value, clauses, is_phrase, language_of, shape_of
from mdmem.words import de, en, es, fr, zh

_DATA = Path(__file__).parent / "data"


def rows(name: str, kind: str) -> list[str]:
    lines = (_DATA / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [text for line in lines for found, text in [line.split("\t")] if found == kind]


def is_kept(text: str) -> bool:
    spoken = [each for each in sentences(text) if not is_noise(each)]
    return any(is_stated(each, tools=False) or find_cue(each, tools=False) for each in spoken)


def is_rule(text: str, tools: bool) -> bool:
    drawn = drafts(message(text), tools=tools)
    return any(draft.kind in ("decision", "preference") for draft in drawn)


def test_what_lasts_is_stated():
    missed = [text for text in rows("statements", "states") if not is_kept(text)]
    assert len(missed) <= 2, missed


def test_what_passes_is_not():
    assert [text for text in rows("statements", "passes") if is_kept(text)] == []


@pytest.mark.parametrize("tools", [False, True])
def test_orders_for_good(tools: bool):
    orders = rows("orders", "standing")
    missed = [text for text in orders if not is_rule(text, tools)]
    assert len(missed) <= 0.1 * len(orders), missed


@pytest.mark.parametrize("tools", [False, True])
def test_orders_of_the_moment(tools: bool):
    orders = rows("orders", "moment")
    taken = [text for text in orders if is_rule(text, tools)]
    assert len(taken) <= 0.05 * len(orders), taken


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("the boiler is behind the pantry", Shape.VAGUE),
        ("let's add error bars to all plots", Shape.VAGUE),
        ("I think our insurance is with Ansvar", Shape.VAGUE),
        ("mooring is 340 a quarter i think", Shape.VAGUE),
        ("Tuesdays I look after Otis", Shape.STATEMENT),
        ("pitch 14 was given away, we are on pitch 22 now", Shape.STATEMENT),
        ("I'm moving to Barbados haha", None),
        ("We moved to Lisbon!", None),
        ("somebody has to let him in", None),
        ("rename the button from I agree to I never agree", None),
        ("Never push to main.", Shape.ORDER),
        ("Good luck with everything, all the best.", None),
        ("the site's in Leeds now", Shape.STATEMENT),
        ("Commit messages: the group wants them in English", Shape.STATEMENT),
        ("our bookkeeper Lorraine hates it", Shape.STATEMENT),
        ("staging runs on stg-02", Shape.STATEMENT),
        ("In our files the depth is 10 m at most", Shape.STATEMENT),
        ("We got a van in January", Shape.STATEMENT),
        ("The sensor was calibrated in Brest in November", Shape.STATEMENT),
        ("The report of May was sent twice", None),
        ("It drifts by 2 % a year", Shape.PASSING),
        ("paper for the 2 partners", Shape.PASSING),
        ("They close at 10", Shape.PASSING),
        ("shift all dates by one week", None),
        ("Combining passions is cool", None),
        ("I'm there with Ada", None),
        ("Das Treppenhaus bekommt ein Geländer aus Stahl", Shape.STATEMENT),
        ("Das ist mir zu teuer", None),
        ("Je suis en vacances du 6 au 17 avril", Shape.STATEMENT),
        ("Le client, c'est la Banque Alpine", Shape.STATEMENT),
        ("Los precios llevan IVA, el 10 %", Shape.STATEMENT),
        ("Hanna's college day is Friday this year", Shape.STATEMENT),
        ("The band is called Slow Ferry", Shape.STATEMENT),
        ("Shopping lists are always in English", Shape.STATEMENT),
        ("Nimm für diesen Aushang die rote Schrift", Shape.PASSING),
        ("There are nine rooms in the annex", Shape.PASSING),
        ("has to be in by the 20th of May", Shape.PASSING),
        ("send it to Ada Moll, she signs the cheques", Shape.PASSING),
        ("The core was taken with a Russian corer", Shape.PASSING),
        ("Always show me a mail before you send it", Shape.ORDER),
        ("always check it first", None),
    ],
)
def test_shapes(text: str, shape: Shape | None):
    assert shape_of(Sentence.of(text)) is shape


@pytest.mark.parametrize(
    ("question", "answer", "is_value"),
    [
        ("Which software do you keep the books in?", "Xero.", True),
        ("Should it be tabs or spaces?", "spaces", True),
        ("Shall I delete it?", "the other one", False),
        ("What next?", "rename the file", False),
        ("What next?", "I go home", False),
    ],
)
def test_an_answer_of_a_word_or_two(question: str, answer: str, is_value: bool):
    asked = asks_for_value(Sentence.of(question))
    assert (asked and is_phrase(Sentence.of(answer))) is is_value


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("No calls on Sundays.", en),
        ("Ich wohne in Wien.", de),
        ("Nos mudamos a la calle Goethe", es),
        ("Ma patronne s'appelle Odette.", fr),
        ("我住在上海", zh),
        ("Keine Anglizismen im Klappentext.", de),
    ],
)
def test_the_language_of_a_sentence(text: str, language: object):
    assert language_of(text) is language


def test_clauses_with_a_verb_each():
    said = "accountant is Wilma Rendall and she wants it quarterly, the fee is 340, so I pay her"
    assert clauses(said) == [
        ("", "accountant is Wilma Rendall"),
        ("and", "she wants it quarterly"),
        ("", "the fee is 340"),
        ("so", "I pay her"),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("We buy a second van, if the bank agrees to it", [("We buy a second van", False)]),
        ("I dont fish on Sundays so if one is there its wrong", [("I dont fish on Sundays", True)]),
        ("If the bank agrees, we buy a second van", []),
        (
            "Anything will do, e.g. Actually, the deploy goes to Oslo",
            [("Anything will do", False)],
        ),
        ("she says, I never drive at night", []),
        ("I sort by customer, because he said it's quicker", [("I sort by customer", True)]),
        ("I'm moving to Barbados, I take the altos with me haha", []),
    ],
)
def test_clauses_of_ones_own(text: str, told: list[tuple[str, bool]]):
    found = [(each.text, is_sure) for each, is_sure in own_clauses(Sentence.of(text))]
    assert [each for each in found if shape_of(Sentence.of(each[0]))] == told
