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

from mdmem.cli import app, guesses
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


@pytest.mark.parametrize(
    ("word", "named"),
    [
        *[(word, "show") for word in ("get", "read", "cat", "view")],
        *[(word, "search") for word in ("find", "query")],
        *[(word, name) for word in ("add", "write") for name in ("log", "remember")],
        *[
            ("append", "edit-section SECTION --append"),
            ("rename", "edit-section SECTION --rename"),
            ("inject", "context"),
        ],
        *[("today", "show today"), ("yesterday", "show yesterday"), ("timeline", "changes")],
        *[
            ("list", "facts"),
            ("delete", "forget"),
            ("remove", "forget"),
            ("undo", "revert"),
            ("commit", "save"),
        ],
        *[
            ("update", "remember TEXT --key"),
            ("set", "remember TEXT --key"),
            ("diff", "history -p"),
            ("edit_section", "edit-section"),
        ],
        *[
            ("add-fact", "log"),
            ("list_facts", "facts"),
            ("delete-fact", "forget"),
            ("search_memory", "search"),
            ("get-section", "show"),
        ],
        *[("serach", "search"), ("forgte", "forget"), ("Search", "search")],
    ],
)
def test_commands(shell: Shell, word: str, named: str):
    done = shell.run(word, "x")
    assert (done.status, done.out) == (2, "")
    assert f"mdmem {named}" in done.err.splitlines()[1]


@pytest.mark.parametrize("word", [*READING, "redacted-list", "forge", "reverse", "target"])
def test_a_word_that_reads_leads_to_nothing_that_takes_something_out(shell: Shell, word: str):
    assert (
        not re.search(r"mdmem (forget|revert|hooks uninstall)", shell.run(word).err.splitlines()[1])
        or word == "forge"
    )
    assert not any(name in guesses.COMMANDS.get(word, "") for name in guesses.REMOVING)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("push", "Use mdmem sync; git push and git pull work too."),
        ("pull", "Use mdmem sync; git push and git pull work too."),
        ("login", "No account is needed: memory stays on this machine."),
        ("zorro", "All commands: mdmem --help"),
    ],
)
def test_a_word_that_no_command_is_meant_by(shell: Shell, word: str, hint: str):
    assert shell.run(word).err == f"mdmem: no such command '{word}'\nhint: {hint}\n"


def test_a_second_word(shell: Shell):
    assert "mdmem task show" in shell.run("task", "list").err
    assert "mdmem task start" in shell.run("task", "create", "x").err
    assert "mdmem hooks status" in shell.run("hooks", "list").err


