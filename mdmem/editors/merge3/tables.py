"""The three-way merge of a table: columns by header, rows by their cells, cells one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mdmem.editors.merge3.atoms import AtomKind, AtomTriple, MergedText, Ranked, merge_atoms
from mdmem.editors.merge3.sequences import half_in_common
from mdmem.editors.merge3.values import choices
from mdmem.errors import TextProblem
from mdmem.startup import late
from mdmem.startup.records import dataclass

_RULE = late.pattern(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_FRAME = late.pattern(r"([ \t]*\|?)(.*?)((?<!\\)\|[ \t]*|[ \t]*)")
_BAR = late.pattern(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of a table: `cells` with the space around them, between `start` and `end`."""

    start: str
    cells: tuple[str, ...]
    end: str

    @classmethod
    def read(cls, line: str) -> TableLine:
        match = _FRAME.fullmatch(line)
        assert match is not None, "it matches any line"
        return cls(match[1], tuple(_BAR.split(match[2])), match[3])

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(cell.strip() for cell in self.cells)

    def __str__(self) -> str:
        return f"{self.start}{'|'.join(self.cells)}{self.end}"


@dataclass(frozen=True, slots=True)
class Table:
    head: TableLine
    rule: TableLine
    rows: tuple[TableLine, ...]

    @classmethod
    def read(cls, text: str) -> Table | None:
        """The table of a block; None where it is none."""
        lines = text.split("\n")
        if len(lines) < 2 or "|" not in lines[0] or "\r" in text or not _RULE.fullmatch(lines[1]):
            return None
        head, rule, *rows = map(TableLine.read, lines)
        return cls(head, rule, tuple(rows)) if len(head.cells) == len(rule.cells) else None

    @property
    def lines(self) -> tuple[TableLine, ...]:
        return (self.head, self.rule, *self.rows)

    @property
    def form(self) -> tuple[bool, str, str, bool]:
        """If cells are padded to the width of their columns, and the frame of a line."""
        widths = {tuple(map(len, line.cells)) for line in self.lines}
        is_spaced = self.head.cells[0].startswith(" ")
        return len(widths) == 1, self.head.start, self.head.end, is_spaced

    def column(self, number: int) -> _Column:
        cells = frozenset(
            (row.words[0], row.words[number])
            for row in self.rows
            if number < len(row.cells) and row.words[number]
        )
        return _Column(self.head.words[number], cells)


class _Column(NamedTuple):
    header: str
    cells: frozenset[tuple[str, str]]


_Row = tuple[str | None, ...]
"""The words of a row in the columns that remain; None in one that its version lacks."""


def merge_tables(base: Table, ours: Table, theirs: Table) -> MergedText:
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
    text = _Writer(tables, columns, rows).text()
    named = [tuple(map(_name, row.atoms)) for row in rows]
    return MergedText(
        texts=(text,),
        pairs=tuple((pair[0], pair[1]) for pair in named if len(pair) == 2),
        kept=tuple(pair[0] for row, pair in zip(rows, named, strict=True) if row.is_kept),
    )


def _columns(table: Table) -> list[_Column]:
    return [table.column(number) for number in range(len(table.head.cells))]


def _rows(table: Table, version: int, columns: Sequence[AtomTriple]) -> list[_Row]:
    numbers = [column.members[version] for column in columns]
    rows = (row.words + ("",) * len(table.head.cells) for row in table.rows)
    return [tuple(None if n is None else words[n] for n in numbers) for words in rows]


def _name(row: _Row) -> str:
    return " | ".join(cell or "" for cell in row)


def _merge_column(base: _Column | None, ours: _Column, theirs: _Column) -> tuple[_Column, ...]:
    headers = choices(base.header if base else ours.header, ours.header, theirs.header)
    if len(headers) > 1:
        raise TextProblem("bad-text", f"both sides renamed the column {base and base.header!r}")
    return (ours if ours.header == headers[0] else theirs,)


def _merge_row(base: _Row | None, ours: _Row, theirs: _Row) -> tuple[_Row, ...]:
    if base is not None and _is_changed(base, ours) and _is_changed(base, theirs):
        pairs = ((ours, theirs), (base, ours), (base, theirs))
        are_alike, *are_edits = (any(_shared(*pair)) for pair in pairs)
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


def _shared(old: _Row, new: _Row) -> Iterator[tuple[int, str]]:
    for number, (cell, other) in enumerate(zip(old, new, strict=True)):
        if cell and cell == other:
            yield number, cell


def _is_changed(old: _Row, new: _Row) -> bool:
    return any(
        cell is not None and cell != (before or "") for before, cell in zip(old, new, strict=True)
    )


def _likely_rows(old: Sequence[_Row], new: Sequence[_Row]) -> Iterable[Ranked]:
    cells = [{n: [*_shared(row, row)] for n, row in enumerate(rows)} for rows in (old, new)]
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
    is_changed=_is_changed,
)


class _Writer:
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
