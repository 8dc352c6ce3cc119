"""After a purge the words are nowhere any more; everything else is as it was."""

import shutil
from pathlib import Path

import pytest
from conftest import EMAIL, NAME
from vault import FACT, OTHER, WHEN, WORDS, Vault, no_transcripts
from vault import vault as vault
from workspaces import STATE

from mdmem.model.errors import FactProblem, RepositoryProblem
from mdmem.purge import history_rewrite, purging
from mdmem.purge.purging import PurgeNote
from mdmem.purge.target import PURGED_MARK


def raw(vault: Vault, commit: str) -> tuple[str, ...]:
    """A commit without its tree and parents."""
    return tuple(
        line
        for line in vault.git("cat-file", "commit", commit).split("\n")
        if not line.startswith(("tree ", "parent ", "gpgsig"))
    )


def test_a_history(vault: Vault) -> None:
    first = vault.id("HEAD~1")
    old = [raw(vault, c) for c in vault.git("rev-list", "--topo-order", "HEAD").split()]
    plan = vault.plan()
    assert (plan.files, plan.commits, plan.messages, plan.tags, plan.refs, plan.signatures) == (
        1,
        1,
        0,
        0,
        1,
        0,
    )
    done = vault.purge("asked for")
    assert vault.git("diff-files") == ""
    assert (done.plan, done.notices) == (plan, plan.notices)
    assert done.commit == vault.id("HEAD")
    assert vault.id("HEAD~2") == first
    assert [raw(vault, c) for c in vault.git("rev-list", "--topo-order", "HEAD~1").split()] == old
    assert vault.git(
        "show", "-s", "--format=%s|%an|%ad|%(trailers:unfold)", "--date=raw", "HEAD"
    ).split("\n")[:3] == [
        f"Purged a text from history|{NAME}|1780000000 +0200|Mdmem-Op: purge",
        "Mdmem-Reason: asked for",
        "",
    ]
    assert vault.id("HEAD^{tree}") == vault.id("HEAD~1^{tree}")
    assert (vault.root / "MEMORY.md").read_text() == OTHER + "- after\n"
    assert vault.git("status", "--porcelain") == ""
    assert vault.git("reflog") == ""
    vault.assert_clean()


def test_a_plan_changes_nothing_and_says_nothing(vault: Vault) -> None:
    vault.write("USER.md", WORDS)
    before = vault.tree_state(), vault.everything()
    assert WORDS not in repr(vault.plan())
    assert (vault.tree_state(), vault.everything()) == before


def test_branches_merges_and_renames(vault: Vault) -> None:
    vault.git("switch", "-q", "-c", "side")
    vault.git("mv", "MEMORY.md", "memory/moved.md")
    vault.commit("rename")
    vault.commit("taken out", memory__moved=OTHER)
    vault.git("switch", "-q", "main")
    vault.commit("elsewhere", memory__more=f"{WORDS} in prose\n")
    vault.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    vault.git("branch", "untouched", "HEAD~3")
    graph = vault.git("log", "--graph", "--format=%s|%ae|%ad|%cd", "--all")
    kept = vault.id("untouched")
    vault.purge()
    assert vault.git("log", "--graph", "--format=%s|%ae|%ad|%cd", "main~1", "side") == graph
    assert vault.id("untouched") == kept
    assert vault.git("log", "-1", "--format=%s", "main^^2").strip() == "taken out"
    assert vault.git("diff-tree", "--name-status", "main^^2", "main^^2^").strip() == "M\tmemory"
    assert vault.git("show", "main:memory/more.md") == "[PURGED] in prose\n"
    vault.assert_clean()


def test_files_and_folders_of_all_modes(vault: Vault) -> None:
    """Old versions of git wrote modes that are not written any more."""
    blob = vault.git("hash-object", "-w", "--stdin", stdin=f"a\n{WORDS}\nb\n").strip()

    def write_tree(*rows: tuple[str, str]) -> str:
        tree = b"".join(
            mode_and_name.encode() + b"\0" + bytes.fromhex(name) for mode_and_name, name in rows
        )
        (vault.root / ".git" / "odd-tree").write_bytes(tree)
        return vault.git("hash-object", "-t", "tree", "-w", "--literally", ".git/odd-tree").strip()

    inner = write_tree(("100664 old.txt", blob), ("100755 run.txt", blob))
    tree = write_tree(
        ("040000 deep", inner), ("100644 new.txt", blob), ("160000 other", vault.id("HEAD"))
    )
    vault.git("update-ref", "refs/heads/odd", vault.git("commit-tree", tree, "-m", "odd").strip())
    done = vault.purge()
    assert any("Submodules" in notice for notice in done.notices)
    for path in ("deep/old.txt", "deep/run.txt", "new.txt"):
        assert vault.git("cat-file", "blob", f"odd:{path}") == f"a\n{PURGED_MARK}\nb\n"
    assert [row.split()[0] for row in vault.git("ls-tree", "odd").splitlines()] == [
        "040000",
        "100644",
        "160000",
    ]
    assert WORDS.encode() not in vault.everything()


