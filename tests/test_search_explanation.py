"""An explanation in the words of query and entry; what an entry is worth by itself, told apart."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.index import ranking
from mdmem.index.results import explain_in_words, static_factors
from mdmem.index.schema import IndexRow, Lifetime
from mdmem.model import CommitId, FileKind, FilePath, Source
from mdmem.model.searches import Explanation, Factor, ScorePart
from mdmem.model.trail import Entry, Origin
from mdmem.text.terms import stem

ENTRY = Entry(
    FilePath("MEMORY.md"),
    1,
    1,
    ("Memory", "Houses"),
    None,
    "**Puppies** sleep, 東京",
    None,
    None,
    (),
    None,
    None,
    "",
)


def query_word_and_term(word: str, term: str, query: str) -> tuple[str, str]:
    explanation = explain_in_words(
        Explanation((ScorePart("text", stem(term), stem(word), 1.0),), ()), query, ENTRY
    )
    return explanation.parts[0].query_word, explanation.parts[0].term


@pytest.mark.parametrize(
    ("word", "term", "query", "expected"),
    [
        ("sleep", "sleep", "does he SLEEP?", ("SLEEP", "sleep")),
        ("sleeping", "sleep", "sleeping", ("sleeping", "sleep")),
        ("dog", "puppy", "dogs", ("dogs", "Puppies")),
        ("house", "house", "housing", ("housing", "Houses")),
        ("breakfast", "breakfast", "my breakfasts", ("breakfasts", "breakfasts")),
        ("dog", "kitty", "dogs", ("dogs", stem("kitty"))),
        ("東京", "東京", "東京へ", ("東京", "東京")),
    ],
    ids=["as typed", "inflected", "related", "heading", "near", "related and near", "characters"],
)
def test_words_stand_for_stems(word: str, term: str, query: str, expected: tuple[str, str]) -> None:
    assert query_word_and_term(word, term, query) == expected


@given(
    kind=st.sampled_from(list(FileKind)),
    confidence=st.none() | st.floats(0, 1),
    weaker=st.booleans(),
)
def test_what_an_entry_is_worth_is_told_apart(
    kind: FileKind, confidence: float | None, weaker: bool
) -> None:
    origin = (
        None
        if confidence is None
        else Origin(commit=CommitId("c" * 40), time=0, source=Source.AUTO, confidence=confidence)
    )
    row = IndexRow(ENTRY, origin, False, kind, Lifetime(weaker=weaker))
    factors = list(
        static_factors(
            row,
            [Factor("trust", ranking.static_factor(kind, confidence, weaker)), Factor("date", 2.5)],
        )
    )
    assert math.prod(factor.value for factor in factors) == pytest.approx(
        2.5 * ranking.static_factor(kind, confidence, weaker)
    )
    assert {factor.name for factor in factors} <= {"file", "confidence", "contradicted", "date"}
    assert ("contradicted" in {factor.name for factor in factors}) is weaker
    assert ("file" in {factor.name for factor in factors}) is (kind is FileKind.BOOTSTRAP)
