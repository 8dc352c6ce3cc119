"""`accept` and `reject` by number at the command line: what they print, and their JSON."""

import json

import pytest
from commandline import NOW, MadeOnce, Shell

MEMORY = "# Memory\n\n## Facts\n\n- home: Oslo\n- employer: Stripe\n"


@pytest.fixture
def at(shell: Shell, made_once: MadeOnce) -> Shell:
    """Rivals, two plain items and an outdated one, listed."""
    made_once("a list of proposals", lambda: list_proposals(shell))
    shell.patch.chdir(shell.folder)
    return shell


def list_proposals(shell: Shell) -> None:
    shell.write("MEMORY.md", MEMORY)
    shell.git("add", "-A")
    shell.git("commit", "-q", "-m", "a memory")
    propose(shell, 6, "Bergen", "--key", "home")
    propose(shell, 7, "Linear", "--key", "employer", actor="codex")
    propose(shell, 8, "Figma", "--key", "employer", actor="claude")
    propose(shell, 9, "plays the cello")
    propose(shell, 10, "plays chess")
    shell.run("remember", "Trondheim", "--key", "home", "--section", "Facts")
    assert [item["number"] for item in items(shell)] == [1, 2, 3, 4]


def items(shell: Shell) -> list[dict[str, object]]:
    listed: list[dict[str, object]] = shell.run("proposals", "--json").answer["items"]
    return listed


def propose(shell: Shell, hour: int, text: str, *words: str, actor: str = "bot") -> None:
    shell.patch.setenv("MDMEM_NOW", f"2026-03-04T{hour:02}:00:00+00:00")
    shell.run("remember", text, *words, "--section", "Facts", "--propose", "--actor", actor)
    shell.patch.setenv("MDMEM_NOW", NOW)


def test_the_text(at: Shell) -> None:
    done = at.run("accept", "2", "4")
    first, second, third = done.out.splitlines()
    assert first.startswith("accepted item 2: employer: Figma (commit ")
    assert second.startswith("accepted item 4: plays chess (commit ")
    assert third == "superseded employer: Linear"
    assert at.run("reject", "3").out.startswith("rejected item 3: plays the cello (commit ")


def test_the_text_of_a_rejected_removal(at: Shell) -> None:
    at.run("forget", "employer: Stripe", "--propose", "--actor", "bot")
    number = next(
        str(each["number"])
        for each in items(at)
        if "employer: Stripe" in str(each) and "delete" in str(each)
    )
    assert at.run("reject", number).out.startswith(
        f"rejected item {number}: removal of employer: Stripe (commit "
    )


def test_the_json(at: Shell) -> None:
    answer = at.run("accept", "2b", "--json").answer
    assert list(answer) == [
        "changed",
        "accepted",
        "rejected",
        "superseded",
        "left",
        "commits",
        "closed",
    ]
    (accepted,) = answer["accepted"]
    assert (accepted["number"], accepted["changed"]) == (2, True)
    assert len(answer["superseded"]) == len(answer["commits"]) == 1
    assert len(answer["closed"]) == 2
    (rejected,) = at.run("reject", "4", "--json").answer["rejected"]
    assert rejected["number"] == 4


def test_what_a_selection_leaves_is_named_with_the_command(at: Shell) -> None:
    done = at.run("accept", "--all")
    assert [line.split()[:3] for line in done.out.splitlines()] == [
        ["accepted", "item", "3:"],
        ["accepted", "item", "4:"],
    ]
    assert done.err.splitlines() == [
        "mdmem: left item 1: outdated. To accept anyway: mdmem accept 1",
        "mdmem: left item 2: several values. To accept the newest: mdmem accept 2",
    ]
    done = at.run("accept", "1", "2")
    assert done.status == 0
    text = (at.folder / "MEMORY.md").read_text()
    assert "- home: Bergen\n" in text
    assert "- employer: Figma\n" in text
    assert at.run("accept", "--all").out == "nothing to accept\n"


def test_an_outdated_removal_needs_anyway(shell: Shell) -> None:
    shell.write("MEMORY.md", MEMORY)
    shell.git("add", "-A")
    shell.git("commit", "-q", "-m", "a memory")
    shell.run("forget", "home: Oslo", "--propose", "--actor", "bot")
    shell.run("remember", "Bergen", "--key", "home", "--section", "Facts")
    shell.run("proposals")
    assert shell.run("accept", "--all").err.splitlines() == [
        "mdmem: left item 1: outdated. To accept anyway: mdmem accept 1 --anyway"
    ]
    done = shell.run("accept", "1")
    assert (done.status, done.out) == (1, "")
    assert "1 is outdated: its target has changed since it was proposed" in done.err
    assert "mdmem accept 1 --anyway" in done.err
    assert "- home: Bergen\n" in (shell.folder / "MEMORY.md").read_text()
    assert shell.run("accept", "1", "--anyway").out.startswith(
        "accepted item 1: removal of home: Oslo (commit "
    )
    assert "home" not in (shell.folder / "MEMORY.md").read_text()


