"""Options that several commands share."""

from typing import Annotated, Any

import typer

from mdmem.model import Source
from mdmem.transcripts import CLIENT_NAMES

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
File = Annotated[
    str | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="A Markdown file, relative to the workspace. [default: MEMORY.md]",
    ),
]
AnyFile = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="A Markdown file, relative to the workspace."),
]
SectionOption = Annotated[
    str | None,
    typer.Option("--section", metavar="SECTION", help="A heading, or several joined by ' > '."),
]
_KINDS = ["fact", "decision", "preference", "lesson", "status", "task"]
_REFUSALS = ["shrink", "append", "secret"]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"{', '.join(_KINDS)} or a word of your own.",
        autocompletion=lambda: _KINDS,
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="A tag; may be given several times."),
]
SourceOption = Annotated[
    Source,
    typer.Option("--source", metavar="SOURCE", help="Who says so: user-stated, inferred or auto."),
]
Confidence = Annotated[
    float | None,
    typer.Option("--confidence", metavar="N", help="Confidence (0 to 1). [default: by the source]"),
]
Actor = Annotated[
    str | None,
    typer.Option(
        "--actor",
        metavar="NAME",
        help="Name of the writer. [default: MDMEM_ACTOR, else the `actor` setting]",
    ),
]
Session = Annotated[
    str | None,
    typer.Option("--session", metavar="NAME", help="The session to record in the commit."),
]
ByActor = Annotated[
    str | None,
    typer.Option(
        "--actor",
        metavar="NAME",
        help="Only by this actor, or by this author if a commit names no actor.",
    ),
]
InSession = Annotated[
    str | None,
    typer.Option(
        "--session", metavar="NAME", help="Only of this session, named with or without its client."
    ),
]
Client = Annotated[
    str | None,
    typer.Option(
        "--client",
        metavar="CLIENT",
        help=f"Only {', '.join(CLIENT_NAMES[:-1])} or {CLIENT_NAMES[-1]}.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="DAY",
        help="From this day on: 2026-11-21, 2026-11, or words such as yesterday or last March.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="DAY", help="Up to this day (inclusive), or to the end of this month."
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE|COMMIT",
        help="Memory at the end of that day (also words such as last March), or at that commit.",
    ),
]
Reason = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in the commit.")
]
Supersedes = Annotated[
    str | None,
    typer.Option("--supersedes", metavar="FACT", help="Mark FACT as replaced by the new text."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the change as a diff; write nothing.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="NAME",
        help="Override a check: shrink, append or secret.",
        autocompletion=lambda: _REFUSALS,
    ),
]
Propose = Annotated[
    bool, typer.Option("--propose", help="Propose it for review, on a branch of its own.")
]
To = Annotated[
    str | None, typer.Option("--to", metavar="ID", help="With --propose: add it to this proposal.")
]
Again = Annotated[bool, typer.Option("--again", help="Propose it even if it was rejected before.")]
Decided = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ITEM",
        help="Numbers of the list (1 4-9, 1b), or the ID of a proposal, then any of its parts.",
    ),
]
DecidedSection = Annotated[
    str | None, typer.Option("--section", metavar="SECTION", help="Only items of this section.")
]
DecidedFile = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="Only items of this file.")
]
DecidedActor = Annotated[
    str | None, typer.Option("--from", metavar="ACTOR", help="Only items that this actor proposed.")
]
DecidedAll = Annotated[
    bool,
    typer.Option("--all", help="All items except outdated ones and those with several values."),
]
ListStamp = Annotated[
    str | None,
    typer.Option("--list", metavar="STAMP", help="The list. [default: the newest that you saw]"),
]
FactArgument = Annotated[
    str,
    typer.Argument(
        metavar="FACT",
        help="Its exact text, key or id, or the first six or more characters of its id.",
    ),
]
Preamble = Annotated[bool, typer.Option("--preamble", help="The text before the first heading.")]
Nth = Annotated[int | None, typer.Option("--nth", metavar="N", help="Which one, if several match.")]
TaskName = Annotated[str, typer.Argument(metavar="NAME", help="The task, in one line.")]


def _committing(
    actor: Actor = None,
    session: Session = None,
    reason: Reason = None,
    allow: Allow = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Hold the parameters that every command with a commit shares; it is never called."""


# `app` replaces `**shared: Committing` by the parameters of that signature
Committing = Annotated[Any, _committing]


def _writing(
    source: SourceOption = Source.INFERRED, confidence: Confidence = None, **shared: Committing
) -> None:
    """Hold the parameters that every writing command shares; it is never called."""


Writing = Annotated[Any, _writing]  # for commands that write a statement, which has a source
