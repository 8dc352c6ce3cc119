"""Today, the timeline, days, commits and files, from the history of a real repository."""

import html
import os
import re
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from urllib.parse import quote

import pytest
from commandline import TOKEN, MadeOnce
from dated_memory import DatedMemory
from dated_memory import dated as dated
from dated_memory import dated_desk as dated_desk
from page_driver import ask
from page_readers import addresses, commit_on, harm, main, read, words

from mdmem.events import read_log
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.history import ShowChanges
from mdmem.model.proposals import Propose
from mdmem.model.writes import Forget, Log, Remember, WriteOptions
from mdmem.page import app
from mdmem.page.app import build_app
from mdmem.page.pages import Links, Page, Reader
from mdmem.show.values import to_json

STATED = WriteOptions(source=Source.USER_STATED)
BY_AGENT = WriteOptions(actor="agent/main", reason="was said so")
HOSTILE = "<img src=x onerror=alert(1)>\u202e"
HOUSE = """---
title: The office by the quay
tags: [office]
aliases: [quay house]
---
# Office

See [[people]], [[MEMORY#Work|what is settled]], [[nobody]] and [the people](people.md).

- [fact] spare key: with the kiosk #key ^key

![[plan.png]]

## Attic

- [ ] sweep it
"""


@pytest.fixture
def memory(dated: DatedMemory, made_once: MadeOnce) -> Memory:
    """Three days of a person and an agent, two notes, and an edit that is not saved."""
    made_once("three days for pages", lambda: live(dated))
    return dated.on("2026-02-05T17:00:00")


def live(dated: DatedMemory) -> None:
    dated.at.write("memory/house.md", HOUSE)
    dated.at.write("memory/people.md", "# People\n\n- Lena: has the key\n")
    dated.on("2026-02-01").apply(Remember("Dublin", key="region", section="Work", options=STATED))
    commit_on(dated.at, "2026-02-01")
    later = WriteOptions(source=Source.USER_STATED, reason="the migration")
    dated.on("2026-02-02T09:00:00").apply(
        Remember("Frankfurt", key="region", section="Work", options=later)
    )
    dated.on("2026-02-02T09:30:00").apply(Log("it rained", options=BY_AGENT))
    dated.on("2026-02-02T09:40:00").apply(Log("and hailed", options=BY_AGENT))
    dated.on("2026-02-05T08:00:00").apply(Forget("lives in Oslo", options=STATED))
    dated.at.write("memory/people.md", "# People\n\n- Lena: has the key\n- Mats: has none\n")


