"""Messages of sessions, found behind memory: which are indexed, and how the index follows the
transcripts.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import session_files
from conftest import World
from session_files import ALL, SESSION, START, WRITERS, claude, codex, named, pi
from workspaces import NOW, TOKEN, Desk, desk, where_modes_count

from mdmem import __version__
from mdmem.folder import files
from mdmem.folder.files import MESSAGES_LOCK
from mdmem.index import session_messages
from mdmem.index.session_messages import MESSAGES_NAME
from mdmem.index.snapshot import SEEN_NAME
from mdmem.memory import Memory
from mdmem.model.errors import StorageProblem, UsageProblem, WorkspaceProblem
from mdmem.model.searches import MessageHit, Search, SearchResult
from mdmem.model.writes import Purge, Remember
from mdmem.sessions import files as transcript_files

OTHER = "6b2f0000-1111-4222-8333-444455556666"
Write = Callable[..., Path]


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    named(world.home, *ALL)
    return desk(world, repository)


@pytest.fixture
def home(at: Desk) -> Path:
    return at.world.home


@pytest.fixture
def read_parts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The transcripts that are read from now on, each with the line at which that begins."""
    parts: list[tuple[str, int]] = []
    read_file = transcript_files.read_file

    def read(path: str, *arguments: Any) -> Any:
        transcript = read_file(path, *arguments)
        parts.append((Path(path).stem[:8], transcript.from_line if transcript else 0))
        return transcript

    monkeypatch.setattr(session_messages, "read_file", read)
    return parts


def search(at: Desk, query: str, **options: Any) -> SearchResult:
    with closing(Memory(at.workspace)) as memory:
        return memory.search(Search(query, sessions=True, **options))


def messages(at: Desk, query: str, **options: Any) -> list[str]:
    return [message.text for message in search(at, query, **options).messages]


def append(path: Path, *rows: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def pi_row(number: int, text: str, parent: int | None = None) -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    time = session_files.stamp(START + timedelta(minutes=number))
    key = f"{number - 1 if parent is None else parent:08x}"
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": key,
        "timestamp": time,
        "message": message,
    }


def raising(problem: Exception) -> Callable[..., Any]:
    def call(*_: Any) -> None:
        raise problem

    return call


def test_memory_comes_first_then_what_both_speakers_said(at: Desk, home: Path):
    at.apply(Remember("the pump is blue"))
    path = claude(home, "Is the pump ready?", "agent: The pump is at the harbour.", "fine")
    result = search(at, "pump")
    assert [hit.text for hit in result.hits] == ["the pump is blue"]
    assert {message.text for message in result.messages} == {
        "Is the pump ready?",
        "The pump is at the harbour.",
    }
    reply = next(message for message in result.messages if message.speaker == "agent")
    assert reply == MessageHit(
        path=str(path),
        line=2,
        session=f"claude/{SESSION}",
        project="/home/ada",
        speaker="agent",
        sender=None,
        time=reply.time,
        text="The pump is at the harbour.",
        score=reply.score,
    )
    assert reply.reference == f"claude/{SESSION}#2"
    assert reply.time is not None
    assert reply.time.isoformat() == "2026-03-04T10:01:00+01:00"


def test_a_message_is_found_by_its_own_language(at: Desk, home: Path):
    german, english = "die Gläser sind nicht in dem Schrank", "the cups were sent to them"
    claude(home, german, f"agent: {english}", "Tassen")
    assert messages(at, "Glas") == [german]
    assert messages(at, "cup") == [english]
    assert messages(at, "Tassen") == ["Tassen"]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_each_client(at: Desk, home: Path, write: Write):
    write(home, "We keep the old pump.", "agent: Noted, the pump stays.")
    assert sorted(messages(at, "pump")) == ["Noted, the pump stays.", "We keep the old pump."]


def test_only_named_clients_are_read(at: Desk, home: Path):
    claude(home, "the pump of claude")
    codex(home, "the pump of codex")
    named(home, 'sessions = ["codex"]', 'session_scope = "all"')
    assert messages(at, "pump") == ["the pump of codex"]
    named(home)
    with pytest.raises(WorkspaceProblem) as problem:
        search(at, "pump")
    assert problem.value.code == "no-sessions"


def test_sessions_of_this_work_tree_or_all(at: Desk, home: Path):
    claude(home, "the pump here", project=str(at.root / "src"))
    claude(home, "the pump elsewhere", session=OTHER)
    named(home, ALL[0])
    assert messages(at, "pump") == ["the pump here"]
    named(home, *ALL)
    assert len(messages(at, "pump")) == 2
    named(home, ALL[0])
    assert messages(at, "pump") == ["the pump here"]


