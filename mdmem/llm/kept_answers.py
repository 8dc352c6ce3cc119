"""Answers of a model, kept in `model/` for 30 days: what was paid for is not paid for again after an interruption. A cache.

A file is named by the hash of its request, which is not kept. An answer that could not be read is only good for the try in which it came.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from mdmem import files
from mdmem.llm.requests import ModelRequest

FOLDER_NAME = "model"
_SECONDS = 30 * 24 * 3600


def request_hash(model_name: str, request: ModelRequest) -> str:
    """The name of the answer to a request."""
    return sha256(f"{model_name}\0{request.text}".encode()).hexdigest()


def read_answer(state: Path, name: str, attempt: int) -> str | None:
    """The text of a kept answer; None where there is none that is good for this try."""
    try:
        values = json.loads((state / FOLDER_NAME / f"{name}.json").read_bytes())
        text, only_for = values["answer"], values["attempt"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return text if isinstance(text, str) and only_for in (None, attempt) else None


def keep_answer(state: Path, name: str, text: str, attempt: int | None) -> None:
    """Keep the text of an answer; `attempt`: the only try that it is good for (None: it is good).

    Raises:
        OSError
    """
    folder = state / FOLDER_NAME
    folder.mkdir(mode=0o700, exist_ok=True)
    files.write_cache(folder / f"{name}.json", json.dumps({"answer": text, "attempt": attempt}))


def drop_old_answers(state: Path) -> None:
    """Drop the answers that were kept for 30 days."""
    _drop_answers(state, time.time() - _SECONDS)


def drop_all_answers(state: Path) -> None:
    """Drop all answers: they may hold what was purged while one was waited for."""
    _drop_answers(state, math.inf)


def _drop_answers(state: Path, before: float) -> None:
    with suppress(OSError):
        for path in (state / FOLDER_NAME).iterdir():
            if path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
