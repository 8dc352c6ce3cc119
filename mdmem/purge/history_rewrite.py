"""Rewrite all reachable history object by object; what the rules do not change keeps its id.

Blobs come first, then the trees that hold them, then commits and tags, oldest first. No ref moves
here (`ref_rewrite` does that), so nothing has changed yet.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mdmem.folder.layout import is_markdown
from mdmem.model.errors import RepositoryProblem
from mdmem.repo.git_files import is_off, operation_under_way, tree_entries
from mdmem.repo.runner import MARKDOWN, TEMPORARIES, run
from mdmem.repo.worktree import Repository
from mdmem.startup import late
from mdmem.startup.records import dataclass, field

KEPT_STASH = "refs/mdmem/purge/stash/"
_SIGNATURES = frozenset({b"gpgsig", b"gpgsig-sha256"})
_TAG_SIGNATURE = late.pattern(
    rb"(?m)^-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----"
)
FILE_MODES = frozenset({b"100644", b"100755", b"100664"})
_TREE_MODES, _SUBMODULE_MODE = frozenset({b"40000", b"040000"}), b"160000"
_OWN_REFS = ("refs/bisect", "refs/worktree", "refs/rewritten")


@dataclass(frozen=True, slots=True)
class RewriteRules:
    """Rewrite a `blob` (flag: is it Markdown) or `message`, or only look for words."""

    blob: Callable[[bytes, bool], bytes]
    message: Callable[[bytes], bytes]
    holds: Callable[[bytes], bool]
    binary: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class LinkedWorktree:
    """Another work tree: `name` is the ref of its HEAD, `head` its commit where detached."""

    root: Path
    name: str
    head: str | None


@dataclass(frozen=True, slots=True)
class RewrittenHistory:
    """History, old ids to new: commits and tags in `ids`, blobs with: is it Markdown."""

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
        return (
            self.ids.get(object_id)
            or self.trees.get(object_id)
            or self.blobs.get((object_id, False), object_id)
        )

    @property
    def moved(self) -> dict[str, str]:
        return {
            name: self.renamed(old) for name, old in self.refs.items() if self.renamed(old) != old
        }


# Work trees, refs, index entries.


def linked_worktrees(repository: Repository) -> list[LinkedWorktree]:
    """The other work trees. Raises RepositoryProblem (`cannot-purge`: missing, busy, own refs)."""
    worktrees = []
    for block in filter(
        None, git(repository.root, "worktree", "list", "--porcelain", "-z").split(b"\0\0")
    ):
        fields = dict(os.fsdecode(line).partition(" ")[::2] for line in block.split(b"\0"))
        if "bare" in fields:
            continue
        root = Path(fields["worktree"])
        if "prunable" in fields or not root.is_dir():
            raise _refusal("a linked worktree is missing", "To forget it: git worktree prune")
        git_dir = Path(os.fsdecode(git(root, "rev-parse", "--absolute-git-dir")).removesuffix("\n"))
        # For a submodule git lists the git folder, not the work tree.
        if git_dir.samefile(repository.git_dir):
            continue
        if operation_under_way(str(git_dir)):
            raise _refusal(
                "something is under way in a linked worktree",
                "Finish or abort it there (git status).",
            )
        if git(root, "for-each-ref", "--count=1", *_OWN_REFS):
            raise _refusal(
                "a linked worktree has refs of its own", "To remove it: git worktree remove"
            )
        name = (
            "main-worktree/HEAD"
            if git_dir.samefile(repository.common_dir)
            else f"worktrees/{git_dir.name}/HEAD"
        )
        worktrees.append(
            LinkedWorktree(root, name, fields["HEAD"] if "detached" in fields else None)
        )
    return worktrees


def _refusal(message: str, hint: str) -> RepositoryProblem:
    return RepositoryProblem(
        "cannot-purge", f"{message}, so history cannot be rewritten safely", hint
    )


def require_rewritable(repository: Repository) -> None:
    """Raises RepositoryProblem (`cannot-purge`)."""
    if git(repository.root, "for-each-ref", "--count=1", "refs/replace"):
        raise _refusal("the repository has replace refs", "To remove one: git replace -d")
    if (repository.common_dir / "info" / "grafts").exists():
        raise _refusal(
            "the repository has grafts (info/grafts)",
            "git replace --convert-graft-file, then git replace -d.",
        )
    if repository.setting("extensions.partialClone") or any(
        (repository.common_dir / "objects" / "pack").glob("*.promisor")
    ):
        raise _refusal(
            "this is a partial clone, which lacks a part of its history", "Do it in a full clone."
        )
    precious = repository.setting("extensions.preciousObjects")
    if precious is not None and not is_off(precious.encode()):
        raise _refusal(
            "the repository keeps every object (extensions.preciousObjects)",
            "It may lend them to another one.",
        )


def _refs(repository: Repository, worktrees: Sequence[LinkedWorktree]) -> dict[str, str]:
    listed = git(
        repository.root, "for-each-ref", "--format=%(objectname) %(refname) %(symref)"
    ).decode("utf-8", "surrogateescape")
    rows = [line.split(" ") for line in listed.splitlines()]
    refs = {
        name: value
        for value, name, target in rows
        if not target and not name.startswith("refs/remotes/")
    }
    refs |= {worktree.name: worktree.head for worktree in worktrees if worktree.head}
    head = repository.head()
    return refs | {"HEAD": head} if head and repository.branch() is None else refs


def remote_refs(repository: Repository) -> int:
    return len(git(repository.root, "for-each-ref", "--format=x", "refs/remotes").splitlines())


def _stash_commits(repository: Repository, refs: Mapping[str, str]) -> list[str]:
    """The stash, oldest first, from its reflog; first those that an interrupted run kept."""
    kept = [
        refs[name]
        for name in sorted(
            (n for n in refs if n.startswith(KEPT_STASH)), key=lambda n: int(n.rsplit("/", 1)[1])
        )
    ]
    if "refs/stash" not in refs:
        return kept
    logged = git(repository.root, "rev-list", "-g", "refs/stash").decode().split()
    return list(dict.fromkeys([*kept, *reversed(logged), refs["refs/stash"]]))


@dataclass(frozen=True, slots=True)
class StagedEntry:
    """An entry of git's index; `flag` is the letter of `git ls-files -v`."""

    flag: bytes
    mode: bytes
    blob: str
    stage: bytes
    path: bytes


