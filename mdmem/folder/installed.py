"""Files that come with the program (docs, shims, templates), and how to install an extra."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mdmem.model.errors import PackageProblem

_PACKAGE = Path(__file__).parent.parent
_UNKNOWN = "PATH-TO-CLONE"


def text(kind: str, name: str) -> str:
    """The text of a file; `kind` is `docs`, `hooks` or `templates`."""
    return path(kind, name).read_text(encoding="utf-8")


def path(kind: str, name: str) -> Path:
    """A file or folder: kinds are folders next to the package in a checkout, in it if installed."""
    folder = _PACKAGE / kind
    return (folder if folder.is_dir() else _PACKAGE.parent / kind) / name


def template(name: str) -> str:
    return text("templates", name)


def install_command(extra: str) -> str:
    """The command to paste. It names a folder: nobody has `mdmem` reserved in a registry."""
    python = shlex.quote(sys.executable)
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{pip} {shlex.quote(f'{_source()}[{extra}]')}"


def require_packages(names: Iterable[str], need: str, extra: str) -> None:
    """Raises PackageProblem, which says what needs the extra (`the page needs its extra`)."""
    if any(find_spec(name) is None for name in names):
        raise PackageProblem("missing-package", f"{need}: {install_command(extra)}")


def _source() -> str:
    # 10 ms, only where an extra is missing
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    clone = _PACKAGE.parent
    if (clone / "pyproject.toml").is_file():
        return str(clone)
    try:
        origin = distribution("mdmem").read_text("direct_url.json")
    except PackageNotFoundError:
        return _UNKNOWN
    url = urlsplit(json.loads(origin)["url"]) if origin else None
    return unquote(url.path) if url and url.scheme == "file" else _UNKNOWN
