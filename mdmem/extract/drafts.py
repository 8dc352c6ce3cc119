"""Draw entries from the messages of a session: by the noise filter, then the statements that are always kept, then the weights.

What becomes of a message depends on it and on the twenty before it, never on what comes later. So a session that is read message by message
gives the entries of one that is read at its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, tzinfo

from mdmem.extract import noise, weights
from mdmem.extract.always_kept import CORRECTION, Cue, find_agent_cue, find_cue
from mdmem.extract.attributes import attribute, attribute_kind
from mdmem.extract.corrections import Statement, find_corrected
from mdmem.extract.pasted import typed_sentences
from mdmem.extract.relative_dates import annotate
from mdmem.extract.sentences import Sentence, ends_as_question, has_part, sentences, sentences_with, strip_pasted
from mdmem.extract.vocabulary import vocabulary
from mdmem.facts import fact_id
from mdmem.model import FactId, Source
from mdmem.model.sessions import Message, Speaker
from mdmem.startup import late
from mdmem.startup.records import dataclass, field

MOST_CHARACTERS = 400
"""The most characters of an entry, its question or the words that it corrects included."""
MODEL_RULE = "model"
_CORRECTED_WITHIN = 10
_QUOTED_CHARACTERS = 140
_PERMISSIVE_ENTRIES = 3
_PERMISSIVE_CONFIDENCE = 0.3
_FEW_WORDS = 4
_CAPTION = late.pattern(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry that was drawn from a message and is not written yet.

    - `first_line`, `last_line`: the lines of the transcript that it says again.
    - `rule`: by what it was kept: the name of a cue, `statement`, `weight`, `permissive`, or `model`.
    - `key`: the attribute that it is about. `sender`: the name of another person than the user who said it.
    - `supersedes`, `contradicts`: the entries of the same session that it corrects: exactly one, or one of these.
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


@dataclass(frozen=True, slots=True)
class DrawnEntries:
    """The entries that were drawn from messages, and how many messages were noise."""

    drafts: tuple[Draft, ...]
    noise: int


@dataclass(frozen=True, slots=True)
class DraftRules:
    """The rules by which messages are judged.

    - `zone`: of the user, whose days count; None is the system's.
    - `keep_lines`: keep every statement that is no noise, as in sessions with tools.
    - `tools_line`: the line from which on the session is one with tools.
    """

    zone: tzinfo | None
    keep_lines: bool = False
    tools_line: int | None = None

    def keeps_statements(self, line: int) -> bool:
        """True if every statement of a message at this line is kept."""
        return self.keep_lines or self.has_tools(line)

    def has_tools(self, line: int) -> bool:
        """True if tools had been used before this line."""
        return self.tools_line is not None and line > self.tools_line


@dataclass(slots=True)
class _Part:
    """Sentences of a message that make one entry."""

    sentences: list[Sentence] = field(default_factory=list)
    cue: Cue | None = None
    key: str | None = None

    def belongs(self, cue: Cue | None, key: str | None) -> bool:
        """True if a sentence goes on with this part: it says nothing of its own, or more of the same."""
        return self.cue is None or cue is None or (cue.kind == self.cue.kind and (key is None or key == self.key))

    def add(self, sentence: Sentence, cue: Cue | None, key: str | None) -> None:
        """Take in a sentence."""
        self.sentences.append(sentence)
        if cue is not None and self.cue is not None:
            cue = self.cue if self.cue.own_word or not cue.own_word else cue
        self.cue = cue or self.cue
        self.key = self.key or key


def draw(messages: Sequence[Message], rules: DraftRules, after_line: int = 0, known_lines: Collection[int] = ()) -> DrawnEntries:
    """Draw the entries of the messages behind a line; those up to it, and at `known_lines`, are context.

    Messages that a host or a program wrote in the user's place, and those without a time, give nothing.
    """
    drafts: list[Draft] = []
    noise_count = 0
    recent: list[tuple[Message, tuple[Draft, ...]]] = []
    for number, message in enumerate(messages):
        if message.time is None or (message.speaker is Speaker.USER and not message.typed):
            continue
        question = _question_before(messages, number) if message.speaker is Speaker.USER else None
        own = tuple(_of_agent(message, rules) if message.speaker is Speaker.AGENT else _of_person(message, rules, question, recent))
        recent = [*recent, (message, own)][-_CORRECTED_WITHIN:]
        if message.line > after_line and message.line not in known_lines:
            drafts.extend(own)
            noise_count += not own
    return DrawnEntries(tuple(drafts), noise_count)


def unsettled(messages: Sequence[Message], drafts: Sequence[Draft]) -> Iterator[tuple[Message, str]]:
    """The messages from which no entry was drawn, with what is no noise in them; `drafts` are the entries that were."""
    settled = {draft.last_line for draft in drafts}
    for message in messages:
        is_of_person = message.speaker is Speaker.USER
        if message.time is None or message.line in settled or (is_of_person and (not message.typed or noise.is_command(message.text))):
            continue
        _, statements = _statements(message)
        if not is_of_person:
            statements = tuple(each for each in statements if not noise.is_narration(each))
        if statements and not noise.is_slight(statements):
            yield message, _joined(statements)


def draw_permissively(messages: Sequence[Message], rules: DraftRules) -> tuple[Draft, ...]:
    """The entries of a session that has ended and in which nothing else was found: those of the person's messages that weigh most, and enough."""
    weighed = []
    for number, message in enumerate(messages):
        if message.time is None or message.speaker is not Speaker.USER or not message.typed or noise.is_command(message.text):
            continue
        spoken, statements = _statements(message)
        weight = weights.weigh(spoken, statements, _question_before(messages, number) is not None) if statements else weights.ONLY_QUESTIONS
        if weights.PERMISSIVE <= weight < weights.ENTRY:
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


