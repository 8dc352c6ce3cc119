"""`init`: create a workspace, adopt a folder without altering a file; find others, leave one; and
ask who wrote most of it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from mdmem import repo
from mdmem.changes import agent_files
from mdmem.events import EventRecorder
from mdmem.folder import config, files, hook_files, installed, layout, trust, vault
from mdmem.folder.config import Settings
from mdmem.folder.layout import is_marked
from mdmem.health import wiring
from mdmem.health.wiring import HostChange
from mdmem.index.background import start_catching_up
from mdmem.memory.commit_hooks import require_hooks_free
from mdmem.merge import setup
from mdmem.model import SETTINGS_NAME, CommitId, FilePath, Op, Problem, Source
from mdmem.model.errors import (
    MdmemError,
    PathProblem,
    RepositoryProblem,
    StorageProblem,
    UsageProblem,
    WorkspaceProblem,
    field,
    shell_word,
    verb,
)
from mdmem.model.reads import FoundWorkspace, Initialise, InitResult
from mdmem.model.writes import WriteResult
from mdmem.past.messages import compose_claimed_save
from mdmem.queries.folders import other_markdown_note
from mdmem.repo import Repository, commits, discovery
from mdmem.repo.worktree import FALLBACK_IDENTITY, ignored
from mdmem.startup.records import replace
from mdmem.text import check
from mdmem.workspace import (
    Progress,
    Workspace,
    actor_in_shell,
    adoption,
    find_workspace,
    open_at,
    project_path,
    removed_from,
    require_person,
    require_writer,
)


def main_author(folder: Path, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and address, as `adoption.main_author` has them."""
    return adoption.main_author(repo.discover(folder), environment)


_SHARE_MESSAGE = """mdmem: memory files are merged by section and fact

Mdmem-Op: init
Mdmem-Source: user-stated
"""
_INIT_MESSAGE = "mdmem: init\n\nMdmem-Op: init\nMdmem-Source: {source}\n"
_FALLBACK_AUTHOR = f"{FALLBACK_IDENTITY.name} <{FALLBACK_IDENTITY.email}>"
_IGNORED_HINT = "Remove the rule; memory outside git has no history."


def share(workspace: Workspace) -> CommitId | None:
    """Commit the workspace's lines in .gitattributes; None where they are there already.

    Raises MdmemError (git cannot commit now, or the file has pending edits; nothing is changed).
    """
    repository, settings, path = workspace.repository, workspace.settings, setup.SHARED_PATH
    with files.lock(workspace.write_lock(), settings.lock_timeout):
        full_path = files.path_on_disk(workspace.root, path)
        before, data = (
            files.read(full_path),
            setup.shared_text(workspace).encode("utf-8", "surrogateescape"),
        )
        state = repository.state(path)
        if state.pending:
            raise RepositoryProblem(
                "pending-edits", f"{path} has uncommitted edits", "Commit them first."
            )
        if state.ignored:
            raise PathProblem(
                "ignored-path", f"{path} is ignored by .gitignore", "Remove the rule."
            )
        if data == before:
            setup.drop_own_lines(workspace)
            return None
        repository.require_ready(settings.allow_detached, state.branch)
        workspace.require_permitted(workspace.actor, [(path, before, data)])
        order = commits.CommitOrder(
            paths=[path],
            message=_SHARE_MESSAGE,
            date=repo.raw_date(workspace.now()),
            hook_timeout=settings.hook_timeout,
            identity=workspace.identity(),
        )
        if not files.replace(full_path, data, before, files.temporary_name()):
            raise RepositoryProblem("busy", f"{path} was changed meanwhile", "Try again.")
        try:
            commit = commits.commit(repository, order).id
        except BaseException:
            if before is None:
                full_path.unlink()
            else:
                files.replace(full_path, before, data, files.temporary_name())
            raise
    setup.drop_own_lines(workspace)
    return commit


def folder_of(request: Initialise, environment: Mapping[str, str]) -> Path:
    """The folder that a request names, absolute. Raises PathProblem (it can hold no workspace)."""
    folder = Path(request.folder or environment.get("MDMEM_WORKSPACE") or ".").absolute()
    if folder.exists() and not folder.is_dir():
        raise PathProblem("bad-path", f"{folder} is not a folder")
    if ".git" in (part.lower() for part in folder.parts):
        raise PathProblem("bad-path", f"{folder} is in git's own folder")
    return folder


