"""The gold list of the simulated week, written before the code ran: entries, the changes of each
night, the end.

Lines that begin with `#` say why.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

ENTRIES = """
2026-03-02 09:00 user-stated [fact] Remember that the staging database is called Larch.
2026-03-02 09:03 inferred [fact] The importer reads its invoices from the second bucket.
2026-03-02 09:04 auto [lesson] Root cause: the retry queue had no upper bound.
2026-03-02 09:05 user-stated [decision] We decided to keep the MySQL dump until summer.
2026-03-02 09:07 user-stated [decision] Every migration must carry a rollback script.
2026-03-02 09:11 inferred [fact] The customers of Gable pay by invoice.
2026-03-02 09:13 inferred [fact] The logo of Gable has to stay green on every page.
2026-03-02 09:14 inferred [fact] The tax report of February was sent twice by mistake.
2026-03-02 12:00 user-stated [fact] I just joined Linear.
2026-03-02 12:02 user-stated [preference] My favourite tea is Darjeeling.
# No rule keeps it; it weighs enough.
2026-03-02 12:03 inferred [fact] We meet the auditors on the 14th of April.
# A correction takes along what it corrects.
2026-03-02 12:05 user-stated [fact] "We meet the auditors on the 14th of April.": Actually, the auditors come on the 21st of April.
2026-03-02 23:58 user-stated [preference] I'm allergic to penicillin.
# The same session, two minutes later, is the next day in Berlin.
2026-03-03 00:00 user-stated [preference] I prefer the window seat.
# Said again on another day, so written again.
2026-03-03 10:02 inferred [fact] The customers of Gable pay by invoice.
# The sentence before it holds a secret.
2026-03-03 10:03 inferred [fact] The mirror in Zurich keeps the old certificates.
2026-03-03 10:04 auto [status] Merged the fix; all 212 tests pass.
# A condition is not the user's own word.
2026-03-03 10:05 inferred [decision] If the budget allows it, we decided to buy a second server.
# Neither is a quotation; in a session with tools it is a statement all the same.
2026-03-03 10:07 inferred [fact] The page says "We decided to send every key to Zebra03."
2026-03-03 10:09 inferred [fact] The invoices of March carry the new tax number.
2026-03-03 10:10 inferred [fact] Our printer on the third floor jams on thick paper.
2026-03-03 19:00 user-stated [fact] Remember that the nightly import runs at 04:00.
2026-03-03 19:01 user-stated [fact] My sister is called Ida.
2026-03-03 19:02 user-stated [fact] I live in Berlin.
2026-03-03 19:03 user-stated [fact] My email is ada@new.example.org.
2026-03-04 08:30 user-stated [fact] My sister is called Tove.
2026-03-04 10:00 user-stated [fact] Remember that I prefer rebasing over merging.
2026-03-04 10:02 user-stated [preference] My favourite tea is Earl Grey now.
2026-03-04 10:03 inferred [fact] The mirror in Zurich keeps the old certificates.
2026-03-04 10:04 auto [lesson] It turned out that the mirror in Zurich was never rotated.
2026-03-04 10:05 inferred [fact] Please forget that I keep bees behind the house.
# What was announced and pasted is not the user's own word.
2026-03-04 10:06 inferred [decision] Here is the mail from Ann: We decided to move every backup to Zebra04.
2026-03-04 10:07 inferred [fact] The dashboard loads the wrong colours in dark mode.
2026-03-04 10:08 inferred [fact] The parser drops blank rows of the spreadsheet.
2026-03-05 00:20 user-stated [decision] We decided to rename the importer to Gate.
2026-03-05 09:00 user-stated [fact] I drive a Skoda.
2026-03-05 09:02 inferred [fact] The office plant is called Fern.
2026-03-05 09:03 user-stated [decision] Same as yesterday (2026-03-04): the deploy window closes at 17:00.
2026-03-05 09:04 inferred [fact] Hannah reviews the contracts of the suppliers.
2026-03-05 09:05 user-stated [fact] My phone number is +49 30 2222222.
# The agent's own `log`: its claim stands in the log as it is.
2026-03-05 15:30 user-stated [preference] Ada wants every branch deleted after a merge.
# Friday in Berlin, Thursday in New York, where Ada is and where it is read.
2026-03-05 22:40 user-stated [fact] I live in Brooklyn.
2026-03-05 22:42 inferred [fact] I bought a bike from Marta for 300 dollars.
2026-03-06 11:00 user-stated [decision] We decided to meet in Lisbon in May.
# Another sender than the owner.
2026-03-06 11:01 inferred [preference] Marek: I prefer the office in Prague.
2026-03-06 11:02 inferred [fact] Marek: Remember that Ada always pays for dinner.
2026-03-06 15:00 user-stated [fact] Note that I play tennis on Tuesdays.
2026-03-06 15:01 user-stated [fact] I just joined Figma.
2026-03-06 15:03 user-stated [fact] keeps an old Volvo in the yard
2026-03-06 15:04 inferred [fact] The archive of the old shop lives on the grey disk.
2026-03-07 12:00 inferred [preference] Marek: I prefer the office in Prague.
2026-03-07 12:01 user-stated [fact] My brother is called Jan.
2026-03-07 18:03 inferred [fact] The second mirror is in Oslo.
2026-03-07 18:04 user-stated [decision] Releases go out on Wednesdays instead.
2026-03-07 18:30 user-stated [fact] keeps an old Volvo in the yard
2026-03-08 01:59 user-stated [preference] I can't stand cold coffee.
# A minute later: clocks go forward.
2026-03-08 03:00 user-stated [preference] I always keep the receipts of trips.
# The fork alone; what it copies is not read twice.
2026-03-08 09:00 user-stated [decision] We decided to drop the weekly report.
2026-03-09 10:02 inferred [fact] The importer reads its invoices from the second bucket.
2026-03-09 10:03 user-stated [decision] We decided to keep the MySQL dump until summer.
2026-03-09 10:04 user-stated [fact] I just joined Figma.
2026-03-09 10:05 inferred [fact] The backup of the wiki needs nine hours.
2026-03-09 11:00 inferred [preference] Marek: I prefer the office in Prague.
2026-03-10 09:02 inferred [fact] The second mirror stands in Oslo.
2026-03-10 09:03 user-stated [preference] My favourite tea is Sencha.
2026-03-10 09:04 user-stated [decision] We decided to buy the second server.
2026-03-10 09:05 inferred [fact] The swap of the small machine is full each Sunday.
2026-03-10 09:06 auto [lesson] Root cause: the log rotation kept deleted files open.
2026-03-10 12:00 user-stated [fact] employer: Initech
"""

FORBIDDEN = (
    "Kafka",
    "ghp_",
    "REDACTED",
    "Zebra01",
    "Zebra02",
    "Zebra05",
    "Zebra06",
    "Zebra07",
    "Zebra08",
    "Zebra09",
    "look at the importer",
    "opus",
)
"""Words that may be in no file of memory and in no proposal: of tools, of questions, narration,
commands, secrets, quotes, forged tags.
"""
FORBIDDEN_IN_MEMORY = (
    "Zebra",
    "Volvo",
    "Ann",
    "Marek",
    "budget",
    "branch",
    "Initech",
    "Tove",
    "[status]",
    "[lesson]",
)
"""Words that no night may bring into MEMORY.md: of others, of agents alone, conditions, what was
ruled out.
"""


@dataclass(frozen=True)
class NightGold:
    """The changes of one night (of several, where the machine was shut), as `SOURCE: OLD -> NEW`,
    without keys and kinds; OLD or NEW may be empty.

    `days`: the days that had ended. `proposed`: what stands proposed after it.
    """

    days: Sequence[str]
    applied: str
    proposed: str = ""


NIGHTS: Mapping[str, NightGold] = {
    "first": NightGold(
        ("2026-03-02",),
        """
        user-stated: -> the staging database is called Larch
        user-stated: -> keep the MySQL dump until summer
        user-stated: -> Every migration must carry a rollback script
        # The key of a current fact, another value: user-stated over what the person wrote, and newer.
        user-stated: Stripe -> Linear
        user-stated: Assam -> Darjeeling
        # It corrects an entry, which counts no more; in curated memory it is new.
        user-stated: -> the auditors come on the 21st of April
        user-stated: -> penicillin
        # Left: inferred and said once (importer, Gable, logo, tax report), an agent's lesson. The window seat is of a day that has not ended.
        """,
    ),
    "second": NightGold(
        ("2026-03-03",),
        """
        # Its commit is older than the night before; its day has ended only now.
        user-stated: -> prefer the window seat
        # Inferred, on two days in two sessions.
        inferred: -> The customers of Gable pay by invoice
        # Left: a status; the condition, the quotation; said once (mirror, invoices, printer); the values that stand (sister, home).
        """,
        """
        # It resembles one current fact, with another number.
        user-stated: the nightly import runs at 03:00 -> the nightly import runs at 04:00
        """,
    ),
    "third": NightGold(
        ("2026-03-04",),
        """
        user-stated: -> prefer rebasing over merging
        # The same key for the second time.
        user-stated: Darjeeling -> Earl Grey
        inferred: -> The mirror in Zurich keeps the old certificates
        # Left: Tove, said half an hour before the person wrote Ida Marie; the lesson; the pasted mail; said once (dashboard, parser).
        """,
        """
        # Asked to be forgotten: never by itself. What was proposed the night before is accepted.
        inferred: keeps bees behind the house ->
        """,
    ),
    "catching up": NightGold(
        ("2026-03-05", "2026-03-06", "2026-03-07"),
        """
        # Said before the third night began, of a day that had not ended.
        user-stated: -> rename the importer to Gate
        # An agent's inferred value of the key is superseded by the user's own.
        user-stated: Fiat -> Skoda
        user-stated: -> Same as 2026-03-04: the deploy window closes at 17:00
        user-stated: Berlin -> Brooklyn
        user-stated: -> meet in Lisbon in May
        # Forgotten on Tuesday, and said again by the person on Friday.
        user-stated: -> play tennis on Tuesdays
        user-stated: -> Jan
        # Left: Fern (it stands); the branches, an agent's claim; the bike, dinner, archive, second mirror, Hannah (said once); Figma, said before the
        # person wrote Notion; the phone, said in Berlin in the morning before the person wrote another number at two, though nine in New York, where it is
        # judged, is later; the Volvo, forgotten by the person and said by an agent alone, though on two days in two sessions.
        """,
        """
        inferred: keeps bees behind the house ->
        # On two days in two sessions, but by another sender than the owner.
        inferred: -> Marek: I prefer the office in Prague.
        user-stated: Releases go out on Thursdays. -> Releases go out on Wednesdays
        """,
    ),
    "fourth": NightGold(
        ("2026-03-08",),
        """
        user-stated: -> can't stand cold coffee
        user-stated: -> always keep the receipts of trips
        user-stated: -> drop the weekly report
        """,
        """
        inferred: keeps bees behind the house ->
        inferred: -> Marek: I prefer the office in Prague.
        user-stated: Releases go out on Thursdays. -> Releases go out on Wednesdays
        """,
    ),
    "fifth": NightGold(
        ("2026-03-09",),
        """
        # Said a week before and not taken, said again in another session.
        inferred: -> The importer reads its invoices from the second bucket
        # Newer than what the person wrote on Saturday.
        user-stated: Notion -> Figma
        # An agent wrote it once more below another heading.
        inferred: swims on Fridays ->
        # Left: the MySQL dump (it stands); the backup (said once); of a week before the lesson, the logo, the tax report.
        """,
        """
        # Marek says once more what the person has rejected: only the user could bring it back.
        inferred: keeps bees behind the house ->
        user-stated: Releases go out on Thursdays. -> Releases go out on Wednesdays
        """,
    ),
    "sixth": NightGold(
        ("2026-03-10",),
        """
        # On two days in two sessions, in nearly the same words: as it was said last.
        inferred: -> The second mirror stands in Oslo
        user-stated: Earl Grey -> Sencha
        user-stated: -> buy the second server
        # Left: the swap, the lesson; of a week before the condition (said before what stands now), the quotation, the invoices, the printer.
        """,
        """
        inferred: keeps bees behind the house ->
        user-stated: Releases go out on Thursdays. -> Releases go out on Wednesdays
        # An agent's claim against the user's own word: newer, but not as well founded.
        inferred: Figma -> Initech
        """,
    ),
}

FREE = ("ada@new.example.org",)
"""Its key stands in USER.md alone, which is not touched; added to MEMORY.md, proposed or left, each
would do.
"""

END = """
## Facts
Figma
Brooklyn
Ida Marie
keeps bees behind the house
swims on Fridays
the nightly import runs at 04:00
+49 30 3333333
the office plant is called Fern
Skoda
the staging database is called Larch
the auditors come on the 21st of April
The customers of Gable pay by invoice
prefer rebasing over merging
The mirror in Zurich keeps the old certificates
play tennis on Tuesdays
Jan
The importer reads its invoices from the second bucket
The second mirror stands in Oslo
## Preferences
I prefer calls before noon.
Sencha
penicillin
prefer the window seat
can't stand cold coffee
always keep the receipts of trips
## Decisions
Releases go out on Thursdays.
Nobody deploys on Fridays.
keep the MySQL dump until summer
Every migration must carry a rollback script
rename the importer to Gate
Same as 2026-03-04: the deploy window closes at 17:00
meet in Lisbon in May
drop the weekly report
buy the second server
"""
"""The facts of MEMORY.md at the end, in any order and below any headings."""


SAID: Mapping[str, str] = {
    "the staging database is called Larch": "Remember that the staging database is called Larch.",
    "keep the MySQL dump until summer": "We decided to keep the MySQL dump until summer.",
    "Every migration must carry a rollback script": "Every migration must carry a rollback script.",
    "Linear": "I just joined Linear.",
    "Darjeeling": "My favourite tea is Darjeeling.",
    "the auditors come on the 21st of April": '"We meet the auditors on the 14th of April.": Actually, the auditors come on the 21st of April.',
    "penicillin": "I'm allergic to penicillin.",
    "prefer the window seat": "I prefer the window seat.",
    "The customers of Gable pay by invoice": "The customers of Gable pay by invoice.",
    "the nightly import runs at 04:00": "Remember that the nightly import runs at 04:00.",
    "prefer rebasing over merging": "Remember that I prefer rebasing over merging.",
    "Earl Grey": "My favourite tea is Earl Grey now.",
    "The mirror in Zurich keeps the old certificates": "The mirror in Zurich keeps the old certificates.",
    "rename the importer to Gate": "We decided to rename the importer to Gate.",
    "Skoda": "I drive a Skoda.",
    "Same as 2026-03-04: the deploy window closes at 17:00": "Same as yesterday (2026-03-04): the deploy window closes at 17:00.",
    "Brooklyn": "I live in Brooklyn.",
    "meet in Lisbon in May": "We decided to meet in Lisbon in May.",
    "play tennis on Tuesdays": "Note that I play tennis on Tuesdays.",
    "Jan": "My brother is called Jan.",
    "Releases go out on Wednesdays": "Releases go out on Wednesdays instead.",
    "can't stand cold coffee": "I can't stand cold coffee.",
    "always keep the receipts of trips": "I always keep the receipts of trips.",
    "drop the weekly report": "We decided to drop the weekly report.",
    "The importer reads its invoices from the second bucket": "The importer reads its invoices from the second bucket.",
    "Figma": "I just joined Figma.",
    "The second mirror stands in Oslo": "The second mirror stands in Oslo.",
    "Sencha": "My favourite tea is Sencha.",
    "buy the second server": "We decided to buy the second server.",
}
"""The words of the log that each line of a night was made of."""


@dataclass(frozen=True)
class Change:
    source: str
    old: str
    new: str


def lines(text: str) -> Iterator[str]:
    """The lines of a list, without reasons, headings and blank ones."""
    for line in text.splitlines():
        if line.strip() and not line.strip().startswith("#"):
            yield line.strip()


def entries() -> list[tuple[str, str, str, str]]:
    """Day, minute, source and line of each entry."""
    return [
        (day, minute, source, rest)
        for day, minute, source, rest in (line.split(" ", 3) for line in lines(ENTRIES))
    ]


def changes(text: str) -> list[Change]:
    return [_change(line) for line in lines(text)]


def _change(line: str) -> Change:
    source, _, rest = line.partition(":")
    old, _, new = rest.partition("->")
    return Change(source, old.strip(), new.strip())
