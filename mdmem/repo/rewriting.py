"""All reachable history rewritten, object by object: only what the rules change gets a new id, the rest stays bit for bit.

Blobs first, then the trees that hold them, then commits and tags, oldest first. New objects are sent to git as packs; refs move in one
transaction, each only from its old value. Before that nothing has changed; after it `clean` can be run as often as needed.
"""

import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mdmem import files
from mdmem.errors import RepositoryProblem
from mdmem.layout import is_markdown
from mdmem.records import dataclass, field
from mdmem.repo.runner import DURABLE, MARKDOWN, TEMPORARIES, run
from mdmem.repo.worktree import Identity, Repository

_CHUNK_BYTES = 32_000_000
_LONG_SECONDS = 3600.0
_PACK_TYPES = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_KEPT_STASH = "refs/mdmem/purge/stash/"
_SIGNATURES = frozenset({b"gpgsig", b"gpgsig-sha256"})
_TAG_SIGNATURE = re.compile(rb"^-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----", re.MULTILINE)
_FILE_MODES = frozenset({b"100644", b"100755", b"100664"})
_LINK_MODE, _TREE_MODES, _SUBMODULE_MODE = b"120000", frozenset({b"40000", b"040000"}), b"160000"
_OWN_REFS = ("refs/bisect", "refs/worktree", "refs/rewritten")
_POINTERS = ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE")
_SCRATCH = ("rr-cache", "lost-found")
_ELSEWHERE = frozenset({"objects", "modules", "mdmem", "worktrees", "lfs", "annex", *_SCRATCH})
_RAW_DATE = re.compile(rb"(\d+ [+-]\d{4})$")


@dataclass(frozen=True, slots=True)
class Rules:
    """What becomes of bytes: `blob` gets a text and whether it is Markdown, `message` a message; `holds` and `binary` only look."""

    blob: Callable[[bytes, bool], bytes]
    message: Callable[[bytes], bytes]
    holds: Callable[[bytes], bool]
    binary: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Place:
    """Another work tree of the repository. `head` is its commit where it is detached, `name` its ref then."""

    root: Path
    name: str
    head: str | None


@dataclass(frozen=True, slots=True)
class Rewrite:
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


def git(folder: Path, *arguments: str, text: bytes = b"", extra: Mapping[str, str] | None = None) -> bytes:
    """The output of a git command that must succeed. `folder` is the root of a work tree: below it index-pack would not find its place."""
    done = run(folder, arguments, text, extra, _LONG_SECONDS)
    if done.status:
        raise RepositoryProblem(
            "git-failed",
            f"git {next(a for a in arguments if a[0] != '-' and '=' not in a)} failed",
            "Run it again, which completes what was begun; git fsck says more.",
        )
    return done.output


# Objects.


class Objects:
    """Objects read in bulk, a bounded amount at a time, and written as packs (or, without `keep`, only named)."""

    def __init__(self, folder: Path, keep: bool) -> None:
        self._folder = folder
        self._keep = keep
        self._hash = git(folder, "rev-parse", "--show-object-format").decode().strip()
        self._waiting: dict[str, bytes] = {}
        self._size = 0

    def described(self, ids: Iterable[str]) -> list[tuple[str, bytes, int]]:
        """Id, kind and size of objects."""
        asked = "".join(f"{name}\n" for name in ids).encode()
        lines = git(self._folder, "cat-file", "--batch-check", text=asked).splitlines() if asked else []
        found = [line.split(b" ") for line in lines]
        if any(len(words) != 3 for words in found):
            raise RepositoryProblem("broken-repository", "the repository lacks objects that its history names", "git fsck says which.")
        return [(words[0].decode(), words[1], int(words[2])) for words in found]

    def read(self, objects: Iterable[tuple[str, bytes, int]]) -> Iterator[tuple[str, bytes, bytes]]:
        """Id, kind and bytes of objects, in their order."""
        for chunk in _chunks(objects):
            output = git(self._folder, "cat-file", "--batch", text="".join(f"{name}\n" for name, _, _ in chunk).encode())
            at = 0
            for name, kind, size in chunk:
                at = output.index(b"\n", at) + 1
                yield name, kind, output[at : at + size]
                at += size + 1

    def add(self, kind: bytes, data: bytes) -> str:
        """The id of a new object."""
        name = hashlib.new(self._hash, b"%s %d\0%s" % (kind, len(data), data)).hexdigest()
        if self._keep and name not in self._waiting:
            packed = _pack_head(_PACK_TYPES[kind], len(data)) + zlib.compress(data, 1)
            self._waiting[name] = packed
            self._size += len(packed)
            if self._size > _CHUNK_BYTES:
                self.flush()
        return name

    def flush(self) -> None:
        """Give git what was added."""
        if self._waiting:
            pack = b"PACK" + (2).to_bytes(4, "big") + len(self._waiting).to_bytes(4, "big") + b"".join(self._waiting.values())
            git(self._folder, *DURABLE, "index-pack", "--stdin", text=pack + hashlib.new(self._hash, pack).digest())
        self._waiting, self._size = {}, 0


