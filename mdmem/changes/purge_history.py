"""Forgetting for real: a text taken out of the files, git's index, everything reachable in history, and mdmem's own state.

What goes: in Markdown, a list item whose fact has the given id, as whole lines (marker, continuation lines). In every other place of
every text file and message the words themselves, which become `[PURGED]`: as given, in NFC and NFD, and wherever only the white space
between them differs, line ends included (a last `(until …)` does not count; the `>` of a quote and, in messages, the `+` and `-` of quoted
lines count as white space). Messages lose quoted lines that are that fact, and the beginning of the words where it was cut short with `…`, too.
"""

from __future__ import annotations

import re
import shutil
import stat
import time
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from mdmem import events, facts, files
from mdmem.document import parse_bytes
from mdmem.errors import FactProblem, PathProblem, RepositoryProblem, TextProblem
from mdmem.layout import MAX_FILE_BYTES, is_markdown
from mdmem.model import CommitId, FactId
from mdmem.repo import Identity, Repository, history_rewrite, ref_rewrite
from mdmem.repo.history_rewrite import LinkedWorktree, RewriteRules, RewrittenHistory
from mdmem.repo.objects import Objects, git
from mdmem.startup.records import dataclass
from mdmem.wording import verb

PURGED_MARK = "[PURGED]"
_LEAST = 4
_LEAST_CUT = 12
"""The beginning of the words that is still looked for before a `…`."""
_MANY_FILES = 100
_TRIES = 50
_LOCK_SECONDS = 30.0
_STATE = "mdmem"
_KEPT_STATE = (files.LOCK_NAME, files.RECORD_NAME, "workspace")
_TRAILER = "Mdmem-Op: purge"
_SQUEEZED = re.compile(r"[\s*_\\]+")
_QUOTED_LINE = re.compile(r"(?m)^([-+] )(\S.*)$")
_BLANK = rb"(?:[\t\x0b\x0c\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
"""A white space character in UTF-8 (what str.split() splits at), line ends aside."""


@dataclass(frozen=True, slots=True)
class PurgeTarget:
    """What is to go: the words as patterns of UTF-8, and the fact."""

    words: str
    fact: FactId | None
    in_text: re.Pattern[bytes]
    in_message: re.Pattern[bytes]
    binary: tuple[bytes, ...]
    anchor: bytes
    squeezed: str


def purge_target(words: str, fact: FactId | None) -> PurgeTarget:
    """What words and a fact's id mean.

    Raises:
        TextProblem: `bad-text`: too short, or not to be told from the mark that takes their place.
    """
    said = facts.UNTIL.sub("", words).strip()
    if len("".join(said.split())) < _LEAST:
        raise TextProblem("bad-text", f"to purge {_LEAST} characters at least are needed: fewer would tear up too much", "Give more words.")
    if _overlaps(said):
        raise TextProblem(
            "bad-text", f"the words cannot be told from the {PURGED_MARK} that takes their place", "Give more words, or fewer."
        )
    core = facts.normalise(said)
    return PurgeTarget(
        said,
        fact,
        _pattern(said, rb">"),
        _pattern(said, rb"[-+>]"),
        tuple(form.encode(code) for form in _forms(said) for code in ("utf-8", "utf-16-le", "utf-16-be")),
        max(re.findall(rb"[a-z0-9]+", core.encode()), key=len, default=b""),
        _SQUEEZED.sub("", core),
    )


def _overlaps(words: str) -> bool:
    """Whether the mark beside other text could make up the words again, so that there would be no end to it."""
    ends = range(1, len(PURGED_MARK))
    return words in PURGED_MARK or any(words.startswith(PURGED_MARK[-n:]) or words.endswith(PURGED_MARK[:n]) for n in ends)


def _forms(words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((words, unicodedata.normalize("NFC", words), unicodedata.normalize("NFD", words))))


def _pattern(words: str, quoting: bytes) -> re.Pattern[bytes]:
    """The words in UTF-8, each character composed or not, with any white space between them; after a line end `quoting` may stand."""
    gap = rb"(?:%b*[\r\n](?:%b|[\r\n]|%b(?=%b|[\r\n]))*|%b+)" % (_BLANK, _BLANK, quoting, _BLANK, _BLANK)
    exact = gap.join(re.escape(word.encode()) for word in words.split())
    folded = gap.join(_either(word) for word in words.split())
    return re.compile(exact if exact == folded else exact + rb"|" + folded)


