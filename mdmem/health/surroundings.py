"""Checks of what is around memory: git and the repository (settings, locks, objects, hooks, the
merge driver, the sync), and agents' hosts (the plugin, the workspace it finds, instructions).
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem import __version__
from mdmem.editors import instructions
from mdmem.events import Event, read_events
from mdmem.folder import config, files, hook_files, installed, layout
from mdmem.folder.config import Settings
from mdmem.health import dating, sync_status
from mdmem.health.inspection import DAY_SECONDS, Finding, Inspection, Level
from mdmem.health.wiring import found_hosts, read_json
from mdmem.merge import setup as merge_setup
from mdmem.merge.setup import MergeSetup
from mdmem.model import SETTINGS_NAME
from mdmem.model.errors import (
    MdmemError,
    RepositoryProblem,
    SyncProblem,
    WorkspaceProblem,
    field,
    shell_word,
    verb,
)
from mdmem.past.clocks import settle
from mdmem.repo import commits
from mdmem.repo.remotes import find_remote
from mdmem.repo.runner import run
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.text.document import parse_bytes
from mdmem.text.facts import INSTRUCTIONS_BEGIN
from mdmem.warm import running
from mdmem.workspace import (
    Workspace,
    adoption,
    hidden_workspaces,
    projects_of,
    session_folders,
    workspaces_meant_by,
)
from mdmem.workspace.sync_state import load_state


def check_adoption(inspection: Inspection) -> Iterator[Finding]:
    repository, environment = inspection.repository, inspection.workspace.environment
    if adoption.is_adopted(repository, environment):
        yield Finding(
            check="adoption",
            level=Level.OK,
            message="you have adopted this workspace, so agents may use it",
        )
        return
    message = f"you have not adopted this workspace{adoption.last_change(repository)}"
    hint = adoption.init_command(repository.folder)
    if adoption.is_of_user(repository, environment):
        hint += f"\nTo adopt others of yours too: {verb('init', 'found')}"
    yield Finding(
        check="adoption",
        level=Level.WARNING,
        message=f"{message}, so agents may not use it",
        hint=hint,
    )


def check_projects(inspection: Inspection) -> Iterator[Finding]:
    projects = projects_of(inspection.workspace)
    settings = config.user_settings_path(inspection.workspace.environment)
    gone = [project for project in projects if not project.exists()]
    for project in gone:
        yield Finding(
            check="projects",
            level=Level.WARNING,
            message=f"the project {project} is gone",
            hint=f'Remove [{config.BY_PROJECT}."{project}"] from {settings}, or correct the path.',
        )
    yield from _check_hidden(inspection.workspace)
    if projects and not gone:
        yield Finding(
            check="projects",
            level=Level.OK,
            message=f"the memory of {', '.join(map(str, projects))}",
        )


def _check_hidden(workspace: Workspace) -> Iterator[Finding]:
    """Name a memory that this one hides, and one that hides this one in a project."""
    hidden = [(workspace.root, other) for other in hidden_workspaces(workspace)]
    for folder in session_folders(workspace)[1:]:
        first = (
            next(workspaces_meant_by((folder,), workspace.environment)) if folder.exists() else None
        )
        if first and first.resolve() != workspace.root.resolve():
            hidden.append((first, workspace.root))
    for used, other in hidden:
        yield Finding(
            check="projects",
            level=Level.WARNING,
            message=f"commands in {used} use the memory there, which hides {other}",
            hint=f"Move what it holds into {other}, then remove its MEMORY.md and mdmem.toml.",
        )


def check_agents(inspection: Inspection) -> Iterator[Finding]:
    environment = inspection.workspace.environment
    plugins = [state for state in found_hosts(environment) if state.versions]
    for state in plugins:
        if __version__ in state.versions:
            yield Finding(check="agents", level=Level.OK, message=f"{state.title} has the plugin")
        else:
            yield Finding(
                check="agents",
                level=Level.NOTE,
                message=(
                    f"{state.title} has version {state.versions[-1] or 'unknown'} of the plugin;"
                    f" mdmem is {__version__}"
                ),
                hint=f"To update it: {verb('init')} {field('host')} {shell_word(state.name)}",
            )
    if not plugins:
        yield Finding(
            check="agents", level=Level.OK, message="the plugin is not installed in any host"
        )
    elif shutil.which("mdmem", path=environment.get("PATH", "")) is None:
        yield Finding(
            check="agents",
            level=Level.WARNING,
            message="mdmem is not on the PATH, where the plugin looks for it",
            hint="Link the program into a folder of the PATH, such as ~/.local/bin.",
        )
    yield from _check_openclaw(inspection)
    yield from _check_instructions(inspection)


def check_server(inspection: Inspection) -> Iterator[Finding]:
    try:
        server = running.find()
    except PermissionError as problem:
        yield Finding(
            check="server",
            level=Level.WARNING,
            message=f"no background server can be used: {problem}",
            hint="Remove that folder, or set TMPDIR to a folder of your own.",
        )
        return
    if server is not None:
        yield Finding(
            check="server",
            level=Level.OK,
            message=f"a background server is speeding up commands (process {server.process})",
        )


def check_hosts(inspection: Inspection) -> Iterator[Finding]:
    """Name each host that is installed, what it has of mdmem, and when it was last heard of."""
    log: tuple[Event, ...] = ()
    with suppress(MdmemError, OSError):  # which `check_events` tells
        log = read_events(inspection.workspace.state)
    for state in found_hosts(inspection.workspace.environment):
        if not state.installed:
            continue
        times = [
            event.time for event in log if (event.actor or "").startswith(f"agent/{state.name}")
        ]
        version = f" (plugin {state.versions[-1] or 'unknown'})" if state.versions else ""
        last = f"; last event {max(times).astimezone():%Y-%m-%d %H:%M}" if times else ""
        lacks = f"; lacks {', '.join(state.missing)}" if state.parts and state.missing else ""
        has = f"has {', '.join(state.parts)}" if state.parts else "does not use mdmem"
        yield Finding(
            check="hosts",
            level=Level.NOTE if lacks else Level.OK,
            message=f"{state.title} {has}{version}{lacks}{last}",
            hint=(
                ""
                if state.parts and not state.missing
                else f"To set it up: {verb('init')} {field('host')} {shell_word(state.name)}"
            ),
        )


def _check_openclaw(inspection: Inspection) -> Iterator[Finding]:
    # OpenClaw starts the server in the plugin's own folder, where it may find no workspace
    workspace = inspection.workspace
    environment = workspace.environment
    settings_path = Path(
        environment.get("OPENCLAW_CONFIG_PATH") or _openclaw_folder(environment) / "openclaw.json"
    )
    settings = read_json(settings_path)
    if (
        not _openclaw_plugin(environment).is_dir()
        or _get(settings, "plugins", "entries", "mdmem", "enabled") is False
    ):
        return
    named = _text(_get(settings, "mcp", "servers", "mdmem", "env"), "MDMEM_WORKSPACE")
    named = named if named and "${" not in named else str(config.own_workspace(environment) or "")
    if not named:
        own = config.user_settings_path(environment)
        yield Finding(
            check="agents",
            level=Level.WARNING,
            message="OpenClaw's server of the plugin finds no workspace",
            hint=(
                f'workspace = "{workspace.root}" in {own} names it, for every host that is not in a'
                " workspace."
            ),
        )
    elif not _means_a_workspace(Path(named).expanduser(), environment):
        yield Finding(
            check="agents",
            level=Level.WARNING,
            message=f"OpenClaw is set to use {named}, which is not a workspace",
            hint=(
                f"To create one: {adoption.init_command(Path(named).expanduser())}\n"
                "Or name another."
            ),
        )
    else:
        yield Finding(check="agents", level=Level.OK, message=f"OpenClaw uses {named}")


def _means_a_workspace(folder: Path, environment: Mapping[str, str]) -> bool:
    return folder.is_dir() and any(workspaces_meant_by((folder.resolve(),), environment))


def _check_instructions(inspection: Inspection) -> Iterator[Finding]:
    for name in layout.BOOTSTRAP_NAMES:
        path = inspection.workspace.root / name
        data = None if path.is_symlink() or not path.is_file() else files.read(path)
        if data is None or INSTRUCTIONS_BEGIN.encode() not in data:
            continue
        try:
            document = parse_bytes(data)
            is_old = (
                instructions.find_instructions(document)
                and instructions.put_in(document, installed.template("agents.md")).text
                != document.text
            )
        except MdmemError as problem:
            yield Finding(
                check="agents",
                level=Level.WARNING,
                message=f"{name}: {problem.message}",
                hint=problem.marked_hint,
            )
            continue
        if is_old:
            yield Finding(
                check="agents",
                level=Level.NOTE,
                message=f"the instructions in {name} are from another version",
                hint=f"To update them: {verb('init')} {field('agents')} {shell_word(name)}",
            )


# Where hosts keep what they have.


def _host_folder(environment: Mapping[str, str], variable: str, name: str) -> Path:
    return Path(environment.get(variable) or f"{environment.get('HOME', '')}/{name}")


def _openclaw_folder(environment: Mapping[str, str]) -> Path:
    return _host_folder(environment, "OPENCLAW_STATE_DIR", ".openclaw")


def _openclaw_plugin(environment: Mapping[str, str]) -> Path:
    return _openclaw_folder(environment) / "extensions" / "mdmem"


def _get(values: Any, *names: str) -> Any:
    # the value under nested names
    for name in names:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _text(values: Any, name: str) -> str:
    value = _get(values, name)
    return value if isinstance(value, str) else ""


_OLDEST_GIT = (2, 36)  # has `core.fsync`, which makes a commit survive a power cut
_FSCK_SECONDS = 120.0
_GIT_LOCKS = ("*.lock", "refs/**/*.lock", "objects/*.lock", "objects/info/**/*.lock")
_MOST_NAMED = 5
_VERSION = late.pattern(r"(?<!\d)(\d+)\.(\d+)")


def check_git(inspection: Inspection) -> Iterator[Finding]:
    version = inspection.repository.git("--version").decode("utf-8", "replace").strip()
    match = _VERSION.search(version)
    if match and (int(match[1]), int(match[2])) < _OLDEST_GIT:
        oldest = ".".join(map(str, _OLDEST_GIT))
        yield Finding(
            check="git",
            level=Level.WARNING,
            message=f"{version} cannot make a commit survive a power cut",
            hint=f"Install git {oldest} or newer.",
        )
    else:
        yield Finding(check="git", level=Level.OK, message=version)


def check_settings(inspection: Inspection) -> Iterator[Finding]:
    root, user_path = (
        inspection.workspace.root,
        config.user_settings_path(inspection.workspace.environment),
    )
    settings, problems = _usable_settings(inspection)
    for problem in problems:
        yield Finding(
            check="settings", level=Level.ERROR, message=problem.message, hint=problem.marked_hint
        )
    present = [
        str(path)
        for path in (root / SETTINGS_NAME, user_path)
        if path is not None and path.exists()
    ]
    if not problems:
        yield Finding(
            check="settings",
            level=Level.OK,
            message=f"from {' and '.join(present)}" if present else "all at their defaults",
        )
    for path in settings.extra_paths:
        if not (root / path).exists():
            yield Finding(
                check="settings",
                level=Level.WARNING,
                message=f"extra_paths names {path}, which does not exist",
            )
    if inspection.workspace.environment.get("MDMEM_NOW"):
        now = config.now(settings, inspection.workspace.environment).isoformat(timespec="seconds")
        yield Finding(
            check="settings",
            level=Level.NOTE,
            message=f"MDMEM_NOW is set: {now} is the time that is written",
        )


def _usable_settings(inspection: Inspection) -> tuple[Settings, Sequence[WorkspaceProblem]]:
    workspace = inspection.workspace
    return config.load_usable(workspace.root, inspection.repository.root, workspace.environment)


def check_identity(inspection: Inspection) -> Iterator[Finding]:
    settings, problems = _usable_settings(inspection)
    if problems and not (settings.author or inspection.repository.identity_known()):
        yield Finding(
            check="identity",
            level=Level.NOTE,
            message="not checked: the settings, which may name an author, cannot be used",
        )
        return
    identity = inspection.workspace.identity()
    yield Finding(
        check="identity",
        level=Level.OK,
        message=(
            f"commits are by {identity.name} <{identity.email}> (`author` in mdmem.toml)"
            if identity
            else "git has a user name set"
        ),
    )
    author = adoption.main_author(inspection.repository, inspection.workspace.environment)
    if author is not None:
        name, address = author
        yield _unnamed(f"most commits of this memory are by {name} <{address}>", address)
    own = inspection.workspace.user_addresses
    for address in sorted(inspection.repository.committing_addresses() - own):
        if author is None or address != author[1]:
            yield _unnamed(f"git commits here as {address}", address)


def _unnamed(message: str, address: str) -> Finding:
    named = json.dumps([address], ensure_ascii=False)
    return Finding(
        check="identity",
        level=Level.NOTE,
        message=f"{message}, who is not you as far as mdmem knows",
        hint=f"To say who it is, add to your config.toml: me = {named} (you), or agents = {named}.",
    )


def check_repository(inspection: Inspection) -> Iterator[Finding]:
    repository, branch = inspection.repository, inspection.repository.branch()
    try:
        repository.require_ready(inspection.workspace.settings.allow_detached, branch)
    except RepositoryProblem as problem:
        if problem.code not in ("repository-busy", "detached-head"):
            raise
        yield Finding(
            check="repository",
            level=Level.WARNING,
            message=f"{problem.message}; nothing can be written now",
            hint=problem.marked_hint,
        )
    else:
        yield Finding(
            check="repository",
            level=Level.OK,
            message=f"on {branch}" if branch else "HEAD is detached, which allow_detached allows",
        )
    if repository.head() is None:
        yield Finding(check="repository", level=Level.NOTE, message="no commits yet")
    if repository.is_shallow():
        yield Finding(
            check="repository",
            level=Level.NOTE,
            message="the clone is shallow: older history of memory is missing",
            hint="git fetch --unshallow",
        )
    if repository.head() is not None:
        yield from _check_dates(inspection)


def _check_dates(inspection: Inspection) -> Iterator[Finding]:
    now, commits = inspection.workspace.now().timestamp(), dating.read_dates(inspection.repository)
    moments = settle(commits).moments
    late, behind, reversed_dates = [], [], []
    for each in commits:
        moment, name = moments[each.number], each.commit[:8]
        if moment > each.committed:
            behind.append(name)
        elif moment > now + DAY_SECONDS and each is not commits[-1]:
            late.append(name)
        elif each.committed < each.time:
            reversed_dates.append(name)
    head = replace(commits[-1], moment=moments[len(commits)])
    if head.moment > now + DAY_SECONDS:
        yield Finding(
            check="repository",
            level=Level.WARNING,
            message=dating.ahead(head, now),
            hint=f"If this clock is right, date it back at a terminal: {verb('doctor', 'fix')}",
        )
    for line in dating.dated_back(commits):
        yield Finding(check="repository", level=Level.NOTE, message=line)
    for names, message in (
        (late, "dated ahead of this machine's clock"),
        (behind, "dated more than a day before the commit before: that one's date counts"),
        (reversed_dates, "dated after they were committed: that time counts"),
    ):
        if names:
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            listed = f"{', '.join(names[:_MOST_NAMED])}{more}"
            yield Finding(check="repository", level=Level.NOTE, message=f"{listed}: {message}")


def check_locks(inspection: Inspection) -> Iterator[Finding]:
    repository = inspection.repository
    folders = (repository.root, repository.git_dir, repository.common_dir)
    git_locks = sorted(
        {lock for folder in folders[1:] for pattern in _GIT_LOCKS for lock in folder.glob(pattern)}
    )
    for lock in git_locks:
        yield from _check_git_lock(inspection, lock, folders)
    if not git_locks:
        yield Finding(check="locks", level=Level.OK, message="no stale git locks")
    for lock in sorted(inspection.workspace.state.glob("*lock")):
        if files.is_locked(lock):
            holder = commits.lock_holder(lock)
            who = f"process {holder.process}, for {_age(holder.seconds)}" if holder else "a process"
            yield Finding(
                check="locks",
                level=Level.NOTE,
                message=f"mdmem is at work: {who} ({lock.name})",
            )


def _check_git_lock(
    inspection: Inspection, lock: Path, folders: tuple[Path, ...]
) -> Iterator[Finding]:
    try:
        age = _age(time.time() - lock.stat().st_mtime)
    except FileNotFoundError:  # released meanwhile
        return
    if not commits.is_stale_lock(lock, folders):
        yield Finding(
            check="locks",
            level=Level.WARNING,
            message=f"git's {lock} is {age} old, and may be in use",
            hint="If it stays, and no git is at work here, remove it.",
        )
        return
    fixed = inspection.fix and _remove_lock(inspection, lock, folders)
    yield Finding(
        check="locks",
        level=Level.WARNING,
        message=(
            f"git's {lock} was left {age} ago by a process that is"
            f" gone{'; it is removed' if fixed else ''}"
        ),
        fixed=fixed,
        hint="" if fixed else f"To remove it: {verb('doctor', 'fix')}",
    )


def _remove_lock(inspection: Inspection, lock: Path, folders: tuple[Path, ...]) -> bool:
    # returns False if it is no longer stale or another mdmem is running
    with inspection.locked():
        stale = commits.is_stale_lock(lock, folders)
        if stale:
            lock.unlink()
        return stale


def _age(seconds: float) -> str:
    for unit, size in (("days", DAY_SECONDS), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds / size)} {unit}"
    return f"{max(int(seconds), 0)} s"


def check_fsck(inspection: Inspection) -> Iterator[Finding]:
    try:
        result = run(
            inspection.workspace.root,
            ["fsck", "--connectivity-only", "--no-dangling", "--no-progress"],
            seconds=_FSCK_SECONDS,
        )
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        yield Finding(
            check="fsck",
            level=Level.NOTE,
            message=f"not done within {_FSCK_SECONDS:g} seconds",
            hint="To check without a time limit: git fsck",
        )
        return
    if result.status:
        errors = "; ".join(
            [
                *result.output.decode("utf-8", "replace").splitlines(),
                *result.error_text.splitlines(),
            ][:3]
        )
        yield Finding(
            check="fsck",
            level=Level.ERROR,
            message=f"the repository is damaged: {errors}",
            hint="For details: git fsck. Another clone may have what is missing.",
        )
    else:
        yield Finding(check="fsck", level=Level.OK, message="no missing objects")


def check_hooks(inspection: Inspection) -> Iterator[Finding]:
    folder, configured = (
        inspection.repository.hooks_dir,
        inspection.repository.setting("core.hooksPath"),
    )
    not_installed = ", ".join(
        f"{name} is {state}"
        for name, state in hook_files.hook_states(folder).items()
        if state != "installed"
    )
    if not not_installed:
        yield Finding(check="hooks", level=Level.OK, message="all are installed")
    elif configured is not None:
        yield Finding(
            check="hooks",
            level=Level.WARNING,
            message=f"core.hooksPath is set ({configured}), and there {not_installed}",
            hint=f"To see the lines to add there: {verb('hooks install')}",
        )
    elif inspection.fix:
        yield from _install_hooks(folder, not_installed)
    else:
        yield Finding(
            check="hooks",
            level=Level.WARNING,
            message=not_installed,
            hint=(
                f"To install them: {verb('hooks install')}"
                " (an existing hook is kept and runs first)"
            ),
        )


def _install_hooks(folder: Path, not_installed: str) -> Iterator[Finding]:
    try:
        hook_files.install(folder, sys.executable)
    except RepositoryProblem as problem:
        yield Finding(
            check="hooks", level=Level.WARNING, message=problem.message, hint=problem.marked_hint
        )
    else:
        yield Finding(
            check="hooks", level=Level.WARNING, message=f"installed ({not_installed})", fixed=True
        )


def check_sync(inspection: Inspection) -> Iterator[Finding]:
    workspace = inspection.workspace
    if workspace.settings.sync == "auto":
        branch, named = workspace.repository.branch() or "", workspace.settings.sync_remote
        try:
            find_remote(workspace.repository, branch, 1, named)
        except SyncProblem as problem:
            yield Finding(
                check="sync",
                level=Level.WARNING,
                message=f'sync = "auto", and {problem.message}',
                hint=problem.marked_hint,
            )
    state = load_state(workspace)
    if state is None:
        return
    yield Finding(
        check="sync",
        level=Level.WARNING if state.error else Level.OK,
        message=sync_status.describe(workspace, state),
        hint=f"To try again: {verb('sync')}" if state.error else "",
    )
    for note in sync_status.notes(workspace, state):
        yield Finding(check="sync", level=Level.NOTE, message=note)


_MOST_ATTRIBUTES = 3
_MISSING, _BROKEN = "merge-driver-missing", "merge-driver-broken"


def check_merge_driver(inspection: Inspection) -> Iterator[Finding]:
    """A merge driver that is missing or does not run: git then silently merges by lines."""
    setup = merge_setup.inspect(inspection.workspace)
    if setup.state != "installed":
        yield _fixed_driver(inspection, setup) if inspection.fix else _driver_problem(setup)
        return
    yield Finding(
        check="merge-driver", level=Level.OK, message="memory files are merged by section and fact"
    )
    if setup.elsewhere:
        named = ", ".join(f"{path} ({value})" for path, value in setup.elsewhere[:_MOST_ATTRIBUTES])
        more = (
            f" and {len(setup.elsewhere) - _MOST_ATTRIBUTES} more"
            if len(setup.elsewhere) > _MOST_ATTRIBUTES
            else ""
        )
        yield Finding(
            check="merge-driver",
            level=Level.NOTE,
            message=f"other attributes control how these are merged: {named}{more}",
        )


def _fixed_driver(inspection: Inspection, setup: MergeSetup) -> Finding:
    with inspection.locked():
        merge_setup.install(inspection.workspace, sys.executable)
    problem = _driver_problem(setup)
    return Finding(
        check=problem.check,
        level=problem.level,
        message=f"installed ({problem.message})",
        fixed=True,
    )


def _driver_problem(setup: MergeSetup) -> Finding:
    if setup.command is None and setup.named:
        message = (
            "attributes name the driver mdmem, which git's settings here do not define: git"
            " silently merges memory by lines"
        )
    elif setup.command is None:
        message = (
            "git merges memory by lines: two branches that both log on the same day will conflict"
        )
    elif not setup.works:
        message = f"the merge driver is gone, fails, or is not mdmem: {setup.command}"
    else:
        message = (
            "no attributes name the merge driver for some memory files: git merges these by lines"
        )
    broken = setup.command is not None and not setup.works
    return Finding(
        check=_BROKEN if broken else _MISSING,
        level=Level.WARNING,
        message=message,
        hint=f"To install it: {verb('doctor', 'fix')}",
    )
