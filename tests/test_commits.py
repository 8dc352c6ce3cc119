"""Commits that git makes for us: which one is ours, what it holds, and how it is taken back."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from opened_repository import at as at
from opened_repository import change_message, head
from opened_repository import opened as opened
from workspaces import SEED, Desk

from mdmem import repo
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import MdmemError, RepositoryProblem
from mdmem.repo import Identity, Repository, commits
from mdmem.repo.runner import GitResult

PATH = FilePath("MEMORY.md")
SUBJECT = "MEMORY.md: append Work"


def order(**changed: object) -> commits.CommitOrder:
    return replace(
        commits.CommitOrder(
            paths=[PATH],
            message=f"{SUBJECT}\n\nMdmem-Op: append\n",
            date="@1 +0000",
            hook_timeout=30,
        ),
        **changed,
    )


class TestOurs:
    """The commit that git may have made though it, or a hook, failed afterwards."""

    @pytest.mark.parametrize(
        ("steps", "expected"),
        [
            ([], None),
            (["another"], None),
            (["ours"], "ours"),
            (["another", "ours", "another"], "ours"),
            (["ours elsewhere"], None),
            (["prefixed by a hook"], "prefixed by a hook"),
            (["ours", "ours elsewhere"], "ours"),
        ],
    )
    def test_which_it_is(
        self, at: Desk, opened: Repository, steps: list[str], expected: str | None
    ):
        before, made = head(at), {}
        at.commit(SUBJECT)
        before = head(at)
        for number, step in enumerate(steps):
            path = "other.md" if "elsewhere" in step else PATH
            at.write(path, f"{number}\n")
            subject = {"another": "another", "prefixed by a hook": f"[X-1] {SUBJECT}"}.get(
                step, SUBJECT
            )
            made[step] = at.commit(f"{subject}\n\nbody", path)
        assert commits.commit_made_after(
            opened, before, [PATH], f"{SUBJECT}\n\nMdmem-Op: append\n"
        ) == (made[expected] if expected else None)

    def test_the_first_of_a_branch(self, at: Desk, opened: Repository):
        assert commits.commit_made_after(opened, None, [PATH], "seed") == head(at)
        assert commits.commit_made_after(opened, None, [PATH], "another") is None

    def test_on_a_branch_without_a_commit(self, at: Desk, opened: Repository):
        before = head(at)
        at.git("checkout", "-q", "--orphan", "new")
        assert commits.commit_made_after(opened, before, [PATH], "seed") is None

    def test_one_of_no_path(self, at: Desk, opened: Repository):
        before = head(at)
        at.git("commit", "-q", "--allow-empty", "-m", SUBJECT)
        assert commits.commit_made_after(opened, before, [], SUBJECT) == head(at)
        assert commits.commit_made_after(opened, before, [PATH], SUBJECT) is None

    def test_a_hook_that_fails_after_it_does_not_undo_it(self, at: Desk, opened: Repository):
        at.write(PATH, "x\n")
        at.hook("post-commit", "exit 1")
        made = commits.commit(opened, order())
        assert (made.id, made.is_indexed) == (head(at), True)
        assert at.subjects()[0] == SUBJECT

    @pytest.mark.parametrize("unborn", [False, True])
    def test_what_a_hook_builds_on_it_is_not_it(self, at: Desk, opened: Repository, unborn: bool):
        at.write(PATH, "x\n")
        if unborn:
            at.git("checkout", "-q", "--orphan", "new")
        at.hook(
            "post-commit", "[ $INNER ] || INNER=1 git commit -q --allow-empty -m 'bump the version'"
        )
        made = commits.commit(opened, order())
        assert at.subjects()[:2] == ["bump the version", SUBJECT]
        assert made.id == at.git("rev-parse", "HEAD^").strip()

    def test_git_is_asked_for_it_once_at_most(
        self, at: Desk, opened: Repository, monkeypatch: pytest.MonkeyPatch
    ):
        at.write(PATH, "x\n")
        asked, git = [], Repository.git
        monkeypatch.setattr(
            Repository,
            "git",
            lambda repository, *words, **rest: (
                asked.append(words[0]) or git(repository, *words, **rest)
            ),
        )
        assert commits.commit(opened, order()).id == head(at)
        assert asked[1:] == ([] if opened.is_simple else ["rev-parse"])

    def test_a_hook_may_word_its_message_anew(self, at: Desk, opened: Repository):
        at.write(PATH, "x\n")
        at.hook("commit-msg", "echo 'chore: notes' >$1")
        assert commits.commit(opened, order()).id == head(at)
        assert at.subjects()[0] == "chore: notes"

    def test_hooks_alone_have_the_protocols_of_the_user(
        self, at: Desk, opened: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
        at.hook(
            "pre-commit", f"echo \"$GIT_ALLOW_PROTOCOL $GIT_NO_LAZY_FETCH\" >'{tmp_path}/variables'"
        )
        at.write(PATH, "x\n")
        commits.commit(opened, order())
        assert (tmp_path / "variables").read_text() == "ssh 1\n"

    def test_a_hook_that_takes_too_long_after_it_does_not_undo_it(
        self, at: Desk, opened: Repository
    ):
        at.write(PATH, "x\n")
        at.hook("post-commit", "exec sleep 60")
        assert commits.commit(opened, order(hook_timeout=2)).id == head(at)
        assert at.git("status", "--porcelain") == ""

    @pytest.mark.parametrize("path", ["MEMORY.md", "new.md"])
    def test_a_hook_that_takes_too_long_before_it_leaves_nothing(
        self, at: Desk, opened: Repository, path: str
    ):
        at.write(path, "x\n")
        before = at.tree_state()
        at.hook("pre-commit", "exec sleep 60")
        with pytest.raises(MdmemError, match=r"longer than 0\.3 s") as failure:
            commits.commit(opened, order(paths=[FilePath(path)], hook_timeout=0.3))
        assert failure.value.code == "hook-timeout"
        assert at.tree_state() == before

    def test_an_interruption_before_it_leaves_nothing(
        self, at: Desk, opened: Repository, monkeypatch: pytest.MonkeyPatch
    ):
        at.write("new.md", "x\n")
        before = at.tree_state()
        run = commits.run

        def interrupted(
            folder: Path, arguments: Sequence[str], *rest: Any, **named: Any
        ) -> GitResult:
            if "commit" in arguments:
                raise KeyboardInterrupt
            return run(folder, arguments, *rest, **named)

        monkeypatch.setattr(commits, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            commits.commit(opened, order(paths=[FilePath("new.md")]))
        assert at.tree_state() == before

    def test_a_git_that_is_gone_is_no_hook_that_takes_too_long(
        self, at: Desk, opened: Repository, monkeypatch: pytest.MonkeyPatch
    ):
        at.write(PATH, "x\n")
        run = commits.run

        def gone(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
            if "commit" in arguments:
                raise RepositoryProblem("git-missing", "git is not installed")
            return run(folder, arguments, *rest, **named)

        monkeypatch.setattr(commits, "run", gone)
        with pytest.raises(RepositoryProblem) as failure:
            commits.commit(opened, order())
        assert failure.value.code == "git-missing"

    def test_after_a_commit_whose_subject_is_no_text(self, at: Desk, opened: Repository):
        before = head(at)
        for subject in ("another", SUBJECT):
            at.write(PATH, f"{subject}\n")
            at.commit(subject, PATH)
            if subject == "another":
                change_message(at, b"caf\xe9\n")
        assert commits.commit_made_after(opened, before, [PATH], SUBJECT) == head(at)


class TestRefused:
    """What git refuses is told by its reason."""

    @pytest.mark.parametrize("path", [PATH, "new.md"])
    def test_while_another_git_holds_the_index(
        self, at: Desk, opened: Repository, monkeypatch: pytest.MonkeyPatch, path: str
    ):
        monkeypatch.setattr(commits, "_LOCK_SECONDS", 0)
        at.write(path, "x\n")
        (opened.git_dir / "index.lock").touch()
        with pytest.raises(RepositoryProblem, match=r"index\.lock") as failure:
            commits.commit(opened, order(paths=[FilePath(path)]))
        assert failure.value.code == "busy"

    def test_a_change_of_the_index_while_another_git_holds_it(
        self, at: Desk, opened: Repository, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(commits, "_LOCK_SECONDS", 0)
        (opened.git_dir / "index.lock").touch()
        with pytest.raises(RepositoryProblem, match=r"index\.lock") as failure:
            commits.clear_bits(opened, PATH, ["assume-unchanged"])
        assert failure.value.code == "busy"

    def test_a_change_of_the_index_for_a_file_that_it_does_not_have(self, opened: Repository):
        with pytest.raises(RepositoryProblem, match=r"none\.md") as failure:
            commits.clear_bits(opened, FilePath("none.md"), ["assume-unchanged"])
        assert failure.value.code == "git-failed"

    def test_a_file_that_git_does_not_take_though_nothing_ignores_it(
        self, at: Desk, opened: Repository
    ):
        at.write("sub/.GIT/a.md", "x\n")
        with pytest.raises(RepositoryProblem) as failure:
            commits.commit(opened, order(paths=[FilePath("sub/.GIT/a.md")]))
        assert (failure.value.code, failure.value.hint) == ("git-failed", "")


class TestForHooks:
    def test_git_works_for_them_as_for_any_commit(self, at: Desk, opened: Repository):
        """In particular, a `git status` of theirs may bring the index up to date."""
        at.write(PATH, "x\n")
        log = Path(at.world.home, "said")
        at.hook("pre-commit", f'echo "$GIT_OPTIONAL_LOCKS" >{log}')
        commits.commit(opened, order())
        assert log.read_text() == "1\n"

    @pytest.mark.parametrize(
        ("changed", "expected"),
        [
            ({}, "1/"),
            ({"allow": ()}, "/"),
            ({"allow": ("secret", "bad-date")}, "/bad-date,secret"),
            ({"hookless": True}, None),
        ],
    )
    def test_whose_commit_it_is(
        self, at: Desk, opened: Repository, changed: dict[str, object], expected: str | None
    ):
        at.write(PATH, "x\n")
        log = Path(at.world.home, "said")
        at.hook("pre-commit", f'echo "$MDMEM_COMMIT/$MDMEM_ALLOW" >{log}')
        commits.commit(opened, order(**changed))
        assert (log.read_text().strip() if log.exists() else None) == expected

    def test_by_whom_git_does_not_know(self, at: Desk, opened: Repository):
        at.git("config", "--remove-section", "user")
        at.write(PATH, "x\n")
        commits.commit(opened, order(identity=Identity("Agent", "agent@example.org")))
        assert (
            at.git("log", "-1", "--format=%an <%ae> %cn <%ce>")
            == "Agent <agent@example.org> Agent <agent@example.org>\n"
        )

    def test_settings_of_the_user_that_change_the_message(
        self, at: Desk, opened: Repository, tmp_path: Path
    ):
        (tmp_path / "template").write_text("TEMPLATE\n")
        for name, value in (
            ("commit.verbose", "true"),
            ("commit.template", str(tmp_path / "template")),
            ("commit.cleanup", "strip"),
        ):
            at.git("config", name, value)
        at.write(PATH, "x\n")
        commits.commit(opened, order(message="subject\n\n# kept \udcff\n\n\n"))
        assert (
            at.git("cat-file", "commit", "HEAD").partition("\n\n")[2] == "subject\n\n# kept ?\n\n\n"
        )


class TestWhatACommitHolds:
    @pytest.mark.parametrize(
        ("path", "data", "expected"),
        [
            ("MEMORY.md", SEED, True),
            ("MEMORY.md", SEED + "\n", False),
            ("MEMORY.md", "", False),
            ("none.md", SEED, False),
            ("empty.md", "", True),
            ("crlf.md", "a\r\nb\r\n", True),
            ("crlf.md", "a\nb\n", True),
            ("crlf.md", "a\r\n", False),
            ("memory/\N{LATIN SMALL LETTER U WITH DIAERESIS} [x].md", "x\n", True),
        ],
    )
    @pytest.mark.parametrize("packed", [False, True])
    def test_bytes_as_git_stores_them(
        self, at: Desk, opened: Repository, path: str, data: str, expected: bool, packed: bool
    ):
        at.write(".gitattributes", "crlf.md text eol=crlf\n")
        at.write("crlf.md", "a\r\nb\r\n")
        at.write("empty.md", "")
        at.write("memory/\N{LATIN SMALL LETTER U WITH DIAERESIS} [x].md", "x\n")
        commit = CommitId(at.commit())
        if packed:
            at.git("gc", "-q")
        assert commits.commit_has_bytes(opened, commit, FilePath(path), data.encode()) is expected


class TestTakenBack:
    """A commit that is taken back leaves the index entry of the file as it was before."""

    @pytest.mark.parametrize("before", ["settled", "staged", "announced", "untracked", "removed"])
    def test_in_the_index_too(self, at: Desk, opened: Repository, before: str):
        path = FilePath("new.md") if before in ("announced", "untracked") else PATH
        at.write(path, "edited\n")
        match before:
            case "staged":
                at.git("add", path)
            case "announced":
                at.git("add", "-N", path)
            case "removed":
                at.git("rm", "-q", "--cached", path)
        parent, state, entry = head(at), at.tree_state(), commits.index_entry(opened, path)
        made = commits.commit(opened, order(paths=[path])).id
        at.write("staged.md", "x\n")
        at.git("add", "staged.md")
        assert commits.undo_commit(opened, made, parent, path, entry)
        at.git("rm", "-q", "-f", "staged.md")
        assert at.tree_state() == state

    def test_the_first_one(self, world: World, tmp_path: Path):
        root = tmp_path / "fresh"
        root.mkdir()
        at = Desk(world, root)
        at.git("init", "-q")
        at.git("config", "user.name", "x")
        at.git("config", "user.email", "x@example.org")
        at.write(PATH, "x\n")
        opened = repo.discover(root)
        entry = commits.index_entry(opened, PATH)
        made = commits.commit(opened, order()).id
        assert commits.undo_commit(opened, made, None, PATH, entry)
        assert at.git("status", "--porcelain") == "?? MEMORY.md\n"
        assert at.git("rev-list", "--all") == ""

    def test_one_that_is_built_on_stays(self, at: Desk, opened: Repository):
        parent = head(at)
        at.write(PATH, "x\n")
        made = commits.commit(opened, order()).id
        top = at.commit("on top")
        assert not commits.withdraw(opened, made, parent)
        assert not commits.undo_commit(
            opened, made, parent, PATH, commits.index_entry(opened, PATH)
        )
        assert head(at) == top
        assert at.git("status", "--porcelain") == ""

    def test_it_is_in_the_reflog(self, at: Desk, opened: Repository):
        parent = head(at)
        at.write(PATH, "x\n")
        assert commits.withdraw(opened, commits.commit(opened, order()).id, parent)
        assert at.git("reflog", "-1", "--format=%gs") == "mdmem: taken back\n"
        assert head(at) == parent


def test_an_index_that_lags_behind_is_brought_to_head(at: Desk, opened: Repository):
    at.write(PATH, "x\n")
    at.write("other.md", "x\n")
    index = Path(at.git("rev-parse", "--path-format=absolute", "--git-path", "index").strip())
    before = index.read_bytes()
    at.commit()
    index.write_bytes(before)
    assert commits.renew_index(opened, [PATH])
    assert at.git("diff", "--cached", "--name-only", "--relative") == "other.md\n"


def test_an_index_that_cannot_be_written(at: Desk, opened: Repository):
    index = Path(at.git("rev-parse", "--path-format=absolute", "--git-path", "index").strip())
    index.write_bytes(b"damaged")
    assert not commits.renew_index(opened, [PATH])


def test_git_maintains_its_repository(at: Desk):
    """It does so as its settings say, without a hook, and is done when the call ends."""
    ran = at.root / "ran"
    at.hook("pre-auto-gc", f"touch '{ran}'")
    at.git("config", "maintenance.auto", "true")
    at.git("config", "gc.auto", "1")
    for number in range(600):
        at.write(f"{number}.txt", f"{number}\n")
    at.git("add", ".")
    opened = repo.discover(at.root)
    commits.maintain(opened)
    assert not ran.exists()
    assert list((opened.git_dir / "objects" / "pack").glob("*.pack"))
