"""All reachable history rewritten, object by object: only what the rules change gets a new id, the rest stays bit for bit.

Blobs first, then the trees that hold them, then commits and tags, oldest first. No ref moves here (`moving`): until then nothing has
changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mdmem.errors import RepositoryProblem
from mdmem.layout import is_markdown
from mdmem.repo.git_files import tree_entries
from mdmem.repo.objects import Objects, git
from mdmem.repo.runner import MARKDOWN, TEMPORARIES
from mdmem.repo.worktree import Repository
from mdmem.startup.records import dataclass, field

KEPT_STASH = "refs/mdmem/purge/stash/"
_SIGNATURES = frozenset({b"gpgsig", b"gpgsig-sha256"})
_TAG_SIGNATURE = re.compile(rb"(?m)^-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----")
FILE_MODES = frozenset({b"100644", b"100755", b"100664"})
_TREE_MODES, _SUBMODULE_MODE = frozenset({b"40000", b"040000"}), b"160000"
_OWN_REFS = ("refs/bisect", "refs/worktree", "refs/rewritten")


@dataclass(frozen=True, slots=True)
class RewriteRules:
    """What becomes of bytes: `blob` gets a text and whether it is Markdown, `message` a message; `holds` and `binary` only look."""

    blob: Callable[[bytes, bool], bytes]
    message: Callable[[bytes], bytes]
    holds: Callable[[bytes], bool]
    binary: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class LinkedWorktree:
    """Another work tree of the repository. `head` is its commit where it is detached, `name` its ref then."""

    root: Path
    name: str
    head: str | None


@dataclass(frozen=True, slots=True)
class RewrittenHistory:
    """What the rules make of history. Ids of commits and tags in `ids`, of blobs (with: is it Markdown) in `blobs`, old to new."""

    refs: Mapping[str, str]
    ids: Mapping[str, str]
    trees: Mapping[str, str]
    blobs: Mapping[tuple[str, bool], str]
    stash: tuple[str, ...]
    commits: int
    messages: int
    tags: int
    signatures: int
    names: int
    links: int
    binaries: int
    people: int
    submodules: bool

    def renamed(self, object_id: str) -> str:
        """The id that an object of any kind has now."""
        return self.ids.get(object_id) or self.trees.get(object_id) or self.blobs.get((object_id, False), object_id)

    @property
    def moved(self) -> dict[str, str]:
        """The refs that get another value, with it."""
        return {name: self.renamed(old) for name, old in self.refs.items() if self.renamed(old) != old}


# What there is.


def linked_worktrees(repository: Repository) -> list[LinkedWorktree]:
    """The other work trees.

    Raises:
        RepositoryProblem: `cannot-purge`: one is not there, is busy, or has refs of its own.
    """
    found = []
    for block in git(repository.root, "worktree", "list", "--porcelain", "-z").split(b"\0\0"):
        said = dict(os.fsdecode(line).partition(" ")[::2] for line in block.split(b"\0"))
        root = Path(said.get("worktree", ""))
        if "worktree" not in said or "bare" in said:
            continue
        if "prunable" in said or not root.is_dir():
            raise _refusal("a linked worktree is not there", "git worktree prune forgets it.")
        own = Path(os.fsdecode(git(root, "rev-parse", "--absolute-git-dir")).rstrip("\n"))
        if own.samefile(repository.git_dir):  # of a submodule git lists the git folder, not the work tree
            continue
        if any((own / name).exists() for name in ("rebase-merge", "rebase-apply", "MERGE_HEAD", "sequencer", "BISECT_LOG")):
            raise _refusal("something is under way in a linked worktree", "Finish or abort it there (git status).")
        if git(root, "for-each-ref", "--count=1", *_OWN_REFS):
            raise _refusal("a linked worktree has refs of its own", "git worktree remove takes it away.")
        name = "main-worktree/HEAD" if own.samefile(repository.common_dir) else f"worktrees/{own.name}/HEAD"
        found.append(LinkedWorktree(root, name, said["HEAD"] if "detached" in said else None))
    return found


def _refusal(message: str, hint: str) -> RepositoryProblem:
    return RepositoryProblem("cannot-purge", f"{message}, so history cannot be rewritten safely", hint)


def require_rewritable(repository: Repository) -> None:
    """Refuse where rewritten history would not be what git shows, or could not be cleaned up.

    Raises:
        RepositoryProblem: `cannot-purge`: replace refs, grafts, a partial clone, a repository that keeps all objects.
    """
    if git(repository.root, "for-each-ref", "--count=1", "refs/replace"):
        raise _refusal("the repository has replace refs", "git replace -d takes one away.")
    if (repository.common_dir / "info" / "grafts").exists():
        raise _refusal("the repository has grafts (info/grafts)", "git replace --convert-graft-file, then git replace -d.")
    if repository.setting("extensions.partialClone") or any((repository.common_dir / "objects" / "pack").glob("*.promisor")):
        raise _refusal("this is a partial clone, which lacks a part of its history", "Do it in a full clone.")
    if repository.setting("extensions.preciousObjects") == "true":
        raise _refusal("the repository keeps every object (extensions.preciousObjects)", "It may lend them to another one.")


def _refs(repository: Repository, others: Sequence[LinkedWorktree]) -> dict[str, str]:
    """Every ref that is rewritten, with its value: not those that follow a remote, nor symbolic ones; detached HEADs too."""
    listed = git(repository.root, "for-each-ref", "--format=%(objectname) %(refname) %(symref)").decode("utf-8", "surrogateescape")
    rows = [line.split(" ") for line in listed.splitlines()]
    refs = {name: value for value, name, target in rows if not target and not name.startswith("refs/remotes/")}
    refs |= {other.name: other.head for other in others if other.head}
    head = repository.head()
    return refs | {"HEAD": head} if head and repository.branch() is None else refs


def remote_refs(repository: Repository) -> int:
    """How many refs follow a remote."""
    return len(git(repository.root, "for-each-ref", "--format=x", "refs/remotes").splitlines())


def _stashed(repository: Repository, refs: Mapping[str, str]) -> list[str]:
    """The stash, oldest first: its older entries stand in its reflog only. Those that an interrupted run kept come first."""
    kept = [refs[name] for name in sorted((n for n in refs if n.startswith(KEPT_STASH)), key=lambda n: int(n.rsplit("/", 1)[1]))]
    if "refs/stash" not in refs:
        return kept
    logged = git(repository.root, "rev-list", "-g", "refs/stash").decode().split()
    return list(dict.fromkeys([*kept, *reversed(logged), refs["refs/stash"]]))


@dataclass(frozen=True, slots=True)
class StagedEntry:
    """An entry of git's index: `flag` is what `git ls-files -v` says of it."""

    flag: bytes
    mode: bytes
    blob: str
    stage: bytes
    path: bytes


