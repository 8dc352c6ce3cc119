"""Memory: every verb, as one call with one argument record; its module is loaded when called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdmem import secrets
from mdmem.events import EventRecorder
from mdmem.folder.files import SYNC_NEWS
from mdmem.folder.trust import Ruling
from mdmem.model import (
    PATH_SEPARATOR,
    RUNS_NAME,
    CommitId,
    FactId,
    FilePath,
    Problem,
    SectionPath,
)
from mdmem.model.errors import FactProblem
from mdmem.model.writes import (
    Action,
    Change,
    EditSection,
    MovePath,
    Purge,
    PurgePlan,
    PurgeResult,
    Save,
    WholeFileEdit,
    WriteOptions,
    WriteResult,
)
from mdmem.startup.late import module
from mdmem.startup.records import replace
from mdmem.workspace import Progress, Say, Workspace, find_workspace, open_at, open_in, refresh

if TYPE_CHECKING:
    from datetime import datetime

    from mdmem.changes.tasks import Tasks
    from mdmem.context.given import GuardedTexts
    from mdmem.health.doctor import Finding
    from mdmem.health.wiring import HostChange
    from mdmem.index.catching_up import FreshIndex
    from mdmem.memory.figures import EventFigures
    from mdmem.memory.hooks import Hooks
    from mdmem.memory.pipeline_steps import Pipelines
    from mdmem.memory.proposals import Proposals
    from mdmem.model.history import (
        Blame,
        ChangeList,
        DayView,
        FactActivity,
        FactHistory,
        FactTrends,
        MarkdownTrends,
        SectionHistory,
        ShowBlame,
        ShowChanges,
        ShowHistory,
        ShowTrends,
        TextHistory,
    )
    from mdmem.model.pipelines import Sync, SyncResult
    from mdmem.model.prompts import BuildContext, ContextBlock, Flush, FlushPrompts, FlushResult
    from mdmem.model.proposals import ReviewResult
    from mdmem.model.reads import (
        FileList,
        FileNames,
        FoundWorkspace,
        Initialise,
        InitResult,
        ListFiles,
        MoreFacts,
        Outline,
        SectionView,
        Show,
        ShowFigures,
        WorkspaceStatus,
    )
    from mdmem.model.searches import (
        ConflictList,
        FactList,
        Hit,
        ListFacts,
        Search,
        SearchResult,
        TagCatalogue,
    )
    from mdmem.model.trail import Entry
    from mdmem.queries.folders import FolderView
    from mdmem.repo import Repository


_HOMES = {
    "revert": "changes.revert",
    "contradicts": "review.contradict",
    "conflicts-resolve": "review.contradict",
}
"""Verb → module, for those that are not the edit of one file."""


def _silent(_: str) -> None:
    pass


def _catch_up(workspace: Workspace) -> None:
    module("index.background").start_catching_up(workspace)


def _similar_entries(
    workspace: Workspace, commit: CommitId, text: str
) -> tuple[Sequence[Entry], bool]:
    found: tuple[Sequence[Entry], bool] = module("queries.correctable").similar_entries(
        workspace, commit, text
    )
    return found


def carry_out(workspace: Workspace, change: Change, say: Say) -> WriteResult:
    """Carry out one change, all of it or nothing. Raises: MdmemError."""
    result: WriteResult = (
        module(home).apply(workspace, change, say)
        if (home := _HOMES.get(change.verb))
        else module("changes.apply").apply(workspace, change, say, _similar_entries)
    )
    return result


class Memory:
    """A workspace and what can be done with it. `say` takes lines for the user during a verb.

    It may be held open for days, and used by several threads: each call sees current files.
    """

    def __init__(
        self, workspace: Workspace, say: Say = _silent, progress: Progress | None = None
    ) -> None:
        if not isinstance(workspace, Workspace):
            raise TypeError(f"to open a memory: mdmem.open({str(workspace)!r})")
        self._workspace = workspace
        self._say = say
        self._progress = progress
        self._asking: tuple[Workspace, str] | None = None
        """The workspace whose pool has this one, and the name in it."""

    @classmethod
    def open(
        cls,
        named: Path | None,
        environment: Mapping[str, str],
        say: Say = _silent,
        progress: Progress | None = None,
        *,
        any_settings: bool = False,
    ) -> Memory:
        """Open the named workspace, else that of the folder MDMEM_WORKSPACE, else of this one.

        For people: it does not ask whether the workspace is adopted. With `any_settings`, those
        that cannot be used are left out: for `examine`, which reports them.
        Raises WorkspaceProblem (`no-workspace`, `bad-settings`), RepositoryProblem
        (`not-a-repository`, `broken-repository`, `bare-repository`).
        """
        root = find_workspace(named, environment)
        return cls(open_at(root, environment, any_settings), say, progress)

    @classmethod
    def open_in(cls, repository: Repository, environment: Mapping[str, str]) -> Memory:
        """Open the workspace of a discovered repository.

        For programs, which get it from `memory/hosts`: only of a workspace that is adopted.
        Raises WorkspaceProblem (`bad-settings`).
        """
        return cls(open_in(repository, environment))

    def reading_with(self, folders: Sequence[str] | None) -> Memory:
        """The same memory, read together with these workspaces too; None: with no other."""
        added = None if folders is None else tuple(map(Path, folders))
        return Memory(replace(self._workspace, added=added), self._say, self._progress)

    def of_pool(self, name: str) -> Memory:
        """The memory of another workspace of the pool. Raises UsageProblem, WorkspaceProblem."""
        member = module("queries.pool").named(self.workspace, name)
        memory = Memory(member, self._say, self._progress)
        memory._asking = self.workspace, name
        return memory

    def close(self) -> None:
        """Release cached resources (the index); they are opened again on demand."""
        self._workspace.resources.close()

    def await_catch_up(self, seconds: float) -> None:
        """Wait, up to so many seconds, for the index update after a write of this process."""
        module("index.background").wait_for_catch_up(self._workspace, seconds)

    @property
    def workspace(self) -> Workspace:
        """The current workspace. Raises WorkspaceProblem, RepositoryProblem (no longer usable)."""
        self._workspace = refresh(self._workspace)
        return self._workspace

    @property
    def _to_write(self) -> Workspace:
        """The workspace for a write, which starts the filters of git there as `git commit` does."""
        workspace = self.workspace
        return replace(workspace, repository=workspace.repository.trusted())

    def _as_seen(self, actor: str | None = None) -> Workspace:
        workspace = self.workspace
        actor = actor or workspace.actor
        if not workspace.proposes(actor):
            return workspace
        seen: Workspace = module("proposals.rewriting").seen_by(workspace, actor)
        return seen

    def _record_event(self, verb: str, options: WriteOptions | None = None) -> EventRecorder:
        workspace = self.workspace
        actor = (options and options.actor) or workspace.actor
        session = options.session if options else None
        return EventRecorder(
            workspace.state, verb, *(name and secrets.redact(name) for name in (actor, session))
        )

    def record_call(
        self, tool: str, actor: str | None, session: str | None = None
    ) -> EventRecorder:
        """An event recorder for a door's call; verbs in the call may add events of their own."""
        return self._record_event(tool, WriteOptions(actor=actor, session=session))

    def apply(self, change: Change) -> WriteResult:
        """Carry out one change, committed when this returns. Raises MdmemError (no change)."""
        change = self._meant(change)
        result = self._write(
            change.verb,
            change.options,
            lambda: carry_out(self._to_write, change, self._say),
            change,
        )
        if not isinstance(change, EditSection) or change.action is not Action.RENAME:
            return result
        title = (change.section or "").rpartition(PATH_SEPARATOR)[2]
        links = module("lookup.links")
        notes = links.dead_after_rename(self.workspace, result.path, title) if result.commit else ()
        return replace(result, notes=(*result.notes, *notes))

    def _meant(self, request: Any) -> Any:
        return module("lookup.lookup").as_meant(self.workspace, request)

    def change_file(self, change: WholeFileEdit | MovePath) -> WriteResult:
        """Change a file of any name, or a folder: like `apply`. Raises MdmemError (no change)."""
        return self._write(
            "memory-tool",
            change.options,
            lambda: module("changes.moves").apply(self._to_write, change, self._say),
            change,
        )

    def _write(
        self,
        verb: str,
        options: WriteOptions,
        work: Callable[[], WriteResult],
        change: Change | WholeFileEdit | MovePath | None = None,
    ) -> WriteResult:
        with self._record_event(verb, options) as event, self._beside_pool(change):
            result = (
                module("review.proposing").propose_as_write(self.workspace, change, self._say)
                if self._is_proposed(options, change)
                else work()
            )
            event.done(
                result.changed and not options.dry_run,
                result.path,
                result.commit,
                result.warnings if result.commit else (),
            )
        if result.commit and not result.proposed:
            _catch_up(self.workspace)
        return result

    @contextmanager
    def _beside_pool(self, change: object) -> Iterator[None]:
        """Name the workspace of the pool whose fact or text a write has, if it has one."""
        workspace, target = self._asking or (self.workspace, None)
        if not workspace.pool:
            yield
            return
        writes = module("memory.pool_writes")
        writes.refuse_given(workspace, change, self._say, target)
        try:
            yield
        except FactProblem as problem:
            writes.name_workspace(workspace, change, problem)
            raise

    def _is_proposed(
        self, options: WriteOptions, change: Change | WholeFileEdit | MovePath | None
    ) -> bool:
        workspace = self.workspace
        actor = workspace.given_actor(options.actor)
        if not workspace.proposes(actor):
            return False
        ruling: Ruling = module("review.proposing").rule_on(workspace, change, actor)
        if ruling is Ruling.REFUSE:
            workspace.require_writer(actor)
        return ruling is Ruling.PROPOSE

    def plan_purge(self, request: Purge) -> PurgePlan:
        """Work out what a purge would change and what it cannot reach; nothing is changed.

        Raises FactProblem (`fact-not-found`, `fact-ambiguous`), TextProblem (`bad-text`),
        RefusedChange (`secret-found`), RepositoryProblem (`cannot-purge`, `repository-busy`).
        """
        request = self._meant(request)
        with (
            self._record_event(
                "plan-purge", WriteOptions(actor=request.actor, session=request.session)
            ) as event,
            self._beside_pool(request),
        ):
            plan = module("nights.digest.purging").plan_purge(self.workspace, request)
            event.done(False)
        return plan

    def purge(self, request: Purge) -> PurgeResult:
        """Remove a text from files, index and all history; it cannot be undone.

        Raises MdmemError (it was refused, or is not complete; running it again completes it).
        """
        request = self._meant(request)
        with (
            self._record_event(
                "purge", WriteOptions(actor=request.actor, session=request.session)
            ) as event,
            self._beside_pool(request),
        ):
            done = module("nights.digest.purging").run_purge(self._to_write, request, self._say)
            event.done(done.plan.has_changes, commit=done.commit)
        _catch_up(self.workspace)
        return done

    def save(self, request: Save) -> tuple[CommitId | None, tuple[FilePath, ...]]:
        """Commit pending edits as the person's, or an agent's claim; None: nothing pending.

        Raises RefusedChange (by the check), RepositoryProblem (git cannot take them now).
        """
        with self._record_event("save", WriteOptions(actor=request.actor)) as event:
            workspace = self._to_write
            workspace.require_writer(workspace.given_actor(request.actor))
            commit, paths = module("changes.pending").save(
                workspace, request.message, self._say, request.allow, request.actor
            )
            event.done(commit is not None, commit=commit)
        if commit:
            _catch_up(self.workspace)
        return commit, paths

    def sync(self, request: Sync) -> SyncResult:
        """Bring this machine and the remote of its branch together.

        Raises SyncProblem, RepositoryProblem, RefusedChange (`secret-found`); local commits are
        kept.
        """
        with self._record_event("sync", WriteOptions(dry_run=request.dry_run)) as event:
            result: SyncResult = module("sync.syncing").sync(
                self._to_write, request, self._say, self._progress
            )
            event.done(bool(result.pulled or result.pushed), commit=result.merged)
            event.measured(module("sync.syncing").figures(request, result))
        if (result.pulled or result.merged) and not request.dry_run:
            _catch_up(self.workspace)
        return result

    def sync_news(self) -> str:
        """A line on what syncs brought in since the last call, for the user; may be empty."""
        workspace = self.workspace
        if not (workspace.state / SYNC_NEWS).exists():
            return ""
        line: str = module("health.sync_status").take_news(workspace)
        return line

    def sync_if_due(self, only_unsent: bool = False, when_quiet: bool = False) -> SyncResult | None:
        """Sync by itself, if the settings say so and a try is due; else None.

        `only_unsent`: only with commits to push. `when_quiet`: wait for a moment without writes.
        Raises: as `sync`.
        """
        due = module("workspace.sync_state").find_due(self.workspace, only_unsent, when_quiet)
        return self.sync(due) if due else None

    def show(self, request: Show) -> SectionView:
        """Read a section, the first text, or a file.

        Raises PathProblem (`file-not-found`), SectionProblem (`section-not-found`,
        `section-ambiguous`).
        """
        view = module("queries.show").show_section(self._as_seen(), request)
        return self._with_signatures(view)[0]

    def _with_signatures(self, *records: Any) -> Sequence[Any]:
        """Records that name commits of this workspace, with what is known of their signatures."""
        known = self.workspace.known_signatures()
        return [
            replace(each, signed=known.of(each.commit))
            if known and getattr(each, "commit", None) and not getattr(each, "workspace", None)
            else each
            for each in records
        ]

    def show_named(self, request: Show) -> SectionView | DayView:
        """Read a section, or else the fact, file or day that the word for one means.

        Raises as `show`, and FactProblem (`fact-not-found`, `fact-ambiguous`).
        """
        request = self._meant(request)
        view = module("queries.show").show_named(self._as_seen(), request, self._say)
        return self._with_signatures(view)[0]

    def show_as_of(self, request: Show, as_of: str) -> SectionView:
        """Read a section or a whole file as it was on a day, at a moment or at a commit.

        Raises UsageProblem, HistoryProblem (`before-history`, `commit-not-found`), and as `show`.
        """
        return module("queries.versions").show_as_of(self.workspace, request, as_of, self._say)

    def look(self, path: str, actor: str | None = None) -> FolderView | str:
        """Read any file, or list a folder two levels deep ("": the root), as an actor sees it.

        Raises PathProblem (`bad-path`, `file-not-found`, `unsupported-file`).
        """
        return module("queries.folders").look(self._as_seen(actor), path)

    def outline(self, file: str | None = None) -> Outline:
        """List the sections of a file with their etags. Raises PathProblem (`file-not-found`)."""
        return module("queries.show").outline(self._as_seen(), file)

    def file_names(self) -> FileNames:
        """The names by which links can mean memory files."""
        return module("lookup.links").file_names(self.workspace)

    def files(self, request: ListFiles) -> FileList:
        """List the files of memory, most recently changed first, with their sections and facts."""
        seen = self._as_seen()
        return module("queries.file_list").list_files(seen, request, self._say, self._progress)

    def linking_to(self, path: FilePath) -> tuple[Hit, ...]:
        """The entries of other files that link to a memory file."""
        return module("queries.file_list").linking_to(self.workspace, path, self._say)

    def unsaved(self) -> tuple[FilePath, ...]:
        """The memory files with edits that are not committed."""
        return module("queries.status").unsaved_files(self.workspace)

    def search(self, request: Search) -> SearchResult:
        """Find the entries that answer a query best, in an updated index.

        Raises UsageProblem (a value out of range), WorkspaceProblem (`no-sessions` to search).
        """
        request = self._meant(request) if request.file else request
        with self._record_event("search") as event:
            workspace = self.workspace
            find = (
                module("queries.session_search").search_sessions_too
                if request.sessions
                else module("queries.search").search
            )
            result = find(workspace, request, self._say, self._progress)
            if (seen := self._as_seen()).contents is not None:
                result = module("queries.own_hits").in_search(seen, request, result)
            if request.fleet:
                result = module("fleet.asking").with_fleet(workspace, request, result)
            event.searched(module("queries.search").measure_answer(workspace, request, result))
        return result

    def context(self, request: BuildContext, without_pool: bool = False) -> ContextBlock:
        """The block for an agent's prompt, within its budget; may be empty.

        `without_pool`: the pool is not read, but named. Raises as `search`, with `as_of`.
        """
        verb = "context" if request.is_recorded else "preview-context"
        with self._record_event(verb, WriteOptions(session=request.session)) as event:
            block = module("memory.contexts").give_context(
                self.workspace, request, self._say, self._progress, without_pool
            )
            event.measured(module("memory.contexts").context_figures(request, block))
        return block

    def drop_given(
        self, texts: Sequence[str], session: str | None = None, is_summary: bool = False
    ) -> GuardedTexts:
        """The new texts; what this session was given, or memory holds, is dropped and counted."""
        with self._record_event("guard", WriteOptions(session=session)) as event:
            guarded = module("memory.contexts").drop_given(
                self.workspace, texts, session, is_summary, self._say
            )
            event.measured({"kept": len(guarded.kept), "dropped": guarded.dropped})
        return guarded

    def flush(self, request: Flush) -> FlushResult:
        """Tell whether a session is near its compaction; once a cycle, with prompts to write."""
        with self._record_event("flush", WriteOptions(session=request.session)) as event:
            result = module("memory.contexts").flush(self.workspace, request)
            event.done(result.prompts is not None)
            event.measured(module("memory.contexts").flush_figures(result))
        return result

    def flush_prompts(self) -> FlushPrompts:
        """The prompts that have a session write down what it knows; nothing is marked."""
        return module("memory.contexts").write_prompts(self.workspace)

    def facts(self, request: ListFacts) -> FactList:
        """List the facts of memory, newest first."""
        request = self._meant(request) if request.file else request
        seen = self._as_seen()
        asked = request if seen.contents is None else replace(request, limit=0, offset=0)
        listed = module("queries.search").facts(self.workspace, asked, self._say, self._progress)
        if seen.contents is not None:
            listed = module("queries.own_hits").in_facts(seen, request, listed)
        return replace(listed, facts=tuple(self._with_signatures(*listed.facts)))

    def history(self, request: ShowHistory) -> SectionHistory | FactHistory:
        """Show how a section or a fact changed; without either, of a file or of all memory.

        Raises as `show`, and PathProblem (`not-memory`), FactProblem (`fact-not-found`,
        `fact-ambiguous`).
        """
        with self._record_event("history"):
            request = self._meant(request)
            answer = module("queries.history").show_history(self.workspace, request, self._say)
            return (
                module("nights.digest.known_sessions").with_gone(self.workspace, answer)
                if answer.cites
                else answer
            )

    def section_times(
        self, file: FilePath, sections: Collection[SectionPath]
    ) -> Mapping[SectionPath, tuple[datetime, datetime]]:
        """The times of the first and the last commit of sections; without those of no commit."""
        return module("queries.history").section_times(self.workspace, file, sections, self._say)

    def successors(self, facts: Sequence[FactId]) -> Mapping[FactId, FactId]:
        """The current facts that have replaced facts which are no longer current."""
        return module("queries.history").successors(self.workspace, facts, self._say)

    def changes(self, request: ShowChanges) -> ChangeList:
        """List commits' changes of facts, newest first. Raises UsageProblem (a day is invalid)."""
        request = self._meant(request) if request.file else request
        with self._record_event("changes"):
            return module("queries.fact_changes").list_changes(self.workspace, request, self._say)

    def trends(self, request: ShowTrends) -> FactTrends:
        """Show how facts changed over the last days, from history alone."""
        with self._record_event("trends"):
            return module("queries.trends").fact_trends(self.workspace, request, self._say)

    def activity(self, request: ShowTrends) -> FactActivity:
        """Show who changed facts over the last days; cheap, also after a write."""
        with self._record_event("activity"):
            return module("queries.trends").activity(self.workspace, request, self._say)

    def blame(self, request: ShowBlame) -> Blame:
        """Name the commit that brought in each line of a section, a fact or a file.

        Raises as `show`, and PathProblem (`not-memory`), FactProblem (`fact-not-found`,
        `fact-ambiguous`).
        """
        with self._record_event("blame"):
            request = self._meant(request)
            answer = module("queries.blame").show_blame(self.workspace, request, self._say)
            return (
                module("nights.digest.known_sessions").with_gone(self.workspace, answer)
                if answer.cites
                else answer
            )

    def when(self, text: str) -> TextHistory:
        """List when sections held a text, oldest first. Raises TextProblem (`empty-text`)."""
        with self._record_event("when"):
            return module("queries.history").when(self.workspace, text, self._say)

    @property
    def proposals(self) -> Proposals:
        """The proposals, which a person decides."""
        return module("memory.proposals").Proposals(
            self.workspace, self._say, self._record_event, _catch_up
        )

    @property
    def tasks(self) -> Tasks:
        """The tasks that go on across sessions."""
        return module("changes.tasks").Tasks(
            workspace=self.workspace,
            seen_by=self._as_seen,
            read=lambda seen, task: module("queries.show").show_section(seen, task),
            say=self._say,
            find_similar=_similar_entries,
            apply=self.apply,
            write=self._write,
        )

    def review(self) -> ReviewResult:
        """Advise on what could be tidied in the curated files."""
        with self._record_event("review"):
            return module("review.advice").review(self.workspace, self._say)

    def apply_advice(self, options: WriteOptions) -> ReviewResult:
        """Carry out the advice that is safe, one commit each, and return the rest.

        Raises MdmemError (a change was refused; those before it are done).
        """
        with self._record_event("review-apply", options) as event:
            workspace = self.workspace
            workspace.require_writer(workspace.given_actor(options.actor))
            result = module("review.advice").apply_safe_advice(
                workspace, options, self.apply, self._say
            )
            event.done(bool(result.done))
        return result

    def empty_answer_notes(
        self, file: str | None = None, section: str | None = None
    ) -> tuple[str, ...]:
        """Lines for the user after an empty answer: memory may hold nothing there at all."""
        return module("queries.search").empty_answer_notes(self.workspace, file, section, self._say)

    def conflicts(self) -> ConflictList:
        """List the pairs of facts that contradict each other."""
        return module("queries.conflicts").conflicts(self.workspace, self._say, self._progress)

    def recall(
        self,
        tags: tuple[str, ...],
        limit: int = 100,
        actor: str | None = None,
        session: str | None = None,
    ) -> FactList:
        """List the facts with any of these tags, most of them first, then newest; 0: no limit."""
        request = module("model.searches").ListFacts(
            any_tags=tags, limit=0, actor=actor, session=session
        )
        return module("queries.search").best_tagged(self.facts(request), tags, limit)

    def tags(self) -> TagCatalogue:
        """List the tags, most used first."""
        return module("queries.search").tag_catalogue(self.workspace, self._say, self._progress)

    def check(self, files: tuple[str, ...] = ()) -> tuple[Problem, ...]:
        """Check memory files on disk. Raises PathProblem (`file-not-found`)."""
        show, links = module("queries.show"), module("lookup.links")
        problems = show.check_files(self.workspace, files)
        return (
            *problems,
            *links.check_links(self.workspace, show.paths_named(self.workspace, files)),
        )

    def fix_links(self, options: WriteOptions) -> tuple[str, ...]:
        """Change links to notes that git knows as renamed; a line for the user on what was done.

        Raises MdmemError (no change).
        """
        workspace, links = self.workspace, module("lookup.links")
        workspace.require_writer(workspace.given_actor(options.actor))
        renamed = links.renamed_notes(workspace)
        if not (changed := links.with_renamed_notes(workspace, renamed)):
            return ()
        edit = module("changes.verbs.links").LinksEdit(next(iter(changed)), renamed, options)
        write = module("changes.apply").apply_all
        done = self._write(
            "check", options, lambda: write(workspace, [edit], options, self._say)[0]
        )
        return (*done.notes, f"changed links to renamed notes in {', '.join(changed)}")

    def status(self) -> WorkspaceStatus:
        """Describe the workspace and how fresh its index is."""
        workspace = self.workspace
        status = module("health.sync_status").with_sync(
            workspace, module("queries.status").status(workspace)
        )
        lines = module("health.incoming").agents_changes(workspace)
        status = replace(status, notes=(*status.notes, *lines))
        if workspace.pool:
            status = replace(status, pool=module("queries.pool").described(workspace))
        settings = workspace.settings
        if settings.sessions or settings.dream == "apply" or (workspace.state / RUNS_NAME).exists():
            return self.pipelines.add_status(status)
        return status

    def more_on_branches(self) -> tuple[MoreFacts, ...]:
        """The branches with facts that this one never had, as far as that is known at once."""
        return module("queries.status").more_facts(self.workspace, as_stored=True)

    def reindex(self, full: bool = False) -> int:
        """Update or rebuild the index; the number of entries. Raises RepositoryProblem (`busy`)."""
        with self._record_event("reindex"):
            if full:
                module("index.session_messages").discard_messages(self.workspace, self._say)
            fresh: FreshIndex = module("index.catching_up").rebuild_index(
                self.workspace, full, self._say, self._progress
            )
            if full and self.workspace.settings.vectors != "off":
                module("vectors.store").drop_unknown(self.workspace, fresh.index)
            return fresh.index.finder.count

    def examine(self, fix: bool = False) -> tuple[Finding, ...]:
        """Examine the workspace and everything around it; with `fix`, repair what is safe."""
        with self._record_event("doctor") as event:
            findings = module("health.doctor").examine(
                self.workspace,
                lambda: module("index.catching_up").index_as_is(self.workspace),
                self.reindex,
                fix,
            )
            event.done(any(finding.fixed for finding in findings))
        return findings

    def date_back(self, is_right: Callable[[str], bool]) -> str:
        """Date back commits ahead of this machine's clock, if a person says that it is right.

        `is_right` gets a line on what is ahead. Returns a line on what was done, or nothing.
        """
        line: str = module("sync.witness").date_back(self._to_write, is_right, self._say)
        _catch_up(self.workspace)
        return line

    @property
    def figures(self) -> EventFigures:
        """The figures of events."""
        return module("memory.figures").EventFigures(self.workspace)

    @property
    def hooks(self) -> Hooks:
        """The hooks of git, and what installs them."""
        return module("memory.hooks").Hooks(self.workspace, self._record_event)

    @property
    def pipelines(self) -> Pipelines:
        """The pipelines, which make memory of sessions without being asked."""
        return module("memory.pipeline_steps").Pipelines(
            workspace=self.workspace,
            record_event=self._record_event,
            say=self._say,
            progress=self._progress,
            sync=self.sync_if_due,
        )


