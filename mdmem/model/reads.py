"""Arguments and results of the verbs that set up and read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path

from mdmem.model import CommitId, FactId, FilePath, OtherReading, SectionPath, Signature
from mdmem.model.errors import UsageProblem, field, number_of
from mdmem.model.rules import require_range
from mdmem.startup.records import dataclass

_MAX_WEEKS = 520
_MAX_FILES, _MAX_OFFSET = 200, 1_000_000_000


@dataclass(frozen=True, slots=True)
class Initialise:
    """Make or adopt a workspace in `folder`; None: MDMEM_WORKSPACE, else the current folder.

    `agents` is the file that gets mdmem's instructions, `no_agents` the one that loses them.
    `shared`: commit the merge attributes, for every clone. `project`: a folder that the workspace
    is to be the memory of; then `folder` may be an address to clone, and None is a new folder.
    `here`: in this very folder, be it code, the home, served by another memory, or although its
    memory was removed. `dry_run`: write nothing; the result is what would be done.
    """

    folder: str | None = None
    hooks: bool = True
    agents: str | None = None
    no_agents: str | None = None
    shared: bool = False
    project: str | None = None
    here: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        if self.here and self.project is not None:
            raise UsageProblem(f"{field('here')} and {field('outside')} exclude each other")
        if self.agents is not None and self.no_agents is not None:
            raise UsageProblem(f"{field('agents')} and {field('no_agents')} exclude each other")


@dataclass(frozen=True, slots=True)
class InitResult:
    """The result of `init`: files written, their commit, hooks installed, lines for the user.

    `took_out` is the file that mdmem's instructions to agents were removed from; `merging` is what
    was written so that git merges memory with mdmem: `settings`, `attributes`, `shared attributes`.
    `adopted`: agents are served the workspace; `newly_adopted`: an old workspace, since now.
    `project`: the folder whose memory it is now. `planned`: of a dry run, so nothing was done.
    """

    workspace: Path
    made_repository: bool
    written: tuple[FilePath, ...]
    commit: CommitId | None
    hooks: tuple[str, ...]
    notes: tuple[str, ...]
    took_out: FilePath | None = None
    merging: tuple[str, ...] = ()
    adopted: bool = True
    newly_adopted: bool = False
    project: Path | None = None
    planned: bool = False


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """A workspace below the user's home with commits of mdmem, not adopted yet.

    `last_change` is an author, or empty. `own`: all these commits have the user's addresses.
    """

    path: str
    own: bool
    last_change: str


@dataclass(frozen=True, slots=True)
class SetupFindings:
    """The findings of `setup`.

    - `folder`: of the workspace that is there (`is_there`), or of the one to be made.
    - `project`: the repository of code whose memory that will be; None: it is for everything.
    - `hosts`: installed, and without a part of mdmem.
    - `sessions`: each client's number of the last days.
    """

    is_there: bool
    folder: Path
    project: Path | None
    everything: bool
    hosts: tuple[str, ...]
    sessions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SetupAnswers:
    """The steps of `setup`; `folder` None is the one found, `nights` as the setting `dream`."""

    folder: str | None
    hosts: tuple[str, ...]
    reads: bool
    nights: str


@dataclass(frozen=True, slots=True)
class SaidFact:
    """A fact in a block, with the line of a session where it was said."""

    text: str
    cited: str


@dataclass(frozen=True, slots=True)
class SetupResult:
    """The next session's block, where its lines come from, a fact to ask for, open proposals."""

    workspace: str
    block: str
    lines: tuple[SaidFact, ...]
    example: str | None
    proposals: int


@dataclass(frozen=True, slots=True)
class Show:
    """Read a section, the text before the first heading (`preamble`), or a whole file (neither).

    For `show_named`, `section` may also be a fact (text, key, id), a file or a day.
    """

    file: str | None = None
    section: str | None = None
    nth: int | None = None
    preamble: bool = False

    def __post_init__(self) -> None:
        if self.section is not None and self.preamble:
            raise UsageProblem(f"show takes a section or {field('preamble')}")


@dataclass(frozen=True, slots=True)
class ShowFigures:
    """Ask for figures over the last so many weeks, the one under way included."""

    weeks: int = 12

    def __post_init__(self) -> None:
        require_range("weeks", self.weeks, 1, _MAX_WEEKS)


