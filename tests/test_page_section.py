"""The page of a section: its facts, its versions, and one compared with now."""

import re

import pytest
from dated_memory import DatedMemory
from page_readers import TODAY, addresses, commit_on, harm, main, read, words
from page_readers import memory as memory
from page_readers import months as months
from page_readers import paged as paged

from mdmem.memory import Memory
from mdmem.model.history import SectionHistory, ShowHistory
from mdmem.model.reads import Show
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Forget, Remember, WriteOptions
from mdmem.page.pages import Links
from mdmem.page.views.section import compare, differing_parts, read_entries
from mdmem.show.values import to_json

HOSTILE = '<img src=x onerror=alert(1)> "x" \u202ey'
WORK = "/f/MEMORY.md?section=Memory+%3E+Work"


class TestNow:
    def test_facts_with_what_is_known_of_them(self, memory: Memory) -> None:
        answer = read(memory, WORK)
        text = words(answer)
        assert answer.status == 200
        assert answer.text.count("<h1") == 1
        assert "MEMORY.md › Memory Work" in text
        assert re.search(
            r"5 facts, 1 no longer current, 9 versions, last changed 13 Apr by Ada Example", text
        )
        assert "It has changes that are not saved." in text
        assert "employer: works at Notion ◐ 10 Apr inferred by" in text
        assert "badge is blue (until 2026-04-30) #badge expired ● 12 Apr stated by" in text
        assert "parking: in the yard (until 2026-05-30) contradicted ● 12 Apr" in text
        assert "meets on Tuesdays, in the canteen decision ◐ 13 Apr" in text
        assert "has a desk not saved ·" in text
        assert "A note of what matters." in text
        assert "<strong>what</strong>" in main(answer)
        assert "aside" not in text
        assert "^desk" not in text

    def test_a_fact_leads_to_its_page(self, memory: Memory) -> None:
        (hit,) = memory.facts(ListFacts(key="employer")).facts
        assert f"/fact/{hit.fact}" in addresses(read(memory, WORK))

    def test_sections_within(self, memory: Memory) -> None:
        answer = read(memory, "/f/MEMORY.md?section=Memory")
        assert [each for each in addresses(answer) if "section" in each][:2] == [
            "/f/MEMORY.md?section=Memory+%3E+Work",
            "/f/MEMORY.md?section=Memory+%3E+Home",
        ]
        assert "works at Notion" in words(answer)

    def test_an_old_address_is_the_same_page(self, memory: Memory) -> None:
        assert read(memory, WORK.replace("/f/", "/s/")).text == read(memory, WORK).text

    def test_the_text_before_the_first_heading(self, paged: DatedMemory) -> None:
        paged.at.write("memory/plain.md", "- keys are with Mats\n\n# Later\n")
        commit_on(paged.at, "2026-04-01")
        answer = read(paged.on("2026-04-02"), "/s/memory/plain.md")
        assert (answer.status, "keys are with Mats" in words(answer)) == (200, True)
        assert "Before the first heading. 1 fact, 1 version" in words(answer)
        assert read(paged.on("2026-04-02"), "/s/MEMORY.md").status == 404

    def test_programs_are_told_what_the_verbs_tell(self, memory: Memory) -> None:
        answer = read(memory, WORK, accept="application/json").json
        view = memory.show(Show("MEMORY.md", "Memory > Work"))
        history = memory.history(ShowHistory("Work"))
        assert answer == answer | to_json(view)
        assert answer["revisions"] == to_json(history)["revisions"]
        assert answer["total"] == len(answer["facts"]) == 5

    def test_a_section_that_is_not_there(self, memory: Memory) -> None:
        for path in ("/s/MEMORY.md?section=Wrok", "/s/memory/none.md?section=Work"):
            answer = read(memory, path)
            assert (answer.status, answer.text.count("<h1")) == (404, 1)
        assert "Did you mean Memory &gt; Work?" in main(read(memory, "/s/MEMORY.md?section=Wrok"))
        for path in ("/s/../etc/passwd?section=a", "/s/.git/config?section=core", "/s/?section=a"):
            assert read(memory, path).status in (400, 404)

    def test_one_of_several_with_a_name(self, paged: DatedMemory) -> None:
        paged.at.write("memory/twice.md", "# Pair\n\n- first\n\n# Pair\n\n- second\n")
        commit_on(paged.at, "2026-04-01")
        memory = paged.on("2026-04-02")
        answer = read(memory, "/s/memory/twice.md?section=Pair")
        assert "first" in words(answer)
        assert "/f/memory/twice.md?section=Pair&nth=2" in addresses(answer)
        answer = read(memory, "/s/memory/twice.md?section=Pair&nth=2")
        assert ("second" in words(answer), "first" in words(answer)) == (True, False)

    def test_a_fact_that_says_the_name_of_the_section(self, memory: Memory) -> None:
        memory.apply(Remember("Memory > Work", section="Home"))
        assert "works at Notion" in words(read(memory, WORK))

    def test_one_that_was_removed(self, paged: DatedMemory) -> None:
        text = paged.at.read("MEMORY.md")
        paged.at.write("MEMORY.md", text[: text.index("## Work")] + text[text.index("## Home") :])
        commit_on(paged.at, "2026-05-01")
        answer = read(paged.on("2026-05-02"), WORK)
        assert answer.status == 200
        assert "This section was removed. Its versions are below." in words(answer)
        assert "works at Notion" in words(answer)

    def test_a_long_file_beside_it(self, paged: DatedMemory) -> None:
        lines = "".join(f"- line {n}\n" for n in range(300))
        paged.at.write("memory/long.md", f"- first\n\n# A\n\n- own\n\n## B\n\n{lines}")
        commit_on(paged.at, "2026-05-01")
        memory = paged.on(TODAY)
        for query in ("", "?section=A"):
            text = words(read(memory, f"/s/memory/long.md{query}"))
            assert "1 version" in text
            assert "no longer current" not in text
        seen, address = [], "/f/memory/long.md?section=A+%3E+B"
        while address:
            answer = read(memory, address)
            assert answer.text.count("<") - answer.text.count("</") < 2_000
            assert len(answer.text) < 90_000
            seen += re.findall(r">line (\d+) <a", main(answer))
            address = next(iter(re.findall(r'<a href="([^"]+)" rel="next"', main(answer))), "")
            address = address.replace("&amp;", "&")
        assert seen == [str(number) for number in range(300)]

    def test_who_said_that_the_user_said_it(self, memory: Memory) -> None:
        text = words(read(memory, "/s/MEMORY.md?section=Home"))
        assert "landlord: Mats ● 13 Apr stated by you, according to assistant, Monday 13" in text


