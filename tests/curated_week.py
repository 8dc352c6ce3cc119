"""Weeks of nine persons (`data/weeks`), and what MEMORY.md has to hold after each; written before
the rules.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby

from week_script import BERLIN, Session, moment, read_rows, text_of, values


class CuratedWeek:
    """The script of a week, and words of lines: `kept` were said plainly, or of a current key, and
    have one line each; `either` corrects a current line in other words, and is applied or proposed.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows = read_rows(name)
        self.memory = text_of(self._rows, "memory")
        self.kept, self.either = values(self._rows, "kept"), values(self._rows, "either")
        self.stale, self.never = values(self._rows, "stale"), values(self._rows, "never")
        self.openers = values(self._rows, "openers")

    def sessions(self) -> Iterator[Session]:
        said = (row for row in self._rows if "said" in row)
        for (at, kind), rows in groupby(said, lambda row: (row["at"], row["kind"])):
            turns = [("user", row["said"]) for row in rows]
            if kind == "tools":
                turns.insert(0, ("tool", "total 4"))
            client = "claude" if kind == "tools" else "openclaw"
            start = moment(f"{at} {BERLIN}")
            number = (start.hour - 9) // 3
            name = f"{start.day}a1e0{number}00-0000-4000-8000-000000000000"
            yield Session(client, name, start, turns)


def nights() -> Iterator[datetime]:
    for day in range(3, 10):
        yield moment(f"{day} 03:00 {BERLIN}") + timedelta(minutes=1)
