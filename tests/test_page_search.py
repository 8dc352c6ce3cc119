"""The search page and the agent view: results, memory as of a past day, and blocks."""

import re
from urllib.parse import quote

import pytest
from dated_memory import DatedMemory
from page_readers import STATED, TODAY, addresses, commit_on, harm, main, read, words
from page_readers import memory as memory
from page_readers import months as months
from page_readers import paged as paged

from mdmem.memory import Memory
from mdmem.model.prompts import BuildContext
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Log, Remember, WriteOptions
from mdmem.show.values import to_json

HOSTILE = '<svg onload=alert(1)> "x" \u202ey'


def hits(path: str, memory: Memory) -> str:
    """The words of the element that the script replaces."""
    page = main(read(memory, path))
    assert page.count('<div id="hits" aria-live="polite">') == 1
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition('id="hits"')[2]).split())


class TestResults:
    def test_hits_with_their_words_marked(self, memory: Memory) -> None:
        answer = read(memory, "/search?q=works+canteen")
        page = main(answer)
        assert answer.status == 200
        assert answer.text.count("<h1") == 1
        assert 'name="q" aria-label="Search memory"' in answer.text
        assert 'value="works canteen"' in answer.text
        assert "meets on Tuesdays, in the <mark>canteen</mark>" in page
        assert "employer: <mark>works</mark> at Notion" in page
        assert "6 results." in words(answer)
        assert re.search(
            r"inferred meets on Tuesdays, in the canteen 13 Apr in Work", words(answer)
        )
        logged = words(read(memory, "/search?q=cello"))
        assert logged.endswith("plays the cello 13 Apr")
        (fact,) = memory.facts(ListFacts(key="employer")).facts
        assert f"/fact/{fact.fact}" in addresses(answer)
        assert "<title>works canteen · Search" in answer.text

    def test_the_past_is_struck_and_leads_to_what_holds(self, memory: Memory) -> None:
        answer = read(memory, "/search?q=employer&history=1")
        assert re.search(r"<del><mark>employer</mark>: works at Stripe</del>", main(answer))
        assert "superseded" in words(answer)
        (fact,) = memory.facts(ListFacts(key="employer")).facts
        assert addresses(answer).count(f"/fact/{fact.fact}") == 4
        assert "removed" in hits("/search?q=Oslo&history=1", memory)

    def test_who_said_that_the_user_said_it(self, memory: Memory) -> None:
        assert "stated by you, according to assistant landlord : Mats" in hits(
            "/search?q=landlord", memory
        )

    def test_memory_as_it_was(self, memory: Memory) -> None:
        answer = read(memory, "/search?q=employer&at=2026-02-15")
        text = words(answer)
        assert "Memory as it was on Sunday 15 February (2026-02-15)" in text
        assert "employer : works at Linear" in text
        assert "Notion" not in text
        assert "/search?q=employer" in addresses(answer)
        assert 'type="date" name="at" value="2026-02-15"' in answer.text

    def test_no_hit_leads_to_the_past(self, memory: Memory) -> None:
        answer = read(memory, "/search?q=zzzqqq&kind=decision")
        assert "Nothing found. Look in the past" in words(answer)
        assert "/search?q=zzzqqq&kind=decision&history=1" in addresses(answer)
        assert "Look in the past" not in words(read(memory, "/search?q=zzzqqq&history=1"))

    def test_nothing_is_asked_yet(self, memory: Memory) -> None:
        for path in ("/search", "/search?q=+", "/search?at=2026-02-15"):
            assert "Type words" in hits(path, memory)

    def test_entries_that_are_no_facts(self, memory: Memory) -> None:
        answer = read(memory, "/search?q=what+matters")
        assert "A note of <mark>what</mark> <mark>matters</mark>." in main(answer)
        assert "/f/MEMORY.md?section=Memory+%3E+Work" in addresses(answer)
        assert "not saved" in words(answer)

    def test_programs_are_told_what_the_verb_tells(self, memory: Memory) -> None:
        answer = read(memory, "/search?q=works&history=1", accept="application/json").json
        assert answer == to_json(memory.search(Search("works", limit=30, history=True)))


