"""Patterns that are kept: what comes back is what the library compiles, and whatever is wrong with the file is only slower."""

import marshal
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem import patterns

TEXTS = [
    r"(?i)^(?P<word>\w+)\s(?:a|(b))(?P<end>.)$",
    r"(?s)<!--.*?(?:-->|\Z)",
    r"[^\W\d_]{2,}(?<!x)(?=y)",
    r"(?:a++|b*+)(c)\1?",
    "[\u3040-\u30ff\U00020000]",
    rb"^@@ -\d+(?:,(\d+))? @@",
]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch):
    for name, value in (("_compiled", {}), ("_new", {}), ("_folder", None), ("_programs", None)):
        monkeypatch.setattr(patterns, name, value)


def again(folder: Path) -> None:
    """As in the next process."""
    patterns._compiled.clear()
    patterns._programs = None
    patterns.keep_in(str(folder))


def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(f"{text!r} is compiled again")

    monkeypatch.setattr(patterns, "_anew", refuse)


class TestKept:
    @pytest.mark.parametrize("text", TEXTS)
    def test_is_what_the_library_makes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
        patterns.keep_in(str(tmp_path))
        patterns.compiled(text)
        patterns.keep()
        again(tmp_path)
        no_library(monkeypatch)
        assert patterns.compiled(text) == re.compile(text)
        found, meant = patterns.compiled(text), re.compile(text)
        assert (found.pattern, found.flags, found.groups, found.groupindex) == (meant.pattern, meant.flags, meant.groups, meant.groupindex)

    @given(words=st.text(st.sampled_from("ab xy\nB<!->1"), max_size=20))
    def test_matches_what_the_librarys_matches(self, tmp_path_factory: pytest.TempPathFactory, words: str):
        folder = tmp_path_factory.mktemp("state")
        patterns.keep_in(str(folder))
        for text in TEXTS[:4]:
            again(folder)
            found = patterns.compiled(text)
            patterns.keep()
            assert [(match.span(), match.groups()) for match in found.finditer(words)] == [
                (match.span(), match.groups()) for match in re.finditer(text, words)
            ]

    def test_a_second_process_adds_to_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        for text in TEXTS:
            again(tmp_path)
            patterns.compiled(text)
            patterns.keep()
        again(tmp_path)
        no_library(monkeypatch)
        for text in TEXTS:
            assert patterns.compiled(text)

    def test_nothing_is_written_where_nothing_is_new(self, tmp_path: Path):
        patterns.keep_in(str(tmp_path))
        patterns.keep()
        assert not list(tmp_path.iterdir())

    def test_no_litter(self, tmp_path: Path):
        patterns.keep_in(str(tmp_path))
        patterns.compiled("a+")
        patterns.keep()
        assert [place.name for place in tmp_path.iterdir()] == [patterns.NAME]


class TestWrong:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\0" * 100,
            b"not a program",
            marshal.dumps(("another build", {"a+": (32, b"\1\0\0\0", 0, {}, (None,))})),
            marshal.dumps((patterns._build(), "no table")),
            marshal.dumps((patterns._build(), {"a+": (32, b"\x0f\x27\0\0\1\0\0\0\2\0\0\0", 0, {}, (None,))})),
            marshal.dumps((patterns._build(), {"a+": (32, b"odd", 0, {}, (None,))})),
            marshal.dumps((patterns._build(), {"a+": ("no", "program")})),
            marshal.dumps((patterns._build(), {"a+": 7})),
            marshal.dumps(7),
        ],
    )
    def test_file(self, tmp_path: Path, data: bytes):
        (tmp_path / patterns.NAME).write_bytes(data)
        patterns.keep_in(str(tmp_path))
        assert patterns.compiled("a+").findall("aa b a") == ["aa", "a"]
        patterns.keep()
        again(tmp_path)
        assert patterns.compiled("a+").findall("aa b a") == ["aa", "a"]

    def test_folder(self, tmp_path: Path):
        patterns.keep_in(str(tmp_path / "missing"))
        assert patterns.compiled("a+").findall("aa") == ["aa"]
        patterns.keep()
        assert not list(tmp_path.iterdir())

    def test_pattern(self):
        with pytest.raises(re.error):
            patterns.compiled("(")


def test_lazily_compiled():
    found = patterns.pattern(r"(\d)")
    assert not patterns._compiled
    assert found.sub(r"<\1>", "a1") == "a<1>"
    assert found.pattern == r"(\d)"


def test_does_without_the_library(tmp_path: Path):
    """What `re` loads is not loaded where the program is kept."""
    code = f"import sys; sys.path.insert(0, {str(Path(patterns.__file__).parents[1])!r}); from mdmem import patterns; "
    code += (
        f"patterns.keep_in({str(tmp_path)!r}); print(patterns.compiled('(?i)a(b)').match('AB')[1], 're' in sys.modules); patterns.keep()"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    said = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(2)]
    assert said == [["B", "True"], ["B", "False"]]
