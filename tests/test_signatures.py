"""Signatures of commits, asked of git with real keys; no repository's settings count."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import EMAIL, World
from signing import Key, ssh_key, write_signers
from signing import pgp as pgp
from workspaces import Desk, desk

from mdmem.model import CommitId
from mdmem.model.errors import RepositoryProblem, WorkspaceProblem
from mdmem.repo.signatures import Signature, SignatureState, read_signers, signatures

SIGNED, UNSIGNED = SignatureState.SIGNED, SignatureState.UNSIGNED
UNKNOWN, BAD = SignatureState.UNKNOWN_KEY, SignatureState.BAD
KIT = "kit@example.org"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def signed_commit(at: Desk, key: Key, message: str = "signed", date: str = "") -> CommitId:
    environment = {"GIT_COMMITTER_DATE": date} if date else None
    words = [*key.settings(), "commit", "-q", "--allow-empty", "-m", message]
    at.world.git(at.root, *words, environment=environment)
    return CommitId(at.head())


def state_of(at: Desk, *commits: CommitId | str, signers: Path | None) -> list[Signature]:
    read = read_signers(at.root, signers, [at.root])
    names = [CommitId(commit) for commit in commits]
    found = signatures(at.root, names, read)
    return [found[name] for name in names]


def test_the_states_of_ssh_signatures(at: Desk, tmp_path: Path):
    ada, kit = ssh_key(at.world, tmp_path, "ada"), ssh_key(at.world, tmp_path, "kit")
    signers = write_signers(tmp_path / "signers", {EMAIL: ada})
    own, foreign = signed_commit(at, ada), signed_commit(at, kit)
    unsigned = at.commit()
    forged = at.git("cat-file", "commit", own).replace("signed", "forged")
    bad = at.world.git(at.root, "hash-object", "-t", "commit", "-w", "--stdin", stdin=forged).stdout
    of_own, of_foreign, *others = state_of(at, own, foreign, unsigned, bad.strip(), signers=signers)
    assert of_own == Signature(SIGNED, EMAIL)
    assert of_foreign.state is UNKNOWN
    assert str(of_foreign.by).startswith("SHA256:"), "whose it is, nobody said"
    assert others == [Signature(UNSIGNED), Signature(BAD)]


def test_a_key_counts_for_its_time(at: Desk, tmp_path: Path):
    ada = ssh_key(at.world, tmp_path, "ada")
    signers = write_signers(tmp_path / "signers", {EMAIL: ada}, 'valid-before="20260301"')
    before = signed_commit(at, ada, date="2026-02-01T09:30:00+00:00")
    after = signed_commit(at, ada, date="2026-04-01T09:30:00+00:00")
    states = [each.state for each in state_of(at, before, after, signers=signers)]
    assert states == [SIGNED, UNKNOWN]


def test_the_signers_of_gits_global_settings(at: Desk, tmp_path: Path):
    ada, kit = ssh_key(at.world, tmp_path, "ada"), ssh_key(at.world, tmp_path, "kit")
    commit = signed_commit(at, kit)
    own = write_signers(at.world.home / "signers", {EMAIL: ada})
    at.git("config", "--global", "gpg.ssh.allowedSignersFile", "~/signers")
    theirs = write_signers(tmp_path / "theirs", {EMAIL: kit})
    at.git("config", "gpg.ssh.allowedSignersFile", theirs)
    at.git("config", "user.email", "mallory@example.org")
    at.git("config", "--global", "user.email", EMAIL)
    assert state_of(at, commit, signers=None)[0].state is UNKNOWN, "the repository names nobody"
    signers = read_signers(at.root, None)
    assert signers.address == EMAIL
    own.write_text(theirs.read_text())
    assert state_of(at, commit, signers=None) == [Signature(SIGNED, EMAIL)]
    assert read_signers(at.root, None).digest != signers.digest


def test_no_program_of_the_repository_runs(at: Desk, tmp_path: Path):
    ada = ssh_key(at.world, tmp_path, "ada")
    signers = write_signers(tmp_path / "signers", {EMAIL: ada})
    commit, mark = signed_commit(at, ada), tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    names = ("gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program")
    for name in (*names, "gpg.ssh.defaultKeyCommand"):
        at.git("config", name, program)
    at.git("config", "gpg.ssh.revocationFile", signers)
    # git is killed by the pipe if the program has ended before it writes to it
    at.git("-c", f"gpg.ssh.allowedSignersFile={signers}", "log", "--format=%G?", check=False)
    assert mark.exists(), "git by itself runs it"
    mark.unlink()
    assert state_of(at, commit, signers=signers) == [Signature(SIGNED, EMAIL)]
    assert not mark.exists()


def test_a_program_of_the_user_runs(at: Desk, tmp_path: Path):
    ada = ssh_key(at.world, tmp_path, "ada")
    signers = write_signers(tmp_path / "signers", {EMAIL: ada})
    commit, mark = signed_commit(at, ada), tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\ntouch {mark}\nexec ssh-keygen "$@"\n')
    program.chmod(0o755)
    at.git("config", "--global", "gpg.ssh.program", program)
    assert state_of(at, commit, signers=signers) == [Signature(SIGNED, EMAIL)]
    assert mark.exists()
    for missing in (str(tmp_path / "none"), "no-such-program"):
        at.git("config", "--global", "gpg.ssh.program", missing)
        with pytest.raises(RepositoryProblem, match=f"cannot verify signatures by {missing}"):
            state_of(at, commit, signers=signers)


def test_a_signers_file_that_others_may_write_or_that_is_missing(at: Desk, tmp_path: Path):
    ada = ssh_key(at.world, tmp_path, "ada")
    inside = write_signers(at.root / "signers", {EMAIL: ada})
    in_git = write_signers(at.root / ".git" / "signers", {EMAIL: ada})
    to_outside, to_inside = at.root / "to-outside", tmp_path / "to-inside"
    outside = write_signers(tmp_path / "signers", {EMAIL: ada})
    to_outside.symlink_to(outside)
    to_inside.symlink_to(inside)
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (inside, in_git, to_outside, to_inside, tmp_path / "none", Path("signers"), folder):
        with pytest.raises(WorkspaceProblem) as problem:
            read_signers(at.root, path, [at.root])
        assert problem.value.code == "bad-settings", path
    with pytest.raises(WorkspaceProblem, match="no file names"):
        read_signers(at.root, None, [at.root])
    link = tmp_path / "link"
    link.symlink_to(outside)
    assert read_signers(at.root, link, [at.root]).address is None


def test_a_bare_repository(at: Desk, tmp_path: Path):
    ada = ssh_key(at.world, tmp_path, "ada")
    signers = write_signers(tmp_path / "signers", {EMAIL: ada})
    commit = signed_commit(at, ada)
    bare = tmp_path / "bare.git"
    at.git("clone", "-q", "--bare", at.root, bare)
    found = signatures(bare, [commit], read_signers(bare, signers))
    assert found == {commit: Signature(SIGNED, EMAIL)}
    with pytest.raises(RepositoryProblem):
        signatures(bare, [CommitId("1" * 40)], read_signers(bare, signers))


def test_objects_in_quarantine(at: Desk, tmp_path: Path):
    ada = ssh_key(at.world, tmp_path, "ada")
    signers = write_signers(tmp_path / "signers", {EMAIL: ada})
    bare = tmp_path / "bare.git"
    at.git("init", "-q", "--bare", bare)
    commit = signed_commit(at, ada)
    variables = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(at.root / ".git" / "objects")}
    found = signatures(bare, [commit], read_signers(bare, signers), variables)
    assert found == {commit: Signature(SIGNED, EMAIL)}


def test_a_pgp_key_counts_by_its_fingerprint(at: Desk, tmp_path: Path, pgp: Callable[..., str]):
    fingerprint = pgp(f"Ada <{EMAIL}>")
    signers = write_signers(tmp_path / "signers", {})
    words = ("-c", f"user.signingKey={fingerprint}", "-c", "commit.gpgSign=true")
    at.git(*words, "commit", "-q", "--allow-empty", "-m", "signed")
    assert state_of(at, at.head(), signers=signers) == [Signature(SIGNED, fingerprint)]
    at.git("config", "--global", "gpg.program", "gpg")
    assert state_of(at, at.head(), signers=signers) == [Signature(SIGNED, fingerprint)]


def test_pgp_keys_that_expired_or_are_missing(at: Desk, tmp_path: Path, pgp: Callable[..., str]):
    signers = write_signers(tmp_path / "signers", {})
    then = ("--faked-system-time", "20200101T000000!")
    fingerprint = pgp(f"Ada <{EMAIL}>", *then, expires="1d")
    program = tmp_path / "then"
    program.write_text(f'#!/bin/sh\nexec gpg {" ".join(then)} "$@"\n')
    program.chmod(0o755)
    words = ("-c", f"user.signingKey={fingerprint}", "-c", f"gpg.program={program}")
    at.git(*words, "commit", "-q", "-S", "--allow-empty", "-m", "signed")
    assert state_of(at, at.head(), signers=signers) == [Signature(UNKNOWN, fingerprint)]
    gone = ("--delete-secret-and-public-key", fingerprint)
    at.world.run(at.world.home, ["gpg", "--batch", "--yes", *gone])
    (expired,) = state_of(at, at.head(), signers=signers)
    assert expired.state is UNKNOWN, "nobody here has the key"
