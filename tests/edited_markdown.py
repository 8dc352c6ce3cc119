"""Three texts of one file: any Markdown, and two that somebody made of it."""

from __future__ import annotations

from hypothesis import strategies as st

LINES = [
    *(
        "# a",
        "## a",
        "## b",
        "### c",
        "Head\n===",
        "Head\n---",
        "## 10:00",
        "## 09:30",
        "# 2026-01-01",
    ),
    *(
        "- one two three four",
        "- one two three five",
        "- key: red",
        "- key: blue",
        "* star",
        "1. first",
        "+ plus",
    ),
    *(
        "- [task] pay #due ^id1",
        "- pay (until 2026-01-01) #due <!-- c -->",
        "  - beneath",
        "  more of it",
    ),
    *(
        "a paragraph",
        "of two lines",
        "> quoted",
        "```",
        "    code",
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "[x]: http://y",
    ),
    *("", "", "", "---", "***", "title: x", "-", "#", "a\x85b", "\u2028"),
]
line = st.sampled_from(LINES)
"""Lines that mean something to a parser, some of them only next to others."""


@st.composite
def edited_texts(draw: st.DrawFn) -> tuple[str, str, str]:
    """A base, and both sides with up to four edits each: a line put in, taken out, or moved."""
    lines = draw(st.lists(line, max_size=14))
    end = draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]))
    mark = draw(st.sampled_from(["", "", "", "\ufeff", "---\ntitle: x\nowner: y\n---\n"]))
    base, ours, theirs = (
        mark + "".join(f"{text}\n" for text in side)
        for side in (lines, _edit(draw, lines), _edit(draw, lines))
    )
    last = draw(st.sampled_from(["", "", "ours", "theirs"]))
    ours, theirs = (
        (ours.rstrip("\n") if last == "ours" else ours),
        (theirs.rstrip("\n") if last == "theirs" else theirs),
    )
    return base.replace("\n", end), ours.replace("\n", end), theirs.replace("\n", end)


def _edit(draw: st.DrawFn, lines: list[str]) -> list[str]:
    lines = list(lines)
    for kind in draw(st.lists(st.sampled_from(["insert", "insert", "delete", "move"]), max_size=4)):
        at = draw(st.integers(0, len(lines)))
        moved = lines[at : at + 1]
        if kind == "insert":
            lines.insert(at, draw(line))
        elif moved:
            del lines[at]
        if kind == "move" and moved:
            lines.insert(draw(st.integers(0, len(lines))), moved[0])
    return lines
