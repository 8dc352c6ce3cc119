"""The commands: each fills one frozen dataclass of arguments, makes one call on Memory, and gives the answer.

The signatures are what Typer knows: `app` makes the command line of them, `table` is made of that. They are not evaluated here, since
the short way has no use for them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from mdmem import check, memory, secrets
from mdmem.cli import past, tending
from mdmem.cli.call import Answer, Call, colour, given, opened, write_options, written
from mdmem.errors import UsageProblem
from mdmem.layout import is_markdown
from mdmem.model import (
    Action,
    EditSection,
    Forget,
    Initialise,
    ListFacts,
    Log,
    Purge,
    Remember,
    Search,
    Show,
    Source,
)
from mdmem.paths import Path
from mdmem.records import replace
from mdmem.show import hits, reads, upkeep, writes
from mdmem.show.words import one_line, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Annotated

    import typer

    from mdmem.cli.options import (
        AnyFile,
        FactArgument,
        File,
        Json,
        Kind,
        Nth,
        SectionOption,
        Supersedes,
        Tags,
        Writing,
    )

_COMBINED_DAYS = 7


def init(
    call: Call,
    folder: Annotated[str | None, typer.Argument(metavar="DIR", help="Where. [default: -C, else here]")] = None,
    no_hooks: Annotated[bool, typer.Option("--no-hooks", help="Do not install git's hooks.")] = False,
    as_json: Json = False,
) -> Answer:
    """Make a workspace, or adopt a folder with memory in it.

    No existing file is altered, and twice is harmless.
    """
    done = memory.initialise(Initialise(folder or call.workspace or ".", not no_hooks))
    found = {
        "workspace": str(done.workspace),
        "made_repository": done.made_repository,
        "written": list(done.written),
        "commit": done.commit,
        "hooks": list(done.hooks),
        "notes": list(done.notes),
    }
    wrote = f", wrote {', '.join(done.written)}" if done.written else ""
    return Answer(found, one_line(f"workspace in {done.workspace}{wrote} {short(done.commit)}".rstrip()), done.notes)


def edit_section(
    call: Call,
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
    nth: Nth = None,
    expect: Annotated[str | None, typer.Option("--expect", metavar="ETAG", help="Refuse if it is no longer what was read.")] = None,
    subtree: Annotated[bool, typer.Option("--subtree", help="With its subsections.")] = False,
    supersedes: Supersedes = None,
    **shared: Writing,
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
    actions = [action for action, text in texts.items() if text is not None]
    if len(actions) + editor != 1:
        raise UsageProblem("give exactly one of --body, --append, --prepend, --replace, --rename, --delete, --editor")
    if (section is None) is not preamble:
        raise UsageProblem("name a section, or give --preamble")
    if (replace_ is None) is not (with_ is None):
        raise UsageProblem("--replace and --with go together")
    if replace_ == with_ == "-":
        raise UsageProblem("--replace and --with cannot both read standard input")
    if (create or after) and (editor or actions[0] in (Action.REPLACE, Action.RENAME, Action.DELETE)):
        raise UsageProblem("--create and --after go with --body, --append and --prepend")
    if editor and subtree:
        raise UsageProblem("--editor edits the section's own text; --subtree does not go with it")
    workspace = opened(call)
    action = Action.BODY if editor else actions[0]
    change = EditSection(
        section,
        action,
        given(texts[action] or "") if action is not Action.RENAME else rename or "",
        given(with_ or ""),
        file,
        create or after is not None,
        after,
        nth,
        expect,
        subtree,
        write_options(shared, supersedes),
    )
    if editor:
        seen = workspace.show(Show(file, section, nth, preamble))
        change = replace(change, text=_edited(seen.text.strip("\r\n") + "\n"), expect=expect or seen.etag)
    return written(workspace.apply(change))


def _edited(text: str) -> str:
    """`text` as the user leaves it in their editor."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program or not sys.stdin.isatty():
        raise UsageProblem("--editor needs a terminal and $EDITOR", "Without them: --body -")
    import shlex  # here, so that no other command pays for loading them
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="mdmem-") as folder:
        place = Path(folder) / "section.md"
        place.write_bytes(text.encode())
        if subprocess.run([*shlex.split(program), str(place)], check=False).returncode:
            raise UsageProblem(f"{program} ended with an error; nothing is changed")
        return place.read_bytes().decode("utf-8", "surrogateescape")


