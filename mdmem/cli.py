"""The command line: parse, fill one frozen dataclass of arguments, one call on Memory, show."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from mdmem import __version__, check, memory, secrets, show
from mdmem.errors import TextProblem, UsageProblem, json_line, printable, report
from mdmem.layout import MAX_FILE_BYTES, is_markdown
from mdmem.memory import Memory
from mdmem.model import (
    Action,
    EditSection,
    Forget,
    Initialise,
    ListFacts,
    Log,
    Op,
    Purge,
    Remember,
    Search,
    Show,
    Source,
    WriteOptions,
    WriteResult,
)

app = typer.Typer(
    name="mdmem",
    help="An agent's long-term memory in Markdown files, with git as its history.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
hooks_app = typer.Typer(
    help="Install, remove and look at git's hooks.\n\nThey check what is committed and keep the index fresh.", rich_markup_mode=None
)
app.add_typer(hooks_app, name="hooks")

_COMBINED_DAYS = 7
_LONG_REBUILD = 200
"""From this many files on a rebuild shows its progress."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say: an object for programs, text for people, notes beside it, and the exit status."""

    as_json: bool
    found: Mapping[str, Any]
    text: str
    notes: Sequence[str] = ()
    status: int = 0


def _from_0_to_1(number: float | None) -> float | None:
    if number is not None and not 0 <= number <= 1:
        raise UsageProblem(f"confidence is {number:g}, which is not from 0 to 1")
    return number


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
File = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="A Markdown file, relative to the workspace. [default: MEMORY.md]")
]
AnyFile = Annotated[str | None, typer.Option("--file", metavar="FILE", help="A Markdown file, relative to the workspace.")]
SectionOption = Annotated[str | None, typer.Option("--section", metavar="SECTION", help="A heading, or several joined by ' > '.")]
Kind = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help="fact, decision, preference, lesson, status, task or a word of your own.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A label; may be given several times.")]
SourceOption = Annotated[Source, typer.Option("--source", metavar="SOURCE", help="Who says so: user-stated, inferred or auto.")]
Confidence = Annotated[
    float | None,
    typer.Option("--confidence", metavar="N", help="How sure it is, from 0 to 1. [default: by the source]", callback=_from_0_to_1),
]
Actor = Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Who writes. [default: MDMEM_ACTOR, else the setting]")]
Session = Annotated[str | None, typer.Option("--session", metavar="NAME", help="The session in which it was said.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in the commit.")]
Supersedes = Annotated[str | None, typer.Option("--supersedes", metavar="FACT", help="The fact that this one replaces.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change as a diff and make none.")]
Allow = Annotated[
    list[str] | None, typer.Option("--allow", metavar="NAME", help="Let a refusal of the check through: shrink, append or secret.")
]
Limit = Annotated[int, typer.Option("-n", metavar="N", help="The most hits to give.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mdmem {__version__}")
        raise typer.Exit


@app.callback()
def mdmem(
    context: typer.Context,
    workspace: Annotated[
        str | None, typer.Option("-C", metavar="DIR", help="The workspace. [default: the first from here upwards]")
    ] = None,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Take the options that come before the command."""
    context.obj = workspace


def _memory(context: typer.Context) -> Memory:
    quiet = bool(context.params.get("as_json"))
    progress = _Progress() if not quiet and sys.stderr.isatty() else None
    return Memory.open(Path(context.obj) if context.obj else None, (lambda _: None) if quiet else _say, progress)


def _say(line: str) -> None:
    print(f"mdmem: {printable(line)}", file=sys.stderr)


class _Progress:
    """A progress bar on standard error, for rebuilds that take long."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if total < _LONG_REBUILD:
            return
        if self._bar is None:
            self._bar = typer.progressbar(length=total, label="indexing", file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(1)
        if done >= total:
            self._bar.__exit__(None, None, None)
            self._bar = None


def _given(text: str) -> str:
    """A text argument; `-` is standard input."""
    if text != "-":
        return text
    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TextProblem("bad-text", f"standard input has more than {MAX_FILE_BYTES:,} bytes", "Split it.")
    return data.decode("utf-8", "surrogateescape")


def _options(context: typer.Context) -> WriteOptions:
    """The options that all writing commands share."""
    given = context.params
    names = ("source", "confidence", "actor", "session", "reason", "supersedes", "dry_run")
    shared: dict[str, Any] = {name: given[name] for name in names}
    allow = frozenset(given["allow"] or ())
    for name in sorted(allow.difference(check.ALLOWABLE)):
        raise UsageProblem(f"--allow is {name!r}, which is nothing that can be allowed", f"It takes {', '.join(check.ALLOWABLE)}.")
    return WriteOptions(**shared, allow=allow)


def _written(as_json: bool, result: WriteResult, op: Op, fact: str | None = None) -> Answer:
    return Answer(as_json, show.write_json(result), show.write_text(result, op, fact), result.notes)


@app.command()
def init(
    context: typer.Context,
    folder: Annotated[str | None, typer.Argument(metavar="DIR", help="Where. [default: -C, else here]")] = None,
    no_hooks: Annotated[bool, typer.Option("--no-hooks", help="Do not install git's hooks.")] = False,
    as_json: Json = False,
) -> Answer:
    """Make a workspace, or adopt a folder with memory in it.

    No existing file is altered, and twice is harmless.
    """
    done = memory.initialise(Initialise(folder or context.obj or ".", not no_hooks))
    found = {
        "workspace": str(done.workspace),
        "made_repository": done.made_repository,
        "written": list(done.written),
        "commit": done.commit,
        "hooks": list(done.hooks),
        "notes": list(done.notes),
    }
    wrote = f", wrote {', '.join(done.written)}" if done.written else ""
    text = printable(f"workspace in {done.workspace}{wrote} {show.short(done.commit)}".rstrip(), keep="")
    return Answer(as_json, found, text, done.notes)


@app.command("edit-section")
def edit_section(
    context: typer.Context,
    section: Annotated[str | None, typer.Argument(metavar="SECTION", help="A heading, or several joined by ' > '.")] = None,
    file: File = None,
    preamble: Annotated[bool, typer.Option("--preamble", help="The text before the first heading, in place of a section.")] = False,
    body: Annotated[str | None, typer.Option("--body", metavar="TEXT", help="Replace the section's own text. '-' reads it.")] = None,
    append: Annotated[str | None, typer.Option("--append", metavar="TEXT", help="Add at the end of its own text.")] = None,
    prepend: Annotated[str | None, typer.Option("--prepend", metavar="TEXT", help="Add at the beginning of its own text.")] = None,
    replace_: Annotated[str | None, typer.Option("--replace", metavar="OLD", help="Replace words that stand once in it.")] = None,
    with_: Annotated[str | None, typer.Option("--with", metavar="NEW", help="What --replace puts there.")] = None,
    rename: Annotated[str | None, typer.Option("--rename", metavar="TITLE", help="Give it another title.")] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Take the section out.")] = False,
    editor: Annotated[bool, typer.Option("--editor", help="Edit its own text in $EDITOR.")] = False,
    create: Annotated[bool, typer.Option("--create", help="Make what is missing of the path, and the file.")] = False,
    after: Annotated[str | None, typer.Option("--after", metavar="SECTION", help="Where --create places it.")] = None,
    nth: Annotated[int | None, typer.Option("--nth", metavar="N", help="Which one, where several match.")] = None,
    expect: Annotated[str | None, typer.Option("--expect", metavar="ETAG", help="Refuse if it is no longer what was read.")] = None,
    subtree: Annotated[bool, typer.Option("--subtree", help="With its subsections.")] = False,
    source: SourceOption = Source.INFERRED,
    confidence: Confidence = None,
    actor: Actor = None,
    session: Session = None,
    reason: Reason = None,
    supersedes: Supersedes = None,
    allow: Allow = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> Answer:
    """Change one section of a file, and nothing else in it."""
    texts = {
        Action.BODY: body,
        Action.APPEND: append,
        Action.PREPEND: prepend,
        Action.REPLACE: replace_,
        Action.RENAME: rename,
        Action.DELETE: "" if delete else None,
    }
    given = [action for action, text in texts.items() if text is not None]
    if len(given) + editor != 1:
        raise UsageProblem("give exactly one of --body, --append, --prepend, --replace, --rename, --delete, --editor")
    if (section is None) is not preamble:
        raise UsageProblem("name a section, or give --preamble")
    if (replace_ is None) is not (with_ is None):
        raise UsageProblem("--replace and --with go together")
    if replace_ == with_ == "-":
        raise UsageProblem("--replace and --with cannot both read standard input")
    if (create or after) and (editor or given[0] in (Action.REPLACE, Action.RENAME, Action.DELETE)):
        raise UsageProblem("--create and --after go with --body, --append and --prepend")
    if editor and subtree:
        raise UsageProblem("--editor edits the section's own text; --subtree does not go with it")
    opened = _memory(context)
    action = Action.BODY if editor else given[0]
    change = EditSection(
        section,
        action,
        _given(texts[action] or "") if action is not Action.RENAME else rename or "",
        _given(with_ or ""),
        file,
        create or after is not None,
        after,
        nth,
        expect,
        subtree,
        _options(context),
    )
    if editor:
        seen = opened.show(Show(file, section, nth, preamble))
        change = replace(change, text=_edited(seen.text.strip("\r\n") + "\n"), expect=expect or seen.etag)
    result = opened.apply(change)
    return _written(as_json, result, _OPS[action])


_OPS = {
    Action.BODY: Op.REPLACE,
    Action.REPLACE: Op.REPLACE,
    Action.APPEND: Op.APPEND,
    Action.PREPEND: Op.PREPEND,
    Action.RENAME: Op.RENAME,
    Action.DELETE: Op.DELETE,
}


def _edited(text: str) -> str:
    """`text` as the user leaves it in their editor."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program or not sys.stdin.isatty():
        raise UsageProblem("--editor needs a terminal and $EDITOR", "Without them: --body -")
    with tempfile.TemporaryDirectory(prefix="mdmem-") as folder:
        place = Path(folder) / "section.md"
        place.write_bytes(text.encode())
        if subprocess.run([*shlex.split(program), str(place)], check=False).returncode:
            raise UsageProblem(f"{program} ended with an error; nothing is changed")
        return place.read_bytes().decode("utf-8", "surrogateescape")


@app.command()
def log(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The entry; '-' reads it.")],
    fact: Annotated[bool, typer.Option("--fact", help="The same as --kind fact.")] = False,
    kind: Kind = None,
    tag: Tags = None,
    time: Annotated[str | None, typer.Option("--time", metavar="HH:MM", help="When. [default: now]")] = None,
    date: Annotated[str | None, typer.Option("--date", metavar="DAY", help="The day. [default: today]")] = None,
    again: Annotated[bool, typer.Option("--again", help="Write it even if the day has the same entry already.")] = False,
    source: SourceOption = Source.INFERRED,
    confidence: Confidence = None,
    actor: Actor = None,
    session: Session = None,
    reason: Reason = None,
    supersedes: Supersedes = None,
    allow: Allow = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> Answer:
    """Append an entry to a day's log."""
    if fact and kind not in (None, "fact"):
        raise UsageProblem("--fact and --kind go against each other")
    change = Log(_given(text), "fact" if fact else kind, tuple(tag or ()), time, date, again, _options(context))
    result = _memory(context).apply(change)
    return _written(as_json, result, Op.LOG, result.added[-1] if result.added else None)


@app.command()
def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The fact; '-' reads it.")],
    file: File = None,
    section: SectionOption = None,
    create: Annotated[bool, typer.Option("--create", help="Make the section, and the file, where they are missing.")] = False,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="What the fact is about; one fact a key.")] = None,
    also: Annotated[bool, typer.Option("--also", help="The key has several values; this is one more.")] = False,
    kind: Kind = None,
    tag: Tags = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DAY", help="The last day on which it holds.")] = None,
    source: SourceOption = Source.INFERRED,
    confidence: Confidence = None,
    actor: Actor = None,
    session: Session = None,
    reason: Reason = None,
    supersedes: Supersedes = None,
    allow: Allow = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> Answer:
    """Put a fact into MEMORY.md.

    Of a key that has a value already the line is replaced, and superseded.
    """
    change = Remember(_given(text), file, section, create, key, also, kind, tuple(tag or ()), until, _options(context))
    result = _memory(context).apply(change)
    return _written(as_json, result, Op.REMEMBER, result.added[-1] if result.added else None)


@app.command()
def forget(
    context: typer.Context,
    fact: Annotated[str, typer.Argument(metavar="FACT", help="Its exact text, its id, or six digits or more of the id.")],
    file: AnyFile = None,
    section: SectionOption = None,
    purge: Annotated[bool, typer.Option("--purge", help="Out of all history too. It cannot be undone.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --purge: do not ask.")] = False,
    source: SourceOption = Source.INFERRED,
    confidence: Confidence = None,
    actor: Actor = None,
    session: Session = None,
    reason: Reason = None,
    supersedes: Supersedes = None,
    allow: Allow = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> Answer:
    """Take a fact out of its file.

    History keeps it. With --purge it goes out of all history too, and cannot be brought back.
    """
    if yes and not purge:
        raise UsageProblem("--yes goes with --purge")
    if purge:
        if file or section or supersedes:
            raise UsageProblem("--purge takes a text out of everything: it goes with no --file, --section or --supersedes")
        return _purge(context, Purge(fact, reason), yes, dry_run, as_json)
    result = _memory(context).apply(Forget(fact, file, section, _options(context)))
    return _written(as_json, result, Op.FORGET, result.removed[-1] if result.removed else None)


def _purge(context: typer.Context, wanted: Purge, yes: bool, dry_run: bool, as_json: bool) -> Answer:
    opened = _memory(context)
    if dry_run:
        plan = opened.plan_purge(wanted)
        return Answer(as_json, show.plan_json(plan), show.plan_text(plan))
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise UsageProblem("--purge cannot be undone", "Look at it with --dry-run, then say --yes.")
        print(show.plan_text(opened.plan_purge(wanted)), file=sys.stderr)
        if not typer.confirm("Purge it for good?", err=True):
            return Answer(as_json, {}, "nothing is changed")
    done = opened.purge(wanted)
    return Answer(as_json, show.purged_json(done), show.purged_text(done), done.notices)


@app.command("show")
def show_(
    context: typer.Context,
    first: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A word that ends in .md; may be left out. [default: MEMORY.md]")
    ] = None,
    second: Annotated[str | None, typer.Argument(metavar="SECTION", help="A heading, or several joined by ' > '.")] = None,
    nth: Annotated[int | None, typer.Option("--nth", metavar="N", help="Which one, where several match.")] = None,
    preamble: Annotated[bool, typer.Option("--preamble", help="The text before the first heading.")] = False,
    as_json: Json = False,
) -> Answer:
    """Read one section, or a whole file."""
    file = first if first and is_markdown(first) else None
    sections = [word for word in (first if file is None else None, second) if word is not None]
    if len(sections) + preamble > 1:
        raise UsageProblem("show takes one file, whose name ends in .md, and one section (or --preamble)")
    view = _memory(context).show(Show(file, sections[0] if sections else None, nth, preamble))
    return Answer(as_json, show.section_json(view), show.section_text(view, sys.stdout.isatty()))


@app.command()
def outline(
    context: typer.Context,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A Markdown file. [default: MEMORY.md]")] = None,
    as_json: Json = False,
) -> Answer:
    """List the sections of a file with their etags."""
    found = _memory(context).outline(file)
    return Answer(as_json, show.outline_json(found), show.outline_text(found))


@app.command()
def search(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words; any of them may match.")],
    limit: Limit = 8,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="Only this file, or files below this folder.")] = None,
    section: Annotated[str | None, typer.Option("--section", metavar="SECTION", help="Only this section and what is below it.")] = None,
    kind: Kind = None,
    tag: Tags = None,
    since: Annotated[str | None, typer.Option("--since", metavar="DAY", help="From this day on.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DAY", help="Up to this day.")] = None,
    min_confidence: Annotated[float | None, typer.Option("--min-confidence", metavar="N", help="At least this sure, from 0 to 1.")] = None,
    recent_days: Annotated[int | None, typer.Option("--recent-days", metavar="N", help="Of the logs only the last N days.")] = None,
    combined: Annotated[bool, typer.Option("--combined", help=f"The same as --recent-days {_COMBINED_DAYS}.")] = False,
    as_json: Json = False,
) -> Answer:
    """Find what memory says about something."""
    if combined and recent_days is not None:
        raise UsageProblem("--combined and --recent-days go against each other")
    days = _COMBINED_DAYS if combined else recent_days
    wanted = Search(" ".join(query), limit, file, section, kind, tuple(tag or ()), since, until, min_confidence, days)
    found = _memory(context).search(wanted)
    notes = found.notes if found.hits else (*found.notes, "no match")
    return Answer(as_json, show.search_json(found), show.search_text(found, _colour()), notes)


