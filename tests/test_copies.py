"""One fact has one life, wherever its lines stand: random sequences of writes against a small model
of what counts then.
"""

import os
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from conftest import World
from dated_memory import DatedMemory

from mdmem.memory import Memory
from mdmem.model import CommitId
from mdmem.model.errors import HistoryProblem, MdmemError
from mdmem.model.searches import Hit, ListFacts, Search
from mdmem.model.writes import (
    Action,
    EditSection,
    Forget,
    Log,
    Remember,
    Revert,
    Save,
    WriteOptions,
)
from mdmem.show.writes import write_text
from mdmem.text.facts import fact_id

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
STEPS = 8
CITIES = ("Oslo", "Bergen", "Narvik")


@dataclass
class Model:
    """What is said where, and when it ended: a line of a log counts unless an end came after it was
    said.
    """

    curated: set[str] = field(default_factory=set)
    logs: dict[str, list[tuple[datetime, int]]] = field(default_factory=dict)
    ends: dict[str, list[tuple[datetime, int]]] = field(default_factory=dict)

    def log(self, fact: str, said: datetime, at: int) -> None:
        self.logs.setdefault(fact, []).append((said, at))

    def end(self, fact: str, now: datetime, at: int) -> None:
        self.curated.discard(fact)
        self.ends.setdefault(fact, []).append((now, at))

    def lines_that_count(self, fact: str) -> list[tuple[datetime, int]]:
        return [
            line
            for line in self.logs.get(fact, ())
            if all(line > end for end in self.ends.get(fact, ()))
        ]

    def logged(self, fact: str) -> bool:
        return bool(self.lines_that_count(fact))

    def counts(self, fact: str) -> bool:
        return fact in self.curated or self.logged(fact)


