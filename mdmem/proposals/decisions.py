"""The decisions on parts that stand in history: trailers of accepting commits, and of empty ones that reject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from mdmem import history
from mdmem.editors import likeness
from mdmem.facts import parse_item
from mdmem.history.notes import parse_message
from mdmem.model import CommitId, FactId, FilePath
from mdmem.model.proposals import PartName, PartState
from mdmem.repo import Repository, branch_commits
from mdmem.startup import late
from mdmem.startup.records import dataclass

_TRAILER = late.pattern(r"([0-9a-f]{8}) (\S.*)")
_PATTERN = "^Mdmem-(Accepts|Rejects): [0-9a-f]{8} "
_REJECTS = "^Mdmem-Rejects: [0-9a-f]{8} "


@dataclass(frozen=True, slots=True)
class DecidedPart:
    """A part on which a person decided: where it was to stand, and the line, as far as the commit quotes it."""

    proposal: str
    name: PartName
    state: PartState
    commit: CommitId
    time: datetime
    path: FilePath | None
    section: str
    text: str | None
    is_removal: bool = False
    """The part was to take the fact out."""


def decisions(repository: Repository, tip: CommitId | None) -> dict[tuple[str, PartName], DecidedPart]:
    """All decisions in the history of a commit, by proposal and part; of several the newest."""
    decided: dict[tuple[str, PartName], DecidedPart] = {}
    for commit, time, message in branch_commits.messages_with(repository, _PATTERN, tip):
        for part in _decided(commit, time, message):
            decided.setdefault((part.proposal, part.name), part)
    return decided


def rejected_parts(repository: Repository, tip: CommitId | None) -> list[DecidedPart]:
    """The rejected parts in the history of a commit, newest first."""
    rows = branch_commits.messages_with(repository, _REJECTS, tip)
    return [part for row in rows for part in _decided(*row) if part.state is PartState.REJECTED]


def _decided(commit: CommitId, time: int, message: str) -> Iterator[DecidedPart]:
    trailers = history.parse_trailers(message)
    note = parse_message(message)
    quotes: Mapping[FactId, str] = {parse_item(f"- {line[2:]}").id: line for line in message.split("\n") if line.startswith(("- ", "+ "))}
    for name, state in (("Accepts", PartState.ACCEPTED), ("Rejects", PartState.REJECTED)):
        for value in trailers.get(name, ()):
            if match := _TRAILER.fullmatch(value):
                quote = quotes.get(FactId(match[2]))
                # A rejection quotes how memory stays: without what was proposed, with what was to go.
                is_removal = state is PartState.REJECTED and quote is not None and quote.startswith("+")
                yield DecidedPart(
                    proposal=match[1],
                    name=match[2],
                    state=state,
                    commit=commit,
                    time=datetime.fromtimestamp(time, UTC),
                    path=note.path,
                    section=note.section,
                    text=quote[2:] if quote else None,
                    is_removal=is_removal,
                )


def says_the_same(part: DecidedPart, fact: FactId, text: str) -> bool:
    """True if a rejected part says what a fact says, in these or nearly these words."""
    return part.name == fact or (part.text is not None and likeness.resemble(text, part.text))
