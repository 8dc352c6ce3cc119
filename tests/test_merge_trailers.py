"""The trailers of merges by hand, and what memory makes of them; real git throughout."""

import os
import sys
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk
from workspaces import desk as make_desk

from mdmem.editors.merge3.merging import merge3
from mdmem.folder import hook_files
from mdmem.memory import Memory, commit_hooks
from mdmem.merge import setup
from mdmem.merge.again import base_text, files_of_both
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import FactProblem
from mdmem.model.proposals import AdviceKind
from mdmem.model.writes import Resolve
from mdmem.repo.first_parent import merge_bases
from mdmem.show import hits
from mdmem.text.facts import fact_id, parse_item

BASE = "# Memory\n\n## Work\n\n- likes the green tea of Uji\n- employer: Stripe\n- sits by the window\n"
OURS = BASE.replace("green tea of Uji", "green tea of Kyoto")
THEIRS = BASE.replace("green tea of Uji", "green tea of Nara")


def fact(line: str) -> str:
    return parse_item(line).id


KYOTO, NARA, WINDOW = map(
    fact,
    ("- likes the green tea of Kyoto", "- likes the green tea of Nara", "- sits by the window"),
)
PAIR = " ".join(
    fact
    for _, fact in sorted(
        {"- likes the green tea of Kyoto": KYOTO, "- likes the green tea of Nara": NARA}.items()
    )
)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    """A workspace whose git merges with mdmem."""
    at = make_desk(world, repository, seed=BASE)
    hook_files.install(at.workspace.repository.hooks_dir, sys.executable)
    setup.install(at.workspace, sys.executable)
    return at


def branch(at: Desk, ours: str, theirs: str, path: str = "MEMORY.md") -> None:
    """One commit on a branch `side`, and one on `main`."""
    at.git("switch", "-qc", "side")
    at.write(path, theirs)
    at.commit("theirs")
    at.git("switch", "-q", "main")
    at.write(path, ours)
    at.commit("ours")


def trailers(at: Desk, commit: str = "HEAD") -> list[str]:
    return at.git("log", "-1", "--format=%(trailers:only,unfold)", commit).split("\n")[:-2]


def test_a_contradiction_without_a_key_is_in_the_message_of_the_merge(at: Desk):
    branch(at, OURS, THEIRS)
    at.git("merge", "-q", "--no-edit", "side")
    assert at.subjects()[0] == "Merge branch 'side'"
    assert trailers(at) == [f"Mdmem-Contradicts: {PAIR}"]
    (conflict,) = Memory.open(at.root, os.environ).conflicts().conflicts
    assert {conflict.first.fact, conflict.second.fact} == {KYOTO, NARA}


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("base", "ours", "theirs", "pair"),
    [
        pytest.param("| what | who |\n|---|---|\n| tea | Bo |\n", ("Bo", "Ana"), ("Bo", "Cleo"), ("tea | Ana", "tea | Cleo"), id="rows"),
        pytest.param("It is old. It leaks.\n", ("leaks", "drips"), ("leaks", "runs"), ("It drips.", "It runs."), id="sentences"),
        pytest.param("> [!tip] Roof\n> It leaks.\n", ("Roof", "A roof"), ("Roof", "The roof"), ("A roof", "The roof"), id="titles"),
        pytest.param("```\nmake\nrun old\n```\n", ("run old", "run red"), ("run old", "run tan"), ("run red", "run tan"), id="lines"),
        pytest.param("- fruit\n  - tart plums\n", ("tart", "blue"), ("tart", "red"), ("blue plums", "red plums"), id="items"),
        pytest.param("- fruit\n  - kind: plum\n", ("plum", "pear"), ("plum", "fig"), ("kind: fig", "kind: pear"), id="values of a key beneath"),
    ],
)  # fmt: skip
def test_parts_of_a_block_are_named(
    at: Desk, base: str, ours: tuple[str, str], theirs: tuple[str, str], pair: tuple[str, str]
):
    at.write("MEMORY.md", BASE + "\n## Block\n\n" + base)
    at.commit("a block")
    text = at.read("MEMORY.md")
    branch(at, text.replace(*ours), text.replace(*theirs))
    at.git("merge", "-q", "--no-edit", "side")
    assert trailers(at) == [f"Mdmem-Contradicts: {fact_id(pair[0])} {fact_id(pair[1])}"]
    assert {text for text, _ in listed(at)} == {*pair}
    assert all(
        part.split(" | ")[-1] in at.read("MEMORY.md").split("\n")[line - 1]
        for part, line in listed(at)
    )


