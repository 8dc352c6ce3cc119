"""Where a fleet is, whose repositories it has, and who may read which of them: `fleet.toml`."""

from __future__ import annotations

import os
import pwd
import stat
import time
import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mdmem.fleet import settings_path
from mdmem.fleet.engine import Engine, Readable
from mdmem.fleet.folder import FolderEngine
from mdmem.folder import config
from mdmem.model.errors import FleetProblem, MdmemError, UsageProblem, WorkspaceProblem, verb
from mdmem.repo import branch_commits
from mdmem.repo.runner import TimeUpError, TooMuchOutputError, converse
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace

OWNER = "owner"
PASSWORD = "MDMEM_FLEET_PASSWORD"
_KEYS = ("at", "repositories", "readers", "cached")
_COMMAND_SECONDS, _COMMAND_BYTES = 10.0, 10_000_000
_SECONDS = late.pattern(r"(\d+) ?s")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_REMOTE = late.pattern(r"[a-z+]+://.+|(?:[\w.-]+@)?[\w.-]+:(?!/).*")
"""A URL, or the address of ssh without one."""

Command = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """The settings of a file.

    - `at`: a folder, or an address. `repositories`: a glob or an address, or a command.
    - `readers`: a command, or "owner". `cached`: seconds that its answer holds in one process.
    """

    file: Path
    at: str
    repositories: str | Command
    readers: str | Command
    cached: float

    @property
    def is_folder(self) -> bool:
        return self.at.startswith("/")


class Fleet:
    """A fleet as it can be asked; `environment` holds name and password of an address."""

    def __init__(
        self, settings: FleetSettings, environment: Mapping[str, str], is_partial: bool = False
    ) -> None:
        self.settings, self.is_partial = settings, is_partial
        self._environment = environment
        self._read: dict[str, tuple[float, tuple[str, ...]]] = {}
        self.engine: Engine
        if settings.is_folder:
            self.engine = FolderEngine(Path(settings.at))
        else:
            connect = late.module("fleet.clickhouse").ClickHouseEngine.connect
            self.engine = connect(settings.at, environment, partial=is_partial)

    @property
    def clones(self) -> Path:
        """The folder of clones of repositories that are named by an address."""
        if self.settings.is_folder:
            return Path(f"{self.settings.at}.clones")
        return (config.user_state_folder(self._environment) or Path.home()) / "fleet.clones"

    def asking(self) -> Workspace:
        """A workspace without files, with the user's own settings: their day and zone count."""
        folder = self.settings.file.parent
        own = config.load(folder, None, self._environment, [], b"")
        at = branch_commits.bare_repository(folder)
        return Workspace(
            root=folder, repository=at, settings=own, state=folder, environment=self._environment
        )

    def listed(self) -> list[str]:
        """The repositories that the settings name. Raises FleetProblem."""
        named = self.settings.repositories
        if not isinstance(named, str):
            return self._lines(named)
        # no Path: the glob may begin anywhere
        return [named] if is_remote(named) else sorted(glob(named))  # noqa: PTH207

    def readable(self, reader: str | None = None) -> Readable:
        """The repositories that the asker may read.

        `reader`: another one, for whom the fleet's own account asks. Raises FleetProblem
        (`fleet-readers`).
        """
        owns = self._is_own
        if reader is not None and not owns:
            message = "only the fleet's own account asks for others"
            raise FleetProblem("fleet-readers", message, "Ask as yourself.")
        if isinstance(self.settings.readers, str):
            if reader is not None:
                message = 'readers = "owner" says nothing of others'
                raise FleetProblem("fleet-readers", message, "Name a command that knows them.")
            if not owns:
                message = f"{self.settings.at} is not a folder of yours that nobody else can open"
                raise FleetProblem("fleet-readers", message, f"chmod 700 {self.settings.at}")
            return None
        asker = reader or _login_name()
        known = self._read.get(asker)
        if known is None or time.monotonic() - known[0] > self.settings.cached:
            try:
                lines = self._lines((*self.settings.readers, asker))
            except FleetProblem as problem:
                raise FleetProblem("fleet-readers", problem.message, problem.hint) from problem
            known = self._read[asker] = time.monotonic(), tuple(sorted(lines))
        return known[1]

    @property
    def _is_own(self) -> bool:
        """True for the account that reads all of it anyway."""
        if not self.settings.is_folder:
            return bool(self._environment.get(PASSWORD))
        try:
            status = Path(self.settings.at).stat()
        except FileNotFoundError:
            return True
        return status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077

    def _lines(self, command: Command) -> list[str]:
        try:
            status, output, errors = converse(
                command,
                {name: value for name, value in self._environment.items() if name != PASSWORD},
                b"",
                _COMMAND_SECONDS,
                most_bytes=_COMMAND_BYTES,
            )
        except (OSError, TimeUpError, TooMuchOutputError) as problem:
            status, errors = 1, str(problem or type(problem).__name__).encode()
        if status:
            said = errors.decode("utf-8", "replace").strip()
            message = f"{command[0]} failed: {said}"
            raise FleetProblem("fleet-failed", message, f"{self.settings.file} names it.")
        return [line for line in os.fsdecode(output).split("\n") if line]


