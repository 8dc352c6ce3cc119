"""Commands that have become options of another: both names give the same answer."""

import pytest
from commandline import Shell

AS_OPTIONS = [
    (("tags",), ("facts", "--tags")),
    (("recall", "--tag", "house", "-n", "3"), ("facts", "--any-tag", "house", "-n", "3")),
    (("when", "works at Stripe"), ("history", "--when", "works at Stripe")),
    (("blame", "Pets"), ("history", "Pets", "--blame")),
    (("proposals",), ("review", "--proposals")),
    (("trends", "--weeks", "4"), ("stats", "trends", "--weeks", "4")),
]
PAIRS = [
    (("facts", "--tags", "--since", "2026-03-01"), "--tags and --since"),
    (("facts", "--any-tag", "a", "--tag", "b"), "--any-tag and --tag"),
    (("history", "Pets", "--blame", "-p"), "--blame and -p"),
    (("history", "Pets", "--when", "x"), "--when and TARGET"),
    (("review", "--accept", "--reject", "1"), "--accept and --reject"),
    (("review", "--proposals", "--vouch"), "--proposals and --vouch"),
    (("review", "1", "--reject", "--vouch"), "--reject and --vouch"),
]


@pytest.mark.parametrize(("old", "listed"), AS_OPTIONS)
def test_both_names_answer_alike(
    shell: Shell, old: tuple[str, ...], listed: tuple[str, ...]
) -> None:
    done = shell.run(*old)
    assert (done.status, shell.run(*listed)) == (0, done)
    assert shell.run(*listed, "--json").answer == shell.run(*old, "--json").answer


def test_review_decides_as_accept_and_reject_do(shell: Shell) -> None:
    ids = []
    for text in ("likes snow", "likes rain"):
        words = ("remember", text, "--propose", "--again", "--actor", f"agent/{text[-4:]}")
        ids.append(shell.run(*words, "--json").answer["proposal"])
    shown = shell.run("proposals", ids[0])
    assert shell.run("review", ids[0]) == shown
    assert shell.run("review", ids[0], "--accept", "--dry-run").status == 0
    numbers = {row[:2].strip() for row in shell.run("review", "--proposals").out.splitlines()}
    assert {"1", "2"} <= numbers
    assert shell.run("review", "--reject", ids[1], "--reason", "no").status == 0
    assert shell.run("review", "--accept", ids[0]).status == 0
    assert "likes snow" in shell.run("facts").out
    assert "likes rain" not in shell.run("facts").out


@pytest.mark.parametrize(("words", "pair"), PAIRS)
def test_what_the_other_command_does_not_take_is_refused(
    shell: Shell, words: tuple[str, ...], pair: str
) -> None:
    done = shell.run(*words)
    assert (done.status, done.err.splitlines()[0]) == (2, f"mdmem: {pair} exclude each other")


def test_review_asks_whether_to_accept_an_item(shell: Shell) -> None:
    assert "option --accept or --reject" in shell.run("review", "1").err
    assert "--vouch goes with --accept or --reject" in shell.run("review", "--vouch").err


def test_edit_is_edit_section(shell: Shell) -> None:
    assert shell.run("edit", "Pets", "--append", "- pet: fish").status == 0
    assert "- pet: fish" in (shell.folder / "MEMORY.md").read_text()