def listed(at: Desk) -> list[tuple[str, int]]:
    """The texts of the contradictions, each with its line in MEMORY.md."""
    named = [
        hit
        for conflict in Memory.open(at.root, os.environ).conflicts().conflicts
        for hit in (conflict.first, conflict.second)
    ]
    assert all(hit.fact == fact_id(hit.text) for hit in named)
    return [(hit.text, hit.start_line) for hit in named if hit.path == "MEMORY.md"]


TABLE = "# Memory\n\n## Tea\n\n| what | who |\n|---|---|\n| sencha | Bo |\n"
ANA, CLEO = TABLE.replace("Bo", "Ana"), TABLE.replace("Bo", "Cleo")
ROWS = [("sencha | Ana", 7), ("sencha | Cleo", 8)]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "commands",
    [
        ["merge -q --no-edit side"],
        ["merge -q --squash side", "commit -q --no-edit"],
        ["rebase -q side"],
        ["cherry-pick side"],
        [
            "switch -q side",
            "merge -q --no-edit main",
            "switch -q main",
            "merge -q --no-ff -m forge side",
        ],
    ],
)
def test_parts_of_a_block_that_were_kept_twice_are_listed_until_that_is_settled(
    at: Desk, commands: list[str]
):
    at.write("MEMORY.md", TABLE)
    at.commit("a table")
    branch(at, ANA, CLEO)
    for command in commands:
        at.git(*command.split())
    memory = Memory.open(at.root, os.environ)
    assert listed(at) == ROWS
    shown = hits.conflicts_text(memory.conflicts())
    assert [line.split()[0] for line in shown.split("\n")[1:]] == [
        fact_id(text) for text, _ in ROWS
    ]
    assert "MEMORY.md:7" in shown
    (advice,) = (each for each in memory.review().advice if each.kind is AdviceKind.CONTRADICTION)
    ids = [fact_id(text) for text, _ in ROWS]
    assert advice.command == ("mdmem", "conflicts", "--resolve", *ids)
    assert (advice.path, advice.line) == ("MEMORY.md", 7)
    text = at.read("MEMORY.md")
    at.write("MEMORY.md", text.replace("Ana", "Dan"))
    assert listed(at) == []
    at.write("MEMORY.md", text)
    assert listed(at) == ROWS
    assert memory.apply(Resolve(ids[1], ids[0])).changed
    assert listed(at) == []
    assert not memory.apply(Resolve(ids[0], ids[1])).changed
    with pytest.raises(FactProblem, match="no fact"):
        memory.apply(Resolve(ids[0], "f" * 8))


def test_parts_of_a_block_are_found_in_a_renamed_file_and_below_the_root(
    world: World, repository: Path
):
    at = make_desk(world, repository, "sub", seed=BASE)
    hook_files.install(at.workspace.repository.hooks_dir, sys.executable)
    setup.install(at.workspace, sys.executable)
    at.write("memory/tea.md", TABLE)
    at.commit("a table")
    branch(at, ANA, CLEO, "memory/tea.md")
    at.git("merge", "-q", "--no-edit", "side")
    at.git("mv", "memory/tea.md", "memory/drinks.md")
    at.commit("renamed")
    (conflict,) = Memory.open(at.root, os.environ).conflicts().conflicts
    both = (conflict.first, conflict.second)
    assert [(hit.text, hit.start_line) for hit in both] == ROWS
    assert {hit.path for hit in both} == {"memory/drinks.md"}


def test_values_of_a_key_are_a_contradiction_by_themselves(at: Desk):
    branch(at, BASE.replace("Stripe", "Linear"), BASE.replace("Stripe", "Figma"))
    at.git("merge", "-q", "--no-edit", "side")
    assert trailers(at) == []


