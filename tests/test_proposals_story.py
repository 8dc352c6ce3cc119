"""The story of a proposal at the command line: ten facts of an agent's, overtaken, accepted in
part, rejected, proposed again, said anew.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from commandline import Shell, mdmem, on_terminal

from mdmem.text.facts import fact_id

FACTS = [
    ("employer", "Linear"),
    ("home", "Bergen"),
    (None, "plays the cello on Sundays"),
    (None, "reads the paper in the morning"),
    (None, "has two cats"),
    (None, "takes the train to work"),
    (None, "is learning Norwegian"),
    (None, "keeps bees behind the house"),
    (None, "swims before breakfast"),
    (None, "cooks for friends on Fridays"),
]
MEMORY = "# Memory\n\n## Facts\n\n- employer: Stripe\n- home: Oslo\n- takes the bus to work\n"


def texts() -> list[str]:
    return [f"{key}: {text}" if key else text for key, text in FACTS]


@pytest.fixture
def at(shell: Shell) -> Shell:
    shell.run("save", "-m", "before")
    shell.write("MEMORY.md", MEMORY)
    shell.run("save", "-m", "a memory")
    shell.git("reset", "-q", "--hard")
    return shell


def proposed_by_bot(at: Shell) -> str:
    proposals = set()
    for key, text in FACTS:
        keyed = ("--key", key) if key else ()
        done = at.run(
            "remember",
            text,
            "--section",
            "Facts",
            *keyed,
            "--propose",
            "--actor",
            "bot",
            "--json",
        )
        proposals.add(done.answer["proposal"])
    (proposal,) = proposals
    return str(proposal)


def states(at: Shell, proposal: str) -> dict[str, str]:
    return {
        part["part"]: part["state"]
        for part in at.run("proposals", proposal, "--json").answer["parts"]
    }


def waiting(at: Shell) -> list[dict[str, Any]]:
    return at.run("proposals", "--json").answer["proposals"]


def test_ten_facts(at: Shell) -> None:
    before = at.snapshot()["status"]
    head = at.git("rev-parse", "HEAD")
    proposal = proposed_by_bot(at)
    assert (at.snapshot()["status"], at.git("rev-parse", "HEAD")) == (before, head)
    names = list(map(fact_id, texts()))
    assert set(states(at, proposal)) == set(names)

    # Overtaken by edits, by hand and by a verb; what does not touch the parts does not matter.
    at.run("remember", "Apple", "--section", "Facts", "--key", "employer")
    text = at.folder.joinpath("MEMORY.md").read_text()
    at.write(
        "MEMORY.md",
        text.replace("- home: Oslo", "- home: Trondheim").replace("## Facts", "## Known"),
    )
    at.run("save", "-m", "by hand")
    (summary,) = waiting(at)
    assert (summary["parts"], summary["fresh"], summary["overtaken"]) == (10, 8, 2)
    overtaken = [
        part
        for part in at.run("proposals", proposal, "--json").answer["parts"]
        if part["state"] == "overtaken"
    ]
    assert [(part["new"], part["standing"]) for part in overtaken] == [
        ("employer: Linear", "employer: Apple"),
        ("home: Bergen", "home: Trondheim"),
    ]

    # Accepted in part: by name, by the beginning of a name, and one that is overtaken.
    answer = at.run(
        "accept", proposal, names[2], names[3][:6], names[0], "--anyway", "--json"
    ).answer
    assert [part["part"] for part in answer["accepted"]] == [names[0], names[2], names[3]]
    assert (len(answer["commits"]), answer["closed"]) == (3, False)
    memory = at.folder.joinpath("MEMORY.md").read_text()
    assert "- employer: Linear\n" in memory
    assert "Apple" not in memory

    # The rest rejected.
    answer = at.run("reject", proposal, "--reason", "not yet", "--json").answer
    assert set(answer["rejected"]) == set(names) - {names[0], names[2], names[3]}
    assert answer["closed"]
    assert waiting(at) == []
    assert at.folder.joinpath("MEMORY.md").read_text() == memory

    # Proposed again: refused, in other words too, but by force.
    refused = at.run(
        "remember", "takes the train to  Work", "--section", "Known", "--propose", "--actor", "bot"
    )
    assert (refused.status, "was rejected on 2026-03-" in refused.err) == (1, True)
    again = at.run(
        "remember",
        "takes the train to work",
        "--section",
        "Known",
        "--propose",
        "--again",
        "--actor",
        "bot",
        "--json",
    ).answer
    assert states(at, again["proposal"])[names[5]] == "open"
    at.run("reject", again["proposal"])

    # Said anew by the user: from then on it may be proposed.
    at.run("remember", "takes the train to work", "--section", "Known", "--source", "user-stated")
    at.run("forget", "takes the train to work")
    assert (
        at.run(
            "remember",
            "takes the train to work",
            "--section",
            "Known",
            "--propose",
            "--actor",
            "bot",
        ).status
        == 0
    )


def test_the_same_branch_merged_by_git(at: Shell) -> None:
    proposal = proposed_by_bot(at)
    at.write("other.txt", "x\n")
    at.git("add", "other.txt")
    at.git("commit", "-q", "-m", "something else", "other.txt")
    branch = at.git("for-each-ref", "--format=%(refname)", "refs/heads/mdmem").strip()
    at.git("merge", "-q", "--no-edit", branch)
    memory = at.folder.joinpath("MEMORY.md").read_text()
    assert all(f"- {text}\n" in memory for text in texts())
    assert waiting(at) == []
    answer = at.run("accept", proposal, "--json").answer
    assert (answer["accepted"], answer["closed"]) == ([], True)
    assert at.git("for-each-ref", "refs/heads/mdmem") == ""
    assert at.folder.joinpath("MEMORY.md").read_text() == memory
    # The facts have the source that their commits state, as after any merge.
    assert at.run("search", "bees", "--json").answer["hits"][0]["source"] == "inferred"


def test_a_part_is_edited_on_a_terminal(at: Shell, tmp_path: Path) -> None:
    proposal = at.run(
        "remember", "plays the cello", "--section", "Facts", "--propose", "--actor", "bot", "--json"
    ).answer["proposal"]
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/cello/viola/" "$1"\n')
    editor.chmod(0o755)
    done = on_terminal(
        at,
        *mdmem("accept", proposal, "--edit", fact_id("plays the cello")),
        EDITOR=str(editor),
        VISUAL="",
    )
    assert done.status == 0
    assert re.search(rf"accepted {fact_id('plays the cello')} into MEMORY.md", done.out)
    assert "- plays the viola\n" in at.folder.joinpath("MEMORY.md").read_text()
    message = at.git("log", "-1", "--format=%B")
    assert "Mdmem-Source: user-stated" in message
    assert f"Mdmem-Accepts: {proposal} {fact_id('plays the cello')}" in message
    assert waiting(at) == []


@pytest.mark.parametrize(
    ("script", "says"), [("exit 1", "ended with an error"), ('printf "" > "$1"', "is empty")]
)
def test_an_editor_that_gives_nothing_changes_nothing(
    at: Shell, tmp_path: Path, script: str, says: str
) -> None:
    proposal = at.run(
        "remember", "plays the cello", "--section", "Facts", "--propose", "--actor", "bot", "--json"
    ).answer["proposal"]
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    head = at.git("rev-parse", "HEAD")
    done = on_terminal(
        at,
        *mdmem("accept", proposal, "--edit", fact_id("plays the cello")),
        EDITOR=str(editor),
        VISUAL="",
    )
    assert (done.status, says in done.out) == (2, True)
    assert at.git("rev-parse", "HEAD") == head
    without = at.run("accept", proposal, "--edit", fact_id("plays the cello"))
    assert (without.status, "--edit needs a terminal" in without.err) == (2, True)


def test_the_same_proposal_again_names_the_open_one(shell: Shell):
    words = ("remember", "prefers green tea", "--section", "Work", "--propose")
    proposal = shell.run(*words, "--json").answer["proposal"]
    fact = fact_id("prefers green tea")
    again = shell.run(*words)
    assert again.out == f"already proposed in {proposal}: MEMORY.md: Memory > Work [{fact}]\n"
    answer = shell.run(*words, "--json").answer
    assert (answer["changed"], answer["proposal"]) == (False, proposal)
