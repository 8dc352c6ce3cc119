"""The sources of facts, after what people do to commits with git itself."""

import textwrap
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model import FilePath, Op, Provenance, Source
from mdmem.model.history import FactHistory, SectionHistory, ShowBlame, ShowHistory
from mdmem.model.searches import ListFacts
from mdmem.model.trail import Fate, MarkKind, Origin
from mdmem.model.writes import Contradict, Forget, Log, Remember, Revert, WriteOptions
from mdmem.past import fresh_trail
from mdmem.past.messages import CommitNote, compose_message
from mdmem.text.facts import parse_text

MEMORY = FilePath("MEMORY.md")
LOG = FilePath("memory/2026-03-05.md")
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
        in_trail = {
            each.entry.text: each.origin.source
            for each in trail.live_occurrences(MEMORY)
            if each.entry.fact
        }
    memory = Memory(at.workspace)
    try:
        in_index = {hit.text: hit.source for hit in memory.facts(ListFacts()).facts}
    finally:
        memory.close()
    assert in_index == in_trail
    return in_trail


def confirm(at: Desk, text: str, source: Source) -> None:
    note = CommitNote(
        Op.CONFIRM,
        MEMORY,
        SECTION,
        Provenance(source, source.confidence),
        confirms=(parse_text(text).id,),
    )
    at.git("commit", "-q", "--allow-empty", "--only", "-m", compose_message(note))


