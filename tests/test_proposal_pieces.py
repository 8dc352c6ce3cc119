"""The pieces of a file's change: judged against the file as it is, and put onto it one by one.
Pure.
"""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.model import FileKind
from mdmem.proposals import pieces, taking
from mdmem.proposals.pieces import EMPTY, FactPiece, FileFacts, FileSource, SectionPiece
from mdmem.proposals.taking import Freshness
from mdmem.text.document import parse

BASE = "# M\n\n## A\n\n- one\n- two\n- three\n\n## B\n\nSome words.\n\n- k: v\n"


def of(base: str, tip: str) -> tuple[FileSource, list[FactPiece | SectionPiece]]:
    """The pieces of a change, in the order in which they can be put onto a file."""
    before, after = FileFacts(parse(base)), FileFacts(parse(tip))
    renamed, paths = pieces.with_paths_of(before.document, after.document)
    facts = pieces.fact_pieces(FileFacts(renamed), after)
    sections = pieces.section_pieces(before, after, facts, paths)
    made = [piece for piece in sections if piece.old is None]
    return FileSource(before.document, paths), [
        *made,
        *facts,
        *(piece for piece in sections if piece.old is not None),
    ]


def put(
    base: str, tip: str, now: str, kind: FileKind = FileKind.EVERGREEN, force: bool = False
) -> tuple[list[str], str]:
    """How fresh each piece is, and the file with those that are put onto it."""
    source, changed = of(base, tip)
    states, text = [], now
    for piece in changed:
        document = parse(text) if text else EMPTY
        if isinstance(piece, FactPiece):
            done = taking.put_fact(piece, source, document, kind, is_forced=force)
        else:
            done = taking.put_section(piece, source, document, is_forced=force)
        is_met = done.text is None and done.judgement.freshness is Freshness.FRESH
        states.append("met" if is_met else done.judgement.freshness.name.lower())
        text = text if done.text is None else done.text
    return states, text


