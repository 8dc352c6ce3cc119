"""Places that only people may change: the judge alone, and changes by file, git and merges."""

import json
import os
import re
from contextlib import closing
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk

import mdmem
from mdmem.cli import main
from mdmem.memory import Memory
from mdmem.memory.commit_hooks import staged_problems
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import MdmemError, RepositoryProblem, WorkspaceProblem
from mdmem.model.writes import Action, Contradict, EditSection, Log, Remember, Save, WriteOptions
from mdmem.text.writers import Rules, WrittenFile, changed_places, marked_place

SEED = """# Memory

## House rules

- no shoes inside

### Kitchen

- wash up

## Facts

- home: Oslo
"""
LOG = "memory/2026-03-04.md"
AGENT = WriteOptions(actor="agent/x")
SECTION = 'people_only = ["SOUL.md", "MEMORY.md#House rules"]\n'


def kind_of(path: str) -> FileKind:
    return (
        FileKind.DAILY
        if path.startswith("memory/2026")
        else FileKind.EVERGREEN
        if path.endswith(".md")
        else FileKind.OTHER
    )


def names(entries: tuple[str, ...], *changes: WrittenFile, proposes: bool = False) -> list[str]:
    return [each.name for each in changed_places(Rules(entries, proposes, kind_of), changes)]


def change(path: str, before: str | None, after: str | None) -> WrittenFile:
    old, new = (None if text is None else text.encode() for text in (before, after))
    return WrittenFile(FilePath(path), old, new)


PLACE = "MEMORY.md > House rules"


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (SEED, []),
        (SEED.replace("no shoes", "shoes"), [PLACE]),
        (SEED.replace("wash up", "wash down"), [PLACE]),
        (SEED.replace("## House rules", "## House Rules"), [PLACE]),
        (SEED.replace("## House rules", "## Other"), [PLACE]),
        (SEED.replace("## House rules", "### House rules"), [PLACE]),
        (SEED.replace("# Memory", "# Notes"), [PLACE]),
        (SEED.replace("### Kitchen\n\n- wash up\n\n", ""), [PLACE]),
        (SEED.replace("## Facts", "- a guest\n\n## Facts"), [PLACE]),
        (SEED.replace("## Facts\n", ""), [PLACE]),
        (SEED + "\n## **House  RULES**\n\n- mine\n", [PLACE]),
        (SEED.replace("- home: Oslo\n", "- home: Oslo"), []),
        (SEED.replace("Oslo", "Bergen"), []),
        (SEED.replace("# Memory\n", "# Memory\n\nOf Ada.\n"), []),
        (SEED + "\n## More\n\n- text\n", []),
        (SEED.encode() + b"\xff", [PLACE]),
        (None, [PLACE]),
    ],
)
def test_a_section_is_judged_with_its_subsections(
    after: str | bytes | None, found: list[str]
) -> None:
    data = after.encode() if isinstance(after, str) else after
    entry = WrittenFile(FilePath("MEMORY.md"), SEED.encode(), data)
    assert names(("MEMORY.md#House rules",), entry) == found


@pytest.mark.parametrize(
    ("entry", "path", "is_covered"),
    [
        ("SOUL.md", "SOUL.md", True),
        ("SOUL.md", "soul.md", True),
        ("SOUL.md", "memory/SOUL.md", False),
        ("memory/*.md", "memory/cats.md", True),
        ("memory/*.md", "memory/deep/cats.md", False),
        ("memory", "memory/deep/cats.md", True),
        ("SOUL.md", "mdmem.toml", True),
        ("SOUL.md", ".gitattributes", True),
        ("SOUL.md", "memory/.gitattributes", True),
        ("SOUL.md", "memory/mdmem.toml", False),
    ],
)
def test_a_file_is_judged_as_a_whole(entry: str, path: str, is_covered: bool) -> None:
    for before, after in ((None, "new"), ("old", "new"), ("old", None), (None, ""), ("", None)):
        assert bool(names((entry,), change(path, before, after))) is is_covered
    assert names((entry,), change(path, "same", "same")) == []


