"""The words of the rules, for English. General tables, not drawn from any conversation; each a list of words or of patterns.

Patterns are regular expressions for text with straight apostrophes, whatever the case. Those that begin with `^` are tried at the beginning of a
sentence, its greeting left out.
"""

from __future__ import annotations

_PERSON = r"(?:i|we)"
_HAVE = r"(?:'ve| have|'d| had)?"
_ADVERB = r"(?: (?:also|just|really|finally|actually|now|definitely|usually|all|both|recently|already|still))*"

ACKNOWLEDGEMENTS = """
ok okay k kk yes yep yeah yup sure no nope nah thanks thank thx ty cheers great perfect nice cool awesome amazing wow woah whoa lgtm done right correct
exactly fine good alright agreed indeed absolutely definitely totally please hi hello hey bye goodbye morning night haha lol oh ah aw aww noted
understood got it you u so much a lot ton bunch very well too sounds looks seems that that's thats it's is was very all for your the to of this
congrats congratulations proud glad happy hear wonderful fantastic incredible impressive inspiring lovely beautiful gorgeous stunning delicious yummy
tasty cute adorable sweet fun exciting interesting luck appreciate kind words support encouragement means mean be can how what such and i'm i me my
they they're their them these those look really just super keep up work going rock rocks best soon talk later see take care always here anytime course
"""
"""Words of which an acknowledgement consists."""

GREETING = r"(?:hey|hi|hello|yo|hiya|good (?:morning|evening|afternoon)|greetings|what's up|wow|thanks|thank you|great to hear|nice to)\b"

STOP_WORDS = """
a about after again all also am an and any are as at be because been before being but by can could did do does doing don't down even for from
get gets getting go going got had has have having he her here hers him his how i i'd i'll i'm i've if in into is it it's its just let like lot
lots make makes me more most much my no not now of off oh on one only or other our out over own really right s she should so some such t than
that that's the their them then there these they they're thing things this those though through to too up us very was we we're we've well were
what when where which while who why will with would yeah yes you you're you've your
"""
"""Words that say nothing by themselves."""

NARRATION = (
    r"^(?:ok(?:ay)?[,.!]? |alright[,.!]? |great[,.!]? |now,? |first,? |next,? |then,? |good[,.!]? |perfect[,.!]? |so,? )*"
    r"(?:let me|let's (?:see|look|check|take a look|start|try|run)|i'll|i will|i'm going to|i am going to|i'm now|i need to|i should|now i|"
    r"looking at|checking|running|reading|searching|here's (?:the|a|what)|here is (?:the|a|what))\b",
)
NARRATION_CHARACTERS = 220

REFUSALS = (
    r"^(?:i'?m sorry|sorry|i apologi[sz]e|unfortunately)[,.]? (?:but )?i (?:can't|cannot|can not|am unable|'m unable|won't)\b",
    r"^i (?:can't|cannot|am not able to|'m not able to) (?:help|assist|do that|comply)\b",
    r"^as an ai\b",
)

QUESTIONS = (
    r"^(?:and |but |so |ok(?:ay)?,? |also,? )*(?:who|what|when|where|why|which|whose|how|do|does|did|is|are|am|was|were|can|could|would|will|should|shall|"
    r"may|might|have|has|had|any|isn't|aren't|don't|doesn't|didn't|won't|wouldn't|can't|couldn't) .*\?$",
)

# A list of `_WORDS` belongs to the patterns below it: one of these words, in lower case and without what an apostrophe cuts off, is in every
# text that one of them matches. It saves most searches.
REPORTED_WORDS = "says said wrote writes reads states stated told asks asked claims according quote print prints output outputs returned"
REPORTED = (
    r"\b(?:says|said|wrote|writes|reads|states|stated|told (?:me|you|us)|asks|asked|claims|according to|quote|prints?|outputs?|returned)\b",
)
"""Words with which a statement is somebody else's."""

