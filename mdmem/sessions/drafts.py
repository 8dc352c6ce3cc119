"""Find entries in the messages of a session: statements always kept, then what weighs enough.

The result for a message depends on it and the twenty before it, never on later ones, so reading a
session in parts gives the same entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from functools import partial

from mdmem.folder import trust
from mdmem.folder.trust import TextOrigin
from mdmem.model import FactId, Source
from mdmem.model.sessions import Message, Speaker
from mdmem.sessions.plain import (
    CORRECTION,
    Cue,
    SentencePlaces,
    Statement,
    announces_text,
    begins_with_reason,
    find_agent_cue,
    find_corrected,
    find_cue,
    greets,
    is_stated,
    own_clauses,
    sentences_in_place,
    spoken_sentences,
    stated_attribute,
    states_behind_label,
    states_plainly,
    told_behind_talk,
)
from mdmem.sessions.sentences import (
    ENTRY,
    PERMISSIVE,
    REDACTED,
    Sentence,
    annotate_dates,
    ends_as_question,
    has_part,
    is_command,
    is_narration,
    is_noise,
    is_slight,
    pattern_of,
    sentences,
    sentences_with,
    strip_pasted,
    weigh,
)
from mdmem.sessions.shapes import Shape, asks_for_value, denies, is_phrase, points_back, shape_of
from mdmem.startup import late
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.facts import fact_id, shortened
from mdmem.text.languages import rows_of

MOST_CHARACTERS = 400
"""Maximum of an entry, with its question or the words that it corrects."""
MODEL_RULE = "model"
_CORRECTED_WITHIN = 10
_QUOTED_CHARACTERS = 140
_PERMISSIVE_ENTRIES = 3
_PERMISSIVE_CONFIDENCE = 0.3
_VAGUE_CONFIDENCE = 0.8
"""Of the user's plain words about a thing that they do not name: more than of other inferred ones.
"""
_FEW_WORDS = 4
_MOST_CITED = 3
_AGENT_HINTS = rows_of("AGENT_HINTS")
_CHOICE, _ANSWER = pattern_of("CHOICES"), pattern_of("ANSWERS")
_CAPTION = late.pattern(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry that is not written yet.

    - `first_line`, `last_line`: its lines of the transcript. `sender`: another person who said it.
    - `rule`: a cue's name, `statement`, `weight`, `permissive` or `model`. `key`: the attribute.
    - `supersedes`: the entry that it corrects plainly; `contradicts`: possible or doubtful ones.
    - `is_plain`: all of it is surely the user's own words.
    """

    time: datetime
    text: str
    kind: str | None
    source: Source
    speaker: Speaker
    rule: str
    first_line: int
    last_line: int
    confidence: float | None = None
    key: str | None = None
    supersedes: FactId | None = None
    contradicts: tuple[FactId, ...] = ()
    sender: str | None = None
    is_plain: bool = False


_Recent = list[tuple[Message, tuple[Draft, ...]]]
_Question = tuple[Message, Sentence]


@dataclass(frozen=True, slots=True)
class DrawnEntries:
    drafts: tuple[Draft, ...]
    noise: int


@dataclass(frozen=True, slots=True)
class DraftRules:
    """Rules for judging messages; days are of `zone` (None: the system's).

    `keep_lines`: keep all except noise. `tools_line`: from there on, the session is one with tools.
    """

    zone: tzinfo | None
    keep_lines: bool = False
    tools_line: int | None = None

    def has_tools(self, line: int) -> bool:
        return self.tools_line is not None and line > self.tools_line


@dataclass(frozen=True, slots=True)
class _Statement:
    sentence: Sentence
    cue: Cue | None
    key: str | None
    is_plain: bool
    is_stated: bool
    is_shaped: bool

    @property
    def goes_on(self) -> bool:
        """True for the user's own words about what the sentence before states."""
        shape = shape_of(self.sentence)
        return self.is_plain and shape is Shape.PASSING and points_back(self.sentence)

    def with_more(self, clause: Sentence) -> _Statement:
        """The statement with another clause about the same thing."""
        return replace(self, sentence=Sentence.of(f"{self.sentence.text}, {clause.text}"))

    @property
    def begins_anew(self) -> bool:
        """True for what says something by itself: it is an entry of its own."""
        is_own = self.is_shaped and not points_back(self.sentence)
        return is_own or _asks_to_forget(self.cue)


