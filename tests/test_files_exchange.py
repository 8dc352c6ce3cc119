"""A save of somebody else's at the last moment, on a real disk: it is never lost."""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from system_calls import failed_call

from mdmem.folder import files

TEMPORARY = ".mdmem-0.tmp"

requires_exchange = pytest.mark.skipif(
    sys.platform != "linux", reason="names are exchanged on Linux only"
)


class TestSavedAtTheLastMoment:
    """Saves between the last look at a file and its replacement."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        (tmp_path / "a.md").write_text("old")
        return tmp_path / "a.md"

    @staticmethod
    def saving(monkeypatch: pytest.MonkeyPatch, path: Path, *texts: str) -> None:
        """Have a person save before each of the next renames, as editors do it: a new file takes
        the name.
        """
        rename, pending = files._rename, list(texts)

        def saved_first(old: Path, new: Path, flags: int) -> bool:
            if pending:
                path.with_name("editor").write_text(pending.pop(0))
                path.with_name("editor").rename(path)
            return rename(old, new, flags)

        monkeypatch.setattr(files, "_rename", saved_first)

    @requires_exchange
    @pytest.mark.parametrize("saved", [("new by hand",), ("first", "second")])
    def test_the_newest_save_stays(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, saved: tuple[str, ...]
    ):
        self.saving(monkeypatch, path, *saved)
        assert not files.replace(path, b"ours", b"old", TEMPORARY)
        assert path.read_text() == saved[-1]
        assert [entry.name for entry in path.parent.iterdir()] == ["a.md"]

    @requires_exchange
    def test_a_save_into_our_file_stays_too(self, path: Path, monkeypatch: pytest.MonkeyPatch):
        """The first save takes the name before the exchange; the second one is written in place,
        while our file has the name.
        """
        self.saving(monkeypatch, path, "first")
        holds = files._holds

        def saved_in_place(displaced: Path, data: bytes) -> bool:
            path.write_text("second")
            return holds(displaced, data)

        monkeypatch.setattr(files, "_holds", saved_in_place)
        assert not files.replace(path, b"ours", b"old", TEMPORARY)
        assert path.read_text() == "second"
        assert [entry.name for entry in path.parent.iterdir()] == ["a.md"]

    @requires_exchange
    @pytest.mark.parametrize(
        "end",
        [None, KeyboardInterrupt(), OSError(errno.EIO, "broken")],
        ids=["to the end", "interrupted", "disk"],
    )
    @pytest.mark.parametrize("kind", ["text", "large", "link", "folder", "unreadable"])
    def test_a_save_of_any_kind_goes_back_whatever_ends_the_exchange(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, end: BaseException | None
    ):
        rename, read, exchanges = files._rename, files.read, 0

        def saved_first(old: Path, new: Path, flags: int) -> bool:
            nonlocal exchanges
            exchanges += 1
            if exchanges == 1:
                path.unlink()
                match kind:
                    case "link":
                        path.symlink_to("elsewhere")
                    case "folder":
                        path.mkdir()
                    case _:
                        path.write_bytes(b"by hand" * (1_000_000 if kind == "large" else 1))
            done = rename(old, new, flags)
            if exchanges == 1 and end is not None:
                raise end
            return done

        def unreadable(place: Path, *most: int) -> bytes | None:
            if kind == "unreadable" and exchanges:
                raise OSError(errno.EIO, "broken")
            return read(place, *most)

        monkeypatch.setattr(files, "_rename", saved_first)
        monkeypatch.setattr(files, "read", unreadable)
        with suppress(KeyboardInterrupt, OSError):
            assert not files.replace(path, b"ours", b"old", TEMPORARY)
        assert [entry.name for entry in path.parent.iterdir()] == ["a.md"]
        kinds = {"link": path.is_symlink, "folder": path.is_dir}
        assert kinds[kind]() if kind in kinds else path.read_bytes().startswith(b"by hand")

    @requires_exchange
    def test_a_save_that_cannot_go_back_is_not_removed(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        rename, exchanges = files._rename, 0

        def saved_first(old: Path, new: Path, flags: int) -> bool:
            nonlocal exchanges
            exchanges += 1
            if exchanges > 1:
                raise OSError(errno.EIO, "broken")
            path.write_text("by hand")
            return rename(old, new, flags)

        monkeypatch.setattr(files, "_rename", saved_first)
        with pytest.raises(OSError, match="broken"):
            files.replace(path, b"ours", b"old", TEMPORARY)
        assert path.with_name(TEMPORARY).read_text() == "by hand"

    @requires_exchange
    def test_what_was_read_is_removed_where_the_exchange_is_interrupted(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        rename = files._rename

        def interrupted(old: Path, new: Path, flags: int) -> bool:
            rename(old, new, flags)
            raise KeyboardInterrupt

        monkeypatch.setattr(files, "_rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            files.replace(path, b"ours", b"old", TEMPORARY)
        assert [(entry.name, entry.read_text()) for entry in path.parent.iterdir()] == [
            ("a.md", "ours")
        ]

    def test_a_new_file_of_theirs_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = tmp_path / "new.md"
        self.saving(monkeypatch, path, "theirs")
        assert not files.replace(path, b"ours", None, TEMPORARY)
        assert path.read_text() == "theirs"
        assert [path.name for path in tmp_path.iterdir()] == ["new.md"]

    def test_a_file_that_is_taken_away_stays_away(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        rename = files._rename

        def removed_first(old: Path, new: Path, flags: int) -> bool:
            path.unlink()
            return rename(old, new, flags)

        monkeypatch.setattr(files, "_rename", removed_first)
        assert not files.replace(path, b"ours", b"old", TEMPORARY)
        assert list(path.parent.iterdir()) == []

    @pytest.mark.parametrize("before", [b"old", None])
    @pytest.mark.parametrize("number", [None, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
    def test_without_exchange_it_is_a_rename(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None, number: int | None
    ):
        monkeypatch.setattr(files, "_renameat2", lambda: failed_call(number) if number else None)
        if before is None:
            path.unlink()
        assert files.replace(path, b"ours", before, TEMPORARY)
        assert path.read_bytes() == b"ours"
        assert [entry.name for entry in path.parent.iterdir()] == ["a.md"]

    @pytest.mark.parametrize("before", [b"old", None])
    def test_what_the_exchange_cannot_do_is_not_tried_otherwise(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None
    ):
        if before is None:
            path.unlink()
        monkeypatch.setattr(files, "_renameat2", lambda: failed_call(errno.EROFS))
        with pytest.raises(OSError, match=os.strerror(errno.EROFS)) as failure:
            files.replace(path, b"ours", before, TEMPORARY)
        assert failure.value.filename == str(path)
        assert [entry.read_bytes() for entry in path.parent.iterdir()] == (
            [before] if before else []
        )

    def test_nor_does_another_file_take_the_place_of_a_new_one_without_it(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(files, "_renameat2", lambda: None)
        # It comes right after the last look.
        monkeypatch.setattr(files, "read", lambda path, *most: None)
        assert not files.replace(path, b"ours", None, TEMPORARY)
        assert [entry.read_bytes() for entry in path.parent.iterdir()] == [b"old"]