def log(
    call: Call,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The entry; '-' reads it.")],
    fact: Annotated[bool, typer.Option("--fact", help="The same as --kind fact.")] = False,
    kind: Kind = None,
    tag: Tags = None,
    time: Annotated[str | None, typer.Option("--time", metavar="HH:MM", help="When. [default: now]")] = None,
    date: Annotated[str | None, typer.Option("--date", metavar="DAY", help="The day. [default: today]")] = None,
    again: Annotated[bool, typer.Option("--again", help="Write it even if the day has the same entry already.")] = False,
    supersedes: Supersedes = None,
    **shared: Writing,
) -> Answer:
    """Append an entry to a day's log."""
    if fact and kind not in (None, "fact"):
        raise UsageProblem("--fact and --kind go against each other")
    change = Log(given(text), "fact" if fact else kind, tuple(tag or ()), time, date, again, write_options(shared, supersedes))
    result = opened(call).apply(change)
    return written(result, result.added)


def remember(
    call: Call,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The fact; '-' reads it.")],
    file: File = None,
    section: SectionOption = None,
    create: Annotated[bool, typer.Option("--create", help="Make the section, and the file, where they are missing.")] = False,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="What the fact is about; one fact a key.")] = None,
    also: Annotated[bool, typer.Option("--also", help="The key has several values; this is one more.")] = False,
    kind: Kind = None,
    tag: Tags = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DAY", help="The last day on which it holds.")] = None,
    supersedes: Supersedes = None,
    **shared: Writing,
) -> Answer:
    """Put a fact into MEMORY.md.

    Of a key that has a value already the line is replaced, and superseded.
    """
    change = Remember(given(text), file, section, create, key, also, kind, tuple(tag or ()), until, write_options(shared, supersedes))
    result = opened(call).apply(change)
    return written(result, result.added)


def forget(
    call: Call,
    fact: FactArgument,
    file: AnyFile = None,
    section: SectionOption = None,
    purge: Annotated[bool, typer.Option("--purge", help="Out of all history too. It cannot be undone.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --purge: do not ask.")] = False,
    supersedes: Supersedes = None,
    **shared: Writing,
) -> Answer:
    """Take a fact out of its file.

    History keeps it. A line of a day's log stays and counts no more. With --purge it goes out of all history too, and cannot be brought
    back.
    """
    if yes and not purge:
        raise UsageProblem("--yes goes with --purge")
    options = write_options(shared, supersedes)
    if purge:
        if file or section or supersedes:
            raise UsageProblem("--purge takes a text out of everything: it goes with no --file, --section or --supersedes")
        if options.source is not Source.INFERRED or options.confidence is not None:
            raise UsageProblem("--purge states nothing: it goes with no --source or --confidence")
        return _purge(call, Purge(fact, options.reason, options.actor, options.session, options.allow), yes, options.dry_run)
    result = opened(call).apply(Forget(fact, file, section, options))
    return written(result, result.removed)


def _purge(call: Call, wanted: Purge, yes: bool, dry_run: bool) -> Answer:
    workspace = opened(call)
    if dry_run:
        plan = workspace.plan_purge(wanted)
        return Answer(upkeep.plan_json(plan), upkeep.plan_text(plan))
    if not yes:
        if call.as_json or not sys.stdin.isatty():
            raise UsageProblem("--purge cannot be undone", "Look at it with --dry-run, then say --yes.")
        print(upkeep.plan_text(workspace.plan_purge(wanted)), file=sys.stderr)
        if not _agreed("Purge it for good?"):
            return Answer({}, "nothing is changed")
    done = workspace.purge(wanted)
    return Answer(upkeep.purged_json(done), upkeep.purged_text(done), done.notices)


def _agreed(question: str) -> bool:
    """Whether the user says yes; what ends the input interrupts the command."""
    print(question, "[y/N]: ", end="", file=sys.stderr, flush=True)
    said = sys.stdin.readline()
    if not said:
        raise KeyboardInterrupt
    return said.strip().casefold() in ("y", "yes")


