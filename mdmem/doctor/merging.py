"""Checks of how git merges memory files: the driver's settings, and the attributes naming it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from mdmem.doctor.inspection import Finding, Inspection, Level
from mdmem.merge import setup as merge_setup
from mdmem.merge.setup import MergeSetup
from mdmem.wording import verb

_MOST_NAMED = 3
_MISSING, _BROKEN = "merge-driver-missing", "merge-driver-broken"


def check_merge_driver(inspection: Inspection) -> Iterator[Finding]:
    """A merge driver that is missing or does not run: git then silently merges by lines."""
    setup = merge_setup.inspect(inspection.workspace)
    if setup.state != "installed":
        yield _fixed(inspection, setup) if inspection.fix else _problem(setup)
        return
    yield Finding(
        check="merge-driver", level=Level.OK, message="memory files are merged by section and fact"
    )
    if setup.elsewhere:
        named = ", ".join(f"{path} ({value})" for path, value in setup.elsewhere[:_MOST_NAMED])
        more = (
            f" and {len(setup.elsewhere) - _MOST_NAMED} more"
            if len(setup.elsewhere) > _MOST_NAMED
            else ""
        )
        yield Finding(
            check="merge-driver",
            level=Level.NOTE,
            message=f"other attributes control how these are merged: {named}{more}",
        )


def _fixed(inspection: Inspection, setup: MergeSetup) -> Finding:
    with inspection.locked():
        merge_setup.install(inspection.workspace, sys.executable)
    problem = _problem(setup)
    return Finding(
        check=problem.check,
        level=problem.level,
        message=f"installed ({problem.message})",
        fixed=True,
    )


def _problem(setup: MergeSetup) -> Finding:
    if setup.command is None and setup.named:
        message = (
            "attributes name the driver mdmem, which git's settings here do not define: git"
            " silently merges memory by lines"
        )
    elif setup.command is None:
        message = "git merges memory by lines: two branches that write on one day conflict"
    elif not setup.works:
        message = f"the merge driver is gone, fails, or is not mdmem: {setup.command}"
    else:
        message = (
            "no attributes name the merge driver for some memory files: git merges these by lines"
        )
    broken = setup.command is not None and not setup.works
    return Finding(
        check=_BROKEN if broken else _MISSING,
        level=Level.WARNING,
        message=message,
        hint=f"To install it: {verb('doctor', 'fix')}",
    )
