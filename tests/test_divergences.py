"""Two facts that were made of one on two sides contradict each other, however these came together;
real git, and no hook that would say so.
"""

import sys

import pytest
from dated_memory import DatedMemory
from dated_memory import dated as dated
from dated_memory import dated_desk as dated_desk

from mdmem.merge import setup
from mdmem.model.writes import Log, Remember, Resolve, Revert, WriteOptions
from mdmem.text.facts import parse_item

TIN, SLATE, STRAW, COPPER = (
    f"the shed needs a new roof of {what}" for what in ("tin", "slate", "straw", "copper")
)
NOW = "2026-06-01"
HEADER = "# Memory\n\n## Work\n\n"


def conflicts(dated: DatedMemory) -> list[set[str]]:
    found = dated.on(NOW).conflicts().conflicts
    assert all(each.key is None for each in found)
    return [{each.first.text, each.second.text} for each in found]


def replace(dated: DatedMemory, day: str, old: str, new: str) -> None:
    dated.on(f"2026-{day}").apply(
        Remember(new, section="Work", options=WriteOptions(supersedes=old))
    )


def write(dated: DatedMemory, *lines: str) -> None:
    dated.at.write("MEMORY.md", HEADER + "".join(f"- {line}\n" for line in lines))


def by_hand(dated: DatedMemory, date: str, *lines: str) -> None:
    write(dated, *lines)
    dated.at.git("commit", "-qam", "by hand", "--date", f"2026-{date}T12:00:00+00:00")


def switch(dated: DatedMemory, branch: str) -> None:
    dated.at.git("switch", "-q", branch)


def at_once(dated: DatedMemory, *commands: str) -> None:
    """Commands of git that bring sides together now, whatever they say of each other's times."""
    for command in commands:
        dated.at.git("-c", "user.name=Ada", *command.split())


@pytest.fixture
def at(dated: DatedMemory) -> DatedMemory:
    """Two branches with one fact, and git merging with mdmem."""
    setup.install(dated.at.workspace, sys.executable)
    by_hand(dated, "01-01", TIN, "bees live behind the shed")
    dated.at.git("branch", "side")
    return dated


def both_replaced(at: DatedMemory, main: str = "01-05", side: str = "01-03") -> None:
    for branch, day, new in (("main", main, SLATE), ("side", side, STRAW)):
        switch(at, branch)
        replace(at, day, TIN, new)
    switch(at, "main")


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "how",
    ["merge -q --no-edit side", "rebase -q side", "cherry-pick side", "rebase -q --apply side"],
)
@pytest.mark.parametrize("days", [("01-03", "01-05"), ("01-05", "01-03")])
def test_what_two_sides_made_of_one_fact_contradicts(
    at: DatedMemory, how: str, days: tuple[str, str]
) -> None:
    both_replaced(at, *days)
    if "apply" in how:
        at.at.git("rebase", "-q", "--apply", "side", check=False)
        if at.at.git("status", "--short").startswith("UU"):
            write(at, STRAW, SLATE, "bees live behind the shed")
            at.at.git("add", "-A")
            at.at.git("-c", "core.editor=true", "rebase", "--continue")
    else:
        at_once(at, how)
    assert conflicts(at) == [{SLATE, STRAW}]


@pytest.mark.parametrize("days", [("01-03", "01-05"), ("01-05", "01-03")])
def test_what_one_side_moved_to_another_file_and_one_replaced(
    at: DatedMemory, days: tuple[str, str]
) -> None:
    moved, replaced = days
    write(at, "bees live behind the shed")
    at.at.write("memory/shed.md", f"# Shed\n\n- {TIN}\n")
    at.at.git("add", "-A")
    at.at.git("commit", "-qm", "moved", "--date", f"2026-{moved}T12:00:00+00:00")
    switch(at, "side")
    replace(at, replaced, TIN, SLATE)
    switch(at, "main")
    at_once(at, "merge -q --no-edit side")
    assert conflicts(at) == [{SLATE, TIN}]


def test_a_merge_made_elsewhere_tells_the_same_whatever_its_message_says(at: DatedMemory) -> None:
    both_replaced(at)
    at.at.git("merge", "-q", "--no-commit", "side")
    write(at, "bees live behind the shed", SLATE, STRAW)
    at.at.git(
        "commit",
        "-qam",
        f"Merged\n\nMdmem-Contradicts: {parse_item(SLATE).id} {parse_item(STRAW).id}",
    )
    assert conflicts(at) == [{SLATE, STRAW}]


def test_a_squash_with_trailers_tells_the_same(at: DatedMemory) -> None:
    both_replaced(at)
    messages = "\n\n".join(
        f"* {line}"
        for line in at.at.git("log", "--format=%B", "main..side").strip().split("\n\n", 1)
    )
    at.at.git("merge", "-q", "--squash", "side")
    at.at.git("commit", "-qm", f"The branch (#1)\n\n{messages.removeprefix('* ')}")
    assert conflicts(at) == [{SLATE, STRAW}]