def _statements(message: Message) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    """The sentences of a message without what was pasted, and those of them that are no noise."""
    spoken = sentences(strip_pasted(message.text))
    return spoken, tuple(each for each in spoken if not noise.is_noise(each))


def _question_before(messages: Sequence[Message], number: int) -> tuple[Message, Sentence] | None:
    """The question that ends the message before, if that was the other one's. A caption behind it counts for nothing."""
    if not number or messages[number - 1].speaker is messages[number].speaker:
        return None
    before = messages[number - 1]
    line = _CAPTION.sub("", before.text.rstrip().rpartition("\n")[2])
    if not ends_as_question(line):
        return None
    last = sentences(line)[-1:]
    return (before, last[0]) if last and last[0].is_question and noise.REDACTED not in last[0].text else None


def _of_agent(message: Message, rules: DraftRules) -> Iterator[Draft]:
    """An agent's lesson or status."""
    hints = vocabulary().agent_hints
    if not has_part(message.text, hints):
        return
    spoken = sentences_with(strip_pasted(message.text), hints)
    cued = [(each, cue) for each in spoken if (cue := find_agent_cue(each)) and not noise.is_noise(each) and not noise.is_narration(each)]
    if not cued:
        return
    yield Draft(
        time=_time(message),
        text=_cut(_dated(_joined(each for each, _ in cued), message, rules)),
        kind=cued[0][1].kind,
        source=Source.AUTO,
        speaker=message.speaker,
        rule=cued[0][1].rule,
        first_line=message.line,
        last_line=message.line,
    )


def _of_person(
    message: Message, rules: DraftRules, question: tuple[Message, Sentence] | None, recent: Sequence[tuple[Message, tuple[Draft, ...]]]
) -> Iterator[Draft]:
    """The entries of a person's message: each statement that is always kept, or the whole message where it weighs enough."""
    if noise.is_command(message.text):
        return
    spoken, statements = _statements(message)
    if not statements:
        return
    parts = _parts(message, statements, rules.has_tools(message.line))
    if any(part.cue for part in parts):
        rule = None
    elif noise.is_slight(statements) and not (rules.has_tools(message.line) and _is_choice(question)):
        return
    elif rules.keeps_statements(message.line):
        rule = "statement"
    elif weights.weigh(spoken, statements, question is not None) >= weights.ENTRY:
        rule = "weight"
    else:
        return
    answered = question if question is not None and _needs_question(statements) else None
    for part in parts:
        yield _draft(message, part, rules, answered if part is parts[0] else None, recent, rule)


