"""The doctor's checks of the memory files, of their names and links, and of secrets in them and in
history.
"""

from pathlib import Path

import pytest
from conftest import World
from examination import desk as desk
from examination import examine, findings_of, only_finding, rebuild
from examination import holder as holder
from workspaces import TOKEN, Desk
from workspaces import desk as make_desk

from mdmem.health import doctor
from mdmem.health.doctor import Finding, Level, exit_status
from mdmem.model.errors import verb

KEY = "AKIA" + "Q3ZT7NXKMW5CR2YF"


# Memory files.


def test_a_file_that_cannot_be_indexed(desk: Desk):
    desk.write("memory/odd.md", b"\xff\xfe")
    desk.commit()
    rebuild(desk, False)
    assert "memory/odd.md" in only_finding(desk, "index").message
    assert only_finding(desk, "files").hint == verb("check")


def test_doubtful_contents_are_counted(desk: Desk):
    desk.write("memory/twice.md", "# T\n\n## A\n\n## A\n\n- x\n- x\n")
    desk.commit()
    assert only_finding(desk, "files").message.endswith("2 warnings about their content")


def test_front_matter_over_a_limit_is_named(desk: Desk):
    desk.write(
        "memory/many.md", "---\ntags: &a [x]\nmore: *a\n---\n# T\n\n- the zebra is striped\n"
    )
    desk.commit()
    warning = next(each for each in findings_of(desk, "files") if each.level is Level.WARNING)
    assert warning.message == (
        "memory/many.md:1: the front matter has an alias (*), so none of it is read"
    )


def test_conflict_markers_are_an_error(desk: Desk):
    desk.write("memory/tea.md", "- x\n<<<<<<< a\n- tea\n=======\n- coffee\n>>>>>>> b\n")
    desk.commit()
    finding = only_finding(desk, "files")
    assert (finding.level, finding.message) == (
        Level.ERROR,
        "memory/tea.md:2: unresolved conflict markers",
    )


def test_both_curated_files(desk: Desk):
    desk.write("memory.md", "# Other\n")
    desk.commit()
    assert "both MEMORY.md and memory.md" in only_finding(desk, "files").message


def test_files_that_git_does_not_keep(desk: Desk):
    desk.write(".gitignore", "private.md\n")
    desk.commit()
    desk.write("memory/private.md", "- x\n")
    desk.write("memory/ne:w é.md", "- x\n")
    new, private = sorted(findings_of(desk, "files"), key=lambda finding: finding.message)
    assert (new.level, new.message) == (Level.NOTE, "memory/ne:w é.md is not committed yet")
    assert (private.level, private.message) == (
        Level.WARNING,
        "memory/private.md is ignored by .gitignore",
    )


def test_a_name_that_means_something_to_git(world: World, tmp_path: Path):
    """In a folder that is called memory every Markdown file is memory."""
    root = tmp_path / "memory"
    root.mkdir()
    world.git(root, "init", "-q")
    desk = Desk(world, root)
    for name in ("MEMORY.md", ":!a.md", "\\b.md"):
        desk.write(name, "- x\n")
    desk.write(".gitignore", ":!a.md\n")
    assert [finding.message.split(" is ")[:2] for finding in findings_of(desk, "files")] == [
        [":!a.md", "ignored by .gitignore"],
        ["MEMORY.md", "not committed yet"],
        ["\\b.md", "not committed yet"],
    ]


def test_links_among_memory_files(desk: Desk, tmp_path: Path):
    desk.write("memory/real.md", "- x\n")
    desk.write("README.md", "not memory")
    for link, target in {
        **{"memory/link.md": "real.md", "memory/folder": "..", "USER.md": "nowhere"},
        **{"other.md": "README.md", "memory/link.txt": "real.md"},
    }.items():
        (desk.root / link).symlink_to(target)
    desk.commit()
    assert {
        finding.message.split(" is a symbolic link")[0] for finding in findings_of(desk, "files")
    } == {
        "memory/link.md",
        "memory/folder",
        "USER.md",
    }


def test_a_repository_among_memory_files(desk: Desk):
    desk.write("memory/sub/n.md", "- n\n")
    desk.git("init", "-q", "memory/sub")
    assert (
        only_finding(desk, "files").message
        == "memory/sub is a repository of its own: nothing in it is committed here"
    )


def test_a_memory_folder_that_is_a_link(desk: Desk, tmp_path: Path):
    (desk.root / "memory").symlink_to(tmp_path)
    assert [finding.message.split()[0] for finding in findings_of(desk, "files")] == ["memory"]


@pytest.mark.parametrize(
    "pair", [("memory/Ada.md", "memory/ada.md"), ("memory/caf\u00e9.md", "memory/cafe\u0301.md")]
)
def test_names_that_are_one_on_other_systems(pair: tuple[str, str], desk: Desk):
    for path in pair:
        desk.write(path, "- x\n")
    desk.commit()
    if len(list((desk.root / "memory").iterdir())) < 2:
        pytest.skip("this system has one file for the two names")
    assert all(path in only_finding(desk, "files").message for path in pair)


# Secrets.


def test_a_secret_in_a_file(desk: Desk):
    desk.write("memory/a.md", f"# A\n\n- the token is {TOKEN}\n")
    findings = examine(desk)
    (finding,) = (each for each in findings if each.check == "secrets")
    assert (finding.level, finding.message) == (Level.ERROR, "github-token in memory/a.md:3")
    assert exit_status(findings) == 1
    assert TOKEN not in str(findings)


