"""A record of the entries that sessions were given, so that none comes back as a new one.

Records are a cache (losing one costs one repetition): a file per session in the state folder, named
by the hash of its id, and dropped after 30 days. A compaction begins a new cycle, as the session
has forgotten all; earlier ids are kept until its summary, which still has them, is seen.

The guard gives texts from a session without what it was given: it removes blocks, drops repeats of
given entries or memory, and finds the lines that a compaction's summary asks to keep (the list
under its line `Memory:`).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from mdmem import secrets
from mdmem.editors import sameness
from mdmem.folder import files
from mdmem.model import FactId
from mdmem.sessions import tags
from mdmem.startup import late
from mdmem.startup.records import asdict, dataclass, replace
from mdmem.text.facts import normalise, parse_text, shortened, split_key

GIVEN_NAME = "given"
_LOCK_NAME = "given.lock"
_KEPT_SECONDS = 30 * 24 * 3600
_ID_DIGITS = 32
_LOCK_SECONDS = 2.0
_MOST_IDS = 5000


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The entries that a session was given, and its progress.

    - `given`: entry ids since its last compaction; `before`: of the cycle before, until its summary
      is seen; `earlier`: all others.
    - `block`: the hash of the last block for the start of a session.
    - `cycle`: the number of compactions; `flushed`: the cycle of the last flush.
    - `tokens`: of its window; `head`: the commit at which its last compaction began.
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
        return frozenset((*self.earlier, *self.before, *self.given))

    def with_given(self, ids: Iterable[str]) -> SessionRecord:
        return replace(self, given=tuple(dict.fromkeys((*self.given, *ids)))[-_MOST_IDS:])

    def with_block(self, text: str) -> SessionRecord:
        return replace(self, block=block_hash(text))

    def in_next_cycle(self) -> SessionRecord:
        seen = self.after_summary()
        return replace(seen, cycle=self.cycle + 1, given=(), before=self.given, block=None)

    def after_summary(self) -> SessionRecord:
        earlier = tuple(dict.fromkeys((*self.earlier, *self.before)))
        return replace(self, before=(), earlier=earlier[-_MOST_IDS:])

    def flushed_in(self, cycle: int, tokens: int) -> SessionRecord:
        """After the session was asked, in this cycle, to put down what it knows."""
        return replace(self, cycle=cycle, flushed=cycle, tokens=tokens)


def block_hash(text: str) -> str:
    """The hash by which a block is recognised, or a session is named."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_record(state: Path, session: str) -> SessionRecord:
    try:
        return _parse(session, json.loads(_path(state, session).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return SessionRecord(session=session)


def update_record(
    state: Path,
    session: str,
    change: Callable[[SessionRecord], SessionRecord],
) -> SessionRecord:
    """Change the record of a session, alone among all processes (OSError; `busy`)."""
    folder = state / GIVEN_NAME
    files.make_folders(folder, files.PRIVATE_FOLDER)
    with files.lock(state / _LOCK_NAME, _LOCK_SECONDS):
        record = change(read_record(state, session))
        path = _path(state, session)
        if not path.exists():
            _drop_old(folder)
        files.write_cache(path, json.dumps(asdict(record)))
    return record


def _path(state: Path, session: str) -> Path:
    return state / GIVEN_NAME / f"{block_hash(session)[:_ID_DIGITS]}.json"


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
    oldest = time.time() - _KEPT_SECONDS
    for entry in list(os.scandir(folder)):
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                Path(entry.path).unlink()


# The progress of a session, from its transcript

_USAGE = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)
_USAGE_MARK = b'"usage"'


@dataclass(frozen=True, slots=True)
class TranscriptProgress:
    """The session (None: none is named), the tokens in its window, the count of compactions."""

    session: str | None
    tokens: int
    cycle: int


def read_progress(lines: Iterable[bytes]) -> TranscriptProgress:
    """The progress after the last answer; lines that are no JSON (half written) are skipped."""
    session: str | None = None
    tokens = cycle = 0
    for line in lines:
        if session is not None and b"compact_boundary" not in line and _USAGE_MARK not in line:
            continue
        values = _object(line)
        session = session or _text_of(values.get("sessionId"))
        if values.get("type") == "system" and values.get("subtype") == "compact_boundary":
            cycle, tokens = cycle + 1, 0
        elif values.get("type") == "assistant" and values.get("isSidechain") is not True:
            tokens = _used(values) or tokens
    return TranscriptProgress(session, tokens, cycle)


def _object(line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _used(values: dict[str, Any]) -> int:
    message = values.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return 0
    return sum(count for name in _USAGE if isinstance(count := usage.get(name), int) and count > 0)


def _text_of(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# The guard


@dataclass(frozen=True, slots=True)
class GuardedTexts:
    """The new texts in order, and the number dropped."""

    kept: tuple[str, ...]
    dropped: int


def strip_blocks(text: str) -> str:
    """A text without the blocks that a session was given; one not closed goes on to the end."""
    has_tag = tags.MEMORY_TAG in text.casefold()
    return tags.strip_blocks(text, frozenset({tags.MEMORY_TAG})) if has_tag else text


def text_id(text: str) -> FactId:
    return parse_text(text).id


_parsed = lru_cache(maxsize=1024)(parse_text)


def restates(text: str, entry: str) -> bool:
    claim, current = _parsed(text), _parsed(entry)
    if claim.id == current.id:
        return True
    if claim.key is not None and current.key is not None:
        if normalise(claim.key) != normalise(current.key):
            return False
        value = split_key(claim.text, claim.key)[1]
        return normalise(value) == normalise(split_key(current.text, current.key)[1])
    return sameness.resemble(claim.text, current.text)


def drop_given(
    texts: Iterable[tuple[str, Iterable[str]]],
    given_ids: Collection[str],
) -> GuardedTexts:
    """The texts that are neither given nor current; each with its nearest entries."""
    kept: list[str] = []
    dropped = 0
    for text, entries in texts:
        if text_id(text) in given_ids or any(restates(text, entry) for entry in entries):
            dropped += 1
        else:
            kept.append(text)
    return GuardedTexts(tuple(kept), dropped)


# The summary of a compaction

MOST_LINES, MOST_CHARACTERS = 20, 300
"""The maximum of lines kept of a summary, and of characters in each."""
_HEADING = late.pattern(
    r"(?im)^[ \t]*(?:#{1,6}[ \t]+)?(?:\d+[.)][ \t]+)?[*_`]{0,3}Memory(?::[*_`]{0,3}|[*_`]{0,3}:)"
    r"[ \t]*(?:none\b.*|nothing\b.*)?$"
)
_ITEM = late.pattern(r"[ \t]*(?:[-*+\u2022]|\d+[.)])[ \t]+(.*)")
_NOTHING = late.pattern(
    r"(?i)\W*(?:\[\w+\]\s*)?" r"(?:text|none|nothing|n/a|nothing (?:new|to (?:keep|add)))\W*"
)


def memory_lines(summary: str) -> tuple[str, ...]:
    """The items of the last list under a line `Memory:`, but those that hold a secret."""
    # Secrets are looked for in the whole text, since one may go over several lines.
    redacted = secrets.redact(summary, strict=True)
    headings = list(_HEADING.finditer(redacted))
    if not headings:
        return ()
    listed = redacted[headings[-1].end() :]
    items = (item for item in _items(listed) if secrets.REDACTED not in item)
    lines = (shortened(" ".join(item.split()), MOST_CHARACTERS) for item in items)
    telling = (line for line in lines if line and not _NOTHING.fullmatch(line))
    return tuple(dict.fromkeys(telling))[:MOST_LINES]


def _items(text: str) -> Iterator[str]:
    item: str | None = None
    for line in text.split("\n"):
        match = _ITEM.fullmatch(line.rstrip())
        if match:
            if item is not None:
                yield item
            item = match[1]
        elif line.strip() and item is not None and line[0] in " \t":
            item = f"{item} {line}"
        elif line.strip():
            break
    if item is not None:
        yield item
