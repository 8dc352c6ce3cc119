"""The history of sections and facts, and blame, in real repositories."""

import sys
from collections.abc import Callable

import pytest
from dated_memory import DAYS, DatedMemory, change_employers
from workspaces import append, code_of, gits

from mdmem.merge import setup
from mdmem.model import Op, Source, Status
from mdmem.model.errors import MdmemError, verb
from mdmem.model.history import FactHistory, OtherReading, SectionHistory, ShowBlame, ShowHistory
from mdmem.model.reads import Show
from mdmem.model.searches import ListFacts
from mdmem.model.writes import (
    Action,
    Contradict,
    EditSection,
    Forget,
    Log,
    Remember,
    Revert,
    WriteOptions,
)
from mdmem.text.facts import fact_id


class TestFactHistory:
    """Facts are looked up by text or id; where neither fits, the hint names candidates."""

    @pytest.mark.parametrize("name", ["history", "blame", "show", "revert", "forget"])
    def test_other_words_are_answered_with_the_fact(self, dated: DatedMemory, name: str) -> None:
        ids = change_employers(dated)
        memory, words = dated.on("2026-05-01"), "works at Notion"
        asks: dict[str, Callable[[], object]] = {
            "history": lambda: memory.history(ShowHistory(words)),
            "blame": lambda: memory.blame(ShowBlame(words)),
            "show": lambda: memory.show_named(Show(section=words)),
            "revert": lambda: memory.apply(Revert(words)),
            "forget": lambda: memory.apply(Forget(words)),
        }
        with pytest.raises(MdmemError) as failure:
            asks[name]()
        near = "Did you mean Memory > Work?; " if name in ("blame", "show") else ""
        assert (
            failure.value.marked_hint
            == f'{near}Did you mean "employer: works at Notion"? {verb(name)} {ids[3]}'
        )

    def test_a_key_names_the_fact_that_holds_it(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        cat = dated.on("2026-05-01").apply(Remember("a cat", key="pet", section="Home")).added[0]
        pair = dated.on("2026-05-01").apply(Contradict("employer", "pet"))
        assert f"Mdmem-Contradicts: {ids[3]} {cat}" in dated.at.git(
            "log", "-1", "--format=%B", str(pair.commit)
        )
        assert dated.on("2026-05-02").apply(Forget("employer")).removed == (ids[3],)
        assert dated.on("2026-05-02").apply(Forget("employer")).changed is False
        reverted = dated.on("2026-05-03").apply(Revert("employer"))
        assert reverted.added == (ids[3],)
        blamed = dated.on("2026-05-03").blame(ShowBlame("employer")).lines
        assert [line.text for line in blamed] == ["- employer: works at Notion"]

    def test_a_word_of_two_sorts_changes_nothing(self, dated: DatedMemory) -> None:
        change_employers(dated)
        dated.on("2026-05-01").apply(Remember("employer", section="Home"))
        for change in (
            Forget("employer"),
            Revert("employer"),
            Contradict("employer", "lives in Oslo"),
        ):
            memory = dated.on("2026-05-02")
            assert (
                code_of(lambda memory=memory, change=change: memory.apply(change))
                == "fact-ambiguous"
            )

    def test_a_file_is_no_fact(self, dated: DatedMemory) -> None:
        for change in (
            Forget("MEMORY.md"),
            Revert("memory"),
            Contradict("lives in Oslo", "MEMORY.md"),
        ):
            with pytest.raises(MdmemError) as failure:
                dated.on("2026-05-02").apply(change)
            assert (
                failure.value.marked_hint
                == f"It is a file. To see its changes: {verb('history')} MEMORY.md"
            )

    def test_one_that_holds_no_more(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-05-01").apply(Contradict("employer: works at Figma", "lives in Oslo"))
        assert failure.value.message == "'employer: works at Figma' is no longer current"
        assert failure.value.marked_hint == f"To see what happened: {verb('history')} {ids[2]}"

    def test_one_that_stands_elsewhere(self, dated: DatedMemory) -> None:
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-05-01").apply(Forget("lives in Oslo", section="Work"))
        assert failure.value.marked_hint == "It is in MEMORY.md: Memory > Home."

    def test_the_address_of_several_sections_is_ambiguous(self, dated: DatedMemory) -> None:
        dated.at.write(
            "MEMORY.md", "# Memory\n\n## Home\n\n- a cat\n\n# Old\n\n## Home\n\n- a dog\n"
        )
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-05-01").apply(Forget("a cat", section="Home"))
        assert failure.value.code == "section-ambiguous"

    def test_the_status_of_a_fact_that_is_cut_off_by_the_limit(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        history = dated.on("2026-05-01").history(ShowHistory(ids[0], limit=1))
        assert isinstance(history, FactHistory)
        assert (history.status, [link.id for link in history.chain]) == (
            Status.SUPERSEDED,
            [ids[3]],
        )

    def test_an_id_alone(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        memory = dated.on("2026-05-01")
        memory.apply(Remember(ids[0], section="Home"))
        assert memory.history(ShowHistory(ids[0])).chain[-1].text == ids[0]  # type: ignore[union-attr]
        by_id = memory.history(ShowHistory(ids[0], by_id=True))
        assert isinstance(by_id, FactHistory)
        assert [link.id for link in by_id.chain] == ids
        dated.at.write("memory/pets.md", "- a cat\n- employer\n")
        pending = memory.history(ShowHistory(fact_id("a cat"), by_id=True))
        assert isinstance(pending, FactHistory)
        assert (pending.fact, pending.status, pending.chain) == (
            fact_id("a cat"),
            Status.CURRENT,
            (),
        )
        for word in ("00000000", "employer", "a cat"):
            asked = ShowHistory(word, by_id=True)
            assert code_of(lambda asked=asked: memory.history(asked)) == "fact-not-found"

    def test_facts_by_their_ids(self, dated: DatedMemory) -> None:
        *past, now = change_employers(dated)
        memory = dated.on("2026-05-01")
        wanted = (*past, now, fact_id("lives in Oslo"))
        listed = memory.facts(ListFacts(ids=wanted, section="Work"))
        assert ([hit.fact for hit in listed.facts], listed.total) == ([now], 1)
        everything = memory.facts(ListFacts(ids=wanted, everything=True, limit=2))
        assert (len(everything.facts), everything.total) == (2, 5)

    def test_what_holds_in_place_of_a_fact(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        memory = dated.on("2026-05-01")
        assert memory.successors(ids) == dict.fromkeys(ids[:3], ids[3])
        memory.apply(Forget(ids[3]))
        assert memory.successors(ids) == {}

    def test_of_one_file(self, dated: DatedMemory) -> None:
        in_memory = dated.on("2026-01-10").apply(Remember("a cat", section="Home"))
        in_log = dated.on("2026-01-11").apply(Log("a cat", kind="fact"))
        memory = dated.on("2026-01-12")
        for name in ("a cat", str(in_memory.added[0])):
            for path, commit in (("MEMORY.md", in_memory.commit), (in_log.path, in_log.commit)):
                history = memory.history(ShowHistory(name, path))
                assert isinstance(history, FactHistory)
                assert [(link.path, link.made.commit) for link in history.chain] == [(path, commit)]
        dated.at.write("memory/pets.md", "# Pets\n")
        for name, code in (
            ("a cat", "section-not-found"),
            (str(in_memory.added[0]), "fact-not-found"),
        ):
            assert (
                code_of(lambda name=name: memory.history(ShowHistory(name, "memory/pets.md")))
                == code
            )
            assert (
                code_of(lambda name=name: memory.history(ShowHistory(name, "memory/none.md")))
                == "file-not-found"
            )
            assert (
                code_of(lambda name=name: memory.history(ShowHistory(name, "MEMORY.md", nth=1)))
                == "section-not-found"
            )

    def test_one_that_is_not_committed_has_no_past_yet(self, dated: DatedMemory) -> None:
        dated.at.write(
            "MEMORY.md", dated.at.read("MEMORY.md") + "- has a cat\n- badge 12 (until 2026-01-20)\n"
        )
        memory = dated.on("2026-02-01")
        for text, status in (("has a cat", Status.CURRENT), ("badge 12", Status.EXPIRED)):
            fact = fact_id(text)
            for name in (text, fact, fact[:6]):
                assert (
                    memory.history(ShowHistory(name))
                    == memory.history(ShowHistory(name, "MEMORY.md"))
                    == FactHistory(fact, status, ())
                )
        dated.at.write("memory/pets.md", "# Pets\n")
        assert (
            code_of(lambda: memory.history(ShowHistory("has a cat", "memory/pets.md")))
            == "section-not-found"
        )

    def test_a_line_that_was_written_anew_is_told_as_search_tells_it(
        self, dated: DatedMemory
    ) -> None:
        dated.on("2026-01-10").apply(
            Remember("a cat", section="Home", options=WriteOptions(source=Source.AUTO))
        )
        dated.at.write("MEMORY.md", dated.at.read("MEMORY.md").replace("- a cat", "- a cat #pet"))
        commit = dated.at.commit("by hand")
        hit, *_ = dated.search("cat")
        history = dated.on("2026-02-01").history(ShowHistory("a cat"))
        assert isinstance(history, FactHistory)
        (link,) = history.chain
        assert (
            (hit.commit, hit.source, hit.confidence)
            == (link.made.commit, link.made.source, link.made.confidence)
            == (commit, Source.AUTO, 0.4)
        )
        assert (f"{link.start:%Y-%m-%d}", link.made.op) == ("2026-01-10", None)

    def test_a_link_that_has_expired_says_so(self, dated: DatedMemory) -> None:
        done = dated.on("2026-01-10").apply(Remember("badge 12", until="2026-01-20"))
        for day, status in (("2026-01-20", Status.CURRENT), ("2026-01-21", Status.EXPIRED)):
            history = dated.on(day).history(ShowHistory(str(done.added[0])))
            assert isinstance(history, FactHistory)
            assert (history.status, [link.status for link in history.chain]) == (status, [status])


class TestWords:
    """A word is taken as exact text, section, key, id: the first that fits."""

    def test_a_key_is_the_fact_that_holds_it_now(self, dated: DatedMemory) -> None:
        ids = [
            dated.on("2026-01-10").apply(Remember(city, key="Home town")).added[0]
            for city in ("Oslo", "Rome")
        ]
        for name in ("Home town", " home TOWN"):
            history = dated.on("2026-02-01").history(ShowHistory(name))
            assert isinstance(history, FactHistory)
            assert (history.fact, [link.id for link in history.chain], history.also) == (
                ids[1],
                ids,
                (),
            )
        dated.on("2026-02-01").apply(Forget("Home town: Rome"))
        history = dated.on("2026-02-01").history(ShowHistory("home town"))
        assert isinstance(history, FactHistory)
        assert (history.fact, history.status) == (ids[1], Status.REMOVED)
        assert (
            code_of(lambda: dated.on("2026-02-01").history(ShowHistory("town")))
            == "section-not-found"
        )

    def test_a_bold_key(self, dated: DatedMemory) -> None:
        dated.at.write("MEMORY.md", "# Memory\n\n- **Town_1**: Oslo\n")
        dated.at.commit()
        history = dated.on("2026-02-01").history(ShowHistory("town_1"))
        assert isinstance(history, FactHistory)
        assert history.fact == fact_id("Town_1: Oslo")
        assert (
            code_of(lambda: dated.on("2026-02-01").history(ShowHistory("town%1")))
            == "section-not-found"
        )

    def test_a_key_with_several_values(self, dated: DatedMemory) -> None:
        for pet in ("cat", "dog"):
            dated.on("2026-01-10").apply(Remember(pet, key="pet", also=True))
        assert (
            code_of(lambda: dated.on("2026-02-01").history(ShowHistory("pet"))) == "fact-ambiguous"
        )

    def test_what_else_it_could_be_is_named(self, dated: DatedMemory) -> None:
        fact = dated.on("2026-01-10").apply(Remember("Linear", key="work")).added[0]
        section = dated.on("2026-02-01").history(ShowHistory("Work"))
        assert isinstance(section, SectionHistory)
        assert section.also == (OtherReading("key", fact),)
        dated.on("2026-01-10").apply(Remember("work", section="Home"))
        text = dated.on("2026-02-01").history(ShowHistory("Work"))
        assert isinstance(text, FactHistory)
        assert text.also == (OtherReading("section", "Memory > Work"), OtherReading("key", fact))
        dated.on("2026-01-10").apply(Remember("x", key=fact[:6]))
        key = dated.on("2026-02-01").history(ShowHistory(fact[:6]))
        assert isinstance(key, FactHistory)
        assert (key.fact, key.also) == (fact_id(f"{fact[:6]}: x"), (OtherReading("id", fact),))


class TestSectionHistory:
    def test_of_a_file_through_its_renames(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("memory/a.md", "# Topic\n\n- one\n")
        created = at.commit("a")
        (at.root / "memory/a.md").rename(at.root / "memory/b.md")
        at.commit("renamed")
        at.write("memory/b.md", "# Topic\n\n- two\n")
        changed = at.commit("b")
        at.write("memory/a.md", "# Another\n")
        another = at.commit("another a")
        histories = {
            name: dated.on("2026-05-01").history(ShowHistory(None, f"memory/{name}.md"))
            for name in ("a", "b")
        }
        commits = {
            name: [revision.made.commit for revision in history.revisions]
            for name, history in histories.items()
            if isinstance(history, SectionHistory)
        }
        assert commits == {"a": [another, created], "b": [changed, created]}

    def test_part_of_a_long_history(self, dated: DatedMemory) -> None:
        change_employers(dated)
        memory = dated.on("2026-05-01")
        whole = memory.history(ShowHistory("Work"))
        assert isinstance(whole, SectionHistory)
        assert (len(whole.revisions), whole.total) == (5, 5)
        for upto, limit in ((5, 2), (3, 2), (1, 2), (4, 4)):
            part = memory.history(ShowHistory("Work", upto=upto, limit=limit))
            assert isinstance(part, SectionHistory)
            assert part.revisions == whole.revisions[5 - upto : 5 - upto + limit]
            assert (part.total, part.first, bool(part.notes)) == (5, whole.first, upto > limit)
        assert code_of(lambda: memory.history(ShowHistory("Work", upto=6))) == "usage"

    def test_a_former_section_s_number_begins_with_one(self, dated: DatedMemory) -> None:
        dated.on("2026-01-10").apply(EditSection("Work", Action.DELETE))
        assert dated.on("2026-01-10").history(ShowHistory("Work", nth=1))
        with pytest.raises(MdmemError):
            dated.on("2026-01-10").history(ShowHistory("Work", nth=0))

    def test_through_renames_of_heading_and_file(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("memory/topic.md", "# Topic\n\n## One\n\n- first\n- second\n- third\n- fourth\n")
        at.commit("begin")
        dated.on("2026-02-01").apply(
            EditSection("One", Action.APPEND, "- fifth", file="memory/topic.md")
        )
        dated.on("2026-02-02").apply(
            EditSection("One", Action.RENAME, "Two", file="memory/topic.md")
        )
        at.git("mv", "memory/topic.md", "memory/thing.md")
        at.commit("another name")
        dated.on("2026-02-03").apply(
            EditSection("Two", Action.APPEND, "- sixth", file="memory/thing.md")
        )
        history = dated.on("2026-03-01").history(ShowHistory("Two", file="memory/thing.md"))
        assert isinstance(history, SectionHistory)
        assert [revision.made.op for revision in history.revisions] == [
            "append",
            "rename",
            "append",
            None,
        ]
        assert history.revisions[0].text.startswith("## Two")
        assert history.revisions[-1].text.startswith("## One")
        assert "- sixth" in history.revisions[0].text

    def test_of_one_that_is_gone(self, dated: DatedMemory) -> None:
        dated.on("2026-02-01").apply(EditSection("Home", Action.DELETE))
        history = dated.on("2026-03-01").history(ShowHistory("Home"))
        assert isinstance(history, SectionHistory)
        assert [revision.made.op for revision in history.revisions] == ["delete", None]

    def test_a_heading_that_is_renamed_and_not_committed(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("MEMORY.md", at.read("MEMORY.md").replace("## Home", "## House") + "- has a cat\n")
        history = {
            name: dated.on("2026-02-01").history(ShowHistory(name)) for name in ("Home", "House")
        }
        assert [
            len(each.revisions) for each in history.values() if isinstance(each, SectionHistory)
        ] == [1, 1]
        assert [
            line.made is None for line in dated.on("2026-02-01").blame(ShowBlame("House")).lines
        ] == [True, False, False, True]
        at.write("MEMORY.md", at.read("MEMORY.md").replace("## House", "## Work"))
        assert [
            line.made is None
            for line in dated.on("2026-02-01").blame(ShowBlame("Work", nth=2)).lines
        ] == [True, False, False, True]
        at.write("MEMORY.md", "# Memory\n\n## Another\n\n- of another kind\n")
        assert {
            line.made and line.made.commit
            for line in dated.on("2026-02-01").blame(ShowBlame("Another")).lines
        } == {None}

    @pytest.mark.parametrize("staged", [False, True])
    def test_a_file_that_is_gone_and_not_committed(self, dated: DatedMemory, staged: bool) -> None:
        at = dated.at
        at.write("memory/topic.md", "# Topic\n\n- one\n")
        created = at.commit("topic")
        at.git("rm", "-q", "memory/topic.md") if staged else (at.root / "memory/topic.md").unlink()
        history = dated.on("2026-02-01").history(ShowHistory("Topic", "memory/topic.md"))
        assert isinstance(history, SectionHistory)
        assert [revision.made.commit for revision in history.revisions] == [created]
        assert (
            code_of(lambda: dated.on("2026-02-01").blame(ShowBlame("Topic", "memory/topic.md")))
            == "file-not-found"
        )

    def test_of_the_text_before_the_first_heading(self, dated: DatedMemory) -> None:
        at = dated.at
        at.write("memory/plain.md", "---\ntags: [a]\n---\n- one\n")
        created = at.commit("plain")
        at.write("memory/plain.md", at.read("memory/plain.md") + "- two\n")
        changed = at.commit("more")
        at.write("memory/plain.md", at.read("memory/plain.md") + "- three\n")
        memory = dated.on("2026-02-01")
        blame = memory.blame(ShowBlame(file="memory/plain.md", preamble=True))
        assert [(line.line, line.text, line.made and line.made.commit) for line in blame.lines] == [
            (4, "- one", created),
            (5, "- two", changed),
            (6, "- three", None),
        ]
        request = ShowHistory(None, "memory/plain.md", preamble=True)
        history = memory.history(request)
        assert isinstance(history, SectionHistory)
        assert [(revision.made.commit, revision.section) for revision in history.revisions] == [
            (changed, ()),
            (created, ()),
        ]
        assert code_of(lambda: memory.history(ShowHistory(preamble=True))) == "section-not-found"
        at.write("memory/plain.md", "# Plain\n\n- one\n- two\n")
        for _ in range(2):
            assert (
                code_of(lambda: memory.blame(ShowBlame(file="memory/plain.md", preamble=True)))
                == "section-not-found"
            )
            history = memory.history(request)
            assert isinstance(history, SectionHistory)
            assert history.revisions[-1].made.commit == created
            at.commit("a heading")

    def test_of_a_file_that_is_not_memory(self, dated: DatedMemory) -> None:
        dated.at.write("NOTES.md", "# Notes\n\n- one\n")
        dated.at.commit("notes")
        memory = dated.on("2026-02-01")
        for target in (None, "Notes", "one"):
            assert (
                code_of(lambda target=target: memory.history(ShowHistory(target, "NOTES.md")))
                == "not-memory"
            )
            assert (
                code_of(lambda target=target: memory.history(ShowHistory(target, "NOTE.md")))
                == "file-not-found"
            )
        assert code_of(lambda: memory.blame(ShowBlame("Notes", "NOTES.md"))) == "not-memory"

    def test_blame(self, dated: DatedMemory) -> None:
        done = dated.on("2026-02-01").apply(EditSection("Home", Action.APPEND, "- has a cat"))
        dated.at.write("MEMORY.md", dated.at.read("MEMORY.md") + "- not yet\n")
        lines = dated.on("2026-02-02").blame(ShowBlame("Home")).lines
        assert [
            (line.text.strip(), line.made is not None and line.made.commit == done.commit)
            for line in lines
            if line.text.strip()
        ] == [
            ("## Home", False),
            ("- lives in Oslo", False),
            ("- has a cat", True),
            ("- not yet", False),
        ]
        assert lines[-1].made is None

    def test_what_a_merge_brought_is_relevant_cues_who_brought_it(self, dated: DatedMemory) -> None:
        at = dated.at
        dated.on("2026-01-05").apply(
            EditSection(
                "Pets",
                Action.APPEND,
                "- a dog",
                file="memory/pets.md",
                create=True,
                options=WriteOptions(source=Source.USER_STATED),
            )
        )
        at.git("checkout", "-q", "-b", "side")
        options = WriteOptions(source=Source.AUTO, actor="bot")
        cat = EditSection("Pets", Action.APPEND, "- a cat", file="memory/pets.md", options=options)
        side_commit = dated.on("2026-01-10").apply(cat).commit
        at.git("checkout", "-q", "-")
        dated.on("2026-01-12").apply(append())
        at.git("merge", "-q", "-m", "merged", "side")
        at.git("mv", "memory/pets.md", "memory/animals.md")
        at.commit("another name")
        *earlier, last = dated.on("2026-01-13").blame(ShowBlame("Pets", "memory/animals.md")).lines
        assert (last.made.commit, last.made.source, f"{last.made.time:%m-%d}") == (
            side_commit,
            Source.AUTO,
            "01-10",
        )
        assert {line.made.source for line in earlier} == {Source.USER_STATED}
        history = dated.on("2026-01-13").history(ShowHistory("Pets", "memory/animals.md"))
        assert isinstance(history, SectionHistory)
        appended, created = history.revisions
        made = appended.made
        assert (made.commit, made.op, made.source, made.actor) == (
            side_commit,
            Op.APPEND,
            Source.AUTO,
            "bot",
        )
        assert (created.made.op, created.made.source) == (Op.CREATE, Source.USER_STATED)

    def test_of_a_file_no_merge_removes_what_both_sides_began(self, dated: DatedMemory) -> None:
        at = dated.at
        setup.install(at.workspace, sys.executable)
        for side, fact in (("side", "a saw"), ("main", "a plane")):
            at.git("checkout", "-q", *(["-b"] if side == "side" else []), side)
            dated.on("2026-01-10").apply(Remember(fact, section="Tools", create=True))
            dated.on("2026-01-10").apply(Log("rain", options=WriteOptions(actor=side)))
            dated.on("2026-01-10").history(ShowHistory())
        at.git("merge", "-q", "-m", "merged", "side")
        dated.on("2026-01-11").apply(Remember("a file", section="Tools"))
        history = dated.on("2026-01-12").history(ShowHistory())
        assert isinstance(history, SectionHistory)
        assert [revision.section[-1] for revision in history.revisions if not revision.text] == []

    def test_of_a_file_what_another_branch_changed_too_is_no_new_section(
        self, dated: DatedMemory
    ) -> None:
        at = dated.at
        setup.install(at.workspace, sys.executable)
        at.git("branch", "side")
        dated.on("2026-01-12").apply(append("- later"))
        dated.on("2026-01-12").history(ShowHistory())
        at.git("checkout", "-q", "side")
        dated.on("2026-01-10").apply(append("- earlier"))
        at.git("checkout", "-q", "main")
        at.git("merge", "-q", "-m", "merged", "side")
        history = dated.on("2026-01-13").history(ShowHistory(limit=2))
        assert isinstance(history, SectionHistory)
        assert all(revision.before for revision in history.revisions)

    def test_where_memory_is_merged_no_git_is_started(
        self, dated: DatedMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        at = dated.at
        for word in ("cat", "dog"):
            at.git("checkout", "-q", "-b", word)
            side_commit = (
                dated.on("2026-01-10")
                .apply(EditSection("Home", Action.APPEND, f"- a {word}"))
                .commit
            )
            at.git("checkout", "-q", "-")
            at.git("merge", "-q", "--no-ff", "-m", "merged", word)
        memory = dated.on("2026-02-01")
        memory.history(ShowHistory())
        started = gits(monkeypatch)
        assert memory.blame(ShowBlame("Home")).lines[-1].made.commit == side_commit
        history = memory.history(ShowHistory("a dog"))
        assert isinstance(history, FactHistory)
        assert [(link.made.commit, link.made.op) for link in history.chain] == [
            (side_commit, Op.APPEND)
        ]
        for file in (None, "MEMORY.md"):
            changes = memory.history(ShowHistory(file=file))
            assert isinstance(changes, SectionHistory)
            assert [revision.made.op for revision in changes.revisions[:2]] == [Op.APPEND] * 2
        memory.history(ShowHistory("Home"))
        assert started == []

    def test_when(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        assert ids
        (stay,) = dated.on("2027-01-01").when("works at Linear").stays
        assert (f"{stay.came.time:%Y-%m-%d}", stay.went_at and f"{stay.went_at:%Y-%m-%d}") == (
            DAYS[1],
            DAYS[2],
        )

    def test_when_of_a_log_line_that_is_no_longer_current(self, dated: DatedMemory) -> None:
        dated.on("2026-01-02").apply(Log("deploys go through the blue pipeline"))
        dated.on("2026-01-02").apply(Log("the green one is for tests"))
        dated.on("2026-01-05").apply(
            Forget(
                "deploys go through the blue pipeline",
                options=WriteOptions(reason="it was retired"),
            )
        )
        (stay,) = dated.on("2026-01-06").when("blue pipeline").stays
        assert (stay.went_at, stay.ended_by and stay.ended_by.reason) == (None, "it was retired")
        assert stay.ended_by is not None
        assert f"{stay.ended_by.time:%Y-%m-%d}" == "2026-01-05"
        (other,) = dated.on("2026-01-06").when("green one").stays
        assert (other.went_at, other.ended_by) == (None, None)
