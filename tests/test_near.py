"""Which tests `make near` finds for a change."""

from pathlib import Path

import near
import pytest
from kept_map import File, Map, Row

OLD = """\
LIMIT = 3

class Forget:
    everywhere: bool

    def _names(self):
        return 1

def older(forget):
    return forget._names()

def unchanged():
    # counts
    return LIMIT
"""
MODULE = Path("mdmem/text/facts.py")


@pytest.mark.parametrize(
    ("before", "after", "functions", "classes", "is_outside"),
    [
        ("return 1", "return 2", {"Forget._names"}, set(), False),
        ("def older", "def old", {"older", "old"}, set(), False),
        ("everywhere: bool", "everywhere: int", set(), {"Forget"}, True),
        ("LIMIT = 3", "LIMIT = 4", set(), set(), True),
        ("    # counts\n", "\n\n", set(), set(), False),
        ("def unchanged", "@cached\ndef unchanged", {"unchanged"}, set(), False),
        ("def unchanged", "def new():\n    pass\n\n\ndef unchanged", {"new"}, set(), False),
        (OLD, "", {"Forget._names", "older", "unchanged"}, {"Forget"}, True),
    ],
)
def test_what_differs(
    before: str, after: str, functions: set[str], classes: set[str], is_outside: bool
):
    new = OLD.replace(before, after)
    assert near.difference(OLD.splitlines(), new.splitlines()) == near.Difference(
        functions, classes, is_outside
    )


def test_a_function_that_the_map_does_not_know_is_reached_by_its_callers_or_its_module():
    kept = Map(
        [f"{MODULE}:normalise", f"{MODULE}:plain_words", "mdmem/secrets.py:find"],
        {"test_b.py::b": Row(1, [0, 1]), "test_a.py::a": Row(1, [1]), "test_c.py::c": Row(1, [2])},
    )

    def found(name: str, is_outside: bool = False) -> list[str]:
        where = near.Difference({name}, set(), is_outside)
        return [test for test in near.by_map(kept, {MODULE: where}) if "::" in test]

    assert found("normalise") == ["test_b.py::b"]
    assert found("normalise", is_outside=True) == ["test_b.py::b", "test_a.py::a"]
    assert found("_fold") == ["test_a.py::a", "test_b.py::b"]
    assert near.callers(OLD.splitlines(), "Forget._names") == {"older"}


def test_what_the_map_does_not_know_is_left_to_imports():
    kept = Map([f"{MODULE}:normalise"])
    new, helper = Path("mdmem/text/new.py"), Path("tests/conftest.py")
    changed = [MODULE, new, helper, Path("tests/test_facts.py")]
    assert near.unknown(kept, changed) == [new, helper]


def test_test_files_that_are_not_as_recorded_come_first():
    name = f"tests/{Path(__file__).name}"
    stale = near.by_map(Map(files={name: File(near.kept_map.digest(Path(__file__)), 0)}), {})
    assert name not in stale
    assert "tests/test_facts.py" in stale


def test_what_has_run_does_not_run_again():
    kept = Map(tests={"a.py::one": Row(1, []), "a.py::two": Row(1, []), "b.py::three": Row(1, [])})
    assert near.beside(kept, ["b.py", "a.py", "c.py", "d.py"], ["a.py::one", "c.py"]) == [
        "b.py::three",
        "a.py::two",
        "d.py",
    ]


@pytest.mark.costly
def test_modules_that_are_loaded_by_name_lead_to_tests_of_theirs():
    _, imports = near.imports_of_modules()
    for module, test in [
        ("changes.verbs.log", "test_log"),
        ("cli.writing", "test_cli_writes"),
        ("queries.search", "test_search_time"),
        ("review.contradict", "test_contradict"),
    ]:
        assert test in near.steps_to({f"mdmem.{module}"}, imports), module


def test_tests_that_name_what_differs_come_first():
    assert near.names_any(Path("tests/test_changes.py"), {"Forget"})
    assert not near.names_any(Path("tests/test_launch.py"), {"Forget"})
