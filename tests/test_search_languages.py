"""Words of other languages than English: inflected ones are found whatever the setting, and English
beside them stays found.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from conftest import World, examples
from hypothesis import given
from hypothesis import strategies as st
from workspaces import Desk
from workspaces import desk as make_desk

from mdmem.folder.config import LANGUAGES
from mdmem.folder.layout import kind_of
from mdmem.index import catching_up as catchup_index
from mdmem.index import ranking
from mdmem.index.catching_up import fresh_index
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter, IndexQuery, Lexicon, clauses
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.memory import Memory
from mdmem.model import FilePath, Status
from mdmem.model.searches import Search
from mdmem.text.document import parse
from mdmem.text.facts import entries
from mdmem.text.terms import (
    folded,
    languages_of_file,
    latin_language,
    query_terms,
    split_scripts,
    stem,
    text_language,
)

TODAY = date(2025, 6, 1)
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
        for match in index.finder.search(IndexQuery(question, 5, Filter(valid_on=TODAY), TODAY))
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


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
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


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
@examples(20)
@given(text=st.text(st.characters(codec="utf-8"), max_size=60))
def test_every_word_is_found_as_it_was_typed(language: str, text: str) -> None:
    """A query for a word finds it whichever language its text was taken for."""
    for word in folded(split_scripts(text).spaced):
        spoken = ("english", latin_language(language))
        asked = query_terms(word, spoken)
        if folded(word) == [word]:
            for taken_for in spoken:
                assert stem(word, taken_for) in (*asked.words, *(other for _, other in asked.also))


def test_accents_are_folded_in_every_language() -> None:
    index = index_of("french", "le café préféré est fermé")
    assert (
        search(index, "cafe prefere")[:1]
        == search(index, "CAFÉ préférée")[:1]
        == ["le café préféré est fermé"]
    )


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("İstanbul'a taşındı", ("istanbul", "İSTANBUL", "Istanbul")),
        ("DİYARBAKIR'a taşındı", ("Diyarbakır", "diyarbakir")),
        ("ığdır'da oturuyor", ("Iğdır", "IĞDIR", "igdir")),
    ],
)
def test_turkish_capitals_and_small_letters_are_the_same(
    text: str, questions: tuple[str, ...]
) -> None:
    index = index_of(None, text, "nothing of it")
    assert [search(index, question)[:1] for question in questions] == [[text]] * len(questions)


def languages(*texts: str, usual: str = "english") -> list[str]:
    return languages_of_file([text.lower().split() for text in texts], usual)


GERMAN = (
    "wir haben die Katze in der Küche gefunden",
    "der Zahnarzt ist am Montag um neun",
    "sie wollte nicht auf den Berg",
)
SENTENCES = {
    "danish": "jeg ved ikke hvad der er blevet af den",
    "dutch": "het was niet wat wij van de jongen hadden gedacht",
    "english": "this is not what we had expected of the house",
    "finnish": "en tiedä mitä se on mutta hän ei ole täällä",
    "french": "ce n est pas ce que nous avons voulu pour les enfants",
    "german": "das ist nicht was wir von dem Haus erwartet haben",
    "hungarian": "nem tudom hogy ez mi volt de már nincs itt",
    "italian": "non è quello che noi abbiamo voluto per gli altri",
    "norwegian": "jeg vet ikke hva som har blitt av den nå etter det",
    "portuguese": "isto não é o que nós queríamos para as meninas",
    "romanian": "nu este ceea ce am vrut și nici pentru copii",
    "spanish": "esto no es lo que nosotros queríamos para las niñas",
    "swedish": "det är inte vad vi hade tänkt oss om honom",
    "turkish": "bu bizim için çok iyi değil ama daha sonra olur",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_tells_its_language(language: str) -> None:
    words = SENTENCES[language].split()
    assert text_language(words, "english") == language
    assert languages_of_file([words], "english") == [language]


class TestLanguagesOfAFile:
    def test_a_line_that_does_not_say_has_the_language_of_its_file(self) -> None:
        assert languages(*GERMAN, "Katze: Mimi", "") == ["german"] * 5
        assert languages("Katze: Mimi", "and the dog of the house") == ["english"] * 2

    def test_a_clear_line_has_its_own(self) -> None:
        lines = ["we have a cat in the house", "they were not at home", "Editor: Vim"] * 9
        assert languages(GERMAN[0], *lines) == ["german", *["english"] * 27]

    def test_a_line_in_a_mixed_file_has_that_of_the_lines_before(self) -> None:
        lines = (*GERMAN, "Farbe: Blau", "we have a cat", "it is at the door", "Colour: blue")
        assert languages(*lines) == ["german"] * 4 + ["english"] * 3

    @pytest.mark.parametrize(
        "line",
        ["Casa de la Cruz", "Leonardo da Vinci, Vasco da Gama", "a, b, c, d, e, i, o, y", ""],
    )
    def test_names_and_letters_tell_nothing(self, line: str) -> None:
        assert languages(line) == ["english"]
        assert languages(line, usual="german") == ["german"]
        assert languages(line, usual="russian") == ["english"]

    def test_a_terse_file_is_not_that_of_its_only_sentence(self) -> None:
        lines = [f"port {number} : service number {number}" for number in range(20)]
        assert languages(*lines, "die Katze und der Hund") == [*["english"] * 20, "german"]

    def test_dutch_is_no_german(self) -> None:
        lines = ("de kat is in de keuken", "wij hebben die niet", "hij was in het huis")
        assert languages(*lines) == ["dutch"] * 3
        assert languages(*lines, *GERMAN) == ["dutch"] * 3 + ["german"] * 3

    def test_the_setting_is_for_files_that_do_not_say(self) -> None:
        assert languages("Katze: Mimi", usual="german") == ["german"]
        assert languages(*GERMAN, usual="french") == ["german"] * 3


def test_stop_words_are_those_of_the_query() -> None:
    spoken = ("german", "english")
    assert query_terms("Wo ist die Katze?", spoken).words == ("katz",)
    assert query_terms("When did he die?", spoken).words == (stem("die"),)
    assert query_terms("где книга").words == (stem("книга"),)
    assert query_terms("Who is it?", spoken).words


def test_a_form_that_is_rare_in_one_language_does_not_outweigh_the_usual_one() -> None:
    entries_with = {"list": 60, "lista": 1, "paquet": 10}
    lexicon = Lexicon(
        100,
        lambda term: entries_with.get(term, 0),
        lambda term: 0,
        lambda start: (),
        languages=("spanish", "english"),
    )
    weights = {
        term: weight * ranking.rarity(100, entries_with[term])
        for name, term, weight, _ in clauses("lista de paquetes", lexicon)
        if name == "text"
    }
    assert weights["lista"] == pytest.approx(weights["list"])
    assert weights["list"] < weights["paquet"]


def test_in_an_english_memory_words_are_english() -> None:
    assert query_terms("meetings of the cats").words == ("meet", "cat")
    assert query_terms("meetings of the cats").also == ()


def test_every_language_of_the_settings_has_a_stemmer() -> None:
    for language in LANGUAGES.values():
        assert stem("word", latin_language(language))


FILES = {
    "MEMORY.md": (
        "# Memory\n\n## Work\n\n- she works at the harbour\n- the invoices are sent on Fridays\n"
        "- we use `make` for the builds\n- they are not allowed to park here\n"
        "- die Handwerker waren nicht in den Häusern\n- Paris: hotel near the station\n"
        "- the servers were moved to the cellar\n- we will not go there again\n"
    ),
    "memory/haushalt.md": (
        "# Haushalt\n\n## Küche\n\n- die Gläser sind in dem Schrank neben der Tür\n"
        "- Tassen: weiß #geschirr\n- `docker compose up` startet die Dienste auf dem Rechner\n"
        "- wir haben das mit Ada Lovelace und den Nachbarn besprochen\n"
    ),
    "memory/voyage.md": (
        "# Voyage\n\n## Trajets\n\n- nous avons pris les chevaux de la ferme\n"
        "- réunions: courtes\n- elle ne veut pas que les enfants dorment dans le train\n"
    ),
    "memory/familia.md": (
        "# Familia\n\n## Casa\n\n- las canciones de la abuela no son tristes\n"
        "- es alérgica a las nueces y no come con los vecinos\n"
    ),
    "memory/huis.md": (
        "# Huis\n\n## Tuin\n\n- wij hebben de bomen van het park niet gesnoeid\n"
        "- het hek is door de buren gemaakt\n"
    ),
    "memory/kurz.md": "# Kurz\n\n- Kindern\n",
    "memory/leer.md": "",
}
"""A memory in English, German, French, Spanish and Dutch, without a setting."""


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return written(make_desk(world, repository), FILES)


def written(at: Desk, files: Mapping[str, str]) -> Desk:
    for path, text in files.items():
        at.write(path, text)
    at.commit()
    fresh_index(at.workspace, print)
    return at


def first(at: Desk, question: str) -> str | None:
    hits = Memory(at.workspace).search(Search(question)).hits
    return next((hit.text for hit in hits if not hit.near), None)


BEGINNINGS = {
    "Wo ist das Glas?": "die Gläser sind",
    "Tasse": "Tassen: weiß",
    "weisse tassen": "Tassen: weiß",
    "Où est le cheval ?": "nous avons pris",
    "réunion": "réunions: courtes",
    "¿Qué canción?": "las canciones",
    "alergico": "es alérgica",
    "de boom": "wij hebben de bomen",
    "Which invoice was sent?": "the invoices",
    "server": "the servers",
    "Haus": "die Handwerker",
    "docker compose": "`docker compose up`",
    "Ada Lovelace": "wir haben das",
    "build with make": "we use `make`",
    "Kindern": "Kindern",
}


class TestMemoryInSeveralLanguages:
    def test_words_are_found_in_other_forms(self, at: Desk) -> None:
        texts = {question: first(at, question) or "" for question in BEGINNINGS}
        assert {
            question: text[: len(BEGINNINGS[question])] for question, text in texts.items()
        } == BEGINNINGS

    def test_tags_are_the_same_in_every_language(self, at: Desk) -> None:
        hits = Memory(at.workspace).search(Search("Tasse", tags=("Geschirr",))).hits
        assert [hit.text for hit in hits] == ["Tassen: weiß"]

    def test_a_hit_in_another_form_is_not_near(self, at: Desk) -> None:
        hits = Memory(at.workspace).search(Search("Tasse")).hits
        assert [hit.near for hit in hits if hit.text == "Tassen: weiß"] == [False]

    def test_the_setting_is_for_short_files(self, at: Desk) -> None:
        assert first(at, "Kind") is None
        at.write("mdmem.toml", 'language = "de-AT"\n')
        assert first(at, "Kind") == "Kindern"
        assert first(at, "Où est le cheval ?") == "nous avons pris les chevaux de la ferme"
        index = fresh_index(at.workspace, print).index
        assert fresh_index(at.workspace, print).index.seen == index.seen

    def test_a_file_that_is_translated_has_its_new_language(self, at: Desk) -> None:
        questions = ("le journal", "Quel enfant dort ?", "Tasse", "invoice")
        french = FILES["memory/voyage.md"].replace("chevaux", "journaux")
        at.write("memory/familia.md", french)
        saved = [first(at, question) for question in questions]
        assert saved[0] == "nous avons pris les journaux de la ferme"
        assert first(at, "¿Qué canción?") != "las canciones de la abuela no son tristes"
        at.commit()
        catchup_index.rebuild_index(at.workspace, True, print)
        assert saved == [first(at, question) for question in questions]
        at.write("memory/familia.md", FILES["memory/familia.md"])
        assert first(at, "¿Qué canción?") == "las canciones de la abuela no son tristes"

    @pytest.mark.parametrize("text", ["- die Öfen sind in den Kellern\n", "- Öfen\n- the cats\n"])
    def test_a_saved_file_is_found_as_after_an_update(self, at: Desk, text: str) -> None:
        """Through the overlay, with its language the only one of its kind in memory or not."""
        at.write("memory/neu.md", f"# Neu\n\n{text}")
        questions = ("Ofen", "Öfen", "Keller", "cat", "canción")
        saved = [Memory(at.workspace).search(Search(question)).hits for question in questions]
        at.commit()
        catchup_index.rebuild_index(at.workspace, True, print)
        for question, hits in zip(questions, saved, strict=True):
            after = Memory(at.workspace).search(Search(question)).hits
            assert [(hit.text, hit.near) for hit in after] == [(hit.text, hit.near) for hit in hits]
            assert [hit.score for hit in after] == pytest.approx(
                [hit.score for hit in hits], rel=0.04
            )

    def test_questions_are_asked_in_the_languages_of_memory(self, at: Desk) -> None:
        def spoken() -> set[str]:
            finder = fresh_index(at.workspace, print).index.finder
            assert finder is not None
            return set(finder.lexicon.languages)

        assert spoken() == {"english", "german", "french", "spanish", "dutch"}
        (at.root / "memory/huis.md").unlink()
        (at.root / "memory/familia.md").unlink()
        at.git("add", "-A")
        at.git("commit", "-q", "--amend", "-m", "all files")
        catchup_index.rebuild_index(at.workspace, True, print)
        assert spoken() == {"english", "german", "french"}

    def test_a_save_changes_the_order_of_languages_as_an_update_does(self, at: Desk) -> None:
        def spoken() -> tuple[str, ...]:
            finder = fresh_index(at.workspace, print, current=True).index.finder
            assert finder is not None
            return finder.lexicon.languages

        assert spoken()[0] == "english"
        cats = "".join(f"- die Katze {number} ist nicht im Haus\n" for number in range(20))
        at.write("memory/haushalt.md", FILES["memory/haushalt.md"] + cats)
        saved = spoken()
        at.commit()
        catchup_index.rebuild_index(at.workspace, True, print)
        assert saved[:2] == spoken()[:2] == ("german", "english")

    @pytest.mark.parametrize("others", [0, 20])
    def test_english_has_its_relatives_whatever_most_of_memory_is_in(
        self, at: Desk, others: int
    ) -> None:
        cats = "".join(f"- die Katze {number} ist nicht im Haus\n" for number in range(others))
        at.write("memory/haushalt.md", FILES["memory/haushalt.md"] + cats)
        lines = ("an infant was at the zoo", "the firm is in the town", "the pr was merged by him")
        at.write("memory/notes.md", "# Notes\n\n" + "".join(f"- {line}\n" for line in lines))
        at.commit()
        questions = ("baby", "cities", "pull request")
        assert tuple(first(at, question) for question in questions) == lines


def before(at: Desk, question: str) -> list[str]:
    found = Memory(at.workspace).search(Search(question, history=True))
    return [hit.text for hit in found.hits if hit.status is Status.REMOVED]


@pytest.mark.parametrize("is_committed", [True, False])
def test_what_a_file_no_longer_has_is_in_its_language(at: Desk, is_committed: bool) -> None:
    at.write("memory/haushalt.md", FILES["memory/haushalt.md"] + "- Häuser\n")
    at.commit()
    fresh_index(at.workspace, print)
    at.write("memory/haushalt.md", FILES["memory/haushalt.md"])
    if is_committed:
        at.commit()
    assert before(at, "Haus") == ["Häuser"]
    at.write("memory/notes.md", "# Notes\n\n- we will not go there again\n")
    at.commit()
    assert before(at, "Haus") == ["Häuser"]
    fresh_index(at.workspace, print, full=True)
    assert before(at, "Haus") == ["Häuser"]
