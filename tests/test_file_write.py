"""One plan on its way to disk and git: what is on the disk while git commits, and how all of it is
undone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import NOW, SEED, Desk, code_of, desk, refused

from mdmem.changes import file_write
from mdmem.changes.apply import change_note
from mdmem.changes.file_write import Plan, Retry, WrittenChange
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import Transaction
from mdmem.changes.verbs import FileEdit, target_path
from mdmem.editors import EditResult
from mdmem.folder import files, journal
from mdmem.model import CommitId, FilePath, Op
from mdmem.model.errors import RepositoryProblem
from mdmem.model.writes import Action, EditSection, Remember, WriteOptions
from mdmem.past.messages import compose_message
from mdmem.repo import commits
from mdmem.repo.runner import GitResult
from mdmem.repo.worktree import ASSUME_UNCHANGED, SKIP_WORKTREE
from mdmem.text.document import parse
from mdmem.workspace import Workspace

OTHER, OLD_OTHER, NEW_OTHER = (
    "memory/a.md",
    "# A\n\n- lives in Rome\n- plays chess\n",
    "# A\n\n- plays chess\n",
)
OF_BOTH = Remember(
    "lives in Paris", section="Home", options=WriteOptions(supersedes="lives in Rome")
)
NEW = SEED + "- lives in Paris\n"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = desk(world, repository)
    at.write(OTHER, OLD_OTHER)
    at.commit("other")
    at.workspace.ensure_state()
    return at


def plan_of(path: str, before: str | None, after: str, root: Path = Path("/nowhere")) -> Plan:
    return Plan(
        path=FilePath(path),
        full_path=root / path,
        before=None if before is None else before.encode(),
        old=None if before is None else parse(before),
        new=parse(after),
        edit=EditResult(text=after, op=Op.APPEND, section=()),
    )


def message_of(workspace: Workspace, plan: Plan, edit: FileEdit) -> str:
    texts = ((each.old.text if each.old else "", each.edit.text) for each in plan.files)
    return compose_message(change_note(workspace, plan, edit), *texts)


def write(
    workspace: Workspace, edit: FileEdit, transaction: Transaction, plan: Plan | None = None
) -> WrittenChange | Retry:
    plan = plan or plan_edit(workspace, edit, target_path(workspace, edit))
    return file_write.write_plan(
        workspace, plan, message_of(workspace, plan, edit), frozenset(), transaction.begin_write()
    )


def fail_later(transaction: Transaction) -> None:
    """Let a transaction end by a failure after its writes."""
    transaction.__exit__(ValueError, ValueError("later"), None)


def failing(
    monkeypatch: pytest.MonkeyPatch, save: Callable[[], object], code: str = "commit-failed"
) -> None:
    """Let git fail to commit, after somebody has saved something."""

    def fail(*_: object) -> commits.Committed:
        save()
        raise RepositoryProblem(code, "no")

    monkeypatch.setattr(commits, "commit", fail)


def test_what_is_on_the_disk_while_git_commits(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, records, prepared = at.workspace, [], []
    plan = plan_edit(workspace, OF_BOTH, FilePath("MEMORY.md"))
    put = files.replace

    def replaced(
        path: Path, data: bytes, expected: bytes | None, temporary: str, is_prepared: bool = False
    ) -> bool:
        prepared.append(
            (path.name, is_prepared, sorted(each.parent.name for each in at.root.rglob("*.tmp")))
        )
        return put(path, data, expected, temporary, is_prepared)

    monkeypatch.setattr(files, "replace", replaced)
    done = file_write.write_plan(
        workspace,
        plan,
        message_of(workspace, plan, OF_BOTH),
        frozenset(),
        Transaction().begin_write(),
        lambda: records.append(
            (
                journal.load(workspace.state / journal.WRITE_NAME),
                at.read("MEMORY.md"),
                at.read(OTHER),
            )
        ),
    )
    assert done == WrittenChange(at.head())
    ((record, first, second),) = records
    assert (first, second) == (NEW, NEW_OTHER)
    digests = [files.digest(text.encode()) for text in (SEED, NEW, OLD_OTHER, NEW_OTHER)]
    assert record is not None
    assert [(step.path, step.before, step.after) for step in record.files] == [
        ("MEMORY.md", *digests[:2]),
        (OTHER, *digests[2:]),
    ]
    assert record.then.message == at.git("log", "-1", "--format=%B").rstrip("\n") + "\n"
    assert prepared == [("MEMORY.md", False, ["memory"]), ("a.md", True, ["memory"])]
    assert journal.load(workspace.state / journal.WRITE_NAME) is None


def test_the_message_of_a_new_file_quotes_it_alone(at: Desk) -> None:
    edit = EditSection("B", Action.BODY, "- swims", file="memory/b.md", create=True)
    write(at.workspace, edit, Transaction())
    quoted = [
        line for line in at.git("log", "-1", "--format=%B").splitlines() if line[:2] in ("+ ", "- ")
    ]
    assert quoted == ["+ ## B", "+ swims"]


@pytest.mark.parametrize("bit", [None, "--assume-unchanged"])
def test_a_write_that_is_followed_by_a_failure_is_undone(at: Desk, bit: str | None) -> None:
    if bit:
        at.git("update-index", bit, "MEMORY.md", OTHER)
    else:
        at.write("MEMORY.md", SEED.replace("Stripe", "Acme"))
        at.write(OTHER, OLD_OTHER + "- mine\n")
    before, bits = at.tree_state(), at.git("ls-files", "-v")
    transaction = Transaction()
    done = write(at.workspace, OF_BOTH, transaction)
    assert isinstance(done, WrittenChange)
    assert done.pending == (() if bit else ("MEMORY.md", OTHER))
    assert at.git("ls-files", "-v") == bits
    fail_later(transaction)
    assert at.tree_state() == before
    assert at.git("ls-files", "-v") == bits
    assert journal.load(at.workspace.state / journal.WRITE_NAME) is None


@pytest.mark.parametrize("theirs", ["", "- theirs\n"])
def test_a_file_that_was_saved_since_it_was_read(
    at: Desk, monkeypatch: pytest.MonkeyPatch, theirs: str
) -> None:
    before, put = at.tree_state(), files.replace

    def overtaken(path: Path, *rest: object) -> bool:
        if path.name == "a.md" and theirs:
            at.write("MEMORY.md", NEW + theirs)
        return path.name != "a.md" and put(path, *rest)

    transaction = Transaction()
    plan = plan_edit(at.workspace, OF_BOTH, FilePath("MEMORY.md"))
    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", overtaken)
        assert write(at.workspace, OF_BOTH, transaction, plan) == Retry(overtaken=False)
    assert at.read("MEMORY.md") == SEED + theirs
    assert theirs or at.tree_state() == before
    assert not list(at.root.rglob("*.tmp"))
    assert journal.load(at.workspace.state / journal.WRITE_NAME) is None
    at.write("MEMORY.md", NEW)
    fail_later(transaction)
    assert at.read("MEMORY.md") == NEW


def test_what_somebody_has_built_on_stays(at: Desk) -> None:
    transaction = Transaction()
    write(at.workspace, OF_BOTH, transaction)
    at.git("commit", "-q", "--allow-empty", "-m", "theirs")
    fail_later(transaction)
    assert (at.read("MEMORY.md"), at.read(OTHER), at.subjects()[0]) == (NEW, NEW_OTHER, "theirs")


def interrupting(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let a commit be interrupted once git has made it: the one after so many others."""
    commit, calls = commits.commit, []

    def interrupted(*arguments: Any) -> commits.Committed:
        done = commit(*arguments)
        calls.append(done)
        if len(calls) > after:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(commits, "commit", interrupted)


