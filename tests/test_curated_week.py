"""What MEMORY.md says after a week of nights, against a list that was written before the rules."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from curated_week import (
    EITHER,
    KEPT,
    MEMORY,
    NEVER,
    OPENERS,
    STALE,
    START,
    nights,
    sessions,
)
from simulated_week import Week
from week_script import BERLIN

_FIRST_PERSON = re.compile(r"(?i)\b(?:i|i'm|we|my|our|ich|wir)\b")
_RELATIVE_DAY = re.compile(r"(?i)\b(?:yesterday|today|tomorrow|(?:last|next) \w+)\b")
_MOST_WORDS = 12


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory, empty_repository: Path) -> Iterator[Week]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("curated")
        settings = ('dream = "apply"', 'dream_at = "02:00"')
        week = Week.begin(folder, empty_repository, patch, *settings, memory=MEMORY, start=START)
        week.sessions = tuple(sessions())
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


def is_plain(line: str) -> bool:
    text = re.sub(r"^\[\w+\] ", "", line.removeprefix("- ")).partition(" (")[0]
    has_opener = any(opener in text.casefold() for opener in OPENERS)
    is_short = len(text.split()) <= _MOST_WORDS
    return is_short and not (has_opener or _FIRST_PERSON.search(text) or _RELATIVE_DAY.search(text))


def test_what_was_said_plainly_is_kept_once(week: Week):
    text = lines(week)
    assert [words for words in KEPT if len(holding(words, text)) != 1] == []


def test_the_rest_is_applied_or_proposed(week: Week):
    text = [*lines(week), *proposed(week)]
    assert [words for words in EITHER if not holding(words, text)] == []


def test_nothing_stale_and_nothing_of_others_stands(week: Week):
    memory = week.files()["MEMORY.md"].decode()
    assert [words for words in (*STALE, *NEVER) if words in memory] == []


def test_lines_are_plain(week: Week):
    text = lines(week)
    quoted = [line for line in text if any(opener in line.casefold() for opener in OPENERS)]
    assert quoted == []
    assert sum(map(is_plain, text)) >= 0.9 * len(text), [
        line for line in text if not is_plain(line)
    ]


def test_a_night_is_one_commit(week: Week):
    subjects = week.git("log", "--format=%s", "--grep=Mdmem-Run: dream/").splitlines()
    assert len(subjects) <= len(tuple(nights()))
    assert all(subject.startswith("dream: ") and len(subject) <= 72 for subject in subjects)
