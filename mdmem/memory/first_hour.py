"""`setup`: find agents' hosts, sessions and memory, and take the steps that join them.

Each step does what the command that it prints would do. What it puts into hosts, settings and
timers is noted in the user's state folder before it is done, for `undo`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from time import time_ns
from typing import Any, NamedTuple

from mdmem.folder import config, files, own_settings, vault
from mdmem.health import schedule, wiring
from mdmem.health.wiring import HostChange
from mdmem.memory import Memory, adopting, outside
from mdmem.model.errors import (
    MdmemError,
    RepositoryProblem,
    TranscriptProblem,
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
    existing_folder,
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
    adopting.require_own_person(environment, "set up memory", verb("setup"))
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
    return next((each for each in inside if (each / vault.FOLDER).is_dir()), start)


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


class _Step(NamedTuple):
    """A command, and what carries it out and returns what came of it.

    Of settings it is their path, with the lines to add; empty for none.
    """

    command: str
    carry_out: Callable[[], object]
    lines: str | None = None


class _Setup:
    def __init__(
        self,
        found: SetupFindings,
        answers: SetupAnswers,
        environment: Mapping[str, str],
        progress: Progress | None = None,
    ) -> None:
        self._found = found
        self._answers = answers
        self._environment = environment
        self._progress = progress
        self._values = _settings(found, answers, environment)
        self._record = _read_record(environment)
        self._root = Path(answers.folder or found.folder)
        self.opened = ExitStack()

    def steps(self) -> Iterator[_Step]:
        yield _Step(_init_command(self._found, self._answers), self._make)
        lines = own_settings.lines_to_add(_TABLE, self._root, self._values, self._environment)
        yield _Step(
            str(config.user_settings_path(self._environment)),
            partial(self._write_settings, lines),
            lines,
        )
        for host in self._answers.hosts:
            yield _Step(_host_command(host), partial(self._wire, host))
        if self._answers.reads:
            yield _Step(verb("digest"), lambda: self.memory.pipelines.digest(Digest()))
            yield _Step(
                verb("dream", "apply"), lambda: self.memory.pipelines.dream(Dream(apply=True))
            )
        if self._answers.nights != "off":
            yield _Step(verb("schedule", "install"), self._install_timer)

    @cached_property
    def memory(self) -> Memory:
        memory = Memory.open(self._root, self._environment, progress=self._progress)
        return self.opened.enter_context(closing(memory))

    def _make(self) -> str:
        result = outside.initialise(
            _init_request(self._found, self._answers), self._environment, self._progress
        )
        self._root = result.workspace
        if result.newly_adopted or result.written or result.made_repository:
            return str(self._root)
        return f"{self._root}, as it was"

    def _write_settings(self, lines: str) -> str:
        path = config.user_settings_path(self._environment)
        if lines:
            if path and not path.exists():
                self._note("made", str(path))
            self._note("settings", [str(self._root), lines])
            own_settings.add_to_table(_TABLE, self._root, self._values, self._environment)
        now = own_settings.table_of(_TABLE, self._root, self._environment)
        kept = [
            f"{name} stays {now[name]!r}"
            for name, value in self._values.items()
            if now[name] != value
        ]
        return "\n".join([lines or "as it was", *kept])

    def _wire(self, host: str) -> HostChange:
        self._note("hosts", host)
        return wiring.wire(host, self._environment, workspace=self._root)

    def _install_timer(self) -> str:
        for system in (SYSTEMD, CRON):
            timer = [system, str(self._root)]
            was_noted = timer in self._record.get("timers", ())
            self._note("timers", timer)
            with suppress(RepositoryProblem, OSError):
                done = self.memory.pipelines.schedule(Schedule(system, install=True))
                if done.active and (done.changed or was_noted):
                    return f"by {system}, every five minutes"
                if done.changed:
                    self.memory.pipelines.schedule(Schedule(system, uninstall=True))
                self._unnote("timers", timer)
                if done.active:
                    return f"by {system}, as before"
            self._unnote("timers", timer)
        return (
            "no timer can be put in here; have something call, often: "
            f"{schedule.line_by_hand(self.memory.workspace)}"
        )

    def _note(self, name: str, value: object) -> None:
        """Record, before it is done, what `undo` is to take back."""
        values = self._record.setdefault(name, [])
        if value not in values:
            values.append(value)
            _write_record(self._record, self._environment)

    def _unnote(self, name: str, value: object) -> None:
        if value in self._record[name]:
            self._record[name].remove(value)
            _write_record(self._record, self._environment)


def commands(
    found: SetupFindings, answers: SetupAnswers, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The commands and lines of settings that `carry_out` would use."""
    return tuple(
        f"{step.command}:\n{step.lines}" if step.lines else step.command
        for step in _Setup(found, answers, environment).steps()
        if step.lines != ""
    )


def carry_out(
    found: SetupFindings,
    answers: SetupAnswers,
    environment: Mapping[str, str],
    tell: Tell,
    progress: Progress | None = None,
) -> SetupResult:
    """Take the steps; done ones stay if one fails, and are not done again. Raises MdmemError."""
    setup = _Setup(found, answers, environment, progress)
    with setup.opened:
        for step in setup.steps():
            tell(step.command, step.carry_out())
        return _result(setup.memory)


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
        read = {
            "sessions": list(found.sessions),
            "session_scope": "all" if found.everything else "project",
            "sessions_since": (
                config.now(config.Settings(), environment).date() - DAYS
            ).isoformat(),
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

    What was changed since stays too, and is named. False: a host or timer could not be reached, so
    that it is tried again by the next call. Raises MdmemError.
    """
    adopting.require_own_person(environment, "set up memory", verb("setup"))
    record = _read_record(environment)
    left: dict[str, list[Any]] = {}
    for host in record.get("hosts", ()):
        change = wiring.unwire(host, environment)
        tell(_host_command(host, "undo"), change)
        if change.problems:
            left.setdefault("hosts", []).append(host)
    for folder, lines in record.get("settings", ()):
        is_out = own_settings.take_out(_TABLE, Path(folder), lines, environment)
        tell(
            str(config.user_settings_path(environment)),
            "the lines are out" if is_out else f"changed since, so left:\n{lines}",
        )
    for made in map(Path, record.get("made", ())):
        if files.read(made) == b"":
            made.unlink()
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
    return wiring.load_record(path) if path else {}


def _write_record(record: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    if path := _record_path(environment):
        wiring.save_record(path, record)
