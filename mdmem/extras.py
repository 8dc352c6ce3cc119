"""The command that installs an optional part of mdmem (an extra) into the environment that it runs in."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

_UNKNOWN = "PATH-OF-THE-CLONE"
"""Stands for the folder that mdmem was installed from, where nothing says which."""


def install_command(extra: str) -> str:
    """The command, to be pasted. It names a folder and never a package: nobody has the name `mdmem` in a registry for us."""
    python = shlex.quote(sys.executable)
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{pip} {shlex.quote(f'{_source()}[{extra}]')}"


def _source() -> str:
    """The folder that mdmem was installed from, or runs in."""
    clone = Path(__file__).parent.parent
    if (clone / "pyproject.toml").is_file():
        return str(clone)
    try:
        origin = distribution("mdmem").read_text("direct_url.json")
    except PackageNotFoundError:
        return _UNKNOWN
    url = urlsplit(json.loads(origin)["url"]) if origin else None
    return unquote(url.path) if url and url.scheme == "file" else _UNKNOWN
