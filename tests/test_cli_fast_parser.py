"""The short way: it reads simple calls as Typer does, leaves all others to Typer, and loads nothing
slow.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
import tantivy
import typer
from conftest import World, examples
from hypothesis import given
from hypothesis import strategies as st
from test_docs import script
from typer.main import get_command
from workspaces import desk

import mdmem
from mdmem.cli import app, commands, fast_parser
from mdmem.cli.fast_parser import ADDED, COMMON, OPTIONAL_VALUES, CommandParameter, texts_last
from mdmem.cli.parameter_table import TABLE
from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.errors import UsageProblem

pytestmark = pytest.mark.usefixtures("commands_built_once")
generate_table = script("generate_table")
PARAMETERS = {
    name: [CommandParameter(*row) for row in (*rows, *ADDED)] for name, rows in TABLE.items()
}
BEFORE = [CommandParameter(*row) for row in COMMON]


class TestTable:
    def test_is_current(self):
        assert generate_table.MODULE.read_text(encoding="utf-8") == generate_table.module(), (
            "run make docs"
        )

    def test_has_every_command_of_one_word(self):
        assert list(TABLE) == [name for name in commands.COMMANDS if " " not in name]

    @pytest.mark.parametrize(
        "strange",
        [
            Annotated[str, typer.Option("--x", envvar="X")],
            Annotated[str, typer.Option("--x", callback=lambda value: value)],
            Annotated[str, typer.Option("--x", prompt=True)],
            Annotated[bool, typer.Option("--x/--no-x")],
            Annotated[int, typer.Option("--x", count=True)],
            Annotated[int, typer.Option("--x", min=1)],
            Annotated[list[int], typer.Option("--x")],
            Annotated[tuple[str, int], typer.Option("--x")],
            Annotated[tuple[str, str, str], typer.Option("--x")],
            Annotated[Path, typer.Option("--x")],
        ],
        ids=[
            "environment",
            "callback",
            "question",
            "two flags",
            "count",
            "range",
            "numbers",
            "mixed pair",
            "three",
            "path",
        ],
    )
    def test_nothing_comes_in_that_the_short_way_would_read_otherwise(self, strange: Any):
        other = typer.Typer()

        def command(x: Any) -> None:
            """Take it."""

        command.__annotations__["x"] = strange
        other.command()(command)
        (parameter, *_) = get_command(other).params
        with pytest.raises(ValueError, match="the short way does not know a parameter like x"):
            generate_table.row(parameter)


def same(words: Sequence[str]) -> bool:
    """True if the short way parses the words; then it has to make the same of them as Typer, down
    to the types.
    """
    call = fast_parser.parse(words, TABLE)
    if call is None:
        return False
    by_typer = app.parse(words)
    assert by_typer is not None
    assert (call.command, call.workspace, call.quiet) == (
        by_typer.command,
        by_typer.workspace,
        by_typer.quiet,
    )
    assert {**call.values} == {**by_typer.values}
    assert repr(sorted(call.values.items())) == repr(sorted(by_typer.values.items()))
    return True


# Words that are plain, whatever the command.

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.sampled_from(["-", "--", "- a", "--json", "-x", "--help", "-n", "a=b", "5", "a b\nc"]),
)


def values(takes: type) -> st.SearchStrategy[str]:
    if takes is int:
        return st.integers(0, 10**6).map(str)
    if takes is float:
        return st.one_of(
            st.integers(0, 9).map(str),
            st.decimals(0, 10, allow_nan=False, places=3).map(lambda number: f"{number:f}"),
        )
    return st.sampled_from([member.value for member in takes]) if takes is Source else TEXTS


@st.composite
def spelt(draw: st.DrawFn, parameter: CommandParameter) -> list[str]:
    """An option in one of the ways in which it can be written."""
    flag = draw(st.sampled_from(parameter.flags))
    if parameter.takes is bool:
        return [flag]
    if parameter.takes is tuple:
        return [flag, draw(TEXTS), draw(TEXTS)]
    value = draw(values(parameter.takes))
    attached = f"{flag}={value}" if flag.startswith("--") else flag + value
    if flag in OPTIONAL_VALUES:  # the next word is its value only where it does not end the options
        return [attached]
    is_joined = value and not (value[0].isspace() and flag[:2] != "--") and draw(st.booleans())
    return [attached] if is_joined else [flag, value]


@pytest.mark.parametrize("name", TABLE)
def test_what_is_not_given_is_what_typer_makes_of_it(name: str):
    needed = [
        word
        for parameter in PARAMETERS[name]
        if parameter.required
        for word in (*parameter.flags[:1], "1")
    ]
    assert same([name, *needed])


@st.composite
def plain(draw: st.DrawFn) -> list[str]:
    """The words of a call that is right."""
    name = draw(st.sampled_from(sorted(TABLE)))
    parts: list[list[str]] = []
    last: list[str] = []
    for parameter in PARAMETERS[name]:
        most = 3 if parameter.takes is list else 1
        count = draw(st.integers(1 if parameter.required else 0, most))
        if parameter.flags:
            parts += [draw(spelt(parameter)) for _ in range(count)]
        elif count == 0 and parameter.takes is not list:
            break  # what comes after it would be taken for it
        else:
            last += [draw(TEXTS) for _ in range(count)]
    before = [
        word
        for option in draw(st.lists(st.sampled_from(BEFORE), unique=True))
        for word in draw(spelt(option))
    ]
    return [
        *before,
        name,
        *(word for part in draw(st.permutations(parts)) for word in part),
        "--",
        *last,
    ]


@given(plain())
def test_what_is_right_is_known(words: list[str]):
    assert same(words)


# Any words.


def flags() -> list[str]:
    return sorted(
        {
            flag
            for parameters in PARAMETERS.values()
            for parameter in parameters
            for flag in parameter.flags
        }
    )


VALUES = [
    *(
        "",
        "-",
        "--",
        "x",
        "a b",
        "- a",
        "-x",
        "5",
        "-5",
        "+5",
        "05",
        "1_0",
        "5.0",
        ".5",
        "5.",
        "1e3",
        "0x1",
        "nan",
        "inf",
        " 5",
        "٣",
        "²",
    ),
    *(
        "inferred",
        "user-stated",
        "Inferred",
        "INFERRED",
        "true",
        "1",
        "\udce9",
        "\0",
        "é",
        "9" * 30,
        "9" * 5000,
        "0." + "3" * 40,
    ),
]
WORDS = st.one_of(
    st.sampled_from(
        [
            "-h",
            "--help",
            "--version",
            "-C",
            "--frob",
            "--jso",
            "-nx",
            "-x",
            "--no-json",
            "--json=1",
            "--=",
            "-=",
            "hooks",
            "status",
        ]
    ),
    st.sampled_from(VALUES),
    st.sampled_from(flags()),
    st.tuples(st.sampled_from(flags()), st.sampled_from(["=", ""]), st.sampled_from(VALUES)).map(
        "".join
    ),
)


@st.composite
def nearly_plain(draw: st.DrawFn) -> list[str]:
    """The words of a call that is right, but for some that came in between and some
    that were lost.
    """
    words = draw(plain())
    for _ in range(draw(st.integers(1, 3))):
        position = draw(st.integers(0, len(words)))
        words[position : position + draw(st.integers(0, 1))] = draw(st.lists(WORDS, max_size=1))
    return words


@examples(300)
@given(nearly_plain())
def test_no_words_mean_one_thing_here_and_another_there(words: list[str]):
    same(words)


@pytest.mark.parametrize(
    "words",
    [
        ["log", "it rained", "--fact", "--tag", "house", "--tag=rain", "--json"],
        ["-C", "notes", "log", "-"],
        ["log", "--source", "user-stated", "--confidence", "0.8", "--", "- it rained"],
        [
            "edit-section",
            "Work > Employer",
            "--append",
            "- works at Linear",
            "--expect",
            "0123456789ab",
        ],
        ["edit-section", "--body", "--json", "--preamble"],
        ["remember", "tea", "--key=drink", "--until", "2026-12-31"],
        ["search", "works", "at", "-n5", "--min-confidence", "0.5"],
        ["search", "works", "-n", "5", "at"],
        ["search", "--since", "yesterday"],
        ["show", "MEMORY.md", "Work", "--nth", "2"],
        ["show"],
        ["facts"],
        ["check", "a.md", "b.md"],
        ["history", "Work > Employer", "-p", "-n", "5"],
        ["conflicts", "--resolve", "1f3c9a2b", "- x", "--json"],
        ["recall", "--tag", "house", "--tag=rain"],
        ["--json", "-q", "-C", "notes", "facts"],
        ["facts", "-q", "-C", "notes", "--json"],
        ["-C", "a", "facts", "-C", "b"],
        ["--json", "facts", "--json"],
        ["-Cnotes", "facts"],
    ],
    ids=" ".join,
)
def test_known(words: list[str]):
    assert same(words)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["frob"],
        ["hooks", "status"],
        ["--version"],
        ["-C"],
        ["-C", "notes"],
        ["-C", "a", "-C", "b", "facts"],
        ["facts", "-C"],
        ["log"],
        ["log", "--help"],
        ["log", "x", "-h"],
        ["log", "x", "y"],
        ["log", "x", "--frob"],
        ["log", "x", "--kin", "fact"],
        ["log", "x", "--kind"],
        ["log", "x", "--kind", "a", "--kind", "b"],
        ["log", "x", "--json", "--json"],
        ["log", "x", "--json=yes"],
        ["log", "x", "--source", "Inferred"],
        ["log", "x", "--source", "hearsay"],
        ["log", "x", "--confidence", "1e-1"],
        ["log", "x", "--confidence", "nan"],
        ["log", "\udce9"],
        ["-C", "\udce9", "facts"],
        ["search", "x", "-n", "-1"],
        ["recall"],
        ["history", "-pn5"],
        ["conflicts", "--resolve", "1f3c9a2b"],
        ["conflicts", "--resolve=1f3c9a2b", "8e0d4c11"],
        ["search", "x", "-n", "many"],
        ["search", "x", "-n=5"],
        ["search", "x", "-n", "٣"],
    ],
    ids=lambda words: ascii(" ".join(words)),
)
def test_left_to_typer(words: list[str]):
    assert fast_parser.parse(words, TABLE) is None


# What is loaded.

_SLOW = {
    *(
        "typer",
        "click",
        "pydantic",
        "rich",
        "git",
        "markdown_it",
        "mistune",
        "yaml",
        "frontmatter",
        "dateparser",
        "hypothesis",
    ),
    *("argparse", "asyncio", "email", "http", "importlib.metadata", "logging", "unittest"),
    *("decimal", "difflib", "random", "shutil", "statistics"),
    *(() if os.environ.get("MDMEM_RECORDS") == "dataclasses" else ("dataclasses", "inspect")),
}
_READING = {
    "mdmem.queries.show",
    "mdmem.index.catching_up",
    "mdmem.index.indexer",
    "mdmem.trail",
    "sqlite3",
}
_WRITING = {"mdmem.changes.apply", "mdmem.changes.plan"}
_OF_THE_SEARCH = {"tantivy"}
_PLACES = [str(Path(module.__file__).parents[1]) for module in (mdmem, tantivy)]
_LOADED = f"import sys; sys.path[:0] = {_PLACES}; from mdmem.cli import main; status = main(); print(status, *sys.modules)"
"""A program that prints the modules that a command loads; without `site`, which loads modules of
its own.
"""


@pytest.mark.parametrize(
    ("words", "allowed", "unneeded"),
    [
        (("log", "it rained {}"), _OF_THE_SEARCH, {"mdmem.queries.show"}),
        (("edit-section", "Work", "--append", "- x {}"), set(), _READING),
        (("remember", "coffee {}", "--key", "drink"), set(), _READING),
        (("show", "Work"), set(), _WRITING),
        (("search", "stripe"), _OF_THE_SEARCH, _WRITING),
        (("facts",), _OF_THE_SEARCH, _WRITING),
        (
            ("history", "Work"),
            set(),
            _WRITING | {"mdmem.index.indexer", "mdmem.index.searcher"},
        ),
    ],
    ids=["log", "edit-section", "remember", "show", "search", "facts", "history"],
)
def test_everyday_commands_load_nothing_slow(
    world: World, repository: Path, words: tuple[str, ...], allowed: set[str], unneeded: set[str]
):
    at = desk(world, repository)
    Memory(at.workspace).reindex()
    # No process brings the index up to date meanwhile.
    with files.lock(at.workspace.state / files.INDEX_LOCK, 1):
        for number in range(3):  # the first ones compile the patterns that the last one finds
            filled = [word.format(number) for word in words]
            bare = [sys.executable, "-I", "-S", "-c", _LOADED, *filled]
            printed = world.run(at.root, bare).stdout.splitlines()
    status, *modules = printed[-1].split()
    assert status == "0"
    assert "mdmem.cli.fast_parser" in modules
    assert (_SLOW | {"tantivy"}) & set(modules) == allowed
    assert not unneeded & set(modules)


# Texts that look like options.


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["remember", "-2.25 both eyes"], "-2.25 both eyes"),
        (["remember", "-2.25"], "-2.25"),
        (["log", "--dry-run is on by default"], "--dry-run is on by default"),
        (["log", "--dry-run is on by default", "--json"], "--dry-run is on by default"),
        (["log", "--reason", "-1 is too low", "-q keeps quiet"], "-q keeps quiet"),
        (["log", "- a list item"], "- a list item"),
        (["log", "-x marks the spot"], "-x marks the spot"),
        (["log", "--", "--json"], "--json"),
    ],
)
def test_a_text_that_no_option_can_be(words: list[str], text: str):
    assert same(words)
    call = fast_parser.parse(words, TABLE)
    assert call is not None
    assert call.values["text"] == text


@pytest.mark.parametrize(
    "words",
    [
        ["log", "--dryrun"],
        ["log", "-x"],
        ["log", "it rained", "-2 degrees"],
        ["log", "--reson=because of x"],
    ],
)
def test_what_could_be_a_slip_is_refused(words: list[str]):
    assert fast_parser.parse(words, TABLE) is None
    with pytest.raises(UsageProblem):
        app.parse(words)


def test_texts_stand_last_where_typer_reads_them():
    words = ["-q", "log", "--tag", "-1 a", "-2 b", "--confidence", "1e-1", "--", "c"]
    assert texts_last(words, TABLE) == [
        "-q",
        "log",
        "--tag",
        "-1 a",
        "--confidence",
        "1e-1",
        "--",
        "-2 b",
        "c",
    ]
    assert texts_last(["task", "note", "-2 b"], TABLE) == ["task", "note", "-2 b"]
    assert texts_last(["log", "-Cmy notes", "it rained"], TABLE) == [
        "log",
        "-Cmy notes",
        "it rained",
    ]
    call = app.parse(["log", "-2 b", "--confidence", "1e-1"])
    assert call is not None
    assert (call.values["text"], call.values["confidence"]) == ("-2 b", 0.1)
