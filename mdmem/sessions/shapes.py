"""The shape of a sentence: does it state what lasts, or order how an agent always is to work? Pure.

Closed classes of words tell (pronouns, articles, auxiliaries, endings of verbs), and not the phrase
in which something is said. What is of the moment has no shape: a mood, a wish, a judgement, a
request about what is at hand.
"""

from __future__ import annotations

from enum import Enum
from functools import cache, lru_cache
from re import Match, Pattern
from types import ModuleType

from mdmem.sessions.sentences import (
    TIME_WORDS,
    Sentence,
    any_pattern,
    is_acknowledgement,
    pattern_of,
    without_openers,
)
from mdmem.startup import late
from mdmem.text.english import PAST_FORMS
from mdmem.text.languages import LANGUAGES, speaks_of_another, words_of
from mdmem.words import en


class Shape(Enum):
    """STATEMENT states what lasts; VAGUE does so of a thing that it does not name; PASSING may do
    so, of what was named before, of things in general, or without a verb; ORDER is one for good.
    """

    STATEMENT = "statement"
    VAGUE = "vague"
    PASSING = "passing"
    ORDER = "order"


_FEWEST_WORDS, _MOST_WORDS = 3, 40
_MOST_OF_SUBJECT = 7
_MOST_OF_PHRASE = 15
_NEAR = 4
"""Words behind a verb that may say what it is of."""
_BEGINNING = 400
"""Characters of a clause that its subject and verb are looked for in."""
_TOKEN = late.pattern(r"[^\W_](?:[\w'@/:.-]*\w)?")
_CLAUSE_END = late.pattern(
    r"[,;:(]|\s[–—-]+\s|\s(?:and|but|or|so|because|since|und|aber|oder|weil|et|mais|ou|y|pero)\s"
)
_CLAUSE_START = late.pattern(
    r"(?i)(?:[,;] (?:(?P<link_behind>and|so|but|und|aber|dann|et|mais|y|pero) )?|"
    r"\s(?P<link>and|so|but|und|aber|et|mais|y|pero) )(?P<condition>(?:if|when|wenn|si) )?"
)
_CONTRACTED = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
_SELF_BIDDING = late.pattern(r"(?i)\b(?:you|sure|remember)\b")
_SPANS = frozenset(("since", "for"))
_PARTICIPLE = late.pattern(r"ge\w+(?:t|en)|\w+iert")
"""Of German, at the end of a sentence that tells what has been done."""
_GERUND = late.pattern(r"(?!\w*thing$|morning$|evening$)\w*[aeiouy]\w*ing")
_SHORT_LABEL = late.pattern(r"^[^\W\d_][^:,.!?]{0,39}: (?=[^\W_])")
_LAUGHTER = late.pattern(r"(?i)\b(?:(?:h[ae]){2,}h?|(?:j[ae]){2,}|lo+l|lmao|rofl|mdr|xd)\b|哈哈")
_CHOICE = late.pattern(r"\s(?:or|oder|ou|o)\s")
_IS = late.pattern(
    r"(?i)(?<=\w)'s(?=\s(?:\d[\w.,%]*|an?|the|my|our|not|in|on|at|for|from|with|by|under|really|"
    r"very|always|usually|still|now|only|also|called|named|closed|shut)\b)"
)
"""A copula, as in `the site's in Leeds`."""
_DISLOCATED = late.pattern(r"(?i)(?<=\w), c'est ")
"""The copula behind a subject that French sets apart: `le client, c'est Ada`."""
_UNMARKED = {"im": ("i", "am"), "ive": ("i", "have"), "weve": ("we", "have")}
_DATE = late.pattern(rf"(?i)\b(?:{'|'.join(words_of('MONTHS'))}|(?:19|20)\d\d)\b")
_YEAR = late.pattern(
    r"(?i)\b(?:in|since|from|by|until|till|of|around|before|after|seit|ab|bis|en|depuis|desde) "
    r"(?:19|20)\d\d\b"
)
_TELLING = late.pattern(r"\d|(?:[^\W_][./_@]|\s[./_#~%-]{1,2})[^\W_]|\s[A-ZÄÖÜÉÁ]\w")
_PASSING = pattern_of("PASSING")
_PEOPLE = words_of("PEOPLE")
_WEEKDAYS = words_of("WEEKDAYS")
_TIMES = TIME_WORDS | _WEEKDAYS | words_of("MONTHS")
_ROLE = late.pattern(
    r"(?i)\w{2,}(?:[eo]rs?|ists?|i[ae]ns?|in(?:nen)?|eurs?|euses?|[ao]ras?)|interns?"
)
MENTAL = words_of("MENTAL")
TASKS = words_of("TASKS") | words_of("MORE_TASKS")
_OF_SELF = words_of("FIRST_PERSON")
_TELLING_WORDS = frozenset[str]().union(*map(words_of, ("NUMERALS", "REPEATING", "FIRST_PERSON")))


