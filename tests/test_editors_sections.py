"""The history, which compares what changed, and the merge, which compares whole files, name the
same pairs of sections.
"""

from __future__ import annotations

from random import Random

import pytest

from mdmem.editors.sections import SectionParts, became, changed_ranges, ranges_to_match
from mdmem.text.document import Document, parse

FEW_TITLES = ["Work", "Home", "Pets", "Empty", "`Work`", "*Notes*", "Notes", "10:00", "Plan"]
MANY_TITLES = [f"Title {number}" for number in range(40)]
LINES = ["- a", "- b", "- tea", "- coffee: x", "- home: y", "text here", "more text", "- z z"]


def random_section(chance: Random, titles: list[str]) -> list[str]:
    heading = f"{'#' * chance.choice((1, 2, 2, 3, 3, 4))} {chance.choice(titles)}"
    return [heading, *(chance.choice(LINES) for _ in range(chance.choice((0, 0, 1, 2, 3, 4))))]


def edited(chance: Random, lines: list[str], titles: list[str]) -> list[str]:
    """The lines with one edit: of text, of a heading's words or level, or of a whole section."""
    lines, at = list(lines), chance.randrange(len(lines) + 1)
    heads = [number for number, line in enumerate(lines) if line.startswith("#")]
    kind = chance.choice(("add", "remove", "rename", "level", "section", "move", "move"))
    if kind == "add" or not heads:
        lines.insert(at, chance.choice(LINES))
    elif kind == "remove":
        del lines[chance.randrange(len(lines))]
    elif kind == "section":
        lines[at:at] = random_section(chance, titles)
    else:
        head = chance.choice(heads)
        marks, title = lines[head].split(" ", 1)
        if kind == "rename":
            lines[head] = f"{marks} {chance.choice(titles)}"
        elif kind == "level":
            lines[head] = f"{'#' * chance.randint(1, 4)} {title}"
        else:
            end = next((other for other in heads if other > head), len(lines))
            moved = lines[head:end]
            del lines[head:end]
            place = chance.randrange(len(lines) + 1)
            lines[place:place] = moved if chance.random() < 0.7 else []
    return lines


def pairs_of_ranges(before: Document, after: Document) -> dict[int, int]:
    """What became what by the changed ranges alone, and outside them by place."""
    old, new = ranges_to_match(before, after)
    around = old.around() | new.around()
    olds, news = old.parts(around), new.parts(around)
    pairs = {
        olds.sections[one].position: news.sections[other].position
        for one, other in became(olds, news).items()
    }
    shift = len(after.sections) - len(before.sections)
    outside = {number: number for number in range(1, old.first + 1)} | {
        number: number + shift for number in range(old.last + 1, len(before.sections) + 1)
    }
    return outside | pairs


@pytest.mark.costly
@pytest.mark.parametrize("titles", [FEW_TITLES, MANY_TITLES], ids=["few titles", "many titles"])
def test_the_history_and_the_merge_name_the_same_pairs(titles: list[str]) -> None:
    differ = []
    for seed in range(2_000):
        chance = Random(seed)
        lines = [
            line for _ in range(chance.randint(1, 9)) for line in random_section(chance, titles)
        ]
        changed = lines
        for _ in range(chance.randint(1, 4)):
            changed = edited(chance, changed, titles)
        before, after = parse("\n".join(lines) + "\n"), parse("\n".join(changed) + "\n")
        if pairs_of_ranges(before, after) != became(SectionParts(before), SectionParts(after)):
            differ.append(seed)
    assert differ == []


def test_where_a_title_stands_outside_what_changed_the_whole_file_is_compared() -> None:
    before = parse("# A\n- a\n# B\n- b\n# C\n- c\n")
    text_alone = parse("# A\n- a\n# B\n- other\n# C\n- c\n")
    assert [each.last - each.first for each in ranges_to_match(before, text_alone)] == [1, 1]
    renamed = parse("# A\n- a\n# *C*\n- b\n# C\n- c\n")
    assert [each.last - each.first for each in changed_ranges(before, renamed)] == [1, 1]
    assert [each.last - each.first for each in ranges_to_match(before, renamed)] == [3, 3]