class TestConfirmations:
    def test_the_same_words_from_a_stronger_source_lift_a_fact(self, at: Desk) -> None:
        commit = remember(at, "tea is green", Source.AUTO)
        assert sources(at)["tea is green"] is Source.AUTO
        confirm(at, "tea is green", Source.USER_STATED)
        assert sources(at) == {"name: Ada": Source.USER_STATED, "tea is green": Source.USER_STATED}
        with fresh_trail(at.workspace) as trail:
            before, after = trail.occurrences_of(parse_text("tea is green").id)
        assert (before.origin.source, after.origin.source, after.origin.confidence) == (
            Source.AUTO,
            Source.USER_STATED,
            0.95,
        )
        assert after.origin.commit == commit
        assert (after.entry.start_line, after.ended) == (before.entry.start_line, None)

    def test_a_weaker_source_changes_nothing(self, at: Desk) -> None:
        remember(at, "tea is green", Source.INFERRED)
        confirm(at, "tea is green", Source.AUTO)
        with fresh_trail(at.workspace) as trail:
            (occurrence,) = trail.occurrences_of(parse_text("tea is green").id)
        assert occurrence.origin.source is Source.INFERRED

    def test_who_vouches_for_the_words_is_their_author(self, at: Desk) -> None:
        """Another person's commit makes nobody else's line stronger."""
        remember(at, "tea is green", Source.INFERRED)
        named = at.world.environment | {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", "Priya"), ("EMAIL", "priya@example.org"))
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, value in named.items():
                patch.setitem(at.world.environment, name, value)
            confirm(at, "tea is green", Source.USER_STATED)
        memory = Memory(at.workspace)
        authors = {hit.text: hit.author for hit in memory.facts(ListFacts()).facts}
        memory.close()
        assert authors == {"name: Ada": None, "tea is green": "Priya"}

    @pytest.mark.parametrize("reference", ["HEAD", "tea is green"])
    def test_a_confirmation_can_be_reverted_once(self, at: Desk, reference: str) -> None:
        remember(at, "tea is green", Source.AUTO)
        confirm(at, "tea is green", Source.USER_STATED)
        confirmation = at.git("rev-parse", "HEAD").strip()
        assert at.apply(Revert(reference)).changed
        assert sources(at)["tea is green"] is Source.AUTO
        assert not at.apply(Revert(confirmation)).changed

    def test_a_confirmation_with_other_changes_is_reverted_with_them(self, at: Desk) -> None:
        remember(at, "tea is green", Source.AUTO)
        note = CommitNote(
            Op.REMEMBER,
            MEMORY,
            SECTION,
            Provenance(Source.USER_STATED),
            confirms=(parse_text("tea is green").id,),
        )
        edit(at, "- name: Ada\n", "", compose_message(note))
        assert sources(at) == {"tea is green": Source.USER_STATED}
        at.git("revert", "--no-edit", "HEAD")
        assert sources(at) == {"name: Ada": Source.USER_STATED, "tea is green": Source.AUTO}

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

    def test_an_agents_pending_edits_rank_as_inferred_and_are_its_claim(self, at: Desk) -> None:
        at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- name: Bo\n- tea is green\n")
        remember(at, "coffee is black", Source.AUTO, actor="agent/main")
        assert sources(at) == {
            "name: Bo": Source.INFERRED,
            "tea is green": Source.INFERRED,
            "coffee is black": Source.AUTO,
        }
        origin = self.origin(at, "tea is green")
        assert (origin.claimed_by, origin.confidence) == ("agent/main", 0.7)
        assert self.origin(at, "coffee is black").claimed_by is None
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


def rebase(at: Desk, script: str, commits: int) -> None:
    """Rebase the last commits with a list of what to do that a sed script changes."""
    environment = {"GIT_SEQUENCE_EDITOR": f"sed -i -e '{script}'", "GIT_EDITOR": "true"}
    at.world.git(at.root, "rebase", "-q", "-i", f"HEAD~{commits}", environment=environment)


def edit(at: Desk, old: str, new: str, message: str = "by hand") -> None:
    """A person's own commit."""
    text = at.read("MEMORY.md")
    assert old in text
    at.write("MEMORY.md", text.replace(old, new))
    at.commit(message)


def messages(at: Desk, commits: int) -> str:
    """The messages of the last commits as a squash merge on a server joins them."""
    oldest_first = [
        at.git("log", "-1", f"--skip={number}", "--format=%B").strip()
        for number in reversed(range(commits))
    ]
    return "\n\n".join(f"* {message}" for message in oldest_first)


def squash_on_server(at: Desk, branch: str, commits: int, ending: str) -> None:
    at.git("checkout", "-q", branch)
    message = messages(at, commits)
    at.git("checkout", "-q", "main")
    at.git("merge", "-q", "--squash", branch)
    at.git("commit", "-q", "-m", f"Notes of a week (#12)\n\n{message}\n\n{ending}")


GUESS, WORD = "tea is green", "coffee is black"


class TestSquashes:
    def branch(self, at: Desk) -> None:
        """A branch on which an agent guessed one thing and was told another."""
        at.git("checkout", "-q", "-b", "side")
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        remember(at, WORD, Source.USER_STATED)

    def require_sources(self, at: Desk) -> None:
        stated = sources(at)
        assert (stated[GUESS], stated[WORD], stated["name: Ada"]) == (
            Source.AUTO,
            Source.USER_STATED,
            Source.USER_STATED,
        )

    @pytest.mark.parametrize(
        "ending",
        ["", "---------\n\nCo-authored-by: A B <a@b.test>", "Reviewed by hand, and found good."],
    )
    def test_on_a_server(self, at: Desk, ending: str) -> None:
        self.branch(at)
        squash_on_server(at, "side", 2, ending)
        self.require_sources(at)

    def test_by_git_merge(self, at: Desk) -> None:
        self.branch(at)
        at.git("checkout", "-q", "main")
        at.git("merge", "-q", "--squash", "side")
        at.world.git(at.root, "commit", "-q", environment={"GIT_EDITOR": "true"})
        assert "    Mdmem-Op: remember" in at.git("log", "-1", "--format=%B")
        self.require_sources(at)

    def test_by_rebase(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        at.apply(
            Remember(
                WORD, section="Other", create=True, options=WriteOptions(source=Source.USER_STATED)
            )
        )
        rebase(at, "2s/^pick/squash/", 2)
        self.require_sources(at)
        with fresh_trail(at.workspace) as trail:
            assert len(trail.commits_after()) == 2

    def test_history_and_blame_tell_them_apart(self, at: Desk) -> None:
        self.branch(at)
        squash_on_server(at, "side", 2, "")
        memory = Memory(at.workspace)
        lines = {line.text: line.made.source for line in memory.blame(ShowBlame("Facts")).lines}
        assert (lines[f"- {GUESS}"], lines[f"- {WORD}"]) == (Source.AUTO, Source.USER_STATED)
        links = [
            history.chain[-1]
            for text in (GUESS, WORD)
            if isinstance(history := memory.history(ShowHistory(text)), FactHistory)
        ]
        assert [(link.made.source, link.made.actor) for link in links] == [
            (Source.AUTO, "agent/x"),
            (Source.USER_STATED, None),
        ]
        revision = memory.history(ShowHistory("Facts"))
        assert isinstance(revision, SectionHistory)
        assert (revision.revisions[0].made.source, revision.revisions[0].made.actor) == (
            Source.AUTO,
            "agent/x",
        )
        memory.close()

    def test_blame_of_what_a_revert_brought_back(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        at.apply(Forget(GUESS))
        at.git("revert", "--no-edit", "HEAD")
        lines = {
            line.text: line.made.source
            for line in Memory(at.workspace).blame(ShowBlame("Facts")).lines
        }
        assert lines[f"- {GUESS}"] is Source.AUTO

    def test_by_rebase_with_a_persons_commit_between(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        edit(at, "- name: Ada\n", "- name: Ada\n- by hand\n", "docs: what I know")
        remember(at, WORD, Source.USER_STATED)
        rebase(at, "2,3s/^pick/squash/", 3)
        self.require_sources(at)
        assert sources(at)["by hand"] is Source.AUTO

    def test_a_fixup_has_the_weakest_source(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        edit(at, GUESS, "tea is white")
        rebase(at, "2s/^pick/fixup/", 2)
        assert sources(at)["tea is white"] is Source.AUTO

    def test_a_squash_of_squashes(self, at: Desk) -> None:
        self.branch(at)
        squash_on_server(at, "side", 2, "")
        at.git("checkout", "-q", "-b", "other", "main~1")
        at.git("merge", "-q", "--squash", "main")
        at.world.git(at.root, "commit", "-q", environment={"GIT_EDITOR": "true"})
        self.require_sources(at)

    def test_a_branch_that_was_squashed_is_merged(self, at: Desk) -> None:
        self.branch(at)
        rebase(at, "2s/^pick/squash/", 2)
        at.git("checkout", "-q", "main")
        at.commit("elsewhere")
        at.git("merge", "-q", "--no-edit", "side")
        self.require_sources(at)

    def test_the_last_value_of_a_key_counts(self, at: Desk) -> None:
        at.apply(Remember("green", key="tea", options=WriteOptions(source=Source.INFERRED)))
        at.apply(
            Remember("white", key="tea", options=WriteOptions(source=Source.AUTO, confidence=0.2))
        )
        edit(at, "tea: white", "tea: red")
        at.apply(Remember("black", key="tea", options=WriteOptions(source=Source.USER_STATED)))
        rebase(at, "2,4s/^pick/squash/", 4)
        assert sources(at) == {"name: Ada": Source.USER_STATED, "tea: black": Source.USER_STATED}

    def test_what_replaced_what_is_read_from_each(self, at: Desk) -> None:
        at.apply(Remember("green", key="tea"))
        at.apply(Remember("white", key="tea"))
        at.apply(Remember("black", key="coffee", options=WriteOptions(source=Source.AUTO)))
        rebase(at, "3s/^pick/squash/", 2)
        with fresh_trail(at.workspace) as trail:
            (before,) = trail.occurrences_of(parse_text("tea: green").id)
        assert (before.fate, before.successor) == (Fate.SUPERSEDED, parse_text("tea: white").id)

    def test_several_values_stay_several(self, at: Desk) -> None:
        at.apply(Remember("green", key="tea"))
        at.apply(Remember("white", key="tea", also=True))
        at.apply(Remember("black", key="coffee", options=WriteOptions(source=Source.AUTO)))
        rebase(at, "2,3s/^pick/squash/", 3)
        with fresh_trail(at.workspace) as trail:
            also = {each.entry.text: each.also for each in trail.live_occurrences(MEMORY)}
        assert also == {
            "name: Ada": False,
            "tea: green": False,
            "tea: white": True,
            "coffee: black": False,
        }

    def test_a_log_with_its_retraction(self, at: Desk) -> None:
        at.apply(Log("one", day="2026-03-05", time="09:00"))
        at.apply(Forget("one"))
        at.apply(Log("two", day="2026-03-05", time="09:00"))
        rebase(at, "2,3s/^pick/squash/", 3)
        with fresh_trail(at.workspace) as trail:
            marks = {
                each.entry.text: [mark.kind for mark in trail.marks_of(each.number)]
                for each in trail.live_occurrences(LOG)
            }
        assert (marks["one"], marks["two"]) == ([MarkKind.RETRACTED], [])


class TestAdditions:
    def test_a_paragraph_behind_the_trailers(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        at.git(
            "commit",
            "-q",
            "--amend",
            "-m",
            at.git("log", "-1", "--format=%B"),
            "-m",
            "Reviewed-by: A <a@b.test>",
        )
        assert sources(at)[GUESS] is Source.AUTO
        at.git(
            "commit",
            "-q",
            "--amend",
            "-m",
            at.git("log", "-1", "--format=%B"),
            "-m",
            "It was so in the minutes.",
        )
        assert sources(at)[GUESS] is Source.AUTO

    def test_a_cherry_pick(self, at: Desk) -> None:
        at.git("checkout", "-q", "-b", "side")
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        at.git(
            "commit",
            "-q",
            "--amend",
            "-m",
            at.git("log", "-1", "--format=%B"),
            "-m",
            "Reviewed-by: A <a@b.test>",
        )
        at.git("checkout", "-q", "main")
        at.git("cherry-pick", "-x", "-s", "side")
        assert "(cherry picked from commit" in at.git("log", "-1", "--format=%B")
        assert sources(at)[GUESS] is Source.AUTO

    def test_an_empty_note_counts_with_a_paragraph_behind_it(self, at: Desk) -> None:
        at.apply(Log("one", day="2026-03-05", time="09:00"))
        at.apply(Forget("one"))
        at.git(
            "commit",
            "-q",
            "--allow-empty",
            "--amend",
            "-m",
            at.git("log", "-1", "--format=%B"),
            "-m",
            "Reviewed-by: A <a@b.test>",
        )
        with fresh_trail(at.workspace) as trail:
            (mark,) = trail.marks_of(trail.occurrences_of(parse_text("one").id)[-1].number)
        assert mark.kind is MarkKind.RETRACTED


EXAMPLE = """MEMORY.md: append Elsewhere

+ something else

Mdmem-Op: append
Mdmem-Section: Elsewhere
Mdmem-Source: auto
Mdmem-Confidence: 0.1
"""


class TestQuotedProse:
    @pytest.mark.parametrize(
        "message",
        [
            "Explain trailers\n\nmdmem writes a line\nMdmem-Op: remember\ninto the message.",
            "Explain trailers\n\nMdmem-Op: remember marks the commits of mdmem, and\nMdmem-Source: auto the guesses.",
            f"Explain trailers\n\nFor example:\n\n{textwrap.indent(EXAMPLE, '    ')}\nSo it is.",
            f"Explain trailers\n\n{textwrap.indent(EXAMPLE, '    ')}",
            f"Explain trailers\n\n```\n{EXAMPLE}```",
            f"Explain trailers\n\n{textwrap.indent(EXAMPLE, '> ', lambda line: True)}",
            "Explain trailers\n\nA block such as\n\nMdmem-Op: append\nMdmem-Source: auto\n\nmarks the commits of mdmem.",
        ],
        ids=[
            "line in prose",
            "prose with colons",
            "code",
            "code at the end",
            "fence",
            "quote",
            "block without a change",
        ],
    )
    def test_counts_for_nothing(self, at: Desk, message: str) -> None:
        edit(at, "- name: Ada\n", "- name: Ada\n- by hand\n", message)
        assert "Mdmem-Op" in at.git("log", "-1", "--format=%B")
        assert sources(at)["by hand"] is Source.USER_STATED

    def test_a_retraction_that_is_quoted_retracts_nothing(self, at: Desk) -> None:
        at.apply(Log("one", day="2026-03-05", time="09:00"))
        note = f"memory/2026-03-05.md: retract 09:00\n\nMdmem-Op: retract\nMdmem-Retracts: {parse_text('one').id}\n"
        edit(
            at,
            "- name: Ada\n",
            "- name: Ada\n- by hand\n",
            f"Explain retractions\n\n{textwrap.indent(note, '    ')}\nSo it is.",
        )
        with fresh_trail(at.workspace) as trail:
            assert trail.marks_of(trail.occurrences_of(parse_text("one").id)[-1].number) == ()


class TestReverts:
    def forget(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        at.apply(Forget(GUESS))

    def test_of_a_removal(self, at: Desk) -> None:
        self.forget(at)
        at.git("revert", "--no-edit", "HEAD")
        assert sources(at)[GUESS] is Source.AUTO

    def test_that_name_a_commit_by_a_short_id(self, at: Desk) -> None:
        at.apply(Remember(WORD, section="Other", create=True))
        self.forget(at)
        at.apply(Contradict(WORD, "name: Ada"))
        at.git("revert", "--no-edit", "--reference", "HEAD~1")
        assert sources(at)[GUESS] is Source.AUTO
        contradiction = at.git("rev-parse", "--short", "HEAD~1").strip()
        at.git(
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            f"Of no contradiction\n\nThis reverts commit {contradiction} (MEMORY.md: contradict, 2026-03-05).",
        )
        with fresh_trail(at.workspace) as trail:
            assert trail.pair_marks() == ()

    def test_of_a_replacement(self, at: Desk) -> None:
        at.apply(
            Remember(
                "green", key="tea", options=WriteOptions(source=Source.USER_STATED, actor="agent/x")
            )
        )
        at.apply(Remember("white", key="tea", options=WriteOptions(source=Source.USER_STATED)))
        at.git("revert", "--no-edit", "HEAD")
        with fresh_trail(at.workspace) as trail:
            origin = trail.occurrences_of(parse_text("tea: green").id)[-1].origin
        assert (origin.source, origin.claimed_by) == (Source.USER_STATED, "agent/x")

    def test_of_a_revert(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        at.git("revert", "--no-edit", "HEAD")
        assert GUESS not in sources(at)
        at.git("revert", "--no-edit", "HEAD")
        assert sources(at)[GUESS] is Source.AUTO

    def test_of_a_merge_and_of_that(self, at: Desk) -> None:
        at.git("checkout", "-q", "-b", "side")
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        at.git("checkout", "-q", "main")
        at.commit("elsewhere")
        at.git("merge", "-q", "--no-edit", "side")
        at.git("revert", "--no-edit", "-m", "1", "HEAD")
        assert GUESS not in sources(at)
        at.git("revert", "--no-edit", "HEAD")
        assert sources(at)[GUESS] is Source.AUTO

    def test_of_a_commit_on_a_branch_that_was_merged(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        at.git("checkout", "-q", "-b", "side")
        at.apply(Forget(GUESS))
        at.git("checkout", "-q", "main")
        at.commit("elsewhere")
        at.git("merge", "-q", "--no-edit", "side")
        at.git("revert", "--no-edit", "side")
        assert sources(at)[GUESS] is Source.AUTO

    def test_on_a_branch(self, at: Desk) -> None:
        at.git("checkout", "-q", "-b", "side")
        self.forget(at)
        at.git("revert", "--no-edit", "HEAD")
        at.git("checkout", "-q", "main")
        at.commit("elsewhere")
        at.git("merge", "-q", "--no-edit", "side")
        assert sources(at)[GUESS] is Source.AUTO

    def test_on_a_branch_of_what_the_mainline_took_out(self, at: Desk) -> None:
        self.forget(at)
        at.git("checkout", "-q", "-b", "side")
        at.git("revert", "--no-edit", "HEAD")
        at.git("checkout", "-q", "main")
        at.commit("elsewhere")
        at.git("merge", "-q", "--no-edit", "side")
        assert sources(at)[GUESS] is Source.AUTO

    def test_by_mdmem(self, at: Desk) -> None:
        remember(at, GUESS, Source.AUTO, actor="agent/x")
        removal = at.apply(Forget(GUESS))
        at.apply(Revert(str(removal.commit)))
        assert sources(at)[GUESS] is Source.AUTO

    def test_what_a_revert_adds_besides_is_its_own(self, at: Desk) -> None:
        self.forget(at)
        at.git("revert", "--no-commit", "HEAD")
        at.write("MEMORY.md", at.read("MEMORY.md") + "- by hand\n")
        at.git("add", "-A")
        at.world.git(at.root, "revert", "--continue", environment={"GIT_EDITOR": "true"})
        stated = sources(at)
        assert (stated[GUESS], stated["by hand"]) == (Source.AUTO, Source.USER_STATED)
