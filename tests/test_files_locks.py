"""Locks: one holder at a time, how long is waited, and what whoever waits is told."""

import errno
import fcntl
import os
import stat
import sys
import threading
from pathlib import Path

import pytest
from conftest import World
from system_calls import descriptors, failing
from warm import wait_until

from mdmem.folder import files
from mdmem.model.errors import RepositoryProblem, StorageProblem


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

    def test_where_it_has_to_be_open_for_writing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
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

    def test_whoever_gave_up_waiting_locks_no_other_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
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

    @pytest.mark.costly
    @pytest.mark.parametrize("long", [False, True])
    def test_whoever_waits_gets_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
    ):
        """Both within the first second, and after the message that it takes long."""
        flock, queued, order = files.fcntl.flock, threading.Event(), []

        def noted(descriptor: int, operation: int) -> None:
            if not operation & fcntl.LOCK_NB:
                queued.set()
            flock(descriptor, operation)

        monkeypatch.setattr(files.fcntl, "flock", noted)
        notified = threading.Event()

        def wait() -> None:
            with files.lock(tmp_path / "lock", 30, lambda _: notified.set()):
                order.append("waited")

        with files.lock(tmp_path / "lock", 0):
            waiting = threading.Thread(target=wait)
            waiting.start()
            (notified if long else queued).wait()
            order.append("held")
        waiting.join()
        assert order == ["held", "waited"]

    def test_how_long_is_waited(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        waited: list[float | None] = []

        class Impatient(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                waited.append(timeout)
                return False

        before = set(threading.enumerate())
        with files.lock(tmp_path / "lock", 0):
            for timeout in (0.5, 1, 3):
                monkeypatch.setattr(files.threading, "Event", Impatient)
                with pytest.raises(RepositoryProblem), files.lock(tmp_path / "lock", timeout):
                    pass
        assert [seconds for seconds in waited if seconds is not None] == [0.5, 1, 1, 2]
        # their lock would be the next test's
        wait_until(lambda: set(threading.enumerate()) <= before)

    @pytest.mark.costly
    def test_whoever_waits_says_so_once(self, tmp_path: Path):
        messages: list[str] = []
        with (
            files.lock(tmp_path / "lock", 0),
            pytest.raises(RepositoryProblem),
            files.lock(tmp_path / "lock", 1.2, messages.append),
        ):
            pass
        assert messages == ["waiting for another mdmem to finish"]

    def test_whoever_is_not_to_wait_starts_nothing(self, tmp_path: Path):
        before = set(threading.enumerate())
        with files.lock(tmp_path / "lock", 0):
            with pytest.raises(RepositoryProblem), files.lock(tmp_path / "lock", 0):
                pass
            assert set(threading.enumerate()) <= before

    @pytest.mark.costly
    def test_whoever_waits_for_a_second_at_most_says_nothing(self, tmp_path: Path):
        messages: list[str] = []
        with (
            files.lock(tmp_path / "lock", 0),
            pytest.raises(RepositoryProblem),
            files.lock(tmp_path / "lock", 1, messages.append),
        ):
            pass
        assert messages == []

    def test_whoever_gave_up_waiting_can_leave(self, world: World, tmp_path: Path):
        script = (
            "import sys\nfrom pathlib import Path\nfrom mdmem.folder import files\nfrom mdmem.model.errors import MdmemError\n"
            "try:\n    with files.lock(Path(sys.argv[1]), 0.01): pass\nexcept MdmemError as problem: print(problem.code)"
        )
        with files.lock(tmp_path / "lock", 0):
            assert (
                world.run(tmp_path, [sys.executable, "-c", script, tmp_path / "lock"]).stdout
                == "busy\n"
            )

    def test_nobody_else_may_hold_it(self, tmp_path: Path):
        before = os.umask(0)
        try:
            with files.lock(tmp_path / "lock", 0):
                assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
        finally:
            os.umask(before)

    @pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
    def test_where_there_are_no_locks_the_file_and_a_way_out_are_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ):
        monkeypatch.setattr(files.fcntl, "flock", failing(number))
        before = descriptors()
        for call in (
            lambda: files.lock(tmp_path / "lock", 0).__enter__(),
            lambda: files.is_locked(tmp_path / "lock"),
        ):
            with pytest.raises(StorageProblem) as failure:
                call()
            assert str(tmp_path / "lock") in failure.value.message
            assert "git init --separate-git-dir" in failure.value.hint
        assert descriptors() == before

    @pytest.mark.parametrize("number", [errno.EIO])
    def test_where_a_lock_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int):
        opened: list[int] = []
        monkeypatch.setattr(
            files.fcntl,
            "flock",
            lambda descriptor, _: (opened.append(descriptor), failing(number)()),
        )
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
