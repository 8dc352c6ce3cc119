"""What the user's hooks made of a change before git had it. Loaded only where they, or somebody's save, made something of it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from mdmem import files, history, hookfiles
from mdmem.changes.plan import Plan
from mdmem.document import parse_bytes
from mdmem.editors import merge
from mdmem.errors import MdmemError, RepositoryProblem
from mdmem.workspace import Workspace

_WORD = re.compile(r"\w+")
_MARKERS = ("- ", "* ", "+ ")
_ALIKE = 0.6
"""From here on two lines are alike, as `difflib` has it for close matches."""


def contains_change(made: bytes | None, plan: Plan) -> bool:
    """Whether a text has the change in it, written in another way: a hook may put Markdown into a form of its own."""
    removed, added = _changed(plan)
    there, meant = f" {_words(made)} ", f" {_words(plan.after)} "
    came, went = ([f" {words} " for words in map(_words, lines) if words] for lines in (added, removed))
    return all(words in there for words in came) and not any(words in there for words in went if words not in meant)


def was_made_by_hook(workspace: Workspace, made: bytes | None, plan: Plan) -> bool:
    """Whether a hook of the user's made this of what we wrote, and not somebody who saved the file meanwhile, as it was before perhaps.

    By then there are hooks, and all that differs is white space, list markers, and the words of lines that we brought in, which are alike.
    """
    if made is None or made == plan.before or hookfiles.has_only_our_hooks(workspace.repository.hooks_dir):
        return False
    ours, others = _forms(plan.after), _forms(made)
    if "".join(ours) == "".join(others):
        return True
    came = set(_forms("\n".join(_changed(plan)[1])))
    return len(ours) == len(others) and all(
        one == other or (one in came and SequenceMatcher(None, one, other).ratio() >= _ALIKE)
        for one, other in zip(ours, others, strict=True)
    )


def remove_change(plan: Plan) -> bool:
    """Take our change out of what somebody, or a hook, made of the file, whose own changes stay; whether that could be done."""
    now = files.read(plan.full_path)
    if now is None or now == plan.before:
        return True
    try:
        theirs = merge.undo(parse_bytes(now), plan.edited.text, plan.old.text if plan.old else "").text.encode()
    except MdmemError:
        return False
    if plan.before is None and not theirs.strip():
        files.remove(plan.full_path)
        return True
    return now == theirs or files.replace(plan.full_path, theirs, now, files.temporary_name())


def reworded_problem(made: bytes | None, plan: Plan) -> RepositoryProblem:
    """The failure of a change that a hook put in other words."""
    line = next((other for one, other in zip(_lines(plan.after), _lines(made or b""), strict=False) if _words(one) != _words(other)), "")
    hint = "Say it as the hook has it, or have the hook leave memory alone."
    return RepositoryProblem("commit-failed", f"a hook writes in other words what was written to {plan.path}: {line}", hint)


def _changed(plan: Plan) -> tuple[list[str], list[str]]:
    return history.changed_lines(plan.old.text if plan.old else "", plan.edited.text)


def _lines(text: bytes | str) -> list[str]:
    """The lines that are not blank."""
    return [line for line in map(str.strip, _text(text).splitlines()) if line]


def _forms(text: bytes | str) -> list[str]:
    """The lines without white space, and with one sign for all list markers."""
    return ["".join((f"-{line[1:]}" if line[:2] in _MARKERS else line).split()) for line in _lines(text)]


def _words(text: bytes | str | None) -> str:
    """The words of a text alone, a space between them."""
    return " ".join(_WORD.findall(_text(text or "")))


def _text(said: bytes | str) -> str:
    return said if isinstance(said, str) else said.decode("utf-8", "replace")
