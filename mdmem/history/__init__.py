"""The history of sections and facts as the commits have it, with what every write needs."""

from mdmem.history.differences import changed_lines, line_difference
from mdmem.history.messages import (
    CommitNote,
    ParsedNote,
    compose_claimed_save,
    compose_joined,
    compose_message,
    compose_pulled_save,
    parse_trailers,
    quoted_line,
    section_name,
)

__all__ = [
    "CommitNote",
    "ParsedNote",
    "changed_lines",
    "compose_claimed_save",
    "compose_joined",
    "compose_message",
    "compose_pulled_save",
    "line_difference",
    "parse_trailers",
    "quoted_line",
    "section_name",
]
