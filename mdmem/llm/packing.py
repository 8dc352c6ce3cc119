"""Pack the lines of a session into requests. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from mdmem.llm.requests import RequestLine
from mdmem.startup import late
from mdmem.startup.records import replace

MOST_BYTES = 24_000
"""The most bytes of lines in a request."""
_LEFT_EMPTY = 500
"""A request that lacks fewer bytes than this is full: the next line goes into the next one as a whole. So 1 MB makes 45 at most."""
_SENTENCE_END = late.pattern(r"[.!?…。！？]+[\"'”’)\]]*\s+|\s+")


def pack(lines: Iterable[RequestLine]) -> tuple[tuple[RequestLine, ...], ...]:
    """The lines in as many requests as they need. A line that does not fit is cut at the end of a sentence or word, and goes on in the next one."""
    packs: list[list[RequestLine]] = [[]]
    left = MOST_BYTES
    for line in lines:
        rest = line.text
        while len(rest.encode()) > left:
            if left > _LEFT_EMPTY and (start := _beginning(rest, left)):
                packs[-1].append(replace(line, text=start.rstrip()))
                rest = rest[len(start) :]
            packs.append([])
            left = MOST_BYTES
        if rest.strip():
            packs[-1].append(replace(line, text=rest))
            left -= len(rest.encode())
    return tuple(tuple(each) for each in packs if each)


def _beginning(text: str, most_bytes: int) -> str:
    """The longest beginning of a text that ends with a sentence, or else with a word, and has so many bytes at most; cut anywhere if it must be."""
    start = text.encode()[:most_bytes].decode(errors="ignore")
    ends = [match.end() for match in _SENTENCE_END.finditer(start)]
    sentences = [end for end in ends if start[:end].rstrip()[-1:] in ".!?…。！？\"'”’)]"]
    near = [end for end in sentences or ends if len(start[:end].encode()) > most_bytes - _LEFT_EMPTY] or ends[-1:]
    return start[: near[-1]] if near and near[-1] else start


def last_whole_line(packs: tuple[tuple[RequestLine, ...], ...], count: int) -> int:
    """The last line that the first requests (so many) have to its end; 0 where there is none."""
    goes_on = packs[count][0].number if count < len(packs) else None
    return max((line.number for each in packs[:count] for line in each if line.number != goes_on), default=0)
