"""Words that are no command or option: the hint names the one that is meant, and none that reads
leads to one that takes something out.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest
from commandline import Shell

from mdmem.cli import app, guesses
from mdmem.cli.commands import COMMANDS, PLUMBING
from mdmem.cli.fast_parser import COMMON
from mdmem.cli.parameter_table import TABLE
from mdmem.model.errors import LISTED

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


@pytest.mark.parametrize("word", [*READING, "redacted-list", "forge", "reverse", "target"])
def test_a_word_that_reads_leads_to_nothing_that_takes_something_out(shell: Shell, word: str):
    hint = shell.run(word).err.splitlines()[1]
    assert not re.search(r"mdmem (forget|revert|hooks uninstall)", hint) or word == "forge"


@pytest.mark.usefixtures("commands_built_once")
@pytest.mark.parametrize("words", [(), ("one",), ("one", "two words", "- three")], ids=len)
def test_every_answer_can_be_typed(words: tuple[str, ...]):
    """A call of the table, with any words behind it, is a call, or the help of one."""
    for word in guesses._CALLS.keys() - COMMANDS.keys():
        hint = guesses.meant_command([word, *words])
        call = shlex.split(hint.removeprefix("Did you mean: "))
        assert call[0] == "mdmem", hint
        if "--install-completion" not in call:
            app.parse(call[1:])  # it would raise


def test_every_option_that_is_meant_is_there():
    fields = {row[0] for rows in TABLE.values() for row in rows if not row[1]}
    flags = {flag for rows in TABLE.values() for row in (*rows, *COMMON) for flag in row[1]}
    assert {each for meant in guesses._CANDIDATES.values() for each in meant} <= flags | fields


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["search", "tea", "--limit", "3", "--tags=a"], "search tea -n 3 --tag a"),
        (["changes", "--query", "tea"], "search tea"),
        (["history", "Work", "--since", "monday", "-p"], "changes --since monday"),
        (["log", "--since", "yesterday", "--oneline"], "changes --since yesterday"),
        (["status", "--verbosity", "3"], None),
        (["recall", "ops"], "search ops"),
        (["changes", "last", "week"], "changes --since 'last week'"),
        (["conflicts", "--resolve", "a"], "conflicts --help"),
        (["conflicts", "--contrdict", "--resolve", "a", "b"], None),
        (["show", "a", "--kind", "x"], "search a --kind x"),
        (["log", "x" * 400, "y"], "log --help"),
    ],
)
def test_words_of_a_call_stay_where_another_takes_them(typed: list[str], meant: str | None):
    hint = guesses.meant_call(f"mdmem {typed[0]}", typed[1:])
    assert hint == (f"Did you mean: mdmem {meant}" if meant else f"See mdmem {typed[0]} --help")


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
    def test_lists_a_screen_of_commands(self, shell: Shell):
        listed = re.findall(
            r"^  ([a-z][a-z-]+) ", shell.run("--help").out.partition("Begin:")[2], re.M
        )
        names = {
            name.split()[0]
            for name, entry in COMMANDS.items()
            if name not in LISTED and entry.heading != PLUMBING
        }
        assert sorted(listed) == sorted(names)
        assert len(listed) <= 31

    def test_plumbing_is_a_page(self, shell: Shell):
        page = shell.run("help", "plumbing").out
        plumbing = {
            name.split()[0] for name, entry in COMMANDS.items() if entry.heading == PLUMBING
        }
        assert {name for name in plumbing if f"`mdmem {name}" not in page} == set()

    def test_options_for_agents_stand_apart(self, shell: Shell):
        options, _, agents = shell.run("log", "--help").out.partition("Options for agents:")
        flags = ("--source", "--confidence", "--actor", "--session", "--allow")
        assert all(flag in agents and flag not in options for flag in flags)
        assert "--actor" in shell.run("search", "--help").out.partition("Options for agents:")[0]

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


def test_an_option_that_no_command_has_ends_in_a_hint():
    for command in TABLE:
        hint = guesses.meant_call(f"mdmem {command}", ["--zyx", "one", "two"])
        assert hint.startswith(("See mdmem ", "Did you mean: mdmem "))
