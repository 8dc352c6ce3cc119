"""Prompts that need the message before them, and those that say it all."""

import pytest

from mdmem.text.follow_ups import (
    is_acknowledgement,
    is_follow_up,
    is_short,
    leading_messages,
    made_things,
)


@pytest.mark.parametrize(
    "prompt",
    [
        "and production?",
        "what about the other one?",
        "who insures her?",
        "until when?",
        "Does it run in winter too?",
        "same thing, but only for the second one",
        "ok, and on Monday?",
        "und wo liegen die Testdaten?",
        "et le serveur ?",
        "¿y el otro?",
        "那生产环境呢？",
    ],
)
def test_follow_ups(prompt: str):
    assert is_follow_up(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "where does staging run?",
        "which seats do we have this week?",
        "Is there a gym in Hastings?",
        "does it run in Safari?",
        "what does `parse_depth` do to them?",
        "write the commit message",
        "wo läuft Staging?",
        "",
    ],
)
def test_prompts_that_say_it_all(prompt: str):
    assert not is_follow_up(prompt)


@pytest.mark.parametrize("prompt", ["yes", "ok, thanks!", "Danke, sehr gut", "merci", "好的，谢谢"])
def test_acknowledgements(prompt: str):
    assert is_acknowledgement(prompt)
    assert leading_messages(prompt, ["where does staging run?"]) == []


@pytest.mark.parametrize("prompt", ["the first one", "ok?", "yes, and the tests", "5"])
def test_no_acknowledgements(prompt: str):
    assert not is_acknowledgement(prompt)


def test_a_prompt_is_short_by_words_or_by_characters():
    assert is_short("calendar and prices")
    assert not is_short("what is the longest message that the firmware survives?")
    assert is_short("预算是多少？")
    assert not is_short("灯塔项目到七月为止的总预算是多少英镑？")


def test_a_follow_up_goes_back_to_a_message_that_says_it_all():
    before = ["how does she like to be reached?", "thanks", "who is Ilse Brandt?", "good morning"]
    assert leading_messages("and her number?", before) == [before[2], before[0]]
    assert leading_messages("and her number?", ["ok", *before[2:]]) == [before[2]]
    assert leading_messages("and her number?", []) == []


def test_a_long_prompt_that_says_it_all_needs_no_message():
    prompt = "what is the longest message that the firmware survives?"
    assert leading_messages(prompt, ["who is Ilse Brandt?"]) == []


def test_a_long_text_is_no_follow_up():
    for prompt in (f"and {'x ' * 200}", "yes " * 100, "x" * 400):
        assert not is_follow_up(prompt)
        assert not is_short(prompt)
        assert not is_acknowledgement(prompt)


def test_of_long_messages_the_end_is_taken():
    (message,) = leading_messages("and her number?", ["log line\n" * 999 + "who is Ilse Brandt?"])
    assert len(message) == 300
    assert message.endswith("who is Ilse Brandt?")


@pytest.mark.parametrize(
    ("prompt", "things"),
    [
        ("write the commit message", ["commit", "message"]),
        ("Please create a new branch for TW-881", ["branch"]),
        ("can you format this SQL query: select 1", ["SQL", "query"]),
        ("erstelle einen Vorfallbericht für Montag", ["Vorfallbericht"]),
        ("where does staging run?", []),
        ("push the branch", []),
        ("write", []),
    ],
)
def test_what_is_to_be_made(prompt: str, things: list[str]):
    assert list(made_things(prompt)) == things
