"""The entries of a session in the log of a day: where they stand, and what their commit says."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, desk

from mdmem.changes import apply
from mdmem.changes.verbs import digest_day
from mdmem.editors import EditResult
from mdmem.model import FactId, FilePath, Op, Provenance, Source
from mdmem.model.writes import DayEntry, DigestDay, WriteOptions, WriteResult
from mdmem.past.messages import CommitNote, parse_trailers
from mdmem.text.document import parse
from mdmem.text.facts import items, parse_item

DAY = date(2026, 3, 4)
LOG = "memory/2026-03-04.md"
SESSION = "claude/5a1e"
OPTIONS = WriteOptions(source=Source.USER_STATED, session=SESSION)


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def entry(text: str, minute: str = "09:00", line: int = 7, **more: str) -> DayEntry:
    return DayEntry(minute=minute, text=text, kind="fact", cites=f"{SESSION}#{line}", **more)


def digest(
    at: Desk, *entries: DayEntry, source: Source = Source.USER_STATED, dry_run: bool = False
) -> WriteResult:
    options = replace(OPTIONS, source=source, dry_run=dry_run)
    change = DigestDay(
        day=DAY,
        entries=entries,
        run="digest/20260304T090000Z-0a1b2c3d",
        reads=(f"{SESSION}#9 0123456789ab",),
        options=options,
    )
    return apply.apply(at.workspace, change, lambda _: None)


def test_entries_stand_under_their_minutes(at: Desk):
    result = digest(
        at,
        entry("the pump is old", "14:05"),
        entry("the valve is new", "09:30"),
        entry("it leaks", "14:05"),
    )
    text = at.read(LOG)
    assert (
        text[text.index("## ") :]
        == "## 09:30\n\n- [fact] the valve is new\n\n## 14:05\n\n- [fact] the pump is old\n- [fact] it leaks\n"
    )
    assert (result.changed, result.op, len(result.added)) == (True, Op.DIGEST, 3)


def test_the_commit_says_where_each_was_said(at: Desk):
    first, second = digest(
        at, entry("I work at Stripe", key="employer"), entry("it leaks", "10:00", 8)
    ).added
    trailers = parse_trailers(at.git("log", "-1", "--format=%B"))
    assert trailers["Op"] == ["digest"]
    assert trailers["Actor"] == ["digest"]
    assert trailers["Source"] == ["user-stated"]
    assert trailers["Section"] == ["2026-03-04 > 09:00", "2026-03-04 > 10:00"]
    assert trailers["Session"] == [SESSION]
    assert trailers["Run"] == ["digest/20260304T090000Z-0a1b2c3d"]
    assert trailers["Cites"] == [f"{first} {SESSION}#7", f"{second} {SESSION}#8"]
    assert trailers["Key"] == [f"{first} employer"]
    assert trailers["Read"] == [f"{SESSION}#9 0123456789ab"]
    assert "Claimed-By" not in trailers


def test_no_actor_of_the_environment_claims_it(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MDMEM_ACTOR", "agent/main")
    digest(at, entry("it leaks"))
    trailers = parse_trailers(at.git("log", "-1", "--format=%B"))
    assert (trailers["Actor"], "Claimed-By" in trailers) == (["digest"], False)


def test_what_stands_there_or_is_like_it_is_left_out(at: Desk):
    digest(at, entry("the staging server runs PostgreSQL 16 in Frankfurt"))
    head = at.git("rev-parse", "HEAD")
    result = digest(
        at,
        entry("the staging server runs PostgreSQL 16 in Frankfurt", "11:00"),
        entry("The staging server runs PostgreSQL 16, in Frankfurt."),
    )
    assert (result.changed, result.commit, at.git("rev-parse", "HEAD")) == (False, None, head)
    assert digest(at, entry("the staging server runs PostgreSQL 17 in Frankfurt")).changed


def test_what_is_left_out_keeps_nothing_else_from_being_written():
    entries = (
        entry("it leaks"),
        entry("the staging server runs PostgreSQL 16 in Frankfurt"),
        entry("The staging server runs PostgreSQL 16, in Frankfurt."),
        entry("the valve is new"),
    )
    written = digest_day.edit(
        parse("## 09:00\n\n- [fact] it leaks\n"),
        DigestDay(day=DAY, entries=entries, run="r", reads=(), options=OPTIONS),
    )
    assert [item.fact.text for item in items(parse(written.text))] == [
        "it leaks",
        entries[1].text,
        "the valve is new",
    ]


def test_a_correction_supersedes_and_a_doubt_contradicts(at: Desk):
    (old,) = digest(at, entry("the exam is on 3 December")).added
    (new,) = digest(at, entry("the exam is on 4 December", supersedes=old)).added
    assert parse_trailers(at.git("log", "-1", "--format=%B"))["Supersedes"] == [f"{old} {new}"]
    other = DayEntry(
        minute="10:00",
        text="the exam is in May",
        kind="fact",
        cites=f"{SESSION}#9",
        contradicts=(new,),
    )
    (last,) = digest(at, other).added
    assert parse_trailers(at.git("log", "-1", "--format=%B"))["Contradicts"] == [f"{new} {last}"]


def test_nothing_that_stands_is_touched(at: Desk):
    before = "# 2026-03-04\n\nA rainy day.\n\n## 12:00\n\n- lunch\n"
    at.write(LOG, before)
    at.git("add", ".")
    at.git("commit", "-qm", "by hand")
    digest(at, entry("it leaks"))
    assert (at.root / LOG).read_text() == before.replace(
        "## 12:00", "## 09:00\n\n- [fact] it leaks\n\n## 12:00"
    )


def test_a_dry_run_writes_nothing(at: Desk):
    head = at.git("rev-parse", "HEAD")
    assert digest(at, entry("it leaks"), dry_run=True).added
    assert at.git("rev-parse", "HEAD") == head
    assert not (at.root / LOG).exists()


def test_the_note_holds_what_each_written_entry_says():
    entries = (
        DayEntry(minute="09:00", text="it leaks", kind="fact", cites="claude/a#1", key="state"),
        DayEntry(
            minute="09:00",
            text="it is old",
            kind="fact",
            cites="claude/b#2",
            sender="Ada",
            contradicts=(FactId("abcdef"),),
        ),
        DayEntry(
            minute="09:00",
            text="it is left out",
            kind="fact",
            cites="claude/c#3",
            key="other",
            sender="Bob",
        ),
    )
    first, second = map(digest_day.entry_fact, entries[:2])
    change = DigestDay(
        day=DAY, entries=entries, run="digest/1", reads=("claude/b#2 00",), options=OPTIONS
    )
    note = CommitNote(
        op=Op.DIGEST,
        path=FilePath(LOG),
        section=("09:00",),
        provenance=Provenance(actor="somebody", source=Source.INFERRED),
    )
    assert digest_day.VERB.complete_note(note, change, (first, second)) == CommitNote(
        op=Op.DIGEST,
        path=FilePath(LOG),
        section=("09:00",),
        provenance=Provenance(actor="digest", source=Source.INFERRED, session="claude/a"),
        more_sessions=("claude/b",),
        run="digest/1",
        cites=((first, "claude/a#1"), (second, "claude/b#2")),
        keys=((first, "state"),),
        senders=((second, "Ada"),),
        contradicts=((FactId("abcdef"), second),),
        reads=("claude/b#2 00",),
    )


LEAKS, OLD, NEW = "- [fact] it leaks\n", "- [fact] the pump is old\n", "- [fact] the valve is new\n"


@pytest.mark.parametrize(
    ("before", "taken", "after", "section"),
    [
        (
            f"# D\n\n## 09:00\n\n{LEAKS}\n## 14:05\n\n{OLD}",
            [LEAKS],
            f"# D\n\n## 14:05\n\n{OLD}",
            ("D", "09:00"),
        ),
        (
            f"# D\n\n## 09:00\n\n{LEAKS}\n## 14:05\n\n{OLD}",
            [OLD],
            f"# D\n\n## 09:00\n\n{LEAKS}",
            ("D", "14:05"),
        ),
        (f"# D\n\n## 09:00\n\n{LEAKS}\n## 14:05\n\n{OLD}", [OLD, LEAKS], "# D\n", ("D", "14:05")),
        (f"# D\n\n## 09:00\n\n{LEAKS}{OLD}", [LEAKS], f"# D\n\n## 09:00\n\n{OLD}", ("D", "09:00")),
        (f"# D\n\n## 09:00\n\n{LEAKS}", [NEW], f"# D\n\n## 09:00\n\n{LEAKS}", ()),
        (f"# D\n\n## 09:00\n\n{LEAKS}", [NEW, LEAKS], "# D\n", ("D", "09:00")),
        (f"# D\n\n## Notes\n\n{LEAKS}", [LEAKS], "# D\n\n## Notes\n\n", ("D", "Notes")),
        (f"{LEAKS}\n## 09:00\n\n{OLD}", [LEAKS], f"## 09:00\n\n{OLD}", ()),
        (f"## 09:00\n\n{LEAKS}", [LEAKS], "", ("09:00",)),
        (f"## 09:00\n\n{LEAKS}\n## 14:05\n\n{OLD}", [LEAKS], f"## 14:05\n\n{OLD}", ("09:00",)),
        (f"\n\n## 09:00\n\n{LEAKS}", [LEAKS], "", ("09:00",)),
        (f"---\na: 1\n---\n\n## 09:00\n\n{LEAKS}", [LEAKS], "---\na: 1\n---\n", ("09:00",)),
        (
            f"\ufeff## 09:00\n\n{LEAKS}\n## 14:05\n\n{OLD}",
            [LEAKS],
            f"\ufeff## 14:05\n\n{OLD}",
            ("09:00",),
        ),
        (
            f"# D\n\n\n\n## 09:00\n\n{LEAKS}\n## 14:05\n\n{OLD}",
            [LEAKS],
            f"# D\n\n\n\n## 14:05\n\n{OLD}",
            ("D", "09:00"),
        ),
    ],
)
def test_entries_go_with_the_heading_of_a_minute_that_holds_nothing_more(
    before: str, taken: list[str], after: str, section: tuple[str, ...]
):
    facts = [parse_item(item).id for item in taken]
    assert digest_day.take_out(parse(before), facts) == EditResult(
        text=after, op=Op.REVERT, section=section
    )
