from pathlib import Path

import pytest
from conftest import World, examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.model import CommitId, FactId, FilePath, Op, Provenance, Source, Supersession
from mdmem.model.trail import Commit
from mdmem.past.messages import CommitNote, compose_message, parse_trailers, section_name
from mdmem.past.notes import line_origin, parse_message

PATH = FilePath("MEMORY.md")
NOTE = CommitNote(
    Op.REPLACE,
    PATH,
    ("Memory", "Work", "Employer"),
    Provenance(Source.USER_STATED, 0.95, "agent/main", "2026-11-21-a"),
)


def test_a_message_has_the_documented_format() -> None:
    note = CommitNote(
        NOTE.op,
        PATH,
        NOTE.section,
        NOTE.provenance,
        (Supersession(FactId("1f3c9a2b"), FactId("8e0d4c11")),),
    )
    before, after = "# Memory\n\n- works at Stripe\n\nx\n", "# Memory\n\n- works at Linear\n\nx\n"
    assert compose_message(note, (before, after)) == (
        "MEMORY.md: replace Work > Employer\n\n- works at Stripe\n+ works at Linear\n\n"
        "Mdmem-Op: replace\nMdmem-Section: Memory > Work > Employer\nMdmem-Source: user-stated\nMdmem-Confidence: 0.95\n"
        "Mdmem-Supersedes: 1f3c9a2b 8e0d4c11\nMdmem-Actor: agent/main\nMdmem-Session: 2026-11-21-a\n"
    )


def test_every_field_of_a_note_is_a_trailer() -> None:
    provenance = Provenance(Source.AUTO, 0.4, "agent/main", "s1", "two\nlines\n\nMdmem-Op: forged")
    first, second = FactId("1f3c9a2b"), FactId("8e0d4c11")
    note = CommitNote(
        Op.LOG,
        PATH,
        ("A", "B"),
        provenance,
        (Supersession(first, second),),
        (second,),
        True,
        retracts=(first, second),
        confirms=(second,),
        contradicts=((first, second),),
        resolves=((second, first),),
        reverts=(CommitId("a" * 40), CommitId("b" * 64)),
        claimed_by="agent/main",
    )
    text = compose_message(note)
    assert parse_trailers(text) == {
        "Op": ["log"],
        "Section": ["A > B"],
        "Source": ["auto"],
        "Confidence": ["0.4"],
        "Supersedes": ["1f3c9a2b 8e0d4c11", "8e0d4c11 -"],
        "Retracts": ["1f3c9a2b", "8e0d4c11"],
        "Confirms": ["8e0d4c11"],
        "Contradicts": ["1f3c9a2b 8e0d4c11"],
        "Resolves": ["8e0d4c11 1f3c9a2b"],
        "Reverts": ["a" * 40, "b" * 64],
        "Also": ["true"],
        "Actor": ["agent/main"],
        "Session": ["s1"],
        "Claimed-By": ["agent/main"],
        "Reason": ["two lines Mdmem-Op: forged"],
    }
    note_read = parse_message(text)
    assert (note_read.op, note_read.path, note_read.section, note_read.also) == (
        Op.LOG,
        PATH,
        section_name(note.section),
        True,
    )
    assert note_read.provenance == Provenance(
        Source.AUTO, 0.4, "agent/main", "s1", "two lines Mdmem-Op: forged"
    )
    assert note_read.supersedes == ((first, second), (second, None))
    assert (note_read.retracts, note_read.contradicts, note_read.resolves) == (
        note.retracts,
        note.contradicts,
        note.resolves,
    )
    assert (note_read.confirms, note_read.reverts, note_read.claimed_by) == (
        note.confirms,
        note.reverts,
        "agent/main",
    )


