"""The page as a process: its address, its keys, its limits, its end."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from commandline import Shell, on_terminal
from conftest import TIME_LIMIT, World
from page_driver import FORM, POLICY, ask, check_policy
from page_processes import STAND_IN, PageProcess, page_process
from servers import PROGRAM, processes_below
from workspaces import STATE, Desk, desk

from mdmem.cli import main
from mdmem.folder import installed
from mdmem.page import guard

pytestmark = pytest.mark.costly
STATUS_LINE = re.compile(r"HTTP/1\.1 (\d+)")


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(repository)
    return desk(world, repository)


def test_the_address_opens_the_page(at: Desk):
    with page_process(at.world, at.root) as page:
        assert page.key is not None
        assert len(page.key) >= 20  # 128 bits
        opened = page.ask("GET", f"/?key={page.key}", cookie="")
        assert (opened.status, opened.headers["location"]) == (303, "/")
        assert opened.headers["set-cookie"].startswith(f"{page.cookie}; HttpOnly;")
        assert page.ask("GET", "/").text == "GET / True"
        assert page.ask("GET", "/", cookie="").status == 401
        assert page.ask("GET", "/", host="evil.test").status == 421
        assert page.end(signal.SIGTERM) == (0, "", "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_it_listens_on_the_loopback_alone_and_has_no_children(at: Desk):
    with page_process(at.world, at.root) as page:
        rows = [
            row.split()
            for table in ("tcp", "tcp6")
            for row in Path(f"/proc/{page.process.pid}/net/{table}").read_text().splitlines()[1:]
        ]
        listening = [row[1] for row in rows if row[3] == "0A"]
        ours = [each for each in listening if each.endswith(f":{page.port:04X}")]
        assert ours == [f"0100007F:{page.port:04X}"]
        assert processes_below(page.process.pid) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_without_a_word(at: Desk, number: signal.Signals):
    with page_process(at.world, at.root) as page:
        assert page.end(number) == (0, "", "")


def test_a_signal_waits_for_a_running_request(at: Desk, tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with page_process(at.world, at.root) as page, ThreadPoolExecutor() as threads:
        asked = threads.submit(page.ask, "GET", f"/slow?wait={fifo}")
        with fifo.open("w"):  # opened once the request is running
            page.process.send_signal(signal.SIGTERM)
        assert asked.result(TIME_LIMIT).status == 200
        assert page.end()[0] == 0


def test_an_open_page_outlives_a_restart(at: Desk):
    with page_process(at.world, at.root) as first:
        first.end(signal.SIGTERM)
    with page_process(at.world, at.root) as second:
        assert second.line == first.line
        assert second.ask("GET", "/", cookie=first.cookie).status == 200


def test_a_second_page_has_its_own_port_and_key(at: Desk):
    with page_process(at.world, at.root) as first:
        for _ in range(2):
            with page_process(at.world, at.root) as second:
                assert second.port != first.port
                assert second.key not in (None, first.key)
                foreign = f"mdmem-{second.port}={first.key}"
                assert second.ask("GET", "/", cookie=foreign).status == 401
                assert second.ask("GET", "/").status == 200
        assert first.ask("GET", "/").status == 200
    assert len(list((at.root / STATE).glob("page-*"))) == 1


def test_a_port_that_is_named(at: Desk, capsys: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["page", "--port", str(port)]) == 2
        assert capsys.readouterr().err.startswith(f"mdmem: port {port} cannot be used: ")
    with page_process(at.world, at.root, "--port", str(port)) as page:
        assert page.port == port
    with page_process(at.world, at.root, "--port", str(port)) as again:
        assert again.key == page.key
    for wrong in ("-1", "65536"):
        assert main(["page", "--port", wrong]) == 2
        assert capsys.readouterr().err == f"mdmem: port {wrong} cannot be used: no such port\n"


def test_a_new_key(at: Desk):
    with page_process(at.world, at.root) as first:
        pass
    with page_process(at.world, at.root, "--new-key") as second:
        assert (second.port, second.key != first.key) == (first.port, True)
        assert second.ask("GET", "/", cookie=first.cookie).status == 401
    with page_process(at.world, at.root) as third:
        assert third.key == second.key


def test_read_only(at: Desk):
    with page_process(at.world, at.root, "--read-only") as page:
        assert page.ask("GET", "/").text == "GET / False"
        assert page.ask("POST", "/do/forget", "token=").status == 405


@pytest.mark.every(2)
@pytest.mark.parametrize("variable", ["MDMEM_ACTOR", "CLAUDECODE"])
def test_an_agents_page_is_read_only_and_has_a_key_of_its_own(at: Desk, variable: str):
    with page_process(at.world, at.root) as persons:
        assert persons.ask("GET", "/").text == "GET / True"
    for is_first in (True, False):
        with page_process(at.world, at.root, **{variable: "1"}) as page:
            assert page.port == persons.port
            assert page.key != persons.key
            assert (page.key is not None) is is_first
            if is_first:
                assert page.ask("GET", "/").text == "GET / False"
                assert page.ask("POST", "/do/forget", "token=").status == 405
            assert page.ask("GET", "/", cookie=persons.cookie).status == 401
            said = page.end(signal.SIGTERM)[2]
            assert said == (
                ""
                if is_first
                else "mdmem: with an actor set, the key is only printed at a terminal\n"
            )
    with page_process(at.world, at.root) as page:
        assert page.line == persons.line


def test_at_a_terminal_an_agents_page_prints_its_key_each_time(shell: Shell):
    page = (sys.executable, "-c", IDLE, "page")
    first, second = (on_terminal(shell, *page, MDMEM_ACTOR="assistant").out for _ in range(2))
    assert "/?key=" in first
    assert second == first


def test_as_json(at: Desk):
    done = at.world.run(at.root, [sys.executable, "-c", IDLE, "page", "--json"])
    (line,) = done.stdout.splitlines()
    assert json.loads(line).keys() == {"url"}


IDLE = f"""
from mdmem.page import app
options = app.PageOptions
app.PageOptions = lambda **given: options(**given, idle_seconds=0.1)
{STAND_IN}"""


def test_it_ends_when_nobody_asks(at: Desk):
    done = at.world.run(at.root, [sys.executable, "-c", IDLE, "page"])
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


def test_over_ssh(at: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    connection = "192.0.2.7 50122 192.0.2.9 22"
    with page_process(at.world, at.root, SSH_CONNECTION=connection) as page:
        assert page.process.stdout is not None
        line = page.process.stdout.readline()
        assert line.endswith(f": ssh -L {page.port}:127.0.0.1:{page.port} 192.0.2.9\n")
    monkeypatch.setenv("SSH_CONNECTION", connection)
    assert main(["page", "--open"]) == 2
    assert "SSH" in capsys.readouterr().err


def test_a_browser_gets_a_key_for_one_use(at: Desk, tmp_path: Path):
    fifo, browser = tmp_path / "fifo", tmp_path / "browser"
    os.mkfifo(fifo)
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {fifo}\n')
    browser.chmod(0o700)
    with page_process(at.world, at.root, "--open", BROWSER=str(browser)) as page:
        opened = fifo.read_text()
        assert opened.startswith(f"http://127.0.0.1:{page.port}/?key=")
        assert page.key not in opened
        path = f"/{opened.rpartition('/')[2]}"
        first, second = (page.ask("GET", path, cookie="") for _ in range(2))
        assert (first.status, second.status) == (303, 401)
        assert first.headers["set-cookie"].startswith(f"{page.cookie};")


def test_no_browser_is_opened_unasked(at: Desk, tmp_path: Path):
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\ntouch {tmp_path}/opened\n")
    browser.chmod(0o700)
    with page_process(at.world, at.root, BROWSER=str(browser)) as page:
        assert page.ask("GET", "/").status == 200
    assert not (tmp_path / "opened").exists()


def exchange(port: int, data: bytes) -> str:
    with socket.create_connection(("127.0.0.1", port), TIME_LIMIT) as connection:
        try:
            connection.sendall(data)
            return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
        except (BrokenPipeError, ConnectionResetError):  # it has not read all of it
            return ""


def parsed(answer: str) -> tuple[int, dict[str, str]]:
    head = answer.partition("\r\n\r\n")[0]
    first, *rest = head.split("\r\n")
    status = STATUS_LINE.match(first)
    assert status is not None, answer
    return int(status[1]), {k.lower(): v for k, _, v in (row.partition(": ") for row in rest)}


NO_REQUESTS = [
    "nonsense\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nX: {large}\r\n\r\n",
    "GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
]


def test_what_is_no_request_is_refused_with_the_headers(at: Desk):
    with page_process(at.world, at.root) as page:
        for text in NO_REQUESTS:
            data = text.format(port=page.port, large="a" * 100_000).encode()
            status, headers = parsed(exchange(page.port, data))
            # a large header is refused by the server, or by the guard where it came in one piece
            assert (status, headers["connection"]) in [(400, "close"), (431, "close")]
            assert headers.items() >= POLICY.items()
        assert page.ask("GET", "/").status == 200


def test_limits(at: Desk):
    with page_process(at.world, at.root) as page:
        large = page.ask("POST", "/do/forget", "x" * 2_000_000)
        assert large.status == 413
        check_policy(large)
        assert page.ask("GET", "/", **{"x-long": "a" * 40_000}).status == 200
        with ExitStack() as kept:
            for _ in range(32):
                kept.enter_context(socket.create_connection(("127.0.0.1", page.port), TIME_LIMIT))
            refused = page.ask("GET", "/")
            assert (refused.status, refused.headers["connection"]) == (503, "close")
            check_policy(refused)


def test_a_stranger_does_not_hold_a_connection(at: Desk):
    with page_process(at.world, at.root) as page:
        host = f"Host: 127.0.0.1:{page.port}\r\n"
        for stranger in ("Host: evil.test\r\n", f"{host}Origin: null\r\n", host):
            sent = f"POST / HTTP/1.1\r\n{stranger}Content-Length: 9\r\n\r\nnot all"
            _, headers = parsed(exchange(page.port, sent.encode()))
            assert headers["connection"] == "close"
        kept = page.ask("POST", "/", "token=", **{"content-type": FORM})
        assert (kept.status, "connection" in kept.headers) == (403, False)


IMPATIENT = STAND_IN.replace(
    "import mdmem.page\n",
    "import mdmem.page, mdmem.page.app as s\ns._FIRST_REQUEST_SECONDS = 0.1\n",
)


@pytest.mark.parametrize("begun", ["", "GET / HTTP/1.1\r\nHost: "])
def test_a_connection_that_asks_nothing_is_closed(at: Desk, begun: str):
    with page_process(at.world, at.root, command=[sys.executable, "-c", IMPATIENT]) as page:
        assert exchange(page.port, begun.encode()) == ""


ASKING = """
import os, socket, sys
os.setuid(65534)
family, address, port, key = sys.argv[1:]
with socket.socket(getattr(socket, family)) as connection:
    connection.connect((address, int(port)))
    request = f"GET /?key={key} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n"
    try:
        connection.sendall(request.encode())
        print(connection.recv(100))
    except ConnectionError:
        print(b"")
