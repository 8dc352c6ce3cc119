"""Put rewritten history in place: note, refs, index, removal of old objects, final check.

Refs move in one transaction, each only from its old value. Before that nothing has changed; after
it `drop_old_objects` can be run as often as needed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mdmem.folder import files
from mdmem.folder.layout import is_markdown
from mdmem.model.errors import RepositoryProblem
from mdmem.purge.history_rewrite import (
    FILE_MODES,
    KEPT_STASH,
    LONG_SECONDS,
    Objects,
    RewriteRules,
    RewrittenHistory,
    git,
    index_entries,
    parse_headers,
)
from mdmem.repo import branch_commits
from mdmem.repo.runner import run
from mdmem.repo.worktree import Identity, Repository
from mdmem.startup import late

_POINTERS = ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE")
_SCRATCH = ("rr-cache", "lost-found")
_ELSEWHERE = frozenset({"objects", "modules", "mdmem", "worktrees", "lfs", "annex", *_SCRATCH})
_RAW_DATE = late.pattern(rb"(\d+ [+-]\d{4})$")


# New commits.


def add_purge_note(
    repository: Repository,
    rewrite: RewrittenHistory,
    objects: Objects,
    message: str,
    date: str,
    identity: Identity | None,
) -> dict[str, str]:
    """Commit `message` on top of HEAD (not on an unborn branch); the refs to move."""
    moved = rewrite.moved
    identity_headers = b"author %s\ncommitter %s" % branch_commits.identity_lines(
        repository, date, identity
    )
    for ref, old in rewrite.refs.items():
        if ref.startswith("refs/notes/") and (
            tree := _renamed_notes(repository, rewrite, objects, old)
        ):
            parent = rewrite.renamed(old)
            moved[ref] = objects.add(
                b"commit",
                b"tree %s\nparent %s\n%s\n\nNotes follow their commits\n"
                % (tree.encode(), parent.encode(), identity_headers),
            )
    head = repository.head()
    if head:
        tree = git(repository.root, "rev-parse", f"{head}^{{tree}}").decode().strip()
        lines = (
            rewrite.trees.get(tree, tree).encode(),
            rewrite.renamed(head).encode(),
            identity_headers,
            message.encode(),
        )
        target = (
            "HEAD"
            if repository.branch() is None
            else git(repository.root, "symbolic-ref", "HEAD").decode().strip()
        )
        moved[target] = objects.add(b"commit", b"tree %s\nparent %s\n%s\n\n%s" % lines)
    return moved


def _renamed_notes(
    repository: Repository, rewrite: RewrittenHistory, objects: Objects, tip: str
) -> str | None:
    notes: dict[bytes, tuple[bytes, str]] = {}
    has_renamed = False
    for line in git(repository.root, "ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, _, target = head.split(b" ")
            new = rewrite.ids.get(os.fsdecode(path.replace(b"/", b"")))
            has_renamed |= new is not None
            notes[new.encode() if new else path] = (
                mode,
                rewrite.blobs.get((target.decode(), False), target.decode()),
            )
    return _tree(objects, notes) if has_renamed else None


def _tree(objects: Objects, entries: Mapping[bytes, tuple[bytes, str]]) -> str:
    rows: dict[bytes, tuple[bytes, str]] = {}
    folders: dict[bytes, dict[bytes, tuple[bytes, str]]] = {}
    for path, entry in entries.items():
        folder, slash, rest = path.partition(b"/")
        if slash:
            folders.setdefault(folder, {})[rest] = entry
        else:
            rows[path] = entry
    rows |= {folder: (b"40000", _tree(objects, inside)) for folder, inside in folders.items()}
    ordered = sorted(
        rows.items(), key=lambda row: row[0] + b"/" if row[1][0] == b"40000" else row[0]
    )
    return objects.add(
        b"tree",
        b"".join(
            b"%s %s\0%s" % (mode, name, bytes.fromhex(target)) for name, (mode, target) in ordered
        ),
    )


# Refs, index, old objects.


def move_refs(repository: Repository, rewrite: RewrittenHistory, moved: Mapping[str, str]) -> None:
    """Move all refs or none, each from its rewritten value; the stash is kept by other refs.

    Raises RepositoryProblem (`repository-busy`: a ref has moved meanwhile; nothing is changed).
    """
    _deepen_shallow(repository, rewrite)
    kept = {f"{KEPT_STASH}{number}": value for number, value in enumerate(rewrite.stash)}
    commands = ["start"]
    for name, new in ({**moved, **kept}).items():
        commands += [
            "option no-deref",
            f"update {name}",
            new,
            rewrite.refs.get(name, "0" * len(new)),
        ]
    text = "\0".join([*commands, "prepare", "commit", ""]).encode("utf-8", "surrogateescape")
    result = run(
        repository.root,
        ["update-ref", "-m", "mdmem: purge", "-z", "--stdin"],
        text,
        seconds=LONG_SECONDS,
    )
    if result.status:
        raise RepositoryProblem(
            "repository-busy",
            "a branch or tag moved, or is locked, or a hook refused to move it; nothing was"
            " changed",
            "Try again.",
        )


def _deepen_shallow(repository: Repository, rewrite: RewrittenHistory) -> None:
    path = repository.common_dir / "shallow"
    before = files.read(path)
    if before is None:
        return
    old = before.decode().split()
    new = dict.fromkeys([*old, *(rewrite.ids.get(name, name) for name in old)])
    if len(new) > len(old) and not files.replace(
        path, "".join(f"{name}\n" for name in new).encode(), before, files.temporary_name()
    ):
        raise RepositoryProblem(
            "repository-busy", "git is fetching; nothing was changed", "Try again."
        )


def update_index_entries(repository: Repository, rewrite: RewrittenHistory) -> None:
    entries = index_entries(repository.root)
    pairs = [
        (e, rewrite.blobs.get((e.blob, is_markdown(os.fsdecode(e.path)))))
        for e in entries
        if e.mode in FILE_MODES
    ]
    due = [(entry, new) for entry, new in pairs if new]
    if due:
        text = b"".join(
            b"%s %s %s\t%s\0" % (e.mode, new.encode(), e.stage, e.path) for e, new in due
        )
        git(repository.root, "update-index", "-z", "--index-info", text=text)
    for flag, option in (
        (b"S", "--skip-worktree"),
        (b"s", "--skip-worktree"),
        (b"h", "--assume-unchanged"),
        (b"s", "--assume-unchanged"),
    ):
        if flagged := b"".join(e.path + b"\0" for e, _ in due if e.flag == flag):
            git(repository.root, "update-index", option, "-z", "--stdin", text=flagged)
    if git(repository.root, "ls-files", "--resolve-undo", "-z"):
        git(repository.root, "update-index", "--clear-resolve-undo")


def refresh_index(repository: Repository) -> None:
    """Compare index and files again; git fails where they differ, which does not matter."""
    run(repository.root, ["update-index", "-q", "--refresh"])


def drop_old_objects(repository: Repository, rules: RewriteRules, before: int) -> None:
    """Remove all old objects; younger ones than `before` stay, as another git may commit them."""
    folder = repository.root
    kept = _kept_stash(repository)
    git(folder, "reflog", "expire", "--expire=all", "--expire-unreachable=all", "--all")
    if kept:
        _restore_stash(repository, kept)
    for file in drop_leftovers(repository):
        _rewrite_file(file, rules)
    for name in _SCRATCH:
        for file in (repository.common_dir / name).rglob("*"):
            if file.is_file() and rules.holds(file.read_bytes()):
                file.unlink()
    info = repository.common_dir / "objects" / "info"
    (info / "commit-graph").unlink(missing_ok=True)
    if (info / "commit-graphs").exists():
        files.remove_tree(info / "commit-graphs")
    git(folder, "repack", "-A", "-d", "-l", "-q", f"--unpack-unreachable=@{before} +0000")
    git(folder, "prune", f"--expire=@{before} +0000")


def drop_leftovers(repository: Repository) -> list[Path]:
    """Remove git's pointers to earlier commits and messages of earlier ones, in all work trees.

    Returns: the messages of commits to come, which stay.
    """
    waiting: list[Path] = []
    for git_dir in git_folders(repository):
        for file in (*(git_dir / name for name in _POINTERS), *git_dir.glob("*_EDITMSG")):
            file.unlink(missing_ok=True)
        waiting += git_dir.glob("*_MSG")
    return waiting


def _kept_stash(repository: Repository) -> dict[str, str]:
    listed = (
        git(repository.root, "for-each-ref", "--format=%(refname) %(objectname)", KEPT_STASH)
        .decode()
        .splitlines()
    )
    rows = [line.split(" ") for line in listed]
    return {row[0]: row[1] for row in sorted(rows, key=lambda row: int(row[0].rsplit("/", 1)[1]))}


def _restore_stash(repository: Repository, kept: Mapping[str, str]) -> None:
    git(repository.root, "update-ref", "-d", "refs/stash")
    for value in kept.values():
        head, _, message = git(repository.root, "cat-file", "commit", value).partition(b"\n\n")
        date = _RAW_DATE.search(next(v for n, v in parse_headers(head) if n == b"committer"))
        extra = {"GIT_COMMITTER_DATE": f"@{date[1].decode()}"} if date else {}
        git(repository.root, "stash", "store", "-q", "-m", os.fsdecode(message), value, extra=extra)
    commands = "".join(f"delete {name} {value}\n" for name, value in kept.items())
    git(repository.root, "update-ref", "--stdin", text=commands.encode())


def git_folders(repository: Repository) -> list[Path]:
    linked = repository.common_dir / "worktrees"
    return [repository.common_dir, *(sorted(linked.iterdir()) if linked.is_dir() else ())]


def _rewrite_file(path: Path, rules: RewriteRules) -> None:
    if path.is_file() and not path.is_symlink():
        before = path.read_bytes()
        after = rules.message(before)
        if after != before:
            files.replace(path, after, before, files.temporary_name())


# Objects and files that still hold the words.


def objects_holding(repository: Repository, rules: RewriteRules) -> set[str]:
    """The objects of the repository, reachable or not, that hold the words of the rules."""
    objects = Objects(repository.root, keep=False)
    return {
        name
        for name, _, data in objects.read(objects.describe_all())
        if rules.holds(data) or rules.binary(data)
    }


def reachable_objects(repository: Repository) -> set[str]:
    return set(
        git(
            repository.root,
            "rev-list",
            "--objects",
            "--no-object-names",
            "--all",
            "--indexed-objects",
        )
        .decode()
        .split()
    )


def is_in_a_message(repository: Repository, word: str) -> bool:
    """True if a commit message contains a word; not for secrets: users can see git's arguments."""
    return bool(
        git(repository.root, "rev-list", "--all", "-n1", "--fixed-strings", f"--grep={word}")
    )


def git_files_holding(repository: Repository, rules: RewriteRules) -> int:
    """The number of git's files, other than objects, with words of the rules (settings, refs)."""
    count = 0
    for top in git_folders(repository):
        for folder, names, file_names in os.walk(top):
            if Path(folder) == top:
                names[:] = [name for name in names if name not in _ELSEWHERE]
            for name in file_names:
                path = Path(folder, name)
                in_content = (
                    path.is_file() and not path.is_symlink() and rules.holds(path.read_bytes())
                )
                count += in_content or rules.holds(os.fsencode(path.relative_to(top)))
    return count
