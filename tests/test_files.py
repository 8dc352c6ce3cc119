"""Reading, replacing, locking and listing files, on a real disk."""

import ctypes
import errno
import fcntl
import os
import shutil
import socket
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workspaces import where_modes_count

from mdmem import files, listing, lock_queue, write_ahead
from mdmem.errors import PathProblem, RepositoryProblem, StorageProblem
from mdmem.layout import MAX_FILE_BYTES
from mdmem.model import FilePath

TEMPORARY = ".mdmem-0.tmp"

requires_exchange = pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged on Linux only")


def code_of(failure: pytest.ExceptionInfo[PathProblem]) -> str:
    return failure.value.code


def descriptors() -> list[str]:
    """The descriptors that are open, with the one by which they are listed."""
    return sorted(path.name for path in Path("/dev/fd").iterdir())


def failing(number: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_locks_and_the_record_are_where_another_version_looks_for_them():
    names = (files.LOCK_NAME, write_ahead.RECORD_NAME, files.INDEX_LOCK, files.QUEUE_LOCK, files.TRAIL_LOCK)
    assert names == ("lock", "write-ahead.json", "index.lock", "queue.lock", "trail.lock")


def test_no_descriptor_stays_open(tmp_path: Path):
    path = tmp_path / "folder" / "a.md"
    before = descriptors()
    files.make_folders(path.parent)
    assert files.replace(path, b"x", None, TEMPORARY)
    assert files.replace(path, b"y", b"x", TEMPORARY)
    assert files.read(path) == b"y"
    with pytest.raises(PathProblem):
        files.read(path.parent)
    with files.lock(tmp_path / "lock", 0), pytest.raises(RepositoryProblem), files.lock(tmp_path / "lock", 0):
        assert files.is_locked(tmp_path / "lock")
    assert not files.is_locked(tmp_path / "lock")
    assert listing.markdown_paths(tmp_path, ["folder", "none"], lambda status: status.st_size) == {"folder/a.md": 1}
    files.sync_all(tmp_path)
    files.remove(path)
    assert descriptors() == before


class TestRead:
    def test_bytes_as_they_are(self, tmp_path: Path):
        (tmp_path / "a.md").write_bytes(b"\xff\r\n\0")
        assert files.read(tmp_path / "a.md") == b"\xff\r\n\0"

    @pytest.mark.parametrize("path", ["none.md", "none/a.md", "a.md/b.md"])
    def test_what_is_not_there(self, tmp_path: Path, path: str):
        (tmp_path / "a.md").write_text("x")
        assert files.read(tmp_path / path) is None

    def test_what_is_no_regular_file_is_refused_at_once(self, tmp_path: Path):
        (tmp_path / "link.md").symlink_to("a.md")
        (tmp_path / "folder.md").mkdir()
        os.mkfifo(tmp_path / "pipe.md")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(tmp_path / "socket.md"))
            for name in ("link", "folder", "pipe", "socket"):
                with pytest.raises(PathProblem) as failure:
                    files.read(tmp_path / f"{name}.md")
                assert code_of(failure) == "bad-path"
        with pytest.raises(PathProblem):
            files.read(Path("/dev/zero"))

    def test_the_size_that_is_read(self, tmp_path: Path):
        (tmp_path / "a.md").write_bytes(b"x" * MAX_FILE_BYTES)
        assert len(files.read(tmp_path / "a.md") or b"") == MAX_FILE_BYTES
        (tmp_path / "a.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
        with pytest.raises(PathProblem) as failure:
            files.read(tmp_path / "a.md")
        assert code_of(failure) == "unsupported-file"

    @pytest.mark.parametrize(("number", "code"), [(errno.EACCES, "unsupported-file"), (errno.ELOOP, "bad-path"), (errno.ENXIO, "bad-path")])
    def test_what_cannot_be_opened_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str):
        monkeypatch.setattr(files.os, "open", failing(number))
        with pytest.raises(PathProblem) as failure:
            files.read(tmp_path / "a.md")
        assert code_of(failure) == code

    def test_a_failing_disk_is_no_problem_of_the_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(files.os, "open", failing(errno.EIO))
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            files.read(tmp_path / "a.md")

    @where_modes_count
    def test_what_may_not_be_read(self, tmp_path: Path):
        (tmp_path / "a.md").touch(0)
        with pytest.raises(PathProblem) as failure:
            files.read(tmp_path / "a.md")
        assert code_of(failure) == "unsupported-file"


