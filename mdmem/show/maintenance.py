"""Results of looking after memory: setups, findings of the doctor, reviews, redactions, syncs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mdmem.folder.layout import CURATED_NAMES
from mdmem.model.errors import number_of, shell_word, verb
from mdmem.model.pipelines import SyncResult
from mdmem.model.proposals import Advice, ReviewResult
from mdmem.show.formatting import (
    named_commit,
    one_line,
    steerless,
    unreadable_line,
    waiting_line,
)

if TYPE_CHECKING:
    from mdmem.health.doctor import Finding
    from mdmem.health.wiring import HostChange
    from mdmem.model.reads import FoundWorkspace, InitResult


def initialised_text(result: InitResult) -> str:
    planned, done = (
        ("adopt", "adopted workspace")
        if result.newly_adopted
        else ("create", "created workspace")
        if set(CURATED_NAMES).intersection(result.written)
        else ("use", "workspace is ready:")
    )
    done = f"would {planned} workspace" if result.planned else done
    files = f" ({', '.join(result.written)})" if result.written else ""
    files += f" for {result.project}" if result.project else ""
    files += f", removed the instructions from {result.took_out}" if result.took_out else ""
    return one_line(f"{done} {result.workspace}{files}{named_commit(result.commit)}")


def found_text(found: Iterable[FoundWorkspace], adopted: Collection[str]) -> str:
    rows = []
    for each in found:
        if each.path in adopted:
            rows.append(one_line(f"adopted {each.path}"))
        elif each.own:
            rows.append(f"not adopted: {found_line(each)}")
        else:
            command = f"To use it: mdmem init {shell_word(each.path)}"
            rows.append(
                one_line(f"not adopted, with changes by others: {found_line(each)}. {command}")
            )
    return "\n".join(rows)


def found_line(workspace: FoundWorkspace) -> str:
    author = f" (last change by {workspace.last_change})" if workspace.last_change else ""
    return one_line(f"{workspace.path}{author}")


def hosts_text(changes: Iterable[HostChange], undo: bool, dry_run: bool) -> str:
    """The changes of each host, and the line that takes them back."""
    rows = []
    for change in changes:
        would = "would be " if dry_run else ""
        done = [f"{would}run: {command}" for command in change.commands]
        done += [f"{would}{'restored' if undo else 'changed'}: {path}" for path in change.files]
        back = (
            [f"To take it back: mdmem init --for {shell_word(change.host)} --undo"] if done else []
        )
        rows.append(change.title if done or change.problems else f"{change.title}: as it was")
        for text in (*done, *change.problems, *change.notes, *([] if undo else back)):
            rows += [f"  {line}" for line in steerless(text).splitlines()]
    return "\n".join(rows)


def is_sound(findings: Iterable[Finding]) -> bool:
    return not any(each.level == "error" and not each.fixed for each in findings)


def findings_text(findings: Sequence[Finding], everything: bool) -> str:
    """Findings that are not in order, and one line for the rest; `everything` lists that too."""
    rows = []
    shown = [each for each in findings if everything or each.fixed or each.level != "ok"]
    for finding in shown:
        label = "fixed" if finding.fixed else finding.level.value
        rows.append(one_line(f"{label:<8}{finding.check}: {finding.message}"))
        rows += [f"        {one_line(row)}" for row in finding.hint.splitlines()]
    remaining = Counter(each.level.value for each in findings if not each.fixed)
    counted = [name for name in ("error", "warning", "note") if remaining[name]]
    problems = ", ".join(number_of(remaining[name], name) for name in counted) or "no problems"
    more = "" if everything else f" ({verb('doctor', 'everything')} lists them)"
    return "\n".join([*rows, f"{problems}; {number_of(remaining['ok'], 'check')} passed{more}"])


def reviewed_text(review: ReviewResult) -> str:
    done = [
        one_line(f"done: {_where(advice)}{named_commit(result.commit)}")
        for advice, result in review.done
    ]
    waiting = waiting_line(review.waiting)
    decide = [f"waiting for review: {waiting}\n    mdmem review --proposals"] if waiting else []
    unreadable = [f"proposal {unreadable_line(each)}" for each in review.waiting.unreadable]
    return "\n".join([*done, *map(advice_text, review.advice), *decide, *unreadable])


def advice_text(advice: Advice) -> str:
    mark = "  (safe)" if advice.safe else "  (both are true)" if advice.forgets else ""
    rows = [*map(_command_text, advice.forgets), f"{_command_text(advice.command)}{mark}"]
    return "\n    ".join([one_line(_where(advice)), *rows])


def _command_text(command: Iterable[str]) -> str:
    return " ".join(map(shell_word, command))


def _where(advice: Advice) -> str:
    return f"{advice.path}:{advice.line}: {advice.kind}: {advice.message}"


def redacted_text(clean: str) -> str:
    return steerless(clean).removesuffix("\n")


# Syncs.


def sync_text(result: SyncResult) -> str:
    if result.dry_run:
        return f"to sync with {result.remote}: {result.pulled} to pull, {result.pushed} to push"
    taken_in = f", merged {', '.join(result.taken_in)}" if result.taken_in else ""
    return f"synced with {result.remote}: {result.pulled} pulled, {result.pushed} pushed{taken_in}"


def sync_notes(result: SyncResult, conflicts: int = 0) -> Iterator[str]:
    """Lines on what the two sides had changed, and on the number of contradictions in memory."""
    for first, second in result.contradicts:
        yield f"contradiction: {first} and {second}"
    if conflicts:
        yield f"{number_of(conflicts, 'contradiction')} to settle: {verb('conflicts')}"
    if result.kept:
        count = number_of(len(result.kept), "fact")
        yield f"kept {count} that one side changed and the other removed: {' '.join(result.kept)}"
    yield from (each.line for each in result.incoming)
    for path in result.kept_files:
        yield f"{path} was removed on one side; it is kept"
    for each in result.set_aside:
        yield (
            f"{each.path} was changed on both sides: {result.remote}'s version is here, yours is"
            f" git show {each.blob}"
        )
