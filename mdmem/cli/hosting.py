"""Commands for agents' hosts (prompts, tools), the web page, and the server behind commands."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.commands import Answer, open_memory, read_argument
from mdmem.cli.fast_parser import Call
from mdmem.model.errors import UsageProblem, number_of
from mdmem.model.prompts import BuildContext, Flush
from mdmem.show import contexts
from mdmem.startup.launch import live_on
from mdmem.startup.records import asdict, replace
from mdmem.warm import running

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        FOR_AGENTS,
        Alone,
        AsOf,
        BlockWindow,
        Budget,
        ExportFolder,
        ExportSince,
        Json,
        Profile,
        With,
        Without,
    )


def context(
    call: Call,
    prompt: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROMPT",
            help="The user's prompt; - reads standard input. [default: the start of a session]",
        ),
    ] = None,
    purpose: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="session|prompt",
            help=(
                "Build the block for the start of a session, or for a prompt. [default: prompt if"
                " PROMPT is given]"
            ),
        ),
    ] = None,
    budget: Budget = None,
    window: BlockWindow = None,
    profile: Profile = None,
    without: Without = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="NAME",
            rich_help_panel=FOR_AGENTS,
            help="The agent session the block is for.",
        ),
    ] = None,
    as_of: AsOf = None,
    added: With = None,
    alone: Alone = False,
    as_json: Json = False,
) -> Answer:
    """Print the block of memory for an agent's prompt.

    At the start of a session: who the user is, curated memory, open tasks, today and yesterday. For
    a prompt: what memory knows about it, or nothing if too few of its words match (mdmem search
    finds more).
    """
    text = None if prompt is None else read_argument(" ".join(prompt))
    request = BuildContext(
        prompt=text,
        purpose=purpose,
        budget=budget,
        window=window,
        profile=profile,
        without=tuple(part for names in without or () for part in names.split(",")),
        session=session,
        as_of=as_of,
    )
    block = open_memory(call).context(request)
    return Answer(block, block.text, contexts.context_notes(block))


def flush(
    call: Call,
    window: Annotated[
        int,
        typer.Option("--window", metavar="N", help="Size of the model's context window in tokens."),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Only show how full the session is.")
    ] = False,
    transcript: Annotated[
        str | None,
        typer.Option(
            "--transcript", metavar="FILE", help="Transcript of the session (Claude Code)."
        ),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option("--tokens", metavar="N", help="Tokens that the session has used.")
    ] = None,
    cycle: Annotated[
        int | None, typer.Option("--cycle", metavar="N", help="Number of compactions so far.")
    ] = None,
    reserve: Annotated[
        int, typer.Option("--reserve", metavar="N", help="Tokens that the host reserves.")
    ] = 20_000,
    soft: Annotated[
        int, typer.Option("--soft", metavar="N", help="Flush this many tokens before the reserve.")
    ] = 4_000,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="The agent session that may be compacted."),
    ] = None,
    silent: Annotated[
        str,
        typer.Option("--silent", metavar="WORD", help="The answer if there is nothing to keep."),
    ] = "NO_REPLY",
    as_json: Json = False,
) -> Answer:
    """Print the prompts that save memory before a compaction.

    They have an agent write down what is worth keeping, once a cycle: for hosts without hooks at a
    compaction. Nothing is printed if no flush is due, or if another process already has the
    prompts.
    """
    request = Flush(
        window=window,
        transcript=transcript,
        tokens=tokens,
        cycle=cycle,
        reserve=reserve,
        soft=soft,
        session=session,
        check=check,
        silent=silent,
    )
    result = open_memory(call).flush(request)
    return Answer(result.prompts or result, contexts.flush_text(result, check))


def agent_hook(call: Call, as_json: Json = False) -> Answer:
    """Handle a hook of an agent's host.

    It reads the host's JSON from standard input: a session starts, a prompt is submitted, a
    compaction begins or ends. What it prints goes to the model, in the form that this host reads;
    in most cases nothing. The exit status is always 0. MDMEM_CONTEXT=off silences it.
    """
    raise UsageProblem("a host calls its hooks: agent-hook must be the first word")


def mcp(
    call: Call,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Serve only the tools that read.")
    ] = False,
    write_pool: Annotated[
        bool,
        typer.Option(
            "--write-pool",
            help="Let memory_remember and memory_log write to other workspaces of the pool.",
        ),
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Serve memory to an agent's host as tools (MCP).

    Tools search, read and write; the server ends with its input. It serves the first workspace from
    here upwards, or MDMEM_WORKSPACE. To set up a host: mdmem help mcp.
    """
    live_on()
    return Answer(
        {},
        "",
        status=import_module("mdmem.mcp.server").serve(
            call.workspace, os.environ, read_only, write_pool
        ),
    )


