"""Words that are no command or option: the hint names the one that is meant, and none that reads
leads to one that takes something out.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest
from commandline import Shell
from test_docs import all_commands

from mdmem.cli import app, manual
from mdmem.cli.commands import COMMANDS, GROUPS

READING = [
    "get",
    "read",
    "cat",
    "view",
    "open",
    "list",
    "ls",
    "find",
    "query",
    "search-memory",
    "lookup",
    "print",
    "diff",
    "info",
]
OPTIONS = {
    option for _, command in all_commands() for option in app.parameter_names(command)[0]
} | {"--help", "--version"}
ARGUMENTS = {name for _, command in all_commands() for name in app.parameter_names(command)[1]}


@pytest.mark.parametrize("word", [*READING, "redacted-list", "forge", "reverse", "target"])
def test_a_word_that_reads_leads_to_nothing_that_takes_something_out(shell: Shell, word: str):
    assert (
        not re.search(r"mdmem (forget|revert|hooks uninstall)", shell.run(word).err.splitlines()[1])
        or word == "forge"
    )
    assert not any(name in manual.COMMAND_GUESSES.get(word, "") for name in manual.REMOVING)


def test_every_answer_is_there():
    answers = [
        *manual.COMMAND_GUESSES.values(),
        *(answer for table in manual.OF_GROUPS.values() for answer in table.values()),
    ]
    for answer in answers:
        for call in re.findall(r"mdmem ([a-z-]+(?: [a-z]+)?)", answer):
            first, _, second = call.partition(" ")
            assert first in {name.split()[0] for name in COMMANDS} or first.startswith("--"), answer
            assert first not in GROUPS or f"{first} {second}" in COMMANDS, answer
        assert set(re.findall(r"--[a-z-]+", answer)) <= OPTIONS | {"--install-completion"}, answer
    for meant in manual.OPTIONS.values():
        assert set(meant) <= OPTIONS | ARGUMENTS | {"-C", "-q"}
    assert not set(manual.COMMAND_GUESSES) & {name.split()[0] for name in COMMANDS}


class TestCommonOptions:
    def test_stand_before_and_behind(self, shell: Shell):
        expected = shell.run("task", "show", "--json").out
        for words in (
            ("--json", "task", "show"),
            ("task", "--json", "show"),
            ("-q", "task", "show", "--json", "-C", "."),
        ):
            assert shell.run(*words).out == expected


class TestHelp:
    def test_every_command_stands_under_one_heading(self):
        headings = {(name.split()[0], entry.heading) for name, entry in COMMANDS.items()}
        assert len(headings) == len({name.split()[0] for name in COMMANDS})

    @pytest.mark.usefixtures("commands_built_once")
    def test_every_example_is_a_call(self):
        for name, entry in COMMANDS.items():
            call = app.parse(shlex.split(entry.example.partition(" < ")[0])[1:])
            assert call is not None
            assert call.command == name

    def test_shows_no_type_of_python(self, shell: Shell):
        for name in COMMANDS:
            assert not re.search(r"<\w+>|\{[A-Z]", shell.run(*name.split(), "--help").out)

    @pytest.mark.parametrize("columns", [40, 80, 200])
    def test_is_not_wider_than_the_terminal(self, shell: Shell, columns: int):
        shell.patch.setenv("COLUMNS", str(columns))
        for words in ((), *(name.split() for name in COMMANDS)):
            lines = shell.run(*words, "--help").out.partition("\nExample:")[0].splitlines()
            assert max(map(len, lines)) <= min(columns, app.WIDEST)


class TestCompletion:
    def run(self, shell: Shell, command: str) -> str:
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        return shell.world.run(
            shell.folder, ["bash", "-c", f"{command}; true"], environment={"PATH": path}
        ).stdout

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("mdmem his", ["history"]),
            ("mdmem task s", ["start", "show"]),
            ("mdmem log --ki", ["--kind"]),
            ("mdmem log x --kind dec", ["decision"]),
            ("mdmem log x --source ", ["user-stated", "inferred", "auto"]),
        ],
    )
    def test_of_a_line(self, shell: Shell, line: str, expected: list[str]):
        number = line.count(" ")
        done = self.run(
            shell, f"COMP_WORDS='{line}' COMP_CWORD={number} _MDMEM_COMPLETE=complete_bash mdmem"
        )
        assert sorted(done.split()) == sorted(expected)

    def test_bash_takes_it(self, shell: Shell):
        lines = "COMP_WORDS=(mdmem facts --ki); COMP_CWORD=2; _mdmem_completion mdmem; echo ${COMPREPLY[@]}"
        assert self.run(shell, f'eval "$(mdmem --show-completion)"; {lines}') == "--kind\n"

    def test_is_installed(self, shell: Shell):
        assert "bash completion installed in" in self.run(shell, "mdmem --install-completion")
        assert (
            "_mdmem_completion" in (shell.world.home / ".bash_completions" / "mdmem.sh").read_text()
        )
        assert ".bash_completions/mdmem.sh" in (shell.world.home / ".bashrc").read_text()
