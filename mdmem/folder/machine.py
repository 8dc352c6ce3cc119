"""An anonymous name of this machine."""

from __future__ import annotations

import platform
from hashlib import sha256

_DIGITS = 8


def host_name() -> str:
    """Name this machine by 8 hex digits."""
    return sha256(platform.node().encode()).hexdigest()[:_DIGITS]
