from datetime import date

import pytest

from mdmem.editors import EditResult
from mdmem.editors.facts import needs_foundations, remember, similar_items
from mdmem.editors.list_items import Foundation, Foundations
from mdmem.model import Source
from mdmem.model.errors import FactProblem
from mdmem.model.writes import Remember, WriteOptions
from mdmem.text.document import parse
from mdmem.text.facts import fact_id, items

TODAY = date(2026, 3, 5)
SOURCES = {
    "auto": Foundation(Source.AUTO),
    "inferred": Foundation(Source.INFERRED),
    "user": Foundation(Source.USER_STATED),
    "claimed": Foundation(Source.USER_STATED, claimed=True),
}


def put(before: str, words: str, own: str, **options: object) -> EditResult:
    """Remember words among lines that name their source: `- k: a <!-- auto -->`."""
    document = parse(before)
    standing = {
        item.start: SOURCES[name]
        for item in items(document)
        for name in SOURCES
        if f"<!-- {name} -->" in item.raw
    }
    change = Remember(words, section="A", **options)
    return remember(
        document,
        change,
        TODAY,
        similar_items(document, change),
        Foundations(standing, SOURCES[own]),
    )[0]


def lines(*values: str) -> str:
    return "## A\n\n" + "".join(
        f"- k: {name}{number} <!-- {name} -->\n" for number, name in enumerate(values)
    )


@pytest.mark.parametrize(
    ("standing", "own", "left"),
    [
        # An auto value takes the place of another one only, and stands beside what is better
        # founded.
        (("auto",), "auto", ["new"]),
        (("inferred",), "auto", ["inferred0", "new"]),
        (("claimed",), "auto", ["claimed0", "new"]),
        (("user", "auto"), "auto", ["user0", "new"]),
        (("user", "inferred"), "auto", ["user0", "inferred1", "new"]),
        # Any other one takes the place of what is founded as well, else of the best founded one;
        # what is weaker goes out.
        (("auto", "auto"), "inferred", ["new"]),
        (("user",), "inferred", ["new"]),
        (("auto", "user"), "inferred", ["new"]),
        (("user", "inferred", "auto"), "inferred", ["user0", "new"]),
        (("user", "claimed"), "inferred", ["user0", "new"]),
        (("auto", "user", "auto"), "user", ["new"]),
        (("inferred", "auto"), "user", ["new"]),
        (("claimed", "user", "inferred"), "user", ["new"]),
        (("claimed",), "claimed", ["new"]),
        # Which of several is meant, where they are founded equally well?
        (("auto", "auto"), "auto", None),
        (("inferred", "inferred", "auto"), "inferred", None),
        (("claimed", "inferred"), "inferred", None),
        (("user", "user"), "user", None),
        (("user", "user"), "inferred", None),
        (("inferred", "inferred"), "user", None),
    ],
)
def test_the_values_that_are_left(
    standing: tuple[str, ...], own: str, left: list[str] | None
) -> None:
    before = lines(*standing)
    if left is None:
        with pytest.raises(FactProblem, match="current values") as caught:
            put(before, "k: new", own)
        assert (caught.value.code, len(caught.value.details["facts"])) == (
            "key-ambiguous",
            len(standing),
        )
        return
    result = put(before, "k: new", own)
    values = [item.fact.text.removeprefix("k: ") for item in items(parse(result.text))]
    assert sorted(values) == sorted(left)
    gone = [
        f"{name}{number}" for number, name in enumerate(standing) if f"{name}{number}" not in left
    ]
    assert {(pair.old, pair.new) for pair in result.supersedes} == {
        (fact_id(f"k: {value}"), fact_id("k: new")) for value in gone
    }
    assert set(result.contradicts) == {fact_id(f"k: {value}") for value in left if value != "new"}