class TestFilters:
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("q=works+meets", {"Notion", "Mondays", "canteen"}),
            ("q=works+meets&source=user-stated", {"Mondays"}),
            ("q=works+meets&source=inferred", {"Notion", "canteen"}),
            ("q=works+meets&kind=decision", {"canteen"}),
            ("q=works+meets&since=2026-04-13", {"canteen"}),
            ("q=cello&file=memory", {"cello"}),
            ("q=cello&file=MEMORY.md", set()),
            ("kind=decision", {"canteen"}),
            ("since=2026-04-14", {"cello"}),
        ],
    )
    def test_each_narrows(self, memory: Memory, query: str, expected: set[str]) -> None:
        text = hits(f"/search?{query}", memory)
        names = {"Notion", "Mondays", "canteen", "cello"}
        assert {name for name in names if name in text.partition("Old facts")[2]} == expected

    def test_they_are_folded_away_where_none_is_set(self, memory: Memory) -> None:
        assert "<details>" in read(memory, "/search?q=meets").text
        assert "<details open>" in read(memory, "/search?q=meets&history=1").text

    def test_other_words_are_looked_for_with_them(self, memory: Memory) -> None:
        answer = read(memory, "/search?q=meets&source=inferred&at=2026-04-14")
        form = answer.text.partition("</form>")[0]
        for name, value in (("source", "inferred"), ("at", "2026-04-14")):
            assert f'<input type="hidden" name="{name}" value="{value}">' in form
        assert form.count('name="q"') == 1

    def test_they_are_links(self, memory: Memory) -> None:
        answer = read(memory, "/search?q=meets&source=inferred")
        page = main(answer)
        assert 'source=inferred" aria-current="true">inferred</a>' in page
        assert {
            "/search?q=meets",
            "/search?q=meets&source=user-stated",
            "/search?q=meets&source=inferred&kind=decision",
            "/search?q=meets&source=inferred&since=2026-04-29",
            "/search?q=meets&source=inferred&file=MEMORY.md",
            "/search?q=meets&source=inferred&history=1",
        } <= set(addresses(answer))
        assert "/search?q=employer&history=1" in addresses(
            read(memory, "/search?q=employer&at=2026-02-15")
        )

    @pytest.mark.parametrize(
        ("query", "status"),
        [
            ("at=%3Cb%3E", 404),
            ("at=1999-01-01", 400),
            ("source=%3Cb%3E", 400),
            ("since=%3Cb%3E", 400),
            ("history=1&at=2026-02-15", 400),
            ("kind=%3Cb%3E", 200),
            ("file=..%2F..%2Fetc", 200),
        ],
    )
    def test_bad_values_keep_the_query(self, memory: Memory, query: str, status: int) -> None:
        answer = read(memory, f"/search?q=the+lost+query&{query}")
        assert answer.status == status
        assert 'value="the lost query"' in answer.text
        assert answer.text.count("<h1") == 1
        assert "<b>" not in main(answer).replace("<b></b>", "")
        assert "\ufdd0" not in answer.text
        assert "U+FDD0" not in answer.text


