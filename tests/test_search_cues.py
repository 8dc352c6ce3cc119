"""Cues: the names, dates and kinds of answer in questions, and those that entries show."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.corrections import _CHANGE_WORD_TEXT, reports_change
from mdmem.index.ranking import (
    AMOUNT_CUE,
    ASKS_CUE,
    CHANGE_CUE,
    LINK_CUE,
    TIME_CUE,
    NamedDate,
    asking_sentences,
    is_dialogue,
    may_correct_others,
    question_cues,
)
from mdmem.index.ranking import entry_cues as cues_of
from mdmem.model import FilePath
from mdmem.model.trail import Entry
from mdmem.text.terms import folded, split_scripts

DAY = date(2025, 5, 20)


def entry(text: str, day: date | None = DAY) -> Entry:
    return Entry(
        FilePath("memory/x.md"), 1, 1, (), day, text, None, None, (), None, None, f"- {text}"
    )


def cues(entry: Entry) -> int:
    return cues_of(entry, folded(split_scripts(entry.text).spaced), is_log=entry.day is not None)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Zoe: I sail", "Where did Zoe sail?"),
        ("**Zoe**: I sail", "what does zoe do"),
        ("**Zoe:** I sail", "Zoe's boat"),
        ("Zoe Ann Lind: I sail", "Does Zoe sail?"),
        ("Dr. Lind: no sugar", "What did Lind say?"),
        ("Élodie: oui", "What did Elodie say?"),
        ("Will: no", "What did Will say?"),
        ("小明: 我喜欢喝茶", "小明喜欢什么"),
        ("Мария: да", "Что сказала Мария?"),
    ],
)
def test_the_speaker_is_named(text: str, question: str) -> None:
    assert question_cues(question).names_speaker(cues(entry(text)))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("I sail with Zoe: often", "Where did Zoe sail?"),
        ("Will: no", "What will Zoe do?"),
        ("Will: no", "Will Zoe come?"),
        ("http://zoe.example", "http"),
        ("12:30 lunch", "12"),
        ("sailing", "sailing"),
        ("A: yes", "a question"),
    ],
)
def test_no_speaker_is_named(text: str, question: str) -> None:
    assert not question_cues(question).names_speaker(cues(entry(text)))


def test_a_key_of_curated_memory_is_no_speaker() -> None:
    assert not question_cues("Which editor?").names_speaker(cues(entry("editor: vim", day=None)))


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("on 7 May 2023", NamedDate(2023, 5, 7)),
        ("on May 7th, 2023", NamedDate(2023, 5, 7)),
        ("the 2nd of june", NamedDate(None, 6, 2)),
        ("2023-05-07", NamedDate(2023, 5, 7)),
        ("in 2023-05", NamedDate(2023, 5, None)),
        ("2023年5月7日", NamedDate(2023, 5, 7)),
        ("in may 2022", NamedDate(2022, 5, None)),
        ("in May", NamedDate(None, 5, None)),
        ("summer of 2022", NamedDate(2022, None, None)),
        ("what may happen", None),
        ("a march through town", None),
        ("room 101", None),
        ("", None),
    ],
)
def test_dates(question: str, named: NamedDate | None) -> None:
    assert question_cues(question).date == named


@pytest.mark.parametrize(
    ("named", "holds"),
    [
        (NamedDate(2025, 5, 20), True),
        (NamedDate(2025, 5, 17), True),
        (NamedDate(2025, 5, 16), False),
        (NamedDate(2025, 5, 21), True),
        (NamedDate(2025, 5, 22), False),
        (NamedDate(None, 5, 20), True),
        (NamedDate(2025, None, None), True),
        (NamedDate(2024, None, None), False),
        (NamedDate(None, 5, None), True),
        (NamedDate(2025, 6, None), False),
        (NamedDate(2025, 13, 40), False),
    ],
)
def test_a_log_tells_of_its_day_and_the_days_before(named: NamedDate, holds: bool) -> None:
    assert named.includes(DAY) is holds


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("How are you?", ASKS_CUE),
        ("And this? (photo: a lake)", ASKS_CUE),
        ("元気ですか？", ASKS_CUE),
        ("Why? Because.", 0),
        ("went there yesterday", TIME_CUE),
        ("in 2019", TIME_CUE | AMOUNT_CUE),
        ("two cats", AMOUNT_CUE),
        ("[The harbour](harbour.md)", LINK_CUE),
        ("**[The harbour](notes/harbour.md#boats)**", LINK_CUE),
        ("[[The harbour]]", LINK_CUE),
        ("<https://example.org/harbour>", LINK_CUE),
        ("The harbour: https://example.org/harbour", 0),
        ("[The harbour](harbour.md) is closed", 0),
        ("[Boats](boats.md), [ships](ships.md)", 0),
        ("", 0),
    ],
)
def test_what_an_entry_shows(text: str, shown: int) -> None:
    assert cues(entry(text)) & (ASKS_CUE | TIME_CUE | AMOUNT_CUE | LINK_CUE) == shown


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was it?", TIME_CUE),
        ("how long ago", TIME_CUE),
        ("What year?", TIME_CUE),
        ("How many cats?", AMOUNT_CUE),
        ("what about when", 0),
        ("", 0),
    ],
)
def test_the_kind_of_answer(question: str, answer: int) -> None:
    assert question_cues(question).answer == answer


@pytest.mark.parametrize(
    ("texts", "dialogue"),
    [
        (["Ada: hello there", "Bob: hi", "Ada: so", "Bob: yes"], True),
        (["Ada: hello there", "a photo", "Bob: hi", "Ada: so", "Bob: yes", "Ada: good"], True),
        (["Parser: faster", "Parser: smaller", "Core: fixed", "Core: tested"], False),
        (["Parser: faster", "Core: fixed", "Docs: clearer", "Build: shorter"], False),
        (["Ada: hello there", "we met", "at noon", "Bob: hi"], False),
        (["Ada: hello there"], False),
    ],
)
def test_a_dialogue_has_speakers_who_take_turns(texts: list[str], dialogue: bool) -> None:
    cues = [cues_of(entry(text), folded(text), is_log=True) for text in texts]
    assert is_dialogue(cues) is dialogue


def test_the_sentences_that_ask() -> None:
    assert (
        asking_sentences("Nice! Where was it? I was home. And when? (photo: why?)")
        == " Where was it? And when?"
    )
    assert asking_sentences("良い。どこ？") == "どこ？"


def test_a_long_text_is_gone_through_once() -> None:
    assert asking_sentences("word " * 200_000 + "?") != ""
    assert asking_sentences("(" * 100_000 + "?") != ""
    assert cues(entry("A" * 100_000 + ": (" + "( " * 50_000)) == 0
    assert cues(entry("[" * 300_000)) == 0
    assert cues(entry("https://" + "-" * 300_000 + " x")) == 0
    assert cues(entry("a" + " " * 300_000 + "x?)")) == 0


@given(st.text(st.characters(codec=None), max_size=200))
def test_whatever_is_said_has_cues(text: str) -> None:
    question_cues(text).names_speaker(cues(entry(text)))


@pytest.mark.parametrize("word", [*_CHANGE_WORD_TEXT.split(), "as of May", "不再", "变更"])
def test_what_may_report_a_change(word: str) -> None:
    for text in (f"the port is {word}", f"{word.capitalize()} the port", f"PORT {word.upper()}"):
        assert not reports_change(text) or cues(entry(text)) & CHANGE_CUE, text


@pytest.mark.parametrize("text", ["désormais le port", "künftig Port 9", "no longer", "it moved"])
def test_what_reports_a_change(text: str) -> None:
    assert reports_change(text)


def test_what_reports_none() -> None:
    assert not cues(entry("the port of the API is 8080")) & CHANGE_CUE


def test_a_turn_of_a_dialogue_corrects_none() -> None:
    said = cues(entry("Ada: the port is 9090 now"))
    assert said & CHANGE_CUE
    assert not may_correct_others(said)
    assert may_correct_others(cues(entry("the port is 9090 now")))
