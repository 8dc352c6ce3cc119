from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, append, desk, refused

from mdmem.changes import pending
from mdmem.model import Source
from mdmem.model.errors import WorkspaceProblem
from mdmem.model.rules import RESERVED_ACTORS, fold_actor, is_person, require_unreserved


@pytest.mark.parametrize(
    "name",
    [
        "agent/main ",
        "Agent/Main",
        "agent/main\u200b",
        "\u2060agent/\ufe0fmain",
        "\uff41gent/main",
        "agent/main\t",
        "\u3164agent/main",
    ],
)
def test_spellings_of_one_actor(name: str) -> None:
    assert fold_actor(name) == "agent/main"
    assert is_person(name, [" AGENT/main"])


def test_other_actors() -> None:
    assert fold_actor("e\u0301") == fold_actor("\u00c9") != fold_actor("e")
    assert fold_actor("stra\u00dfe") == fold_actor("STRASSE")
    assert not is_person("agent/main", ["agent", "main", ""])
    assert fold_actor("  \u200b ") == ""


@pytest.mark.parametrize("name", [*RESERVED_ACTORS, "Dream ", "sync\u200b"])
def test_actors_of_mdmems_own(name: str) -> None:
    with pytest.raises(WorkspaceProblem) as caught:
        require_unreserved(name)
    assert caught.value.code == "reserved-actor"


class TestClaims:
    @pytest.fixture
    def at(self, world: World, repository: Path) -> Desk:
        settings = world.home / ".config" / "mdmem"
        settings.mkdir(parents=True)
        (settings / "config.toml").write_text('people = ["Ada"]\n')
        return desk(world, repository)

    def claim(self, at: Desk) -> str:
        return at.git("log", "-1", "--format=%(trailers:key=Mdmem-Claimed-By,valueonly)").strip()

    @pytest.mark.parametrize("actor", ["agent/main", "someone", "adam"])
    def test_what_an_agent_calls_the_users_own_is_its_claim(self, at: Desk, actor: str) -> None:
        at.apply(append(actor=actor, source=Source.USER_STATED))
        assert self.claim(at) == actor

    @pytest.mark.parametrize("actor", ["Ada", " ada\u200b", None, " \u200b"])
    def test_a_person_claims_nothing(self, at: Desk, actor: str | None) -> None:
        at.apply(append(actor=actor, source=Source.USER_STATED))
        assert self.claim(at) == ""

    def test_an_actor_that_cannot_be_seen_is_none(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MDMEM_ACTOR", "agent/main")
        at.apply(append(actor=" \u200b", source=Source.USER_STATED))
        assert self.claim(at) == "agent/main"

    @pytest.mark.parametrize("place", ["option", "variable", "setting"])
    def test_no_actor_from_outside_has_a_name_of_mdmems_own(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        if place == "variable":
            monkeypatch.setenv("MDMEM_ACTOR", "Dream")
        if place == "setting":
            at.write("mdmem.toml", 'actor = "dream"\n')
        refused(at, append(actor="dream" if place == "option" else None), "reserved-actor")


class TestAHostsShell:
    """In a shell that an agent's host runs nobody is a person."""

    @pytest.fixture
    def at(self, world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
        settings = world.home / ".config" / "mdmem"
        settings.mkdir(parents=True)
        (settings / "config.toml").write_text('people = ["Ada"]\n')
        monkeypatch.setenv("CLAUDECODE", "1")
        return desk(world, repository)

    def actor(self, at: Desk) -> str:
        return at.git("log", "-1", "--format=%(trailers:key=Mdmem-Actor,valueonly)").strip()

    def test_who_names_nobody_is_the_hosts_agent(self, at: Desk) -> None:
        assert at.workspace.actor == "agent/claude-code"
        at.apply(append(source=Source.USER_STATED))
        assert self.actor(at) == "agent/claude-code"
        assert "Mdmem-Claimed-By: agent/claude-code" in at.git("log", "-1", "--format=%B")

    def test_an_agent_may_be_named(self, at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        at.apply(append("- one", actor="bot"))
        assert self.actor(at) == "bot"
        monkeypatch.setenv("MDMEM_ACTOR", "agent/night")
        at.apply(append("- two"))
        assert self.actor(at) == "agent/night"

    @pytest.mark.parametrize("name", ["Ada", " ada\u200b"])
    def test_no_person_may(self, at: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        refused(at, append(actor=name), "not-allowed")
        monkeypatch.setenv("MDMEM_ACTOR", name)
        at.apply(append())
        assert self.actor(at) == "agent/claude-code"

    def test_nor_by_the_settings(self, at: Desk) -> None:
        own = at.world.home / ".config" / "mdmem" / "config.toml"
        own.write_text('people = ["Ada"]\nactor = "Ada"\n')
        assert at.workspace.actor == "agent/claude-code"
        own.write_text('people = ["Ada"]\nactor = "bot"\n')
        assert at.workspace.actor == "bot"

    def test_a_save_is_its_claim(self, at: Desk) -> None:
        at.write("MEMORY.md", "# Memory\n\n- by hand\n")
        pending.save(at.workspace, None, lambda _: None)
        assert "Mdmem-Claimed-By: agent/claude-code" in at.git("log", "-1", "--format=%B")
