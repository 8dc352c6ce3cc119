"""`mdmem stats`, and the figures that a search leaves for it."""

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from commandline import NOW, TOKEN, Shell, elsewhere, on_terminal
from workspaces import STATE, without_state

from mdmem import events
from mdmem.events import Quality
from mdmem.folder import files


def state(shell: Shell) -> Path:
    return shell.folder / STATE


def last(shell: Shell) -> events.Event:
    return events.read_events(state(shell))[-1]


def test_weeks_are_those_up_to_the_time_that_is_set(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MDMEM_NOW", "2026-01-07T10:00:00")
    shell.run("search", "stripe")
    answer = shell.run("stats", "search", "--json", "--weeks", "2").answer
    assert [(week["week"], week["searches"]) for week in answer["weeks"]] == [("2026-W02", 1)]


class TestWhatASearchLeaves:
    def test_how_its_answer_looked(self, shell: Shell):
        shell.run("search", "stripe")
        quality = last(shell).quality
        assert quality is not None
        assert (quality.words, quality.text, quality.behind, quality.query) == (1, 1, False, None)
        assert quality.hits == quality.text + quality.heading + quality.beside
        assert quality.first is not None
        assert quality.first > 0
        by_the_real_clock = (datetime.now(UTC).date() - datetime.fromisoformat(NOW).date()).days
        assert quality.age == max(0, by_the_real_clock)

    def test_an_index_that_is_behind(self, shell: Shell):
        shell.write("mdmem.toml", "lock_timeout = 0.1\n")
        shell.run("reindex")
        shell.write("memory/new.md", "- new\n")
        with files.lock(state(shell) / files.INDEX_LOCK, 1):
            assert shell.run("search", "stripe", "--json", "--explain").answer["stale"]
        quality = last(shell).quality
        assert quality is not None
        assert quality.behind

    def test_nothing_found(self, shell: Shell):
        shell.run("search", "zebra")
        line = (state(shell) / events.EVENTS_NAME).read_text().splitlines()[-1]
        assert {
            name: value for name, value in json.loads(line).items() if name not in ("time", "ms")
        } == {
            **{"verb": "search", "outcome": "done", "code": None, "actor": None, "session": None},
            **{"words": 1, "hits": 0, "text": 0, "heading": 0, "beside": 0},
        }

    def test_the_query_only_where_the_settings_say_so(self, shell: Shell):
        shell.run("search", "zebra crossing")
        assert "zebra" not in (state(shell) / events.EVENTS_NAME).read_text()
        shell.write("mdmem.toml", "log_queries = true\n")
        shell.run("search", "zebra", "crossing", TOKEN)
        assert (
            last(shell).quality or Quality(0, 0)
        ).query == "zebra crossing [REDACTED:github-token]"
        assert TOKEN not in (state(shell) / events.EVENTS_NAME).read_text()
        shell.run("search", "zebra " * 1000)
        assert len((state(shell) / events.EVENTS_NAME).read_text().splitlines()[-1]) < 600

    def test_a_purge_takes_queries_along(self, shell: Shell):
        shell.write("mdmem.toml", "log_queries = true\n")
        shell.run("search", "the heating")
        shell.git("add", ".")
        shell.git("commit", "-q", "-m", "all")
        assert shell.run("forget", "the heating was mended", "--purge", "--yes").status == 0
        assert b"heating" not in b"".join(
            path.read_bytes() for path in state(shell).glob("events*")
        )

    def test_events_without_queries_outlast_a_purge(self, shell: Shell):
        shell.run("search", "the heating")
        shell.git("add", ".")
        shell.git("commit", "-q", "-m", "all")
        assert shell.run("forget", "the heating was mended", "--purge", "--yes").status == 0
        assert [event.verb for event in events.read_events(state(shell))] == ["search", "purge"]


def test_what_is_seldom_asked_for_is_loaded_where_it_is_asked_for(shell: Shell):
    code = "import sys; from mdmem.cli import main; main(['search', 'stripe']); print(*sys.modules)"
    loaded = shell.world.run(shell.folder, [sys.executable, "-c", code]).stdout.split()
    unneeded = {
        "mdmem.health.stats",
        "mdmem.show.figures",
        "statistics",
        "mdmem.words",
        "mdmem.vectors",
    }
    assert not unneeded & set(loaded)


class TestStats:
    def test_verbs(self, shell: Shell):
        shell.run("search", "stripe")
        shell.run("log", "zebra one")
        shell.run("search", "zebra", "--since", "zebra")
        out = shell.run("stats").out
        assert re.search(r"^search +2 .* 1 +- +-  #$", out, re.MULTILINE)
        answer = shell.run("stats", "--json").answer
        assert list(answer) == ["weeks", "verbs", "damaged"]
        assert [(row["verb"], row["count"], row["refused"]) for row in answer["verbs"]] == [
            ("search", 2, 1),
            ("log", 1, 0),
        ]

    def test_searches(self, shell: Shell):
        for word in ("stripe", "zebra", "tea", "rooms"):
            shell.run("search", word)
        head, row = shell.run("stats", "search").out.splitlines()
        assert head.startswith("week      searches  no hit")
        assert re.fullmatch(r"\d{4}-W\d\d +4 +25%.*  #{15}\.{5}", row)
        answer = shell.run("stats", "search", "--json").answer
        assert list(answer) == ["weeks", "drift", "damaged"]
        (week,) = answer["weeks"]
        assert (week["searches"], week["without_hit"]) == (4, 0.25)

    def test_nothing_yet(self, shell: Shell):
        assert (shell.run("stats").out, shell.run("stats").err) == (
            "",
            "mdmem: nothing was done in these weeks\n",
        )
        assert shell.run("stats", "search").err == "mdmem: no searches in these weeks\n"
        assert shell.run("stats", "search", "--json").answer == {
            "weeks": [],
            "drift": [],
            "damaged": 0,
        }

    def test_it_changes_nothing_and_is_no_event(self, shell: Shell):
        shell.run("search", "tea")
        before = (shell.snapshot(), (state(shell) / events.EVENTS_NAME).read_bytes())
        shell.run("stats")
        shell.run("stats", "search")
        assert (shell.snapshot(), (state(shell) / events.EVENTS_NAME).read_bytes()) == before

    def test_damaged_lines_are_counted(self, shell: Shell):
        shell.run("search", "tea")
        with (state(shell) / events.EVENTS_NAME).open("ab") as file:
            file.write(b'{"half\nodd\n')
        done = shell.run("stats", "search")
        assert (done.status, done.err) == (
            0,
            "mdmem: lines of the events that could not be read: 2\n",
        )
        assert shell.run("stats", "--json").answer["damaged"] == 2

    def test_a_file_that_cannot_be_read(self, shell: Shell):
        shell.run("reindex")
        (state(shell) / events.EVENTS_NAME).unlink()
        (state(shell) / events.EVENTS_NAME).mkdir()
        done = shell.run("stats", "--json")
        assert (done.status, json.loads(done.err)["error"]) == (1, "storage")

    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (("serch",), "no figures for 'serch'", "Did you mean search?"),
            (
                ("zebra",),
                "no figures for 'zebra'",
                "mdmem stats, mdmem stats search, mdmem stats context or mdmem stats runs",
            ),
            (("--weeks", "0"), "--weeks must be between 1 and 520, not 0", ""),
            (("search", "--weeks", "521"), "--weeks must be between 1 and 520, not 521", ""),
        ],
    )
    def test_wrong_usage(self, shell: Shell, words: tuple[str, ...], message: str, hint: str):
        done = shell.run("stats", *words, "--json")
        assert (done.status, json.loads(done.err)) == (
            2,
            {"error": "usage", "message": message, "hint": hint},
        )

    def test_outside_of_a_workspace(self, shell: Shell):
        elsewhere(shell)
        assert json.loads(shell.run("stats", "--json").err)["error"] == "no-workspace"

    def test_plain_with_no_color(self, shell: Shell):
        shell.run("search", "tea")
        command = (sys.executable, "-m", "mdmem", "stats", "search")
        assert "\x1b" in on_terminal(shell, *command).out
        assert "\x1b" not in on_terminal(shell, *command, NO_COLOR="1").out