class TestPast:
    def test_a_slider_over_the_versions(self, memory: Memory) -> None:
        page = main(read(memory, WORK))
        (slider,) = re.findall(r'<input type="range"[^>]*>', page)
        assert 'name="at" min="1" max="9" value="9" aria-valuetext="now"' in slider
        assert '<label for="at">' in page
        assert '<form class="slider card" id="slider" action="/f/MEMORY.md">' in page
        assert '<input type="hidden" name="section" value="Memory &gt; Work">' in page
        assert '<div id="version" aria-live="polite">' in page

    def test_a_version_against_now(self, memory: Memory) -> None:
        answer = read(memory, f"{WORK}&at=3")
        page, text = main(answer), words(answer)
        assert "As it was on Tuesday 10 February, 12:00 · Ada Example" in text
        assert WORK in addresses(answer)
        assert "~ changed: employer works at Linear Notion" in text
        assert "<del>Linear</del><ins>Notion</ins>" in page
        assert "+ added: badge is blue (until 2026-04-30)" in text
        assert 'aria-valuetext="Tuesday 10 February, 12:00"' in page
        assert 'value="3"' in page
        assert text.index("As it was") < text.index("Back to now") < text.index("Versions")

    def test_who_and_why(self, memory: Memory) -> None:
        history = memory.history(ShowHistory("Work"))
        assert isinstance(history, SectionHistory)
        number = history.total - 2
        text = words(read(memory, f"{WORK}&at={number}"))
        assert "As it was on Sunday 12 April, 12:00 · Ada Example · “asked Mats”" in text

    def test_a_replaced_fact_is_one_line(self, memory: Memory) -> None:
        # neither has a key, and they share few words
        memory.apply(
            Remember(
                "lunch at noon", section="Work", options=WriteOptions(supersedes="meets on Mondays")
            )
        )
        memory.apply(Forget("meets on Tuesdays, in the canteen"))
        page = main(read(memory, f"{WORK}&at=9"))
        assert "<del>meets on Mondays</del><ins>lunch at noon</ins>" in page
        assert re.search(r"−</span>\s*<a class=\"what\".*?<del>meets on Tuesdays", page)

    def test_versions_tell_what_changed(self, memory: Memory) -> None:
        text = words(read(memory, WORK)).partition("Versions ")[2]
        assert text.startswith(
            "Monday 13 April, 12:00 · Ada Example As it was in version 9 + added:"
            " meets on Tuesdays, in the canteen"
        )
        assert "~ changed: employer works at Figma Notion" in text

    def test_twenty_versions_a_page(self, paged: DatedMemory) -> None:
        for number in range(23):
            paged.at.write("memory/a.md", f"# A\n\n- number: {number}\n")
            commit_on(paged.at, f"2026-02-{number + 1:02}")
        memory = paged.on("2026-03-01")
        answer = read(memory, "/s/memory/a.md?section=A")
        assert main(answer).count('<article class="version">') == 20
        assert "Newer versions" not in words(answer)
        (older,) = [each for each in addresses(answer) if "upto" in each]
        assert older == "/f/memory/a.md?section=A&upto=3"
        answer = read(memory, older)
        assert main(answer).count('<article class="version">') == 3
        assert "/f/memory/a.md?section=A&upto=23" in addresses(answer)
        assert "Older versions" not in words(answer)
        (row,) = memory.facts(ListFacts(file="memory/a.md")).facts
        assert f"/fact/{row.fact}" in addresses(answer)

    @pytest.mark.parametrize("at", ["0", "10", "-1", "1.5", "x", "%3Cb%3E", "9" * 30])
    def test_neither_versions_nor_days(self, memory: Memory, at: str) -> None:
        answer = read(memory, f"{WORK}&at={at}")
        assert (answer.status in (400, 404), answer.text.count("<h1")) == (True, 1)

    def test_a_file_and_a_section_as_of_a_day(self, memory: Memory) -> None:
        for address in ("/f/MEMORY.md?at=2026-02-11", f"{WORK}&at=2026-02-11"):
            answer = read(memory, address)
            text = words(answer)
            assert answer.status == 200
            assert "Memory as it was on Wednesday 11 February" in text
            assert "employer: works at Linear since replaced" in text
            assert "Notion" not in text.partition("Versions")[0]
            assert address.partition("?at")[0].partition("&at")[0] in addresses(answer)