def test_the_new_value_stands_where_the_one_stood_that_it_means() -> None:
    before = "## A\n\n- k: a <!-- auto -->\n  - beneath\n- x\n- k: b <!-- user -->\n  - kept\n- k: c <!-- auto -->\n- y\n"
    assert put(before, "k: d", "user").text == "## A\n\n- x\n- k: d <!-- user -->\n  - kept\n- y\n"
    assert put(before, "k: d", "auto", also=True).text == before + "- k: d\n"


def test_a_value_that_is_said_again_ends_the_weaker_ones_beside_it() -> None:
    result = put(lines("user", "auto"), "k: user0", "user")
    assert (result.text, result.confirms) == (lines("user"), ())
    assert [pair.old for pair in result.supersedes] == [fact_id("k: auto1")]
    assert put(lines("user", "auto"), "k: auto1", "auto").text == lines("user", "auto")


@pytest.mark.parametrize(
    ("standing", "own", "confirmed"),
    [
        ("auto", "inferred", True),
        ("auto", "claimed", True),
        ("inferred", "claimed", True),
        ("claimed", "user", True),
        ("inferred", "user", True),
        ("inferred", "inferred", False),
        ("user", "claimed", False),
        ("user", "user", False),
        ("inferred", "auto", False),
    ],
)
def test_the_same_from_a_stronger_source_confirms(standing: str, own: str, confirmed: bool) -> None:
    for words in ("k: v", "tea"):
        before = f"## A\n\n- {words} <!-- {standing} -->\n  - beneath\n"
        result = put(before, words, own)
        assert (result.text, result.supersedes) == (before, ())
        assert result.confirms == ((items(parse(before))[0].fact.id,) if confirmed else ())


@pytest.mark.parametrize(
    ("before", "words", "own", "needed"),
    [
        ("## A\n\n- x\n", "tea", "inferred", False),
        ("## A\n\n- k: a\n", "k: b", "inferred", True),
        ("## A\n\n- k: a\n", "k: b", "user", False),
        ("## A\n\n- k: a\n", "k: b", "claimed", True),
        ("## A\n\n- k: a\n- k: c\n", "k: b", "user", True),
        ("## A\n\n- tea\n", "tea", "user", True),
    ],
)
def test_when_foundations_are_needed(before: str, words: str, own: str, needed: bool) -> None:
    for options in (WriteOptions(), WriteOptions(supersedes="other")):
        change = Remember(words, section="A", options=options)
        assert (
            needs_foundations(change, similar_items(parse(before), change), SOURCES[own]) is needed
        )


@pytest.mark.parametrize(
    ("standing", "guarded_against"),
    [
        ("auto", set()),
        ("inferred", {"auto"}),
        ("user", {"auto", "inferred", "claimed"}),
        ("claimed", {"auto", "inferred", "claimed"}),
    ],
)
def test_whose_change_takes_out_what_is_better_founded(
    standing: str, guarded_against: set[str]
) -> None:
    (item,) = items(parse("- tea\n"))
    assert {
        own
        for own in SOURCES
        if Foundations({item.start: SOURCES[standing]}, SOURCES[own]).is_better(item)
    } == guarded_against


def test_only_the_users_own_word_takes_out_nothing_better() -> None:
    assert [name for name, foundation in SOURCES.items() if not foundation.may_be_weaker] == [
        "user"
    ]


@pytest.mark.parametrize(("length", "shown"), [(60, "k: " + "a" * 57), (61, "k: " + "a" * 57)])
def test_values_that_could_be_meant_are_quoted_shortened(length: int, shown: str) -> None:
    with pytest.raises(FactProblem) as caught:
        put(f"## A\n\n- k: {'a' * (length - 3)}\n- k: b\n", "k: c", "inferred")
    first, second = caught.value.details["facts"]
    assert caught.value.hint.startswith(
        f"They are: {first['id']} {shown}; {second['id']} k: b. Replace"
    )
    assert first["text"] == f"k: {'a' * (length - 3)}"
