"""A week of one person, and what MEMORY.md has to hold after it; written before the rules."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from week_script import Session, berlin

MEMORY = """\
# Memory

## Facts

- employer: Tidewater
- accountant: Jonas Feld
- billing service port: 8080
- the backup of the wiki needs nine hours
- the staging cluster runs in Frankfurt
- cat's dose: 2 ml

## Preferences

- [preference] favourite tea: Assam

## Decisions

- [decision] keep SQLite for the desktop app
- [decision] releases go out on Thursdays
"""
START = berlin("1 18:00")

DAYS: dict[int, Sequence[tuple[str, tuple[str, ...]]]] = {
    2: (
        (
            "tools",
            (
                "Remember that the staging database is called Heron.",
                "We decided yesterday to rename the importer to egret.",
                "Actually, the billing service runs on port 8432.",
                "Should we use Kafka for the events?",
                "We decided to go with Postgres for the archive because MySQL lost rows.",
            ),
        ),
        (
            "chat",
            (
                "We live in Porto, by the way.",
                "I just joined Kite Labs.",
                "FYI, I'm allergic to walnuts.",
                "thanks!",
            ),
        ),
    ),
    3: (
        (
            "chat",
            (
                "My sister is called Ida.",
                "Sam joined Globex.",
                "Just so you know, I prefer the window seat.",
                "My birthday is May 3.",
            ),
        ),
        (
            "tools",
            (
                "Note that every migration must carry a rollback script.",
                "From now on, always squash commits before merging.",
                "Proofread this please:\n\nDear team, I work at Initech now and live in Oslo.",
            ),
        ),
    ),
    4: (
        (
            "chat",
            (
                "The accountant is Maria Sand now, not Jonas.",
                "Please remember that my dentist is Dr. Ruiz.",
                "My favourite tea is Sencha now.",
            ),
        ),
        (
            "tools",
            (
                "Let's use DuckDB for the desktop app from now on, since SQLite was too slow.",
                "The staging cluster has moved to Dublin.",
            ),
        ),
    ),
    5: (
        (
            "chat",
            (
                "I can't stand cold coffee.",
                "My brother works at Acme.",
                "I'm staying in Lisbon until 2026-03-20.",
            ),
        ),
        (
            "tools",
            (
                "The backup of the wiki needs two hours now.",
                "Our CI server is called Puffin, just so you know.",
                "The dashboard loads the wrong colours in dark mode.",
            ),
        ),
    ),
    6: (
        (
            "chat",
            (
                "Actually, we live in Braga now.",
                "My editor is Helix.",
                "I never eat mushrooms.",
            ),
        ),
        ("tools", ("We agreed to deploy on Mondays.", "No, we switched from npm to pnpm.")),
    ),
    7: (
        (
            "chat",
            (
                "By the way, I work as a translator.",
                "Translate this: I moved to Vienna and my cat is called Lux.",
            ),
        ),
    ),
    8: (
        (
            "chat",
            (
                "Remember that the cat's dose is 3 ml.",
                "Releases go out on Wednesdays from now on.",
                "Ich wohne übrigens in der Rua Nova.",
            ),
        ),
    ),
}


def sessions(days: Mapping[int, Sequence[tuple[str, tuple[str, ...]]]]) -> Iterator[Session]:
    for day, parts in days.items():
        for number, (kind, texts) in enumerate(parts):
            turns = [("user", text) for text in texts]
            if kind == "tools":
                turns.insert(0, ("tool", "total 4"))
            client = "claude" if kind == "tools" else "openclaw"
            name = f"{day}a1e0{number}00-0000-4000-8000-000000000000"
            yield Session(client, name, berlin(f"{day} {9 + 3 * number:02}:00"), turns)


def nights() -> Iterator[datetime]:
    for day in range(3, 10):
        yield berlin(f"{day} 03:00") + timedelta(minutes=1)


KEPT = (
    "employer: Kite Labs",
    "home: Braga",
    "billing service port: 8432",
    "accountant: Maria Sand",
    "cat's dose: 3 ml",
    "favourite tea: Sencha",
    "sister: Ida",
    "dentist: Dr. Ruiz",
    "editor: Helix",
    "allergy: walnuts",
    "job: translator",
    "birthday: May 3",
    "staging database Heron",
    "importer egret 2026-03-01",
    "archive Postgres MySQL lost rows",
    "window seat",
    "migration rollback script",
    "squash commits",
    "cold coffee",
    "mushrooms",
    "CI server Puffin",
    "deploy Mondays",
    "pnpm",
)
"""Said plainly, or of a current key: words of one line each."""
EITHER = (
    "desktop app DuckDB SQLite too slow",
    "wiki two hours",
    "staging cluster Dublin",
    "releases Wednesdays",
    "Lisbon until 2026-03-20",
)
"""A correction of a current line in other words: applied or proposed."""
STALE = (
    "Tidewater",
    "Jonas",
    "8080",
    "Assam",
    "2 ml",
    "Porto",
)
NEVER = ("Initech", "Oslo", "Vienna", "Lux", "employer: Globex", "employer: Acme", "Kafka")
OPENERS = (
    "remember",
    "note that",
    "actually",
    "by the way",
    "fyi",
    "just so you know",
    "please",
    "we decided",
    "we agreed",
    "let's",
    "from now on",
    "übrigens",
)
