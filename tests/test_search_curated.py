"""Questions to a curated memory, each with the entry that must be among the first three: keys,
topics, code, tables, logs of work.

Cues that are made for dialogue must do no harm here. The memory is small enough to be read, and
each answer has rivals near it.
"""

from datetime import date

import pytest

from mdmem.folder.layout import kind_of
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.model import FilePath
from mdmem.text.document import parse
from mdmem.text.facts import entries
from mdmem.text.terms import query_terms

TODAY = date(2025, 6, 1)

FILES = {
    "MEMORY.md": """# Memory

## Profile

- name: Ines Duarte
- [fact] lives_in: Porto, since March 2024
- timezone: Europe/Lisbon
- birthday: 14 October 1988
- **partner**: Tomas, works as a nurse
- languages: Portuguese, English, some German
- allergy: penicillin
- phone: +351 900 000 112
- email: ines@example.test

## Work

- [fact] employer: Meridian Labs
- role: staff engineer on the billing platform
- manager: Priya Raman
- salary_review: every January
- laptop: ThinkPad X1 with Fedora

## Preferences

- [preference] editor: Neovim with the gruvbox theme
- [preference] coffee: flat white, no sugar
- [preference] meetings: never before ten in the morning
- [preference] commit messages in the imperative
- seat: window on trains, aisle on planes
- prefers short answers with the command first

## Decisions

- [decision] database: PostgreSQL 16, moved away from MySQL in 2023
- [decision] queue: RabbitMQ was dropped for NATS
- [decision] deploys: only on weekdays before 15:00
- [decision] retention: backups are kept for 35 days
- [decision] api_style: REST for partners, gRPC inside

## Lessons

- [lesson] a migration without a lock timeout took the site down for nine minutes
- [lesson] the vendor's sandbox resets each night, so tests must seed it again
- Never run `make purge` on staging: it shares the bucket with production
""",
    "memory/projects/atlas.md": """# Atlas

Atlas is the new invoicing service. It replaces the old ledger by the end of the year.

## Owners

- lead: Marcus Feld
- design: Yuki Tanaka
- budget: 120,000 euros

## Open questions

- Which tax rules apply to customers in Norway?
- Who signs off the audit report?
- The auditors answer within two weeks

## Commands

```sh
atlasctl migrate --dry-run
atlasctl rollback --to LAST_GOOD
```

```toml
[http]
port = 8443
read_timeout = "15s"
```
""",
    "memory/infra.md": """# Infrastructure

## Servers

| host | role | region | memory |
|------|------|--------|--------|
| heron | primary database | eu-west-1 | 64 GB |
| stork | read replica | eu-central-1 | 32 GB |

## Access

- vpn: wg0 on the bastion, keys rotate quarterly
- certificates are renewed by the cron job on stork
- The on-call phone number is in the vault under `pager`

## Alerts

- disk usage over 85 percent wakes the on-call engineer
- error rate over 2 percent for five minutes opens an incident
""",
    "memory/people.md": """# People

## Priya Raman

- likes decisions in writing, a page at most
- away every Friday afternoon

## Marcus Feld

- speaks German with the customers from Bremen
- has a daughter called Lotte and two cats

## Yuki Tanaka

- based in Osaka, nine hours ahead
- draws all mockups in Penpot
""",
    "memory/reisen.md": """# Reisen

- Der Zug nach Köln fährt um 7:12 Uhr von Gleis 4
- Übernachtung im Hotel Zur Mühle, Frühstück inbegriffen
""",
    "memory/notes-ja.md": """# メモ

- 会議室は三階にあります
- 猫の名前はモモです
""",
    "memory/vie.md": """# Vie

- Le médecin de famille s'appelle Hélène Dubois
- Le code du garage est caché derrière le miroir
""",
    "memory/2025-05-12.md": """# 2025-05-12

## 09:30

- Standup: Atlas slipped a week, the tax rules are not clear
- Decision: freeze the ledger schema until the audit is over
- Note: ask Priya about the travel budget
- renewed the certificate on heron by hand

## 16:10

- Marcus: can we ship the importer on Thursday?
- Ines: yes, if the replica has caught up by then
- bought a standing desk for 430 euros
""",
    "memory/2025-05-20.md": """# 2025-05-20

- deployed importer 2.4.1, rolled back after eleven minutes
- the cause was a missing index on invoices.customer_id
- [lesson] run EXPLAIN on every new query before a release
- dinner with Tomas at the harbour, grilled sardines
- cancelled the gym membership
""",
    "memory/2025-05-28.md": """# 2025-05-28

- Note: the auditors come on June 10
- Priya: I would rather move the launch to September
- dentist said two fillings are needed
- walked twelve kilometres along the coast
""",
}

