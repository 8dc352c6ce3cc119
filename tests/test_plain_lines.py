"""The line that a statement becomes: openers, values, dates, decisions, in each language."""

from datetime import date

import pytest

from mdmem.nights.dream.wording import key_of, plain_form

DAY = date(2026, 4, 17)
"""A Friday."""
DOG = "dog: Biscuit; he is scared of drums"
KEYS = ("accountant", "cat's dose", "favourite tea")


def line(text: str, kind: str = "fact") -> str:
    form = plain_form(text, kind=kind, day=DAY, keys=KEYS)
    label = f"[{form.kind}] " if form.kind else ""
    return f"{label}{form.line}" + (f" (until {form.until})" if form.until else "")


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("We live in Porto, by the way.", "home: Porto"),
        ("I just joined Kite Labs.", "employer: Kite Labs"),
        ("Please remember that my dentist is Dr. Ruiz.", "dentist: Dr. Ruiz"),
        ("By the way, I work as a translator.", "job: translator"),
        ("Actually, the billing service runs on port 8432.", "billing service port: 8432"),
        ("The deadline for the tax report is 3 May.", "tax report deadline: 3 May"),
        ("The accountant is Maria Sand now, not Jonas.", "accountant: Maria Sand"),
        ("Maria Sand is our accountant now.", "accountant: Maria Sand"),
        ("Our accountant has changed: it's Maria Sand now", "accountant: Maria Sand"),
        ("Remember that the cat's dose is 3 ml.", "cat's dose: 3 ml"),
        ("The dose of the cat is 3 ml.", "cat's dose: 3 ml"),
        ("employer: Initech", "employer: Initech"),
        (
            "I just joined Kite Labs. The new office is near the river Douro.",
            "employer: Kite Labs; The new office is near the river Douro",
        ),
        ("Airflow listens on port 8793 now.", "Airflow port: 8793"),
        ("My car is a blue Skoda", "car: blue Skoda"),
        ("I'm allergic to penicillin, put it on the list.", "allergy: penicillin"),
        ("My dog is called Biscuit and he is scared of drums.", DOG),
        ("One for you: the workshop moved in May", "[fact] the workshop moved in May"),
        ("Hallo! Ich wohne jetzt in Valencia.", "home: Valencia"),
        ("Übrigens wohne ich in Köln.", "home: Köln"),
        ("Wir sind letzte Woche nach Graz gezogen.", "home: Graz"),
        ("Ich arbeite jetzt bei Bosch.", "employer: Bosch"),
        ("Übrigens heiße ich Jule, nicht Julia.", "name: Jule"),
        ("Au fait, j'habite à Lyon.", "home: Lyon"),
        ("Je travaille chez Michelin.", "employer: Michelin"),
        ("Por cierto, vivo en Madrid.", "home: Madrid"),
        ("Ahora trabajo en Taller Norte.", "employer: Taller Norte"),
        ("My manager is Dana Whitlock.", "manager: Dana Whitlock"),
        ("Just FYI, I've switched from Atom to Zed as my editor.", "editor: Zed"),
        ("You can reach me at ana@example.org.", "email: ana@example.org"),
        ("I'm allergic to cats, just fyi", "allergy: cats"),
        ("I started at Birch Studio last week.", "employer: Birch Studio"),
        (
            "The report is due on 3 May and my editor Helena wants it as a PDF.",
            "report deadline: 3 May; editor Helena wants it as a PDF",
        ),
    ],
)
def test_a_value_is_a_value(said: str, plain: str):
    assert line(said) == plain


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("I'm staying in Lisbon until Friday.", "[fact] staying in Lisbon (until 2026-04-24)"),
        ("winter timetable until 27 April", "[fact] winter timetable (until 2026-04-27)"),
        ("The report was sent yesterday.", "[fact] The report was sent on 2026-04-16"),
        ("The freeze starts next Friday", "[fact] The freeze starts on 2026-04-24"),
        ("The report is ready by tomorrow", "[fact] The report is ready by 2026-04-18"),
        ("The lease ran until 2026-04-01", "[fact] The lease ran until 2026-04-01"),
    ],
)
def test_days_are_days(said: str, plain: str):
    assert line(said) == plain


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        (
            "We decided yesterday (2026-04-16) to rename heron to egret.",
            "rename heron to egret (2026-04-16)",
        ),
        (
            "Let's use DuckDB for the desktop app from now on, since SQLite was too slow.",
            "desktop app: DuckDB (SQLite was too slow)",
        ),
        ("We agreed to deploy on Mondays.", "deploy on Mondays"),
        ("We use pnpm for all repos.", "repos: pnpm"),
        ("No deploys on Friday!", "No deploys on Friday"),
        ("No, we switched from npm to pnpm.", "switched from npm to pnpm"),
        ("Nous avons décidé de garder la sauvegarde.", "garder la sauvegarde"),
        ("Hemos decidido usar Postgres.", "usar Postgres"),
        ("我们决定用 Postgres。", "用 Postgres"),
    ],
)
def test_a_decision_has_no_frame(said: str, plain: str):
    assert line(said, "decision") == f"[decision] {plain}"


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("Just so you know, I bought a bike in 2025", "bought a bike in 2025"),
        ("FYI: we all moved to the second floor.", "all moved to the second floor"),
        ("Our CI server is called Puffin, just so you know.", "CI server is called Puffin"),
        ("Remember to buy milk", "buy milk"),
        ("I was born in Graz", "born in Graz"),
        ("sorry, typo. my GP is Dr. Daly", "GP is Dr. Daly"),
        ("Hallo! Ich koche gern in Valencia.", "koche gern in Valencia"),
        ("My parents live in Pune. my aunt is in Leeds", "parents live in Pune. aunt is in Leeds"),
        ("Keep raw events for 90 days from now on", "Keep raw events for 90 days"),
        ("Ich koche übrigens in Köln.", "koche in Köln"),
        ("Übrigens koche ich in Köln.", "koche in Köln"),
        ("Au fait, j'aime Lyon.", "aime Lyon"),
        ("Por cierto, canto en Madrid.", "canto en Madrid"),
        ("其实我住在上海。", "住在上海"),
        (
            '"We meet on the 14th of April.": Actually, the auditors come on the 21st of April.',
            "the auditors come on the 21st of April",
        ),
        ('"Keep the dump?": No, drop it in May', '"Keep the dump?": No, drop it in May'),
    ],
)
def test_openers_go(said: str, plain: str):
    assert line(said) == f"[fact] {plain}"


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("Just so you know, I prefer the window seat.", "prefer the window seat"),
        ("I always keep the receipts of trips.", "always keep the receipts of trips"),
        ("I don't drink coffee", "don't drink coffee"),
        ("I am fond of long walks", "fond of long walks"),
        ("Ich mag keinen Kaffee", "mag keinen Kaffee"),
        ("Je préfère le thé", "préfère le thé"),
        ("我喜欢茶", "喜欢茶"),
    ],
)
def test_a_preference_has_no_subject(said: str, plain: str):
    assert line(said, "preference") == f"[preference] {plain}"


def test_a_plain_line_stays_as_it_is():
    for text in ("plays tennis on Tuesdays", "prefers the window seat", "home: Porto"):
        assert line(text).removeprefix("[fact] ") == text


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("billing service port: 8432", "billing service port"),
        ("**favourite tea**: Assam", "favourite tea"),
        ("the shed is green", None),
        ("the one thing to know about all of this: it is old", None),
    ],
)
def test_a_key_is_a_short_name(text: str, key: str | None):
    assert key_of(text) == key
