"""The limits of a request to a model as a whole: its time, its bytes, and the tokens that a server
says it used.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scripted_models import MODEL, Reply, command, facts, in_turn, serving

from mdmem.llm import requests
from mdmem.llm.requests import (
    DOWN,
    REFUSED,
    CommandModel,
    ModelAnswer,
    ModelCommand,
    ModelFailure,
    ModelRequest,
    ModelServer,
    answer_in_time,
)
from mdmem.repo.runner import TooMuchOutputError, converse

if TYPE_CHECKING:
    from mdmem.llm.model_server import ServerModel

REQUEST = ModelRequest("extract", '{"task": 1}'.ljust(1_000), "facts", "{}")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
ERROR = HEAD.replace(b"200 OK", b"500 No")
CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"


@contextmanager
def sending(head: bytes, piece: bytes, pause: float) -> Iterator[str]:
    """A server that answers with `head`, and then sends a piece again and again until nobody
    listens; the address of its interface.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def send(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(65_536)
                connection.sendall(head)
                while not ended.wait(pause):
                    connection.sendall(piece)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    sender = threading.Thread(target=send, args=(listening.accept()[0],))
                    sender.start()
                    senders.append(sender)

        senders: list[threading.Thread] = []
        accepting = threading.Thread(target=serve)
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            for thread in (accepting, *senders):
                thread.join()


def server_model(url: str, seconds: float) -> "ServerModel":
    from mdmem.llm.model_server import ServerModel  # its SDK takes half a second to load

    return ServerModel(ModelServer(url, MODEL, "", seconds), time.sleep)


def failure_of(url: str, seconds: float) -> tuple[ModelFailure, float]:
    """The failure of a request to a server, and the seconds that it took."""
    model = server_model(url, seconds)
    started = time.monotonic()
    try:
        with pytest.raises(ModelFailure) as failure:
            model.answer(REQUEST, 100)
    finally:
        model.close()
    return failure.value, time.monotonic() - started


@pytest.mark.costly
@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (HEAD, b"1\r\n \r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
        (b"", b""),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["body", "header", "nothing", "continue"],
)
def test_an_answer_that_drips_is_given_up(head: bytes, piece: bytes):
    with sending(head, piece, 0.05) as url:
        failure, seconds = failure_of(url, 0.5)
    assert (failure.outcome, str(failure)) == ("model-down", "the server took longer than 0.5 s")
    assert 0.4 < seconds < 4


@pytest.mark.parametrize("head", [HEAD, ERROR])
def test_an_answer_without_end_is_given_up(head: bytes):
    assert requests.MOST_ANSWER_BYTES == 1_000_000
    with sending(head, CHUNK, 0) as url:
        failure, _ = failure_of(url, 20)
    assert (failure.outcome, str(failure)) == (
        "bad-answer",
        "the server sent more than 1,000,000 bytes",
    )


def test_a_compressed_answer_is_none():
    with serving(in_turn(Reply(raw=b"x", headers={"Content-Encoding": "gzip"}))) as server:
        failure, _ = failure_of(server.url, 1)
        assert failure.outcome == "model-down"
        assert server.headers[0]["accept-encoding"] == "identity"


@pytest.mark.costly
def test_the_next_request_has_its_own_limits():
    with serving(in_turn(Reply(facts(), seconds=5), Reply(facts()))) as server:
        model = server_model(server.url, 0.5)
        with pytest.raises(ModelFailure, match="took longer"):
            model.answer(REQUEST, 100)
        assert model.answer(REQUEST, 100).text == facts()
        model.close()


def test_a_wait_that_leads_past_the_end_is_not_begun():
    with serving(in_turn(Reply(status=429, headers={"Retry-After": "60"}))) as server:
        failure, seconds = failure_of(server.url, 5)
        assert (failure.outcome, len(server.bodies)) == ("model-down", 1)
    assert seconds < 4


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ((200, 20), (200, 20)),
        ((1_000, 100), (1_000, 100)),  # of which most were thoughts
        ((0, 0), (None, None)),
        ((-5, -5), (None, None)),
        ((1_001, 101), (None, None)),
        ((10**12, 10**12), (None, None)),
        (None, (None, None)),
    ],
)
def test_tokens_are_counted_here_where_the_server_cannot_be_believed(
    usage: tuple[int, int] | None, counted: tuple[int | None, int | None]
):
    with serving(in_turn(Reply(facts(), usage=usage))) as server:
        model = server_model(server.url, 5)
        answer = model.answer(REQUEST, 100)
        model.close()
    assert (answer.tokens_in, answer.tokens_out) == counted


