"""Edits of one section: body, append, prepend, replace, rename, delete, create. Neighbours stay byte for byte the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from mdmem.addresses import find_section, join_path, matching_sections
from mdmem.document import (
    Block,
    BlockKind,
    Document,
    Section,
    blank_line,
    clean_input,
    fold_space,
    is_blank,
    parse,
    plain_title,
    preamble_etag,
    section_etag,
    split_lines,
    tree_etag,
    with_line_end,
)
from mdmem.editors import EditResult
from mdmem.errors import SectionProblem, TextProblem, UsageProblem
from mdmem.model import PATH_SEPARATOR, Op, SectionPath
from mdmem.model.writes import Action, EditSection
from mdmem.startup.records import dataclass

_OPS = {
    Action.BODY: Op.REPLACE,
    Action.REPLACE: Op.REPLACE,
    Action.APPEND: Op.APPEND,
    Action.PREPEND: Op.PREPEND,
    Action.RENAME: Op.RENAME,
    Action.DELETE: Op.DELETE,
}
_MAX_LEVEL = 6
_BLANK_LINE = "\n\n"
_ANY_LINE_END = r"(?:\r\n|\n|\r(?!\n))"
_CLOSING_HASHES = re.compile(r"((?:^|[ \t])#*)(#)([ \t]*)$")
_ATX = re.compile(r"^( {0,3}#{1,6})([ \t]*)")
_ATX_CLOSING = re.compile(r"[ \t]#+$")


@dataclass(frozen=True, slots=True)
class _EditRange:
    """Lines `start` up to `end` are to change; `level` and `path` are the section's (0 and empty for the preamble)."""

    start: int
    end: int
    level: int
    path: SectionPath
    section: Section | None


def edit(document: Document, change: EditSection) -> EditResult:
    """The document with one section changed as asked; the same text where there is nothing to change.

    Raises:
        SectionProblem: the section is missing, ambiguous or no longer what was expected, or the change would reach beyond it.
        TextProblem: a text that cannot be stored.
        UsageProblem: options that do not go together.
    """
    if change.section is None:
        return _edit_preamble(document, change)
    if not change.section.strip():
        raise SectionProblem("section-not-found", "the section's name is empty", "mdmem outline lists the sections.")
    if change.create and not matching_sections(document, change.section) and change.expect is None:
        return create(document, change)
    section = find_section(document, change.section, change.nth)
    if change.after is not None and section.start < find_section(document, change.after).tree_end:
        raise UsageProblem(
            f"{join_path(section.path)!r} is there already, and does not stand after {change.after!r}",
            "--after places a section that is made.",
        )
    _expect(document, section, change)
    match change.action:
        case Action.RENAME:
            return _rename(document, section, change.text)
        case Action.DELETE:
            return _delete(document, section, change.subtree)
        case _:
            end = section.tree_end if change.subtree else section.end
            target = _EditRange(section.body, end, section.level, section.path, section)
            return EditResult(_rewrite(document, target, change), _OPS[change.action], section.path)


def _edit_preamble(document: Document, change: EditSection) -> EditResult:
    if change.action in (Action.RENAME, Action.DELETE) or change.subtree or change.after is not None:
        raise UsageProblem("the text before the first heading can be replaced, appended to and prepended to, nothing else")
    if change.expect is not None and change.expect != preamble_etag(document):
        raise _changed(preamble_etag(document), document.slice(document.front, document.preamble_end))
    target = _EditRange(document.front, document.preamble_end, 0, (), None)
    return EditResult(_rewrite(document, target, change), _OPS[change.action], ())


def _changed(etag: str, text: str) -> SectionProblem:
    return SectionProblem(
        "section-changed", "the section is no longer what was read", "Read it again (mdmem show) and decide anew.", etag=etag, text=text
    )


def _expect(document: Document, section: Section, change: EditSection) -> None:
    if change.expect is None:
        return
    now = tree_etag(document, section) if change.subtree else section_etag(document, section)
    if change.expect != now:
        raise _changed(now, document.slice(section.body, section.tree_end if change.subtree else section.end))