def initialise(request: Initialise, environment: Mapping[str, str]) -> InitResult:
    """Create or adopt a folder's workspace. Raises MdmemError (no new file is left then)."""
    folder = folder_of(request, environment)
    if not is_marked(folder) and (line := next(_unusable_notes(folder), None)):
        raise PathProblem("bad-path", line)
    # Whatever can fail is tried before anything is written.
    was_workspace, existing = is_marked(folder), _existing_repository(folder)
    if existing and not was_workspace:
        _require_no_memory(folder.resolve(), existing)
    if existing and not request.here:
        _require_not_removed(existing, was_workspace)
    settings = config.load(folder.resolve(), existing.root if existing else None, environment)
    named = (environment.get("MDMEM_ACTOR"), settings.actor)
    require_writer(actor_in_shell(named, settings.people, environment), settings, environment)
    if (agents_file := request.agents or request.no_agents) is not None:
        agent_files.require_possible(folder.resolve(), agents_file, remove=request.agents is None)
    is_adopted, adopts = _adoption(folder, existing, settings, environment)
    if request.dry_run:
        plan = _plan(folder.resolve(), existing, request, settings)
        newly_adopted = adopts and was_workspace
        return replace(plan, adopted=is_adopted or adopts, newly_adopted=newly_adopted)
    if adopts:
        adoption.require_writable(environment)
    with ExitStack() as made:
        for new_folder in files.make_folders(folder):
            made.callback(new_folder.rmdir)
        repository = existing or repo.create(folder.resolve())
        if existing is None:
            made.callback(shutil.rmtree, repository.git_dir)
        workspace = open_at(repository.folder, environment)
        workspace.ensure_state()
        with EventRecorder(workspace.state, "init", workspace.actor) as event:
            with files.lock(workspace.write_lock(), workspace.settings.lock_timeout):
                written, notes, commit = _adopt(workspace, is_new=existing is None)
            made.pop_all()
            if adopts:
                adoption.adopt(repository, environment)
            result = _set_up(
                workspace,
                request,
                InitResult(
                    workspace=workspace.root,
                    made_repository=existing is None,
                    written=written,
                    commit=commit,
                    hooks=(),
                    notes=notes,
                    adopted=is_adopted or adopts,
                    newly_adopted=adopts and was_workspace,
                ),
            )
            has_changed = result.written or result.commit or result.hooks or result.merging
            event.done(bool(has_changed) or adopts, commit=result.commit)
    start_catching_up(workspace)
    more = _notes_on_content(workspace.root, result, environment)
    return replace(result, notes=(*result.notes, *more))


def _notes_on_content(
    root: Path, result: InitResult, environment: Mapping[str, str]
) -> Iterator[str]:
    # The settings may be new.
    if others := other_markdown_note(open_at(root, environment)):
        yield others
    if (root / vault.FOLDER).is_dir() and SETTINGS_NAME in result.written:
        yield f"{SETTINGS_NAME} says: {' and '.join(_vault_settings(root))}"
    if not result.adopted:
        yield "agents cannot access this memory until a person adopts it at a terminal"


def _plan(
    root: Path, existing: Repository | None, request: Initialise, settings: Settings
) -> InitResult:
    """Tell what `init` would do; nothing is written."""
    with ExitStack() as gone:
        # Where no repository is yet, a new one tells whether git knows the user.
        asked = existing or repo.create(Path(gone.enter_context(TemporaryDirectory())))
        missing, notes = _missing_files(root, asked, settings)
    if existing is not None and missing and root.is_dir():
        _require_not_ignored(root, tuple(missing))
    written = [*missing, *([request.agents] if request.agents else [])]
    steps = [
        *(["a git repository would be made of the folder"] if existing is None else []),
        *(["git's hooks would be installed"] if request.hooks else []),
        *(["a .gitattributes would be committed"] if request.shared else []),
    ]
    return InitResult(
        workspace=root,
        made_repository=existing is None,
        written=tuple(map(FilePath, written)),
        commit=None,
        hooks=(),
        notes=(*notes, *steps, "a dry run: nothing was written"),
        planned=True,
    )


