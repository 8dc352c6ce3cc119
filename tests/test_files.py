"""Reading, replacing and telling files apart, on a real disk."""

import errno
import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from system_calls import descriptors, failing
from workspaces import where_modes_count

from mdmem.folder import files, layout
from mdmem.model import MAX_FILE_BYTES, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem

TEMPORARY = ".mdmem-0.tmp"


def code_of(failure: pytest.ExceptionInfo[PathProblem]) -> str:
    return failure.value.code


def test_no_descriptor_stays_open(tmp_path: Path):
    path = tmp_path / "folder" / "a.md"
    before = descriptors()
    files.make_folders(path.parent)
    assert files.replace(path, b"x", None, TEMPORARY)
    assert files.replace(path, b"y", b"x", TEMPORARY)
    assert files.read(path) == b"y"
    assert files.fingerprint(path) == files.digest(b"y")
    with pytest.raises(PathProblem):
        files.read(path.parent)
    with (
        files.lock(tmp_path / "lock", 0),
        pytest.raises(RepositoryProblem),
        files.lock(tmp_path / "lock", 0),
    ):
        assert files.is_locked(tmp_path / "lock")
    assert not files.is_locked(tmp_path / "lock")
    assert layout.markdown_paths(tmp_path, ["folder", "none"], lambda status: status.st_size) == {
        "folder/a.md": 1
    }
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

    @pytest.mark.parametrize(
        ("number", "code"),
        [(errno.EACCES, "unsupported-file"), (errno.ELOOP, "bad-path"), (errno.ENXIO, "bad-path")],
    )
    def test_what_cannot_be_opened_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
    ):
        monkeypatch.setattr(files.os, "open", failing(number))
        with pytest.raises(PathProblem) as failure:
            files.read(tmp_path / "a.md")
        assert code_of(failure) == code

    def test_a_failing_disk_is_no_problem_of_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
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
    def test_all_or_nothing(
        self, tmp_path: Path, before: bytes | None, after: bytes, expected: bytes | None
    ):
        path = tmp_path / "a.md"
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        done = files.replace(path, after, expected, TEMPORARY)
        assert done is (before == expected)
        assert files.read(path) == (after if done else before)
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.md"] * (
            done or before is not None
        )

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

    def test_a_temporary_file_that_somebody_takes_away(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def taken_away(place: Path, *most: int) -> bytes:
            (tmp_path / TEMPORARY).unlink()
            return b"other"

        monkeypatch.setattr(files, "read", taken_away)
        assert not files.replace(tmp_path / "a.md", b"y", b"x", TEMPORARY)

    @pytest.mark.parametrize("call", ["fsync", "fchmod"])
    def test_a_full_disk_leaves_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
    ):
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


class TestMove:
    @pytest.mark.parametrize("has_call", [True, False])
    @pytest.mark.parametrize("taken", ["", "file", "folder"])
    def test_nothing_that_has_the_name_is_replaced(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_call: bool, taken: str
    ):
        if not has_call:
            monkeypatch.setattr(files, "_renameat2", lambda: None)
        path, target = tmp_path / "a.md", tmp_path / "b.md"
        path.write_text("a")
        if taken:
            target.mkdir() if taken == "folder" else target.write_text("b")
        assert files.move(path, target) is not bool(taken)
        assert (path.exists(), target.is_dir(), target.is_file() and target.read_text()) == {
            "": (False, False, "a"),
            "file": (True, False, "b"),
            "folder": (True, True, False),
        }[taken]


class TestCache:
    def test_a_cache_is_its_owners_alone(self, tmp_path: Path):
        path = tmp_path / "cache.json"
        path.write_text("old")
        path.chmod(0o644)
        files.write_cache(path, "ä\u2028")
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == ("ä\u2028".encode(), 0o600)
        assert list(tmp_path.iterdir()) == [path]

    def test_one_that_cannot_be_written_leaves_nothing(self, tmp_path: Path):
        path = tmp_path / "cache.json"
        path.mkdir()
        with pytest.raises(IsADirectoryError):
            files.write_cache(path, "new")
        assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_another_process_makes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    make = Path.mkdir

    def made_first(folder: Path, mode: int, **options: bool) -> None:
        make(folder)
        make(folder, mode, **options)

    monkeypatch.setattr(Path, "mkdir", made_first)
    assert files.make_folders(tmp_path / "a" / "b") == (tmp_path / "a", tmp_path / "a" / "b")


def test_folders_that_are_made_are_named_outermost_first(tmp_path: Path):
    assert files.make_folders(tmp_path / "a" / "b") == (tmp_path / "a", tmp_path / "a" / "b")
    assert files.make_folders(tmp_path / "a" / "b") == ()


def test_gits_own_folder_is_not_made_again(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        files.make_folders(tmp_path / "moved" / ".git" / "mdmem")
    assert list(tmp_path.iterdir()) == []


class TestTellingFilesApart:
    def test_a_fingerprint(self, tmp_path: Path):
        (tmp_path / "a.md").write_bytes(b"x" * 6_000_000)
        (tmp_path / "link").symlink_to("a.md")
        os.mkfifo(tmp_path / "pipe")
        assert files.fingerprint(tmp_path / "a.md") == files.digest(b"x" * 6_000_000)
        assert [
            files.fingerprint(tmp_path / name) for name in ("link", "pipe", ".", "none", "a.md/b")
        ] == ["", "", "", None, None]

    @pytest.mark.skipif(
        not Path("/proc/self/mem").exists(),
        reason="no file is known here that can be opened and not be read",
    )
    def test_what_cannot_be_read_has_no_fingerprint(self):
        assert files.fingerprint(Path("/proc/self/mem")) == ""

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
        assert files.identity(str(tmp_path / "link")) == (
            status.st_ino,
            status.st_dev,
            stat.S_IFLNK,
        )
