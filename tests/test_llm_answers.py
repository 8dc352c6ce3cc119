"""The answer of a model, read: by itself, in a fence, among prose, cut."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.llm.checks import UnreadableAnswerError, read_answer

ITEM = {"lines": [3], "text": 'a {brace} and a "quote" and a ```'}
WHOLE = json.dumps({"facts": [ITEM, ITEM]})


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (WHOLE, [ITEM, ITEM]),
        (f"```json\n{WHOLE}\n```", [ITEM, ITEM]),
        (f"```\n{WHOLE}\n```\nThat is all.", [ITEM, ITEM]),
        (f"Of {{these}} I choose: {WHOLE} {{done}}", [ITEM, ITEM]),
        (f'Like {{"facts": []}}, so: {WHOLE}', [ITEM, ITEM]),
        (f'{WHOLE}\nIf there were none: {{"facts": []}}', [ITEM, ITEM]),
        (json.dumps([ITEM]), [ITEM]),
        ('{"facts": []}', []),
        ('{"facts": [1, null]}', [1, None]),
        ('{"note": {"facts": 1}, "facts": []}', []),
    ],
)
def test_the_list_is_found(text: str, items: list[Any]):
    answer = read_answer(text, "facts")
    assert (list(answer.items), answer.is_cut) == (items, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("I cannot.", "no JSON object"),
        ('{"changes": []}', 'no list "facts"'),
        ('{"facts": {}}', 'no list "facts"'),
        ('{"facts": [{"lines": [1', "column"),
        ("{'facts': []}", "column"),
        ("{" * 100_000, "."),
        ('{"facts": ' + "[" * 100_000, "."),
    ],
)
def test_what_is_none_is_said_in_the_words_of_the_parser(text: str, words: str):
    with pytest.raises(UnreadableAnswerError, match=words):
        read_answer(text, "facts")


@given(st.integers(min_value=0, max_value=len(WHOLE) - 1))
def test_of_a_cut_answer_the_whole_items_count(length: int):
    try:
        answer = read_answer(WHOLE[:length], "facts")
    except UnreadableAnswerError:
        assert length < len(json.dumps({"facts": [ITEM]})) - 2
    else:
        assert list(answer.items) in ([ITEM], [ITEM, ITEM])


@given(st.text())
def test_any_text_is_an_answer_or_none(text: str):
    with suppress(UnreadableAnswerError):
        assert isinstance(read_answer(text, "facts").items, tuple)
