"""Clones of all sorts: what docs/machines.md says that holds for them."""

import os
import shutil
import subprocess

import pytest
from test_syncing import Pair, fact, sync
from test_syncing import pair as pair
from workspaces import Desk

from mdmem.memory import Memory
from mdmem.model.errors import RepositoryProblem
from mdmem.model.searches import Search
from mdmem.model.writes import Log

COMPOSED, DECOMPOSED = "memory/caf\u00e9.md", "memory/cafe\u0301.md"
MANY = 50_000


def texts(at: Desk, query: str) -> list[str]:
    hits = Memory.open(at.root, os.environ).search(Search(query, limit=20)).hits
    return [each.text for each in hits if not each.near]


def clone(pair: Pair, name: str, *options: str) -> Desk:
    """Another clone, over git's own protocol for what it may leave out."""
    at = Desk(pair.ada.world, pair.origin.with_name(name))
    at.world.git(pair.origin, "config", "uploadpack.allowFilter", "true")
    at.world.git(pair.origin.parent, "clone", "-q", *options, f"file://{pair.origin}", at.root)
    at.git("config", "user.name", name)
    at.git("config", "user.email", f"{name}@example.org")
    return at


def test_a_name_in_both_forms_is_two_files_and_both_are_kept(pair: Pair) -> None:
    """A Mac may write the decomposed form, and Linux keeps what it gets."""
    for at, path, word in ((pair.ada, COMPOSED, "amber"), (pair.bo, DECOMPOSED, "basalt")):
        at.write(path, f"# Coffee\n\n- {word} is served\n")
        at.commit("coffee", path)
    for at in (pair.ada, pair.bo, pair.ada):
        sync(at)
    for at in (pair.ada, pair.bo):
        assert sorted(texts(at, "served")) == ["amber is served", "basalt is served"]
        assert {COMPOSED, DECOMPOSED} <= {
            f"memory/{each.name}" for each in (at.root / "memory").iterdir()
        }


def test_names_that_differ_by_case_are_two_files_where_the_disk_tells_them_apart(
    pair: Pair,
) -> None:
    for at, path in ((pair.ada, "memory/tea.md"), (pair.bo, "memory/Tea.md")):
        at.write(path, f"# Tea\n\n- {at.root.name} drinks tea\n")
        at.commit("tea", path)
    for at in (pair.ada, pair.bo, pair.ada):
        sync(at)
    for at in (pair.ada, pair.bo):
        assert sorted(texts(at, "drinks")) == ["ada drinks tea", "bo drinks tea"]


@pytest.mark.skip(reason="needs a disk on which names that differ by case are one: not tried")
def test_names_that_differ_by_case_on_a_disk_that_does_not_tell_them_apart() -> None:
    """Of a Mac or of Windows; here no such file system can be mounted."""


def test_a_shallow_clone_syncs_both_ways(pair: Pair) -> None:
    diverge_from(pair, at := clone(pair, "small", "--depth=1"))
    for each in (at, pair.ada, at):
        sync(each)
    require_both(pair.ada, at)


@pytest.mark.parametrize("left_out", ["blob:none", "tree:0"])
def test_a_partial_clone_names_how_to_get_what_a_merge_needs(pair: Pair, left_out: str) -> None:
    diverge_from(pair, at := clone(pair, "small", f"--filter={left_out}"))
    head = at.head()
    with pytest.raises(RepositoryProblem) as problem:
        sync(at)
    assert problem.value.code == "missing-history"
    assert at.head() == head
    assert problem.value.hint.endswith("git fetch --refetch --no-filter")
    at.git("fetch", "-q", "--refetch", "--no-filter")
    for each in (at, pair.ada):
        sync(each)
    require_both(pair.ada, at)


def diverge_from(pair: Pair, at: Desk) -> None:
    """Another clone and the remote both have something new."""
    at.apply(fact("basalt is new"))
    pair.ada.apply(fact("amber is new"))
    sync(pair.ada)


def require_both(*clones: Desk) -> None:
    for each in clones:
        assert sorted(texts(each, "new")) == ["amber is new", "basalt is new"]


def test_a_sparse_clone_keeps_what_it_left_out(pair: Pair) -> None:
    pair.ada.write("memory/far.md", "# Far\n\n- granite is far\n")
    pair.ada.commit("far", "memory/far.md")
    sync(pair.ada)
    at = clone(pair, "sparse", "--sparse")
    assert not (at.root / "memory").exists()
    at.apply(fact("basalt is near"))
    pair.ada.write("memory/far.md", "# Far\n\n- granite is very far\n")
    pair.ada.commit("farther", "memory/far.md")
    sync(pair.ada)
    sync(at)
    sync(pair.ada)
    assert texts(pair.ada, "near") == ["basalt is near"]
    assert texts(pair.ada, "far") == ["granite is very far"]
    assert at.git("show", "HEAD:memory/far.md") == pair.ada.read("memory/far.md")


def test_a_submodule_stays_as_it_is(pair: Pair) -> None:
    code = pair.origin.with_name("code")
    at = pair.ada
    at.world.git(pair.origin.parent, "init", "-q", code)
    at.world.git(
        code,
        "-c",
        "user.name=C",
        "-c",
        "user.email=c@x",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "c",
    )
    at.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(code), "code")
    at.commit("a submodule", ".gitmodules", "code")
    at.git("push", "-q", "origin", "main")
    pair.bo.git("pull", "-q", "--ff-only")
    for each, word in ((at, "amber"), (pair.bo, "basalt")):
        each.apply(fact(f"{word} is a stone"))
    for each in (at, pair.bo, at):
        sync(each)
    assert len(texts(at, "stone")) == 2
    assert pair.bo.git("ls-tree", "HEAD", "code").startswith("160000 commit")
    assert not any((pair.bo.root / "code").iterdir()), "it is not fetched"


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed: not tried")
def test_large_files_travel_by_git_lfs(pair: Pair) -> None:
    for at in (pair.ada, pair.bo):
        at.git("lfs", "install", "--local")
    pair.ada.git("lfs", "track", "*.png")
    pair.ada.write("picture.png", os.urandom(100_000))
    pair.ada.commit("a picture")
    sync(pair.ada, all_files=True)
    sync(pair.bo, all_files=True)
    pair.bo.git("lfs", "pull")
    assert (pair.bo.root / "picture.png").read_bytes() == (
        pair.ada.root / "picture.png"
    ).read_bytes()


@pytest.mark.slow
def test_fifty_thousand_files(pair: Pair) -> None:
    stream = ["commit refs/heads/main\ncommitter A <a@x> 1772000000 +0000\ndata 4\nmany"]
    stream.append("from refs/heads/main^0")
    for number in range(MANY):
        text = f"# N\n\n- stone {number}\n"
        stream.append(
            f"M 100644 inline memory/n{number % 100}/{number}.md\ndata {len(text)}\n{text}"
        )
    environment = dict(pair.ada.world.environment)
    command = ["git", "fast-import", "--quiet", "--force"]
    subprocess.run(
        command, cwd=pair.ada.root, env=environment, input="\n".join(stream).encode(), check=True
    )
    pair.ada.git("reset", "-q", "--hard")
    assert sync(pair.ada).pushed == 1
    pair.bo.apply(Log("basalt was seen"))
    assert sync(pair.bo).pulled == 1
    assert len(list((pair.bo.root / "memory").glob("n*/*.md"))) == MANY
    assert sync(pair.ada).pulled == 1
    assert pair.ada.head() == pair.bo.head()
