"""The words around an entry: its own against those of its neighbours, by the number of entries in
one place.
"""

from mdmem.search.entry_words import LONGEST_PLACE, OwnWords, Surroundings, words_of_text

LONG = "word " * 400


def surroundings(
    texts: list[str], is_log: bool = False, sections: list[tuple[str, ...]] | None = None
) -> Surroundings:
    own: list[OwnWords] = [words_of_text(text, "english") for text in texts]
    return Surroundings(sections or [("Notes",)] * len(texts), own, is_log)


def test_two_neighbours_on_each_side_count_once_and_the_entry_twice():
    around = surroundings(["one", "two", "three", "four", "five", "six"])
    assert around.words(3) == "four four two three five six"
    assert around.words(0) == "one one two three"


def test_own_words_count_more_in_a_longer_place():
    around = surroundings([f"n{number}" for number in range(120)])
    assert around.words(60).split().count("n60") == 5
    assert around.words(60).split().count("n61") == 1


def test_neighbours_of_a_very_long_place_do_not_count():
    around = surroundings([f"n{number}" for number in range(LONGEST_PLACE + 1)], is_log=True)
    assert set(around.words(60).split()) == {"n60"}


def test_a_place_is_a_section_and_of_a_log_the_day():
    sections = [("A",), ("A",), ("B",), ("B",)]
    assert surroundings(["a", "b", "c", "d"], sections=sections).words(1) == "b b a"
    assert (
        surroundings(["a", "b", "c", "d"], is_log=True, sections=sections).words(1) == "b b a c d"
    )
    assert not surroundings(["a", "b", "c", "d"], sections=sections).is_near(2, 1)


def test_a_long_entry_is_not_multiplied():
    around = surroundings([LONG, *(f"n{number}" for number in range(119))])
    assert around.words(0).split().count("word") == 800


def test_scripts_without_spaces_have_neighbours_by_pairs_of_characters():
    around = surroundings(["東京駅", "手机号", "plain"])
    assert around.character_pairs(0) == "東京 京駅 東京 京駅 手机 机号"
    assert around.character_pairs(2) == "東京 京駅 手机 机号"
    assert surroundings(["plain", "text"]).character_pairs(0) == ""
