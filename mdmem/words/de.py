"""Words of German. `en` says what each table is for."""

from __future__ import annotations

_I = r"(?:ich|wir)"
FUNCTION_WORDS = """
der die das und ist nicht den dem ein eine im zu auf mit für sind war wird bei nur noch auch wir
ich bis von vom zum zur aus nach schon wieder sehr oder aber wenn kein keine mir mich dir dich
"""
LANGUAGES = (
    r"deutsch|englisch|französisch|spanisch|italienisch|polnisch|russisch|türkisch|"
    r"latein|niederländisch|japanisch|chinesisch|portugiesisch|schwedisch"
)
NEW_TEXTS = (
    r"\b(?:antworte|antworten|beantworte|schreib\w*|verfass\w*|"
    r"entwirf)\b[^.!?]{0,40}\b(?:antwort|mail|e-?mail|brief|nachricht|text|darauf|drauf|"
    r"geschichte|gedicht|lied)\b",
)
TEXT_WORK = (
    r"\b(?:über|ueber)setz\w*",
    r"\b(?:korrigier|korrekturles|lektorier|formulier|umformulier|redigier|transkribier|"
    r"paraphrasier|klassifizier|anonymisier|kürz|verbesser)\w*",
    r"\bfass\w*\b[^.!?]*\bzusammen\b|\bzusammen(?:zu)?fass\w*",
    *NEW_TEXTS,
    r"\b(?:antworte|antworten|beantworte)\b[^.!?]{0,20}"
    r"\b(?:auf(?! (?:deutsch|englisch)\b)|ihm|ihr|ihnen|das|darauf)\b",
    r"\bwas (?:soll|kann|könnte|würdest|hältst|meinst|denkst|sagst)\b|\bwie (?:soll|würdest|"
    r"klingt|findest)\b|\bklingt das\b",
    r"\b(?:ist|passt|stimmt) (?:das|dieser?|dieses|der text|die mail)\b[^.!?]*\?",
    r"\b(?:erklär|analysier|prüf|bewert|beurteil|lies|zitier|extrahier|sortier|formatier|"
    r"überarbeit|ergänz|teste?)\w*\b[^.!?]{0,40}"
    r"\b(?:das|dies\w*|den|folgende\w*|text|satz|sätze|witz|mail|brief|zeile\w*|artikel|liste|"
    r"es)\b",
    r"\b(?:weitergeleitet|weiterleitung)\b",
    r"\bwie viele fehler\b|\b(?:rechtschreib|grammatik|tipp)fehler\w*",
    r"\b(?:stell dir vor|tu so|du bist (?:ein|eine|der|die)|spiel\w* (?:einen?|die|den))\b",
    r"\bim stil (?:von|eines|einer)\b",
    r"\b(?:wo|was|wie|woher|wann|seit wann) (?:wohnst|heißt|kommst|isst|arbeitest|machst|magst|"
    r"trinkst|lebst|bist) du\b",
    r"^\W*(?:kürzer|länger|höflicher|freundlicher|netter|förmlicher|lockerer)(?: bitte)?\W*$",
)
_ASIDE = r"übrigens|(?:nur )?zur info|tatsächlich|eigentlich"
INTERJECTIONS = (
    r"(?:ok(?:ay)?|ja|nein|doch|also|so|ach|hallo|hi|danke|genau|gut|sorry|moment|stimmt)\b",
    r"(?:achtung|korrektur(?: zu[mr]? [\w ]{1,30})?|wichtig|kleine änderung|zur erinnerung)\b",
)
OPENERS = (*INTERJECTIONS, rf"(?:{_ASIDE}|bitte|und|aber|außerdem|derzeit|momentan|aktuell)\b")
OWN = (
    r"(?:ich|wir|mein(?:e[mnrs]?)?|unser(?:e[mnrs]?)?|mir|mich|uns)\b",
    r"(?:merk(?:e)? (?:dir|euch)|(?:kannst|könntest) du (?:dir|euch) (?:bitte )?merken)\b",
    r"(?:denk(?:e)? (?:bitte )?(?:daran|dran)|vergiss nicht)\b",
    r"(?:ab (?:jetzt|sofort|heute)|von nun an|künftig|in zukunft|lass uns)\b",
    r"(?:antworte?|sprich|schreib(?:e)?) (?:mir |mit mir )?(?:bitte )?"
    r"(?:immer|nie|stets|nur)\b",
    r"(?:nenn(?:e)? mich|bitte (?:immer|nie|niemals)|(?:immer|niemals) )\b",
)
REQUESTS = (
    r"kannst du (?:mir |uns )?(?:bitte )?einen? (?:termin|tisch|ticket|zug|flug|hotel)\b",
    r"such(?:e)? (?:mir|uns)\b",
    r"(?:gibt es|kennst du|wo|wann|wie (?:viel\w*|lange|weit|oft))\b",
)
GREETINGS = (r"(?:hallo|hi|danke|guten (?:morgen|tag)|(?:guten )?abend|super|perfekt)\b",)
REMEMBERING = (r"(?:kannst|könntest) du (?:dir|euch) (?:bitte )?merken,? dass\b",)
LABELS = (
    r"(?:präferenzen|vorlieben|regeln|entscheidung(?:en)?|fakt(?:en)?|wichtig|notiz)",
    r"(?:(?:meine|unsere|einige|ein paar) (?:regeln|vorlieben))",
    r"(?:bitte )?(?:merk(?:e)? dir|denk(?:e)? daran|vergiss nicht)(?: bitte)?(?: folgendes)?",
)
NOT_PLAIN = (
    r"\b(?:wenn|falls|ob|angenommen|zum beispiel|z\.\s?b\.|beispielsweise|würde|würden|könnte|"
    r"hätte|sollte|vielleicht)\b",
    r"\b(?:sagt|sagte|sagen|schreibt|schrieb|meint|meinte|laut|steht|behauptet)\b",
    r"\b(?:wünsch|hoff)\w*\b",
)
TEXTS = (
    r"\b(?:mails?|e-?mails?|brief\w*|texte?s?|nachricht\w*|artikel\w*|sätze?|satz|gedicht\w*|"
    r"hausaufgabe\w*|übung\w*|übersetzung\w*|aufsatz|diktat)\b",
)
BRINGS = (
    r"\b(?:dies\w*|folgend\w*|hier|unten|(?-i:schick\w*|geschickt|schr[ei]\w*|geschrieben|sag\w*|"
    r"gesagt|erzähl\w*|frag\w*|gefragt|gepostet|postete?n?|antwort\w*|kopier\w*))\b",
)
TAINTS = (r"\b(?:das|dies\w*|folgend\w*|hier|unten|er|sie|ihm|ihr\w*|sein\w*|(?<!gibt )es)\b",)
LEADS_IN = (
    r"(?:ich|wir) (?:hab\w*|brauch\w*|will|wollen|möchte\w*)\b",
    r"(?:ich|wir) (?:bekam|fand|las|schreib\w*|suche\w*)\b",
)
SPEAKING = r"antwort|schreib|sprech|sprich|immer"
ADDRESSING = (
    "(?:hallo|hi|guten (?:morgen|tag|abend)|moin|servus|liebe[rs]?)",
    "(?:zusammen|alle|leute|team|mama|papa)",
)
SIGN_OFFS = (
    r"(?:mit )?(?:freundlichen|vielen|besten|lieben|herzlichen) grüßen",
    r"(?:(?:viele|liebe|beste|herzliche|schöne) grüße|gruß|lg|mfg)",
)
KEPT_CLAUSES = (
    (
        r"(?:bitte )?(?:merk(?:e)?|merkt) (?:dir|euch)(?: bitte)?\b|"
        r"(?:kannst|könntest) du (?:dir|euch) (?:bitte )?merken\b|denk(?:e)? (?:bitte "
        r")?(?:daran|dran)\b|vergiss (?:bitte )?nicht\b",
        "fact",
    ),
    (r"(?:ab (?:jetzt|sofort|heute)|von nun an|künftig|in zukunft)\b", "decision"),
    (
        rf"{_I} (?:haben?|hab) (?:uns |mich )?(?:[^.,;!?]{{0,60}} )?"
        r"(?:beschlossen|entschieden|vereinbart|geeinigt|festgelegt)\b",
        "decision",
    ),
    (rf"{_I} (?:nehmen?|verwenden?|benutzen?|nutzen?|bleiben? bei|wechseln?)\b", "decision"),
    (
        rf"{_I} (?:bevorzug\w*|mag|mögen|hasse|liebe|vertrage|esse|trinke)\b",
        "preference",
    ),
    (rf"{_I} (?:\w+ )?(?:nie|niemals|immer|lieber)\b", "preference"),
    (
        r"ich (?:bin|habe)\b[^.!?]{0,40}\b(?:allergi\w+|vegan\w*|vegetari\w+|unverträglich\w*)\b",
        "preference",
    ),
    (r"mein(?:e)? lieblings\w+ (?:ist|sind)\b", "preference"),
    (
        rf"{_I} (?:wohnen?|leben?|arbeiten?|heiße|studiere|unterrichte)\b",
        "fact",
    ),
    (r"mein(?:e)? \w+(?: \w+)? (?:ist|heißt|sind|wohnt|arbeitet|hat)\b", "fact"),
    (r"ich bin\b(?= (?:\w+ )?(?:ab|bis|seit|vom|jahrgang|in)\b)", "fact"),
)
PASSING = (r"\b(?:(?<!ab )heute?|irgendwann|gerade|noch (?:nicht|kein\w*))\b",)
CONJUNCTIONS = "und|aber|denn"
PRONOUNS = (r"\b(?:ich|wir)\b",)
ASIDES = (r"\bübrigens\W*$",)
THAT = (r"\bdass\b",)
POSSESSIONS = (
    r"(?:mein\w*|unser\w*)\b" r"(?!.*\b(?:ist|sind|hat|haben|heißt|heißen|wohnt|arbeitet)\b)",
)
MAIL_HEADERS = "von|betreff"
WROTE = "schrieb"
SALUTATIONS = r"liebe[rs]?|sehr[ ]geehrte\w*"
SOURCES = "aus|von"
CHARACTERS = ()

