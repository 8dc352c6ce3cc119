"""The changes that entries ask for, by id, attribute and likeness: rules alone; and the policy
which of them are applied, and which a person decides. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import takewhile

from mdmem.editors.corrections import are_parallel, correction_likeness
from mdmem.editors.likeness import (
    CandidateIndex,
    ContentWord,
    content_words,
    likeness,
    match_words,
)
from mdmem.editors.sameness import StatementIndex, have_same_marks
from mdmem.folder import trust
from mdmem.folder.trust import TextOrigin
from mdmem.model import FactId, FilePath, Source, rules
from mdmem.model.pipelines import SAID_BESIDES, STANDS, STANDS_REWORDED, TOO_MANY_CHANGES, DreamOp
from mdmem.nights.dream.candidates import (
    CuratedFact,
    CuratedMemory,
    DreamCandidate,
    LogEntries,
    canonical_attribute,
)
from mdmem.nights.dream.changed_values import (
    named_change,
    parts_of,
    with_changed_part,
    with_named_value,
    without_part,
)
from mdmem.nights.dream.wording import DECISION, PlainForm, core, plain_form
from mdmem.sessions.plain import CORRECTS, MANY_VALUED, is_about_a_text, subject_to_forget
from mdmem.sessions.sentences import TIME_WORDS, Sentence
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import fact_id, normalise
from mdmem.text.languages import alternatives, attribute_named, bare_statement, words_of


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change of curated memory that an entry asks for; NONE changes nothing.

    - `candidate`: the entry (None: a duplicate, or the oldest fact in a full file).
    - `text`: without its `key`; empty for none. `until`: its last day.
    - `section`: the address; None decides by kind, and by the place of `old`.
    - `source`, `confidence`: of the text as worded here.
    - `also`: another value of its key may stay.
    - `is_sure`: it may be applied unasked.
    """

    op: DreamOp
    candidate: DreamCandidate | None
    why: str
    old: CuratedFact | None = None
    text: str = ""
    key: str | None = None
    kind: str | None = None
    until: date | None = None
    section: str | None = None
    source: Source = Source.INFERRED
    confidence: float = Source.INFERRED.confidence
    also: bool = False
    is_sure: bool = False
    cites: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        return f"{self.key}: {self.text}" if self.key else self.text

    @property
    def is_by_key(self) -> bool:
        """True if its key alone tells which line it replaces."""
        return self.key is not None and self.old is not None and self.old.key == self.key

    @property
    def fact(self) -> FactId:
        return fact_id(self.statement)

    @property
    def identity(self) -> tuple[DreamOp, FactId | None, FactId | None]:
        """Equal for the same change, judged again."""
        return (
            self.op,
            self.candidate.fact if self.candidate else None,
            self.old.fact if self.old else None,
        )


def leave(candidate: DreamCandidate, why: str) -> Suggestion:
    return Suggestion(
        op=DreamOp.NONE,
        candidate=candidate,
        why=why,
        source=candidate.source,
        confidence=candidate.confidence,
        cites=candidate.cites,
    )


def _with_author(change: Suggestion) -> Suggestion:
    """A change that says who wrote its entry and when, if the user did not.

    Another author's entry is inferred at most: its new commit is the user's, and names nobody else.
    """
    candidate = change.candidate
    name = candidate and (candidate.author or candidate.sender)
    if not candidate or not name or change.op is DreamOp.NONE:
        return change
    told = f" ({rules.author_name(name)}, {candidate.day})"
    named = replace(change, why=f"{change.why.removesuffix(told)}{told}")
    if candidate.author is None:
        return named
    source = trust.limit_source(TextOrigin.OTHER_SENDER, change.source) or Source.AUTO
    return replace(named, source=source, confidence=min(change.confidence, source.confidence))


def _one_for_each(
    suggestions: Sequence[Suggestion], is_counted: Callable[[CuratedFact], bool]
) -> list[Suggestion]:
    """Keep the best founded, then last, of several unsure changes of a counted fact.

    The others are proposed beside it.
    """
    best: dict[int, Suggestion] = {}
    for suggestion in suggestions:
        if suggestion.old is not None and not suggestion.is_sure and is_counted(suggestion.old):
            other = best.get(id(suggestion.old))
            if other is None or suggestion.source.strength >= other.source.strength:
                best[id(suggestion.old)] = suggestion
    return [_after_best(each, best.get(id(each.old), each)) for each in suggestions]


def _after_best(change: Suggestion, best: Suggestion) -> Suggestion:
    if best is change or change.is_sure or change.candidate is None or change.old is None:
        return change
    if change.statement == best.statement:
        return leave(change.candidate, SAID_BESIDES)
    return _beside_old(change, change.candidate, change.old)


