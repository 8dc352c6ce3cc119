"""The notes in commit messages, and whose statement a line is by them."""

import textwrap
from datetime import UTC, datetime

import pytest

from mdmem.model import CommitId, FactId, FilePath, Op, Provenance, SectionPath, Source
from mdmem.model.trail import Commit, TrailCommit
from mdmem.past.messages import CommitNote, compose_claimed_save, compose_message
from mdmem.past.notes import (
    ChangedText,
    Statements,
    holds_purged,
    parse_message,
    parse_notes,
    parse_purged,
    purged_trailer,
    purged_words,
)
from mdmem.past.steps import Step, with_past
from mdmem.past.table import Trail

MEMORY = FilePath("MEMORY.md")


def message(
    source: Source,
    before: str,
    after: str,
    section: SectionPath = ("Facts",),
    path: FilePath = MEMORY,
) -> str:
    """The message of a commit of mdmem, without the line end."""
    note = CommitNote(Op.REMEMBER, path, section, Provenance(source, source.confidence))
    return compose_message(note, (before, after)).rstrip()


GUESS = message(Source.AUTO, "", "- a\n- b\n")
WORD = message(Source.USER_STATED, "", "- c\n")


def logged(*messages: str) -> str:
    """The message of git's own squash, which lists the newest first."""
    commits = (
        f"commit {'abc0' * 10}\nAuthor: A <a@b.test>\nDate:   Thu Mar 5 09:30:00 2026 +0000\n\n{textwrap.indent(each, '    ')}"
        for each in reversed(messages)
    )
    return "Squashed commit of the following:\n\n" + "\n\n".join(commits)


def statements(text: str, *came: str, facts: tuple[str, ...] = ()) -> Statements:
    return Statements(
        Commit(CommitId("c"), 7, "Ada", text),
        lambda: ChangedText(frozenset(came), facts=frozenset(map(FactId, facts))),
    )


def source(text: str, line: str, *came: str, section: SectionPath = ()) -> Source:
    return statements(text, line, *came).note((line,), MEMORY, section).provenance.source


