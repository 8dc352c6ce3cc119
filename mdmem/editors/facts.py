"""Facts added to a section and removed from it: one fact a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from mdmem.editors import EditResult, list_items
from mdmem.editors.section import append_to_section, create, same_outline
from mdmem.model import Fact, FactId, Op, SectionPath, Source, Supersession
from mdmem.model.errors import FactProblem, SectionProblem, field
from mdmem.model.rules import parse_day
from mdmem.model.writes import Action, EditSection, Remember
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text import fact_names
from mdmem.text.document import (
    Document,
    Section,
    blank_line,
    common_ends,
    create_remedy,
    find_section,
    is_blank,
    join_path,
    matching_sections,
    parse,
    split_lines,
    with_line_end,
)
from mdmem.text.facts import (
    Item,
    before_marks,
    head_fact,
    holds_key,
    item_inside,
    item_text,
    items,
    nested_items,
    normalise,
    parse_item,
    parse_text,
    same_ids,
    section_items,
    split_key,
    split_kind,
    write_item,
)

_SECTION_OF_KIND = {"preference": "Preferences", "decision": "Decisions"}
_SECTION_OF_LESSONS = "Lessons"
"""The section of lessons in a file that has it; it is not made for one."""
_SECTION_OF_OTHERS = "Facts"
_LIST_MARKER = late.pattern(r"^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+)")
_CODE_INDENT = 5
"""Spaces after a list marker from which on indented code begins."""


@dataclass(frozen=True, slots=True)
class _Request:
    """`change.text` is without kind and `marks` (final comments and block id)."""

    change: Remember
    fact: Fact
    until: date | None
    marks: str

    @property
    def key(self) -> str | None:
        return self.change.key or self.fact.key


def similar_items(document: Document, change: Remember) -> tuple[Item, ...]:
    """With `supersedes`, all items of its sections. Raises as `remember`."""
    request = _read_request(change)
    key = request.key
    if key and change.section is None:
        candidates = items(document, document.preamble_end)
    else:
        section = _named_section(document, request.change)
        candidates = section_items(document, section) if section else ()
    if change.options.supersedes is not None:
        return candidates
    return tuple(
        item
        for item in candidates
        if _states(item, request.fact) or (key and holds_key(item.fact, key))
    )


def needs_foundations(
    change: Remember, candidates: Sequence[Item], own: list_items.Foundation
) -> bool:
    """False without similar items, and where the user's own value replaces the only one."""
    request = _read_request(change)
    similar = [
        item
        for item in candidates
        if _states(item, request.fact) or (request.key and holds_key(item.fact, request.key))
    ]
    if own.source is Source.USER_STATED and not own.claimed:
        return len(similar) > 1 or any(_states(item, request.fact) for item in similar)
    return bool(similar)


def remember(
    document: Document,
    change: Remember,
    today: date,
    candidates: Sequence[Item],
    foundations: list_items.Foundations | None = None,
    nested: bool = True,
) -> tuple[EditResult, FactId]:
    """Put a fact into a document; the only value of its key is replaced.

    `candidates` are the `similar_items` of the document. `foundations` are needed where
    `needs_foundations` says so; by default all are equal. `nested`: an item in another one may be
    superseded, and the fact is then the item around it.
    Raises SectionProblem: the section is missing or ambiguous, or several have the key.
    FactProblem: `key-ambiguous`, `fact-not-found`, `fact-ambiguous`. TextProblem: a text, key, kind
    or tag that cannot be stored.
    """
    request = _read_request(change)
    fact = request.fact
    holders = [
        item
        for item in candidates
        if request.key and holds_key(item.fact, request.key) and _holds_on(today, item.fact)
    ]
    if nested and not holders and (replaced := _replace_nested(document, request)):
        return replaced
    section = _section_to_write(document, request, holders)
    if section is None:
        return _remember_in_new_section(document, request)
    inside = _in_section(section, candidates)
    stated = [item for item in inside if _states(item, fact)]
    if not _holds_on(today, fact):
        same = next((item for item in stated if item.fact.until == fact.until), None)
        return (
            _add(document, section, request)
            if same is None
            else _restate(document, section.path, same, request)
        )
    same = next((item for item in stated if _holds_on(today, item.fact)), None)
    named = _find_superseded(inside, change) if same is None else None
    if named is not None:
        return _replace(document, section.path, named, request, keep=False)
    values = [] if change.also else _in_section(section, holders)
    same = same or next(
        (item for item in values if _states_with_rest(document, item, request)), None
    )
    if same is None and (not values or (change.options.supersedes is not None and len(values) > 1)):
        return _add(document, section, request)
    bases = foundations or list_items.Foundations({}, list_items.Foundation(Source.INFERRED))
    edited, fact_id = _put_among(document, section, values, same, request, bases)
    return (
        replace(
            edited, confirms=(fact_id,) if same is not None and bases.is_confirmed(same) else ()
        ),
        fact_id,
    )


