"""The two secrets of a page: the key of its address and cookie, and the token of its forms."""

from __future__ import annotations

import json
import time
from pathlib import Path
from secrets import token_urlsafe

from mdmem.folder import files
from mdmem.startup.records import dataclass

LIFETIME_SECONDS = 30 * 24 * 3600
_BYTES = 16


@dataclass(frozen=True, slots=True)
class PageKeys:
    """The secrets of a page; `is_kept` is True if an earlier start has printed this key."""

    key: str
    token: str
    is_kept: bool = False


def new_keys() -> PageKeys:
    """Secrets for this process alone."""
    return PageKeys(token_urlsafe(_BYTES), token_urlsafe(_BYTES))


def stored_keys(path: Path, renew: bool = False) -> PageKeys:
    """The secrets in a file, or new ones written to it.

    `renew` replaces them; so do 30 days, a file that is damaged, and one that others can read.
    """
    keys = None if renew else _read(path)
    if keys is None:
        keys = new_keys()
        record = {"key": keys.key, "token": keys.token, "made": int(time.time())}
        files.write_record(path, json.dumps(record))
    return keys


def _read(path: Path) -> PageKeys | None:
    data = files.read(path)
    if data is None or path.stat().st_mode & 0o077:
        return None
    try:
        record = json.loads(data)
    except ValueError:
        return None
    match record:
        case {"key": str(key), "token": str(token), "made": int(made)} if key and token:
            is_current = 0 <= time.time() - made < LIFETIME_SECONDS
            return PageKeys(key, token, is_kept=True) if is_current else None
    return None