@pytest.mark.parametrize(("written", "expected"), [("01-03", [{SLATE, STRAW}]), ("01-07", [])])
def test_without_a_trailer_a_line_tells_it_that_was_written_before_the_other_was_replaced(
    at: DatedMemory, written: str, expected: list[set[str]]
) -> None:
    switch(at, "side")
    by_hand(at, written, STRAW, "bees live behind the shed")
    switch(at, "main")
    replace(at, "01-05", TIN, SLATE)
    at_once(at, "cherry-pick side")
    assert conflicts(at) == expected


def test_a_new_line_that_is_like_none_that_was_replaced_contradicts_nothing(
    at: DatedMemory,
) -> None:
    switch(at, "side")
    by_hand(at, "01-03", TIN, "bees live behind the shed", "the dentist is open on Monday")
    switch(at, "main")
    replace(at, "01-05", TIN, SLATE)
    at_once(at, "rebase -q side")
    switch(at, "side")
    at_once(at, "merge -q main")
    assert conflicts(at) == []


def test_the_same_words_on_both_sides_or_one_side_alone_contradict_nothing(at: DatedMemory) -> None:
    for branch, day in (("main", "01-05"), ("side", "01-03")):
        switch(at, branch)
        replace(at, day, TIN, SLATE)
    replace(at, "01-06", "bees live behind the shed", "bees live in front of the shed")
    switch(at, "main")
    at_once(at, "merge -q --no-edit side")
    assert conflicts(at) == []


def test_the_last_that_each_side_made_of_it_contradict_until_one_goes(at: DatedMemory) -> None:
    both_replaced(at)
    replace(at, "01-07", SLATE, COPPER)
    at_once(at, "merge -q --no-edit side")
    assert conflicts(at) == [{COPPER, STRAW}]
    replace(at, "01-09", COPPER, "the shed stays without a roof")
    assert conflicts(at) == []


def test_what_the_merge_left_out_contradicts_nothing(at: DatedMemory) -> None:
    both_replaced(at)
    at.at.git("merge", "-q", "--no-commit", "side")
    write(at, SLATE, "bees live behind the shed")
    at.at.git("commit", "-qam", "Merged")
    assert conflicts(at) == []


def test_a_resolution_holds_though_another_clone_merges_the_same_two_later(at: DatedMemory) -> None:
    both_replaced(at)
    at.at.git("branch", "other")
    at_once(at, "merge -q --no-edit side")
    at.on("2026-01-10").apply(Resolve(SLATE, STRAW))
    assert conflicts(at) == []
    switch(at, "other")
    pair = f"{parse_item(SLATE).id} {parse_item(STRAW).id}"
    at.at.git("merge", "-q", "side", "-m", f"Merged\n\nMdmem-Contradicts: {pair}")
    assert conflicts(at) == [{SLATE, STRAW}]
    at_once(at, "merge -q --no-edit main")
    assert conflicts(at) == []


def test_lines_of_logs_that_two_sides_said_instead_of_one(at: DatedMemory) -> None:
    at.on("2026-01-01").apply(Log("the ferry leaves at nine"))
    switch(at, "side")
    at_once(at, "merge -q main")
    for branch, day, text in (
        ("main", "01-05", "the ferry leaves at ten"),
        ("side", "01-03", "the ferry leaves at noon"),
    ):
        switch(at, branch)
        at.on(f"2026-{day}").apply(
            Log(text, options=WriteOptions(supersedes="the ferry leaves at nine"))
        )
    at_once(at, "merge -q --no-edit main")
    assert conflicts(at) == [{"the ferry leaves at ten", "the ferry leaves at noon"}]


@pytest.mark.parametrize("own", ["main", "side"])
def test_the_earlier_of_two_marks_counts_in_each_clone(at: DatedMemory, own: str) -> None:
    at.on("2026-01-01").apply(Log("the ferry leaves at nine"))
    switch(at, "side")
    at_once(at, "merge -q main")
    other = {"main": "side", "side": "main"}[own]
    for branch in (other, own):
        switch(at, branch)
        day, text = ("01-05", "ten") if branch == "main" else ("01-03", "noon")
        options = WriteOptions(supersedes="the ferry leaves at nine")
        at.on(f"2026-{day}").apply(Log(f"the ferry leaves at {text}", options=options))
    at.search("ferry", NOW)
    at_once(at, f"merge -q --no-edit {other}")
    (nine,) = (hit for hit in at.search("ferry", NOW, history=True) if "nine" in hit.text)
    assert nine.superseded_by == parse_item("the ferry leaves at noon").id


def test_an_undone_replacement_contradicts_nothing(at: DatedMemory) -> None:
    both_replaced(at)
    at.on("2026-01-08").apply(Revert("HEAD"))
    at_once(at, "merge -q --no-edit side")
    assert conflicts(at) == []
