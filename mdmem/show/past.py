"""Results of the verbs that look back: histories, blame, when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from mdmem.model import Op, Status
from mdmem.model.errors import field, number_of, printable, verb
from mdmem.model.history import (
    Blame,
    BlamedLine,
    ChangeKind,
    ChangeList,
    DayView,
    FactChange,
    FactHistory,
    FactLink,
    Made,
    PresenceView,
    RevisionView,
    SectionHistory,
    TextHistory,
)
from mdmem.past.differences import DiffKind, word_difference
from mdmem.show.formatting import (
    PLAIN,
    attribution,
    cites_text,
    days_notes,
    dim,
    location,
    one_line,
    short_id,
    steerless,
)

_FORGOTTEN = "forgotten"
"""For `removed`, where a log entry keeps its line."""
_KIND_WIDTH = max(map(len, (*ChangeKind, _FORGOTTEN)))
_MARGIN = " " * len("  09:30  ")


def changes_notes(listed: ChangeList) -> tuple[str, ...]:
    empty = () if listed.changes else ("no changes",)
    return (*days_notes(listed), *listed.notes, *empty)


def changes_text(changes: Sequence[FactChange], colour: bool) -> str:
    return "\n".join(_lines_by_day(changes, colour))


def _lines_by_day(changes: Sequence[FactChange], colour: bool) -> Iterator[str]:
    for day, of_day in groupby(changes, lambda change: change.made.time.date()):
        yield f"{day}"
        for change in of_day:
            yield from _change_lines(change, colour)


def _change_lines(change: FactChange, colour: bool) -> Iterator[str]:
    before = f"{_words(change.replaced.text)}  ->  " if change.replaced else ""
    yield one_line(
        f"  {change.made.time:%H:%M}  {_change_name(change):<{_KIND_WIDTH}}"
        f"  {before}{_words(change.text)}  [{change.fact}]"
    )
    yield dim(
        one_line(f"{_MARGIN}{attribution(change.made)}  {location(change.path, change.section)}"),
        colour,
    )


def _change_name(change: FactChange) -> str:
    return _FORGOTTEN if change.made.op == Op.RETRACT else change.kind


def _words(text: str) -> str:
    return " ".join(text.split())


def day_text(view: DayView, terminal: bool, colour: bool) -> str:
    logs = [
        steerless(text) if terminal else text
        for text in (log.text.strip("\r\n") for log in view.logs)
    ]
    lines = [line for change in view.changes for line in _change_lines(change, colour)]
    changes = (
        "\n".join(["Changed:" if logs else f"Changed on {view.day}:", *lines]) if lines else ""
    )
    return "\n\n".join(filter(None, (*logs, changes)))


def day_notes(view: DayView) -> tuple[str, ...]:
    more = (
        f"{number_of(view.more, 'more change')}: {verb('changes')} {field('since')} {view.day}"
        f" {field('until')} {view.day} {field('limit')} 0"
    )
    nothing = () if view.logs else (f"nothing was logged on {view.day}",)
    return (*nothing, more) if view.more else nothing


Marked = tuple[DiffKind, str]

_RED, _GREEN = "\x1b[31m", "\x1b[32m"
_MINUTE = "%Y-%m-%d %H:%M"
_CONTEXT_LINES = 2
_MOST_FILES = 10
_INDENT = "    "


# The history of a section.


def history_text(history: SectionHistory | FactHistory, words: bool, colour: bool) -> str:
    if isinstance(history, FactHistory):
        return "\n".join(_chain_lines(history, words, colour))
    if not words:
        return "\n".join(dim(line, colour) for line in _commit_lines(history))
    lines = (
        text
        for revision in history.revisions
        for text in _revision_lines(revision, history, colour)
    )
    return "\n".join(lines).rstrip("\n")


def _commit_lines(history: SectionHistory) -> Iterator[str]:
    for _, revisions in groupby(history.revisions, attrgetter("made.statement")):
        changes = tuple(revisions)
        cites = tuple(dict.fromkeys(cited for change in changes for cited in change.made.cites))
        words = _first_words(changes) if len({each.path for each in changes}) <= _MOST_FILES else ""
        line = f"{_attributed(changes[0])}{_locations(changes, history)}{words}"
        yield one_line(f"{line}{_cites_suffix(cites, history)}")


def _attributed(revision: RevisionView) -> str:
    made = revision.made
    merged = _merged(made.time, revision.merged)
    return f"{made.time:{_MINUTE}}  {attribution(made)}{merged and f', {merged}'}"


def _locations(revisions: Sequence[RevisionView], history: SectionHistory) -> str:
    """The sections that a commit changed: one by its name, several as the number in each file.

    Of many files, as on the day on which a folder was adopted, only how many they are.
    """
    deepest = max(revisions, key=lambda revision: len(revision.section))
    if all(
        revision.path == deepest.path
        and deepest.section[: len(revision.section)] == revision.section
        for revision in revisions
    ):
        same = (deepest.path, deepest.section) == (history.path, history.section)
        return "" if same else f"  {location(deepest.path, deepest.section)}"
    numbers = Counter(revision.path for revision in reversed(revisions))
    if len(numbers) > _MOST_FILES:
        entries = sum(max(len(each.added), len(each.removed)) for each in revisions)
        return f"  {number_of(len(numbers), 'file')}, {number_of(entries, 'entry', 'entries')}"
    files = (f"{path} ({number_of(number, 'section')})" for path, number in numbers.items())
    return f"  {', '.join(files)}"


def _first_words(revisions: Sequence[RevisionView]) -> str:
    """The first entry removed and the first added, each with the number of the others."""
    entries_of = {
        "-": [words for each in revisions for words in each.removed],
        "+": [words for each in revisions for words in each.added],
    }
    # one heading says nothing of several sections
    is_one = len({(each.path, each.section) for each in revisions}) == 1
    shown = ""
    for sign, entries in entries_of.items():
        told = [words for words in entries if not words.startswith("#")] or entries[:is_one]
        if told:
            shown += f"  {sign} {told[0]}"
        if len(told) > 1:
            shown += f" (and {len(told) - 1} more)"
    return shown


def _revision_lines(revision: RevisionView, history: SectionHistory, colour: bool) -> Iterator[str]:
    line = f"{_attributed(revision)}{_locations((revision,), history)}"
    yield dim(one_line(f"{line}{_cites_suffix(revision.made.cites, history)}"), colour)
    yield from _changed_lines(revision.before, revision.text, colour)
    yield ""


def _cites_suffix(cites: Sequence[str], answer: SectionHistory | FactHistory | Blame) -> str:
    return f"  {cites_text(cites, answer.gone)}" if cites else ""


def _with_tabs(text: str) -> str:
    return printable(text, keep="\t")


# The history of a fact.


def _merged(said: datetime, merge: Made | None) -> str:
    return (
        f"said {said:%Y-%m-%d}, merged {merge.time:%Y-%m-%d} ({short_id(merge.commit)})"
        if merge
        else ""
    )


def _is_retracted(link: FactLink) -> bool:
    """True if a log line of the fact was marked as forgotten, and is still in its file."""
    return link.ended_by is not None and link.ended_by.op == Op.RETRACT


def _ended(link: FactLink) -> str:
    if _is_retracted(link):
        return "marked as forgotten"
    return "replaced" if link.status is Status.SUPERSEDED else "removed"


def _chain_lines(history: FactHistory, words: bool, colour: bool) -> Iterator[str]:
    for before, link in zip((None, *history.chain), history.chain, strict=False):
        until = f"{link.end:{_MINUTE}}" if link.end else " " * len("2026-03-05 09:30")
        yield one_line(
            f"{link.start:{_MINUTE}} - {until}  {link.id:8}  {' '.join(link.text.split())} "
            f" ({_FORGOTTEN if _is_retracted(link) else link.status})"
        )
        yield dim(
            one_line(
                f"{_INDENT}{attribution(link.made)} "
                f" {location(link.path, link.section)}{_cites_suffix(link.made.cites, history)}"
            ),
            colour,
        )
        for also in link.also_by:
            yield dim(
                one_line(f"{_INDENT}said by {attribution(also)} too, {also.time:%Y-%m-%d}"),
                colour,
            )
        if link.merged is not None:
            yield dim(one_line(f"{_INDENT}{_merged(link.start, link.merged)}"), colour)
        if link.ended_by is not None and not any(
            each.made.commit == link.ended_by.commit for each in history.chain
        ):
            yield dim(
                one_line(f"{_INDENT}{_ended(link)} by {attribution(link.ended_by)}"),
                colour,
            )
        if words and before is not None and before.end == link.start:
            yield from _changed_lines(before.text, link.text, colour)


# Word by word.


def _changed_lines(before: str, after: str, colour: bool) -> Iterator[str]:
    rows = list(_rows(word_difference(before, after)))
    differs = [any(piece is not DiffKind.KEPT for piece, _ in row) for row in rows]
    shown = [
        any(differs[max(0, n - _CONTEXT_LINES) : n + _CONTEXT_LINES + 1]) for n in range(len(rows))
    ]
    for n, row in enumerate(rows):
        if shown[n]:
            yield (
                _INDENT + "".join(_marked(piece, _with_tabs(text), colour) for piece, text in row)
            ).rstrip()
        elif n and shown[n - 1] and any(shown[n:]):
            yield f"{_INDENT}…"


def _rows(pieces: Iterable[Marked]) -> Iterator[list[Marked]]:
    row: list[Marked] = []
    for piece, text in pieces:
        *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for part in whole:
            yield [*row, (piece, part)]
            row = []
        if rest:
            row.append((piece, rest))
    if row:
        yield row


def _marked(piece: DiffKind, text: str, colour: bool) -> str:
    if not text or piece == "kept":
        return text
    marked = f"[-{text}-]" if piece == "out" else f"{{+{text}+}}"
    return f"{_RED if piece == 'out' else _GREEN}{marked}{PLAIN}" if colour else marked


# Line by line, and by text.


def blame_text(blame: Blame, colour: bool) -> str:
    width = max((len(line.made.source) for line in blame.lines if line.made), default=0)
    return "\n".join(_blamed_line(line, blame, width, colour) for line in blame.lines)


def _blamed_line(line: BlamedLine, blame: Blame, width: int, colour: bool) -> str:
    cited = line.made.cites if line.made else ()
    cites = dim(one_line(_cites_suffix(cited, blame)), colour) if cited else ""
    return f"{dim(_origin_columns(line, width), colour)}  {_with_tabs(line.text)}{cites}".rstrip()


def _origin_columns(line: BlamedLine, width: int) -> str:
    if line.made is None:
        return "uncommitted".ljust(len("0123456789 2026-03-05 ") + width)
    return f"{short_id(line.made.commit)} {line.made.time:%Y-%m-%d} {line.made.source:<{width}}"


def presences_text(history: TextHistory) -> str:
    return "\n".join(map(_presence_text, history.stays))


def _presence_text(stay: PresenceView) -> str:
    came = (
        _merged(stay.came.time, stay.merged)
        or f"added {stay.came.time:%Y-%m-%d} ({short_id(stay.came.commit)})"
    )
    end = "still there"
    if stay.ended_by is not None:
        end = "removed" if stay.went_at else "still there, but not current since"
        reason = f', "{stay.ended_by.reason}"' if stay.ended_by.reason else ""
        end = (
            f"{end} {stay.went_at or stay.ended_by.time:%Y-%m-%d}"
            f" ({short_id(stay.ended_by.commit)}{reason})"
        )
    return one_line(f"{location(stay.path, stay.section)}  {came}, {end}")
