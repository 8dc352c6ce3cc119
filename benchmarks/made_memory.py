"""A memory for benchmarks, made of invented words and the same at every run: one MEMORY.md, and a
daily log for each day.

List items of 8 to 18 words, whose frequencies fall as in a language (Zipf).
"""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path

VOCABULARY, SKEW = 8000, 1.05
ITEMS_A_SECTION, SECTIONS_A_DAY = 5, 9
NAMES = ("Anna", "Boris", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana")
COMMON = """
    the to and a of in is for on we it was with that this have not but they be at from will when who
    said about plan meeting release server
    budget project team trip dinner doctor book garden music school friend house work family
    question decision
"""


class Language:
    """Words with the frequencies of a language; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        rng = random.Random(1)
        made = (
            "".join(
                rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(2, 4))
            )
            for _ in range(3 * VOCABULARY)
        )
        self.words = list(dict.fromkeys((*COMMON.split(), *made)))[:VOCABULARY]
        self.weights = list(accumulate(1 / (rank + 2.7) ** SKEW for rank in range(VOCABULARY)))

    def say(self, count: int) -> list[str]:
        """So many words, frequent ones more often."""
        return self.random.choices(self.words, cum_weights=self.weights, k=count)

    def item(self, speaker: str = "") -> str:
        """A list item."""
        sentence = " ".join(self.say(self.random.randint(8, 18)))
        return f"- {speaker}{sentence.capitalize()}{'?' if self.random.random() < 0.1 else '.'}\n"

    def section(self, title: str) -> str:
        """A section of items."""
        speaker = f"{self.random.choice(NAMES)}: " if self.random.random() < 0.5 else ""
        return f"\n## {title}\n\n" + "".join(self.item(speaker) for _ in range(ITEMS_A_SECTION))


def pages(count: int) -> Iterator[tuple[str, str]]:
    """The paths and texts of a memory with so many entries."""
    language = Language(7)
    yield (
        "MEMORY.md",
        "# Memory\n"
        + "".join(language.section(" ".join(language.say(3)).capitalize()) for _ in range(40)),
    )
    left, day = count - 40 * ITEMS_A_SECTION, date(2026, 2, 28)
    while left > 0:
        sections = min(SECTIONS_A_DAY, -(-left // ITEMS_A_SECTION))
        body = "".join(
            language.section(f"{9 + hour:02}:00 {' '.join(language.say(2))}")
            for hour in range(sections)
        )
        yield f"memory/{day}.md", f"# {day}\n{body}"
        left, day = left - sections * ITEMS_A_SECTION, day - timedelta(days=1)


def make(folder: Path, count: int) -> None:
    """Write the memory as files, unless it is there."""
    if (folder / "MEMORY.md").exists():
        return
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    for path, text in pages(count):
        (folder / path).write_text(text, encoding="utf-8")
