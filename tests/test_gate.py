"""The gate: prompts that memory carries, and prompts that it does not."""

from datetime import date

import pytest
from test_search_curated import QUESTIONS, TODAY
from test_search_curated import index as index  # the fixture

from mdmem.index import gate
from mdmem.index.indexer import SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.model.searches import Hit
from mdmem.text.follow_ups import made_things

MISSED = ("home city", "What is the user allergic to?", "How much did the desk cost?")
"""Memory has an answer to these, and more of their words are unknown to it than known."""


def hits(index: SearchIndex, prompt: str, day: date | None = None) -> list[Hit]:
    request = IndexQuery(prompt, 8, Filter(valid_on=day), TODAY)
    return [match.hit for match in index.finder.search(request)]


def carries(index: SearchIndex, prompt: str) -> bool:
    return gate.is_carried(prompt, hits(index, prompt, TODAY), index.finder.lexicon)


def lines(index: SearchIndex, prompt: str) -> tuple[Hit, ...]:
    found, languages = hits(index, prompt), index.finder.lexicon.languages
    return gate.lines_for_task(prompt, made_things(prompt), found, languages)


def test_questions_of_a_curated_memory_pass(index: SearchIndex):
    closed = [question for question, _ in QUESTIONS if not carries(index, question)]
    assert set(closed) <= set(MISSED)


@pytest.mark.parametrize(
    "prompt",
    [
        "yes",
        "ok, go on",
        "thanks, that works",
        "run the tests again",
        "fix the lint error in app.py",
        "why does this function return None?",
        "commit this with a good message",
        "explain this function",
        "When did Caroline go to the support group?",
        "What did Joanna's brother bake for the party?",
        "天気はどうですか",
        "…",
        "",
    ],
)
def test_prompts_that_need_no_memory_do_not(index: SearchIndex, prompt: str):
    assert not carries(index, prompt)


@pytest.mark.parametrize(
    ("prompt", "line"),
    [
        ("write the commit message", "commit messages in the imperative"),
        ("draft a commit message, please", "commit messages in the imperative"),
        ("add a database for the tests", "PostgreSQL 16"),
    ],
)
def test_tasks_get_the_lines_on_what_they_make(index: SearchIndex, prompt: str, line: str):
    assert [line in hit.text for hit in lines(index, prompt)] == [True]


@pytest.mark.parametrize(
    "prompt", ["commit this with a good message", "write a poem", "run 16", "before ten", ""]
)
def test_other_prompts_get_no_such_lines(index: SearchIndex, prompt: str):
    assert lines(index, prompt) == ()


@pytest.mark.parametrize("prompt", ["35", "16 more", "does it match 2023?", "the first two"])
def test_a_number_alone_carries_nothing(index: SearchIndex, prompt: str):
    assert not carries(index, prompt)


def test_an_empty_index_carries_nothing():
    assert not gate.is_carried("anything", (), SearchIndex.in_memory().finder.lexicon)
