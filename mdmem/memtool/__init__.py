"""Anthropic's memory tool on a workspace: `/memories` is `memory/` and the workspace's own files.

`Backend` answers its commands alone, or in JSON lines; `tool` wraps it for the SDK.
"""

from __future__ import annotations

from typing import Any

from mdmem.folder import installed
from mdmem.memory import Memory
from mdmem.memtool.backend import Backend
from mdmem.startup.late import module


def tool(memory: Memory) -> Any:
    """A tool of the Anthropic SDK for `client.beta.messages.tool_runner(tools=…)`.

    Raises PackageProblem (`missing-package`) if the SDK is not installed.
    """
    installed.require_packages(("anthropic",), "the tool needs the Anthropic SDK", "anthropic")
    # 900 ms with the SDK
    return module("memtool.sdk").MemoryTool(Backend(memory))


__all__ = ["Backend", "tool"]
