"""Refusals of a write: secrets in what goes into the message, errors that are not allowed, and
blocks that memory gave.
"""

import pytest
from workspaces import TOKEN, code_of

from mdmem.model import Problem
from mdmem.model.errors import RefusedChange, field
from mdmem.model.writes import WriteOptions
from mdmem.text.check import refuse_errors, refuse_recalled, secrets_in_options, secrets_in_text


@pytest.mark.parametrize("name", ["reason", "session", "actor"])
def test_a_secret_in_an_option(name: str) -> None:
    (problem,) = secrets_in_options(WriteOptions(**{name: f"first\n{TOKEN}"}))
    assert problem == Problem(
        path=field(name),
        line=2,
        code="secret-found",
        level="error",
        message="possible secret (github-token)",
        hint=f"Remove it. False alarm? Use {field('allow')} secret.",
        kind="github-token",
    )
    assert list(secrets_in_options(WriteOptions(**{name: "words"}))) == []


def test_each_option_is_searched() -> None:
    options = WriteOptions(reason=TOKEN, session=TOKEN, actor=TOKEN)
    assert [problem.path for problem in secrets_in_options(options)] == [
        field("reason"),
        field("session"),
        field("actor"),
    ]
    assert list(secrets_in_options(WriteOptions())) == []


def problem(code: str, line: int = 3, level: str = "error", kind: str | None = None) -> Problem:
    return Problem(
        path="a.md",
        line=line,
        code=code,
        level=level,
        message=f"it is {code}",
        hint="Do it.",
        kind=kind,
    )


def test_the_first_error_that_is_not_allowed_is_told() -> None:
    (secret,) = secrets_in_text("title", TOKEN)
    problems = [
        problem("odd", level="warning"),
        problem("shrink"),
        problem("conflict-marker", 4),
        secret,
    ]
    with pytest.raises(RefusedChange) as caught:
        refuse_errors(problems, frozenset({"shrink"}))
    assert (caught.value.code, caught.value.message, caught.value.marked_hint) == (
        "conflict-marker",
        "a.md:4: it is conflict-marker",
        "Do it.",
    )
    assert caught.value.details == {"line": 4}


def test_a_secret_is_refused_with_its_kind() -> None:
    (secret,) = secrets_in_text("title", TOKEN)
    with pytest.raises(RefusedChange) as caught:
        refuse_errors([secret], frozenset({"shrink"}))
    assert (caught.value.code, caught.value.marked_hint, caught.value.details) == (
        "secret-found",
        secret.hint,
        {"line": 1, "kind": "github-token"},
    )
    refuse_errors([secret], frozenset({"secret"}))
    refuse_errors([], frozenset())


@pytest.mark.parametrize(
    ("texts", "before", "is_refused"),
    [
        (("- tea", ""), None, False),
        (("<mdmem-context>",), None, True),
        (("words", "x </mdmem-context>"), None, True),
        (('<MDMEM-Context v="1">',), b"", True),
        (("context of mdmem",), None, False),
        (("&lt;mdmem-context&gt;",), None, True),
        (("words &amp;lt;/MDMEM-context&amp;gt;",), None, True),
        (("&mdmem-context;",), None, False),
        # A file that has such marks may keep as many, whatever its encoding.
        (("<mdmem-context>\n</mdmem-context>",), b"<mdmem-context>\n</mdmem-context>", False),
        (("<mdmem-context>", "</mdmem-context>"), b"\xff<mdmem-context>", True),
        (("<mdmem-context>",), b"\xff <mdmem-context>", False),
    ],
)
def test_a_block_that_memory_gave_is_not_stored(
    texts: tuple[str, ...], before: bytes | None, is_refused: bool
) -> None:
    if is_refused:
        assert code_of(lambda: refuse_recalled(texts, before)) == "recalled-text"
    else:
        refuse_recalled(texts, before)