def test_a_ref_of_a_text(vault: Vault) -> None:
    """No path says that it is Markdown, as which it is purged elsewhere."""
    vault.git("update-ref", "refs/texts/a", "HEAD:MEMORY.md")
    vault.purge()
    assert vault.git("cat-file", "blob", "refs/texts/a") == f"{OTHER}- {PURGED_MARK}\n- after\n"
    vault.assert_clean()


def test_a_commit_that_becomes_empty_stays(vault: Vault) -> None:
    vault.commit("only it", MEMORY=f"{OTHER}- after\n")
    vault.commit("again", MEMORY=f"{OTHER}- {WORDS}\n- after\n")
    vault.purge()
    assert vault.git("log", "--format=%s").split("\n")[1:4] == ["again", "only it", "hold it"]
    assert vault.git("diff", "HEAD~3", "HEAD") == ""


@pytest.mark.parametrize("signature", ["gpgsig", "gpgsig-sha256"])
def test_messages_and_headers(vault: Vault, signature: str) -> None:
    text = vault.git("cat-file", "commit", "HEAD")
    head, _, _ = text.partition("\n\n")
    commit = "\n".join(
        [
            head,
            f"{signature} -----BEGIN PGP SIGNATURE-----",
            " ",
            " abc",
            " -----END PGP SIGNATURE-----",
            "odd-header x",
            " y",
        ]
    )
    commit += f"\n\nsubject {WORDS}\n\n+ - {WORDS}\n\nMdmem-Section: A > {WORDS}\nMdmem-Op: x\n"
    signed = vault.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=commit).strip()
    vault.git("reset", "-q", "--hard", signed)
    vault.git(
        "-c",
        "i18n.commitEncoding=ISO-8859-1",
        "commit",
        "-q",
        "--allow-empty",
        "-F",
        "-",
        stdin=f"latin {WORDS}",
    )
    plan = vault.plan()
    assert (plan.messages, plan.signatures) == (2, 1)
    assert any("1 signature " in notice for notice in plan.notices)
    vault.purge()
    assert vault.git("cat-file", "commit", "HEAD~2").split("\n")[4:] == [
        *(
            "odd-header x",
            " y",
            "",
            "subject [PURGED]",
            "",
            "+ - [PURGED]",
            "",
            "Mdmem-Section: A > [PURGED]",
            "Mdmem-Op: x",
            "",
        ),
    ]
    vault.assert_clean()


def test_a_message_alone(vault: Vault) -> None:
    vault.git("reset", "-q", "--hard", "HEAD~1")
    tree, first = vault.id("HEAD^{tree}"), vault.id("HEAD~1")
    vault.git("commit", "-q", "--amend", "-m", f"about {WORDS}")
    vault.purge()
    assert (vault.id("HEAD^{tree}"), vault.id("HEAD~2")) == (tree, first)
    assert vault.git("log", "-1", "--format=%s", "HEAD~1").strip() == f"about {PURGED_MARK}"
    vault.assert_clean()


def test_another_encoding(vault: Vault) -> None:
    path = vault.root / ".git" / "message"
    path.write_bytes(f"été {WORDS} ç\n".encode("latin-1"))
    vault.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-F", path)
    path.unlink()
    vault.purge()
    assert (
        vault.git("log", "-1", "--format=%s|%e", "HEAD~1").strip()
        == f"été {PURGED_MARK} ç|ISO-8859-1"
    )
    assert WORDS.encode("latin-1") not in vault.everything()


