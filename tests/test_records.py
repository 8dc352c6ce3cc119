"""Records beside the standard library's dataclasses: the same words make the same thing."""

import copy
import dataclasses
import importlib
import inspect
import os
import pkgutil
import pydoc
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdmem
from mdmem.model.errors import PackageProblem
from mdmem.startup import records

pytestmark = pytest.mark.skipif(
    os.environ.get("MDMEM_RECORDS") == "dataclasses",
    reason="the standard library's dataclasses are in use",
)

STANDARD: Mapping[str, Callable[..., Any]] = vars(dataclasses)
OWN: Mapping[str, Callable[..., Any]] = vars(records)
HOW = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "eq": False},
]


def point(words: Mapping[str, Callable[..., Any]], how: dict[str, bool]) -> Any:
    class Point:
        x: int
        y: int = 2
        tags: list[str] = words["field"](default_factory=list)
        note: str = words["field"](default="", compare=False)

        def total(self) -> int:
            return self.x + self.y

    return words["dataclass"](**how)(Point)


def shown(make: Callable[[], Any]) -> str:
    """The repr of a value, or the error of making it."""
    try:
        return repr(make())
    except (TypeError, AttributeError) as problem:
        return type(problem).__name__


@pytest.mark.parametrize("before", [0, 200], ids=["few", "many"])
@pytest.mark.parametrize("how", HOW)
@given(
    values=st.lists(st.integers(0, 2), max_size=5),
    named=st.dictionaries(
        st.sampled_from(["x", "y", "tags", "note", "z"]), st.integers(0, 2), max_size=5
    ),
)
def test_the_same_words_make_the_same_thing(
    how: dict[str, bool], before: int, values: list[int], named: dict[str, int]
):
    standard, own = point(STANDARD, how), point(OWN, how)
    for _ in range(before):
        own(1)
    assert shown(lambda: own(*values, **named)) == shown(lambda: standard(*values, **named))


@pytest.mark.parametrize("how", HOW)
@given(first=st.tuples(*[st.integers(0, 1)] * 4), second=st.tuples(*[st.integers(0, 1)] * 4))
def test_what_is_equal_there_is_equal_here(
    how: dict[str, bool], first: tuple[int, ...], second: tuple[int, ...]
):
    standard, own = point(STANDARD, how), point(OWN, how)
    assert (own(*first) == own(*second)) == (standard(*first) == standard(*second))
    assert own(*first) != standard(*first)
    for words in (standard, own):
        this, that = words(*first), words(*second)
        same = shown(lambda this=this, that=that: hash(this) == hash(that))
        assert same == ("TypeError" if how in HOW[:3:2] else str(this == that))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", ["x", "other"])
def test_what_is_frozen_there_is_frozen_here(how: dict[str, bool], name: str):
    def changed(words: Mapping[str, Callable[..., Any]], change: Callable[[Any], None]) -> str:
        made = point(words, how)(1)
        try:
            change(made)
        except (
            AttributeError,
            TypeError,
            # a frozen one of the library's with slots says TypeError of a name it has not
        ) as problem:
            return "refused" if how.get("slots") and name == "other" else type(problem).__name__
        return repr(getattr(made, name, None))

    for change in (lambda made: setattr(made, name, 5), lambda made: delattr(made, name)):
        assert changed(OWN, change) == changed(STANDARD, change)


@pytest.mark.parametrize("how", HOW)
def test_the_standard_library_takes_it_for_its_own(how: dict[str, bool]):
    own = point(OWN, how)
    made = own(1, tags=["a"])
    assert dataclasses.is_dataclass(own)
    assert [(field.name, field.type, field.compare) for field in dataclasses.fields(own)] == [
        (field.name, field.type, field.compare)
        for field in dataclasses.fields(point(STANDARD, how))
    ]
    assert (
        dataclasses.asdict(made)
        == records.asdict(made)
        == {"x": 1, "y": 2, "tags": ["a"], "note": ""}
    )
    assert (
        repr(dataclasses.replace(made, y=3))
        == repr(records.replace(made, y=3))
        == repr(own(1, 3, ["a"]))
    )
    assert repr(copy.deepcopy(made)) == repr(made)
    assert made.total() == 3
    assert records.replace(made, x=2).tags is made.tags
    match made:
        case own(x, y):
            assert (x, y) == (1, 2)
    with pytest.raises(TypeError):
        records.replace(made, z=1)


