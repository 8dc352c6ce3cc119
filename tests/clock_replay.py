"""When commits count as made, told once more: by git's log and sets, without the program."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

DAY = 24 * 60 * 60
ARRIVED = re.compile(r"(?m)^Mdmem-Arrived: (\w+) (\w+) (\S+Z)$")


@dataclass(frozen=True)
class DatedCommit:
    """A commit with its parents and its own dates."""

    name: str
    parents: tuple[str, ...]
    written: int
    committed: int
    message: str = ""

    @property
    def own(self) -> int:
        return min(self.written, self.committed)


def read_log(folder: Path, environment: dict[str, str]) -> list[DatedCommit]:
    """All commits of HEAD, parents first."""
    form = "--format=%H%x00%P%x00%at%x00%ct%x00%B%x01"
    command = ["git", "log", "--topo-order", "--reverse", form]
    output = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    rows = (row.strip("\n").split("\0") for row in output.stdout.decode().split("\1")[:-1])
    return [
        DatedCommit(name, tuple(parents.split()), int(at), int(ct), message)
        for name, parents, at, ct, message in rows
    ]


def replay_moments(commits: Sequence[DatedCommit]) -> dict[str, int]:
    """The moments by names, as docs/machines.md tells them; parents are before their children."""
    past: dict[str, set[str]] = {}
    for each in commits:
        past[each.name] = {each.name}.union(*(past[parent] for parent in each.parents))
    told = []
    for each in commits:
        for before, came, text in ARRIVED.findall(each.message)[:20]:
            time = int(datetime.fromisoformat(text).timestamp())
            if {before, came} <= past[each.name] and time <= each.own:
                between = past[each.name] - past[before] - {each.name}
                if len(between) <= 1000:
                    told.append((past[before], past[came] - past[before], time))
    counted: list[tuple[set[str], set[str], int]] = []
    while True:
        moments: dict[str, int] = {}
        for each in commits:
            latest = max((moments[parent] for parent in each.parents), default=each.committed)
            moment = latest if each.committed < latest - DAY else each.own
            moments[each.name] = min(
                [moment, *(time for _, came, time in counted if each.name in came)]
            )
        more = [
            each
            for each in told
            if each not in counted and max(moments[name] for name in each[0]) <= each[2]
        ]
        if not more:
            return moments
        counted += more