def _require_no_memory(folder: Path, repository: Repository) -> None:
    """Raises PathProblem for a folder of another workspace's memory."""
    for outer in folder.parents:
        if not outer.is_relative_to(repository.root.resolve()):
            return
        if is_marked(outer) and folder.relative_to(outer).parts[0] == "memory":
            raise PathProblem(
                "bad-path",
                f"{folder} is in the memory of the workspace {outer}",
                "Use that workspace, or name a folder outside of its memory.",
            )


def _require_not_removed(existing: Repository, was_workspace: bool) -> None:
    """Refuse to begin a new memory in place of one that can be brought back.

    What a commit removed beside other marks was meant. Raises WorkspaceProblem (`no-workspace`).
    """
    if any(os.path.lexists(existing.folder / name) for name in layout.CURATED_NAMES):
        return
    removed = removed_from(existing, [existing])
    if removed and not (was_workspace and "commit" in removed.details):
        hint = f"{removed.marked_hint}\nFor a new memory instead, use {field('here')}."
        raise WorkspaceProblem(removed.code, removed.message, hint, **removed.details)


def _adoption(
    folder: Path,
    existing: Repository | None,
    settings: Settings,
    environment: Mapping[str, str],
) -> tuple[bool, bool]:
    """True if adopted, and true if this call is to adopt it. Raises WorkspaceProblem."""
    if existing is not None and adoption.is_adopted(existing, environment):
        return True, False
    if existing is None and adoption.is_named(folder, environment):
        return True, False
    named = [environment.get("MDMEM_ACTOR")]
    actor = actor_in_shell(named, settings.people, environment)
    if trust.trust(trust.origin_of_actor(actor, settings.people)).decides:
        return False, True
    if (
        existing is not None
        and is_marked(folder)
        and adoption.has_commits_of_others(existing, environment)
    ):
        raise WorkspaceProblem(
            "not-allowed",
            f"{folder} contains other people's memory, and {actor} is an agent",
            "A person has to adopt this memory at a terminal.",
        )
    return False, False


def _set_up(workspace: Workspace, request: Initialise, result: InitResult) -> InitResult:
    written, commit, notes, took_out = result.written, result.commit, result.notes, None
    configured = replace(workspace, settings=_settings(workspace))
    if request.agents is not None or request.no_agents is not None:
        change, more_notes = _instructions(configured, request)
        commit, notes = change.commit or commit, (*notes, *more_notes)
        if change.changed and request.agents is not None:
            written = (*written, FilePath(change.path))
        elif change.changed:
            took_out = FilePath(change.path)
        configured = replace(workspace, settings=_settings(workspace))
    if request.shared and (shared := share(configured)):
        commit, written = shared, (*written, setup.SHARED_PATH)
    hooks, hook_notes = _install_hooks(workspace) if request.hooks else ((), ())
    merging, merge_notes = _set_up_merging(configured)
    return replace(
        result,
        written=written,
        commit=commit,
        hooks=hooks,
        notes=(*notes, *hook_notes, *merge_notes),
        took_out=took_out,
        merging=merging,
    )


def _adopt(
    workspace: Workspace, is_new: bool
) -> tuple[tuple[FilePath, ...], tuple[str, ...], CommitId | None]:
    """Write and commit the missing files, with the workspace lock held; with lines for the user."""
    root, repository, settings = workspace.root, workspace.repository, workspace.settings
    missing, notes = _missing_files(root, repository, settings)
    notes += (*_unusable_notes(root), *_ignored_notes(workspace, tuple(missing)))
    if missing and not is_new:
        repository.require_ready(settings.allow_detached, repository.branch())
    settings_before = files.read(root / SETTINGS_NAME)
    written: list[FilePath] = []
    try:
        for path, text in missing.items():
            _write(root / path, text.encode(), settings_before if path == SETTINGS_NAME else None)
            written.append(path)
        files.sync(root)
        # The settings may be among the files that were just written.
        configured = replace(workspace, settings=_settings(workspace))
        # Settings that were there before are the user's to commit, as everything else in an old
        # repository.
        is_users = settings_before is not None and not is_new
        own = tuple(path for path in written if not (is_users and path == SETTINGS_NAME))
        commit, secret_notes = _first_commit(configured, own, is_new)
        return tuple(written), (*notes, *secret_notes), commit
    except BaseException:
        for path in written:
            (root / path).unlink(missing_ok=True)
            if path == SETTINGS_NAME and settings_before is not None:
                files.write_durably(root / path, settings_before)
        raise


