"""Each hint is pasted where it was printed: it may do what it says, and nothing else.

The situations are those of `test_cli_failures` and of `hint_situations`. What they print is searched
for commands; each is run in the workspace, which is put back after it. And each hint of the source
is printed by one of them, or listed with the reason why not.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from commandline import Shell, prepared_shell
from commandline import shell as shell
from conftest import keep_from_background, sealed_world
from hint_situations import (
    NOT_FROM_HERE,
    SITUATIONS,
    Prepare,
    Situation,
    code,
    do,
    file,
    subfolder,
    vault,
)
from source_hints import is_said, source_hints

from mdmem.cli.commands import COMMANDS
from mdmem.folder import layout
from mdmem.model.errors import MdmemError
from mdmem.startup import late
from mdmem.text.document import parse
from mdmem.text.facts import fact_id, items
from mdmem.workspace import Workspace, open_at, workspaces_meant_by

_START = late.pattern(r"""(?:(?<=[\s:("'])|^)(?:mdmem|git) """)
_WORD = late.pattern(r"""(?:"[^"\n]*"|'[^'\n]*'|[^\s"'();,]+)+""")
_PLACEHOLDER = late.pattern(r"\b[A-Z]{2,}\b|\.\.\.|…|\"the |\"your |<")
_IDS = late.pattern(r"\b[0-9a-f]{6,40}\b|\b\d{4}-\d\d-\d\d\b|\b\d+\b|(?<!\w)/[\w./~-]+")
_MOST_WORDS_OF_PROSE = 20
_VERBS = {name.split()[0] for name in COMMANDS}.difference(("mcp", "page"))
"""The verbs of commands that end by themselves."""
_COMMITS = Counter(
    {
        **dict.fromkeys(("log", "remember", "forget", "edit-section", "save", "init"), 1),
        **dict.fromkeys(("review", "revert", "contradicts", "conflicts", "task"), 1),
        "sync": 100,
    }
)
"""The commits that a verb may make, besides one of the person's own edits."""
_FILES = {
    "log": ("memory/",),
    "task": ("memory/tasks.md",),
    "remember": ("MEMORY.md",),
    "edit-section": ("MEMORY.md",),
    "init": (),
    "save": (),
}
"""The files that a verb writes to if no option names another."""
_MAKING = ("setup", "init", "restore", "config", "schedule")
"""Verbs that make files which are not there, or change settings."""
_ENDS = late.pattern(r"(?i)replace|remove|forget|undo|accept|no longer|delete|supersede|settle")
"""The words by which a hint says that something will be gone."""
_NOT_THE_USERS = (".git", "state", "-copy")
"""The ends of the names of folders that mdmem and git keep for themselves."""


@dataclass(frozen=True)
class State:
    """The files of the user and the commits of each work tree, which a pasted command must keep."""

    files: Mapping[str, bytes]
    commits: Mapping[Path, tuple[str, ...]]

    @classmethod
    def of(cls, shell: Shell, before: State | None = None) -> State:
        top = shell.world.home.parent
        files: dict[str, bytes] = {}
        commits: dict[Path, tuple[str, ...]] = {}
        for name, folders, names in os.walk(top):
            folder = Path(name)
            if ".git" in (*folders, *names):
                known = before.commits.get(folder, ()) if before else ()
                is_known = known and known[0] == _head(folder / ".git")
                commits[folder] = known if is_known else _commits(shell, folder)
            folders[:] = [each for each in folders if not each.endswith(_NOT_THE_USERS)]
            paths = (folder / each for each in names if each != ".git")
            files |= {str(path.relative_to(top)): _contents(path) for path in paths}
        return cls(files, commits)

    def entries(self) -> Counter[tuple[str, str, str]]:
        """The ids, texts and files of memory's entries."""
        found = Counter[tuple[str, str, str]]()
        for path, data in self.files.items():
            if layout.is_markdown(path):
                document = parse(data.decode("utf-8", "replace"))
                found.update((item.fact.id, item.fact.text, path) for item in items(document))
        return found


def _contents(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""


def _commits(shell: Shell, folder: Path) -> tuple[str, ...]:
    return tuple(shell.world.git(folder, "rev-list", "HEAD", check=False).stdout.split())


def _head(git: Path) -> str:
    with suppress(OSError):
        name = (git / "HEAD").read_text().removeprefix("ref: ").strip()
        return (git / name).read_text().strip() if name.startswith("refs/") else name
    return ""


@dataclass(frozen=True)
class Hint:
    """A command in a printed text."""

    situation: Situation
    text: str
    command: str

    @property
    def words(self) -> list[str]:
        try:
            return shlex.split(self.command)
        except ValueError:
            return self.command.split()

    @property
    def verb(self) -> str:
        words = self.words[1:]
        while words and words[0] in ("-C", "-q", "--json"):
            words = words[2 if words[0] == "-C" else 1 :]
        return words[0] if words else ""

    def option(self, name: str) -> str | None:
        words = self.words
        return words[words.index(name) + 1] if name in words[:-1] else None


def hints_in(situation: Situation, text: str) -> Iterator[Hint]:
    for line in text.splitlines():
        for start in _START.finditer(line):
            hint = Hint(situation, line, _command(line[start.start() :]))
            if hint.verb in _VERBS or hint.command.startswith("git "):
                yield hint


def _command(text: str) -> str:
    """A text from a command on, up to the end of its sentence."""
    end = 0
    while match := _WORD.match(text, end + bool(end)):
        if match[0].endswith((".", ":", "?")):
            return text[: match.end() - 1]
        end = match.end()
    return text[:end]


def form(line: str) -> str:
    """A hint without what differs between two of the same form."""
    return _IDS.sub("_", line)


def paste(shell: Shell, hint: Hint, printed: str) -> list[str]:
    """Run a hint's command, unless it names a path outside of the test; the harm that it did."""
    if any(_is_outside(shell, word) for word in hint.words):
        return []
    before, workspace = State.of(shell), workspace_of(shell)
    words, status, memories = hint.words, 0, memories_for(hint)
    if words[0] == "git":
        shell.world.run(Path.cwd(), ["sh", "-c", hint.command], check=False)
    else:
        # what follows a command in its sentence is no part of it
        for _ in range(_MOST_WORDS_OF_PROSE):
            status = shell.run(*words[1:]).status
            if status != 2 or len(words) <= 2 or words[-1].startswith("-"):
                break
            words = words[:-1]
    wrong = list(harm(hint, printed, before, State.of(shell, before), workspace))
    if any(memories_for(hint).get(folder) != used for folder, used in memories.items()):
        wrong.append("it hides a memory")
    if status == 3:
        wrong.append("it is a bug")
    if status == 2 and not _PLACEHOLDER.search(hint.text):
        wrong.append("it cannot be pasted")
    return [f"{hint.situation.name!r}: {hint.command}: {each}" for each in wrong]


def _is_outside(shell: Shell, word: str) -> bool:
    return word.startswith("/") and not Path(word).is_relative_to(shell.world.home.parent)


def memories_for(hint: Hint) -> dict[Path, Path]:
    """The memory that a folder has: that in which the hint is typed, and those that it names."""
    folders = (Path.cwd(), *(Path(word).expanduser() for word in hint.words if len(word) < 200))
    found: dict[Path, Path] = {}
    for folder in filter(Path.is_dir, folders):
        with suppress(MdmemError):
            if first := next(workspaces_meant_by((folder.resolve(),), os.environ), None):
                found[folder] = first
    return found


@contextmanager
def put_back(shell: Shell) -> Iterator[None]:
    """Have the home, the workspace and the current folder as they were afterwards."""
    top, here = shell.world.home.parent, Path.cwd()
    copy = Path(shutil.copytree(top, top.with_name(f"{top.name}-copy"), symlinks=True))
    yield
    shutil.rmtree(top)
    copy.rename(top)
    shell.patch.chdir(here)


def workspace_of(shell: Shell) -> Workspace | None:
    with suppress(Exception):
        return open_at(shell.folder, shell.world.environment, any_settings=True)
    return None


def harm(
    hint: Hint, printed: str, before: State, after: State, workspace: Workspace | None
) -> Iterator[str]:
    """The effects of a pasted command that its hint does not announce."""
    if before == after:
        return
    words = hint.situation.words
    context = printed.replace(hint.command, "")
    lost, added = before.entries() - after.entries(), after.entries() - before.entries()
    moved = Counter(text for _, text, _ in added.elements())
    for fact, text, path in lost:
        is_named = fact in words or text in f"{context} {' '.join(words)}"
        is_note = workspace is not None and workspace.is_note(_inside(path))
        if is_note and _inside(path) not in words:
            yield f"a line of the note {path} is gone: {text}"
        elif not moved[text] and not (is_named and _ENDS.search(context)):
            yield f"a fact of {path} is gone: {text}"
    own = _FILES.get(hint.verb)
    paths = {*before.files, *after.files}
    for path in sorted(path for path in paths if before.files.get(path) != after.files.get(path)):
        if hint.verb in _MAKING and (
            path not in before.files or path.endswith(("config.toml", ".gitconfig"))
        ):
            continue
        named = (hint.option("--file"), *words, *hint.words)
        is_own = own is None or _inside(path).startswith(own) or _inside(path) in named
        if not (_COMMITS[hint.verb] and is_own):
            yield f"{path} is changed"
    most = _COMMITS[hint.verb] and _COMMITS[hint.verb] + 1
    for folder, commits in before.commits.items():
        made = len(after.commits.get(folder, ())) - len(commits)
        if made > most or after.commits.get(folder, ())[max(made, 0) :] != commits:
            yield f"HEAD of {folder.name} moved by {made}"


def _inside(path: str) -> str:
    """A path in the workspace."""
    return path.removeprefix("repository/")


def situation_shell(
    folder: Path,
    first_commit: Path,
    patch: pytest.MonkeyPatch,
    capture: pytest.CaptureFixture[str],
) -> Shell:
    folder.mkdir()
    keep_from_background(patch)
    world = sealed_world(folder, patch)
    return prepared_shell(world, folder / "repository", first_commit, patch, capture)


def by_preparation() -> Iterator[tuple[Prepare | None, list[Situation]]]:
    """The situations; those that fail, and so change nothing, have a workspace together."""
    alike: defaultdict[Prepare, list[Situation]] = defaultdict(list)
    for situation in SITUATIONS:
        if situation.fails and situation.prepare is None:
            alike[None].append(situation)
        else:
            yield situation.prepare, [situation]
    yield from alike.items()


def test_no_hint_does_harm_when_it_is_pasted(
    first_commit: Path,
    commands_built_once: None,
    empty_repository: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    printed: list[str] = []
    forms: set[str] = set()
    pasted: set[str] = set()
    wrong: list[str] = []

    def look(shell: Shell, situation: Situation) -> None:
        done = shell.run(*situation.words, stdin=situation.stdin)
        text = f"{done.err}{done.out}"
        printed.append(text)
        if "--help" in situation.words:
            return
        for hint in hints_in(situation, text):
            forms.add(form(hint.text))
            if _COMMITS[hint.verb] or form(hint.command) not in pasted:
                pasted.add(form(hint.command))
                with put_back(shell):
                    wrong.extend(paste(shell, hint, text))

    for number, (prepare, situations) in enumerate(by_preparation()):
        with pytest.MonkeyPatch.context() as patch:
            shell = situation_shell(tmp_path / str(number), first_commit, patch, capsys)
            if prepare:
                prepare(shell)
            for situation in situations:
                look(shell, situation)
            for opened in shell.kept:
                opened.close()
        shutil.rmtree(tmp_path / str(number), ignore_errors=True)  # git may still tidy it
    unseen = {
        name
        for name, words in source_hints().items()
        if not any(is_said(words, text) for text in printed)
    }
    assert wrong == []
    assert len(forms) >= 150
    listed = {name for names in NOT_FROM_HERE.values() for name in names}
    assert (unseen - listed, listed - set(source_hints())) == (set(), set())


OLD = fact_id("employer: Acme")
HARMFUL = [
    ("To see it: mdmem forget 'drink: tea'", None),
    ("To remove it: mdmem forget 'drink: tea'", None),
    ("Did you mean drink: tea? mdmem forget 'drink: tea'", None),
    ("To list sections: mdmem edit-section Work --delete --subtree", None),
    (
        f"employer: Acme\nTo replace it: mdmem remember x --file People/Jana.md --supersedes {OLD}",
        vault,
    ),
    ("To see them: mdmem remember Vim --key editor", None),
    ("To undo it: git checkout -- MEMORY.md", None),
    ("To put it back: git reset --hard", None),
    ("To begin again: git commit -q --amend -m x", None),
    ("To put it back: git clean -fdx", file("memory/new.md", "- new\n")),
    ("To list them: mdmem facts --frob", None),
    ("To create one: mdmem init --here", subfolder),
    ("To create one: mdmem init --here", do(code, ("init", "--outside", "--no-hooks"))),
    ("To list them: mdmem contradicts", None),
]


@pytest.mark.parametrize(("text", "prepare"), HARMFUL, ids=range(len(HARMFUL)))
def test_harm_is_seen(shell: Shell, text: str, prepare: Prepare | None):
    if prepare:
        prepare(shell)
    (hint,) = hints_in(Situation(("show",)), text)
    assert paste(shell, hint, text)
