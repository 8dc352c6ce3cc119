"""Compare trees by git, but not those with far more paths than entries that are stored.

A few hundred bytes of trees that contain one tree many times have a thousand million paths, and
git visits each. Whoever may push can make them, so git gets little time at first; the trees are
counted, each read once, only where it takes longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress

from mdmem.folder import budget
from mdmem.model import CommitId
from mdmem.model.errors import RepositoryProblem
from mdmem.repo.worktree import Repository

QUICK_SECONDS = 2.0
"""Some hundred commits take a few hundredths; git's memory grows by 300 MB a second meanwhile."""
_LONGEST_SECONDS = 600.0
_FEWEST_PATHS, _PATHS_EACH_ENTRY = 10_000, 20
_MOST_LEVELS = 1_000
_TREE_MODES = (b"40000", b"040000")
_Pair = tuple[str, str]
_Entries = Mapping[bytes, tuple[bool, str]]


def diff_trees(
    repository: Repository, pairs: Sequence[_Pair], *options: str, are_commits: bool = True
) -> tuple[bytes, list[bool]]:
    """Run `git diff-tree --stdin` on what is before and after: commits, or trees.

    An empty name before a commit means its parent. The count is of the folder of `repository`.

    Returns:
        The output for those compared; and of each pair whether it was compared.
    """
    form = "{1} {0}\n" if are_commits else "{0} {1}\n"

    def diff(compared: Iterable[_Pair], seconds: float) -> bytes:
        rows = "".join(form.format(*pair) for pair in compared)
        command = ("diff-tree", "--stdin", "-r", *options)
        return repository.git(*command, text=rows.replace(" \n", "\n").encode(), seconds=seconds)

    return within_bounds(repository, pairs, diff)


def within_bounds(
    repository: Repository,
    pairs: Sequence[_Pair],
    diff: Callable[[Iterable[_Pair], float], bytes],
) -> tuple[bytes, list[bool]]:
    """Have `diff` compare pairs within some seconds; again without the oversized if it cannot.

    Returns as `diff_trees`.
    """
    recorded = budget.left_out()
    compared = [_name(*pair) not in recorded for pair in pairs]
    try:
        return diff(compress(pairs, compared), QUICK_SECONDS), compared
    except RepositoryProblem as problem:
        # it took too long, or listed more than is read
        if problem.code not in ("git-timeout", "git-failed"):
            raise
    for number in _oversized(repository, pairs, compared):
        compared[number] = False
        budget.leave_out(_name(*pairs[number]))
    return diff(compress(pairs, compared), _LONGEST_SECONDS), compared


def left_out_commits(repository: Repository) -> list[CommitId]:
    """The commits of a repository that were not compared with a parent."""
    names = {name.rpartition("..")[2] for name in budget.left_out() if ".." in name}
    text = "".join(f"{name}\n" for name in sorted(names)).encode()
    command = ("cat-file", "--batch-check=%(objecttype) %(objectname)")
    rows = repository.git(*command, text=text).decode().splitlines() if text else []
    return [CommitId(row.split()[1]) for row in rows if row.startswith("commit ")]


def _name(before: str, after: str) -> str:
    return f"{before}..{after}"


def _oversized(
    repository: Repository, pairs: Sequence[_Pair], compared: Sequence[bool]
) -> Iterator[int]:
    """The numbers of pairs whose difference has far more paths than its trees have entries."""
    prefix = repository.prefix.rstrip("/")
    levels = {
        number: Counter({(f"{before or f'{after}^1'}:{prefix}", f"{after}:{prefix}"): 1})
        for number, (before, after) in enumerate(pairs)
        if compared[number]
    }
    trees: dict[str, _Entries | None] = {}
    paths, seen = Counter[int](), {number: set[str]() for number in levels}
    depth = 0
    while levels:
        depth += 1
        names = {name for level in levels.values() for pair in level for name in pair if name}
        new = sorted(names - trees.keys())
        size = len(pairs[0][1]) // 2
        data = repository.blobs(new, kind=b"tree")
        trees |= {name: _entries(of, size) for name, of in zip(new, data, strict=True)}
        below = {}
        for number, level in levels.items():
            seen[number].update(name for pair in level for name in pair)
            is_malformed = any(trees.get(name, {}) is None for pair in level for name in pair)
            next_level = Counter[_Pair]()
            for (before, after), times in level.items():
                for pair, is_tree in _differing(trees.get(before), trees.get(after)):
                    paths[number] += times
                    if is_tree:
                        next_level[pair] += times
            entries = sum(len(trees.get(name) or ()) for name in seen[number])
            is_large = paths[number] > max(_FEWEST_PATHS, _PATHS_EACH_ENTRY * entries)
            if is_large or is_malformed or depth > _MOST_LEVELS:
                yield number
            elif next_level:
                below[number] = next_level
        levels = below


def _differing(before: _Entries | None, after: _Entries | None) -> Iterator[tuple[_Pair, bool]]:
    """The entries that two trees do not have alike: the trees in them ("" for none), if any is."""
    old, new = before or {}, after or {}
    for name in old.keys() | new.keys():
        if old.get(name) != new.get(name):
            sides = [tree.get(name, (False, "")) for tree in (old, new)]
            first, second = (entry if is_tree else "" for is_tree, entry in sides)
            yield (first, second), bool(first or second)


def _entries(data: bytes | None, size: int) -> _Entries | None:
    """A tree by names: whether each is a tree, and its id. None of one that git would not make."""
    entries: dict[bytes, tuple[bool, str]] = {}
    at = 0
    while data and at < len(data):
        mode, _, rest = data[at : (end := data.find(b"\0", at))].partition(b" ")
        if end < 0 or rest in entries:
            return None
        at = end + 1 + size
        entries[rest] = mode in _TREE_MODES, data[end + 1 : at].hex()
    return entries
