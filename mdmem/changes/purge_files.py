"""A purge of files: those of a work tree, and mdmem's own state."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from mdmem import events, files, write_ahead
from mdmem.changes.purge_target import PurgeTarget, purge_rules, purged_message, purged_text
from mdmem.errors import RepositoryProblem
from mdmem.layout import MAX_FILE_BYTES, is_markdown
from mdmem.repo import Repository, ref_rewrite
from mdmem.wording import verb

_TRIES = 50
_LOCK_SECONDS = 30.0
_STATE = "mdmem"
_KEPT_STATE = (files.LOCK_NAME, write_ahead.RECORD_NAME, "workspace")


def files_holding(root: Path, paths: Sequence[str], target: PurgeTarget) -> Iterator[tuple[Path, bytes | None]]:
    """The files of a folder that hold the target, with their bytes; None where they cannot be rewritten."""
    rules = purge_rules(target)
    for path in paths:
        full_path = root / path
        try:
            status = full_path.lstat()
            if not stat.S_ISREG(status.st_mode):
                continue
            data = full_path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            yield full_path, None
            continue
        if rules.binary(data):
            yield full_path, None
        elif purged_text(target, data, is_markdown(path)) != data:
            yield full_path, data if status.st_size <= MAX_FILE_BYTES else None


def purge_file(full_path: Path, target: PurgeTarget) -> None:
    """Rewrite one file without the target, whatever else it holds by now.

    Raises:
        RepositoryProblem: `busy`.
    """
    for _ in range(_TRIES):
        data = files.read(full_path)
        if data is None:
            return
        after = purged_text(target, data, is_markdown(full_path.name))
        if after == data or files.replace(full_path, after, data, files.temporary_name()):
            return
    raise RepositoryProblem("busy", "another program keeps saving a file that contains the text", "Close it there and purge again.")


def require_no_record(repository: Repository, state: Path, target: PurgeTarget) -> None:
    """Refuse while another workspace has an unfinished write whose commit would bring the target back.

    That of the workspace with the folder `state` is settled already.

    Raises:
        RepositoryProblem: `repository-busy`.
    """
    for folder in _state_folders(repository):
        record = write_ahead.load_record(folder) if folder.resolve() != state.resolve() else None
        if record is None:
            continue
        message = record.message.encode("utf-8", "replace")
        if purged_message(target, message) != message:
            raise RepositoryProblem(
                "repository-busy",
                "another workspace here has an unfinished write that contains the text",
                f"To finish it, run {verb('save')} there.",
            )


def empty_state(repository: Repository, target: PurgeTarget, kept: Collection[str]) -> None:
    """Remove the index and every other cache, to be built again from the files and from history; locks, records and events stay.

    Files with the names `kept` stay too, unless they hold the target.
    """
    for state in _state_folders(repository):
        with ExitStack() as locks:
            for name in (files.MESSAGES_LOCK, files.INDEX_LOCK, files.TRAIL_LOCK):
                locks.enter_context(files.lock(state / name, _LOCK_SECONDS))
            for path in state.iterdir():
                if path.name in _KEPT_STATE or path.suffix == ".lock":
                    continue
                if path.is_dir():
                    shutil.rmtree(path)
                elif not (path.name in kept or path.match("*.tmp") or path.match("events*.jsonl")) or _may_hold(path.read_bytes(), target):
                    path.unlink(missing_ok=True)


def _state_folders(repository: Repository) -> list[Path]:
    """The state folder of every workspace in every work tree."""
    return [folder for top in ref_rewrite.git_folders(repository) for folder in sorted((top / _STATE).glob("*")) if folder.is_dir()]


def _may_hold(data: bytes, target: PurgeTarget) -> bool:
    """True if a file of the state folder may hold the target; a query in the events, which is escaped and cut, always may."""
    return purge_rules(target).holds(data) or events.holds_queries(data)