def _colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


@app.command()
def facts(
    context: typer.Context,
    tag: Tags = None,
    kind: Kind = None,
    section: SectionOption = None,
    everything: Annotated[bool, typer.Option("--all", help="With those that no longer hold.")] = False,
    as_json: Json = False,
) -> Answer:
    """List the facts of memory with their ids."""
    found = _memory(context).facts(ListFacts(tuple(tag or ()), kind, section, everything))
    return Answer(as_json, show.facts_json(found), show.facts_text(found), () if found else ("no facts",))


@app.command()
def save(
    context: typer.Context,
    message: Annotated[str | None, typer.Option("-m", metavar="TEXT", help="The commit message.")] = None,
    as_json: Json = False,
) -> Answer:
    """Commit your own edits of memory files as yours.

    New and deleted files are included.
    """
    commit, paths = _memory(context).save(message)
    return Answer(as_json, {"changed": commit is not None, "commit": commit, "paths": list(paths)}, show.saved_text(commit, paths))


@app.command("check")
def check_(
    context: typer.Context,
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Which files. [default: all of memory]")] = None,
    staged: Annotated[bool, typer.Option("--staged", help="Judge what is staged, as the pre-commit hook does.")] = False,
    as_json: Json = False,
) -> Answer:
    """Say what is wrong with memory files.

    With --staged: with what is about to be committed.
    """
    if staged and files:
        raise UsageProblem("--staged takes no files")
    if staged:
        start = Path(context.obj or ".")
        problems = memory.staged_problems(start, os.environ)
        status = 1 if check.refused(problems, check.allowed(os.environ)) else 0
    else:
        problems = _memory(context).check(tuple(files or ()))
        status = 1 if any(problem.level == "error" for problem in problems) else 0
    said = "\n".join(map(show.problem_text, problems))
    return Answer(as_json, show.problems_json(problems), said, () if problems else ("no problems",), status)


