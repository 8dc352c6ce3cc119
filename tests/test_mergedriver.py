"""The merge driver: what stands in OURS, the exit status, and what it says; left to git where this
merge cannot be.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import World
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.merge3 import merging
from mdmem.githooks import mergedriver
from mdmem.model import FileKind
from mdmem.text.facts import fact_id

BASE = "# Memory\n\n## Work\n\n- works at Stripe\n- sits by the window\n"
OURS = BASE.replace("Stripe\n", "Stripe\n- likes Go\n")
THEIRS = BASE + "- walks to work\n"
BOTH = BASE.replace("Stripe\n", "Stripe\n- likes Go\n") + "- walks to work\n"
LOG = "# 2026-03-05\n\n## 09:30\n\n- {}\n"


@dataclass(frozen=True)
class Bench:
    """A folder with three versions of a file, as git puts them there."""

    world: World
    folder: Path

    def put(
        self, base: str | bytes = BASE, ours: str | bytes = OURS, theirs: str | bytes = THEIRS
    ) -> None:
        for name, text in zip("OAB", (base, ours, theirs), strict=True):
            (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def merge(
        self, path: str = "MEMORY.md", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the driver as git does, as a process."""
        command = [sys.executable, "-P", "-m", "mdmem", "merge-driver", "O", "A", "B", path]
        return self.world.run(self.folder, command, check=False, environment=environment)

    @property
    def result(self) -> str:
        return (self.folder / "A").read_bytes().decode()

    @property
    def left_over(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()} - set("OAB")


@pytest.fixture
def bench(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    bench = Bench(world, folder)
    bench.put()
    return bench


def main(path: str = "MEMORY.md") -> int:
    return mergedriver.main(["O", "A", "B", path])


# As a process, the way git runs it.


def test_two_sides_are_one_text(bench: Bench):
    done = bench.merge()
    assert (done.returncode, done.stdout, done.stderr, bench.result) == (0, "", "", BOTH)
    assert bench.left_over == set()


def test_a_contradiction_is_merged_and_said_in_one_line(bench: Bench):
    base = "## Work\n\n- employer: Stripe\n- city: Oslo\n"
    bench.put(base, base.replace("Stripe", "Linear"), base.replace("Stripe", "Figma"))
    done = bench.merge()
    pair = f"{fact_id('employer: Figma')} {fact_id('employer: Linear')}"
    assert (done.returncode, done.stderr) == (0, f"mdmem: MEMORY.md: 1 contradiction: {pair}\n")
    assert bench.result == "## Work\n\n- employer: Figma\n- employer: Linear\n- city: Oslo\n"


def test_at_most_five_pairs_are_named_and_what_is_kept_is_counted(bench: Bench):
    rows = [f"| row {number} | old |\n" for number in range(7)]
    base = "".join(["| what | how |\n|---|---|\n", *rows])
    ours = base.replace("old", "red").replace("| row 6 | red |\n", "")
    bench.put(base, ours, base.replace("old", "blue"))
    done = bench.merge()
    pairs = ", ".join(
        f"{fact_id(f'row {number} | blue')} {fact_id(f'row {number} | red')}" for number in range(5)
    )
    assert (done.returncode, done.stderr) == (
        0,
        f"mdmem: MEMORY.md: 6 contradictions: {pairs}, …; 1 line kept that one side removed\n",
    )


def test_what_cannot_be_merged_so_is_left_as_git_leaves_it(bench: Bench):
    bench.put("- a\n", "```\n- ours\n", "```\n- theirs\n")
    done = bench.merge(GITHEAD_1234="topic")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "MEMORY.md is merged by lines: a version ends inside an open fence" in done.stderr
    assert bench.result == "```\n<<<<<<< HEAD\n- ours\n=======\n- theirs\n>>>>>>> topic\n"


def test_its_way_in_loads_neither_the_command_line_nor_the_index(bench: Bench):
    code = "import sys; from mdmem.githooks import mergedriver; mergedriver.main(sys.argv[1:]); print(*sys.modules)"
    loaded = bench.world.run(
        bench.folder, [sys.executable, "-c", code, "O", "A", "B", "MEMORY.md"]
    ).stdout.split()
    assert {
        name
        for name in loaded
        if name.startswith(
            ("mdmem.cli", "mdmem.index", "mdmem.changes", "mdmem.memory", "git", "typer")
        )
    } == set()


@pytest.mark.parametrize("words", [[], ["O", "A", "B"], ["O", "A", "B", "MEMORY.md", "7"]])
def test_a_wrong_call_is_a_conflict_with_nothing_changed(
    bench: Bench, words: list[str], capfd: pytest.CaptureFixture[str]
):
    assert mergedriver.main(words) == 1
    assert bench.result == OURS
    assert capfd.readouterr().err == "mdmem: git runs this: merge-driver BASE OURS THEIRS PATH\n"


# Which files.


@pytest.mark.parametrize("path", ["AGENTS.md", "CLAUDE.md", "deep/TOOLS.md"])
def test_instructions_to_agents_are_merged_by_lines(
    bench: Bench, path: str, capfd: pytest.CaptureFixture[str]
):
    assert main(path) == 0
    assert bench.result == BOTH
    bench.put("- a\n", "- b\n", "- c\n")
    assert main(path) == 1
    assert bench.result.startswith("<<<<<<< HEAD\n- b\n")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("MEMORY.md", FileKind.EVERGREEN),
        ("notes/memory/2026-03-05.md", FileKind.DAILY),
        ("memory/2026-03-05-trip.md", FileKind.DAILY),
        ("memory/deep/2026-03-05.md", FileKind.EVERGREEN),
        ("a/b/CLAUDE.md", FileKind.BOOTSTRAP),
        ("", FileKind.EVERGREEN),
    ],
)
def test_the_kind_of_a_file_goes_by_its_name_alone(path: str, kind: FileKind):
    assert mergedriver.kind_by_name(path) is kind


