"""Sessions, listed and shown."""

import json
import os
import sys
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import session_files
from conftest import World
from session_files import ALL, SESSION, START, claude, codex, named, pi
from workspaces import NOW, TOKEN, Desk, desk

from mdmem.memory import Memory
from mdmem.model.errors import MdmemError
from mdmem.model.pipelines import Digest
from mdmem.model.sessions import SessionList, SessionView, ShowSessions
from mdmem.model.writes import Purge, Remember
from mdmem.nights.digest import cursors, session_views
from mdmem.show.values import to_json

OTHER = "6b2f0000-1111-4222-8333-444455556666"
KEPT = "We decided to keep the old pump."


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


def listed(at: Desk, **options: Any) -> SessionList:
    with closing(Memory(at.workspace)) as memory:
        return memory.pipelines.list_sessions(ShowSessions(**options))


def shown(at: Desk, reference: str, **options: Any) -> SessionView:
    with closing(Memory(at.workspace)) as memory:
        return memory.pipelines.show_session(
            ShowSessions(reference=reference, **options), reference
        )


def digest(at: Desk, *names: str) -> None:
    with closing(Memory(at.workspace)) as memory:
        memory.pipelines.digest(Digest(sessions=names))


def changed(path: Path, days: int) -> None:
    """Give a file the time of some day of its session."""
    moment = (START + timedelta(days=days)).timestamp()
    os.utime(path, (moment, moment))


class TestList:
    def test_all_of_a_session(self, at: Desk, home: Path):
        path = pi(home, KEPT, "agent: Noted.", "and so on")
        result = to_json(listed(at))
        assert result == {
            "sessions": [
                {
                    "client": "openclaw",
                    "session": SESSION,
                    "path": str(path),
                    "project": "/home/ada",
                    "started": "2026-03-04T10:00:00+01:00",
                    "ended": "2026-03-04T10:02:00+01:00",
                    "messages": 3,
                    "read_line": 0,
                    "new_bytes": path.stat().st_size,
                    "new_messages": 3,
                    "gone": False,
                }
            ]
        }

    @pytest.mark.parametrize("lose", [(), (cursors.STATE_NAME,)])
    def test_read_up_to(self, at: Desk, home: Path, lose: tuple[str, ...]):
        path = pi(home, KEPT, "agent: Noted.")
        digest(at)
        size = path.stat().st_size
        for name in lose:
            (at.workspace.state / name).unlink()
        (session,) = listed(at).sessions
        assert (session.read_line, session.new_bytes, session.new_messages) == (3, 0, 0)
        more = pi(home, KEPT, "agent: Noted.", "and so on").stat().st_size
        (session,) = listed(at).sessions
        assert (session.read_line, session.new_bytes, session.new_messages) == (3, more - size, 1)

    def test_a_torn_line_is_not_new(self, at: Desk, home: Path):
        path = pi(home, KEPT)
        digest(at)
        with path.open("a") as file:
            file.write('{"type": "mess')
        assert listed(at).sessions[0].new_bytes == 0

    def test_a_rewritten_file_is_new(self, at: Desk, home: Path):
        path = pi(home, KEPT, "agent: Noted.")
        digest(at)
        path.unlink()
        pi(home, "We decided to sell the boat.")
        (session,) = listed(at).sessions
        assert (session.read_line, session.new_messages) == (0, 1)

    def test_newest_first_and_so_many(self, at: Desk, home: Path):
        for number in range(5):
            path = pi(
                home,
                "the pump",
                session=f"{number:08x}-1111-4222-8333-444455556666",
                start=START + timedelta(days=number),
            )
            changed(path, number)
        result = listed(at, limit=3)
        assert [session.session[7] for session in result.sessions] == ["4", "3", "2"]
        assert result.left_out
        assert not listed(at, limit=5).left_out

    def test_scope(self, at: Desk, home: Path):
        claude(home, "here", project=str(at.root))
        claude(home, "elsewhere", session=OTHER)
        named(home, ALL[0])
        assert [session.session for session in listed(at).sessions] == [SESSION]
        assert shown(at, OTHER).messages[0].text == "elsewhere"

    def test_sessions_of_other_folders_are_counted(self, at: Desk, home: Path):
        claude(home, "elsewhere", session=OTHER)
        named(home, ALL[0])
        (note,) = listed(at).notes
        assert note.startswith("1 session of other folders left out")
        named(home, *ALL)
        assert listed(at).notes == ()

    def test_a_session_that_was_out_of_scope_is_all_new(self, at: Desk, home: Path):
        claude(home, KEPT, session=OTHER)
        named(home, ALL[0])
        digest(at)
        named(home, *ALL)
        (session,) = listed(at).sessions
        assert (session.read_line, session.new_messages) == (0, 1)

    def test_of_a_client(self, at: Desk, home: Path):
        claude(home, "the pump")
        codex(home, "the pump", session=OTHER)
        assert [session.client for session in listed(at, client="codex").sessions] == ["codex"]
        with pytest.raises(MdmemError) as problem:
            listed(at, client="emacs")
        assert problem.value.exit_status == 2

    def test_since(self, at: Desk, home: Path):
        changed(claude(home, "the pump"), 0)
        changed(claude(home, "the boat", session=OTHER, start=START + timedelta(days=1)), 1)
        assert len(listed(at, since="2026-03-04").sessions) == 2
        assert [session.session for session in listed(at, since="2026-03-05").sessions] == [OTHER]
        changed(claude(home, "the pump"), 1)  # copied: nothing was said
        assert len(listed(at, since="2026-03-05").sessions) == 1

    def test_what_cannot_be_read_is_named(self, at: Desk, home: Path):
        claude(home, "the pump")
        path = session_files.written(home / ".claude/projects/-x/y.jsonl", [{"pump": 1}])
        result = listed(at)
        assert len(result.sessions) == 1
        assert f"{path} (unknown-format)" in result.notes[0]

    def test_own_sessions_are_left_alone(self, at: Desk, home: Path):
        claude(home, "mdmem-extract/1 pump")
        assert listed(at).sessions == ()

    def test_a_session_in_which_nothing_is_said_is_none(self, at: Desk, home: Path):
        pi(home)
        assert listed(at).sessions == ()

    def test_none(self, at: Desk):
        result = listed(at)
        assert result.sessions == ()
        assert "no transcripts in" in result.notes[0]


