"""Commands of a fleet: all workspaces of an organisation, searched as one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.commands import Answer, progress, use_colour
from mdmem.cli.fast_parser import Call
from mdmem.fleet import asking, indexing, settings
from mdmem.model.errors import number_of
from mdmem.model.searches import Search
from mdmem.show import hits

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        FileOrFolder,
        FleetFile,
        Json,
        Kind,
        Query,
        RecentDays,
        SectionTree,
        Since,
        Until,
        WithTags,
    )


def fleet_status(call: Call, fleet: FleetFile = None, as_json: Json = False) -> Answer:
    """Say what the fleet holds, and what of it is behind."""
    state = indexing.describe(_opened(fleet))
    lines = [
        f"{number_of(state.repositories, 'repository', 'repositories')},"
        f" {number_of(state.rows, 'row')}, {state.bytes:,} bytes,"
        f" {state.answering} of {number_of(state.shards, 'shard')}"
    ]
    lines += [f"behind   {name}" for name in state.behind]
    lines += [f"missing  {name}: {why}" for name, why in state.missing.items()]
    notes = ("to bring it up to date: mdmem fleet index",) if state.behind else ()
    return Answer(state, "\n".join(lines), notes)


def fleet_index(
    call: Call,
    repositories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REPOSITORY",
            help="Folders or addresses. [default: those of the settings]",
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Drop repositories that the settings do not name.")
    ] = False,
    setup: Annotated[
        bool, typer.Option("--setup", help="Print the SQL that makes a cluster's tables and users.")
    ] = False,
    fleet: FleetFile = None,
    as_json: Json = False,
) -> Answer:
    """Bring the fleet up to its repositories' commits.

    Only what changed is read.
    """
    if setup:
        sql = settings.setup_sql(os.environ, Path(fleet) if fleet else None)
        return Answer({"sql": sql}, sql)
    done = indexing.index_fleet(_opened(fleet), repositories or (), progress(call), prune=prune)
    text = (
        f"indexed {number_of(done.indexed, 'repository', 'repositories')},"
        f" {done.unchanged:,} unchanged, {done.dropped:,} dropped"
    )
    notes = [f"{name}: {why}" for name, why in done.failed.items()]
    return Answer(done, text, notes, status=1 if done.failed else 0)


def fleet_search(
    call: Call,
    query: Query = None,
    limit: Annotated[int, typer.Option("-n", metavar="N", help="Maximum number of results.")] = 8,
    repositories: Annotated[
        str | None,
        typer.Option("--repo", metavar="GLOB", help="Only these repositories, by name or address."),
    ] = None,
    file: FileOrFolder = None,
    section: SectionTree = None,
    kind: Kind = None,
    tags: WithTags = None,
    since: Since = None,
    until: Until = None,
    recent_days: RecentDays = None,
    reader: Annotated[
        str | None,
        typer.Option("--reader", metavar="NAME", help="For whom the fleet's own account asks."),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Where a shard is away, show what the others find.")
    ] = False,
    fleet: FleetFile = None,
    as_json: Json = False,
) -> Answer:
    """Find what the memory of an organisation says.

    In all repositories that you may read.
    """
    request = Search(
        query=" ".join(query or ()),
        limit=limit,
        file=file,
        section=section,
        kind=kind,
        tags=tuple(tags or ()),
        since=since,
        until=until,
        recent_days=recent_days,
    )
    result = asking.search_fleet(_opened(fleet, partial), request, repositories, reader)
    return Answer(
        hits.with_excerpts(result),
        hits.search_text(result, use_colour()),
        hits.search_notes(result),
    )


def fleet_purge(call: Call, fleet: FleetFile = None, as_json: Json = False) -> Answer:
    """Take from the fleet's disks what no commit names any more."""
    opened = _opened(fleet)
    opened.engine.purge()
    indexing.tidy_clones(opened)
    return Answer({"purged": True}, "what no commit names is gone from the fleet")


def _opened(file: str | None, is_partial: bool = False) -> settings.Fleet:
    return settings.open_fleet(os.environ, Path(file) if file else None, is_partial=is_partial)
