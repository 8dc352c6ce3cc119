"""`mdmem stats`, and the figures that a search leaves for it."""

import json
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
    shell.run("reindex")
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
    def test_it_changes_nothing_and_is_no_event(self, shell: Shell):
        shell.run("search", "tea")
        before = (shell.snapshot(), (state(shell) / events.EVENTS_NAME).read_bytes())
        shell.run("stats")
        shell.run("stats", "search")
        assert (shell.snapshot(), (state(shell) / events.EVENTS_NAME).read_bytes()) == before

    def test_a_file_that_cannot_be_read(self, shell: Shell):
        shell.run("reindex")
        (state(shell) / events.EVENTS_NAME).unlink()
        (state(shell) / events.EVENTS_NAME).mkdir()
        done = shell.run("stats", "--json")
        assert (done.status, json.loads(done.err)["error"]) == (1, "storage")

    def test_outside_of_a_workspace(self, shell: Shell):
        elsewhere(shell)
        assert json.loads(shell.run("stats", "--json").err)["error"] == "no-workspace"

    def test_plain_with_no_color(self, shell: Shell):
        shell.run("search", "tea")
        command = (sys.executable, "-m", "mdmem", "stats", "search")
        assert "\x1b" in on_terminal(shell, *command).out
        assert "\x1b" not in on_terminal(shell, *command, NO_COLOR="1").out


class TestExplain:
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

    def test_an_index_in_memory(self, shell: Shell):
        without_state(shell.patch)
        done = shell.run("search", "stripe", "--explain")
        assert "in the entry" in done.out
        assert "searched a temporary one" in done.err