_LARGEST_LOSS = 10
"""A file loses at most one of so many facts in a night, but one at least."""
_MARKER_BYTES = 20
"""The bytes of a new fact besides its text: list marker, kind, line end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a night.

    `most`: the maximum of applied changes for each day that is read, of which `done` are made.
    `budget_lines`, `budget_bytes`: the maximum size of the curated file.
    """

    applies: bool
    most: int
    done: int
    budget_lines: int
    budget_bytes: int


@dataclass(frozen=True, slots=True)
class Decided:
    """Changes to apply, to propose and to leave, in order; `outcome` is empty for success."""

    applied: tuple[Suggestion, ...]
    proposed: tuple[Suggestion, ...]
    left: tuple[Suggestion, ...]
    outcome: str = ""


def decide(suggestions: Sequence[Suggestion], memory: CuratedMemory, limits: Limits) -> Decided:
    left = tuple(each for each in suggestions if each.op is DreamOp.NONE)
    changes = [
        replace(each, is_sure=each.is_sure and _is_allowed(each))
        for each in map(_with_author, suggestions)
        if each.op is not DreamOp.NONE
    ]
    changes = _with_few_losses(changes, memory)
    changes = _within_budget(changes, memory, limits)
    sure = [each for each in changes if each.is_sure]
    allowed = _within_most(sure, suggestions, limits)
    too_many = len(allowed) < len(sure)
    sure = allowed if limits.applies else []
    applied = tuple(each for each in changes if each in sure)
    waiting = [_unless_of_log(each, memory) for each in changes if each not in sure]
    proposed = _without_overlaps(waiting, applied, memory)
    left += tuple(each for each in proposed if each.op is DreamOp.NONE)
    proposed = [each for each in proposed if each.op is not DreamOp.NONE]
    return Decided(
        applied, tuple(proposed), left, TOO_MANY_CHANGES if too_many and limits.applies else ""
    )


def _within_most(
    sure: Sequence[Suggestion], suggestions: Sequence[Suggestion], limits: Limits
) -> list[Suggestion]:
    """Sure changes, without those of a day with too many; none where all are too many."""
    counts = Counter(each.candidate and each.candidate.day for each in sure)
    within = [each for each in sure if counts[each.candidate and each.candidate.day] <= limits.most]
    new = {each.candidate.day for each in suggestions if each.candidate and each.candidate.is_new}
    return within if len(within) + limits.done <= limits.most * max(1, len(new)) else []


def _is_allowed(change: Suggestion) -> bool:
    """True unless the words, or the line replaced, are another's than the user's own."""
    old, candidate = change.old, change.candidate
    if candidate is None:
        return old is None or old.is_changeable
    row = trust.trust(candidate.origin)
    if old is None:
        return row.adds
    is_guarded = old.source is Source.USER_STATED
    is_asked = change.op is DreamOp.UPDATE or subject_to_forget(candidate.text) is not None
    may_end = row.ends_users_word and change.source is Source.USER_STATED and is_asked
    return old.is_changeable and row.replaces and (may_end or not is_guarded)


def _unless_of_log(change: Suggestion, memory: CuratedMemory) -> Suggestion:
    """Leave what would only retract a log's line: there is no text to propose."""
    old, candidate = change.old, change.candidate
    is_of_log = old is not None and old.path not in memory.files and change.op is DreamOp.DELETE
    return leave(candidate, change.why) if is_of_log and candidate is not None else change