def _rewrite(document: Document, target: _EditRange, change: EditSection) -> str:
    if change.action is Action.REPLACE:
        return _replace_words(document, target, change)
    text = _trim(clean_input(change.text))
    if change.action is Action.BODY:
        return _set_body(document, target, _without_own_heading(text, target), change.subtree)
    if not text:
        raise TextProblem("empty-text", "there is nothing to add")
    return _add(document, target, text, at_end=change.action is Action.APPEND)


def _trim(text: str) -> str:
    """A text with LF and without blank lines around it."""
    lines = with_line_end(text, "\n").split("\n")
    first, last = _words(lines)
    return "\n".join(lines[first:last])


def _words(lines: Sequence[str]) -> tuple[int, int]:
    """Where the first line that is not blank begins and the last one ends."""
    first = next((i for i, line in enumerate(lines) if not is_blank(line)), len(lines))
    return first, next((i for i in range(len(lines), first, -1) if not is_blank(lines[i - 1])), first)


def _without_own_heading(text: str, target: _EditRange) -> str:
    if target.section is None:
        return text
    fragment = parse(text, fragment=True)
    first = fragment.sections[0] if fragment.sections else None
    if first is None or first.start or first.level != target.level or plain_title(first.title) != plain_title(target.section.title):
        return text
    return _trim(fragment.slice(first.body, len(fragment.lines)))


def _own(document: Document, target: _EditRange) -> tuple[str, str, str]:
    """Leading blank lines, words and trailing blank lines of the target."""
    lines = document.lines[target.start : target.end]
    first, last = _words(lines)
    return "".join(lines[:first]), "".join(lines[first:last]), "".join(lines[last:])


def _set_body(document: Document, target: _EditRange, text: str, subtree: bool) -> str:
    if text == _trim(_own(document, target)[1]):
        return document.text
    section = target.section
    has_headings = bool(parse(text, fragment=True).sections)
    if section is not None and section.tree_end > target.end and has_headings and not subtree:
        whole = _EditRange(target.start, section.tree_end, target.level, target.path, section)
        if text == _trim(_own(document, whole)[1]):
            return document.text
        raise SectionProblem(
            "has-subsections",
            f"{join_path(section.path)!r} has subsections and the body brings headings of its own",
            "--subtree replaces the subsections too.",
        )
    return _compose(document, target, text)


def _compose(document: Document, target: _EditRange, text: str) -> str:
    """The document with the target's words replaced by `text` (LF, trimmed) and its blank lines kept where they can be."""
    end = document.line_end
    lead, words, tail = _own(document, target)
    before, after = document.bom + document.slice(0, target.start), document.slice(target.end, len(document.lines))
    if target.start and not before.endswith(("\n", "\r")):
        before += end
    if not words:
        blanks = split_lines(lead)
        lead, tail = "".join(blanks[:1]) or (blank_line(before, end) if target.start else ""), "".join(blanks[1:])
        lead += "" if not lead or lead.endswith(("\n", "\r")) else end
    if not text:
        return _verified(document, target, text, [before + (tail if target.start else "") + after])
    new = before + lead + with_line_end(text, end)
    if not after:
        ends_bare = bool(document.lines) and not document.lines[-1].endswith(("\n", "\r"))
        return _verified(document, target, text, [new + ("" if ends_bare and not tail else end + tail)])
    tails = [tail] if tail else ["", end] if words else [end]
    return _verified(document, target, text, [new + end + gap + after for gap in tails])


def _verified(document: Document, target: _EditRange, text: str, candidates: list[str]) -> str:
    """The first candidate in which nothing but the target differs; `text` is what the target then says.

    Raises:
        SectionProblem: `body-escapes-section`: in each of them something outside would change.
    """
    for candidate in candidates:
        if _differs_inside_only(document, target, parse(candidate)):
            return candidate
    fragment = parse(text, fragment=True)
    shallow = [s for s in fragment.sections if not _is_below(target, s)]
    if shallow:
        raise _escapes(f"line {shallow[0].start + 1} of it is a heading at or above the section's own level")
    if fragment.open_line is not None:
        raise _escapes("it ends inside an open fence, comment or HTML block")
    raise _escapes("it would change what follows the section or what precedes it")


def _is_below(target: _EditRange, section: Section) -> bool:
    return target.section is not None and section.level > target.level


