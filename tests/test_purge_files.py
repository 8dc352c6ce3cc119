"""A purge of files, one by one: which hold the words, and what of mdmem's own state stays."""

from pathlib import Path

import pytest
from vault import FACT, WORDS, Vault
from vault import vault as vault
from workspaces import STATE, code_of

from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.model import MAX_FILE_BYTES, FilePath
from mdmem.purge import purging
from mdmem.purge.target import PURGED_MARK, purge_target

TARGET = purge_target(WORDS, FACT)


def test_what_cannot_be_read_hides_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("private.md", "last.md"):
        (tmp_path / name).write_text(f"- {WORDS}\n")
    (tmp_path / "link.md").symlink_to("last.md")
    (tmp_path / "file").write_text("x")
    read = Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path.name == "private.md":
            raise PermissionError
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    names = ["link.md", "gone.md", "file/below.md", "private.md", "last.md"]
    holding = list(purging.files_holding(tmp_path, names, TARGET))
    assert holding == [
        (tmp_path / "private.md", None),
        (tmp_path / "last.md", f"- {WORDS}\n".encode()),
    ]


@pytest.mark.parametrize("more", [0, 1])
def test_the_largest_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    data = f"- {WORDS}\n".encode()
    monkeypatch.setattr(purging, "MAX_FILE_BYTES", len(data) - more)
    assert len(data) < MAX_FILE_BYTES
    (tmp_path / "a.md").write_bytes(data)
    assert list(purging.files_holding(tmp_path, ["a.md"], TARGET)) == [
        (tmp_path / "a.md", None if more else data)
    ]


def test_a_file_that_is_saved_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, saves, replace = (
        tmp_path / "a.txt",
        [f"{WORDS} again", f"{WORDS} for ever"],
        files.replace,
    )
    path.write_text(WORDS)

    def overtaken(*arguments: object) -> bool:
        if saves:
            path.write_text(saves.pop(0))
        return replace(*arguments)

    monkeypatch.setattr(files, "replace", overtaken)
    purging.purge_file(path, TARGET)
    assert path.read_text() == f"{PURGED_MARK} for ever"
    path.write_text(WORDS)
    monkeypatch.setattr(files, "replace", lambda *_: False)
    assert code_of(lambda: purging.purge_file(path, TARGET)) == "busy"


def test_an_unfinished_write_of_another_workspace(vault: Vault) -> None:
    state = vault.root / STATE
    step = FileStep(FilePath("a.md"), None, "x", "")
    another = state.with_name("yet.another") / journal.WRITE_NAME
    for name in ("an.other", "root", "yet.another"):
        (state.with_name(name)).mkdir(parents=True)
    for message, code in (("nothing of it", None), (f"\ud800 {WORDS}", "repository-busy")):
        journal.save(another, Journal((step,), CommitStep(message, "")))
        if code is None:
            purging.require_no_record(vault.scope().workspace, TARGET)
        else:
            assert (
                code_of(lambda: purging.require_no_record(vault.scope().workspace, TARGET)) == code
            )


def test_what_stays_of_the_state(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    state = vault.root / STATE
    vault.scope().workspace.ensure_state()
    kept = {
        "lock": "",
        "an.lock": "",
        "workspace": ".",
        "write-ahead.json": "{}",
        "read.json": "{}",
        "x.tmp": "x",
        "events.jsonl": "",
    }
    gone = {
        "held.json": WORDS,
        "y.tmp": WORDS,
        "cache.json": "",
        "index/x": "",
        "events.1.jsonl": WORDS,
    }
    for name, text in (kept | gone).items():
        vault.write(str(state / name), text)
    purging.empty_state(vault.scope().workspace, TARGET, {"read.json", "held.json"})
    names = {
        path.name
        for path in state.iterdir()
        if path.name not in (files.MESSAGES_LOCK, files.INDEX_LOCK, files.TRAIL_LOCK)
    }
    assert names == set(kept)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", lambda folder: [folder / "removed meanwhile"])
        purging.empty_state(vault.scope().workspace, TARGET, ())
    assert (state / "workspace").exists()
