"""Settings: `mdmem.toml` of the workspace over the user's own `config.toml` over the defaults. And the clock, which settings steer."""

from __future__ import annotations

import difflib
import os
import posixpath
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdmem.errors import UsageProblem, WorkspaceProblem
from mdmem.model import SETTINGS_NAME
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace

if TYPE_CHECKING:
    import tomllib
    import zoneinfo
else:
    tomllib = late.module("tomllib")
    zoneinfo = late.module("zoneinfo")


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set; times are seconds, sizes are lines and bytes."""

    timezone: str | None = None
    author: str | None = None
    actor: str | None = None
    agents: tuple[str, ...] = ()
    extra_paths: tuple[str, ...] = ()
    direct_edits: str = "commit"
    allow_detached: bool = False
    lock_timeout: float = 30.0
    hook_timeout: float = 30.0
    half_life_days: float | None = None
    language: str | None = None
    budget_lines: int = 200
    budget_bytes: int = 25_000
    log_queries: bool = False


LANGUAGES = {
    "ar": "arabic",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hu": "hungarian",
    "it": "italian",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""The languages that words can be stemmed in, by ISO 639 code; `search.words` has the means."""

_CHOICES = {"direct_edits": ("commit", "refuse")}
_NAMES = Settings.__match_args__
_TEXTS = ("timezone", "author", "actor", "direct_edits", "language")
_LISTS = ("agents", "extra_paths")
_FLAGS = ("allow_detached", "log_queries")
_COUNTS = ("budget_lines", "budget_bytes")
_MOST = 1_000_000_000


def _home(environment: Mapping[str, str]) -> str | None:
    return environment.get("HOME") or environment.get("USERPROFILE")


def user_settings_path(environment: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Where the user's own settings are, by the platform's custom; None where there is no home."""
    home = _home(environment)
    if platform == "win32":
        base = environment.get("APPDATA")
    elif platform == "darwin":
        base = f"{home}/Library/Application Support" if home else None
    else:
        base = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else None)
    return Path(base) / "mdmem" / "config.toml" if base else None


def settings_files(workspace: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The files that settings are read from, whether they are there or not."""
    own_path = user_settings_path(environment)
    return (workspace / SETTINGS_NAME, *((own_path,) if own_path else ()))


def _value(name: str, value: Any, where: str) -> Any:
    """`value` in the type of the setting `name`, or a refusal."""

    def wrong(expected: str) -> WorkspaceProblem:
        return WorkspaceProblem("bad-settings", f"{where}: {name} must be {expected}, not {value!r}")

    if name in _FLAGS:
        if not isinstance(value, bool):
            raise wrong("true or false")
        return value
    if name in _TEXTS:
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise wrong("a one-line text")
        if value not in _CHOICES.get(name, (value,)):
            raise wrong(" or ".join(_CHOICES[name]))
        return _language(value, where) if name == "language" else value
    if name in _LISTS:
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() and item.isprintable() for item in value):
            raise wrong("a list of texts")
        return tuple(value)
    if name in _COUNTS:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MOST:
            raise wrong(f"a whole number from 1 to {_MOST - 1:,}")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MOST:
        raise wrong(f"a number above 0 and below {_MOST:,}")
    return float(value)


def _language(said: str, where: str) -> str:
    """The English name of a language, from that or its code; of a code with a country (de-AT, pt_BR) the country is left out."""
    name = said.strip().casefold()
    code = name.replace("_", "-").partition("-")[0]
    found = LANGUAGES.get(code) or (name if name in LANGUAGES.values() else None)
    if found is None:
        known = list(dict.fromkeys(LANGUAGES.values()))
        raise WorkspaceProblem("bad-settings", f"{where}: language {said!r} is not one that words can be stemmed in", _nearest(name, known))
    return found


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}."