def _either(word: str) -> bytes:
    """A word of which each character may stand in NFC or in NFD."""
    clusters: list[str] = []
    for character in unicodedata.normalize("NFC", word):
        if clusters and unicodedata.combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    spelled = [[re.escape(form.encode()) for form in _forms(cluster)] for cluster in clusters]
    return b"".join(forms[0] if len(forms) == 1 else rb"(?:" + rb"|".join(forms) + rb")" for forms in spelled)


# Bytes -> bytes.


def purged_text(what: PurgeTarget, data: bytes, markdown: bool) -> bytes:
    """The bytes of a text file without it. Every line that does not hold it stays as it is; a second time changes nothing."""
    if b"\0" in data:
        return data
    while True:
        new = what.in_text.sub(PURGED_MARK.encode(), _without_items(what, data) if markdown else data)
        if new == data:
            return data
        data = new


def _without_items(what: PurgeTarget, data: bytes) -> bytes:
    if not _may_state(what, data):
        return data
    try:
        document = parse_bytes(data)
    except PathProblem:
        return data  # no facts are read from such a file
    gone = {line for item in facts.items(document) if item.fact.id == what.fact for line in range(item.start, item.end)}
    return (document.bom + "".join(line for number, line in enumerate(document.lines) if number not in gone)).encode()


def _may_state(what: PurgeTarget, data: bytes) -> bool:
    """Whether a parse could find the fact: parsing every version of every file would take too long."""
    if what.fact is None:
        return False
    if data.isascii():
        return what.anchor in data.lower()
    return what.squeezed in _SQUEEZED.sub("", facts.normalise(data.decode("utf-8", "replace")))


def purged_message(what: PurgeTarget, data: bytes) -> bytes:
    """The bytes of a commit's or a tag's message without it; a second time changes nothing."""
    while True:
        text = what.in_message.sub(PURGED_MARK.encode(), data).decode("utf-8", "surrogateescape")
        if what.fact is not None:
            text = _QUOTED_LINE.sub(lambda line: f"{line[1]}{PURGED_MARK}" if facts.parse_item(line[2]).id == what.fact else line[0], text)
        new = _without_cut(what, text).encode("utf-8", "surrogateescape")
        if new == data:
            return data
        data = new


def _without_cut(what: PurgeTarget, text: str) -> str:
    """`text` without the beginnings of the words that end in `…`, as mdmem shortens what it quotes."""
    if "…" not in text:
        return text
    *begun, last = text.split("…")
    return "…".join([*(_without_beginning(what, part) for part in begun), last])


def _without_beginning(what: PurgeTarget, text: str) -> str:
    for form in _forms(" ".join(what.words.split())):
        for length in range(len(form), _LEAST_CUT - 1, -1):
            if text.endswith(form[:length]):
                return text[: len(text) - length] + PURGED_MARK
    return text


def purge_rules(what: PurgeTarget) -> RewriteRules:
    """What happens to bytes, for the rewriting of history."""
    return RewriteRules(
        blob=lambda data, markdown: purged_text(what, data, markdown),
        message=lambda data: purged_message(what, data),
        holds=lambda data: what.in_text.search(data) is not None,
        binary=lambda data: b"\0" in data and any(form in data for form in what.binary),
    )


# The plan.


@dataclass(frozen=True, slots=True)
class PurgeScope:
    """Where a purge takes place: the repository, the state folder of the workspace at work, its memory files wherever they are."""

    repository: Repository
    state: Path
    memory: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """What a purge changes, in numbers, and what it cannot reach or has to drop, in sentences. The words are nowhere in it.

    `files` on disk, `commits` that get another id, of which `messages` (tags' included) change; `tags` made anew; `refs` that move;
    `loose` objects to which nothing but a reflog leads, looked for where nothing else was found.
    """

    files: int
    commits: int
    messages: int
    tags: int
    refs: int
    signatures: int
    loose: int
    notices: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether there is anything to purge in what can be reached."""
        return bool(self.files or self.commits or self.tags or self.refs or self.loose)


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """What was done; `commit` is the note that says so, None on an unborn branch. `notices` is the plan's and what is still left."""

    plan: PurgePlan
    commit: CommitId | None
    notices: tuple[str, ...]


