"""A workspace: the folder, its repository, settings and state folder; and how one is found."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path, PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from mdmem import repo
from mdmem.folder import config, files, layout, trust, vault
from mdmem.folder.config import Settings
from mdmem.model import (
    SETTINGS_NAME,
    CommitId,
    FileKind,
    FilePath,
    SectionPath,
    errors,
    rules,
)
from mdmem.model.errors import RepositoryProblem, WorkspaceProblem
from mdmem.model.rules import parse_allowances
from mdmem.repo import Identity, Repository, discovery, git_files, worktree
from mdmem.repo.runner import FETCH_VERSIONS, LACKS_VERSIONS
from mdmem.startup import late
from mdmem.startup.records import dataclass, field, replace
from mdmem.workspace import state

if TYPE_CHECKING:
    from mdmem.repo.branch_commits import CommitFiles
    from mdmem.repo.signatures import KnownSignatures
    from mdmem.text.document import Document

T = TypeVar("T")
Say: TypeAlias = "Callable[[str], None]"
"""Takes a line for the user while a verb is at work."""
Progress: TypeAlias = "Callable[[int, int], None]"
"""Called with the number of things done and the number to do."""
_BOUNDARY_NAME = "boundary"
"""The file in the state folder with the commit before which this clone lacks the past."""
_VERSIONS_TRIED = 50
"""Versions of settings that are read for one that can be used; before them there were none."""
_AUTHOR = late.pattern(r"^(.*)<([^<>\s]+)>\s*$")


class Resources:
    """Objects that a long-lived process keeps for a workspace: one of each class, at first use.

    A forked process gets its own: an open index cannot be shared.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._kept: dict[Callable[[], Any], Any] = {}

    def get(self, kind: Callable[[], T]) -> T:
        """The object of a class; the same for all threads."""
        if self._process != os.getpid():
            self.close()
        kept: T | None = self._kept.get(kind)
        return self._kept.setdefault(kind, kind()) if kept is None else kept

    def close(self) -> None:
        self._process, self._kept = os.getpid(), {}


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder of memory in a git work tree; `state` (index, lock, record) can be deleted."""

    root: Path
    repository: Repository
    settings: Settings
    state: Path
    environment: Mapping[str, str] = field(compare=False)
    basis: Basis | None = field(default=None, compare=False)
    """The files on which settings and repository depend; None where stamps are not reliable."""
    resources: Resources = field(default_factory=Resources, compare=False)
    contents: CommitFiles | None = field(default=None, compare=False)
    """The files of a commit, planned on instead of those on disk; None for the disk."""
    added: tuple[Path, ...] | None = field(default=(), compare=False)
    """Workspaces that a call reads too, besides those of the settings; None: it reads no other."""
    any_settings: bool = False
    """Open it whatever its settings are: those that cannot be used are left out."""
    settings_problem: WorkspaceProblem | None = field(default=None, compare=False)
    """Why `settings` are those of an earlier commit, with which nothing is written."""

    @property
    def pool(self) -> tuple[Path, ...]:
        return () if self.added is None else (*map(Path, self.settings.pool), *self.added)

    @property
    def settings_note(self) -> str | None:
        if (problem := self.settings_problem) is None:
            return None
        return f"{problem.message}; an earlier version is in use, and nothing can be written"

    @property
    def curated(self) -> FilePath:
        names = [name for name in layout.CURATED_NAMES if (self.root / name).exists()]
        return FilePath(names[0] if names else layout.CURATED_NAMES[0])

    @property
    def daily(self) -> str | None:
        """The names of daily logs for `layout.log_path`; None for those without a setting."""
        return self.settings.daily or (
            layout.DAILY_BESIDE_CURATED if self.root.name == "memory" else None
        )

    def kind_of(self, path: str) -> FileKind:
        """The kind of file that a path is in this workspace; what lies in another one is none, nor
        what is `left_out`.
        """
        kind = self._kind_by_place(path)
        return FileKind.OTHER if kind.is_memory and self.left_out(path) else kind

    def is_of_day(self, path: str) -> bool:
        """True for a day's log, and for a note that is named by its day."""
        return self.kind_of(path) is FileKind.DAILY or layout.is_days_note(path)

    def left_out(self, path: str, templates: tuple[str, ...] | None = None) -> str | None:
        """Why a Markdown file in memory's place is none, in words for people.

        `templates`: the folders of a vault's templates, if they were read.
        """
        if copied := layout.conflict_copy_of(path):
            original, is_sure = copied
            if is_sure or (self.root / original).exists():
                return f"a conflict copy of {original}"
        globs = self.settings.paths
        if not globs:
            return None
        if folder := layout.foreign_folder(path, globs):
            return f"in {folder}"
        if layout.is_drawing(path):
            return "a drawing"
        templates = vault.template_folders(self.root) if templates is None else templates
        return "a template" if layout.within(path, templates) else None

    def left_out_files(self) -> dict[FilePath, str]:
        """The files on disk that are `left_out`, each with why."""
        listed = self._paths_by_place(bool)
        if not self._may_leave_out(listed):
            return {}
        paths = map(FilePath, sorted(listed))
        return {path: reason for path in paths if (reason := self.left_out(path))}

    def _may_leave_out(self, paths: Iterable[str]) -> bool:
        """False if none of the files in memory's place is `left_out`."""
        return bool(self.settings.paths) or layout.may_name_copies("\0".join(paths))

    def _kind_by_place(self, path: str) -> FileKind:
        daily, globs = self.daily, self.settings.paths
        kind = self._kind_without_paths(path, daily)
        if kind is FileKind.OTHER and globs:
            kind = layout.note_kind(path, globs)
        elif kind is not FileKind.DAILY or path.startswith("memory/"):
            return kind
        is_elsewhere = kind.is_memory and layout.lies_elsewhere(self.root, path)
        return FileKind.OTHER if is_elsewhere else kind

    def _kind_without_paths(self, path: str, daily: str | None) -> FileKind:
        if daily is not None and layout.log_day(path, daily):
            return FileKind.DAILY
        return layout.kind_of(path, self.root.name, self.settings.extra_paths)

    def is_note(self, path: str) -> bool:
        """True for memory by the setting `paths`: its owner may do with it as they like."""
        globs = self.settings.paths
        return (
            bool(globs)
            and layout.kind_of(path, self.root.name, self.settings.extra_paths) is FileKind.OTHER
            and layout.matches(path, globs)
        )

    @property
    def updates_links(self) -> bool:
        """True if links to a heading change with it."""
        links = self.settings.links
        return links == "update" if links else vault.updates_links(self.root)

    def log_path(self, day: date) -> FilePath:
        """The file of a day's log: the existing one, or as the settings name it."""
        daily = self.daily
        if daily is None:
            return layout.log_path(day)
        path, usual = layout.log_path(day, daily), layout.log_path(day)
        return usual if not (self.root / path).exists() and (self.root / usual).exists() else path

    def new_log(self, path: FilePath, day: date) -> str:
        """The text of a day's log before its first entry, from the vault's template if any."""
        daily, own, language = self.settings.daily, None, self.settings.language
        if daily and daily == config.vaults_daily(self.root, language):
            moment = datetime.combine(day, self.now().time())
            title, names_in = PurePath(path).stem, config.names_in(language)
            own = vault.daily_template(self.root, title, moment, names_in)
        if own is not None:
            return own
        template: str = late.module("folder.installed").template("daily.md")
        return template.replace("{day}", day.isoformat())

    def parse(self, path: str, text: bytes | str) -> Document:
        """Parse a version of a file of this workspace. Raises PathProblem (`unsupported-file`)."""
        own = self.settings.log_heading
        heading = own if own and layout.log_day(path, self.daily) else None
        document = late.module("text.document")
        parse = document.parse_bytes if isinstance(text, bytes) else document.parse
        return cast("Document", parse(text, log_heading=heading))

    def now(self) -> datetime:
        return config.now(self.settings, self.environment)

    @property
    def actor(self) -> str | None:
        """The default actor: MDMEM_ACTOR, else the setting; in a host's shell an agent."""
        return self._in_shell(self.environment.get("MDMEM_ACTOR"), self.settings.actor)

    def _in_shell(self, *names: str | None) -> str | None:
        return actor_in_shell(names, self.settings.people, self.environment)

    def given_actor(self, named: str | None) -> str | None:
        """The actor of a write: the named one, else the default.

        Raises WorkspaceProblem (`reserved-actor`, or `not-allowed` for a person's name in a host's
        shell).
        """
        actor = self._in_shell(named, self.environment.get("MDMEM_ACTOR"), self.settings.actor)
        if named and rules.fold_actor(named) and actor != named.strip():
            raise WorkspaceProblem(
                "not-allowed",
                f"{named.strip()!r} is a person, and this is the shell of an agent's host",
                f"Leave the actor out to write as {actor}.",
            )
        if actor is not None:
            rules.require_unreserved(actor)
        return actor

    def is_agent(self, actor: str | None) -> bool:
        return self.origin_of(actor) is trust.TextOrigin.AGENT

    def origin_of(self, actor: str | None) -> trust.TextOrigin:
        return trust.origin_of_actor(actor, self.settings.people)

    @property
    def user_addresses(self) -> frozenset[str]:
        """The user's case-folded addresses: git's and those of `me`."""
        named = map(str.casefold, self.settings.me)
        return self.repository.user_addresses().union(named)

    @property
    def user_names(self) -> frozenset[str]:
        """The user's names, as compared: git's, those of `owner`, and what addresses begin with."""
        git_name = self.repository.setting("user.name") or ""
        named = (git_name, *self.settings.owner, *self.user_addresses)
        return frozenset(rules.fold_actor(name.partition("@")[0]) for name in named)

    @property
    def agent_authors(self) -> tuple[Collection[str], Collection[str]]:
        """The further arguments of `trust.is_agent_author`; both empty where no agent is named."""
        agents = self.settings.agents
        return (agents, self.user_addresses) if agents else ((), ())

    @property
    def source_rules(self) -> Sequence[object]:
        """All settings by which commits have another source than they say; digests have them."""
        authors = [sorted(names) for names in self.agent_authors]
        return [*authors, "require"] if self.settings.verify == "require" else authors

    def stating_commits(self) -> Collection[CommitId] | None:
        """The commits that may hold the user's word; None where signatures are not required."""
        known = self.known_signatures() if self.settings.verify == "require" else None
        return None if known is None else known.stating

    def known_signatures(self) -> KnownSignatures | None:
        """The signatures of commits as far as git was asked; None where nobody wants them."""
        if self.settings.verify == "off":
            return None
        known: KnownSignatures = late.module("repo.signatures").load_signatures(self.state)
        return known

    @property
    def is_adopted(self) -> bool:
        return _is_adopted(self.repository, self.environment)

    def proposes(self, actor: str | None) -> bool:
        return proposes(actor, self.settings, self.environment)

    def require_permitted(
        self,
        actor: str | None,
        changes: Iterable[tuple[FilePath, bytes | None, bytes | None]],
        marked: Iterable[Iterable[tuple[FilePath, SectionPath]]] = (),
        can_propose: bool = False,
    ) -> None:
        """Refuse an agent a change of what only people may change.

        `changes`: paths with the bytes before and after. `marked`: the places of each fact that is
        marked without a change of text. Raises WorkspaceProblem (`not-allowed`), RepositoryProblem
        (`pending-edits`: of a file with such edits of a place, which the write would commit).
        """
        if self.is_agent(actor):
            permission = late.module("workspace.permission")
            permission.require_permitted(self, changes, marked, can_propose)

    def require_ready(self) -> None:
        """Raises: RepositoryProblem: git cannot take a commit now (`Repository.require_ready`)."""
        repository = self.repository
        repository.require_ready(self.settings.allow_detached, repository.branch())

    def require_writer(self, actor: str | None) -> None:
        require_writer(actor, self.settings, self.environment)

    def require_person(self, actor: str | None, does: str, line: str = "") -> None:
        """Refuse an actor who may not decide. Raises WorkspaceProblem (`not-allowed`)."""
        require_person(actor, self.settings.people, does, line)

    def allowances(self) -> frozenset[str]:
        """The refusals that MDMEM_ALLOW lets through. Raises UsageProblem (for any other)."""
        return parse_allowances(self.environment.get("MDMEM_ALLOW", ""))

    def local_time(self, seconds: int) -> datetime:
        """Seconds since 1970 in the user's zone."""
        return datetime.fromtimestamp(seconds).astimezone(config.zone(self.settings.timezone))

    def shallow_hint(self) -> str:
        """A hint for a repository without all of its history; empty if it has all."""
        if self.history_boundary is not None:
            return FETCH_VERSIONS
        return (
            "This clone is shallow: git fetch --unshallow brings the rest."
            if self.repository.is_shallow()
            else ""
        )

    def missing_past(self) -> str:
        return f"{LACKS_VERSIONS}. {FETCH_VERSIONS}" if self.history_boundary is not None else ""

    @property
    def history_boundary(self) -> CommitId | None:
        """The first commit of a clone without the older ones; None with all, or after a fetch."""
        path = f"{self.state}/{_BOUNDARY_NAME}"
        name = git_files.read_bytes(path)
        if not name:
            return None
        boundary, fetched = files.stamp(path), files.stamp(f"{self.repository.git_dir}/FETCH_HEAD")
        if boundary and fetched and fetched[0] > boundary[0]:
            return None
        return CommitId(name.decode("ascii", "replace").strip())

    def set_history_boundary(self, commit: CommitId) -> None:
        """Let history begin with a commit. Raises OSError where the state folder is read-only."""
        self.ensure_state()
        new = self.state / files.temporary_name()
        files.write_durably(new, f"{commit}\n".encode())
        new.replace(self.state / _BOUNDARY_NAME)

    def forget_history_boundary(self) -> None:
        """Let history be read again from its beginning."""
        with suppress(OSError):
            (self.state / _BOUNDARY_NAME).unlink()

    def history_borders(self) -> tuple[bytes | None, CommitId | None]:
        """A value that changes with where history is cut off (a shallow clone, the boundary)."""
        return git_files.read_bytes(f"{self.repository.common_dir}/shallow"), self.history_boundary

    def memory_files(self) -> dict[FilePath, layout.ListedFile]:
        """The memory files as they are on disk, in the order of their paths."""
        return {
            (name := FilePath(path)): layout.ListedFile(self.root, name, status)
            for path, status in sorted(self.memory_paths(lambda status: status).items())
        }

    @property
    def memory_folders(self) -> tuple[str, ...]:
        """The folders (or files) below which all Markdown is memory."""
        return ("memory", *self.settings.extra_paths)

    def memory_paths(
        self, read_status: Callable[[os.stat_result], T], canvases: bool = False
    ) -> dict[str, T]:
        """The memory files' paths with `read_status`'s results, with `canvases` beside notes."""
        listed = self._paths_by_place(read_status, canvases)
        if not self._may_leave_out(listed):
            return listed
        templates = vault.template_folders(self.root) if self.settings.paths else ()
        return {
            path: status for path, status in listed.items() if not self.left_out(path, templates)
        }

    def _paths_by_place(
        self, read_status: Callable[[os.stat_result], T], canvases: bool = False
    ) -> dict[str, T]:
        listed = layout.markdown_paths(self.root, self.memory_folders, read_status)
        daily = self.daily
        for path in [
            path
            for path in listed
            if "/" not in path and not self._kind_without_paths(path, daily).is_memory
        ]:
            del listed[path]
        if folders := self.note_folders:
            skipped = {
                *worktree.ignored_paths(self.root),
                *(f"{folder}/" for folder in self.memory_folders),
            }
            notes = layout.note_paths(self.root, folders, skipped, read_status)
            listed |= {
                path: status
                for path, status in notes.items()
                if self._kind_by_place(path).is_memory or (canvases and self._is_beside_notes(path))
            }
        return listed

    def _is_beside_notes(self, path: str) -> bool:
        """True for a canvas where notes are memory."""
        note = f"{path.removesuffix('.canvas')}.md"
        return layout.is_canvas(path) and layout.matches(note, self.settings.paths)

    @property
    def note_folders(self) -> tuple[tuple[str, bool], ...]:
        """The folders of the settings `paths` and `daily`; True: with the folders below."""
        daily = self.settings.daily
        return layout.note_folders(
            (*self.settings.paths, *([layout.log_glob(daily)] if daily else []))
        )

    def identity(self) -> Identity | None:
        """The committer if git has no identity. Raises RepositoryProblem (`no-identity`)."""
        if self.repository.identity_known():
            return None
        match = _AUTHOR.fullmatch(self.settings.author or "")
        if match and (name := match[1].strip()):
            return Identity(name, match[2])
        raise RepositoryProblem(
            "no-identity",
            (
                "git does not know who you are"
                if not self.settings.author
                else f"author is {self.settings.author!r}, not NAME <EMAIL>"
            ),
            'git config --global user.name "Your Name"\ngit config --global user.email'
            " you@example.com",
        )

    def ensure_state(self) -> None:
        """Make the state folder. Raises OSError, StorageProblem."""
        state.make(self.state, self.repository, self.environment)

    def write_lock(self) -> Path:
        """The file whose lock orders the writers. Raises OSError, StorageProblem."""
        self.ensure_state()
        return state.write_lock(self.state, self.repository)


