"""`init --shared`: commit the attributes by which git merges memory files with mdmem, so that every clone has them."""

from __future__ import annotations

from mdmem import files, merge_setup, repo
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.model import CommitId
from mdmem.repo import commits
from mdmem.workspace import Workspace

_MESSAGE = """mdmem: memory files are merged by section and fact

Mdmem-Op: init
Mdmem-Source: user-stated
"""


def share(workspace: Workspace) -> CommitId | None:
    """Put the lines of the workspace into .gitattributes, in a commit of its own; None where they stand there already.

    Raises:
        MdmemError: git cannot take the commit now, or the file has edits that are in no commit; nothing is changed then.
    """
    repository, settings, path = workspace.repository, workspace.settings, merge_setup.SHARED_PATH
    with files.lock(workspace.state / files.LOCK_NAME, settings.lock_timeout):
        full_path = files.path_on_disk(workspace.root, path)
        before, data = files.read(full_path), merge_setup.shared_text(workspace).encode("utf-8", "surrogateescape")
        state = repository.state(path)
        if state.pending:
            raise RepositoryProblem("pending-edits", f"{path} has uncommitted edits", "Commit them first.")
        if state.ignored:
            raise PathProblem("ignored-path", f"{path} is ignored by .gitignore", "Remove the rule.")
        if data == before:
            merge_setup.drop_own_lines(workspace)
            return None
        repository.require_ready(settings.allow_detached, state.branch)
        order = commits.CommitOrder(
            paths=[path],
            message=_MESSAGE,
            date=repo.raw_date(workspace.now()),
            hook_timeout=settings.hook_timeout,
            identity=workspace.identity(),
        )
        if not files.replace(full_path, data, before, files.temporary_name()):
            raise RepositoryProblem("busy", f"{path} was changed meanwhile", "Try again.")
        try:
            commit = commits.commit(repository, order).id
        except BaseException:
            if before is None:
                full_path.unlink()
            else:
                files.replace(full_path, before, data, files.temporary_name())
            raise
    merge_setup.drop_own_lines(workspace)
    return commit