class Story:
    """One sequence, in a workspace that others share: its facts are its own."""

    def __init__(self, dated: DatedMemory, number: int, now: datetime) -> None:
        self.dated, self.random, self.now, self.at = dated, Random(number), now, 0
        self.facts = {
            f"{city}{number}": f"the zebra of stable {number} sleeps in {city}{number} #{city}"
            for city in CITIES
        }
        self.model, self.before, self.last = Model(), Model(), (CommitId(""), "", "")
        self.done: list[str] = []

    @property
    def memory(self) -> Memory:
        return self.dated.on(self.now.isoformat())

    def step(self) -> None:
        """Do something that can be done now."""
        self.now += timedelta(minutes=self.random.choice((0, 0, 1, 30, 1440)))
        self.at += 1
        fact, other = self.random.sample(sorted(self.facts), 2)
        ways: list[Callable[[str, str], CommitId | None]] = [
            self.log,
            self.log_of_yesterday,
            self.log_successor,
            self.remember,
        ]
        ways += [
            self.forget,
            self.forget_copy,
            self.supersede,
            self.edit_by_hand,
            self.take_out_by_hand,
            self.make_room,
            self.revert,
        ]
        before = deepcopy(self.model)
        way = self.random.choice(ways)
        commit = way(fact, other)
        if commit is not None:
            self.done.append(f"{self.now:%m-%d %H:%M} {way.__name__} {fact} {other}")
            self.before, self.last = before, (commit, way.__name__, fact)

    def log(self, fact: str, _: str) -> CommitId | None:
        self.model.log(fact, self.now, self.at)
        return self.memory.apply(Log(self.facts[fact], again=True)).commit

    def log_of_yesterday(self, fact: str, _: str) -> CommitId | None:
        said = self.now - timedelta(days=1)
        self.model.log(fact, said, self.at)
        return self.memory.apply(
            Log(self.facts[fact], again=True, day=f"{said:%Y-%m-%d}", time=f"{said:%H:%M}")
        ).commit

    def log_successor(self, fact: str, other: str) -> CommitId | None:
        if fact in self.model.curated or not self.model.logged(fact):
            return None
        self.model.end(fact, self.now, self.at)
        self.model.log(other, self.now, self.at)
        return self.memory.apply(
            Log(self.facts[other], again=True, options=WriteOptions(supersedes=self.facts[fact]))
        ).commit

    def remember(self, fact: str, _: str) -> CommitId | None:
        if fact in self.model.curated:
            return None
        self.model.curated.add(fact)
        return self.memory.apply(Remember(self.facts[fact])).commit

    def forget(self, fact: str, _: str) -> CommitId | None:
        if not self.model.counts(fact):
            return None
        self.model.end(fact, self.now, self.at)
        return self.memory.apply(Forget(self.facts[fact])).commit

    def forget_copy(self, fact: str, _: str) -> CommitId | None:
        if fact not in self.model.curated:
            return None
        self.model.curated.remove(fact)
        return self.memory.apply(Forget(self.facts[fact], file="MEMORY.md")).commit

    def supersede(self, fact: str, other: str) -> CommitId | None:
        if fact not in self.model.curated or other in self.model.curated:
            return None
        self.model.end(fact, self.now, self.at)
        self.model.curated.add(other)
        return self.memory.apply(
            Remember(self.facts[other], options=WriteOptions(supersedes=self.facts[fact]))
        ).commit

    def edit_by_hand(self, fact: str, other: str) -> CommitId | None:
        if fact not in self.model.curated or other in self.model.curated:
            return None
        self.model.end(fact, self.now, self.at)
        self.model.curated.add(other)
        return self._save(self.facts[fact], self.facts[other])

    def take_out_by_hand(self, fact: str, _: str) -> CommitId | None:
        if fact not in self.model.curated:
            return None
        self.model.curated.remove(fact)
        return self._save(f"- {self.facts[fact]}\n", "")

    def _save(self, old: str, new: str) -> CommitId | None:
        file = self.dated.at.root / "MEMORY.md"
        file.write_text(file.read_text().replace(old, new))
        return self.memory.save(Save())[0]

    def make_room(self, fact: str, _: str) -> CommitId | None:
        if fact not in self.model.curated:
            return None
        self.model.curated.remove(fact)
        edit = EditSection(
            section="Facts", action=Action.REPLACE, text=f"- {self.facts[fact]}\n", replacement=""
        )
        return self.memory.apply(edit).commit

    def revert(self, _: str, __: str) -> CommitId | None:
        commit, way, fact = self.last
        if not commit or way == "revert":
            return None
        if way == "log_of_yesterday" and self.model.logs[fact][
            -1
        ] not in self.model.lines_that_count(fact):
            with pytest.raises(
                HistoryProblem, match="has no effect on memory left to undo"
            ):  # it was over when it was logged
                self.memory.apply(Revert(commit))
            return None
        self.model = deepcopy(self.before)
        return self.memory.apply(Revert(commit)).commit

    def check(self) -> None:
        memory = self.memory
        every = memory.facts(ListFacts(limit=0)).facts
        for limit in (1, 4):
            few = memory.facts(ListFacts(limit=limit))
            assert (few.facts, few.total) == (every[:limit], len(every))
        tags = {count.tag: count.count for count in memory.tags().tags}
        assert tags == Counter(tag for hit in every for tag in hit.tags)
        listed = every[:60]
        for name in self.facts:
            expected = (
                ["MEMORY.md"]
                if name in self.model.curated
                else ["log"]
                if self.model.logged(name)
                else []
            )
            for answer in (listed, memory.search(Search(name)).hits):
                places = [
                    hit.path if hit.path == "MEMORY.md" else "log"
                    for hit in answer
                    if name in hit.text
                ]
                assert places == expected, (name, self.done)


def answers(memory: Memory, names: list[str]) -> dict[str, list[Hit]]:
    """The facts that count, and all that was ever said of each name; scores depend on how the index
    came to be.
    """
    of_name = {name: memory.search(Search(name, history=True, limit=50)).hits for name in names}
    everything = {
        name: [replace(hit, score=0.0) for hit in hits if name in hit.text]
        for name, hits in of_name.items()
    }
    return {"facts": list(memory.facts(ListFacts(limit=0)).facts), **everything}


def tell(dated: DatedMemory, numbers: range) -> None:
    now, names = START, list[str]()
    for number in numbers:
        story = Story(dated, number, now)
        for _ in range(STEPS):
            story.step()
        story.check()
        now, names = story.now + timedelta(hours=1), [*names, *story.facts]
    before = answers(story.memory, names)
    story.memory.reindex(full=True)
    after = answers(Memory.open(dated.at.root, os.environ), names)
    assert {
        name: (before[name], after[name]) for name in after if before[name] != after[name]
    } == {}


def test_a_fact_has_one_life_wherever_its_lines_stand(dated: DatedMemory):
    tell(dated, range(12))


@pytest.mark.slow
def test_a_fact_has_one_life_in_many_sequences(dated: DatedMemory):
    tell(dated, range(500))


