"""`task`: begin, note, end and read tasks that go on across sessions."""

from __future__ import annotations

from collections.abc import Callable

from mdmem.changes import tasks
from mdmem.model.reads import SectionView
from mdmem.model.writes import WriteOptions, WriteResult
from mdmem.startup.records import dataclass
from mdmem.workspace import Say, Workspace


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a workspace.

    `seen_by` is memory as an actor (None: the workspace's) sees it; `write` does some work that
    writes, as an event with this name.
    """

    workspace: Workspace
    seen_by: Callable[[str | None], Workspace]
    say: Say
    apply: tasks.Apply
    write: Callable[[str, WriteOptions, Callable[[], WriteResult]], WriteResult]

    def start(self, name: str, goal: str, options: WriteOptions) -> WriteResult:
        """Begin a task, unless it exists.

        Raises TextProblem (`empty-text`, `bad-text`), SectionProblem (`section-ambiguous`).
        """
        return tasks.start_task(self.workspace, name, goal, options, self.apply)

    def note(self, name: str, text: str, options: WriteOptions) -> WriteResult:
        """Add a note to a task.

        Raises TextProblem (`empty-text`), SectionProblem (`task-not-found`, `section-ambiguous`).
        """
        return tasks.add_task_note(self._seen(options), name, text, options, self.apply)

    def end(self, name: str, outcome: str, options: WriteOptions) -> WriteResult:
        """Log the outcome of a task and remove its notes: both, or nothing.

        Raises TextProblem (`empty-text`), SectionProblem (`task-not-found`, `section-ambiguous`;
        `section-changed`: there is a new note), MdmemError as any write.
        """
        return self.write(
            "task-done",
            options,
            lambda: tasks.finish_task(self.workspace, name, outcome, options, self.say),
        )

    def show(self, name: str) -> SectionView:
        """Read the notes of a task.

        Raises SectionProblem (`task-not-found`, `section-ambiguous`).
        """
        return tasks.show_task(self.seen_by(None), name)

    def names(self) -> tuple[str, ...]:
        """List the names of the open tasks."""
        return tasks.task_names(self.seen_by(None))

    def _seen(self, options: WriteOptions) -> Workspace:
        return self.seen_by(self.workspace.given_actor(options.actor))
