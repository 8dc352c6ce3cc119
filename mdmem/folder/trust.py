"""Whom mdmem believes: for each origin of text, what it may at most become. Pure.

Every door asks this table; no other module decides who may say what.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from mdmem.model import Source, rules
from mdmem.startup import late
from mdmem.startup.records import dataclass

HOST_MARKS: Mapping[str, str] = {
    "CLAUDECODE": "claude-code",
    "GEMINI_CLI": "gemini-cli",
    "CODEX_THREAD_ID": "codex",
    "CODEX_SANDBOX": "codex",
    "CURSOR_AGENT": "cursor",
    "OPENCODE": "opencode",
    "COPILOT_CLI": "copilot-cli",
    "QWEN_CODE": "qwen-code",
}
"""Variables that agents' hosts set in the shells they run, each with the host's name."""


_SHARED_TERMINALS = frozenset({"vscode"})
"""Values of TERM_PROGRAM in terminals in which an editor's agents type too, and leave no mark."""
_NAMELESS = "somebody"


class TextOrigin(StrEnum):
    """Where a text comes from, as a door tells it."""

    PERSON = "person"
    """A person at the keyboard: no actor outside of a host's shell, a save, their own commit."""
    PLAIN_STATEMENT = "plain-statement"
    """A plain statement of the user in their own session (`sessions/plain`)."""
    MESSAGE = "message"
    """Any other text of the user's message: pasted, quoted, forwarded, asked to be worked on."""
    OTHER_SENDER = "other-sender"
    """Another sender in a group or a direct chat."""
    AGENT = "agent"
    """An actor that is no person, a host's shell, the server, the memory tool."""
    MATERIAL = "material"
    """A tool's output, a file that a message names, a system's reminder, text from memory."""
    RULE = "rule"
    """A dream's rule or a model's suggestion; at most as strong as the words it is based on."""
    PROPOSAL = "proposal"
    """A branch that is proposed, and each open proposal but this machine's own."""
    OTHER_AUTHOR = "other-author"
    """Another person's commit that came by pull, merge or sync into an adopted workspace."""
    STRANGER = "stranger"
    """A repository that this user has not adopted on this machine."""
    WORKSPACE_SETTINGS = "workspace-settings"
    MODEL = "model"
    """The answer of a model's server or command, before it is checked."""


@dataclass(frozen=True, slots=True)
class Trust:
    """The most that an origin may become.

    - `most`: the strongest source of a statement; None: no statement at all.
    - `claims`: what it calls `user-stated` keeps that source and is marked as claimed.
    - `has_key`: its entries have the key that a rule gives; else the key counts for proposals
      alone.
    - `adds`, `replaces`: a dream may add facts from its words by itself, and replace facts by them.
    - `ends_users_word`: these may be facts that the user stated.
    - `decides`: it may accept, reject and purge, and change settings and what people alone may
      change.
    - `is_served`: agents get its texts: in blocks, answers of tools, prompts and digests.
    - `settings`: the names of the settings that it may hold.
    """

    most: Source | None = None
    claims: bool = False
    has_key: bool = False
    adds: bool = False
    replaces: bool = False
    ends_users_word: bool = False
    decides: bool = False
    is_served: bool = False
    settings: frozenset[str] = frozenset()


class Ruling(StrEnum):
    """The fate of a write by an agent that is to propose (`changes.write_policy`)."""

    APPLY = "apply"
    PROPOSE = "propose"
    REFUSE = "refuse"