def test_tags(vault: Vault) -> None:
    vault.git("tag", "light")
    vault.git("tag", "-a", "-m", f"about {WORDS}", "words")
    vault.git("tag", "-a", "-m", "plain", "plain")
    vault.git("tag", "-a", "-m", "old", "old", "HEAD~1")
    vault.git("tag", "-a", "-m", "of a tag", "nested", "plain")
    signed = (
        vault.git("cat-file", "tag", "plain")
        + "-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----\n"
    )
    vault.git(
        "update-ref",
        "refs/tags/signed",
        vault.git("hash-object", "-t", "tag", "-w", "--stdin", stdin=signed).strip(),
    )
    old = vault.id("old")
    plan = vault.plan()
    assert (plan.tags, plan.refs, plan.signatures) == (4, 6, 1)
    vault.purge()
    tip = vault.id("HEAD~1")
    assert {
        vault.id(f"{name}^{{commit}}") for name in ("light", "words", "plain", "nested", "signed")
    } == {tip}
    assert vault.id("old") == old
    assert vault.git("cat-file", "tag", "words").endswith(f"\n\nabout {PURGED_MARK}\n")
    assert vault.git("cat-file", "tag", "signed").endswith("\n\nplain\n")
    assert f"tagger {NAME} <{EMAIL}>" in vault.git("cat-file", "tag", "plain")
    vault.assert_clean()


def test_the_stash(vault: Vault) -> None:
    for number, words in enumerate((f"a {WORDS}", "b", "c")):
        vault.write("MEMORY.md", f"{OTHER}- {WORDS}\n- after\n- {words}\n")
        vault.write(f"new{number}.md", WORDS)
        vault.git(
            "stash",
            "push",
            "-q",
            "-u",
            "-m",
            f"stash {words}",
            GIT_COMMITTER_DATE=f"@{1700000000 + number} +0000",
        )
    vault.purge()
    dates = vault.git("stash", "list", "--format=%gd", "--date=raw").splitlines()
    assert dates == [f"stash@{{{number} +0000}}" for number in (1700000002, 1700000001, 1700000000)]
    assert vault.git("stash", "list").splitlines() == [
        "stash@{0}: On main: stash c",
        "stash@{1}: On main: stash b",
        f"stash@{{2}}: On main: stash a {PURGED_MARK}",
    ]
    assert vault.git("for-each-ref", "refs/mdmem") == ""
    vault.assert_clean()
    vault.git("stash", "pop", "-q", "stash@{1}")
    assert (vault.root / "MEMORY.md").read_text() == f"{OTHER}- after\n- b\n"
    assert (vault.root / "new1.md").read_text() == PURGED_MARK


def test_no_graph_of_the_old_commits_stays(vault: Vault) -> None:
    old = vault.id("HEAD")
    vault.git("commit-graph", "write", "--reachable", "--split")
    graphs = vault.root / ".git" / "objects" / "info" / "commit-graphs"
    assert bytes.fromhex(old) in b"".join(path.read_bytes() for path in graphs.iterdir())
    vault.purge()
    assert bytes.fromhex(old) not in b"".join(
        path.read_bytes() for path in graphs.parent.rglob("*") if path.is_file()
    )
    vault.assert_clean()


def test_notes_on_other_commits_stay_as_they_are(vault: Vault) -> None:
    vault.git("notes", "add", "-m", "old", "HEAD~1")
    before = vault.id("refs/notes/commits")
    vault.purge()
    assert vault.id("refs/notes/commits") == before


def test_many_notes_are_in_folders(vault: Vault) -> None:
    """From some hundred notes on, git divides their names into folders."""
    index, name, other = str(vault.root / ".git" / "of-notes"), vault.id("HEAD"), vault.id("HEAD~1")
    blob = vault.git("hash-object", "-w", "--stdin", stdin="a note\n").strip()
    for path in (
        f"{name[:2]}/{name[2:]}",
        f"{other[:2]}/{other[2:]}",
        f"{other[:2]}.txt",
        "\udcff",
    ):  # the last two are no notes
        vault.git(
            "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", GIT_INDEX_FILE=index
        )
    tree = vault.git("write-tree", GIT_INDEX_FILE=index).strip()
    vault.git(
        "update-ref", "refs/notes/commits", vault.git("commit-tree", "-m", "notes", tree).strip()
    )
    assert vault.git("notes", "show", "HEAD") == "a note\n"
    vault.purge()
    assert (
        vault.git("notes", "show", "HEAD~1") == vault.git("notes", "show", "HEAD~2") == "a note\n"
    )
    vault.assert_clean()


def test_notes_follow_their_commits(vault: Vault) -> None:
    vault.git("notes", "add", "-m", f"note {WORDS}")
    vault.git("notes", "add", "-m", "old", "HEAD~1")
    vault.purge()
    assert vault.git("notes", "show", "HEAD~1").strip() == f"note {PURGED_MARK}"
    assert vault.git("notes", "show", "HEAD~2").strip() == "old"
    assert (
        vault.git("log", "-1", "--format=%B", "refs/notes/commits")
        == "Notes follow their commits\n\n"
    )
    vault.assert_clean()


