"""Factors of a score, and what explains it."""

import math
from datetime import date

import pytest

from mdmem.folder.layout import kind_of
from mdmem.index import query, ranking, schema
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter, IndexQuery, Lexicon
from mdmem.index.results import Match
from mdmem.index.schema import IndexRow, Lifetime
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.model import FilePath
from mdmem.text.document import parse
from mdmem.text.facts import entries
from mdmem.text.terms import related, stem

TODAY = date(2025, 6, 1)


def index_of(**files: str) -> SearchIndex:
    index = SearchIndex.in_memory()
    pages = []
    for name, text in files.items():
        path = FilePath(f"memory/{name.removeprefix('on_').replace('_', '-')}.md")
        listed = entries(parse(text), path)
        pages.append(
            FileEntries(path, listed, (None,) * len(listed), (False,) * len(listed), kind_of(path))
        )
    index.update(pages, (), EMPTY_SNAPSHOT)
    return index


def search(
    index: SearchIndex,
    question: str,
    explain: bool = False,
    limit: int = 10,
    half_life: float | None = None,
) -> tuple[Match, ...]:
    decay = ranking.Decay(half_life, TODAY.toordinal()) if half_life else None
    valid = Filter(valid_on=TODAY)
    return index.finder.search(IndexQuery(question, limit, valid, TODAY, explain, decay))


def texts(index: SearchIndex, question: str) -> list[str]:
    return [match.hit.text for match in search(index, question)]


def assert_explained(match: Match) -> None:
    """Check that the parts of a score and its factors make the score."""
    assert match.explanation is not None
    parts = (part.score for part in match.explanation.parts)
    factors = (factor.value for factor in match.explanation.factors)
    assert sum(parts) * math.prod(factors) == pytest.approx(match.hit.score, rel=1e-3)


def factor(match: Match, name: str) -> float:
    """A factor of an explained score, or 1."""
    assert match.explanation is not None
    return next((factor.value for factor in match.explanation.factors if factor.name == name), 1.0)


def far(*lines: str) -> str:
    """A log in which none of these lines stands near another."""
    return "".join(f"- {line}\n- so\n- it\n- was\n- then\n- again\n" for line in lines)


def test_the_speaker_that_a_question_names_comes_first() -> None:
    index = index_of(
        on_2025_05_01=far("Adam: sailing is fun", "Zoe: sailing is fun", "Eve: sailing is fun")
    )
    assert texts(index, "What does Zoe say of sailing?")[0] == "Zoe: sailing is fun"


def test_the_day_that_a_question_names_comes_first() -> None:
    index = index_of(
        on_2025_05_01="- sailing trip\n",
        on_2025_04_01="- sailing trip again\n",
        on_2024_04_03="- a sailing trip\n",
    )
    assert texts(index, "the sailing trip on 2 April 2025")[0] == "sailing trip again"
    assert texts(index, "sailing trip in 2024")[0] == "a sailing trip"


def test_a_tag_is_a_word_of_its_entry_and_changes_no_other_score() -> None:
    text = far("the staging server moved{}", "the office moved", "operations: ops")
    tagged, plain = index_of(list=text.format(" #ops")), index_of(list=text.format(""))
    assert texts(tagged, "ops")[:2] == ["operations: ops", "the staging server moved"]
    assert not any(match.hit.near for match in search(tagged, "ops")[:2])
    scores = [[match.hit.score for match in search(each, "office")] for each in (tagged, plain)]
    assert scores[0] == scores[1]


def test_a_question_is_no_answer() -> None:
    index = index_of(on_2025_05_01=far("is the boat ready?", "the boat is ready"))
    assert texts(index, "boat")[0] == "the boat is ready"


def test_an_entry_that_is_only_a_link_counts_half() -> None:
    index = index_of(
        list=far("[The opening hours of the harbour](harbour.md)"),
        harbour=far("In winter the opening hours of the harbour are nine to five"),
    )
    answer, link, *_ = search(index, "opening hours of the harbour", explain=True)
    assert answer.hit.text.startswith("In winter")
    assert factor(answer, "link") == 1
    assert factor(link, "link") == ranking.LINK_FACTOR


def test_the_kind_of_answer_comes_first() -> None:
    index = index_of(
        on_2025_05_01=far(
            "the boat was sold to them", "the boat was sold yesterday", "the boat was sold to nine"
        )
    )
    assert texts(index, "When was the boat sold?")[0] == "the boat was sold yesterday"
    assert texts(index, "How many bought the boat that was sold?")[0] == "the boat was sold to nine"


