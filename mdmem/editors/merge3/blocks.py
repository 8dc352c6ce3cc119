"""The three-way merge of a block: a list item, a table, prose sentence by sentence, or lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdmem.editors import likeness
from mdmem.editors.merge3.atoms import (
    AtomKind,
    AtomTriple,
    MergedText,
    Ranked,
    merge_atoms,
    versions_of_sides,
)
from mdmem.editors.merge3.tables import Table, merge_tables
from mdmem.editors.merge3.values import choices, merge_items, merge_lines
from mdmem.errors import TextProblem
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import fold_space
from mdmem.text.scan import BlockKind

_UNBROKEN = late.pattern(r"(`+)(?!`).+?(?<!`)\1(?!`)|\[[^\]]*\]\([^)\s]*\)|<[^<>\s]+>")
"""Code, links: no sentence ends in them."""
_UNSPACED_END = r"[。！？]+[」』”’）】]*"
_END = late.pattern(rf"[.!?]+[\"'”’»)\]*_]*(?=\s+(\S))|{_UNSPACED_END}")
_ENDS_UNSPACED = late.pattern(rf"{_UNSPACED_END}\Z")
_HARD_BREAK = late.pattern(r"(?:  |\\)\n")
_QUOTE_LINE = late.pattern(r" {0,3}> ?(.*)")
_CALLOUT = late.pattern(r"\[!([^\]]+)\]([+-]?)[ \t]*(.*)")
_OTHER_BLOCK = late.pattern(r"\s*(?:\Z|>|[-+*#|]|\d{1,9}[.)]|```|~~~|<| {4})")
_LONG, _LINES, _WRAPPED = range(3)
_MIN_LIKENESS = 0.55


def read_sentences(text: str) -> list[tuple[str, int]]:
    """The sentences of a text, their white space folded, and the end of each."""
    masked = _UNBROKEN.sub(lambda match: "x" * len(match[0]), text)
    sentences, start = list[tuple[str, int]](), 0
    for match in (*_END.finditer(masked), None):
        end = match.end() if match else len(text)
        if match and match[1] and match[1].islower():
            continue
        if sentence := fold_space(text[start:end]):
            sentences.append((sentence, end))
        start = end
    return sentences


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph in sentences; `ends` are theirs in the text."""

    text: str
    sentences: tuple[str, ...]
    ends: tuple[int, ...]

    @classmethod
    def read(cls, text: str) -> Prose | None:
        """Take a paragraph apart; None where its lines are no prose: one without full stops."""
        if "\r" in text or _HARD_BREAK.search(text):
            return None
        read = read_sentences(text)
        if len(read) < 2 and "\n" in text and not _END.search(f"{text} A"):
            return None
        return cls(text, tuple(words for words, _ in read), tuple(end for _, end in read))

    @property
    def form(self) -> int:
        """If it is one line, has a line a sentence, or is wrapped."""
        if "\n" not in self.text:
            return _LONG
        is_by_line = self.text.count("\n") == len(self.ends) - 1
        return (
            _LINES if is_by_line and all(self.text[n] == "\n" for n in self.ends[:-1]) else _WRAPPED
        )

    @property
    def width(self) -> int:
        return max(map(len, self.text.split("\n")))


def _merge_prose(base: Prose, ours: Prose, theirs: Prose) -> MergedText:
    versions = (base, ours, theirs)
    merged = merge_atoms((base.sentences, ours.sentences, theirs.sentences), _SENTENCE_KIND)
    if not merged:
        return MergedText(())
    form = max(choices(base.form, ours.form, theirs.form))
    sources = [version for version in versions if version.form == form]
    width = (
        max(choices(base.width, ours.width, theirs.width))
        if base.form == form
        else max(source.width for source in sources)
    )
    pairs = tuple((triple.atoms[0], triple.atoms[1]) for triple in merged if len(triple.atoms) == 2)
    kept = tuple(triple.atoms[0] for triple in merged if triple.is_kept)
    text = _write([words for triple in merged for words in triple.atoms], sources, form, width)
    if _reads(text, merged):
        return MergedText((text,), pairs, kept)
    # a sentence without a full stop would be one with the next: the paragraph is there twice
    both = versions_of_sides(merged, ours.sentences, theirs.sentences)
    texts = [_write(sentences, sources, form, width) for sentences in both]
    if not pairs or any(
        [words for words, _ in read_sentences(text)] != sentences
        for text, sentences in zip(texts, both, strict=True)
    ):
        texts = [ours.text, theirs.text]
        first, second = sorted(map(fold_space, texts))
        pairs, kept = ((first, second),), ()
    return MergedText(tuple(sorted(texts)), pairs, kept)


def _reads(text: str, merged: Sequence[AtomTriple]) -> bool:
    read = [sentence for sentence, _ in read_sentences(text)]
    return read == [words for triple in merged for words in triple.atoms]


