"""The vector of a question, asked for once and in little time, and what is like it."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from mdmem.folder import files, installed
from mdmem.index import ranking
from mdmem.index.ranking import Likeness
from mdmem.llm.requests import ModelFailure
from mdmem.model.errors import WorkspaceProblem
from mdmem.vectors.source import (
    LOCAL,
    Embedder,
    EmbeddingModel,
    Vector,
    embedding_model,
    open_source,
    without_secrets,
)
from mdmem.vectors.store import (
    ROWS_NAME,
    SCALE_BYTES,
    TABLE_NAME,
    VectorStore,
    opened_store,
    store_folder,
)
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    import numpy

BEHIND, LATE, DOWN = "behind", "late", "down"
FAILURES_NAME = "vectors-failures"
"""A byte for each failure since the last success; the time of the file is that of the last."""
_MOST_FAILURES, _PAUSE_SECONDS = 3, 60.0
_QUESTION_SECONDS = 5.0
"""An answer that comes too late for its question is kept for the next one."""
_LOADING_SECONDS = 10.0
"""A model in this process is waited for: its own second of work, on a busy machine."""
_KEPT = 200
_MOST_COMPARED = 20_000
_BLOCK = 1024
LOW_DEVIATIONS, HIGH_DEVIATIONS = 1.0, 3.09
"""Standard deviations above the mean likeness to a question: one entry in six, and one in a
thousand, are above by chance. By pairs of entries, which are more alike than a question and its
answer, no entry of four sets came near the second.
"""
CHANCE = 0.05
"""The share of questions at which an entry of a store may be taken for like by chance alone. With
0.5 three times as many places go to such entries, and meetings lose 0.5 of R@10.
"""
_BEST, _DEGREES_LOST = 3, 4
"""Entries that may answer, and are left out where chance is measured; and degrees of freedom that
this costs: with n / (n - 4) times the deviation of the others an entry of 10 to 3,000 is taken for
like by chance at 2 to 11 percent of questions, if likeness is distributed normally.
"""
_NEAREST = 12
"""Three are shown, and some may have expired."""


class KeptQuestions:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.vectors: dict[tuple[EmbeddingModel, str], Vector] = {}
        self.asking: threading.Thread | None = None
        self.embedder: tuple[EmbeddingModel, Embedder] | None = None
        self.rows: tuple[object, ComparedRows] | None = None

    def keep(self, model: EmbeddingModel, text: str, vector: Vector) -> None:
        with self.lock:
            self.vectors[model, text] = vector
            if len(self.vectors) > _KEPT:
                del self.vectors[next(iter(self.vectors))]


class ComparedRows:
    def __init__(self, store: VectorStore, dimensions: int) -> None:
        import numpy  # noqa: PLC0415 - an extra, and 160 ms of CPU

        self.count = store.whole_rows
        shape = self.count, SCALE_BYTES + dimensions
        rows = numpy.memmap(store.folder / ROWS_NAME, numpy.uint8, "r", shape=shape)
        self._scales = rows[:, :SCALE_BYTES].copy().view("<f4").ravel()
        self._bytes = rows[:, SCALE_BYTES:].view(numpy.int8)
        # not the rows that a purge has left empty
        self._compared = numpy.array(store.newest_rows(_MOST_COMPARED), "i8")

    def _floats(self, rows: Any) -> numpy.ndarray[Any, Any]:
        floats: numpy.ndarray[Any, Any] = self._bytes[rows].astype("f4")
        floats *= self._scales[rows][:, None]
        return floats

    def likeness(self, vector: Vector, rows: Sequence[int]) -> list[float]:
        values: list[float] = (self._floats(list(rows)) @ vector).tolist() if rows else []
        return values

    def nearest(self, vector: Vector) -> tuple[tuple[float, float, float], list[tuple[int, float]]]:
        """The likeness that rows have by chance (see `Likeness`), and the rows above the last."""
        import numpy  # noqa: PLC0415 - as above

        chosen, question = self._compared, numpy.array(vector, "f4")
        values = numpy.concatenate(
            [
                (self._bytes[chosen[start : start + _BLOCK]].astype("f4") @ question)
                * self._scales[chosen[start : start + _BLOCK]]
                for start in range(0, len(chosen), _BLOCK)
            ]
        )
        levels = _chance_levels(values)
        above = numpy.flatnonzero(values > levels[-1])
        best = sorted(above.tolist(), key=lambda place: (-values[place], place))[:_NEAREST]
        return levels, [(int(chosen[place]), float(values[place])) for place in best]


def _chance_levels(values: numpy.ndarray[Any, Any]) -> tuple[float, float, float]:
    """The low, high and least likeness of `Likeness`; of a few entries none is ever like."""
    import numpy  # noqa: PLC0415 - as above

    degrees = len(values) - _BEST - 1
    if degrees <= _DEGREES_LOST:
        return math.inf, math.inf, math.inf
    others = numpy.partition(values, degrees)[: degrees + 1]
    mean = float(others.mean())
    spread = float(others.std(ddof=1)) * degrees / (degrees - _DEGREES_LOST)
    least = NormalDist().inv_cdf(1 - CHANCE / len(values))
    return mean + LOW_DEVIATIONS * spread, mean + HIGH_DEVIATIONS * spread, mean + least * spread


def compare(
    store: VectorStore, rows: ComparedRows, vector: Vector, candidates: Mapping[int, int | None]
) -> Likeness:
    """The likeness of candidates (row by key) to a question, and the nearest others."""
    known = {key: row for key, row in candidates.items() if row is not None and row < rows.count}
    (low, high, least), nearest = rows.nearest(vector)
    key_of = store.keys([row for row, _ in nearest])
    return Likeness(
        low=low,
        high=high,
        least=least,
        of_candidates=dict(zip(known, rows.likeness(vector, list(known.values())), strict=True)),
        nearest=[
            (key_of[row], likeness)
            for row, likeness in nearest
            if row in key_of and key_of[row] not in candidates
        ],
    )


class AskedMeaning:
    """The meaning of one question (`search.blend.Meaning`).

    `state`: why words had to do, if so. `note`: what to do about it. `is_incomplete`: some
    candidates have no vector yet.
    """

    def __init__(self, workspace: Workspace, question: str, wait: float, is_kept: bool) -> None:
        """Prepare to ask for at most `wait` seconds; `is_kept`: the vector is kept on disk."""
        self._workspace, self._question = workspace, without_secrets(question)
        self._wait, self._is_kept = wait, is_kept
        self.state: str | None = None
        self.note: str | None = None
        self.is_incomplete = False

    @property
    def is_always_asked(self) -> bool:
        """A local model is loaded only where words leave doubt, and then asked as others are."""
        is_local = self._workspace.settings.vectors == LOCAL
        return not is_local or self._workspace.resources.get(KeptQuestions).embedder is not None

    @property
    def weight(self) -> float:
        if self._workspace.settings.vectors != LOCAL:
            return ranking.WEIGHT
        is_own = ranking.asks_of_self(self._question)
        return ranking.LOCAL_OWN_WEIGHT if is_own else ranking.LOCAL_WEIGHT

    def likeness(self, keys: Sequence[int]) -> Likeness | None:
        try:
            return self._likeness(keys)
        except WorkspaceProblem as problem:
            self.state, self.note = DOWN, problem.message
        except (OSError, sqlite3.Error):
            self.state = DOWN
        return None

    def _likeness(self, keys: Sequence[int]) -> Likeness | None:
        if not self._question:
            return None
        workspace = self._workspace
        model = embedding_model(workspace.settings, workspace.environment)
        if find_spec("numpy") is None:
            command = installed.install_command("vectors")
            self.state, self.note = DOWN, f"vectors need the numpy package: {command}"
            return None
        folder = store_folder(workspace.state, model)
        if not (folder / TABLE_NAME).exists():
            self.state, self.is_incomplete = BEHIND, True
            return None
        with opened_store(folder) as store:
            dimensions = store.dimensions
            if dimensions is None or not store.newest_rows(1):
                self.state, self.is_incomplete = BEHIND, True
                return None
            vector = self._vector(model, store)
            if vector is None:
                return None
            if len(vector) != dimensions:
                self.state = DOWN
                return None
            return self._compare(store, dimensions, vector, keys)

    def _compare(
        self, store: VectorStore, dimensions: int, vector: Vector, keys: Sequence[int]
    ) -> Likeness:
        found = store.rows(keys)
        self.is_incomplete = not found.keys() >= set(keys)
        return compare(store, self._rows(store, dimensions), vector, found)

    def _rows(self, store: VectorStore, dimensions: int) -> ComparedRows:
        kept = self._workspace.resources.get(KeptQuestions)
        now = store.folder, store.count, files.stamp(str(store.folder / ROWS_NAME))
        rows = kept.rows  # another thread may put others there
        if rows is None or rows[0] != now:
            rows = kept.rows = now, ComparedRows(store, dimensions)
        return rows[1]

    def _vector(self, model: EmbeddingModel, store: VectorStore) -> Vector | None:
        kept = self._workspace.resources.get(KeptQuestions)
        vector = kept.vectors.get((model, self._question))
        if vector is None and (vector := store.question(self._question)) is not None:
            kept.keep(model, self._question, vector)
        if vector is None and (self._is_kept or kept.embedder or not model.is_local):
            vector = self._asked(kept, model)
            if vector is not None and self._is_kept:
                store.keep_question(self._question, vector)
        return vector

    def _asked(self, kept: KeptQuestions, model: EmbeddingModel) -> Vector | None:
        if self._is_paused():
            self.state = DOWN
            return None
        wait = max(self._wait, _LOADING_SECONDS) if model.is_local else self._wait
        asked, end = (model, self._question), time.monotonic() + wait
        asking = None
        while asked not in kept.vectors:
            with kept.lock:  # the source answers one at a time
                asking, is_own = kept.asking, False
                if asking is None or not asking.is_alive():
                    asking, is_own = self._started(kept, model), True
            asking.join(max(0.0, end - time.monotonic()))
            if is_own or asking.is_alive():
                break
        vector = kept.vectors.get(asked)
        if vector is None:
            self.state = LATE if asking is not None and asking.is_alive() else DOWN
            self._count_failure()
        else:
            with suppress(FileNotFoundError):
                (self._workspace.state / FAILURES_NAME).unlink()
        return vector

    def _started(self, kept: KeptQuestions, model: EmbeddingModel) -> threading.Thread:
        asking = kept.asking = threading.Thread(
            target=self._ask, args=(kept, model), name="mdmem vectors", daemon=True
        )
        asking.start()
        return asking

    def _ask(self, kept: KeptQuestions, model: EmbeddingModel) -> None:
        workspace = self._workspace
        if kept.embedder is None or kept.embedder[0] != model:
            if kept.embedder is not None:
                kept.embedder[1].close()
            source = open_source(model)
            kept.embedder = (
                model,
                Embedder(workspace.state, source, workspace.settings, workspace.now),
            )
        with suppress(ModelFailure, OSError):
            vector = kept.embedder[1].question(self._question, _QUESTION_SECONDS)
            kept.keep(model, self._question, vector)

    def _is_paused(self) -> bool:
        path = self._workspace.state / FAILURES_NAME
        try:
            status = path.stat()
        except FileNotFoundError:
            return False
        if status.st_size < _MOST_FAILURES:
            return False
        if time.time() - status.st_mtime < _PAUSE_SECONDS:
            return True
        path.unlink(missing_ok=True)
        return False

    def _count_failure(self) -> None:
        path = self._workspace.state / FAILURES_NAME
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, b"x")
        finally:
            os.close(descriptor)
