"""Listing the Markdown files of memory and of a person's notes, on a real disk."""

import os
import shutil
from pathlib import Path

import pytest

from mdmem.folder import layout


class TestMarkdownFiles:
    def listed(self, root: Path, *folders: str) -> list[str]:
        return sorted(layout.markdown_paths(root, folders, lambda status: status))

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "root"
        for path in (
            "a.md",
            "B.MD",
            "c.txt",
            "memory/d.md",
            ".git/e.md",
            "memory/deep/er/f.md",
            "other/g.md",
            "memory/h.md/i.md",
        ):
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
        assert self.listed(root, "memory", "memory/", "memory/deep", "none") == [
            "B.MD",
            "a.md",
            *memory,
        ]
        assert self.listed(root, "other/g.md", "c.txt") == ["B.MD", "a.md", "other/g.md"]
        assert self.listed(root, ".") == ["B.MD", "a.md", *memory, "other/g.md"]

    def test_other_repositories_are_passed_over_in_the_workspace(self, root: Path):
        (root / "memory/.git").mkdir()
        (root / "memory/deep/.git").write_text("gitdir: elsewhere\n")
        assert self.listed(root, "memory") == ["B.MD", "a.md", "memory/d.md", "memory/h.md/i.md"]
        (root.parent / "outside/deep/.git").mkdir(parents=True)
        (root.parent / "outside/deep/p.md").write_text("p")
        assert self.listed(root, "../outside") == [
            "../outside/deep/p.md",
            "../outside/o.md",
            "B.MD",
            "a.md",
        ]

    def test_no_link_is_followed_out(self, root: Path):
        (root / "other" / "deep").mkdir()
        (root / "other" / "deep" / "k.md").write_text("k")
        linked = (
            "linked",
            "linked/",
            "./linked",
            "linked/deep",
            "memory/linked/deep",
            "memory//linked/deep",
            "link.md",
        )
        for path in linked:
            assert self.listed(root, path) == ["B.MD", "a.md"]

    def test_a_workspace_that_is_a_link_is_not_read_in_folders(self, root: Path):
        root.with_name("link").symlink_to(root)
        assert (
            self.listed(root.with_name("link"), "memory")
            == self.listed(root.with_name("link"), "")
            == []
        )

    def test_a_name_is_cut_at_its_slashes_only(self, root: Path):
        (root / "memoX").mkdir()
        (root / "memoX" / "x.md").write_text("x")
        assert self.listed(root, "memoX/") == ["B.MD", "a.md", "memoX/x.md"]

    def test_a_folder_outside_keeps_the_path_given(self, root: Path):
        outside = root.parent / "outside"
        assert self.listed(root, "../outside", str(outside)) == sorted(
            ["B.MD", "a.md", "../outside/o.md", f"{outside}/o.md"]
        )
        for way in ("way", "../way"):
            (root / way).symlink_to(outside)
        assert self.listed(root, f"{root}/way") == sorted(["B.MD", "a.md", f"{root}/way/o.md"])
        assert self.listed(root, "../way") == ["../way/o.md", "B.MD", "a.md"]

    def test_a_file_or_folder_that_goes_meanwhile(self, root: Path):
        gone = (root / "memory" / "d.md").stat().st_ino
        (root / "memory/deep/j.md").write_text("j")

        def read_status(status: os.stat_result) -> int:
            if status.st_ino == gone:
                raise FileNotFoundError
            if status.st_size == 1:
                shutil.rmtree(root / "memory/deep/er")
            return status.st_size

        listed = layout.markdown_paths(root, ["memory"], read_status)
        assert sorted(listed) == ["B.MD", "a.md", "memory/deep/j.md", "memory/h.md/i.md"]

    def test_where_it_is_on_disk(self, root: Path):
        listed = layout.markdown_paths(root, ["memory"], lambda status: status)
        file = layout.ListedFile(root, "memory/deep/er/f.md", listed["memory/deep/er/f.md"])
        assert file.full_path == root / "memory/deep/er/f.md"
        assert file.status.st_size == len("memory/deep/er/f.md")


