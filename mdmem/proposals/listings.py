"""Current proposals, read by a fixed number of git processes, and the numbered lists of their open
parts that were shown.

Rivals for one place are one item, with all their values. Lists are kept in the state folder:
digests of what was shown, no texts.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from itertools import count

from mdmem.editors import sameness
from mdmem.folder import files
from mdmem.model import CommitId, Fact, FilePath, SectionPath
from mdmem.model.errors import PathProblem, ProposalProblem, verb
from mdmem.model.proposals import (
    ListedItem,
    ListedPart,
    NumberedList,
    PartName,
    PartOp,
    PartState,
    ProposalView,
    ProposedHit,
)
from mdmem.model.reads import UnreadableProposal
from mdmem.past import fresh_trail
from mdmem.proposals import branches
from mdmem.proposals.branches import (
    DecidedPart,
    ProposalRef,
    ProposedBranch,
    ProposedNotes,
    read_branches,
    read_each,
    read_notes,
)
from mdmem.proposals.parts import Part, PartReader, StandingMemory
from mdmem.proposals.pieces import EMPTY, FactPiece, FileFacts
from mdmem.repo.branch_commits import BlobChange
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import join_path, parse_bytes
from mdmem.text.facts import normalise
from mdmem.workspace import Workspace

_WORD = late.pattern(r"\w+")
_LEAST_STEM = 4
_HEADING_SHARE = 0.5


def find(proposals: Iterable[Proposal], query: str, limit: int) -> tuple[ProposedHit, ...]:
    """Open parts that match a query: those with more of its words first, then older ones first."""
    asked = _stems(query)
    hits = []
    for proposal in proposals:
        for part in proposal.parts:
            view = part.view
            if view.state.waits and asked:
                score = _share(asked, view.new or view.old or "") + _HEADING_SHARE * _share(
                    asked, join_path(view.section)
                )
                if score:
                    hits.append(
                        ProposedHit(proposal.ref.id, proposal.view.actor, view, round(score, 4))
                    )
    return tuple(sorted(hits, key=lambda hit: -hit.score)[:limit])


def _share(asked: frozenset[str], text: str) -> float:
    return len(asked & _stems(text)) / len(asked)


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(normalise(text)))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word.removesuffix(ending)
    return word


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal with its branch and parts; `problems` are of unreadable memory files."""

    branch: ProposedBranch
    view: ProposalView
    parts: tuple[Part, ...]
    problems: tuple[PathProblem, ...] = ()

    @property
    def ref(self) -> ProposalRef:
        return self.branch.ref


@dataclass(frozen=True, slots=True)
class _ReadBranch:
    branch: ProposedBranch
    notes: ProposedNotes
    texts: _Texts


def read_open(workspace: Workspace) -> tuple[list[Proposal], tuple[UnreadableProposal, ...]]:
    """The open proposals, oldest first, and those whose branches git cannot read."""
    refs = list(branches.open_proposals(workspace).values())
    if not refs:
        return [], ()
    head = workspace.repository.head()
    read, unreadable = read_each(refs, lambda some: _read(workspace, some, head))
    return _judged(workspace, read, head), unreadable


def read_standing(
    workspace: Workspace,
) -> tuple[list[Proposal], tuple[UnreadableProposal, ...]]:
    """Read the proposals to decide here: not those merged, or for other workspaces only."""
    read, unreadable = read_open(workspace)
    return to_decide(read), unreadable


def to_decide(read: Iterable[Proposal]) -> list[Proposal]:
    ahead = (each for each in read if each.branch.is_ahead)
    return [each for each in ahead if each.view.waits or not each.branch.shared_with]


def read_proposals(workspace: Workspace, refs: Sequence[ProposalRef]) -> list[Proposal]:
    """Read proposals in one go, oldest first. Raises: RepositoryProblem."""
    head = workspace.repository.head()
    return _judged(workspace, _read(workspace, refs, head), head)


def _read(
    workspace: Workspace, refs: Sequence[ProposalRef], head: CommitId | None
) -> list[_ReadBranch]:
    read = read_branches(workspace, refs, head)
    notes = read_notes(workspace, read)
    texts = _Texts(workspace, read)
    return [_ReadBranch(*each, texts) for each in zip(read, notes, strict=True)]


def _judged(
    workspace: Workspace,
    read: Sequence[_ReadBranch],
    head: CommitId | None,
) -> list[Proposal]:
    if not read:
        return []
    decided = branches.decisions(workspace.repository, head)
    with fresh_trail(workspace) as trail:
        memory = StandingMemory(workspace, trail)
        proposals = [
            _proposal(
                workspace,
                each,
                branches.decisions_on(decided, each.branch.ref.id, each.branch.ref.name),
                memory,
            )
            for each in read
        ]
    return sorted(proposals, key=lambda proposal: (proposal.view.since, proposal.ref.id))


