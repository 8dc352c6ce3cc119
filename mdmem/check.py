"""What is unacceptable (`error`) or doubtful (`warning`) in a change to a memory file, or in the file as it stands. Pure.

A change is judged by the lines it adds and the lines it loses, and warned of only for what it brings about. Everything here is
linear in the size of the file; it is parsed only where that decides something.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from mdmem import secrets
from mdmem.addresses import join_path
from mdmem.config import Settings
from mdmem.document import BlockKind, Document, lines_without_ends, parse, parse_bytes, plain_title
from mdmem.errors import PathProblem
from mdmem.facts import items
from mdmem.layout import CURATED_NAMES, day_of
from mdmem.model import FileKind, FilePath, Problem, SectionPath
from mdmem.model.rules import require_allowances
from mdmem.startup.records import dataclass, replace
from mdmem.wording import field

_ALLOWED_CODES = {"append": "append", "secret": "secret-found", "shrink": "shrink"}
"""The codes of what is let through, by the names of `ALLOWANCES`."""

_GUARDED_LINES = 40
"""A memory file of so many lines or more may not lose more than half of them in one change."""
_QUOTED = 60
_TIME = re.compile(r"\d{2}:\d{2}")
_OURS = re.compile(r"<{7}(?: |$)")
_MIDDLE = re.compile(r"={7}$")
_THEIRS = re.compile(r">{7}(?: |$)")


@dataclass(frozen=True, slots=True)
class _FileWarning:
    """A warning and what it is about: `about` stays the same while lines move and counts change."""

    about: tuple[str, ...]
    problem: Problem


def parse_allowances(text: str) -> frozenset[str]:
    """The refusals that `text`, of MDMEM_ALLOW (names joined by commas), lets through.

    Raises:
        UsageProblem: it names one that cannot be let through, or that does not exist.
    """
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    require_allowances("MDMEM_ALLOW", names)
    return names


def refusals(problems: Iterable[Problem], allow: Collection[str]) -> tuple[Problem, ...]:
    """The errors that `allow` does not let through."""
    let_through = {_ALLOWED_CODES[name] for name in allow if name in _ALLOWED_CODES}
    return tuple(problem for problem in problems if problem.level == "error" and problem.code not in let_through)


def check(
    path: FilePath, before: bytes | None, after: bytes | None, kind: FileKind, settings: Settings, renamed_from: str | None = None
) -> tuple[Problem, ...]:
    """The problems of a change to one file, in the order of their lines.

    Args:
        path: the file's path, after the change.
        before: what the file held, under its old name if it was renamed; None where there was none.
        after: what it holds; None where it is gone.
        kind: what the file is to memory; only memory files have problems.
        settings: the budgets.
        renamed_from: its old path, where it was renamed.
    """
    if not kind.is_memory:
        return ()
    warnings = () if after is None else _brought_about(path, before, after, settings)
    return _by_line([*find_errors(path, before, after, kind, renamed_from), *warnings])


def find_errors(
    path: FilePath, before: bytes | None, after: bytes | None, kind: FileKind, renamed_from: str | None = None
) -> tuple[Problem, ...]:
    """The part of `check` that can refuse a change, for those who need no more: as a rule it costs no parsing."""
    if not kind.is_memory:
        return ()
    old, new = _lines(before), _lines(after)
    added = _added(old, new)
    losses = _losses(path, old, new, after is None, kind, renamed_from)
    return _by_line([*losses, *_not_utf8(path, new, added), *_conflicts(path, new, added), *_secrets(path, new, added)])


def shrinks_too_much(before: bytes | None, after: bytes | None) -> bool:
    """Whether a change takes more lines out of a memory file than it may."""
    return _mostly_lost(_lines(before), _lines(after)) > 0


def check_file(path: FilePath, data: bytes, kind: FileKind, settings: Settings) -> tuple[Problem, ...]:
    """What is wrong with a file as it stands: warnings, and the secrets in it; in the order of their lines."""
    if not kind.is_memory:
        return ()
    lines = _lines(data)
    return _by_line([*(finding.problem for finding in _state(path, data, settings)), *_secrets(path, lines, set(range(len(lines))))])


def added_secrets(path: FilePath, before: bytes | None, after: bytes | None, kind: FileKind) -> tuple[Problem, ...]:
    """The secrets among the lines that a change adds to a memory file."""
    if not kind.is_memory:
        return ()
    new = _lines(after)
    return tuple(_secrets(path, new, _added(_lines(before), new)))


def _by_line(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.line))


# What a change adds and loses, line by line.


def _lines(data: bytes | None) -> list[str]:
    """The lines of a file without their ends; bytes that are not UTF-8 stay what they are, as surrogates."""
    return lines_without_ends((data or b"").decode("utf-8", "surrogateescape"))


def _added(old: list[str], new: list[str]) -> set[int]:
    """The numbers (from 0) of the lines that a change adds; lines that only move are not added."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < min(len(old), len(new)) - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone = Counter(old[start : len(old) - tail])
    added = set()
    for number in range(start, len(new) - tail):
        if gone[new[number]]:
            gone[new[number]] -= 1
        else:
            added.add(number)
    return added


