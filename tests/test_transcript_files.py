"""Transcripts on disk: which are found, and how they are read as they grow."""

import json
import os
from pathlib import Path

import pytest
import session_files

from mdmem.model.errors import TranscriptProblem
from mdmem.sessions import files
from mdmem.sessions.clients import CLIENTS
from mdmem.sessions.files import (
    Scope,
    find_files,
    read_file,
    read_head,
    recent_prompts,
    searched_folders,
)
from mdmem.sessions.records import Place
from mdmem.startup.records import replace


def names(home: Path, *sources: str, **environment: str) -> list[str]:
    return [
        os.path.relpath(file.path, home)
        for file in find_files(sources, {"HOME": str(home)} | environment)
    ]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (
        ".claude/projects/-w/a.jsonl",
        ".claude/projects/-w/a/subagents/agent-1.jsonl",
        ".claude/projects/-w/notes.md",
        ".codex/sessions/2026/03/04/rollout-x.jsonl",
        ".codex/sessions/2026/03/04/other.jsonl",
        ".openclaw/agents/main/sessions/b.jsonl",
        ".openclaw/agents/main/sessions/b.trajectory.jsonl",
        ".openclaw/agents/main/sessions/sessions.json",
        ".pi/agent/sessions/--w--/c.jsonl",
        ".gemini/tmp/w/chats/session-d.jsonl",
        ".gemini/tmp/w/chats/parent/sub.jsonl",
        ".copilot/session-state/g/events.jsonl",
        ".copilot/session-state/g/workspace.yaml",
        ".qwen/projects/-w/chats/h.jsonl",
        ".qwen/projects/-w/chats/h.checkpoint.json",
        ".qwen/usage/token-usage.jsonl",
        "elsewhere/deep/er/e.jsonl",
        "elsewhere/f.jsonl",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}\n")
    return tmp_path


class TestFinding:
    @pytest.mark.parametrize(
        ("client", "paths"),
        [
            ("claude", [".claude/projects/-w/a.jsonl"]),
            ("codex", [".codex/sessions/2026/03/04/rollout-x.jsonl"]),
            (
                "openclaw",
                [".openclaw/agents/main/sessions/b.jsonl", ".pi/agent/sessions/--w--/c.jsonl"],
            ),
            ("gemini", [".gemini/tmp/w/chats/session-d.jsonl"]),
            ("copilot", [".copilot/session-state/g/events.jsonl"]),
            ("qwen", [".qwen/projects/-w/chats/h.jsonl"]),
        ],
    )
    def test_a_client(self, home: Path, client: str, paths: list[str]):
        assert names(home, client) == paths

    @pytest.mark.parametrize(
        ("glob", "paths"),
        [
            ("~/elsewhere/*.jsonl", ["elsewhere/f.jsonl"]),
            ("elsewhere/**/*.jsonl", ["elsewhere/deep/er/e.jsonl", "elsewhere/f.jsonl"]),
            ("~/elsewhere/f.jsonl", ["elsewhere/f.jsonl"]),
            ("~/elsewhere/[!f]*", []),
            ("~/nowhere/*.jsonl", []),
        ],
    )
    def test_a_glob(self, home: Path, glob: str, paths: list[str]):
        assert sorted(names(home, glob)) == paths

    def test_each_file_once(self, home: Path):
        (home / "elsewhere/link.jsonl").symlink_to(home / "elsewhere/f.jsonl")
        os.link(home / "elsewhere/f.jsonl", home / "elsewhere/hard.jsonl")
        assert names(home, "~/elsewhere/*.jsonl", "~/elsewhere/f.jsonl") == ["elsewhere/f.jsonl"]

    def test_where_the_client_is_told_to_keep_them(self, home: Path):
        assert names(home, "claude", CLAUDE_CONFIG_DIR=str(home / "nowhere")) == []
        assert names(home / "nowhere", "codex", CODEX_HOME=str(home / ".codex")) == [
            "../.codex/sessions/2026/03/04/rollout-x.jsonl"
        ]

    def test_a_client_may_have_no_variable_for_it(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ):
        place = Place(None, "~/elsewhere", "*.jsonl")
        monkeypatch.setitem(files._CLIENTS, "new", replace(CLIENTS[0], places=(place,)))
        assert names(home, "new") == ["elsewhere/f.jsonl"]

    def test_the_folders_that_were_looked_at(self):
        assert searched_folders(["claude", "~/x/*.jsonl", "/y/z.jsonl"], {"HOME": "/home/u"}) == [
            "/home/u/.claude/projects",
            "/home/u/x",
            "/y",
        ]

    def test_what_a_file_is_on_disk(self, home: Path):
        (file,) = find_files(["claude"], {"HOME": str(home)})
        stat = Path(file.path).stat()
        assert (file.device, file.inode, file.size, file.modified) == (
            stat.st_dev,
            stat.st_ino,
            3,
            stat.st_mtime_ns,
        )


def record(number: int, text: str) -> bytes:
    values = {
        "type": "message",
        "id": str(number),
        "parentId": str(number - 1) if number else None,
        "message": {"role": "user", "content": text},
    }
    return json.dumps(values).encode() + b"\n"


HEADER = b'{"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-04T00:00:00Z"}\n'


