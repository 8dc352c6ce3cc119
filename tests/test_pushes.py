"""A server refuses a push by the rules that stood before it: a bare repository, real keys."""

import os
import random
import re
import resource
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import EMAIL, World
from signing import Key, ssh_key, write_signers
from workspaces import TOKEN

from mdmem import memory
from mdmem.cli import main
from mdmem.model.errors import RepositoryProblem, UsageProblem, WorkspaceProblem

SEED = """# Memory

## House rules

- no shoes inside

### Kitchen

- wash up

## Facts

- home: Oslo
"""
LOG = "memory/2026-03-04.md"
RULES = 'people_only = ["SOUL.md", "MEMORY.md#House rules"]\n'
PLACE = "only people may change MEMORY.md > House rules"
AGENT = "by an agent\n\nMdmem-Actor: agent/x"
NOTE = "memory: retract\n\nMdmem-Op: retract\nMdmem-Retracts: {}\nMdmem-Actor: agent/x"
FILES = {
    "MEMORY.md": SEED,
    "SOUL.md": "# Soul\n\nKind.\n",
    LOG: "# 2026-03-04\n\n- it rained\n",
    "mdmem.toml": RULES,
}
ZEROS = "0" * 40
MOST_LOGS = 5
"""The processor time of a check, as a multiple of that of `git log -p`; half of it is git's own."""


@dataclass
class Server:
    """A bare repository and a clone, from which commits are judged as pushes."""

    world: World
    bare: Path
    clone: Path

    def git(self, *words: str | Path, **more: Mapping[str, str]) -> str:
        return self.world.git(self.clone, *words, **more).stdout.strip()

    def config(self, name: str, value: str | Path) -> None:
        self.world.git(self.bare, "config", "--add", name, value)

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        for path, text in files.items():
            full = self.clone / path
            full.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                full.unlink()
            else:
                full.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(
        self, message: str = "by Ada", key: Key | None = None, **files: str | bytes | None
    ) -> str:
        self.write(files)
        self.git("add", "-A")
        words = key.settings() if key else ["-c", "commit.gpgSign=false"]
        self.git(*words, "commit", "-q", "--no-verify", "--allow-empty", "-m", message)
        return self.head()

    def change(self, old: str, new: str, message: str = AGENT, key: Key | None = None) -> str:
        text = (self.clone / "MEMORY.md").read_text()
        assert old in text
        self.write({"MEMORY.md": text.replace(old, new)})
        return self.commit(message, key)

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def push(self, branch: str = "main") -> list[str]:
        """Judge what HEAD would bring to a branch, as `pre-receive` does, and let it in; the faults
        without ids.
        """
        self.world.git(self.bare, "fetch", "-q", self.clone, "HEAD")
        shown = self.world.git(self.bare, "rev-parse", "-q", "--verify", branch, check=False)
        found = self.judged(f"{shown.stdout.strip() or ZEROS} {self.head()} refs/heads/{branch}")
        if not any(refuses for _, refuses in found):
            self.world.git(self.bare, "update-ref", f"refs/heads/{branch}", self.head())
        return [re.sub(r"^[0-9a-f]{8} ", "", line) for line, refuses in found if refuses]

    def judged(self, *lines: str) -> tuple[tuple[str, bool], ...]:
        return memory.check_push(self.bare, os.environ, lines)


@pytest.fixture
def server(world: World, repository: Path, tmp_path: Path) -> Server:
    bare = tmp_path / "bare.git"
    world.git(tmp_path, "init", "-q", "--bare", "-b", "main", bare)
    made = Server(world, bare, repository)
    made.git("switch", "-q", "-C", "main", check=False)  # type: ignore[arg-type]
    made.write(FILES)
    made.commit()
    assert made.push() == [], "an empty repository takes anything"
    return made


# By `Mdmem-Actor`.

