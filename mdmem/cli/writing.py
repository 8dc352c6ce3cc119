"""Commands that write."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

from mdmem.cli import terminal
from mdmem.cli.commands import Answer, missing, open_memory, read_argument
from mdmem.cli.fast_parser import Call
from mdmem.cli.terminal import shown
from mdmem.cli.write_options import write_answer, write_options
from mdmem.folder.layout import is_markdown
from mdmem.model import Source
from mdmem.model.errors import UsageProblem, shell_word
from mdmem.model.reads import Show
from mdmem.model.writes import (
    Action,
    EditSection,
    Forget,
    Log,
    Purge,
    Remember,
    Revert,
    Save,
    UserEdit,
    WriteOptions,
)
from mdmem.show import writes
from mdmem.startup.late import module
from mdmem.startup.records import replace

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        Actor,
        After,
        Again,
        Allow,
        AnyFile,
        Append,
        Body,
        CreateSection,
        EditPreamble,
        Expect,
        FactArgument,
        FactSection,
        File,
        Json,
        Key,
        Kind,
        LastDay,
        NewTitle,
        NewWords,
        Nth,
        OldWords,
        Prepend,
        Propose,
        SectionArgument,
        SectionOption,
        Subtree,
        Supersedes,
        Tags,
        Writing,
    )
    from mdmem.memory import Memory


def _propose(memory: Memory, change: UserEdit, is_asked: bool, again: bool) -> Answer:
    # what shows proposals takes longer to load than an entry to write
    answer: Answer = module("cli.deciding").propose_write(memory, change, is_asked, again)
    return answer


def edit_section(
    call: Call,
    section: SectionArgument = None,
    file: File = None,
    preamble: EditPreamble = False,
    body: Body = None,
    append: Append = None,
    prepend: Prepend = None,
    replace_: OldWords = None,
    replacement: NewWords = None,
    rename: NewTitle = None,
    delete: Annotated[bool, typer.Option("--delete", help="Remove the section.")] = False,
    editor: Annotated[bool, typer.Option("--editor", help="Edit its own text in $EDITOR.")] = False,
    create: CreateSection = False,
    after: After = None,
    nth: Nth = None,
    expect: Expect = None,
    subtree: Subtree = False,
    supersedes: Supersedes = None,
    propose: Propose = False,
    again: Again = False,
    **shared: Writing,
) -> Answer:
    """Change one section of a file, and nothing else in it.

    Give one of --body, --append, --prepend, --replace with --with, --rename, --delete and --editor.
    """
    if section is None and not preamble:
        raise missing("argument 'SECTION', or --preamble", "edit-section")
    if editor:
        _require_alone(subtree, create or after or body is not None)
    elif not delete:
        _require_text(body, append, prepend, replace_, replacement, rename)
    change = EditSection.of(
        section,
        preamble=preamble,
        body="" if editor else body,
        append=append,
        prepend=prepend,
        replace=replace_,
        replacement=replacement,
        rename=rename,
        delete=delete,
        file=file,
        create=create,
        after=after,
        nth=nth,
        expect=expect,
        subtree=subtree,
        options=write_options(shared, supersedes),
    )
    memory = open_memory(call)
    if editor:
        shown = Show(file=file, section=section, nth=nth, preamble=preamble)
        change = _in_editor(memory, shown, change)
    else:
        change = _with_read_texts(change)
    if propose or again:
        return _propose(memory, change, propose, again)
    return write_answer(memory.apply(change))


def _require_text(*texts: str | None) -> None:
    if all(text is None for text in texts):
        options = "--body, --append, --prepend, --replace, --rename, --delete or --editor"
        raise missing(f"option {options}", "edit-section")


def _require_alone(subtree: bool, creates: object) -> None:
    if subtree:
        raise UsageProblem("--editor edits the section's own text; --subtree does not go with it")
    if creates:
        raise UsageProblem(
            "--editor edits an existing section; --body, --create and --after do not go with it"
        )


def _with_read_texts(change: EditSection) -> EditSection:
    if change.action is Action.RENAME:
        return change
    if change.text == change.replacement == "-":
        raise UsageProblem("--replace and --with cannot both read standard input")
    text, replacement = read_argument(change.text), read_argument(change.replacement)
    if change.text == "-" and not text and _reads_device():
        raise UsageProblem("standard input is empty", "To remove the section: --delete")
    return replace(change, text=text, replacement=replacement)


def _reads_device() -> bool:
    """True where nothing is piped in: a program that means no text gives an empty pipe or file."""
    try:
        return stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _in_editor(memory: Memory, section: Show, change: EditSection) -> EditSection:
    view = memory.show(section)
    text = terminal.edit_text(view.text.strip("\r\n") + "\n", "--editor", "--body -")
    return replace(change, text=text, expect=change.expect or view.etag)


def log(
    call: Call,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The entry; '-' reads standard input.")
    ],
    fact: Annotated[bool, typer.Option("--fact", help="Same as --kind fact.")] = False,
    kind: Kind = None,
    tags: Tags = None,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="HH:MM", help="Time of the entry. [default: now]"),
    ] = None,
    day: Annotated[
        str | None,
        typer.Option(
            "--date",
            metavar="DAY",
            help="The day: a date, or words such as yesterday. [default: today]",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Write it even if the day already has the same entry.")
    ] = False,
    supersedes: Supersedes = None,
    propose: Propose = False,
    **shared: Writing,
) -> Answer:
    """Append an entry to a day's log."""
    if fact and kind not in (None, "fact"):
        raise UsageProblem("--fact and --kind exclude each other")
    if is_markdown(text) and " " not in text:
        raise UsageProblem(
            f"{text} is the name of a file",
            f"To see its changes: mdmem history {shell_word(text)}; to commit edits: mdmem save",
        )
    change = Log(
        text=read_argument(text),
        kind="fact" if fact else kind,
        tags=tuple(tags or ()),
        time=time,
        day=day,
        again=again,
        options=write_options(shared, supersedes),
    )
    if propose:
        return _propose(open_memory(call), change, propose, again)
    result = open_memory(call).apply(change)
    return write_answer(result, result.added)


