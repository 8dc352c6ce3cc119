"""`mdmem`, and `python -m mdmem`, as a process: one command, and out."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_LITTER = 50_000
"""So many new objects before cycles among them are looked for. By default that is done a dozen times while modules are loaded, for nothing."""


def run() -> NoReturn:
    """Run the command that the words of this process ask for, and leave without taking the interpreter apart, which takes some 6 ms."""
    gc.set_threshold(_LITTER)
    from mdmem.cli import main  # here, so that loading it is not looked through either

    status = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    run()