def plan_rewrite(scope: PurgeScope, words: str, fact: FactId | None) -> PurgePlan:
    """What a purge would do; changes nothing.

    Raises:
        TextProblem: `bad-text`. FactProblem: `fact-not-found`. RepositoryProblem: `cannot-purge`, or git failed.
    """
    return _draw_up(scope, purge_target(words, fact), Objects(scope.repository.root, keep=False))[0]


def _draw_up(scope: PurgeScope, what: PurgeTarget, objects: Objects) -> tuple[PurgePlan, RewrittenHistory]:
    repository, by = scope.repository, purge_rules(what)
    history_rewrite.require_rewritable(repository)
    _require_no_record(scope, what)
    others = history_rewrite.linked_worktrees(repository)
    rewrite = history_rewrite.rewrite_history(repository, by, objects, others)
    _require_free(others, rewrite, what)
    paths = history_rewrite.worktree_files(repository.root)
    held = list(_held(repository.root, paths, what))
    changed = sum(data is not None for _, data in held)
    moved = len(rewrite.moved)
    outside = _outside(scope, paths, what)
    holding = set() if changed or rewrite.commits or rewrite.tags or moved else ref_rewrite.objects_holding(repository, by)
    loose = len(holding.difference(ref_rewrite.reachable_objects(repository))) if holding else 0
    notices = (
        *_large(changed),
        *_loose(loose),
        *_limits(repository, rewrite, len(held) - changed),
        *([f"{outside} memory files that are not this repository's hold it and are left as they are."] if outside else ()),
        *_ids(repository, what),
    )
    drawn = PurgePlan(changed, rewrite.commits, rewrite.messages, rewrite.tags, moved, rewrite.signatures, loose, notices)
    if not drawn.found and not has_purge_note(repository):
        raise _not_found(what, outside + len(held) + len(holding))
    return drawn, rewrite


def _require_free(others: Sequence[LinkedWorktree], rewrite: RewrittenHistory, what: PurgeTarget) -> None:
    blobs = {blob for blob, _ in rewrite.blobs}
    for other in others:
        if any(entry.blob in blobs for entry in history_rewrite.index_entries(other.root)) or any(
            _held(other.root, history_rewrite.worktree_files(other.root), what)
        ):
            raise RepositoryProblem(
                "cannot-purge",
                "a linked worktree holds it in its files or in its index, which are not rewritten from here",
                "Take it out there first, or take the worktree away (git worktree remove).",
            )


def _not_found(what: PurgeTarget, left: int) -> FactProblem:
    if left:
        message = f"{what.words[:80]!r} stands only where it cannot be taken out from here, in {left} files or objects"
        hint = "Look in remote-tracking refs (git log --remotes), in binary or unreadable files, and in extra_paths."
        return FactProblem("fact-not-found", message, hint)
    return FactProblem("fact-not-found", f"{what.words[:80]!r} stands nowhere, in no file and in no commit", f"{verb('facts')} lists them.")


def _outside(scope: PurgeScope, paths: Collection[str], what: PurgeTarget) -> int:
    """How many memory files that git does not have (of extra paths, or of a repository within this one) hold it."""
    root, known = scope.repository.root.resolve(), frozenset(paths)
    found = [
        place
        for place in (place.resolve() for place in scope.memory)
        if not place.is_relative_to(root) or str(place.relative_to(root)) not in known
    ]
    return sum(1 for place in found for _ in _held(place.parent, [place.name], what))


def _large(count: int) -> tuple[str, ...]:
    return (f"It stands in {count} files of the work tree: are these the right words?",) if count > _MANY_FILES else ()


def _loose(count: int) -> tuple[str, ...]:
    return (f"It stands in {count} objects to which nothing leads but reflogs, if anything.",) if count else ()


def _ids(repository: Repository, what: PurgeTarget) -> tuple[str, ...]:
    said = (
        "The fact's id, a short hash of its text, stays in the trailers of other commits: who guesses the text can tell that it stood here."
    )
    return (said,) if what.fact and ref_rewrite.is_in_a_message(repository, what.fact) else ()


