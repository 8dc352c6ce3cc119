"""The files that come with the program: its documentation, the shims of its hooks, and templates."""

from __future__ import annotations

from pathlib import Path


def text(kind: str, name: str) -> str:
    """The text of a file; `kind` is `docs`, `hooks` or `templates`."""
    return path(kind, name).read_text(encoding="utf-8")


def path(kind: str, name: str) -> Path:
    """The path of a file or folder; the kinds are folders next to the package in a checkout, inside it when installed."""
    package = Path(__file__).parent
    folder = package / kind
    return (folder if folder.is_dir() else package.parent / kind) / name


def template(name: str) -> str:
    """The text of a template."""
    return text("templates", name)