class TestNoClient:
    def test_it_tells_what_could_be_read_and_reads_nothing(
        self, at: Desk, home: Path, monkeypatch: pytest.MonkeyPatch
    ):
        claude(home, "the pump")
        codex(home, "the pump")
        named(home)
        for name in ("read_head", "read_file", "KnownSessions"):
            monkeypatch.setattr(session_views, name, None)
        result = listed(at)
        assert result.sessions == ()
        files = {folder.folder: folder.files for folder in result.folders}
        assert (files[f"{home}/.claude/projects"], files[f"{home}/.codex/sessions"]) == (1, 1)
        assert files[f"{home}/.pi/agent/sessions"] == 0
        assert any('sessions = ["claude"]' in note for note in result.notes)
        assert to_json(result)["sessions"] == []

    def test_through_a_link(self, at: Desk, home: Path):
        claude(home, "the pump")
        (home / ".claude").rename(home / "elsewhere")
        (home / ".claude").symlink_to(home / "elsewhere")
        named(home)
        assert {folder.folder: folder.files for folder in listed(at).folders}[
            f"{home}/.claude/projects"
        ] == 1


class TestGone:
    @pytest.mark.parametrize("lose", [(), (cursors.STATE_NAME,)])
    def test_a_transcript_that_is_gone(self, at: Desk, home: Path, lose: tuple[str, ...]):
        pi(home, KEPT, "agent: Noted.")
        codex(home, "the boat", session=OTHER)
        digest(at)
        next(home.glob(f".pi/agent/sessions/*/*{SESSION}.jsonl")).unlink()
        for name in lose:
            (at.workspace.state / name).unlink()
        gone = [session for session in listed(at).sessions if session.gone]
        assert [(session.name, session.read_line) for session in gone] == [
            (f"openclaw/{SESSION}", 3)
        ]
        for name in (SESSION, SESSION[:6], f"openclaw/{SESSION[:6]}#2"):
            view = shown(at, name)
            assert (view.session.name, view.session.gone, view.messages) == (
                f"openclaw/{SESSION}",
                True,
                (),
            )

    def test_what_is_there_is_not_gone(self, at: Desk, home: Path):
        for write, session in (
            (pi, SESSION),
            (codex, OTHER),
            (session_files.gemini, "7c300000-1111-4222-8333-444455556666"),
        ):
            write(home, KEPT.replace("pump", session[:3]), session=session)
        claude(home, "We decided to sell the boat.", session="s1").rename(
            home / ".claude/projects/-home-ada/talk.jsonl"
        )
        digest(at)
        assert not any(session.gone for session in listed(at).sessions)

    @pytest.mark.parametrize("name", ["5a1e0000", "", "#1", "a" * 5000, "\0", "claude/"])
    def test_unknown(self, at: Desk, name: str):
        with pytest.raises(MdmemError) as problem:
            shown(at, name)
        assert problem.value.code == "file-not-found"


