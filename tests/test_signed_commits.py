"""Signatures in answers (`verify = "show"`), and by them what counts as the user's word (`require`)."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from conftest import EMAIL, World
from page_readers import read, words
from signing import Key, ssh_key, write_signers
from signing import pgp as pgp
from workspaces import Desk, desk

from mdmem.folder.trust import TextOrigin
from mdmem.health import doctor
from mdmem.index import catching_up
from mdmem.memory import Memory
from mdmem.model.errors import WorkspaceProblem
from mdmem.model.history import ShowBlame, ShowHistory
from mdmem.model.pipelines import Sync
from mdmem.model.reads import Show
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Remember, Save, WriteOptions
from mdmem.nights.dream.candidates import read_log_entries
from mdmem.past import fresh_trail
from mdmem.show.values import to_json

KIT = "kit@example.org"
OLD, ADA, KITS = "works at Stripe", "drinks tea", "drinks coffee"
UNSIGNED, UNCHECKED = {"state": "unsigned", "by": None}, {"state": "unchecked", "by": None}
BY_ADA = {"state": "signed", "by": EMAIL}


@dataclass(frozen=True)
class Signing:
    """A memory with a line that nobody signed, the keys of two, and a file of signers with both."""

    at: Desk
    ada: Key
    kit: Key
    signers: Path

    @property
    def memory(self) -> Memory:
        return Memory.open(self.at.root, os.environ)

    def settings(self, verify: str = "require", more: str = "") -> None:
        path = self.at.world.home / ".config" / "mdmem" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'verify = "{verify}"\nsigners = "{self.signers}"\n{more}')

    def add(self, line: str, key: Key | None = None, message: str = "by hand") -> str:
        text = self.at.read("MEMORY.md")
        self.at.write("MEMORY.md", text.replace("## Home\n", f"## Home\n\n- {line}", 1))
        self.at.git(*(key.settings() if key else ()), "commit", "-qam", message)
        return self.at.head()

    def sources(self, *, checked: bool = True) -> Mapping[str, str]:
        if checked:
            catching_up.check_signatures(self.at.workspace)
        return {hit.text: str(hit.source) for hit in self.memory.facts(ListFacts()).facts}

    def sign_all(self) -> None:
        """Have git sign with Ada's key whatever is committed from now on."""
        settings = {"gpg.format": "ssh", "user.signingKey": str(self.ada.path)}
        for name, value in {**settings, "commit.gpgSign": "true"}.items():
            self.at.git("config", "--global", name, value)

    def log_of_program(self) -> Path:
        """The user's own program for signatures, and the file with a line for each of its runs."""
        program, log = self.at.world.home / "program", self.at.world.home / "log"
        program.write_text(f'#!/bin/sh\necho >>{log}\nexec ssh-keygen "$@"\n')
        program.chmod(0o755)
        self.at.git("config", "--global", "gpg.ssh.program", program)
        log.write_text("")
        return log


@pytest.fixture
def signing(world: World, repository: Path, tmp_path: Path) -> Signing:
    at = desk(world, repository)
    at.git("config", "--global", "user.email", EMAIL)
    ada, kit = ssh_key(world, tmp_path, "ada"), ssh_key(world, tmp_path, "kit")
    signers = write_signers(tmp_path / "signers", {EMAIL: ada, KIT: kit})
    return Signing(at, ada, kit, signers)


def json_of(result: Any) -> Any:
    return json.loads(json.dumps(to_json(result)))


# Show


def test_answers_say_whose_signature_a_commit_has(signing: Signing):
    signing.settings("show")
    signing.add(ADA, signing.ada)
    signing.add(KITS, signing.kit)
    memory = signing.memory
    newest, older, *_ = json_of(memory.history(ShowHistory()))["revisions"]
    assert (newest["signed"], older["signed"]) == ({"state": "signed", "by": KIT}, BY_ADA)
    chain = json_of(memory.history(ShowHistory(ADA)))["chain"]
    assert [link["signed"] for link in chain] == [BY_ADA]
    lines = json_of(memory.blame(ShowBlame("Work")))["lines"]
    assert {str(line["signed"]) for line in lines} == {str(UNSIGNED)}
    assert json_of(memory.show_named(Show(section="Work")))["signed"]["by"] == KIT
    assert json_of(memory.show_named(Show(section=ADA)))["signed"] == BY_ADA
    facts = json_of(memory.facts(ListFacts()))["facts"]
    assert {each["text"]: each["signed"]["by"] for each in facts} == {
        OLD: None,
        "lives in Oslo": None,
        ADA: EMAIL,
        KITS: KIT,
    }
    assert set(signing.sources().values()) == {"user-stated"}, "it is shown, and decides nothing"