def test_other_edits_stay_as_they_were(vault: Vault) -> None:
    held = f"{OTHER}- {WORDS}\n- after\n"
    vault.write("MEMORY.md", held + "- staged\n")
    vault.git("add", "MEMORY.md")
    vault.write("MEMORY.md", held + f"- staged\n- not staged {WORDS}\n")
    vault.write("memory/topic.md", "# Topic\n\n- b\n- changed\n")
    vault.write("new.md", f"new {WORDS}\n")
    vault.write("kept.md", "kept\n")
    assert vault.plan().files == 2
    vault.purge()
    assert vault.git("show", ":MEMORY.md") == OTHER + "- after\n- staged\n"
    assert (
        vault.root / "MEMORY.md"
    ).read_text() == f"{OTHER}- after\n- staged\n- not staged {PURGED_MARK}\n"
    assert (vault.root / "new.md").read_text() == f"new {PURGED_MARK}\n"
    assert vault.git("status", "--porcelain").splitlines() == [
        "MM MEMORY.md",
        " M memory/topic.md",
        "?? kept.md",
        "?? new.md",
    ]
    vault.assert_clean()


def test_only_in_the_reflog(vault: Vault) -> None:
    """The words were removed by hand, with `git commit --amend`: no commit of a branch has them,
    but the repository does.
    """
    vault.commit("hold it", MEMORY=OTHER)
    vault.git("reset", "-q", "--soft", "HEAD~2")
    vault.git("commit", "-q", "--allow-empty", "-m", "again")
    plan = vault.plan()
    assert (plan.has_changes, plan.files, plan.commits, plan.loose) == (True, 0, 0, 1)
    assert plan.notices[0] == "It is in 1 object that only reflogs, if anything, still refer to."
    vault.purge()
    assert vault.git("log", "--format=%s").splitlines() == [
        "Purged a text from history",
        "again",
        "other",
        "seed",
    ]
    vault.assert_clean()


def test_only_in_what_follows_a_remote(vault: Vault) -> None:
    vault.git("update-ref", "refs/remotes/origin/main", "HEAD")
    vault.git("reset", "-q", "--hard", "HEAD~1")
    before = vault.tree_state()
    for attempt in (vault.plan, vault.purge):
        with pytest.raises(FactProblem, match="from here: 1 file or object") as refused:
            attempt()
        assert "git log --remotes" in refused.value.hint
    assert vault.tree_state() == before


def test_a_folder_that_became_a_file(vault: Vault) -> None:
    (vault.root / "memory" / "topic.md").unlink()
    (vault.root / "memory").rmdir()
    vault.write("memory", f"a file now, {WORDS}")
    vault.purge()
    assert (vault.root / "memory").read_text() == f"a file now, {PURGED_MARK}"
    vault.assert_clean()


def test_files_that_git_ignores(vault: Vault) -> None:
    vault.commit("clean", MEMORY=OTHER)
    vault.write(".gitignore", "*.tmp\nprivate/\n*.log\n")
    ignored = [
        vault.write(name, f"- {WORDS}\n")
        for name in ("private/x.md", "memory/.mdmem-0123456789abcdef.tmp", "other.log")
    ]
    vault.purge()
    assert [path.read_text() for path in ignored] == ["", f"- {PURGED_MARK}\n", f"- {WORDS}\n"]


def test_memory_files_that_are_not_the_repositorys(vault: Vault, tmp_path: Path) -> None:
    inner = vault.root / "memory" / "inner"
    vault.world.git(vault.root, "init", "-q", inner)
    elsewhere = [tmp_path / "notes.md", inner / "notes.md"]
    for path in elsewhere:
        path.write_text(f"- {WORDS}\n")
    scope = vault.scope(*elsewhere, vault.root / "MEMORY.md", vault.root / "memory" / "topic.md")
    done = purging.purge_everywhere(scope, WORDS, FACT, PurgeNote(WHEN), no_transcripts)
    assert "Not removed from 2 memory files outside this repository." in done.notices
    assert [path.read_text() for path in elsewhere] == [f"- {WORDS}\n"] * 2
    assert not any("memory files" in notice for notice in vault.plan().notices)
    vault.assert_clean()


