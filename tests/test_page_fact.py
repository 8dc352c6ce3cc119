"""The page of a fact: its values over time, its citations, and its forms."""

import re
from pathlib import Path

import pytest
from dated_memory import EMPLOYERS, DatedMemory
from page_readers import SESSION, STATED, TODAY, addresses, commit_on, harm, main, read, words
from page_readers import memory as memory
from page_readers import months as months
from page_readers import paged as paged
from session_files import claude

from mdmem.memory import Memory
from mdmem.model.history import ShowHistory
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Contradict, Remember, WriteOptions
from mdmem.show.values import to_json

HOSTILE = '<img src=x onerror=alert(1)> "x" \u202ey'


def fact_of(memory: Memory, text: str) -> str:
    listed = memory.facts(ListFacts(everything=True, limit=0)).facts
    (fact,) = {hit.fact for hit in listed if text in hit.text}
    assert fact
    return fact


def test_its_values_newest_first(memory: Memory) -> None:
    answer = read(memory, f"/fact/{fact_of(memory, 'Notion')}")
    text = words(answer)
    assert answer.status == 200
    assert answer.text.count("<h1") == 1
    assert "employer: works at Notion current ◐ inferred by Ada Example, Friday 10 April" in text
    assert "MEMORY.md › Memory › Work" in text
    values = text.partition(" Values ")[2]
    assert re.findall(r"works at (\w+) (?:since )?10", values) == EMPLOYERS[::-1]
    assert "10 Jan – 10 Feb superseded" in values
    assert "--purge" not in text
    assert "<form" not in main(answer)


def test_its_bars(memory: Memory) -> None:
    page = main(read(memory, f"/fact/{fact_of(memory, 'Linear')}"))
    assert re.search(
        r'<svg role="img" aria-label="Values over time: works at Stripe, 10 Jan to 10 Feb;'
        r' [^"]*works at Notion, 10 Apr to now"',
        page,
    )
    bars = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', page)]
    assert len(bars) == 4
    assert bars == sorted(bars)
    assert page.count('class="period now"') == 1


def test_what_no_longer_holds_leads_to_what_does(memory: Memory) -> None:
    answer = read(memory, f"/fact/{fact_of(memory, 'Stripe')}", token="t")
    assert '<h1 class="fact"><del>employer: works at Stripe</del></h1>' in main(answer)
    assert "superseded" in words(answer)
    assert "Current value: employer: works at Notion" in words(answer)
    assert f"/fact/{fact_of(memory, 'Notion')}" in addresses(answer)
    assert "/do/" not in answer.text.replace("/do/log", "").replace("/do/remember", "")


def test_one_that_was_forgotten(memory: Memory) -> None:
    text = words(read(memory, f"/fact/{fact_of(memory, 'lives in Oslo')}"))
    assert "lives in Oslo forgotten" in text
    assert "Forgotten by assistant, 13 Apr , “moved”" in text
    assert "Current value" not in text


def test_what_an_agent_says_that_the_user_said(memory: Memory) -> None:
    text = words(read(memory, f"/fact/{fact_of(memory, 'Mats')}"))
    assert "stated by you, according to assistant, Monday 13 April, 12:00" in text
    assert "“said on the phone”" in text


def test_what_contradicts_it(memory: Memory) -> None:
    answer = read(memory, f"/fact/{fact_of(memory, 'Mondays')}")
    assert "Contradicted Review ≠ parking: in the yard (until 2026-05-30) 12 Apr" in words(answer)
    assert '<g class="period contradicting"><title>contradicting: in the yard' in main(answer)
    assert {"/review", f"/fact/{fact_of(memory, 'parking')}"} <= set(addresses(answer))


def test_one_that_is_not_saved(memory: Memory) -> None:
    answer = read(memory, f"/fact/{fact_of(memory, 'desk')}", token="t")
    assert "has a desk current Not saved yet." in words(answer)
    assert "/do/replace" in answer.text