def actor_in_shell(
    names: Iterable[str | None],
    people: Iterable[str],
    environment: Mapping[str, str],
) -> str | None:
    """The first non-empty name; in a host's shell its agent instead of a person (None)."""
    actor = next((name.strip() for name in names if name and rules.fold_actor(name)), None)
    host = trust.host_of(environment)
    if host is None or trust.origin_of_actor(actor, people) is trust.TextOrigin.AGENT:
        return actor
    return f"agent/{host}"


def require_person(actor: str | None, people: Iterable[str], does: str, line: str = "") -> None:
    """Refuse an agent what only a person may do; `does` is an infinitive, such as `accept`.

    `line`: the command for the person.

    Raises WorkspaceProblem (`not-allowed`).
    """
    if not trust.trust(trust.origin_of_actor(actor, people)).decides:
        raise WorkspaceProblem(
            "not-allowed",
            f"{actor} is an agent and cannot {does}: a person decides",
            f"To be typed at a terminal: {line}"
            if line
            else "Ask the user. To count an actor as a person, list it under `people` in the user"
            " settings.",
        )


def proposes(actor: str | None, settings: Settings, environment: Mapping[str, str]) -> bool:
    """True if the settings make proposals of what an actor writes.

    They may name the actor, MDMEM_ACTOR or the agents' host: a name of its own frees no agent.
    """
    if trust.trust(trust.origin_of_actor(actor, settings.people)).decides:
        return False
    names = (actor, environment.get("MDMEM_ACTOR"), trust.host_of(environment))
    return config.must_propose(settings, names)


