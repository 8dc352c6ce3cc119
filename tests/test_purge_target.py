"""The words of a purge taken out of bytes."""

import unicodedata

import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.model import FactId
from mdmem.model.errors import TextProblem
from mdmem.purge.target import PURGED_MARK, purge_rules, purge_target, purged_message, purged_text
from mdmem.text import facts

WORDS = "secret plan of Zoë"
FACT = facts.fact_id(WORDS)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"# T\n\n- a\n- {WORDS}\n- b\n", "# T\n\n- a\n- b\n"),
        (f"- [fact] {WORDS} #tag <!-- c --> ^id\n- b\n", "- b\n"),
        ("- secret plan\n  of Zoë\n\n- b\n", "\n- b\n"),
        (f"* {WORDS.upper()}\n* b\n", "* b\n"),
        (f"1. {unicodedata.normalize('NFD', WORDS)}\n2. b\n", "2. b\n"),
        (f"\ufeff- {WORDS}\r\n- b\r\n", "\ufeff- b\r\n"),
        (f"- {WORDS}\n  - inner {WORDS}\n", "- [PURGED]\n  - inner [PURGED]\n"),
        (f"- the {WORDS} again {WORDS}\n", "- the [PURGED] again [PURGED]\n"),
        (f"## {WORDS}\n\ntext\n", "## [PURGED]\n\ntext\n"),
        (f"- x\n  - {WORDS}\n", "- x\n  - [PURGED]\n"),
        ("the secret\tplan\r\n  of\u00a0Zoë, x\r\n", "the [PURGED], x\r\n"),
        ("> a secret plan\n> of Zoë\n", "> a [PURGED]\n"),
        (f"a{unicodedata.normalize('NFD', WORDS)}b", "a[PURGED]b"),
        ("- secret plan\n- of Zoë\n", "- secret plan\n- of Zoë\n"),
        (f"```\n- {WORDS}\n```\n", "```\n- [PURGED]\n```\n"),
        (f"- {WORDS} {WORDS.upper()}\n- b\n", "- b\n"),
        (f"---\nname: {WORDS}\n---\n", "---\nname: [PURGED]\n---\n"),
        ("nothing here\n", "nothing here\n"),
        (f"NUL \0 {WORDS}", f"NUL \0 {WORDS}"),
    ],
)
def test_text(before: str, after: str) -> None:
    target = purge_target(WORDS, FACT)
    assert purged_text(target, before.encode(), True).decode() == after
    assert purged_text(target, after.encode(), True).decode() == after


def test_text_that_is_no_markdown_keeps_its_lines() -> None:
    assert (
        purged_text(purge_target(WORDS, FACT), f"- {WORDS}\n- b\n".encode(), False)
        == b"- [PURGED]\n- b\n"
    )


def test_an_until_does_not_count() -> None:
    target = purge_target(f"{WORDS} (until 2026-01-01)", FACT)
    assert purged_text(
        target,
        f"- {WORDS} (until 2027-02-02)\n- the {WORDS} is (until 2026-01-01)\n".encode(),
        True,
    ) == (b"- the [PURGED] is (until 2026-01-01)\n")


def test_text_in_another_encoding() -> None:
    target = purge_target("secret plan", FactId("00000000"))
    assert purged_text(target, b"\xe9t\xe9 secret plan\n", True) == b"\xe9t\xe9 [PURGED]\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"MEMORY.md: remember\n\n+ - {WORDS}\n+ - b\n",
            "MEMORY.md: remember\n\n+ - [PURGED]\n+ - b\n",
        ),
        ("x\n\n+ - secret plan\n+ of Zoë\n", "x\n\n+ - [PURGED]\n"),
        (f"x\n\n- - {WORDS.upper()} #tag\n", "x\n\n- [PURGED]\n"),
        (f"x\n\nMdmem-Section: A > {WORDS}\n", "x\n\nMdmem-Section: A > [PURGED]\n"),
        ("MEMORY.md: replace secret plan of…\n", "MEMORY.md: replace [PURGED]…\n"),
        ("a secret… b\n", "a secret… b\n"),
        ("a secret plan …, the secret plan… b\n", "a [PURGED]…, the secret plan… b\n"),
        (b"\xe9 " + WORDS.encode(), b"\xe9 [PURGED]"),
    ],
)
def test_message(before: str | bytes, after: str | bytes) -> None:
    target = purge_target(WORDS, FACT)
    old, new = (text if isinstance(text, bytes) else text.encode() for text in (before, after))
    assert purged_message(target, old) == new
    assert purged_message(target, new) == new


