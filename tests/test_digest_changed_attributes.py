"""What a person says of themselves changes: the later statement is joined with the earlier one, and
with no other.
"""

import re
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import World
from made_sessions import Turn, write_session
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory
from mdmem.model import FactId, Status
from mdmem.model.pipelines import Digest, DigestResult
from mdmem.model.searches import ListFacts
from mdmem.past.messages import ParsedNote
from mdmem.past.notes import parse_message
from mdmem.sessions.drafts import DraftRules, draw
from mdmem.sessions.plain import stated_attribute
from mdmem.sessions.reading import read
from mdmem.sessions.sentences import Sentence

START = datetime(2026, 3, 4, 4, 0, tzinfo=UTC)
FILLER: tuple[Turn, ...] = (("user", "ok"), ("agent", "Sure, here you are.")) * 20
LEAST = 0.9

PAIRS: dict[str, tuple[str, tuple[str, str, str, str]]] = {
    "employer": (
        "I work at Stripe as an engineer.",
        (
            "I just joined Linear.",
            "I've started at Linear this week.",
            "I work for Linear now.",
            "My new employer is Linear.",
        ),
    ),
    "home": (
        "I live in Bergen with two friends.",
        (
            "We moved to Lisbon last month.",
            "I live in Lisbon now.",
            "I'm based in Lisbon these days.",
            "My new address is Rua do Sol 4, Lisbon.",
        ),
    ),
    "name": (
        "My name is Tom.",
        (
            "My name is Tomek now.",
            "Call me Tomek from now on.",
            "Please call me Tomek.",
            "I go by Tomek now.",
        ),
    ),
    "job": (
        "I work as a nurse on the night shift.",
        (
            "My job is teaching nurses.",
            "I work as a teacher now.",
            "My new role is head of training.",
            "I became a teacher.",
        ),
    ),
    "birthday": (
        "My birthday is on 3 May.",
        (
            "My birthday is actually 4 May.",
            "My birthday is 4 May.",
            "My birthday is the 4th of May, not the 3rd.",
            "I was born on 4 May.",
        ),
    ),
    "phone": (
        "My phone number is 555 0101.",
        (
            "My new phone number is 555 0199.",
            "My phone is now 555 0199.",
            "My mobile number is 555 0199 now.",
            "My phone number has changed to 555 0199.",
        ),
    ),
    "email": (
        "My email is ada@example.org.",
        (
            "My new email is ada@lovelace.example.",
            "My e-mail address is ada@lovelace.example.",
            "My email is now ada@lovelace.example.",
            "My mail address has changed to ada@lovelace.example.",
        ),
    ),
    "wife": (
        "My wife is called Ines.",
        (
            "My wife's name is Inês.",
            "My wife is Inês.",
            "My wife is named Inês, by the way.",
            "My wife is called Inês.",
        ),
    ),
    "boss": (
        "My boss is Marek.",
        (
            "My new boss is Ottilie.",
            "My boss is Ottilie now.",
            "Ottilie is my new boss.",
            "My manager is called Ottilie.",
        ),
    ),
    "dog": (
        "My dog is called Bruno.",
        (
            "My new dog is called Asta.",
            "Our dog is Asta.",
            "My dog's name is Asta.",
            "My dog is named Asta.",
        ),
    ),
    "cat": (
        "My cat is called Miso.",
        (
            "My cat's name is Pixel.",
            "My cat is Pixel.",
            "Our new cat is named Pixel.",
            "My cat is now called Pixel.",
        ),
    ),
    "roommate": (
        "My roommate is Jonas.",
        (
            "My new roommate is Lena.",
            "My roommate's name is Lena.",
            "My flatmate is called Lena.",
            "My roommate is Lena now.",
        ),
    ),
    "diet": (
        "I'm vegetarian.",
        ("I'm vegan now.", "I am now vegan.", "I've gone vegan.", "I became vegan in June."),
    ),
    "car": (
        "I drive a Saab.",
        (
            "My new car is a Volvo.",
            "I drive a Volvo now.",
            "Our car is a Volvo.",
            "I'm driving a Volvo these days.",
        ),
    ),
    "school": (
        "I study at Charles University.",
        (
            "I transferred to Masaryk University.",
            "I study at Masaryk University now.",
            "My university is Masaryk.",
            "I'm studying at Masaryk University.",
        ),
    ),
    "landlord": (
        "My landlord is Mr Novak.",
        (
            "My new landlord is Mrs Vesela.",
            "My landlord is now Mrs Vesela.",
            "Our landlord is called Vesela.",
            "Vesela is our new landlord.",
        ),
    ),
    "favourite tea": (
        "My favourite tea is Assam.",
        (
            "My new favourite tea is Sencha.",
            "Sencha is my favourite tea.",
            "My favorite tea is Sencha now.",
            "My favourite tea has become Sencha.",
        ),
    ),
    "favourite colour": (
        "My favourite colour is green.",
        (
            "My favourite colour is blue.",
            "My favourite colour now is blue.",
            "Blue is my favourite colour.",
            "My all-time favourite colour is blue.",
        ),
    ),
    "favourite band": (
        "My favourite band is The Kinks.",
        (
            "My fave band is Low.",
            "My favourite band is Low.",
            "Low is my new favourite band.",
            "My favorite band is now Low.",
        ),
    ),
    "favourite film": (
        "My favourite film is Stalker.",
        (
            "My favourite film is Solaris.",
            "Solaris is my favourite film.",
            "My favorite film is Solaris now.",
            "My new favourite film is Solaris.",
        ),
    ),
}
"""By attribute, what was so, and four wordings of what is so now."""