REMARKS = (
    r"^(?:wow|oh|aw+|yeah|yes|ah|ooh|haha|man|hey)?[,!.]? ?(?:that|this|it|they|those|these|what an?|sounds|looks|glad|congrats|good luck|can't wait|"
    r"i bet|i can imagine|no wonder|nice|great)(?:'s|'re|'d| )",
)
"""Beginnings of a remark on what the other one says or shows."""
REQUIREMENTS = "must never only always not don't no should shouldn't need needs has have"
"""Words that no remark holds."""

CONDITIONS_WORDS = "if unless whether suppose assuming case imagine would could hypothetically what"
CONDITIONS = (r"\b(?:if|unless|whether|suppose|assuming|in case|imagine|would you|could you|hypothetically|what if)\b",)
"""Words with which a statement is none of what holds."""

CHOICES = (
    r"\b(?:should|shall) (?:i|we)\b",
    r"\b(?:do|would) you (?:want|prefer|like)\b",
    r"\bwant me to\b",
    r"\b(?:may|can|could) i\b",
    r"^which\b",
)
"""Questions whose answer is a decision."""

ANSWERS = (
    r"^(?:yes|yep|yeah|yup|no|nope|nah|sure|both|neither|either|the (?:first|second|last|latter|former|other)(?: one)?|that one|this one|none)\b",
)
"""Beginnings of an answer that needs its question."""

REMEMBER_WORDS = "remember note mind forget future next record now"
REMEMBER = (
    r"\b(?:please |pls )?remember (?:that|this|to|:|my|our|i|we)",
    r"\b(?:please )?(?:note|keep in mind|bear in mind|make a note|take note)(?: that|:| of)",
    r"\b(?:don't|do not|never) forget\b",
    r"\bfor (?:the future|future reference|next time|the record)\b",
    r"\bfrom now on\b",
)
PREFERENCES_WORDS = "prefer rather always never stand bear hate dislike like love allergic intolerant vegan vegetarian call favourite favorite fave go preferred"
PREFERENCES = (
    rf"\b{_PERSON}{_ADVERB} (?:prefer|would rather|'d rather)\b",
    rf"\b{_PERSON} (?:always|never)\b(?! (?:really )?(?:asked|knew|thought|seen|saw|been|had|heard|tried|tired|imagined|expected|realized|realised))",
    rf"\b{_PERSON}{_ADVERB} (?:can't stand|cannot stand|hate|dislike|can't bear|don't like|do not like|love it when)\b",
    r"\bi(?:'m| am)(?: \w+)? (?:allergic to|intolerant to|vegan|vegetarian)\b",
    r"\b(?:please )?call me (?-i:[A-Z])",
    r"\bmy (?:all-time )?(?:favou?rite|fave|go-to|preferred)\b(?: \w+){0,4} (?:is|are|was|has (?:always )?been)\b",
)
DECISIONS_WORDS = "decided agreed chosen chose settled opted picked made going go switched let decision"
DECISIONS = (
    rf"\b{_PERSON}{_HAVE}{_ADVERB} (?:decided|agreed|chosen|chose|settled on|opted|picked|made up (?:my|our) minds?)\b",
    rf"\b{_PERSON}(?:'re|'m| are| am){_ADVERB} going with\b",
    r"\b(?:going|go) with\b(?= (?:the|a|an|(?-i:[A-Z0-9])))",
    rf"\b{_PERSON}{_HAVE}{_ADVERB} switched (?:over )?(?:to|from)\b",
    r"\bsettled on\b",
    r"\blet(?:'s| us) (?:use|go with|stick with|keep|switch to|drop|move to)\b",
    r"\bthe decision is\b",
)
TOOL_DECISIONS_WORDS = "must never only instead same longer always no"
TOOL_DECISIONS = (r"\b(?:must|never|only|instead|same as|no longer|always)\b", r"\bno [\w-]+(?: [\w-]+)?!")
"""Words that make a decision of a statement in a session with tools."""
CORRECTIONS_WORDS = "actually longer not isn don doesn aren meant mean changed correction scratch mistake make"
CORRECTIONS = (
    r"^(?:no[,.]? |sorry[,.]? |wait[,.]? |oh[,.]? |hm+[,.]? )*actually\b",
    r"\bactually,? (?:make|it's|it is|that's|that is|it was|the)\b",
    r"\bno longer\b|\b(?:not|isn't|don't|doesn't|aren't)\b[^.;]{0,40} any ?more\b",
    r"\b(?:it's |is |it is |was |use )?not (?!only\b|just\b)[\w'-]+(?: [\w'-]+){0,3},? but (?!also\b|i\b|it\b|we\b)",
    r"\bi meant\b|\bi mean(?:t)? to say\b",
    r"\bchanged (?:my|our) minds?\b",
    r"\b(?:correction|scratch that|my mistake)\b",
    r"\bmake (?:that|it) (?:a |an |the )?\w+",
)
RELATIVES = (
    "wife husband spouse partner fiance fiancee girlfriend boyfriend mother father mom mum dad sister brother son daughter grandmother grandfather grandma"
    " grandpa granny aunt uncle cousin niece nephew twin stepmother stepfather roommate flatmate boss manager dog cat puppy kitten"
)
PEOPLE = f"{RELATIVES} parents siblings kids children friends friend neighbour neighbor colleague coworker teacher client customer"
FACTS_WORDS = "my work works live joined moved started"
FACTS = (
    rf"\bmy (?:full |last |first |middle )?(?:name|job|home|address|birthday|phone(?: number)?|email|role|title|{RELATIVES.replace(' ', '|')})(?:'s)? "
    r"(?:is|are|was|has|works|lives|name is|=)\b",
    rf"\b{_PERSON}{_ADVERB} (?:work|works)(?: \w+)? (?:at|for|as)\b",
    rf"\b{_PERSON}{_ADVERB} live (?:in|at|near|on|with)\b",
    r"\b(?:i|we)(?:'ve)? (?:just |recently )?(?:joined|moved to|started at|started working (?:at|for))\b",
)
MARKS = {
    "decision": "decision",
    "preference": "preference",
    "lesson": "lesson",
    "fact": "fact",
    "remember": "fact",
    "note": "fact",
    "todo": "task",
}
"""Words that, before a colon at the beginning of a line, mark what follows; in any language."""