def _differs_inside_only(document: Document, target: _EditRange, result: Document) -> bool:
    """Whether the headings around the target stand as they did, those in it are deeper, and nothing in it is left open.

    What stands in it needs no reading of its own: after the heading before it nothing is open.
    """
    before = [s for s in document.sections if s.start < target.start]
    after = [s for s in document.sections if s.start >= target.end]
    shift = len(result.lines) - len(document.lines)
    rest = len(result.sections) - len(after)
    return (
        result.front == document.front
        and rest >= len(before)
        and [(s.start, s.level, s.title) for s in result.sections[: len(before)]] == [(s.start, s.level, s.title) for s in before]
        and [(s.start - shift, s.level, s.title) for s in result.sections[rest:]] == [(s.start, s.level, s.title) for s in after]
        and all(_is_below(target, s) for s in result.sections[len(before) : rest])
        and (result.open_line is None or result.open_line >= target.end + shift)
    )


def _escapes(reason: str) -> SectionProblem:
    return SectionProblem(
        "body-escapes-section", f"the text does not stay in its section: {reason}", "Close what is open; use deeper headings."
    )


def _ends_in_item(blocks: tuple[Block, ...], end: int) -> bool:
    return bool(blocks) and blocks[-1].kind is BlockKind.ITEM and blocks[-1].end == end


def _begins_with_item(blocks: tuple[Block, ...], start: int) -> bool:
    return bool(blocks) and blocks[0].kind is BlockKind.ITEM and blocks[0].start == start


def _add(document: Document, target: _EditRange, text: str, at_end: bool) -> str:
    section = target.section
    has_headings = bool(parse(text, fragment=True).sections)
    end = section.tree_end if section and has_headings else target.end
    old = _trim(document.slice(target.start, end))
    if old == text or (old.endswith("\n" + text) if at_end else old.startswith(text + "\n")):
        return document.text
    if section is not None and section.tree_end > target.end and has_headings:
        raise SectionProblem(
            "has-subsections",
            f"{join_path(section.path)!r} has subsections and the addition brings headings of its own",
            "Address the subsection.",
        )
    return _join(document, target, text, at_end)


def _join(document: Document, target: _EditRange, text: str, at_end: bool) -> str:
    """`text` added to the target, by one line end where both sides are list items, else by a blank line."""
    words = _own(document, target)[1]
    if not words:
        return _compose(document, target, text)
    line = document.open_line
    if line is not None and target.start <= line < target.end:
        raise SectionProblem(
            "open-block", f"the section ends inside an open fence or comment (line {line + 1})", "Close it first.", line=line + 1
        )
    known, new = document.blocks_in(target.start, target.end), parse(text, fragment=True)
    first, last = (target.start + number for number in _words(document.lines[target.start : target.end]))
    if at_end:
        joins = _ends_in_item(known, last) and _begins_with_item(new.blocks, 0)
    else:
        joins = _ends_in_item(new.blocks, len(new.lines)) and _begins_with_item(known, first)
    return _splice(document, target, words, text, "\n" if joins else _BLANK_LINE, at_end)


def _splice(document: Document, target: _EditRange, words: str, text: str, separator: str, at_end: bool) -> str:
    """`text` put before or after the target's words, of which no byte changes."""
    end = document.line_end
    lead, _, tail = _own(document, target)
    last = words[len(words.rstrip("\r\n")) :]
    new, gap = with_line_end(text, end), with_line_end(separator, end)
    if at_end and last:
        gap = blank_line(words, end) if separator == _BLANK_LINE else ""
    joined = words + gap + new + last if at_end else new + gap + words
    before, after = document.bom + document.slice(0, target.start), document.slice(target.end, len(document.lines))
    candidates = [before + lead + joined + tail + after]
    if after and not tail:
        candidates.append(before + lead + joined + end + after)
    whole = _trim(words) + separator + text if at_end else text + separator + _trim(words)
    return _verified(document, target, whole, candidates)


def find_words(words: str, text: str) -> list[tuple[int, int]]:
    """Where words stand in a text, whatever the line ends; overlapping places count one by one."""
    pattern = _ANY_LINE_END.join(re.escape(line) for line in with_line_end(words, "\n").split("\n"))
    return [found.span(1) for found in re.finditer(f"(?=({pattern}))", text)]


