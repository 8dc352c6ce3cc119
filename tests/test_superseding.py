"""`supersedes`: what it names goes out of a file that is edited in place, and is marked in a day's
log.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import NOW, Desk, desk, refused

from mdmem.model.errors import FactProblem, SectionProblem, field, verb
from mdmem.model.writes import Action, Change, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.text.facts import fact_id

SEED = "# Memory\n\n## Facts\n\n- shell: zsh\n- tea\n\n## Other\n\n- tea\n\n- editor: vi\n  - with tabs\n\ntext\n"
ZSH, VI = fact_id("shell: zsh"), fact_id("editor: vi\n- with tabs")


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository, seed=SEED)


def edit(section: str, text: str, supersedes: str, **more: Any) -> EditSection:
    return EditSection(
        section, Action.APPEND, text, options=WriteOptions(supersedes=supersedes), **more
    )


HEAD, FACTS, OTHER = (
    SEED.partition("## Facts")[0],
    "## Facts\n\n- shell: zsh\n- tea\n\n",
    SEED[SEED.index("## Other") :],
)


@pytest.mark.parametrize(
    ("change", "after", "old"),
    [
        (
            edit("Other", "- shell: fish", "shell: zsh"),
            HEAD + FACTS.replace("- shell: zsh\n", "") + OTHER + "\n- shell: fish\n",
            ZSH,
        ),
        (
            edit("Facts", "- editor: ed", VI),
            HEAD
            + FACTS.replace("- tea\n", "- tea\n- editor: ed\n")
            + OTHER.replace("- editor: vi\n  - with tabs\n\n", ""),
            VI,
        ),
        (
            Remember("fish", key="sh", section="Other", options=WriteOptions(supersedes=ZSH)),
            HEAD + FACTS.replace("- shell: zsh\n", "") + OTHER + "\n- sh: fish\n",
            ZSH,
        ),
    ],
)
def test_it_goes_out_of_the_file_in_the_same_commit(
    at: Desk, change: Change, after: str, old: str
) -> None:
    done = at.apply(change)
    assert at.read("MEMORY.md") == after
    assert ([(pair.old, pair.new) for pair in done.supersedes], done.removed) == (
        [(old, done.added[0])],
        (old,),
    )
    assert len(at.subjects()) == 2
    assert not at.apply(change).changed


def test_its_neighbours_stay_byte_for_byte(at: Desk) -> None:
    at.apply(edit("Other", "- new", VI))
    assert at.read("MEMORY.md") == SEED.replace(
        "- editor: vi\n  - with tabs\n\ntext\n", "text\n\n- new\n"
    )


def test_of_several_the_one_in_the_edited_section_is_meant(at: Desk) -> None:
    at.write("memory/topic.md", "- tea\n")
    at.commit()
    refused(at, edit("Memory", "- water", "tea"), "fact-ambiguous")
    at.apply(edit("Other", "- water", "tea"))
    assert not at.apply(edit("Other", "- water", "tea")).changed
    assert at.read("MEMORY.md").split("## Other")[0] == SEED.split("## Other")[0]
    assert at.read("memory/topic.md") == "- tea\n"


@pytest.mark.parametrize(
    ("change", "old", "command"),
    [
        (
            Log("no tabs"),
            VI,
            [
                verb("remember"),
                "'no tabs'",
                field("section"),
                "'Memory > Other'",
                field("supersedes"),
                VI,
            ],
        ),
        (
            Log("fish"),
            "milk",
            [
                verb("remember"),
                "fish",
                field("file"),
                "'memory/my list.md'",
                field("supersedes"),
                fact_id("milk"),
            ],
        ),
        (Forget("rain"), VI, [verb("forget"), VI]),
        (
            Forget("rain"),
            "milk",
            [verb("forget"), fact_id("milk"), field("file"), "'memory/my list.md'"],
        ),
    ],
)
def test_a_days_log_does_not_only_mark_it(
    at: Desk, change: Log | Forget, old: str, command: list[str]
) -> None:
    at.write("memory/my list.md", "- milk\n")
    at.commit()
    at.apply(Log("rain"))
    change = replace(change, options=WriteOptions(supersedes=old))
    refused(at, change, "supersede-in-place")
    with pytest.raises(FactProblem) as caught:
        at.apply(change)
    assert caught.value.marked_hint == " ".join(command)
    assert caught.value.details["path"] == ("MEMORY.md" if old == VI else "memory/my list.md")


def test_what_the_same_fact_has_superseded_is_not_superseded_again(at: Desk) -> None:
    at.apply(Log("rain"))
    change = edit("Other", "- sun", "rain")
    assert at.apply(change).changed
    at.apply(EditSection("Other", Action.REPLACE, "- sun\n"))
    again = at.apply(change)
    assert (again.changed, again.supersedes) == (True, ())
    refused(at, edit("Other", "- snow", "rain"), "fact-not-found")


def test_one_that_a_person_wrote_again_in_the_section_goes_again(at: Desk) -> None:
    change = edit("Facts", "- shell: fish", "shell: zsh")
    at.apply(change)
    at.write(
        "MEMORY.md",
        at.read("MEMORY.md").replace("- shell: fish\n", "- shell: fish\n- shell: zsh\n"),
    )
    at.commit()
    done = at.apply(change)
    assert (done.changed, done.removed) == (True, (ZSH,))
    assert "zsh" not in at.read("MEMORY.md")


@pytest.mark.parametrize("elsewhere", ["MEMORY.md", "memory/topic.md", "memory/2026-03-01.md"])
@pytest.mark.parametrize(
    "change",
    [
        edit("Facts", "- water", "tea"),
        Remember("water", section="Facts", options=WriteOptions(supersedes="tea")),
    ],
)
def test_a_repeat_takes_out_nothing_that_stands_elsewhere(
    at: Desk, elsewhere: str, change: Change
) -> None:
    if elsewhere != "MEMORY.md":
        at.write("MEMORY.md", SEED.replace("- tea\n\n- editor", "- editor"))
        at.write(elsewhere, "# T\n\n## 10:00\n\n- tea\n")
        at.commit()
    at.apply(change)
    before = at.tree_state()
    assert not at.apply(change).changed
    refused(
        at, replace(change, options=replace(change.options, actor="agent/other")), "fact-not-found"
    )
    assert at.tree_state() == before


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            edit("Other", "- water\n- shell: fish", "shell: zsh"),
            "- water\n- shell: fish #tools <!-- at home --> ^sh",
        ),
        (
            edit("Other", "- shell: fish #own <!-- own --> ^own", "shell: zsh"),
            "- shell: fish #own <!-- own --> ^own",
        ),
        (
            edit("Other", "- shell: fish ^own", "shell: zsh"),
            "- shell: fish #tools <!-- at home --> ^own",
        ),
        (
            Remember("fish", section="Other", options=WriteOptions(supersedes="shell: zsh")),
            "- fish #tools <!-- at home --> ^sh",
        ),
        (
            Remember(
                "fish",
                section="Other",
                tags=("own",),
                options=WriteOptions(supersedes="shell: zsh"),
            ),
            "- fish #own <!-- at home --> ^sh",
        ),
    ],
)
def test_labels_go_to_the_successor(at: Desk, change: Change, line: str) -> None:
    labels = ("#tools", "<!-- at home -->", "^sh")
    at.write("MEMORY.md", SEED.replace("zsh", f"zsh {' '.join(labels)}"))
    at.commit()
    done = at.apply(change)
    assert at.read("MEMORY.md").endswith(f"{line}\n")
    assert done.kept == tuple(label for label in labels if label in line)
    assert not at.apply(change).changed


@pytest.mark.parametrize(("text", "named"), [("shell: zsh", ZSH), ("Tea", "tea")])
def test_what_says_the_same_stays(at: Desk, text: str, named: str) -> None:
    same = Remember(text, section="Facts", options=WriteOptions(supersedes=named))
    done = at.apply(same)
    assert (at.read("MEMORY.md"), done.changed, done.supersedes) == (SEED, False, ())


def test_a_block_id_that_another_line_has_is_not_given_again(at: Desk) -> None:
    at.write("MEMORY.md", SEED.replace("zsh", "zsh <!-- at home --> ^sh"))
    at.commit()
    change = edit("Other", "- water <!-- x --> ^sh\n- shell: fish", "shell: zsh")
    assert at.apply(change).kept == ("<!-- at home -->",)
    assert at.read("MEMORY.md").endswith("- water <!-- x --> ^sh\n- shell: fish <!-- at home -->\n")


def test_labels_stay_in_their_file(at: Desk) -> None:
    at.write("MEMORY.md", SEED.replace("zsh", "zsh #tools <!-- at home --> ^sh"))
    at.write("memory/topic.md", "# T\n\n- water\n")
    at.commit()
    at.apply(edit("T", "- fish", "shell: zsh", file="memory/topic.md"))
    assert at.read("memory/topic.md") == "# T\n\n- water\n- fish\n"


def test_of_items_with_one_id_the_one_of_the_edited_section_goes_out(at: Desk) -> None:
    at.write("MEMORY.md", "## A\n\n- tea\n\n## B\n\n- TEA\n\n## C\n\n- tea #t\n")
    at.commit()
    at.apply(edit("B", "- water", "tea"))
    assert at.read("MEMORY.md") == "## A\n\n- tea\n\n## B\n\n- water\n\n## C\n\n- tea #t\n"


def test_what_is_not_taken_out_leaves_the_file(at: Desk) -> None:
    at.apply(Log("rain"))
    done = at.apply(edit("Facts", "- sun", "rain"))
    assert [pair.old for pair in done.supersedes] == [fact_id("rain")]
    assert "- rain" in at.read("memory/2026-03-05.md")
    refused(at, edit("Facts", "- sun", "snow"), "fact-not-found")


TWICE = (
    "# Memory\n\n## Facts\n\n- tea\n- drink: beer\n\n## Work\n\n## Facts\n\n- rain\n- drink: wine\n"
)


@pytest.mark.parametrize(
    ("change", "old", "line"),
    [
        (Remember("snow", section="Memory > Facts"), "rain", "- snow"),
        (Remember("milk", section="facts"), "tea", "- milk"),
        (Remember("snow"), "rain", "- snow"),
        (Remember("drink: water"), "drink: wine", "- drink: water"),
    ],
)
def test_it_decides_between_sections_of_one_name(
    at: Desk, change: Remember, old: str, line: str
) -> None:
    at.write("MEMORY.md", TWICE)
    at.commit()
    change = replace(change, options=WriteOptions(supersedes=old))
    assert at.apply(change).changed
    assert at.read("MEMORY.md") == TWICE.replace(f"- {old}\n", f"{line}\n")
    assert not at.apply(change).changed


@pytest.mark.parametrize(
    ("sections", "supersedes", "remedy"),
    [
        ("## Facts\n\n- tea\n\n## Facts\n\n- tea\n", "tea", "Rename one of them."),
        ("## Facts\n\n- tea\n\n## Facts\n", None, "Rename one of them."),
        ("# A\n\n## Facts\n\n# B\n\n## Facts\n", None, "Give the whole path."),
    ],
)
def test_otherwise_the_hint_for_sections_of_one_name_names_no_option_that_is_not_there(
    at: Desk, sections: str, supersedes: str | None, remedy: str
) -> None:
    at.write("MEMORY.md", sections)
    at.commit()
    change = Remember("snow", section="Facts", options=WriteOptions(supersedes=supersedes))
    with pytest.raises(SectionProblem) as caught:
        at.apply(change)
    assert (caught.value.code, caught.value.hint.endswith(f". {remedy}")) == (
        "section-ambiguous",
        True,
    )


MOVES = "# Memory\n\n## Facts\n\n- [decision] tea (until 2027-01-01) #hot <!-- x --> ^t\n- x\n\n## Other\n\n- rain\n"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            Remember("tea", section="Other"),
            "- [decision] tea (until 2027-01-01) #hot <!-- x --> ^t",
        ),
        (
            Remember("Tea", section="Other", kind="idea"),
            "- [idea] Tea (until 2027-01-01) #hot <!-- x --> ^t",
        ),
        (edit("Other", "- tea #own", ""), "- [decision] tea (until 2027-01-01) #own <!-- x --> ^t"),
    ],
)
def test_the_same_fact_in_another_section_moves_there(at: Desk, change: Change, line: str) -> None:
    at.write("MEMORY.md", MOVES)
    at.commit()
    change = replace(change, options=WriteOptions(supersedes="tea"))
    done = at.apply(change)
    assert (done.changed, done.supersedes, done.ended) == (True, (), ())
    without = MOVES.replace(MOVES.splitlines(keepends=True)[4], "")
    assert at.read("MEMORY.md") == f"{without}{line}\n"
    assert not at.apply(change).changed


def test_a_fact_that_moves_is_superseded_by_nothing_beside_it(at: Desk) -> None:
    done = at.apply(edit("Other", "- shell: zsh\n- sun", ZSH))
    assert (done.added, done.supersedes, done.ended) == ((ZSH, fact_id("sun")), (), ())


@pytest.mark.parametrize("section", ["A", "C"])
def test_of_facts_with_one_id_the_one_in_the_way_moves(at: Desk, section: str) -> None:
    text = "## A\n\n- a\n\n## B\n\n- tea #t\n\n## C\n\n- c\n"
    at.write("MEMORY.md", text)
    at.commit()
    at.apply(edit(section, "- TEA", "tea"))
    assert at.read("MEMORY.md") == text.replace("- tea #t\n\n", "").replace(
        f"- {section.lower()}\n", f"- {section.lower()}\n- TEA #t\n"
    )
    at.apply(edit(section, "- tea", "tea"))
    assert at.read("MEMORY.md").casefold().count("tea") == 1


def test_a_fact_moves_to_another_file(at: Desk) -> None:
    at.write("memory/topic.md", "# T\n\n- water\n")
    at.commit()
    at.apply(
        Remember(
            "shell: zsh", section="T", file="memory/topic.md", options=WriteOptions(supersedes=ZSH)
        )
    )
    assert at.read("memory/topic.md") == "# T\n\n- water\n- shell: zsh\n"
    assert "zsh" not in at.read("MEMORY.md")
