"""The line of curated memory that a statement becomes: plain, by rules. Pure.

Openers go, an attribute is a key with its value, relative days are dates, a decision has no frame,
and no line says whose memory it is. Words that no rule brings into such a form stay as they were
said, without openers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date, timedelta
from functools import cache
from re import Match, Pattern
from types import ModuleType

from mdmem.sessions.plain import CORRECTS, stated_attribute
from mdmem.sessions.sentences import (
    TIME_WORDS,
    Sentence,
    is_acknowledgement,
    is_slight,
    sentences,
    with_dates,
    without_openers,
)
from mdmem.sessions.shapes import (
    TASKS,
    Shape,
    begins_clause,
    clauses,
    is_talk,
    language_of,
    shape_of,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import fold_lines
from mdmem.text.facts import normalise, split_until
from mdmem.text.languages import (
    SAME_KEYS,
    alternatives,
    bare_statement,
    rows_of,
    speaks_of_another,
    without_tail,
)
from mdmem.words import en

DECISION = "decision"
_MOST_KEY_WORDS = 5
_MARK = r"[\s,;:.!…，。：！–—-]"
_FRAME = late.pattern(rf"(?i)^(?:{alternatives('DECISION_FRAMES')}){_MARK}*")
_FRAME_DATE = late.pattern(r"\d{4}(?:-\d\d){0,2}")
_CHOSEN = late.pattern(rf"(?i)^(?:{alternatives('CHOSEN')})$")
_CHOOSING = late.pattern(rf"(?i)^(?:{alternatives('CHOOSING')})\s*")
_REASON = late.pattern(
    rf"(?i)(?<![\s,;(–—])[\s,;(–—]+(?:{alternatives('REASON')})\s+(?P<reason>\S.*?)\)?$"
)
_MEANT = late.pattern(rf"(?i)^(?:{alternatives('MEANT')})\s+(?P<value>[^,;]+)")
_BY_NOW = rf"(?:{alternatives('BY_NOW')})"
_ARTICLE = late.pattern(rf"(?i)^(?:{alternatives('ARTICLES')})\b\s*")
_ARTICLES = rf"(?:{alternatives('ARTICLES')})"
_SUBJECT_FIRST = late.pattern(
    rf"(?i)^(?P<subject>[^,;.!?]{{2,60}}?)(?:\s{_BY_NOW})*\s?(?<!\w)(?:{alternatives('COPULA')})"
    rf"(?!\w)(?:\s?{_BY_NOW}(?!\w))*\s?(?P<value>\S.*)$"
)
_SUBJECT_LAST = late.pattern(
    rf"(?i)^(?P<value>[^,;]{{2,60}}?)\s(?:{alternatives('COPULA_BACK')})\s(?P<subject>.+)$"
)
_CONTRAST_FIRST = late.pattern(r"(?i)^not [^,;]{1,40}?,? but (?=\S)")
_CONTRAST = late.pattern(rf"(?i)(?<!\s)(?:\s*[,;(–—])?\s+\(?(?:{alternatives('CONTRASTS')}).*$")
_VALUE_END = late.pattern(rf"(?i)(?:{alternatives('VALUE_ENDS')}).*$|,? - .*$|;\s.*$")
_BY_NOW_LAST = late.pattern(rf"(?i)(?<![\s,])[\s,]+{_BY_NOW}$")
_BY_NOW_FIRST = late.pattern(rf"(?i)^{_BY_NOW}\s+")
_VALUE_LEAD = late.pattern(r"(?i)^(?:(?:called|named|on|at|in)\s+(?=\S)|an?\s+(?=[a-z]))")
_NAME = late.pattern(r"[A-Z][\w&.'-]*")
_NAME_BEHIND = late.pattern(
    r"(?:\s(?:(?:of|and|&|de|da|du|van|von)\s)?(?=[A-Z\d])(?!\d{4}-\d\d)[\w&.'-]*\w)+"
)
_NAME_BEFORE = late.pattern(r"(?:^|(?<=\s))(?:[A-Z][\w&.'-]*\s){1,8}$")
_ROLE = late.pattern(r"[a-zäöüß]+(?:[ -][a-zäöüß]+){0,2}")
_PROPER_NAME = late.pattern(
    r"(?:[A-Z][\w.'’&-]*)(?: (?:(?:of|and|&|de|da|du|van|von) )?[A-Z][\w.'’&-]*){0,3}"
)
_UNTIL = late.pattern(
    rf"(?i)(?<![\s,(])[\s,(]+(?:{alternatives('UNTIL_WORDS')})\s+(?:the\s+)?"
    r"(?P<day>\d{4}-\d\d-\d\d|"
    rf"(?P<weekday>{'|'.join(en.WEEKDAYS.split())})|"
    rf"(?P<number>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{'|'.join(en.MONTHS.split())})|"
    rf"(?P<month_first>{'|'.join(en.MONTHS.split())})\s+(?P<number_last>\d{{1,2}})"
    r"(?:st|nd|rd|th)?)\)?$"
)
_THINGS = tuple(
    (late.pattern(rf"(?i)^(?:{_ARTICLES}\s+)?{pattern}$"), key)
    for pattern, key in rows_of("THING_ATTRIBUTES")
)
_SALUTATION = late.pattern(rf"(?i)^\W*(?:{alternatives('GREETINGS')})\W*$")
_QUOTED_BEFORE = late.pattern(r'^"(?P<quoted>[^"]+)": (?P<rest>\S.*)$')
_KEY = late.pattern(
    r"^(?:\*\*|__)?(?P<key>[^:*_\[\]\"]{2,60}?)(?:\*\*|__)?:(?:\*\*|__)?\s+(?P<value>\S.*)$"
)
_IDENTIFIER = late.pattern(r"[a-z][a-z0-9_.]*")
_KEY_WORD = late.pattern(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class PlainForm:
    """A statement in plain form: `text` without its `key`. `until`: the last day of its truth."""

    text: str
    kind: str | None
    key: str | None = None
    until: date | None = None

    @property
    def line(self) -> str:
        return f"{self.key}: {self.text}" if self.key else self.text


def plain_form(
    text: str,
    *,
    kind: str | None,
    day: date,
    attribute: str | None = None,
    keys: Collection[str] = (),
) -> PlainForm:
    """The plain form of what was said on `day`; `attribute` by its commit, `keys` current ones."""
    said = with_dates(_correction(fold_lines(text)), day)
    spoken = [each for each in map(bare_statement, _told(said)) if each]
    if not spoken:
        return PlainForm(text, kind)
    first = spoken[0]
    for number, sentence in enumerate(spoken):
        if (keyed := _keyed(sentence, attribute, keys)) is None:
            continue
        cut_off = tuple(_cut_off(sentence, keyed[1]))
        others = (*spoken[:number], *spoken[number + 1 :])
        told = [each for each in others if not is_slight([Sentence.of(each)])]
        rest = [each for each in (*cut_off, *told) if not _ends(each)]
        value, until = _until(keyed[1], day)
        value = "; ".join([value, *rest])
        return PlainForm(value, None if kind == "fact" else kind, keyed[0], until)
    if len(spoken) == 1 and (decision := _decision(first, kind)) is not None:
        return decision
    if len(spoken) > 1:
        lines = (f"{_without_owner(each)}." for each in spoken)
        return PlainForm(" ".join(lines).removesuffix("."), kind)
    words, until = _until(first, day)
    line = _with_reason(words)
    return PlainForm(_without_owner(line), kind, until=until)


def _cut_off(sentence: str, value: str) -> Iterator[str]:
    """The clauses behind a value that state something of their own."""
    for _, clause in clauses(sentence)[1:]:
        shape = shape_of(Sentence.of(clause))
        is_told = shape in (Shape.STATEMENT, Shape.PASSING) or speaks_of_another(clause)
        if clause not in value and is_told:
            yield _without_owner(clause)


@cache
def _owner(language: ModuleType) -> Pattern[str]:
    return late.pattern(rf"(?i)^(?:{language.POSSESSIVES}|{language.SPEAKERS})\s*")


def _ends(text: str) -> bool:
    """True for words that tell what no longer holds, which are not said of the new value."""
    sentence = Sentence.of(text)
    return CORRECTS.search(sentence.outside_quotations, sentence.pieces) is not None


def _without_owner(text: str) -> str:
    """A statement without `my` or `I` at its beginning: whose memory it is, everybody knows."""
    owner = _owner(language_of(text)).match(text)
    return text[owner.end() :] or text if owner else text


def core(text: str) -> str:
    """A sentence without openers, the frame of a decision, and its reason."""
    words = bare_statement(fold_lines(text))
    reason = _REASON.search(words)
    words = bare_statement(words[: reason.start()]) if reason else words
    frame = _FRAME.match(words)
    return words[frame.end() :] or words if frame else words


def key_of(text: str) -> str | None:
    """The key of a line such as `billing service port: 8432`; None for other lines."""
    match = _KEY.match(fold_lines(text))
    key = match["key"].strip() if match else ""
    is_name = bool(key) and key[-1].isalnum() and len(key.split()) <= _MOST_KEY_WORDS
    return key if is_name else None


def _fold_key(key: str) -> frozenset[str]:
    """The words of a key, in any order: `deadline of the report` is `report deadline`."""
    folded = normalise(key)
    words = set(_KEY_WORD.findall(folded.replace("'s", "").replace("’s", "")))
    name = SAME_KEYS.get(" ".join(folded.split()))
    return frozenset(name.split()) if name else frozenset(words - _KEY_STOPS)


_KEY_STOPS = frozenset(("the", "our", "my", "a", "an", "of", "for", "new", "current"))


def _value_of(text: str) -> str:
    value, before = text.strip(), ""
    value = _CONTRAST_FIRST.sub("", value)
    while value != before:
        before = value
        value = _without_clause(value)
        value = _VALUE_END.sub("", value).strip(" \t,;!") or value
        value = _CONTRAST.sub("", value).strip(" \t,;!") or value
        value = _BY_NOW_LAST.sub("", value) or value
        value = _BY_NOW_FIRST.sub("", value) or value
        value = without_tail(value)
    return value


def _without_clause(value: str) -> str:
    first, comma, rest = value.partition(", ")
    is_more = begins_clause(rest) or not TASKS.isdisjoint(rest.split()[:1])
    return first if comma and is_more else value


def _correction(text: str) -> str:
    """The words of a correction behind those that it corrects; an answer keeps its question."""
    match = _QUOTED_BEFORE.match(text)
    if match is None or match["quoted"].rstrip().endswith(("?", "？")):
        return text
    is_whole = len(Sentence.of(match["rest"]).content) > 1
    return match["rest"] if is_whole else text


def _told(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        for clause in sentence.straight.split("; "):
            label, colon, rest = clause.partition(": ")
            clause = rest if colon and is_talk(label) else clause
            said = without_openers(clause)
            if not (is_acknowledgement(Sentence.of(said)) or _SALUTATION.match(said)):
                yield clause


def _keyed(text: str, attribute: str | None, keys: Collection[str]) -> tuple[str, str] | None:
    match, own = _KEY.match(text), key_of(text)
    if match and own and (standing := _standing(own, keys)):
        return standing, _value_of(match["value"])
    for key, value in _stated(text, attribute):
        if (standing := _standing(key, keys)) is not None:
            return standing, value
    if match and own and _IDENTIFIER.fullmatch(own):
        return own, _value_of(match["value"])
    return _user_attribute(text, attribute) or _thing_attribute(text) or _role(text)


def _role(text: str) -> tuple[str, str] | None:
    """A role with the name of who has it: `the treasurer is Ada Lowe`, either way round."""
    for pattern in (_SUBJECT_FIRST, _SUBJECT_LAST):
        match = pattern.match(text)
        subject = _BY_NOW_LAST.sub("", match["subject"]).strip(" .") if match else ""
        role = _ARTICLE.sub("", subject)
        is_role = role != subject or pattern is _SUBJECT_LAST
        if match and is_role and _ROLE.fullmatch(role):
            value = _value_of(match["value"])
            if _PROPER_NAME.fullmatch(value) and not _is_date(value):
                return role, value
    return None


def _is_date(value: str) -> bool:
    return not TIME_WORDS.isdisjoint(word.casefold().removesuffix("s") for word in value.split())


def _user_attribute(text: str, attribute: str | None) -> tuple[str, str] | None:
    stated = stated_attribute(Sentence.of(text))
    if stated is None and attribute is not None and (meant := _MEANT.match(text)):
        return attribute, _value_of(meant["value"])
    if stated is None or attribute not in (None, stated.key):
        return None
    value = stated.value
    if _NAME.fullmatch(value) and text.count(value) == 1:
        before, _, behind = text.partition(value)
        more = _NAME_BEHIND.match(behind)
        first = _NAME_BEFORE.search(before)
        value = f"{first[0] if first else ''}{value}{more[0] if more else ''}"
    return stated.name, _VALUE_LEAD.sub("", _value_of(value))


def _stated(text: str, attribute: str | None) -> Iterator[tuple[str, str]]:
    if (stated := _user_attribute(text, attribute)) is not None:
        yield stated
    if (thing := _thing_attribute(text)) is not None:
        yield thing
    for pattern in (_SUBJECT_FIRST, _SUBJECT_LAST):
        match = pattern.match(text)
        if match is not None:
            subject = _ARTICLE.sub("", _BY_NOW_LAST.sub("", match["subject"]).strip())
            value = _VALUE_LEAD.sub("", _value_of(match["value"]))
            if pattern is _SUBJECT_LAST:
                subject = _value_of(subject)
            if value:
                yield subject, value


def _thing_attribute(text: str) -> tuple[str, str] | None:
    for pattern, key in _THINGS:
        if match := pattern.match(text):
            thing = _ARTICLE.sub("", match["thing"].strip())
            return key.format(thing=thing), _value_of(match["value"])
    return None


def _standing(key: str, keys: Collection[str]) -> str | None:
    wanted = _fold_key(key)
    return next((each for each in keys if wanted and _fold_key(each) == wanted), None)


def _decision(text: str, kind: str | None) -> PlainForm | None:
    frame = _FRAME.match(text)
    if frame is None and kind != DECISION:
        return None
    words = text[frame.end() :] if frame else text
    decided = _FRAME_DATE.search(frame[0]) if frame else None
    reason = _REASON.search(words)
    told = [each for each in (decided and decided[0], reason and reason["reason"]) if each]
    words = bare_statement(words[: reason.start()] if reason else words)
    if not words:
        return None
    behind = f" ({': '.join(told)})" if told else ""
    chosen = _CHOSEN.match(words) if frame or _CHOOSING.match(words) else None
    if chosen:
        key, value = _value_of(chosen["topic"]), _value_of(chosen["value"])
        return PlainForm(f"{value}{behind}", DECISION, key)
    return PlainForm(f"{_without_owner(words)}{behind}", DECISION)


def _with_reason(text: str) -> str:
    reason = _REASON.search(text)
    is_clause = reason is not None and begins_clause(reason["reason"])  # not `since the refit`
    return f"{text[: reason.start()]} ({reason['reason']})" if reason and is_clause else text


def _until(text: str, day: date) -> tuple[str, date | None]:
    words, end = split_until(text)
    if end is not None:
        return words, end
    match = _UNTIL.search(text)
    last = _day(match, day) if match else None
    if match is None or last is None or last < day:
        return text, None
    return text[: match.start()], last


def _day(match: Match[str], day: date) -> date | None:
    if match["weekday"]:
        ahead = en.WEEKDAYS.split().index(match["weekday"].casefold()) - day.weekday()
        return day + timedelta(days=(ahead - 1) % 7 + 1)
    try:
        name = match["month"] or match["month_first"]
        if not name:
            return date.fromisoformat(match["day"])
        month = en.MONTHS.split().index(name.casefold()) + 1
        number = int(match["number"] or match["number_last"])
        this_year = date(day.year, month, number)
        return this_year if this_year >= day else date(day.year + 1, month, number)
    except ValueError:
        return None