LOOK_ALIKES = [
    ("My sister works at Stripe.", "I just joined Linear."),
    ("I work at Stripe.", "My sister just joined Linear."),
    ("I live in Bergen.", "My brother lives in Lisbon."),
    ("Anna lives in Bergen.", "I live in Bergen, near the harbour."),
    ("My parents moved to Lisbon.", "We moved to Bergen."),
    ("I work at Stripe.", "If I worked at Linear I would cycle there."),
    ("I live in Bergen.", "Imagine I live in Lisbon."),
    ("I live in Bergen.", "I want to live in Lisbon one day."),
    ("I work at Stripe.", "I might join Linear next year."),
    ("I work at Stripe.", "Did I say that I work at Linear?"),
    ("I work at Stripe.", 'The badge reads "I work at Linear".'),
    ("I work at Stripe.", "Marek wrote: I just joined Linear."),
    ("I work at Stripe.", "I once worked at Linear."),
    ("I work at Stripe.", "I joined Linear for a webinar."),
    ("My name is Tom.", "My character's name is Tomek."),
    ("My dog is called Bruno.", "My sister's dog is called Asta."),
    ("My boss is Marek.", "My wife's boss is Ottilie."),
    ("My favourite tea is Assam.", "My favourite tea shop is Sencha House."),
    ("My brother is called Jan.", "My brother is German."),
    ("My email is ada@example.org.", "My sister's email is ines@example.org."),
]
"""Two statements that are not about the same."""


def key_of(text: str, tools: bool = False) -> str | None:
    stated = stated_attribute(Sentence.of(text), tools)
    return stated.key if stated else None


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def digest(at: Desk, turns: Sequence[Turn], step: timedelta) -> DigestResult:
    path = at.root.parent / "5a1e0000.jsonl"
    path.write_bytes(write_session("openclaw", turns, "5a1e0000", START, step))
    with closing(Memory(at.workspace)) as memory:
        return memory.pipelines.digest(Digest(sessions=(str(path),)))


def notes(at: Desk, result: DigestResult) -> list[ParsedNote]:
    return [parse_message(at.git("log", "-1", "--format=%B", commit)) for commit in result.commits]


def facts_by_turn(result: DigestResult) -> dict[int, FactId]:
    """The entry that was drawn from each turn. The first turn of a session stands in its second
    line.
    """
    return {
        int(re.split("[#-]", cite)[-1]) - 2: entry.fact
        for entry in result.entries
        for cite in entry.cites
    }


