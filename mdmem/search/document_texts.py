"""Documents of the index as JSON texts, which the engine takes in half the time that it needs for a document made of Python's values.

A text is made in two parts: one from the entry's text, in a process that has no trail, and the end from its origin and lifetime.
"""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from json.encoder import encode_basestring
from typing import Any

from mdmem.search.schema import LifetimeFields

_RARE_FIELDS = ("asked", "grams", "grams_around")
"""The fields of words and characters that few documents have; nothing in such fields is escaped in JSON."""
_ROW = '"row":"'
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def document_text(fields: dict[str, Any]) -> str:
    """The beginning of a document's JSON, from the `schema.text_fields` of an entry that does not expire: all but its `lifetime_text`."""
    numbers = f'"day":{fields["day"]},"logged":{fields["logged"]},"cues":{fields["cues"]},"fact":{fields["fact"]}'
    words = f'"text":"{fields["text"]}","around":"{fields["around"]}","heading":"{fields["heading"]}"'
    lengths = (
        f',"text_length":{fields["text_length"]},"around_length":{fields["around_length"]},"heading_length":{fields["heading_length"]}'
    )
    rare = "".join([f'"{name}":"{fields[name]}","{name}_length":{fields[f"{name}_length"]},' for name in _RARE_FIELDS if name in fields])
    return f'{{"label":{encode_basestring(fields["label"])},{numbers}{lengths},{words},{rare}{_ROW}{_base64(fields["row"])}'


def stored_row(text: str) -> bytes:
    """The beginning of the stored row of a document, from its `document_text`."""
    return a2b_base64(text[text.rindex(_ROW) + len(_ROW) :])


def lifetime_text(lifetime: LifetimeFields) -> str:
    """The end of the JSON of documents with a lifetime that adds none to the labels of the text."""
    assert not lifetime.labels
    return f'{_base64(lifetime.row)}","origin":{encode_basestring(lifetime.origin)},{_as_json(lifetime.numbers)[1:]}'


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