@cache
def _words(language: ModuleType, name: str) -> frozenset[str]:
    return frozenset(getattr(language, name).split())


@cache
def _pattern(language: ModuleType, name: str) -> Pattern[str]:
    table = getattr(language, name)
    return any_pattern((table,) if isinstance(table, str) else table)


@cache
def _finite(language: ModuleType) -> Pattern[str]:
    """A finite verb; case tells names and, in German, nouns."""
    past = PAST_FORMS if language is en else frozenset[str]()
    known = "|".join(sorted(_words(language, "AUXILIARIES") | past))
    return late.pattern("|".join((*language.FINITE, rf"\b(?:{known})\b")))


@cache
def _by_now(language: ModuleType) -> Pattern[str]:
    return late.pattern(rf"(?i)\b{language.BY_NOW}\b")


@cache
def _role_with_name(language: ModuleType) -> Pattern[str]:
    return late.pattern(rf"(?i){language.POSSESSIVES} [^\W\d_]+ (?-i:[A-ZÄÖÜÉÁ])[^\W_]+\b")


@cache
def _contrasting(language: ModuleType) -> Pattern[str]:
    return late.pattern(rf"(?i), (?:{language.CONTRASTS})")


@cache
def _function_words(language: ModuleType) -> frozenset[str]:
    names = ("FUNCTION_WORDS", "NOMINATIVE", "SUBJECTS", "AUXILIARIES", "ADVERBS")
    return frozenset[str]().union(*(_words(language, name) for name in names))


@cache
def _closed_words(language: ModuleType) -> frozenset[str]:
    names = ("STOP_WORDS", "DETERMINERS", "PREPOSITIONS", "WEEKDAYS", "MONTHS")
    return _function_words(language).union(*(_words(language, name) for name in names))


def _written_in(language: ModuleType, text: str) -> ModuleType | None:
    is_script = language.CHARACTERS and _pattern(language, "CHARACTERS").search(text)
    return language if is_script else None


def language_of(text: str) -> ModuleType:
    """The language whose function words a sentence has most of; English without any."""
    if written := next(filter(None, (_written_in(each, text) for each in LANGUAGES)), None):
        return written
    words = (token[0].lower() for token in _TOKEN.finditer(text))
    held = frozenset(part for word in words for part in (word, *word.split("'")))
    return max(LANGUAGES, key=lambda each: len(held & _closed_words(each)))


def shape_of(sentence: Sentence) -> Shape | None:
    if sentence.is_question or is_acknowledgement(sentence):
        return None
    return _shape(sentence.outside_quotations.strip())


@lru_cache(maxsize=1024)
def _shape(text: str) -> Shape | None:
    if laughs(text) or text.startswith("("):
        return None
    spoken = _Spoken(text)
    if spoken.is_order():
        return Shape.ORDER
    if not _FEWEST_WORDS <= len(spoken.words) <= _MOST_WORDS:
        return None
    if text.endswith("!"):
        names_weekday = not _WEEKDAYS.isdisjoint(word.removesuffix("s") for word in spoken.words)
        return spoken.statement() if names_weekday else None
    return spoken.statement() or _of_clause_behind(text) or spoken.in_passing()


def _of_clause_behind(text: str) -> Shape | None:
    """The shape of the speaker's own words behind a comma: `pitch 14 is gone, we are on 22 now`."""
    before, _, rest = text.partition(", ")
    behind = _Spoken(rest)
    is_own = len(behind.words) >= _FEWEST_WORDS and behind.begins_with_self()
    return behind.statement() if is_own and not _Spoken(before).reports() else None


