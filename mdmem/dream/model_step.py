"""The model step of a night: the model is asked about the entries that the rules leave open, once, before anything is written.

What it said is kept for the night beside its answers: what is written then changes memory, and with it what would be asked after an interruption.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from mdmem import config
from mdmem.catchup.session_messages import purged_texts
from mdmem.dream import model_changes
from mdmem.dream.candidates import DreamCandidate, Night
from mdmem.dream.curated import CuratedMemory
from mdmem.dream.model_changes import OpenEntries
from mdmem.dream.suggestions import Suggestion
from mdmem.errors import MdmemError
from mdmem.llm import endpoints, kept_answers, request_log
from mdmem.llm.asking import AskedRun, Asker
from mdmem.llm.consolidation import SuggestedChange, check_changes
from mdmem.llm.failures import BAD_ANSWER, DOWN, ModelFailure
from mdmem.llm.requests import consolidate_request
from mdmem.model import FactId
from mdmem.startup.records import dataclass, field
from mdmem.workspace import Say, Workspace

_MOST_SECONDS = 3 * 60
"""After so long no more is asked in a night: a timer ends a run that takes 15 minutes, digest's own requests included."""
_JUST_NOW = 15 * 60
"""A model that did not answer so many seconds ago is not asked."""


@dataclass(slots=True)
class _Heard:
    """The entries that the model was asked about, and the changes that it suggested for them, as JSON has them."""

    asked: set[FactId] = field(default_factory=set)
    items: list[dict[str, Any]] = field(default_factory=list)


class NightModel:
    """Asks the model for one night, and merges what it suggests into what the rules do."""

    def __init__(self, workspace: Workspace, night: Night, say: Say, *, is_dry: bool = False, is_asked_for: bool = False) -> None:
        self._workspace = workspace
        self._night = night
        self._say = say
        self._is_dry = is_dry
        self._is_asked_for = is_asked_for
        self._heard: _Heard | None = None
        self._name = ""
        self.outcome = ""
        """Why the model did not answer (empty: it did, or was not needed)."""
        self.message = ""
        self.tokens = self.requests = self.request_bytes = 0
        self.refused = 0
        """The suggestions that code did not take."""

    def merged(
        self, by_rules: Sequence[Suggestion], memory: CuratedMemory, is_taken_out: Callable[[DreamCandidate], bool]
    ) -> list[Suggestion]:
        """The suggestions of rules and model, one for each of the rules'. The model is asked the first time; later ones judge its answers again.

        Raises:
            MdmemError: memory cannot be read.
        """
        is_first = self._heard is None
        if self._heard is None:
            self._heard = self._ask(by_rules, memory)
        changes: dict[FactId, SuggestedChange] = {}
        refused = 0
        for request in model_changes.open_requests(self._night.day, by_rules, memory, frozenset()):
            checked = check_changes([item for item in self._heard.items if item.get("fact") in request.facts], request.data)
            changes |= {change.fact: change for change in checked.changes}
            refused += len(checked.refused)
        merged = model_changes.merge(by_rules, changes, memory, is_taken_out)
        if is_first:
            self.refused = refused + merged.refused
        return list(merged.suggestions)

    def _ask(self, by_rules: Sequence[Suggestion], memory: CuratedMemory) -> _Heard:
        """Ask about what is open, and was not asked about on this night."""
        workspace = self._workspace
        try:
            endpoint = endpoints.configured(workspace.settings, workspace.environment)
        except MdmemError as problem:
            self.outcome, self.message = problem.code, problem.message
            return _Heard()
        self._name = sha256(f"{endpoint.name}\0{self._night.run}".encode()).hexdigest()
        heard = self._read_heard()
        requests = model_changes.open_requests(self._night.day, by_rules, memory, frozenset(heard.asked))
        if not requests or self._was_just_down():
            return heard
        purged = purged_texts(workspace, self._say).digest
        run = AskedRun(self._night.run, workspace.settings.model_tokens_day, config.zone(workspace.settings.timezone), self._is_dry)
        asker = Asker(workspace.state, endpoint, run, workspace.now)
        try:
            self._ask_all(requests, asker, heard)
        finally:
            asker.close()
            self.tokens, self.requests, self.request_bytes = asker.tokens, asker.sent, asker.sent_bytes
        if purged_texts(workspace, self._say).digest != purged:
            kept_answers.drop_all_answers(workspace.state)
            return _Heard()
        return heard

    def _ask_all(self, requests: Sequence[OpenEntries], asker: Asker, heard: _Heard) -> None:
        """Send requests until one gets no answer, or it is late."""
        deadline = time.monotonic() + _MOST_SECONDS
        for request in requests:
            if not self._is_asked_for and time.monotonic() > deadline:
                return
            try:
                answer = asker.ask(consolidate_request(request.data))
            except ModelFailure as failure:
                self.outcome, self.message = failure.outcome, str(failure)
                if failure.outcome != BAD_ANSWER:
                    return
                continue
            if answer is not None:
                heard.asked |= request.facts
                heard.items += [item for item in answer.items if isinstance(item, dict) and item.get("fact") in request.facts]
                self._keep_heard(heard)

    def _was_just_down(self) -> bool:
        """True if the model did not answer a moment ago, as in the digest of the same run; somebody who asks for it has it asked."""
        last = request_log.last_record(self._workspace.state)
        if self._is_asked_for or last is None or last.outcome != DOWN:
            return False
        if (self._workspace.now() - last.time).total_seconds() > _JUST_NOW:
            return False
        self.outcome, self.message = DOWN, "the model did not answer a moment ago"
        return True

    def _read_heard(self) -> _Heard:
        """The answers of this night, from before an interruption."""
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            values = json.loads(kept_answers.read_answer(self._workspace.state, self._name, 0) or "")
            return _Heard(set(map(FactId, values["asked"])), [item for item in values["items"] if isinstance(item, dict)])
        return _Heard()

    def _keep_heard(self, heard: _Heard) -> None:
        if not self._is_dry:
            with suppress(OSError):  # a cache
                kept_answers.keep_answer(
                    self._workspace.state, self._name, json.dumps({"asked": sorted(heard.asked), "items": heard.items}), None
                )