def test_a_session_whose_folder_is_told_late(at: Desk, home: Path):
    named(home, ALL[0])
    path = claude(home, "the first pump", "the second pump", project=str(at.root))
    rows = path.read_text().splitlines(keepends=True)
    path.write_text(json.dumps(json.loads(rows[0]) | {"cwd": None}) + "\n")
    assert messages(at, "pump") == []
    append(path, json.loads(rows[1]))
    assert sorted(messages(at, "pump")) == ["the first pump", "the second pump"]


def test_own_sessions_are_left_alone(at: Desk, home: Path):
    claude(home, "mdmem-extract/1 pump", "agent: pump")
    assert messages(at, "pump") == []


def test_texts_are_clean(at: Desk, home: Path):
    claude(home, f"the pump has {TOKEN} <system-reminder>pump of the host</system-reminder>")
    (text,) = messages(at, "pump")
    assert text == "the pump has [REDACTED:github-token]" or (
        "REDACTED" in text and TOKEN not in text and "host" not in text
    )
    for path in (at.workspace.state / MESSAGES_NAME).rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()


def test_copies_are_found_once_in_the_session_that_began_first(at: Desk, home: Path):
    pi(home, "the pump is blue", session=OTHER)
    path = pi(home, "the pump is blue", "more of the pump")
    later = session_files.stamp(START + timedelta(hours=1))
    rows = path.read_text().splitlines()
    path.write_text(
        "\n".join([json.dumps(json.loads(rows[0]) | {"timestamp": later}), *rows[1:]]) + "\n"
    )
    result = search(at, "blue pump")
    assert [message.reference for message in result.messages] == [
        f"openclaw/{OTHER}#2",
        f"openclaw/{SESSION}#3",
    ]
    next(home.glob(f".pi/agent/sessions/*/*{OTHER}.jsonl")).unlink()
    assert [message.reference for message in search(at, "blue pump").messages] == [
        f"openclaw/{SESSION}#2",
        f"openclaw/{SESSION}#3",
    ]


def test_many_copies_do_not_hide_the_rest(at: Desk, home: Path):
    for number in range(70):
        pi(home, "the blue pump", session=f"{number:08x}-1111-4222-8333-444455556666")
    pi(home, "of all pumps that there are by the harbour this is another", session=OTHER)
    assert len(messages(at, "blue pump", limit=2)) == 2


class TestFilters:
    def test_days_are_the_users(self, at: Desk, home: Path):
        claude(home, "the old pump", "the new pump", start=START.replace(hour=22, minute=59))
        assert messages(at, "pump", since="2026-03-05") == ["the new pump"]
        assert messages(at, "pump", until="2026-03-04") == ["the old pump"]
        assert messages(at, "pump", recent_days=1) == ["the new pump"]
        assert messages(at, "pump", since="yesterday", until="yesterday") == ["the old pump"]

    def test_so_many_of_each(self, at: Desk, home: Path):
        claude(home, *(f"the pump number {number}" for number in range(9)))
        assert len(messages(at, "pump", limit=3)) == 3

    @pytest.mark.parametrize(
        "option",
        [
            {"file": "a.md"},
            {"section": "Work"},
            {"kind": "fact"},
            {"tags": ("a",)},
            {"source": "auto"},
            {"min_confidence": 0.5},
            {"history": True},
        ],
    )
    def test_what_messages_do_not_have_is_refused(self, option: dict[str, Any]):
        with pytest.raises(UsageProblem):
            Search("pump", sessions=True, **option)

    @pytest.mark.parametrize(("query", "count"), [("...", 0), ('"(', 0), ("pumps", 1), ("泵", 1)])
    def test_any_query(self, at: Desk, home: Path, query: str, count: int):
        claude(home, "the pump (泵) is blue")
        assert len(messages(at, query)) == count


