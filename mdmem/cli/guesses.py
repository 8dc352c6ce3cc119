"""The call that is meant by words that are none, as a line to type, for hints.

Nothing is carried out here. A word for reading never leads to a command that writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from mdmem.cli.commands import COMMANDS, GROUPS, PLUMBING, READING
from mdmem.cli.fast_parser import ADDED, ParameterRow, is_text, split, value_count
from mdmem.cli.parameter_table import TABLE
from mdmem.cli.terminal import command_line
from mdmem.folder.layout import is_markdown
from mdmem.health import wiring
from mdmem.model.errors import LISTED, near_names, shell_word
from mdmem.model.rules import KINDS
from mdmem.startup import late


def _words(text: str) -> Collection[str]:
    return frozenset(text.split())


# By the call that is meant, words typed in its place. An option before `…` needs what follows the
# word, and is left out where nothing does.
_SYNONYMS: Mapping[str, str] = {
    "show": "get read cat view display print open load section less more head body content text",
    "show --as-of …": "checkout as-of time-travel",
    "show today": "today daily journal diary day agenda standup",
    "show yesterday": "yesterday",
    "search": "find query grep lookup look ask match rg ag recollect retrieve seek locate about"
    " question answer similar related git-grep",
    "facts": "list all items entries fact memory memories mem knowledge notes data dump",
    "facts --tags": "labels label categories category topics topic keywords keyword hashtags",
    "facts --tag …": "tag tagged",
    "outline": "toc headings headers sections structure tree files ls dir folders documents",
    "log": "write note record insert post jot capture create put-log observe event entry",
    "remember": "add memorize memorise store learn put keep persist teach add-fact add-memory"
    " save-fact save-memory",
    "remember --key …": "set update upsert define assign replace change modify overwrite supersede",
    "edit-section": "editor patch amend vi vim nano rewrite modify-section",
    "edit-section --append …": "append prepend",
    "edit-section --rename …": "rename move mv",
    "forget": "delete remove rm del erase drop purge clear unset expunge unlearn discard wipe"
    " trash destroy",
    "revert": "undo rollback restore reset unlog unremember undelete rewind cancel",
    "save": "commit checkpoint snapshot stage git-add",
    "sync": "push pull fetch merge rebase synchronize synchronise remote publish share replicate"
    " backup upload download",
    "setup": "start install onboard bootstrap connect integrate",
    "init": "begin adopt new enable initialise initialize",
    "init --outside": "clone git-clone",
    "init --found": "workspaces",
    "sessions": "projects transcripts transcript conversations conversation chats chat threads",
    "digest": "ingest extract summarize summarise harvest process",
    "dream": "consolidate sleep night nightly curate reflect distil distill promote",
    "context": "inject brief briefing prompt block prime primer preload",
    "review": "tidy clean cleanup suggest suggestions advise maintain gc dedupe duplicates pending"
    " inbox queue triage decide approvals resolve branch cherry-pick",
    "review --accept …": "approve allow confirm apply ok yes agree",
    "review --reject …": "deny decline refuse dismiss disapprove veto no",
    "page": "graph web ui gui browser browse webui dashboard http serve website",
    "page --help": "export archive",
    "history": "versions version-history revisions past evolution changelog git-log reflog trail"
    " why bisect log-history",
    "history -p": "diff compare delta git-diff git-show",
    "history --blame …": "annotate praise who authors origin source provenance",
    "history --when …": "since first-seen introduced",
    "changes": "changed timeline recent news whatsnew whats-new latest updates activity feed tail"
    " last shortlog",
    "conflicts": "contradictions contradiction contradict conflict clashes inconsistencies",
    "check": "lint validate verify test scan audit",
    "doctor": "diagnose health troubleshoot fsck debug ping",
    "doctor --fix": "fix repair heal mend",
    "status": "info state where summary overview whoami pwd stash workspace",
    "stats": "metrics usage statistics analytics count numbers figures report",
    "stats trends": "trend growth chart size",
    "schedule": "timer cron crontab systemd daemon service unschedule automate launchd",
    "run": "now job jobs execute exec cycle",
    "redact": "sanitize sanitise mask scrub anonymize anonymise censor",
    "reindex": "index rebuild refresh rebuild-index",
    "mcp": "serve-mcp mcp-server tools",
    "plugin": "extension extensions skill marketplace",
    "help": "man manual docs doc guide tutorial handbook commands howto faq examples usage-help",
    "help settings": "config settings configure options setting env",
    "help install": "upgrade self-update uninstall",
    "--version": "version",
    "--install-completion": "completion completions autocomplete",
    "task start --help": "todo task-add task-create task-new task-begin task-open task-init",
    "task note --help": "task-update task-log task-append task-progress task-write task-comment",
    "task done --help": "done task-finish task-close task-complete task-end task-stop task-delete"
    " task-remove",
    "task show": "task-show tasks todos task-get task-read task-list task-ls task-view task-status",
    "hooks install": "hooks-add hooks-enable hooks-on hooks-setup hooks-init",
    "hooks uninstall": "hooks-remove hooks-rm hooks-disable hooks-delete hooks-off",
    "hooks status": "hooks-status hook hooks-list hooks-ls hooks-show hooks-get hooks-check",
}
_NO_ACCOUNT = _words("login logout signin signup auth register account token")
_QUESTION = _words(
    "what who whose where when why how which does do did is are was were can could should "
    "would has have tell remind whats please"
)
# before a noun that says what to list
_LISTING = _words("list ls show get view display print see give all every my the me")

# For an unknown option, options and names of arguments: the first that the command has.
_OPTIONS: Mapping[str, Sequence[str]] = {
    "--limit --max --count --top --top-k --topk --k -l --num --number --max-results --results"
    " --size --n --first --last -k": ("-n",),
    "--tags --label --labels -t --topic --keyword --keywords --categories --hashtag": ("--tag",),
    "--any --any-tags --tag-any": ("--any-tag",),
    "--content --text --body --message --entry --value --data --input --fact --note"
    " --memory --description -m -am -c --prompt": (
        "-m",
        "--body",
        "text",
        "--reason",
        "fact",
        "prompt",
    ),
    "--section -s --heading --header --title --name --path-in-file --address": (
        "section",
        "first",
        "target",
        "--section",
        "--rename",
    ),
    "--query --q --search --pattern --term --terms --question": ("query", "text"),
    "--file --path --filename --file-path --filepath --document --doc -f": (
        "--file",
        "file",
        "files",
        "first",
        "folder",
    ),
    "--format --output --output-format -o -j --as-json --machine --porcelain": ("--json",),
    "--date --day --on --when --timestamp --at": ("--date", "--day", "--since"),
    "--from --start --start-date --newer-than --begin --after": ("--since",),
    "--to --before --end --end-date --older-than --expires --expiry --valid-until --ttl --expire": (
        "--until",
    ),
    "--type --category --class --as": ("--kind",),
    "--id --fact-id --ref --reference --target --commit --sha --rev": (
        "fact",
        "reference",
        "target",
        "--as-of",
        "--supersedes",
    ),
    "--subject --attribute --field --property --slug": ("--key", "--tag"),
    "--author --user --agent --by --who --as-user": ("--actor",),
    "--why --comment --because --rationale --message-body": ("--reason", "-m"),
    "--supersede --replaces --instead-of --replacing --obsoletes": ("--supersedes", "--replace"),
    "--find --old --old-text --old_str --search-for": ("--replace", "query"),
    "--new --new-text --new_str --replacement --replace-with": ("--with", "text", "--body"),
    "--etag --if-match --expected --expect-etag --version-id": ("--expect",),
    "--add --append-text --add-text": ("--append", "text"),
    "--create-missing --create-if-missing --make --parents -p": ("--create",),
    "--diff --patch --show-diff": ("-p", "--explain"),
    "--preview --dry --dryrun --no-act --what-if --simulate --test": ("--dry-run",),
    "--recursive -r --children --with-subsections --deep --tree": ("--subtree",),
    "--workspace --dir --directory --root --cwd --repo --project -d": ("-C",),
    "--quiet --silent": ("-q",),
    "--asof --as_of --at-date --point-in-time": ("--as-of",),
    "--all -a --include-superseded --include-old --include-history --past --everything --status"
    " --state": ("--all", "--history"),
    "--probability --certainty --score --importance": ("--confidence", "--min-confidence"),
    "--origin --provenance --from-user": ("--source",),
    "--days --recent --last-days": ("--recent-days",),
    "--yes -y --assume-yes --no-confirm": ("--yes",),
    "--full --rebuild --reset": ("--full",),
    "--repair --mend --fix --apply --autofix": ("--fix", "--apply"),
    "--approve --yes-to": ("--accept",),
    "--deny --decline": ("--reject",),
}
_CANDIDATES = {word: meant for words, meant in _OPTIONS.items() for word in words.split()}
# they change nothing of what is asked, and are left out
_NEEDLESS = _words(
    "-- --verbose -v --force -f --color --colour --no-color --no-colour --no-pager --pretty "
    "--plain --all -a --list -l --oneline --graph --stat"
)
ELSEWHERE = {
    **dict.fromkeys(("--no-color", "--no-colour"), "Set NO_COLOR=1."),
    "--no-pager": "Set MDMEM_PAGER=cat, or send the output to a pipe.",
}
_ACTIONS = frozenset({"--body", "--append", "--prepend", "--replace", "--rename", "--delete"})
_DAY = late.pattern(r"\d{4}-\d\d|today$|yesterday$|last |this |\d+ (?:days|weeks) ago")
_LONGEST = 300  # characters of a line to type
_ID = late.pattern(r"[0-9a-f]{8}")
_SHORT = late.pattern(r"-[A-Za-z]")
_SENTENCE = 3  # words
_WHOSE = _words("why who whose")  # asked of a fact
_OWN = _words("i we my our")  # a statement begins so
_SIMILAR, _NEARLY_THE_SAME = 0.75, 0.8
_CALLS = (
    {kind: f"facts --kind {kind}" for kind in KINDS}
    | {name: command_line(name).removeprefix("mdmem ") for name in TABLE}
    | {name.replace(" ", "-"): f"{name} --help" for name in COMMANDS if name not in TABLE}
    | {group: f"{group} --help" for group in GROUPS}
    | {name: f"init --for {name}" for name in wiring.hosts({})}
    | {word: call for call, words in _SYNONYMS.items() for word in words.split()}
)


def meant_command(words: Sequence[str], group: str = "") -> str:
    """A hint at the call that `words` may be meant for; the first of them is no command."""
    word = "-".join(filter(None, (group, words[0].casefold().replace("_", "-"))))
    if word in _NO_ACCOUNT:
        return "No account is needed: memory stays on this machine. To set it up: mdmem setup"
    call, rest = _meant(word, words[1:])
    command, *fixed = call.split()
    if call == "init" and any(" " in each for each in rest):
        call = command = "remember"
    elif call == "digest" and _DAY.match(" ".join(rest)):
        call = command = "changes"
    if call in ("log", "remember") and rest and all(map(is_markdown, rest)):
        return "Did you mean: mdmem save"
    if command not in TABLE or (fixed and fixed[0] not in _flags(command)):
        return f"Did you mean: mdmem {call}"
    if fixed[-1:] == ["…"]:
        fixed = fixed[:-1] if rest else []
    typed = [*rest[:-1], *fixed, *rest[-1:]] if command == "edit-section" else [*fixed, *rest]
    return f"Did you mean: {_fitted(command, typed, drops=True)}"


def meant_call(path: str, words: Sequence[str]) -> str:
    """A hint at the call that `words` may be meant for, which the command does not take."""
    command = path.partition(" ")[2]
    line = _fitted(command, words) if command in TABLE else ""
    if not line and command in TABLE and COMMANDS[command].heading not in ("Write", "Decide"):
        line = _fitted(command, [word for word in words if not _SHORT.fullmatch(word)])
    return f"Did you mean: {line}" if line else f"See {path} --help"


def _meant(word: str, rest: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The call of the table that is meant, and the words that go with it."""
    if word in ("git", "mdmem") and rest:
        git = f"git-{rest[0]}"
        return _meant(git if git in _CALLS else rest[0].casefold(), rest[1:])
    if _DAY.match(word) or _ID.fullmatch(word):
        return "show", [word, *rest]
    if word in _WHOSE and len(rest) == 1:
        return "history", rest
    if word in _OWN and len(rest) >= _SENTENCE - 1:
        return "remember", [" ".join((word.capitalize(), *rest))]
    parts = word.split("-")
    nouns = [each.casefold() for each in (*parts, *rest) if each.casefold() not in _LISTING]
    if parts[0] in _LISTING and len(nouns) == 1 and _reads(_call(nouns[0])):
        return _call(nouns[0]), ()
    near = near_names(word, _CALLS, 1, _NEARLY_THE_SAME)
    near = near or near_names(word, filter(_reads, COMMANDS), 1, _SIMILAR)
    is_question = " " in word.strip() or (word in _QUESTION and rest)
    if is_question and len(rest) == 1 and _reads(_call(rest[0].casefold())):
        return _call(rest[0].casefold()), ()
    for each in () if is_question else (word, *near, *parts):
        if (call := _call(each)) and (each not in parts[1:] or _reads(call)):
            return call, rest
    return "search", [" ".join(each for each in (word, *rest) if not each.startswith("-"))]