def _with_few_losses(changes: Sequence[Suggestion], memory: CuratedMemory) -> list[Suggestion]:
    losses: Counter[FilePath] = Counter()
    kept = []
    for change in changes:
        if change.is_sure and change.op is DreamOp.DELETE and change.old is not None:
            path, file = change.old.path, memory.files.get(change.old.path)
            losses[path] += 1
            if file is not None and losses[path] > max(1, file.facts // _LARGEST_LOSS):
                change = replace(change, is_sure=False)
        kept.append(change)
    return kept


def _within_budget(
    changes: Sequence[Suggestion], memory: CuratedMemory, limits: Limits
) -> list[Suggestion]:
    """Where a file is full, new facts are unsure, and its oldest are suggested to go."""
    file = memory.files.get(memory.curated)
    size, lines = (file.size, file.lines) if file else (0, 0)
    kept, over = [], 0
    for change in changes:
        if change.op is DreamOp.ADD and change.is_sure:
            size += len(change.text.encode()) + _MARKER_BYTES
            lines += change.text.count("\n") + 1
            if size > limits.budget_bytes or lines > limits.budget_lines:
                change, over = replace(change, is_sure=False), over + 1
        kept.append(change)
    source = trust.trust(TextOrigin.RULE).most
    if source is None:
        return kept
    taken = {id(change.old) for change in changes}
    oldest = sorted(
        (fact for fact in memory.facts if fact.path == memory.curated and id(fact) not in taken),
        key=_age,
    )
    why = f"{memory.curated} is full, and this is the oldest there"
    return kept + [
        Suggestion(
            op=DreamOp.DELETE,
            candidate=None,
            why=why,
            old=fact,
            source=source,
            confidence=source.confidence,
        )
        for fact in oldest[:over]
    ]


def _without_overlaps(
    proposed: Sequence[Suggestion], applied: Sequence[Suggestion], memory: CuratedMemory
) -> list[Suggestion]:
    """Proposals do not replace other proposals of the night: parts would overlap."""
    current_ids = {id(fact) for fact in memory.facts}
    coming = {change.fact for change in applied}
    apart = []
    for change in proposed:
        if (
            change.candidate is not None
            and change.old is not None
            and id(change.old) not in current_ids
            and change.old.fact not in coming
        ):
            change = _beside_old(change, change.candidate, change.old)
        apart.append(change)
    return _one_for_each(apart, lambda old: id(old) not in current_ids)


def _beside_old(change: Suggestion, candidate: DreamCandidate, old: CuratedFact) -> Suggestion:
    many = old.attribute is None or old.attribute in MANY_VALUED
    if change.op is DreamOp.UPDATE and (
        many or canonical_attribute(candidate.attribute) != old.attribute
    ):
        return replace(
            change,
            op=DreamOp.ADD,
            old=None,
            also=True,
            why="it is similar to something else that is proposed",
        )
    return leave(candidate, "it would change what is only proposed")


def _age(fact: CuratedFact) -> tuple[int, float, int]:
    """The order in which facts may go: the weakest, then the oldest."""
    return fact.source.strength, fact.said.timestamp(), fact.line


_RELATED = 0.6
"""The minimum `likeness` of statements about one thing.

From 0.8 on, with the same names and numbers, they say the same.
"""
_AHEAD = 0.2
_MOST_NAMED = 3
FORGOTTEN = "it was asked to be forgotten on the same day"
SAID_ONCE, FORGETS_NOTHING, OF_A_TEXT = (
    "it was said only once",
    "it asks to forget something that is not in memory",
    "it asks for work on a text, whose words may be another's",
)
"""Why an entry is left, as far as the rules can tell."""
_CLOSE = 0.5
"""The minimum likeness to a line that the user's own word of a change replaces unasked."""
_MOST_OF_VALUE = 4
_WORD = late.pattern(r"\w+")
_MEASURES = words_of("WEEKDAYS") | words_of("MONTHS") | words_of("NUMERALS")
_BY_NOW = late.pattern(rf"(?i)\b(?:{alternatives('BY_NOW')})\b")
_CHANGE_WORDS = words_of("CHANGES") | words_of("BY_NOW_WORDS")


def judge(
    candidates: Sequence[DreamCandidate],
    memory: CuratedMemory,
    log: LogEntries,
    is_taken_out: Callable[[DreamCandidate], bool],
) -> list[Suggestion]:
    """Suggest a change for each entry (in order of time), and one for each duplicate line.

    `is_taken_out` tells if a person removed what an entry says, after it was said.
    """
    judge_of_night = _Judge(memory, log, is_taken_out)
    current_ids = {id(fact) for fact in memory.facts}
    suggestions = [*judge_of_night.duplicates(), *judge_of_night.all(candidates)]
    return _one_for_each(
        _without_forgotten(suggestions, current_ids, log), lambda old: id(old) in current_ids
    )


def _without_forgotten(
    suggestions: Iterable[Suggestion], current: set[int], log: LogEntries
) -> list[Suggestion]:
    """Leave what the same night is asked to forget; a sure request takes it out of the log."""
    kept: list[Suggestion] = []
    for change in suggestions:
        old, candidate = change.old, change.candidate
        is_request = candidate is not None and subject_to_forget(candidate.text) is not None
        if old is not None and candidate is not None and is_request and id(old) not in current:
            said = {
                number: each.candidate
                for number, each in enumerate(kept)
                if each.candidate is not None and old.fact in (each.fact, each.candidate.fact)
            }
            logged = _logged(change, old, said.values(), log)
            is_offered = any(kept[number].op is DreamOp.ADD for number in said)
            if logged is not None or is_offered:
                for number, entry in said.items():
                    kept[number] = leave(entry, FORGOTTEN)
            why = FORGOTTEN if is_offered else change.why
            change = leave(candidate, why) if logged is None else replace(change, old=logged)
        kept.append(change)
    return kept


def _logged(
    request: Suggestion, old: CuratedFact, said: Iterable[DreamCandidate], log: LogEntries
) -> CuratedFact | None:
    """The one entry of the log that a sure request to forget means, by `said` or as `old`."""
    facts = {entry.fact for entry in said} or {old.fact}
    is_sure = request.is_sure and request.op is DreamOp.DELETE and len(facts) == 1
    if not is_sure or request.candidate is None:
        return None
    meant = log.that_may_be_forgotten(request.candidate)
    return next((_as_logged(entry) for entry in meant if entry.fact in facts), None)


def _supersedes_safely(candidate: DreamCandidate, old: CuratedFact) -> bool:
    """True if an entry may replace a fact with the same key unasked.

    Its key has to count, and it has to be newer, and as well founded or better. An agent's claim of
    the user's word is no foundation.
    """
    is_founded = candidate.source.strength >= old.source.strength and not candidate.is_claim
    return candidate.has_key and is_founded and candidate.said > old.said and old.is_changeable


def _key_in_place(old: CuratedFact, attribute: str | None) -> str | None:
    return old.key if old.key is not None and canonical_attribute(old.key) == attribute else None


def _without_reason(subject: str) -> str:
    return core(subject).partition(", ")[0]


def _share_held(wanted: Sequence[ContentWord], text: str) -> float:
    """The share of the words of a request that a line holds, by weight.

    With one of several it is 0, and with a name alone just enough to ask whether it is meant.
    """
    held = match_words(wanted, content_words(text))
    if not wanted or len(held) < min(2, len(wanted)):
        return _RELATED if any(wanted[number].name for number in held) else 0.0
    weights = {number: word.weight for number, word in enumerate(wanted)}
    shares = (share * weights[number] for number, (_, share) in held.items())
    return sum(shares) / sum(weights.values())


def _has_parts(fact: CuratedFact) -> bool:
    """True for a line of several facts under one key, such as a machine or a person."""
    return fact.key is not None and attribute_named(fact.key) is None


def _lines_of(fact: CuratedFact) -> list[str]:
    """A line, and what it would say with each of its parts alone."""
    parts = parts_of(fact.value) if _has_parts(fact) else []
    return [fact.text, *(f"{fact.key}: {part}" for part in parts if len(parts) > 1)]


def _moves(value: str, candidate: DreamCandidate) -> bool:
    """True if an entry says of the same subject that its day or number is another by now."""
    before, after = content_words(value), content_words(bare_statement(candidate.text))
    if not before or not after or before[0].text != after[0].text:
        return False
    old, new = (
        {word.text for word in words if word.number or word.text.removesuffix("s") in _MEASURES}
        for words in (before, after)
    )
    return bool(old and new) and old.isdisjoint(new) and _is_users_change(candidate)


def _narrows(value: str, candidate: DreamCandidate) -> bool:
    """True if an entry names somebody or something more before what both are about."""
    before, after = content_words(value), content_words(bare_statement(candidate.text))
    shared = {word.text for word in before} & {word.text for word in after}
    opening = takewhile(lambda word: word.text not in shared, after)
    return bool(before) and before[0].text in shared and any(word.name for word in opening)


def _may_correct(candidate: DreamCandidate, share: float, old: CuratedFact) -> bool:
    """True if a statement without a word of change is near enough to a line."""
    if candidate.source is not Source.USER_STATED:
        return share >= _CLOSE or candidate.confidence > Source.INFERRED.confidence
    before, after = content_words(old.text), content_words(bare_statement(candidate.text))
    has_subject = bool(before and after) and before[0].text == after[0].text
    return has_subject or likeness(candidate.text, old.value) >= _RELATED


def _names_of(fact: CuratedFact) -> frozenset[str]:
    """The names in a line's value, in lower case; of a short value under a key, its words."""
    value = Sentence.of(fact.value)
    words = value.words if fact.key is not None else value.words[1:]
    if len(words) > _MOST_OF_VALUE:
        words = ()
    names = (word.casefold() for word in words if word[0].isupper())
    return frozenset(names) - _MEASURES - TIME_WORDS


def _is_users_change(candidate: DreamCandidate) -> bool:
    """True for the user's own plain words that something is otherwise by now."""
    sentence = Sentence.of(candidate.text)
    is_cued = CORRECTS.search(sentence.outside_quotations, sentence.pieces) is not None
    is_changed = is_cued or not _CHANGE_WORDS.isdisjoint(sentence.folded)
    return candidate.source is Source.USER_STATED and (
        is_changed or _BY_NOW.search(sentence.straight) is not None
    )


class _Judge:
    """Judges entries in turn by memory as it will be once earlier ones are settled."""

    def __init__(
        self, memory: CuratedMemory, log: LogEntries, is_taken_out: Callable[[DreamCandidate], bool]
    ) -> None:
        self._memory = memory
        self._log = log
        self._is_taken_out = is_taken_out
        self._facts: list[CuratedFact | None] = []
        self._statements = StatementIndex()
        self._numbers: list[int] = []
        """The fact's number for each text and, where it has a key, each value."""
        self._by_words: dict[str, list[int]] = {}
        self._by_attribute: dict[str, list[int]] = {}
        self._values = CandidateIndex()
        self._proposed = StatementIndex()
        self._offered: list[CuratedFact] = []
        for fact in memory.facts:
            self._add(fact)
        self._keys = tuple(dict.fromkeys(filter(None, (fact.key for fact in memory.facts))))
        self._forms: dict[DreamCandidate, PlainForm] = {}

    def _form(self, candidate: DreamCandidate) -> PlainForm:
        if candidate not in self._forms:
            self._forms[candidate] = (
                PlainForm(candidate.text, candidate.kind)
                if candidate.sender is not None or subject_to_forget(candidate.text) is not None
                else plain_form(
                    candidate.text,
                    kind=candidate.kind,
                    day=candidate.day,
                    attribute=candidate.attribute,
                    keys=self._keys,
                )
            )
        return self._forms[candidate]

    def _was_removed(self, candidate: DreamCandidate) -> bool:
        line = self._form(candidate).line
        return self._is_taken_out(candidate) or self._is_taken_out(
            replace(candidate, text=line, fact=fact_id(line))
        )

    def _attribute(self, candidate: DreamCandidate) -> str | None:
        return canonical_attribute(candidate.attribute or self._form(candidate).key)

    def _add(self, fact: CuratedFact) -> None:
        for words in (fact.fact, normalise(fact.value)):
            self._by_words.setdefault(words, []).append(len(self._facts))
        for text in dict.fromkeys((fact.text, fact.value)):
            self._statements.add(text)
            self._numbers.append(len(self._facts))
        for name in filter(None, {fact.attribute, canonical_attribute(fact.key)}):
            self._by_attribute.setdefault(name, []).append(len(self._facts))
        self._values.add(len(self._facts), fact.value)
        self._facts.append(fact)

    def duplicates(self) -> Iterator[Suggestion]:
        """Facts that are twice in a file: the weaker or later line goes."""
        first: dict[tuple[FilePath, FactId], CuratedFact] = {}
        for fact in self._memory.facts:
            kept = first.setdefault((fact.path, fact.fact), fact)
            if kept is not fact and fact.is_changeable and fact.section != kept.section:
                goes = kept if fact.source.strength > kept.source.strength else fact
                first[fact.path, fact.fact] = fact if goes is kept else kept
                why = "it is in this file twice"
                removal = Suggestion(
                    op=DreamOp.DELETE,
                    candidate=None,
                    why=why,
                    old=goes,
                    source=goes.source,
                    is_sure=True,
                )
                self._settle(removal)
                yield removal

    def all(self, candidates: Sequence[DreamCandidate]) -> Iterator[Suggestion]:
        older = self._older_values(each for each in candidates if not self._was_removed(each))
        for candidate in candidates:
            suggestion = self._settled(candidate)
            if suggestion is None and candidate in older:
                suggestion = leave(candidate, f"another {older[candidate]} was said later")
            if suggestion is None:
                suggestion = _with_author(self._judge(candidate))
            if suggestion.is_sure:
                self._settle(suggestion)
            elif suggestion.op is DreamOp.ADD:
                self._proposed.add(suggestion.statement)
                self._offered.append(_as_curated(suggestion, candidate, self._memory.curated))
            yield suggestion
            if suggestion.op is DreamOp.ADD and suggestion.is_sure:
                yield from self._ended(candidate)

    def _ended(self, candidate: DreamCandidate) -> Iterator[Suggestion]:
        """The one line whose value the user's own word of a change names: it may have ended."""
        said = Sentence.of(candidate.text).pieces
        named = [
            fact
            for fact in self._memory.facts
            if fact in self._facts and (names := _names_of(fact)) and names <= said
        ]
        if len(named) == 1 and _is_users_change(candidate):
            why = "the user said later (it is added beside this): " + self._form(candidate).line
            yield replace(leave(candidate, why), op=DreamOp.DELETE, old=named[0])

    def _older_values(self, candidates: Iterable[DreamCandidate]) -> dict[DreamCandidate, str]:
        newest: dict[str, DreamCandidate] = {}
        about: dict[DreamCandidate, str] = {}
        for candidate in candidates:
            attribute = self._attribute(candidate)
            if attribute is None or attribute in MANY_VALUED or not candidate.has_key:
                continue
            about[candidate] = attribute
            best = newest.get(attribute)
            if best is None or (candidate.source.strength, candidate.said, candidate.begun) >= (
                best.source.strength,
                best.said,
                best.begun,
            ):
                newest[attribute] = candidate
        return {
            each: name
            for each, name in about.items()
            if each is not newest[name] and each.said <= newest[name].said
        }

    def _settled(self, candidate: DreamCandidate) -> Suggestion | None:
        if subject_to_forget(candidate.text) is None and self._stands(candidate):
            return leave(candidate, STANDS)
        if self._was_removed(candidate):
            return leave(candidate, "a person removed it")
        return None

    def _stands(self, candidate: DreamCandidate) -> bool:
        line = self._form(candidate).line
        numbers = (
            *self._by_words.get(normalise(candidate.text), ()),
            *self._by_words.get(candidate.fact, ()),
            *self._by_words.get(fact_id(line), ()),
        )
        if any(self._facts[number] is not None for number in numbers):
            return True
        for text in dict.fromkeys((candidate.text, line)):
            alike = (self._facts[self._numbers[number]] for number in self._statements.find(text))
            if any(fact is not None for fact in alike):
                return True
        return False

    def _settle(self, suggestion: Suggestion) -> None:
        candidate, old = suggestion.candidate, suggestion.old
        if old is not None:
            for number in [number for number, fact in enumerate(self._facts) if fact is old]:
                self._facts[number] = None
                self._values.remove(number)
        if candidate is not None and suggestion.op in (DreamOp.ADD, DreamOp.UPDATE):
            self._add(_as_curated(suggestion, candidate, old.path if old else self._memory.curated))

    def _judge(self, candidate: DreamCandidate) -> Suggestion:
        if (subject := subject_to_forget(candidate.text)) is not None:
            return self._forget(candidate, subject)
        if candidate.source is not Source.USER_STATED and is_about_a_text(candidate.text):
            return leave(candidate, OF_A_TEXT)
        attribute, holders = self._holders(candidate)
        if attribute is not None and holders:
            value = _folded_value(self._form(candidate).text)
            if any(value == _folded_value(self._value(fact, attribute)) for fact in holders):
                return leave(candidate, STANDS)
            return self._update_key(candidate, attribute, holders)
        if (named := self._named(candidate)) is not None:
            return named
        old = self._corrected(candidate)
        if old is not None:
            return self._update(candidate, old, "it corrects a current fact", is_sure=False)
        if (part := self._part_changed(candidate)) is not None:
            return part
        alike = self._alike(candidate)
        if candidate.is_own and not _is_users_change(candidate):
            alike = [each for each in alike if _may_correct(candidate, *each)]
        if len(alike) == 1 or (alike and _is_users_change(candidate)):
            share, old = alike[0]
            if not candidate.is_own and have_same_marks(candidate.text, old.value):
                return leave(candidate, STANDS_REWORDED)
            why = "it is similar to a current fact, but says something else"
            is_clear = share >= _CLOSE and len(alike) == 1 and not _narrows(old.value, candidate)
            is_sure = is_clear and _is_users_change(candidate)
            return self._update(candidate, old, why, is_sure=is_sure)
        addition = self._add_new(candidate)
        if addition.op is DreamOp.ADD and self._corrects_unknown(candidate):
            near = [fact for _, fact in alike] or self._attributes_named(candidate)
            facts = "; ".join(" ".join(fact.text.split()) for fact in near[:_MOST_NAMED])
            why = f"it may correct: {facts}" if facts else "nothing similar is in memory"
            return replace(addition, is_sure=False, why=why)
        return addition

    def _holders(self, candidate: DreamCandidate) -> tuple[str | None, list[CuratedFact]]:
        named = (
            canonical_attribute(candidate.attribute),
            canonical_attribute(self._form(candidate).key),
        )
        for attribute in dict.fromkeys(filter(None, named)):
            about = (self._facts[number] for number in self._by_attribute.get(attribute, ()))
            if holders := [fact for fact in about if fact is not None]:
                return attribute, holders
        return named[0] or named[1], []

    def _value(self, fact: CuratedFact, attribute: str) -> str:
        """The value of a current fact, which may be a sentence."""
        if fact.key is not None:
            return fact.value
        form = plain_form(fact.text, kind=fact.kind, day=fact.said.date(), attribute=attribute)
        return form.text

    def _forget(self, candidate: DreamCandidate, subject: str) -> Suggestion:
        """Take out the line, or the part of one, that a request to forget means."""
        facts = filter(None, (*self._facts, *self._offered))
        logged = map(_as_logged, self._log.that_may_be_forgotten(candidate))
        meant = list(self._meant(subject, facts)) or list(self._meant(subject, logged))
        if not meant:
            return leave(candidate, FORGETS_NOTHING)
        meant.sort(key=lambda each: -each[0])
        share, old, number = meant[0]
        others = [
            fact for other, fact, _ in meant[1:] if other > share - _AHEAD and fact.fact != old.fact
        ]
        lines = "; ".join(fact.text for fact in others[:_MOST_NAMED])
        why = f"it asks to forget this, or: {lines}" if lines else "it asks to forget this"
        is_users = candidate.origin in (TextOrigin.PERSON, TextOrigin.PLAIN_STATEMENT)
        is_clear = share > _RELATED and not others
        is_sure = is_clear and is_users and candidate.source is Source.USER_STATED
        removal = replace(leave(candidate, why), op=DreamOp.DELETE, old=old, is_sure=is_sure)
        if number is None:
            return removal
        text = without_part(old.value, number)
        return replace(removal, op=DreamOp.UPDATE, text=text, key=old.key, kind=old.kind)

    def _meant(
        self, subject: str, facts: Iterable[CuratedFact]
    ) -> Iterator[tuple[float, CuratedFact, int | None]]:
        """The lines that hold most words of a request, with the part that does, if not all do."""
        # behind another word, so that a name is told by its capital
        wanted = content_words(f"of {_without_reason(subject)}")
        for fact in facts:
            if subject_to_forget(fact.text) is not None:
                continue
            parts = parts_of(fact.value) if _has_parts(fact) else []
            lines = [(None, fact.text)] if len(parts) < 2 else list(enumerate(parts))
            shares = [
                (_share_held(wanted, text if number is None else f"{fact.key} {text}"), number)
                for number, text in lines
            ]
            share, number = max(shares, key=lambda each: each[0])
            if share >= _RELATED:
                yield share, fact, number

    def _update_key(
        self, candidate: DreamCandidate, attribute: str, holders: Sequence[CuratedFact]
    ) -> Suggestion:
        old = max(holders, key=lambda fact: (fact.said, fact.line))
        is_sure = (
            len(holders) == 1
            and attribute not in MANY_VALUED
            and _supersedes_safely(candidate, old)
        )
        return self._update(
            candidate,
            old,
            f"another {attribute} was said later",
            is_sure=is_sure,
            attribute=attribute,
        )

    def _update(
        self,
        candidate: DreamCandidate,
        old: CuratedFact,
        why: str,
        *,
        is_sure: bool,
        attribute: str | None = None,
    ) -> Suggestion:
        if candidate.said <= old.said:
            return leave(candidate, "it is older than the current fact")
        form = self._form(candidate)
        text, key = form.text, (_key_in_place(old, attribute) if attribute else None) or form.key
        parts = parts_of(old.value) if _has_parts(old) else []
        if len(parts) > 1:
            said = (form.text, bare_statement(candidate.text))
            changed = next(
                filter(None, (with_changed_part(old.value, each) for each in said)), None
            )
            is_sure = is_sure and changed is not None
            text, key = changed or ", ".join([form.text, *parts[1:]]), old.key
        return Suggestion(
            op=DreamOp.UPDATE,
            candidate=candidate,
            why=why,
            old=old,
            text=text,
            key=key,
            kind=form.kind,
            until=form.until,
            source=candidate.source,
            confidence=candidate.confidence,
            is_sure=is_sure,
            cites=candidate.cites,
        )

    def _corrected(self, candidate: DreamCandidate) -> CuratedFact | None:
        if not candidate.corrects:
            return None
        corrected = [
            fact
            for fact in self._facts
            if fact is not None and candidate.corrects & {fact.fact, fact_id(fact.value)}
        ]
        return corrected[0] if len(corrected) == 1 else None

    def _named(self, candidate: DreamCandidate) -> Suggestion | None:
        """The change of the one fact whose value an entry names as ended, or goes back from."""
        change = named_change(bare_statement(candidate.text))
        if change is None or not candidate.is_own:
            return None
        changed = [
            (fact, new)
            for fact in self._facts
            if fact is not None and (new := with_named_value(fact.value, change)) is not None
        ]
        if len(changed) != 1:
            return None
        ((old, text),) = changed
        why = "it names this as what no longer holds"
        suggestion = self._update(
            candidate, old, why, is_sure=candidate.source is Source.USER_STATED
        )
        if suggestion.op is DreamOp.NONE:
            return suggestion
        return replace(suggestion, text=text, key=old.key, kind=old.kind)

    def _part_changed(self, candidate: DreamCandidate) -> Suggestion | None:
        """The change of the one part that an entry gives anew, of the line whose key it names."""
        said = bare_statement(candidate.text)
        words = frozenset(_in_words(said).split())
        named = [
            fact
            for fact in self._facts
            if fact is not None
            and _has_parts(fact)
            and len(parts_of(fact.value)) > 1
            and words.issuperset(_in_words(fact.key or "").split())
            and with_changed_part(fact.value, said) is not None
        ]
        if len(named) != 1 or not candidate.is_own:
            return None
        is_sure = candidate.source is Source.USER_STATED
        return self._update(candidate, named[0], "it changes a part of this", is_sure=is_sure)

    def _alike(self, candidate: DreamCandidate) -> list[tuple[float, CuratedFact]]:
        """The facts that an entry may correct, by its words; one alone if it is far ahead.

        What an agent says corrects only what is nearly the same. Attributes of the user are told by
        their keys alone.
        """
        said = {bare_statement(candidate.text), core(candidate.text)} if candidate.is_own else ()
        alike: dict[FactId, tuple[float, CuratedFact]] = {}
        for number in self._values.find(candidate.text):
            fact = self._facts[number]
            if fact is None or (fact.key is not None and attribute_named(fact.key) is not None):
                continue
            if candidate.attribute is not None and fact.kind == DECISION:
                continue  # what somebody is or has is no decision
            if are_parallel(fact.value, candidate.text):
                continue
            share = max(
                (correction_likeness(text, words) for text in _lines_of(fact) for words in said),
                default=0.0,
            )
            if (related := likeness(candidate.text, fact.value)) >= _RELATED:
                share = max(share, related)
            if _moves(fact.value, candidate):
                share = max(share, _CLOSE)
            if share:
                alike[fact.fact] = share, fact
        ranked = sorted(alike.values(), key=lambda pair: -pair[0])
        is_clear = len(ranked) > 1 and ranked[0][0] - ranked[1][0] >= _AHEAD
        return ranked[:1] if is_clear else ranked

    def _attributes_named(self, candidate: DreamCandidate) -> list[CuratedFact]:
        """The facts about the user whose values are among the words of an entry."""
        said = f" {_in_words(candidate.text)} "
        return [
            fact
            for fact in self._facts
            if fact is not None
            and fact.key is not None
            and attribute_named(fact.key) is not None
            and f" {_in_words(fact.value)} " in said
        ]

    def _corrects_unknown(self, candidate: DreamCandidate) -> bool:
        sentence = Sentence.of(candidate.text)
        is_cued = CORRECTS.search(sentence.outside_quotations, sentence.pieces) is not None
        return is_cued and (not candidate.corrects or self._log.states_any(candidate.corrects))

    def _add_new(self, candidate: DreamCandidate) -> Suggestion:
        form = self._form(candidate)
        addition = Suggestion(
            op=DreamOp.ADD,
            candidate=candidate,
            why="the user said it" if candidate.is_own else "it was written for memory",
            text=form.text,
            key=form.key,
            kind=form.kind,
            until=form.until,
            source=candidate.source,
            confidence=candidate.confidence,
            cites=candidate.cites,
        )
        if next(self._proposed.find(form.line), None) is not None:
            return leave(candidate, SAID_BESIDES)
        if candidate.source is Source.USER_STATED:
            return replace(addition, is_sure=candidate.sender is None)
        if self._log.is_lasting(candidate):
            lasting = replace(
                addition,
                why="it was said on two days, in two sessions",
                cites=self._log.cites(candidate),
            )
            is_own = self._log.is_lasting(candidate, own=True)
            is_keyless = candidate.attribute is None or candidate.has_key
            is_sure = candidate.source is Source.INFERRED and is_own and is_keyless
            return replace(lasting, is_sure=is_sure)
        if (
            candidate.origin is TextOrigin.MESSAGE
            and candidate.confidence > Source.INFERRED.confidence
        ):
            return replace(addition, why=f"it was said once, on {candidate.day}")
        return leave(candidate, SAID_ONCE)


def _as_logged(entry: DreamCandidate) -> CuratedFact:
    """An entry of a log, as a fact that a request to forget may mean."""
    return CuratedFact(
        fact=entry.fact,
        text=entry.text,
        key=None,
        attribute=None,
        kind=entry.kind,
        path=entry.path,
        section=(),
        line=0,
        source=entry.source,
        said=entry.said,
        is_changeable=True,
    )


def _in_words(text: str) -> str:
    return " ".join(_WORD.findall(normalise(text)))


def _folded_value(text: str) -> str:
    return normalise(text).strip(" .,;!")


def _as_curated(suggestion: Suggestion, candidate: DreamCandidate, path: FilePath) -> CuratedFact:
    """The place is only known once it is written."""
    text = suggestion.statement
    return CuratedFact(
        fact=fact_id(text),
        text=text,
        key=suggestion.key,
        attribute=canonical_attribute(suggestion.key or candidate.attribute),
        kind=suggestion.kind,
        path=path,
        section=(),
        line=0,
        source=suggestion.source,
        said=candidate.said,
        is_changeable=True,
    )
