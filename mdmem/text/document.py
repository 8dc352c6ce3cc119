"""A Markdown document as a lossless partition into sections.

A section is a heading that is a direct child of the document, its own text (up to the next heading
of any level) and its subsections. Lines end at `\n`, `\r\n` or `\r`; numbers here count from 0, and
ranges are half open. markdown-it-py defines headings and blocks; `scan` is quicker for most texts.
"""

from __future__ import annotations

import hashlib
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from io import StringIO
from itertools import starmap
from operator import itemgetter
from typing import TYPE_CHECKING

from mdmem.folder import budget
from mdmem.model import MAX_FILE_BYTES, PATH_SEPARATOR, SectionPath
from mdmem.model.errors import PathProblem, SectionProblem, TextProblem, field, near_names, one_of
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.scan import (
    Block,
    BlockKind,
    Head,
    Piece,
    ScanResult,
    scan,
    spans,
    with_html_comments,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_SIGNS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
_OURS = late.pattern(r"<{7}(?: |$)")
_BASE = late.pattern(r"\|{7}(?: |$)")
_MIDDLE = late.pattern(r"={7}$")
_THEIRS = late.pattern(r">{7}(?: |$)")

_Markers = tuple[int, int | None, int, int]
"""Lines (from 0) of `<<<<<<<`, `|||||||` (if any), `=======` and `>>>>>>>`."""


def complete_sets(lines: Sequence[str]) -> Iterator[_Markers]:
    """Find each complete set of markers, in code too."""
    ours = base = middle = None
    for number, line in enumerate(lines):
        if line[:7] not in _SIGNS:
            continue
        words = line.rstrip("\r\n")
        if _OURS.match(words):
            ours, base, middle = number, None, None
        elif ours is None:
            continue
        elif _BASE.match(words) and middle is None:
            base = number
        elif _MIDDLE.match(words) and middle is None:
            middle = number
        elif _THEIRS.match(words) and middle is not None:
            yield ours, base, middle, number
            ours = base = middle = None


BOM = "\ufeff"
_FENCE = late.pattern(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_LINE_END = late.pattern(r"\r\n?|\n")
_CODE_INDENT = 4
_ETAG_DIGITS = 12
_MAX_NESTING = 1000
"""More than `scan` lets through."""
_MAX_INLINE_TITLE = 1000
"""Longer titles keep their inline markup: removing it can cost quadratic time."""
_MARKUP = late.pattern(r"[\\`*_\[<&\0]")
"""Without one of these, the inline parser only changes white space."""
UNSPACED = (
    "["
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul: written with spaces, but a word carries its particles
    "]+"
)
"""Scripts without spaces. Compiling this takes longer than most commands that never use it."""
_CACHED_TITLES = 8192
_CACHED_TEXTS = 4
"""An edit parses its file several times."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading (`start` to `body`), its own text (to `end`) and subsections (to `tree_end`)."""

    index: int
    start: int
    body: int
    end: int
    tree_end: int
    level: int
    title: str
    path: SectionPath


@dataclass(frozen=True)
class Document:
    """A parsed text: `bom` and `lines`, of which the first `front` are opaque front matter.

    `open_line` opens a fence, comment or HTML block that has no end. Items directly below
    `log_heading`, if a log of a vault has it, begin with their time.
    """

    bom: str
    lines: tuple[str, ...]
    front: int
    sections: tuple[Section, ...]
    pieces: tuple[Piece, ...] = ()
    open_line: int | None = None
    log_heading: str | None = None

    @cached_property
    def timed_section(self) -> Section | None:
        """The section whose items begin with their time."""
        if self.log_heading is None:
            return None
        name = plain_title(self.log_heading).casefold()
        return next((s for s in self.sections if plain_title(s.title).casefold() == name), None)

    def reparse(self, text: str) -> Document:
        """Another version of the same file."""
        return parse(text, log_heading=self.log_heading)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks in their order."""
        return tuple(starmap(Block, spans(self.pieces, self.lines)))

    @property
    def text(self) -> str:
        """The whole text, byte for byte."""
        return self.bom + "".join(self.lines)

    @property
    def preamble_end(self) -> int:
        """The line after the preamble: that of the first heading."""
        return self.sections[0].start if self.sections else len(self.lines)

    @property
    def line_end(self) -> str:
        """The line end for new text: the most frequent one of the file."""
        if not any("\r" in line for line in self.lines):
            return "\n"
        ends = [line[len(line.rstrip("\r\n")) :] for line in self.lines]
        return max(("\n", "\r\n", "\r"), key=ends.count)

    @cached_property
    def conflicts(self) -> tuple[_Markers, ...]:
        """The complete sets of conflict markers outside code.

        Only top-level code is looked at: nested blocks are indented, so they hold no marker.
        """
        found = tuple(complete_sets(self.lines)) if "<<<<<<<" in self.text else ()
        code = [block for block in self.blocks if block.kind is BlockKind.CODE] if found else []
        return tuple(
            markers
            for markers in found
            if not any(block.start <= markers[0] < block.end for block in code)
        )

    @cached_property
    def without_markers(self) -> Document:
        """With blank lines for the markers, and for the text that both sides replaced."""
        blank: set[int] = set()
        for ours, base, middle, theirs in self.conflicts:
            blank.update((ours, theirs, *range(middle if base is None else base, middle + 1)))
        if not blank:
            return self
        lines = ("\n" if n in blank else line for n, line in enumerate(self.lines))
        return self.reparse(self.bom + "".join(lines))

    def slice(self, start: int, end: int) -> str:
        """The text of lines `start` up to `end`."""
        return "".join(self.lines[start:end])

    def section_at(self, line: int) -> Section | None:
        """The section whose heading or own text holds the line; None in the preamble."""
        count = bisect_right(self.sections, line, key=lambda section: section.start)
        return self.sections[count - 1] if count else None

    def path_at(self, line: int) -> SectionPath:
        section = self.section_at(line)
        return section.path if section else ()

    def subsections(self, section: Section) -> tuple[Section, ...]:
        """The sections below a section, at any depth."""
        last = bisect_left(
            self.sections, section.tree_end, lo=section.index + 1, key=lambda section: section.start
        )
        return self.sections[section.index + 1 : last]

    def blocks_in(self, start: int, end: int) -> tuple[Block, ...]:
        """The blocks that begin in lines `start` up to `end`."""
        return tuple(starmap(Block, self.spans_in(start, end)))

    def spans_in(self, start: int, end: int) -> Iterator[tuple[BlockKind, int, int]]:
        """Kind, first line and line after the last one of the `blocks_in` some lines."""
        first = max(0, bisect_right(self.pieces, start, key=itemgetter(1)) - 1)
        last = bisect_left(self.pieces, end, lo=first, key=itemgetter(1))
        for span in spans(self.pieces[first:last], self.lines):
            if start <= span[1] < end:
                yield span


@cache
def _parser(core_rules: tuple[str, ...]) -> MarkdownIt:
    # 45 ms, for the few texts that the scanner hands over
    from markdown_it import MarkdownIt  # noqa: PLC0415

    # At the default nesting of 20 every heading after a list ten deep disappears, and an edit would
    # eat the rest of the file.
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    parser.core.ruler.enableOnly(core_rules)
    return parser


def decode(data: bytes) -> str:
    """The text of a file.

    Raises PathProblem: `unsupported-file`: not UTF-8, a NUL, or over `MAX_FILE_BYTES`.
    """
    if len(data) > MAX_FILE_BYTES:
        raise PathProblem(
            "unsupported-file",
            f"the file has {len(data):,} bytes; the maximum is {MAX_FILE_BYTES:,}",
            "Split it.",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise PathProblem(
            "unsupported-file",
            f"the file is not UTF-8 (byte {problem.start})",
            "Convert it: iconv -t UTF-8.",
        ) from problem
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise PathProblem(
            "unsupported-file",
            f"the file has a NUL character in line {line}",
            "Remove it with an editor.",
        )
    return text


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends; only `\\n`, `\\r\\n` and `\\r` end a line."""
    return StringIO(text, newline="").readlines()


def with_line_end(text: str, end: str) -> str:
    if end == "\n" and "\r" not in text:
        return text
    return _LINE_END.sub(end, text)


def blank_line(before: str, end: str) -> str:
    """A blank line after `before`; a lone `\\r` and a `\\n` would be one line end."""
    return "\r" if end == "\n" and before.endswith("\r") else end


def is_blank(line: str) -> bool:
    return not line.strip(" \t\r\n")


def _front_matter_lines(lines: list[str]) -> int:
    if not lines or lines[0].rstrip(" \t\r\n") != "---":
        return 0
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip(" \t\r\n") in ("---", "..."):
            return number
    return 0


_BLOCK_KINDS = {
    "paragraph_open": BlockKind.PARAGRAPH,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "blockquote_open": BlockKind.QUOTE,
    "html_block": BlockKind.HTML,
}


def _parse_with_markdown_it(text: str) -> ScanResult:
    tokens = _parser(("normalize", "block")).parse(text)
    result = ScanResult()
    for number, token in enumerate(tokens):
        if token.map is None or token.level > 1:
            continue
        start, end = token.map
        if token.level == 0 and token.type == "heading_open":
            result.heads.append((start, end, int(token.tag[1]), tokens[number + 1].content))
            continue
        kind = BlockKind.ITEM if token.type == "list_item_open" and token.level == 1 else None
        if token.level == 0:
            kind = _BLOCK_KINDS.get(token.type)
        if kind is not None:
            result.pieces.append((kind, start, end))
    return result


def _build_sections(heads: list[Head], total: int) -> tuple[Section, ...]:
    tree_ends = [total] * len(heads)
    open_heads: list[int] = []
    paths: list[SectionPath] = []
    for index, (start, _, level, title) in enumerate(heads):
        while open_heads and heads[open_heads[-1]][2] >= level:
            tree_ends[open_heads.pop()] = start
        parent = paths[open_heads[-1]] if open_heads else ()
        paths.append((*parent, title))
        open_heads.append(index)
    ends = [head[0] for head in heads[1:]] + [total]
    return tuple(
        Section(
            index=index,
            start=start,
            body=body,
            end=ends[index],
            tree_end=tree_ends[index],
            level=level,
            title=title,
            path=paths[index],
        )
        for index, (start, body, level, title) in enumerate(heads)
    )


def parse(text: str, fragment: bool = False, log_heading: str | None = None) -> Document:
    """Parse a text losslessly; a `fragment` has no byte order mark and no front matter."""
    return _parse(text, "", 0) if fragment else _parse_file(text, log_heading)


@lru_cache(maxsize=_CACHED_TEXTS)
def _parse_file(text: str, log_heading: str | None) -> Document:
    bom = BOM if text.startswith(BOM) else ""
    body = text[len(bom) :]
    front = _front_matter_lines(split_lines(body)) if body.startswith("---") else 0
    return _parse(body, bom, front, log_heading)


def _parse(body: str, bom: str, front: int, log_heading: str | None = None) -> Document:
    lines = split_lines(body)
    result = scan(_source(body, lines, front), front, _parse_with_markdown_it)
    return Document(
        bom=bom,
        lines=tuple(lines),
        front=front,
        sections=_build_sections(result.heads, len(lines)),
        pieces=tuple(result.pieces),
        open_line=result.open_line,
        log_heading=log_heading,
    )


def _source(body: str, lines: list[str], front: int) -> str:
    content = "".join(lines[front:]) if front else body
    source = with_html_comments(with_line_end(content, "\n").replace("\0", "\ufffd"))
    return source if source.endswith("\n") else source + "\n"


def parse_bytes(data: bytes, log_heading: str | None = None) -> Document:
    """Parse a file within its budget. Raises PathProblem (`unsupported-file`)."""
    with budget.reading(data):
        return parse(decode(data), log_heading=log_heading)


def etag(document: Document, start: int, end: int) -> str:
    """The first 12 hex digits of the SHA-256 of some lines, without blank ones at the end."""
    while end > start and is_blank(document.lines[end - 1]):
        end -= 1
    return hashlib.sha256(document.slice(start, end).rstrip("\r\n").encode()).hexdigest()[
        :_ETAG_DIGITS
    ]


def section_etag(document: Document, section: Section) -> str:
    """The etag of a heading with its own text."""
    return etag(document, section.start, section.end)


def tree_etag(document: Document, section: Section) -> str:
    return etag(document, section.start, section.tree_end)


def preamble_etag(document: Document) -> str:
    return etag(document, document.front, document.preamble_end)


def fold_lines(text: str) -> str:
    """Each run of white space within a line as one space."""
    return "\n".join([" ".join(line.split()) for line in text.split("\n")])


def fold_space(text: str) -> str:
    """NFC with white space folded."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def plain_title(title: str) -> str:
    """A title as addresses compare it: without inline markup, in NFC, white space folded."""
    if len(title) > _MAX_INLINE_TITLE or not _MARKUP.search(title):
        return fold_space(title)
    return _without_markup(title)


@lru_cache(maxsize=_CACHED_TITLES)
def _without_markup(title: str) -> str:
    children = (
        _parser(("normalize", "block", "inline", "text_join")).parseInline(title)[0].children or []
    )
    parts = (
        (
            " "
            if token.type.endswith("break")
            else ""
            if token.type == "html_inline"
            else token.content
        )
        for token in children
    )
    return fold_space("".join(parts))


def lines_without_ends(text: str) -> list[str]:
    """The lines of a text without their ends, and without a byte order mark."""
    return [line.rstrip("\r\n") for line in split_lines(text.removeprefix(BOM))]


def closed_fences(lines: Sequence[str]) -> frozenset[int]:
    """Line numbers, from 0, of code fences that are closed in these lines, in lists or not."""
    fenced: set[int] = set()
    unclosed_up_to: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines):
        match = _FENCE.match(line) if number not in fenced else None
        if match is None or number < unclosed_up_to.get((match[1], match[2]), 0):
            continue
        last, is_closed = _end_of_fence(lines, number, match[1], match[2])
        if is_closed:
            fenced.update(range(number, last + 1))
        else:
            unclosed_up_to[match[1], match[2]] = last
    return frozenset(fenced)


def _end_of_fence(lines: Sequence[str], opener: int, indent: str, fence: str) -> tuple[int, bool]:
    """The line that closes a fence, and True; else the first line outside, and False."""
    for number in range(opener + 1, len(lines)):
        rest = lines[number].removeprefix(indent)
        words = rest.strip(" \t")
        if words and not lines[number].startswith(indent):
            return number, False
        if (
            words.startswith(fence)
            and not words.strip(fence[0])
            and rest.index(fence) < _CODE_INDENT
        ):
            return number, True
    return len(lines), False


def clean_input(text: str, name: str = "text") -> str:
    """A user's text without a byte order mark; messages call it `name`.

    Raises TextProblem: `bad-text`: a NUL, or bytes that were not UTF-8.
    """
    if "\0" in text:
        raise TextProblem("bad-text", f"the {name} contains a NUL character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise TextProblem(
            "bad-text", f"the {name} is not UTF-8 (character {problem.start})"
        ) from problem
    return text.removeprefix(BOM)


_CHUNK = 1024


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Count the items in the common beginning of two sequences, and in the rest's common end."""
    most = min(len(old), len(new))
    start = _common_start(old, new, most)
    return start, _common_start(old[::-1], new[::-1], most - start)


def _common_start(old: Sequence[object], new: Sequence[object], most: int) -> int:
    """Count the common first items, up to `most`: by large chunks, then by halves."""
    start, size = 0, _CHUNK
    while size:
        while start + size <= most and old[start : start + size] == new[start : start + size]:
            start += size
        size //= 2
    return start


_MAX_SUGGESTIONS = 3
_MIN_SIMILARITY = 0.5
_MAX_COMPARED_SECTIONS = 2000
_MAX_COMPARED_CHARS = 200
_MAX_QUOTED_CHARS = 120
_MAX_LISTED = 8


def join_path(path: SectionPath) -> str:
    return PATH_SEPARATOR.join(path)


MATCH_RULES: tuple[Callable[[str], str], ...] = (
    lambda title: title,
    plain_title,
    lambda title: plain_title(title).casefold(),
)
"""The first one with a match decides."""


def matching_sections(document: Document, address: str) -> tuple[Section, ...]:
    """The sections that an address names, in file order, by the first matching rule.

    A single heading precedes a path, and a whole path the end of one.
    """
    may_be_path = PATH_SEPARATOR in address or PATH_SEPARATOR in fold_space(address)
    for rule in MATCH_RULES:
        name = rule(address)
        if not name:
            break
        by_title = tuple(section for section in document.sections if rule(section.title) == name)
        if by_title:
            return by_title
        by_path = _matching_paths(document, name, rule) if may_be_path else ()
        if by_path:
            return by_path
    return ()


def _matching_paths(
    document: Document, name: str, rule: Callable[[str], str]
) -> tuple[Section, ...]:
    paths = [(section, [rule(title) for title in section.path]) for section in document.sections]
    whole = tuple(section for section, titles in paths if PATH_SEPARATOR.join(titles) == name)
    return whole or tuple(section for section, titles in paths if _ends_in(titles, name))


def _ends_in(titles: Sequence[str], name: str) -> bool:
    joined = titles[-1]
    for title in reversed(titles[:-1]):
        joined = f"{title}{PATH_SEPARATOR}{joined}"
        if len(joined) >= len(name):
            return joined == name
    return False


def is_named(path: SectionPath, address: str) -> bool:
    """True if an address may name a section: its title or the end of its path, loosely compared."""
    loosely = MATCH_RULES[-1]
    titles, name = [loosely(title) for title in path], loosely(address)
    return bool(titles) and (titles[-1] == name or _ends_in(titles, name))


def similar_paths(document: Document, address: str) -> tuple[str, ...]:
    """Up to three paths of the document that resemble an address."""
    name = plain_title(address).casefold()[:_MAX_COMPARED_CHARS]
    path_of_name: dict[str, str] = {}
    for section in document.sections[:_MAX_COMPARED_SECTIONS]:
        path = join_path(section.path)
        for candidate in (plain_title(section.title).casefold(), path.casefold()):
            path_of_name.setdefault(candidate[:_MAX_COMPARED_CHARS], path)
    close = near_names(name, path_of_name, 2 * _MAX_SUGGESTIONS, _MIN_SIMILARITY)
    inside = [
        candidate
        for candidate in path_of_name
        if name and candidate and (name in candidate or candidate in name)
    ]
    return tuple(dict.fromkeys(path_of_name[candidate] for candidate in [*close, *inside]))[
        :_MAX_SUGGESTIONS
    ]


def find_section(
    document: Document,
    address: str,
    nth: int | None = None,
    *,
    file: str | None = None,
    remedy: str = "",
    purpose: str = "",
    counts: bool = True,
) -> Section:
    """The section that an address names; `nth` counts from 1.

    Raises SectionProblem, in whose words `file` names the document, `remedy` is a sentence for
    where none is similar, `purpose` follows the address, and `counts` says that `nth` can be given.
    """
    matches = matching_sections(document, address)
    if not matches:
        raise _not_found(document, address, file, remedy, purpose)
    if nth is not None:
        if not 1 <= nth <= len(matches):
            name = repr(address[:_MAX_QUOTED_CHARS])
            message = (
                f"{field('nth')} must be 1: only one section is called {name}"
                if len(matches) == 1
                else f"{field('nth')} must be between 1 and {len(matches)}:"
                f" {len(matches)} sections are called {name}"
            )
            raise SectionProblem("section-not-found", message)
        return matches[nth - 1]
    if len(matches) > 1:
        raise _ambiguous(document, address, matches, counts)
    return matches[0]


def create_remedy() -> str:
    return f"Add {field('create')} to create the section."


def preamble_remedy(document: Document) -> str:
    return "" if document.sections else f"Use {field('preamble')} for its text."


def _not_found(
    document: Document, address: str, file: str | None, remedy: str, purpose: str
) -> SectionProblem:
    near = similar_paths(document, address)
    suggestions = near or tuple(
        join_path(section.path) for section in document.sections[:_MAX_LISTED]
    )
    listed = "; ".join(suggestions)
    if near:
        hint = f"Did you mean {one_of(near)}?"
    else:
        there = (
            f"Sections in {file or 'this file'}: {listed}."
            if listed
            else f"{file or 'This file'} has no headings."
        )
        hint = " ".join(filter(None, (there, remedy)))
    message = " ".join(filter(None, (f"no section {address[:_MAX_QUOTED_CHARS]!r}", purpose)))
    return SectionProblem("section-not-found", message, hint, near=list(near))


def _ambiguous(
    document: Document, address: str, matches: tuple[Section, ...], counts: bool
) -> SectionProblem:
    rows = [{"section": join_path(section.path), "line": section.start + 1} for section in matches]
    listed = "; ".join(f"{row['section']} (line {row['line']})" for row in rows[:_MAX_LISTED])
    paths_are_unique = all(
        len(matching_sections(document, join_path(section.path))) == 1
        for section in matches[:_MAX_LISTED]
    )
    ways = [
        *(["the whole path"] if paths_are_unique else []),
        *([f"{field('nth')} N"] if counts else []),
    ]
    remedy = f"Give {' or '.join(ways)}." if ways else "Rename one of them."
    hint = f"They are {listed}. {remedy}"
    message = f"{len(matches)} sections are called {address[:_MAX_QUOTED_CHARS]!r}"
    return SectionProblem("section-ambiguous", message, hint, sections=rows)


def address_of(document: Document, section: Section) -> tuple[str, int | None] | None:
    """The path of a section, with its number if shared; None if that means another section."""
    address = join_path(section.path)
    matches = matching_sections(document, address)
    if section not in matches:
        return None
    return address, matches.index(section) + 1 if len(matches) > 1 else None