def points_back(sentence: Sentence) -> bool:
    """True for a sentence about what the one before it names: `he comes every season`."""
    spoken = _Spoken(sentence.outside_quotations)
    return bool(spoken.words) and spoken.begins_with_anaphor()


def has_pattern(name: str, text: str) -> bool:
    """True if a pattern of the language of a text matches in it."""
    return _pattern(language_of(text), name).search(text) is not None


def begins_with_person(text: str) -> bool:
    """True for a sentence whose subject may be somebody who speaks: a name, a role."""
    return _Spoken(text).begins_with_person()


def is_phrase(sentence: Sentence) -> bool:
    """True for words without a verb, such as the answer to a question."""
    return _Spoken(sentence.outside_quotations).is_phrase()


def bids(sentence: Sentence) -> bool:
    """True for a request to do something: `sort by date`, `need to tell her`."""
    return _Spoken(sentence.outside_quotations).bids()


def denies(sentence: Sentence) -> bool:
    """True for words that begin with a negation: `not lately`."""
    return _Spoken(sentence.outside_quotations)._is("NEGATIONS", 0)


def asks(sentence: Sentence) -> bool:
    """True for words that begin as a question does: `which tyres fit`, `can I`."""
    return _Spoken(sentence.outside_quotations).asks()


def asks_you(question: Sentence) -> bool:
    """True for a question such as one of an interview: `where do you live`."""
    return _Spoken(question.outside_quotations).asks_you()


def asks_for_value(question: Sentence) -> bool:
    """True for a question whose answer is more than yes or no."""
    return _Spoken(question.outside_quotations).asks_for_value()


def is_guess(sentence: Sentence) -> bool:
    text = without_openers(sentence.outside_quotations)
    return _pattern(language_of(text), "HEDGING").search(text) is not None


def is_talk(label: str) -> bool:
    """True for words that name nothing before a colon: `one for you`, `and while at it`, `so`."""
    words = [token[0].lower() for token in _TOKEN.finditer(label)]
    if not without_openers(f"{label}:").strip(" :"):
        return _OF_SELF.isdisjoint(words)
    return len(words) > 1 and _closed_words(language_of(label)).issuperset(words)


def laughs(text: str) -> bool:
    return _LAUGHTER.search(text) is not None


def clauses(text: str) -> list[tuple[str, str]]:
    """The clauses of a sentence with a subject and a verb each, and the word that links each."""
    starts = [
        (match["link"] or match["link_behind"] or "", match.start(), _begin(match))
        for match in _CLAUSE_START.finditer(text)
        if begins_clause(text[match.end() : match.end() + _BEGINNING])
    ]
    ends = [*(start for _, start, _ in starts), len(text)]
    begun = [("", 0), *((link, end) for link, _, end in starts)]
    return [
        (link, text[begin:end].strip(" ,;")) for (link, begin), end in zip(begun, ends, strict=True)
    ]


def _begin(start: Match[str]) -> int:
    return start.end() if start["condition"] is None else start.start("condition")


def _tells_of_self(text: str) -> bool:
    """True for a clause with `I` behind the first."""
    return any(_Spoken(clause).begins_with_self() for _, clause in clauses(text)[1:])


def begins_clause(text: str) -> bool:
    """True for words that begin with a subject and have a verb of their own."""
    spoken = _Spoken(text)
    return len(spoken.words) > 1 and (
        spoken.begins_with_self() or spoken.is_contracted() or spoken.verb_of_named() is not None
    )


def _may_be_role(word: str) -> bool:
    return word.lower() in _PEOPLE or _ROLE.fullmatch(word) is not None