class TestExplain:
    def test_text(self, shell: Shell):
        out = shell.run("search", "heats", "--explain").out
        first = out.splitlines()[:4]
        assert first[1:3] == ["    the heating was mended", first[2]]
        assert re.fullmatch(r"      score \d+\.\d\d", first[2])
        assert re.match(r'      \+\d\.\d\d  "heats": \d\.\d\d in the entry as "heating"', first[3])
        assert re.search(r"^      x\d\.\d\d  confidence 0\.95$", out, re.MULTILINE)

    @pytest.mark.parametrize(
        "more", [(), ("--history",), ("--as-of", "today")], ids=["now", "history", "as of"]
    )
    def test_parts_times_factors_are_the_score(self, shell: Shell, more: tuple[str, ...]):
        answer = shell.run(
            "search", "when was the heating mended", "--explain", "--json", *more
        ).answer
        assert answer["hits"]
        for hit in answer["hits"]:
            score = sum(part["score"] for part in hit["explain"]["parts"])
            for factor in hit["explain"]["factors"]:
                assert list(factor) == ["name", "value"]
                score *= factor["value"]
            assert score == pytest.approx(hit["score"], rel=1e-3, abs=1e-3)

    def test_what_is_not_committed(self, shell: Shell):
        out = shell.run("search", "committed yet", "--explain").out
        assert "      x0.99  uncommitted, so written by a person" in out

    def test_an_index_in_memory(self, shell: Shell):
        without_state(shell.patch)
        done = shell.run("search", "stripe", "--explain")
        assert "in the entry" in done.out
        assert "searched a temporary one" in done.err

    def test_unasked_nothing_is_explained(self, shell: Shell):
        assert "explain" not in shell.run("search", "stripe", "--json").answer["hits"][0]
        assert "score" not in shell.run("search", "stripe").out
