from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem.document import parse
from mdmem.editors.frontmatter import tags, values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n", {}),
        ("---\na: 1\nb: [x, y]\n---\n# A\n", {"a": 1, "b": ["x", "y"]}),
        ("\ufeff---\r\na: x\r\n---\r\n", {"a": "x"}),
        ("---\na: x\n...\n# A\n", {"a": "x"}),
        ("---\ra: x\r---\r", {"a": "x"}),
        ("---\n---\n", {}),
        # What cannot be read is no reason to stop.
        ("---\na: [\n---\n", {}),
        ("---\n- a\n- b\n---\n", {}),
        ("---\njust text\n---\n", {}),
        ("---\na: !!python/object:os.system x\n---\n", {}),
        ("---\n\tx: 1\n---\n", {}),
        ("---\nwhen: 2026-13-45\n---\n", {}),
        ("---\n? [a, b]\n: x\n---\n", {}),
        ("---\na: 1\n", {}),
        ("---\non: yes\nb: 1\n---\n", {"b": 1}),
        ("---\n1: x\nb: 1\n---\n", {"b": 1}),
    ],
)
def test_values(text: str, expected: dict[str, Any]) -> None:
    assert values(parse(text)) == expected


def test_deep_nesting_is_not_followed() -> None:
    assert values(parse(f"---\na: {'[' * 5000}\n---\n")) == {}


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("tags: [a, '#b', 3, '']", ("a", "b")),
        ("tags: a, #b", ("a",)),
        ("tags: 'a, #b c'", ("a", "b", "c")),
        ("tags:\n  - a", ("a",)),
        ("tags: 3", ()),
        ("tags:", ()),
        ("other: x", ()),
    ],
)
def test_tags(front: str, expected: tuple[str, ...]) -> None:
    assert tags(parse(f"---\n{front}\n---\n")) == expected


@given(st.text("ab:-[]{}#&*!|>'\"%@`, \n\t?12.", max_size=60))
@settings(max_examples=200)
def test_any_front_matter_has_values_with_names(front: str) -> None:
    assert all(isinstance(name, str) for name in values(parse(f"---\n{front}\n---\n# A\n")))
