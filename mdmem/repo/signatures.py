"""Ask git whose signatures commits have, with nothing of the repository's own settings used."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from mdmem.folder import files
from mdmem.model import CommitId
from mdmem.model.errors import PathProblem, RepositoryProblem, WorkspaceProblem
from mdmem.repo.runner import READ_SECONDS, run
from mdmem.startup.records import dataclass

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
_SIGNERS_FILE, _ADDRESS = "gpg.ssh.allowedsignersfile", "user.email"
_OUTSIDE = ("system", "global")
"""The scopes of git's settings that no repository can write."""
_FORMAT = "%H%x00%G?%x00%GS%x00%GF%x00%GP"
_CANNOT_RUN = ": cannot run "
_MOST_AT_ONCE = 1_000


class SignatureState(StrEnum):
    """The answers about a commit's signature."""

    SIGNED = "signed"
    """Good, by a key that the signers' file or the user's keyring names."""
    UNKNOWN_KEY = "unknown-key"
    """Good, by a key that is not known, has expired or was revoked, or that is missing."""
    UNSIGNED = "unsigned"
    BAD = "bad"
    """The signature is not one of this commit."""
    UNCHECKED = "unchecked"
    """git was not asked yet; counts as unsigned."""


_STATES = {
    "G": SignatureState.SIGNED,
    "N": SignatureState.UNSIGNED,
    "B": SignatureState.BAD,
} | dict.fromkeys("UEXYR", SignatureState.UNKNOWN_KEY)


@dataclass(frozen=True, slots=True)
class Signature:
    """`by`: the principal in the signers' file (SSH), else the fingerprint of the key (None: of no
    or a bad signature, or git does not know it).
    """

    state: SignatureState
    by: str | None = None


UNCHECKED = Signature(SignatureState.UNCHECKED)


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
    listed = run(
        folder,
        ["config", "-z", "--show-scope", "--includes", "--get-regexp", r"^(gpg\.|user\.email$)"],
    )
    fields = os.fsdecode(listed.output).split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    lines = (text.partition("\n") for scope, text in pairs if scope in _OUTSIDE)
    settings = {name: value for name, _, value in lines}
    path = _signers_file(named, settings.get(_SIGNERS_FILE), barred, setting)
    try:
        data = files.read(Path(os.path.realpath(path)))
    except PathProblem as problem:
        raise _bad(setting, problem.message) from problem
    if data is None:
        raise _bad(setting, f"{path} does not exist")
    openpgp = settings.get("gpg.openpgp.program") or settings.get("gpg.program")
    programs = {"gpg.program": openpgp, "gpg.openpgp.program": openpgp} if openpgp else {}
    used = _DEFAULTS | {name: settings[name] for name in _DEFAULTS if name in settings} | programs
    used[_SIGNERS_FILE] = os.fspath(path)
    options = tuple(word for name, value in used.items() for word in ("-c", f"{name}={value}"))
    digest = hashlib.sha256("\0".join((*options, "")).encode("utf-8", "surrogateescape") + data)
    return Signers(digest.hexdigest()[:16], options, settings.get(_ADDRESS))


def _signers_file(
    named: Path | None, by_git: str | None, barred: Sequence[Path], setting: str
) -> Path:
    path = named or (Path(by_git).expanduser() if by_git else None)
    if path is None:
        raise _bad(setting, "no file names those who may sign")
    if not path.is_absolute():
        raise _bad(setting, f"{path} is not a full path")
    places = [Path(os.path.normpath(path)), Path(os.path.realpath(path))]
    folders = [*barred, *(Path(os.path.realpath(folder)) for folder in barred)]
    if any(place.is_relative_to(folder) for place in places for folder in folders):
        raise _bad(setting, f"{path} is in this repository, where others may write it")
    return path


def _bad(setting: str, message: str) -> WorkspaceProblem:
    return WorkspaceProblem(
        "bad-settings",
        f"{setting}: {message}",
        f'Name a file outside of the repository: {setting} = "~/.ssh/allowed_signers"',
    )


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
    for at in range(0, len(commits), _MOST_AT_ONCE):
        some = commits[at : at + _MOST_AT_ONCE]
        result = run(
            folder,
            [
                *signers.options,
                *("log", "--no-walk=unsorted", "--stdin", "--no-notes", "--no-decorate"),
                *("--no-mailmap", f"--format={_FORMAT}"),
            ],
            "".join(f"{commit}\n" for commit in some).encode(),
            variables,
            seconds=READ_SECONDS + len(some),
        )
        if result.status:
            raise result.failure("log")
        if _CANNOT_RUN in result.error_text:
            program = result.error_text.partition(_CANNOT_RUN)[2].partition(":")[0]
            raise RepositoryProblem("git-failed", f"git cannot verify signatures by {program}")
        for line in result.output.decode("utf-8", "replace").splitlines():
            commit, letter, signer, key, primary_key = line.split("\0")
            found[CommitId(commit)] = _signature(letter, signer, key, primary_key)
    return found


def _signature(letter: str, signer: str, key: str, primary_key: str) -> Signature:
    """A name counts where the signers' file gave it: of other keys it is their own word."""
    state = _STATES.get(letter, SignatureState.BAD)
    if state in (SignatureState.UNSIGNED, SignatureState.BAD):
        return Signature(state)
    is_named = state is SignatureState.SIGNED and key.startswith("SHA256:")
    return Signature(state, (signer if is_named else primary_key or key) or None)
