"""Agents' hosts on this machine: which are there and use mdmem; setting one up, and undoing that.

A host with a command for plugins is asked to install the bundle. In other hosts' settings files one
entry is put in as text; what was inserted is noted in the user's state folder, so that it can be
taken out again, and nothing else with it. The table of hosts is templates/hosts/hosts.jsonc.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem import __version__
from mdmem.editors import instructions, settings_text
from mdmem.editors.settings_text import Insertion
from mdmem.folder import config, files, installed
from mdmem.model import FilePath
from mdmem.model.errors import MdmemError, StorageProblem, field, shell_word
from mdmem.repo.runner import TimeUpError, converse
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import parse
from mdmem.text.facts import INSTRUCTIONS_BEGIN

_SECONDS = 300.0  # for a host's own command: it may have to fetch something
_QUIET = {"MDMEM_CONTEXT": "off", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
"""For these commands: no blocks, and no question whether to trust mdmem's own folder."""
_RECORD_NAME = "hosts.json"
_WHOLE = ("file", "script")  # forms of files that are mdmem's alone
_NAME = late.pattern(r"@([a-z_]+)@")
_Entries = dict[str, dict[str, Any]]
"""By path (empty for the host's own commands): `form` and `content`, as the table had them;
`inserted`, the texts; `start`, the text that they were inserted into; `before`, the real one (None:
no file); `folders`, those made for it.
"""


@dataclass(frozen=True, slots=True)
class HostFile:
    """A settings file of a host, and what goes there.

    `form` is `json`, `yaml`, `lines` (mdmem's instructions), or that of a whole file: `file`,
    `script`. The first of `paths` that exists is meant, else the first whose folder does.
    """

    part: str
    form: str
    paths: Sequence[str]
    content: Any


