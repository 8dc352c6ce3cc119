"""Problems of a memory file, or of a change to it: `error` or `warning`. Pure.

A change is judged by added and removed lines, and gets only the warnings that it causes. All of it
is linear in the size of the file, which is parsed only where that decides something.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING

from mdmem import secrets
from mdmem.folder.config import Settings
from mdmem.folder.layout import BOOTSTRAP_NAMES, CURATED_NAMES, is_store, log_day
from mdmem.model import FileKind, FilePath, Problem, SectionPath
from mdmem.model.errors import PathProblem, RefusedChange, TextProblem, field
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text import frontmatter
from mdmem.text.document import (
    Document,
    complete_sets,
    join_path,
    lines_without_ends,
    parse,
    parse_bytes,
    plain_title,
)
from mdmem.text.facts import items, may_repeat

if TYPE_CHECKING:
    from mdmem.model.writes import Purge, WriteOptions

_ALLOWED_CODES = {"append": "append", "secret": "secret-found", "shrink": "shrink"}
"""Codes of the errors in `ALLOWANCES`."""

_MIN_GUARDED_LINES = 40
"""Longer files may not lose more than half of their lines in one change."""
_IN_NAME = " in the name of the file"
_MAX_QUOTED_CHARS = 60
_BLOCK_MARK = late.pattern("(?i)(?:<|&(?:amp;)*lt;)/?mdmem-context")
_TIME = late.pattern(r"\d{2}:\d{2}")
_TAKEN_BACK = late.pattern(r"~~|^(\s*[-+*] \[)[ xX-](?=\])")


@dataclass(frozen=True, slots=True)
class _FileWarning:
    """A warning; its identity stays the same while lines move and counts change."""

    identity: tuple[str, ...]
    problem: Problem


def refusals(problems: Iterable[Problem], allow: Collection[str]) -> tuple[Problem, ...]:
    allowed = {_ALLOWED_CODES[name] for name in allow if name in _ALLOWED_CODES}
    return tuple(
        problem for problem in problems if problem.level == "error" and problem.code not in allowed
    )


def secrets_in_options(options: WriteOptions | Purge) -> Iterator[Problem]:
    for name, text in (
        ("reason", options.reason),
        ("session", options.session),
        ("actor", options.actor),
    ):
        yield from secrets_in_text(name, text or "")


def secrets_in_text(name: str, text: str) -> Iterator[Problem]:
    """Find secrets in a text for a commit message; `name` is its field."""
    for secret in secrets.find(text):
        message = f"possible secret ({secret.kind})"
        hint = f"Remove it. False alarm? Use {field('allow')} secret."
        yield Problem(
            path=field(name),
            line=secret.line,
            code="secret-found",
            level="error",
            message=message,
            hint=hint,
            kind=secret.kind,
        )


def in_given_text(problem: Problem) -> Problem:
    """A problem of a planned write: a secret is in the text given, not in a line of the file."""
    if problem.code != "secret-found":
        return problem
    in_name = problem.message.endswith(_IN_NAME)
    return replace(
        problem,
        is_planned=True,
        message=problem.message if in_name else f"{problem.message} in the text given",
        hint=f"{problem.hint} Nothing was written.",
    )


def refuse_errors(problems: Iterable[Problem], allow: frozenset[str]) -> None:
    """Raise the first error that is not allowed as a RefusedChange."""
    refused = refusals(problems, allow)
    if refused:
        first = refused[0]
        details = {"kind": first.kind} if first.kind else {}
        place = first.path if first.is_planned else f"{first.path}:{first.line}"
        raise RefusedChange(
            first.code, f"{place}: {first.message}", first.hint, line=first.line, **details
        )


def refuse_recalled(texts: Iterable[str], before: bytes | None) -> None:
    """Raise TextProblem (`recalled-text`) if texts add blocks that came from memory."""
    marks = sum(map(_count_marks, texts))
    if marks and marks > _count_marks((before or b"").decode("utf-8", "replace")):
        raise TextProblem(
            "recalled-text",
            "the text contains a block that came from memory (<mdmem-context>)",
            "Store only what is new, in new words.",
        )


def _count_marks(text: str) -> int:
    return len(_BLOCK_MARK.findall(text))


def check(
    path: FilePath,
    before: bytes | None,
    after: bytes | None,
    kind: FileKind,
    settings: Settings,
    renamed_from: str | None = None,
    was_log: date | None = None,
    is_note: bool = False,
) -> tuple[Problem, ...]:
    """The problems of a change to one file that git is about to commit, by line.

    `before` is the content, under any old name. `was_log`: the day of the log that it was, where
    the settings say so. `is_note`: a person's own notes; losses are only warnings there.
    """
    if not kind.is_memory:
        return ()
    warnings = () if after is None else _new_warnings(path, before, after, kind, settings)
    errors = find_errors(
        path, before, after, kind, renamed_from=renamed_from, was_log=was_log, is_note=is_note
    )
    return _by_line([*map(_for_git, errors), *warnings])


def find_errors(
    path: FilePath,
    before: bytes | None,
    after: bytes | None,
    kind: FileKind,
    renamed_from: str | None = None,
    was_log: date | None = None,
    is_note: bool = False,
) -> tuple[Problem, ...]:
    """The errors of a change alone; as a rule they cost no parsing."""
    if not kind.is_memory:
        return ()
    old, new = _lines(before), _lines(after)
    added = _added_lines(old, new)
    losses: Iterable[Problem] = _check_losses(
        path,
        old,
        new,
        removed=after is None,
        kind=kind,
        renamed_from=renamed_from,
        was_log=was_log,
    )
    if is_note:
        losses = [replace(problem, level="warning", hint="") for problem in losses]
    is_new = after is not None and (before is None or renamed_from is not None)
    secrets_found = (*(_check_name(path) if is_new else ()), *_check_secrets(path, new, added))
    return _by_line(
        [
            *losses,
            *_check_encoding(path, new, added),
            *_check_conflicts(path, new, added),
            *secrets_found,
        ]
    )


def shrinks_too_much(before: bytes | None, after: bytes | None) -> bool:
    return _count_excessive_losses(_lines(before), _lines(after)) > 0


def check_file(
    path: FilePath, data: bytes, kind: FileKind, settings: Settings
) -> tuple[Problem, ...]:
    """The problems of a file as it is, by line: warnings, conflict markers, secrets."""
    if not kind.is_memory:
        return ()
    lines = _lines(data)
    warnings = (warning.problem for warning in _warnings(path, data, kind, settings))
    numbers = set(range(len(lines)))
    return _by_line(
        [
            *warnings,
            *_check_conflicts(path, lines, numbers),
            *_check_name(path, can_allow=False),
            *_check_secrets(path, lines, numbers, can_allow=False),
        ]
    )


def added_secrets(
    path: FilePath, before: bytes | None, after: bytes | None, kind: FileKind
) -> tuple[Problem, ...]:
    """The secrets that a change adds to a memory file, or in the name of a new one."""
    if not kind.is_memory:
        return ()
    new = _lines(after)
    in_name = _check_name(path) if before is None and after is not None else ()
    return _by_line([*in_name, *_check_secrets(path, new, _added_lines(_lines(before), new))])


def _error(path: str, line: int, code: str, message: str, hint: str) -> Problem:
    return Problem(path=path, line=line, code=code, level="error", message=message, hint=hint)


def _for_git(problem: Problem) -> Problem:
    """A problem whose hint overrides a check as `git commit` can."""
    hint = problem.hint
    if problem.code == "conflict-markers":
        hint = f"{hint.removesuffix('.')}, then stage the file again."
    for name in _ALLOWED_CODES:
        hint = hint.replace(f"{field('allow')} {name}.", f"MDMEM_ALLOW={name} git commit …")
    return replace(problem, hint=hint)


def _warning(path: str, line: int, code: str, message: str, hint: str = "") -> Problem:
    return Problem(path=path, line=line, code=code, level="warning", message=message, hint=hint)


def _by_line(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems by line; no path repeats a secret."""
    ordered = sorted(problems, key=lambda problem: problem.line)
    return tuple(replace(problem, path=secrets.redact(problem.path)) for problem in ordered)


