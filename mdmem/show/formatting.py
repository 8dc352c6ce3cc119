"""Formatting that several results share: ids, sections, dates, dim text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from mdmem.model import CommitId, Op, OtherReading, SectionPath, Signature, Source, Status
from mdmem.model.errors import number_of, printable
from mdmem.text.document import join_path

if TYPE_CHECKING:
    from mdmem.model.history import ChangeList, Made
    from mdmem.model.reads import UnreadableProposal, Waiting
    from mdmem.model.searches import BuildProgress, FactList, Hit, SearchResult

_SHORT_ID = 10
_MOST_NAMES = 10
_SHORT_SESSION = 13  # characters of an id, which hold the time of a UUID that begins with it
_DIM, PLAIN = "\x1b[2m", "\x1b[0m"


class VerbatimText(str):
    """A text with lines of a file, shown unwrapped so that they can be copied."""

    __slots__ = ()


def short_id(commit: CommitId | None) -> str:
    return commit[:_SHORT_ID] if commit else ""


def named_commit(commit: CommitId | None) -> str:
    return f" (commit {short_id(commit)})" if commit else ""


def one_line(text: str) -> str:
    """`text` as one line with nothing in it that could steer a terminal."""
    return printable(text, keep="")


def steerless(text: str) -> str:
    """Lines with nothing in them that could steer a terminal."""
    return printable(text.replace("\r\n", "\n").replace("\r", "\n"))


def section_line(section: SectionPath) -> str:
    """A section's path on one line; a title may hold tabs and line ends."""
    return " ".join(join_path(section).split())


def some_of(names: Sequence[str]) -> tuple[str, ...]:
    """The first of many names, and in place of the others how many they are."""
    if len(names) <= _MOST_NAMES:
        return tuple(names)
    return (*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1:,} more")


def cites_text(cites: Sequence[str], gone: Collection[str] = ()) -> str:
    """Lines of sessions in parentheses, ids shortened, `gone` ones marked; empty without any."""
    names = [f"{_short_reference(cited)}{' gone' if cited in gone else ''}" for cited in cites]
    return f"({', '.join(some_of(names))})" if names else ""


def _short_reference(cited: str) -> str:
    # a shortened id is accepted wherever the whole one is
    client, _, rest = cited.partition("/")
    session, _, line = rest.rpartition("#")
    return f"{client}/{session[:_SHORT_SESSION]}#{line}"


def days_notes(result: SearchResult | FactList | ChangeList) -> tuple[str, ...]:
    days = (("since", result.since), ("until", result.until))
    words = " ".join(f"{name} {day}" for name, day in days if day is not None)
    return (f"showing results {words}",) if words else ()


def dim(text: str, colour: bool) -> str:
    return f"{_DIM}{text}{PLAIN}" if colour else text


_ALSO = {
    "section": "the name is also a section: {}",
    "key": "the name is also the key of fact {}",
    "id": "the name is also the beginning of the ID {}",
    "place": "the same fact is also in {}",
    "day": "the name is also a day: {}",
}


def also_notes(also: Sequence[OtherReading]) -> tuple[str, ...]:
    return tuple(one_line(_ALSO[each.sort].format(each.name)) for each in also)


def location(path: str, section: SectionPath) -> str:
    return f"{path}: {section_line(section)}" if section else path


def _operation(op: str) -> str:
    """An operation as its command is called."""
    return Op.FORGET if op == Op.RETRACT else op


def _signed(signature: Signature) -> str:
    words = "bad signature" if signature.state == "bad" else signature.state.replace("-", " ")
    return f"{words} by {signature.by}" if signature.by else words


def attribution(change: Made) -> str:
    is_default = change.op is not None and (change.source, change.confidence) == (
        Source.INFERRED,
        Source.INFERRED.confidence,
    )
    is_personal = change.op is None and change.claimed_by is None
    actor = "" if change.run else change.actor or (change.author if is_personal else "")
    claimant = f" (claimed by {change.claimed_by})" if change.claimed_by else ""
    by_hand = f"edited by hand (author {actor})" if actor and is_personal else "edited by hand"
    parts = (
        by_hand if change.op is None else change.run or _operation(change.op),
        "" if is_default or is_personal else f"{change.source}{claimant} {change.confidence:g}",
        f"by {actor}" if actor and not is_personal else "",
        f"proposed by {change.proposed_by}" if change.proposed_by else "",
        _signed(change.signed) if change.signed else "",
    )
    reason = f', "{change.reason}"' if change.reason else ""
    return f"{short_id(change.commit)}  {', '.join(filter(None, parts))}{reason}"


def hit_remarks(hit: Hit) -> tuple[str, ...]:
    by = f" by {hit.superseded_by}" if hit.superseded_by else ""
    status = "forgotten" if hit.retracted else hit.status
    return (
        *([f"({hit.author})"] if hit.author else []),
        *([f"({status}{by})"] if hit.status is not Status.CURRENT else []),
        *([f"(contradicts {', '.join(hit.contradicts)})"] if hit.contradicts else []),
        *([f"(later: {hit.later})"] if hit.later else []),
        *(["(done)"] if hit.done else []),
        *(["(uncommitted)"] if hit.uncommitted else []),
        *(["(proposed)"] if hit.proposed else []),
        *(["(near)"] if hit.near else []),
        *(["(like)"] if hit.like else []),
    )


def tags_behind(hit: Hit) -> tuple[str, ...]:
    """The tags to show behind the text of a hit: those that are not within it."""
    return tuple(tag for tag in hit.tags if f"#{tag}" not in hit.text)


def unread_text(building: BuildProgress) -> str:
    return (
        f"Nothing found yet; the index is still being built ({building.done:,} of"
        f" {building.total:,} files)"
    )


def waiting_line(waiting: Waiting) -> str:
    """A line for the proposals that wait for a person, and since when; empty where none does."""
    since = f", oldest {waiting.since.date()}" if waiting.since else ""
    return f"{number_of(waiting.proposals, 'proposal')}{since}" if waiting.proposals else ""


def unreadable_line(proposal: UnreadableProposal) -> str:
    named = f"{proposal.id} ({proposal.branch})"
    return one_line(f"{named} cannot be read: {proposal.reason}. {proposal.hint}")
