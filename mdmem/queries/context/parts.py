"""The parts of a block: what each could show, best first. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache

from mdmem.document import Document, Section, plain_title
from mdmem.editors import likeness
from mdmem.facts import item_text, normalise, plain_id, section_items
from mdmem.model import FactId, FileKind, FilePath
from mdmem.model.contexts import ContextPart, PartResult, count_tokens
from mdmem.model.searches import Hit, TagCount
from mdmem.queries.context.budget import Candidate, Filling, Offer
from mdmem.queries.context.text import Paragraph, clean_line, heading_line, shorten
from mdmem.startup import late

PINNED_TAG = "pinned"
_KINDS_FIRST = ("preference", "decision", "lesson")
"""The kinds of facts that are shown before others where a curated file does not fit."""
_PLAIN_KIND = "fact"
FLOOR = 0.34
"""The share of the first hit's score below which nothing is taken. At 0.4 a block of 1,000 tokens is used for 572 of them
instead of 669, and holds an answer for 93.0 instead of 93.3 percent of questions (LoCoMo, public half; `benchmarks/blocks.py`)."""
_LAYER_WORTH = {FileKind.EVERGREEN: 1.1, FileKind.PROFILE: 1.1}
"""Factors of an entry's worth: a curated one is worth more than one of a log with the same score."""
_SAME_WORDS = 0.6
"""Of two entries that share so much of their words one is shown."""
_FEW_SAME_WORDS = 0.3
"""Entries that share less of their plain words are not looked at more closely."""
_MOST_TAGS = 20
_NAMES_KEPT = 256
_LEVEL = 2
_GOAL = "goal:"
_TIME = late.pattern(r"([01]\d|2[0-3]):[0-5]\d")
_STAMP = late.pattern(r"(?:\d{4}-\d{2}-\d{2} )?\d{2}:\d{2} ")


def candidate(hit: Hit, heading: str, position: float, worth: float = 0.0, score: float | None = None, time: str = "") -> Candidate:
    """The entry of a hit as a block prints it."""
    text, cut = shorten(clean_line(hit.text))
    kind = f"[{hit.kind}] " if hit.kind not in (None, _PLAIN_KIND) else ""
    contradicted = f" (contradicts {', '.join(hit.contradicts)})" if hit.contradicts else ""
    return Candidate(
        path=hit.path,
        heading=f"{heading} · {clean_line(hit.path)}",
        line=hit.start_line,
        text=f"{f'{time} ' if time else ''}{kind}{text}{contradicted}",
        id=entry_id(hit),
        fact=hit.fact,
        position=(position, hit.start_line),
        key=hit.key,
        worth=worth,
        score=score,
        cut=cut,
        contradicts=hit.contradicts,
        author=hit.author and clean_line(hit.author),
    )


def entry_id(hit: Hit) -> FactId:
    """The id of an entry's content; one that is no fact has one too."""
    return hit.fact or plain_id(hit.text)


@lru_cache(maxsize=_NAMES_KEPT)
def _memory_get(name: str) -> str:
    """The call of a tool that reads what is left out: a file or a section, by its name."""
    return f'memory_get "{clean_line(name)}"'


def _file_rest(left_out: Sequence[Candidate]) -> str:
    return _memory_get(left_out[0].path)


def profile_offer(hits: Iterable[Hit], files: Sequence[FilePath], most: int) -> Offer:
    """The own text of the profiles, file by file; at most so many entries are looked at, here as in the other parts."""
    ordered = sorted((hit for hit in hits if hit.path in files), key=lambda hit: (files.index(FilePath(hit.path)), hit.start_line))
    candidates = tuple(candidate(hit, "Profile", files.index(FilePath(hit.path))) for hit in ordered[:most])
    return Offer(candidates, rest=_file_rest, beyond=len(ordered[most:]))


def pinned_offer(hits: Iterable[Hit], most: int) -> Offer:
    """The curated file: what is tagged #pinned, then preferences, decisions, lessons, the rest; the newest first."""
    ordered = sorted(hits, key=lambda hit: (_pinned_rank(hit), -(hit.since.timestamp() if hit.since else math.inf), hit.start_line))
    sections = {(hit.path, hit.start_line): hit.section for hit in ordered}
    beyond = {hit.section for hit in ordered[most:]}

    def rest(left_out: Sequence[Candidate]) -> str:
        names = {sections[each.path, each.line] for each in left_out} | beyond
        (section,) = names if len(names) == 1 else ((),)
        return _memory_get(section[-1]) if section else _file_rest(left_out)

    return Offer(tuple(candidate(hit, "Memory", 0) for hit in ordered[:most]), rest=rest, beyond=len(ordered[most:]))


def _pinned_rank(hit: Hit) -> int:
    if any(tag.casefold() == PINNED_TAG for tag in hit.tags):
        return 0
    return 1 + (_KINDS_FIRST.index(hit.kind) if hit.kind in _KINDS_FIRST else len(_KINDS_FIRST))


def tasks_offer(document: Document, path: FilePath) -> Offer:
    """The open tasks: name, goal, last note."""
    sections = [section for section in document.sections if section.level == _LEVEL]
    return Offer(tuple(_task(document, path, section) for section in sections), rest=_file_rest)