def require_writer(actor: str | None, settings: Settings, environment: Mapping[str, str]) -> None:
    """Refuse what cannot be proposed to an actor who proposes.

    Raises WorkspaceProblem (`not-allowed`).
    """
    if proposes(actor, settings, environment):
        raise WorkspaceProblem(
            "not-allowed",
            f"{actor} may only propose changes, and this one cannot be proposed",
            "Ask the user to make it. The settings write and agents_propose say who proposes.",
        )


def find_workspace(named: Path | None, environment: Mapping[str, str]) -> Path:
    """The workspace: the named one, else the first of MDMEM_WORKSPACE's or the current folder.

    A project may be named too. Raises WorkspaceProblem (`no-workspace`).
    """
    if named is not None:
        return _named_workspace(named, environment)
    variable = environment.get("MDMEM_WORKSPACE")
    start = existing_folder(variable) if variable else Path.cwd()
    found = next(workspaces_meant_by((start,), environment), None)
    if found is None:
        raise removed_memory(start) or no_workspace(variable)
    return found


def _named_workspace(named: Path, environment: Mapping[str, str]) -> Path:
    folder = existing_folder(named)
    if layout.is_marked(folder) or (around := workspace_of_tree(folder, environment)) is None:
        return _require_workspace(named)
    if not folder.is_relative_to(around):
        return around
    raise WorkspaceProblem(
        "no-workspace",
        f"{named} is in the workspace {around}",
        f"To use that: mdmem -C {errors.shell_word(around)} status",
    )


