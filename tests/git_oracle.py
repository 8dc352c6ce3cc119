"""Work out memory from git alone, to compare mdmem with: by the lines in git's trees and the
trailers of commits. It shares no code with mdmem.

In a file that is edited in place, every line of the newest tree is current. In a log, a line is
over once a commit says so. A commit speaks of the lines in the tree of its parent; so each is
judged where it was made, and a merge joins what its parents know. Its words hold until it is
reverted, alone or with the merge that brought it, by a commit that is not reverted itself. Each
line of a log has a tag of its own, by which equal lines are told apart.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

Git = Callable[..., str]

_LOG = re.compile(r"memory/\d{4}-\d{2}-\d{2}\.md")
_ITEM = re.compile(r"- (?:\[\w+\] )?(.*?)(?: \(until (\d{4}-\d{2}-\d{2})\))?(?: #\w+)*$")
_KEY = re.compile(r"([a-z]+): ")
_REVERTS = re.compile(r"(?m)^(?:This reverts commit |Mdmem-Reverts: )([0-9a-f]{40})")
_STATEMENT = re.compile(r"Mdmem-(Supersedes|Retracts): ([0-9a-f]{8})(?: ([0-9a-f]{8}|-))?")
_SECTION = re.compile(r"(?m)^Mdmem-Section: (.*)$")


def identity(text: str) -> str:
    """The id of a fact, computed as the documentation of the file format says."""
    return sha256(" ".join(text.split()).casefold().encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Line:
    """A list item, with the day until which it holds."""

    path: str
    section: str
    raw: str
    text: str
    until: str | None

    @property
    def is_logged(self) -> bool:
        return _LOG.fullmatch(self.path) is not None

    @property
    def location(self) -> tuple[str, str, str]:
        return self.path, self.section, self.text


def lines_of(files: Mapping[str, str]) -> list[Line]:
    lines = []
    for path, text in files.items():
        section = ""
        for raw in text.splitlines():
            if raw.startswith("#"):
                section = raw.lstrip("# ")
            elif match := _ITEM.match(raw):
                lines.append(Line(path, section, raw, match[1], match[2]))
    return lines


@dataclass(frozen=True)
class Statement:
    """A commit states that the lines with the id `old` are over; the fact `new` (None: nothing) is
    in their place.
    """

    commit: str
    old: str
    new: str | None


@dataclass
class State:
    """Memory at one commit: its lines and, by line of a log, the statements about it, those that
    were reverted too.
    """

    lines: list[Line]
    made: dict[str, set[Statement]] = field(default_factory=lambda: defaultdict(set))
    reverts: set[tuple[str, str]] = field(default_factory=set)
    """Pairs of a commit and one that it reverts."""
    doubtful: set[str] = field(default_factory=set)
    """Ids that a squashed message names outside of its trailers. How much of that counts is not
    judged here; other tests do.
    """

    def is_closed(self, line: Line) -> bool:
        return line.is_logged and any(
            not self.is_reverted(each.commit) for each in self.made.get(line.raw, ())
        )

    def is_reverted(self, commit: str) -> bool:
        return any(reverted == commit and not self.is_reverted(by) for by, reverted in self.reverts)

    def current(self, day: str) -> set[Line]:
        return {
            line
            for line in self.lines
            if not self.is_closed(line) and not (line.until and line.until < day)
        }


class Oracle:
    """The states of all commits of a repository, each worked out once."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._states: dict[str, State] = {}

    def state(self, commit: str) -> State:
        for row in self._git(
            "rev-list", "--reverse", "--topo-order", "--parents", commit
        ).splitlines():
            name, *parents = row.split()
            if name not in self._states:
                self._states[name] = self._state(name, parents)
        return self._states[commit]

    def _state(self, commit: str, parents: list[str]) -> State:
        state = State(lines_of(self._files(commit)))
        before = [self._states[parent] for parent in parents]
        for parent in before:
            state.doubtful |= parent.doubtful
            state.reverts |= parent.reverts
            for raw, statements in parent.made.items():
                state.made[raw] |= statements
        message = self._git("log", "-1", "--format=%B", commit)
        state.reverts |= {
            (commit, each)
            for name in _REVERTS.findall(message)
            for each in self._with_what_it_merged(name)
        }
        if len(parents) > 1:
            self._doubt_what_was_not_merged(state, before[0])
        self._apply(state, before[0] if before else State([]), commit, message)
        self._doubt_circles(state)
        return state

    def _files(self, commit: str) -> dict[str, str]:
        paths = self._git("ls-tree", "-r", "--name-only", commit).splitlines()
        return {
            path: self._git("show", f"{commit}:{path}")
            for path in paths
            if path == "MEMORY.md" or path.startswith("memory/")
        }

    def _with_what_it_merged(self, commit: str) -> list[str]:
        """A commit that may be gone, and those that came to its first parent with it."""
        return [commit, *self._git("rev-list", commit, f"^{commit}^1", check=False).split()]

    def _doubt_what_was_not_merged(self, state: State, first: State) -> None:
        """A side's statement closes nothing if the merge left its successor out, or the first
        parent closed that.
        """
        here = State(state.lines, first.made, state.reverts)
        ids = {identity(line.text) for line in here.current("")}
        lines = {line.raw for line in state.lines}
        for raw, statements in state.made.items():
            of_sides = statements - first.made.get(raw, set())
            if raw not in lines:  # what if the line comes back?
                state.doubtful |= {each.old for each in of_sides}
            state.made[raw] -= {
                each
                for each in of_sides
                if each.new not in (None, *ids) and not state.is_reverted(each.commit)
            }

    def _doubt_circles(self, state: State) -> None:
        """Lines that supersede each other because a revert was reverted: one of them stays."""
        statements = {
            each
            for made in state.made.values()
            for each in made
            if not state.is_reverted(each.commit)
        }
        for each in statements:
            passed, ids = set[str](), {each.new}
            while ids - passed:
                passed |= {name for name in ids if name}
                ids = {later.new for later in statements if later.old in passed} - {None}
            if each.old in passed:
                state.doubtful |= {each.old, *passed}

    def _apply(self, state: State, before: State, commit: str, message: str) -> None:
        *blocks, last = message.rstrip().split("\n\n")
        for block in blocks:
            state.doubtful |= {
                name for match in _STATEMENT.finditer(block) for name in match.groups()[1:] if name
            }
        if not re.search(r"(?m)^Mdmem-Op: ", last):
            state.doubtful |= {
                name for match in _STATEMENT.finditer(last) for name in match.groups()[1:] if name
            }
            return
        section = next(iter(_SECTION.findall(last)), "").rpartition(" > ")[2]
        for line in last.splitlines():
            if match := _STATEMENT.fullmatch(line):
                self._close(
                    state,
                    before,
                    Statement(commit, match[2], match[3] if match[3] != "-" else None),
                    section,
                )

    def _close(self, state: State, before: State, statement: Statement, section: str) -> None:
        """Close the first line with the id that was current before the commit and is still there
        after it, if its successor is current.
        """
        after = {line.raw for line in state.lines}
        meant = [
            line
            for line in before.lines
            if identity(line.text) == statement.old
            and line.raw in after
            and not state.is_closed(line)
        ]
        own = [line for line in meant if line.section == section]
        if not meant and any(
            identity(line.text) == statement.old for line in state.lines
        ):  # of a squash, or of what a person put back
            state.doubtful.add(statement.old)
        if any(not line.is_logged for line in meant) and not own:
            state.doubtful.add(statement.old)
            return
        meant = own or meant
        if len({line.location for line in meant}) > 1:
            state.doubtful.add(statement.old)
        elif meant and meant[0].is_logged:
            successors = [
                each
                for each in state.current("")
                if identity(each.text) == statement.new and each.raw != meant[0].raw
            ]
            if statement.new is None or successors:
                state.made[meant[0].raw].add(statement)


def contradicting(current: Iterable[Line]) -> set[tuple[str, str, str]]:
    """The locations of lines whose key another current line of the section has too."""
    groups: dict[tuple[str, str, str], set[tuple[str, str, str]]] = defaultdict(set)
    for line in current:
        if match := _KEY.match(line.text):
            groups[line.path, line.section, match[1]].add(line.location)
    return {location for group in groups.values() if len(group) > 1 for location in group}
