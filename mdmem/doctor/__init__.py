"""`mdmem doctor`: what may be wrong around a workspace, check by check, and what of it can be mended without a risk.

Each check is a generator of findings. One that cannot be made is a finding itself and hides no other. Without `fix` nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from mdmem.doctor import contents, repository, state
from mdmem.doctor.inspection import Finding, Inspection, Level
from mdmem.errors import MdmemError
from mdmem.search.indexer import SearchIndex
from mdmem.workspace import Workspace

HISTORY_SECONDS = 30.0
"""How long history is searched for secrets."""

_CHECKS: Mapping[str, Callable[[Inspection], Iterator[Finding]]] = {
    "git": repository.check_git,
    "settings": repository.check_settings,
    "identity": repository.check_identity,
    "repository": repository.check_repository,
    "locks": repository.check_locks,
    "fsck": repository.check_fsck,
    "hooks": repository.check_hooks,
    "state": state.check_state,
    "record": state.check_record,
    "temporary": state.check_temporary,
    "versions": state.check_versions,
    "index": state.check_index,
    "files": contents.check_files,
    "secrets": contents.check_secrets,
    "history": contents.check_history,
    "events": state.check_events,
}


def examine(
    workspace: Workspace,
    look: Callable[[], tuple[SearchIndex, bool]],
    rebuild: Callable[[bool], int],
    fix: bool = False,
    history_seconds: float = HISTORY_SECONDS,
) -> tuple[Finding, ...]:
    """Everything that is known to go wrong, looked at.

    Args:
        workspace: what is examined.
        look: opens the index as it is, and says whether it has seen everything that is there.
        rebuild: brings the index up to date, or (True) builds it anew; the number of entries.
        fix: whether to mend what can safely be mended.
        history_seconds: how long history is searched for secrets.
    """
    case = Inspection(workspace=workspace, open_index=look, rebuild_index=rebuild, fix=fix, history_seconds=history_seconds)
    found: list[Finding] = []
    for name in _CHECKS:
        found += run_check(name, case)
        if name == "git" and exit_status(found):  # without it no other check can be made
            break
    return tuple(found)


def exit_status(findings: Sequence[Finding]) -> int:
    """1 where an error remains."""
    return 1 if any(finding.level is Level.ERROR and not finding.fixed for finding in findings) else 0


def run_check(name: str, case: Inspection) -> list[Finding]:
    """The findings of a check; that it could not be made (to its end) is one."""
    found: list[Finding] = []
    try:
        for finding in _CHECKS[name](case):
            found.append(finding)
    except MdmemError as problem:
        found.append(Finding(check=name, level=Level.ERROR, message=problem.message, hint=problem.hint))
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        found.append(Finding(check=name, level=Level.ERROR, message=f"{problem.strerror or problem}{where}"))
    return found


__all__ = ["HISTORY_SECONDS", "Finding", "Inspection", "Level", "examine", "exit_status", "run_check"]
