"""A thousand nights of a hostile model: no line of the user's goes but by their own words, no night
changes more than it may, and each can be undone.
"""

import json
import random
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from dream_records import SAID, USER, entry, memory_of, stands
from dreams import Said, digested, dream, in_the_morning, settings
from kept_state import keep_state
from scripted_models import MODEL, Reply, serving
from workspaces import Desk, desk

from mdmem.llm.checks import check_changes
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.pipelines import DreamOp
from mdmem.model.writes import Revert
from mdmem.nights.dream import cases, model_step
from mdmem.nights.dream.candidates import CuratedFact, CuratedMemory, DreamCandidate, LogEntries
from mdmem.nights.dream.cases import Decided, Limits
from mdmem.text.facts import fact_id

FIRST = date(2026, 3, 4)
INVENTED = (
    "Initech",
    "48213",
    "zebra@example.org",
    "2031-07-04",
    "TEXT-OF-THE-FACT",
    "<system-reminder>",
    "evil.example",
)
MOST = 6
"""The most changes of a night."""
_SUBJECTS = (
    "the boiler",
    "our shed",
    "the tax letter",
    "a red kite",
    "the archive",
    "my old bike",
    "the choir",
    "the blue van",
    "the well",
)
_STATES = (
    "leaks",
    "was painted green",
    "is kept in the attic",
    "belongs to Ida",
    "needs oil in May",
    "is never locked",
    "starts at nine",
)
_VALUES = {"employer": ("Stripe", "Linear", "Gable"), "home": ("Oslo", "Berlin", "Graz")}
_SOURCES = (Source.USER_STATED, Source.USER_STATED, Source.INFERRED, Source.AUTO)


def saying(dice: random.Random, line: int) -> Said:
    """Something that was said on a day."""
    source, minute = dice.choice(_SOURCES), f"{9 + line // 60:02}:{line % 60:02}"
    session = f"claude/{dice.choice(('aaaaaaaa', 'bbbbbbbb'))}"
    if dice.random() < 0.2:
        key = dice.choice(sorted(_VALUES))
        text = f"My {key} is {dice.choice(_VALUES[key])} now."
        return Said(text, minute=minute, source=source, key=key, session=session, line=line)
    text = f"{dice.choice(('I know that', 'Remember that', 'We decided that', 'Forget that'))} {dice.choice(_SUBJECTS)} {dice.choice(_STATES)}."
    return Said(
        text,
        minute=minute,
        source=source,
        kind=dice.choice(("fact", "decision", "preference")),
        session=session,
        line=line,
    )


def plain(text: str) -> str:
    """What a night makes of `saying`, which nobody else may word."""
    if value := re.fullmatch(r"My \w+ is (\w+) now\.", text):
        return value[1]
    words = text.removesuffix(".").removeprefix("Remember that ").removeprefix("We decided that ")
    return re.sub(r"^(?:my|our|I|we) ", "", words)


