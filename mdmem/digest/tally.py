"""The figures of a run, as they add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdmem.model import CommitId
from mdmem.model.pipelines import (
    DONE,
    UNCHANGED,
    DigestedEntry,
    DigestResult,
    LeftSession,
    ModelFigures,
)
from mdmem.startup.records import dataclass, field

if TYPE_CHECKING:
    from mdmem.digest.news import News


@dataclass(slots=True)
class Tally:
    """The figures of a run so far."""

    sessions: int = 0
    messages: int = 0
    size: int = 0
    noise: int = 0
    repeated: int = 0
    redacted: int = 0
    refused: int = 0
    surplus: int = 0
    skipped: int = 0
    inside: int = 0
    outside: int = 0
    by_model: int = 0
    tokens: int = 0
    requests: int = 0
    request_bytes: int = 0
    bad_answers: int = 0
    waiting: int = 0
    model_outcome: str = ""
    """Why the model did not answer (empty: it did, or was not asked)."""
    model_message: str = ""
    asks_model: bool = False
    entries: list[DigestedEntry] = field(default_factory=list)
    commits: list[CommitId] = field(default_factory=list)
    left: list[LeftSession] = field(default_factory=list)

    def add_news(self, news: News) -> None:
        """Count what was read of a transcript."""
        self.outside += news.outside
        self.inside += not (news.outside or news.transcript.own)
        self.sessions += bool(news.messages)
        self.messages += len(news.messages)
        self.size += news.size
        self.noise += news.noise
        self.redacted += news.redacted
        self.skipped += len(news.skipped)

    @property
    def outcome(self) -> str:
        """The outcome of a step with these figures."""
        if self.left:
            return (
                "unknown-format"
                if any(left.why == "unknown-format" for left in self.left)
                else "unreadable"
            )
        if self.model_outcome:
            return self.model_outcome
        return DONE if self.commits or self.messages else UNCHANGED

    def figures(self) -> dict[str, int]:
        """The figures as the record of a step has them."""
        return {
            "sessions": self.sessions,
            "size": self.size,
            "messages": self.messages,
            "noise": self.noise,
            "by_rule": len(self.entries) - self.by_model,
            "by_model": self.by_model,
            "entries": len(self.entries),
            "doubled": self.repeated,
            "redacted": self.redacted,
            "refused": self.refused,
            "tokens": self.tokens,
            "surplus": self.surplus,
            "skipped": self.skipped,
            "left": len(self.left),
        }

    def result(self, run: str) -> DigestResult:
        """The figures as the result of a run."""
        return DigestResult(
            run=run,
            sessions=self.sessions,
            messages=self.messages,
            size=self.size,
            noise=self.noise,
            entries=tuple(self.entries),
            repeated=self.repeated,
            redacted=self.redacted,
            refused=self.refused,
            surplus=self.surplus,
            commits=tuple(self.commits),
            left=tuple(self.left),
            inside=self.inside,
            outside=self.outside,
            model=self._model_figures() if self.asks_model else None,
        )

    def _model_figures(self) -> ModelFigures:
        return ModelFigures(
            requests=self.requests,
            size=self.request_bytes,
            tokens=self.tokens,
            entries=self.by_model,
            bad_answers=self.bad_answers,
            waiting=self.waiting,
            outcome=self.model_outcome,
            message=self.model_message,
        )