def test_what_one_side_took_out_and_the_other_changed_is_kept(at: Desk):
    changed = BASE.replace("- sits by the window\n", "- sits by the big window\n")
    branch(at, BASE.replace("- sits by the window\n", ""), changed)
    at.git("merge", "-q", "--no-edit", "side")
    assert trailers(at) == [f"Mdmem-Kept: {fact('- sits by the big window')}"]


@pytest.mark.parametrize("mover", ["ours", "theirs"])
def test_what_one_side_took_out_and_the_other_moved_to_another_file_is_kept(at: Desk, mover: str):
    without = BASE.replace("- sits by the window\n", "")
    at.git("switch", "-qc", "side")
    for side, name in (("theirs", "side"), ("ours", "main")):
        at.git("switch", "-q", name)
        at.write("MEMORY.md", without)
        if side == mover:
            at.write("memory/seats.md", "# Seats\n\n- sits by the window\n")
        at.commit(side)
    at.git("merge", "-q", "--no-edit", "side")
    assert trailers(at) == [f"Mdmem-Kept: {WINDOW}"]


def test_what_both_sides_took_out_or_moved_says_nothing(at: Desk):
    without = BASE.replace("- sits by the window\n", "")
    branch(at, without, without)
    for name in ("side", "main"):
        at.git("switch", "-q", name)
        at.write(f"memory/{name}.md", "# Other\n\n- something else\n")
        at.commit(name)
    at.git("merge", "-q", "--no-edit", "side")
    assert trailers(at) == []


def test_a_commit_that_is_no_merge_has_none(at: Desk):
    at.write("MEMORY.md", OURS)
    at.commit("by hand")
    assert at.git("log", "-1", "--format=%B") == "by hand\n\n"


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "commands",
    [
        ["merge -q --squash side", "commit -q --no-edit"],
        ["merge -q --squash side", "commit -q -m both"],
        ["rebase -q side"],
        ["cherry-pick side"],
    ],
)
def test_what_git_merges_into_one_commit_says_what_a_merge_says(at: Desk, commands: list[str]):
    branch(at, OURS, THEIRS)
    for command in commands:
        at.git(*command.split())
    assert at.read("MEMORY.md").count("green tea") == 2
    assert trailers(at) == [f"Mdmem-Contradicts: {PAIR}"]
    (conflict,) = Memory.open(at.root, os.environ).conflicts().conflicts
    assert {conflict.first.fact, conflict.second.fact} == {KYOTO, NARA}


def test_a_rebase_says_it_of_the_commit_that_met_the_other_and_a_pick_of_the_first_commit_says_nothing(
    at: Desk,
):
    branch(at, OURS, THEIRS)
    at.write("memory/b.md", "# B\n")
    at.commit("another")
    at.git("rebase", "-q", "side")
    assert (trailers(at), trailers(at, "HEAD~")) == ([], [f"Mdmem-Contradicts: {PAIR}"])
    at.git("switch", "-q", "--orphan", "root")
    at.write("memory/c.md", "# C\n")
    at.commit("first")
    at.git("switch", "-q", "main")
    at.git("cherry-pick", "root")
    assert trailers(at) == []


@pytest.mark.parametrize("how", ["fast-forward", "octopus"])
def test_what_makes_no_merge_of_two_commits_has_none(at: Desk, how: str):
    if how == "fast-forward":
        at.git("switch", "-qc", "side")
        at.write("MEMORY.md", THEIRS)
        at.commit("theirs")
        at.git("switch", "-q", "main")
        at.git("merge", "-q", "side")
    else:
        branch(at, OURS, BASE)
        at.git("switch", "-qc", "third", "main~1")
        at.write("memory/a.md", "# A\n")
        at.commit("third")
        at.git("switch", "-q", "main")
        at.git("merge", "-q", "--no-edit", "side", "third")
    assert trailers(at) == []


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "message", [["--no-edit"], ["-m", "Both"], ["-C", "side"], ["-F", "words"]]
)
def test_a_merge_that_waits_for_its_commit(at: Desk, message: list[str]):
    at.write("words", "Both\n")
    branch(at, OURS, THEIRS)
    at.git("merge", "-q", "--no-commit", "side")
    at.git("commit", "-q", *message)
    assert trailers(at) == [f"Mdmem-Contradicts: {PAIR}"]


