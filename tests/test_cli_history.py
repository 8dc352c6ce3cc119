"""The commands that look back, take back and tidy up, as a user meets them: a year in the life of a
workspace.
"""

import json
import re
import shlex
from datetime import datetime
from pathlib import Path

import pytest
from commandline import (
    FACT,
    HIT,
    MEMORY,
    NOW,
    WRITE,
    Done,
    MadeOnce,
    Shell,
    commits,
    mdmem,
    on_terminal,
)
from conftest import EMAIL, NAME

from mdmem.text.facts import fact_id

STRIPE, LINEAR, FIGMA = (
    fact_id(f"employer: works at {name}") for name in ("Stripe", "Linear", "Figma")
)
JENKINS, ACTIONS = fact_id("we deploy with Jenkins"), fact_id("deploys go through GitHub Actions")
LATER = "2026-06-01"
REVISION = [
    "commit",
    "time",
    "author",
    "actor",
    "op",
    "source",
    "confidence",
    "reason",
    "diff",
    "text",
]
LINK = ["id", "text", "from", "to", "source", "confidence", "commit", "path", "section"]


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

    def commit(self, subject: str) -> str:
        """The first commit whose message has these words."""
        return self.shell.git("log", "--reverse", "--format=%H", f"--grep={subject}").split()[0]


@pytest.fixture
def year(shell: Shell, made_once: MadeOnce) -> Year:
    year = Year(shell)
    made_once("year", year.live)
    shell.patch.chdir(shell.folder)
    shell.patch.setenv("MDMEM_NOW", "2026-04-09T12:00:00")
    return year