class TestCatchingUp:
    def test_only_what_is_new_is_read(
        self, at: Desk, home: Path, read_parts: list[tuple[str, int]]
    ):
        path = pi(home, *(f"the pump number {number}" for number in range(40)))
        pi(home, "another pump", session=OTHER, start=START + timedelta(days=1))
        assert len(messages(at, "pump", limit=100)) == 41
        assert sorted(read_parts) == [("2026-03-", 1), ("2026-03-", 1)]
        read_parts.clear()
        assert len(messages(at, "pump", limit=100)) == 41
        assert read_parts == []
        append(path, pi_row(40, "the last pump"))
        assert messages(at, "last pump", limit=1) == ["the last pump"]
        assert read_parts == [("2026-03-", 22)]
        assert len(messages(at, "pump", limit=100)) == 42

    def test_a_torn_line_waits(self, at: Desk, home: Path):
        path = pi(home, "the old pump")
        whole = path.read_bytes() + json.dumps(pi_row(1, "the new pump")).encode()
        path.write_bytes(whole)
        assert messages(at, "pump") == ["the old pump"]
        path.write_bytes(whole + b"\n")
        assert sorted(messages(at, "pump")) == ["the new pump", "the old pump"]

    @pytest.mark.parametrize("longer", [False, True])
    def test_a_rewritten_file(self, at: Desk, home: Path, longer: bool):
        pi(home, "the old pump", "and the harbour")
        assert messages(at, "pump") == ["the old pump"]
        pi(home, "the new pump", *["and so on for longer"] * 9 * longer)
        assert messages(at, "pump") == ["the new pump"]
        assert messages(at, "harbour") == []

    def test_a_branch_that_was_left(self, at: Desk, home: Path):
        path = pi(home, "the first pump", "the second pump", "the third pump")
        assert len(messages(at, "pump")) == 3
        append(path, pi_row(9, "another pump", parent=0))
        assert sorted(messages(at, "pump")) == ["another pump", "the first pump"]

    def test_a_file_that_is_gone(self, at: Desk, home: Path):
        claude(home, "the pump is blue").unlink()
        path = claude(home, "the other pump", session=OTHER)
        assert messages(at, "pump") == ["the other pump"]
        path.unlink()
        result = search(at, "pump")
        assert result.messages == ()
        assert any("no transcripts in" in note for note in result.notes)

    def test_a_moved_file(self, at: Desk, home: Path):
        path = claude(home, "the pump is blue")
        assert messages(at, "pump") == ["the pump is blue"]
        path.rename(path.with_name(f"{OTHER}.jsonl"))
        assert messages(at, "pump") == ["the pump is blue"]

    def test_an_unknown_format_is_named_and_the_others_are_found(self, at: Desk, home: Path):
        claude(home, "the pump is blue")
        path = session_files.written(home / ".claude/projects/-x/y.jsonl", [{"pump": 1}])
        for _ in range(2):
            result = search(at, "pump")
            assert [message.text for message in result.messages] == ["the pump is blue"]
            assert any(str(path) in note for note in result.notes)

    @where_modes_count
    def test_what_cannot_be_read_is_counted_and_read_later(self, at: Desk, home: Path):
        path = claude(home, "the pump is blue")
        path.chmod(0)
        for _ in range(2):
            assert f"1 transcript could not be read, such as {path}" in search(at, "pump").notes
        path.chmod(0o600)
        assert messages(at, "pump") == ["the pump is blue"]

    def test_what_cannot_be_read_holds_nothing_up(
        self, at: Desk, home: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(session_messages, "_PART_BYTES", 1)
        paths = [
            pi(
                home,
                f"the pump number {number}",
                session=f"{number:08x}-1111-4222-8333-444455556666",
            )
            for number in range(4)
        ]
        read_file = session_messages.read_file
        failing = {str(paths[0]), str(paths[2])}

        def read(path: str, *arguments: Any) -> Any:
            if path in failing:
                raise PermissionError(13, "not now")
            return read_file(path, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(session_messages, "read_file", read)
            result = search(at, "pump")
        assert sorted(message.text for message in result.messages) == [
            "the pump number 1",
            "the pump number 3",
        ]
        assert result.notes == (f"2 transcripts could not be read, such as {paths[0]}",)
        assert len(messages(at, "pump")) == 4

    def test_in_parts(self, at: Desk, home: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(session_messages, "_PART_BYTES", 1)
        for number in range(5):
            pi(
                home,
                f"the pump number {number}",
                session=f"{number:08x}-1111-4222-8333-444455556666",
            )
        assert len(messages(at, "pump")) == 5


class TestFaults:
    @pytest.mark.parametrize(
        "damage",
        [
            lambda folder: (folder / SEEN_NAME).write_text(
                (folder / SEEN_NAME).read_text().replace(__version__, "0.1.9")
            ),
            lambda folder: shutil.rmtree(folder / "documents"),
            lambda folder: shutil.rmtree(folder),
            lambda folder: [
                path.write_bytes(b"") for path in (folder / "documents").glob("*.store")
            ],
            lambda folder: [
                path.write_bytes(path.read_bytes()[:-9])
                for path in (folder / "documents").glob("*.term")
            ],
        ],
    )
    @pytest.mark.parametrize("grown", [False, True])
    def test_a_damaged_index_is_rebuilt(
        self, at: Desk, home: Path, damage: Callable[[Path], object], grown: bool
    ):
        path = pi(home, "the old pump")
        assert messages(at, "pump") == ["the old pump"]
        damage(at.workspace.state / MESSAGES_NAME)
        if grown:
            append(path, pi_row(1, "the new pump"))
        for _ in range(2):
            result = search(at, "pump")
            assert sorted(message.text for message in result.messages) == [
                "the new pump"
            ] * grown + ["the old pump"]
            assert result.notes == ()

    def test_reindex(self, at: Desk, home: Path, read_parts: list[tuple[str, int]]):
        pi(home, "the old pump")
        messages(at, "pump")
        for full in (False, True):
            with closing(Memory(at.workspace)) as memory:
                memory.reindex(full)
            assert messages(at, "pump") == ["the old pump"]
            assert len(read_parts) == 1 + full

    @pytest.mark.parametrize("is_gone", [False, True])
    def test_a_kill_between_documents_and_what_was_seen(
        self, at: Desk, home: Path, monkeypatch: pytest.MonkeyPatch, is_gone: bool
    ):
        path = pi(home, "the old pump")
        messages(at, "pump")
        append(path, pi_row(1, "the new pump"))

        def killed(**_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("mdmem.index.session_messages.Seen", killed)
            with pytest.raises(KeyboardInterrupt):
                messages(at, "pump")
        if is_gone:
            path.unlink()
        matches = search(at, "pump").messages
        assert sorted(message.reference for message in matches) == (
            [] if is_gone else [f"openclaw/{SESSION}#2", f"openclaw/{SESSION}#3"]
        )

    def test_killed_again_and_again(self, at: Desk, home: Path):
        texts = [f"the pump number {number} of the harbour" for number in range(400)]
        for number in range(20):
            pi(
                home,
                *texts[number * 20 : number * 20 + 20],
                session=f"{number:08x}-1111-4222-8333-444455556666",
            )
        command = [
            sys.executable,
            "-m",
            "mdmem",
            "-C",
            str(at.root),
            "search",
            "pump",
            "--sessions",
            "-n",
            "1000",
            "--json",
        ]
        for step in range(8):
            process = subprocess.Popen(
                command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                process.wait(0.1 + step * 0.04)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        assert sorted(messages(at, "pump", limit=1000)) == sorted(texts)

    def test_several_at_once(self, at: Desk, home: Path):
        for number in range(20):
            pi(
                home,
                "the pump of the harbour",
                session=f"{number:08x}-1111-4222-8333-444455556666",
                start=START + timedelta(days=number),
            )
        command = [
            sys.executable,
            "-m",
            "mdmem",
            "-C",
            str(at.root),
            "search",
            "pump",
            "--sessions",
            "-n",
            "50",
            "--json",
        ]
        running = [
            subprocess.Popen(
                command, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(4)
        ]
        for process in running:
            out, err = process.communicate()
            assert (process.returncode, err) == (0, "")
            assert len([hit for hit in json.loads(out)["hits"] if hit["kind"] == "session"]) == 20

    def test_while_another_process_is_at_work_what_is_there_is_found(self, at: Desk, home: Path):
        path = pi(home, "the old pump")
        messages(at, "pump")
        append(path, pi_row(1, "the new pump"))
        at.write("mdmem.toml", "lock_timeout = 0.01\n")
        with files.lock(at.workspace.state / MESSAGES_LOCK, 0):
            result = search(at, "pump")
        assert ([message.text for message in result.messages], result.stale) == (
            ["the old pump"],
            True,
        )
        assert any("behind" in note for note in result.notes)

    @pytest.mark.parametrize("problem", [StorageProblem("no room"), OSError(28, "no room")])
    def test_a_full_disk(
        self, at: Desk, home: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
    ):
        path = pi(home, "the old pump")
        messages(at, "pump")
        append(path, pi_row(1, "the new pump"))
        with monkeypatch.context() as patch:
            patch.setattr(session_messages, "_has_room", lambda folder: False)
            patch.setattr(session_messages.MessageIndex, "update", raising(problem))
            result = search(at, "pump")
        assert ([message.text for message in result.messages], result.stale) == (
            ["the old pump"],
            True,
        )
        assert any("no room" in note for note in result.notes)
        assert sorted(messages(at, "pump")) == ["the new pump", "the old pump"]

    def test_where_nothing_can_be_written(self, at: Desk, home: Path):
        pi(home, "the old pump")
        at.workspace.ensure_state()
        (at.workspace.state / MESSAGES_NAME).write_text("")
        result = search(at, "pump")
        assert [message.text for message in result.messages] == ["the old pump"]
        assert any("searched a temporary one" in note for note in result.notes)


class TestPurge:
    WORDS = "We decided to sell the boat to Zoë."

    def purge(self, at: Desk) -> None:
        at.apply(Remember(self.WORDS))
        with closing(Memory(at.workspace)) as memory:
            memory.purge(Purge(self.WORDS))

    @pytest.mark.parametrize("lose", [False, True])
    def test_it_goes_though_the_transcript_holds_it(self, at: Desk, home: Path, lose: bool):
        path = pi(home, f"Well. {self.WORDS} And so on.", "agent: The boat will be missed.")
        assert len(messages(at, "boat")) == 2
        self.purge(at)
        assert not (at.workspace.state / MESSAGES_NAME).exists()
        if lose:
            shutil.rmtree(at.workspace.state)
        assert messages(at, "boat") == ["The boat will be missed."]
        append(path, pi_row(2, "What of the boat?"))
        assert sorted(messages(at, "boat")) == ["The boat will be missed.", "What of the boat?"]
        for file in (at.workspace.state / MESSAGES_NAME).rglob("*"):
            assert not file.is_file() or "Zoë".encode() not in file.read_bytes()

    def test_a_copy_elsewhere_goes_too(self, at: Desk, home: Path):
        self.purge(at)
        pi(home, self.WORDS, "agent: The boat will be missed.")
        assert messages(at, "boat") == ["The boat will be missed."]

    def test_a_purge_that_came_from_another_clone(self, at: Desk, home: Path, tmp_path: Path):
        pi(home, self.WORDS, "agent: The boat will be missed.")
        at.apply(Remember(self.WORDS))
        other = Desk(at.world, tmp_path / "other")
        at.git("clone", "-q", at.root, other.root)
        for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
            other.git("config", name, value)
        assert len(messages(at, "boat")) == 2
        with closing(Memory(other.workspace)) as memory:
            memory.purge(Purge(self.WORDS))
        at.git("fetch", "-q", other.root)
        at.git("reset", "-q", "--hard", "FETCH_HEAD")
        assert messages(at, "boat") == ["The boat will be missed."]

    def test_said_again_later_it_is_found(self, at: Desk, home: Path):
        self.purge(at)
        pi(home, self.WORDS, start=START + timedelta(days=9))
        assert messages(at, "boat") == [self.WORDS]

    def test_commits_alone_do_not_have_transcripts_read_again(
        self, at: Desk, home: Path, read_parts: list[tuple[str, int]]
    ):
        pi(home, "the pump is blue")
        assert len(messages(at, "pump")) == 1
        at.apply(Remember("the boat is red"))
        assert len(messages(at, "pump")) == 1
        assert len(read_parts) == 1


def test_as_a_program_reads_it(at: Desk, home: Path):
    at.apply(Remember("the pump is blue"))
    path = claude(home, "agent: " + "word " * 400 + "pump " + "word " * 400)
    out = at.world.run(
        at.root,
        [sys.executable, "-m", "mdmem", "search", "pump", "--sessions", "--json"],
        environment=dict(os.environ),
    ).stdout
    entry, message = json.loads(out)["hits"]
    assert set(entry) < set(message)
    assert (message["kind"], message["reference"], message["speaker"]) == (
        "session",
        f"claude/{SESSION}#1",
        "agent",
    )
    assert (message["path"], message["start_line"], message["day"]) == (str(path), 1, "2026-03-04")
    assert (message["time"], message["project"], message["sender"]) == (
        "2026-03-04T10:00:00+01:00",
        "/home/ada",
        None,
    )
    assert "pump" in message["text"]
    assert len(message["text"]) < 1010
    text = at.world.run(
        at.root,
        [sys.executable, "-m", "mdmem", "search", "pump", "--sessions"],
        environment=dict(os.environ),
    ).stdout
    assert f"claude/{SESSION}#1 2026-03-04 10:00 agent /home/ada\n    …" in text


def test_a_search_of_memory_alone_loads_nothing_of_this(at: Desk):
    script = "import os, sys; from pathlib import Path; from mdmem.memory import Memory; from mdmem.model.searches import Search; "
    script += (
        "Memory.open(Path('.'), os.environ).search(Search('pump')); print(*sorted(sys.modules))"
    )
    loaded = at.world.run(
        at.root, [sys.executable, "-c", script], environment=dict(os.environ)
    ).stdout.split()
    assert "mdmem.queries.search" in loaded
    names = (
        "mdmem.sessions.clients",
        "mdmem.nights.digest",
        "mdmem.index.session_messages",
        "mdmem.index.seen",
        "mdmem.past.session",
    )
    assert [name for name in loaded if name.startswith(names)] == []
