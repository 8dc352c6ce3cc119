"""Git's index as bytes: versions, extensions and paths that git itself rarely writes. And its
settings, as values.
"""

from pathlib import Path

import pytest

from mdmem.repo import git_files

BLOB, TREE = "ab" * 20, "cd" * 20
CHECKSUM = b"\xee" * 20
CACHED = b"\0001 0\n" + bytes.fromhex(TREE)


def entry(path: bytes, flags: int | None = None) -> bytes:
    mode = (0o100644).to_bytes(4, "big")
    bits = len(path) if flags is None else flags
    return (
        bytes(24)
        + mode
        + bytes(12)
        + bytes.fromhex(BLOB)
        + bits.to_bytes(2, "big")
        + path
        + b"\0" * (8 - (62 + len(path)) % 8)
    )


def extension(name: bytes, content: bytes) -> bytes:
    return name + len(content).to_bytes(4, "big") + content


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return tmp_path


def write_index(
    git_dir: Path,
    *paths: bytes,
    version: int = 2,
    extensions: bytes = extension(b"TREE", CACHED),
    magic: bytes = b"DIRC",
) -> None:
    head = magic + version.to_bytes(4, "big") + len(paths).to_bytes(4, "big")
    (git_dir / "index").write_bytes(head + b"".join(map(entry, paths)) + extensions + CHECKSUM)


def is_clean(git_dir: Path, path: bytes = b"b.md") -> bool:
    return git_files.is_clean(str(git_dir), TREE, path, BLOB, executable=False)


class TestClean:
    @pytest.mark.parametrize("version", [2, 3])
    def test_versions_whose_paths_stand_in_full(self, git_dir: Path, version: int) -> None:
        write_index(git_dir, b"b.md", version=version)
        assert is_clean(git_dir)

    @pytest.mark.parametrize(("version", "magic"), [(1, b"DIRC"), (4, b"DIRC"), (2, b"CRID")])
    def test_other_forms_are_for_git(self, git_dir: Path, version: int, magic: bytes) -> None:
        write_index(git_dir, b"b.md", version=version, magic=magic)
        assert not is_clean(git_dir)

    def test_without_an_index(self, git_dir: Path) -> None:
        assert not is_clean(git_dir)

    def test_a_path_that_ends_another_one(self, git_dir: Path) -> None:
        write_index(git_dir, b"a/b.md", b"b.md")
        assert is_clean(git_dir)
        assert is_clean(git_dir, b"a/b.md")
        assert not is_clean(git_dir, b"md")

    def test_without_extensions(self, git_dir: Path) -> None:
        write_index(git_dir, b"b.md", extensions=b"")
        assert not is_clean(git_dir)

    @pytest.mark.parametrize("name", [b"xTRA", b"link"])
    def test_an_extension_that_must_be_understood(self, git_dir: Path, name: bytes) -> None:
        write_index(git_dir, b"b.md", extensions=extension(b"TREE", CACHED) + extension(name, b""))
        assert not is_clean(git_dir)

    def test_an_extension_that_need_not_be(self, git_dir: Path) -> None:
        write_index(
            git_dir, b"b.md", extensions=extension(b"TREE", CACHED) + extension(b"XTRA", b"x")
        )
        assert is_clean(git_dir)

    def test_a_path_that_looks_like_an_extension(self, git_dir: Path) -> None:
        write_index(git_dir, b"TREE.md", b"b.md")
        assert is_clean(git_dir)

    @pytest.mark.parametrize("counts", [b"", b"\000-1 0", b"\0001", b"\0001 0 0", b"1 0", b"x1 0"])
    def test_a_cached_tree_that_is_not_valid(self, git_dir: Path, counts: bytes) -> None:
        write_index(
            git_dir, b"b.md", extensions=extension(b"TREE", counts + b"\n" + bytes.fromhex(TREE))
        )
        assert not is_clean(git_dir)


