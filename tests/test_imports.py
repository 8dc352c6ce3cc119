"""Memory of other tools: each format by a small file in its shape; what an import leaves alone."""

import json
import os
import zipfile
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import pytest
from commandline import Shell
from commandline import commands_built_once as commands_built_once
from commandline import first_commit as first_commit
from commandline import shell as shell
from conftest import World
from workspaces import NOW, TOKEN, Desk, desk

from mdmem.memory import Memory
from mdmem.model.errors import PathProblem, TranscriptProblem, WorkspaceProblem
from mdmem.model.pipelines import DigestResult, Import
from mdmem.model.sessions import Speaker
from mdmem.model.writes import DayEntry
from mdmem.nights.dream import candidates
from mdmem.nights.imports import exports
from mdmem.nights.imports.exports import UNREADABLE, contents, export_files
from mdmem.nights.imports.formats import read_note, read_record
from mdmem.past import fresh_trail
from mdmem.past.messages import parse_trailers
from mdmem.sessions.records import Reading
from mdmem.text.facts import key_and_value

DATA = Path(__file__).parent / "data" / "imports"


def told(name: str) -> list[DayEntry | Reading]:
    """What the records of a file, or the note in it, tell."""
    (file,) = export_files(DATA / name)
    return [
        each
        for number, content in enumerate(contents(file), 1)
        for each in (
            read_note(content, file.name, file.of_claude)
            if isinstance(content, str)
            else read_record(content or {}, file.name, number)
        )
        or ()
    ]


def facts(name: str) -> list[DayEntry]:
    return [each for each in told(name) if isinstance(each, DayEntry)]


def conversation(name: str) -> Reading:
    (reading,) = told(name)
    assert isinstance(reading, Reading)
    return reading