class TestToday:
    @pytest.mark.costly
    def test_it_shows_the_day_and_what_waits(self, dated: DatedMemory, memory: Memory) -> None:
        for number, until in enumerate(("2026-02-04", "2026-02-10", "2026-04-01")):
            dated.on("2026-02-05T09:00:00").apply(
                Remember(f"closed, {number}", until=until, section="Work")
            )
        dated.at.write("memory/pair.md", "# Pair\n\n- tea: green\n- tea: black\n")
        commit_on(dated.at, "2026-02-05")
        dated.at.write("memory/people.md", "# People\n\n- Lena: has the key\n")
        for text in ("tram 7", "tram 8 of **old**"):
            proposed = Remember(text, section="Work", options=BY_AGENT)
            dated.on("2026-02-05T10:00:00").proposals.propose(Propose(proposed))
        memory = dated.on("2026-02-05T17:00:00")
        answer = read(memory, "/", token="t")
        text = words(answer)
        assert answer.status == 200
        assert "<h1>Thursday 5 February</h1>" in answer.text
        assert "7 changes in curated memory, 0 logged." in text
        assert "contradiction : tea green or black" in text
        assert re.search(r"proposal : agent/main proposes tram 7 and 1 more , today 10:00", text)
        assert "not saved : memory/people.md Save as yours" in text
        assert "expired : closed, 0 (until 2026-02-04) until 4 Feb" in text
        assert "Expiring soon closed, 1 (until 2026-02-10) until 10 Feb" in text
        assert "closed, 2" not in text.partition("Expiring soon")[2]
        assert "/context" in addresses(answer)
        waiting = memory.conflicts().conflicts, memory.proposals.standing().numbered.items
        told = read(memory, "/", accept="application/json").json
        assert (len(told["conflicts"]), len(told["items"])) == tuple(map(len, waiting))
        assert told["uncommitted"] == ["memory/people.md"]
        assert [each["until"] for each in told["facts"]] == ["2026-02-10"]
        assert f"All {sum(map(len, waiting))}" in text
        assert answer.text.count("<h1") == 1

    @pytest.mark.costly
    def test_no_other_lines_push_out_what_expires(self, dated: DatedMemory) -> None:
        lines = [
            f"- 09:00 seat {number} is booked (until 2026-02-0{1 + number % 2 * 6})\n"
            for number in range(420)
        ]
        dated.at.write("memory/2026-02-01.md", "".join(["# 2026-02-01\n\n", *lines]))
        dated.at.write(
            "memory/old.md",
            "# Old\n\n- shop: closed (until 2026-01-31)\n- ferry: free (until 2026-02-06)\n",
        )
        commit_on(dated.at, "2026-01-02")
        text = words(read(dated.on("2026-02-05"), "/"))
        assert "expired : shop: closed (until 2026-01-31) until 31 Jan" in text
        assert "Expiring soon ferry: free (until 2026-02-06)" in text

    def test_each_day_of_the_chart_is_a_link(self, memory: Memory) -> None:
        answer = read(memory, "/")
        assert {"/day/2026-02-01", "/day/2026-02-05"} <= set(addresses(answer))
        assert re.search(r'aria-label="2 Feb: 1 by people, 2 by agents"', answer.text)

    def test_programs_are_told_the_changes_of_the_day(self, memory: Memory) -> None:
        answer = read(memory, "/", accept="application/json")
        told = to_json(memory.changes(ShowChanges(since="today", limit=0)))
        assert answer.json["changes"] == told["changes"]
        assert [change["change"] for change in answer.json["changes"]] == ["removed"]

    def test_without_a_token_there_is_no_form(self, memory: Memory) -> None:
        for path in ("/", "/days", f"/commit/{memory.workspace.repository.head()}"):
            assert "<form method" not in read(memory, path).text
        assert "<form method" in read(memory, "/", token="t").text

    def test_an_empty_memory_says_what_brings_something(self, dated: DatedMemory) -> None:
        dated.at.write("MEMORY.md", "# Memory\n")
        dated.at.git("commit", "-q", "--amend", "-a", "--no-edit")
        memory = dated.on("2026-02-01")
        assert "Nothing remembered yet: mdmem remember" in words(read(memory, "/"))
        assert "Nothing is waiting." in words(read(memory, "/"))
        assert "Nothing has changed yet" in words(read(memory, "/days"))

    def test_the_first_day_tells_what_came_in(self, dated: DatedMemory) -> None:
        dated.at.write("memory/a.md", "".join(f"- item {number}\n" for number in range(250)))
        dated.at.git("add", "-A")
        dated.at.git("commit", "-q", "--amend", "--no-edit", "--date", "2026-02-01T09:00:00+00:00")
        memory = dated.on("2026-02-01T17:00:00")
        for address in ("/", "/days", "/day/2026-02-01"):
            text = words(read(memory, address))
            assert re.search(r"25\d facts came in with one change Ada Example 09:00", text), address
            assert "item 249" not in text
        text = words(read(memory, "/"))
        assert re.search(r"This is what came in 25\d facts from 2 files: memory/a.md 250 ,", text)
        assert re.search(r"An agent's session would begin with \d+ tokens of it\.", text)
        assert "This is what came in" not in words(read(dated.on("2026-02-02"), "/"))

    def test_what_has_become_of_a_fact_since(self, memory: Memory) -> None:
        assert re.search(r"lives in Oslo .{0,50} removed", words(read(memory, "/day/2025-01-01")))
        assert re.search(r"Dublin .{0,60} since replaced", words(read(memory, "/day/2026-02-01")))
        assert "since replaced" not in words(read(memory, "/day/2026-02-02"))


