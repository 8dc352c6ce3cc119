"""A command guessed by a user (data/guesses.tsv) is answered with the intended one."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from commandline import Done, Shell, elsewhere

from mdmem.cli import app

LIST = Path(__file__).parent / "data" / "guesses.tsv"
CALL = re.compile(r"mdmem (?:-C \S+ )?(?!: )([a-z-].*?)\??(?: \(.*| \[.*|; .*|\. .*)?$")
MOST_MISLED = 3
LEAST_RECOVERED = 0.9


class Guess(NamedTuple):
    typed: Sequence[str]
    is_outside: bool
    meant: Sequence[str]


def guesses(heading: str) -> list[Guess]:
    part = LIST.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("## ")[0]
    rows = [line.split("\t") for line in part.splitlines()]
    return [
        Guess(shlex.split(typed.removeprefix("@")), typed.startswith("@"), meant.split(" / "))
        for typed, meant in rows
    ]


def named_call(done: Done) -> list[str]:
    """The first call that a hint names; the help of all commands is none."""
    for line in done.err.splitlines()[1:]:
        if (match := CALL.search(line)) is not None and match[1] != "--help":
            return shlex.split(match[1])
    return []


def outcome(guess: Guess, done: Done, call: Sequence[str]) -> str:
    hint = "\n".join(done.err.splitlines()[1:])
    for meant in guess.meant:
        words = shlex.split(meant)
        if meant.startswith("!"):
            is_meant = meant[1:] in done.err
        elif meant == "-":
            is_meant = bool(hint) and not call
        else:
            is_meant = words[0] == call[0] if call else False
            is_meant = is_meant and (set(words) <= set(call) or call[-1] == "--help")
        if is_meant:
            return "recovered"
    if not call or call[-1] == "--help" or any(call[0] == m.split()[0] for m in guess.meant):
        return "unanswered"
    return "misled"


@pytest.mark.parametrize("heading", ["guesses", "mistakes"])
def test_is_answered_by_what_is_meant(shell: Shell, heading: str) -> None:
    """One step to what was meant; none leads elsewhere, all can be typed, nothing is written."""
    found: dict[str, list[str]] = {"recovered": [], "misled": [], "unanswered": []}
    before, listed = shell.snapshot(), guesses(heading)
    for guess in listed:
        if guess.is_outside:
            elsewhere(shell)
        done = shell.run(*guess.typed)
        shell.patch.chdir(shell.folder)
        call = named_call(done) if done.status else list(guess.typed)
        kind = outcome(guess, done, call)
        found[kind].append(f"{kind}: {shlex.join(guess.typed)}: {done.err.partition('hint: ')[2]}")
        if call and "Did you mean: " in done.err:
            app.parse(call)  # it would raise
    assert shell.snapshot() == before
    assert len(found["misled"]) <= MOST_MISLED, "".join(found["misled"])
    assert len(found["recovered"]) >= LEAST_RECOVERED * len(listed), "".join(found["unanswered"])
