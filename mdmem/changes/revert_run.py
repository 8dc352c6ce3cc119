"""Take back a run: all that its commits did, the newest first, or nothing; with `skip`, all but what later edits hold fast."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem import files
from mdmem.changes.revert_plan import HeldChange, RevertPlan, plan_reverts
from mdmem.document import parse, parse_bytes
from mdmem.errors import SectionProblem
from mdmem.history.notes import parse_message, parse_notes
from mdmem.model import CommitId, FilePath
from mdmem.model.writes import Revert
from mdmem.startup.records import dataclass, replace
from mdmem.verbs.revert import undone
from mdmem.wording import field, number_of
from mdmem.workspace import Workspace

_MOST_NAMED, _QUOTED = 8, 80


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plans by which commits of a run are taken back, the newest first. `held` is what later edits hold fast."""

    plans: tuple[RevertPlan, ...]
    held: tuple[HeldChange, ...]


@dataclass(frozen=True, slots=True)
class RunCommits:
    """The commits of a run that led to HEAD, the newest first; merged ones too. In the `squashed` ones, other work was squashed with the run's."""

    ids: tuple[CommitId, ...]
    squashed: tuple[CommitId, ...]


def run_commits(workspace: Workspace, run: str) -> RunCommits:
    """Find the commits of a run."""
    repository = workspace.repository
    if repository.head() is None:
        return RunCommits((), ())
    command = ("log", "-z", "--topo-order", "--format=%H%n%B", "--fixed-strings")
    output = repository.git(*command, f"--grep=Mdmem-Run: {run}", "HEAD").decode("utf-8", "replace")
    messages = {CommitId(commit): message for commit, _, message in (entry.partition("\n") for entry in output.split("\0"))}
    ids = [commit for commit, message in messages.items() if parse_message(message).run == run]
    stating = [commit for commit, message in messages.items() if any(each.note.run == run for each in parse_notes(message))]
    return RunCommits(tuple(ids), tuple(commit for commit in stating if commit not in ids))


def plan_run(workspace: Workspace, commits: RunCommits, change: Revert) -> RunPlan:
    """Plan how the commits of a run are taken back; nothing is written.

    Raises:
        HistoryProblem: `cannot-revert`.
        SectionProblem: `revert-conflict`: later edits hold some of it fast, and these are not to be skipped.
    """
    texts: dict[FilePath, str] = {}
    plans: list[RevertPlan] = []
    held = [HeldChange(commit=each, path=None, what="other work was squashed with it", details={}) for each in commits.squashed]
    for plan in plan_reverts(workspace, commits.ids, change):
        held += plan.held
        edits = []
        for edit in plan.edits:
            if edit.path not in texts:
                data = files.read(files.path_on_disk(workspace.root, edit.path))
                texts[edit.path] = parse_bytes(data or b"").text
            try:
                text = undone(edit, parse(texts[edit.path])).text
            except SectionProblem as problem:
                held.append(HeldChange(commit=edit.reverts, path=edit.path, what=_first_line(problem), details=problem.details))
                continue
            edits += [edit] if text != texts[edit.path] else []
            texts[edit.path] = text
        plan = replace(plan, edits=tuple(edits))
        plans += [plan] if plan.does_something else []
    if held and not change.skip:
        raise _held_fast(change.reference, held)
    return RunPlan(tuple(plans), tuple(held))


def _first_line(problem: SectionProblem) -> str:
    """The first line that a change made and that is no more as it made it; where it made none, the problem's own words."""
    made = str(problem.details.get("made", problem.message))
    return made.strip().partition("\n")[0] or problem.message


def _held_fast(run: str, held: Sequence[HeldChange]) -> SectionProblem:
    """The refusal that names all that later edits hold fast."""
    named = "\n".join(held_lines(held))
    details = [{"commit": each.commit, "path": each.path, **each.details} for each in held]
    hint = f"{named}\nTo keep these and undo the rest, use {field('skip')}."
    return SectionProblem(
        "revert-conflict", f"later edits changed what {run} did: {number_of(len(held), 'change')}", hint, conflicts=details
    )


def held_lines(held: Sequence[HeldChange]) -> list[str]:
    """A line for each of the first changes that later edits hold fast."""
    lines = [f"{each.path or each.commit[:10]}: {' '.join(each.what.split())[:_QUOTED]}" for each in held]
    return lines if len(lines) <= _MOST_NAMED else [*lines[: _MOST_NAMED - 1], f"{len(lines) - _MOST_NAMED + 1} more"]
