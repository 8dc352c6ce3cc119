"""`setup`: find agents' hosts, sessions and memory, and take the steps that join them.

Each step does what the command that it prints would do. What it puts into hosts, settings and
timers is noted in the user's state folder before it is done, for `undo`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from time import time_ns
from typing import Any

from mdmem.folder import config, files, layout, own_settings
from mdmem.health import schedule, wiring
from mdmem.memory import Memory, outside
from mdmem.model.errors import (
    MdmemError,
    RepositoryProblem,
    TranscriptProblem,
    WorkspaceProblem,
    field,
    shell_word,
    verb,
)
from mdmem.model.pipelines import CRON, SYSTEMD, Digest, Dream, Schedule
from mdmem.model.prompts import BuildContext, Purpose
from mdmem.model.reads import Initialise, SaidFact, SetupAnswers, SetupFindings, SetupResult
from mdmem.model.searches import ListFacts
from mdmem.proposals import branches
from mdmem.sessions.clients import CLIENT_NAMES
from mdmem.sessions.files import Scope, find_files, read_head
from mdmem.workspace import (
    Progress,
    actor_in_shell,
    existing_folder,
    require_person,
    workspaces_meant_by,
)

DAYS = timedelta(days=30)
"""The time for which sessions are read."""
_RECORD = "setup.json"
_TABLE = "in"
_OPENCLAW = ".openclaw/workspace"
_NEW = "notes"
_MOST_LINES = 40
_SHOWN_ID = 8

Tell = Callable[[str, object], None]
"""Takes the command of a step, and what came of it: a line, or the command's result."""


def find(environment: Mapping[str, str], named: str | None = None) -> SetupFindings:
    """Look for hosts, sessions of the last days, and a workspace or a place for one.

    Raises WorkspaceProblem (`not-allowed`: an agent asks), MdmemError.
    """
    _require_person(environment)
    named = named or environment.get("MDMEM_WORKSPACE")
    start = existing_folder(named or ".").resolve()
    workspace = next(workspaces_meant_by((start,), environment), None)
    code = None if workspace or named else outside.code_repository(Initialise(), environment)
    is_project = outside.serves_project(workspace, environment) if workspace else code is not None
    scope = Scope("project" if is_project else "all", (code or start,))
    return SetupFindings(
        is_there=workspace is not None,
        folder=workspace
        or (outside.free_folder(code, environment) if code else _place(start, environment)),
        project=code,
        everything=scope.is_all,
        hosts=tuple(
            host.name
            for host in wiring.found_hosts(environment)
            if host.installed and (host.missing or not host.parts)
        ),
        sessions=_sessions(scope, environment),
    )


def _require_person(environment: Mapping[str, str]) -> None:
    people = config.own_list("people", environment)
    actor = actor_in_shell((environment.get("MDMEM_ACTOR"),), people, environment)
    try:
        require_person(actor, people, "set up memory")
    except WorkspaceProblem as problem:
        hint = f"To be typed at a terminal: {verb('setup')}"
        raise WorkspaceProblem(problem.code, problem.message, hint) from None


def _place(start: Path, environment: Mapping[str, str]) -> Path:
    """The vault or OpenClaw's folder around a folder; at home, what was set up before."""
    home = Path(config.home(environment) or "/").resolve()
    openclaw = home / _OPENCLAW
    if openclaw.is_dir() and (start == home or start.is_relative_to(openclaw.parent)):
        return openclaw
    if start == home:
        made = [Path(folder) for folder, _ in _read_record(environment).get("settings", ())]
        return next((each for each in reversed(made) if each.is_dir()), start / _NEW)
    around = [start, *start.parents]
    inside = around[: around.index(home)] if home in around else around
    return next((each for each in inside if (each / layout.VAULT_FOLDER).is_dir()), start)


def _sessions(scope: Scope, environment: Mapping[str, str]) -> Mapping[str, int]:
    """The number of each client's sessions in a scope, of the days to read."""
    since = time_ns() - int(DAYS.total_seconds() * 1e9)
    counts: Counter[str] = Counter()
    for client in CLIENT_NAMES:
        for file in find_files([client], environment):
            if file.modified < since:
                continue
            with suppress(TranscriptProblem, OSError):
                head = read_head(file.path)
                counts[client] += head is not None and scope.includes(head.project)
    return {client: count for client, count in counts.items() if count}


