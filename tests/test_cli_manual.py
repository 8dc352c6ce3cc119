"""`mdmem help`: the pages for users, from the installed package."""

import re

import pytest
from commandline import Shell

from mdmem.cli import manual
from mdmem.cli.commands import COMMANDS, GROUPS
from mdmem.folder import installed


def plain(text: str) -> list[str]:
    return list(manual._plain(text))


class TestHelp:
    def test_lists_the_pages(self, shell: Shell):
        done = shell.run("help")
        assert [line.split()[0] for line in done.out.splitlines()] == list(manual.TOPICS)
        assert "mdmem help TOPIC" in done.err
        assert shell.run("help", "--json").answer == {"topics": list(manual.TOPICS)}

    @pytest.mark.parametrize("topic", manual.TOPICS)
    def test_of_a_page(self, shell: Shell, topic: str):
        text = installed.text("docs", manual.page_path(topic))
        shown = shell.run("help", topic).out
        assert "](" not in re.sub(r"`[^`]*`", "", shown)
        assert shown.count("\n") == text.count("\n")
        assert shell.run("help", f"{topic}.md", "--json").answer == {"topic": topic, "text": text}

    @pytest.mark.parametrize(
        "name", [name for name in (*COMMANDS, *GROUPS) if name not in manual.TOPICS]
    )
    def test_of_a_command_is_what_it_says_itself(self, shell: Shell, name: str):
        assert shell.run("help", *name.split()).out == shell.run(*name.split(), "--help").out

    def test_a_page_named_after_a_command_tells_of_its_options(self, shell: Shell):
        assert shell.run("help", "digest").err == "mdmem: To see the options: mdmem digest --help\n"
        assert shell.run("help", "trust").err == ""

    @pytest.mark.parametrize(
        ("link", "shown"),
        [
            ("[many](machines.md#pools)", "many (mdmem help machines)"),
            ("[the two\nagents](../agents.md)", "the two\nagents"),
            ("[hosts](clients/README.md)", "hosts (mdmem help clients)"),
            ("[above](#above) and [code](recipes.md)", "above and code"),
            ("![shot](a.png) [uv](https://example.org/uv)", "shot uv (https://example.org/uv)"),
        ],
    )
    def test_a_link_is_its_text_and_where_to_read_on(self, link: str, shown: str):
        assert manual._LINK.sub(manual._named_link, link) == shown

    def test_by_another_word(self, shell: Shell):
        assert shell.run("help", "config").out == shell.run("help", "settings").out

    def test_of_what_is_not_there(self, shell: Shell):
        done = shell.run("help", "zebra")
        assert done.status == 2
        assert "file-format" in done.err.splitlines()[1]
        for word in ("recipes", "decisions", "changelog"):
            assert shell.run("help", word).err.splitlines()[1].startswith("hint: The pages are: ")
        hint = shell.run("help", "remmber").err.splitlines()[1]
        assert hint == "hint: Did you mean: mdmem help remember"


class TestPlainText:
    def test_paragraphs_are_joined_and_marks_go(self):
        assert plain("# A `b`\n\nOne **two**\nthree.\n\n- four\n  five\n- six\n") == [
            *("A b", "", "One two three.", "", "- four five", "- six", ""),
        ]

    def test_a_row_of_a_table_is_two_lines(self):
        assert plain("| a | b |\n|---|---|\n| `c \\| d` | e | f |") == [
            "a",
            "    b",
            "c | d",
            "    e; f",
            "",
        ]

    def test_code_stays(self):
        assert plain("```sh\n$ a  `b`\n\n| c |\n```\n    d `e`") == [
            "    $ a  `b`",
            "    ",
            "    | c |",
            "    d `e`",
            "",
        ]