@pytest.mark.costly
def test_long_texts_are_shown_in_part(paged: DatedMemory) -> None:
    old, new = (f"{word} {'word ' * 40_000}" for word in ("old", "new"))
    quote = "> *words* of others\n" * 20_000
    for day, text in (("2026-04-20", old), ("2026-04-21", new)):
        many = " ".join(f"#tag{number}" for number in range(3_000))
        facts = f"- {text}\n- tags {many}\n"
        paged.at.write("memory/long.md", f"# Long\n\n{facts}\n{quote}{text}\n\nEnd.\n")
        commit_on(paged.at, day)
    memory = paged.on(TODAY)
    listed = memory.facts(ListFacts(file="memory/long.md")).facts
    rows = {hit.text[:3]: hit.fact for hit in listed}
    for path, most in {
        "/s/memory/long.md?section=Long": 200_000,
        "/s/memory/long.md?section=Long&at=1": 200_000,
        "/days": 100_000,
        "/day/2026-04-21": 100_000,
        f"/fact/{rows['new']}": 50_000,
    }.items():
        answer = read(memory, path)
        assert (answer.status, len(answer.text) < most) == (200, True), path
    assert "…" in words(read(memory, "/day/2026-04-21"))
    assert "Next page" in words(read(memory, "/s/memory/long.md?section=Long"))
    whole = read(memory, f"/fact/{rows['new']}", token="t").text
    assert new.strip() in whole.partition("<textarea")[2]