@dataclass(slots=True)
class _Part:
    """Sentences of one entry: all of them are plain, or none is."""

    sentences: list[Sentence] = field(default_factory=list)
    cue: Cue | None = None
    key: str | None = None
    is_plain: bool = False
    is_stated: bool = False
    is_shaped: bool = False

    def belongs(self, statement: _Statement) -> bool:
        if self.is_stated and statement.goes_on:
            return True
        own = self.is_plain, self.is_stated, self.is_shaped
        others = statement.is_plain, statement.is_stated, statement.is_shaped
        is_apart = statement.begins_anew or _asks_to_forget(self.cue)
        if self.sentences and (own != others or is_apart):
            return False
        if self.cue is None or statement.cue is None:
            return True
        return statement.cue.kind == self.cue.kind and statement.key in (None, self.key)

    def tells(self) -> bool:
        """True for what is plain about a thing without a name, and says more than a few words."""
        is_passing = shape_of(self.sentences[0]) is Shape.PASSING
        return self.is_shaped and not is_passing and not is_slight(self.sentences)

    def says_nothing(self) -> bool:
        has_word = any(map(str.isalpha, "".join(each.text for each in self.sentences)))
        return is_slight(self.sentences) or not has_word

    def add(self, statement: _Statement) -> None:
        goes_on = bool(self.sentences) and statement.goes_on
        self.sentences.append(statement.sentence)
        if goes_on:
            return
        self.cue = self.cue or statement.cue
        self.key = self.key or statement.key
        self.is_plain = statement.is_plain
        self.is_stated = statement.is_stated
        self.is_shaped = statement.is_shaped


def draw(
    messages: Sequence[Message],
    rules: DraftRules,
    after_line: int = 0,
    known_lines: Collection[int] = (),
) -> DrawnEntries:
    """The entries of messages after a line; others, and `known_lines`, are only context."""
    drafts: list[Draft] = []
    noise_count = 0
    recent: _Recent = []
    for number, message in enumerate(messages):
        if message.time is None or trust.trust(_origin(message)).most is None:
            continue
        if message.speaker is Speaker.AGENT:
            own = tuple(_of_agent(message, rules))
        else:
            question = _question_before(messages, number)
            own = tuple(_of_person(message, rules, question, recent))
        recent = [*recent, (message, own)][-_CORRECTED_WITHIN:]
        if message.line > after_line and message.line not in known_lines:
            drafts.extend(own)
            noise_count += not own
    return DrawnEntries(tuple(drafts), noise_count)


def _origin(message: Message, is_plain: bool = False) -> TextOrigin:
    if message.speaker is Speaker.AGENT:
        return TextOrigin.AGENT
    if not message.typed:
        return TextOrigin.MATERIAL
    if message.sender is not None:
        return TextOrigin.OTHER_SENDER
    return TextOrigin.PLAIN_STATEMENT if is_plain else TextOrigin.MESSAGE


def unsettled(
    messages: Sequence[Message],
    drafts: Sequence[Draft],
) -> Iterator[tuple[Message, str]]:
    """The messages from which none of `drafts` was drawn, with what is no noise in them."""
    settled = {draft.last_line for draft in drafts}
    for message in messages:
        is_agents = message.speaker is Speaker.AGENT
        if message.line in settled or message.time is None:
            continue
        if not is_agents and not _is_persons_own(message):
            continue
        _, statements = _statements(message)
        if is_agents:
            statements = tuple(each for each in statements if not is_narration(each))
        if statements and not is_slight(statements):
            yield message, _joined(statements)


