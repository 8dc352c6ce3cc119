"""Decide on parts of a proposal or items of a list, as shown: all that was asked, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mdmem.changes.apply import apply_edit, preview
from mdmem.changes.commit_notes import complete_options
from mdmem.changes.recover import Transaction, lock_workspace, recover
from mdmem.folder import layout
from mdmem.model import CommitId
from mdmem.model.errors import ProposalProblem, number_of, shell_word, verb
from mdmem.model.errors import field as field_name
from mdmem.model.proposals import (
    SEVERAL_VALUES,
    Decide,
    DecidedItem,
    ItemChoice,
    LeftItem,
    ListDecision,
    PartState,
    PartView,
    Selection,
)
from mdmem.model.writes import WriteOptions, WriteResult
from mdmem.proposals import listings, rewriting
from mdmem.proposals.listings import OpenPart, Proposal, Shown, ShownItem, Values, shown_part
from mdmem.review.deciding import (
    PartTaking,
    choose_parts,
    find_conflicts,
    part_edit,
    reject_parts,
    rejected,
    require_single,
    require_tip,
    settle,
)
from mdmem.startup.records import dataclass, field, replace
from mdmem.text import check
from mdmem.text.document import is_named
from mdmem.workspace import Say, Workspace

_OVERTAKEN = "outdated"
_CHANGED = "changed since it was shown"


class _Moved(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Taking:
    """A part to accept, by its number; `closes` are the rivals that it supersedes."""

    number: int
    candidate: OpenPart
    change: PartTaking
    voices: tuple[OpenPart, ...] = ()
    closes: tuple[OpenPart, ...] = ()


@dataclass(slots=True)
class _Work:
    takings: list[_Taking] = field(default_factory=list)
    rejects: list[tuple[int, OpenPart]] = field(default_factory=list)
    left: list[LeftItem] = field(default_factory=list)
    proposal: Proposal | None = None
    overtaken: tuple[PartView, ...] = ()

    @property
    def decided(self) -> list[OpenPart]:
        """The parts accepted and rejected; those that are closed with a rival are not."""
        taken = [e for taking in self.takings for e in (taking.candidate, *taking.voices)]
        return [*taken, *(each for _, each in self.rejects)]

    @property
    def closes(self) -> list[OpenPart]:
        return [each for taking in self.takings for each in taking.closes]


def decide(workspace: Workspace, request: Decide, say: Say) -> ListDecision:
    """All or nothing; with the list as it is now (`moved`) if an item is not what it showed."""
    options = complete_options(workspace, request.options)
    workspace.require_person(options.actor, "accept" if request.accepts else "reject")
    check.refuse_errors(check.secrets_in_options(options), options.allow)
    with lock_workspace(workspace, say):
        recover(workspace, say)
        match request.selection:
            case Selection(proposal=str(named)) as selection:
                work = _named(workspace, named, selection, request)
            case selection:
                proposals, _ = listings.read_standing(workspace)
                tips = {each.ref.id: each.ref.tip for each in proposals}
                for proposal, tip in request.expect:
                    require_tip(proposal, tips.get(proposal), tip)
                shown = listings.find_shown(workspace, request.stamp)
                items = listings.open_items(proposals, workspace.curated)
                try:
                    if selection is not None:
                        work = _selected(workspace, selection, request, shown, items)
                    else:
                        work = _chosen(request, shown, items)
                except _Moved:
                    numbered = listings.number_items(workspace, proposals)
                    return ListDecision(moved=numbered, stamp=shown.stamp if shown else "")
        work.takings.sort(key=lambda taking: rewriting.order(taking.candidate.part))
        if work.proposal is None and (selection is not None or request.leaves):
            _leave_conflicts(workspace, work)
        _require_whole_names(work)
        return _carry_out(workspace, work, request, options, say)


class _Board:
    def __init__(self, shown: Sequence[ShownItem], items: Sequence[Values]) -> None:
        self.shown = shown
        self._items = [
            {shown_part(each).change: each for each in listings.places(i)} for i in items
        ]
        self.standing = {
            part.change: part.standing for item in shown for value in item for part in value
        }
        """The text that was shown in a part's place, as a digest, by its change."""

    def values(self, item: ShownItem) -> Values:
        """The values of an item without what has been decided since. Raises: _Moved."""
        changes = {part.change for value in item for part in value}
        parts: dict[str, OpenPart] = {}
        for current in self._items:
            if not changes.isdisjoint(current):
                if current.keys() - changes:
                    raise _Moved
                parts |= current
        return tuple(
            tuple(parts[part.change] for part in value if part.change in parts) for value in item
        )

    def unlisted(self) -> Iterator[list[OpenPart]]:
        return (list(i.values()) for i in self._items if i.keys().isdisjoint(self.standing))


# Parts of one proposal.


