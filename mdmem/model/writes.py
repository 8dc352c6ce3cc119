"""Arguments of the verbs that write, and their result."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Self, TypeAlias

from mdmem.model import CommitId, FactId, FilePath, Op, SectionPath, Source, Supersession, errors
from mdmem.model.errors import UsageProblem
from mdmem.model.rules import (
    is_iso_day,
    is_minute,
    require_allowances,
    require_no_trailer,
    require_possible_day,
    require_range,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass, field

_RUN = late.pattern(r"(?:digest|dream|import)/[^\s/]+")
_NIGHT = late.pattern(r"dream/\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")


def is_run(name: str) -> bool:
    """True for a name of the form in which runs are named."""
    return _RUN.fullmatch(name) is not None


def is_night(name: str) -> bool:
    """True for the name of a night, as commits have it: dream/YYYY-MM-DD."""
    return _NIGHT.fullmatch(name) is not None and is_iso_day(name.partition("/")[2])


@dataclass(frozen=True, slots=True)
class PipelineNote:
    """The part of a commit's note that only a pipeline writes.

    - `cites`: where it was said (CLIENT/SESSION#LINE[-LINE]); `sender`: by which other person.
    - `attribute`: what the fact is about. `promotes`: the log entry that a curated file takes.
    - `dreamt`, in a run's last commit: the commit up to which it has judged.
    """

    actor: str
    run: str
    cites: tuple[str, ...] = ()
    attribute: str | None = None
    sender: str | None = None
    dreamt: CommitId | None = None
    promotes: FactId | None = None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of all writing verbs; `confidence` None means the default of the source.

    `typed`: somebody typed it without a source, and states it where no actor is in force.
    """

    source: Source = Source.INFERRED
    confidence: float | None = None
    actor: str | None = None
    session: str | None = None
    reason: str | None = None
    supersedes: str | None = None
    dry_run: bool = False
    allow: frozenset[str] = frozenset()
    pipeline: PipelineNote | None = None
    typed: bool = False

    def __post_init__(self) -> None:
        require_range("confidence", self.confidence, 0, 1)
        require_no_trailer("reason", self.reason)
        require_allowances(errors.field("allow"), self.allow)


class Action(StrEnum):
    """The actions of `edit-section`."""

    BODY = "body"
    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"
    RENAME = "rename"
    DELETE = "delete"


PLACING = (Action.BODY, Action.APPEND, Action.PREPEND)
"""Actions for a section that does not exist yet, and for the text before the first heading."""


@dataclass(frozen=True, slots=True)
class EditSection:
    """Change a section, or (None) the preamble; `text` is what the action needs."""

    verb = "edit-section"

    section: str | None
    action: Action
    text: str = ""
    replacement: str = ""
    file: str | None = None
    create: bool = False
    after: str | None = None
    nth: int | None = None
    expect: str | None = None
    subtree: bool = False
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        creates = self.create or self.after is not None
        if creates and self.action not in PLACING:
            names = ("create", "after", *(action.value for action in PLACING))
            create, after, body, append, prepend = map(errors.field, names)
            raise UsageProblem(f"{create} and {after} go with {body}, {append} and {prepend}")
        if self.section is None and (
            self.action in (Action.RENAME, Action.DELETE) or self.subtree or self.after is not None
        ):
            raise UsageProblem(
                "the text before the first heading can be replaced, appended to and prepended to,"
                " nothing else"
            )
        if self.action is Action.REPLACE and not self.text:
            raise UsageProblem("the text to find is empty")

    @classmethod
    def of(
        cls,
        section: str | None = None,
        *,
        preamble: bool = False,
        body: str | None = None,
        append: str | None = None,
        prepend: str | None = None,
        replace: str | None = None,
        replacement: str | None = None,
        rename: str | None = None,
        delete: bool = False,
        file: str | None = None,
        create: bool = False,
        after: str | None = None,
        nth: int | None = None,
        expect: str | None = None,
        subtree: bool = False,
        options: WriteOptions | None = None,
    ) -> Self:
        """The edit of a door that has an argument for each action. `after` implies `create`.

        Raises UsageProblem: arguments are missing or exclude each other.
        """
        texts = {
            Action.BODY: body,
            Action.APPEND: append,
            Action.PREPEND: prepend,
            Action.REPLACE: replace,
            Action.RENAME: rename,
            Action.DELETE: "" if delete else None,
        }
        actions = [action for action, text in texts.items() if text is not None]
        if (replace is None) is not (replacement is None):
            raise UsageProblem(
                f"{errors.field('replace')} and {errors.field('replacement')} go together"
            )
        if len(actions) != 1:
            raise UsageProblem(
                f"give exactly one of {', '.join(errors.field(action) for action in Action)}"
            )
        if (section is None) is not preamble:
            raise UsageProblem(f"name a section, or give {errors.field('preamble')}")
        return cls(
            section=section,
            action=actions[0],
            text=texts[actions[0]] or "",
            replacement=replacement or "",
            file=file,
            create=create or after is not None,
            after=after,
            nth=nth,
            expect=expect,
            subtree=subtree,
            options=options or WriteOptions(),
        )


@dataclass(frozen=True, slots=True)
class Log:
    """Append an entry, and then `more`, to a day's log.

    `time` is HH:MM, `day` an ISO date or a past day in words; None means now.
    """

    verb = "log"

    text: str
    kind: str | None = None
    tags: tuple[str, ...] = ()
    time: str | None = None
    day: str | None = None
    again: bool = False
    more: tuple[str, ...] = ()
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        require_possible_day(self.day, "day")
        if self.time is not None and not is_minute(self.time):
            message = f"{errors.field('time')}: {self.time!r} is not a time"
            example = f"0{self.time}" if is_minute(f"0{self.time}") else "14:05"
            raise UsageProblem(message, f"Write it as {example}.")


@dataclass(frozen=True, slots=True)
class Remember:
    """Put a fact into a curated file; `until` is an ISO date or a future day in words.

    `entry`: the log entry (id or text) that it promotes; with an empty text, in its words.
    """

    verb = "remember"

    text: str
    file: str | None = None
    section: str | None = None
    create: bool = False
    key: str | None = None
    also: bool = False
    kind: str | None = None
    tags: tuple[str, ...] = ()
    until: str | None = None
    entry: str | None = None
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        require_possible_day(self.until, "until")


@dataclass(frozen=True, slots=True)
class Forget:
    """Remove a fact (text, id or prefix) from a file; `everywhere`: every copy, logs included."""

    verb = "forget"

    fact: str
    file: str | None = None
    section: str | None = None
    everywhere: bool = False
    options: WriteOptions = field(default_factory=WriteOptions)

    @property
    def is_of_copy(self) -> bool:
        """True where the fact is to stay elsewhere."""
        return self.file is not None and not self.everywhere


@dataclass(frozen=True, slots=True)
class DayEntry:
    """An entry for a day's log.

    `cites`: where it was said (CLIENT/SESSION#LINE[-LINE]), at `time`. `key`: the attribute.
    `sender`: another person who said it.
    """

    minute: str
    text: str
    kind: str | None
    cites: str
    time: datetime | None = None
    by_agent: bool = False
    key: str | None = None
    supersedes: FactId | None = None
    contradicts: tuple[FactId, ...] = ()
    by_model: bool = False
    sender: str | None = None

    @property
    def session(self) -> str:
        """The session in which it was said, as CLIENT/SESSION."""
        return self.cites.rpartition("#")[0]


@dataclass(frozen=True, slots=True)
class DigestDay:
    """Add entries of sessions to a day's log, in order of time.

    `reads`: how far transcripts are read with it, each as CLIENT/SESSION#LINE HASH. `file`: facts
    of another tool are added to it instead, under headings that their `minute` names.
    """

    verb = "digest-day"

    day: date
    entries: tuple[DayEntry, ...]
    run: str
    reads: tuple[str, ...] = ()
    options: WriteOptions = field(default_factory=WriteOptions)
    file: FilePath | None = None

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions in which the entries were said, each once, as CLIENT/SESSION."""
        return tuple(dict.fromkeys(entry.session for entry in self.entries))


@dataclass(frozen=True, slots=True)
class Revert:
    """Undo one change and keep later ones: a commit, or the last change of a fact.

    Or all changes of a run: all or none; with `skip` all but those that later edits depend on. Log
    entries are no longer current then; with `take_out` their lines are removed.
    """

    verb = "revert"

    reference: str
    skip: bool = False
    take_out: bool = False
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        if (self.skip or self.take_out) and not is_run(self.reference):
            raise UsageProblem(
                f"{errors.field('skip' if self.skip else 'take_out')} is only for runs",
                "Use the run's name from its commits: digest/…",
            )


@dataclass(frozen=True, slots=True)
class Contradict:
    """Mark two facts as contradicting each other."""

    verb = "contradicts"

    first: str
    second: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Resolve:
    """State that two facts do not contradict each other, or no longer do."""

    verb = "conflicts-resolve"

    first: str
    second: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class Purge:
    """Remove a fact from files, index and history; named as for `Forget`, or by past words.

    It states nothing, so it has no source or confidence.
    """

    fact: str
    reason: str | None = None
    actor: str | None = None
    session: str | None = None
    allow: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        require_no_trailer("reason", self.reason)
        require_allowances(errors.field("allow"), self.allow)


@dataclass(frozen=True, slots=True)
class Save:
    """Commit pending edits of memory files as the user's; an agent `actor` claims them."""

    message: str | None = None
    allow: frozenset[str] = frozenset()
    actor: str | None = None

    def __post_init__(self) -> None:
        require_no_trailer("message", self.message)
        require_allowances(errors.field("allow"), self.allow)


@dataclass(frozen=True, slots=True)
class LikeFact:
    """A similar current fact, with its line on disk.

    `in_log`: in a day's log. `in_note`: in another file of the setting `paths`: no hint replaces a
    line there, since it is its owner's note.
    """

    fact: FactId
    text: str
    path: FilePath
    line: int
    in_log: bool
    in_note: bool = False


UserEdit: TypeAlias = EditSection | Log | Remember | Forget
Change: TypeAlias = UserEdit | Revert | Contradict | Resolve
"""The records of changes. `verb` names each in events, and its module of `verbs`, if it has one."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of a write; `op` is the operation that its commit states.

    `ended`: facts superseded without a successor. `kept`: text around a replaced one, which stays.
    `diff`: of a dry run. `warnings`: codes of `check`. `day`: the given words as an ISO date.
    `excerpt`: numbered lines around a replacement. `like`: similar facts; `ends`: it says that
    something ended; `text`: the line's words then. `forgotten`, `also`: places (PATH:LINE) removed,
    and where the words still are; `marked`: the removed ones whose lines stay in a log. `fact`: the
    fact that the write states, or that a repeated one removed before. `replaced`: the words of
    facts that another one takes the place of; of a revert, of those that go, and `restored` of
    those that come back. `proposed`: an agent's write that became part of a
    `proposal` (None: of a dry run); `taken_back`: that only removed what its actor had proposed.
    `hint`: the next step, in a door's words.
    """

    changed: bool
    path: str
    section: SectionPath
    etag: str | None
    commit: CommitId | None
    added: tuple[FactId, ...] = ()
    removed: tuple[FactId, ...] = ()
    supersedes: tuple[Supersession, ...] = ()
    diff: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    op: Op | None = None
    ended: tuple[FactId, ...] = ()
    contradicts: tuple[FactId, ...] = ()
    kept: tuple[str, ...] = ()
    day: str | None = None
    excerpt: tuple[tuple[int, str], ...] = ()
    like: tuple[LikeFact, ...] = ()
    ends: bool = False
    text: str = ""
    forgotten: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    fact: FactId | None = None
    proposed: bool = False
    proposal: str | None = None
    taken_back: bool = False
    replaced: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Make a file that is not there yet; of any name, though only Markdown is searched."""

    verb = "whole-file"

    path: str
    text: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replace words that are exactly once in a file."""

    verb = "whole-file"

    path: str
    text: str
    replacement: str
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        if not self.text:
            raise UsageProblem("the text to find is empty")


@dataclass(frozen=True, slots=True)
class InsertText:
    """Insert text after a line of a file (0: at its beginning); in a log only at its end."""

    verb = "whole-file"

    path: str
    line: int
    text: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class MovePath:
    """Move a file or folder to an unused path, or (`target` None) remove it; history keeps it."""

    path: str
    target: str | None
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        if self.target is not None and self.target.startswith(f"{self.path}/"):
            raise UsageProblem(f"{self.path} cannot be moved into itself")


WholeFileEdit: TypeAlias = CreateFile | ReplaceText | InsertText


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """The plan of a purge in numbers; `notices` say what it cannot reach or drops, without the
    words.

    `files` on disk, rewritten `commits` and `tags`, `messages` changed among these, `refs` that
    move, `loose` objects (searched only if nothing else has the words).
    """

    files: int
    commits: int
    messages: int
    tags: int
    refs: int
    signatures: int
    loose: int
    notices: tuple[str, ...]

    @property
    def has_changes(self) -> bool:
        """True if there is anything to purge in what can be reached."""
        return bool(self.files or self.commits or self.tags or self.refs or self.loose)


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """The result of a purge; `commit` is its note, None on an unborn branch."""

    plan: PurgePlan
    commit: CommitId | None
    notices: tuple[str, ...]
