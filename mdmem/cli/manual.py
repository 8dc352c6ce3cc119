"""`mdmem help`: the installed pages of the documentation for users."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.commands import COMMANDS, GROUPS, Answer
from mdmem.cli.fast_parser import Call
from mdmem.folder import installed
from mdmem.model.errors import UsageProblem, near_names
from mdmem.startup import late

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import Json

_NEARLY_THE_SAME = 0.8

# as in docs/README.md
TOPICS = {
    "tour": "The first ten minutes, and most commands by example",
    "install": "Install, upgrade, uninstall; completion in the shell",
    "clients": "Claude Code, Codex, OpenClaw and others: install, inspect, switch off",
    "claude-code": "Use it with Claude Code",
    "codex": "Use it with Codex",
    "openclaw": "Use it with OpenClaw",
    "hosts": "Set up an agent's host: Cursor, opencode, Gemini CLI and others",
    "any-mcp-client": "Use it with any MCP client",
    "anthropic-sdk": "Use it with the Anthropic SDK",
    "library": "In Python: mdmem.open, LangGraph's store",
    "agents": "How an agent uses mdmem",
    "machines": "Several machines, agents and people: mdmem sync, pools",
    "fleet": "All memories of an organisation: index, search, who may read",
    "fleet-cluster": "A fleet in ClickHouse: tables, users, purge",
    "obsidian": "A vault of Obsidian: what agents see, links, daily notes",
    "proposals": "Review: changes that a person decides",
    "signing": "Signed commits, lines for people alone, a server that refuses a push",
    "digest": "Transcripts to daily logs: what is read, what is kept; runs on a timer",
    "dream": "Consolidation (dream): what goes into curated memory, what is proposed",
    "vectors": "Your own model, for sessions or for search by meaning: what is sent, costs",
    "page": "The web page: what it shows, keys, export, safety",
    "trends": "How memory changes over weeks: facts, survival, who writes",
    "commands": "Every command and option",
    "plumbing": "What hosts, git and scripts call: commands that mdmem --help leaves out",
    "settings": "Every setting, and the environment",
    "file-format": "The format of files and commits, and the state",
    "errors": "Errors, by code",
    "mcp": "The MCP server for Claude Code, Codex and other hosts",
    "glossary": "Glossary",
    "trust": "Whom mdmem trusts: adopted workspaces, other people, agents, pasted text",
    "security": "Security: who may write what, what leaves the machine, reports",
    "merging": "Merging two branches or two clones with mdmem",
    "context": "The memory block in an agent's prompt, and the flush before a compaction",
    "scale": "Cost at scale",
}
_CLIENT_PAGES = ("claude-code", "codex", "openclaw", "hosts", "any-mcp-client", "anthropic-sdk")
# the pages for other words
_TOPIC_ALIASES = {
    **dict.fromkeys(("files", "format"), "file-format"),
    "vault": "obsidian",
    **dict.fromkeys(("copilot", "vscode", "gemini", "qwen", "cursor", "cline"), "hosts"),
    **dict.fromkeys(("opencode", "pi", "goose", "windsurf", "zed", "kiro"), "hosts"),
    **dict.fromkeys(("config", "environment"), "settings"),
    **dict.fromkeys(("upgrade", "uninstall", "completion", "setup"), "install"),
    **{
        "agent": "agents",
        "error": "errors",
        "codes": "errors",
        "words": "glossary",
        "command": "commands",
        "flush": "context",
        "block": "context",
        "server": "mcp",
        "claude": "claude-code",
        "transcripts": "digest",
        "timer": "digest",
        "cron": "digest",
        "systemd": "digest",
        "sharing": "machines",
        "pool": "machines",
        "organisation": "fleet",
        "model": "vectors",
    },
}
# a heading, table row, code or blank line: belongs to no paragraph
_NO_PARAGRAPH = late.pattern(r"#|\||    |$")
_ITEM = late.pattern(r"- |\d+\. ")
_LINK = late.pattern(r"(?<!`)!?\[([^\[\]]+)\]\(([^()#\s]*)(?:#[^()]*)?\)")
_CELL = late.pattern(r"(?<!\\)\|")


def help_(
    call: Call,
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC",
            help="A page, or a command that no page is named after. [default: list the pages]",
        ),
    ] = None,
    as_json: Json = False,
) -> Answer:
    """Read a page of the documentation, or the help of a command."""
    name = " ".join(topic or ())
    if not name:
        rows = "\n".join(f"{page:<14}  {about}" for page, about in TOPICS.items())
        return Answer(
            {"topics": list(TOPICS)},
            rows,
            ("To read one: mdmem help TOPIC; help for a command: mdmem COMMAND --help",),
        )
    if name not in TOPICS and (name in COMMANDS or name in GROUPS):
        # it makes Typer's parser of all commands, this one too
        text: str = import_module("mdmem.cli.app").help_text(name.split())
        return Answer({"topic": name, "text": text}, text)
    page = _TOPIC_ALIASES.get(name, name).removesuffix(".md")
    if page not in TOPICS:
        # a command is only guessed at where the word is nearly its name
        near = near_names(name, (*TOPICS, *COMMANDS), 1, _NEARLY_THE_SAME)
        hint = f"The pages are: {', '.join(TOPICS)}."
        meant = "".join(f"Did you mean: mdmem help {each}" for each in near)
        raise UsageProblem("no page or command has this name", meant or hint)
    text = installed.text("docs", page_path(page))
    shown = _LINK.sub(_named_link, text)
    return Answer(
        {"topic": page, "text": text},
        "\n".join(_plain(shown)) if sys.stdout.isatty() else shown.rstrip("\n"),
        (f"To see the options: mdmem {page} --help",) if page in COMMANDS else (),
    )


def page_path(page: str) -> str:
    return (
        "clients/README.md"
        if page == "clients"
        else f"clients/{page}.md"
        if page in _CLIENT_PAGES
        else f"{page}.md"
    )


def _named_link(link: re.Match[str]) -> str:
    """The text of a link, with how to read the page that it leads to if the text does not say."""
    text, target = link.groups()
    page = target.removesuffix(".md").removesuffix("/README").rpartition("/")[2]
    more = target if "://" in target else f"mdmem help {page}" if page in TOPICS else ""
    is_said = "://" not in target and page in text.casefold().split()
    return text if not more or is_said else f"{text} ({more})"


def _plain(text: str) -> Iterator[str]:
    """Join each paragraph on one line, so that it can be wrapped, and remove Markdown marks."""
    paragraph: list[str] = []
    is_code = False
    for line in (*text.splitlines(), ""):
        if paragraph and (_NO_PARAGRAPH.match(line) or _ITEM.match(line)):
            yield from _block(" ".join(paragraph))
            paragraph = []
        if line.startswith("```"):
            is_code = not is_code
        elif is_code:
            yield f"    {line}"
        elif _NO_PARAGRAPH.match(line):
            yield from _block(line)
        else:
            paragraph.append(line.strip())


def _block(line: str) -> Iterator[str]:
    """Remove Markdown marks; the first cell of a table row gets its own line."""
    if line.startswith("    "):
        yield line
        return
    bare = line.replace("`", "").replace("**", "").replace("<br>", "; ")
    if not bare.startswith("|"):
        yield bare.lstrip("#").strip() if bare.startswith("#") else bare
        return
    first, *others = [cell.strip().replace("\\|", "|") for cell in _CELL.split(bare.strip("|"))]
    rest = "; ".join(filter(None, others))
    if first.strip("-") or rest.strip("-; "):
        yield first
        yield f"    {rest}"
