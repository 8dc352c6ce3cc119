"""The commands that look back, take back and tidy up, as a user meets them: a year in the life of a
workspace.
"""

import json
import re
import shlex
from pathlib import Path

import pytest
from commandline import (
    MEMORY,
    Done,
    MadeOnce,
    Shell,
    commits,
    mdmem,
    on_terminal,
)
from conftest import EMAIL, NAME

from mdmem.text.facts import fact_id

FIGMA, ACTIONS = fact_id("employer: works at Figma"), fact_id("deploys go through GitHub Actions")
LATER = "2026-06-01"


class Year:
    """A workspace in which some things changed: what was done in it, by the day on which it was."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    def live(self) -> None:
        shell = self.shell
        shell.write("MEMORY.md", MEMORY.replace("- works at Stripe\n", "Since when.\n"))
        shell.git("commit", "-q", "-m", "to begin with", "MEMORY.md")
        self.on(
            "2026-03-06",
            "remember",
            "works at Stripe",
            "--key",
            "employer",
            "--section",
            "Employer",
            "--source",
            "user-stated",
        )
        self.on("2026-03-10", "log", "we deploy with Jenkins", "--fact", "--tag", "deploy")
        by_agent = ("--actor", "agent/main", "--reason", "new badge", "--confidence", "0.8")
        self.on(
            "2026-04-02",
            "remember",
            "works at Linear",
            "--key",
            "employer",
            "--section",
            "Employer",
            *by_agent,
        )
        instead = ("--supersedes", "we deploy with Jenkins")
        self.on(
            "2026-04-09",
            "log",
            "deploys go through GitHub Actions",
            "--fact",
            "--tag",
            "deploy",
            "--tag",
            "ci",
            *instead,
        )
        memory = shell.folder / "MEMORY.md"
        memory.write_text(memory.read_text().replace("works at Linear", "works at Figma"))
        dated = dict.fromkeys(
            ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-05-01T10:00:00+00:00"
        )
        shell.world.git(
            shell.folder, "commit", "-q", "-m", "moved on", "MEMORY.md", environment=dated
        )

    def on(self, day: str, *words: str) -> Done:
        self.shell.patch.setenv("MDMEM_NOW", f"{day}T12:00:00")
        return self.shell.run(*words)

    def now(self, *words: str) -> Done:
        return self.on(LATER, *words)


@pytest.fixture
def year(shell: Shell, made_once: MadeOnce) -> Year:
    year = Year(shell)
    made_once("year", year.live)
    shell.patch.chdir(shell.folder)
    shell.patch.setenv("MDMEM_NOW", "2026-04-09T12:00:00")
    return year


class TestHistory:
    @pytest.mark.parametrize(
        ("first", "second"),
        [("Größe", "GRÖSSE"), ("O\u0308lstand", "ölstand"), ("Ключ от сарая", "КЛЮЧ  ОТ САРАЯ")],
    )
    def test_of_a_key_in_other_letters(self, year: Year, first: str, second: str):
        ids = [
            year.now("remember", value, "--key", key, "--json").answer["added"][0]
            for key, value in ((first, "42"), (second, "43"))
        ]
        for key in (first, second):
            answer = year.now("history", key, "--json").answer
            assert [link["id"] for link in answer["chain"]] == ids
            assert [
                fact["id"] for fact in year.now("facts", "--key", key, "--json").answer["facts"]
            ] == ids[1:]
            assert [hit["fact"] for hit in year.now("search", key, "--json").answer["hits"]] == ids[
                1:
            ]
        assert year.now("forget", second, "--dry-run", "--json").answer["removed"] == ids[1:]
        logged = year.now("log", f"{second}: 44", "--fact", "--json").answer["added"][0]
        assert {
            fact["id"] for fact in json.loads(year.now("history", first, "--json").err)["facts"]
        } == {ids[1], logged}

    def test_on_a_terminal_in_colour_unless_it_is_not_wanted(self, year: Year):
        words = mdmem("history", "Employer", "-p")
        assert (
            "works at \x1b[31m[-Linear-]\x1b[0m\x1b[32m{+Figma+}\x1b[0m"
            in on_terminal(year.shell, *words).out
        )
        shown = on_terminal(year.shell, *words, NO_COLOR="1").out
        assert "works at [-Linear-]{+Figma+}" in shown
        assert "\x1b" not in shown


class TestMarks:
    def test_of_a_log_s_line(self, year: Year):
        log = (year.shell.folder / "memory/2026-04-09.md").read_text()
        answer = year.on("2026-05-10", "forget", ACTIONS, "--dry-run", "--json").answer
        assert (answer["changed"], answer["commit"], answer["diff"], answer["removed"]) == (
            True,
            None,
            "",
            [ACTIONS],
        )
        assert year.on("2026-05-10", "forget", ACTIONS).status == 0
        assert (year.shell.folder / "memory/2026-04-09.md").read_text() == log
        assert "Mdmem-Op: retract\n" in year.shell.git("log", "-1", "--format=%B")
        assert ACTIONS not in year.now("facts").out

    def test_what_takes_the_place_of_what_stands(self, year: Year):
        done = year.on(
            "2026-05-10",
            "remember",
            "works at Figma",
            "--key",
            "employer",
            "--section",
            "Employer",
            "--supersedes",
            ACTIONS,
        )
        assert re.fullmatch(
            rf"superseded {ACTIONS} in MEMORY.md: Memory > Work > Employer \(commit "
            rf"[0-9a-f]{{10}}\)\n",
            done.out,
        )
        assert "Mdmem-Op: supersede\n" in year.shell.git("log", "-1", "--format=%B")


class TestRevert:
    def test_what_is_not_committed_stays(self, year: Year):
        """A person's pending edits become a commit of their own, and what is staged
        stays staged.
        """
        year.shell.write(
            "MEMORY.md", (year.shell.folder / "MEMORY.md").read_text() + "\n- by hand\n"
        )
        done = year.now("revert", FIGMA)
        assert done.err.startswith(
            "mdmem: committed the pending edits of MEMORY.md first, as yours\n"
        )
        assert "- by hand" in year.now("show", "MEMORY.md").out
        assert "A  staged.txt\n" in year.shell.git("status", "--porcelain")


class TestShallow:
    @pytest.fixture
    def clone(self, year: Year, tmp_path: Path) -> Year:
        """A clone that begins with the last commit but one."""
        year.shell.git(
            "clone", "-q", "--depth", "2", f"file://{year.shell.folder}", str(tmp_path / "clone")
        )
        year.shell.patch.chdir(tmp_path / "clone")
        return year

    def test_where_it_begins_nothing_is_taken_back(self, clone: Year):
        for name, value in (("name", NAME), ("email", EMAIL)):
            clone.shell.world.git(Path(), "config", f"user.{name}", value)
        assert clone.now("revert", "HEAD").status == 0
        assert json.loads(clone.now("revert", "HEAD~2", "--json").err)["error"] == "cannot-revert"


def test_a_commit_that_a_merge_brought_can_be_taken_back(year: Year):
    year.shell.git("checkout", "-q", "-b", "side")
    year.on("2026-05-10", "remember", "sleeps late")
    side = year.shell.git("rev-parse", "HEAD").strip()
    year.shell.git("checkout", "-q", "main")
    commits(year.shell, "HEAD")
    year.shell.git("reset", "-q")  # a merge takes nothing that is staged
    year.shell.git("merge", "-q", "--no-edit", "side")
    assert year.now("revert", side).status == 0
    assert "sleeps late" not in year.now("show", "MEMORY.md").out


class TestReview:
    @pytest.fixture
    def untidy(self, shell: Shell) -> Shell:
        text = "# Memory\n\n## Facts\n\n- on leave (until 2026-01-31)\n- pet: cat\n- pet: dog\n- likes tea\n- likes tea\n- deploys on Monday\n"
        shell.write("MEMORY.md", text)
        shell.git("commit", "-q", "-m", "untidy", "MEMORY.md")
        shell.run("log", "deploys on Friday", "--fact")
        pair = f"{fact_id('deploys on Monday')} {fact_id('deploys on Friday')}"
        shell.git(
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            f"as of 0.1\n\nMdmem-Op: supersede\nMdmem-Supersedes: {pair}",
        )
        return shell

    def test_apply_does_what_is_safe_one_commit_each(self, untidy: Shell):
        head = untidy.git("rev-parse", "HEAD").strip()
        done = untidy.run("review", "--apply", "--reason", "tidy")
        assert [line.split(": ")[0] for line in done.out.splitlines()][:3] == ["done"] * 3
        assert untidy.git("rev-list", "--count", f"{head}..HEAD").strip() == "3"
        assert untidy.git("log", "--format=%b", f"{head}..HEAD").count("Mdmem-Reason: tidy") == 3
        kept = (untidy.folder / "MEMORY.md").read_text()
        assert kept == "# Memory\n\n## Facts\n\n- pet: cat\n- pet: dog\n- likes tea\n"
        answer = untidy.run("review", "--apply", "--json").answer
        assert (answer["applied"], [advice["kind"] for advice in answer["advice"]]) == (
            [],
            ["contradiction"],
        )

    def test_the_commands_do_it_too(self, untidy: Shell):
        while safe := [
            advice for advice in untidy.run("review", "--json").answer["advice"] if advice["safe"]
        ]:
            assert untidy.run(*safe[0]["command"][1:]).status == 0, shlex.join(safe[0]["command"])
        assert (
            untidy.folder / "MEMORY.md"
        ).read_text() == "# Memory\n\n## Facts\n\n- pet: cat\n- pet: dog\n- likes tea\n"


def test_a_mark_that_a_merge_brought_goes_with_the_commit_that_made_it(year: Year):
    def named_in_search() -> list[str]:
        return re.findall(r"GitHub|Buildkite", year.now("search", "deploys").out)

    year.shell.git("checkout", "-q", "-b", "side")
    old = ("--supersedes", "deploys go through GitHub Actions")
    year.on("2026-05-10", "log", "deploys go through Buildkite", "--fact", *old)
    side = year.shell.git("rev-parse", "HEAD").strip()
    year.shell.git("checkout", "-q", "main")
    year.on("2026-05-11", "log", "on the line")
    year.shell.git("reset", "-q")  # a merge takes nothing that is staged
    year.shell.git("merge", "-q", "--no-edit", "side")
    assert named_in_search() == ["Buildkite"]
    year.shell.git("revert", "--no-edit", side)
    assert named_in_search() == ["GitHub"]
    year.shell.git("revert", "--no-edit", "HEAD")
    assert named_in_search() == ["Buildkite"]
    taken_back = year.now("revert", side)
    assert (taken_back.status, named_in_search()) == (0, ["GitHub"])
    assert year.now("revert", "HEAD").status == 0
    assert named_in_search() == ["Buildkite"]
