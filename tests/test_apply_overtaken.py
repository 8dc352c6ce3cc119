"""Writes with somebody else in between: a person's save, a hook of theirs, an interruption, another
git.
"""

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import NOW, SEED, Desk, append, apply, code_of, desk, leave_pending_edit, refused

from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model.errors import MdmemError, StorageProblem
from mdmem.model.writes import Action, Change, EditSection, Log, Remember, Revert, Save
from mdmem.repo import commits
from mdmem.repo.runner import GitResult


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def saved_before_git_reads(at: Desk, monkeypatch: pytest.MonkeyPatch, saved: str) -> list[str]:
    """Have a text saved to MEMORY.md between a write of ours and its commit, once; the list is
    empty after that.
    """
    run, saves = commits.run, [saved]

    def overtaken(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
        if "commit" in arguments and "mark of mdmem" in at.read("MEMORY.md") and saves:
            at.write("MEMORY.md", saves.pop())
        return run(folder, arguments, *rest, **named)

    monkeypatch.setattr(commits, "run", overtaken)
    return saves


@pytest.mark.parametrize(
    "saved",
    [SEED.replace("lives in Oslo", "lives in Rome"), SEED, SEED + "\r\n"],
    ids=["theirs", "as before", "odd"],
)
@pytest.mark.parametrize("pending", [False, True])
def test_a_save_between_ours_and_the_commit_loses_neither(
    at: Desk, monkeypatch: pytest.MonkeyPatch, saved: str, pending: bool
) -> None:
    if pending:
        leave_pending_edit(at, "MEMORY.md", "edited")
    saves = saved_before_git_reads(at, monkeypatch, saved)
    done = at.apply(append())
    assert not saves
    assert "mark of mdmem" in at.read("MEMORY.md")
    assert at.git("show", "--format=", str(done.commit)).count("+- the mark of mdmem") == 1
    assert "lives in Rome" not in saved or "lives in Rome" in at.read("MEMORY.md")
    assert at.git("status", "--porcelain") == ""
    ours = at.git("log", "--format=%H", "--grep=^Mdmem-Op: append").split()
    assert ours == [done.commit]


def saved_on_top_of_ours(
    at: Desk, monkeypatch: pytest.MonkeyPatch, path: str = "MEMORY.md", hand: str = "- by hand\n"
) -> None:
    """Have somebody add a line to a file that holds ours, before git reads it."""
    run, saves = commits.run, [hand]

    def overtaken(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
        if (
            "commit" in arguments
            and (at.root / path).exists()
            and "mark of mdmem" in at.read(path)
            and saves
        ):
            at.write(path, at.read(path) + saves.pop())
        return run(folder, arguments, *rest, **named)

    monkeypatch.setattr(commits, "run", overtaken)


def changed_lines(at: Desk, commit: str) -> str:
    lines = at.git("show", "--format=", "-U0", commit).splitlines()
    return " ".join(
        line
        for line in lines
        if line[:1] in "+-" and line[:3] not in ("+++", "---") and len(line) > 1
    )


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("pending", [None, "edited", "staged"])
def test_a_save_on_top_of_ours_is_a_commit_of_its_own(
    at: Desk, monkeypatch: pytest.MonkeyPatch, pending: str | None, many: bool
) -> None:
    if many:
        for number in range(600):
            at.write(f"lots/{number}.txt", "x")
        at.commit("lots")
    if pending:
        leave_pending_edit(at, "MEMORY.md", pending)
    at.write("other.md", "- staged\n")
    at.git("add", "other.md")
    saved_on_top_of_ours(at, monkeypatch)
    done = at.apply(append())
    assert changed_lines(at, "HEAD~1") == "+- the mark of mdmem"
    assert changed_lines(at, "HEAD") == "+- by hand"
    assert (at.git("rev-parse", "HEAD~1").strip(), at.subjects()[0]) == (
        done.commit,
        "MEMORY.md: edited by hand",
    )
    assert done.notes[-1] == "committed what was saved to MEMORY.md meanwhile, as yours"
    assert at.git("status", "--porcelain") == "A  other.md\n"
    at.git("fsck", "--strict")


def test_it_is_no_claim_of_an_agent_that_waits_for_the_write(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved_on_top_of_ours(at, monkeypatch)
    done = at.apply(append(actor="agent/main"))
    assert done.notes == ("committed what was saved to MEMORY.md meanwhile, as yours",)
    assert at.git("log", "-1", "--format=%B") == "MEMORY.md: edited by hand\n\n"


def test_it_is_so_in_folders_and_below_the_root(
    world: World, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = desk(world, repository, "deep/er")
    at.write("memory/sub folder/a.md", "# A\n\n- a line\n")
    at.commit("more")
    saved_on_top_of_ours(at, monkeypatch, "memory/sub folder/a.md")
    at.apply(append(section="A", file="memory/sub folder/a.md"))
    assert [changed_lines(at, name) for name in ("HEAD~1", "HEAD")] == [
        "+- the mark of mdmem",
        "+- by hand",
    ]
    assert (
        at.git("diff", "--name-only", "HEAD~2").split("\n")[0] == "deep/er/memory/sub folder/a.md"
    )


@pytest.mark.parametrize("why", ["refused", "secret"])
def test_a_save_that_may_not_be_committed_stays_pending(
    at: Desk, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "refused":
        at.write("mdmem.toml", 'direct_edits = "refuse"\n')
    hand = "- ghp_" + "aB3" * 12 + "\n"
    saved_on_top_of_ours(at, monkeypatch, hand=hand)
    assert at.apply(append()).commit == at.git("rev-parse", "HEAD").strip()
    assert changed_lines(at, "HEAD") == "+- the mark of mdmem"
    assert at.read("MEMORY.md").endswith(hand)
    assert at.git("status", "--porcelain", "MEMORY.md") == " M MEMORY.md\n"


def test_ours_is_signed_as_git_would(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    signer = at.write(
        ".git/signer", '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho signed\n'
    )
    signer.chmod(0o755)
    at.git("config", "gpg.program", signer)
    at.git("config", "commit.gpgSign", "true")
    saved_on_top_of_ours(at, monkeypatch)
    at.apply(append())
    assert [
        "gpgsig signed" in at.git("cat-file", "commit", name) for name in ("HEAD~1", "HEAD")
    ] == [True, True]


def test_a_commit_that_somebody_built_on_stays(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    saved_on_top_of_ours(at, monkeypatch)
    run = commits.run

    def built_on(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
        if arguments[0] == "update-ref":
            at.git("commit", "-q", "--allow-empty", "-m", "on top")
        return run(folder, arguments, *rest, **named)

    monkeypatch.setattr(commits, "run", built_on)
    done = at.apply(append())
    assert at.subjects()[:2] == ["on top", "MEMORY.md: append Work"]
    assert done.commit == at.git("rev-parse", "HEAD~1").strip()


def test_an_interruption_after_it_takes_ours_back(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = at.git("rev-parse", "HEAD")
    saved_on_top_of_ours(at, monkeypatch)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commits, "index_entry", interrupted)
    with pytest.raises(KeyboardInterrupt):
        at.apply(append())
    assert (at.read("MEMORY.md"), at.git("rev-parse", "HEAD")) == (SEED + "- by hand\n", head)
    assert at.git("status", "--porcelain") == " M MEMORY.md\n"


def test_a_hook_that_git_does_not_run_has_no_part_in_it(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.hook("pre-commit", "exit 1").chmod(0o644)
    saved_on_top_of_ours(at, monkeypatch)
    at.apply(append())
    assert changed_lines(at, "HEAD~1") == "+- the mark of mdmem"


REFORMATS = "sed -i 's/^- /* /' MEMORY.md && git add MEMORY.md"


@pytest.mark.parametrize("pending", [False, True])
def test_a_hook_may_write_it_in_another_way(at: Desk, pending: bool) -> None:
    if pending:
        leave_pending_edit(at, "MEMORY.md", "edited")
    at.hook("pre-commit", REFORMATS)
    done = at.apply(append("- the mark of mdmem\n\nAnd a paragraph."))
    assert done.commit == at.git("rev-parse", "HEAD").strip()
    assert "* the mark of mdmem" in at.git("show", "HEAD:MEMORY.md")
    assert at.git("log", "--format=%s", "--grep=^Mdmem-Op").count("\n") == 1


@pytest.mark.parametrize(
    "change", [Remember("city: Paris", section="Home"), EditSection("Nowhere", Action.APPEND, "x")]
)
def test_a_merge_under_way_comes_before_what_is_only_so_because_of_it(
    at: Desk, change: Change
) -> None:
    at.write(
        "MEMORY.md", SEED + "\n<<<<<<< HEAD\n- city: Oslo\n=======\n- city: Rome\n>>>>>>> other\n"
    )
    at.write(".git/MERGE_HEAD", at.git("rev-parse", "HEAD"))
    refused(at, change, "repository-busy")


def saved_at_the_last_moment(
    at: Desk, monkeypatch: pytest.MonkeyPatch, ends: Sequence[BaseException | None]
) -> None:
    """Have MEMORY.md saved just before the exchange of names. Each exchange raises the next of
    `ends`; None: it succeeds.
    """
    rename, exchanges = files._rename, 0

    def saved_first(old: Path, new: Path, flags: int) -> bool:
        nonlocal exchanges
        exchanges += 1
        if exchanges == 1:
            at.write("MEMORY.md", SEED + "- by hand\n")
        end = ends[exchanges - 1] if exchanges <= len(ends) else None
        if exchanges > 1 and end is not None:
            raise end
        done = rename(old, new, flags)
        if end is not None:
            raise end
        return done

    monkeypatch.setattr(files, "_rename", saved_first)


@pytest.mark.parametrize(
    "end", [KeyboardInterrupt(), OSError(errno.EIO, "broken")], ids=["interrupted", "disk"]
)
def test_a_save_at_the_last_moment_outlives_what_ends_the_write(
    at: Desk, monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    head = at.git("rev-parse", "HEAD")
    saved_at_the_last_moment(at, monkeypatch, [end])
    with pytest.raises((KeyboardInterrupt, OSError)):
        at.apply(append())
    assert (at.read("MEMORY.md"), at.git("rev-parse", "HEAD")) == (SEED + "- by hand\n", head)
    assert sorted(path.name for path in at.root.iterdir()) == [".git", "MEMORY.md"]
    assert at.apply(append()).commit
    assert at.subjects()[1] == "MEMORY.md: edited by hand"


def test_a_save_that_cannot_go_back_at_once_does_so_with_the_next_command(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = OSError(errno.EIO, "broken")
    with monkeypatch.context() as patch:
        saved_at_the_last_moment(at, patch, [None, broken, broken, broken])
        with pytest.raises(StorageProblem, match="could not be put back: broken"):
            at.apply(append())
    heard: list[str] = []
    apply(at.workspace, append("- lives in Oslo", "Home"), heard.append)
    assert heard == ["MEMORY.md was changed after an interrupted write; it is kept unchanged"]
    assert at.read("MEMORY.md").startswith(SEED + "- by hand\n")
    assert sorted(path.name for path in at.root.iterdir()) == [".git", "MEMORY.md"]


def test_a_file_that_became_a_link_before_git_read_it_stays_one(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = commits.run

    def overtaken(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
        if "commit" in arguments:
            (at.root / "MEMORY.md").unlink()
            (at.root / "MEMORY.md").symlink_to("elsewhere.md")
            raise KeyboardInterrupt
        return run(folder, arguments, *rest, **named)

    monkeypatch.setattr(commits, "run", overtaken)
    with pytest.raises(KeyboardInterrupt):
        at.apply(append())
    assert (at.root / "MEMORY.md").readlink() == Path("elsewhere.md")
    assert not (at.workspace.state / "write-ahead.json").exists()


def interrupted_at(at: Desk, commit: int) -> None:
    """Have git interrupt this process once it has made that many commits, as Ctrl-C would."""
    count = f"echo >> .git/seen; [ $(wc -l < .git/seen) -eq {commit} ] && kill -INT {os.getpid()}"
    at.hook("reference-transaction", f'[ "$1" = committed ] && {{ {count}; }}\nexit 0')


@pytest.mark.parametrize("pending", [None, "edited", "staged"])
@pytest.mark.parametrize("change", [append(), Log("the mark of mdmem")], ids=["edit", "new file"])
def test_an_interruption_after_the_branch_has_moved_leaves_all_as_it_was(
    at: Desk, change: Change, pending: str | None
) -> None:
    if pending:
        leave_pending_edit(at, "MEMORY.md", pending)
    before = at.tree_state()
    interrupted_at(at, 2 if pending and isinstance(change, EditSection) else 1)
    with pytest.raises(KeyboardInterrupt):
        at.apply(change)
    assert at.tree_state() == before
    assert at.apply(change).commit


@pytest.mark.parametrize("pending", ["edited", "staged"])
def test_an_interruption_while_pending_edits_are_committed_leaves_all_as_it_was(
    at: Desk, pending: str
) -> None:
    leave_pending_edit(at, "MEMORY.md", pending)
    before = at.tree_state()
    interrupted_at(at, 1)
    with pytest.raises(KeyboardInterrupt):
        at.apply(append())
    assert at.tree_state() == before


def test_an_interruption_of_a_save_leaves_the_index_as_the_branch_has_it(at: Desk) -> None:
    leave_pending_edit(at, "MEMORY.md", "edited")
    interrupted_at(at, 1)
    with pytest.raises(KeyboardInterrupt):
        Memory(at.workspace).save(Save())
    assert at.git("status", "--porcelain") == ""


def test_an_interruption_after_a_hook_added_to_it_takes_ours_out_again(at: Desk) -> None:
    at.hook(
        "pre-commit", f"echo '- a line of the hook' >> MEMORY.md\nkill -INT {os.getpid()}\nsleep 5"
    )
    with pytest.raises(KeyboardInterrupt):
        at.apply(append())
    assert at.read("MEMORY.md") == SEED + "- a line of the hook\n"


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(),
    reason="a hook cannot tell here which process has started git",
)
def test_only_the_first_interruption_counts_so_that_all_is_put_back(at: Desk) -> None:
    commit = changed_together(at)
    before = at.tree_state()
    mdmem = "set -- $(cat /proc/$PPID/stat); kill -TERM $4; kill -HUP $4; kill -INT $4"
    at.hook(
        "reference-transaction",
        f'[ "$1" = committed ] && echo >> .git/seen && [ $(wc -l < .git/seen) -ge 2 ] && {{ {mdmem}; }}\nexit 0',
    )
    done = at.world.run(at.root, [sys.executable, "-m", "mdmem", "revert", commit], check=False)
    assert (done.returncode, done.stderr) == (130, "mdmem: interrupted\n")
    assert at.tree_state() == before


def test_what_a_hook_says_is_said(at: Desk) -> None:
    at.hook(
        "pre-commit", "sed -i '/the mark of mdmem/d' MEMORY.md\necho because of this >&2\nexit 1"
    )
    with pytest.raises(MdmemError, match="because of this"):
        at.apply(append())


def changed_together(at: Desk) -> str:
    """A commit that changed three files."""
    for text in ("", " and more"):
        for path in ("memory/a.md", "memory/b.md", "memory/c.md"):
            at.write(path, f"- {path}{text}\n")
        commit = at.commit("several")
    return commit


def test_an_interruption_in_the_midst_of_several_files_leaves_all_as_it_was(at: Desk) -> None:
    commit = changed_together(at)
    before = at.tree_state()
    interrupted_at(at, 2)
    with pytest.raises(KeyboardInterrupt):
        at.apply(Revert(commit))
    assert at.tree_state() == before


MENDS = {
    "white space": "grep -q ' $' MEMORY.md || exit 0\nsed -i 's/ *$//' MEMORY.md\nexit 1",
    "words": "sed -i 's/the mark of/the sign of/' MEMORY.md\nexit 1",
    "words, and takes them": "sed -i 's/the mark of/the sign of/' MEMORY.md\ngit add MEMORY.md",
    "form and words": "sed -i 's/the mark of/the sign of/; s/^- /* /' MEMORY.md\ngit add MEMORY.md",
}
CHANGES = {
    "append": append(),
    "replace": EditSection("Work", Action.REPLACE, "Stripe", "Stripe: the mark of mdmem"),
    "remember": Remember("the mark of mdmem", section="Work"),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("pending", [None, "edited", "staged"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("mends", MENDS)
def test_a_hook_that_mends_what_it_sees_and_refuses_or_finds_other_words_leaves_all_as_it_was(
    at: Desk, mends: str, change: Change, pending: str | None
) -> None:
    at.write("MEMORY.md", SEED.replace("- lives in Oslo", "- lives in Oslo  "))
    at.commit()
    if pending:
        leave_pending_edit(at, "MEMORY.md", pending)
        at.write("MEMORY.md", at.read("MEMORY.md").replace("- lives in Oslo", "- lives in Oslo  "))
    only_ours = "[ \"$MDMEM_COMMIT\" = 1 ] && grep -q 'the mark of' MEMORY.md || exit 0\n"
    at.hook("pre-commit", only_ours + MENDS[mends])
    refused(at, change, "commit-failed")


SAVES = {
    "words": "s/lives in Oslo/lives in Rome/",
    "signs": "s/- lives in Oslo/- lives in (Oslo)!/",
    "a line more": "$a- a line",
}


@pytest.mark.parametrize("save", SAVES.values(), ids=SAVES)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_save_while_a_hook_runs_that_refuses_is_kept(at: Desk, change: Change, save: str) -> None:
    at.hook(
        "pre-commit",
        f"[ -e .git/saved ] && exit 0\ntouch .git/saved\nsed -i '{save}' MEMORY.md\nexit 1",
    )
    done = at.apply(change)
    theirs, ours = (
        at.git("show", "--format=%s%n%b", "HEAD~1"),
        at.git("show", "--format=%s%n%b", "HEAD"),
    )
    assert done.commit == at.git("rev-parse", "HEAD").strip()
    assert theirs.startswith("MEMORY.md: edited by hand\n")
    assert "the mark of mdmem" not in theirs
    assert at.read("MEMORY.md").count("the mark of mdmem") == ours.count("+- ") == 1
    assert any(text in at.read("MEMORY.md") for text in ("lives in Rome", "(Oslo)!", "- a line"))


def test_a_save_of_the_file_as_it_was_is_no_work_of_a_hook(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.hook("pre-commit", "exit 0")
    saves = saved_before_git_reads(at, monkeypatch, SEED)
    assert at.apply(CHANGES["replace"]).commit
    assert not saves
    assert "Stripe: the mark of mdmem" in at.read("MEMORY.md")


def test_a_hook_that_adds_to_it_and_refuses_every_time_makes_it_fail(at: Desk) -> None:
    at.hook("pre-commit", "echo '- a line of the hook' >> MEMORY.md\nexit 1")
    head = at.git("rev-parse", "HEAD")
    assert code_of(lambda: at.apply(append())) == "commit-failed"
    assert (at.git("rev-parse", "HEAD"), at.read("MEMORY.md").count("the mark of mdmem")) == (
        head,
        0,
    )


def test_a_save_that_nobody_could_take_for_a_hooks_is_kept_beside_hooks(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.hook("pre-commit", "exit 0")
    saves = saved_before_git_reads(
        at, monkeypatch, SEED.replace("lives in Oslo", "moved to another town long ago")
    )
    done = at.apply(append())
    assert not saves
    assert "moved to another town" in at.read("MEMORY.md")
    assert "the mark of mdmem" in at.git("show", str(done.commit))


def test_a_hook_that_takes_it_out_makes_it_fail(at: Desk) -> None:
    at.hook(
        "pre-commit",
        "sed -i '/the mark of mdmem/d' MEMORY.md && echo >> MEMORY.md && git add MEMORY.md",
    )
    assert code_of(lambda: at.apply(append())) == "commit-failed"
    assert at.git("log", "--grep=^Mdmem-Op") == ""