def _replace_words(document: Document, target: _EditRange, change: EditSection) -> str:
    end = document.line_end
    old = clean_input(change.text, "text to find")
    new = with_line_end(clean_input(change.replacement, "replacement"), end)
    if not old:
        raise UsageProblem("the text to find is empty")
    own = document.slice(target.start, target.end)
    found = find_words(old, own)
    count = len(found)
    where = repr(join_path(target.path)) if target.path else "the text before the first heading"
    if not count:
        raise SectionProblem("text-not-found", f"{change.text[:80]!r} does not stand in {where}", "Its exact words: mdmem show.")
    if count > 1:
        raise SectionProblem(
            "text-ambiguous", f"{change.text[:80]!r} stands {count} times in {where}", "Give more of the text around it.", count=count
        )
    first, last = found[0]
    if own[first:last] == new:
        return document.text
    before, after = document.bom + document.slice(0, target.start), document.slice(target.end, len(document.lines))
    changed = own[:first] + new + own[last:]
    return _verified(document, target, with_line_end(changed, "\n"), [before + changed + after])


def same_outline(document: Document, result: Document) -> bool:
    """Whether two documents have the same headings and as many lines of front matter."""
    return result.front == document.front and _outline(result.sections) == _outline(document.sections)


def _outline(sections: Iterable[Section]) -> list[tuple[int, str]]:
    return [(s.level, s.title) for s in sections]


def _has_outline(document: Document, text: str, outline: Sequence[tuple[int, str]]) -> bool:
    """Whether a text that a document is to become has these headings (level, title), and the same front matter."""
    result = parse(text)
    return result.front == document.front and _outline(result.sections) == list(outline)


def heading(level: int, title: str) -> str:
    """The ATX heading (without line end) of a title.

    Raises:
        TextProblem: `bad-text`: a title that is empty, has several lines or would not read back.
    """
    name = fold_space(clean_input(title, "title"))
    if not name or len(split_lines(title.strip())) > 1:
        raise TextProblem("bad-text", f"{title[:80]!r} is no title: one line that is not empty")
    escaped = _CLOSING_HASHES.sub(r"\1\\\2\3", name)
    line = f"{'#' * level} {escaped}"
    found = parse(line, fragment=True).sections
    if len(found) != 1 or (name != found[0].title and name != plain_title(found[0].title)):
        raise TextProblem("bad-text", f"{title[:80]!r} cannot be a heading")
    return line


def _after_title(line: str) -> str:
    """What stands after the title in the rest of an ATX heading: white space, closing `#`s, the line end."""
    title = line.rstrip(" \t\r\n")
    if title.endswith("#") and _ATX_CLOSING.search(" " + title, len(title.rstrip("#"))):
        title = title.rstrip("#").rstrip(" \t")
    return line[len(title) :]


def _rename(document: Document, section: Section, title: str) -> EditResult:
    name = heading(section.level, title)[section.level + 1 :]
    path = (*section.path[:-1], name)
    if name == section.title:
        return EditResult(document.text, Op.RENAME, section.path)
    outline = [(s.level, name if s.index == section.index else s.title) for s in document.sections]
    before, after = document.bom + document.slice(0, section.start), document.slice(section.body, len(document.lines))
    for renamed in _renamed(document, section, name):
        if _has_outline(document, before + renamed + after, outline):
            return EditResult(before + renamed + after, Op.RENAME, path)
    raise TextProblem("bad-text", f"{title[:80]!r} cannot be this heading")


def _renamed(document: Document, section: Section, name: str) -> Iterator[str]:
    """The heading's lines with another title: in the style that it has, and for a title that setext does not take, as ATX."""
    first, last = document.lines[section.start], document.lines[section.body - 1]
    match = _ATX.match(first) if section.body == section.start + 1 else None
    if match:
        yield f"{match[1]}{match[2] or ' '}{name}{_after_title(first[match.end() :])}"
        return
    yield name + first[len(first.rstrip("\r\n")) :] + last
    yield f"{'#' * section.level} {name}" + last[len(last.rstrip("\r\n")) :]


def _delete(document: Document, section: Section, subtree: bool) -> EditResult:
    if section.tree_end > section.end and not subtree:
        raise SectionProblem("has-subsections", f"{join_path(section.path)!r} has subsections", "--subtree deletes them too.")
    end = section.tree_end
    text = document.bom + document.slice(0, section.start) + document.slice(end, len(document.lines))
    gone = range(section.index, section.index + 1 + len(document.subsections(section)))
    if not _has_outline(document, text, _outline(s for s in document.sections if s.index not in gone)):
        raise _escapes("without it the sections around it would change")
    return EditResult(text, Op.DELETE, section.path)


