"""Everybody's text: what of a file is an entry, what was taken back, and which words find it."""

import json
import os
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from conftest import World
from dated_memory import DatedMemory
from examination import examine
from proposal_actions import accept, parts, propose
from workspaces import Desk, code_of, desk, refused

from mdmem.context.parts import entry_text
from mdmem.index.indexed import passages
from mdmem.memory import Memory
from mdmem.model import FileKind, FilePath, Status
from mdmem.model.errors import FactProblem
from mdmem.model.history import DayView, FactHistory, ShowBlame, ShowChanges, ShowHistory
from mdmem.model.prompts import BuildContext
from mdmem.model.proposals import PartState
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import (
    Action,
    Contradict,
    EditSection,
    Forget,
    Log,
    Remember,
    Resolve,
    Revert,
    Save,
    WriteOptions,
)
from mdmem.show.hits import search_text, with_excerpts
from mdmem.show.values import to_json
from mdmem.text.document import parse
from mdmem.text.facts import entries, excerpt, fact_id, items, word_stems


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def memory(at: Desk, text: str, path: str = "MEMORY.md") -> Memory:
    """A workspace whose file is committed with this text."""
    at.write(path, text)
    at.commit()
    return Memory.open(at.root, os.environ)


def found(memory: Memory, query: str, **options: Any) -> list[str]:
    """The texts of the hits, without those marked as near."""
    hits = memory.search(Search(query, **options)).hits
    return [hit.text for hit in hits if not hit.near]


def listed(memory: Memory, **options: Any) -> list[str]:
    return [hit.text for hit in memory.facts(ListFacts(**options)).facts]


def test_a_decomposed_name_is_found_as_it_is_typed(at: Desk):
    at.write("mdmem.toml", 'paths = ["*.md"]\n')
    typed, name = "Küche.md", normalize("NFD", "Küche.md")
    kitchen = memory(at, "# Küche\n\n## Plan\n\n- Salz kaufen\n", name)
    kitchen.apply(EditSection("Plan", Action.APPEND, "- Erde", file=typed))
    assert at.read(name).endswith("- Salz kaufen\n- Erde\n")
    assert found(kitchen, "kaufen", file=typed) == ["Salz kaufen"]
    assert kitchen.outline(typed) == kitchen.outline(name)
    assert [line.text for line in kitchen.blame(ShowBlame(file=typed)).lines][-1] == "- Erde"
    assert kitchen.blame(ShowBlame(typed)) == kitchen.blame(ShowBlame(file=typed))


def test_a_note_named_by_its_day_is_that_days(at: Desk, monkeypatch: pytest.MonkeyPatch):
    at.write("mdmem.toml", 'paths = ["Daily/**/*.md"]\n')
    at.write("Daily/2026/2026-05-03 walk.md", "# Walk\n\n- saw a heron\n")
    monkeypatch.setenv("MDMEM_NOW", "2026-05-04T09:00:00")
    notes = memory(at, "# 3 May\n\n- met Olga at the harbour\n", "Daily/2026/2026-05-03.md")
    for word in ("yesterday", "2026-05-03"):
        shown = notes.show_named(Show(section=word))
        assert isinstance(shown, DayView)
        assert [log.path for log in shown.logs] == ["Daily/2026/2026-05-03.md"]
    block = notes.context(BuildContext()).text
    assert "met Olga" in block
    assert "heron" not in block


class TestTakenBack:
    TEXT = "# Memory\n\n## Prices\n\n- the gate code is 1234\n- the roof costs 400 euros\n"

    def test_a_struck_item_is_of_the_past_from_its_commit_on(self, at: Desk):
        memory(at, self.TEXT)
        struck = memory(at, self.TEXT.replace("the gate code is 1234", "~~the gate code is 1234~~"))
        assert found(struck, "gate code") == []
        assert found(struck, "gate code", history=True) == ["the gate code is 1234"]
        assert listed(struck) == ["the roof costs 400 euros"]

    def test_struck_words_are_shown_and_find_nothing(self, at: Desk):
        struck = memory(at, self.TEXT.replace("400", "~~400~~ 380"))
        assert found(struck, "roof") == ["the roof costs ~~400~~ 380 euros"]
        assert found(struck, "400") == []

    def test_tasks_open_and_done(self, at: Desk):
        tasks = memory(
            at, "# Memory\n\n## Jobs\n\n- [ ] oil the winch\n- [x] buy timber\n- [-] sell timber\n"
        )
        assert listed(tasks) == []
        assert listed(tasks, kind="task") == found(tasks, "[ ]") == ["[ ] oil the winch"]
        hits = tasks.search(Search("timber")).hits
        assert {hit.text for hit in hits if hit.done} == {"[x] buy timber", "[-] sell timber"}
        block = tasks.context(BuildContext("did we oil the winch and sell or buy timber?")).text
        assert "winch" in block
        assert "timber" not in block