def waits(workspace: Workspace, ref: ProposalRef) -> bool:
    """True if a part is, or may be, still undecided in a workspace."""
    return any(
        proposal.view.waits or proposal.problems for proposal in read_proposals(workspace, [ref])
    )


# Texts.


class _Texts:
    def __init__(self, workspace: Workspace, waiting: Sequence[ProposedBranch]) -> None:
        names = dict.fromkeys(
            blob
            for branch in waiting
            for _, change in branch.files
            for blob in (change.before, change.after)
            if blob
        )
        self._blobs = workspace.repository.contents(list(names))
        self._bases: dict[str | None, FileFacts] = {None: FileFacts(EMPTY)}

    def base(self, change: BlobChange) -> FileFacts:
        if change.before not in self._bases:
            self._bases[change.before] = self._facts(change.before)
        return self._bases[change.before]

    def tip(self, change: BlobChange) -> FileFacts:
        return self._facts(change.after)

    def _facts(self, blob: str | None) -> FileFacts:
        return FileFacts(parse_bytes(self._blobs[blob]) if blob else EMPTY)


def _proposal(
    workspace: Workspace,
    read: _ReadBranch,
    decided: Mapping[PartName, DecidedPart],
    memory: StandingMemory,
) -> Proposal:
    branch, notes, texts = read.branch, read.notes, read.texts
    reader = PartReader(workspace, notes, branch.base, decided, memory)
    parts: list[Part] = []
    problems, unreadable = [], []
    for path, change in branch.files:
        try:
            memory.file(path)
        except PathProblem as problem:
            problems.append(problem)
        try:
            parts += reader.of_file(memory.versions(path, texts.base(change), texts.tip(change)))
        except PathProblem:
            unreadable.append(os.fsdecode(change.path))
    parts += reader.of_statements([part.name for part in parts])
    parts += reader.of_decisions([part.name for part in parts])
    view = ProposalView(
        id=branch.ref.id,
        actor=notes.actor or branch.ref.actor,
        branch=branch.ref.name.removeprefix("refs/heads/"),
        base=branch.base,
        tip=branch.ref.tip,
        since=workspace.local_time(branch.commits[0].time if branch.commits else 0),
        parts=tuple(part.view for part in parts),
        reason=notes.reason,
        others=(*branch.others, *unreadable),
    )
    return Proposal(branch=branch, view=view, parts=tuple(parts), problems=tuple(problems))


Token = tuple[str, str]
"""Something that rivals share: a key, or the id of the fact removed or added."""


@dataclass(frozen=True, slots=True)
class OpenPart:
    proposal: Proposal
    part: Part

    @property
    def listed(self) -> ListedPart:
        proposal, view = self.proposal.view, self.part.view
        return ListedPart(
            proposal=proposal.id,
            actor=view.origin.actor or proposal.actor,
            since=view.since or proposal.since,
            view=view,
        )

    @property
    def pair(self) -> tuple[str, str]:
        """The proposal and the part, as the trailers of a decision name them."""
        return self.proposal.ref.id, self.part.name


Values = tuple[tuple[OpenPart, ...], ...]


def open_items(proposals: Iterable[Proposal], curated: FilePath) -> list[Values]:
    """The open parts as items, by file (the curated one first) and section, oldest first."""
    candidates = [
        OpenPart(proposal, part)
        for proposal in proposals
        for part in proposal.parts
        if part.view.state.waits
    ]
    sections: dict[tuple[FilePath, SectionPath], list[OpenPart]] = {}
    for each in candidates:
        sections.setdefault((each.part.view.path, each.part.view.section), []).append(each)
    order = sorted(
        sections,
        key=lambda place: (
            place[0] != curated,
            place[0],
            min(map(_section_number, sections[place])),
        ),
    )
    return [values for place in order for values in sorted(_items(sections[place]), key=_oldest)]


def _oldest(values: Values) -> datetime:
    """The time of an item's oldest part: a new rival does not change the numbers."""
    return min(each.listed.since for each in places(values))


def _section_number(candidate: OpenPart) -> int:
    part = candidate.part
    sections = part.source.base.sections if part.source else ()
    paths = [section.path for section in sections]
    return paths.index(part.view.section) if part.view.section in paths else len(paths)


