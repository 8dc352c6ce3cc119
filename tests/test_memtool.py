"""The memory tool of the Anthropic API on a workspace: its texts are the reference's, its changes
are commits like all others.
"""

import errno
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from record_memory_tool import (
    COMMANDS,
    DATA,
    create,
    delete,
    insert,
    laid_out,
    lay_out,
    put,
    rename,
    view,
    without_folder_sizes,
)
from workspaces import NOW, STATE, Desk, desk, where_modes_count

from mdmem.changes import moves
from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep, Journal, Rename
from mdmem.memory import Memory
from mdmem.memtool import Backend
from mdmem.memtool.backend import ToolAnswer
from mdmem.model import FilePath
from mdmem.model.searches import Search

RECORDED = json.loads(DATA.read_text(encoding="utf-8"))
DEVIATIONS = {
    "view a name that only begins so": "Path must start with /memories, got: /memoriesX/house.md",
    "replace nothing": "usage: the text to find is empty.",
    "view without a path": "usage: view needs path. It takes path.",
}
"""Where the reference crashes, or takes what it should not."""
PROGRAM = str(Path(sys.executable).with_name("mdmem"))
LOG = "/memories/2026-03-04.md"
TOKEN = "ghp_" + "Zq3vT8bN1xK6mW9cR4yF" + "7sJ2hD5gL0pA8uEi"
TREE = {
    "memory/house.md": "# House\n\n- the key is under the mat\n",
    "memory/garden/roses.md": "# Roses\n\n- red\n",
    "memory/garden/beds/north.txt": "beans\n",
    "memory/2026-03-04.md": "# 2026-03-04\n\n## 09:00\n\n- it rained\n",
}


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = desk(world, repository)
    for path, text in TREE.items():
        at.write(path, text)
    at.commit("tree")
    return at


@pytest.fixture
def backend(at: Desk) -> Iterator[Backend]:
    backend = Backend(Memory.open(at.root, os.environ))
    yield backend
    backend.close()


def refused(at: Desk, backend: Backend, command: object, code: str) -> str:
    """The command is refused with a code, and nothing at all is changed."""
    before = at.tree_state()
    answer = backend.answer(command)
    assert answer.code == code, answer.text
    assert at.tree_state() == before
    assert "Traceback" not in answer.text
    return answer.text


class TestTheReference:
    @pytest.mark.parametrize("vector", RECORDED["vectors"], ids=lambda vector: vector["name"])
    def test_a_vector(self, vector: dict[str, Any], world: World, repository: Path):
        at = Desk(world, repository)
        at.write("mdmem.toml", "")
        lay_out(
            repository,
            {
                path.replace("/memories", "/memory", 1): text
                for path, text in RECORDED["files"].items()
            },
        )
        at.commit()
        answer = Backend(Memory.open(at.root, os.environ)).answer(vector["command"])
        after = laid_out(at.root / "memory")
        before = RECORDED["files"]
        changed = {
            path: after.get(path)
            for path in sorted({*before, *after})
            if after.get(path) != before.get(path)
        }
        assert changed == ({} if vector["name"] in DEVIATIONS else vector["changed"])
        assert without_folder_sizes(answer.text) == DEVIATIONS.get(
            vector["name"], vector.get("text")
        )
        assert (answer.code is not None) == (vector["name"] in DEVIATIONS or vector["is_error"])
        assert len(at.subjects()) == (2 if changed else 1), "one commit a change"
        assert not at.git("status", "--porcelain")

    def test_they_are_all_recorded(self):
        assert {vector["name"]: vector["command"] for vector in RECORDED["vectors"]} == COMMANDS
        assert set(DEVIATIONS) <= set(COMMANDS)


