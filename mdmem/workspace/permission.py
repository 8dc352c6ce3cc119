"""Read who may write in a workspace, and refuse an agent what only people may change."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from mdmem.folder import config, files
from mdmem.folder.config import Settings
from mdmem.model import SETTINGS_NAME, CommitId, FilePath, SectionPath
from mdmem.model.errors import MdmemError, RepositoryProblem, WorkspaceProblem, field, verb
from mdmem.repo import git_files
from mdmem.startup import late
from mdmem.workspace import Workspace, all_workspaces_of

if TYPE_CHECKING:
    from mdmem.text.writers import Rules

_RULES = (b"people_only", b"agents_propose")
ASK = "Ask the user to make it."


def rules_of(workspace: Workspace) -> Rules | None:
    """The rules of HEAD's settings and of those on disk together; None if neither has any.

    A person's new rule holds at once, and an edit that is not committed takes none away.
    """
    settings, committed = [workspace.settings], _at_head(workspace, FilePath(SETTINGS_NAME))
    if committed and any(name in committed for name in _RULES):
        settings += _settings(workspace, committed)
    return rules_by(workspace, settings)


def rules_at(workspace: Workspace, commit: CommitId) -> Rules | None:
    """The rules of the settings in a commit."""
    data = workspace.repository.read(commit, [FilePath(SETTINGS_NAME)]).popitem()[1]
    return rules_by(workspace, _settings(workspace, data))


def _settings(workspace: Workspace, data: bytes | None) -> list[Settings]:
    """A version of the settings; none of one that is missing or cannot be read."""
    tree, environment = workspace.repository.root, workspace.environment
    with suppress(WorkspaceProblem):
        return [config.load(workspace.root, tree, environment, version=data)] if data else []
    return []


def rules_by(workspace: Workspace, settings: Iterable[Settings]) -> Rules | None:
    people_only, proposes = dict[str, None](), False
    for each in settings:
        people_only |= dict.fromkeys(each.people_only)
        proposes |= each.agents_propose
    if not people_only and not proposes:
        return None
    rules: Rules = late.module("text.writers").Rules(
        tuple(people_only), proposes, workspace.kind_of
    )
    return rules


def _at_head(workspace: Workspace, path: FilePath) -> bytes | None:
    """The bytes of a file in HEAD, without git if it is as on disk or not there at all."""
    repository = workspace.repository
    if (head := repository.head()) is None:
        return None
    data = git_files.read_bytes(f"{workspace.root}/{path}") or b""
    blob = None
    if repository.is_simple:
        name = os.fsencode(f"{repository.prefix}{path}")
        blob = _entry(str(repository.git_dir), head, name)
    if blob == "":
        return None
    is_same = blob == git_files.object_id(b"blob", data)
    return data if is_same else repository.read(head, [path])[path]


def _entry(git_dir: str, commit: CommitId, path: bytes) -> str | None:
    """The id of a file in a commit, empty without one; None: ask git."""
    found = git_files.tree_of(git_dir, commit)
    for part in path.split(b"/"):
        tree = git_files.read_object(git_dir, found, b"tree") if found else None
        if tree is None:
            return None
        entries = git_files.tree_entries(tree)
        if not (found := next((each for _, name, each in entries if name == part), "")):
            return ""
    return found


def require_permitted(
    workspace: Workspace,
    changes: Iterable[tuple[FilePath, bytes | None, bytes | None]],
    marked: Iterable[Iterable[tuple[FilePath, SectionPath]]],
    can_propose: bool,
) -> None:
    """Refuse an agent, as `Workspace.require_permitted` says, by the rules around it as well."""
    view, written, facts = workspace.repository, [*changes], [[*each] for each in marked]
    folder = view.root / view.prefix
    known = all_workspaces_of(view, [folder], workspace.environment) if view.prefix else {}
    around = [each for each in known.get(folder, ()) if each.repository.prefix != view.prefix]
    for each in (workspace, *around):
        start = view.prefix.removeprefix(each.repository.prefix)
        named = [(FilePath(f"{start}{path}"), old, new) for path, old, new in written]
        places = [[(FilePath(f"{start}{path}"), at) for path, at in fact] for fact in facts]
        _require_permitted(each, named, places, can_propose)


def _require_permitted(
    workspace: Workspace,
    changes: Iterable[tuple[FilePath, bytes | None, bytes | None]],
    marked: Iterable[Iterable[tuple[FilePath, SectionPath]]],
    can_propose: bool,
) -> None:
    repository = workspace.repository
    if (rules := rules_of(workspace)) is None:
        return
    writers = late.module("text.writers")
    written = [writers.WrittenFile(*each) for each in changes]
    changed = next(writers.changed_places(rules, written), None)
    if place := changed.name if changed else writers.marked_place(rules, marked):
        to_propose = f"To propose it: the same command with {field('propose')}"
        raise WorkspaceProblem(
            "not-allowed",
            f"only people may change {place}",
            to_propose if can_propose else ASK,
            place=place,
        )
    pending = [
        writers.WrittenFile(
            path, *map(_with_plain_ends, (_at_head(workspace, path), files.read(full)))
        )
        for path, full in ((each.path, workspace.root / each.path) for each in written)
        if repository.state(path).pending
    ]
    for edited in writers.changed_places(rules, pending):
        raise RepositoryProblem(
            "pending-edits",
            f"{edited.name} has uncommitted edits, and only people may change it",
            f"A person has to save them: {verb('save')}",
            place=edited.name,
        )


def is_refusal(problem: MdmemError) -> bool:
    """True if `require_permitted` raised it; a pipeline proposes then."""
    return problem.code in ("not-allowed", "pending-edits") and "place" in problem.details


def _with_plain_ends(data: bytes | None) -> bytes | None:
    """Git may store other line ends than those on disk."""
    return data and data.replace(b"\r\n", b"\n")
