"""Options that several commands share, and those of commands with many."""

from typing import Annotated, Any

import typer

from mdmem.model import Source
from mdmem.model.rules import KINDS
from mdmem.model.searches import COMBINED_DAYS
from mdmem.sessions.clients import CLIENT_NAMES

FOR_AGENTS = "Options for agents"  # a heading of the help

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Weeks = Annotated[
    int, typer.Option("--weeks", metavar="N", help="The last N weeks, including this one.")
]
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
FileOrFolder = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="Only this file, or files below this folder."),
]
SectionOption = Annotated[
    str | None,
    typer.Option("--section", metavar="SECTION", help="A heading, or several joined by ' > '."),
]
SectionTree = Annotated[
    str | None,
    typer.Option("--section", metavar="SECTION", help="Only this section and its subsections."),
]
_REFUSALS = ["shrink", "append", "secret"]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"{', '.join(KINDS)} or a word of your own.",
        autocompletion=lambda: list(KINDS),
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="A tag; may be given several times."),
]
WithTags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Only what has this tag; of several, all of them."),
]
SourceOption = Annotated[
    Source | None,
    typer.Option(
        "--source",
        metavar="SOURCE",
        rich_help_panel=FOR_AGENTS,
        help=(
            "How it is known: user-stated (the user said it), inferred (concluded from something)"
            " or auto (added automatically). [default: user-stated if a person types it at a"
            " terminal, else inferred]"
        ),
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        metavar="N",
        rich_help_panel=FOR_AGENTS,
        help=(
            "Confidence (0 to 1). [default: by --source,"
            f" {', '.join(f'{source.confidence} {source}' for source in Source)}]"
        ),
    ),
]
Actor = Annotated[
    str | None,
    typer.Option(
        "--actor",
        metavar="NAME",
        rich_help_panel=FOR_AGENTS,
        help=(
            "Name of the agent that writes; a person needs none."
            " [default: MDMEM_ACTOR, else the `actor` setting]"
        ),
    ),
]
Session = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="NAME",
        rich_help_panel=FOR_AGENTS,
        help="The session to record in the commit.",
    ),
]
ByActor = Annotated[
    str | None,
    typer.Option(
        "--actor",
        metavar="NAME",
        help="Only what this actor wrote (the author, if a commit names no actor).",
    ),
]
InSession = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="NAME",
        help="Only what was written in this session: CLIENT/ID, or ID alone.",
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
WithFleet = Annotated[
    bool, typer.Option("--fleet", help="Search your fleet too: mdmem help fleet.")
]
FleetFile = Annotated[
    str | None,
    typer.Option(
        "--fleet", metavar="FILE", help="The settings of the fleet. [default: your fleet.toml]"
    ),
]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with", metavar="DIR", help="Read this workspace too; may be given several times."
    ),
]
Alone = Annotated[
    bool,
    typer.Option(
        "--alone", help="Read this workspace only, whatever workspaces the setting `pool` adds."
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
        "--until",
        metavar="DAY",
        help="Up to and including this day or month, written as for --since.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DAY|COMMIT",
        help="Memory at the end of that day (also words such as last March), or at that commit.",
    ),
]
Query = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUERY",
        help=(
            "Words; any of them may match. '\"green tea\"': these words in this order. 'tea -may':"
            " nothing with may. #x or tag:x: only what has this tag. With a filter alone: the"
            " newest matching entries."
        ),
    ),
]
BySource = Annotated[
    str | None,
    typer.Option("--source", metavar="SOURCE", help="Only what is user-stated, inferred or auto."),
]
MinConfidence = Annotated[
    float | None,
    typer.Option("--min-confidence", metavar="N", help="Minimum confidence (0 to 1)."),
]
RecentDays = Annotated[
    int | None,
    typer.Option(
        "--recent-days",
        metavar="N",
        help="Only the last N days of daily logs; curated files are always searched.",
    ),
]
Combined = Annotated[
    bool,
    typer.Option(
        "--combined", help=f"Curated files and recent logs: same as --recent-days {COMBINED_DAYS}."
    ),
]
Past = Annotated[
    bool,
    typer.Option("--history", help="Include facts that were superseded, expired or removed."),
]
WithMessages = Annotated[
    bool,
    typer.Option(
        "--sessions",
        help=(
            "Also list up to N (-n) messages from the sessions configured in your settings,"
            " after the memory results."
        ),
    ),
]
Reason = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="The reason, kept in the commit.")
]
Supersedes = Annotated[
    str | None,
    typer.Option(
        "--supersedes",
        metavar="FACT",
        help="Mark FACT (its text or id) as replaced by the new text.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the change as a diff; write nothing.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="NAME",
        rich_help_panel=FOR_AGENTS,
        help=(
            "Override a check: shrink (most of a file removed), append (existing log entries"
            " changed) or secret."
        ),
        autocompletion=lambda: _REFUSALS,
    ),
]
Propose = Annotated[
    bool, typer.Option("--propose", help="Propose it for review, as a part of your open proposal.")
]
Again = Annotated[bool, typer.Option("--again", help="Propose it even if it was rejected before.")]
Decided = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ITEM",
        help="Numbers from the list (1 4-9, 1b), or a proposal ID, then any of its parts.",
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
    typer.Option("--all", help="All items except outdated ones and those with competing values."),
]
ListStamp = Annotated[
    str | None,
    typer.Option(
        "--list",
        metavar="ID",
        help=(
            "Take the numbers from this list, by the ID printed under it."
            " [default: the last one shown]"
        ),
    ),
]
Older = Annotated[
    str | None,
    typer.Option("--older", metavar="AGE", help="Only items proposed longer ago than this: 30d."),
]
Vouch = Annotated[bool, typer.Option("--vouch", help="Record it as user-stated, in your name.")]
AcceptAnyway = Annotated[
    bool, typer.Option("--anyway", help="Accept the named parts even if they are outdated.")
]
ExportFolder = Annotated[
    str | None,
    typer.Option(
        "--export",
        metavar="DIR",
        help="Write the pages of what is committed into this folder instead.",
    ),
]
ExportSince = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="DAY", help="With --export: only what changed on this day or later."
    ),
]
Expiring = Annotated[
    str | None,
    typer.Option("--expiring", metavar="DAY", help="Only facts that expire on this day or before."),
]
ExpectedTip = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="COMMIT",
        rich_help_panel=FOR_AGENTS,
        help=(
            "With a proposal ID: refuse unless its branch is still at this commit (`tip` in"
            " mdmem review ID --json)."
        ),
    ),
]
EditedFirst = Annotated[
    list[str] | None,
    typer.Option(
        "--edit",
        metavar="ITEM",
        help="Edit this item in $EDITOR first; its text then counts as yours.",
    ),
]
FactArgument = Annotated[
    str,
    typer.Argument(
        metavar="FACT",
        help=(
            "Its exact text, key or id, the first six or more characters of its id, or its"
            " PATH:LINE."
        ),
    ),
]
SectionArgument = Annotated[
    str | None, typer.Argument(metavar="SECTION", help="A heading, or several joined by ' > '.")
]
MostRows = Annotated[
    int, typer.Option("-n", metavar="N", help="Maximum number of rows; 0 for all.")
]
EditPreamble = Annotated[
    bool,
    typer.Option("--preamble", help="The text before the first heading, instead of a section."),
]
Body = Annotated[
    str | None,
    typer.Option(
        "--body",
        metavar="TEXT",
        help="Replace the section's own text, above its subsections. '-' reads standard input.",
    ),
]
Append = Annotated[
    str | None, typer.Option("--append", metavar="TEXT", help="Add at the end of its own text.")
]
Prepend = Annotated[
    str | None,
    typer.Option("--prepend", metavar="TEXT", help="Add at the beginning of its own text."),
]
OldWords = Annotated[
    str | None,
    typer.Option("--replace", metavar="OLD", help="Replace OLD, which must occur exactly once."),
]
NewWords = Annotated[
    str | None, typer.Option("--with", metavar="NEW", help="The replacement for --replace.")
]
NewTitle = Annotated[str | None, typer.Option("--rename", metavar="TITLE", help="Rename it.")]
CreateSection = Annotated[
    bool, typer.Option("--create", help="Create the file and headings if missing.")
]
After = Annotated[
    str | None,
    typer.Option("--after", metavar="SECTION", help="With --create: place it after this section."),
]
Expect = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="ETAG",
        rich_help_panel=FOR_AGENTS,
        help="Refuse if the section no longer has this etag (mdmem outline FILE lists etags).",
    ),
]
Subtree = Annotated[
    bool,
    typer.Option(
        "--subtree",
        help=(
            "Include its subsections in what is removed, replaced or searched; --expect then"
            " takes the tree_etag (mdmem show SECTION --json)."
        ),
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        help="Subject of the fact; a new fact replaces the value that its key has.",
    ),
]
FactSection = Annotated[
    str | None,
    typer.Option(
        "--section",
        metavar="SECTION",
        help=(
            "A heading, or several joined by ' > '. [default: the section that has the key,"
            " else the one for its kind, such as Preferences, else Facts]"
        ),
    ),
]
LastDay = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="DAY",
        help="The last day on which it is true: a date, or words such as next friday.",
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        metavar="N",
        help="Maximum number of tokens. [default: 2000; 500 for a prompt]",
    ),
]
BlockWindow = Annotated[
    int | None,
    typer.Option(
        "--window",
        metavar="N",
        help=(
            "Size of the model's context window in tokens. The budget is then 15 percent, or as"
            " --profile says."
        ),
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="KIND",
        help=("With --window: coding, general or knowledge, for a budget of 10, 15 or 20 percent."),
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="PART",
        help=(
            "Leave out a part: profile (USER.md, SOUL.md, IDENTITY.md), pinned (MEMORY.md), tasks,"
            " days (today and yesterday), found (what answers the prompt), tags, or notes (such as"
            " contradictions); separate several with commas."
        ),
    ),
]
NewWorkspace = Annotated[
    str | None,
    typer.Argument(
        metavar="DIR", help="The folder. [default: -C, else MDMEM_WORKSPACE, else here]"
    ),
]
OutsideProject = Annotated[
    bool,
    typer.Option(
        "--outside",
        help=(
            "Memory for this project in a repository of its own: DIR may be a URL to clone."
            " [default DIR: a new folder in ~/.local/share/mdmem]"
        ),
    ),
]
InThisFolder = Annotated[
    bool,
    typer.Option(
        "--here", help="In this folder, although it is code, your home, or has another memory."
    ),
]
AgentsFile = Annotated[
    str | None,
    typer.Option(
        "--agents",
        metavar="[FILE]",
        help="Add instructions for agents on using memory to FILE. [default FILE: AGENTS.md]",
    ),
]
NoAgentsFile = Annotated[
    str | None,
    typer.Option(
        "--no-agents", metavar="[FILE]", help="Remove those instructions. [default FILE: AGENTS.md]"
    ),
]
SharedMerging = Annotated[
    bool,
    typer.Option(
        "--shared", help="Commit a .gitattributes, so that clones merge memory by section too."
    ),
]
Leave = Annotated[
    bool,
    typer.Option("--leave", help="Stop serving this workspace to agents. Nothing in it changes."),
]
FindWorkspaces = Annotated[
    bool,
    typer.Option(
        "--found", help="Find workspaces under your home folder and choose which to adopt."
    ),
]
AgentHost = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="HOST|all",
        help="Set an agent's host up to use mdmem; all: those that are installed.",
    ),
]
UndoHost = Annotated[
    bool, typer.Option("--undo", help="With --for: take out what was put into the host.")
]
HostProject = Annotated[
    bool,
    typer.Option("--project", help="With --for: also write what the host reads in projects alone."),
]
Preamble = Annotated[bool, typer.Option("--preamble", help="The text before the first heading.")]
Nth = Annotated[int | None, typer.Option("--nth", metavar="N", help="Which one, if several match.")]
WithKey = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Only facts with this key.")
]
AnyOfTags = Annotated[
    list[str] | None,
    typer.Option(
        "--any-tag",
        metavar="TAG",
        help="What has any of these tags; facts with most of them come first.",
    ),
]
TagList = Annotated[
    bool, typer.Option("--tags", help="List the tags in use instead, most used first.")
]
WithPastFacts = Annotated[
    bool, typer.Option("--all", help="Include facts that are no longer current.")
]
WhenText = Annotated[
    str | None,
    typer.Option(
        "--when",
        metavar="TEXT",
        help="When this text, exactly as a file has it, was added to memory and removed.",
    ),
]
AdoptAllFound = Annotated[
    bool,
    typer.Option(
        "--yes", help="With --found: adopt every workspace in which you are the only author."
    ),
]
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
    source: SourceOption = None, confidence: Confidence = None, **shared: Committing
) -> None:
    """Hold the parameters that every writing command shares; it is never called."""


Writing = Annotated[Any, _writing]  # for commands that write a statement, which has a source
