"""Messages of the core name fields and verbs, never flags: each door says them in its own words."""

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from program_source import PACKAGE, PATHS, nodes

from mdmem.cli.commands import COMMANDS
from mdmem.cli.parameter_table import TABLE
from mdmem.cli.terminal import command_line, flag, in_flags
from mdmem.model.errors import UsageProblem, field, plain, report, shell_word, typed, verb

_DOORS = ("cli", "mcp", "page", "show")
_SCRIPTS = ("folder/hook_files.py", "folder/installed.py", "health/schedule.py")
CORE = [
    path
    for path in PATHS
    if path.relative_to(PACKAGE).parts[0] not in _DOORS
    and str(path.relative_to(PACKAGE)) not in _SCRIPTS
]
"""All but the doors, what they show, and what is written for other programs: the hooks, which are
shell scripts, units of systemd, and the command of an installer.
"""
FLAG = re.compile(r"(?:^|[\s(])--?[a-z][a-z-]*")
OTHERS = re.compile(
    r"\b(?:git|iconv|openclaw|systemctl) (?:[a-z-]+ )*--?[a-z].*|--prune\b|^--(?:format|grep|batch-check)=.*"
    r"|\bmdmem sync(?=: $|\))"
)
"""Flags of other programs, and what else is on their lines; the words for git's reflog."""
COMMAND = re.compile(rf"\bmdmem (?:{'|'.join(COMMANDS)})\b")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module with their lines: neither docstrings nor what is the whole of an
    argument for a program.
    """
    documentation = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    for node in nodes(path):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation
        ):
            yield node.lineno, node.value


def named(function: str) -> Iterator[tuple[str, ...]]:
    """The names that the core gives `field` or `verb`."""
    for path in CORE:
        for node in nodes(path):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "attr", getattr(node.func, "id", "")) == function
            ):
                values = [
                    argument.value for argument in node.args if isinstance(argument, ast.Constant)
                ]
                if (
                    len(values) == len(node.args)
                    and values
                    and all(isinstance(value, str) for value in values)
                ):
                    yield tuple(values)


@pytest.mark.costly
def test_no_message_of_the_core_holds_a_flag_or_a_command_line():
    sentences = [
        (str(path), line, OTHERS.sub("", text))
        for path in CORE
        for line, text in texts(path)
        if " " in text.strip()
    ]
    assert len(sentences) > len(CORE)
    assert [each for each in sentences if FLAG.search(each[2]) or COMMAND.search(each[2])] == []


def test_the_search_for_flags_finds_them():
    for text in (
        "Name one with --nth.",
        "-n is 0",
        "(--allow shrink)",
        "Replace one with --supersedes ID",
    ):
        assert FLAG.search(OTHERS.sub("", text))
    assert COMMAND.search("mdmem facts lists them")


def test_each_field_that_is_named_has_a_flag():
    fields = {name for name, *_ in named("field")}
    assert "limit" in fields
    assert [name for name in sorted(fields) if not flag(name).startswith("-")] == [], (
        "no options of a command"
    )


def test_each_verb_that_is_named_is_a_command():
    verbs = set(named("verb"))
    assert ("facts", "everything") in verbs
    for name, *fields in verbs:
        assert name in COMMANDS
        assert all(flag(each).startswith("-") for each in fields)


def test_doors_without_a_command_line_name_the_same_flags():
    fields = {name for name, *_ in named("field")}
    named_fields = fields.union(*(set(each) for _, *each in named("verb")))
    texts = {field(name) for name in named_fields} | {verb(*each) for each in named("verb")}
    assert {text: typed(text) for text in texts} == {text: in_flags(text) for text in texts}


def test_a_field_has_one_flag_in_all_commands():
    flags: dict[str, set[str]] = {}
    for rows in TABLE.values():
        for name, names, *_ in rows:
            if names:
                flags.setdefault(name.removesuffix("_"), set()).add(names[0])
    assert {name: names for name, names in flags.items() if len(names) > 1} == {}


_COMMANDS = {name.split()[0] for name in COMMANDS}
_COMMAND_BEGINS = re.compile(
    rf"\b(?:mdmem (?:-C )?(?:{'|'.join(_COMMANDS)})"
    r"|git (?:-C|add|blame|branch|checkout|clone|config|fetch|log|merge(?!-)|mv|pull|push|remote|reset|"
    r"restore|rm|show|switch|worktree)|rm|systemctl)\b"
)
_COMMAND_ENDS = re.compile(r"[.:;,?)](?:\s|$)|\n")
_BEGINNING = ("verb", "command", "command_line", "init_command")
_QUOTING = ("shell_word", "field", "field_name", "flag", "number_of")
_IN_COMMANDS = {
    "fact": "an id",
    "first.fact": "an id",
    "result.added[-1]": "an id",
    "commit[:10]": "an id",
    "self.commit[:8]": "an id",
    "self.before[:8]": "an id",
    "blob": "an id",
    "each.blob": "an id",
    "CRON": "a constant",
    "near[0]": "the name of a page or command",
    "each": "the name of a page or command",
    "page": "the name of a page",
    "days[0]": "a date",
    "view.day": "a date",
}
"""The placeholders in commands of messages that are no name, path or text of somebody's."""


