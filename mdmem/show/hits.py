"""Results of search: hits, facts, tags, contradictions; and Markdown as plain text for them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from datetime import date
from functools import cache, partial
from math import fsum
from typing import TYPE_CHECKING, Any

from mdmem.model import Source
from mdmem.model.errors import field
from mdmem.model.searches import (
    ConflictList,
    FactList,
    Factor,
    Hit,
    MessageHit,
    ScorePart,
    SearchResult,
    TagCatalogue,
)
from mdmem.show.formatting import (
    PLAIN,
    cites_text,
    days_notes,
    dim,
    hit_remarks,
    one_line,
    section_line,
    short_id,
    tags_behind,
    unread_text,
)
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.text.facts import as_read, excerpt, shortened, word_stem, word_stems

if TYPE_CHECKING:
    from mistune import Markdown

_COMMENT = late.pattern(r"(?s)<!--.*?(?:-->|\Z)")
_CONTAINERS = ("list", "list_item", "table", "table_body", "block_quote")
_SEPARATORS = {"table_row": " ", "table_head": " "}


@cache
def _parser() -> Markdown:
    # 12 ms, only for a terminal
    import mistune  # noqa: PLC0415

    return mistune.create_markdown(renderer=None, plugins=["table"])


def plain(text: str) -> str:
    """The words of a Markdown text without its marks, one line for each block."""
    tokens, _ = _parser().parse(text)
    if isinstance(tokens, str):
        return tokens
    blocks = (_words_of(token).strip() for token in tokens)
    return "\n".join(block for block in blocks if block)


def _words_of(token: dict[str, Any]) -> str:
    kind = token["type"]
    if kind in ("linebreak", "softbreak"):
        return " "
    if kind in ("block_html", "inline_html"):
        return _COMMENT.sub("", token["raw"])
    if "children" in token:
        words = (_words_of(child) for child in token["children"])
        return (
            "\n".join(filter(None, words))
            if kind in _CONTAINERS
            else _SEPARATORS.get(kind, "").join(words)
        )
    import html  # noqa: PLC0415 - 1 ms, only for a terminal

    raw = str(token.get("raw", ""))
    return html.unescape(raw) if kind == "text" else raw


_SNIPPET = 320
MOST_CHARACTERS = 1000  # of one entry or message in a list
_BOLD = "\x1b[1m"
_WORD = late.pattern(r"\w+")
_FIELD_NAMES = {
    "text": "in the entry",
    "around": "nearby",
    "asked": "in a question before the entry",
    "heading": "in the headings, file name, tags or front matter",
    "parts": "in an identifier",
    "keys": "by its key",
    "grams": "by characters",
    "grams_around": "by characters nearby",
}
# of a score, by the names that `ranking` gives
_FACTORS = {
    "file": "already in an agent's prompt",
    "contradicted": "contradicts a better supported fact",
    "speaker": "said by the person in the query",
    "self": "said by you (the query is in the first person)",
    "curated": "not from a daily log (the query is in the first person)",
    "days": "of the days in the query",
    "date": "on the date in the query",
    "asks": "ends in a question",
    "link": "is only a link",
    "time": "has words of time (the query asks when)",
    "amount": "has an amount (the query asks how many)",
    "age": "by age (see the settings)",
    "day": "by other entries of the same day",
    "no day": "not from a daily log",
    "likeness": "by likeness to the query",
    "like": "of the possible likeness; no word of the query",
    "beside": "beside better results, with no further word of the query",
}
_MARKS = late.pattern(r"[\\`*\[\]<>&~|]|(?<!\w)_|_(?!\w)")
_FENCE = late.pattern(r"(?:`{3}|~{3})[a-z]*$")
# bold and code as usually written, which every parser reads alike
_SIMPLE_MARKS = late.pattern(
    r"(?<![\w*\\])\*\*(\w(?:[\w"
    r" ,.;:'-]*\w)?)\*\*(?![\w*])|(?<![`\\])`([^`\s](?:[^`]*[^`\s])?)`(?!`)"
)


def with_excerpts(result: SearchResult) -> SearchResult:
    """A result whose long texts are cut around the words of the query, for programs."""
    stems = word_stems(result.query)

    cut = partial(excerpt, stems=stems, most=MOST_CHARACTERS)
    return replace(
        result,
        hits=tuple(replace(each, text=cut(each.text)) for each in result.hits),
        messages=tuple(replace(each, text=cut(each.text)) for each in result.messages),
    )


def answer_notes(
    name: str, count: int, answer: FactList | TagCatalogue | ConflictList | SearchResult
) -> tuple[str, ...]:
    """Notes on an answer: how fresh it is, and that it is empty unless the index is being built."""
    behind = (
        unread_text(answer.building)
        if answer.building
        else "Nothing found yet; the index is behind"
    )
    empty = behind if answer.stale else f"no {name}"
    return (*answer.notes, *(() if count else (empty,)))


def answer_status(count: int, answer: FactList | TagCatalogue | ConflictList | SearchResult) -> int:
    return 1 if answer.building and not count else 0


def search_notes(result: SearchResult) -> tuple[str, ...]:
    return (
        *(() if result.as_of is None else (f"Memory as of {result.as_of}",)),
        *days_notes(result),
        *answer_notes("match", len(result.hits) + len(result.messages), result),
    )


def search_text(result: SearchResult, colour: bool, today: date | None = None) -> str:
    """On a terminal (`today`) with day and source, where they are not today and the user."""
    stems = word_stems(result.query)
    hits = [_hit_text(hit, stems, colour, today) for hit in result.hits]
    return "\n".join(
        [*hits, *(_message_text(message, stems, colour) for message in result.messages)]
    )


def _hit_text(hit: Hit, stems: Set[str], colour: bool, today: date | None) -> str:
    marks = (
        section_line(hit.section),
        f"[{hit.fact}]" if hit.fact else "",
        _origin(hit, today) if today else "",
        *hit_remarks(hit),
    )
    head = one_line(" ".join([hit.place, *filter(None, marks)]))
    lit = _highlighted(excerpt(one_line(_words(hit.text)), stems, _SNIPPET), stems, colour)
    about = [f"    {dim(one_line(hit.about), colour)}"] if hit.about else []
    return "\n".join(
        [
            dim(head, colour),
            f"    {lit}",
            *about,
            *(f"      {dim(line, colour)}" for line in _why_lines(hit)),
        ]
    )


def _origin(hit: Hit, today: date) -> str:
    """The day of a hit, unless its path has it, and its source, in parentheses."""
    day = hit.day or (hit.since.date() if hit.since else None)
    told = "" if day in (None, today) or f"{day}" in hit.path else f"{day}"
    source = "" if hit.source is Source.USER_STATED else hit.source
    said = ", ".join(filter(None, (told, source)))
    return f"({said})" if said else ""


def _message_text(message: MessageHit, stems: Set[str], colour: bool) -> str:
    time = f"{message.time:%Y-%m-%d %H:%M}" if message.time else ""
    head = one_line(
        " ".join(
            filter(
                None, (message.reference, time, message.sender or message.speaker, message.project)
            )
        )
    )
    words = excerpt(one_line(" ".join(message.text.split())), stems, _SNIPPET)
    return f"{dim(head, colour)}\n    {_highlighted(words, stems, colour)}"


def _highlighted(words: str, stems: Set[str], colour: bool) -> str:
    if not colour:
        return words
    pieces = _pieces(words, stems)
    return "".join(f"{_BOLD}{text}{PLAIN}" if is_asked else text for text, is_asked in pieces)


def _pieces(words: str, stems: Set[str]) -> Iterator[tuple[str, bool]]:
    end = 0
    for match in _WORD.finditer(words):
        if word_stem(match[0]) in stems:
            yield words[end : match.start()], False
            yield match[0], True
            end = match.end()
    yield words[end:], False


def marked_words(text: str, query: str) -> tuple[tuple[str, bool], ...]:
    """The words of a hit around those of the query, in pieces: True for a word of the query."""
    stems = word_stems(query)
    return tuple(_pieces(excerpt(" ".join(_words(text).split()), stems, _SNIPPET), stems))


def _why_lines(hit: Hit) -> Iterator[str]:
    if hit.explanation is None:
        return
    by_word: dict[str, list[ScorePart]] = {}
    for part in hit.explanation.parts:
        by_word.setdefault(part.query_word, []).append(part)
    own = " ".join((hit.text, *hit.section)).casefold()
    if hit.cites:
        yield one_line(f"said in {cites_text(hit.cites)[1:-1]}")
    yield f"score {hit.score:.2f}"
    for query_word, parts in by_word.items():
        where = ", ".join(_matched_field(part, own) for part in parts)
        yield one_line(f'{fsum(part.score for part in parts):+.2f}  "{query_word}": {where}')
    yield from (
        one_line(f"x{factor.value:.2f}  {_factor(factor, hit)}")
        for factor in hit.explanation.factors
    )


def _matched_field(part: ScorePart, own: str) -> str:
    # a term next to the hit is not shown
    word, term = part.query_word.casefold(), part.term.casefold()
    as_what = "" if term == word else f' as "{part.term}"' if term in own else " by a related word"
    return f"{part.score:.2f} {_FIELD_NAMES.get(part.field, part.field)}{as_what}"


def _factor(factor: Factor, hit: Hit) -> str:
    if factor.name == "confidence":
        return (
            "uncommitted, so written by a person"
            if hit.confidence is None
            else f"confidence {hit.confidence:g}"
        )
    if factor.name == "day":
        return _FACTORS["day" if hit.day else "no day"]
    return _FACTORS.get(factor.name, factor.name)


def _words(text: str) -> str:
    # text with only simple Markdown marks needs no parser
    text = as_read(text)
    first, *code, last = lines if len(lines := text.split("\n")) > 1 else (text, text)
    if (
        _FENCE.match(first)
        and last == first[:3]
        and not any(last in line for line in code)
        and text.isascii()
    ):
        return " ".join(" ".join(code).split()) or text
    unmarked = _SIMPLE_MARKS.sub(lambda mark: mark[1] or mark[2], text)
    is_sure = unmarked[:1].isalpha() and text.isprintable() and not _MARKS.search(unmarked)
    return " ".join((unmarked if is_sure else plain(text)).split()) or text


def facts_text(listed: FactList) -> str:
    return "\n".join(_fact_text(hit) for hit in listed.facts)


def facts_notes(listed: FactList) -> tuple[str, ...]:
    shown = len(listed.facts)
    left_out = (
        (f"{shown:,} of {listed.total:,} facts (all: {field('limit')} 0)",)
        if 0 < shown < listed.total
        else ()
    )
    return (*days_notes(listed), *answer_notes("facts", shown, listed), *left_out)


def _fact_text(hit: Hit) -> str:
    kind = f"[{hit.kind}] " if hit.kind else ""
    tags = "".join(f" #{tag}" for tag in tags_behind(hit))
    remarks = "".join(f" {mark}" for mark in hit_remarks(hit))
    return one_line(f"{hit.fact or '':8}  {kind}{_fact_words(hit)}{tags}{remarks}  {hit.place}")


def _fact_words(hit: Hit) -> str:
    return shortened(" ".join(as_read(hit.text).split()), MOST_CHARACTERS)


def tags_text(catalogue: TagCatalogue) -> str:
    return "\n".join(one_line(f"{tag.tag} {tag.count}") for tag in catalogue.tags)


def conflicts_text(listed: ConflictList) -> str:
    return "\n".join(
        "\n".join(
            [
                one_line(
                    f"Two values for {conflict.key}:"
                    if conflict.key
                    else "Marked as contradicting, or changed differently on two branches:"
                ),
                *map(_side, (conflict.first, conflict.second)),
            ]
        )
        for conflict in listed.conflicts
    )


def _side(hit: Hit) -> str:
    remarks = (
        f"{hit.since:%Y-%m-%d}" if hit.since else "uncommitted",
        f"{hit.source} {hit.confidence:g}" if hit.source and hit.confidence is not None else "",
        f"{hit.path}:{hit.start_line}",
        short_id(hit.commit),
    )
    return one_line(f"    {hit.fact}  {_fact_words(hit)}  ({', '.join(filter(None, remarks))})")