class TestFormats:
    def test_mem0(self):
        first, second, third = facts("mem0.json")
        assert first == DayEntry(
            minute="",
            text="Likes to play cricket on weekends #hobbies #alex",
            kind=None,
            cites="mem0/892db2ae-06d9-49e5-8b3e-585ef9b85b8c#1",
            time=datetime.fromisoformat("2024-07-26T23:30:36.275141-07:00"),
        )
        assert second.text == "Planning a trip to Lisbon in October #alex"
        assert third.time is None

    def test_the_reference_server(self):
        """No name is read as a key: the facts of one entity would contradict each other."""
        texts = [each.text for each in facts("memory.jsonl")]
        assert texts == [
            "default_user (person): Speaks fluent Spanish",
            "default_user (person): Prefers morning meetings",
            "default user works at Anthropic",
        ]
        assert [key_and_value(text)[0] for text in texts] == [None, None, None]

    def test_basic_memory(self):
        """Observations and relations alone; a title is no key either."""
        notes = facts("basic-memory/coffee/Coffee Brewing Methods.md")
        title = "Coffee Brewing Methods"
        assert [(each.kind, each.text) for each in notes] == [
            ("method", f"{title}: Pour over provides more flavor clarity than French press"),
            (
                "technique",
                f"{title}: Water at 93 degrees extracts optimal compounds (measured twice)"
                " #brewing #heat",
            ),
            (None, f"{title}: [design choice] The grinder stays on the left"),
            (None, f"{title} relates to Coffee Bean Origins"),
            (None, f"{title} is better than Tea Brewing Methods (in the morning)"),
        ]
        assert {each.time for each in notes} == {datetime.fromisoformat("2025-03-01")}
        (water,) = facts("basic-memory/water.md")
        assert (water.kind, water.text) == ("fact", "Water: The tap water here is hard")
        assert water.cites == "basic-memory/water.md#8"

    def test_the_folder_of_claude(self):
        """A note with a description is one memory; lines of the index are none."""
        names = ("MEMORY.md", "user_role.md", "feedback_testing.md")
        assert [[each.text for each in facts(f"claude/memory/{name}")] for name in names] == [
            ["The build runs with pnpm, never with npm"],
            [
                "The user is a data scientist who looks into logging. **Why:** they said so when"
                " the work began. #user"
            ],
            ["Integration tests go against a real database, not mocks. #feedback"],
        ]

    def test_what_claude_sums_up(self):
        assert [each.text for each in facts("memories.json")] == [
            "Ada runs a bakery in Porto.",
            "Rides a bicycle to work",
            "The oven project needs a new thermostat.",
        ]

    def test_chatgpt(self):
        """The branch that was shown last, without what the person never saw."""
        reading = conversation("chatgpt.json")
        assert reading.header.session == "chatgpt/67c2f0a1-1111-4222-8333-944455556666"
        assert [(each.line, each.speaker, each.text) for each in reading.messages] == [
            (3, Speaker.USER, "Remember that I moved to Porto."),
            (4, Speaker.AGENT, "Noted. How can I help?"),
            (5, Speaker.USER, "I prefer flats with a balcony."),
        ]
        assert reading.messages[0].time == datetime.fromisoformat("2025-03-01T11:00:00.250+00:00")

    def test_claude_ai(self):
        reading = conversation("claude-ai.json")
        assert [(each.speaker, each.typed) for each in reading.messages] == [
            (Speaker.USER, True),
            (Speaker.AGENT, False),
        ]

    @pytest.mark.parametrize(
        "record",
        [
            {},
            {"type": "entity"},
            {"title": "a conversation of another version"},
            {"memory": 3},
            {"mapping": []},
        ],
        ids=repr,
    )
    def test_what_is_of_no_tool(self, record: dict[str, object]):
        assert read_record(record, "x.json", 1) is None

    @pytest.mark.parametrize(
        "record",
        [
            {"mapping": {}},
            {"mapping": {"a": {"parent": "a", "message": {"author": 3}}}, "current_node": "a"},
            {"mapping": {"a": {"message": {"author": {"role": "user"}, "content": []}}}},
            {"chat_messages": [3, {"sender": "human", "content": 3}]},
            {"memory": "", "created_at": "9999-99-99", "categories": "x"},
            {"type": "entity", "observations": [3, None]},
            {"conversations_memory": 3, "project_memories": []},
        ],
        ids=repr,
    )
    def test_odd_values_tell_nothing(self, record: dict[str, object]):
        read = list(read_record(record, "x.json", 1) or ())
        assert not any(each.text if isinstance(each, DayEntry) else each.messages for each in read)

    def test_a_note_of_nobody(self):
        assert read_note("# Shopping\n\n- bread\n", "list.md", of_claude=False) is None


