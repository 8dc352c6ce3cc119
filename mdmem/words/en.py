"""English, and what each table of a language is for. General, not drawn from any conversation.

Patterns are for straight apostrophes and any case; `^` begins a sentence without its greeting.
"""

from __future__ import annotations

_PERSON = r"(?:i|we)"
_HAVE = r"(?:'ve| have|'d| had)?"
_ADVERB = (
    r"(?: (?:also|just|really|finally|actually|now|definitely|usually|all|both|recently|already|"
    r"still))*"
)

# Words, in lower case

# Of these alone an acknowledgement consists.
ACKNOWLEDGEMENTS = """
ok okay k kk yes yep yeah yup sure no nope nah thanks thank thx ty cheers great perfect nice cool
awesome amazing wow woah whoa lgtm done right correct exactly fine good alright agreed indeed
absolutely definitely totally please hi hello hey bye goodbye morning night haha lol oh ah aw aww
noted understood got it you u so much a lot ton bunch very well too sounds looks seems that that's
thats it's is was very all for your the to of this congrats congratulations proud glad happy hear
wonderful fantastic incredible impressive inspiring lovely beautiful gorgeous stunning delicious
yummy tasty cute adorable sweet fun exciting interesting luck appreciate kind words support
encouragement means mean be can how what such and i'm i me my they they're their them these those
look really just super keep up work going rock rocks best soon talk later see take care always
here anytime course brilliant excellent superb splendid marvellous terrific neat grand evening
oops sorry yum yay woohoo ouch ugh
"""
# They say nothing by themselves.
STOP_WORDS = """
a about after again all also am an and any are as at be because been before being but by can could
did do does doing don't down even for from get gets getting go going got had has have having he
her here hers him his how i i'd i'll i'm i've if in into is it it's its just let like lot lots
make makes me more most much my no not now of off oh on one only or other our out over own really
right s she should so some such t than that that's the their them then there these they they're
thing things this those though through to too up us very was we we're we've well were what when
where which while who why will with would yeah yes you you're you've your
"""
# A sentence without any of them is in a language that the rules do not know.
FUNCTION_WORDS = """
the and is are was were of to for with that this it my our we you your not from at by be have has
will would can must should but or if when there they he she his her its i'm i've don't i
"""
FIRST_PERSON = "i i'm i've me my mine myself we we're we've our ours ourselves"
SECOND_PERSON = "you you're you've you'd you'll your yours yourself u ur"
HAPPENINGS = """
was were had went gone been bought got joined finished started began met saw visited moved left
lost won found made took gave received adopted signed enrolled graduated applied passed failed
married engaged divorced died born sold built painted wrote written read watched played ran hiked
traveled travelled flew drove camped cooked baked planted cleaned fixed repaired opened launched
quit retired hired fired promoted tried learned learnt taught spoke gave attended organized
organised hosted celebrated performed competed volunteered donated helped booked ordered ate drank
picked dropped broke hurt injured recovered completed created designed developed published
released shared showed discovered decided completed saved invested earned happened changed turned
became grew spent took caught chose threw held kept came accepted invited called told
"""
WISHES = """
want wanna plan planning plans hope hoping dream dreaming goal like likes love loves enjoy enjoys
prefer wish considering gonna excited interested passionate favorite favourite fan enjoyed loved
liked adore hate
"""
TIME_WORDS = """
today tonight yesterday tomorrow ago monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december week weeks
weekend month months year years summer winter spring autumn fall morning afternoon evening night
recently lately since already daily weekly monthly yearly christmas thanksgiving easter birthday
anniversary decade decades
"""
NUMBERS = """
two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty
fifty hundred thousand million dozen first second third
"""
RELATIVES = """
wife husband spouse partner fiance fiancee girlfriend boyfriend mother father mom mum dad sister
brother son daughter grandmother grandfather grandma grandpa granny aunt uncle cousin niece nephew
twin stepmother stepfather roommate flatmate boss manager dog cat puppy kitten
"""
_KIN = "|".join(RELATIVES.split())
PEOPLE = f"""{RELATIVES}parents siblings kids children friends friend neighbour neighbor colleague
coworker teacher client customer
"""
KIN = f"""{RELATIVES}home house apartment flat family kids kid child children baby parents parent
siblings friends friend job office school college university degree
"""
BELONGINGS = """
bike boat editor laptop doctor dentist therapist landlord landlady accountant lawyer gym bank
hometown team
"""
# No remark holds them.
REQUIREMENTS = "must never only always not don't no should shouldn't need needs has have"
# They belong to a correction, not to what it states.
CORRECTING = """
actually sorry meant mean make changed mind minds longer anymore correction scratch mistake
instead looked wrong checked wait oops
"""
# The attributes of which one may have several: another value replaces none.
MANY_VALUED = """
sister brother son daughter twin aunt uncle cousin niece nephew grandmother grandfather dog cat
puppy kitten roommate allergy
"""