def _chunks(objects: Iterable[tuple[str, bytes, int]]) -> Iterator[list[tuple[str, bytes, int]]]:
    chunk: list[tuple[str, bytes, int]] = []
    size = 0
    for found in objects:
        if chunk and size + found[2] > _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(found)
        size += found[2]
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


# What there is.


def places(repository: Repository) -> list[Place]:
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
        found.append(Place(root, name, said["HEAD"] if "detached" in said else None))
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


def _refs(repository: Repository, others: Sequence[Place]) -> dict[str, str]:
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
    kept = [refs[name] for name in sorted((n for n in refs if n.startswith(_KEPT_STASH)), key=lambda n: int(n.rsplit("/", 1)[1]))]
    if "refs/stash" not in refs:
        return kept
    logged = git(repository.root, "rev-list", "-g", "refs/stash").decode().split()
    return list(dict.fromkeys([*kept, *reversed(logged), refs["refs/stash"]]))


@dataclass(frozen=True, slots=True)
class Staged:
    """An entry of git's index: `flag` is what `git ls-files -v` says of it."""

    flag: bytes
    mode: bytes
    blob: str
    stage: bytes
    path: bytes


def staged(root: Path) -> list[Staged]:
    """What git's index holds."""
    found = []
    for line in git(root, "ls-files", "-v", "-s", "-z").split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            flag, mode, blob, stage = head.split(b" ")
            found.append(Staged(flag, mode, blob.decode(), stage, path))
    return found


def paths_in(root: Path) -> list[str]:
    """The files of a work tree, from its root: what git knows, what it does not ignore, all Markdown, what killed writes left."""
    listed = git(root, "ls-files", "-z", "-c", "-o", "--exclude-standard") + git(root, "ls-files", "-z", "-o", "--", MARKDOWN, TEMPORARIES)
    return sorted({os.fsdecode(path) for path in listed.split(b"\0") if path})


# The rewriting itself.