@app.command()
def redact(as_json: Json = False) -> Answer:
    """Copy standard input, each secret as [REDACTED:KIND].

    Everything else is copied byte for byte. It needs no workspace.
    """
    text = _given("-")
    clean = secrets.redact(text)
    if as_json or sys.stdout.isatty():
        return Answer(as_json, show.redacted_json(clean, secrets.find(text)), show.redacted_text(clean))
    sys.stdout.buffer.write(clean.encode("utf-8", "surrogateescape"))
    return Answer(as_json, {}, "")


@app.command()
def status(context: typer.Context, as_json: Json = False) -> Answer:
    """Say what is where, and how fresh the index is."""
    found = _memory(context).status()
    return Answer(as_json, show.status_json(found), show.status_text(found), found.notes)


@app.command()
def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can safely be mended.")] = False,
    as_json: Json = False,
) -> Answer:
    """Find what is wrong around the workspace, and mend it.

    git, settings, locks, hooks, the state folder, the index, the files, secrets in history, recent failures. The exit status is 1 if
    an error remains.
    """
    found = _memory(context).examine(fix)
    answer = show.findings_json(found)
    return Answer(as_json, answer, show.findings_text(found), status=0 if answer["sound"] else 1)


@app.command()
def reindex(
    context: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Build it anew.")] = False,
    as_json: Json = False,
) -> Answer:
    """Bring the search index up to date."""
    count = _memory(context).reindex(full)
    return Answer(as_json, {"entries": count}, f"{count} entries indexed")