def hostile_items(dice: random.Random, data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The changes of a model that means harm: true ones, false ones, and such as make no sense."""
    facts, memory = data["facts"], data["memory"]
    ids = [fact["id"] for fact in facts] + [each["id"] for each in memory] + ["deadbeef", "", None]
    texts = [each["text"] for each in (*facts, *memory)]
    items = []
    for _ in range(dice.randrange(3 * len(facts) + 1)):
        fact = dice.choice(facts)
        text = dice.choice(
            (
                fact["text"],
                fact["text"].lower(),
                dice.choice(texts),
                f"{fact['text']} {dice.choice(INVENTED)}",
                "",
                "x" * 500,
            )
        )
        item = {
            "op": dice.choice(("ADD", "UPDATE", "DELETE", "NONE", "DROP")),
            "fact": fact["id"] if dice.random() < 0.8 else dice.choice(ids),
            "old": dice.choice([each["id"] for each in memory])
            if memory and dice.random() < 0.8
            else dice.choice(ids),
            "section": dice.choice((None, "Memory > Facts", "Elsewhere", 7)),
            "key": dice.choice((None, "employer", "home", "shoe size")),
            "text": text,
            "why": dice.choice(("", "it lasts", dice.choice(INVENTED), fact["text"])),
        }
        items.append(
            item if dice.random() < 0.9 else {"op": item["op"], "text": dice.choice(INVENTED)}
        )
    return items


class TestRules:
    """Nights by their pure parts, memory going on from one to the next."""

    @pytest.mark.costly
    @pytest.mark.parametrize(
        "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 10))]
    )
    def test_a_hundred_nights(self, seed: int):
        dice = random.Random(seed)
        standing = [
            stands("employer: Stripe", key="employer", attribute="employer"),
            stands("the boiler was repaired by Ida"),
            stands("our shed is never locked", Source.INFERRED),
            stands("the well is my own", path=USER, is_changeable=False),
        ]
        said: list[DreamCandidate] = []
        for night in range(100):
            candidates = list(self.candidates(dice, night))
            said = [*said[-40:], *candidates]
            memory = memory_of(*standing)
            decided = self.night(dice, candidates, memory, LogEntries(said))
            assert len(decided.applied) <= MOST
            after = self.after(memory, decided)
            self.assert_unharmed(memory, decided, after)
            standing = after[-60:]

    def candidates(self, dice: random.Random, night: int) -> Iterator[DreamCandidate]:
        for line in range(1, dice.randrange(2, 9)):
            said = saying(dice, line)
            yield entry(
                said.text,
                said.source,
                kind=said.kind,
                attribute=said.key,
                said=SAID + timedelta(days=night, minutes=line),
                day=FIRST + timedelta(days=night),
                cites=(f"{said.session}#{line}",),
                sessions=frozenset({said.session}),
                sender=dice.choice((None, None, None, "Marek")),
                corrects=frozenset({fact_id("the boiler was repaired by Ida")})
                if dice.random() < 0.1
                else frozenset(),
            )

    def night(
        self,
        dice: random.Random,
        candidates: Sequence[DreamCandidate],
        memory: CuratedMemory,
        log: LogEntries,
    ) -> Decided:
        by_rules = cases.judge(candidates, memory, log, lambda _: False)
        changes: dict[Any, Any] = {}
        for request in model_step.open_requests(FIRST, by_rules, memory, frozenset()):
            facts = [{"id": each.id, "text": each.text} for each in request.data.facts]
            shown = [{"id": each.id, "text": each.text} for each in request.data.memory]
            checked = check_changes(
                hostile_items(dice, {"facts": facts, "memory": shown}), request.data
            )
            changes |= {each.fact: each for each in checked.changes}
        merged = model_step.merge(by_rules, changes, memory, lambda _: False)
        return cases.decide(
            merged.suggestions,
            memory,
            Limits(applies=True, most=MOST, done=0, budget_lines=500, budget_bytes=50_000),
        )

    def after(self, memory: CuratedMemory, decided: Decided) -> list[CuratedFact]:
        """The facts that stand after a night."""
        gone = {id(change.old) for change in decided.applied if change.old is not None}
        added = [
            stands(
                f"{change.key}: {change.text}" if change.key else change.text,
                change.source,
                key=change.key,
                attribute=change.key,
                said=change.candidate.said,
            )
            for change in decided.applied
            if change.op in (DreamOp.ADD, DreamOp.UPDATE) and change.candidate is not None
        ]
        return [*(fact for fact in memory.facts if id(fact) not in gone), *added]

    def assert_unharmed(
        self, memory: CuratedMemory, decided: Decided, after: Sequence[CuratedFact]
    ) -> None:
        for change in decided.applied:
            assert change.candidate is None or change.candidate.sender is None
            if change.op in (DreamOp.ADD, DreamOp.UPDATE):
                assert change.candidate is not None
                assert change.candidate.source is not Source.AUTO
                assert (change.text, change.source) == (
                    plain(change.candidate.text),
                    change.candidate.source,
                )
            if (
                change.old is not None
                and change.old.source is Source.USER_STATED
                and change.candidate is not None
            ):
                assert (change.op, change.source) == (DreamOp.UPDATE, Source.USER_STATED)
        assert [fact for fact in memory.facts if fact.path == USER] == [
            fact for fact in after if fact.path == USER
        ]
        removed = sum(change.op is DreamOp.DELETE for change in decided.applied)
        assert removed <= max(1, len(memory.facts) // 10)
        everything = " ".join(
            f"{each.text} {each.why}"
            for each in (*decided.applied, *decided.proposed, *decided.left)
        )
        assert [word for word in INVENTED if word in everything] == []


SEED = "# Memory\n\n## Facts\n\n- employer: Stripe\n- the boiler was repaired by Ida\n- our shed is never locked\n"


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.md"))}


def hostile_reply(dice: random.Random, data: Mapping[str, Any]) -> Reply:
    words = json.dumps({"changes": hostile_items(dice, data)})
    form = dice.choice(("{}", "```json\n{}\n```", "Sure {{so}}: {} {{ok}}", "", "{}}}]", "[1] {}"))
    text = form.replace("{}", words)
    return Reply(text[: dice.randrange(len(text))] if text and dice.random() < 0.2 else text)


@pytest.mark.parametrize("nights", [4, pytest.param(250, marks=pytest.mark.slow)])
def test_each_night_is_undone_byte_for_byte(
    world: World, repository: Path, monkeypatch: pytest.MonkeyPatch, nights: int
):
    in_the_morning(monkeypatch, f"{FIRST}T07:00:00+00:00")
    at = desk(world, repository, seed=SEED)
    dice = random.Random(nights)
    sources = dict.fromkeys(
        ("Stripe", "the boiler was repaired by Ida", "our shed is never locked"), Source.USER_STATED
    )
    with serving(lambda data, _: hostile_reply(dice, data)) as server:
        lines = (
            f'model_url = "{server.url}"',
            f'model_name = "{MODEL}"',
            "model_tokens_day = 10_000_000",
        )
        settings(world, *lines, 'dream = "apply"', 'digest = "model"', f"dream_changes = {MOST}")
        for night in range(nights):
            day = FIRST + timedelta(days=night)
            in_the_morning(monkeypatch, f"{day + timedelta(days=1)}T07:00:00+00:00")
            digested(
                at,
                *(
                    Said(**_fields(saying(dice, line)) | {"day": day})
                    for line in range(1, dice.randrange(2, 8))
                ),
            )
            before = files(at.root)
            result = dream(at)
            applied = [change for change in result.changes if change.applied]
            assert len(applied) <= MOST
            for change in applied:
                old = next(
                    (
                        text
                        for text in sources
                        if change.old in (fact_id(text), fact_id(f"employer: {text}"))
                    ),
                    None,
                )
                if old is not None and sources.pop(old) is Source.USER_STATED:
                    assert change.source == Source.USER_STATED
                    assert change.op in (DreamOp.UPDATE, DreamOp.DELETE)
                if change.op is not DreamOp.DELETE:
                    sources[change.text] = change.source
            for text in sources:
                assert text in at.read("MEMORY.md")
            if applied:
                assert_undone(at, result.run, before)
    everything = at.git("log", "--all", "-p", "--format=%B")
    assert [word for word in INVENTED if word in everything] == []
    assert len(sources) > 3


def _fields(said: Said) -> dict[str, Any]:
    return {
        name: getattr(said, name)
        for name in ("text", "minute", "source", "kind", "key", "session", "line")
    }


def assert_undone(at: Desk, run: str, before: Mapping[str, bytes]) -> None:
    """Undo a night in a copy of the repository, and find all files as they were before it."""
    copy = at.root.with_name("copy")
    shutil.copytree(at.root, copy, symlinks=True)
    keep_state(copy)
    with closing(Memory(Desk(at.world, copy).workspace)) as memory:
        memory.apply(Revert(run))
    assert files(copy) == before
    shutil.rmtree(copy)
