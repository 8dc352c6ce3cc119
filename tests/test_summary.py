"""The list under `Memory:` of a summary."""

import pytest
from workspaces import TOKEN

from mdmem.context.given import MOST_CHARACTERS, MOST_LINES, memory_lines

LIST = "- [decision] ship on Fridays\n- the broker is never restarted by hand\n"
LINES = ("[decision] ship on Fridays", "the broker is never restarted by hand")


@pytest.mark.parametrize(
    "heading",
    [
        "Memory:",
        "**Memory:**",
        "**Memory**:",
        "## Memory:",
        "9. Memory:",
        "10. **Memory:**",
        "  Memory:  ",
        "memory:",
        "`Memory:`",
    ],
)
def test_its_heading_is_written_in_many_ways(heading: str):
    assert memory_lines(f"What was done.\n\n{heading}\n\n{LIST}</summary>\n- no item\n") == LINES


@pytest.mark.parametrize(
    "summary",
    [
        "",
        "no list\n- at all\n",
        "Memory: none\n",
        "Memory:\n- none\n",
        "Memory:\n- (nothing to keep)\n",
        "Memory:\n- [kind] TEXT\n",
        "Memory:\n\nprose\n",
        f"Memory is short:\n{LIST}",
        f"Memory:\n{LIST}\nthe end\nMemory: none\n",
    ],
)
def test_nothing_to_keep(summary: str):
    assert memory_lines(summary) == ()


def test_the_last_list_counts():
    assert memory_lines(f"Memory:\n- old\n\n9. Next steps:\n- rest\n\nMemory:\n{LIST}") == LINES


def test_an_item_of_several_lines_is_one():
    assert memory_lines("Memory:\n* one\n  goes on\n\n  and on\n2. two\n\n## Next\n- three") == (
        "one goes on and on",
        "two",
    )


def test_the_same_line_counts_once():
    assert memory_lines("Memory:\n- one\n-  one\n") == ("one",)


KEY = "-----BEGIN PRIVATE" + " KEY-----\n" + "MIIEvQ" * 20 + "\n-----END PRIVATE" + " KEY-----"


@pytest.mark.parametrize(
    "item",
    [
        f"the token of the relay is {TOKEN}, on port 8080",
        f"the relay\n  has the token {TOKEN}",
        f"{'word ' * 100}{TOKEN}",
        f"the token {TOKEN} <!-- mdmem: allow secret -->",
        KEY.replace("\n", "\n  "),
        "the relay, password: hunter22x",
    ],
)
def test_an_item_with_a_secret_is_left_out_as_a_whole(item: str):
    assert memory_lines(f"Memory:\n- before\n- {item}\n- behind\n") == ("before", "behind")


def test_no_more_than_so_many():
    assert (
        len(memory_lines("Memory:\n" + "".join(f"- line {number}\n" for number in range(50))))
        == MOST_LINES
    )


@pytest.mark.parametrize("text", ["word " * 100, "w" * 500])
def test_what_is_too_long_ends_at_a_word(text: str):
    (line,) = memory_lines(f"Memory:\n- {text}\n")
    assert len(line) <= MOST_CHARACTERS
    assert line.endswith("word…") or line == "w" * (MOST_CHARACTERS - 1) + "…"