# Behind an ordinal number (`am 30. September`), or before one.
MONTHS = """
januar jänner februar märz april mai juni juli august september oktober november dezember
"""
BEFORE_ORDINALS = "am vom zum bis ab seit der dem den des"

FORGET_REQUESTS = (
    r"^(?:[^.!?]{1,80}, und )?vergiss(?! (?:bitte )?nicht)(?:,? bitte)?,?"
    r"(?: dass| (?:das|alles) (?:mit|über|von)| was (?:ich|wir) (?:über|von|zu))? (?=\S)",
)
COMING_NEXT = (r"\bhier kommt\b|\b(?:kommt|folgt|schick\w*(?: ich)?(?: dir)?) (?:jetzt|gleich)\b",)
RIDDLES = (r"\b(?:(?:wer|was) bin ich|ist das (?:richtig|korrekt)|fehler)\b",)
YOU_MAY = r"(?:kannst|könntest|würdest) du(?: (?:bitte|mir|mal|noch))*"
BROUGHT = (
    r"^(?:und )?(?:das|dies|so) (?:schreibt|schrieb|sagt|sagte|steht|stand|stammt|kommt)\b",
    r"^(?:und )?(?:das|dies) (?:ist|war) (?:aus|von|was)(?! (?:ich|wir|\d))\b",
)
ERASE_REQUESTS = (
    r"^das mit (?P<topic_de>.{3,60}?) (?:vergiss|lösche?|streiche?|lass)\b",
    r"^(?:bitte )?(?:lösche?|streiche?)(?: bitte)? das (?:mit|über|von) (?=\w)",
)

