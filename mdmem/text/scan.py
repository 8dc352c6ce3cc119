"""Headings and blocks of Markdown, by regular expressions that match a whole block at a time.

The scanner reads a text exactly as markdown-it does. Uncertain *stretches* (some lazy lines,
complex link references) go to the caller's parser. Both begin only at *fresh* points,
before which nothing is open: blocks depend on nothing before these, and on nothing after their own
last line, so the pieces together are those of the whole text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from typing import TypeAlias

from mdmem.startup.records import dataclass, field

Head = tuple[int, int, int, str]
"""First line of a heading, the line after it, its level, its title."""


class BlockKind(StrEnum):
    """Headings and thematic breaks are no blocks here: they have no text of their own."""

    ITEM = "item"
    PARAGRAPH = "paragraph"
    CODE = "code"
    QUOTE = "quote"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Block:
    """A direct child of the document, or a top-level item of a list: lines `start` up to `end`."""

    kind: BlockKind
    start: int
    end: int


Piece = tuple[BlockKind | None, int, int]
"""Kind and lines of a block, maybe with blank lines after it. None: a run of one-line items."""


@dataclass(slots=True)
class ScanResult:
    """Headings and pieces in order, and the line of a block still open at the end."""

    heads: list[Head] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    open_line: int | None = None


Parser: TypeAlias = "Callable[[str], ScanResult]"
"""Reads a stretch of text (LF); it may leave out `open_line`."""

_TRIMMED = (
    "\t\n\x0b\x0c\r"
    " \xa0\u1680\u2000\u2001\u2002\u2003\u2004"
    "\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The white space that markdown-it strips from a title."""
_PROBE = "# probe\n"
_SPACE = " \t\r\n"
_MAX_CODE_INDENT = 4
_MAX_NESTING = 30
"""Quotes and lists below that are plain text: the parser pays for each of them on each line."""
_TAB = 4

_TAG_NAMES = (
    "address|article|aside|basefont|base|blockquote|body|caption|center|colgroup|col|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frameset|frame|h1|h2|h3|h4|h5|h6|"
    "header|head|hr|html|iframe|legend|link|li|main|menuitem|menu|nav|noframes|ol|optgroup|option|"
    "param|p|search|section|summary|table|tbody|td|tfoot|thead|th|title|track|tr|ul"
)
_LINE = r"[^\n]*\n"
_BLANK = r"[ \t]*\n"
_WORDS = r"[ \t]*+[^ \t\n]"
_CODE_INDENT = r"(?: {4}| {0,3}\t)"
_HASHES = r"#{1,6}(?=[ \t\n])"
_TICKS = r"`{3,}+(?=[^`\n]*\n)|~{3,}+"
_RULE = r"(?:(?>(?:-[ \t]*+){3,})|(?>(?:\*[ \t]*+){3,})|(?>(?:_[ \t]*+){3,}))\n"
_UNDERLINE = r"(?:=++|-++)[ \t]*\n"
_MARKER = r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t\n])"
_RAW = r"<(?ai:script|pre|style|textarea)(?=[\s>])|<!--|<\?|<![A-Za-z]|<!\[CDATA\["
_TAG = rf"</?(?ai:{_TAG_NAMES})(?=\s|/?>)"