# Dates

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
MONTHS = """
january february march april may june july august september october november december
"""
# From zero on.
NUMERALS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty
"""
# Ten, twenty and so on, to a hundred.
TENS = "ten twenty thirty forty fifty sixty seventy eighty ninety hundred"
# A clause with it tells what happened; what is to come, perhaps; what is surely to come; what
# comes again and again.
PAST = (
    r"\b(?:(?:i|we|he|she|they) got|was|were|had|did|went|won|met|saw|bought|made|took|gave|"
    r"came|left|lost|found|"
    r"began|ran|wrote|read|ate|drank|spoke|told|said|held|sent|spent|broke|fell|flew|drove|sold|"
    r"built|taught|brought|caught|heard|paid|chose|threw|(?!need|feed|speed)\w{2,}ed)\b"
)
FUTURE = (
    r"\b(?:will|going to|gonna|have to|has to|need to|needs to|must|should|can|could|"
    r"may|might|let's|let us|plan|plans|planning|want|hope|due|deadline|by|until|before|remind|"
    r"please|tomorrow|next|upcoming)\b|'ll\b|"
    r"(?:\b(?:is|are|am)|'(?:s|re|m)) (?:not )?(?:\w+ing|off|away|out|back)\b|"
    r"(?:\b(?:have|has)|'ve)(?: got)? (?:an?|another|booked|scheduled|arranged|reserved|planned|"
    r"agreed|invited|signed up|registered|set up|organi[sz]ed)\b|\bneeds?\b"
)
# With one of these, what was done was an arrangement: the day is that of what is to come.
ARRANGED = (
    r"\b(?:have|has|booked|scheduled|arranged|agreed|planned|reserved|invited|signed up|registered|"
    r"set up|organi[sz]ed|to (?!the\b|my\b|our\b|an?\b)(?-i:[a-z]+))\b|'ve\b"
)
# Before `in ten years` it tells of those behind.
PERFECT = (
    r"\b(?:haven't|hasn't|hadn't|havent|hasnt|(?:have|has|had|'ve|'s) (?:not|never|only)|"
    r"the (?:first|last|only|best|worst|most|\w+est))\b"
)
TO_COME = r"\b(?:will|must|shall|should|going to|have to|has to|needs? to|due|deadline)\b|'ll\b"
HABITUAL, REPEATED = (
    r"\b(?:always|usually|never|often)\b",
    r"\b(?:every|each|always|usually|never|often|sometimes|if|whenever|when)\b",
)

# Before an ordinal number that ends with a full stop: none in English.
BEFORE_ORDINALS = ""
# A preposition that a date keeps.
BEFORE_DATE = r"(?:on|by|until|till|through|since|before|after|from|for|in|as)"

# How much a message says

# The beginning of a message.
GREETING = (
    r"(?:hey|hi|hello|yo|hiya|good (?:morning|evening|afternoon)|greetings|what's up|wow|"
    r"thanks|thank you|great to hear|nice to)\b",
)
# An agent says what it does next.
NARRATION = (
    r"^(?:ok(?:ay)?[,.!]? |alright[,.!]? |great[,.!]? |now,? |first,? |next,? |then,? |"
    r"good[,.!]? |perfect[,.!]? |so,? )*"
    r"(?:let me|let's (?:see|look|check|take a look|start|try|run)|i'll|i will|i'm going to|i "
    r"am going to|i'm now|i need to|i should|now i|"
    r"looking at|checking|running|reading|searching|here's (?:the|a|what)|here is (?:the|a|"
    r"what))\b",
)
REFUSALS = (
    r"^(?:i'?m sorry|sorry|i apologi[sz]e|unfortunately)[,.]? (?:but )?i (?:can't|cannot|can "
    r"not|am unable|'m unable|won't)\b",
    r"^i (?:can't|cannot|am not able to|'m not able to) (?:help|assist|do that|comply)\b",
    r"^as an ai\b",
)
# Beginnings of a remark on what the other one says or shows.
REMARKS = (
    r"^(?:wow|oh|aw+|yeah|yes|ah|ooh|haha|man|hey)?[,!.]? ?(?:that|this|it|they|those|these|"
    r"what an?|sounds|looks|glad|congrats|good luck|can't wait|"
    r"i bet|i can imagine|no wonder|nice|great)(?:'s|'re|'d| )",
)
NAMING = (
    r"\b(?:named|called|name is|name's|known as)\b|\bis (?:a|an|my|the|in|on|at)\b|\b(?:he|"
    r"she|it|this|that)'s (?:a|an|my|the)\b",
)
REASONS = (
    r"\b(?:because|learn(?:ed|t)|reali[sz]ed)\b",
    r"\b(?:since then|that's why|which is why|in order to)\b",
)
CAPTION = (r"\((?:photo|image|picture|attached)s?: .+\)",)
# Questions whose answer is a decision.
CHOICES = (
    r"\b(?:should|shall) (?:i|we)\b",
    r"\b(?:do|would) you (?:want|prefer|like)\b",
    r"\bwant me to\b",
    r"\b(?:may|can|could) i\b",
    r"^which\b",
)
# Beginnings of an answer that needs its question.
ANSWERS = (
    r"^(?:yes|yep|yeah|yup|no|nope|nah|sure|both|neither|either|the (?:first|second|last|"
    r"latter|former|other)(?: one)?|that one|this one|none)\b",
)

# Statements that are always kept

# Words before some patterns: one of them, in lower case and without what an apostrophe cuts off,
# is in every text that one of the patterns matches. It saves most searches.

# Requests to remember something.
KEEP_REQUESTS = (
    "remember note mind forget future next record now today on know fyi heads reference context",
    (
        r"^(?:please )?(?:use|answer|reply|respond|write|call|speak|keep|format|run|put|"
        r"name|log|skip|avoid|stop|start)\b[^.!?:\"]*\bfrom now on\b",
        r"\b(?:please |pls )?remember (?:that|this|to|:|my|our|i|we)",
        r"\b(?:please )?(?:note|keep in mind|bear in mind|make a note|take note)(?: that|:| of)",
        r"\b(?:don't|do not|never) forget\b",
        r"\bfor (?:the future|future reference|next time|the record)\b",
        r"\b(?:so you know|fyi)\b(?=\W+\w)",
        r"^heads[ -]up\b|^for (?:reference|context)\b",
        r"\bfrom (?:now|today|tomorrow|this point|here) on\b|\bas of (?:now|today)\b",
        r"^\W*the (?:[\w'-]+ ){1,4}?(?:is|are) (?=[^.!?,:]*(?-i:[A-Z0-9]))[^.!?,:]{1,40} now\b",
    ),
)
# The first that matches decides the kind.
KEPT_ANYWHERE = (
    (*KEEP_REQUESTS, "fact"),
    (
        """
        decided agreed chosen chose settled opted picked made going go switched let
        decision never always
        """,
        (
            rf"\b{_PERSON}{_HAVE}{_ADVERB} (?:decided|agreed|chosen|chose|settled on|opted|"
            rf"picked|made up (?:my|our) minds?)\b",
            rf"\b{_PERSON}(?:'re|'m| are| am){_ADVERB} going with\b",
            rf"(?:\b{_PERSON}(?:'ll| will)?{_ADVERB} )?"
            r"\b(?:going|go) with\b(?= (?:the|a|an|(?-i:[A-Z0-9])))",
            rf"\b{_PERSON}{_HAVE}{_ADVERB} switched (?:over )?(?:to|from)\b",
            r"\bsettled on\b",
            r"^(?:(?:ok|okay|so|and|right),? )*decided\b",
            r"\blet(?:'s| us) (?:use|go with|stick with|keep|switch to|drop|move to|name|call)\b",
            r"^(?:please )?(?:never|always) (?:use|answer|reply|respond|write|give|ask|show|format|"
            r"explain|call|address)\b",
        ),
        "decision",
    ),
    (
        (
            "eat drink smoke fly drive prefer rather always never stand bear hate dislike like "
            "love allergic intolerant vegan vegetarian call favourite favorite fave go preferred"
        ),
        (
            rf"\b{_PERSON}(?:{_ADVERB} (?:prefer|would rather|like (?:my|our))|'d rather)\b",
            rf"\b{_PERSON} (?:always|never)\b(?! (?:really )?(?:asked|knew|thought|seen|saw|"
            rf"been|had|heard|tried|tired|imagined|expected|realized|realised))",
            rf"\b{_PERSON}{_ADVERB} (?:can't stand|cannot stand|hate|dislike|can't bear|don't "
            rf"like|do not like|love it when)\b",
            rf"\b{_PERSON}{_ADVERB} (?:don't|do not|can't|cannot) (?:eat|drink|smoke|fly|drive)\b",
            r"\bi(?:'m| am)(?: \w+)? (?:allergic to|intolerant to|vegan|vegetarian)\b",
            r"\b(?:please )?call me (?-i:[A-Z])",
            r"\bmy (?:all-time )?(?:favou?rite|fave|go-to|preferred)\b(?: \w+){0,4} (?:is|are|"
            r"was|has (?:always )?been)\b",
        ),
        "preference",
    ),
    (
        "my work works live joined moved started born",
        (
            rf"\bmy (?:full |last |first |middle )?(?:name|job|home|address|birthday|phone(?: "
            rf"number)?|email|role|title|{_KIN})(?:'s)? (?:is|are|was|has|works|lives|name is|=)\b",
            rf"\b{_PERSON}{_ADVERB} (?:work|works)(?: \w+)? (?:at|for|as)\b",
            rf"\b{_PERSON}{_ADVERB} live (?:in|at|near|on|with)\b",
            r"\bi was born (?:in|on)\b",
            r"\b(?:i|we)(?:'ve)? (?:just |recently )?(?:joined|moved to|started at|started "
            r"working (?:at|for))\b",
        ),
        "fact",
    ),
)
# As KEPT_ANYWHERE, but each begins a clause. English has none.
KEPT_CLAUSES = ()
# Beginnings of a rule that is said as a statement.
RULES = (
    r"(?:every|each|no(?! (?:prob|worr|doubt|idea|need|way))|going forward,?|from now on,?) \w",
)
# They make a decision of a statement in a session with tools.
TOOL_DECISIONS = "must never always only instead"
CORRECTIONS = (
    "actually longer not isn don doesn aren meant mean changed correction scratch mistake make",
    (
        r"^(?:no[,.]? |sorry[,.]? |wait[,.]? |oh[,.]? |hm+[,.]? )*actually\b",
        r"\bactually,? (?:make|it's|it is|that's|that is|it was|the)\b",
        r"\bno longer\b|\b(?:not|isn't|don't|doesn't|aren't)\b[^.;]{0,40} any ?more\b",
        r"\b(?:it's |is |it is |was |use )?not (?!only\b|just\b)[\w'-]+(?: [\w'-]+){0,3},? "
        r"but (?!also\b|i\b|it\b|we\b)",
        r"\bnow,? not \w|, not (?:on )?\d[\w:. ]*$",
        r"\bi meant\b|\bi mean(?:t)? to say\b",
        r"\bchanged (?:my|our) minds?\b",
        r"\b(?:correction|scratch that|my mistake)\b",
        r"\bmake (?:that|it) (?:a |an |the )?\w+",
    ),
)
_WRITES = r"wr(?:ote|ites)(?! (?:the|an?|all|every|each|our|my|most|much|many|no)\b)"
_NOT_OF_SELF = r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bto )(?<!\bi've )"
# With them a statement is somebody else's.
REPORTED = (
    (
        "says said wrote writes reads states stated told tells asks asked claims according "
        "print prints output outputs returned types typed replied"
    ),
    (
        rf"(?<!everyone )(?<!everybody )(?<!nobody )(?<!people ){_NOT_OF_SELF}\b(?:(?:says|said|"
        rf"{_WRITES}|stated|told (?:me|you|us)|tells|(?:asks|asked)(?! for\b)|claims|"
        r"according to|replied)\b|"
        r"(?:reads|states|prints?|outputs?|returned|types|typed)(?=\s*(?:[:\"(]|that\b|$)))",
    ),
)
# Of an agent, like STATUSES.
LESSONS = (
    r"\broot cause\b",
    r"\bcaused by\b",
    r"\b(?:was |is |are |were )?fixed by\b",
    r"\b(?:it )?turn(?:s|ed) out\b",
)
STATUSES = (
    r"\b(?:is|are|was|were|been|got|has|have|now) (?:now |already |just )?(?:merged|released|"
    r"deployed|restarted|published|shipped|live|rolled back)\b",
    r"^(?:i |i've |we |we've )?(?:merged|released|deployed|restarted|published|shipped)\b",
    r"\btests? (?:now |all )?pass(?:es|ed)?\b|\ball (?:\d+ )?tests? (?:are |is )?(?:green|"
    r"pass(?:ed|ing)?)\b",
)
# One of these is in each text with a lesson or a status.
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

# The attribute that a statement is about

_NAME = r"(?-i:[A-Z])[\w&-]*+(?>(?:\.\w[\w&-]*+)*)(?!'s?\b)"
_I_HAVE = rf"\b{_PERSON}{_HAVE}{_ADVERB}"
_I_AM = rf"\b{_PERSON}(?:'m| am|'re| are|'ve been| have been){_ADVERB}"
_MY = r"\b(?:my|our) (?:(?:new|current|present|all-time) )?"
_NOW = r"(?: (?:now|these days|at the moment|right now))?"
_IS = (
    rf"{_NOW}(?:'s| is| are|'re| has (?:changed to|become)| have become| changed to| "
    rf"became)(?:{_NOW}| (?:actually|still|currently|in fact))"
)
_IS_OR_COLON = (
    rf"(?:{_IS} (?:not [^,.;]{{1,30}} but )?|" rf"{_NOW} (?:isn't|aren't) [^,.;]{{1,30}} but |: )"
)
_ARTICLE = r"(?:called |named |a |an |the )?"
_CAPITAL = r"(?-i:[A-Z])"
_NOT_A_HOME = (
    r"(?!fear\b|hope\b|denial\b|peace\b|harmony\b|a world\b|the (?:past|present|moment|future|"
    r"now)\b|(?:\w+ )?times\b)"
)
_ADJECTIVE = (
    r"(?!\w+(?:ish|ese)\b|(?:german|french|dutch|greek|czech|swiss|thai|russian|italian|"
    r"american|canadian|mexican|indian|brazilian|norwegian|"
    r"ukrainian|australian|african|asian|european|christian|catholic|buddhist|muslim|jewish|"
    r"hindu|ok)\b)"
)
_PROFESSIONS = (
    "teacher|nurse|gardener|doctor|engineer|designer|developer|programmer|writer|editor|"
    "journalist|lawyer|cook|chef|baker|carpenter|electrician|"
    "plumber|driver|pilot|farmer|painter|photographer|musician|actor|translator|librarian|"
    "scientist|researcher|professor|student|manager|consultant|"
    "accountant|architect|analyst|nanny|therapist|vet|veterinarian|dentist|pharmacist|"
    "freelancer|salesman|barista|waiter|waitress|firefighter|paramedic|midwife|mechanic|technician"
)
_BELONGINGS = "|".join(BELONGINGS.split())
_FAVOURITE = (
    r"[a-z]+(?: (?!now\b|these\b|at\b|right\b|is\b|are\b|has\b|have\b|became\b|changed\b|"
    r"isn't\b)[a-z]+)?"
)
# Words as above, the pattern, and the attribute. `moved`: in a session with tools hardly a home.
ATTRIBUTES = (
    ("work", rf"\b{_PERSON}{_ADVERB} work (?:at|for) (?P<value>{_NAME})", "employer"),
    (
        "worked",
        rf"\b{_PERSON}(?:'ve| have){_ADVERB} worked (?:at|for) (?P<value>{_NAME})",
        "employer",
    ),
    (
        "employed working",
        rf"{_I_AM} (?:employed (?:at|by)|working (?:at|for)) (?P<value>{_NAME})",
        "employer",
    ),
    (
        "joined join started start hired signed",
        rf"{_I_HAVE} (?:(?:left|quit) [^.;]{{1,40}}? (?:and|to) )?(?:join(?:ed)?|start(?:ed)? "
        rf"(?:working )?(?:at|for)|(?:got |been |was )?hired (?:at|by)|"
        rf"signed (?:on )?with) (?P<value>{_NAME})(?! (?:for|on|in) (?:a|an|the|lunch|dinner|"
        rf"breakfast|drinks|coffee|tea|fun)\b)",
        "employer",
    ),
    (
        "jobs job",
        rf"\b(?:(?:changed|switched) jobs|new job)\b[^.]*\b(?:i'm|i am) (?:now )?"
        rf"(?:at|with) (?P<value>{_NAME})",
        "employer",
    ),
    ("hired employs", rf"(?P<value>\b{_NAME}) (?:has )?(?:hired|employs) me\b", "employer"),
    (
        "employer company",
        rf"{_MY}(?:employer|company){_IS_OR_COLON}{_ARTICLE}(?P<value>.+)",
        "employer",
    ),
    ("job position", rf"{_MY}(?:job|position){_IS} (?:at|with) (?P<value>{_NAME})", "employer"),
    ("live", rf"\b{_PERSON}{_ADVERB} live (?:in|at) {_NOT_A_HOME}(?P<value>.+)", "home"),
    (
        "living based settled",
        rf"{_I_AM} (?:living|based|settled) in {_NOT_A_HOME}(?P<value>.+)",
        "home",
    ),
    (
        "moved relocated",
        rf"(?P<moved>{_I_HAVE} (?:moved|relocated)) to (?P<value>{_NAME})(?! for (?!good\b|"
        rf"work\b|love\b|now\b|my\b)[a-z])",
        "home",
    ),
    (
        "home address flat apartment house place",
        rf"{_MY}(?:home|address|flat|apartment|house|place){_IS_OR_COLON}(?P<value>(?:\d|"
        rf"{_CAPITAL}|on |in |at ).+)",
        "home",
    ),
    ("name", rf"\bmy (?:full )?name{_IS} (?P<value>{_CAPITAL}.+)", "name"),
    ("call go", rf"\b(?:call me|i go by) (?P<value>{_CAPITAL}.+)", "name"),
    (
        "job role title profession occupation",
        rf"{_MY}(?:job|role|title|profession|occupation){_IS_OR_COLON}(?P<value>.+)",
        "job",
    ),
    ("work", rf"\b{_PERSON}{_ADVERB} work as (?P<value>.+)", "job"),
    (
        _PROFESSIONS.replace("|", " "),
        rf"\b(?:i'm|i am|i became|i've become)(?: now)? an? (?P<value>(?:[a-z]+ "
        rf")?(?:{_PROFESSIONS}))\b",
        "job",
    ),
    ("birthday", rf"\bmy birthday{_IS} (?P<value>.*\d.*)", "birthday"),
    ("born", r"\bi was born on (?P<value>.*\d.*)", "birthday"),
    (
        "phone mobile cell number",
        rf"{_MY}(?:(?:phone|mobile|cell)(?: number)?|"
        rf"number){_IS_OR_COLON}(?P<value>\D{{0,20}}\d[\d -]{{4}}.*)",
        "phone",
    ),
    ("number", r"\bi have a new (?:phone |mobile )?number: (?P<value>.*\d.*)", "phone"),
    (
        "reach call text",
        r"\b(?:reach|call|text) me (?:at|on|under) (?P<value>\+?\d[\d -]{5,})",
        "phone",
    ),
    ("reach email mail", r"\b(?:reach|email|mail) me (?:at|on|under) (?P<value>\S+@\S+)", "email"),
    ("email e mail", rf"{_MY}(?:e-?mail|mail)(?: address)?{_IS_OR_COLON}(?P<value>.*@.*)", "email"),
    (
        RELATIVES,
        rf"{_MY}(?P<key>{_KIN})(?:{_IS} (?:called|named) |'s name{_IS} )(?P<value>{_CAPITAL}\w*)",
        "{key}",
    ),
    (
        RELATIVES,
        rf"{_MY}(?P<key>{_KIN}){_IS_OR_COLON}{_ADJECTIVE}(?P<value>{_CAPITAL}\w*"
        rf"(?: {_CAPITAL}[\w'-]*){{0,2}})(?: now)?\s*[.!,]?$",
        "{key}",
    ),
    (
        BELONGINGS,
        rf"(?:{_I_HAVE} (?:switched|changed|moved) (?:over |from [\w. -]{{1,20}} )?to|"
        rf"\b{_PERSON}{_ADVERB} use|{_I_AM} using) (?P<value>{_NAME}) as "
        rf"(?:my|our) (?P<key>{_BELONGINGS})\b",
        "{key}",
    ),
    (
        RELATIVES + BELONGINGS,
        rf"(?P<value>\b{_NAME}){_IS} {_MY}(?P<key>{_KIN}|{_BELONGINGS})(?: now)?\s*[.!,]?$",
        "{key}",
    ),
    (
        BELONGINGS,
        rf"{_MY}(?P<key>{_BELONGINGS}){_IS_OR_COLON}{_ARTICLE}(?P<value>{_CAPITAL}.*)",
        "{key}",
    ),
    (
        "favourite favorite fave",
        rf"{_MY}(?:favou?rite|fave) (?P<key>{_FAVOURITE}){_IS_OR_COLON}(?P<value>.+)",
        "favourite {key}",
    ),
    (
        "favourite favorite fave",
        rf"(?P<value>\b{_CAPITAL}[\w' -]{{1,80}}?){_IS} {_MY}(?:favou?rite|fave) "
        rf"(?P<key>{_FAVOURITE})(?= now\b|\s*[.!,]|\s*$)",
        "favourite {key}",
    ),
    (
        "car van",
        rf"{_MY}(?:car|van){_IS_OR_COLON}{_ARTICLE}(?P<value>(?:[a-z]+ )?{_CAPITAL}.*)",
        "car",
    ),
    (
        "drive driving",
        rf"(?:\b{_PERSON}{_ADVERB} drive|{_I_AM} driving) an? (?:\w+ )?(?P<value>{_CAPITAL}[\w-]*)",
        "car",
    ),
    (
        "school university college",
        rf"{_MY}(?:school|university|college){_IS_OR_COLON}(?P<value>{_CAPITAL}.*)",
        "school",
    ),
    (
        "study studying",
        rf"(?:\b{_PERSON}{_ADVERB} study|{_I_AM} studying) at (?P<value>(?:the )?{_CAPITAL}.*)",
        "school",
    ),
    (
        "university college school",
        rf"(?:{_I_HAVE} (?:transferred|changed|switched)|\bi{_ADVERB} go) to (?P<value>(?:the "
        rf")?{_CAPITAL}.*\b(?:university|college|school)\b.*)",
        "school",
    ),
    ("allergic", rf"{_I_AM}(?: \w+)? allergic to (?P<value>.+)", "allergy"),
    (
        "vegan vegetarian pescatarian",
        rf"(?:{_I_AM}|{_I_HAVE} (?:gone|went|turned|became|become))(?: not [^,.;]{{1,30}} but|"
        rf" no longer [^,.;]{{1,30}} but)?(?: an?| strictly| fully)? "
        r"(?P<value>vegan|vegetarian|pescatarian)\b",
        "diet",
    ),
)
# Other keys under which an attribute may stand in curated memory.
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
# What a question says instead of a key.
KEY_QUESTIONS = {
    "home": "live living address house apartment moved reside",
    "employer": "work working office workplace firm",
    "job": "work occupation profession living role",
    "manager": "boss supervisor lead",
    "boss": "manager supervisor lead",
    "partner": "wife husband married spouse boyfriend girlfriend together",
    "wife": "married spouse partner",
    "husband": "married spouse partner",
    "boyfriend": "partner together",
    "girlfriend": "partner together",
    "allergy": "allergic rash reaction intolerant tolerate avoid",
    "diet": "eat eating vegetarian vegan food",
    "birthday": "born birth birthdate age old turn",
    "phone": "number call mobile cell reach",
    "email": "mail write reach",
    "car": "drive driving vehicle",
    "bike": "ride cycle cycling bicycle",
    "dog": "pet animal",
    "cat": "pet animal",
    "puppy": "dog pet animal",
    "kitten": "cat pet animal",
    "mother": "mum mom parent",
    "father": "dad parent",
    "sister": "sibling siblings",
    "brother": "sibling siblings",
    "son": "child children kid kids boy",
    "daughter": "child children kid kids girl",
    "doctor": "physician gp practice",
    "dentist": "teeth tooth",
    "landlord": "rent owner",
    "landlady": "rent owner",
    "editor": "ide code coding write",
    "laptop": "computer machine notebook",
    "school": "study studying university attend",
    "gym": "train training workout exercise",
    "bank": "account money",
    "hometown": "grow grew born raised",
    "name": "called",
    "roommate": "flatmate live share",
    "lawyer": "attorney legal",
    "accountant": "tax taxes",
    "language": "speak speaking",
    "team": "support fan",
}
# Words that no statement of what is so now holds.
NOT_SO = (
    r"\b(?:if|unless|suppose|supposing|assuming|imagine|hypothetically|what if|in case|"
    r"pretend|as though|would|wouldn't|could|might|"
    r"maybe|perhaps|probably|someday|one day|ago|formerly|previously|back then|until|"
    r"character|dream(?:ed|t)?)\b",
)
# Words behind which nothing is stated as being so now.
NOT_SO_BEFORE = (
    r"\b(?:not|never|nearly|almost|wish|wishes|hope|hoping|used to|once|before|(?-i:may)|"
    r"should|will|'ll|want|wanted|plan|planning|going to|"
    r"if only|no longer|haven't|hasn't|hadn't|don't|didn't|isn't|wasn't)\b",
)
# Before a request.
_ASKED_TO = r"(?:(?:please|ok|okay|hey|now|and|can you|could you|you can)[, ]+)*"
# The whole of a request to take something out of memory.
FORGET_REQUESTS = (
    rf"^(?:[^.!?]{{1,80}}, and )?{_ASKED_TO}forget(?: the fact| everything| anything)?"
    r"(?: (?:that|the|this) (?:bit|thing|part|line))?"
    r"(?: that| what)?(?: (?:i|we) (?:ever )?(?:said|mentioned|told you|wrote)(?: anything)?)?"
    r"(?: that| about| on| of)?[: ]+(?=\S)",
)
# The same, but it may mean a file.
ERASE_REQUESTS = (
    r"^(?:(?:delete|erase|scrap|strike) )?(?P<topic_en>(?:the|my|our|that) [^,.;]{3,60}?)(?: out)?"
    r"(?: again)?[,;]? (?:and |so )?(?:please )?(?:do not|don'?t) (?:keep|remember|store|save) "
    r"(?:it|that|this|them)(?: (?:anywhere|either|again|please))*\W*$",
    rf"^{_ASKED_TO}(?:don'?t|do not) (?:keep|save|store|remember) "
    r"(?:(?:the|that) (?:bit|thing|part)|what (?:i|we)|anything)(?: (?:about|on|said))* ",
    rf"^{_ASKED_TO}(?:delete|erase) (?=(?:the|my|our|what|everything)\b)",
)

# The shape of a sentence (see `sessions.shapes`)

# Who a statement of the speaker's begins with.
NOMINATIVE = """
i i'm i've i'll we we're we've we'll
"""
# What else a subject begins with.
SUBJECTS = """
the a an my our each every all both most some no many several two three four five six seven eight
nine ten
"""
# They are the subject of a rule: `nobody pushes on a Friday`.
GENERIC = "nobody nothing everybody everyone everything no every each"
# A person, whose name before it may be in lower case: `jonna writes it, she knows`.
PERSON = r"\b(?:he|she|he's|she's)\b"
# Of what is at hand, behind a verb; and before the verb of another clause.
OBJECTS, RELATIVES_OF_CLAUSES = "him her it them this that these those", "who which that"
# Between a subject and its verb.
ADVERBS = """
just also really still always never usually often mostly rarely only now already recently finally
all both do currently generally normally very so even
"""
# Verbs behind a pronoun that need what follows: being, having, what is to come, and without.
BEING, HAVING, COMING = "am are", "have has haven't", "will won't wont shall"
NEGATED, NEGATIONS = "don't dont can't cant cannot do can", "not no been"
# What one only has for the moment.
TROUBLES = """
bug question problem error issue idea file function look feeling doubt headache minute moment
favour favor
"""
REPEATING = "every each always never only daily weekly monthly yearly now longer"
# They point to what was said before, or to the one who is addressed.
ANAPHORA = """
it it's its that that's this these those they they're he he's she she's there there's here what
you you're your u ur who which how why when where them him
"""
AUXILIARIES = """
am is are was were has have had do does did can cannot can't cant could will won't wont would shall
should must may might isn't isnt aren't arent wasn't weren't hasn't haven't don't dont doesn't
doesnt didn't
"""
_VERBS = ["get", "gets", "getting", "go", "going", "got", "like", "let", "make", "makes"]
_CLOSED = "|".join(
    word
    for word in f"""{STOP_WORDS} an without until till every each half twice once between during
    near behind under against across per not never always also two three four five six seven eight
    nine ten""".split()
    if word not in _VERBS
)
# A verb behind its subject, by its ending or its neighbours.
FINITE = (
    r"\b[a-z]{3,}ed\b",
    rf"(?<=\s)(?!(?:{_CLOSED})\b)[a-z]{{2,}}[^\Wsui]s\b(?=\s\S)",
    rf"(?<=[a-z]s )(?!(?:{_CLOSED})\b)[a-z]+[^\Ws]\b(?=\s(?:(?:{_CLOSED})\b|[A-Z0-9\"]))",
    r"(?:(?<=[a-z]s always )|(?<=[a-z]s never )|(?<=[a-z]s usually ))[a-z]+[^\Ws]\b(?=\s\S)",
    r"(?<=[a-z] )(?<!to )(?<!can )(?<!will )(?<!must )(?<!not )(?<!n't )(?<!should )(?<!please )"
    r"(?:go|get|come)\b(?= (?:to|by|in|on|out|from|under|into|through|via)\b)",
)
# Behind a pronoun: of thinking, wishing and noticing, which states nothing that lasts.
MENTAL = """
think guess wonder suppose believe hope wish feel see know mean meant understand agree appreciate
remember forgot forget want need wanna get got could would might may should can did didn't had
heard noticed tried try thought bet doubt assume imagine expect say said found find saw mind
care wait recall worry was were used
"""
# Behind `I am`, or first of all: how one feels, or what one is doing.
MOODS = """
sure afraid sorry happy glad proud grateful thankful curious stuck confused excited tired done back
here ready fine ok okay good great hungry bored busy lost late exhausted impressed worried annoyed
surprised pleased able about thanks wow congrats
"""
# Of what is being done, this lasts.
LASTING = """
living working studying teaching learning training renting moving expecting leaving retiring using
switching migrating closing
"""
# Of what is past, this still holds.
CHANGES = """
moved shifted joined left quit stopped started switched changed renamed migrated adopted hired
married promoted retired dropped replaced became decided agreed settled born booked scheduled
"""
# Judgements of something at hand.
JUDGEMENTS = """
broken wrong missing failing fails failed crashes slow weird stuck empty odd strange fine ok okay
good great nice bad terrible too late early gone asleep awake looks look seems seem sounds sound
works work killing annoying ugly perfect wonderful lovely
"""
# What a request to do something begins with.
TASKS = """
fix rename run rerun install update upgrade bump remove delete move create build deploy find search
look book order buy plan show open start stop restart check use configure change switch implement
refactor merge push commit revert clean schedule remind suggest recommend get go keep set wire
migrate enable disable add calculate compute call cancel renew
"""
MORE_TASKS = """
write draft compose make prepare format name generate fill document release sign word phrase
translate proofread rewrite summarise summarize explain review edit test sort count convert improve
compare read repeat extract tag rate finish expand put insert paste append give tell list highlight
pick choose mark copy tidy leave try wait let take turn send save print pull fetch reply answer play
split round replace please draw ask bring respond speak talk ship sleep
"""
# Before what an order is about: `for mails, always …`.
BEFORE_TOPICS = "for in on with at"
# What an order for all times begins with.
FORBIDDING = (
    r"^(?:don'?t|do not|never|avoid|no(?= )|(?:stop|quit) [a-z]+ing)\b(?: ever\b)?"
    r"(?!\W+(?:worr(?:y|ies)|bother|mind|know|care|problems?|ideas?|need|rush|luck|thanks?|"
    r"prob|wonder|wait|way|doubts?|hurry|been|one|more(?! than)|you|forget|think|bad|big|a|"
    r"give up|quit|let|be (?:afraid|scared|shy)|(?:i|we|he|she|they|it|that|this)(?:'\w+)?)\b)"
    r"(?=\W+\w)",
    r"^(?:stop|quit) [a-z]+ing\b",
    r"^i (?:don'?t|do not|never) want (?:you to |to see )?(?!to\b)(?=\w)",
    r"^(?:only|always(?! (?:up|by|\w+[^s]s|\w*[aeiouy]\w*ing)\b))\b(?= \w+ \w)(?! (?:nice|good|"
    r"great|fun|glad|happy|the|one|a|got|have|had|if|when|because|joking|kidding|just)\b)",
)
# One of these makes such an order of a request.
STANDING = (
    r"(?<=\S )(?<!\bi )(?<!\bwe )(?<!for )(?:always|never)\b|\b(?:every|each(?= [a-z])|everywhere|"
    r"everything|anything|whatever|wherever|any ?more|all (?:my|our)|by default|as a rule|"
    r"at all times)\b",
    r"\b(?:before|after|when|while|without)\s+(?:\w+ing|you)\b",
    r"(?<!\bi)(?<!\bwe)(?:,| and)? (?:not|never|instead of|rather than)\s+"
    r"(?!(?:this|that|these|those|it|the)\b)\w",
    r"^keep (?!(?:the|my|our|an?|on|going|up|it|me|you)\b)\w+",
)
# They make one of any request.
FROM_NOW_ON = (
    r"\b(?:from (?:now|today) on|in (?:the )?future|going forward|whenever [^,]+,|whenever|"
    r"(?:every|each) time)\b",
    r"^when you (?!have\b|can\b|get\b|are\b)\w[^,]*,",
)
# With one of these a statement is a guess.
HEDGING = (
    r"^(?:i|we) (?:think|guess|believe|reckon|suppose)(?: that)? ",
    r"\b(?:i think|i guess|i reckon|or so|or thereabouts|near enough|not sure|pretty sure)\b",
)
# Before such an order.
BIDDING = (
    r"(?:(?:please|pls|plz|and|also)[ ,]+)*(?:i want you to|i(?:'d| would) like you to|"
    r"i need you to|you (?:must|should|have to|need to|are to)|make sure (?:that )?(?:you |to )?|"
    r"be sure to|remember to)?\s*(?=\w)",
)
# A request with one of these is about what is at hand.
AT_HAND = (
    r"\b(?:this|(?<!s )that|these|those|it|them|here|there|ones?|yet|(?<!ever )again|"
    r"(?<!from )now|first|next|then|today|tonight|last|previous|others?|another|second|third|above|"
    r"below|step|until|just)\b|^(?:find|list|show|search|count|highlight|look|(?:let|give) me)\b",
)

# Plain statements (see `extract.plain`)

_GRAMMAR = (
    r"adjectives?|adverbs?|verbs?|nouns?|pronouns?|prepositions?|tenses?|clauses?|synonyms?|"
    r"antonyms?|narrators?|authors?|sentiments?|fallacy|fallacies|plots?"
)
# What an agent works on in files; the others come with a message.
_OF_FILES = (
    r"(?:logs?|readme|docs|documentation|changelog|release notes|contributing|fixtures?|"
    r"test (?:data|cases?)|seed data|strings?|wiki|faq)"
)
_WRITING = (
    r"(?:texts?|sentences?|paragraphs?|phrases?|wording|lines? (?:below|above)|e-?mails?|"
    r"mails?|letters?|messages?|reply|replies|articles?|pages?|posts?|"
    r"tweets?|comments?|threads?|chats?|conversations?|transcripts?|minutes of|meeting notes|"
    r"notes? (?:of|from)|stor(?:y|ies)|novels?|chapters?|scenes?|"
    r"poems?|haikus?|limericks?|sonnets?|raps?|tales?|fables?|riddles?|anecdotes?|eulog(?:y|"
    r"ies)|sketch(?:es)?|memes?|songs?|lyrics|verses?|jokes?|scripts? for|dialogues?|"
    r"monologues?|essays?|homework|reviews?|ads?|adverts?|slogans?|captions?|headlines?|"
    r"blurbs?|abstracts?|cv|resumes?|résumés?|bios?|profiles?|prompts?|quotes?|quotations?|"
    r"speech(?:es)?|toasts?|statements?|commit message|examples?|samples?|"
    r"tables? (?:of|from|with)|snippets?|excerpts?|passages?|translations?|blog|"
    rf"survey|questionnaire|feedback|interview|podcast|horoscope|{_GRAMMAR}|"
    r"announcement|newsletter|flyer|invitation|press release|farewell|greeting card|flash "
    r"?cards?|vows)"
)
_TEXT = rf"(?:{_WRITING}|{_OF_FILES})"
# Names of languages: one that is a sentence by itself asks for a translation.
LANGUAGES = (
    "english|french|german|spanish|italian|portuguese|dutch|polish|russian|chinese|mandarin|"
    "japanese|korean|turkish|arabic|greek|swedish|danish|norwegian|finnish|czech|hungarian|"
    "romanian|ukrainian|latin|hebrew|hindi|thai|vietnamese|croatian|serbian|persian|swahili"
)
# Behind `this` or `that` they mean no text.
_AT_HAND = (
    r"ones?|way|morning|afternoon|evening|days|week|month|year|summer|winter|spring|autumn|fall|"
    r"time|project|repo|repository|codebase|machine|team|looks?|works?|worked|helped|helps|sounds?|"
    r"was (?:great|helpful|quick)|is (?:great|fine|good)"
)
_THESE = r"this|these|what follows|the (?:following|above|below|next)|everything (?:below|above)"
_THIS_TEXT = rf"(?:{_THESE}|(?:[\w'’-]+ ){{0,3}}{_WRITING})\b"
_THIS = (
    r"(?:(?:that(?! (?:way|i|i'd|i'm|i've|i'll|we|we're|the|my|our|it's|there's)\b)|"
    rf"it|those|them|him|her)\b|{_THIS_TEXT})"
)
_ASK = (
    r"(?:^|[.!?,;:]\s+|\b(?:please|pls|plz|then|now|and|kindly|quickly|just|also|you to|me to|"
    r"help me|"
    r"(?:can|could|would|will) (?:you|we|someone)(?: (?:please|maybe|just|quickly|help me))?)\s+)"
)
_TO_MEMORY = (
    r"(?:save|add|store|put|write|commit) (?:(?:this|that) )?(?:down )?(?:to|in|into) "
    r"(?:your )?(?:long-term )?memory"
)
# Requests to write a text, of which no word is there yet.
NEW_TEXTS = (
    rf"{_ASK}(?:write|draft|compose|create|generate|prepare|design|come up with|think of|"
    rf"invent|make|give|tell|continue|produce|suggest)\b[^.!?\n]{{0,40}}?\b{_TEXT}\b",
)
# Requests for work on a text: its words are hardly the user's own.
TEXT_WORK = (
    rf"{_ASK}(?:translate|proof-?read|paraphrase|rephrase|reword|re-?write|summari[sz]e|sum up|"
    rf"shorten|condense|polish|transcribe|anonymi[sz]e|redact|"
    r"spell-?check|copy-?edit|role-?play|pretend|impersonate|parody|recite|classify|"
    r"categori[sz]e|annotate|critique|ghost-?write|localize)\b",
    r"\bin (?:plain|simpl|oth|bett|nic)er words\b|\bin your own words\b",
    r"\b(?:tl;? ?dr|eli5|role-?play|in the style of|in (?:his|her|their|[A-Z][\w-]+'s) (?:name|"
    r"voice|words)|(?:sub-?agent|system) prompt)\b",
    rf"{_ASK}(?:(?:reply|respond|answer|react|get back|write back)(?: (?:to|for))? {_THIS}|"
    rf"write(?: (?:to|for))? {_THIS_TEXT})",
    rf"{_ASK}(?!{_TO_MEMORY}\b)"
    rf"(?:(?:fix|correct|edit|review|explain|check|format|improve|"
    r"analy[sz]e|interpret|evaluate|read|repeat|quote|cite|"
    r"tokeni[sz]e|grade|rate|score|rank|judge|assess|continue|"
    r"expand|simplify|paste|turn|look at|have a look|adapt|say|sing|"
    r"perform|act|copy|reformat|render|decode|guess|vary)"
    rf"(?: [\w'-]+){{0,4}}? {_THIS}|"
    r"(?:test|sort|count|convert|compare|parse|extract|pull|finish|complete|extend|clean up|tidy|"
    r"find|spot|list|highlight|use|put|add|insert|append|include|tag|give|file|store|save|tell|"
    rf"mark|pick|choose|change|set)(?: [\w'-]+){{0,4}}? (?:{_THESE})\b|"
    rf"(?:put|add|insert|append|include) (?:to|in|into|on) (?:[\w'-]+ ){{0,3}}?{_TEXT}\b)"
    r"(?! (?:repo|project|machine|computer|week|month|year|evening|morning|time|folder|"
    rf"branch|file)\b)",
    rf"{_ASK}make (?:this|that|it|these|the \w+) (?:\w+er|more|less|sound|rhyme|into|an?|funny|"
    rf"polite|formal|nice)\b|{_ASK}make [^.!?]{{0,30}} (?:of|from) {_THIS}",
    *NEW_TEXTS,
    rf"{_ASK}(?:write|add|make|create|generate) (?:[\w'-]+ ){{0,3}}(?:tests?|cases?|"
    rf"checks?)(?: case)?(?: (?:where|in which|with|that|when|given|which|to)|:)",
    r"\b(?:fix|correct|check|mind) (?:the |my |any |his |her |their )?(?:typos?|grammar|"
    r"spelling|punctuation|style|wording|tone|mistakes?|errors? in)\b|\bgrammar\b|\bspelling\b",
    r"\b(?:what|how|which|where|when)\b[^.!?]*\b(?:should|shall|can|could|do|would|might|must) "
    r"(?:i|we|you)\b[^.!?]*\b(?:answer|reply|respond|tell|say|write|react)\b",
    r"\b(?:should|shall|can|could|may|do|must) (?:i|we) (?:answer|reply|respond|tell|write)\b|"
    r"\b(?:way|how) to (?:answer|reply|respond|say|put)\b",
    r"\bwhat(?:'s| is| are| do| does| did| would)\b(?! (?:i|we)\b)[^.!?]*\b(?:think|mean|meant|"
    r"make of|say|want|after|point|opinion|gist|message|wrong with)\b",
    r"\b(?:any|your) (?:thoughts|opinion|opinions|feedback|comments|idea what|idea who)\b|"
    r"\bany idea\b",
    rf"\b(?:is|are|was|does|do|would|will|did) (?:this|that|it|these|those|they|the tone|the "
    rf"(?:[\w-]+ )?{_TEXT}|my (?:[\w-]+ )?{_TEXT})\b[^.!]*\?",
    r"\b(?:sounds?|reads?) (?:ok|okay|right|natural|good|well|fine|weird|odd|like)\b[^.!]*\?|"
    r"\bif (?:this|that|it) (?:sounds|reads)\b|"
    r"\b(?:how|does) (?:does )?(?:this|that|it) (?:sound|read|look)\b",
    r"\bwho (?:said|says|wrote|might have|is (?:he|she|this|that))\b|\bexplain (?:the |his |"
    r"her )?joke\b",
    r"\b(?:act|behave|speak|talk|respond|answer) (?:as|like) (?:an? |the |if )|\b(?:you are|"
    r"you're) (?:an? |now |the |[A-Z])|\blet's play\b|\bplay the (?:role|part)\b",
    r"\b(?:forwarded message|begin forwarded|original message|fwd?:)",
    r"\bnext (?:chapter|scene|line|verse)\b|\bin my (?:novel|story|book|script|play|poem|song|"
    r"game|film|movie)\b",
    r"\b(?:variations?|versions|translations?|synonyms) (?:of|for|on)\b|\b(?:to|into) "
    r"(?:passive|active|reported|past|present|formal|simple|plain) (?:voice|speech|tense|"
    r"english|language)\b",
    rf"\b(?:here(?:'s| is| are| comes?)|there(?:'s| is)|found|got|received|see|saw|below(?: "
    rf"is)?|attached)\b[^.!?\n]{{0,30}}?\b{_TEXT}\b",
    r"\b(?:hero|heroine|villain|protagonist|narrator|character|pirate|wizard)\b",
    r"^\W*(?:shorter|longer|nicer|softer|simpler|(?:more|less) \w+)(?: (?:please|pls))?\W*$",
    r"\b(?:too|more|less) (?:in)?(?:formal|long|short|harsh|blunt|polite|rude|stiff|direct|pushy|"
    r"casual|friendly|aggressive|wordy|vague|cheesy|dramatic|boring)\b|"
    r"\b(?:ok|okay|good|fine|right) like (?:this|that)\b",
    r"^[ ]*(?:\^|\u2191|<-|->|\u2192|=>)",
    r"^\W*(?:wrote|writes|said|says|sent|signed|source|via|credit)\b[^.!?\n]{1,40}$|"
    r"^\W*(?:by|from) (?:my|our|a|an)\b[^.!?\n]{1,30}$",
    r"\bwhich (?:one|of)\b|[ ](?:vs\.?|versus|or:)(?= (?:i|we)\b)|[/|](?= ?(?:i|we)\b(?!/))",
    r"\b(?:what(?:'s| is| are)|who(?:'s| is)) your\b|\btell (?:me|us) about yourself\b|"
    r"\b(?:what|where|when|which|how)(?: \w+)? (?:do|did|are|were|have) you (?:do|live|lived|"
    r"work|worked|come|from|based|eat|drink|like|prefer|study|born|start|been)\b",
)
_ASIDE = r"by the way|btw|fyi|just so you know|actually|in fact"
_LEAD_ASIDES = (
    rf"(?:just )?(?:{_ASIDE}|please|pls|as it happens|for what it's worth|i forgot to say)\b",
    r"(?:just )?(?:for|as) (?:(?:the|your) (?:record|information)|future reference|reference)\b",
    r"(?:for (?:the future|next time|context)|as (?:i|we) (?:said|mentioned))\b",
    r"i (?:just )?(?:want(?:ed)? to|should) (?:mention|say|add|note)(?: that)?\b|(?:oh|anyway)\b",
)
# They state nothing where a mark follows: `No, …`.
INTERJECTIONS = (
    r"(?:o?k(?:ay)?|so|and|but|well|yes|yeah|yep|no|nope|nah|hi|hey|hello|thanks|thank you|"
    r"(?:good )?(?:morning|afternoon|evening))\b",
    r"(?:oh|hm+|right|sorry|wait|great|cool|nice|perfect|also|update|news|important|note)\b",
    r"(?:correction|reminder|remember|heads[ -]up|(?:a )?quick (?:update|note|one)|good news)\b",
    r"(?:one (?:more |other )?thing(?: (?:for|about) [\w ]{1,30})?|that said|now)\b",
    r"(?:scratch that|my mistake|typo|in case you wonder|finally|luckily|unfortunately|honestly)\b",
    r"(?:basically|personally|(?:no, )?that(?:'s| is| was) (?:wrong|not right|not true)|decided)\b",
    r"i (?:was|am) (?:wrong|mistaken)\b|(?:small|slight) change\b|(?:last|next|first)(?=[:,.])",
)
# They may stand before a statement in its clause, with signs between them.
OPENERS = (
    *INTERJECTIONS,
    *_LEAD_ASIDES,
    r"(?:in general|generally|in future|going forward|currently|at the moment|these days)\b",
    r"(?:an update|today|tomorrow|yesterday|good (?:morning|evening|afternoon|day)|then)\b",
    r"(?:(?:last|this|next|since last) (?:week|month|year|summer|winter|spring|autumn|fall))\b",
    r"(?:because|since|as|usually|normally|mostly|there|everyone|all|done)\b",
    r"(?:can|could|will|would) you(?= (?:(?:please|pls) )?(?:remember|note|keep in mind) that\b|"
    r" (?:(?:please|pls) )?$)",
    r"i(?:'d like| would like| want| need) you to(?= (?:remember|note|keep in mind)\b| ?$)",
    rf"just\b|{_TO_MEMORY}(?: that)?",
)
# Beginnings of a clause of the user's own.
OWN = (
    r"(?:i|i'm|i've|i'd|i'll|we|we're|we've|we'll|my|our|mine|me|us|let's|let us)\b",
    r"(?:(?:please )?remember|note that|keep in mind|bear in mind|don't|do not|never)\b",
    r"(?:always|from now on|call me|going with|got)\b",
)
# Beginnings of a request to an agent.
REQUESTS = (
    rf"(?:do you|{'|'.join(TASKS.split())}|re-run)\b",
    r"(?:write|generate|explain)\b[^.!?:]{0,40}\b(?:scripts?|functions?|tests?|class(?:es)?|"
    r"modules?|query|queries|endpoints?|migrations?|parsers?|pipelines?|components?|configs?)\b",
)
# Beginnings of a sentence that only greets or thanks.
GREETINGS = (
    r"(?:hi|hiya|hey|hello|thanks|thank you|good (?:morning|evening|afternoon|day))\b",
    r"(?:(?:a )?quick (?:update|note|one)|great|perfect|nice|cool)\b",
)
# Beginnings of a question that asks to remember what it states.
REMEMBERING = (
    r"(?:can|could|will|would) you (?:please |pls )?(?:remember|note|keep in mind) that "
    r"(?:i|i'm|i've|we|we're|we've|my|our|the)\b",
)
_OURS = (
    r"(?:(?:my|our|the|a|an|some|few|couple of|two|three|four|five|several|more|new|other|general|"
    r"basic|personal|coding|code|style|git|naming|team|project|important|quick|small|hard|main|"
    r"here are|these are|final|standing|dietary|food|travel|writing|formatting|testing) )*"
)
_FOR_US = (
    r"(?: (?:for|about|in|on|of) (?:(?:this|these|my|our|all|me|us|you)(?: \w+){0,2}|"
    r"the (?:(?:next|whole) )?(?:repo|repository|project|codebase|code|team|assistant|agent|api|"
    r"app|backend|frontend|future|build|tests?|week|month|year))"
    r"| to (?:remember|keep in mind|follow|know|note)(?: \w+){0,2}"
    r"| (?:that )?(?:i|we) \w+(?: \w+){0,2})?"
)
# A person puts them above a list or a text of their own.
LABELS = (
    r"(?:decisions?|preferences?|lessons?|facts?|remember|reminders?|don't forget)",
    r"(?:do not forget|for the (?:future|record))",
    r"(?:please )?(?:remember|note)(?: this| the following)?(?: for (?:later|next time|me))?",
    rf"(?:please )?{_TO_MEMORY}",
    rf"{_OURS}(?:rules?|things?|conventions?|requirements?|constraints?|decisions?|preferences?|"
    rf"reminders?|goals|habits|priorities|plans|facts?){_FOR_US}",
    r"notes? to self",
)
_WRITTEN = (
    r"wrote|writes|says|said|file|page|mail|text|letter|article|log|chat|message|slack|issue|"
    r"comment|thread|wiki|doc|readme|notes?|book|novel|story|author|website|web|site|form|group|"
    r"channel|slides?|deck|presentation|signature|application|listing|caption|leaflet|brochure|"
    r"poster|postcard|slack|teams|twitter|linkedin|instagram|customers?|clients?|users?|guests?"
)
_INVENTED = (
    r"demos?|examples?|samples?|mock\w*|dummy|placeholders?|personas?|characters?|game|role-?play|"
    r"scenarios?|test (?:account|data|profile|user)s?"
)
# Labels of one's own within a line. Above a text they may announce another's.
INLINE_LABELS = (
    r"(?:notes?|todos?|important|fyi|btw|p\.?s|update|correction|edit|yes|no)",
    r"(?:ok(?:ay)?|also|(?:ok(?:ay)? |so )?decided|heads[ -]up)",
    r"(?:one (?:more )?thing(?: [\w ]{1,30})?|good news|quick (?:update|note|one|thing))",
    r"(?:no, )?that(?:'s| is| was) (?:wrong|not right|not correct|not true|incorrect)",
    r"for (?:clarity|completeness|context|info(?:rmation)?|reference)",
)
# Labels that name a topic. An attribute of the user behind one may be another's.
TOPIC_LABELS = (
    r"(?:for|re|regarding|about|concerning) (?!(?-i:[A-Z][a-z]))(?!your\b)"
    rf"(?![^:\n]*\b(?:{_WRITTEN}|{_INVENTED})\b)[^:\n]{{1,60}}",
    rf"in (?:the|this|our|my) (?![^:\n]*(?:{_WRITTEN}|{_INVENTED}|\w\.\w))[^:\n,]{{1,30}}",
)
# Conditions, examples and wishes: no statement of what holds.
NOT_PLAIN = (
    r"(?:^|, )in case (?!you wonder)|"
    r"\b(?:if|unless(?! (?:i|we) (?:say|ask|tell)\b)|whether|suppose|supposing|assuming|"
    r"in case of|imagine|"
    r"(?:would|could) you(?! (?:please |pls )?(?:remember|note|keep in mind) that\b)|"
    r"hypothetically|what if|pretend)\b",
    r"\b(?:e\.g\.|for example|for instance|such as|let's say)",
    r"\b(?:wish|hope)\b[^.!?]*\b(?:you|he|she|they|him|her|them|everyone|[A-Z]\w+)\b",
    r"\b(?:he|she|they) (?:says?|thinks?|feels?|claims?)\b",
    r"\((?:not really|kidding)\)|\b(?:jk|just kidding)\W*$|"
    r"\bin (?:the|this|that|my) (?:game|movie|novel|story)\W*$",
)
# Kinds of texts, of which what follows may be one.
TEXTS = (rf"(?<![\w.@/-]){_TEXT}\b(?!-)",)
# They make another's text of what follows their sentence, in its line too.
BRINGS = (
    r"\b(?:the following|following|below|above|found|received)\b",
    r"(?:^|[.,;:!] )here\b|\bhere(?=\s*(?:[-–:.]|$))",
    rf"\b(?:forward(?:ed|s)|pasted?|copied|quot(?:ing|ed))\b|{_NOT_OF_SELF}\b(?:sent|"
    rf"sends|{_WRITES}|told|tells|says?|said|ask(?:s|ed)(?! for\b)|posted|shared|texted|mailed|"
    r"emailed|messaged|announc(?:es|ed)|publish(?:es|ed)|replied|answered)\b",
    r"(?<!\bto )(?<!\bin )(?<!\bof )(?<!\bon )(?<!\bat )(?<!\bfor )(?<!\bwith )"
    rf"\b(?:this|these|those)\b(?! (?:{_AT_HAND})\b)",
)
# They say behind a text whose it is: `that's what the agency wrote`.
BROUGHT = (
    r"^(?:and |so )?(?:that|this|all of (?:that|this)|the above)(?:'s| is| was)? "
    r"(?:(?:(?:straight|copied|taken|just|all) )*(?:from|by|out of)(?! \W?\d)|"
    r"(?:what|how)(?! (?:i|we)\b)|quoted)\b",
    r"^(?:(?:he|she|they|(?-i:[A-Z])\w+) )(?:says|said|wrote|writes|sent (?:it|this|that))\W*$",
)
# They do so for what follows it in another line.
TAINTS = (
    r"\b(?:the following|following|below|above|here(?:'s| is| are| comes?)?|found|received)\b",
    r"\b(?:forwarded|pasted|copied|quoting|attached)\b",
    rf"\b(?:this|that|these|it|they|he|she|his|her|him|them|their)\b(?! (?:{_AT_HAND})\b)",
)
_WE_HAVE = r"(?:i|we)(?:'m|'ve|'d|'re)?(?: (?:am|have|had|would|just|also|really|still|only|are))*"
_PEOPLE = "|".join(PEOPLE.split())
# Beginnings of a sentence of one's own behind which another's text may follow.
LEADS_IN = (
    rf"{_WE_HAVE}\b (?:need|want|like|have|got|received|found|read|saw|see|hear|heard|think)\b",
    rf"{_WE_HAVE}\b (?:wrote|write|writing|drafted|draft|made|came|tried|stuck|not sure|unsure)\b",
    rf"{_WE_HAVE}\b (?:wonder|wondering|copied|pasted|looking for|working on|collected)\b",
    rf"{_WE_HAVE}\b (?:overheard|noticed|translated|recorded)\b",
    rf"{_WE_HAVE}\b (?:work on|(?:study|teach|learn|learning|studying|teaching) (?:{LANGUAGES})\b)",
    rf"(?:my|our) (?:\w+ )?(?:{_PEOPLE})s?\b",
)
# A sentence that ends with the name of a language is about what one speaks.
SPEAKING = (
    r"answer|reply|respond|write|wrote|written|speak|talk|read|docs?|comments?|messages?|always|"
    r"never|prefer|everything|from now"
)
# Whom one greets in a message of one's own.
AGENTS = (
    r"i",
    r"claude|chat(?:gpt)?|gpt|gemini|codex|copilot|openclaw",
    r"assistant|agent|there|again",
)
# A greeting, and whom one greets besides a name.
ADDRESSING = (
    r"(?:hi|hey|hello|dear|good (?:morning|evening|afternoon|day))",
    r"(?:all|everyone|everybody|team|folks|guys|mum|mom|dad)",
)
SIGN_OFFS = (
    r"(?:(?:best|kind|warm|kindest|warmest)(?: (?:regards|wishes))?|regards|cheers)",
    r"(?:sincerely|yours(?: (?:truly|sincerely|faithfully))?|with love|love(?! it\b)|xoxo)",
    r"(?:all the best|greetings(?: from [\w ]+)?|thanks,? and best|respectfully)",
    r"sent from my [\w ]+",
)
# They say that a text comes in the next message.
COMING_NEXT = (
    r"\bhere (?:it )?comes\b|\b(?:comes|coming|follows) (?:next|now)\b|\b(?:my|the) next message\b",
    r"\b(?:i'll|i will|let me) (?:now |just )?(?:paste|copy|send you|drop)\b",
)
# Questions about what was said as a riddle, or as an exercise.
RIDDLES = (r"\b(?:am i|is there|is (?:it|this|that)|mistakes?|correct)\b",)
# Beginnings of a request that only looks like a question.
YOU_MAY = r"(?:can|could|would|will) you(?: (?:please|pls|just|now|also|then|maybe))*"
# Beginnings of a question that may lack its mark.
ASKS = (
    r"(?:who|what|which|whose|how)\b",
    r"(?:is|are|was|were|does|did|can|could|should|has|have) "
    r"(?:it|he|she|they|this|that|these|those|his|her|their|the)\b",
)
# With them a statement is one of the moment.
PASSING = (
    r"\b(?:(?<!as of )(?<!from )today|tonight|right now|rn|for now|just now|yet|(?<!ever )again|"
    r"at the moment|this (?:morning|afternoon|evening|time))\b",
)
# They begin another clause.
CONJUNCTIONS = r"and|but|so(?! you know\b)|because|since"
# Of the first person.
PRONOUNS = (r"\b(?:i|i'm|i've|we|we're|we've)\b",)
# Behind them something else begins.
ASIDES = (r"\b(?:by the way|btw|fyi|also)\W*$",)
# Before what somebody says or thinks.
THAT = (r"\bthat\b",)
# Something of the speaker's, with nothing stated about it.
POSSESSIONS = (
    r"(?:my|our)\b(?!.*\b(?:is|are|has|have|was|were|runs?|ends?|starts?|lives?|works?)\b)",
)

# Signs of another's text. A space is `[ ]` here.

MAIL_HEADERS = "from|to|cc|subject|date|sent|reply-to|author"
# Before a quotation: `Ada wrote:`.
WROTE = "wrote"
# At the beginning of a letter.
SALUTATIONS = "dear"
# In parentheses, before where a text is from.
SOURCES = "from|via|by|source|quote"
# Of a script without spaces.
CHARACTERS = ()

# How a night words a line (see `dream.wording`)

# What goes at the beginning of a statement, besides interjections.
LEADS = (
    *_LEAD_ASIDES,
    r"(?:from (?:now|today) on|as of (?:now|today))\b",
    r"(?:(?:can|could|will|would) you )?(?:please |pls )?(?:always )?(?:remember|note|keep in mind|"
    r"bear in mind|don't forget|do not forget|make a note|take note)"
    r"(?: (?:that|to)\b|(?= (?:my|our|the|i|we)\b))",
    r"(?:and|but)\b|so(?= (?:i|i'm|my|we|our|the)\b)",
)
# What goes at its end.
TAILS = (
    rf"(?:(?:just )?(?:{_ASIDE})|for the record|for your information|for future reference)",
    r"(?:thanks|thank you)",
    r"(?:please|pls|for what it's worth|from now on|in future|as it is|going forward|instead)",
    r"(?:ok(?:ay)?|if that helps|as (?:i|we) (?:said|mentioned)|now|then|too|anyway)",
    r"(?:(?:please )?(?:keep (?:that|this|it) in mind|(?:remember|note) (?:that|this|it)))",
    r"(?:sorry|yay|haha|lol|cheers|rn)",
)
# What goes within it, between spaces or commas.
ASIDES_WITHIN = (rf"(?:{_ASIDE}|please|pls)",)
# German alone turns verb and subject round behind an opener.
TURNED = ()
# Before what was decided.
DECISION_FRAMES = (
    r"(?:i|we)(?:'ve| have)?(?: (?:just|now|finally|also|all))* (?:decided|agreed|chosen|chose|"
    r"opted|settled|resolved)(?: (?:on )?\d{4}(?:-\d\d){0,2})?(?: (?:to|that|on|for)\b)?"
    r"(?: (?:we|i)(?:'ll| will)?\b)?",
    r"(?:i|we)(?:'re|'m| are| am)(?= going with\b)",
    r"let(?:'s| us)\b",
    r"(?:the )?decision(?: is)?(?: to| that|:)",
    r"decided(?: to| that|:)",
    r"we(?:'ve| have)?(?: (?:just|now|finally|also))*(?= switched\b)",
)
# `use DuckDB for the desktop app`: verbs of a choice; what was chosen, and what it is for.
CHOOSING = (
    r"(?:we )?(?:(?:drop|ditch|leave|replace|retire) [^,;:]{1,30} and )?"
    r"(?:replace [^,;:]{1,30}? (?:with|by)|go(?:ing)? with|us(?:e|ing)|stick(?:ing)? with|"
    r"switch(?:ing)? to|settle on|choose|pick|mov(?:e|ing) to)\b",
)
CHOSEN = (
    rf"(?:{CHOOSING[0]})? ?(?P<value>[^,;:]{{1,40}}?) (?:for|as) (?:the |our |my |all )?"
    r"(?P<topic>(?!now\b|good\b|it\b|this\b|that\b|everything\b|all\b|today\b|a\b|an\b|me\b|us\b|you\b)"
    r"[\w' -]{2,40})",
)
# Before the value that was meant, in a correction.
MEANT = r"(?:i|we) mean(?:t)?(?: to say)?"
# Before a reason.
REASON = (
    r"(?:because(?! of\b)|given that|so that|since(?! (?:\d|last|then|january|february|march|april|"
    r"may|june|july|august|september|october|november|december)\b))"
)
# Between a subject and its value; between a value and its subject.
COPULA = (
    r"(?:(?:is|are|was|will be|has been|should be|became|becomes|has become)"
    r"(?: (?:called|named|set to|moved to|changed to))?"
    r"|has changed[:,] (?:it's|it is)|(?:has |have |was |been )*"
    r"(?:moved|changed|switched|went|slipped) to|=|:)"
)
COPULA_BACK = r"(?:is|are|became|becomes|will be) (?:now )?(?:the|our|my)"
# Beside a copula or at a value's end: it is so by now.
BY_NOW = r"(?:now|currently|actually|still|again|these days|at the moment|in fact|instead)"
BY_NOW_WORDS = "now currently again instead longer anymore"
ARTICLES = r"(?:the|our|my|a|an)"
# Behind a value: what it is not, or was.
CONTRASTS = r"(?:and )?(?:not|no longer|instead of|rather than)\b"
# Before a value that is to be again.
GOING_BACK = r"back to"
# The value of a sentence ends before these.
VALUE_ENDS = (
    r",? (?:because|since|so|but|which|where|who|until|while|and (?:i|we|my|our|the|it|she|he))\b|"
    r", (?:i|we|he|she|it|they)\b"
)
UNTIL_WORDS = r"(?:until|till|through|up to)"
# An attribute of a thing: the pattern and the key.
THING_ATTRIBUTES = (
    (
        r"(?P<thing>[\w'’ -]{2,40}?)(?: (?:now|actually|currently))? (?:runs?|listens?|is|are|"
        r"serves?|stays?)(?: (?:now|actually|currently|running|listening|reachable))* (?:on|at) "
        r"port (?P<value>\d{2,5})",
        "{thing} port",
    ),
    (
        r"(?P<thing>[\w'’ -]{2,40}?) (?:has |have |was )?(?:moved|switched|changed) to "
        r"port (?P<value>\d{2,5})",
        "{thing} port",
    ),
    (
        r"port (?:of|for) (?:the |our |my )?(?P<thing>[\w'’ -]{2,40}?) (?:is|changed to|was "
        r"changed to)(?: now)? (?P<value>\d{2,5})",
        "{thing} port",
    ),
    (
        r"(?:deadline|due date) (?:of|for) (?:the |our |my )?(?P<thing>[\w'’ -]{2,40}?) (?:is|has "
        r"moved to|moved to|was moved to|slipped to)(?: now)?(?: on)? (?P<value>.*\d.*)",
        "{thing} deadline",
    ),
    (
        r"(?P<thing>[\w'’ -]{2,40}?) (?:deadline|due date) (?:is|has moved to|moved to|was moved "
        r"to|slipped to)(?: now)?(?: on)? (?P<value>.*\d.*)",
        "{thing} deadline",
    ),
    (
        r"(?P<thing>[\w'’ -]{2,40}?) (?:is|are)(?: now)? due(?: on| by)? "
        r"(?P<value>(?:the )?(?:\w+ )?\d.*)",
        "{thing} deadline",
    ),
)
# They go at the beginning of a line: `our CI server` is `CI server`.
POSSESSIVES = r"(?:my|our)\b"
# They go at the beginning of a line, whose speaker everybody knows: `I'm on holiday`.
SPEAKERS = (
    r"(?:i|we)(?:'m|'re| am| are) (?!not\b)|i was (?=born\b)|"
    r"(?:i|we)(?:'ve|'ll|'d)? (?!am\b|are\b|was\b|were\b)"
)
# They say nothing of what a statement says.
HEDGES = """
actually just really basically honestly maybe perhaps also please simply quite rather pretty
somewhat probably apparently btw fyi
"""
# Of two statements that say the same, none has the opposite of a word of the other.
OPPOSITES = """
before/after above/below over/under to/from more/less more/fewer first/last left/right
inside/outside
"""
# It begins a statement about somebody else.
OF_ANOTHER = (
    rf"(?:my|our) (?:\w+ )?(?:{'|'.join(PEOPLE.split())})\b",
    r"(?-i:[A-Z])[\w'’-]*(?<!['’]s) (?:(?-i:[A-Z])[\w-]+ )?(?:has |have |just |now |also )*"
    r"(?:works?|worked|lives?|lived|joined|moved|started|left)\b",
    r"(?!(?:that|it|there|here|what|who|where|how|let)['’]s\b)(?-i:[A-Z])[\w-]+['’]s \w+",
    r"(?:he|she|they)\b",
)
# Of measures and times: statements that differ in them differ.
UNITS = """
second seconds minute minutes hour hours day days week weeks month months year years ml l g kg mg
km m cm mm kb mb gb tb percent euro euros dollar dollars pound pounds degrees
"""

# Prompts that need the talk before them

# Beginnings of a prompt that goes on from the message before it.
GOING_ON = (
    r"(?:and|or|but|also|then|only|instead)\b(?! then\b)",
    r"(?:what|how) about\b",
    r"what if\b",
    r"(?:until|till|since|by|from|with|for|in|on|at|to) (?:when|how|what|who|whom|which|where)\b",
)
# They point back, unless the prompt also names something.
POINTING_BACK = (
    r"\b(?:its?|it's|itself|he|him|his|he's|she|hers?|she's|they|them|theirs?|they're)\b",
    r"\b(?:that|these|those|that's)\b"
    r"(?! (?:i|you|we|he|she|it|they|the|an?|my|our|is|are|was|were|has|have|can|must|will)\b)",
    r"\bthis\b(?! (?:week|month|year|quarter|morning|afternoon|evening|time)\b)",
    r"(?<!is )(?<!are )(?<!was )\bthere\b(?! (?:is|are|was|were)\b)",
    r"\b(?:which|any|each|every|no) ones?\b|\bthe (?:\w+ )?ones?\b",
    r"\b(?:the (?:other|others|same|former|latter)|both|neither|either)\b",
)
# A request to make something begins with them.
MAKING = (
    r"(?:(?:please|now|ok(?:ay)?|can you|could you|let's|and)[, ]+)*"
    r"(?:write|draft|compose|create|make|add|prepare|format|name|open|plan|generate|set up|"
    r"schedule|fill in|start|update|document|commit|release|deploy|sign|word|phrase)\b",
)
# Before the thing that is to be made.
DETERMINERS = "a an the my our your this that these some another new me us up"
# The thing ends before them.
PREPOSITIONS = "for of to in on at with from about into by as so that which and or using like"

# Ordinals of days; months and weekdays are named by `strftime`.
CALENDAR = {
    "o": " ".join(
        f"{day}{'th' if day // 10 == 1 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
        for day in range(1, 32)
    ),
}
