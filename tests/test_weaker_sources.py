"""Weaker never replaces stronger unseen: writes in a repository, among what people, agents and
programs have said.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.changes.verbs import foundations
from mdmem.editors.list_items import Foundation
from mdmem.memory import Memory
from mdmem.model import Op, Source
from mdmem.model.errors import field
from mdmem.model.writes import (
    Action,
    Change,
    EditSection,
    Forget,
    Log,
    Remember,
    Revert,
    WriteOptions,
    WriteResult,
)
from mdmem.past import fresh_trail
from mdmem.text.document import parse
from mdmem.text.facts import fact_id, items

SEED = "# Memory\n\n## Facts\n\n- tea\n- by: hand\n"
WEAKER = ("weaker-source",)
ADVICE = f" (if you say so yourself: {field('source')} user-stated)"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def say(
    at: Desk, change: Change, source: Source = Source.INFERRED, **options: object
) -> WriteResult:
    return at.apply(replace(change, options=WriteOptions(source=source, **options)))


def put(at: Desk, text: str, source: Source, actor: str | None = None) -> WriteResult:
    return say(at, Remember(text, section="Facts"), source, actor=actor)


def values(at: Desk, key: str = "k") -> list[str]:
    return [item.fact.text for item in items(parse(at.read("MEMORY.md"))) if item.fact.key == key]


def test_an_auto_value_stands_beside_the_users_and_locks_nothing(at: Desk) -> None:
    put(at, "k: 1", Source.USER_STATED)
    first = put(at, "k: 2", Source.AUTO)
    assert (first.contradicts, first.removed, first.warnings) == ((fact_id("k: 1"),), (), ())
    second = put(at, "k: 3", Source.AUTO)
    assert (values(at), second.removed) == (["k: 1", "k: 3"], (fact_id("k: 2"),))
    last = put(at, "k: 4", Source.USER_STATED)
    assert (values(at), last.warnings, last.contradicts) == (["k: 4"], (), ())
    assert {pair.old for pair in last.supersedes} == {fact_id("k: 1"), fact_id("k: 3")}


@pytest.mark.parametrize("multiline", [False, True], ids=["by messages", "by the trail"])
def test_of_several_values_none_contradicts_another(at: Desk, multiline: bool) -> None:
    put(at, "k: 1", Source.INFERRED)
    other = "k: 2\n  - beneath" if multiline else "k: 2"
    say(at, Remember(other, section="Facts", also=True), Source.USER_STATED)
    done = put(at, "k: 3", Source.INFERRED)
    assert (done.removed, done.contradicts) == ((fact_id("k: 1"),), ())
    assert Memory(at.workspace).conflicts().conflicts == ()


def test_inferred_replaces_what_a_person_wrote_and_says_so(at: Desk) -> None:
    done = put(at, "by: me", Source.INFERRED)
    assert (values(at, "by"), done.warnings) == (["by: me"], WEAKER)
    assert done.notes == (
        f"weaker-source: replaced something the user stated with an inferred value: "
        f"{fact_id('by: hand')} by: hand{ADVICE}",
    )
    again = put(at, "by: you", Source.INFERRED)
    assert (again.warnings, again.notes) == ((), ())


def test_what_an_agent_claims_is_guarded_and_counts_as_inferred(at: Desk) -> None:
    assert put(at, "k: 1", Source.USER_STATED, actor="bot").warnings == ()
    assert put(at, "k: 2", Source.AUTO).contradicts == (fact_id("k: 1"),)
    inferred = put(at, "k: 3", Source.INFERRED)
    assert (inferred.warnings, inferred.notes) == (
        WEAKER,
        (
            f"weaker-source: replaced something better supported with an inferred value: "
            f"{fact_id('k: 1')} k: 1{ADVICE}",
        ),
    )
    assert values(at) == ["k: 3"]
    assert put(at, "by: me", Source.USER_STATED, actor="bot").notes == (
        f"weaker-source: replaced something the user stated with a claimed value: "
        f"{fact_id('by: hand')} by: hand",
    )


@pytest.mark.parametrize(
    "change",
    [
        EditSection("Facts", Action.BODY, "- coffee"),
        EditSection("Facts", Action.REPLACE, "tea", replacement="coffee"),
        EditSection("Facts", Action.DELETE),
        Forget("tea"),
        Forget("rain", file="memory/2026-03-01.md"),
    ],
    ids=lambda change: getattr(change, "action", change.__class__.__name__),
)
def test_whatever_takes_out_what_is_better_founded_says_so(at: Desk, change: Change) -> None:
    at.write("memory/2026-03-01.md", "# 2026-03-01\n\n## 10:00\n\n- rain\n")
    at.commit("a log by hand")
    dry = say(at, change, dry_run=True)
    done = say(at, change)
    assert (done.warnings, dry.warnings, done.changed) == (WEAKER, WEAKER, True)


def test_what_supersedes_takes_out_of_another_file_or_marks_in_a_log_says_so(at: Desk) -> None:
    at.write("memory/other.md", "# Other\n\n- milk\n")
    at.write("memory/2026-03-01.md", "# 2026-03-01\n\n## 10:00\n\n- rain\n")
    at.commit("by hand")
    assert say(at, Remember("oat milk", section="Facts"), supersedes="milk").warnings == WEAKER
    assert say(at, Log("sun"), supersedes="rain").warnings == WEAKER
    assert say(at, Log("snow"), supersedes="sun").warnings == ()


def test_an_automatic_fact_of_another_file_may_go(at: Desk) -> None:
    at.write("memory/other.md", "# Other\n\n## More\n\n- x\n")
    at.commit("other")
    say(at, Remember("milk", section="Other", file="memory/other.md"), Source.AUTO)
    assert say(at, Remember("oat milk", section="Facts"), supersedes="milk").warnings == ()


def test_a_value_that_stays_hides_no_fact_that_goes(at: Desk) -> None:
    at.write("MEMORY.md", f"{SEED}\n## Other\n\n- milk\n")
    at.commit("other")
    done = say(at, Remember("by: auto", section="Facts"), Source.AUTO, supersedes="milk")
    assert (done.contradicts, done.removed, done.warnings) == (
        (fact_id("by: hand"),),
        (fact_id("milk"),),
        WEAKER,
    )


def test_the_users_own_word_and_pending_edits(at: Desk) -> None:
    assert say(at, Forget("tea"), Source.USER_STATED).warnings == ()
    at.write("MEMORY.md", at.read("MEMORY.md") + "- new\n")
    removed = say(at, Forget("new"))
    assert (removed.warnings, removed.notes[-1]) == (
        WEAKER,
        f"weaker-source: an inferred change removed something the user stated: "
        f"{fact_id('new')} new{ADVICE}",
    )
    assert say(at, EditSection("Facts", Action.APPEND, "- mine")).changed
    assert say(at, EditSection("Facts", Action.REPLACE, "mine", replacement="ours")).warnings == ()
    made = put(at, "k: 1", Source.USER_STATED)
    assert say(at, Revert(made.commit or "")).warnings == WEAKER


def test_the_same_from_a_stronger_source_is_an_empty_commit(at: Desk) -> None:
    put(at, "k: 1", Source.AUTO)
    at.write("staged.txt", "x")
    at.git("add", "staged.txt")
    done = put(at, "K:  1", Source.USER_STATED)
    assert (done.changed, done.op, done.added, done.commit) == (
        True,
        Op.CONFIRM,
        (),
        at.git("rev-parse", "HEAD").strip(),
    )
    assert at.git("show", "--format=", "--name-only", "HEAD") == ""
    assert {"Mdmem-Op: confirm", f"Mdmem-Confirms: {fact_id('k: 1')}"} <= set(
        at.git("log", "-1", "--format=%B").splitlines()
    )
    assert "A  staged.txt" in at.git("status", "--porcelain")
    assert not put(at, "k: 1", Source.USER_STATED).changed
    assert not put(at, "k: 1", Source.INFERRED).changed
    assert put(at, "k: 2", Source.AUTO).contradicts == (fact_id("k: 1"),)


def test_a_log_s_entry_is_confirmed_too(at: Desk) -> None:
    first = say(at, Log("rain"), Source.AUTO)
    log = at.read(str(first.path))
    done = say(at, Log("rain"), Source.USER_STATED)
    assert (done.changed, done.op, done.added, done.path) == (True, Op.CONFIRM, (), first.path)
    assert f"Mdmem-Confirms: {fact_id('rain')}" in at.git("log", "-1", "--format=%B").splitlines()
    assert at.read(str(first.path)) == log
    with fresh_trail(at.workspace) as trail:
        assert [
            each.origin.source
            for each in trail.occurrences_of(fact_id("rain"))
            if each.ended is None
        ] == [Source.USER_STATED]
    assert not say(at, Log("rain"), Source.USER_STATED).changed
    assert not say(at, Log("rain"), Source.AUTO).changed


def test_new_labels_from_a_stronger_source_confirm_too(at: Desk) -> None:
    put(at, "k: 1", Source.AUTO)
    done = put(at, "k: 1 #t", Source.USER_STATED)
    assert (done.changed, done.op) == (True, Op.REMEMBER)
    assert put(at, "k: 2", Source.AUTO).contradicts == (fact_id("k: 1"),)


def test_where_history_cannot_be_read_the_user_may_have_said_it(at: Desk) -> None:
    first = at.git("rev-parse", "HEAD").strip()
    at.write("other.txt", "x")
    at.commit("another")
    (at.root / ".git" / "objects" / first[:2] / first[2:]).unlink()
    beside = put(at, "by: auto", Source.AUTO)
    assert (beside.contradicts, [note.split(" (")[0] for note in beside.notes]) == (
        (fact_id("by: hand"),),
        ["cannot tell who stated the current facts"],
    )
    (note,) = say(at, Forget("tea"), Source.USER_STATED, dry_run=True).notes
    assert note.startswith(
        "cannot tell which log entries say the same: git cannot read the history"
    )
    assert say(at, Forget("tea")).warnings == WEAKER


def test_the_newest_messages_tell_what_the_trail_tells(at: Desk) -> None:
    put(at, "k: 1", Source.AUTO)
    put(at, "coffee #t", Source.INFERRED)
    say(
        at,
        EditSection("Facts", Action.APPEND, "- water\n- water: 2 <!-- c -->"),
        Source.USER_STATED,
        actor="bot",
    )
    say(at, Log("elsewhere"), Source.AUTO)
    put(at, "more: 1", Source.USER_STATED)
    document = parse(at.read("MEMORY.md"))
    foundations_of = {
        item.fact.text: foundations._recent_foundations(at.workspace, "MEMORY.md", document, [item])
        for item in items(document)
    }
    with fresh_trail(at.workspace) as trail:
        origins = {each.entry.text: each.origin for each in trail.live_occurrences("MEMORY.md")}
    assert {text for text, stated in foundations_of.items() if stated is None} == {
        "tea",
        "by: hand",
    }
    for text, stated in foundations_of.items():
        if stated is not None:
            assert list(stated.values()) == [
                Foundation(origins[text].source, origins[text].claimed_by is not None)
            ]


@pytest.mark.parametrize(
    "how", ["by hand", "relabelled", "moved", "confirmed", "two lines", "not loose"]
)
def test_what_the_newest_messages_do_not_tell_the_trail_does(at: Desk, how: str) -> None:
    put(at, "k: 1" if how != "two lines" else "k: 1\nmore", Source.AUTO)
    match how:
        case "by hand":
            at.write("MEMORY.md", at.read("MEMORY.md") + "- more\n")
            at.commit("by hand")
        case "relabelled":
            put(at, "k: 1 #t", Source.AUTO)
        case "moved":
            at.write(
                "MEMORY.md", at.read("MEMORY.md").replace("- k: 1\n", "") + "\n## Other\n\n- k: 1\n"
            )
        case "confirmed":
            put(at, "k: 1", Source.INFERRED)
        case "not loose":
            at.git("gc", "-q")
    document = parse(at.read("MEMORY.md"))
    item = next(item for item in items(document) if item.fact.text.startswith("k: 1"))
    assert foundations._recent_foundations(at.workspace, "MEMORY.md", document, [item]) is None
    own = foundations.find_foundations(at.workspace, "MEMORY.md", document, [item], WriteOptions())
    expected = {"moved": Source.USER_STATED, "confirmed": Source.INFERRED}.get(how, Source.AUTO)
    assert own.of(item).source is expected


def test_a_line_that_reads_as_two_others_together_tells_nothing_of_them(at: Desk) -> None:
    at.write("MEMORY.md", at.read("MEMORY.md") + "- j\n  more\n")
    at.commit("by hand")
    say(at, EditSection("Facts", Action.APPEND, "- j more"), Source.AUTO)
    document = parse(at.read("MEMORY.md"))
    item = next(item for item in items(document) if item.raw == "- j\n  more\n")
    assert foundations.find_foundations(
        at.workspace, "MEMORY.md", document, [item], WriteOptions()
    ).of(item) == Foundation(Source.USER_STATED)


@pytest.mark.parametrize("actor", [None, "bot"])
def test_a_pending_line_is_claimed_by_the_agent_that_has_it_committed(
    at: Desk, actor: str | None
) -> None:
    at.write("MEMORY.md", at.read("MEMORY.md") + "- new\n")
    document = parse(at.read("MEMORY.md"))
    stated = foundations.find_foundations(
        at.workspace, "MEMORY.md", document, items(document), WriteOptions(actor=actor)
    )
    claimed = {item.fact.text: stated.of(item).claimed for item in items(document)}
    assert claimed == {"tea": False, "by: hand": False, "new": actor is not None}


def test_a_message_in_another_encoding_tells_nothing(at: Desk) -> None:
    put(at, "k: 1", Source.AUTO)
    (at.root / "message").write_bytes(b"caf\xe9")
    at.git("-c", "i18n.commitEncoding=latin1", "commit", "-q", "--allow-empty", "-F", "message")
    assert put(at, "k: 2", Source.AUTO).removed == (fact_id("k: 1"),)


def test_the_answer_tells_what_stays_with_a_new_value(at: Desk) -> None:
    put(at, "k: 1 #t", Source.AUTO)
    assert put(at, "k: 2", Source.AUTO).kept == ("#t",)
    assert put(at, "k: 3 #u", Source.AUTO).kept == ()
