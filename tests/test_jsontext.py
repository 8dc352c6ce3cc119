"""JSON beside the standard library's: the same texts, the same values, the same refusals."""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem import jsontext

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12)


def said(read: Callable[[str], Any], text: str) -> str:
    try:
        return repr(read(text))
    except ValueError as problem:
        return str(problem)


class Kind(StrEnum):
    ONE = "one"


@given(value=VALUES)
def test_writes_what_the_library_writes(value: Any):
    assert jsontext.dumps(value) == json.dumps(value, ensure_ascii=False)
    assert jsontext.dumps_ascii(value) == json.dumps(value)
    assert jsontext.dumps_short(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(value=VALUES)
def test_reads_what_the_library_reads(value: Any):
    for text in (json.dumps(value), json.dumps(value, indent=1), f" {json.dumps(value)}\n"):
        assert jsontext.loads(text) == json.loads(text) == value


@given(text=st.text(st.sampled_from('{}[]",:1.e-nul truefas\\"ü \n'), max_size=12))
def test_refuses_what_the_library_refuses(text: str):
    assert said(jsontext.loads, text) == said(json.loads, text)


def test_tuples_and_enumerations():
    value = {"kinds": (Kind.ONE, "two")}
    assert jsontext.dumps(value) == json.dumps(value)


def test_what_is_no_value():
    with pytest.raises(TypeError, match="set is not written as JSON"):
        jsontext.dumps({"a": {1}})
