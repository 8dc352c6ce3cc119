"""Commands that search and list."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.commands import Answer, ask, first_rows, open_memory, use_colour
from mdmem.cli.fast_parser import Call
from mdmem.model.errors import UsageProblem
from mdmem.model.searches import COMBINED_DAYS, ListFacts, Search
from mdmem.show import hits

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        Alone,
        AnyOfTags,
        AsOf,
        ByActor,
        BySource,
        Combined,
        Expiring,
        FileOrFolder,
        InSession,
        Json,
        Kind,
        MinConfidence,
        MostRows,
        Past,
        Query,
        RecentDays,
        SectionOption,
        SectionTree,
        Since,
        TagList,
        Until,
        With,
        WithFleet,
        WithKey,
        WithMessages,
        WithPastFacts,
        WithTags,
    )
    from mdmem.memory import Memory


def search(
    call: Call,
    query: Query = None,
    limit: Annotated[int, typer.Option("-n", metavar="N", help="Maximum number of results.")] = 8,
    file: FileOrFolder = None,
    section: SectionTree = None,
    kind: Kind = None,
    tags: WithTags = None,
    actor: ByActor = None,
    session: InSession = None,
    source: BySource = None,
    since: Since = None,
    until: Until = None,
    min_confidence: MinConfidence = None,
    recent_days: RecentDays = None,
    combined: Combined = False,
    history: Past = False,
    as_of: AsOf = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain the score of each result.")
    ] = False,
    words_only: Annotated[
        bool, typer.Option("--words", help="Search by words alone, without vectors.")
    ] = False,
    no_days: Annotated[
        bool, typer.Option("--no-days", help="Take days in the query for words like others.")
    ] = False,
    sessions: WithMessages = False,
    proposed: Annotated[
        bool, typer.Option("--proposed", help="Search open proposals only.")
    ] = False,
    added: With = None,
    alone: Alone = False,
    fleet: WithFleet = False,
    as_json: Json = False,
) -> Answer:
    """Find what memory says about something.

    Entries that do not match, but are next to ones that do, come last, marked (near).
    """
    if combined and recent_days is not None:
        raise UsageProblem("--combined and --recent-days exclude each other")
    request = Search(
        query=" ".join(query or ()),
        limit=limit,
        file=file,
        section=section,
        kind=kind,
        tags=tuple(tags or ()),
        actor=actor,
        session=session,
        source=source,
        since=since,
        until=until,
        min_confidence=min_confidence,
        recent_days=COMBINED_DAYS if combined else recent_days,
        history=history,
        as_of=as_of,
        explain=explain,
        sessions=sessions,
        words_only=words_only,
        days=not no_days,
        fleet=fleet,
    )
    return (_search_proposed if proposed else _search)(open_memory(call), request)


def _search(memory: Memory, request: Search) -> Answer:
    result = memory.search(request)
    notes = (
        ()
        if result.hits or result.messages or result.stale
        else memory.empty_answer_notes(request.file, request.section)
    )
    return Answer(
        hits.with_excerpts(result),
        hits.search_text(
            result, use_colour(), memory.workspace.now().date() if sys.stdout.isatty() else None
        ),
        (*hits.search_notes(result), *notes),
        hits.answer_status(len(result.hits) + len(result.messages), result),
    )


def _search_proposed(memory: Memory, request: Search) -> Answer:
    # for --proposed alone
    from mdmem.show import reviews  # noqa: PLC0415

    if request != Search(query=request.query, limit=request.limit):
        raise UsageProblem("--proposed goes only with -n")
    matches = memory.proposals.search(request.query, request.limit)
    return Answer(
        {"query": request.query, "proposed": True, "hits": matches},
        reviews.hits_text(matches),
        () if matches else ("no match",),
    )


def facts(
    call: Call,
    tags: WithTags = None,
    key: WithKey = None,
    kind: Kind = None,
    section: SectionOption = None,
    file: FileOrFolder = None,
    actor: ByActor = None,
    session: InSession = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int, typer.Option("-n", metavar="N", help="Maximum number of facts; 0 for all.")
    ] = 100,
    offset: Annotated[
        int, typer.Option("--offset", metavar="N", help="Leave out the first N facts.")
    ] = 0,
    expiring: Expiring = None,
    everything: WithPastFacts = False,
    any_tags: AnyOfTags = None,
    tag_list: TagList = False,
    added: With = None,
    alone: Alone = False,
    as_json: Json = False,
) -> Answer:
    """List facts with their ids, newest first; or the tags in use."""
    if tag_list:
        return ask(call, "tags", "tag_list")
    if any_tags:
        return ask(call, "recall", "any_tags", tags=any_tags)
    memory = open_memory(call)
    request = ListFacts(
        tags=tuple(tags or ()),
        key=key,
        kind=kind,
        section=section,
        file=file,
        actor=actor,
        session=session,
        since=since,
        until=until,
        everything=everything,
        limit=limit,
        offset=offset,
        expiring=expiring,
    )
    listed = memory.facts(request)
    notes = (
        memory.empty_answer_notes(file, section)
        if (file or section) and not (listed.facts or listed.stale)
        else ()
    )
    return Answer(
        listed,
        hits.facts_text(listed),
        (*hits.facts_notes(listed), *notes),
        hits.answer_status(len(listed.facts), listed),
    )


def recall(
    call: Call,
    tags: Annotated[
        list[str], typer.Option("--tag", metavar="TAG", help="A tag; may be given several times.")
    ],
    actor: ByActor = None,
    session: InSession = None,
    limit: Annotated[
        int, typer.Option("-n", metavar="N", help="Maximum number of facts; 0 for all.")
    ] = 100,
    added: With = None,
    alone: Alone = False,
    as_json: Json = False,
) -> Answer:
    """List facts that have any of the given tags.

    Facts with most of the tags come first, then the newest.
    """
    listed = open_memory(call).recall(tuple(tags), limit, actor, session)
    return Answer(
        listed,
        hits.facts_text(listed),
        hits.facts_notes(listed),
        hits.answer_status(len(listed.facts), listed),
    )


def tags(
    call: Call,
    limit: MostRows = 0,
    added: With = None,
    alone: Alone = False,
    as_json: Json = False,
) -> Answer:
    """List the tags in use, to recall facts by.

    They are listed most used first. Only the first three tags of each fact count.
    """
    catalogue, more = first_rows(open_memory(call).tags(), "tags", limit)
    count = len(catalogue.tags)
    return Answer(
        catalogue,
        hits.tags_text(catalogue),
        (*hits.answer_notes("tags", count, catalogue), *more),
        hits.answer_status(count, catalogue),
    )