def _items(candidates: Sequence[OpenPart]) -> list[Values]:
    keys = Counter(
        (each.proposal.ref.id, key) for each in candidates if (key := _key(each)) is not None
    )
    groups: list[tuple[set[Token], list[OpenPart]]] = []
    for each in candidates:
        tokens, members = _tokens(each, keys), [each]
        for group in [group for group in groups if group[0] & tokens]:
            groups.remove(group)
            tokens, members = tokens | group[0], [*group[1], *members]
        groups.append((tokens, members))
    return [_values(members) for _, members in groups]


def _key(candidate: OpenPart) -> str | None:
    key = candidate.part.view.key
    return normalise(key) if key else None


def _tokens(candidate: OpenPart, keys: Counter[tuple[str, str]]) -> set[Token]:
    """Several values of a key in one proposal are for all of them, not rivals."""
    part, proposal = candidate.part, candidate.proposal.ref.id
    tokens: set[Token] = {("fact", part.name)}
    if isinstance(part.piece, FactPiece) and part.piece.old is not None:
        tokens.add(("fact", part.piece.old.item.fact.id))
    key = _key(candidate)
    if key is not None and keys[proposal, key] == 1:
        tokens.add(("key", key))
    return tokens


def _values(candidates: Iterable[OpenPart]) -> Values:
    """The values of an item, newest first: parts that make the same change are one."""
    newest = sorted(candidates, key=lambda each: each.listed.since, reverse=True)
    values: list[list[OpenPart]] = []
    for each in newest:
        same = next((value for value in values if _make_the_same(value[0], each)), None)
        if same is None:
            values.append([each])
        else:
            same.append(each)
    return tuple(map(tuple, values))


def _make_the_same(one: OpenPart, other: OpenPart) -> bool:
    if _change(one) == _change(other):
        return True
    a, b = _new_fact(one), _new_fact(other)
    return (
        a is not None
        and b is not None
        and _key(one) is not None
        and (_key(one), a.kind, a.tags, a.until) == (_key(other), b.kind, b.tags, b.until)
        and sameness.resemble(a.text, b.text)
    )


def _new_fact(candidate: OpenPart) -> Fact | None:
    piece = candidate.part.piece
    return piece.new.item.fact if isinstance(piece, FactPiece) and piece.new else None


def _change(candidate: OpenPart) -> tuple[object, ...]:
    view = candidate.part.view
    if view.op is PartOp.SECTION:
        return view.op, view.name, view.old, view.new
    return view.op is PartOp.CONFIRM, view.new


def listed_item(number: int, values: Values) -> ListedItem:
    parts = [shown_part(each) for each in places(values)]
    return ListedItem(
        number=number,
        values=tuple(tuple(each.listed for each in value) for value in values),
        shown=digest(*(text for part in parts for text in (part.change, part.standing))),
    )


def places(values: Values) -> list[OpenPart]:
    return [each for value in values for each in value]


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
        return bool(self.standing)


ShownItem = tuple[tuple[ShownPart, ...], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    stamp: str
    items: tuple[ShownItem, ...]


def shown_part(candidate: OpenPart) -> ShownPart:
    view = candidate.part.view
    change = (*candidate.pair, view.path, *view.section, view.op, view.old, view.new)
    is_overtaken = view.state is PartState.OVERTAKEN
    return ShownPart(digest(*change), digest(view.standing) if is_overtaken else "")


def digest(*values: str | None) -> str:
    text = json.dumps(values)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]


def number_items(workspace: Workspace, proposals: Sequence[Proposal]) -> NumberedList:
    """Number the open parts of proposals, and keep what each number means."""
    items = open_items(proposals, workspace.curated)
    listed = items[:MOST_ITEMS]
    return NumberedList(
        stamp=_keep(workspace, listed) if listed else "",
        items=tuple(listed_item(number, item) for number, item in enumerate(listed, 1)),
        unlisted=len(items) - len(listed),
    )


def shown_items(items: Sequence[Values]) -> tuple[ShownItem, ...]:
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
        folder.mkdir(files.PRIVATE_FOLDER, exist_ok=True)
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


def _name(workspace: Workspace, stamp: str) -> str:
    """A list's file name; what an agent was shown is not this user's newest list."""
    is_agents = workspace.is_agent(workspace.actor)
    return f"{stamp}-{os.getuid()}{'-agent' if is_agents else ''}.json"


def _kept(workspace: Workspace) -> list[str]:
    entries = []
    with suppress(FileNotFoundError), os.scandir(workspace.state / FOLDER) as listed:
        for entry in listed:
            if entry.name.endswith(".json") and not entry.name.startswith("."):
                entries.append((entry.stat().st_mtime_ns, entry.name))
    return [name for _, name in sorted(entries, reverse=True)]


def find_shown(workspace: Workspace, stamp: str | None) -> Shown | None:
    """None: this user has none. Raises: ProposalProblem (`list-not-found`: no such stamp)."""
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