@hooks_app.command("install")
def hooks_install(context: typer.Context, as_json: Json = False) -> Answer:
    """Put the hooks where git looks.

    A hook that is there already is kept and runs first.
    """
    written = _memory(context).install_hooks()
    return Answer(as_json, {"installed": list(written)}, f"installed {', '.join(written)}" if written else "all hooks are there")


@hooks_app.command("uninstall")
def hooks_uninstall(context: typer.Context, as_json: Json = False) -> Answer:
    """Take mdmem's own hooks out, and put kept ones back."""
    removed = _memory(context).uninstall_hooks()
    return Answer(as_json, {"removed": list(removed)}, f"removed {', '.join(removed)}" if removed else "none of mdmem's hooks were there")


@hooks_app.command("status")
def hooks_status(context: typer.Context, as_json: Json = False) -> Answer:
    """Say how each hook stands."""
    found = _memory(context).hooks()
    return Answer(as_json, {"hooks": found}, "\n".join(f"{name}: {state}" for name, state in found.items()))


def _wants_json(words: Sequence[str]) -> bool:
    return "--json" in words[: words.index("--") if "--" in words else len(words)]


def _worded(problem: typer.TyperException) -> UsageProblem:
    """A wrong call in our own manner, with the help that fits."""
    said = problem.format_message().removesuffix(".").replace("Value error, ", "")
    context = getattr(problem, "ctx", None)
    return UsageProblem(said[:1].lower() + said[1:], f"{context.command_path if context else app.info.name} --help")


def _run(words: Sequence[str]) -> int:
    """Parse and run. Not by Typer's own main, which takes a broken pipe for an error and an interruption for none."""
    try:
        with get_command(app).make_context("mdmem", list(words) or ["--help"]) as context:
            answer = context.command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except typer.TyperException as problem:
        raise _worded(problem) from problem
    except typer.Abort as stop:  # what Typer makes of an interruption where it asks
        raise KeyboardInterrupt from stop
    if answer.as_json:
        print(json_line(answer.found))
    else:
        if answer.text:
            print(answer.text, flush=True)
        for note in answer.notes:
            _say(note)
    return int(answer.status)


def _open_streams() -> None:
    """Standard streams that take what is printed: those that the caller closed lead nowhere, the others speak UTF-8."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    _open_streams()
    return report(lambda: _run(words), _wants_json(words))