def _write(sentences: Sequence[str], sources: Sequence[Prose], form: int, width: int) -> str:
    def same(source: Prose) -> tuple[int, str]:
        pairs = zip(sentences, source.sentences, strict=False)
        number = next((n for n, pair in enumerate(pairs) if pair[0] != pair[1]), None)
        return min(len(sentences), len(source.sentences)) if number is None else number, source.text

    source = max(sources, key=same)
    count, _ = same(source)
    text = source.text[: source.ends[count - 1]] if count else ""
    for before, sentence in zip(["", *sentences][count:-1], sentences[count:], strict=True):
        is_spaced = before and not _ENDS_UNSPACED.search(before)
        if form == _LINES:
            text += "\n" * bool(text) + sentence
        elif form == _LONG:
            text += " " * bool(is_spaced) + sentence
        else:
            for number, word in enumerate(sentence.split(" ")):
                line = len(text) - text.rfind("\n") - 1
                space = " " if number or is_spaced else ""
                is_full = bool(text) and line + len(space) + len(word) > width
                text += ("\n" if is_full else space) + word
    return text


def _likely_sentences(old: Sequence[str], new: Sequence[str]) -> Iterator[Ranked]:
    pairs = likeness.candidate_pairs(list(old), list(new))
    ranked = sorted((-likeness.likeness(old[a], new[b]), a, b) for a, b in pairs)
    yield from (pair for pair in ranked if -pair[0] >= _MIN_LIKENESS)


_SENTENCE_KIND = AtomKind(
    names=(lambda sentence: sentence,), combine=choices, likely=_likely_sentences
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A block quote of one paragraph; a callout's `head` is its kind, fold mark and title."""

    head: tuple[str, str, str] | None
    prose: Prose

    @classmethod
    def read(cls, text: str) -> Quote | None:
        """Take a quote apart; None where it has other blocks, or a line without its mark."""
        matches = [_QUOTE_LINE.fullmatch(line) for line in text.split("\n")]
        lines = [match[1] for match in matches if match]
        callout = _CALLOUT.fullmatch(lines[0]) if lines else None
        body = lines[1:] if callout else lines
        if len(lines) < len(matches) or any(map(_OTHER_BLOCK.match, body)):
            return None
        prose = Prose.read("\n".join(body))
        head = (callout[1], callout[2], callout[3].strip()) if callout else None
        return cls(head, prose) if prose else None


def _merge_quotes(base: Quote, ours: Quote, theirs: Quote) -> MergedText | None:
    """The quote with both sides' sentences; twice for two titles, None for a changed sort."""
    merged = _merge_prose(base.prose, ours.prose, theirs.prose)
    if base.head is None or ours.head is None or theirs.head is None:
        if base.head or ours.head or theirs.head:
            return None
        return merged._replace(texts=tuple(map(_quoted, merged.texts)))
    kinds, folds, titles = (
        choices(*part) for part in zip(base.head, ours.head, theirs.head, strict=True)
    )
    titles = tuple(sorted(titles))
    heads = [f"[!{max(kinds)}]{max(folds)}{' ' * bool(title)}{title}" for title in titles]
    pairs = merged.pairs if len(titles) < 2 else (*merged.pairs, (titles[0], titles[1]))
    bodies = merged.texts or ("",)
    count = max(len(heads), len(bodies))
    texts = tuple(
        _quoted(f"{heads[n % len(heads)]}\n{bodies[n % len(bodies)]}".rstrip("\n"))
        for n in range(count)
    )
    return merged._replace(texts=texts, pairs=pairs)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def merge_unit(
    kind: BlockKind | None, base: str | None, ours: str, theirs: str, is_guess: bool
) -> MergedText:
    """The unit that holds both sides' edits, or both units, each with the rest of both.

    `is_guess`: whether they are one unit is one. Raises TextProblem where git must merge the file.
    """
    if kind is BlockKind.ITEM:
        return MergedText(merge_items(base, ours, theirs, is_guess))
    if ours == theirs:
        return MergedText((ours,))
    if base is None:
        return MergedText(tuple(sorted((ours, theirs))))
    if len(sides := choices(base, ours, theirs)) == 1:
        return MergedText(sides)
    return _merge_as(kind, base, ours, theirs) or _merge_lines(base, ours, theirs)


def _merge_as(kind: BlockKind | None, base: str, ours: str, theirs: str) -> MergedText | None:
    match kind:
        case BlockKind.PARAGRAPH:
            o, a, b = (Table.read(text) for text in (base, ours, theirs))
            if o and a and b:
                return merge_tables(o, a, b)
            p, q, r = (Prose.read(text) for text in (base, ours, theirs))
            if p and q and r and not (o or a or b):
                return _merge_prose(p, q, r)
        case BlockKind.QUOTE:
            x, y, z = (Quote.read(text) for text in (base, ours, theirs))
            if x and y and z:
                return _merge_quotes(x, y, z)
    return None


def _merge_lines(base: str, ours: str, theirs: str) -> MergedText:
    """Raises TextProblem where equal lines make it a guess which are which: a merge of the result
    with a side would be another one.
    """
    versions = [text.split("\n") for text in (base, ours, theirs)]
    merged = merge_lines(versions[0], versions[1], versions[2])
    if merged.pairs:
        return MergedText(tuple(sorted((ours, theirs))), merged.pairs)
    if any(len(set(lines[1:-1])) < len(lines[1:-1]) for lines in versions):  # all but the fence
        for side in versions[1:]:
            if merge_lines(versions[0], merged.lines, side).lines != merged.lines:
                raise TextProblem("bad-text", "equal lines of a block make its merge a guess")
    return MergedText(("\n".join(merged.lines),), kept=merged.kept)
