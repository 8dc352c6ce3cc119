"""Another week, of somebody who mixes languages: measured before any rule was changed for it."""

from collections.abc import Sequence

MEMORY = """\
# Memory

## Facts

- home: Utrecht
- employer: Marlow Labs
- physiotherapist: Ines Prat
- grant deadline: 12 March
- the freezer of the lab is set to -70 degrees
- the night train to Vienna leaves at 20:40
- the thermostat code is 4417
- the seminar takes place in room B204

## Preferences

- [preference] favourite restaurant: Sol y Mar
- [preference] answers in British English

## Decisions

- [decision] use Snakemake for the pipelines
- [decision] the group meets on Tuesdays
"""

DAYS: dict[int, Sequence[tuple[str, tuple[str, ...]]]] = {
    2: (
        (
            "tools",
            (
                "Keep in mind that the cluster account is called bio-7.",
                "btw the results server listens on port 9010",
                "We settled on polars for the tables since pandas ran out of memory.",
                "Could you check why the tests fail?",
                "We agreed last Friday to keep the raw reads for two years.",
            ),
        ),
        (
            "chat",
            (
                "I've moved to Leiden, just so you know.",
                "Oh, and I'm allergic to kiwi.",
                "My daughter is called Mina.",
                "Tom works at Nestlé now.",
                "how are you today?",
            ),
        ),
    ),
    3: (
        (
            "chat",
            (
                "Merk dir bitte, dass ich kein Fleisch esse.",
                "Übrigens heißt meine Hausärztin Dr. Brandt.",
                "My phone number is +31 6 1234 5678.",
                "The physiotherapist is Paul Wendt now.",
            ),
        ),
        (
            "tools",
            (
                "Never commit the outputs of the notebooks.",
                "Remember to run the linter before each push.",
                "Please summarise this mail:\n\nHi, I work at Roche and I live in Basel. Best, Kim",
            ),
        ),
    ),
    4: (
        (
            "chat",
            (
                "Au fait, je préfère les réunions le matin.",
                "My birthday is on 9 October.",
                "I'm in Granada until Sunday.",
            ),
        ),
        (
            "tools",
            (
                "The grant deadline has moved to 26 March.",
                "From now on we use Nextflow for the pipelines, because Snakemake was hard to"
                " debug.",
                "The seminar takes place in room C110 from now on.",
            ),
        ),
    ),
    5: (
        (
            "chat",
            (
                "Por cierto, mi perro se llama Roco.",
                "My favourite restaurant is Da Enzo now.",
                "I don't drink coffee after noon.",
            ),
        ),
        (
            "tools",
            (
                "The freezer of the lab is set to -80 degrees now.",
                "Note that the sequencer is serviced every first Monday.",
                "Let's name the new tool Sparrow.",
            ),
        ),
    ),
    6: (
        (
            "chat",
            (
                "记住，我的飞机座位要靠走道。",
                "I just started at Helix Bio.",
                "My wife works at Philips.",
                "Rewrite this for me: I hate Mondays and I moved to Paris.",
            ),
        ),
        (
            "tools",
            (
                "The results server listens on port 9020 now.",
                "We decided to move the group meeting to Wednesdays.",
            ),
        ),
    ),
    7: (
        (
            "chat",
            (
                "Actually, we live in Delft now.",
                "The thermostat code is 8820 now.",
                "FYI my editor is Neovim.",
            ),
        ),
        (
            "tools",
            ("I think the plots look odd.", "Our wiki moved to wiki.marlow.example."),
        ),
    ),
    8: (
        (
            "chat",
            (
                "Wir haben beschlossen, das Auto zu verkaufen.",
                "The night train to Vienna leaves at 21:10 now.",
                "The dentist appointment is on 4 April at 9:30.",
            ),
        ),
    ),
}

KEPT = (
    "cluster account bio-7",
    "results server port: 9020",
    "tables polars pandas memory",
    "raw reads two years",
    "home: Delft",
    "allergy: kiwi",
    "daughter: Mina",
    "kein Fleisch",
    "Hausärztin Dr. Brandt",
    "phone: +31 6 1234 5678",
    "physiotherapist: Paul Wendt",
    "outputs notebooks",
    "linter push",
    "réunions matin",
    "birthday: 9 October",
    "grant deadline: 26 March",
    "perro Roco",
    "favourite restaurant: Da Enzo",
    "coffee noon",
    "sequencer monday",
    "tool Sparrow",
    "座位 靠走道",
    "employer: Helix Bio",
    "editor: Neovim",
    "Auto verkaufen",
    "dentist 4 April",
)
EITHER = (
    "pipelines Nextflow",
    "seminar C110",
    "freezer -80",
    "Wednesdays",
    "thermostat 8820",
    "train 21:10",
    "Granada",
    "wiki.marlow.example",
)
STALE = ("Utrecht", "Leiden", "Marlow Labs", "Ines Prat", "12 March", "Sol y Mar", "9010")
NEVER = ("Roche", "Basel", "Paris", "employer: Nestlé", "employer: Philips", "Mondays")
OPENERS = (
    "remember",
    "note that",
    "keep in mind",
    "actually",
    "by the way",
    "btw",
    "fyi",
    "just so you know",
    "please",
    "we decided",
    "we agreed",
    "we settled",
    "let's",
    "from now on",
    "übrigens",
    "merk dir",
    "beschlossen",
    "au fait",
    "por cierto",
    "记住",
)