def test_a_dry_run_changes_nothing(at: Shell) -> None:
    before = at.snapshot()
    assert "+- plays the cello" in at.run("accept", "3", "--dry-run").out
    assert at.run("reject", "3", "--dry-run").out == "would reject item 3: plays the cello\n"
    assert at.snapshot() == before


def test_what_moved_is_listed_again(at: Shell) -> None:
    propose(at, 11, "Apple", "--key", "employer", actor="third")
    done = at.run("accept", "2")
    assert (done.status, done.out) == (1, "")
    assert "have changed since list" in done.err
    assert "employer: Stripe -> Apple" in done.err
    assert "0 parts" not in done.err
    assert at.run("accept", "2").out.startswith("accepted item 2: employer: Apple ")


def test_items_are_named_or_selected(at: Shell) -> None:
    assert at.run("accept").err == (
        "mdmem: missing argument 'ITEM', or --all, --section, --file or --from\n"
        "hint: See mdmem accept --help\n"
    )
    assert at.run("accept", "1", "--all", "--file", "a.md").err == (
        "mdmem: do not combine --file and --all with item numbers\n"
    )
    assert at.run("reject", "1", "--older", "3d").err == (
        "mdmem: do not combine --older with item numbers\n"
    )


def test_a_weaker_source_is_told_before_it_replaces_anything(at: Shell) -> None:
    at.run("remember", "Rome", "--key", "town", "--section", "Facts", "--source", "user-stated")
    words = ("remember", "Turin", "--key", "town", "--section", "Facts", "--propose")
    assert "weaker-source: would replace " in at.run(*words, "--actor", "bot").err


def test_history_names_who_proposed_what_was_accepted(at: Shell) -> None:
    at.run("accept", "4")
    fact = "plays chess"
    assert ", proposed by bot  " in at.run("history").out.splitlines()[0]
    assert ", proposed by bot" in at.run("history", fact).out
    assert ", proposed by bot" in at.run("changes").out
    (change,) = at.run("changes", "--actor", "bot", "--json").answer["changes"]
    assert (change["text"], change["proposed_by"]) == (fact, "bot")
    (link,) = at.run("history", fact, "--json").answer["chain"]
    assert link["proposed_by"] == "bot"


def test_nothing_is_left_of_what_was_listed(at: Shell) -> None:
    for branch in at.git("for-each-ref", "--format=%(refname)", "refs/heads/mdmem").split():
        at.git("update-ref", "-d", branch)
    done = at.run("accept", "1")
    assert "hint: There are no open proposals.\n" in done.err


@pytest.mark.parametrize("command", ["accept", "reject"])
def test_a_proposal_that_grew_since_it_was_shown_is_not_decided(at: Shell, command: str) -> None:
    item = at.run("proposals", "--json").answer["items"][-1]
    shown = at.run("proposals", item["proposal"], "--json").answer
    propose(at, 11, "plays the viola", actor=shown["actor"])
    before, words = at.snapshot(), (command, item["proposal"], item["part"])
    done = at.run(*words, "--expect", shown["tip"], "--json")
    assert (done.status, json.loads(done.err)["error"]) == (1, "proposals-moved")
    assert at.snapshot() == before
    assert at.run(command, "1", "--expect", shown["tip"]).status == 2
    tip = at.run("proposals", item["proposal"], "--json").answer["tip"]
    assert at.run(*words, "--expect", tip).status == 0


def test_a_vouched_item_is_the_users(at: Shell) -> None:
    at.run("accept", "3", "--vouch")
    assert "Mdmem-Source: user-stated" in at.git("log", "-1", "--format=%B")


def test_eight_digits_are_an_id(at: Shell) -> None:
    assert "no proposal" in at.run("accept", "12345678").err


def test_scripts_that_name_the_proposal_of_version_0_2_go_on(at: Shell) -> None:
    propose(at, 11, "plays the viola", "--to", "5f2c0a11")
    assert "plays the viola" in at.run("proposals").out
    assert "--to" not in at.run("remember", "--help").out
