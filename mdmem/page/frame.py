"""The frame of every page: name, tabs, files at the left, the result of a form."""

from __future__ import annotations

from mdmem.errors import MdmemError, failure_json
from mdmem.model.reads import FileRow, ListFiles
from mdmem.page.pages import Done, Page, Reader
from mdmem.startup.records import dataclass

_MOST_FILES = 12


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a page. `waiting` is the number of things waiting for the reader."""

    name: str
    waiting: int
    files: tuple[FileRow, ...]
    done: Done | None


def frame_of(reader: Reader, done: str | None = None) -> Frame:
    """The frame of a page; `done` names the result of a form, which is shown once."""
    memory = reader.memory
    curated = memory.workspace.curated
    listed = memory.files(ListFiles(limit=_MOST_FILES, without_logs=True, first=curated))
    return Frame(
        name=memory.workspace.root.name,
        waiting=len(memory.conflicts().conflicts) + len(memory.proposals.standing().numbered.items),
        files=listed.files,
        done=reader.done.pop(done, None) if done else None,
    )


def error_page(problem: MdmemError, status: int, query: str = "") -> Page:
    """The page for a failure; `query` stays in the search field."""
    titles = {404: "Not here", 409: "It has changed since", 500: "This is a bug in mdmem"}
    return Page(
        template="error",
        title=titles.get(status, "This cannot be done"),
        values={"message": problem.message, "hint": problem.hint, "query": query},
        data=failure_json(problem),
        status=status,
    )