class TestHistory:
    def test_where_only_labels_changed_the_line_is_shown_with_them(self, shell: Shell):
        shell.run("remember", "likes tea", "--section", "Preferences")
        shell.run("remember", "likes tea", "--section", "Preferences", "--tag", "home")
        line, *_ = shell.run("history", "Preferences").out.splitlines()
        assert line.endswith("  - likes tea  + likes tea #home")

    def test_of_a_section_newest_first(self, year: Year):
        done = year.now("history", "Employer")
        lines = done.out.splitlines()
        assert done.err == f"mdmem: the name is also the key of fact {FIGMA}\n"
        assert re.fullmatch(
            r"2026-05-01 \d\d:\d\d  [0-9a-f]{10}  edited by hand \(author Ada Example\)  - employer: works at Linear  \+ employer: works at Figma",
            lines[0],
        )
        assert re.fullmatch(
            r'2026-04-02 \d\d:\d\d  [0-9a-f]{10}  remember, inferred 0.8, by agent/main, "new badge"  - .+ Stripe  \+ .+ Linear',
            lines[1],
        )
        assert re.fullmatch(
            r"2026-03-06 \d\d:\d\d  [0-9a-f]{10}  remember, user-stated 0.95  \+ employer: works at Stripe",
            lines[2],
        )
        assert len(lines) == 5
        assert year.now("history", "Employer", "-n", "2").out.splitlines() == lines[:2]

    def test_word_by_word(self, year: Year):
        shown = year.now("history", "Employer", "-p").out
        assert "    - employer: works at [-Linear-]{+Figma+}\n\n2026-04-02 12:00  " in shown
        assert "\x1b" not in shown

    def test_of_a_section_as_json(self, year: Year):
        answer = year.now("history", "Employer", "--json").answer
        assert list(answer) == ["path", "section", "revisions", "also"]
        assert answer["also"] == [{"sort": "key", "name": FIGMA}]
        assert list(year.now("history", "Pets", "--json").answer) == [
            "path",
            "section",
            "revisions",
        ]
        assert (answer["path"], answer["section"]) == ("MEMORY.md", "Memory > Work > Employer")
        by_hand, by_agent, *_ = answer["revisions"]
        assert list(by_agent)[: len(REVISION)] == REVISION
        assert by_agent["commit"] == year.commit("works at Linear")
        assert (by_agent["op"], by_agent["source"], by_agent["confidence"]) == (
            "remember",
            "inferred",
            0.8,
        )
        assert (by_agent["actor"], by_agent["reason"], by_agent["author"]) == (
            "agent/main",
            "new badge",
            "Ada Example",
        )
        assert datetime.fromisoformat(by_agent["time"]).isoformat() == "2026-04-02T12:00:00+00:00"
        assert "-- employer: works at Stripe\n+- employer: works at Linear\n" in by_agent["diff"]
        assert by_agent["text"].endswith("- employer: works at Linear")
        assert (by_hand["op"], by_hand["source"], by_hand["confidence"]) == (
            None,
            "user-stated",
            0.95,
        )

    @pytest.mark.parametrize(
        "words",
        [f"employer: works at {name}" for name in ("Stripe", "Linear", "Figma")]
        + [LINEAR, LINEAR[:6]],
    )
    def test_of_a_fact_oldest_first(self, year: Year, words: str):
        assert re.fullmatch(
            rf"2026-03-06 12:00 - 2026-04-02 12:00  {STRIPE}  employer: works at Stripe  \(superseded\)\n"
            rf"    [0-9a-f]{{10}}  remember, user-stated 0.95  MEMORY.md: Memory > Work > Employer\n"
            rf"2026-04-02 12:00 - 2026-05-01 10:00  {LINEAR}  employer: works at Linear  \(superseded\)\n"
            rf'    [0-9a-f]{{10}}  remember, inferred 0.8, by agent/main, "new badge"  MEMORY.md: Memory > Work > Employer\n'
            rf"2026-05-01 10:00 -                   {FIGMA}  employer: works at Figma  \(current\)\n"
            rf"    [0-9a-f]{{10}}  edited by hand \(author Ada Example\)  MEMORY.md: Memory > Work > Employer\n",
            year.now("history", words).out,
        )

    def test_of_a_fact_word_by_word(self, year: Year):
        assert (
            "\n    employer: works at [-Stripe-]{+Linear+}\n"
            in year.now("history", FIGMA, "-p").out
        )
        assert (
            year.now("history", FIGMA, "-n", "1")
            .out.splitlines()[0]
            .startswith(f"2026-05-01 10:00 -                   {FIGMA}")
        )

    def test_of_a_fact_as_json(self, year: Year):
        answer = year.now("history", LINEAR, "--json").answer
        assert list(answer) == ["fact", "status", "chain"]
        assert (answer["fact"], answer["status"]) == (LINEAR, "superseded")
        assert [link["id"] for link in answer["chain"]] == [STRIPE, LINEAR, FIGMA]
        stripe, linear, figma = answer["chain"]
        assert list(linear)[: len(LINK)] == LINK
        assert (linear["from"], linear["to"]) == (
            "2026-04-02T12:00:00+00:00",
            "2026-05-01T10:00:00+00:00",
        )
        assert (linear["actor"], linear["reason"], linear["op"]) == (
            "agent/main",
            "new badge",
            "remember",
        )
        assert (figma["to"], figma["status"], figma["op"]) == (None, "current", None)
        assert stripe["commit"] == year.commit("employer: works at Stripe")

    def test_of_other_line_ends(self, year: Year):
        rooms = "# Rooms\n\n- likes dark rooms\n"
        for text in (rooms.replace("\n", "\r\n"), rooms.replace("\n", "\r\n") + "- and tea\r\n"):
            year.shell.write("memory/rooms.md", text)
            year.shell.git("commit", "-q", "-m", "line ends", "memory/rooms.md")
        more, ends, _ = year.now("history", "Rooms", "--file", "memory/rooms.md", "--json").answer[
            "revisions"
        ]
        assert (
            more["diff"]
            == "@@ -1,3 +1,4 @@\n # Rooms\r\n \r\n - likes dark rooms\r\n+- and tea\r\n"
        )
        assert (
            ends["diff"] == "@@ -1,3 +1,3 @@\n-# Rooms\n-\n+# Rooms\r\n+\r\n - likes dark rooms\r\n"
        )

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

    def test_of_a_fact_that_a_merge_brought(self, year: Year):
        year.shell.git("checkout", "-q", "-b", "side")
        year.on("2026-05-10", "log", "on the side", "--actor", "agent/side", "--reason", "why not")
        year.shell.git("checkout", "-q", "main")
        year.on("2026-05-11", "log", "on the line")
        year.shell.git("reset", "-q")  # a merge takes nothing that is staged
        year.shell.git("merge", "-q", "--no-edit", "side")
        assert ', by agent/side, "why not"  ' in year.now("history", "on the side").out

    def test_who_claims_that_the_user_said_so(self, year: Year):
        year.on(
            "2026-05-10",
            "remember",
            "coffee",
            "--key",
            "drink",
            "--actor",
            "agent/main",
            "--source",
            "user-stated",
        )
        assert (
            "user-stated (claimed by agent/main) 0.95" in year.now("history", "drink: coffee").out
        )
        assert (
            year.now("history", "drink: coffee", "--json").answer["chain"][-1]["claimed_by"]
            == "agent/main"
        )

    def test_of_a_file_and_of_all(self, year: Year):
        lines = year.now("history", "--file", "memory/2026-04-09.md").out.splitlines()
        assert any("  log  memory/2026-04-09.md: 2026-04-09 > 12:00  + " in line for line in lines)
        newest = year.now("history", "-n", "3")
        times = [line.partition("  ")[0] for line in newest.out.splitlines()]
        assert times == ["2026-05-01 10:00", "2026-04-09 12:00", "2026-04-02 12:00"], (
            "a row for each commit"
        )
        assert newest.err == "mdmem: Older changes not shown (use -n 6)\n"
        assert year.now("history", "-n", "100").err == ""
        answer = year.now("history", "-n", "1", "--json").answer
        assert (answer["path"], answer["section"]) == ("", "")
        assert (answer["revisions"][0]["path"], answer["revisions"][0]["section"]) == (
            "MEMORY.md",
            "Memory > Work > Employer",
        )

    def test_of_all_a_section_that_is_back_has_only_what_is_new(self, year: Year):
        year.on("2026-05-10", "edit-section", "Pets", "--delete", "--subtree")
        year.on("2026-05-11", "remember", "a heron", "--section", "Pets", "--create")
        newest = year.now("history", "-n", "1").out
        assert newest.endswith("  MEMORY.md: Memory > Pets  + a heron\n")
        assert year.now("history", "Pets", "-n", "1").out.endswith("  + a heron\n")

    def test_a_commit_that_states_two_things_has_two_rows(self, year: Year):
        git = year.shell.git
        git("checkout", "-q", "-b", "side")
        year.on(
            "2026-05-10",
            "remember",
            "coffee is black",
            "--section",
            "Pets",
            "--source",
            "user-stated",
        )
        year.on(
            "2026-05-11",
            "remember",
            "tea is green",
            "--section",
            "Work",
            "--source",
            "auto",
            "--actor",
            "agent/x",
        )
        git("checkout", "-q", "-")
        git("merge", "-q", "--squash", "side")
        git("commit", "-q", "--no-edit")
        rows = year.now("history").out.splitlines()
        assert [row.partition("  ")[2].partition("  ")[0] for row in rows[:2]] == [
            year.shell.git("rev-parse", "HEAD")[:10]
        ] * 2
        for number in (1, 2, 3):
            assert year.now("history", "-n", str(number)).out.splitlines() == rows[:number]
        assert year.now("history", "-n", "1").err == "mdmem: Older changes not shown (use -n 2)\n"

    def test_of_a_section_that_was_called_otherwise(self, year: Year):
        year.on("2026-05-10", "edit-section", "Employer", "--rename", "Company")
        lines = year.now("history", "Company").out.splitlines()
        assert re.fullmatch(
            r"2026-05-10 \d\d:\d\d  [0-9a-f]{10}  rename  - ### Employer  \+ ### Company", lines[0]
        )
        assert (
            "edited by hand (author Ada Example)  MEMORY.md: Memory > Work > Employer  - "
            in lines[1]
        )

    def test_of_a_commit_that_changes_several_facts(self, shell: Shell):
        shell.git("commit", "-q", "-a", "-m", "before")
        items = "- likes owls\n  and larks\n- likes figs\n- likes plums\n"
        for text in (f"# Memory\n\n## Likes\n\n{items}", "# Memory\n\n## Likes\n\n- likes figs\n"):
            shell.write("MEMORY.md", text)
            shell.git("commit", "-q", "-a", "-m", "likes")
        removed, added = shell.run("history", "Likes").out.splitlines()
        assert removed.endswith("  - likes owls (and 1 more)")
        assert added.endswith("  + likes owls (and 2 more)")
        shell.write(
            "MEMORY.md", "# Memory\n\n- likes rye\n\n## Likes\n\n- likes figs\n- likes tea\n"
        )
        shell.git("commit", "-q", "-a", "-m", "likes")
        assert shell.run("history", "-n", "1").out.endswith(
            "MEMORY.md: Memory > Likes  + likes tea (and 1 more)\n"
        )

    def test_of_what_is_not_committed(self, year: Year):
        year.shell.write("MEMORY.md", "# Memory\n\n## New\n\n- x\n")
        assert (year.now("history", "New").out, year.now("history", "New").err) == (
            "",
            "mdmem: nothing is committed yet\n",
        )

    def test_on_a_terminal_in_colour_unless_it_is_not_wanted(self, year: Year):
        words = mdmem("history", "Employer", "-p")
        assert (
            "works at \x1b[31m[-Linear-]\x1b[0m\x1b[32m{+Figma+}\x1b[0m"
            in on_terminal(year.shell, *words).out
        )
        shown = on_terminal(year.shell, *words, NO_COLOR="1").out
        assert "works at [-Linear-]{+Figma+}" in shown
        assert "\x1b" not in shown


