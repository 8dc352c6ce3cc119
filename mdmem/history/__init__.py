"""What a section or a fact used to say, and the commits that tell.

The messages are what every write needs, so they are at hand here; `replay` and `trails` are for those who look back.
"""

from mdmem.history.messages import (
    CommitNote,
    Origins,
    ParsedNote,
    changed_lines,
    commit_origin,
    common_ends,
    compose_message,
    line_origins,
    parse_message,
    parse_trailers,
    section_name,
)

__all__ = [
    "CommitNote",
    "Origins",
    "ParsedNote",
    "changed_lines",
    "commit_origin",
    "common_ends",
    "compose_message",
    "line_origins",
    "parse_message",
    "parse_trailers",
    "section_name",
]
