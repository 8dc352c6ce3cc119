"""Load the module that carries out a verb, by name: no command pays for another."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def module(name: str) -> Any:
    """A module of the program, such as `queries.search`."""
    return import_module(f"mdmem.{name}")