# The lines that a change adds and loses.


def _lines(data: bytes | None) -> list[str]:
    return lines_without_ends((data or b"").decode("utf-8", "surrogateescape"))


def _added_lines(old: list[str], new: list[str]) -> set[int]:
    """The numbers (from 0) of added lines; moved ones are not."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < min(len(old), len(new)) - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    removed = Counter(old[start : len(old) - tail])
    added = set()
    for number in range(start, len(new) - tail):
        if removed[new[number]]:
            removed[new[number]] -= 1
        else:
            added.add(number)
    return added


def _check_losses(
    path: str,
    old: list[str],
    new: list[str],
    removed: bool,
    kind: FileKind,
    renamed_from: str | None,
    was_log: date | None,
) -> Iterator[Problem]:
    was_log = was_log or (log_day(renamed_from) if renamed_from else None)
    was_daily = was_log is not None if renamed_from else kind is FileKind.DAILY
    if not was_daily:
        yield from _check_shrinking(path, old, new)
    elif renamed_from:
        yield _warning(path, 1, "append", f"the daily log {renamed_from} is renamed")
        title = f"# {was_log}"
        for problem in _check_appending(
            path, ["" if line.strip() == title else line for line in old], new
        ):
            yield replace(problem, level="warning", hint="Put it back and add a new entry below.")
    elif removed:
        yield _warning(path, 1, "append", "the daily log is removed as a whole")
    else:
        yield from _check_appending(path, old, new)


def _check_shrinking(path: str, old: list[str], new: list[str]) -> Iterator[Problem]:
    lost = _count_excessive_losses(old, new)
    if lost:
        message = f"{lost} of the file's {len(old)} lines would be gone"
        hint = f"If that is meant: {field('allow')} shrink."
        yield _error(path, 1, "shrink", message, hint)


def _count_excessive_losses(old: list[str], new: list[str]) -> int:
    remaining = Counter(line.strip() for line in new)
    lost = sum(
        max(0, count - remaining[line])
        for line, count in Counter(line.strip() for line in old).items()
    )
    return lost if len(old) >= _MIN_GUARDED_LINES and lost * 2 > len(old) else 0


def _check_appending(path: str, old: list[str], new: list[str]) -> Iterator[Problem]:
    """A daily log may only be added to: every earlier line stays, in its order."""
    if _first_loss(old, new) is None:
        return
    # Front matter is no entry. It is left out only now, since finding it takes a parser.
    old_front, new_front = _count_front_lines(old), _count_front_lines(new)
    loss = _first_loss(old[old_front:], new[new_front:])
    if loss is None:
        return
    lost, expected_at = loss
    message = (
        f"an earlier entry of the daily log is lost or changed: {_quote(old[old_front + lost])}"
    )
    hint = f"Put it back and add a new entry below. If it must go: {field('allow')} append."
    yield _error(path, min(new_front + expected_at + 1, max(len(new), 1)), "append", message, hint)


def _first_loss(old: list[str], new: list[str]) -> tuple[int, int] | None:
    """The number of the first removed line, and its place in the new ones, if any.

    Blank lines and white space at the end of a line do not count, nor what takes a line back.
    """
    start, said = 0, [_as_said(line) for line in new]
    for number, line in enumerate(old):
        words = _as_said(line)
        if not words:
            continue
        match = next((i for i in range(start, len(new)) if said[i] == words), None)
        if match is None:
            return number, start
        start = match + 1
    return None


def _as_said(line: str) -> str:
    """A line of a log, whether it was struck or its box was ticked since or not."""
    return _TAKEN_BACK.sub(r"\1", line.rstrip())


def _count_front_lines(lines: list[str]) -> int:
    return parse("\n".join(lines)).front


def _quote(line: str) -> str:
    words = secrets.redact(line.strip().encode("utf-8", "replace").decode())
    return repr(words if len(words) <= _MAX_QUOTED_CHARS else words[: _MAX_QUOTED_CHARS - 1] + "…")


# Lines that a change must not add.


def _check_encoding(path: str, new: list[str], added: set[int]) -> Iterator[Problem]:
    broken = [number for number in added if not _is_utf8(new[number])]
    if broken:
        message = (
            "the text is not UTF-8"
            if len(broken) == 1
            else f"the text is not UTF-8, in {len(broken)} lines from here on"
        )
        yield _error(
            path, min(broken) + 1, "not-utf8", message, "Convert the file: iconv -t UTF-8."
        )


def _is_utf8(line: str) -> bool:
    return line.isascii() or not any("\udc80" <= c <= "\udcff" for c in line)


def _check_conflicts(path: str, new: list[str], added: set[int]) -> Iterator[Problem]:
    if not any(added.intersection(markers) for markers in complete_sets(new)):
        return
    for markers in parse("\n".join(new)).conflicts:
        if added.intersection(markers):
            message, hint = (
                "unresolved conflict markers",
                "Resolve the conflict and remove the markers.",
            )
            yield _error(path, markers[0] + 1, "conflict-markers", message, hint)


def _check_name(path: str, can_allow: bool = True) -> Iterator[Problem]:
    for secret in secrets.find(path):
        message = f"possible secret ({secret.kind}){_IN_NAME}"
        hint = "Rename it." + (f" False alarm? Use {field('allow')} secret." if can_allow else "")
        yield replace(_error(path, 1, "secret-found", message, hint), kind=secret.kind)


def _check_secrets(
    path: str, new: list[str], added: set[int], can_allow: bool = True
) -> Iterator[Problem]:
    numbers = sorted(added)
    for secret in secrets.find("\n".join(new[number] for number in numbers)):
        message = f"possible secret ({secret.kind})"
        hint = f"Remove it. False alarm? Add {secrets.ALLOW_COMMENT} to the line" + (
            f", or use {field('allow')} secret." if can_allow else "."
        )
        problem = _error(path, numbers[secret.line - 1] + 1, "secret-found", message, hint)
        yield replace(problem, kind=secret.kind)


# Warnings about a file.


def _new_warnings(
    path: str, before: bytes | None, after: bytes, kind: FileKind, settings: Settings
) -> Iterator[Problem]:
    warnings = _warnings(path, after, kind, settings)
    if not warnings:
        return
    old = Counter(warning.identity for warning in _warnings(path, before or b"", kind, settings))
    for warning in warnings:
        if old[warning.identity]:
            old[warning.identity] -= 1
        else:
            yield warning.problem


def _warnings(path: str, data: bytes, kind: FileKind, settings: Settings) -> list[_FileWarning]:
    try:
        document = parse_bytes(data)
    except PathProblem as failure:
        return [*_over_budget(path, data, settings), _unsupported(path, failure)]
    return [
        *_over_budget(path, data, settings),
        *_front_matter(path, document),
        *_duplicate_headings(path, document),
        *_duplicate_facts(path, kind, document),
        *_broken_items(path, document),
    ]


def _unsupported(path: str, failure: PathProblem) -> _FileWarning:
    message = f"{failure.message}; it is neither edited nor searched"
    return _FileWarning(
        ("unsupported-file",), _warning(path, 1, "unsupported-file", message, failure.marked_hint)
    )


def _over_budget(path: str, data: bytes, settings: Settings) -> Iterator[_FileWarning]:
    if path not in CURATED_NAMES:
        return
    lines, size = len(_lines(data)), len(data)
    if lines > settings.budget_lines or size > settings.budget_bytes:
        budget = f"{settings.budget_lines:,} lines and {settings.budget_bytes:,} bytes"
        message = f"the file has {lines:,} lines and {size:,} bytes; its budget is {budget}"
        hint = "Move what is seldom needed to a file of its own under memory/."
        yield _FileWarning(("over-budget",), _warning(path, 1, "over-budget", message, hint))


def _front_matter(path: str, document: Document) -> Iterator[_FileWarning]:
    if limit := frontmatter.exceeded_limit(document):
        message = f"the front matter {limit}, so none of it is read"
        hint = "Shorten it, and write its values out."
        yield _FileWarning(("front-matter",), _warning(path, 1, "front-matter", message, hint))


def _broken_items(path: str, document: Document) -> Iterator[_FileWarning]:
    if not is_store(path):
        return
    stored_items = late.module("text.stored_items")
    for key, section in stored_items.items(document).items():
        if stored_items.read(stored_items.body_of(document, section))[1]:
            message = (
                f"the block of {_quote(section.title)} is not a JSON object: it counts as text"
            )
            problem = _warning(path, section.start + 1, "bad-json", message)
            yield _FileWarning(("bad-json", key), problem)


def _duplicate_headings(path: str, document: Document) -> Iterator[_FileWarning]:
    """Headings twice under one parent; times of day may repeat."""
    parents: list[tuple[int, int]] = []
    first_lines: dict[tuple[int, str], int] = {}
    for section in document.sections:
        while parents and parents[-1][0] >= section.level:
            parents.pop()
        parent = parents[-1][1] if parents else -1
        parents.append((section.level, section.index))
        keeps_case = is_store(path)
        name = section.title if keeps_case else plain_title(section.title).casefold()
        if not name or _TIME.fullmatch(name):
            continue
        first = first_lines.setdefault((parent, name), section.start + 1)
        if first != section.start + 1:
            message = (
                f"the heading {_quote(section.title)} is already in line {first}, under the same"
                " parent"
            )
            problem = _warning(
                path,
                section.start + 1,
                "duplicate-heading",
                message,
                "Join the two, or rename one.",
            )
            yield _FileWarning(("duplicate-heading", _folded_path(section.path)), problem)


def _duplicate_facts(path: str, kind: FileKind, document: Document) -> Iterator[_FileWarning]:
    """Facts twice in one section; logs, instructions, tasks and lines of a diary may repeat."""
    if kind is FileKind.DAILY or path.rpartition("/")[2] in BOOTSTRAP_NAMES:
        return
    starts = [section.start for section in document.sections]
    first_lines: dict[tuple[int, str], int] = {}
    for item in items(document):
        if may_repeat(item.fact.text):
            continue
        section = bisect_right(starts, item.start) - 1
        first = first_lines.setdefault((section, item.fact.id), item.start + 1)
        if first != item.start + 1:
            path_of_section = _folded_path(document.sections[section].path) if section >= 0 else ""
            message = (
                f"the fact {item.fact.id} is already in line {first}, in the same section:"
                f" {_quote(item.fact.text)}"
            )
            problem = _warning(
                path, item.start + 1, "duplicate-fact", message, "Remove one of them."
            )
            yield _FileWarning(("duplicate-fact", path_of_section, item.fact.id), problem)


def _folded_path(section: SectionPath) -> str:
    return join_path(section).casefold()