def _write(path: Path, data: bytes, before: bytes | None) -> None:
    if before is None:
        files.write_durably(path, data)
    elif not files.replace(path, data, before, files.temporary_name()):
        raise StorageProblem(f"another program changed {path}", "Try again.")


def _settings(workspace: Workspace) -> Settings:
    return config.load(workspace.root, workspace.repository.root, workspace.environment)


def _instructions(workspace: Workspace, request: Initialise) -> tuple[WriteResult, tuple[str, ...]]:
    lines: list[str] = []
    if request.agents is not None:
        result = agent_files.set_instructions(workspace, request.agents, False, lines.append)
        return result, (
            *lines,
            *result.notes,
            *([] if result.changed else [f"unchanged: {result.path}"]),
        )
    result = agent_files.set_instructions(workspace, request.no_agents or "", True, lines.append)
    left = [] if result.changed else agent_files.files_with_instructions(workspace)
    hints = [
        f"{result.path} has no instructions from mdmem; {path} has: {field('no_agents')} {path}"
        for path in left
    ]
    return result, (*lines, *result.notes, *hints)


def _existing_repository(folder: Path) -> Repository | None:
    real_path = folder.resolve()
    nearest = next(each for each in (real_path, *real_path.parents) if each.is_dir())
    try:
        repository = repo.discover(nearest)
        return repository if nearest == real_path else repository.at_folder(real_path)
    except RepositoryProblem as problem:
        if problem.code != "not-a-repository":
            raise
        return None


def _vault_settings(root: Path) -> tuple[str, ...]:
    """The lines of settings for a vault: all its notes, and its daily notes as logs."""
    daily = f'daily = "{config.OBSIDIAN}"'
    return ('paths = ["**/*.md"]', *((daily,) if config.vaults_daily(root) else ()))


def _missing_files(
    root: Path, repository: Repository, settings: Settings
) -> tuple[dict[FilePath, str], tuple[str, ...]]:
    names = {entry.name.casefold() for entry in root.iterdir()} if root.is_dir() else set()
    missing: dict[FilePath, str] = {}
    text = (files.read(root / SETTINGS_NAME) or b"").decode()
    if (root / vault.FOLDER).is_dir() and not text:
        text = "".join(f"{line}\n" for line in _vault_settings(root))
        missing[FilePath(SETTINGS_NAME)] = text
        names |= {name.casefold() for name in layout.PROFILE_NAMES}  # notes of a person
    if not any(os.path.lexists(root / name) for name in layout.CURATED_NAMES):
        profiles = [name for name in layout.PROFILE_NAMES if name.casefold() not in names]
        missing |= {
            FilePath(name): installed.template(name)
            for name in (layout.CURATED_NAMES[0], *profiles)
        }
    if repository.identity_known() or settings.author:
        return missing, ()
    missing[FilePath(SETTINGS_NAME)] = f'author = "{_FALLBACK_AUTHOR}"\n{text}'
    return missing, (
        (
            f"git has no user name set; commits will be made as {_FALLBACK_AUTHOR} (see `author` in"
            f" {SETTINGS_NAME})"
        ),
    )


def _unusable_notes(root: Path) -> Iterator[str]:
    for name in layout.CURATED_NAMES:
        kind = (
            "a symbolic link"
            if (root / name).is_symlink()
            else "a folder"
            if (root / name).is_dir()
            else None
        )
        if kind:
            yield f"{name} is {kind}: neither searched nor edited. Put the file in its place."