def draw_permissively(messages: Sequence[Message], rules: DraftRules) -> tuple[Draft, ...]:
    """The entries of what weighs most, in a session that has ended and gave none."""
    weighed = []
    for number, message in enumerate(messages):
        if message.time is None or not _is_persons_own(message):
            continue
        spoken, statements = _statements(message)
        weight = weigh(spoken, statements, _question_before(messages, number) is not None)
        if PERMISSIVE <= weight < ENTRY:
            weighed.append((weight, -number, message, statements))
    chosen = sorted(weighed, reverse=True)[:_PERMISSIVE_ENTRIES]
    return tuple(
        Draft(
            time=_time(message),
            text=_of_sender(message, _dated(_joined(statements), message, rules)),
            kind="fact",
            source=Source.AUTO,
            speaker=message.speaker,
            rule="permissive",
            first_line=message.line,
            last_line=message.line,
            confidence=_PERMISSIVE_CONFIDENCE,
            sender=message.sender,
        )
        for _, _, message, statements in sorted(chosen, key=lambda each: each[2].line)
    )


def _is_persons_own(message: Message) -> bool:
    is_typed = message.speaker is Speaker.USER and message.typed
    return is_typed and not is_command(message.text)


def _statements(message: Message) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    spoken = spoken_sentences(strip_pasted(message.text))
    told = (each for each in spoken if not each.text.endswith(":"))  # a label states nothing
    return spoken, tuple(each for each in told if not is_noise(each) or _is_told_to_agent(each))


def _is_told_to_agent(sentence: Sentence) -> bool:
    """True for what lasts and speaks of the agent alone: `you must never guess`."""
    is_shaped = shape_of(sentence) in (Shape.ORDER, Shape.STATEMENT)
    return REDACTED not in sentence.text and is_shaped


def _question_before(messages: Sequence[Message], number: int) -> _Question | None:
    if not number or messages[number - 1].speaker is messages[number].speaker:
        return None
    before = messages[number - 1]
    line = _CAPTION.sub("", before.text.rstrip().rpartition("\n")[2])
    if not ends_as_question(line):
        return None
    last = sentences(line)[-1:]
    is_asked = bool(last) and last[0].is_question and REDACTED not in last[0].text
    return (before, last[0]) if is_asked else None


def _of_agent(message: Message, rules: DraftRules) -> Iterator[Draft]:
    if not has_part(message.text, _AGENT_HINTS):
        return
    spoken = sentences_with(strip_pasted(message.text), _AGENT_HINTS)
    telling = (each for each in spoken if not is_noise(each) and not is_narration(each))
    cued = [(each, cue) for each in telling if (cue := find_agent_cue(each))]
    if not cued:
        return
    yield Draft(
        time=_time(message),
        text=shortened(_dated(_joined(each for each, _ in cued), message, rules), MOST_CHARACTERS),
        kind=cued[0][1].kind,
        source=Source.AUTO,
        speaker=message.speaker,
        rule=cued[0][1].rule,
        first_line=message.line,
        last_line=message.line,
    )


def _of_person(
    message: Message,
    rules: DraftRules,
    question: _Question | None,
    recent: _Recent,
) -> Iterator[Draft]:
    if is_command(message.text):
        return
    spoken, statements = _statements(message)
    if not statements:
        return
    tools = rules.has_tools(message.line)
    before = next((said for said, _ in reversed(recent) if said.speaker is message.speaker), None)
    is_brought = before is not None and announces_text(before.text)
    place = SentencePlaces()
    if message.sender is None and not is_brought:
        place = sentences_in_place(message.text, question is not None)
    parts = _parts(statements, place, tools, message.sender is None, question=question)
    is_answer = _answers(parts[0], question)
    shaped = [
        part for part in parts if part.is_stated or part.tells() or (is_answer and part is parts[0])
    ]
    if any(part.cue for part in parts):
        rule = None
    elif (rules.keep_lines or tools) and (
        is_answer or _is_choice(question) or not is_slight(statements)
    ):
        rule = "statement"
    elif not is_slight(statements) and weigh(spoken, statements, question is not None) >= ENTRY:
        rule = "weight"
    elif shaped:
        parts, rule = shaped, "statement"
    else:
        return
    answered = question if is_answer or _needs_question(parts[0]) else None
    for part in parts:
        is_asked = is_answer and part is parts[0]
        is_reason = part.cue is not None or part.is_shaped or is_asked
        if not is_reason and len(parts) > 1 and part.says_nothing():
            continue
        yield _draft(message, part, rules, answered if part is parts[0] else None, recent, rule)