class TestBlame:
    def test_lines(self, year: Year):
        year.shell.write(
            "MEMORY.md",
            (year.shell.folder / "MEMORY.md")
            .read_text()
            .replace("Figma\n", "Figma\n- not yet\twith a tab\n"),
        )
        lines = year.now("blame", "Employer").out.splitlines()
        assert re.fullmatch(r"[0-9a-f]{10} 2026-03-05 user-stated  ### Employer", lines[0])
        assert re.fullmatch(
            r"[0-9a-f]{10} 2026-05-01 user-stated  - employer: works at Figma", lines[-2]
        )
        assert lines[-1] == f"{'uncommitted':<33}  - not yet\twith a tab"

    def test_json(self, year: Year):
        answer = year.now("blame", "Employer", "--json").answer
        assert list(answer) == ["path", "section", "lines"]
        assert (answer["path"], answer["section"]) == ("MEMORY.md", "Memory > Work > Employer")
        last = answer["lines"][-1]
        assert list(last) == [
            "line",
            "text",
            "commit",
            "time",
            "author",
            "source",
            "confidence",
            "cites",
        ]
        assert last | {"commit": "", "line": 0} == {
            **{
                "line": 0,
                "text": "- employer: works at Figma",
                "commit": "",
                "time": "2026-05-01T10:00:00+00:00",
            },
            **{"author": "Ada Example", "source": "user-stated", "confidence": 0.95, "cites": []},
        }

    def test_of_another_file_and_one_of_several(self, year: Year):
        assert year.now("blame", "Rooms", "--file", "memory/rooms.md").out.endswith(
            "  - likes dark rooms\n"
        )
        assert year.now("blame", "Twice", "--nth", "2").out.endswith("  - two\n")