class TestTimeline:
    def test_days_with_what_changed(self, memory: Memory) -> None:
        answer = read(memory, "/days")
        text = words(answer)
        assert re.findall(r"<h2><a href=\"([^\"]+)\">", answer.text) == [
            "/day/2026-02-05",
            "/day/2026-02-02",
            "/day/2026-02-01",
            "/day/2025-01-01",
        ]
        assert "Thursday 5 February 1 − removed: lives in Oslo" in text
        assert "region Dublin Frankfurt" in text
        assert "<del>Dublin</del><ins>Frankfurt</ins>" in answer.text
        assert "09:00 in Work the migration" in text
        assert "agent/main" in text

    def test_a_line_of_a_log_is_in_no_section(self, memory: Memory) -> None:
        (change,) = memory.changes(ShowChanges(actor="agent/main", limit=1)).changes
        for address in ("/days", "/day/2026-02-02", f"/commit/{change.made.commit}"):
            assert re.search(
                r"and hailed . \w+ agent/main 09:40 was said so",
                words(read(memory, address)),
            ), address

    def test_it_tells_what_the_verb_tells(self, memory: Memory) -> None:
        told = read(memory, "/days", accept="application/json").json["changes"]
        assert told == to_json(memory.changes(ShowChanges(limit=0)))["changes"]

    def test_logs_are_quieter_than_curated_facts(self, memory: Memory) -> None:
        rows = re.findall(
            r'<li class="row \w+( log)?">(.*?)</a>', main(read(memory, "/days")), re.S
        )
        quiet = [text.rpartition(">")[2].strip() for is_log, text in rows if is_log]
        assert quiet == ["and hailed", "it rained"]
        assert len(rows) > len(quiet)
        assert ' log">' not in main(read(memory, "/day/2026-02-02"))

    def test_filters(self, memory: Memory) -> None:
        for query, wanted in (
            ("who=agent/main", {"it rained", "and hailed"}),
            ("where=logs", {"it rained", "and hailed"}),
            ("where=curated&before=2026-02-02", None),
            ("file=memory/house.md", {"spare key: with the kiosk"}),
            ("who=nobody", set()),
        ):
            answer = read(memory, f"/days?{query}", accept="application/json")
            texts = {change["text"] for change in answer.json["changes"]}
            assert wanted is None or texts - {"[ ] sweep it"} == wanted
            if wanted is None:
                assert "region: Frankfurt" not in texts
                assert "region: Dublin" in texts
        answer = read(memory, "/days?who=agent/main")
        assert re.search(r'who=agent%2Fmain" aria-current="true">agent/main</a>', answer.text)
        assert "/days?who=agent%2Fmain&where=curated" in addresses(answer)
        assert "No changes here." in words(read(memory, "/days?who=nobody"))

    def test_values_that_mean_nothing(self, dated: DatedMemory) -> None:
        memory = dated.on("2026-02-01")
        for query in ["before=zorro", "before=2026-02-30", "where=zorro"]:
            answer = read(memory, f"/days?{query}")
            assert (answer.status, "zorro" in words(answer) or "30" in words(answer)) == (400, True)

    def test_a_week_of_days_a_page(self, dated: DatedMemory) -> None:
        first = date(2026, 2, 1)
        for number in range(9):
            dated.at.write("memory/a.md", "".join(f"- line {n}\n" for n in range(20 * number + 20)))
            commit_on(dated.at, f"{first + timedelta(days=number)}")
        memory = dated.on("2026-02-09")
        answer = read(memory, "/days")
        days = re.findall(r"<h2><a href=\"/day/([^\"]+)\">", answer.text)
        assert days == [f"2026-02-{number:02}" for number in range(9, 2, -1)]
        assert main(answer).count('<li class="row') == 7 * 14
        assert "Monday 9 February over 14" in words(answer)
        assert "All of Monday 9 February" in words(answer)
        (older,) = [each for each in addresses(answer) if "before" in each]
        assert older == "/days?before=2026-02-03"
        answer = read(memory, older)
        assert re.findall(r"<h2><a href=\"/day/([^\"]+)\">", answer.text) == [
            "2026-02-02",
            "2026-02-01",
            "2025-01-01",
        ]
        assert "Earlier" not in words(answer)
        assert "Newest" in words(answer)