def _named(workspace: Workspace, named: str, selection: Selection, request: Decide) -> _Work:
    proposal, takings = choose_parts(workspace, named, selection, request)
    parts = [OpenPart(proposal, taking.part) for taking in takings]
    if not request.accepts:
        return _Work(rejects=[(0, each) for each in parts], proposal=proposal)
    names = {taking.part.name for taking in takings}
    overtaken = tuple(
        part.view
        for part in proposal.parts
        if part.view.state is PartState.OVERTAKEN and part.name not in names
    )
    accepted = [
        _Taking(number=0, candidate=part, change=taking)
        for part, taking in zip(parts, takings, strict=True)
    ]
    return _Work(takings=accepted, proposal=proposal, overtaken=overtaken)


# Numbers.


def _chosen(request: Decide, shown: Shown | None, items: Sequence[Values]) -> _Work:
    if shown is None:
        raise ProposalProblem(
            "list-not-found",
            "no list has been printed yet",
            f"To list open proposals: {verb('proposals')}",
        )
    board, work = _Board(shown.items, items), _Work()
    for choice in request.choices:
        try:
            _choose(request, choice, shown.stamp, board, work)
        except (_Moved, ProposalProblem):
            if not request.leaves:
                raise
            work.left.append(LeftItem(choice.number, _CHANGED))
    return work


def _choose(request: Decide, choice: ItemChoice, stamp: str, board: _Board, work: _Work) -> None:
    item = board.shown[choice.number - 1] if 0 < choice.number <= len(board.shown) else ()
    if (choice.value or 0) >= len(item):
        raise ProposalProblem(
            "part-not-found",
            f"list {stamp} has no {choice.name}; it has {number_of(len(board.shown), 'item')}",
            f"To list open proposals: {verb('proposals')}",
        )
    values = board.values(item)
    if choice.accepts:
        work.takings += _takings(choice, values, board.standing, request)
        return
    named = values if choice.value is None else values[choice.value : choice.value + 1]
    if not (parts := listings.places(named)):
        raise _Moved
    listed = {id(each) for _, each in work.rejects}
    work.rejects += [(choice.number, each) for each in parts if id(each) not in listed]


def _takings(
    choice: ItemChoice, values: Values, standing: Mapping[str, str], request: Decide
) -> Iterator[_Taking]:
    keeps_all = choice.keeps and choice.value is None and len(values) > 1
    chosen = [value for value in values if value] if keeps_all else [values[choice.value or 0]]
    if not all(chosen):
        raise _Moved
    others = [each for value in values if value not in chosen for each in value]
    closes = () if choice.keeps else tuple(each for each in others if len(_same_name(each)) == 1)
    for place, value in enumerate(chosen):
        candidate = _freshest(value)
        voices = tuple(each for each in value if each is not candidate)
        taking = PartTaking(
            proposal=candidate.proposal.ref.id,
            part=candidate.part,
            text=choice.text,
            anyway=_is_forced(choice, candidate, standing, request),
            keeps=choice.keeps and (place > 0 or not keeps_all),
            voices=tuple(each.pair for each in voices),
            closes=tuple(each.pair for each in closes),
        )
        yield _Taking(
            number=choice.number, candidate=candidate, change=taking, voices=voices, closes=closes
        )


def _same_name(each: OpenPart) -> list[OpenPart]:
    """The open parts of a proposal with this one's name: a decision covers them all."""
    same = [part for part in each.proposal.parts if part.name == each.part.name]
    return [OpenPart(each.proposal, part) for part in same if part.view.state.waits]


def _freshest(value: Sequence[OpenPart]) -> OpenPart:
    return next((each for each in value if each.part.view.state is PartState.OPEN), value[0])


def _is_forced(
    choice: ItemChoice, candidate: OpenPart, standing: Mapping[str, str], request: Decide
) -> bool:
    """A removal needs `anyway`: nobody proposed to remove what is there now."""
    view, now = candidate.part.view, shown_part(candidate)
    if not now.is_overtaken or request.anyway:
        return now.is_overtaken
    is_as_listed, is_removal = now.standing == standing[now.change], not view.new
    if is_as_listed and (not is_removal or request.leaves):
        return not is_removal  # what is not forced is found, and left
    raise ProposalProblem(
        "overtaken",
        f"{choice.name} is outdated: its target has changed since it was"
        f" {'proposed' if is_as_listed else 'listed'}",
        f"Now there: {view.standing or 'nothing'}\nProposed: {view.new or 'to remove it'}\n"
        f"To accept it anyway: {verb('accept')} {shell_word(choice.name)} {field_name('anyway')}",
        part=view.name,
        standing=view.standing,
        proposed=view.new,
    )


def _is_outdated_removal(candidate: OpenPart) -> bool:
    view = candidate.part.view
    return view.state is PartState.OVERTAKEN and not view.new


