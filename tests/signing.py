"""Real keys for signatures: SSH by ssh-keygen, PGP where gpg is installed."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import World


@dataclass(frozen=True)
class Key:
    """An SSH key without a passphrase; `path` is its private part."""

    path: Path

    @property
    def public(self) -> str:
        return " ".join(self.path.with_suffix(".pub").read_text().split()[:2])

    def settings(self) -> list[str]:
        """Words between `git` and its command that have it sign with this key."""
        return [
            *("-c", "gpg.format=ssh", "-c", f"user.signingKey={self.path}"),
            *("-c", "commit.gpgSign=true"),
        ]


def ssh_key(world: World, folder: Path, name: str) -> Key:
    path = folder / name
    world.run(folder, ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)])
    return Key(path)


def write_signers(path: Path, keys: Mapping[str, Key], options: str = "") -> Path:
    """A signers' file with these principals; `options` as ssh-keygen has them (ALLOWED SIGNERS)."""
    lines = [f"{name} {options} {key.public}\n" for name, key in keys.items()]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def pgp(world: World) -> Iterator[Callable[..., str]]:
    """Make a PGP key in the keyring of the world's home, trusted as one's own; its fingerprint.

    Options of gpg for its making, such as the time it is made at, follow the name.
    """
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed")

    def make(name: str, *options: str, expires: str = "0") -> str:
        quick = ("--quick-gen-key", name, "ed25519", "sign", expires)
        world.run(world.home, ["gpg", "--batch", "--passphrase", "", *options, *quick])
        listed = world.run(world.home, ["gpg", "--batch", "--with-colons", "--list-keys", name])
        lines = listed.stdout.splitlines()
        return next(line.split(":")[9] for line in lines if line.startswith("fpr"))

    yield make
    world.run(world.home, ["gpgconf", "--kill", "all"])
