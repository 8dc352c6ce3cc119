import subprocess
import sys
import time
from typing import Any

import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.text.document import parse
from mdmem.text.frontmatter import FileLabels, exceeded_limit, labels, tags, title, values


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


def _aliases(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    return "\n".join([*lines, f"tags: *a{levels - 1}"])


@pytest.mark.parametrize(
    ("front", "limit"),
    [
        (_aliases(9), "has an alias (*)"),
        ("tags: &t [a]\ntitle: *t", "has an alias (*)"),
        ("tags: &t [a]\ntitle: it's 2 * 3", None),
        (f"tags: [{'a, ' * 1000}]", "has more than 1,000 values"),
        ("tags: [a]\nb:" + "\n- a" * 1000, "has more than 1,000 values"),
        (f"tags: [{'a, ' * 990}]", None),
        (f"tags: a\ntitle: {'é' * 33_000}", "is larger than 64 KB"),
        (f"tags: a\n# {'x' * 60_000}", None),
    ],
)
def test_front_matter_over_a_limit_says_nothing(front: str, limit: str | None) -> None:
    document = parse(f"---\n{front}\n---\n# Heading\n")
    start = time.process_time()
    assert exceeded_limit(document) == limit
    assert bool(values(document)) is (limit is None)
    assert bool(tags(document)) is (limit is None)
    assert (labels(document) != FileLabels()) is (limit is None)
    assert (title(document) == "Heading") is (limit is not None or "title" not in front)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, "1:" * 200 + "1.5", "9" * 5000])
def test_a_number_too_large_to_write_is_none(number: str) -> None:
    assert labels(parse(f"---\nsize: {number}\n---\n")).tags == ()


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
        ("'ta\\x67s': [a]", ()),
        ('"ta\\x67s": [a]', ("a",)),
        ("title: none", ()),
        ("other: x", ()),
    ],
)
def test_tags(front: str, expected: tuple[str, ...]) -> None:
    assert tags(parse(f"---\n{front}\n---\n")) == expected


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        (
            "name: deploy-rules\ntitle: Deploys\ndescription: how it is\n  rolled out\naliases: [octopus, 8]",
            "deploy-rules / Deploys / how it is rolled out / octopus / 8",
        ),
        ("aliases: one two", "one two"),
        ("Title: A\nname: A", "A"),
        ("title: 2026-01-02\non: yes", "2026-01-02"),
        ("title: true\nother: x", "true"),
        ("birthday: 1990-07-14\nname: Jana", "Jana"),
        # No YAML: a colon within a plain value, a date that is none.
        ("title: Deploys: how\naliases: ['a', b]\n", "Deploys: how / a', b"),
        ("date: 2026-13-45\nname: rules\nlist:\n  - a: b\n# c: d", "rules"),
    ],
)
def test_what_a_file_is_about(front: str, expected: str) -> None:
    assert labels(parse(f"---\n{front}\n---\n")).about == expected


def test_the_parser_is_loaded_only_where_there_is_front_matter() -> None:
    script = "from mdmem.text import frontmatter; from mdmem.text.document import parse; frontmatter.labels(parse('# A\\n')); import sys; assert 'yaml' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


@given(st.text("ab:-[]{}#&*!|>'\"%@`, \n\t?12.", max_size=60))
@examples(200)
def test_any_front_matter_has_values_with_names(front: str) -> None:
    labels(parse(f"---\ntitle: x\n{front}\n---\n# A\n"))
    assert all(isinstance(name, str) for name in values(parse(f"---\n{front}\n---\n# A\n")))