def _parts(message: Message, statements: Sequence[Sentence], tools: bool) -> list[_Part]:
    """The statements of a message, apart where they are of several kinds or about several attributes."""
    typed = typed_sentences(message.text)
    parts = [_Part()]
    for statement in statements:
        pasted = typed is not None and statement.text not in typed
        key = None if pasted else attribute(statement, tools)
        cue = find_cue(statement, tools, pasted, attribute_kind(key) if key else None)
        if not parts[-1].belongs(cue, key):
            parts.append(_Part())
        parts[-1].add(statement, cue, key)
    return parts


def _needs_question(statements: Sequence[Sentence]) -> bool:
    """True if an answer says little without its question."""
    return vocabulary().answer.match(statements[0].straight) is not None or sum(len(each.content) for each in statements) < _FEW_WORDS


def _is_choice(question: tuple[Message, Sentence] | None) -> bool:
    """True if the answer to a question is a decision."""
    return question is not None and vocabulary().choice.search(question[1].straight) is not None


def _draft(
    message: Message,
    part: _Part,
    rules: DraftRules,
    question: tuple[Message, Sentence] | None,
    recent: Sequence[tuple[Message, tuple[Draft, ...]]],
    rule: str | None,
) -> Draft:
    text = _dated(_joined(part.sentences), message, rules)
    kind, key, first_line = part.cue.kind if part.cue else "fact", part.key, message.line
    corrected: tuple[Draft, ...] = ()
    if part.cue is not None and part.cue.kind == CORRECTION:
        corrected = _corrected(message, part, recent)
        kind = corrected[-1].kind or "fact" if corrected else "fact"
        if len(corrected) == 1:
            key, first_line = key or corrected[0].key, _cited_from(corrected[0], message)
            text = _with_quotation(corrected[0].text, text)
    elif question is not None:
        before, asked = question
        text, first_line = _with_quotation(_dated(asked.text, before, rules), text), before.line
        if part.cue is None and _is_choice(question):
            kind = "decision"
    return Draft(
        time=_time(message),
        text=_of_sender(message, text),
        kind=kind,
        source=Source.USER_STATED if part.cue and part.cue.own_word and message.sender is None else Source.INFERRED,
        speaker=message.speaker,
        rule=part.cue.rule if part.cue else rule or "statement",
        first_line=first_line,
        last_line=message.line,
        key=key,
        supersedes=fact_id(corrected[0].text) if len(corrected) == 1 else None,
        contradicts=tuple(fact_id(each.text) for each in corrected) if len(corrected) > 1 else (),
        sender=message.sender,
    )


def _of_sender(message: Message, text: str) -> str:
    """The text of an entry, with the name of another person than the user before what they said."""
    return _cut(text if message.sender is None else f"{message.sender}: {text}")


def _corrected(message: Message, part: _Part, recent: Sequence[tuple[Message, tuple[Draft, ...]]]) -> tuple[Draft, ...]:
    """The entries that a correction may mean, of the same person within the last ten messages."""
    entries = [draft for each, drafts in recent if each.speaker is message.speaker and each.sender == message.sender for draft in drafts]
    statements = [Statement(Sentence.of(each.text), each.key) for each in entries]
    indexes = find_corrected(Statement(Sentence.of(_joined(part.sentences)), part.key), statements)
    return tuple(entries[index] for index in indexes)


_MOST_CITED = 3


def _cited_from(corrected: Draft, message: Message) -> int:
    """The line from which on a correction cites: that of what it corrects, where it is near."""
    return corrected.last_line if message.line - corrected.last_line <= _MOST_CITED else message.line


def _with_quotation(quoted: str, text: str) -> str:
    """A text behind the words that it needs to be understood."""
    words = quoted.replace('"', "'")
    short = words if len(words) <= _QUOTED_CHARACTERS else f"{words[:_QUOTED_CHARACTERS].rpartition(' ')[0]}…"
    return f'"{short}": {text}'


def _joined(statements: Iterable[Sentence]) -> str:
    return " ".join(each.text for each in statements)


def _dated(text: str, message: Message, rules: DraftRules) -> str:
    return annotate(text, _time(message).astimezone(rules.zone).date())


def _time(message: Message) -> datetime:
    if message.time is None:
        raise ValueError(f"the message of line {message.line} has no time")
    return message.time


def _cut(text: str) -> str:
    """A text of at most `MOST_CHARACTERS`, ended at a word."""
    if len(text) <= MOST_CHARACTERS:
        return text
    start = text[: MOST_CHARACTERS - 1]
    return f"{start.rpartition(' ')[0] or start}…"