def index_entries(root: Path) -> list[StagedEntry]:
    entries = []
    for line in git(root, "ls-files", "-v", "-s", "-z").split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            flag, mode, blob, stage = head.split(b" ")
            entries.append(
                StagedEntry(flag=flag, mode=mode, blob=blob.decode(), stage=stage, path=path)
            )
    return entries


def worktree_files(root: Path) -> list[str]:
    """The files of a work tree: tracked, not ignored, Markdown, temporary ones of killed writes."""
    listed = git(root, "ls-files", "-z", "-c", "-o", "--exclude-standard") + git(
        root, "ls-files", "-z", "-o", "--", MARKDOWN, TEMPORARIES
    )
    return sorted({os.fsdecode(path) for path in listed.split(b"\0") if path})


# Rewriting.


@dataclass(slots=True)
class _ObjectRewriter:
    rules: RewriteRules
    objects: Objects
    ids: dict[str, str] = field(default_factory=dict)
    trees: dict[str, str] = field(default_factory=dict)
    blobs: dict[tuple[str, bool], str] = field(default_factory=dict)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("commits", "messages", "tags", "signatures", "people"), 0
        )
    )
    uses: dict[bool, set[str]] = field(default_factory=lambda: {False: set(), True: set()})
    names: dict[bytes, bool] = field(default_factory=dict)
    links: int = 0
    binaries: int = 0
    submodules: bool = False

    def note_uses(self, trees: Iterable[tuple[str, bytes, int]]) -> None:
        for _, mode, path, target in self._rows(trees):
            if mode in FILE_MODES:
                self.uses[is_markdown(os.fsdecode(path))].add(target)
            elif mode == _SUBMODULE_MODE:
                self.submodules = True
            if path not in self.names:
                self.names[path] = self.rules.holds(path)

    def _rows(
        self, trees: Iterable[tuple[str, bytes, int]]
    ) -> Iterator[tuple[str, bytes, bytes, str]]:
        for name, _, data in self.objects.read(trees):
            for mode, path, target in tree_entries(data, len(name) // 2):
                yield name, mode, path, target

    def make_blobs(self, blobs: Iterable[tuple[str, bytes, int]]) -> None:
        """Rewrite texts; count binary files and links that hold the words but stay."""
        for name, _, data in self.objects.read(blobs):
            markdown = [
                as_markdown for as_markdown in (False, True) if name in self.uses[as_markdown]
            ]
            if b"\0" in data:
                self.binaries += self.rules.binary(data)
            elif not markdown:
                self.links += self.rules.blob(data, False) != data
            for as_markdown in markdown:
                new = self.rules.blob(data, as_markdown)
                if new != data:
                    self.blobs[name, as_markdown] = self.objects.add(b"blob", new)

    def make_trees(self, trees: Sequence[tuple[str, bytes, int]]) -> None:
        """Rewrite the trees that hold a changed blob at any depth, inner ones first."""
        subtrees: dict[str, list[str]] = {}
        holders: dict[str, list[str]] = {}
        changed: list[str] = []
        for name, mode, path, target in self._rows(trees) if self.blobs else ():
            if mode in _TREE_MODES:
                subtrees.setdefault(name, []).append(target)
                holders.setdefault(target, []).append(name)
            elif self._blob(mode, path, target) != target:
                changed.append(name)
        affected: set[str] = set()
        while changed:
            name = changed.pop()
            if name not in affected:
                affected.add(name)
                changed += holders.get(name, ())
        sizes = {name: (name, kind, size) for name, kind, size in trees}
        for name, _, data in self.objects.read(
            sizes[name] for name in _inner_first(affected, subtrees)
        ):
            parts = [
                b"%s %s\0%s"
                % (
                    mode,
                    path,
                    bytes.fromhex(
                        self.trees.get(target, target)
                        if mode in _TREE_MODES
                        else self._blob(mode, path, target)
                    ),
                )
                for mode, path, target in tree_entries(data, len(name) // 2)
            ]
            self.trees[name] = self.objects.add(b"tree", b"".join(parts))

    def _blob(self, mode: bytes, path: bytes, target: str) -> str:
        if mode not in FILE_MODES or (
            (target, True) not in self.blobs and (target, False) not in self.blobs
        ):
            return target
        return self.blobs.get((target, is_markdown(os.fsdecode(path))), target)

    def make_commits(self, commits: Iterable[tuple[str, bytes, int]]) -> None:
        """Rewrite changed commits and their descendants, parents first, without signatures."""
        for name, _, data in self.objects.read(commits):
            head, end, message = data.partition(b"\n\n")
            headers = parse_headers(head)
            new_message = _rewrite_message(
                self.rules, message, next((v.strip() for n, v in headers if n == b"encoding"), None)
            )
            new_headers = [(n, self._new_pointer(n, value)) for n, value in headers]
            self.counts["people"] += any(
                n in (b"author", b"committer") and self.rules.holds(value) for n, value in headers
            )
            kept = [
                (n, value)
                for n, value in new_headers
                if n != b"mergetag" or not self.rules.holds(value)
            ]
            if kept == headers and new_message == message:
                continue
            unsigned = [(n, value) for n, value in kept if n not in _SIGNATURES]
            self.counts["signatures"] += len(unsigned) < len(headers)
            self.counts["messages"] += new_message != message
            self.counts["commits"] += 1
            self.ids[name] = self.objects.add(
                b"commit", b"\n".join(b"%s %s" % pair for pair in unsigned) + end + new_message
            )

    def _new_pointer(self, header: bytes, value: bytes) -> bytes:
        if header == b"tree":
            return self.trees.get(value.decode(), value.decode()).encode()
        return (
            self.ids.get(value.decode(), value.decode()).encode() if header == b"parent" else value
        )

    def make_tags(self, tags: Iterable[tuple[str, bytes, int]]) -> None:
        unwritten = {name: data for name, _, data in self.objects.read(tags)}

        def write_tag(name: str) -> None:
            head, end, message = unwritten.pop(name).partition(b"\n\n")
            headers = parse_headers(head)
            target = _tag_target(head)
            if target in unwritten:
                write_tag(target)
            new_target = (
                self.ids.get(target)
                or self.trees.get(target)
                or self.blobs.get((target, False), target)
            )
            signature = _TAG_SIGNATURE.search(message)
            text = message[: signature.start()] if signature else message
            new_text = self.rules.message(text)
            if new_target == target and new_text == text:
                return
            new_headers = [
                (n, new_target.encode() if n == b"object" else value)
                for n, value in headers
                if n not in _SIGNATURES
            ]
            self.counts["signatures"] += bool(signature) or len(new_headers) < len(headers)
            self.counts["messages"] += new_text != text
            self.counts["tags"] += 1
            self.ids[name] = self.objects.add(
                b"tag", b"\n".join(b"%s %s" % pair for pair in new_headers) + end + new_text
            )

        while unwritten:
            write_tag(next(iter(unwritten)))


def _inner_first(trees: set[str], subtrees: Mapping[str, list[str]]) -> list[str]:
    ordered: dict[str, None] = {}
    waiting = [(name, False) for name in trees]
    while waiting:
        name, entered = waiting.pop()
        if entered:
            ordered[name] = None
        elif name not in ordered:
            waiting.append((name, True))
            waiting += [(child, False) for child in subtrees.get(name, ()) if child in trees]
    return list(ordered)


def parse_headers(head: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of a commit or tag, with their continuation lines (beginning with a space)."""
    parts = re.split(rb"\n(?! )", head)
    return [(name, value) for name, _, value in (part.partition(b" ") for part in parts)]


def _tag_target(tag: bytes) -> str:
    return tag.partition(b"\n")[0].removeprefix(b"object ").decode()


def _rewrite_message(rules: RewriteRules, message: bytes, encoding: bytes | None) -> bytes:
    """Rewrite a commit's message, in its encoding; the rules work on UTF-8."""
    # As UTF-8 first: the named encoding is not always the real one.
    message = rules.message(message)
    if encoding is None:
        return message
    try:
        name = encoding.decode("ascii")
        text = message.decode(name)
        return (
            rules.message(text.encode()).decode().encode(name)
            if text.encode(name) == message
            else message
        )
    except (LookupError, ValueError):
        return message  # an encoding that Python does not have


def _reachable(repository: Repository, roots: Iterable[str]) -> Sequence[str]:
    """Everything that can be reached from roots: commits, the newest first, then the rest."""
    text = "".join(f"{name}\n" for name in dict.fromkeys(roots)).encode()
    command = ("rev-list", "--topo-order", "--objects", "--no-object-names", "--stdin")
    return git(repository.root, *command, text=text).decode().split() if text else ()


def rewrite_history(
    repository: Repository,
    rules: RewriteRules,
    objects: Objects,
    worktrees: Sequence[LinkedWorktree],
) -> RewrittenHistory:
    refs = _refs(repository, worktrees)
    stash = _stash_commits(repository, refs)
    head = repository.head()
    names = _reachable(repository, [*refs.values(), *stash, *([head] if head else [])])
    staged = [
        entry
        for root in (repository.root, *(worktree.root for worktree in worktrees))
        for entry in index_entries(root)
        if entry.mode != _SUBMODULE_MODE
    ]
    described = objects.describe(dict.fromkeys([*names, *(entry.blob for entry in staged)]))

    def of_kind(kind: bytes) -> list[tuple[str, bytes, int]]:
        return [each for each in described if each[1] == kind]

    rewriter = _ObjectRewriter(rules=rules, objects=objects)
    rewriter.note_uses(of_kind(b"tree"))
    for entry in staged:
        if entry.mode in FILE_MODES:
            rewriter.uses[is_markdown(os.fsdecode(entry.path))].add(entry.blob)
    rewriter.uses[False].update(
        refs.values(), (_tag_target(data) for _, _, data in objects.read(of_kind(b"tag")))
    )
    rewriter.make_blobs(of_kind(b"blob"))
    rewriter.make_trees(of_kind(b"tree"))
    rewriter.make_commits(reversed(of_kind(b"commit")))
    rewriter.make_tags(of_kind(b"tag"))
    return RewrittenHistory(
        refs=refs,
        ids=rewriter.ids,
        trees=rewriter.trees,
        blobs=rewriter.blobs,
        stash=tuple(dict.fromkeys(rewriter.ids.get(name, name) for name in stash)),
        **rewriter.counts,
        names=sum(rewriter.names.values()),
        links=rewriter.links,
        binaries=rewriter.binaries,
        submodules=rewriter.submodules,
    )


LONG_SECONDS = 3600.0
_CHUNK_BYTES = 32_000_000
_PACK_TYPES = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}


def git(
    folder: Path, *arguments: str, text: bytes = b"", extra: Mapping[str, str] | None = None
) -> bytes:
    """Run a git command that must succeed, in the root of a work tree (index-pack needs that)."""
    result = run(folder, arguments, text, extra, LONG_SECONDS)
    if result.status:
        raise RepositoryProblem(
            "git-failed",
            f"git {next(a for a in arguments if a[0] != '-' and '=' not in a)} failed",
            "Run it again to complete it. For details: git fsck",
        )
    return result.output


class Objects:
    """Reads objects in bounded bulk, and writes packs (without `keep`, works out ids only)."""

    def __init__(self, folder: Path, keep: bool) -> None:
        self._folder = folder
        self._keep = keep
        self._hash = git(folder, "rev-parse", "--show-object-format").decode().strip()
        self._waiting: dict[str, bytes] = {}
        self._size = 0

    def describe(self, ids: Iterable[str]) -> list[tuple[str, bytes, int]]:
        """Id, kind and size of each object."""
        text = "".join(f"{name}\n" for name in ids).encode()
        return _parse_descriptions(
            git(self._folder, "cat-file", "--batch-check", text=text) if text else b""
        )

    def describe_all(self) -> list[tuple[str, bytes, int]]:
        return _parse_descriptions(
            git(self._folder, "cat-file", "--batch-all-objects", "--batch-check")
        )

    def read(self, objects: Iterable[tuple[str, bytes, int]]) -> Iterator[tuple[str, bytes, bytes]]:
        """Yield id, kind and bytes of each object, in their order."""
        for chunk in _chunks(objects):
            output = git(
                self._folder,
                "cat-file",
                "--batch",
                text="".join(f"{name}\n" for name, _, _ in chunk).encode(),
            )
            offset = 0
            for name, kind, size in chunk:
                offset = output.index(b"\n", offset) + 1
                yield name, kind, output[offset : offset + size]
                offset += size + 1

    def add(self, kind: bytes, data: bytes) -> str:
        name = hashlib.new(self._hash, b"%s %d\0%s" % (kind, len(data), data)).hexdigest()
        if self._keep and name not in self._waiting:
            packed = _pack_head(_PACK_TYPES[kind], len(data)) + zlib.compress(data, 1)
            self._waiting[name] = packed
            self._size += len(packed)
            if self._size > _CHUNK_BYTES:
                self.flush()
        return name

    def flush(self) -> None:
        if self._waiting:
            pack = (
                b"PACK"
                + (2).to_bytes(4, "big")
                + len(self._waiting).to_bytes(4, "big")
                + b"".join(self._waiting.values())
            )
            git(
                self._folder,
                "index-pack",
                "--stdin",
                text=pack + hashlib.new(self._hash, pack).digest(),
            )
        self._waiting, self._size = {}, 0


def _parse_descriptions(output: bytes) -> list[tuple[str, bytes, int]]:
    rows = [line.split(b" ") for line in output.splitlines()]
    if any(len(row) != 3 for row in rows):
        raise RepositoryProblem(
            "broken-repository",
            "the repository lacks objects that its history names",
            "To see which: git fsck",
        )
    return [(row[0].decode(), row[1], int(row[2])) for row in rows]


def _chunks(objects: Iterable[tuple[str, bytes, int]]) -> Iterator[list[tuple[str, bytes, int]]]:
    """The objects in runs of at most `_CHUNK_BYTES` (a larger object comes alone)."""
    chunk: list[tuple[str, bytes, int]] = []
    total = 0
    for name, kind, size in objects:
        if chunk and total + size > _CHUNK_BYTES:
            yield chunk
            chunk, total = [], 0
        chunk.append((name, kind, size))
        total += size
    if chunk:
        yield chunk


def _pack_head(kind: int, size: int) -> bytes:
    """The head of an object in a pack: kind and size, seven bits a byte (gitformat-pack)."""
    head = [(kind << 4) | (size & 15)]
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)