# How a night words a line

LEADS = (
    rf"(?:{_ASIDE}|bitte|ab (?:jetzt|sofort|heute)|von nun an|künftig|in zukunft)\b",
    r"(?:kannst du (?:dir|euch) (?:bitte )?merken|(?:bitte )?merk(?:e|t)? (?:dir|euch)"
    r"(?: bitte)?|vergiss (?:bitte )?nicht|denk(?:e)? (?:bitte )?(?:daran|dran))"
    r"(?:,? dass\b|(?=[:,]))",
)
TAILS = (rf"(?:{_ASIDE}|bitte|danke|ab (?:jetzt|sofort|heute)|jetzt|künftig)",)
ASIDES_WITHIN = (rf"(?:{_ASIDE})",)
TURNED = (r"(?P<verb>\w+) (?P<subject>ich|wir)\b",)
DECISION_FRAMES = (
    r"(?:wir|ich) (?:haben|habe) (?:uns |mich )?(?:\d{4}(?:-\d\d){0,2} )?"
    r"(?:beschlossen|entschieden|vereinbart|geeinigt),? ?(?:dass)?",
    r"lass(?:t)? uns\b",
)
CHOSEN = CHOOSING = ()
MEANT = r"(?:ich|wir) mein(?:e|te|en|ten)"
REASON = r"(?:weil|(?<=, )(?:da|denn))"
COPULA = r"(?:ist|sind|war|heißt|wird|liegt bei|:)"
COPULA_BACK = r"(?:ist|sind|wird) (?:jetzt |nun )?(?:der|die|das|unser\w*|mein\w*)"
BY_NOW = r"(?:jetzt|nun|inzwischen|mittlerweile|derzeit|aktuell|wieder)"
BY_NOW_WORDS = "jetzt nun inzwischen mittlerweile künftig wieder mehr"
ARTICLES = r"(?:der|die|das|den|dem|unser\w*|mein\w*|ein\w*)"
CONTRASTS = r"(?:und )?(?:nicht|nicht mehr|statt)\b"
GOING_BACK = r"(?:zurück|wieder) zu[mr]?"
VALUE_ENDS = r",? (?:weil|(?<=, )(?:da|denn)|aber|bis|und (?:ich|wir))\b"
UNTIL_WORDS = r"(?:bis(?: zum)?)"
THING_ATTRIBUTES = (
    (
        r"(?P<thing>[\w -]{2,40}?) (?:läuft|lauscht|ist)(?: jetzt)? auf port (?P<value>\d{2,5})",
        "{thing} port",
    ),
)
POSSESSIVES = r"(?:mein|unser)e?\b"
SPEAKERS = r"ich bin (?!nicht\b)|(?:ich|wir)\b"
OF_ANOTHER = (r"(?:er|sie)\b",)
HEDGES = "eigentlich übrigens einfach ziemlich wohl vielleicht tatsächlich bitte halt eben mal"
OPPOSITES = "vor/nach über/unter mehr/weniger erste/letzte links/rechts"
UNITS = "sekunden minuten stunde stunden tag tage woche wochen monat monate jahr jahre prozent"
TENS = "zehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert"
# From zero on.
NUMERALS = """
null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn
sechzehn siebzehn achtzehn neunzehn zwanzig
"""

