"""Foundations of facts and of changes: the source of each, and whether it is only claimed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from mdmem.editors.list_items import Foundation, Foundations
from mdmem.folder import trust
from mdmem.model import CommitId, FilePath, Op, Source
from mdmem.model.errors import MdmemError
from mdmem.model.writes import WriteOptions
from mdmem.past import entry_states, fresh_trail
from mdmem.past.messages import quoted_line, section_name
from mdmem.past.notes import QuotingNote, parse_notes
from mdmem.repo import git_files
from mdmem.startup.records import replace
from mdmem.text.document import Document
from mdmem.text.facts import Item, entries, parse_item
from mdmem.workspace import Workspace

_MOST_COMMITS = 16
_PLAIN_OPS = frozenset(
    {Op.REPLACE, Op.APPEND, Op.PREPEND, Op.CREATE, Op.LOG, Op.REMEMBER, Op.FORGET}
)
"""Operations whose messages quote every line added or removed; for others the trail is read."""


def own_foundation(workspace: Workspace, options: WriteOptions) -> Foundation:
    claimed = trust.is_claim(workspace.origin_of(options.actor), options.source)
    return Foundation(options.source, claimed)


def find_foundations(
    workspace: Workspace,
    path: FilePath,
    document: Document,
    items: Sequence[Item],
    options: WriteOptions,
) -> Foundations:
    """Uncommitted lines count as they will once committed: as the user's own, or as claimed by the
    agent at work. Where history cannot be read, every line counts as the user's own.
    """
    own = own_foundation(workspace, options)
    recent = _recent_foundations(workspace, path, document, items)
    if recent is not None:
        return Foundations(recent, own)
    in_file = entries(document, path)
    try:
        with fresh_trail(workspace) as trail:
            states, _ = entry_states.match_entries(trail, path, in_file)
    except MdmemError as problem:
        unknown = {item.start: Foundation(Source.USER_STATED) for item in items}
        return Foundations(
            unknown,
            own,
            f"cannot tell who stated the current facts ({problem.message}): they count as the"
            " user's own",
        )
    pending = (
        own
        if workspace.contents
        else Foundation(Source.USER_STATED, claimed=workspace.is_agent(options.actor))
    )
    committed = {
        entry.start_line - 1: Foundation(
            state.occurrence.origin.source,
            claimed=state.occurrence.origin.claimed_by is not None,
            also=state.occurrence.also,
        )
        for entry, state in zip(in_file, states, strict=True)
        if state.occurrence
    }
    return Foundations({item.start: committed.get(item.start, pending) for item in items}, own)


# From the messages of the newest commits.


def _recent_foundations(
    workspace: Workspace, path: FilePath, document: Document, items: Sequence[Item]
) -> dict[int, Foundation] | None:
    """Foundations from recent messages, by first line; None if these do not suffice.

    This is cheap; the trail is not, since it has to be brought up to HEAD first.
    """
    unknown = {item.start: item for item in items}
    if any("\n" in item.raw.rstrip() for item in items):
        return None
    foundations = {}
    for quoting in _newest_notes(workspace, path):
        if quoting is None:
            return None
        went = {parse_item(f"- {line}").id for line in quoting.went}
        for start, item in list(unknown.items()):
            if item.fact.id in went:
                return None
            if quoted_line(item.raw) in quoting.came:
                if quoting.note.section != section_name(document.path_at(start)):
                    return None
                foundations[start] = Foundation(
                    quoting.note.provenance.source,
                    claimed=quoting.note.claimed_by is not None,
                    also=quoting.note.also,
                )
                del unknown[start]
        if not unknown:
            return foundations
    return None


def _newest_notes(workspace: Workspace, path: FilePath) -> Iterator[QuotingNote | None]:
    """Notes of a file's newest commits; None at the first that does not quote everything."""
    repository = workspace.repository
    commit = repository.head() if repository.is_simple else None
    git_dir, name = str(repository.git_dir), os.fsencode(f"{repository.prefix}{path}")
    for _ in range(_MOST_COMMITS):
        data = git_files.read_object(git_dir, commit, b"commit") if commit else None
        head, _, message = (data or b"").decode("utf-8", "replace").partition("\n\n")
        parents = [
            line.removeprefix("parent ") for line in head.split("\n") if line.startswith("parent ")
        ]
        notes = parse_notes(message)
        if commit is None or len(parents) != 1 or len(notes) != 1 or not notes[0].is_own:
            break
        if notes[0].note.path == path:
            before, after = (
                git_files.blob_at(git_dir, CommitId(each), name) for each in (parents[0], commit)
            )
            lines = message.split("\n")
            is_cut = any(line.endswith(" more lines)") for line in lines)
            if (
                notes[0].note.op not in _PLAIN_OPS
                or notes[0].note.confirms
                or before == after
                or is_cut
            ):
                break
            came, went = (
                frozenset(line[2:] for line in lines if line.startswith(sign))
                for sign in ("+ ", "- ")
            )
            yield replace(notes[0], came=came, went=went)
        commit = CommitId(parents[0])
    yield None
