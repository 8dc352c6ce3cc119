"""`mdmem`, and `python -m mdmem`, as a process."""

from __future__ import annotations

from mdmem.once import once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def run() -> NoReturn:
    """Run the command that the words of this process ask for, and leave."""
    once(_command)


def _command() -> int:
    from mdmem.cli import main  # here, so that it is loaded by a process that knows that it will soon be over

    return main()


if __name__ == "__main__":
    run()