def _losses(path: str, old: list[str], new: list[str], removed: bool, kind: FileKind, renamed_from: str | None) -> Iterator[Problem]:
    was_daily = day_of(renamed_from) is not None if renamed_from else kind is FileKind.DAILY
    if not was_daily:
        yield from _shrunk(path, old, new)
    elif renamed_from:
        yield Problem(path, 1, "append", "warning", f"the daily log {renamed_from} is renamed")
        title = f"# {day_of(renamed_from)}"
        for problem in _rewritten(path, ["" if line.strip() == title else line for line in old], new):
            yield replace(problem, level="warning", hint="Put it back and add a new entry below.")
    elif removed:
        yield Problem(path, 1, "append", "warning", "the daily log is removed as a whole")
    else:
        yield from _rewritten(path, old, new)


def _shrunk(path: str, old: list[str], new: list[str]) -> Iterator[Problem]:
    if lost := _mostly_lost(old, new):
        message = f"{lost} of the file's {len(old)} lines would be gone"
        yield Problem(path, 1, "shrink", "error", message, f"If that is meant: {field('allow')} shrink (MDMEM_ALLOW=shrink git commit …).")


def _mostly_lost(old: list[str], new: list[str]) -> int:
    """How many lines of a file are lost that may not lose so many; 0 where it may."""
    there = Counter(line.strip() for line in new)
    lost = sum(max(0, count - there[line]) for line, count in Counter(line.strip() for line in old).items())
    return lost if len(old) >= _GUARDED_LINES and lost * 2 > len(old) else 0


def _rewritten(path: str, old: list[str], new: list[str]) -> Iterator[Problem]:
    """A daily log is only added to: without the added lines every earlier one still stands, in its order."""
    place = _first_lost(old, new)
    if place is None:
        return
    # Front matter is no entry; it counts only now, as finding it takes a parser.
    old_front, new_front = _front_lines(old), _front_lines(new)
    place = _first_lost(old[old_front:], new[new_front:])
    if place is None:
        return
    lost, line = place
    message = f"an earlier entry of the daily log is lost or changed: {_quote(old[old_front + lost])}"
    hint = f"Put it back and add a new entry below. If it must go: {field('allow')} append (MDMEM_ALLOW=append git commit …)."
    yield Problem(path, min(new_front + line + 1, max(len(new), 1)), "append", "error", message, hint)


def _first_lost(old: list[str], new: list[str]) -> tuple[int, int] | None:
    """The first line of `old` that is not in `new` in its order, and where in `new` it ought to stand; None where all are.

    Blank lines and white space at the end of a line do not count.
    """
    reached = 0
    for number, line in enumerate(old):
        wanted = line.rstrip()
        if not wanted:
            continue
        found = next((i for i in range(reached, len(new)) if new[i].rstrip() == wanted), None)
        if found is None:
            return number, reached
        reached = found + 1
    return None


def _front_lines(lines: list[str]) -> int:
    try:
        return parse("\n".join(lines)).front
    except PathProblem:
        return 0  # nested too deeply to be parsed: every line counts


def _quote(line: str) -> str:
    words = line.strip().encode("utf-8", "replace").decode()
    return repr(words if len(words) <= _QUOTED else words[: _QUOTED - 1] + "…")


# What a change must not add.


def _not_utf8(path: str, new: list[str], added: set[int]) -> Iterator[Problem]:
    broken = [number for number in added if not _is_utf8(new[number])]
    if broken:
        message = "the text is not UTF-8" if len(broken) == 1 else f"the text is not UTF-8, in {len(broken)} lines from here on"
        yield Problem(path, min(broken) + 1, "not-utf8", "error", message, "Convert the file: iconv -t UTF-8.")


def _is_utf8(line: str) -> bool:
    return line.isascii() or not any("\udc80" <= c <= "\udcff" for c in line)


def _conflicts(path: str, new: list[str], added: set[int]) -> Iterator[Problem]:
    found = [marks for marks in _conflict_sets(new) if added.intersection(marks)]
    code = _code_lines(new) if found else set()
    for start in (marks[0] for marks in found if marks[0] not in code):
        hint = "Resolve the conflict and stage the file again."
        yield Problem(path, start + 1, "conflict-markers", "error", "conflict markers are left in the text", hint)