class TestOne:
    TEXTS = tuple(f"the pump number {number}" for number in range(30))

    def lines(self, at: Desk, reference: str, **options: Any) -> tuple[int, int, int, int]:
        view = shown(at, reference, **options)
        return view.messages[0].line, view.messages[-1].line, view.older, view.newer

    @pytest.mark.parametrize(
        ("reference", "limit", "expected"),
        [
            (SESSION, 40, (2, 31, 0, 0)),
            (SESSION, 10, (22, 31, 20, 0)),
            (f"{SESSION}#12", 40, (7, 17, 5, 14)),
            (f"{SESSION}#2", 40, (2, 7, 0, 24)),
            (f"{SESSION}#31", 40, (26, 31, 24, 0)),
            (f"{SESSION}#12-14", 40, (7, 19, 5, 12)),
            (f"{SESSION}#1", 40, (2, 6, 0, 25)),  # the session's header: nobody said it
            (f"{SESSION}#12", 1, (12, 12, 10, 19)),
            (f"{SESSION}#12", 3, (11, 13, 9, 18)),
            (f"{SESSION}#2-31", 4, (28, 31, 26, 0)),
            (f"{SESSION}#30-99", 40, (25, 31, 23, 0)),
        ],
    )
    def test_which_messages(
        self, at: Desk, home: Path, reference: str, limit: int, expected: tuple[int, ...]
    ):
        pi(home, *self.TEXTS)
        assert self.lines(at, reference, limit=limit) == expected

    def test_the_line_that_was_named_is_marked(self, at: Desk, home: Path):
        pi(home, *self.TEXTS)
        assert [
            message.line for message in shown(at, f"{SESSION}#12-13").messages if message.is_named
        ] == [12, 13]

    def test_no_such_line(self, at: Desk, home: Path):
        pi(home, *self.TEXTS)
        with pytest.raises(MdmemError) as problem:
            shown(at, f"{SESSION}#32")
        assert (problem.value.code, problem.value.details) == ("bad-line", {"last": 31})

    def test_texts_are_clean_and_cut(self, at: Desk, home: Path):
        pi(home, f"the key is {TOKEN}", "word " * 100)
        first, second = shown(at, SESSION, chars=30).messages
        assert TOKEN not in first.text
        assert "[REDACTED:" in first.text
        assert (len(second.text), second.cut) == (30, 469)

    def test_what_was_purged_is_not_shown(self, at: Desk, home: Path):
        pi(home, f"Well. {KEPT}", "agent: Noted.")
        at.apply(Remember(KEPT))
        with closing(Memory(at.workspace)) as memory:
            memory.purge(Purge(KEPT))
        assert [message.text for message in shown(at, SESSION).messages] == ["Noted."]

    def test_by_its_file_whatever_the_settings_say(self, at: Desk, home: Path):
        path = pi(home, "the pump")
        named(home)
        for reference in (str(path), f"{path}#2"):
            assert shown(at, reference).messages[0].text == "the pump"
        assert shown(at, SESSION).messages[0].text == "the pump"

    def test_as_a_program_reads_it(self, at: Desk, home: Path):
        pi(home, "the pump", "agent: Noted.")
        answer = to_json(shown(at, SESSION))
        assert set(answer) == {"sessions", "messages", "older", "newer"}
        assert answer["messages"][1] == {
            "line": 3,
            "time": "2026-03-04T10:01:00+01:00",
            "speaker": "agent",
            "sender": None,
            "typed": False,
            "text": "Noted.",
            "cut": 0,
        }


def run(at: Desk, *arguments: str) -> tuple[str, str]:
    done = at.world.run(
        at.root,
        [sys.executable, "-m", "mdmem", "sessions", *arguments],
        environment=dict(os.environ),
    )
    return done.stdout, done.stderr


def test_what_people_see(at: Desk, home: Path):
    path = pi(
        home,
        KEPT,
        "agent: First line.\nSecond \x1b[31mline.",
        project="/home/ada/" + "deep/" * 20 + "project",
    )
    digest(at)
    out, _ = run(at)
    assert out.splitlines() == [
        f"2026-03-04 10:01  openclaw/{SESSION}",
        "    2 messages, read to line 3  …deep/deep/deep/deep/deep/deep/deep/deep/project",
    ]
    assert max(map(len, out.splitlines())) <= 80
    out, _ = run(at, f"{SESSION[:6]}#3")
    assert out.splitlines()[2:] == [
        "",
        "#2 2026-03-04 10:00 user",
        f"    {KEPT}",
        "",
        ">3 2026-03-04 10:01 agent",
        "    First line.",
        "    Second line.",
    ]
    out, _ = run(at, "--json")
    assert json.loads(out)["sessions"][0]["session"] == SESSION
    path.unlink()
    out, err = run(at, SESSION)
    assert "gone, read to line 3" in out
    assert "the transcript is gone" in err
