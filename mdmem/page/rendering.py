"""Render pages as HTML, with Jinja2. Only `Markup` of this module and `charts` is not escaped."""

from __future__ import annotations

import hashlib
from datetime import date, datetime, timedelta
from functools import cache, cached_property, lru_cache
from posixpath import dirname, join, normpath

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from mdmem import secrets
from mdmem.folder import installed
from mdmem.model import FilePath, SectionPath
from mdmem.model.errors import PathProblem, number_of, shell_word, typed
from mdmem.model.reads import FileNames
from mdmem.page import charts, markdown
from mdmem.page.pages import Frame, Page, Piece, Reader, difference, place_of, source_mark
from mdmem.past.differences import DiffKind
from mdmem.show.reviews import visible
from mdmem.text.document import join_path
from mdmem.text.facts import key_and_value

_MEDIA_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
}
_MARKS = {
    DiffKind.OUT: (Markup("<del>"), Markup("</del>")),
    DiffKind.IN: (Markup("<ins>"), Markup("</ins>")),
}
_NO_MARKS = Markup(""), Markup("")
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
            "document": lambda source, path="": _document(reader, source, path),
            "clock": lambda moment: clock(moment, now),
            "period": lambda start, end: period(start, end, now),
            "place": lambda path, section: place_of(reader.memory.workspace, path, section),
        }
    )


def _document(reader: Reader, source: str, path: str) -> tuple[Markup, bool]:
    source = _readable(reader, source)
    shown, is_whole = markdown.html_in_part(source, Places(reader, path).address)
    return Markup(shown), is_whole


def _readable(reader: Reader, source: str) -> str:
    """A text without secrets for an export; unchanged for a served page."""
    return source if reader.links.is_served else secrets.redact(source)


@cache
def _environment(is_served: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(installed.path("templates", "page")),
        autoescape=True,
        auto_reload=False,  # an upgrade may change them under the code that is running
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown if is_served else _shown_without_secrets,
    )
    environment.filters.update(
        raw=escape,  # the value of a field, which is sent back as it is
        pieces=_pieces if is_served else _pieces_without_secrets,
        value=_value if is_served else _value_without_secrets,
        section=join_path,
        words=lambda text: " ".join(text.split()),
        key_and_value=key_and_value,
        source_mark=source_mark,
        shell_word=shell_word,
    )
    environment.globals.update(
        number_of=number_of, static=asset_address, short_day=charts.short_day
    )
    return environment


def _shown(value: object) -> object:
    """A value as shown: commands as typed, hidden characters as their code points."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return visible(typed(value))


def _shown_without_secrets(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return _visible_without_secrets(value)


@lru_cache(10_000)
def _visible_without_secrets(text: str) -> object:
    return _shown(secrets.redact(text))


def _pieces_without_secrets(shown: tuple[Piece, ...], key: str | None = None) -> Markup:
    """A difference by words without secrets, which are looked for in each text with its key."""
    texts = [
        "".join(text for kind, text in shown if kind is not left_out)
        for left_out in (DiffKind.IN, DiffKind.OUT)
    ]
    clean = [_value_without_secrets(text, key) for text in texts]
    return _pieces(shown if clean == texts else difference(*clean))


def _value(value: str, key: str | None) -> str:
    return value


def _value_without_secrets(value: str, key: str | None) -> str:
    name = f"{key}: " if key else ""
    return secrets.redact(name + value).removeprefix(name)


def _pieces(shown: tuple[Piece, ...], key: str | None = None) -> Markup:
    written = Markup("")
    for kind, text in shown:
        start, end = _MARKS.get(kind, _NO_MARKS)
        written += start + visible(text) + end
    return written


def time(moment: datetime, now: datetime) -> Markup:
    """A moment for people: a time today, a weekday in the last week, else a date."""
    local = moment.astimezone(now.tzinfo)
    is_today = local.date() == now.date()
    return _stamp(local, now, f"today {local:%H:%M}" if is_today else _day_words(local.date(), now))


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
    if timedelta(0) < now.date() - moment <= _WEEK:
        return f"{moment:%A}"
    return _short_date(moment, now)


def _short_date(moment: date, now: datetime) -> str:
    year = "" if moment.year == now.year else f" {moment.year}"
    return f"{charts.short_day(moment)}{year}"


# Links within memory.


class Places:
    """Finds the pages of notes that a text links to; names are read at the first link."""

    def __init__(self, reader: Reader, path: str = "") -> None:
        self._reader = reader
        self._folder = dirname(path)
        self._path = path

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