def test_what_strangers_wrote_does_nothing(paged: DatedMemory) -> None:
    hostile = WriteOptions(actor="<b onclick=alert(1)>", reason=HOSTILE)
    paged.at.write("memory/bad.md", f"# {HOSTILE}\n\n{HOSTILE}\n\n- {HOSTILE}\n- key: {HOSTILE}\n")
    commit_on(paged.at, "2026-02-01")
    memory = paged.on("2026-02-02")
    section = memory.outline("memory/bad.md").sections[0].section[0]
    memory.apply(Remember(HOSTILE + " 2", file="memory/bad.md", section=section, options=hostile))
    links = read(memory, "/s/memory/bad.md?section=" + "x")
    assert links.status == 404
    assert harm(links) == []
    for more in ({}, {"at": 1}, {"at": 2}, {"at": HOSTILE}, {"nth": HOSTILE}):
        answer = read(memory, Links().section("memory/bad.md", (section,), **more))
        assert harm(answer) == []
        assert answer.status == (200 if HOSTILE not in more.values() else 400 + 4 * ("at" in more))
        assert answer.status != 200 or "&lt;U+202E&gt;" in answer.text


class TestComparing:
    def test_lines_in_the_order_of_the_new_text(self) -> None:
        before = "## A\n\n- one\n- two: 2\n- three\n- four\n\nSome text that stays the same.\n"
        after = "## A\n\n- four\n- two: 22\n- five\n\nSome text that is much the same.\n"
        rows = compare(read_entries(before), read_entries(after))
        assert [(row.change, row.key, "".join(text for _, text in row.pieces)) for row in rows] == [
            ("removed", None, "one"),
            ("", None, "four"),
            ("changed", "two", "222"),
            ("removed", None, "three"),
            ("added", None, "five"),
            ("changed", None, "Some text that staysis much the same."),
        ]

    def test_more_than_two_places_are_the_whole_line(self) -> None:
        rows = compare(read_entries("- k: a b c d e\n"), read_entries("- k: a x c y e z\n"))
        assert [text for _, text in rows[0].pieces] == ["a b c d e", "a x c y e z"]

    def test_facts_alike_are_paired_if_asked_for(self) -> None:
        before, after = read_entries("- likes green tea\n"), read_entries("- likes black tea\n")
        assert [row.change for row in compare(before, after)] == ["removed", "added"]
        assert [row.change for row in compare(before, after, pairs_alike=True)] == ["changed"]

    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            ("- a\n- b\n- c\n", "- a\n- x\n- c\n", ("- b\n", "- x\n")),
            ("- a\n  more\n- c\n", "- a\n  less\n- c\n", ("- a\n  more\n", "- a\n  less\n")),
            ("- a\n- c\n", "- a\n- b\n- c\n", ("", "- b\n")),
            ("- a\n", "", ("- a\n", "")),
            ("```\n- a\n- b\n```\n", "```\n- a\n- x\n```\n", None),
            ("- a <!-- c -->\n- b\n", "- a <!-- c -->\n- x\n", ("- b\n", "- x\n")),
            ("- a <!-- c\n- b\n-->\n", "- a <!-- c\n- x\n-->\n", None),
            ("text\n\nold\n", "text\n\nnew\n", None),
        ],
    )
    def test_whole_items_around_what_differs(
        self, before: str, after: str, expected: tuple[str, str] | None
    ) -> None:
        assert differing_parts(before, after) == (expected or (before, after))
