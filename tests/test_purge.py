"""`forget --purge` as a verb: which words are meant, and what the note and the events say."""

from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, append, code_of, desk

from mdmem import events
from mdmem.memory import Memory
from mdmem.model.errors import FactProblem, RefusedChange, RepositoryProblem, plain
from mdmem.model.history import ShowHistory
from mdmem.model.writes import Purge
from mdmem.past.notes import purged_trailer
from mdmem.past.storage import TRAIL_NAME
from mdmem.text.facts import fact_id

WORDS = "works at Stripe"
PURGED = f"Mdmem-Purged: {purged_trailer(WORDS)}"
SECRET = "pass" + "word = hunter2!xYz9"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    own = world.home / ".config" / "mdmem" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'people = ["ada", "it was {SECRET}"]\n')
    return desk(world, repository)


def memory(at: Desk) -> Memory:
    return Memory(at.workspace)


def note(at: Desk) -> list[str]:
    return at.git("log", "-1", "--format=%b").split("\n")[:-2]


def test_who_asked_for_it_stands_in_the_note_and_in_the_events(at: Desk):
    at.workspace.ensure_state()
    request = Purge(WORDS, reason="asked to", actor="ada", session="s1")
    memory(at).plan_purge(request)
    memory(at).purge(request)
    assert note(at) == [
        "Mdmem-Op: purge",
        "Mdmem-Actor: ada",
        "Mdmem-Session: s1",
        "Mdmem-Reason: asked to",
        PURGED,
    ]
    recorded = [
        (event.verb, event.actor, event.session) for event in events.read_events(at.workspace.state)
    ]
    assert recorded == [("plan-purge", "ada", "s1"), ("purge", "ada", "s1")]


@pytest.mark.parametrize("source", ["environment", "settings"])
def test_who_asks_by_default(at: Desk, source: str, monkeypatch: pytest.MonkeyPatch):
    if source == "environment":
        monkeypatch.setenv("MDMEM_ACTOR", "ada")
    else:
        own = at.world.home / ".config" / "mdmem" / "config.toml"
        own.write_text(own.read_text() + 'actor = "ada"\n')
    memory(at).purge(Purge(WORDS))
    assert note(at) == ["Mdmem-Op: purge", "Mdmem-Actor: ada", PURGED]


def test_an_agent_purges_nothing(at: Desk, monkeypatch: pytest.MonkeyPatch):
    before = at.tree_state()
    assert memory(at).plan_purge(Purge(WORDS, actor="agent/main")).has_changes
    assert code_of(lambda: memory(at).purge(Purge(WORDS, actor="agent/main"))) == "not-allowed"
    monkeypatch.setenv("CLAUDECODE", "1")
    assert code_of(lambda: memory(at).purge(Purge(WORDS))) == "not-allowed"
    assert at.tree_state() == before


@pytest.mark.parametrize("field", ["reason", "actor", "session"])
def test_a_secret_in_the_note(at: Desk, field: str):
    before = at.tree_state()
    for attempt in (memory(at).plan_purge, memory(at).purge):
        with pytest.raises(RefusedChange) as refused:
            attempt(Purge(WORDS, **{field: f"it was {SECRET}"}))
        assert refused.value.code == "secret-found"
        assert plain(refused.value.message).startswith(f"{field}:1: ")
        assert SECRET not in refused.value.message
    assert at.tree_state() == before
    memory(at).purge(Purge(WORDS, **{field: f"it was {SECRET}"}, allow=frozenset({"secret"})))
    assert note(at)[1].endswith(f"it was {SECRET}")


def test_which_fact_is_meant(at: Desk):
    at.write("memory/a.md", "- editor: vi\n  - with tabs\n\n- editor: vi\n  - with spaces\n")
    ids = sorted(fact_id(f"editor: vi\n- with {what}") for what in ("tabs", "spaces"))
    with pytest.raises(
        FactProblem, match=f"'editor: vi' matches several facts: {', '.join(ids)}$"
    ) as refused:
        memory(at).plan_purge(Purge("editor: vi"))
    assert (refused.value.code, refused.value.details) == ("fact-ambiguous", {"facts": ids})
    at.commit("about abcdef12")
    with pytest.raises(FactProblem, match="no file has a fact abcdef12") as refused:
        memory(at).plan_purge(Purge("abcdef12"))
    assert refused.value.code == "fact-not-found"
    memory(at).purge(Purge(ids[0]))
    assert at.read("memory/a.md").count("editor: vi") == 1


