"""Propose, read and decide on parts of proposals, as tests do."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from workspaces import Desk

from mdmem.changes.recover import WriteSteps
from mdmem.model.errors import MdmemError
from mdmem.model.proposals import Decide, ListDecision, PartView, Propose, ProposedWrite, Selection
from mdmem.model.writes import Remember, UserEdit, WriteOptions
from mdmem.proposals import branches, listings
from mdmem.repo import commits
from mdmem.repo.branch_commits import list_refs
from mdmem.review import list_decisions, proposing

SEED = "# Memory\n\n## Facts\n\n- home: Oslo\n- likes tea\n- drives a Volvo\n\n## Work\n\nThe office is at the harbour.\n\n- employer: Stripe\n"
BOT = "bot"


def silent(_: str) -> None:
    pass


def propose(
    at: Desk,
    edit: UserEdit,
    again: bool = False,
    **options: Any,
) -> str:
    return proposed(at, edit, again, **options).proposal or ""


def proposed(
    at: Desk,
    edit: UserEdit,
    again: bool = False,
    **options: Any,
) -> ProposedWrite:
    by_agent = replace(edit, options=WriteOptions(**{"actor": BOT, **options}))
    return proposing.propose(at.workspace, Propose(by_agent, again), silent)


def fact(text: str, section: str = "Facts", key: str | None = None) -> Remember:
    return Remember(text, section=section, key=key)


def parts(at: Desk, proposal: str) -> dict[str, PartView]:
    (read,) = listings.read_proposals(
        at.workspace, [branches.find_proposal(at.workspace, proposal)]
    )
    return {part.name: part for part in read.view.parts}


def on(proposal: str, *names: str, edited: Any = (), **fields: Any) -> Decide:
    """A decision on parts of a proposal."""
    return Decide(selection=Selection(proposal, names, edited), **fields)


def accept(at: Desk, proposal: str, *names: str, **fields: Any) -> ListDecision:
    return list_decisions.decide(at.workspace, on(proposal, *names, **fields), silent)


def reject(at: Desk, proposal: str, *names: str, **fields: Any) -> ListDecision:
    return accept(at, proposal, *names, accepts=False, **fields)


def own_branch(actor: str) -> str:
    """The branch of an actor's proposal on this machine."""
    return branches.own_branch(actor)[1].removeprefix("refs/heads/")


def mark_as_made(at: Desk, proposal: str) -> None:
    """Have a proposal count as one that mdmem made here."""
    ref = replace(branches.find_proposal(at.workspace, proposal), is_own=True)
    assert branches.move(at.workspace, ref, ref)


def closed(at: Desk) -> dict[str, str]:
    return {
        name.removeprefix(branches.CLOSED): commit
        for name, commit in list_refs(at.workspace.repository, branches.CLOSED).items()
    }


def trailers(at: Desk, commit: str = "HEAD") -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for line in at.git("log", "-1", "--format=%B", commit).splitlines():
        if match := re.fullmatch(r"Mdmem-([\w-]+): (.*)", line):
            values.setdefault(match[1], []).append(match[2])
    return values


def problem(work: Callable[..., object], *arguments: object, **fields: object) -> MdmemError:
    with pytest.raises(MdmemError) as caught:
        work(*arguments, **fields)
    return caught.value


def killed_at_the_commit(monkeypatch: pytest.MonkeyPatch, write: Callable[[], object]) -> None:
    """Let a write stop when its files are written and nothing is committed, as if its process were
    killed.
    """

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(WriteSteps, "undo", killed)
        patch.setattr(commits, "commit", killed)
        with pytest.raises(SystemExit):
            write()