"""


@pytest.mark.skipif(
    os.getuid() != 0 or not sys.platform.startswith("linux"), reason="root can be another user"
)
@pytest.mark.parametrize(
    ("family", "address"), [("AF_INET", "127.0.0.1"), ("AF_INET6", "::ffff:127.0.0.1")]
)
def test_another_user_does_not_ask(at: Desk, family: str, address: str):
    with page_process(at.world, at.root) as page:
        words = [sys.executable, "-c", ASKING, family, address, str(page.port), page.key]
        assert at.world.run(at.root, words).stdout == "b''\n"
        assert page.ask("GET", "/").status == 200


@pytest.mark.skipif(
    os.getuid() == 0 or not sys.platform.startswith("linux"),
    reason="root is let in, and Linux tells",
)
@pytest.mark.parametrize("other", [0, 1])
def test_the_user_of_a_connection_is_known(monkeypatch: pytest.MonkeyPatch, other: int):
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as open_ends:
        open_ends.enter_context(socket.create_connection(listener.getsockname()))
        connection = open_ends.enter_context(listener.accept()[0])
        user = os.getuid() + other
        monkeypatch.setattr(os, "getuid", lambda: user)
        assert guard.is_of_another_user(connection) is bool(other)


def test_a_web_socket_is_a_request_like_any_other(at: Desk):
    with page_process(at.world, at.root) as page:
        upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-key": "eA=="}
        assert page.ask("GET", "/", origin="http://evil.test", **upgrade).status == 403
        assert page.ask("GET", "/", **upgrade).status == 200
        assert page.end(signal.SIGTERM)[2] == ""


def test_without_the_extra_a_line_says_what_to_type(
    at: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "mdmem.folder.installed.find_spec", lambda name: None if name == "uvicorn" else name
    )
    assert main(["page"]) == 1
    assert (
        capsys.readouterr().err
        == f"mdmem: the page needs its extra: {installed.install_command('page')}\n"
    )


LISTING = """
import sys
from mdmem.__main__ import run
run(lambda: print(*sys.modules, file=sys.stderr))
"""


@pytest.mark.parametrize("words", [("search", "Stripe"), ("log", "it rained"), ("status",)])
def test_no_other_command_loads_it(at: Desk, words: tuple[str, ...]):
    done = at.world.run(at.root, [sys.executable, "-c", LISTING, *words])
    check_modules(done.stderr)


def test_the_package_does_not_load_it(at: Desk):
    program = "import sys, mdmem, mdmem.memory; print(*sys.modules)"
    check_modules(at.world.run(at.root, [sys.executable, "-c", program]).stdout)


def check_modules(listed: str) -> None:
    names = listed.split()
    assert "mdmem" in names
    packages = {"uvicorn", "starlette", "jinja2", "markupsafe", "h11", "asyncio", "mistune"}
    assert not {each for each in names if each in packages or each.startswith("mdmem.page")}


def test_the_whole_program(at: Desk):
    with page_process(at.world, at.root, command=[PROGRAM]) as page:
        assert "<h1" in page.ask("GET", "/").text
        check_policy(page.ask("GET", "/"))
        sheet = re.search(r'href="(/static/[^"]+)"', page.ask("GET", "/").text)
        assert sheet is not None
        assert page.ask("GET", sheet[1]).headers["cache-control"].endswith("immutable")
        assert page.ask("GET", sheet[1], cookie="").status == 401
        assert page.end(signal.SIGTERM) == (0, "", "")


def events(page: PageProcess) -> tuple[http.client.HTTPConnection, Iterator[str]]:
    """A stream of a page, and its lines."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=60)
    connection.request("GET", "/moved", headers={"cookie": page.cookie})
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("content-type")) == (
        200,
        "text/event-stream; charset=utf-8",
    )
    return connection, (line.decode().strip() for line in answer)


