"""Facts put into a section and taken out of it: one fact a key."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date

from mdmem.document import Document, Section, blank_line, find_section, is_blank, join_path, matching_sections, parse, with_line_end
from mdmem.editors import EditResult
from mdmem.editors.likeness import candidate_pairs, likeness
from mdmem.editors.section import append_to_section, create, same_outline
from mdmem.errors import FactProblem, SectionProblem
from mdmem.facts import (
    Item,
    find_held_key,
    holds_key,
    items,
    items_matching,
    normalise,
    parse_item,
    parse_text,
    rewrite_item,
    section_items,
    split_key,
    split_kind,
    write_item,
)
from mdmem.layout import parse_day
from mdmem.model import Fact, FactId, Op, SectionPath, Supersession
from mdmem.model.writes import Action, EditSection, Remember
from mdmem.startup.records import dataclass, replace

_HOMES = {"preference": "Preferences", "decision": "Decisions"}
_HOME = "Facts"
_LIKE, _LIKE_IN_PLACE = 0.4, 0.2
"""How alike (`likeness`) a fact must be to what it supersedes: among several, and where one takes the place of one.

Of two lines of one day of conversation, taken at random, 0.3% are as like as the first and 3% as like as the second, which holds only
where a person put the one where the other stood.
"""
_LIST_MARKER = re.compile(r"^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+)")
_CODE_INDENT = 5
"""So many spaces after a list marker begin indented code."""


SectionFactId = tuple[SectionPath, FactId]
"""A section and a fact that is stated in it."""


@dataclass(frozen=True, slots=True)
class _Destination:
    """The section that a fact goes to, and the address by which it is made where it is not there yet."""

    section: Section | None
    address: str


def similar_items(document: Document, change: Remember) -> tuple[Item, ...]:
    """The facts of a document that one to be remembered may restate or replace; with `supersedes` all where it can go.

    Raises:
        SectionProblem, TextProblem: as `remember`.
    """
    change, fact, _ = _stated(change)
    key = change.key or fact.key
    if key and change.section is None:
        known = items(document, document.preamble_end)
    else:
        section = _named(document, change).section
        known = section_items(document, section) if section else ()
    if change.options.supersedes is not None:
        return known
    return tuple(item for item in known if item.fact.id == fact.id or (key and holds_key(item.fact, key)))


def is_unambiguous(change: Remember, known: Sequence[Item]) -> bool:
    """Whether what is `alike` tells alone what is to be done: there is nothing, or one fact of the key with another value.

    That one is replaced, also where a commit says that it was superseded before.
    """
    return not known or (len(known) == 1 and change.options.supersedes is None and known[0].fact.id != _stated(change)[1].id)


def remember(
    document: Document, change: Remember, today: date, known: Sequence[Item], over: Collection[SectionFactId] = ()
) -> tuple[EditResult, FactId]:
    """The document with a fact in it, and the fact's id; of a key that has one value the line is replaced.

    Args:
        document: what the fact goes into.
        change: what is to be remembered.
        today: the user's day.
        known: what stands there that is `alike`.
        over: those of it that commits say are superseded, to be given unless it `is_plain`.

    Raises:
        SectionProblem: the section is missing, ambiguous, or several sections hold the key.
        FactProblem: `key-ambiguous`: the key has several current values; `fact-not-found`, `fact-ambiguous` for `supersedes`.
        TextProblem: a text, key, kind or tag that cannot be stored.
    """
    change, fact, until = _stated(change)
    key = change.key or fact.key
    standing = [item for item in known if (document.path_at(item.start), item.fact.id) not in over]
    holders = [item for item in standing if key and holds_key(item.fact, key) and _holds(item.fact, today)]
    place = _place(document, change, key, holders)
    section = place.section
    if section is None:
        made = create(document, EditSection(place.address, Action.BODY, _line(change, until)))
        return replace(made, op=Op.REMEMBER, also=change.also), fact.id
    past = not _holds(fact, today)
    stated = [item for item in _inside(section, known) if item.fact.id == fact.id]
    same = [i for i in stated if (i.fact.until == fact.until if past else i in standing and _holds(i.fact, today))]
    if same:
        return _restated(document, section, same[0], change, fact), fact.id
    spent = [] if past else [item for item in stated if item not in standing]
    if spent:
        return _begun_anew(document, spent, change, today, over)
    replaced = None if past or change.also else _replaced(_inside(section, holders), _inside(section, standing), change, key)
    if replaced is None:
        text = append_to_section(document, section, _line(change, until))
        return EditResult(text, Op.REMEMBER, section.path, also=change.also), fact.id
    line = _line(_inheriting(change, replaced, key), until, replaced)
    text = _with_line(document, replaced, line)
    new = parse_item(line).id
    return EditResult(text, Op.REMEMBER, section.path, (Supersession(replaced.fact.id, new),)), new


def _stated(change: Remember) -> tuple[Remember, Fact, date | None]:
    """What is to be remembered, with the kind that its text begins with as its kind; the fact that it states, and its `until`."""
    said, text = split_kind(change.text.strip())
    if said is not None and change.kind is None:
        change = replace(change, text=text, kind=said)
    until = parse_day(change.until) if change.until is not None else None
    return change, parse_item(write_item(change.text, change.key, change.kind, change.tags, until)), until


def _inside(section: Section, some: Iterable[Item]) -> list[Item]:
    return [item for item in some if section.body <= item.start < section.end]


def _begun_anew(
    document: Document, spent: Sequence[Item], change: Remember, today: date, over: Collection[SectionFactId]
) -> tuple[EditResult, FactId]:
    """A fact remembered that stands there superseded: the old line goes out before, so that the new one is an occurrence of its own."""
    for item in reversed(spent):
        document = parse(forget(document, item).text)
    edited, fact = remember(document, change, today, similar_items(document, change), over)
    return replace(edited, intermediate=document), fact


def _holds(fact: Fact, today: date) -> bool:
    return fact.until is None or fact.until >= today


def _place(document: Document, change: Remember, key: str | None, holders: Iterable[Item]) -> _Destination:
    """Where a fact goes; `holders` are the facts that hold its key now."""
    if change.section is not None:
        return _named(document, change)
    sections = {section.index: section for item in holders if (section := document.section_at(item.start))}
    if len(sections) > 1:
        places = [{"section": join_path(s.path), "line": s.start + 1} for s in sections.values()]
        listed = "; ".join(str(place["section"]) for place in places)
        raise SectionProblem("section-ambiguous", f"several sections hold {key!r}: {listed}", "Name one with --section.", sections=places)
    return _Destination(next(iter(sections.values())), "") if sections else _named(document, change)


def _named(document: Document, change: Remember) -> _Destination:
    """The section that is named, else the home of the kind."""
    if change.section is not None:
        if change.create and not matching_sections(document, change.section):
            return _Destination(None, change.section)
        return _Destination(find_section(document, change.section), change.section)
    home = _HOMES.get((change.kind or "").casefold(), _HOME)
    return _Destination(find_section(document, home) if matching_sections(document, home) else None, home)


def _restated(document: Document, section: Section, item: Item, change: Remember, fact: Fact) -> EditResult:
    """The same statement again: nothing to change, unless kind, tags or expiry are new."""
    until = fact.until or item.fact.until
    kind, tags = change.kind or item.fact.kind, tuple(dict.fromkeys((*item.fact.tags, *fact.tags)))
    if (until, kind, tags) == (item.fact.until, item.fact.kind, item.fact.tags):
        return EditResult(document.text, Op.REMEMBER, section.path)
    line = rewrite_item(item.raw, kind, tags, until)
    return EditResult(_spliced(document, item, [(item.end, line)]), Op.REMEMBER, section.path)


def _replaced(rivals: Sequence[Item], known: Sequence[Item], change: Remember, key: str | None) -> Item | None:
    if change.options.supersedes is not None:
        named = items_matching(known, change.options.supersedes)
        if len(named) > 1:
            raise FactProblem("fact-ambiguous", f"{change.options.supersedes!r} stands {len(named)} times in the section")
        if named:
            return named[0]
        if len(rivals) > 1:
            return None
    if len(rivals) > 1:
        listed = [{"id": item.fact.id, "text": item.fact.text} for item in rivals]
        said = "; ".join(f"{item.fact.id} {item.fact.text[:60]}" for item in rivals)
        hint = f"They are: {said}. Replace one with --supersedes ID, or add with --also."
        raise FactProblem("key-ambiguous", f"{key!r} has {len(rivals)} current values", hint, facts=listed)
    return rivals[0] if rivals else None


def _line(change: Remember, until: date | None, replaced: Item | None = None) -> str:
    line = write_item(change.text, change.key, change.kind, change.tags, until)
    marker = _LIST_MARKER.match(replaced.raw) if replaced else None
    if marker is None:
        return line
    head = marker[0] if len(marker[3]) < _CODE_INDENT else f"{marker[1]}{marker[2]} "
    indent = " " * len(head.expandtabs(4))
    first, *rest = line.removeprefix("- ").split("\n")
    return "\n".join([head + first, *(indent + more.removeprefix("  ") if more else "" for more in rest)])


def _inheriting(change: Remember, old: Item, key: str | None) -> Remember:
    """The change with what it leaves open taken from the line that it replaces: kind, tags, the spelling of the key."""
    own_tags = parse_text(change.text).tags or change.tags
    change = replace(change, kind=change.kind or old.fact.kind, tags=change.tags if own_tags else old.fact.tags)
    if key is None:
        return change
    spelling, _ = split_key(old.fact.text, key)
    said = parse_text(change.text).text if normalise(parse_text(change.text).text) == normalise(change.text) else change.text
    _, value = split_key(said, key)
    return replace(change, text=spelling + value, key=None) if spelling else change


def _with_line(document: Document, item: Item, line: str) -> str:
    """The document with the lines of one item replaced by `line` (LF, no end)."""
    ending = item.raw[len(item.raw.rstrip("\r\n")) :]
    return _spliced(document, item, [(item.end, with_line_end(line, document.line_end) + ending)])


def _spliced(document: Document, item: Item, candidates: Iterable[tuple[int, str]]) -> str:
    """The document with the lines from one item up to `end` replaced, by the first of the candidates (end, text) that fits.

    It fits when all headings and all other facts stay as they are.
    """
    known = items(document)
    above = [other.raw for other in known if other.start < item.start]
    below = [other.raw for other in known if other.start > item.start]
    for end, new in candidates:
        text = document.bom + document.slice(0, item.start) + new + document.slice(end, len(document.lines))
        result = parse(text)
        found = [other.raw for other in items(result)]
        rest = len(above) + bool(new.strip())
        if same_outline(document, result) and found[: len(above)] == above and found[rest:] == below:
            return text
    raise SectionProblem("body-escapes-section", "the change would alter what stands around the line", "Put a blank line around the list.")


def items_named(document: Document, fact: str, section: str | None = None) -> tuple[Item, ...]:
    """The items of a document (or of one section's own text) that a text, an id or a prefix names."""
    return items_matching(items(document) if section is None else section_items(document, find_section(document, section)), fact)


def forget(document: Document, item: Item) -> EditResult:
    """The document without one item."""
    end = item.end
    above_blank = item.start == 0 or is_blank(document.lines[item.start - 1])
    while above_blank and end < len(document.lines) and is_blank(document.lines[end]):
        end += 1
    candidates = [(end, ""), (item.end, blank_line(document.slice(0, item.start), document.line_end))]
    return EditResult(_spliced(document, item, candidates), Op.FORGET, document.path_at(item.start))


@dataclass(frozen=True, slots=True)
class Difference:
    """The facts that an edit took out and those that it brought in, and what of it took whose place: by its key, else by likeness."""

    removed: tuple[Item, ...] = ()
    added: tuple[Item, ...] = ()
    supersedes: tuple[Supersession, ...] = ()


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What went out of one section and what came in, among all that stood and stands there."""

    before: Sequence[Item]
    after: Sequence[Item]
    removed: Sequence[Item]
    added: Sequence[Item]


def fact_difference(before: Document | None, after: Document, within: Collection[SectionPath] | None = None) -> Difference:
    """What an edit did to the facts, section by section: what goes from one section to another goes out there and comes in here.

    Within a section a fact that went out is superseded by one that came in: by the one of the same key; else by the one that is most
    like it, if it is like enough (`likeness`), one by one. Kind, tags and `until` make no other fact. Only the sections `within` these
    paths are looked at, by default those whose text is another.
    """
    if within is None:
        within = _changed(before, after)
    old = _by_section(before, within) if before else {}
    new = _by_section(after, within)
    exchanges = [
        _Exchange(known, brought, _without(known, brought), _without(brought, known))
        for path in dict.fromkeys((*old, *new))
        for known, brought in [(old.get(path, []), new.get(path, []))]
    ]
    removed = tuple(item for exchange in exchanges for item in exchange.removed)
    added = tuple(item for exchange in exchanges for item in exchange.added)
    moved = {item.fact.id for item in removed} & {item.fact.id for item in added}
    pairs = [pair for exchange in exchanges if exchange.removed and exchange.added for pair in _successions(exchange, moved)]
    return Difference(removed, added, tuple(Supersession(one.fact.id, other.fact.id) for one, other in pairs))


def _changed(before: Document | None, after: Document) -> set[SectionPath]:
    """The paths under which not the same text stands as before."""
    old, new = _texts(before) if before else {}, _texts(after)
    return {path for path in (*old, *new) if old.get(path) != new.get(path)}


def _texts(document: Document) -> dict[SectionPath, list[str]]:
    found: dict[SectionPath, list[str]] = {}
    for path, start, end in _own_texts(document):
        found.setdefault(path, []).append(document.slice(start, end))
    return found


def _own_texts(document: Document) -> Iterator[tuple[SectionPath, int, int]]:
    """Where the text of each section is; the empty path is what stands before the first heading."""
    yield (), 0, document.preamble_end
    for one in document.sections:
        yield one.path, one.body, one.end


def _by_section(document: Document, within: Collection[SectionPath]) -> dict[SectionPath, list[Item]]:
    found: dict[SectionPath, list[Item]] = {}
    for path, start, end in _own_texts(document):
        if path in within:
            for item in items(document, start, end):
                found.setdefault(path, []).append(item)
    return found


def _without(known: Iterable[Item], others: Iterable[Item]) -> list[Item]:
    left = Counter(item.fact.id for item in others)
    result = []
    for item in known:
        if left[item.fact.id]:
            left[item.fact.id] -= 1
        else:
            result.append(item)
    return result


_Pair = tuple[Item, Item]


def _successions(exchange: _Exchange, moved: Collection[FactId]) -> list[_Pair]:
    """What took whose place in one section; what only `moved` to or from another one is left out."""
    removed = [item for item in exchange.removed if item.fact.id not in moved]
    added = [item for item in exchange.added if item.fact.id not in moved]
    pairs = _by_key(removed, added)
    removed, added = _unpaired(removed, added, pairs)
    if not removed or not added:
        return pairs
    left = _gaps(exchange.before, removed, {one.start: other.fact.id for one, other in pairs})
    filled = _gaps(exchange.after, added, {})
    pairs += _in_place(left, filled)
    removed, added = _unpaired(removed, added, pairs)
    return pairs + (_by_likeness(removed, added) if removed and added else [])


def _unpaired(removed: Iterable[Item], added: Iterable[Item], pairs: Sequence[_Pair]) -> tuple[list[Item], list[Item]]:
    out, brought = {one.start for one, _ in pairs}, {other.start for _, other in pairs}
    return [item for item in removed if item.start not in out], [item for item in added if item.start not in brought]


def _by_key(removed: Sequence[Item], added: Sequence[Item]) -> list[_Pair]:
    """One fact went out and one came in under the same key."""
    keys = {normalise(item.fact.key) for item in added if item.fact.key}
    old, new = _holders(removed, keys), _holders(added, keys)
    return [(old[key][0], new[key][0]) for key in sorted(keys) if len(old[key]) == len(new[key]) == 1]


def _holders(some: Iterable[Item], keys: Collection[str]) -> dict[str, list[Item]]:
    """The facts that hold each of some keys (`normal`)."""
    found: dict[str, list[Item]] = {key: [] for key in keys}
    for item in some:
        own = item.fact.key
        key = normalise(own) if own else find_held_key(item.fact.text, keys)
        if key in found:
            found[key].append(item)
    return found


_Gap = tuple[tuple[str, int], tuple[str, int]]


def _in_place(left: Mapping[_Gap, Sequence[Item]], filled: Mapping[_Gap, Sequence[Item]]) -> list[_Pair]:
    """One fact went out and one came in between the same neighbours: of the same key, or a little alike and not of two keys."""
    pairs = [(left[gap][0], filled[gap][0]) for gap in left if len(left[gap]) == len(filled.get(gap, ())) == 1]
    return [pair for pair in pairs if _same_key(*pair) or (not _two_keys(*pair) and _alike(*pair) >= _LIKE_IN_PLACE)]


def _gaps(known: Sequence[Item], some: Iterable[Item], successors: Mapping[int, FactId]) -> dict[_Gap, list[Item]]:
    """Some of a section's facts by what stands before and after them: the other facts, each by its id, or its successor's, and number."""
    wanted = {item.start for item in some}
    seen: defaultdict[str, int] = defaultdict(int)
    found: dict[_Gap, list[Item]] = {}
    before = ("", 0)
    waiting: list[Item] = []
    for item in known:
        if item.start in wanted:
            waiting.append(item)
            continue
        name = successors.get(item.start, item.fact.id)
        seen[name] += 1
        here = (name, seen[name])
        if waiting:
            found[before, here] = waiting
        before, waiting = here, []
    if waiting:
        found[before, ("", 0)] = waiting
    return found


def _by_likeness(removed: Sequence[Item], added: Sequence[Item]) -> list[_Pair]:
    """The likest first, one to one; of one key or of none."""
    rows = []
    for a, b in candidate_pairs([item.fact.text for item in removed], [item.fact.text for item in added]):
        one, other = removed[a], added[b]
        if (_same_key(one, other) or not (one.fact.key or other.fact.key)) and (alike := _alike(one, other)) >= _LIKE:
            rows.append((-alike, abs(a - b), a, b))
    taken: tuple[set[int], set[int]] = (set(), set())
    pairs = []
    for _, _, a, b in sorted(rows):
        if a not in taken[0] and b not in taken[1]:
            taken[0].add(a)
            taken[1].add(b)
            pairs.append((removed[a], added[b]))
    return sorted(pairs, key=lambda pair: pair[1].start)


def _same_key(one: Item, other: Item) -> bool:
    key = one.fact.key or other.fact.key
    return key is not None and holds_key(one.fact, key) and holds_key(other.fact, key)


def _two_keys(one: Item, other: Item) -> bool:
    return one.fact.key is not None and other.fact.key is not None and not _same_key(one, other)


def _alike(one: Item, other: Item) -> float:
    """How alike two facts are; of one key, their values."""
    key = one.fact.key or other.fact.key
    if key is not None and _same_key(one, other):
        return likeness(split_key(one.fact.text, key)[1], split_key(other.fact.text, key)[1])
    return likeness(one.fact.text, other.fact.text)
