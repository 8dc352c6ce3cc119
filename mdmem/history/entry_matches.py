"""Match the entries of changed files to those before the commit: which moved, which have no counterpart. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import TypeVar

from mdmem.history.differences import common_ends
from mdmem.history.file_changes import ChangedSections, EarlierTrail, FileChange
from mdmem.model import FactId, FilePath, SectionPath
from mdmem.model.trail import Entry, Occurrence
from mdmem.startup.records import dataclass

Old = TypeVar("Old")
New = TypeVar("New")
_FEW = 16
"""If a file has more than so many lines for each changed entry, the trail is asked for these entries and not for the whole file."""


@dataclass(frozen=True, slots=True)
class OldEntry:
    """An entry that does not continue as it was: its live occurrence, and the path that its section has now."""

    entry: Entry
    occurrence: Occurrence
    section: SectionPath


@dataclass(frozen=True, slots=True)
class MovedEntry:
    """An entry that continues elsewhere or in other words; the flags tell whether line and section are the same but for their names."""

    old: OldEntry
    entry: Entry
    same_line: bool
    same_section: bool


@dataclass(slots=True)
class EntryMatches:
    """The entries of one file by their fate. The unmatched ones have no counterpart in this file, or after `match_across` in any file."""

    change: FileChange
    sections: ChangedSections
    moved: list[MovedEntry]
    unmatched_old: list[OldEntry]
    unmatched_new: list[Entry]


def match_in_file(change: FileChange, sections: ChangedSections, trail: EarlierTrail) -> EntryMatches:
    """Match the entries within one file: by section, text and first line, then by section and fact."""
    old = change.before.entries(*sections.old_lines) if change.before else ()
    new = change.after.entries(*sections.new_lines) if change.after else ()
    if old and new and not change.is_renamed:
        start, end = common_ends([_identity(entry) for entry in old], [_identity(entry) for entry in new])
        old, new = old[start : len(old) - end], new[start : len(new) - end]
    section_now = _section_names(change, sections)
    pairs, old_rest, new_rest = pair_by_key(old, new, lambda entry: (section_now(entry), entry.text, entry.first_line), _identity)
    more, old_rest, new_rest = pair_by_key(old_rest, new_rest, _identity, _identity)
    same_line = [(before, after) for before, after in (*pairs, *more) if change.is_renamed or before.section != after.section]
    rewritten, old_rest, new_rest = pair_by_key(
        old_rest, new_rest, lambda entry: (section_now(entry), entry_content(entry)), lambda entry: (entry.section, entry_content(entry))
    )
    ended = sorted([*old_rest, *(before for before, _ in (*same_line, *rewritten))], key=lambda entry: entry.start_line)
    occurrences = _live_occurrences(ended, change, trail)
    by_line = {line: OldEntry(entry, occurrence, section_now(entry)) for line, (entry, occurrence) in occurrences.items()}
    moved = [MovedEntry(by_line[before.start_line], after, True, True) for before, after in same_line if before.start_line in by_line]
    moved += [MovedEntry(by_line[before.start_line], after, False, True) for before, after in rewritten if before.start_line in by_line]
    return EntryMatches(
        change=change,
        sections=sections,
        moved=moved,
        unmatched_old=[by_line[entry.start_line] for entry in old_rest if entry.start_line in by_line],
        unmatched_new=new_rest,
    )


def match_across(files: Sequence[EntryMatches]) -> None:
    """Match, by their texts, what went out of one section with what came into another: within each file first, then among all."""
    for file in files:
        pairs, file.unmatched_old, file.unmatched_new = pair_by_key(file.unmatched_old, file.unmatched_new, _old_content, entry_content)
        file.moved += [MovedEntry(old, entry, False, False) for old, entry in pairs]
    pairs, _, _ = pair_by_key(
        [old for file in files for old in file.unmatched_old],
        [entry for file in files for entry in file.unmatched_new],
        _old_content,
        entry_content,
    )
    if not pairs:
        return
    matched = {old.occurrence.number for old, _ in pairs}
    came_from = {(entry.path, entry.start_line): old for old, entry in pairs}
    for file in files:
        file.unmatched_old = [old for old in file.unmatched_old if old.occurrence.number not in matched]
        candidates, file.unmatched_new = file.unmatched_new, []
        for entry in candidates:
            old = came_from.get((entry.path, entry.start_line))
            if old:
                file.moved.append(MovedEntry(old, entry, False, False))
            else:
                file.unmatched_new.append(entry)


def pair_by_key(
    old: Iterable[Old], new: Iterable[New], old_key: Callable[[Old], Hashable], new_key: Callable[[New], Hashable]
) -> tuple[list[tuple[Old, New]], list[Old], list[New]]:
    """Pair items with the same key, one to one and in their order; with what remains of both."""
    olds, news = list(old), list(new)
    if not olds or not news:
        return [], olds, news
    waiting: dict[Hashable, deque[tuple[int, New]]] = {}
    for index, new_item in enumerate(news):
        waiting.setdefault(new_key(new_item), deque()).append((index, new_item))
    pairs: list[tuple[Old, New]] = []
    remaining: list[Old] = []
    taken: set[int] = set()
    for old_item in olds:
        group = waiting.get(old_key(old_item))
        if group:
            index, new_item = group.popleft()
            taken.add(index)
            pairs.append((old_item, new_item))
        else:
            remaining.append(old_item)
    return pairs, remaining, [new_item for index, new_item in enumerate(news) if index not in taken]


def _identity(entry: Entry) -> tuple[SectionPath, str, str]:
    return entry.section, entry.text, entry.first_line


def entry_content(entry: Entry) -> tuple[FactId | None, str]:
    """The key by which an entry is found again elsewhere: its fact, else its text."""
    return entry.fact, "" if entry.fact else entry.text


def _old_content(old: OldEntry) -> tuple[FactId | None, str]:
    return entry_content(old.entry)


def _section_names(change: FileChange, sections: ChangedSections) -> Callable[[Entry], SectionPath]:
    """A function that tells the path which the section of an old entry has now."""
    new_paths = sections.new_paths

    def section_now(entry: Entry) -> SectionPath:
        section = change.before.document.section_at(entry.start_line - 1) if change.before else None
        return new_paths.get(section.index + 1, entry.section) if section else entry.section

    return section_now


def _live_occurrences(entries: Sequence[Entry], change: FileChange, trail: EarlierTrail) -> dict[int, tuple[Entry, Occurrence]]:
    """The occurrences of old entries (in file order), by line; of equal ones those that began last."""
    occurrences = _candidates(entries, change.before_path, len(change.before.document.lines) if change.before else 0, trail)
    equal: dict[Hashable, list[Occurrence]] = {}
    for occurrence in occurrences:
        equal.setdefault(_identity(occurrence.entry), []).append(occurrence)
    by_line = {}
    for entry in reversed(entries):
        group = equal.get(_identity(entry))
        if group:
            by_line[entry.start_line] = entry, group.pop()
    return by_line


def _candidates(entries: Sequence[Entry], path: FilePath, lines: int, trail: EarlierTrail) -> Iterable[Occurrence]:
    """The live occurrences in a file of so many lines; only those of the entries' facts where few entries changed."""
    if len(entries) * _FEW < lines and all(entry.fact for entry in entries):
        facts = {entry.fact for entry in entries if entry.fact}
        every = chain.from_iterable(map(trail.occurrences_of, facts))
        return [occurrence for occurrence in every if occurrence.ended is None and occurrence.entry.path == path]
    return trail.live_occurrences(path) if entries else ()
