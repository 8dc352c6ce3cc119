"""`mdmem review` on a terminal: a key for each item; undone, skipped, carried out at the end."""

import pytest
from commandline import INTERRUPT, NOW, TOKEN, Done, Shell, mdmem, on_terminal

from mdmem.text.facts import parse_text

MEMORY = """\
# Memory

## Facts

- home: Oslo
- likes tea
- likes tea
- pet: cat
- pet: dog

## Work

- employer: Stripe
"""


@pytest.fixture
def at(shell: Shell) -> Shell:
    shell.write("MEMORY.md", MEMORY)
    shell.write("memory/rooms.md", "# Rooms\n")
    shell.write("memory/open.md", "# Open\n")
    shell.git("add", "-A")
    shell.git("commit", "-q", "-m", "a memory")
    return shell


def propose(at: Shell, text: str, *words: str, actor: str = "bot", hour: int = 9) -> None:
    at.patch.setenv("MDMEM_NOW", f"2026-03-04T{hour:02}:00:00+00:00")
    at.run("remember", text, *words, "--propose", "--actor", actor)
    at.patch.setenv("MDMEM_NOW", NOW)


def proposed(at: Shell) -> None:
    """Rivals in one section; three plain items in another."""
    propose(at, "Linear", "--key", "employer", "--section", "Work", actor="codex")
    propose(at, "Figma", "--key", "employer", "--section", "Work", actor="claude", hour=10)
    for hour, text in enumerate(("plays the cello", "plays chess", "keeps bees"), 11):
        propose(at, text, "--section", "Facts", hour=hour)


def memory(at: Shell) -> str:
    return (at.folder / "MEMORY.md").read_text()


def review(
    at: Shell, *keys: str, words: tuple[str, ...] = (), columns: int = 100, **environment: str
) -> Done:
    """A review on a terminal, with a key typed at each prompt."""
    command = mdmem("review", *words)
    return on_terminal(at, *command, keys=keys, size=(columns, 50), **environment)


TRANSCRIPT = r"""
(1/6) MEMORY.md > Facts
 1  + plays the cello   bot, yesterday
Accept? [y,n,e,s,A,u,q,?] y

(2/6) MEMORY.md > Facts
 2  + plays chess   bot, yesterday
Accept? [y,n,e,s,A,u,q,?] n

(3/6) MEMORY.md > Facts
 3  + keeps bees   bot, yesterday
Accept? [y,n,e,s,A,u,q,?] u

(2/6) MEMORY.md > Facts
 2  + plays chess   bot, yesterday
Accept? [y,n,e,s,A,u,q,?] s

(3/6) MEMORY.md > Facts
 3  + keeps bees   bot, yesterday
Accept? [y,n,e,s,A,u,q,?] n

(4/6) MEMORY.md > Work
 4  employer: Stripe -> Figma    claude, yesterday
                     -> Linear   codex, yesterday
Accept? [y,n,2,e,b,s,A,u,q,?] 2

(5/6) MEMORY.md:7: duplicate: 'likes tea' is already in line 6 of the section
    mdmem edit-section 'Memory > Facts' --file MEMORY.md --replace $'- likes tea\n- likes tea' \
      --with '- likes tea' (safe)
Do it? [y,n,s,A,u,q,?] y

(6/6) MEMORY.md > Facts
 1  pet: cat   MEMORY.md:8
 2  pet: dog   MEMORY.md:9
Which is true (b: both)? [1,2,b,s,u,q,?] b
Carrying out 5 decisions …
2 accepted, 1 superseded, 1 rejected
carried out 2 changes
"""


def test_ten_decisions(at: Shell) -> None:
    proposed(at)
    done = review(at, "y", "n", "u", "s", "n", "2", "y", "b")
    assert done.status == 0
    text = memory(at)
    assert "- plays the cello\n" in text
    assert "- employer: Linear\n" in text
    assert text.count("- likes tea\n") == 1
    assert "bees" not in text
    assert "- pet: cat\n- pet: dog\n" in text
    assert at.run("conflicts").out == ""
    (item,) = at.run("proposals", "--json").answer["items"]
    assert item["new"] == "plays chess"
    assert done.out == TRANSCRIPT


def test_all_of_a_section_but_what_needs_a_choice(at: Shell) -> None:
    proposed(at)
    done = review(at, "A", "y", "q")
    assert "Accept 3 items of MEMORY.md > Facts? [y,n] y" in done.out
    text = memory(at)
    assert all(f"- {fact}\n" in text for fact in ("plays the cello", "plays chess", "keeps bees"))
    assert "employer: Stripe" in text


def test_all_of_a_section_is_asked_for_and_can_be_undone(at: Shell) -> None:
    proposed(at)
    done = review(at, "A", "n", "A", "y", "u", "q")
    assert memory(at) == MEMORY
    assert "nothing changed" in done.out


def test_both_values_are_kept(at: Shell) -> None:
    propose(at, "Figma", "--key", "employer", "--section", "Work")
    review(at, "b", "q")
    assert "- employer: Stripe\n- employer: Figma\n" in memory(at)
    assert "employer" not in at.run("conflicts").out


def test_an_item_is_edited(at: Shell) -> None:
    propose(at, "plays the cello", "--section", "Facts")
    done = review(at, "e", "q", EDITOR="sed -i s/cello/viola/")
    assert "1 accepted" in done.out
    assert "- plays the viola\n" in memory(at)
    assert "Mdmem-Source: user-stated" in at.git("log", "-1", "--format=%B")


