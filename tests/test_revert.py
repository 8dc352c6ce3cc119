"""Reverts of commits, facts and marks, in real repositories."""

from functools import partial
from pathlib import Path

import pytest
from dated_memory import DAYS, DatedMemory, change_employers
from workspaces import TOKEN, append, code_of

from mdmem.folder import journal
from mdmem.model import Op, Source, Status
from mdmem.model.errors import MdmemError
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Forget, Log, Remember, Revert, WriteOptions
from mdmem.text.facts import fact_id

OSLO = fact_id("lives in Oslo")


class TestRevert:
    def test_of_a_fact_later_edits_stay(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        dated.on("2026-05-01").apply(Remember("has a cat", section="Home"))
        done = dated.on("2026-05-02").apply(Revert(ids[3]))
        assert done.changed
        assert "works at Figma" in dated.at.read("MEMORY.md")
        assert "has a cat" in dated.at.read("MEMORY.md")
        assert dated.texts("works at") == ["employer: works at Figma"]

    def test_of_a_commit_by_hand(self, dated: DatedMemory) -> None:
        at = dated.at
        before = at.read("MEMORY.md")
        at.write("MEMORY.md", before.replace("Oslo", "Rome"))
        commit = at.commit("moved")
        dated.on("2026-05-01").apply(append())
        dated.on("2026-05-02").apply(Revert(commit))
        assert "lives in Oslo" in at.read("MEMORY.md")
        assert "the mark of mdmem" in at.read("MEMORY.md")

    def test_what_was_changed_again_is_a_conflict(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        before = dated.at.tree_state()
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-05-02").apply(
                Revert(str(dated.search("Linear", history=True)[0].commit))
            )
        assert failure.value.code == "revert-conflict"
        assert dated.at.tree_state() == before
        assert ids

    @pytest.mark.parametrize(
        ("count", "shown"),
        [
            (2, "- n0\n      - n1"),
            (5, "- n4\nBefore that commit"),
            (6, "- n4\n      …\nBefore that commit"),
        ],
    )
    def test_a_conflict_shows_five_lines_of_each_text_at_most(
        self, dated: DatedMemory, count: int, shown: str
    ) -> None:
        at = dated.at
        at.write("memory/a.md", "# T\n\n- one\n")
        at.commit("a")
        at.write("memory/a.md", "# T\n\n- two\n")
        changed = at.commit("b")
        at.write("memory/a.md", "# T\n\n" + "".join(f"- n{number}\n" for number in range(count)))
        at.commit("c")
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-05-02").apply(Revert(changed))
        assert failure.value.hint is not None
        assert "Now: - n0\n      - n1\n" in failure.value.hint
        assert shown in failure.value.hint
        assert failure.value.hint.endswith("\nBefore that commit: - one")
        assert failure.value.details["path"] == "memory/a.md"

    def test_of_a_log_s_entry_it_counts_no_more(self, dated: DatedMemory) -> None:
        done = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact"))
        dated.on("2026-01-11").apply(Revert(str(done.commit)))
        assert dated.texts("sky") == []
        assert "green" in dated.at.read("memory/2026-01-10.md")

    def test_a_secret_is_not_given_as_the_reason(self, dated: DatedMemory) -> None:
        logged = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact"))
        before = dated.at.tree_state()
        options = WriteOptions(reason=TOKEN)
        for change in (
            Revert(str(logged.commit), options=options),
            Revert("lives in Oslo", options=options),
        ):
            assert code_of(partial(dated.on("2026-01-11").apply, change)) == "secret-found"
        assert dated.at.tree_state() == before

    def test_the_answer_names_what_came_back_and_what_went(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        done = dated.on("2026-05-01").apply(Revert(ids[3]))
        assert (done.added, done.removed, done.op) == ((ids[2],), (ids[3],), Op.REVERT)

    def test_of_a_mark(self, dated: DatedMemory) -> None:
        fact = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact")).added[0]
        for by_commit in (True, False):
            forgotten = dated.on("2026-01-11").apply(Forget(fact))
            assert dated.texts("sky") == []
            dated.on("2026-01-12").apply(Revert(str(forgotten.commit) if by_commit else fact))
            assert dated.texts("sky") == ["the sky is green"]

    def test_what_was_forgotten_comes_back(self, dated: DatedMemory) -> None:
        dated.on("2026-01-10").apply(Forget("lives in Oslo"))
        dated.on("2026-01-11").apply(Revert("lives in Oslo"))
        assert dated.texts("Oslo") == ["lives in Oslo"]

    def test_of_a_fact_others_that_came_with_it_stay(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write(
            "MEMORY.md",
            at.read("MEMORY.md") + "- has a dog\n- has a dog house\n- has a cat\n  called Tom\n",
        )
        at.commit("pets")
        dated.on("2026-05-01").apply(Revert("has a dog"))
        assert at.read("MEMORY.md").endswith("Oslo\n- has a dog house\n- has a cat\n  called Tom\n")
        dated.on("2026-05-01").apply(Revert("has a cat\n  called Tom"))
        assert at.read("MEMORY.md").endswith("Oslo\n- has a dog house\n")

    def test_of_the_first_fact_of_a_section_that_has_more_now(self, dated: DatedMemory) -> None:
        ids = [
            dated.on(day).apply(Remember(f"likes {word}")).added[0]
            for day, word in zip(DAYS, ("tea", "jam"), strict=False)
        ]
        done = dated.on("2026-05-01").apply(Revert(ids[0]))
        assert (done.section, done.removed) == (("Memory", "Facts"), (ids[0],))
        assert dated.texts("likes") == ["likes jam"]

    def test_again_changes_nothing(self, dated: DatedMemory) -> None:
        forgotten = dated.on("2026-01-10").apply(Forget("lives in Oslo"))
        back = dated.on("2026-01-11").apply(Revert(str(forgotten.commit)))
        before = dated.at.tree_state()
        for reference in (str(forgotten.commit), "lives in Oslo"):
            again = dated.on("2026-01-12").apply(Revert(reference))
            assert (again.changed, again.commit, dated.at.tree_state()) == (False, None, before)
        assert str(back.commit)[:10] in again.notes[0]
        dated.on("2026-01-12").apply(Revert(str(back.commit)))
        assert dated.texts("Oslo") == []

    def test_again_of_what_changed_no_text_changes_nothing(self, dated: DatedMemory) -> None:
        logged = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact"))
        forgotten = dated.on("2026-01-11").apply(Forget(logged.added[0]))
        for commit in (forgotten.commit, logged.commit):
            back = dated.on("2026-01-12").apply(Revert(str(commit)))
            before = dated.at.tree_state()
            again = dated.on("2026-01-13").apply(Revert(str(commit)))
            assert (again.changed, again.commit, again.path, dated.at.tree_state()) == (
                False,
                None,
                back.path,
                before,
            )
            assert str(back.commit)[:10] in again.notes[0]
        logged = dated.on("2026-01-14").apply(Log("the sky is blue", kind="fact"))
        dated.on("2026-01-15").apply(Forget(logged.added[0]))
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-01-16").apply(Revert(str(logged.commit)))
        assert (failure.value.code, failure.value.hint) == ("cannot-revert", "")

    def test_again_after_a_rebase_changes_nothing(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("memory/a.md", "# T\n\n- one\n")
        at.commit("a")
        dated.on("2026-01-10").apply(Forget("one"))
        dated.on("2026-01-11").apply(Revert("one"))
        at.git("rebase", "-q", "--force-rebase", "HEAD~2")
        at.git("reflog", "expire", "--expire=all", "--all")
        at.git("gc", "-q", "--prune=now")
        before = at.tree_state()
        again = dated.on("2026-01-12").apply(Revert("one"))
        assert (again.changed, again.path, at.tree_state()) == (False, "memory/a.md", before)
        assert f"by {at.head()[:10]}" in again.notes[0]

    def test_of_markdown_that_is_not_memory(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("NOTES.md", "# N\n\n- one\n")
        at.commit("notes")
        changed = dated.on("2026-05-01").apply(append("- oops", "N", "NOTES.md"))
        at.git("mv", "NOTES.md", "OTHER.md")
        at.commit("renamed")
        done = dated.on("2026-05-02").apply(Revert(str(changed.commit)))
        assert (done.changed, done.path, at.read("OTHER.md")) == (
            True,
            "OTHER.md",
            "# N\n\n- one\n",
        )
        assert not dated.on("2026-05-03").apply(Revert(str(changed.commit))).changed

    def test_where_a_commit_changed_memory_too_other_markdown_stays(
        self, dated: DatedMemory
    ) -> None:
        at = dated.at
        before = at.read("MEMORY.md")
        at.write("MEMORY.md", before.replace("Oslo", "Rome"))
        at.write("NOTES.md", "# N\n\n- one\n")
        dated.on("2026-05-02").apply(Revert(at.commit("both")))
        assert (at.read("MEMORY.md"), at.read("NOTES.md")) == (before, "# N\n\n- one\n")

    def test_of_several_files_it_goes_on_where_it_was_interrupted(self, dated: DatedMemory) -> None:
        at = dated.at
        for name in ("a", "b"):
            at.write(f"memory/{name}.md", "# T\n\n- one\n")
        at.commit("two files")
        for name in ("a", "b"):
            at.write(f"memory/{name}.md", "# T\n\n- two\n")
        both = at.commit("both")
        at.write("memory/a.md", "# T\n\n- one\n")
        at.commit("as an interrupted revert leaves it")
        done = dated.on("2026-05-01").apply(Revert(both))
        assert (done.changed, done.path, done.commit) == (
            True,
            "memory/b.md",
            at.git("rev-parse", "HEAD").strip(),
        )
        assert at.read("memory/b.md") == at.read("memory/a.md") == "# T\n\n- one\n"

    def test_of_several_files_each_is_named(self, dated: DatedMemory) -> None:
        at = dated.at
        before = at.git("rev-parse", "HEAD").strip()
        for name in ("a", "b"):
            at.write(f"memory/{name}.md", "# T\n\n- one\n")
        both = at.commit("both")
        done = dated.on("2026-05-01").apply(Revert(both))
        assert before != both
        assert (done.path, done.commit) == ("memory/b.md", at.git("rev-parse", "HEAD").strip())
        assert (done.warnings, at.read("memory/a.md"), at.read("memory/b.md")) == (
            ("weaker-source",),
            "",
            "",
        )
        notes = [note for note in done.notes if not note.startswith("weaker-source: ")]
        assert notes == [
            f"also reverted changes in memory/a.md, by {at.git('rev-parse', 'HEAD~').strip()[:10]}"
        ]

    def test_of_several_files_a_dry_run_shows_a_patch_of_all(
        self, dated: DatedMemory, tmp_path: Path
    ) -> None:
        at = dated.at
        for name in ("a", "b"):
            at.write(f"memory/{name}.md", "# T\n\n- one\n")
        both = at.commit("both")
        patch = tmp_path / "patch"
        patch.write_text(
            str(dated.on("2026-05-01").apply(Revert(both, options=WriteOptions(dry_run=True))).diff)
        )
        assert dated.on("2026-05-01").apply(Revert(both)).diff is None
        reverted = at.read("memory/a.md"), at.read("memory/b.md")
        at.git("checkout", "-q", both, "--", "memory")
        at.git("apply", patch)
        assert (at.read("memory/a.md"), at.read("memory/b.md")) == reverted

    def test_of_several_files_where_one_conflicts_no_commit_is_made(
        self, dated: DatedMemory
    ) -> None:
        at = dated.at
        for text in ("one", "two"):
            for name in ("a", "b"):
                at.write(f"memory/{name}.md", f"# T\n\n- {text}\n")
            both = at.commit("both")
        at.write("memory/b.md", "# T\n\n- three\n")
        at.commit("changed again")
        at.hook("post-commit", "touch ../made")
        assert code_of(lambda: dated.on("2026-05-01").apply(Revert(both))) == "revert-conflict"
        assert not (at.root.parent / "made").exists()

    @pytest.mark.every(5)
    @pytest.mark.parametrize("refused", ["memory/c.md", "memory/a.md", ""])
    @pytest.mark.parametrize("pending", [False, True])
    @pytest.mark.parametrize("before", ["# T\n\n- one\n", None])
    def test_of_several_files_all_or_none_is_done(
        self, dated: DatedMemory, refused: str, pending: bool, before: str | None
    ) -> None:
        """`refused` is the file whose commit a hook refuses; none: that of an entry of a log."""
        at = dated.at
        paths = [f"memory/{name}.md" for name in ("a", "b", "c")]
        for path in paths if before else []:
            at.write(path, str(before))
        at.write("memory/2026-01-10.md", "# 2026-01-10\n\n- one\n")
        at.commit("before")
        for path in [*paths, "memory/2026-01-10.md"]:
            at.write(path, f"{before or ''}- two\n")
        changed = at.commit("all of them")
        if pending:
            for path in paths[:2]:
                at.write(path, f"{before or ''}- two\n- staged\n")
            at.git("add", "memory/a.md")
            at.write("memory/a.md", f"{before or ''}- two\n- by hand\n")
        at.hook(
            "pre-commit", f'names=$(git diff --cached --name-only)\n[ "$names" != "{refused}" ]'
        )
        before_revert = at.tree_state()
        assert code_of(lambda: dated.on("2026-05-01").apply(Revert(changed))) == "commit-failed"
        assert at.tree_state() == before_revert
        assert not (at.workspace.state / journal.WRITE_NAME).exists()
        at.hook("pre-commit", "exit 0")
        assert (
            dated.on("2026-05-01").apply(Revert(changed)).commit
            == at.git("rev-parse", "HEAD").strip()
        )

    def test_a_conflict_names_the_file_and_shows_both_texts(self, dated: DatedMemory) -> None:
        change_employers(dated)
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-05-02").apply(
                Revert(str(dated.search("Linear", history=True)[0].commit))
            )
        assert (
            failure.value.message
            == "MEMORY.md: these lines have changed since that commit (from line 5)"
        )
        assert (
            "\nNow: - employer: works at Notion\nBefore that commit: - employer: works at Stripe"
            in failure.value.hint
        )

    def test_a_file_keeps_its_new_name(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("memory/a.md", "# T\n\n- one\n")
        at.commit("a")
        (at.root / "memory/a.md").rename(at.root / "memory/b.md")
        renamed = at.commit("renamed")
        before = at.tree_state()
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-05-02").apply(Revert(renamed))
        assert (failure.value.code, at.tree_state()) == ("cannot-revert", before)
        assert "memory/a.md was renamed to memory/b.md" in failure.value.hint

    @pytest.mark.parametrize("names", [["b"], ["b", "c"], ["b", "a"]])
    def test_of_a_file_under_the_name_that_it_has_now(
        self, dated: DatedMemory, names: list[str]
    ) -> None:
        at = dated.at
        at.write("memory/a.md", "# T\n\n- one\n")
        at.commit("a")
        changed = dated.on("2026-05-01").apply(append("- two", "T", "memory/a.md"))
        for old, new in zip(["a", *names], names, strict=False):
            at.git("mv", f"memory/{old}.md", f"memory/{new}.md")
            at.commit("renamed")
        at.write("memory/a.md" if names[-1] != "a" else "memory/b.md", "# Another\n\n- two\n")
        at.commit("another")
        done = dated.on("2026-05-02").apply(Revert(str(changed.commit)))
        assert (done.path, at.read(f"memory/{names[-1]}.md")) == (
            f"memory/{names[-1]}.md",
            "# T\n\n- one\n",
        )
        assert at.git("status", "--porcelain") == ""
        again = dated.on("2026-05-02").apply(Revert(str(changed.commit)))
        assert (again.changed, again.path) == (False, done.path)

    def test_of_a_fact_that_a_commit_brought_to_two_files_or_took_out_of_them(
        self, dated: DatedMemory
    ) -> None:
        at = dated.at
        both = "# T\n\n- one\n- two\n"
        for text in ("# T\n\n", both):
            at.write("memory/a.md", text)
            at.write("memory/b.md", text)
            at.commit("both")
        assert dated.on("2026-05-01").apply(Revert("one")).path == "memory/b.md"
        assert (at.read("memory/a.md"), at.read("memory/b.md")) == (both, "# T\n\n- two\n")
        for text in (both, "# T\n\n"):
            at.write("memory/a.md", text)
            at.write("memory/b.md", text)
            at.commit("both again, and gone")
        assert dated.on("2026-05-01").apply(Revert("two")).path == "memory/b.md"
        assert (at.read("memory/a.md"), at.read("memory/b.md")) == ("# T\n\n", "# T\n\n- two\n")

    def test_of_a_fact_what_its_commit_says_that_it_superseded_comes_back(
        self, dated: DatedMemory
    ) -> None:
        dated.on("2026-01-10").apply(Remember("works at Stripe", section="Work"))
        dated.on("2026-01-11").apply(
            Remember(
                "likes fish", section="Home", options=WriteOptions(supersedes="works at Stripe")
            )
        )
        dated.on("2026-01-12").apply(Revert("likes fish"))
        assert (dated.texts("fish"), dated.texts("Stripe")) == ([], ["works at Stripe"])

    def test_of_a_fact_that_was_confirmed_it_stays(self, dated: DatedMemory) -> None:
        at = dated.at
        dated.on("2026-01-10").apply(
            Remember("likes tea", options=WriteOptions(source=Source.INFERRED))
        )
        before = at.read("MEMORY.md")
        confirmed = dated.on("2026-01-11").apply(
            Remember("likes tea", options=WriteOptions(source=Source.USER_STATED))
        )
        assert confirmed.op is Op.CONFIRM
        back = dated.on("2026-01-12").apply(Revert("likes tea"))
        assert f"Mdmem-Reverts: {confirmed.commit}" in at.git("log", "-1", "--format=%B")
        assert at.read("MEMORY.md") == before
        assert [hit.source for hit in dated.search("tea")] == [Source.INFERRED]
        again = dated.on("2026-01-13").apply(Revert(str(confirmed.commit)))
        assert not again.changed
        assert str(back.commit)[:10] in again.notes[0]

    def test_where_a_text_changes_one_commit_says_all(self, dated: DatedMemory) -> None:
        at = dated.at
        old = dated.on("2026-01-10").apply(Log("likes tea", kind="fact")).added[0]
        done = dated.on("2026-01-11").apply(
            Remember("likes jam", options=WriteOptions(supersedes=old))
        )
        for day in ("2026-01-12", "2026-01-13"):
            count = len(at.subjects())
            done = dated.on(day).apply(Revert(str(done.commit)))
            assert len(at.subjects()) == count + 1
        assert dated.texts("likes") == ["likes jam"]

    def test_of_a_fact_of_a_file_that_was_renamed(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("memory/a.md", "# T\n\n- one\n")
        at.commit("a")
        changed = dated.on("2026-05-01").apply(append("- two", "T", "memory/a.md"))
        at.git("mv", "memory/a.md", "memory/b.md")
        at.commit("renamed")
        assert dated.on("2026-05-02").apply(Revert("two")).path == "memory/b.md"
        assert at.read("memory/b.md") == "# T\n\n- one\n"
        assert changed.commit

    @pytest.mark.parametrize(
        ("after", "code"),
        [("- one\n- two\n", None), ("- uno\n", "revert-conflict"), ("", "revert-conflict")],
    )
    def test_of_a_file_that_is_gone(self, dated: DatedMemory, after: str, code: str | None) -> None:
        at = dated.at
        at.write("memory/a.md", "# T\n\n- one\n")
        at.commit("a")
        at.write("memory/a.md", f"# T\n\n{after}")
        changed = at.commit("changed")
        at.git("rm", "-q", "memory/a.md")
        at.commit("gone")
        before = at.tree_state()
        if code:
            assert code_of(lambda: dated.on("2026-05-02").apply(Revert(changed))) == code
        else:
            assert not dated.on("2026-05-02").apply(Revert(changed)).changed
        assert at.tree_state() == before

    def test_that_took_a_file_out_it_comes_back(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("memory/a.md", "# T\n\n- one\n")
        at.commit("a")
        at.git("rm", "-q", "memory/a.md")
        dated.on("2026-05-02").apply(Revert(at.commit("gone")))
        assert at.read("memory/a.md") == "# T\n\n- one\n"


class TestRefusals:
    def test_what_is_no_commit_of_this_history(self, dated: DatedMemory) -> None:
        at = dated.at
        for words, hint in (("never said", "To list commits"), ("lives in Osl", "lives in Oslo")):
            with pytest.raises(MdmemError) as failure:
                at.apply(Revert(words))
            assert failure.value.code == "commit-not-found"
            assert hint in failure.value.hint
        at.git("checkout", "-q", "-b", "side")
        at.write("MEMORY.md", at.read("MEMORY.md") + "- a side\n")
        side = at.commit("side")
        at.git("checkout", "-q", "-")
        assert code_of(lambda: at.apply(Revert(side))) == "commit-not-found"

    def test_a_merge(self, dated: DatedMemory) -> None:
        at = dated.at
        at.git("checkout", "-q", "-b", "side")
        at.write("MEMORY.md", at.read("MEMORY.md") + "- a side\n")
        at.commit("side")
        at.git("checkout", "-q", "-")
        at.git("merge", "-q", "--no-ff", "-m", "merge", "side")
        before = at.tree_state()
        with pytest.raises(MdmemError) as failure:
            at.apply(Revert(at.head()))
        assert (failure.value.code, failure.value.message) == (
            "cannot-revert",
            f"{at.head()[:10]} is a merge",
        )
        assert at.tree_state() == before

    @pytest.mark.parametrize(
        ("text", "sorts", "code"),
        [
            ("HEAD", "a fact and a commit", "ambiguous"),
            (OSLO, "the text of {fact} and the beginning of the id of {text}", "fact-ambiguous"),
        ],
    )
    def test_what_means_two_things(
        self, dated: DatedMemory, text: str, sorts: str, code: str
    ) -> None:
        (fact,) = dated.on("2026-01-10").apply(Remember(text)).added
        before = dated.at.tree_state()
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-01-11").apply(Revert(text))
        assert (failure.value.code, failure.value.message) == (
            code,
            f"{text!r} is {sorts.format(fact=fact, text=text)}",
        )
        assert failure.value.details["facts"] == sorted({fact, text} - {"HEAD"})
        assert dated.at.tree_state() == before


class TestOfLogs:
    def test_the_answer_names_what_counts_no_more(self, dated: DatedMemory) -> None:
        logged = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact"))
        dry = dated.on("2026-01-11").apply(
            Revert(str(logged.commit), options=WriteOptions(dry_run=True))
        )
        done = dated.on("2026-01-11").apply(Revert(str(logged.commit)))
        assert (dry.removed, dry.commit, dry.diff, dry.changed) == (logged.added, None, "", True)
        assert (done.removed, done.path, done.section, done.changed) == (
            logged.added,
            "memory/2026-01-10.md",
            logged.section,
            True,
        )
        assert done.commit == dated.at.git("rev-parse", "HEAD").strip()

    def test_of_one_of_the_lines_that_came_together(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("memory/2026-01-10.md", "# 2026-01-10\n\n- has a boat\n- likes tea\n")
        at.commit("two lines")
        done = dated.on("2026-01-11").apply(Revert("has a boat"))
        assert done.removed == (fact_id("has a boat"),)
        assert [
            fact.text
            for fact in dated.on("2026-01-12").facts(ListFacts()).facts
            if "2026" in fact.path
        ] == ["likes tea"]

    def test_where_two_statements_hide_a_line_it_is_hidden_until_both_are_taken_back(
        self, dated: DatedMemory
    ) -> None:
        old = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact")).added[0]
        retracted = dated.on("2026-01-11").apply(Forget(old)).commit
        back = dated.on("2026-01-12").apply(Revert(str(retracted))).commit
        replaced = (
            dated.on("2026-01-13")
            .apply(Log("the sea is blue", kind="fact", options=WriteOptions(supersedes=old)))
            .commit
        )
        dated.on("2026-01-14").apply(Revert(str(back)))
        dated.on("2026-01-15").apply(Revert(str(replaced)))
        hidden = {"2026-01-11", "2026-01-13", "2026-01-14", "2026-01-15"}
        for day in (
            "2026-01-10",
            "2026-01-11",
            "2026-01-12",
            "2026-01-13",
            "2026-01-14",
            "2026-01-15",
        ):
            assert dated.texts("green", as_of=day) == ["the sky is green"] * (day not in hidden)
        assert [hit.status for hit in dated.search("green", history=True)] == [Status.REMOVED]

    @pytest.mark.parametrize("empty", [True, False])
    def test_of_a_revert_what_was_taken_back_holds_again(
        self, dated: DatedMemory, empty: bool
    ) -> None:
        old = dated.on("2026-01-10").apply(Log("the sky is green", kind="fact")).added[0]
        if empty:
            done = dated.on("2026-01-11").apply(Forget(old))
        else:
            done = dated.on("2026-01-11").apply(
                Log("the sky is blue", kind="fact", options=WriteOptions(supersedes=old))
            )
        for _ in range(2):
            taken_back = dated.on("2026-01-12").apply(Revert(str(done.commit)))
            assert dated.texts("sky") == ["the sky is green"]
            again = dated.on("2026-01-13").apply(Revert(str(taken_back.commit)))
            assert again.changed
            assert dated.texts("sky") == ["the sky is blue"] * (not empty)
            assert not dated.on("2026-01-13").apply(Revert(str(taken_back.commit))).changed
        assert dated.texts("sky", as_of="2026-01-11") == ["the sky is blue"] * (not empty)