def memory_tool(call: Call, as_json: Json = False) -> Answer:
    """Answer the commands of Anthropic's memory tool.

    It reads one JSON object per line, such as {"command": "view", "path": "/memories"}, and answers
    each with one line: content is the text for the model, is_error says that it failed, error is
    the code. It ends with its input. In Python mdmem.memtool does the same.
    """
    live_on()
    return Answer(
        {}, "", status=import_module("mdmem.memtool.backend").serve(call.workspace, os.environ)
    )


# The web page.


def page(
    call: Call,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            metavar="N",
            help="The port; 0: a fixed one for this workspace, or a free one if that is taken.",
        ),
    ] = 0,
    opens_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser of this machine.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Show pages only: no forms, no changes.")
    ] = False,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Replace the key; open pages need the new address.")
    ] = False,
    export: ExportFolder = None,
    since: ExportSince = None,
    as_json: Json = False,
) -> Answer:
    """Serve memory as a web page on this machine.

    It prints the address with the key that opens it, and listens on 127.0.0.1 only. It ends on
    Ctrl-C, or after two hours without a request. With an actor set it is read-only. It needs the
    extra page (mdmem help install).

    With --export it serves nothing: it writes the pages of what is committed as files, which
    can be opened from disk or served by any static host.
    """
    page_room = import_module("mdmem.page")
    # without lines for the user: they would tell what was asked
    memory = open_memory(replace(call, quiet=True))
    if export is not None:
        page_room.require_packages(for_export=True)
        count = import_module("mdmem.page.export").export(memory, Path(export), since)
        return Answer(
            {"pages": count, "folder": export},
            f"exported {number_of(count, 'page')} to {export}",
        )
    if since is not None:
        raise UsageProblem("--since needs --export")
    page_room.require_packages()
    app = import_module("mdmem.page.app")
    options = app.PageOptions(
        port=port,
        opens_browser=opens_browser,
        read_only=read_only,
        new_key=new_key,
        as_json=as_json,
    )
    live_on()
    app.serve(memory, options)
    return Answer({}, "")


# The server that speeds up commands.


def server_status(call: Call, as_json: Json = False) -> Answer:
    """Show whether a server is running.

    It keeps mdmem's modules loaded, so that commands start faster. The first command starts it, and
    it ends after ten idle minutes. To turn it off: MDMEM_SERVER=off, or server = "off" in your user
    settings.
    """
    try:
        server = running.find()
    except PermissionError as problem:
        return Answer({"server": None, "problem": str(problem)}, f"no server: {problem}")
    if server is None:
        why = " (MDMEM_SERVER=off)" if running.is_off(os.environ) else ""
        return Answer({"server": None, "problem": None}, f"no server is running{why}")
    text = (
        f"a server is running: process {server.process}, {server.memory >> 20} MiB, {server.socket}"
    )
    return Answer({"server": asdict(server), "problem": None}, text)


def server_stop(call: Call, as_json: Json = False) -> Answer:
    """Stop the server.

    Commands that have begun are finished. A later command starts another one.
    """
    try:
        server = running.stop()
    except PermissionError:
        server = None
    if server is None:
        return Answer({"stopped": None}, "no server is running")
    return Answer({"stopped": asdict(server)}, f"stopped the server (process {server.process})")
