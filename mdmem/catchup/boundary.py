"""The commit with which history begins where a partial clone lacks what is older."""

from __future__ import annotations

from contextlib import suppress

from mdmem.folder import files
from mdmem.model import CommitId
from mdmem.workspace import BOUNDARY_NAME, Workspace


def is_partial(workspace: Workspace) -> bool:
    """True in a partial clone, whose remote has objects that it lacks."""
    promises = r"^(remote\..*\.promisor|extensions\.partialclone)$"
    return workspace.repository.run("config", "--get-regexp", promises).status == 0


def set_boundary(workspace: Workspace, commit: CommitId) -> None:
    """Let history begin with a commit. Raises OSError where the state folder is read-only."""
    workspace.ensure_state()
    new = workspace.state / files.temporary_name()
    files.write_durably(new, f"{commit}\n".encode())
    new.replace(workspace.state / BOUNDARY_NAME)


def forget_boundary(workspace: Workspace) -> None:
    """Let history be read again from its beginning."""
    with suppress(OSError):
        (workspace.state / BOUNDARY_NAME).unlink()
