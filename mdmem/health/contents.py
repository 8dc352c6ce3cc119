"""Checks of what memory holds (its files, secrets in them and in history), and of mdmem's own files
(state folder, journal, trail, index, events).
"""

from __future__ import annotations

import os
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from mdmem import events, secrets
from mdmem.events import Outcome
from mdmem.folder import files, journal, layout, vault
from mdmem.folder.layout import ListedFile
from mdmem.health.inspection import DAY_SECONDS, Finding, Inspection, Level
from mdmem.index.indexer import SearchIndex
from mdmem.index.query import Filter
from mdmem.index.schema import BrokenIndex
from mdmem.index.snapshot import EMPTY_SNAPSHOT, INDEX_NAME
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem, number_of, shell_word, verb
from mdmem.past import fresh_trail
from mdmem.past.steps import verify_trail
from mdmem.past.storage import BrokenTrail, discard
from mdmem.repo.first_parent import HUNK, new_lines
from mdmem.repo.runner import MARKDOWN, TEMPORARIES, run
from mdmem.repo.tree_diffs import QUICK_SECONDS, left_out_commits
from mdmem.repo.worktree import ignored
from mdmem.startup import late
from mdmem.text import check
from mdmem.workspace import Workspace, two_curated_hint

_COMMITS_AT_ONCE = 100
_MOST_NAMED = 20
_MOST_ASKED = 1_000
"""The signatures that a person waits for: ten seconds."""
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
    yield from _left_out(workspace)
    for folder in _repositories(workspace):
        yield Finding(
            check="files",
            level=Level.WARNING,
            message=f"{folder} is a repository of its own: nothing in it is committed here",
            hint="Move its files.",
        )
    yield from _collisions(listed)


def _left_out(workspace: Workspace) -> Iterator[Finding]:
    """Files among memory that are none: conflict copies by name, others counted by reason."""
    others: Counter[str] = Counter()
    for path, reason in workspace.left_out_files().items():
        if (copied := layout.conflict_copy_of(path)) is None:
            others[reason] += 1
            continue
        own, original = (_lines_of(workspace.root / each) for each in (path, copied[0]))
        alone = number_of(len(own - original), "line")
        names = f"{shell_word(copied[0])} {shell_word(path)}"
        yield Finding(
            check="files",
            level=Level.WARNING,
            message=f"{path} is {reason}, with {alone} of its own: it is not searched",
            hint=f"Take what you need (git diff --no-index {names}), then remove it.",
        )
    for file in vault.unreadable_settings(workspace.root):
        yield Finding(
            check="files",
            level=Level.WARNING,
            message=f"{file} is no JSON object of at most 1 MB: it is not followed",
            hint="Open the vault in Obsidian and save these settings again.",
        )
    for reason, count in others.items():
        yield Finding(
            check="files",
            level=Level.NOTE,
            message=f"{number_of(count, 'Markdown file')} left out: {reason}",
        )


def _lines_of(path: Path) -> set[bytes]:
    with suppress(PathProblem):
        return {*(files.read(path) or b"").splitlines()}
    return set()


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


def check_signatures(inspection: Inspection) -> Iterator[Finding]:
    workspace = inspection.workspace
    late.module("index.catching_up").check_signatures(workspace, _MOST_ASKED)
    if not (known := workspace.known_signatures()):
        return
    with fresh_trail(workspace) as trail:
        states = {each.commit: known.of(each.commit).state for each in trail.commits_after()}
    counts = Counter(state.replace("-", " ") for state in states.values()).most_common()
    message = ", ".join(f"{count} {state}" for state, count in counts) or "no commits"
    yield Finding(check="signatures", level=Level.OK, message=message)
    for commit in islice((each for each in states if states[each] == "bad"), _MOST_NAMED):
        yield Finding(
            check="signatures",
            level=Level.ERROR,
            message=f"{commit[:10]} has a bad signature: it is not what was signed",
            hint=f"To undo it: {verb('revert')} {commit[:10]}",
        )


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


_EVENT_DAYS = 7
_OWN_SLIPS = ("usage", "ambiguous-date")
"""The codes of calls that were wrong themselves: the message has said it all."""
_MANY_SEGMENTS = 20
_TEMPORARY = late.pattern(r"\.mdmem-[0-9a-f]+(?:\.back)?\.tmp")