_OPENER = rf"(?:{_HASHES}|>|{_TICKS}|{_RULE}|{_MARKER}|<!--)"
"""Surely ends an indented paragraph, after up to three spaces."""
_INTERRUPTS = (
    rf"(?:{_HASHES}|>|{_TICKS}|{_UNDERLINE}|{_RULE}|(?:[-+*]|0{{0,8}}1[.)])[ \t]+[^"
    r" \t\n]|<(?![a-z]+:))"
)
"""Ends the paragraph above or makes it a heading; only a tag is uncertain."""
_FIRST = r"[#>`~=\-+*_<0-9]"
"""The first characters of all of these."""
_PARAGRAPH_LINE = (
    rf"(?![ \t\n<]|{_HASHES}|>|{_TICKS}|{_MARKER}|[-*_][-*_ \t]*\n|=+["
    r" \t]*\n|\[(?![^\[\]\\\n]*\](?!:)))"
)
"""Begins or continues a paragraph in a container."""
_OPEN_PARAGRAPH = rf"(?>(?: {{0,3}}> ?|(?:[-+*]|[0-9]{{1,9}}[.)]) )*){_PARAGRAPH_LINE}"
"""The same, maybe in containers of its own."""
_BULLET = r"[-*+] (?![-* \t]*\n|[ \t])"
_BELOW_BULLET = rf"(?:  | ?\t){_WORDS}"
_NUMBER = r"[0-9]{1,9}[.)] (?![ \t\n])"
_ITEMS = rf"(?:{_BULLET}{_LINE}(?>(?:(?>(?:{_BLANK})*){_BELOW_BULLET}{_LINE})*)|{_NUMBER}{_LINE})"
_VALUE = r"""(?:[^"'=<>`\x00-\x20]+|'[^'\n]*'|"[^"\n]*")"""
_ATTRIBUTE = rf"[^\S\n]+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:[^\S\n]*=[^\S\n]*{_VALUE})?"
_ANY_TAG = (
    rf"(?:<[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*[^\S\n]*/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*[^\S\n]*>)[^\S\n]*\n"
)
_TO_BLANK = rf"(?>(?:(?!{_BLANK}){_LINE})*)"
_URL = r"(?:https?://[a-zA-Z0-9][a-zA-Z0-9:._~/?#@!$&*+,;=%-]*|[a-zA-Z0-9._/#?=%+-]+)"
_LINK_TITLE = r"""[ \t]+(?:"[^"\\\n]*"|'[^'\\\n]*')[ \t]*\n"""
_REFERENCE = (
    rf" {{0,3}}\[(?=[^\]\n]*\w)[^\[\]\\\n]+\]:[ \t]*{_URL}(?:{_LINK_TITLE}|[ \t]*\n(?!["
    r" \t]*[\"'(]))"
)

