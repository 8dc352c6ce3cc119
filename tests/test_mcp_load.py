"""A server under load: many calls at once while a person edits; its answers are right and never
old, and it stays as it was.
"""

import os
import re
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from conftest import World
from servers import PROGRAM, own_bytes, processes_below
from test_mcp_server import parameters
from workspaces import Desk, desk

TASKS = 4
PAUSE_SECONDS = 0.2
"""Between two times that the person saves."""
MOST_BYTES = 120 * 1024 * 1024
MOST_GROWTH_BYTES = 15 * 1024 * 1024
"""From the second tenth of the calls to the last, at the median: an update of the index takes
memory for a moment.
"""


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@dataclass(frozen=True)
class Held:
    """The resources of the system that a process holds."""

    descriptors: int
    threads: int
    children: int


def held(process: int) -> Held:
    """Return what a process holds that nobody asks anything: the threads of an index's writer end a
    moment after the call that used it.
    """

    def now() -> Held:
        folder = Path(f"/proc/{process}")
        time.sleep(0.05)
        return Held(
            len(list((folder / "fd").iterdir())),
            len(list((folder / "task").iterdir())),
            len(processes_below(process)),
        )

    return min((now() for _ in range(20)), key=lambda each: each.threads)


class Person:
    """Somebody who saves a file again and again, with a higher number each time."""

    def __init__(self, at: Desk) -> None:
        self._at = at
        self._ended = threading.Event()
        self.saved = -1

    def edit(self) -> None:
        number = 0
        while not self._ended.wait(PAUSE_SECONDS):
            self._at.write("memory/new", f"# Topic\n\n- zorblax {number:06}\n").rename(
                self._at.root / "memory" / "topic.md"
            )
            self.saved = number
            number += 1

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(target=self.edit)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()


@pytest.mark.parametrize("calls", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_calls_at_once_while_a_person_edits(at: Desk, calls: int):
    from mcp import Client  # the SDK takes half a second to load
    from mcp.client.stdio import stdio_client

    person, sizes, seconds = Person(at), list[int](), list[float]()

    async def session() -> tuple[Held, Held]:
        async with Client(stdio_client(parameters(at)), mode="legacy") as client:

            async def ask(tool: str, **arguments: object) -> str:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error
                return str(result.content[0].text)

            await ask("memory_search", query="Stripe")
            server = next(
                each
                for each in processes_below(os.getpid())
                if PROGRAM.encode() in Path(f"/proc/{each}/cmdline").read_bytes()
            )

            async def work(task: int, turns: int) -> None:
                for turn in range(turns):
                    match turn % 100:
                        case 3:
                            assert '"changed": true' in await ask(
                                "memory_log", text=f"zebra {task} {turn} {turns} was seen"
                            )
                            assert f"zebra {task} {turn} {turns} was seen" in await ask(
                                "memory_search", query=f"zebra {task} {turn}"
                            )
                        case 7 | 57:
                            assert "works at Stripe" in await ask("memory_get", name="Work")
                        case number if number % 5 == 0:
                            saved = person.saved
                            answer = await ask("memory_search", query="zorblax")
                            shown = re.search(r"zorblax (\d+)", answer)
                            assert saved < 0 or (shown and int(shown[1]) >= saved), (saved, answer)
                            sizes.append(own_bytes(server))
                        case _:
                            started = time.perf_counter()
                            assert "works at Stripe" in await ask("memory_search", query="Stripe")
                            seconds.append(time.perf_counter() - started)

            async def work_at_once(turns: int) -> Held:
                async with anyio.create_task_group() as tasks:
                    for task in range(TASKS):
                        tasks.start_soon(work, task, turns)
                while processes_below(server):  # the index catches up
                    await ask("memory_get", name="Work")
                return held(server)

            with person.at_work():
                return await work_at_once(calls // TASKS // 10), await work_at_once(
                    calls // TASKS - calls // TASKS // 10
                )

    before, after = anyio.run(session)
    tenth = len(sizes) // 10
    first, last = (
        int(statistics.median(some)) for some in (sizes[tenth : 2 * tenth], sizes[-tenth:])
    )
    print(
        f"{calls} calls: {before} {after}, {first >> 20} to {last >> 20} MiB, at most {max(sizes) >> 20}"
    )
    print(f"a search among them: p50 {statistics.median(seconds) * 1000:.1f} ms")
    assert (after.descriptors, after.children) == (before.descriptors, before.children)
    assert after.threads <= before.threads + TASKS  # threads that are not used end after a while
    assert last <= MOST_BYTES
    assert last - first <= MOST_GROWTH_BYTES
