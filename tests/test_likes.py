"""What a new line resembles: corrections and look-alikes, where the answer to a write names them,
and where it is silent.
"""

import json
import os
import shlex
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from commandline import Shell
from conftest import World
from workspaces import Desk, desk

from mdmem.editors.corrections import are_parallel, correction_likeness, ends_something
from mdmem.editors.sameness import resemble
from mdmem.memory import Memory
from mdmem.model.errors import plain
from mdmem.model.searches import Search
from mdmem.model.writes import Forget, LikeFact, Log, Remember, WriteOptions
from mdmem.repo.runner import converse
from mdmem.show.writes import like_hint
from mdmem.text.facts import fact_id

_DATA = Path(__file__).parent / "data" / "like"
"""Pairs of a standing line and a new one, written before anything was tuned on them; what is held
out was not looked at.
"""


def _pairs(name: str) -> list[tuple[str, str]]:
    lines = (_DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [(standing, new) for standing, _, new in (line.partition(" | ") for line in lines)]


_CORRECTIONS, _LOOK_ALIKES = _pairs("corrections"), _pairs("look_alikes")
_HELD_OUT, _HELD_OUT_LOOK_ALIKES = _pairs("held_out_corrections"), _pairs("held_out_look_alikes")
_STANDING = tuple(
    dict.fromkeys(
        standing
        for standing, _ in (*_CORRECTIONS, *_LOOK_ALIKES, *_HELD_OUT, *_HELD_OUT_LOOK_ALIKES)
        if standing
    )
)
_DAY = date(2026, 10, 1)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    """A workspace that holds all the standing lines, half of them in a day's log."""
    curated, logged = (
        "".join(f"- {text}\n" for text in half) for half in (_STANDING[::2], _STANDING[1::2])
    )
    at = desk(world, repository, seed=f"# Memory\n\n## Facts\n\n{curated}")
    at.write(f"memory/{_DAY}.md", f"# {_DAY}\n\n## 10:00\n\n{logged}")
    at.commit("a day")
    return at


@pytest.fixture
def memory(at: Desk) -> Memory:
    memory = Memory.open(at.root, os.environ)
    memory.search(Search("anything"))
    return memory


def _like(memory: Memory, change: Log | Remember) -> tuple[LikeFact, ...]:
    return memory.apply(change).like


def _texts(memory: Memory, text: str) -> list[str]:
    """The facts that a line would resemble; nothing is written."""
    return [like.text for like in _like(memory, Log(text, options=WriteOptions(dry_run=True)))]


@pytest.mark.parametrize(
    ("corrections", "look_alikes"),
    [(_CORRECTIONS, _LOOK_ALIKES), (_HELD_OUT, _HELD_OUT_LOOK_ALIKES)],
    ids=["tuned on", "held out"],
)
def test_corrections_name_what_they_correct_and_look_alikes_nothing(
    memory: Memory, corrections: list[tuple[str, str]], look_alikes: list[tuple[str, str]]
):
    named = sum(standing in _texts(memory, new) for standing, new in corrections)
    silent = sum(not _texts(memory, new) for _, new in look_alikes)
    assert named >= 0.85 * len(corrections)
    assert silent >= 0.95 * len(look_alikes)


@pytest.mark.parametrize(
    ("standing", "new"),
    [
        ("Standup is at 9:15 on Zoom", "Standup is at 10:00 from Monday"),
        ("CI runs on Jenkins", "CI has moved to GitHub Actions"),
        ("Lives in Lisbon", "Moved to Porto last weekend"),
        ("Subscribed to the Economist", "Cancelled the Economist subscription"),
        ("他在北京工作", "他现在在上海工作"),
    ],
)
def test_a_correction(standing: str, new: str):
    assert 0.3 <= correction_likeness(standing, new) <= 1


@pytest.mark.parametrize(
    ("standing", "new"),
    [
        ("Ana's birthday is on 3 May", "Ben's birthday is on 9 July"),
        ("Leo is allergic to peanuts", "Leo is also allergic to cats"),
        (
            "The contract with Acme ends on 31 December 2026",
            "The contract with Globex ends on 31 March 2028",
        ),
        ("Standup is at 9:15", "10 15 2026"),
        ("", "works at Stripe"),
        ("works at Stripe", "!!!"),
    ],
)
def test_no_correction(standing: str, new: str):
    assert correction_likeness(standing, new) == 0


@pytest.mark.parametrize(
    "text",
    [
        "I no longer use Emacs",
        "He stopped smoking",
        "Not going there any more",
        "Raucht nicht mehr",
        "不再用Emacs",
    ],
)
def test_what_says_that_something_ends(text: str):
    assert ends_something(text)
    assert not ends_something("uses Emacs for everything")


@pytest.mark.parametrize(
    ("standing", "new", "parallel"),
    [
        ("name the node10 host heron10", "we name the node11 host heron11", True),
        ("backups of db1 go to Porto", "backups of db2 go to Lisbon", True),
        ("backups of db1 go to Porto", "backups of db2 go to Lisbon now", False),
        ("the staging server is at 10.1.2.3", "the build server is at 10.1.2.9", True),
        ("the server is web1", "the server is web2", False),
        ("the meeting is on Monday at 10", "the meeting is on Tuesday at 11", False),
        ("Ana owns billing", "Tom owns billing", False),
    ],
)
def test_statements_about_different_things(standing: str, new: str, parallel: bool):
    assert are_parallel(standing, new) is parallel


class TestAnswers:
    def test_of_remember_and_log(self, memory: Memory, at: Desk):
        of_log = {standing: new for standing, new in _CORRECTIONS if standing in _STANDING[1::2]}
        in_log, curated = "Backups go to an S3 bucket in Frankfurt", "The API listens on port 8080"
        assert in_log in of_log
        like = _like(memory, Remember("The API listens on port 9090 now", section="Facts"))
        assert [(each.text, each.path, each.in_log) for each in like] == [
            (curated, "MEMORY.md", False)
        ]
        assert at.read("MEMORY.md").splitlines()[like[0].line - 1] == f"- {curated}"
        memory.search(Search("anything"))
        like = _like(memory, Log(of_log[in_log], time="09:00"))
        assert [(each.text, each.path, each.in_log) for each in like] == [
            (in_log, f"memory/{_DAY}.md", True)
        ]

    def test_lines_are_those_after_the_write(self, memory: Memory, at: Desk):
        at.write(
            "MEMORY.md", "# Memory\n\n## Early\n\n## Work\n\n- uses Emacs for all programming\n"
        )
        at.commit()
        memory.search(Search("anything"))
        assert [
            each.line
            for each in _like(
                memory, Remember("no longer uses Emacs for programming", section="Early")
            )
        ][:1] == [9]

    def test_the_id_supersedes(self, memory: Memory, at: Desk):
        text = "Thermostat down to 18 degrees now"
        like = _like(memory, Remember(text))
        done = memory.apply(Remember(text, options=WriteOptions(supersedes=like[0].fact)))
        assert [pair.old for pair in done.supersedes] == [like[0].fact]
        assert "21 degrees" not in at.read("MEMORY.md")
        memory.search(Search("anything"))
        assert _texts(memory, "Thermostat down to 17 degrees now") == [text]

    def test_silent_where_the_write_says_itself_what_it_replaces(self, memory: Memory):
        assert _like(memory, Remember("Helix", key="editor")) == ()
        memory.search(Search("anything"))
        assert (
            _like(
                memory,
                Remember(
                    "Standup is at 11:00 now",
                    options=WriteOptions(supersedes="Standup is at 9:15 on Zoom"),
                ),
            )
            == ()
        )
        memory.search(Search("anything"))
        again = Log("The API listens on port 9090 now", day="2026-09-30")
        assert _like(memory, again) != ()
        memory.search(Search("anything"))
        assert (
            _like(
                memory,
                replace(again, day="2026-09-29", options=WriteOptions(supersedes=again.text)),
            )
            == ()
        )

    def test_silent_of_what_does_not_stand(self, memory: Memory, at: Desk):
        text = "The API listens on port 9090 now"
        assert _texts(memory, text) == ["The API listens on port 8080"]
        memory.apply(Forget("The API listens on port 8080"))
        memory.search(Search("anything"))
        assert _texts(memory, text) == []

    def test_silent_of_the_same_line(self, memory: Memory):
        assert _texts(memory, "The API listens on port 8080") == []

    def test_silent_of_instructions_and_of_what_is_only_read(self, memory: Memory, at: Desk):
        at.write("AGENTS.md", "# Agents\n\n- Run the linter before each commit\n")
        at.write("notes/shared.md", "# Shared\n\n- Run the formatter before each push\n")
        at.write("mdmem.toml", 'extra_paths = ["notes"]\n')
        at.commit()
        memory.search(Search("anything"))
        assert _texts(memory, "No longer run the linter before each commit") == []
        assert _texts(memory, "No longer run the formatter before each push") == []

    def test_named_where_the_index_is_behind(self, memory: Memory, at: Desk):
        at.commit("something")
        assert _texts(memory, "The API listens on port 9090 now") == [
            "The API listens on port 8080"
        ]

    def test_named_right_after_it_was_written(self, memory: Memory):
        memory.apply(Remember("The kiln reaches 1240 degrees"))
        memory.apply(Log("The heron moult begins in May"))
        assert _texts(memory, "The kiln reaches 1260 degrees now") == [
            "The kiln reaches 1240 degrees"
        ]
        assert _texts(memory, "The heron moult begins in June now") == [
            "The heron moult begins in May"
        ]

    def test_what_was_just_superseded_is_not_named(self, memory: Memory):
        first = memory.apply(Log("The kiln reaches 1240 degrees")).added[0]
        replaced = WriteOptions(supersedes=first)
        memory.apply(Log("The kiln reaches 1260 degrees now", options=replaced))
        assert _texts(memory, "The kiln reaches 1280 degrees now") == [
            "The kiln reaches 1260 degrees now"
        ]

    def test_what_was_just_forgotten_is_not_named(self, memory: Memory):
        memory.apply(Log("The kiln reaches 1240 degrees"))
        memory.apply(Remember("The kiln reaches 1240 degrees"))
        memory.apply(Forget("The kiln reaches 1240 degrees"))
        assert _texts(memory, "The kiln reaches 1280 degrees now") == []

    def test_named_where_there_is_no_index(self, at: Desk):
        memory = Memory.open(at.root, os.environ)
        assert _texts(memory, "The API listens on port 9090 now") == [
            "The API listens on port 8080"
        ]

    def test_silent_where_much_is_not_indexed(self, at: Desk):
        memory = Memory.open(at.root, os.environ)
        for number in range(33):
            at.write("MEMORY.md", f"{at.read('MEMORY.md')}- tile {number} is blue\n")
            at.commit()
        assert _texts(memory, "The API listens on port 9090 now") == []

    def test_a_damaged_index_hinders_nothing(self, memory: Memory, at: Desk):
        for file in (at.workspace.state / "index" / "documents").iterdir():
            file.write_bytes(b"")
        done = Memory.open(at.root, os.environ).apply(Log("The API listens on port 9090 now"))
        assert done.changed
        assert done.like == ()

    def test_no_more_is_compared_than_takes_milliseconds(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ):
        compared: list[int] = []

        def measure(standing: str, new: str) -> float:
            compared.append(len(standing) + len(new))
            return 0.0

        monkeypatch.setattr("mdmem.editors.corrections.correction_likeness", measure)
        counts = []
        for times in (1, 400, 1_000):
            compared.clear()
            _texts(memory, f"The API listens on port 9090 now {'and again ' * times}")
            counts.append(len(compared))
            assert sum(compared) <= 6_000
        assert counts[0] > counts[1] > counts[2] == 0

    def test_a_line_that_somebody_has_just_taken_out_is_not_named(self, memory: Memory, at: Desk):
        path = f"memory/{_DAY}.md"
        at.write(path, at.read(path).replace("- Backups go to an S3 bucket in Frankfurt\n", ""))
        assert _texts(memory, "Backups go to Hetzner storage instead of S3") == []


def test_words_of_the_command_line(
    world: World,
    at: Desk,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(at.root)
    shell = Shell(world, at.root, monkeypatch, capsys)
    logged = "Backups go to an S3 bucket in Frankfurt"
    text, fact = "Backups go to Hetzner storage instead of S3", fact_id(logged)
    like = json.loads(shell.run("log", text, "--dry-run", "--json").out)["like"]
    path = f"memory/{_DAY}.md"
    line = at.read(path).splitlines().index(f"- {logged}") + 1
    assert like == [{"fact": fact, "text": logged, "path": path, "line": line}]
    named, hint = shell.run("log", text, "--time", "08:00").err.splitlines()
    assert named == f"mdmem: similar: {fact} {logged}"
    command = f'mdmem log --supersedes {fact} "{text}"'
    assert hint == f"mdmem: To replace it: {command}"
    answer = json.loads(shell.run(*shlex.split(command)[1:], "--json").out)
    assert answer["supersedes"] == [{"old": fact, "new": fact_id(text)}]
    assert sum(path.read_text().count(text) for path in at.root.glob("memory/*.md")) == 1

    memory.search(Search("anything"))
    curated, text = "The API listens on port 8080", "The API listens on port 9090 now"
    named, hint = shell.run("log", text).err.splitlines()
    assert named == f"mdmem: similar: {fact_id(curated)} {curated}"
    command = f"mdmem remember --from {fact_id(text)} --supersedes {fact_id(curated)}"
    assert hint == f"mdmem: To replace it: {command}"
    assert shell.run(*shlex.split(command)[1:]).status == 0
    assert f"- {text}\n" in at.read("MEMORY.md")
    assert curated not in at.read("MEMORY.md")
    memory.search(Search("anything"))
    answer = json.loads(shell.run("remember", "I no longer use Emacs", "--json").out)
    assert answer["like"][0].keys() == {"fact", "text", "path", "line"}
    assert answer["hint"] == f"If that is no longer true: mdmem forget {answer['like'][0]['fact']}"


def test_no_hint_replaces_a_line_of_another_note(
    world: World,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    at = desk(world, repository)
    at.write("mdmem.toml", 'paths = ["**/*.md"]\n')
    at.write("Templates/Person.md", "# {{title}}\n\n- met:: \n- Employer: Acme in Oslo\n")
    at.commit("a vault")
    monkeypatch.chdir(at.root)
    shell = Shell(world, at.root, monkeypatch, capsys)
    text = "Employer: Acme in Bergen"
    for words in (("log", text), ("remember", text)):
        notes = shell.run(*words).err
        assert f"similar: {fact_id('Employer: Acme in Oslo')}" in notes
        assert "To replace it" not in notes
    own = ("remember", "Employer: Acme in Narvik", "--file", "Templates/Person.md")
    assert "To replace it" in shell.run(*own).err


def test_something_is_done_while_a_process_works():
    order: list[str] = []
    wait = [sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())"]
    status, output, _ = converse(
        wait, os.environ, b"said", 60, meanwhile=lambda: order.append("meanwhile")
    )
    assert (status, output, order) == (0, b"said", ["meanwhile"])


def test_a_failure_meanwhile_ends_the_process(tmp_path: Path):
    def fail() -> None:
        raise ValueError("meanwhile")

    late = tmp_path / "late"
    with pytest.raises(ValueError, match="meanwhile"):
        converse(["sh", "-c", f"sleep 5; touch {late}"], os.environ, b"", 60, meanwhile=fail)
    assert not late.exists()


def test_the_hint_names_fields_and_verbs(memory: Memory):
    result = memory.apply(Log("I no longer use Emacs"))
    assert plain(like_hint(result)) == f"If that is no longer true: forget {result.like[0].fact}"


_NIGHT, _NIGHT_LOOK_ALIKES = _pairs("night_corrections"), _pairs("night_look_alikes")
_HELD_OUT_NIGHT = _pairs("held_out_night_corrections")
_HELD_OUT_NIGHT_LOOK_ALIKES = _pairs("held_out_night_look_alikes")


@pytest.mark.parametrize(
    ("corrections", "look_alikes"),
    [(_NIGHT, _NIGHT_LOOK_ALIKES), (_HELD_OUT_NIGHT, _HELD_OUT_NIGHT_LOOK_ALIKES)],
    ids=["tuned on", "held out"],
)
def test_a_night_tells_corrections_from_look_alikes(
    corrections: list[tuple[str, str]], look_alikes: list[tuple[str, str]]
):
    named = [bool(correction_likeness(standing, new)) for standing, new in corrections]
    silent = [not correction_likeness(standing, new) for standing, new in look_alikes]
    assert sum(named) >= 0.9 * len(corrections)
    assert sum(silent) >= 0.85 * len(look_alikes)
    assert not any(resemble(standing, new) for standing, new in corrections)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("the backup needs nine hours", "the backup needs two hours"),
        ("the backup needs nine hours", "the backup needs nine days"),
        ("the lease ends in June", "the lease ends in August"),
        ("the shop opens on Sundays", "the shop doesn't open on Sundays"),
        ("die Sicherung dauert neun Stunden", "die Sicherung dauert zwei Stunden"),
        ("备份需要九小时", "备份需要两小时"),
        ("the backup runs before the deploy", "the backup runs after the deploy"),
        ("invoices go to Anna", "invoices come from Anna"),
        ("die Sicherung läuft vor dem Deployment", "die Sicherung läuft nach dem Deployment"),
        ("Anna is allergic to nuts", "Anna's son is allergic to nuts"),
        ("I prefer tea over coffee", "I prefer coffee over tea"),
    ],
)
def test_other_measures_opposites_and_orders_are_other_words(left: str, right: str):
    assert not resemble(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("the backup needs nine hours", "By the way, the backup needs 9 hours."),
        ("the CI server is called Puffin", "Our CI server is called Puffin, just so you know."),
        ("releases go out on Thursdays", "Actually, releases really go out on Thursdays"),
        ("two pills each morning", "each morning two pills"),
        ("it's the port of the billing service", "It's the port of billing services"),
    ],
)
def test_openers_and_hedges_are_no_content(left: str, right: str):
    assert resemble(left, right)