def _replace_nested(document: Document, request: _Request) -> tuple[EditResult, FactId] | None:
    """Replace the value of a key that the only nested item has, or the nested item superseded."""
    change, key, name = request.change, request.key, request.change.options.supersedes
    if change.also or (name and fact_names.items_matching(items(document), name)):
        return None
    if name:
        meant = nested_named(document, name, change.section)
    else:
        below = items_below(document, change.section) if key else ()
        meant = _only_nested(
            (around, item)
            for around in below
            for item, _ in nested_items(around)
            if key and holds_key(item.fact, key)
        )
    if meant is None:
        return None
    done = list[tuple[EditResult, FactId]]()

    def replaced(inside: Document, item: Item) -> str:
        done.append(_replace(inside, (), item, request))
        return done[-1][0].text

    edited = _edit_nested(document, *meant, replaced)
    fact = edited.supersedes[0].new if edited.supersedes else meant[0].fact.id
    return replace(edited, op=Op.REMEMBER, kept=done[-1][0].kept), fact


def _states_with_rest(document: Document, item: Item, request: _Request) -> bool:
    is_single = len(split_lines(item.raw.rstrip())) == 1
    return (
        not is_single
        and parse_item(_successor_line(document, item, request, keep=True)[0]).id == item.fact.id
    )


def _read_request(change: Remember) -> _Request:
    kind, text = split_kind(change.text.strip())
    if kind is not None and change.kind is None:
        change = replace(change, text=text, kind=kind)
    until = parse_day(change.until, "until") if change.until is not None else None
    text = change.text.rstrip()
    words = text[: before_marks(text)]
    marks = "" if not words or words.endswith((":", ":**", ":__")) else text[len(words) :]
    marks = marks if len(split_lines(marks)) == 1 else ""
    change = replace(change, text=text.removesuffix(marks))
    return _Request(change, parse_item(_new_line(change, until, marks)), until, marks)


def _new_line(change: Remember, until: date | None, marks: str) -> str:
    return write_item(change.text, change.key, change.kind, change.tags, until) + marks


def _states(item: Item, fact: Fact) -> bool:
    same = same_ids(fact)
    return item.fact.id in same or ((head := head_fact(item)) is not None and head.id in same)


def _holds_on(today: date, fact: Fact) -> bool:
    return fact.until is None or fact.until >= today


def _in_section(section: Section, candidates: Iterable[Item]) -> list[Item]:
    return [item for item in candidates if section.body <= item.start < section.end]


def _section_to_write(
    document: Document, request: _Request, holders: Iterable[Item]
) -> Section | None:
    change = request.change
    if change.section is not None:
        return _named_section(document, change)
    sections = {
        section.index: section for item in holders if (section := document.section_at(item.start))
    }
    meant = _section_of_superseded(document, list(sections.values()), change)
    if len(sections) > 1 and meant is None:
        listed = [
            {"section": join_path(section.path), "line": section.start + 1}
            for section in sections.values()
        ]
        names = "; ".join(str(row["section"]) for row in listed)
        raise SectionProblem(
            "section-ambiguous",
            f"several sections contain {request.key!r}: {names}",
            f"Name one with {field('section')}.",
            sections=listed,
        )
    if not sections:
        return _named_section(document, change)
    return meant or next(iter(sections.values()))


def _named_section(document: Document, change: Remember) -> Section | None:
    address = _address(document, change)
    matches = matching_sections(document, address)
    if not matches and (change.create or change.section is None):
        return None
    return _section_of_superseded(document, matches, change) or find_section(
        document, address, file=change.file, remedy=create_remedy(), counts=False
    )


