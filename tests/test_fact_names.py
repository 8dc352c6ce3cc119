"""The items that a name means: by text, key, id; what several sorts of names fit is refused."""

import pytest

from mdmem.model.errors import FactProblem
from mdmem.text.document import parse
from mdmem.text.fact_names import items_matching, names_any, similar_ids
from mdmem.text.facts import fact_id, items

MEMORY = """\
- likes walnuts.
- the port is 8431
- [preference] **Drink**: tea! #home
- is it raining?
  - in Oslo
- 又下雨了。
- drink
- pet: a cat
- pet: a dog
- wait...
"""


def matching(name: str, text: str = MEMORY, keys: bool = False) -> list[str]:
    return [item.raw.split("\n")[0] for item in items_matching(items(parse(text)), name, keys)]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("likes walnuts", "- likes walnuts."),
        ("Likes  Walnuts!", "- likes walnuts."),
        ("- likes walnuts", "- likes walnuts."),
        ("the port is 8431.", "- the port is 8431"),
        ("drink: tea", "- [preference] **Drink**: tea! #home"),
        ("is it raining", "- is it raining?"),
        ("又下雨了", "- 又下雨了。"),
        ("wait", "- wait..."),
        ("wait…", "- wait..."),
    ],
)
def test_final_punctuation_and_case_do_not_count(name: str, line: str):
    assert matching(name) == [line]


@pytest.mark.parametrize("name", ["the port is 843", "likes", "walnuts", "", " ", ".", "?!", "tea"])
def test_other_words_name_nothing(name: str):
    assert matching(name, keys=True) == []


def test_the_exact_text_goes_before_others():
    text = "- it rains\n- it rains!\n- it rains.\n"
    assert matching("it rains!", text) == ["- it rains!"]
    assert matching("it rains?", text) == ["- it rains", "- it rains!", "- it rains."]


def test_a_key_names_its_facts_where_keys_count():
    assert matching("Pet", keys=True) == ["- pet: a cat", "- pet: a dog"]
    assert matching("pet") == []


def test_a_name_of_two_sorts_is_refused():
    drink, tea = fact_id("drink"), fact_id("**Drink**: tea!")
    with pytest.raises(
        FactProblem, match=f"'drink' is the text of {drink} and the key of {tea}$"
    ) as problem:
        matching("drink", keys=True)
    assert problem.value.code == "fact-ambiguous"
    assert matching("drink") == ["- drink"]


def test_one_fact_may_have_a_name_of_two_sorts():
    assert (
        matching("drink", "- drink: drink\n- drink: drink\n", keys=True) == ["- drink: drink"] * 2
    )


def test_ids_of_a_text():
    fact = fact_id("likes walnuts.")
    assert fact in similar_ids("likes walnuts")
    assert fact not in similar_ids("likes walnuts.")
    assert names_any("likes walnuts", [fact])
    assert names_any(fact[:6], [fact])
    assert not names_any("likes walnut", [fact])
