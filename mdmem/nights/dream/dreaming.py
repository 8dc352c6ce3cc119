"""The night of a day: judge its entries, apply or propose, judge again what changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta

from mdmem.changes import apply, revert
from mdmem.changes.commit_notes import complete_options
from mdmem.changes.recover import Transaction, lock_workspace, recover
from mdmem.folder.layout import ListedFile
from mdmem.llm import requests
from mdmem.lookup import dates
from mdmem.model import CommitId, FactId, FilePath
from mdmem.model.errors import (
    FactProblem,
    MdmemError,
    PathProblem,
    ProposalProblem,
    RefusedChange,
    RepositoryProblem,
    SectionProblem,
    TextProblem,
    UsageProblem,
    field,
)
from mdmem.model.pipelines import (
    DONE,
    DOUBLED,
    STANDS,
    TOO_MANY_WAIT,
    UNCHANGED,
    WAITS,
    Dream,
    DreamChange,
    DreamOp,
    DreamResult,
    ModelFigures,
    StepFigures,
    StepRecord,
)
from mdmem.model.proposals import Propose
from mdmem.model.rules import is_iso_day, parse_day
from mdmem.model.writes import WriteResult
from mdmem.nights.dream import applying, cases, due
from mdmem.nights.dream.applying import PlannedEdit, edit_of
from mdmem.nights.dream.candidates import (
    CuratedMemory,
    DreamCandidate,
    LogEntries,
    Night,
    SaidTimes,
    may_have_entries,
    read_curated,
    read_log_entries,
)
from mdmem.nights.dream.cases import Decided, Limits, Suggestion, leave
from mdmem.nights.dream.model_step import NightModel
from mdmem.nights.steps import StepRecorder, in_turn
from mdmem.past import fresh_trail
from mdmem.past.table import Trail
from mdmem.queries import removed_facts
from mdmem.review import proposing
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import fact_id
from mdmem.workspace import Say, Workspace, permission

STEP = "dream"
_TRIES = 30
_REFUSALS = (TextProblem, RefusedChange, SectionProblem, FactProblem, PathProblem, ProposalProblem)
"""Failures of one change that stop no other."""
_PLACE_CODES = (
    "bad-path",
    "file-exists",
    "ignored-path",
    "is-folder",
    "open-block",
    "read-only-path",
    "section-ambiguous",
    "unsupported-file",
)
_MEMORY_CODES = frozenset((*_PLACE_CODES, "checked-out", "too-many-parts", "too-many-proposals"))
"""Codes that concern memory, and not the entry, which waits until they are fixed."""


@dataclass(frozen=True, slots=True)
class _NightPlan:
    """The changes of a night, valid while `head` and `stamps` are current."""

    decided: Decided
    memory: CuratedMemory
    head: CommitId
    stamps: Mapping[FilePath, tuple[int, int, int]]


class _NightWork:
    def __init__(
        self,
        workspace: Workspace,
        request: Dream,
        say: Say,
        *,
        last: date,
        days: Sequence[date],
        since: date | None,
    ) -> None:
        self._workspace = workspace
        self._request = request
        self._say = say
        self._days = tuple(sorted(days))
        self._last = last
        self._since = since
        self._night = Night(day=last, days=self._days)
        self._changes: dict[tuple[DreamOp, FactId | None, FactId | None], DreamChange] = {}
        self._model: NightModel | None = None
        self._held: MdmemError | None = None
        """The first failure of memory that stops a change."""
        self.outcome = ""

    @property
    def run(self) -> str:
        return self._night.run

    @property
    def _is_whole(self) -> bool:
        """True if nothing open is left behind: no change is held up, and no days are named."""
        return self._held is None and not self._days

    def result(self) -> DreamResult:
        order, model = list(DreamOp), self._model.figures if self._model else ModelFigures()
        changes = sorted(self._changes.values(), key=lambda change: order.index(change.op))
        return DreamResult(
            run=self.run,
            days=self._days or (self._last,),
            changes=tuple(changes),
            figures=_figures(changes, model),
            model=model,
            outcome=self.outcome,
            dry_run=self._request.dry_run,
        )

    def carry_out(self) -> None:
        """Do all that an interrupted earlier run has not done.

        Raises: MdmemError: memory cannot be written, changes again and again, or a file takes no
        change, which the next night retries; finished changes stay.
        """
        if self._workspace.repository.head() is None:
            return
        if not self._request.dry_run:
            with lock_workspace(self._workspace, self._say):
                # A line that a killed night wrote is in the file, and in no commit.
                recover(self._workspace, self._say)
        for _ in range(_TRIES):
            plan = self._plan()
            self._changes = {
                key: change
                for key, change in self._changes.items()
                if change.commit or change.proposal
            }
            for each in plan.decided.left:
                self._note(each, None)
            self.outcome = plan.decided.outcome or self.outcome
            if self._request.dry_run:
                self._preview(plan)
                return
            todo = self._new_proposals(plan)
            self._held = None
            if self._apply_all(plan, is_last=not todo):
                self._propose_all(plan, todo)
                if self._held is not None:
                    raise _with_night_hint(self._held)
                self._keep(plan)
                return
        raise RepositoryProblem(
            "busy", "another program keeps changing memory", "The next run does the rest."
        )

    # Judging.

    def _plan(self) -> _NightPlan:
        workspace = self._workspace
        workspace.require_ready()
        listing = workspace.memory_files()
        stamps = _stamps(listing)
        gone = removed_facts.facts_taken_out(workspace, self._say)
        with fresh_trail(workspace, self._say) as trail:
            newest = trail.newest_commit
            if newest is None:
                raise RepositoryProblem("busy", "HEAD moved while it was read", "Try again.")
            self._night = (
                Night(day=self._last, days=self._days)
                if self._days
                else _night_of(workspace, trail, self._last, self._since)
            )

            def is_taken_out(candidate: DreamCandidate) -> bool:
                return gone.holds(
                    candidate.text, candidate.fact, candidate.said if candidate.is_own else None
                )

            def judge(log: LogEntries) -> tuple[CuratedMemory, list[Suggestion]]:
                times = SaidTimes(log.times_of_cites(), log.times_of_facts())
                memory = read_curated(workspace, trail, times, listing)
                candidates = self._night.choose(log.candidates)
                return memory, cases.judge(candidates, memory, log, is_taken_out)

            log = LogEntries(())
            if may_have_entries(workspace, trail, self._night):
                log = read_log_entries(workspace, trail, self._last)
            memory, by_rules = judge(log)
            if by_rules and not log.entries:  # of duplicates it counts when they were said
                memory, by_rules = judge(read_log_entries(workspace, trail, self._last))
        suggestions = self._with_model(by_rules, memory, is_taken_out)
        decided = cases.decide(suggestions, memory, self._limits())
        if decided.applied and permission.rules_of(workspace):
            decided = self._with_rules(decided, memory, newest.commit)
        return _NightPlan(decided, memory, newest.commit, stamps)

    def _with_rules(self, decided: Decided, memory: CuratedMemory, head: CommitId) -> Decided:
        """Propose what only people may change, and what is beside their pending edits there."""

        def is_refused(change: Suggestion) -> bool:
            path = change.old.path if change.old else memory.curated
            (planned,) = applying.plan_edits(
                self._workspace, path, head, [edit_of(change, self.run)], refusals=(MdmemError,)
            )
            return planned.problem is not None and permission.is_refusal(planned.problem)

        refused = tuple(filter(is_refused, decided.applied))
        applied = tuple(each for each in decided.applied if each not in refused)
        return replace(decided, applied=applied, proposed=(*decided.proposed, *refused))

    def _with_model(
        self,
        by_rules: Sequence[Suggestion],
        memory: CuratedMemory,
        is_taken_out: Callable[[DreamCandidate], bool],
    ) -> Sequence[Suggestion]:
        """The model is asked only once, before anything is written."""
        is_wanted = (
            self._workspace.settings.digest == "model"
            if self._request.model is None
            else self._request.model
        )
        if not is_wanted:
            return by_rules
        if self._model is None:
            self._model = NightModel(
                self._workspace,
                self._night,
                self._say,
                is_dry=self._request.dry_run,
                is_asked_for=self._request.model is True,
            )
        suggestions = self._model.merged(by_rules, memory, is_taken_out)
        self.outcome = self._model.figures.outcome
        return suggestions

    def _limits(self) -> Limits:
        settings = self._workspace.settings
        return Limits(
            applies=(
                self._request.apply
                if self._request.apply is not None
                else settings.dream == "apply"
            ),
            most=settings.dream_changes,
            done=revert.changes_of_run(self._workspace, self.run),
            budget_lines=settings.budget_lines,
            budget_bytes=settings.budget_bytes,
        )

    # Carrying out.

    def _apply_all(self, plan: _NightPlan, is_last: bool) -> bool:
        """Apply sure changes, one commit a file; False as soon as memory is not as judged."""
        head, stamps = plan.head, dict(plan.stamps)
        by_file: dict[FilePath, list[Suggestion]] = {}
        for suggestion in plan.decided.applied:
            path = suggestion.old.path if suggestion.old else plan.memory.curated
            by_file.setdefault(path, []).append(suggestion)
        for number, (path, suggestions) in enumerate(by_file.items(), 1):
            ends_night = is_last and number == len(by_file)
            try:
                with lock_workspace(self._workspace, self._say), Transaction() as transaction:
                    recover(self._workspace, self._say)
                    is_moved = self._workspace.repository.head() != head
                    if is_moved or _stamps(self._workspace.memory_files()) != stamps:
                        return False
                    done = self._plan_file(path, head, suggestions)
                    if not done:
                        continue
                    written = applying.write_edits(
                        self._workspace,
                        [each for _, each in done],
                        applying.subject_of([suggestion for suggestion, _ in done]),
                        plan.head if ends_night and self._is_whole else None,
                        transaction,
                    )
            except _REFUSALS as problem:  # the file takes none of them
                for suggestion in suggestions:
                    self._note_refusal(suggestion, problem)
                continue
            if written is None:
                return False
            for suggestion, each in done:
                self._note(suggestion, each.result(written.commit), applied=True)
            parent = self._workspace.repository.commit_named(f"{written.commit}^")
            if written.notes or written.saved or parent != head:
                return False
            head, after = written.commit, _stamps(self._workspace.memory_files())
            if {other: stamp for other, stamp in after.items() if other != path} != {
                other: stamp for other, stamp in stamps.items() if other != path
            }:
                return False
            stamps = after
        return True

    def _plan_file(
        self, path: FilePath, head: CommitId, suggestions: Sequence[Suggestion]
    ) -> list[tuple[Suggestion, PlannedEdit]]:
        edits = [edit_of(suggestion, self.run) for suggestion in suggestions]
        planned = applying.plan_edits(self._workspace, path, head, edits, _REFUSALS)
        done = []
        for suggestion, each in zip(suggestions, planned, strict=True):
            if each.problem is not None:
                self._note_refusal(suggestion, each.problem)
            elif each.changes:
                done.append((suggestion, each))
            else:
                self._leave(suggestion, STANDS)
        return done

    def _new_proposals(self, plan: _NightPlan) -> list[Suggestion]:
        if not plan.decided.proposed:
            return []
        waiting = applying.WaitingParts(self._workspace)
        settled = {*self._changes, *(each.identity for each in plan.decided.applied)}
        todo = []
        for suggestion in plan.decided.proposed:
            if suggestion.identity in settled:
                continue
            if waiting.hold(suggestion):
                self._leave(suggestion, WAITS)
            elif waiting.hold_better(suggestion):
                self._leave(suggestion, "a better supported value is proposed")
            else:
                todo.append(suggestion)
        surplus = applying.surplus_of(todo)
        for suggestion in surplus:
            self._leave(suggestion, TOO_MANY_WAIT)
        left = {id(suggestion) for suggestion in surplus}
        return [suggestion for suggestion in todo if id(suggestion) not in left]

    def _propose_all(self, plan: _NightPlan, todo: Sequence[Suggestion]) -> None:
        for number, suggestion in enumerate(todo, 1):
            edit = edit_of(
                suggestion,
                self.run,
                dreamt=plan.head if number == len(todo) and self._is_whole else None,
            )
            try:
                done = proposing.propose(self._workspace, Propose(edit), self._say)
            except _REFUSALS as problem:
                self._note_refusal(suggestion, problem)
                continue
            self._note(suggestion, done.result, proposal=done.proposal)
        applying.drop_surplus(self._workspace)

    def _preview(self, plan: _NightPlan) -> None:
        for suggestion in (*plan.decided.applied, *self._new_proposals(plan)):
            is_applied = suggestion in plan.decided.applied
            edit = edit_of(suggestion, self.run, dry_run=True)
            try:
                edit = replace(edit, options=complete_options(self._workspace, edit.options))
                self._note(suggestion, apply.preview(self._workspace, edit), applied=is_applied)
            except _REFUSALS as problem:
                self._note_refusal(suggestion, problem)

    def _keep(self, plan: _NightPlan) -> None:
        if self._days:
            return
        seen = due.read_seen(self._workspace)
        if seen is None or seen.day <= self._last:
            with fresh_trail(self._workspace, self._say) as trail:
                commit = trail.commit_with_id(plan.head)
            self._workspace.ensure_state()
            due.write_seen(
                self._workspace.state,
                due.SeenNight(self._last, plan.head, commit.time if commit else 0),
            )

    # Noting.

    def _leave(self, suggestion: Suggestion, why: str) -> None:
        if suggestion.candidate is not None:
            self._note(leave(suggestion.candidate, why), None)

    def _note_refusal(self, suggestion: Suggestion, problem: MdmemError) -> None:
        if problem.code in _MEMORY_CODES:
            self._held = self._held or problem
        self._leave(suggestion, f"{problem.code}: {problem.message}")

    def _note(
        self,
        suggestion: Suggestion,
        result: WriteResult | None,
        *,
        applied: bool = False,
        proposal: str | None = None,
    ) -> None:
        candidate, old = suggestion.candidate, suggestion.old
        text = (suggestion.text and suggestion.statement) or (
            old.text
            if old and suggestion.op is DreamOp.DELETE
            else candidate.text
            if candidate
            else ""
        )
        fact = _fact_of(suggestion, candidate, result)
        self._changes[suggestion.identity] = DreamChange(
            op=suggestion.op,
            fact=fact,
            old=old.fact if old else None,
            path=(
                FilePath(result.path)
                if result
                else old.path
                if old
                else candidate.path
                if candidate
                else FilePath("")
            ),
            section=result.section if result else old.section if old else (),
            text=text,
            source=suggestion.source,
            applied=applied,
            why=suggestion.why,
            cites=suggestion.cites,
            commit=result.commit if result else None,
            proposal=proposal,
        )


def _with_night_hint(problem: MdmemError) -> MdmemError:
    """Replace a hint about sections: nobody gives one here."""
    if problem.code == "section-ambiguous":
        hint = (
            f"{problem.marked_hint.partition('. ')[0]}. Give one of them another title: a night"
            " writes to the section of an entry's kind."
        )
        return SectionProblem(problem.code, problem.message, hint, **problem.details)
    return problem


def _fact_of(
    suggestion: Suggestion, candidate: DreamCandidate | None, result: WriteResult | None
) -> FactId:
    if suggestion.op in (DreamOp.ADD, DreamOp.UPDATE):
        if result is not None and result.added:
            return result.added[-1]
        return suggestion.fact
    if suggestion.op is DreamOp.DELETE and suggestion.old is not None:
        return suggestion.old.fact
    return candidate.fact if candidate else fact_id(suggestion.text)


def _night_of(workspace: Workspace, trail: Trail, day: date, since: date | None) -> Night:
    seen = due.read_seen(workspace)
    return Night(
        day=day,
        since=since,
        open_days=due.open_days(workspace, trail, day, seen),
        seen=due.commit_of(trail, seen) if seen else None,
        seen_day=min(seen.day, day) if seen else None,
    )


def _stamps(listing: Mapping[FilePath, ListedFile]) -> dict[FilePath, tuple[int, int, int]]:
    return {
        path: (listed.status.st_mtime_ns, listed.status.st_size, listed.status.st_ino)
        for path, listed in listing.items()
    }


# The verb, and the step of a run.


def dream(workspace: Workspace, request: Dream, say: Say) -> DreamResult:
    """Raises: UsageProblem (a day has not ended), RepositoryProblem (`running`), WorkspaceProblem
    (`no-model`), PackageProblem (`missing-package`), MdmemError.
    """
    if request.model:
        requests.configured(workspace.settings, workspace.environment)
    days = [_ended_day(workspace, day) for day in request.days]
    since = _ended_day(workspace, request.since, "since") if request.since is not None else None
    last = max(days) if days else workspace.now().date() - timedelta(days=1)
    workspace.ensure_state()

    def work() -> DreamResult:
        with StepRecorder(workspace.state, STEP, keep=not request.dry_run) as step:
            return carry_out(workspace, request, say, last, step=step, days=days, since=since)

    return in_turn(workspace.state, work, lambda _: False)


def _ended_day(workspace: Workspace, named: str, name: str = "days") -> date:
    day = parse_day(named, name) if is_iso_day(named) else dates.past_day(workspace, named, name)
    if day >= workspace.now().date():
        raise UsageProblem(
            f"{field(name)}: {day} has not ended yet", "Only past days can be consolidated."
        )
    return day


def carry_out(
    workspace: Workspace,
    request: Dream,
    say: Say,
    last: date,
    step: StepRecord,
    days: Sequence[date] = (),
    since: date | None = None,
) -> DreamResult:
    """Do the night of some ended days, or of what is new up to the last one.

    The caller has the turn. The step gets its figures, whatever ends it. Raises: MdmemError.
    """
    work = _NightWork(workspace, request, say, last=last, days=days, since=since)
    step.run = work.run
    try:
        work.carry_out()
    finally:
        result = work.result()
        step.figures = result.figures
    step.outcome = result.outcome or (
        DONE if any(change.commit for change in result.changes) else UNCHANGED
    )
    return result


def _figures(judged: Sequence[DreamChange], model: ModelFigures) -> StepFigures:
    changes = [change for change in judged if change.op is not DreamOp.NONE]
    left = [change for change in judged if change.op is DreamOp.NONE]
    doubled = sum(change.why in DOUBLED for change in left)
    return StepFigures(
        messages=len(judged),
        noise=len(left) - doubled,
        entries=sum(change.applied for change in changes),
        proposed=sum(not change.applied for change in changes),
        doubled=doubled,
        refused=model.bad_answers,
        tokens=model.tokens,
    )
