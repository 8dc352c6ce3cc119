"""Vectors of texts by the user's own model: off by default, and only a help to words.

`source` asks an endpoint or a command, `store` keeps vectors by text, `fill` embeds what has none.
"""

from __future__ import annotations

from types import ModuleType

from mdmem.folder.config import Settings


def filling(settings: Settings) -> ModuleType | None:
    """`vectors.fill`; None where vectors are off."""
    if settings.vectors == "off":
        return None
    from mdmem.vectors import fill  # noqa: PLC0415 - with the model step

    return fill