def test_every_answer_is_there():
    answers = [
        *guesses.COMMANDS.values(),
        *(answer for table in guesses.OF_GROUPS.values() for answer in table.values()),
    ]
    for answer in answers:
        for call in re.findall(r"mdmem ([a-z-]+(?: [a-z]+)?)", answer):
            first, _, second = call.partition(" ")
            assert first in {name.split()[0] for name in COMMANDS} or first.startswith("--"), answer
            assert first not in GROUPS or f"{first} {second}" in COMMANDS, answer
        assert set(re.findall(r"--[a-z-]+", answer)) <= OPTIONS | {"--install-completion"}, answer
    for meant in guesses.OPTIONS.values():
        assert set(meant) <= OPTIONS | ARGUMENTS | {"-C", "-q"}
    assert not set(guesses.COMMANDS) & {name.split()[0] for name in COMMANDS}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("show", "--section", "Work"), 'SECTION is not an option. Use: mdmem show "the section"'),
        (("log", "--content", "x"), 'TEXT is not an option. Use: mdmem log "your text"'),
        (("edit-section", "Work", "--text", "x"), "Did you mean --body?"),
        (("search", "--query", "x"), 'QUERY is not an option. Use: mdmem search "your words"'),
        (("search", "x", "--date", "yesterday"), "Did you mean --since?"),
        (("search", "x", "--limit", "3"), "Did you mean -n?"),
        (
            ("search", "x", "--format", "json"),
            "Did you mean --json, before the command or after it?",
        ),
        (("log", "x", "--tags", "a,b"), "Did you mean --tag, once for each tag?"),
        (("search", "x", "--path", "MEMORY.md"), "Did you mean --file?"),
        (
            ("show", "Facts", "--file", "USER.md"),
            'FILE is not an option. Use: mdmem show MEMORY.md "the section"',
        ),
        (("show", "last", "monday"), "Quote words that belong together: mdmem show 'last monday'"),
        (("outline", "--path", "MEMORY.md"), "FILE is not an option. Use: mdmem outline MEMORY.md"),
        (
            ("history", "--key", "breakfast"),
            'SECTION|FACT|KEY is not an option. Use: mdmem history "the section, fact or key"',
        ),
        (("forget", "--key", "breakfast"), "mdmem facts --key KEY"),
        (("facts", "--status", "all"), "Did you mean --all?"),
        (("review", "--fix"), "Did you mean --apply?"),
        (("search", "x", "-k", "3"), "Did you mean -n?"),
        (("remember", "x", "-k", "breakfast"), "Did you mean --key?"),
        (("recall", "--tag", "food,drink"), "Give --tag once for each tag."),
        (("search", "x", "--tag", "food, drink"), "Give --tag once for each tag."),
        (("--verbosity", "status"), "mdmem --help"),
        (("--workspace", "x", "status"), "Did you mean -C, before the command or after it?"),
        (("status", "--no-pager"), "MDMEM_PAGER"),
        (("remember", "x", "--expires", "2030"), "Did you mean --until?"),
        (("search", "x", "--histori"), "Did you mean --history?"),
        (("log", "it", "rained"), "quote text that has spaces"),
        (("edit-section", "Work", "x"), "--append"),
        (("status", "x"), "It takes no arguments"),
        (("tags", "x"), "mdmem recall --tag TAG"),
        (("recall", "x", "--tag", "y"), "Each tag goes with a --tag of its own"),
        (("recall", "x"), "Example: mdmem recall --tag ops --tag deploy (see mdmem recall --help)"),
        (("facts", "x"), "mdmem search QUERY"),
        (("task",), "Use one of start, note, done, show."),
        (("save", "x"), "mdmem remember TEXT"),
        (("init", "--path", "x"), "DIR is not an option. Use: mdmem init ~/notes"),
        (("history", "--since", "yesterday"), "Did you mean mdmem changes --since yesterday?"),
        (("remember", "x", "--confidence", "high"), "mdmem remember --help"),
        (("remember", "-dash"), "a dash after --"),
        (("search", "x", "--section"), "See mdmem search --help"),
    ],
    ids=" ".join,
)
def test_options(shell: Shell, words: tuple[str, ...], hint: str):
    done = shell.run(*words)
    assert (done.status, done.out) == (2, "")
    assert hint in done.err.splitlines()[1]


@pytest.mark.parametrize(
    ("option", "number"), [("--confidence", "a number"), ("--nth", "a whole number")]
)
def test_a_number_that_is_none(shell: Shell, option: str, number: str):
    assert (
        shell.run("edit-section", "Work", "--append", "x", option, "high")
        .err.splitlines()[0]
        .endswith(f"it takes {number}")
    )


def test_labels_in_one_word(shell: Shell):
    assert (
        shell.run("log", "x", "--tag", "a,b").err.splitlines()[1]
        == "hint: Give --tag once for each tag."
    )


def test_words_too_many_are_named_but_for_those_behind_a_text(shell: Shell):
    assert (
        shell.run("status", "Acme").err
        == "mdmem: unexpected argument 'Acme'\nhint: It takes no arguments\n"
    )
    assert shell.run("status", "x", "y").err.startswith("mdmem: 2 unexpected arguments\n")
    assert shell.run("log", "the password is", "hunter2").err.startswith(
        "mdmem: 1 unexpected argument\n"
    )


class TestCommonOptions:
    def test_stand_before_and_behind(self, shell: Shell):
        expected = shell.run("task", "show", "--json").out
        for words in (
            ("--json", "task", "show"),
            ("task", "--json", "show"),
            ("-q", "task", "show", "--json", "-C", "."),
        ):
            assert shell.run(*words).out == expected

    def test_the_later_workspace_counts(self, shell: Shell):
        assert shell.run("-C", "nowhere", "task", "show", "-C", ".").err == "mdmem: no tasks\n"

    def test_quiet_is_without_notes(self, shell: Shell):
        assert shell.run("search", "zebra").err == "mdmem: no match\n"
        assert (shell.run("search", "zebra", "-q").err, shell.run("-q", "search", "zebra").err) == (
            "",
            "",
        )
        assert shell.run("show", "Nowhere", "-q").err.startswith("mdmem: no section")


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
