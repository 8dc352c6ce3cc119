"""List items in list items: which lines of an outermost item belong to each; their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.startup import late
from mdmem.startup.records import dataclass

_NESTED = late.pattern(r"\n +(?:[-+*]|\d{1,9}[.)]) +\S")
_ITEM = late.pattern(r"( *)((?:[-+*]|\d{1,9}[.)]) {1,4})(?! )(?=\S)(.*)")
_LIKE_ITEM = late.pattern(r"(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
_OTHER_BLOCK = late.pattern(r"(?:```|~~~|[>#<|])")
_NUMBER = late.pattern(r" {0,3}(\d{1,9})[.)]\s")
MOST_SPACES = 3
"""More spaces before a marker make it code."""


@dataclass(slots=True)
class NestedItem:
    """Lines `start` up to `end`, without the items beneath.

    Args:
        indent: spaces before the marker.
        offset: column of its text.
        parent: the number of the item that it is in; None for the outermost.
    """

    start: int
    end: int
    indent: int
    offset: int
    parent: int | None


def read_nested_items(text: str, lines: Sequence[str]) -> list[NestedItem]:
    """The items of an outermost one, itself first.

    Empty where it has none beneath it, or other blocks that could belong to any.

    Args:
        text: the whole item.
        lines: its lines, with their ends.
    """
    if not _NESTED.search(text):
        return []
    items: list[NestedItem] = []
    around: list[int] = []
    with_children = set[int]()
    is_behind_blank = False
    for number, line in enumerate(lines):
        words = line.lstrip(" ")
        indent = len(line) - len(words)
        if not words.strip():
            is_behind_blank = True
            continue
        match = _ITEM.match(line)
        if words[0] == "\t" or _OTHER_BLOCK.match(words) or (not match and _LIKE_ITEM.match(words)):
            return []
        if match:
            while around and indent < items[around[-1]].offset:
                around.pop()
            parent = around[-1] if around else None
            if (parent is None) != (number == 0) or _LIKE_ITEM.match(match[3]):
                return []
            if parent is not None:
                begins = parent not in with_children and not is_behind_blank
                is_first = match[2][0] in "-+*" or match[2].rstrip(" .)") == "1"
                if indent - items[parent].offset > MOST_SPACES or (begins and not is_first):
                    return []
                with_children.add(parent)
                items[-1].end = number
            around.append(len(items))
            items.append(
                NestedItem(
                    start=number,
                    end=len(lines),
                    indent=indent,
                    offset=len(match[1] + match[2]),
                    parent=parent,
                )
            )
        elif number == 0 or indent < (items[-1].offset if is_behind_blank else items[-1].indent):
            return []
        is_behind_blank = False
    return items


def indented(text: str, spaces: int) -> str:
    """A text with so many spaces before each line that is not blank."""
    if not spaces:
        return text
    before = " " * spaces
    return "\n".join(before + line if line.strip() else line for line in text.split("\n"))


def dedented(text: str, spaces: int) -> str | None:
    """The text that `indented` makes this one; None where there is none."""
    lines = [line[spaces:] if line.strip() else line for line in text.split("\n")]
    inner = "\n".join(lines)
    return inner if indented(inner, spaces) == text else None


def number_of_item(text: str) -> int | None:
    """The number of a numbered item."""
    match = _NUMBER.match(text)
    return int(match[1]) if match else None


def without_number(text: str) -> str:
    """A numbered item without its number; others as they are."""
    match = _NUMBER.match(text)
    return text[match.end(1) :] if match else text


def with_number(text: str, number: int) -> str:
    """A numbered item with another number, and lines beneath indented for it."""
    match = _NUMBER.match(text)
    assert match is not None, "it has a number"
    first, *rest = text[match.end(1) :].split("\n")
    wider = len(str(number)) - len(match[1])
    rest = [
        " " * wider + line if line.strip() and wider > 0 else line.removeprefix(" " * -wider)
        for line in rest
    ]
    return "\n".join([f"{text[: match.start(1)]}{number}{first}", *rest])
