"""The outcomes of a request to a model, in the words of the log and of `status`."""

from __future__ import annotations

ANSWERED, KEPT = "answered", "kept"
"""The outcomes of a request that was answered, now or before."""
CUT = "cut"
"""The outcome of a request whose answer ended in the middle; what was whole of it counts."""
BAD_ANSWER, BUDGET, DOWN, REFUSED = "bad-answer", "model-budget", "model-down", "model-refused"
"""An answer that cannot be read; no tokens are left for today; no answer, for whatever reason that may pass; the request is not accepted."""


class ModelFailure(Exception):
    """A model gave no answer.

    - `outcome`: one of those above.
    - `is_passing`: another try may be answered, after `wait` seconds where the server names a time.
    """

    def __init__(self, outcome: str, message: str, *, is_passing: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.is_passing = is_passing
        self.wait = wait
