"""The command that says where the bundle for agents' hosts is, and what is missing for it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem import extras, packaged_files
from mdmem.cli.call import Answer, Call

if TYPE_CHECKING:
    from mdmem.cli.options import Json


def plugin(call: Call, as_json: Json = False) -> Answer:
    """Print the folder of the plugin for agents' hosts.

    It contains hooks, the server and a skill. Claude Code uses it as a marketplace: claude plugin marketplace add "$(mdmem plugin)", then
    claude plugin install mdmem@mdmem. So does Codex, whose second line is codex plugin add mdmem@mdmem. The hooks need nothing but mdmem,
    the server its extra (mdmem help install).
    """
    folder = str(packaged_files.path("templates", "plugin"))
    return Answer({"plugin": folder}, folder, tuple(_missing_for_plugin()))


def _missing_for_plugin() -> Iterator[str]:
    """A line for the user for each thing that the plugin would not find."""
    if shutil.which("mdmem") is None:
        yield f"mdmem is not on the PATH, where a host looks for it: it is in {Path(sys.executable).parent}"
    if find_spec("mcp") is None:
        yield f"the server's extra is not installed, so there will be no tools: {extras.install_command('mcp')}"
