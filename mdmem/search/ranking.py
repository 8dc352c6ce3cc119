"""What a match is worth. Every number of the ranking stands here, with where it comes from. Pure.

The score of an entry is the BM25 (k1 = 1.2, b = 0.75) of its fields, each with a weight, times a factor that the entry has whatever
the question is.
"""

from mdmem.model import FileKind, Source

FIELD_WEIGHTS = {"text": 1.0, "around": 2.0, "heading": 0.5, "grams": 1.0}
"""Of the fields `schema` builds, measured on LoCoMo's public half, R@10 in percent: `text` alone 61.9; with `around` (the entry and its
neighbours) at 1, 2, 3: 72.4, 73.6, 73.5; `heading` (section path and file name) at 0, 0.5, 1: 73.5, 73.6, 73.6. The questions there
never need a heading; curated files do, so it stays, and small. `grams` are the words of scripts without spaces."""

CANDIDATES = 150
"""At least so many of the best by BM25 are ranked again by everything else."""

SCORE_DIGITS = 4

_FILE_FACTORS = {FileKind.BOOTSTRAP: 0.5}
"""What stands in an agent's prompt already is seldom what it searches for (design; not measured)."""

_LEAST_TRUST = 0.85
"""The factor of an entry in which there is no confidence at all: mild, as provenance decides between what matches alike and never
against a better match."""


_WEAKER = 0.9
"""The factor of an entry that contradicts a better founded one: enough to come second where both match alike (two sources side by side
are 0.04 to 0.08 apart by trust alone), too little to hide it (design; not measured)."""


def factor(kind: FileKind, confidence: float | None, weaker: bool = False) -> float:
    """The part of a score that does not depend on the question; at most 1.

    Args:
        kind: of the file. Bootstrap files rank down.
        confidence: from 0 to 1; None where no commit is known, which is a person's own pending text.
        weaker: whether it contradicts something that is better founded.
    """
    trust = Source.USER_STATED.confidence if confidence is None else confidence
    return _FILE_FACTORS.get(kind, 1.0) * (_LEAST_TRUST + (1 - _LEAST_TRUST) * trust) * (_WEAKER if weaker else 1.0)