def placeholders(node: ast.JoinedStr) -> Iterator[ast.expr]:
    """The placeholders of an f-string that stand in a command."""
    is_command = False
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            called = part.value.func if isinstance(part.value, ast.Call) else None
            name = getattr(called, "attr", getattr(called, "id", ""))
            if name in _BEGINNING:
                is_command = True
            elif is_command and name not in _QUOTING:
                yield part.value
        elif isinstance(part, ast.Constant):
            begun = list(_COMMAND_BEGINS.finditer(part.value))
            ended = list(_COMMAND_ENDS.finditer(part.value))
            last_begun = begun[-1].start() if begun else -1 if is_command else None
            last_ended = ended[-1].start() if ended else -2
            is_command = last_begun is not None and last_begun > last_ended


def is_quoted(path: Path, placeholder: ast.expr) -> bool:
    """True for a variable whose last value above holds only quoted words, as far as one sees."""
    above = [
        node
        for node in nodes(path)
        if isinstance(node, ast.Assign)
        and node.lineno < placeholder.lineno
        and ast.unparse(placeholder) in ast.unparse(node.targets[0]).strip("()").split(", ")
    ]
    last = max(above, key=lambda node: node.lineno, default=None)
    return last is not None and "shell_word" in ast.unparse(last.value)


def test_what_stands_in_a_command_of_a_message_is_quoted():
    found = [
        (str(path.relative_to(PACKAGE)), node.lineno, ast.unparse(each))
        for path in PATHS
        for node in nodes(path)
        if isinstance(node, ast.JoinedStr)
        for each in placeholders(node)
        if not is_quoted(path, each)
    ]
    assert [each for each in found if each[2] not in _IN_COMMANDS] == []
    assert set(_IN_COMMANDS) - {each for *_, each in found} == set()


@pytest.mark.parametrize(
    ("text", "bare", "on_the_command_line"),
    [
        ("nothing is named", "nothing is named", "nothing is named"),
        (f"{field('limit')} is 0", "limit is 0", "-n is 0"),
        (
            f"{field('replace')} and {field('replacement')} go together",
            "replace and replacement go together",
            "--replace and --with go together",
        ),
        (f"{verb('facts')} lists them", "facts lists them", "mdmem facts lists them"),
        (
            f"{verb('facts', 'everything')} lists them",
            "facts (everything) lists them",
            "mdmem facts --all lists them",
        ),
        (
            f"{verb('hooks install')} does it",
            "hooks install does it",
            "mdmem hooks install does it",
        ),
        (
            f"To create one: {verb('init')}; to use another: {field('workspace')}",
            "To create one: init; to use another: workspace",
            "To create one: mdmem init; to use another: -C DIR",
        ),
    ],
)
def test_what_a_message_says_plainly_and_on_the_command_line(
    text: str, bare: str, on_the_command_line: str
):
    assert plain(text) == bare
    assert in_flags(text) == typed(text) == on_the_command_line
    assert str(UsageProblem(text)) == bare


@pytest.mark.parametrize(
    "text",
    [
        "notes.md",
        "a b",
        "$(touch RAN)",
        "a\nb",
        "it's\t\x1b[2J",
        "\u202e\ufdd0init\ufdd2",
        "\udcff",
    ],
)
def test_a_word_in_a_command_is_what_it_was_and_one_line(text: str):
    word = shell_word(text)
    assert word.isprintable()
    command = in_flags(f"printf %s {word}")
    assert subprocess.run(["bash", "-c", command], capture_output=True).stdout == os.fsencode(text)


def test_an_argument_is_named_as_the_help_has_it():
    assert flag("query") == "QUERY"
    assert command_line("history") == "mdmem history"


def test_what_users_write_is_not_taken_for_a_field():
    assert in_flags("`limit` \ufdd0Limit!\ufdd1 limit") == "`limit` \ufdd0Limit!\ufdd1 limit"


def test_a_failure_is_reported_in_the_words_of_the_door(capsys: pytest.CaptureFixture[str]):
    def failing() -> int:
        raise UsageProblem(f"{field('limit')} is 0", f"See {verb('search')}.")

    assert report(failing, translate=in_flags) == 2
    assert capsys.readouterr().err == "mdmem: -n is 0\nhint: See mdmem search.\n"
    assert report(failing) == 2
    assert capsys.readouterr().err == "mdmem: limit is 0\nhint: See search.\n"
