"""Settings: `mdmem.toml` over the user's `config.toml` over the defaults; and the clock.

In the user's own file a table `[in."PATH"]` holds settings for one workspace, which go over those
around it, a table `[actor."NAME"]` holds `write` for one agent, and a table `[project."PATH"]` the
`workspace` of a project that has its memory elsewhere. All that reads a file raises
WorkspaceProblem (`bad-settings`).
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from mdmem.folder import layout, trust, vault
from mdmem.model import SETTINGS_NAME, rules
from mdmem.model.errors import UsageProblem, WorkspaceProblem, near_names, verb
from mdmem.startup.records import dataclass, replace

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
"""The languages that words can be stemmed in (`search.languages`), by ISO 639 code."""
CHOICES = {
    "direct_edits": ("commit", "refuse"),
    "context": ("on", "off"),
    "session_scope": ("project", "all"),
    "sync": ("off", "auto"),
    "sync_files": ("memory", "all"),
    "sync_push": ("remote", "branch"),
    "verify": ("off", "show", "require"),
    "digest": ("rules", "model", "off"),
    "dream": ("off", "propose", "apply"),
    "server": ("on", "off"),
    "write": ("apply", "propose"),
    "links": ("update", "keep"),
    "vectors": ("off", "always", "local", "weak"),
}
"""The values of settings that have few."""
_TEXTS = (
    "timezone",
    "author",
    "actor",
    "daily",
    "direct_edits",
    "language",
    "links",
    "log_heading",
    "context",
    "workspace",
    "session_scope",
    "sessions_since",
    "sync",
    "sync_remote",
    "sync_files",
    "sync_push",
    "verify",
    "signers",
    "digest",
    "model_url",
    "model_name",
    "model_key_env",
    "vectors",
    "vectors_url",
    "vectors_name",
    "vectors_key_env",
    "dream",
    "dream_at",
    "server",
    "write",
)
_LONG_TEXTS = ("flush_prompt", "flush_system")
_LISTS = (
    "people",
    "people_only",
    "paths",
    "extra_paths",
    "adopt",
    "me",
    "agents",
    "pool",
    "sessions",
    "owner",
    "model_command",
    "vectors_command",
)
_FLAGS = ("allow_detached", "log_queries", "agents_propose")
_COUNTS = ("budget_lines", "budget_bytes", "model_tokens_day", "dream_changes")
_BY_WORKSPACE = "in"
_BY_ACTOR = "actor"
BY_PROJECT = "project"
EVERY_AGENT = "*"
_OWN_NAME = "config.toml"
_MAX_NUMBER = 1_000_000_000
_MAX_BYTES = 65_536
_MAX_CHARACTERS = 1_000
"""Of a text or of one text of a list: patterns see it, and it may come from elsewhere."""
_MAX_DOTS = 1_000
"""`tomllib` takes the cube of their number for a dotted key: a millisecond for so many."""
_MOST_QUOTED = 60
_MOST_PLACES = 100
_SHARED = {
    "agents_propose": 'Use write = "propose".',
    "people_only": f"Move it to {SETTINGS_NAME}.",
}
"""Settings of the workspace's own file alone, each with what to do in the user's."""
HOME_VARIABLES = ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "APPDATA")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a workspace; docs/settings.md is made of the docstrings below the fields.

    Here, `write` has the names of the agents that propose what they write.
    """

    timezone: str | None = None
    """A name such as `Europe/Berlin`; if not set, the system's time zone."""
    author: str | None = None
    """`NAME <EMAIL>`: the author of commits if git has no user name set. It does not say who you
    are.
    """
    actor: str | None = None
    """The default of `--actor`. In `mdmem.toml` it cannot be one of your `people`."""
    people: tuple[str, ...] = ()
    """Actors that are persons, also as principals of `signers` or fingerprints of PGP keys. Any
    other actor is an agent: what it calls `user-stated` is kept as claimed by it.
    """
    me: tuple[str, ...] = ()
    """Your e-mail addresses besides git's. Commits from other addresses are other people's."""
    agents: tuple[str, ...] = ()
    """Addresses or names of authors of commits that are agents: their lines are `inferred`. Never
    you.
    """
    paths: tuple[str, ...] = ()
    """Globs from the workspace: further Markdown files that are memory."""
    daily: str | None = None
    """The file that `log` writes to, by day. If not set, `memory/%Y-%m-%d.md`, or `%Y-%m-%d.md` if
    the workspace's own folder is called `memory`; `obsidian`: the vault's daily notes. `mdmem init`
    names the value for daily notes kept elsewhere.
    """
    log_heading: str | None = None
    """With `daily = "obsidian"`: the heading of a daily note below which `log` adds entries, as
    `- 09:30 text`. If not set, `Log`; a note without it gets a heading for each minute.
    """
    links: str | None = None
    """`update`: to rename a heading changes the links to it, in all files that are edited in place.
    `keep`: they stay. If not set, as Obsidian does in the vault (*Automatically update internal
    links*).
    """
    extra_paths: tuple[str, ...] = ()
    """Further folders to search; `~` is your home. Folders outside the work tree count only if your
    `config.toml` names them too.
    """
    direct_edits: str = "commit"
    """A person's pending edits of a file that is about to be changed: `commit` them first, or
    `refuse` the change.
    """
    allow_detached: bool = False
    """Commit on a detached HEAD too."""
    lock_timeout: float = 30.0
    """Maximum seconds to wait for another process of mdmem that is writing."""
    hook_timeout: float = 30.0
    """Maximum seconds for a `git commit` and its hooks."""
    half_life_days: float | None = None
    """The number of days after which an entry of a daily log has half its weight in a search, by
    the real clock (with `--as-of`, by that day). Other files keep their weight; if not set, all do.
    """
    language: str | None = None
    """The language of files too short to tell theirs; if not set, English. Words are found in other
    forms by the language of each file, which its own words tell, so this is seldom needed. A code
    (`de`, `pt-BR`) will do.
    """
    budget_lines: int = 200
    """Maximum lines of MEMORY.md: above it, `check` warns, and a night only proposes new lines."""
    budget_bytes: int = 25_000
    """The same in bytes."""
    log_queries: bool = False
    """Keep queries in the events, without secrets and cut to 300 characters. A purge drops events
    with a query.
    """
    flush_prompt: str | None = None
    """The user prompt of `mdmem flush` in place of the built-in one; `{day}`, `{path}` and
    `{silent}` are filled in.
    """
    flush_system: str | None = None
    """The system prompt of `mdmem flush`, likewise."""
    context: str = "on"
    """`off` silences the hooks of an agent's host (`mdmem agent-hook`)."""
    workspace: str | None = None
    """The full path of the workspace to use if there is none in this folder or above; `~` is your
    home.
    """
    pool: tuple[str, ...] = ()
    """Full paths of workspaces that `search`, `facts`, `context` and the tools read together with
    this one.
    """
    adopt: tuple[str, ...] = ()
    """Full paths, which may be globs (`~` is your home; `*` is one folder, `**` any), of workspaces
    that agents may use, besides those that `mdmem init` adopted.
    """
    sessions: tuple[str, ...] = ()
    """Clients whose sessions `mdmem digest` reads (`claude`, `codex`, `copilot`, `gemini`,
    `openclaw`, `qwen`), or globs of transcripts.
    """
    session_scope: str = "project"
    """`project`: sessions that worked in this work tree or in those of the projects that name this
    workspace. `all`: all of them.
    """
    sessions_since: str | None = None
    """The first day to read of sessions, as in `2026-11-21`. What was said before it is never read.
    """
    sync: str = "off"
    """`auto` syncs after writes, with `mdmem run` and at the start of a session."""
    sync_remote: str | None = None
    """The remote that `mdmem sync` uses; if not set, that of the branch's upstream, or the only
    one.
    """
    sync_files: str = "memory"
    """`all` also syncs commits of other files than memory."""
    sync_push: str = "remote"
    """`branch` sends to a branch of this machine, `mdmem/in/HOST`, for a pull request."""
    verify: str = "off"
    """`show` says in JSON whose signature each commit has. `require`: a line is `user-stated` only
    if a commit that a person signed brought it in.
    """
    signers: str | None = None
    """The full path of the file with the keys that may sign (`~` is your home), as in
    ssh-keygen(1), *ALLOWED SIGNERS*. If not set, git's own `gpg.ssh.allowedSignersFile`, which
    counts in your global settings alone.
    """
    owner: tuple[str, ...] = ()
    """Your sender ids in chats, and names under which logs have you (`Ada: …`). Statements of other
    senders count as `inferred`, with their name.
    """
    digest: str = "rules"
    """`rules`: no model. `model`: a model reads what the rules have left. `off`: only named
    sessions are read.
    """
    model_url: str | None = None
    """A server with the interface of OpenAI."""
    model_name: str | None = None
    """The name of its model."""
    model_key_env: str | None = None
    """The name of the environment variable with the key, if the server needs one."""
    model_command: tuple[str, ...] = ()
    """Instead of a server, a program and its arguments: the request is on its standard input, the
    answer on its standard output.
    """
    model_tokens_day: int = 200_000
    """Maximum number of tokens that this model and the one for vectors use per day."""
    vectors: str = "off"
    """`always` (the default where a source is set) asks a model for the vector of each question,
    `local` a package that is installed, where words leave doubt. `weak` is read as `always`.
    """
    vectors_url: str | None = None
    """A server with OpenAI's `/embeddings`."""
    vectors_name: str | None = None
    """The name of its model."""
    vectors_key_env: str | None = None
    """The name of the environment variable with the key, if the server needs one."""
    vectors_command: tuple[str, ...] = ()
    """Instead of a server, a program and its arguments: texts are JSON lines on its standard input,
    vectors on its standard output.
    """
    vectors_prefix: tuple[str, str] | tuple[()] = ()
    """The texts that the model wants in front of a question and of an entry, as in
    `["query: ", "passage: "]`.
    """
    vectors_wait: float = 150.0
    """Maximum milliseconds that a search waits for the vector of its question."""
    dream: str = "propose"
    """`mdmem run` consolidates past days: `propose` proposes all changes, `apply` applies certain
    ones and proposes the rest, `off` does nothing.
    """
    dream_at: str = "02:00"
    """The time of the next day from which a day is consolidated."""
    dream_changes: int = 20
    """Maximum number of changes that a night applies for each day. If a day has more, all of its
    changes are proposed.
    """
    server: str = "on"
    """`off`: no server speeds up commands."""
    write: tuple[str, ...] = ()
    """For all agents, or in `[actor."NAME"]` for one: `propose` makes proposals of what they write.
    """
    agents_propose: bool = False
    """All agents of all users propose what they write, except days' logs. The stricter of this and
    `write` holds.
    """
    people_only: tuple[str, ...] = ()
    """Globs of files, or `FILE#SECTION` with its subsections, that only people may change. An
    agent's change is refused, with the way to propose it.
    """