def _limits(repository: Repository, rewrite: RewrittenHistory, unreadable: int) -> Iterator[str]:
    """What is not reached, or is lost, as sentences."""
    common = repository.common_dir
    remotes = git(repository.root, "remote").split()
    following = history_rewrite.remote_refs(repository)
    if remotes or following:
        yield (
            f"{following} remote-tracking refs of {len(remotes)} remotes are left as they are: what was pushed or fetched is still there "
            "and on the server. Push the new history by force, have the server drop the old one, then fetch with --prune."
        )
    if rewrite.signatures:
        yield f"{rewrite.signatures} signatures are dropped: they do not fit rewritten commits and tags."
    if rewrite.binaries:
        yield f"{rewrite.binaries} binary objects hold it and are left as they are."
    if rewrite.names:
        yield f"{rewrite.names} names of files or folders hold it and are left as they are."
    if rewrite.links:
        yield f"{rewrite.links} symbolic links point to it and are left as they are."
    if rewrite.people:
        yield f"{rewrite.people} commits hold it in the name of their author or committer and keep that."
    if unreadable:
        why = f"binary, larger than {MAX_FILE_BYTES:,} bytes, or not readable"
        yield f"{unreadable} files of the work tree hold it and cannot be rewritten ({why})."
    if rewrite.submodules or (common / "modules").exists():
        yield "Submodules are repositories of their own and are not searched."
    if repository.is_shallow():
        yield "This is a shallow clone: only the history that is here is rewritten."
    if (common / "objects" / "info" / "alternates").exists():
        yield "This repository borrows objects from another one, which is not searched or changed."
    if any((common / "objects" / "pack").glob("*.keep")):
        yield "Packs marked to be kept (.keep) are left as they are."
    if (common / "lfs").exists():
        yield "What Git LFS keeps is not searched."
    yield "Reflogs are emptied and what nothing refers to any more is deleted, so nothing can be brought back by its old id."
    yield "Other clones, bundles, backups and caches of any kind cannot be known from here, nor can text in another encoding than UTF-8."


# Files on disk.


def _held(root: Path, paths: Sequence[str], what: PurgeTarget) -> Iterator[tuple[Path, bytes | None]]:
    """Those of a folder's files that hold it, with their bytes; None where they cannot be rewritten."""
    by = purge_rules(what)
    for path in paths:
        place = root / path
        try:
            status = place.lstat()
            if not stat.S_ISREG(status.st_mode):
                continue
            data = place.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            yield place, None
            continue
        if by.binary(data):
            yield place, None
        elif purged_text(what, data, is_markdown(path)) != data:
            yield place, data if status.st_size <= MAX_FILE_BYTES else None


def _rewrite_file(place: Path, what: PurgeTarget) -> None:
    """One file without it, whatever else it holds by now."""
    for _ in range(_TRIES):
        data = files.read(place)
        if data is None:
            return
        after = purged_text(what, data, is_markdown(place.name))
        if after == data or files.replace(place, after, data, files.temporary_name()):
            return
    raise RepositoryProblem("busy", "a file that holds it was saved again and again by another program", "Close it there and purge again.")


# mdmem's own state.


def _states(repository: Repository) -> list[Path]:
    """The state folder of every workspace in every work tree."""
    return [place for top in ref_rewrite.git_folders(repository) for place in sorted((top / _STATE).glob("*")) if place.is_dir()]


def _require_no_record(scope: PurgeScope, what: PurgeTarget) -> None:
    """Refuse while another workspace owes a commit that would bring it back; what this one owes is settled before a purge."""
    for state in _states(scope.repository):
        record = files.load_record(state) if state.resolve() != scope.state.resolve() else None
        if record is None:
            continue
        message = record.message.encode("utf-8", "replace")
        if purged_message(what, message) != message:
            raise RepositoryProblem(
                "repository-busy", "another workspace here has an unfinished write that holds it", f"{verb('save')} there finishes it."
            )