def _to_create(named: str | Path) -> str:
    return f"To create a workspace there: {errors.verb('init')} {errors.shell_word(named)}"


def existing_folder(named: str | Path) -> Path:
    """The full path of a folder. Raises WorkspaceProblem (`no-workspace`: there is none)."""
    folder = Path(named).resolve()
    if folder.exists() and not folder.is_dir():
        message = f"{named} is not a folder"
        raise WorkspaceProblem("no-workspace", message, "Name the folder that it is in.")
    if not folder.is_dir():
        message = f"{named} does not exist"
        raise WorkspaceProblem("no-workspace", message, _to_create(named))
    return folder


def no_workspace(named: str | None = None) -> WorkspaceProblem:
    if named is not None:
        message = f"{named} is not a workspace, nor is a folder above it"
        return WorkspaceProblem("no-workspace", message, _to_create(named))
    return WorkspaceProblem(
        "no-workspace",
        "no workspace in this folder or above",
        f"To create one: {errors.verb('init')}; to use another: {errors.field('workspace')}",
    )


def removed_memory(folder: Path) -> WorkspaceProblem | None:
    """The problem of a folder that was in a workspace; see `removed_from`. None for any other."""
    try:
        repository = repo.discover(folder)
        return removed_from(repository, _views(repository, repository.folder))
    except RepositoryProblem:
        return None


