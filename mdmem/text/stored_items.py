"""A program's store in files: their names, and items in them, sections of level 2 with a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from mdmem.folder import layout
from mdmem.model.errors import SectionProblem
from mdmem.startup import late
from mdmem.text.document import Document, Section, parse, with_line_end
from mdmem.text.scan import BlockKind

_MAX_BYTES = 200
_UNENCODED = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_KNOWN_NAMES = (*layout.WORKSPACE_MARKS, *layout.PROFILE_NAMES, *layout.BOOTSTRAP_NAMES)
_MEANINGS = {*map(str.casefold, _KNOWN_NAMES), *layout.HOST_NAMES, "node_modules.md", "vendor.md"}
"""Names, as those of files, that mdmem or agents' hosts read in a way of their own."""
_LEVEL = 2
_EMPTY_KEY = "%"
_CONTENT = "content"
_JSON = late.pattern(r"(?s)(`{3,}|~{3,})json[ \t]*\n(.*)\n\1")
_PLAIN = (BlockKind.PARAGRAPH, BlockKind.ITEM)


def file_name(name: str) -> str:
    """A name as one of a file or folder below `memory` that has no other meaning.

    All but small letters, digits, `_` and `-` are percent-encoded, so that no file system takes two
    for one. Raises ValueError: it is too long, or not UTF-8.
    """
    for first in (0, 1, len(name)):
        encoded = "".join(
            character
            if at >= first and character in _UNENCODED
            else "".join(f"%{byte:02X}" for byte in character.encode())
            for at, character in enumerate(name)
        )
        if not _has_meaning(f"{encoded}.md"):
            break
    if len(encoded) > _MAX_BYTES:
        raise ValueError(f"{name[:80]!r} is too long: {len(encoded)} bytes, percent-encoded")
    return encoded


def _has_meaning(name: str) -> bool:
    path = f"{layout.STORE}/{name}"
    return (
        name in _MEANINGS
        or layout.day_of(path) is not None
        or layout.conflict_copy_of(path) is not None
    )


def title_of(key: str) -> str:
    """The heading of a key. Raises ValueError (it is not UTF-8)."""
    return quote(key, safe="") or _EMPTY_KEY


def key_of(title: str) -> str:
    return "" if title == _EMPTY_KEY else unquote(title)


def items(document: Document) -> dict[str, Section]:
    """The section of each key in its order; the first of a key that is there twice."""
    sections = (section for section in document.sections if section.level == _LEVEL)
    found: dict[str, Section] = {}
    for section in sections:
        found.setdefault(key_of(section.title), section)
    return found


def body_of(document: Document, section: Section) -> str:
    """The text of an item, with LF and without blank lines around it."""
    text = with_line_end(document.slice(section.body, section.tree_end), "\n")
    return text.strip("\n") if text.strip() else ""


def put(document: Document, bodies: Mapping[str, str | None]) -> str:
    """The text of a document with the texts of some items in it; None removes an item.

    Raises SectionProblem (`open-block`): they would not be what the file says then.
    """
    old, end = items(document), document.line_end
    expected = {key: body_of(document, section) for key, section in old.items()}
    text, copied = document.bom, 0
    for section in document.sections:
        key = key_of(section.title)
        body = bodies.get(key)
        is_other = body is not None and (section != old.get(key) or body == expected[key])
        if section.level != _LEVEL or key not in bodies or is_other:
            continue
        text += document.slice(copied, section.start)
        copied = section.tree_end
        if body is not None:
            text += document.slice(section.start, section.body)
            text += with_line_end(f"\n{body}\n", end) + end * (copied < len(document.lines))
    text += document.slice(copied, len(document.lines))
    for key, body in bodies.items():
        if body is not None and key not in old:
            text += end * (2 - text.endswith(("\n", "\r")) - text.endswith(2 * end))
            text += with_line_end(f"## {title_of(key)}\n\n{body}\n", end)
    expected |= {key: body for key, body in bodies.items() if body is not None}
    new = parse(text)
    if {key: body_of(new, section) for key, section in items(new).items()} != {
        key: body for key, body in expected.items() if bodies.get(key, body) is not None
    }:
        line = (document.open_line or 0) + 1
        message = f"an open fence or comment (line {line}) would take in the items after it"
        raise SectionProblem("open-block", message, line=line)
    return text


def write(value: Mapping[str, Any]) -> str:
    """A value as the text of a section: a plain text as it is, any other value as JSON.

    Raises ValueError, TypeError or RecursionError: what JSON would not give back as it is.
    """
    text = value.get(_CONTENT) if len(value) == 1 else None
    if isinstance(text, str) and _is_plain(text):
        return text
    data = dict(value)
    written = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1)
    if any("\ud800" <= character <= "\udfff" for character in written):
        written = json.dumps(data, allow_nan=False, indent=1)
    if json.loads(written) != data:
        raise ValueError("JSON has no tuples, and no keys but texts")
    return f"```json\n{written}\n```"


def read(body: str) -> tuple[dict[str, Any], bool]:
    """The value of a section's text, and True if it looks like JSON and is none."""
    match = _JSON.fullmatch(body)
    if match is None:
        return {_CONTENT: body}, False
    try:
        value = json.loads(match[2])
    except (ValueError, RecursionError):
        value = None
    return (value, False) if isinstance(value, dict) else ({_CONTENT: body}, True)


def _is_plain(text: str) -> bool:
    """True for paragraphs and lists that come back from a file as they are."""
    if text != text.strip() or not text or not text.replace("\n", "").isprintable():
        return False
    fragment = parse(text, fragment=True)
    return (
        "%%" not in text
        and not fragment.sections
        and fragment.open_line is None
        and all(block.kind in _PLAIN for block in fragment.blocks)
        and not fragment.conflicts
    )