SQUASHES = {
    "rebase": f"{GUESS}\n\n{WORD}\n",
    "rebase, other order": f"{WORD}\n\n{GUESS}\n",
    "rebase, with comments": f"# This is a combination of 2 commits.\n# This is the 1st commit message:\n\n{GUESS}\n\n# The 2nd:\n\n{WORD}\n",
    "server": f"Notes (#12)\n\n* {GUESS}\n\n* {WORD}\n\n---------\n\nCo-authored-by: A B <a@b.test>\n",
    "indented list": f"Notes\n\n{textwrap.indent(GUESS, '  ')}\n\n{textwrap.indent(WORD, '  ')}",
    "log": logged(GUESS, WORD),
    "log in a log": logged(logged(GUESS, WORD)),
    "a person's at the end": f"{GUESS}\n\n{WORD}\n\ndocs: what I know\n\nand more\n",
    "line ends": f"{GUESS}\n\n{WORD}\n".replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", SQUASHES.values(), ids=SQUASHES)
def test_each_note_of_a_squash_counts_for_what_it_quotes(text: str) -> None:
    assert [source(text, line) for line in ("- a", "b", "- c", "- not quoted")] == [
        Source.AUTO,
        Source.AUTO,
        Source.USER_STATED,
        Source.AUTO,
    ]
    assert parse_message(text).provenance.source is Source.AUTO


def test_a_squash_keeps_what_each_digest_says() -> None:
    def digest(line: int, run: str) -> str:
        note = CommitNote(
            op=Op.DIGEST,
            path=FilePath("memory/2026-03-04.md"),
            section=("2026-03-04", "09:00"),
            provenance=Provenance(Source.USER_STATED, 0.95),
            run=run,
            cites=((FactId(f"0000000{line}"), f"claude/5a1e#{line}"),),
            keys=((FactId(f"0000000{line}"), "home"),),
            reads=(f"claude/5a1e#{line} 0123456789ab",),
        )
        return compose_message(note, ("", f"- {line}\n")).rstrip()

    for text in (f"{digest(1, 'a')}\n\n{digest(2, 'b')}\n", logged(digest(1, "a"), digest(2, "b"))):
        joined = parse_message(text)
        assert joined.cites == (("00000001", "claude/5a1e#1"), ("00000002", "claude/5a1e#2"))
        assert joined.keys == (("00000001", "home"), ("00000002", "home"))
        assert joined.reads == (
            ("claude/5a1e#1", "0123456789ab"),
            ("claude/5a1e#2", "0123456789ab"),
        )
        assert joined.run is None
    assert parse_message(f"{digest(1, 'a')}\n\n{digest(2, 'a')}\n").run == "a"


def test_the_last_note_that_quotes_a_line_counts() -> None:
    later = message(Source.INFERRED, "- c\n- d\n", "- d\n- a\n")
    for text in (f"{GUESS}\n\n{WORD}\n\n{later}", logged(GUESS, WORD, later)):
        assert source(text, "- a") is Source.INFERRED


def test_what_lies_between_two_changes_is_no_change() -> None:
    later = message(Source.USER_STATED, "- x\n- a\n- y\n", "- x1\n- a\n- y1\n")
    assert "+ a" in later
    assert source(f"{GUESS}\n\n{later}", "- a") is Source.AUTO


def test_a_note_of_the_entrys_section_goes_before_others() -> None:
    elsewhere = message(Source.USER_STATED, "", "- a\n", ("Other",))
    text = f"{GUESS}\n\n{elsewhere}"
    assert source(text, "- a", section=("Facts",)) is Source.AUTO
    assert source(text, "- a", section=("Other",)) is Source.USER_STATED
    assert source(text, "- a", section=("Third",)) is Source.USER_STATED


def test_an_entry_of_several_lines_has_the_weaker_source() -> None:
    text = f"{GUESS}\n\n{WORD}"
    assert statements(text).note(("- c\n", "  a\n")).provenance.source is Source.AUTO
    assert (
        statements(text).note(("- c\n", "\n", "  more\n")).provenance.source is Source.USER_STATED
    )


def test_long_lines_are_found_again() -> None:
    line = "x" * 300
    text = f"{message(Source.USER_STATED, '', line)}\n\n{GUESS}\n"
    assert source(text, f"  * {line}  ") is Source.USER_STATED
    assert source(text, f"{line[:150]} other") is Source.AUTO


def test_a_claim_is_weaker_than_the_users_own_word() -> None:
    note = CommitNote(
        Op.REMEMBER, MEMORY, (), Provenance(Source.USER_STATED, 0.95), claimed_by="agent/x"
    )
    text = f"{compose_message(note, ('', '- x'))}\n\n{WORD}"
    assert statements(text).note(("- other",)).claimed_by == "agent/x"


def test_a_claimed_save_in_a_squash() -> None:
    save = compose_claimed_save("MEMORY.md: edited by hand", [("", "- mine\n")], "agent/x")
    assert statements(f"{save}\n{WORD}").note(("- mine",)).claimed_by == "agent/x"
    assert [each.is_formal for each in parse_notes(f"{save}\n{WORD}")] == [True, True]


EXAMPLES = {
    "indented": f"docs\n\nFor example:\n\n{textwrap.indent(GUESS, '    ')}\n",
    "indented by a tab": f"docs\n\nFor example:\n\n{textwrap.indent(GUESS, chr(9))}\n",
    "fenced": f"docs\n\n```text\n{GUESS}\n```\n",
    "fenced with tildes": f"docs\n\n~~~~\n{GUESS}\n~~~~\n\nSo it is.",
    "fenced twice": f"docs\n\n```\nx\n```\n\n```\n{GUESS}\n```\n",
    "quoted": f"docs\n\n{textwrap.indent(GUESS, '> ', lambda _: True)}",
    "log without the head of a squash": logged(GUESS).partition("\n")[2],
    "trailers alone": "docs\n\nMdmem-Op: remember\nMdmem-Source: auto\n\nis what it says.",
    "in prose": "docs\n\nA commit of mdmem has\nMdmem-Op: remember\nand\nMdmem-Source: auto\nin it.",
}


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_counts_for_nothing(text: str) -> None:
    assert source(text, "- by hand") is Source.USER_STATED
    assert statements(text, "by hand").notes == (parse_message("by hand"),)
    assert parse_message(text).op is None


def test_a_fence_that_is_not_closed_hides_nothing() -> None:
    assert source(f"{GUESS}\n\n```\n\n{WORD}", "- a") is Source.AUTO
    assert source(f"docs\n\n```\n\n{GUESS}", "- a") is Source.AUTO


def test_an_indented_note_counts_for_what_the_commit_changed() -> None:
    assert source(EXAMPLES["indented"], "- x", "a") is Source.AUTO


def test_what_is_stated_of_other_facts_does_not_count() -> None:
    trailers = "Mdmem-Retracts: 1f3c9a2b\nMdmem-Contradicts: 1f3c9a2b 8e0d4c11\nMdmem-Supersedes: 8e0d4c11 -"
    text = f"{GUESS}\n{trailers}\n\n{WORD}"
    squashed, own = statements(text, facts=("8e0d4c11",)).notes
    assert (squashed.retracts, squashed.contradicts, squashed.supersedes) == (
        (),
        (("1f3c9a2b", "8e0d4c11"),),
        (("8e0d4c11", None),),
    )
    assert own.provenance.source is Source.USER_STATED
    _, own = statements(f"{WORD}\n\n{GUESS}\n{trailers}").notes
    assert own.retracts == ("1f3c9a2b",)
    assert parse_message(text).retracts == ("1f3c9a2b",)


@pytest.mark.parametrize(
    "added",
    [
        "Reviewed-by: A <a@b.test>",
        "(cherry picked from commit abc)",
        "Fixes: 12\nChange-Id: I1",
        "---------",
    ],
)
def test_what_is_added_leaves_a_note_the_commits_own(added: str) -> None:
    for text in (f"{GUESS}\n\n{added}\n", f"{GUESS}\n{added}\n"):
        (note,) = parse_notes(text)
        assert (note.is_own, note.note.path, note.note.section) == (True, MEMORY, "Facts")
        assert source(text, "- anything") is Source.AUTO


def test_each_note_of_a_squash_names_its_own_file() -> None:
    other = message(Source.AUTO, "", "- x", path=FilePath("memory/a: b.md"))
    assert [each.note.path for each in parse_notes(f"{GUESS}\n\n{other}\n\n* {WORD}")] == [
        MEMORY,
        "memory/a: b.md",
        MEMORY,
    ]
    (note,) = parse_notes(
        f"{GUESS.partition(chr(10))[0]}\n\nin other words\n\n{GUESS.partition(chr(10))[2].strip()}"
    )
    assert note.note.path == MEMORY


@pytest.mark.parametrize(
    "trailers",
    [
        "Mdmem-Contradicts: 01234567 89abcdef\n" * 20_001,
        "Mdmem-Op: log\nMdmem-Source: auto\n\nx\n\n" * 10_001,
        "This reverts commit 0123456.\n" * 20_001,
        f"Mdmem-Op: log\nMdmem-Reason: {'x' * 4_000_000}\n",
    ],
)
def test_a_message_over_the_bound_states_nothing_and_is_nobodys_word(trailers: str) -> None:
    note = parse_message(f"x\n\n{trailers}")
    assert (note.op, note.contradicts, note.reverts) == (None, (), ())
    assert note.provenance.source is Source.INFERRED
    assert parse_notes(f"x\n\n{trailers}") == ()


def test_what_the_squash_of_hundreds_of_commits_says_is_read() -> None:
    pairs = "".join(f"Mdmem-Contradicts: {n:08x} 89abcdef\n" for n in range(20))
    note = parse_message(f"MEMORY.md: log Facts\n\nMdmem-Op: log\n{pairs}\n" * 500)
    assert len(note.contradicts) == 10_000


def test_numbers_of_any_length_in_a_message() -> None:
    nines = "9" * 5000
    note = parse_message(
        f"x\n\nMdmem-Op: digest\nMdmem-Read: claude/a#{nines} abcdefabcdef\n"
        f"Mdmem-Cites: abcdef01 claude/a#{nines}\nMdmem-Cites: abcdef01 claude/a#1-{nines}\n"
    )
    assert (note.reads, note.cites) == ((), ())
    assert list(parse_purged(f"x\n\nMdmem-Purged: {nines} abcdef01\n", 7)) == []


@pytest.mark.parametrize(
    ("purged", "said", "is_held"),
    [
        ("the", "the accountant is Maria", False),
        ("is", "the accountant is Maria", False),
        ("this is the", "I think this is the accountant", False),
        ("und", "wir und ihr", False),
        ("Abc", "say abc to her", False),
        ("4711", "the code is 4711", True),
        ("hunter2", "it is Hunter2 there", True),
        ("pin is abc", "the pin is abc", True),
    ],
)
def test_a_purge_of_common_words_silences_nothing(purged: str, said: str, is_held: bool) -> None:
    words = tuple(parse_purged(f"x\n\nMdmem-Purged: {purged_trailer(purged)}\n", 100))
    assert holds_purged(said, datetime.fromtimestamp(50, UTC), words) is is_held
    assert not holds_purged(said, datetime.fromtimestamp(150, UTC), words)


def test_a_purge_dated_ahead_of_now_counts_from_its_past() -> None:
    now = datetime(2026, 3, 5, tzinfo=UTC)
    with Trail.in_memory() as trail:
        parents: list[TrailCommit] = []
        for number, day in enumerate((now, datetime(2099, 1, 1, tzinfo=UTC)), 1):
            seconds = int(day.timestamp())
            text = f"x\n\nMdmem-Op: purge\nMdmem-Purged: {purged_trailer('hunter2')}\n"
            made = TrailCommit(number, CommitId(str(number)), seconds, "M", text, committed=seconds)
            parents = [with_past(made, parents)]
            trail.append(parents[0], Step())
        assert {each.time for each in purged_words(trail, now)} == {now}


def test_a_message_that_many_facts_ask_for_is_read_once() -> None:
    text = "x\n\nMdmem-Op: log\n" + "Mdmem-Retracts: 01234567\n" * 10_000
    assert parse_message(text) is parse_message("".join(text))