def test_a_digest_says_where_each_was_said_and_how_far_is_read() -> None:
    first, second = FactId("1f3c9a2b"), FactId("8e0d4c11")
    note = CommitNote(
        op=Op.DIGEST,
        path=FilePath("memory/2026-03-04.md"),
        section=("2026-03-04", "09:00"),
        provenance=Provenance(Source.USER_STATED, 0.95),
        more_sections=(("2026-03-04", "10:30"),),
        run="digest/20260304T090000Z-0a1b2c3d",
        cites=((first, "claude/5a1e00ff#17-19"), (second, "pi/two words#40")),
        keys=((first, "favourite colour"),),
        reads=("claude/5a1e00ff#20 0123456789ab",),
    )
    note_read = parse_message(compose_message(note))
    assert note_read.sections == ("2026-03-04 > 09:00", "2026-03-04 > 10:30")
    assert note_read.section == note_read.sections[0]
    assert [
        note_read.names_section(("2026-03-04", minute)) for minute in ("09:00", "10:30", "11:00")
    ] == [True, True, False]
    assert (note_read.run, note_read.cites, note_read.keys) == (note.run, note.cites, note.keys)
    assert note_read.reads == (("claude/5a1e00ff#20", "0123456789ab"),)


@pytest.mark.parametrize(
    "trailer",
    [
        "Cites: 1f3c9a2b",
        "Cites: 1f3c9a2b claude/5a1e#",
        "Cites: 1f3c9a2b claude/5a1e#0",
        "Cites: 1f3c9a2b claude/5a1e#7-",
        "Cites: 1f3c9a2b 5a1e#7",
        "Cites: 1f3c claude/5a1e#7",
        "Key: 1f3c9a2b",
        "Key: employer",
        "Read: claude/5a1e#7",
        "Read: claude/5a1e#7 None",
        "Read: claude/5a1e#0 0123456789ab",
        "Read: claude/5a1e 0123456789ab",
    ],
)
def test_malformed_parts_of_a_digest_are_left_out(trailer: str) -> None:
    note = parse_message(f"memory/2026-03-04.md: digest\n\nMdmem-Op: digest\nMdmem-{trailer}\n")
    assert (note.op, note.run, note.cites, note.keys, note.reads, note.sections) == (
        Op.DIGEST,
        None,
        (),
        (),
        (),
        (),
    )


def test_long_changes_are_quoted_in_part() -> None:
    after = "".join(f"line {number} {'x' * 300}\n" for number in range(30))
    lines = compose_message(NOTE, ("", after)).split("\n\n")[1].split("\n")
    assert len(lines) == 21
    assert lines[-1] == "(10 more lines)"
    assert all(len(line) <= 202 for line in lines)
    assert lines[0].endswith("…")


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=40), st.text(max_size=40))
@examples(300)
def test_no_text_forges_a_trailer(before: str, after: str, reason: str, title: str) -> None:
    note = CommitNote(
        Op.APPEND,
        PATH,
        ("T", f"{title}\n\nMdmem-Op: forged"),
        Provenance(reason=f"{reason}\n\nMdmem-Op: forged\nMdmem-Also: true"),
    )
    written = compose_message(
        note, (before + "\nMdmem-Op: forged\n", after + "\n\nMdmem-Op: forged\n\n")
    )
    trailers = parse_trailers(written)
    assert trailers["Op"] == ["append"]
    assert "Also" not in trailers
    assert "\0" not in written
    assert written.splitlines()[0].startswith("MEMORY.md: append ")


def test_git_reads_the_same_trailers(world: World, tmp_path: Path) -> None:
    written = compose_message(NOTE, ("", "Mdmem-Op: forged\n\nx\n"))
    parsed = world.git(tmp_path, "interpret-trailers", "--parse", stdin=written).stdout
    assert [line for line in parsed.splitlines() if line.startswith("Mdmem-Op")] == [
        "Mdmem-Op: replace"
    ]
    assert len(parsed.splitlines()) == sum(map(len, parse_trailers(written).values()))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("subject\n\nMdmem-Op: log\n", {"Op": ["log"]}),
        ("subject\n\nMdmem-Op: log\n\nlast paragraph\n", {}),
        (
            "s\n\nMdmem-Supersedes: a b\nMdmem-Supersedes: c d\nSigned-off-by: x\n",
            {"Supersedes": ["a b", "c d"]},
        ),
        ("s\n\nmdmem-op: log\nMdmem-Op:log\n", {}),
    ],
)
def test_trailers(text: str, values: dict[str, list[str]]) -> None:
    assert parse_trailers(text) == values


