"""Sections by address: one heading, or several joined by ` > `, compared ever more loosely."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mdmem.model import PATH_SEPARATOR, SectionPath
from mdmem.model.errors import SectionProblem
from mdmem.model.wording import field, near_names, one_of
from mdmem.text.document import Document, Section, fold_space, plain_title

_MAX_SUGGESTIONS = 3
_MIN_SIMILARITY = 0.5
_MAX_COMPARED_SECTIONS = 2000
_MAX_COMPARED_CHARS = 200
_MAX_QUOTED_CHARS = 120
_MAX_LISTED = 8


def join_path(path: SectionPath) -> str:
    return PATH_SEPARATOR.join(path)


MATCH_RULES: tuple[Callable[[str], str], ...] = (
    lambda title: title,
    plain_title,
    lambda title: plain_title(title).casefold(),
)
"""The first one with a match decides."""


def matching_sections(document: Document, address: str) -> tuple[Section, ...]:
    """The sections that an address names, in file order, by the first matching rule.

    A single heading precedes a path, and a whole path the end of one.
    """
    may_be_path = PATH_SEPARATOR in address or PATH_SEPARATOR in fold_space(address)
    for rule in MATCH_RULES:
        name = rule(address)
        if not name:
            break
        by_title = tuple(section for section in document.sections if rule(section.title) == name)
        if by_title:
            return by_title
        by_path = _matching_paths(document, name, rule) if may_be_path else ()
        if by_path:
            return by_path
    return ()


def _matching_paths(
    document: Document, name: str, rule: Callable[[str], str]
) -> tuple[Section, ...]:
    paths = [(section, [rule(title) for title in section.path]) for section in document.sections]
    whole = tuple(section for section, titles in paths if PATH_SEPARATOR.join(titles) == name)
    return whole or tuple(section for section, titles in paths if _ends_in(titles, name))


def _ends_in(titles: Sequence[str], name: str) -> bool:
    joined = titles[-1]
    for title in reversed(titles[:-1]):
        joined = f"{title}{PATH_SEPARATOR}{joined}"
        if len(joined) >= len(name):
            return joined == name
    return False


def is_named(path: SectionPath, address: str) -> bool:
    """True if an address may name a section: its title or the end of its path, loosely compared."""
    loosely = MATCH_RULES[-1]
    titles, name = [loosely(title) for title in path], loosely(address)
    return bool(titles) and (titles[-1] == name or _ends_in(titles, name))


def similar_paths(document: Document, address: str) -> tuple[str, ...]:
    """Up to three paths of the document that resemble an address."""
    name = plain_title(address).casefold()[:_MAX_COMPARED_CHARS]
    path_of_name: dict[str, str] = {}
    for section in document.sections[:_MAX_COMPARED_SECTIONS]:
        path = join_path(section.path)
        for candidate in (plain_title(section.title).casefold(), path.casefold()):
            path_of_name.setdefault(candidate[:_MAX_COMPARED_CHARS], path)
    close = near_names(name, path_of_name, 2 * _MAX_SUGGESTIONS, _MIN_SIMILARITY)
    inside = [
        candidate
        for candidate in path_of_name
        if name and candidate and (name in candidate or candidate in name)
    ]
    return tuple(dict.fromkeys(path_of_name[candidate] for candidate in [*close, *inside]))[
        :_MAX_SUGGESTIONS
    ]


def find_section(
    document: Document,
    address: str,
    nth: int | None = None,
    *,
    file: str | None = None,
    remedy: str = "",
    purpose: str = "",
    counts: bool = True,
) -> Section:
    """The section that an address names; `nth` counts from 1.

    Raises SectionProblem, in whose words `file` names the document, `remedy` is a sentence for
    where none is similar, `purpose` follows the address, and `counts` says that `nth` can be given.
    """
    matches = matching_sections(document, address)
    if not matches:
        raise _not_found(document, address, file, remedy, purpose)
    if nth is not None:
        if not 1 <= nth <= len(matches):
            name = repr(address[:_MAX_QUOTED_CHARS])
            message = (
                f"{field('nth')} must be 1: only one section is called {name}"
                if len(matches) == 1
                else f"{field('nth')} must be between 1 and {len(matches)}:"
                f" {len(matches)} sections are called {name}"
            )
            raise SectionProblem("section-not-found", message)
        return matches[nth - 1]
    if len(matches) > 1:
        raise _ambiguous(document, address, matches, counts)
    return matches[0]


def create_remedy() -> str:
    return f"Add {field('create')} to create the section."


def preamble_remedy(document: Document) -> str:
    return "" if document.sections else f"Use {field('preamble')} for its text."


def _not_found(
    document: Document, address: str, file: str | None, remedy: str, purpose: str
) -> SectionProblem:
    near = similar_paths(document, address)
    suggestions = near or tuple(
        join_path(section.path) for section in document.sections[:_MAX_LISTED]
    )
    listed = "; ".join(suggestions)
    if near:
        hint = f"Did you mean {one_of(near)}?"
    else:
        there = (
            f"Sections in {file or 'this file'}: {listed}."
            if listed
            else f"{file or 'This file'} has no headings."
        )
        hint = " ".join(filter(None, (there, remedy)))
    message = " ".join(filter(None, (f"no section {address[:_MAX_QUOTED_CHARS]!r}", purpose)))
    return SectionProblem("section-not-found", message, hint, near=list(near))


def _ambiguous(
    document: Document, address: str, matches: tuple[Section, ...], counts: bool
) -> SectionProblem:
    rows = [{"section": join_path(section.path), "line": section.start + 1} for section in matches]
    listed = "; ".join(f"{row['section']} (line {row['line']})" for row in rows[:_MAX_LISTED])
    paths_are_unique = all(
        len(matching_sections(document, join_path(section.path))) == 1
        for section in matches[:_MAX_LISTED]
    )
    ways = [
        *(["the whole path"] if paths_are_unique else []),
        *([f"{field('nth')} N"] if counts else []),
    ]
    remedy = f"Give {' or '.join(ways)}." if ways else "Rename one of them."
    hint = f"They are {listed}. {remedy}"
    message = f"{len(matches)} sections are called {address[:_MAX_QUOTED_CHARS]!r}"
    return SectionProblem("section-ambiguous", message, hint, sections=rows)


def address_of(document: Document, section: Section) -> tuple[str, int | None] | None:
    """The path of a section, with its number if shared; None if that means another section."""
    address = join_path(section.path)
    matches = matching_sections(document, address)
    if section not in matches:
        return None
    return address, matches.index(section) + 1 if len(matches) > 1 else None
