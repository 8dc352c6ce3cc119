"""`log`: append entries to the log of a day."""

from __future__ import annotations

from datetime import date

from mdmem.changes.verbs import EditedText, Verb
from mdmem.changes.verbs.foundations import find_foundations
from mdmem.editors import daily
from mdmem.lookup import dates, lookup
from mdmem.model import FactId, FilePath
from mdmem.model.rules import is_iso_day, parse_day
from mdmem.model.writes import Log
from mdmem.startup.records import replace
from mdmem.text.document import Document
from mdmem.text.facts import Item, find_same_item, items, parse_item, same_ids, write_item
from mdmem.workspace import Workspace


def _with_iso_day(workspace: Workspace, edit: Log) -> Log:
    """Raises: UsageProblem (no past day, or several), DateProblem (`ambiguous-date`)."""
    if edit.day is None or is_iso_day(edit.day):
        return edit
    return replace(edit, day=dates.past_day(workspace, edit.day, "day").isoformat())


def _day(workspace: Workspace, edit: Log) -> date:
    return workspace.now().date() if edit.day is None else parse_day(edit.day, "day")


def _edit(workspace: Workspace, edit: Log, path: FilePath, document: Document | None) -> EditedText:
    new = workspace.new_log(path, _day(workspace, edit))
    start = document or workspace.parse(path, new)
    edited = _with_entry(workspace, edit, edit.text, path, start)
    for text in edit.more:
        following = _with_entry(workspace, edit, text, path, start.reparse(edited.result.text))
        confirms = (*edited.result.confirms, *following.result.confirms)
        edited = replace(following, result=replace(following.result, confirms=confirms))
    return edited


def _with_entry(
    workspace: Workspace, edit: Log, text: str, path: FilePath, start: Document
) -> EditedText:
    item = write_item(text, kind=edit.kind, tags=edit.tags)
    new = parse_item(item)
    stated = (
        None
        if edit.again or find_same_item(start, item) is None
        else _stated_item(workspace, edit, path, start, same_ids(new))
    )
    minute = workspace.now().strftime("%H:%M") if edit.time is None else edit.time
    fact = new.id if stated is None else stated.fact.id
    result = daily.log(start, minute, item, again=stated is None)
    if stated is not None and find_foundations(
        workspace, path, start, [stated], edit.options
    ).is_confirmed(stated):
        result = replace(result, confirms=(fact,))
    return EditedText(result=result, fact=fact)


def _stated_item(
    workspace: Workspace, edit: Log, path: FilePath, document: Document, facts: frozenset[FactId]
) -> Item | None:
    """An entry that supersedes another fact has to be of the same actor and session."""
    today = workspace.now().date()
    same = [
        each
        for each in items(document)
        if each.fact.id in facts and (each.fact.until is None or each.fact.until >= today)
    ]
    current = lookup.current_locations(
        workspace, [lookup.FactLocation(path, document, each) for each in same]
    )
    options = edit.options
    if current and options.supersedes is not None:
        current = lookup.written_by(workspace, current, options.actor, options.session)
    return current[0].item if current else None


VERB = Verb(
    file=lambda workspace, edit: workspace.log_path(_day(workspace, edit)),
    edit=_edit,
    new_texts=lambda edit: (edit.text, *edit.more),
    with_iso_day=_with_iso_day,
)
