"""Render pages as HTML, with Jinja2, and Markdown of memory, with mistune. Only `Markup` of this
module and `charts` is not escaped; nothing in the Markdown is trusted.

HTML in it becomes text, and comments are dropped. Links lead to http, https and mailto addresses,
and to the memory files that a relative address or a `[[name]]` refers to. Pictures and embeds are
named, not loaded. Headings are one level lower, and have no ids.
"""

from __future__ import annotations

import hashlib
import html as entities
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cache, cached_property, lru_cache, partial
from posixpath import dirname, join, normpath
from typing import Any, TypeAlias
from urllib.parse import unquote

import mistune
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from mistune.core import BlockState, InlineState
from mistune.renderers.html import HTMLRenderer

from mdmem import secrets
from mdmem.folder import installed
from mdmem.model import FactId, FilePath, SectionPath
from mdmem.model.errors import PathProblem, number_of, shell_word, typed
from mdmem.model.prompts import count_tokens
from mdmem.model.reads import FileNames
from mdmem.model.rules import is_iso_day
from mdmem.model.searches import Hit
from mdmem.model.trail import Entry
from mdmem.page import charts
from mdmem.page.pages import (
    Address,
    Frame,
    Links,
    Page,
    Piece,
    Reader,
    address_parts,
    difference,
    place_of,
    source_mark,
    tags_now,
)
from mdmem.past.differences import DiffKind
from mdmem.show.hits import marked_words
from mdmem.show.reviews import visible
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, join_path, parse
from mdmem.text.facts import (
    entries,
    key_and_value,
    minute_of,
    shown_text,
    split_kind,
    without_comments,
)
from mdmem.text.scan import BlockKind

Token: TypeAlias = dict[str, Any]
"""A piece of a text as mistune parses it: `text` before its inline markup is read."""
AddressOf: TypeAlias = Callable[[str, str], str]
"""Finds the address for the name or path and the heading of a link; empty if there is none."""

