"""A week of a data engineer in a team.

Before any rule was changed for it 17 of 24 were kept.
"""

from collections.abc import Sequence

MEMORY = """\
# Memory

## Facts

- employer: Lumen Freight
- home: Hamilton
- role: data analyst
- warehouse: Redshift
- Airflow port: 8080
- billing migration deadline: 3 October
- on-call lead: Petra Novak
- the nightly load takes 4 hours

## Preferences

- [preference] editor: VS Code
- [preference] SQL keywords in lower case

## Decisions

- [decision] keep raw events for 30 days
- [decision] use Great Expectations for the data checks
"""
DAYS: dict[int, Sequence[tuple[str, tuple[str, ...]]]] = {
    2: (
        (
            "tools",
            (
                "hey, picking this up again. the warehouse is Snowflake now",
                "For context, the bronze tables are append-only.",
                "Airflow listens on port 8793 now. can you look at why the orders dag fails?",
                "We settled on dbt for all transformations, because the stored procedures were untestable.",
                "rename that variable to order_ts",
            ),
        ),
        (
            "chat",
            (
                "got promoted! my role is staff data engineer now",
                "haha no I'm not a robot, I just work at the robot factory",
                "my partner is called Inés",
            ),
        ),
    ),
    3: (
        (
            "tools",
            (
                "pls always add a docstring to new dags",
                "the billing migration deadline is 17 October",
                "ugh I hate this, helm is the worst thing ever invented",
                "slack thread, summarise pls:\n\nMarcus: we decided to move everything to BigQuery\n"
                "Marcus: my manager is Helen Choi\nLena: the Airflow port is 9999 now",
            ),
        ),
        (
            "chat",
            (
                "I moved to Guelph btw. any good ramen places there?",
                "Priya from my team moved to Calgary and joined Shopify",
            ),
        ),
    ),
    4: (
        (
            "tools",
            (
                "we keep raw events for 90 days from now on, legal asked for it",
                "the nightly load only takes 2 hours now",
                "the dev database is on port 5544",
                "ok thanks, ship it",
            ),
        ),
        (
            "chat",
            (
                "My manager is Aled Pritchard.",
                "if we had the budget I'd open an office in Warsaw",
                "I'm allergic to cats, just fyi",
            ),
        ),
    ),
    5: (
        (
            "tools",
            (
                "my editor is Neovim now btw",
                "SQL keywords in upper case from now on pls",
                "don't ever touch the finance schema without asking me",
                "write a commit message that says we switched to Kafka",
                "fyi the orders topic has 12 partitions",
            ),
        ),
        (
            "chat",
            (
                "my running club meets on Wednesdays",
                "so tired rn I can't even think",
            ),
        ),
    ),
    6: (
        (
            "tools",
            (
                "sorry, the dev database is on port 5545",
                "We've dropped Great Expectations, the data checks use Soda now.",
                "The retry limit for all dags is 3.",
            ),
        ),
        (
            "chat",
            (
                "my parents live in Pune. my brother Arjun lives in Leeds",
                "make this bio shorter: I'm Karen, I live in Boston and I work at Wayfair",
            ),
        ),
    ),
    7: (
        (
            "tools",
            (
                "staging is deployed from the release branch, keep that in mind",
                "the on-call lead is Tomasz Wilk now",
                "let's just hardcode it for this test",
            ),
        ),
        (
            "chat",
            (
                "my manager's Sofia Marin now",
                "I'm thinking about getting a standing desk, dunno",
            ),
        ),
    ),
    8: (
        (
            "chat",
            (
                "we've been acquired, so I work for Parcelwise now",
                "I don't eat pork",
                "My daughter Mira was born on 2 December 2019.",
                "ok that's all, ta",
            ),
        ),
    ),
}
KEPT = (
    "warehouse: Snowflake",
    "bronze append-only",
    "Airflow port: 8793",
    "dbt transformations",
    "role: staff data engineer",
    "partner Inés",
    "docstring dags",
    "billing migration deadline: 17 October",
    "home: Guelph",
    "allergic cats",
    "editor: Neovim",
    "finance schema",
    "orders 12 partitions",
    "running club Wednesday",
    "dev database 5545",
    "retry limit 3",
    "parents Pune",
    "Arjun Leeds",
    "staging release branch",
    "on-call lead: Tomasz Wilk",
    "manager Sofia Marin",
    "employer: Parcelwise",
    "pork",
    "Mira 2 December",
)
EITHER = (
    "raw events 90 days",
    "nightly load 2 hours",
    "SQL upper case",
    "data checks Soda",
)
STALE = (
    "Lumen Freight",
    "Hamilton",
    "data analyst",
    "Redshift",
    "8080",
    "3 October",
    "Petra Novak",
    "VS Code",
    "5544",
    "Aled Pritchard",
)
NEVER = (
    "order_ts",
    "robot",
    "helm",
    "BigQuery",
    "Helen Choi",
    "9999",
    "- home: Calgary",
    "- employer: Shopify",
    "Warsaw",
    "Kafka",
    "tired",
    "- home: Pune",
    "- home: Leeds",
    "Karen",
    "Boston",
    "Wayfair",
    "hardcode",
    "standing desk",
    "ramen",
)
OPENERS = (
    "picking this up",
    "for context",
    "we settled on",
    "got promoted",
    "pls",
    "btw",
    "fyi",
    "sorry",
    "from now on",
    "keep that in mind",
    "let's",
)
