"""Write docs/settings.md from the fields of `folder.config.Settings`: `make docs`. A test holds that
the page is current.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from mdmem.folder import config, trust
from mdmem.model import SETTINGS_NAME

PAGE = Path(__file__).parents[1] / "settings.md"
HEAD = """\
# Settings

This page is made by `make docs` from the program. All settings are optional, and nothing else has to be configured.

There are two files: `mdmem.toml` in the workspace, and your own `config.toml` (Linux: `~/.config/mdmem/`; macOS:
`~/Library/Application Support/mdmem/`). `mdmem.toml` takes precedence over `config.toml`, and that over the defaults. An unknown setting is refused.
Each is a plain file of up to 64 KB; your own may be a link to one. A text in it has up to 1,000 characters.

A repository may come from anybody. So `mdmem.toml` says where files are, in which language, and what the limits are; settings that name people,
programs, addresses, folders outside or the words of a prompt are allowed only in your `config.toml` (`not-here`).

If a commit, your own or one that you pulled, brings an `mdmem.toml` that cannot be used, memory can still be read, with the last version in
history that can be; answers and `status` say so, and nothing is written until the file is corrected (`mdmem sync` works, as it may bring the
correction). An uncommitted edit with such a mistake is refused at once.
"""
TAIL = """\
## Settings for one workspace, agent or project

These tables are for your `config.toml`.

`[in."PATH"]` has settings for the workspace in that folder (`~` is your home), which take precedence:

```toml
people = ["ada"]

[in."~/notes"]
half_life_days = 90
```

`[actor."NAME"]` has one setting, `write`, for the agent of that name: an actor, or the last segment of one (`claude-code` is
`mcp/claude-code` and `agent/claude-code`). A file with such a table has no room for the setting `actor`; `[in."PATH"]` and `mdmem.toml` have.