def _parts(
    statements: Sequence[Sentence],
    place: SentencePlaces,
    tools: bool,
    is_users: bool,
    *,
    question: _Question | None,
) -> list[_Part]:
    parts = [_Part()]
    for sentence in statements:
        asked = question if sentence is statements[0] else None
        for statement in _stated(sentence, place, tools, is_users, question=asked):
            if not parts[-1].belongs(statement):
                parts.append(_Part())
            parts[-1].add(statement)
    return parts


def _stated(
    sentence: Sentence,
    place: SentencePlaces,
    tools: bool,
    is_users: bool,
    *,
    question: _Question | None,
) -> Iterator[_Statement]:
    """A sentence, or those of its clauses that state something where the whole does not; before
    them what answers the `question`: `32, Ada has the rest`.
    """
    state = partial(_statement, within=sentence.text, place=place, tools=tools, is_users=is_users)
    if (behind_talk := told_behind_talk(sentence)) is not None:
        yield state(behind_talk)
        return
    whole = state(sentence)
    is_cued = whole.cue is not None and whole.cue.is_plain
    answer = _answer(sentence, question)
    is_told = (is_cued and shape_of(sentence) is not Shape.ORDER) or _asks_to_forget(whole.cue)
    if answer is not None and not is_told:
        rest = state(Sentence.of(sentence.text[len(answer.text) :].lstrip(", ")))
        said = state(answer) if rest.is_stated else whole
        yield replace(said, cue=None, is_stated=False)
        if rest.is_stated:
            yield rest
        return
    is_passing = shape_of(sentence) is Shape.PASSING
    if (whole.is_shaped and not is_passing) or is_cued:
        yield whole
        return
    told: list[_Statement] = []
    for clause, is_sure in own_clauses(sentence):
        each = state(clause)
        is_clear = shape_of(clause) not in (Shape.VAGUE, Shape.PASSING)
        if told and begins_with_reason(clause):
            told[-1] = told[-1].with_more(clause)
        elif each.is_shaped and is_clear:
            told.append(replace(each, is_stated=each.is_stated and is_sure))
        elif told and points_back(clause):
            told[-1] = told[-1].with_more(clause)
    yield from told or [whole]


def _answer(sentence: Sentence, question: _Question | None) -> Sentence | None:
    """The words that a question asks for, or a name or number in place of yes and no: `Xero`."""
    if question is None or not question[1].content:
        return None
    head = Sentence.of(sentence.text.partition(", ")[0])
    if shape_of(sentence) is Shape.ORDER and is_slight((head,)):
        return None
    said = sentence if is_phrase(sentence) else head
    is_asked = asks_for_value(question[1]) and shape_of(sentence) is not Shape.STATEMENT
    is_answer = is_phrase(said) and not (greets(said) or points_back(said) or denies(said))
    return said if is_answer and (is_asked or not is_slight((said,))) else None


def _statement(
    sentence: Sentence, within: str, place: SentencePlaces, tools: bool, is_users: bool
) -> _Statement:
    """A sentence, or a clause of the sentence `within`."""
    about = stated_attribute(sentence, tools)
    cue = find_cue(sentence, tools, about)
    states = cue.is_plain if cue else states_plainly(sentence, 0, begins=False)
    is_plain = states and within in place.plain
    is_loose = states and within in place.loose
    is_loose |= within in place.plain and states_behind_label(sentence)
    return _Statement(
        sentence=sentence,
        cue=cue,
        key=about.key if about and is_users else None,
        is_plain=is_plain,
        is_stated=is_plain and (cue is not None or is_stated(sentence, tools)),
        is_shaped=(is_plain or is_loose) and (cue is not None or shape_of(sentence) is not None),
    )


