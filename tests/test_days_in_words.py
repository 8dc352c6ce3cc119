"""Days in words on the way into memory."""

import sys

import pytest
from commandline import WRITE, Shell, mdmem


class TestLog:
    def test_the_day_is_in_the_answer(self, shell: Shell):
        answer = shell.run("log", "it snowed", "--date", "yesterday", "--json").answer
        assert list(answer) == [*WRITE, "day"]
        assert (answer["day"], answer["path"]) == ("2026-03-04", "memory/2026-03-04.md")
        assert shell.run("log", "it thawed", "--date", "last friday").out.startswith(
            "logged to memory/2026-02-27.md: "
        )

    @pytest.mark.parametrize(
        ("day", "code"),
        [("3/4", "ambiguous-date"), ("last week", "usage"), ("no day", "usage"), ("", "usage")],
    )
    def test_what_is_no_day(self, shell: Shell, day: str, code: str):
        before = shell.snapshot()
        done = shell.run("log", "x", "--date", day, "--json")
        assert (done.status, f'"error": "{code}"' in done.err) == (2, True)
        assert shell.snapshot() == before


class TestRemember:
    def test_the_day_is_in_the_answer(self, shell: Shell):
        done = shell.run("remember", "on leave", "--until", "next friday")
        assert done.out.startswith("remembered in MEMORY.md: Memory > Facts (until 2026-03-06) ")
        assert "- on leave (until 2026-03-06)\n" in (shell.folder / "MEMORY.md").read_text()
        again = shell.run("remember", "on leave", "--until", "friday", "--json").answer
        assert (again["changed"], again["day"]) == (False, "2026-03-06")

    def test_an_iso_date_loads_no_reader_of_words(self, shell: Shell):
        loaded = "import sys; from mdmem.cli import main; main(sys.argv[1:]); print('dateparser' in sys.modules)"
        words = ("remember", "on leave", "--until", "2026-03-06")
        done = shell.world.run(shell.folder, [sys.executable, "-c", loaded, *words])
        assert done.stdout.endswith("False\n"), mdmem(*words)


class TestSearch:
    @pytest.mark.parametrize(
        ("words", "key", "day", "shown"),
        [
            (("--since", "yesterday"), "since", "2026-03-04", "showing results since 2026-03-04"),
            (("--until", "last week"), "until", "2026-03-01", "showing results until 2026-03-01"),
            (("--as-of", "today"), "as_of", "2026-03-05", "Memory as of 2026-03-05"),
        ],
    )
    def test_the_day_is_in_the_answer(
        self, shell: Shell, words: tuple[str, str], key: str, day: str, shown: str
    ):
        shell.run("log", "it rained")
        shell.git("commit", "-q", "--amend", "--no-edit", "--date=2026-03-05T09:30:00")
        assert shell.run("search", "rooms", *words, "--json").answer[key] == day
        assert shown in shell.run("search", "rooms", *words).err

    def test_a_day_that_is_named_as_it_is_needs_no_word(self, shell: Shell):
        assert "since" not in shell.run("search", "rooms", "--since", "2026-03-04", "--json").answer
        assert "since" not in shell.run("search", "rooms", "--since", "2026-03-04").err