class TestWhen:
    def test_came_and_went(self, year: Year):
        out = year.now("when", "works at Linear").out
        assert re.fullmatch(
            r"MEMORY.md: Memory > Work > Employer  added 2026-04-02 \([0-9a-f]{10}\), removed 2026-05-01 \([0-9a-f]{10}[^)]*\)\n",
            out,
        )
        assert re.search(
            r"added 2026-05-01 \([0-9a-f]{10}\), still there\n",
            year.now("when", "works at Figma").out,
        )

    def test_json(self, year: Year):
        answer = year.now("when", "works at Linear", "--json").answer
        assert answer == {
            "text": "works at Linear",
            "stays": [
                {
                    "path": "MEMORY.md",
                    "section": "Memory > Work > Employer",
                    "came": year.commit("works at Linear"),
                    "came_at": "2026-04-02T12:00:00+00:00",
                    "went": year.commit("moved on"),
                    "went_at": "2026-05-01T10:00:00+00:00",
                    "ended_by": {
                        "commit": year.commit("moved on"),
                        "time": "2026-05-01T10:00:00+00:00",
                        "author": "Ada Example",
                        "actor": None,
                        "op": None,
                        "reason": None,
                        "source": "user-stated",
                        "confidence": 0.95,
                    },
                    "merged": None,
                }
            ],
        }
        assert year.now("when", "works at Figma", "--json").answer["stays"][0]["went"] is None

    def test_never(self, year: Year):
        done = year.now("when", "works at Nowhere")
        assert (done.status, done.out, done.err) == (0, "", "mdmem: not found in any commit\n")
        assert year.now("when", "works at Nowhere", "--json").answer == {
            "text": "works at Nowhere",
            "stays": [],
        }


