"""Edits of a whole file; line ends stay, and lines are counted by `\\n` alone."""

from __future__ import annotations

import re

from mdmem.editors import EditResult
from mdmem.model import Op
from mdmem.model.errors import PathProblem, SectionProblem
from mdmem.model.writes import CreateFile, InsertText, ReplaceText, WholeFileEdit
from mdmem.text.document import Document, clean_input, parse


def new_texts(edit: WholeFileEdit) -> tuple[str, ...]:
    return (edit.replacement,) if isinstance(edit, ReplaceText) else (edit.text,)


def edit(document: Document | None, change: WholeFileEdit, is_log: bool) -> EditResult:
    """Raises PathProblem: `file-exists`, `file-not-found`. TextProblem: `bad-text`. SectionProblem:
    `text-not-found`, `text-ambiguous`, `bad-line`, `append-only`, `open-block`.
    """
    for text in new_texts(change):
        clean_input(text)
    if isinstance(change, CreateFile):
        if document is not None:
            raise PathProblem("file-exists", f"{change.path} already exists")
        text = change.text
    elif document is None:
        raise missing(change.path)
    elif isinstance(change, ReplaceText):
        if is_log:
            raise append_only(change.path)
        text = _replace(document.text, change)
    else:
        text = _insert(document.text, change, is_log)
    if (
        is_log
        and (line := parse(text).open_line) is not None
        and (document is None or document.open_line is None)
    ):
        raise SectionProblem(
            "open-block",
            f"{change.path} would end inside a block that line {line + 1} opens",
            "Close it.",
            line=line + 1,
        )
    return EditResult(text=text, op=Op.MEMORY_TOOL, section=())


def missing(path: str) -> PathProblem:
    return PathProblem("file-not-found", f"{path} does not exist")


def append_only(path: str) -> SectionProblem:
    return SectionProblem(
        "append-only",
        f"{path} is a daily log: entries can only be added",
        "Text can be inserted at its end.",
    )


def first_line_of(text: str, words: str) -> int:
    """The number (from 0) of the first line with some words."""
    return text[: max(0, text.find(words))].count("\n")


def _replace(text: str, change: ReplaceText) -> str:
    starts = list(_starts(text, change.text))
    if not starts:
        raise SectionProblem("text-not-found", f"{change.path} does not contain these words")
    if len(starts) > 1:
        lines = [text[:start].count("\n") + 1 for start in starts]
        numbers = ", ".join(map(str, lines))
        raise SectionProblem(
            "text-ambiguous",
            f"{change.path} contains these words more than once, in lines {numbers}",
            "",
            lines=lines,
        )
    return text.replace(change.text, change.replacement)


def _starts(text: str, words: str) -> list[int]:
    """Overlapping words count, unless only one can be replaced."""
    if text.count(words) < 2:
        return [start] if (start := text.find(words)) >= 0 else []
    return [match.start() for match in re.finditer(f"(?={re.escape(words)})", text)]


def _insert(text: str, change: InsertText, is_log: bool) -> str:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if not 0 <= change.line <= len(lines):
        raise SectionProblem(
            "bad-line",
            f"{change.path} has no line {change.line}; use 0 to {len(lines)}",
            "",
            last=len(lines),
        )
    if is_log and change.line != len(lines):
        raise SectionProblem(
            "append-only",
            f"{change.path} is a daily log: entries can only be added",
            f"Insert after line {len(lines)}, its last one.",
            last=len(lines),
        )
    lines.insert(change.line, change.text.rstrip("\n"))
    inserted = "\n".join(lines)
    return inserted if inserted.endswith("\n") else f"{inserted}\n"
