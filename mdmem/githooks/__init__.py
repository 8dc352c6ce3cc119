"""Run git's hooks: `python -m mdmem.githooks pre-commit`, `prepare-commit-msg FILE`, ….

`catch-up FOLDER` updates an index, `sync FOLDER` syncs, `sync-later FOLDER` after a quiet moment.
The launcher comes first: it may need no more.
"""

from mdmem.warm.launcher import enter


def start() -> None:
    enter("mdmem.githooks.hooks")
