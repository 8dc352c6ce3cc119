"""Words of Spanish. `en` says what each table is for."""

from __future__ import annotations

FUNCTION_WORDS = """
el los las es una por del está pero muy más lo se al yo está son en la que
"""
LANGUAGES = r"español|inglés|francés|alemán|italiano|portugués|ruso|chino|japonés"
NEW_TEXTS = ()
TEXT_WORK = (
    r"\b(?:tradu[cz]|corrig|corrij|resum|reescrib|reformul|parafrase|acort|transcrib|anonimiz|"
    r"clasific|revis)\w*",
    r"\b(?:mejora|edita|pule|explica|analiza|lee|extrae|ordena|formatea|cuenta|"
    r"prueba)\b[^.!?]{0,30}\b(?:esto|este|esta|estas|estos|el|la|las|los|texto|frase|"
    r"siguiente\w*)\b",
    r"\b(?:respond|contest)\w*\b[^.!?]{0,30}\b(?:a|le|les|esto|este)\b|\bqué (?:le "
    r")?(?:respondo|digo|contesto|escribo|opinas|te parece|piensas|significa)\b",
    r"\b(?:escrib|redact|continúa|inventa|cuenta)\w*\b[^.!?]{0,40}\b(?:correo|carta|mensaje|"
    r"respuesta|texto|historia|cuento|poema|canción)\b",
    r"\b(?:suena|está) (?:bien|natural|correcto|claro)\b[^.!]*\?",
    r"\breenviado\b|\b(?:imagina|finge|haz como si|eres un|eres una|al estilo)\b",
    r"\b(?:dónde|qué|cómo|de dónde) (?:vives|haces|eres|comes|trabajas|te llamas)\b",
)
_ASIDE = r"por cierto|en realidad|de hecho"
INTERJECTIONS = (
    r"(?:ok|vale|sí|no|bueno|ah|hola|gracias|perdón|también|además|importante|corrección)\b",
)
OPENERS = (*INTERJECTIONS, rf"(?:{_ASIDE}|por favor|y|pero|así que|ahora|actualmente)\b")
OWN = (
    r"(?:yo|nosotros|nosotras|mi|mis|nuestr[oa]s?|me|nos|vivo|trabajo|prefiero|soy)\b",
    r"(?:tengo|estoy|hemos|he|vivimos|usamos|recuerda|acuérdate|apunta|anota|no olvides)\b",
    r"(?:a partir de ahora|de ahora en adelante|en adelante|llámame|siempre|nunca)\b",
    r"(?:vamos a usar)\b",
)
REQUESTS = (r"(?:búscame|resérvame|encuéntrame|¿?(?:qué|dónde|cuándo|cuánto|hay))\b",)
GREETINGS = (r"(?:hola|gracias|buen[oa]s (?:días|tardes|noches)|perfecto)\b",)
REMEMBERING = (r"¿?(?:puedes|podrías) (?:recordar|anotar|apuntar) que\b",)
LABELS = (
    r"(?:preferencias|reglas|decisi(?:ón|ones)|hechos?|importante)",
    r"(?:mis|nuestras|algunas) (?:preferencias|reglas)",
    r"(?:recuerda|acuérdate|apunta|anota|ten en cuenta|no olvides)(?: esto)?",
)
NOT_PLAIN = (
    r"\b(?:si|ojalá|en caso de|supongamos|por ejemplo|p\. ?ej|quizás?|tal vez|sería|podría|"
    r"querría)\b",
    r"\b(?:dice|dijo|decía|escribe|escribió|según|afirma)\b",
    r"\b(?:deseo|espero) que\b",
)
TEXTS = (
    r"\b(?:correos?|cartas?|mensajes?|textos?|artículos?|frases?|deberes|ejercicios?|poemas?|"
    r"traducci[oó]n)\b",
)
BRINGS = (r"\b(?:est[oae]s?|es[oe]s?|aquí|siguiente\w*|abajo)\b",)
TAINTS = (rf"{BRINGS[0]}|\b(?:él|ella|ellos|su|le)\b",)
LEADS_IN = (r"(?:he|quiero|necesito|busco|tengo que|hemos recibido)\b",)
SPEAKING = r"respond|habl|escrib|siempre"
ADDRESSING = (
    "(?:hola|buen[oa]s (?:días|tardes|noches)|querid[oa])",
    "(?:todos|todas|equipo|mamá|papá)",
)
SIGN_OFFS = (r"(?:saludos(?: \w+)?|atentamente|un abrazo|cordialmente|besos)",)
KEPT_CLAUSES = (
    (r"(?:recuerda|acuérdate de|apunta|anota|ten en cuenta|no olvides) (?:que|de)?\b", "fact"),
    (r"(?:hemos|he) (?:decidido|elegido|acordado|optado)\b|decidimos\b|vamos a usar\b", "decision"),
    (
        r"(?:yo )?(?:no )?(?:prefiero|preferimos|me gusta\w*|odio|detesto|como|bebo|soporto|"
        r"soy (?:alérgic\w+|vegan\w+|vegetarian\w+))\b",
        "preference",
    ),
    (r"mi \w+ (?:favorit\w+|preferid\w+) (?:es|son)\b", "preference"),
    (
        r"(?:yo )?(?:vivo|trabajo|me llamo|nací|me mudé|me he mudado|estudio|enseño)\b",
        "fact",
    ),
    (r"(?:yo )?acabo de (?:mudarme|empezar|entrar)\b", "fact"),
)
PASSING = (r"\b(?:hoy|todavía|aún|ahora mismo)\b",)
CONJUNCTIONS = "y|pero"
# A first person that the ending of the verb tells: `entrego 600`, `no adelgazo a nadie`.
_ENDING = (
    r"(?:(?:no|nunca|siempre|ya|solo|me|nos) )*(?:soy|somos|estoy|estamos|tengo|tenemos|"
    r"[a-záéíóú]{2,}[aei]mos|(?!\w*[aeinz]lo\b)[a-záéíóú]{3,}o(?= (?:al?|con|el|en|l[ao]s?|mis?|"
    r"una?|tod[oa]s?|dos|tres|cuatro|cinco|\d)))\b"
)
PRONOUNS = (r"\byo\b", rf"^{_ENDING}")
ASIDES = (r"\bpor cierto\W*$",)
THAT = (r"\bque\b",)
POSSESSIONS = (r"(?:mis?|nuestr\w+)\b(?!.*\b(?:es|son|está|tiene|vive|trabaja|se llama)\b)",)
MAIL_HEADERS = "asunto"
WROTE = "escribió"
SALUTATIONS = r"estimad[oa]|querid[oa]"
SOURCES = ""
CHARACTERS = ()

