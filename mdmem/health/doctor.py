"""`mdmem doctor`: find problems around a workspace, and fix what can safely be fixed.

Each check is a generator of findings; one that fails is a finding itself and hides no other.
Nothing is changed without `fix`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from mdmem import secrets
from mdmem.health import contents, surroundings
from mdmem.health.inspection import Finding, Inspection, Level
from mdmem.index.indexer import SearchIndex
from mdmem.model.errors import MdmemError, as_failure
from mdmem.startup.records import replace
from mdmem.workspace import Workspace

HISTORY_SECONDS = 30.0  # for the search of history for secrets

_CHECKS: Mapping[str, Callable[[Inspection], Iterator[Finding]]] = {
    "git": surroundings.check_git,
    "settings": surroundings.check_settings,
    "identity": surroundings.check_identity,
    "repository": surroundings.check_repository,
    "locks": surroundings.check_locks,
    "fsck": surroundings.check_fsck,
    "hooks": surroundings.check_hooks,
    "merge-driver": surroundings.check_merge_driver,
    "sync": surroundings.check_sync,
    "state": contents.check_state,
    "record": contents.check_record,
    "temporary": contents.check_temporary,
    "versions": contents.check_versions,
    "index": contents.check_index,
    "files": contents.check_files,
    "secrets": contents.check_secrets,
    "history": contents.check_history,
    "signatures": contents.check_signatures,
    "adoption": surroundings.check_adoption,
    "projects": surroundings.check_projects,
    "agents": surroundings.check_agents,
    "hosts": surroundings.check_hosts,
    "server": surroundings.check_server,
    "events": contents.check_events,
}


def examine(
    workspace: Workspace,
    open_index: Callable[[], tuple[SearchIndex, bool]],
    rebuild_index: Callable[[bool], int],
    fix: bool = False,
    history_seconds: float = HISTORY_SECONDS,
) -> tuple[Finding, ...]:
    """Run all checks.

    `open_index` also returns whether the index is up to date; `rebuild_index` updates it, or (True)
    builds it from nothing, and returns the number of entries.
    """
    inspection = Inspection(
        workspace=workspace,
        open_index=open_index,
        rebuild_index=rebuild_index,
        fix=fix,
        history_seconds=history_seconds,
    )
    findings: list[Finding] = []
    for name in _CHECKS:
        findings += run_check(name, inspection)
        if name == "git" and exit_status(findings):  # no other check works without git
            break
    return tuple(findings)


def exit_status(findings: Sequence[Finding]) -> int:
    return (
        1 if any(finding.level is Level.ERROR and not finding.fixed for finding in findings) else 0
    )


def run_check(name: str, inspection: Inspection) -> list[Finding]:
    findings: list[Finding] = []
    try:
        for finding in _CHECKS[name](inspection):
            findings.append(finding)
    except (MdmemError, OSError) as problem:
        failure = as_failure(problem)
        findings.append(
            Finding(
                check=name, level=Level.ERROR, message=failure.message, hint=failure.marked_hint
            )
        )
    return [_without_secrets(finding) for finding in findings]


def _without_secrets(finding: Finding) -> Finding:
    """A finding to show: it may quote an environment variable, a setting or a URL."""
    message, hint = map(secrets.redact, (finding.message, finding.hint))
    return replace(finding, message=message, hint=hint)


__all__ = [
    "HISTORY_SECONDS",
    "Finding",
    "Inspection",
    "Level",
    "examine",
    "exit_status",
    "run_check",
]