def test_a_key_is_its_fact_with_the_value(at: Desk):
    at.write("memory/a.md", "# A\n\nthe phone is old\n\n- Phone: Anna 444\n")
    at.commit("first number")
    at.write("memory/a.md", "# A\n\nthe phone is old\n\n- Phone: Anna 555\n")
    at.commit("Phone: Anna 555")
    current = fact_id("Phone: Anna 555")
    plan = memory(at).plan_purge(Purge("phone"))
    assert plain(plan.notices[0]) == (
        f"The word given is the key of the fact {current}: only that fact is purged, not the word"
        " elsewhere. To purge the word itself everywhere, write it as a list item:"
        " forget"
        " (purge) '- phone'"
    )
    done = memory(at).purge(Purge("phone"))
    assert done.notices[0] == plan.notices[0]
    assert at.read("memory/a.md") == "# A\n\nthe phone is old\n\n"
    past = at.git("log", "-p", "--all", "--format=%B")
    assert "Anna 555" not in past
    assert "[PURGED]:" not in past
    assert "Phone: Anna 444" in past
    # its earlier value is in history alone, and would stay without its key
    before = at.tree_state()
    with pytest.raises(FactProblem, match="no current fact has the key 'phone'") as refused:
        memory(at).purge(Purge("phone"))
    assert (refused.value.code, at.tree_state()) == ("fact-not-found", before)
    assert refused.value.hint.endswith("as a list item: forget (purge) '- phone'")
    memory(at).purge(Purge("Phone: Anna 444"))
    assert "Anna" not in at.git("log", "-p", "--all", "--format=%B")


def test_a_key_with_a_list_marker_is_a_text(at: Desk):
    at.write("memory/a.md", "# A\n\nhe is Falcon\n\n- Falcon: starts in May\n- sees Falcon\n")
    at.commit("about Falcon")
    at.write("memory/a.md", "# A\n\nhe is Falcon\n\n- Falcon: starts in June\n- sees Falcon\n")
    assert memory(at).purge(Purge("- Falcon")).plan.has_changes
    assert at.read("memory/a.md") == (
        "# A\n\nhe is [PURGED]\n\n- [PURGED]: starts in June\n- sees [PURGED]\n"
    )
    assert "Falcon" not in at.git("log", "-p", "--all", "--format=%B")


def test_a_key_of_several_facts_and_of_a_log(at: Desk):
    at.write("memory/a.md", "- phone: Anna 555\n- phone: Bob 666\n")
    with pytest.raises(FactProblem) as refused:
        memory(at).plan_purge(Purge("phone"))
    assert refused.value.code == "fact-ambiguous"
    assert refused.value.hint.startswith("Give the id. To purge the word itself everywhere, ")
    at.write("memory/a.md", "- phone: Anna 555\n")
    at.write("memory/2026-03-01.md", "- phone: Bob 666\n")
    memory(at).purge(Purge("phone"))
    assert (at.read("memory/a.md"), at.read("memory/2026-03-01.md")) == ("", "- phone: Bob 666\n")
    memory(at).purge(Purge("phone"))
    assert at.read("memory/2026-03-01.md") == ""


def test_a_head_that_is_on_no_branch(at: Desk):
    at.git("checkout", "-q", "--detach")
    before = at.tree_state()
    with pytest.raises(RepositoryProblem) as refused:
        memory(at).purge(Purge(WORDS))
    assert refused.value.code == "detached-head"
    assert at.tree_state() == before


def test_the_author_whom_the_settings_name(at: Desk):
    for name in ("name", "email"):
        at.git("config", "--unset", f"user.{name}")
    at.write("mdmem.toml", 'author = "Ada <ada@example.com>"\n')
    memory(at).purge(Purge(WORDS))
    assert (
        at.git("log", "-1", "--format=%an <%ae>, %cn <%ce>").strip()
        == "Ada <ada@example.com>, Ada <ada@example.com>"
    )


def test_extra_paths_are_not_changed_and_are_named(at: Desk, tmp_path: Path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "x.md").write_text(f"- {WORDS}\n- of another kind\n")
    own = at.world.home / ".config" / "mdmem"
    (own / "config.toml").write_text(f"extra_paths = ['{notes}']\n")
    with pytest.raises(
        FactProblem, match="is only where it cannot be removed from here: 1 file or object"
    ):
        memory(at).purge(Purge("of another kind"))
    done = memory(at).purge(Purge(WORDS))
    assert "Not removed from 1 memory file outside this repository." in done.notices
    assert WORDS in (notes / "x.md").read_text()
    assert WORDS not in at.read("MEMORY.md")


def test_the_table_of_versions_keeps_nothing_of_what_a_merge_brought(at: Desk):
    at.git("checkout", "-q", "-b", "side")
    memory(at).apply(append("- has a secret plan"))
    at.git("checkout", "-q", "-")
    at.git("merge", "-q", "--no-ff", "-m", "merged", "side")

    def holding() -> list[str]:
        memory(at).history(ShowHistory())
        return [
            path.name
            for path in at.workspace.state.iterdir()
            if path.is_file() and b"has a secret plan" in path.read_bytes()
        ]

    assert TRAIL_NAME in {name.removesuffix("-wal") for name in holding()}
    memory(at).purge(Purge("has a secret plan"))
    assert holding() == []


def test_a_workspace_below_the_root(world: World, repository: Path, at: Desk):
    below = desk(world, repository, "sub", f"# Memory\n\n- {WORDS}\n")
    assert not any("memory files" in notice for notice in memory(below).purge(Purge(WORDS)).notices)
    assert WORDS not in below.read("MEMORY.md") + at.read("MEMORY.md")
    assert [path.name for path in below.root.iterdir()] == ["MEMORY.md"]
    assert WORDS not in at.git("log", "-p", "--all")
