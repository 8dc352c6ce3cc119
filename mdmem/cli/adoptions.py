"""`init --found` and `init --leave`: which workspaces agents are given."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from mdmem import memory
from mdmem.cli.call import Answer, Call
from mdmem.cli.progress import count, shown
from mdmem.errors import UsageProblem
from mdmem.model.reads import FoundWorkspace
from mdmem.show import maintenance


def leave(folder: str | None) -> Answer:
    """Adopt a workspace no longer."""
    root = Path(folder or os.environ.get("MDMEM_WORKSPACE") or ".").resolve()
    was_listed = memory.leave(root, os.environ)
    text = f"Left {root}: agents are no longer given it" if was_listed else f"{root} was not adopted"
    return Answer({"workspace": str(root), "left": was_listed}, text)


def find(call: Call, yes: bool) -> Answer:
    """List the user's workspaces that are not adopted, and adopt those that they choose."""
    is_silent = call.as_json or call.quiet
    with nullcontext() if is_silent else shown("init"):
        found = memory.find_unadopted(os.environ, None if is_silent else count)
    own = [workspace for workspace in found if workspace.own]
    chosen: Sequence[FoundWorkspace] = own if yes else ()
    if own and not yes and not call.as_json and sys.stdin.isatty():
        chosen = _choose(own)
    if chosen or yes:
        memory.adopt_found(chosen, os.environ)
    adopted = {workspace.path for workspace in chosen}
    notes = [] if found else ["No other workspace was found below your home."]
    if own and not chosen:
        notes.append("To adopt those with your own changes: mdmem init --found --yes")
    return Answer(
        maintenance.found_json(found, adopted),
        maintenance.found_text(found, adopted),
        notes,
    )


def _choose(workspaces: Sequence[FoundWorkspace]) -> Sequence[FoundWorkspace]:
    """Ask the user which ones; the end of input interrupts the command."""
    for number, workspace in enumerate(workspaces, 1):
        print(f"{number}. {maintenance.found_line(workspace)}", file=sys.stderr)
    print("Adopt which? [numbers, all, none]: ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise KeyboardInterrupt
    words = answer.replace(",", " ").casefold().split()
    if words in ([], ["none"]):
        return ()
    if words == ["all"]:
        return workspaces
    numbered = {str(number): workspace for number, workspace in enumerate(workspaces, 1)}
    if unknown := [word for word in words if word not in numbered]:
        raise UsageProblem(f"No number {unknown[0]} in the list.")
    return [numbered[word] for word in dict.fromkeys(words)]