ZEBRA = "the zebra sleeps in Oslo"


def test_forgetting_names_every_line_that_is_over_and_where_the_words_stand(dated: DatedMemory):
    dated.on("2026-03-01").apply(Log(ZEBRA))
    dated.on("2026-03-02").apply(Remember(ZEBRA, section="Home"))
    dated.on("2026-03-02").apply(Remember(ZEBRA, section="Work"))
    with pytest.raises(MdmemError) as failure:
        dated.on("2026-03-03").apply(Forget(ZEBRA))
    assert failure.value.code == "fact-ambiguous"
    assert [hit.also for hit in dated.search("zebra", "2026-03-03") if hit.text == ZEBRA] == [
        ("memory/2026-03-01.md:7",)
    ] * 2
    done = dated.on("2026-03-03").apply(Forget(ZEBRA, section="Home"))
    assert (done.forgotten, done.also) == (
        ("MEMORY.md:10", "memory/2026-03-01.md:7"),
        ("MEMORY.md:5, Work",),
    )
    assert done.notes == ("the fact is still in MEMORY.md:5, Work",)
    assert [(hit.path, hit.also) for hit in dated.search("zebra") if hit.text == ZEBRA] == [
        ("MEMORY.md", ())
    ]


def test_one_copy_is_forgotten_and_the_others_count(dated: DatedMemory):
    dated.on("2026-03-01").apply(Log(ZEBRA))
    dated.on("2026-03-02").apply(Remember(ZEBRA, section="Home"))
    done = dated.on("2026-03-03").apply(Forget(ZEBRA, file="MEMORY.md"))
    assert (done.forgotten, done.also) == (("MEMORY.md:8",), ("memory/2026-03-01.md:7, 12:00",))
    assert done.notes == ("the log entry is unchanged and still current: memory/2026-03-01.md:7",)
    assert [hit.path for hit in dated.search("zebra")] == ["memory/2026-03-01.md"]
    dated.on("2026-03-04").apply(Log(ZEBRA))
    dated.on("2026-03-04").apply(Log(ZEBRA, day="2026-03-03"))
    done = dated.on("2026-03-05").apply(Forget(ZEBRA, file="memory/2026-03-03.md"))
    assert done.notes == (
        "the log entries are unchanged and still current: memory/2026-03-04.md:7;"
        " memory/2026-03-01.md:7",
    )
    dated.on("2026-03-05").apply(Forget(ZEBRA, file="memory/2026-03-04.md"))
    assert [hit.path for hit in dated.search("zebra")] == ["memory/2026-03-01.md"]


def test_every_line_is_a_person_s_to_forget(dated: DatedMemory):
    for section in ("Home", "Work"):
        dated.on("2026-03-02").apply(Remember(ZEBRA, section=section))
    dated.on("2026-03-02").apply(Log(ZEBRA))
    with pytest.raises(MdmemError) as failure:
        dated.on("2026-03-03").apply(
            Forget(ZEBRA, everywhere=True, options=WriteOptions(actor="agent/main"))
        )
    assert failure.value.code == "not-allowed"
    assert "agent/main is an agent and cannot forget every line at once" in str(failure.value)
    done = dated.on("2026-03-03").apply(Forget(ZEBRA, everywhere=True))
    log = "memory/2026-03-02.md:7"
    assert (done.forgotten, done.marked) == (("MEMORY.md:5", "MEMORY.md:10", log), (log,))
    first, marked = "forgotten: MEMORY.md:5, MEMORY.md:10", f"marked in the log: {log} (line kept)"
    assert write_text(done) == f"{first}; {marked} (commit {done.commit[:10]})"
    assert dated.texts("zebra") == []


def test_the_neighbours_of_a_forgotten_entry_are_not_found_by_its_words(dated: DatedMemory):
    dated.on("2026-03-02").apply(Log(ZEBRA))
    dated.on("2026-03-02").apply(Log("the weather was fine"))
    assert [hit.near for hit in dated.search("zebra")] == [False, True]
    dated.on("2026-03-02").apply(Remember("sunny ever since"))
    dated.on("2026-03-03").apply(Forget(ZEBRA))
    assert dated.texts("zebra") == []
    assert next(iter(dated.texts("fine"))) == "the weather was fine"