@dataclass(slots=True)
class _Maker:
    """The new ids as they come about, and what was met on the way."""

    rules: Rules
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
            if mode in _FILE_MODES:
                self.uses[is_markdown(os.fsdecode(path))].add(target)
            elif mode == _SUBMODULE_MODE:
                self.submodules = True
            if path not in self.names:
                self.names[path] = self.rules.holds(path)

    def _rows(self, trees: Iterable[tuple[str, bytes, int]]) -> Iterator[tuple[str, bytes, bytes, str]]:
        """Each entry of trees: the tree's id, mode, name, id."""
        for name, _, data in self.objects.read(trees):
            for mode, path, target in _entries(data, len(name) // 2):
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
                for mode, path, target in _entries(data, len(name) // 2)
            ]
            self.trees[name] = self.objects.add(b"tree", b"".join(parts))

    def _blob(self, mode: bytes, path: bytes, target: str) -> str:
        if mode not in _FILE_MODES or ((target, True) not in self.blobs and (target, False) not in self.blobs):
            return target
        return self.blobs.get((target, is_markdown(os.fsdecode(path))), target)

    def make_commits(self, found: Iterable[tuple[str, bytes, int]]) -> None:
        for name, _, data in self.objects.read(found):
            head, end, message = data.partition(b"\n\n")
            headers = _headers(head)
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
            headers = _headers(head)
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


def _entries(tree: bytes, width: int) -> Iterator[tuple[bytes, bytes, str]]:
    """Mode, name and id of what a tree holds; ids have `width` bytes."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, path = tree[at:end].partition(b" ")
        at = end + 1 + width
        yield mode, path, tree[end + 1 : at].hex()


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


def _headers(head: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of a commit or tag; the lines of one that goes on (they begin with a space) stay joined."""
    parts = re.split(rb"\n(?! )", head)
    return [(name, value) for name, _, value in (part.partition(b" ") for part in parts)]


def _tagged(tag: bytes) -> str:
    """What a tag points to."""
    return next(value for name, value in _headers(tag.partition(b"\n\n")[0]) if name == b"object").decode()


def _message(rules: Rules, message: bytes, encoding: bytes) -> bytes:
    """A commit's message by the rules, which know UTF-8, in the encoding that the commit names."""
    message = rules.message(message)  # as UTF-8 first: what a commit names is not always what it holds
    try:
        name = encoding.decode("ascii") or "utf-8"
        text = message.decode(name)
        return rules.message(text.encode()).decode().encode(name) if text.encode(name) == message else message
    except (LookupError, ValueError):
        return message  # an encoding that only git's libraries know: the bytes are all there is to go by


def rewritten(repository: Repository, rules: Rules, objects: Objects, others: Sequence[Place]) -> Rewrite:
    """What the rules make of everything that can be reached; no ref is moved."""
    refs = _refs(repository, others)
    stash = _stashed(repository, refs)
    head = repository.head()
    roots = "".join(f"{name}\n" for name in dict.fromkeys([*refs.values(), *stash, *([head] if head else [])])).encode()
    names = git(repository.root, "rev-list", "--topo-order", "--objects", "--no-object-names", "--stdin", text=roots) if roots else b""
    of_indexes = [e for root in (repository.root, *(o.root for o in others)) for e in staged(root) if e.mode != _SUBMODULE_MODE]
    found = objects.described(dict.fromkeys([*names.decode().split(), *(e.blob for e in of_indexes)]))

    def of(kind: bytes) -> list[tuple[str, bytes, int]]:
        return [each for each in found if each[1] == kind]

    maker = _Maker(rules, objects)
    maker.note_uses(of(b"tree"))
    for entry in of_indexes:
        if entry.mode in _FILE_MODES:
            maker.uses[is_markdown(os.fsdecode(entry.path))].add(entry.blob)
    maker.uses[False].update(refs.values(), (_tagged(data) for _, _, data in objects.read(of(b"tag"))))
    maker.make_blobs(of(b"blob"))
    maker.make_trees(of(b"tree"))
    maker.make_commits(reversed(of(b"commit")))
    maker.make_tags(of(b"tag"))
    return Rewrite(
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


# Commits of mdmem's own.


def _people(repository: Repository, date: str, identity: Identity | None) -> bytes:
    """The author and committer headers of a new commit; `date` is git's raw form."""
    lines = []
    for role in ("AUTHOR", "COMMITTER"):
        extra = {f"GIT_{role}_DATE": date}
        if identity:
            extra |= identity.variables(role)
        lines.append(b"%s %s" % (role.lower().encode(), git(repository.root, "var", f"GIT_{role}_IDENT", extra=extra).rstrip(b"\n")))
    return b"\n".join(lines)


def add_note(
    repository: Repository, rewrite: Rewrite, objects: Objects, message: str, date: str, identity: Identity | None
) -> dict[str, str]:
    """The refs to move, with an empty commit on top of HEAD that carries `message`; on an unborn branch there is none."""
    moved = rewrite.moved
    people = _people(repository, date, identity)
    for ref, old in rewrite.refs.items():
        if ref.startswith("refs/notes/") and (tree := _renamed_notes(repository, rewrite, objects, old)):
            parent = rewrite.renamed(old)
            moved[ref] = objects.add(
                b"commit", b"tree %s\nparent %s\n%s\n\nNotes follow their commits\n" % (tree.encode(), parent.encode(), people)
            )
    head = repository.head()
    if head:
        tree = git(repository.root, "rev-parse", f"{head}^{{tree}}").decode().strip()
        lines = (rewrite.trees.get(tree, tree).encode(), rewrite.renamed(head).encode(), people, message.encode())
        target = "HEAD" if repository.branch() is None else git(repository.root, "symbolic-ref", "HEAD").decode().strip()
        moved[target] = objects.add(b"commit", b"tree %s\nparent %s\n%s\n\n%s" % lines)
    return moved


def _renamed_notes(repository: Repository, rewrite: Rewrite, objects: Objects, tip: str) -> str | None:
    """The tree of notes with those of rewritten commits under their new ids; None where there are none."""
    found: dict[bytes, tuple[bytes, str]] = {}
    renamed = False
    for line in git(repository.root, "ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, _, target = head.split(b" ")
            new = rewrite.ids.get(path.replace(b"/", b"").decode("utf-8", "replace"))
            renamed |= new is not None
            found[new.encode() if new else path] = (mode, rewrite.blobs.get((target.decode(), False), target.decode()))
    return _tree(objects, found) if renamed else None


def _tree(objects: Objects, entries: Mapping[bytes, tuple[bytes, str]]) -> str:
    """The tree that holds these paths."""
    rows: dict[bytes, tuple[bytes, str]] = {}
    folders: dict[bytes, dict[bytes, tuple[bytes, str]]] = {}
    for path, entry in entries.items():
        folder, slash, rest = path.partition(b"/")
        if slash:
            folders.setdefault(folder, {})[rest] = entry
        else:
            rows[path] = entry
    rows |= {folder: (b"40000", _tree(objects, inside)) for folder, inside in folders.items()}
    ordered = sorted(rows.items(), key=lambda row: row[0] + b"/" if row[1][0] == b"40000" else row[0])
    return objects.add(b"tree", b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(target)) for name, (mode, target) in ordered))


# Making it so.


def move(repository: Repository, rewrite: Rewrite, moved: Mapping[str, str]) -> None:
    """Move the refs, all or none, each only from the value that was rewritten; refs of mdmem's own keep the stash until `clean`.

    Raises:
        RepositoryProblem: `repository-busy`: one has moved meanwhile; nothing is changed.
    """
    _deepen_shallow(repository, rewrite)
    kept = {f"{_KEPT_STASH}{number}": value for number, value in enumerate(rewrite.stash)}
    asked = ["start"]
    for name, new in ({**moved, **kept}).items():
        asked += ["option no-deref", f"update {name}", new, rewrite.refs.get(name, "0" * len(new))]
    text = "\0".join([*asked, "prepare", "commit", ""]).encode("utf-8", "surrogateescape")
    done = run(repository.root, [*DURABLE, "update-ref", "-m", "mdmem: purge", "-z", "--stdin"], text, seconds=_LONG_SECONDS)
    if done.status:
        raise RepositoryProblem(
            "repository-busy", "a branch or tag moved, or is locked, or a hook refused to move it; nothing was changed", "Try again."
        )


def _deepen_shallow(repository: Repository, rewrite: Rewrite) -> None:
    """In a shallow clone: have git expect that the new ids of its oldest commits lack their parents too."""
    place = repository.common_dir / "shallow"
    before = files.read(place)
    if before is None:
        return
    old = before.decode().split()
    new = dict.fromkeys([*old, *(rewrite.ids.get(name, name) for name in old)])
    if len(new) > len(old) and not files.replace(place, "".join(f"{name}\n" for name in new).encode(), before, files.temporary_name()):
        raise RepositoryProblem("repository-busy", "git is fetching; nothing was changed", "Try again.")


def restage(repository: Repository, rewrite: Rewrite) -> int:
    """Bring the entries of git's index to the new blobs, flags kept; how many."""
    entries = staged(repository.root)
    found = [(e, rewrite.blobs.get((e.blob, is_markdown(os.fsdecode(e.path))))) for e in entries if e.mode in _FILE_MODES]
    due = [(entry, new) for entry, new in found if new]
    locks = {"GIT_OPTIONAL_LOCKS": "1"}
    if due:
        text = b"".join(b"%s %s %s\t%s\0" % (e.mode, new.encode(), e.stage, e.path) for e, new in due)
        git(repository.root, "update-index", "-z", "--index-info", text=text, extra=locks)
    for flag, option in ((b"S", "--skip-worktree"), (b"s", "--skip-worktree"), (b"h", "--assume-unchanged"), (b"s", "--assume-unchanged")):
        if flagged := b"".join(e.path + b"\0" for e, _ in due if e.flag == flag):
            git(repository.root, "update-index", option, "-z", "--stdin", text=flagged, extra=locks)
    if git(repository.root, "ls-files", "--resolve-undo", "-z"):
        git(repository.root, "update-index", "--clear-resolve-undo", extra=locks)
    return len(due)


def refresh(repository: Repository) -> None:
    """Have git's index look at the files again. It fails where one differs, which is no failure here."""
    run(repository.root, ["update-index", "-q", "--refresh"], extra={"GIT_OPTIONAL_LOCKS": "1"})


def clean(repository: Repository, rules: Rules, before: int) -> None:
    """Take away what still leads to the old objects, and those. Doing it again does no harm.

    Args:
        repository: the repository.
        rules: what is to go.
        before: in seconds since 1970: younger objects stay, as another git may be about to commit them.
    """
    folder = repository.root
    kept = _kept_stash(repository)
    git(folder, "reflog", "expire", "--expire=all", "--expire-unreachable=all", "--all")
    if kept:
        _restore_stash(repository, kept)
    for place in git_folders(repository):
        for name in _POINTERS:
            (place / name).unlink(missing_ok=True)
        for file in place.glob("*_EDITMSG"):
            file.unlink()
        for file in place.glob("*_MSG"):
            _rewrite_file(file, rules)
    for name in _SCRATCH:
        for file in (repository.common_dir / name).rglob("*"):
            if file.is_file() and rules.blob(data := file.read_bytes(), True) != data:
                file.unlink()
    info = repository.common_dir / "objects" / "info"
    (info / "commit-graph").unlink(missing_ok=True)
    if (info / "commit-graphs").exists():
        shutil.rmtree(info / "commit-graphs")
    git(folder, *DURABLE, "repack", "-A", "-d", "-l", "-q", f"--unpack-unreachable=@{before} +0000")
    git(folder, "prune", f"--expire=@{before} +0000")


def _kept_stash(repository: Repository) -> dict[str, str]:
    """The refs that keep the stash over the end of its reflog, oldest entry first."""
    listed = git(repository.root, "for-each-ref", "--format=%(refname) %(objectname)", _KEPT_STASH).decode().splitlines()
    rows = [line.split(" ") for line in listed]
    return {row[0]: row[1] for row in sorted(rows, key=lambda row: int(row[0].rsplit("/", 1)[1]))}


def _restore_stash(repository: Repository, kept: Mapping[str, str]) -> None:
    git(repository.root, "update-ref", "-d", "refs/stash")
    for value in kept.values():
        head, _, message = git(repository.root, "cat-file", "commit", value).partition(b"\n\n")
        dated = _RAW_DATE.search(next(v for n, v in _headers(head) if n == b"committer"))
        extra = {"GIT_COMMITTER_DATE": f"@{dated[1].decode()}"} if dated else {}
        subject = message.decode("utf-8", "replace").partition("\n")[0]
        git(repository.root, *DURABLE, "stash", "store", "-q", "-m", subject, value, extra=extra)
    gone = "".join(f"delete {name} {value}\n" for name, value in kept.items())
    git(repository.root, "update-ref", "--stdin", text=gone.encode())


def git_folders(repository: Repository) -> list[Path]:
    """The git folder that all work trees share, and that of each linked one."""
    linked = repository.common_dir / "worktrees"
    return [repository.common_dir, *(sorted(linked.iterdir()) if linked.is_dir() else ())]


def _rewrite_file(place: Path, rules: Rules) -> None:
    if place.is_file() and not place.is_symlink():
        before = place.read_bytes()
        after = rules.message(before)
        if after != before:
            files.replace(place, after, before, files.temporary_name())


# What is left.


def holding(repository: Repository, rules: Rules) -> set[str]:
    """The objects of the repository, reachable or not, that hold it."""
    objects = Objects(repository.root, keep=False)
    listed = git(repository.root, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    rows = [(words[0].decode(), words[1], int(words[2])) for words in (line.split(b" ") for line in listed)]
    return {name for name, _, data in objects.read(rows) if rules.holds(data) or rules.binary(data)}


def reached(repository: Repository) -> set[str]:
    """The objects to which a ref of any kind or git's index leads."""
    return set(git(repository.root, "rev-list", "--objects", "--no-object-names", "--all", "--indexed-objects").decode().split())


def is_named(repository: Repository, word: str) -> bool:
    """Whether the message of a commit says a word. It is no secret: git gets it as an argument, which every user can see."""
    return bool(git(repository.root, "rev-list", "--all", "-n1", "--fixed-strings", f"--grep={word}"))


def left_in_folder(repository: Repository, rules: Rules) -> int:
    """How many files of git's own folder, objects and messages aside, hold it: settings, hooks, names of refs."""
    found = 0
    for top in git_folders(repository):
        for folder, names, inside in os.walk(top):
            if Path(folder) == top:
                names[:] = [name for name in names if name not in _ELSEWHERE]
            for name in inside:
                place = Path(folder, name)
                held = place.is_file() and not place.is_symlink() and rules.holds(place.read_bytes())
                found += held or rules.holds(os.fsencode(place.relative_to(top)))
    return found
