"""Take back a run: all that its commits did, the newest first, or nothing; with leave, all but what later edits hold fast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mdmem import files
from mdmem.changes.edits import RevertEdit
from mdmem.changes.revert_plan import RevertPlan, plan_reverts
from mdmem.document import parse, parse_bytes
from mdmem.editors import merge
from mdmem.errors import SectionProblem
from mdmem.history.notes import parse_message
from mdmem.model import CommitId, FilePath
from mdmem.model.writes import Revert
from mdmem.startup.records import dataclass, replace
from mdmem.wording import field, number_of
from mdmem.workspace import Workspace

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plans by which commits of a run are taken back, the newest first. `held` are the edits that later ones hold fast, and why."""

    plans: tuple[RevertPlan, ...]
    held: tuple[tuple[RevertEdit, SectionProblem], ...]


def run_commits(workspace: Workspace, run: str) -> list[CommitId]:
    """The commits of a run that led to HEAD, the newest first, those among them that a merge brought."""
    repository = workspace.repository
    if repository.head() is None:
        return []
    command = ("log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--topo-order", "--format=%H%n%B", "--fixed-strings")
    output = repository.git(*command, f"--grep=Mdmem-Run: {run}", "HEAD").decode("utf-8", "replace")
    commits = [entry.partition("\n") for entry in output.split("\0") if entry]
    return [CommitId(commit) for commit, _, message in commits if parse_message(message).run == run]


def plan_run(workspace: Workspace, commits: Sequence[CommitId], change: Revert) -> RunPlan:
    """Plan how the commits of a run (the newest first) are taken back; nothing is written.

    Raises:
        HistoryProblem: `cannot-revert`.
        SectionProblem: `revert-conflict`: later edits hold some of it fast, and these are not to be skipped.
    """
    texts: dict[FilePath, str] = {}
    plans: list[RevertPlan] = []
    held: list[tuple[RevertEdit, SectionProblem]] = []
    for plan in plan_reverts(workspace, commits, change):
        edits = []
        for edit in plan.edits:
            if edit.path not in texts:
                data = files.read(files.path_on_disk(workspace.root, edit.path))
                texts[edit.path] = parse_bytes(data or b"").text
            try:
                text = merge.undo(parse(texts[edit.path]), edit.after, edit.before, edit.only).text
            except SectionProblem as problem:
                held.append((edit, problem))
                continue
            edits += [edit] if text != texts[edit.path] else []
            texts[edit.path] = text
        plans += [each for each in [replace(plan, edits=tuple(edits))] if each.does_something]
    if held and not change.skip:
        raise _held_fast(change.reference, held)
    return RunPlan(tuple(plans), tuple(held))


def _held_fast(run: str, held: Sequence[tuple[RevertEdit, SectionProblem]]) -> SectionProblem:
    """The refusal that names all that later edits hold fast."""
    named = "\n".join(held_lines(held))
    details = [{"commit": edit.reverts, "path": edit.path, **problem.details} for edit, problem in held]
    hint = f"{named}\n{field('skip')} leaves these as they are, and takes the rest back."
    return SectionProblem(
        "revert-conflict", f"later edits changed what {run} did: {number_of(len(held), 'change')}", hint, conflicts=details
    )


def held_lines(held: Iterable[tuple[RevertEdit, SectionProblem]]) -> list[str]:
    """A line for each of the first edits that later ones hold fast."""
    lines = [f"{edit.path}, line {problem.details['line']}: changed again since {edit.reverts[:10]}" for edit, problem in held]
    return lines if len(lines) <= _MOST_NAMED else [*lines[: _MOST_NAMED - 1], f"{len(lines) - _MOST_NAMED + 1} more"]
