"""The command line as a program of its own: what it loads, its streams, its environment, a
terminal.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import NOW, Shell, mdmem, on_terminal

HEAVY = {"mdmem.health.doctor", "mdmem.purge.purging", "mdmem.purge.history_rewrite"}


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        (("mdmem", "log", "x"), "mdmem.changes.plan"),
        (("mdmem", "search", "x"), "mdmem.index.indexer"),
        (("mdmem.githooks", "pre-commit"), "mdmem.repo.worktree"),
        (
            ("mdmem", "forget", "likes dark rooms", "--purge", "--dry-run"),
            "mdmem.purge.history_rewrite",
        ),
    ],
    ids=" ".join,
)
def test_everyday_commands_do_not_load_what_they_do_not_need(
    shell: Shell, words: tuple[str, ...], loaded: str
):
    printed = shell.world.run(
        shell.folder, [sys.executable, "-X", "importtime", "-m", *words]
    ).stderr
    names = {
        line.rpartition("|")[2].strip()
        for line in printed.splitlines()
        if line.startswith("import time:")
    }
    assert loaded in names
    assert names & HEAVY == (HEAVY - {"mdmem.health.doctor"} if loaded in HEAVY else set())


class TestProcess:
    @pytest.mark.parametrize("words", [("facts",), ("facts", "--json"), ("--help",)], ids=" ".join)
    def test_a_broken_pipe_is_done(self, shell: Shell, words: tuple[str, ...]):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run(
                mdmem(*words),
                stdout=writing,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        finally:
            os.close(writing)
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr

    @pytest.mark.parametrize(
        ("closed", "words", "status"),
        [(">&-", "facts", 0), ("2>&-", "search zebra", 0), ("<&-", "log -", 1)],
    )
    def test_closed_streams(self, shell: Shell, closed: str, words: str, status: int):
        done = shell.world.run(
            shell.folder, ["sh", "-c", f"'{sys.executable}' -m mdmem {words} {closed}"], check=False
        )
        assert done.returncode == status
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("locale", ["C", "POSIX"])
    def test_locales(self, shell: Shell, locale: str):
        speaks = {"LC_ALL": locale, "LANG": "", "MDMEM_NOW": NOW}
        shell.world.run(shell.folder, mdmem("remember", "naïve 日本語"), environment=speaks)
        assert (
            "naïve 日本語\n"
            in shell.world.run(shell.folder, mdmem("search", "日本"), environment=speaks).stdout
        )
        assert "naïve 日本語" in shell.git("show", "--format=", "HEAD")

    def test_what_is_printed_is_utf8_whatever_the_locale(self, shell: Shell):
        shell.write("MEMORY.md", "# Memory\n\nnaïve 日本語\n")
        speaks = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        assert (
            shell.world.run(shell.folder, mdmem("show", "Memory"), environment=speaks).stdout
            == "naïve 日本語\n"
        )

    def test_an_empty_environment(self, shell: Shell, tmp_path: Path):
        git = str(Path(shutil.which("git") or "").parent)
        bare = ["env", "-i", f"PATH={git}:/usr/bin:/bin", f"HOME={shell.world.home}"]
        shell.world.run(tmp_path, [*bare, *mdmem("init", "new")])
        assert shell.world.run(tmp_path / "new", [*bare, *mdmem("log", "x")]).stdout.startswith(
            "logged to memory/"
        )

    def test_interrupted(self, shell: Shell):
        """The editor interrupts the command that waits for it."""
        before = shell.snapshot()
        stop = shell.world.home / "stop"
        # It keeps no terminal open, which the test reads to its end, should it not be killed: the
        # interrupt may come while it is being started.
        stop.write_text("#!/bin/sh\nkill -INT $PPID\nexec sleep 20 < /dev/null > /dev/null 2>&1\n")
        stop.chmod(0o755)
        done = on_terminal(shell, *mdmem("edit-section", "Work", "--editor"), EDITOR=str(stop))
        assert done.status == 130
        assert "Traceback" not in done.out
        assert shell.snapshot() == before


# On a terminal.

EVIL = "- evil \x1b[31mred\x9b2J \u202eback \x07 word\n"


class TestTerminal:
    def test_colours(self, shell: Shell):
        shown = on_terminal(shell, *mdmem("search", "stripe")).out
        assert "works at \x1b[1mStripe\x1b[0m" in shown
        assert "\x1b[2mMEMORY.md:14 " in shown

    @pytest.mark.parametrize("words", [("search", "stripe"), ("show", "Nowhere")], ids=" ".join)
    def test_no_color(self, shell: Shell, words: tuple[str, ...]):
        shown = on_terminal(shell, *mdmem(*words), NO_COLOR="1").out
        assert shown
        assert "\x1b" not in shown

    def test_a_pipe_is_plain(self, shell: Shell):
        assert "\x1b" not in shell.world.run(shell.folder, mdmem("search", "stripe")).stdout

    @pytest.mark.parametrize(
        "words",
        [
            ("show", "Evil"),
            ("search", "evil"),
            ("search", "evil", "--json"),
            ("facts",),
        ],
        ids=" ".join,
    )
    def test_control_characters_do_not_reach_it(self, shell: Shell, words: tuple[str, ...]):
        shell.write("MEMORY.md", f"# Memory\n\n## Evil\n\n{EVIL}{EVIL}\n## \x1b]0;title\x07\n")
        shown = on_terminal(shell, *mdmem(*words), NO_COLOR="1").out
        assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown) is None
        assert "evil" in shown.casefold()

    def test_a_file_is_what_it_is_where_it_is_read_by_a_program(self, shell: Shell):
        shell.write("MEMORY.md", f"# Memory\n\n{EVIL}")
        assert EVIL in shell.world.run(shell.folder, mdmem("show")).stdout
        assert json.loads(shell.world.run(shell.folder, mdmem("show", "--json")).stdout)[
            "text"
        ].endswith(EVIL)

    def test_an_editor(self, shell: Shell):
        editor = shell.world.home / "my editor"
        editor.write_text('#!/bin/sh\necho "- by the editor" >>"$1"\n')
        editor.chmod(0o755)
        done = on_terminal(
            shell, *mdmem("edit-section", "Employer", "--editor"), EDITOR=f"'{editor}'"
        )
        assert "changed MEMORY.md: Memory > Work > Employer " in done.out
        assert shell.run("show", "Employer").out == "- works at Stripe\n- by the editor\n"
        unchanged = on_terminal(
            shell, *mdmem("edit-section", "Employer", "--editor"), EDITOR="true"
        )
        assert (unchanged.status, unchanged.out.startswith("unchanged: ")) == (0, True)
        before = shell.snapshot()
        for program in ("false", "'no end", "no-such-program"):
            assert (
                on_terminal(
                    shell, *mdmem("edit-section", "Employer", "--editor"), EDITOR=program
                ).status
                == 2
            )
        assert shell.snapshot() == before
