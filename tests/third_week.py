"""A third week, of somebody who works with services: measured before any rule was changed for it.

Then 22 of 35 plain statements were kept, and one stale line stood.
"""

from collections.abc import Sequence

MEMORY = """\
# Memory

## Facts

- employer: Brightwater
- home: Leeds
- landlord: Mr Okafor
- metrics port: 9090
- parental leave ends 4 May
- the CI runner has 8 GB of memory
- gym: FitLoft
- the design review takes place on Mondays

## Preferences

- [preference] editor: Sublime
- [preference] commit messages in the past tense

## Decisions

- [decision] use Redis for the job queue
- [decision] deploy on Fridays
"""
DAYS: dict[int, Sequence[tuple[str, tuple[str, ...]]]] = {
    2: (
        (
            "tools",
            (
                "Remember that the production bucket is called heron-prod.",
                "Please note that the API key rotates every 90 days.",
                "We've decided to use pnpm instead of npm because installs were too slow.",
                "The metrics port is 9191 now.",
                "Can you run the tests again?",
                "For the record, staging is deployed from the develop branch.",
            ),
        ),
        (
            "chat",
            (
                "By the way, my wife's name is Clara.",
                "I'm lactose intolerant.",
                "I work at Northfield now.",
                "We moved to York last month.",
                "What's the weather like?",
            ),
        ),
    ),
    3: (
        (
            "chat",
            (
                "Actually my landlord is Ms Petrov now.",
                "I prefer dark roast coffee.",
                "Just FYI, I've switched to Helix as my editor.",
                "Remind me what we said about the trip.",
                "My son Theo starts school in September.",
            ),
        ),
        (
            "tools",
            (
                "Always run the migrations before the seed script.",
                "Don't ever force-push to main.",
                "The CI runner has 16 GB of memory now.",
            ),
        ),
    ),
    4: (
        (
            "tools",
            (
                "We agreed to drop Redis and use Postgres for the job queue, since we run it anyway.",
                "Let's call the new service Lantern.",
                "The deadline of the audit is 12 June.",
                "Here is the log:\n\nWARN I live in a container\nINFO I work at localhost",
            ),
        ),
        (
            "chat",
            (
                "My dentist is Dr. Lindqvist.",
                "I'm on holiday until next Friday.",
                "I go to the gym at Ironworks now, not FitLoft.",
                "My favourite band is Khruangbin.",
            ),
        ),
    ),
    5: (
        (
            "chat",
            (
                "I was born on 14 February 1988.",
                "You can reach me at ana@northfield.example.",
                "My brother lives in Oslo.",
                "My manager is Dana Whitlock.",
                "Sorry, I meant Dana Whitmore, she is my manager.",
            ),
        ),
        (
            "tools",
            (
                "From now on we deploy on Tuesdays.",
                "The audit deadline was moved to 19 June.",
                "I want commit messages in the imperative from now on.",
            ),
        ),
    ),
    6: (
        (
            "chat",
            (
                "I no longer drink alcohol.",
                "Our wifi password hint is the name of the old cat.",
                "I speak Portuguese and English.",
                "Translate this: I live in Berlin and I work at Siemens.",
            ),
        ),
        (
            "tools",
            (
                "The design review takes place on Wednesdays now.",
                "Parental leave ends on 18 May, not 4 May.",
                "Use tabs in Makefiles, spaces everywhere else.",
            ),
        ),
    ),
    7: (
        (
            "chat",
            (
                "My manager is now Luis Romero.",
                "My car is a blue Skoda.",
                "I think I might move to Hull one day.",
            ),
        ),
        (
            "tools",
            (
                "The staging database listens on port 5433.",
                "We chose Terraform over Pulumi for the infrastructure.",
            ),
        ),
    ),
    8: (
        (
            "chat",
            (
                "I'm vegetarian.",
                "My phone is a Fairphone 5.",
                "The piano lesson is on Thursdays at 17:00.",
            ),
        ),
    ),
}
KEPT = (
    "production bucket heron-prod",
    "90 days",
    "pnpm npm",
    "metrics port: 9191",
    "staging develop",
    "wife: Clara",
    "lactose",
    "employer: Northfield",
    "home: York",
    "landlord: Ms Petrov",
    "dark roast",
    "editor: Helix",
    "Theo September",
    "migrations seed",
    "force-push main",
    "Lantern",
    "audit 19 June",
    "dentist: Dr. Lindqvist",
    "Khruangbin",
    "14 February",
    "brother Oslo",
    "Luis Romero",
    "Portuguese",
    "tabs Makefiles",
    "Skoda",
    "staging database port 5433",
    "Terraform Pulumi",
    "vegetarian",
    "Fairphone",
    "piano Thursdays",
)
EITHER = (
    "job queue: Postgres",
    "email: ana@northfield.example",
    "deploy Tuesdays",
    "imperative",
    "alcohol",
    "16 GB",
    "Ironworks",
    "Wednesdays",
    "18 May",
)
STALE = ("Brightwater", "Leeds", "Okafor", "9090", "Sublime", "12 June", "Whitlock")
NEVER = ("Berlin", "Siemens", "container", "localhost", "Hull", "home: Oslo")
OPENERS = (
    "remember",
    "note that",
    "actually",
    "by the way",
    "btw",
    "fyi",
    "just so you know",
    "please",
    "we decided",
    "we agreed",
    "for the record",
    "let's",
    "from now on",
    "we chose",
)