def _ignored_notes(workspace: Workspace, missing: tuple[FilePath, ...]) -> tuple[str, ...]:
    _require_not_ignored(workspace.root, missing)
    paths = sorted(
        ignored(
            workspace.root,
            [path for path in workspace.memory_files() if not layout.is_outside(path)],
        )
    )
    if not paths:
        return ()
    names = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more memory files"
    return (f"ignored by .gitignore: {names}. {_IGNORED_HINT}",)


def _require_not_ignored(root: Path, missing: tuple[FilePath, ...]) -> None:
    if refused := ignored(root, missing):
        raise PathProblem(
            "ignored-path",
            f"{', '.join(sorted(refused))} would be ignored by .gitignore; nothing was written",
            _IGNORED_HINT,
        )


def _first_commit(
    workspace: Workspace, written: tuple[FilePath, ...], is_new: bool
) -> tuple[CommitId | None, tuple[str, ...]]:
    """Commit the files of `init`; in a new repository all memory files but those with a secret."""
    pending = set(workspace.repository.pending())
    existing = (
        sorted((set(workspace.memory_files()) & pending).difference(written)) if is_new else []
    )
    secrets = _files_with_secrets(workspace, existing)
    problems = [problem for of_file in secrets.values() for problem in of_file]
    notes = tuple(
        f"not committed: {problem.path}:{problem.line}: {problem.message}. {problem.hint}"
        for problem in problems
    )
    commit = None
    for paths, compose in ((existing, _message_of_existing), (written, _message_of_templates)):
        if new := sorted({*paths}.difference(secrets) & pending):
            made = [(path, None, (workspace.root / path).read_bytes()) for path in new]
            workspace.require_permitted(workspace.actor, made)
            order = commits.CommitOrder(
                paths=new,
                message=compose(workspace),
                date=repo.raw_date(workspace.now()),
                hook_timeout=workspace.settings.hook_timeout,
                identity=workspace.identity(),
            )
            commit = commits.commit(workspace.repository, order).id
    return commit, notes


def _message_of_templates(workspace: Workspace) -> str:
    return _INIT_MESSAGE.format(source=Source.AUTO)


def _message_of_existing(workspace: Workspace) -> str:
    """An agent claims existing files, as with `save`."""
    actor = workspace.given_actor(None)
    if actor is None or not workspace.is_agent(actor):
        return _INIT_MESSAGE.format(source=Source.USER_STATED)
    check.refuse_errors(check.secrets_in_text("actor", actor), workspace.allowances())
    return compose_claimed_save("mdmem: init", (), actor, Op.INIT)


def _files_with_secrets(
    workspace: Workspace, paths: Sequence[FilePath]
) -> dict[FilePath, tuple[Problem, ...]]:
    if "secret" in workspace.allowances():
        return {}
    problems = {
        path: check.added_secrets(
            path, None, (workspace.root / path).read_bytes(), workspace.kind_of(path)
        )
        for path in paths
    }
    return {path: of_file for path, of_file in problems.items() if of_file}