def test_an_allowed_line(desk: Desk):
    desk.write("memory/a.md", f"- {TOKEN} <!-- mdmem: allow secret -->\n")
    desk.commit()
    assert findings_of(desk, "secrets") == findings_of(desk, "history") == []


def leak(desk: Desk, path: str, text: str, message: str = "by hand") -> str:
    """Commit a file, and then that it holds nothing; the first commit."""
    desk.write(path, text)
    commit = desk.commit(message)
    desk.write(path, "# Nothing\n")
    desk.commit()
    return commit[:10]


def test_a_secret_in_history(desk: Desk):
    commit = leak(desk, "memory/a.md", f"# A\n\n- x\n\n- {TOKEN}\n")
    findings = examine(desk)
    assert [each for each in findings if each.check == "secrets"] == [
        Finding(check="secrets", level=Level.OK, message="none found in the memory files")
    ]
    (finding,) = (each for each in findings if each.check == "history")
    assert (finding.level, finding.message) == (
        Level.WARNING,
        f"github-token in commit {commit}, memory/a.md:5",
    )
    assert TOKEN not in str(findings)


def test_a_secret_among_lines_that_take_the_place_of_others(desk: Desk):
    desk.write("memory/a.md", "# A\n\n- one\n- two\n- three\n\n## B\n\n- four")
    desk.commit()
    commit = leak(desk, "memory/a.md", f"# A\n\n- eins\n- {TOKEN}\n\n## B\n\n- {KEY}\n")
    messages = sorted(finding.message for finding in findings_of(desk, "history"))
    assert messages == [
        f"aws-access-key in commit {commit}, memory/a.md:8",
        f"github-token in commit {commit}, memory/a.md:4",
    ]


def test_where_a_secret_came_in_first(desk: Desk):
    first = leak(desk, "memory/a.md", f"- {TOKEN}\n")
    leak(desk, "memory/b.md", f"- {TOKEN}\n")
    assert (
        only_finding(desk, "history").message
        == f"github-token in commit {first}, memory/a.md:1, the first of 2 places"
    )


def test_a_key_over_several_lines_in_history(desk: Desk):
    body = "\n".join(["MIIEowIBAAKCAQEAx3Zq8vT1bN6kW9mR4cY7fJ2hD5gL0pS8uEiQaXoBnVtCyHwK"] * 5)
    commit = leak(
        desk,
        "memory/a.md",
        f"# A\n\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n",
    )
    assert only_finding(desk, "history").message == f"private-key in commit {commit}, memory/a.md:3"


def test_a_secret_in_a_message(desk: Desk):
    desk.write("MEMORY.md", "# Memory\n\n- y\n")
    commit = desk.commit(f"MEMORY.md: append\n\n+ {KEY}\n\nMdmem-Op: append")[:10]
    assert (
        only_finding(desk, "history").message
        == f"aws-access-key in the message of commit {commit}:3"
    )


def test_a_secret_in_a_mark_that_changes_no_file(desk: Desk):
    commit = desk.commit(f"MEMORY.md: forget\n\nMdmem-Op: forget\nMdmem-Reason: {KEY}")[:10]
    assert (
        only_finding(desk, "history").message
        == f"aws-access-key in the message of commit {commit}:4"
    )


def test_a_secret_that_came_in_with_a_merge(desk: Desk):
    desk.git("checkout", "-q", "-b", "other")
    desk.write("memory/b.md", "- b\n")
    desk.commit()
    desk.git("checkout", "-q", "main")
    desk.git("merge", "-q", "--no-ff", "--no-commit", "other")
    commit = leak(desk, "memory/a.md", f"- {TOKEN}\n")
    assert (
        only_finding(desk, "history").message == f"github-token in commit {commit}, memory/a.md:1"
    )


def test_a_secret_on_another_branch_and_in_an_odd_file(desk: Desk):
    desk.git("checkout", "-q", "-b", "other")
    commit = leak(desk, "memory/tab\there.MD", f"++ a\n-- b\n@@ -1 +1 @@\n- {TOKEN}\n\\ c")
    desk.git("checkout", "-q", "main")
    assert (
        only_finding(desk, "history").message
        == f'github-token in commit {commit}, "memory/tab\\there.MD":4'
    )


def test_a_secret_in_the_first_commit_of_a_folder_that_is_a_workspace(
    world: World, repository: Path
):
    desk = make_desk(world, repository, "deep/er", f"# Memory\n\n- {TOKEN}\n")
    (repository / "outside.md").write_text(f"- {KEY}\n")
    desk.world.git(repository, "add", "-A")
    commit = desk.git("rev-parse", "HEAD").strip()[:10]
    desk.commit()
    assert only_finding(desk, "history").message == f"github-token in commit {commit}, MEMORY.md:3"


def test_no_time_for_all_of_history(desk: Desk):
    leak(desk, "memory/a.md", f"- {TOKEN}\n")
    (finding,) = (each for each in examine(desk, history_seconds=0) if each.check == "history")
    assert (finding.level, finding.message) == (
        Level.NOTE,
        "looked at 0 of 3 commits, newest first; there was no time for more",
    )


def test_history_in_pieces(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    leak(desk, "memory/a.md", f"- {TOKEN}\n")
    whole = only_finding(desk, "history")
    monkeypatch.setattr(doctor.contents, "_COMMITS_AT_ONCE", 1)
    assert only_finding(desk, "history") == whole


def test_many_secrets_are_not_all_named(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor.contents, "_MOST_NAMED", 1)
    leak(desk, "memory/a.md", f"- {TOKEN}\n- {KEY}\n")
    first, rest = findings_of(desk, "history")
    assert first.message.startswith("github-token")
    assert rest.message == "1 more secret not listed"