class TestLocate:
    @pytest.mark.parametrize("path", ["a.md", "new.md", "sub/a.md", "none/deep/a.md"])
    def test_inside(self, tmp_path: Path, path: str):
        (tmp_path / "sub").mkdir()
        (tmp_path / "a.md").touch()
        assert files.path_on_disk(tmp_path, FilePath(path)) == tmp_path / path

    @pytest.mark.parametrize(
        ("path", "why"),
        [
            *((path, "is a symbolic link") for path in ("link.md", "dangling.md", "linked/a.md")),
            *((path, "is not a regular file") for path in ("sub", "pipe.md")),
            *((path, "is not a folder") for path in ("a.md/b.md", "a.md/b/c.md", "pipe.md/b.md")),
            ("x" * 300 + ".md", os.strerror(errno.ENAMETOOLONG)),
        ],
    )
    def test_refused(self, tmp_path: Path, path: str, why: str):
        (tmp_path / "sub").mkdir()
        (tmp_path / "a.md").touch()
        (tmp_path / "link.md").symlink_to("a.md")
        (tmp_path / "dangling.md").symlink_to("nowhere")
        (tmp_path / "linked").symlink_to("sub")
        os.mkfifo(tmp_path / "pipe.md")
        with pytest.raises(PathProblem) as failure:
            files.path_on_disk(tmp_path, FilePath(path))
        assert code_of(failure) == "bad-path"
        assert failure.value.message.endswith(why)


class TestReplace:
    # One folder serves for all examples: each begins with the file as it says.
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
    @given(before=st.none() | st.binary(), after=st.binary(), expected=st.none() | st.binary())
    def test_all_or_nothing(self, tmp_path: Path, before: bytes | None, after: bytes, expected: bytes | None):
        path = tmp_path / "a.md"
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        done = files.replace(path, after, expected, TEMPORARY)
        assert done is (before == expected)
        assert files.read(path) == (after if done else before)
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.md"] * (done or before is not None)

    @pytest.mark.parametrize("mode", [0o400, 0o644, 0o755, 0o666])
    def test_the_mode_stays_whatever_the_umask(self, tmp_path: Path, mode: int):
        path = tmp_path / "a.md"
        path.write_text("x")
        path.chmod(mode)
        before = os.umask(0o077)
        try:
            assert files.replace(path, b"y", b"x", TEMPORARY)
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == mode

    @pytest.mark.parametrize(("umask", "mode"), [(0o027, 0o640), (0, 0o666)])
    def test_a_new_file_has_the_mode_of_the_umask(self, tmp_path: Path, umask: int, mode: int):
        before = os.umask(umask)
        try:
            files.replace(tmp_path / "a.md", b"y", None, TEMPORARY)
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a.md").stat().st_mode) == mode

    def test_a_temporary_file_that_somebody_takes_away(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        def taken_away(place: Path) -> bytes:
            (tmp_path / TEMPORARY).unlink()
            return b"other"

        monkeypatch.setattr(files, "read", taken_away)
        assert not files.replace(tmp_path / "a.md", b"y", b"x", TEMPORARY)

    @pytest.mark.parametrize("call", ["fsync", "fchmod"])
    def test_a_full_disk_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str):
        (tmp_path / "a.md").write_text("x")
        monkeypatch.setattr(files.os, call, failing(errno.ENOSPC))
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            files.replace(tmp_path / "a.md", b"y", b"x", TEMPORARY)
        assert [path.name for path in tmp_path.iterdir()] == ["a.md"]
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            files.write_durably(tmp_path / "b.md", b"y", 0o600)
        assert not (tmp_path / "b.md").exists()

    def test_what_fails_leaves_nothing(self, tmp_path: Path):
        (tmp_path / "a.md").mkdir()
        with pytest.raises(PathProblem):
            files.replace(tmp_path / "a.md", b"y", b"x", TEMPORARY)
        assert [path.name for path in tmp_path.iterdir()] == ["a.md"]

    def test_a_temporary_file_that_is_there_is_not_written_through(self, tmp_path: Path):
        (tmp_path / TEMPORARY).symlink_to("victim")
        with pytest.raises(FileExistsError):
            files.replace(tmp_path / "a.md", b"y", None, TEMPORARY)
        assert not (tmp_path / "victim").exists()


