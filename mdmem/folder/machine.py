"""Names of this machine, for branches and for people; and the user's secret key on it."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from mdmem.folder import config, files
from mdmem.model.errors import MdmemError
from mdmem.startup import late

_DIGITS = 8
_KEY_NAME = "proposals.key"
_KEY_BYTES = 16
_NOT_IN_NAMES = late.pattern(r"[^A-Za-z0-9]+")


def host_name() -> str:
    """8 hex digits that differ from those of other machines."""
    return sha256(platform.node().encode()).hexdigest()[:_DIGITS]


def machine_name() -> str:
    return safe_name(platform.node().partition(".")[0])


def safe_name(name: str) -> str:
    return _NOT_IN_NAMES.sub("-", name).strip("-") or "machine"


def user_key_path(environment: Mapping[str, str]) -> Path | None:
    """The file of the user's key, in their own state folder; None if there is no home."""
    folder = config.user_state_folder(environment)
    return Path(os.path.realpath(folder / _KEY_NAME)) if folder else None


def user_key(environment: Mapping[str, str]) -> bytes | None:
    """The secret by which mdmem tells its own proposals; None before the first, or unreadable."""
    path = user_key_path(environment)
    with suppress(OSError, MdmemError, ValueError):
        key = bytes.fromhex((files.read(path) or b"").decode()) if path else b""
        return key if len(key) == _KEY_BYTES else None
    return None


def make_user_key(environment: Mapping[str, str]) -> None:
    """Make the user's key, unless there is one or the state folder cannot be written."""
    path = user_key_path(environment)
    if path is None or user_key(environment) is not None:
        return
    with suppress(OSError, MdmemError):
        files.make_folders(path.parent)
        before, data = files.read(path), os.urandom(_KEY_BYTES).hex().encode()
        temporary = files.temporary_name()
        files.write_durably(path.with_name(temporary), data, 0o600)
        # If another process was faster, its key stays.
        files.replace(path, data, before, temporary, is_prepared=True)
