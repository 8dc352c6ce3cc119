"""Search over all workspaces of an organisation, as fleet.toml names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mdmem.folder import config


def settings_path(environment: Mapping[str, str]) -> Path | None:
    """The user's own settings of a fleet, a file that need not exist."""
    own = config.user_settings_path(environment)
    return own and own.with_name("fleet.toml")


def is_named(environment: Mapping[str, str]) -> bool:
    """True if the user's settings name a fleet."""
    path = settings_path(environment)
    return path is not None and path.exists()
