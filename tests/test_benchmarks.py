"""The benchmarks can be run: what they import and set is there."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_benchmark_loads(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(path.parent))
    assert runpy.run_path(str(path), run_name="benchmark")


_MODEL = """\
import sys
prompt = sys.stdin.read()
if prompt.startswith("Is the response right?"):
    right, said = (prompt.split(word)[1].splitlines()[0] for word in ("answer: ", "Response: "))
    print("Yes." if right in said else "No.")
else:
    print("In Bergen." if "to Bergen" in prompt else "I do not know.")
"""


@pytest.mark.parametrize("form", ["logs", "sessions"])
def test_answers_are_judged_beside_the_lines(tmp_path: Path, form: str):
    model = tmp_path / "model.py"
    model.write_text(_MODEL)
    if form == "logs":
        data = tmp_path / "data"
        (data / "c/memory").mkdir(parents=True)
        (data / "c/memory/2026-03-05.md").write_text(
            "# 2026-03-05\n\n- User: I moved to Bergen\n- User: I sail\n"
        )
        questions = [
            {
                "conversation": "c",
                "category": kind,
                "question": question,
                "answer": answer,
                "evidence_lines": [["memory/2026-03-05.md", line]],
            }
            for kind, question, answer, line in (
                ("home", "Where did I move to?", "Bergen", 3),
                ("other", "What do I eat?", "fish", 4),
            )
        ]
        (data / "queries.jsonl").write_text("\n".join(map(json.dumps, questions)))
    else:
        data = tmp_path / "data.json"
        turns = [{"role": "user", "content": "I moved\nto Bergen"}]
        row = {"question_type": "home", "question": "Where did I move to?", "answer": "Bergen"}
        row |= {"haystack_dates": ["2026/03/05 (Thu) 09:30"], "haystack_sessions": [turns]}
        data.write_text(json.dumps([row | {"question_date": "2026/03/09"}]))
    benchmark = BENCHMARKS[0].with_name("answers.py")
    command = f"{sys.executable} {model}"
    done = subprocess.run(
        [sys.executable, str(benchmark), "--data", str(data), "--model-command", command],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}
    assert rows["home"][:2] == ["1", "100.0"]
    if form == "logs":
        assert rows["home"][3] == "100.0"
        assert (rows["all"][:2], rows["other"][1]) == (["2", "50.0"], "0.0")
