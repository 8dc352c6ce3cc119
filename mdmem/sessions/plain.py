"""Sentences of a message that are surely the person's own, and statements always kept. Pure.

Whose words a message has is seldom said, so its shape must tell: a first person or a rule, in a
clause of its own, after nothing that looks like, or announces, another's text. In a request for
work on a text only the sentence that asks can be plain. Doubtful sentences are not.

The attribute of a statement (`employer`, `favourite tea`) is the key in curated memory; equal keys
are taken for values of one attribute. So only current facts of the user have one: no condition,
wish or doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from mdmem.model.rules import LASTING_KINDS
from mdmem.sessions.sentences import (
    ACKNOWLEDGEMENTS,
    FENCE,
    FIRST_PERSON,
    NUMBERS,
    OPENERS,
    OWN,
    QUOTED,
    REPORTED,
    SECOND_PERSON,
    TIME_WORDS,
    Sentence,
    WordedPattern,
    any_pattern,
    is_acknowledgement,
    is_list_item,
    is_pasted_line,
    pattern_of,
    sentences,
    strip_pasted,
    without_openers,
    worded_of,
)
from mdmem.sessions.shapes import (
    Shape,
    asks,
    asks_you,
    begins_clause,
    begins_with_person,
    bids,
    clauses,
    has_pattern,
    is_guess,
    is_phrase,
    is_talk,
    laughs,
    shape_of,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.english import PAST_FORMS
from mdmem.text.languages import (
    FAVOURITE,
    LANGUAGES,
    SAME_KEYS,
    alternatives,
    rows_of,
    speaks_of_another,
    words_of,
)

_OWN_BY_LANGUAGE = tuple(any_pattern(each.OWN) for each in LANGUAGES)
_REQUESTS = pattern_of("REQUESTS")
_TEXT_WORK, _NEW_TEXTS = pattern_of("TEXT_WORK"), pattern_of("NEW_TEXTS")
_COMING_NEXT, _RIDDLES = pattern_of("COMING_NEXT"), pattern_of("RIDDLES")
_NOT_PLAIN, _BROUGHT = pattern_of("NOT_PLAIN"), pattern_of("BROUGHT")
_TEXTS = pattern_of("TEXTS")
_LEADS_IN = pattern_of("LEADS_IN")
_ASKS = pattern_of("ASKS")
_BY_THE_WAY = pattern_of("ASIDES")
_SPEAKS_OF_SELF = pattern_of("PRONOUNS")
_OF_SELF = late.pattern(rf"(?i)(?:{alternatives('POSSESSIVES')})")
_THAT = pattern_of("THAT")
_AUXILIARIES = words_of("AUXILIARIES")
_POSSESSION = pattern_of("POSSESSIONS")
_CHARACTERS = pattern_of("CHARACTERS")
_KNOWN_WORDS = PAST_FORMS.union(
    TIME_WORDS,
    *map(words_of, ("FUNCTION_WORDS", "STOP_WORDS", "NOMINATIVE", "MENTAL", "TASKS", "NEGATIONS")),
    *map(words_of, ("UNITS", "WEEKDAYS", "MONTHS", "AUXILIARIES", "ADVERBS", "DETERMINERS")),
    *map(words_of, ("SUBJECTS", "JUDGEMENTS", "MORE_TASKS", "CHANGES", "PEOPLE")),
)
_GREETINGS = late.pattern(rf"(?i)\W*(?:{alternatives('GREETINGS')})")
_LABELS = alternatives("LABELS")
_LABEL = late.pattern(rf"(?i)\W*(?:{_LABELS})\W*$")
_INLINE_LABEL = late.pattern(rf"(?i)\W*(?:{_LABELS}|{alternatives('INLINE_LABELS')})\W*$")
_TOPIC = late.pattern(rf"(?i)\W*(?:{alternatives('TOPIC_LABELS')})\W*$")
_SIGN_OFF = late.pattern(rf"(?i)^\W*(?:{alternatives('SIGN_OFFS')})\b[^.\n]{{0,40}}$")
_PERSON = r"(?-i:[A-Z])[\w'-]+"
_ADDRESSING = late.pattern(
    rf"(?i)^\W*(?:{'|'.join(each.ADDRESSING[0] for each in LANGUAGES)}) "
    rf"(?!(?:{alternatives('AGENTS')})\b)"
    rf"(?:{'|'.join(each.ADDRESSING[1] for each in LANGUAGES)}|{_PERSON}(?: {_PERSON})?)"
    r"\s*(?:[,!.:;]|$)"
)
"""A greeting to somebody by name, as in a letter."""
_INTO = r"(?:in|to|into|auf|ins|en)"
_POLITE = r"(?:please|pls|plz|bitte|svp|stp|por favor|version|translation)"
_LANGUAGE_NAMES = alternatives("LANGUAGES")
_NAMES_LANGUAGE = late.pattern(
    rf"(?i)^\W*(?:{_INTO} )?(?:{_LANGUAGE_NAMES})(?:\W*$|,| for\b| {_POLITE}\b)|"
    rf"^(?!.*\b(?:{alternatives('SPEAKING')})).* {_INTO} (?:{_LANGUAGE_NAMES})"
    rf"(?: {_POLITE})?\W*$"
)
"""A sentence that names the language of a translation, and hardly more."""

_SOURCE = late.pattern(rf"(?i)\b(?:{alternatives('SOURCES')})\b")
_MOST_CHARACTERS = 4_000
_MOST_OF_PARAGRAPH = 400
_FEW_WORDS = 3
_LAST_CHARACTERS = 80
"""At the end of a message, which may announce the next one."""
_TWICE = 2
_FEW_CLAUSES = 2
_MOST_OF_COMMENT = 8
_MOST_OF_TOPIC = 2
"""Maximum words of a label that may name a topic: `parking: …`."""
_MOST_OF_NAME = 3
"""Maximum words of a quoted name within a statement."""
_NAME = r"[A-Z][\w.'-]{0,30}(?:[ ][A-Z0-9][\w.'-]{0,30})?"
_CLOCK = r"\[?\d{1,2}:\d\d(?::\d\d)?(?:[ ]?[AaPp][Mm])?\]?"
_SIGN = late.pattern(rf"""(?mx)
    ^[ \t]*(?i:{alternatives("MAIL_HEADERS")})[ ]?:[ \t]+\S  # the headers of a mail
    |^\S{{1,20}}[ ]\([^)\n]{{1,20}}\)[ ]\S  # bob (slack)
    |^<[^>\n]{{1,30}}>[ ]  # <bob> in a chat
    |^[^\w\n]*{_CLOCK}[ \t]+\S+[ \t]*[:>]  # the time before such a line
    |^[^\w\n]*\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{2,4}}\b,?[ ].{{0,12}}\d{{1,2}}:\d\d
    |^[^\w\n]*\w[\w.-]*(?:[ ][\w.-]+)?[ \t]+{_CLOCK}[ \t]*$  # name and time above it
    |^.{{0,80}}\b(?i:{alternatives("WROTE")})[ ]?:[ \t]*$
    |^[ \t]*(?i:{alternatives("SALUTATIONS")})[ ][^\n]{{1,60}},  # a letter
    |^\#{{1,6}}[ ]|^[ \t]*(?:-{{3,}}|={{3,}}|\*{{3,}}|_{{3,}})  # a heading, a rule
    |^(?:[ ]{{4}}|\t)[ \t]*+(?![-*+\u2022][ ]|\d+[.)][ ])\S  # code
    |^\+[ ]  # a difference
    |^[ \t]*(?:[-*+][ ])?\[[ xX]\][ ]  # a box to tick
    |^[ \t]*(?://|/\*|--[ ]|;;)  # a comment
    |^[^,;\s\d]{{1,40}}[,;]\S[^\n]*  # values between separators
    |^[ \t]*[^\s;]+;[ ][^;\n]+;
    |\((?i:{alternatives("SOURCES")})\b[^)\n]*\)|[ ][—–][ ]?@?[A-Z]\w+\W*$
      # where it is from
    |_{{3,}}|\{{\w+\}}|\[[A-Z][A-Z _]+\]|\[(?:\.{{3}}|…)\]  # a gap
    |[ ]-[ ]@?[A-Z][a-z]+\W*$|^[^\w\n]*([*_]{{1,2}})(?=\w)[^\n]+\1\s*$  # who said it, emphasis
    |^[^\w\n]*(?:https?://|www\.)  # an address
    |^[^\w\n]*(?i:warn(?:ing)?|error|note\([\w]+\)|fatal|info|debug)\b[ \t]*:
    """)
"""A line that shows another's text."""
_SPEAKER = late.pattern(
    rf"\W*((?i:user|human|assistant|system|ai|bot|agent|me|you|prompt|q|a|host|guest|speaker "
    rf"\d+)|{_NAME}|[\u4e00-\u9fff]{{1,4}})"
    r"(?: \([^)\n]{0,40}\))?(?: *:[ \t]|：|>[ \t])"
)
"""A name before a line of a chat, unless it is a label of one's own."""
_CONTRACTION = late.pattern(r"(?i)\w'(?:s|re|ve|ll|d|m|t)\b")
_NAMELESS = late.pattern(r"(?<!\S)\S*[\w~][@/._\\]\w\S*")
"""An address, a path or a name in code, which is of no language."""
_REASON = late.pattern(rf"(?i);|[, ] ?(?:{alternatives('REASON')})\s")
_COMMA = late.pattern(r", (?=\S)")
_PARAGRAPHS = late.pattern(r"\n[ \t]*\n\s*")
_YOU_MAY = late.pattern(rf"(?i)(?:{alternatives('YOU_MAY')})\b,? (?P<asked>.+)")
_FILE = late.pattern(r"(?<![\w@./:-])[\w/-]+\w\.[a-z]{1,4}(?![\w/@-])")
_ADDRESS = late.pattern(r"https?://|www\.")
_ACROSS_LINES = late.pattern(r"[\"“„«][^\"“”„«»]*\n[^\"“”„«»]*[\"”“»]")
_QUOTED_TEXT = late.pattern(r"\"([^\"]*)\"?|(?<!\w)'([^']*)'(?!\w)|«([^»]*)»|„([^\"]*)\"")
_BOUNDARY = late.pattern(
    r"[,;:]\s+|[，；、：。]\s*|(?<!\s)\s+[–—-]+\s+|(?:(?<!\s)\s+)?(?:\(|—\s*)|\.{3}\s*|[.!?]\s+|"
    rf"(?<=\s)(?i:{alternatives('CONJUNCTIONS')})\s+"
)
_LABEL_ENDS = (":", "：")
_SIGNED = late.pattern(r"\n[ \t]*[-–—~*] ?[A-Z][\w'-]*(?: [A-Z][\w'.-]*)?\s*$")
_NAMED_ITEM = late.pattern(r"(?m)\([A-Z][\w'-]*\)\W*$")
_TIME = late.pattern(r"\d[\d:.,/-]*\s*(?:[ap]m|h|uhr|%)?\W*$")
_ANNOUNCING = late.pattern(r":(?=[\s\"'])|：")
_INSTANCE = late.pattern(r"(?i)\b(?:e\.g\.|for example|for instance|such as)")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a message; `shows_text`: it, or its paragraph, looks like another's text."""

    sentences: tuple[Sentence, ...]
    shows_text: bool
    is_item: bool
    is_label: bool

    @property
    def asks(self) -> bool:
        return bool(self.sentences) and self.sentences[-1].is_question

    @property
    def is_own(self) -> bool:
        return all(map(_is_own, self.sentences))

    @property
    def is_brief(self) -> bool:
        """True for a word or two of a reply: `yes, both`."""
        return all(len(each.words) <= _FEW_WORDS and _is_harmless(each) for each in self.sentences)


@dataclass(frozen=True, slots=True)
class SentencePlaces:
    """Sentences that can be plain by their place, and others that follow such in one line."""

    plain: frozenset[str] = frozenset()
    loose: frozenset[str] = frozenset()


def sentences_in_place(text: str, answers: bool = False) -> SentencePlaces:
    """The sentences of a message by their place; see `states_plainly` for their words.

    `answers`: the message replies to a question, so that it may begin with a word or two.
    """
    if len(text) > _MOST_CHARACTERS:
        return SentencePlaces()
    fence = FENCE.search(text)
    typed, behind = (text[: fence.start()], text[fence.start() :]) if fence else (text, "")
    lines = list(_lines(typed))
    spoken = [each for line in lines for each in line.sentences]
    spoken += spoken_sentences(strip_pasted(behind))
    items = {each.text for line in lines if line.is_item for each in line.sentences}
    counted = Counter(word for each in spoken for word in set(each.content))
    foreign = {
        each.text
        for each in spoken
        if _is_foreign(each) and max(map(counted.__getitem__, each.content), default=0) < _TWICE
    }
    whole = (
        each
        for each in spoken
        if each.text not in items and (each is spoken[-1] or not _is_fragment(each))
        if not (answers and (each is spoken[0] or each.text[0].isdigit()))
    )
    is_letter = any(map(_is_addressed, spoken)) or any(map(_is_signed_off, lines))
    if is_letter or any(each.text in foreign for each in whole) or _is_signed(typed):
        return SentencePlaces()
    if len(lines) > 1 and not fence and _comments(lines[-1]):
        return SentencePlaces()
    if any(_BROUGHT.match(without_openers(each.straight)) for each in spoken[1:]):
        return SentencePlaces()
    if _asks_about_paragraphs(typed):
        return SentencePlaces()
    asking = {each.text for each in spoken if _asks_for_text_work(each)}
    wondering = {each.text for each in spoken if _asks_about_something(each)}
    counts = Counter(each.text for each in spoken)
    in_place = _in_place(lines, answers, foreign)
    plain, loose = (
        frozenset(each for each in of_place if counts[each] == of_place.count(each))
        for of_place in in_place
    )
    others = frozenset(each.text for each in spoken if not _SPEAKS_OF_SELF.search(each.straight))
    if asking:
        is_new = all(map(_works_elsewhere, asking))
        told = frozenset(
            _of_things(each for line in lines if not line.shows_text for each in line.sentences)
        )
        return SentencePlaces(plain & asking, told - asking if is_new else frozenset())
    if wondering:
        told = plain & (wondering | frozenset(_of_things(spoken)))
        return SentencePlaces(told, (plain | loose) & others - told)
    return SentencePlaces(plain, loose)


def spoken_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text; what one states of oneself before one asks is one by itself."""
    return tuple(each for sentence in sentences(text) for each in _before_question(sentence))


def told_behind_talk(sentence: Sentence) -> Sentence | None:
    """A statement of things behind talk that ends in `so:`: `oil went up, so: it's 300 now`."""
    before, _, told = sentence.text.partition(": ")
    _, comma, last = before.rpartition(", ")
    if not (told and comma and OPENERS.fullmatch(f"{last},")) or _TEXT_WORK.search(before):
        return None
    said = Sentence.of(told)
    if _speaks_up(said.straight) or not _is_harmless(Sentence.of(before)):
        return None
    return said if shape_of(said) is Shape.STATEMENT else None


def _before_question(sentence: Sentence) -> Iterator[Sentence]:
    """Apart what one states of oneself before one asks: `we drive a diesel, which tyres fit?`"""
    text = sentence.text
    for end in _COMMA.finditer(text) if sentence.is_question else ():
        told, asked = Sentence.of(text[: end.start()]), Sentence.of(text[end.end() :])
        if asks(asked) and len(asked.words) > _FEW_WORDS:
            yield from (told, asked) if _is_told_before(told, asked) else (sentence,)
            return
    yield sentence


def _is_told_before(told: Sentence, asked: Sentence) -> bool:
    """False for a sum or a riddle: `I have three apples and eat one, how many are left?`"""
    is_sum = any(map(str.isdigit, told.text)) or not NUMBERS.isdisjoint(told.folded)
    is_told = _is_of_self(told) and shape_of(told) is Shape.STATEMENT and not is_guess(told)
    return is_told and not is_sum and _RIDDLES.search(asked.straight) is None


def _asks_for_text_work(sentence: Sentence) -> bool:
    text = sentence.straight
    return bool(_TEXT_WORK.search(text) or _NAMES_LANGUAGE.search(text))


def _works_elsewhere(text: str) -> bool:
    """True for work on a text that is not there yet, or in a file: `proofread flyer.md`."""
    return bool(_NEW_TEXTS.search(text) or (_FILE.search(text) and not _ANNOUNCING.search(text)))


def _asks_about_something(sentence: Sentence) -> bool:
    text = sentence.straight
    if _asks_to_do(text):
        return False
    is_asked = sentence.is_question or _ASKS.match(text) is not None
    return is_asked and not _is_clean(text) and (_names_text(text) or _quotes(sentence))


def _in_place(
    lines: Iterable[_Line], answers: bool, foreign: Collection[str]
) -> tuple[list[str], list[str]]:
    """The sentences up to the first that may bring others' words, and those of its line behind one
    that hardly does.
    """
    plain: list[str] = []
    before: _Line | None = None
    spoken: int | None = None
    for line in lines:
        if line.shows_text:
            break
        if not _may_follow(line, before):
            is_reply = before is not None and before.is_brief and len(plain) == 1
            return plain, _of_things(line.sentences) if answers and is_reply else []
        is_clean, is_of_others = True, False
        for number, sentence in enumerate(line.sentences):
            if number and line.sentences[number - 1].straight.count('"') % 2:
                return plain, []  # within a quotation of several sentences
            language = _language(sentence)
            is_switched = None not in (spoken, language) and spoken != language
            is_theirs = is_of_others and _SPEAKS_OF_SELF.search(sentence.straight)
            if is_switched or is_theirs:
                return plain, [each.text for each in line.sentences[number:]] if number else []
            spoken = spoken if language is None else language
            plain.append(sentence.text)
            if not (line.is_item or line.is_label or _is_clean(sentence.straight)):
                behind = line.sentences[number + 1 :]
                is_answer = answers and len(plain) == 1 and is_phrase(sentence)
                if not _labels_own(sentence.straight) and told_behind_talk(sentence) is None:
                    told = _of_things(behind)
                    if _TEXTS.search(sentence.straight):
                        return plain, told
                    return plain + told, [each.text for each in behind if each.text not in told]
                if not _is_harmless(sentence):
                    is_safe = is_answer and not _brings(sentence.straight)
                    return plain, [each.text for each in behind] if is_safe else []
                if sentence.text in foreign and not is_answer:
                    told = _of_things(behind) if len(sentence.words) <= _FEW_WORDS else []
                    return plain + told, [each.text for each in behind if each.text not in told]
                is_clean, is_of_others = False, is_of_others or _tells_of_others(sentence)
        if not is_clean and not (answers and line.is_brief):
            break
        before = line
    return plain, []


def _of_things(spoken: Iterable[Sentence]) -> list[str]:
    """The sentences that state something and say nothing of their speaker."""
    return [
        each.text
        for each in spoken
        if shape_of(each) is Shape.STATEMENT and FIRST_PERSON.isdisjoint(each.pieces)
        if not _is_of_self(each)
    ]


def _asks_about_paragraphs(text: str) -> bool:
    """True if a last paragraph asks something, and neither of its reader nor for its writer."""
    *before, last = _PARAGRAPHS.split(text.strip())
    asked = sentences(last)[-1:]
    if not (before and asked and asked[0].is_question):
        return False
    return (FIRST_PERSON | SECOND_PERSON).isdisjoint(Sentence.of(last).pieces)


def announces_text(text: str) -> bool:
    """True for a message whose end says that a text comes next: `here comes the mail, wait`."""
    return _COMING_NEXT.search(text.rstrip()[-_LAST_CHARACTERS:]) is not None


def _asks_to_do(text: str) -> bool:
    """True for a request that only looks like a question: `could you move it to Friday?`"""
    asked = _YOU_MAY.match(without_openers(text))
    return asked is not None and bids(Sentence.of(asked["asked"])) and not _TEXTS.search(text)


def _tells_of_others(sentence: Sentence) -> bool:
    """True if somebody else did or felt something, who may speak in what follows."""
    text = without_openers(sentence.straight)
    if _SPEAKS_OF_SELF.search(text) or not begins_clause(text):
        return False
    is_thing = SECOND_PERSON.isdisjoint(sentence.pieces) and not begins_with_person(text)
    is_stated = is_thing or shape_of(sentence) is Shape.STATEMENT
    return not is_stated or speaks_of_another(text)


def _is_harmless(sentence: Sentence) -> bool:
    """True for talk that brings no text of others behind it in its line: `dry rot.`, `I'm new.`"""
    text = sentence.straight
    if _brings(text) or _quotes(sentence) or (sentence.is_question and asks_you(sentence)):
        return False
    if _TEXTS.search(text) and shape_of(sentence) not in (Shape.STATEMENT, Shape.ORDER):
        return False
    return not REPORTED.search(text, sentence.pieces)


def _is_of_self(sentence: Sentence) -> bool:
    return _SPEAKS_OF_SELF.match(without_openers(sentence.straight)) is not None


def _language(sentence: Sentence) -> int | None:
    rest = without_openers(sentence.straight)
    found = [number for number, own in enumerate(_OWN_BY_LANGUAGE) if own.match(rest)]
    return found[0] if len(found) == 1 else None


def _may_follow(line: _Line, before: _Line | None) -> bool:
    if before is None or before.is_label:
        return True
    if before.is_item:
        return not before.asks
    return before.is_own and not line.is_item


def _lines(text: str) -> Iterator[_Line]:
    quoted = set(_lines_of_quotations(text))
    paragraphs: list[list[str]] = [[]]
    shown, is_alone = [False], "\n" not in text.strip()
    for number, line in enumerate(text.split("\n")):
        if line.strip():
            paragraphs[-1].append(line)
            shown[-1] = shown[-1] or number in quoted or _is_of_text(line, is_alone)
        else:
            paragraphs.append([])
            shown.append(False)
    for paragraph, shows_text in zip(paragraphs, shown, strict=True):
        is_long = sum(map(len, paragraph)) > _MOST_OF_PARAGRAPH
        addresses = sum(len(_ADDRESS.findall(line)) for line in paragraph)
        for line in paragraph:
            yield _Line(
                sentences=() if is_pasted_line(line) else spoken_sentences(line),
                shows_text=shows_text or is_long or addresses > 1,
                is_item=is_list_item(line),
                is_label=_LABEL.match(line.strip()) is not None,
            )


def _lines_of_quotations(text: str) -> Iterator[int]:
    for match in _ACROSS_LINES.finditer(text):
        first = text.count("\n", 0, match.start())
        yield from range(first, first + match[0].count("\n") + 1)


def _is_of_text(line: str, is_alone: bool) -> bool:
    """True for a line that looks like another's text; alone it may begin with a topic."""
    if is_pasted_line(line) or _SIGN.search(line):
        return True
    speaker = _SPEAKER.match(line)
    if speaker is None or (is_alone and speaker[0].rstrip().endswith(_LABEL_ENDS)):
        return False
    return not _is_label(speaker[1])


def _is_label(text: str) -> bool:
    if _TEXT_WORK.search(text) or _SOURCE.search(text) or _brings(text):
        return _is_own_label(text)
    return is_talk(text) or _is_own_label(text) or _names_topic(text) or _explains(text)


def _explains(text: str) -> bool:
    """True for a statement that ends before its colon: `I start in May: we open a second shop`."""
    words = text.split()
    is_stated = shape_of(Sentence.of(text)) is Shape.STATEMENT and not begins_with_person(text)
    return is_stated and words[-1].lower() not in _AUXILIARIES


def _is_own_label(text: str) -> bool:
    return any(map(_INLINE_LABEL.match, _with_and_without_openers(text)))


def _names_topic(text: str) -> bool:
    return any(map(_TOPIC.match, _with_and_without_openers(text)))


def _with_and_without_openers(text: str) -> Iterator[str]:
    return filter(None, (text.strip(), without_openers(text).strip()))


def _is_clean(text: str) -> bool:
    rest = without_openers(text)
    if _is_tainted(text):
        return False
    if not rest.strip() or _GREETINGS.match(text):
        return True
    if OWN.match(rest):
        return _POSSESSION.match(rest) is None
    if _REQUESTS.match(rest):
        return True
    return len(rest.split()) <= _FEW_WORDS and (
        _TIME.match(rest) is not None
        or not TIME_WORDS.isdisjoint(rest.casefold().rstrip(".,!").split())
    )


def _is_tainted(text: str) -> bool:
    return _names_text(text) or _is_conditional(text)


def _names_text(text: str) -> bool:
    return bool(has_pattern("TAINTS", text) or _TEXTS.search(text))


def _brings(text: str) -> bool:
    return has_pattern("BRINGS", text)


def _is_conditional(text: str) -> bool:
    return bool(_NOT_PLAIN.search(text) or REPORTED.pattern.search(text))


def _is_own(sentence: Sentence) -> bool:
    text = sentence.straight
    rest = without_openers(text)
    if text.rstrip().endswith(("?", "？", *_LABEL_ENDS)) or _is_tainted(text):
        return False
    if shape_of(sentence) is Shape.STATEMENT and text.endswith("."):
        return not _tells_of_others(sentence)
    if not rest.strip():
        return is_acknowledgement(sentence)
    if _GREETINGS.match(text):
        return True
    return OWN.match(rest) is not None and _LEADS_IN.match(rest) is None and _is_clean(text)


def _is_addressed(sentence: Sentence) -> bool:
    return _ADDRESSING.match(sentence.straight) is not None


def _is_signed_off(line: _Line) -> bool:
    """True for a line that closes a letter, or ends with the greetings of somebody by name."""
    for number, sentence in enumerate(line.sentences):
        names = (word[0].isupper() for word in sentence.words[1:])
        if _SIGN_OFF.match(sentence.straight) and (not number or any(names)):
            return True
    return False


def _comments(line: _Line) -> bool:
    if line.is_item or sum(len(each.words) for each in line.sentences) > _MOST_OF_COMMENT:
        return False
    return not all(map(_speaks_for_itself, line.sentences))


def _speaks_for_itself(sentence: Sentence) -> bool:
    rest = without_openers(sentence.straight)
    if sentence.is_question or is_acknowledgement(sentence):
        return True
    is_begun = any(each.match(rest) for each in (OWN, _REQUESTS)) or bids(sentence)
    return is_begun or shape_of(sentence) is not None or _is_clean(sentence.straight)


def _is_signed(text: str) -> bool:
    signed = _SIGNED.search(text)
    above = text[: signed.start()].rstrip().rpartition("\n")[2] if signed else ""
    return (bool(above) and not is_list_item(above)) or len(_NAMED_ITEM.findall(text)) > 1


def greets(sentence: Sentence) -> bool:
    """True for a sentence that begins with a greeting, thanks or an acknowledgement."""
    is_acknowledged = not ACKNOWLEDGEMENTS.isdisjoint(map(str.casefold, sentence.words[:1]))
    return is_acknowledged or _GREETINGS.match(sentence.straight) is not None


def _is_fragment(sentence: Sentence) -> bool:
    return len(sentence.words) <= _FEW_WORDS


def _is_foreign(sentence: Sentence) -> bool:
    text = sentence.straight
    is_known = not _KNOWN_WORDS.isdisjoint(sentence.pieces) or _CONTRACTION.search(text)
    if is_known or _CHARACTERS.search(text):
        return False
    is_opened = without_openers(text).strip() != text.strip()
    if is_opened or len(sentence.folded - ACKNOWLEDGEMENTS) < len(sentence.folded):
        return False
    if not _NAMELESS.sub("", text).strip(" .,;!?"):
        return False
    return shape_of(sentence) is None and not (_is_clean(text) or _is_label(text))


def _clause_starts(text: str) -> Iterator[int]:
    """The starts of the clauses of a sentence; none if it is too long to be plain."""
    if len(text) > _MOST_OF_PARAGRAPH:
        return
    for start in (0, *(match.end() for match in _BOUNDARY.finditer(text))):
        yield start
        opener = OPENERS.match(text, start)
        if opener and opener.end() > start:
            yield opener.end()


def is_about_a_text(text: str) -> bool:
    return _TEXT_WORK.search(text) is not None and _NEW_TEXTS.search(text) is None


def states_plainly(sentence: Sentence, start: int, *, begins: bool = True) -> bool:
    """True if a sentence states something as its speaker's own, in the words from `start` on."""
    # `start` is in the text outside of quotations; unless these words begin their clause, others
    # may come before them there.
    text = sentence.outside_quotations
    if len(sentence.text) > _MOST_OF_PARAGRAPH:
        return False
    if sentence.is_question or _is_conditional(text) or _quotes(sentence):
        return False
    if _NAMES_LANGUAGE.search(text):
        return False
    if ask := _TEXT_WORK.search(text):
        return _stands_apart(text, start, ask.start(), ask.end())
    colons = _ANNOUNCING.finditer(text, start)
    if any(_announces(text, each.start(), each.end()) for each in colons):
        return False
    ends = [match for match in _BOUNDARY.finditer(text) if match.end() <= start]
    clause = text[ends[-1].end() if ends else 0 : start]
    if begins and not OPENERS.fullmatch(clause):
        return False
    if not begins and _THAT.search(clause):
        return False
    starts = [0, *(end.end() for end in ends[:-1])]
    before = [(text[begin : end.start()], end[0]) for begin, end in zip(starts, ends, strict=False)]
    return all(_leads_on(clause, end) for clause, end in before)


def states_behind_label(sentence: Sentence) -> bool:
    """True for a statement behind a topic, which may be a speaker: `Doctor: ours is Dr Fell`."""
    label, _, told = sentence.straight.partition(": ")
    said = Sentence.of(without_openers(told))
    if len(label.split()) > _FEW_WORDS or _is_tainted(label) or _TEXT_WORK.search(label):
        return False
    return not _is_of_self(said) and states_plainly(said, 0, begins=False)


def _announces(text: str, label: int, behind: int) -> bool:
    said, is_topic = without_openers(text[behind:]), len(text[:label].split()) <= _MOST_OF_TOPIC
    end = _BOUNDARY.search(said) if is_topic else None
    clause = said[: end and end.start()]
    return _speaks_up(clause) and not _is_label(text[:label])


def _speaks_up(text: str) -> bool:
    return bool(_SPEAKS_OF_SELF.search(text) or _OF_SELF.match(text))


def _leads_on(clause: str, end: str) -> bool:
    if not end.startswith(_LABEL_ENDS):
        return _is_clean(clause)
    is_own = OWN.match(without_openers(clause)) is not None
    return _is_label(clause) or (is_own and _is_clean(clause))


def _stands_apart(text: str, start: int, asks: int, asked: int) -> bool:
    """True if a statement precedes the request for work on a text, or follows `by the way`."""
    if start >= asks:
        between = text[asked:start]
        has_text = any(sign in between for sign in (*_LABEL_ENDS, QUOTED))
        return _BY_THE_WAY.search(between) is not None and not has_text
    behind = text[asked:]
    if _SPEAKS_OF_SELF.search(behind) or any(sign in behind for sign in _LABEL_ENDS):
        return False
    return OPENERS.fullmatch(text[:start]) is not None


def _quotes(sentence: Sentence) -> bool:
    if sentence.outside_quotations.startswith(QUOTED) or sentence.straight.count('"') % 2:
        return True
    matches = _QUOTED_TEXT.finditer(sentence.straight)
    quoted = (next(filter(None, match.groups()), "") for match in matches)
    return any(len(each.split()) > _MOST_OF_NAME for each in quoted)


def _is_announced(text: str, start: int) -> bool:
    """True if words before a character announce another's words, or an example: `Translate: …`."""
    before = text[:start]
    return _INSTANCE.search(before) is not None or not _labels_own(before)


def _is_on_a_topic(text: str, start: int) -> bool:
    """True if a label before a character names a topic, and not one of the user's own."""
    return any(
        _names_topic(label)
        and not _is_own_label(label)
        and FIRST_PERSON.isdisjoint(label.casefold().split())
        for label in _labels(text[:start])
    )


def _labels_own(text: str) -> bool:
    """True if each label in a text is one before the user's own words."""
    return all(
        _leads_on(text[: label.start()], ":") or _lists(text[: label.start()], text[label.end() :])
        for label in _ANNOUNCING.finditer(text)
    )


def _lists(told: str, behind: str) -> bool:
    """True for things behind a clause: `Theo does the rest: sound, lights`."""
    is_told = begins_clause(without_openers(told)) and not (_brings(told) or _is_conditional(told))
    return is_told and is_phrase(Sentence.of(behind))


def _labels(before: str) -> list[str]:
    return [before[: match.start()] for match in _ANNOUNCING.finditer(before)]


MANY_VALUED = words_of("MANY_VALUED")
_FORGET_REQUEST, _ERASE_REQUEST = pattern_of("FORGET_REQUESTS"), pattern_of("ERASE_REQUESTS")
CORRECTION, _FORGETS = "correction", "forget"
_MARK_KINDS = {"remember": "fact", "note": "fact", "todo": "task"}
_MARK = late.pattern(rf"(?i)^\W*({'|'.join((*LASTING_KINDS, *_MARK_KINDS))})\s*:\s*\S")
KEPT_ANYWHERE = tuple(
    (WordedPattern.of(words, patterns), kind)
    for words, patterns, kind in rows_of("KEPT_ANYWHERE")  # the first that matches decides
)
_KEPT_CLAUSES = tuple((any_pattern((row[0],)), row[1]) for row in rows_of("KEPT_CLAUSES"))
TOOL_DECISIONS, CORRECTS = words_of("TOOL_DECISIONS"), worded_of("CORRECTIONS")
_RULE = pattern_of("RULES")
_KEEP_REQUEST = worded_of("KEEP_REQUESTS")
_LESSON, _STATUS = pattern_of("LESSONS"), pattern_of("STATUSES")
_ROWS = rows_of("ATTRIBUTES")
ATTRIBUTES = tuple((WordedPattern.of(words, (pattern,)), key) for words, pattern, key in _ROWS)
_ATTRIBUTE_WORDS = frozenset(word for words, _, _ in _ROWS for word in words.split())
_NOT_SO, _NOT_SO_BEFORE = pattern_of("NOT_SO"), pattern_of("NOT_SO_BEFORE")
_LIKINGS = frozenset({"allergy", "diet"})


@dataclass(frozen=True, slots=True)
class StatedAttribute:
    """The attribute that a statement is about, its value, and where the statement begins.

    `name`: the attribute in the speaker's word for it, `manager` for `boss`.
    """

    key: str
    name: str
    value: str
    start: int


def stated_attribute(sentence: Sentence, tools: bool = False) -> StatedAttribute | None:
    if _ATTRIBUTE_WORDS.isdisjoint(sentence.pieces) or FIRST_PERSON.isdisjoint(sentence.folded):
        return None
    if sentence.is_question:
        return None
    text = sentence.outside_quotations
    for pattern, key in ATTRIBUTES:
        match = pattern.search(text, sentence.pieces)
        if match is None:
            continue
        if (tools and match.groupdict().get("moved")) or _NOT_SO.search(text):
            return None
        if REPORTED.search(text, sentence.pieces):
            return None
        if _NOT_SO_BEFORE.search(text, 0, match.start()) or _is_announced(text, match.start()):
            return None
        if _is_on_a_topic(text, match.start()):
            return None
        named = (match.groupdict().get("key") or "").casefold()
        return StatedAttribute(
            key=key.format(key=SAME_KEYS.get(named, named)),
            name=key.format(key=named),
            value=match["value"],
            start=match.start(),
        )
    return None


@dataclass(frozen=True, slots=True)
class Cue:
    """Why a statement is kept: its kind, the name of the rule, and whether it is stated plainly."""

    kind: str
    rule: str
    is_plain: bool

    @property
    def asks_to_forget(self) -> bool:
        return self.rule == _FORGETS


def find_cue(
    sentence: Sentence,
    tools: bool,
    attribute: StatedAttribute | None = None,
) -> Cue | None:
    text = sentence.outside_quotations
    if match := _MARK.match(text):
        name = match[1].casefold()
        return Cue(_MARK_KINDS.get(name, name), "mark", states_plainly(sentence, match.start()))
    shape = None if (found := shape_of(sentence)) is Shape.PASSING else found
    is_shaped = shape is not None and states_plainly(sentence, 0, begins=False)
    is_announced = _is_announced(text, len(text))
    if match := CORRECTS.search(text, sentence.pieces):
        asked = _KEEP_REQUEST.search(text, sentence.pieces)
        is_plain = states_plainly(sentence, match.start(), begins=False) or (
            asked is not None and states_plainly(sentence, asked.start())
        )
        is_told = is_shaped and shape is Shape.STATEMENT and not is_announced
        return Cue(CORRECTION, CORRECTION, is_plain or is_told)
    is_shaped = is_shaped and not (shape is Shape.ORDER and is_announced)
    kept = [
        Cue(kind, kind, is_shaped or states_plainly(sentence, match.start()))
        for pattern, kind in KEPT_ANYWHERE
        if (match := pattern.search(text, sentence.pieces))
    ]
    if kept:
        cue = next((cue for cue in kept if cue.is_plain), kept[0])
        return replace(cue, kind="decision") if shape is Shape.ORDER and cue.kind == "fact" else cue
    if subject_to_forget(text) is not None:
        begun = Sentence.of(text.partition(", ")[0])
        is_sure = _FORGET_REQUEST.match(without_openers(text)) is not None
        return Cue("fact", _FORGETS, is_sure and states_plainly(begun, 0, begins=False))
    is_rule = (tools and not TOOL_DECISIONS.isdisjoint(sentence.pieces)) or _RULE.match(text)
    if shape is Shape.ORDER or (shape is not None and is_rule):
        return Cue("decision", "order", is_shaped)
    if attribute is not None:
        is_liking = attribute.key in _LIKINGS or attribute.key.startswith(FAVOURITE)
        is_plain = states_plainly(sentence, attribute.start)
        return Cue("preference" if is_liking else "fact", "attribute", is_plain)
    for start in _clause_starts(text):
        for clause, kind in _KEPT_CLAUSES:
            if clause.match(text, start):
                return Cue(kind, kind, states_plainly(sentence, start))
    return None


def is_stated(sentence: Sentence, tools: bool) -> bool:
    """True if a sentence without a cue states plainly what lasts.

    A thing that is not named, in a session with tools, is one of the work at hand.
    """
    shape = shape_of(sentence)
    is_shaped = shape is Shape.STATEMENT or (shape is Shape.VAGUE and not tools)
    return is_shaped and not is_guess(sentence) and states_plainly(sentence, 0, begins=False)


def own_clauses(sentence: Sentence) -> list[tuple[Sentence, bool]]:
    """The clauses of a sentence that states nothing as a whole, up to a condition or an example;
    False where these may be of the clause before (`we buy it, if the bank agrees`).

    None where one of them may bring another's words, or is not meant in earnest.
    """
    text = sentence.outside_quotations
    if len(text) > _MOST_OF_PARAGRAPH:
        return []
    if _may_hold_others(sentence):
        begun = Sentence.of(_REASON.split(sentence.text, maxsplit=1)[0])
        return [] if begun.text == sentence.text or _may_hold_others(begun) else [(begun, True)]
    parts = clauses(sentence.text)
    if laughs(text) or _ANNOUNCING.search(text) or len(parts) < _FEW_CLAUSES:
        return []
    conditions = [
        number
        for number, (_, each) in enumerate(parts)
        if _NOT_PLAIN.search(each) and not _YOU_MAY.match(without_openers(each))
    ]
    first = min(conditions, default=len(parts))
    link, behind = parts[first] if first < len(parts) else ("", "")
    is_request = _NOT_PLAIN.match(behind) is None and bids(Sentence.of(behind))
    is_sure = first == len(parts) or bool(link) or is_request
    has_text = _TEXTS.search(text) is not None  # `I` may be another behind it
    told = [Sentence.of(each) for _, each in parts[:first]]
    return [(each, is_sure) for each in told if not (has_text and _is_of_self(each))]


def begins_with_reason(clause: Sentence) -> bool:
    return _REASON.match(f" {clause.straight}") is not None


def _may_hold_others(sentence: Sentence) -> bool:
    text = sentence.outside_quotations
    return bool(_brings(text) or _TEXT_WORK.search(text) or REPORTED.pattern.search(text))


def subject_to_forget(text: str) -> str | None:
    """The words behind a request to forget something, or None."""
    asked = without_openers(text)
    match = _FORGET_REQUEST.match(asked) or _ERASE_REQUEST.match(asked)
    if match is None:
        return None
    topic = next(filter(None, match.groupdict().values()), asked[match.end() :])
    return topic.rstrip(" .!") or None


def find_agent_cue(sentence: Sentence) -> Cue | None:
    for pattern, kind in ((_LESSON, "lesson"), (_STATUS, "status")):
        if pattern.search(sentence.straight):
            return Cue(kind, kind, False)
    return None


# Corrections

_KIN_PEOPLE = words_of("PEOPLE") | {f"{name}'s" for name in words_of("PEOPLE")}
_CORRECTING = words_of("CORRECTING")
_SELF = late.pattern(
    r"(?i)(?:(?:actually|no|sorry|wait|oh|hm+|correction|scratch that|my mistake)\b[,.:!]? )*"
    r"(?:i|we)\b(?! (?:meant|mean|changed (?:my|our) minds?)\b)"
)
"""Begins a correction of the speaker: `Actually, I live in Lisbon`."""
_NUMBER = late.pattern(r"(?:\d[\d.,:]*)(?:st|nd|rd|th|am|pm|%)?")


@dataclass(frozen=True, slots=True)
class Statement:
    sentence: Sentence
    key: str | None


def find_corrected(correction: Statement, statements: Sequence[Statement]) -> tuple[int, ...]:
    """The indexes of the statements that a correction may mean, by the first rule that fits."""
    for is_meant in (_same_key, _same_but_number, _same_but_one_word):
        meant = tuple(at for at, each in enumerate(statements) if is_meant(correction, each))
        if meant:
            return meant
    return ()


def _same_key(correction: Statement, statement: Statement) -> bool:
    return correction.key is not None and correction.key == statement.key


def _of_different_people(correction: Statement, statement: Statement) -> bool:
    corrected_kin = _KIN_PEOPLE.intersection(correction.sentence.folded)
    stated_kin = _KIN_PEOPLE.intersection(statement.sentence.folded)
    if corrected_kin and stated_kin:
        return corrected_kin.isdisjoint(stated_kin)
    speaks_of_self = _SELF.match(correction.sentence.straight) is not None
    if not speaks_of_self or corrected_kin:
        return False
    return bool(stated_kin) or (statement.key is None and correction.key is not None)


def _same_but_one_word(correction: Statement, statement: Statement) -> bool:
    if _of_different_people(correction, statement):
        return False
    wanted = set(correction.sentence.content) - _CORRECTING
    shared = wanted.intersection(statement.sentence.content)
    # The name of an attribute alone is too little: `my brother is called Jan`, `my brother is
    # German`.
    is_more_than_key = bool(shared.difference((statement.key or "").split()))
    return len(wanted) > 1 and len(wanted) - len(shared) <= 1 and is_more_than_key


def _same_but_number(correction: Statement, statement: Statement) -> bool:
    if _of_different_people(correction, statement):
        return False
    corrected = _words_beside_numbers(correction.sentence)
    return not corrected.isdisjoint(_words_beside_numbers(statement.sentence))


def _words_beside_numbers(sentence: Sentence) -> set[tuple[str, str]]:
    folded = [word.casefold() for word in sentence.words]
    neighbours = set()
    for at, word in enumerate(folded):
        if _NUMBER.fullmatch(word):
            if at + 1 < len(folded) and not folded[at + 1].isdigit():
                neighbours.add(("before", folded[at + 1]))
            if at and folded[at - 1] in sentence.content:
                neighbours.add(("behind", folded[at - 1]))
    return neighbours
