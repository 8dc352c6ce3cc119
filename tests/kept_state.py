"""Have the state in a copied folder count as this user's, as that in the first folder does."""

import os
from pathlib import Path

from mdmem.folder.config import user_state_folder
from mdmem.workspace import state


def keep_state(folder: Path) -> Path:
    """List the states of the copied repositories in a folder; return the folder."""
    lists = user_state_folder(os.environ)
    assert lists is not None
    for git_folder in (folder / ".git", *folder.glob("*/.git"), *folder.glob(".git/worktrees/*")):
        home = git_folder / state.HOME_NAME
        if (home / "id").is_file():
            lists.mkdir(parents=True, exist_ok=True)
            with (lists / "state-ids").open("ab") as file:
                file.write(b" ".join(state.marks((home / "id").read_bytes(), home)) + b"\n")
    return folder
