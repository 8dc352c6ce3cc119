"""Lines that git brought into a file, where the text on the disk is no plain edit of a person's.

A pull that was killed half-way leaves the text of a commit that HEAD lacks. An editor that had a file open before a pull saves
an old text over what came in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mdmem import history, trust
from mdmem.history.notes import parse_message
from mdmem.history.sources import line_origins
from mdmem.layout import is_markdown
from mdmem.merges import merge_texts
from mdmem.model import CommitId, FilePath, Provenance, Source
from mdmem.model.trail import Origin as LineOrigin
from mdmem.repo import incoming
from mdmem.repo.incoming import BranchMove
from mdmem.startup.records import dataclass
from mdmem.trust import TextOrigin
from mdmem.wording import number_of
from mdmem.workspace import Workspace

_SECONDS = 86_400
"""The time after a pull in which an editor may still hold the text of before."""


# A pull that was killed.


def message_of_pulled_text(workspace: Workspace, path: FilePath, head: CommitId, committed: bytes | None, data: bytes) -> str | None:
    """The message for the commit of a text that no person typed; None where they did.

    Each line has the source that its own commit gives it. A commit of ours has the name of none but the user: what others
    stated is inferred.
    """
    commit = incoming.find_text(workspace.repository, path, data)
    if commit is None:
        return None
    origins = line_origins(incoming.added_lines(workspace.repository, commit, head)).get(path, {})
    addresses = workspace.user_addresses
    notes = {line: _note(origin, trust.other_author(origin.author, addresses) is None) for line, origin in origins.items()}
    _, added = history.changed_lines(*(text.decode("utf-8", "replace") for text in (committed or b"", data)))
    weakest = min(notes.values(), key=lambda note: note[0].source.strength, default=(Provenance(source=Source.AUTO), None))
    groups: dict[tuple[Provenance, str | None], list[str]] = {weakest: []}
    for line in added:
        groups.setdefault(notes.get(line.strip(), weakest), []).append(line)
    return history.compose_pulled_save(path, [(*note, lines) for note, lines in groups.items()])


def _note(origin: LineOrigin, is_own: bool) -> tuple[Provenance, str | None]:
    source = origin.source if is_own else trust.limit_source(TextOrigin.PROPOSAL, origin.source) or Source.AUTO
    confidence = origin.confidence if source is origin.source else source.confidence
    return Provenance(source=source, confidence=confidence), origin.claimed_by


# An old text that was saved over what a pull brought in.


@dataclass(frozen=True, slots=True)
class KeptText:
    """A saved text with the lines that it was saved over, and a line for the user."""

    data: bytes
    note: str


def with_pulled_lines(workspace: Workspace, path: FilePath, branch: str | None, committed: bytes, data: bytes) -> KeptText | None:
    """A person's save merged with what a pull of the last day brought into the file, of which the save knows nothing.

    None where it takes out only some of that, or nothing but that, or the person has saved the file since: that is meant.

    Args:
        workspace: the workspace.
        path: the file.
        branch: the branch that HEAD is on.
        committed: what HEAD holds of the file.
        data: what was saved.
    """
    moves = incoming.branch_moves(workspace.repository, branch) if branch and is_markdown(path) else []
    for move, base, since in _landings(workspace, path, moves):
        if base == data or not (undone := _undone_lines(base, committed, data)) or _was_saved(workspace, path, since):
            continue
        merged = merge_texts(base, committed, data, workspace.kind_of(path)).data
        if merged is not None and merged != data:
            return KeptText(merged, f"{path}: {_kept(workspace, move, undone)}")
    return None


def _landings(
    workspace: Workspace, path: FilePath, moves: Sequence[BranchMove]
) -> Iterator[tuple[BranchMove, bytes, Sequence[BranchMove]]]:
    """The pulls of the last day, oldest first, each with the file as it was before and the moves since."""
    now = workspace.now().timestamp()
    recent = [number for number, move in enumerate(moves) if move.is_landing and abs(now - move.time) <= _SECONDS]
    names = [f"{moves[number].before}:{workspace.repository.prefix}{path}" for number in recent]
    for number, base in zip(recent, workspace.repository.blobs(names), strict=True):
        if base is not None:
            yield moves[number], base, moves[number + 1 :]


@dataclass(frozen=True, slots=True)
class _UndoneLines:
    """The numbers of lines of HEAD that a save takes out, and of lines that it brings back."""

    added: int
    removed: int


def _undone_lines(base: bytes, committed: bytes, data: bytes) -> _UndoneLines | None:
    """All that came into a file since a version of it, if a save has none of that; None where it has some, or nothing came."""
    before, after, saved = (Counter(filter(None, map(bytes.strip, text.splitlines()))) for text in (base, committed, data))
    added, removed = after - before, before - after
    is_undone = all(saved[line] <= before[line] for line in added) if added else all(saved[line] >= before[line] for line in removed)
    return _UndoneLines(added.total(), removed.total()) if (added or removed) and is_undone else None


def _was_saved(workspace: Workspace, path: FilePath, moves: Sequence[BranchMove]) -> bool:
    """True if a person's edits of a file were committed in some moves of a branch."""
    own = [move.after for move in moves if not move.is_landing]
    return any(parse_message(message).is_by_hand for message in incoming.messages_about(workspace.repository, own, path))


def _kept(workspace: Workspace, move: BranchMove, undone: _UndoneLines) -> str:
    at = f"{workspace.local_time(move.time):%H:%M}"
    if undone.added:
        return f"kept {number_of(undone.added, 'line')} pulled at {at} that your save would have removed"
    return f"left out {number_of(undone.removed, 'line')} that the pull at {at} removed and your save would have brought back"
