"""The figures that events keep of a search's answer."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from mdmem.events import Quality
from mdmem.index.gate import answer_quality
from mdmem.model import Status
from mdmem.model.searches import Hit

TODAY = date(2026, 3, 5)


def hit(score: float, text: str = "nothing", **fields: Any) -> Hit:
    defaults: dict[str, Any] = {
        **dict.fromkeys(("kind", "day", "fact", "key", "source", "confidence", "until", "commit")),
        **{
            "path": "MEMORY.md",
            "start_line": 1,
            "end_line": 1,
            "section": (),
            "tags": (),
            "status": Status.CURRENT,
            "uncommitted": False,
        },
    }
    return Hit(text=text, score=score, **(defaults | fields))


def test_no_hit() -> None:
    assert answer_quality("the dog", (), TODAY) == Quality(words=1, hits=0)


@pytest.mark.parametrize(
    ("scores", "spread"),
    [
        ((8.0,), 0.0),
        ((8.0, 8.0, 8.0), 0.0),
        ((8.0, 2.0, 1.0), 0.75),
        ((8.0, 6.0, 2.0, 1.0), 0.5),
        ((0.0, 0.0), None),
    ],
)
def test_scores_and_how_far_the_first_stands_out(
    scores: tuple[float, ...], spread: float | None
) -> None:
    quality = answer_quality("dog", [hit(score) for score in scores], TODAY)
    assert (quality.hits, quality.first, quality.last, quality.spread) == (
        len(scores),
        scores[0],
        scores[-1],
        spread,
    )


def test_where_the_words_were_found() -> None:
    hits = [
        hit(9, "Dogs bark"),
        hit(8, "it barks", section=("Home", "The dog")),
        hit(7, "it barks", path="memory/dogs.md"),
        hit(6, "a puppy"),
        hit(5, "日本語"),
    ]
    quality = answer_quality("the dogs of 日本", hits, TODAY)
    assert (quality.words, quality.text, quality.heading, quality.beside) == (2, 2, 2, 1)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("go", "she went"),
        ("child", "the children"),
        ("cafe", "Le Café"),
        ("كلب", "الكلب ينام"),
        ("houses", "HOUSING"),
    ],
)
def test_other_forms_are_words_of_the_query(query: str, text: str) -> None:
    assert answer_quality(query, [hit(1, text)], TODAY).text == 1


def test_only_the_first_hits_are_looked_at() -> None:
    quality = answer_quality("dog", [hit(1, "dog")] * 500, TODAY)
    assert (quality.hits, quality.text, quality.beside) == (500, 8, 0)


def test_ages_are_of_the_log_else_of_the_commit_else_none() -> None:
    hits = [
        hit(5, day=date(2026, 3, 1), since=datetime(2020, 1, 1, tzinfo=UTC)),
        hit(4, since=datetime(2026, 2, 23, 12, tzinfo=UTC)),
        hit(3, uncommitted=True),
        hit(2, day=date(2027, 1, 1)),
    ]
    assert answer_quality("dog", hits[:1], TODAY).age == 4
    assert answer_quality("dog", hits[:2], TODAY).age == 7
    assert answer_quality("dog", hits, TODAY).age == 2
