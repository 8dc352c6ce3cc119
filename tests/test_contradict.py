"""Marks on two facts: that they contradict each other, or that they do not."""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, SEED, TOKEN, Desk, desk, refused

from mdmem.model import Op
from mdmem.model.writes import Contradict, Resolve, WriteOptions
from mdmem.text.document import parse, preamble_etag, section_etag
from mdmem.text.facts import fact_id

WORK, HOME = fact_id("works at Stripe"), fact_id("lives in Oslo")
CONTRADICT, RESOLVE = Contradict("works at Stripe", HOME), Resolve(HOME, "works at Stripe")


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def test_the_answer_names_the_first_fact_and_the_commit_changes_no_file(at: Desk) -> None:
    done = at.apply(CONTRADICT)
    assert (done.changed, done.op, done.path, done.section) == (
        True,
        Op.CONTRADICT,
        "MEMORY.md",
        ("Memory", "Work"),
    )
    assert (done.commit, done.diff) == (at.git("rev-parse", "HEAD").strip(), None)
    assert done.etag == section_etag(parse(SEED), parse(SEED).sections[1])
    assert at.git("show", "--format=", "--name-only", "HEAD") == ""
    assert f"{WORK} {HOME}" in at.git("log", "-1", "--format=%B")


def test_a_mark_in_force_is_not_made_again_until_the_other_one_is(at: Desk) -> None:
    changes = (CONTRADICT, CONTRADICT, RESOLVE, RESOLVE, CONTRADICT)
    results = [at.apply(change) for change in changes]
    assert [done.changed for done in results] == [True, False, True, False, True]
    assert [done.commit is not None for done in results] == [True, False, True, False, True]
    assert (results[2].op, results[2].section) == (Op.RESOLVE, ("Memory", "Home"))
    assert len(at.subjects()) == 4


@pytest.mark.parametrize("change", [CONTRADICT, RESOLVE])
def test_a_dry_run_makes_no_commit(at: Desk, change: Contradict | Resolve) -> None:
    before = at.tree_state()
    dry = at.apply(replace(change, options=WriteOptions(dry_run=True)))
    assert (dry.changed, dry.commit, dry.diff) == (True, None, "")
    assert at.tree_state() == before


def test_of_facts_in_two_files_the_first_one_is_named(at: Desk) -> None:
    text = "# Topic\n\n- milk\n"
    at.write("memory/topic.md", text)
    at.commit()
    done = at.apply(Contradict("milk", "works at Stripe"))
    assert (done.path, done.section) == ("memory/topic.md", ("Topic",))
    assert done.etag == section_etag(parse(text), parse(text).sections[0])


def test_of_facts_before_the_first_heading(at: Desk) -> None:
    text = "- tea\n- milk\n\n# Memory\n"
    at.write("MEMORY.md", text)
    at.commit()
    done = at.apply(Contradict("tea", "milk"))
    assert (done.section, done.etag) == ((), preamble_etag(parse(text)))


def test_refusals(at: Desk) -> None:
    refused(at, Contradict("works at Stripe", WORK), "same-fact")
    refused(at, Contradict("works at Stripe", "never said"), "fact-not-found")
    refused(at, replace(CONTRADICT, options=WriteOptions(reason=TOKEN)), "secret-found")
    assert at.apply(
        replace(CONTRADICT, options=WriteOptions(reason=TOKEN, allow=frozenset({"secret"})))
    ).changed