def _address(document: Document, change: Remember) -> str:
    if change.section is not None:
        return change.section
    kind = (change.kind or "").casefold()
    if kind == "lesson" and len(matching_sections(document, _SECTION_OF_LESSONS)) == 1:
        return _SECTION_OF_LESSONS
    return _SECTION_OF_KIND.get(kind, _SECTION_OF_OTHERS)


def _section_of_superseded(
    document: Document, sections: Sequence[Section], change: Remember
) -> Section | None:
    name = change.options.supersedes
    if name is None or len(sections) < 2:
        return None
    superseded = fact_names.items_matching(items(document), name)
    holding = [section for section in sections if _in_section(section, superseded)]
    return holding[0] if len(holding) == 1 else None


def _find_superseded(candidates: Sequence[Item], change: Remember) -> Item | None:
    named = change.options.supersedes
    matches = fact_names.items_matching(candidates, named) if named is not None else ()
    if len(matches) > 1:
        raise FactProblem("fact-ambiguous", f"{named!r} occurs {len(matches)} times in the section")
    return matches[0] if matches else None


def _remember_in_new_section(document: Document, request: _Request) -> tuple[EditResult, FactId]:
    change = request.change
    created = create(
        document,
        EditSection(
            section=_address(document, change),
            action=Action.BODY,
            text=_new_line(change, request.until, request.marks),
        ),
    )
    return replace(created, op=Op.REMEMBER, also=change.also), request.fact.id


def _add(document: Document, section: Section, request: _Request) -> tuple[EditResult, FactId]:
    change = request.change
    text = append_to_section(document, section, _new_line(change, request.until, request.marks))
    return (
        EditResult(text=text, op=Op.REMEMBER, section=section.path, also=change.also),
        request.fact.id,
    )


def _restate(
    document: Document, section: SectionPath, item: Item, request: _Request
) -> tuple[EditResult, FactId]:
    change, fact = request.change, request.fact
    until = fact.until or item.fact.until
    kind, tags = change.kind or item.fact.kind, tuple(dict.fromkeys((*item.fact.tags, *fact.tags)))
    text = document.text
    if (until, kind, tags) != (item.fact.until, item.fact.kind, item.fact.tags):
        text = _splice(
            document, item, [(item.end, list_items.rewrite_item(item.raw, kind, tags, until))]
        )
    return EditResult(text=text, op=Op.REMEMBER, section=section), item.fact.id


def _put_among(
    document: Document,
    section: Section,
    values: Sequence[Item],
    same: Item | None,
    request: _Request,
    foundations: list_items.Foundations,
) -> tuple[EditResult, FactId]:
    """Some `values` of its key are replaced, better founded ones stay; `same` states it already."""
    if same is None:
        choice = foundations.choose(request.key or "", values)
    else:
        choice = list_items.Choice(
            same, tuple(item for item in values if item != same and foundations.is_weaker(item))
        )
    document, item = _take_out(document, choice.taken_out, choice.replaced)
    section = document.sections[section.index]
    if item is None:
        edited, fact = _add(document, section, request)
    else:
        edited, fact = (_replace if same is None else _restate)(
            document, section.path, item, request
        )
    gone = tuple(Supersession(each.fact.id, fact) for each in choice.taken_out)
    contradicts = tuple(each.fact.id for each in choice.contradicted)
    return replace(edited, supersedes=(*edited.supersedes, *gone), contradicts=contradicts), fact


def _take_out(
    document: Document, gone: Sequence[Item], item: Item | None
) -> tuple[Document, Item | None]:
    if not gone:
        return document, item
    position = (
        sum(each.start < item.start for each in items(document))
        - sum(each.start < item.start for each in gone)
        if item
        else 0
    )
    for each in sorted(gone, key=lambda each: each.start, reverse=True):
        document = parse(forget(document, each).text)
    return document, items(document)[position] if item else None


