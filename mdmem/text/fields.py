"""Fields of a note: properties of its front matter, and `key:: value` in its text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import closed_fences
from mdmem.text.frontmatter import ABOUT
from mdmem.text.scan import COMMENT

_NO_FIELDS = frozenset(
    (*ABOUT, "alias", "tags", "tag", "cssclasses", "cssclass", "publish", "permalink")
)
_MAX_LINES, _MAX_CHARACTERS = 1_000, 65_536
"""Longer front matter, and a longer block, has no fields."""
_PROPERTY = late.pattern(r"""(["']?)([^\W_][^:\n]*?)\1[ \t]*:(?:[ \t]+(.*))?""")
_NO_VALUE = frozenset(("", "null", "~", "|", ">", "|-", ">-", "[]", "{}"))
_KEY = r"(?:\*\*|__)?([^\W\d_](?:[\w/ -]{0,60}\w)?)(?:\*\*|__)?"
_LINE = late.pattern(rf"(?:[ \t>]*[-+*][ \t]+|[ \t>]*)(?:\[.\][ \t]+)?{_KEY}::[ \t]+(\S.*)")
_WITHIN = late.pattern(rf"(?<!\[)\[{_KEY}::[ \t]+([^\[\]\n]+)\]|\({_KEY}::[ \t]+([^()\n]+)\)")
_UNSAID = late.pattern(
    rf"(?s){COMMENT}|<!--.*|(?<!`)(`{{1,3}})(?!`).{{0,1000}}?(?<!`)\1(?!`)|~~(?=\S)[^~\n]*~~"
)
"""Comments, code and struck words."""
_MARKS = late.pattern(r"[ \t]+\^[A-Za-z0-9-]+\Z")


@dataclass(frozen=True, slots=True)
class Field:
    """A key with its value in a line (from 0) of a text; `is_line`: the line says nothing else."""

    line: int
    key: str
    value: str
    is_line: bool = True

    @property
    def text(self) -> str:
        return f"{self.key}: {self.value}"


def properties(lines: Sequence[str]) -> Iterator[Field]:
    """The properties in the lines between the fences of front matter, as Obsidian writes them."""
    if len(lines) > _MAX_LINES or sum(map(len, lines)) > _MAX_CHARACTERS:
        return
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(map(str.rstrip, lines)):
        if match := _PROPERTY.fullmatch(line):
            found.append((number, match[2], _values(match[3] or "")))
        elif found and line[:1] in (" ", "\t", "-"):
            found[-1][2].extend(_values(line.strip().removeprefix("- ")))
    for number, key, values in found:
        if values and key.casefold() not in _NO_FIELDS:
            yield Field(number, key, ", ".join(values))


def _values(written: str) -> list[str]:
    """A value, or those of a list in one line, without quotes."""
    is_list = written.startswith("[") and written.endswith("]") and not written.startswith("[[")
    parts = written[1:-1].split(",") if is_list else [written]
    plain = (part.strip().strip("\"'").strip() for part in parts)
    return [part for part in plain if part not in _NO_VALUE]


def within(text: str) -> Iterator[Field]:
    """The fields in the Markdown of a block: lines `key:: value`, and `[key:: value]` in others."""
    if len(text) > _MAX_CHARACTERS:
        return
    lines = _UNSAID.sub(lambda match: "\n" * match[0].count("\n"), text).split("\n")
    fenced = closed_fences(lines) if "```" in text or "~~~" in text else ()
    for number, line in enumerate(lines):
        if number in fenced or "::" not in line:
            continue
        if match := _LINE.fullmatch(line.rstrip()):
            yield Field(number, match[1], _MARKS.sub("", match[2]))
            continue
        found = {each[1] or each[3]: each[2] or each[4] for each in _WITHIN.finditer(line)}
        for key, value in found.items():
            yield Field(number, key, value.strip(), is_line=False)
