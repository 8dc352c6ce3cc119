"""Judge what is pushed, by the rules before it: `check --push`, in a bare repository too.

Nothing of the content names anybody or runs: the repository's own configuration says who is a
person (`mdmem.people`), and whose signatures count (`mdmem.verify`, `mdmem.signers`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path

from mdmem.folder import config, hook_files
from mdmem.folder.layout import WORKSPACE_MARKS
from mdmem.model import (
    MAX_FILE_BYTES,
    SETTINGS_NAME,
    CommitId,
    FactId,
    FileKind,
    FilePath,
    Problem,
    SectionPath,
    SignatureState,
    rules,
)
from mdmem.model.errors import PathProblem, UsageProblem, WorkspaceProblem, plain, printable
from mdmem.past import people_only
from mdmem.past.notes import parse_message
from mdmem.purge.purging import PURGE_TRAILER
from mdmem.repo import Repository, branch_commits, first_parent, signatures
from mdmem.repo.branch_commits import BranchCommit
from mdmem.repo.runner import run
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text import check
from mdmem.text.document import parse_bytes
from mdmem.text.facts import items
from mdmem.text.writers import Rules, WrittenFile, changed_places, marked_place
from mdmem.workspace import Workspace, permission

_GIT_VARIABLES = (
    "GIT_OBJECT_DIRECTORY",
    "GIT_QUARANTINE_PATH",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)
"""Where git keeps the objects of a push until it is let in."""
_BRANCHES, _ASIDE = "refs/heads/", ("refs/heads/mdmem/in/", "refs/heads/mdmem/proposals/")
_COMMITS_AT_ONCE = 500
_ID = late.pattern("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MARKS = late.pattern("Mdmem-(?:Supersedes|Retracts|Contradicts|Resolves): ")
_MARKER = late.pattern(rb"(?m)^[<=>|]{7}")
_SECRETS = frozenset({"secret-found"})
_SERIOUS = _SECRETS | {"conflict-markers", "append"}
Commits = dict[CommitId, BranchCommit]


def check_push(
    folder: Path, environment: Mapping[str, str], lines: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Yield a line on each fault of updates, `OLD NEW REF` each, and whether it refuses the push.

    Raises UsageProblem (a malformed line), WorkspaceProblem (`bad-settings`: no such signers),
    RepositoryProblem (also where an object is missing).
    """
    server = _PushJudge(_open(folder, environment))
    for line in lines:
        match line.split(" "):
            case [old, new, ref] if old and new and ref:
                if ref.startswith(_BRANCHES):
                    yield from server.judge(server.commit(old), server.commit(new), ref)
            case _:
                raise UsageProblem(f"{line[:80]!r} is not OLD NEW REF")


