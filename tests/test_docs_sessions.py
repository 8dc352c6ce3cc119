"""The shell sessions in the documentation print what stands there."""

import difflib
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from command_table import ROWS
from conftest import World
from test_docs import script

from mdmem.cli import main

merges = script("merges")
transcripts = script("transcripts")
OF_THE_SHELL = re.compile(r"[|&;<>()$`*?~#\n]")


@pytest.fixture
def printed_here(
    world: World, monkeypatch: pytest.MonkeyPatch, commands_built_once: None
) -> Callable[[str, Any], str]:
    """Runs commands of mdmem in this process, and all others by the shell."""

    def printed(command: str, session: Any) -> str:
        calls = command.split(" && ")
        if any(not call.startswith("mdmem ") or OF_THE_SHELL.search(call) for call in calls):
            return transcripts.printed_by_shell(command, session)
        environment = transcripts.sealed(session.home, session.now)
        with monkeypatch.context() as patch:
            for name in os.environ.keys() - environment:
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(platform, "node", lambda: "ada")
            patch.chdir(session.folder)
            patch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))
            output = TextIOWrapper(BytesIO(), "utf-8", write_through=True)
            with redirect_stdout(output), redirect_stderr(output):
                any(main(shlex.split(call)[1:]) for call in calls)  # up to the first that fails
            return output.buffer.getvalue().decode()

    return printed


@pytest.mark.parametrize("page", transcripts.PAGES, ids=lambda path: path.name)
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_is_what_is_printed(
    tmp_path: Path, printed_here: Callable[[str, Any], str], page: Path, is_whole: bool
):
    """As a whole, each command is a process, as for a user."""
    written = page.read_text(encoding="utf-8")
    way = transcripts.printed_by_shell if is_whole else printed_here
    printed = transcripts.replayed(written, tmp_path / "ada", way)
    assert "sh-session" in written
    assert (
        "\n".join(
            difflib.unified_diff(written.splitlines(), printed.splitlines(), lineterm="", n=2)
        )
        == ""
    ), "run make docs"


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_tour_can_be_repeated_where_git_knows_nobody(
    printed_here: Callable[[str, Any], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_whole: bool,
):
    monkeypatch.setattr(transcripts, "_GIT_SETTINGS", "[init]\n\tdefaultBranch = main\n")
    written = transcripts.PAGES[1].read_text(encoding="utf-8")
    if not is_whole:  # up to the end of the session behind the last commit
        before, commit, after = written.rpartition("git commit -q")
        written = before + commit + "```\n".join(after.split("```\n", 3)[:3]) + "```\n"
        assert "sh-session" in after
        assert written.endswith("```\n")
    way = transcripts.printed_by_shell if is_whole else printed_here
    printed = transcripts.replayed(written, tmp_path / "ada", way)
    assert printed.count("Please tell me who you are") == written.count("git commit -q")
    failures = [
        [
            line
            for line in page.splitlines()
            if line.startswith(("mdmem: no ", "mdmem: there is no"))
        ]
        for page in (printed, written)
    ]
    assert failures[0] == failures[1]


def test_the_answer_of_each_command_is_recorded_as_json():
    calls = [
        call.split("mdmem ", 1)[1]
        for page in (transcripts.ROOT / "tests/data/answers").glob("*.md")
        for call in transcripts.commands(page.read_text(encoding="utf-8"))
        if call.startswith("mdmem ") and "--json" in call
    ]
    recorded = {name for name in ROWS for call in calls if re.match(rf"(-C \w+ )?{name}\b", call)}
    assert ROWS.keys() - recorded == {
        *("mcp", "memory-tool", "agent-hook", "merge-driver"),  # they have answers of their own
        *("page", "plugin"),
    }


def test_none_shows_a_fault_of_the_program():
    texts = {page.name: page.read_text(encoding="utf-8") for page in transcripts.PAGES}
    assert [name for name, text in texts.items() if "Traceback (most recent" in text] == []


def test_the_first_screen_of_the_readme_has_one():
    first = "\n".join(transcripts.PAGES[0].read_text(encoding="utf-8").splitlines()[:40])
    assert "```sh-session\n$ mdmem setup --yes\n" in first


def test_the_commands_by_hand_run_behind_the_first_screen_without_a_warning(
    printed_here: Callable[[str, Any], str], tmp_path: Path
):
    page = transcripts.PAGES[0].read_text(encoding="utf-8")
    by_hand = page.split("## By hand")[1].split("##")[0]
    typed = re.findall(r"^    (mdmem .*?)   ", by_hand, re.MULTILINE)
    assert len(typed) == 5
    block = "".join(f"$ {command}\n" for command in typed)
    printed = transcripts.replayed(
        f"{page}\n```sh-session\n{block}```\n", tmp_path / "ada", printed_here
    )
    behind = printed.removeprefix(page.rstrip("\n"))
    assert re.findall(r"^(?:mdmem|hint|warning): .*", behind, re.MULTILINE) == []
    assert "\n    editor: Helix\n" in behind


def test_an_output_that_is_not_so_is_noticed(world: World, tmp_path: Path):
    page = "```sh-session\n$ echo one\ntwo\n```\n"
    assert transcripts.replayed(page, tmp_path / "ada") == "```sh-session\n$ echo one\none\n```\n"


def test_a_day_and_a_folder_hold_until_they_are_changed(world: World, tmp_path: Path):
    page = "```sh-session\n$ mkdir there\n$ cd there\n$ # 2026-04-01\n```\n\n```sh-session\n$ pwd && echo $MDMEM_NOW\n```\n"
    printed = transcripts.replayed(page, tmp_path / "ada")
    assert printed == page.replace(
        "MDMEM_NOW\n", "MDMEM_NOW\n/home/ada/notes/there\n2026-04-01T09:30:00+00:00\n"
    )


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("$ a\nprinted\n$ b\n", ["a", "b"]),
        ("$ a \\\n  b\nprinted\n", ["a \\\n  b"]),
        ("$ cat <<'END'\none\nEND\none\n", ["cat <<'END'\none\nEND"]),
        ("no command\n", []),
    ],
)
def test_commands(block: str, expected: list[str]):
    assert transcripts.commands(block) == expected


class TestExamplesOfMerges:
    def test_they_are_current_in_both_directions(self):
        written = merges.PAGE.read_text(encoding="utf-8")
        assert merges.replayed(written) == written
        examples = list(merges.examples(written))
        assert len(examples) == written.count("```markdown merged") >= 7
        assert all(
            merges.merged_text(base, other, ours) == merged
            for base, ours, other, merged in examples
        )

    def test_git_makes_of_them_what_the_page_says(self, world: World, tmp_path: Path):
        command = [
            sys.executable,
            "-P",
            "-m",
            "mdmem",
            "merge-driver",
            "base",
            "ours",
            "theirs",
            "MEMORY.md",
        ]
        for base, ours, other, merged in merges.examples(merges.PAGE.read_text(encoding="utf-8")):
            for name, text in (("base", base), ("ours", ours), ("theirs", other)):
                (tmp_path / name).write_text(text, encoding="utf-8")
            world.run(tmp_path, command)
            assert (tmp_path / "ours").read_text(encoding="utf-8") == merged
