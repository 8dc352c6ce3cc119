"""Records of a night as tests make them: entries of a day, facts that stand, and the changes that a
model suggests.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from mdmem.model import FilePath, Source
from mdmem.model.pipelines import DreamOp
from mdmem.nights.dream.candidates import CuratedFact, CuratedMemory, DreamCandidate, FileExtent
from mdmem.nights.dream.cases import Suggestion, leave
from mdmem.startup.records import replace
from mdmem.text.facts import fact_id

DAY = date(2026, 3, 4)
SAID = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)
MEMORY, USER = FilePath("MEMORY.md"), FilePath("USER.md")


def entry(text: str, source: Source = Source.USER_STATED, **more: Any) -> DreamCandidate:
    values: dict[str, Any] = {
        "fact": fact_id(text),
        "text": text,
        "kind": "fact",
        "tags": (),
        "path": FilePath("memory/2026-03-04.md"),
        "day": DAY,
        "said": SAID,
        "begun": 7,
        "source": source,
        "confidence": source.confidence,
        "cites": ("openclaw/5a1e0000#3",),
    }
    return DreamCandidate(**values | more)


def stands(text: str, source: Source = Source.USER_STATED, **more: Any) -> CuratedFact:
    values: dict[str, Any] = {
        "fact": fact_id(text),
        "text": text,
        "key": None,
        "attribute": None,
        "kind": None,
        "path": MEMORY,
        "section": ("Memory", "Facts"),
        "line": 3,
        "source": source,
        "said": SAID - timedelta(days=30),
        "is_changeable": True,
    }
    return CuratedFact(**values | more)


def memory_of(*facts: CuratedFact) -> CuratedMemory:
    paths = dict.fromkeys(fact.path for fact in facts)
    return CuratedMemory(
        facts, {path: FileExtent(path, 100, 10, len(facts)) for path in paths}, MEMORY
    )


def adds(candidate: DreamCandidate, is_sure: bool = True) -> Suggestion:
    return replace(
        leave(candidate, "the user said it"), op=DreamOp.ADD, text=candidate.text, is_sure=is_sure
    )


def updates(candidate: DreamCandidate, old: CuratedFact, is_sure: bool = False) -> Suggestion:
    return replace(
        leave(candidate, "it resembles"),
        op=DreamOp.UPDATE,
        old=old,
        text=candidate.text,
        is_sure=is_sure,
    )


def change(
    op: str, of: DreamCandidate, old: CuratedFact | None = None, text: str = "", **more: Any
) -> dict[str, Any]:
    values = {
        "op": op,
        "fact": of.fact,
        "old": old and old.fact,
        "section": None,
        "key": None,
        "text": text or of.text,
        "why": "",
    }
    return values | more