# The attribute that a statement is about

SECOND_PERSON = "du dir dich dein deine deinen euch"
WEEKDAYS = "montag dienstag mittwoch donnerstag freitag samstag sonntag"
FIRST_PERSON = "ich wir mein meine meinen meiner unser unsere"
_NAME = r"(?-i:[A-ZÄÖÜ])[\w&.-]*\w(?: (?-i:[A-ZÄÖÜ])[\w&.-]*\w)?"
_BY_NOW_WITHIN = r"(?: (?:ich|wir|jetzt|nun|inzwischen|mittlerweile))*"
ATTRIBUTES = (
    (
        "wohne wohnen lebe leben",
        rf"(?:\b(?:ich|wir) )?\b(?:wohnen?|leben?){_BY_NOW_WITHIN} in (?P<value>{_NAME})",
        "home",
    ),
    (
        "gezogen umgezogen",
        rf"\b(?:ich bin|bin ich|wir sind|sind wir)\b[^.,]{{0,20}} nach (?P<value>{_NAME}) "
        r"(?:um)?gezogen\b",
        "home",
    ),
    (
        "arbeite",
        rf"(?:\bich )?\barbeite{_BY_NOW_WITHIN} (?:bei|für) (?P<value>{_NAME})",
        "employer",
    ),
    ("heiße heisse", rf"\b(?:ich heiße|heiße ich)(?: jetzt)? (?P<value>{_NAME})", "name"),
)

