"""Asking a model: by a server on this machine and by a command; what is kept, counted and tried
again.
"""

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from scripted_models import MODEL, Reply, ScriptedServer, command, facts, in_turn, serving

from mdmem.llm import asking
from mdmem.llm.asking import AskedRun, Asker
from mdmem.llm.requests import (
    CommandModel,
    ExtractData,
    ModelCommand,
    ModelFailure,
    ModelRequest,
    ModelServer,
    RequestLine,
    extract_request,
)

NOW = datetime(2026, 11, 19, 23, 59, tzinfo=UTC)


ASKERS: list[Asker] = []
"""Those of a test, to be closed behind it."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("mdmem.llm.requests.FIRST_PAUSE", 0.01)
    yield
    while ASKERS:
        ASKERS.pop().close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving(in_turn(Reply(facts()))) as made:
        yield made


def request(text: str = "The cellar is wet.") -> ModelRequest:
    return extract_request(
        ExtractData("UTC", (RequestLine(7, "user", date(2026, 11, 19), "00:05", text),))
    )


def asker(
    state: Path,
    server: ScriptedServer,
    *,
    tokens: int = 100_000,
    dry: bool = False,
    seconds: float = 10,
    now: datetime = NOW,
) -> Asker:
    endpoint = ModelServer(server.url, MODEL, "", seconds)
    ASKERS.append(Asker(state, endpoint, AskedRun("digest/1", tokens, UTC, dry), lambda: now))
    return ASKERS[-1]


def records(state: Path) -> list[dict[str, Any]]:
    path = state / asking.LOG_NAME
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def outcomes(state: Path) -> list[str]:
    return [record["outcome"] for record in records(state)]


@pytest.mark.costly
def test_one_request_one_answer(tmp_path: Path, server: ScriptedServer):
    server.script = in_turn(Reply(facts(), usage=(120, 7)))
    answer = asker(tmp_path, server).ask(request())
    assert answer is not None
    assert answer.items == ()
    (body,) = server.bodies
    assert body["messages"] == [{"role": "user", "content": request().text}]
    assert body["model"] == MODEL
    assert not body["stream"]
    assert "tools" not in body
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["facts"]
    (record,) = records(tmp_path)
    assert record.keys() == {
        "time",
        "run",
        "task",
        "request",
        "bytes",
        "tokens_in",
        "tokens_out",
        "ms",
        "outcome",
    }
    assert (record["tokens_in"], record["tokens_out"], record["outcome"]) == (120, 7, "answered")
    assert record["bytes"] == len(request().text.encode())
    assert "cellar" not in (tmp_path / asking.LOG_NAME).read_text()


@pytest.mark.costly
def test_what_was_answered_is_not_paid_for_again(tmp_path: Path, server: ScriptedServer):
    for _ in range(2):
        asker(tmp_path, server).ask(request())
    asker(tmp_path, server).ask(request("The cellar is dry."))
    assert len(server.bodies) == 2
    assert outcomes(tmp_path) == ["answered", "kept", "answered"]
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())


def test_an_answer_is_kept_for_30_days(tmp_path: Path, server: ScriptedServer):
    asker(tmp_path, server).ask(request())
    (path,) = (tmp_path / asking.FOLDER_NAME).iterdir()
    os.utime(path, (time.time() - 31 * 24 * 3600,) * 2)
    asker(tmp_path, server).ask(request())
    assert len(server.bodies) == 2


def test_an_answer_that_cannot_be_read_is_good_for_its_own_try_alone(
    tmp_path: Path, server: ScriptedServer
):
    server.script = in_turn(Reply("no"))
    for attempt, count in ((0, 2), (0, 2), (1, 4)):
        with pytest.raises(ModelFailure, match="no JSON object") as failure:
            asker(tmp_path, server).ask(request(), attempt)
        assert failure.value.outcome == "bad-answer"
        assert len(server.bodies) == count
    server.script = in_turn(Reply(facts()))
    assert asker(tmp_path, server).ask(request(), 2) is not None


@pytest.mark.parametrize(("count", "is_answered"), [(3, True), (4, False)])
@pytest.mark.parametrize("status", [429, 500, 503])
def test_three_more_tries(
    tmp_path: Path, server: ScriptedServer, status: int, count: int, is_answered: bool
):
    server.script = in_turn(*([Reply(status=status)] * count), Reply(facts()))
    if is_answered:
        asker(tmp_path, server).ask(request())
    else:
        with pytest.raises(ModelFailure, match=str(status)):
            asker(tmp_path, server).ask(request())
    assert len(server.bodies) == 4
    assert outcomes(tmp_path) == ["answered" if is_answered else "model-down"]


@pytest.mark.costly
def test_retry_after_is_obeyed(tmp_path: Path, server: ScriptedServer):
    server.script = in_turn(Reply(status=429, headers={"Retry-After": "0.6"}), Reply(facts()))
    started = time.monotonic()
    asker(tmp_path, server).ask(request())
    assert time.monotonic() - started > 0.6


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_not_tried_again(tmp_path: Path, server: ScriptedServer, status: int):
    server.script = in_turn(Reply(status=status))
    with pytest.raises(ModelFailure) as failure:
        asker(tmp_path, server).ask(request())
    assert (failure.value.outcome, len(server.bodies)) == ("model-refused", 1)


def test_a_server_that_wants_the_limit_by_its_new_name(tmp_path: Path, server: ScriptedServer):
    def script(_: Any, number: int) -> Reply:
        body = server.bodies[number]
        return (
            Reply("Use 'max_completion_tokens' instead.", status=400)
            if "max_tokens" in body
            else Reply(facts())
        )

    server.script = script
    asker(tmp_path, server).ask(request())
    assert len(server.bodies) == 2
    assert server.bodies[1]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}', b"\xff"]
)
def test_what_is_no_answer_of_such_a_server(tmp_path: Path, server: ScriptedServer, raw: bytes):
    server.script = in_turn(Reply(raw=raw))
    with pytest.raises(ModelFailure) as failure:
        asker(tmp_path, server).ask(request())
    assert failure.value.outcome == "model-down"


def test_no_more_tokens_a_day_than_are_allowed(tmp_path: Path, server: ScriptedServer):
    server.script = in_turn(Reply(facts(), usage=(1_000, 2_000)))
    budget = 9_000
    asked = (
        asker(tmp_path, server, tokens=budget).ask(request(f"The cellar is wet, number {number}."))
        for number in range(9)
    )
    with pytest.raises(ModelFailure) as failure:
        list(asked)
    count = len(server.bodies)
    assert failure.value.outcome == "model-budget"
    assert (
        0
        < sum(record["tokens_in"] + record["tokens_out"] for record in records(tmp_path))
        <= budget
    )
    assert all(body["max_tokens"] <= 4_096 for body in server.bodies)
    assert server.bodies[-1]["max_tokens"] < 4_096
    tomorrow = datetime(2026, 11, 20, 0, 1, tzinfo=UTC)
    asker(tmp_path, server, tokens=budget, now=tomorrow).ask(request("The cellar is dry."))
    assert len(server.bodies) == count + 1


def test_each_byte_of_other_letters_may_be_a_token(tmp_path: Path, server: ScriptedServer):
    asked = request("地下室是湿的。" * 300)
    with pytest.raises(ModelFailure) as failure:
        asker(tmp_path, server, tokens=asked.size - 300).ask(asked)
    assert (failure.value.outcome, server.bodies) == ("model-budget", [])
    asker(tmp_path, server, tokens=asked.size).ask(asked)
    assert server.bodies[0]["max_tokens"] < 800


def test_a_dry_run_only_counts(tmp_path: Path, server: ScriptedServer):
    dry = asker(tmp_path, server, dry=True)
    assert dry.ask(request()) is None
    figures = dry._run.figures
    assert (figures.requests, figures.size, figures.tokens) == (1, request().size, 0)
    assert server.bodies == []
    assert not list(tmp_path.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "scripted"
    made.mkdir()
    return made


def by_command(state: Path, folder: Path) -> Asker:
    endpoint = ModelCommand(tuple(command(folder)), "by command", 10)
    return Asker(state, endpoint, AskedRun("digest/1", 100_000, UTC), lambda: NOW)


def test_a_command_reads_the_request_in_an_empty_folder(tmp_path: Path, folder: Path):
    (folder / "0.answer").write_text(f"```json\n{facts({'lines': [7]})}\n```")
    answer = by_command(tmp_path, folder).ask(request())
    assert answer is not None
    assert answer.items == ({"lines": [7]},)
    assert json.loads((folder / "0.request").read_text()) == {
        "text": request().text,
        "cwd": [],
        "run": "1",
    }
    assert records(tmp_path)[0]["tokens_in"] == -(-request().size // 4)


@pytest.mark.costly
def test_a_command_that_fails_is_run_again(folder: Path):
    pauses: list[float] = []
    for number in range(2):
        (folder / f"{number}.exit").write_text("3")
    (folder / "2.answer").write_text("done")
    model = CommandModel(ModelCommand(tuple(command(folder)), "m", 10), pauses.append)
    assert model.answer(request(), 100).text == "done\n"
    assert pauses == [0.01, 0.02]


@pytest.mark.costly
def test_a_command_that_goes_on_failing_or_hangs(folder: Path):
    for number in range(5):
        (folder / f"{number}.exit").write_text("3")
    with pytest.raises(ModelFailure, match="exited 3") as failure:
        CommandModel(ModelCommand(tuple(command(folder)), "m", 10), lambda _: None).answer(
            request(), 100
        )
    assert failure.value.outcome == "model-down"
    assert len(list(folder.glob("*.request"))) == 4
    for number in range(4, 8):
        (folder / f"{number}.sleep").write_text("30")
    started = time.monotonic()
    with pytest.raises(ModelFailure, match="took longer"):
        CommandModel(ModelCommand(tuple(command(folder)), "m", 0.5), lambda _: None).answer(
            request(), 100
        )
    assert time.monotonic() - started < 10


def test_a_command_that_says_too_much_is_cut(folder: Path):
    (folder / "0.answer").write_text("x" * 100_000)
    model = CommandModel(ModelCommand(tuple(command(folder)), "m", 10), lambda _: None)
    assert len(model.answer(request(), 100).text) == 400