def _replace(
    document: Document, section: SectionPath, replaced: Item, request: _Request, keep: bool = True
) -> tuple[EditResult, FactId]:
    """Replace an item; unless `keep`, the text beneath goes too, and the labels alone are kept."""
    line, kept = _successor_line(document, replaced, request, keep)
    new = parse_item(line).id
    ending = replaced.raw[len(replaced.raw.rstrip("\r\n")) :]
    text = _splice(document, replaced, [(replaced.end, line + ending)])
    supersedes = (Supersession(replaced.fact.id, new),)
    return (
        EditResult(text=text, op=Op.REMEMBER, section=section, supersedes=supersedes, kept=kept),
        new,
    )


def _successor_line(
    document: Document, replaced: Item, request: _Request, keep: bool
) -> tuple[str, tuple[str, ...]]:
    line = _new_line(
        _inherit(request.change, replaced.fact, request.key), request.until, request.marks
    )
    line = with_line_end(_in_style_of(replaced, line), document.line_end)
    return (list_items.inherit if keep else list_items.inherit_labels)(replaced.raw, line)


def _inherit(change: Remember, old: Fact, key: str | None) -> Remember:
    stated = parse_text(change.text)
    change = replace(change, kind=change.kind or old.kind)
    if key is None:
        return change
    spelling, _ = split_key(old.text, key)
    words = stated.text if normalise(stated.text) == normalise(change.text) else change.text
    _, value = split_key(words, key)
    return replace(change, text=spelling + value, key=None) if spelling else change


def _in_style_of(item: Item, line: str) -> str:
    marker = _LIST_MARKER.match(item.raw)
    if marker is None:
        return line
    head = marker[0] if len(marker[3]) < _CODE_INDENT else f"{marker[1]}{marker[2]} "
    indent = " " * len(head.expandtabs(4))
    first, *rest = line.removeprefix("- ").split("\n")
    return "\n".join(
        [head + first, *(indent + below.removeprefix("  ") if below else "" for below in rest)]
    )


def _splice(document: Document, item: Item, replacements: Iterable[tuple[int, str]]) -> str:
    """Replace an item by the first text that changes no heading and no other fact.

    `replacements` are pairs of the line up to which lines go, and the new text.
    Raises SectionProblem (`body-escapes-section`).
    """
    neighbours = items(document)
    above = [neighbour.raw for neighbour in neighbours if neighbour.start < item.start]
    below = [neighbour.raw for neighbour in neighbours if neighbour.start > item.start]
    for end, replacement in replacements:
        text = (
            document.bom
            + document.slice(0, item.start)
            + replacement
            + document.slice(end, len(document.lines))
        )
        result = document.reparse(text)
        raws = [neighbour.raw for neighbour in items(result)]
        first_below = len(above) + bool(replacement.strip())
        if (
            same_outline(document, result)
            and raws[: len(above)] == above
            and raws[first_below:] == below
        ):
            return text
    raise SectionProblem(
        "body-escapes-section",
        "the change would alter the text around the line",
        "Put a blank line around the list.",
    )


def hand_on_labels(edit: EditResult, old: Item, successor: FactId | None) -> EditResult:
    """Give a new fact the superseded one's labels, unless it has its own of their sort.

    A fact that has moved keeps its kind and expiry too.
    """
    document = parse(edit.text)
    states = [each for each in items(document) if each.fact.id == successor]
    item = next(
        (each for each in reversed(states) if document.path_at(each.start) == edit.section), None
    )
    if item is None:
        return edit
    line = item.raw.rstrip()
    taken = {list_items.block_id_of(each.raw) for each in items(document)}
    labelled, kept = list_items.inherit_labels(old.raw, line, taken)
    if item.fact.id == old.fact.id:
        fact = parse_item(labelled)
        kind, until = fact.kind or old.fact.kind, fact.until or old.fact.until
        labelled = list_items.rewrite_item(labelled, kind, fact.tags, until)
    if labelled == line:
        return edit
    text = replace_item(document, item, labelled + item.raw[len(line) :])
    return replace(edit, text=text, kept=(*edit.kept, *kept))


def replace_item(document: Document, item: Item, text: str) -> str:
    """The text with an item's lines replaced; raises SectionProblem (`body-escapes-section`)."""
    return _splice(document, item, [(item.end, text)])


def items_named(
    document: Document, fact: str, section: str | None = None, file: str | None = None
) -> tuple[Item, ...]:
    in_section = (
        items(document)
        if section is None
        else section_items(document, find_section(document, section, file=file, counts=False))
    )
    return fact_names.items_matching(in_section, fact, keys=True)


