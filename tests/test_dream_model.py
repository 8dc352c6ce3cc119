"""The model step of a night: what the model is asked, what becomes of what it suggests, and what it
can never do.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from dream_records import DAY, USER, adds, change, entry, memory_of, stands, updates
from dreams import DAY as DAY_OF_NIGHT
from dreams import Said, curated, digested, dream, fates, in_the_morning, waiting
from hypothesis import given
from hypothesis import strategies as st
from scripted_models import MODEL, Reply, ScriptedServer, in_turn, serving
from workspaces import NOW, TOKEN, Desk, desk

from mdmem.cli import main
from mdmem.llm import asking
from mdmem.llm.asking import RequestRecord
from mdmem.llm.checks import check_changes
from mdmem.llm.requests import consolidate_request
from mdmem.model import FactId, Source
from mdmem.model.errors import WorkspaceProblem
from mdmem.model.pipelines import DreamOp
from mdmem.model.writes import Purge, Remember
from mdmem.nights.dream import model_step
from mdmem.nights.dream.candidates import CuratedMemory, Night
from mdmem.nights.dream.cases import FORGETS_NOTHING, SAID_ONCE, Suggestion, leave
from mdmem.nights.dream.model_step import NightModel
from mdmem.show.runs import dream_text
from mdmem.show.values import to_json
from mdmem.startup.records import replace

STAMPS = entry("I collect old stamps of Austria.")
PUMP = entry("The pump of the cellar leaks since Monday (2026-03-02).", Source.INFERRED)
LOOP = entry("The importer of the archive hangs in a loop.", Source.AUTO)
FORGET = entry("Forget that I play the tuba.")
TUBA = stands("I play the tuba in a band.")
OLD_PUMP = stands("The pump of the cellar is dry.", Source.INFERRED)
WORK = stands("employer: Stripe", key="employer", attribute="employer", section=("Memory", "Work"))
OF_USER = stands("The pump of the cellar is my own.", path=USER, is_changeable=False)
ALL = memory_of(TUBA, OLD_PUMP, WORK, OF_USER)


def merged(
    rules: Sequence[Suggestion],
    *items: dict[str, Any],
    memory: CuratedMemory = ALL,
    taken_out: str = "",
) -> model_step.MergedSuggestions:
    changes: dict[FactId, Any] = {}
    for request in model_step.open_requests(DAY, rules, memory, frozenset()):
        checked = check_changes(
            [item for item in items if item["fact"] in request.facts], request.data
        )
        changes |= {each.fact: each for each in checked.changes}
    return model_step.merge(rules, changes, memory, lambda candidate: candidate.text == taken_out)


class TestWhatIsAsked:
    def test_what_the_rules_leave_open(self):
        rules = [
            adds(STAMPS),
            leave(PUMP, SAID_ONCE),
            replace(leave(FORGET, "it asks to forget this"), op=DreamOp.DELETE, old=TUBA),
            leave(entry("Forget what I said of trains."), FORGETS_NOTHING),
            updates(LOOP, OLD_PUMP),
            leave(entry("It stands."), "it is already in memory"),
            updates(entry("I joined Linear.", attribute="employer"), WORK, is_sure=True),
            adds(entry("I like figs.", sender="Anna"), is_sure=False),
            adds(entry(f"The key is {TOKEN} and more.")),
            replace(leave(STAMPS, "it stands twice"), candidate=None, op=DreamOp.DELETE, old=TUBA),
        ]
        (request,) = model_step.open_requests(DAY, rules, ALL, frozenset())
        assert [each.text for each in request.data.facts] == [
            *(STAMPS.text, PUMP.text, FORGET.text),
            *("Forget what I said of trains.", LOOP.text),
        ]
        assert request.data.facts[0].near == ()
        assert {OLD_PUMP.fact, OF_USER.fact} <= set(request.data.facts[1].near)
        assert {each.id for each in request.data.memory} == {OLD_PUMP.fact, OF_USER.fact, TUBA.fact}

    def test_what_is_about_the_same_attribute_is_shown(self):
        rule = updates(entry("Linear hired me.", attribute="company"), WORK)
        (request,) = model_step.open_requests(DAY, [rule], ALL, frozenset())
        (shown,) = request.data.memory
        assert (shown.id, shown.key, shown.text, shown.section) == (
            WORK.fact,
            "employer",
            "Stripe",
            "Memory > Work",
        )

    def test_requests_are_small_and_go_on_where_they_ended(self):
        entries = [
            entry(f"Number {number} of the {'very ' * 60}long list of pumps.")
            for number in range(70)
        ]
        rules = [adds(each) for each in entries]
        memory = memory_of(
            *(stands(f"Pump {number} of the list {'is dry ' * 50}.") for number in range(200))
        )
        requests = model_step.open_requests(DAY, rules, memory, frozenset())
        assert [fact.id for request in requests for fact in request.data.facts] == [
            each.fact for each in entries
        ]
        assert all(
            len(consolidate_request(request.data).text.encode()) < 24_000 for request in requests
        )
        assert all(len(request.facts) <= 25 for request in requests)
        assert model_step.open_requests(DAY, rules, memory, requests[0].facts) == requests[1:]


class TestWhatBecomesOfIt:
    def test_what_is_added_unasked_keeps_its_words(self):
        result = merged([adds(STAMPS)], change("ADD", STAMPS, text="Collects stamps of Austria"))
        (suggestion,) = result.suggestions
        assert (suggestion.text, suggestion.source, suggestion.is_sure) == (
            STAMPS.text,
            Source.USER_STATED,
            True,
        )
        assert result.refused == 0

    def test_what_was_said_once_is_proposed_in_other_words(self):
        words = "The cellar pump leaks since 2026-03-02"
        (suggestion,) = merged(
            [leave(PUMP, SAID_ONCE)], change("ADD", PUMP, text=words, section="Memory > Facts")
        ).suggestions
        assert (suggestion.op, suggestion.text, suggestion.source) == (
            DreamOp.ADD,
            words,
            Source.INFERRED,
        )
        assert (suggestion.is_sure, suggestion.section, suggestion.cites) == (
            False,
            "Memory > Facts",
            PUMP.cites,
        )

    def test_other_words_are_nobodys_own(self):
        rule = updates(STAMPS, OLD_PUMP)
        (suggestion,) = merged(
            [rule], change("ADD", STAMPS, text="Collects stamps of Austria")
        ).suggestions
        assert (suggestion.source, suggestion.confidence, suggestion.is_sure) == (
            Source.INFERRED,
            Source.INFERRED.confidence,
            False,
        )
        (suggestion,) = merged([rule], change("ADD", STAMPS, text=STAMPS.text)).suggestions
        assert (suggestion.source, suggestion.is_sure) == (Source.USER_STATED, False)

    def test_an_update_is_proposed(self):
        (suggestion,) = merged(
            [leave(PUMP, SAID_ONCE)],
            change("UPDATE", PUMP, OLD_PUMP, why="the pump of the cellar leaks"),
        ).suggestions
        assert (suggestion.op, suggestion.old, suggestion.is_sure) == (
            DreamOp.UPDATE,
            OLD_PUMP,
            False,
        )
        assert suggestion.why == "a model suggests it: the pump of the cellar leaks"

    def test_it_says_which_fact_is_to_be_forgotten(self):
        (suggestion,) = merged(
            [leave(FORGET, FORGETS_NOTHING)],
            change("DELETE", FORGET, TUBA, why="Bob said so in 2019"),
        ).suggestions
        assert (suggestion.op, suggestion.old, suggestion.is_sure, suggestion.why) == (
            DreamOp.DELETE,
            TUBA,
            False,
            "a model suggests it",
        )

    @pytest.mark.parametrize(
        ("rule", "item"),
        [
            (adds(STAMPS), change("DELETE", STAMPS, TUBA)),  # nobody asks for it
            (leave(LOOP, SAID_ONCE), change("DELETE", LOOP, OLD_PUMP)),
            (leave(PUMP, SAID_ONCE), change("UPDATE", PUMP, OF_USER)),  # not to be touched
            (leave(FORGET, FORGETS_NOTHING), change("ADD", FORGET)),
            (leave(FORGET, FORGETS_NOTHING), change("UPDATE", FORGET, TUBA)),
            (
                leave(PUMP, SAID_ONCE),
                change("ADD", PUMP, text="The pump of the cellar is dry"),
            ),  # stands
            (
                leave(PUMP, SAID_ONCE),
                change("ADD", PUMP, text="The cellar pump leaks"),
            ),  # was taken out
            (leave(PUMP, SAID_ONCE), change("ADD", PUMP, text="The cellar pump leaks in Oslo")),
            (leave(PUMP, SAID_ONCE), change("UPDATE", PUMP, WORK)),  # not shown to it
            (leave(PUMP, SAID_ONCE), change("UPDATE", STAMPS, OLD_PUMP)),  # not asked about
        ],
    )
    def test_the_rules_stand(self, rule: Suggestion, item: dict[str, Any]):
        assert merged([rule], item, taken_out="The cellar pump leaks").suggestions == (rule,)

    def test_what_was_said_before_updates_nothing(self):
        early = replace(PUMP, said=OLD_PUMP.said - timedelta(days=1))
        rule = leave(early, SAID_ONCE)
        assert merged([rule], change("UPDATE", early, OLD_PUMP)).suggestions == (rule,)

    def test_one_change_of_a_fact(self):
        other = entry("The pump of the cellar was sold.", Source.INFERRED)
        rules = [leave(PUMP, SAID_ONCE), leave(other, SAID_ONCE)]
        items = [change("UPDATE", PUMP, OLD_PUMP), change("UPDATE", other, OLD_PUMP)]
        result = merged(rules, *items)
        assert [each.op for each in result.suggestions] == [DreamOp.UPDATE, DreamOp.NONE]
        assert result.refused == 1
        assert merged([updates(other, OLD_PUMP), rules[0]], items[0]).suggestions[1] == rules[0]

    def test_what_it_would_leave_is_left_or_proposed(self):
        rules = [adds(STAMPS), adds(PUMP), leave(LOOP, SAID_ONCE)]
        items = [change("NONE", each) for each in (STAMPS, PUMP, LOOP)]
        suggestions = merged(rules, *items).suggestions
        assert [(each.op, each.is_sure) for each in suggestions] == [
            (DreamOp.ADD, False),
            (DreamOp.NONE, False),
            (DreamOp.NONE, False),
        ]

    def test_a_key_that_stands_stays(self):
        said = entry("I have joined Linear as an engineer.", attribute="company")
        (suggestion,) = merged(
            [updates(said, WORK)], change("UPDATE", said, WORK, text="Linear", key="employer")
        ).suggestions
        assert (suggestion.key, suggestion.text, suggestion.source, suggestion.is_sure) == (
            "employer",
            "Linear",
            Source.INFERRED,
            False,
        )


OPS = st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE", "DROP", None])
ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "op": OPS,
            "fact": st.sampled_from(
                [STAMPS.fact, PUMP.fact, LOOP.fact, FORGET.fact, TUBA.fact, "99999999"]
            ),
            "old": st.sampled_from(
                [None, TUBA.fact, OLD_PUMP.fact, WORK.fact, OF_USER.fact, "99999999"]
            ),
            "section": st.sampled_from([None, "Memory > Facts", "Memory > Work", "Elsewhere"]),
            "key": st.sampled_from([None, "employer", "shoe size"]),
            "text": st.sampled_from(
                [
                    STAMPS.text,
                    "Works at Initech",
                    "The cellar pump leaks",
                    TUBA.text,
                    "",
                    "<b>x</b>",
                ]
            ),
            "why": st.sampled_from(["", "so", "Eve said it in 2019"]),
        }
    ),
    max_size=8,
)


@given(ITEMS)
def test_a_hostile_model_makes_nothing_sure(items: list[dict[str, Any]]):
    rules = [
        adds(STAMPS),
        leave(PUMP, SAID_ONCE),
        leave(LOOP, SAID_ONCE),
        leave(FORGET, FORGETS_NOTHING),
        updates(PUMP, OLD_PUMP),
    ]
    suggestions = merged(rules, *items).suggestions
    assert len(suggestions) == len(rules)
    for suggestion, rule in zip(suggestions, rules, strict=True):
        assert suggestion.candidate is rule.candidate
        assert not suggestion.is_sure or suggestion == replace(rule, section=suggestion.section)
        assert suggestion.old is None or suggestion.old.is_changeable
        assert "Initech" not in suggestion.text
        assert "Eve" not in suggestion.why
        assert (
            suggestion.source is not Source.USER_STATED
            or not suggestion.text
            or suggestion.text == rule.text
        )


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def answers(data: dict[str, Any], _: int) -> Reply:
    """A model that adds all."""
    changes = [{"op": "ADD", "fact": each["id"], "text": each["text"]} for each in data["facts"]]
    return Reply(json.dumps({"changes": changes}))


@pytest.fixture
def server(at: Desk) -> Iterator[ScriptedServer]:
    with serving(answers) as made:
        settings(at, f'model_url = "{made.url}"', f'model_name = "{MODEL}"')
        yield made


def settings(at: Desk, *lines: str) -> None:
    path = at.world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, ""]))


RULES = [adds(STAMPS), leave(PUMP, SAID_ONCE)]


def night(at: Desk, **options: bool) -> NightModel:
    workspace = at.workspace
    workspace.ensure_state()
    return NightModel(workspace, Night(DAY), lambda _: None, **options)


def asked(
    at: Desk, rules: Sequence[Suggestion] = RULES, **options: bool
) -> tuple[NightModel, list[Suggestion]]:
    model = night(at, **options)
    return model, model.merged(rules, ALL, lambda _: False)


class TestTheAsking:
    def test_it_is_asked_once_a_night(self, at: Desk, server: ScriptedServer):
        model, suggestions = asked(at)
        assert [each.op for each in suggestions] == [DreamOp.ADD, DreamOp.ADD]
        assert (model.figures.requests, model.figures.outcome) == (1, "")
        assert model.figures.tokens > 0
        stood = memory_of(*ALL.facts, stands(STAMPS.text))
        rules = [leave(STAMPS, "it is already in memory"), RULES[1], leave(LOOP, SAID_ONCE)]
        assert [each.op for each in model.merged(rules, stood, lambda _: False)] == [
            DreamOp.NONE,
            DreamOp.ADD,
            DreamOp.NONE,
        ]
        assert len(server.bodies) == 1
        (record,) = asking.read_records(at.workspace.state)
        assert (record.run, record.task) == ("dream/2026-03-04", "consolidate")

    def test_after_an_interruption_nothing_is_paid_for_again(
        self, at: Desk, server: ScriptedServer
    ):
        asked(at)
        model, suggestions = asked(
            at, [leave(STAMPS, "it is already in memory"), RULES[1]]
        )  # one change was written
        assert [each.op for each in suggestions] == [DreamOp.NONE, DreamOp.ADD]
        assert (len(server.bodies), model.figures.tokens) == (1, 0)
        asked(at, [*RULES, leave(LOOP, SAID_ONCE)])  # what came since
        assert [len(data["facts"]) for data in server.data] == [2, 1]

    def test_a_dry_run_only_counts(self, at: Desk, server: ScriptedServer):
        model, suggestions = asked(at, is_dry=True)
        assert (suggestions, server.bodies) == (RULES, [])
        assert (model.figures.requests, model.figures.tokens) == (1, 0)

    @pytest.mark.parametrize(
        ("reply", "outcome"),
        [
            (Reply("no"), "bad-answer"),
            (Reply(status=401), "model-refused"),
            (Reply(raw=b"{}"), "model-down"),
        ],
    )
    def test_where_it_does_not_answer_the_rules_stand(
        self, at: Desk, server: ScriptedServer, reply: Reply, outcome: str
    ):
        server.script = in_turn(reply)
        model, suggestions = asked(at)
        assert (suggestions, model.figures.outcome) == (RULES, outcome)
        assert model.figures.message

    def test_over_the_tokens_of_the_day(self, at: Desk, server: ScriptedServer):
        settings(
            at, f'model_url = "{server.url}"', f'model_name = "{MODEL}"', "model_tokens_day = 100"
        )
        model, suggestions = asked(at)
        assert (suggestions, model.figures.outcome, server.bodies) == (RULES, "model-budget", [])

    def test_without_settings(self, at: Desk):
        model, suggestions = asked(at)
        assert (suggestions, model.figures.outcome) == (RULES, "no-model")

    def test_one_that_was_just_down_is_asked_if_somebody_wants_it(
        self, at: Desk, server: ScriptedServer
    ):
        at.workspace.ensure_state()
        now = at.workspace.now()
        for age, count in ((timedelta(hours=1), 1), (timedelta(minutes=1), 1)):
            record = RequestRecord(
                time=now - age,
                run="r",
                task="extract",
                request="x",
                size=1,
                tokens_in=0,
                tokens_out=0,
                ms=1.0,
                outcome="model-down",
            )
            asking.append_record(at.workspace.state, record)
            asked(at, [leave(entry(f"The pump {age} leaks.", Source.INFERRED), SAID_ONCE)])
            assert len(server.bodies) == count
        model, _ = asked(at)
        assert (model.figures.outcome, len(server.bodies)) == ("model-down", 1)
        asked(at, is_asked_for=True)
        assert len(server.bodies) == 2

    def test_a_purge_meanwhile(self, at: Desk, server: ScriptedServer):
        def script(data: dict[str, Any], number: int) -> Reply:
            at.apply(Purge("works at Stripe"))
            return answers(data, number)

        server.script = script
        _, suggestions = asked(at)
        assert suggestions == RULES
        assert not list((at.workspace.state / asking.FOLDER_NAME).glob("*"))


@pytest.fixture
def morning(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    in_the_morning(monkeypatch)
    return desk(
        world,
        repository,
        seed="# Memory\n\n## Facts\n\n- the cellar is dry in winter\n- plays the tuba in a brass band\n",
    )


WET = Said("The cellar was wet all of last winter.", source=Source.INFERRED)
STATED = Said("I collect old stamps of Austria.", minute="09:05")
STATED_LINE = "collect old stamps of Austria"
NOISE = Said("The bus was late again.", minute="09:10", source=Source.INFERRED)
BY_NOBODY = Said("The importer hangs in a loop.", minute="09:15", source=Source.AUTO)


def judging(data: dict[str, Any], _: int) -> Reply:
    """A model that is right of these, and lies of the last."""
    ids = {each["text"]: each["id"] for each in data["facts"]}
    (dry,) = (each["id"] for each in data["memory"] if "dry" in each["text"])
    of_wet = {
        "op": "UPDATE",
        "fact": ids.get(WET.text),
        "old": dry,
        "text": "the cellar was wet last winter",
        "why": "the cellar was wet",
    }
    changes = [
        of_wet,
        {
            "op": "ADD",
            "fact": ids.get(STATED.text),
            "text": "collects stamps",
            "section": "Memory > Facts",
        },
        {"op": "NONE", "fact": ids.get(NOISE.text)},
        {
            "op": "ADD",
            "fact": ids.get(BY_NOBODY.text),
            "text": "The importer of Initech hangs in 30 loops",
        },
    ]
    return Reply(f"Gladly:\n```json\n{json.dumps({'changes': changes})}\n```")


class TestTheNight:
    def lines(self, at: Desk, server: ScriptedServer, *more: str) -> None:
        settings(
            at,
            f'model_url = "{server.url}"',
            f'model_name = "{MODEL}"',
            'dream = "apply"',
            'digest = "model"',
            *more,
        )

    def test_what_it_settles(self, morning: Desk):
        with serving(judging) as server:
            self.lines(morning, server)
            digested(morning, WET, STATED, NOISE, BY_NOBODY)
            result = dream(morning)
        assert fates(result) == {
            "the cellar was wet last winter": (DreamOp.UPDATE, False),
            STATED_LINE: (DreamOp.ADD, True),
            NOISE.text: (DreamOp.NONE, False),
            BY_NOBODY.text: (DreamOp.NONE, False),
        }
        assert (result.figures.refused, result.outcome) == (1, "")
        assert (
            result.figures.tokens
            == sum(each.tokens for each in asking.read_records(morning.workspace.state))
            > 0
        )
        (part,) = waiting(morning)
        assert (part.origin.source, part.origin.reason) == (
            Source.INFERRED,
            "a model suggests it: the cellar was wet",
        )
        assert "Initech" not in morning.git("log", "--all", "-p", "--format=%B")

    def test_it_is_asked_where_the_settings_or_somebody_want_it(self, morning: Desk):
        digested(morning, STATED)
        with serving(answers) as server:
            for setting, asked_for, count in (
                ("rules", None, 0),
                ("model", False, 0),
                ("model", None, 1),
                ("rules", True, 1),
            ):
                settings(
                    morning,
                    f'model_url = "{server.url}"',
                    f'model_name = "{MODEL}"',
                    f'digest = "{setting}"',
                )
                before = morning.git("rev-parse", "HEAD")
                dream(morning, str(DAY_OF_NIGHT), model=asked_for)  # proposes alone
                assert morning.git("rev-parse", "HEAD") == before
                assert len(server.bodies) == count, (setting, asked_for)

    def test_a_dry_run_tells_the_requests(self, morning: Desk):
        with serving(answers) as server:
            self.lines(morning, server)
            digested(morning, STATED)
            result = dream(morning, dry_run=True)
            assert server.bodies == []
        size = result.model.size
        assert dream_text(result).endswith(f"\nmodel: 1 request ({size:,} bytes, 0 tokens)")
        assert size > 1_000
        values = to_json(result)
        assert (values["requests"], values["bytes"], values["tokens"]) == (1, size, 0)

    def test_one_that_is_not_set_is_said_before_anything_is_done(self, morning: Desk):
        digested(morning, STATED)
        head = morning.git("rev-parse", "HEAD")
        with pytest.raises(WorkspaceProblem) as problem:
            dream(morning, model=True)
        assert problem.value.code == "no-model"
        assert morning.git("rev-parse", "HEAD") == head

    @pytest.mark.parametrize(
        ("lines", "status"),
        [
            ((), 1),
            (('model_command = ["/no/such/program"]',), 1),
            (('model_command = ["false"]',), 0),
        ],
    )
    def test_one_that_cannot_be_asked_at_all_is_a_failure(
        self,
        morning: Desk,
        lines: Sequence[str],
        status: int,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ):
        monkeypatch.setattr("time.sleep", lambda _: None)
        digested(morning, STATED)
        settings(morning, 'digest = "model"', 'dream = "apply"', *lines)
        assert main(["-C", str(morning.root), "dream"]) == status
        assert STATED_LINE in capsys.readouterr().out
        assert STATED_LINE in morning.read("MEMORY.md")

    def test_one_that_is_down_keeps_nothing_back(self, morning: Desk):
        digested(morning, STATED)
        with serving(in_turn(Reply(raw=b"<html>"))) as server:
            self.lines(morning, server)
            result = dream(morning)
        assert (fates(result), result.outcome) == ({STATED_LINE: (DreamOp.ADD, True)}, "model-down")
        assert "not in the format" in result.model.message

    def test_whoever_writes_meanwhile_is_seen(self, morning: Desk):
        def script(data: dict[str, Any], number: int) -> Reply:
            morning.apply(Remember(STATED.text, section="Facts"))
            return answers(data, number)

        digested(morning, STATED, WET)
        with serving(script) as server:
            self.lines(morning, server)
            result = dream(morning)
            assert len(server.bodies) == 1
        assert fates(result)[STATED.text] == (DreamOp.NONE, False)
        assert sum(STATED.text in line for line in curated(morning)) == 1
