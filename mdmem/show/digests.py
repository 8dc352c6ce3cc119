"""Results of `digest`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mdmem.model.digests import DigestResult, ModelFigures
from mdmem.show.formatting import one_line


def digest_json(result: DigestResult) -> dict[str, Any]:
    """A digest as an object."""
    return {
        "run": result.run,
        "sessions": result.sessions,
        "messages": result.messages,
        "bytes": result.size,
        "noise": result.noise,
        "entries": [
            {
                "fact": entry.fact,
                "day": entry.day.isoformat(),
                "time": entry.minute,
                "kind": entry.kind,
                "text": entry.text,
                "source": entry.source.value,
                "confidence": entry.confidence,
                "cites": list(entry.cites),
            }
            for entry in result.entries
        ],
        "already": result.repeated,
        "redacted": result.redacted,
        "refused": result.refused,
        "surplus": result.surplus,
        "tokens": result.model.tokens if result.model else 0,
        "model": _model_json(result.model) if result.model else None,
        "commits": list(result.commits),
        "left": [{"session": left.session, "why": left.why} for left in result.left],
    }


def _model_json(figures: ModelFigures) -> dict[str, Any]:
    names = ("requests", "size", "entries", "bad_answers", "waiting", "outcome", "message")
    return {("bytes" if name == "size" else name): getattr(figures, name) for name in names}


def digest_text(result: DigestResult) -> str:
    """The entries by day, and a line of figures."""
    return "\n".join(_lines(result))


def _lines(result: DigestResult) -> Iterator[str]:
    day = None
    for entry in sorted(result.entries, key=lambda entry: (entry.day, entry.minute)):
        if entry.day != day:
            day = entry.day
            yield f"{day.isoformat()}"
        kind = f"[{entry.kind}] " if entry.kind else ""
        yield one_line(f"  {entry.minute} {kind}{entry.text}  ({entry.source.value}, {', '.join(entry.cites)})")
    figures = [
        f"{_counted(result.messages, 'message')} of {_counted(result.sessions, 'session')} read",
        f"{len(result.entries)} kept",
        *(f"{count} {words}" for count, words in _exceptions(result) if count),
    ]
    yield ", ".join(figures)
    if result.model is not None:
        yield from _model_lines(result.model)
    if result.outside and not result.messages:
        yield f'{_counted(result.outside, "session")} of other folders left out; session_scope = "all" in your own settings has all count'
    yield from (one_line(f"skipped: {left.session}: {left.why}") for left in result.left)


def _model_lines(figures: ModelFigures) -> Iterator[str]:
    """The part of the model: nothing where it was not needed."""
    parts = [
        *([f"{_counted(figures.requests, 'request')} ({figures.size:,} bytes, {figures.tokens:,} tokens)"] if figures.requests else []),
        *([f"{figures.entries} of the entries"] if figures.entries else []),
        *([f"{_counted(figures.bad_answers, 'suggestion')} refused"] if figures.bad_answers else []),
        *([f"{_counted(figures.waiting, 'session')} waiting"] if figures.waiting else []),
        *([one_line(f"{figures.outcome}: {figures.message}")] if figures.outcome else []),
    ]
    if parts:
        yield f"model: {', '.join(parts)}"


def _exceptions(result: DigestResult) -> Iterator[tuple[int, str]]:
    yield result.repeated, "already logged"
    yield result.redacted, "with a secret"
    yield result.refused, "refused"
    yield result.surplus, "over the limit for their day"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
