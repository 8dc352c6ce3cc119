"""Checks of agents' hosts: the plugin, the workspace it finds, and instructions for agents."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mdmem import __version__
from mdmem.editors import instructions
from mdmem.folder import config, files, installed, layout
from mdmem.health.inspection import Finding, Inspection, Level
from mdmem.model.errors import MdmemError, field, shell_word, verb
from mdmem.startup.records import dataclass
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

_CLAUDE_UPDATE = "claude plugin marketplace update mdmem, then claude plugin update mdmem@mdmem"
_CODEX_UPDATE = "codex plugin add mdmem@mdmem"
_OPENCLAW_UPDATE = 'openclaw plugins install --force --accept-capabilities "$(mdmem plugin)/mdmem"'


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """A host's plugin. `version` may be empty if unknown; `update` is a command."""

    host: str
    version: str
    update: str


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
    plugins = list(_installed_plugins(environment))
    for plugin in plugins:
        if plugin.version == __version__:
            yield Finding(check="agents", level=Level.OK, message=f"{plugin.host} has the plugin")
        else:
            yield Finding(
                check="agents",
                level=Level.NOTE,
                message=(
                    f"{plugin.host} has version {plugin.version or 'unknown'} of the plugin; mdmem"
                    f" is {__version__}"
                ),
                hint=plugin.update,
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


def _installed_plugins(environment: Mapping[str, str]) -> Iterator[InstalledPlugin]:
    claude = _read_json(
        _host_folder(environment, "CLAUDE_CONFIG_DIR", ".claude")
        / "plugins"
        / "installed_plugins.json"
    )
    entries = _get(claude, "plugins", "mdmem@mdmem")
    for version in sorted(
        {_text(each, "version") for each in entries} if isinstance(entries, list) else ()
    ):
        yield InstalledPlugin("Claude Code", version, _CLAUDE_UPDATE)
    cache = (
        _host_folder(environment, "CODEX_HOME", ".codex") / "plugins" / "cache" / "mdmem" / "mdmem"
    )
    versions = sorted(folder.name for folder in cache.iterdir()) if cache.is_dir() else []
    if versions:
        yield InstalledPlugin(
            "Codex", __version__ if __version__ in versions else versions[-1], _CODEX_UPDATE
        )
    openclaw = _openclaw_plugin(environment)
    if openclaw.is_dir():
        manifest = _read_json(openclaw / ".claude-plugin" / "plugin.json")
        yield InstalledPlugin("OpenClaw", _text(manifest, "version"), _OPENCLAW_UPDATE)


def _check_openclaw(inspection: Inspection) -> Iterator[Finding]:
    # OpenClaw starts the server in the plugin's own folder, where it may find no workspace
    workspace = inspection.workspace
    environment = workspace.environment
    settings_path = Path(
        environment.get("OPENCLAW_CONFIG_PATH") or _openclaw_folder(environment) / "openclaw.json"
    )
    settings = _read_json(settings_path)
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
                hint=problem.hint,
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


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _get(values: Any, *names: str) -> Any:
    # the value under nested names
    for name in names:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _text(values: Any, name: str) -> str:
    value = _get(values, name)
    return value if isinstance(value, str) else ""