def _empty_states(repository: Repository, what: PurgeTarget) -> None:
    """Take away the index and every other cache, made anew from the files and from history; locks, records and events stay."""
    for state in _states(repository):
        with files.lock(state / files.INDEX_LOCK, _LOCK_SECONDS), files.lock(state / files.TRAIL_LOCK, _LOCK_SECONDS):
            for place in state.iterdir():
                if place.name in _KEPT_STATE or place.suffix == ".lock":
                    continue
                if place.is_dir():
                    shutil.rmtree(place)
                elif (not place.match("*.tmp") and not place.match("events*.jsonl")) or _may_hold(place.read_bytes(), what):
                    place.unlink(missing_ok=True)


def _may_hold(data: bytes, what: PurgeTarget) -> bool:
    """Whether it stands in a file of the state folder; a query in the events, which is escaped and cut, may always be about it."""
    return purge_rules(what).holds(data) or events.holds_queries(data)


# Doing it.


@dataclass(frozen=True, slots=True)
class PurgeNote:
    """What the commit says that a purge leaves: when (in git's raw form), who (`identity` where git does not know), and why."""

    date: str
    identity: Identity | None = None
    actor: str | None = None
    session: str | None = None
    reason: str | None = None


def purge_everywhere(scope: PurgeScope, words: str, fact: FactId | None, note: PurgeNote) -> PurgeResult:
    """Take it out everywhere, and leave a commit that says that something was purged.

    The caller holds the workspace lock, has settled the write-ahead record, and has seen that the repository is not busy. Killed before
    the refs have moved, nothing has changed; killed after that, a second run completes it.

    Args:
        scope: where.
        words: what is to go.
        fact: its id, where it is a fact.
        note: what the commit says.

    Raises:
        TextProblem: `bad-text`. FactProblem: `fact-not-found`. RepositoryProblem: `cannot-purge`, `repository-busy`: nothing has changed.
    """
    started = int(time.time())
    repository, what = scope.repository, purge_target(words, fact)
    by = purge_rules(what)
    objects = Objects(repository.root, keep=True)
    drawn, rewrite = _draw_up(scope, what, objects)
    commit = _move(repository, what, rewrite, objects, note)
    ref_rewrite.update_index_entries(repository, rewrite)
    for place, data in list(_held(repository.root, history_rewrite.worktree_files(repository.root), what)):
        if data is not None:
            _rewrite_file(place, what)
    ref_rewrite.refresh_index(repository)
    _empty_states(repository, what)
    ref_rewrite.drop_old_objects(repository, by, started)
    return PurgeResult(drawn, commit, (*drawn.notices, *_left(repository, by)))


def _move(repository: Repository, what: PurgeTarget, rewrite: RewrittenHistory, objects: Objects, note: PurgeNote) -> CommitId | None:
    """Move the refs, with the note on HEAD; where an earlier run has done so and was killed, its note stands already."""
    noted = not rewrite.moved and has_purge_note(repository)
    moved = {} if noted else ref_rewrite.add_purge_note(repository, rewrite, objects, _words(note, what), note.date, note.identity)
    objects.flush()
    ref_rewrite.move_refs(repository, rewrite, moved)
    return repository.head()


def _words(note: PurgeNote, what: PurgeTarget) -> str:
    """The message of the commit that says that something was purged."""
    trailers = [_TRAILER]
    for name, value in (("Actor", note.actor), ("Session", note.session), ("Reason", note.reason)):
        said = " ".join(purged_message(what, (value or "").encode("utf-8", "replace")).decode().split())
        trailers += [f"Mdmem-{name}: {said}"] if said else []
    return "\n".join(["Purged a text from history", "", *trailers, ""])


def has_purge_note(repository: Repository) -> bool:
    """Whether the newest commit is the note of a purge: one that was cut short is completed by running it again."""
    head = repository.head()
    return head is not None and _TRAILER in git(repository.root, "cat-file", "commit", head).decode("utf-8", "replace").splitlines()


def _left(repository: Repository, by: RewriteRules) -> Iterator[str]:
    """What holds it even now."""
    if count := len(ref_rewrite.objects_holding(repository, by)):
        yield (
            f"{count} objects in this repository still hold it "
            "(remote-tracking refs, kept packs, binary files, names, borrowed objects, what another program has just written)."
        )
    if count := ref_rewrite.git_files_holding(repository, by):
        yield f"{count} files of git's own folder hold it (settings, hooks, names of branches or tags) and are left as they are."
