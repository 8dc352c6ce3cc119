"""The outcome of a write, judged from what is on disk, what git committed, what was meant and what
failed. Pure.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from enum import Enum, auto

from mdmem import history
from mdmem.editors.merge3 import inverse_patch
from mdmem.errors import MdmemError, RepositoryProblem
from mdmem.model import FilePath
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import parse_bytes


class WriteOutcome(Enum):
    """The end of a write."""

    COMMITTED = auto()
    """The commit holds the change, in another form perhaps where a hook of the user's had a hand in
    it.
    """
    REWORDED = auto()
    """A hook of the user's put the change into other words, and git committed those."""
    MIXED = auto()
    """Somebody saved the file with the change in it before git read it: git committed their save
    and the change as one.
    """
    OVERTAKEN = auto()
    """Somebody saved over the file before git read it: git committed their save."""
    INTERRUPTED = auto()
    """Git committed it, but the process was interrupted before it could say so."""
    FAILED = auto()
    """Nothing is committed; the file holds what was written, or never did."""
    SAVED_OVER = auto()
    """Git did not commit as somebody saved over the file before git read it: it can be
    tried again.
    """
    ABANDONED = auto()
    """Somebody saved over the file, and trying again is of no use: hooks took too long, or the
    process was interrupted.
    """


@dataclass(frozen=True, slots=True)
class WriteEvidence:
    """The traces of a write once git has answered, or something has failed.

    Args:
        before: the bytes that the file held before; None where it was not there.
        after: the bytes that were written.
        has_user_hooks: whether a commit runs hooks of the user's.
        problem: what failed; None where git says that it committed.
        is_committed: whether there is a commit of the write.
        committed: what that commit holds of the file.
        on_disk: what the file holds now; looked at only where nothing is committed.
    """

    before: bytes | None
    after: bytes
    has_user_hooks: bool
    problem: BaseException | None = None
    is_committed: bool = False
    committed: bytes | None = None
    on_disk: bytes | None = None


def judge_write(evidence: WriteEvidence) -> WriteOutcome:
    """Judge how a write ended."""
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
    """True if a file holds what was written, or what a hook of the user's made of that."""
    if data == evidence.after:
        return True
    if data is None or data == evidence.before or not evidence.has_user_hooks:
        return False
    return looks_like_work_of_hook(data, evidence.before, evidence.after)


_WORD = late.pattern(r"\w+")
_OTHER_MARKERS = ("* ", "+ ")
_ALIKE = 0.6
"""The ratio from which on two lines are alike: the one that `difflib` takes for close matches."""


def contains_change(data: bytes | None, before: bytes | None, after: bytes) -> bool:
    """True if a text has the change in it, in another form perhaps: a hook may format Markdown in
    its own way.
    """
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
    """True if a hook may have turned what was written into this, rather than somebody who saved the
    file meanwhile.

    All that differs then is white space, list markers, and the words of lines that the change
    added, which are alike.
    """
    ours, theirs = _forms(after), _forms(data)
    if "".join(ours) == "".join(theirs):
        return True
    added = set(_forms("\n".join(_changed_lines(before, after)[1])))
    return len(ours) == len(theirs) and all(
        our_line == their_line
        or (our_line in added and SequenceMatcher(None, our_line, their_line).ratio() >= _ALIKE)
        for our_line, their_line in zip(ours, theirs, strict=True)
    )


def without_change(data: bytes, before: bytes | None, after: bytes) -> bytes | None:
    """Take a change out of a file that somebody, or a hook, saved with it, and leave theirs; None
    where the two cannot be separated.
    """
    try:
        return inverse_patch.undo(parse_bytes(data), after.decode(), _text(before)).text.encode()
    except MdmemError:
        return None


def reworded_problem(path: FilePath, committed: bytes | None, after: bytes) -> RepositoryProblem:
    """The failure of a change that a hook put into other words."""
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
    return history.changed_lines(_text(before), _text(after))


def _lines(text: bytes | str | None) -> list[str]:
    """The lines that are not blank."""
    return [line for line in map(str.strip, _text(text).splitlines()) if line]


def _forms(text: bytes | str) -> list[str]:
    """The lines without white space, and with one sign, a dash, for all list markers."""
    return [
        "".join((f"-{line[1:]}" if line[:2] in _OTHER_MARKERS else line).split())
        for line in _lines(text)
    ]


def _words(text: bytes | str | None) -> str:
    """The words of a text alone, a space between them."""
    return " ".join(_WORD.findall(_text(text)))


def _text(text: bytes | str | None) -> str:
    return text if isinstance(text, str) else (text or b"").decode("utf-8", "replace")
