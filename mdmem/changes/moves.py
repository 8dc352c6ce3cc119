"""Write whole files, and move or remove files and folders: in one commit, or nothing at all."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from mdmem import repo
from mdmem.changes.apply import apply_all
from mdmem.changes.commit_notes import complete_options, with_provenance
from mdmem.changes.pending import commit_pending_edits
from mdmem.changes.recover import (
    Contents,
    Transaction,
    WriteSteps,
    clear_bits,
    commit_order,
    digests_of,
    discard,
    holds,
    lock_workspace,
    moved,
    not_put_back,
    read_contents,
    recover,
)
from mdmem.changes.verbs import foundations, require_writable
from mdmem.editors.whole_file import append_only, first_line_of, missing
from mdmem.folder import files, journal, layout
from mdmem.folder.journal import CommitStep, Journal, Rename
from mdmem.model import SETTINGS_NAME, CommitId, FileKind, FilePath, Op, Provenance
from mdmem.model.errors import PathProblem, RepositoryProblem
from mdmem.model.writes import (
    CreateFile,
    MovePath,
    ReplaceText,
    WholeFileEdit,
    WriteOptions,
    WriteResult,
)
from mdmem.past.messages import CommitNote, compose_message, quoted_line
from mdmem.repo import commits
from mdmem.repo.worktree import ignored, read_bits
from mdmem.startup.records import dataclass, replace
from mdmem.text import check
from mdmem.text.facts import items
from mdmem.workspace import Say, Workspace

_LINES_AROUND = 2


@dataclass(frozen=True, slots=True)
class _MovePlan:
    path: FilePath
    target: FilePath | None
    contents: Contents

    def below(self, start: FilePath) -> tuple[FilePath, ...]:
        return tuple(FilePath(f"{start}/{inner}" if inner else start) for inner in self.contents)


def move(workspace: Workspace, change: MovePath, say: Say) -> WriteResult:
    """Raises: PathProblem (`file-not-found`, `file-exists`, `bad-path`, `ignored-path`),
    SectionProblem (`append-only`), MdmemError; nothing is changed then.
    """
    options = complete_options(workspace, change.options)
    with lock_workspace(workspace, say), Transaction() as transaction:
        recover(workspace, say)
        plan = _plan(workspace, change, options)
        workspace.require_ready()
        warnings = _warnings(workspace, plan, options)
        commit = _Move(workspace, plan, options, transaction.begin_write()).run()
    return WriteResult(
        changed=True,
        path=plan.target or plan.path,
        section=(),
        etag=None,
        commit=commit,
        warnings=warnings,
        op=Op.MEMORY_TOOL,
    )


def _plan(workspace: Workspace, change: MovePath, options: WriteOptions) -> _MovePlan:
    root, path = workspace.root, layout.parse_any_path(change.path)
    target = layout.parse_any_path(change.target) if change.target is not None else None
    if target is not None and files.identity(str(root / target)):
        raise PathProblem("file-exists", f"{target} already exists")
    if not files.identity(str(root / path)):
        raise missing(path)
    for each in (path, *([target] if target else [])):
        files.path_on_disk(root, each, may_be_folder=True)
        require_writable(workspace, each)
    plan = _MovePlan(path, target, read_contents(root, path))
    _refuse_unmovable(workspace, plan, options)
    data = plan.contents.values()
    gone = [(old, text, None) for old, text in zip(plan.below(path), data, strict=True)]
    news = plan.below(target) if target is not None else ()
    come = [(new, None, text) for new, text in zip(news, data, strict=False)]
    workspace.require_permitted(options.actor, [*gone, *come])
    return plan


def _refuse_unmovable(workspace: Workspace, plan: _MovePlan, options: WriteOptions) -> None:
    olds = plan.below(plan.path)
    news = plan.below(plan.target) if plan.target is not None else olds
    made = () if plan.target is None else (plan.target, *news)
    for path in (plan.path, *olds, *made):
        layout.require_no_host_file(path)
    for path in made:
        layout.require_no_mark(path)
    for path in (*olds, *news):
        if workspace.kind_of(path) is FileKind.DAILY:
            raise append_only(path)
    if plan.path == workspace.curated and not (workspace.root / SETTINGS_NAME).exists():
        raise PathProblem(
            "bad-path",
            f"{plan.path} is what makes this folder a workspace",
            f"Create {SETTINGS_NAME} there first.",
        )
    if ignored_paths := sorted(ignored(workspace.root, olds)):
        raise PathProblem(
            "ignored-path",
            f"{ignored_paths[0]} is ignored by .gitignore",
            "Remove the rule or the file.",
        )
    problems = [*check.secrets_in_options(options)]
    if plan.target is not None:
        for old, new, data in zip(olds, news, plan.contents.values(), strict=True):
            problems += check.find_errors(
                new, data, data, layout.guarded_kind(new, workspace.kind_of(new)), renamed_from=old
            )
    check.refuse_errors(problems, options.allow)


def _warnings(workspace: Workspace, plan: _MovePlan, options: WriteOptions) -> tuple[str, ...]:
    if plan.target is not None or not foundations.own_foundation(workspace, options).may_be_weaker:
        return ()
    for path, data in zip(plan.below(plan.path), plan.contents.values(), strict=True):
        if workspace.kind_of(path).is_memory:
            with suppress(PathProblem):  # what cannot be read holds no facts
                document = workspace.parse(path, data)
                listed = items(document)
                standing = foundations.find_foundations(workspace, path, document, listed, options)
                if any(map(standing.is_better, listed)):
                    return ("weaker-source",)
    return ()


class _Move:
    def __init__(
        self, workspace: Workspace, plan: _MovePlan, options: WriteOptions, steps: WriteSteps
    ) -> None:
        self._workspace = workspace
        self._plan = plan
        self._actor = options.actor
        self._steps = steps
        folder = plan.path.rpartition("/")[0]
        temporary = FilePath(f"{folder}/{files.temporary_name()}".removeprefix("/"))
        self._rename = Rename(
            path=plan.path,
            target=temporary if plan.target is None else plan.target,
            is_removal=plan.target is None,
            digests=digests_of(plan.contents),
        )
        then = CommitStep(_message(workspace, plan, options), repo.raw_date(workspace.now()))
        self._order = commit_order(workspace, moved(self._rename), then)
        self._journal = Journal((self._rename,), then)
        self._journal_path = workspace.state / journal.WRITE_NAME
        self._parent: CommitId | None = None
        self._commit: CommitId | None = None

    def run(self) -> CommitId | None:
        """Return the commit, or None where a folder without files was moved."""
        order, is_indexed = self._order, True
        self._commit_pending()
        self._put_in_place()
        if self._rename.digests:
            self._steps.add(self._undo_commit)
            try:
                committed = commits.commit(self._workspace.repository, order)
            except BaseException:
                self._commit = commits.commit_made_after(
                    self._workspace.repository, self._parent, order.paths, order.message
                )
                raise
            self._commit, is_indexed = committed.id, committed.is_indexed
        self._steps.keep()
        # The move is done; if the disk fails now, the next command settles it by the journal.
        with suppress(OSError):
            if self._rename.is_removal:
                discard(self._workspace.root, self._rename)
            if is_indexed:
                journal.drop(self._journal_path)
        return self._commit

    def _commit_pending(self) -> None:
        workspace, repository, order = self._workspace, self._workspace.repository, self._order
        for path, bits in read_bits(repository.folder, order.paths).items():
            clear_bits(repository, path, bits, self._steps)
        self._parent = repository.head()
        for path in repository.pending():
            if layout.within(path, order.paths):
                state = repository.state(path)
                its_order = replace(order, paths=(path,))
                data = files.read(workspace.root / path)
                if pending := commit_pending_edits(
                    workspace, data, state, its_order, frozenset(), self._actor
                ):
                    self._steps.add(partial(pending.undo, repository, path, self._parent))
                    self._parent = pending.id

    def _put_in_place(self) -> None:
        root, rename = self._workspace.root, self._rename
        source, target = root / rename.path, root / rename.target
        self._steps.add(partial(self._put_back, files.make_folders(target.parent)))
        journal.save(self._journal_path, self._journal)
        if not files.move(source, target):
            raise PathProblem("file-exists", f"{rename.target} already exists")
        if not holds(root, rename.target, rename.digests):
            raise RepositoryProblem(
                "busy",
                f"{rename.path} was saved by another program meanwhile",
                "Check it and try again.",
            )

    def _put_back(self, folders: tuple[Path, ...], problem: BaseException) -> bool:
        """Restore the old name, then drop the journal; it stays for recovery if the disk fails."""
        root, rename = self._workspace.root, self._rename
        try:
            if not files.identity(str(root / rename.path)) and files.identity(
                str(root / rename.target)
            ):
                files.move(root / rename.target, root / rename.path)
            for folder in reversed(folders):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
            journal.drop(self._journal_path)
            commits.renew_index(self._workspace.repository, moved(rename))
        except OSError as failure:
            raise not_put_back(problem, [rename.path], failure) from problem
        return True

    def _undo_commit(self, _: BaseException) -> bool:
        """Remove the commit, unless somebody built on it: then the move stays too."""
        return self._commit is None or commits.withdraw(
            self._workspace.repository, self._commit, self._parent
        )


def _message(workspace: Workspace, plan: _MovePlan, options: WriteOptions) -> str:
    note = CommitNote(
        op=Op.MEMORY_TOOL, path=plan.target or plan.path, section=(), provenance=Provenance()
    )
    text = (
        b"\n".join(plan.contents.values()).decode("utf-8", "replace") if plan.target is None else ""
    )
    message = compose_message(with_provenance(workspace, note, options), (text, ""))
    if plan.target is None:
        return message
    subject, _, rest = message.partition("\n\n")
    return f"{subject}\n\nMoved from {quoted_line(plan.path)}.\n\n{rest}"


def apply(workspace: Workspace, change: WholeFileEdit | MovePath, say: Say) -> WriteResult:
    """Raises: PathProblem (`bad-path`, `file-exists`, `file-not-found`, `is-folder`)."""
    if isinstance(change, MovePath):
        return move(workspace, change, say)
    path = require_possible(workspace, change)
    (result,) = apply_all(workspace, [change], change.options, say)
    return (
        replace(result, excerpt=_excerpt(workspace, path, change, result))
        if isinstance(change, ReplaceText)
        else result
    )


def require_possible(workspace: Workspace, change: WholeFileEdit) -> FilePath:
    """Raises: PathProblem (`bad-path`, `file-not-found`, `file-exists`, `is-folder`)."""
    path = layout.parse_any_path(change.path)
    layout.require_no_host_file(path)
    if isinstance(change, CreateFile):
        layout.require_no_mark(path)
    _require_kind(workspace, path, change)
    return path


def _require_kind(workspace: Workspace, path: FilePath, change: WholeFileEdit) -> None:
    full_path = workspace.root / path
    is_new = isinstance(change, CreateFile)
    if (
        not is_new
        and files.identity(str(full_path)) is None
        and (workspace.contents is None or workspace.contents.read(path) is None)
    ):
        raise missing(path)
    if full_path.is_dir() and not full_path.is_symlink():
        raise PathProblem("file-exists" if is_new else "is-folder", f"{path} is a folder")


def _excerpt(
    workspace: Workspace, path: FilePath, change: ReplaceText, result: WriteResult
) -> tuple[tuple[int, str], ...]:
    after = before = files.read(workspace.root / path)
    if result.commit is not None:
        repository = workspace.repository
        before, after = repository.blobs(
            [
                f"{commit}:{repository.prefix}{path}"
                for commit in (f"{result.commit}^", result.commit)
            ]
        )
    line = first_line_of((before or b"").decode("utf-8", "replace"), change.text)
    lines = (after or b"").decode("utf-8", "replace").split("\n")
    return tuple(enumerate(lines, 1))[max(0, line - _LINES_AROUND) : line + _LINES_AROUND + 1]
