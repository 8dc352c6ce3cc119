"""Memory told commit by commit, without git: each change goes through `step` into a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import pytest

from mdmem.document import parse
from mdmem.editors import frontmatter
from mdmem.facts import parse_text
from mdmem.history import CommitNote, compose_message
from mdmem.history.replay import FileChange, Page, build_step
from mdmem.model import CommitId, FactId, FilePath, Op, Provenance, SectionPath, Source, Supersession
from mdmem.model.trail import Commit, Entry, MainlineCommit, Mark, Occurrence, Origin, Revision
from mdmem.trail import Step, Trail

MEMORY = FilePath("MEMORY.md")
TOPIC = FilePath("memory/topic.md")
LOG = FilePath("memory/2026-03-05.md")
FACTS: SectionPath = ("Memory", "Facts")


def page(text: str | None, path: FilePath) -> Page | None:
    if text is None:
        return None
    document = parse(text)
    return Page(document, path, frontmatter.tags(document))


def fact(words: str) -> FactId:
    return parse_text(words).id


def commit_id(number: int) -> CommitId:
    return CommitId(f"{number:040x}")


def said(
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
    """The message of a commit of mdmem's; facts are given by their words."""
    note = CommitNote(
        op,
        path,
        section,
        Provenance(source, source.confidence),
        supersedes=tuple(Supersession(fact(old), fact(new)) for old, new in pairs if new is not None),
        ended=tuple(fact(old) for old, new in pairs if new is None),
        also=also,
        retracts=tuple(map(fact, retracts)),
        contradicts=tuple((fact(one), fact(other)) for one, other in contradicts),
        reverts=tuple(reverts),
    )
    return compose_message(note, "", "")


@dataclass
class Told:
    """Files as they are after the commits that were told so far."""

    known: Trail = field(default_factory=Trail.in_memory)
    files: dict[FilePath, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.known.close()

    def commit(
        self,
        changes: Mapping[FilePath, str | None],
        message: str = "by hand",
        *,
        renamed: Mapping[FilePath, FilePath] | None = None,
        side: Sequence[Commit] = (),
        brought: Mapping[FilePath, Mapping[str, Origin]] | None = None,
    ) -> Step:
        """One commit; `renamed` has a new path and the one before."""
        number = (self.known.newest_commit.number if self.known.newest_commit else 0) + 1
        found = []
        for path, text in changes.items():
            earlier = (renamed or {}).get(path, path)
            found.append(FileChange(path, earlier, page(self.files.get(earlier), earlier), page(text, path)))
        for path in (renamed or {}).values():
            self.files.pop(path, None)
        for path, text in changes.items():
            if text is None:
                self.files.pop(path, None)
            else:
                self.files[path] = text
        landmark = MainlineCommit(number, commit_id(number), number * 100, "Ada", message)
        done = build_step(landmark, found, self.known, side, brought or {})
        self.known.append(landmark, done)
        return done

    def write(self, text: str | None, message: str = "by hand", path: FilePath = MEMORY) -> Step:
        return self.commit({path: text}, message)

    def one(self, words: str) -> Occurrence:
        """The newest occurrence of a fact."""
        return self.known.occurrences_of(fact(words))[-1]

    def marked(self, words: str) -> tuple[Mark, ...]:
        return self.known.marks_of(self.one(words).number)

    def section(self, *path: str, file: FilePath = MEMORY) -> Revision:
        return next(one for one in self.known.live_revisions(file) if one.section == path)

    def require_that_it_is_what_the_files_say(self) -> None:
        """What stands in the table is what a parse of the files gives."""
        for path in {*self.files, MEMORY, TOPIC, LOG}:
            now = page(self.files.get(path), path)
            listed = now.entries() if now else ()
            assert sorted(map(_told, listed), key=repr) == sorted((_told(one.entry) for one in self.known.live_occurrences(path)), key=repr)
            assert sorted((one.section, one.nth, one.text) for one in self.known.live_revisions(path)) == sorted(
                sections(self.files.get(path))
            )


@pytest.fixture
def told() -> Iterator[Told]:
    with Told() as started:
        yield started


def _told(entry: Entry) -> tuple[FilePath, SectionPath, str, str]:
    return entry.path, entry.section, entry.text, entry.first_line


def sections(text: str | None) -> list[tuple[SectionPath, int, str]]:
    """The texts of a file's sections, worked out in the plainest way."""
    if text is None:
        return []
    document = parse(text)
    spans = [((), document.front, document.preamble_end), *((s.path, s.start, s.end) for s in document.sections)]
    found: list[tuple[SectionPath, int, str]] = []
    for path, start, end in spans:
        lines = list(document.lines[start:end])
        while lines and not lines[-1].strip(" \t\r\n"):
            lines.pop()
        if lines:
            found.append((path, 1 + sum(path == other for other, _, _ in found), "".join(lines).rstrip("\r\n")))
    return found


def memory(*items: str) -> str:
    """MEMORY.md with these facts in one section."""
    return "# Memory\n\n## Facts\n\n" + "".join(f"- {item}\n" for item in items)