def _parent(document: Document, titles: list[str]) -> tuple[Section | None, list[str]]:
    """The deepest section of the path that is there, and the titles that are missing below it."""
    for count in range(len(titles) - 1, 0, -1):
        address = PATH_SEPARATOR.join(titles[:count])
        if matching_sections(document, address):
            return find_section(document, address), titles[count:]
    return None, titles


def _single_title(document: Document) -> Section | None:
    tops = [s for s in document.sections if len(s.path) == 1]
    return tops[0] if len(tops) == 1 and tops[0].level == 1 else None


def create(document: Document, change: EditSection) -> EditResult:
    """The document with the missing part of a path made, and the change's text as the body of the last section.

    It stands at the end of its parent, one level below it, or after `change.after`.

    Raises:
        SectionProblem: the parent or `after` is missing or ambiguous, the level would be deeper than 6, the text escapes.
        TextProblem: a title or a text that cannot be stored.
    """
    if change.action in (Action.REPLACE, Action.RENAME, Action.DELETE):
        find_section(document, change.section or "", change.nth)
    parent, missing = _parent(document, [part.strip() for part in (change.section or "").split(PATH_SEPARATOR)])
    if parent is None:
        parent = _single_title(document) if change.after is None else _parent_of(document, find_section(document, change.after))
    level, at = _place(document, parent, change.after)
    if level + len(missing) - 1 > _MAX_LEVEL:
        raise SectionProblem("body-escapes-section", f"the section would be deeper than {_MAX_LEVEL} levels")
    heads = [heading(level + depth, title) for depth, title in enumerate(missing)]
    body = _trim(clean_input(change.text))
    if any(s.level < level + len(heads) for s in parse(body, fragment=True).sections):
        raise _escapes("it has a heading at or above the section's own level")
    path = (*(parent.path if parent else ()), *(head.lstrip("#").strip() for head in heads))
    return EditResult(insert_blocks(document, at, "\n\n".join([*heads, body] if body else heads)), Op.CREATE, path)


def _parent_of(document: Document, section: Section) -> Section | None:
    around = [s for s in document.sections[: section.index] if s.tree_end > section.start]
    return around[-1] if around else None


def _place(document: Document, parent: Section | None, after: str | None) -> tuple[int, int]:
    """The level of a new section and the line before which it goes."""
    if after is None:
        if parent:
            return parent.level + 1, parent.tree_end
        return min((s.level for s in document.sections if len(s.path) == 1), default=2), len(document.lines)
    sibling = find_section(document, after)
    if parent and sibling.path[:-1] != parent.path:
        raise SectionProblem("section-not-found", f"{after!r} does not stand directly below {join_path(parent.path)!r}")
    return sibling.level, sibling.tree_end


def insert_blocks(document: Document, at: int, text: str) -> str:
    """The document with `text` (LF) as blocks of its own before line `at`."""
    end = document.line_end
    before, after = document.bom + document.slice(0, at), document.slice(at, len(document.lines))
    ends_bare = not after and bool(document.lines) and not document.lines[-1].endswith(("\n", "\r"))
    if at and not before.endswith(("\n", "\r")):
        before += end
    if at and not is_blank(document.lines[at - 1]):
        before += blank_line(before, end)
    new = with_line_end(text, end) + ("" if ends_bare else end) + (end if after else "")
    added = parse(text, fragment=True)
    expected = [
        *_outline(s for s in document.sections if s.start < at),
        *_outline(added.sections),
        *_outline(s for s in document.sections if s.start >= at),
    ]
    if added.open_line is not None or not _has_outline(document, before + new + after, expected):
        line = document.open_line
        if line is not None:
            raise SectionProblem(
                "open-block", f"the file ends inside an open fence or comment (line {line + 1})", "Close it first.", line=line + 1
            )
        raise _escapes("it would change what stands around it")
    return before + new + after


def append_to_section(document: Document, section: Section, text: str) -> str:
    """The document with `text` at the end of a section's own text, joined to a list where both are list items."""
    return _join(document, _EditRange(section.body, section.end, section.level, section.path, section), _trim(text), at_end=True)