def test_files_that_cannot_be_rewritten(vault: Vault) -> None:
    (vault.root / "wide.txt").write_bytes(WORDS.encode("utf-16-le"))
    (vault.root / "long.txt").write_bytes(b"x\n" * 2_500_001 + WORDS.encode())
    assert any("from 2 files of the work tree" in notice for notice in vault.plan().notices)


def test_the_id_is_spoken_of_only_where_it_stands(vault: Vault) -> None:
    assert not any("The fact's id" in notice for notice in vault.plan().notices)


def test_who_and_why(vault: Vault) -> None:
    note = PurgeNote(WHEN, actor="agent/main", session=f"about {WORDS}", reason="asked\nfor")
    purging.purge_everywhere(vault.scope(), WORDS, FACT, note, no_transcripts)
    assert vault.git("log", "-1", "--format=%b").splitlines() == [
        *(
            "Mdmem-Op: purge",
            "Mdmem-Actor: agent/main",
            f"Mdmem-Session: about {PURGED_MARK}",
            "Mdmem-Reason: asked for",
            "",
        ),
    ]


def test_only_uncommitted(vault: Vault) -> None:
    vault.git("reset", "-q", "--hard", "HEAD~1")
    tip = vault.id("HEAD")
    vault.write("MEMORY.md", f"{OTHER}- {WORDS}\n")
    vault.git("add", "-A")
    plan = vault.plan()
    assert plan.has_changes
    assert (plan.files, plan.commits, plan.refs) == (1, 0, 0)
    vault.purge()
    assert vault.id("HEAD~1") == tip
    assert vault.git("status", "--porcelain") == ""
    vault.assert_clean()


def test_what_git_leaves_about(vault: Vault) -> None:
    folder = vault.root / ".git"
    vault.scope().workspace.ensure_state()
    vault.git("commit", "-q", "--allow-empty", "-m", WORDS)
    vault.git("reset", "-q", "--hard", "HEAD~1")
    vault.git("commit-graph", "write", "--reachable")
    leftovers = [
        folder / name
        for name in ("COMMIT_EDITMSG", "SQUASH_MSG", "rr-cache/ab/preimage", "lost-found/other/ab")
    ]
    for path in (*leftovers, vault.root / STATE / "index" / "x", vault.root / STATE / "a.db"):
        vault.write(str(path), f"x {WORDS}\n")
    vault.write(f"{STATE}/events.1.jsonl", WORDS)
    for name in ("lock", "events.jsonl"):
        vault.write(f"{STATE}/{name}", "")
    vault.purge()
    assert (folder / "SQUASH_MSG").read_text() == f"x {PURGED_MARK}\n"
    assert not (folder / "ORIG_HEAD").exists()
    assert sorted(p.name for p in (vault.root / STATE).iterdir()) == [
        "events.jsonl",
        "index.lock",
        "lock",
        "messages.lock",
        "trail.lock",
        "workspace",
    ]
    vault.assert_clean()


def test_what_is_reported_and_left(vault: Vault) -> None:
    vault.write(f"{WORDS}.txt", "named\n")
    (vault.root / "binary").write_bytes(b"\0" + WORDS.encode())
    (vault.root / "link").symlink_to(WORDS)
    vault.git("add", "-A")
    vault.git("-c", f"user.name={WORDS}", "commit", "-q", "-m", "x")
    vault.git("branch", WORDS.replace(" ", "-"))
    vault.git("commit", "-q", "--allow-empty", "-m", f"y\n\nMdmem-Supersedes: {FACT} -")
    vault.git("remote", "add", "origin", "nowhere")
    vault.git("update-ref", "refs/remotes/origin/main", "HEAD")
    done = vault.purge()
    notices = " ".join(done.notices)
    for words in (
        *(
            "1 remote-tracking ref of 1 remote:",
            "1 binary object.",
            "1 name of files",
            "the author or committer of 1 commit.",
        ),
        *(
            "Not removed from other clones",
            "objects in this repository still contain it",
            "Reflogs are emptied",
            "The fact's id",
        ),
    ):
        assert words in notices
    assert WORDS not in notices
    assert vault.id("refs/remotes/origin/main") != vault.id("HEAD~1")


