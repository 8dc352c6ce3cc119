"""The form of three texts: how their lines end, and whether a byte order mark stands first."""

from __future__ import annotations

from mdmem.document import BOM, parse, with_line_end
from mdmem.editors.merge3.values import choices
from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class TextForm:
    """The line ends of a merge (`read`: in the texts that are merged, `written`: in the result), and the byte order mark of the result.

    `read` is empty where the lines of one text end differently: each keeps its own.
    """

    read: str
    written: str
    bom: str

    @classmethod
    def of(cls, *texts: str) -> TextForm:
        """The form of a base and two sides."""
        boms = [BOM if text.startswith(BOM) else "" for text in texts]
        ends = [_line_end(text) for text in texts]
        bom = max(choices(*boms))
        if "" in ends:  # lines of one text end differently: each keeps its own
            most = [parse(text).line_end for text in texts if text]
            return cls("", max(most, key=lambda end: (most.count(end), end)), bom)
        base, *sides = ends
        sides = [end for end in sides if end]
        if not sides:
            return cls("\n", base or "\n", bom)
        written = sides if base is None else choices(base, sides[0], sides[-1])
        return cls("\n", max(end for end in written if end), bom)

    def normal(self, text: str) -> str:
        """A text as it is merged."""
        text = text.removeprefix(BOM)
        return with_line_end(text, self.read) if self.read else text

    @property
    def line_end(self) -> str:
        """The line end for what the merge itself puts in."""
        return self.read or self.written

    def final(self, text: str) -> str:
        """A merged text as it is written."""
        return self.bom + (with_line_end(text, self.written) if self.read else text)


def _line_end(text: str) -> str | None:
    """The line end of all lines of a text; empty where they differ, None where none has an end."""
    if "\r" not in text:
        return "\n" if "\n" in text else None
    both, returns, feeds = text.count("\r\n"), text.count("\r"), text.count("\n")
    if both == returns == feeds:
        return "\r\n"
    return "\r" if not feeds else ""
