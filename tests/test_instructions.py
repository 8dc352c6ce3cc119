"""mdmem's instructions to agents in a file of somebody else's: put in on request, replaced, taken
out, and the rest as it was.
"""

import os
import re
from pathlib import Path

import pytest
from commandline import Shell
from commandline import shell as shell
from conftest import World
from hypothesis import given
from hypothesis import strategies as st
from workspaces import Desk, code_of, desk

from mdmem.changes.agent_files import files_with_instructions, set_instructions
from mdmem.editors.instructions import find_instructions, put_in, take_out
from mdmem.folder import files, installed
from mdmem.mcp.tools import TOOLS
from mdmem.memory import initialise
from mdmem.model import FilePath
from mdmem.model.errors import MdmemError, SectionProblem
from mdmem.model.reads import Initialise
from mdmem.repo import commits
from mdmem.text.document import BOM, parse, split_lines
from mdmem.text.facts import INSTRUCTIONS_BEGIN, INSTRUCTIONS_END, entries

TEXT = "Memory is here.\n- search first"
BLOCK = f"{INSTRUCTIONS_BEGIN}\n{TEXT}\n{INSTRUCTIONS_END}"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def put(at: Desk, name: str = "AGENTS.md") -> list[str]:
    return list(initialise(Initialise(str(at.root), hooks=False, agents=name), os.environ).notes)


def take(at: Desk, name: str = "AGENTS.md") -> str | None:
    return initialise(Initialise(str(at.root), hooks=False, no_agents=name), os.environ).took_out


class TestText:
    """The pure part."""

    @given(
        st.lists(
            st.sampled_from(
                [
                    "a",
                    "# A",
                    "- x",
                    "",
                    "  ",
                    "\n",
                    "\r\n",
                    "\r",
                    "```\n",
                    "    code",
                    "> q",
                    "---\n",
                    BOM,
                ]
            )
        )
    )
    def test_what_was_put_in_comes_out_and_the_rest_is_as_it_was(self, parts: list[str]):
        document = parse("".join(parts))
        if document.open_line is not None:
            return
        once = put_in(document, TEXT).text
        assert once.startswith(document.text)
        assert put_in(parse(once), TEXT).text == once
        assert take_out(parse(put_in(parse(once), "old").text)).text == document.text

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_it_has_the_line_ends_of_the_file(self, end: str):
        text = put_in(parse(f"# A{end}{end}b{end}"), TEXT).text
        assert {line[len(line.rstrip("\r\n")) :] for line in split_lines(text)} == {end}

    @pytest.mark.parametrize(
        ("text", "without"),
        [
            (f"a\n\n{BLOCK}\n\nb\n", "a\n\nb\n"),
            (f"a\n{BLOCK}\nb\n", "a\nb\n"),
            (f"a\n\n{BLOCK}\nb\n", "a\n\nb\n"),
            (f"{BLOCK}\n\nb\n", "b\n"),
            (f"{BOM}{BLOCK}\n", BOM),
            (f"---\nx: 1\n---\n\n{BLOCK}\n", "---\nx: 1\n---\n"),
        ],
    )
    def test_where_it_was_moved_to_it_is_replaced_and_taken_out(self, text: str, without: str):
        assert put_in(parse(text), TEXT).text == text
        assert put_in(parse(text), "new").text == text.replace(TEXT, "new")
        assert take_out(parse(text)).text == without

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            (f"a\n{INSTRUCTIONS_BEGIN}\nb\n", 2),
            (f"{INSTRUCTIONS_END}\n", 1),
            (f"{INSTRUCTIONS_END}\n{INSTRUCTIONS_BEGIN}\n", 1),
            (f"{BLOCK}\n\n{BLOCK}\n", 1),
            (f"{INSTRUCTIONS_BEGIN}\n{BLOCK}\n", 1),
        ],
        ids=["unclosed", "not begun", "the wrong way round", "twice", "begun twice"],
    )
    def test_delimiters_that_are_no_pair_are_refused(self, text: str, line: int):
        for edit in (lambda: put_in(parse(text), TEXT), lambda: take_out(parse(text))):
            with pytest.raises(SectionProblem) as failure:
                edit()
            assert (failure.value.code, failure.value.details["line"]) == (
                "broken-delimiters",
                line,
            )

    def test_in_a_fence_or_in_a_sentence_they_are_none(self):
        text = (
            f"```\n{BLOCK}\n```\n\nIt stands between {INSTRUCTIONS_BEGIN} and {INSTRUCTIONS_END}.\n"
        )
        assert find_instructions(parse(text)) is None
        assert take_out(parse(put_in(parse(text), TEXT).text)).text == text

    @pytest.mark.parametrize("text", ["```\ncode\n", "<!-- a comment\n"])
    def test_in_an_open_fence_or_comment_it_would_not_be_read(self, text: str):
        with pytest.raises(SectionProblem) as failure:
            put_in(parse(text), TEXT)
        assert (failure.value.code, failure.value.details["line"]) == ("open-block", 1)

    def test_no_search_finds_it(self):
        document = parse(f"- mine\n\n{BLOCK}\n\n- mine too\n")
        assert [entry.text for entry in entries(document, FilePath("AGENTS.md"))] == [
            "mine",
            "mine too",
        ]

    @pytest.mark.parametrize(
        "text",
        [
            f"- mine\n{INSTRUCTIONS_BEGIN}\n- mine too\n",
            f"{INSTRUCTIONS_END}\n\n- mine\n- mine too\n",
        ],
    )
    def test_without_an_end_all_is_found(self, text: str):
        assert [entry.text for entry in entries(parse(text), FilePath("AGENTS.md"))] == [
            "mine",
            "mine too",
        ]