# The shape of a sentence (see `sessions.shapes`)

NOMINATIVE = "ich wir"
SUBJECTS = """
mein meine unser unsere der die das ein eine jeder jede jedes alle
"""
GENERIC, PERSON = "niemand nichts jeder jede jedes kein keine alle alles", "(?!)"
ADVERBS = "immer nie niemals nur auch noch jetzt nun meist meistens oft selten gern gerne lieber"
BEING, HAVING, COMING = "bin sind", "habe hab haben hat", "werde werden"
NEGATED, NEGATIONS = "", "nicht kein keine keinen"
TROUBLES = "frage problem fehler idee"
REPEATING = "jeden jede jedes immer nie täglich wöchentlich"
OBJECTS = RELATIVES_OF_CLAUSES = ""
ANAPHORA = "das es dies dieser diese dieses er sie da hier was wer wie wo wann warum welche du dein"
AUXILIARIES = """
ist sind war waren hat haben wird werden kann können muss müssen darf dürfen soll sollen mag mögen
"""
FINITE = (
    r"(?<=\s)(?!(?:(?:[mdsk]?ein|dies|jed|welch|unser|ihr|all|ander|viel)en|mit|seit|nicht|"
    r"jetzt|oft|sonst)\b)[a-zäöü][a-zäöüß]+(?:t|en)\b(?=\s\S)",
)
MENTAL = """
denke glaube weiß weiss meine meinte möchte will wollen brauche brauchen hätte hätten würde würden
könnte könnten hoffe finde sehe suche dachte verstehe fürchte war waren hatte hatten kann
"""
MOODS = "sicher froh müde fertig traurig gespannt unsicher dabei gerade"
LASTING = CHANGES = TASKS = MORE_TASKS = ""
JUDGEMENTS = "kaputt falsch fehlt komisch gut schlecht schön toll super zu langsam"
BIDDING = (r"(?:bitte\s+)?(?=\w)",)
BEFORE_TOPICS = "für in im bei mit auf"
FORBIDDING = (
    r"^(?:nie|niemals|kein(?:e[nrs]?)?(?! (?:problem|ahnung|sorge|idee)))\b",
    r"^(?:immer|stets|nur)\b(?= \w+ \w)",
)
STANDING = (
    r"\b(?:immer|nie|niemals|stets|ab (?:jetzt|sofort)|künftig|überall|grundsätzlich|"
    r"kein(?:e[nrs]?)?)\b|\bjede[ns]? mal\b",
)
HEDGING = (
    r"^ich (?:glaube|denke|meine),?(?: dass)? ",
    r"\b(?:glaub ich|denk ich|oder so)\b",
)
FROM_NOW_ON = (r"\b(?:ab (?:jetzt|sofort|heute)|von nun an|künftig|in zukunft|jedes mal)\b",)
AT_HAND = (
    r"\b(?:diese[rsnm]?|das da|dort|hier|noch|(?<!ab )jetzt|erst|heute?|gerade|andere[rsn]?|"
    r"letzte[rsn]?|nächste[rsn]?|zweite[rsn]?|oben|unten)\b",
)

# Rules that are for English alone so far

