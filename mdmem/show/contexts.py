"""Results of `context` and `flush`."""

from __future__ import annotations

from typing import Any

from mdmem.model.prompts import ContextBlock, FlushResult, PartResult
from mdmem.wording import number_of


def context_json(block: ContextBlock) -> dict[str, Any]:
    return {
        "text": block.text,
        "tokens": block.tokens,
        "budget": block.budget,
        "commit": block.commit,
        "stale": block.stale,
        "parts": [_part_json(part) for part in block.parts],
        **({} if block.missing is None else {"missing": list(block.missing)}),
    }


def context_notes(block: ContextBlock) -> tuple[str, ...]:
    is_too_small = not block.text and any(part.left_out for part in block.parts)
    reason = (f"nothing fits into {number_of(block.budget, 'token')}",) if is_too_small else ()
    return (*block.notes, *reason)


def _part_json(part: PartResult) -> dict[str, Any]:
    return {
        "part": part.part.value,
        "tokens": part.tokens,
        "shown": part.shown,
        "left_out": part.left_out,
        "entries": [
            {
                "path": entry.path,
                "line": entry.line,
                "fact": entry.fact,
                "score": entry.score,
                "cut": entry.cut,
                "workspace": entry.workspace,
            }
            for entry in part.entries
        ],
    }


def flush_json(result: FlushResult) -> dict[str, Any]:
    if result.prompts is not None:
        prompts = result.prompts
        return {
            "system": prompts.system,
            "user": prompts.user,
            "day": prompts.day,
            "path": prompts.path,
        }
    return {
        "due": result.due,
        "tokens": result.tokens,
        "threshold": result.threshold,
        "cycle": result.cycle,
        "flushed": result.flushed,
    }


def flush_text(result: FlushResult, check: bool) -> str:
    if result.prompts is not None:
        return f"{result.prompts.system}\n\n{result.prompts.user}"
    if not check:
        return ""
    flushed = (
        "never flushed" if result.flushed is None else f"last flushed in cycle {result.flushed}"
    )
    return (
        f"{'due' if result.due else 'not due'}: {result.tokens} tokens of {result.threshold}, cycle"
        f" {result.cycle}, {flushed}"
    )
