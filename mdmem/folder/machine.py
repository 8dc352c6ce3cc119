"""Names of this machine: one that tells nothing of it, and one for people."""

from __future__ import annotations

import platform
from hashlib import sha256

from mdmem.startup import late

_DIGITS = 8
_NOT_IN_NAMES = late.pattern(r"[^A-Za-z0-9]+")


def host_name() -> str:
    """8 hex digits that differ from those of other machines."""
    return sha256(platform.node().encode()).hexdigest()[:_DIGITS]


def machine_name() -> str:
    """The name of this machine, as a part of a branch's or a file's."""
    return safe_name(platform.node().partition(".")[0])


def safe_name(name: str) -> str:
    """The name of any machine, as a part of a file's or a message."""
    return _NOT_IN_NAMES.sub("-", name).strip("-") or "machine"