BEFORE_DATE = PERFECT = ARRANGED = ""
STOP_WORDS = HAPPENINGS = WISHES = ""
TIME_WORDS = NUMBERS = RELATIVES = PEOPLE = KIN = BELONGINGS = REQUIREMENTS = CORRECTING = ""
MANY_VALUED = TOOL_DECISIONS = PAST = FUTURE = TO_COME = HABITUAL = REPEATED = ""
GREETING = NARRATION = REFUSALS = REMARKS = NAMING = REASONS = CAPTION = CHOICES = ANSWERS = ()
RULES = KEPT_ANYWHERE = LESSONS = STATUSES = AGENT_HINTS = NOT_SO = NOT_SO_BEFORE = ()
INLINE_LABELS = TOPIC_LABELS = AGENTS = ASKS = ()
KEEP_REQUESTS = CORRECTIONS = REPORTED = ("", ())
KEY_SYNONYMS: dict[str, tuple[str, ...]] = {}

# What a question says instead of a key.
KEY_QUESTIONS = {
    "home": "wohne wohnen adresse wohnung zuhause lebe",
    "employer": "arbeite arbeiten arbeit firma arbeitgeber",
    "job": "beruf arbeite arbeit stelle",
    "manager": "chef chefin vorgesetzte",
    "boss": "chef chefin vorgesetzte",
    "partner": "frau mann verheiratet freund freundin",
    "wife": "frau verheiratet",
    "husband": "mann verheiratet",
    "allergy": "allergisch allergie vertrage",
    "diet": "esse essen vegetarisch",
    "birthday": "geburtstag geboren alt",
    "phone": "telefon nummer handy anrufen",
    "email": "mail schreiben",
    "car": "auto fahre wagen",
    "bike": "fahrrad rad",
    "dog": "hund haustier",
    "cat": "katze haustier",
    "mother": "mutter mama",
    "father": "vater papa",
    "sister": "schwester geschwister",
    "brother": "bruder geschwister",
    "son": "sohn kinder",
    "daughter": "tochter kinder",
    "doctor": "arzt ärztin",
    "dentist": "zahnarzt zahnärztin",
    "landlord": "vermieter miete",
    "landlady": "vermieterin miete",
    "laptop": "rechner computer",
    "school": "schule studiere uni",
    "gym": "fitness trainiere sport",
    "bank": "konto geld",
    "hometown": "aufgewachsen heimat",
    "name": "heiße",
    "language": "sprache spreche",
}

# Prompts that need the talk before them

ACKNOWLEDGEMENTS = """
ja jo jap nein ne nee danke dankeschön vielen herzlichen dank gut sehr okay genau richtig stimmt
passt super prima klasse toll perfekt alles klar schön bitte gerne gern verstanden einverstanden
"""
GOING_ON = (
    r"(?:und|oder|aber|auch|dann|nur|stattdessen)\b",
    r"(?:was ist|wie wär's) mit\b",
    r"(?:bis|seit|ab) wann\b",
)
POINTING_BACK = (
    r"\b(?:er|ihn|ihm|ihnen|deren|dessen|diese[rsmn]?|jene[rsmn]?|dort|dafür|davon|damit|daran|"
    r"darin|dazu|daraus|dabei|(?:der|die|das|den|dem)(?:selben?|jenigen?)|beides?)\b",
    r"\b(?:ist|sind|hat|wird|geht|kostet|dauert|liegt|läuft) (?:es|sie|das)\b",
    r"\b(?:der|die|das|den) (?:andere|anderen|erste|ersten|zweite|zweiten|letzte|letzten)\b",
)
MAKING = (
    r"(?:(?:bitte|jetzt|kannst du|könntest du)[, ]+)*"
    r"(?:schreibe?|entwirf|erstelle?|mache?|formuliere?|bereite|formatiere?|nenne?|plane?|öffne|"
    r"lege?)\b",
)
DETERMINERS = "ein eine einen einem einer der die das den dem mein meine meinen mir uns neue neuen"
PREPOSITIONS = "für von zu zum zur in im an am auf mit aus über als so und oder wie vor"

# Months and weekdays (from Monday), long and short, and ordinals, as daily notes are named.
CALENDAR = {
    "B": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "b": "Jan. Feb. März Apr. Mai Juni Juli Aug. Sep. Okt. Nov. Dez.",
    "A": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "a": "Mo. Di. Mi. Do. Fr. Sa. So.",
    "o": " ".join(f"{day}." for day in range(1, 32)),
}