def _call(word: str) -> str:
    """The call for a word, in the singular or the plural; empty if there is none."""
    forms = (word, word.removesuffix("s"), f"{word}s")
    return next((_CALLS[each] for each in forms if each in _CALLS), "")


def _reads(call: str) -> bool:
    entry = COMMANDS.get(call.partition(" ")[0])
    return entry is not None and entry.heading not in ("Write", PLUMBING)


def _flags(command: str) -> Mapping[str, ParameterRow]:
    return {flag: row for row in (*TABLE[command], *ADDED) for flag in row[1]}


def _fitted(command: str, words: Sequence[str], drops: bool = False) -> str:
    """A line with `words` where the command takes them, or another that does; empty if none does.

    With `drops`, what the command does not take is left out.
    """
    flags, names = _flags(command), [row[0] for row in TABLE[command] if not row[1]]
    options, texts, values = list[str](), list[str](), 0
    asked = [word for word in words if word != "--json"]  # as it may follow any line
    for word in chain.from_iterable(_parts(word, flags) for word in asked):
        is_option = not values and word.startswith("-") and word != "-" and not is_text(word, flags)
        meant = _meant_option(word, flags, names) if is_option else ""
        if is_option and not meant and not drops and word not in _NEEDLESS:
            return _of_another(command, word, words)
        if meant in flags:
            options.append(meant)
            values = value_count(flags[meant][2])
        elif values:
            options.append(word)
            values -= 1
        elif not is_option and word.endswith(".md") and "--file" in flags and "text" not in names:
            options += ["--file", word]
        elif not is_option and not (word == "json" and "--json" in options):  # of --format
            texts.append(word)
    return f"mdmem {command} --help" if values else _placed(command, options, texts, drops)


