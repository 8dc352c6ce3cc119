"""A vault of Obsidian: what notes say besides facts, links, daily notes, canvases."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from dated_memory import DatedMemory
from workspaces import Desk, desk

from mdmem.changes.verbs import digest_day
from mdmem.editors.merge3.merging import merge3
from mdmem.folder.layout import log_day, log_path
from mdmem.folder.vault import daily_names
from mdmem.memory import Memory
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import FactProblem, WorkspaceProblem
from mdmem.model.history import FactHistory, ShowBlame, ShowHistory
from mdmem.model.prompts import BuildContext
from mdmem.model.searches import Hit, ListFacts, Search
from mdmem.model.writes import (
    DayEntry,
    DigestDay,
    EditSection,
    Forget,
    Log,
    Purge,
    Remember,
    Revert,
    Save,
    WriteOptions,
    WriteResult,
)
from mdmem.text.document import parse
from mdmem.text.facts import entries, fact_id
from mdmem.text.fields import within

ALL_NOTES = 'paths = ["**/*.md"]\n'


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def vault(at: Desk, notes: Mapping[str, str], settings: str = ALL_NOTES) -> Memory:
    """A workspace with these notes, committed."""
    for path, text in {"mdmem.toml": settings, "MEMORY.md": "# Memory\n", **notes}.items():
        at.write(path, text)
    at.commit()
    return Memory.open(at.root, os.environ)


def found(memory: Memory, query: str) -> list[Hit]:
    return [hit for hit in memory.search(Search(query)).hits if not hit.near]


def listed(memory: Memory, **options: str) -> list[str]:
    return [hit.text for hit in memory.facts(ListFacts(**options)).facts]


class TestFields:
    CRANE = (
        '---\ntags: [boat]\nowner: "[[Mira]]"\nbudget: 400\nparts:\n  - mast\n  - winch\nempty:\n---\n'
        "# Crane\n\nbuilt:: 1998\nheight:: 12 m ^h\n\n- lies in Bergen [berth:: 7]\n- yard:: Laksevåg\n"
    )

    def test_each_is_an_entry_of_its_line(self):
        read = entries(parse(self.CRANE), FilePath("Crane.md"), nested=True)
        assert [(each.start_line, each.text, each.fact is not None) for each in read] == [
            (3, "owner: [[Mira]]", False),
            (4, "budget: 400", False),
            (5, "parts: mast, winch", False),
            (12, "built: 1998", False),
            (13, "height: 12 m", False),
            (15, "lies in Bergen [berth:: 7]", True),
            (15, "berth: 7", False),
            (16, "yard: Laksevåg", False),
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "std::vector",
            "Example::",
            "`budget:: 400`",
            "%%budget:: 400%%",
            "~~budget:: 400~~",
            "```\nbudget:: 400\n```",
            ".. note:: 400",
            "use [[budget:: 400]]",
        ],
    )
    def test_what_is_none(self, text: str):
        assert not any(each.key for each in entries(parse(text), FilePath("a.md"), nested=True))

    def test_a_block_without_end_has_none(self):
        text = "a:: b " + " ".join("`" * ticks for ticks in range(1, 400))
        assert not any(within(text))
        assert [each.value for each in within("a:: b <!-- " * 5_000)] == ["b"]

    def test_they_are_found_and_answered_by_key(self, at: Desk):
        memory = vault(
            at, {"Crane.md": self.CRANE, "Barge.md": "---\nbudget: 90\n---\n- a barge\n"}
        )
        first = found(memory, "crane budget")[0]
        assert (first.text, first.start_line) == ("budget: 400", 4)
        assert listed(memory, key="budget", file="Crane.md") == ["budget: 400"]
        assert listed(memory, key="Yard") == ["yard: Laksevåg"]
        assert listed(memory) == ["a barge", "lies in Bergen [berth:: 7]"]
        assert not memory.conflicts().conflicts

    def test_they_begin_no_session(self, at: Desk):
        curated = "---\nowner: Mira\n---\n# Memory\n\n- likes tea\n- yard:: Bergen\n"
        block = vault(at, {"MEMORY.md": curated}).context(BuildContext()).text
        assert "tea" in block
        assert "Mira" not in block
        assert "Bergen" not in block

    def test_the_past_of_one_is_that_of_its_key(self, dated: DatedMemory):
        for day, value in (("01", 400), ("02", 500), ("03", 600)):
            text = f"---\nbudget: {value}\n---\n# Crane\n\n- x {day}\nyard:: {value}\n"
            dated.at.write("memory/crane.md", text)
            dated.on(f"2026-02-{day}").save(Save())
        memory = dated.on("2026-02-04")
        for key in ("budget", "yard"):
            past = memory.history(ShowHistory(key, file="memory/crane.md"))
            assert isinstance(past, FactHistory)
            assert [(link.text, f"{link.start:%d}", link.status) for link in past.chain] == [
                (f"{key}: 400", "01", "superseded"),
                (f"{key}: 500", "02", "superseded"),
                (f"{key}: 600", "03", "current"),
            ]

    @pytest.mark.parametrize(
        "change",
        [
            Forget("budget: 400"),
            Forget("yard", file="Crane.md"),
            Remember("900", key="budget", file="Crane.md"),
            Remember("900", options=WriteOptions(supersedes="yard: Laksevåg")),
        ],
        ids=str,
    )
    def test_verbs_for_facts_name_the_line(self, at: Desk, change: Forget | Remember):
        memory = vault(at, {"Crane.md": self.CRANE})
        with pytest.raises(FactProblem, match=r"Crane\.md:(4|16) is a field") as problem:
            memory.apply(change)
        assert problem.value.code == "not-a-fact"
        assert at.read("Crane.md") == self.CRANE

    def test_a_line_is_changed_with_its_section(self, at: Desk):
        memory = vault(at, {"Crane.md": self.CRANE})
        edit = EditSection.of(
            "Crane", file="Crane.md", replace="built:: 1998", replacement="built:: 1999"
        )
        memory.apply(edit)
        assert listed(memory, key="built") == ["built: 1999"]

    def test_a_fact_is_not_written_as_one(self, at: Desk):
        memory = vault(at, {})
        done = memory.apply(Log("yard:: Bergen"))
        assert "- yard\\:: Bergen" in at.read(done.path)
        assert len(done.added) == 1


class TestLinks:
    MIRA = "# Mira\n\n## Phone\n\n- +47 555 0101, see [[#Phone]]\n\n### Home\n\n- none\n"
    CRANE = (
        '---\nseller: "[[Mira#Phone]]"\n---\n# Crane\n\n- call [[mira#Phone|her]] ^c\n'
        "- at home [[Mira#Phone#Home]] or [there](people/Mira.md#phone)\n\n"
        "Not `[[Mira#Phone]]`, [[Mira#Phones]], [[Ola#Phone]].\n\n```\n[[Mira#Phone]]\n```\n"
    )
    RENAME = EditSection.of("Phone", file="people/Mira.md", rename="Calls: day & night")
    UPDATES = f'{ALL_NOTES}links = "update"\n'

    def notes(self, at: Desk, settings: str = UPDATES) -> Memory:
        log = "# 2026-03-01\n\n## 09:00\n\n- said [[Mira#Phone]]\n"
        ola = "# Ola\n\n## Phone\n\n- +47 555 0102\n"
        texts = {"people/Mira.md": self.MIRA, "Crane.md": self.CRANE, "Ola.md": ola}
        return vault(at, {**texts, "memory/2026-03-01.md": log}, settings)

    def test_they_are_renamed_with_their_heading(self, at: Desk):
        memory, not_utf8 = self.notes(at), b"caf\xe9 of [[Mira#Phone]]\n"
        (at.root / "Latin.md").write_bytes(not_utf8)
        before = at.commit()
        done = memory.apply(self.RENAME)
        assert (at.root / "Latin.md").read_bytes() == not_utf8
        assert done.notes == (
            "changed 5 links to it in 2 files",
            f"leading nowhere now: 1 link to it; to list them: {done.notes[1].rpartition(': ')[2]}",
        )
        name = "Calls day & night"
        assert at.read("Crane.md") == (
            self.CRANE.replace('"[[Mira#Phone]]"', f'"[[Mira#{name}]]"')
            .replace("[[mira#Phone|", f"[[mira#{name}|")
            .replace("[[Mira#Phone#Home]]", f"[[Mira#{name}#Home]]")
            .replace("Mira.md#phone", "Mira.md#calls-day--night")
        )
        assert f"see [[#{name}]]" in at.read("people/Mira.md")
        assert at.git("rev-list", "--count", f"{before}..HEAD").strip() == "1"
        message = at.git("log", "-1", "--format=%B")
        assert "Mdmem-Op: links" in message
        assert message.count("Mdmem-Supersedes: ") == 3
        assert [each.line for each in memory.check() if each.code == "dead-link"] == [9, 5]

    def test_lines_keep_beginning_and_source(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        memory = self.notes(at)
        (before,) = [hit for hit in found(memory, "call her") if hit.text.startswith("call")]
        monkeypatch.setenv("MDMEM_NOW", "2026-04-01T12:00:00")
        memory.apply(self.RENAME)
        shutil.rmtree(at.workspace.state)
        memory = Memory.open(at.root, os.environ)
        (after,) = [hit for hit in found(memory, "call her") if hit.text.startswith("call")]
        assert after.fact != before.fact
        assert (after.since, after.source, after.author) == (
            before.since,
            before.source,
            before.author,
        )
        past = memory.history(ShowHistory(str(after.fact)))
        assert isinstance(past, FactHistory)
        assert [link.id for link in past.chain] == [before.fact, after.fact]

    @pytest.mark.parametrize("is_on", [True, False])
    def test_a_vault_says_whether(self, at: Desk, is_on: bool):
        at.write(".obsidian/app.json", json.dumps({"alwaysUpdateLinks": is_on}))
        memory = self.notes(at, ALL_NOTES)
        done = memory.apply(self.RENAME)
        assert (done.notes[0] == "changed 5 links to it in 2 files") is is_on
        assert (at.read("Crane.md") != self.CRANE) is is_on

    def test_links_to_an_equal_heading_above_stay(self, at: Desk):
        texts = {"A.md": "# A\n\n## B\n\n## C\n\n### B\n", "D.md": "[[A#B]]\n"}
        memory = vault(at, texts, self.UPDATES)
        assert memory.apply(EditSection.of("C > B", file="A.md", rename="E")).notes == ()
        assert at.read("D.md") == "[[A#B]]\n"

    def test_a_dry_run_shows_all_files(self, at: Desk):
        options = WriteOptions(dry_run=True)
        done = self.notes(at).apply(replace(self.RENAME, options=options))
        assert done.diff is not None
        assert "+++ b/Crane.md" in done.diff
        assert at.read("Crane.md") == self.CRANE


class TestCanvases:
    BOARD = (
        '{\n\t"nodes":[\n'
        '\t\t{"id":"a1","type":"text","text":"# Plan\\n\\n- buy [[Rope]] %%cheap%%\\n- paint","x":0},\n'
        '\t\t{"id":"b2","type":"file","file":"Crane.md"},\n'
        '\t\t{"id":"c3","type":"text","text":"the keel waits"}\n\t],\n\t"edges":[]\n}'
    )

    def test_their_texts_are_found_in_their_lines(self, at: Desk):
        memory = vault(at, {"boards/Yard.canvas": self.BOARD, "Crane.md": "- a crane\n"})
        (rope,) = found(memory, "rope")
        assert (rope.text, rope.path, rope.start_line, rope.fact) == (
            "buy [[Rope]]",
            "boards/Yard.canvas",
            3,
            None,
        )
        assert [hit.start_line for hit in found(memory, "keel")] == [5]
        at.write("Odd.canvas", self.BOARD.replace('"c3"', '"\\u0063"').replace("keel", "oars"))
        assert [hit.start_line for hit in found(memory, "oars")] == [3]
        assert found(memory, "cheap") == []
        assert listed(memory) == ["a crane"]
        at.write("boards/Yard.canvas", self.BOARD.replace("keel", "mast"))
        assert (found(memory, "keel"), len(found(memory, "mast"))) == ([], 1)
        (at.root / "boards/Yard.canvas").unlink()
        assert found(memory, "mast") == []

    def test_only_where_notes_are_memory(self, at: Desk):
        memory = vault(at, {"Yard.canvas": self.BOARD}, 'paths = ["notes/*.md"]\n')
        assert found(memory, "rope") == []

    @pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"nodes": [1]}', '{"nodes": 3}'])
    def test_what_is_none_is_named(self, at: Desk, text: str):
        memory = vault(at, {"Yard.canvas": text, "Crane.md": "- a crane\n", "Empty.canvas": ""})
        assert [hit.text for hit in found(memory, "crane")] == ["a crane"]
        assert memory.status().skipped == (
            ("Yard.canvas", "not a canvas: it is no JSON with nodes"),
        )


class TestAliases:
    def test_one_asks_for_its_notes_name(self, at: Desk):
        notes = {
            "Mira Olsen.md": "---\naliases: [skipper, Captain Mira]\n---\n# Who\n\n- lives in Bergen\n\n- has a dog\n",
            "Crane.md": "# Crane\n\n- sold to [[Mira Olsen]] in May\n- built for a skipper\n- is old\n",
            "Bergen.md": "# Bergen\n\n- rains\n",
        }
        memory = vault(at, notes)
        texts = [hit.text for hit in found(memory, "skipper")]
        assert texts[:2] == ["lives in Bergen", "has a dog"]
        assert {*texts[2:]} == {"built for a skipper", "sold to [[Mira Olsen]] in May"}
        assert "sold to [[Mira Olsen]] in May" in [
            hit.text for hit in found(memory, "where is Captain Mira?")
        ]
        assert [hit.text for hit in found(memory, '"skipper"')] == ["built for a skipper"]


class TestRenamedNotes:
    CRANE = (
        "# Crane\n\n- from [[Mira#Phone|her]] and ![[people/mira]] `[[Mira]]`\n"
        "- see [her](people/Mira.md) and [[Ola]]\n\n```\n[[Mira]]\n```\n"
    )

    def test_links_follow_what_git_knows(self, at: Desk):
        mira = "# Mira\n\n## Phone\n\n- +47 555 0101\n- has a dog\n- and a cat\n"
        memory = vault(
            at, {"people/Mira.md": mira, "Crane.md": self.CRANE, "yard/B.md": "[[Mira]]\n"}
        )
        at.git("mv", "people/Mira.md", "people/Mira Olsen.md")
        at.commit()
        assert memory.check() == ()
        assert at.read("Crane.md") == self.CRANE  # never by itself
        before = at.head()
        assert memory.fix_links(WriteOptions()) == (
            "changed links to renamed notes in Crane.md, yard/B.md",
        )
        assert at.read("Crane.md") == (
            self.CRANE.replace("[[Mira#", "[[Mira Olsen#")
            .replace("[[people/mira", "[[Mira Olsen")
            .replace("people/Mira.md", "people/Mira%20Olsen.md")
        )
        assert at.read("yard/B.md") == "[[Mira Olsen]]\n"
        assert at.git("rev-list", "--count", f"{before}..HEAD").strip() == "1"
        assert memory.fix_links(WriteOptions()) == ()


class TestDailyNotes:
    @pytest.mark.parametrize(
        ("form", "language", "path"),
        [
            ("YYYY/MMMM/D dddd", None, "2026/March/5 Thursday.md"),
            ("YYYY/MMMM/D dddd", "de", "2026/März/5 Donnerstag.md"),
            ("YYYY-MMM-DD ddd", "fr", "2026-mars-05 jeu..md"),
            ("YY/YYYY MMM DD", "es", "26/2026 mar. 05.md"),
            ("YYYY/MMMM/D dddd", "sv", "2026/March/5 Thursday.md"),
            ("YYYY/[Q]Q/MMMM Do", None, "2026/Q1/March 5th.md"),
            ("YYYY/[W]ww/Do MMMM", "de", "2026/W10/5. März.md"),
            ("YYYY-MM-Do", "fr", "2026-03-5.md"),
            ("YYYY-MM-Do", "es", "2026-03-5º.md"),
        ],
    )
    def test_months_and_weekdays_are_named_in_the_language(
        self, at: Desk, form: str, language: str | None, path: str
    ):
        at.write("T.md", "# {{date:dddd D. MMMM}}\n")
        daily = {"format": form, "folder": "Daily", "template": "T"}
        at.write(".obsidian/daily-notes.json", json.dumps(daily))
        spoken = f'language = "{language}"\n' if language else ""
        memory = vault(at, {}, f'{ALL_NOTES}daily = "obsidian"\n{spoken}')
        assert memory.apply(Log("saw a heron", day="2026-03-05")).path == f"Daily/{path}"
        (heron,) = found(memory, "heron")
        assert str(heron.day) == "2026-03-05"
        title = at.read(f"Daily/{path}").split("\n")[0]
        assert title == ("# Donnerstag 5. März" if language == "de" else title)

    @pytest.mark.parametrize(
        ("form", "language", "day", "name"),
        [
            ("Do", None, "2026-03-01", "1st"),
            ("Do", None, "2026-03-11", "11th"),
            ("Do", None, "2026-03-22", "22nd"),
            ("Do", None, "2026-03-23", "23rd"),
            ("Do", "fr", "2026-03-01", "1er"),
            ("Do", "fr", "2026-03-21", "21"),
            ("Q", None, "2026-12-31", "4"),
            ("ww", None, "2027-12-25", "52"),
            ("ww", None, "2027-12-26", "01"),
            ("ww", None, "2026-12-31", "01"),
            ("ww", None, "2028-12-30", "53"),
            ("ww", None, "2026-01-03", "01"),
            ("ww", None, "2026-01-04", "02"),
            ("ww", "de", "2026-12-31", "53"),
            ("ww", "de", "2027-01-03", "53"),
        ],
    )
    def test_ordinals_quarters_and_weeks_are_those_of_obsidian(
        self, at: Desk, form: str, language: str | None, day: str, name: str
    ):
        at.write(".obsidian/daily-notes.json", json.dumps({"format": f"YYYY-MM-DD ({form})"}))
        names = daily_names(at.root, language)
        assert names
        assert log_path(date.fromisoformat(day), names) == f"{day} ({name}).md"
        assert log_day(f"{day} ({name}).md", names) == date.fromisoformat(day)

    @pytest.mark.parametrize(
        "form", ["YYYY-MM", "Do MMMM", "YYYY-Q-DD", "YYYY-[W]ww", "YYYY-MM-DD HH", "YYYY-DDD", "X"]
    )
    def test_a_format_that_does_not_tell_the_day_is_refused(self, at: Desk, form: str):
        at.write(".obsidian/daily-notes.json", json.dumps({"format": form}))
        with pytest.raises(WorkspaceProblem, match="does not name a note by its day") as problem:
            vault(at, {}, f'{ALL_NOTES}daily = "obsidian"\n').apply(Log("saw a heron"))
        assert problem.value.code == "bad-settings"

    def test_periodic_notes_come_first(self, at: Desk):
        for name, folder in (
            ("daily-notes.json", "Daily"),
            ("plugins/periodic-notes/data.json", "P"),
        ):
            settings = {"folder": folder, "daily": {"enabled": True, "folder": folder}}
            at.write(f".obsidian/{name}", json.dumps(settings))
        memory = vault(at, {}, f'{ALL_NOTES}daily = "obsidian"\n')
        assert memory.apply(Log("saw a heron", day="2026-03-05")).path == "P/2026-03-05.md"


class TestLogHeading:
    """Entries below a heading of the daily note, as `- HH:MM text`."""

    PATH = "Daily/2026-03-05.md"
    DAY = "# 2026-03-05\n\n## Log\n\n## Evening\n\n- read\n"
    SETTINGS = f'{ALL_NOTES}daily = "obsidian"\n'

    @pytest.fixture
    def memory(self, at: Desk) -> Memory:
        at.write(".obsidian/daily-notes.json", json.dumps({"folder": "Daily", "template": "T/D"}))
        at.write(".obsidian/templates.json", json.dumps({"folder": "T"}))
        at.write("T/D.md", "# {{title}}\n\n## Log\n\n## Evening\n\n- read\n")
        return vault(at, {}, self.SETTINGS)

    def log(self, memory: Memory, text: str, time: str = "09:30", **options: Any) -> WriteResult:
        return memory.apply(Log(text, day="2026-03-05", time=time, **options))

    def test_entries_are_added_below_it_with_their_time(self, at: Desk, memory: Memory):
        first = self.log(memory, "saw a heron")
        assert first.added[-1] == first.fact == fact_id("saw a heron")
        self.log(memory, "budget: 400 euros", "10:05", kind="decision", tags=("money",))
        self.log(memory, "a list:\n- of one", "10:06")
        self.log(memory, "```\ncode\n```", "10:07")
        assert at.read(self.PATH) == self.DAY.replace(
            "## Log\n",
            "## Log\n\n- 09:30 saw a heron\n- 10:05 [decision] budget: 400 euros #money\n"
            "- 10:06 a list:\n  - of one\n- 10:07\n  ```\n  code\n  ```\n",
        )
        budget = found(memory, "budget")[0]
        assert (budget.text, budget.kind, budget.tags) == (
            "budget: 400 euros",
            "decision",
            ("money",),
        )
        assert (budget.fact, str(budget.day)) == (fact_id("budget: 400 euros"), "2026-03-05")
        assert [hit.text for hit in memory.facts(ListFacts(key="budget")).facts] == [budget.text]
        assert found(memory, '"of one"')[0].text == "a list > of one"
        assert found(memory, "code")[0].text == "```\ncode\n```"

    def test_a_time_is_no_part_of_what_is_said_again(self, at: Desk, memory: Memory):
        self.log(memory, "saw a heron")
        before = at.read(self.PATH)
        assert not self.log(memory, "Saw a heron.", "11:00").changed
        assert at.read(self.PATH) == before
        assert self.log(memory, "saw a heron", "11:00", again=True).changed

    def test_lines_typed_there_have_their_time_too(self, at: Desk, memory: Memory):
        at.write(self.PATH, self.DAY.replace("## Log\n", "## Log\n\n* 08:15 fed the cat ^cat\n"))
        at.commit()
        (cat,) = found(memory, "cat")
        assert (cat.text, cat.fact, cat.start_line) == ("fed the cat", fact_id("fed the cat"), 5)
        shown = memory.history(ShowHistory("fed the cat"))
        assert isinstance(shown, FactHistory)
        assert [link.text for link in shown.chain] == ["fed the cat"]
        assert [line.text for line in memory.blame(ShowBlame(section="fed the cat")).lines] == [
            "* 08:15 fed the cat ^cat"
        ]

    def test_a_fact_there_is_superseded_forgotten_and_undone(self, at: Desk, memory: Memory):
        self.log(memory, "saw a heron")
        self.log(memory, "fed the cat", "09:40")
        logged = at.read(self.PATH)
        replaced = memory.apply(
            Remember("saw two herons", options=WriteOptions(supersedes="saw a heron"))
        )
        assert [pair.old for pair in replaced.supersedes] == [fact_id("saw a heron")]
        memory.apply(Forget("fed the cat"))
        assert listed(memory) == ["saw two herons", "read"]
        assert at.read(self.PATH) == logged
        head = at.head()
        assert memory.apply(Revert(head))
        assert sorted(listed(memory)) == ["fed the cat", "read", "saw two herons"]

    def test_an_entry_of_a_session_goes_there_and_a_run_is_taken_out(self, memory: Memory):
        document = parse(self.DAY, log_heading="Log")
        entries_ = [
            DayEntry(minute=minute, text=text, kind=None, cites="claude/s#1")
            for minute, text in (
                ("10:00", "saw a heron"),
                ("09:00", "fed the cat"),
                ("09:00", "Read"),
            )
        ]
        written = digest_day.edit(
            document, DigestDay(day=date(2026, 3, 5), entries=tuple(entries_), run="r")
        )
        lines = "\n- 09:00 fed the cat\n- 10:00 saw a heron\n"
        assert written.text == self.DAY.replace("## Log\n", f"## Log\n{lines}")
        out = digest_day.take_out(document.reparse(written.text), [fact_id("saw a heron")])
        assert out.text == written.text.replace("- 10:00 saw a heron\n", "")

    def test_machines_that_both_wrote_keep_both(self):
        base, ours, theirs = (
            self.DAY.replace("## Log\n", f"## Log\n\n- 08:00 woke\n{line}").encode()
            for line in ("", "- 09:00 saw a heron\n", "- 09:05 fed the cat\n")
        )
        merged = merge3(base, ours, theirs, FileKind.DAILY)
        assert merged.data == ours.replace(b"heron\n", b"heron\n- 09:05 fed the cat\n")

    def test_a_purge_leaves_nothing_of_it(self, at: Desk, memory: Memory):
        self.log(memory, "met Dr. Quorn about the liver")
        memory.purge(Purge("met Dr. Quorn about the liver"))
        assert "Quorn" not in at.read(self.PATH)
        assert "Quorn" not in at.git("log", "-p", "--all", "--format=%B")

    @pytest.mark.parametrize("path", ["Notes.md", "Daily/Log.md"])
    def test_elsewhere_a_time_is_text(self, at: Desk, memory: Memory, path: str):
        at.write(path, self.DAY.replace("## Log\n", "## Log\n\n- 08:15 fed the cat\n"))
        at.commit()
        assert found(memory, "cat")[0].text == "08:15 fed the cat"

    def test_a_block_and_a_question_for_an_hour_know_the_time(
        self, at: Desk, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_NOW", "2026-03-05T21:00:00")
        for hour in ("15", "08", "16"):
            self.log(memory, f"saw the heron of {hour}", f"{hour}:30")
        asked = memory.search(Search("what happened this morning?"))
        assert (asked.hits[0].text, asked.hits[0].minute) == ("saw the heron of 08", "08:30")
        assert "08:30 saw the heron of 08" in memory.context(BuildContext()).text

    def test_another_heading_may_be_named(self, at: Desk, memory: Memory):
        at.write("mdmem.toml", f'{self.SETTINGS}log_heading = "evening"\n')
        at.commit()
        self.log(Memory.open(at.root, os.environ), "saw a heron")
        assert at.read(self.PATH) == f"{self.DAY}- 09:30 saw a heron\n"

    def test_a_note_without_it_gets_a_heading_of_the_minute(self, at: Desk, memory: Memory):
        at.write("T/D.md", "# {{title}}\n")
        self.log(memory, "saw a heron")
        assert at.read(self.PATH) == "# 2026-03-05\n\n## 09:30\n\n- saw a heron\n"

    def test_without_the_vaults_daily_notes_nothing_changes(self, at: Desk):
        settings = f'{ALL_NOTES}daily = "Daily/%Y-%m-%d.md"\nlog_heading = "Log"\n'
        memory = vault(at, {self.PATH: self.DAY}, settings)
        self.log(memory, "saw a heron")
        assert at.read(self.PATH) == f"{self.DAY}\n## 09:30\n\n- saw a heron\n"

    @pytest.mark.parametrize("heading", ["## Log", "## Notes"])
    @pytest.mark.parametrize(("time", "is_over"), [("12:10", True), ("12:40", False)])
    def test_what_was_said_before_an_end_is_over(
        self, dated: DatedMemory, heading: str, time: str, is_over: bool
    ):
        dated.at.write(".obsidian/daily-notes.json", json.dumps({"folder": "Daily"}))
        dated.at.write("mdmem.toml", self.SETTINGS)
        dated.at.write(self.PATH, f"# 2026-03-05\n\n{heading}\n")
        dated.at.commit()
        dated.on("2026-03-05T12:00:00").apply(Remember("likes green tea"))
        dated.on("2026-03-05T12:30:00").apply(Forget("likes green tea"))
        memory = dated.on("2026-03-05T13:00:00")
        self.log(memory, "likes green tea", time)
        assert (listed(memory, file=self.PATH) == []) is is_over