def index_entries(root: Path) -> list[StagedEntry]:
    """What git's index holds."""
    found = []
    for line in git(root, "ls-files", "-v", "-s", "-z").split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            flag, mode, blob, stage = head.split(b" ")
            found.append(StagedEntry(flag, mode, blob.decode(), stage, path))
    return found


def worktree_files(root: Path) -> list[str]:
    """The files of a work tree, from its root: what git knows, what it does not ignore, all Markdown, what killed writes left."""
    listed = git(root, "ls-files", "-z", "-c", "-o", "--exclude-standard") + git(root, "ls-files", "-z", "-o", "--", MARKDOWN, TEMPORARIES)
    return sorted({os.fsdecode(path) for path in listed.split(b"\0") if path})


# The rewriting itself.


@dataclass(slots=True)
class _ObjectRewriter:
    """The new ids as they come about, and what was met on the way."""

    rules: RewriteRules
    objects: Objects
    ids: dict[str, str] = field(default_factory=dict)
    trees: dict[str, str] = field(default_factory=dict)
    blobs: dict[tuple[str, bool], str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("commits", "messages", "tags", "signatures", "people"), 0))
    uses: dict[bool, set[str]] = field(default_factory=lambda: {False: set(), True: set()})
    names: dict[bytes, bool] = field(default_factory=dict)
    links: int = 0
    binaries: int = 0
    submodules: bool = False

    def note_uses(self, found: Iterable[tuple[str, bytes, int]]) -> None:
        """Which blobs the trees have as Markdown, which as other files."""
        for _, mode, path, target in self._rows(found):
            if mode in FILE_MODES:
                self.uses[is_markdown(os.fsdecode(path))].add(target)
            elif mode == _SUBMODULE_MODE:
                self.submodules = True
            if path not in self.names:
                self.names[path] = self.rules.holds(path)

    def _rows(self, trees: Iterable[tuple[str, bytes, int]]) -> Iterator[tuple[str, bytes, bytes, str]]:
        """Each entry of trees: the tree's id, mode, name, id."""
        for name, _, data in self.objects.read(trees):
            for mode, path, target in tree_entries(data, len(name) // 2):
                yield name, mode, path, target

    def make_blobs(self, found: Iterable[tuple[str, bytes, int]]) -> None:
        for name, _, data in self.objects.read(found):
            markdown = [each for each in (False, True) if name in self.uses[each]]
            if b"\0" in data:
                self.binaries += self.rules.binary(data)
            elif not markdown:
                self.links += self.rules.blob(data, False) != data
            for each in markdown:
                new = self.rules.blob(data, each)
                if new != data:
                    self.blobs[name, each] = self.objects.add(b"blob", new)

    def make_trees(self, found: Sequence[tuple[str, bytes, int]]) -> None:
        """The trees that hold a changed blob, at any depth, inner ones first."""
        inner: dict[str, list[str]] = {}
        holders: dict[str, list[str]] = {}
        due: list[str] = []
        for name, mode, path, target in self._rows(found) if self.blobs else ():
            if mode in _TREE_MODES:
                inner.setdefault(name, []).append(target)
                holders.setdefault(target, []).append(name)
            elif self._blob(mode, path, target) != target:
                due.append(name)
        affected: set[str] = set()
        while due:
            name = due.pop()
            if name not in affected:
                affected.add(name)
                due += holders.get(name, ())
        sizes = {name: (name, kind, size) for name, kind, size in found}
        for name, _, data in self.objects.read(sizes[name] for name in _inner_first(affected, inner)):
            parts = [
                b"%s %s\0%s"
                % (mode, path, bytes.fromhex(self.trees.get(target, target) if mode in _TREE_MODES else self._blob(mode, path, target)))
                for mode, path, target in tree_entries(data, len(name) // 2)
            ]
            self.trees[name] = self.objects.add(b"tree", b"".join(parts))

    def _blob(self, mode: bytes, path: bytes, target: str) -> str:
        if mode not in FILE_MODES or ((target, True) not in self.blobs and (target, False) not in self.blobs):
            return target
        return self.blobs.get((target, is_markdown(os.fsdecode(path))), target)

    def make_commits(self, found: Iterable[tuple[str, bytes, int]]) -> None:
        for name, _, data in self.objects.read(found):
            head, end, message = data.partition(b"\n\n")
            headers = parse_headers(head)
            said = _message(self.rules, message, next((v.strip() for n, v in headers if n == b"encoding"), b""))
            moved = [(n, self._pointed(n, value)) for n, value in headers]
            self.counts["people"] += any(n in (b"author", b"committer") and self.rules.holds(value) for n, value in headers)
            kept = [(n, value) for n, value in moved if n != b"mergetag" or not self.rules.holds(value)]
            if kept == headers and said == message:
                continue
            unsigned = [(n, value) for n, value in kept if n not in _SIGNATURES]
            self.counts["signatures"] += len(unsigned) < len(headers)
            self.counts["messages"] += said != message
            self.counts["commits"] += 1
            self.ids[name] = self.objects.add(b"commit", b"\n".join(b"%s %s" % pair for pair in unsigned) + end + said)

    def _pointed(self, header: bytes, value: bytes) -> bytes:
        if header == b"tree":
            return self.trees.get(value.decode(), value.decode()).encode()
        return self.ids.get(value.decode(), value.decode()).encode() if header == b"parent" else value

    def make_tags(self, found: Iterable[tuple[str, bytes, int]]) -> None:
        waiting = {name: data for name, _, data in self.objects.read(found)}

        def make(name: str) -> None:
            head, end, message = waiting.pop(name).partition(b"\n\n")
            headers = parse_headers(head)
            target = _tagged(head)
            if target in waiting:
                make(target)
            now = self.ids.get(target) or self.trees.get(target) or self.blobs.get((target, False), target)
            signature = _TAG_SIGNATURE.search(message)
            words = message[: signature.start()] if signature else message
            said = self.rules.message(words)
            if now == target and said == words:
                return
            moved = [(n, now.encode() if n == b"object" else value) for n, value in headers if n not in _SIGNATURES]
            self.counts["signatures"] += bool(signature) or len(moved) < len(headers)
            self.counts["messages"] += said != words
            self.counts["tags"] += 1
            self.ids[name] = self.objects.add(b"tag", b"\n".join(b"%s %s" % pair for pair in moved) + end + said)

        while waiting:
            make(next(iter(waiting)))


def _inner_first(trees: set[str], inner: Mapping[str, list[str]]) -> list[str]:
    """`trees` in an order in which each comes after those that it holds."""
    ordered: dict[str, None] = {}
    waiting = [(name, False) for name in trees]
    while waiting:
        name, entered = waiting.pop()
        if entered:
            ordered[name] = None
        elif name not in ordered:
            waiting.append((name, True))
            waiting += [(child, False) for child in inner.get(name, ()) if child in trees and child not in ordered]
    return list(ordered)


def parse_headers(head: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of a commit or tag; the lines of one that goes on (they begin with a space) stay joined."""
    parts = re.split(rb"\n(?! )", head)
    return [(name, value) for name, _, value in (part.partition(b" ") for part in parts)]


def _tagged(tag: bytes) -> str:
    """What a tag points to."""
    return next(value for name, value in parse_headers(tag.partition(b"\n\n")[0]) if name == b"object").decode()


def _message(rules: RewriteRules, message: bytes, encoding: bytes) -> bytes:
    """A commit's message by the rules, which know UTF-8, in the encoding that the commit names."""
    message = rules.message(message)  # as UTF-8 first: what a commit names is not always what it holds
    try:
        name = encoding.decode("ascii") or "utf-8"
        text = message.decode(name)
        return rules.message(text.encode()).decode().encode(name) if text.encode(name) == message else message
    except (LookupError, ValueError):
        return message  # an encoding that only git's libraries know: the bytes are all there is to go by


def rewrite_history(repository: Repository, rules: RewriteRules, objects: Objects, others: Sequence[LinkedWorktree]) -> RewrittenHistory:
    """What the rules make of everything that can be reached; no ref is moved."""
    refs = _refs(repository, others)
    stash = _stashed(repository, refs)
    head = repository.head()
    roots = "".join(f"{name}\n" for name in dict.fromkeys([*refs.values(), *stash, *([head] if head else [])])).encode()
    names = git(repository.root, "rev-list", "--topo-order", "--objects", "--no-object-names", "--stdin", text=roots) if roots else b""
    of_indexes = [e for root in (repository.root, *(o.root for o in others)) for e in index_entries(root) if e.mode != _SUBMODULE_MODE]
    found = objects.described(dict.fromkeys([*names.decode().split(), *(e.blob for e in of_indexes)]))

    def of(kind: bytes) -> list[tuple[str, bytes, int]]:
        return [each for each in found if each[1] == kind]

    maker = _ObjectRewriter(rules, objects)
    maker.note_uses(of(b"tree"))
    for entry in of_indexes:
        if entry.mode in FILE_MODES:
            maker.uses[is_markdown(os.fsdecode(entry.path))].add(entry.blob)
    maker.uses[False].update(refs.values(), (_tagged(data) for _, _, data in objects.read(of(b"tag"))))
    maker.make_blobs(of(b"blob"))
    maker.make_trees(of(b"tree"))
    maker.make_commits(reversed(of(b"commit")))
    maker.make_tags(of(b"tag"))
    return RewrittenHistory(
        refs,
        maker.ids,
        maker.trees,
        maker.blobs,
        tuple(dict.fromkeys(maker.ids.get(name, name) for name in stash)),
        **maker.counts,
        names=sum(maker.names.values()),
        links=maker.links,
        binaries=maker.binaries,
        submodules=maker.submodules,
    )