def test_a_line_of_history_says_it(signing: Signing, capsys: pytest.CaptureFixture[str]):
    from mdmem.cli import main

    signing.settings("show")
    signing.add(ADA, signing.ada)
    main(["-C", str(signing.at.root), "history"])
    printed = capsys.readouterr().out
    assert f"signed by {EMAIL}" in printed
    assert "unsigned" in printed


def test_off_loads_nothing_and_says_nothing(signing: Signing):
    signing.add(ADA, signing.ada)
    answers = [signing.memory.history(ShowHistory()), signing.memory.facts(ListFacts())]
    assert "signed" not in json.dumps([*map(to_json, answers)])
    assert not (signing.at.workspace.state / "signatures.json").exists()
    probe = (
        "import sys; from mdmem.cli import main; main(['history']); main(['search', 'tea']);"
        " sys.exit(any('signatures' in name or 'verifying' in name for name in sys.modules))"
    )
    signing.at.world.run(signing.at.root, [sys.executable, "-c", probe])


def test_no_search_waits_and_status_says_how_many_are_missing(signing: Signing):
    signing.add(ADA, signing.ada)
    log = signing.log_of_program()
    signing.settings()
    memory = signing.memory
    assert memory.search(Search("tea")).hits
    facts = json_of(memory.facts(ListFacts()))["facts"]
    assert [each["signed"] for each in facts] == [UNCHECKED] * 3
    assert not log.read_text(), "git was not asked"
    assert "2 signatures not checked yet, which count as missing" in memory.status().notes
    assert signing.sources()[ADA] == "user-stated"
    assert log.read_text()
    assert not [note for note in memory.status().notes if "signatures" in note]


def test_many_are_left_to_the_background(signing: Signing, monkeypatch: pytest.MonkeyPatch):
    signing.settings("show")
    signing.add(ADA, signing.ada)
    started: list[str] = []
    start = "mdmem.index.background.start_catching_up"
    monkeypatch.setattr(start, lambda workspace: started.append(workspace.root.name))
    catching_up.check_signatures(signing.at.workspace, 1)
    newest, *_ = json_of(signing.memory.history(ShowHistory()))["revisions"]
    assert (newest["signed"], started) == (BY_ADA, ["repository"])
    started.clear()
    catching_up.check_signatures(signing.at.workspace, 1)
    assert not started, "all are known"


def test_git_is_asked_once_a_commit(signing: Signing):
    signing.add(ADA, signing.ada)
    log = signing.log_of_program()
    signing.settings()
    assert signing.sources()[ADA] == "user-stated"
    asked = log.read_text()
    signing.memory.reindex(full=True)
    assert signing.sources()[ADA] == "user-stated"
    assert log.read_text() == asked, "what is known outlives the trail"
    signing.signers.write_text(signing.signers.read_text() + "# another comment\n")
    signing.sources()
    assert log.read_text() != asked, "other signers, other answers"


def test_no_other_program_runs_and_only_where_the_user_has_adopted(
    signing: Signing, monkeypatch: pytest.MonkeyPatch
):
    log = signing.log_of_program()
    program, mark = signing.at.world.home / "theirs", signing.at.world.home / "mark"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    for name in ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"):
        signing.at.git("config", name, program)
    signing.at.git("config", "gpg.ssh.allowedSignersFile", signing.signers)
    words = ("-c", "gpg.ssh.program=ssh-keygen", "commit", "-q", "--allow-empty", "-m", "x")
    signing.at.git(*signing.ada.settings(), *words)
    signing.settings("show")
    monkeypatch.setenv("MDMEM_ADOPT", "/none")
    signing.memory.history(ShowHistory())
    assert not log.read_text()
    monkeypatch.setenv("MDMEM_ADOPT", str(signing.at.root))
    catching_up.check_signatures(signing.at.workspace)
    assert log.read_text()
    assert not mark.exists()


