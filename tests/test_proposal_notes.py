"""What commits say of proposals: whose statement each part is, and on which parts a
person decided.
"""

from itertools import pairwise
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.model import CommitId, FilePath, Op, Provenance, Source
from mdmem.model.proposals import PartOrigin, PartState
from mdmem.past.messages import CommitNote, compose_message
from mdmem.past.notes import parse_message
from mdmem.proposals import branches
from mdmem.proposals.branches import ProposalRef, ProposedBranch
from mdmem.repo import branch_commits
from mdmem.text.facts import fact_id

PATH, SECTION = FilePath("MEMORY.md"), ("Memory", "Facts")
TEA, CAT = fact_id("likes tea"), fact_id("has a cat")


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def note(op: Op, **fields: object) -> CommitNote:
    return CommitNote(
        **{"op": op, "path": PATH, "section": SECTION, "provenance": Provenance(), **fields}
    )


def head(at: Desk) -> CommitId:
    return CommitId(at.git("rev-parse", "HEAD").strip())


class TestDecisions:
    def test_are_read_from_trailers_alone_the_newest_first(self, at: Desk):
        rejecting = note(
            Op.REJECT, rejects=(("0123abcd", TEA), ("0123abcd", "Memory > Facts@0123456789ab"))
        )
        first = at.commit(compose_message(rejecting, ("- likes tea\n", "")))
        second = at.commit(
            compose_message(
                note(Op.ACCEPT, proposal="0123abcd", accepts=(("0123abcd", TEA),)),
                ("", "- likes tea\n"),
            )
        )
        at.commit("by hand\n\nMdmem-Rejects: 0123abcd")
        read = branches.decisions(at.workspace.repository, head(at))
        tea, section = read["0123abcd"][TEA], read["0123abcd"]["Memory > Facts@0123456789ab"]
        assert {proposal: len(parts) for proposal, parts in read.items()} == {"0123abcd": 2}
        assert (tea.state, tea.commit, tea.text) == (PartState.ACCEPTED, second, "likes tea")
        assert (section.state, section.commit, section.text) == (PartState.REJECTED, first, None)
        assert (tea.path, tea.section) == (PATH, "Memory > Facts")
        assert [
            part.name for part in branches.rejected_parts(at.workspace.repository, head(at))
        ] == [TEA, section.name]
        assert branches.decisions(at.workspace.repository, None) == {}

    def test_a_removal_that_was_rejected_is_told_from_a_line_that_was(self, at: Desk):
        at.commit(
            compose_message(
                note(Op.REJECT, rejects=(("0123abcd", TEA), ("0123abcd", CAT))),
                ("- likes tea\n", "- has a cat\n"),
            )
        )
        parts = branches.rejected_parts(at.workspace.repository, head(at))
        assert {part.name: part.is_removal for part in parts} == {TEA: False, CAT: True}

    def test_the_same_in_nearly_the_same_words(self, at: Desk):
        at.commit(
            compose_message(note(Op.REJECT, rejects=(("0123abcd", TEA),)), ("- likes tea\n", ""))
        )
        (part,) = branches.rejected_parts(at.workspace.repository, head(at))
        assert branches.says_the_same(part, TEA, "whatever")
        assert branches.says_the_same(part, fact_id("likes the tea"), "likes the tea")
        assert not branches.says_the_same(part, fact_id("likes coffee"), "likes coffee")

    def test_a_proposal_once_more_names_the_decision(self):
        message = compose_message(note(Op.REMEMBER, again=(CommitId("1" * 40),)))
        assert parse_message(message).again == ("1" * 40,)


def origin(at: Desk, message: str, line: str = "likes tea", branch_note: str = "") -> PartOrigin:
    """The origin of the part that a commit with this message brings in."""
    base, repository = head(at), at.workspace.repository
    at.write("MEMORY.md", f"# Memory\n\n## Facts\n\n- {line}\n")
    commits = [CommitId(at.commit(message))]
    if branch_note:
        commits.append(CommitId(at.commit(branch_note)))
    ahead = branch_commits.commits_not_in(repository, [commits[-1]], base)
    trees = branch_commits.trees_of(repository, [base, *commits])
    changes = branch_commits.changed_blobs(repository, list(pairwise(trees)))
    branch = ProposedBranch(
        ref=ProposalRef(id="0123abcd", actor="bot", name="", tip=commits[-1], is_own=True),
        commits=tuple(ahead[commit] for commit in commits),
        commit_changes=tuple(changes),
        base=base,
        files=(),
        others=(),
        shared_with=(),
    )
    (notes,) = branches.read_notes(at.workspace, [branch])
    return branches.part_origin(
        at.workspace, notes, notes.of_fact(PATH, fact_id(line)), fact_id(line)
    )


def by(actor: str | None, source: Source = Source.USER_STATED, **fields: object) -> str:
    provenance = Provenance(source=source, confidence=0.9, actor=actor, session="s", reason="why")
    return compose_message(
        note(Op.REMEMBER, provenance=provenance, **fields), ("", "- likes tea\n")
    )


class TestOrigins:
    def test_a_persons_commit_is_the_users_word(self, at: Desk):
        assert origin(at, "by hand").source is Source.USER_STATED

    def test_an_agents_word_for_it_is_not(self, at: Desk):
        read = origin(at, by("bot"))
        assert (read.source, read.confidence) == (Source.INFERRED, Source.INFERRED.confidence)
        assert (read.actor, read.session, read.reason) == ("bot", "s", "why")

    def test_a_person_who_has_a_name(self, at: Desk):
        at.world.home.joinpath(".config/mdmem").mkdir(parents=True)
        at.world.home.joinpath(".config/mdmem/config.toml").write_text('people = ["ada"]\n')
        assert origin(at, by("ada")).source is Source.USER_STATED

    def test_a_pipelines_is_where_it_cites_who_said_it(self, at: Desk):
        cited = origin(at, by("digest", cites=((TEA, "claude/5a1e00ff#20"),), run="digest/1"))
        assert (cited.source, cited.cites, cited.run) == (
            Source.USER_STATED,
            ("claude/5a1e00ff#20",),
            "digest/1",
        )
        assert (
            origin(at, by("digest", cites=((CAT, "claude/5a1e00ff#20"),)), "likes tea ").source
            is Source.INFERRED
        )

    def test_who_proposes_a_branch_vouches_for_nothing(self, at: Desk):
        proposing = compose_message(
            note(Op.PROPOSE, provenance=Provenance(actor="bot", reason="found it"))
        )
        read = origin(at, "by hand", branch_note=proposing)
        assert (read.source, read.actor, read.reason) == (
            Source.INFERRED,
            "Ada Example",
            "found it",
        )

    def test_a_weaker_source_stays(self, at: Desk):
        assert origin(at, by("bot", Source.AUTO)).source is Source.AUTO
