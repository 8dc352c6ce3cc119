"""The plan of a purge: its numbers, what it says that it cannot reach, and the note
that it leaves.
"""

from pathlib import Path

import pytest
from vault import FACT, OTHER, WHEN, WORDS, Vault, no_transcripts
from vault import vault as vault

from mdmem.model.errors import FactProblem
from mdmem.model.writes import PurgePlan
from mdmem.purge import history_rewrite, purging
from mdmem.purge.purging import HeldTranscripts, PurgeNote
from mdmem.purge.target import PURGED_MARK, PurgeTarget, purge_target

ALWAYS = (
    "Reflogs are emptied and unreachable objects are deleted: nothing can be restored from them.",
    "Not removed from other clones, bundles, backups and caches, nor from text in encodings other than UTF-8.",
)
HELD = HeldTranscripts(
    paths=("a.jsonl", "b.jsonl"), reads=("a.jsonl 12", "b.jsonl 7"), purged="4 1234abcd"
)


def of_transcripts(_: PurgeTarget) -> HeldTranscripts:
    return HELD


def test_a_plan_as_a_whole(vault: Vault) -> None:
    vault.git("hash-object", "-w", "--stdin", stdin=f"{WORDS}, where nothing leads")
    plan = PurgePlan(
        files=1, commits=1, messages=0, tags=0, refs=1, signatures=0, loose=0, notices=ALWAYS
    )
    assert vault.plan() == plan


def test_transcripts_are_told_and_noted(vault: Vault) -> None:
    plan = purging.plan_rewrite(vault.scope(), WORDS, FACT, of_transcripts)
    assert plan.notices == (
        *ALWAYS,
        "Not removed from the transcript a.jsonl, which belongs to its client; the transcript now counts as read.",
        "Not removed from the transcript b.jsonl, which belongs to its client; the transcript now counts as read.",
        "A short hash of the text is kept in the commit, so that transcripts do not bring it back; someone who guesses the text can confirm it.",
    )


def test_the_note(vault: Vault) -> None:
    note = PurgeNote(WHEN, actor="agent/a", session="s \ud800", reason=f"about\n {WORDS}")
    assert purging._note_message(note, purge_target(WORDS, FACT), HELD).split("\n") == [
        *(
            "Purged a text from history",
            "",
            "Mdmem-Op: purge",
            "Mdmem-Actor: agent/a",
            "Mdmem-Session: s ?",
        ),
        *(
            f"Mdmem-Reason: about {PURGED_MARK}",
            "Mdmem-Read: a.jsonl 12",
            "Mdmem-Read: b.jsonl 7",
            "Mdmem-Purged: 4 1234abcd",
            "",
        ),
    ]


def test_a_plan_writes_no_objects(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_rewrite, "_CHUNK_BYTES", 10)
    before = vault.everything()
    vault.plan()
    assert vault.everything() == before


def test_what_lies_beyond_the_repository(vault: Vault) -> None:
    folder = vault.root / ".git"
    for name in ("modules/x", "lfs/x", "objects/info/alternates", "objects/pack/pack-x.keep"):
        vault.write(str(folder / name), "")
    vault.git("remote", "add", "origin", "nowhere")
    (vault.root / "link").symlink_to(WORDS)
    vault.commit("a link")
    plan = vault.plan()
    assert [notice.partition(":")[0].partition(".")[0] for notice in plan.notices[:-2]] == [
        "Not removed from 0 remote-tracking refs of 1 remote",
        "Not removed from the target of 1 symbolic link",
        "Submodules are repositories of their own and are not searched",
        "This repository borrows objects from another one, which is not searched or changed",
        "Packs marked to be kept (",
        "Git LFS objects are not searched",
    ]
    assert plan.notices[-2:] == ALWAYS


@pytest.mark.parametrize("many", [0, 1])
def test_many_files_are_asked_about(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(purging, "_MANY_FILES", many)
    asked = ("It is in 1 file of the work tree: are these the right words?",)
    assert vault.plan().notices == ((*asked, *ALWAYS) if many == 0 else ALWAYS)


def test_what_can_be_taken_out_nowhere(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "message").write_bytes(b"caf\xe9\n")
    vault.git(
        "-c",
        "i18n.commitEncoding=ISO-8859-1",
        "commit",
        "-q",
        "--allow-empty",
        "-F",
        tmp_path / "message",
    )

    def message(*memory: Path) -> str:
        with pytest.raises(FactProblem) as refused:
            purging.plan_rewrite(vault.scope(*memory), "somewhere else", None, no_transcripts)
        assert refused.value.code == "fact-not-found"
        return refused.value.message

    assert message() == "'somewhere else' is in no file and no commit"
    (vault.root / "binary").write_bytes(b"\0somewhere else")
    assert (
        message()
        == "'somewhere else' is only where it cannot be removed from here: 1 file or object"
    )
    outside = [tmp_path / name for name in ("a.md", "b.md", "c.md")]
    for path, text in zip(outside, ("somewhere else", "- somewhere\n  else", OTHER), strict=True):
        path.write_text(text)
    assert message(*outside, vault.root / "binary").endswith("from here: 3 files or objects")