def item_text(workspace: Workspace, choice: ItemChoice, stamp: str | None) -> str:
    """The text of an item, to edit.

    Raises: ProposalProblem (`list-not-found`, `part-not-found`, `proposals-moved`).
    """
    proposals, _ = listings.read_standing(workspace)
    items = listings.open_items(proposals, workspace.curated)
    shown = listings.find_shown(workspace, stamp)
    try:
        work = _chosen(Decide(choices=(choice,), anyway=True), shown, items)
    except _Moved:
        raise ProposalProblem(
            "proposals-moved",
            f"{choice.name} is not what the list showed",
            f"To list open proposals: {verb('proposals')}",
        ) from None
    view = work.takings[0].candidate.part.view
    if view.new is None:
        raise ProposalProblem("part-not-found", f"{choice.name} has no text to edit", "")
    return view.new


# Selections.


def _selected(
    workspace: Workspace,
    selection: Selection,
    request: Decide,
    shown: Shown | None,
    items: Sequence[Values],
) -> _Work:
    if selection.file is not None:
        selection = replace(selection, file=layout.parse_path(selection.file))
    board = _Board(shown.items if shown else listings.shown_items(items), items)
    work = _Work()
    for number, item in enumerate(board.shown, 1):
        values = board.values(item)
        chosen = [each for each in listings.places(values) if _matches(workspace, selection, each)]
        if not chosen:
            continue
        is_exact = selection != Selection() and not request.accepts
        open_parts = [each for each in chosen if each.part.view.state is PartState.OPEN]
        if sum(map(bool, values)) > 1 and selection.actor is None and not is_exact:
            work.left.append(LeftItem(number, SEVERAL_VALUES))
        elif not open_parts and not is_exact:
            needs_anyway = request.accepts and all(map(_is_outdated_removal, chosen))
            work.left.append(LeftItem(number, _OVERTAKEN, needs_anyway))
        elif request.accepts:
            place = next(n for n, value in enumerate(values) if open_parts[0] in value)
            choice = ItemChoice(number=number, value=place)
            work.takings += _takings(choice, values, board.standing, request)
        else:
            work.rejects += [(number, each) for each in chosen]
    work.left += [
        LeftItem(0, "proposed since the list")
        for parts in board.unlisted()
        if any(_matches(workspace, selection, each) for each in parts)
    ]
    return work


def _matches(workspace: Workspace, selection: Selection, candidate: OpenPart) -> bool:
    listed, view = candidate.listed, candidate.part.view
    age = (workspace.now().date() - listed.since.date()).days
    return (
        (selection.file is None or view.path == selection.file)
        and (selection.section is None or is_named(view.section, selection.section))
        and (selection.actor is None or listed.actor == selection.actor)
        and (selection.older is None or age > selection.older)
    )


def _leave_conflicts(workspace: Workspace, work: _Work) -> None:
    met = find_conflicts(workspace, [taking.change for taking in work.takings])
    work.left += [
        LeftItem(taking.number, _OVERTAKEN, _is_outdated_removal(taking.candidate))
        for taking in map(work.takings.__getitem__, met)
    ]
    work.takings = [taking for number, taking in enumerate(work.takings) if number not in met]


# Carrying it out.


def _require_whole_names(work: _Work) -> None:
    """A decision covers all parts of its name in a proposal. Raises: ProposalProblem."""
    parts = {id(each.part) for each in work.decided}
    for each in work.decided:
        same = [other.part for other in _same_name(each)]
        if any(id(part) not in parts for part in same):
            require_single(each.proposal, same)


def _carry_out(
    workspace: Workspace, work: _Work, request: Decide, options: WriteOptions, say: Say
) -> ListDecision:
    edits = [part_edit(taking.change, request.vouch, options) for taking in work.takings]
    if options.dry_run:
        results = [preview(workspace, edit) for edit in edits]
        return replace(_decision(work, results, {}), dry_run=True)
    with Transaction() as transaction:
        results = [apply_edit(workspace, edit, say, transaction) for edit in edits]
        rejects = [each for _, each in work.rejects]
        rejections = reject_parts(workspace, rejects, options, transaction)
    named = [work.proposal] if work.proposal else []
    proposals = [*named, *(each.proposal for each in (*work.decided, *work.closes))]
    closed = settle(workspace, list({each.ref.id: each for each in proposals}.values()))
    return replace(_decision(work, results, rejections), closed=closed)


def _decision(
    work: _Work, results: Sequence[WriteResult], rejections: Mapping[tuple[str, str], CommitId]
) -> ListDecision:
    accepted = [
        DecidedItem(taking.number, taking.change.proposal, taking.change.part.view, result)
        for taking, result in zip(work.takings, results, strict=True)
    ]
    commits = (*(result.commit for result in results if result.commit), *rejections.values())
    return ListDecision(
        accepted=tuple(sorted(accepted, key=lambda each: each.number)),
        rejected=tuple(
            DecidedItem(
                number,
                each.proposal.ref.id,
                each.part.view,
                rejected(each.part.view, rejections.get(each.pair)),
            )
            for number, each in work.rejects
        ),
        superseded=tuple((each.proposal.ref.id, each.part.view) for each in work.closes),
        left=tuple(work.left),
        commits=tuple(dict.fromkeys(commits)),
        proposal=work.proposal.ref.id if work.proposal else "",
        overtaken=work.overtaken,
    )