class TestTries:
    def sent(
        self, *outcomes: ModelFailure | None, seconds: float = 100.0
    ) -> tuple[list[float], bool]:
        """The pauses between the tries that end so, and True if there was an answer at last."""
        pauses: list[float] = []
        left = list(outcomes)

        def send(_: float) -> ModelAnswer:
            if (outcome := left.pop(0)) is not None:
                raise outcome
            return ModelAnswer("")

        try:
            answer_in_time(send, seconds, pauses.append)
        except ModelFailure:
            return pauses, False
        return pauses, True

    def test_what_may_pass_is_tried_again(self):
        passing = ModelFailure(DOWN, "", is_passing=True)
        named = ModelFailure(DOWN, "", is_passing=True, wait=7)
        assert self.sent(None) == ([], True)
        assert self.sent(passing, named, passing, None) == ([1, 7, 4], True)
        assert self.sent(passing, passing, passing, passing) == ([1, 2, 4], False)

    def test_what_does_not_pass_is_not(self):
        assert self.sent(ModelFailure(REFUSED, "")) == ([], False)

    def test_no_try_begins_behind_the_end(self):
        assert self.sent(ModelFailure(DOWN, "", is_passing=True), seconds=0.5) == ([], False)

    def test_a_try_gets_what_is_left(self):
        left: list[float] = []

        def send(seconds: float) -> ModelAnswer:
            left.append(seconds)
            if len(left) < 2:
                raise ModelFailure(DOWN, "", is_passing=True, wait=0.2)
            return ModelAnswer("")

        answer_in_time(send, 5, time.sleep)
        assert left[0] <= 5
        assert left[1] <= 4.8


def endless(stream: str) -> tuple[str, ...]:
    return (
        "sh",
        "-c",
        f"while :; do echo 0123456789012345678901234567890123456789; done >&{stream}",
    )


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_command_that_prints_without_end_is_ended(stream: str):
    started = time.monotonic()
    model = CommandModel(ModelCommand(endless(stream), "m", 50), time.sleep)
    with pytest.raises(ModelFailure, match="printed more than 1,000,000 bytes") as failure:
        model.answer(REQUEST, 100)
    assert failure.value.outcome == "bad-answer"
    assert time.monotonic() - started < 20


def test_only_where_a_limit_is_given_output_has_one():
    with pytest.raises(TooMuchOutputError):
        converse(["sh", "-c", "head -c 2000 /dev/zero"], {}, b"", 20, most_bytes=1_999)
    assert len(converse(["sh", "-c", "head -c 2000 /dev/zero"], {}, b"", 20)[1]) == 2_000


@pytest.mark.costly
def test_a_command_has_one_time_for_all_its_tries(tmp_path: Path):
    for number in range(9):
        (tmp_path / f"{number}.exit").write_text("3")
        (tmp_path / f"{number}.sleep").write_text("0.4")
    pauses: list[float] = []
    started = time.monotonic()
    with pytest.raises(ModelFailure):
        CommandModel(ModelCommand(tuple(command(tmp_path)), "m", 1.2), pauses.append).answer(
            REQUEST, 100
        )
    assert time.monotonic() - started < 4
    assert len(pauses) < 2