class _Spoken:
    """The words of a sentence without openers, in lower case, with contractions written out."""

    def __init__(self, text: str) -> None:
        self._whole = text
        said = without_openers(text).strip()
        self._exists = len(said) < len(text) and "there" in text[: -len(said)].lower().split()
        label = _SHORT_LABEL.match(said)
        is_label = label is not None and _OF_SELF.isdisjoint(label[0].lower().split())
        if label and _finite(language_of(text)).search(label[0], 1):
            is_label = False  # `Theo does the rest: sound, lights`
        self._has_topic = label is not None and is_label
        self._text = said[label.end() :] if label and is_label else said
        self._language = language_of(text)
        if "'s" in self._text:
            self._text = _IS.sub(" is", self._text).replace("'s got ", " has ")
        self._text = _DISLOCATED.sub(" est ", self._text)
        self._tokens = list(_TOKEN.finditer(self._text))
        folded = [token[0].lower() for token in self._tokens]
        self.words: list[str] = []
        self._token_of: list[int] = []
        for number, word in enumerate(folded):
            stem, mark, ending = word.rpartition("'")
            parts = [stem, _CONTRACTED[ending]] if mark and ending in _CONTRACTED else [word]
            if self._language is en and word in _UNMARKED:
                parts = list(_UNMARKED[word])
            self.words += parts
            self._token_of += [number] * len(parts)

    def _is(self, name: str, number: int) -> bool:
        return number < len(self.words) and self._is_among(name, self.words[number])

    def _any(self, name: str, first: int, count: int = _NEAR) -> bool:
        return not _words(self._language, name).isdisjoint(self.words[first : first + count])

    def _search(self, name: str, text: str) -> bool:
        return _pattern(self._language, name).search(text) is not None

    # Orders

    def is_order(self) -> bool:
        if self._search("FROM_NOW_ON", self._whole):
            return self._bids_for_good()
        topic, _, behind = self._text.partition(", ")
        length = len(_TOKEN.findall(topic))
        is_led = self._is("BEFORE_TOPICS", 0) and ":" not in topic and length <= _MOST_OF_SUBJECT
        said = (self._whole, self._text, behind) if is_led else (self._whole, self._text)
        return any(map(self._orders, dict.fromkeys(said)))

    def _bids_for_good(self) -> bool:
        """True for a request with `from now on`; a statement with it is none."""
        rest = _pattern(self._language, "FROM_NOW_ON").sub(" ", self._whole)
        spoken = _Spoken(rest.strip(" ,:"))
        return len(spoken.words) > 1 and not begins_clause(rest.strip(" ,:"))

    def _orders(self, text: str) -> bool:
        bidding = _pattern(self._language, "BIDDING").match(text)
        order = text[bidding.end() :].strip() if bidding else text
        if self._is_at_hand(self._clause(order)):
            return False
        if _pattern(self._language, "FORBIDDING").match(order):
            return len(_TOKEN.findall(order)) > 1
        is_bid = bidding is not None and _SELF_BIDDING.search(bidding[0]) is not None
        first = _TOKEN.search(order)
        if is_bid and first is not None and self._is_among("NEGATIONS", first[0].lower()):
            return True
        if not self._search("STANDING", order):
            return False
        may_bid = first is not None and self._may_bid(first) and not begins_clause(order)
        return is_bid or (may_bid and not _tells_of_self(order))

    def _is_at_hand(self, order: str) -> bool:
        """True for an order about what is there now.

        It is none for a thing that it names: `always show me a mail before you send it`.
        """
        words = list(_TOKEN.finditer(order))[:_NEAR]
        is_standing = bool(words) and self._is_among("REPEATING", words[0][0].lower())
        near = words[-1].end() if is_standing else len(order)
        return any(
            match.start() < near or not self._is_among("OBJECTS", match[0].lower())
            for match in _pattern(self._language, "AT_HAND").finditer(order)
        )

    def _may_bid(self, first: Match[str]) -> bool:
        """True for a first word that can be a verb which bids, or lead in one."""
        word = first[0].lower()
        names = ("ANAPHORA", "JUDGEMENTS", "MENTAL", "MOODS", "WISHES")
        is_other = any(self._is_among(name, word) for name in names) or "'" in word
        return not (is_other or self._is_gerund(word) or word in _function_words(self._language))

    def _is_gerund(self, word: str) -> bool:
        return self._language is en and _GERUND.fullmatch(word) is not None

    def _is_among(self, name: str, word: str) -> bool:
        return word in _words(self._language, name)

    def _clause(self, text: str) -> str:
        end = _CLAUSE_END.search(text)
        clause = text[: end.start()] if end else text
        return clause if len(_TOKEN.findall(clause)) >= _FEWEST_WORDS else text

    # Statements

    def statement(self) -> Shape | None:
        """The shape of a statement; a guess is vague."""
        hedge = _pattern(self._language, "HEDGING").search(self._text)
        if hedge is None:
            return self._statement()
        rest = self._text[hedge.end() :] if hedge.start() == 0 else self._text[: hedge.start()]
        sure = _Spoken(rest)
        return Shape.VAGUE if len(sure.words) >= _FEWEST_WORDS and sure._statement() else None

    def _statement(self) -> Shape | None:
        clause = self._clause(self._text)
        if self._search("PASSING", clause) or self._addresses(clause):
            return None
        if self.begins_with_self():
            return Shape.STATEMENT if self._states_of_self(1) else None
        if self.is_of_self_by_verb():
            return Shape.STATEMENT if self._states_of_self(0) else None
        if self._is("CHANGES", 0) or (self.words[0] == "got" and self._names_time()):
            return Shape.STATEMENT
        if self.begins_with_anaphor() or self._is("AUXILIARIES", 0):
            return None
        is_time = self.words[0].removesuffix("s") in _TIMES and self._any("NOMINATIVE", 1)
        if self._is_of_object_before_self():
            return Shape.STATEMENT
        is_led = not self._is("SUBJECTS", 0) and self.words[0] in _function_words(self._language)
        if is_time or is_led or self._is("PREPOSITIONS", 0):
            return self._behind_time()
        verb = self.verb_of_named()
        is_own = self._search("POSSESSIVES", self._tokens[0][0])
        if verb is None or not self._lasts(verb, is_own) or self._is_judged(clause, verb):
            return None
        is_noun = verb == 1 and self._is("PREPOSITIONS", 2)  # `staging runs on …`
        if self._is_gerund(self.words[0]) and not (
            is_noun or "are" in self.words[verb : verb + 2] or self._names_time()
        ):
            return None
        is_at_hand = self.words[verb - 1] in ("one", "ones") or (
            not self._has_topic and self._is_of_object(clause, verb)
        )
        is_at_hand = is_at_hand and not _role_with_name(self._language).match(self._text)
        if is_at_hand or self._any("RELATIVES_OF_CLAUSES", 0, verb):
            return None
        is_of_all = self._is("GENERIC", 0) and len(self.words) > verb + 2
        if is_own or is_of_all or self._is_of_named(verb) or self._tells():
            return Shape.STATEMENT
        if self._any("SUBJECTS", 0, _MOST_WORDS):
            return Shape.VAGUE
        # `gateway runs on a sim`, and not `pets bring joy`
        return Shape.PASSING if verb == 1 and not self.words[0].endswith("s") else None

    def in_passing(self) -> Shape | None:
        """The shape of what may be a statement, if it holds a name, a number or a time."""
        clause = self._clause(self._text)
        if _PASSING.search(clause) or self._addresses(clause):
            return None
        is_asked = self._language is en and self._is("AUXILIARIES", 0)
        is_asked = is_asked and not (self._exists or self._is("PREPOSITIONS", 1))
        if is_asked or self.begins_with_self():
            return None
        verb = self.verb_of_named()
        if not (self._tells() or (verb is not None and self._is_of_named(verb))):
            return None
        if verb is None and speaks_of_another(self._text):
            verb = 1  # `they close at ten`
        if verb is None:
            is_begun = self._is("AUXILIARIES", 0)  # `has to be in by ten`, `there are nine of them`
            is_told = self._is_ellipsis() or (
                is_begun and self._any("PREPOSITIONS", 1, _MOST_WORDS)
            )
        else:
            is_judged = self._is_judged(self._text, verb) or self._any("OBJECTS", verb)
            lasts = self._lasts(verb, False) or self._is_made(verb)
            is_told = lasts and not (is_judged or self._is_gerund(self.words[0]))
        return Shape.PASSING if is_told or self._tells_behind() else None

    def _is_made(self, verb: int) -> bool:
        """True for how something came to be: `the core was taken with a corer`."""
        is_done = self._is("AUXILIARIES", verb) and self._is_past(verb + 1)
        return is_done and self._is("PREPOSITIONS", verb + 2)

    def _tells_behind(self) -> bool:
        """True for a clause of its own about something behind: `send it to Ada, she signs it`."""
        is_told = _TELLING.search(self._text, 1) is not None or self._names_time()
        behind = [_Spoken(each) for _, each in clauses(self._text)[1:]] if is_told else []
        return any(
            not each.begins_with_self() and not each._is("SECOND_PERSON", 0) and each.words
            for each in behind
        )

    def _is_ellipsis(self) -> bool:
        """True for words of a statement without a verb: `two copies of each`."""
        return self.is_phrase() and self._any("PREPOSITIONS", 1, _MOST_OF_PHRASE)

    def is_phrase(self) -> bool:
        is_short = 0 < len(self.words) <= _MOST_OF_PHRASE
        is_contracted = self.words[:1] == ["let's"] or any(map(self._holds_verb, self._tokens))
        has_verb = _finite(self._language).search(self._text, 1) is not None or is_contracted
        is_of_self = self._any("NOMINATIVE", 0, _MOST_WORDS) or self.is_of_self_by_verb()
        return is_short and not (self.bids() or has_verb or is_of_self)

    def bids(self) -> bool:
        is_task = self._is("TASKS", 0) or self._is("MORE_TASKS", 0) or self._bids_of_thing()
        return is_task or (self._is("MENTAL", 0) and self.words[1:2] == ["to"])

    def asks(self) -> bool:
        is_word = self._is("ANAPHORA", 0) and not self._is("SECOND_PERSON", 0)
        return len(self.words) > 1 and (is_word or self._is("AUXILIARIES", 0))

    def asks_you(self) -> bool:
        is_open = self._is("ANAPHORA", 0) and not self._is("SECOND_PERSON", 0)
        return is_open and self._any("SECOND_PERSON", 1, _MOST_WORDS)

    def asks_for_value(self) -> bool:
        is_open = not self._is("AUXILIARIES", 0) and self._any("ANAPHORA", 0, _MOST_WORDS)
        return is_open or _CHOICE.search(self._text) is not None

    def _bids_of_thing(self) -> bool:
        """True for a verb that bids before its object: `shift all dates`."""
        if self._is("SUBJECTS", 0) or len(self._tokens) < _FEWEST_WORDS:
            return False
        if self.words[0][0].isdigit():
            return False
        is_apart = "," in self._text[: self._tokens[1].start()] or self.words[0] in PAST_FORMS
        return not is_apart and (self._is("SUBJECTS", 1) or self._is("OBJECTS", 1))

    def _tells(self) -> bool:
        """True for words with a name, a number, a time or a contrast."""
        return (
            _TELLING.search(self._text, 1) is not None
            or not _TELLING_WORDS.isdisjoint(self.words)
            or self._names_time()
            or _contrasting(self._language).search(self._text) is not None
        )

    def _behind_time(self) -> Shape | None:
        """A statement of the speaker's behind a time or topic: `on Tuesdays I sleep in the cab`."""
        for number in range(1, min(len(self.words), _MOST_OF_SUBJECT)):
            if self._is("NOMINATIVE", number):
                is_lasting = self._tells() or self._is("CHANGES", number + 1)
                is_stated = is_lasting and self._states_of_self(number + 1)
                return Shape.STATEMENT if is_stated else None
        return Shape.STATEMENT if self._is("PREPOSITIONS", 0) and self._states_behind() else None

    def _is_of_object_before_self(self) -> bool:
        """True for a thing before its subject and verb: `lids we get from Packwell`."""
        number = next((n for n in range(1, _NEAR) if self._is("NOMINATIVE", n)), None)
        is_bare = not (self._is("SUBJECTS", 0) or self.words[0] in _function_words(self._language))
        is_led = self._is("PREPOSITIONS", 0) or self._is("MENTAL", 0)
        if number is None or not is_bare or is_led or self.bids():
            return False
        has_other_verb = self._any("AUXILIARIES", number + 2, _MOST_WORDS)
        return self._states_of_self(number + 1) and not has_other_verb

    def _states_behind(self) -> bool:
        """True for a named thing and its verb behind a place or time: `in the lab the log is …`."""
        text = self._clause(self._text)
        found = _finite(self._language).search(text, self._tokens[1].start())
        if found is None or found.start() == self._tokens[1].start() or not self._tells():
            return False
        verb = sum(self._tokens[each].start() <= found.start() for each in self._token_of) - 1
        is_at_hand = self._is_of_object(text, 1) or self._is_judged(text, verb)
        is_led = len(_TOKEN.findall(self._text.partition(",")[0])) >= _FEWEST_WORDS
        is_named = is_led and self._any("SUBJECTS", 1, _MOST_WORDS)
        return is_named and self._lasts(verb, False) and not is_at_hand

    def _is_judged(self, clause: str, verb: int) -> bool:
        length = len(_TOKEN.findall(clause)) - verb
        is_doing = self.words[verb] == "works" and self._is("PREPOSITIONS", verb + 1)
        first, end = verb + is_doing, verb + min(_NEAR, max(1, length))
        judging = _words(self._language, "JUDGEMENTS").intersection(self.words[first:end])
        names = (token[0] for token in self._tokens[1:] if token[0][0].isupper())
        return bool(judging.difference(map(str.lower, names)))  # `the band is Slow Ferry`

    def _is_of_object(self, clause: str, verb: int) -> bool:
        """True for a clause about what is at hand: `the script needs this`, not `these days`."""
        words = _TOKEN.findall(_by_now(self._language).sub(" ", clause.lower()))
        if not _TIMES.isdisjoint(words):
            behind = [*words[1:], ""]  # `this year`
            words = [word for word, next_ in zip(words, behind, strict=True) if next_ not in _TIMES]
        return not _words(self._language, "OBJECTS").isdisjoint(words[verb:])

    def _addresses(self, clause: str) -> bool:
        parts = (
            part
            for word in _TOKEN.findall(clause.lower())
            for part in (word, word.partition("'")[0])
        )
        return not _words(self._language, "SECOND_PERSON").isdisjoint(parts)

    def _names_time(self) -> bool:
        named = {word for each in self.words for word in (each, each.removesuffix("s"))}
        return not _TIMES.isdisjoint(named) or any(map(str.isdigit, self._text))

    def _is_of_named(self, verb: int) -> bool:
        """True for a subject that is one capitalised word without an article (`Gudrun bakes`), or
        is a person by what follows: `jonna writes it, she knows`.
        """
        first = self._tokens[0][0]
        if verb == 1 and first[0].isupper():
            return not first.endswith("s")
        is_bare = not (self._is("SUBJECTS", 0) or self._is("FUNCTION_WORDS", 0))
        return is_bare and self._search("PERSON", self._text[self._begin_of(verb) :])

    def _lasts(self, verb: int, is_own: bool) -> bool:
        if self._any("CHANGES", verb, 2):
            return True
        is_modal = self._is("AUXILIARIES", verb) or self._is_past(verb)
        if self._is("MENTAL", verb) and (is_modal or self._language is not en):
            is_dated = self._is("AUXILIARIES", verb) and self._names_time()
            return is_dated and (is_own or self._is_dated(verb))
        return not self._is_past(verb) or self._names_time()

    def _begin_of(self, verb: int) -> int:
        is_there = verb < len(self._token_of)
        return self._tokens[self._token_of[verb]].start() if is_there else len(self._text)

    def _is_dated(self, verb: int) -> bool:
        """True for a month or a year behind the verb: `was calibrated in May`."""
        start = self._tokens[self._token_of[verb]].end() if verb < len(self._token_of) else 0
        return _DATE.search(self._text, start) is not None

    def reports(self) -> bool:
        """True for words of what somebody says or thinks."""
        return any(self._is("MENTAL", each) for each in range(len(self.words))) and not self._any(
            "AUXILIARIES", 0, _MOST_WORDS
        )

    def begins_with_anaphor(self) -> bool:
        """True for a word that points back; an article of a noun with a capital does not."""
        is_article = self._is("SUBJECTS", 0) and len(self._tokens) > 1
        return self._is("ANAPHORA", 0) and not (is_article and self._tokens[1][0][0].isupper())

    def begins_with_person(self) -> bool:
        if self.begins_with_anaphor():
            return speaks_of_another(self._text)
        verb = self.verb_of_named()
        words = [token[0] for token in self._tokens[: _NEAR if verb is None else verb]]
        is_named = verb == 1 and self._is_of_named(verb)
        return (
            is_named
            or any(word[0].isupper() for word in words[1:])
            or any(map(_may_be_role, words))
        )

    def begins_with_self(self) -> bool:
        return self._is("NOMINATIVE", 0)

    def is_of_self_by_verb(self) -> bool:
        """True for a first person that the verb's ending tells: `entrego 600`."""
        return _pattern(self._language, "PRONOUNS").match(self._text) is not None

    def is_contracted(self) -> bool:
        """True for a subject with its verb in one word: `they're in from Easter on`."""
        return self._holds_verb(self._tokens[0])

    def _holds_verb(self, token: Match[str]) -> bool:
        subject, mark, _ = token[0].lower().partition("'")
        is_subject = self._is_among("ANAPHORA", subject) or self._is_among("NOMINATIVE", subject)
        return bool(mark) and is_subject

    def verb_of_named(self) -> int | None:
        """The number of the verb behind a subject that is named, or begins with an article."""
        is_bare = not self._is("SUBJECTS", 0)
        first = 1 if is_bare else 2
        if first >= len(self._tokens) or (is_bare and self._is("PREPOSITIONS", 0)):
            return None
        end = len(self._clause(self._text)) + 1
        found = _finite(self._language).search(self._text, self._tokens[first].start(), end)
        if found is None:
            return None
        starts = [self._tokens[each].start() for each in self._token_of]
        verb = sum(start <= found.start() for start in starts) - 1
        if verb > _MOST_OF_SUBJECT:
            return None
        is_task = self._is("TASKS", 0) or self._is("MORE_TASKS", 0)
        is_bid = is_bare and (
            self._bids_of_thing() or (is_task and not self._is("AUXILIARIES", verb))
        )
        return None if is_bid else verb

    def _states_of_self(self, verb: int) -> bool:
        while self._is("ADVERBS", verb):
            verb += 1
        if verb < len(self.words) and (self._is_got(verb) or self._is_of_life(verb)):
            return True
        if verb >= len(self.words) or self._is("MENTAL", verb):
            return False
        behind = verb + 1
        while self._is("ADVERBS", behind) or self._is("NEGATIONS", behind):
            behind += 1
        if self._is("BEING", verb):
            is_doing = self._language is en and self.words[min(behind, len(self.words) - 1)]
            if is_doing and is_doing.endswith("ing") and not self._is("LASTING", behind):
                return self._names_time()
            is_of_moment = self._is("MOODS", behind) or self._is("ANAPHORA", behind)
            return not is_of_moment or _DATE.search(self._text) is not None
        if self._is("NEGATED", verb):
            return not self._is("MENTAL", behind)
        if self._is("HAVING", verb):
            if self.words[verb + 1 : verb + 2] == ["been"]:
                return self._any("LASTING", behind) or not _SPANS.isdisjoint(self.words)
            is_done = self._is_past(behind) and not self._is("CHANGES", behind)
            return self._names_time() if is_done else not self._any("TROUBLES", behind)
        if self._is("COMING", verb):
            return self._names_time()
        return not self._is_past(verb) or self._is("CHANGES", verb)

    def _is_of_life(self, verb: int) -> bool:
        """True for what is past and still told: `I was a plumber`, `we went organic in 2019`."""
        is_role = self.words[verb] == "was" and self._is("DETERMINERS", verb + 1)
        roles = map(_may_be_role, self.words[verb + 2 : verb + _NEAR])
        return (is_role and any(roles)) or (
            self._is_past(verb) and _YEAR.search(self._text) is not None
        )

    def _is_got(self, verb: int) -> bool:
        """True for something that one has since a time: `we got a dog in May`."""
        is_thing = self._is("DETERMINERS", verb + 1) and not self._any("TROUBLES", verb + 1)
        return self.words[verb] == "got" and is_thing and self._names_time()

    def _is_past(self, number: int) -> bool:
        if number >= len(self.words):
            return False
        word = self.words[number]
        if self._language is en:
            return word in PAST_FORMS or (word.endswith("ed") and word != "need")
        return self._is("HAVING", number) and _PARTICIPLE.fullmatch(self.words[-1]) is not None
