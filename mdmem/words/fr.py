"""Words of French. `en` says what each table is for."""

from __future__ import annotations

FUNCTION_WORDS = """
le la les des et est pas une dans pour avec sur du au aux sont je il elle nous on ne qui depuis
chez vers sans sous plus mais
"""
LANGUAGES = (
    r"français|anglais|allemand|espagnol|italien|portugais|néerlandais|russe|chinois|"
    r"japonais|arabe"
)
NEW_TEXTS = ()
TEXT_WORK = (
    r"\b(?:tradui|corrige|relis|relire|résum|reformul|réécri|raccourci|paraphras|améliore|"
    r"transcri|anonymis|classe[rz]?\b)\w*",
    r"\brépond\w*\b[^.!?]{0,30}\b(?:à|lui|leur|ça|cela|ce|cette)\b|\bcomment (?:répondre|dire|"
    r"dit-on)\b",
    r"\b(?:que|quoi|qu'est-ce que?)\b[^.!?]{0,25}\b(?:répondre|dire|écrire|penses|réponds|veut "
    r"dire)\b",
    r"\b(?:écris|rédige|compose|continue|raconte|invente)\b[^.!?]{0,40}\b(?:mail|e-?mail|"
    r"lettre|message|réponse|texte|histoire|poème|chanson|récit|suite)\b",
    r"\b(?:explique|analyse|vérifie|lis|extrais|trie|formate|compte|"
    r"teste)\b[^.!?]{0,30}\b(?:ça|cela|ce|cet|cette|ces|le texte|la phrase|le mail|les|"
    r"suivant\w*)\b",
    r"\b(?:est-ce que|c'est|est-ce)\b[^.!?]{0,25}\b(?:correct|juste|naturel|bien|drôle|clair)\b",
    r"\b(?:compte[- ]rendu|message transféré|transféré)\b",
    r"\b(?:imagine|fais comme si|tu es un|joue le rôle|dans le style)\b",
    r"\b(?:où|que|comment|d'où) (?:habites|fais|viens|manges|t'appelles|travailles|vis)-tu\b",
    r"\bquel\w* est (?:ton|ta|votre)\b",
)
_ASIDE = r"au fait|pour info|en fait"
INTERJECTIONS = (
    r"(?:ok|oui|non|alors|bon|ah|bonjour|salut|merci|pardon|désolée?|d'accord|important)\b",
    r"(?:correction|rappel)\b",
)
_PLEASE = r"finalement|s'il te plaît|stp"
OPENERS = (*INTERJECTIONS, rf"(?:{_ASIDE}|{_PLEASE}|et|mais|donc|aussi|actuellement)\b")
OWN = (
    r"(?:je|j'\w+|nous|on (?:a|va|utilise|garde|est|reste|passe|prend|déploie)|mon|ma)\b",
    r"(?:mes|notre|nos|moi|souviens-toi|rappelle-toi|retiens|note|n'oublie pas)\b",
    r"(?:désormais|dorénavant|à partir de maintenant|à l'avenir|appelle-moi|toujours)\b",
    r"(?:jamais)\b",
)
REQUESTS = (
    r"(?:réserve|cherche|trouve)(?:-moi|-nous)\b",
    r"(?:tu connais|connais-tu|où|quand|combien|y a-t-il)\b",
)
GREETINGS = (r"(?:bonjour|salut|merci|bonsoir|super|parfait)\b",)
REMEMBERING = (r"(?:peux-tu|tu peux) (?:retenir|te souvenir|noter) qu(?:e |')",)
LABELS = (
    r"(?:préférences|règles|décisions?|faits?|important)",
    r"(?:(?:mes|nos|quelques) (?:préférences|règles)|à retenir)",
    r"(?:souviens-toi|rappelle-toi|retiens|note|n'oublie pas)(?: bien)?(?: de ceci)?",
)
NOT_PLAIN = (
    r"\b(?:si|s'il (?!te|vous)|au cas où|supposons|par exemple|p\. ?ex|peut-être|pourrait|"
    r"serait|voudrait)\b",
    r"\b(?:dit|disait|écrit|écrivait|selon|d'après|affirme)\b(?! (?:oui|non))",
    r"\b(?:souhait|espèr)\w*\b",
)
TEXTS = (
    r"\b(?:mails?|e-?mails?|lettres?|messages?|textes?|articles?|phrases?|devoirs|exercices?|"
    r"traductions?|poèmes?)\b",
)
BRINGS = (r"\b(?:ça|ceci|cela|ces?|cet|cette|voici|voilà|suivant\w*|ci-\w+)\b",)
TAINTS = (rf"{BRINGS[0]}|\b(?:ils?|elles?|lui|leur|son)\b",)
LEADS_IN = (r"(?:j'ai|je (?:veux|voudrais|cherche|dois)|nous avons|on a (?:reçu|trouvé))\b",)
SPEAKING = r"répond|écri|parl|toujours"
ADDRESSING = ("(?:bonjour|salut|bonsoir|chère?s?)", "(?:tous|toutes|tout le monde|maman|papa)")
SIGN_OFFS = (
    r"(?:cordialement|bien à (?:vous|toi)|amicalement|bises|salutations(?: \w+)?)",
    r"à bientôt",
)
KEPT_CLAUSES = (
    (r"(?:souviens-toi|rappelle-toi|retiens|note bien|note|n'oublie pas) (?:que|qu'|de|:)", "fact"),
    (r"(?:peux-tu|tu peux) (?:retenir|te souvenir|noter) qu", "fact"),
    (
        r"(?:on a|nous avons|j'ai) (?:donc |finalement )?(?:décidé|choisi|convenu|opté|retenu)\b",
        "decision",
    ),
    (
        r"(?:je|nous|on) (?:ne )?(?:préf\w+|aime|adore|déteste|mange|bois)\b",
        "preference",
    ),
    (r"je suis (?:allergique|végé\w+|végan\w*)\b", "preference"),
    (r"je n(?:e |')\w+ (?:pas|jamais|plus)\b", "preference"),
    (r"mon \w+ préféré\w*|ma \w+ préférée", "preference"),
    (
        r"j'habite\b|je (?:vis|travaille|m'appelle|suis né\w*|déménage|enseigne)\b",
        "fact",
    ),
    (
        r"je suis (?:une? )?(?!content|ravi|désol|sûr|perdu|prêt|bloqué|d'accord|en train)[\w-]+ "
        r"(?:de|d'\w+|à|au|chez|dans|en|depuis)\b",
        "fact",
    ),
)
PASSING = (r"\b(?:aujourd'hui|pas encore|ce soir|en ce moment)\b",)
CONJUNCTIONS = "et|mais"
PRONOUNS = (r"\b(?:je|j'\w+|nous)\b",)
ASIDES = (r"\bau fait\W*$",)
THAT = (r"\bque\b", r"\bqu'")
POSSESSIONS = (
    r"(?:mon|ma|mes|notre|nos)\b" r"(?!.*\b(?:est|sont|a|ont|s'appelle|habite|travaille)\b)",
)
MAIL_HEADERS = "de|objet"
WROTE = "a[ ]écrit"
SALUTATIONS = "cher|chère"
SOURCES = "extrait|de"
CHARACTERS = ()

