"""Words of other languages than English, by the setting: inflected ones are found, and English
beside them stays found.
"""

from datetime import date
from pathlib import Path

import pytest
from conftest import World, examples
from hypothesis import given
from hypothesis import strategies as st
from workspaces import desk as make_desk

from mdmem.catchup.index import fresh_index
from mdmem.folder.config import LANGUAGES
from mdmem.folder.layout import kind_of
from mdmem.model import FilePath
from mdmem.search.indexer import FileEntries, SearchIndex
from mdmem.search.query import Filter, IndexQuery
from mdmem.search.snapshot import EMPTY_SNAPSHOT
from mdmem.search.terms import folded, query_terms, split_scripts, stem, text_language
from mdmem.text.document import parse
from mdmem.text.entries import entries

TODAY = date(2025, 6, 1)
WITHOUT_STOP_WORDS = {"romanian", "turkish"}
"""Languages without a list of stop words: nothing tells there that a text is English."""
OTHERS = "- 42\n- xyzzy\n"


def index_of(language: str | None, *lines: str) -> SearchIndex:
    index, path = SearchIndex.in_memory(language), FilePath("memory/topic.md")
    listed = entries(
        parse("".join(f"## {number}\n\n- {line}\n" for number, line in enumerate(lines)) + OTHERS),
        path,
    )
    index.update(
        [FileEntries(path, listed, (None,) * len(listed), (False,) * len(listed), kind_of(path))],
        (),
        EMPTY_SNAPSHOT,
    )
    return index


def search(index: SearchIndex, question: str) -> list[str]:
    return [
        match.hit.text
        for match in index.search(IndexQuery(question, 5, Filter(valid_on=TODAY), TODAY))
    ]


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("german", "sie sucht zwei größere Häuser am See", "Welches Haus?"),
        ("german", "die Sitzungen sind immer montags", "Wann ist die Sitzung?"),
        ("french", "il possède trois chevaux noirs", "Où est le cheval ?"),
        ("french", "elle préfère les réunions courtes", "réunion"),
        ("spanish", "le gustan las canciones viejas", "¿Qué canción?"),
        ("spanish", "es alérgica a las nueces", "alérgico"),
        ("portuguese", "as reuniões são na sexta", "Quando é a reunião?"),
        ("portuguese", "gosta de viagens longas", "viagem"),
        ("italian", "le decisioni sono state prese", "Che decisione?"),
        ("dutch", "ze zoekt twee huizen in de stad", "Welk huis?"),
        ("swedish", "flickorna sover i rummet", "flicka"),
        ("danish", "beslutningerne er taget", "beslutning"),
        ("norwegian", "møtene er på fredag", "møte"),
        ("finnish", "asuu nyt vanhassa talossa", "talo"),
        ("hungarian", "a macskák alszanak", "macskák"),
        ("romanian", "deciziile au fost luate", "decizie"),
        ("turkish", "toplantılar her cuma", "toplantı"),
        ("russian", "на столе лежат книги", "книга"),
    ],
)
def test_an_inflected_word_is_found(language: str, text: str, question: str) -> None:
    assert search(index_of(language, text, "nothing of it"), question)[:1] == [text]


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values()) - WITHOUT_STOP_WORDS))
def test_english_beside_it_stays_found(language: str) -> None:
    lines = (
        "the meetings were cancelled by the manager",
        "budget: decided",
        "she is running to the bakeries",
    )
    index = index_of(language, *lines)
    for question, line in (
        ("meeting", lines[0]),
        ("meetings", lines[0]),
        ("Who cancels?", lines[0]),
        ("decided", lines[1]),
        ("run", lines[2]),
    ):
        assert search(index, question)[:1] == [line]


@pytest.mark.parametrize("language", sorted(WITHOUT_STOP_WORDS))
def test_english_stays_found_as_it_was_typed_where_there_are_no_stop_words(language: str) -> None:
    index = index_of(language, "the meetings were cancelled by the manager")
    assert (
        search(index, "meetings")[:1]
        == search(index, "Who cancelled it?")[:1]
        == ["the meetings were cancelled by the manager"]
    )


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
@examples(20)
@given(text=st.text(st.characters(codec="utf-8"), max_size=60))
def test_every_word_is_found_as_it_was_typed(language: str, text: str) -> None:
    """A query for a word finds it whichever language its text was taken for."""
    for word in folded(split_scripts(text).spaced):
        asked = query_terms(word, language)
        if folded(word) == [word]:
            for taken_for in (text_language(word, [word], language), "english"):
                assert stem(word, taken_for) in (*asked.words, *(other for _, other in asked.also))


def test_accents_are_folded_in_every_language() -> None:
    index = index_of("french", "le café préféré est fermé")
    assert (
        search(index, "cafe prefere")[:1]
        == search(index, "CAFÉ préférée")[:1]
        == ["le café préféré est fermé"]
    )


def test_a_text_is_taken_for_what_its_stop_words_say() -> None:
    for text, language in (
        ("the cat is on the roof", "english"),
        ("die Katze ist auf dem Dach", "german"),
        ("Katze", "german"),
        ("", "german"),
    ):
        assert text_language(text, folded(text), "german") == language
    assert (
        text_language("die Katze ist auf dem Dach", folded("die Katze ist auf dem Dach"), "english")
        == "english"
    )


def test_stop_words_are_those_of_the_query() -> None:
    assert query_terms("Wo ist die Katze?", "german").words == ("katz",)
    assert query_terms("When did he die?", "german").words == (stem("die"),)
    assert query_terms("где книга", "russian").words == (stem("книга"),)
    assert query_terms("Who is it?", "german").words


def test_without_the_setting_words_are_english() -> None:
    assert query_terms("meetings of the cats").words == ("meet", "cat")
    assert query_terms("meetings of the cats").also == ()


def test_every_language_of_the_settings_has_a_stemmer() -> None:
    for language in LANGUAGES.values():
        assert stem(
            "word", "english" if language in ("arabic", "greek", "russian", "tamil") else language
        )


def test_another_language_builds_the_index_anew(world: World, repository: Path) -> None:
    desk = make_desk(
        world, repository, seed="# Memory\n\n## Eins\n\n- Katze\n\n## Zwei\n\n- Katzen\n"
    )
    assert search(fresh_index(desk.workspace, print).index, "Katze") == ["Katze"]
    desk.write("mdmem.toml", 'language = "de-AT"\n')
    assert desk.workspace.settings.language == "german"
    index = fresh_index(desk.workspace, print).index
    assert search(index, "Katze") == ["Katze", "Katzen"]
    assert fresh_index(desk.workspace, print).index.seen == index.seen