class TestSearch:
    def test_what_is_current(self, year: Year):
        assert "superseded" not in year.now("search", "works", "at").out
        assert [hit["fact"] for hit in year.now("search", "deploys", "--json").answer["hits"]] == [
            ACTIONS
        ]

    def test_history(self, year: Year):
        out = year.now("search", "works at", "--history").out
        assert f"[{STRIPE}] (superseded by {LINEAR})\n    employer: works at Stripe\n" in out
        year.on("2026-05-10", "forget", "drink: tea")
        assert re.search(
            r"\[[0-9a-f]{8}\] \(removed\)\n    drink: tea\n",
            year.now("search", "tea", "--history").out,
        )
        year.on("2026-05-10", "remember", "on leave", "--until", "2026-05-20")
        assert re.search(
            r"\[[0-9a-f]{8}\] \(expired\)\n    on leave \(until 2026-05-20\)\n",
            year.now("search", "leave", "--history").out,
        )
        hits = year.now("search", "works at", "--history", "--json").answer["hits"]
        assert {
            hit["fact"]: (hit["status"], hit["superseded_by"])
            for hit in hits
            if hit["fact"] in (STRIPE, FIGMA)
        } == {
            STRIPE: ("superseded", LINEAR),
            FIGMA: ("current", None),
        }

    def test_as_of_a_day(self, year: Year):
        done = year.now("search", "works at", "-n", "1", "--as-of", "2026-04-30")
        assert done.out.endswith(f"[{LINEAR}]\n    employer: works at Linear\n")
        commit = year.commit("Actions")
        assert done.err == "mdmem: Memory as of 2026-04-30\n"
        answer = year.now("search", "works at", "-n", "1", "--as-of", "2026-04-30", "--json").answer
        assert list(answer) == ["query", "as_of", "commits", "commit", "stale", "hits"]
        assert (answer["as_of"], answer["commit"], answer["commits"]) == (
            "2026-04-30",
            commit,
            [commit],
        )
        assert [(list(hit), hit["status"]) for hit in answer["hits"]] == [(HIT, "current")]

    def test_as_of_a_commit(self, year: Year):
        commit = year.commit("Jenkins")
        done = year.now("search", "deploy", "--as-of", commit[:12])
        assert f"[{JENKINS}]" in done.out
        assert done.err == f"mdmem: Memory as of {commit[:12]}\n"

    def test_nothing_found(self, year: Year):
        assert year.now("search", "zebra", "--as-of", "2026-04-30").err.endswith(
            "\nmdmem: no match\n"
        )
        assert year.now("search", "zebra", "--as-of", "2026-04-30", "--json").answer["hits"] == []


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
        assert (
            year.on("2026-05-10", "forget", ACTIONS, "--dry-run").out
            == "no text changes, only a commit\n"
        )
        assert (
            year.on("2026-05-10", "forget", ACTIONS).out
            == f"marked as forgotten in memory/2026-04-09.md:7 [{ACTIONS}] (line kept)\n"
        )
        assert (year.shell.folder / "memory/2026-04-09.md").read_text() == log
        assert "Mdmem-Op: retract\n" in year.shell.git("log", "-1", "--format=%B")
        told = year.now("changes", "-n", "1")
        assert re.search(r"\n +[0-9a-f]{10}  forget  memory/2026-04-09\.md", told.out)
        assert year.now("changes", "-n", "1", "--json").answer["changes"][0]["op"] == "retract"
        assert ACTIONS not in year.now("facts").out
        line = log.splitlines().index("- [fact] deploys go through GitHub Actions #deploy #ci") + 1
        told = f"#ci (forgotten)  memory/2026-04-09.md:{line}"
        assert told in year.now("facts", "--all").out

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

    def test_contradictions(self, year: Year):
        before = (year.shell.folder / "MEMORY.md").read_bytes()
        marked = year.on("2026-05-10", "contradicts", "employer: works at Figma", ACTIONS)
        assert re.fullmatch(
            r"marked as a contradiction in MEMORY.md: Memory > Work > Employer \(commit "
            r"[0-9a-f]{10}\)\n",
            marked.out,
        )
        assert (year.shell.folder / "MEMORY.md").read_bytes() == before
        again = year.now("contradicts", ACTIONS, FIGMA, "--json").answer
        assert (list(again), again["changed"], again["commit"]) == (WRITE, False, None)
        assert f"[{FIGMA}] (contradicts {ACTIONS})" in year.now("search", "Figma").out
        listed = year.now("conflicts").out
        assert re.search(
            rf"Two values for pet:\n    {fact_id('pet: cat')}  pet: cat  \(2026-03-05, user-stated 0.95, MEMORY.md:20, [0-9a-f]{{10}}\)\n"
            rf"    {fact_id('pet: dog')}  pet: dog  \(",
            listed,
        )
        assert re.search(
            rf"^Marked as contradicting, or changed differently on two branches:\n    {FIGMA}  "
            rf"employer: works at Figma  \(2026-05-01, user-stated 0.95, ",
            listed,
            re.MULTILINE,
        )
        answer = year.now("conflicts", "--json").answer["conflicts"]
        assert [list(each) for each in answer] == [["key", "one", "other"]] * 2
        by_key = next(each for each in answer if each["key"] == "pet")
        assert list(by_key["one"])[: len(HIT)] == HIT
        assert (by_key["one"]["text"], by_key["other"]["text"]) == ("pet: cat", "pet: dog")
        assert by_key["one"]["since"].startswith("2026-03-05")

    def test_resolved(self, year: Year):
        before = year.shell.snapshot()
        dry = year.now("conflicts", "--resolve", "pet: cat", "pet: dog", "--dry-run")
        assert (dry.out, year.shell.snapshot()) == ("no text changes, only a commit\n", before)
        done = year.now("conflicts", "--resolve", "pet: cat", "pet: dog", "--reason", "two pets")
        assert re.fullmatch(
            r"resolved a contradiction in MEMORY.md: Memory > Pets \(commit [0-9a-f]{10}\)\n",
            done.out,
        )
        assert (year.now("conflicts").out, year.now("conflicts").err) == (
            "",
            "mdmem: no conflicts\n",
        )
        assert year.now("conflicts", "--json").answer == {"stale": False, "conflicts": []}
        assert (
            list(year.now("conflicts", "--resolve", "pet: cat", "pet: dog", "--json").answer)
            == WRITE
        )


