"""Tests that run in several processes, and what is printed of them."""

from pathlib import Path

import parts
import pytest


def test_parts_take_about_as_long_as_each_other():
    names = ["test_facts.py", "test_near.py", "test_locks.py", "test_log.py"]
    files = [f"tests/{name}" for name in names]
    seconds = dict(zip(files, [8.0, 3.0, 4.0, 2.0], strict=True))
    assert parts.divided(files, seconds, 2) == [[files[0]], sorted(files[1:])]
    assert len(parts.divided(files, {}, 9)) == len(files)


@pytest.mark.costly
def test_outcomes_are_put_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, result in (("a", "1"), ("b", "0")):
        text = f"import pytest\n\ndef test_{name}():\n    assert {result}\n\ndef test_other():\n    pytest.skip('why')\n"
        (tmp_path / f"test_{name}.py").write_text(text)
    outcome = parts.run([[str(tmp_path / f"test_{name}.py")] for name in "ab"])
    printed = capsys.readouterr().out
    assert outcome.status == 1
    assert outcome.ran == 4
    assert printed.count("short test summary info") == 1
    assert "assert 0" in printed
    assert "1 failed, 1 passed, 2 skipped in" in printed.splitlines()[-1]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("options", "status"), [(["-m", "slow"], parts.NONE_COLLECTED), (["--unknown"], 4)]
)
def test_where_no_test_runs_it_fails(options: list[str], status: int):
    assert parts.main([*options, "tests/test_locks.py"]) == status
