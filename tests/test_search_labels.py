"""Labels are separated by spaces in the index: whatever white space a path, a tag or a kind has,
they match as a whole, and nothing else.
"""

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdmem.index.indexed import as_label, fact_number, file_label, place_labels, statement_number
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.model import FileKind, FilePath, SectionPath
from mdmem.model.trail import Entry

SPACED = [
    "a b",
    "a%20b",
    "a  b",
    "a\tb",
    "a\nb",
    "a\vb",
    "a\fb",
    "a\rb",
    "a\xa0b",
    "a\u2003b",
    "a\u2028b",
    "a\x85b",
    "a",
    "b",
    "%",
    " ",
]


def entry(
    path: str = "memory/tea.md", text: str = "tea", section: SectionPath = (), **values: object
) -> Entry:
    fields = {"kind": None, "tags": (), "fact": None} | values
    return Entry(
        path=FilePath(path),
        start_line=1,
        end_line=1,
        section=section,
        day=None,
        text=text,
        key=None,
        until=None,
        first_line=text,
        **fields,
    )


def index_of(*entries: Entry) -> SearchIndex:
    index = SearchIndex.in_memory()
    pages = [
        FileEntries(
            path=each.path,
            entries=(each,),
            origins=(None,),
            uncommitted=(True,),
            kind=FileKind.EVERGREEN,
        )
        for each in entries
    ]
    index.update(pages, (), EMPTY_SNAPSHOT)
    return index


@pytest.mark.parametrize("name", SPACED)
def test_a_path_its_folder_and_its_name_match_as_a_whole(name: str):
    index = index_of(*(entry(f"memory/{each}/{each}.md") for each in SPACED))
    for wanted in (f"memory/{name}/{name}.md", f"memory/{name}", f"{name}.md"):
        assert [hit.path for hit in index.finder.entries(Filter(file=wanted))] == [
            f"memory/{name}/{name}.md"
        ]


@pytest.mark.parametrize("name", SPACED)
def test_so_do_tags_and_kinds(name: str):
    index = index_of(
        *(
            entry(f"memory/{number}.md", text=each, kind=each, tags=(each,))
            for number, each in enumerate(SPACED)
        )
    )
    assert [hit.text for hit in index.finder.entries(Filter(kind=name))] == [name]
    assert [hit.text for hit in index.finder.entries(Filter(tags=(name,)))] == [name]


@pytest.mark.parametrize("name", SPACED)
def test_a_file_that_is_replaced_leaves_those_of_like_names_alone(name: str):
    index = index_of(*(entry(f"memory/{each}.md") for each in SPACED))
    index.update((), {f"memory/{name}.md"}, EMPTY_SNAPSHOT)
    left = sorted(hit.path for hit in index.finder.entries(Filter(), date(2026, 1, 1)))
    assert left == sorted(f"memory/{each}.md" for each in SPACED if each != name)


@given(st.lists(st.text(), unique=True, min_size=2, max_size=2))
@example(["a b", "a%20b"])
@example(["\ud800", "?"])
def test_different_values_have_different_labels(values: list[str]):
    labels = [as_label("place", value) for value in values]
    assert labels[0] != labels[1]
    assert file_label(values[0]) != file_label(values[1])
    assert not any(character in label for character in " \t\n\f\r" for label in labels)


def test_a_fact_has_one_number_in_a_section_whatever_its_spelling():
    tea, other = entry(text="tea", fact="3c261f3e"), entry(text="Tea  ", fact="3c261f3e")
    assert statement_number(tea) == statement_number(other) == fact_number(tea.path, (), tea.fact)
    elsewhere = [
        entry(text="tea", fact="3c261f3f"),
        entry(text="tea"),
        entry(text="tea", fact="3c261f3e", section=SectionPath(("Tea",))),
        entry("memory/cups.md", text="tea", fact="3c261f3e"),
        entry("memory/tea.md\nTea", text="tea", fact="3c261f3e"),
    ]
    assert len({statement_number(each) for each in (tea, *elsewhere)}) == 6
    assert all(0 <= statement_number(each) < 2**64 for each in (tea, *elsewhere))


def test_the_labels_of_a_place_are_those_of_the_path_and_of_every_part_of_the_section_path():
    place = place_labels(FilePath("memory/my tea/cups.md"), SectionPath(("Tea", "Cups", "Tea")))
    names = [label.partition(":") for label in place.split(" ")]
    assert [value for name, _, value in names if name == "place"] == [
        "memory/my%20tea/cups.md",
        "memory/my%20tea",
        "memory",
        "cups.md",
    ]
    assert len([name for name, _, _ in names if name == "part"]) == 5
