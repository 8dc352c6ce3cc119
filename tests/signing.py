"""Real keys for signatures: SSH by ssh-keygen, PGP where gpg is installed."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def has_gpg() -> bool:
    return shutil.which("gpg") is not None


def pgp_key(world: World, home: Path, name: str) -> str:
    """A PGP key in the keyring of a home, trusted as one's own; its fingerprint."""
    made = ["gpg", "--batch", "--passphrase", "", "--quick-gen-key", name, "ed25519", "sign", "0"]
    world.run(home, made)
    listed = world.run(home, ["gpg", "--batch", "--with-colons", "--list-keys", name]).stdout
    return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))