def remember(
    call: Call,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The fact; '-' reads standard input.")
    ] = None,
    entry: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="ENTRY", help="The daily-log entry to copy: its text or id."
        ),
    ] = None,
    file: File = None,
    section: FactSection = None,
    create: Annotated[
        bool, typer.Option("--create", help="Create the section and the file if they are missing.")
    ] = False,
    key: Key = None,
    also: Annotated[
        bool, typer.Option("--also", help="Add another value for the key; keep the others.")
    ] = False,
    kind: Kind = None,
    tags: Tags = None,
    until: LastDay = None,
    supersedes: Supersedes = None,
    propose: Propose = False,
    again: Again = False,
    **shared: Writing,
) -> Answer:
    """Put a fact into MEMORY.md.

    If the key already has a value, the new fact replaces it. Of several values, it replaces the one
    with the same source, else the best supported one, and all with a weaker source; if several
    could be meant, name one with --supersedes. To keep several values of a key, add --also. A text
    that begins with a lower-case word and a colon ("todo: order timber"), or with bold words and a
    colon, has these as its key. With --from, copy an entry from a daily log, reworded as TEXT if
    you give it.
    """
    if text is None and entry is None:
        raise missing("argument 'TEXT', or --from ENTRY", "remember")
    change = Remember(
        text="" if text is None else read_argument(text),
        entry=entry,
        file=file,
        section=section,
        create=create,
        key=key,
        also=also,
        kind=kind,
        tags=tuple(tags or ()),
        until=until,
        options=write_options(shared, supersedes),
    )
    if propose or again:
        return _propose(open_memory(call), change, propose, again)
    result = open_memory(call).apply(change)
    return write_answer(result, result.added)