@pytest.mark.parametrize(
    "path", ["memory/2026-03-05.md", "journal/2026/03.md", "-x", "a b\nc.md", "\x1b[31m.md"]
)
def test_a_log_is_merged_under_any_name(bench: Bench, path: str):
    bench.put("", LOG.format("ours"), LOG.format("theirs"))
    assert (main(path), bench.result) == (0, LOG.format("ours\n- theirs"))


# What git has to merge.


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (b"\xff\xfe caf\xe9\n", b"\xff\xfe other\n"),
        (b"- x\n" * 1_300_000, b"- y\n"),
    ],
    ids=["not UTF-8", "huge"],
)
def test_what_is_no_memory_is_merged_by_lines(
    bench: Bench, ours: bytes, theirs: bytes, capfd: pytest.CaptureFixture[str]
):
    bench.put("", ours, theirs)
    assert main() == 1
    merged = (bench.folder / "A").read_bytes()
    assert merged == b"<<<<<<< HEAD\n" + ours + b"=======\n" + theirs + b">>>>>>> theirs\n"
    assert capfd.readouterr().err.count("\n") == 1


def test_a_binary_stays_ours_as_git_has_it(bench: Bench, capfd: pytest.CaptureFixture[str]):
    bench.put("a\n", b"a\0b\n", b"a\0c\n")
    assert main() == 1
    assert (bench.folder / "A").read_bytes() == b"a\0b\n"
    assert "is unchanged" in capfd.readouterr().err


def test_the_settings_of_git_count_for_its_merge(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "merge.conflictStyle")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "diff3")
    bench.world.git(bench.folder, "init", "-q")
    bench.put("- a\n", "- b\n", "- c\n")
    main("AGENTS.md")
    assert "||||||| base\n- a\n" in bench.result


@pytest.mark.parametrize(
    "problem", [ValueError("boom"), RecursionError(), MemoryError(), KeyboardInterrupt()]
)
def test_a_failure_of_this_merge_is_a_merge_of_git(
    bench: Bench,
    problem: BaseException,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr(merging, "merge3", fail)
    assert main() == 0
    assert bench.result == BOTH
    assert capfd.readouterr().err.startswith("mdmem: MEMORY.md is merged by lines: ")


def test_without_git_there_is_a_conflict_and_ours_stays(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PATH", str(bench.folder))
    assert main("AGENTS.md") == 1
    assert bench.result == OURS
    assert capfd.readouterr().err == "mdmem: AGENTS.md is unchanged: git is not installed\n"


@pytest.mark.parametrize("name", ["O", "A", "B"])
def test_a_version_that_is_not_there(bench: Bench, name: str):
    (bench.folder / name).unlink()
    assert main() == 1
    assert bench.left_over == set()


def test_a_full_disk_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    def fail(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    assert main() == 1
    assert (bench.result, bench.left_over) == (OURS, set())
    assert capfd.readouterr().err.count("\n") == 1


def test_a_link_in_place_of_a_version_is_followed(bench: Bench):
    (bench.folder / "real").mkdir()
    (bench.folder / "A").rename(bench.folder / "real" / "A")
    (bench.folder / "A").symlink_to("real/A")
    assert main() == 0
    assert (bench.folder / "A").is_symlink()
    assert bench.result == BOTH


def test_the_mode_of_ours_stays(bench: Bench):
    (bench.folder / "A").chmod(0o640)
    main()
    assert (bench.folder / "A").stat().st_mode & 0o777 == 0o640


@given(st.lists(st.binary(max_size=40), min_size=3, max_size=3))
def test_any_bytes_end_with_zero_or_one(
    tmp_path_factory: pytest.TempPathFactory, versions: list[bytes]
):
    folder = tmp_path_factory.mktemp("any")
    names = [str(folder / name) for name in "OAB"]
    for name, data in zip(names, versions, strict=True):
        Path(name).write_bytes(data)
    assert mergedriver.main([*names, "MEMORY.md"]) in (0, 1)
    assert sorted(path.name for path in folder.iterdir()) == ["A", "B", "O"]
