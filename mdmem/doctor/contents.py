"""Checks of what memory holds: its files, and secrets in them and in history."""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mdmem import check, files, layout, secrets
from mdmem.doctor.inspection import Finding, Inspection, Level
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.listing import ListedFile
from mdmem.model import CommitId, FilePath
from mdmem.repo.ignored import ignored
from mdmem.repo.patches import HUNK, new_lines
from mdmem.repo.runner import MARKDOWN, run
from mdmem.wording import verb
from mdmem.workspace import Workspace

_COMMITS_AT_ONCE = 100
_MOST_NAMED = 20
_COMMIT_LINE = re.compile(rb"\x00([0-9a-f]{40}(?:[0-9a-f]{24})?)")


# Memory files.


def check_files(case: Inspection) -> Iterator[Finding]:
    """Which files there are, and what git or another system makes of them."""
    workspace, listed = case.workspace, case.workspace.memory_files()
    doubtful = sum(_doubtful(workspace, path, found) for path, found in listed.items())
    yield Finding(check="files", level=Level.OK, message=f"memory files: {len(listed)}")
    if doubtful:
        yield Finding(check="files", level=Level.NOTE, message=f"warnings about what they hold: {doubtful}", hint=verb("check"))
    present = [workspace.root / name for name in layout.CURATED_NAMES if (workspace.root / name).exists()]
    if len(present) == 2 and not present[0].samefile(present[1]):
        yield Finding(
            check="files", level=Level.WARNING, message="both MEMORY.md and memory.md are there; the first counts", hint="Join the two."
        )
    yield from _unkept(case, [path for path in listed if not layout.is_outside(path)])
    for link in _links(workspace):
        yield Finding(
            check="files",
            level=Level.WARNING,
            message=f"{link} is a symbolic link: neither searched nor edited",
            hint="Put the file in its place.",
        )
    for folder in _repositories(workspace):
        yield Finding(
            check="files",
            level=Level.WARNING,
            message=f"{folder} is a repository of its own: nothing in it is committed here",
            hint="Move its files.",
        )
    yield from _collisions(listed)


def _doubtful(workspace: Workspace, path: FilePath, found: ListedFile) -> int:
    """How many warnings `check` has about a file."""
    try:
        data = files.read(found.full_path)
    except PathProblem:
        return 1
    problems = check.check_file(path, data, workspace.kind_of(path), workspace.settings) if data is not None else ()
    return sum(problem.level == "warning" for problem in problems)


def _unkept(case: Inspection, paths: Sequence[FilePath]) -> Iterator[Finding]:
    """The files that git does not keep."""
    tracked = case.repository.tracked()
    new = [path for path in paths if path not in tracked]
    unseen = ignored(case.workspace.root, new)
    for path in new:
        if path in unseen:
            hint = "Take the rule out; memory that git does not keep has no history."
            yield Finding(check="files", level=Level.WARNING, message=f"{path} is ignored by .gitignore", hint=hint)
        else:
            yield Finding(check="files", level=Level.NOTE, message=f"{path} is in no commit yet", hint=verb("save"))


def _links(workspace: Workspace) -> Iterator[str]:
    """The symbolic links where memory files would be."""
    root = workspace.root
    for place in sorted(root.iterdir()):
        if place.is_symlink() and (place.name == "memory" or workspace.kind_of(place.name).is_memory):
            yield place.name
    inside = [path for path in workspace.settings.extra_paths if not layout.is_outside(path)]
    for top in ("memory", *inside):
        for folder, names, found in os.walk(root / top) if not (root / top).is_symlink() else ():
            names[:] = [name for name in names if name != ".git"]
            for name in sorted([*names, *filter(layout.is_markdown, found)]):
                place = Path(folder, name)
                if place.is_symlink():
                    yield place.relative_to(root).as_posix()


def _repositories(workspace: Workspace) -> Iterator[str]:
    """The repositories where memory files would be."""
    memory = workspace.root / "memory"
    for folder, names, found in os.walk(memory) if not memory.is_symlink() else ():
        if ".git" in (*names, *found):
            names.clear()
            yield Path(folder).relative_to(workspace.root).as_posix()


def _collisions(listed: Mapping[FilePath, ListedFile]) -> Iterator[Finding]:
    """Paths that are one file where case, or how an accent is written, makes no difference."""
    same = defaultdict(list)
    for path in sorted(listed):
        if path not in layout.CURATED_NAMES:
            same[unicodedata.normalize("NFC", path).casefold()].append(path)
    for paths in same.values():
        if len(paths) > 1:
            yield Finding(
                check="files", level=Level.WARNING, message=f"{' and '.join(paths)} are one file on other systems", hint="Rename one."
            )


# Secrets. Their values are in no message.