@pytest.mark.parametrize(("message", "is_kept"), [("plain", True), (f"about {WORDS}", False)])
def test_a_merge_of_a_tag(vault: Vault, message: str, is_kept: bool) -> None:
    """git keeps a signed tag in the merge."""
    vault.git("switch", "-q", "-c", "side", "HEAD~")
    vault.commit("aside", side="x\n")
    vault.git("tag", "-a", "-m", message, "v1")
    signed = (
        vault.git("cat-file", "tag", "v1")
        + "-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----\n"
    )
    vault.git(
        "update-ref",
        "refs/tags/v1",
        vault.git("hash-object", "-t", "tag", "-w", "--stdin", stdin=signed).strip(),
    )
    vault.git("switch", "-q", "main")
    vault.git("merge", "-q", "--no-ff", "-m", "merge", "v1")
    assert "\nmergetag " in vault.git("cat-file", "commit", "HEAD")
    vault.purge()
    merge = vault.git("cat-file", "commit", "HEAD~")
    assert ("\nmergetag " in merge) == is_kept
    assert merge.endswith("\n\nmerge\n")
    assert vault.git("show", "-s", "--format=%an <%ae>", "HEAD~") == f"{NAME} <{EMAIL}>\n"
    vault.assert_clean()


def test_the_words_are_in_no_argument(vault: Vault, tmp_path: Path) -> None:
    """A git before the real one writes down what it is called with."""
    real = shutil.which("git")
    log = tmp_path / "arguments"
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{log}"\nexec "{real}" "$@"\n')
    shim.chmod(0o755)
    vault.write("MEMORY.md", WORDS)
    vault.git("stash", "push", "-q", "-m", WORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{shim.parent}:{vault.world.environment['PATH']}")
        vault.purge(f"because of {WORDS}")
    text = log.read_text()
    assert "update-ref" in text
    assert "stash store" in text
    assert WORDS not in text
    vault.assert_clean()


def test_objects_in_many_packs(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_rewrite, "_CHUNK_BYTES", 200)
    for number in range(5):
        vault.commit(f"{number}", MEMORY=f"{OTHER}- {WORDS}\n- {number}\n")
    vault.purge()
    assert vault.git("log", "--format=%s").split()[5:] == [
        "4",
        "3",
        "2",
        "1",
        "0",
        "hold",
        "it",
        "other",
        "seed",
    ]
    vault.assert_clean()


@pytest.mark.parametrize(
    ("option", "flag"), [("--skip-worktree", "S"), ("--assume-unchanged", "h")]
)
def test_flags_in_the_index_stay(vault: Vault, option: str, flag: str) -> None:
    vault.git("update-index", option, "MEMORY.md")
    vault.purge()
    assert vault.git("ls-files", "-v").splitlines() == [f"{flag} MEMORY.md", "H memory/topic.md"]
    vault.assert_clean()


def test_line_ends_that_git_converts(vault: Vault) -> None:
    vault.write(".gitattributes", "* text eol=crlf\n")
    vault.git("rm", "-q", "--cached", "MEMORY.md")
    vault.commit("convert", MEMORY=f"{OTHER}- {WORDS}\n- secret plan\n  of Zoë, wrapped\n")
    (vault.root / "MEMORY.md").unlink()
    vault.git("checkout", "-q", "--", "MEMORY.md")
    vault.purge()
    assert (vault.root / "MEMORY.md").read_bytes() == f"{OTHER}- {PURGED_MARK}, wrapped\n".replace(
        "\n", "\r\n"
    ).encode()
    assert vault.git("status", "--porcelain") == ""
    vault.assert_clean()


def test_odd_names(vault: Vault) -> None:
    odd = 'a "b\nc\td é'
    vault.write(odd, f"x {WORDS}\n")
    vault.git("add", "-A")
    vault.git("commit", "-q", "-m", "odd")
    vault.git("update-ref", 'refs/heads/"quoted', "HEAD")
    vault.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    vault.purge()
    assert vault.git("show", f"HEAD:{odd}") == f"x {PURGED_MARK}\n"
    assert vault.id('refs/heads/"quoted') == vault.id("HEAD~1")
    assert vault.git("symbolic-ref", "refs/heads/alias").strip() == "refs/heads/main"
    vault.assert_clean()


def test_many_files_make_the_plan_ask(vault: Vault) -> None:
    for number in range(100):
        vault.write(f"n{number}.txt", WORDS)
    plan = vault.plan()
    assert plan.files == 101
    assert plan.notices[0] == "It is in 101 files of the work tree: are these the right words?"


def test_a_hook_that_refuses(vault: Vault) -> None:
    hook = vault.write(".git/hooks/reference-transaction", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    before = vault.tree_state()
    with pytest.raises(RepositoryProblem) as refused:
        vault.purge()
    assert refused.value.code == "repository-busy"
    assert vault.tree_state() == before
