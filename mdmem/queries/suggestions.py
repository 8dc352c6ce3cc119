"""Hints for names that nothing has: what else has the name that no section of a file has, and files with a name like it."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable
from datetime import timedelta
from itertools import islice
from posixpath import normpath

from mdmem import files, layout
from mdmem.addresses import matching_sections
from mdmem.document import parse_bytes, plain_title
from mdmem.errors import PathProblem, SectionProblem
from mdmem.facts import holds_key, items
from mdmem.model import PATH_SEPARATOR, FilePath
from mdmem.wording import verb
from mdmem.workspace import Workspace

_MOST_NAMED = 3
_MOST_READ = 2000

Command = Callable[[FilePath], str]
"""Gives a command with a file in it, for a hint."""


def missing_file(workspace: Workspace, path: str, otherwise: str = "") -> PathProblem:
    """The failure for a missing file; its hint names the memory files with the nearest names, else it is `otherwise`."""
    paths = workspace.memory_files()
    near = [each for each in paths if each.casefold() == path.casefold()] or difflib.get_close_matches(path, paths, n=3)
    hint = f"Did you mean {', '.join(near)}?" if near else otherwise
    return PathProblem("file-not-found", f"there is no {path}", hint, near=near)


def with_suggestions(workspace: Workspace, problem: SectionProblem, word: str | None, file: str | None, command: Command) -> SectionProblem:
    """The failure `section-not-found` with a hint that says what else the word names: a section or a file elsewhere, a day, a key.

    Args:
        workspace: the workspace.
        problem: the failure; one of another code is given back as it is.
        word: the word that was taken as a section; None where there was none.
        file: the file that was named, where no other file is meant.
        command: gives the command, or the option, with a file in it.
    """
    if problem.code != "section-not-found" or not word or not word.strip():
        return problem
    named = file_named(workspace, word) if file is None else None
    with_section, is_key = _holders(workspace, word)
    sentences = []
    if with_section and file is None:
        sentences.append(f"It is in {', '.join(with_section)}: {command(with_section[0])}")
    elif named:
        sentences.append(f"It is a file: {command(named)}")
    if is_key:
        sentences.append(f"It is a key: {verb('facts', 'key')} {shlex.quote(word)}")
    if not sentences:
        return problem
    similar = [problem.hint] if problem.details.get("near") else []
    return SectionProblem(problem.code, problem.message, "; ".join([*sentences, *similar]), **problem.details)


def file_named(workspace: Workspace, word: str) -> FilePath | None:
    """The memory file with this name, with or without folder and ending; the log of today or yesterday by that word.

    None where there is none, or where several are meant.
    """
    days_ago = layout.DAYS_AGO.get(word.strip().casefold())
    if days_ago is not None:
        log = workspace.log_path(workspace.now().date() - timedelta(days=days_ago))
        return log if (workspace.root / log).exists() else None
    folded = normpath(word).casefold().removesuffix(".md")
    stems = {path: path.casefold().removesuffix(".md") for path in workspace.memory_files() if not layout.is_outside(path)}
    whole = [path for path, stem in stems.items() if stem == folded]
    paths = whole or [path for path, stem in stems.items() if stem.rpartition("/")[2] == folded]
    return paths[0] if len(paths) == 1 else None


def _holders(workspace: Workspace, word: str) -> tuple[list[FilePath], bool]:
    """The first memory files with a section of this name, and whether a fact of one holds it as its key."""
    name = plain_title(word.rpartition(PATH_SEPARATOR)[2]).casefold()
    with_section: list[FilePath] = []
    is_key = False
    for path, listed in islice(workspace.memory_files().items(), _MOST_READ):
        try:
            data = files.read(listed.full_path) or b""
        except PathProblem:
            continue
        if name not in data.decode("utf-8", "replace").casefold() or layout.is_outside(path):
            continue
        document = parse_bytes(data)
        if len(with_section) < _MOST_NAMED and matching_sections(document, word):
            with_section.append(path)
        is_key = is_key or any(holds_key(item.fact, word) for item in items(document))
    return with_section, is_key
