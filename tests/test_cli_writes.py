"""The commands that write, as a user meets them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_table import WRITES
from commandline import LOG, WRITE, Shell, mdmem, on_terminal
from workspaces import STATE

from mdmem import events
from mdmem.text.facts import fact_id


@pytest.mark.parametrize(
    ("words", "line"),
    WRITES,
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
class TestWrites:
    def test_text_is_one_line_that_ends_in_an_id(
        self, shell: Shell, words: tuple[str, ...], line: str
    ):
        done = shell.run(*words)
        assert (done.status, done.out.count("\n")) == (0, 1)
        assert re.fullmatch(
            re.escape(line) + r"(\[[0-9a-f]{8}\]|\(commit [0-9a-f]{10}\))\n", done.out
        )
        pending = "mdmem: committed the pending edits of MEMORY.md first, as yours\n"
        weaker = "".join(
            note
            for note in done.err.splitlines(keepends=True)
            if re.match(
                "mdmem: weaker-source: (replaced something the user stated with an inferred "
                "value|an"
                " inferred change removed something the user stated): [0-9a-f]{8} ",
                note,
            )
        )
        assert done.err.removesuffix(weaker) == (pending if "MEMORY.md" in line else "")
        assert "A  staged.txt\n" in shell.git("status", "--porcelain")
        assert "Mdmem-Op: " in shell.git("log", "-1", "--format=%B")
        *_, event = events.read_events(shell.folder / STATE)
        assert (event.verb, event.outcome) == (words[0], "done")

    def test_json_and_dry_run(self, shell: Shell, words: tuple[str, ...], line: str):
        before = shell.snapshot()
        dry = shell.run(*words, "--dry-run", "--json").answer
        keys = [*WRITE, "forgotten", "also"] if words[0] == "forget" else WRITE
        assert list(dry) == [*keys, "diff"]
        shown = shell.run(*words, "--dry-run")
        assert (shown.status, shown.out.rstrip("\n")) == (0, dry["diff"].rstrip("\n"))
        assert [note.split(": ")[1] for note in shown.err.splitlines()] == dry["warnings"]
        assert shell.snapshot() == before
        done = shell.run(*words, "--json").answer
        assert list(done) == keys
        assert done == {name: value for name, value in dry.items() if name != "diff"} | {
            "commit": shell.git("rev-parse", "HEAD").strip()
        }
        added = shell.git("show", "--format=", "--unified=0", "HEAD").splitlines()
        assert {text for text in added if text[:1] == "+" and text[:3] != "+++"} <= set(
            dry["diff"].splitlines()
        )


class TestWritesAsked:
    @pytest.mark.parametrize(
        "text",
        [
            "# A\n\n- a\n- b\n",
            "# A\n\n- a\n- b",
            "# A\r\n\r\n- a\r\n- b\r\n",
            "# A\r\n\r\n- a\n- b",
        ],
        ids=repr,
    )
    @pytest.mark.parametrize(
        "words",
        [("--append", "- c"), ("--replace", "- b", "--with", "- c"), ("--prepend", "- c")],
        ids=" ".join,
    )
    def test_what_a_dry_run_prints_is_a_patch(
        self, shell: Shell, text: str, words: tuple[str, ...]
    ):
        path = shell.write("memory/a.md", text)
        shell.git("add", "memory/a.md")
        shell.git("commit", "-q", "-m", "a", "memory/a.md")
        change = ("edit-section", "A", "--file", "memory/a.md", *words)
        shell.world.git(shell.folder, "apply", stdin=shell.run(*change, "--dry-run").out)
        patched = path.read_bytes()
        shell.git("checkout", "-q", "--", "memory/a.md")
        shell.run(*change)
        assert path.read_bytes() == patched != text.encode()

    def test_again_changes_nothing(self, shell: Shell):
        for words in (
            ("log", "it rained"),
            ("remember", "coffee", "--key", "drink"),
            ("edit-section", "Employer", "--append", "- x"),
        ):
            assert shell.run(*words).status == 0
            before = shell.snapshot()
            again = shell.run(*words)
            assert again.status == 0
            assert again.out.startswith("unchanged: ")
            answer = shell.run(*words, "--json").answer
            assert (answer["changed"], answer["commit"]) == (False, None)
            assert shell.snapshot() == before

    def test_what_nothing_took_the_place_of_is_told(self, shell: Shell):
        for words in (
            ("edit-section", "Employer", "--body", "prose"),
            ("forget", "likes dark rooms", "--file", "MEMORY.md"),
        ):
            fact = shell.run("log", f"until {words[0]}", "--json").answer["added"][0]
            assert shell.run(*words, "--supersedes", fact, "--json").answer["supersedes"] == [
                {"old": fact, "new": None}
            ]
            assert f"Mdmem-Supersedes: {fact} -\n" in shell.git("log", "-1", "--format=%B")

    def test_every_answer_has_an_id(self, shell: Shell):
        words = ("edit-section", "--preamble", "--body", "For people.")
        etag = shell.run(*words, "--json").answer["etag"]
        assert etag == shell.run("show", "--preamble", "--json").answer["etag"]
        assert shell.run(*words, "--expect", etag).out == f"unchanged: MEMORY.md (etag {etag})\n"
        etag = shell.run("show", "Pets", "--json").answer["etag"]
        for words in (
            ("contradicts", "pet: cat", "pet: dog"),
            ("conflicts", "--resolve", "pet: cat", "pet: dog"),
        ):
            assert shell.run(*words, "--json").answer["etag"] == etag
            assert shell.run(*words).out == f"unchanged: MEMORY.md: Memory > Pets (etag {etag})\n"

    def test_who_and_why_are_kept(self, shell: Shell):
        printed = (
            "--source",
            "user-stated",
            "--actor",
            "agent/main",
            "--session",
            "s1",
            "--reason",
            "asked twice",
            "--confidence",
            "0.8",
        )
        assert shell.run("remember", "coffee", "--key", "drink", *printed).status == 0
        message = shell.git("log", "-1", "--format=%B")
        for trailer in (
            "Source: user-stated",
            "Actor: agent/main",
            "Session: s1",
            "Reason: asked twice",
            "Confidence: 0.8",
        ):
            assert f"Mdmem-{trailer}\n" in message
        shell.patch.setenv("MDMEM_ACTOR", "agent/night")
        assert shell.run("log", "x").status == 0
        assert "Mdmem-Actor: agent/night\n" in shell.git("log", "-1", "--format=%B")

    def test_a_dash_reads_standard_input(self, shell: Shell):
        for words in (
            ("log", "-"),
            ("remember", "-"),
            ("edit-section", "Employer", "--body", "-"),
            ("edit-section", "Work", "--append", "-"),
            ("edit-section", "Pets", "--prepend", "-"),
        ):
            assert shell.run(*words, stdin="naïve 日本語\n".encode()).status == 0
            assert "naïve 日本語" in shell.git("show", "--format=", "HEAD")
        assert (
            shell.run(
                "edit-section",
                "Employer",
                "--replace",
                "-",
                "--with",
                "plain",
                stdin="naïve 日本語".encode(),
            ).status
            == 0
        )
        assert (
            shell.run(
                "edit-section", "Employer", "--replace", "plain", "--with", "-", stdin=b"fancy"
            ).status
            == 0
        )
        assert shell.run("show", "Employer").out == "fancy\n"

    def test_a_title_may_be_a_dash(self, shell: Shell):
        assert shell.run("edit-section", "Employer", "--rename", "-", stdin=b"no title").status == 0
        assert shell.run("show", "Memory > Work > -").out == "- works at Stripe\n"

    def test_a_text_may_look_like_an_option(self, shell: Shell):
        assert shell.run("log", "--json", "--", "--json").answer["added"]
        assert shell.run("log", "--", "--help").out.startswith("logged to ")


def test_what_is_unchanged_is_named_by_its_fact(shell: Shell):
    fact = fact_id("drinks oolong")
    for words in (
        ("remember", "drinks oolong", "--section", "Pets"),
        ("log", "drinks oolong"),
    ):
        assert shell.run(*words).out.endswith(f" [{fact}]\n")
        again = shell.run(*words).out
        assert again.startswith("unchanged: ")
        assert again.endswith(f" [{fact}]\n")


def test_an_entry_that_is_logged_already_can_be_logged_again(shell: Shell):
    shell.run("log", "it rained")
    note = "mdmem: the log has this entry already; to log it again: --again\n"
    assert shell.run("log", "it rained").err == note
    assert shell.run("log", "it rained", "--again").err == ""


@pytest.mark.parametrize(
    ("environment", "words", "source"),
    [
        ({}, (), "user-stated"),
        ({}, ("--source", "inferred"), "inferred"),
        ({}, ("--actor", "agent/x"), "inferred"),
        ({"MDMEM_ACTOR": "agent/x"}, (), "inferred"),
        ({"CLAUDECODE": "1"}, (), "inferred"),
        ({"TERM_PROGRAM": "vscode"}, (), "inferred"),
    ],
)
def test_what_a_person_types_is_their_word(
    shell: Shell, environment: dict[str, str], words: tuple[str, ...], source: str
):
    on_terminal(shell, *mdmem("remember", "owns a boat", *words), **environment)
    body = shell.git("log", "-1", "--format=%B")
    assert f"Mdmem-Source: {source}\n" in body
    assert "Claimed" not in body


def test_a_setting_that_names_an_agent_counts_on_a_terminal_too(shell: Shell):
    shell.write("mdmem.toml", 'actor = "agent/x"\n')
    on_terminal(shell, *mdmem("remember", "owns a boat"))
    assert "Mdmem-Source: inferred\nMdmem-Confidence: 0.7\n" in shell.git(
        "log", "-1", "--format=%B"
    )


@pytest.mark.parametrize(
    "command",
    [
        ("task", "start", "Move", "to Rome"),
        ("revert", "HEAD"),
        ("forget", "likes dark rooms", "--file", "MEMORY.md"),
        ("contradicts", "one", "two"),
    ],
)
def test_every_verb_takes_what_a_person_types_as_theirs(shell: Shell, command: tuple[str, ...]):
    shell.run("remember", "owns a boat")
    on_terminal(shell, *mdmem(*command))
    head = shell.git("log", "-1", "--format=%B")
    assert "Mdmem-Source: user-stated\n" in head
    assert "owns a boat" not in head or command[0] == "revert"


def test_contradictions_are_listed_on_a_terminal(shell: Shell):
    assert "pet: dog" in on_terminal(shell, *mdmem("conflicts")).out


def test_without_a_terminal_nobody_has_said_it(shell: Shell):
    assert shell.run("remember", "owns a boat").status == 0
    assert "Mdmem-Source: inferred\n" in shell.git("log", "-1", "--format=%B")


def test_an_empty_pipe_is_an_empty_body_and_no_pipe_is_a_slip(shell: Shell) -> None:
    words = [sys.executable, "-m", "mdmem", "edit-section", "Work", "--body", "-"]
    before = shell.snapshot()
    with Path(os.devnull).open() as nothing:
        done = subprocess.run(
            words,
            cwd=shell.folder,
            env=shell.world.environment,
            stdin=nothing,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, shell.snapshot()) == (2, before)
    assert "--delete" in done.stderr
    shell.world.run(shell.folder, words)
    assert "## Work\n\n### " in (shell.folder / "MEMORY.md").read_text()


@pytest.mark.parametrize(
    ("words", "stdin", "hint"),
    [
        (("log", LOG), b"", f"mdmem history {LOG}"),
        (("init", "claude"), b"", "mdmem init --for claude"),
    ],
)
def test_a_slip_writes_nothing(
    shell: Shell, words: tuple[str, ...], stdin: bytes, hint: str
) -> None:
    before = shell.snapshot()
    done = shell.run(*words, stdin=stdin)
    assert (done.status, shell.snapshot()) == (2, before)
    assert hint in done.err
