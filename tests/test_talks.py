"""Prompts with the talk before them, over two made workspaces (`data/talks`): in full, follow-ups,
and those that need no memory. The rules were tuned on the sailor's alone.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
import session_files
from commandline import Shell
from commandline import shell as shell

from mdmem import agenthooks

TALKS = Path(__file__).parent / "data" / "talks"
LEAST = {
    "sailor": {"full": 18, "follow-up": 10, "none": 28},
    "beekeeper": {"full": 20, "follow-up": 12, "none": 27},
}
"""Of 20 in full and 12 follow-ups, blocks with the right line; of 28 others, those without one."""


@pytest.mark.costly
@pytest.mark.parametrize("name", LEAST)
def test_blocks_for_prompts_in_a_talk(shell: Shell, tmp_path: Path, name: str):
    shell.patch.setenv("MDMEM_NOW", "2026-03-17T10:00:00+00:00")
    shell.git("rm", "-rqf", ".")
    for path in (TALKS / name).rglob("*.md"):
        shell.write(str(path.relative_to(TALKS / name)), path.read_text(encoding="utf-8"))
    shell.git("add", "-A")
    shell.git("commit", "-qm", "memory")
    shell.run("reindex")
    right: Counter[str] = Counter()
    rows = (TALKS / name / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    for number, row in enumerate(map(json.loads, rows)):
        transcript = session_files.claude(tmp_path, *row["before"], session=f"session-{number}")
        event = agenthooks.HookEvent(
            name="UserPromptSubmit",
            session=f"session-{number}",
            folder=str(shell.folder),
            prompt=row["prompt"],
            transcript=str(transcript),
        )
        answer = agenthooks.answer(event, os.environ)
        block = json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""
        right[row["sort"]] += row["line"] in block if "line" in row else not block
    assert right >= Counter(LEAST[name])