def test_agents_that_propose_write_days_logs_alone() -> None:
    written = [change(path, None, "x") for path in (LOG, "MEMORY.md", "main.py", "mdmem.toml")]
    assert names((), *written, proposes=True) == ["MEMORY.md", "mdmem.toml"]


def test_a_mark_counts_where_its_fact_is_nowhere_else() -> None:
    rules = Rules(("MEMORY.md#House rules",), False, kind_of)
    house = FilePath("MEMORY.md"), ("Memory", "House rules", "Kitchen")
    facts = FilePath("MEMORY.md"), ("Memory", "Facts")
    assert marked_place(rules, [[facts], [house]]) == PLACE
    assert marked_place(rules, [[facts, house], [], [facts]]) is None
    assert marked_place(rules, [[(FilePath("mdmem.toml"), ())]]) == "mdmem.toml"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A workspace with rules and hooks, as a person has committed them."""
    monkeypatch.chdir(repository)
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = Desk(world, repository)
    for path, text in (
        ("MEMORY.md", SEED),
        ("SOUL.md", "# Soul\n\nKind.\n"),
        (LOG, "# 2026-03-04\n\n- it rained\n"),
        ("mdmem.toml", SECTION),
    ):
        at.write(path, text)
    at.commit("by Ada")
    with closing(Memory.open(at.root, os.environ)) as opened:
        opened.hooks.install()
    return at


def refusal(at: Desk, *words: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    head = at.head()
    capsys.readouterr()
    assert main([*words, "--actor", "agent/x", "--json"]) == 1
    problem = json.loads(capsys.readouterr().err)
    assert at.head() == head
    return problem["error"], problem["hint"]


def test_a_refusal_says_how_to_propose(at: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("forget", "no shoes inside")
    hint = "To propose it: the same command with --propose"
    assert refusal(at, *words, capsys=capsys) == ("not-allowed", hint)
    assert main([*words, "--propose", "--actor", "agent/x"]) == 0
    assert at.read("MEMORY.md") == SEED
    ask = ("not-allowed", "Ask the user to make it.")
    assert refusal(at, "revert", "HEAD", capsys=capsys)[0] != ""
    at.write("SOUL.md", "# Soul\n\nGrim.\n")
    assert refusal(at, "save", capsys=capsys) == ask


def test_a_rule_changes_the_answer_of_the_next_command(at: Desk) -> None:
    def write(number: int) -> str:
        with closing(Memory.open(at.root, os.environ)) as opened:
            try:
                opened.apply(Remember(f"guest {number}", section="House rules", options=AGENT))
            except MdmemError as problem:
                return problem.code
        return "written"

    assert write(1) == "not-allowed"
    at.write("mdmem.toml", "")
    assert write(2) == "not-allowed", "an edit that is not committed takes no rule away"
    at.commit("no rules")
    assert write(3) == "written"
    at.write("mdmem.toml", 'people_only = ["MEMORY.md"]')
    assert write(4) == "not-allowed", "a new rule holds at once"


def test_an_open_memory_follows_the_rules(at: Desk) -> None:
    with closing(Memory.open(at.root, os.environ)) as opened:
        opened.apply(Remember("a guest", section="Facts", options=AGENT))
        at.write("mdmem.toml", 'people_only = ["MEMORY.md"]')
        with pytest.raises(WorkspaceProblem, match="only people may change MEMORY"):
            opened.apply(Remember("a cat", section="Facts", options=AGENT))
        opened.apply(Remember("a cat", section="Facts"))


def test_pending_edits_of_a_place_are_a_persons_to_save(at: Desk) -> None:
    at.write("MEMORY.md", SEED.replace("no shoes", "shoes"))
    with closing(Memory.open(at.root, os.environ)) as opened:
        with pytest.raises(RepositoryProblem) as caught:
            opened.apply(Remember("a cat", section="Facts", options=AGENT))
        assert (caught.value.code, caught.value.hint) == (
            "pending-edits",
            "A person has to save them: save",
        )
        with pytest.raises(WorkspaceProblem, match=PLACE):
            opened.save(Save(actor="agent/x"))
        opened.save(Save())
        assert opened.apply(Remember("a cat", section="Facts", options=AGENT)).commit
        at.write("MEMORY.md", at.read("MEMORY.md").replace("Oslo", "Bergen"))
        assert opened.apply(Remember("a dog", section="Facts", options=AGENT)).commit


def test_a_workspace_made_inside_frees_no_place(at: Desk) -> None:
    at.write("memory/team/rules.md", "# Rules\n\n- no shoes\n")
    at.write("mdmem.toml", 'people_only = ["memory/team/*.md"]\n')
    at.git("add", "-A")
    at.git("commit", "-qm", "rules")
    at.write("memory/team/mdmem.toml", "")
    edit = ("Rules", Action.APPEND, "- no boots either", "", "rules.md")
    inner = Memory.open(at.root / "memory" / "team", os.environ)
    with pytest.raises(WorkspaceProblem, match=r"people may change memory/team/rules\.md"):
        inner.apply(EditSection(*edit, options=AGENT))
    assert inner.apply(EditSection(*edit)).commit


def test_a_mark_on_a_log_is_judged_too(at: Desk) -> None:
    at.write("mdmem.toml", f'people_only = ["{LOG}"]')
    with closing(Memory.open(at.root, os.environ)) as opened:
        options = WriteOptions(actor="agent/x", supersedes="it rained")
        with pytest.raises(WorkspaceProblem, match=LOG):
            opened.apply(Log("it snowed", options=options))
        with pytest.raises(WorkspaceProblem, match=LOG):
            opened.apply(Contradict("it rained", "home: Oslo", options=AGENT))


BY_GIT = {
    "text": "sed -i.bak 's/no shoes/shoes/' MEMORY.md",
    "heading": "sed -i.bak 's/House rules/Rules/' MEMORY.md",
    "moved out": "git mv SOUL.md house.txt",
    "moved in": "git rm -q SOUL.md && git mv memory/2026-03-04.md SOUL.md",
    "no Markdown any more": "git mv MEMORY.md notes.txt",
    "rules": "echo > mdmem.toml",
    "attributes": "echo '*.md merge=ours' > .gitattributes",
}


@pytest.mark.parametrize("command", BY_GIT.values(), ids=BY_GIT)
@pytest.mark.parametrize("mark", ["MDMEM_ACTOR", "CLAUDECODE"])
def test_the_hook_refuses_an_agents_commit(
    at: Desk, command: str, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.world.run(at.root, ["sh", "-c", command])
    at.git("add", "-A")
    monkeypatch.setenv(mark, "agent/x")
    codes = [problem.code for problem in staged_problems(at.root, os.environ)]
    assert "not-allowed" in codes
    head = at.head()
    refused = at.world.git(
        at.root, "commit", "-q", "-m", "x", check=False, environment={mark: "agent/x"}
    )
    assert refused.returncode == 1
    assert "only people may change" in refused.stderr
    monkeypatch.delenv(mark)
    assert "not-allowed" not in [each.code for each in staged_problems(at.root, os.environ)]
    at.git("commit", "-q", "-m", "by Ada")
    assert at.head() != head


def test_an_agents_merge_brings_in_what_others_did(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.git("switch", "-q", "-c", "side")
    at.write("MEMORY.md", SEED.replace("no shoes", "no boots"))
    at.commit("by Priya")
    at.git("switch", "-q", "main")
    at.write("MEMORY.md", SEED.replace("Oslo", "Bergen"))
    at.commit("by Ada")
    monkeypatch.setenv("MDMEM_ACTOR", "agent/x")
    at.git("merge", "-q", "--no-commit", "--no-ff", "side")
    assert staged_problems(at.root, os.environ) == ()
    at.write("MEMORY.md", at.read("MEMORY.md").replace("no boots", "boots"))
    at.git("add", "-A")
    (problem,) = staged_problems(at.root, os.environ)
    assert (problem.line, problem.message) == (5, f"only people may change {PLACE}")


def test_what_git_let_in_is_told_until_it_is_undone(
    at: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    at.write("MEMORY.md", SEED.replace("no shoes inside", "shoes") + "- a cat\n")
    agent = {"MDMEM_ACTOR": "agent/x"}
    at.world.git(at.root, "commit", "-q", "--no-verify", "-a", "-m", "x", environment=agent)
    commit = at.head()[:8]
    line = f"agent/x changed 1 line in House rules ({commit}). To undo: mdmem revert {commit}"
    main(["status"])
    assert line in capsys.readouterr().err
    assert main(["revert", at.head()[:8]]) == 0
    capsys.readouterr()
    main(["status"])
    assert "agent/x" not in capsys.readouterr().err


def test_commits_before_a_rule_are_no_news(at: Desk) -> None:
    at.write("mdmem.toml", "")
    at.commit("no rules")
    with closing(Memory.open(at.root, os.environ)) as opened:
        opened.apply(Remember("a cat", section="House rules", options=AGENT))
        at.write("mdmem.toml", SECTION)
        at.commit("rules")
        assert not any(note.startswith("agent/x") for note in opened.status().notes)


@pytest.mark.parametrize(
    "line",
    [
        'people_only = "SOUL.md"',
        "people_only = [1]",
        'people_only = [""]',
        'people_only = [" "]',
        'people_only = ["MEMORY.md#"]',
        'people_only = ["../SOUL.md"]',
        'people_only = ["/SOUL.md#x"]',
        f"people_only = {json.dumps(['SOUL.md'] * 101)}",
        f'people_only = ["{"x" * 1001}"]',
    ],
)
def test_settings_that_name_no_places(at: Desk, line: str) -> None:
    at.write("mdmem.toml", line)
    with pytest.raises(WorkspaceProblem) as caught:
        Memory.open(at.root, os.environ)
    assert caught.value.code == "bad-settings"


def test_nothing_is_asked_where_there_are_no_rules(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.write("mdmem.toml", "")
    at.commit("no rules")
    monkeypatch.setattr("mdmem.text.writers.changed_places", None)
    with closing(Memory.open(at.root, os.environ)) as opened:
        assert opened.apply(Remember("a cat", section="House rules", options=AGENT)).commit


def test_the_library_refuses_it_too(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_ADOPT", str(at.root))
    with mdmem.open(at.root, actor="agent/x") as opened:
        with pytest.raises(MdmemError) as caught:
            opened.remember("a guest", section="House rules")
        assert (caught.value.code, caught.value.details["place"]) == ("not-allowed", PLACE)
        assert opened.remember("a guest", section="Facts").commit
    with mdmem.open(at.root) as opened:
        assert opened.remember("a guest stays", section="House rules").commit


@pytest.mark.parametrize("verb", ["log", "remember", "edit"])
def test_without_rules_an_agents_write_is_as_it_was(
    at: Desk, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same bytes, commit and answer, whether this clone had rules once or never."""
    words = {
        "log": ["log", "x"],
        "remember": ["remember", "x", "--section", "House rules"],
        "edit": ["edit-section", "Kitchen", "--append", "- x"],
    }[verb]
    answers = []
    at.git("tag", "before")
    for settings in (None, "", "people_only = []\nagents_propose = false\n"):
        at.git("reset", "-q", "--hard", "before")
        if settings is None:
            (at.root / "mdmem.toml").unlink()
        else:
            at.write("mdmem.toml", settings)
        at.commit("settings")
        at.write("mdmem.toml", "")
        capsys.readouterr()
        assert main([*words, "--actor", "agent/x"]) == 0
        shown = re.sub(r"[0-9a-f]{10}", "", capsys.readouterr().out)
        answers.append(
            (
                shown,
                at.git("log", "-1", "--format=%B%an"),
                at.git("ls-files", "-s", "memory", "MEMORY.md"),
            )
        )
    assert answers[0] == answers[1] == answers[2]
