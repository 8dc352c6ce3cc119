"""The commit with which history begins where git cannot give what is older: a partial clone whose remote is out of reach."""

from __future__ import annotations

from contextlib import suppress

from mdmem import files
from mdmem.model import CommitId
from mdmem.workspace import BOUNDARY_NAME, Workspace


def is_partial(workspace: Workspace) -> bool:
    """True in a partial clone, which asks its remote for objects when it needs them."""
    promises = r"^(remote\..*\.promisor|extensions\.partialclone)$"
    return workspace.repository.run("config", "--get-regexp", promises).status == 0


def set_boundary(workspace: Workspace, commit: CommitId) -> None:
    """Let history begin with a commit.

    Raises:
        OSError: the state folder cannot be written.
    """
    workspace.ensure_state()
    new = workspace.state / files.temporary_name()
    files.write_durably(new, f"{commit}\n".encode())
    new.replace(workspace.state / BOUNDARY_NAME)


def forget_boundary(workspace: Workspace) -> None:
    """Let history be read again from its beginning."""
    with suppress(OSError):
        (workspace.state / BOUNDARY_NAME).unlink()


def forget_boundary_if_fetched(workspace: Workspace) -> None:
    """Let history be read again from its beginning if git has fetched something since that failed."""
    boundary = files.stamp(f"{workspace.state}/{BOUNDARY_NAME}")
    fetched = files.stamp(f"{workspace.repository.git_dir}/FETCH_HEAD")
    if boundary and fetched and fetched[0] > boundary[0]:
        forget_boundary(workspace)