class TestPaths:
    def test_the_workspaces_own_files(self, at: Desk, backend: Backend):
        at.write("user.md", "# User\n")
        at.write("README.md", "# Not memory\n")
        rows = [row.split("\t")[1] for row in backend.call(view("/memories")).splitlines()[1:]]
        assert rows == [
            *(
                "/memories",
                "/memories/2026-03-04.md",
                "/memories/MEMORY.md",
                "/memories/garden/",
                "/memories/garden/beds/",
            ),
            *("/memories/garden/roses.md", "/memories/house.md", "/memories/user.md"),
        ]
        assert "works at Stripe" in backend.call(view("/memories/MEMORY.md"))
        assert "# User" in backend.call(view("/memories/USER.md"))
        assert (
            backend.answer(put("/memories/MEMORY.md", "works at Stripe", "works at Linear")).code
            is None
        )
        assert "Linear" in at.read("MEMORY.md")
        assert backend.answer(create("/memories/SOUL.md", "# Soul\n")).code is None
        assert at.read("SOUL.md") == "# Soul\n"
        assert "does not exist" in backend.call(view("/memories/README.md"))

    def test_a_folder_that_may_not_be_read_is_not_shown_empty(
        self, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ):
        def scan(folder: Path | int) -> Iterator[os.DirEntry[str]]:
            if getattr(folder, "name", "") == "garden":
                raise PermissionError(errno.EACCES, "Permission denied")
            return scandir(folder)

        scandir = os.scandir
        monkeypatch.setattr(os, "scandir", scan)
        assert backend.answer(view("/memories/garden")).code == "bad-path"
        assert "/memories/garden/\n" in backend.call(view("/memories")) + "\n"

    def test_what_makes_it_a_workspace_stays(self, at: Desk, backend: Backend):
        refused(at, backend, delete("/memories/MEMORY.md"), "bad-path")
        at.write("mdmem.toml", "")
        assert backend.answer(rename("/memories/MEMORY.md", "/memories/old.md")).code is None
        assert backend.answer(create("/memories/MEMORY.md", "# Memory\n")).code is None

    @pytest.mark.parametrize(
        "path",
        [
            *(
                "/memories/../MEMORY.md",
                "/memories/garden/../../x.md",
                "/memories/%2e%2e/x.md",
                "/memories/a%2fb.md",
                "/memories/%00.md",
            ),
            *(
                "/memories/a\0b.md",
                "/memories/a\nb.md",
                "/memories/a\\b.md",
                "/memories/.git/config",
                "/memories/x/.GIT/config",
            ),
            *(
                "/memories/.gitattributes",
                "/memories/mdmem.toml",
                "/memories/.mdmem-0.tmp",
                "/memories/link/x.md",
                "/memories/link",
            ),
            *(
                "/memories/" + "x" * 300 + ".md",
                "/memories/" + "x/" * 900,
                "/memories/house.md/x.md",
                "/memories/\ud800.md",
            ),
            *(
                "memories/x.md",
                "",
                "/",
                "/memory/x.md",
                "//memories/x.md",
                "/memories.md",
                "/memories\0",
                "~/x.md",
            ),
        ],
    )
    def test_what_leads_elsewhere(self, path: str, at: Desk, backend: Backend):
        (at.root / "memory/link").symlink_to("/etc")
        for command in (
            create(path, "x"),
            put(path, "a", "b"),
            insert(path, 0, "x"),
            delete(path),
            rename(path, "/memories/new.md"),
            view(path),
        ):
            answer = backend.answer(command)
            assert answer.code in ("bad-path", "file-not-found"), (command, answer)
        before = at.tree_state()
        assert backend.answer(rename("/memories/house.md", path)).code in (
            "bad-path",
            "file-exists",
            "usage",
        )
        assert at.tree_state() == before
        json.dumps(answer.text)

    def test_what_lies_below_a_file_is_not_there(self, at: Desk, backend: Backend):
        path = "/memories/house.md/x.md"
        for command in (put(path, "a", "b"), insert(path, 0, "x")):
            text = refused(at, backend, command, "file-not-found")
            assert text == f"The path {path} does not exist. Please provide a valid path."

    @pytest.mark.parametrize(
        "name",
        [
            *(
                ".claude/settings.json",
                ".mcp.json",
                "CLAUDE.md",
                "AGENTS.md",
                "GEMINI.md",
                ".envrc",
                ".cursorrules",
            ),
            *(
                "people/.hidden.md",
                "people/claude.md",
                "people/MEMORY.md",
                "people/memory.md",
                "a/b/Memory.md",
            ),
        ],
    )
    def test_files_that_hosts_read_are_not_made(self, name: str, at: Desk, backend: Backend):
        refused(at, backend, create(f"/memories/{name}", "x\n"), "bad-path")
        refused(at, backend, rename("/memories/house.md", f"/memories/{name}"), "bad-path")

    @pytest.mark.parametrize("name", ["AGENTS.md", "garden/CLAUDE.md", "garden/.envrc"])
    def test_those_of_a_person_are_read_and_stay(self, name: str, at: Desk, backend: Backend):
        path = f"/memories/{name}"
        at.write(f"memory/{name}", "by hand\n")
        at.commit("by hand")
        assert "by hand" in backend.call(view(path))
        commands = [
            put(path, "hand", "agent"),
            insert(path, 0, "x"),
            delete(path),
            rename(path, "/memories/x.md"),
        ]
        if name.startswith("garden"):
            commands += [delete("/memories/garden"), rename("/memories/garden", "/memories/yard")]
        for command in commands:
            refused(at, backend, command, "bad-path")

    def test_a_folder_that_is_a_workspace_can_go_and_is_not_made_anew(
        self, at: Desk, backend: Backend
    ):
        at.write("memory/garden/MEMORY.md", "# Memory\n\n- nested\n")
        at.commit("by hand")
        refused(at, backend, rename("/memories/garden", "/memories/yard"), "bad-path")
        assert backend.answer(put("/memories/garden/MEMORY.md", "nested", "inner")).code is None
        assert (
            backend.answer(rename("/memories/garden/MEMORY.md", "/memories/garden/notes.md")).code
            is None
        )
        assert backend.answer(rename("/memories/garden", "/memories/yard")).code is None

    def test_dots_that_stay_inside(self, backend: Backend):
        assert "under the mat" in backend.call(view("/memories/garden/.././/house.md"))

    def test_links_are_not_shown(self, at: Desk, backend: Backend):
        (at.root / "memory/link.md").symlink_to("/etc/passwd")
        assert "link" not in backend.call(view("/memories"))
        assert backend.answer(view("/memories/link.md")).code == "bad-path"

    def test_a_folder_with_a_link_stays(self, at: Desk, backend: Backend):
        (at.root / "memory/garden/link").symlink_to("/etc")
        refused(at, backend, delete("/memories/garden"), "bad-path")
        refused(at, backend, rename("/memories/garden", "/memories/yard"), "bad-path")

    def test_another_repository_stays(self, at: Desk, backend: Backend, world: World):
        world.git(at.root, "init", "-q", "memory/other")
        for command in (
            create("/memories/other/x.md", "x"),
            delete("/memories/other"),
            rename("/memories/house.md", "/memories/other/x.md"),
        ):
            refused(at, backend, command, "bad-path")