class _Setup:
    """The steps to answers, in order; `tell` takes each one's command, and what came of it."""

    def __init__(
        self,
        found: SetupFindings,
        answers: SetupAnswers,
        environment: Mapping[str, str],
        tell: Tell,
        progress: Progress | None,
    ) -> None:
        self._found = found
        self._answers = answers
        self._environment = environment
        self._tell = tell
        self._progress = progress
        self._record = _read_record(environment)

    def carry_out(self) -> SetupResult:
        root = self._made()
        self._write_settings(root)
        for host in self._answers.hosts:
            self._note("hosts", host)
            change = wiring.wire(host, self._environment, workspace=root)
            self._tell(_host_command(host), change)
        with closing(Memory.open(root, self._environment, progress=self._progress)) as memory:
            if self._answers.reads:
                self._read_sessions(memory)
            if self._answers.nights != "off":
                self._plan_nights(memory)
            return _result(memory)

    def _made(self) -> Path:
        result = outside.initialise(
            _init_request(self._found, self._answers), self._environment, self._progress
        )
        is_new = result.newly_adopted or result.written or result.made_repository
        self._tell(
            _init_command(self._found, self._answers),
            str(result.workspace) if is_new else f"{result.workspace}, as it was",
        )
        return result.workspace

    def _write_settings(self, root: Path) -> None:
        environment = self._environment
        values = _settings(self._found, self._answers, environment)
        if lines := own_settings.lines_to_add(_TABLE, root, values, environment):
            self._note("settings", [str(root), lines])
            own_settings.add_to_table(_TABLE, root, values, environment)
        now = own_settings.table(_TABLE, root, environment)
        kept = [f"{name} stays {now[name]!r}" for name in values if now[name] != values[name]]
        outcome = "\n".join([lines or "as it was", *kept])
        self._tell(str(config.user_settings_path(environment)), outcome)

    def _read_sessions(self, memory: Memory) -> None:
        read = memory.pipelines.digest(Digest())
        self._tell(verb("digest"), read)
        night = memory.pipelines.dream(Dream(apply=True))
        self._tell(verb("dream", "apply"), night)

    def _plan_nights(self, memory: Memory) -> None:
        outcome = ""
        for system in (SYSTEMD, CRON):
            with suppress(RepositoryProblem, OSError):
                done = memory.pipelines.schedule(Schedule(system, install=True))
                if done.active:
                    if done.changed:
                        self._note("timers", [system, str(memory.workspace.root)])
                    outcome = f"by {system}, every five minutes"
                    break
            with suppress(RepositoryProblem, OSError):
                memory.pipelines.schedule(Schedule(system, uninstall=True))
        line = schedule.line_by_hand(memory.workspace)
        self._tell(
            verb("schedule", "install"),
            outcome or f"no timer can be put in here; have something call, often: {line}",
        )

    def _note(self, name: str, value: object) -> None:
        """Record, before it is done, what `undo` is to take back."""
        values = self._record.setdefault(name, [])
        if value not in values:
            values.append(value)
            _write_record(self._record, self._environment)