class TestNoMemory:
    @pytest.mark.parametrize(
        "name",
        [
            "2026-05-04.sync-conflict-20260505-081500-ABCDEFG",
            "2026-05-04 (Ada's conflicted copy 2026-05-05)",
            "2026-05-04_conflict-20260505-081500",
            "2026-05-04 2",
            "2026-05-04 (1)",
            "2026-05-04-LAPTOP-7QX2K",
        ],
    )
    def test_a_conflict_copy_is_left_out_and_named(self, at: Desk, name: str):
        log = "# 2026-05-04\n\n## 09:00\n\n- the gate code is 4455\n"
        at.write(f"memory/{name}.md", log + "- the shed key hangs by the door\n")
        house = memory(at, log, "memory/2026-05-04.md")
        assert found(house, "gate shed") == ["the gate code is 4455"]
        assert (f"memory/{name}.md", "a conflict copy of memory/2026-05-04.md") in (
            house.status().skipped
        )
        (only,) = (each for each in examine(at) if name in each.message)
        assert "with 1 line of its own" in only.message

    @pytest.mark.parametrize("name", ["Report (2)", "Report 2", "Conflict of 1914", "Area-TOP-10"])
    def test_what_only_looks_like_one_is_memory(self, at: Desk, name: str):
        assert found(memory(at, "# R\n\n- tea is green\n", f"memory/{name}.md"), "tea")

    def test_settings_that_are_no_json_are_named_and_nothing_is_logged_by_them(self, at: Desk):
        at.write("mdmem.toml", 'daily = "obsidian"\n')
        at.write(".obsidian/daily-notes.json", "{")
        at.write(".obsidian/templates.json", "[]")
        notes = memory(at, "# Memory\n")
        named = [each.message for each in examine(at) if "no JSON" in each.message]
        assert [each.partition(" ")[0] for each in named] == [
            ".obsidian/templates.json",
            ".obsidian/daily-notes.json",
        ]
        assert code_of(lambda: notes.apply(Log("saw a heron"))) == "bad-settings"

    def test_others_folders_and_a_vaults_templates(self, at: Desk):
        at.write("mdmem.toml", 'paths = ["**/*.md", "docs/vendor/*.md"]\n')
        at.write(".obsidian/templates.json", '{"folder": "Extras/Templates"}')
        at.write(".obsidian/plugins/templater-obsidian/data.json", "no JSON")
        for folder in ("node_modules/x", "Extras/Templates", ".trash", "docs/node_modules"):
            at.write(f"{folder}/a.md", "# A\n\n- hidden heron\n")
        at.write("plan.excalidraw.md", "# Drawing\n\n- hidden heron\n")
        at.write("docs/vendor/b.md", "# B\n\n- heron of a vendor\n")
        notes = memory(at, "# N\n\n- a heron\n", "Extras/n.md")
        assert sorted(found(notes, "heron")) == ["a heron", "heron of a vendor"]
        assert listed(notes, file="plan.excalidraw.md") == []


def test_a_heading_put_above_a_line_does_not_begin_it_anew(at: Desk):
    text = "# Memory\n\n## House\n\n- the roof is of 2019\n"
    memory(at, text)
    began = at.head()
    house = memory(at, text.replace("\n- the", "\n### Roof\n\n- the"))
    (stay,) = house.when("the roof is of 2019").stays
    assert (stay.came.commit, stay.went_at) == (began, None)
    assert stay.section == ("Memory", "House", "Roof")


@pytest.mark.git
def test_gits_index_has_what_a_hook_formatted(at: Desk):
    at.hook("pre-commit", 'sed -i "s/^- /* /" MEMORY.md; git add MEMORY.md')
    memory(at, "# Memory\n\n## Birds\n\n- the heron is grey\n")
    at.apply(EditSection("Birds", Action.APPEND, "- the owl is brown"))
    assert "* the owl is brown" in at.git("show", "HEAD:MEMORY.md")
    assert at.git("status", "--short") == ""


