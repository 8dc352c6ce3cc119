"""The model step of a digest: what is sent and when, what becomes of the answers, and what holds
when there is none.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from model_sessions import KEPT, SMALL, TALK, aged, entries, log_of, settings
from pi_sessions import START, stamp, write_session
from scripted_models import (
    MODEL,
    Reply,
    Script,
    ScriptedServer,
    command,
    fact,
    facts,
    in_turn,
    quoting,
    serving,
)
from workspaces import NOW, TOKEN, Desk, desk

from mdmem.llm import asking
from mdmem.memory import Memory
from mdmem.model.pipelines import Digest, DigestResult, RunResult
from mdmem.model.reads import ShowFigures
from mdmem.model.writes import Log, Purge
from mdmem.nights.digest import cursors
from mdmem.nights.steps import RUNS_NAME
from mdmem.show.runs import digest_text
from mdmem.show.values import to_json

ONE = fact([3], "The pipes behind wall 2 drip slowly", "drip slowly")
OTHER = fact([4], "The damp cellar has old shelves under the stairs, by wall 3", "damp cellar")


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def folder(at: Desk) -> Path:
    made = at.world.home / "sessions"
    made.mkdir()
    return made


@pytest.fixture
def server(at: Desk, folder: Path) -> Iterator[ScriptedServer]:
    with serving(quoting) as made:
        settings(at, folder, f'model_url = "{made.url}"', f'model_name = "{MODEL}"')
        yield made


def run(at: Desk) -> RunResult:
    with closing(Memory(at.workspace)) as memory:
        return memory.pipelines.run()


def digest(at: Desk, *paths: Path, **options: Any) -> DigestResult:
    with closing(Memory(at.workspace)) as memory:
        return memory.pipelines.digest(Digest(sessions=tuple(map(str, paths)), **options))


def last_line(at: Desk) -> dict[str, Any]:
    line: dict[str, Any] = json.loads((at.workspace.state / RUNS_NAME).read_text().splitlines()[-1])
    return line


class TestWhatIsSent:
    def test_what_the_rules_have_left_becomes_entries(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        aged(write_session(folder, *TALK))
        result = run(at).steps[0].record
        counted = result.figures
        assert (result.outcome, counted.by_rule, counted.by_model, counted.entries) == (
            "done",
            1,
            10,
            11,
        )
        assert result.figures.tokens > 0
        (data,) = server.data
        assert [line["n"] for line in data["lines"]] == list(range(3, 13))
        assert [each["text"] for each in data["known"]] == [KEPT]
        assert server.prompts[0].startswith("mdmem-extract/1\n")
        assert f"- [fact] {SMALL.format(5)}" in log_of(at)

    def test_the_commit_says_where_it_was_said_and_that_it_is_inferred(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        aged(write_session(folder, *TALK))
        run(at)
        message = at.git("log", "-1", "--format=%B")
        assert "Mdmem-Op: digest" in message
        assert "Mdmem-Source: inferred" in message
        assert "openclaw/5a1e0000#12" in message
        assert "Mdmem-Read: openclaw/5a1e0000#12 " in message

    def test_what_it_alone_found_is_not_asked_for_again_where_the_state_is_lost(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        aged(write_session(folder, *TALK[1:]))
        run(at)
        written = log_of(at)
        assert len(entries(at)) == 10
        shutil.rmtree(at.workspace.state)
        run(at)
        assert log_of(at) == written
        assert len(server.bodies) == 1

    def test_noise_secrets_and_what_rules_settled_are_not_sent(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        said = [
            *TALK,
            f"The old key of the cellar is {TOKEN} and nothing else.",
            "Why is that?",
            "agent: Let me look at the pump.",
            "tool: drowned",
        ]
        aged(write_session(folder, *said))
        run(at)
        sent = "".join(server.prompts)
        assert KEPT not in json.dumps(server.data[0]["lines"])
        for unsent in (TOKEN, "Why is that", "Let me look", "drowned"):
            assert unsent not in sent

    def test_what_an_agent_is_about_to_forget(self, at: Desk, folder: Path, server: ScriptedServer):
        path = aged(write_session(folder, *TALK[:7]), 1)
        run(at)
        assert server.bodies == []
        record = {
            "type": "compaction",
            "id": "c1",
            "parentId": f"{6:08x}",
            "timestamp": stamp(START),
            "summary": "The pipes drip.",
        }
        path.write_text(f"{path.read_text()}{json.dumps(record)}\n")
        run(at)
        (data,) = server.data
        assert [line["n"] for line in data["lines"]] == list(range(3, 9))
        run(at)
        assert len(server.bodies) == 1

    @pytest.mark.parametrize(
        ("said", "minutes", "count"),
        [(TALK[:7], 1, 0), (TALK[:7], 20, 1), (TALK, 1, 1), (TALK[:3], 20, 0)],
    )
    def test_ten_turns_or_idle_and_500_bytes(
        self,
        at: Desk,
        folder: Path,
        server: ScriptedServer,
        said: list[str],
        minutes: int,
        count: int,
    ):
        aged(write_session(folder, *said), minutes)
        run(at)
        assert len(server.bodies) == count

    def test_nothing_is_sent_twice_and_what_is_new_is_sent_later(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        aged(write_session(folder, *TALK))
        run(at)
        run(at)
        assert len(server.bodies) == 1
        aged(write_session(folder, *TALK, *(SMALL.format(number) for number in range(20, 30))))
        assert run(at).steps[0].record.figures.by_model == 10
        assert [line["n"] for line in server.data[1]["lines"]] == list(range(13, 23))

    def test_a_megabyte_makes_45_requests_at_most(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        server.script = in_turn(Reply(facts()))
        settings(
            at,
            folder,
            f'model_url = "{server.url}"',
            f'model_name = "{MODEL}"',
            "model_tokens_day = 10000000",
        )
        words = (
            "The cellar of Mrs Hall smells of oil, near the boiler that the plumber took apart. "
        )
        said = [f"agent: {words * 20}Number {number} is done." for number in range(600)]
        aged(write_session(folder, *said, every=timedelta(seconds=10)))
        size = sum(len(text.encode()) - 7 for text in said)
        assert size > 1_000_000
        run(at)
        assert 40 <= len(server.bodies) <= 45
        assert all(
            sum(len(line["text"].encode()) for line in data["lines"]) <= 24_000
            for data in server.data
        )
        assert (
            sum(len(line["text"].encode()) for data in server.data for line in data["lines"])
            > size * 0.97
        )

    def test_a_run_that_has_taken_long_leaves_the_rest_to_the_next(
        self, at: Desk, folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ):
        aged(write_session(folder, *TALK))
        with monkeypatch.context() as patch:
            patch.setattr("mdmem.nights.digest.model_step._MOST_SECONDS", -1)
            assert (run(at).steps[0].record.figures.entries, len(server.bodies)) == (1, 0)
        assert run(at).steps[0].record.figures.by_model == 10

    def test_permissive_rules_come_after_the_model(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        server.script = in_turn(Reply(facts()))
        aged(write_session(folder, *TALK[1:]), 60 * 25)
        result = digest(at)
        assert len(server.bodies) == 1
        assert {entry.confidence for entry in result.entries} == {0.3}
        assert len(result.entries) == 3

    def test_where_the_model_found_something_permissive_rules_draw_nothing(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        text = SMALL.format(2)
        server.script = in_turn(Reply(facts(fact([2], text, text))))
        aged(write_session(folder, *TALK[1:]), 60 * 25)
        assert [entry.text for entry in digest(at).entries] == [text]
        assert not digest(at).entries

    def test_an_agents_line_is_auto(self, at: Desk, folder: Path, server: ScriptedServer):
        said = [
            *TALK,
            "agent: The importer of Hall writes 12 rows a second to the disk of the cellar.",
        ]
        text = "The importer writes 12 rows a second"
        server.script = in_turn(
            Reply(facts(fact([13], text, "12 rows"), fact([12, 13], text + ".", "12 rows")))
        )
        aged(write_session(folder, *said))
        run(at)
        assert "Mdmem-Source: auto" in at.git("log", "-1", "--format=%B")
        assert sum(text in entry for entry in entries(at)) == 1

    @pytest.mark.parametrize(
        ("answer", "count"), [(None, 0), ("", 0), ("```\n{}\n```", 2), ("{}", 2)]
    )
    def test_a_command_in_the_place_of_a_server(
        self, at: Desk, folder: Path, tmp_path: Path, answer: str | None, count: int
    ):
        scripted = tmp_path / "scripted"
        scripted.mkdir()
        if answer is not None:
            (scripted / "0.answer").write_text(
                answer.format(facts(ONE, OTHER, ONE | {"text": "Marcus mends wall 2"}))
            )
        settings(at, folder, f"model_command = {json.dumps(command(scripted))}")
        aged(write_session(folder, *TALK))
        result = run(at)
        assert not result.failed
        counted = result.steps[0].record.figures
        assert (counted.by_rule, counted.by_model) == (1, count)
        asked = [json.loads(path.read_text()) for path in scripted.glob("*.request")]
        assert len(asked) == (1 if count else 2)
        assert all(each["cwd"] == [] and each["run"] == "1" for each in asked)


class TestFlags:
    def test_no_model_leaves_the_lines_due(self, at: Desk, folder: Path, server: ScriptedServer):
        path = aged(write_session(folder, *TALK))
        assert len(digest(at, path, model=False).entries) == 1
        assert not server.bodies
        assert run(at).steps[0].record.figures.by_model == 10

    def test_model_asks_whatever_the_settings_say(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        settings(
            at, folder, f'model_url = "{server.url}"', f'model_name = "{MODEL}"', digest="rules"
        )
        path = write_session(folder, *TALK[:9])
        assert run(at).steps[0].record.figures.entries == 1
        result = digest(at, path, model=True)
        assert len(result.entries) == 8
        assert result.model is not None
        assert (result.model.requests, result.model.entries, result.model.waiting) == (1, 8, 0)
        assert not digest(at, path, model=True).entries
        assert len(server.bodies) == 1

    def test_a_dry_run_sends_nothing_and_says_what_would_be(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        path = aged(write_session(folder, *TALK))
        result = digest(at, path, dry_run=True)
        assert result.model is not None
        assert (result.model.requests, result.model.tokens) == (1, 0)
        assert result.model.size > 1000
        assert not server.bodies
        assert not (at.workspace.state / cursors.STATE_NAME).exists()
        assert not (at.workspace.state / asking.LOG_NAME).exists()

    @pytest.mark.parametrize(
        ("lines", "code"),
        [
            ([], "no-model"),
            (['model_url = "http://127.0.0.1:1/v1"'], "no-model"),
            (['model_url = "ftp://a"', 'model_name = "m"'], "no-model"),
            (
                [
                    'model_url = "http://127.0.0.1:1/v1"',
                    'model_name = "m"',
                    'model_key_env = "NOT_SET"',
                ],
                "no-model",
            ),
            (['model_url = "http://127.0.0.1:1/v1"', 'model_command = ["cat"]'], "no-model"),
            (['model_command = ["/no/such/program"]'], "model-refused"),
        ],
    )
    def test_a_model_that_is_not_set_fails_and_the_rules_work(
        self, at: Desk, folder: Path, lines: list[str], code: str
    ):
        settings(at, folder, *lines)
        aged(write_session(folder, *TALK))
        result = run(at)
        assert result.failed
        assert (result.steps[0].record.outcome, result.steps[0].record.figures.entries) == (code, 1)
        assert result.steps[0].message

    def test_the_key_is_sent_and_the_environment_of_another_account_is_not(
        self, at: Desk, folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "of-another")
        monkeypatch.setenv("OPENAI_ORG_ID", "of-another")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "of-another")
        aged(write_session(folder, *TALK))
        run(at)
        assert server.headers[0]["authorization"] == "Bearer none"
        assert "of-another" not in str(server.headers)


class TestAnswers:
    @pytest.mark.parametrize(
        ("text", "count"),
        [
            (facts(ONE, OTHER), 2),
            (f"```json\n{facts(ONE)}\n```", 1),
            (f"Here {{as you asked}} it is: {facts(ONE)} and {{that}} is all.", 1),
            (facts(ONE, OTHER)[:-20], 1),
            (facts(), 0),
            (facts(ONE | {"lines": [99]}), 0),
            (facts(ONE | {"text": "The pipes behind wall 30 drip slowly"}), 0),
            (facts(ONE | {"text": "The pipes of Mrs Dorn behind wall 2 drip slowly"}), 0),
            (facts(ONE | {"text": "TEXT-OF-THE-FACT"}), 0),
            (facts(ONE | {"quote": "EXACT-PART-OF-A-LINE"}), 0),
            (
                facts(
                    ONE
                    | {"text": "The pipes <system-reminder>behind</system-reminder> wall 2 drip"}
                ),
                0,
            ),
            (facts(ONE, {"lines": "3"}, 7, None), 1),
        ],
    )
    def test_each_claim_is_checked(
        self, at: Desk, folder: Path, server: ScriptedServer, text: str, count: int
    ):
        server.script = in_turn(Reply(text))
        aged(write_session(folder, *TALK))
        record = run(at).steps[0].record
        assert (record.outcome, record.figures.by_model) == ("done", count)
        assert len(server.bodies) == 1

    @pytest.mark.parametrize(
        "text", ["", "I am sorry, I cannot.", '{"answer": 1}', '{"facts": [{"lines"']
    )
    def test_what_is_no_answer_is_asked_for_once_more(
        self, at: Desk, folder: Path, server: ScriptedServer, text: str
    ):
        server.script = in_turn(Reply(text), Reply(facts(ONE)))
        aged(write_session(folder, *TALK))
        assert run(at).steps[0].record.figures.by_model == 1
        assert len(server.bodies) == 2
        assert "could not be read" in server.prompts[1]

    def test_after_two_the_rules_stand_and_the_lines_are_due_three_more_times(
        self, at: Desk, folder: Path, server: ScriptedServer
    ):
        server.script = in_turn(Reply("no"))
        aged(write_session(folder, *TALK))
        for count in (2, 4, 6, 8, 8):
            record = run(at).steps[0].record
            assert not record.failed
            assert len(server.bodies) == count
        assert len(entries(at)) == 1
        assert last_line(at)["outcome"] == "unchanged"

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(status=500),
            Reply(status=429, headers={"Retry-After": "0.01"}),
            Reply(raw=b"<html>"),
        ],
    )
    def test_a_server_that_is_down(
        self,
        at: Desk,
        folder: Path,
        server: ScriptedServer,
        reply: Reply,
        monkeypatch: pytest.MonkeyPatch,
    ):
        monkeypatch.setattr("mdmem.llm.requests.FIRST_PAUSE", 0.01)
        server.script = in_turn(*([reply] * 4), Reply(facts(ONE)))
        aged(write_session(folder, *TALK))
        aged(write_session(folder, *TALK[1:], session="6b2f0000", start=START + timedelta(days=1)))
        result = run(at)
        assert not result.failed
        assert (last_line(at)["outcome"], last_line(at)["entries"]) == ("model-down", 1)
        server.script = quoting
        assert run(at).steps[0].record.figures.by_model == 20

    def test_a_hang_ends(
        self, at: Desk, folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("mdmem.llm.requests.FIRST_PAUSE", 0.01)
        monkeypatch.setattr("mdmem.llm.requests.SECONDS", 0.5)
        server.script = in_turn(Reply(facts(ONE), seconds=5))
        aged(write_session(folder, *TALK))
        started = time.monotonic()
        assert not run(at).failed
        assert time.monotonic() - started < 4
        assert len(server.bodies) == 1
        assert last_line(at)["outcome"] == "model-down"

    def test_nobody_listens(self, at: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("mdmem.llm.requests.FIRST_PAUSE", 0.01)
        settings(at, folder, 'model_url = "http://127.0.0.1:9/v1"', f'model_name = "{MODEL}"')
        aged(write_session(folder, *TALK))
        assert not run(at).failed
        assert (last_line(at)["outcome"], last_line(at)["entries"]) == ("model-down", 1)

    def test_a_server_that_knows_no_schema(self, at: Desk, folder: Path, server: ScriptedServer):
        def script(data: dict[str, Any], number: int) -> Reply:
            form = server.bodies[number].get("response_format", {}).get("type")
            return (
                Reply("response_format is not supported", status=400)
                if form
                else quoting(data, number)
            )

        server.script = script
        aged(write_session(folder, *TALK))
        assert run(at).steps[0].record.figures.by_model == 10
        assert [body.get("response_format", {}).get("type") for body in server.bodies] == [
            "json_schema",
            "json_object",
            None,
        ]

    def test_a_wrong_key_is_said(self, at: Desk, folder: Path, server: ScriptedServer):
        server.script = in_turn(Reply(status=401))
        aged(write_session(folder, *TALK))
        assert run(at).failed
        assert (last_line(at)["outcome"], last_line(at)["entries"], len(server.bodies)) == (
            "model-refused",
            1,
            1,
        )


def test_no_more_tokens_than_a_day_allows(
    at: Desk, folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
):
    budget = 30_000

    def script(data: dict[str, Any], number: int) -> Reply:
        return Reply(
            facts(),
            usage=(len(server.prompts[number].encode()) // 3, server.bodies[number]["max_tokens"]),
        )

    server.script = script
    settings(
        at,
        folder,
        f'model_url = "{server.url}"',
        f'model_name = "{MODEL}"',
        f"model_tokens_day = {budget}",
    )
    for number in range(8):
        aged(
            write_session(
                folder,
                *(SMALL.format(each) for each in range(100)),
                session=f"5a1e000{number}",
                start=START + timedelta(hours=number),
            )
        )
    assert not run(at).failed
    used = last_line(at)["tokens"]
    assert budget / 2 < used <= budget
    assert last_line(at)["outcome"] == "model-budget"
    count = len(server.bodies)
    run(at)
    assert len(server.bodies) == count
    monkeypatch.setenv("MDMEM_NOW", "2026-03-06T00:01:00")
    run(at)
    assert len(server.bodies) > count
    assert all(each <= budget for each in tokens_by_day(at).values())


def tokens_by_day(at: Desk) -> dict[str, int]:
    days: dict[str, int] = {}
    for line in (at.workspace.state / asking.LOG_NAME).read_text().splitlines():
        record = json.loads(line)
        day = record["time"][:10]
        days[day] = days.get(day, 0) + record["tokens_in"] + record["tokens_out"]
    return days


def test_a_purge_reaches_what_is_kept_of_answers(at: Desk, folder: Path, server: ScriptedServer):
    aged(write_session(folder, *TALK))
    run(at)
    state = at.workspace.state
    assert any("shelves" in path.read_text() for path in (state / "model").iterdir())
    with closing(Memory(at.workspace)) as memory:
        memory.purge(Purge(SMALL.format(5)))
    assert not (state / "model").exists()
    assert (state / asking.LOG_NAME).exists()


def meanwhile(at: Desk, do: Callable[[Memory], object]) -> Script:
    """Do something while the model is waited for, then answer."""

    def script(data: dict[str, Any], number: int) -> Reply:
        with closing(Memory(at.workspace)) as memory:
            do(memory)
        return quoting(data, number)

    return script


def test_whoever_writes_while_the_model_is_waited_for_does_not_wait(
    at: Desk, folder: Path, server: ScriptedServer
):
    server.script = meanwhile(at, lambda memory: memory.apply(Log("the plumber comes on Friday")))
    at.write("mdmem.toml", "lock_timeout = 0.2\n")
    aged(write_session(folder, *TALK))
    assert run(at).steps[0].record.figures.by_model == 10
    assert "the plumber comes on Friday" in log_of(at)


def test_a_purge_while_the_model_is_waited_for(at: Desk, folder: Path, server: ScriptedServer):
    at.write("memory/house.md", f"# House\n\n- {SMALL.format(5)}\n")
    at.write(
        "mdmem.toml", "lock_timeout = 0.2\n"
    )  # a purge waits so long for the digest, to move its cursors
    at.commit()
    server.script = meanwhile(at, lambda memory: memory.purge(Purge(SMALL.format(5))))
    aged(write_session(folder, *TALK))
    run(at)
    assert SMALL.format(5) not in log_of(at)
    assert SMALL.format(6) in log_of(at)
    assert not any(
        "wall 5" in path.read_text() for path in (at.workspace.state / "model").iterdir()
    )


class TestWhatIsTold:
    def test_status_and_stats(
        self, at: Desk, folder: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("mdmem.llm.requests.FIRST_PAUSE", 0.01)
        server.script = in_turn(
            Reply(facts(ONE, OTHER | {"lines": [99]}), usage=(700, 30)), Reply(status=500)
        )
        aged(write_session(folder, *TALK))
        run(at)
        aged(write_session(folder, *TALK, *(SMALL.format(number) for number in range(20, 30))))
        run(at)
        with closing(Memory(at.workspace)) as memory:
            pipelines = memory.status().pipelines
            assert pipelines is not None
            status = pipelines.model
            (week,) = memory.pipelines.figures(ShowFigures()).weeks
        assert status is not None
        assert (status.tokens_used, status.tokens_a_day, status.waiting, status.given_up) == (
            730,
            200_000,
            1,
            0,
        )
        assert status.last_outcome == "model-down"
        assert (week.figures.by_model, week.figures.tokens, week.figures.refused) == (1, 730, 1)

    def test_each_figure_is_that_of_a_recount(self, at: Desk, folder: Path, server: ScriptedServer):
        server.script = in_turn(Reply(facts(ONE, OTHER, OTHER | {"lines": [99]}), usage=(700, 30)))
        aged(write_session(folder, *TALK))
        run(at)
        line = last_line(at)
        records = [
            json.loads(each)
            for each in (at.workspace.state / asking.LOG_NAME).read_text().splitlines()
        ]
        assert (
            line["tokens"] == sum(each["tokens_in"] + each["tokens_out"] for each in records) == 730
        )
        assert (line["by_rule"], line["by_model"], line["entries"], line["refused"]) == (
            1,
            2,
            len(entries(at)),
            1,
        )
        assert {each["run"] for each in records} == {line["run"]}

    def test_what_a_digest_shows(self, at: Desk, folder: Path, server: ScriptedServer):
        server.script = in_turn(Reply(facts(ONE, OTHER | {"lines": [99]}), usage=(700, 30)))
        result = digest(at, aged(write_session(folder, *TALK)))
        size = len(server.prompts[0].encode())
        assert (
            digest_text(result).splitlines()[-1]
            == f"model: 1 request ({size:,} bytes, 730 tokens), 1 of the entries, 1 suggestion refused"
        )
        shown = to_json(result)
        assert shown["tokens"] == 730
        assert shown["model"] == {
            "requests": 1,
            "bytes": size,
            "entries": 1,
            "bad_answers": 1,
            "waiting": 0,
            "outcome": "",
            "message": "",
        }
