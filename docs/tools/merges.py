"""The examples of docs/merging.md, merged for real: `make docs` writes down what comes out, a test
holds that it is current.

An example is four blocks in a row, which say in their first line what they are: the base, one side,
the other, and what is merged of them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from mdmem.editors.merge3.merging import merge3

PAGE = Path(__file__).parents[1] / "merging.md"
_NAMES = ("base", "one side", "the other", "merged")
_EXAMPLE = re.compile(r"\s*".join(rf"```markdown {name}\n(.*?)```\n" for name in _NAMES), re.DOTALL)


def examples(page: str) -> Iterator[tuple[str, str, str, str]]:
    """The texts of each example: base, one side, the other, merged."""
    for match in _EXAMPLE.finditer(page):
        base, ours, theirs, merged = match.groups()
        yield base, ours, theirs, merged


def merged_text(base: str, ours: str, theirs: str) -> str:
    """Merge the texts of an example; the result is empty where a person has to."""
    data = merge3(base.encode(), ours.encode(), theirs.encode()).data
    return "" if data is None else data.decode()


def replayed(page: str) -> str:
    """The page with its examples merged anew."""

    def merged(match: re.Match[str]) -> str:
        start, end = match.start(4) - match.start(), match.end(4) - match.start()
        return match[0][:start] + merged_text(match[1], match[2], match[3]) + match[0][end:]

    return _EXAMPLE.sub(merged, page)


if __name__ == "__main__":
    PAGE.write_text(replayed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