BY_AGENT = {
    "text": ({"MEMORY.md": SEED.replace("no shoes", "shoes")}, PLACE),
    "a subsection": ({"MEMORY.md": SEED.replace("wash up", "wash down")}, PLACE),
    "a heading": ({"MEMORY.md": SEED.replace("House rules", "Rules")}, PLACE),
    "a line that moves in": (
        {"MEMORY.md": SEED.replace("## Facts\n\n", "").replace("- wash up\n\n", "- wash up\n")},
        PLACE,
    ),
    "a section that moves out": (
        {"MEMORY.md": "# Memory\n\n## Facts\n\n- home: Oslo\n", "memory/house.md": SEED},
        PLACE,
    ),
    "the whole file": ({"MEMORY.md": None}, PLACE),
    "a file": ({"SOUL.md": "# Soul\n\nGrim.\n"}, "only people may change SOUL.md"),
    "another name": (
        {"SOUL.md": None, "memory/soul.md": FILES["SOUL.md"]},
        "only people may change SOUL.md",
    ),
    "by case": ({"soul.md": "# Soul\n"}, "only people may change soul.md"),
    "the rules": ({"mdmem.toml": ""}, "only people may change mdmem.toml"),
    "attributes": (
        {"memory/.gitattributes": "* merge=ours\n"},
        "only people may change memory/.gitattributes",
    ),
}


@pytest.mark.parametrize(("files", "fault"), BY_AGENT.values(), ids=BY_AGENT)
def test_an_agents_commit_is_refused(
    server: Server, files: Mapping[str, str | None], fault: str
) -> None:
    before = server.head()
    server.commit(AGENT, **files)
    assert server.push() == [f"by agent/x: {fault}"]
    server.git("reset", "-q", "--hard", before)
    server.commit("by hand\n\nMdmem-Claimed-By: agent/x", **files)
    assert server.push() == [f"by agent/x: {fault}"]
    server.git("reset", "-q", "--hard", before)
    server.commit("by Ada", **files)
    assert server.push() == []


def test_the_rest_is_let_in(server: Server) -> None:
    server.change("Oslo", "Bergen")
    server.commit(AGENT, **{"memory/cats.md": "# Cats\n", "main.py": "x\n"})
    server.commit(AGENT, **{LOG: f"{FILES[LOG]}- it snowed\n"})
    assert server.push() == []


def test_a_rule_holds_for_the_push_that_takes_it_out(server: Server) -> None:
    server.commit("by Ada", **{"mdmem.toml": ""})
    server.change("no shoes", "shoes")
    assert server.push() == [f"by agent/x: {PLACE}"]
    server.git("reset", "-q", "--hard", "HEAD^")
    assert server.push() == []
    server.change("no shoes", "shoes")
    assert server.push() == [], "the rules are those before this push"


def test_agents_that_propose_push_days_logs_alone(server: Server) -> None:
    server.commit("by Ada", **{"mdmem.toml": "agents_propose = true\n"})
    assert server.push() == []
    server.commit(AGENT, **{LOG: f"{FILES[LOG]}- it snowed\n", "main.py": "x\n"})
    assert server.push() == []
    server.change("Oslo", "Bergen")
    assert server.push() == ["by agent/x: only people may change MEMORY.md"]


def test_a_mark_on_a_fact_of_a_place_is_refused(server: Server) -> None:
    server.commit("by Ada", **{"mdmem.toml": f'people_only = ["{LOG}"]\n'})
    assert server.push() == []
    fact = memory.module("text.facts").fact_id("it rained")
    server.commit(NOTE.format(fact))
    assert server.push() == [f"by agent/x: only people may change {LOG}"]
    server.git("reset", "-q", "--hard", "HEAD^")
    server.commit(NOTE.format(memory.module("text.facts").fact_id("home: Oslo")))
    assert server.push() == []
    server.commit("by Ada", **{LOG: f"{FILES[LOG]}- it hailed\n"})
    server.commit(NOTE.format(memory.module("text.facts").fact_id("it hailed")))
    assert server.push() == [f"by agent/x: only people may change {LOG}"]


def test_an_actor_whom_the_server_names_is_a_person(server: Server) -> None:
    server.change("no shoes", "no boots", "by Ada\n\nMdmem-Actor: Ada")
    assert server.push() == [f"by Ada: {PLACE}"]
    server.config("mdmem.people", "ada")
    server.config("mdmem.people", "priya")
    assert server.push() == []


def test_a_workspace_may_be_a_folder(server: Server) -> None:
    server.git("rm", "-q", "-r", ".")
    server.commit("by Ada", **{f"notes/{path}": text for path, text in FILES.items()})
    assert server.push() == []
    server.commit(AGENT, **{"notes/SOUL.md": "x", "SOUL.md": "x", "mdmem.toml": ""})
    assert server.push() == ["by agent/x: only people may change SOUL.md"]


