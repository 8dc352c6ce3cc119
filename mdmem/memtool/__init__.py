"""The memory tool of the Anthropic API on a workspace: the folder `/memories` of an agent is
`memory/`, with the workspace's own files in it.

`Backend` answers its commands and needs nothing besides; `tool` is the same as a tool of the SDK;
`serving` answers JSON lines.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from mdmem.errors import PackageProblem
from mdmem.folder import installed
from mdmem.memory import Memory
from mdmem.memtool.backend import Backend


def tool(memory: Memory) -> Any:
    """The memory as a tool of the Anthropic SDK: for the `tools` of
    `client.beta.messages.tool_runner`.

    Raises:
        PackageProblem: `missing-package`: the SDK is not installed.
    """
    if find_spec("anthropic") is None:
        raise PackageProblem(
            "missing-package",
            f"the tool needs the Anthropic SDK: {installed.install_command('anthropic')}",
        )
    # 900 ms with the SDK
    from mdmem.memtool.sdk import MemoryTool  # noqa: PLC0415

    return MemoryTool(Backend(memory))


__all__ = ["Backend", "tool"]