class TestOverlooked:
    def test_an_ordinary_entry_is_not(self, git_dir: Path) -> None:
        write_index(git_dir, b"a/b.md", b"b.md")
        assert not git_files.may_be_overlooked(str(git_dir), b"b.md")

    @pytest.mark.parametrize("version", [2, 3])
    def test_a_file_that_is_not_listed_is_not(self, git_dir: Path, version: int) -> None:
        write_index(git_dir, b"b.md", version=version)
        assert not git_files.may_be_overlooked(str(git_dir), b"c.md")

    @pytest.mark.parametrize("paths", [(), (b"b.md",)])
    def test_an_index_in_two_parts(self, git_dir: Path, paths: tuple[bytes, ...]) -> None:
        write_index(git_dir, *paths, extensions=extension(b"link", b"x" * 20))
        assert git_files.may_be_overlooked(str(git_dir), b"c.md")

    def test_an_index_with_shortened_paths(self, git_dir: Path) -> None:
        write_index(git_dir, b"b.md", version=4)
        assert git_files.may_be_overlooked(str(git_dir), b"c.md")


class TestExtensions:
    def test_none_at_the_end(self) -> None:
        assert git_files.extensions_from(b"head" + CHECKSUM, 4) == []

    def test_the_last_may_be_empty(self) -> None:
        data = extension(b"AAAA", b"12") + extension(b"BBBB", b"") + CHECKSUM
        assert git_files.extensions_from(data, 0) == [(b"AAAA", 8, 10), (b"BBBB", 18, 18)]

    @pytest.mark.parametrize(
        "row",
        [
            extension(b"AA A", b""),
            extension(b"AAAA", b"12")[:-1],
            extension(b"AAAA", b"1") + b"x",
            b"AAAA",
            b"AAAA" + bytes(3),
        ],
    )
    def test_what_is_no_row_of_them(self, row: bytes) -> None:
        assert git_files.extensions_from(row + CHECKSUM, 0) is None

    def test_a_checksum_that_reads_like_one(self) -> None:
        checksum = extension(b"AAAA", bytes(12))[:20]
        assert git_files.extensions_from(checksum, 0) == []
        assert git_files.extensions_from(extension(b"BBBB", b"12") + checksum, 0) == [
            (b"BBBB", 8, 10)
        ]

    def test_a_large_one(self) -> None:
        size = 1 << 24
        assert git_files.extensions_from(extension(b"AAAA", bytes(size)) + CHECKSUM, 0) == [
            (b"AAAA", 8, 8 + size)
        ]


class TestAttributes:
    """Files with attributes outside the work tree: `filter` in one of them may change what git
    stores.
    """

    def may_be_converted(self, tmp_path: Path) -> bool:
        return git_files.may_be_converted(
            str(tmp_path / "git"), str(tmp_path / "root"), b"a.md", b"x\n"
        )

    @pytest.mark.parametrize(
        ("file", "expected"),
        [("settings/git/attributes", True), ("home/.config/git/attributes", False)],
    )
    def test_where_a_variable_names_the_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, expected: bool
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        self.write(tmp_path / file)
        assert self.may_be_converted(tmp_path) is expected

    def test_in_the_home_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        self.write(tmp_path / "home/.config/git/attributes")
        assert self.may_be_converted(tmp_path)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"*.md filter=x\n")


@pytest.mark.parametrize("value", [b"", b"false", b"no", b"off", b"0", b"False", b"NO"])
def test_a_setting_that_is_off(value: bytes) -> None:
    assert git_files.is_off(value)


@pytest.mark.parametrize("value", [None, b"true", b"yes", b"on", b"1", b"2"])
def test_a_setting_that_is_on(value: bytes | None) -> None:
    assert not git_files.is_off(value)


@pytest.mark.parametrize("name", [b"Xavier", b"DeuX", b"MaXX", b"O'Hara", b"A. B"])
def test_a_name_that_git_writes_as_it_is(monkeypatch: pytest.MonkeyPatch, name: bytes) -> None:
    for part in ("NAME", "EMAIL"):
        monkeypatch.delenv(f"GIT_AUTHOR_{part}", raising=False)
    settings = git_files.GitSettings(
        {(b"user", b"name"): name, (b"user", b"email"): b"x@example.org"}
    )
    assert settings.person("AUTHOR") == name + b" <x@example.org>"
