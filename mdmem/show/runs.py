"""Results of digests, dreams, runs and schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mdmem.model.errors import number_of, shell_word, verb
from mdmem.model.pipelines import (
    MOST_STANDING_PARTS,
    NOTHING_TO_DO,
    PASSING,
    TOO_MANY_WAIT,
    UNCHANGED,
    DigestedEntry,
    DigestResult,
    DreamOp,
    DreamResult,
    LeftSession,
    ModelFigures,
    RunResult,
    Schedule,
    ScheduleResult,
    StepFigures,
    StepResult,
)
from mdmem.show.formatting import one_line


def digest_text(result: DigestResult) -> str:
    return "\n".join(_digest_lines(result))


def _said_lines(entries: Sequence[DigestedEntry]) -> Iterator[str]:
    day = None
    for entry in sorted(entries, key=lambda entry: (entry.day, entry.minute)):
        if entry.day != day:
            day = entry.day
            yield f"{day.isoformat()}"
        words = entry.minute, f"[{entry.kind}]" if entry.kind else "", entry.text
        cites = ", ".join(entry.cites)
        yield one_line(f"  {' '.join(filter(None, words))}  ({entry.source.value}, {cites})")


def _digest_lines(result: DigestResult) -> Iterator[str]:
    yield from _said_lines(result.entries)
    yield from digest_outcome(result).splitlines()


def digest_outcome(result: DigestResult) -> str:
    """The figures, and what was left out and why."""
    return "\n".join(_outcome_lines(result))


def _outcome_lines(result: DigestResult) -> Iterator[str]:
    if result.figures.sessions or not result.left:
        yield _totals(result)
    if result.model is not None:
        yield from _model_lines(result.model)
    if result.only_outside:
        yield _outside_line(result.only_outside)
    yield from (one_line(_skipped(left)) for left in result.left)


def _totals(result: DigestResult) -> str:
    counted = result.figures
    if not counted.sessions:
        return "nothing new in the sessions"
    parts = [
        f"{number_of(counted.messages, 'message')} of {number_of(counted.sessions, 'session')}"
        " read",
        f"{len(result.entries)} kept",
        *(f"{count} {words}" for count, words in _exceptions(counted) if count),
    ]
    return ", ".join(parts)


def import_text(result: DigestResult) -> str:
    figures = result.figures
    counts = (
        (figures.sessions, f"{number_of(figures.sessions, 'conversation')} read"),
        (figures.doubled, f"{figures.doubled} already there"),
        (figures.redacted, f"{number_of(figures.redacted, 'message')} with a secret"),
        (figures.refused, f"{figures.refused} removed before"),
        (figures.surplus, f"{figures.surplus} over the limit of a day, or of one import"),
        (figures.skipped, f"{number_of(figures.skipped, 'file')} in no known format"),
    )
    parts = [f"{len(result.entries)} kept", *(words for count, words in counts if count)]
    left = (one_line(f"left out: {left.session}: {left.why}") for left in result.left)
    return "\n".join((*_said_lines(result.entries), ", ".join(parts), *left))


def _skipped(left: LeftSession) -> str:
    why = "not a transcript of a supported client" if left.why == "unknown-format" else left.why
    return f"skipped: {left.session}: {why}"


def _outside_line(count: int) -> str:
    return (
        f"{number_of(count, 'session')} of other folders left out, and none is of this one; to read"
        ' all: session_scope = "all" in your user settings'
    )


def _model_lines(figures: ModelFigures) -> Iterator[str]:
    parts = [
        *(
            [
                f"{number_of(figures.requests, 'request')} ({figures.size:,} bytes,"
                f" {figures.tokens:,} tokens)"
            ]
            if figures.requests
            else []
        ),
        *([f"{figures.entries} of the entries"] if figures.entries else []),
        *(
            [f"{number_of(figures.bad_answers, 'suggestion')} refused"]
            if figures.bad_answers
            else []
        ),
        *([f"{number_of(figures.waiting, 'session')} waiting"] if figures.waiting else []),
        *([one_line(f"{figures.outcome}: {figures.message}")] if figures.outcome else []),
    ]
    if parts:
        yield f"model: {', '.join(parts)}"


def _exceptions(figures: StepFigures) -> Iterator[tuple[int, str]]:
    yield figures.doubled, "already logged"
    yield figures.redacted, "with a secret"
    yield figures.refused, "refused"
    yield figures.surplus, "over the limit for their day"


_SIGNS = {DreamOp.ADD: "+", DreamOp.UPDATE: "~", DreamOp.DELETE: "-", DreamOp.NONE: " "}


def dream_text(result: DreamResult) -> str:
    return "\n".join(one_line(line) for line in _dream_lines(result))


def _dream_lines(result: DreamResult) -> Iterator[str]:
    for change in result.changes:
        if change.op is not DreamOp.NONE:
            fate = "" if change.applied else ", proposed" if change.proposal else ", to be proposed"
            cites = f"; {', '.join(change.cites)}" if change.cites else ""
            yield (
                f"{_SIGNS[change.op]} {change.fact} {change.text}  ({change.source.value}{fate}:"
                f" {change.why}{cites})"
            )
    yield dream_totals(result)
    reasons = Counter(change.why for change in result.changes if change.op is DreamOp.NONE)
    for why, count in reasons.most_common():
        yield f"  {count} skipped: {why}"
    if (model := result.model).requests:
        bad = model.bad_answers
        refused = f", {number_of(bad, 'suggestion')} refused" if bad else ""
        yield (
            f"model: {number_of(model.requests, 'request')} ({model.size:,} bytes,"
            f" {model.tokens:,} tokens){refused}"
        )


def dream_totals(result: DreamResult) -> str:
    changes = [change for change in result.changes if change.op is not DreamOp.NONE]
    applied, skipped = sum(change.applied for change in changes), len(result.changes) - len(changes)
    return f"{result.run}: {applied} applied, {len(changes) - applied} proposed, {skipped} skipped"


def dream_notes(result: DreamResult) -> tuple[str, ...]:
    notes = [result.model.message] if result.model.message else []
    if surplus := sum(change.why == TOO_MANY_WAIT for change in result.changes):
        notes.append(
            f"{number_of(surplus, 'entry', 'entries')} more not proposed; up to"
            f" {MOST_STANDING_PARTS} can be open at once."
        )
    if any(change.proposal for change in result.changes):
        notes.append(
            f"To review: {verb('proposals')}. To accept everything: {verb('accept')}"
            f" {shell_word(result.run)}"
        )
    return tuple(notes)


def run_text(result: RunResult, only_failures: bool) -> str:
    return "\n".join(
        one_line(line)
        for step in result.steps
        if step.record.failed or not only_failures
        for line in _step_lines(step)
    )


def _step_lines(step: StepResult) -> Iterator[str]:
    record, figures = step.record, step.record.figures
    if step.message:
        yield (
            f"{record.step}: {record.outcome}:"
            f" {step.message}{f' ({step.hint})' if step.hint else ''}"
        )
    elif record.outcome == NOTHING_TO_DO:
        yield f"{record.step}: nothing to do"
    elif record.outcome == UNCHANGED:
        yield f"{record.step}: nothing new"
    elif step.sync:
        yield f"{record.step}: {step.sync.pulled} pulled, {step.sync.pushed} pushed"
    elif record.step == "dream":
        trouble = f", {record.outcome}" if record.outcome in PASSING else ""
        yield (
            f"{record.step}: {number_of(figures.entries, 'change')}, {figures.proposed}"
            f" proposed{trouble} ({record.run})"
        )
    else:
        entries, sessions = (
            number_of(figures.entries, "entry", "entries"),
            number_of(figures.sessions, "session"),
        )
        trouble = f", {record.outcome}" if record.outcome in PASSING else ""
        yield (
            f"{record.step}: {entries} of {sessions},"
            f" {number_of(figures.messages, 'message')}{trouble} ({record.run})"
        )
    if step.outside:
        yield f"  warning: {_outside_line(step.outside)}"
    yield from (f"  {_skipped(left)}" for left in step.left)


def schedule_text(request: Schedule, result: ScheduleResult) -> str:
    name = result.timer or "a line in your crontab"
    if request.install:
        return (
            f"scheduled every five minutes: {name}"
            if result.active
            else f"wrote {' and '.join(_paths(result))}"
        )
    if request.uninstall:
        return f"no longer scheduled: {name}" if result.changed else "it was not scheduled"
    return "\n".join(
        f"# {file.path}\n{file.text}" if file.path else file.text for file in result.files
    ).rstrip("\n")


def _paths(result: ScheduleResult) -> Sequence[str]:
    return [str(file.path) for file in result.files]


def schedule_notes(request: Schedule, result: ScheduleResult) -> tuple[str, ...]:
    aim = (
        "start the timer"
        if request.install
        else "stop the timer"
        if request.uninstall
        else "install it"
    )
    return (*(f"To {aim}: {command}" for command in result.next), *result.notes)
