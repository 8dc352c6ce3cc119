"""The sources of facts, after what people do to commits with git itself."""

from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.catchup.trail_update import fresh_trail
from mdmem.facts import parse_text
from mdmem.history import CommitNote, compose_message
from mdmem.memory import Memory
from mdmem.model import FilePath, Op, Provenance, Source
from mdmem.model.searches import ListFacts
from mdmem.model.trail import Fate, Origin
from mdmem.model.writes import Remember, WriteOptions

MEMORY = FilePath("MEMORY.md")
SECTION = ("Memory", "Facts")


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed="# Memory\n\n## Facts\n\n- name: Ada\n")


def remember(at: Desk, text: str, source: Source, **options: str) -> str:
    """Remember a fact as an agent or person would; the commit."""
    at.apply(Remember(text, options=WriteOptions(source=source, **options)))
    return at.git("rev-parse", "HEAD").strip()


def sources(at: Desk) -> dict[str, Source]:
    """The source of each fact that stands, as the index has it, which agrees with the trail."""
    with fresh_trail(at.workspace) as trail:
        in_trail = {each.entry.text: each.origin.source for each in trail.live_occurrences(MEMORY) if each.entry.fact}
    memory = Memory(at.workspace)
    try:
        in_index = {hit.text: hit.source for hit in memory.facts(ListFacts()).facts}
    finally:
        memory.close()
    assert in_index == in_trail
    return in_trail


def confirm(at: Desk, text: str, source: Source) -> None:
    note = CommitNote(Op.CONFIRM, MEMORY, SECTION, Provenance(source, source.confidence), confirms=(parse_text(text).id,))
    at.git("commit", "-q", "--allow-empty", "--only", "-m", compose_message(note, "", ""))


class TestConfirmations:
    def test_the_same_words_from_a_stronger_source_lift_a_fact(self, at: Desk) -> None:
        commit = remember(at, "tea is green", Source.AUTO)
        assert sources(at)["tea is green"] is Source.AUTO
        confirm(at, "tea is green", Source.USER_STATED)
        assert sources(at) == {"name: Ada": Source.USER_STATED, "tea is green": Source.USER_STATED}
        with fresh_trail(at.workspace) as trail:
            before, after = trail.occurrences_of(parse_text("tea is green").id)
        assert (before.origin.source, after.origin.source, after.origin.confidence) == (Source.AUTO, Source.USER_STATED, 0.95)
        assert after.origin.commit == commit
        assert (after.entry.start_line, after.ended) == (before.entry.start_line, None)

    def test_a_weaker_source_changes_nothing(self, at: Desk) -> None:
        remember(at, "tea is green", Source.INFERRED)
        confirm(at, "tea is green", Source.AUTO)
        with fresh_trail(at.workspace) as trail:
            (occurrence,) = trail.occurrences_of(parse_text("tea is green").id)
        assert occurrence.origin.source is Source.INFERRED

    def test_what_is_not_there_cannot_be_confirmed(self, at: Desk) -> None:
        confirm(at, "tea is green", Source.USER_STATED)
        assert sources(at) == {"name: Ada": Source.USER_STATED}

    def test_a_branch_with_both_is_merged(self, at: Desk) -> None:
        at.git("checkout", "-q", "-b", "side")
        remember(at, "tea is green", Source.AUTO)
        confirm(at, "tea is green", Source.USER_STATED)
        at.git("checkout", "-q", "main")
        at.commit("elsewhere")
        at.git("merge", "-q", "--no-edit", "side")
        assert sources(at)["tea is green"] is Source.USER_STATED

    def test_a_branch_confirms_what_the_mainline_has(self, at: Desk) -> None:
        remember(at, "tea is green", Source.AUTO)
        at.git("checkout", "-q", "-b", "side")
        confirm(at, "tea is green", Source.USER_STATED)
        at.git("checkout", "-q", "main")
        at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- first\n- name: Ada\n- tea is green\n")
        at.commit("more")
        at.git("merge", "-q", "--no-edit", "side")
        assert sources(at)["tea is green"] is Source.USER_STATED


class TestClaims:
    def origin(self, at: Desk, text: str) -> Origin:
        with fresh_trail(at.workspace) as trail:
            return trail.occurrences_of(parse_text(text).id)[-1].origin

    def test_an_agents_pending_edits_rank_as_inferred_and_are_guarded_as_the_users(self, at: Desk) -> None:
        at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- name: Bo\n- tea is green\n")
        remember(at, "coffee is black", Source.AUTO, actor="agent/main")
        assert sources(at) == {"name: Bo": Source.INFERRED, "tea is green": Source.INFERRED, "coffee is black": Source.AUTO}
        origin = self.origin(at, "tea is green")
        assert (origin.claimed_by, origin.guarded_source, origin.confidence) == ("agent/main", Source.USER_STATED, 0.7)
        assert self.origin(at, "coffee is black").guarded_source is Source.AUTO
        with fresh_trail(at.workspace) as trail:
            (before,) = trail.occurrences_of(parse_text("name: Ada").id)
        assert (before.fate, before.successor) == (Fate.SUPERSEDED, parse_text("name: Bo").id)

    def test_a_rewritten_line_keeps_its_claim(self, at: Desk) -> None:
        remember(at, "tea is green", Source.USER_STATED, actor="agent/main")
        at.write("MEMORY.md", at.read("MEMORY.md").replace("tea is green", "tea is green #drink"))
        at.commit()
        origin = self.origin(at, "tea is green")
        assert (origin.source, origin.claimed_by) == (Source.USER_STATED, "agent/main")

    def test_the_users_own_word_ends_a_claim(self, at: Desk) -> None:
        remember(at, "tea is green", Source.USER_STATED, actor="agent/main")
        confirm(at, "tea is green", Source.USER_STATED)
        assert self.origin(at, "tea is green").claimed_by is None

    def test_an_agents_inference_does_not(self, at: Desk) -> None:
        at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- name: Ada\n- tea is green\n")
        remember(at, "coffee is black", Source.AUTO, actor="agent/main")
        confirm(at, "tea is green", Source.INFERRED)
        assert self.origin(at, "tea is green").claimed_by == "agent/main"
