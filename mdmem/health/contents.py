"""Checks of what memory holds: its files, and secrets in them and in history."""

from __future__ import annotations

import os
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mdmem import secrets
from mdmem.folder import files, layout
from mdmem.folder.layout import ListedFile
from mdmem.health.inspection import Finding, Inspection, Level
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem, number_of, verb
from mdmem.repo.first_parent import HUNK, new_lines
from mdmem.repo.runner import MARKDOWN, run
from mdmem.repo.tree_diffs import QUICK_SECONDS, left_out_commits
from mdmem.repo.worktree import ignored
from mdmem.startup import late
from mdmem.text import check
from mdmem.workspace import Workspace, two_curated_hint

_COMMITS_AT_ONCE = 100
_MOST_NAMED = 20
_COMMIT_LINE = late.pattern(rb"\x00([0-9a-f]{40}(?:[0-9a-f]{24})?)")


# Memory files.


def check_files(inspection: Inspection) -> Iterator[Finding]:
    workspace, listed = inspection.workspace, inspection.workspace.memory_files()
    yield from _check_content(workspace, listed)
    if message := two_curated_hint(workspace):
        yield Finding(check="files", level=Level.WARNING, message=message, hint="Join the two.")
    yield from _check_untracked(
        inspection, [path for path in listed if not layout.is_outside(path)]
    )
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


def _check_content(
    workspace: Workspace, listed: Mapping[FilePath, ListedFile]
) -> Iterator[Finding]:
    """Problems of texts; `check_secrets` names the secrets in them."""
    errors, warnings = 0, 0
    for path, file in listed.items():
        try:
            data = files.read(file.full_path) or b""
        except PathProblem:
            warnings += 1
            continue
        for each in check.check_file(path, data, workspace.kind_of(path), workspace.settings):
            message = f"{path}:{each.line}: {each.message}"
            if each.code == "front-matter":
                yield Finding(check="files", level=Level.WARNING, message=message, hint=each.hint)
            elif each.level == "warning":
                warnings += 1
            elif each.code != "secret-found":
                errors += 1
                yield Finding(check="files", level=Level.ERROR, message=message, hint=each.hint)
    if not errors:
        yield Finding(check="files", level=Level.OK, message=number_of(len(listed), "memory file"))
    if warnings:
        yield Finding(
            check="files",
            level=Level.NOTE,
            message=f"{number_of(warnings, 'warning')} about their content",
            hint=verb("check"),
        )


def _check_untracked(inspection: Inspection, paths: Sequence[FilePath]) -> Iterator[Finding]:
    tracked = inspection.repository.tracked()
    new = [path for path in paths if path not in tracked]
    ignored_paths = ignored(inspection.workspace.root, new)
    for path in new:
        if path in ignored_paths:
            yield Finding(
                check="files",
                level=Level.WARNING,
                message=f"{path} is ignored by .gitignore",
                hint="Remove the rule; memory outside git has no history.",
            )
        else:
            yield Finding(
                check="files",
                level=Level.NOTE,
                message=f"{path} is not committed yet",
                hint=verb("save"),
            )


def _links(workspace: Workspace) -> Iterator[str]:
    root = workspace.root
    for path in sorted(root.iterdir()):
        if path.is_symlink() and (path.name == "memory" or workspace.kind_of(path.name).is_memory):
            yield path.name
    inside = [path for path in workspace.settings.extra_paths if not layout.is_outside(path)]
    for top in ("memory", *inside):
        for folder, names, file_names in (
            os.walk(root / top) if not (root / top).is_symlink() else ()
        ):
            names[:] = [name for name in names if name != ".git"]
            for name in sorted([*names, *filter(layout.is_markdown, file_names)]):
                path = Path(folder, name)
                if path.is_symlink():
                    yield path.relative_to(root).as_posix()


def _repositories(workspace: Workspace) -> Iterator[str]:
    memory = workspace.root / "memory"
    for folder, names, file_names in os.walk(memory) if not memory.is_symlink() else ():
        if ".git" in (*names, *file_names):
            names.clear()
            yield Path(folder).relative_to(workspace.root).as_posix()


def _collisions(listed: Mapping[FilePath, ListedFile]) -> Iterator[Finding]:
    """Paths that are one file on systems that ignore case or the encoding of accents."""
    same = defaultdict(list)
    for path in sorted(listed):
        if path not in layout.CURATED_NAMES:
            same[unicodedata.normalize("NFC", path).casefold()].append(path)
    for paths in same.values():
        if len(paths) > 1:
            yield Finding(
                check="files",
                level=Level.WARNING,
                message=f"{' and '.join(paths)} are the same file on other systems",
                hint="Rename one.",
            )


# Secrets. Messages never contain their values.


