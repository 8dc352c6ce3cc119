"""Regular expressions that are compiled when they are first used, and kept for the next process as the interpreter keeps its modules.

To compile those of one command takes 5 ms, and to load what compiles them 4 ms more, with the same result each time. So what the matching
engine is given in the end is written into a file of the state folder, and given to it from there, without loading `re`. It is for one build
of the interpreter; where it is not there, or is damaged, it is made anew. The engine checks what it is given.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]  # the engine, which is part of the interpreter
import os
import sys

__all__ = ["NAME", "compiled", "keep", "keep_in", "pattern"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from re import compile as compiled
    from re import compile as pattern
    from typing import Any

    Program = tuple[Any, ...]
    """What the engine takes beside the text: flags, code, the number of groups, their numbers by name, their names by number.

    The code, a few hundred numbers of 32 bits, is kept as bytes: of most patterns that a file has it is never asked for.
    """
else:

    class pattern:  # noqa: N801 - called as the function that a type checker sees
        """As `re.compile`, without flags (they can be written as `(?i)`)."""

        def __init__(self, text):
            self._text = text

        def __getattr__(self, name):
            found = self.__dict__[name] = getattr(compiled(self._text), name)
            return found

    def compiled(text):
        """As `re.compile`, without flags, at once. A user's words are no part of `text`: it is kept."""
        found = _compiled.get(text)
        if found is None:
            found = _compiled[text] = _kept(text) or _anew(text)
        return found


NAME = f"patterns.{sys.implementation.cache_tag}"
"""In the state folder."""
_MOST = 1000
"""Not more are kept. There are far fewer, but for the fences of a file, which can be of any length."""

_compiled: dict[str | bytes, Pattern[Any]] = {}
_new: dict[str | bytes, Program] = {}
_folder: str | None = None
_programs: dict[str | bytes, Program] | None = None


def keep_in(folder: str) -> None:
    """The folder that has them, and into which `keep` puts them."""
    global _folder, _programs
    if folder != _folder:
        _folder, _programs = folder, None


def keep() -> None:
    """Keep what had to be compiled; nothing comes of it where that cannot be written, or the folder is not there."""
    if _folder is None or not _new:
        return
    import marshal

    data = marshal.dumps((_build(), _read(_folder) | _new))
    _new.clear()
    new = f"{_folder}/.mdmem-{os.urandom(8).hex()}.tmp"
    try:
        with open(new, "xb") as file:
            file.write(data)
        os.replace(new, f"{_folder}/{NAME}")
    except OSError:
        return


def _build() -> str:
    """The interpreter that a program is for."""
    return f"{sys.version} {_sre.MAGIC}"


def _read(folder: str) -> dict[str | bytes, Program]:
    import marshal

    try:
        with open(f"{folder}/{NAME}", "rb") as file:
            build, programs = marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return programs if build == _build() and isinstance(programs, dict) and len(programs) < _MOST else {}


def _kept(text: str | bytes) -> Pattern[Any] | None:
    global _programs
    if _programs is None:
        _programs = _read(_folder) if _folder is not None else {}
    program = _programs.get(text)
    return _engine(text, program) if program is not None else None


def _anew(text: str | bytes) -> Pattern[Any]:
    """What the library makes of it; what that gives the engine is remembered, where it is the library that we know."""
    import re

    try:
        # They are the library's own, of which typeshed knows nothing; so it is for any failure here that the library itself is asked.
        from re import _compiler, _parser  # type: ignore[attr-defined]

        parsed = _parser.parse(text)
        state = parsed.state
        by_number: list[str | None] = [None] * state.groups
        for name, number in state.groupdict.items():
            by_number[number] = name
        code = b"".join(int(word).to_bytes(4, sys.byteorder) for word in _compiler._code(parsed, 0))
        program = (state.flags, code, state.groups - 1, state.groupdict, tuple(by_number))
    except (ImportError, AttributeError, OverflowError):
        return re.compile(text)
    found = _engine(text, program)
    if found is None:
        return re.compile(text)
    _new[text] = program
    return found


def _engine(text: str | bytes, program: Program) -> Pattern[Any] | None:
    """The pattern; None where the engine does not take the program."""
    try:
        flags, code, *groups = program
        # typeshed knows nothing of the engine, so a type checker takes what it gives for anything.
        return _sre.compile(text, flags, memoryview(code).cast("I").tolist(), *groups)  # type: ignore[no-any-return]
    except (RuntimeError, TypeError, ValueError, OverflowError):
        return None