class TestChanges:
    @pytest.mark.parametrize(
        "command",
        [
            create("/memories/new.md", "# New\n"),
            create("/memories/a/b/new.txt", "plain"),
            put("/memories/house.md", "under the mat", "with Ada"),
            insert("/memories/house.md", 2, "- first"),
            insert(LOG, 5, "- it snowed"),
            delete("/memories/house.md"),
            delete("/memories/garden"),
            rename("/memories/house.md", "/memories/garden/house.md"),
            rename("/memories/garden", "/memories/a/yard"),
        ],
        ids=str,
    )
    def test_one_commit(
        self, command: dict[str, Any], at: Desk, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ):
        at.write("other.md", "staged\n")
        at.git("add", "other.md")
        count = len(at.subjects())
        assert backend.answer(command).code is None
        assert len(at.subjects()) == count + 1
        assert at.git("status", "--porcelain") == "A  other.md\n"
        message = at.git("log", "-1", "--format=%B")
        assert "Mdmem-Op: memory-tool\nMdmem-Source: inferred\n" in message
        assert "Mdmem-Actor: memory-tool\n" in message
        assert not list(at.root.rglob(".mdmem-*"))
        assert not (at.root / STATE / journal.WRITE_NAME).exists()

    def test_who_did_it(self, at: Desk):
        environment = {**os.environ, "MDMEM_ACTOR": "agent/main", "MDMEM_SESSION": "s-1"}
        Backend(Memory.open(at.root, environment)).call(delete("/memories/house.md"))
        message = at.git("log", "-1", "--format=%B")
        assert "Mdmem-Actor: agent/main\nMdmem-Session: s-1\n" in message
        assert "- the key is under the mat" in message

    def test_markdown_is_found_and_nothing_else(self, at: Desk, backend: Backend):
        backend.call(create("/memories/new.md", "# New\n\n- the ladder is in the shed\n"))
        backend.call(create("/memories/new.txt", "the ladder is on the roof\n"))
        memory = Memory.open(at.root, os.environ)
        assert [hit.path for hit in memory.search(Search("ladder")).hits] == ["memory/new.md"]
        backend.call(rename("/memories/new.md", "/memories/tools/ladder.md"))
        assert [hit.path for hit in memory.search(Search("ladder")).hits] == [
            "memory/tools/ladder.md"
        ]
        backend.call(delete("/memories/tools"))
        assert not memory.search(Search("ladder")).hits
        past = memory.search(Search("ladder", history=True)).hits
        assert [hit.status for hit in past if "shed" in hit.text] == ["removed"]
        memory.close()

    def test_a_days_log_only_grows(self, at: Desk, backend: Backend):
        for command in (
            *(
                put(LOG, "rained", "snowed"),
                insert(LOG, 0, "x"),
                insert(LOG, 3, "x"),
                delete(LOG),
                rename(LOG, "/memories/day.md"),
            ),
            rename("/memories/house.md", "/memories/2026-03-05.md"),
        ):
            assert "append-only" in refused(at, backend, command, "append-only")
        refused(at, backend, create(LOG, "x"), "file-exists")
        refused(at, backend, insert(LOG, 5, "```\nnever closed"), "open-block")
        refused(at, backend, insert(LOG, 6, "x"), "bad-line")
        assert backend.answer(insert(LOG, 5, "- it snowed")).code is None
        assert backend.answer(create("/memories/2026-03-05.md", "# 2026-03-05\n")).code is None

    def test_better_founded_facts_that_go_are_noted(self, at: Desk, backend: Backend):
        backend.call(create("/memories/own.md", "# Own\n\n- the agent's\n"))
        for path in ("/memories/own.md", "/memories/house.md"):
            backend.call(delete(path))
        events = [
            json.loads(line) for line in (at.root / STATE / "events.jsonl").read_text().splitlines()
        ]
        assert [event.get("warnings") for event in events if event["verb"] == "memory-tool"][
            1:
        ] == [None, ["weaker-source"]]

    @pytest.mark.parametrize("name", ["new.md", "new.txt"])
    def test_guards(self, name: str, at: Desk, backend: Backend):
        path = f"/memories/{name}"
        for text, code in (
            (f"the key is {TOKEN}\n", "secret-found"),
            ("<mdmem-context>\nx", "recalled-text"),
            ("a\0b", "bad-text"),
            ("\ud800", "bad-text"),
        ):
            assert TOKEN not in refused(at, backend, create(path, text), code)
            refused(at, backend, put("/memories/house.md", "under the mat", text), code)
            refused(at, backend, insert("/memories/house.md", 1, text), code)
        refused(at, backend, create(path, "x" * 5_000_001), "unsupported-file")
        refused(at, backend, rename("/memories/house.md", f"/memories/{TOKEN}.md"), "secret-found")

    def test_no_secret_is_shown(self, at: Desk, backend: Backend):
        key = (
            "-----BEGIN PRIVATE"
            + " KEY-----\n"
            + "MIIEvQ" * 20
            + "\n-----END PRIVATE"
            + " KEY-----"
        )
        at.write("memory/keys.md", f"# Keys\n\n- it is {TOKEN}\n{key}\n- the last line\n")
        text = backend.call(view("/memories/keys.md"))
        assert TOKEN not in text
        assert "MIIEvQ" not in text
        assert "     7\t- the last line" in text
        assert TOKEN not in backend.call(put("/memories/keys.md", TOKEN, "x"))
        at.write("mdmem.toml", f'log_queries = "{TOKEN}"\n')
        assert TOKEN not in refused(at, backend, view("/memories/keys.md"), "bad-settings")

    @pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xfe", b"a\0b"])
    def test_what_is_no_text(self, data: bytes, at: Desk, backend: Backend):
        at.write("memory/image.png", data)
        for command in (
            view("/memories/image.png"),
            put("/memories/image.png", "a", "b"),
            insert("/memories/image.png", 0, "b"),
        ):
            refused(at, backend, command, "unsupported-file")
        assert backend.answer(rename("/memories/image.png", "/memories/picture.png")).code is None
        assert (at.root / "memory/picture.png").read_bytes() == data

    def test_pending_edits_are_a_persons_first(self, at: Desk):
        backend = Backend(Memory.open(at.root, {**os.environ, "MDMEM_ACTOR": "agent/main"}))
        at.write("memory/garden/roses.md", "# Roses\n\n- yellow, says Ada\n")
        at.write("memory/garden/new.txt", "by hand\n")
        assert backend.answer(delete("/memories/garden")).code is None
        assert at.subjects()[:3] == [
            f"memory/garden{rest}"
            for rest in (": memory-tool", "/new.txt: edited by hand", "/roses.md: edited by hand")
        ]
        assert "yellow, says Ada" in at.git("show", "HEAD^:memory/garden/roses.md")
        assert not at.git("status", "--porcelain")

    def test_a_secret_in_pending_edits(self, at: Desk, backend: Backend):
        at.write("memory/garden/new.txt", f"{TOKEN}\n")
        refused(at, backend, delete("/memories/garden"), "pending-secret")

    def test_what_git_ignores_is_never_lost(self, at: Desk, backend: Backend):
        at.write(".gitignore", "*.log\n")
        at.write("memory/garden/x.log", "kept nowhere else\n")
        for command in (
            delete("/memories/garden"),
            rename("/memories/garden", "/memories/yard"),
            create("/memories/y.log", "x"),
        ):
            refused(at, backend, command, "ignored-path")

    def test_a_folder_without_files(self, at: Desk, backend: Backend):
        (at.root / "memory/bare/barer").mkdir(parents=True)
        assert backend.answer(rename("/memories/bare", "/memories/empty")).code is None
        assert (at.root / "memory/empty/barer").is_dir()
        assert backend.answer(delete("/memories/empty")).code is None
        assert not (at.root / "memory/empty").exists()
        assert len(at.subjects()) == 2

    def test_a_folder_into_itself(self, at: Desk, backend: Backend):
        refused(at, backend, rename("/memories/garden", "/memories/garden/beds/more"), "usage")

    def test_a_file_that_git_was_told_not_to_look_at(self, at: Desk, backend: Backend):
        at.git("update-index", "--assume-unchanged", "memory/house.md")
        at.write("memory/house.md", "# House\n\n- Ada's\n")
        assert backend.answer(delete("/memories/house.md")).code is None
        assert at.read("memory/garden/roses.md")
        assert "- Ada's" in at.git("show", "HEAD^:memory/house.md")

    @pytest.mark.parametrize(
        "command",
        [
            delete("/memories/garden"),
            rename("/memories/garden", "/memories/a/yard"),
            delete("/memories/house.md"),
        ],
        ids=str,
    )
    def test_a_hook_that_refuses(self, command: dict[str, Any], at: Desk, backend: Backend):
        at.write("memory/garden/new.txt", "by hand\n")
        at.write("memory/house.md", "# House\n\n- Ada's\n")
        at.hook("commit-msg", "! grep -q memory-tool $1")
        refused(at, backend, command, "commit-failed")
        assert not (at.root / STATE / journal.WRITE_NAME).exists()

    def test_what_a_hook_makes_of_it_is_shown_where_it_is_no_text_too(
        self, at: Desk, backend: Backend
    ):
        at.hook("pre-commit", "printf '\\377\\n' >> memory/house.md\ngit add memory/house.md\n")
        assert "\ufffd" in backend.call(put("/memories/house.md", "under the mat", "with Ada"))

    def test_a_save_at_the_last_moment(
        self, at: Desk, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ):
        move = files.move

        def saved_then_moved(path: Path, target: Path) -> bool:
            if path.name == "garden":
                at.write("memory/garden/roses.md", "# Roses\n\n- saved just now\n")
            return move(path, target)

        monkeypatch.setattr(files, "move", saved_then_moved)
        assert backend.answer(delete("/memories/garden")).code == "busy"
        assert at.read("memory/garden/roses.md") == "# Roses\n\n- saved just now\n"
        assert at.git("status", "--porcelain") == " M memory/garden/roses.md\n"