def _parts(word: str, flags: Collection[str]) -> Iterable[str]:
    """A word, or the option and the value in it."""
    is_one = not word.startswith("-") or word in _CANDIDATES or is_text(word, flags)
    return [word] if is_one else filter(None, split(word))


def _meant_option(word: str, flags: Collection[str], names: Collection[str]) -> str:
    """The option, or the name of an argument, that an option may be meant for; empty if none is."""
    folded = word.casefold().replace("_", "-")
    for meant in (word, *_CANDIDATES.get(word, _CANDIDATES.get(folded, ()))):
        if meant in flags or meant in names or (meant in ("text", "query") and not names):
            return meant
    known = [flag for flag in flags if flag.startswith("--") and folded not in _CANDIDATES]
    return "".join(near_names(folded, known, 1, _NEARLY_THE_SAME))


def _of_another(command: str, flag: str, words: Sequence[str]) -> str:
    """A line of another command that has the option; in place of one that reads, one that reads."""
    heading = COMMANDS[command].heading
    git = _CALLS.get(f"git-{command}", command).partition(" ")[0]
    if git != command and words[0] == flag:
        return _fitted(git, words)
    owners = [
        name
        for name in TABLE
        if flag in _flags(name) and name not in LISTED
        if (
            COMMANDS[name].heading in READING
            if heading in READING
            else TABLE[name][0][0] == TABLE[command][0][0]
            or (heading != "Write" and COMMANDS[name].heading == "Maintain")
        )
    ]
    same = [name for name in owners if COMMANDS[name].heading == heading]
    return "".join(_fitted(name, words, drops=True) for name in (same or owners)[:1])


