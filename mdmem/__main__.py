"""`mdmem`, and `python -m mdmem`, as a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from mdmem.startup import late
from mdmem.startup.launch import launch

if TYPE_CHECKING:
    from mdmem import cli
else:
    cli = late.module("mdmem.cli")


def run() -> NoReturn:
    """Run the command line of this process, and leave."""
    launch(lambda: cli.main())


if __name__ == "__main__":
    run()
