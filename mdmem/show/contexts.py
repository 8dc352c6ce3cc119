"""Results of `context` and `flush`."""

from __future__ import annotations

from mdmem.model.errors import number_of
from mdmem.model.prompts import ContextBlock, FlushResult


def context_notes(block: ContextBlock) -> tuple[str, ...]:
    is_too_small = not block.text and any(part.left_out for part in block.parts)
    reason = (f"nothing fits into {number_of(block.budget, 'token')}",) if is_too_small else ()
    past = () if block.as_of is None else (f"Memory as of {block.as_of}",)
    return (*past, *block.notes, *reason)


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
