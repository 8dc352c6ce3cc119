"""Memory replayed commit by commit, without git: each change goes through `build_step` into a
trail.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import pytest

from mdmem.folder.layout import log_day
from mdmem.model import (
    CommitId,
    FactId,
    FilePath,
    Op,
    Provenance,
    SectionPath,
    Source,
    Supersession,
)
from mdmem.model.trail import Entry, Mark, Occurrence, Revision, TrailCommit
from mdmem.past.file_changes import FileChange, FileVersion
from mdmem.past.messages import CommitNote, compose_message
from mdmem.past.replay import build_step
from mdmem.past.steps import Step, with_past
from mdmem.past.table import Trail
from mdmem.text import frontmatter
from mdmem.text.document import parse
from mdmem.text.facts import parse_text

MEMORY = FilePath("MEMORY.md")
TOPIC = FilePath("memory/topic.md")
LOG = FilePath("memory/2026-03-05.md")
FACTS: SectionPath = ("Memory", "Facts")


def page(text: str | None, path: FilePath) -> FileVersion | None:
    if text is None:
        return None
    document = parse(text)
    return FileVersion(document, path, frontmatter.tags(document))


def fact(words: str) -> FactId:
    return parse_text(words).id


def commit_id(number: int) -> CommitId:
    return CommitId(f"{number:04x}".ljust(40, "0"))


def message(
    op: Op,
    *pairs: tuple[str, str | None],
    path: FilePath = MEMORY,
    section: SectionPath = FACTS,
    source: Source = Source.INFERRED,
    also: bool = False,
    retracts: Sequence[str] = (),
    contradicts: Sequence[tuple[str, str]] = (),
    reverts: Sequence[CommitId] = (),
) -> str:
    """The message of a commit of mdmem; facts are named by their words."""
    note = CommitNote(
        op,
        path,
        section,
        Provenance(source, source.confidence),
        supersedes=tuple(
            Supersession(fact(old), fact(new)) for old, new in pairs if new is not None
        ),
        ended=tuple(fact(old) for old, new in pairs if new is None),
        also=also,
        retracts=tuple(map(fact, retracts)),
        contradicts=tuple((fact(first), fact(second)) for first, second in contradicts),
        reverts=tuple(reverts),
    )
    return compose_message(note)


@dataclass
class ReplayedMemory:
    """The files after the commits replayed so far, and the trail of these commits."""

    trail: Trail = field(default_factory=Trail.in_memory)
    files: dict[FilePath, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.trail.close()

    def commit(
        self,
        changes: Mapping[FilePath, str | None],
        message: str = "by hand",
        *,
        renamed: Mapping[FilePath, FilePath] | None = None,
    ) -> Step:
        """One commit; `renamed` has a new path and the one before."""
        number = (self.trail.newest_commit.number if self.trail.newest_commit else 0) + 1
        file_changes = []
        for path, text in changes.items():
            earlier = (renamed or {}).get(path, path)
            file_changes.append(
                FileChange(path, earlier, page(self.files.get(earlier), earlier), page(text, path))
            )
        for path in (renamed or {}).values():
            self.files.pop(path, None)
        for path, text in changes.items():
            if text is None:
                self.files.pop(path, None)
            else:
                self.files[path] = text
        earlier_commit = self.trail.newest_commit
        commit = with_past(
            TrailCommit(
                number, commit_id(number), number * 100, "Ada", message, committed=number * 100
            ),
            [earlier_commit] if earlier_commit else [],
        )
        step = build_step(
            commit,
            file_changes,
            self.trail,
            is_log=lambda path: log_day(path) is not None,
            brought_by=lambda commit: (),
        )
        self.trail.append(commit, step)
        return step

    def write(self, text: str | None, message: str = "by hand", path: FilePath = MEMORY) -> Step:
        return self.commit({path: text}, message)

    def newest_occurrence(self, words: str) -> Occurrence:
        """The newest occurrence of a fact."""
        return self.trail.occurrences_of(fact(words))[-1]

    def marks_on(self, words: str) -> tuple[Mark, ...]:
        return self.trail.marks_of(self.newest_occurrence(words).number)

    def section(self, *path: str, file: FilePath = MEMORY) -> Revision:
        return next(
            revision for revision in self.trail.live_revisions(file) if revision.section == path
        )

    def require_match_with_files(self) -> None:
        """Assert that the live part of the trail is what parsing the files gives."""
        for path in {*self.files, MEMORY, TOPIC, LOG}:
            now = page(self.files.get(path), path)
            entries = now.entries() if now else ()
            assert sorted(map(_identity, entries), key=repr) == sorted(
                (_identity(occurrence.entry) for occurrence in self.trail.live_occurrences(path)),
                key=repr,
            )
            assert sorted(
                (row.section, row.nth, row.text) for row in self.trail.live_revisions(path)
            ) == sorted(sections(self.files.get(path)))


@pytest.fixture
def replayed() -> Iterator[ReplayedMemory]:
    with ReplayedMemory() as memory_without_git:
        yield memory_without_git


def _identity(entry: Entry) -> tuple[FilePath, SectionPath, str, str]:
    return entry.path, entry.section, entry.text, entry.first_line


def sections(text: str | None) -> list[tuple[SectionPath, int, str]]:
    """The texts of the sections of a file, worked out in the simplest way."""
    if text is None:
        return []
    document = parse(text)
    spans = [
        ((), document.front, document.preamble_end),
        *((s.path, s.start, s.end) for s in document.sections),
    ]
    texts: list[tuple[SectionPath, int, str]] = []
    for path, start, end in spans:
        lines = list(document.lines[start:end])
        while lines and not lines[-1].strip(" \t\r\n"):
            lines.pop()
        if lines:
            texts.append(
                (
                    path,
                    1 + sum(path == earlier for earlier, _, _ in texts),
                    "".join(lines).rstrip("\r\n"),
                )
            )
    return texts


def memory(*items: str) -> str:
    """MEMORY.md with these facts in one section."""
    return "# Memory\n\n## Facts\n\n" + "".join(f"- {item}\n" for item in items)