QUESTIONS = [
    ("Where does the user live?", "lives_in: Porto"),
    ("home city", "lives_in: Porto"),
    ("What is her employer?", "employer: Meridian"),
    ("What company does she work for?", "employer: Meridian"),
    ("Who is the manager?", "manager: Priya"),
    ("When is Ines's birthday?", "birthday: 14 October"),
    ("What is the user allergic to?", "allergy: penicillin"),
    ("her phone", "phone: +351"),
    ("spouse", "**partner**: Tomas"),
    ("editor theme", "editor: Neovim"),
    ("How does she take her coffee?", "coffee: flat white"),
    ("Which database do we use?", "database: PostgreSQL"),
    ("Why did we leave MySQL?", "moved away from MySQL"),
    ("What replaced RabbitMQ?", "dropped for NATS"),
    ("How long are backups kept?", "retention: backups"),
    ("When may we deploy?", "deploys: only on weekdays"),
    ("REST or gRPC?", "api_style: REST"),
    ("What took the site down?", "migration without a lock timeout"),
    ("make purge", "Never run `make purge`"),
    ("How many minutes was the outage after the migration?", "migration without a lock timeout"),
    ("Who leads Atlas?", "lead: Marcus"),
    ("atlas budget", "budget: 120,000"),
    ("How do I do a rollback?", "atlasctl rollback"),
    ("read_timeout", "read_timeout"),
    ("Which host is the replica?", "stork · role: read replica"),
    ("How much memory does heron have?", "heron · role: primary database"),
    ("Who renews certificates?", "certificates are renewed"),
    ("When does disk usage wake someone?", "disk usage over 85"),
    ("vpn keys", "vpn: wg0"),
    ("What is Marcus's daughter called?", "daughter called Lotte"),
    ("When is Priya away?", "away every Friday"),
    ("Where is Yuki based?", "based in Osaka"),
    ("Welcher Zug nach Köln?", "Der Zug nach Köln"),
    ("hotel fruhstuck", "Hotel Zur Mühle"),
    ("会議室はどこ", "会議室は三階"),
    ("猫の名前", "猫の名前はモモ"),
    ("médecin", "Hélène Dubois"),
    ("helene dubois", "Hélène Dubois"),
    ("Which decision was made about the ledger schema?", "freeze the ledger schema"),
    ("What did Marcus ask about the importer?", "ship the importer"),
    ("What did Priya say about the launch?", "move the launch to September"),
    ("What did she buy for 430 euros?", "standing desk"),
    ("Why was the importer rolled back?", "missing index on invoices"),
    ("What happened on 20 May?", "deployed importer"),
    ("How much did the desk cost?", "standing desk"),
    ("When do the auditors come?", "auditors come on June 10"),
    ("travel budget note", "ask Priya about the travel budget"),
    ("Who signs off the audit report?", "Who signs off the audit report"),
    ("customers in Norway", "tax rules apply to customers in Norway"),
    ("what did the dentist say", "dentist said two fillings"),
]


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    def page(path: str, text: str) -> FileEntries:
        listed = entries(parse(text), FilePath(path))
        return FileEntries(
            FilePath(path), listed, (None,) * len(listed), (False,) * len(listed), kind_of(path)
        )

    built = SearchIndex.in_memory()
    built.update((page(path, text) for path, text in FILES.items()), (), EMPTY_SNAPSHOT)
    return built


@pytest.mark.parametrize(("question", "answer"), QUESTIONS)
def test_the_answer_is_among_the_first_three(
    index: SearchIndex, question: str, answer: str
) -> None:
    texts = [
        match.hit.text
        for match in index.finder.search(IndexQuery(question, 3, Filter(valid_on=TODAY), TODAY))
    ]
    assert any(answer in text for text in texts), texts


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How does CI run?", "continuous integration runs on Jenkins"),
        ("continuous integration of the shop", "the shop's CI is slow"),
        ("Who looks at my PR?", "Ines reviews each pull request"),
        ("pull requests", "two approvals for a PR"),
        ("quality assurance", "Tom leads QA"),
        ("Who leads QA?", "Tom leads QA"),
        ("What is the POC?", "the proof of concept is due in May"),
        ("proof of concept", "the POC was liked"),
        ("service level objective", "our SLO is 99.9"),
    ],
)
def test_initials_and_their_words(question: str, answer: str) -> None:
    lines = (
        "continuous integration runs on Jenkins",
        "the shop's CI is slow",
        "Ines reviews each pull request",
        "two approvals for a PR",
    )
    others = (
        "Tom leads QA",
        "the proof of concept is due in May",
        "the POC was liked",
        "our SLO is 99.9",
        "the shop opens at nine",
    )
    listed = entries(
        parse("# Memory\n\n## Facts\n\n" + "".join(f"- {line}\n" for line in (*lines, *others))),
        FilePath("MEMORY.md"),
    )
    index = SearchIndex.in_memory()
    page = FileEntries(
        FilePath("MEMORY.md"),
        listed,
        (None,) * len(listed),
        (False,) * len(listed),
        kind_of("MEMORY.md"),
    )
    index.update((page,), (), EMPTY_SNAPSHOT)
    hits = [
        each.hit
        for each in index.finder.search(IndexQuery(question, 3, Filter(valid_on=TODAY), TODAY))
    ]
    assert answer in [hit.text for hit in hits if not hit.near]


@pytest.mark.parametrize(
    ("question", "has"),
    [("Continuous Integration", True), ("continuous tests of integration", False)],
)
def test_initials_are_those_of_neighbouring_words(question: str, has: bool) -> None:
    assert ("ci" in {term for _, term in query_terms(question).joined}) is has