FORGET_REQUESTS = (r"^oublie(?:z)?(?: le fait)?(?: que| qu')? (?=\S)",)
COMING_NEXT = (r"\bje (?:te |vous )?(?:colle|l'envoie|envoie)\b|\bvoici\b",)
RIDDLES = (r"\b(?:(?:qui|que) suis-je|est-ce (?:correct|juste)|fautes?)\b",)
YOU_MAY = r"(?:peux-tu|pourrais-tu|pouvez-vous|tu peux)(?: (?:me|le|la))*"
BROUGHT = (r"^(?:et )?(?:c'est|c'était|ça vient|voilà) (?:de|du|ce qu(?! (?:j|n)))",)
ERASE_REQUESTS = (r"^(?:efface|supprime)z? ce que j'ai dit (?:de|sur) (?=\w)",)

# How a night words a line

LEADS = (
    rf"(?:{_ASIDE}|{_PLEASE}|désormais|dorénavant|à partir de maintenant|à l'avenir)\b",
    r"(?:souviens-toi|rappelle-toi|retiens|note bien|note|n'oublie pas|peux-tu (?:retenir|noter))"
    r" qu(?:e\b|')",
)
TAILS = (rf"(?:{_ASIDE}|{_PLEASE}|merci|désormais|dorénavant|maintenant)",)
ASIDES_WITHIN = (rf"(?:{_ASIDE})",)
TURNED = ()
DECISION_FRAMES = (
    r"(?:nous avons|on a|j'ai) (?:donc |finalement )?(?:décidé|convenu|choisi|opté)"
    r"(?: (?:de|d'|que|pour)\b)?",
)
CHOSEN = CHOOSING = ()
MEANT = r"(?:je voulais dire|je veux dire)"
REASON = r"(?:parce que|parce qu'|(?<=, )car|puisque)"
COPULA = r"(?:est|sont|était|sera|s'appelle|:)"
COPULA_BACK = r"(?:est|sont|devient) (?:maintenant )?(?:le|la|les|notre|nos|mon|ma|mes)"
BY_NOW = r"(?:maintenant|désormais|actuellement|à présent)"
BY_NOW_WORDS = "désormais maintenant dorénavant plus"
ARTICLES = r"(?:le|la|les|l'|un|une|notre|nos|mon|ma|mes)"
CONTRASTS = r"(?:et )?(?:pas|plus|au lieu d)\b"
GOING_BACK = r"(?:revenir|revenons|revient|retour) (?:à|aux?)"
VALUE_ENDS = r",? (?:parce que|(?<=, )car|mais|jusqu|et (?:je|nous|on))\b"
UNTIL_WORDS = r"(?:jusqu'au|jusqu'à|jusqu'en)"
THING_ATTRIBUTES = (
    (
        r"(?P<thing>[\w' -]{2,40}?) (?:tourne|écoute|est)(?: maintenant)? sur le port "
        r"(?P<value>\d{2,5})",
        "{thing} port",
    ),
)
POSSESSIVES = r"(?:mon|ma|mes|notre|nos)\b"
SPEAKERS = r"(?:je\b|nous\b|j')"
OF_ANOTHER = (r"(?:ils?|elles?)\b",)
HEDGES = "vraiment juste plutôt assez peut-être simplement"
OPPOSITES = "avant/après sur/sous plus/moins premier/dernier gauche/droite"
UNITS = "seconde secondes minute minutes heure heures jour jours semaine semaines mois an ans"
TENS = "dix vingt trente quarante cinquante soixante septante huitante nonante cent"
# From zero on.
NUMERALS = """
zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize
"""