def test_a_stream_tells_that_memory_moved_and_ends_with_the_page(at: Desk) -> None:
    with page_process(at.world, at.root, command=(sys.executable, "-m", "mdmem")) as page:
        connection, lines = events(page)
        first = next(lines)
        assert re.fullmatch(r"data: \w{16}", first)
        at.write("MEMORY.md", "# Memory\n\n- something new\n")
        moved = next(filter(None, lines))
        assert moved.startswith("data: ")
        assert moved != first
        assert page.ask("GET", "/moved", origin="http://evil.test").status == 403
        assert page.ask("GET", "/moved", cookie="").status == 401
        assert page.ask("GET", "/moved", host="evil.test").status == 421
        cut, begun = events(page)
        assert next(begun).startswith("data: ")
        cut.close()
        page.process.send_signal(signal.SIGTERM)
        rest = list(lines)
        assert "event: end" in rest
        connection.close()


def test_a_page_that_asks_by_itself_keeps_nothing_alive() -> None:
    door = guard.Guard(lambda *_: asyncio.sleep(0), 20_777, guard.new_keys())
    before = door.last_request
    cookie = {"host": "127.0.0.1:20777", "cookie": f"mdmem-20777={door._key.decode()}"}
    for path, more in (("/moved", {}), ("/", {"mdmem-moved": "1"})):
        with suppress(ValueError):  # the application answers nothing
            ask(door, "GET", path, {**cookie, **more})
        assert door.last_request == before
    with suppress(ValueError):
        ask(door, "GET", "/", cookie)
    assert door.last_request > before
