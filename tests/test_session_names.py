"""Names of sessions: which transcript is meant."""

from collections.abc import Callable
from pathlib import Path

import pytest
import session_files
from conftest import World
from session_files import SESSION, WRITERS, claude, codex
from workspaces import Desk, desk

from mdmem.model.errors import MdmemError
from mdmem.nights.digest.known_sessions import SessionName, named_transcript, parse_name

TWIN = SESSION[:9] + "2222" + SESSION[13:]


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def code(at: Desk, name: str) -> tuple[str, str]:
    with pytest.raises(MdmemError) as problem:
        named_transcript(at.workspace, name)
    return problem.value.code, problem.value.message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("5a1e0000", SessionName(None, "5a1e0000")),
        ("codex/5a1e0000", SessionName("codex", "5a1e0000")),
        ("codex/5a1e0000#12", SessionName("codex", "5a1e0000", 12, 12)),
        ("5a1e0000#12-20", SessionName(None, "5a1e0000", 12, 20)),
        ("a/b#c", SessionName(None, "a/b#c")),
    ],
)
def test_parts_of_a_name(text: str, name: SessionName):
    assert parse_name(text) == name


@pytest.mark.parametrize("text", ["5a1e0000#0", "5a1e0000#20-12"])
def test_no_lines(text: str):
    with pytest.raises(MdmemError) as problem:
        parse_name(text)
    assert problem.value.exit_status == 2


@pytest.mark.parametrize("client", WRITERS)
@pytest.mark.parametrize("characters", [6, 8, 9, 20, 36])
def test_by_its_id_or_its_beginning(at: Desk, client: str, characters: int):
    path = WRITERS[client](at.world.home, "the pump")
    assert named_transcript(at.workspace, SESSION[:characters]) == path
    assert named_transcript(at.workspace, f"{client}/{SESSION[:characters]}") == path
    assert code(at, SESSION[:5])[0] == "file-not-found"
    other = "codex" if client == "claude" else "claude"
    assert code(at, f"{other}/{SESSION[:characters]}")[0] == "file-not-found"


def test_by_its_file(at: Desk):
    path = claude(at.world.home, "the pump")
    assert named_transcript(at.workspace, str(path)) == path


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_several_are_named_and_none_is_taken(at: Desk, write: Callable[..., Path]):
    first, second = (
        write(at.world.home, "the pump"),
        write(at.world.home, "the boat", session=TWIN, start=session_files.START.replace(day=5)),
    )
    problem, message = code(at, SESSION[:8])
    assert problem == "ambiguous"
    assert SESSION in message
    assert TWIN in message
    assert named_transcript(at.workspace, SESSION) == first
    assert named_transcript(at.workspace, TWIN[:11]) == second


def test_one_id_with_two_clients(at: Desk):
    path = claude(at.world.home, "the pump")
    codex(at.world.home, "the pump")
    assert code(at, SESSION)[0] == "ambiguous"
    assert named_transcript(at.workspace, f"claude/{SESSION}") == path


def test_a_whole_id_comes_before_a_beginning(at: Desk):
    path = claude(at.world.home, "the pump", session="5a1e0000")
    claude(at.world.home, "the boat", session="5a1e00001")
    assert named_transcript(at.workspace, "5a1e0000") == path
    assert code(at, "5a1e00")[0] == "ambiguous"


def test_two_files_of_one_session(at: Desk):
    path = claude(at.world.home, "the pump")
    copy = path.with_name("copy.jsonl")
    copy.write_bytes(path.read_bytes())
    assert named_transcript(at.workspace, SESSION) == path  # its file has its name
    copy.rename(path.with_name(f"{SESSION}-2.jsonl"))
    problem, message = code(at, SESSION)
    assert problem == "ambiguous"
    assert str(path) in message


def test_a_file_of_the_session_in_which_nothing_is_said(at: Desk):
    path = claude(at.world.home, "the pump")
    path = path.rename(path.with_name("talk.jsonl"))
    path.with_name("agent.jsonl").write_text(
        path.read_text().replace('"type": "user"', '"isSidechain": true, "type": "user"')
    )
    assert named_transcript(at.workspace, SESSION) == path


def test_a_short_id_and_a_file_of_another_name(at: Desk):
    path = claude(at.world.home, "the pump", session="s1")
    path = path.rename(path.with_name("talk.jsonl"))
    assert named_transcript(at.workspace, "s1") == path


def test_lines_are_not_digested_alone(at: Desk):
    claude(at.world.home, "the pump")
    assert code(at, f"{SESSION}#1")[0] == "usage"
