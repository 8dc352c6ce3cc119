"""The search page, now or as of a past day, and the page of an agent's block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice

from mdmem import fleet
from mdmem.model import FactId, Source, Status
from mdmem.model.prompts import (
    BuildContext,
    ContextBlock,
    ContextPart,
)
from mdmem.model.searches import Hit, Search
from mdmem.page.pages import FilterLink, Page, Query, Reader, source_mark
from mdmem.show.formatting import days_notes
from mdmem.show.hits import with_excerpts
from mdmem.text.asked_days import asked_days

_ENTRY = "- :"
_HEADING = "## "
_REASONS = {
    ContextPart.PROFILE: "profile",
    ContextPart.PINNED: "curated memory",
    ContextPart.TASKS: "open task",
    ContextPart.DAYS: "logged today or yesterday",
    ContextPart.FOUND: "answers the prompt",
    ContextPart.TAGS: "most used tags",
    ContextPart.NOTES: "a note on what is shown",
}
_PARTS = {
    "Profile": ContextPart.PROFILE,
    "Memory": ContextPart.PINNED,
    "Tasks": ContextPart.TASKS,
    "Today": ContextPart.DAYS,
    "Yesterday": ContextPart.DAYS,
    "Found": ContextPart.FOUND,
    "Tags": ContextPart.TAGS,
    "Notes": ContextPart.NOTES,
}


def context(reader: Reader, query: Query) -> Page:
    """The block that a session would get, or would have got. Nothing is recorded as given."""
    prompt, session, at = (query.get(name, "").strip() for name in ("q", "session", "at"))
    block = reader.memory.context(
        BuildContext(
            prompt=prompt or None,
            session=None if at else session or None,
            preview=True,
            as_of=at or None,
        )
    )
    return Page(
        template="context",
        title="Agent view",
        values={
            "prompt": prompt,
            "session": session,
            "block": block,
            "lines": list(_lines(block)),
            "reasons": _REASONS,
        },
        data=block,
        back=reader.links.context(q=prompt, session=session),
        past=block.as_of or "",
    )


def _lines(block: ContextBlock) -> Iterator[tuple[str, str, FactId | None]]:
    """The lines of the block, why each is in it, and the fact that it is."""
    entries = iter([entry for part in block.parts for entry in part.entries])
    part: ContextPart | None = None
    for text in block.text.split("\n") if block.text else ():
        reason, fact = "frame", None
        if text.startswith(_HEADING):
            part = _PARTS.get(text.removeprefix(_HEADING).partition(" ")[0])
            reason = "names the file"
        elif part is not None and not text.startswith("</"):
            entry = next(entries, None) if text.startswith(_ENTRY) else None
            score = f", score {entry.score:.1f}" if entry and entry.score is not None else ""
            fact = entry.fact if entry and entry.workspace is None else None
            reason = f"{_REASONS[part]}{score}"
        yield text, reason, fact


_MOST_HITS = 30
_MOST_FILES = 6
_DAYS = {"7 days": 7, "30 days": 30}
_FILTERS = ("q", "tag", "kind", "source", "since", "file", "history", "fleet", "at")


def search(reader: Reader, query: Query) -> Page:
    memory = reader.memory
    asked = {name: query[name].strip() for name in _FILTERS if query.get(name, "").strip()}
    request = _request(asked)
    result = memory.search(request) if request else None
    hits = result.hits if result else ()
    superseded = [hit.fact for hit in hits if hit.fact and hit.status is Status.SUPERSEDED]
    successors = memory.successors(superseded) if superseded and not asked.get("at") else {}
    is_empty = request is not None and not hits and not (result and result.stale)
    title = f"{asked['q']} · Search" if "q" in asked else "Search"
    return Page(
        template="search",
        title=title,
        values={
            "query": asked.get("q", ""),
            "asked": asked,
            "is_asked": request is not None,
            "hits": hits,
            "successors": successors,
            "is_full": len(hits) == _MOST_HITS,
            "notes": (
                *(() if result is None else (*result.notes, *days_notes(result))),
                *(memory.empty_answer_notes(asked.get("file")) if is_empty else ()),
            ),
            "building": result.building if result else None,
            "filters": _filters(reader, asked, hits),
            "is_filtered": bool(asked.keys() & _ANY.keys()),
            "without": {
                name: value for name, value in asked.items() if name not in ("at", "history")
            },
        },
        data=with_excerpts(result) if result else {"query": "", "hits": []},
        back=reader.links.search(**{name: asked[name] for name in asked if name != "at"}),
        past=(result.as_of if result else asked.get("at")) or "",
    )


_MOST_PLACES = 6


def go(reader: Reader, query: Query) -> Page:
    """Where some words may lead, by kind, words and address: a day, pages, files, sections, facts,
    forms.

    A file, a page or a form has all of the words in its name, a section has one.
    """
    asked = query.get("q", "").strip()
    links, folded = reader.links, asked.casefold().split()
    hits = reader.memory.search(Search(query=asked, limit=_MOST_HITS)).hits if asked else ()
    own = [hit for hit in hits if hit.workspace is None]
    sections = dict.fromkeys(
        (hit.path, hit.section)
        for hit in own
        if hit.section and any(word in hit.section[-1].casefold() for word in folded)
    )
    adding = f"{links.today()}?add=1#add"

    def named(*places: tuple[str, str, str]) -> Sequence[tuple[str, str, str]]:
        found = (each for each in places if all(word in each[1].casefold() for word in folded))
        return tuple(islice(found, _MOST_PLACES))

    paths = reader.memory.workspace.memory_paths(str) if folded else ()
    places = [
        *_days(reader, asked),
        *named(("page", "Agent view", links.context()), ("page", "Health", links.health())),
        *named(*(("file", path, links.file(path)) for path in paths)),
        *(
            ("section", f"{path} › {section[-1]}", links.section(path, section))
            for path, section in list(sections)[:_MOST_PLACES]
        ),
        *(("fact", hit.text, links.fact(hit.fact)) for hit in own if hit.fact),
        *(
            named(("form", "Log what happened", adding), ("form", "Remember a fact", adding))
            if reader.can_write
            else ()
        ),
    ]
    return Page(
        template="go",
        title="Go to",
        values={"places": places, "wanted": asked},
        data={"places": places},
        back="/go",
    )


def _days(reader: Reader, asked: str) -> Iterator[tuple[str, str, str]]:
    """The day that words mean, and the curated file as it was on it; nothing for other words."""
    days = asked_days(asked, reader.now().date())
    if days and days.looks_back and days.first == days.last and not days.words.strip():
        day, curated = days.first, reader.memory.workspace.curated
        yield "day", f"{day:%A} {day.day} {day:%B %Y}", reader.links.day(day)
        yield "file", f"{curated} as it was on that day", reader.links.file(curated, at=day)


def _request(asked: Query) -> Search | None:
    if not asked.keys() - {"at", "history", "source", "file", "fleet"}:
        return None
    return Search(
        query=asked.get("q", ""),
        limit=_MOST_HITS,
        kind=asked.get("kind"),
        tags=(asked["tag"],) if "tag" in asked else (),
        source=asked.get("source"),
        since=asked.get("since"),
        file=asked.get("file"),
        history="history" in asked,
        as_of=asked.get("at"),
        fleet="fleet" in asked,
    )


def _filters(
    reader: Reader, asked: Query, hits: Sequence[Hit]
) -> list[tuple[str, list[FilterLink]]]:
    today = reader.now().date()
    kinds = {hit.kind for hit in hits if hit.kind}
    files = dict.fromkeys(hit.path for hit in hits if hit.workspace is None)
    offered: dict[str, dict[str, str]] = {
        "tag": {},
        "kind": {kind: kind for kind in sorted(kinds)},
        "source": {source_mark(source).word: source.value for source in Source},
        "since": {
            words: (today - timedelta(days=days - 1)).isoformat() for words, days in _DAYS.items()
        },
        "file": {path.rpartition("/")[2]: path for path in list(files)[:_MOST_FILES]},
        "history": {"show": "1"},
        "fleet": {"too": "1"} if fleet.is_named(reader.memory.workspace.environment) else {},
    }
    rows = []
    for name, any_value in _ANY.items():
        values = offered[name]
        if (chosen := asked.get(name)) and chosen not in values.values():
            values = {chosen: chosen, **values}
        choices = [(any_value, ""), *values.items()]
        if len(choices) > 1:
            # old facts and an earlier day exclude each other
            others = {**asked, "at": ""} if name == "history" else asked
            shown = [
                FilterLink(
                    words,
                    reader.links.search(**{**(others if value else asked), name: value}),
                    value == (chosen or ""),
                )
                for words, value in choices
            ]
            rows.append(("old facts" if name == "history" else name, shown))
    return rows


_ANY = {
    "tag": "any",
    "kind": "any",
    "source": "any",
    "since": "any time",
    "file": "any",
    "history": "hide",
    "fleet": "without",
}
