"""A line of several facts after a statement that changes one of them."""

import random

import pytest

from mdmem.nights.dream.changed_values import (
    NamedChange,
    named_change,
    parts_of,
    with_changed_part,
    with_named_value,
    without_part,
)

_PARTS = (
    ("TrueNAS at 10.0.0.{0}", "the address is 10.0.0.{0} now"),
    ("pool {0}", "pool {0} now"),
    ("insured with {0}", "it is insured with {0} now"),
    ("plate HH-{0}", "plate HH-{0} now"),
    ("open until {0}:30", "it is open until {0}:30"),
    ("tyres by {0}", "the tyres by {0} are on"),
    ("mail box{0}@example.org", "write to box{0}@example.org"),
    ("parked behind {0}", "it is parked behind {0} these days"),
)


def test_nothing_but_the_changed_part_is_lost():
    dice, changed = random.Random(7), 0
    for _ in range(500):
        parts = dice.sample(_PARTS, dice.randint(2, 4))
        values = [dice.randint(11, 19) for _ in parts]
        line = ", ".join(part.format(value) for (part, _), value in zip(parts, values, strict=True))
        at = dice.randrange(len(parts))
        new = with_changed_part(line, parts[at][1].format(values[at] + 20))
        if new is None:
            continue
        changed += 1
        old, found = parts_of(line), parts_of(new)
        assert len(found) == len(old)
        assert [each for number, each in enumerate(found) if number != at] == [
            each for number, each in enumerate(old) if number != at
        ]
        assert str(values[at] + 20) in found[at]
    assert changed >= 450


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("Scania R450, plate HH, tyres Michelin", "the tyres on the Scania are new"),
        ("flatmate, allergic to nuts", "the garden needs water"),
        ("Borough Market, pitch 14", "pitch 14"),
    ],
)
def test_what_is_not_clear_changes_nothing(value: str, said: str):
    assert with_changed_part(value, said) is None


@pytest.mark.parametrize(
    ("text", "new", "line", "after"),
    [
        ("i meant priya sharma, not shah", "priya sharma", "Priya Shah", "priya sharma"),
        ("we close in january instead of august", "january", "close in august", "close in january"),
        (
            "let's use Shell instead of Q8 for diesel",
            "Shell",
            "fuel only at Q8",
            "fuel only at Shell",
        ),
        ("go back to nginx, Caddy broke the sockets", "nginx", "Caddy", "nginx"),
        ("zurück zu Trados, memoQ stürzt ab", "Trados", "memoQ", "Trados"),
    ],
)
def test_a_change_that_names_what_it_ends(text: str, new: str, line: str, after: str):
    change = named_change(text)
    assert change is not None
    assert change.new == new
    assert with_named_value(line, change) == after
    assert with_named_value("nothing of it", change) is None


@pytest.mark.parametrize(
    "text", ["prices in euros please, kroner are no use to me", "I live in Ghent", "not today"]
)
def test_what_names_no_end(text: str):
    assert named_change(text) is None


def test_a_part_is_taken_out():
    value = "flatmate, allergic to nuts, plays chess"
    assert [without_part(value, number) for number in range(3)] == [
        "allergic to nuts, plays chess",
        "flatmate, plays chess",
        "flatmate, allergic to nuts",
    ]
    assert without_part("flatmate", 0) == ""


def test_the_longest_name_that_a_line_has_goes():
    change = NamedChange("Trados", ("memoQ crashes", "memoQ"))
    assert with_named_value("CAT tool: memoQ", change) == "CAT tool: Trados"
