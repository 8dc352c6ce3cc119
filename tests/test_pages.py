"""Files whose entries the index takes from the trail."""

from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.index import catching_up, pages
from mdmem.index.query import Filter
from mdmem.model.searches import Hit
from mdmem.model.writes import Forget, Log, Remember
from mdmem.text import document
from mdmem.text.scan import Parser, ScanResult, scan

NEVER = 10**9


def say(line: str) -> None:
    raise AssertionError(line)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def rebuilt_entries(at: Desk, many: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Hit, ...]:
    """All entries of the index, ended ones too, where so many files count as many."""
    monkeypatch.setattr(pages, "_MANY", many)
    finder = catching_up.rebuild_index(at.workspace, True, say).index.finder
    return finder.entries(Filter(history=True))


def scanned_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are scanned from now on."""
    scanned: list[str] = []

    def counted(source: str, first: int, parser: Parser) -> ScanResult:
        scanned.append(source)
        return scan(source, first, parser)

    document._parse_file.cache_clear()
    monkeypatch.setattr(document, "scan", counted)
    return scanned


def test_a_file_of_one_commit_is_scanned_once(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(10, 20):
        at.write(
            f"memory/2026-01-{day}.md", f"# 2026-01-{day}\n\n## 09:00\n\n- tea on the {day}th\n"
        )
    at.commit()
    scanned = scanned_texts(monkeypatch)
    assert len(rebuilt_entries(at, 1, monkeypatch)) == 12
    assert len(scanned) == 11


def test_entries_from_the_trail_are_those_of_a_parse(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.write(".gitattributes", "memory/crlf.md text eol=crlf\n")
    at.write("memory/crlf.md", "# C\r\n\r\n- one\r\n  two\r\n")
    at.write("memory/tags.md", "---\ntags: [a, b]\n---\n# T\n\n- same #b\n- same #b\n\ntext\n")
    at.write("memory/keys.md", "# K\n\n- editor: vim\n- editor: emacs\n- tea (until 2020-01-01)\n")
    at.write("memory/twice.md", "# T\n\n- first\n")
    at.write("memory/edited.md", "# E\n\n- one\n- two\n")
    at.write("memory/empty.md", "")
    at.write("memory/not.md", b"\xff")
    at.write("memory/gone.md", "- gone\n")
    at.write("memory/old.md", "# O\n\n- stays\n- as it is\n")
    at.commit()
    at.write("memory/twice.md", "A line above.\n\n# T\n\n- first\n")
    at.git("mv", "memory/old.md", "memory/new.md")
    at.git("rm", "-q", "memory/gone.md")
    at.commit()
    at.apply(Log("an entry"))
    at.apply(Remember("likes tea", section="Home"))
    at.apply(Log("not any more"))
    at.apply(Forget("likes tea"))
    at.write("memory/edited.md", "# E\n\n- two\n- three\n")
    at.write("memory/untracked.md", "- new\n")
    at.write("memory/staged.md", "- staged\n")
    at.git("add", "memory/staged.md")
    entries = rebuilt_entries(at, 1, monkeypatch)
    assert entries == rebuilt_entries(at, NEVER, monkeypatch)
    assert {hit.path for hit in entries} >= {
        f"memory/{name}.md" for name in ("crlf", "tags", "keys", "twice", "edited", "new", "staged")
    }
