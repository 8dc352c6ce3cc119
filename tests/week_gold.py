"""The gold list of the week of Ada (`data/weeks/ada_gold.jsonl`), written before the code ran:
entries, the changes of each night, the end. Rows with `why` give reasons.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from week_script import Row, read_rows, values


@dataclass(frozen=True)
class Change:
    """A change of a night, without keys and kinds; `old` or `new` may be empty."""

    source: str
    old: str
    new: str


@dataclass(frozen=True)
class NightGold:
    """The changes of one night (of several, where the machine was shut).

    `days`: the days that had ended. `proposed`: what stands proposed after it.
    """

    days: Sequence[str]
    applied: list[Change] = field(default_factory=list)
    proposed: list[Change] = field(default_factory=list)


def _nights(rows: Sequence[Row]) -> Iterator[tuple[str, NightGold]]:
    night = NightGold(())
    for row in rows:
        match row:
            case {"night": name, "days": days}:
                night = NightGold(tuple(days))
                yield name, night
            case {"applied": text}:
                night.applied.append(_change(text))
            case {"proposed": text}:
                night.proposed.append(_change(text))


def _change(line: str) -> Change:
    source, _, rest = line.partition(":")
    old, _, new = rest.partition("->")
    return Change(source, old.strip(), new.strip())


_ROWS = read_rows("ada_gold")
ENTRIES = [
    (day, minute, source, rest)
    for day, minute, source, rest in (line.split(" ", 3) for line in values(_ROWS, "entry"))
]
"""Day, minute, source and line of each entry."""
FORBIDDEN = values(_ROWS, "forbidden")
FORBIDDEN_IN_MEMORY = values(_ROWS, "forbidden_in_memory")
NIGHTS: Mapping[str, NightGold] = dict(_nights(_ROWS))
FREE = ("ada@new.example.org",)
"""Its key stands in USER.md alone, which is not touched; added to MEMORY.md, proposed or left, each
would do.
"""
END = values(_ROWS, "end")
"""The facts of MEMORY.md at the end, in any order and below any headings."""
SAID: Mapping[str, str] = {row["line"]: row["said"] for row in _ROWS if "said" in row}
"""The words of the log that each line of a night was made of."""