# The attribute that a statement is about

SECOND_PERSON = "tu te toi ton ta tes vous votre vos"
WEEKDAYS = "lundi mardi mercredi jeudi vendredi samedi dimanche"
MONTHS = """
janvier février mars avril juin juillet août septembre octobre novembre décembre
"""
FIRST_PERSON = "je j'habite mon ma mes nous notre nos"
_NAME = r"(?-i:[A-ZÀÂÉÈÊÎÔÛÇ])[\w&.-]*\w(?: (?-i:[A-ZÀÂÉÈÊÎÔÛÇ])[\w&.-]*\w)?"
ATTRIBUTES = (
    ("habite", rf"\bj'habite(?: maintenant| désormais)? (?:à|en|au) (?P<value>{_NAME})", "home"),
    ("travaille", rf"\bje travaille(?: maintenant)? (?:chez|pour) (?P<value>{_NAME})", "employer"),
    ("appelle", rf"\bje m'appelle (?P<value>{_NAME})", "name"),
)

# The shape of a sentence (see `sessions.shapes`)

NOMINATIVE = "je j nous on"
SUBJECTS = "mon ma mes notre nos le la les un une chaque tous toutes"
GENERIC, PERSON = "personne rien chaque tout tous toutes aucun aucune", "(?!)"
ADVERBS = "ne n me m toujours jamais"
BEING, HAVING, COMING = "suis sommes est", "ai avons a", ""
NEGATED, NEGATIONS = "", "pas plus"
TROUBLES = "question problème erreur idée"
REPEATING = "chaque toujours jamais"
OBJECTS = RELATIVES_OF_CLAUSES = ""
ANAPHORA = "ça ceci cela ce c il elle ils elles que qui où quand comment tu ton ta vous votre"
AUXILIARIES = "est sont ont sera seront doit doivent peut peuvent s'appelle habite travaille"
FINITE = (
    r"(?<=\s)[a-zéè]{2,}ent\b(?=\s\S)",
    r"(?:(?<=\s(?:se|me|ne|en) )|(?<=\s[snmy]'))[a-zéè]{2,}\b(?=\s\S)",
    r"(?<=\s)(?!entre|contre|comme|toute|même)[a-zéè]{2,}[et]\b"
    r"(?=\s(?:l[ea]s?|une?|notre|m[ao]n?)\b)",
)
MENTAL = """
pense crois sais veux voudrais voulons cherche dois espère vois trouve aimerais pourrais étais
comprends imagine
"""
MOODS = "content contente ravi désolé désolée sûr sûre perdu prêt prête bloqué fatigué en"
LASTING = CHANGES = TASKS = MORE_TASKS = ""
JUDGEMENTS = "cassé faux mauvais bon bien bizarre lent parfait trop"
BIDDING = (r"(?:s'il te plaît,?\s+|stp,?\s+)?(?=\w)",)
BEFORE_TOPICS = "pour dans sur avec"
FORBIDDING = (
    r"^(?:n(?:e |')\w+ (?:pas|jamais|plus)|jamais|aucune?|"
    r"pas de(?! (?:problème|souci|quoi|panique)))\b",
)
STANDING = (r"\b(?:toujours|jamais|désormais|dorénavant|chaque|partout|uniquement)\b",)
HEDGING = (
    r"^je (?:crois|pense) que ",
    r"\b(?:je crois|je pense)\b",
)
FROM_NOW_ON = (r"\b(?:désormais|dorénavant|à l'avenir|à partir de maintenant|chaque fois)\b",)
AT_HAND = (
    r"\b(?:ce|cet|cette|ces|ça|cela|ici|là|encore|maintenant|d'abord|aujourd'hui|autres?|"
    r"dernière?|prochaine?)\b",
)