def test_what_is_said_after_a_question_answers_it() -> None:
    asking = index_of(
        on_2025_05_01="- Eve: Fine.\n- Eve: What did the harbour charge?\n- Adam: None.\n"
    )
    telling = index_of(
        on_2025_05_01="- Eve: Fine.\n- Eve: What the harbour did charge!\n- Adam: None.\n"
    )
    assert texts(asking, "harbour charge")[1:] == ["Adam: None.", "Eve: Fine."]
    assert texts(telling, "harbour charge")[1:] == ["Eve: Fine.", "Adam: None."]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("she went sailing", "Where does she go?"),
        ("the children are asleep", "child"),
        ("bought a hat", "buys"),
        ("a puppy at home", "dog"),
        ("her mom called", "mother"),
        ("they decided on blue", "What was the decision?"),
        ("sees a physician", "doctor"),
    ],
)
def test_other_forms_and_words_of_like_meaning_are_found(text: str, question: str) -> None:
    assert texts(index_of(a=f"- {text}\n", b="- nothing of the kind\n"), question)[:1] == [text]


def test_the_very_word_comes_before_its_like() -> None:
    index = index_of(on_2025_05_01=far("a puppy slept", "a dog slept", "a pup slept"))
    assert texts(index, "dog")[0] == "a dog slept"
    assert max(ranking.RELATED_SHARES.values()) <= 1.0


def test_relatives_are_other_words() -> None:
    assert related(stem("movies")) == (stem("film"),)
    assert set(related(stem("decided"))) == {stem("decision")}
    assert stem("mom") in related(stem("mother"))
    assert related("xyzzy") == ()
    assert stem("children") == stem("child") == stem("kids")


def test_of_frequent_words_no_relatives_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for: list[str] = []

    def relatives(word: str) -> tuple[str, ...]:
        looked_for.append(word)
        return ()

    monkeypatch.setattr(query, "related", relatives)
    monkeypatch.setattr(query, "members", relatives)
    query.clauses(
        "dog parrot",
        Lexicon(100, lambda term: 90 if term == "dog" else 1, lambda term: 0, lambda start: ()),
    )
    assert set(looked_for) == {"parrot"}


def test_days_share_what_they_match() -> None:
    days = [1, 1, 2, ranking.NO_DAY]
    assert ranking.day_factors(days, [4.0, 2.0, 3.0, 1.0]) == pytest.approx([1.1, 1.1, 1.05, 1.1])
    assert ranking.day_factors(days, [2.0, 4.0, 3.0, 9.0]) == pytest.approx([1.1, 1.1, 1.05, 1.1])
    assert ranking.day_factors([1, 2, 2, 2], [6.0, 1.0, 3.0, 2.0]) == pytest.approx(
        [1.1, 1 + 0.5 / 6, 1 + 0.5 / 6, 1 + 0.5 / 6]
    )
    assert ranking.day_factors([], []) == []
    assert ranking.day_factors([1], [0.0]) == [1.0]


def test_logs_lose_weight_with_age_where_that_is_wanted() -> None:
    index = index_of(
        on_2025_05_02=far("sailing boat"),
        on_2025_06_01=far("sailing"),
        on_2025_07_01=far("a sailing"),
        topic="- sailing\n",
    )
    plain = {match.hit.path: match.hit.score for match in search(index, "sailing boat")}
    aged = {
        match.hit.path: match for match in search(index, "sailing boat", explain=True, half_life=10)
    }
    assert max(plain, key=plain.__getitem__) == "memory/2025-05-02.md"
    assert next(reversed(aged)) == "memory/2025-05-02.md"
    ages = {
        path: [factor.value for factor in match.explanation.factors if factor.name == "age"]
        for path, match in aged.items()
        if match.explanation
    }
    assert ages == {
        "memory/2025-05-02.md": [0.125],
        "memory/2025-06-01.md": [],
        "memory/2025-07-01.md": [],
        "memory/topic.md": [],
    }
    for match in aged.values():
        assert_explained(match)


def test_what_is_new_comes_before_what_matches_better_among_many() -> None:
    old = {f"on_2025_01_{day:02}": far(*["sailing boat"] * 4) for day in range(1, 31)}
    index = index_of(**old, on_2025_06_01=far("she went sailing on the lake with the others"))
    assert texts(index, "sailing boat")[0] == "sailing boat"
    assert search(index, "sailing boat", half_life=1)[0].hit.day == TODAY


def test_a_score_is_explained() -> None:
    index = index_of(on_2025_05_01="- Zoe: the dog sleeps\n- Adam: yes?\n", topic="- a dog\n")
    first, *rest = search(index, "When does Zoe's dog sleep on 1 May 2025?", explain=True)
    assert first.explanation is not None
    assert {factor.name for factor in first.explanation.factors} == {
        "confidence",
        "speaker",
        "date",
        "day",
    }
    assert {(part.field, part.query_word) for part in first.explanation.parts} >= {
        ("text", stem("dog")),
        ("around", stem("sleep")),
    }
    for match in (first, *rest):
        assert_explained(match)