class TestRevert:
    def test_a_fact_s_last_change(self, year: Year):
        dry = year.now("revert", FIGMA, "--dry-run").out
        assert "-- employer: works at Figma\n+- employer: works at Linear\n" in dry
        done = year.now("revert", FIGMA, "--reason", "a mistake")
        assert re.fullmatch(
            r"reverted changes in MEMORY.md: Memory > Work > Employer, back: employer: works at"
            r" Linear, gone: employer: works at Figma \(commit [0-9a-f]{10}\)\n",
            done.out,
        )
        assert year.now("show", "Employer").out.endswith("- employer: works at Linear\n")
        assert "Mdmem-Reason: a mistake" in year.shell.git("log", "-1", "--format=%B")

    def test_a_commit_as_json(self, year: Year):
        answer = year.now("revert", year.commit("moved on"), "--json").answer
        assert list(answer) == WRITE
        assert (answer["changed"], answer["added"], answer["removed"]) == (True, [LINEAR], [FIGMA])
        assert answer["commit"] == year.shell.git("rev-parse", "HEAD").strip()

    def test_of_a_mark(self, year: Year):
        year.on("2026-05-10", "forget", ACTIONS)
        before = year.shell.snapshot()
        assert year.now("revert", ACTIONS, "--dry-run").out == "no text changes, only a commit\n"
        assert year.shell.snapshot() == before
        assert year.now("revert", ACTIONS).out.startswith(
            "reverted changes in memory/2026-04-09.md: 2026-04-09 > 12:00 "
        )
        assert ACTIONS in year.now("facts").out

    def test_a_conflict_shows_both_texts(self, year: Year):
        printed = json.loads(
            year.now("revert", year.commit("employer: works at Linear"), "--json").err
        )
        assert (printed["error"], printed["now"], printed["then"]) == (
            "revert-conflict",
            "- employer: works at Figma",
            "- employer: works at Stripe",
        )

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