def test_each_has_a_list_of_its_own():
    own = point(OWN, {})
    for _ in range(200):
        own(1).tags.append("a")
        assert own(1).tags == []


@pytest.mark.parametrize(
    ("bases", "space", "kind"),
    [
        ((point(OWN, {}),), {}, TypeError),
        ((), {"__hash__": object.__hash__}, TypeError),
        ((), {"__eq__": object.__eq__}, TypeError),
        ((), {"__repr__": object.__repr__}, TypeError),
        ((), {"__annotations__": {"x": "list[int]"}, "x": []}, ValueError),
    ],
)
def test_what_would_not_be_as_there_is_refused(
    bases: tuple[type, ...], space: dict[str, Any], kind: type[Exception]
):
    with pytest.raises(kind, match="Thing "):
        records.dataclass(type("Thing", bases, space))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda own: own(), "needs 'x'"),
        (lambda own: own(1, x=1), "got 'x' twice"),
        (lambda own: own(1, why=2), "has no field 'why'"),
        (lambda own: own(*range(9)), "takes 4 values, but 9 were given"),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[Any], Any], message: str):
    own = point(OWN, HOW[3])
    with pytest.raises(TypeError) as problem:
        make(own)
    assert str(problem.value) == f"{own.__qualname__} {message}"
    for _ in range(200):
        own(1)
    with pytest.raises(TypeError) as problem:
        make(own)
    assert str(problem.value).startswith(f"{own.__qualname__}.__init__() ")


@pytest.mark.parametrize("before", [0, 200], ids=["few", "many"])
def test_post_init_runs_when_all_fields_are_set(before: int):
    @records.dataclass(frozen=True, slots=True)
    class Span:
        start: int
        end: int = 9

        def __post_init__(self) -> None:
            if self.end < self.start:
                raise ValueError(f"{self.start} to {self.end}")

    for _ in range(before):
        Span(1)
    assert Span(start=2).end == 9
    with pytest.raises(ValueError, match="3 to 1"):
        Span(3, end=1)


def test_signature_and_help_list_the_fields():
    own, standard = point(OWN, HOW[3]), point(STANDARD, HOW[3])
    mine, theirs = inspect.signature(own), inspect.signature(standard)
    assert [
        (parameter.name, parameter.kind, parameter.annotation)
        for parameter in mine.parameters.values()
    ] == [
        (parameter.name, parameter.kind, parameter.annotation)
        for parameter in theirs.parameters.values()
    ]
    assert mine.parameters["y"].default == 2
    assert "(x: int, y: int = 2," in pydoc.render_doc(own, renderer=pydoc.plaintext)


def test_the_switch_gives_the_standard_library_s(monkeypatch: pytest.MonkeyPatch):
    code = "import dataclasses; from mdmem.startup import records; print(records.dataclass is dataclasses.dataclass)"
    for value, answer in (("dataclasses", "True\n"), ("", "False\n")):
        monkeypatch.setenv("MDMEM_RECORDS", value)
        assert (
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
            == answer
        )


@pytest.mark.costly
def test_no_module_makes_dataclasses_of_the_standard_librarys():
    for info in pkgutil.walk_packages(mdmem.__path__, "mdmem."):
        if not info.name.startswith(("mdmem.hooks", "mdmem.templates", "mdmem.__main__")):
            try:
                module = importlib.import_module(info.name)
            except PackageProblem:  # of an extra that is not installed
                continue
            made = [
                each
                for each in vars(module).values()
                if isinstance(each, type) and each.__module__ == info.name
            ]
            assert not [each for each in made if "__dataclass_params__" in vars(each)], info.name
