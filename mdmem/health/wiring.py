"""stub"""

from __future__ import annotations

from collections.abc import Mapping

from mdmem.model.reads import HostState


def found_hosts(environment: Mapping[str, str]) -> tuple[HostState, ...]:
    return ()


def wire(host: str, environment: Mapping[str, str]) -> str:
    return ""


def unwire(host: str, environment: Mapping[str, str]) -> str:
    return ""