class TestReading:
    def test_only_what_is_new_and_some_context(self, tmp_path: Path):
        path = tmp_path / "a.jsonl"
        path.write_bytes(
            HEADER + b"".join(record(number, f"text {number}") for number in range(100))
        )
        first = read_file(str(path))
        assert first is not None
        with path.open("ab") as file:
            file.write(record(100, "new"))
        second = read_file(str(path), first.next_start)
        assert second is not None
        assert [message.text for message in second.messages] == [
            *(f"text {number}" for number in range(80, 100)),
            "new",
        ]
        assert second.size == path.stat().st_size
        assert (first.after_line, second.after_line) == (0, 101)

    def test_what_goes_on_from_far_above_is_read_whole_and_new_all_the_same(self, tmp_path: Path):
        path = tmp_path / "a.jsonl"
        path.write_bytes(
            HEADER + b"".join(record(number, f"text {number}") for number in range(100))
        )
        first = read_file(str(path))
        assert first is not None
        with path.open("ab") as file:
            file.write(record(200, "anew").replace(b'"199"', b'"3"'))
        second = read_file(str(path), first.next_start)
        assert second is not None
        assert [message.text for message in second.messages] == [
            "text 0",
            "text 1",
            "text 2",
            "text 3",
            "anew",
        ]
        assert [
            message.text for message in second.messages if message.line > second.after_line
        ] == ["anew"]

    def test_a_file_that_was_rewritten_is_read_whole(self, tmp_path: Path):
        path = tmp_path / "a.jsonl"
        path.write_bytes(
            HEADER + b"".join(record(number, f"text {number}") for number in range(50))
        )
        first = read_file(str(path))
        assert first is not None
        path.write_bytes(HEADER + record(0, "all new"))
        second = read_file(str(path), first.next_start)
        assert second is not None
        assert [message.text for message in second.messages] == ["all new"]
        assert second.after_line == 0

    def test_the_project_of_a_session_of_gemini_stands_beside_it(self, home: Path):
        path = home / ".gemini/tmp/w/chats/session-d.jsonl"
        path.write_bytes(b'{"sessionId": "s", "projectHash": "0"}\n')
        transcript = read_file(str(path))
        assert transcript is not None
        assert transcript.project is None
        (home / ".gemini/tmp/w/.project_root").write_text("/home/u/work")
        transcript = read_file(str(path))
        assert transcript is not None
        assert transcript.project == "/home/u/work"

    @pytest.mark.parametrize(
        ("name", "session"),
        [("one", "one"), ("a\n b", "a b"), (os.fsdecode(b"a\xff"), "a?")],
    )
    def test_a_session_without_an_id_has_the_name_of_its_file(
        self, tmp_path: Path, name: str, session: str
    ):
        path = tmp_path / f"{name}.jsonl"
        message = {"type": "message", "role": "user", "content": [{"text": "one"}]}
        item = json.dumps({"type": "response_item", "payload": message}).encode() + b"\n"
        path.write_bytes(b'{"type": "session_meta", "payload": {}}\n' + item)
        first = read_file(str(path))
        assert first is not None
        with path.open("ab") as file:
            file.write(item)
        second, head = read_file(str(path), first.next_start), read_head(str(path))
        assert second is not None
        assert second.next_start is not None
        assert head is not None
        assert {first.session, second.session, second.next_start.session, head.session} == {session}

    def test_an_unknown_format_is_named(self, home: Path):
        with pytest.raises(TranscriptProblem, match="format"):
            read_file(str(home / "elsewhere/f.jsonl"))
        (home / "elsewhere/f.jsonl").write_bytes(b"")
        assert read_file(str(home / "elsewhere/f.jsonl")) is None


class TestRecentPrompts:
    @pytest.mark.parametrize("client", session_files.WRITERS)
    def test_the_newest_first(self, tmp_path: Path, client: str):
        path = session_files.WRITERS[client](tmp_path, "one", "agent: A.", "two", "agent: B.")
        assert recent_prompts(str(path), 5) == ["two", "one"]
        assert recent_prompts(str(path), 1) == ["two"]

    def test_what_the_client_added_is_no_prompt(self, tmp_path: Path):
        noted = "two <system-reminder>three</system-reminder>"
        path = session_files.claude(tmp_path, "one", noted, "<system-reminder>x</system-reminder>")
        assert recent_prompts(str(path), 5) == ["two", "one"]

    def test_only_the_end_of_a_long_one_is_read(self, tmp_path: Path):
        path = session_files.claude(tmp_path, "one", "agent: A.", "two", "agent: B.")
        first, *others = path.read_bytes().splitlines(keepends=True)
        with path.open("wb") as file:
            file.write(first)
            file.truncate(50_000_000)  # a hole
            file.seek(0, os.SEEK_END)
            file.writelines([b"\n", *others])
        before = _bytes_read()
        assert recent_prompts(str(path), 5) == ["two"]
        assert _bytes_read() - before < 2_000_000

    def test_a_file_that_is_no_transcript(self, tmp_path: Path):
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"")
        assert recent_prompts(str(path), 5) == []
        path.write_bytes(b'{"some": "record"}\n')
        with pytest.raises(TranscriptProblem):
            recent_prompts(str(path), 5)


def _bytes_read() -> int:
    """Bytes that this process has read so far."""
    fields = Path("/proc/self/io").read_text().split()
    return int(fields[fields.index("rchar:") + 1])


@pytest.mark.parametrize(
    ("project", "counts"),
    [
        (".", False),
        ("", False),
        ("src", False),
        (None, False),
        ("\0", False),
        ("{root}", True),
        ("{root}/a/b", True),
        ("{root}/..", False),
    ],
)
def test_a_project_that_lies_in_a_work_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: str | None, counts: bool
):
    monkeypatch.chdir(tmp_path)
    folder = None if project is None else project.format(root=tmp_path)
    other = tmp_path.parent / "other"
    assert Scope("project", [other, tmp_path]).includes(folder) is counts
    assert Scope("all", ()).includes(folder)
