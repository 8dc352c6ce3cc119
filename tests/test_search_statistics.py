"""The same files give the same answer, whether their index was built at once or grew
edit by edit.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import World
from test_unindexed import PATHS, RARE, WORDS, say, sentence, with_random_edits
from workspaces import NOW, Desk, desk

from mdmem.index import catching_up, ranking
from mdmem.memory import Memory
from mdmem.model.searches import Hit, Search

QUERIES = 5
DAYS = [f"memory/2026-02-{day:02}.md" for day in range(1, 21)]


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A memory of fewer entries than a search looks at, so that none depends on which of equal ones
    are left out.
    """
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at, chance = desk(world, repository), random.Random(6)
    for path in (*DAYS, *PATHS):
        at.write(
            path, "# Title\n\n## Part\n\n" + "".join(f"- {sentence(chance)}\n" for _ in range(3))
        )
    at.commit()
    return at


def edit(at: Desk, chance: random.Random) -> None:
    """A few edits, each committed or not, and taken into the index."""
    for _ in range(chance.randint(1, 8)):
        path = chance.choice([*PATHS, *PATHS, *DAYS])
        if chance.random() < 0.1:
            (at.root / path).unlink(missing_ok=True)
        else:
            text = at.read(path) if (at.root / path).exists() else "# Title\n\n## Part\n"
            at.write(path, with_random_edits(text, chance))
        if chance.random() < 0.5:
            at.commit()
        catching_up.fresh_index(at.workspace, say)


def answers(at: Desk, chance: random.Random) -> Iterator[tuple[Hit, ...]]:
    """The answers to a few queries, in memory as it is and with its past."""
    for number in range(QUERIES):
        query = " ".join(chance.sample([*WORDS, *RARE, "xyzzy"], 1 + number))
        for history in (False, True):
            yield (
                Memory(at.workspace)
                .search(Search(query, history=history, explain=number % 2 == 0))
                .hits
            )


@pytest.mark.parametrize("rounds", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_answers_and_scores_are_those_of_a_fresh_build(at: Desk, rounds: int) -> None:
    chance = random.Random(7)
    was_grown = False
    for number in range(rounds):
        edit(at, chance)
        was_grown |= not catching_up.index_as_is(at.workspace)[0].seen.is_fresh
        grown = list(answers(at, random.Random(number)))
        catching_up.rebuild_index(at.workspace, True, say)
        assert catching_up.index_as_is(at.workspace)[0].seen.is_fresh
        for hits, expected in zip(grown, answers(at, random.Random(number)), strict=True):
            assert [(hit.path, hit.start_line, hit.text) for hit in hits] == [
                (hit.path, hit.start_line, hit.text) for hit in expected
            ]
            assert [hit.score for hit in hits] == pytest.approx(
                [hit.score for hit in expected], abs=2e-4
            )
            assert [parts(hit) for hit in hits] == [parts(hit) for hit in expected]
    assert was_grown


def parts(hit: Hit) -> list[tuple[str, str, object]]:
    return (
        [
            (part.field, part.term, pytest.approx(part.score, abs=2e-4))
            for part in hit.explanation.parts
        ]
        if hit.explanation
        else []
    )


def test_words_that_are_gone_are_not_looked_for(at: Desk) -> None:
    at.write("MEMORY.md", "- " + "\n- ".join(f"zorbla{letter}" for letter in "abcdefghij") + "\n")
    catching_up.fresh_index(at.workspace, say)
    at.write("MEMORY.md", "- zorblaz\n")
    catching_up.fresh_index(at.workspace, say)
    assert [hit.text for hit in Memory(at.workspace).search(Search("zorblaxy")).hits[:1]] == [
        "zorblaz"
    ]


def test_the_best_two_of_the_days_of_the_best_decide() -> None:
    days = [1, 2, 1, 1, 2, 3, ranking.NO_DAY]
    scores = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0]
    assert ranking.decisive(days, scores, 2) == {0, 1, 2, 4}
    assert ranking.decisive(days, scores, 7) == set(range(7))