@pytest.mark.parametrize("mode", ["120000", "160000"], ids=["link", "submodule"])
@pytest.mark.parametrize("path", ["memory.md", "memory/team/a.md"])
def test_a_place_is_nothing_but_a_file(server: Server, mode: str, path: str) -> None:
    """A link would show another text there, and a submodule a whole folder."""
    before = server.commit("by Ada", **{"mdmem.toml": f'{RULES[:-2]}, "memory/team/*.md"]\n'})
    assert server.push() == []
    name = server.git("rev-parse", "HEAD:SOUL.md") if mode == "120000" else before
    server.git("update-index", "--add", "--cacheinfo", f"{mode},{name},{path}")
    server.git("commit", "-q", "--no-verify", "-m", AGENT)
    (found,) = server.push()
    assert found.startswith(f"by agent/x: only people may change {path}")
    tree = server.git("rev-parse", "HEAD^{tree}")
    server.git("reset", "-q", "--hard", before)
    side = server.commit(AGENT, **{"memory/cats.md": "# Cats\n"})
    merged = server.git("commit-tree", "-p", before, "-p", side, "-m", AGENT, tree)
    server.git("reset", "-q", "--hard", merged)
    assert found in server.push(), "by a merge"


# Merges.


def diverge(server: Server, ours: tuple[str, str], theirs: tuple[str, str]) -> None:
    """Two people change memory on two branches, and both are at the server."""
    server.git("switch", "-q", "-c", "side")
    server.change(*theirs, "by Priya")
    assert server.push("side") == []
    server.git("switch", "-q", "main")
    server.change(*ours, "by Ada")
    assert server.push() == []