def forget(
    call: Call,
    fact: FactArgument,
    file: AnyFile = None,
    section: SectionOption = None,
    everywhere: Annotated[
        bool,
        typer.Option(
            "--all", help="Remove every line that states it; those in daily logs are only marked."
        ),
    ] = False,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Also remove it from all history. This cannot be undone.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --purge: do not ask for confirmation.")
    ] = False,
    supersedes: Annotated[
        str | None,
        typer.Option(
            "--supersedes",
            metavar="FACT",
            help="Also mark this entry of a daily log as no longer current.",
        ),
    ] = None,
    propose: Propose = False,
    again: Again = False,
    **shared: Writing,
) -> Answer:
    """Remove a fact from its file.

    History keeps it. Daily-log lines that state it are kept, but count as forgotten, unless it has
    no key and only one or two words; with --file, only the copy in FILE is removed. With --purge it
    is also removed from all history, and cannot be restored.
    """
    if yes and not purge:
        raise UsageProblem("--yes needs --purge")
    options = write_options(shared, supersedes)
    if purge:
        if file or section or supersedes or everywhere:
            raise UsageProblem(
                "--purge removes a text from everything: --file, --section, --all and --supersedes"
                " do not go with it"
            )
        if propose or again:
            raise UsageProblem("--purge cannot be proposed")
        return _purge(call, fact, options, yes)
    change = Forget(fact=fact, file=file, section=section, everywhere=everywhere, options=options)
    if propose or again:
        return _propose(open_memory(call), change, propose, again)
    result = open_memory(call).apply(change)
    return write_answer(result, result.removed)


def _purge(call: Call, fact: str, options: WriteOptions, yes: bool) -> Answer:
    if options.source is not Source.INFERRED or options.confidence is not None:
        raise UsageProblem("--purge states nothing: --source and --confidence do not go with it")
    request = Purge(
        fact=fact,
        reason=options.reason,
        actor=options.actor,
        session=options.session,
        allow=options.allow,
    )
    memory = open_memory(call)
    if options.dry_run:
        plan = memory.plan_purge(request)
        return Answer(
            {"changed": False, "commit": None, "plan": plan, "notices": plan.notices},
            writes.purge_plan_text(plan),
        )
    if not yes:
        if call.as_json or not sys.stdin.isatty():
            raise UsageProblem(
                "--purge cannot be undone", "Check it with --dry-run, then add --yes."
            )
        print(writes.purge_plan_text(memory.plan_purge(request)), file=sys.stderr)
        if not _agreed("Purge it for good?"):
            return Answer({}, "nothing was changed")
    with nullcontext() if call.as_json or call.quiet else shown("forget", None):
        result = memory.purge(request)
    return Answer(result, writes.purged_text(result), result.notices)


def _agreed(question: str) -> bool:
    """True if the user says yes; the end of input interrupts the command."""
    print(question, "[y/N]: ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise KeyboardInterrupt
    return answer.strip().casefold() in ("y", "yes")


def save(
    call: Call,
    message: Annotated[
        str | None, typer.Option("-m", metavar="TEXT", help="The commit message.")
    ] = None,
    actor: Actor = None,
    allow: Allow = None,
    as_json: Json = False,
) -> Answer:
    """Commit your own edits of memory files as yours.

    New and deleted files are included. If an agent is given as the actor, the edits count as
    inferred, not as your word.
    """
    commit, paths = open_memory(call).save(Save(message, frozenset(allow or ()), actor))
    return Answer(
        {"changed": commit is not None, "commit": commit, "paths": paths},
        writes.saved_text(commit, paths),
    )


def revert(
    call: Call,
    reference: Annotated[
        str,
        typer.Argument(
            metavar="COMMIT|FACT|RUN",
            help=(
                "A commit, a fact (its last change) or a run (digest/…, import/…, dream/DAY or"
                " 'last night')."
            ),
        ),
    ],
    skip: Annotated[
        bool,
        typer.Option("--skip", help="Runs only: keep what later edits changed, and undo the rest."),
    ] = False,
    take_out: Annotated[
        bool, typer.Option("--take-out", help="Runs only: also remove its lines from the logs.")
    ] = False,
    **shared: Writing,
) -> Answer:
    """Undo one change, or those of a run; keep all later changes.

    Log entries stay in the log but no longer count. A run is undone as a whole, or not at all.
    """
    change = Revert(
        reference=reference, skip=skip, take_out=take_out, options=write_options(shared)
    )
    return write_answer(open_memory(call).apply(change))