class TestContext:
    def test_the_start_of_a_session(self, memory: Memory) -> None:
        answer = read(memory, "/context")
        text = words(answer)
        block = memory.context(BuildContext(preview=True))
        assert answer.status == 200
        assert f"Block {block.tokens} of 2,000 tokens" in text
        rows = re.findall(r'<td class="number">(\d+)</td>', main(answer))
        assert sum(map(int, rows)) == block.tokens
        assert "works at Notion 8 curated memory" in text
        assert "## Memory · MEMORY.md" in text
        (fact,) = memory.facts(ListFacts(key="employer")).facts
        assert f"/fact/{fact.fact}" in addresses(answer)

    def test_a_prompt(self, memory: Memory) -> None:
        text = words(read(memory, "/context?q=where+is+the+employer"))
        assert re.search(r"employer: works at Notion \d+ answers the prompt, score \d", text)
        assert "Nothing was left out." in text
        text = words(read(memory, "/context?q=zzzqqq"))
        assert "Nothing: memory has no entry that clearly answers this prompt." in text
        assert "Nothing would be given." in words(read(memory, "/context?q=%2Fclear"))

    def test_what_is_left_out(self, paged: DatedMemory) -> None:
        lines = "".join(
            f"- the harbour has {n} boats in row {n * 7}, {'x' * 90}\n" for n in range(60)
        )
        paged.at.write("memory/harbour.md", f"# Harbour\n\n{lines}")
        commit_on(paged.at, "2026-05-01")
        text = words(read(paged.on(TODAY), "/context?q=harbour+boats"))
        count = re.search(r"Answers the prompt (\d+)", text)
        assert count
        assert int(count[1]) > 0
        assert "memory/harbour.md:" in text.partition("Left out for lack of room")[2]

    def test_what_was_given_before(self, memory: Memory) -> None:
        memory.context(BuildContext(prompt="where is the employer", session="s1"))
        path = "/context?q=where+is+the+employer&session=s1"
        for _ in range(2):
            text = words(read(memory, path))
            assert "Nothing: the session was given all of it before." in text
            assert re.search(r"Given before \d+ employer: works at Notion", text)

    def test_looking_records_nothing(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MDMEM_SESSION", "s2")
        for query in ("", "?q=employer", "?q=employer&session=s3"):
            assert read(memory, f"/context{query}").status == 200
        assert not (memory.workspace.state / "given").exists()
        assert memory.context(BuildContext(prompt="employer", session="s3")).repeated == 0

    def test_what_an_agent_would_have_got(self, memory: Memory) -> None:
        answer = read(memory, "/context?q=where+is+the+employer&session=s1&at=2026-02-20")
        text = words(answer)
        assert "What an agent would have got on Friday 20 February (2026-02-20)" in text
        assert "employer: works at Linear" in text
        assert "Notion" not in text
        assert "/context?q=where+is+the+employer&session=s1" in addresses(answer)
        assert 'name="at" value="2026-02-20"' in answer.text
        assert "works at Notion" not in words(read(memory, "/context?at=2026-02-20"))
        before = words(read(memory, "/context?at=2020-01-01"))
        assert "memory begins on 2025-01-01 Use that day or a later one." in before

    def test_programs_are_told_the_block(self, memory: Memory) -> None:
        answer = read(memory, "/context?q=employer", accept="application/json").json
        assert "works at Notion" in answer["text"]
        assert answer["tokens"] <= answer["budget"]


def test_what_strangers_wrote_does_nothing(paged: DatedMemory) -> None:
    by = WriteOptions(actor="<b onclick=alert(1)>", reason=HOSTILE)
    paged.at.write("memory/bad.md", f"# {HOSTILE}\n\n{HOSTILE} onload\n\n- {HOSTILE} alert\n")
    commit_on(paged.at, "2026-05-01", HOSTILE)
    memory = paged.on(TODAY)
    memory.apply(Remember(f"{HOSTILE} 1", key="<i>", section="Home", options=by))
    memory.apply(Remember(f"{HOSTILE} 2", key="<i>", section="Home", options=by))
    memory.apply(Log(f"{HOSTILE} 3", tags=("svg",), options=STATED))
    for query in (
        f"q={quote(HOSTILE)}",
        f"q={quote(HOSTILE)}&history=1",
        f"q={quote(HOSTILE)}&at=2026-05-04",
        f"q=x&kind={quote(HOSTILE)}&file={quote(HOSTILE)}",
    ):
        answer = read(memory, f"/search?{query}")
        assert (answer.status, harm(answer)) == (200, [])
        assert "&lt;U+202E&gt;" in answer.text
    for query in ("", f"?q={quote(HOSTILE)}", f"?q=x&session={quote(HOSTILE)}"):
        answer = read(memory, f"/context{query}")
        assert (answer.status, harm(answer)) == (200, [])