def merge(server: Server, text: str) -> None:
    server.git("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "side")
    server.commit(f"sync: merge\n\nMdmem-Op: sync\nMdmem-Actor: {'sync'}", **{"MEMORY.md": text})


def test_a_merge_of_both_sides_is_let_in(server: Server) -> None:
    diverge(server, ("no shoes", "no boots"), ("wash up", "wash well"))
    merge(server, SEED.replace("no shoes", "no boots").replace("wash up", "wash well"))
    assert server.push() == []


@pytest.mark.parametrize(
    "text",
    [
        SEED.replace("no shoes", "no boots"),
        SEED.replace("wash up", "wash well"),
        SEED.replace("no shoes", "no boots").replace("wash up", "wash never"),
        SEED,
    ],
    ids=["ours alone", "theirs alone", "another text", "neither"],
)
def test_a_merge_that_says_something_else_is_refused(server: Server, text: str) -> None:
    diverge(server, ("no shoes", "no boots"), ("wash up", "wash well"))
    merge(server, text)
    assert server.push() == [f"by sync: {PLACE}"]


def test_a_merge_of_an_agents_branch_brings_its_commits(server: Server) -> None:
    server.git("switch", "-q", "-c", "side")
    server.change("no shoes", "shoes")
    server.git("switch", "-q", "main")
    server.git("merge", "-q", "--no-ff", "-m", "by Ada", "side")
    assert server.push() == [f"by agent/x: {PLACE}"]


def test_a_merge_of_several_brings_no_old_text_back(server: Server) -> None:
    old = server.head()
    new = server.change("no shoes", "no boots", "by Ada")
    assert server.push() == []
    other = server.commit(AGENT, **{"memory/cats.md": "# Cats\n"})
    server.git("reset", "-q", "--hard", new)
    third = server.commit(AGENT, **{"memory/dogs.md": "# Dogs\n"})

    def merge_of(text: str, *parents: str) -> list[str]:
        words = [word for parent in parents for word in ("-p", parent)]
        merged = server.git("commit-tree", *words, "-m", AGENT, f"{text}^{{tree}}")
        server.git("reset", "-q", "--hard", merged)
        return server.push()

    assert merge_of(old, old, other, third) == [f"by agent/x: {PLACE}"]
    assert merge_of(old, old, new, third) == [f"by agent/x: {PLACE}"]
    assert merge_of(third, new, other, third) == []


def test_a_crosswise_merge_takes_back_nothing_that_people_did(server: Server) -> None:
    """Of its two bases one has the text before the people's two changes, as has the newest."""
    first = server.head()
    second = server.change("no shoes", "no boots", "by Ada")
    third = server.change("no boots", "no shoes", "by Ada")
    assert server.push() == []
    server.git("reset", "-q", "--hard", first)
    aside = server.commit(AGENT, **{"memory/cats.md": "# Cats\n"})

    def merge_of(text: str, *parents: str) -> str:
        server.git("reset", "-q", "--hard", aside)
        path = "MEMORY.md"
        server.git("checkout", "-q", text, "--", path)
        tree = server.git("write-tree")
        words = [word for parent in parents for word in ("-p", parent)]
        return server.git("commit-tree", *words, "-m", AGENT, tree)

    old, new = merge_of(second, second, aside), merge_of(third, third, aside)
    server.git("reset", "-q", "--hard", merge_of(second, new, old))
    assert server.push() == [f"by agent/x: {PLACE}"]
    server.git("reset", "-q", "--hard", merge_of(third, new, old))
    assert server.push() == []


# What every commit is judged for.


def test_secrets_markers_and_sizes_are_refused(server: Server) -> None:
    server.commit("by Ada", **{"memory/a.md": f"# A\n\n- key {TOKEN}\n"})
    server.commit("by Ada", **{"memory/a.md": "# A\n"})
    server.commit("by Ada", **{"memory/b.md": "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"})
    server.commit(
        "by Ada", **{"memory/c.md": b"# C\n" + b"x" * 5_000_000, "big.bin": b"\0" * 10**7}
    )
    server.commit("by Ada", **{"main.py": f"key = '{TOKEN}'\n"})
    faults = [
        "by Ada Example: memory/a.md:3: possible secret (github-token)",
        "by Ada Example: memory/b.md:1: unresolved conflict markers",
        "by Ada Example: memory/c.md has more than 5 MB",
    ]
    assert server.push() == faults
    assert server.push("mdmem/in/desk") == [faults[0], faults[2]]


def test_a_log_only_grows_by_mdmem(server: Server) -> None:
    server.commit("by Ada", **{LOG: "# 2026-03-04\n\n- the sun shone\n"})
    server.world.git(server.bare, "fetch", "-q", server.clone, "HEAD")
    (line, refuses), *_ = server.judged(f"{server.head()}^ {server.head()} refs/heads/main")
    assert not refuses
    assert "earlier entry of the daily log is lost" in line
    server.git("commit", "-q", "--amend", "-m", "log\n\nMdmem-Op: log")
    assert "earlier entry of the daily log is lost" in server.push()[0]


def test_branches_go_forward(server: Server) -> None:
    head = server.change("Oslo", "Bergen")
    assert server.push() == []
    server.git("reset", "-q", "--hard", "HEAD^")
    server.change("Oslo", "Bonn", "by Ada")
    assert server.push() == ["main: the branch does not go forward"]
    server.commit("by Ada\n\nMdmem-Op: purge")
    assert server.push() == ["main: the branch does not go forward"]
    deleted = server.judged(f"{head} {ZEROS} refs/heads/main")
    assert deleted == (("main: a branch with a memory may not be deleted", True),)
    assert server.judged(f"{head} {ZEROS} refs/heads/mdmem/in/desk") == ()
    assert server.judged(f"{head} {ZEROS} refs/tags/v1") == ()


def test_a_new_branch_is_judged_by_head(server: Server) -> None:
    server.change("no shoes", "shoes")
    assert server.push("feature") == [f"by agent/x: {PLACE}"]
    assert server.push("mdmem/proposals/agent/x") == []
    server.world.git(server.bare, "symbolic-ref", "HEAD", "refs/heads/none")
    assert server.push("feature") == [
        "feature: HEAD of this repository names no branch, so there are no rules"
    ]


def test_settings_that_cannot_be_read_leave_pushing_to_people(server: Server) -> None:
    server.commit("by Ada", **{"mdmem.toml": 'people_only = "all"\n'})
    assert server.push() == []
    server.commit(AGENT, **{"memory/cats.md": "# Cats\n"})
    (fault,) = server.push()
    assert fault.startswith("by agent/x: only people may push until it is corrected: mdmem.toml: ")
    server.git("reset", "-q", "--hard", "HEAD^")
    server.commit("by Ada", **{"mdmem.toml": RULES})
    assert server.push() == []


def test_what_cannot_be_judged_is_an_error(server: Server) -> None:
    head = server.head()
    for line in ("", "a b", f"{head}  {head} refs/heads/main", f"{head} {head} refs/heads/main x"):
        with pytest.raises(UsageProblem):
            server.judged(line)
    with pytest.raises(RepositoryProblem):
        server.judged(f"{head} {'1' * 40} refs/heads/main")
    with pytest.raises(RepositoryProblem):
        server.judged(f"{head} --all refs/heads/main")
    server.config("mdmem.verify", "show")
    with pytest.raises(WorkspaceProblem):
        server.judged(f"{head} {head} refs/heads/main")


# By signatures.


@dataclass
class Keys:
    ada: Key
    stranger: Key
    signers: Path


@pytest.fixture
def keys(server: Server, tmp_path: Path) -> Keys:
    ada, stranger = (ssh_key(server.world, tmp_path, name) for name in ("ada", "stranger"))
    signers = write_signers(tmp_path / "signers", {EMAIL: ada})
    for name, value in (("verify", "require"), ("signers", signers), ("people", EMAIL)):
        server.config(f"mdmem.{name}", value)
    server.config("mdmem.people", "ada")
    return Keys(ada, stranger, signers)


def test_a_signature_says_who_is_a_person(server: Server, keys: Keys) -> None:
    change = ("no shoes", "no boots")
    for message, key, fault in (
        ("by Ada", None, f"by Ada Example (unsigned): {PLACE}"),
        ("x\n\nMdmem-Actor: ada", None, f"by Ada Example (unsigned): {PLACE}"),
        ("x\n\nMdmem-Actor: ada", keys.stranger, f"by Ada Example (unknown-key): {PLACE}"),
        (AGENT, keys.ada, f"by agent/x: {PLACE}"),
    ):
        server.change(*change, message, key)
        assert server.push() == [fault]
        server.git("reset", "-q", "--hard", "HEAD^")
    server.change(*change, "by Ada\n\nMdmem-Actor: ada", keys.ada)
    assert server.push() == []
    server.change("Oslo", "Bergen", "by Mallory")
    assert server.push() == [], "what no rule covers needs no signature"


def test_a_key_that_expired_is_nobodys(server: Server, keys: Keys) -> None:
    write_signers(keys.signers, {EMAIL: keys.ada}, 'valid-before="20260101"')
    server.change("no shoes", "no boots", "by Ada", keys.ada)
    assert server.push() == [f"by Ada Example (unknown-key): {PLACE}"]


def test_nothing_of_what_is_pushed_names_anybody(
    server: Server, keys: Keys, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    server.config("gpg.ssh.program", program)
    listed = write_signers(server.clone / "signers", {EMAIL: keys.stranger})
    server.config("gpg.ssh.allowedSignersFile", listed)
    server.change("no shoes", "shoes", "by Ada", keys.stranger)
    assert server.push() == [f"by Ada Example (unknown-key): {PLACE}"]
    assert not mark.exists()
    server.config("mdmem.signers", server.bare / "signers")
    write_signers(server.bare / "signers", {EMAIL: keys.stranger})
    with pytest.raises(WorkspaceProblem, match=r"mdmem\.signers"):
        server.push()


def test_a_purge_that_a_person_signed_goes_back(server: Server, keys: Keys) -> None:
    server.change("Oslo", "Bergen", "by Ada", keys.ada)
    assert server.push() == []
    server.git("reset", "-q", "--hard", "HEAD^")
    server.change("wash up", "wash well", "made again", None)
    server.commit("Purged a text\n\nMdmem-Op: purge", keys.stranger)
    assert server.push()[0] == "main: the branch does not go forward"
    server.git("reset", "-q", "--hard", "HEAD^")
    server.commit("Purged a text\n\nMdmem-Op: purge", keys.ada)
    server.change("no shoes", "shoes")
    assert server.push() == [f"by agent/x: {PLACE}"], "what follows a purge is judged"
    server.git("reset", "-q", "--hard", "HEAD^")
    assert server.push() == []


# The hook.


def pushed(server: Server, *words: str, path: str | None = None) -> str:
    """The output of a real push, through the hook."""
    folder = os.fspath(Path(sys.executable).parent)
    usual = os.pathsep.join([folder, os.environ["PATH"]])
    environment = {"PATH": usual if path is None else path}
    done = server.world.git(
        server.clone, "push", "-q", server.bare, *words, check=False, environment=environment
    )
    return done.stderr if done.returncode else "let in"


def test_a_real_push_is_refused_by_the_hook(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for _ in range(2):
        assert main(["hooks", "install", "--server", str(server.bare)]) == 0
    server.change("Oslo", "Bergen")
    assert pushed(server, "main") == "let in"
    server.change("no shoes", "shoes")
    said = pushed(server, "main", "main:refs/heads/mdmem/proposals/x/1")
    assert f"mdmem: {server.head()[:8]} by agent/x: {PLACE}" in said
    assert "pre-receive hook declined" in said
    assert pushed(server, "main:refs/heads/mdmem/proposals/x/1") == "let in"
    git = tmp_path / "bin"
    git.mkdir()
    for name in ("git", "sh"):
        (git / name).symlink_to(shutil.which(name) or "")
    said = pushed(server, "HEAD^:refs/heads/other", path=str(git))
    assert "mdmem: not found on the PATH of this server" in said


def test_another_hook_is_left_alone(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    hook = server.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncat > /dev/null\n")
    hook.chmod(0o755)
    assert main(["hooks", "install", "--server", str(server.bare)]) == 1
    hint = capsys.readouterr().err
    assert hook.read_text() == "#!/bin/sh\ncat > /dev/null\n"
    line = hint.splitlines()[-1].strip()
    hook.write_text(f"#!/bin/sh\n{line}\n")
    server.change("no shoes", "shoes")
    assert PLACE in pushed(server, "main")


def test_a_range_is_checked_in_ci(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(server.clone)
    server.change("no shoes", "shoes")
    assert main(["check", "--push", "HEAD^..HEAD"]) == 1
    assert capsys.readouterr().err == f"mdmem: {server.head()[:8]} by agent/x: {PLACE}\n"
    assert main(["check", "--push", "HEAD..HEAD"]) == 0
    for words in (["HEAD"], [f"{ZEROS}..HEAD"], ["HEAD^..HEAD", "x"], ["HEAD^..HEAD", "--staged"]):
        assert main(["check", "--push", *words]) == 2
    base = server.git("rev-parse", "HEAD^")
    server.git("branch", "pulled", base)
    server.change("Oslo", "Bergen")
    server.git("switch", "-q", "pulled")
    server.commit(AGENT, **{"memory/cats.md": "# Cats\n"})
    assert main(["check", "--push", "main..HEAD"]) == 0, "a pull request may be behind"


def test_the_check_of_a_forge_works_as_the_page_has_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last step, as the forge's runner would take it in the checkout of a pull request."""
    page = (Path(__file__).parents[1] / "docs" / "signing.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    script = textwrap.dedent(block.partition("run: |\n")[2])
    assert script.splitlines()[-1] == 'mdmem check --push "$BASE..HEAD"'
    ada, stranger = (ssh_key(server.world, tmp_path, name) for name in ("ada", "stranger"))
    server.git("remote", "add", "origin", server.bare)
    server.git("fetch", "-q", "origin")
    environment = {
        "SIGNERS": f"{EMAIL} {ada.public}",
        "BASE": "origin/main",
        "PATH": os.pathsep.join([os.fspath(Path(sys.executable).parent), os.environ["PATH"]]),
    }

    def run() -> str:
        done = server.world.run(
            server.clone, ["sh", "-e", "-c", script], check=False, environment=environment
        )
        return done.stderr if done.returncode else "passed"

    server.change("no shoes", "no boots", "by Ada", ada)
    assert run() == "passed"
    server.change("no boots", "boots", "by Ada", stranger)
    assert run() == f"mdmem: {server.head()[:8]} by Ada Example (unknown-key): {PLACE}\n"


# Four pushers against a model.

Change = Callable[[Server, int], Mapping[str, str | None]]


def edited(old: str, new: str) -> Change:
    def change(server: Server, number: int) -> Mapping[str, str | None]:
        text = (server.clone / "MEMORY.md").read_text()
        return {"MEMORY.md": re.sub(old, new.format(number), text, count=1, flags=re.M)}

    return change


CHANGES: Mapping[str, tuple[Change, bool]] = {
    "house": (edited(r"^- no .*", "- no shoes {}"), True),
    "kitchen": (edited(r"^- wash .*", "- wash up {}"), True),
    "facts": (edited(r"^- home: .*", "- home: {}"), False),
    "end": (lambda at, n: {"MEMORY.md": (at.clone / "MEMORY.md").read_text() + f"- {n}\n"}, False),
    "soul": (lambda at, n: {"SOUL.md": f"# Soul\n\n{n}\n"}, True),
    "topic": (lambda at, n: {f"memory/topic-{n}.md": "# Topic\n"}, False),
    "log": (lambda at, n: {LOG: (at.clone / LOG).read_text() + f"- {n}\n"}, False),
    "code": (lambda at, n: {"main.py": f"{n}\n"}, False),
    "attributes": (lambda at, n: {".gitattributes": f"# {n}\n"}, True),
    "rules": (lambda at, n: {"mdmem.toml": f"# {n}\n{RULES}"}, True),
    "no rules": (lambda at, n: {"mdmem.toml": f"# {n}\n"}, True),
}
"""The changes of a commit, and whether the rules cover them."""


def check_against_a_model(server: Server, keys: Keys, seed: int, pushes: int) -> None:
    """Each push is let in as the model says: rules are those before it, a person who signs it."""
    pushers: Mapping[str, tuple[str, Key | None, bool]] = {
        "person": ("by Ada", keys.ada, True),
        "agent": (AGENT, None, False),
        "a person's machine": (AGENT, keys.ada, False),
        "stranger": ("by Ada\n\nMdmem-Actor: ada", keys.stranger, False),
    }
    chance, has_rules, counts = random.Random(seed), True, {True: 0, False: 0}
    for number in range(pushes):
        before, refused = server.head(), 0
        rules_after = has_rules
        for place in range(chance.choice((1, 1, 1, 2, 3))):
            message, key, is_person = pushers[chance.choice(list(pushers))]
            name = chance.choice(list(CHANGES))
            change, is_covered = CHANGES[name]
            server.commit(message, key, **change(server, 10 * number + place))
            refused += has_rules and is_covered and not is_person
            rules_after = name == "rules" if name in ("rules", "no rules") else rules_after
        faults = server.push()
        assert len(faults) == refused, faults
        counts[not faults] += 1
        if faults:
            server.git("reset", "-q", "--hard", before)
        else:
            has_rules = rules_after
    assert min(counts.values()) > pushes // 10


def test_pushes_are_let_in_as_a_model_says(server: Server, keys: Keys) -> None:
    check_against_a_model(server, keys, seed=1, pushes=12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_200_pushes_are_let_in_as_a_model_says(server: Server, keys: Keys, seed: int) -> None:
    check_against_a_model(server, keys, seed=seed, pushes=200)


@pytest.mark.slow
def test_what_a_thousand_commits_cost(server: Server) -> None:
    base, stream, message = server.head(), [], f"memory: log\n\n{AGENT}".encode()
    texts = {"MEMORY.md": SEED + "".join(f"- fact {n} of the house\n" for n in range(100))}
    for number in range(1000):
        path = "MEMORY.md" if number % 5 == 0 else f"memory/2026-04-{number // 50 + 1:02}.md"
        texts[path] = f"{texts.get(path, '# Day')}\n- home {number}: Oslo, on the way\n"
        data = texts[path].encode()
        stream.append(
            b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\ndata %d\n%s\n%s"
            b"M 100644 inline %s\ndata %d\n%s\n"
            % (
                1772700000 + number,
                len(message),
                message,
                b"from %s\n" % base.encode() if not number else b"",
                path.encode(),
                len(data),
                data,
            )
        )
    folder = server.clone
    server.world.git(folder, "fast-import", "--quiet", "--force", stdin=b"".join(stream).decode())
    tip = server.git("rev-parse", "main")

    def seconds(work: Callable[[], object]) -> float:
        def used() -> float:
            both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
            return sum(each.ru_utime + each.ru_stime for each in map(resource.getrusage, both))

        start = used()
        work()
        return used() - start

    line = f"{base} {tip} refs/heads/main"
    rounds = [
        (
            seconds(lambda: memory.check_push(folder, os.environ, [line])),
            seconds(lambda: server.git("log", "-p", f"{base}..{tip}")),
        )
        for _ in range(5)
    ]
    ratio = sum(ours for ours, _ in rounds) / sum(logs for _, logs in rounds)
    print(f"{ratio:.1f} × git log -p")
    assert ratio <= MOST_LOGS
