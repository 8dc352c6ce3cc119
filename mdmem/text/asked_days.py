"""Days that a question names (`what did I say last Wednesday`), in six languages. Pure.

A week begins on Monday. `last Friday` is the nearest one before today, `on Friday` that one where
the question looks back, else the next; `two weeks ago` is that day, `on 20 March` the last one.
"""

from __future__ import annotations

import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache, lru_cache, partial
from itertools import chain
from re import Match, Pattern

from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.english import PAST_FORMS
from mdmem.text.terms import ENGLISH, stops

_WORDS: Mapping[str, Mapping[str, str]] = {
    ENGLISH: {
        "weekday": "monday tuesday wednesday thursday friday saturday sunday",
        "month": """
            january february march april may june july august september october november december
        """,
        "near": """
            -2=the_day_before_yesterday -2=day_before_yesterday -1=yesterday -1=last_night 0=today
            0=tonight 0=this_morning 0=this_afternoon 0=this_evening 1=tomorrow
            2=the_day_after_tomorrow 2=day_after_tomorrow
        """,
        "part": "0=morning 1=noon 1=afternoon 2=evening 2=night",
        "unit": """
            day=day day=days week=week week=weeks weekend=weekend weekend=weekends month=month
            month=months year=year year=years fortnight=fortnight fortnight=fortnights
        """,
        "part_of": "day=day week=week week=days week=few_days half=half",
        "last": "last past previous gone just_gone",
        "before_last": "before_last",
        "this": "this",
        "next": "next coming",
        "behind": "ago back earlier",
        "edge": "0=start 0=beginning 0=early 1=middle 1=mid 2=end 2=late",
        "rank": "1=first 2=second 3=third 4=fourth 5=fifth 0=last",
        "day_number": """
            first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
            thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
            twenty-first twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth
            twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first
        """,
        "number": """
            1=a 1=an 1=one 2=two 2=a_couple_of 2=couple_of 3=three 4=four 5=five 6=six 7=seven
            8=eight 9=nine 10=ten 11=eleven 12=twelve
        """,
        "on": "on since from until by around between",
        "in": "in since during from over at",
        "to": "to and until till through",
        "skip": "the of",
        "every": "every each always usually generally never",
    },
    "german": {
        "weekday": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "month": """
            januar februar marz april mai juni juli august september oktober november dezember
        """,
        "near": """
            -14=vor_vierzehn_tagen -7=vor_acht_tagen -2=vorgestern -1=gestern 0=heute 1=morgen
            2=ubermorgen
        """,
        "part": "0=fruh 0=morgen 0=vormittag 1=mittag 1=nachmittag 2=abend 2=nacht",
        "unit": """
            day=tag day=tage day=tagen week=woche week=wochen weekend=wochenende month=monat
            month=monate month=monaten month=monats year=jahr year=jahre year=jahren
        """,
        "part_of": "day=tag week=woche week=tagen week=tage half=halfte",
        "last": """
            letzten letzte letzter letztes letztem vergangenen vergangene vergangenes vorigen vorige
        """,
        "before_last": "vorletzten vorletzte vorletzter vorletztes",
        "this": "diesen diese diesem dieser dieses",
        "next": "nachsten nachste nachstes nachster kommenden kommende",
        "before": "vor",
        "edge": "0=anfang 0=beginn 1=mitte 2=ende",
        "rank": """
            1=ersten 1=erste 2=zweiten 2=zweite 3=dritten 3=dritte 4=vierten 4=vierte 5=funften
            0=letzten 0=letzte
        """,
        "day_number": """
            ersten zweiten dritten vierten funften sechsten siebten achten neunten zehnten elften
            zwolften dreizehnten vierzehnten funfzehnten sechzehnten siebzehnten achtzehnten
            neunzehnten zwanzigsten einundzwanzigsten zweiundzwanzigsten dreiundzwanzigsten
            vierundzwanzigsten funfundzwanzigsten sechsundzwanzigsten siebenundzwanzigsten
            achtundzwanzigsten neunundzwanzigsten dreißigsten einunddreißigsten
        """,
        "number": """
            1=einem 1=einer 2=zwei 3=drei 4=vier 5=funf 6=sechs 7=sieben 8=acht 9=neun 10=zehn
            11=elf 12=zwolf
        """,
        "on": "am seit vom von zum bis ab zwischen",
        "in": "im in seit",
        "to": "bis und",
        "skip": "der den dem des",
        "every": "jeden jede jedes jeder immer meistens normalerweise gewohnlich nie",
    },
    "french": {
        "weekday": "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "month": """
            janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre
        """,
        "near": """
            -14=il_y_a_quinze_jours -7=il_y_a_huit_jours -2=avant-hier -2=avant_hier -1=hier
            0=aujourd'hui 0=ce_matin 0=ce_soir 1=demain
            2=apres-demain
        """,
        "part": "0=matin 1=midi 1=apres-midi 2=soir",
        "unit": """
            day=jour day=jours week=semaine week=semaines weekend=weekend weekend=week-end
            month=mois year=an year=ans year=annee fortnight=quinzaine
        """,
        "part_of": "day=jour week=semaine week=jours half=moitie half=quinzaine",
        "last": "dernier derniere derniers dernieres passe passee",
        "before_last": "avant-dernier avant-derniere",
        "this": "ce cet cette",
        "next": "prochain prochaine",
        "before": "il_y_a",
        "edge": "0=debut 1=milieu 1=mi 2=fin",
        "rank": """
            1=premier 1=premiere 1=premiers 2=deuxieme 2=seconde 3=troisieme 4=quatrieme
            5=cinquieme 0=dernier 0=derniere 0=derniers
        """,
        "day_number": """
            premier deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze
            seize dix-sept dix-huit dix-neuf vingt vingt_et_un vingt-deux vingt-trois vingt-quatre
            vingt-cinq vingt-six vingt-sept vingt-huit vingt-neuf trente trente_et_un
        """,
        "number": """
            1=un 1=une 2=deux 3=trois 4=quatre 5=cinq 6=six 7=sept 8=huit 9=neuf 10=dix 11=onze
            12=douze
        """,
        "on": "le depuis du entre",
        "in": "en au depuis",
        "to": "au et",
        "skip": "le l la du de des",
        "every": "chaque tous toutes toujours general generalement jamais",
    },
    "spanish": {
        "weekday": "lunes martes miercoles jueves viernes sabado domingo",
        "month": """
            enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
        """,
        "near": """
            -14=hace_quince_dias -7=hace_ocho_dias -2=anteayer -2=antes_de_ayer -1=ayer -1=anoche
            0=hoy 0=esta_manana 1=manana 2=pasado_manana
        """,
        "part": "0=por_la_manana 1=por_la_tarde 2=por_la_noche 1=tarde 2=noche",
        "unit": """
            day=dia day=dias week=semana week=semanas weekend=fin_de_semana weekend=finde month=mes
            month=meses year=ano year=anos
        """,
        "part_of": "day=dia week=semana week=dias half=mitad half=quincena",
        "last": "pasado pasada ultimo ultima ultimos ultimas",
        "before_last": "antepasado antepasada",
        "this": "este esta",
        "next": "proximo proxima",
        "before": "hace",
        "edge": "0=principios 0=inicios 0=comienzos 1=mediados 2=finales 2=fines",
        "rank": """
            1=primer 1=primera 1=primeros 2=segundo 2=segunda 3=tercer 3=tercera 4=cuarto 4=cuarta
            5=quinto 0=ultimo 0=ultima 0=ultimos
        """,
        "day_number": """
            primero dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince
            dieciseis diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres
            veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve treinta
            treinta_y_uno
        """,
        "number": """
            1=un 1=una 2=dos 3=tres 4=cuatro 5=cinco 6=seis 7=siete 8=ocho 9=nueve 10=diez
            11=once 12=doce
        """,
        "on": "el el_dia desde del entre",
        "in": "en desde",
        "to": "al a y hasta",
        "skip": "el la de del",
        "every": "cada todos todas siempre general generalmente nunca",
    },
}
"""By language the closed classes of its words, without accents: `VALUE=WORD`, or the place in the
list, `_` for a space.
"""
_SINCE = ("since ", "seit ", "depuis ", "desde ")
_NTH = r"(?:st|nd|rd|th|er|\.)?"
_AT_END = r"(?=\s*[?!.]*\s*$)"
_FEW = "(?:a|ein)\\ (?:few|paar)|few|paar|einigen|quelques|pocos|unos|unas"
_FEW_UNITS = 2, 5
"""The fewest and the most of a few."""
_QUOTED = late.pattern(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」")
_WORD = late.pattern(r"[^\W\d_]+")
_PAST = late.pattern(
    r"\b(?:did|was|were|had|said|told|went|came|happened|mentioned|you've|i've|"
    r"war|waren|hatte|hatten|wurde|gab|ging|kam|sagte|ge\w{2,}(?:t|en)|(?:be|er|ver)\w{3,}t|"
    r"ai|avait|avais|[eé]tai[st]|avons|dit|hice|hizo|dije|dijo|fue|fui|hab[ií]a|hubo|pas[oó]|"
    r"estuve|\w{2,}(?:aron|ieron|aste|iste))\b|\b\w{2,}[éó]\b|[了过過]|た(?:[？?。のか]|$)|ました|でした"
)
_OF_PERSON = late.pattern(r"\b(?:i|we|he|she|they|who) (\w+)")
_TO_COME = late.pattern(
    r"\b(?:will|going to|(?<!did i )(?<!did we )have to|werde|wird|vais|va|dois|voy|"
    r"tengo que)\b|\bvor\W*$"
)
_HAN = late.pattern(
    r"(?P<near>前天|一昨日|おととい|昨天|昨日|昨晚|昨夜|きのう|今天|今日|今早|今晚|きょう|明天|明日|あした)"
    r"|(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]"
    r"|(?P<which>上|先|这|這|今|本|下|来)?(?:个|個)?(?:周|週|星期|礼拜)の?"
    r"(?P<weekday>[一二三四五六日天月火水木金土])(?:曜日?)?"
    r"|(?P<sunday>[月火水木金土日])曜日?"
    r"|(?P<count>\d{1,3}|[一二两兩三四五六七八九])\s?(?:个|個|か|ヶ|カ)?"
    r"(?P<units>天|日|周|週|星期|月|年)間?(?:之|以)?前"
    r"|(?P<last>上个?周|上個?週|上个?星期|上个?月|上個?月|先週|先月|去年|昨年)"
)
_HAN_WEEKDAYS = ("一月", "二火", "三水", "四木", "五金", "六土", "日天")
_HAN_UNITS = {"天": "day", "日": "day", "月": "month", "年": "year"}
_HAN_NUMBERS = "一二三四五六七八九"
_PARTS = range(4, 12), range(11, 18), range(17, 24)
_EDGES = (1, 10), (11, 20), (21, 31)
_PARTS_OF_MONTH = {
    "half": ((1, 15), (16, 31)),
    "week": ((1, 7), (8, 14), (15, 21), (22, 28), (25, 31)),
}
"""The last one is the last."""
_QUESTIONS_KEPT = 64
_WEEK = 7
_LENGTHS = {"day": 1, "week": _WEEK, "fortnight": 2 * _WEEK}
_VAGUE = 5
"""A day `three weeks ago` may be a fifth of that earlier or later."""
_YEARS = 8
"""29 February was in one of so many years before."""


@dataclass(frozen=True, slots=True)
class AskedDays:
    """Days, both inclusive, the question without the words for them, and if it looks back.

    `hours`: the part of a day that it names, from the first hour up to the last. `around`: days
    before and behind that may be meant too, by one who counts weeks or months back.
    """

    first: date
    last: date
    words: str
    looks_back: bool
    hours: range = range(24)
    around: int = 0


_Days = tuple[date, date]


@lru_cache(maxsize=_QUESTIONS_KEPT)
def asked_days(question: str, today: date) -> AskedDays | None:
    """The days that a question names; None where it names none, or those of every week."""
    plain = _plain(question)
    has_digit = any(each.isdigit() for each in plain)
    if len(plain) != len(question) or (
        plain.isascii() and not has_digit and _day_words().isdisjoint(_WORD.findall(plain))
    ):
        return None
    text = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), question)
    plain = _plain(text).replace(" l'", " l ")
    is_past = _looks_back(text.lower(), plain)
    try:
        for match, meant in _readings(text, plain):
            if days := meant(match, today, is_past):
                days = _widened(match, days, today)
                looks_back = days[0] <= today and (is_past or days[1] <= today)
                words = f"{question[: match.start()]} {question[match.end() :]}"
                return AskedDays(
                    first=days[0],
                    last=days[1],
                    words=words,
                    looks_back=looks_back,
                    hours=_hours(match[0].lower()),
                    around=_around(match, today - days[0]),
                )
    except (ValueError, OverflowError, IndexError):  # 31 June, or before the first year
        pass
    return None


def _looks_back(text: str, plain: str) -> bool:
    """True where the last verb that tells of a time tells of the past."""
    ends = [match.end() for match in _PAST.finditer(text)]
    ends += (
        match.end()
        for match in _OF_PERSON.finditer(plain)
        if match[1].endswith("ed") or match[1] in PAST_FORMS
    )
    return max(ends, default=-1) > max(
        (each.end() for each in _TO_COME.finditer(plain)), default=-1
    )


def _widened(match: Match[str], days: _Days, today: date) -> _Days:
    """The whole week of a day, and all days since one."""
    if match.re.groupindex.get("week_of") and match["week_of"]:
        return _moved("week", 0, days[0])
    return (days[0], today) if match[0].lower().startswith(_SINCE) and days[0] <= today else days


def _readings(
    text: str, plain: str
) -> Iterator[tuple[Match[str], Callable[[Match[str], date, bool], _Days | None]]]:
    if match := _HAN.search(text):
        yield match, _han_days
        return
    for language in _languages(plain):
        if not _every(language).search(plain) and (match := _pattern(language).search(plain)):
            yield match, partial(_days, language)


@cache
def _day_words() -> frozenset[str]:
    """The words one of which is in every phrase without a number, in whatever language."""
    kinds = ("weekday", "month", "near", "unit", "day_number")
    listed = [words for language in _WORDS for kind in kinds for words in _values(language, kind)]
    longer = (
        f"{day}{end}"
        for language in _WORDS
        for day in _values(language, "weekday")
        for end in ("s", *_values("german", "part"))
    )
    words = chain.from_iterable(map(_WORD.findall, (*listed, *longer)))
    return frozenset(words) - {"the", "this"}


def _plain(text: str) -> str:
    """Lower case without accents, character by character."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    return "".join(unicodedata.normalize("NFD", each)[0] for each in lowered).replace("’", "'")


def _languages(plain: str) -> list[str]:
    words = set(_WORD.findall(plain)) - _day_words()
    counts = {name: sum(stops(word, name) for word in words) for name in _WORDS}
    return [name for name, count in counts.items() if count == max(counts.values())]


@cache
def _values(language: str, kind: str) -> dict[str, str]:
    listed = _WORDS[language].get(kind, "").split()
    pairs = (each.rpartition("=") for each in listed)
    return {
        word.replace("_", " "): value or str(place) for place, (value, _, word) in enumerate(pairs)
    }


def _any(language: str, *kinds: str) -> str:
    words = [word for kind in kinds for word in _values(language, kind)]
    return "|".join(sorted(words, key=len, reverse=True)).replace(" ", r"\ ") or r"(?!)"


@cache
def _every(language: str) -> Pattern[str]:
    return late.pattern(rf"\b(?:{_any(language, 'every')})\b")


@cache
def _pattern(language: str) -> Pattern[str]:
    any_of = {kind: f"(?:{_any(language, kind)})" for kind in (*_WORDS[ENGLISH], "before")}
    side = f"(?:{_any(language, 'last', 'before_last', 'this', 'next')})"
    what = f"(?:{_any(language, 'unit', 'weekday', 'month')})"
    units = _values(language, "unit")
    day, week, weekend = (
        f"(?:{'|'.join(word.replace(' ', '[ ]') for word in units if units[word] == unit)})"
        for unit in ("day", "week", "weekend")
    )
    skip = rf"(?:{any_of['skip']}\ )"
    on = rf"(?:{_any(language, 'on', 'in')})\ {skip}?"
    led = rf"(?:{on}|{skip})?"
    part = rf"(?:\ ?{any_of['part']})?"
    before_date = rf"(?:{any_of['weekday']},?\ {skip}?)?"
    of = rf"{skip}{'' if language == ENGLISH else '?'}"
    up_to = rf"{_NTH}(?:\ {any_of['to']}\ {led}|\ ?[-–]\ ?)"
    counted_in = rf"(?:{any_of['unit']}|{any_of['weekday']}(?:s|en)?)"
    year = rf"(?:,?\ {skip}?(?P<{{}}>\d{{{{4}}}}))?"
    count = rf"(?:\d{{1,3}}|{_any(language, 'number')}|(?:{_FEW})(?=\ (?:{day}|{week})))"
    from_day = rf"(?:{any_of['near']}|{led}{any_of['weekday']})"
    bare_end = r"(?=\s*(?:[?!.,;]|$))" if language in ("french", "spanish") else "(?!)"
    ago = rf"{any_of['before']}\ {count}|{count}\ {counted_in}\ {any_of['behind']}"
    return late.pattern(
        rf"""(?x)(?<![\w'-])(?<!half\ )(?P<week_of>{week}\ (?:{skip}|{on}))?(?:
        {led}(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})
        |(?P<near>{any_of["near"]})(?!,?\ (?:{ago}))(?:'s)?{part}
        |(?:(?P<origin>{from_day}),?\ )?(?:
            {any_of["before"]}\ (?P<count>{count})\ (?P<units>{counted_in})
            |(?P<count__2>{count})\ (?P<units__2>{counted_in})\ {any_of["behind"]}
        )(?:,?\ (?P<origin__2>{from_day}))?
        |{led}(?:{any_of["last"]}\ (?P<recent>{count}|{_FEW})
            |(?P<recent__2>{count}|{_FEW})\ {any_of["last"]})\ (?P<recent_units>{any_of["unit"]})
        |{led}(?P<edge>{any_of["edge"]})[ -](?:in\ )?{skip}*
            (?:(?P<side__3>{side})\ )?(?P<of_month>{any_of["month"]}|{any_of["unit"]})
            {year.format("of_year")}
        |{led}(?P<rank>{any_of["rank"]})\ (?P<ranked>{any_of["weekday"]}|{any_of["part_of"]})
            \ (?:{any_of["in"]}\ )?{skip}*(?:(?P<side__4>{side})\ )?
            (?P<of_month__2>{any_of["month"]}|{any_of["unit"]}){year.format("of_year__2")}
        |{led}{before_date}(?:(?P<from_day>\d{{1,2}}){up_to})?
            (?:(?P<day>\d{{1,2}}){_NTH}\ {skip}?|(?P<day__2>{any_of["day_number"]})\ {of})
            (?P<month>{any_of["month"]}){year.format("year")}
        |{led}{before_date}(?P<month__2>{any_of["month"]})\ {skip}?(?P<day__3>\d{{1,2}})(?!\d)
            {_NTH}(?:,?\ (?P<year__2>\d{{4}}))?
        |(?:{led}{any_of["weekday"]},?\ {skip}?|{any_of["on"]}\ {skip}?)
            (?:(?P<from_nth>\d{{1,2}}){up_to})?
            (?:(?P<nth>\d{{1,2}})(?:(?:st|nd|rd|th|\.)(?!\d)|{bare_end})
                |(?P<nth__2>{any_of["day_number"]}))
        |{skip}(?P<bare_nth>\d{{1,2}})(?:st|nd|rd|th|\.){_AT_END}
        |{led}(?P<of_week>{any_of["weekday"]}){part}\ {skip}*
            (?:(?P<side__5>{side})\ )?{week}(?:\ (?P<side__6>{side}))?
        |{led}(?P<side__7>{side})\ {week}\ (?:{on})?(?P<of_week__2>{any_of["weekday"]}){part}
        |{led}(?P<side>{side})\ (?P<what>{what})(?:'s)?(?P<but_one>\ but\ one)?{part}
        |{led}(?P<what__2>{what}){part}\ (?P<side__2>{side})
        |{on}(?P<weekend>{weekend})(?<!s)
        |{any_of["on"]}\ (?:(?P<from_weekday>{any_of["weekday"]})\ {any_of["to"]}\ {led})?
            (?P<weekday>{any_of["weekday"]}){part}
        |(?P<bare_weekday>{any_of["weekday"]})(?:\ {any_of["part"]}|{_AT_END})
        |{any_of["in"]}\ (?P<in_month>{any_of["month"]}){year.format("in_year")}
        )(?![\w'-])"""
    )


def _days(language: str, match: Match[str], today: date, is_past: bool) -> _Days | None:
    found = {name.partition("__")[0]: value for name, value in match.groupdict().items() if value}
    months, step = _values(language, "month"), _step(language, found.get("side", ""))
    if iso := found.get("iso"):
        return date.fromisoformat(iso), date.fromisoformat(iso)
    if near := found.get("near"):
        return _moved("day", int(_values(language, "near")[near]), today)
    if count := found.get("count"):
        fewest, most = _counts(language, count)
        return _counted(language, most, found, today)[0], _counted(language, fewest, found, today)[
            1
        ]
    if recent := found.get("recent"):
        unit = _values(language, "unit")[found["recent_units"]]
        return _ago(unit, sum(_counts(language, recent)) // 2, today)[0], today
    if what := found.get("of_month"):
        unit = "" if what in months else _values(language, "unit")[what]
        if unit == "week" and "edge" in found:
            return _moved("week", step, today)
        if unit in ("", "month"):
            month = _moved(unit, step, today) if unit else None
            year = found.get("of_year")
            return _part_of(language, found, month or _month(int(months[what]) + 1, year, today))
        return None
    if name := found.get("month"):
        nth = _nth(language, found["day"])
        day, _ = _day(nth, int(months[name]) + 1, found.get("year"), today, is_past)
        return day.replace(day=int(found.get("from_day", nth))), day
    if what := found.get("what"):
        return _named(language, what, step - ("but_one" in found), today)
    if of_week := found.get("of_week"):
        monday, _ = _moved("week", step, today)
        return _weekday(int(_values(language, "weekday")[of_week]), 0, monday)
    if "weekend" in found:
        first, last = _moved("weekend", 0, today)
        return _moved("weekend", -1, today) if is_past and first >= today else (first, last)
    if weekday := found.get("weekday", found.get("bare_weekday") if is_past else None):
        last, _ = _named(language, weekday, -1 if is_past else 1, today)
        begun, _ = _named(language, found.get("from_weekday", weekday), 0, last)
        return last - (last - begun) % timedelta(weeks=1), last
    if name := found.get("in_month"):
        return _month(int(months[name]) + 1, found.get("in_year"), today)
    named = found.get("nth", found.get("bare_nth") if is_past else None)
    if named and (named.isdigit() or not _is_another_nth(language, match)):
        nth = _nth(language, named)
        first, _ = _moved("month", -(is_past and nth > today.day), today)
        return first.replace(day=int(found.get("from_nth", nth))), first.replace(day=nth)
    return None


def _counts(language: str, count: str) -> tuple[int, int]:
    """The number that a word says, as the fewest and most that it may mean."""
    number = _values(language, "number").get(count, count)
    return (int(number), int(number)) if number.isdigit() else _FEW_UNITS


def _nth(language: str, day: str) -> int:
    return int(day) if day.isdigit() else int(_values(language, "day_number")[day]) + 1


def _is_another_nth(language: str, match: Match[str]) -> bool:
    """True for `on the third attempt`, and for `le premier`: that is no day."""
    after = _WORD.match(match.string, match.end() + 1)
    is_first = _nth(language, match["nth__2"]) == 1 and language in ("french", "spanish")
    return is_first or (after is not None and not stops(after[0], language))


def _counted(language: str, count: int, found: Mapping[str, str], today: date) -> _Days:
    """So many units before today, or before another day: `a week ago yesterday`."""
    near, weekdays = _values(language, "near"), _values(language, "weekday")
    unit, origin = found["units"], found.get("origin", "")
    if weekday := next(filter(unit.startswith, weekdays), None):
        return _weekday(int(weekdays[weekday]), -count, today)
    days = _ago(_values(language, "unit")[unit], count, today)
    if weekday := next(filter(origin.endswith, weekdays), None):
        return _weekday(int(weekdays[weekday]), 0, days[0])
    return _moved("day", int(near[origin]), days[0]) if origin else days


def _part_of(language: str, found: Mapping[str, str], month: _Days) -> _Days:
    """The start, the first Saturday, the second week or the last days of a month."""
    first, last = month
    if edge := found.get("edge"):
        start, end = _EDGES[int(_values(language, "edge")[edge])]
    else:
        rank, what = int(_values(language, "rank")[found["rank"]]) - 1, found["ranked"]
        weekday = int(_values(language, "weekday").get(what, first.weekday()))
        begun = 1 + (weekday - first.weekday()) % _WEEK
        part = _values(language, "part_of").get(what, "")
        spans = _PARTS_OF_MONTH.get(part) or [
            (day, day) for day in range(begun, last.day + 1, _WEEK if not part else 1)
        ]
        start, end = spans[rank]
    return first.replace(day=start), first.replace(day=min(end, last.day))


def _hours(phrase: str) -> range:
    plain = _plain(phrase)
    parts = (part for language in _WORDS for part in _values(language, "part").items())
    return next((_PARTS[int(part)] for word, part in parts if word in plain), range(24))


def _around(match: Match[str], age: timedelta) -> int:
    named = match.groupdict()
    is_counted = named.get("count") or named.get("count__2") or named.get("near")
    is_exact = named.get("origin") or named.get("origin__2")
    return age.days // _VAGUE if is_counted and not is_exact and age.days >= _WEEK else 0


def _step(language: str, side: str) -> int:
    steps = {"next": 1, "last": -1, "before_last": -2}
    return sum(step for kind, step in steps.items() if side in _values(language, kind))


def _named(language: str, what: str, step: int, today: date) -> _Days:
    """The days of `last`, `this` or `next` before a unit, a weekday or a month."""
    if unit := _values(language, "unit").get(what):
        return _moved(unit, step, today)
    if what in (months := _values(language, "month")):
        first, last = _month(int(months[what]) + 1, None, today)
        is_another = step > 0 or (step < 0 and today <= last)
        return _month(first.month, str(first.year + step * is_another), today)
    return _weekday(int(_values(language, "weekday")[what]), step, today)


def _weekday(weekday: int, step: int, today: date) -> _Days:
    if step < 0:
        weeks = timedelta(weeks=-1 - step)
        day = today - timedelta(days=(today.weekday() - weekday - 1) % _WEEK + 1) - weeks
    elif step > 0:
        day = today + timedelta(days=(weekday - today.weekday() - 1) % _WEEK + 1)
    else:
        day = today + timedelta(days=weekday - today.weekday())
    return day, day


def _day(day: int, month: int, year: str | None, today: date, is_past: bool) -> _Days:
    """A day of a month; without a year the last one, or the nearest where nothing looks back."""
    years = [int(year)] if year else range(today.year - _YEARS, today.year + 2)
    days = [date(each, month, day) for each in years if day <= monthrange(each, month)[1]]
    before = [each for each in days if is_past and each <= today]
    nearest = min(before or days, key=lambda each: abs(each - today))
    return nearest, nearest


def _month(month: int, year: str | None, today: date) -> _Days:
    number = int(year) if year else today.year - (month > today.month)
    return date(number, month, 1), date(number, month, monthrange(number, month)[1])


def _moved(unit: str, count: int, today: date) -> _Days:
    """The day, week, weekend, month or year `count` units away, the present one for 0."""
    if unit == "day":
        day = today + timedelta(days=count)
        return day, day
    if unit in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=count)
        return monday + timedelta(days=5 * (unit == "weekend")), monday + timedelta(days=6)
    if unit == "fortnight":
        day = today + timedelta(days=count * _LENGTHS[unit])
        return min(day, today), max(day, today)
    if unit == "month":
        months = today.year * 12 + today.month - 1 + count
        return _month(months % 12 + 1, str(months // 12), today)
    year = today.year + count
    return date(year, 1, 1), date(year, 12, 31)


def _ago(unit: str, count: int, today: date) -> _Days:
    """The day so many units before; of a weekend its days."""
    if unit == "weekend":
        return _moved(unit, -count, today)
    if unit in _LENGTHS:
        return _moved("day", -count * _LENGTHS[unit], today)
    first, last = _moved("month", -count * (12 if unit == "year" else 1), today)
    day = first.replace(day=min(today.day, last.day))
    return day, day


def _han_days(match: Match[str], today: date, is_past: bool) -> _Days | None:
    if near := match["near"]:
        step = -2 if near[0] in "前一お" else -1 if near[0] in "昨き" and near != "きょう" else 0
        return _moved("day", 1 if near[0] in "明あ" else step, today)
    if match["month"]:
        return _day(int(match["day"]), int(match["month"]), match["year"], today, is_past)
    if match["count"]:
        count = match["count"]
        number = int(count) if count.isdigit() else (_HAN_NUMBERS.find(count) + 1 or 2)
        return _ago(_HAN_UNITS.get(match["units"], "week"), number, today)
    if last := match["last"]:
        return _moved({"月": "month", "年": "year"}.get(last[-1], "week"), -1, today)
    named = match["weekday"] or match["sunday"]
    weekday = next(place for place, names in enumerate(_HAN_WEEKDAYS) if named in names)
    if match["which"]:
        step = -1 if match["which"] in "上先" else 1 if match["which"] in "下来" else 0
        monday = _moved("week", step, today)[0]
        return _moved("day", weekday, monday)
    return _weekday(weekday, -1 if is_past else 1, today)
