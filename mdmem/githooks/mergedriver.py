"""`mdmem merge-driver BASE OURS THEIRS PATH`: merge a file for git by section and fact.

See gitattributes(5). The result is written to OURS. The exit status is 0, or 1 where git's own
merge of texts, made where this one fails for any reason, left conflicts. git takes any other status
for a crash, and gives up the whole merge.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mdmem.editors.merge3 import merging
from mdmem.folder import files, layout
from mdmem.model import FileKind
from mdmem.model.errors import MdmemError, TextProblem, number_of, outcome_of, plain, printable
from mdmem.repo.runner import run
from mdmem.startup.records import dataclass

_CONFLICT = 1
_MOST_NAMED = 5
_MOST_CONFLICTS = 127  # exit statuses of `git merge-file` up to this are a count; above, a failure
# variables by which git's own merge finds its settings (`merge.conflictStyle`)
_GIT_VARIABLES = ("GIT_CONFIG", "GIT_DIR", "GIT_WORK_TREE")
_GITHEAD_PREFIX = "GITHEAD_"  # `git merge` names each merged commit in a variable GITHEAD_ID=NAME


@dataclass(frozen=True, slots=True)
class Versions:
    """Files with the three versions; `ours` takes the result. `path` is that in the work tree."""

    base: Path
    ours: Path
    theirs: Path
    path: str


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[2:] if arguments is None else arguments
    if len(words) != 4:
        _print_line("git runs this: merge-driver BASE OURS THEIRS PATH")
        return _CONFLICT
    base, ours, theirs, path = words
    return _merge_versions(Versions(Path(base), Path(ours), Path(theirs), path))


def _merge_versions(versions: Versions) -> int:
    try:
        result = outcome_of(lambda: _merge_by_section(versions))
    except KeyboardInterrupt:
        result = MdmemError("interrupted", "interrupted")
    if isinstance(result, str):
        _print_line(f"{versions.path}: {result}" if result else "")
        return 0
    status = outcome_of(lambda: _merge_texts(versions))
    if isinstance(status, int):
        _print_line(f"{versions.path} is merged by lines: {_reason(result)}" if result else "")
        return status
    _print_line(f"{versions.path} is unchanged: {_reason(status)}")
    return _CONFLICT


def _reason(problem: Exception) -> str:
    return (
        plain(problem.message)
        if isinstance(problem, MdmemError)
        else f"{type(problem).__name__}: {problem}"
    )


def _merge_by_section(versions: Versions) -> str | None:
    """A line for the user, or an empty one; None for a kind of file not merged so."""
    base, ours, theirs = (_read(path) for path in (versions.base, versions.ours, versions.theirs))
    kind = kind_by_name(versions.path)
    merged = merging.merge3(base, ours, theirs, kind)
    if merged.data is None:
        if kind is FileKind.BOOTSTRAP:
            return None
        raise TextProblem("bad-text", merged.reason)
    if merged.data != ours:
        _write_atomically(versions.ours, merged.data)
    notes = merged.notes
    counts = (
        (notes.contradictions, "contradiction", "contradictions"),
        (notes.labels, "fact with two labels", "facts with two labels"),
        (notes.kept, "line kept that one side removed", "lines kept that one side removed"),
    )
    said = [number_of(len(facts), *nouns) for facts, *nouns in counts if facts]
    if notes.contradictions:
        said[0] = f"{said[0]}: {_pairs(notes.contradictions)}"
    return "; ".join(said)


def _pairs(contradictions: Sequence[merging.Contradiction]) -> str:
    pairs = [f"{first} {second}" for first, second, _ in contradictions]
    return ", ".join([*pairs[:_MOST_NAMED], *["…"] * (len(pairs) > _MOST_NAMED)])


def kind_by_name(path: str) -> FileKind:
    """The kind of a file by its path in a work tree, whose workspaces are not known."""
    if path.rpartition("/")[2] in layout.BOOTSTRAP_NAMES:
        return FileKind.BOOTSTRAP
    return FileKind.DAILY if layout.log_day(path) else FileKind.EVERGREEN


def _merge_texts(versions: Versions) -> int:
    """Merge as git merges texts. Raises TextProblem, with nothing changed, where git cannot."""
    passed_on = {
        name: value for name, value in os.environ.items() if name.startswith(_GIT_VARIABLES)
    }
    labels = [word for label in ("HEAD", "base", _name_of_theirs()) for word in ("-L", label)]
    paths = [str(path) for path in (versions.ours, versions.base, versions.theirs)]
    result = run(Path(), ["merge-file", "-p", *labels, "--", *paths], extra=passed_on)
    if not 0 <= result.status <= _MOST_CONFLICTS:
        raise TextProblem(
            "bad-text",
            result.error_text.partition("\n")[0] or f"git merge-file exited with {result.status}",
        )
    _write_atomically(versions.ours, result.output)
    return _CONFLICT if result.status else 0


def _name_of_theirs() -> str:
    # the name that `git merge` was given
    names = [
        value for name, value in os.environ.items() if name.startswith(_GITHEAD_PREFIX) and value
    ]
    return names[0] if len(names) == 1 else "theirs"


def _read(path: Path) -> bytes:
    """Raises MdmemError for a version that is no regular file or too large to edit."""
    data = files.read(Path(os.path.realpath(path)))
    if data is None:
        raise TextProblem("bad-text", f"no file {path}")
    return data


def _write_atomically(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all: git may read it whatever becomes of this process."""
    target = Path(os.path.realpath(path))
    new = target.with_name(files.temporary_name())
    try:
        new.write_bytes(data)
        new.chmod(target.stat().st_mode & 0o777)
        new.replace(target)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def _print_line(message: str) -> None:
    if message and sys.stderr is not None:
        with suppress(OSError):
            print(printable(f"mdmem: {message}", keep=""), file=sys.stderr)
