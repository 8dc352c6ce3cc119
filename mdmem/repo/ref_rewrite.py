"""A rewrite made so: a note committed, refs moved, git's index brought along, what led to the old objects taken away; and what is still left.

Refs move in one transaction, each only from its old value. Before that nothing has changed; after it `clean` can be run as often as
needed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from mdmem import files
from mdmem.errors import RepositoryProblem
from mdmem.layout import is_markdown
from mdmem.repo.history_rewrite import FILE_MODES, KEPT_STASH, RewriteRules, RewrittenHistory, index_entries, parse_headers
from mdmem.repo.objects import LONG_SECONDS, Objects, git
from mdmem.repo.runner import run
from mdmem.repo.worktree import Identity, Repository

_POINTERS = ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE")
_SCRATCH = ("rr-cache", "lost-found")
_ELSEWHERE = frozenset({"objects", "modules", "mdmem", "worktrees", "lfs", "annex", *_SCRATCH})
_RAW_DATE = re.compile(rb"(\d+ [+-]\d{4})$")


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


def add_purge_note(
    repository: Repository, rewrite: RewrittenHistory, objects: Objects, message: str, date: str, identity: Identity | None
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


def _renamed_notes(repository: Repository, rewrite: RewrittenHistory, objects: Objects, tip: str) -> str | None:
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


# Refs, index, what is left behind.


def move_refs(repository: Repository, rewrite: RewrittenHistory, moved: Mapping[str, str]) -> None:
    """Move the refs, all or none, each only from the value that was rewritten; refs of mdmem's own keep the stash until `clean`.

    Raises:
        RepositoryProblem: `repository-busy`: one has moved meanwhile; nothing is changed.
    """
    _deepen_shallow(repository, rewrite)
    kept = {f"{KEPT_STASH}{number}": value for number, value in enumerate(rewrite.stash)}
    asked = ["start"]
    for name, new in ({**moved, **kept}).items():
        asked += ["option no-deref", f"update {name}", new, rewrite.refs.get(name, "0" * len(new))]
    text = "\0".join([*asked, "prepare", "commit", ""]).encode("utf-8", "surrogateescape")
    done = run(repository.root, ["update-ref", "-m", "mdmem: purge", "-z", "--stdin"], text, seconds=LONG_SECONDS)
    if done.status:
        raise RepositoryProblem(
            "repository-busy", "a branch or tag moved, or is locked, or a hook refused to move it; nothing was changed", "Try again."
        )


def _deepen_shallow(repository: Repository, rewrite: RewrittenHistory) -> None:
    """In a shallow clone: have git expect that the new ids of its oldest commits lack their parents too."""
    place = repository.common_dir / "shallow"
    before = files.read(place)
    if before is None:
        return
    old = before.decode().split()
    new = dict.fromkeys([*old, *(rewrite.ids.get(name, name) for name in old)])
    if len(new) > len(old) and not files.replace(place, "".join(f"{name}\n" for name in new).encode(), before, files.temporary_name()):
        raise RepositoryProblem("repository-busy", "git is fetching; nothing was changed", "Try again.")


def update_index_entries(repository: Repository, rewrite: RewrittenHistory) -> int:
    """Bring the entries of git's index to the new blobs, flags kept; how many."""
    entries = index_entries(repository.root)
    found = [(e, rewrite.blobs.get((e.blob, is_markdown(os.fsdecode(e.path))))) for e in entries if e.mode in FILE_MODES]
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


def refresh_index(repository: Repository) -> None:
    """Have git's index look at the files again. It fails where one differs, which is no failure here."""
    run(repository.root, ["update-index", "-q", "--refresh"], extra={"GIT_OPTIONAL_LOCKS": "1"})


def drop_old_objects(repository: Repository, rules: RewriteRules, before: int) -> None:
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
    git(folder, "repack", "-A", "-d", "-l", "-q", f"--unpack-unreachable=@{before} +0000")
    git(folder, "prune", f"--expire=@{before} +0000")


def _kept_stash(repository: Repository) -> dict[str, str]:
    """The refs that keep the stash over the end of its reflog, oldest entry first."""
    listed = git(repository.root, "for-each-ref", "--format=%(refname) %(objectname)", KEPT_STASH).decode().splitlines()
    rows = [line.split(" ") for line in listed]
    return {row[0]: row[1] for row in sorted(rows, key=lambda row: int(row[0].rsplit("/", 1)[1]))}


def _restore_stash(repository: Repository, kept: Mapping[str, str]) -> None:
    git(repository.root, "update-ref", "-d", "refs/stash")
    for value in kept.values():
        head, _, message = git(repository.root, "cat-file", "commit", value).partition(b"\n\n")
        dated = _RAW_DATE.search(next(v for n, v in parse_headers(head) if n == b"committer"))
        extra = {"GIT_COMMITTER_DATE": f"@{dated[1].decode()}"} if dated else {}
        subject = message.decode("utf-8", "replace").partition("\n")[0]
        git(repository.root, "stash", "store", "-q", "-m", subject, value, extra=extra)
    gone = "".join(f"delete {name} {value}\n" for name, value in kept.items())
    git(repository.root, "update-ref", "--stdin", text=gone.encode())


def git_folders(repository: Repository) -> list[Path]:
    """The git folder that all work trees share, and that of each linked one."""
    linked = repository.common_dir / "worktrees"
    return [repository.common_dir, *(sorted(linked.iterdir()) if linked.is_dir() else ())]


def _rewrite_file(place: Path, rules: RewriteRules) -> None:
    if place.is_file() and not place.is_symlink():
        before = place.read_bytes()
        after = rules.message(before)
        if after != before:
            files.replace(place, after, before, files.temporary_name())


# What is left.


def objects_holding(repository: Repository, rules: RewriteRules) -> set[str]:
    """The objects of the repository, reachable or not, that hold it."""
    objects = Objects(repository.root, keep=False)
    listed = git(repository.root, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    rows = [(words[0].decode(), words[1], int(words[2])) for words in (line.split(b" ") for line in listed)]
    return {name for name, _, data in objects.read(rows) if rules.holds(data) or rules.binary(data)}


def reachable_objects(repository: Repository) -> set[str]:
    """The objects to which a ref of any kind or git's index leads."""
    return set(git(repository.root, "rev-list", "--objects", "--no-object-names", "--all", "--indexed-objects").decode().split())


def is_in_a_message(repository: Repository, word: str) -> bool:
    """Whether the message of a commit says a word. It is no secret: git gets it as an argument, which every user can see."""
    return bool(git(repository.root, "rev-list", "--all", "-n1", "--fixed-strings", f"--grep={word}"))


def git_files_holding(repository: Repository, rules: RewriteRules) -> int:
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