def show_(
    call: Call,
    first: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A word that ends in .md; may be left out. [default: MEMORY.md]")
    ] = None,
    second: Annotated[str | None, typer.Argument(metavar="SECTION", help="A heading, or several joined by ' > '.")] = None,
    nth: Nth = None,
    preamble: Annotated[bool, typer.Option("--preamble", help="The text before the first heading.")] = False,
    as_json: Json = False,
) -> Answer:
    """Read one section, or a whole file."""
    file = first if first and is_markdown(first) else None
    sections = [word for word in (first if file is None else None, second) if word is not None]
    if len(sections) + preamble > 1:
        raise UsageProblem("show takes one file, whose name ends in .md, and one section (or --preamble)")
    view = opened(call).show(Show(file, sections[0] if sections else None, nth, preamble))
    return Answer(reads.section_json(view), reads.section_text(view, sys.stdout.isatty()))


def outline(
    call: Call,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A Markdown file. [default: MEMORY.md]")] = None,
    as_json: Json = False,
) -> Answer:
    """List the sections of a file with their etags."""
    found = opened(call).outline(file)
    return Answer(reads.outline_json(found), reads.outline_text(found))


def search(
    call: Call,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words; any of them may match.")],
    limit: Annotated[int, typer.Option("-n", metavar="N", help="The most hits to give.")] = 8,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="Only this file, or files below this folder.")] = None,
    section: Annotated[str | None, typer.Option("--section", metavar="SECTION", help="Only this section and what is below it.")] = None,
    kind: Kind = None,
    tag: Tags = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DAY", help="From this day on: 2026-11-21, 2026-11, or words such as yesterday or last March."),
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DAY", help="Up to this day, or the last day of what is said.")] = None,
    min_confidence: Annotated[float | None, typer.Option("--min-confidence", metavar="N", help="At least this sure, from 0 to 1.")] = None,
    recent_days: Annotated[int | None, typer.Option("--recent-days", metavar="N", help="Of the logs only the last N days.")] = None,
    combined: Annotated[bool, typer.Option("--combined", help=f"The same as --recent-days {_COMBINED_DAYS}.")] = False,
    history: Annotated[bool, typer.Option("--history", help="With what was superseded, has expired or was removed.")] = False,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of", metavar="DATE|COMMIT", help="In memory as it was at the end of that day (in words too), or at that commit."
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say of each hit how its score came about.")] = False,
    as_json: Json = False,
) -> Answer:
    """Find what memory says about something."""
    if combined and recent_days is not None:
        raise UsageProblem("--combined and --recent-days go against each other")
    days = _COMBINED_DAYS if combined else recent_days
    wanted = Search(
        " ".join(query), limit, file, section, kind, tuple(tag or ()), since, until, min_confidence, days, history, as_of, explain
    )
    found = opened(call).search(wanted)
    return Answer(hits.search_json(found), hits.search_text(found, colour()), hits.search_notes(found))


def facts(
    call: Call,
    tag: Tags = None,
    kind: Kind = None,
    section: SectionOption = None,
    everything: Annotated[bool, typer.Option("--all", help="With those that no longer hold.")] = False,
    as_json: Json = False,
) -> Answer:
    """List the facts of memory with their ids."""
    found = opened(call).facts(ListFacts(tags=tuple(tag or ()), kind=kind, section=section, everything=everything))
    return Answer(hits.facts_json(found), hits.facts_text(found), () if found else ("no facts",))


def recall(
    call: Call,
    tag: Annotated[list[str], typer.Option("--tag", metavar="TAG", help="A label; may be given several times.")],
    as_json: Json = False,
) -> Answer:
    """List the facts with one of these labels.

    Those with most of them come first, then the newest.
    """
    found = opened(call).recall(tuple(tag))
    return Answer(hits.facts_json(found), hits.facts_text(found), () if found else ("no facts",))


def tags(call: Call, as_json: Json = False) -> Answer:
    """List the labels of memory, most used first.

    Of each fact the first three labels count.
    """
    found = opened(call).tags()
    return Answer(hits.tags_json(found), hits.tags_text(found), () if found else ("no tags",))


def save(
    call: Call,
    message: Annotated[str | None, typer.Option("-m", metavar="TEXT", help="The commit message.")] = None,
    as_json: Json = False,
) -> Answer:
    """Commit your own edits of memory files as yours.

    New and deleted files are included.
    """
    commit, paths = opened(call).save(message)
    return Answer(writes.saved_json(commit, paths), writes.saved_text(commit, paths))