FORGET_REQUESTS = (r"^olvida(?: que| (?:lo|eso) de(?: que)?)? (?=\S)",)
COMING_NEXT = (r"\baquí (?:va|viene)\b|\bahora (?:te )?(?:l[oa] )?(?:pego|mando|paso)\b",)
RIDDLES = (r"\b(?:qui[eé]n soy|qu[eé] soy|es correcto|errores)\b",)
YOU_MAY = r"(?:puedes|podrías|me puedes)"
BROUGHT = (r"^(?:y )?(?:eso|esto|así) (?:es lo que|lo|viene|dice|pone|escribió|es de(?! \d))\b",)
ERASE_REQUESTS = (r"^(?:borra|quita|no guardes) (?:lo|eso) de(?: que)? (?=\w)",)

# How a night words a line

LEADS = (
    rf"(?:{_ASIDE}|por favor|a partir de ahora|de ahora en adelante|en adelante)\b",
    r"¿?(?:(?:puedes|podrías) (?:recordar|anotar|apuntar)|recuerda|acuérdate de|apunta|anota|"
    r"ten en cuenta|no olvides) que\b",
)
TAILS = (rf"(?:{_ASIDE}|por favor|gracias|a partir de ahora|ahora)",)
ASIDES_WITHIN = (rf"(?:{_ASIDE})",)
TURNED = ()
DECISION_FRAMES = (
    r"(?:hemos|he) (?:decidido|acordado|elegido|optado)(?: (?:por|que)\b)?",
    r"(?:decidimos|acordamos)(?: que\b)?",
    r"vamos a\b",
)
CHOSEN = CHOOSING = ()
MEANT = r"(?:quise decir|quería decir)"
REASON = r"(?:porque|ya que|puesto que)"
COPULA = r"(?:es|son|era|será|está|se llama|:)"
COPULA_BACK = r"(?:es|son|será) (?:ahora )?(?:el|la|los|las|nuestr[oa]s?|mi|mis)"
BY_NOW = r"(?:ahora|ya|actualmente)"
BY_NOW_WORDS = "ahora ya"
ARTICLES = r"(?:el|la|los|las|un|una|nuestr[oa]s?|mi|mis)"
CONTRASTS = r"(?:y )?(?:no|ya no|en vez de|en lugar de)\b"
GOING_BACK = r"(?:volver|volvemos|volvamos|vuelvo) a(?:l)?"
VALUE_ENDS = r",? (?:porque|pero|hasta|y (?:yo|nosotros|mi))\b"
UNTIL_WORDS = r"(?:hasta(?: el)?)"
THING_ATTRIBUTES = (
    (
        r"(?P<thing>[\w -]{2,40}?) (?:corre|escucha|está)(?: ahora)? en el puerto "
        r"(?P<value>\d{2,5})",
        "{thing} port",
    ),
)
POSSESSIVES = r"(?:mis?|nuestr[oa]s?)\b"
SPEAKERS = r"(?:yo )?(?:soy|estoy) |(?:yo|nosotr[oa]s)\b"
OF_ANOTHER = (r"(?:él|ellas?|ellos)\b",)
HEDGES = "realmente simplemente quizás quizá bastante"
OPPOSITES = "antes/después sobre/bajo más/menos primero/último izquierda/derecha"
UNITS = "segundos minutos hora horas día días semana semanas mes meses año años"
TENS = "diez veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien"
# From zero on.
NUMERALS = """
cero un dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince
"""

