"""A message in its sentences, with what was pasted into it left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Self

from mdmem.extract.vocabulary import plain_words, vocabulary
from mdmem.startup import late
from mdmem.startup.records import dataclass

FENCE = late.pattern(r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)")
_PASTED_LINE = late.pattern(
    r"(?x)^\s*(?:(?:[-*+]\s+)*>|[$%\#]\s|\.\.\.\s|at\s[\w$.<>]+\(|File\s\".*\",\sline\s\d|Traceback\s\(|[{}\[\]][\s,]*$|\"[\w-]+\":\s|"
    r"(?:diff\s--git|index\s[0-9a-f]{7}|@@\s|\+\+\+\s|---\s\S|[+-](?:\s{2,}|[\w(\"'{/]))|\d{4}-\d\d-\d\d[T\s]\d\d:\d\d:\d\d|"
    r"(?:INFO|DEBUG|WARN(?:ING)?|ERROR|FATAL)\b|\|.*\|\s*$|<[/!?a-zA-Z][^>]*>|(?:import|from|def|class|function|const|let|var|return|public|private)\s.*[:;{)]\s*$)"
)
_MARK_LINE = late.pattern(r"^\s*(?:[-*+\u2022]|\d+[.)])\s+")
_END = late.pattern(r"(?<=[.!?…。！？])[\"'”’)\]]*(?:\s+|(?=[\U0001F300-\U0001FAFF])|(?<=[。！？]))")  # full stops of Chinese and Japanese
_ABBREVIATION = late.pattern(r"(?i)(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|approx|no|jr|sr|inc|ltd|[a-z])\.$")
_QUOTATION = late.pattern(
    r"\"[^\"]*(?:\"|\Z)|(?<!\w)'[^']*'(?!\w)|`[^`]*`|«[^»]*»|„[^\"]*\"|"
    r"「[^」]*」|『[^』]*』",
)
_QUOTES = late.pattern("[\"'`«„「『]")
QUOTED = '""'
"""It stands where a quotation was left out."""


_STRAIGHT = {ord("\u2019"): "'", ord("\u2018"): "'", ord("\u201c"): '"', ord("\u201d"): '"'}
_WORD = late.pattern(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what the rules look at again and again.

    - `text`: verbatim, on one line; `straight`: with straight apostrophes and quotation marks.
    - `words`: as written; `folded`: each in lower case, once; `pieces`: these, cut at their apostrophes.
    - `content`: the words that say something, folded, in their order.
    """

    text: str
    straight: str
    words: tuple[str, ...]
    folded: frozenset[str]
    pieces: frozenset[str]
    content: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """A sentence of a text on one line."""
        plain = text if text.isascii() else text.translate(_STRAIGHT)
        words = tuple(_WORD.findall(plain))
        folded = " ".join(words).casefold().split(" ") if words else []
        folded_words = frozenset(folded)
        pieces = frozenset(piece for word in folded_words for piece in word.split("'")) if "'" in plain else folded_words
        stop_words = vocabulary().stop_words
        content = tuple([word for word in folded if word not in stop_words and (len(word) > 1 or word.isdigit())])
        return cls(text=text, straight=plain, words=words, folded=folded_words, pieces=pieces, content=content)

    @property
    def outside_quotations(self) -> str:
        """The straight text with `QUOTED` in place of each quotation."""
        return _QUOTATION.sub(QUOTED, self.straight) if _QUOTES.search(self.straight) else self.straight

    @property
    def is_question(self) -> bool:
        """True if its last mark is a question mark, and it does not ask to remember a fact."""
        is_asked = ends_as_question(self.text)
        return is_asked and plain_words().remembering.match(self.straight) is None


def ends_as_question(text: str) -> bool:
    """True if the last mark of a text is a question mark."""
    return text.rstrip("\"'”’)] \t").endswith(("?", "？"))  # the question mark of Chinese


def is_pasted_line(line: str) -> bool:
    """True if a line is one of a quote, a stack trace, a diff, a log, JSON or a table."""
    return _PASTED_LINE.match(line) is not None


def is_list_item(line: str) -> bool:
    """True if a line begins an item of a list."""
    return _MARK_LINE.match(line) is not None


def strip_pasted(text: str) -> str:
    """A text without code blocks, quotes, stack traces, diffs, logs, JSON and tables."""
    lines = FENCE.sub("\n", text).split("\n")
    return "\n".join(line for line in lines if not is_pasted_line(line))


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text. A line break ends a sentence; so does the end of a list item."""
    return tuple(map(Sentence.of, _sentences(text)))


def sentences_with(text: str, parts: Collection[str]) -> tuple[Sentence, ...]:
    """The sentences of a text in which, in lower case, one of these parts stands."""
    return tuple(Sentence.of(sentence) for sentence in _sentences(text) if has_part(sentence, parts))


def has_part(text: str, parts: Collection[str]) -> bool:
    """True if one of these parts stands in a text in lower case."""
    lowered = text.lower()
    return any(part in lowered for part in parts)


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        rest = _MARK_LINE.sub("", line).strip()
        start = 0
        for match in _END.finditer(rest):
            sentence = rest[start : match.end()].strip()
            if not sentence or _ABBREVIATION.search(sentence):
                continue
            yield " ".join(sentence.split())
            start = match.end()
        if rest[start:].strip():
            yield " ".join(rest[start:].split())
