"""Results of search: hits, facts, labels, contradictions."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mdmem.document import join_path
from mdmem.model import ConflictView, Hit, SearchResult
from mdmem.render import plain
from mdmem.show.words import PLAIN, dim, iso, one_line, short, standing

if TYPE_CHECKING:
    from mdmem.search.catalogue import TagCount

_SNIPPET = 320
_BOLD = "\x1b[1m"
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"[\\`*_\[\]<>&~|]")


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit of a search."""
    return {
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "section": join_path(hit.section),
        "kind": hit.kind,
        "day": iso(hit.day),
        "text": hit.text,
        "score": hit.score,
        "fact": hit.fact,
        "tags": list(hit.tags),
        "source": hit.source,
        "confidence": hit.confidence,
        "status": hit.status,
        "superseded_by": hit.superseded_by,
        "contradicts": list(hit.contradicts),
        "commit": hit.commit,
        "uncommitted": hit.uncommitted,
    }


def search_json(result: SearchResult) -> dict[str, Any]:
    """A search's answer."""
    return {
        "query": result.query,
        "as_of": result.as_of,
        "commit": result.commit,
        "stale": result.stale,
        "hits": [hit_json(hit) for hit in result.hits],
    }


def search_notes(result: SearchResult) -> tuple[str, ...]:
    """What is to be said beside the hits."""
    then = () if result.as_of is None else (f"memory as of {result.as_of}, which is commit {short(result.commit)}",)
    return (*result.notes, *then, *(() if result.hits else ("no match",)))


def search_text(result: SearchResult, colour: bool) -> str:
    """A search's answer: for each hit where it stands and its words, those of the query highlighted."""
    stems = {_stem(word) for word in _WORD.findall(result.query)}
    return "\n".join(_hit_text(hit, stems, colour) for hit in result.hits)


def _stem(word: str) -> str:
    folded = word.casefold()
    return folded[:5] if folded.isascii() else folded


def _hit_text(hit: Hit, stems: set[str], colour: bool) -> str:
    marks = (join_path(hit.section), f"[{hit.fact}]" if hit.fact else "", *standing(hit))
    head = one_line(" ".join([f"{hit.path}:{hit.start_line}", *filter(None, marks)]))
    words = _window(one_line(_words(hit.text)), stems)
    lit = _WORD.sub(lambda m: f"{_BOLD}{m[0]}{PLAIN}" if _stem(m[0]) in stems else m[0], words) if colour else words
    return f"{dim(head, colour)}\n    {lit}"


def _words(text: str) -> str:
    """The words of a hit on one line. What has no mark of Markdown in it says them as it stands, and no parser is loaded."""
    unmarked = text[:1].isalpha() and text.isprintable() and not _MARKS.search(text)
    return " ".join((text if unmarked else plain(text)).split()) or text


def _window(words: str, stems: set[str]) -> str:
    """A long text cut down to the part around its first word of the query."""
    if len(words) <= _SNIPPET:
        return words
    first = next((m.start() for m in _WORD.finditer(words) if _stem(m[0]) in stems), 0)
    start = max(0, min(first - _SNIPPET // 3, len(words) - _SNIPPET))
    return ("…" if start else "") + words[start : start + _SNIPPET].strip() + ("…" if start + _SNIPPET < len(words) else "")


def facts_json(hits: Iterable[Hit]) -> dict[str, Any]:
    """A list of facts."""
    rows = (
        {
            "id": hit.fact,
            "text": hit.text,
            "key": hit.key,
            "kind": hit.kind,
            "tags": list(hit.tags),
            "path": hit.path,
            "section": join_path(hit.section),
            "line": hit.start_line,
            "source": hit.source,
            "confidence": hit.confidence,
            "status": hit.status,
            "until": iso(hit.until),
        }
        for hit in hits
    )
    return {"facts": list(rows)}


def facts_text(hits: Sequence[Hit]) -> str:
    """A list of facts: id, words, where."""
    return "\n".join(_fact_text(hit) for hit in hits)


def _fact_text(hit: Hit) -> str:
    kind = f"[{hit.kind}] " if hit.kind else ""
    tags = "".join(f" #{tag}" for tag in hit.tags)
    said = "".join(f" {mark}" for mark in standing(hit))
    return one_line(f"{hit.fact}  {kind}{' '.join(hit.text.split())}{tags}{said}  {hit.path}:{hit.start_line}")


def tags_json(tags: "Iterable[TagCount]") -> dict[str, Any]:
    """The catalogue of labels."""
    return {"tags": [{"tag": one.tag, "count": one.count} for one in tags]}


def tags_text(tags: "Iterable[TagCount]") -> str:
    """The catalogue of labels, a line each with its count."""
    return "\n".join(one_line(f"{one.tag} {one.count}") for one in tags)


def conflicts_json(conflicts: Iterable[ConflictView]) -> dict[str, Any]:
    """Contradictions, both sides of each as hits that say since when."""
    rows = ({"key": found.key, "one": _since_json(found.one), "other": _since_json(found.other)} for found in conflicts)
    return {"conflicts": list(rows)}


def _since_json(hit: Hit) -> dict[str, Any]:
    return {**hit_json(hit), "since": iso(hit.since)}


def conflicts_text(conflicts: Iterable[ConflictView]) -> str:
    """Contradictions: what both sides are about, and for each its words, since when, who says so and where."""
    return "\n".join(
        "\n".join([one_line(f"both are about {found.key}" if found.key else "marked"), *map(_side, (found.one, found.other))])
        for found in conflicts
    )


def _side(hit: Hit) -> str:
    said = (
        f"{hit.since:%Y-%m-%d}" if hit.since else "uncommitted",
        f"{hit.source} {hit.confidence:g}" if hit.source and hit.confidence is not None else "",
        f"{hit.path}:{hit.start_line}",
        short(hit.commit),
    )
    return one_line(f"    {hit.fact}  {' '.join(hit.text.split())}  ({', '.join(filter(None, said))})")
