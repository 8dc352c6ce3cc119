import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.text import terms as terms_module
from mdmem.text.terms import (
    MAX_TERMS,
    Terms,
    folded,
    grams,
    members,
    query_terms,
    related,
    split_scripts,
    stem,
    terms,
)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", ()),
        ("   \t\n", ()),
        ('"?!"', ()),
        ("()[]{}*^~\\/:+-&&||", ()),
        ("postgres_port", ("postgr", "port")),
        ("CI/CD", ("ci", "cd")),
        ("v2.3", ("v2", "3")),
        ("born 1990-07-14, or 1990-07?", ("born", "19900714", "1990", "07")),
        ("call 555-1990-07-14-2", ("call", "555", "19900714", "2")),
        ("user@example.test", ("user", "exampl", "test")),
        ("Where does the user live?", ("user", "live")),
        ("running runs RUN", ("run",)),
        ("Café naïve Straße", ("cafe", "naiv", "strass")),
        ("Cafe\u0301", ("cafe",)),
        ("ＰＯＳＴ", ("post",)),
        ("who was it", ("who", "was", "it")),
        ("Caroline's", ("carolin",)),
        ('text:foo AND "bar baz" OR NOT -qux', ("text", "foo", "bar", "baz", "qux")),
        ("don't", ("don", "t")),
        ("Москва", ("москв",)),
        ("bad \udcff bytes", ("bad", "byte")),
    ],
)
def test_words(query: str, words: tuple[str, ...]) -> None:
    assert query_terms(query) == Terms(words, ())


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("喜欢喝茶", Terms((), ("喜欢", "欢喝", "喝茶"))),
        ("茶", Terms((), ("茶",))),
        ("什么是 the 茶?", Terms((), ("什么", "么是", "茶"))),
        ("iPhone手机", Terms(("iphon",), ("手机",))),
        ("カメラ", Terms((), ("カメ", "メラ"))),
        ("ｶﾒﾗ", Terms((), ("カメ", "メラ"))),
        ("กาแฟ", Terms((), ("กา", "าแ", "แฟ"))),
        ("서울에서", Terms((), ("서울", "울에", "에서"))),
        ("茶茶茶茶", Terms((), ("茶茶",))),
    ],
)
def test_scripts_without_spaces(query: str, terms: Terms) -> None:
    assert query_terms(query) == terms


def test_a_date_is_indexed_as_one_word_too() -> None:
    assert (
        terms("on 1990-07-14 and 2026-03-05T10:00")
        == "on 1990 07 14 and 2026 03 05t10 00 19900714 20260305"
    )


def test_a_text_without_spaces_is_indexed_by_characters_and_pairs() -> None:
    text = split_scripts("Mein 手机号 ist neu")
    assert text.spaced == "Mein   ist neu"
    assert grams(text.runs) == ["手", "机", "号", "手机", "机号"]


def test_a_long_query_is_cut() -> None:
    assert len(query_terms(" ".join(f"word{n}" for n in range(3000))).words) == MAX_TERMS
    assert query_terms("word " * 3000).words == ("word",)
    assert query_terms("x" * 50_000) == Terms((), ())
    assert len(query_terms("".join(map(chr, range(0x4E00, 0x6E00)))).grams) == MAX_TERMS


@examples(60)
@given(st.text(st.characters(codec=None), max_size=60))
def test_every_query_is_taken_and_nothing_repeats(query: str) -> None:
    terms = query_terms(query)
    assert len(set(terms.words)) == len(terms.words)
    assert len(set(terms.grams)) == len(terms.grams)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("курсе", "курс"),
        ("собаки", "собака"),
        ("γάτες", "γάτα"),
        ("dogs", "dog"),
        ("كتابها", "كتاب"),
        ("Überraschungen", "uberraschungen"),
    ],
)
def test_a_word_is_stemmed_by_its_script(word: str, other: str) -> None:
    assert terms(word) == terms(other)


@pytest.mark.parametrize(
    ("query", "joined"),
    [
        ("Which time zone?", {("time", "timezon"), ("which", "whichtim")}),
        ("log in", {("log", "login")}),
        ("who was it", set()),
        ("zone", set()),
    ],
)
def test_neighbouring_words_written_as_one(query: str, joined: set[tuple[str, str]]) -> None:
    assert set(query_terms(query).joined) == joined


def test_words_of_one_family_or_of_like_meaning() -> None:
    assert related(stem("decided")) == (stem("decision"),)
    assert stem("mom") in related(stem("mother"))
    assert stem("guitar") in members(stem("instruments"))
    assert related("xyzzy") == members("xyzzy") == ()


PIECES = st.sampled_from(
    ["Dogs", "ran", "3", "_", "-", " ", "\n", "\x1c", "\x7f", "'", "X" * 49, "y" * 50, "z" * 98]
)


@examples(200)
@given(st.lists(PIECES | st.characters(codec="ascii"), max_size=30).map("".join))
def test_plain_text_has_the_words_that_it_has_beside_other_letters(text: str) -> None:
    assert [*folded(text), "strasse"] == folded(f"{text} Straße")


def test_more_words_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "running dogs barked at sleeping cats and running dogs"
    once = terms(text)
    monkeypatch.setattr(terms_module, "_WORDS_KEPT", 3)
    assert terms(text) == once == "run dog bark at sleep cat and run dog"


@examples(60)
@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_stem_is_one_term(word: str) -> None:
    assert all(len(terms(part).split()) == 1 for part in folded(word))