def test_what_has_few_words_and_no_key_has_no_copies(dated: DatedMemory):
    dated.on("2026-03-01").apply(Log("zebra sleeps"))
    dated.on("2026-03-02").apply(Remember("zebra sleeps"))
    assert len(dated.texts("zebra")) == 2
    dated.on("2026-03-03").apply(Forget("zebra sleeps"))
    assert [hit.path for hit in dated.search("zebra")] == ["memory/2026-03-01.md"]


def test_equal_log_lines_of_few_words_are_forgotten_one_by_one_or_all(dated: DatedMemory):
    for minute in ("09:00", "09:00", "10:00"):
        dated.on("2026-03-02").apply(Log("zebra sleeps", time=minute, again=True))
    dated.on("2026-03-02").apply(Log("zebra sleeps", day="2026-03-01"))
    dated.on("2026-03-02").apply(Remember("zebra sleeps"))
    forget = Forget("zebra sleeps", file="memory/2026-03-02.md")
    assert dated.on("2026-03-03").apply(forget).section == ("2026-03-02", "10:00")
    assert len(dated.texts("zebra")) == 3, "two of one minute are one hit"
    done = dated.on("2026-03-03").apply(Forget("zebra sleeps", everywhere=True))
    logs = ("memory/2026-03-01.md:7", "memory/2026-03-02.md:7", "memory/2026-03-02.md:8")
    assert (done.path, done.forgotten[1:], done.marked) == ("MEMORY.md", logs, logs)
    assert dated.texts("zebra") == []
    for minute in ("11:00", "12:00"):
        dated.on("2026-03-04").apply(Log("zebra wakes", time=minute, again=True))
    done = dated.on("2026-03-05").apply(Forget("zebra wakes", everywhere=True))
    assert write_text(done).startswith(
        "marked as forgotten in memory/2026-03-04.md:7, memory/2026-03-04.md:11 (commit "
    )
    assert dated.texts("zebra") == []


def test_a_log_line_under_the_attribute_shares_the_fate_of_the_key(dated: DatedMemory):
    message = "memory/2026-03-01.md: digest\n\nMdmem-Op: digest\nMdmem-Source: inferred\n"
    fact = fact_id("I live in Oslo")
    dated.on("2026-03-01")
    dated.at.write("memory/2026-03-01.md", "# 2026-03-01\n\n## 10:00\n\n- I live in Oslo\n")
    dated.at.git("add", "-A")
    cites = f"Mdmem-Cites: {fact} claude/a#1\nMdmem-Key: {fact} home\n"
    dates = {
        "GIT_AUTHOR_DATE": "2026-03-01T12:00:00+00:00",
        "GIT_COMMITTER_DATE": "2026-03-01T12:00:00+00:00",
    }
    World(dated.at.world.home, {**dated.at.world.environment, **dates}).git(
        dated.at.root, "commit", "-qm", message + cites
    )
    dated.on("2026-03-02").apply(Remember("I live in Oslo", section="Home", key="home"))
    (hit,) = [hit for hit in dated.search("live in Oslo", "2026-03-02") if "I live" in hit.text]
    assert (hit.path, hit.cites) == ("MEMORY.md", ("memory/2026-03-01.md:5",))
    dated.on("2026-03-03").apply(Remember("Bergen", section="Home", key="home"))
    assert [text for text in dated.texts("live in Oslo") if "I live" in text] == []


def meet(dated: DatedMemory) -> str:
    """Take an entry of a log into MEMORY.md in other words: the commit."""
    dated.on("2026-03-01").apply(Log("we meet every Tuesday in the blue room"))
    done = dated.on("2026-03-02").apply(
        Remember(MEETING, section="Work", entry="we meet every Tuesday in the blue room")
    )
    assert "Mdmem-Promotes: 5136bf3f" in dated.at.git("log", "-1", "--format=%B")
    return str(done.commit)


MEETING = "Team meeting: Tuesdays, blue room"


def meetings(dated: DatedMemory, day: str = "2026-04-01") -> list[str]:
    return [hit.path for hit in dated.search("meet every Tuesday", day) if "blue" in hit.text]


def test_a_promoted_entry_is_found_as_the_curated_line(dated: DatedMemory):
    meet(dated)
    (hit,) = [hit for hit in dated.search("meet every Tuesday", "2026-03-02") if "blue" in hit.text]
    assert (hit.text, hit.cites, hit.also) == (MEETING, ("memory/2026-03-01.md:7",), ())


