"""Edits of one section; its neighbours stay byte for byte the same."""

from __future__ import annotations

import re

from mdmem.editors import EditResult
from mdmem.editors.outline import (
    body_escapes,
    content_bounds,
    create,
    delete,
    open_block,
    rename,
    strip_blank_lines,
)
from mdmem.model import Op, SectionPath
from mdmem.model.errors import SectionProblem, TextProblem, UsageProblem, field, shell_word, verb
from mdmem.model.writes import PLACING, Action, EditSection
from mdmem.startup.records import dataclass
from mdmem.text.document import (
    Document,
    Section,
    blank_line,
    clean_input,
    create_remedy,
    find_section,
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
_MAX_QUOTED_CHARS = 80


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
    first, end = content_bounds(lines)
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
        raise body_escapes(
            f"the heading {shallow[0].title!r} is at or above the section's own level"
        )
    if fragment.open_line is not None:
        raise body_escapes("it ends inside an open fence, comment or HTML block")
    raise body_escapes("it would change what follows the section or what precedes it")


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
        for number in content_bounds(document.lines[target.start : target.end])
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
