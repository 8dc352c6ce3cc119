"""The words around an entry: its own against those of its neighbours, by the number of entries in
one place.
"""

from mdmem.index.indexed import OwnWords, Surroundings, words_of_text
from mdmem.index.ranking import LONGEST_PLACE

LONG = "word " * 400
RELATED = [f"n{number} pair{number // 2}" for number in range(120)]
"""Every two entries share a word that no other has."""


def surroundings(
    texts: list[str],
    is_log: bool = False,
    sections: list[tuple[str, ...]] | None = None,
    is_dialogue: bool = False,
) -> Surroundings:
    own: list[OwnWords] = [words_of_text(text, "english") for text in texts]
    places = sections or [() if is_log else ("Notes",)] * len(texts)
    return Surroundings([()] * len(texts) if is_log else places, own, is_dialogue)


def test_two_neighbours_on_each_side_count_once_and_the_entry_four_times():
    around = surroundings(["one", "two", "three", "four", "five", "six"])
    assert around.words(3) == "four four four four two three five six"
    assert around.words(0) == "one one one one two three"


def test_in_a_dialogue_the_entry_counts_twice():
    around = surroundings(["one", "two", "three"], is_log=True, is_dialogue=True)
    assert around.words(1) == "two two one three"


def test_own_words_count_more_in_a_longer_place():
    around = surroundings(RELATED)
    assert around.words(60).split().count("n60") == 5
    assert around.words(60).split().count("n61") == 1


def test_entries_that_share_no_words_with_those_beside_them_have_no_neighbours():
    strangers = [f"n{number} w{number % 60}" for number in range(120)]
    # The chance of a short list says nothing, and who talks to each other is related.
    assert set(surroundings(strangers).words(60).split()) == {"n60", "w0"}
    assert "n21" in surroundings(strangers[:23]).words(22)
    assert "n61" in surroundings(strangers, is_log=True, is_dialogue=True).words(60)


def test_neighbours_of_a_very_long_place_do_not_count():
    around = surroundings([f"n{number}" for number in range(LONGEST_PLACE + 1)], is_log=True)
    assert set(around.words(60).split()) == {"n60"}


def test_a_place_is_a_section_and_of_a_log_the_day():
    sections = [("A",), ("A",), ("B",), ("B",)]
    assert surroundings(["a", "b", "c", "d"], sections=sections).words(1) == "b b b b a"
    assert (
        surroundings(["a", "b", "c", "d"], is_log=True, sections=sections).words(1)
        == "b b b b a c d"
    )
    assert not surroundings(["a", "b", "c", "d"], sections=sections).is_near(2, 1)


def test_a_long_entry_is_not_multiplied():
    around = surroundings([LONG, *RELATED[1:]])
    assert around.words(0).split().count("word") == 800


def test_scripts_without_spaces_have_neighbours_by_pairs_of_characters():
    around = surroundings(["東京駅", "手机号", "plain"])
    assert around.character_pairs(0) == "東京 京駅 東京 京駅 東京 京駅 東京 京駅 手机 机号"
    assert around.character_pairs(2) == "東京 京駅 手机 机号"
    assert surroundings(["plain", "text"]).character_pairs(0) == ""