class TestDay:
    def test_what_changed_and_what_was_logged(self, memory: Memory) -> None:
        answer = read(memory, "/day/2026-02-02")
        text = words(answer)
        assert "<h1>Monday 2 February</h1>" in answer.text
        assert text.index("Frankfurt") < text.index("it rained") < text.index("and hailed")
        found = addresses(answer)
        assert {"/day/2026-02-01", "/day/2026-02-05", "/search?at=2026-02-02"} <= set(found)
        assert "/f/memory/2026-02-02.md" in found
        told = to_json(memory.changes(ShowChanges("2026-02-02", "2026-02-02", limit=0)))
        asked = read(memory, "/day/2026-02-02", accept="application/json").json
        assert asked["changes"] == told["changes"]

    def test_a_day_without_changes_leads_to_those_around_it(self, memory: Memory) -> None:
        answer = read(memory, "/day/2026-02-03")
        assert answer.status == 200
        assert "No curated fact changed" in words(answer)
        assert {"/day/2026-02-02", "/day/2026-02-05"} <= set(addresses(answer))
        for path in ("/day/0001-01-01", "/days?before=0001-01-01", "/search?q=x&at=9999-12-31"):
            assert read(memory, path).status == 200, path
        assert "rel=" not in main(read(memory, "/day/0001-01-01")).replace('rel="next"', "")
        assert 'rel="next"' not in read(memory, "/day/9999-12-31").text

    def test_entries_written_for_another_day_or_not_saved_are_shown(
        self, dated: DatedMemory
    ) -> None:
        dated.on("2026-02-02T09:00:00").apply(Log("the quay floods", day="2027-03-01"))
        dated.on("2026-02-02T09:30:00").apply(Log("it rained"))
        log = dated.at.root / "memory" / "2026-02-02.md"
        log.write_text(log.read_text() + f"- and hailed {HOSTILE}\n\nA long evening.\n")
        memory = dated.on("2026-02-05T17:00:00")
        answer = read(memory, "/day/2027-03-01")
        assert "the quay floods" in words(answer)
        assert "Nothing was logged" not in words(answer)
        assert "/f/memory/2027-03-01.md" in addresses(answer)
        answer = read(memory, "/day/2026-02-02")
        text = words(answer)
        assert text.count("it rained") == 1
        assert text.index("it rained") < text.index("and hailed") < text.index("A long evening.")
        assert harm(answer) == []
        assert "Nothing was logged" in words(read(memory, "/day/2027-03-02"))

    def test_a_log_that_cannot_be_read_is_not_one_without_entries(self, dated: DatedMemory) -> None:
        dated.on("2026-02-02T09:30:00").apply(Log("it rained"))
        log = dated.at.root / "memory" / "2026-02-02.md"
        log.write_bytes(log.read_bytes() + b"- caf\xe9\n")
        (dated.at.root / "memory" / "2026-02-03.md").symlink_to("elsewhere.md")
        memory = dated.on("2026-02-05T17:00:00")
        text = words(read(memory, "/day/2026-02-02"))
        assert "it rained" in text
        assert "memory/2026-02-02.md: " in text
        text = words(read(memory, "/day/2026-02-03"))
        assert "memory/2026-02-03.md: " in text
        assert "Nothing was logged" not in text

    def test_what_is_no_day_is_not_there(self, dated: DatedMemory) -> None:
        memory = dated.on("2026-02-01")
        for day in ["2026-02-30", "today", "2026-02", "%3Cscript%3E", "2026/02"]:
            answer = read(memory, f"/day/{day}")
            assert (answer.status, "<script>" in main(answer)) == (404, False), day


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_the_first_and_the_last_of_all_days(
    dated: DatedMemory, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    memory = dated.on("2026-02-01")
    for day in ("0001-01-01", "0001-01-02", "9999-12-30", "9999-12-31"):
        assert read(memory, f"/day/{day}").status == 200, day
        assert read(memory, f"/days?before={day}").status == 200, day
    assert "No changes here." in words(read(memory, "/days?before=0001-01-01"))


class TestCommit:
    def test_one_change(self, memory: Memory) -> None:
        (change,) = memory.changes(ShowChanges(since="today", limit=1)).changes
        answer = read(memory, f"/commit/{change.made.commit}", token="t")
        text = words(answer)
        assert "Who Ada Example When Thursday 5 February , 08:00 Command forget" in text
        assert "1 change − removed: lives in Oslo" in text
        assert text.startswith("removed: lives in Oslo Who")
        assert "<title>lives in Oslo · " in answer.text
        assert "Undo this change" in text
        assert f'name="commit" value="{change.made.commit}"' in answer.text
        assert read(memory, f"/commit/{change.made.commit[:12]}").status == 200

    def test_its_title_is_its_weightiest_change(self, dated: DatedMemory) -> None:
        dated.at.write("memory/2026-02-01.md", "# 2026-02-01\n\n- it rained\n")
        text = dated.at.read("MEMORY.md")
        dated.at.write(
            "MEMORY.md", text.replace("lives in Oslo", "lives in Bergen") + "- has a cat\n"
        )
        answer = read(dated.on("2026-02-01"), f"/commit/{commit_on(dated.at, '2026-02-01')}")
        assert "<title>lives in Bergen · " in answer.text
        assert "3 changes" in words(answer)

    def test_why(self, memory: Memory) -> None:
        wanted = ShowChanges(actor="agent/main", limit=1)
        (change,) = memory.changes(wanted).changes
        text = words(read(memory, f"/commit/{change.made.commit}"))
        assert "Who agent/main (commit by Ada Example)" in text
        assert "Command log Why was said so" in text

    def test_one_that_changes_no_fact(self, dated: DatedMemory) -> None:
        commit = dated.at.commit()
        answer = read(dated.on("2026-02-01"), f"/commit/{commit}", token="t")
        assert (answer.status, "changed no fact" in words(answer)) == (200, True)
        assert "Undo" not in words(answer)

    def test_unknown_ones(self, dated: DatedMemory) -> None:
        memory = dated.on("2026-02-01")
        for name in ["HEAD", "0" * 40, "zzz", "a", "main", "..%2fx", "HEAD%5E%7B%7D"]:
            assert read(memory, f"/commit/{name}").status == 404, name


class TestFiles:
    def test_files_with_their_sections_and_the_tags(self, memory: Memory) -> None:
        answer = read(memory, "/files")
        text = words(answer)
        assert "3 notes, most recently changed first, and the log of each day." in text
        # An open task is no fact.
        assert re.search(r"memory/house.md 1 fact, .* The office by the quay Office 1 ", text)
        assert text.index("IDENTITY.md" if "IDENTITY.md" in text else "MEMORY.md") < text.index(
            "Days"
        )
        assert "Days February 2026 2 Tags" in text
        assert "/f/memory/2026-02-02.md" in addresses(answer)
        assert "/f/memory/house.md?section=Office" in addresses(answer)
        assert "/search?tag=key" in addresses(answer)
        told = read(memory, "/files", accept="application/json").json
        assert (told["total"], len(told["files"])) == (4, 4)
        assert "key" in [each["tag"] for each in told["tags"]]

    def test_a_page_of_them(self, dated: DatedMemory) -> None:
        for number in range(21):
            dated.at.write(f"memory/note{number:02}.md", "# Note\n")
        memory = dated.on("2026-02-01")
        answer = read(memory, "/files")
        assert main(answer).count('<li class="row') == 20
        assert "/files?after=20" in addresses(answer)
        rest = read(memory, "/files?after=20")
        assert main(rest).count('<li class="row') == 2
        assert "/files" in addresses(rest)
        assert "No more files." in words(read(memory, "/files?after=40"))
        for wrong in ("-1", "zorro", "1.5", "99999999999999999999"):
            answer = read(memory, f"/files?after={wrong}")
            assert (answer.status, "after must be a number" in words(answer)) == (400, True)

    def test_a_file_as_it_is_read(self, memory: Memory) -> None:
        answer = read(memory, "/f/memory/house.md")
        text, found = words(answer), addresses(answer)
        assert "<h1>The office by the quay</h1>" in answer.text
        assert "aliases" not in text
        assert "#office" in text
        assert found.count("/f/memory/people.md") == 2
        assert "/f/MEMORY.md?section=Memory+%3E+Work" in found
        assert "<h2>Office</h2>" in answer.text
        assert '<li class="entry">spare key: with the kiosk #key <a class="mark"' in answer.text
        assert "● Sunday stated by you, Sunday 1 February, 09:00" in text
        assert "[embedded: plan.png]" in text
        assert "/f/memory/house.md?section=Office+%3E+Attic" in found
        assert "<img" not in answer.text
        told = read(memory, "/f/memory/house.md", accept="application/json").json
        assert told["text"] == HOUSE
        assert [row["section"] for row in told["sections"]] == ["Office", "Office > Attic"]

    def test_links_find_notes_by_title_and_alias(self, dated: DatedMemory) -> None:
        dated.at.write("memory/house.md", HOUSE)
        dated.at.write("memory/twin.md", "---\naliases: [shed]\n---\n")
        dated.at.write("memory/other/twin.md", "---\naliases: shed\n---\n")
        links = "[[Quay House]] [[the office by the quay]] [[shed]] [[twin]] [[memory/twin]]"
        dated.at.write("memory/links.md", f"{links} [[#Here]]\n\n## Here\n")
        memory = dated.on("2026-02-01")
        house, twin = "/f/memory/house.md", "/f/memory/twin.md"

        def found() -> list[str]:
            page = main(read(memory, "/f/memory/links.md")).partition('class="prose"')[2]
            return re.findall(r'href="([^"]+)"', page.partition("</div>")[0])

        # two files are called twin, but one of them is beside the text
        assert found() == [house, house, twin, twin, "/f/memory/links.md?section=Here"]
        dated.at.write("memory/house.md", HOUSE.replace("quay house", "shed house"))
        assert found() == [house, twin, twin, "/f/memory/links.md?section=Here"]

    def test_its_first_heading_is_its_title(self, memory: Memory) -> None:
        answer = read(memory, "/f/memory/people.md")
        assert "<h1>People</h1>" in answer.text
        assert main(answer).count("<h2") == 1
        assert "Linked from See [[people]], [[MEMORY#Work" in words(answer)
        assert "Mats: has none" in words(answer)
        assert "Monday 2 February" in words(read(memory, "/f/memory/2026-02-02.md"))

    @pytest.mark.costly
    def test_a_long_one_has_few_elements(self, dated: DatedMemory) -> None:
        sections = "".join(f"## Part {number}\n\n- *a* `b` **c**\n\n" for number in range(900))
        dated.at.write("memory/long.md", f"# Long\n\n{sections}")
        answer = read(dated.on("2026-02-01"), "/f/memory/long.md")
        assert len(re.findall("<[a-z]", answer.text)) <= 2_000
        assert "/f/memory/long.md?section=Long+%3E+Part+0" in addresses(answer)
        assert "and 841 others" in words(answer)

    def test_no_other_file_is_shown(self, dated: DatedMemory) -> None:
        for name in (".git/inside.md", "README.md", "../outside.md"):
            dated.at.write(name, "# CANARY\n")
        (dated.at.root / "link.md").symlink_to(dated.at.root.parent / "outside.md")
        memory = dated.on("2026-02-01")
        for path in (
            *("../outside.md", "..%2foutside.md", "%252e%252e%252foutside.md", "/etc/passwd"),
            *(".git/config", ".git/inside.md", "memory/../.git/inside.md", "link.md", "memory"),
            *("MEMORY.md%00.html", "a" * 4000, "mdmem.toml", "nope.md", "README.md", "memory/"),
            *("..\\outside.md", "memory/%0d%0aX:%201", "%e2%80%ae.md", "file:///etc/passwd", ""),
        ):
            answer = read(memory, f"/f/{path}")
            assert answer.status == 404, path
            assert "CANARY" not in answer.text

    def test_one_that_cannot_be_read_says_why(self, dated: DatedMemory) -> None:
        dated.at.write("memory/latin.md", b"# caf\xe9\n")
        answer = read(dated.on("2026-02-01"), "/f/memory/latin.md")
        assert (answer.status, "not UTF-8" in words(answer)) == (404, True)


@pytest.mark.parametrize("path", [f"/f/{TOKEN}.md", f"/commit/{TOKEN}", f"/days?before={TOKEN}"])
def test_a_failure_shows_no_secret_of_the_address(memory: Memory, path: str) -> None:
    answer = read(memory, path)
    assert answer.status in (400, 404)
    assert "[REDACTED:github-token]" in main(answer)
    assert TOKEN not in main(answer)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/do/log", 405),
        ("POST", "/nothing", 404),
        ("POST", "/days", 405),
    ],
)
def test_an_address_of_no_page(memory: Memory, method: str, path: str, status: int) -> None:
    app = build_app(Reader(memory, Links(), "t"))
    answer = ask(app, method, path)
    assert (answer.status, answer.text.count("<h1>"), '<nav class="tabs"' in answer.text) == (
        status,
        1,
        True,
    )
    assert "this address" in words(answer)
    assert ("allow" in answer.headers) == (status == 405)
    told = ask(app, method, path, {"accept": "application/json"})
    assert (told.status, told.json["error"]) == (status, "usage")


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are UTF-8 there")
def test_a_file_whose_name_is_not_utf8_is_listed(dated: DatedMemory) -> None:
    dated.at.write(os.fsdecode(b"memory/caf\xe9.md"), "# Tea\n\n## Pot\n\n- tea\n")
    memory = dated.on("2026-02-01")
    for address in ("/", "/files", "/search?q=tea", "/f/memory/caf%E9.md"):
        answer = read(memory, address)
        assert "memory/caf%E9.md" in answer.text, address
        assert read(memory, address, accept="application/json").status == answer.status < 500
    assert "memory/caf<U+DCE9>.md" in html.unescape(words(read(memory, "/files")))