def initialise(
    request: Initialise, environment: Mapping[str, str], progress: Progress | None = None
) -> InitResult:
    """Make or adopt a workspace. Raises MdmemError (impossible there, or not now)."""
    return module("memory.outside").initialise(request, environment, progress)


def code_repository(request: Initialise, environment: Mapping[str, str]) -> Path | None:
    """The repository of code that `init` would change, where the request does not say so.

    Raises WorkspaceProblem (`not-allowed`: an agent asks).
    """
    return module("memory.outside").code_repository(request, environment)


def wire_hosts(
    host: str,
    environment: Mapping[str, str],
    undo: bool = False,
    in_project: bool = False,
    dry_run: bool = False,
) -> tuple[HostChange, ...]:
    """Set an agent's host up, or take that back. Raises WorkspaceProblem (`not-allowed`)."""
    return tuple(
        module("memory.adopting").wire_hosts(
            host, environment, undo=undo, in_project=in_project, dry_run=dry_run
        )
    )


def leave(folder: Path, environment: Mapping[str, str]) -> bool:
    """Remove a workspace from the list, if there. Raises WorkspaceProblem (`not-allowed`)."""
    return module("memory.adopting").leave(folder, environment)


def find_unadopted(
    environment: Mapping[str, str],
    progress: Progress | None = None,
) -> tuple[FoundWorkspace, ...]:
    """Find unadopted workspaces below the user's home that mdmem wrote in."""
    return tuple(module("memory.adopting").find_unadopted(environment, progress))


