"""A repository in which something is to be purged, and how to look for it everywhere."""

import os
import subprocess
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import World

from mdmem import repo
from mdmem.model.writes import PurgePlan, PurgeResult
from mdmem.purge import purging
from mdmem.purge.purging import HeldTranscripts, PurgeNote, PurgeScope
from mdmem.purge.target import PurgeTarget
from mdmem.repo import Repository
from mdmem.text import facts
from mdmem.workspace import open_at

WORDS = "secret plan of Zoë"
FACT = facts.fact_id(WORDS)
WHEN = "@1780000000 +0200"
OTHER = "# Memory\n\n## Work\n\n- works at Stripe\n"


def no_transcripts(_: PurgeTarget) -> HeldTranscripts:
    return HeldTranscripts()


@dataclass(frozen=True)
class Vault:
    """A repository in which something is to be purged."""

    world: World
    root: Path

    def git(self, *arguments: str | Path, stdin: str = "", **environment: str) -> str:
        return self.world.git(self.root, *arguments, stdin=stdin, environment=environment).stdout

    def write(self, path: str, text: str) -> Path:
        full_path = self.root / path
        full_path.parent.mkdir(parents=True, exist_ok=True)
        full_path.write_text(text, encoding="utf-8")
        return full_path

    def commit(self, message: str, **written: str) -> str:
        for path, text in written.items():
            self.write(path.replace("__", "/") + ".md", text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.id("HEAD")

    def id(self, name: str) -> str:
        return self.git("rev-parse", name).strip()

    @property
    def repository(self) -> Repository:
        return repo.discover(self.root)

    def plan(self) -> PurgePlan:
        return purging.plan_rewrite(self.scope(), WORDS, FACT, no_transcripts)

    def scope(self, *memory: Path) -> PurgeScope:
        return PurgeScope(open_at(self.root, os.environ), memory)

    def purge(self, reason: str = "") -> PurgeResult:
        return purging.purge_everywhere(
            self.scope(), WORDS, FACT, PurgeNote(WHEN, reason=reason), no_transcripts
        )

    def everything(self) -> bytes:
        """Every object, and every file of git's folder that is no object."""
        listed = self.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        objects = subprocess.run(
            ["git", "cat-file", "--batch"],
            cwd=self.root,
            env=dict(self.world.environment),
            input=listed.encode(),
            capture_output=True,
            check=True,
        ).stdout
        common = self.repository.common_dir
        return objects + b"".join(
            str(path).encode() + path.read_bytes()
            for path in common.rglob("*")
            if path.is_file() and "objects" not in path.parts
        )

    def assert_clean(self, *forms: str) -> None:
        everything = self.everything()
        for form in forms or (WORDS, unicodedata.normalize("NFD", WORDS), WORDS.upper()):
            assert form.encode() not in everything
        done = self.world.git(self.root, "fsck", "--full", "--strict")
        assert "missing" not in done.stdout + done.stderr
        assert "dangling" not in done.stdout

    def linked(self) -> "Vault":
        """A linked work tree of it, which holds nothing to purge."""
        self.commit("clean", MEMORY=OTHER)
        self.git("worktree", "add", "-q", "--detach", self.root.parent / "linked")
        return Vault(self.world, self.root.parent / "linked")

    def tree_state(self) -> tuple[str, ...]:
        shown = (
            ("for-each-ref",),
            ("ls-files", "-s"),
            ("status", "--porcelain=v2"),
            ("stash", "list"),
            ("reflog",),
        )
        files = sorted(p for p in self.root.rglob("*") if p.is_file() and ".git" not in p.parts)
        return (
            *(self.git(*words) for words in shown),
            *(p.read_text(errors="replace") for p in files),
        )


def vault_at(world: World, repository: Path) -> Vault:
    """A repository with two commits without the words, and one with them."""
    vault = Vault(world, repository)
    vault.commit("seed", MEMORY=OTHER)
    vault.commit("other", memory__topic="# Topic\n\n- b\n")
    vault.commit("hold it", MEMORY=f"{OTHER}- {WORDS}\n- after\n")
    return vault


@pytest.fixture
def vault(world: World, repository: Path) -> Vault:
    return vault_at(world, repository)