_NAMES = Settings.__match_args__


def home(environment: Mapping[str, str]) -> str | None:
    """The user's home; None where the environment names none."""
    return environment.get("HOME") or environment.get("USERPROFILE")


def user_settings_path(environment: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """The file of the user's own settings, by the platform's custom; None if there is no home."""
    base = _user_folder(environment, platform, "APPDATA", "XDG_CONFIG_HOME", ".config")
    return base / _OWN_NAME if base else None


def user_state_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder for what mdmem notes about this user's machine."""
    return _user_folder(environment, sys.platform, "LOCALAPPDATA", "XDG_STATE_HOME", ".local/state")


def user_data_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder for workspaces that have no other place."""
    return _user_folder(environment, sys.platform, "LOCALAPPDATA", "XDG_DATA_HOME", ".local/share")


def _user_folder(
    environment: Mapping[str, str],
    platform: str,
    windows: str,
    xdg: str,
    usual: str,
) -> Path | None:
    home_folder = home(environment)
    if platform == "win32":
        base = environment.get(windows)
    elif platform == "darwin":
        base = f"{home_folder}/Library/Application Support" if home_folder else None
    else:
        base = environment.get(xdg) or (f"{home_folder}/{usual}" if home_folder else None)
    return Path(base) / "mdmem" if base else None


OBSIDIAN = "obsidian"
"""The value of `daily` that follows a vault's own settings."""
_LOG_HEADING = "Log"


def settings_files(workspace: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The files that decide the settings; a vault's own among them."""
    own_path = user_settings_path(environment)
    return (
        workspace / SETTINGS_NAME,
        *((own_path,) if own_path else ()),
        *vault.daily_files(workspace),
    )


def _check_value(name: str, value: Any, file_name: str) -> Any:
    def wrong(expected: str) -> WorkspaceProblem:
        return WorkspaceProblem(
            "bad-settings", f"{file_name}: {name} must be {expected}, not {_quoted(value)}"
        )

    for text in value if isinstance(value, list) else (value,):
        if isinstance(text, str) and len(text) > _MAX_CHARACTERS:
            raise wrong(f"at most {_MAX_CHARACTERS:,} characters long")
    if name in _FLAGS:
        if not isinstance(value, bool):
            raise wrong("true or false")
        return value
    if name in _TEXTS:
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise wrong("a one-line text")
        if value not in CHOICES.get(name, (value,)):
            raise wrong(" or ".join(CHOICES[name]))
        if name == "sessions_since" and not rules.is_iso_day(value):
            raise wrong("a day as 2026-11-21")
        if name == "dream_at" and not rules.is_minute(value):
            raise wrong("a time as 02:00")
        if name == "daily" and value != OBSIDIAN and not layout.is_named_by_day(value):
            raise wrong(
                "obsidian, or a Markdown file of the workspace with %Y, %m and %d in its name,"
                " neither hidden nor one that agents' hosts read"
            )
        return _language_name(value, file_name) if name == "language" else value
    if name in _LONG_TEXTS:
        if not isinstance(value, str) or not value.strip():
            raise wrong("a text")
        return value
    if name == "vectors_prefix":
        if not _is_pair_or_empty(value):
            raise wrong("a list of two texts, for questions and for entries")
        return tuple(value)
    if name in _LISTS:
        if not isinstance(value, list) or not all(
            isinstance(item, str) and item.strip() and item.isprintable() for item in value
        ):
            raise wrong("a list of texts")
        if name in ("paths", "people_only"):
            _require_inside(name, value, file_name)
        if name == "people_only" and (len(value) > _MOST_PLACES or not all(map(_is_place, value))):
            raise wrong(f"at most {_MOST_PLACES} texts, each FILE or FILE.md#SECTION")
        return tuple(value)
    if name in _COUNTS:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MAX_NUMBER:
            raise wrong(f"a whole number from 1 to {_MAX_NUMBER - 1:,}")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MAX_NUMBER:
        raise wrong(f"a number above 0 and below {_MAX_NUMBER:,}")
    return float(value)


def _is_place(text: str) -> bool:
    file, section = layout.file_and_section(text)
    return bool(file.strip() and (section or not text.endswith("#")))


def _require_inside(name: str, globs: Sequence[str], file_name: str) -> None:
    outside = [each for each in globs if layout.leaves_workspace(layout.file_and_section(each)[0])]
    if outside:
        raise WorkspaceProblem(
            "bad-settings",
            f"{file_name}: {name} names {_quoted(outside[0])}, which is not in the workspace",
            "Globs are from the workspace: *.md, **/*.md, notes/**/*.md.",
        )


def _is_pair_or_empty(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (0, 2)
        and all(isinstance(item, str) and (not item or item.isprintable()) for item in value)
    )


def _language_name(value: str, file_name: str) -> str:
    name = value.strip().casefold()
    code = name.replace("_", "-").partition("-")[0]
    language = LANGUAGES.get(code) or (name if name in LANGUAGES.values() else None)
    if language is None:
        message = f"{file_name}: language {_quoted(value)} is not one that words can be stemmed in"
        raise WorkspaceProblem(
            "bad-settings",
            message,
            _suggest(name, list(dict.fromkeys(LANGUAGES.values()))),
        )
    return language


def _suggest(name: str, names: Sequence[str], otherwise: str = "") -> str:
    near = near_names(name, names, 1)
    return f"Did you mean {near[0]}?" if near else otherwise or f"There are {', '.join(names)}."


def _quoted(value: object) -> str:
    """The beginning of a value, for a message: agents read what strangers may have written."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        return "a very large number"
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"


def _read_bytes(path: Path, may_be_link: bool) -> bytes | None:
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if may_be_link else os.O_NOFOLLOW)
    try:
        _require_plain(path, path.stat(follow_symlinks=may_be_link))
        with os.fdopen(os.open(path, flags), "rb") as file:
            _require_plain(path, os.fstat(file.fileno()))  # it may be another file by now
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise WorkspaceProblem("bad-settings", f"{path.name}: {problem.strerror}") from problem
    return data


def _require_plain(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        hint = f"Replace {path} with a plain file, or remove it."
        raise WorkspaceProblem("bad-settings", f"{path.name} is not a plain file", hint)


def _require_short(path: Path, data: bytes) -> None:
    if len(data) > _MAX_BYTES:
        message = f"{path.name} has more than 64 KB"
        raise WorkspaceProblem("bad-settings", message, f"Shorten {path}.")
    if any(line.count(b".") > _MAX_DOTS for line in data.split(b"\n")):
        message = f"{path.name} has a line with more than {_MAX_DOTS:,} dots"
        raise WorkspaceProblem("bad-settings", message, f"Shorten that line of {path}.")


def _parsed(path: Path, data: bytes | None) -> dict[str, Any]:
    if not data:
        return {}
    _require_short(path, data)
    # 3 ms, only where there are settings
    import tomllib  # noqa: PLC0415

    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as problem:  # no TOML, or no UTF-8
        raise WorkspaceProblem(
            "bad-settings",
            f"{path.name}: {problem}",
            "Correct the file; every setting is optional.",
        ) from problem


def _checked(
    values: Mapping[str, Any], path: Path, unknown: list[WorkspaceProblem] | None
) -> dict[str, Any]:
    """The settings of a file. With `unknown`, problems of unknown ones are added to it instead."""
    problems = [_unknown_setting(name, path) for name in values if name not in _NAMES]
    if problems and unknown is None:
        raise problems[0]
    if unknown is not None:
        unknown += problems
    return {
        name: _check_value(name, value, path.name)
        for name, value in values.items()
        if name in _NAMES
    }


def _unknown_setting(name: str, path: Path) -> WorkspaceProblem:
    to_all = f"To see all: {verb('help')} settings"
    hint = _suggest(name, _NAMES, to_all)
    message = f"{_place(name, path)}: unknown setting {_quoted(name)}"
    return WorkspaceProblem("bad-settings", message, hint)


def _place(name: str, path: Path) -> str:
    """The file, and the first line that begins with a setting or its table."""
    begins = re.compile(rf"""\s*(?:\[+\s*)?["']?{re.escape(name)}["']?\s*[]=.]""")
    lines = (_read_bytes(path, may_be_link=True) or b"").decode("utf-8", "replace").split("\n")
    found = [number for number, line in enumerate(lines, 1) if begins.match(line)]
    return f"{path.name}:{found[0]}" if found else path.name


def _local_settings(
    path: Path,
    data: bytes | None,
    own_path: Path | None,
    people: Sequence[str],
    unknown: list[WorkspaceProblem] | None,
) -> dict[str, Any]:
    values = _parsed(path, data)
    if not values:
        return {}
    whose = f"your user settings ({own_path})" if own_path else "your user settings"
    for name in (*_NAMES, _BY_WORKSPACE, BY_PROJECT):
        is_table = name == _BY_ACTOR and isinstance(values.get(name), dict)
        if name in values and (
            is_table or name not in trust.trust(trust.TextOrigin.WORKSPACE_SETTINGS).settings
        ):
            message = (
                f"{SETTINGS_NAME} may not set {f'[{name}]' if is_table else name}, which belongs in"
                " each user's settings"
            )
            raise WorkspaceProblem("not-here", message, f"Remove it, or move it to {whose}.")
    settings = _checked(values, path, unknown)
    actor = settings.get("actor")
    if actor and trust.origin_of_actor(actor, people) is trust.TextOrigin.PERSON:
        message = f"{SETTINGS_NAME} may not name one of your people as the actor"
        raise WorkspaceProblem("not-here", message, f"Remove actor, or move it to {whose}.")
    return settings


def _own_values(environment: Mapping[str, str]) -> dict[str, Any]:
    own_path = user_settings_path(environment)
    return _parsed(own_path, _read_bytes(own_path, may_be_link=True)) if own_path else {}


def _own_settings(
    own_path: Path,
    workspace: Path,
    environment: Mapping[str, str],
    unknown: list[WorkspaceProblem] | None,
) -> dict[str, Any]:
    values = _own_values(environment)
    by_workspace = _tables(values, _BY_WORKSPACE)
    _projects(values)
    values.pop(_BY_WORKSPACE, None)
    values.pop(BY_PROJECT, None)
    settings, by_actor = _with_actors(values, own_path, unknown)
    for path, table in by_workspace.items():
        here, by_actor_here = _with_actors(table, own_path, unknown)
        if _with_home(path, environment, _BY_WORKSPACE).resolve() == workspace.resolve():
            settings |= here
            by_actor |= by_actor_here
    every = {EVERY_AGENT: settings.pop("write", "apply")}
    proposing = [
        actor for write in (every, by_actor) for actor in write if write[actor] == "propose"
    ]
    return settings | {"write": tuple(dict.fromkeys(proposing))}


def _with_actors(
    values: Mapping[str, Any], own_path: Path, unknown: list[WorkspaceProblem] | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The user's own settings, and `write` by the names of actors, folded."""
    for name in _SHARED.keys() & values:
        message = f"{_OWN_NAME} may not set {name}, which is for {SETTINGS_NAME}"
        raise WorkspaceProblem("not-here", message, _SHARED[name])
    tables = values.get(_BY_ACTOR)
    if not isinstance(tables, dict):
        return _checked(values, own_path, unknown), {}
    by_actor = {}
    for actor, table in tables.items():
        if not isinstance(table, dict) or table.keys() != {"write"} or not rules.fold_actor(actor):
            raise WorkspaceProblem(
                "bad-settings",
                f"{_OWN_NAME}: [{_BY_ACTOR}.{_quoted(actor)}] must be a table with write alone",
                f'Write [{_BY_ACTOR}."claude-code"], and below it write = "propose".',
            )
        by_actor[rules.fold_actor(actor)] = _check_value("write", table["write"], _OWN_NAME)
    others = {name: value for name, value in values.items() if name != _BY_ACTOR}
    return _checked(others, own_path, unknown), by_actor


def must_propose(settings: Settings, names: Iterable[str | None]) -> bool:
    """True if an agent with any of these names is to propose what it writes.

    A setting names an actor, or the last segment of one: `claude-code` is `mcp/claude-code` too.
    """
    if settings.agents_propose or EVERY_AGENT in settings.write:
        return True
    folded = [rules.fold_actor(name) for name in names if name]
    return any(
        name in settings.write or name.rpartition("/")[2] in settings.write for name in folded
    )


def _tables(values: Mapping[str, Any], of_what: str) -> dict[str, dict[str, Any]]:
    tables = values.get(of_what, {})
    if not isinstance(tables, dict) or not all(
        isinstance(table, dict) for table in tables.values()
    ):
        kind = "project" if of_what == BY_PROJECT else "workspace"
        raise WorkspaceProblem(
            "bad-settings",
            f"{_OWN_NAME}: {of_what} must be tables",
            f'Write [{of_what}."/path/of/a/{kind}"].',
        )
    return tables


def _projects(values: Mapping[str, Any]) -> dict[str, str]:
    tables = _tables(values, BY_PROJECT)
    for path, table in tables.items():
        if table.keys() != {"workspace"}:
            raise WorkspaceProblem(
                "bad-settings",
                f"{_OWN_NAME}: [{BY_PROJECT}.{_quoted(path)}] must have workspace alone",
                'Write workspace = "/path/of/a/workspace" below it.',
            )
    return {
        path: _check_value("workspace", table["workspace"], _OWN_NAME)
        for path, table in tables.items()
    }


def project_workspaces(environment: Mapping[str, str]) -> dict[Path, Path]:
    """The workspaces of the user's projects, by git's common folder (or their own without git)."""
    named = _projects(_own_values(environment))
    return {
        _full_folder(path, environment, BY_PROJECT): _full_folder(folder, environment, BY_PROJECT)
        for path, folder in named.items()
    }


def own_list(name: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The user's own value of a list setting. Raises WorkspaceProblem (`bad-settings`)."""
    values = _own_values(environment)
    return _check_value(name, values[name], _OWN_NAME) if name in values else ()


def adopted_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders or globs that the user adopts. Raises WorkspaceProblem (`bad-settings`)."""
    values = _own_values(environment)
    named = [
        ("MDMEM_ADOPT", path)
        for path in environment.get("MDMEM_ADOPT", "").split(os.pathsep)
        if path
    ]
    if "adopt" in values:
        named += [("adopt", path) for path in _check_value("adopt", values["adopt"], _OWN_NAME)]
    if "workspace" in values:
        named.append(("workspace", _check_value("workspace", values["workspace"], _OWN_NAME)))
    named += [
        (_BY_WORKSPACE, path)
        for path in _tables(values, _BY_WORKSPACE)
        if path.startswith(("/", "~"))
    ]
    named += [(BY_PROJECT, path) for path in _projects(values).values()]
    return tuple(_full_folder(path, environment, setting) for setting, path in named)


def _full_folder(path: str, environment: Mapping[str, str], setting: str) -> Path:
    folder = _with_home(path, environment, setting)
    if not folder.is_absolute():
        message = f"{setting} must name full paths, not {path!r}"
        raise WorkspaceProblem("bad-settings", message, "It may begin with ~.")
    return folder


def own_workspace(environment: Mapping[str, str]) -> Path | None:
    """The user's default workspace, if configured. Raises WorkspaceProblem (`bad-settings`)."""
    name = _own_values(environment).get("workspace")
    if name is None:
        return None
    return _full_folder(_check_value("workspace", name, _OWN_NAME), environment, "workspace")


def _with_home(path: str, environment: Mapping[str, str], setting: str) -> Path:
    home_folder = home(environment)
    if path.startswith("~"):
        if not home_folder or path[1:2] not in ("", "/"):
            raise WorkspaceProblem(
                "bad-settings",
                f"{setting} names {_quoted(path)}, whose location is unknown",
                "Give the full path.",
            )
        path = home_folder + path[1:]
    return Path(path)


def _full_path(path: str, workspace: Path, environment: Mapping[str, str]) -> Path:
    return Path(
        "/"
        + posixpath.normpath(workspace / _with_home(path, environment, "extra_paths")).lstrip("/")
    )


def _normalise_path(path: str, full_path: Path, workspace: Path) -> str:
    """An extra path's canonical form: relative in the workspace (`notes`, not `./notes/`)."""
    if full_path.is_relative_to(workspace):
        return str(full_path.relative_to(workspace))
    return str(full_path) if path.startswith(("/", "~")) else posixpath.normpath(path)


def _stays_inside(full_path: Path, workspace: Path, tree: Path | None) -> bool:
    """True for a path in the workspace, where links are skipped, or in the resolved tree."""
    return full_path.is_relative_to(workspace) or (
        tree is not None and full_path.resolve().is_relative_to(tree)
    )


def names_in(language: str | None) -> str | None:
    """The code of a language in which a vault's daily notes name months and weekdays."""
    codes = (code for code in ("de", "es", "fr") if LANGUAGES[code] == language)
    return next(codes, None)


def vaults_daily(folder: Path, language: str | None = None) -> str | None:
    """The names of a vault's daily notes as logs; None where they do not tell the day."""
    daily = vault.daily_names(folder, names_in(language))
    return daily if daily and layout.is_named_by_day(daily) else None


def _require_daily(folder: Path, language: str | None) -> str:
    if (daily := vaults_daily(folder, language)) is None:
        named = vault.FOLDER + "/daily-notes.json"
        raise WorkspaceProblem(
            "bad-settings",
            f"{SETTINGS_NAME}: daily is {OBSIDIAN}, but {named} does not name a note by its day,"
            " month and year",
            'Give the name yourself: daily = "Daily/%Y-%m-%d.md"',
        )
    return daily


def load_usable(
    workspace: Path, tree: Path | None, environment: Mapping[str, str]
) -> tuple[Settings, Sequence[WorkspaceProblem]]:
    """The settings without unknown ones, or the defaults if they cannot be used; and why."""
    problems: list[WorkspaceProblem] = []
    try:
        return load(workspace, tree, environment, problems), problems
    except WorkspaceProblem as problem:
        return Settings(), [*problems, problem]


def load(
    workspace: Path,
    tree: Path | None,
    environment: Mapping[str, str],
    unknown: list[WorkspaceProblem] | None = None,
    version: bytes | None = None,
) -> Settings:
    """The settings in force for a workspace.

    `tree` is the root of its work tree, without links on the way to it; None if it is in none yet.
    With `unknown`, problems of unknown settings are added to it, and those settings left out.
    `version`: another version of the workspace's own file than the one on disk.

    Raises:
        WorkspaceProblem: `bad-settings`: no plain file of at most 64 KB, unreadable TOML, an
            unknown setting (with the nearest known one), a value of the wrong type, an extra path
            outside the work tree that the user's own settings do not name, or in an unknown home.
            `not-here`: the workspace's file holds what only the user's own may (`trust.TABLE`).
    """
    folder = workspace.absolute()
    own_path = user_settings_path(environment)
    own = _own_settings(own_path, folder, environment, unknown) if own_path else {}
    file = workspace / SETTINGS_NAME
    data = _read_bytes(file, may_be_link=False) if version is None else version
    local = _local_settings(file, data, own_path, own.get("people", ()), unknown)
    full_paths = {
        path: _full_path(path, folder, environment)
        for path in (*own.get("extra_paths", ()), *local.get("extra_paths", ()))
    }
    allowed = {full_paths[path] for path in own.get("extra_paths", ())}
    for path in local.get("extra_paths", ()):
        if full_paths[path] not in allowed and not _stays_inside(full_paths[path], folder, tree):
            raise WorkspaceProblem(
                "bad-settings",
                f"{SETTINGS_NAME}: extra_paths names {_quoted(path)}, which is outside the work"
                " tree",
                f"To allow it, name it in extra_paths in your user settings ({own_path}) too.",
            )
    settings = replace(Settings(), **{**own, **local})
    if "vectors" not in own and (settings.vectors_url or settings.vectors_command):
        settings = replace(settings, vectors="always")
    if settings.daily == OBSIDIAN and folder.is_dir():
        daily, heading = _require_daily(folder, settings.language), settings.log_heading
        settings = replace(settings, daily=daily, log_heading=heading or _LOG_HEADING)
    else:
        settings = replace(settings, log_heading=None)
    extra_paths: dict[Path, str] = {}
    for path in settings.extra_paths:
        extra_paths.setdefault(full_paths[path], _normalise_path(path, full_paths[path], folder))
    settings = replace(
        settings,
        extra_paths=tuple(extra_paths.values()),
        pool=tuple(str(_full_folder(path, environment, "pool")) for path in settings.pool),
        signers=settings.signers and str(_full_folder(settings.signers, environment, "signers")),
    )
    if settings.timezone:
        zone(settings.timezone)
    return settings


def zone(name: str | None) -> tzinfo | None:
    """The time zone of that name; None is the system's, which heeds TZ."""
    if name is None:
        return None
    # 2 ms, only where a time zone is set
    import zoneinfo  # noqa: PLC0415

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise WorkspaceProblem(
            "bad-settings",
            f"{_quoted(name)} is not a time zone",
            "Use a name such as Europe/Berlin.",
        ) from problem


def now(settings: Settings, environment: Mapping[str, str]) -> datetime:
    """The time in the user's zone: `MDMEM_NOW` (ISO 8601, local without an offset) or the real one.

    Raises UsageProblem (`MDMEM_NOW` is not such a time, or one that git cannot keep).
    """
    local_zone = zone(settings.timezone)
    value = environment.get("MDMEM_NOW")
    if not value:
        return datetime.now().astimezone(local_zone)
    try:
        time = datetime.fromisoformat(value)
        time = (
            time.replace(tzinfo=local_zone)
            if time.tzinfo is None and local_zone is not None
            else time.astimezone(local_zone)
        )
        if time.timestamp() < 0:
            raise UsageProblem(
                f"MDMEM_NOW is {value!r}, which is before 1970; git keeps no such time"
            )
    except (ValueError, OverflowError, OSError) as problem:
        raise UsageProblem(
            f"MDMEM_NOW is {value!r}, which is not an ISO 8601 time",
            "Write it as 2026-11-21T14:05:00.",
        ) from problem
    return time
