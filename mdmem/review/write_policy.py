"""The ruling on a write by an agent that is to propose (`Workspace.proposes`).

`Memory` asks before each write of memory; no door does.
"""

from __future__ import annotations

from typing import TypeAlias

from mdmem.changes import verbs
from mdmem.editors import whole_file
from mdmem.folder import files, layout
from mdmem.folder.trust import Ruling
from mdmem.lookup import lookup
from mdmem.model import FileKind, FilePath
from mdmem.model.writes import (
    Change,
    CreateFile,
    EditSection,
    Forget,
    InsertText,
    Log,
    MovePath,
    Remember,
    ReplaceText,
    WholeFileEdit,
)
from mdmem.proposals import own_files
from mdmem.proposals.pieces import EMPTY, FileFacts, fact_pieces, section_pieces
from mdmem.text.document import parse, parse_bytes
from mdmem.workspace import Workspace

Asked: TypeAlias = Change | WholeFileEdit | MovePath


def rule_on(workspace: Workspace, asked: Asked | None, actor: str | None) -> Ruling:
    """Apply additions to days' logs, propose changes of facts and sections, refuse all else.

    `asked` None is a write that is no such record; texts and facts are those that `actor` sees.
    Raises: PathProblem (`bad-path`), MdmemError as the edit of a whole file.
    """
    match asked:
        case Log():
            kind = FileKind.DAILY
        case EditSection():
            kind = workspace.kind_of(verbs.named_file(workspace, asked.file))
        case Remember():
            return _propose_in(workspace.kind_of(verbs.named_file(workspace, asked.file)))
        case Forget(everywhere=False, file=None):
            return Ruling.PROPOSE
        case Forget(everywhere=False, file=file):
            return _propose_in(workspace.kind_of(layout.parse_path(file or "")))
        case CreateFile() | ReplaceText() | InsertText():
            path = layout.parse_any_path(asked.path)
            kind = workspace.kind_of(path)
            if kind is not FileKind.DAILY:
                seen = own_files.seen_by(workspace, actor)
                is_memory = kind.is_memory and _changes_parts(seen, path, asked)
                return Ruling.PROPOSE if is_memory else Ruling.REFUSE
        case _:
            return Ruling.REFUSE
    if kind is FileKind.DAILY:
        replaced = asked.options.supersedes
        if replaced is None or not _is_elsewhere(own_files.seen_by(workspace, actor), replaced):
            return Ruling.APPLY
    return _propose_in(kind)


def _propose_in(kind: FileKind) -> Ruling:
    """A proposal shows changes of memory alone."""
    return Ruling.PROPOSE if kind.is_memory else Ruling.REFUSE


def _is_elsewhere(workspace: Workspace, fact: str) -> bool:
    return any(
        workspace.kind_of(each.path) is not FileKind.DAILY
        for each in lookup.locate_fact(workspace, fact, tuple(FileKind))
    )


def _changes_parts(workspace: Workspace, path: FilePath, edit: WholeFileEdit) -> bool:
    data = lookup.read_file(workspace, path, files.path_on_disk(workspace.root, path))
    document = None if data is None else parse_bytes(data)
    text = whole_file.edit(document, edit, is_log=False).text
    before, after = FileFacts(document or EMPTY), FileFacts(parse(text))
    facts = fact_pieces(before, after)
    return bool(facts or section_pieces(before, after, facts, {}))