MAX_CHARACTERS, MAX_ELEMENTS = 65_000, 1_500
"""Maximum length and elements of the text on a page, which has up to 100 kB and 2,000."""
_ADDRESS_SCHEME = late.pattern(r"([a-z][a-z0-9+.-]*):")
_DROPPED = late.pattern(r"[\x00-\x20\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Blanks, controls and hidden characters; browsers drop some before they read the scheme."""
_OPEN_SCHEMES = frozenset({"http", "https", "mailto"})
_COMMENT = late.pattern(r"(?s)<!--.*?(?:-->|\Z)")
_WIKILINK = r"!?\[\[[^\[\]\r\n]{1,400}\]\]"
_BLOCK_ID = late.pattern(r"(?:^|\s)\^[A-Za-z0-9-]+\Z")
_CALLOUT = late.pattern(r"\[![^\]\r\n]{1,40}\][+-]?[ \t]*([^\r\n]*)\r?\n?")
_LINK = late.pattern(r"</?a\b[^<>]*>")
_TAG = late.pattern(r"<[^<>]*>")
_ELEMENT = late.pattern(r"<[a-z]")
_MOST_ENTRIES, _TEXTS_KEPT = 400, 8
_HTML_OF_TEXT, _HTML_OF_MARK, _ELEMENTS_OF_MARK = 1.2, 230, 6
"""About how much is written for a character, and for an item with a mark."""
_TABLE_DELIMITER = late.pattern(r"\|?[ \t:-]*-[ \t:-]*(?:\|[ \t:-]*)+")
_LIST_MARK = late.pattern(r"^(?:[-*+]|\d{1,9}[.)])\s+")
_LOWEST_HEADING = 6
_SHRINK = 0.9
_TASKS = {True: ("☑", "done"), False: ("☐", "to do")}


# Text as people wrote it.


_JOINERS = late.pattern("[\\u200c\\u200d\\ufe0e\\ufe0f]")
_SELECTED = frozenset("0123456789#*\u203c\u2049\u2139\u3030\u303d")
"""Characters besides symbols that a variation selector may follow."""
_JOINED_SCRIPTS = frozenset(
    (
        *("ARABIC", "BENGALI", "DEVANAGARI", "GUJARATI", "GURMUKHI", "KANNADA"),
        *("MALAYALAM", "ORIYA", "SINHALA", "SYRIAC", "TAMIL", "TELUGU"),
    )
)


def readable(text: str) -> str:
    """A text with emoji and joined letters as written, other hidden characters by number."""
    return readable_parts((text,))[0]


def readable_parts(parts: Sequence[str]) -> list[str]:
    """The parts of a text: what belongs together may be cut between two of them."""
    whole = "".join(parts)
    written = [
        match.start()
        for match in (() if whole.isascii() else _JOINERS.finditer(whole))
        if _is_written(whole, match.start())
    ]
    if not written:
        return [visible(part) for part in parts]
    shown, start = [], 0
    for part in parts:
        places = [start, *(at for at in written if start <= at < start + len(part))]
        ends = [*places[1:], start + len(part)]
        first, *others = [whole[at:end] for at, end in zip(places, ends, strict=True)]
        shown.append(visible(first) + "".join(each[0] + visible(each[1:]) for each in others))
        start += len(part)
    return shown


def _is_written(text: str, at: int) -> bool:
    """True for a joiner or selector between characters that it belongs to."""
    before, after = text[max(0, at - 2) : at], text[at + 1 : at + 2]
    if text[at] in "\ufe0e\ufe0f":
        return _takes_selector(before[-1:])
    script = _script(before[-1:])
    if script in _JOINED_SCRIPTS and script == _script(after):
        return True
    joined = before[:-1] if before[-1:] in ("\ufe0e", "\ufe0f") else before[-1:]
    return text[at] == "\u200d" and _takes_selector(joined) and _takes_selector(after)


def _takes_selector(character: str) -> bool:
    return bool(character) and (
        character in _SELECTED or unicodedata.category(character).startswith("S")
    )


def _script(character: str) -> str:
    is_letter = bool(character) and unicodedata.category(character)[0] in "LM"
    return unicodedata.name(character, "").partition(" ")[0] if is_letter else ""


# Markdown as HTML.


@dataclass(frozen=True, slots=True)
class EntryMark:
    """The margin of an item: `html` behind its text, which is struck if it is `over`."""

    line: str
    html: Markup
    over: bool = False


class MemoryRenderer(HTMLRenderer):
    """Writes HTML in which nothing of the source is active."""

    def __init__(self) -> None:
        super().__init__(escape=True)

    def text(self, text: str) -> str:
        return super().text(readable(text))

    def codespan(self, text: str) -> str:
        return super().codespan(readable(text))

    def block_code(self, code: str, info: str | None = None) -> str:
        return f"<pre><code>{mistune.escape(readable(code))}</code></pre>\n"

    def list_item(self, text: str, mark: EntryMark | None = None, names: str = "") -> str:
        if mark:
            names = f"{names} entry".strip()
            text = f"{f'<del>{text}</del>' if mark.over else text}{mark.html}"
        return f'<li class="{names}">{text}</li>\n' if names else f"<li>{text}</li>\n"

    def table(self, text: str) -> str:
        region = 'class="wide" tabindex="0" role="region" aria-label="Table"'
        return f"<div {region}>\n<table>\n{text}</table>\n</div>\n"

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        """One level down: the page has its own first heading."""
        tag = f"h{min(level + 1, _LOWEST_HEADING)}"
        return f"<{tag}>{text}</{tag}>\n"

    def render_token(self, token: Token, state: BlockState) -> str:
        """A token as HTML; a relative address becomes that of a memory file."""
        if token["type"] == "link" and _scheme(url := token["attrs"]["url"]) is None:
            path, _, heading = unquote(entities.unescape(url)).partition("#")
            attrs = {"url": _place(state.env, path, heading), "is_relative": True}
            token = {**token, "attrs": attrs}
        return super().render_token(token, state)

    def link(self, text: str, url: str, title: str | None = None, is_relative: bool = False) -> str:
        """A link, or its text if the address is not allowed or leads nowhere."""
        words = _LINK.sub("", text)
        if is_relative:
            return self._link_to(url, words)
        if _scheme(url) not in _OPEN_SCHEMES:
            return words
        address = self.escape_attribute(visible(url))
        return f'<a href="{address}" rel="noreferrer noopener">{words}</a>'

    def place(self, text: str, url: str) -> str:
        return self._link_to(url, self.text(text))

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return _named("picture", _TAG.sub("", text) or mistune.escape(visible(url)))

    def embed(self, text: str) -> str:
        return _named("embedded", self.text(text))

    def block_html(self, html: str) -> str:
        words = self._without_comments(html).strip()
        return f"<p>{words}</p>\n" if words else ""

    def inline_html(self, html: str) -> str:
        return self._without_comments(html)

    def block_error(self, text: str) -> str:
        return f"<pre>{mistune.escape(visible(text))}</pre>\n"

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        """A cell without a style for its alignment."""
        return f"<th>{text}</th>\n" if head else f"<td>{text}</td>\n"

    def task_list_item(
        self, text: str, checked: bool = False, mark: EntryMark | None = None
    ) -> str:
        sign, word = _TASKS[checked]
        box = f'<span aria-hidden="true">{sign}</span><span class="words">{word}:</span>'
        return self.list_item(f"{box} {text}", mark, "task")

    def _link_to(self, address: str, words: str) -> str:
        return f'<a href="{self.escape_attribute(address)}">{words}</a>' if address else words

    def _without_comments(self, html: str) -> str:
        return mistune.escape(visible(_COMMENT.sub("", html)))


def _named(kind: str, shown: str) -> str:
    return f'<span class="picture">[{kind}: {shown}]</span>'


def _scheme(url: str) -> str | None:
    """The scheme of an address as a browser reads it; None if it is relative."""
    address = _DROPPED.sub("", entities.unescape(url)).casefold()
    match = _ADDRESS_SCHEME.match(address)
    return match[1] if match else None


def markdown_html(
    source: str, address_of: AddressOf | None = None, marks: Sequence[EntryMark] = ()
) -> str:
    """`marks` are of items at the top, in their order."""
    state = BlockState()
    state.env["address_of"], state.env["marks"] = address_of, marks
    shown = without_comments(source) if "%%" in source else source
    return str(_parser().parse(shown, state)[0])


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page of a text; the next one begins with `next_line` (from 0), unless it is the last.

    `is_cut`: one of its lines is too long to be shown whole.
    """

    html: Markup
    next_line: int | None
    is_cut: bool = False


def text_page(
    document: Document,
    first: int,
    end: int,
    marks_of: Callable[[Sequence[Entry]], Mapping[int, EntryMark]],
    address_of: AddressOf | None = None,
    room: float = 1.0,
) -> TextPage:
    """Render lines from `first` up to `end`, as many entries as fit into a share of a page.

    A table or code that began before goes on with its head. `marks_of` gives those of some entries,
    by their lines (from 1).
    """
    start, opening = _goes_on(document, first)
    stop, length = first, 0
    while stop < end and length < MAX_CHARACTERS:
        length += len(document.lines[stop])
        stop += 1
    found = entries(document, FilePath(""), start=start, end=stop)
    listed = [each for each in found if each.end_line > first][:_MOST_ENTRIES]
    ends = _likely(document, first, listed, room) or [stop]
    marks = marks_of([each for each in listed if each.end_line <= ends[-1]])
    if stop == end and (not listed or ends[-1] == listed[-1].end_line):
        ends = [*ends[:-1], end]
    while True:
        cut = ends[-1]
        source = opening + document.slice(first, cut)
        written = markdown_html(
            source, address_of, [mark for line, mark in marks.items() if line <= cut]
        )
        over = excess(written) / room
        if over <= 1:
            return TextPage(Markup(written), cut if cut < end else None)
        fitting = int(len(ends) * _SHRINK / over)
        if len(ends) > 1:
            del ends[max(1, min(fitting, len(ends) - 1)) :]
        elif cut - first > 1:
            ends = [first + max(1, int((cut - first) * _SHRINK / over))]
        else:
            source = source[:MAX_CHARACTERS]
            while (over := excess(written := markdown_html(source, address_of))) > 1:
                source = source[: int(len(source) * _SHRINK / over)]
            return TextPage(Markup(written), cut if cut < end else None, is_cut=True)


@lru_cache(maxsize=_TEXTS_KEPT)
def page_starts(text: str, first: int, room: float) -> tuple[int, ...]:
    """The lines from which the pages of a text from its line `first` on are likely to begin."""
    document, starts = parse(text), [first]
    left: Sequence[Entry] = entries(document, FilePath(""), start=first)
    while left := [each for each in left if each.end_line > starts[-1]]:
        starts.append(_likely(document, starts[-1], left[:_MOST_ENTRIES], room)[-1])
    return tuple(starts[:-1] or starts)


def _likely(document: Document, first: int, listed: Sequence[Entry], room: float) -> list[int]:
    """The ends of entries that are likely to fit on a page, so that it is rendered once."""
    length = elements = 0.0
    likely: list[int] = []
    for entry in listed:
        lines = document.lines[likely[-1] if likely else first : entry.end_line]
        length += sum(map(len, lines)) * _HTML_OF_TEXT + (_HTML_OF_MARK if entry.fact else 0)
        elements += _ELEMENTS_OF_MARK if entry.fact else 1 + entry.first_line.count("|")
        if likely and max(length / MAX_CHARACTERS, elements / MAX_ELEMENTS) > room:
            break
        likely.append(entry.end_line)
    return list(dict.fromkeys(likely))


def _goes_on(document: Document, first: int) -> tuple[int, str]:
    """The first line of the block that a line is in, and the lines that it needs before it."""
    spans = [span for span in document.spans_in(0, first + 1) if span[1] < first < span[2]]
    if not spans:
        return first, ""
    kind, start, _ = spans[-1]
    lines = document.lines[start:first]
    if kind is BlockKind.CODE:
        return start, lines[0] if lines[0].lstrip().startswith(("```", "~~~")) else ""
    heads = (at for at, line in enumerate(lines) if at and _TABLE_DELIMITER.fullmatch(line.strip()))
    head = next(heads, 0)
    return start, "".join(lines[head - 1 : head + 1]) if head else ""


def excess(html: str) -> float:
    """The number of pages that some HTML fills; up to 1 it fits on one."""
    return max(len(_ELEMENT.findall(html)) / MAX_ELEMENTS, len(html) / MAX_CHARACTERS)


@cache
def _parser() -> mistune.Markdown:
    return mistune.create_markdown(
        renderer=MemoryRenderer(),
        plugins=["table", "strikethrough", "task_lists", _memory_markup],
    )


def _memory_markup(md: mistune.Markdown) -> None:
    md.inline.register("place", _WIKILINK, _parse_wikilink, before="link", start_chars=("!", "["))
    md.before_render_hooks.insert(0, _drop_marks)


def _parse_wikilink(inline: mistune.InlineParser, match: re.Match[str], state: InlineState) -> int:
    target, _, words = match[0].lstrip("!").strip("[]").partition("|")
    name, _, heading = target.partition("#")
    shown = (words or " > ".join(filter(None, (name.strip(), heading.strip())))).strip()
    if match[0].startswith("!"):
        state.append_token({"type": "embed", "raw": target.strip()})
    else:
        attrs = {"url": _place(state.env, name.strip(), heading.strip())}
        state.append_token({"type": "place", "raw": shown, "attrs": attrs})
    return match.end()


def _place(env: Mapping[str, Any], name: str, heading: str) -> str:
    address_of: AddressOf | None = env.get("address_of")
    return address_of(name, heading) if address_of else ""


def _drop_marks(parser: mistune.Markdown, state: BlockState) -> None:
    """Drop marks that are not for readers, and let no heading skip a level."""
    _mark_items(state)
    deepest = 0
    for token in _walk(state.tokens):
        kind = token["type"]
        if kind == "heading":
            deepest = token["attrs"]["level"] = min(token["attrs"]["level"], deepest + 1)
        elif kind == "list_item" and (first := _first_text(token)):
            first["text"] = split_kind(first["text"])[1]
        elif kind == "block_quote" and (first := _first_text(token)):
            token["children"] = [*_without_callout(first), *token["children"][1:]]
        if kind == "block_html":  # an item that begins with a comment
            token["raw"] = _BLOCK_ID.sub("", token["raw"].rstrip())
        if "text" in token:
            token["text"] = _BLOCK_ID.sub("", token["text"].rstrip())
            if kind == "paragraph" and not token["text"]:
                del token["text"]
                token["type"] = "blank_line"


def _mark_items(state: BlockState) -> None:
    """Give its mark to each item at the top, by the letters of its first line."""
    marks: dict[str, list[EntryMark]] = {}
    for mark in reversed(state.env["marks"]):
        marks.setdefault(_letters(mark.line), []).append(mark)
    lists = (token for token in state.tokens if token["type"] == "list" and marks)
    for item in (item for token in lists for item in token["children"]):
        first: Token = next(iter(item["children"]), {})
        if named := marks.get(_letters(first.get("text") or first.get("raw") or "")):
            item["attrs"] = {**item.get("attrs", {}), "mark": named.pop()}


def _letters(text: str) -> str:
    line = _LIST_MARK.sub("", text.strip().partition("\n")[0])
    return "".join(filter(str.isalnum, without_comments(line)))


def _without_callout(first: Token) -> list[Token]:
    """The first paragraph of a quote; the title of a callout is a paragraph, without its type."""
    match = _CALLOUT.match(first["text"])
    if not match:
        return [first]
    parts = (match[1].strip(), first["text"][match.end() :])
    return [{"type": "paragraph", "text": part} for part in parts if part]


def _walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _walk(token.get("children", []))


def _first_text(token: Token) -> Token | None:
    first: Token | None = next(iter(token["children"]), None)
    return first if first and "text" in first else None


_MEDIA_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
}
_MARKS = {
    DiffKind.OUT: Markup("<del>{}</del>"),
    DiffKind.IN: Markup("<ins>{}</ins>"),
    DiffKind.KEPT: Markup("{}"),
}
_WEEK = timedelta(days=6)


def html(reader: Reader, page: Page, frame: Frame) -> str:
    template = _environment(reader.links.is_served).get_template(f"{page.template}.html")
    now = frame.now
    return template.render(
        {
            **page.values,
            "frame": frame,
            "page": page,
            "link": reader.links,
            "can_write": reader.can_write,
            "token": reader.token,
            "time": lambda moment: time(moment, now),
            "day": lambda moment: day(moment, now),
            "minute": lambda moment: minute(moment, now),
            "clock": lambda moment: clock(moment, now),
            "period": lambda start, end: period(start, end, now),
            "place": lambda path, section: place_of(reader.memory.workspace, path, section),
        }
    )


def entry_mark(
    links: Links, hit: Hit, entry: Entry, successor: FactId | None, over: bool, now: datetime
) -> EntryMark:
    """The margin of an item: what is wrong with it; its source and day; who said it, and where."""
    tags = [f'<span class="tag warn">{word}</span>' for word in tags_now(hit)]
    if successor and (address := links.fact(successor)):
        tags[0] = f'<a class="tag warn" href="{escape(address)}">since replaced</a>'
    section = entry.section[-1].casefold() if entry.section else ""
    if hit.kind not in (None, "fact", "task") and not section.startswith(str(hit.kind)):
        tags.append(f'<span class="tag">{escape(visible(str(hit.kind)))}</span>')
    mark = source_mark(hit.source, hit.claimed_by) if hit.source else None
    local = hit.since.astimezone(now.tzinfo) if hit.since else None
    by = f"by you, according to {mark.by}" if mark and mark.by else f"by {hit.author or 'you'}"
    about = (
        f"{mark.word} {by}" if mark else "",
        minute(local, now) if local else "not saved",
        *hit.cites[:1],
    )
    when = f'<time datetime="{local:%Y-%m-%d}">{_moment_words(local, now)}</time>' if local else ""
    said = escape(visible(", ".join(filter(None, about))))
    shown = f'<span aria-hidden="true">{mark.sign if mark else "·"}</span> {when}'
    address = links.fact(hit.fact or "")
    around = f'a class="mark" href="{escape(address)}"' if address else 'span class="mark"'
    tags.append(f'<{around}>{shown}<span class="who">{said}</span></{around[: around.index(" ")]}>')
    return EntryMark(entry.first_line, Markup(" " + " ".join(tags)), over)


@cache
def _environment(is_served: bool) -> Environment:
    clean = str if is_served else lru_cache(10_000)(secrets.redact)
    environment = Environment(
        loader=FileSystemLoader(installed.path("templates", "page")),
        autoescape=True,
        auto_reload=False,  # an upgrade may change them under the code that is running
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=partial(_shown, clean),
    )
    environment.filters.update(
        raw=escape,  # the value of a field, which is sent back as it is
        texts=_texts,
        text=partial(_text, clean),
        pieces=partial(_pieces, clean),
        section=join_path,
        words=lambda text: " ".join(text.split()),
        key_and_value=key_and_value,
        source_mark=source_mark,
        marked_words=marked_words,
        count_tokens=count_tokens,
        shell_word=shell_word,
        shown_text=shown_text,
        minute_of=minute_of,
        address_parts=address_parts,
        day_named=lambda words: date.fromisoformat(words) if is_iso_day(words) else None,
    )
    environment.globals.update(
        number_of=number_of, static=asset_address, short_day=charts.short_day
    )
    return environment


Clean: TypeAlias = Callable[[str], str]
"""A text without its secrets, for an export; unchanged for a served page."""


def _shown(clean: Clean, value: object) -> object:
    """A value as shown: commands as typed, hidden characters as their code points."""
    if isinstance(value, Markup | Address) or not isinstance(value, str):
        return value
    return visible(typed(clean(value)))


def _text(clean: Clean, value: str, key: str | None = None) -> Markup:
    """Text of memory as its author wrote it, not to decide on."""
    return escape(readable(typed(_clean_value(clean, value, key))))


def _clean_value(clean: Clean, value: str, key: str | None) -> str:
    name = f"{key}: " if key else ""
    return clean(name + value).removeprefix(name)


def _texts(marked: Sequence[tuple[str, bool]]) -> list[tuple[Markup, bool]]:
    """The pieces of a text that is marked in part."""
    parts = readable_parts([text for text, _ in marked])
    return [(escape(part), mark) for part, (_, mark) in zip(parts, marked, strict=True)]


def _pieces(
    clean: Clean, shown: tuple[Piece, ...], key: str | None = None, exact: bool = False
) -> Markup:
    """A difference; secrets are looked for in each of its texts, with its key.

    `exact`: to decide on, so that nothing in it is hidden.
    """
    both = [
        "".join(text for kind, text in shown if kind is not left_out)
        for left_out in (DiffKind.IN, DiffKind.OUT)
    ]
    if (cleaned := [_clean_value(clean, text, key) for text in both]) != both:
        shown = difference(*cleaned)
    texts = [text for _, text in shown]
    parts = map(visible, texts) if exact else readable_parts(texts)
    return Markup("").join(
        _MARKS[kind].format(text) for (kind, _), text in zip(shown, parts, strict=True)
    )


def time(moment: datetime, now: datetime) -> Markup:
    """A moment for people: a time today, a weekday in the last week, else a date."""
    local = moment.astimezone(now.tzinfo)
    return _stamp(local, now, _moment_words(local, now))


def _moment_words(local: datetime, now: datetime) -> str:
    is_today = local.date() == now.date()
    return f"today {local:%H:%M}" if is_today else _day_words(local.date(), now)


def clock(moment: datetime, now: datetime) -> Markup:
    local = moment.astimezone(now.tzinfo)
    return _stamp(local, now, f"{local:%H:%M}")


def period(start: datetime, end: datetime | None, now: datetime) -> Markup:
    """A span of time without repetition: `13 – 25 Feb`, `since 25 Feb`."""
    first = start.astimezone(now.tzinfo)
    if end is None:
        return Markup("since {}").format(_stamp(first, now, _short_date(first, now)))
    last = end.astimezone(now.tzinfo)
    before, after = _short_date(first, now), _short_date(last, now)
    if first.date() == last.date():
        before, after = f"{before} {first:%H:%M}", f"{last:%H:%M}"
    elif (first.year, first.month) == (last.year, last.month):
        before = str(first.day)
    return Markup("{} – {}").format(_stamp(first, now, before), _stamp(last, now, after))


def _stamp(local: datetime, now: datetime, words: str) -> Markup:
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        local.isoformat(timespec="minutes"), minute(local, now), words
    )


def day(moment: date, now: datetime) -> str:
    """A day for headings: `Thursday 5 March`, with the year unless it is the current one."""
    year = "" if moment.year == now.year else f" {moment.year}"
    return f"{moment:%A} {moment.day} {moment:%B}{year}"


def minute(moment: datetime, now: datetime) -> str:
    """A moment in full: `Thursday 5 March, 09:30`."""
    local = moment.astimezone(now.tzinfo)
    return f"{day(local.date(), now)}, {local:%H:%M}"


def _day_words(moment: date, now: datetime) -> str:
    is_recent = timedelta(0) < now.date() - moment <= _WEEK
    return f"{moment:%A}" if is_recent else _short_date(moment, now)


def _short_date(moment: date, now: datetime) -> str:
    year = "" if moment.year == now.year else f" {moment.year}"
    return f"{charts.short_day(moment)}{year}"


# Links within memory.


class Places:
    """Finds the pages of notes that a text links to; names are read at the first link."""

    def __init__(self, reader: Reader, path: str = "") -> None:
        self._reader, self._path, self._folder = reader, path, dirname(path)

    @cached_property
    def _names(self) -> FileNames:
        return self._reader.memory.file_names()

    def address(self, name: str, heading: str) -> str:
        """The page of a note, by name or by path from the text's folder; empty if there is none."""
        path: FilePath | str | None = self._path
        if name:
            beside = normpath(join(self._folder, name)) if self._folder else name
            path = self._names.find(beside) or self._names.find(name)
        if not path:
            return ""
        section = self._section(path, heading)
        links = self._reader.links
        return links.section(path, section) if section else links.file(path)

    def _section(self, path: str, heading: str) -> SectionPath | None:
        title = heading.rpartition("#")[2].strip().casefold()
        if not title or title.startswith("^"):
            return None
        try:
            rows = self._reader.memory.outline(path).sections
        except PathProblem:  # a link to the file then says why it cannot be read
            return None
        return next((row.section for row in rows if row.section[-1].casefold() == title), None)


# The files that pages load: one style sheet and one script.


def asset_address(name: str) -> str:
    return f"{asset(name)[1]}/{name}"


def find_asset(digest: str, name: str) -> tuple[bytes, str] | None:
    """The content and media type of a file; None if there is none of that name and hash."""
    if name not in _MEDIA_TYPES:
        return None
    content, actual = asset(name)
    return (content, _MEDIA_TYPES[name]) if digest == actual else None


@cache
def asset(name: str) -> tuple[bytes, str]:
    content = installed.path("templates", f"page/{name}").read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:16]
