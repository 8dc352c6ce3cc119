import io
import json
import os
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspaces import TOKEN

from mdmem.model.errors import (
    MdmemError,
    SectionProblem,
    StorageProblem,
    UsageProblem,
    attempt,
    json_line,
    printable,
    report,
)

STEERS = "\x1b\x9b\x07\x7f\u202e\u2066\u2028"


def failing(failure: BaseException) -> Callable[[], int]:
    def main() -> int:
        raise failure

    return main


@pytest.mark.parametrize(
    ("failure", "status", "printed"),
    [
        (
            SectionProblem("section-not-found", "no section 'A'", "Try B."),
            1,
            "mdmem: no section 'A'\nhint: Try B.\n",
        ),
        (SectionProblem("section-not-found", "no section"), 1, "mdmem: no section\n"),
        (UsageProblem("not a date"), 2, "mdmem: not a date\n"),
        (StorageProblem("no room"), 1, "mdmem: no room\n"),
        (
            OSError(28, "No space left on device", "a.md"),
            1,
            "mdmem: No space left on device: a.md\n",
        ),
        (KeyboardInterrupt(), 130, "mdmem: interrupted\n"),
        (MdmemError("x", "a\x1b[31m\u202eb\nc"), 1, "mdmem: a\ufffd[31m\ufffdb\nc\n"),
    ],
)
def test_failures(
    failure: BaseException, status: int, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(failing(failure)) == status
    assert capsys.readouterr() == ("", printed)


def test_failures_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        report(
            failing(SectionProblem("section-changed", "Größe", "hint", etag="abc", lines=[1])),
            as_json=True,
        )
        == 1
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err) == {
        "error": "section-changed",
        "message": "Größe",
        "hint": "hint",
        "etag": "abc",
        "lines": [1],
    }
    assert report(failing(OSError(28, "full")), as_json=True) == 1
    assert json.loads(capsys.readouterr().err)["error"] == "storage"


def test_a_bug_shows_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(failing(ZeroDivisionError("oops"))) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" in err
    assert err.endswith("ZeroDivisionError: oops\nmdmem: this is a bug in mdmem\n")
    assert report(failing(KeyError("x")), as_json=True) == 3
    assert json.loads(capsys.readouterr().err)["error"] == "bug"


def test_no_secret_is_in_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> str:
        raise SectionProblem(
            "section-changed",
            f"the key is {TOKEN}",
            f"not {TOKEN}",
            text=f"token {TOKEN}",
            facts=[{"text": TOKEN, "line": 7}],
            pair=(TOKEN, None),
        )

    failure = attempt(fail)
    assert isinstance(failure, dict)
    assert (failure["facts"][0]["line"], failure["pair"][1]) == (7, None)
    report(failing(SectionProblem("x", f"the key is {TOKEN}", f"not {TOKEN}")))
    plainly = capsys.readouterr().err
    report(fail, as_json=True)  # type: ignore[arg-type]
    for text in (json.dumps(failure), plainly, capsys.readouterr().err):
        assert "[REDACTED:github-token]" in text
        assert TOKEN not in text


def test_an_attempt_of_a_server_ends_in_its_text_or_in_a_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def codes(failure: Exception) -> str:
        def work() -> str:
            raise failure

        answer = attempt(work)
        assert isinstance(answer, dict)
        return answer["error"]

    assert attempt(lambda: "text") == "text"
    assert codes(SectionProblem("section-changed", "Größe")) == "section-changed"
    assert codes(BrokenPipeError(32, "broken")) == codes(OSError(28, "full")) == "storage"
    assert capsys.readouterr() == ("", "")
    assert codes(ZeroDivisionError("oops")) == "bug"
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("ZeroDivisionError: oops\n")


def test_an_interrupt_while_a_class_is_created_is_an_interrupt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work() -> None:
        raise RuntimeError(
            "Error calling __set_name__"
        ) from KeyboardInterrupt()  # as Python 3.11 does

    assert report(work) == 130
    assert capsys.readouterr() == ("", "mdmem: interrupted\n")


@pytest.mark.parametrize(("answer", "status"), [(None, 0), (0, 0), (1, 1)])
def test_what_main_answers_is_the_status(answer: int | None, status: int) -> None:
    assert report(lambda: answer) == status


def test_a_broken_pipe_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with io.TextIOWrapper(io.FileIO(writing, "w"), write_through=True) as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert report(lambda: print("x")) == 0
        print("written to nowhere")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain Größe 日本 👩‍👩‍👧", "plain Größe 日本 👩‍👩‍👧"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\rb", "a\ufffdb"),
        ("\x1b]0;x\x07", "\ufffd]0;x\ufffd"),
        ("a\u202eb\u2066c", "a\ufffdb\ufffdc"),
        ("a\x9bb\x7f", "a\ufffdb\ufffd"),
        ("a\u00a0\u3000b", "a\u00a0\u3000b"),
        ("\ud800", "\ufffd"),
    ],
)
def test_what_could_steer_a_terminal_is_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(max_size=40))
def test_what_is_printable_stays_so(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert len(printable(text)) == len(text)
    assert not set(printable(text)) & {"\x1b", "\x9b", "\r", "\x07", "\u202e"}


class TestJson:
    def test_is_one_line_that_people_can_read(self):
        assert json_line({"text": "naïve 日本語\n"}) == '{"text": "naïve 日本語\\n"}'

    @given(
        st.text(
            st.one_of(
                st.sampled_from(STEERS + '\n\t"\\\U000e0001\ud800 \u00a0é'),
                st.characters(codec=None),
            )
        )
    )
    def test_says_the_same_and_steers_nothing(self, text: str):
        line = json_line({text: [text]})
        assert json.loads(line) == {text: [text]}
        assert not set(line) & set(STEERS + "\n\t\ud800")
