"""Ask git whose signatures commits have, with nothing of the repository's own settings used."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mdmem.folder import files
from mdmem.model import CommitId, Signature, SignatureState
from mdmem.model.errors import PathProblem, RepositoryProblem, WorkspaceProblem
from mdmem.repo import git_files
from mdmem.repo.runner import READ_SECONDS, run
from mdmem.startup.records import dataclass, field

_DEFAULTS = {
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.ssh.defaultkeycommand": "",
    "gpg.ssh.revocationfile": "",
    "gpg.mintrustlevel": "undefined",
}
"""git's own values of all settings that decide how a signature is verified, but for the signers'
file; `gpg.program` and `gpg.openpgp.program` are one, of which git takes the last."""
_SIGNERS_FILE = "gpg.ssh.allowedsignersfile"
_FORMAT, _CANNOT_RUN = "%H%x00%G?%x00%GS%x00%GF%x00%GP", ": cannot run "
_MOST_AT_ONCE = 1_000
_KEPT_NAME = "signatures.json"
_STATES = {
    "G": SignatureState.SIGNED,
    "N": SignatureState.UNSIGNED,
    "B": SignatureState.BAD,
} | dict.fromkeys("UEXYR", SignatureState.UNKNOWN_KEY)


@dataclass(frozen=True, slots=True)
class Signers:
    """The rules by which signatures are verified: git's `options`, and a hash of all that decides.

    `address` is the user's by git's settings outside of any repository.
    """

    digest: str
    options: tuple[str, ...]
    address: str | None


def read_signers(
    folder: Path, named: Path | None, barred: Sequence[Path] = (), setting: str = "signers"
) -> Signers:
    """Read the file of the signers whom `signatures` is to know.

    `named`: by the user's `setting`; None: by git's settings outside of the repository `folder`.
    `barred` are the folders in which it may not be, since whoever pushes could write it.

    Raises:
        WorkspaceProblem: `bad-settings`: no file is named, or one that is missing, unreadable, in a
            barred folder, or not named by its full path.
    """
    wanted = ("--includes", "--get-regexp", r"^(gpg\.|user\.email$)")
    fields = os.fsdecode(run(folder, ["config", "-z", "--show-scope", *wanted]).output).split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    lines = (text.partition("\n") for scope, text in pairs if scope in ("system", "global"))
    settings = {name: value for name, _, value in lines}
    by_git = settings.get(_SIGNERS_FILE)
    path = named or (Path(by_git).expanduser() if by_git else None)
    try:
        data = files.read(Path(os.path.realpath(path))) if path else None
        fault = _fault(path, barred) or (f"{path} does not exist" if data is None else "")
    except PathProblem as problem:
        fault = problem.message
    if fault:
        hint = f'Name a file outside of the repository: {setting} = "~/.ssh/allowed_signers"'
        raise WorkspaceProblem("bad-settings", f"{setting}: {fault}", hint)
    used = {name: settings.get(name, default) for name, default in _DEFAULTS.items()}
    openpgp = settings.get("gpg.openpgp.program") or used["gpg.program"]
    used |= {"gpg.openpgp.program": openpgp, _SIGNERS_FILE: str(path)}
    options = tuple(word for name, value in used.items() for word in ("-c", f"{name}={value}"))
    digest = hashlib.sha256(repr((options, data)).encode("utf-8", "surrogateescape")).hexdigest()
    return Signers(digest[:16], options, settings.get("user.email"))


def _fault(path: Path | None, barred: Sequence[Path]) -> str:
    if path is None:
        return "no file names those who may sign"
    places = [Path(os.path.normpath(path)), Path(os.path.realpath(path))]
    folders = [*barred, *(Path(os.path.realpath(folder)) for folder in barred)]
    if any(place.is_relative_to(folder) for place in places for folder in folders):
        return f"{path} is in this repository, where others may write it"
    return "" if path.is_absolute() else f"{path} is not a full path"


def signatures(
    folder: Path,
    commits: Sequence[CommitId],
    signers: Signers,
    variables: Mapping[str, str] | None = None,
) -> dict[CommitId, Signature]:
    """The signatures of commits of a repository, a bare one too, by one git for each thousand.

    `variables` are added to git's environment, such as where objects are quarantined. It takes some
    15 ms for each signed commit. Raises RepositoryProblem (`git-failed`: also where a program that
    verifies signatures is missing).
    """
    found: dict[CommitId, Signature] = {}
    words = ("log", "--no-walk=unsorted", "--stdin", "--no-notes", "--no-decorate", "--no-mailmap")
    arguments, seconds = [*signers.options, *words, f"--format={_FORMAT}"], READ_SECONDS * 10
    for at in range(0, len(commits), _MOST_AT_ONCE):
        some = "".join(f"{commit}\n" for commit in commits[at : at + _MOST_AT_ONCE])
        result = run(folder, arguments, some.encode(), variables, seconds)
        if result.status:
            raise result.failure("log")
        if _CANNOT_RUN in result.error_text:
            program = result.error_text.partition(_CANNOT_RUN)[2].partition(":")[0]
            raise RepositoryProblem("git-failed", f"git cannot verify signatures by {program}")
        for line in result.output.decode("utf-8", "replace").splitlines():
            commit, letter, signer, key, primary_key = line.split("\0")
            # A name counts where the signers' file gave it: of other keys it is their own word.
            by = signer if letter == "G" and key.startswith("SHA256:") else primary_key or key
            state = _STATES.get(letter, SignatureState.BAD)
            found[CommitId(commit)] = Signature(state, by or None)
    return found


# What is known of a workspace's commits, kept beside its trail


@dataclass(frozen=True, slots=True)
class KnownSignatures:
    """Signatures by commit, and by what all were judged, first of all the digest of the signers.

    `stating` are the commits whose lines may be the user's word, where signatures are required.
    """

    judged: Sequence[str] = ()
    by_commit: Mapping[CommitId, Signature] = field(default_factory=dict)
    stating: frozenset[CommitId] = frozenset()

    @property
    def is_whole(self) -> bool:
        """True if no commit was left out when they were asked about."""
        return len(self.judged) > 1

    def of(self, commit: CommitId) -> Signature:
        """A commit's signature, as far as git was asked."""
        return self.by_commit.get(commit, Signature(SignatureState.UNCHECKED))


def load_signatures(state: Path) -> KnownSignatures:
    """The signatures kept in a state folder; none if they cannot be read: git is asked again."""
    try:
        kept = json.loads(git_files.read_bytes(f"{state}/{_KEPT_NAME}") or b"")
        by_commit = {
            CommitId(commit): Signature(SignatureState(name), by)
            for commit, (name, by) in kept["commits"].items()
        }
        return KnownSignatures(kept["judged"], by_commit, frozenset(kept["stating"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        return KnownSignatures()


def save_signatures(state: Path, known: KnownSignatures) -> None:
    """Keep what is known. Raises OSError."""
    commits = {commit: [each.state, each.by] for commit, each in known.by_commit.items()}
    kept = {"judged": known.judged, "commits": commits, "stating": sorted(known.stating)}
    files.write_cache(state / _KEPT_NAME, json.dumps(kept))
