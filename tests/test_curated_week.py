"""MEMORY.md after a week of nights, compared with lists that were written before the rules."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from curated_week import CuratedWeek, nights
from simulated_week import Week
from week_script import BERLIN

_FIRST_PERSON = re.compile(
    r"(?i)\b(?:i|i'm|we|my|our|ich|wir|mein\w*|unser\w*|je|nous|mon|ma|yo|mi)\b|我"
)
_RELATIVE_DAY = re.compile(r"(?i)\b(?:yesterday|today|tomorrow|(?:last|next) \w+)\b")
_MOST_WORDS = 12


# Shares of what was said plainly, and of the rest; all but the second week tuned the rules, and the
# last three were written before the shapes of sentences were.
_REACHED = {
    "curated": (1.0, 1.0),
    "second": (0.88, 0.75),
    "third": (0.96, 0.9),
    "nurse": (0.95, 0.79),
    "data": (0.87, 1.0),
    "potter": (1.0, 0.79),
    "trucker": (0.89, 1.0),
    "florist": (0.94, 0.77),
    "translator": (0.86, 0.66),
}
# What stands beside its correction, which is only proposed: other words are around it.
_ONLY_PROPOSED = {
    "nurse": ["Cormac"],
    "data": ["Redshift"],
    "trucker": ["Michelin", "prices in kroner"],
}
# What stands although it was corrected in other words: a fault that is known.
_NOT_SEEN = {"florist": ["SumUp", "pitch 14"], "translator": ["lactose", "British", "Lechner"]}
_MOST_LONG = {"trucker": 0.13}
"""The share of lines that hold two things or more than twelve words; elsewhere a tenth."""


@pytest.fixture(
    scope="module",
    params=[
        *("curated", "second"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in tuple(_REACHED)[2:]),
    ],
)
def gold(request: pytest.FixtureRequest) -> CuratedWeek:
    return CuratedWeek(request.param)


@pytest.fixture(scope="module")
def week(
    gold: CuratedWeek, tmp_path_factory: pytest.TempPathFactory, empty_repository: Path
) -> Iterator[Week]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("curated")
        settings = ('dream = "apply"', 'dream_at = "02:00"')
        week = Week.begin(folder, empty_repository, patch, *settings, memory=gold.memory)
        week.sessions = tuple(gold.sessions())
        week.set_zone(BERLIN)
        for night in nights():
            week.write_sessions(night)
            week.call("run", "--json", at=night)
        yield week


def lines(week: Week) -> list[str]:
    memory = week.files()["MEMORY.md"].decode()
    return [line.removeprefix("- ") for line in memory.splitlines() if line.startswith("- ")]


def proposed(week: Week) -> list[str]:
    return [part["new"] for part in week.proposals() if part["new"]]


def holding(words: str, texts: list[str]) -> list[str]:
    if ": " in words:
        return [text for text in texts if words.casefold() in text.casefold()]
    return [text for text in texts if all(w in text.casefold() for w in words.casefold().split())]


def is_plain(line: str, openers: Sequence[str]) -> bool:
    text = re.sub(r"^\[\w+\] ", "", line.removeprefix("- ")).partition(" (")[0]
    has_opener = any(opener in text.casefold() for opener in openers)
    is_short = len(text.split()) <= _MOST_WORDS
    return is_short and not (has_opener or _FIRST_PERSON.search(text) or _RELATIVE_DAY.search(text))


def test_what_was_said_plainly_is_kept_once(week: Week, gold: CuratedWeek):
    counts = {words: len(holding(words, lines(week))) for words in gold.kept}
    assert [words for words, count in counts.items() if count > 1] == []
    least = _REACHED[gold.name][0] * len(gold.kept)
    assert sum(counts.values()) >= least, [words for words, count in counts.items() if not count]


def test_the_rest_is_applied_or_proposed(week: Week, gold: CuratedWeek):
    text = [*lines(week), *proposed(week)]
    missing = [words for words in gold.either if not holding(words, text)]
    assert len(missing) <= (1 - _REACHED[gold.name][1]) * len(gold.either), missing


def test_nothing_stale_and_nothing_of_others_stands(week: Week, gold: CuratedWeek):
    memory = week.files()["MEMORY.md"].decode()
    standing = [words for words in (*gold.stale, *gold.never) if words in memory]
    assert standing == _ONLY_PROPOSED.get(gold.name, []) + _NOT_SEEN.get(gold.name, [])


def test_lines_are_plain(week: Week, gold: CuratedWeek):
    text, openers = lines(week), gold.openers
    assert [line for line in text if any(each in line.casefold() for each in openers)] == []
    other = [line for line in text if not is_plain(line, openers)]
    assert len(other) <= _MOST_LONG.get(gold.name, 0.1) * len(text), other


def test_a_night_is_one_commit(week: Week):
    subjects = week.git("log", "--format=%s", "--grep=Mdmem-Run: dream/").splitlines()
    assert len(subjects) <= len(tuple(nights()))
    assert all(subject.startswith("dream: ") and len(subject) <= 72 for subject in subjects)
