from datetime import date
from typing import Any

from mdmem.folder.layout import kind_of
from mdmem.index.indexed import most_tagged
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.model import FilePath
from mdmem.model.searches import Hit, TagCount
from mdmem.text.document import parse
from mdmem.text.facts import entries

TODAY = date(2025, 1, 1)


def index_of(**files: str) -> SearchIndex:
    index = SearchIndex.in_memory()
    for name, markdown in files.items():
        path = FilePath(f"memory/{name}.md")
        listed = entries(parse(markdown), path)
        index.update(
            [
                FileEntries(
                    path, listed, (None,) * len(listed), (False,) * len(listed), kind_of(path)
                )
            ],
            (),
            EMPTY_SNAPSHOT,
        )
    return index


def facts(**files: str) -> tuple[Hit, ...]:
    return index_of(**files).finder.entries(Filter(facts_only=True), TODAY)


def tags(**files: str) -> tuple[TagCount, ...]:
    return index_of(**files).finder.tags(Filter(facts_only=True), TODAY)


def test_most_used_first_then_by_name() -> None:
    counts = tags(a="- x #b #a\n- y #b\n- z #c\n")
    assert counts == (TagCount("b", 2), TagCount("a", 1), TagCount("c", 1))


def test_the_first_three_tags_count() -> None:
    assert [count.tag for count in tags(a="- x #d #c #b #a\n")] == ["b", "c", "d"]


def test_a_tag_is_one_in_any_case_as_it_is_most_often_written() -> None:
    assert tags(a="- x #Food\n- y #food\n- z #food #FOOD\n") == (TagCount("food", 3),)


def test_a_fact_counts_once_a_section() -> None:
    assert tags(a="- x #t\n- X #t\n\n# Other\n\n- x #t\n", b="- x #t\n") == (TagCount("t", 3),)


def test_the_copy_of_a_fact_does_not_count() -> None:
    assert tags(
        **{
            "2024-12-01": "- [fact] the office moved to Graz #work #old\n",
            "2024-12-02": "- [fact] the office moved to Graz #work\n",
            "topics": "- the office moved to Graz #work\n- tea #Work\n",
        }
    ) == (TagCount("Work", 2),)


def test_tags_are_named_as_they_are_typed() -> None:
    (one, two) = facts(a="- one #a\n- two\n")
    assert most_tagged((two, one), ("tag:a",)) == most_tagged((two, one), ("#A",)) == [one, two]


def test_an_open_item_of_a_list_is_a_task_and_a_done_one_is_past() -> None:
    finder = index_of(a="- [ ] call Bo\n- [x] call Cy\n- [-] sell it\n- [task] paint\n").finder

    def listed(**conditions: Any) -> list[str]:
        return [hit.text for hit in finder.entries(Filter(facts_only=True, **conditions), TODAY)]

    assert listed(kind="Task") == ["[ ] call Bo", "paint"]
    assert listed(undone=True) == ["[ ] call Bo", "paint"]
    assert listed() == ["[ ] call Bo", "[x] call Cy", "[-] sell it", "paint"]


def test_without_facts_there_are_no_tags() -> None:
    assert tags() == ()


def test_most_tagged_first_then_in_their_order() -> None:
    index = facts(a="- one #a\n- two #B\n- both #b #A\n- new #b\n- none #c\n")
    assert [hit.text for hit in most_tagged(index, ("A", "b"))] == [
        "both",
        "one",
        "two",
        "new",
        "none",
    ]
