"""`mdmem trends`: what git says of the Markdown of any repository, whatever is set there."""

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from commandline import mdmem
from conftest import World, examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.model import MAX_FILE_BYTES
from mdmem.model.reads import ShowFigures
from mdmem.past.lifetimes import LineCounter, half_life
from mdmem.queries.trends import markdown_trends
from mdmem.repo import runner

NOW = "2026-03-05T10:00:00"
DAY = 86_400
START = 1_760_000_000
IS_THERE = "is there"


class Repository:
    """A repository to try, with a commit a day."""

    def __init__(self, world: World, folder: Path, *options: str) -> None:
        self.world, self.folder, self.time = world, folder, START
        folder.mkdir(exist_ok=True)
        if not options or options[0] != IS_THERE:
            self.git("init", "-q", *options)

    def git(self, *words: str, check: bool = True) -> str:
        date = f"{self.time} +0000"
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        names = {
            f"GIT_{role}_{part}": "Ada"
            for role in ("AUTHOR", "COMMITTER")
            for part in ("NAME", "EMAIL")
        }
        done = self.world.git(self.folder, *words, check=check, environment=dates | names)
        return done.stdout

    def write(self, path: str | bytes, text: bytes) -> None:
        place = self.folder / os.fsdecode(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)

    def commit(self, author: str = "Ada", days: int = 1) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "m", f"--author={author} <a@b>")
        self.time += days * DAY

    def counted(self) -> tuple[int, int]:
        """The regular files that `git ls-files '*.md'` lists, and their lines."""
        words = ["git", "ls-files", "-sz", "--", "*.md"]
        listed = subprocess.run(words, cwd=self.folder, capture_output=True, check=True).stdout
        texts = []
        for entry in filter(None, listed.split(b"\0")):
            mode, blob = entry.split()[:2]
            if mode.startswith(b"100"):
                show = ["git", "cat-file", "blob", blob]
                texts.append(
                    subprocess.run(show, cwd=self.folder, capture_output=True, check=True).stdout
                )
        lines = sum(text.count(b"\n") + (text[-1:] not in (b"", b"\n")) for text in texts)
        return len(texts), lines

    def trends(self, *words: str) -> Any:
        done = self.world.run(
            self.folder, mdmem("trends", *words, "--json"), environment={"MDMEM_NOW": NOW}
        )
        return json.loads(done.stdout)

    def contents(self) -> Mapping[str, Any]:
        """Every file, the index and the folders of git included."""
        return {
            str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
            for path in self.folder.rglob("*")
        }


@pytest.fixture
def at(world: World, tmp_path: Path) -> Repository:
    return Repository(world, tmp_path / "tried")


def counts(repository: Repository) -> tuple[int, int]:
    answer = repository.trends()
    assert answer["added"] - answer["removed"] == answer["lines"]
    assert answer["lines"] == sum(f["lines"] for f in answer["largest"]) or answer["files"] > 10
    for name in ("commits", "added", "removed"):
        assert answer[name] == sum(author[name] for author in answer["authors"])
    return answer["files"], answer["lines"]


def busy(at: Repository, seed: int) -> None:
    """Edits, renames, merges (criss-cross too), deletions and files that come again."""
    rng = random.Random(seed)
    names = ["a.md", "docs/b.md", "docs/c d.md", "e.txt", 'docs/"q"\\.md', "ü.md", "g.md"]

    def change() -> None:
        name = rng.choice(names)
        place = at.folder / name
        kept = place.read_bytes().splitlines(keepends=True) if place.exists() else []
        action = rng.random()
        if kept and action < 0.15:
            place.unlink()
        elif kept and action < 0.35:
            target = at.folder / rng.choice(names)
            target.parent.mkdir(exist_ok=True)
            place.rename(target)
        else:
            end = rng.choice([b"\n", b"\r\n", b""])
            where = rng.randrange(len(kept) + 1)
            kept[where : where + rng.randrange(4)] = [
                b"-- %d\n" % rng.randrange(10**9) for _ in range(rng.randrange(6))
            ]
            at.write(name, b"".join(kept) + (b"+ last %d" % rng.randrange(99)) + end)

    change()
    at.commit()
    at.git("branch", "side")
    for _ in range(8):
        for branch in ("side", "main"):
            at.git("switch", "-q", branch)
            for _ in range(rng.randrange(1, 4)):
                change()
                at.commit(rng.choice(["Ada", "Bob", "Łuc"]))
        tips = [at.git("rev-parse", name).strip() for name in ("main", "side")]
        for branch, other in (("main", tips[1]), ("side", tips[0])):
            at.git("switch", "-q", branch)
            at.git("merge", "-q", "-X", "ours", "--no-ff", "-m", "merge", other, check=False)
            at.commit()
    at.git("switch", "-q", "main")


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(4))
def test_lines_are_those_of_the_files(at: Repository, seed: int) -> None:
    busy(at, seed)
    assert counts(at) == at.counted()
    (at.folder / "docs").mkdir(exist_ok=True)
    below = Repository(at.world, at.folder / "docs", IS_THERE)
    assert counts(below) == below.counted()