def removed_from(repository: Repository, views: Iterable[Repository]) -> WorkspaceProblem | None:
    """The problem of the first folder of a work tree that a removed file made a workspace.

    The hint has the command that brings it back. Raises RepositoryProblem.
    """
    names = (*layout.CURATED_NAMES, SETTINGS_NAME)
    paths = [FilePath(f"{view.prefix}{name}") for view in views for name in names]
    gone = [path for path in paths if not os.path.lexists(repository.root / path)]
    removed = discovery.find_removed(repository, gone)
    if removed is None:
        return None
    by, details = "", {}
    if removed.commit:
        by, details = f" by {removed.author} ({removed.commit[:8]})", {"commit": removed.commit}
    path = PurePath(repository.root.name, removed.path)
    return WorkspaceProblem(
        "no-workspace",
        f"{'/'.join(path.parts[-2:])} was removed{by}",
        f"To bring it back: {removed.restoring}",
        **details,
    )


def workspaces_meant_by(folders: Iterable[Path], environment: Mapping[str, str]) -> Iterator[Path]:
    """The workspaces that folders (absolute) may mean, first choice first.

    For each folder: those at or above it in its work tree, that of its project, the same for the
    work tree around that; at the end the user's own.
    Raises WorkspaceProblem (`bad-settings`; `no-workspace`: settings name what is no workspace).
    """
    for folder in folders:
        for tree in _trees(folder):
            yield from filter(layout.is_marked, tree)
            if found := _project_workspace(tree, environment):
                yield _require_workspace(found)
    if own := config.own_workspace(environment):
        yield _require_workspace(own)


