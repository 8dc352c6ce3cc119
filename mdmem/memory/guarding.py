"""What git's hooks need: a commit judged, its refusal recorded, and whether hooks may be installed."""

from __future__ import annotations

import sys

from mdmem import check, config, hookfiles, layout, repo
from mdmem.memory.workspace import Workspace, is_marked, open_at
from mdmem.model import FilePath, Problem
from mdmem.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdmem.paths import Path


def staged_problems(folder: Path, environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """What is wrong with the staged changes of memory files, in every workspace of the repository that `folder` is in.

    Args:
        folder: anywhere in the work tree.
        environment: a hook's, which may name the index that is being committed (`GIT_INDEX_FILE`).
    """
    repository = repo.discover(folder)
    problems: list[Problem] = []
    settings: dict[Path, config.Settings] = {}
    for staged in repository.staged(environment.get("GIT_INDEX_FILE")):
        root = _workspace_of(repository.root, staged.path)
        if root is None:
            continue
        if root not in settings:
            settings[root] = open_at(root).settings
        path = FilePath(str((repository.root / staged.path).relative_to(root)))
        kind = layout.kind_of(path, root.name, settings[root].extra_paths)
        renamed = str(staged.renamed_from) if staged.renamed_from else None
        found = check.check(path, staged.before, staged.after, kind, settings[root], renamed)
        problems += [replace(p, path=staged.path) for p in found]
    return tuple(problems)


def record_refusal(folder: Path, refused: Sequence[Problem], seconds: float) -> None:
    """Add to the events of each workspace that its commit was refused.

    Args:
        folder: anywhere in the work tree.
        refused: what stood in the way; paths as `staged_problems` gives them.
        seconds: how long it took to find out.
    """
    from mdmem import events  # here, so that a commit that is not refused does not pay for loading it

    repository = repo.discover(folder)
    codes: dict[Path, str] = {}
    for problem in refused:
        root = _workspace_of(repository.root, FilePath(problem.path))
        if root is not None:
            codes.setdefault(root, problem.code)
    for root, code in codes.items():
        events.record(open_at(root).state, events.Event("pre-commit", round(seconds * 1000, 1), events.Outcome.REFUSED, code))


def _workspace_of(root: Path, path: FilePath) -> Path | None:
    return next((folder for folder in (root / path).parents if folder.is_relative_to(root) and is_marked(folder)), None)


def require_hooks_free(workspace: Workspace) -> None:
    """Refuse where git looks for hooks elsewhere.

    Raises:
        RepositoryProblem: `hooks-managed`, with the lines to add by hand.
    """
    elsewhere = workspace.repository.setting("core.hooksPath")
    if elsewhere is not None:
        raise hookfiles.managed(f"core.hooksPath is set ({elsewhere}), so hooks are managed elsewhere", "Add there", sys.executable)