class TestRecords:
    def read(self, tmp_path: Path, data: str | bytes) -> tuple[int, str]:
        """The number of records, and why there are no more."""
        path = tmp_path / "export"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        (file,) = export_files(path)
        number = 0
        try:
            for _ in contents(file):
                number += 1
        except UNREADABLE as problem:
            return number, str(problem)
        return number, ""

    @pytest.mark.parametrize(
        ("data", "number"),
        [
            ("[]", 0),
            ('[{"a": 1}, {"b": [2]}]', 2),
            ('\ufeff [ {"a": 1}\n]\n', 1),
            ('{"count": 2, "next": null, "results": [{"a": 1}, {"b": 1}], "relations": []}', 2),
            ('{"a": 1}\n\n{"b": 2}\n', 2),
            ('{"a": 1}\n[2]\n', 2),
        ],
        ids=repr,
    )
    def test_arrays_pages_and_lines(self, tmp_path: Path, data: str, number: int):
        assert self.read(tmp_path, data) == (number, "")

    @pytest.mark.parametrize(
        ("data", "number"),
        [
            ('[{"a": 1}, {"b": 2', 1),
            ('[{"a": 1}', 1),
            ('[{"a": 1}, {"b": é', 1),
            ("[" + "[" * 100_000, 0),
            ('{"a": 1}\n{"b": ', 1),
            ('{"a": 1}\nb\n{"b": 1}\n', 1),
        ],
        ids=["in a record", "behind one", "no JSON", "too deep", "a line", "no line of JSON"],
    )
    def test_what_is_cut_off_gives_what_is_before(self, tmp_path: Path, data: str, number: int):
        assert self.read(tmp_path, data) == (number, "cut off, or no JSON from there on")

    def test_a_file_is_read_in_pieces(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Records of any length around the ends of pieces, up to the longest."""
        monkeypatch.setattr(exports, "_CHUNK", 7)
        data = json.dumps([{"text": "é" * length} for length in range(40)])
        assert self.read(tmp_path, data) == (40, "")
        monkeypatch.setattr(exports, "_MOST_CHARACTERS", 60)
        assert self.read(tmp_path, data)[0] < 40

    def test_a_note_has_a_limit(self, tmp_path: Path):
        assert self.read(tmp_path, "x" * 5_000_001) == (
            0,
            "a note of more than 5 MB",
        )

    def test_an_archive(self, tmp_path: Path):
        archive = tmp_path / "export.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.write(DATA / "chatgpt.json", "data/conversations.json")
            file.writestr("chat.html", "<html>")
        ((name, found),) = [(file.name, list(contents(file))) for file in export_files(archive)]
        assert (name, len(found)) == ("data/conversations.json", 1)
        number, why = self.read(tmp_path, archive.read_bytes()[:200])
        assert (number, why.startswith("an archive that is cut off")) == (0, True)

    def test_a_note_in_another_encoding(self, tmp_path: Path):
        number, why = self.read(tmp_path, b"# M\n- the caf\xe9 opens\n")
        assert (number, "utf-8" in why) == (0, True)


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def take_in(at: Desk, path: Path, dry_run: bool = False) -> DigestResult:
    with closing(Memory.open(at.root, os.environ)) as opened:
        return opened.pipelines.import_memory(Import(str(path), dry_run))


def made(tmp_path: Path, *memories: str) -> Path:
    """An export of mem0."""
    path = tmp_path / "made.json"
    rows = [{"id": f"id{number}", "memory": text} for number, text in enumerate(memories)]
    path.write_text(json.dumps({"results": rows}))
    return path


class TestImport:
    def test_facts_stand_under_their_days(
        self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """In the zone of the user, whatever that of the tool; in one commit, which says whence.

        Without a day of its own, a fact is of the day on which its file was last changed.
        """
        monkeypatch.setenv("TZ", "UTC")
        export = tmp_path / "mem0.json"
        export.write_bytes((DATA / "mem0.json").read_bytes())
        os.utime(export, (1769940000, 1769940000))
        take_in(at, export)
        assert at.read("memory/mem0.md") == (
            "# mem0\n\n## 2024-07-27\n\n- Likes to play cricket on weekends #hobbies #alex\n"
            "- Planning a trip to Lisbon in October #alex\n\n## 2026-02-01\n\n"
            "- Is allergic to walnuts #alex\n"
        )
        assert len(at.subjects("memory")) == 1
        trailers = parse_trailers(at.git("log", "-1", "--format=%B"))
        assert trailers["Source"] == ["inferred"]
        assert trailers["Run"][0].startswith("import/")
        assert [cited.split()[1] for cited in trailers["Cites"]] == [
            "mem0/892db2ae-06d9-49e5-8b3e-585ef9b85b8c#1",
            "mem0/475bde34-21e6-42ab-8bef-0ab84474f156#2",
            "mem0/5e1b6d3a-7e44-4d5e-8a9e-2f3f2d7b1c00#3",
        ]

    def test_the_zone_of_the_settings(self, at: Desk):
        at.write("mdmem.toml", 'timezone = "America/Los_Angeles"\n')
        take_in(at, DATA / "mem0.json")
        assert "## 2024-07-26\n\n- Likes" in at.read("memory/mem0.md")
        take_in(at, DATA / "chatgpt.json")
        assert "## 03:00" in at.read("memory/2025-03-01.md")

    def test_conversations_go_to_the_logs_of_their_days(self, at: Desk):
        result = take_in(at, DATA / "chatgpt.json")
        assert "- [fact] Remember that I moved to Porto.\n" in at.read("memory/2025-03-01.md")
        assert "- [preference] I prefer flats with a balcony.\n" in at.read("memory/2025-03-02.md")
        assert len(result.entries) == 2
        assert "suburbs" not in at.git("log", "-p")

    def test_twice_is_once(self, at: Desk):
        first = take_in(at, DATA)
        head = at.head()
        again = take_in(at, DATA)
        assert (first.left, again.left) == ([], [])
        assert again.figures.doubled == len(first.entries) == 21
        assert (at.head(), again.entries) == (head, [])

    def test_a_dry_run_shows_it_and_writes_nothing(self, at: Desk):
        before = at.tree_state()
        shown = take_in(at, DATA, dry_run=True)
        assert at.tree_state() == before
        done = take_in(at, DATA)
        assert shown.entries == done.entries

    def test_what_stands_stays(self, at: Desk, tmp_path: Path):
        """Also a correction of an earlier import, what was moved, and what was taken out."""
        at.write("memory/mem0.md", "# Mine\n\n- diet: no walnuts\n")
        at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- city: Oslo\n- Plays the cello\n")
        at.commit()
        export = made(tmp_path, "plays the cello", "city: Porto", "Has a cat", "Rides a bicycle")
        take_in(at, export)
        mine = "# Mine\n\n- diet: no walnuts\n"
        text = at.read("memory/mem0.md")
        assert text.startswith(f"{mine}\n## 2")
        assert text.endswith("\n\n- city: Porto\n- Has a cat\n- Rides a bicycle\n")
        assert at.read("MEMORY.md") == "# Memory\n\n## Facts\n\n- city: Oslo\n- Plays the cello\n"
        at.write("memory/mem0.md", f"{mine}- Has two cats\n")
        at.write("MEMORY.md", at.read("MEMORY.md") + "- Rides a bicycle\n")
        at.commit()
        head = at.head()
        take_in(at, export)
        assert at.head() == head

    def test_what_a_person_removed_does_not_come_back(self, at: Desk, tmp_path: Path):
        at.write("MEMORY.md", "# Memory\n\n- Has a cat\n")
        at.commit()
        at.write("MEMORY.md", "# Memory\n")
        at.commit()
        result = take_in(at, made(tmp_path, "Has a cat", "Has a dog"))
        assert [entry.text for entry in result.entries] == ["Has a dog"]
        assert result.figures.refused == 1

    def test_it_is_undone_as_one_run(self, shell: Shell):
        run = shell.run("import", str(DATA), "--json").answer["run"]
        shell.run("revert", run, "--take-out")
        left = [path.read_text() for path in (shell.folder / "memory").glob("*.md")]
        assert "cricket" not in "".join(left)
        assert "Porto" not in "".join(left)

    def test_a_night_takes_it_as_said_on_its_day(self, at: Desk):
        """What a log says of a later day is newer, though it was committed before."""
        take_in(at, DATA / "mem0.json")
        workspace = at.workspace
        with fresh_trail(workspace) as trail:
            curated = candidates.read_curated(
                workspace, trail, candidates.SaidTimes({}, {}), workspace.memory_files()
            )
        said = {fact.text: fact.said.date().isoformat() for fact in curated.facts}
        assert said["Likes to play cricket on weekends"] == "2024-07-27"

    def test_secrets_are_left_out_and_named(self, at: Desk, tmp_path: Path):
        result = take_in(at, made(tmp_path, "Has a cat", f"the token is {TOKEN}"))
        assert [entry.text for entry in result.entries] == ["Has a cat"]
        assert [(left.session, left.why) for left in result.left] == [
            ("mem0/id1#2", "it has a secret")
        ]
        assert TOKEN not in at.git("log", "-p")

    def test_a_secret_in_a_conversation(self, at: Desk, tmp_path: Path):
        text = (DATA / "chatgpt.json").read_text()
        path = tmp_path / "c.json"
        path.write_text(text.replace("flats with a balcony", f"this token {TOKEN}"))
        result = take_in(at, path)
        assert result.figures.redacted == 1
        assert TOKEN not in at.git("log", "-p")

    def test_what_is_cut_off(self, at: Desk, tmp_path: Path):
        """What is before counts, and the answer says where it ends."""
        path = tmp_path / "cut.json"
        path.write_text((DATA / "mem0.json").read_text()[:500])
        result = take_in(at, path)
        assert [entry.text for entry in result.entries] == [
            "Likes to play cricket on weekends #hobbies #alex"
        ]
        (left,) = result.left
        assert left.why == "after 1 record: cut off, or no JSON from there on"

    def test_records_of_another_version(self, at: Desk, tmp_path: Path):
        path = tmp_path / "memory.jsonl"
        path.write_text((DATA / "memory.jsonl").read_text() + '{"type": "graph"}\n[]\n')
        (left,) = take_in(at, path).left
        assert left.why == "2 of 5 records are in another form"

    @pytest.mark.parametrize("text", ["# Shopping\n\n- bread\n", '{"a": 1}', ""])
    def test_an_unknown_format(self, at: Desk, tmp_path: Path, text: str):
        path = tmp_path / "mem0.json"
        path.write_text(text)
        with pytest.raises(TranscriptProblem) as caught:
            take_in(at, path)
        assert caught.value.code == "unknown-format"

    def test_no_file(self, at: Desk, tmp_path: Path):
        with pytest.raises(PathProblem):
            take_in(at, tmp_path / "none.json")

    def test_memory_is_not_taken_in_again(self, at: Desk):
        with pytest.raises(PathProblem) as caught:
            take_in(at, at.root.parent)
        assert caught.value.code == "bad-path"

    def test_an_agent_is_refused(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MDMEM_ACTOR", "agent/x")
        head = at.head()
        with pytest.raises(WorkspaceProblem) as caught:
            take_in(at, DATA / "mem0.json")
        assert caught.value.code == "not-allowed"
        assert at.head() == head

    def test_too_much_at_once(self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """The next import takes what is left."""
        monkeypatch.setattr("mdmem.nights.imports.importing._MOST_FACTS", 1)
        export = made(tmp_path, "Has a cat", "Rides a bicycle")
        assert take_in(at, export).figures.surplus == 1
        assert [entry.text for entry in take_in(at, export).entries] == ["Rides a bicycle"]


class TestCommand:
    def test_the_answer(self, shell: Shell):
        done = shell.run("import", str(DATA / "memory.jsonl"))
        assert (done.status, done.err) == (0, "")
        day, *facts, counts = done.out.splitlines()
        assert date.fromisoformat(day)
        assert facts == [
            "  default_user (person): Speaks fluent Spanish"
            "  (inferred, server-memory/memory.jsonl#1)",
            "  default_user (person): Prefers morning meetings"
            "  (inferred, server-memory/memory.jsonl#1)",
            "  default user works at Anthropic  (inferred, server-memory/memory.jsonl#3)",
        ]
        assert counts == "3 kept"
        assert "(current)" in shell.run("history", "default user works at Anthropic").out
        assert "gone" not in shell.run("history", "default user works at Anthropic").out

    def test_what_was_left_out_is_the_exit_status(self, shell: Shell):
        shell.write("cut.json", (DATA / "mem0.json").read_text()[:500])
        done = shell.run("import", str(shell.folder / "cut.json"))
        assert done.status == 1
        assert "left out: cut.json: after 1 record:" in done.out

    def test_an_agent_gets_the_line_for_the_person(
        self, shell: Shell, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_ACTOR", "agent/x")
        done = shell.run("import", "my export.zip", "--dry-run")
        assert done.status == 1
        assert "hint: To be typed at a terminal: mdmem import 'my export.zip'\n" in done.err