_PARAGRAPH = (
    rf"(?P<paragraph>{_LINE}(?>(?:(?!{_BLANK}| {{0,3}}(?={_FIRST}){_INTERRUPTS}){_LINE})*))"
    rf"(?:(?P<underline> {{0,3}}{_UNDERLINE})|(?P<unsure_tag>(?= {{0,3}}<(?!!--)))"
    rf"|(?>(?:{_BLANK})*))"
)
_FREQUENT_BLOCK = (
    rf"(?P<blank>(?>(?:{_BLANK})+))"
    rf"|(?P<heading> {{0,3}}(?P<hashes>#{{1,6}})(?:[ \t](?P<title>[^\n]*))?\n(?>(?:{_BLANK})*))"
    r"|(?P<comment> {0,3}<!--(?>(?:(?!-->)[^\n])*)-->[^\n]*\n)"
    rf"|(?P<run>{_ITEMS}(?>(?:(?>(?:{_BLANK})*){_ITEMS})*)(?P<closed>(?>(?:{_BLANK})+)(?!["
    rf" \t])|(?={_OPENER})|\Z)?)"
    rf"|(?![ \t`~>*_+<\[0-9-]){_PARAGRAPH}"
)
"""Most blocks of memory files; without a match it is a fence or another one."""
_FENCE = rf"(?P<fence> {{0,3}}(?P<ticks>{_TICKS}){_LINE})"
_QUOTE_LINES = rf"(?>(?:[ \t]*>{_LINE})*)"
_OTHER_BLOCK = (
    rf"(?P<code>{_CODE_INDENT}{_LINE}(?>(?:(?>(?:{_BLANK})*){_CODE_INDENT}{_WORDS}{_LINE})*))"
    rf"|{_FENCE}"
    rf"|(?P<quote> {{0,3}}>{_LINE}{_QUOTE_LINES})"
    rf"|(?P<rule> {{0,3}}{_RULE})"
    rf"|(?P<item> {{0,3}}{_MARKER})"
    rf"|(?P<raw> {{0,3}}(?P<opener>{_RAW}))"
    rf"|(?P<tag> {{0,3}}(?:{_TAG}{_LINE}|{_ANY_TAG}){_TO_BLANK})"
    rf"|(?P<reference>(?>(?:{_REFERENCE})+))"
    r"|(?P<unsure_reference> {0,3}\[(?![^\[\]\\\n]*(?:\[|\](?!:))))"
    rf"|{_PARAGRAPH}"
)
_CLOSED = rf"{_BLANK}| {{0,3}}{_OPENER}|\Z"
"""After a container: the next line surely does not continue it."""
_LAZY = rf"(?>(?: {{0,3}}(?![ \t\n<]|(?={_FIRST})(?:{_OPENER}|{_UNDERLINE})){_LINE})*)"
"""Lines that continue a paragraph of an ended container."""
_AFTER_LAZY = rf"{_BLANK}|{_OPENER}|\Z"
_PARAGRAPH_QUOTE = rf"(?>(?: {{0,3}}> ?{_OPEN_PARAGRAPH}{_LINE})+)\Z"
_EMPTY_QUOTE_LINE = rf"[ \t]*>{_BLANK}"
_NESTED = (
    rf"(?m:^)(?>(?:(?:>|{_MARKER})[ \t]?|  |\t){{{_MAX_NESTING}}})[ \t]*+(?=>|{_MARKER})"
    r"(?!(?>(?:-[ \t]*+)+)\n|(?>(?:\*[ \t]*+)+)\n)"
)
"""Begins a line that would open a container too deep: two spaces may count as one."""
_ITEM = rf"( {{0,3}}{_MARKER})([ \t]*)"
_BLANK_LINE = rf"{_BLANK}|\Z"
_RAW_ENDS = {"<!--": "-->", "<?": r"\?>", "<![CDATA[": r"\]\]>"}
_TEXT_END = r"</(?ai:script|pre|style|textarea)>"
_FRESH = r"\n(?:(?=#{1,6} |[-*+] [^\s*+-])|[ \t]*\n(?=[^ \t\n]))"
"""Before fresh points, unless a fence or HTML block is open."""


HTML_COMMENT = r"<!--.*?-->"
_MANY_LINES = r"%%(?!%)(?:(?!%%)[^\n])*\n(?:(?!%%).)*%%"
_AUTHORS = (
    r"(?<![%\\])(?:%%(?![%\s])|(?<!\d)%%(?!%))(?:(?!%%|\n[ \t]*\n).)*(?:(?<!\s)%%|%%(?!\w))"
    rf"|(?<![^\n]){_MANY_LINES}"
)
COMMENT = rf"{HTML_COMMENT}|{_AUTHORS}"
"""A comment, of HTML or of Obsidian (`%%…%%`, in a paragraph or from the beginning of a line), with
flag `s`. Signs as in `50%% of` and `for %%i in (*) do echo %%i` make none.
"""
COMMENT_OPEN = r"<!--|(?<!%)(?:%%(?![%\s])|(?<!\d)%%(?!%))"
_BLOCK_COMMENT = (
    r"(?sm)(?P<other>^[ \t]*(?P<ticks>`{3,}|~{3,}).*?(?:^[ \t]*(?P=ticks)|\Z)|<!--.*?(?:-->|\Z))"
    rf"|^(?P<indent>[ \t]*){_MANY_LINES}"
)


def with_html_comments(source: str) -> str:
    """A text whose comments of several lines between `%%` are HTML's, with the same lines."""
    if "%%" not in source:
        return source
    return re.sub(
        _BLOCK_COMMENT,
        _as_html_comment,
        source,
    )


def _as_html_comment(match: re.Match[str]) -> str:
    if match["other"]:
        return match[0]
    lines = "\n" * match[0].count("\n")
    return f"{match['indent']}<!--{lines}{match['indent']}-->"


@cache
def _below(column: int) -> str:
    return rf"(?>(?:(?>(?:{_BLANK})*){_indent(column)}{_WORDS}{_LINE})*)"


