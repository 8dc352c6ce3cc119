"""Which functions each test enters, as it is recorded, kept and read."""

import subprocess
import sys
from pathlib import Path

import kept_map
import pytest
from kept_map import ROOT, File, Map, Row

KEPT = Map(
    ["m.py:f", "m.py:g", "n.py:h"],
    {
        "test_a.py::all": Row(0.1, [0, 1, 2]),
        "test_a.py::cases[1]": Row(0.2, [0]),
        "test_a.py::cases[2]": Row(0.1, [0]),
        "test_b.py::g": Row(0.3, [1]),
        "test_b.py::h": Row(0.3, [2]),
    },
    {"test_a.py": File("a", 1), "test_b.py": File("b", 2)},
)


def test_tests_of_the_module_come_first():
    tests = {
        "tests/test_cli.py::one": Row(1, [0]),
        "tests/test_document_ends.py::two": Row(1, [0, 1]),
        "tests/test_document.py::three": Row(1, [0, 1, 2]),
    }
    kept = Map(["mdmem/text/document.py:parse", "m.py:g", "n.py:h"], tests)
    assert kept.entering({"mdmem/text/document.py:parse"}) == [
        "tests/test_document_ends.py::two",
        "tests/test_document.py::three",
        "tests/test_cli.py::one",
    ]


def test_tests_that_enter_few_functions_come_first_and_one_case_of_each():
    assert KEPT.entering({"m.py:f"}) == [
        "test_a.py::cases[2]",
        "test_a.py::all",
        "test_a.py::cases[1]",
    ]
    assert KEPT.entering({"m.py:g"}, {"n.py"}) == ["test_b.py::g", "test_a.py::all", "test_b.py::h"]
    assert KEPT.seconds() == pytest.approx({"test_a.py": 0.4, "test_b.py": 0.6})


def test_of_each_file_the_newest_recording_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept_map, "ROOT", tmp_path)
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).touch()
    newer = Map(["n.py:h"], {"test_b.py::new": Row(1, [0])}, {"test_b.py": File("c", 3)})
    path = tmp_path / "map"
    kept_map.write(kept_map.put_together([newer, KEPT]), path)
    whole = kept_map.read(path)
    assert whole.files == {"test_b.py": File("c", 3), "test_a.py": File("a", 1)}
    assert whole.entering({"n.py:h"}) == ["test_b.py::new", "test_a.py::all"]
    (tmp_path / "test_a.py").unlink()
    assert [*kept_map.read(path).tests] == ["test_b.py::new"]


def test_where_none_was_recorded_it_is_empty(tmp_path: Path):
    assert kept_map.read(tmp_path / "map") == Map()


@pytest.mark.costly
def test_functions_are_recorded_with_each_test_that_enters_them(tmp_path: Path):
    test = "tests/test_addresses.py"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--record={tmp_path / 'map'}", test],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    kept = kept_map.read(tmp_path / "map")
    entered = {kept.functions[number] for row in kept.tests.values() for number in row.functions}
    assert "mdmem/text/document.py:address_of" in entered
    assert kept.files[test].digest == kept_map.digest(ROOT / test)