def adopt_found(
    workspaces: Sequence[FoundWorkspace],
    environment: Mapping[str, str],
) -> None:
    """Adopt workspaces that were found. Raises WorkspaceProblem (`not-allowed`: an agent asks)."""
    module("memory.adopting").adopt_found(workspaces, environment)


def main_author(folder: Path, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and address of the author of most of a memory, if neither the user nor an agent."""
    return module("memory.adopting").main_author(folder, environment)


def staged_problems(folder: Path, environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """Check the staged changes of memory files, in every workspace of a repository.

    Paths are from the workspace of `folder`, else from the root of the work tree.
    """
    return module("memory.commit_hooks").staged_problems_of_workspace(folder, environment)


def check_push(
    folder: Path, environment: Mapping[str, str], lines: Sequence[str]
) -> tuple[tuple[str, bool], ...]:
    """Judge updates of branches, `OLD NEW REF` each: lines on faults, and True if one refuses.

    The repository may be bare. Raises UsageProblem, WorkspaceProblem, RepositoryProblem.
    """
    return tuple(dict.fromkeys(module("memory.pushes").check_push(folder, environment, lines)))


def install_server_hook(folder: Path) -> Path:
    """Install the hook that judges pushes. Raises RepositoryProblem (`hooks-managed`)."""
    return Path(module("memory.pushes").install_hook(folder))


def markdown_trends(
    folder: Path, request: ShowFigures, environment: Mapping[str, str]
) -> MarkdownTrends:
    """The Markdown of any repository over time, from git alone; of a workspace its facts too.

    Where mdmem was never used, nothing is written.
    """
    workspace = module("memory.figures").used_workspace(folder, environment)
    kept = None if workspace is None else workspace.state / "lines.json"
    found = module("queries.trends").markdown_trends(folder, request, environment, kept)
    if workspace is None:
        return found
    days = module("memory.figures").days_of(workspace, request)
    return replace(found, facts=Memory(workspace).trends(days))


__all__ = [
    "Memory",
    "adopt_found",
    "check_push",
    "code_repository",
    "find_unadopted",
    "find_workspace",
    "initialise",
    "install_server_hook",
    "leave",
    "markdown_trends",
    "staged_problems",
]