LESSONS = (r"\broot cause\b", r"\bcaused by\b", r"\b(?:was |is |are |were )?fixed by\b", r"\b(?:it )?turn(?:s|ed) out\b")
STATUSES = (
    r"\b(?:is|are|was|were|been|got|has|have|now) (?:now |already |just )?(?:merged|released|deployed|restarted|published|shipped|live|rolled back)\b",
    r"^(?:i |i've |we |we've )?(?:merged|released|deployed|restarted|published|shipped)\b",
    r"\btests? (?:now |all )?pass(?:es|ed)?\b|\ball (?:\d+ )?tests? (?:are |is )?(?:green|pass(?:ed|ing)?)\b",
)

AGENT_HINTS = (
    "root cause",
    "caused by",
    "fixed by",
    "turn",
    "merged",
    "released",
    "deployed",
    "restarted",
    "published",
    "shipped",
    "live",
    "rolled",
    "test",
)
"""One of these stands in every message that holds an agent's lesson or status."""

FIRST_PERSON = "i i'm i've me my mine myself we we're we've our ours ourselves"
SECOND_PERSON = "you you're you've you'd you'll your yours yourself u ur"
HAPPENINGS = """
was were had went gone been bought got joined finished started began met saw visited moved left lost won found made took gave received adopted signed enrolled
graduated applied passed failed married engaged divorced died born sold built painted wrote written read watched played ran hiked traveled travelled
flew drove camped cooked baked planted cleaned fixed repaired opened launched quit retired hired fired promoted tried learned learnt taught spoke gave
attended organized organised hosted celebrated performed competed volunteered donated helped booked ordered ate drank picked dropped broke
hurt injured recovered completed created designed developed published released shared showed discovered decided completed saved invested earned
happened changed turned became grew spent took caught chose threw held kept came accepted invited called told
"""
WISHES = """
want wanna plan planning plans hope hoping dream dreaming goal like likes love loves enjoy enjoys prefer wish considering gonna
excited interested passionate favorite favourite fan enjoyed loved liked adore hate
"""
TIME_WORDS = """
today tonight yesterday tomorrow ago monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
october november december week weeks weekend month months year years summer winter spring autumn fall morning afternoon evening night recently lately
since already daily weekly monthly yearly christmas thanksgiving easter birthday anniversary decade decades
"""
NUMBERS = "two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty fifty hundred thousand million dozen first second third"
KIN = f"""
{RELATIVES} home house apartment flat family kids kid child children baby parents parent siblings friends friend job office school college university
degree
"""
NAMING = r"\b(?:named|called|name is|name's|known as)\b|\bis (?:a|an|my|the|in|on|at)\b|\b(?:he|she|it|this|that)'s (?:a|an|my|the)\b"
REASONS = r"\b(?:because|learn(?:ed|t)|reali[sz]ed|since then|that's why|which is why|in order to)\b"
CAPTION = r"\((?:photo|image|picture|attached)s?: .+\)"