def workspace_of_tree(folder: Path, environment: Mapping[str, str]) -> Path | None:
    """The workspace of a folder (absolute): at or above it in its work tree, else its project's.

    Raises WorkspaceProblem (as `workspaces_meant_by`).
    """
    tree = next(_trees(folder))
    marked = filter(layout.is_marked, tree if os.path.lexists(tree[-1] / ".git") else [folder])
    found = next(marked, None) or _project_workspace(tree, environment)
    return found and _require_workspace(found)


def hidden_workspaces(workspace: Workspace) -> tuple[Path, ...]:
    """The workspaces that its folder would have without it, in its work tree or as a project."""
    tree = next(_trees(workspace.root))
    others = (*filter(layout.is_marked, tree[1:]), _project_workspace(tree, workspace.environment))
    return tuple(filter(None, others))


def _trees(folder: Path) -> Iterator[list[Path]]:
    """The folders from one up to the root of its work tree, then those of the tree around it."""
    tree: list[Path] = []
    for level in (folder, *folder.parents):
        tree.append(level)
        if os.path.lexists(f"{level}/.git") or level == level.parent:
            yield tree
            tree = []


def _project_workspace(tree: Sequence[Path], environment: Mapping[str, str]) -> Path | None:
    """The memory that the user's settings name for a folder of a work tree (its root is last)."""
    named = config.project_workspaces(environment)
    projects = {path.resolve(): workspace for path, workspace in named.items()}
    if not projects:
        return None
    paths = (*(each.resolve() for each in tree), _common_folder(tree[-1]))
    return next((projects[path] for path in paths if path in projects), None)


def _common_folder(root: Path) -> Path | None:
    """Git's common folder of a work tree; None if it is none, or not one of that repository."""
    if not os.path.lexists(f"{root}/.git"):
        return None
    try:
        common_dir = repo.discover(root).common_dir.resolve()
    except RepositoryProblem:
        return None
    return common_dir if root.resolve() in discovery.work_trees(common_dir) else None


def project_path(folder: Path) -> Path:
    """The path by which settings name a project: git's common folder, or its own without git."""
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return _common_folder(root) or root


def projects_of(workspace: Workspace) -> tuple[Path, ...]:
    here, named = workspace.root.resolve(), config.project_workspaces(workspace.environment)
    return tuple(project for project, folder in named.items() if folder.resolve() == here)


def session_folders(workspace: Workspace) -> tuple[Path, ...]:
    """The work trees whose sessions are of a workspace: its own, and those of its projects.

    The workspace's folder alone where git's folder names a work tree (`core.worktree`) that does
    not lead back there: it may come from elsewhere, and be set to the home.
    """
    repository = workspace.repository
    is_own = discovery.leads_to(repository.root, repository.git_dir)
    folders = [repository.root if is_own else workspace.root]
    for path in map(Path.resolve, projects_of(workspace)):
        folders += sorted(discovery.work_trees(path)) or [path]
    return tuple(folders)


