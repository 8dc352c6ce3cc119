"""Paths beside the standard library's: the same words name the same, and say the same of it."""

import os
import pathlib
from collections.abc import Callable
from itertools import product
from pathlib import Path as Library
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.paths import Path as Own

NAMES = st.sampled_from(["a", "b.md", ".git", "..", ".", "", "c.tar.gz", "ü-\udcff", "/", "//", "-"])
PATHS = st.lists(NAMES, max_size=5).map("/".join)


def own(*parts: str) -> Any:
    return Own(*parts)


def said(make: Callable[[], Any]) -> Any:
    """What comes of it, paths as texts, or the kind of failure."""
    try:
        value = make()
    except (ValueError, OSError, TypeError) as problem:
        return type(problem)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return [os.fspath(one) if isinstance(one, os.PathLike) else one for one in value] if isinstance(value, tuple | list) else value


@given(one=PATHS, other=PATHS)
def test_the_same_words_name_the_same(one: str, other: str):
    ours, theirs = own(one), Library(one)
    assert str(ours) == str(theirs)
    assert os.fspath(ours) == os.fspath(theirs)
    for ask in ("name", "parent", "parts", "suffix", "stem"):
        assert said(lambda ask=ask: getattr(ours, ask)) == said(lambda ask=ask: getattr(theirs, ask))
    assert said(lambda: tuple(ours.parents)) == said(lambda: tuple(theirs.parents))
    assert said(lambda: ours / other) == said(lambda: theirs / other)
    assert said(lambda: other / ours) == said(lambda: other / theirs)
    assert said(lambda: own(one, other)) == said(lambda: Library(one, other))
    assert said(lambda: ours.is_relative_to(other)) == said(lambda: theirs.is_relative_to(other))
    assert said(lambda: ours.relative_to(other)) == said(lambda: theirs.relative_to(other))
    assert said(lambda: ours.with_name("new")) == said(lambda: theirs.with_name("new"))
    assert said(ours.absolute) == said(theirs.absolute)


@given(one=PATHS, other=PATHS)
def test_the_two_kinds_mix(one: str, other: str):
    assert (own(one) == Library(other)) == (Library(one) == Library(other))
    assert (Library(one) == own(other)) == (Library(one) == Library(other))
    assert (own(one) == own(other)) == (Library(one) == Library(other))
    assert hash(own(one)) == hash(Library(one))
    assert (own(one) < own(other)) == (Library(one) < Library(other))
    assert own(one) != one


ASKED = ["exists", "is_file", "is_dir", "is_symlink", "read_bytes", "read_text", "stat", "lstat", "resolve", "unlink", "rmdir", "readlink"]


THERE = ["file", "folder", "link", "broken", "missing", "file/below", "loop", "nul\0", "x" * 300]


@pytest.mark.parametrize(
    ("ask", "name"), [pair for pair in product(ASKED, THERE) if pair != ("resolve", "loop")]
)  # as releases of it differ
def test_the_same_is_said_of_what_is_there(tmp_path: Library, ask: str, name: str):
    answers = []
    for place in (tmp_path / "own", tmp_path / "library"):
        place.mkdir()
        (place / "file").write_text("text\n")
        (place / "folder").mkdir()
        (place / "link").symlink_to("file")
        (place / "broken").symlink_to("nowhere")
        (place / "loop").symlink_to("loop")
        at = own(str(place), name) if place.name == "own" else place / name
        answer = said(getattr(at, ask))
        if ask in ("stat", "lstat") and not isinstance(answer, type):
            answer = answer[0]
        if ask == "resolve" and isinstance(answer, str):
            answer = answer.replace(str(place), "")
        answers.append((answer, sorted(entry.name for entry in place.iterdir())))
    assert answers[0] == answers[1]


def test_files(tmp_path: Library):
    place = own(str(tmp_path))
    (place / "new").mkdir()
    (place / "new" / "deep").mkdir(parents=True, exist_ok=True)
    file = place / "new" / "a.md"
    with file.open("w", encoding="utf-8") as stream:
        stream.write("ü\n")
    assert file.read_text(encoding="utf-8") == "ü\n"
    assert file.rename(place / "b.md") == tmp_path / "b.md"
    assert (place / "b.md").replace(str(tmp_path / "c.md")) == own(str(tmp_path), "c.md")
    assert {*place.iterdir()} == {tmp_path / "new", tmp_path / "c.md"}
    assert sorted(place.glob("*.md")) == [tmp_path / "c.md"]
    assert all(isinstance(found, Own) for found in place.rglob("*"))
    (place / "c.md").unlink()
    (place / "c.md").unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        (place / "c.md").unlink()


def test_where_we_are(tmp_path: Library, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert Own.cwd() == pathlib.Path.cwd()
    assert own("a").absolute() == tmp_path / "a"


def test_the_root_of_two_slashes():
    assert own("//a/b.md").relative_to("//") == Library("//a/b.md").relative_to("//")


def test_what_there_is_not():
    with pytest.raises(AttributeError):
        own("a").no_such_thing  # noqa: B018
    assert not hasattr(own("a"), "__nothing__")
