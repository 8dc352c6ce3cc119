"""The current entries that a new line may correct.

They come from the index as it is, and from the files that a few newer commits have changed. Little
text is compared, so that a write hardly waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mdmem.editors import corrections
from mdmem.editors.likeness import content_words
from mdmem.folder import files, layout
from mdmem.index.indexer import KeptIndex
from mdmem.index.snapshot import INDEX_NAME, seen_commit
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op
from mdmem.model.trail import Entry
from mdmem.past.messages import parse_note, quoted_line
from mdmem.repo.first_parent import newest_changes
from mdmem.text import languages
from mdmem.text.facts import entries
from mdmem.workspace import Workspace

_NEAREST = 16
"""The entries of the index, and as many of new commits, that are compared with the new line."""
_MOST_COMMITS, _MOST_BYTES = 32, 50_000
"""Limits of the commits that the index has not seen: if there are more, none is read."""
_MOST_CHARACTERS = 6_000
"""The characters that are compared, the nearest entries first: a few milliseconds."""


def similar_entries(
    workspace: Workspace, commit: CommitId, text: str
) -> tuple[Sequence[Entry], bool]:
    """The entries up to a commit that a text resembles, most alike first.

    And whether the text says that something ended. Raises MdmemError, OSError (a damaged index).
    """
    seen = seen_commit(workspace.state / INDEX_NAME)
    words = corrections.words_to_search(text)
    nearest = _nearest_indexed(workspace, words) if seen else iter(())
    if seen != commit:
        nearest = _with_changes(workspace, nearest, words, commit, seen)
    room = _MOST_CHARACTERS
    alike: list[tuple[float, Entry]] = []
    for entry in nearest:
        room -= len(entry.text) + len(text)
        if room < 0:
            break
        likeness = corrections.correction_likeness(entry.text, text)
        alike += [(likeness, entry)] if likeness and _may_concern(entry.key, text) else []
    ranked = [entry for _, entry in sorted(alike, key=lambda pair: -pair[0])]
    return ranked, corrections.ends_something(text)


def _may_concern(key: str | None, text: str) -> bool:
    """False for an attribute of the user where the new line is about somebody else."""
    return (
        key is None
        or languages.attribute_named(key) is None
        or not languages.speaks_of_another(text)
    )


def _nearest_indexed(workspace: Workspace, words: str) -> Iterator[Entry]:
    folder, language = workspace.state / INDEX_NAME, workspace.settings.language
    index = workspace.resources.get(KeptIndex).index(folder, language)
    for row in index.finder.with_words(words, workspace.now().date(), _NEAREST):
        if row.entry.fact and _is_written_to(workspace, row.entry.path):
            yield row.entry


def _is_written_to(workspace: Workspace, path: FilePath) -> bool:
    read_only = workspace.settings.extra_paths
    return workspace.kind_of(path) is not FileKind.BOOTSTRAP and not layout.within(path, read_only)


def _with_changes(
    workspace: Workspace,
    indexed: Iterable[Entry],
    words: str,
    commit: CommitId,
    seen: CommitId | None,
) -> Iterator[Entry]:
    """With the nearest entries of files that unseen commits changed, without what they ended."""
    changes = newest_changes(workspace.repository, commit, seen, _MOST_COMMITS) or ()
    paths = dict.fromkeys(path for _, changed in changes for path in changed)
    ended: set[FactId] = set()
    forgotten: set[str] = set()
    for message, _ in changes:
        lines = message.splitlines()
        note = parse_note(lines, None)
        ended.update(note.retracts, (old for old, _ in note.supersedes))
        if note.op == Op.FORGET and not note.only:
            forgotten.update(line[2:] for line in lines if line.startswith("- "))
    for entry in (*_nearest_in_files(workspace, paths, words), *indexed):
        if entry.fact not in ended and quoted_line(entry.first_line) not in forgotten:
            yield entry


def _nearest_in_files(workspace: Workspace, paths: Iterable[FilePath], words: str) -> list[Entry]:
    today, wanted = workspace.now().date(), _words(words)
    room = _MOST_BYTES
    shared: list[tuple[int, Entry]] = []
    for path in paths:
        if not _is_written_to(workspace, path):
            continue
        data = files.read(files.path_on_disk(workspace.root, path)) or b""
        room -= len(data)
        if room < 0:
            break
        document = workspace.parse(path, data)
        for entry in entries(document, path, daily=workspace.daily):
            number = len(wanted & _words(entry.text)) if entry.fact else 0
            if number and (entry.until is None or entry.until >= today):
                shared.append((number, entry))
    return [entry for _, entry in sorted(shared, key=lambda pair: -pair[0])[:_NEAREST]]


def _words(text: str) -> frozenset[str]:
    return frozenset(word.text for word in content_words(text))
