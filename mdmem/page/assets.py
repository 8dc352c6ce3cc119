"""The files that pages load: one style sheet and one script, by the hash of their content."""

from __future__ import annotations

import hashlib
from functools import cache

from mdmem.folder import installed

_TYPES = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}


def address(name: str) -> str:
    """The name of a file below `/static/`; another content has another one."""
    return f"{_content(name)[1]}/{name}"


def find(digest: str, name: str) -> tuple[bytes, str] | None:
    """The content and media type of a file; None if there is none of that name and hash."""
    if name not in _TYPES:
        return None
    content, actual = _content(name)
    return (content, _TYPES[name]) if digest == actual else None


def content(name: str) -> bytes:
    """The content of a file."""
    return _content(name)[0]


@cache
def _content(name: str) -> tuple[bytes, str]:
    content = installed.path("templates", f"page/{name}").read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:16]
