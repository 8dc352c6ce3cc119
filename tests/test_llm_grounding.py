"""A text that says no more than its lines: numbers, dates, names and addresses."""

import json
from datetime import date
from pathlib import Path

import pytest

from mdmem.llm.checks import Ground, SaidLine
from mdmem.llm.plain_words import is_plain

DATA = Path(__file__).parent / "data" / "reworded_lines.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
REWORDED, INVENTED = (
    [(row["line"], tuple(row[key])) for row in ROWS if key in row]
    for key in ("reworded", "invented")
)
"""Lines of conversations, with statements that say the same in other words, and with statements
that say more.
"""
DAY = date(2026, 11, 19)
LINES = (
    "We moved to SQLite yesterday, 3 tables and 200,000 rows; my sister Mia pays $5 until 2 May.",
    "See https://a.org/x or write to ada@a.org; the importer of Anna's team locks at 9:30 in src/db/lock.py.",
    "i work at stripe, in Zürich. Es sind 7 Bäume. 我住在柏林。",
)
GROUNDED = [
    "Moved to SQLite on 2026-11-18",
    "Moved to SQLite on 18 November 2026",
    "Moved to SQLite on November 18th",
    "Moved to SQLite on Wednesday",
    "Moved to SQLite in November 2026",
    "Moved in 2026 to SQLite",
    "SQLite has three tables and 200000 rows",
    "Three tables of SQLite",
    "Mia, the user's sister, pays $5",
    "Mia pays until 2 May",
    "Mia pays until May 2",
    "The page is https://a.org/x",
    "The address of Ada is ada@a.org",
    "The importer of Anna's team locks at 09:30",
    "The lock is in src/db/lock.py",
    "Works at Stripe in Zürich",
    "works at stripe",
    "Es sind 7 Bäume",
    "我住在柏林",
]
UNGROUNDED = [
    ("Moved to SQLite on 2026-11-17", "2026-11-17"),
    ("Moved to SQLite on 18 October", "10-18"),
    ("Moved to SQLite on 18 November 2025", "2025-11-18"),
    ("Moved to SQLite on Thursday", "Thursday"),
    ("Moved to SQLite on 2026-11-03", "2026-11-3"),  # both numbers stand there, the date does not
    ("SQLite has four tables", "4"),
    ("SQLite has 30 tables", "30"),
    ("SQLite has -3 tables", "-3"),
    ("SQLite has twenty-three tables", "23"),
    ("SQLite has a dozen tables", "dozen"),
    ("SQLite has ½ of the rows", "1"),
    ("Mia pays €5", "€"),
    ("Mia pays 5%", "%"),
    ("Mia pays $5.50", "5.50"),
    ("Marcus moved to SQLite", "Marcus"),
    ("We moved to SQLite with Bob", "Bob"),
    ("We moved to MySQL", "MySQL"),
    ("works at initech in zürich", "initech"),
    ("my sister called bob pays", "bob"),
    ("The page is https://a.org/xy", "https://a.org/xy"),
    ("The page is https://a.org", "https://a.org"),
    ("Write to bob@a.org", "bob@a.org"),
    ("Write to da@a.org", "da@a.org"),
    ("The lock is in src/db/locks.py", "src/db/locks.py"),
    ("The lock is in db.sqlite3", "db.sqlite3"),
    ("我住在東京", "我住在東京"),
    ("Она работает в Stripe", "Она"),
    ("prefers tea and dislikes coffee", "prefers tea and dislikes coffee"),
]


@pytest.mark.parametrize("text", GROUNDED)
def test_what_the_lines_say(text: str):
    assert Ground(SaidLine(line, DAY) for line in LINES).ungrounded(text) == ""


@pytest.mark.parametrize(("text", "part"), UNGROUNDED)
def test_what_they_do_not_say(text: str, part: str):
    assert Ground(SaidLine(line, DAY) for line in LINES).ungrounded(text) == part


def test_a_relative_date_counts_from_the_day_of_its_own_line():
    ground = Ground(
        (SaidLine("We moved to SQLite.", DAY), SaidLine("That was yesterday.", date(2026, 1, 1)))
    )
    assert ground.ungrounded("Moved to SQLite on 2025-12-31") == ""
    assert ground.ungrounded("Moved to SQLite on 2026-11-18")


def refused(line: str, texts: tuple[str, ...]) -> list[str]:
    ground = Ground((SaidLine(line, DAY),))
    return [text for text in texts if ground.ungrounded(text)]


def test_the_same_in_other_words_is_rarely_refused():
    count = sum(len(texts) for _, texts in REWORDED)
    assert sum(len(refused(line, texts)) for line, texts in REWORDED) <= 0.05 * count


@pytest.mark.parametrize(("line", "texts"), INVENTED)
def test_what_a_line_does_not_say_is_refused(line: str, texts: tuple[str, ...]):
    assert refused(line, texts) == list(texts)


NAMES = """
    Adam Ada Amy Anna April Art August Ben Bill Bob Carol Chase Chuck Daisy Dawn Dean Drew Emma Eric
    Faith Frank Gene Grace Grant Guy Harry Hope Ivy
    Jack James Jane Jay Joy Kate Kelly Lance Lily Lisa Liz Mark Mary Max Mia Miles Nick Noah Olive
    Pam Pat Paul Pearl Penny Peter Ray Reed Rich Rob
    Robin Rose Ruby Sam Sandy Scott Sky Sue Ted Tim Tom Victor Violet Wade Wayne Will Baker Bell
    Brooks Cooper Hunter Jobs King Parker Price Walker
    Berlin Cork Lisbon Nice Paris Reading Rome Sydney Acme Amazon Apple Chrome Discord Docker Excel
    Flask Go Google Java Kafka Linear Meta Notion
    Oracle Outlook Postgres Python React Redis Rust Shell Signal Slack Spring Stripe Swift Target
    Teams Uber Visa Word Zoom
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_is_no_plain_word(name: str):
    assert not is_plain(name.casefold())