def _login_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError as problem:  # as in some containers
        message = "this account has no name, by which readers could know it"
        raise FleetProblem("fleet-readers", message) from problem


def reason_of(problem: Exception) -> str:
    return problem.message if isinstance(problem, MdmemError) else str(problem)


def is_remote(repository: str) -> bool:
    return bool(_REMOTE.fullmatch(repository))


def matching(repositories: Iterable[str], pattern: str) -> tuple[str, ...]:
    """Those that a glob names, whole or by their last parts, sorted."""
    globs = (pattern, f"*/{pattern}", f"*/{pattern}.git")
    return tuple(sorted(r for r in repositories if any(fnmatchcase(r, each) for each in globs)))


def open_fleet(
    environment: Mapping[str, str], file: Path | None = None, *, is_partial: bool = False
) -> Fleet:
    """The fleet of a file, else of the user's own. Raises FleetProblem, WorkspaceProblem.

    `is_partial`: where a shard is away, the others answer.
    """
    return Fleet(read_settings(environment, file), environment, is_partial)


def setup_sql(environment: Mapping[str, str], file: Path | None = None) -> str:
    """The SQL by which an administrator makes what a cluster needs. Raises UsageProblem."""
    settings = read_settings(environment, file)
    if settings.is_folder:
        raise UsageProblem("a fleet in a folder needs no tables or users")
    return str(late.module("fleet.clickhouse").setup_sql(settings.at))


def read_settings(environment: Mapping[str, str], file: Path | None = None) -> FleetSettings:
    path = file or settings_path(environment)
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8")) if path else None
    except FileNotFoundError:
        values = None
    except (OSError, ValueError) as problem:
        raise WorkspaceProblem("bad-settings", f"{path}: {problem}") from problem
    if path is None or values is None:
        hint = f'at = "/srv/mdmem-fleet", repositories and readers go there: {verb("help")} fleet'
        raise FleetProblem("no-fleet", f"no {path or 'fleet.toml'}", hint)
    return _checked(path, {name: _with_home(value) for name, value in values.items()})


def _with_home(value: object) -> object:
    is_below = isinstance(value, str) and value.startswith("~/")
    return str(Path(str(value)).expanduser()) if is_below else value


def _checked(path: Path, values: Mapping[str, Any]) -> FleetSettings:
    def wrong(name: str, expected: str) -> WorkspaceProblem:
        return WorkspaceProblem("bad-settings", f"{path}: {name} must be {expected}")

    for name in values:
        if name not in _KEYS:
            message = f"{path}: unknown setting {name[:60]!r}"
            raise WorkspaceProblem("bad-settings", message, f"It may have {', '.join(_KEYS)}.")
    at, seconds = str(values.get("at")), _SECONDS.fullmatch(str(values.get("cached", "60 s")))
    address = urlsplit(at)
    is_local = address.scheme == "http" and address.hostname in _LOOPBACK
    if not (at.startswith("/") or is_local or (address.scheme == "https" and address.hostname)):
        raise wrong("at", "an absolute path, https://…, or http:// on this machine")
    if address.username or address.password:
        raise wrong("at", f"without a password, which {PASSWORD} holds")
    if seconds is None:
        raise wrong("cached", 'seconds, as "60 s"')
    commands = {}
    for name, kinds in {"repositories": "a glob, an address", "readers": '"owner"'}.items():
        value = values.get(name)
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            value = tuple(value)
        elif not isinstance(value, str) or (name == "readers" and value != OWNER):
            raise wrong(name, f"{kinds}, or a command as a list")
        commands[name] = value
    return FleetSettings(file=path, at=at, **commands, cached=float(seconds[1]))
