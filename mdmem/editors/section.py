"""Edits of sections, headings and blocks; all around them stays byte for byte the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from mdmem.editors import EditResult
from mdmem.model import PATH_SEPARATOR, Op, SectionPath
from mdmem.model.errors import SectionProblem, TextProblem, UsageProblem, field, shell_word, verb
from mdmem.model.rules import has_trailer
from mdmem.model.writes import PLACING, Action, EditSection
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import (
    Document,
    Section,
    blank_line,
    clean_input,
    create_remedy,
    find_section,
    fold_space,
    is_blank,
    join_path,
    matching_sections,
    parse,
    plain_title,
    preamble_etag,
    section_etag,
    split_lines,
    tree_etag,
    with_line_end,
)
from mdmem.text.scan import Block, BlockKind

_MAX_LEVEL = 6
_DEFAULT_LEVEL = 2
_MAX_QUOTED_CHARS = 80
_CLOSING_HASHES = late.pattern(r"((?:^|[ \t])#*)(#)([ \t]*)$")
_ATX = late.pattern(r"^( {0,3}#{1,6})([ \t]*)")
_ATX_CLOSING = late.pattern(r"[ \t]#+$")


def _content_bounds(lines: Sequence[str]) -> tuple[int, int]:
    """The numbers of the first line that is not blank and of the line after the last one."""
    first = next((number for number, line in enumerate(lines) if not is_blank(line)), len(lines))
    return first, next(
        (number for number in range(len(lines), first, -1) if not is_blank(lines[number - 1])),
        first,
    )


def strip_blank_lines(text: str) -> str:
    """A text with LF and without blank lines around it."""
    lines = with_line_end(text, "\n").split("\n")
    first, end = _content_bounds(lines)
    return "\n".join(lines[first:end])


def open_block(line: int, place: str = "file", hint: str = "Close it first.") -> SectionProblem:
    """The failure where an open fence or comment takes in all that is added; lines count from 0."""
    message = f"the {place} ends inside an open fence or comment (line {line + 1})"
    return SectionProblem("open-block", message, hint, line=line + 1)


def _body_escapes(reason: str) -> SectionProblem:
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
        raise _body_escapes("without it the sections around it would change")
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
        raise _body_escapes("it has a heading at or above the section's own level")
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
    raise _body_escapes("it would change the text around it")


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


_OPS = {
    Action.BODY: Op.REPLACE,
    Action.REPLACE: Op.REPLACE,
    Action.APPEND: Op.APPEND,
    Action.PREPEND: Op.PREPEND,
    Action.RENAME: Op.RENAME,
    Action.DELETE: Op.DELETE,
}
_BLANK_LINE = "\n\n"
_ANY_LINE_END = r"(?:\r\n|(?<!\r)\n|\r(?!\n))"


@dataclass(frozen=True, slots=True)
class _EditRange:
    start: int
    end: int
    section: Section | None

    @property
    def path(self) -> SectionPath:
        return self.section.path if self.section else ()


def edit(document: Document, change: EditSection) -> EditResult:
    """Without a difference the text stays the same.

    Raises SectionProblem: missing, ambiguous, changed since, or the change escapes it. TextProblem:
    a text that cannot be stored. UsageProblem: conflicting options.
    """
    if change.section is None:
        return _edit_preamble(document, change)
    if not change.section.strip():
        raise SectionProblem(
            "section-not-found",
            "the section's name is empty",
            f"To list sections: {verb('outline')}",
        )
    if change.create and not matching_sections(document, change.section) and change.expect is None:
        return create(document, change)
    remedy = create_remedy() if change.action in PLACING else ""
    section = find_section(document, change.section, change.nth, file=change.file, remedy=remedy)
    if change.after is not None and section.start < find_section(document, change.after).tree_end:
        raise UsageProblem(
            f"{join_path(section.path)!r} already exists, and is not after {change.after!r}",
            f"{field('after')} is only for new sections.",
        )
    _require_unchanged(document, section, change)
    match change.action:
        case Action.RENAME:
            return rename(document, section, change.text)
        case Action.DELETE:
            return delete(document, section, change.subtree)
        case _:
            target = _EditRange(
                section.body, section.tree_end if change.subtree else section.end, section
            )
            return EditResult(
                text=_edit_text(document, target, change),
                op=_OPS[change.action],
                section=section.path,
            )


def _edit_preamble(document: Document, change: EditSection) -> EditResult:
    if change.expect is not None and change.expect != preamble_etag(document):
        raise _section_changed(
            preamble_etag(document), document.slice(document.front, document.preamble_end)
        )
    target = _EditRange(document.front, document.preamble_end, None)
    return EditResult(text=_edit_text(document, target, change), op=_OPS[change.action], section=())


def _require_unchanged(document: Document, section: Section, change: EditSection) -> None:
    if change.expect is None:
        return
    etag = tree_etag(document, section) if change.subtree else section_etag(document, section)
    if change.expect != etag:
        raise _section_changed(
            etag, document.slice(section.body, section.tree_end if change.subtree else section.end)
        )


def _section_changed(etag: str, text: str) -> SectionProblem:
    return SectionProblem(
        "section-changed",
        "the section has changed since it was read, or this etag was never its own",
        f"Read it again ({verb('show')}) before you edit it.",
        etag=etag,
        text=text,
    )


def _edit_text(document: Document, target: _EditRange, change: EditSection) -> str:
    if change.action is Action.REPLACE:
        return _replace_words(document, target, change)
    text = strip_blank_lines(clean_input(change.text))
    if change.action is Action.BODY:
        return _set_body(document, target, _without_own_heading(text, target), change.subtree)
    if not text:
        raise TextProblem("empty-text", "there is nothing to add")
    return _add(document, target, text, at_end=change.action is Action.APPEND)


# The whole body.


def _without_own_heading(text: str, target: _EditRange) -> str:
    section = target.section
    if section is None:
        return text
    fragment = parse(text, fragment=True)
    first = fragment.sections[0] if fragment.sections else None
    if (
        first is None
        or first.start
        or first.level != section.level
        or plain_title(first.title) != plain_title(section.title)
    ):
        return text
    return strip_blank_lines(fragment.slice(first.body, len(fragment.lines)))


def _set_body(document: Document, target: _EditRange, text: str, subtree: bool) -> str:
    if text == _content(document, target):
        return document.text
    section = target.section
    has_headings = bool(parse(text, fragment=True).sections)
    if section is not None and section.tree_end > target.end and has_headings and not subtree:
        if text == _content(document, _EditRange(target.start, section.tree_end, section)):
            return document.text
        raise SectionProblem(
            "has-subsections",
            f"{join_path(section.path)!r} has subsections, and the new body has headings",
            f"To replace the subsections too, use {field('subtree')}.",
        )
    return _compose(document, target, text)


def _split_blank_lines(document: Document, target: _EditRange) -> tuple[str, str, str]:
    lines = document.lines[target.start : target.end]
    first, end = _content_bounds(lines)
    return "".join(lines[:first]), "".join(lines[first:end]), "".join(lines[end:])


def _content(document: Document, target: _EditRange) -> str:
    return strip_blank_lines(document.slice(target.start, target.end))


def _around(document: Document, target: _EditRange) -> tuple[str, str]:
    return document.bom + document.slice(0, target.start), document.slice(
        target.end, len(document.lines)
    )


def _compose(document: Document, target: _EditRange, text: str) -> str:
    end = document.line_end
    lead, content, tail = _split_blank_lines(document, target)
    before, after = _around(document, target)
    if target.start and not before.endswith(("\n", "\r")):
        before += end
    if not content:
        blanks = split_lines(lead)
        lead, tail = (
            "".join(blanks[:1]) or (blank_line(before, end) if target.start else ""),
            "".join(blanks[1:]),
        )
        lead += "" if not lead or lead.endswith(("\n", "\r")) else end
    if not text:
        return _first_safe(
            document, target, text, [before + (tail if target.start else "") + after]
        )
    result = before + lead + with_line_end(text, end)
    if not after:
        ends_bare = bool(document.lines) and not document.lines[-1].endswith(("\n", "\r"))
        return _first_safe(
            document, target, text, [result + ("" if ends_bare and not tail else end + tail)]
        )
    gaps = [tail] if tail else ["", end] if content else [end]
    return _first_safe(document, target, text, [result + end + gap + after for gap in gaps])


# Checks that keep an edit inside its section.


def _first_safe(document: Document, target: _EditRange, text: str, candidates: list[str]) -> str:
    """The first candidate that differs only in the range; raises `body-escapes-section`."""
    for candidate in candidates:
        if _differs_inside_only(document, target, parse(candidate)):
            return candidate
    fragment = parse(text, fragment=True)
    shallow = [section for section in fragment.sections if not _is_below(target, section)]
    if shallow:
        raise _body_escapes(
            f"the heading {shallow[0].title!r} is at or above the section's own level"
        )
    if fragment.open_line is not None:
        raise _body_escapes("it ends inside an open fence, comment or HTML block")
    raise _body_escapes("it would change what follows the section or what precedes it")


def _is_below(target: _EditRange, section: Section) -> bool:
    return target.section is not None and section.level > target.section.level


def _differs_inside_only(document: Document, target: _EditRange, result: Document) -> bool:
    """The range needs no parsing of its own: nothing is open after the heading before it."""
    before = [section for section in document.sections if section.start < target.start]
    after = [section for section in document.sections if section.start >= target.end]
    shift = len(result.lines) - len(document.lines)
    first_after = len(result.sections) - len(after)
    return (
        result.front == document.front
        and first_after >= len(before)
        and [(s.start, s.level, s.title) for s in result.sections[: len(before)]]
        == [(s.start, s.level, s.title) for s in before]
        and [(s.start - shift, s.level, s.title) for s in result.sections[first_after:]]
        == [(s.start, s.level, s.title) for s in after]
        and all(
            _is_below(target, section) for section in result.sections[len(before) : first_after]
        )
        and (result.open_line is None or result.open_line >= target.end + shift)
    )


# Additions.


def append_to_section(document: Document, section: Section, text: str) -> str:
    return _join(
        document,
        _EditRange(section.body, section.end, section),
        strip_blank_lines(text),
        at_end=True,
    )


def _add(document: Document, target: _EditRange, text: str, at_end: bool) -> str:
    section = target.section
    has_headings = bool(parse(text, fragment=True).sections)
    end = section.tree_end if section and has_headings else target.end
    old = _content(document, _EditRange(target.start, end, section))
    if old == text or (old.endswith("\n" + text) if at_end else old.startswith(text + "\n")):
        return document.text
    if section is not None and section.tree_end > target.end and has_headings:
        raise SectionProblem(
            "has-subsections",
            f"{join_path(section.path)!r} has subsections, and the added text has headings",
            "Address the subsection.",
        )
    return _join(document, target, text, at_end)


def _join(document: Document, target: _EditRange, text: str, at_end: bool) -> str:
    if not _content(document, target):
        return _compose(document, target, text)
    line = document.open_line
    if line is not None and target.start <= line < target.end:
        raise open_block(line, "section")
    old, new = document.blocks_in(target.start, target.end), parse(text, fragment=True)
    first, last = (
        target.start + number
        for number in _content_bounds(document.lines[target.start : target.end])
    )
    if at_end:
        continues_list = _ends_in_item(old, last) and _begins_with_item(new.blocks, 0)
    else:
        continues_list = _ends_in_item(new.blocks, len(new.lines)) and _begins_with_item(old, first)
    return _splice(document, target, text, "\n" if continues_list else _BLANK_LINE, at_end)


def _ends_in_item(blocks: tuple[Block, ...], end: int) -> bool:
    return bool(blocks) and blocks[-1].kind is BlockKind.ITEM and blocks[-1].end == end


def _begins_with_item(blocks: tuple[Block, ...], start: int) -> bool:
    return bool(blocks) and blocks[0].kind is BlockKind.ITEM and blocks[0].start == start


def _splice(document: Document, target: _EditRange, text: str, separator: str, at_end: bool) -> str:
    end = document.line_end
    lead, content, tail = _split_blank_lines(document, target)
    last_end = content[len(content.rstrip("\r\n")) :]
    addition, gap = with_line_end(text, end), with_line_end(separator, end)
    if at_end and last_end:
        gap = blank_line(content, end) if separator == _BLANK_LINE else ""
    joined = content + gap + addition + last_end if at_end else addition + gap + content
    before, after = _around(document, target)
    candidates = [before + lead + joined + tail + after]
    if after and not tail:
        candidates.append(before + lead + joined + end + after)
    stripped = strip_blank_lines(content)
    return _first_safe(
        document,
        target,
        stripped + separator + text if at_end else text + separator + stripped,
        candidates,
    )


# Words replaced by others.


def find_words(words: str, text: str) -> list[tuple[int, int]]:
    """The spans of words in a text, whatever the line ends; overlaps count."""
    pattern = _ANY_LINE_END.join(re.escape(line) for line in with_line_end(words, "\n").split("\n"))
    return [match.span(1) for match in re.finditer(f"(?=({pattern}))", text)]


def _show_command(change: EditSection) -> str:
    options = [] if change.section else ["preamble"]
    return " ".join(
        [
            verb("show", *options),
            *(shell_word(word) for word in (change.file, change.section) if word),
            *([field("nth"), str(change.nth)] if change.nth else []),
        ]
    )


def _replace_words(document: Document, target: _EditRange, change: EditSection) -> str:
    old = clean_input(change.text, "text to find")
    new = with_line_end(clean_input(change.replacement, "replacement"), document.line_end)
    if not old:
        raise UsageProblem("the text to find is empty")
    own = document.slice(target.start, target.end)
    spans = find_words(old, own)
    quoted = repr(change.text[:_MAX_QUOTED_CHARS])
    owner = repr(join_path(target.path)) if target.path else "the text before the first heading"
    if not spans:
        raise SectionProblem(
            "text-not-found",
            f"{quoted} is not in {owner}",
            f"To see the exact text: {_show_command(change)}",
        )
    if len(spans) > 1:
        message = f"{quoted} occurs {len(spans)} times in {owner}"
        raise SectionProblem(
            "text-ambiguous", message, "Give more of the text around it.", count=len(spans)
        )
    start, end = spans[0]
    if own[start:end] == new:
        return document.text
    changed = own[:start] + new + own[end:]
    before, after = _around(document, target)
    return _first_safe(document, target, with_line_end(changed, "\n"), [before + changed + after])