def _require_workspace(named: Path) -> Path:
    folder = existing_folder(named)
    if not layout.is_marked(folder):
        raise removed_memory(folder) or WorkspaceProblem(
            "no-workspace",
            f"{named} is not a workspace: it has neither MEMORY.md nor mdmem.toml",
            _to_create(named),
        )
    return folder


def open_at(root: Path, environment: Mapping[str, str], any_settings: bool = False) -> Workspace:
    """The workspace in a folder. Raises RepositoryProblem, WorkspaceProblem (`bad-settings`)."""
    return open_in(repo.discover(root), environment, any_settings)


def open_in(
    repository: Repository, environment: Mapping[str, str], any_settings: bool = False
) -> Workspace:
    """The workspace of a discovered repository. Raises WorkspaceProblem (`bad-settings`)."""
    if repository.barred_filters and _is_adopted(repository, environment):
        repository = repository.trusted()
    basis = _basis(repository.folder, repository, environment)
    folder, tree = repository.folder, repository.root
    settings_problem = None
    if any_settings:
        settings, _ = config.load_usable(folder, tree, environment)
    else:
        try:
            settings = config.load(folder, tree, environment)
        except WorkspaceProblem as problem:
            earlier = _settings_before(repository, environment)
            if earlier is None:
                raise
            settings, settings_problem, basis = earlier, problem, None
    return Workspace(
        root=repository.folder,
        repository=repository,
        settings=settings,
        state=_state_folder(repository, environment),
        environment=environment,
        basis=None if any(layout.is_outside(path) for path in settings.extra_paths) else basis,
        any_settings=any_settings,
        settings_problem=settings_problem,
    )


def _settings_before(repository: Repository, environment: Mapping[str, str]) -> Settings | None:
    """The last settings in history that can be read, where those on disk came by a commit.

    None where they did not (they differ from HEAD's: a person is editing them), or where the user's
    own settings are what cannot be read.
    """
    folder, tree = repository.folder, repository.root
    head = repository.head()
    if head is None:
        return None
    name = FilePath(SETTINGS_NAME)
    committed = repository.read(head, [name])[name]
    if committed is None or committed != _bytes_on_disk(folder / SETTINGS_NAME):
        return None
    listed = repository.git(
        "log", f"--max-count={_VERSIONS_TRIED}", "--format=%H", head, "--", SETTINGS_NAME
    )
    for commit in listed.decode().split():
        with suppress(WorkspaceProblem):
            version = repository.read(CommitId(commit), [name])[name]
            return config.load(folder, tree, environment, version=version or b"")
    with suppress(WorkspaceProblem):
        return config.load(folder, tree, environment, version=b"")
    return None


def _bytes_on_disk(path: Path) -> bytes | None:
    """The bytes that git would keep of a file or a link; None if it is neither."""
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return path.read_bytes() if path.is_file() else None


def refresh(workspace: Workspace) -> Workspace:
    """The workspace as it is now; the same object if its files are unchanged.

    Raises RepositoryProblem, WorkspaceProblem (as `open_at`).
    """
    if workspace.basis is not None and workspace.basis.is_unchanged(workspace.environment):
        return workspace
    return replace(
        open_at(workspace.root, workspace.environment, workspace.any_settings),
        resources=workspace.resources,
        added=workspace.added,
    )


@dataclass(frozen=True, slots=True)
class Basis:
    """The inputs of opening a workspace: stamps of files, identities of folders, homes."""

    files: tuple[str, ...]
    stamps: tuple[tuple[int, ...] | None, ...]
    folders: tuple[str, ...]
    identities: tuple[tuple[int, ...] | None, ...]
    homes: tuple[str | None, ...]

    def is_unchanged(self, environment: Mapping[str, str]) -> bool:
        return (
            self.homes == tuple(map(environment.get, config.HOME_VARIABLES))
            and self.stamps == tuple(map(files.stamp, self.files))
            and self.identities == tuple(map(files.identity, self.folders))
        )


