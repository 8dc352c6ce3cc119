"""Texts with one block that two sides edited: for properties of merges."""

from __future__ import annotations

from hypothesis import strategies as st

_WORDS = [f"{first}{second}" for first in "bdfgk" for second in ("ark", "ell", "ill")]
words = st.sampled_from(_WORDS)


@st.composite
def edited_lists(
    draw: st.DrawFn, atoms: st.SearchStrategy[str], is_unique: bool = True
) -> tuple[list[str], ...]:
    """A list of (different) atoms, and two edits of it: changed, added, removed and moved ones."""
    base = draw(st.lists(atoms, min_size=1, max_size=5, unique=is_unique))
    sides = []
    for _ in range(2):
        side = list(base)
        for edit in draw(
            st.lists(st.sampled_from(("change", "add", "remove", "move")), max_size=3)
        ):
            place = draw(st.integers(0, max(0, len(side) - 1)))
            if edit == "add" or not side:
                side.insert(place, draw(atoms))
            elif edit == "change":
                side[place] = draw(atoms)
            else:
                atom = side.pop(place)
                if edit == "move":
                    side.insert(draw(st.integers(0, len(side))), atom)
        sides.append(list(dict.fromkeys(side)) if is_unique else side)
    return base, *sides
