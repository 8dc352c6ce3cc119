"""The command line at large: workspaces made and named, hooks, help, and any text at all."""

import re

from commandline import TOKEN, Shell, elsewhere
from conftest import EMAIL, NAME
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mdmem import __version__


class TestOthers:
    def test_init(self, shell: Shell):
        done = shell.run("init", str(shell.world.home / "new"))
        assert re.fullmatch(
            r"created workspace \S+/new \(MEMORY.md, USER.md, SOUL.md, IDENTITY.md, "
            r"mdmem.toml\) \(commit [0-9a-f]{10}\)\n",
            done.out,
        )
        assert "mdmem <mdmem@localhost>" in done.err
        again = shell.run("init", str(shell.world.home / "new"), "--json").answer
        assert set(again) == {
            "workspace",
            "adopted",
            "made_repository",
            "written",
            "took_out",
            "commit",
            "hooks",
            "merging",
            "notes",
            "project",
            "dry_run",
        }
        assert (again["made_repository"], again["written"], again["commit"], again["hooks"]) == (
            False,
            [],
            None,
            [],
        )

    def test_init_adopts_and_alters_nothing(self, shell: Shell):
        before = shell.snapshot()
        assert shell.run("init").status == 0
        assert shell.snapshot() == before

    def test_save(self, shell: Shell):
        shell.write("memory/new.md", "- new\n")
        assert re.fullmatch(
            r"saved MEMORY.md, memory/new.md \(commit [0-9a-f]{10}\)\n",
            shell.run("save", "-m", "by hand").out,
        )
        assert (
            shell.git("log", "-1", "--format=%an <%ae> %s").strip() == f"{NAME} <{EMAIL}> by hand"
        )
        assert shell.run("save").out == "nothing to save\n"
        shell.write("memory/new.md", "# Newer\n")
        assert shell.run("save", "--actor", "agent/x").status == 0
        assert "Mdmem-Claimed-By: agent/x" in shell.git("log", "-1", "--format=%B")
        assert shell.run("save", "--json").answer == {"changed": False, "commit": None, "paths": []}

    def test_save_lets_through_what_is_allowed(self, shell: Shell):
        shell.write("memory/new.md", f"- {TOKEN}\n")
        assert shell.run("save").status == 1
        assert shell.run("save", "--allow", "secret").out.startswith(
            "saved MEMORY.md, memory/new.md "
        )

    def test_hooks(self, shell: Shell):
        assert "pre-commit: missing" in shell.run("hooks", "status").out
        assert shell.run("hooks", "install").out.startswith("installed pre-commit, ")
        assert shell.run("hooks", "install").out == "all hooks are installed\n"
        assert set(shell.run("hooks", "status", "--json").answer["hooks"].values()) == {"installed"}
        assert shell.run("hooks", "uninstall").out.startswith("removed pre-commit, ")
        assert shell.run("hooks", "uninstall", "--json").answer == {"removed": []}

    def test_help_and_version(self, shell: Shell):
        assert shell.run("--version").out == f"mdmem {__version__}\n"
        everything = shell.run("--help")
        assert (everything.status, everything.err) == (0, "")
        assert shell.run().out == everything.out
        assert shell.run("-h").out == everything.out
        assert "..." not in everything.out.split("Begin:")[1]
        assert shell.run("edit-section", "-h").out.startswith("Usage: mdmem edit-section ")

    def test_a_workspace_can_be_named(self, shell: Shell):
        elsewhere(shell)
        assert shell.run("-C", str(shell.folder), "show", "Employer").out == "- works at Stripe\n"
        shell.patch.setenv("MDMEM_WORKSPACE", str(shell.folder))
        assert shell.run("show", "Employer").out == "- works at Stripe\n"


# One workspace serves for all examples, since none of the commands changes it.
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec=None), max_size=30))
@example("\0")
@example("\ud800")
@example("caf\udce9")
@example("HEAD")
def test_no_text_is_a_bug_or_reaches_a_terminal_raw(shell: Shell, text: str):
    for words in (
        ("search", "--", text),
        ("show", "--", text),
        ("outline", "--", text),
        ("log", "--dry-run", "--", text),
        ("remember", "--dry-run", f"--key={text}", "--", text),
        ("edit-section", "Work", "--dry-run", f"--body={text}"),
        ("forget", "--dry-run", "--", text),
        ("forget", "--purge", "--dry-run", "--", text),
        ("facts", f"--section={text}"),
        ("recall", f"--tag={text}"),
        ("search", "--history", "--", text),
        ("search", "x", f"--as-of={text}"),
        ("history", "-p", "--", text),
        ("blame", "--", text),
        ("when", "--", text),
        ("revert", "--dry-run", "--", text),
        ("contradicts", "--dry-run", "--", "pet: cat", text),
        ("task", "start", "--dry-run", "--", text, text),
        ("task", "note", "--dry-run", "--", "x", text),
    ):
        done = shell.run(*words)
        assert done.status in (0, 1, 2), words
        assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.out + done.err) is None