def test_it_ends_with_the_curated_line(dated: DatedMemory):
    meet(dated)
    done = dated.on("2026-03-03").apply(Forget(MEETING))
    assert done.forgotten == ("MEMORY.md:5", "memory/2026-03-01.md:7")
    assert meetings(dated) == []
    dated.on("2026-03-04").apply(Revert(done.commit))
    assert meetings(dated) == ["MEMORY.md"]
    dated.on("2026-03-05").apply(
        Remember(
            "the meeting is by video now", section="Work", options=WriteOptions(supersedes=MEETING)
        )
    )
    assert meetings(dated) == []


def test_it_counts_again_where_the_curated_line_only_goes(dated: DatedMemory):
    meet(dated)
    edit = EditSection(section="Work", action=Action.REPLACE, text=f"- {MEETING}", replacement="")
    assert dated.on("2026-03-03").apply(edit).notes == (
        'the log entry "we meet every Tuesday in the blue room" is unchanged and still '
        "current: memory/2026-03-01.md:7",
    )
    assert meetings(dated) == ["memory/2026-03-01.md"]


def test_it_counts_again_where_the_promotion_is_undone(dated: DatedMemory):
    commit = meet(dated)
    dated.on("2026-03-03").apply(Revert(commit))
    assert meetings(dated) == ["memory/2026-03-01.md"]


def test_in_its_own_words_it_is_one_fact(dated: DatedMemory):
    dated.on("2026-03-01").apply(Log("lunch is at noon on Fridays", kind="decision"))
    dated.on("2026-03-02").apply(Remember("", section="Work", entry="lunch is at noon on Fridays"))
    (hit,) = [hit for hit in dated.search("lunch at noon") if "lunch" in hit.text]
    assert (hit.path, hit.kind, hit.also) == ("MEMORY.md", "decision", ("memory/2026-03-01.md:7",))


def test_a_night_of_an_earlier_version_promotes_what_cites_the_same_lines(dated: DatedMemory):
    at, log, new = dated.at, fact_id("we meet every Tuesday in the blue room"), fact_id(MEETING)

    def commit(day: str, path: str, text: str, message: str) -> None:
        at.write(path, text)
        at.git("add", "-A")
        dates = {
            "GIT_AUTHOR_DATE": f"{day}T12:00:00+00:00",
            "GIT_COMMITTER_DATE": f"{day}T12:00:00+00:00",
        }
        World(at.world.home, {**at.world.environment, **dates}).git(
            at.root, "commit", "-qm", message
        )

    text = "# 2026-03-01\n\n## 10:00\n\n- we meet every Tuesday in the blue room\n"
    said = f"x\n\nMdmem-Op: digest\nMdmem-Source: inferred\nMdmem-Cites: {log} claude/a#17\n"
    commit("2026-03-01", "memory/2026-03-01.md", text, said)
    taken = f"x\n\nMdmem-Op: remember\nMdmem-Source: inferred\nMdmem-Run: dream/2026-03-01\nMdmem-Cites: {new} claude/a#17\n"
    commit("2026-03-02", "MEMORY.md", at.read("MEMORY.md") + f"- {MEETING}\n", taken)
    assert meetings(dated) == ["MEMORY.md"]
    dated.on("2026-03-03").apply(Forget(MEETING))
    assert meetings(dated) == []


def test_what_a_merge_brings_back_is_named(dated: DatedMemory):
    dated.on("2026-03-01").apply(Remember(ZEBRA, section="Home"))
    dated.at.git("checkout", "-qb", "side")
    dated.on("2026-03-02").apply(Forget(ZEBRA))
    dated.at.git("checkout", "-q", "-")
    dated.on("2026-03-03").apply(Log("something else was said"))
    dated.at.git("merge", "-q", "-s", "ours", "side", "-m", "keep ours")
    memory = dated.on("2026-03-04")
    assert [hit.path for hit in memory.search(Search("zebra")).hits if hit.text == ZEBRA] == [
        "MEMORY.md"
    ]
    assert [note for note in memory.status().notes if "but back" in note] == [
        f"forgotten, but back: MEMORY.md, {fact_id(ZEBRA)} {ZEBRA}"
    ]
    (advice,) = [each for each in memory.review().advice if each.kind == "forgotten-again"]
    assert advice.command == ("mdmem", "forget", fact_id(ZEBRA), "--file", "MEMORY.md")
    memory.apply(Forget(ZEBRA))
    assert dated.texts("zebra") == []
    assert not [note for note in dated.on("2026-03-05").status().notes if "but back" in note]