class TestSavedAtTheLastMoment:
    """Saves between the last look at a file and its replacement."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        (tmp_path / "a.md").write_text("old")
        return tmp_path / "a.md"

    @staticmethod
    def saving(monkeypatch: pytest.MonkeyPatch, path: Path, *texts: str) -> None:
        """Have a person save before each of the next renames, as editors do it: a new file takes the name."""
        rename, pending = files._rename, list(texts)

        def saved_first(old: Path, new: Path, flags: int) -> bool:
            if pending:
                path.with_name("editor").write_text(pending.pop(0))
                path.with_name("editor").rename(path)
            return rename(old, new, flags)

        monkeypatch.setattr(files, "_rename", saved_first)

    @requires_exchange
    @pytest.mark.parametrize("saved", [("new by hand",), ("first", "second")])
    def test_the_newest_save_stays(self, path: Path, monkeypatch: pytest.MonkeyPatch, saved: tuple[str, ...]):
        self.saving(monkeypatch, path, *saved)
        assert not files.replace(path, b"ours", b"old", TEMPORARY)
        assert path.read_text() == saved[-1]
        assert [entry.name for entry in path.parent.iterdir()] == ["a.md"]

    @requires_exchange
    @pytest.mark.parametrize("end", [None, KeyboardInterrupt(), OSError(errno.EIO, "broken")], ids=["to the end", "interrupted", "disk"])
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

        def unreadable(place: Path) -> bytes | None:
            if kind == "unreadable" and exchanges:
                raise OSError(errno.EIO, "broken")
            return read(place)

        monkeypatch.setattr(files, "_rename", saved_first)
        monkeypatch.setattr(files, "read", unreadable)
        with suppress(KeyboardInterrupt, OSError):
            assert not files.replace(path, b"ours", b"old", TEMPORARY)
        assert [entry.name for entry in path.parent.iterdir()] == ["a.md"]
        kinds = {"link": path.is_symlink, "folder": path.is_dir}
        assert kinds[kind]() if kind in kinds else path.read_bytes().startswith(b"by hand")

    @requires_exchange
    def test_a_save_that_cannot_go_back_is_not_removed(self, path: Path, monkeypatch: pytest.MonkeyPatch):
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
    def test_what_was_read_is_removed_where_the_exchange_is_interrupted(self, path: Path, monkeypatch: pytest.MonkeyPatch):
        rename = files._rename

        def interrupted(old: Path, new: Path, flags: int) -> bool:
            rename(old, new, flags)
            raise KeyboardInterrupt

        monkeypatch.setattr(files, "_rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            files.replace(path, b"ours", b"old", TEMPORARY)
        assert [(entry.name, entry.read_text()) for entry in path.parent.iterdir()] == [("a.md", "ours")]

    def test_a_new_file_of_theirs_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = tmp_path / "new.md"
        self.saving(monkeypatch, path, "theirs")
        assert not files.replace(path, b"ours", None, TEMPORARY)
        assert path.read_text() == "theirs"
        assert [path.name for path in tmp_path.iterdir()] == ["new.md"]

    def test_a_file_that_is_taken_away_stays_away(self, path: Path, monkeypatch: pytest.MonkeyPatch):
        rename = files._rename

        def removed_first(old: Path, new: Path, flags: int) -> bool:
            path.unlink()
            return rename(old, new, flags)

        monkeypatch.setattr(files, "_rename", removed_first)
        assert not files.replace(path, b"ours", b"old", TEMPORARY)
        assert list(path.parent.iterdir()) == []

    @pytest.mark.parametrize("before", [b"old", None])
    @pytest.mark.parametrize("number", [None, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
    def test_without_exchange_it_is_a_rename(self, path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None, number: int | None):
        monkeypatch.setattr(files, "_renameat2", lambda: failed_call(number) if number else None)
        if before is None:
            path.unlink()
        assert files.replace(path, b"ours", before, TEMPORARY)
        assert path.read_bytes() == b"ours"
        assert [entry.name for entry in path.parent.iterdir()] == ["a.md"]

    @pytest.mark.parametrize("before", [b"old", None])
    def test_what_the_exchange_cannot_do_is_not_tried_otherwise(self, path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None):
        if before is None:
            path.unlink()
        monkeypatch.setattr(files, "_renameat2", lambda: failed_call(errno.EROFS))
        with pytest.raises(OSError, match=os.strerror(errno.EROFS)) as failure:
            files.replace(path, b"ours", before, TEMPORARY)
        assert failure.value.filename == str(path)
        assert [entry.read_bytes() for entry in path.parent.iterdir()] == ([before] if before else [])

    def test_nor_does_another_file_take_the_place_of_a_new_one_without_it(self, path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(files, "_renameat2", lambda: None)
        monkeypatch.setattr(files, "read", lambda path: None)  # it comes right after the last look
        assert not files.replace(path, b"ours", None, TEMPORARY)
        assert [entry.read_bytes() for entry in path.parent.iterdir()] == [b"old"]


def failed_call(number: int) -> Callable[..., int]:
    """A renameat2(2) that fails."""

    def call(*_: object) -> int:
        ctypes.set_errno(number)
        return -1

    return call


def test_a_folder_that_another_process_makes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make = Path.mkdir

    def made_first(folder: Path, **options: bool) -> None:
        make(folder)
        make(folder, **options)

    monkeypatch.setattr(Path, "mkdir", made_first)
    assert files.make_folders(tmp_path / "a" / "b") == (tmp_path / "a", tmp_path / "a" / "b")


def test_folders_that_are_made_are_named_outermost_first(tmp_path: Path):
    assert files.make_folders(tmp_path / "a" / "b") == (tmp_path / "a", tmp_path / "a" / "b")
    assert files.make_folders(tmp_path / "a" / "b") == ()


class TestLock:
    def test_one_at_a_time(self, tmp_path: Path):
        path = tmp_path / "lock"
        assert not files.is_locked(path)
        with files.lock(path, 0):
            assert files.is_locked(path)
            with pytest.raises(RepositoryProblem) as failure, files.lock(path, 0):
                pass
            assert failure.value.code == "busy"
        assert not files.is_locked(path)
        with files.lock(path, 0):
            pass

    def test_where_it_has_to_be_open_for_writing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        flock, path = files.fcntl.flock, tmp_path / "lock"

        def as_on_nfs(descriptor: int, operation: int) -> None:
            if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            flock(descriptor, operation)

        monkeypatch.setattr(files.fcntl, "flock", as_on_nfs)
        with files.lock(path, 0):
            assert files.is_locked(path)
        assert not files.is_locked(path)

    def test_whoever_gave_up_waiting_does_not_keep_it(self, tmp_path: Path):
        path = tmp_path / "lock"
        with files.lock(path, 0), pytest.raises(RepositoryProblem), files.lock(path, 0.01):
            pass
        with files.lock(path, 30), pytest.raises(RepositoryProblem), files.lock(path, 0):
            pass

    def test_whoever_gave_up_waiting_locks_no_other_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        flock, gate, before = files.fcntl.flock, threading.Event(), set(threading.enumerate())

        def late(descriptor: int, operation: int) -> None:
            if not operation & fcntl.LOCK_NB:
                gate.wait()
            flock(descriptor, operation)

        monkeypatch.setattr(files.fcntl, "flock", late)
        path, other_path = tmp_path / "lock", tmp_path / "other"
        with files.lock(path, 0):
            with pytest.raises(RepositoryProblem), files.lock(path, 0.01):
                pass
            with other_path.open("wb"):  # which gets the number of the descriptor that was given up
                (waiting,) = set(threading.enumerate()) - before
                gate.set()
                assert not files.is_locked(other_path)
        waiting.join()
        assert not files.is_locked(other_path)
        assert not files.is_locked(path)

    @pytest.mark.parametrize("long", [False, True])
    def test_whoever_waits_gets_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool):
        """Both within the first second, and after the message that it takes long."""
        flock, queued, order = files.fcntl.flock, threading.Event(), []

        def noted(descriptor: int, operation: int) -> None:
            if not operation & fcntl.LOCK_NB:
                queued.set()
            flock(descriptor, operation)

        monkeypatch.setattr(files.fcntl, "flock", noted)
        told = threading.Event()

        def wait() -> None:
            with files.lock(tmp_path / "lock", 30, lambda _: told.set()):
                order.append("waited")

        with files.lock(tmp_path / "lock", 0):
            waiting = threading.Thread(target=wait)
            waiting.start()
            (told if long else queued).wait()
            order.append("held")
        waiting.join()
        assert order == ["held", "waited"]

    def test_how_long_is_waited(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        waited: list[float | None] = []

        class Impatient(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                waited.append(timeout)
                return False

        with files.lock(tmp_path / "lock", 0):
            for timeout in (0.5, 1, 3):
                monkeypatch.setattr(lock_queue.threading, "Event", Impatient)
                with pytest.raises(RepositoryProblem), files.lock(tmp_path / "lock", timeout):
                    pass
        assert [seconds for seconds in waited if seconds is not None] == [0.5, 1, 1, 2]

    def test_whoever_waits_says_so_once(self, tmp_path: Path):
        messages: list[str] = []
        with files.lock(tmp_path / "lock", 0), pytest.raises(RepositoryProblem), files.lock(tmp_path / "lock", 1.2, messages.append):
            pass
        assert messages == ["waiting for another mdmem to finish"]

    def test_whoever_is_not_to_wait_starts_nothing(self, tmp_path: Path):
        before = set(threading.enumerate())
        with files.lock(tmp_path / "lock", 0):
            with pytest.raises(RepositoryProblem), files.lock(tmp_path / "lock", 0):
                pass
            assert set(threading.enumerate()) <= before

    def test_whoever_waits_for_a_second_at_most_says_nothing(self, tmp_path: Path):
        messages: list[str] = []
        with files.lock(tmp_path / "lock", 0), pytest.raises(RepositoryProblem), files.lock(tmp_path / "lock", 1, messages.append):
            pass
        assert messages == []

    def test_whoever_gave_up_waiting_can_leave(self, world: World, tmp_path: Path):
        script = (
            "import sys\nfrom pathlib import Path\nfrom mdmem import files\nfrom mdmem.errors import MdmemError\n"
            "try:\n    with files.lock(Path(sys.argv[1]), 0.01): pass\nexcept MdmemError as problem: print(problem.code)"
        )
        with files.lock(tmp_path / "lock", 0):
            assert world.run(tmp_path, [sys.executable, "-c", script, tmp_path / "lock"]).stdout == "busy\n"

    def test_nobody_else_may_hold_it(self, tmp_path: Path):
        before = os.umask(0)
        try:
            with files.lock(tmp_path / "lock", 0):
                assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
        finally:
            os.umask(before)

    @pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
    def test_where_there_are_no_locks_the_file_and_a_way_out_are_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int):
        monkeypatch.setattr(files.fcntl, "flock", failing(number))
        before = descriptors()
        for call in (lambda: files.lock(tmp_path / "lock", 0).__enter__(), lambda: files.is_locked(tmp_path / "lock")):
            with pytest.raises(StorageProblem) as failure:
                call()
            assert str(tmp_path / "lock") in failure.value.message
            assert "git init --separate-git-dir" in failure.value.hint
        assert descriptors() == before

    @pytest.mark.parametrize("number", [errno.EIO])
    def test_where_a_lock_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int):
        opened: list[int] = []
        monkeypatch.setattr(files.fcntl, "flock", lambda descriptor, _: (opened.append(descriptor), failing(number)()))
        before = descriptors()
        with pytest.raises(OSError, match=os.strerror(number)), files.lock(tmp_path / "lock", 0):
            pass
        assert descriptors() == before
        assert len(opened) == 1

    def test_it_is_opened_for_reading_alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        flock, modes = files.fcntl.flock, []

        def noted(descriptor: int, operation: int) -> None:
            modes.append(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE)
            flock(descriptor, operation)

        monkeypatch.setattr(files.fcntl, "flock", noted)
        with files.lock(tmp_path / "lock", 0):
            assert files.is_locked(tmp_path / "lock")
        assert modes == [os.O_RDONLY, os.O_RDONLY]

    def test_a_child_does_not_inherit_it(self, world: World, tmp_path: Path):
        command = [sys.executable, "-c", "import os; print(os.listdir('/dev/fd'))"]
        with files.lock(tmp_path / "lock", 0):
            held = world.run(tmp_path, command).stdout
        assert held == world.run(tmp_path, command).stdout


class TestMarkdownFiles:
    def listed(self, root: Path, *folders: str) -> list[str]:
        return sorted(listing.markdown_paths(root, folders, lambda status: status))

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "root"
        for path in ("a.md", "B.MD", "c.txt", "memory/d.md", ".git/e.md", "memory/deep/er/f.md", "other/g.md", "memory/h.md/i.md"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(path)
        (root / "link.md").symlink_to("a.md")
        (root / "linked").symlink_to("other")
        (root / "memory" / "linked").symlink_to("../other")
        os.mkfifo(root / "memory" / "pipe.md")
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "o.md").write_text("o")
        return root

    def test_those_beside_and_those_below(self, root: Path):
        memory = ["memory/d.md", "memory/deep/er/f.md", "memory/h.md/i.md"]
        assert self.listed(root) == ["B.MD", "a.md"]
        assert self.listed(root, "memory") == ["B.MD", "a.md", *memory]
        assert self.listed(root, "memory", "memory/", "memory/deep", "none") == ["B.MD", "a.md", *memory]
        assert self.listed(root, "other/g.md", "c.txt") == ["B.MD", "a.md", "other/g.md"]
        assert self.listed(root, ".") == ["B.MD", "a.md", *memory, "other/g.md"]

    def test_other_repositories_are_passed_over_in_the_workspace(self, root: Path):
        (root / "memory/.git").mkdir()
        (root / "memory/deep/.git").write_text("gitdir: elsewhere\n")
        assert self.listed(root, "memory") == ["B.MD", "a.md", "memory/d.md", "memory/h.md/i.md"]
        (root.parent / "outside/deep/.git").mkdir(parents=True)
        (root.parent / "outside/deep/p.md").write_text("p")
        assert self.listed(root, "../outside") == ["../outside/deep/p.md", "../outside/o.md", "B.MD", "a.md"]

    def test_no_link_is_followed_out(self, root: Path):
        (root / "other" / "deep").mkdir()
        (root / "other" / "deep" / "k.md").write_text("k")
        linked = ("linked", "linked/", "./linked", "linked/deep", "memory/linked/deep", "memory//linked/deep", "link.md")
        for path in linked:
            assert self.listed(root, path) == ["B.MD", "a.md"]

    def test_a_workspace_that_is_a_link_is_not_read_in_folders(self, root: Path):
        root.with_name("link").symlink_to(root)
        assert self.listed(root.with_name("link"), "memory") == self.listed(root.with_name("link"), "") == []

    def test_a_name_is_cut_at_its_slashes_only(self, root: Path):
        (root / "memoX").mkdir()
        (root / "memoX" / "x.md").write_text("x")
        assert self.listed(root, "memoX/") == ["B.MD", "a.md", "memoX/x.md"]

    def test_a_folder_outside_keeps_the_path_given(self, root: Path):
        outside = root.parent / "outside"
        assert self.listed(root, "../outside", str(outside)) == sorted(["B.MD", "a.md", "../outside/o.md", f"{outside}/o.md"])
        for way in ("way", "../way"):
            (root / way).symlink_to(outside)
        assert self.listed(root, f"{root}/way") == sorted(["B.MD", "a.md", f"{root}/way/o.md"])
        assert self.listed(root, "../way") == ["../way/o.md", "B.MD", "a.md"]

    def test_a_file_or_folder_that_goes_meanwhile(self, root: Path):
        every, removed = listing.markdown_paths(root, ["memory", "other"], lambda status: status.st_ino), []

        def read_status(status: os.stat_result) -> int:
            if not removed:
                removed.append(status.st_ino)
                raise FileNotFoundError
            return status.st_ino

        def enter(folder: str, start: str, deep: bool) -> None:
            if start == "memory/deep/er/":
                shutil.rmtree(folder)

        remaining = listing.markdown_paths(root, ["memory", "other"], read_status, enter)
        assert remaining == {path: number for path, number in every.items() if number not in removed and path != "memory/deep/er/f.md"}
        assert len(remaining) == len(every) - 2

    def test_what_is_entered(self, root: Path):
        entered: list[tuple[str, str, bool]] = []
        listing.markdown_paths(root, ["memory", "../outside/"], lambda status: status, lambda *each: entered.append(each))
        outside = root.parent / "outside"
        assert sorted((os.path.realpath(folder), start, deep) for folder, start, deep in entered) == sorted(
            [
                *[(str(root), "", False), (str(outside), "../outside/", True), (f"{root}/memory", "memory/", True)],
                *((f"{root}/memory/{name}", f"memory/{name}/", True) for name in ("deep", "deep/er", "h.md")),
            ]
        )

    def test_where_it_is_on_disk(self, root: Path):
        listed = listing.markdown_paths(root, ["memory"], lambda status: status)
        file = listing.list_file(root, "memory/deep/er/f.md", listed["memory/deep/er/f.md"])
        assert file.full_path == root / "memory/deep/er/f.md"
        assert file.status.st_size == len("memory/deep/er/f.md")


class TestNotes:
    """Files of a person's notes: what is hidden, left out or another's is passed over, at any depth."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "root"
        notes = ("a.md", "A.MD", "c.txt", "n/b.md", "n/deep/c.md", "n/deep/er/d.md", "n.d/e.md")
        hidden = (".h/x.md", "n/.h/x.md", "n/.h/in/x.md", "n/deep/.h.d/x.md")
        foreign = ("n/w/MEMORY.md", "n/w/x.md", "n/w/in/x.md", "n/g/.git/x.md", "n/g/x.md", "n/g/in/x.md")
        for path in (*notes, *hidden, *foreign):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(path)
        (root / "n" / "link.md").symlink_to("b.md")
        (root / "n" / "linked").symlink_to("deep")
        os.mkfifo(root / "n" / "pipe.md")
        return root

    @pytest.mark.parametrize(
        ("folders", "skipped", "expected"),
        [
            ([], [], []),
            ([("", False)], [], ["A.MD", "a.md"]),
            ([("", False)], ["a.md"], ["A.MD"]),
            ([("", True)], [], ["A.MD", "a.md", "n.d/e.md", "n/b.md", "n/deep/c.md", "n/deep/er/d.md"]),
            ([("", True)], ["n/deep/"], ["A.MD", "a.md", "n.d/e.md", "n/b.md"]),
            ([("", True)], ["n/", "n.d/e.md"], ["A.MD", "a.md"]),
            ([("n", False), ("n.d", True)], [], ["n.d/e.md", "n/b.md"]),
            ([("n/deep", False)], [], ["n/deep/c.md"]),
            ([("n/deep", True)], ["n/deep/er/d.md"], ["n/deep/c.md"]),
            ([("n/deep/er", True)], ["n/deep/"], []),
            ([("n/deep/er", True)], ["n/"], []),
            *(([(folder, True)], [], []) for folder in (".h", "n/.h", "n/.h/in", "n/deep/.h.d", "n/w", "n/w/in", "n/g", "n/g/in")),
            *(([(folder, True)], [], []) for folder in ("n/linked", "n/linked/er", "none", "n/none", "a.md")),
        ],
    )
    def test_what_is_listed(self, root: Path, folders: list[tuple[str, bool]], skipped: list[str], expected: list[str]):
        assert sorted(listing.note_paths(root, folders, skipped, lambda status: status)) == expected

    def test_what_is_entered(self, root: Path):
        entered: list[tuple[str, str, bool]] = []
        listing.note_paths(root, [("", False), ("n/deep", True)], [], lambda status: status, lambda *each: entered.append(each))
        expected = [("", "", False), ("/n/deep", "n/deep/", True), ("/n/deep/er", "n/deep/er/", True)]
        assert entered == [(f"{root}{folder}", start, deep) for folder, start, deep in expected]

    def test_a_file_or_folder_that_goes_meanwhile(self, root: Path):
        gone = (root / "n" / "b.md").stat().st_ino

        def read_status(status: os.stat_result) -> int:
            if status.st_ino == gone:
                raise FileNotFoundError
            return status.st_size

        def enter(folder: str, start: str, deep: bool) -> None:
            if start == "n/deep/er/":
                shutil.rmtree(folder)

        listed = listing.note_paths(root, [("n", True)], [], read_status, enter)
        assert listed == {"n/deep/c.md": len("n/deep/c.md")}

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            *((path, False) for path in ("a.md", "n/b.md", "n/deep/er/d.md", "n/none/x.md", "MEMORY.md")),
            *((path, True) for path in ("n/w/x.md", "n/w/in/x.md", "n/g/x.md", "n/g/in/none.md", "n/w/none/none/x.md")),
        ],
    )
    def test_what_lies_in_another_workspace_or_work_tree(self, root: Path, path: str, expected: bool):
        (root / "MEMORY.md").touch()
        (root / ".git").mkdir()
        assert listing.lies_elsewhere(root, path) is expected

    @pytest.mark.parametrize("name", ["MEMORY.md", "mdmem.toml"])
    def test_what_makes_a_folder_a_workspace(self, tmp_path: Path, name: str):
        assert not listing.is_marked(tmp_path)
        (tmp_path / name).mkdir()
        assert not listing.is_marked(tmp_path)
        (tmp_path / name).rmdir()
        (tmp_path / name).touch()
        assert listing.is_marked(tmp_path)
        assert listing.is_foreign(tmp_path)


