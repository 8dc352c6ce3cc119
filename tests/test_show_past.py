"""Sections and files as they were: from one line, from several, after a rebase, at a commit."""

from __future__ import annotations

import pytest
from test_two_clones import Pair, memory, pair

from mdmem.model.errors import HistoryProblem, PathProblem, SectionProblem
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import Search
from mdmem.model.writes import Log, Remember

__all__ = ["pair"]


def shown(
    pair: Pair, day: str, section: str | None = "Preferences", file: str | None = None
) -> SectionView:
    return memory(pair.ada).show_as_of(Show(file=file, section=section), day)


def test_on_one_line(pair: Pair) -> None:
    pair.at("2026-03-06", "09:00")
    memory(pair.ada).apply(Remember("Zed", key="editor", section="Preferences"))
    view = shown(pair, "2026-03-06")
    assert "- editor: Zed" in view.text
    assert (view.as_of, view.said, view.uncommitted) == ("2026-03-06", (), False)
    assert view.commits == (pair.ada.git("rev-parse", "HEAD").strip(),)


def test_two_sides_that_had_not_met_are_merged(pair: Pair) -> None:
    pair.meet()
    pair.at("2026-03-07", "09:00")
    memory(pair.ada).apply(Remember("Zed", key="editor", section="Preferences"))
    memory(pair.bo).apply(Remember("zsh", key="shell", section="Preferences"))
    memory(pair.bo).apply(Log("the boiler was serviced"))
    pair.at("2026-03-09", "09:00")
    pair.meet()
    memory(pair.ada).apply(Remember("Emacs", key="editor", section="Preferences"))
    view = shown(pair, "2026-03-08")
    assert view.text.split("\n")[1:4] == ["- editor: Zed", "- shell: zsh", "- drinks green tea"]
    assert (len(view.commits), view.said) == (2, ())
    assert "the boiler was serviced" in shown(pair, "2026-03-08", None, "memory/2026-03-07.md").text
    assert "- editor: Emacs" in shown(pair, "2026-03-09").text


def test_what_a_rebase_put_after_other_commits_follows(pair: Pair) -> None:
    pair.meet()
    pair.at("2026-03-07", "09:00")
    memory(pair.ada).apply(Remember("Zed", key="editor", section="Preferences"))
    pair.at("2026-03-09", "09:00")
    memory(pair.bo).apply(Remember("likes dark rooms", section="Preferences"))
    pair.bo.git("push", "-q")
    pair.ada.git("pull", "-q", "--rebase")
    view = shown(pair, "2026-03-08")
    searched = memory(pair.ada).search(Search("editor", as_of="2026-03-08")).hits
    assert [hit.text for hit in searched if not hit.near] == ["editor: Zed"]
    assert view.text.strip().split("\n") == ["- shell: fish", "- drinks green tea"]
    assert view.said == ("- editor: Zed",)


def test_at_a_commit(pair: Pair) -> None:
    first = pair.ada.git("rev-parse", "HEAD").strip()
    pair.at("2026-03-07", "09:00")
    memory(pair.ada).apply(Remember("Zed", key="editor", section="Preferences"))
    view = shown(pair, first)
    assert "- editor: Helix" in view.text
    assert (view.commits, view.said) == ((first,), ())


@pytest.mark.parametrize(
    ("day", "section", "file", "problem", "code"),
    [
        ("2026-03-06", "Nowhere", None, SectionProblem, "section-not-found"),
        ("2026-03-06", None, "memory/2026-03-09.md", PathProblem, "file-not-found"),
        ("1999-01-01", "Work", None, HistoryProblem, "before-history"),
        ("no day", "Work", None, HistoryProblem, "commit-not-found"),
    ],
)
def test_failures(
    pair: Pair,
    day: str,
    section: str | None,
    file: str | None,
    problem: type[PathProblem],
    code: str,
) -> None:
    pair.at("2026-03-06", "09:00")
    memory(pair.ada).apply(Log("it rains"))
    pair.at("2026-03-09", "09:00")
    memory(pair.ada).apply(Log("it rains again"))
    with pytest.raises(problem) as caught:
        shown(pair, day, section, file)
    assert caught.value.code == code
