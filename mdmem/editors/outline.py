"""Edits of headings, sections and blocks, which change no other heading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from mdmem.editors import EditResult
from mdmem.model import PATH_SEPARATOR, Op
from mdmem.model.errors import SectionProblem, TextProblem, field
from mdmem.model.rules import has_trailer
from mdmem.model.writes import EditSection
from mdmem.startup import late
from mdmem.text.document import (
    Document,
    Section,
    blank_line,
    clean_input,
    find_section,
    fold_space,
    is_blank,
    join_path,
    matching_sections,
    parse,
    plain_title,
    split_lines,
    with_line_end,
)

_MAX_LEVEL = 6
_DEFAULT_LEVEL = 2
_MAX_QUOTED_CHARS = 80
_CLOSING_HASHES = late.pattern(r"((?:^|[ \t])#*)(#)([ \t]*)$")
_ATX = late.pattern(r"^( {0,3}#{1,6})([ \t]*)")
_ATX_CLOSING = late.pattern(r"[ \t]#+$")


def content_bounds(lines: Sequence[str]) -> tuple[int, int]:
    """The numbers of the first line that is not blank and of the line after the last one."""
    first = next((number for number, line in enumerate(lines) if not is_blank(line)), len(lines))
    return first, next(
        (number for number in range(len(lines), first, -1) if not is_blank(lines[number - 1])),
        first,
    )


def strip_blank_lines(text: str) -> str:
    """A text with LF and without blank lines around it."""
    lines = with_line_end(text, "\n").split("\n")
    first, end = content_bounds(lines)
    return "\n".join(lines[first:end])


def open_block(line: int, place: str = "file", hint: str = "Close it first.") -> SectionProblem:
    """The failure where an open fence or comment takes in all that is added; lines count from 0."""
    message = f"the {place} ends inside an open fence or comment (line {line + 1})"
    return SectionProblem("open-block", message, hint, line=line + 1)


def body_escapes(reason: str) -> SectionProblem:
    return SectionProblem(
        "body-escapes-section",
        f"the text does not stay in its section: {reason}",
        "Close open fences and comments; use deeper headings.",
    )


def same_outline(document: Document, result: Document) -> bool:
    return result.front == document.front and _outline(result.sections) == _outline(
        document.sections
    )


def _outline(sections: Iterable[Section]) -> list[tuple[int, str]]:
    return [(section.level, section.title) for section in sections]


def _keeps_outline(document: Document, text: str, outline: Sequence[tuple[int, str]]) -> bool:
    result = parse(text)
    return result.front == document.front and _outline(result.sections) == list(outline)


def heading(level: int, title: str) -> str:
    """The ATX heading (without line end) of a title; raises TextProblem (`bad-text`)."""
    name = fold_space(clean_input(title, "title"))
    if not name or len(split_lines(title.strip())) > 1:
        raise TextProblem(
            "bad-text",
            f"{title[:_MAX_QUOTED_CHARS]!r} cannot be a title: a title is one line that is not"
            " empty",
        )
    if has_trailer(name):
        raise TextProblem(
            "bad-text",
            f"{title[:_MAX_QUOTED_CHARS]!r} cannot be a title: commits of mdmem use it as a"
            " trailer",
        )
    escaped = _CLOSING_HASHES.sub(r"\1\\\2\3", name)
    line = f"{'#' * level} {escaped}"
    sections = parse(line, fragment=True).sections
    if len(sections) != 1 or name not in (sections[0].title, plain_title(sections[0].title)):
        raise TextProblem("bad-text", f"{title[:_MAX_QUOTED_CHARS]!r} cannot be a heading")
    return line


def rename(document: Document, section: Section, title: str) -> EditResult:
    """Raises TextProblem (`bad-text`), SectionProblem (`section-exists`: of a sibling)."""
    name = heading(section.level, title)[section.level + 1 :]
    if name == section.title:
        return EditResult(text=document.text, op=Op.RENAME, section=section.path)
    _require_no_sibling(document, section, name)
    outline = [(s.level, name if s.index == section.index else s.title) for s in document.sections]
    before, after = (
        document.bom + document.slice(0, section.start),
        document.slice(section.body, len(document.lines)),
    )
    for lines in _renamed_headings(document, section, name):
        text = before + lines + after
        if _keeps_outline(document, text, outline):
            return EditResult(text=text, op=Op.RENAME, section=(*section.path[:-1], name))
    raise TextProblem("bad-text", f"{title[:_MAX_QUOTED_CHARS]!r} cannot be this heading")


def _require_no_sibling(document: Document, section: Section, title: str) -> None:
    """Addresses ignore markup and case."""
    parent = _parent_of(document, section)
    first, end = (parent.body, parent.tree_end) if parent else (0, len(document.lines))
    name = plain_title(title).casefold()
    for other in document.sections:
        is_sibling = (
            first <= other.start < end
            and len(other.path) == len(section.path)
            and other.index != section.index
        )
        if is_sibling and plain_title(other.title).casefold() == name:
            message = f"a section {join_path(other.path)!r} already exists (line {other.start + 1})"
            hint = (
                f"Choose another title, or add the text to that section and {field('delete')} this"
                " one."
            )
            raise SectionProblem(
                "section-exists", message, hint, section=join_path(other.path), line=other.start + 1
            )


def _renamed_headings(document: Document, section: Section, name: str) -> Iterator[str]:
    first, last = document.lines[section.start], document.lines[section.body - 1]
    match = _ATX.match(first) if section.body == section.start + 1 else None
    if match:
        yield f"{match[1]}{match[2] or ' '}{name}{_after_title(first[match.end() :])}"
        return
    yield name + first[len(first.rstrip("\r\n")) :] + last
    yield f"{'#' * section.level} {name}" + last[len(last.rstrip("\r\n")) :]


def _after_title(line: str) -> str:
    title = line.rstrip(" \t\r\n")
    if title.endswith("#") and _ATX_CLOSING.search(" " + title, len(title.rstrip("#"))):
        title = title.rstrip("#").rstrip(" \t")
    return line[len(title) :]


def delete(document: Document, section: Section, subtree: bool) -> EditResult:
    """Remove a section (with subsections only as a `subtree`); raises SectionProblem."""
    if section.tree_end > section.end and not subtree:
        raise SectionProblem(
            "has-subsections",
            f"{join_path(section.path)!r} has subsections",
            f"To delete them too, use {field('subtree')}.",
        )
    text = (
        document.bom
        + document.slice(0, section.start)
        + document.slice(section.tree_end, len(document.lines))
    )
    deleted = range(section.index, section.index + 1 + len(document.subsections(section)))
    if not _keeps_outline(
        document, text, _outline(s for s in document.sections if s.index not in deleted)
    ):
        raise body_escapes("without it the sections around it would change")
    return EditResult(text=text, op=Op.DELETE, section=section.path)


def create(document: Document, change: EditSection) -> EditResult:
    """Create the missing part of a path, with the change's text in the last section.

    It goes to the end of its parent, one level below it, or after `change.after`.

    Raises SectionProblem: a parent or `after` is missing or ambiguous; depth over 6; an escape.
    TextProblem: a title or a text that cannot be stored.
    """
    parent, missing = _nearest_parent(
        document, [part.strip() for part in (change.section or "").split(PATH_SEPARATOR)]
    )
    if parent is None:
        parent = (
            _single_title(document)
            if change.after is None
            else _parent_of(document, _sibling(document, change.after, change))
        )
    level, line = _level_and_line(document, parent, change)
    if level + len(missing) - 1 > _MAX_LEVEL:
        raise SectionProblem(
            "body-escapes-section", f"the section would be deeper than {_MAX_LEVEL} levels"
        )
    headings = [heading(level + depth, title) for depth, title in enumerate(missing)]
    body = strip_blank_lines(clean_input(change.text))
    if any(
        section.level < level + len(headings) for section in parse(body, fragment=True).sections
    ):
        raise body_escapes("it has a heading at or above the section's own level")
    path = (*(parent.path if parent else ()), *(title.lstrip("#").strip() for title in headings))
    text = insert_blocks(document, (line, "\n\n".join([*headings, body] if body else headings)))
    return EditResult(text=text, op=Op.CREATE, section=path)


def _nearest_parent(document: Document, titles: list[str]) -> tuple[Section | None, list[str]]:
    for count in range(len(titles) - 1, 0, -1):
        address = PATH_SEPARATOR.join(titles[:count])
        if matching_sections(document, address):
            return find_section(document, address), titles[count:]
    return None, titles


def _sibling(document: Document, after: str, change: EditSection) -> Section:
    return find_section(document, after, change.nth, file=change.file, purpose="to place it after")


def _single_title(document: Document) -> Section | None:
    tops = [section for section in document.sections if len(section.path) == 1]
    return tops[0] if len(tops) == 1 and tops[0].level == 1 else None


def _parent_of(document: Document, section: Section) -> Section | None:
    ancestors = [s for s in document.sections[: section.index] if s.tree_end > section.start]
    return ancestors[-1] if ancestors else None


def _level_and_line(
    document: Document, parent: Section | None, change: EditSection
) -> tuple[int, int]:
    if change.after is None:
        if parent:
            return parent.level + 1, parent.tree_end
        return min(
            (s.level for s in document.sections if len(s.path) == 1), default=_DEFAULT_LEVEL
        ), len(document.lines)
    sibling = _sibling(document, change.after, change)
    if parent and sibling.path[:-1] != parent.path:
        raise SectionProblem(
            "section-not-found",
            f"{change.after!r} is not directly below {join_path(parent.path)!r}",
        )
    return sibling.level, sibling.tree_end


def insert_blocks(document: Document, *insertions: tuple[int, str]) -> str:
    """Insert texts (LF) as blocks, each before a line; lines ascend.

    Raises SectionProblem: `open-block`, `body-escapes-section`: another heading changes.
    """
    fragments = [parse(text, fragment=True) for _, text in insertions]
    text = _with_blocks(document, insertions)
    if all(fragment.open_line is None for fragment in fragments):
        headings = [
            (section.start, 1, outline)
            for section, outline in zip(document.sections, _outline(document.sections), strict=True)
        ]
        for (line, _), fragment in zip(insertions, fragments, strict=True):
            headings += [(line, 0, outline) for outline in _outline(fragment.sections)]
        if _keeps_outline(
            document, text, [outline for _, _, outline in sorted(headings, key=itemgetter(0, 1))]
        ):
            return text
    if document.open_line is not None:
        raise open_block(document.open_line)
    raise body_escapes("it would change the text around it")


def _with_blocks(document: Document, insertions: Iterable[tuple[int, str]]) -> str:
    end = document.line_end
    ends_bare = bool(document.lines) and not document.lines[-1].endswith(("\n", "\r"))
    result, copied = document.bom, 0
    for line, text in insertions:
        result += document.slice(copied, line)
        copied = line
        if line and not result.endswith(("\n", "\r")):
            result += end
        if line and not is_blank(document.lines[line - 1]):
            result += blank_line(result, end)
        is_last = line == len(document.lines)
        result += (
            with_line_end(text, end)
            + ("" if is_last and ends_bare else end)
            + ("" if is_last else end)
        )
    return result + document.slice(copied, len(document.lines))
