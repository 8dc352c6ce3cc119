"""The records of sessions: what each was given of memory, and when it was flushed. A cache: losing it costs one repetition.

Each session has a file in the state folder, named by a hash of its id; records older than 30 days are dropped. A compaction begins a new
cycle: the session has forgotten what it was given. The ids of the cycle before are kept until its summary has been seen, since the summary
still speaks of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem import files
from mdmem.startup.records import asdict, dataclass, replace

GIVEN_NAME = "given"
"""The folder of the records, in the state folder."""
_LOCK_NAME = "given.lock"
_KEPT_SECONDS = 30 * 24 * 3600
_ID_DIGITS = 32
_LOCK_SECONDS = 2.0
_MOST_IDS = 5000


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The record of a session: what it was given, and how far it is.

    - `given`: ids of the entries that it was given since its last compaction; `before`: those of the cycle before, until its summary is seen;
      `earlier`: all others.
    - `block`: the hash of the last block for the start of a session.
    - `cycle`: how many compactions it has had. `flushed`: the cycle in which it was last flushed.
    - `tokens`: of its window, when it was last measured.
    - `head`: the commit at which its last compaction began.
    """

    session: str
    given: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    block: str | None = None
    cycle: int = 0
    flushed: int | None = None
    tokens: int | None = None
    head: str | None = None

    @property
    def all_given(self) -> frozenset[str]:
        """The ids of all entries that it was ever given."""
        return frozenset((*self.earlier, *self.before, *self.given))

    def with_given(self, ids: Iterable[str]) -> SessionRecord:
        """After the session was given more entries."""
        return replace(self, given=tuple(dict.fromkeys((*self.given, *ids)))[-_MOST_IDS:])

    def with_block(self, text: str) -> SessionRecord:
        """After the session was given a block at its start."""
        return replace(self, block=block_hash(text))

    def in_next_cycle(self) -> SessionRecord:
        """After a compaction."""
        return replace(self.after_summary(), cycle=self.cycle + 1, given=(), before=self.given, block=None)

    def after_summary(self) -> SessionRecord:
        """After the summary of a compaction has been seen."""
        return replace(self, before=(), earlier=tuple(dict.fromkeys((*self.earlier, *self.before)))[-_MOST_IDS:])

    def flushed_in(self, cycle: int, tokens: int) -> SessionRecord:
        """After the session was asked, in this cycle, to put down what it knows."""
        return replace(self, cycle=cycle, flushed=cycle, tokens=tokens)


def block_hash(text: str) -> str:
    """The hash by which a block is recognised."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_record(state: Path, session: str) -> SessionRecord:
    """The record of a session; an empty one where there is none, or none that can be read."""
    try:
        return _parse(session, json.loads(_path(state, session).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return SessionRecord(session=session)


def update_record(state: Path, session: str, change: Callable[[SessionRecord], SessionRecord]) -> SessionRecord:
    """Change the record of a session, alone among all processes, and return what it is now.

    Raises:
        OSError: it cannot be written. RepositoryProblem: `busy`.
    """
    folder = state / GIVEN_NAME
    folder.mkdir(parents=True, exist_ok=True)
    with files.lock(state / _LOCK_NAME, _LOCK_SECONDS):
        record = change(read_record(state, session))
        path = _path(state, session)
        if not path.exists():
            _drop_old(folder)
        files.write_cache(path, json.dumps(asdict(record)))
    return record


def _path(state: Path, session: str) -> Path:
    digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()
    return state / GIVEN_NAME / f"{digest[:_ID_DIGITS]}.json"


def _parse(session: str, values: Any) -> SessionRecord:
    return SessionRecord(
        session=session,
        given=tuple(map(str, values["given"])),
        before=tuple(map(str, values.get("before", ()))),
        earlier=tuple(map(str, values.get("earlier", ()))),
        block=_text(values.get("block")),
        cycle=int(values["cycle"]),
        flushed=None if values.get("flushed") is None else int(values["flushed"]),
        tokens=None if values.get("tokens") is None else int(values["tokens"]),
        head=_text(values.get("head")),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _drop_old(folder: Path) -> None:
    """Drop the records that nobody has written to for long."""
    oldest = time.time() - _KEPT_SECONDS
    for entry in list(os.scandir(folder)):
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                Path(entry.path).unlink()