def _secrets(path: str, new: list[str], added: set[int]) -> Iterator[Problem]:
    """Secrets in the added lines; their values are for no message."""
    numbers = sorted(added)
    for secret in secrets.find("\n".join(new[number] for number in numbers)):
        message = f"what looks like a secret ({secret.kind}) stands here"
        hint = f"Take it out. If it is none: {secrets.ALLOW_COMMENT} on the line, or {field('allow')} secret (MDMEM_ALLOW=secret git commit …)."
        yield Problem(path, numbers[secret.line - 1] + 1, "secret-found", "error", message, hint, secret.kind)


def _conflict_sets(lines: list[str]) -> Iterator[tuple[int, int, int]]:
    """The numbers (from 0) of the `<<<<<<<`, `=======` and `>>>>>>>` of each set, complete and in that order."""
    ours: int | None = None
    middle: int | None = None
    for number, line in enumerate(lines):
        if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>"):
            continue
        if _OURS.match(line):
            ours, middle = number, None
        elif _MIDDLE.match(line) and ours is not None and middle is None:
            middle = number
        elif _THEIRS.match(line) and ours is not None and middle is not None:
            yield ours, middle, number
            ours = middle = None


def _code_lines(lines: list[str]) -> set[int]:
    """The numbers of the lines in code blocks. Only these can hold a marker in the first column: nested ones are indented."""
    try:
        blocks = parse("\n".join(lines)).blocks
    except PathProblem:
        return set()  # nested too deeply to be parsed: every line counts
    return {number for block in blocks if block.kind is BlockKind.CODE for number in range(block.start, block.end)}


# What a file is warned of.


def _brought_about(path: str, before: bytes | None, after: bytes, settings: Settings) -> Iterator[Problem]:
    """The warnings that the file deserves after the change and did not before."""
    found = _state(path, after, settings)
    if not found:
        return
    known = Counter(finding.about for finding in _state(path, before or b"", settings))
    for finding in found:
        if known[finding.about]:
            known[finding.about] -= 1
        else:
            yield finding.problem


def _state(path: str, data: bytes, settings: Settings) -> list[_FileWarning]:
    try:
        document = parse_bytes(data)
    except PathProblem as failure:
        return [*_over_budget(path, data, settings), _unsupported(path, failure)]
    return [*_over_budget(path, data, settings), *_duplicate_headings(path, document), *_duplicate_facts(path, document)]


def _unsupported(path: str, failure: PathProblem) -> _FileWarning:
    message = f"{failure.message}; it is neither edited nor searched"
    return _FileWarning(("unsupported-file",), Problem(path, 1, "unsupported-file", "warning", message, failure.hint))


def _over_budget(path: str, data: bytes, settings: Settings) -> Iterator[_FileWarning]:
    if path not in CURATED_NAMES:
        return
    lines, size = len(_lines(data)), len(data)
    if lines > settings.budget_lines or size > settings.budget_bytes:
        budget = f"{settings.budget_lines:,} lines and {settings.budget_bytes:,} bytes"
        message = f"the file has {lines:,} lines and {size:,} bytes; its budget is {budget}"
        hint = "Move what is seldom needed into a file of its own under memory/."
        yield _FileWarning(("over-budget",), Problem(path, 1, "over-budget", "warning", message, hint))


def _duplicate_headings(path: str, document: Document) -> Iterator[_FileWarning]:
    """Headings that stand twice under one parent. Times of day may: a log's hours come as they come."""
    parents: list[tuple[int, int]] = []
    seen: dict[tuple[int, str], int] = {}
    for section in document.sections:
        while parents and parents[-1][0] >= section.level:
            parents.pop()
        parent = parents[-1][1] if parents else -1
        parents.append((section.level, section.index))
        name = plain_title(section.title).casefold()
        if not name or _TIME.fullmatch(name):
            continue
        first = seen.setdefault((parent, name), section.start + 1)
        if first != section.start + 1:
            message = f"the heading {_quote(section.title)} stands in line {first} already, under the same parent"
            problem = Problem(path, section.start + 1, "duplicate-heading", "warning", message, "Join the two, or rename one.")
            yield _FileWarning(("duplicate-heading", _about(section.path)), problem)


def _duplicate_facts(path: str, document: Document) -> Iterator[_FileWarning]:
    starts = [section.start for section in document.sections]
    seen: dict[tuple[int, str], int] = {}
    for item in items(document):
        place = bisect_right(starts, item.start) - 1
        first = seen.setdefault((place, item.fact.id), item.start + 1)
        if first != item.start + 1:
            where = _about(document.sections[place].path) if place >= 0 else ""
            message = f"the fact {item.fact.id} stands in line {first} already, in the same section: {_quote(item.fact.text)}"
            problem = Problem(path, item.start + 1, "duplicate-fact", "warning", message, "Take one of them out.")
            yield _FileWarning(("duplicate-fact", where, item.fact.id), problem)


def _about(section: SectionPath) -> str:
    return join_path(section).casefold()