def check_secrets(inspection: Inspection) -> Iterator[Finding]:
    total = 0
    for path, file in inspection.workspace.memory_files().items():
        try:
            data = files.read(file.full_path) or b""
        except PathProblem:  # the checks of the index and the files name it
            continue
        for secret in secrets.find(data.decode("utf-8", "replace")):
            total += 1
            yield Finding(
                check="secrets",
                level=Level.ERROR,
                message=f"{secret.kind} in {path}:{secret.line}",
                hint=(
                    "Remove it and revoke it. False alarm? Add <!-- mdmem: allow secret --> to the"
                    " line."
                ),
            )
    if not total:
        yield Finding(check="secrets", level=Level.OK, message="none found in the memory files")


def check_history(inspection: Inspection) -> Iterator[Finding]:
    left_out = left_out_commits(inspection.repository)
    for commit in left_out:
        yield Finding(
            check="history",
            level=Level.WARNING,
            message=f"{commit[:10]} has far more paths than files; its changes are left out",
        )
    commits = [commit for commit in _commits(inspection) if commit not in left_out]
    searched = 0
    locations: dict[tuple[str, str], list[str]] = defaultdict(list)
    deadline = time.monotonic() + inspection.history_seconds
    while searched < len(commits) and (remaining := deadline - time.monotonic()) > 0:
        patches = _patches(inspection, commits[searched : searched + _COMMITS_AT_ONCE], remaining)
        if patches is None:
            break
        for secret, location in _find_leaks(patches):
            locations[secret].append(location)
        searched = min(searched + _COMMITS_AT_ONCE, len(commits))
    if searched < len(commits):
        yield Finding(
            check="history",
            level=Level.NOTE,
            message=(
                f"looked at {searched} of {len(commits)} commits, newest first; there was no time"
                " for more"
            ),
        )
    elif not locations:
        yield Finding(
            check="history",
            level=Level.OK,
            message=f"no secrets found in {number_of(len(commits), 'commit')}",
        )
    for (kind, _), of_secret in list(locations.items())[:_MOST_NAMED]:
        more = f", the first of {len(of_secret)} places" if len(of_secret) > 1 else ""
        yield Finding(
            check="history",
            level=Level.WARNING,
            message=f"{kind} in {of_secret[-1]}{more}",
            hint=f"Revoke it. To remove it from history: {verb('forget', 'purge')} FACT",
        )
    if len(locations) > _MOST_NAMED:
        yield Finding(
            check="history",
            level=Level.WARNING,
            message=f"{number_of(len(locations) - _MOST_NAMED, 'more secret')} not listed",
        )


def _commits(inspection: Inspection) -> list[CommitId]:
    """Commits on any branch or tag that changed Markdown here or are mdmem's own, newest first."""
    tips = ["--all", *(["HEAD"] if inspection.repository.head() else [])]
    command = ("rev-list", *tips, "--full-history")
    try:
        changing = inspection.repository.git(*command, "--", MARKDOWN, seconds=QUICK_SECONDS)
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        changing = inspection.repository.git(*command)
    own = inspection.repository.git("rev-list", *tips, "--grep=^Mdmem-Op:")
    return [
        CommitId(line)
        for line in dict.fromkeys([*changing.decode().split(), *own.decode().split()])
    ]


def _patches(inspection: Inspection, commits: Sequence[CommitId], seconds: float) -> bytes | None:
    # None where the time is up
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
    command += [
        "--relative",
        "--no-prefix",
        "--no-renames",
        "--diff-merges=first-parent",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
    ]
    try:
        result = run(
            inspection.workspace.root,
            [*command, "--", MARKDOWN],
            "".join(f"{commit}\n" for commit in commits).encode(),
            seconds=seconds,
        )
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        return None
    if result.status:
        raise result.failure("diff-tree")
    return result.output


def _find_leaks(patches: bytes) -> Iterator[tuple[tuple[str, str], str]]:
    for text, where, first in _added_texts(patches):
        for secret in secrets.find(text):
            yield (
                (secret.kind, text[secret.start : secret.end]),
                f"{where}:{first + secret.line - 1}",
            )


def _added_texts(patches: bytes) -> Iterator[tuple[str, str, int]]:
    """Each message and each run of new lines, with its location and first line number."""
    lines = iter(patches.split(b"\n"))
    commit = path = ""
    for line in lines:
        if match := _COMMIT_LINE.fullmatch(line):
            commit = match[1].decode()[:10]
            yield _read_message(lines), f"the message of commit {commit}", 1
        elif line.startswith(b"+++ "):
            path = line[4:].decode("utf-8", "replace").rstrip("\t")
        elif match := HUNK.match(line):
            yield new_lines(lines, match), f"commit {commit}, {path}", int(match[2])


def _read_message(lines: Iterator[bytes]) -> str:
    message = []
    for line in lines:
        message.append(line)
        if line.endswith(b"\0"):
            break
    return b"\n".join(message).decode("utf-8", "replace").rstrip("\0\n")