# Rules that are for English alone so far

BEFORE_DATE = PERFECT = ARRANGED = BEFORE_ORDINALS = ""
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
    "home": "habite adresse maison appartement vis",
    "employer": "travaille entreprise boîte bureau",
    "job": "métier travail profession",
    "manager": "chef patron responsable",
    "boss": "chef patron responsable",
    "partner": "femme mari compagne compagnon copain copine",
    "wife": "femme mariée épouse",
    "husband": "mari marié époux",
    "allergy": "allergique allergie supporte",
    "diet": "mange manger végétarien régime",
    "birthday": "anniversaire né née âge",
    "phone": "téléphone numéro portable appeler",
    "email": "mail courriel écrire",
    "car": "voiture conduis",
    "bike": "vélo",
    "dog": "chien animal",
    "cat": "chat animal",
    "mother": "mère maman",
    "father": "père papa",
    "sister": "sœur",
    "brother": "frère",
    "son": "fils enfants",
    "daughter": "fille enfants",
    "doctor": "médecin docteur",
    "dentist": "dentiste dents",
    "landlord": "propriétaire loyer",
    "landlady": "propriétaire loyer",
    "laptop": "ordinateur portable",
    "school": "école études université",
    "gym": "salle sport",
    "bank": "banque compte",
    "hometown": "grandi né née",
    "name": "appelle",
    "language": "langue parle",
}

# Prompts that need the talk before them

ACKNOWLEDGEMENTS = """
oui non ouais merci beaucoup bien très d'accord accord parfait super génial compris entendu exact
exactement c'est est bon ça va nickel excellent formidable impeccable chouette
"""
GOING_ON = (r"(?:et|mais|aussi|alors|seulement)\b", r"qu'en est-il\b")
POINTING_BACK = (
    r"\b(?:il|elle|ils|elles|lui|leurs?|celui|celle|ceux|celles|cela|ceci|ça|ces?|cet|cette|"
    r"dedans|là|les deux)\b",
    r"\bl'autre\b|\bl[ea] (?:même|premier|première|dernier|dernière|second|seconde)\b",
)
MAKING = (
    r"(?:(?:s'il te plaît|maintenant|peux-tu|tu peux)[, ]+)*"
    r"(?:écris|rédige|crée|fais|ajoute|prépare|formate|nomme|ouvre|planifie|génère)\b",
)
DETERMINERS = "un une le la les l mon ma mes notre nos moi nous nouveau nouvelle"
PREPOSITIONS = "pour de du des d à au aux en dans sur avec par comme et ou"

# Months and weekdays (from Monday), long and short, and ordinals, as daily notes are named.
CALENDAR = {
    "B": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "b": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "A": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "a": "lun. mar. mer. jeu. ven. sam. dim.",
    "o": " ".join(["1er", *map(str, range(2, 32))]),
}