class TestVault:
    NOTE = "# Mira\n\n## Phone\n\n- mobile\n- [ ] call 0101 #tel ^phone\n- office\n"

    def test_a_successor_stands_in_the_note_under_the_same_block_id(self, at: Desk):
        at.write("mdmem.toml", 'paths = ["notes/*.md"]\n')
        memory(at, self.NOTE, "notes/Mira.md")
        superseding = WriteOptions(supersedes="[ ] call 0101")
        at.apply(Remember("call 0199", options=superseding))
        assert at.read("notes/Mira.md") == self.NOTE.replace("0101", "0199")
        elsewhere = WriteOptions(supersedes="[ ] call 0199")
        at.apply(Remember("call 0123", section="Work", options=elsewhere))
        assert "0199" not in at.read("notes/Mira.md")
        assert "- call 0123" in at.read("MEMORY.md")

    @pytest.mark.parametrize(
        ("settings", "path"),
        [
            ("{}", "2026-03-05.md"),
            ('{"folder": "Daily", "format": "YYYY/YYYY-MM-DD"}', "Daily/2026/2026-03-05.md"),
            ('{"format": "dddd [the] D MMMM YYYY"}', "Thursday the 5 March 2026.md"),
            ('{"folder": "J/", "format": "YYYY/MM-MMM/D ddd"}', "J/2026/03-Mar/5 Thu.md"),
        ],
    )
    def test_logs_are_the_vaults_daily_notes(
        self, at: Desk, settings: str, path: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_NOW", "2026-03-05T09:00:00")
        at.write("mdmem.toml", 'paths = ["**/*.md"]\ndaily = "obsidian"\n')
        at.write(".obsidian/daily-notes.json", settings)
        notes = memory(at, "# Memory\n")
        assert notes.apply(Log("saw a heron")).path == path
        (hit,) = notes.search(Search("heron")).hits
        assert (hit.path, hit.day) == (path, date(2026, 3, 5))
        assert notes.workspace.kind_of(path) is FileKind.DAILY

    def test_a_new_log_is_made_from_the_vaults_template(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_NOW", "2026-03-05T09:07:00")
        at.write("mdmem.toml", 'paths = ["**/*.md"]\ndaily = "obsidian"\n')
        settings = {"folder": "Daily", "template": "Templates/Day"}
        at.write(".obsidian/daily-notes.json", json.dumps(settings))
        at.write(
            "Templates/Day.md",
            "---\ntags: day\n---\n\n# {{title}}, {{date:dddd D MMMM}} 100% {{time}} {{weather}}\n",
        )
        memory(at, "# Memory\n").apply(Log("saw a heron"))
        text = at.read("Daily/2026-03-05.md")
        assert text.startswith(
            "---\ntags: day\n---\n\n# 2026-03-05, Thursday 5 March 100% 09:07 {{w"
        )
        assert text.endswith("\n\n## 09:07\n\n- saw a heron\n")
        at.write(".obsidian/daily-notes.json", json.dumps(settings | {"template": "../Day"}))
        at.apply(Log("saw a stork", day="2026-03-04"))
        assert at.read("Daily/2026-03-04.md").startswith("# 2026-03-04\n\n<!--")

    @pytest.mark.parametrize("form", ["gggg-[W]ww", "YYYY-MM", "../YYYY-MM-DD", "%YYYY-MM-DD"])
    def test_notes_of_no_day_are_no_logs(self, at: Desk, form: str):
        at.write("mdmem.toml", 'daily = "obsidian"\n')
        at.write(".obsidian/daily-notes.json", json.dumps({"format": form}))
        notes = memory(at, "# Memory\n")
        assert code_of(lambda: notes.apply(Log("saw a heron"))) == "bad-settings"


class TestWords:
    NOTES = (
        "# Memory\n\n## Notes\n\n- Pick the one that is most useful to me in the long run\n"
        "- What is useful: the useful tool, useful notes, useful links\n"
        "- Green tea in the morning\n- The tea is green only in May\n"
        "- To be or not to be is the motto of the club\n- The club has not met\n"
        "- „Über Flüsse“ und\n  Brücken\n- 高血圧の薬は朝に飲む\n"
    )

    @pytest.mark.parametrize(
        ("query", "texts"),
        [
            ('"useful to me in the"', ["Pick the one that is most useful to me in the long run"]),
            ("“To be or not to be”", ["To be or not to be is the motto of the club"]),
            ('"tea is green"', ["The tea is green only in May"]),
            ('"uber flusse und brucken"', ["„Über Flüsse“ und\nBrücken"]),
            ('"薬は朝に"', ["高血圧の薬は朝に飲む"]),
            ('"green tea" "in the"', ["Green tea in the morning"]),
        ],
    )
    def test_what_has_all_phrases_alone(self, at: Desk, query: str, texts: list[str]):
        assert found(memory(at, self.NOTES), query) == texts

    def test_what_has_the_phrase_first(self, at: Desk):
        notes = memory(at, self.NOTES)
        assert found(notes, 'club "motto of the"')[0].endswith("motto of the club")
        assert "The club has not met" in found(notes, 'club "motto of the"')
        # A phrase that no entry has is words.
        assert "Green tea in the morning" in found(notes, '"tea green"')

    def test_a_fact_and_its_copy_in_a_log_are_one_hit(self, dated: DatedMemory):
        fact = Remember("the tea is green only in May", section="Work")
        dated.on("2026-01-10").apply(fact)
        dated.on("2026-01-11").apply(Log("the tea is green only in May"))
        (hit,) = dated.search('"tea is green only in"')
        assert (hit.path, len(hit.also)) == ("MEMORY.md", 1)

    def test_comments_and_struck_words_find_nothing(self, at: Desk):
        text = (
            "# Memory\n\n## Code\n\n- tea %%getBuyerName gift?%% and ~~taxRate old~~ milk\n- cups\n"
        )
        notes = memory(at, text)
        for query in ("buyer", "getBuyerName", '"buyer name"', "gift", "tax", '"taxrate old"'):
            assert found(notes, query) == []

    def test_what_is_left_out(self, at: Desk):
        notes = memory(at, self.NOTES)
        assert found(notes, "tea -may") == ["Green tea in the morning"]
        # Where nothing is left it is a word, as it is at the beginning.
        assert found(notes, "motto -club") == ["To be or not to be is the motto of the club"]
        assert "The tea is green only in May" in found(notes, "-may")

    def test_a_prompt_has_no_syntax(self, at: Desk):
        block = memory(at, self.NOTES).context(BuildContext('which green "tea" -green -tea')).text
        assert "Green tea" in block

    def test_parts_of_identifiers(self, at: Desk):
        code = memory(
            at,
            "# Memory\n\n## Code\n\n- getUserAccountById returns null\n- HTTPServer2 listens\n"
            "- load_tenant_settings everywhere\n- the kettle boils\n",
        )
        assert found(code, "user account") == ["getUserAccountById returns null"]
        assert found(code, "server") == ["HTTPServer2 listens"]
        assert found(code, "tenant") == ["load_tenant_settings everywhere"]

    @pytest.mark.parametrize("query", ["kettel", "kettlle", "kettlo", "ketle", "getUserAcc"])
    def test_a_beginning_or_a_letter_wrong(self, at: Desk, query: str):
        code = memory(
            at, "# Memory\n\n## Code\n\n- the kettle boils\n\n## More\n\n- getUserAccountById\n"
        )
        (hit,) = code.search(Search(query)).hits
        assert hit.text == ("getUserAccountById" if query == "getUserAcc" else "the kettle boils")
        assert hit.near is (query in ("ketle", "getUserAcc"))

    @pytest.mark.parametrize(
        "query",
        ['"', '""', '"tea', "-", "--", "tea -", '"the"', "\U0001f600", "tea " * 10_000, '"' * 99],
    )
    def test_odd_queries_are_answered(self, at: Desk, query: str):
        memory(at, self.NOTES).search(Search(query))


class TestLinks:
    NOTES = (
        "# Crane\n\ncall [[Mira#Phone]], [[mira#Phone|her]], [[Mira#^desk]] or [here](#crane)\n\n"
        "[[Mira#^gone]], [[Nobody#At]], `[[Mira#Code]]` and [Mira](Mira.md#e-mail)\n\n"
        "```ruby\nx = [[#<Foo>]]\n```\n\n[a](#wus-talk)\n\n## Wu's talk\n"
    )

    def test_check_names_what_leads_nowhere(self, at: Desk):
        at.write("mdmem.toml", 'paths = ["notes/*.md"]\n')
        at.write(
            "notes/Mira.md", "# Mira\n\n## Phone\n\n- 0101 ^desk\n\n## E-mail\n\n- m@x.example\n"
        )
        notes = memory(at, self.NOTES, "notes/Crane.md")
        dead = [each for each in notes.check() if each.code == "dead-link"]
        assert [(each.path, each.line, each.message) for each in dead] == [
            ("notes/Crane.md", 5, "[[Mira#^gone]] points at nothing in notes/Mira.md")
        ]
        rename = EditSection("Phone", Action.RENAME, "Calls", file="notes/Mira.md")
        assert notes.apply(rename).notes[-1].startswith("leading nowhere now: 2 links to it;")
        assert len([each for each in notes.check() if each.code == "dead-link"]) == 3
        assert notes.check(("notes/Mira.md",)) == ()
        assert len(notes.check(("./notes/Crane.md",))) == 3


class TestPassages:
    FIRST = "The harbour was cold, and nobody had thought of the ropes. " * 8
    TEXT = (
        f"# Memory\n\nAlpha begins.\n{FIRST}\nThe mast came from Rostock. {FIRST} Osvaldo paid.\n"
    )

    def test_of_a_paragraph_the_best_one_is_found(self, at: Desk):
        tale = memory(at, self.TEXT)
        (hit,) = tale.search(Search("Rostock mast", limit=1)).hits
        assert "The mast came from Rostock." in hit.text
        assert (hit.start_line, hit.end_line) == (3, 5)
        (hit,) = tale.search(Search("Osvaldo of the ropes", limit=9)).hits
        assert (hit.start_line, hit.text[-13:]) == (5, "Osvaldo paid.")

    def test_they_have_all_of_its_words_once(self, at: Desk):
        (paragraph,) = entries(parse(self.TEXT), FilePath("MEMORY.md"))
        parts = list(passages(paragraph))
        assert " ".join(part.text for part in parts).split() == paragraph.text.split()
        assert len(parts) == 2
        assert max(len(part.text) for part in parts) <= 600

    @pytest.mark.parametrize(
        "text", ["word " * 200_000, f"- {FIRST * 3}", f"```\n{FIRST * 3}\n```", f"> {FIRST * 3}"]
    )
    def test_what_has_no_sentences_or_is_no_prose_is_one(self, text: str):
        assert len([*passages(*entries(parse(text + "\n"), FilePath("a.md")))]) == 1

    def test_what_is_saved_by_hand_is_found_in_passages(self, at: Desk):
        tale = memory(at, self.TEXT)
        assert len(found(tale, "harbour")) == 1
        at.write("MEMORY.md", self.TEXT.replace("Osvaldo", "Benedikt"))
        (hit,) = tale.search(Search("Benedikt", limit=1)).hits
        assert hit.uncommitted
        assert hit.text.endswith("Benedikt paid.")
        assert not tale.search(Search("Rostock", limit=1)).hits[0].uncommitted


class TestAsRead:
    NOTE = (
        "# Notes\n\n"
        "- the pump of [[Ada Berg|Ada]] is in [[Cellar#Left]], ==now==, see ![[plan.png]] ^p\n"
        "- ![[photo.png]]\n- valve for #people/operators, `#code`, #fff and #42\n\n"
        "> [!warning] Boiler\n> Hot.\n\nA sentence[^1] of the #garden, too.\n\n"
        "```dataview\nLIST FROM #secretplan\n```\n"
    )
    PUMP = "the pump of Ada is in Cellar > Left, now, see plan.png"

    def test_words_instead_of_brackets(self, at: Desk):
        notes = memory(at, self.NOTE)
        assert self.PUMP in search_text(notes.search(Search("pump")), colour=False)
        assert self.PUMP in notes.context(BuildContext("where is the pump")).text
        boiler = search_text(notes.search(Search("boiler")), colour=False)
        assert "Boiler Hot." in boiler.replace("\n", " ")
        assert "[[Ada Berg|Ada]]" in found(notes, "pump")[0]
        notes.apply(Forget(self.PUMP))
        assert "pump" not in at.read("MEMORY.md")

    def test_embeds_alone_are_no_fact_and_queries_of_a_vault_no_text(self, at: Desk):
        notes = memory(at, self.NOTE)
        assert [text[:9] for text in listed(notes)] == ["the pump ", "valve for"]
        assert found(notes, "secretplan") == []

    def test_tags_within_a_sentence_and_above_nested_ones(self, at: Desk):
        notes = memory(at, self.NOTE)
        assert notes.search(Search("valve")).hits[0].tags == ("people/operators",)
        assert {tag.tag for tag in notes.tags().tags} == {"people", "people/operators"}
        for tag in ("people", "People/Operators"):
            assert len(listed(notes, tags=(tag,))) == 1
        assert len(found(notes, "sentence", tags=("garden",))) == 1

    def test_long_entries_are_cut_around_what_matched(self, at: Desk):
        dull = "dull words " * 200
        zoo = memory(at, f"# Memory\n\n- {dull}the zebra sleeps {dull}\n")
        (hit,) = with_excerpts(zoo.search(Search("zebra"))).hits
        assert len(hit.text) <= 1000
        assert "the zebra sleeps" in hit.text
        ropes = "a crane lifts much, and the rope holds all of it " * 40
        words = f"{ropes}the crane rope {ropes}getUserAccountById {ropes}"
        assert "the crane rope" in excerpt(words, word_stems("the crane rope"), 300)
        assert "getUserAccount" in excerpt(words, word_stems("account"), 300)
        assert "the zebra sleeps" in entry_text(hit.text, word_stems("zebra"))[0]


class TestRows:
    TABLE = (
        "# Memory\n\n## Hosts\n\n| Host | Port |\n|---|---|\n| heron | 8001 |\n| stork | 8002 |\n"
    )

    def test_a_row_is_found_with_its_line_and_the_words_of_the_head(self, at: Desk):
        hosts = memory(at, self.TABLE)
        (hit,) = hosts.search(Search("port of the stork", limit=1)).hits
        assert (hit.text, hit.start_line, hit.end_line) == ("Host: stork · Port: 8002", 8, 8)
        assert listed(hosts) == []
        assert "Host: stork · Port: 8002" in hosts.context(BuildContext("port of stork")).text

    def test_a_row_that_changes_is_replaced_and_the_others_stay(self, dated: DatedMemory):
        dated.at.write("MEMORY.md", self.TABLE)
        dated.on("2026-01-10").save(Save())
        dated.at.write("MEMORY.md", self.TABLE.replace("8002", "9002") + "| crane | 8003 |\n")
        dated.on("2026-02-10").save(Save())
        assert dated.texts("stork", "2026-03-01")[0] == "Host: stork · Port: 9002"
        assert dated.texts("stork", "2026-03-01", as_of="2026-01-20")[0].endswith("8002")
        statuses = {hit.text: hit.status for hit in dated.search("stork", history=True)}
        assert statuses["Host: stork · Port: 8002"] == Status.SUPERSEDED
        origins = {hit.text[6:11]: hit.commit for hit in dated.search("port", "2026-03-01")}
        assert origins["heron"] != origins["stork"] == origins["crane"]

    def test_a_table_right_below_a_line_of_text(self, at: Desk):
        text = self.TABLE.replace("## Hosts\n\n", "Our hosts are:\n")
        hosts = memory(at, text)
        assert found(hosts, "stork") == ["Host: stork · Port: 8002"]
        (hit,) = hosts.search(Search("our hosts", limit=1)).hits
        assert (hit.text, hit.start_line, hit.end_line) == ("Our hosts are:", 3, 3)

    def test_a_long_table_is_indexed(self, at: Desk):
        rows = "".join(f"| host{number} | {number} |\n" for number in range(10_000))
        hosts = memory(at, f"| Host | Port |\n|---|---|\n{rows}", "memory/hosts.md")
        assert found(hosts, "host7777") == ["Host: host7777 · Port: 7777"]


class TestNested:
    TEXT = (
        "# Memory\n\n## Vehicles\n\n- Boat\n  - moored at pier seven\n"
        "  - boat engine: diesel #old ^be\n    - built 1998\n      in Turku\n"
        "- Car\n\t- car engine: petrol\n\t\t- loud\n- insurance: Helvetia\n"
    )

    def test_a_key_is_replaced_where_it_stands(self, at: Desk):
        memory(at, self.TEXT)
        at.apply(Remember("electric", key="boat engine", section="Vehicles"))
        at.apply(Remember("gas", key="car engine"))
        expected = self.TEXT.replace("diesel", "electric").replace("petrol", "gas")
        assert at.read("MEMORY.md") == expected

    @pytest.mark.parametrize(
        ("name", "gone"),
        [
            ("moored at pier seven", "  - moored at pier seven\n"),
            ("built 1998\nin Turku", "    - built 1998\n      in Turku\n"),
            ("loud", "\t\t- loud\n"),
            ("car engine", "\t- car engine: petrol\n\t\t- loud\n"),
        ],
    )
    def test_one_is_forgotten_with_what_is_beneath(self, at: Desk, name: str, gone: str):
        memory(at, self.TEXT.replace("\n", "\r\n"))
        at.apply(Forget(name))
        expected = self.TEXT.replace(gone, "").replace("\n", "\r\n")
        assert at.read("MEMORY.md") == expected

    def test_of_two_with_one_name_none_is_meant(self, at: Desk):
        memory(at, self.TEXT.replace("boat engine", "engine").replace("car engine", "engine"))
        refused(at, Remember("gas", key="engine"), "fact-ambiguous")
        at.apply(Remember("Allianz", key="insurance"))
        assert "- insurance: Allianz" in at.read("MEMORY.md")

    def test_of_two_files_with_one_name_none_is_meant(self, at: Desk):
        at.write("memory/boats.md", self.TEXT)
        memory(at, self.TEXT)
        refused(at, Forget("loud"), "fact-ambiguous")
        at.apply(Forget("loud", file="memory/boats.md"))
        assert "loud" not in at.read("memory/boats.md")

    def test_each_is_found_behind_the_words_around_it(self, at: Desk):
        vehicles = memory(at, self.TEXT)
        built = "Boat > boat engine: diesel > built 1998\nin Turku"
        assert found(vehicles, "built in Turku") == [built]
        assert found(vehicles, "diesel", tags=("old",)) == ["Boat > boat engine: diesel"]
        (hit,) = vehicles.search(Search('"petrol"', limit=1)).hits
        assert (hit.text, hit.start_line, hit.end_line) == ("Car > car engine: petrol", 11, 11)
        assert found(vehicles, '"Boat"')[0] == "Boat"
        assert len(listed(vehicles)) == 3

    def test_one_that_changes_is_replaced_and_the_others_stay(self, dated: DatedMemory):
        dated.at.write("MEMORY.md", self.TEXT)
        dated.on("2026-01-10").save(Save())
        dated.at.write("MEMORY.md", self.TEXT.replace("petrol", "gas"))
        dated.on("2026-02-10").save(Save())
        hits = {hit.text: hit for hit in dated.search("car engine", "2026-03-01", history=True)}
        assert hits["Car > car engine: petrol"].status == Status.SUPERSEDED
        assert hits["Car > car engine: petrol"].superseded_by == hits["Car > car engine: gas"].item
        assert hits["Car > car engine: gas"].since > hits["Car > car engine: gas > loud"].since
        assert dated.texts("pier seven", "2026-03-01")[0] == "Boat > moored at pier seven"

    def test_one_is_forgotten_as_a_search_shows_it(self, at: Desk):
        vehicles = memory(at, self.TEXT.replace("loud", "built 1998"))
        vehicles.apply(Forget("Car > car engine: petrol > built 1998"))
        assert "    - built 1998\n      in Turku\n" in at.read("MEMORY.md")
        assert "\t\t- built" not in at.read("MEMORY.md")

    @pytest.mark.parametrize("between", ["<!-- gift: sextant -->", "%%\n  gift: sextant\n  %%"])
    def test_a_comment_between_them_is_the_authors(self, at: Desk, between: str):
        text = f"# Memory\n\n- Mira\n  - lives in Porto\n  {between}\n  - has a cat\n"
        mira = memory(at, text)
        assert found(mira, "sextant") == []
        assert found(mira, "cat") == ["Mira > has a cat"]
        assert "sextant" not in mira.context(BuildContext("who has a cat?")).text
        assert not any("sextant" in change.text for change in mira.changes(ShowChanges()).changes)

    def test_a_line_that_a_search_cites_is_its_own_item(self, at: Desk):
        vehicles = memory(at, self.TEXT)
        vehicles.apply(Forget("MEMORY.md:6"))
        assert at.read("MEMORY.md") == self.TEXT.replace("  - moored at pier seven\n", "")
        vehicles.apply(Remember("gas", options=WriteOptions(supersedes="MEMORY.md:10")))
        expected = self.TEXT.replace("  - moored at pier seven\n", "")
        assert at.read("MEMORY.md") == expected.replace("car engine: petrol", "gas")

    @pytest.mark.parametrize(
        ("name", "old", "new"),
        [
            ("boat engine: diesel", "boat engine: diesel #old", "electric #old"),
            ("Car > car engine: petrol", "car engine: petrol", "electric"),
            ("loud", "\t\t- loud", "\t\t- electric"),
        ],
    )
    def test_one_is_superseded_in_its_place(self, at: Desk, name: str, old: str, new: str):
        boats = memory(at, self.TEXT, "memory/boats.md")
        boats.apply(Remember("electric", options=WriteOptions(supersedes=name)))
        assert at.read("memory/boats.md") == self.TEXT.replace(old, new)
        assert len(listed(boats, file="memory/boats.md")) == 3

    def test_of_two_with_the_same_words_none_is_superseded(self, at: Desk):
        memory(at, self.TEXT.replace("moored at pier seven", "loud"))
        gas = Remember("gas", options=WriteOptions(supersedes="loud"))
        refused(at, gas, "fact-ambiguous")

    @pytest.mark.parametrize(
        ("item", "shown"),
        [
            ("- **alpha** one", "alpha one"),
            ("- see [the plan](a.md)", "see the plan"),
            ("- `run` it", "run it"),
        ],
    )
    def test_what_is_shown_without_marks_can_be_forgotten(self, at: Desk, item: str, shown: str):
        memory(at, f"# Memory\n\n{item} of them\n- *Pump*\n  {item}\n")
        at.apply(Forget(f"{shown} of them"))
        at.apply(Forget(f"Pump > {shown}"))
        assert at.read("MEMORY.md").endswith("# Memory\n\n- *Pump*\n")

    @pytest.mark.parametrize(
        "name",
        [
            "car engine: petrol",
            "Car > car engine: petrol",
            "car engine",
            fact_id("car engine: petrol"),
            fact_id("car engine: petrol\n- loud"),
            "MEMORY.md:11",
        ],
    )
    def test_every_verb_that_reads_takes_its_names(self, at: Desk, name: str):
        vehicles, own = memory(at, self.TEXT), fact_id("car engine: petrol")
        shown = vehicles.show_named(Show(section=name))
        assert isinstance(shown, SectionView)
        assert (shown.text, shown.commit) == ("\t- car engine: petrol\n\t\t- loud\n", at.head())
        blamed = vehicles.blame(ShowBlame(name)).lines
        assert [(line.line, line.text) for line in blamed] == [
            (11, "\t- car engine: petrol"),
            (12, "\t\t- loud"),
        ]
        history = vehicles.history(ShowHistory(name))
        assert isinstance(history, FactHistory)
        assert history.fact == shown.fact == fact_id("car engine: petrol\n- loud")
        assert [(link.id, link.text) for link in history.chain] == [
            (own, "Car > car engine: petrol")
        ]

    def test_what_was_done_already_is_not_done_again(self, at: Desk):
        memory(at, self.TEXT)
        for change in (
            Forget("loud"),
            Remember("gas", options=WriteOptions(supersedes="car engine: petrol")),
        ):
            assert at.apply(change).changed
            assert not at.apply(change).changed
        with pytest.raises(FactProblem, match="no longer current"):
            at.apply(Forget("car engine: petrol"))

    @pytest.mark.parametrize("name", ["loud", "Car > car engine: petrol > loud", fact_id("loud")])
    def test_one_that_is_gone_has_a_history_alone(self, at: Desk, name: str):
        vehicles = memory(at, self.TEXT)
        vehicles.apply(Forget("loud"))
        (link,) = vehicles.history(ShowHistory(name)).chain
        assert (link.status, link.ended_by and link.ended_by.commit) == ("removed", at.head())
        assert code_of(lambda: vehicles.show_named(Show(section=name))) == "fact-not-found"
        assert code_of(lambda: vehicles.blame(ShowBlame(name))) == "fact-not-found"

    def test_of_two_places_each_has_its_own_history(self, at: Desk):
        twice = memory(at, self.TEXT.replace("moored at pier seven", "loud"))
        at.write("MEMORY.md", at.read("MEMORY.md").replace("  - loud\n", "  - loud now\n", 1))
        at.commit()
        for name, texts in {
            "Boat > loud": ["Boat > loud", "Boat > loud now"],
            "Car > car engine: petrol > loud": ["Car > car engine: petrol > loud"],
        }.items():
            assert [link.text for link in twice.history(ShowHistory(name)).chain] == texts

    def test_a_key_counts_under_its_parents_alone(self, at: Desk):
        text = self.TEXT.replace("boat engine", "engine").replace("car engine", "engine")
        engines = memory(at, f"{text}- engine: steam\n")
        assert not engines.conflicts().conflicts
        texts = ["Boat > engine: diesel", "Car > engine: petrol", "engine: steam"]
        facts = engines.facts(ListFacts(key="engine")).facts
        assert [(fact.text, fact.key) for fact in facts] == [(text, "engine") for text in texts]
        assert facts[0].fact == fact_id("engine: diesel")
        assert len(listed(engines)) == 4
        engines.apply(Remember("atomic", key="engine"))
        assert at.read("MEMORY.md") == f"{text}- engine: atomic\n"
        (line, _) = engines.blame(ShowBlame("Car > engine")).lines
        assert line.text == "\t- engine: petrol"

    def test_a_key_of_several_is_ambiguous(self, at: Desk):
        text = self.TEXT.replace("boat engine", "engine").replace("car engine", "engine")
        engines = memory(at, text)
        assert code_of(lambda: engines.history(ShowHistory("engine"))) == "fact-ambiguous"

    def test_a_log_leaves_it_to_its_file(self, at: Desk):
        vehicles = memory(at, self.TEXT, "memory/vehicles.md")
        silent = Log("a silent car", options=WriteOptions(supersedes="loud"))
        with pytest.raises(FactProblem) as refusal:
            vehicles.apply(silent)
        assert refusal.value.code == "supersede-in-place"
        assert refusal.value.hint.endswith(f" {fact_id('loud')}")
        assert "memory/vehicles.md" in refusal.value.hint

    def test_one_is_superseded_from_another_file(self, at: Desk):
        vehicles = memory(at, self.TEXT)
        options = WriteOptions(supersedes="loud")
        noise = Remember("silent", file="memory/noise.md", section="Noise", create=True)
        vehicles.apply(replace(noise, options=options))
        assert at.read("MEMORY.md") == self.TEXT.replace("\t\t- loud\n", "")
        assert at.read("memory/noise.md").endswith("- silent\n")
        (link,) = vehicles.history(ShowHistory("loud")).chain
        assert (link.status, link.ended_by and link.ended_by.commit) == ("removed", at.head())

    def test_an_id_means_the_fact_first(self, at: Desk):
        vehicles = memory(at, self.TEXT)
        vehicles.apply(Log("loud"))
        for file in (None, "MEMORY.md"):
            by_id = WriteOptions(supersedes=fact_id("loud"))
            vehicles.apply(Remember("silent", file=file, options=by_id))
            assert "\t\t- loud\n" in at.read("MEMORY.md")
            (link, *_) = vehicles.history(ShowHistory("loud")).chain
            assert (link.path[:7], link.status) == ("memory/", "superseded")
            vehicles.apply(Log("loud", again=True))

    @pytest.mark.parametrize(
        "change",
        [
            Remember("gas", options=WriteOptions(supersedes="car engine: petrol")),
            Remember("gas", key="car engine"),
            Forget("loud"),
        ],
    )
    def test_a_commit_states_what_the_item_around_became(self, at: Desk, change: Remember | Forget):
        memory(at, self.TEXT)
        at.apply(change)
        before, after = (
            next(each for each in items(parse(text)) if "Car" in each.raw).fact.id
            for text in (self.TEXT, at.read("MEMORY.md"))
        )
        message = at.git("log", "-1", "--format=%B")
        assert re.findall(r"Mdmem-Supersedes: (.*)", message) == [f"{before} {after}"]

    def test_a_hit_has_the_id_that_names_it(self, at: Desk):
        vehicles = memory(at, self.TEXT)
        hits = to_json(vehicles.search(Search("diesel insurance")))["hits"]
        ids = {hit["text"]: hit.get("item") for hit in hits}
        assert ids["Boat > boat engine: diesel"] == fact_id("boat engine: diesel")
        assert ids["insurance: Helvetia"] is None
        vehicles.apply(Forget(fact_id("boat engine: diesel")))
        assert "diesel" not in at.read("MEMORY.md")

    def test_what_is_nothing_but_a_picture_can_be_forgotten(self, at: Desk):
        memory(at, "# Memory\n\n- Boat\n  - ![[boat.png]]\n- ![[map.png]]\n  - Kiel\n")
        at.apply(Forget("![[boat.png]]"))
        at.apply(Forget("Kiel"))
        assert at.read("MEMORY.md") == "# Memory\n\n- Boat\n- ![[map.png]]\n"

    def test_tasks_in_a_list_of_projects(self, at: Desk):
        text = "# Memory\n\n- Boat\n  - [ ] paint the hull\n  - [x] sell the mast\n"
        boats = memory(at, text)
        assert found(boats, "[ ]") == ["Boat > [ ] paint the hull"]
        assert boats.search(Search("mast", limit=1)).hits[0].done

    def test_a_list_two_hundred_deep(self, at: Desk):
        deep = "".join(f"{'  ' * level}- level {level}\n" for level in range(200))
        assert "level 199" in found(memory(at, f"# Memory\n\n## List\n\n{deep}"), "199")[0]
        at.apply(Forget("level 20"))
        assert at.read("MEMORY.md").endswith("- level 19\n")


class TestNestedInVerbs:
    """Items of lists in items, in verbs that mark, undo and propose."""

    TEXT = (
        "# Memory\n\n## Vehicles\n\n- Boat\n  - engine: diesel\n  - moored at pier seven\n"
        "- Car\n  - runs on petrol\n- drives on the left\n"
    )

    @pytest.mark.parametrize("where", [{}, {"section": "Vehicles"}, {"file": "MEMORY.md"}])
    def test_words_of_a_log_and_of_one_are_asked_about(self, at: Desk, where: dict[str, str]):
        memory(at, self.TEXT)
        logged = at.apply(Log("moored at pier seven")).fact
        assert logged is not None
        pier = WriteOptions(supersedes="moored at pier seven")
        eight = Remember("moored at pier eight", **where, options=pier)
        refused(at, eight, "fact-ambiguous")
        with pytest.raises(FactProblem) as asked:
            at.apply(eight)
        first, second = asked.value.hint.split("\n")
        assert (first.split()[-1], "'Boat > moored at pier seven'" in second) == (logged, True)
        refused(at, Forget("moored at pier seven"), "fact-ambiguous")
        before = at.read("MEMORY.md")
        by_id = at.apply(replace(eight, options=WriteOptions(supersedes=logged)))
        assert [pair.old for pair in by_id.supersedes] == [logged]
        assert before.rstrip() in at.read("MEMORY.md")
        nested = WriteOptions(supersedes="Boat > moored at pier seven")
        at.apply(Remember("moored at pier nine", options=nested))
        assert "  - moored at pier nine\n" in at.read("MEMORY.md")

    @pytest.mark.parametrize(
        "pair",
        [
            ("moored at pier seven", "drives on the left"),
            ("Boat > engine: diesel", "engine"),
            ("engine", "runs on petrol"),
        ],
    )
    def test_two_are_marked_as_contradicting_and_settled(self, at: Desk, pair: tuple[str, str]):
        vehicles = memory(at, self.TEXT)
        if pair[1] == "engine":
            refused(at, Contradict(*pair), "same-fact")
            return
        assert vehicles.conflicts().conflicts == ()
        assert at.apply(Contradict(*pair)).changed
        assert not at.apply(Contradict(*pair)).changed
        (conflict,) = vehicles.conflicts().conflicts
        own = [name.replace("engine", "engine: diesel") for name in pair]
        assert [conflict.first.text, conflict.second.text] == own
        assert at.apply(Resolve(*pair)).changed
        assert vehicles.conflicts().conflicts == ()

    def test_its_last_change_is_undone_alone(self, at: Desk):
        memory(at, self.TEXT)
        at.apply(Remember("electric", key="engine", section="Vehicles"))
        changed = self.TEXT.replace("diesel", "electric")
        at.write("MEMORY.md", changed.replace("petrol", "gas"))
        at.commit()
        at.apply(Revert("Boat > engine: electric"))
        assert at.read("MEMORY.md") == self.TEXT.replace("petrol", "gas")
        at.apply(Forget("moored at pier seven"))
        at.apply(Revert("moored at pier seven"))
        assert at.read("MEMORY.md") == self.TEXT.replace("petrol", "gas")

    def test_of_one_commit_its_line_alone_is_undone(self, at: Desk):
        memory(at, self.TEXT)
        at.write("MEMORY.md", self.TEXT.replace("diesel", "electric").replace("seven", "eight"))
        at.commit()
        at.apply(Revert("engine"))
        assert at.read("MEMORY.md") == self.TEXT.replace("seven", "eight")

    def test_proposals_for_two_of_one_item_are_both_accepted(self, at: Desk):
        memory(at, self.TEXT)
        engine = propose(at, Remember("electric", key="engine", section="Vehicles"), actor="a")
        berth = propose(at, Forget("moored at pier seven"), actor="b")
        for proposal in (engine, berth):
            accept(at, proposal)
        expected = self.TEXT.replace("diesel", "electric").replace("  - moored at pier seven\n", "")
        assert at.read("MEMORY.md") == expected
        assert "Mdmem-Supersedes: " in at.git("log", "-1", "--format=%B")

    def test_a_proposal_for_one_that_changed_since_is_outdated(self, at: Desk):
        memory(at, self.TEXT)
        engine = propose(at, Remember("electric", key="engine", section="Vehicles"))
        at.apply(Remember("gas", key="engine", section="Vehicles"))
        (part,) = parts(at, engine).values()
        assert part.state is PartState.OVERTAKEN
        assert part.standing == "Boat\n- engine: gas\n- moored at pier seven"