def swap(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


TWO, K = "- two\n", "- k: v\n"


@pytest.mark.parametrize(
    ("tip", "now", "then"),
    [
        (
            (TWO, "- two and a half\n"),
            ("- one\n", "- zero\n"),
            (("- one\n", "- zero\n"), (TWO, "- two and a half\n")),
        ),
        ((K, "- k: w\n"), ("## B\n", "## Bee\n"), (("## B\n", "## Bee\n"), (K, "- k: w\n"))),
        (
            (TWO, ""),
            ("- three\n", "- three\n- four\n"),
            (("- three\n", "- three\n- four\n"), (TWO, "")),
        ),
        (
            (TWO, TWO + "- new\n"),
            ("- one\n", "- one #x\n"),
            (("- one\n", "- one #x\n"), (TWO, TWO + "- new\n")),
        ),
        ((TWO, "- two #b\n"), (TWO, "- two #a\n"), ((TWO, "- two #a #b\n"),)),
        ((K, "- k: w\n"), (K, "- k: v #a\n"), ((K, "- k: w #a\n"),)),
        ((TWO, "- [lesson] two\n"), (TWO, "- two ^id\n"), ((TWO, "- [lesson] two ^id\n"),)),
        (
            ("Some words.", "Other words."),
            (K, "- k: w\n"),
            ((K, "- k: w\n"), ("Some words.", "Other words.")),
        ),
        (("## B\n", "## C\n"), (K, "- k: w\n"), ((K, "- k: w\n"), ("## B\n", "## C\n"))),
        ((K, K + "\n## C\n\n- in it\n"), (TWO, ""), ((TWO, ""), (K, K + "\n## C\n\n- in it\n"))),
    ],
)
def test_what_was_changed_elsewhere_stays(
    tip: tuple[str, str], now: tuple[str, str], then: tuple[tuple[str, str], ...]
):
    states, text = put(BASE, swap(BASE, tip), swap(BASE, now))
    assert states == ["fresh"]
    assert text == swap(BASE, *then)


@pytest.mark.parametrize(
    ("tip", "now", "state"),
    [
        ((TWO, "- two and a half\n"), (TWO, "- two and a third\n"), "overtaken"),
        ((TWO, "- two and a half\n"), (TWO, ""), "overtaken"),
        ((K, "- k: w\n"), (K, "- k: x\n"), "overtaken"),
        ((TWO, TWO + "- n: 1\n"), (TWO, TWO + "- n: 2\n"), "overtaken"),
        ((TWO, "- [lesson] two\n"), (TWO, "- [fact] two\n"), "overtaken"),
        ((TWO, ""), (TWO, "- two and a half\n"), "overtaken"),
        (
            (TWO, ""),
            (
                "- two\n- three\n\n## B\n\nSome words.\n\n",
                "- three\n\n## B\n\nSome words.\n\n- two\n",
            ),
            "overtaken",
        ),
        ((K, K + "- l: 1\n"), ("## B\n\nSome words.\n\n- k: v\n", ""), "overtaken"),
        (("Some words.", "Other words."), ("Some words.", "Third words."), "overtaken"),
        (("## B\n", "## C\n"), ("## B\n", "## D\n"), "overtaken"),
        ((TWO, ""), (TWO, ""), "done"),
        ((TWO, "- two and a half\n"), (TWO, "- two and a half\n"), "done"),
        ((TWO, TWO + "- new\n"), ("- three\n", "- three\n- new\n"), "done"),
        (("Some words.", "Other words."), ("Some words.", "Other words."), "done"),
        (("## B\n", "## C\n"), ("## B\n", "## C\n"), "done"),
        ((TWO, "- two #a\n"), (TWO, "- two #a\n"), "done"),
    ],
)
def test_what_was_changed_in_its_place(tip: tuple[str, str], now: tuple[str, str], state: str):
    states, text = put(BASE, swap(BASE, tip), swap(BASE, now))
    assert (states, text) == ([state], swap(BASE, now))


@pytest.mark.parametrize(
    ("tip", "now", "then"),
    [
        ((TWO, "- two and a half\n"), (TWO, "- two and a third\n"), (TWO, "- two and a half\n")),
        ((K, "- k: w\n"), (K, "- k: x\n"), (K, "- k: w\n")),
        ((TWO, "- two and a half\n"), (TWO, ""), ("- one\n- two\n", "- one\n- two and a half\n")),
        (
            ("Some words.", "Other words."),
            ("Some words.", "Third words."),
            ("Some words.", "Other words."),
        ),
        ((TWO, ""), (TWO, "- two and a half\n"), (TWO, "")),
    ],
)
def test_by_force(tip: tuple[str, str], now: tuple[str, str], then: tuple[str, str]):
    assert put(BASE, swap(BASE, tip), swap(BASE, now), force=True) == (
        ["overtaken"],
        swap(BASE, then),
    )


def test_a_renamed_section_is_known_by_the_keys_of_its_facts():
    now = swap(
        BASE,
        (
            "## A\n\n- one\n- two\n- three\n\n## B\n\nSome words.\n\n",
            "## A\n\n- one\n- two\n- three\n\n## Bee\n\n",
        ),
        (K, "- k: x\n"),
    )
    assert put(BASE, swap(BASE, (K, K + "- new\n")), now) == (
        ["fresh"],
        swap(now, ("- k: x\n", "- k: x\n- new\n")),
    )


def test_headings_that_go_with_all_that_is_under_them():
    assert put(BASE, BASE.partition("\n## B")[0], BASE) == (
        ["fresh", "fresh"],
        BASE.partition("## B")[0],
    )


def test_a_file_that_was_not_there():
    tip = "# M\n\n## A\n\n- one\n"
    assert put("", tip, "") == (["fresh"], tip)
    assert put("", tip, "# M\n\n## A\n\n- zero\n") == (["fresh"], "# M\n\n## A\n\n- zero\n- one\n")


def test_entries_of_a_log():
    base = "# 2026-03-05\n\n## 09:00\n\n- early\n\n## 12:00\n\n- noon\n"
    tip, now = swap(base, ("- noon\n", "- noon\n- late\n")), base + "\n## 18:00\n\n- evening\n"
    assert put(base, tip, now, FileKind.DAILY) == (
        ["fresh"],
        swap(now, ("- noon\n", "- noon\n- late\n")),
    )
    new = base + "\n## 15:00\n\n- between\n"
    assert put(base, new, now, FileKind.DAILY) == (
        ["fresh"],
        swap(now, ("## 18:00", "## 15:00\n\n- between\n\n## 18:00")),
    )


def test_line_ends_of_the_file_as_it_is():
    now = BASE.replace("\n", "\r\n")
    assert put(BASE, swap(BASE, (TWO, "- two and a half\n")), now) == (
        ["fresh"],
        now.replace("- two\r\n", "- two and a half\r\n"),
    )


# Prose.

INDENTED, FENCED = (
    "First.\n\n    code one\n\n\n    code two\n\nLast.",
    "First.\n\n```\na\n\n- b\n```\n\nLast, which  \nis broken.",
)


@pytest.mark.parametrize(
    ("own", "prose"),
    [
        ("First.\n\nSecond.\n", "First.\n\nSecond."),
        (f"\n{INDENTED}\n", INDENTED),
        (f"\n{FENCED}\n", FENCED),
        ("- a\n\n\n    code\n\ntext\n- b\n\n", "text"),
        ("First.\n\n- a\n- b\n\n\nSecond.\n\n- c\n", "First.\n\nSecond."),
        ("    code\n- a\n", "    code"),
        (" \n\t\n- a\n\n", ""),
        ("text\n## B\nmore\n", "text\n\nmore"),
    ],
)
def test_the_prose_of_a_section_is_what_stands_between_its_facts(own: str, prose: str):
    for text in (own, own.replace("\n", "\r\n")):
        assert FileFacts(parse(f"## B\n{text}")).prose(("B",)) == prose


@pytest.mark.parametrize(
    "prose", ["First.\n\nSecond.", INDENTED, FENCED, "> quoted\n>\n> text\n\n<!-- a\n\nb -->"]
)
def test_accepted_prose_reads_as_it_was_proposed(prose: str):
    new = f"{BASE}\n## New\n\n{prose}\n"
    assert put(BASE, new, swap(BASE, (TWO, ""))) == (["fresh"], swap(new, (TWO, "")))
    changed = swap(BASE, ("Some words.", prose))
    assert put(BASE, changed, swap(BASE, (K, "- k: w\n"))) == (
        ["fresh"],
        swap(changed, (K, "- k: w\n")),
    )
    assert put(BASE, changed, swap(BASE, ("Some words.", "Third words.")), force=True) == (
        ["overtaken"],
        changed,
    )
    assert put(BASE, changed, changed) == (["done"], changed)
    assert put(changed, BASE, changed) == (["fresh"], BASE)


def test_facts_between_paragraphs_come_behind_them():
    tip = swap(BASE, ("Some words.\n\n- k: v\n", "First.\n\n- new\n- newer\n\nSecond.\n\n- k: v\n"))
    then = swap(BASE, ("Some words.", "First.\n\nSecond."), (K, K + "- new\n- newer\n"))
    assert put(BASE, tip, BASE) == (["fresh", "fresh", "fresh"], then)


def test_a_paragraph_that_becomes_two():
    base, tip = (
        swap(BASE, ("Some words.", "First.\nSecond.")),
        swap(BASE, ("Some words.", "First.\n\nSecond.")),
    )
    assert put(base, tip, swap(base, (K, "- k: w\n"))) == (["fresh"], swap(tip, (K, "- k: w\n")))


@pytest.mark.parametrize("words", ["Some words. ", "Some words.\n", "\nSome words."])
def test_white_space_that_shows_nothing_is_no_piece(words: str):
    assert of(BASE, swap(BASE, ("Some words.", words)))[1] == []
    assert put(
        BASE,
        swap(BASE, ("\n## B\n\nSome words.\n\n- k: v\n", "")),
        swap(BASE, (K, ""), ("Some words.", words)),
    ) == (
        ["done", "fresh"],
        BASE.partition("## B")[0],
    )


def test_a_fact_that_goes_from_between_paragraphs_changes_no_prose():
    base = swap(BASE, ("Some words.\n", "First.\n- new\n\nSecond.\n"))
    assert [type(piece) for piece in of(base, swap(base, ("- new\n", "")))[1]] == [FactPiece]


FRONT = "---\ntitle: {}\n---\n"


def test_front_matter_is_replaced_as_a_whole():
    a, b, c = (FRONT.format(title) + BASE for title in "abc")
    assert put(a, b, a) == (["fresh"], b)
    assert put(a, b, c) == (["overtaken"], c)
    assert put(a, b, c, force=True) == (["overtaken"], b.replace("---\n#", "---\n\n#"))
    assert put(a, BASE, c, force=True)[1].lstrip() == BASE


def test_front_matter_of_which_a_proposal_does_not_speak_stays():
    base, tip, now = (
        f"Some text.\n\n{BASE}",
        f"First.\n\nSecond.\n\n{BASE}",
        f"{FRONT.format('a')}\nThird text.\n\n{BASE}",
    )
    assert put(base, tip, now, force=True) == (
        ["overtaken"],
        f"{FRONT.format('a')}\nFirst.\n\nSecond.\n\n{BASE}",
    )


def test_a_name_that_a_trailer_can_hold():
    _, (piece,) = of(BASE, BASE + f"\n## He\u200b\u202ead{'x' * 3000}\n\nWords.\n")
    assert isinstance(piece, SectionPiece)
    assert piece.name.isprintable()
    assert len(piece.name) < 600
    assert piece.name.endswith(f"@{piece.etag}")


WORDS = st.sampled_from(
    [
        "red",
        "green",
        "blue",
        "k: red",
        "k: blue",
        "l: green",
        "a long line of words",
        "a long line of them",
    ]
)
LINES = st.lists(WORDS, max_size=6, unique=True).map(
    lambda words: "".join(f"- {word}\n" for word in words)
)
FILES = st.tuples(LINES, LINES).map(lambda parts: f"# M\n\n## A\n\n{parts[0]}\n## B\n\n{parts[1]}")


def items(text: str) -> Counter[tuple[tuple[str, ...], str]]:
    facts = FileFacts(parse(text))
    return Counter(
        (path, item.raw.strip()) for path in facts.paths for item in facts.in_section(path)
    )


@given(FILES, FILES)
def test_all_pieces_make_the_whole_change(base: str, tip: str):
    _, text = put(base, tip, base, force=True)
    assert items(text) == items(tip)


@given(FILES, FILES, FILES)
def test_nothing_else_is_lost(base: str, tip: str, now: str):
    """Of what came to the file since, and nothing comes that was not proposed."""
    _, text = put(base, tip, now)
    after = items(text)
    assert all(after[line] for line in (items(now) - items(base)))
    assert set(after) <= set(items(now)) | set(items(tip))