def test_a_repository_of_sha256(world: World, tmp_path: Path) -> None:
    at = Repository(world, tmp_path / "tried", "--object-format=sha256")
    busy(at, 1)
    assert counts(at) == at.counted() != (0, 0)


def test_a_shallow_clone(at: Repository) -> None:
    busy(at, 2)
    at.git("clone", "-q", "--depth=3", f"file://{at.folder}", "../clone")
    clone = Repository(at.world, at.folder.parent / "clone", IS_THERE)
    assert counts(clone) == clone.counted() == at.counted()


def test_odd_files(at: Repository) -> None:
    at.write("a.md", b"one\r\ntwo\rthree\x0c\n\xff\xfe")
    at.write("binary.md", b"\0\0\nb\n\0")
    at.write("empty.md", b"")
    at.write("README.MD", b"not listed\n")
    at.write(b"tab\t \xff\xe9\n.md", b"-- a\n++ b\n@@ -1 +1 @@\n\\ No\ndiff --git a/a.md b/a.md\n")
    at.write(".md", b"x\n")
    at.write("notes.txt", b"".join(b"%d\n" % number for number in range(50)))
    (at.folder / "link.md").symlink_to("a.md")
    at.git("init", "-q", "sub.md")
    at.world.git(
        at.folder / "sub.md",
        *("-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "m"),
    )
    at.write(".gitattributes", b"binary.md binary\na.md -diff text eol=crlf\n")
    at.commit()
    assert counts(at) == at.counted()
    (at.folder / "link.md").unlink()
    at.write("link.md", b"a file now\n")
    (at.folder / "notes.txt").rename(at.folder / "notes.md")
    (at.folder / "empty.md").rename(at.folder / "void.md")
    (at.folder / "a.md").chmod(0o755)
    at.write(b"tab\t \xff\xe9\n.md", b"++ b\n-- a\n")
    at.commit()
    assert counts(at) == at.counted() == (7, at.counted()[1])
    (at.folder / "link.md").unlink()
    (at.folder / "link.md").symlink_to("notes.md")
    (at.folder / ".md").unlink()
    at.commit()
    assert counts(at) == at.counted()


def test_a_version_larger_than_any_that_is_read_is_left_out(at: Repository) -> None:
    at.write("MEMORY.md", b"- a\n" * 3)
    at.commit()
    at.write("MEMORY.md", b"- a\n" * 1_250_001)
    at.commit()
    at.write("MEMORY.md", b"- a\n" * 3)
    at.commit()
    data = at.trends()
    assert (data["commits"], data["lines"], data["added"], data["removed"]) == (3, 3, 3, 0)


SETTINGS = {
    "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.renames": "false",
    "diff.context": "9", "diff.interHunkContext": "9", "diff.algorithm": "patience",
    "diff.relative": "true", "diff.orderFile": "order", "diff.submodule": "log",
    "diff.indentHeuristic": "false", "diff.suppressBlankEmpty": "true", "diff.colorMoved": "zebra",
    "diff.renameLimit": "1", "diff.wsErrorHighlight": "all", "color.ui": "always",
    "color.diff": "always", "log.showSignature": "true", "log.showRoot": "false",
    "log.follow": "true", "log.diffMerges": "combined", "log.decorate": "full",
    "log.date": "relative", "log.mailmap": "true", "format.pretty": "fuller",
    "core.quotePath": "true", "core.pager": "touch ran; cat", "pager.log": "touch ran; cat",
    "diff.external": "touch ran; true", "core.fsmonitor": "touch ran; true",
    "gpg.program": "touch ran; true", "diff.own.textconv": "touch ran; echo",
    "diff.own.command": "touch ran; true", "diff.own.binary": "true",
    "diff.own.xfuncname": "^.*$", "filter.own.clean": "touch ran; cat",
    "filter.own.smudge": "touch ran; cat", "filter.own.process": "touch ran; cat",
    "i18n.logOutputEncoding": "UTF-16", "core.attributesFile": "own-attributes",
}  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize("where", ["--local", "--global"])
def test_no_setting_counts_and_nothing_is_written(at: Repository, where: str) -> None:
    busy(at, 3)
    (at.folder / "order").write_text("*.txt\n")
    before = at.trends()
    at.write(".gitattributes", b"*.md diff=own filter=own\n")
    for name, value in SETTINGS.items():
        at.git("config", where, name, value.replace("touch ran", f"touch {at.folder}/ran"))
    os.utime(at.folder / "order", (0, 0))  # the index would be refreshed
    as_it_was = at.contents()
    assert at.trends() == before
    assert at.contents() == as_it_was
    assert not (at.folder / "ran").exists()
    state = at.world.home / ".local"
    assert not state.exists() or not list(state.rglob("*.db"))


def test_figures(at: Repository) -> None:
    at.write("a.md", b"1\n2\n3\n4\n")
    at.commit("Ada", days=2)
    at.write("a.md", b"1\n2\n")
    at.commit("Bob", days=4)
    at.git("mv", "a.md", "b.md")
    at.write("b.md", b"1\n2\n5\n")
    at.commit("Ada")
    answer = at.trends("--weeks", "30")
    assert answer["half_life_days"] is None  # of 5 lines 2 have gone
    assert [(a["name"], a["commits"], a["added"], a["removed"]) for a in answer["authors"]] == [
        ("Ada", 2, 5, 0),
        ("Bob", 1, 0, 2),
    ]
    last = datetime.fromtimestamp(START + 6 * DAY, UTC).date().isoformat()
    assert answer["authors"][0]["last"] == last
    assert answer["largest"] == [{"path": "b.md", "lines": 3}]
    assert answer["weeks"][:2] == [
        {"week": "2025-W41", "commits": 2, "added": 4, "removed": 2, "lines": 2},
        {"week": "2025-W42", "commits": 1, "added": 1, "removed": 0, "lines": 3},
    ]
    assert answer["weeks"][-1] == {
        **{"week": "2026-W10", "commits": 0, "added": 0, "removed": 0, "lines": 3}
    }
    newest = at.trends("--weeks", "1")
    assert newest["weeks"] == answer["weeks"][-1:]
    assert {**newest, "weeks": []} == {**answer, "weeks": []}
    at.write("b.md", b"6\n")
    at.commit()
    assert at.trends()["half_life_days"] == 2.0  # of 6 lines 1 lasted a day, 2 two days


@pytest.mark.parametrize(
    ("environment", "blocks"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"LC_ALL": "C"}, False),
        ({"LC_ALL": "POSIX"}, False),
    ],
)
def test_text(at: Repository, environment: Mapping[str, str], blocks: bool) -> None:
    at.write("a.md", b"1\n2\n")
    at.commit("Eve \x1b[31m")
    out = at.world.run(
        at.folder, mdmem("trends", "--weeks", "30"), environment={"MDMEM_NOW": NOW} | environment
    ).stdout
    assert "1 file, 2 lines; more than half of all lines ever added are still there\n" in out
    assert "  largest files\n" in out
    assert (any("▁" <= letter <= "█" for letter in out), "#.." in out) == (blocks, not blocks)
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("trends", "--weeks", "0"), "usage"),
        (("trends", "--weeks", "x"), "usage"),
        (("trends", "nowhere"), "bad-path"),
        (("trends", ".."), "not-a-repository"),
    ],
)
def test_failures(at: Repository, words: tuple[str, ...], code: str) -> None:
    done = at.world.run(at.folder, mdmem(*words, "--json"), check=False)
    assert (done.stdout, json.loads(done.stderr)["error"]) == ("", code)


