"""The paths of the tool, and those of the workspace: `/memories` is `memory/`; MEMORY.md and the profiles are the workspace's own. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from mdmem.errors import MdmemError, PathProblem
from mdmem.layout import CURATED_NAMES, PROFILE_NAMES

ROOT = "/memories"
FOLDER = "memory"
_OWN = {name.casefold() for name in (*CURATED_NAMES, *PROFILE_NAMES)}


def is_own(name: str) -> bool:
    """True for the name of one of the workspace's own files: the curated one, a profile."""
    return name.casefold() in _OWN


def workspace_path(path: str, curated: str, names: Iterable[str]) -> str:
    """The path in the workspace that a path of the tool means.

    Args:
        path: as the model gives it.
        curated: the workspace's curated file.
        names: the names that there are in the workspace's own folder; a profile may be written in any case.

    Raises:
        PathProblem: `bad-path`: it does not begin with /memories, or would lead out of it, or holds what no path should.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise refusal("bad-path", f"Path must start with {ROOT}, got: {path}")
    if "\0" in path:
        raise PathProblem("bad-path", f"{path!r} contains a NUL character")
    parts: list[str] = []
    for part in path[len(ROOT) :].split("/"):
        plain = unquote(part)
        if plain != part and ("/" in plain or "\\" in plain or "\0" in plain or plain in (".", "..")):
            raise _escape(path)
        if part == "..":
            if not parts:
                raise _escape(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if len(parts) == 1 and is_own(parts[0]):
        return _own_file(parts[0], curated, names)
    return "/".join((FOLDER, *parts))


def _own_file(name: str, curated: str, names: Iterable[str]) -> str:
    if name.casefold() == curated.casefold():
        return curated
    same = [each for each in names if each.casefold() == name.casefold()]
    usual = next(each for each in PROFILE_NAMES if each.casefold() == name.casefold())
    return name if name in same else same[0] if same else usual


def refusal(code: str, text: str) -> MdmemError:
    """A failure with the very text that the reference has for it."""
    return PathProblem(code, text, reference=text)


def _escape(path: str) -> MdmemError:
    return refusal("bad-path", f"Path {path} would escape {ROOT} directory")