_NAME = r"(?-i:[A-Z])[\w&-]*+(?:\.\w[\w&-]*+)*+(?!'s?\b)"
_I_HAVE = rf"\b{_PERSON}{_HAVE}{_ADVERB}"
_I_AM = rf"\b{_PERSON}(?:'m| am|'re| are|'ve been| have been){_ADVERB}"
_MY = r"\b(?:my|our) (?:(?:new|current|present|all-time) )?"
_NOW = r"(?: (?:now|these days|at the moment|right now))?"
_IS = rf"{_NOW}(?:'s| is| are|'re| has (?:changed to|become)| have become| changed to| became)(?:{_NOW}| (?:actually|still|currently|in fact))"
_IS_OR_COLON = rf"(?:{_IS} (?:not [^,.;]{{1,30}} but )?|{_NOW} (?:isn't|aren't) [^,.;]{{1,30}} but |: )"
_ARTICLE = r"(?:called |named |a |an |the )?"
_CAPITAL = r"(?-i:[A-Z])"
_NOT_A_HOME = r"(?!fear\b|hope\b|denial\b|peace\b|harmony\b|a world\b|the (?:past|present|moment|future|now)\b|(?:\w+ )?times\b)"
BELONGINGS = "bike|boat|editor|laptop|doctor|dentist|therapist|landlord|landlady|accountant|lawyer|gym|bank|hometown|team"
_ADJECTIVE = (
    r"(?!\w+(?:ish|ese)\b|(?:german|french|dutch|greek|czech|swiss|thai|russian|italian|american|canadian|mexican|indian|brazilian|norwegian|"
    r"ukrainian|australian|african|asian|european|christian|catholic|buddhist|muslim|jewish|hindu|ok)\b)"
)
_PROFESSIONS = (
    "teacher|nurse|gardener|doctor|engineer|designer|developer|programmer|writer|editor|journalist|lawyer|cook|chef|baker|carpenter|electrician|"
    "plumber|driver|pilot|farmer|painter|photographer|musician|actor|translator|librarian|scientist|researcher|professor|student|manager|consultant|"
    "accountant|architect|analyst|nanny|therapist|vet|veterinarian|dentist|pharmacist|freelancer|salesman|barista|waiter|waitress|firefighter|"
    "paramedic|midwife|mechanic|technician"
)
_KIN = RELATIVES.replace(" ", "|")
_FAVOURITE = r"[a-z]+(?: (?!now\b|these\b|at\b|right\b|is\b|are\b|has\b|have\b|became\b|changed\b|isn't\b)[a-z]+)?"

NOT_SO = (
    r"\b(?:if|unless|suppose|supposing|assuming|imagine|hypothetically|what if|in case|pretend|as though|would|wouldn't|could|might|"
    r"maybe|perhaps|probably|someday|one day|ago|formerly|previously|back then|until|character|dream(?:ed|t)?)\b",
)
"""Words that no statement of what is so now holds."""
NOT_SO_BEFORE = (
    r"\b(?:not|never|nearly|almost|wish|wishes|hope|hoping|used to|once|before|(?-i:may)|should|will|'ll|want|wanted|plan|planning|going to|"
    r"if only|no longer|haven't|hasn't|hadn't|don't|didn't|isn't|wasn't)\b",
)
"""Words behind which nothing is stated as being so now."""