@pytest.mark.parametrize("verify", ["show", "require"])
@pytest.mark.parametrize("place", ["signers", ".git/signers", "none/signers"])
def test_a_signers_file_that_cannot_be_used_is_never_off(signing: Signing, verify: str, place: str):
    signing.add(ADA, signing.ada)
    signing.add(KITS)
    signing.settings(verify)
    path = signing.at.world.home.parent / place if "none" in place else signing.at.root / place
    if path.parent.is_dir():
        path.write_text(signing.signers.read_text())
    config = signing.at.world.home / ".config" / "mdmem" / "config.toml"
    config.write_text(f'verify = "{verify}"\nsigners = "{path}"\n')
    for ask in (lambda: signing.memory.history(ShowHistory()), lambda: signing.sources()):
        with pytest.raises(WorkspaceProblem) as problem:
            ask()
        assert problem.value.code == "bad-settings"
    findings = doctor.run_check("signatures", inspection(signing))
    assert [each.level for each in findings] == ["error"]
    sources = signing.sources(checked=False)
    assert set(sources.values()) == {"user-stated" if verify == "show" else "inferred"}


def test_settings_of_a_workspace_say_nothing_of_it(signing: Signing):
    signing.at.write("mdmem.toml", 'verify = "off"\n')
    with pytest.raises(WorkspaceProblem) as problem:
        signing.memory.history(ShowHistory())
    assert problem.value.code == "not-here"


def inspection(signing: Signing) -> Any:
    memory = signing.memory
    return doctor.Inspection(
        workspace=memory.workspace,
        open_index=lambda: catching_up.index_as_is(memory.workspace),
        rebuild_index=memory.reindex,
        fix=False,
        history_seconds=1,
    )


def forge(signing: Signing) -> str:
    """Change HEAD's message under its signature."""
    text = signing.at.git("cat-file", "commit", "HEAD").replace("by hand", "by foot")
    words = ("hash-object", "-t", "commit", "-w", "--stdin")
    forged = signing.at.world.git(signing.at.root, *words, stdin=text).stdout.strip()
    signing.at.git("reset", "-q", "--soft", forged)
    return forged


def test_a_bad_signature_is_an_error_of_the_doctor(signing: Signing):
    signing.settings()
    signing.add(ADA, signing.ada)
    sound = doctor.run_check("signatures", inspection(signing))
    assert [(each.level, each.message) for each in sound] == [("ok", "1 unsigned, 1 signed")]
    forged = forge(signing)
    findings = doctor.run_check("signatures", inspection(signing))
    assert [each.level for each in findings] == ["ok", "error"]
    assert forged[:10] in findings[1].message
    assert signing.sources()[ADA] == "inferred"
    newest, *_ = json_of(signing.memory.history(ShowHistory()))["revisions"]
    assert newest["signed"]["state"] == "bad"


def test_the_page_says_it_of_a_fact(signing: Signing):
    signing.settings("show")
    signing.add(ADA, signing.ada)
    forge(signing)
    fact = next(hit.fact for hit in signing.memory.facts(ListFacts()).facts if hit.text == ADA)
    assert "bad signature" in words(read(signing.memory, f"/fact/{fact}"))
    assert "bad signature" in words(read(signing.memory, "/day/2026-03-05"))


# Require


def test_what_nobody_signed_is_inferred_but_for_what_the_first_signed_commit_reaches(
    signing: Signing,
):
    signing.settings()
    assert signing.sources()[OLD] == "inferred", "nobody has signed here yet"
    signing.add(ADA, signing.ada)
    assert signing.sources() == {
        OLD: "user-stated",
        "lives in Oslo": "user-stated",
        ADA: "user-stated",
    }
    signing.add(KITS)
    signing.add("sings", signing.kit)
    forged = "x\n\nMdmem-Op: remember\nMdmem-Source: user-stated\nMdmem-Actor: ada"
    signing.add("owes Mallory money", message=forged)
    sources = signing.sources()
    assert (sources[OLD], sources[ADA], sources[KITS]) == ("user-stated", "user-stated", "inferred")
    assert sources["sings"] == "inferred", "the file of signers names no person by itself"
    assert sources["owes Mallory money"] == "inferred"
    signing.settings(more=f'people = ["{KIT.upper()}"]\n')
    assert signing.sources()["sings"] == "user-stated"
    signing.settings(more=f'me = ["{KIT}"]\n')
    assert signing.sources()["sings"] == "user-stated"
    signing.settings("show")
    assert signing.sources()[KITS] == "user-stated"
    signing.settings()
    assert signing.sources() == sources