def test_interrupted_while_the_second_pending_edit_is_committed(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.write("MEMORY.md", SEED.replace("Stripe", "Acme"))
    at.write(OTHER, OLD_OTHER + "- mine\n")
    before, transaction = at.tree_state(), Transaction()
    interrupting(monkeypatch, after=1)
    with pytest.raises(KeyboardInterrupt):
        write(at.workspace, OF_BOTH, transaction)
    fail_later(transaction)
    assert at.tree_state() == before


def test_interrupted_and_built_on(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    transaction = Transaction()
    interrupting(monkeypatch, after=0)
    with pytest.raises(KeyboardInterrupt):
        write(at.workspace, OF_BOTH, transaction)
    at.git("commit", "-q", "--allow-empty", "-m", "theirs")
    fail_later(transaction)
    assert (at.read("MEMORY.md"), at.read(OTHER), at.subjects()[0]) == (NEW, NEW_OTHER, "theirs")


def test_git_fails(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    before, transaction = at.tree_state(), Transaction()
    failing(monkeypatch, lambda: None)
    with pytest.raises(RepositoryProblem):
        write(at.workspace, OF_BOTH, transaction)
    assert journal.load(at.workspace.state / journal.WRITE_NAME) is not None
    fail_later(transaction)
    assert at.tree_state() == before
    assert journal.load(at.workspace.state / journal.WRITE_NAME) is None


def test_git_fails_where_somebody_saved_over_one_of_two_files(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = OLD_OTHER + "- theirs\n"
    failing(monkeypatch, lambda: at.write(OTHER, theirs))
    retry = write(at.workspace, OF_BOTH, Transaction())
    assert isinstance(retry, Retry)
    assert (retry.overtaken, retry.problem is not None, at.read("MEMORY.md"), at.read(OTHER)) == (
        True,
        True,
        SEED,
        theirs,
    )
    assert journal.load(at.workspace.state / journal.WRITE_NAME) is None


def test_hooks_take_too_long_and_somebody_saved_over_the_file(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, lambda: at.write(OTHER, OLD_OTHER), "hook-timeout")
    assert code_of(lambda: write(at.workspace, OF_BOTH, Transaction())) == "hook-timeout"


def test_saves_on_top_of_two_files_are_a_commit_each(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, paths = commits.run, ["MEMORY.md", OTHER]

    def overtaken(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
        while "commit" in arguments and paths:
            path = paths.pop()
            at.write(path, at.read(path) + "- theirs\n")
        return run(folder, arguments, *rest, **named)

    monkeypatch.setattr(commits, "run", overtaken)
    done = write(at.workspace, OF_BOTH, Transaction())
    assert isinstance(done, WrittenChange)
    assert (done.commit, done.saved) == (
        at.git("rev-parse", "HEAD~2").strip(),
        ("MEMORY.md", OTHER),
    )
    assert at.subjects()[:3] == [
        f"{OTHER}: edited by hand",
        "MEMORY.md: edited by hand",
        "MEMORY.md: remember Home",
    ]


CONFLICT = "<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n"


def test_a_save_on_top_that_may_not_be_committed_stays_pending(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, saves = commits.run, [NEW + CONFLICT]

    def overtaken(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
        if "commit" in arguments and saves:
            at.write("MEMORY.md", saves.pop())
        return run(folder, arguments, *rest, **named)

    monkeypatch.setattr(commits, "run", overtaken)
    done = write(at.workspace, OF_BOTH, Transaction())
    assert isinstance(done, WrittenChange)
    assert (done.commit, done.saved) == (at.git("rev-parse", "HEAD").strip(), ())
    assert at.git("show", "HEAD:MEMORY.md") == NEW
    assert at.read("MEMORY.md") == NEW + CONFLICT


def saving(at: Desk, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Have a text saved to MEMORY.md just before git reads it."""
    run = commits.run

    def overtaken(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
        if "commit" in arguments:
            at.write("MEMORY.md", text)
        return run(folder, arguments, *rest, **named)

    monkeypatch.setattr(commits, "run", overtaken)


def test_a_save_over_one_of_two_files_is_planned_on_again(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = SEED + "- theirs\n"
    saving(at, monkeypatch, theirs)
    assert write(at.workspace, OF_BOTH, Transaction()) == Retry(overtaken=True)
    assert (at.read("MEMORY.md"), at.read(OTHER), at.subjects()[0]) == (theirs, OLD_OTHER, "other")


def test_a_save_on_top_stays_in_a_commit_that_somebody_has_built_on(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    saving(at, monkeypatch, NEW + "- theirs\n")
    replace_commit = commits.replace_commit

    def built_on(*arguments: Any) -> CommitId | None:
        at.git("commit", "-q", "--allow-empty", "-m", "theirs")
        return replace_commit(*arguments)

    monkeypatch.setattr(commits, "replace_commit", built_on)
    done = write(at.workspace, OF_BOTH, Transaction())
    assert done == WrittenChange(CommitId(at.git("rev-parse", "HEAD~").strip()))
    assert at.subjects()[:2] == ["theirs", "MEMORY.md: remember Home"]
    assert at.git("status", "--porcelain") == ""


def test_pending_edits_of_the_second_file_alone(at: Desk) -> None:
    at.write(OTHER, OLD_OTHER + "- mine\n")
    done = write(at.workspace, OF_BOTH, Transaction())
    assert isinstance(done, WrittenChange)
    assert done.pending == (OTHER,)
    assert at.subjects()[:2] == ["MEMORY.md: remember Home", f"{OTHER}: edited by hand"]


def test_a_hook_that_refuses_after_pending_edits_is_asked_once(at: Desk) -> None:
    at.write("MEMORY.md", SEED + "- mine\n")
    at.hook("commit-msg", "echo asked >> .git/asked\n! grep -q Mdmem-Op $1")
    refused(at, Remember("lives in Bern", section="Home"), "commit-failed")
    assert at.read(".git/asked") == "asked\n" * 2


def test_git_fails_where_what_somebody_saved_cannot_be_told_from_ours(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.write("MEMORY.md", SEED + "- mine\n")
    edit, transaction, saved = (
        Remember("lives in Bern", section="Home"),
        Transaction(),
        SEED + "- mine\n- lives in Bonn\n",
    )
    commit, calls = commits.commit, []

    def fail(*arguments: Any) -> commits.Committed:
        calls.append(arguments)
        if len(calls) == 1:
            return commit(*arguments)  # the pending edit
        at.write("MEMORY.md", saved)
        raise RepositoryProblem("commit-failed", "no")

    monkeypatch.setattr(commits, "commit", fail)
    with pytest.raises(RepositoryProblem) as failure:
        write(at.workspace, edit, transaction)
    assert (failure.value.code, failure.value.hint) == (
        "commit-failed",
        "MEMORY.md was changed meanwhile and is kept unchanged: check it.",
    )
    fail_later(transaction)
    assert (at.read("MEMORY.md"), at.subjects()[0]) == (saved, "MEMORY.md: edited by hand")


def test_a_file_that_is_not_checked_out_is_not_written(at: Desk) -> None:
    at.git("update-index", "--skip-worktree", OTHER)
    (at.root / OTHER).unlink()
    refused(at, Remember("swims", file=OTHER, create=True), "bad-path")


@pytest.mark.parametrize(
    ("before", "ignored", "bits", "code"),
    [
        (SEED, True, (), "ignored-path"),
        (None, False, (SKIP_WORKTREE,), "bad-path"),
        (None, False, (ASSUME_UNCHANGED,), None),
        (SEED, False, (SKIP_WORKTREE,), None),
        (None, False, (), None),
    ],
)
def test_what_git_would_not_take(
    at: Desk, before: str | None, ignored: bool, bits: tuple[str, ...], code: str | None
) -> None:
    state = replace(
        at.workspace.repository.state(FilePath("MEMORY.md")), ignored=ignored, bits=bits
    )
    plan = plan_of("MEMORY.md", before, SEED)
    if code is None:
        file_write._refuse_unwritable(plan, state)
    else:
        assert code_of(lambda: file_write._refuse_unwritable(plan, state)) == code


@pytest.mark.parametrize(
    ("before", "saved", "left"),
    [
        (None, "- ours\n", None),
        (None, "- ours\n- theirs\n", "- theirs\n"),
        ("- a\n", "- a\n- ours\n- theirs\n", "- a\n- theirs\n"),
        ("- a\n", "- a\n", "- a\n"),
        ("\n", "\n- ours\n", "\n"),
    ],
)
def test_our_change_is_taken_out_of_what_was_saved(
    at: Desk, before: str | None, saved: str, left: str | None
) -> None:
    target = file_write._Target(
        at.workspace, plan_of("b.md", before, (before or "") + "- ours\n", at.root)
    )
    at.write("b.md", saved)
    assert target.take_out()
    assert (at.read("b.md") if (at.root / "b.md").exists() else None) == left


def test_what_cannot_be_taken_out_stays(at: Desk) -> None:
    at.hook("pre-commit", "exit 0")
    target = file_write._Target(
        at.workspace, plan_of("b.md", "- a\n", "- a\n- lives in Bern\n", at.root)
    )
    at.write("b.md", "- a\n- lives in Bonn\n")
    assert target.holds_write()
    assert not target.take_out()
    target.put_back()
    assert at.read("b.md") == "- a\n- lives in Bonn\n"