def _task(document: Document, path: FilePath, section: Section) -> Candidate:
    notes = [_STAMP.sub("", item_text(item.raw), count=1) for item in section_items(document, section)]
    goal = next((note.removeprefix(_GOAL).strip() for note in notes if note.startswith(_GOAL)), "")
    last = notes[-1] if notes and not notes[-1].startswith(_GOAL) else ""
    name = plain_title(section.title)
    text, cut = shorten(clean_line(f"{name}{f': {goal}' if goal else ''}{f'; last: {last}' if last else ''}"))
    line = section.start + 1
    return Candidate(
        path=path,
        heading=f"Tasks · {path}",
        line=line,
        text=text,
        id=plain_id(f"{name} {goal} {last}"),
        fact=None,
        position=(0, line),
        cut=cut,
    )


def days_offer(hits: Iterable[Hit], today: date, most: int) -> Offer:
    """Today and yesterday, the newest entries first."""
    names = {today: "Today", today - timedelta(days=1): "Yesterday"}
    recent = [(hit, hit.day) for hit in hits if hit.day in names]
    ordered = sorted(recent, key=lambda of_day: (of_day[1] or today, of_day[0].path, of_day[0].start_line), reverse=True)
    candidates = tuple(candidate(hit, names[day or today], (day or today).toordinal(), time=_time(hit)) for hit, day in ordered[:most])
    return Offer(candidates, rest=_file_rest, beyond=len(ordered[most:]))


def _time(hit: Hit) -> str:
    """The time under which an entry stands in its log."""
    return hit.section[-1] if hit.section and _TIME.fullmatch(hit.section[-1]) else ""


def found_offer(hits: Sequence[Hit], kind_of: Callable[[str], FileKind]) -> Offer:
    """The answer to a prompt: what is not much worse than its first hit, and holds a word itself."""
    worth = {id(hit): hit.score * _LAYER_WORTH.get(kind_of(hit.path), 1.0) for hit in hits if not hit.near}
    least = FLOOR * max(worth.values(), default=0.0)
    taken = sorted((hit for hit in hits if worth.get(id(hit), -1.0) >= least), key=lambda hit: -worth[id(hit)])
    files = list(dict.fromkeys(hit.path for hit in taken))
    return Offer(tuple(candidate(hit, "Found", files.index(hit.path), worth[id(hit)], hit.score) for hit in taken), by_worth=True)


def say_the_same(left: Candidate, right: Candidate) -> bool:
    """True for two entries that share most of their words. Two values of a key, and what contradicts each other, are both shown."""
    if left.key is not None or right.key is not None:
        return left.id == right.id
    if left.fact in right.contradicts or right.fact in left.contradicts:
        return False
    left_words, right_words = (set(normalise(each.text).split()) for each in (left, right))
    if 2 * len(left_words & right_words) < _FEW_SAME_WORDS * (len(left_words) + len(right_words)):
        return False
    return likeness.word_overlap(left.text, right.text) >= _SAME_WORDS


def tags_part(counts: Sequence[TagCount], room: int) -> tuple[PartResult, Paragraph | None]:
    """The most used labels with their counts on one line, as many as fit."""
    labels = [clean_line(f"{count.tag} {count.count}") for count in counts[:_MOST_TAGS]]
    shown = next((n for n in range(len(labels), 0, -1) if _line_tokens("Tags", ", ".join(labels[:n])) <= room), 0)
    result = PartResult(part=ContextPart.TAGS, tokens=0, shown=shown, left_out=len(labels) - shown)
    if not shown:
        return result, None
    paragraph = Paragraph("Tags", (", ".join(labels[:shown]),))
    tokens = _line_tokens(paragraph.heading, *paragraph.lines)
    return PartResult(part=ContextPart.TAGS, tokens=tokens, shown=shown, left_out=len(labels) - shown), paragraph


def notes_part(fillings: Iterable[Filling], stale: bool, room: int) -> tuple[PartResult, Paragraph | None]:
    """Notes on what is shown: what contradicts each other, that the index is behind; as many as fit."""
    shown = [each for filling in fillings for each in filling.shown]
    notes = [*(["the index is behind: the newest changes may be missing"] if stale else []), *_contradictions(shown)]
    lines = [f"- {note}" for note in notes]
    count = next((n for n in range(len(lines), 0, -1) if _line_tokens("Notes", *lines[:n]) <= room), 0)
    tokens = _line_tokens("Notes", *lines[:count]) if count else 0
    result = PartResult(part=ContextPart.NOTES, tokens=tokens, shown=count, left_out=len(lines) - count)
    return result, Paragraph("Notes", tuple(lines[:count])) if count else None


def may_have_notes(offers: Iterable[Offer], stale: bool) -> bool:
    """True if there may be anything to note on what parts show."""
    return stale or any(each.contradicts for offer in offers for each in offer.candidates)


def _contradictions(shown: Iterable[Candidate]) -> list[str]:
    citations: Mapping[FactId, str] = {each.fact: f"{clean_line(each.path)}:{each.line}" for each in shown if each.fact}
    pairs = {frozenset((each.fact, other)) for each in shown if each.fact for other in each.contradicts if other in citations}
    return sorted(f"{' and '.join(sorted(citations[fact] for fact in pair))} contradict each other" for pair in pairs if len(pair) > 1)


def _line_tokens(heading: str, *lines: str) -> int:
    return count_tokens(heading_line(heading)) + sum(map(count_tokens, lines))


def without_given(offer: Offer, given_ids: Collection[str]) -> tuple[Offer, int]:
    """An offer without what a session has been given, and how many entries that are."""
    kept = tuple(each for each in offer.candidates if each.id not in given_ids)
    return Offer(kept, by_worth=offer.by_worth, rest=offer.rest), len(offer.candidates) - len(kept)