def check_state(inspection: Inspection) -> Iterator[Finding]:
    state = inspection.workspace.state
    probe = state / files.temporary_name()
    try:
        files.write_durably(probe, b"mdmem doctor\n", 0o600)
        probe.unlink()
    except FileNotFoundError:
        yield Finding(
            check="state",
            level=Level.NOTE,
            message=f"{state} does not exist yet; the first command that needs it creates it",
        )
    except OSError as problem:
        yield Finding(
            check="state",
            level=Level.ERROR,
            message=f"{state} is not writable: {problem.strerror}",
            hint=(
                "Nothing can be written until it is a folder that you may write to, with room on"
                " its disk."
            ),
        )
    else:
        yield Finding(check="state", level=Level.OK, message=f"{state} is writable")


def check_record(inspection: Inspection) -> Iterator[Finding]:
    path = inspection.workspace.state / journal.WRITE_NAME
    if not path.exists():
        yield Finding(check="record", level=Level.OK, message="no interrupted writes")
        return
    left = journal.load(path)
    if files.is_locked(inspection.workspace.write_lock()):
        yield Finding(
            check="record",
            level=Level.NOTE,
            message=f"a write{f' of {left.steps[0].path}' if left else ''} is under way",
        )
    elif left is None:
        yield Finding(
            check="record",
            level=Level.WARNING,
            message="the record of an interrupted write is incomplete",
            hint="The next write discards it.",
        )
    else:
        yield Finding(
            check="record",
            level=Level.WARNING,
            message=f"a write of {' and '.join(step.path for step in left.steps)} was interrupted",
            hint="The next write finishes it, or discards it if it had not begun.",
        )


def check_temporary(inspection: Inspection) -> Iterator[Finding]:
    listed = inspection.repository.git(
        "ls-files", "--others", "-z", "--", TEMPORARIES, f"{TEMPORARIES}/**"
    ).split(b"\0")
    leftovers = list(
        dict.fromkeys(filter(None, (_temporary_in(os.fsdecode(path)) for path in listed)))
    )
    removed = _remove_temporaries(inspection, leftovers) if inspection.fix and leftovers else set()
    for path in leftovers:
        if path in removed:
            yield Finding(
                check="temporary",
                level=Level.NOTE,
                message=f"{path}, left by an interrupted write, is removed",
                fixed=True,
            )
        else:
            is_folder = (inspection.workspace.root / path).is_dir()
            yield Finding(
                check="temporary",
                level=Level.NOTE,
                message=f"{path} was left by a write that was interrupted, or is under way",
                hint=(
                    "It was being removed: move it back, or delete it."
                    if is_folder
                    else (
                        f"{verb('doctor', 'fix')} removes it when it is a day old and no"
                        " interrupted write needs it."
                    )
                ),
            )
    if not leftovers:
        yield Finding(check="temporary", level=Level.OK, message="no leftover temporary files")


def _temporary_in(path: str) -> str | None:
    parts = path.split("/")
    ends = (number for number, part in enumerate(parts, 1) if _TEMPORARY.fullmatch(part))
    return "/".join(parts[:end]) if (end := next(ends, 0)) else None


def _remove_temporaries(inspection: Inspection, leftovers: Sequence[str]) -> set[str]:
    """Remove those older than a day that no journal names; return their paths."""
    removed = set()
    with inspection.locked():
        left = journal.load(inspection.workspace.state / journal.WRITE_NAME)
        needed = (
            [
                name
                for step in left.steps
                for name in (step.temporary, files.backup_name(step.temporary))
            ]
            if left
            else []
        )
        for path in leftovers:
            full_path = inspection.workspace.root / path
            if full_path.name in needed or full_path.is_dir():
                continue
            if time.time() - full_path.lstat().st_mtime > DAY_SECONDS:
                full_path.unlink()
                removed.add(path)
    return removed