class TestTemplate:
    def test_it_has_ten_lines(self):
        assert len(installed.template("agents.md").splitlines()) == 10

    def test_every_tool_in_it_is_one(self):
        named = set(re.findall(r"`(memory_\w+)", installed.template("agents.md"))) - {"memory_"}
        assert named <= set(TOOLS)
        assert len(named) == 4

    def test_every_command_in_it_is_one(self, shell: Shell):
        commands = re.findall(
            r"`mdmem ([a-z]+(?: (?:start|note|done))?)", installed.template("agents.md")
        )
        assert len(commands) == 7
        for command in commands:
            assert shell.run(*command.split(), "--help").status == 0


class TestFile:
    def test_a_file_that_was_made_for_it_goes_with_it(self, at: Desk):
        assert put(at) == []
        assert (
            at.read("AGENTS.md")
            == f"{INSTRUCTIONS_BEGIN}\n{installed.template('agents.md')}{INSTRUCTIONS_END}\n"
        )
        assert at.git("status", "--porcelain") == ""
        assert take(at) == "AGENTS.md"
        assert not (at.root / "AGENTS.md").exists()
        assert at.git("status", "--porcelain") == ""
        assert at.git("ls-files", "AGENTS.md") == ""
        assert at.subjects("AGENTS.md") == ["AGENTS.md: init", "AGENTS.md: init"]
        assert list(at.root.glob(f"{files.TEMPORARY_PREFIX}*")) == []

    def test_twice_is_once(self, at: Desk):
        put(at)
        before = at.tree_state()
        assert put(at) == ["unchanged: AGENTS.md"]
        assert at.tree_state() == before

    @pytest.mark.parametrize(
        "data", [b"# Rules\r\n\r\nmine\r\n", b"\xef\xbb\xbfmine", b"", b"\n", b"- a\n\n\n"]
    )
    def test_a_file_of_a_person_s_is_as_it_was(self, at: Desk, data: bytes):
        at.write("CLAUDE.md", data)
        at.commit()
        put(at, "CLAUDE.md")
        assert (at.root / "CLAUDE.md").read_bytes().startswith(data)
        assert take(at, "CLAUDE.md") == "CLAUDE.md"
        assert (at.root / "CLAUDE.md").read_bytes() == data
        assert at.git("status", "--porcelain") == ""

    def test_pending_edits_become_a_commit_of_their_own(self, at: Desk):
        at.write("AGENTS.md", "mine\n")
        assert put(at) == ["committed the pending edits of AGENTS.md first, as yours"]
        assert at.subjects("AGENTS.md") == ["AGENTS.md: init", "AGENTS.md: edited by hand"]
        assert at.git("show", "HEAD~:AGENTS.md") == "mine\n"

    def test_what_was_written_below_it_stays(self, at: Desk):
        put(at)
        at.write("AGENTS.md", at.read("AGENTS.md") + "\nmine\n")
        assert take(at) == "AGENTS.md"
        assert at.read("AGENTS.md") == "mine\n"

    def test_a_file_that_is_not_searched_takes_it_too(self, at: Desk):
        assert put(at, ".github/copilot-instructions.md") == []
        assert take(at, ".github/copilot-instructions.md")

    def test_where_there_are_none_it_is_no_failure(self, at: Desk):
        before = at.tree_state()
        assert take(at) is None
        at.write("AGENTS.md", "mine\n")
        assert take(at) is None
        (at.root / "AGENTS.md").unlink()
        assert at.tree_state() == before

    def test_those_that_stand_elsewhere_are_named(self, at: Desk):
        put(at, "CLAUDE.md")
        done = initialise(Initialise(str(at.root), hooks=False, no_agents="AGENTS.md"), os.environ)
        assert [note for note in done.notes if "CLAUDE.md" in note]

    def test_what_a_hook_refuses_is_undone(self, at: Desk):
        put(at)
        at.hook("pre-commit", "exit 1")
        before = at.tree_state()
        with pytest.raises(MdmemError) as failure:
            set_instructions(at.workspace, "AGENTS.md", True, print)
        assert failure.value.code == "commit-failed"
        assert at.tree_state() == before

    def test_it_is_committed_as_the_settings_have_it(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        at.git("config", "--remove-section", "user")
        at.write("mdmem.toml", 'author = "Memory <memory@example.org>"\n')
        put(at)
        done: list[object] = []
        sync, commit = files.sync, commits.commit
        monkeypatch.setattr(
            files,
            "sync",
            lambda folder: (done.append((folder, (at.root / "AGENTS.md").exists())), sync(folder)),
        )
        monkeypatch.setattr(
            commits, "commit", lambda *order: (done.append("commit"), commit(*order))[1]
        )
        assert take(at) == "AGENTS.md"
        assert (at.root, False) in done[: done.index("commit")]
        assert at.git("log", "-1", "--format=%an <%ae>") == "Memory <memory@example.org>\n"
        assert not [
            line
            for line in at.git("log", "-1", "--format=%B").splitlines()
            if line.startswith("+ ")
        ]

    def test_what_is_saved_at_the_last_moment_stays(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        put(at)
        saved, name = at.read("AGENTS.md") + "mine\n", files.temporary_name()
        monkeypatch.setattr(
            files, "temporary_name", lambda: (at.write("AGENTS.md", saved), name)[1]
        )
        assert code_of(lambda: set_instructions(at.workspace, "AGENTS.md", True, print)) == "busy"
        assert (at.read("AGENTS.md"), (at.root / name).exists()) == (saved, False)

    def test_nothing_goes_while_git_merges(self, at: Desk):
        put(at)
        at.write(".git/MERGE_HEAD", at.head())
        before = at.tree_state()
        assert (
            code_of(lambda: set_instructions(at.workspace, "AGENTS.md", True, print))
            == "repository-busy"
        )
        assert at.tree_state() == before

    def test_memory_takes_none_and_a_note_does(self, at: Desk):
        assert (
            code_of(lambda: set_instructions(at.workspace, "memory/house.md", False, print))
            == "bad-path"
        )
        at.write("mdmem.toml", 'paths = ["notes/*.md"]\n')
        assert set_instructions(at.workspace, "notes/a.md", False, print).changed

    def test_a_file_that_is_no_text_holds_none(self, at: Desk):
        at.write("CLAUDE.md", b"\xff")
        put(at)
        assert files_with_instructions(at.workspace) == ["AGENTS.md"]

    def test_what_cannot_be_taken_out_is_refused_before_anything_is_made(
        self, world: World, tmp_path: Path
    ):
        at = Desk(world, tmp_path / "new")
        at.write("AGENTS.md", INSTRUCTIONS_BEGIN)
        assert code_of(lambda: take(at)) == "broken-delimiters"
        assert [path.name for path in at.root.iterdir()] == ["AGENTS.md"]

    @pytest.mark.parametrize(
        ("name", "data", "code"),
        [
            ("AGENTS.md", INSTRUCTIONS_BEGIN.encode(), "broken-delimiters"),
            ("AGENTS.md", "ä".encode("latin-1"), "unsupported-file"),
            ("AGENTS.md", "mine\n".encode("utf-16"), "unsupported-file"),
            ("AGENTS.md", b"```\nopen\n", "open-block"),
            ("../AGENTS.md", None, "bad-path"),
            ("/AGENTS.md", None, "bad-path"),
            ("AGENTS.txt", None, "bad-path"),
            ("MEMORY.md", None, "bad-path"),
            ("USER.md", None, "bad-path"),
            ("memory/2026-03-01.md", None, "bad-path"),
            ("memory/house.md", None, "bad-path"),
        ],
    )
    def test_what_cannot_take_it_is_refused_before_anything_is_made(
        self, world: World, tmp_path: Path, name: str, data: bytes | None, code: str
    ):
        at = Desk(world, tmp_path / "new")
        at.root.mkdir()
        if data is not None:
            at.write(name, data)
        with pytest.raises(MdmemError) as failure:
            put(at, name)
        assert failure.value.code == code
        assert {path.name: path.read_bytes() for path in at.root.iterdir()} == (
            {name: data} if data is not None else {}
        )

    def test_a_link_is_refused_by_name(self, at: Desk):
        at.write("AGENTS.md", "mine\n")
        (at.root / "CLAUDE.md").symlink_to("AGENTS.md")
        with pytest.raises(MdmemError) as failure:
            put(at, "CLAUDE.md")
        assert (failure.value.code, failure.value.hint) == (
            "bad-path",
            "Name the file that it points to.",
        )
        assert at.read("AGENTS.md") == "mine\n"


class TestCommandLine:
    @pytest.mark.parametrize(
        ("words", "name"),
        [
            (["--agents"], "AGENTS.md"),
            (["--agents", "--no-hooks"], "AGENTS.md"),
            (["--agents", "CLAUDE.md"], "CLAUDE.md"),
            (["--agents=CLAUDE.md"], "CLAUDE.md"),
            (["--no-hooks", ".", "--agents"], "AGENTS.md"),
        ],
    )
    def test_a_file_may_be_named(self, shell: Shell, words: list[str], name: str):
        answer = shell.run("init", *words, "--json").answer
        assert answer["written"] == [name]
        assert shell.run(
            "init", words[0].replace("--agents", "--no-agents"), *words[1:], "--json"
        ).answer["took_out"] in (name, None)

    def test_it_says_what_was_done(self, shell: Shell):
        assert " (AGENTS.md) " in shell.run("init", "--agents").out
        assert ", removed the instructions from AGENTS.md " in shell.run("init", "--no-agents").out

    def test_a_folder_goes_before_it(self, shell: Shell):
        assert shell.run("init", "--agents", "elsewhere").status == 1
        assert not (shell.folder / "elsewhere").exists()

    def test_both_at_once_are_refused(self, shell: Shell):
        failed = shell.run("init", "--agents", "--no-agents")
        assert (failed.status, failed.err) == (
            2,
            "mdmem: --agents and --no-agents exclude each other\n",
        )