def _needs_question(part: _Part) -> bool:
    first = part.sentences[0]
    if _asks_to_forget(part.cue):
        return False
    if _ANSWER.match(first.straight) is not None:
        return shape_of(first) not in (Shape.STATEMENT, Shape.ORDER)
    return not part.is_stated and sum(len(each.content) for each in part.sentences) < _FEW_WORDS


def _asks_to_forget(cue: Cue | None) -> bool:
    return cue is not None and cue.asks_to_forget


def _answers(part: _Part, question: _Question | None) -> bool:
    is_own = part.is_plain and not part.is_stated
    return is_own and _answer(part.sentences[0], question) is not None


def _is_choice(question: _Question | None) -> bool:
    return question is not None and _CHOICE.search(question[1].straight) is not None


def _draft(
    message: Message,
    part: _Part,
    rules: DraftRules,
    question: _Question | None,
    recent: _Recent,
    rule: str | None,
) -> Draft:
    text = _dated(_joined(part.sentences), message, rules)
    kind, key, first_line = part.cue.kind if part.cue else "fact", part.key, message.line
    is_plain, corrected = part.is_plain, tuple[Draft, ...]()
    if part.cue is not None and part.cue.kind == CORRECTION:
        corrected = _corrected(message, part, recent)
        kind = corrected[-1].kind or "fact" if corrected else "fact"
        if len(corrected) == 1:
            key, first_line = key or corrected[0].key, _cited_from(corrected[0], message)
            text = _with_quotation(corrected[0].text, text)
            is_plain = is_plain and corrected[0].is_plain
    elif question is not None:
        before, asked = question
        text = _with_quotation(_dated(asked.text, before, rules), text)
        first_line, is_plain = before.line, False
        if part.cue is None and _is_choice(question):
            kind = "decision"
    supersedes = len(corrected) == 1 and is_plain
    is_likely = (part.is_shaped and not part.is_stated) or _answers(part, question)
    most = Source.USER_STATED if part.is_stated else Source.INFERRED
    source = trust.limit_source(_origin(message, is_plain), most)
    if source is None:
        raise ValueError(f"the message of line {message.line} becomes no statement")
    return Draft(
        time=_time(message),
        text=_of_sender(message, text),
        kind=kind,
        source=source,
        speaker=message.speaker,
        rule=part.cue.rule if part.cue else rule or "statement",
        first_line=first_line,
        last_line=message.line,
        confidence=_VAGUE_CONFIDENCE if is_likely else None,
        key=key,
        supersedes=fact_id(corrected[0].text) if supersedes else None,
        contradicts=() if supersedes else tuple(fact_id(each.text) for each in corrected),
        sender=message.sender,
        is_plain=is_plain,
    )


def _of_sender(message: Message, text: str) -> str:
    return shortened(
        text if message.sender is None else f"{message.sender}: {text}", MOST_CHARACTERS
    )


def _corrected(message: Message, part: _Part, recent: _Recent) -> tuple[Draft, ...]:
    who = (message.speaker, message.sender)
    of_person = (drafts for said, drafts in recent if (said.speaker, said.sender) == who)
    entries = [draft for drafts in of_person for draft in drafts]
    statements = [Statement(Sentence.of(each.text), each.key) for each in entries]
    indexes = find_corrected(Statement(Sentence.of(_joined(part.sentences)), part.key), statements)
    return tuple(entries[index] for index in indexes)


def _cited_from(corrected: Draft, message: Message) -> int:
    is_near = message.line - corrected.last_line <= _MOST_CITED
    return corrected.last_line if is_near else message.line


def _with_quotation(quoted: str, text: str) -> str:
    words = quoted.replace('"', "'")
    if len(words) > _QUOTED_CHARACTERS:
        words = f"{words[:_QUOTED_CHARACTERS].rpartition(' ')[0]}…"
    return f'"{words}": {text}'


def _joined(statements: Iterable[Sentence]) -> str:
    return " ".join(each.text for each in statements)


def _dated(text: str, message: Message, rules: DraftRules) -> str:
    return annotate_dates(text, _time(message).astimezone(rules.zone).date())


def _time(message: Message) -> datetime:
    if message.time is None:
        raise ValueError(f"the message of line {message.line} has no time")
    return message.time