def check_versions(inspection: Inspection) -> Iterator[Finding]:
    """A damaged trail. It is built from the commits, so nothing is lost with it."""
    state = inspection.workspace.state
    try:
        count = verify_trail(state)
    except BrokenTrail as problem:
        if inspection.fix:
            with files.lock(state / files.TRAIL_LOCK, inspection.workspace.settings.lock_timeout):
                discard(state)
            yield Finding(
                check="versions",
                level=Level.WARNING,
                message=f"{problem.message}; it is discarded, and rebuilt where it is needed",
                fixed=True,
            )
        else:
            yield Finding(
                check="versions",
                level=Level.WARNING,
                message=problem.message,
                hint=(
                    f"To discard it: {verb('doctor', 'fix')}. It is then rebuilt from the commits."
                ),
            )
        return
    if count is None:
        yield Finding(
            check="versions", level=Level.NOTE, message="not built yet (the first search builds it)"
        )
    else:
        yield Finding(
            check="versions",
            level=Level.OK,
            message=f"the table of versions is complete ({number_of(count, 'commit')})",
        )


def check_index(inspection: Inspection) -> Iterator[Finding]:
    folder = inspection.workspace.state / INDEX_NAME
    if not folder.exists():
        yield Finding(
            check="index", level=Level.NOTE, message="not built yet (the first search builds it)"
        )
        return
    index, is_current = inspection.open_index()
    problem = _index_problem(index, is_current, folder)
    if problem and inspection.fix:
        count = inspection.rebuild_index(problem != _IS_BEHIND)
        yield Finding(
            check="index",
            level=Level.WARNING,
            message=f"{problem}; fixed, {number_of(count, 'entry', 'entries')}",
            fixed=True,
        )
    elif problem:
        yield Finding(
            check="index",
            level=Level.WARNING if problem != _IS_BEHIND else Level.NOTE,
            message=problem,
            hint=_INDEX_HINTS.get(problem, verb("reindex", "full")),
        )
    else:
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        yield Finding(
            check="index",
            level=Level.OK,
            message=(
                f"{number_of(index.finder.count, 'entry', 'entries')},"
                f" {number_of(_segments(folder), 'segment')}, {size / 1024:,.0f} KiB"
            ),
        )
    for path, file in sorted(index.seen.files.items()):
        if file.skipped:
            yield Finding(
                check="index",
                level=Level.WARNING,
                message=f"{path} cannot be searched: {file.skipped}",
            )


_IS_UNUSABLE, _IS_BEHIND = "it is broken or of another version", "it is behind"
_INDEX_HINTS = {
    _IS_UNUSABLE: "The next search rebuilds it.",
    _IS_BEHIND: "The next search brings it up to date.",
}


def _index_problem(index: SearchIndex, is_current: bool, folder: Path) -> str:
    if index.seen == EMPTY_SNAPSHOT and any(folder.iterdir()):
        return _IS_UNUSABLE
    try:
        index.finder.entries(Filter())
    except BrokenIndex:
        return _IS_UNUSABLE
    if not is_current:
        return _IS_BEHIND
    return (
        f"it has {number_of(_segments(folder), 'segment')}, which makes it slow"
        if _segments(folder) > _MANY_SEGMENTS
        else ""
    )


def _segments(folder: Path) -> int:
    return len(list(folder.rglob("*.store")))


# Events.


def check_events(inspection: Inspection) -> Iterator[Finding]:
    since = datetime.now(UTC) - timedelta(days=_EVENT_DAYS)
    recent = [
        event for event in events.read_events(inspection.workspace.state) if event.time >= since
    ]
    if not recent:
        yield Finding(
            check="events", level=Level.OK, message=f"none in the last {_EVENT_DAYS} days"
        )
        return
    slowest = max(recent, key=lambda event: event.ms)
    yield Finding(
        check="events",
        level=Level.OK,
        message=(
            f"{len(recent)} in the last {_EVENT_DAYS} days; the slowest was {slowest.verb},"
            f" {slowest.ms:,.0f} ms"
        ),
    )
    for outcome, level in ((Outcome.REFUSED, Level.NOTE), (Outcome.FAILED, Level.WARNING)):
        codes = Counter(str(event.code) for event in recent if event.outcome is outcome)
        for code in _OWN_SLIPS:
            del codes[code]
        if codes:
            listed = ", ".join(f"{count} {code}" for code, count in codes.most_common())
            yield Finding(check="events", level=level, message=f"{outcome.value}: {listed}")
    for (name, bug), count in Counter(
        (event.verb, event.bug) for event in recent if event.outcome is Outcome.BUG
    ).most_common():
        yield Finding(
            check="events",
            level=Level.WARNING,
            message=f"a bug in mdmem, in {name}: {bug} (times: {count})",
        )
