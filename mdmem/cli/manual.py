"""`mdmem help`: the installed pages of the documentation for users; and, for hints, words typed in
place of a command, option or argument.

None of these words is accepted. Words for reading never lead to a command that removes anything.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
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

# suggested only where the table says so or the word is nearly the same
REMOVING = frozenset({"forget", "revert", "redact", "uninstall"})
_NEARLY_THE_SAME = 0.8
_SIMILAR = 0.7
_PART = late.pattern(r"[^\W_]+")  # a word such as list-facts, whose first part names the command


def _table(lines: Mapping[str, str]) -> Mapping[str, str]:
    return {word: answer for words, answer in lines.items() for word in words.split()}


# the call for a word that is no command, or a sentence where no command is meant
COMMAND_GUESSES: Mapping[str, str] = _table(
    {
        "get read cat view display print open fetch load section retrieve": (
            "mdmem show, mdmem facts --key KEY, or mdmem search QUERY"
        ),
        "find query grep lookup ask match retrieve-memory search-memory memory_search rg": (
            "mdmem search QUERY"
        ),
        "add write create new insert put store note record post memorize memorise save-memory"
        " add-memory capture": (
            "mdmem log TEXT (what happened), or mdmem remember TEXT (what stays true)"
        ),
        "list ls all entries items fact memories": (
            "mdmem facts (mdmem outline FILE lists sections, mdmem tags lists tags)"
        ),
        "delete remove rm del erase drop purge clear unset expunge": (
            "mdmem forget FACT (--purge also removes it from history)"
        ),
        "update set upsert assign define replace change modify overwrite supersede": (
            "mdmem remember TEXT --key KEY (replaces the value of the key), or mdmem edit-section"
            " SECTION --replace OLD --with NEW"
        ),
        "edit append edit_section editsection edit-file patch section-edit": (
            "mdmem edit-section SECTION --append TEXT (or --body, --replace, --editor)"
        ),
        "rename move mv": "mdmem edit-section SECTION --rename TITLE (a file is renamed by git mv)",
        "undo rollback restore reset unlog unremember": "mdmem revert COMMIT|FACT|RUN",
        "commit checkpoint snapshot": "mdmem save",
        "push pull synchronize remote clone": ("Use mdmem sync; git push and git pull work too."),
        "login logout signin auth register account": (
            "No account is needed: memory stays on this machine."
        ),
        "upgrade self-update": (
            "Upgrade with what installed it, as in pipx upgrade mdmem; mdmem help install says"
            " more."
        ),
        "diff": "mdmem history -p",
        "changed timeline recent news whatsnew": "mdmem changes",
        "versions revisions past evolution changelog log-history": "mdmem history",
        "annotate who origin provenance source": "mdmem blame SECTION",
        "since first-seen": "mdmem when TEXT",
        "toc headings sections structure tree files headers": "mdmem outline",
        "labels tag label categories topics keywords": (
            "mdmem tags (mdmem recall --tag TAG lists the facts of one)"
        ),
        "contradict contradiction contradictions conflict mark-conflict": (
            "mdmem contradicts FACT FACT (states one), or mdmem conflicts (lists them)"
        ),
        "resolve": "mdmem conflicts --resolve FACT FACT",
        "tidy clean cleanup suggest advise maintain gc consolidate audit": "mdmem review",
        "lint validate verify test scan": "mdmem check",
        "sanitize sanitise mask scrub anonymize anonymise": "mdmem redact",
        "info state where summary overview whoami": "mdmem status",
        "config settings configure options preferences": (
            "mdmem help settings (they are in mdmem.toml)"
        ),
        "memory mem memories-search mdmem": (
            "mdmem search QUERY, mdmem log TEXT, or mdmem remember TEXT"
        ),
        "export backup dump archive": (
            "mdmem show FILE (everything is Markdown in a git repository)"
        ),
        "import ingest upload": (
            "mdmem init DIR (adopts a folder of Markdown), or mdmem edit-section SECTION --create"
            " --body - (reads a text)"
        ),
        "transcripts transcript conversations chats session": (
            "mdmem sessions (mdmem search QUERY --sessions searches in them)"
        ),
        "serve mcp-server serve-mcp": "mdmem mcp",
        "web ui gui browser browse webui dashboard http": "mdmem page",
        "version": "mdmem --version",
        "fix repair diagnose health troubleshoot fsck": "mdmem doctor",
        "index rebuild refresh reindex-all update-index": "mdmem reindex",
        "metrics usage statistics analytics count": "mdmem stats",
        "setup start install begin create-workspace adopt": "mdmem init",
        "hook": "mdmem hooks install",
        "timer cron crontab systemd daemon service unschedule": "mdmem schedule",
        "tasks todo todos": "mdmem task show (or start, note, done)",
        "today daily journal diary day": "mdmem show today",
        "yesterday": "mdmem show yesterday",
        "inject brief briefing prompt block": "mdmem context",
        "man manual docs doc guide tutorial handbook": "mdmem help TOPIC",
        "completion completions autocomplete": "mdmem --install-completion",
        "facts-list list-facts fact-list": "mdmem facts",
    }
)

# the same for the second word of a command
OF_GROUPS: Mapping[str, Mapping[str, str]] = {
    "task": _table(
        {
            "add create new begin open init": "mdmem task start NAME GOAL",
            "update log append progress edit write comment": "mdmem task note NAME TEXT",
            "finish close complete end stop resolve delete remove rm": (
                "mdmem task done NAME OUTCOME"
            ),
            "get read list ls view cat status notes all": "mdmem task show",
        }
    ),
    "hooks": _table(
        {
            "add enable on setup init": "mdmem hooks install",
            "remove rm disable delete off": "mdmem hooks uninstall",
            "list ls show get check": "mdmem hooks status",
        }
    ),
}

# for an unknown option, candidates: the first that the command has; capitals mark arguments
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "--limit --max --count --top --top-k --topk --k -l --num --number --max-results --results"
    " --size --n --first --last": ("-n",),
    "--tags --label --labels -t --topic --keyword --keywords --categories --hashtag": ("--tag",),
    "--content --text --body --message --entry --value --data --input --fact --note"
    " --memory --description -m -c": (
        "TEXT",
        "--body",
        "-m",
        "--reason",
        "FACT",
        "OUTCOME",
    ),
    "--section -s --heading --header --title --name --path-in-file --address": (
        "SECTION",
        "--section",
        "NAME",
        "--rename",
        "--key",
    ),
    "--query --q --search --pattern --term --terms --words --question": ("QUERY", "TEXT"),
    "--file --path --filename --file-path --filepath --document --doc -f": (
        "--file",
        "FILE",
        "DIR",
    ),
    "--format --output --output-format -o -j --as-json --machine --porcelain": ("--json",),
    "--date --day --on --when --timestamp --at": ("--date", "--since"),
    "--from --start --start-date --newer-than --begin": ("--since",),
    "--to --before --end --end-date --older-than --expires --expiry --valid-until --ttl --expire": (
        "--until",
    ),
    "--type --category --class --as": ("--kind",),
    "--id --fact-id --ref --reference --target --commit --sha --rev": (
        "FACT",
        "COMMIT|FACT|RUN",
        "SECTION|FACT|KEY",
        "--as-of",
        "--supersedes",
    ),
    "--subject --attribute --field --property --slug": ("--key", "--tag"),
    "--author --user --agent --by --who --as-user": ("--actor",),
    "--why --comment --because --rationale --message-body": ("--reason", "-m"),
    "--supersede --replaces --instead-of --replacing --obsoletes": ("--supersedes", "--replace"),
    "--find --old --old-text --old_str --search-for": ("--replace", "QUERY"),
    "--new --new-text --new_str --replacement --replace-with": ("--with", "TEXT", "--body"),
    "--etag --if-match --expected --expect-etag --version-id": ("--expect",),
    "--add --append-text --add-text": ("--append", "TEXT"),
    "--create-missing --create-if-missing --make --parents -p": ("--create",),
    "--diff --patch --show-diff --verbose -v --words": ("-p", "--explain"),
    "--preview --dry --dryrun --no-act --what-if --simulate --test": ("--dry-run",),
    "--recursive -r --children --with-subsections --deep --tree": ("--subtree",),
    "--workspace --dir --directory --root --cwd --repo --project -d": ("DIR", "-C"),
    "--quiet --silent": ("-q",),
    "--asof --as_of --at-date --point-in-time": ("--as-of",),
    "--all -a --include-superseded --include-old --include-history --past --everything": (
        "--all",
        "--history",
    ),
    "--probability --certainty --score --importance": ("--confidence", "--min-confidence"),
    "--origin --provenance --from-user": ("--source",),
    "--days --recent --last-days": ("--recent-days",),
    "--position --where": ("--after",),
    "--force --yes -y --assume-yes --no-confirm": ("--yes", "--allow"),
    "--full --rebuild --reset": ("--full",),
    "--repair --mend --fix --apply --autofix": ("--fix", "--apply"),
    "--status --state": ("--all", "--history"),
    "-k": ("-n", "--key", "--kind"),
    "--key --keys": ("SECTION|FACT|KEY",),
}
_CANDIDATES = {word: meant for words, meant in OPTIONS.items() for word in words.split()}
# of arguments, in commands that can be pasted
_PLACEHOLDERS = {
    "QUERY": '"your words"',
    "TEXT": '"your text"',
    "FACT": '"the fact"',
    "OUTCOME": '"the outcome"',
    "SECTION": '"the section"',
    "NAME": '"the task"',
    "SECTION|FACT|KEY": '"the section, fact or key"',
    "FILE": "MEMORY.md",
    "DIR": "~/notes",
}
_ELSEWHERE = {
    "--no-color": "Set NO_COLOR=1.",
    "--no-colour": "Set NO_COLOR=1.",
    "--no-pager": "Set MDMEM_PAGER=cat, or send the output to a pipe.",
    "--since": "Did you mean mdmem changes --since yesterday?",
    "--until": "Did you mean mdmem changes --until yesterday?",
    "--key": "mdmem facts --key KEY lists by the key.",
    "--list": "It lists without an option.",
    "--all": "Without options it lists everything.",
    "--overwrite": "A value is replaced by mdmem remember TEXT --key KEY.",
}


# for a command with too many words: where they belong
WORDS_TOO_MANY: Mapping[str, str] = {
    "edit-section": (
        "Give the file with --file and the text with --append, --prepend, --body, or --replace and"
        " --with."
    ),
    "save": (
        "It commits what was edited by hand; mdmem remember TEXT and mdmem log TEXT keep a text."
    ),
    "remember": "TEXT goes in quotes; --key KEY says what it is about.",
    "facts": (
        "mdmem search QUERY finds words; --key, --tag, --kind, --section and --file narrow the"
        " list."
    ),
    "recall": "Each tag goes with a --tag of its own; mdmem search QUERY finds words.",
    "tags": "mdmem recall --tag TAG lists the facts with a tag.",
}


def meant_command(word: str, commands: Collection[str], group: str = "") -> str:
    """The call that `word` may be meant for; empty if none is similar."""
    folded = word.casefold()
    table = OF_GROUPS[group] if group else COMMAND_GUESSES
    for part in (folded, folded.replace("_", "-"), *_PART.findall(folded)):
        if part in commands and part not in REMOVING:
            return " ".join(filter(None, ("mdmem", group, part)))
        if part in table:
            return table[part]
    near = near_names(folded, [name for name in commands if name not in REMOVING], 1)
    nearer = near_names(folded, commands, 1, _NEARLY_THE_SAME)
    return " ".join(filter(None, ("mdmem", group, (nearer or near)[0]))) if nearer or near else ""


def meant_option(
    command: str, word: str, options: Collection[str], arguments: Sequence[str]
) -> str:
    """A hint at the option or argument that `word` may be meant for; empty if none is similar."""
    folded = word.casefold().replace("_", "-")
    for meant in _CANDIDATES.get(word) or _CANDIDATES.get(folded, ()):
        if meant in arguments:
            names = arguments if meant == "FILE" else (meant,)
            use = " ".join(_PLACEHOLDERS.get(name, name) for name in names)
            return f"{meant} is not an option. Use: {command} {use}"
        if meant in options:
            return f"Did you mean {meant}{_how(meant)}?"
    if folded in _ELSEWHERE:
        return _ELSEWHERE[folded]
    names = [] if folded in _CANDIDATES else [flag[2:] for flag in options if flag.startswith("--")]
    return "".join(
        f"Did you mean --{name}?" for name in near_names(folded.lstrip("-"), names, 1, _SIMILAR)
    )


def _how(flag: str) -> str:
    if flag == "--tag":
        return ", once for each tag"
    return ", before the command or after it" if flag in ("-C", "-q", "--json") else ""


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
    "agents": "How an agent uses mdmem",
    "machines": "Several machines, agents and people: mdmem sync, pools",
    "proposals": "Review: changes that a person decides",
    "digest": "Transcripts to daily logs: what is read, what is kept; runs on a timer",
    "dream": "Consolidation (dream): what goes into curated memory, what is proposed",
    "vectors": "Your own model, for sessions or for search by meaning: what is sent, costs",
    "page": "The web page: what it shows, keys, export, safety",
    "trends": "How memory changes over weeks: facts, survival, who writes",
    "commands": "Every command and option",
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
        "model": "vectors",
    },
}
# a heading, table row, code or blank line: belongs to no paragraph
_NO_PARAGRAPH = late.pattern(r"#|\||    |$")
_ITEM = late.pattern(r"- |\d+\. ")
_LINK = late.pattern(r"\[([^\[\]]+)\]\([^()]+\)")
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
        raise UsageProblem(
            "no page or command has this name",
            f"Did you mean mdmem help {near[0]}? {hint}" if near else hint,
        )
    text = installed.text("docs", page_path(page))
    return Answer(
        {"topic": page, "text": text},
        "\n".join(_plain(text)) if sys.stdout.isatty() else text.rstrip("\n"),
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
    bare = _LINK.sub(r"\1", line).replace("`", "").replace("**", "")
    if not bare.startswith("|"):
        yield bare.lstrip("#").strip() if bare.startswith("#") else bare
        return
    first, *others = [cell.strip().replace("\\|", "|") for cell in _CELL.split(bare.strip("|"))]
    rest = "; ".join(filter(None, others))
    if first.strip("-") or rest.strip("-; "):
        yield first
        yield f"    {rest}"