class TestLabels:
    def test_tags(self, year: Year):
        assert year.now("tags").out == "ci 1\ndeploy 1\nhouse 1\n"
        assert year.now("tags", "--json").answer == {
            "stale": False,
            "tags": [{"tag": tag, "count": 1} for tag in ("ci", "deploy", "house")],
        }

    def test_recall(self, year: Year):
        year.on("2026-05-10", "log", "CI is slow", "--tag", "ci")
        shown = [
            line.split("  ")[1]
            for line in year.now(
                "recall", "--tag", "deploy", "--tag", "CI", "--tag", "house"
            ).out.splitlines()
        ]
        assert shown == [
            "[fact] deploys go through GitHub Actions #deploy #ci",
            "CI is slow #ci",
            "[fact] the heating was mended #house",
        ]
        answer = year.now("recall", "--tag", "ci", "--json").answer
        assert [list(fact) for fact in answer["facts"]] == [FACT, FACT]

    def test_none(self, shell: Shell):
        assert shell.run("recall", "--tag", "zebra").err == "mdmem: no facts\n"
        shell.write("memory/2026-03-05.md", "# Day\n")
        assert (shell.run("tags").out, shell.run("tags").err) == ("", "mdmem: no tags\n")

    def test_all_facts_with_how_they_stand(self, year: Year):
        out = year.now("facts", "--all").out
        assert f"{STRIPE}  employer: works at Stripe (superseded by {LINEAR})  MEMORY.md:" in out
        assert (
            f"{JENKINS}  [fact] we deploy with Jenkins #deploy (superseded by {ACTIONS})  memory/2026-03-10.md:"
            in out
        )
        assert "(" not in next(line for line in out.splitlines() if FIGMA in line.split("  ")[0])
        statuses = {
            fact["id"]: fact["status"]
            for fact in year.now("facts", "--all", "--json").answer["facts"]
        }
        assert (statuses[STRIPE], statuses[FIGMA]) == ("superseded", "current")


class TestShallow:
    @pytest.fixture
    def clone(self, year: Year, tmp_path: Path) -> Year:
        """A clone that begins with the last commit but one."""
        year.shell.git(
            "clone", "-q", "--depth", "2", f"file://{year.shell.folder}", str(tmp_path / "clone")
        )
        year.shell.patch.chdir(tmp_path / "clone")
        return year

    @pytest.mark.parametrize(
        "words",
        [("history", "Pets"), ("history", FIGMA), ("blame", "Employer"), ("when", "works at")],
        ids=" ".join,
    )
    def test_says_how_far_back_it_sees(self, clone: Year, words: tuple[str, ...]):
        done = clone.now(*words)
        assert (done.status, done.err) == (
            0,
            "mdmem: this clone is shallow: its history begins on 2026-04-09. To get the rest: git fetch --unshallow\n",
        )
        assert done.out
        assert clone.now(*words, "--json").err == ""

    def test_what_lies_before(self, clone: Year):
        printed = json.loads(clone.now("search", "works", "--as-of", "2026-04-08", "--json").err)
        assert (printed["error"], printed["message"]) == (
            "before-history",
            "2026-04-08 is before the first commit: memory begins on 2026-04-09",
        )
        assert "git fetch --unshallow" in printed["hint"]

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