def _basis(root: Path, repository: Repository, environment: Mapping[str, str]) -> Basis | None:
    """All inputs of `open_at`; None if a file has just changed, so that its stamp is not reliable.

    (With folders outside the workspace in the settings there is no basis: links on the way to them
    count too.)
    """
    way = (root, *root.parents)
    depth = way.index(repository.root) if repository.root in way else 0
    git_dir, common_dir = str(repository.git_dir), str(repository.common_dir)
    folders = tuple(f"{folder}/.git" for folder in way[: depth + 1])
    paths = (
        *(
            f"{git_dir}/{name}"
            for name in ("config", "config.worktree", "commondir", "packed-refs")
        ),
        *(() if common_dir == git_dir else (f"{common_dir}/config",)),
        *map(str, config.settings_files(root, environment)),
    )
    stamps = tuple(map(files.stamp, paths))
    newest = max(
        (max(mtime_ns, ctime_ns) for mtime_ns, ctime_ns, *_ in filter(None, stamps)), default=0
    )
    if newest > time.time_ns() - files.RACY_NS:
        return None
    return Basis(
        files=paths,
        stamps=stamps,
        folders=folders,
        identities=tuple(map(files.identity, folders)),
        homes=tuple(map(environment.get, config.HOME_VARIABLES)),
    )


def _state_folder(repository: Repository, environment: Mapping[str, str]) -> Path:
    def awaits_id() -> bool:
        is_kept: bool = _adoption().awaits_id(repository, environment)
        return is_kept

    return state.workspace_folder(state.home(repository, environment, awaits_id), repository.prefix)


def _is_adopted(repository: Repository, environment: Mapping[str, str]) -> bool:
    is_adopted: bool = _adoption().is_adopted(repository, environment)
    return is_adopted


def _adoption() -> ModuleType:
    # most commands do not ask
    from mdmem.workspace import adoption  # noqa: PLC0415

    return adoption


def was_used(repository: Repository, environment: Mapping[str, str]) -> bool:
    """True if a repository's folder has a state folder; it may no longer be a workspace."""
    return state.is_made(_state_folder(repository, environment))


def used_workspaces(folder: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    repository = repo.discover(folder)
    prefixes = state.prefixes(_state_folder(repository, environment).parent)
    roots = (repository.root / prefix for prefix in prefixes)
    return tuple(root for root in roots if layout.is_marked(root))


def workspaces_of(
    repository: Repository, folders: Iterable[Path], environment: Mapping[str, str]
) -> dict[Path, Workspace]:
    """The workspace of each folder of the work tree that is in one: the innermost."""
    workspaces = all_workspaces_of(repository, folders, environment)
    return {folder: around[0] for folder, around in workspaces.items() if around}


def all_workspaces_of(
    repository: Repository,
    folders: Iterable[Path],
    environment: Mapping[str, str],
) -> dict[Path, tuple[Workspace, ...]]:
    """The workspaces of each folder, innermost first; without marks, its state or git tells."""
    views = {folder: _views(repository, folder) for folder in folders}
    is_root = {
        view.folder: layout.is_marked(view.folder) or was_used(view, environment)
        for around in views.values()
        for view in around
    }
    unmarked = [
        around for around in views.values() if not any(is_root[view.folder] for view in around)
    ]
    if unmarked:
        marks = [mark for around in unmarked for view in around for mark in _marks(view)]
        in_git = repository.known_to_git(marks, environment.get("GIT_INDEX_FILE"))
        is_root |= {
            view.folder: not in_git.isdisjoint(_marks(view))
            for around in unmarked
            for view in around
        }
    opened: dict[Path, Workspace] = {}
    for view in (view for around in views.values() for view in around):
        if is_root[view.folder] and view.folder not in opened:
            opened[view.folder] = open_in(view, environment)
    return {
        folder: tuple(opened[view.folder] for view in around if view.folder in opened)
        for folder, around in views.items()
    }


def _views(repository: Repository, folder: Path) -> list[Repository]:
    return [
        repository.at_folder(level)
        for level in (folder, *folder.parents)
        if level.is_relative_to(repository.root)
    ]


def _marks(view: Repository) -> list[FilePath]:
    return [FilePath(f"{view.prefix}{name}") for name in layout.WORKSPACE_MARKS]


def two_curated_hint(workspace: Workspace) -> str | None:
    """A hint if there are two curated files (and not one under two names)."""
    paths = [workspace.root / name for name in layout.CURATED_NAMES]
    are_both = (
        all(path.exists() for path in paths) and len({path.stat().st_ino for path in paths}) > 1
    )
    return "both MEMORY.md and memory.md exist; only the first is used" if are_both else None


def read_committed(workspace: Workspace, path: FilePath, commit: CommitId | None) -> bytes | None:
    """The bytes of a file in a commit; None if there is no commit or no such file in it."""
    return workspace.repository.read(commit, [path])[path] if commit else None
