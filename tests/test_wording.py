"""Messages of the core name fields and verbs, never flags: each door says them in its own words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from program_source import PACKAGE, PATHS, nodes

from mdmem.cli.commands import COMMANDS
from mdmem.cli.messages import command_line, flag, in_flags
from mdmem.cli.parameter_table import TABLE
from mdmem.errors import UsageProblem, report
from mdmem.wording import field, plain, typed, verb

_DOORS = ("cli", "mcp", "page", "show")
_SCRIPTS = ("folder/hook_files.py", "folder/installed.py", "schedule.py")
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
    r"\b(?:git|iconv|openclaw|systemctl) (?:[a-z-]+ )*--?[a-z].*|--prune\b|^--(?:format|grep)=.*"
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
