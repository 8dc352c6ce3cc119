"""Numbered lists of open parts, kept in the state folder: digests of what was shown, no texts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import count

from mdmem.errors import ProposalProblem
from mdmem.folder import files
from mdmem.model.proposals import NumberedList, PartState
from mdmem.proposals import rivals
from mdmem.proposals.reading import Proposal
from mdmem.proposals.rivals import OpenPart, Values
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.wording import verb
from mdmem.workspace import Workspace

FOLDER = "lists"
MOST_ITEMS = 999
"""A number has at most three digits; an id has eight."""
_MOST_KEPT = 50
_STAMP_DIGITS, _DIGEST_DIGITS = 4, 16
_STAMP = late.pattern(r"[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part as it was shown: digests of the change, and of the text in its place if overtaken."""

    change: str
    standing: str = ""

    @property
    def is_overtaken(self) -> bool:
        """True if its place had changed."""
        return bool(self.standing)


ShownItem = tuple[tuple[ShownPart, ...], ...]
"""The values of an item, newest first."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A list as it was shown."""

    stamp: str
    items: tuple[ShownItem, ...]


def shown_part(candidate: OpenPart) -> ShownPart:
    """A part as a list shows it."""
    view = candidate.part.view
    change = (*candidate.pair, view.path, *view.section, view.op, view.old, view.new)
    is_overtaken = view.state is PartState.OVERTAKEN
    return ShownPart(_digest(*change), _digest(view.standing) if is_overtaken else "")


def _digest(*values: str | None) -> str:
    text = json.dumps(values)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]


def number_items(workspace: Workspace, proposals: Sequence[Proposal]) -> NumberedList:
    """Number the open parts of proposals, and keep what each number means."""
    items = rivals.open_items(proposals, workspace.curated)
    listed = items[:MOST_ITEMS]
    return NumberedList(
        stamp=_keep(workspace, listed) if listed else "",
        items=tuple(rivals.listed_item(number, item) for number, item in enumerate(listed, 1)),
        unlisted=len(items) - len(listed),
    )


def shown_items(items: Sequence[Values]) -> tuple[ShownItem, ...]:
    """Items as a list shows them."""
    return tuple(tuple(tuple(map(shown_part, value)) for value in item) for item in items)


def _keep(workspace: Workspace, items: Sequence[Values]) -> str:
    """Keep a list under a stamp of its content, which is another list's only if they are equal."""
    content = json.dumps(
        [
            [[(part.change, part.standing) for part in value] for value in item]
            for item in shown_items(items)
        ]
    )
    folder = workspace.state / FOLDER
    try:
        workspace.ensure_state()
        folder.mkdir(exist_ok=True)
    except OSError:  # a disk that cannot be written; the list can still be read
        return ""
    for salt in count():
        stamp = sha256(f"{content}{salt}".encode()).hexdigest()[:_STAMP_DIGITS]
        path = folder / _name(workspace, stamp)
        if (kept := files.read(path)) is None or kept.decode() == content:
            files.write_cache(path, content)
            break
    for old in _kept(workspace)[_MOST_KEPT:]:
        with suppress(FileNotFoundError):
            (folder / old).unlink()
    return stamp


def is_kept(workspace: Workspace, listed: NumberedList) -> bool:
    """True if what each number of a list means is still kept."""
    path = workspace.state / FOLDER / _name(workspace, listed.stamp)
    return not listed.items or (bool(listed.stamp) and path.exists())


def _name(workspace: Workspace, stamp: str) -> str:
    """A list's file name; what an agent was shown is not this user's newest list."""
    is_agents = workspace.is_agent(workspace.actor)
    return f"{stamp}-{os.getuid()}{'-agent' if is_agents else ''}.json"


def _kept(workspace: Workspace) -> list[str]:
    """The names of all lists' files, newest first."""
    entries = []
    with suppress(FileNotFoundError), os.scandir(workspace.state / FOLDER) as listed:
        for entry in listed:
            if entry.name.endswith(".json") and not entry.name.startswith("."):
                entries.append((entry.stat().st_mtime_ns, entry.name))
    return [name for _, name in sorted(entries, reverse=True)]


def find_shown(workspace: Workspace, stamp: str | None) -> Shown | None:
    """The list with a stamp, or this user's newest one (None: there is none).

    Raises: ProposalProblem (`list-not-found`: none with this stamp).
    """
    own = f"-{os.getuid()}.json"
    for name in _kept(workspace):
        if name.startswith(f"{stamp}-") if stamp is not None else name.endswith(own):
            return Shown(name[:_STAMP_DIGITS], _load(workspace, name))
    if stamp is None:
        return None
    raise ProposalProblem(
        "list-not-found",
        f"no list {stamp[:80]!r}" if _STAMP.fullmatch(stamp) else f"{stamp[:80]!r} is not a list",
        f"To list open proposals: {verb('proposals')}",
    )


def _load(workspace: Workspace, name: str) -> tuple[ShownItem, ...]:
    data = files.read(workspace.state / FOLDER / name) or b"[]"
    return tuple(
        tuple(tuple(ShownPart(*part) for part in value) for value in item)
        for item in json.loads(data)
    )
