"""`accept` and `reject` of what was shown, where more has been proposed since."""

import json

import pytest
from commandline import Shell


@pytest.mark.parametrize("command", ["accept", "reject"])
def test_a_proposal_that_grew_since_it_was_shown_is_not_decided(shell: Shell, command: str) -> None:
    propose = ("remember", "--section", "Pets", "--propose", "--actor", "bot")
    shell.run(*propose, "plays chess")
    (item,) = shell.run("proposals", "--json").answer["items"]
    shown = shell.run("proposals", item["proposal"], "--json").answer
    shell.run(*propose, "plays the viola")
    before, words = shell.snapshot(), (command, item["proposal"], item["part"])
    done = shell.run(*words, "--expect", shown["tip"], "--json")
    assert (done.status, json.loads(done.err)["error"]) == (1, "proposals-moved")
    assert shell.snapshot() == before
    assert shell.run(command, "1", "--expect", shown["tip"]).status == 2
    tip = shell.run("proposals", item["proposal"], "--json").answer["tip"]
    assert shell.run(*words, "--expect", tip).status == 0
