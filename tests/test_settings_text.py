"""Entries put into settings files of other programs as text, and taken out again."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors import settings_text
from mdmem.editors.settings_text import calls_mdmem, inserted, json_entries, without, yaml_entry

SERVER = {"mcpServers": {"mdmem": {"command": "/opt/mdmem", "args": ["mcp"]}}}
HOOKS: dict[str, Any] = {
    "version": 1,
    "hooks": {"start": [{"command": "/opt/mdmem hook"}], "end": [{"command": "/opt/mdmem hook"}]},
}
EXTENSION = {"extensions": {"mdmem": {"cmd": "/opt/mdmem", "args": ["mcp"]}}}


def put_in(text: str, wanted: dict[str, Any]) -> str:
    return inserted(text, json_entries(text, wanted))


def taken_out(text: str, wanted: dict[str, Any]) -> str:
    """The text after a round trip, which has to be a fixed point in between."""
    added = [each for _, each in json_entries(text, wanted)]
    after = put_in(text, wanted)
    assert added
    assert json_entries(after, wanted) == []
    rest, changed = without(after, added)
    assert changed == ()
    return rest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}\n", '{\n  "mcpServers": {"mdmem": ENTRY}\n}\n'),
        ("{\n}\n", '{\n  "mcpServers": {"mdmem": ENTRY}\n}\n'),
        ('{"a": 1}', '{"mcpServers": {"mdmem": ENTRY}, "a": 1}'),
        ('{\n\t"a": 1\n}', '{\n\t"mcpServers": {"mdmem": ENTRY},\n\t"a": 1\n}'),
        ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "mcpServers": {"mdmem": ENTRY},\r\n  "a": 1\r\n}\r\n'),
        ('\ufeff{\n  "a": 1\n}', '\ufeff{\n  "mcpServers": {"mdmem": ENTRY},\n  "a": 1\n}'),
        (
            '{\n  // mine\n  "a": 1, /* last */\n}',
            '{\n  "mcpServers": {"mdmem": ENTRY},\n  // mine\n  "a": 1, /* last */\n}',
        ),
        (
            '{\n    "mcpServers": {\n        "x": {"command": "x"},\n    },\n}',
            '{\n    "mcpServers": {\n        "mdmem": ENTRY,\n        "x": {"command": "x"},\n    },\n}',
        ),
        (
            '{\n  "mcpServers": {} // none\n}',
            '{\n  "mcpServers": {\n    "mdmem": ENTRY\n  } // none\n}',
        ),
        (
            '{"u": "http://x/* no */ //", "mcpServers": {"a": "}"}}',
            '{"u": "http://x/* no */ //", "mcpServers": {"mdmem": ENTRY, "a": "}"}}',
        ),
    ],
)
def test_an_entry_goes_in_and_comes_out(before: str, after: str):
    entry = json.dumps(SERVER["mcpServers"]["mdmem"])
    assert put_in(before, SERVER) == after.replace("ENTRY", entry)
    assert taken_out(before, SERVER) == before


@pytest.mark.parametrize(
    "before",
    [
        '{"hooks": {"start": [], "other": [{"command": "x"}]}, "version": 1}',
        '{"version": 1, "hooks": {"start": [{"command": "x"}, {"command": "y"}]}}',
        '{\n  "hooks": {\n    "start": [ // c\n      {"command": "x"},\n    ],\n  },\n}\n',
    ],
)
def test_entries_of_lists(before: str):
    assert taken_out(before, HOOKS) == before
    values = json.loads(settings_text.json_plain(put_in(before, HOOKS)))
    assert values["version"] == 1
    for name in ("start", "end"):
        (entry,) = (each for each in values["hooks"][name] if "mdmem" in each["command"])
        assert entry == HOOKS["hooks"][name][0]


keys = st.sampled_from(["a", "hooks", "start", "mcpServers", "x y", "\u00e9"])
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(keys, trees, max_size=4), st.sampled_from([None, 0, 1, 2, "\t"]))
def test_what_can_be_merged_is_restored(values: dict[str, Any], indent: int | str | None):
    text = json.dumps(values, indent=indent)
    try:
        json_entries(text, SERVER)
    except ValueError:
        assert not isinstance(values["mcpServers"], dict)
        return
    assert taken_out(text, SERVER) == text
    merged = json.loads(put_in(text, SERVER))
    del merged["mcpServers"]["mdmem"]
    assert merged == {"mcpServers": {}, **values}


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"mdmem": {"command": "mdmem", "args": ["mcp"]}}}',
        '{"mcpServers": {"mdmem": {"command": "/usr/bin/mdmem", "args": ["-C", "/x", "mcp"]}}}',
    ],
)
def test_an_entry_of_the_users_that_calls_mdmem_stays(text: str):
    assert json_entries(text, SERVER) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[]", SERVER),
        ("{", SERVER),
        ('{"a": 1} x', SERVER),
        ('{"mcpServers": null}', SERVER),
        ('{"mcpServers": {"mdmem": {"command": "other"}}}', SERVER),
        ('{"mcpServers": {}, "mcpServers": {}}', SERVER),
        ('{"version": 2, "hooks": {}}', HOOKS),
        ('{"version": 1, "hooks": {"start": {}}}', HOOKS),
        ("/* no end", SERVER),
    ],
)
def test_what_is_not_sure_is_refused(text: str, wanted: dict[str, Any]):
    with pytest.raises(ValueError, match=r"."):
        json_entries(text, wanted)


def test_an_entry_is_found_again_with_other_spaces_and_commas_around():
    entry = '\n  "mcpServers": {"mdmem": 1}\n'
    for text, rest in (
        ('{\n  "mcpServers": {"mdmem": 1},\n  "b": 2\n}', '{\n  "b": 2\n}'),
        ('{ "b": 2, "mcpServers": {"mdmem": 1} }', '{ "b": 2 }'),
        ('{"mcpServers": {"mdmem": 1}}', "{}"),
    ):
        assert without(text, [entry]) == (rest, ())
    assert without('{"mcpServers": {"mdmem": 2}}', [entry])[1] == (entry,)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"mdmem"', True),
        ("exec /opt/mdmem agent-hook", True),
        ("'/a b/mdmem' agent-hook", True),
        ("/opt/mdmem-old agent-hook", False),
        ("notmdmem x", False),
    ],
)
def test_the_program_is_told_by_its_name_as_a_word(text: str, names: bool):
    assert calls_mdmem(text) is names


ITEM = '"mdmem": {"cmd": "/opt/mdmem", "args": ["mcp"]}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"extensions:\n  {ITEM}\n"),
        ("GOOSE_MODEL: x", f"GOOSE_MODEL: x\nextensions:\n  {ITEM}\n"),
        (
            "extensions: # mine\r\n    # one\r\n    memory:\r\n        enabled: true\r\nlast: 1\r\n",
            f"extensions: # mine\r\n    {ITEM}\r\n    # one\r\n    memory:\r\n        enabled: true\r\n"
            "last: 1\r\n",
        ),
    ],
)
def test_an_item_of_yaml(before: str, after: str):
    insertions = yaml_entry(before, EXTENSION)
    assert inserted(before, insertions) == after
    assert yaml_entry(after, EXTENSION) == []
    assert without(after, [added for _, added in insertions]) == (before, ())


@pytest.mark.parametrize(
    "text",
    [
        "extensions: {}\n",
        "extensions:\n  - type: builtin\n",
        "extensions:\n- type: builtin\n",
        "extensions:\nlast: 1\n",
        "extensions: &a\n  x: 1\n",
        "{extensions: {}}\n",
        "a: 1\n---\nb: 1\n",
        "'extensions':\n  x: 1\n",
    ],
)
def test_other_forms_of_yaml_are_refused(text: str):
    with pytest.raises(ValueError, match=r"not a plain block|not one document"):
        yaml_entry(text, EXTENSION)


def test_a_word_in_a_comment_is_no_entry():
    assert yaml_entry("# todo: mdmem\nextensions:\n  x:\n    a: 1\n", EXTENSION)


def test_what_is_no_yaml_is_refused():
    with pytest.raises(ValueError, match="not one document"):
        yaml_entry("a: [\nb", EXTENSION)
