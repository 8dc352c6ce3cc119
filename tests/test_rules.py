"""The rules of a verb stand with its arguments, so that every door has the same."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mdmem.model import writes
from mdmem.model.errors import UsageProblem
from mdmem.model.history import ShowBlame, ShowHistory
from mdmem.model.reads import Initialise, Show, ShowFigures
from mdmem.model.searches import Search
from mdmem.model.writes import Action, EditSection, Log, Purge, Remember, Save, WriteOptions
from mdmem.startup.records import replace

NOT_ALLOWED = "invalid value for allow: 'everything' (choose from append, secret, shrink)"
EVERYTHING = frozenset({"everything"})
PLACING = "create and after go with body, append and prepend"
PREAMBLE = (
    "the text before the first heading can be replaced, appended to and prepended to, nothing else"
)
ONE_ACTION = "give exactly one of body, append, prepend, replace, rename, delete"

TRAILER = "{} has a line that begins with Mdmem-, which is reserved for mdmem's commits"
TRAILERS = ("Mdmem-Op: log", "why\n\n  Mdmem-Source: user-stated")
REASONED: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (WriteOptions, {}),
    (Purge, {"fact": "x"}),
]

REFUSED: list[tuple[Callable[..., Any], Mapping[str, Any], str]] = [
    (WriteOptions, {"confidence": 1.5}, "confidence must be between 0 and 1, not 1.5"),
    (WriteOptions, {"confidence": -0.1}, "confidence must be between 0 and 1, not -0.1"),
    (WriteOptions, {"confidence": float("nan")}, "confidence must be between 0 and 1, not nan"),
    (WriteOptions, {"allow": EVERYTHING}, NOT_ALLOWED),
    *(
        (make, {**needed, "reason": text}, TRAILER.format("reason"))
        for make, needed in REASONED
        for text in TRAILERS
    ),
    *((Save, {"message": text}, TRAILER.format("message")) for text in TRAILERS),
    (Purge, {"fact": "x", "allow": EVERYTHING}, NOT_ALLOWED),
    (Save, {"allow": EVERYTHING}, NOT_ALLOWED),
    (
        Initialise,
        {"agents": "a.md", "no_agents": "a.md"},
        "agents and no_agents exclude each other",
    ),
    (EditSection.of, {"section": "A"}, ONE_ACTION),
    (EditSection.of, {"section": "A", "body": "x", "append": "x"}, ONE_ACTION),
    (EditSection.of, {"section": "A", "body": "", "delete": True}, ONE_ACTION),
    (EditSection.of, {"body": "x"}, "name a section, or give preamble"),
    (
        EditSection.of,
        {"section": "A", "preamble": True, "body": "x"},
        "name a section, or give preamble",
    ),
    (EditSection.of, {"section": "A", "replace": "x"}, "replace and replacement go together"),
    (EditSection.of, {"section": "A", "replacement": "x"}, "replace and replacement go together"),
    (
        EditSection.of,
        {"section": "A", "body": "x", "replacement": "x"},
        "replace and replacement go together",
    ),
    (
        EditSection.of,
        {"section": "A", "replace": "", "replacement": "x"},
        "the text to find is empty",
    ),
    (EditSection.of, {"section": "A", "rename": "B", "create": True}, PLACING),
    (EditSection.of, {"section": "A", "delete": True, "after": "B"}, PLACING),
    (EditSection.of, {"section": "A", "replace": "x", "replacement": "y", "create": True}, PLACING),
    (EditSection.of, {"preamble": True, "rename": "B"}, PREAMBLE),
    (EditSection.of, {"preamble": True, "delete": True}, PREAMBLE),
    (EditSection.of, {"preamble": True, "body": "x", "subtree": True}, PREAMBLE),
    (EditSection.of, {"preamble": True, "body": "x", "after": "B"}, PREAMBLE),
    (EditSection, {"section": "A", "action": Action.REPLACE}, "the text to find is empty"),
    (EditSection, {"section": None, "action": Action.DELETE}, PREAMBLE),
    *(
        (Log, {"text": "x", "time": time}, f"time: {time!r} is not a time")
        for time in ("9:30", "24:00", "12:60", "noon", "12:00\n", "")
    ),
    (Log, {"text": "x", "day": "2026-02-30"}, "day: '2026-02-30' is not a date"),
    (Remember, {"text": "x", "until": "2026-02-30"}, "until: '2026-02-30' is not a date"),
    (Search, {"query": "x", "limit": 0}, "limit must be between 1 and 1000, not 0"),
    (Search, {"query": "x", "limit": 1001}, "limit must be between 1 and 1000, not 1001"),
    (
        Search,
        {"query": "x", "min_confidence": 1.1},
        "min_confidence must be between 0 and 1, not 1.1",
    ),
    (Search, {"query": "x", "recent_days": 0}, "recent_days must be between 1 and 100000, not 0"),
    (
        Search,
        {"query": "x", "history": True, "as_of": "2026-01-01"},
        "history and as_of exclude each other",
    ),
    (ShowHistory, {"limit": 0}, "limit must be between 1 and 10000, not 0"),
    (
        ShowHistory,
        {"target": "A", "preamble": True},
        "history takes a section or a fact, or preamble",
    ),
    (ShowBlame, {}, "name a section or a file, or give preamble"),
    (ShowBlame, {"section": "A", "preamble": True}, "name a section or a file, or give preamble"),
    (Show, {"section": "A", "preamble": True}, "show takes a section or preamble"),
    (ShowFigures, {"weeks": 0}, "weeks must be between 1 and 520, not 0"),
    (ShowFigures, {"weeks": 521}, "weeks must be between 1 and 520, not 521"),
]


def _case_name(value: object) -> str:
    """A name that is the same in every process: a set is shown in order."""
    if isinstance(value, dict):
        return str(
            {
                name: sorted(item) if isinstance(item, frozenset) else item
                for name, item in value.items()
            }
        )
    return str(getattr(value, "__qualname__", value))


def test_an_hour_of_one_digit_is_written_out():
    with pytest.raises(UsageProblem) as failure:
        Log("x", time="9:05")
    assert failure.value.hint == "Write it as 09:05."


@pytest.mark.parametrize(("make", "arguments", "message"), REFUSED, ids=_case_name)
def test_refused(make: Callable[..., Any], arguments: Mapping[str, Any], message: str):
    with pytest.raises(UsageProblem) as failure:
        make(**arguments)
    assert str(failure.value) == message


TAKEN: list[tuple[Callable[..., Any], Mapping[str, Any]]] = [
    *((WriteOptions, {"confidence": value}) for value in (None, 0, 0.5, 1)),
    *((WriteOptions, {"reason": text}) for text in ("of Mdmem-Op: log", "mdmem-op: log", "Mdmem")),
    (WriteOptions, {"allow": frozenset({"append", "secret", "shrink"})}),
    *(
        (Log, {"text": "x", "time": time, "day": "2026-02-28"})
        for time in ("00:00", "09:30", "23:59")
    ),
    (Remember, {"text": "x", "until": "2026-02-28"}),
    (
        Search,
        {"query": "x", "limit": 1, "min_confidence": 0, "recent_days": 1, "as_of": "yesterday"},
    ),
    (
        Search,
        {"query": "x", "limit": 1000, "min_confidence": 1, "recent_days": 100_000, "history": True},
    ),
    (ShowHistory, {"limit": 10_000, "preamble": True}),
    (ShowFigures, {"weeks": 520}),
    (ShowBlame, {"preamble": True}),
]


@pytest.mark.parametrize(("make", "arguments"), TAKEN, ids=_case_name)
def test_taken(make: Callable[..., Any], arguments: Mapping[str, Any]):
    assert make(**arguments)


@pytest.mark.parametrize(
    ("arguments", "action", "text", "replacement"),
    [
        ({"body": "x"}, Action.BODY, "x", ""),
        ({"body": ""}, Action.BODY, "", ""),
        ({"append": "x"}, Action.APPEND, "x", ""),
        ({"prepend": "x"}, Action.PREPEND, "x", ""),
        ({"replace": "x", "replacement": ""}, Action.REPLACE, "x", ""),
        ({"replace": "x", "replacement": "y"}, Action.REPLACE, "x", "y"),
        ({"rename": "x"}, Action.RENAME, "x", ""),
        ({"delete": True}, Action.DELETE, "", ""),
    ],
)
def test_an_edit_of_a_door_that_has_an_argument_for_each_action(
    arguments: Mapping[str, Any], action: Action, text: str, replacement: str
):
    assert EditSection.of("A", **arguments) == EditSection("A", action, text, replacement)


def test_a_place_is_for_a_section_that_is_made():
    assert EditSection.of("A", body="x", after="B").create


def test_the_rules_hold_for_a_changed_copy_too():
    with pytest.raises(UsageProblem):
        replace(Search("x"), limit=0)


def test_the_environment_is_read_at_the_doors():
    """Below them it comes as an argument. What git itself needs is read by `repo`, how records are
    made by `startup`, and `warm` hands it on.
    """
    package = Path(writes.__file__).parent.parent
    doors = (
        "__main__.py",
        "agenthooks.py",
        "cli",
        "folder/budget.py",  # where the user's record is: each parsing of a file asks for it
        "githooks",
        "githooks/mergedriver.py",
        "library.py",
        "repo",
        "startup",
        "warm",
    )
    below = [
        path
        for path in package.rglob("*.py")
        if not any(path.is_relative_to(package / door) for door in doors)
    ]
    reads = re.compile(r"\bos\.(?:environb?|getenvb?)\b|\bfrom os import\b")
    assert [str(path) for path in below if reads.search(path.read_text(encoding="utf-8"))] == []
