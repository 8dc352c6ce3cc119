"""The three-way merge of a block: a list item, a table, prose sentence by sentence, or lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mdmem.editors import likeness
from mdmem.editors.merge3.values import (
    AtomKind,
    AtomTriple,
    MergedText,
    Ranked,
    choices,
    merge_atoms,
    merge_items,
    merge_lines,
    versions_of_sides,
)
from mdmem.editors.pairs import half_in_common
from mdmem.editors.text_units import (
    BY_LINE,
    ENDS_UNSPACED,
    LONG,
    Prose,
    Quote,
    Table,
    TableColumn,
    TableLine,
    read_sentences,
)
from mdmem.model.errors import TextProblem
from mdmem.text.document import fold_space
from mdmem.text.scan import BlockKind

_MIN_LIKENESS = 0.55


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
        is_spaced = before and not ENDS_UNSPACED.search(before)
        if form == BY_LINE:
            text += "\n" * bool(text) + sentence
        elif form == LONG:
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


_Row = tuple[str | None, ...]
"""The words of a row in the columns that remain; None in one that its version lacks."""


def _merge_tables(base: Table, ours: Table, theirs: Table) -> MergedText:
    """The table with both sides' edits; rows of which both changed a cell are there twice.

    Raises TextProblem for tables that cannot be merged: two columns of one name, rows with more
    cells than the header, a column that each side renamed.
    """
    tables = (base, ours, theirs)
    for table in tables:
        if len(set(table.head.words)) < len(table.head.cells):
            raise TextProblem("bad-text", "a table has two columns of one name")
        if any(len(row.cells) > len(table.head.cells) for row in table.rows):
            raise TextProblem("bad-text", "a table has a row with more cells than columns")
    columns = merge_atoms((_columns(base), _columns(ours), _columns(theirs)), _COLUMN_KIND)
    rows = merge_atoms(
        (_rows(base, 0, columns), _rows(ours, 1, columns), _rows(theirs, 2, columns)), _ROW_KIND
    )
    text = _TableWriter(tables, columns, rows).text()
    named = [tuple(map(_row_name, row.atoms)) for row in rows]
    return MergedText(
        texts=(text,),
        pairs=tuple((pair[0], pair[1]) for pair in named if len(pair) == 2),
        kept=tuple(pair[0] for row, pair in zip(rows, named, strict=True) if row.is_kept),
    )


def _columns(table: Table) -> list[TableColumn]:
    return [table.column(number) for number in range(len(table.head.cells))]


def _rows(table: Table, version: int, columns: Sequence[AtomTriple]) -> list[_Row]:
    numbers = [column.members[version] for column in columns]
    rows = (row.words + ("",) * len(table.head.cells) for row in table.rows)
    return [tuple(None if n is None else words[n] for n in numbers) for words in rows]


def _row_name(row: _Row) -> str:
    return " | ".join(cell or "" for cell in row)


def _merge_column(
    base: TableColumn | None, ours: TableColumn, theirs: TableColumn
) -> tuple[TableColumn, ...]:
    headers = choices(base.header if base else ours.header, ours.header, theirs.header)
    if len(headers) > 1:
        raise TextProblem("bad-text", f"both sides renamed the column {base and base.header!r}")
    return (ours if ours.header == headers[0] else theirs,)


def _merge_row(base: _Row | None, ours: _Row, theirs: _Row) -> tuple[_Row, ...]:
    if base is not None and _is_row_changed(base, ours) and _is_row_changed(base, theirs):
        pairs = ((ours, theirs), (base, ours), (base, theirs))
        are_alike, *are_edits = (any(_shared_cells(*pair)) for pair in pairs)
        if not are_alike and not all(are_edits):
            return ours, theirs  # one of them may well be another row
    old = base or ("",) * len(ours)
    cells = [_merge_cell(*cell) for cell in zip(old, ours, theirs, strict=True)]
    first, second = (tuple(cell[n] for cell in cells) for n in (0, -1))
    return (first,) if first == second else (first, second)


def _merge_cell(base: str | None, ours: str | None, theirs: str | None) -> tuple[str | None, ...]:
    if ours is None or theirs is None:
        return (ours if theirs is None else theirs,)
    return choices(base or "", ours, theirs)


def _shared_cells(old: _Row, new: _Row) -> Iterator[tuple[int, str]]:
    for number, (cell, other) in enumerate(zip(old, new, strict=True)):
        if cell and cell == other:
            yield number, cell


def _is_row_changed(old: _Row, new: _Row) -> bool:
    return any(
        cell is not None and cell != (before or "") for before, cell in zip(old, new, strict=True)
    )


def _likely_rows(old: Sequence[_Row], new: Sequence[_Row]) -> Iterable[Ranked]:
    cells = [{n: [*_shared_cells(row, row)] for n, row in enumerate(rows)} for rows in (old, new)]
    return half_in_common(cells[0], cells[1])


_COLUMN_KIND = AtomKind(
    names=(lambda column: column.header,),
    combine=_merge_column,
    is_changed=lambda old, new: old.header != new.header or bool(new.cells - old.cells),
)
_ROW_KIND = AtomKind(
    names=(
        lambda row: tuple(cell or "" for cell in row),
        lambda row: row[0] if row else None,
    ),
    combine=_merge_row,
    likely=_likely_rows,
    is_changed=_is_row_changed,
)


class _TableWriter:
    def __init__(
        self,
        tables: tuple[Table, Table, Table],
        columns: Sequence[AtomTriple],
        rows: Sequence[AtomTriple],
    ) -> None:
        self._tables, self._columns, self._rows = tables, columns, rows
        forms = [table.form for table in tables]
        self._form = max(choices(forms[0], forms[1], forms[2]))
        self._sources = [number for number in (1, 2, 0) if forms[number] == self._form]
        self._sources.sort(key=lambda number: (not number, [*map(str, tables[number].lines)]))
        self._widths = [
            max(
                len(column.atoms[0].header),
                *(len(row[n] or "") for triple in rows for row in triple.atoms),
                0,
            )
            for n, column in enumerate(columns)
        ]

    def text(self) -> str:
        head = tuple(column.atoms[0].header for column in self._columns)
        lines = [self._line(head, [table.head for table in self._tables]), self._rule()]
        for triple in self._rows:
            members = [
                None if number is None else table.rows[number]
                for table, number in zip(self._tables, triple.members, strict=True)
            ]
            lines += [self._line(row, members) for row in triple.atoms]
        return "\n".join(map(str, lines))

    def _line(self, words: Sequence[str | None], members: Sequence[TableLine | None]) -> TableLine:
        sources = [
            (members[number], [column.members[number] for column in self._columns])
            for number in self._sources
        ]
        cells = []
        for number, word in enumerate(words):
            written = (
                line.cells[at]
                for line, places in sources
                if line and (at := places[number]) is not None and at < len(line.cells)
            )
            cells.append(self._cell(number, word or "", [*written]))
        line = next((line for line, _ in sources if line), None)
        _, start, end, _ = self._form
        is_same = (
            line is not None and line.words == tuple(words) == TableLine("", (*cells,), "").words
        )
        if is_same and line is not None and line.cells == (*cells,):
            return line
        return TableLine(start, tuple(cells), end)

    def _cell(self, number: int, word: str, written: Sequence[str]) -> str:
        is_padded, _, _, is_spaced = self._form
        width = self._widths[number]
        for cell in written:
            if cell.strip() == word and (not is_padded or len(cell) == width + 2 * is_spaced):
                return cell
        space = " " * is_spaced
        return f"{space}{word.ljust(width) if is_padded else word}{space}"

    def _rule(self) -> TableLine:
        _, start, end, _ = self._form
        return TableLine(start, tuple(map(self._rule_cell, range(len(self._columns)))), end)

    def _rule_cell(self, number: int) -> str:
        is_padded, _, _, is_spaced = self._form
        members = self._columns[number].members
        written = [
            None if n is None else table.rule.cells[n]
            for table, n in zip(self._tables, members, strict=True)
        ]
        base, *sides = [None if cell is None else _alignment(cell) for cell in written]
        left, right = max(
            filter(None, sides if None in sides else choices(base, sides[0], sides[1]))
        )
        length = self._widths[number] + 2 * is_spaced
        own = [cell for source in self._sources if (cell := written[source]) is not None]
        for cell in own:
            if _alignment(cell) == (left, right) and (not is_padded or len(cell) == length):
                return cell
        space = " " * own[0].startswith(" ") if own else ""
        dashes = length - 2 * len(space) if is_padded else 3
        return f"{space}{':' * left}{'-' * max(1, dashes - left - right)}{':' * right}{space}"


def _alignment(rule: str) -> tuple[bool, bool]:
    return rule.strip()[0] == ":", rule.strip()[-1] == ":"


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
                return _merge_tables(o, a, b)
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