def test_a_history_that_cannot_be_read(at: Repository) -> None:
    at.write("a.md", b"1\n")
    at.commit()
    blob = at.git("rev-parse", "HEAD:a.md").strip()
    (at.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    done = at.world.run(at.folder, mdmem("trends", "--json"), check=False)
    assert (done.stdout, json.loads(done.stderr)["error"]) == ("", "git-failed")


def test_clocks_that_were_ahead() -> None:
    counter = LineCounter(datetime(2026, 3, 5, tzinfo=UTC), UTC)
    day = int(datetime(2026, 2, 1, tzinfo=UTC).timestamp())
    log = (
        f"\0{2**45}\0Ada\n\ndiff --git a/a.md b/a.md\nnew file mode 100644\n@@ -0,0 +1 @@\n+x\n"
        f"\0{day}\0Ada\n\ndiff --git a/a.md b/a.md\n@@ -1 +1 @@\n-x\n+y\n"
    )
    counter.read(iter(log.encode().splitlines(keepends=True)))
    trends = counter.figures().trends(datetime(2026, 3, 5, tzinfo=UTC), UTC, 12)
    assert counter.is_ahead
    assert (trends.lines, trends.added, trends.removed) == (1, 2, 1)
    assert sum(week.added for week in trends.weeks) == 2


def test_what_was_read_is_kept_and_gone_on_with(
    at: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, logs = tmp_path / "lines.json", []
    output_lines = runner.output_lines
    monkeypatch.setattr(
        runner,
        "output_lines",
        lambda folder, words: logs.append(words) or output_lines(folder, words),
    )

    def read(now: str = "2026-03-06T00:00:00+00:00") -> bool:
        """True if it is told without git, and always as if nothing had been kept."""
        logs.clear()
        environment = {**at.world.environment, "MDMEM_NOW": now}
        found = markdown_trends(at.folder, ShowFigures(), environment, kept)
        is_told = not logs
        assert found == markdown_trends(at.folder, ShowFigures(), environment)
        return is_told

    assert read()  # there is nothing to read
    at.write("a.md", b"1\n2\n3\n")
    at.write("b.md", b"x\n" * 40)
    at.commit()
    assert [read(), read(), read("2027-03-06T00:00:00+00:00")] == [False, True, True]
    at.write("a.md", b"1\n3\n4\n")
    at.commit()
    assert not read()
    assert any(word.startswith("^") for word in logs[0])
    at.git("mv", "b.md", "c d.md")
    at.commit()
    assert [read(), read()] == [False, True]
    first = at.git("rev-parse", "HEAD").strip()
    at.git("checkout", "-q", "-b", "other", "HEAD~1")
    at.write("b.md", b"x\n" * 41)
    at.commit()
    assert [read(), read()] == [False, True]
    at.git("merge", "-q", "-m", "m", first)
    assert [read(), read()] == [False, True]
    at.git("reset", "-q", "--hard", first)
    assert [read(), read()] == [False, True]
    assert not read("2025-01-01T00:00:00+00:00")  # before what was kept
    assert read()
    at.write("big.md", b"word\n" * (MAX_FILE_BYTES // 5 + 1))
    at.write("nul.md", b"a\0b\n")
    at.commit()
    assert [read(), read()] == [False, True]
    at.write("big.md", b"one\ntwo\n")
    at.write("nul.md", b"a\0b\nc\n")
    at.commit()
    assert [read(), read()] == [False, True]
    for damage in (
        b"",
        b"[1]\n",
        kept.read_bytes()[:-20],
        kept.read_bytes().replace(b"[", b"{", 3),
    ):
        kept.write_bytes(damage)
        read()
        at.write("a.md", damage[:9] + b"\n")
        at.commit()
        read()
        assert read()


def test_a_commit_that_comes_while_lines_are_read_is_read_the_next_time(
    at: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.write("a.md", b"1\n")
    at.commit()
    kept, output_lines = tmp_path / "lines.json", runner.output_lines
    environment = {**at.world.environment, "MDMEM_NOW": "2026-03-06T00:00:00+00:00"}

    def with_a_commit(folder: Path, words: list[str]) -> object:
        monkeypatch.setattr(runner, "output_lines", output_lines)
        at.write("a.md", b"1\n2\n")
        at.commit()
        return output_lines(folder, words)

    monkeypatch.setattr(runner, "output_lines", with_a_commit)
    assert markdown_trends(at.folder, ShowFigures(), environment, kept).lines == 1
    fresh = markdown_trends(at.folder, ShowFigures(), environment)
    assert markdown_trends(at.folder, ShowFigures(), environment, kept) == fresh
    assert fresh.lines == 2


def test_history_that_is_fetched_later_counts(at: Repository, tmp_path: Path) -> None:
    for number in range(4):
        at.write("a.md", b"1\n" * number)
        at.commit()
    clone, kept = tmp_path / "clone", tmp_path / "lines.json"
    at.git("clone", "-q", "--depth", "2", f"file://{at.folder}", str(clone))
    environment = {**at.world.environment, "MDMEM_NOW": "2026-03-06T00:00:00+00:00"}
    shallow = markdown_trends(clone, ShowFigures(), environment, kept)
    at.git("-C", str(clone), "fetch", "-q", "--unshallow")
    whole = markdown_trends(clone, ShowFigures(), environment, kept)
    assert whole == markdown_trends(at.folder, ShowFigures(), environment) != shallow


AGES = st.dictionaries(st.integers(0, 40), st.integers(1, 9), max_size=8)


@given(AGES, AGES)
@examples(200)
def test_half_life_is_the_median_of_kaplan_and_meier(
    ended: dict[int, int], living: dict[int, int]
) -> None:
    ends, alive = Counter(ended), Counter(living)
    surviving, expected = 1.0, None
    for age in range(42):
        at_risk = sum(n for a, n in (*ends.items(), *alive.items()) if a >= age)
        if at_risk and expected is None:
            surviving -= surviving * ends[age] / at_risk
            expected = age if surviving < 0.5000001 else None
    assert half_life(ended, living) == expected
    if not living and ended:  # nothing is censored: the plain median
        ages = sorted(ends.elements())
        assert half_life(ended, {}) == ages[(len(ages) - 1) // 2]
