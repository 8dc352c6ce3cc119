"""`mdmem`, and `python -m mdmem`, as a process. The launcher comes first: it may need no more."""

import sys

from mdmem.warm.launcher import enter

TYPE_CHECKING = False  # `typing` takes 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable

# called by hosts at each prompt, and by git for each merged file: they bypass the command line, so
# that no wrong argument stops a session or a merge
_DIRECT_COMMANDS = {"agent-hook": "mdmem.agenthooks", "merge-driver": "mdmem.githooks.mergedriver"}


def run(at_end: "Callable[[], None] | None" = None) -> None:
    """Run the command line of this process, and leave."""
    # 6 ms that a launcher is spared
    from importlib import import_module  # noqa: PLC0415

    name = (
        _DIRECT_COMMANDS.get(sys.argv[1])
        if len(sys.argv) > 1 and "--help" not in sys.argv
        else None
    )

    def main() -> int:
        if len(sys.argv) == 1 and sys.stdin is not None and not sys.stdin.isatty():
            # a host that runs the first word of its hook's command alone
            shapes = import_module("mdmem.hook_shapes")
            event = shapes.parse_event(shapes.lost_input())
            if event is None or event.called:
                return int(import_module("mdmem.agenthooks").reply(event))
        return int(import_module(name or "mdmem.cli").main())

    import_module("mdmem.startup.launch").launch(main, at_end)


if __name__ == "__main__":
    enter()