@pytest.mark.parametrize(
    ("held", "beside", "factor"),
    [
        ("tea", [], 1),
        ("tea", ["harbour"], 1),
        ("tea harbour", ["tea"], 1),
        ("tea harbour", ["tea", "harbour"], ranking.BESIDE_FACTOR**2),
        ("tea", ["tea harbour"], ranking.BESIDE_FACTOR),
        ("tea", ["tea", ""], ranking.BESIDE_FACTOR),
        ("", ["tea"], ranking.BORROWED_FACTOR),
        ("", ["", ""], 1),
    ],
)
def test_a_hit_that_adds_no_word_to_those_beside_it_counts_less(
    held: str, beside: list[str], factor: float
) -> None:
    assert ranking.beside_factor(
        set(held.split()), [set(words.split()) for words in beside]
    ) == pytest.approx(factor)


def test_hits_beside_each_other_do_not_crowd_out_other_places() -> None:
    index = index_of(
        topic="# Harbour\n\n- cups of tea\n- tea\n- tea is drunk\n- the tea is cold\n",
        other="# Town\n\n- tea is grown\n",
    )
    one_by_one = search(index, "tea", explain=True)
    assert [match.hit.text for match in one_by_one][2:] == [
        "tea is grown",
        "tea is drunk",
        "the tea is cold",
    ]
    assert [round(factor(match, "beside"), 4) for match in one_by_one] == [
        1,
        0.98,
        1,
        0.9604,
        0.9412,
    ]
    for match in one_by_one:
        assert_explained(match)
    assert [
        factor(match, "beside") for match in search(index, "cups cold", explain=True, limit=2)
    ] == [1, 1]


def test_hits_beside_each_other_count_in_full_for_a_block_and_in_the_past() -> None:
    index = index_of(topic="# Harbour\n\n- cups of tea\n- tea\n- tea is drunk\n")
    for wanted, spread in ((Filter(valid_on=TODAY), False), (Filter(history=True), True)):
        request = IndexQuery("tea", 5, wanted, TODAY, explain=True, spread=spread)
        matches = index.finder.search(request)
        assert [factor(match, "beside") for match in matches] == [1, 1, 1]


def test_a_hit_by_its_heading_alone_comes_after_other_places_if_it_is_beside_a_better_one() -> None:
    index = index_of(
        topic="# Harbour\n\n- tea is sold\n- at noon\n", other="# Harbour\n\n- at dawn\n"
    )
    sold, *others = search(index, "tea harbour", explain=True)
    assert (sold.hit.text, factor(sold, "beside")) == ("tea is sold", 1)
    assert {match.hit.text: factor(match, "beside") for match in others} == {
        "at noon": ranking.BORROWED_FACTOR,
        "at dawn": 1,
    }


def test_what_stands_beside_is_a_few_lines_away_in_its_place() -> None:
    lines = "".join(f"- tea {number}\n" for number in range(8))
    index = index_of(
        topic=f"# Harbour\n\n{lines}\n## Town\n\n- tea 8\n",
        on_2025_05_01="## 09:00\n\n- tea 9\n\n## 09:01\n\n- tea 10\n",
    )
    lowered = {
        match.hit.text: round(factor(match, "beside"), 4)
        for match in search(index, "tea", explain=True, limit=20)
    }
    assert (lowered["tea 8"], sorted((lowered["tea 9"], lowered["tea 10"]))) == (1, [0.98, 1])
    assert min(lowered.values()) >= round(ranking.BESIDE_FACTOR ** (2 * ranking.BESIDE_LINES), 4)


def test_a_list_under_the_heading_that_is_asked_for_stands_as_it_is() -> None:
    index = index_of(
        topic="# Plumbing\n\n- copper\n- steel\n- brass\n",
        other="# Notes\n\n- the plumbing is old\n",
    )
    assert [factor(match, "beside") for match in search(index, "plumbing", explain=True)] == [1] * 4


def test_hits_beside_each_other_are_the_same_however_many_are_asked_for() -> None:
    lines = "".join(
        f"- tea {number}\n- coffee {number}\n- {number} cups\n\n" for number in range(6)
    )
    index = index_of(topic=f"# Tea\n\n{lines}", other="- some tea\n")
    whole = [match.hit for match in search(index, "tea or coffee", limit=30)]
    assert len(whole) == 19
    assert all(
        [match.hit for match in search(index, "tea or coffee", limit=limit)] == whole[:limit]
        for limit in range(10, 19)
    )


def test_nothing_is_explained_unasked() -> None:
    assert [match.explanation for match in search(index_of(a="- a dog\n"), "dog")] == [None]