def install_hook(folder: Path) -> Path:
    """Install the hook in a repository of a server; as `hook_files.install_server`."""
    hooks = _open(folder, {}).git("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    return hook_files.install_server(Path(os.fsdecode(hooks[:-1])))


def _open(folder: Path, environment: Mapping[str, str]) -> Repository:
    variables = {name: environment[name] for name in _GIT_VARIABLES if environment.get(name)}
    named = {"GIT_DIR": environment["GIT_DIR"]} if environment.get("GIT_DIR") else {}
    found = run(folder, ["rev-parse", "--absolute-git-dir"], extra=variables | named)
    if found.status:
        raise found.failure("rev-parse")
    git_dir = Path(os.fsdecode(found.output[:-1]))
    known = {**variables, "GIT_DIR": str(git_dir)}
    return branch_commits.bare_repository(git_dir, tuple(known.items()))


@dataclass(frozen=True, slots=True)
class _RuledWorkspace:
    """A workspace by its settings before a push; `fault`: why these cannot be used."""

    workspace: Workspace
    rules: Rules | None
    fault: str = ""


class _PushJudge:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        listed = repository.run("config", "--local", "--get-regexp", r"^mdmem\.")
        rows = listed.output.decode("utf-8", "replace").splitlines()
        settings = [row.partition(" ")[::2] for row in rows]
        self._people = [value for name, value in settings if name == "mdmem.people"]
        last = dict(settings)
        if last.get("mdmem.verify", "off") not in ("off", "require"):
            raise WorkspaceProblem("bad-settings", "mdmem.verify must be off or require")
        self._signers = None
        if last.get("mdmem.verify") == "require":
            named, folder = last.get("mdmem.signers"), repository.folder
            file = Path(named).expanduser() if named else None
            pushed = folder.parent if folder.name == ".git" else folder
            self._signers = signatures.read_signers(folder, file, [pushed], "mdmem.signers")

    def commit(self, name: str) -> CommitId | None:
        """A commit by its name; None for the zeros of a branch that is not there."""
        if not name.strip("0"):
            return None
        if _ID.fullmatch(name):
            return CommitId(name)
        words = ("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
        return CommitId(self._repository.git(*words).decode().strip())

    def judge(
        self, old: CommitId | None, new: CommitId | None, ref: str
    ) -> Iterator[tuple[str, bool]]:
        """Judge one branch. Into an empty repository, anything may be pushed."""
        repository, name, is_aside = self._repository, ref[len(_BRANCHES) :], ref.startswith(_ASIDE)
        base = old or repository.head()
        places = self._places(base) if base else []
        if base is None and branch_commits.list_refs(repository, _BRANCHES):
            yield f"{name}: HEAD of this repository names no branch, so there are no rules", True
        if base is None or not places:
            return
        if new is None:
            if not is_aside:
                yield f"{name}: a branch with a memory may not be deleted", True
            return
        commits = branch_commits.commits_not_in(repository, [new], base)
        agents = self._agents(commits)
        is_range = name == ".."  # which no branch is called; a pull request may be behind
        is_forward = (
            is_range or new == base or any(base in each.parents for each in commits.values())
        )
        if old and not is_forward and not is_aside:
            purges = (
                each.id
                for each in commits.values()
                if self._signers
                and each.id not in agents
                and PURGE_TRAILER in each.message.splitlines()
            )
            if (purge := next(purges, None)) is None:
                yield f"{name}: the branch does not go forward", True
            else:
                commits = branch_commits.commits_not_in(repository, [new], purge)
        for place in places:
            if place.fault and not is_aside:
                said = f"only people may push until it is corrected: {place.fault}"
                barred = [commits[each] for each in reversed(commits) if each in agents]
                yield from ((_line(each, agents, said), True) for each in barred)
            for each, said, refuses in self._judge(place, commits, agents, is_aside):
                yield _line(commits[each], agents, said), refuses
            if place.rules is not None and not is_aside:
                marking = self._marks_and_merges(place, commits, agents, (base, new))
                yield from ((_line(commits[each], agents, said), True) for each, said in marking)

    def _agents(self, commits: Commits) -> dict[CommitId, str]:
        """Those who made commits, where they are no persons."""
        signed = (
            signatures.signatures(
                self._repository.folder,
                list(commits),
                self._signers,
                dict(self._repository.variables),
            )
            if self._signers
            else {}
        )
        agents = {}
        for name, commit in commits.items():
            agent = people_only.agent_of(commit.message, self._people)
            if agent is None and self._signers:
                signature = signed[name]
                is_signed = signature.state is SignatureState.SIGNED
                if not is_signed or not rules.is_person(signature.by or "", self._people):
                    agent = f"{_author(commit)} ({signature.state})"
            if agent:
                agents[name] = agent
        return agents

    def _places(self, base: CommitId) -> list[_RuledWorkspace]:
        paths = first_parent.blobs(self._repository, base)
        prefixes = {
            path.removesuffix(mark)
            for path in paths
            for mark in WORKSPACE_MARKS
            if path == mark or path.endswith(f"/{mark}")
        }
        return [self._place(base, prefix) for prefix in sorted(prefixes)]

    def _place(self, base: CommitId, prefix: str) -> _RuledWorkspace:
        view = replace(self._repository, prefix=prefix)
        data = view.read(base, [FilePath(SETTINGS_NAME)]).popitem()[1]
        # no folder on this disk: the tree of a commit is judged
        root = Path(os.devnull, self._repository.folder.stem, prefix)
        settings, fault = config.Settings(), ""
        try:
            settings = config.load(root, None, {}, version=data or b"")
        except WorkspaceProblem as problem:
            fault = plain(problem.message)
        workspace = Workspace(
            root=root, repository=view, settings=settings, state=root, environment={}
        )
        return _RuledWorkspace(workspace, permission.rules_by(workspace, [settings]), fault)

    def _judge(
        self,
        place: _RuledWorkspace,
        commits: Commits,
        agents: Mapping[CommitId, str],
        is_aside: bool,
    ) -> Iterator[tuple[CommitId, str, bool]]:
        """The faults of commits, oldest first: what only people may change, and memory files with
        secrets, conflict markers, losses of logs, or too much text. Aside: secrets and sizes.
        """
        workspace, by, names = place.workspace, place.rules, list(reversed(commits))
        kind_of = cache(workspace.kind_of)
        prefix = workspace.repository.prefix
        for start in range(0, len(names), _COMMITS_AT_ONCE):
            chunk = names[start : start + _COMMITS_AT_ONCE]
            changes = [
                (CommitId(name), own, blobs)
                for name, rows in first_parent.changes_of_trees(self._repository, chunk).items()
                for path, blobs in rows
                if path.startswith(prefix)
                and (
                    kind_of(own := FilePath(path[len(prefix) :])).is_memory
                    or (by and by.addresses(own))
                )
            ]
            ids = sorted({blob for *_, blobs in changes for blob in blobs if blob})
            large = self._large(ids)
            contents = people_only.contents(self._repository, {*ids} - large)
            for name, path, blobs in changes:
                *before, after = (contents.get(blob or "") for blob in blobs)
                is_agents = name in agents and not is_aside and len(before) == 1
                change = WrittenFile(path, before[0], after)
                for found in changed_places(by, [change]) if by and is_agents else ():
                    yield name, f"only people may change {found.name}", True
                if not kind_of(path).is_memory:
                    continue
                if blobs[-1] in large:
                    yield name, f"{path} has more than {MAX_FILE_BYTES // 1_000_000} MB", True
                    continue
                errors = [
                    _errors(workspace, path, each, after, kind=kind_of(path)) for each in before
                ]
                is_own = any(errors) and parse_message(commits[name].message).op is not None
                for problem in errors[0] if after is not None else ():
                    is_here = all(problem in each for each in errors)
                    if problem.code in (_SECRETS if is_aside else _SERIOUS) and is_here:
                        said = f"{problem.path}:{problem.line}: {plain(problem.message)}"
                        yield name, said, is_own or problem.code != "append"

    def _marks_and_merges(
        self,
        place: _RuledWorkspace,
        commits: Commits,
        agents: Mapping[CommitId, str],
        ends: tuple[CommitId, CommitId],
    ) -> Iterator[tuple[CommitId, str]]:
        """The faults of agents' merges, and of their marks on facts of either end."""
        workspace, by = place.workspace, place.rules
        judged = [(name, commits[name].parents) for name in reversed(commits) if name in agents]
        merges = [(name, parents) for name, parents in judged if len(parents) > 1]
        for name, places in people_only.changes_of(workspace.repository, by, merges) if by else ():
            yield from ((name, f"only people may change {each.name}") for each in places)
        marking = [name for name, _ in judged if _MARKS.search(commits[name].message)]
        facts = self._facts(workspace, ends) if marking else {}
        for name in marking:
            note = parse_message(commits[name].message)
            marked = {old for old, _ in note.supersedes} | {*note.retracts}
            marked |= {*chain(*note.contradicts, *note.resolves)}
            places_of = [facts.get(each, []) for each in marked]
            if by and (found := marked_place(by, places_of)):
                yield name, f"only people may change {found}"

    def _facts(
        self, workspace: Workspace, ends: tuple[CommitId, CommitId]
    ) -> dict[FactId, list[tuple[FilePath, SectionPath]]]:
        """The places of each fact of memory in two commits."""
        facts: dict[FactId, list[tuple[FilePath, SectionPath]]] = {}
        prefix = workspace.repository.prefix
        blobs = {
            (FilePath(path[len(prefix) :]), blob)
            for commit in ends
            for path, blob in first_parent.blobs(self._repository, commit).items()
            if path.startswith(prefix) and workspace.kind_of(path[len(prefix) :]).is_memory
        }
        contents = self._repository.contents(sorted({blob for _, blob in blobs}))
        for path, blob in blobs:
            with suppress(PathProblem):
                document = parse_bytes(contents[blob])
                for item in items(document):
                    facts.setdefault(item.fact.id, []).append((path, document.path_at(item.start)))
        return facts

    def _large(self, ids: Sequence[str]) -> set[str]:
        text = "".join(f"{each}\n" for each in ids).encode()
        rows = self._repository.git("cat-file", "--batch-check", text=text) if ids else b""
        sizes = (row.split() for row in rows.decode().splitlines())
        return {row[0] for row in sizes if row[-1].isdigit() and int(row[-1]) > MAX_FILE_BYTES}


def _errors(
    workspace: Workspace,
    path: FilePath,
    before: bytes | None,
    after: bytes | None,
    kind: FileKind,
) -> tuple[Problem, ...]:
    """The errors of a change, by the lines that it changes if these alone have none."""
    is_note = workspace.is_note(path)
    if before and after:
        old, new = _changed_lines(before, after)
        if not _MARKER.search(new) and not check.find_errors(path, old, new, kind, is_note=is_note):
            return ()
    return check.find_errors(path, before, after, kind, is_note=is_note)


def _changed_lines(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    """Both without the lines in which they begin and end alike, in a few comparisons of bytes."""
    start = _common(before, after, lambda text, low, high: text[low:high])
    start = before.rfind(b"\n", 0, start) + 1
    old, new = before[start:], after[start:]
    end = _common(old, new, lambda text, low, high: text[len(text) - high : len(text) - low])
    lines_end = old.find(b"\n", len(old) - end) + 1 or len(old)
    return old[:lines_end], new[: len(new) - (len(old) - lines_end)]


def _common(old: bytes, new: bytes, part: Callable[[bytes, int, int], bytes]) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if part(old, low, middle) == part(new, low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _author(commit: BranchCommit) -> str:
    return commit.author.decode("utf-8", "replace").rpartition(" <")[0]


def _line(commit: BranchCommit, agents: Mapping[CommitId, str], said: str) -> str:
    who = agents.get(commit.id) or _author(commit)
    return printable(f"{commit.id[:8]} by {who[:60]}: {said}", keep="")