def test_an_empty_signed_commit_is_a_beginning(signing: Signing):
    signing.settings()
    signing.at.git(*signing.ada.settings(), "commit", "-q", "--allow-empty", "-m", "from here on")
    signing.add(KITS)
    sources = signing.sources()
    assert (sources[OLD], sources[KITS]) == ("user-stated", "inferred")


def test_an_old_commit_that_is_merged_late_is_not_reached(signing: Signing):
    signing.settings()
    signing.at.git("switch", "-qc", "old")
    signing.add(KITS)
    signing.at.git("switch", "-q", "main")
    signing.at.write("USER.md", f"# User\n\n- {ADA}\n")
    signing.at.git("add", "-A")
    signing.at.git(*signing.ada.settings(), "commit", "-qm", "signed")
    assert signing.sources()[OLD] == "user-stated"
    signing.at.git(*signing.ada.settings(), "merge", "-q", "--no-ff", "-m", "merge", "old")
    sources = signing.sources()
    assert (sources[OLD], sources[ADA]) == ("user-stated", "user-stated")
    assert sources[KITS] == "inferred", "a merge vouches for none of what it brings"


def test_a_merge_by_a_stranger_does_not_move_the_beginning(signing: Signing):
    """Its first parent is the stranger's line, so that the next commit of Ada is the first there."""
    signing.settings()
    signed = (*signing.ada.settings(), "commit", "-q", "--allow-empty", "-m")
    signing.at.git(*signed, "from here on")
    signing.at.git("switch", "-qc", "strange", "HEAD^")
    signing.add("owes Mallory money")
    signing.at.git("merge", "-q", "--no-ff", "-m", "merge", "main")
    assert signing.sources()["owes Mallory money"] == "inferred"
    signing.at.git(*signed, "later")
    sources = signing.sources()
    assert (sources[OLD], sources["owes Mallory money"]) == ("user-stated", "inferred")


def test_keys_that_expired_or_that_nobody_knows(signing: Signing):
    write_signers(signing.signers, {EMAIL: signing.ada}, 'valid-before="20260301"')
    signing.settings()
    signing.add(ADA, signing.ada)
    signing.add(KITS, signing.kit)
    sources = signing.sources()
    assert set(sources.values()) == {"inferred"}
    states = {
        line["signed"]["state"]
        for line in json_of(signing.memory.blame(ShowBlame("Home")))["lines"]
        if line["text"] in (f"- {ADA}", f"- {KITS}")
    }
    assert states == {"unknown-key"}
    write_signers(signing.signers, {EMAIL: signing.ada})
    assert signing.sources()[ADA] == "user-stated", "its file says otherwise now"


def test_a_night_takes_an_unsigned_word_for_nobodys_but_an_agents(signing: Signing):
    signing.settings()
    logs = {"memory/2026-03-03.md": signing.ada, "memory/2026-03-04.md": None}
    for path, key in logs.items():
        signing.at.write(
            path, f"# {path[7:17]}\n\n## 09:00\n\n- [fact] likes tea on {path[7:17]}\n"
        )
        signing.at.git("add", "-A")
        signing.at.git(*(key.settings() if key else ()), "commit", "-qm", "by hand")
    catching_up.check_signatures(signing.at.workspace)
    with fresh_trail(signing.at.workspace) as trail:
        entries = read_log_entries(signing.at.workspace, trail, date(2026, 3, 5)).entries
    assert {each.path: each.origin for each in entries} == {
        "memory/2026-03-03.md": TextOrigin.PERSON,
        "memory/2026-03-04.md": TextOrigin.AGENT,
    }


def test_a_rebase_signs_again(signing: Signing):
    signing.settings()
    signing.at.git(*signing.ada.settings(), "commit", "-q", "--allow-empty", "-m", "from here on")
    signing.add(KITS)
    assert signing.sources()[KITS] == "inferred"
    signing.at.git(*signing.ada.settings(), "rebase", "-q", "--force-rebase", "HEAD~1")
    assert signing.sources()[KITS] == "user-stated", "who signs it says it"
    signing.at.git("rebase", "-q", "--force-rebase", "--no-gpg-sign", "HEAD~1")
    assert signing.sources()[KITS] == "inferred"