def _read(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as problem:
        raise WorkspaceProblem("bad-settings", f"{path.name}: {problem.strerror}") from problem
    try:
        found = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise WorkspaceProblem("bad-settings", f"{path.name}: {problem}", "Mend the file; every setting is optional.") from problem
    for name in found:
        if name not in _NAMES:
            near = difflib.get_close_matches(name, _NAMES, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The settings are {', '.join(_NAMES)}."
            raise WorkspaceProblem("bad-settings", f"{path.name}: unknown setting {name!r}", hint)
    return {name: _value(name, value, path.name) for name, value in found.items()}


def _place(path: str, here: Path, environment: Mapping[str, str]) -> Path:
    """Where an extra path leads, without `..`; `~` written out."""
    home = _home(environment)
    if path.startswith("~"):
        if not home or path[1:2] not in ("", "/"):
            raise WorkspaceProblem(
                "bad-settings", f"extra_paths names {path!r}, and it is not known where that is", "Write the folder out."
            )
        path = home + path[1:]
    return Path("/" + posixpath.normpath(here / path).lstrip("/"))


def _spelled(path: str, place: Path, here: Path) -> str:
    """An extra path in its one spelling: relative where it stays in the workspace (`notes`, not `./notes/`)."""
    if place.is_relative_to(here):
        return str(place.relative_to(here))
    return str(place) if path.startswith(("/", "~")) else posixpath.normpath(path)


def _stays_inside(place: Path, here: Path, tree: Path | None) -> bool:
    """Whether it lies in the workspace, where links are passed over, or else in the work tree, where no link leads out of that."""
    return place.is_relative_to(here) or (tree is not None and place.resolve().is_relative_to(tree))


def load(workspace: Path, tree: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings in force for a workspace.

    Args:
        workspace: its folder.
        tree: the root of the work tree that it is in, without links on the way to it; None where it is in none yet.
        environment: the process's own where none is given.

    Raises:
        WorkspaceProblem: `bad-settings`: unreadable TOML, an unknown setting (with the nearest known one), a value of the wrong
            type, an extra path outside the work tree that the user's own settings do not name, or in an unknown home.
    """
    env = os.environ if environment is None else environment
    here = workspace.absolute()
    own_path = user_settings_path(env)
    own = _read(own_path) if own_path else {}
    local = _read(workspace / SETTINGS_NAME)
    places = {path: _place(path, here, env) for path in (*own.get("extra_paths", ()), *local.get("extra_paths", ()))}
    allowed = {places[path] for path in own.get("extra_paths", ())}
    for path in local.get("extra_paths", ()):
        if places[path] not in allowed and not _stays_inside(places[path], here, tree):
            raise WorkspaceProblem(
                "bad-settings",
                f"{SETTINGS_NAME}: extra_paths names {path!r}, which is outside the work tree",
                f"To allow it, name it in extra_paths of your own settings ({own_path}) too.",
            )
    settings = replace(Settings(), **{**own, **local})
    spelled: dict[Path, str] = {}
    for path in settings.extra_paths:
        spelled.setdefault(places[path], _spelled(path, places[path], here))
    settings = replace(settings, extra_paths=tuple(spelled.values()))
    if settings.timezone:
        zone(settings.timezone)
    return settings


def zone(name: str | None) -> tzinfo | None:
    """The time zone of that name; None is the system's, which also heeds TZ."""
    if name is None:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise WorkspaceProblem("bad-settings", f"{name!r} is not a time zone", "Use a name such as Europe/Berlin.") from problem


def now(settings: Settings, environment: Mapping[str, str] | None = None) -> datetime:
    """The time that is written, in the user's zone: `MDMEM_NOW` (ISO 8601, local without an offset) or the real one.

    Raises:
        UsageProblem: `MDMEM_NOW` is not such a time, or one that git cannot keep.
    """
    env = os.environ if environment is None else environment
    place = zone(settings.timezone)
    given = env.get("MDMEM_NOW")
    if not given:
        return datetime.now().astimezone(place)
    try:
        moment = datetime.fromisoformat(given)
        moment = moment.replace(tzinfo=place) if moment.tzinfo is None and place is not None else moment.astimezone(place)
        if moment.timestamp() < 0:
            raise UsageProblem(f"MDMEM_NOW is {given!r}, which is before 1970; git keeps no such time")
    except (ValueError, OverflowError, OSError) as problem:
        raise UsageProblem(f"MDMEM_NOW is {given!r}, which is not an ISO 8601 time", "Write it as 2026-11-21T14:05:00.") from problem
    return moment