# The attribute that a statement is about

SECOND_PERSON = "tú te ti usted"
WEEKDAYS = "lunes martes miércoles jueves viernes sábado domingo"
MONTHS = """
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
"""
FIRST_PERSON = "yo vivo trabajo llamo mi mis nosotros nosotras"
_NAME = r"(?-i:[A-ZÁÉÍÓÚÑ])[\w&.-]*\w(?: (?-i:[A-ZÁÉÍÓÚÑ])[\w&.-]*\w)?"
ATTRIBUTES = (
    ("vivo", rf"\bvivo(?: ahora)? en (?P<value>{_NAME})", "home"),
    ("trabajo", rf"(?<!mi )\btrabajo(?: ahora)? (?:en|para) (?P<value>{_NAME})", "employer"),
    ("llamo", rf"\bme llamo (?P<value>{_NAME})", "name"),
)

# The shape of a sentence (see `sessions.shapes`)

NOMINATIVE = "yo nosotros nosotras"
SUBJECTS = "mi mis nuestro nuestra nuestros nuestras el la los las un una cada todos todas"
GENERIC, PERSON = "nadie nada cada todo todos todas ningún ninguna", "(?!)"
ADVERBS = "no nunca siempre ya solo sólo me nos"
BEING, HAVING, COMING = "soy somos estoy estamos", "he hemos tengo tenemos", ""
NEGATED, NEGATIONS = "", "no"
TROUBLES = "pregunta problema error idea"
REPEATING = "cada siempre nunca"
OBJECTS = RELATIVES_OF_CLAUSES = ""
ANAPHORA = "esto eso este esta ese esa él ella ellos qué quién dónde cuándo cómo tú tu usted"
AUXILIARIES = (
    "soy somos estoy estamos es son está están tiene tienen hay debe deben puede vive trabaja"
)
FINITE = (
    r"(?<=\s(?:se|me|no) )[a-záéíóú]{3,}\b(?=\s\S)|(?<=\snos )[a-záéíóú]{3,}\b(?=\s\S)",
    r"\b[a-záéíóú]{2,}[aei]mos\b|(?<=[aeo]s )[a-záéíóú]{2,}[ae]n\b(?=\s\S)",
    r"(?<=\s)(?!para|sobre|entre|hasta|contra|desde|durante|donde|porque|como|toda)"
    r"[a-záéíóú]{2,}(?:[aeó]|[ae]n)\b(?=\s(?:el|l[ao]s?|una?|mis?|nuestr\w+|a las?|en)\b)",
)
MENTAL = """
creo pienso quiero queremos necesito busco espero veo sé querría podría debería entiendo estaba era
"""
MOODS = "contento contenta seguro segura cansado cansada listo lista perdido perdida"
LASTING = CHANGES = TASKS = MORE_TASKS = ""
JUDGEMENTS = "roto mal bien bueno malo raro lento perfecto demasiado"
BIDDING = (r"(?:por favor,?\s+)?(?=\w)",)
BEFORE_TOPICS = "para en con sobre"
FORBIDDING = (r"^(?:no \w+(?:es|as|en|an)|nunca|jamás|nada de)\b(?=\s\w)",)
STANDING = (r"\b(?:siempre|nunca|jamás|cada|en adelante|a partir de ahora|únicamente)\b",)
HEDGING = (r"^(?:yo )?(?:creo|pienso) que ",)
FROM_NOW_ON = (r"\b(?:(?:de ahora )?en adelante|a partir de ahora|cada vez)\b",)
AT_HAND = (
    r"\b(?:est[aeo]s?|es[aeo]s?|aquí|ahí|todavía|aún|(?<!de )ahora|primero|hoy|otr[oa]s?|"
    r"últim[oa]s?)\b",
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
    "home": "vivo dirección casa piso apartamento",
    "employer": "trabajo empresa oficina",
    "job": "trabajo profesión puesto",
    "manager": "jefe jefa",
    "boss": "jefe jefa",
    "partner": "esposa esposo marido mujer pareja novio novia",
    "wife": "esposa mujer casado",
    "husband": "esposo marido casada",
    "allergy": "alérgico alérgica alergia tolero",
    "diet": "como comer vegetariano dieta",
    "birthday": "cumpleaños nací edad",
    "phone": "teléfono número móvil llamar",
    "email": "correo escribir",
    "car": "coche carro conduzco",
    "bike": "bicicleta bici",
    "dog": "perro mascota",
    "cat": "gato mascota",
    "mother": "madre mamá",
    "father": "padre papá",
    "sister": "hermana hermanos",
    "brother": "hermano hermanos",
    "son": "hijo hijos",
    "daughter": "hija hijos",
    "doctor": "médico médica",
    "dentist": "dientes",
    "landlord": "casero alquiler",
    "landlady": "casera alquiler",
    "laptop": "portátil ordenador",
    "school": "escuela estudio universidad",
    "gym": "gimnasio entreno",
    "bank": "banco cuenta",
    "hometown": "crecí nací",
    "name": "llamo",
    "language": "idioma hablo",
}