@pytest.mark.parametrize(
    "cut", ["secret plan ", "secret plan o", "secret plan of", "secret plan of Ann"]
)
def test_a_beginning_of_any_length(cut: str) -> None:
    assert (
        purged_message(purge_target("secret plan of Ann", None), f"a {cut}… b".encode()).decode()
        == f"a {PURGED_MARK}… b"
    )


def test_the_rules_for_a_history() -> None:
    rules, line = purge_rules(purge_target(WORDS, FACT)), f"- {WORDS.upper()}\n".encode()
    assert (rules.blob(line, True), rules.blob(line, False), rules.message(line)) == (
        b"",
        line,
        f"- {PURGED_MARK}\n".encode(),
    )
    assert [rules.holds(text.encode()) for text in (f"x {WORDS}", "secret plan")] == [True, False]
    binary = [
        WORDS.encode(),
        b"\0" + WORDS.encode(),
        WORDS.encode("utf-16-le"),
        WORDS.encode("utf-16-be"),
        b"\0",
    ]
    assert [rules.binary(data) for data in binary] == [False, True, True, True, False]


@pytest.mark.parametrize(
    "words",
    [
        *("abc", " a b c ", "abc (until 2026-01-01)", "(until 2026-01-01)", ""),
        *("abc \ud800", "\udced\udca0\udc80 abc", "abc \0 d"),
        *("PURGED", PURGED_MARK, "ED] abc", "abc [PUR", "] abc", "abc ["),
    ],
)
def test_words_that_cannot_be_purged(words: str) -> None:
    with pytest.raises(TextProblem) as refused:
        purge_target(words, None)
    assert refused.value.code == "bad-text"


def test_the_shortest_words() -> None:
    assert purge_target("a b cd", None).words == "a b cd"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("secret plan", "- [fact] Secret  Plan #tag"),
        ("who: Zoë knows", "- **who**: Zoë knows"),
        ("kelvin plan", "- \u212aelvin plan"),
        ("?! ?! ?!", "- ?!  ?! ?!"),
    ],
)
def test_a_line_in_another_spelling_goes_as_a_whole(words: str, line: str) -> None:
    assert (
        purged_text(purge_target(words, facts.fact_id(words)), f"{line}\n- b\n".encode(), True)
        == b"- b\n"
    )


def test_each_character_may_be_composed_or_not() -> None:
    target = purge_target("Chloë-René", None)
    for first in ("ë", "e\u0308"):
        for second in ("é", "e\u0301"):
            assert purged_text(target, f"Chlo{first}-Ren{second}".encode(), False) == b"[PURGED]"
    target = purge_target("abx\u0302yz", None)
    assert purged_text(target, b"abx\xcc\x82yz", False) == b"[PURGED]"
    for other in ("abxyz", "ab\u0302xyz"):
        assert purged_text(target, other.encode(), False).decode() == other


@examples(150)
@given(
    st.text("ab -é\n[]#P", min_size=4, max_size=9),
    st.lists(st.one_of(st.none(), st.text("ab -*é\n[]#>P", max_size=12)), max_size=8),
)
def test_text_is_nowhere_and_other_lines_stay(words: str, parts: list[str | None]) -> None:
    try:
        target = purge_target(words, facts.fact_id(words.strip()))
    except TextProblem:
        return
    before = "".join(target.words if part is None else part for part in parts).encode()
    for change in (
        lambda data: purged_text(target, data, True),
        lambda data: purged_message(target, data),
    ):
        after = change(before)
        assert target.words.encode() not in after
        assert change(after) == after
        lines = after.decode().split("\n")
        untouched = [line for line in lines if PURGED_MARK not in line]
        rest = iter(before.decode().split("\n"))
        assert all(line in rest or not line for line in untouched)


def test_long_white_space_takes_no_time() -> None:
    data = (b"secret" + b" \n" * 3000) * 20
    assert purged_text(purge_target(WORDS, None), data, False) == data