def _install_hooks(workspace: Workspace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        require_hooks_free(workspace)
        return hook_files.install(workspace.repository.hooks_dir, sys.executable), ()
    except RepositoryProblem as problem:
        if problem.code != "hooks-managed":
            raise
        return (), (f"hooks were not installed: {problem.message}", problem.marked_hint)


def _set_up_merging(workspace: Workspace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        return setup.install(workspace, sys.executable), ()
    except MdmemError as problem:
        return (), (f"git merges memory by lines: {problem.message}",)


# Existing workspaces.


_HIDDEN = (".openclaw",)
"""Hidden folders in which hosts keep workspaces; others are not searched."""
_SKIPPED = ("node_modules", "site-packages", "__pycache__")
_MOST_DEPTH = 8


def find_unadopted(
    environment: Mapping[str, str],
    progress: Progress | None,
) -> Iterator[FoundWorkspace]:
    """The workspaces below the home that mdmem made commits in and the user has not adopted."""
    home = config.home(environment)
    seen: set[tuple[Path, str]] = set()
    for folder in _folders(Path(os.path.realpath(home)), progress) if home else ():
        repository = _repository(folder) if is_marked(folder) else None
        if repository is None or adoption.is_adopted(repository, environment):
            continue
        key = repository.common_dir, repository.prefix
        # anybody's `.git` may point to a repository, which names its own work trees
        trees = discovery.work_trees(repository.common_dir)
        is_own_tree = Path(os.path.realpath(repository.root)) in trees
        if key not in seen and is_own_tree and adoption.has_mdmem_commits(repository):
            seen.add(key)
            yield FoundWorkspace(
                path=str(folder),
                own=adoption.is_of_user(repository, environment),
                last_change=adoption.last_author(repository),
            )


def _repository(folder: Path) -> Repository | None:
    """The repository of a workspace; None where git does not serve this user."""
    try:
        return repo.discover(folder)
    except RepositoryProblem:
        return None


def _folders(top: Path, progress: Progress | None) -> Iterator[Path]:
    device, waiting, count = top.stat().st_dev, [(top, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        count += 1
        if progress is not None:
            progress(count, count + len(waiting))
        yield folder
        with suppress(OSError), os.scandir(folder) as entries:
            waiting += [
                (Path(entry.path), depth + 1)
                for entry in entries
                if depth < _MOST_DEPTH
                and entry.is_dir(follow_symlinks=False)
                and _is_searched(entry.name)
                and entry.stat(follow_symlinks=False).st_dev == device
            ]


def _is_searched(name: str) -> bool:
    return name in _HIDDEN if name.startswith(".") else name not in _SKIPPED


def require_own_person(environment: Mapping[str, str], does: str, line: str = "") -> None:
    """`require_person` of who gives the command, where no workspace is open."""
    people = config.own_list("people", environment)
    actor = actor_in_shell((environment.get("MDMEM_ACTOR"),), people, environment)
    require_person(actor, people, does, line)


def adopt_found(
    workspaces: Sequence[FoundWorkspace],
    environment: Mapping[str, str],
) -> None:
    """Adopt workspaces that were found."""
    require_own_person(environment, "adopt")
    for workspace in workspaces:
        adoption.adopt(repo.discover(Path(workspace.path)), environment)


def leave(folder: Path, environment: Mapping[str, str]) -> bool:
    """Take a workspace off the user's list; False if it was not there.

    Raises WorkspaceProblem (`still-adopted`: settings name it).
    """
    require_own_person(environment, "adopt")
    folder = folder.resolve()
    _require_unnamed(folder, environment)
    return adoption.leave(repo.discover(folder), environment)


def _require_unnamed(folder: Path, environment: Mapping[str, str]) -> None:
    settings = config.user_settings_path(environment)
    for project, workspace in config.project_workspaces(environment).items():
        is_project = not is_marked(folder) and project.resolve() == project_path(folder).resolve()
        if is_project or workspace.resolve() == folder:
            raise WorkspaceProblem(
                "still-adopted",
                f"{workspace} is the memory of a project, so agents may use it",
                f'Remove the table [project."{project}"] from {settings}.',
            )
    if adoption.is_named(folder, environment):
        raise WorkspaceProblem(
            "still-adopted",
            f"your settings name {folder}, so agents may use it",
            f"Remove the line that names it (adopt, workspace, pool or [in]) from {settings}, or"
            " from MDMEM_ADOPT.",
        )


def wire_hosts(
    host: str, environment: Mapping[str, str], undo: bool, in_project: bool, dry_run: bool
) -> Iterator[HostChange]:
    """Set a host up, or all that are installed. Raises WorkspaceProblem, StorageProblem."""
    require_own_person(
        environment,
        "set up an agent's host",
        f"{verb('init')} {field('host')} {shell_word(host)}",
    )
    states = {state.name: state.installed for state in wiring.found_hosts(environment)}
    if host not in (*states, "all"):
        raise UsageProblem(f"{field('host')} takes one of: {', '.join((*states, 'all'))}")
    workspace, folder = None, Path.cwd()
    with suppress(MdmemError):
        workspace = find_workspace(None, environment)
    with suppress(MdmemError):
        folder = repo.discover(folder).root
    project = folder if in_project else None
    for name in [each for each in states if host in (each, "all")]:
        if undo:
            yield wiring.unwire(name, environment, dry_run)
        elif host == name or states[name]:
            yield wiring.wire(
                name, environment, workspace=workspace, project=project, dry_run=dry_run
            )
