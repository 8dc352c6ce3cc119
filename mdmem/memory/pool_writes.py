"""Writes beside a pool: they go to this workspace, and repeat nothing that came from another."""

from __future__ import annotations

from mdmem.context.given import read_record, text_id
from mdmem.index.query import Filter
from mdmem.lookup import lookup
from mdmem.memory.contexts import session_of
from mdmem.model import FileKind, Source
from mdmem.model.errors import FactProblem, TextProblem, WorkspaceProblem, shell_word, typed, verb
from mdmem.model.writes import Change, Contradict, Forget, Log, Purge, Remember
from mdmem.queries import pool, search
from mdmem.startup import late
from mdmem.workspace import Say, Workspace

_ID = late.pattern(r"[0-9a-f]{6,8}")
_FACT_KINDS = (FileKind.EVERGREEN, FileKind.DAILY, FileKind.PROFILE)


def name_workspace(workspace: Workspace, change: object, problem: FactProblem) -> None:
    """Raise WorkspaceProblem (`other-workspace`) for a fact that another workspace holds.

    `change` is the write that failed with `problem`.
    """
    if problem.code != "fact-not-found":
        return
    command, facts = _command(change)
    if not facts or not all(map(_ID.fullmatch, facts)):
        return
    for name, each in pool.open_pool(workspace).workspaces.items():
        if all(lookup.locate_fact(each, fact, _FACT_KINDS) for fact in facts):
            raise WorkspaceProblem(
                "other-workspace",
                f"{facts[0]} is in {name}, and this writes to {workspace.root.name} alone",
                f"Use: mdmem -C {shell_word(each.root)} {command}",
                workspace=name,
                fact=facts[0],
            ) from problem


def _command(change: object) -> tuple[str, tuple[str, ...]]:
    match change:
        case Forget(fact=fact):
            return f"forget {fact}", (fact,)
        case Purge(fact=fact):
            purge = typed(verb("forget", "purge")).removeprefix("mdmem ")
            return f"{purge} {fact}", (fact,)
        case Contradict(first=first, second=second):
            return f"contradicts {first} {second}", (first, second)
        case Remember(options=options) | Log(options=options) if options.supersedes:
            fact = options.supersedes
            return f'{change.verb} --supersedes {fact} "the new text"', (fact,)
    return "", ()


def refuse_given(workspace: Workspace, change: Change, say: Say, target: str | None = None) -> None:
    """Refuse an agent the words that its session was given from another workspace.

    `target` is the name of the one that is written to, `workspace` the one whose pool that is in.
    Raises TextProblem (`recalled-text`). Words that the user states are theirs.
    """
    if not isinstance(change, Log | Remember) or change.options.source is Source.USER_STATED:
        return
    if not workspace.is_agent(workspace.given_actor(change.options.actor)):
        return
    session = session_of(workspace, change.options.session)
    given = read_record(workspace.state, session).all_given if session else frozenset[str]()
    texts = [change.text, *(change.more if isinstance(change, Log) else ())]
    if isinstance(change, Remember) and change.key:
        texts.append(f"{change.key}: {change.text}")
    repeated = {fact for fact in map(text_id, texts) if fact in given}
    if not repeated:
        return
    today = workspace.now().date()
    holders = [
        name
        for name, member in search.fresh(workspace, say).members.items()
        if member.index.finder.current_facts(repeated, Filter(valid_on=today), today)
    ]
    if holders and target not in holders:
        raise TextProblem(
            "recalled-text",
            f"this session has read the text in {holders[0] or workspace.root.name},"
            " another workspace",
            "Store only what is new, in new words.",
        )
