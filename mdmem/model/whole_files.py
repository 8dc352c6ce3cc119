"""Changes of whole files, as an agent's file tool makes them: create, replace words, insert lines, remove, move."""

from __future__ import annotations

from typing import TypeAlias

from mdmem.errors import UsageProblem
from mdmem.model.writes import WriteOptions
from mdmem.startup.records import dataclass, field


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Make a file that is not there yet; of any name, though only Markdown is searched."""

    path: str
    text: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replace words that stand exactly once in a file."""

    path: str
    text: str
    replacement: str
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        """Refuse to look for nothing."""
        if not self.text:
            raise UsageProblem("the text to find is empty")


@dataclass(frozen=True, slots=True)
class InsertText:
    """Insert text behind a line of a file; 0 is its beginning, and in a day's log there is only its end."""

    path: str
    line: int
    text: str
    options: WriteOptions = field(default_factory=WriteOptions)


@dataclass(frozen=True, slots=True)
class MovePath:
    """Move a file or a folder to a path where nothing is, or (`target` None) remove it; history keeps it."""

    path: str
    target: str | None
    options: WriteOptions = field(default_factory=WriteOptions)

    def __post_init__(self) -> None:
        """Refuse to move a folder into itself."""
        if self.target is not None and self.target.startswith(f"{self.path}/"):
            raise UsageProblem(f"{self.path} cannot be moved into itself")


WholeFileEdit: TypeAlias = CreateFile | ReplaceText | InsertText
