"""The change that takes one fact out of a file, whatever else states the same there, and the command line that does it. Pure."""

from __future__ import annotations

from mdmem.addresses import address_of
from mdmem.document import Document, Section, is_blank, parse
from mdmem.editors import section as section_editor
from mdmem.errors import SectionProblem
from mdmem.facts import Item, items
from mdmem.model import FilePath
from mdmem.model.writes import Action, EditSection, Forget
from mdmem.startup.records import dataclass

_MAX_LINES = 30
"""The most lines that a command quotes to tell an item from others like it; nobody reads a longer command."""


@dataclass(frozen=True, slots=True)
class _Address:
    """The path of a section (None: the text before the first heading), and its number where several have that path."""

    section: str | None
    nth: int | None = None


def find_removal(document: Document, path: FilePath, item: Item, section: Section | None) -> Forget | EditSection | None:
    """The change that takes one item out: by its id, where that names it alone in the file or in its section, else by its words."""
    same_id = [each for each in items(document) if each.fact.id == item.fact.id]
    if len(same_id) == 1:
        return Forget(fact=item.fact.id, file=path)
    address = _address(document, section)
    if section is not None and address is not None and address.nth is None:
        in_section = [each for each in same_id if section.body <= each.start < section.end]
        if len(in_section) == 1:
            return Forget(fact=item.fact.id, file=path, section=address.section)
    return _cut(document, path, item, section)


def _cut(document: Document, path: FilePath, item: Item, section: Section | None) -> EditSection | None:
    """An edit that takes the lines of an item out, named with the line above (or below) and as many more as make them unique.

    None where no words name them, or where something else would come to be read in another way.
    """
    address = _address(document, section)
    if address is None:
        return None
    first, last = (section.body, section.end) if section else (document.front, document.preamble_end)
    own_text = document.slice(first, last)
    start, end = item.start, item.end
    while start > first and (start == item.start or is_blank(document.lines[start])):
        start -= 1
    while start == item.start and end < last and (end == item.end or is_blank(document.lines[end - 1])):
        end += 1  # there is no line above
    while not _is_unique(document.slice(start, end), own_text):
        if end - start >= _MAX_LINES:
            return None
        start, end = (start - 1, end) if start > first else (start, end + 1)
    old = _without_line_end(document.slice(start, end))
    new = _without_line_end(document.slice(start, item.start) + document.slice(item.end, end))
    change = EditSection(section=address.section, action=Action.REPLACE, text=old, replacement=new, file=path, nth=address.nth)
    try:
        result = parse(section_editor.edit(document, change).text)
    except SectionProblem:
        return None
    rest = [_without_line_end(each.raw) for each in items(document) if each.start != item.start]
    return change if [_without_line_end(each.raw) for each in items(result)] == rest else None


def _is_unique(words: str, text: str) -> bool:
    return len(section_editor.find_words(_without_line_end(words), text)) == 1


def _without_line_end(text: str) -> str:
    return text.rstrip("\r\n")


def _address(document: Document, section: Section | None) -> _Address | None:
    """The address of a section, None where it has none of its own (its path, as it is written, means another)."""
    if section is None:
        return _Address(None)
    address = address_of(document, section)
    return _Address(*address) if address else None


def show_command(document: Document, path: FilePath, section: Section | None) -> tuple[str, ...]:
    """The command that shows a section, or the whole file where the section cannot be named."""
    address = _address(document, section)
    return ("mdmem", "show", path, *(_address_words(address) if address else ()))


def _address_words(address: _Address) -> tuple[str, ...]:
    if address.section is None:
        return ("--preamble",)
    return (address.section, *_option("--nth", str(address.nth) if address.nth else None))


def removal_command(change: Forget | EditSection) -> tuple[str, ...]:
    """The command line of a change that takes something out."""
    match change:
        case Forget():
            return ("mdmem", "forget", change.fact, *_option("--file", change.file), *_option("--section", change.section))
        case EditSection():
            address = _address_words(_Address(change.section, change.nth))
            replace = ("--replace", change.text, "--with", change.replacement)
            return ("mdmem", "edit-section", *address, *_option("--file", change.file), *replace)


def _option(name: str, value: str | None) -> tuple[str, ...]:
    return (name, value) if value is not None else ()