@pytest.mark.parametrize("wording", range(4))
def test_far_apart_both_stand_with_the_same_key(at: Desk, wording: int):
    turns = [
        *(("user", earlier) for earlier, _ in PAIRS.values()),
        *FILLER,
        *(("user", later[wording]) for _, later in PAIRS.values()),
    ]
    result = digest(at, turns, timedelta(minutes=20))
    facts, keys = (
        facts_by_turn(result),
        {fact: key for note in notes(at, result) for fact, key in note.keys},
    )
    behind = len(PAIRS) + len(FILLER)
    joined = [
        key
        for number, key in enumerate(PAIRS)
        if keys.get(facts[number]) == key == keys.get(facts.get(behind + number, facts[number]))
    ]
    assert {entry.day.isoformat() for entry in result.entries} == {"2026-03-04", "2026-03-05"}
    assert len(joined) >= LEAST * len(PAIRS), set(PAIRS) - set(joined)


@pytest.mark.parametrize("wording", range(4))
def test_a_correction_shortly_after_supersedes(at: Desk, wording: int):
    turns = [
        turn
        for earlier, later in PAIRS.values()
        for turn in (
            ("user", earlier),
            ("agent", "I see."),
            ("user", f"Actually, {later[wording]}"),
        )
    ]
    result = digest(at, turns, timedelta(minutes=1))
    facts, superseded = (
        facts_by_turn(result),
        {old for note in notes(at, result) for old, _ in note.supersedes},
    )
    joined = [key for number, key in enumerate(PAIRS) if facts[3 * number] in superseded]
    assert len(joined) >= LEAST * len(PAIRS), set(PAIRS) - set(joined)


def statuses_of(at: Desk, result: DigestResult) -> list[Status]:
    """The statuses of the entries of a digest, in the order in which they were said."""
    with closing(Memory(at.workspace)) as memory:
        statuses = {hit.fact: hit.status for hit in memory.facts(ListFacts(everything=True)).facts}
    in_order = sorted(result.entries, key=lambda entry: entry.minute)
    return [statuses[entry.fact] for entry in in_order]


def test_what_was_corrected_counts_no_more(at: Desk):
    earlier = "The auditors come on the 14th of April."
    later = "Actually, the auditors come on the 21st of April."
    turns = [("user", earlier), ("agent", "I see."), ("user", later)]
    result = digest(at, turns, timedelta(minutes=1))
    assert statuses_of(at, result) == [Status.SUPERSEDED, Status.CURRENT]


def test_a_correction_that_is_not_plain_only_contradicts(at: Desk):
    earlier = "We decided to meet on the 14th of April."
    later = "If the room is free then, I meant the 21st of April."
    turns = [("user", earlier), ("agent", "I see."), ("user", later)]
    result = digest(at, turns, timedelta(minutes=1))
    assert statuses_of(at, result) == [Status.CURRENT, Status.CURRENT]
    assert sum(len(note.contradicts) for note in notes(at, result)) == 1


@pytest.mark.parametrize(("earlier", "later"), LOOK_ALIKES)
def test_look_alikes_are_never_joined(earlier: str, later: str):
    assert key_of(earlier) is None or key_of(earlier) != key_of(later)
    for text in (
        later,
        f"Actually, {later[0].lower()}{later[1:]}" if later[0] != "I" else f"Actually, {later}",
    ):
        for turns in (
            [("user", earlier), ("user", text)],
            [("user", earlier), *FILLER, ("user", text)],
        ):
            transcript = read(write_session("openclaw", turns, "5a1e0000", START))
            assert transcript is not None
            for tools_line in (None, 0):
                drafts = draw(
                    transcript.messages,
                    DraftRules(zone=UTC, keep_lines=True, tools_line=tools_line),
                ).drafts
                assert [(draft.supersedes, draft.contradicts) for draft in drafts] == [
                    (None, ())
                ] * len(drafts)


@pytest.mark.parametrize(
    ("text", "key"), [("We moved to Postgres.", None), ("I work at Stripe.", "employer")]
)
def test_where_there_are_tools_one_moves_to_another_program(text: str, key: str | None):
    assert key_of(text, tools=True) == key
