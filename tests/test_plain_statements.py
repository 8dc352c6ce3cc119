"""Whose words a message holds: texts that a person pasted, and statements of their own.

Of each message in `data/plain_statements.jsonl`, `plain` is stated by the user, and `never` is
somebody else's. `doubtful` is the user's too, and the rules cannot be sure of it.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mdmem.folder import trust
from mdmem.folder.trust import TextOrigin
from mdmem.model import Source
from mdmem.model.sessions import Message, Speaker
from mdmem.sessions.drafts import Draft, DraftRules, draw
from mdmem.sessions.plain import sentences_in_place

MESSAGES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "plain_statements.jsonl")
    .read_text("utf-8")
    .splitlines()
]
PASTES = [each for each in MESSAGES if "never" in each]
GENUINE = [each for each in MESSAGES if "never" not in each]
TIME = datetime(2026, 3, 4, 21, 0, tzinfo=UTC)


def message(text: str, line: int = 2, **fields: Any) -> Message:
    values = {"speaker": Speaker.USER, "typed": True, "mark": f"{line:012x}"} | fields
    return Message(line=line, time=TIME.replace(minute=line), text=text, **values)


def drafts(*messages: Message, tools: bool = True) -> tuple[Draft, ...]:
    return draw(messages, DraftRules(zone=UTC, tools_line=0 if tools else None)).drafts


def folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def is_said(part: str, drawn: tuple[Draft, ...]) -> bool:
    """True if a part of a message is in an entry on the user's word."""
    own = [draft.text for draft in drawn if draft.source is Source.USER_STATED]
    return any(folded(part) in folded(text) for text in own)


@pytest.mark.parametrize("case", PASTES, ids=lambda case: case["text"][:40])
def test_the_words_of_others_are_never_the_users(case: dict[str, Any]):
    drawn = drafts(message(case["text"]), tools=case["tools"])
    assert [part for part in case["never"] if is_said(part, drawn)] == []


@pytest.mark.parametrize("case", GENUINE, ids=lambda case: case["text"][:40])
def test_a_statement_of_the_users_own_is(case: dict[str, Any]):
    drawn = drafts(message(case["text"]), tools=case["tools"])
    assert [part for part in case.get("plain", []) if not is_said(part, drawn)] == []


def test_few_statements_of_the_users_own_are_doubtful():
    plain, doubtful = (
        sum(len(case.get(name, [])) for case in GENUINE) for name in ("plain", "doubtful")
    )
    assert plain / (plain + doubtful) >= 0.85


def test_a_word_that_only_announces_is_no_entry():
    assert [draft.text for draft in drafts(message("fyi\n\nI moved to Ghent"))] == [
        "I moved to Ghent"
    ]


class TestPlace:
    @pytest.mark.parametrize(
        "text",
        [
            "I moved to Ghent. Now proofread this: Dear Ann",
            "I moved to Ghent.\n\nWhat do you think of this?",
            "I moved to Ghent.\n\nBest regards\nAnn",
            "I moved to Ghent and bought a house. " * 12,
            "I moved to Ghent, see https://a.example and https://b.example",
            "> hello\nI moved to Ghent",
            "```\nx = 1\n```\nI moved to Ghent",
            "fyi\n\nI moved to Ghent",
            "I moved to Ghent\nname,home\nI moved to Ghent",
        ],
    )
    def test_a_sign_of_anothers_text_taints_what_is_near(self, text: str):
        assert not any("I moved to Ghent" in each for each in sentences_in_place(text).plain)

    def test_what_stands_before_a_text_stays_plain(self):
        text = "From now on we log in UTC.\n```\nwe decided to stop\n```"
        assert sentences_in_place(text).plain == {"From now on we log in UTC."}

    def test_a_list_is_ones_own_below_a_label_or_at_the_beginning(self):
        assert len(sentences_in_place("Preferences:\n- dark themes\n- short names").plain) == 3
        assert len(sentences_in_place("- dark themes\n- short names").plain) == 2
        assert sentences_in_place("The vendor's page has\n- dark themes").plain == {
            "The vendor's page has"
        }

    @pytest.mark.parametrize(
        ("text", "is_plain"),
        [
            ("I moved to Ghent, so please shorten my profile", True),
            ("draft a letter to the office, and by the way I moved to Ghent", True),
            ("draft a letter that says I moved to Ghent", False),
            ("I moved to Ghent, translate that: I moved to Rome", False),
        ],
    )
    def test_the_sentence_that_asks_may_state_something_beside(self, text: str, is_plain: bool):
        assert is_said("moved to Ghent", drafts(message(text), tools=False)) is is_plain

    @pytest.mark.parametrize(
        "endless",
        ["what i say is, we decided to go and " * 20_000, "we decided to go, the dog and " * 3000],
        ids=["brought", "of many clauses"],
    )
    def test_a_sentence_without_end_is_not_plain(self, endless: str):
        assert {draft.source for draft in drafts(message(endless))} == {Source.INFERRED}