def _placed(command: str, options: Sequence[str], texts: Sequence[str], drops: bool) -> str:
    """A line with texts where the arguments are; the help, where something is missing."""
    flags, heading, text = _flags(command), COMMANDS[command].heading, " ".join(texts)
    arguments = [row for row in TABLE[command] if not row[1]]
    days = [flag for flag in ("--day", "--since") if flag in flags and _DAY.match(text)]
    spare = len(texts) - len(arguments)
    if command == "tags" and texts:
        return _typed("facts", (), ["--tag", *texts])
    if spare > 0 and not arguments:
        if not (days or drops) and heading in (*READING, "Write"):
            other = "search" if heading in READING else "remember"
            return _fitted(other, [text, *options], drops=True)
        options, texts = [*options, *(each for flag in days[:1] for each in (flag, text))], ()
    elif spare > 0 and command in _QUESTION and len(texts) >= _SENTENCE:
        return _typed("search", [f"{command} {text}"])
    elif spare > 0 and "--append" in flags and not options:
        options, texts = ["--append", " ".join(texts[1:])], texts[:1]
    elif spare > 0 and arguments[-1][2] is not list:
        texts = [*texts[: -spare - 1], " ".join(texts[-spare - 1 :])]
    needed = [*texts, *(flag for flag in flags if flag in options)]
    least = sum(row[4] for row in TABLE[command])
    is_short = len(needed) < least or (heading == "Write" and arguments and not texts)
    is_short = is_short or ("--append" in flags and not _ACTIONS.intersection(options))
    return f"mdmem {command} --help" if is_short else _typed(command, texts, options)


def _typed(command: str, texts: Sequence[str], options: Sequence[str] = ()) -> str:
    line = " ".join(("mdmem", command, *map(shell_word, (*texts, *options))))
    return line if len(line) <= _LONGEST else f"mdmem {command} --help"