class TestTasks:
    def test_from_start_to_done(self, shell: Shell):
        assert re.fullmatch(
            r"created memory/tasks.md: Tasks > Move it \(commit [0-9a-f]{10}\)\n",
            shell.run("task", "start", "Move it", "to Redis").out,
        )
        assert shell.run("task", "note", "move it", "-", stdin=b"half of it\n").out.startswith(
            "appended to memory/tasks.md: Tasks > Move it "
        )
        again = shell.run("task", "start", "Move it", "to Postgres")
        assert re.fullmatch(
            r"unchanged: memory/tasks.md: Tasks > Move it \(etag [0-9a-f]{12}\)\n- 2026-03-05 "
            r"09:30 goal: to Redis\n- 09:30 half of it\n",
            again.out,
        )
        resumed = shell.run("task", "start", "Move it", "x", "--json").answer
        assert (list(resumed), resumed["changed"]) == ([*WRITE, "text"], False)
        assert shell.run("task", "show").out == "Move it\n"
        assert shell.run("task", "show", "--json").answer == {"tasks": ["Move it"]}
        assert (
            shell.run("task", "show", "Move it").out
            == "- 2026-03-05 09:30 goal: to Redis\n- 09:30 half of it\n"
        )
        assert shell.run("task", "show", "Move it", "--json").answer["section"] == "Tasks > Move it"
        done = shell.run("task", "done", "Move it", "moved")
        logged = f"memory/2026-03-05.md: 2026-03-05 > 09:30 [{fact_id('Move it: moved')}]\n"
        assert done.out == f"done: Move it; logged to {logged}"
        again = shell.run("task", "done", "Move it", "moved")
        assert (again.out, again.err) == (f"unchanged: {logged}", "")
        assert (shell.folder / "memory/tasks.md").read_text() == "# Tasks\n\n"
        assert shell.run("task", "show").err == "mdmem: no tasks\n"

    def test_a_dry_run(self, shell: Shell):
        before = shell.snapshot()
        assert "+## Move it\n" in shell.run("task", "start", "Move it", "x", "--dry-run").out
        assert shell.snapshot() == before
        shell.run("task", "start", "Move it", "x")
        before = shell.snapshot()
        answer = shell.run("task", "done", "Move it", "moved", "--dry-run", "--json").answer
        assert "+- [task] Move it: moved" in answer["diff"]
        assert "-## Move it" in answer["diff"]
        assert shell.snapshot() == before

    def test_done_as_json(self, shell: Shell):
        shell.run("task", "start", "Move it", "x")
        answer = shell.run("task", "done", "Move it", "moved", "--json").answer
        assert list(answer) == WRITE
        assert (answer["path"], answer["added"], len(answer["removed"])) == (
            "memory/2026-03-05.md",
            [fact_id("Move it: moved")],
            1,
        )
        assert answer["commit"] == shell.git("rev-parse", "HEAD").strip()


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

    def test_lists_and_changes_nothing(self, untidy: Shell):
        before = untidy.snapshot()
        out = untidy.run("review").out
        assert (
            f"MEMORY.md:10: superseded-standing: 'deploys on Monday' was superseded by {fact_id('deploys on Friday')}"
            in out
        )
        assert f"    mdmem forget {fact_id('deploys on Monday')} --file MEMORY.md  (safe)\n" in out
        assert (
            "MEMORY.md:5: expired: 'on leave (until 2026-01-31)' was valid until 2026-01-31" in out
        )
        assert "contradiction: 'pet: cat' and 'pet: dog' contradict each other (pet)" in out
        assert untidy.snapshot() == before

    def test_json(self, untidy: Shell):
        answer = untidy.run("review", "--json").answer
        assert list(answer) == ["advice", "applied", "waiting"]
        assert {advice["kind"]: advice["safe"] for advice in answer["advice"]} | {
            "untouched": False
        } == {
            **{
                "superseded-standing": True,
                "expired": True,
                "duplicate": True,
                "contradiction": False,
                "untouched": False,
            },
        }
        assert [list(each) for each in answer["advice"]] == [
            ["kind", "path", "section", "line", "facts", "message", "command", "safe"]
        ] * len(answer["advice"])

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

    def test_what_is_old(self, shell: Shell):
        shell.git("checkout", "-q", "MEMORY.md")
        shell.patch.setenv("MDMEM_NOW", NOW.replace("2026", "2027"))
        assert (
            "MEMORY.md:8: untouched: Memory > Work was last changed on 2026-03-05, 365 days ago"
            in shell.run("review").out
        )

    def test_nothing(self, shell: Shell):
        shell.write("MEMORY.md", "# Memory\n\n- a fact\n")
        shell.git("commit", "-q", "-m", "tidy", "MEMORY.md")
        assert shell.run("review").err == "mdmem: nothing to tidy\n"


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