@dataclass(frozen=True, slots=True)
class Host:
    """A host: `signs` are paths that tell that it is there, besides its program on the PATH.

    `places` count where no command does. `record` is where the host notes what that installed, a
    glob, `mark` the pattern of a version there, path included, and `bundle` what it has. `project`:
    places in a project, which reach everybody who has it.
    """

    title: str
    program: str
    signs: Sequence[str]
    places: Sequence[HostFile] = ()
    install: Sequence[Sequence[str]] = ()
    remove: Sequence[Sequence[str]] = ()
    record: str = ""
    mark: str = ""
    bundle: Sequence[str] = ()
    project: Sequence[HostFile] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class HostState:
    """An agent's host: the parts of mdmem that it has, and those that it lacks.

    Parts are `hooks`, `server`, `skill`, `instructions`; `versions` are those of the bundle.
    """

    name: str
    title: str
    installed: bool
    parts: tuple[str, ...]
    missing: tuple[str, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostChange:
    """The changes for a host, made or planned: files changed, commands run.

    `problems` say what could not be done, with the lines to add; `notes` what else may be.
    """

    host: str
    title: str
    files: tuple[str, ...]
    commands: tuple[str, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


def hosts(environment: Mapping[str, str], workspace: Path | None = None) -> dict[str, Host]:
    """The hosts by name; `workspace` is for one that starts the server elsewhere.

    They get the full path of mdmem, as hosts with windows have another PATH.
    """
    home = config.home(environment) or ""
    found = shutil.which("mdmem", path=environment.get("PATH", ""))
    mdmem = str(Path(found).absolute() if found else Path(sys.executable).parent / "mdmem")
    named = {"command": mdmem, "args": ["mcp"], "env": {"MDMEM_WORKSPACE": str(workspace)}}
    values = {
        "mdmem": mdmem,
        "hook": f"{shell_word(mdmem)} agent-hook",
        "home": home,
        "own": environment.get("XDG_CONFIG_HOME") or f"{home}/.config",
        "claude": environment.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude",
        "codex": environment.get("CODEX_HOME") or f"{home}/.codex",
        "copilot": environment.get("COPILOT_HOME") or f"{home}/.copilot",
        "openclaw": environment.get("OPENCLAW_STATE_DIR") or f"{home}/.openclaw",
        "pi": environment.get("PI_CODING_AGENT_DIR") or f"{home}/.pi/agent",
        "plugin": str(installed.path("templates", "plugin")),
        "gemini": str(installed.path("templates", "gemini")),
        "lines": installed.template("agents.md"),
        "named": json.dumps(named) if workspace else "",
        "opencode": installed.template("hosts/mdmem.js").replace('"@MDMEM@"', json.dumps(mdmem)),
        "pi_extension": installed.template("hosts/mdmem.ts").replace(
            '"@MDMEM@"', json.dumps(mdmem)
        ),
    }
    table = _NAME.sub(
        lambda match: json.dumps(values[match[1]])[1:-1], installed.template("hosts/hosts.jsonc")
    )
    rows: dict[str, dict[str, Any]] = json.loads(settings_text.json_plain(table))
    for row in rows.values():
        for kind in row.keys() & {"places", "project"}:
            row[kind] = [HostFile(**each) for each in row[kind]]
    return {name: Host(**row) for name, row in rows.items()}


def found_hosts(environment: Mapping[str, str]) -> tuple[HostState, ...]:
    """All hosts of the table, installed or not, and what each of them has of mdmem."""
    return tuple(_state(name, host, environment) for name, host in hosts(environment).items())


def _state(name: str, host: Host, environment: Mapping[str, str]) -> HostState:
    versions = _versions(host)
    parts = dict.fromkeys(host.bundle, True) if versions else dict[str, bool]()
    for place in () if versions else host.places:
        is_there = False
        with suppress(MdmemError, OSError, RuntimeError, ValueError):
            is_there = not _put(place, {}, None)
        parts[place.part] = is_there and parts.get(place.part, True)
    return HostState(
        name=name,
        title=host.title,
        installed=_has_program(host, environment) or any(map(os.path.exists, host.signs)),
        parts=tuple(part for part in parts if parts[part]),
        missing=tuple(part for part in parts if not parts[part]),
        versions=tuple(sorted(versions)),
    )


def _has_program(host: Host, environment: Mapping[str, str]) -> bool:
    return shutil.which(host.program, path=environment.get("PATH", "")) is not None


def _versions(host: Host) -> set[str]:
    """The versions of the bundle that a host has noted; it may use the program's own in place."""
    record = Path(host.record)
    paths = record.parent.glob(record.name) if host.record else ()
    texts = (f"{path}\n{read(path)}" for path in paths)
    found = {version for text in texts for version in re.findall(host.mark, text)}
    return {__version__ if version == "true" else version for version in found}


def wire(
    name: str,
    environment: Mapping[str, str],
    workspace: Path | None = None,
    project: Path | None = None,
    dry_run: bool = False,
) -> HostChange:
    """Set a host up; with `project`, also what it reads there alone. What is there already stays.

    Raises StorageProblem: what is put in cannot be noted, so nothing is.
    """
    host, records = hosts(environment, workspace)[name], load_record(_record_path(environment))
    entries = records.setdefault(name, {})
    save = None if dry_run else lambda: save_record(_record_path(environment), records)
    has_program = _has_program(host, environment)
    versions = _versions(host)
    due = () if __version__ in versions else (*(host.remove if versions else ()), *host.install)
    by_command = bool(host.install) and (has_program or not host.places)
    commands = [words for words in due if by_command and "" not in words]
    changed, problems = list[str](), _run(commands, environment) if save else []
    if save and len(problems) < len(commands):
        entries[""] = {}
        save()
    places = [] if by_command else list(host.places)
    for place in (*places, *(host.project if project else ())):
        try:
            if project and place in host.project:
                place = _in_project(place, project)
            changed += [str(_path(place))] if _put(place, entries, save) else []
        except (MdmemError, OSError, RuntimeError, ValueError) as problem:
            problems.append(f"{_path(place)} stays as it is ({problem}). To add:\n{_shown(place)}")
    also = f"for a project, with {field('project')}"
    shown = () if project else (f"{also}: {each.paths[0]}\n{_shown(each)}" for each in host.project)
    return HostChange(
        host=name,
        title=host.title,
        files=tuple(changed),
        commands=tuple(map(_typed, commands)),
        problems=tuple(problems),
        notes=(*filter(None, (host.note,)), *shown) if changed or problems else (),
    )


def unwire(name: str, environment: Mapping[str, str], dry_run: bool = False) -> HostChange:
    """Take out of a host what `wire` put in. An entry that was edited since stays, and is named."""
    host, records = hosts(environment)[name], load_record(_record_path(environment))
    entries = records.get(name, {})
    is_there = "" in entries or _versions(host)
    commands = host.remove if is_there else ()
    changed, problems = list[str](), [] if dry_run else _run(commands, environment)
    for path in [each for each in reversed(entries) if each]:
        try:
            left = list(_take_out(Path(path), entries[path], dry_run))
        except (MdmemError, OSError, RuntimeError, ValueError) as problem:
            problems.append(f"{path} stays as it is ({problem})")
            continue
        if left:
            problems.append(f"{path}: an entry was edited since, and stays")
            entries[path]["inserted"] = left
        else:
            changed.append(path)
            del entries[path]
    if name in records and not dry_run:
        if not problems:
            del records[name]
        save_record(_record_path(environment), records)
    return HostChange(
        host=name,
        title=host.title,
        files=tuple(changed),
        commands=tuple(map(_typed, commands)),
        problems=tuple(problems),
    )


def _run(commands: Iterable[Sequence[str]], environment: Mapping[str, str]) -> list[str]:
    """Run a host's own commands; return what failed."""
    problems = []
    for words in commands:
        try:
            answer = converse(words, {**environment, **_QUIET}, b"", _SECONDS)
            status, said = answer[0], (answer[2] or answer[1]).decode("utf-8", "replace").strip()
        except FileNotFoundError:
            status, said = 1, f"{words[0]} is not on the PATH"
        except (OSError, TimeUpError) as problem:
            status, said = 1, f"{problem}"
        if status and "already" not in said:
            problems.append(f"{_typed(words)}\nfailed: {said or f'exit status {status}'}")
    return problems


def _typed(words: Sequence[str]) -> str:
    return " ".join(map(shell_word, words))


# Settings files.


def _lines(text: str, wanted: str) -> list[Insertion]:
    if INSTRUCTIONS_BEGIN in text:
        return []
    return [(len(text), instructions.put_in(parse(text), wanted).text.removeprefix(text))]


def _whole(text: str, wanted: str) -> list[Insertion]:
    if text and text != wanted:
        raise ValueError("it has another content")
    return [] if text else [(0, wanted)]


_FORMS: Mapping[str, Callable[[str, Any], list[Insertion]]] = {
    "json": settings_text.json_entries,
    "yaml": settings_text.yaml_entry,
    "lines": _lines,
    **dict.fromkeys(_WHOLE, _whole),
}


def _in_project(place: HostFile, project: Path) -> HostFile:
    """Raises PathProblem: there is a link, which may come from others."""
    paths = [str(files.path_on_disk(project, FilePath(path))) for path in place.paths]
    return replace(place, paths=paths)


def _path(place: HostFile) -> Path:
    paths = list(map(Path, place.paths))
    found = [path for path in paths if os.path.lexists(path)]
    return (*found, *(path for path in paths if path.parent.is_dir()), paths[0])[0]


def _shown(place: HostFile) -> str:
    content = place.content
    return content if isinstance(content, str) else json.dumps(content, indent=2)


def _put(place: HostFile, entries: _Entries, save: Callable[[], None] | None) -> bool:
    """Put the entries of a place into its file; False if they are there. Without `save` nothing is
    written. Raises ValueError, MdmemError, OSError, RuntimeError: it stays as it is.
    """
    path, content = _path(place), json.dumps(place.content)
    target = path.resolve()
    data, old = _read(target), entries.get(str(path), {})
    base = (data or b"").decode()
    start, kept = base, old.get("inserted", [])
    if old and old["content"] != content:
        (start, changed), kept = settings_text.without(base, kept), []
        if changed and settings_text.calls_mdmem(start):
            raise ValueError("its entry was edited")
    if not start.strip():
        start = "{}\n" if place.form == "json" else ""
    insertions = _FORMS[place.form](start, place.content)
    if not insertions or save is None:
        return bool(insertions)
    made = [str(each) for each in target.parents if not each.exists()]
    entries[str(path)] = {
        "start": start,
        "before": base if data is not None else None,
        **old,
        "form": place.form,
        "content": content,
        "inserted": [*kept, *(added for _, added in insertions)],
        "folders": [*old.get("folders", []), *made],
    }
    save()  # before the file: what is in it can be taken out, whenever this ends
    files.make_folders(target.parent)
    _write(target, settings_text.inserted(start, insertions), data)
    if place.form == "script":
        target.chmod(0o755)
    return True


def _read(target: Path) -> bytes | None:
    """A file that may be written. Raises ValueError, MdmemError, OSError."""
    if (data := files.read(target)) is not None:
        status = target.stat()
        if status.st_uid != os.geteuid():
            raise ValueError("it belongs to another user")
        if not status.st_mode & stat.S_IWUSR or not os.access(target, os.W_OK):
            raise ValueError("it is read-only")
    return data


def _write(target: Path, text: str, data: bytes | None) -> None:
    if not files.replace(target, text.encode(), data, files.temporary_name()):
        raise StorageProblem("another program changed it just now")


def _take_out(path: Path, record: dict[str, Any], dry_run: bool) -> tuple[str, ...]:
    """Take entries out of a file; return those that were edited, and stay. Raises as `_put`."""
    target = path.resolve()
    data = _read(target)
    text = (data or b"").decode()
    rest, changed = settings_text.without(text, record["inserted"])
    if record["form"] in _WHOLE and rest:
        return tuple(record["inserted"])
    if record["form"] == "json" and data is not None:
        settings_text.json_plain(rest)
    left = changed if settings_text.calls_mdmem(rest) else ()
    before = record["before"] if rest == record["start"] else rest
    if dry_run or (data is None and before is not None):
        return left
    if before is not None:
        _write(target, before, data)
        return left
    target.unlink(missing_ok=True)
    for folder in record["folders"]:
        with suppress(OSError):
            Path(folder).rmdir()
    return left


# The record: {host: {path: entries}}.


def _record_path(environment: Mapping[str, str]) -> Path:
    if folder := config.user_state_folder(environment):
        return folder / _RECORD_NAME
    raise StorageProblem("no home is known, to note what is put in", "Set HOME.")


def load_record(path: Path) -> dict[str, Any]:
    """The entries that a file notes; none without the file. Raises StorageProblem."""
    record = read_json(path) if path.exists() else {}
    if not isinstance(record, dict):
        raise StorageProblem(f"{path} cannot be read", "Move it away.")
    return record


def save_record(path: Path, record: Mapping[str, Any]) -> None:
    files.make_folders(path.parent, files.PRIVATE_FOLDER)
    files.write_record(path, json.dumps(record, indent=1) + "\n")


# What hosts keep, which may be anything.


def read(path: Path) -> str:
    """The text of a file; empty where there is none."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


def read_json(path: Path) -> Any:
    """The values of a JSON file; None where there are none."""
    with suppress(ValueError, RecursionError):
        return json.loads(read(path))
    return None