ATTRIBUTES: tuple[tuple[str, str, str], ...] = (
    ("work", rf"\b{_PERSON}{_ADVERB} work (?:at|for) (?P<value>{_NAME})", "employer"),
    ("worked", rf"\b{_PERSON}(?:'ve| have){_ADVERB} worked (?:at|for) (?P<value>{_NAME})", "employer"),
    ("employed working", rf"{_I_AM} (?:employed (?:at|by)|working (?:at|for)) (?P<value>{_NAME})", "employer"),
    (
        "joined join started start hired signed",
        rf"{_I_HAVE} (?:(?:left|quit) [^.;]{{1,40}}? (?:and|to) )?(?:join(?:ed)?|start(?:ed)? (?:working )?(?:at|for)|(?:got |been |was )?hired (?:at|by)|"
        rf"signed (?:on )?with) (?P<value>{_NAME})(?! (?:for|on|in) (?:a|an|the|lunch|dinner|breakfast|drinks|coffee|tea|fun)\b)",
        "employer",
    ),
    ("hired employs", rf"(?P<value>\b{_NAME}) (?:has )?(?:hired|employs) me\b", "employer"),
    ("employer company", rf"{_MY}(?:employer|company){_IS_OR_COLON}{_ARTICLE}(?P<value>.+)", "employer"),
    ("job position", rf"{_MY}(?:job|position){_IS} (?:at|with) (?P<value>{_NAME})", "employer"),
    ("live", rf"\b{_PERSON}{_ADVERB} live (?:in|at) {_NOT_A_HOME}(?P<value>.+)", "home"),
    ("living based settled", rf"{_I_AM} (?:living|based|settled) in {_NOT_A_HOME}(?P<value>.+)", "home"),
    (
        "moved relocated",
        rf"(?P<moved>{_I_HAVE} (?:moved|relocated)) to (?P<value>{_NAME})(?! for (?!good\b|work\b|love\b|now\b|my\b)[a-z])",
        "home",
    ),
    (
        "home address flat apartment house place",
        rf"{_MY}(?:home|address|flat|apartment|house|place){_IS_OR_COLON}(?P<value>(?:\d|{_CAPITAL}|on |in |at ).+)",
        "home",
    ),
    ("name", rf"\bmy (?:full )?name{_IS} (?P<value>{_CAPITAL}.+)", "name"),
    ("call go", rf"\b(?:call me|i go by) (?P<value>{_CAPITAL}.+)", "name"),
    ("job role title profession occupation", rf"{_MY}(?:job|role|title|profession|occupation){_IS_OR_COLON}(?P<value>.+)", "job"),
    ("work", rf"\b{_PERSON}{_ADVERB} work as (?P<value>.+)", "job"),
    (
        _PROFESSIONS.replace("|", " "),
        rf"\b(?:i'm|i am|i became|i've become)(?: now)? an? (?P<value>(?:[a-z]+ )?(?:{_PROFESSIONS}))\b",
        "job",
    ),
    ("birthday", rf"\bmy birthday{_IS} (?P<value>.*\d.*)", "birthday"),
    ("born", r"\bi was born on (?P<value>.*\d.*)", "birthday"),
    (
        "phone mobile cell number",
        rf"{_MY}(?:(?:phone|mobile|cell)(?: number)?|number){_IS_OR_COLON}(?P<value>\D{{0,20}}\d[\d -]{{4}}.*)",
        "phone",
    ),
    ("number", r"\bi have a new (?:phone |mobile )?number: (?P<value>.*\d.*)", "phone"),
    ("email e mail", rf"{_MY}(?:e-?mail|mail)(?: address)?{_IS_OR_COLON}(?P<value>.*@.*)", "email"),
    (RELATIVES, rf"{_MY}(?P<key>{_KIN})(?:{_IS} (?:called|named) |'s name{_IS} )(?P<value>{_CAPITAL}\w*)", "{key}"),
    (RELATIVES, rf"{_MY}(?P<key>{_KIN}){_IS_OR_COLON}{_ADJECTIVE}(?P<value>{_CAPITAL}\w*)(?: now)?\s*[.!,]?$", "{key}"),
    (
        RELATIVES + " " + BELONGINGS.replace("|", " "),
        rf"(?P<value>\b{_NAME}){_IS} {_MY}(?P<key>{_KIN}|{BELONGINGS})(?: now)?\s*[.!,]?$",
        "{key}",
    ),
    (BELONGINGS.replace("|", " "), rf"{_MY}(?P<key>{BELONGINGS}){_IS_OR_COLON}{_ARTICLE}(?P<value>{_CAPITAL}.*)", "{key}"),
    ("favourite favorite fave", rf"{_MY}(?:favou?rite|fave) (?P<key>{_FAVOURITE}){_IS_OR_COLON}(?P<value>.+)", "favourite {key}"),
    (
        "favourite favorite fave",
        rf"(?P<value>\b{_CAPITAL}[\w' -]+?){_IS} {_MY}(?:favou?rite|fave) (?P<key>{_FAVOURITE})(?= now\b|\s*[.!,]|\s*$)",
        "favourite {key}",
    ),
    ("car van", rf"{_MY}(?:car|van){_IS_OR_COLON}{_ARTICLE}(?P<value>{_CAPITAL}.*)", "car"),
    ("drive driving", rf"(?:\b{_PERSON}{_ADVERB} drive|{_I_AM} driving) an? (?:\w+ )?(?P<value>{_CAPITAL}[\w-]*)", "car"),
    ("school university college", rf"{_MY}(?:school|university|college){_IS_OR_COLON}(?P<value>{_CAPITAL}.*)", "school"),
    ("study studying", rf"(?:\b{_PERSON}{_ADVERB} study|{_I_AM} studying) at (?P<value>(?:the )?{_CAPITAL}.*)", "school"),
    (
        "university college school",
        rf"(?:{_I_HAVE} (?:transferred|changed|switched)|\bi{_ADVERB} go) to (?P<value>(?:the )?{_CAPITAL}.*\b(?:university|college|school)\b.*)",
        "school",
    ),
    ("allergic", rf"{_I_AM}(?: \w+)? allergic to (?P<value>.+)", "allergy"),
    (
        "vegan vegetarian pescatarian",
        rf"(?:{_I_AM}|{_I_HAVE} (?:gone|went|turned|became|become))(?: not [^,.;]{{1,30}} but| no longer [^,.;]{{1,30}} but)?(?: an?| strictly| fully)? "
        r"(?P<value>vegan|vegetarian|pescatarian)\b",
        "diet",
    ),
)
"""Patterns of statements, the words one of which is in each, and the attribute that it is about. `moved`: in a session with tools this is hardly about a home."""

KEY_SYNONYMS = {
    "employer": ("company", "works at", "work", "workplace"),
    "home": ("city", "lives in", "residence", "address", "location"),
    "name": ("called", "full name"),
    "job": ("role", "title", "profession", "occupation", "position"),
    "phone": ("phone number", "mobile"),
    "email": ("e-mail", "mail", "email address"),
    "allergy": ("allergies", "allergic to"),
    "mother": ("mom", "mum"),
    "father": ("dad",),
    "boss": ("manager",),
    "roommate": ("flatmate",),
    "grandmother": ("grandma", "granny"),
    "grandfather": ("grandpa",),
}
"""Other keys under which an attribute may stand in curated memory."""

MANY_VALUED = (
    "sister brother son daughter twin aunt uncle cousin niece nephew grandmother grandfather dog cat puppy kitten roommate allergy"
)
"""The attributes of which one may have several: another value takes the place of none."""
REQUEST_TO_FORGET = (
    r"(?:(?:please|ok|okay|hey|now|can you|could you|you can)[, ]+)*forget(?: the fact)?(?: that| about)?[: ]+(?P<subject>\S.*)"
)
"""The whole of a request to take something out of memory."""