TABLE: Mapping[TextOrigin, Trust] = {
    TextOrigin.PERSON: Trust(
        most=Source.USER_STATED,
        has_key=True,
        adds=True,
        replaces=True,
        ends_users_word=True,
        decides=True,
        is_served=True,
    ),
    TextOrigin.PLAIN_STATEMENT: Trust(
        most=Source.USER_STATED,
        has_key=True,
        adds=True,
        replaces=True,
        ends_users_word=True,
        is_served=True,
    ),
    TextOrigin.MESSAGE: Trust(most=Source.INFERRED, adds=True, is_served=True),
    TextOrigin.OTHER_SENDER: Trust(most=Source.INFERRED, is_served=True),
    TextOrigin.AGENT: Trust(
        most=Source.INFERRED,
        claims=True,
        has_key=True,
        adds=True,
        replaces=True,
        is_served=True,
    ),
    TextOrigin.MATERIAL: Trust(),
    TextOrigin.RULE: Trust(most=Source.AUTO, has_key=True, is_served=True),
    TextOrigin.PROPOSAL: Trust(most=Source.INFERRED, has_key=True),
    TextOrigin.OTHER_AUTHOR: Trust(most=Source.USER_STATED, is_served=True),
    TextOrigin.STRANGER: Trust(),
    TextOrigin.WORKSPACE_SETTINGS: Trust(
        settings=frozenset(
            {
                "timezone",
                "author",
                "actor",
                "paths",
                "daily",
                "links",
                "log_heading",
                "extra_paths",
                "direct_edits",
                "allow_detached",
                "lock_timeout",
                "hook_timeout",
                "half_life_days",
                "language",
                "budget_lines",
                "budget_bytes",
                "log_queries",
                "context",
                "agents_propose",
                "people_only",
            }
        ),
    ),
    TextOrigin.MODEL: Trust(most=Source.AUTO),
}


_FORGE = late.pattern(
    r"no-?reply@(?:[\w-]+\.)*(?:github|gitlab|gitea|forgejo|codeberg|bitbucket)\.\w+"
)
_REQUEST = late.pattern(r"\([#!]\d+\)\s*$")
_LISTED_COMMIT = late.pattern(r"(?m)^\* \S")


def trust(origin: TextOrigin) -> Trust:
    return TABLE[origin]


def limit_source(origin: TextOrigin, source: Source) -> Source | None:
    """The source of a statement whose origin calls it `source`; None: it is no statement."""
    most = trust(origin).most
    return None if most is None else min(source, most, key=lambda each: each.strength)


def is_claim(origin: TextOrigin, source: Source) -> bool:
    return trust(origin).claims and source is not limit_source(origin, source)


def host_of(environment: Mapping[str, str]) -> str | None:
    return next((host for name, host in HOST_MARKS.items() if environment.get(name)), None)


def is_agent_author(author: str, agents: Collection[str], addresses: Collection[str]) -> bool:
    """True if the user names an author, `NAME <EMAIL>`, as an agent; never for the user."""
    name, _, address = author.rpartition("<")
    address = address.removesuffix(">")
    if not agents or address.casefold() in addresses:
        return False
    return not {rules.fold_actor(name), rules.fold_actor(address)}.isdisjoint(
        map(rules.fold_actor, agents)
    )


def is_forge_squash(message: str, committer: str) -> bool:
    """True for a commit without notes that a forge made of a whole branch, an agent's lines too.

    `committer`: an address. What somebody edits on the forge's page is their own: it names no
    request to merge, and lists no commits.
    """
    if _FORGE.fullmatch(committer.casefold()) is None or "Mdmem-Op:" in message:
        return False
    subject, _, body = message.partition("\n")
    return _REQUEST.search(subject) is not None or len(_LISTED_COMMIT.findall(body)) > 1


def shares_terminal(environment: Mapping[str, str]) -> bool:
    """True where a person may share the terminal with agents that leave no mark in it."""
    return environment.get("TERM_PROGRAM", "") in _SHARED_TERMINALS


def other_author(author: str, addresses: Collection[str]) -> str | None:
    """The name in `NAME <EMAIL>`; None for the user, by these case-folded addresses."""
    name, _, address = author.rpartition("<")
    address = address.removesuffix(">")
    if address.casefold() in addresses:
        return None
    return rules.author_name(name) or rules.author_name(address) or _NAMELESS


def origin_of_actor(actor: str | None, people: Iterable[str]) -> TextOrigin:
    is_person = actor is None or rules.is_person(actor, people)
    return TextOrigin.PERSON if is_person else TextOrigin.AGENT