@pytest.mark.parametrize("editor", ["", "false", "no-such-program"])
def test_an_editor_that_fails_loses_no_decision(at: Shell, editor: str) -> None:
    propose(at, "plays the cello", "--section", "Facts")
    propose(at, "plays chess", "--section", "Facts", hour=10)
    review(at, "y", "e", "n", "q", EDITOR=editor, VISUAL="")
    text = memory(at)
    assert ("- plays the cello\n" in text, "chess" in text) == (True, False)


def test_what_is_refused_takes_no_other_decision_along(at: Shell) -> None:
    propose(at, "plays the cello", "--section", "Facts")
    propose(at, "plays chess", "--section", "Facts", hour=10)
    propose(at, "keeps bees", "--section", "Facts", hour=11)
    done = review(at, "e", "y", "n", "q", EDITOR=f"sed -i s/cello/{TOKEN}/")
    text = memory(at)
    assert ("- plays chess\n" in text, TOKEN in text, "bees" in text) == (True, False, False)
    assert "1 accepted, 1 rejected" in done.out
    assert "left item 1: " in done.out


@pytest.mark.parametrize("key", ["2", "y"])
def test_a_contradiction_is_settled(at: Shell, key: str) -> None:
    done = review(at, "s", key)
    assert "- pet: cat" not in memory(at), done.out
    assert "- pet: dog\n" in memory(at)
    assert "Mdmem-Source: user-stated\n" in at.git("log", "-1", "--format=%B")


@pytest.mark.parametrize("key", ["1", "n"])
def test_the_first_of_two_is_kept(at: Shell, key: str) -> None:
    done = review(at, "s", "x", "?", key)
    assert ("- pet: cat\n" in memory(at), "- pet: dog" in memory(at)) == (True, False)
    assert "1  keep the first, forget the second (or n)\n" in done.out


def test_nothing_is_changed_by_an_interruption(at: Shell) -> None:
    proposed(at)
    head = at.git("rev-parse", "HEAD")
    done = review(at, "y", "y", INTERRUPT)
    assert done.status == 130
    assert (memory(at), at.git("rev-parse", "HEAD")) == (MEMORY, head)


def test_another_key_shows_what_there_is(at: Shell) -> None:
    propose(at, "plays the cello", "--section", "Facts")
    done = review(at, "x", "u", "q")
    assert "y  accept it" in done.out
    assert "nothing to undo" in done.out


def test_what_is_overtaken_while_it_is_shown_is_left(at: Shell) -> None:
    """The editor of one item stands for anybody who changes another meanwhile."""
    propose(at, "Figma", "--key", "employer", "--section", "Work")
    propose(at, "plays the cello", "--section", "Facts", hour=10)
    change = f"sed -i s/Stripe/Apple/ {at.folder}/MEMORY.md; true"
    at.write("editor.sh", f"#!/bin/sh\n{change}\n").chmod(0o755)
    done = review(at, "e", "y", "q", EDITOR=str(at.folder / "editor.sh"))
    text = memory(at)
    assert ("employer: Apple" in text, "plays the cello" in text) == (True, True)
    assert "left item 2: changed since it was shown" in done.out


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        ((), {"CI": "1"}),
        ((), {"MDMEM_ACTOR": "bot"}),
        (("--json",), {}),
        (("-q",), {}),
        (("--apply",), {}),
    ],
)
def test_where_nobody_is_asked(
    at: Shell, words: tuple[str, ...], environment: dict[str, str]
) -> None:
    proposed(at)
    done = review(at, words=words, **environment)
    assert done.status == 0
    assert "Accept?" not in done.out


def test_off_a_terminal_it_is_the_list(at: Shell) -> None:
    proposed(at)
    done = at.run("review")
    assert "waiting for review: 3 proposals" in done.out
    cat, dog = parse_text("pet: cat").id, parse_text("pet: dog").id
    commands = (f"forget {cat}", f"forget {dog}", f"conflicts --resolve {cat} {dog}")
    assert "".join(f"\n    mdmem {each}" for each in commands) in done.out


def test_nothing_to_decide(at: Shell) -> None:
    at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- home: Oslo\n")
    at.git("commit", "-qam", "less")
    assert "nothing to tidy" in review(at).out


@pytest.mark.parametrize("columns", [40, 72])
def test_on_a_narrow_terminal(at: Shell, columns: int) -> None:
    proposed(at)
    done = review(at, "q", columns=columns)
    assert max(map(len, done.out.split("\n"))) <= columns


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_many_are_decided_by_sections(at: Shell, count: int) -> None:
    """Many items take few keys."""
    propose(at, "Figma", "--key", "employer", "--section", "Work")
    at.git("switch", "-q", "-c", "many")
    lines = "".join(f"- fact number {number}\n" for number in range(count))
    at.write("MEMORY.md", MEMORY.replace("- home: Oslo\n", f"- home: Oslo\n{lines}"))
    at.git("commit", "-qam", "many")
    at.git("switch", "-q", "main")
    at.run("propose", "many", "--actor", "bot")
    review(at, "n", "A", "y", "n", "q")
    text = memory(at)
    assert ("fact number 0\n" in text, text.count("fact number")) == (False, count - 1)
    assert "employer: Stripe" in text