def check_(
    call: Call,
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
        start = Path(call.workspace or ".")
        problems = memory.staged_problems(start, os.environ)
        status = 1 if check.refused(problems, check.allowed(os.environ)) else 0
    else:
        problems = opened(call).check(tuple(files or ()))
        status = 1 if any(problem.level == "error" for problem in problems) else 0
    said = "\n".join(map(reads.problem_text, problems))
    return Answer(reads.problems_json(problems), said, () if problems else ("no problems",), status)


def redact(call: Call, as_json: Json = False) -> Answer:
    """Copy standard input, each secret as [REDACTED:KIND].

    Everything else is copied byte for byte. It needs no workspace.
    """
    text = given("-")
    clean = secrets.redact(text)
    if call.as_json or sys.stdout.isatty():
        return Answer(upkeep.redacted_json(clean, secrets.find(text)), upkeep.redacted_text(clean))
    sys.stdout.buffer.write(clean.encode("utf-8", "surrogateescape"))
    return Answer({}, "")


def status(call: Call, as_json: Json = False) -> Answer:
    """Say what is where, and how fresh the index is."""
    found = opened(call).status()
    return Answer(reads.status_json(found), reads.status_text(found), found.notes)


def doctor(
    call: Call,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can safely be mended.")] = False,
    as_json: Json = False,
) -> Answer:
    """Find what is wrong around the workspace, and mend it.

    git, settings, locks, hooks, the state folder, the index, the files, secrets in history, recent failures. The exit status is 1 if
    an error remains.
    """
    found = opened(call).examine(fix)
    answer = upkeep.findings_json(found)
    return Answer(answer, upkeep.findings_text(found), status=0 if answer["sound"] else 1)


def reindex(
    call: Call,
    full: Annotated[bool, typer.Option("--full", help="Build it anew.")] = False,
    as_json: Json = False,
) -> Answer:
    """Bring the search index up to date."""
    count = opened(call).reindex(full)
    return Answer({"entries": count}, f"{count} entries indexed")


def hooks_install(call: Call, as_json: Json = False) -> Answer:
    """Put the hooks where git looks.

    A hook that is there already is kept and runs first.
    """
    installed = opened(call).install_hooks()
    return Answer({"installed": list(installed)}, f"installed {', '.join(installed)}" if installed else "all hooks are there")


def hooks_uninstall(call: Call, as_json: Json = False) -> Answer:
    """Take mdmem's own hooks out, and put kept ones back."""
    removed = opened(call).uninstall_hooks()
    return Answer({"removed": list(removed)}, f"removed {', '.join(removed)}" if removed else "none of mdmem's hooks were there")


def hooks_status(call: Call, as_json: Json = False) -> Answer:
    """Say how each hook stands."""
    found = opened(call).hooks()
    return Answer({"hooks": found}, "\n".join(f"{name}: {state}" for name, state in found.items()))


COMMANDS: Mapping[str, Callable[..., Answer]] = {
    "init": init,
    "edit-section": edit_section,
    "log": log,
    "remember": remember,
    "forget": forget,
    "show": show_,
    "outline": outline,
    "search": search,
    "facts": facts,
    "recall": recall,
    "tags": tags,
    "history": past.history,
    "blame": past.blame,
    "when": past.when,
    "revert": past.revert,
    "contradicts": past.contradicts,
    "conflicts": past.conflicts,
    "task start": tending.task_start,
    "task note": tending.task_note,
    "task done": tending.task_done,
    "task show": tending.task_show,
    "review": tending.review,
    "save": save,
    "check": check_,
    "redact": redact,
    "status": status,
    "doctor": doctor,
    "stats": tending.stats,
    "reindex": reindex,
    "hooks install": hooks_install,
    "hooks uninstall": hooks_uninstall,
    "hooks status": hooks_status,
}
"""The commands by what is typed, in the order of the help."""

GROUPS = {
    "task": "Keep the notes of a task until it is done.\n\nAn agent that was interrupted goes on from them.",
    "hooks": "Install, remove and look at git's hooks.\n\nThey check what is committed and keep the index fresh.",
}
"""What the commands of two words are about, by the first of these."""