def commit(text: str) -> Commit:
    return Commit(CommitId("c"), 7, "Ada", text)


@pytest.mark.parametrize(
    ("text", "source", "confidence"),
    [
        ("by hand\n", Source.USER_STATED, 0.95),
        ("s\n\nMdmem-Op: log\nMdmem-Source: auto\nMdmem-Confidence: 0.5\n", Source.AUTO, 0.5),
        ("s\n\nMdmem-Op: log\nMdmem-Source: auto\n", Source.AUTO, 0.4),
        ("s\n\nMdmem-Op: log\n", Source.INFERRED, 0.7),
        (
            "s\n\nMdmem-Op: log\nMdmem-Source: hearsay\nMdmem-Confidence: high\n",
            Source.INFERRED,
            0.7,
        ),
        ("s\n\nMdmem-Op: log\nMdmem-Confidence: 7\n", Source.INFERRED, 1.0),
        ("s\n\nMdmem-Op: log\nMdmem-Confidence: -7\n", Source.INFERRED, 0.0),
        ("s\n\nMdmem-Op: log\nMdmem-Confidence: nan\n", Source.INFERRED, 0.7),
    ],
)
def test_origins_of_a_commit(text: str, source: Source, confidence: float) -> None:
    origin = line_origin(commit(text), "- a")
    assert (origin.commit, origin.time, origin.source, origin.confidence) == (
        "c",
        7,
        source,
        confidence,
    )


def test_a_removed_secret_is_not_quoted() -> None:
    key = (
        "-----BEGIN "
        + "RSA PRIVATE KEY-----\n"
        + "MIIEpAIBAAKCAQEA7bq8Zr1u\n" * 3
        + "-----END "
        + "RSA PRIVATE KEY-----\n"
    )
    text = compose_message(NOTE, ("# M\n\n- gh" + "p_" + f"{'aB3' * 12}\n{key}", "# M\n\n- none\n"))
    assert "aB3aB3" not in text
    assert "MIIE" not in text
    assert "+ none" in text


def test_trailers_of_a_person_state_nothing() -> None:
    note_read = parse_message("subject\n\nMdmem-Supersedes: 1f3c9a2b 8e0d4c11\nMdmem-Actor: x\n")
    assert (note_read.op, note_read.path, note_read.supersedes, note_read.reverts) == (
        None,
        None,
        (),
        (),
    )
    assert note_read.provenance == Provenance(Source.USER_STATED, 0.95)
    assert parse_message(f'Revert "x"\n\nThis reverts commit {"a" * 40}.\n').reverts == ("a" * 40,)


MADE = "Mdmem-Contradicts: 1f3c9a2b 8e0d4c11"