def test_a_bug_is_a_page_and_an_event_without_words(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(reader: Reader, query: object) -> Page:
        raise ZeroDivisionError("porridge")

    # a mapping that is not to be changed, but for this test
    monkeypatch.setitem(app.ROUTES, "/", broken)  # type: ignore[arg-type]
    answer = read(memory, "/")
    assert (answer.status, "This is a bug in mdmem" in words(answer)) == (500, True)
    (event,) = (each for each in read_log(memory.workspace.state).events if each.verb == "page")
    assert str(event.bug).startswith("ZeroDivisionError")
    assert "porridge" not in str(event)
    assert capsys.readouterr().err == ""


def test_a_browser_that_asks_for_an_icon_is_answered(memory: Memory) -> None:
    answer = read(memory, "/favicon.ico")
    assert (answer.status, answer.text) == (204, "")


def hostile_addresses(memory: Memory) -> Iterator[str]:
    bad = quote(HOSTILE)
    commits = {change.made.commit for change in memory.changes(ShowChanges(limit=0)).changes}
    yield from ("/", "/days", "/files", "/day/2026-02-03", "/f/memory/bad.md", f"/f/{bad}")
    yield from (f"/day/{bad}", f"/commit/{bad}", f"/f/{bad}.md", f"/f/memory/{bad}.md")
    yield from (f"/days?who={bad}", f"/days?where={bad}", f"/days?before={bad}")
    yield from (f"/days?file={bad}", f"/files?after={bad}")
    yield from (f"/commit/{commit}" for commit in commits)


@pytest.mark.costly
def test_a_proposal_links_only_to_sections_that_are_there(dated: DatedMemory) -> None:
    memory = dated.on("2026-02-03")
    memory.proposals.propose(Propose(Log("rain", options=BY_AGENT)))
    proposed = Remember("tea", section="Work", options=BY_AGENT)
    proposal = memory.proposals.propose(Propose(proposed)).proposal
    for page in ("/review", f"/review/{proposal}"):
        answer = read(memory, page)
        places = set(re.findall(r'href="(/f/[^"]+section=[^"]+)"', main(answer)))
        assert [read(memory, html.unescape(each)).status for each in places] == [200]
        assert "rain" in words(answer)


@pytest.mark.costly
def test_what_strangers_wrote_stays_words(dated: DatedMemory) -> None:
    evil = WriteOptions(actor=HOSTILE, reason=HOSTILE, session=HOSTILE)
    dated.at.write(
        "memory/bad.md",
        f'---\ntitle: "{HOSTILE}"\ntags: ["{HOSTILE}"]\n---\n# {HOSTILE}\n\n'
        f"- {HOSTILE}\n- {HOSTILE}: a\n- {HOSTILE}: b\n- a: {HOSTILE} (until 2026-02-01)\n"
        f"- b: {HOSTILE} (until 2026-02-09)\n- [[{HOSTILE}]] ![{HOSTILE}](x) `{HOSTILE}`\n",
    )
    author = ("-c", f"user.name={HOSTILE.strip()}", "-c", "user.email=a@b")
    dated.at.git("add", "memory/bad.md")
    dated.at.git(*author, "commit", "-q", "--no-verify", "-m", HOSTILE)
    dated.on("2026-02-03").apply(Log(f"saw {HOSTILE}", options=evil))
    proposed = Remember(f"is {HOSTILE}", section="Work", options=evil)
    dated.on("2026-02-03").proposals.propose(Propose(proposed))
    dated.at.write(f"memory/{HOSTILE.replace('/', '')}.md", f"- {HOSTILE}\n")
    memory = dated.on("2026-02-03")
    for address in hostile_addresses(memory):
        answer = read(memory, address, token="t")
        assert answer.status < 500, address
        assert harm(answer) == [], address
        assert "\u202e" not in answer.text, address
    for address in ("/", "/days", "/files", "/f/memory/bad.md"):
        assert "&lt;U+202E&gt;" in read(memory, address).text