`[project."PATH"]` has one setting, `workspace`: the full path of the memory of a project, for all its branches and worktrees. PATH is
the project's `.git` folder (`git rev-parse --git-common-dir`), or the project's own without git. `mdmem init --outside` writes it
([machines.md](machines.md#memory-of-a-project)).

## The environment

| variable | meaning |
|---|---|
| `MDMEM_WORKSPACE` | a folder of the workspace to use |
| `MDMEM_ADOPT` | folders like those of `adopt`, with `:` between them |
| `MDMEM_ACTOR` | the actor, unless `--actor` names one |
| `MDMEM_SESSION` | the session of `context` and `flush` |
| `MDMEM_CONTEXT` | `off`: hooks of an agent's host are silent |
| `MDMEM_ALLOW` | checks to override: `shrink`, `append`, `secret` |
| `MDMEM_NOW` | the time that is written (ISO 8601) |
| `MDMEM_SERVER` | `off`: commands start without a server |
| `MDMEM_SERVER_IDLE` | the seconds after which an idle server ends |

An actor is named by `--actor`, `MDMEM_ACTOR` or the setting. In a shell that an agent's host runs (Claude Code, Codex, Gemini CLI, Cursor,
opencode, Copilot CLI, Qwen Code) it is otherwise `agent/HOST`, and no person can be named there. Case, surrounding spaces and invisible characters
do not make names different.
"""
SUBJECTS: dict[str, dict[str, tuple[str, ...]]] = {
    "Files and days": {
        "file-format.md#your-own-notes": ("paths", "daily"),
        "obsidian.md#daily-notes": ("log_heading",),
        "obsidian.md#links": ("links",),
        "file-format.md#workspace": ("extra_paths",),
        "": ("timezone", "language"),
    },
    "Who is who": {
        "trust.md#who-you-are": ("people", "me", "agents", "author"),
        "digest.md#what-counts-as-your-own-statement": ("owner",),
        "agents.md#an-agents-shell": ("actor",),
    },
    "Which memory": {
        "machines.md#which-memory-a-folder-has": ("workspace",),
        "machines.md#several-agents-people-and-workspaces": ("pool",),
        "agents.md#adopted-workspaces": ("adopt",),
    },
    "Writing": {
        "proposals.md#agents-that-propose": ("write", "agents_propose"),
        "signing.md#who-may-write": ("people_only",),
        "file-format.md#how-a-write-happens": ("direct_edits", "lock_timeout"),
        "": ("hook_timeout", "allow_detached"),
        "dream.md#what-it-never-does": ("budget_lines", "budget_bytes"),
    },
    "Searching": {
        "": ("half_life_days",),
        "file-format.md#state": ("log_queries",),
        "vectors.md#search-by-meaning": (
            "vectors",
            "vectors_url",
            "vectors_name",
            "vectors_key_env",
            "vectors_command",
            "vectors_prefix",
            "vectors_wait",
        ),
    },
    "Agents' hosts": {
        "context.md": ("context", "flush_prompt", "flush_system"),
        "install.md#the-server-behind-commands": ("server",),
    },
    "Sessions and nights": {
        "digest.md": ("sessions", "session_scope", "sessions_since", "digest"),
        "dream.md": ("dream", "dream_at", "dream_changes"),
        "vectors.md#a-model-that-reads-sessions": (
            "model_url",
            "model_name",
            "model_key_env",
            "model_command",
            "model_tokens_day",
        ),
    },
    "Sync": {
        "machines.md#without-typing-it": ("sync",),
        "machines.md#two-machines": ("sync_remote",),
        "machines.md#what-moves": ("sync_files",),
        "machines.md#a-forge-with-a-protected-branch": ("sync_push",),
    },
    "Signatures": {
        "signing.md#signatures": ("verify", "signers"),
    },
}
"""The settings by subject, and by the page that tells more, if one does."""
_TYPES = {
    "str": "text",
    "bool": "`true` or `false`",
    "int": "whole number",
    "float": "number",
    "tuple[str, ...]": "list of texts",
    "tuple[str, str] | tuple[()]": "two texts",
}


def page() -> str:
    """The whole page.

    Raises KeyError: a setting has no meaning below its field, or no page in SUBJECTS.
    """
    told = [name for pages in SUBJECTS.values() for names in pages.values() for name in names]
    if missing := set(config.Settings.__match_args__) ^ set(told):
        raise KeyError(f"SUBJECTS and Settings differ in {', '.join(sorted(missing))}")
    parts = [
        f"## {subject}\n\n| setting | value | default | file | meaning | more |\n|---|---|---|---|---|---|\n"
        + "".join(f"{row(name, more)}\n" for more, names in pages.items() for name in names)
        for subject, pages in SUBJECTS.items()
    ]
    return "\n".join([HEAD, *parts, TAIL])


def row(name: str, more: str) -> str:
    """A setting's row of its table."""
    meaning = dict(meanings())[name].replace("|", "\\|")
    link = f"[{more.partition('.')[0]}]({more})" if more else ""
    return f"| `{name}` | {value(name)} | {default(name)} | {file(name)} | {meaning} | {link} |"


def meanings() -> Iterator[tuple[str, str]]:
    """Each setting with the text below its field."""
    (settings,) = ast.parse(inspect.getsource(config.Settings)).body
    assert isinstance(settings, ast.ClassDef)
    for field, below in zip(settings.body, settings.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                yield name, " ".join(text.split())


def value(name: str) -> str:
    """What can be set."""
    if name == "language":
        return ", ".join(dict.fromkeys(map(str.title, config.LANGUAGES.values())))
    if name in config.CHOICES:
        return ", ".join(f'`"{choice}"`' for choice in config.CHOICES[name])
    return _TYPES[config.Settings.__annotations__[name].removesuffix(" | None")]


def default(name: str) -> str:
    """The value where nothing is set; a dash where the meaning says what holds."""
    if name == "write":  # whose field has the agents that propose
        return f'`"{config.CHOICES[name][0]}"`'
    match getattr(config.Settings(), name):
        case None | ():
            return "–"
        case bool(flag):
            return f"`{str(flag).lower()}`"
        case str(text):
            return f'`"{text}"`'
        case number:
            return f"{number:,g}"


def file(name: str) -> str:
    """The file that may hold it."""
    if name == "agents_propose":
        return f"`{SETTINGS_NAME}`"
    is_shared = name in trust.trust(trust.TextOrigin.WORKSPACE_SETTINGS).settings
    return "either" if is_shared else "`config.toml`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