# Items of nested lists: an edit of one is an edit of the lines of the item around it.


def nested_named(document: Document, name: str, address: str | None) -> tuple[Item, Item] | None:
    """The nested item that a name means, which may be as a search shows it, behind the item around
    it. Raises FactProblem (`fact-ambiguous`).
    """
    found = [
        (around, item, text)
        for around in items_below(document, address)
        for item, text in nested_items(around)
    ]
    meant = fact_names.nested_matching(((item, text) for _, item, text in found), name)
    starts = {item.start for item in meant}
    return _only_nested((around, item) for around, item, _ in found if item.start in starts)


def _only_nested(meant: Iterable[tuple[Item, Item]]) -> tuple[Item, Item] | None:
    found = tuple(meant)
    if len(found) > 1:
        raise FactProblem(
            "fact-ambiguous", f"{len(found)} nested items are meant", "Give the words of one."
        )
    return found[0] if found else None


def _edit_nested(
    document: Document, around: Item, nested: Item, edit: Callable[[Document, Item], str]
) -> EditResult:
    """Edit a nested item, whose lines are those in the document; the item around it is replaced.

    `edit` gets the text of the list around it, where it is at the top. Raises SectionProblem
    (`body-escapes-section`).
    """
    text = _with_nested(document, around, nested, edit)
    edited = EditResult(text=text, op=Op.FORGET, section=document.path_at(around.start))
    now = (each.fact.id for each in items(document.reparse(text)) if each.start == around.start)
    pairs = (Supersession(around.fact.id, fact) for fact in now if fact != around.fact.id)
    return replace(edited, supersedes=tuple(pairs))


def _with_nested(
    document: Document, around: Item, nested: Item, edit: Callable[[Document, Item], str]
) -> str:
    inside = item_inside(item_text(around.raw))
    start, end = nested.start - around.start, nested.end - around.start
    lower = replace(nested, start=start, end=end, raw=inside.slice(start, end))
    # an item of embeds alone is none of these
    item = next((each for each in items(inside) if each.start <= start < each.end), lower)
    is_here = item.start == start
    text = edit(inside, item) if is_here else _with_nested(inside, item, lower, edit)
    return _with_lines(document, around, inside, text)


def _with_lines(document: Document, item: Item, inside: Document, edited: str) -> str:
    """Put changed lines of an item's text back; all others stay as they are, byte for byte."""
    raw, new = split_lines(item.raw), split_lines(edited)
    start, end = common_ends(list(inside.lines), new)
    line = raw[start].rstrip("\r\n") if start < len(raw) else ""
    indent = line[: len(line) - len(inside.lines[start].rstrip("\n"))] if line else ""
    changed = [indent + line if line.strip() else line for line in new[start : len(new) - end]]
    kept = raw[max(start, len(raw) - end) :]
    lines = with_line_end("".join(changed), document.line_end)
    return replace_item(document, item, "".join((*raw[:start], lines, *kept)))


def forget_nested(document: Document, name: str, address: str | None) -> EditResult | None:
    """A document without the nested item that a name means; None where it means none."""
    meant = nested_named(document, name, address)
    return forget_at(document, meant[1]) if meant else None


def forget_at(document: Document, item: Item) -> EditResult:
    """A document without one of its items, which may be nested in another."""
    around = next(each for each in items(document) if each.start <= item.start < each.end)
    if around.start == item.start:
        return forget(document, around)
    return _edit_nested(document, around, item, lambda inside, each: forget(inside, each).text)


def items_below(document: Document, address: str | None) -> list[Item]:
    """The items in the sections that an address names; None: all."""
    if address is None:
        return list(items(document))
    named = matching_sections(document, address)
    return [item for section in named for item in section_items(document, section)]


def forget(document: Document, item: Item) -> EditResult:
    end = item.end
    is_blank_above = item.start == 0 or is_blank(document.lines[item.start - 1])
    while is_blank_above and end < len(document.lines) and is_blank(document.lines[end]):
        end += 1
    replacements = [
        (end, ""),
        (item.end, blank_line(document.slice(0, item.start), document.line_end)),
    ]
    return EditResult(
        text=_splice(document, item, replacements),
        op=Op.FORGET,
        section=document.path_at(item.start),
    )