class Killed(BaseException):
    """The process ends here."""


MOVES = {
    "delete a file": delete("/memories/house.md"),
    "delete a folder": delete("/memories/garden"),
    "rename a file": rename("/memories/house.md", "/memories/a/home.md"),
    "rename a folder": rename("/memories/garden", "/memories/a/yard"),
}


class TestRecovery:
    """A process that is killed in the middle of a move; the next command settles it."""

    @pytest.mark.every(3)
    @pytest.mark.parametrize("moment", ["recorded", "moved", "committed", "discarded"])
    @pytest.mark.parametrize("name", MOVES)
    def test_killed(
        self, name: str, moment: str, at: Desk, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ):
        before = at.tree_state().files
        with monkeypatch.context() as patched:
            self._kill(patched, moment)
            with pytest.raises(Killed):
                backend.call(MOVES[name])
        assert (at.root / STATE / journal.WRITE_NAME).exists()
        assert (
            Backend(Memory.open(at.root, os.environ))
            .answer(create("/memories/next.md", "# Next\n"))
            .code
            is None
        )
        after = dict(at.tree_state().files)
        del after["memory/next.md"]
        assert not at.git("status", "--porcelain")
        assert not list(at.root.rglob(".mdmem-*"))
        done = moment != "recorded"
        assert at.subjects()[1:] == ([at.subjects()[1]] if done else []) + ["tree", "seed"]
        moved = (
            ("memory/house.md",)
            if "file" in name
            else tuple(path for path in TREE if "garden" in path)
        )
        assert all((path in after) is not done for path in moved)
        kept = sorted(before[path] for path in moved)
        if done and "rename" in name:
            assert (
                sorted(
                    after[path]
                    for path in after
                    if path.startswith("memory/a/") and isinstance(after[path], bytes)
                )
                == kept
            )
        elif done:
            assert sorted(at.git("show", f"HEAD~2:{path}").encode() for path in moved) == kept

    def _kill(self, patched: pytest.MonkeyPatch, moment: str) -> None:
        """Have the process end at a moment, with nothing undone."""

        def kill(*_: object, **__: object) -> None:
            raise Killed

        patched.setattr("mdmem.changes.recover.WriteSteps.undo", lambda *_: None)
        patched.setattr(moves.commits, "commit_made_after", lambda *_: None)
        drop = journal.drop
        match moment:
            case "recorded":
                patched.setattr(files, "move", kill)
            case "moved":
                patched.setattr(moves.commits, "commit", kill)
            case "committed" | "discarded":
                patched.setattr(
                    journal,
                    "drop",
                    lambda path: kill() if journal.load(path) else drop(path),
                )
        if moment == "committed":
            patched.setattr(moves, "discard", kill)

    @pytest.mark.parametrize("name", MOVES)
    def test_killed_and_then_somebody_was_at_it(
        self, name: str, at: Desk, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ):
        with monkeypatch.context() as patched:
            self._kill(patched, "moved")
            with pytest.raises(Killed):
                backend.call(MOVES[name])
        left = journal.load(at.root / STATE / journal.WRITE_NAME)
        assert left
        (rename,) = left.steps
        assert isinstance(rename, Rename)
        path = at.root / rename.target
        (
            path if path.is_file() else next(each for each in path.rglob("*") if each.is_file())
        ).write_text("Ada's\n")
        assert backend.answer(create("/memories/next.md", "# Next\n")).code is None
        assert any(
            path.read_text() == "Ada's\n"
            for path in (at.root / "memory").rglob("*")
            if path.is_file()
        )
        assert not list(at.root.rglob(".mdmem-*"))
        assert at.subjects()[1:] == ["tree", "seed"]

    @pytest.mark.parametrize("name", MOVES)
    @pytest.mark.parametrize("at_commit", [False, True])
    def test_interrupted(
        self,
        name: str,
        at_commit: bool,
        at: Desk,
        backend: Backend,
        monkeypatch: pytest.MonkeyPatch,
    ):
        before = at.tree_state()
        commit = moves.commits.commit

        def interrupt(*arguments: Any) -> None:
            if at_commit:
                commit(*arguments)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(moves.commits, "commit", interrupt)
            with pytest.raises(KeyboardInterrupt):
                backend.call(MOVES[name])
        assert at.tree_state() == before
        assert not (at.root / STATE / journal.WRITE_NAME).exists()

    def test_a_folder_that_was_left_behind(self, at: Desk):
        at.write("memory/.mdmem-0123456789abcdef.tmp/deep/a.md", "# A\n")
        memory = Memory.open(at.root, os.environ)
        finding = next(each for each in memory.examine(fix=True) if each.check == "temporary")
        assert finding.message.startswith("memory/.mdmem-0123456789abcdef.tmp was left by a write")
        assert "move it back" in finding.hint
        assert at.read("memory/.mdmem-0123456789abcdef.tmp/deep/a.md")

    def test_a_record_that_somebody_wrote(self, at: Desk, backend: Backend):
        backend.call(view("/memories"))
        at.workspace.ensure_state()
        rename = Rename(
            path=FilePath("memory/nowhere"),
            target=FilePath("memory/house.md"),
            is_removal=True,
            digests={},
        )
        left = Journal((rename,), CommitStep("x", "@1 +0000"))
        journal.save(at.root / STATE / journal.WRITE_NAME, left)
        assert backend.answer(create("/memories/next.md", "# Next\n")).code is None
        assert at.read("memory/house.md") == TREE["memory/house.md"]


