"""The log of requests to a model, `model.jsonl` in the state folder: one JSON line for each, with figures and nothing that was said."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, tzinfo
from pathlib import Path

from mdmem import events
from mdmem.startup.records import asdict, dataclass

LOG_NAME, OLDER_LOG_NAME = "model.jsonl", "model.1.jsonl"
_MAX_BYTES = 1_000_000
_KEYS = ("time", "run", "task", "request", "bytes", "tokens_in", "tokens_out", "ms", "outcome")


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request that was sent, answered from what is kept, or left out for want of tokens.

    - `request`: the hash of model and request. `size`: the bytes of its text.
    - `tokens_in`, `tokens_out`: as the server counts them; else 4 bytes each.
    """

    time: datetime
    run: str
    task: str
    request: str
    size: int
    tokens_in: int
    tokens_out: int
    ms: float
    outcome: str

    @property
    def tokens(self) -> int:
        """The tokens of request and answer."""
        return self.tokens_in + self.tokens_out


def append_record(state: Path, record: RequestRecord) -> None:
    """Add a request to the log.

    Raises:
        OSError
    """
    values = asdict(record) | {"time": record.time.isoformat(timespec="milliseconds"), "bytes": record.size}
    line = json.dumps({name: values[name] for name in _KEYS}).encode() + b"\n"
    events.append_line(state / LOG_NAME, state / OLDER_LOG_NAME, line, _MAX_BYTES)


def read_records(state: Path) -> Iterator[RequestRecord]:
    """The logged requests, oldest first; a line that is no whole record is left out.

    Raises:
        OSError: they cannot be read.
    """
    for line in events.read_lines(state / LOG_NAME, state / OLDER_LOG_NAME):
        try:
            values = json.loads(line)
            fields = {name: values[name] for name in _KEYS}
            fields |= {"time": datetime.fromisoformat(fields["time"]), "size": fields.pop("bytes")}
            record = RequestRecord(**fields)
            if record.time.tzinfo and record.tokens >= 0:
                yield record
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def last_record(state: Path) -> RequestRecord | None:
    """The last request; None where there was none, or the log cannot be read."""
    with suppress(OSError):
        return next(iter(deque(read_records(state), maxlen=1)), None)
    return None


def tokens_of_day(state: Path, day: date, zone: tzinfo | None) -> int:
    """The tokens that were used on a day of the user's.

    Raises:
        OSError: the log cannot be read.
    """
    return tokens_on(read_records(state), day, zone)


def tokens_on(records: Iterable[RequestRecord], day: date, zone: tzinfo | None) -> int:
    """The tokens of the requests of a day."""
    return sum(record.tokens for record in records if record.time.astimezone(zone).date() == day)
