"""What the user's hooks made of a change before git had it. Loaded only where they, or somebody's save, made something of it."""

from __future__ import annotations

from difflib import SequenceMatcher

from mdmem import history, hookfiles
from mdmem.errors import RepositoryProblem
from mdmem.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mdmem.memory.planning import Plan
    from mdmem.memory.workspace import Workspace


_WORD = pattern(r"\w+")
_ALIKE = 0.6
"""From here on two lines are alike, as `difflib` has it for close matches."""


def carries(made: bytes | None, plan: Plan) -> bool:
    """Whether a text has the change in it, written in another way: a hook may put Markdown into a form of its own."""
    removed, added = history.changed_lines(plan.old.text if plan.old else "", plan.edited.text)
    there, meant = f" {_words(made)} ", f" {_words(plan.after)} "
    came, went = ([f" {words} " for words in map(_words, lines) if words] for lines in (added, removed))
    return all(words in there for words in came) and not any(words in there for words in went if words not in meant)


def is_by_a_hook(workspace: Workspace, made: bytes | None, plan: Plan) -> bool:
    """Whether a hook of the user's made this of what we wrote, and not somebody who saved the file meanwhile.

    By then there are hooks, and the words are the same, or each line is one of ours in words that are alike.
    """
    if made is None or hookfiles.step_aside(workspace.repository.hooks_dir):
        return False
    if _words(made) == _words(plan.after):
        return True
    pairs = _differing(made, plan)
    return pairs is not None and all(SequenceMatcher(None, one, other).ratio() >= _ALIKE for one, other in pairs)


def in_other_words(made: bytes | None, plan: Plan) -> RepositoryProblem:
    """The failure of a change that a hook put in other words."""
    line = next((other for _, other in _differing(made or b"", plan) or ()), "")
    hint = "Say it as the hook has it, or have the hook leave memory alone."
    return RepositoryProblem("commit-failed", f"a hook writes in other words what was written to {plan.path}: {line}", hint)


def _differing(made: bytes, plan: Plan) -> list[tuple[str, str]] | None:
    """The lines that differ by their words, ours and what was made of each; None where there are not as many."""
    ours, others = ([line for line in map(_words, text.splitlines()) if line] for text in (plan.after, made))
    return [pair for pair in zip(ours, others, strict=True) if pair[0] != pair[1]] if len(ours) == len(others) else None


def _words(text: bytes | str | None) -> str:
    """The words of a text alone, a space between them."""
    said = text if isinstance(text, str) else (text or b"").decode("utf-8", "replace")
    return " ".join(_WORD.findall(said))