def test_forms(memory: Memory) -> None:
    fact = fact_of(memory, "parking")
    page = main(read(memory, f"/fact/{fact}", token="secret"))
    for verb, fields in (("replace", {"text", "reason"}), ("forget", {"reason"})):
        (form,) = re.findall(rf'<form[^>]*method="post" action="/do/{verb}">.*?</form>', page, re.S)
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
        assert hidden == {"token": "secret", "back": f"/fact/{fact}", "fact": fact}
        assert set(re.findall(r'name="(\w+)"', form)) == fields | hidden.keys()
        assert f"{verb.capitalize()}</button>" in form
    assert ">in the yard (until 2026-05-30)</textarea>" in page
    assert f"mdmem forget {fact} --purge" in page
    assert page.count('class="filled"') == 1


def test_what_is_past_is_purged_by_its_text(memory: Memory) -> None:
    past = fact_of(memory, EMPLOYERS[0])
    page = main(read(memory, f"/fact/{past}", token="secret"))
    assert ">mdmem forget &#34;ITS TEXT&#34; --purge<" in page


class TestWhereItWasSaid:
    def test_the_cited_lines(self, memory: Memory, paged: DatedMemory) -> None:
        claude(
            paged.at.world.home,
            "hello",
            "agent: hello",
            "I play the cello <script>",
            "agent: noted",
            *(f"and {number}" for number in range(200)),
            session=SESSION.partition("/")[2],
        )
        answer = read(memory, f"/fact/{fact_of(memory, 'cello')}")
        said = words(answer).partition("Where it was said ")[2]
        assert said.startswith(f"{SESSION}#3 hello user")
        assert "cited: › I play the cello &lt;script&gt; user" in said
        assert "and 100" not in said
        assert harm(answer) == []

    def test_gone(self, memory: Memory) -> None:
        text = words(read(memory, f"/fact/{fact_of(memory, 'cello')}"))
        assert f"{SESSION}#3 gone The transcript is gone" in text

    def test_a_transcript_without_the_line(self, memory: Memory, paged: DatedMemory) -> None:
        claude(paged.at.world.home, "hello", session=SESSION.partition("/")[2])
        text = words(read(memory, f"/fact/{fact_of(memory, 'cello')}"))
        assert f"{SESSION}#3 gone" in text

    def test_one_that_cannot_be_read(self, memory: Memory, paged: DatedMemory) -> None:
        path: Path = claude(paged.at.world.home, "hello", session=SESSION.partition("/")[2])
        path.with_name(f"copy-{path.name}").write_bytes(path.read_bytes())
        answer = read(memory, f"/fact/{fact_of(memory, 'cello')}")
        assert answer.status == 200
        assert SESSION in words(answer)


def test_programs_are_told_what_the_verb_tells(memory: Memory) -> None:
    fact = fact_of(memory, "Notion")
    answer = read(memory, f"/fact/{fact}", accept="application/json").json
    assert answer == to_json(memory.history(ShowHistory(fact, by_id=True)))


@pytest.mark.parametrize(
    "name", ["00000000", "employer", "x" * 300, "%3Cscript%3E", "..%2fa", "a/b"]
)
def test_no_fact(memory: Memory, name: str) -> None:
    answer = read(memory, f"/fact/{name}")
    assert (answer.status, answer.text.count("<h1")) == (404, 1)
    assert harm(answer) == []


def test_a_fact_that_says_the_id_of_another(memory: Memory) -> None:
    fact = fact_of(memory, "Notion")
    memory.apply(Remember(fact, section="Home"))
    assert '<h1 class="fact">employer: works at Notion</h1>' in main(read(memory, f"/fact/{fact}"))


def test_what_strangers_wrote_does_nothing(paged: DatedMemory) -> None:
    by = WriteOptions(actor="<b onclick=alert(1)>", reason=HOSTILE)
    paged.at.write(f"memory/bad{HOSTILE[:5]}.md", f"# {HOSTILE}\n\n- {HOSTILE}\n")
    commit_on(paged.at, "2026-05-01")
    memory = paged.on(TODAY)
    added = memory.apply(Remember(f"{HOSTILE} 1", key="<i>", section="Home", options=by)).added[0]
    memory.apply(Remember(f"{HOSTILE} 2", key="<i>", section="Home", options=by))
    memory.apply(Contradict("<i>", "parking", STATED))
    for fact in (added, fact_of(memory, "y 2"), fact_of(memory, "parking")):
        answer = read(memory, f"/fact/{fact}", token="t")
        assert (answer.status, harm(answer)) == (200, [])
        assert "&lt;U+202E&gt;" in answer.text
