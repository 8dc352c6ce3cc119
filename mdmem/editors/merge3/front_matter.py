"""The three-way merge of front matter by key; values are not parsed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdmem.editors.merge3.sequences import merge_order
from mdmem.editors.merge3.values import choices
from mdmem.startup import late
from mdmem.text.document import split_lines

OTHER_SIDE = "# other side: "
"""The comment before each line of a value that gave way to the other side's."""
_KEY = late.pattern(r"([^\s#:-][^:]*|\"[^\"]*\"|'[^']*'):(?=\s|$)")
_NUMBER = late.pattern(r"-?\d+(?:\.\d+)?")
_Field = tuple[str, int]
_Fields = dict[_Field, str]


def merge_front_matter(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> tuple[str, ...]:
    """The lines of the result's front matter, delimiters included.

    Of two new values the greater one is kept; the other becomes a comment.
    """
    sides = choices(tuple(base), tuple(ours), tuple(theirs))
    if len(sides) == 1:
        return sides[0]
    old, new = _fields(base), (_fields(ours), _fields(theirs))
    texts: _Fields = {}
    comments: dict[_Field, str] = {}
    for field in dict.fromkeys((*new[0], *new[1])):
        values = [side.get(field) for side in new]
        remaining = [value for value in choices(old.get(field), *values) if value is not None]
        if len(remaining) == 1:
            texts[field] = remaining[0]
        elif remaining:
            lesser, texts[field] = sorted(remaining, key=lambda value: _rank(field, value))
            comments[field] = "".join(f"{OTHER_SIDE}{line}" for line in split_lines(lesser))
    order = merge_order(
        [field for field in old if field in texts],
        (
            [field for field in new[0] if field in texts],
            [field for field in new[1] if field in texts],
        ),
        lambda field: (field, texts[field]),
    )
    lines: list[str] = []
    for field in order:
        lines += _lines(texts[field])
        lines += [line for line in _lines(comments.get(field, "")) if line not in (*ours, *theirs)]
    around = [(v[0], v[-1]) if v else ("", "") for v in (base, ours, theirs)]
    if not lines and not (ours and theirs):
        return ()
    first, last = (max(choices(*ends)) for ends in zip(*around, strict=True))
    return (first or "---\n", *lines, last or "---\n")


def _lines(text: str) -> list[str]:
    return split_lines(text)


def _rank(field: _Field, value: str) -> tuple[float, str]:
    """Numbers by value, others by text; so the later of two dates is the greater."""
    text = value.removeprefix(field[0]).lstrip(": ").strip().strip("\"'")
    return (float(text) if _NUMBER.fullmatch(text) else 0.0, value)


def _fields(lines: Sequence[str]) -> _Fields:
    """Fields by key, numbered among equal ones, with lines beneath; comments at the margin too."""
    fields: _Fields = {}
    seen: dict[str, int] = {}
    for key, text in _runs(lines[1:-1]):
        seen[key] = seen.get(key, 0) + 1
        fields[key, seen[key]] = text
    return fields


def _runs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    key, run = "", list[str]()
    for line in lines:
        match = _KEY.match(line)
        if match or line.startswith("#") or (key.startswith("#") and line.strip()):
            if run:
                yield key, "".join(run)
            key, run = (match[1] if match else line.rstrip("\r\n")), []
        run.append(line)
    if run:
        yield key, "".join(run)