# Prompts that need the talk before them

ACKNOWLEDGEMENTS = """
sí si no vale gracias muchas bien muy perfecto genial estupendo de acuerdo exacto exactamente claro
entendido está bueno excelente fantástico dale venga correcto listo hecho eso
"""
GOING_ON = (r"[¿¡]?(?:y|pero|también|entonces|solo|sólo)\b", r"[¿¡]?qué hay de\b")
POINTING_BACK = (
    r"\b(?:él|ella|ellos|ellas|ello|est[eao]s?|es[eao]s?|aquel(?:la|los|las|lo)?|allí|ahí|"
    r"ambos|ambas)\b",
    r"\b(?:el|la|lo|los|las) (?:otr[oa]s?|mism[oa]s?|primer[oa]s?|segund[oa]s?|últim[oa]s?)\b",
)
MAKING = (
    r"(?:(?:por favor|ahora|puedes)[, ]+)*"
    r"(?:escribe|redacta|crea|haz|añade|prepara|formatea|nombra|abre|planifica|genera)\b",
)
DETERMINERS = "un una unos unas el la los las mi mis nuestro nuestra me nos nuevo nueva"
PREPOSITIONS = "para de del a al en con por sobre como y o"

# Months and weekdays (from Monday), long and short, and ordinals, as daily notes are named.
CALENDAR = {
    "B": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "b": "ene. feb. mar. abr. may. jun. jul. ago. sep. oct. nov. dic.",
    "A": "lunes martes miércoles jueves viernes sábado domingo",
    "a": "lun. mar. mié. jue. vie. sáb. dom.",
    "o": " ".join(f"{day}º" for day in range(1, 32)),
}
