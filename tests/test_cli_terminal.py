"""Output on a terminal: no line is wider than it, and what is longer goes through a pager."""

import re
import shlex

import pytest
from commandline import Shell, mdmem, on_terminal
from hypothesis import given
from hypothesis import strategies as st

from mdmem.cli import terminal
from mdmem.cli.commands import COMMANDS

BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
PIECES = st.sampled_from(
    ["a", "word", "- ", "  ", " ", "猫", "e\u0301", "path/to/", "x" * 30, "\t", BOLD, DIM, RESET, "mdmem ", "\n", '"', "'"]
)


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(10, 60))
def test_no_line_is_wider_and_no_word_is_lost(text: str, most: int):
    shown = terminal.fitted(text, most)
    if not any(line.lstrip().startswith("mdmem ") for line in text.split("\n")):
        assert max(map(terminal.width, shown.split("\n"))) <= most
        bare = ["".join(re.sub(r"\x1b\[\d*m", "", part).split()) for part in (text, shown)]
        assert bare[0] == bare[1]


@given(st.text(max_size=40))
def test_what_fits_stays_as_it_is(text: str):
    assert terminal.fitted(text, 1000).expandtabs() == text.expandtabs()


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("one two three four", ["one two", "three four"]),
        ("- one two three", ["- one two", "  three"]),
        ("    one two three", ["    one", "    two", "    three"]),
        ("a  one two three", ["a  one two", "   three"]),
        ("猫猫猫猫猫猫", ["猫猫猫猫猫", "猫"]),
        ("memory/rooms/house.md", ["memory/", "rooms/", "house.md"]),
        (f"{DIM}one two three{RESET}", [f"{DIM}one two{RESET}", f"{DIM}three{RESET}"]),
        (f"one {BOLD}two{RESET} three", [f"one {BOLD}two{RESET}", "three"]),
    ],
)
def test_where_a_line_is_broken(line: str, rows: list[str]):
    assert terminal.fitted(line, 10).split("\n") == rows


@pytest.mark.parametrize("most", [12, 20, 40])
def test_a_command_can_still_be_copied(most: int):
    line = """    mdmem forget "a fact of many words" --section 'Memory > Facts'"""
    shown = terminal.fitted(line, most)
    assert "\\\n" in shown
    assert shlex.split(shown.replace("\\\n", " ")) == shlex.split(line)


class TestOnATerminal:
    def widest(self, text: str) -> int:
        return max(map(terminal.width, text.splitlines()))

    @pytest.mark.parametrize("columns", [40, 80])
    @pytest.mark.parametrize(
        "words",
        [
            *(
                "search rooms house",
                "facts",
                "outline",
                "history",
                "history Work -p",
                "blame Work",
                "status",
                "tags",
                "doctor",
                "review",
                "show",
            ),
            *("search zebra --section Nowhere", "show Nowhere", "get x", "when tea", "help", "stats"),
            "log a_text_that_goes_on_and_on_beyond_the_width_of_any_terminal_of_forty_columns --dry-run",
        ],
    )
    def test_nothing_is_wider(self, shell: Shell, words: str, columns: int):
        done = on_terminal(shell, *mdmem(*words.split()), size=(columns, 500))
        assert done.out.strip()
        assert self.widest(done.out) <= columns

    def test_help_is_not_wider(self, shell: Shell):
        for name in ("edit-section", "search", "task start"):
            assert name in COMMANDS
            assert self.widest(on_terminal(shell, *mdmem(*name.split(), "--help"), size=(40, 500)).out) <= 40


class TestPager:
    PAGER = "sed 's/^/> /'"

    def paged(self, shell: Shell, *words: str, **environment: str) -> bool:
        done = on_terminal(shell, *mdmem(*words), size=(80, 4), **{"MDMEM_PAGER": self.PAGER} | environment)
        assert done.status == 0
        return done.out.startswith("> ")

    def test_takes_what_is_longer_than_the_screen(self, shell: Shell):
        assert self.paged(shell, "show")
        assert not self.paged(shell, "show", "Employer")
        assert not self.paged(shell, "show", "--json")

    def test_which_one(self, shell: Shell):
        assert not self.paged(shell, "show", MDMEM_PAGER="cat")
        assert not self.paged(shell, "show", MDMEM_PAGER="")
        assert not self.paged(shell, "show", TERM="dumb")
        assert not self.paged(shell, "show", MDMEM_PAGER="cat", PAGER=self.PAGER)
        assert on_terminal(shell, "env", "-u", "MDMEM_PAGER", *mdmem("show"), size=(80, 4), PAGER=self.PAGER).out.startswith("> ")

    def test_one_that_is_not_there_hides_nothing(self, shell: Shell):
        done = on_terminal(shell, *mdmem("show"), size=(80, 4), MDMEM_PAGER="no-such-pager")
        assert "## Preferences" in done.out

    def test_one_that_is_left_early_is_no_failure(self, shell: Shell):
        shell.write("memory/long.md", "# Long\n\n" + "- a line\n" * 20_000)
        assert on_terminal(shell, *mdmem("show", "memory/long.md"), size=(80, 4), MDMEM_PAGER="head -1").status == 0

    def test_is_not_for_a_pipe(self, shell: Shell):
        shell.patch.setenv("MDMEM_PAGER", self.PAGER)
        assert not shell.run("show").out.startswith("> ")