class TestFaults:
    @pytest.mark.parametrize(
        ("command", "text"),
        [
            (None, "a command is one JSON object"),
            ([], "a command is one JSON object"),
            ({}, "command is missing"),
            ({"command": "fly"}, "Unknown command: fly"),
            ({"command": ["view"]}, "Unknown command: ['view']"),
            ({"command": "create", "path": "/memories/x.md"}, "create needs file_text"),
            ({"command": "view", "path": 7}, "path must be a text"),
            (
                {**insert("/memories/house.md", 1, "x"), "insert_line": "1"},
                "insert_line must be a whole number",
            ),
            (insert("/memories/house.md", True, "x"), "insert_line must be a whole number"),
            (insert("/memories/house.md", -1, "x"), "within the range [0, 3]"),
            ({**view("/memories/house.md"), "view_range": "1-2"}, "view_range must be a list"),
            (put("/memories/house.md", "{path}", "x"), "old_str `{path}` did not appear"),
        ],
    )
    def test_what_is_no_command(self, command: object, text: str, backend: Backend):
        assert text in backend.call(command)

    def test_what_the_command_does_not_have_is_let_go(self, backend: Backend):
        assert "under the mat" in backend.call(
            {**view("/memories/house.md"), "view_range": None, "reason": "x"}
        )
        assert "under the mat" in backend.call({**view("/memories/house.md"), "view_range": [1]})

    def test_a_lock_that_is_held(self, at: Desk):
        at.write("mdmem.toml", "lock_timeout = 0.1\n")
        backend = Backend(Memory.open(at.root, os.environ))
        at.workspace.ensure_state()
        with files.lock(at.root / STATE / files.LOCK_NAME, 1):
            for command in (
                create("/memories/x.md", "x"),
                delete("/memories/garden"),
                rename("/memories/garden", "/memories/yard"),
            ):
                assert "busy: gave up after 0.1 s: another mdmem is writing" in refused(
                    at, backend, command, "busy"
                )
            assert "under the mat" in backend.call(view("/memories/house.md"))

    @where_modes_count
    def test_a_workspace_that_cannot_be_written(self, at: Desk, backend: Backend):
        folders = [at.root, *(path for path in at.root.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        try:
            for command in (
                create("/memories/x.md", "x"),
                delete("/memories/garden"),
                rename("/memories/garden", "/memories/yard"),
            ):
                assert backend.answer(command).code == "storage"
            assert "under the mat" in backend.call(view("/memories/house.md"))
        finally:
            for folder in folders:
                folder.chmod(0o755)

    @pytest.mark.parametrize("name", MOVES)
    def test_a_disk_that_fails(
        self, name: str, at: Desk, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ):
        def fail(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(journal, "save", fail)
            assert "No space left" in refused(at, backend, MOVES[name], "storage")
        with monkeypatch.context() as patched:
            patched.setattr(moves, "discard", fail)
            drop = journal.drop
            patched.setattr(
                journal,
                "drop",
                lambda path: fail() if journal.load(path) else drop(path),
            )
            assert backend.answer(MOVES[name]).code is None
        assert backend.answer(create("/memories/next.md", "# Next\n")).code is None
        assert at.subjects()[2:] == ["tree", "seed"]
        assert not list(at.root.rglob(".mdmem-*"))

    def test_a_folder_that_is_none(self, at: Desk, backend: Backend):
        (at.root / "MEMORY.md").unlink()
        assert "does not exist" in backend.call(view("/memories/MEMORY.md"))
        assert backend.answer(create("/memories/MEMORY.md", "# Memory\n")).code is None

    def test_a_merge_under_way(self, at: Desk, backend: Backend):
        (at.root / ".git/MERGE_HEAD").write_text(at.git("rev-parse", "HEAD"))
        for command in MOVES.values():
            refused(at, backend, command, "repository-busy")

    def test_two_threads(self, at: Desk, backend: Backend):
        answers: list[ToolAnswer] = []

        def work(name: str) -> None:
            for number in range(3):
                answers.append(
                    backend.answer(create(f"/memories/{name}/{number}.md", f"# {name} {number}\n"))
                )
                answers.append(backend.answer(insert(LOG, 5, f"- {name} {number}")))
            answers.append(backend.answer(rename(f"/memories/{name}", f"/memories/done/{name}")))

        threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(answer.code in (None, "append-only") for answer in answers), answers
        assert sorted(path.name for path in (at.root / "memory/done").iterdir()) == ["one", "two"]
        assert not at.git("status", "--porcelain")
        at.git("fsck", "--strict")

    def test_events_hold_no_text(self, at: Desk, backend: Backend):
        backend.call(create("/memories/new.md", "# Rosebud\n"))
        backend.call(put("/memories/new.md", "Rosebud", "Rosebush"))
        backend.call(view("/memories/nowhere.md"))
        text = (at.root / STATE / "events.jsonl").read_text()
        verbs = [json.loads(line)["verb"] for line in text.splitlines()]
        assert verbs == [
            "memory-tool",
            "memory-tool-create",
            "memory-tool",
            "memory-tool-str_replace",
            "memory-tool-view",
        ]
        assert "Rose" not in text


class TestProcess:
    def run(
        self,
        at: Desk,
        *lines: bytes | str,
        environment: Callable[[], dict[str, str]] = dict,
        folder: Path | None = None,
    ) -> list[dict[str, Any]]:
        source = b"\n".join(line.encode() if isinstance(line, str) else line for line in lines)
        done = at.world.run(
            folder or at.root,
            [PROGRAM, "memory-tool"],
            stdin=source.decode("utf-8", "surrogateescape"),
            environment=environment(),
        )
        assert done.stderr == ""
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_lines(self, at: Desk):
        answers = self.run(
            at,
            json.dumps(view("/memories/house.md")),
            "",
            "{",
            "[1]",
            '"\\ud800"',
            "[" * 5000,
            json.dumps(delete("/memories/garden")),
        )
        assert [answer.get("error") for answer in answers] == [
            None,
            "usage",
            "usage",
            "usage",
            "usage",
            None,
        ]
        assert answers[0]["content"].startswith("Here's the content of /memories/house.md")
        assert answers[0]["is_error"] is False
        assert answers[1]["is_error"] is True
        assert answers[-1]["content"] == "Successfully deleted /memories/garden"
        assert at.subjects()[0] == "memory/garden: memory-tool"

    def test_no_workspace(self, at: Desk, tmp_path: Path):
        (answer,) = self.run(at, json.dumps(view("/memories")), folder=tmp_path)
        assert answer["error"] == "no-workspace"
        assert "mdmem init" in answer["content"]
