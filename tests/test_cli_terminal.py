"""Output on a terminal: lines are broken between words, and what is longer than the screen goes
through a pager.
"""

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
    [
        "a",
        "word",
        "- ",
        "  ",
        " ",
        "猫",
        "e\u0301",
        "path/to/",
        "x" * 30,
        "\t",
        BOLD,
        DIM,
        RESET,
        "mdmem ",
        "\n",
        '"',
        "'",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(10, 60))
def test_only_whole_words_are_wider_and_none_is_lost(text: str, most: int):
    shown = terminal.fitted_to(text, most)
    if not any(line.lstrip().startswith("mdmem ") for line in text.split("\n")):
        for line in shown.split("\n"):
            words = [word for word in line.split() if "猫" not in word]
            assert terminal.width(line) <= most or max(map(terminal.width, words)) > most // 2
        bare = ["".join(re.sub(r"\x1b\[\d*m", "", part).split()) for part in (text, shown)]
        assert bare[0] == bare[1]


@given(st.text(max_size=40))
def test_what_fits_stays_as_it_is(text: str):
    assert terminal.fitted_to(text, 1000).expandtabs() == text.expandtabs()


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("one two three four", ["one two", "three four"]),
        ("- one two three", ["- one two", "  three"]),
        ("    one two three", ["    one", "    two", "    three"]),
        ("a  one two three", ["a  one two", "   three"]),
        ("猫猫猫猫猫猫", ["猫猫猫猫猫", "猫"]),
        ("in memory/rooms/house.md", ["in", "memory/rooms/house.md"]),
        ("- see https://example.org/a.", ["- see", "  https://example.org/a."]),
        ("猫猫https://example.org猫猫", ["猫猫", "https://example.org", "猫猫"]),
        (f"{DIM}one two three{RESET}", [f"{DIM}one two{RESET}", f"{DIM}three{RESET}"]),
        (f"one {BOLD}two{RESET} three", [f"one {BOLD}two{RESET}", "three"]),
    ],
)
def test_where_a_line_is_broken(line: str, rows: list[str]):
    assert terminal.fitted_to(line, 10).split("\n") == rows


@pytest.mark.parametrize("most", [12, 20, 40])
def test_a_command_can_still_be_copied(most: int):
    line = """    mdmem forget "a fact of many words" --section 'Memory > Facts'"""
    shown = terminal.fitted_to(line, most)
    assert "\\\n" in shown
    assert shlex.split(shown.replace("\\\n", " ")) == shlex.split(line)


class TestOnATerminal:
    def widest(self, text: str) -> int:
        """The width of the widest line of several words; a path alone on a line stays whole."""
        return max(terminal.width(line) for line in text.splitlines() if " " in line.strip())

    @pytest.mark.every(2)
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
            ),
            *(
                "search zebra --section Nowhere",
                "show Nowhere",
                "get x",
                "when tea",
                "help",
                "stats",
            ),
        ],
    )
    def test_nothing_is_wider(self, shell: Shell, words: str, columns: int):
        typed = b"?sq" if words == "review" else b""
        done = on_terminal(shell, *mdmem(*words.split()), typed=typed, size=(columns, 500))
        assert done.out.strip()
        assert self.widest(done.out) <= columns

    def test_lines_of_a_file_and_addresses_stay_whole(self, shell: Shell):
        address = "https://example.org/a/long/path/that/goes/on/until/it/ends"
        line = f"- the manual of the boiler, for whoever looks after the house: {address}"
        shell.write("memory/boiler.md", f"# Boiler\n\n{line}\n")
        shown = on_terminal(shell, *mdmem("show", "memory/boiler.md"), size=(40, 500)).out
        assert line in shown.splitlines()
        redact = ("sh", "-c", shlex.join((*mdmem("redact"),)) + " < memory/boiler.md")
        assert line in on_terminal(shell, *redact, size=(40, 500)).out.splitlines()
        assert address in on_terminal(shell, *mdmem("search", "boiler"), size=(40, 500)).out

    def test_help_is_not_wider(self, shell: Shell):
        for name in ("edit-section", "search", "task start"):
            assert name in COMMANDS
            assert (
                self.widest(on_terminal(shell, *mdmem(*name.split(), "--help"), size=(40, 500)).out)
                <= 40
            )


class TestPager:
    PAGER = "sed 's/^/> /'"

    def paged(self, shell: Shell, *words: str, **environment: str) -> bool:
        done = on_terminal(
            shell, *mdmem(*words), size=(80, 4), **{"MDMEM_PAGER": self.PAGER} | environment
        )
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
        assert on_terminal(
            shell, "env", "-u", "MDMEM_PAGER", *mdmem("show"), size=(80, 4), PAGER=self.PAGER
        ).out.startswith("> ")

    def test_one_that_is_not_there_hides_nothing(self, shell: Shell):
        done = on_terminal(shell, *mdmem("show"), size=(80, 4), MDMEM_PAGER="no-such-pager")
        assert "## Preferences" in done.out

    def test_one_that_is_left_early_is_no_failure(self, shell: Shell):
        shell.write("memory/long.md", "# Long\n\n" + "- a line\n" * 20_000)
        assert (
            on_terminal(
                shell, *mdmem("show", "memory/long.md"), size=(80, 4), MDMEM_PAGER="head -1"
            ).status
            == 0
        )

    def test_is_not_for_a_pipe(self, shell: Shell):
        shell.patch.setenv("MDMEM_PAGER", self.PAGER)
        assert not shell.run("show").out.startswith("> ")