def test_a_related_word_is_explained_by_the_query_s_own() -> None:
    (match,) = search(index_of(a="- a puppy\n"), "dogs", explain=True)
    assert match.explanation is not None
    terms = {(part.term, part.query_word) for part in match.explanation.parts}
    assert terms == {(stem("puppy"), stem("dog"))}


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("the timezone is CET", "Which time zone?"),
        ("a rollback takes a minute", "How do I roll back?"),
        ("er hat zwei Katzen", "Katze"),
        ("нет первого курса", "на каком курсе"),
        ("está en las montañas", "montaña"),
        ("Το σκυλί κοιμάται", "σκυλιά"),
        ("the violin is old", "Which instrument?"),
    ],
)
def test_other_spellings_and_languages_are_found(text: str, question: str) -> None:
    assert texts(index_of(a=f"- {text}\n", b="- nothing of the kind\n"), question)[:1] == [text]


def test_words_that_begin_alike_are_looked_for_only_where_a_word_is_unknown() -> None:
    index = index_of(a="- Katzen\n", b="- Katze\n", c="- Katzenauge\n")
    assert texts(index, "Katze") == ["Katze"]
    assert set(texts(index, "Katzem")) == {"Katze", "Katzen"}


@pytest.mark.parametrize(
    "question",
    [
        "",
        " ",
        "the",
        "who was it",
        "dog " * 10_000,
        " ".join(f"word{number}" for number in range(10_000)),
        '"',
        '"dog" AND (cat OR',
        "dog^5 cat~2 text:dog -cat +dog",
        "[a-z]+(?P<x>.*)$ \\d{3}|^",
        "🐕🦺 dog",
        "كلب في البيت",
        "‮dog‬ עברית",
        "\x00\ud800dog",
        "' OR 1=1 --",
        "{{{{ %s %d ${HOME} ../../",
        "ﬁﬂ ① ℵ ǆ İı ß",
        "1 May 99999, 0000-00-00, 2025-13-45, 31 February 2025",
        "二月三十日 2025年99月99日",
    ],
)
def test_awkward_questions_are_answered(question: str) -> None:
    index = index_of(
        on_2025_05_01="- Zoe: the dog sleeps in the house 🐕\n", topic="- كلب في البيت\n"
    )
    assert len(search(index, question, explain=True)) <= 2


def test_a_search_reads_what_it_shows_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(
        on_2025_05_01="".join(
            f"- tea {'and more ' * number}\n" for number in range(3 * ranking.CANDIDATES)
        )
    )
    read: list[IndexRow] = []
    looked_for: list[int] = []
    row_of, found_by = schema.parse_row, query.any_term_query
    monkeypatch.setattr(schema, "parse_row", lambda data: read.append(row := row_of(data)) or row)
    monkeypatch.setattr(
        query,
        "any_term_query",
        lambda clauses: looked_for.append(len(clauses)) or found_by(clauses),
    )
    texts = search(index, "Where is more tea, or a teapot?", limit=8)
    assert {id(match.row) for match in texts} <= set(map(id, read))
    assert (len(texts), looked_for) == (8, [3])
    assert len(read) <= 2 * 8  # what matches as well as the last one shown is read too


def test_only_what_stands_somewhere_is_looked_for() -> None:
    index = index_of(
        topic="# Harbour\n\n- a boat\n- the sail\n", on_2025_05_01="- is the sail torn?\n- no\n"
    )
    asked = query.clauses(
        "Where are boats and sails in a harbour of xyzzy or qwerty?", index.finder.lexicon
    )
    assert {(name, term) for name, term, *_ in asked} == {
        *((name, stem(word)) for name in ("text", "around", "asked") for word in ("boat", "sail")),
        *((name, stem("harbour")) for name in ("heading", "around")),
    }


def test_what_a_lexicon_keeps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "_ANSWERS_KEPT", 3)
    asked: list[str] = []
    monkeypatch.setattr(query, "related", lambda word: asked.append(word) or ())
    lexicon = Lexicon(100, lambda term: 1, lambda term: 0, lambda start: ())
    for word in ("one", "two", "one", "three", "four", "one"):
        lexicon.relatives(word)
    assert asked == ["one", "two", "three", "four", "one"]


def test_past_entries_do_not_hide_current_ones() -> None:
    """A search whose first candidates are all past entries looks further."""
    path = FilePath("memory/topic.md")
    listed = entries(
        parse("".join(f"- tea {number}\n" for number in range(ranking.CANDIDATES + 50))), path
    )
    ended = Lifetime(begun=1, ended=2, is_live=False)
    lives = tuple(
        Lifetime(begun=1) if number == len(listed) - 1 else ended for number in range(len(listed))
    )
    index = SearchIndex.in_memory()
    index.update(
        [
            FileEntries(
                path, listed, (None,) * len(listed), (False,) * len(listed), kind_of(path), lives
            )
        ],
        (),
        EMPTY_SNAPSHOT,
    )
    assert texts(index, "tea") == [listed[-1].text]
