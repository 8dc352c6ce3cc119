"""Results of syncs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mdmem.model.pipelines import SyncResult
from mdmem.wording import number_of


def sync_json(result: SyncResult) -> dict[str, Any]:
    """A sync as an object."""
    return {
        "remote": result.remote,
        "branch": result.branch,
        "state": result.state,
        "pulled": result.pulled,
        "pushed": result.pushed,
        "merged": result.merged,
        "taken_in": list(result.taken_in),
        "contradicts": [list(pair) for pair in result.contradicts],
        "kept": list(result.kept),
        "kept_files": list(result.kept_files),
        "set_aside": [{"path": each.path, "blob": each.blob} for each in result.set_aside],
        "retries": result.retries,
        "ms": result.ms,
    }


def sync_text(result: SyncResult) -> str:
    """A sync in one line."""
    if result.dry_run:
        return f"to sync with {result.remote}: {result.pulled} to pull, {result.pushed} to push"
    taken_in = f", merged {', '.join(result.taken_in)}" if result.taken_in else ""
    return f"synced with {result.remote}: {result.pulled} pulled, {result.pushed} pushed{taken_in}"


def sync_notes(result: SyncResult) -> Iterator[str]:
    """Lines on what the two sides had changed in different ways."""
    for first, second in result.contradicts:
        yield f"contradiction: {first} and {second}"
    if result.kept:
        count = number_of(len(result.kept), "fact")
        yield f"kept {count} that one side changed and the other removed: {' '.join(result.kept)}"
    for path in result.kept_files:
        yield f"{path} was removed on one side and changed on the other; it is kept"
    for each in result.set_aside:
        yield (
            f"{each.path} was changed on both sides: {result.remote}'s version is here, yours is"
            f" git show {each.blob}"
        )