class TestRecord:
    RECORD = write_ahead.Record(path=FilePath("a.md"), before=None, after="0", message="m", date="@0 +0000", temporary=TEMPORARY)

    def test_it_is_read_as_it_was_written(self, tmp_path: Path):
        for record in (self.RECORD, replace(self.RECORD, before="1", message="\N{SNOWMAN}\udcff")):
            write_ahead.save_record(tmp_path, record)
            assert write_ahead.load_record(tmp_path) == record
            assert [path.name for path in tmp_path.iterdir()] == [write_ahead.RECORD_NAME]
        assert stat.S_IMODE((tmp_path / write_ahead.RECORD_NAME).stat().st_mode) == 0o600

    def test_what_is_dropped_with_it(self, tmp_path: Path):
        write_ahead.save_record(tmp_path, self.RECORD)
        for name in (".mdmem-1.tmp", ".mdmem-2.tmp", "kept.tmp", ".mdmem-kept"):
            (tmp_path / name).touch()
        write_ahead.drop_record(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == [".mdmem-kept", "kept.tmp"]
        write_ahead.drop_record(tmp_path / "none")
        write_ahead.drop_record(tmp_path)

    def test_what_another_process_has_dropped_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(Path, "iterdir", lambda folder: iter([folder / ".mdmem-1.tmp"]))
        write_ahead.drop_record(tmp_path)


class TestTellingFilesApart:
    def test_a_fingerprint(self, tmp_path: Path):
        (tmp_path / "a.md").write_bytes(b"x" * 6_000_000)
        (tmp_path / "link").symlink_to("a.md")
        os.mkfifo(tmp_path / "pipe")
        assert files.fingerprint(tmp_path / "a.md") == files.digest(b"x" * 6_000_000)
        assert [files.fingerprint(tmp_path / name) for name in ("link", "pipe", ".", "none", "a.md/b")] == ["", "", "", None, None]

    def test_a_stamp(self, tmp_path: Path):
        path = tmp_path / "a.md"
        assert files.stamp(str(path)) is files.stamp("\0") is None
        path.write_text("x")
        (tmp_path / "link").symlink_to(path)
        status = path.stat()
        expected = (status.st_mtime_ns, status.st_ctime_ns, 1, status.st_ino, status.st_dev)
        assert files.stamp(str(path)) == files.stamp(str(tmp_path / "link")) == expected

    def test_an_identity(self, tmp_path: Path):
        assert files.identity(str(tmp_path / "none")) is files.identity("\0") is None
        (tmp_path / "link").symlink_to(tmp_path)
        status = (tmp_path / "link").lstat()
        assert files.identity(str(tmp_path / "link")) == (status.st_ino, status.st_dev, stat.S_IFLNK)


@pytest.mark.parametrize("name", ["MEMORY.md", "daily.md", "USER.md", "SOUL.md", "IDENTITY.md"])
def test_templates_are_packaged(name: str):
    assert files.template(name).startswith("#")
