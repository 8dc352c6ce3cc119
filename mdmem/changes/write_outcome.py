"""The outcome of a write, judged by the disk, git, the plan and the failure. Pure."""

from __future__ import annotations

from enum import Enum, auto

from mdmem.model import FilePath
from mdmem.model.errors import MdmemError, RepositoryProblem
from mdmem.past.differences import changed_lines
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import parse_bytes

_WORD = late.pattern(r"\w+")
_ALIKE = 0.6
"""The minimum ratio of similar lines: that of `difflib` for close matches."""


class WriteOutcome(Enum):
    COMMITTED = auto()
    """The commit has the change, perhaps reformatted by a user's hook."""
    REWORDED = auto()
    """A user's hook changed the words, and git committed those."""
    MIXED = auto()
    """A save after the write: git committed it and the change as one."""
    OVERTAKEN = auto()
    """A save over the write: git committed the save."""
    INTERRUPTED = auto()
    """Git committed it, but the process was interrupted before it could say so."""
    FAILED = auto()
    """Nothing is committed; the file holds what was written, or never did."""
    SAVED_OVER = auto()
    """No commit, as somebody saved over the file: it can be tried again."""
    ABANDONED = auto()
    """Saved over, and no use to retry: slow hooks, or an interruption."""


@dataclass(frozen=True, slots=True)
class WriteEvidence:
    """`problem` is None where git says it committed. `on_disk` is read only without a commit."""

    before: bytes | None
    after: bytes
    has_user_hooks: bool
    problem: BaseException | None = None
    is_committed: bool = False
    committed: bytes | None = None
    on_disk: bytes | None = None


def judge_write(evidence: WriteEvidence) -> WriteOutcome:
    if evidence.is_committed:
        return _judge_commit(evidence)
    if isinstance(evidence.problem, OSError) or holds_write(evidence, evidence.on_disk):
        return WriteOutcome.FAILED
    if isinstance(evidence.problem, RepositoryProblem) and evidence.problem.code != "hook-timeout":
        return WriteOutcome.SAVED_OVER
    return WriteOutcome.ABANDONED


def _judge_commit(evidence: WriteEvidence) -> WriteOutcome:
    before, after, committed = evidence.before, evidence.after, evidence.committed
    if evidence.problem is not None:
        return WriteOutcome.INTERRUPTED
    if committed == after:
        return WriteOutcome.COMMITTED
    if contains_change(committed, before, after):
        return WriteOutcome.COMMITTED if evidence.has_user_hooks else WriteOutcome.MIXED
    return WriteOutcome.REWORDED if holds_write(evidence, committed) else WriteOutcome.OVERTAKEN


def holds_write(evidence: WriteEvidence, data: bytes | None) -> bool:
    """True if a file holds what was written, or what a user's hook made of it."""
    if data == evidence.after:
        return True
    if data is None or data == evidence.before or not evidence.has_user_hooks:
        return False
    return looks_like_work_of_hook(data, evidence.before, evidence.after)


def contains_change(data: bytes | None, before: bytes | None, after: bytes) -> bool:
    removed, added = _changed_lines(before, after)
    words, meant = f" {_words(data)} ", f" {_words(after)} "
    added_words, removed_words = (
        [f" {line_words} " for line_words in map(_words, lines) if line_words]
        for lines in (added, removed)
    )
    return all(line in words for line in added_words) and not any(
        line in words for line in removed_words if line not in meant
    )


def looks_like_work_of_hook(data: bytes, before: bytes | None, after: bytes) -> bool:
    """True if a hook, rather than a person's save, may have made this of the write.

    Only white space, list markers and words of similar added lines then differ.
    """
    ours, theirs = _forms(after), _forms(data)
    if "".join(ours) == "".join(theirs):
        return True
    from difflib import SequenceMatcher  # noqa: PLC0415 - 2 ms, only after a hook's work

    added = set(_forms("\n".join(_changed_lines(before, after)[1])))
    return len(ours) == len(theirs) and all(
        our_line == their_line
        or (our_line in added and SequenceMatcher(None, our_line, their_line).ratio() >= _ALIKE)
        for our_line, their_line in zip(ours, theirs, strict=True)
    )


def without_change(data: bytes, before: bytes | None, after: bytes) -> bytes | None:
    """A change removed from what was saved with it; None where the two are inseparable."""
    # only where a save was committed with a write
    from mdmem.editors.merge3 import inverse_patch  # noqa: PLC0415

    try:
        return inverse_patch.undo(parse_bytes(data), after.decode(), _text(before)).text.encode()
    except MdmemError:
        return None


def reworded_problem(path: FilePath, committed: bytes | None, after: bytes) -> RepositoryProblem:
    lines = zip(_lines(after), _lines(committed), strict=False)
    reworded = next(
        (their_line for our_line, their_line in lines if _words(our_line) != _words(their_line)), ""
    )
    hint = "Use the hook's wording, or have the hook skip memory files."
    return RepositoryProblem(
        "commit-failed",
        f"a hook changed the wording of what was written to {path}: {reworded}",
        hint,
    )


def _changed_lines(before: bytes | None, after: bytes) -> tuple[list[str], list[str]]:
    return changed_lines(_text(before), _text(after))


def _lines(text: bytes | str | None) -> list[str]:
    return [line for line in map(str.strip, _text(text).splitlines()) if line]


def _forms(text: bytes | str) -> list[str]:
    return [
        "".join((f"-{line[1:]}" if line[:2] in ("* ", "+ ") else line).split())
        for line in _lines(text)
    ]


def _words(text: bytes | str | None) -> str:
    return " ".join(_WORD.findall(_text(text)))


def _text(text: bytes | str | None) -> str:
    return text if isinstance(text, str) else (text or b"").decode("utf-8", "replace")