@pytest.mark.parametrize(
    ("text", "is_trailer"),
    [
        (f"Merge branch 'side'\n\n{MADE}\n", True),
        (f"Merge branch 'side'\r\n\r\n{MADE}\r\n", True),
        (f"Merge\n\nReviewed-by: Ada\n{MADE}\n", True),
        (f"Merge\n\nWords: of two\n  lines\n{MADE}\n", True),
        (f"Merge\n\nSigned-off-by: Ada\na line of another sort\n{MADE}\n", True),
        (f"Merge\n\n(cherry picked from commit 0)\n{MADE}\n", True),
        (f"Merge\n \t\n{MADE}\n", True),
        (f"{MADE}\n", False),
        (f"About\n{MADE}\n", False),
        (f"About marks\n\nI wonder what\n{MADE}\nis for.\n", False),
        (f"About marks\n\nA line such as\n{MADE}\n", False),
        (f"About marks\n\n    {MADE}\n", False),
        (f"About marks\n\n{MADE}\n\nThat is what it said.\n", False),
        ("About marks\n\nSigned-off-by: Ada\n" + 7 * "words\n" + f"{MADE}\n", False),
    ],
)
def test_a_merge_states_by_its_trailers_alone(
    world: World, tmp_path: Path, text: str, is_trailer: bool
) -> None:
    assert parse_message(text).contradicts == (
        ((FactId("1f3c9a2b"), FactId("8e0d4c11")),) if is_trailer else ()
    )
    read_by_git = world.git(
        tmp_path, "interpret-trailers", "--parse", stdin=text.replace("\r", "")
    ).stdout.splitlines()
    assert (MADE in read_by_git) == is_trailer


def test_malformed_trailers_are_left_out() -> None:
    lines = [
        "Op: juggle",
        "Source: hearsay",
        "Confidence: -inf",
        "Supersedes: 1f3c9a2b",
        "Supersedes: 1f3c9a2b 8e0d4c11 x",
        "Supersedes: 1F3C9A2B -",
        "Supersedes: - 8e0d4c11",
        "Supersedes: 8e0d4c11 -",
        "Retracts: 1f3c9a2b 8e0d4c11",
        "Retracts:",
        "Contradicts: 1f3c9a2b -",
        "Resolves: -",
        "Reverts: HEAD",
        "Also: yes",
        "Actor: ",
    ]
    note_read = parse_message(
        "edited\r\n\r\n" + "\r\n".join(f"Mdmem-{line}" for line in lines) + "\r\n"
    )
    assert (note_read.op, note_read.path, note_read.section, note_read.also) == (
        "juggle",
        None,
        "",
        False,
    )
    assert note_read.provenance == Provenance(Source.INFERRED, 0.0)
    assert note_read.supersedes == ((FactId("8e0d4c11"), None),)
    assert (note_read.retracts, note_read.contradicts, note_read.resolves, note_read.reverts) == (
        (),
        (),
        (),
        (),
    )


@given(
    st.lists(
        st.sampled_from(["Op", "Supersedes", "Confidence", "Reverts", "Contradicts", "Section"]),
        max_size=6,
    ),
    st.data(),
)
@examples(200)
def test_every_message_can_be_read(names: list[str], data: st.DataObject) -> None:
    lines = [f"Mdmem-{name}: {data.draw(st.text(max_size=20))}" for name in names]
    parse_message(data.draw(st.text(max_size=20)) + "\n\n" + "\n".join(lines))


@pytest.mark.parametrize(
    ("subject", "path"),
    [
        ("MEMORY.md: replace Work > Employer", "MEMORY.md"),
        ("memory/a: b.md: log 09:00", "memory/a: b.md"),
        ("Notes.MD: append", "Notes.MD"),
        ("memory: purge", None),
    ],
)
def test_the_file_that_a_subject_names(subject: str, path: str | None) -> None:
    assert parse_message(f"{subject}\n\nMdmem-Op: append\n").path == path


@pytest.mark.parametrize(
    ("message", "agent"),
    [
        ("notes\n\nMdmem-Claimed-By: agent/x\n", "agent/x"),
        (
            "Squashed commit of the following:\n\ncommit 1f3c\n\n    notes\n\n    Mdmem-Claimed-By: agent/x\n\nmore\n",
            "agent/x",
        ),
        ("notes\n\nOf `Mdmem-Claimed-By: agent/x` the docs speak.\n", None),
    ],
)
def test_a_commit_by_hand_may_be_claimed(message: str, agent: str | None) -> None:
    note = parse_message(message)
    assert (note.op, note.claimed_by, note.provenance.actor) == (None, agent, agent)
    assert note.provenance.source is (Source.INFERRED if agent else Source.USER_STATED)
