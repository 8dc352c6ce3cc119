"""Lines that git brought into a file: a pull that was killed half-way, and old texts saved over
what a pull brought in.
"""

import sys
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk

from mdmem.changes import pending
from mdmem.folder import hook_files
from mdmem.memory import Memory
from mdmem.merge import setup
from mdmem.model import FilePath, Provenance, Source
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Log, Remember, WriteOptions
from mdmem.past.messages import compose_pulled_save
from mdmem.past.notes import parse_notes

SEED = "# Memory\n\n## Facts\n\n- likes tea\n- drives a Volvo\n"
LOG = "memory/2026-03-05.md"
DAY = "# 2026-03-05\n\n## 08:00\n\n- first entry\n"
NOW = "2026-03-05T09:40"


@pytest.fixture
def theirs(world: World, repository: Path) -> Desk:
    """The machine whose commits are pulled."""
    at = Desk(world, repository)
    at.write("MEMORY.md", SEED)
    at.write(LOG, DAY)
    at.commit("seed")
    return at


@pytest.fixture
def at(theirs: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    theirs.git("clone", "-q", theirs.root, tmp_path / "clone")
    clone = Desk(theirs.world, tmp_path / "clone")
    clone.git("config", "user.name", "Ada Example")
    clone.git("config", "user.email", "ada@example.org")
    setup.install(clone.workspace, sys.executable)
    return clone


def sources(at: Desk) -> dict[str, Source]:
    return {fact.text: fact.source for fact in Memory(at.workspace).facts(ListFacts()).facts}


def notes(at: Desk, change: Log | Remember) -> tuple[str, ...]:
    return at.apply(change).notes


def fact(text: str, **options: object) -> Remember:
    return Remember(text, section="Facts", options=WriteOptions(**options))


# A pull that was killed between the files and the index.


def stop_pull(at: Desk, *paths: str) -> None:
    at.git("fetch", "-q")
    for path in paths:
        at.write(path, at.git("show", f"origin/main:{path}"))


@pytest.fixture
def stopped(at: Desk, theirs: Desk) -> Desk:
    theirs.apply(fact("the vault is blue", source=Source.AUTO, actor="bot"))
    theirs.apply(fact("the cat is Mio", source=Source.USER_STATED, actor="bot"))
    theirs.apply(fact("the dog is Rex", source=Source.USER_STATED))
    theirs.write("MEMORY.md", f"{theirs.read('MEMORY.md')}- typed by Ada\n")
    theirs.commit("by hand")
    theirs.write("MEMORY.md", f"{theirs.read('MEMORY.md')}- typed by Priya\n")
    theirs.git(
        "-c", "user.name=Priya", "-c", "user.email=priya@example.org", "commit", "-qam", "by hand"
    )
    stop_pull(at, "MEMORY.md")
    return at


EXPECTED = {
    "the vault is blue": Source.AUTO,
    "the cat is Mio": Source.USER_STATED,
    "the dog is Rex": Source.USER_STATED,
    "typed by Ada": Source.USER_STATED,
    "typed by Priya": Source.INFERRED,
}


@pytest.mark.parametrize("actor", [None, "agent/x"])
def test_what_a_stopped_pull_left_keeps_its_sources(stopped: Desk, actor: str | None) -> None:
    said = notes(stopped, fact("of the desk", actor=actor))
    assert said == (
        "committed what a stopped pull left in MEMORY.md, with its own sources. To get the rest: git pull",
    )
    assert EXPECTED.items() <= sources(stopped).items()
    assert "Mdmem-Claimed-By: bot" in stopped.git("log", "-1", "--format=%B", "HEAD~1")
    stopped.git("pull", "-q", "--no-edit", "--no-rebase")
    assert sources(stopped)["the vault is blue"] is Source.AUTO
    assert "of the desk" in sources(stopped)
    assert stopped.git("status", "--porcelain") == ""


def test_save_leaves_what_a_stopped_pull_left_to_its_authors(stopped: Desk) -> None:
    said: list[str] = []
    stopped.write(LOG, f"{DAY}- typed here\n")
    commit, paths = pending.save(stopped.workspace, None, said.append)
    assert (commit, set(paths), len(said)) == (stopped.head(), {"MEMORY.md", LOG}, 1)
    assert EXPECTED.items() <= sources(stopped).items()
    assert sources(stopped)["typed here"] is Source.USER_STATED


def test_a_merge_at_the_other_machine(at: Desk, theirs: Desk) -> None:
    theirs.git("switch", "-qc", "side")
    theirs.apply(fact("the vault is blue", source=Source.AUTO, actor="bot"))
    theirs.git("switch", "-q", "main")
    theirs.write("MEMORY.md", f"# A preface\n\n{SEED}")
    theirs.commit("by hand")
    theirs.git("merge", "-q", "--no-edit", "side")
    stop_pull(at, "MEMORY.md")
    notes(at, fact("of the desk"))
    assert sources(at)["the vault is blue"] is Source.AUTO


def test_a_new_file(at: Desk, theirs: Desk) -> None:
    theirs.write("memory/topic.md", "# Topic\n\n## Facts\n\n- new\n")
    theirs.commit("topic\n\nMdmem-Claimed-By: bot")
    stop_pull(at, "memory/topic.md")
    at.apply(Remember("of the desk", section="Facts", file="memory/topic.md"))
    assert sources(at)["new"] is Source.INFERRED


@pytest.mark.parametrize("way", ["edited", "proposal", "older"])
def test_other_texts_are_a_persons(stopped: Desk, way: str) -> None:
    text = stopped.read("MEMORY.md")
    stopped.git("checkout", "-q", "MEMORY.md")
    if way == "proposal":
        stopped.git("branch", "mdmem/proposals/bot/0123abcd", "origin/main")
        stopped.git("remote", "remove", "origin")
        (stopped.root / ".git/FETCH_HEAD").unlink()
    if way == "older":
        stopped.git("merge", "-q", "origin/main")
        text = SEED
    stopped.write("MEMORY.md", text if way != "edited" else f"{text}- typed here\n")
    assert notes(stopped, fact("of the desk")) == (
        "committed the pending edits of MEMORY.md first, as yours",
    )


def test_many_lines_and_none() -> None:
    auto, own = Provenance(Source.AUTO, 0.4), Provenance(Source.USER_STATED, 0.95)
    lines = [f"- line {number}\n" for number in range(30)]
    message = compose_pulled_save(FilePath("MEMORY.md"), [(auto, None, []), (own, "bot", lines)])
    first, second = parse_notes(message)
    assert (first.note.provenance.source, first.is_formal, first.came) == (
        Source.AUTO,
        True,
        frozenset(),
    )
    assert (second.note.provenance.source, second.note.claimed_by, len(second.came)) == (
        Source.USER_STATED,
        "bot",
        20,
    )


# An old text saved over what a pull brought in.


@pytest.fixture
def pulled(at: Desk, theirs: Desk) -> Desk:
    theirs.write(
        "MEMORY.md", SEED.replace("- drives a Volvo\n", "- the cat is Mio\n- the dog is Rex\n")
    )
    theirs.write(LOG, f"{DAY}- vet at ten\n")
    theirs.commit("by hand")
    at.git("pull", "-q")
    return at


KEPT = "kept 2 lines pulled at 09:30 that your save would have removed"


def test_both_stand(pulled: Desk) -> None:
    pulled.write("MEMORY.md", f"{SEED}- typed late\n")
    pulled.write(LOG, f"{DAY}- typed late too\n")
    said = notes(pulled, fact("of an agent", actor="agent/x"))
    assert said == (
        f"MEMORY.md: {KEPT}",
        "committed the pending edits of MEMORY.md first, as claimed by agent/x",
    )
    assert pulled.read("MEMORY.md") == SEED.replace(
        "- drives a Volvo\n", "- the cat is Mio\n- the dog is Rex\n- typed late\n- of an agent\n"
    )
    assert (
        notes(pulled, Log("a note"))[0]
        == f"{LOG}: kept 1 line pulled at 09:30 that your save would have removed"
    )
    assert "- first entry\n- typed late too\n- vet at ten\n" in pulled.read(LOG)
    assert pulled.git("status", "--porcelain") == ""


def test_save_keeps_them_too(pulled: Desk) -> None:
    said: list[str] = []
    pulled.write("MEMORY.md", f"{SEED}- typed late\n")
    pending.save(pulled.workspace, "mine", said.append)
    assert said == [f"MEMORY.md: {KEPT}"]
    assert "Mio" in pulled.git("show", "HEAD:MEMORY.md")
    assert "typed late" in pulled.git("show", "HEAD:MEMORY.md")


@pytest.mark.parametrize(
    "text",
    [
        SEED,
        f"{SEED}- the cat is Mio\n- typed late\n",
        SEED.replace("- drives a Volvo\n", "- the cat is Mio\n- the dog is Rex\n")
        + "- typed late\n",
    ],
)
def test_what_is_taken_out_knowingly_goes(pulled: Desk, text: str) -> None:
    """Nothing else than what came in, or not all of it, or nothing of it."""
    pulled.write("MEMORY.md", text)
    assert notes(pulled, fact("more")) == (
        "committed the pending edits of MEMORY.md first, as yours",
    )
    assert pulled.read("MEMORY.md") == f"{text}- more\n"


def test_who_does_it_once_more_means_it(pulled: Desk) -> None:
    pulled.write("MEMORY.md", f"{SEED}- typed late\n")
    notes(pulled, fact("more"))
    pulled.write("MEMORY.md", f"{SEED}- typed again\n")
    assert notes(pulled, fact("still more")) == (
        "committed the pending edits of MEMORY.md first, as yours",
    )
    assert "Mio" not in pulled.read("MEMORY.md")


def test_what_mdmem_wrote_since_stands_too(pulled: Desk) -> None:
    notes(pulled, fact("of an agent"))
    pulled.write("MEMORY.md", f"{SEED}- typed late\n")
    assert KEPT.replace("2", "3") in notes(pulled, fact("more"))[0]
    assert {"the cat is Mio", "the dog is Rex", "of an agent", "typed late", "more"} <= sources(
        pulled
    ).keys()


def test_of_two_pulls_the_one_that_the_text_is_older_than(pulled: Desk, theirs: Desk) -> None:
    between = pulled.read("MEMORY.md")
    theirs.write("MEMORY.md", f"{theirs.read('MEMORY.md')}- the bird is Pip\n")
    theirs.commit("by hand")
    pulled.git("pull", "-q")
    pulled.write("MEMORY.md", between.replace("- the dog is Rex\n", "- typed late\n"))
    notes(pulled, fact("more"))
    assert {"the cat is Mio", "the bird is Pip", "typed late"} <= sources(pulled).keys()
    assert "the dog is Rex" not in sources(pulled)


def test_what_a_pull_removed_stays_out(at: Desk, theirs: Desk) -> None:
    theirs.write("MEMORY.md", SEED.replace("- drives a Volvo\n", ""))
    theirs.commit("by hand")
    at.git("pull", "-q", "--rebase")
    at.write("MEMORY.md", SEED.replace("# Memory", "# My memory"))
    said = "left out 1 line that the pull at 09:30 removed and your save would have brought back"
    assert notes(at, fact("more"))[0] == f"MEMORY.md: {said}"
    assert at.read("MEMORY.md") == "# My memory\n\n## Facts\n\n- likes tea\n- more\n"


@pytest.mark.parametrize("now", ["2026-03-06T09:31", "2026-03-04T09:29"])
def test_an_older_pull_says_nothing(
    pulled: Desk, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    monkeypatch.setenv("MDMEM_NOW", now)
    pulled.write("MEMORY.md", f"{SEED}- typed late\n")
    notes(pulled, fact("more"))
    assert "Mio" not in pulled.read("MEMORY.md")


def test_a_write_that_fails_leaves_the_save_as_it_was(pulled: Desk) -> None:
    pulled.write("MEMORY.md", f"{SEED}- typed late\n")
    pulled.hook("pre-commit", "exit 1")
    state = pulled.tree_state()
    with pytest.raises(Exception, match="did not commit"):
        notes(pulled, fact("more"))
    with pytest.raises(Exception, match="did not commit"):
        pending.save(pulled.workspace, None, lambda _: None)
    assert pulled.tree_state() == state


def test_entries_that_a_save_takes_out_of_a_days_log_are_named(at: Desk) -> None:
    hook_files.install(at.workspace.repository.hooks_dir, sys.executable)
    at.write(LOG, DAY.replace("- first entry\n", "- typed\n"))
    said = notes(at, Log("a note"))
    assert said[1] == "committed the pending edits of memory/2026-03-05.md first, as yours"
    told, _, command = said[0].rpartition(": ")
    assert told == f"your edits of {LOG} removed earlier entries. To see them"
    assert "-- first entry" in at.git(*command.split()[1:])
