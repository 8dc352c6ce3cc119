"""Commands that make memory of sessions."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.commands import Answer, open_memory, use_colour
from mdmem.cli.fast_parser import Call
from mdmem.cli.terminal import in_flags, shown
from mdmem.model.errors import UsageProblem
from mdmem.model.pipelines import FACTS, PASSING, Digest, Dream, Import, Schedule
from mdmem.model.sessions import ShowSessions
from mdmem.show import reads, runs
from mdmem.startup.records import replace

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import Client, Json


_NOTHING_WRITTEN = "a dry run: nothing was written"


def sessions(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="SESSION",
            help=(
                "A session by the beginning of its id, or a transcript file; with #LINE or"
                " #LINE-LINE, the messages around these lines."
            ),
        ),
    ] = None,
    client: Client = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="DAY", help="Only sessions with something said since this day."
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option("-n", metavar="N", help="Maximum number of sessions or messages, the newest."),
    ] = 40,
    chars: Annotated[
        int, typer.Option("--chars", metavar="N", help="Maximum number of characters of a message.")
    ] = 2000,
    as_json: Json = False,
) -> Answer:
    """List the agent sessions that mdmem may read, or show one.

    The list shows how much of each session the last digest has read. For one session, the newest
    messages are shown, or those around a line.
    """
    request = ShowSessions(
        reference=reference, client=client, since=since, limit=limit, chars=chars
    )
    memory = open_memory(call)
    if reference is None:
        listed = memory.pipelines.list_sessions(request)
        return Answer(
            listed,
            reads.sessions_text(listed, use_colour()),
            reads.sessions_notes(listed),
        )
    view = memory.pipelines.show_session(request, reference)
    return Answer(
        view,
        reads.session_view_text(view, use_colour()),
        reads.session_view_notes(view),
    )


def digest(
    call: Call,
    sessions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SESSION",
            help=(
                "Files, or the beginnings of ids. [default: all clients in the `sessions` setting]"
            ),
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DAY", help="Leave out what was said before this day."),
    ] = None,
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="facts|lines",
            help=(
                "facts: only statements likely to matter later; lines: every statement, but no"
                " questions or small talk."
            ),
        ),
    ] = FACTS,
    model: Annotated[
        bool,
        typer.Option(
            "--model", help="Have the model in your user settings read what the rules skip."
        ),
    ] = False,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Use only the rules, whatever your settings say.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written; write nothing.")
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Add what is new in agents' sessions to the daily logs.

    Transcripts of the supported clients (mdmem help digest lists them) are read from where the last
    digest ended. Rules choose what is worth keeping; each entry says where it was said. Nothing is
    written twice.
    """
    asks_model = _chosen(model, no_model, "--model", "--no-model")
    request = Digest(
        sessions=tuple(sessions or ()), since=since, keep=keep, dry_run=dry_run, model=asks_model
    )
    result = open_memory(call).pipelines.digest(request)
    return Answer(
        result,
        runs.digest_text(result),
        (_NOTHING_WRITTEN,) if dry_run else (),
        status=1 if result.failed else 0,
    )


def import_(
    call: Call,
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A file, an archive (.zip) or a folder.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written; write nothing.")
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Take in the memory of another tool.

    Conversations (the exports of ChatGPT and Claude) are read as transcripts are, and their entries
    go to the logs of their days. Facts (Claude's memory folder, mem0, basic-memory, the reference
    memory server) go to memory/TOOL.md, as inferred, under the day on which they were said. Nothing
    that is there is changed, and nothing is written twice. To undo it: mdmem revert import/…
    """
    memory = open_memory(call)
    with nullcontext() if call.as_json or call.quiet else shown("import"):
        result = memory.pipelines.import_memory(Import(path, dry_run))
    return Answer(
        result,
        runs.import_text(result),
        (_NOTHING_WRITTEN,) if dry_run else (),
        status=1 if result.left else 0,
    )


def dream(
    call: Call,
    days: Annotated[
        list[str] | None,
        typer.Option(
            "--day",
            metavar="DAY",
            help="A past day. [default: yesterday, and every day that no dream has read]",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DAY", help="Read all logs from this day on, too."),
    ] = None,
    propose: Annotated[
        bool, typer.Option("--propose", help="Change nothing; propose everything.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Apply what is certain, and propose the rest.")
    ] = False,
    model: Annotated[
        bool, typer.Option("--model", help="Also ask the model in your user settings.")
    ] = False,
    no_model: Annotated[bool, typer.Option("--no-model", help="Use only the rules.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Consolidate the logs of past days into curated memory.

    Each entry is compared with current memory: it is added, replaces a fact, or is skipped.
    Uncertain facts become proposals (mdmem review). Without --apply (or dream = "apply" in your
    user settings), every change is proposed. To undo a run's changes: mdmem revert dream/DAY.
    """
    applies = _chosen(apply, propose, "--apply", "--propose")
    asks_model = _chosen(model, no_model, "--model", "--no-model")
    result = open_memory(call).pipelines.dream(
        Dream(days=tuple(days or ()), since=since, apply=applies, model=asks_model, dry_run=dry_run)
    )
    return Answer(
        result,
        runs.dream_text(result),
        (*map(in_flags, runs.dream_notes(result)), *((_NOTHING_WRITTEN,) if dry_run else ())),
        status=0 if result.outcome in ("", *PASSING) else 1,
    )


def _chosen(wanted: bool, unwanted: bool, yes: str, no: str) -> bool | None:
    if wanted and unwanted:
        raise UsageProblem(f"{yes} and {no} exclude each other")
    return True if wanted else False if unwanted else None


def run(
    call: Call,
    only_failures: Annotated[bool, typer.Option("--quiet", help="Print only failures.")] = False,
    as_json: Json = False,
) -> Answer:
    """Run the steps that are due: sync, digest, dream.

    Meant for timers (mdmem schedule) and containers. Your user settings say what is due: a sync
    with sync = "auto"; a digest, and a dream of each past day, with sessions = ["claude"] or other
    clients. Every step is tried, and the exit status is 1 if any fails. Only one run can be active
    at a time.
    """
    result = open_memory(call).pipelines.run()
    result = replace(
        result,
        steps=tuple(
            replace(step, message=in_flags(step.message), hint=in_flags(step.hint))
            for step in result.steps
        ),
    )
    return Answer(
        result,
        runs.run_text(result, only_failures),
        status=1 if result.failed else 0,
    )


def schedule(
    call: Call,
    system: Annotated[
        str | None,
        typer.Argument(
            metavar="systemd|cron", help="The scheduler. [default: systemd on Linux, else cron]"
        ),
    ] = None,
    install: Annotated[bool, typer.Option("--install", help="Install it.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Remove it.")] = False,
    as_json: Json = False,
) -> Answer:
    """Print or install the timer that calls mdmem run.

    It runs every five minutes, by systemd (user units) or by cron (a line in your crontab).
    Nothing is changed without --install.
    """
    asked = Schedule(install=install, uninstall=uninstall)
    request = asked if system is None else replace(asked, system=system)
    result = open_memory(call).pipelines.schedule(request)
    result = replace(result, next=tuple(map(in_flags, result.next)))
    return Answer(
        result,
        runs.schedule_text(request, result),
        runs.schedule_notes(request, result),
        status=int(request.install and not result.active),
    )