def test_a_line_added_by_hand_does_the_same_and_starts_nothing_for_other_commits(at: Desk):
    hook_files.uninstall(at.workspace.repository.hooks_dir)
    python = at.root / "calls" / "python"
    at.hook(
        "prepare-commit-msg",
        f"set -e\n{hook_files.lines_to_add(str(python))['prepare-commit-msg']}",
    )
    at.write(
        "calls/python", f'#!/bin/sh\necho "$@" >>"$0.log"\nexec "{sys.executable}" "$@"\n'
    ).chmod(0o755)
    branch(at, OURS, THEIRS)
    assert not python.with_name("python.log").exists()
    at.git("merge", "-q", "--no-commit", "side")
    at.git("commit", "-q", "-m", "Both")
    assert (
        python.with_name("python.log").read_text()
        == "-P -m mdmem.githooks prepare-commit-msg .git/COMMIT_EDITMSG\n"
    )
    assert trailers(at) == [f"Mdmem-Contradicts: {PAIR}"]


@pytest.mark.parametrize(
    "commands",
    [["merge --squash -q side", "commit -q --no-edit"], ["rebase -q side"], ["cherry-pick side"]],
    ids=["squash", "rebase", "pick"],
)
def test_a_line_added_by_hand_does_the_same_for_all_that_git_merges(at: Desk, commands: list[str]):
    hook_files.uninstall(at.workspace.repository.hooks_dir)
    at.hook(
        "prepare-commit-msg",
        f"set -e\n{hook_files.lines_to_add(sys.executable)['prepare-commit-msg']}",
    )
    branch(at, OURS, THEIRS)
    for command in commands:
        at.git(*command.split())
    assert trailers(at) == [f"Mdmem-Contradicts: {PAIR}"]


@pytest.mark.parametrize("message", [["--no-edit"], ["-m", "Both"]])
def test_a_merge_in_a_linked_work_tree(at: Desk, tmp_path: Path, message: list[str]):
    """There git names the file of the message by a whole path, in the work tree's own folder."""
    branch(at, OURS, THEIRS)
    linked = tmp_path / "linked"
    at.git("worktree", "add", "-q", "-b", "other", str(linked))
    at.git("-C", str(linked), "merge", "-q", "--no-commit", "side")
    assert not (at.root / ".git" / "MERGE_HEAD").exists()
    at.git("-C", str(linked), "commit", "-q", *message)
    assert trailers(at, "other") == [f"Mdmem-Contradicts: {PAIR}"]


def test_of_what_a_person_decided_there_is_nothing_to_say(at: Desk):
    branch(at, OURS, THEIRS)
    at.git("merge", "-q", "--no-commit", "side")
    at.write("MEMORY.md", OURS)
    at.git("commit", "-q", "-a", "--no-edit")
    assert trailers(at) == []


def test_a_merge_that_is_finished_after_a_conflict(at: Desk):
    at.write("README.txt", "base\n")
    at.commit("a file of another sort")
    branch(at, OURS, THEIRS)
    for name in ("side", "main"):
        at.git("switch", "-q", name)
        at.write("README.txt", f"{name}\n")
        at.commit(name)
    at.git("merge", "-q", "--no-edit", "side", check=False)
    at.git("add", "-A")
    at.git("commit", "-q", "--no-edit")
    assert trailers(at) == [f"Mdmem-Contradicts: {PAIR}"]
    assert at.git("show", "HEAD:MEMORY.md").count("green tea") == 2


def test_a_pull_says_what_a_merge_says(at: Desk, tmp_path: Path):
    branch(at, OURS, THEIRS)
    at.git("-c", "pull.rebase=false", "pull", "-q", "--no-edit", ".", "side")
    assert trailers(at) == [f"Mdmem-Contradicts: {PAIR}"]