def check_secrets(case: Inspection) -> Iterator[Finding]:
    """Secrets in the memory files as they are on disk."""
    total = 0
    for path, found in case.workspace.memory_files().items():
        try:
            data = files.read(found.full_path) or b""
        except PathProblem:  # named by the checks of the index and the files
            continue
        for secret in secrets.find(data.decode("utf-8", "replace")):
            total += 1
            hint = "Take it out and revoke it; where it is none, <!-- mdmem: allow secret --> on its line says so."
            yield Finding(check="secrets", level=Level.ERROR, message=f"{secret.kind} in {path}:{secret.line}", hint=hint)
    if not total:
        yield Finding(check="secrets", level=Level.OK, message="none in the memory files")


def check_history(case: Inspection) -> Iterator[Finding]:
    """Secrets in the messages of commits and in the lines that they brought in."""
    commits, looked = _commits(case), 0
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    ends = time.monotonic() + case.history_seconds
    while looked < len(commits) and (left := ends - time.monotonic()) > 0:
        patches = _patches(case, commits[looked : looked + _COMMITS_AT_ONCE], left)
        if patches is None:
            break
        for secret, place in _leaks(patches):
            places[secret].append(place)
        looked = min(looked + _COMMITS_AT_ONCE, len(commits))
    if looked < len(commits):
        message = f"looked at {looked} of {len(commits)} commits, newest first; there was no time for more"
        yield Finding(check="history", level=Level.NOTE, message=message)
    elif not places:
        yield Finding(check="history", level=Level.OK, message=f"no secret; commits: {len(commits)}")
    for (kind, _), found in list(places.items())[:_MOST_NAMED]:
        more = f", the first of {len(found)} places" if len(found) > 1 else ""
        hint = f"Revoke it; {verb('forget', 'purge')} takes it out of history."
        yield Finding(check="history", level=Level.WARNING, message=f"{kind} in {found[-1]}{more}", hint=hint)
    if len(places) > _MOST_NAMED:
        yield Finding(check="history", level=Level.WARNING, message=f"secrets that are not listed here: {len(places) - _MOST_NAMED}")


def _commits(case: Inspection) -> list[CommitId]:
    """The commits of all branches and tags that changed a Markdown file here or are mdmem's own, newest first."""
    tips = ["--all", *(["HEAD"] if case.repository.head() else [])]
    changing = case.repository.git("rev-list", *tips, "--full-history", "--", MARKDOWN)
    own = case.repository.git("rev-list", *tips, "--grep=^Mdmem-Op:")
    return [CommitId(line) for line in dict.fromkeys([*changing.decode().split(), *own.decode().split()])]


def _patches(case: Inspection, commits: Sequence[CommitId], seconds: float) -> bytes | None:
    """The messages of commits and the lines that each brought in; None where there is no time for it."""
    command = [
        "diff-tree",
        "--stdin",
        "--always",
        "--format=%x00%H%n%B%x00",
        "-r",
        "-p",
        "--text",
        "-U0",
        "--inter-hunk-context=0",
        "--root",
    ]
    command += ["--relative", "--no-prefix", "--no-renames", "--diff-merges=first-parent", "--no-color", "--no-ext-diff", "--no-textconv"]
    try:
        done = run(case.workspace.root, [*command, "--", MARKDOWN], "".join(f"{commit}\n" for commit in commits).encode(), seconds=seconds)
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        return None
    if done.status:
        raise RepositoryProblem("git-failed", f"git diff-tree: {done.error_text}")
    return done.output


def _leaks(patches: bytes) -> Iterator[tuple[tuple[str, str], str]]:
    """The secrets, each by kind and value, and where it stands."""
    for text, where, first in _brought_in(patches):
        for secret in secrets.find(text):
            yield (secret.kind, text[secret.start : secret.end]), f"{where}:{first + secret.line - 1}"


def _brought_in(patches: bytes) -> Iterator[tuple[str, str, int]]:
    """What `_patches` gave, text by text: each message and each run of new lines, where it is, and the number of its first line."""
    lines = iter(patches.split(b"\n"))
    commit = path = ""
    for line in lines:
        if match := _COMMIT_LINE.fullmatch(line):
            commit = match[1].decode()[:10]
            yield _message(lines), f"the message of commit {commit}", 1
        elif line.startswith(b"+++ "):
            path = line[4:].decode("utf-8", "replace").rstrip("\t")
        elif match := HUNK.match(line):
            yield new_lines(lines, match), f"commit {commit}, {path}", int(match[2])


def _message(lines: Iterator[bytes]) -> str:
    found = []
    for line in lines:
        found.append(line)
        if line.endswith(b"\0"):
            break
    return b"\n".join(found).decode("utf-8", "replace").rstrip("\0\n")