def _indent(column: int) -> str:
    if column > _TAB:
        return _CODE_INDENT + _indent(column - _TAB)
    return rf"(?: {{{column}}}| {{0,{column - 1}}}\t)"


def _fence_end(ticks: str) -> str:
    return rf"\n {{0,3}}{ticks[0]}{{{len(ticks)},}}[ \t]*\n"


def _title(words: str) -> str:
    words = words.rstrip(" \t")
    if words.endswith("#"):
        open_end = words.rstrip("#")
        if not open_end or open_end[-1] in " \t":
            words = open_end
    return words.strip(_TRIMMED)


class _Scanner:
    """Reads from fresh point to fresh point: `at` is the next one's offset, `line` its number."""

    def __init__(self, source: str, first: int, parser: Parser) -> None:
        self.source = source
        self.parser = parser
        self.at = 0
        self.line = first
        self.points = 0
        self.result = ScanResult()

    def run(self) -> ScanResult:
        source, heads, frequent = self.source, self.result.heads, re.compile(_FREQUENT_BLOCK).match
        while self.at < len(source):
            match = frequent(source, self.at)
            # The pattern of the others takes 1.5 ms to compile, which a file with nothing but
            # fences besides is spared.
            match = (
                match
                or re.compile(_FENCE).match(source, self.at)
                or re.compile(_OTHER_BLOCK).match(source, self.at)
            )
            assert match, "every line belongs to a block"
            end = match.end()
            match match.lastgroup:
                case "blank" | "rule" | "reference":
                    self._skip(end)
                case "heading":
                    heads.append(
                        (
                            self.line,
                            self.line + 1,
                            len(match["hashes"]),
                            _title(match["title"] or ""),
                        )
                    )
                    self._skip(end)
                case "run" if match["closed"] is not None:
                    self._take(None, end)
                case "run":
                    self._open_run(end)
                case "item":
                    self._item()
                case "paragraph":
                    self._take(BlockKind.PARAGRAPH, end)
                case "underline":
                    start = self.line
                    self._skip(end)
                    heads.append(
                        (
                            start,
                            self.line,
                            1 if "=" in match["underline"] else 2,
                            match["paragraph"].strip(_TRIMMED),
                        )
                    )
                case "code":
                    self._take(BlockKind.CODE, end)
                case "fence":
                    self._until(BlockKind.CODE, _fence_end(match["ticks"]), end - 1)
                case "quote":
                    self._quote(end)
                case "raw":
                    self._raw(match["opener"], match.start("opener"))
                case "comment" | "tag":
                    self._take(BlockKind.HTML, end)
                case _:
                    self._hand_over()
        return self.result

    def _matches(self, pattern: str, at: int, end: int = sys.maxsize) -> bool:
        return re.compile(pattern).match(self.source, at, end) is not None

    def _end(self, pattern: str, at: int) -> int:
        match = re.compile(pattern).match(self.source, at)
        return match.end() if match else at

    def _skip(self, end: int) -> None:
        self.line += self.source.count("\n", self.at, end)
        self.at = end

    def _take(self, kind: BlockKind | None, end: int) -> None:
        start = self.line
        self._skip(end)
        self.result.pieces.append((kind, start, self.line))

    def _until(self, kind: BlockKind, closing: str, start: int) -> None:
        match = re.compile(closing).search(self.source, start)
        if match:
            self._take(kind, self.source.index("\n", match.end() - 1) + 1)
        else:
            self.result.open_line = self.line
            self._take(kind, len(self.source))

    def _raw(self, opener: str, start: int) -> None:
        by_letter = ">" if opener.startswith("<!") else _TEXT_END
        self._until(BlockKind.HTML, _RAW_ENDS.get(opener, by_letter), start)

    def _open_run(self, end: int) -> None:
        """Take a run of items; the last one, which may continue, separately."""
        last = self.source.rfind("\n", 0, end - 1) + 1
        while self.source[last] in _SPACE:
            last = self.source.rfind("\n", 0, last - 1) + 1
        if last > self.at:
            self._take(None, last)
        self._item()

    def _item(self) -> None:
        match = re.compile(_ITEM).match(self.source, self.at)
        assert match
        first_end = self.source.index("\n", match.end()) + 1
        empty = first_end == match.end() + 1
        if empty and self._matches(_BLANK_LINE, first_end):
            self._take(BlockKind.ITEM, first_end)
            return
        width = _width(match[1], match[2])
        is_code = width > _MAX_CODE_INDENT
        below = _below(len(match[1]) + (1 if empty or is_code else width))
        end = self._end(below, first_end)
        if self._matches(_CLOSED, end) or (empty and end == first_end):
            self._take(BlockKind.ITEM, end)
            return
        if end == first_end and not is_code and self._matches(_OPEN_PARAGRAPH, match.end()):
            lazy = self._end(_LAZY, end)
            end = self._end(below, lazy)
            if self._matches(_AFTER_LAZY, lazy) and self._matches(_CLOSED, end):
                self._take(BlockKind.ITEM, end)
                return
        self._hand_over()

    def _quote(self, end: int) -> None:
        last = self.source.rfind("\n", 0, end - 1) + 1
        if self._matches(_CLOSED, end) or self._matches(_EMPTY_QUOTE_LINE, last):
            self._take(BlockKind.QUOTE, end)
        else:
            start = lazy = self.at
            while is_open := self._matches(_PARAGRAPH_QUOTE, start, end):
                start = lazy = self._end(_LAZY, end)
                end = self._end(_QUOTE_LINES, lazy)
                if end == lazy:
                    break
            if is_open and self._matches(_AFTER_LAZY, lazy):
                self._take(BlockKind.QUOTE, lazy)
            else:
                self._hand_over()

    def _hand_over(self) -> None:
        """Let the parser read up to a proven fresh point.

        Each call gets one point more, so that thousands of calls do not each pay for it.
        """
        self.points += 1
        source, result, end, points = self.source, self.result, self.at, self.points
        while True:
            for _ in range(points):
                fresh = re.compile(_FRESH).search(source, end)
                end = fresh.end() if fresh else len(source)
            whole = end == len(source)
            stretch = source[self.at : end] + ("\n" if whole else "")
            parsed = self.parser(re.sub(_NESTED, r"\g<0>x", stretch) + _PROBE)
            ends_fresh = bool(parsed.heads) and parsed.heads[-1][0] == stretch.count("\n")
            if ends_fresh or whole:
                break
            points *= 2
        first = self.line
        self._skip(end)
        heads = parsed.heads[:-1] if ends_fresh else parsed.heads
        result.heads += [
            (start + first, body + first, level, title) for start, body, level, title in heads
        ]
        result.pieces += [
            (kind, start + first, min(stop + first, self.line))
            for kind, start, stop in parsed.pieces
        ]
        if not ends_fresh:
            result.open_line = result.pieces[-1][1]


def _width(marker: str, space: str) -> int:
    column = len(marker)
    for character in space:
        column += _TAB - column % _TAB if character == "\t" else 1
    return column - len(marker)


def scan(source: str, first: int, parser: Parser) -> ScanResult:
    """The headings and pieces of a text; `source` has LF, also at the end, `first` is the number of
    its first line.
    """
    return _Scanner(source, first, parser).run()


def spans(pieces: Iterable[Piece], lines: Sequence[str]) -> Iterator[tuple[BlockKind, int, int]]:
    """Kind and lines of each block, without final blank lines."""
    for kind, start, end in pieces:
        while end > start + 1 and not lines[end - 1].strip(_SPACE):
            end -= 1
        if kind is not None:
            yield kind, start, end
            continue
        first = start
        for number in range(start + 1, end):
            if lines[number][0] not in _SPACE:
                last = number
                while last > first + 1 and not lines[last - 1].strip(_SPACE):
                    last -= 1
                yield BlockKind.ITEM, first, last
                first = number
        yield BlockKind.ITEM, first, end