class TestNotes:
    """Files of a person's notes: what is hidden, left out or another's is passed over, at any
    depth.
    """

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "root"
        notes = ("a.md", "A.MD", "c.txt", "n/b.md", "n/deep/c.md", "n/deep/er/d.md", "n.d/e.md")
        hidden = (".h/x.md", "n/.h/x.md", "n/.h/in/x.md", "n/deep/.h.d/x.md")
        foreign = (
            "n/w/MEMORY.md",
            "n/w/x.md",
            "n/w/in/x.md",
            "n/g/.git/x.md",
            "n/g/x.md",
            "n/g/in/x.md",
        )
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
            (
                [("", True)],
                [],
                ["A.MD", "a.md", "n.d/e.md", "n/b.md", "n/deep/c.md", "n/deep/er/d.md"],
            ),
            ([("", True)], ["n/deep/"], ["A.MD", "a.md", "n.d/e.md", "n/b.md"]),
            ([("", True)], ["n/", "n.d/e.md"], ["A.MD", "a.md"]),
            ([("n", False), ("n.d", True)], [], ["n.d/e.md", "n/b.md"]),
            ([("n/deep", False)], [], ["n/deep/c.md"]),
            ([("n/deep", True)], ["n/deep/er/d.md"], ["n/deep/c.md"]),
            ([("n/deep/er", True)], ["n/deep/"], []),
            ([("n/deep/er", True)], ["n/"], []),
            *(
                ([(folder, True)], [], [])
                for folder in (
                    ".h",
                    "n/.h",
                    "n/.h/in",
                    "n/deep/.h.d",
                    "n/w",
                    "n/w/in",
                    "n/g",
                    "n/g/in",
                )
            ),
            *(
                ([(folder, True)], [], [])
                for folder in ("n/linked", "n/linked/er", "none", "n/none", "a.md")
            ),
        ],
    )
    def test_what_is_listed(
        self, root: Path, folders: list[tuple[str, bool]], skipped: list[str], expected: list[str]
    ):
        assert sorted(layout.note_paths(root, folders, skipped, lambda status: status)) == expected

    def test_a_file_or_folder_that_goes_meanwhile(self, root: Path):
        gone = (root / "n" / "b.md").stat().st_ino

        def read_status(status: os.stat_result) -> int:
            if status.st_ino == gone:
                raise FileNotFoundError
            shutil.rmtree(root / "n/deep/er")
            return status.st_size

        listed = layout.note_paths(root, [("n", True)], [], read_status)
        assert listed == {"n/deep/c.md": len("n/deep/c.md")}

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            *(
                (path, False)
                for path in ("a.md", "n/b.md", "n/deep/er/d.md", "n/none/x.md", "MEMORY.md")
            ),
            *(
                (path, True)
                for path in (
                    "n/w/x.md",
                    "n/w/in/x.md",
                    "n/g/x.md",
                    "n/g/in/none.md",
                    "n/w/none/none/x.md",
                )
            ),
        ],
    )
    def test_what_lies_in_another_workspace_or_work_tree(
        self, root: Path, path: str, expected: bool
    ):
        (root / "MEMORY.md").touch()
        (root / ".git").mkdir()
        assert layout.lies_elsewhere(root, path) is expected

    @pytest.mark.parametrize("name", ["MEMORY.md", "mdmem.toml"])
    def test_what_makes_a_folder_a_workspace(self, tmp_path: Path, name: str):
        assert not layout.is_marked(tmp_path)
        (tmp_path / name).mkdir()
        assert not layout.is_marked(tmp_path)
        (tmp_path / name).rmdir()
        (tmp_path / name).touch()
        assert layout.is_marked(tmp_path)
        assert layout.is_foreign(tmp_path)