def commands(
    found: SetupFindings, answers: SetupAnswers, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The commands and lines of settings that `carry_out` would use."""
    values = _settings(found, answers, environment)
    folder = answers.folder or str(found.folder)
    lines = own_settings.lines_to_add(_TABLE, Path(folder), values, environment)
    return (
        _init_command(found, answers),
        *map(_host_command, answers.hosts),
        *([f"{config.user_settings_path(environment)}:\n{lines}"] if lines else []),
        *((verb("digest"), verb("dream", "apply")) if answers.reads else ()),
        *([verb("schedule", "install")] if answers.nights != "off" else ()),
    )


def carry_out(
    found: SetupFindings,
    answers: SetupAnswers,
    environment: Mapping[str, str],
    tell: Tell,
    progress: Progress | None = None,
) -> SetupResult:
    """Take the steps; done ones stay if one fails, and are not done again. Raises MdmemError."""
    return _Setup(found, answers, environment, tell, progress).carry_out()


def _init_request(found: SetupFindings, answers: SetupAnswers) -> Initialise:
    folder = answers.folder or str(found.folder)
    if found.project is None:
        return Initialise(folder=folder)
    if Path(folder).resolve().is_relative_to(found.project):
        return Initialise(folder=folder, here=True)
    return Initialise(folder=folder, project=str(found.project))


def _init_command(found: SetupFindings, answers: SetupAnswers) -> str:
    request = _init_request(found, answers)
    fields = ["here"] if request.here else ["outside"] if request.project else []
    return f"{verb('init', *fields)} {shell_word(request.folder)}"


def _host_command(host: str, *fields: str) -> str:
    return f"{verb('init', *fields)} {field('host')} {shell_word(host)}"


def _settings(
    found: SetupFindings, answers: SetupAnswers, environment: Mapping[str, str]
) -> dict[str, own_settings.Value]:
    read: dict[str, own_settings.Value] = {}
    if answers.reads:
        day = config.now(config.Settings(), environment).date() - DAYS
        read = {
            "sessions": list(found.sessions),
            "session_scope": "all" if found.everything else "project",
            "sessions_since": day.isoformat(),
        }
    return {**read, "dream": answers.nights}


def _result(memory: Memory) -> SetupResult:
    block = memory.context(BuildContext(purpose=Purpose.SESSION))
    facts = memory.facts(ListFacts(limit=_MOST_LINES)).facts
    hits = {(hit.path, hit.start_line): hit for hit in facts}
    shown = ((entry.path, entry.line) for part in block.parts for entry in part.entries)
    return SetupResult(
        workspace=str(memory.workspace.root),
        block=block.text,
        lines=tuple(
            SaidFact(text=hits[place].text, cited=cited)
            for place in shown
            if place in hits and (cited := _first_session(hits[place].cites))
        ),
        example=facts[0].text if facts else None,
        proposals=branches.waiting(memory.workspace).proposals,
    )


def _first_session(cites: Sequence[str]) -> str:
    """The first line of a session among cites, the session by the beginning of its id."""
    for cited in cites:
        client, _, rest = cited.partition("/")
        session, _, line = rest.rpartition("#")
        if client in CLIENT_NAMES:
            return f"{client}/{session[:_SHOWN_ID]}#{line}"
    return ""


# Taking it back.


def undo(environment: Mapping[str, str], tell: Tell) -> bool:
    """Take out of hosts, settings and timers what `setup` put in; memory stays.

    What was changed since stays too, and is named: then it is False. Raises MdmemError.
    """
    _require_person(environment)
    record = _read_record(environment)
    left: dict[str, list[Any]] = {}
    for host in record.get("hosts", ()):
        change = wiring.unwire(host, environment)
        tell(_host_command(host, "undo"), change)
        if change.problems:
            left.setdefault("hosts", []).append(host)
    for folder, lines in record.get("settings", ()):
        is_out = own_settings.take_out(_TABLE, Path(folder), lines, environment)
        where = str(config.user_settings_path(environment))
        tell(where, "the lines are out" if is_out else f"changed since, so left:\n{lines}")
    for system, root in record.get("timers", ()):
        try:
            with closing(Memory.open(Path(root), environment)) as memory:
                memory.pipelines.schedule(Schedule(system, uninstall=True))
            tell(verb("schedule", "uninstall"), "removed")
        except MdmemError as problem:
            tell(verb("schedule", "uninstall"), problem.message)
            left.setdefault("timers", []).append([system, root])
    if path := _record_path(environment):
        path.unlink(missing_ok=True)
    if left:
        _write_record(left, environment)
    return not left


def _record_path(environment: Mapping[str, str]) -> Path | None:
    folder = config.user_state_folder(environment)
    return folder / _RECORD if folder else None


def _read_record(environment: Mapping[str, str]) -> dict[str, Any]:
    path = _record_path(environment)
    with suppress(OSError, ValueError):
        values = json.loads(path.read_bytes()) if path else {}
        return values if isinstance(values, dict) else {}
    return {}


def _write_record(record: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    if path := _record_path(environment):
        files.make_folders(path.parent, files.PRIVATE_FOLDER)
        files.write_cache(path, json.dumps(record))
