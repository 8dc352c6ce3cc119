"""Commands that are sent again because their answer was lost."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, code_of, desk, refused

from mdmem.memory import Memory
from mdmem.model.writes import Action, Change, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.text.document import parse, section_etag

SEED = "above\n\n# Memory\n\n## Work\n\n- works at Stripe\n- shell: zsh\n\n## Home\n\n- lives in Oslo\n\n### Room\n\n- dark\n"
ETAG = section_etag(parse(SEED), parse(SEED).sections[1])
MINE = WriteOptions(actor="agent/a", session="1")
REPLACED = EditSection("Work", Action.REPLACE, "Stripe", "Linear", options=MINE)
RENAMED = EditSection("Work", Action.RENAME, "Job", options=MINE)
DELETED = EditSection("Work", Action.DELETE, options=MINE)
DELETED_TREE = EditSection("Home", Action.DELETE, subtree=True, options=MINE)
WRITTEN = EditSection("Work", Action.BODY, "- new", expect=ETAG, options=MINE)
APPENDED = EditSection("Memory > Work", Action.APPEND, "- new", expect=ETAG, options=MINE)
PREPENDED = EditSection("Work", Action.PREPEND, "- new", expect=ETAG, options=MINE)
REPLACED_ABOVE = EditSection(None, Action.REPLACE, "above", "before", options=MINE)
FORGOTTEN = Forget("works at Stripe", options=MINE)
BY_KEY = Remember(
    "shell: fish",
    section="Work",
    options=WriteOptions(actor="agent/a", session="1", supersedes="shell: zsh"),
)
SUPERSEDED = Remember(
    "fish",
    key="shell",
    section="Work",
    options=WriteOptions(actor="agent/a", session="1", supersedes="shell: zsh"),
)
MOVED_ON = Remember(
    "likes fish",
    section="Work",
    options=WriteOptions(actor="agent/a", session="1", supersedes="works at Stripe"),
)
RETRACTED = Forget("rain", options=MINE)
REPEATABLE = {
    "replace": REPLACED,
    "replace above": REPLACED_ABOVE,
    "replace by the text twice": EditSection(
        "Work", Action.REPLACE, "Stripe", "Stripe, Stripe", options=MINE
    ),
    "append a section of the same name": EditSection(
        "Work", Action.APPEND, "### Work\n\n- new", options=MINE
    ),
    "rename": RENAMED,
    "delete": DELETED,
    "delete with subsections": DELETED_TREE,
    "body": WRITTEN,
    "append": APPENDED,
    "prepend": PREPENDED,
    "forget": FORGOTTEN,
    "remember": SUPERSEDED,
    "retract": RETRACTED,
}


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    prepared = desk(world, repository, seed=SEED)
    prepared.apply(Log("rain"))
    return prepared


def _elsewhere(at: Desk) -> None:
    at.apply(EditSection("Memory", Action.APPEND, "elsewhere"))


def _by_hand(at: Desk) -> None:
    at.write("MEMORY.md", at.read("MEMORY.md") + "\n## New\n\n- by hand\n")


@pytest.mark.every(2)
@pytest.mark.parametrize("change", REPEATABLE.values(), ids=REPEATABLE)
@pytest.mark.parametrize(
    "between",
    [lambda _: None, _elsewhere, _by_hand],
    ids=["at once", "a change elsewhere", "a pending edit"],
)
def test_a_repeat_is_success_without_a_commit(
    at: Desk, change: Change, between: Callable[[Desk], None]
) -> None:
    first = at.apply(change)
    between(at)
    before = at.tree_state()
    again = at.apply(change)
    assert (again.changed, again.commit) == (False, None)
    assert (again.path, again.section, again.etag, again.op) == (
        first.path,
        first.section,
        first.etag,
        first.op,
    )
    assert at.tree_state() == before


def test_a_repeat_of_an_actor_whom_the_environment_names(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDMEM_ACTOR", "agent/a")
    change = EditSection("Work", Action.REPLACE, "Stripe", "Linear")
    assert at.apply(change).changed
    assert not at.apply(change).changed


def test_a_repeat_in_a_session_whose_name_has_spaces(at: Desk) -> None:
    change = EditSection(
        "Work", Action.REPLACE, "Stripe", "Linear", options=WriteOptions(session="my  own session")
    )
    assert at.apply(change).changed
    assert not at.apply(change).changed


def test_a_renamed_section_beside_another_one_of_its_old_name(at: Desk) -> None:
    at.write("MEMORY.md", "# Memory\n\n## Work\n\n- one\n\n## Work\n\n- two\n")
    at.commit("two sections of one path")
    change = EditSection("Work", Action.RENAME, "Job", nth=1, options=MINE)
    assert at.apply(change).changed
    assert not at.apply(change).changed


def test_the_sections_beneath_count_only_where_they_are_meant(at: Desk) -> None:
    change = EditSection(
        "Home",
        Action.APPEND,
        "- new",
        expect=section_etag(parse(SEED), parse(SEED).sections[2]),
        options=MINE,
    )
    assert at.apply(change).changed
    at.apply(EditSection("Room", Action.APPEND, "- more"))
    assert not at.apply(change).changed


def test_what_was_never_there_or_stands_in_the_newest_commit_is_not_forgotten_already(
    at: Desk,
) -> None:
    refused(at, Forget("rain", file="MEMORY.md", options=MINE), "fact-not-found")
    at.apply(FORGOTTEN)
    after = at.read("MEMORY.md")
    at.write("MEMORY.md", SEED)
    at.commit()
    at.write("MEMORY.md", after)
    refused(at, FORGOTTEN, "fact-not-found")


@pytest.mark.every(2)
@pytest.mark.parametrize("change", REPEATABLE.values(), ids=REPEATABLE)
@pytest.mark.parametrize(
    "options",
    [WriteOptions(), WriteOptions(actor="agent/a"), WriteOptions(actor="agent/b", session="1")],
)
def test_of_another_actor_or_session_it_is_no_repeat(
    at: Desk, change: Change, options: WriteOptions
) -> None:
    at.apply(change)
    before = at.tree_state()
    other = WriteOptions(
        actor=options.actor, session=options.session, supersedes=change.options.supersedes
    )
    code_of(lambda: at.apply(type(change)(**{**_fields(change), "options": other})))
    assert at.tree_state() == before


def _fields(change: Change) -> dict[str, object]:
    return {name: getattr(change, name) for name in change.__dataclass_fields__}


@pytest.mark.parametrize(
    ("change", "after", "code"),
    [
        (REPLACED, EditSection("Work", Action.APPEND, "- more"), "text-not-found"),
        (REPLACED_ABOVE, EditSection(None, Action.APPEND, "more"), "text-not-found"),
        (WRITTEN, EditSection("Work", Action.APPEND, "- more"), "section-changed"),
        (RENAMED, EditSection("Job", Action.APPEND, "- more"), "section-not-found"),
        (DELETED, EditSection("Home", Action.RENAME, "Work"), "text-not-found"),
        (FORGOTTEN, Remember("works at Stripe", section="Home"), "fact-not-found"),
        (SUPERSEDED, Remember("bash", key="shell", section="Work"), "fact-not-found"),
        (SUPERSEDED, Remember("bash", key="shell", section="Work", also=True), "fact-not-found"),
        (BY_KEY, Remember("bash", key="shell", section="Work", also=True), "fact-not-found"),
        (MOVED_ON, EditSection("Home", Action.APPEND, "- works at Stripe"), "fact-not-found"),
    ],
)
def test_after_another_change_it_is_no_repeat(
    at: Desk, change: Change, after: Change, code: str
) -> None:
    at.apply(change)
    at.apply(after)
    if isinstance(after, EditSection) and after.action is Action.RENAME:
        at.apply(EditSection("Work", Action.DELETE, subtree=True))
        code = "section-not-found"
    if change is FORGOTTEN:
        at.apply(Forget("works at Stripe"))
    refused(at, change, code)


def test_other_words_are_no_repeat(at: Desk) -> None:
    at.apply(REPLACED)
    refused(
        at, EditSection("Work", Action.REPLACE, "Stripe", "Acme", options=MINE), "text-not-found"
    )
    refused(
        at,
        EditSection("Work", Action.BODY, "- other", expect=ETAG, options=MINE),
        "section-changed",
    )
    refused(
        at,
        EditSection("Work", Action.BODY, "- other", expect="0" * 12, options=MINE),
        "section-changed",
    )


@pytest.mark.parametrize("nth", [1, 2])
def test_among_sections_of_one_path_the_etag_tells_a_repeat(at: Desk, nth: int) -> None:
    at.write(
        "MEMORY.md",
        "# Memory\n" + "".join(f"\n## Work\n\n- {text}\n" for text in ("one", "two", "three")),
    )
    at.commit("three sections of one path")
    document = parse(at.read("MEMORY.md"))
    change = EditSection(
        "Work",
        Action.DELETE,
        nth=nth,
        expect=section_etag(document, document.sections[nth]),
        options=MINE,
    )
    assert at.apply(change).changed
    before = at.tree_state()
    assert (at.apply(change).changed, at.tree_state()) == (False, before)
    assert at.apply(EditSection("Work", Action.DELETE, nth=nth, options=MINE)).changed


def test_another_fact_that_it_supersedes_makes_it_another_command(at: Desk) -> None:
    at.apply(SUPERSEDED)
    other = WriteOptions(actor="agent/a", session="1", supersedes="shell: bash")
    refused(at, Remember("fish", key="shell", section="Work", options=other), "fact-not-found")


def test_the_first_commit_of_a_file(at: Desk) -> None:
    change = Remember(
        "fish",
        key="sh",
        file="memory/new.md",
        section="Facts",
        create=True,
        options=SUPERSEDED.options,
    )
    assert at.apply(change).changed
    assert not at.apply(change).changed


@pytest.mark.parametrize(
    "where", [{"file": "memory/topic.md"}, {"file": "memory/topic.md", "section": "Topic"}]
)
def test_forgotten_in_one_file_and_standing_in_another(at: Desk, where: dict[str, str]) -> None:
    at.write("memory/topic.md", "# Topic\n\n- works at Stripe\n")
    at.commit()
    change = Forget("works at Stripe", options=MINE, **where)
    assert at.apply(change).changed
    assert not at.apply(change).changed
    refused(
        at,
        Forget("works at Stripe", file="memory/topic.md", section="Other", options=MINE),
        "section-not-found",
    )


def test_a_person_who_undoes_it_by_hand_changed_the_place(at: Desk) -> None:
    at.apply(WRITTEN)
    at.write("MEMORY.md", at.read("MEMORY.md").replace("- new", "- mine"))
    refused(at, WRITTEN, "section-changed")
    at.commit()
    at.write("MEMORY.md", at.read("MEMORY.md").replace("- mine", "- new"))
    at.commit()
    refused(at, WRITTEN, "section-changed")


def test_any_markdown_file_of_the_workspace(at: Desk) -> None:
    at.write("README.md", "# Read me\n\n- old\n")
    at.commit()
    change = EditSection("Read me", Action.REPLACE, "old", "new", file="README.md")
    assert at.apply(change).changed
    assert not at.apply(change).changed


def test_a_dry_run_says_that_nothing_would_change(at: Desk) -> None:
    at.apply(REPLACED)
    dry = EditSection(
        "Work",
        Action.REPLACE,
        "Stripe",
        "Linear",
        options=WriteOptions(actor="agent/a", session="1", dry_run=True),
    )
    assert at.apply(dry).diff == ""


class TestTasks:
    @pytest.fixture
    def memory(self, at: Desk) -> Memory:
        return Memory(at.workspace)

    def test_ended_again(self, at: Desk, memory: Memory) -> None:
        memory.tasks.start("Move", "goal", MINE)
        done = memory.tasks.end("Move", "all is well", MINE)
        memory.tasks.start("Another", "goal", MINE)
        _elsewhere(at)
        before = at.tree_state()
        again = memory.tasks.end("Move", "all is well", MINE)
        assert (again.changed, again.path, again.section) == (False, done.path, done.section)
        for outcome, options in (("no luck", MINE), ("all is well", WriteOptions())):
            assert (
                code_of(
                    lambda outcome=outcome, options=options: memory.tasks.end(
                        "Move", outcome, options
                    )
                )
                == "task-not-found"
            )
        assert at.tree_state() == before

    def test_ended_again_after_the_outcome_was_retracted(self, memory: Memory) -> None:
        memory.tasks.start("Move", "goal", MINE)
        memory.tasks.end("Move", "all is well", MINE)
        memory.apply(Forget("Move: all is well"))
        assert code_of(lambda: memory.tasks.end("Move", "all is well", MINE)) == "task-not-found"

    def test_a_second_task_of_a_name_has_an_outcome_of_its_own(
        self, at: Desk, memory: Memory
    ) -> None:
        for _ in range(2):
            memory.tasks.start("Move", "goal", MINE)
            memory.tasks.end("Move", "all is well", MINE)
        assert at.read("memory/2026-03-05.md").count("Move: all is well") == 2

    def test_an_outcome_that_was_logged_before_an_interruption_is_not_logged_again(
        self, at: Desk, memory: Memory
    ) -> None:
        memory.tasks.start("Move", "goal", MINE)
        at.apply(Log("Move: all is well", kind="task"))
        memory.tasks.end("Move", "all is well", MINE)
        assert at.read("memory/2026-03-05.md").count("Move: all is well") == 1
        assert code_of(lambda: memory.tasks.end("Move", "all is well", MINE)) == "task-not-found"

    def test_ended_again_under_a_name_that_looks_like_a_kind(self, memory: Memory) -> None:
        memory.tasks.start("[note] Move", "goal", MINE)
        memory.tasks.end("[note] Move", "all is well", MINE)
        assert not memory.tasks.end("[note] Move", "all is well", MINE).changed