def test_below_the_root_and_after_a_rename(world: World, repository: Path):
    at = make_desk(world, repository, "sub", seed="# Memory\n")
    hook_files.install(at.workspace.repository.hooks_dir, sys.executable)
    setup.install(at.workspace, sys.executable)
    at.write("memory/tea.md", BASE)
    at.commit("tea")
    at.git("switch", "-qc", "side")
    at.git("mv", "memory/tea.md", "memory/drinks.md")
    at.write("memory/drinks.md", THEIRS)
    at.commit("theirs")
    at.git("switch", "-q", "main")
    at.write("memory/tea.md", OURS)
    at.commit("ours")
    at.git("merge", "-q", "--no-edit", "side")
    assert trailers(at) == [f"Mdmem-Contradicts: {PAIR}"]
    assert "Kyoto" in at.read("memory/drinks.md")
    assert "Nara" in at.read("memory/drinks.md")


def test_a_file_that_is_no_memory_says_nothing(at: Desk):
    at.write("docs/notes.md", BASE)
    at.commit("notes")
    branch(at, OURS, THEIRS, "docs/notes.md")
    at.git("merge", "-q", "-X", "ours", "--no-edit", "side")
    assert trailers(at) == []


def test_branches_that_were_merged_crosswise(at: Desk):
    branch(at, OURS, BASE.replace("window", "door"))
    at.git("branch", "cross")
    at.git("merge", "-q", "--no-edit", "side")
    at.git("switch", "-q", "side")
    at.git("merge", "-q", "--no-edit", "cross")
    at.write("MEMORY.md", at.read("MEMORY.md").replace("Kyoto", "Nara"))
    at.commit("theirs")
    at.git("switch", "-q", "main")
    at.write("MEMORY.md", at.read("MEMORY.md").replace("Kyoto", "Osaka"))
    at.commit("ours")
    repository = at.workspace.repository
    ours, theirs = (CommitId(at.git("rev-parse", name).strip()) for name in ("main", "side"))
    bases = merge_bases(repository, ours, theirs)
    assert len(bases) == 2
    base = OURS.replace("window", "door").encode()
    assert base_text(repository, bases, FilePath("MEMORY.md")) == base
    at.git("merge", "-q", "--no-edit", "side")
    assert trailers(at) == [f"Mdmem-Contradicts: {NARA} {fact('- likes the green tea of Osaka')}"]
    (file,) = files_of_both(repository, ours, theirs)
    assert (
        merge3(file.base, file.ours, file.theirs).data == at.git("show", "HEAD:MEMORY.md").encode()
    )


def test_histories_without_a_common_past(at: Desk):
    at.git("switch", "-q", "--orphan", "side")
    at.write("MEMORY.md", THEIRS)
    at.commit("theirs")
    at.git("switch", "-q", "main")
    at.git("merge", "-q", "--no-edit", "--allow-unrelated-histories", "side")
    assert at.read("MEMORY.md").count("green tea") == 2


def test_a_hook_of_ones_own_runs_first_and_its_words_stay(at: Desk):
    hook_files.uninstall(at.workspace.repository.hooks_dir)
    at.hook("prepare-commit-msg", 'printf "Merge, said by a hook\\n\\nReviewed-by: Ada\\n" > "$1"')
    hook_files.install(at.workspace.repository.hooks_dir, sys.executable)
    branch(at, OURS, THEIRS)
    at.git("merge", "-q", "--no-edit", "side")
    assert at.subjects()[0] == "Merge, said by a hook"
    assert trailers(at) == ["Reviewed-by: Ada", f"Mdmem-Contradicts: {PAIR}"]


def test_a_hook_that_fails_stops_no_merge(at: Desk, monkeypatch: pytest.MonkeyPatch):
    branch(at, OURS, THEIRS)
    at.write("mdmem.toml", "what is this\n")
    at.git("merge", "-q", "--no-edit", "side")
    assert trailers(at) == []
    assert at.read("MEMORY.md").count("green tea") == 2


def test_twice_is_harmless(at: Desk):
    branch(at, OURS, THEIRS)
    at.git("merge", "-q", "--no-commit", "side")
    message = at.write("message", "Merge\n\n# a comment of git\n")
    for _ in range(2):
        assert commit_hooks.add_merge_trailers(at.root, "message", os.environ) == (
            f"Mdmem-Contradicts: {PAIR}",
        )
    assert message.read_text() == f"Merge\n\nMdmem-Contradicts: {PAIR}\n\n# a comment of git\n"
