"""The command for the web page."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.call import Answer, Call
from mdmem.errors import UsageProblem
from mdmem.memory import Memory
from mdmem.wording import number_of

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import ExportFolder, ExportSince, Json


def page(
    call: Call,
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", help="The port; 0 is the workspace's own, or any free one."
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

    With --export it serves nothing: it writes the pages of what is committed as files, which open
    from a folder or any static host.
    """
    serving = import_module("mdmem.page.serving")
    # without lines for the user: they would tell what was asked
    memory = Memory.open(Path(call.workspace) if call.workspace else None, os.environ)
    if export is not None:
        count = serving.export(memory, Path(export), since)
        return Answer(
            {"pages": count, "folder": export},
            f"Exported {number_of(count, 'page')} to {export}",
        )
    if since is not None:
        raise UsageProblem("--since needs --export")
    options = serving.PageOptions(
        port=port,
        opens_browser=opens_browser,
        read_only=read_only,
        new_key=new_key,
        as_json=as_json,
    )
    serving.serve(memory, options)
    return Answer({}, "")