class TestOrigins:
    def test_the_key_of_pasted_text_stands_beside_an_inferred_entry(self):
        (draft,) = drafts(message("Proofread this:\n\nI work at Initech now."))[-1:]
        assert (draft.source, draft.key, draft.is_plain) == (Source.INFERRED, "employer", False)

    def test_another_sender_states_nothing_about_the_user(self):
        (draft,) = drafts(message("I work at Initech", sender="Mallory"))
        assert (draft.text, draft.source, draft.key) == (
            "Mallory: I work at Initech",
            Source.INFERRED,
            None,
        )

    def test_what_a_correction_takes_along_is_the_users_or_makes_it_inferred(self):
        pasted, correction = (
            message("Proofread this:\n\nI work at Initech now."),
            "Actually, I work at Hooli.",
        )
        drawn = drafts(
            pasted, message("ok", 3, speaker=Speaker.AGENT, typed=False), message(correction, 4)
        )
        assert (drawn[-1].source, drawn[-1].supersedes) == (Source.INFERRED, None)
        assert drawn[-1].contradicts

    def test_an_answer_to_a_question_waits_with_it(self):
        question = message("Which software do you use?", speaker=Speaker.AGENT, typed=False)
        (draft,) = drafts(question, message("Xero.", 3), tools=False)
        assert draft.text == '"Which software do you use?": Xero.'
        assert (draft.source, draft.confidence) == (Source.INFERRED, 0.8)

    def test_an_answer_that_states_something_needs_no_question(self):
        question = message("Anything else?", speaker=Speaker.AGENT, typed=False)
        (draft,) = drafts(question, message("Yes, the depth is in metres, not in feet.", 3))
        assert (draft.text[:3], draft.source) == ("Yes", Source.USER_STATED)

    def test_a_question_of_the_agents_is_nobodys_statement(self):
        question = message(
            "Shall I always pay to account NL00?", speaker=Speaker.AGENT, typed=False
        )
        drawn = drafts(question, message("yes to account NL00", 3))
        assert {draft.source for draft in drawn} == {Source.INFERRED}
        (own,) = drafts(question, message("yes, always to account NL00", 3))
        assert (own.text, own.source) == ("yes, always to account NL00", Source.USER_STATED)

    def test_a_text_that_was_announced_is_not_the_users(self):
        told = message("We rotate our keys quarterly. I am on call in May.", 4)
        assert {draft.source for draft in drafts(told)} == {Source.USER_STATED}
        ready = message("Go ahead.", 3, speaker=Speaker.AGENT, typed=False)
        drawn = drafts(message("here comes the text, say ok first"), ready, told)
        assert {draft.source for draft in drawn if draft.first_line == 4} == {Source.INFERRED}

    def test_a_request_to_forget_is_an_entry_of_its_own(self):
        told = message("Oh, I told you that. Please forget what I said about Ada's leg. Go on.")
        asked = [draft.text for draft in drafts(told) if draft.rule == "forget"]
        assert asked == ["Please forget what I said about Ada's leg."]

    @pytest.mark.parametrize(
        ("asked", "answer", "kept"),
        [
            ("Which bank is it?", "Ada Bank, I'm a customer there", "Ada Bank"),
            ("Shall I keep five zones?", "four, the last is noise", "four, the last is noise"),
            ("Holder of the rights?", "Ada Ltd, not me", "Ada Ltd, not me"),
        ],
    )
    def test_an_answer_is_kept_with_its_question(self, asked: str, answer: str, kept: str):
        question = message(asked, speaker=Speaker.AGENT, typed=False)
        first, *_ = drafts(question, message(answer, 3))
        assert (first.text, first.source) == (f'"{asked}": {kept}', Source.INFERRED)
        assert first.confidence == 0.8, "a night proposes it"

    @pytest.mark.parametrize(
        ("origin", "fields"),
        [
            (TextOrigin.MESSAGE, {}),
            (TextOrigin.OTHER_SENDER, {"sender": "Ann"}),
        ],
    )
    def test_an_origin_that_may_state_nothing_states_nothing(
        self, origin: TextOrigin, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ):
        told = message("We decided to keep the pump.", **fields)
        assert drafts(told)
        monkeypatch.setattr(trust, "TABLE", {**trust.TABLE, origin: trust.Trust()})
        assert drafts(told) == ()

    def test_a_plain_statement_is_as_strong_as_its_row(self, monkeypatch: pytest.MonkeyPatch):
        told = message("We decided to keep the pump.")
        assert [draft.source for draft in drafts(told)] == [Source.USER_STATED]
        weak = {TextOrigin.PLAIN_STATEMENT: trust.Trust(most=Source.INFERRED)}
        monkeypatch.setattr(trust, "TABLE", {**trust.TABLE, **weak})
        assert [draft.source for draft in drafts(told)] == [Source.INFERRED]

    def test_what_nobody_typed_becomes_something_only_if_its_row_says_so(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        told = message("We decided to keep the pump.", typed=False)
        assert drafts(told) == ()
        row = {TextOrigin.MATERIAL: trust.Trust(most=Source.INFERRED)}
        monkeypatch.setattr(trust, "TABLE", {**trust.TABLE, **row})
        assert [draft.source for draft in drafts(told)] == [Source.INFERRED]