def test_a_write_is_warned_of_what_it_replaces_by_signatures(signing: Signing):
    signing.settings()
    signing.at.git(*signing.ada.settings(), "commit", "-q", "--allow-empty", "-m", "from here on")
    stated, inferred = WriteOptions(typed=True), WriteOptions()
    memory = signing.memory
    memory.apply(Remember("tea", key="drink", options=stated))
    signing.sources()
    assert not memory.apply(Remember("coffee", key="drink", options=inferred)).warnings
    signing.sign_all()
    memory.apply(Remember("tea", key="drink", options=stated))
    signing.sources()
    assert (
        "weaker-source" in memory.apply(Remember("coffee", key="drink", options=inferred)).warnings
    )


def test_a_machine_that_signs_for_its_agents_makes_them_no_persons(signing: Signing):
    signing.settings()
    trailers = "x\n\nMdmem-Op: remember\nMdmem-Source: user-stated\nMdmem-Actor: {}"
    signing.add(ADA, signing.ada, trailers.format("digest"))
    signing.add(KITS, signing.ada, trailers.format("agent/x"))
    sources = signing.sources()
    assert (sources[ADA], sources[KITS]) == ("user-stated", "inferred")


def test_pending_edits_that_mdmem_commits_by_itself_are_claimed(signing: Signing):
    signing.settings()
    signing.sign_all()
    memory, text = signing.memory, signing.at.read("MEMORY.md")
    signing.at.write("MEMORY.md", text.replace("- works", f"- {KITS}\n- works"))
    memory.apply(Remember(ADA, options=WriteOptions(typed=True)))
    sources = signing.sources()
    assert (sources[ADA], sources[KITS]) == ("user-stated", "inferred")
    assert "Mdmem-Claimed-By: mdmem" in signing.at.git("log", "-1", "--format=%B", "HEAD~1")
    text = signing.at.read("MEMORY.md")
    signing.at.write("MEMORY.md", text.replace("- works", "- sings\n- works"))
    memory.save(Save())
    assert signing.sources()["sings"] == "user-stated", "a person asked to save just that"


def test_what_an_agent_wrote_into_a_file_is_not_the_persons_by_a_sync(
    signing: Signing, tmp_path: Path
):
    at = signing.at
    origin, other = tmp_path / "origin.git", tmp_path / "other"
    at.git("init", "-q", "--bare", "-b", "main", origin)
    at.git("remote", "add", "origin", origin)
    at.git("push", "-qu", "origin", "main")
    at.git("clone", "-q", origin, other)
    text = (other / "MEMORY.md").read_text()
    (other / "MEMORY.md").write_text(text.replace("- lives", f"- {ADA}\n- lives"))
    at.world.git(other, "-c", "user.name=Ada", *signing.ada.settings(), "commit", "-qam", "there")
    at.world.git(other, "push", "-q")
    signing.sign_all()
    signing.settings()
    at.write("MEMORY.md", at.read("MEMORY.md").replace("- works", f"- {KITS}\n- works"))
    signing.memory.sync(Sync())
    sources = signing.sources()
    assert (sources[ADA], sources[KITS]) == ("user-stated", "inferred")
    assert "Mdmem-Claimed-By: mdmem" in at.git("log", "--format=%B")


def test_a_pgp_key_is_a_person_by_its_fingerprint_alone(signing: Signing, pgp: Callable[..., str]):
    fingerprint = pgp(f"Ada <{EMAIL}>")
    text = signing.at.read("MEMORY.md").replace("- works", f"- {ADA}\n- works")
    signing.at.write("MEMORY.md", text)
    signing.at.git(
        "-c", f"user.signingKey={fingerprint}", "commit", "-q", "-S", "-a", "-m", "signed"
    )
    signing.settings()
    assert signing.sources()[ADA] == "inferred", "what a key calls itself counts for nothing"
    signing.settings(more=f'people = ["{fingerprint}"]\n')
    assert signing.sources()[ADA] == "user-stated"