@dataclass(frozen=True, slots=True)
class SectionView:
    """One section: `text` is its own without the heading; lines are inclusive.

    Of a `fact` it is the list item, with the commit that added it. `also`: other meanings. `said`:
    lines of facts from before `as_of` that none of `commits` has.
    """

    path: str
    section: SectionPath
    level: int
    text: str
    etag: str
    tree_etag: str
    start_line: int
    end_line: int
    commit: CommitId | None
    uncommitted: bool
    subsections: tuple[SectionPath, ...]
    fact: FactId | None = None
    also: tuple[OtherReading, ...] = ()
    as_of: str | None = None
    commits: tuple[CommitId, ...] = ()
    said: tuple[str, ...] = ()
    signed: Signature | None = None


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One section in a file's outline; `lines` counts its own lines, heading included."""

    section: SectionPath
    level: int
    line: int
    etag: str
    lines: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a file in their order."""

    path: str
    sections: tuple[OutlineRow, ...]


@dataclass(frozen=True, slots=True)
class FileNames:
    """Files by their paths and names without ending and case, and by titles and aliases.

    A name that two files have means none of them.
    """

    by_path: Mapping[str, FilePath]
    by_alias: Mapping[str, FilePath]

    def find(self, name: str) -> FilePath | None:
        """The file that a name means: a path, a name, then a title or an alias."""
        folded = fold_name(name)
        return self.by_path.get(folded) or self.by_alias.get(folded)


def fold_name(name: str) -> str:
    """A path or a name without case and the ending of Markdown files."""
    return name.strip().casefold().removesuffix(".md")


@dataclass(frozen=True, slots=True)
class ListFiles:
    """List the files of memory, most recently changed first; `offset`: so many are left out before.

    `without_logs` leaves out daily logs. `first`: a file that comes before all others.
    """

    limit: int = 20
    offset: int = 0
    without_logs: bool = False
    first: FilePath | None = None

    def __post_init__(self) -> None:
        require_range("limit", self.limit, 1, _MAX_FILES)
        require_range("offset", self.offset, 0, _MAX_OFFSET)


@dataclass(frozen=True, slots=True)
class SectionCount:
    """A section and the current facts in its own text."""

    section: SectionPath
    level: int
    facts: int


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file: `title` is its front matter's, else its first heading, else empty.

    `facts` counts those before the first heading too. `changed` is when it was last committed, or
    saved since; None where only a proposal has it. A file that cannot be read has no sections.
    """

    path: FilePath
    title: str
    sections: tuple[SectionCount, ...]
    facts: int
    changed: datetime | None


@dataclass(frozen=True, slots=True)
class FileList:
    """Files of memory, and how many there are; `stale`: the index could not be updated."""

    files: tuple[FileRow, ...]
    total: int
    stale: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SilentStep:
    """A step that has found nothing since a time, in so many bytes of new transcripts."""

    step: str
    since: datetime
    size: int


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """A transcript with lines that were skipped: how many, the first of them, and why."""

    path: str
    count: int
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The state of the model that reads sessions.

    - `tokens_used`, `tokens_a_day`: today's, and the limit. `waiting`: sessions not asked about
      yet.
    - `given_up`: sessions partly read by rules, since it did not answer.
    - `last_outcome`, `last_time`: of the last request.
    """

    tokens_used: int
    tokens_a_day: int
    waiting: int
    given_up: int
    last_outcome: str | None = None
    last_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """The state of the pipelines.

    - `last_*`: of the last step; None where none was.
    - `unread`: sessions unread and without messages for over 20 days; `oldest_*`: of the first.
    - `model`: None where rules alone read sessions.
    - `dreamt`: the last day that was dreamt; None where none is known.
    - `open_days`: past days with logs that no dream has read, oldest first.
    """

    last_step: str | None
    last_run: str | None
    last_time: datetime | None
    last_outcome: str | None
    unread: int
    oldest_unread: str | None
    oldest_time: datetime | None
    silent: tuple[SilentStep, ...]
    skipped: tuple[SkippedPart, ...]
    model: ModelStatus | None = None
    dreamt: date | None = None
    open_days: tuple[date, ...] = ()


@dataclass(frozen=True, slots=True)
class UnreadableProposal:
    """A proposal whose branch git cannot read, what git said, and the next step."""

    id: str
    branch: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The number of proposals that wait for a person, and since when the oldest one does."""

    proposals: int = 0
    since: datetime | None = None
    unreadable: tuple[UnreadableProposal, ...] = ()


@dataclass(frozen=True, slots=True)
class MoreFacts:
    """A branch with facts that the history of this one never had."""

    branch: str
    count: int

    @property
    def line(self) -> str:
        """The line for the user."""
        return f"{self.branch}: {number_of(self.count, 'fact')} more"


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """Entries with a vector of a model (`rows`), and current ones that have none yet."""

    rows: int
    missing: int
    model: str


@dataclass(frozen=True, slots=True)
class WorkspaceStatus:
    """The state of a workspace and its index.

    `files` counts memory files by kind, `paths` matches of each glob. `pipelines` is None where no
    session is digested, `sync` where there was none. `adopted`: agents are served.
    `conflicts`: path and line of each set of conflict markers in an uncommitted file.
    `branches`: others with more facts. `pool`: the workspaces that agents see besides: name,
    folder, and why it cannot be read. `vectors`: None where they are off.
    """

    workspace: str
    branch: str | None
    commit: CommitId | None
    files: Mapping[str, int]
    paths: Mapping[str, int]
    other_markdown: int
    uncommitted: tuple[FilePath, ...]
    skipped: tuple[tuple[str, str], ...]
    entries: int
    indexed_commit: CommitId | None
    current: bool
    hooks: Mapping[str, str]
    notes: tuple[str, ...]
    pipelines: PipelineStatus | None = None
    sync: str | None = None
    waiting: Waiting = Waiting()
    adopted: bool = True
    branches: tuple[MoreFacts, ...] = ()
    pool: tuple[tuple[str, str, str], ...] = ()
    vectors: VectorStatus | None = None
    conflicts: tuple[tuple[FilePath, int], ...] = ()
