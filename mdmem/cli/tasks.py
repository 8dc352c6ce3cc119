"""Commands for tasks, reviews and figures."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.commands import Answer, ask, open_memory, read_argument, use_blocks, use_colour
from mdmem.cli.fast_parser import Call
from mdmem.cli.write_options import write_answer, write_options
from mdmem.memory import markdown_trends
from mdmem.model.errors import UsageProblem, near_names, one_of
from mdmem.model.reads import ShowFigures
from mdmem.show import figures, reads, writes
from mdmem.show.formatting import one_line
from mdmem.show.values import to_json
from mdmem.startup.records import replace

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import Json, TaskName, Weeks, Writing


_SEARCH, _CONTEXT, _RUNS, _TRENDS = _SUBJECTS = ("search", "context", "runs", "trends")


def task_start(
    call: Call,
    name: TaskName,
    goal: Annotated[
        str, typer.Argument(metavar="GOAL", help="The goal; '-' reads standard input.")
    ],
    **shared: Writing,
) -> Answer:
    """Begin a task, or continue an existing one.

    Its notes are in memory/tasks.md until it is done. For an existing task, they are shown and
    nothing is changed.
    """
    memory = open_memory(call)
    result = memory.tasks.start(name, read_argument(goal), write_options(shared))
    if result.changed or result.proposed or result.diff is not None:
        return write_answer(result)
    notes = memory.tasks.show(name)
    return Answer(
        {**to_json(result), "text": notes.text},
        f"{writes.write_text(result)}\n{reads.section_text(notes, sys.stdout.isatty())}",
    )


def task_note(
    call: Call,
    name: TaskName,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The note; '-' reads standard input.")
    ],
    **shared: Writing,
) -> Answer:
    """Add a note to a task, with its time."""
    return write_answer(
        open_memory(call).tasks.note(name, read_argument(text), write_options(shared))
    )


def task_done(
    call: Call,
    name: TaskName,
    outcome: Annotated[
        str,
        typer.Argument(
            metavar="OUTCOME", help="The outcome, for the day's log; '-' reads standard input."
        ),
    ],
    **shared: Writing,
) -> Answer:
    """End a task: log its outcome, remove its notes."""
    result = open_memory(call).tasks.end(name, read_argument(outcome), write_options(shared))
    answer = write_answer(result, result.added)
    if not result.changed:
        return replace(answer, notes=result.notes)
    if result.proposed or result.diff is not None:
        return answer
    return replace(answer, text=f"done: {one_line(name)}; {answer.text}")


def task_show(
    call: Call,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The task. [default: the names of all are listed]"),
    ] = None,
    as_json: Json = False,
) -> Answer:
    """Read the notes of a task."""
    memory = open_memory(call)
    if name is None:
        names = memory.tasks.names()
        return Answer({"tasks": names}, reads.tasks_text(names), () if names else ("no tasks",))
    view = memory.tasks.show(name)
    return Answer(view, reads.section_text(view, sys.stdout.isatty()))


def stats(
    call: Call,
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="search, context, runs or trends. [default: what was done, by command]",
        ),
    ] = None,
    weeks: Weeks = 12,
    as_json: Json = False,
) -> Answer:
    """Show usage statistics by week.

    Without WHAT: how often each command ran, how long it took (median and 95th percentile), and how
    often it was refused or failed.

    With search: the share without results, the number of results, the first score, how far the
    median score is below the first (spread), the age of the results in days, and a note if the
    newest week differs from the weeks before by more than chance.

    With context: the share of prompts that got a block, its tokens, how much of it the session had
    been given before, and how many new texts the guard kept or dropped (those that repeat memory).

    With runs: what digests and dreams read and wrote. With trends: how memory, or the Markdown of
    any repository (-C DIR), changes over time.
    """
    if subject == _TRENDS:
        return ask(call, _TRENDS, "subject")
    if subject is None:
        by_verb = open_memory(call).figures.of_verbs(ShowFigures(weeks))
        return Answer(
            by_verb,
            figures.figures_text(by_verb, use_colour()),
            figures.notes(
                by_verb.damaged, "" if by_verb.verbs else "nothing was done in these weeks"
            ),
        )
    if subject == _CONTEXT:
        blocks = open_memory(call).figures.of_contexts(ShowFigures(weeks))
        return Answer(
            blocks,
            figures.contexts_text(blocks, use_colour()),
            figures.notes(blocks.damaged, "" if blocks.weeks else "no blocks in these weeks"),
        )
    if subject == _RUNS:
        of_runs = open_memory(call).pipelines.figures(ShowFigures(weeks))
        return Answer(
            of_runs,
            figures.runs_text(of_runs, use_colour()),
            () if of_runs.weeks else ("no runs in these weeks",),
        )
    if subject != _SEARCH:
        raise UsageProblem(f"no figures for {subject!r}", _nearest(subject))
    weekly = open_memory(call).figures.of_searches(ShowFigures(weeks))
    return Answer(
        weekly,
        figures.searches_text(weekly, use_colour()),
        figures.notes(weekly.damaged, "" if weekly.weeks else "no searches in these weeks"),
    )


def trends(
    call: Call,
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="The folder. [default: -C, else here]")
    ] = None,
    weeks: Weeks = 12,
    as_json: Json = False,
) -> Answer:
    """Show how memory, or any Markdown in git, changes over time.

    It needs no workspace and writes nothing: everything comes from git, along the branch that is
    checked out. It shows lines now and by week, lines added and removed, how long a line lasts, who
    writes, and the largest files; of a workspace also its facts by source and kind, what was
    replaced and contradicted by week, and how long curated facts last.
    """
    place = Path(folder or call.workspace or ".")
    found = markdown_trends(place, ShowFigures(weeks), os.environ)
    return Answer(
        found,
        figures.trends_text(found, use_colour(), use_blocks()),
        () if found.commits else ("no commit changed a Markdown file",),
    )


def _nearest(word: str) -> str:
    near = near_names(word, _SUBJECTS, 1)
    meant = f"Did you mean: mdmem stats {near[0]}" if near else ""
    return meant or f"mdmem stats alone, or with {one_of(_SUBJECTS)}"
