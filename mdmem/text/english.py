"""English beyond suffix rules: irregular forms, word families, synonyms, kinds of things.

The tables are general, not drawn from any memory. Each row is a group; words may repeat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain

_START = 3
_KEPT = 4096

_VERBS = """
arise arose arisen|awake awoke awoken|beat beaten|become became|begin began begun|bend bent
bind bound|bite bit bitten|bleed bled
blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought
catch caught|choose chose chosen|cling clung
come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk
drive drove driven|eat ate eaten|fall fell fallen
feed fed|feel felt|fight fought|find found|flee fled|fly flew flown|forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone goes
grow grew grown|hang hung|hear heard
hide hid hidden|hold held|keep kept|kneel knelt|know knew known|lead led|leap leapt|learn learnt
leave left leaves|lend lent|lie lain
light lit|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung
rise rose risen|run ran|say said|see saw seen
seek sought|sell sold|send sent|sew sewn|shake shook shaken|shine shone|shoot shot|show shown
shrink shrank shrunk|sing sang sung
sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|speed sped|spend spent|spin spun
spring sprang sprung|stand stood
steal stole stolen|stick stuck|sting stung|strike struck|swear swore sworn|sweep swept|swell swollen
swim swam swum|swing swung
take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown
understand understood|wake woke woken
wear wore worn|weave wove woven|weep wept|win won|withdraw withdrew withdrawn|write wrote written
"""
_NOUNS = """
man men|woman women|child children kid kids|person people|foot feet|tooth teeth|mouse mice
goose geese|wife wives|knife knives
half halves|shelf shelves|loaf loaves|thief thieves|wolf wolves|calf calves|self selves
scarf scarves|ox oxen|index indices
criterion criteria|analysis analyses|crisis crises
"""
_FAMILIES = """
decide decision|choose choice|marry marriage wedding married|grow growth|lose loss|die death dead
sell sale|fly flight|live life
advise advice|believe belief|prove proof|succeed success|fail failure|compete competition contest
perform performance show
explore exploration|celebrate celebration party|graduate graduation|educate education study school
invite invitation
inspire inspiration|recommend recommendation suggest|discuss discussion talk|describe description
receive receipt get
apply application|employ employer job employee|teach teacher lesson|train training|paint painting
draw drawing|sing song singer
write writer author|cook cooking chef|bake baking|photograph photo picture pic photography
music musician musical|art artist artistic
science scientist|politics political politician|religion religious faith|health healthy
hunger hungry|thirst thirsty|anger angry
strong strength|long length|wide width|high height|deep depth|warm warmth|young youth|free freedom
wise wisdom|poor poverty|proud pride
hot heat|safe safety|able ability|honest honesty|important importance|different difference
difficult difficulty hard
responsible responsibility|injure injury hurt|treat treatment|recover recovery
operate operation surgery|born birth birthday
arrive arrival|depart departure leave|complain complaint|agree agreement|argue argument fight
move relocation|pay payment|lend loan
weigh weight|speak speech|serve service|enter entrance|relate relationship|related relative family
volunteer volunteering
hike hiking trail|camp camping|run running jog jogging|swim swimming|bike cycling bicycle cycle
interested interest hobby
nutrition diet food|finance financial money|economy economic|environment environmental
nation national country|universe universal
culture cultural|history historical|tradition traditional|nature natural|create creation creative
produce product production
destroy destruction|collect collection|solve solution|analyze analysis|store storage
retrieve retrieval|deploy deployment release
configure configuration config setting|authenticate authentication login auth|allergy allergic
prefer preference|migrate migration|renew renewal
remind reminder|subscribe subscription|install installation|approve approval|refuse refusal
expire expiry expiration
"""
_LIKE = """
mother: mom mum mommy|father: dad daddy|parent: mother father mom dad|grandmother: grandma granny
grandfather: grandpa|brother: sibling
sister: sibling|child: son daughter baby|baby: infant newborn|husband: spouse partner
wife: spouse partner|boyfriend: partner
girlfriend: partner|partner: spouse husband wife boyfriend girlfriend|friend: buddy pal mate
family: relative
colleague: coworker teammate|boss: manager supervisor|employer: company job work|work: employer job
job: work career profession occupation position
company: business firm startup employer|customer: client|employee: staff worker
salary: pay wage income|meeting: call appointment|deadline: due
task: todo chore|dog: puppy pup doggy|puppy: dog pup|cat: kitten kitty|pet: dog cat|animal: pet
horse: pony|bird: parrot
house: home apartment flat place|apartment: flat condo|city: town live|country: nation
place: location spot|location: place spot
street: road avenue|store: shop market mall|shop: store|car: vehicle auto|vehicle: car truck
bicycle: bike|bike: bicycle
plane: airplane flight|trip: travel journey vacation|travel: trip visit
vacation: holiday trip getaway|holiday: vacation
hotel: motel accommodation|restaurant: cafe diner eatery|cafe: coffee coffeehouse|bar: pub
food: meal dish cuisine
meal: dinner lunch breakfast|dinner: supper|dessert: cake sweet|drink: beverage|beverage: drink
snack: treat|recipe: dish
meat: beef chicken pork|vegetable: veggie|movie: film|film: movie|show: series|television: tv
book: novel|novel: book|author: writer
song: tune track|band: group|game: match|match: game|contest: competition tournament
tournament: competition|photo: picture pic image
picture: photo pic|painting: art|art: painting drawing|craft: pottery
hobby: pastime interest activity|activity: hobby
sport: exercise|exercise: workout gym fitness|workout: exercise gym|run: jog|hike: trek walk
walk: stroll|race: marathon
team: squad|coach: trainer|injury: hurt wound|doctor: physician|hospital: clinic|ill: sick
sick: ill unwell
illness: disease sickness|disease: illness|medicine: medication pill drug|surgery: operation
pain: ache|stress: anxiety pressure
anxious: nervous worried|happy: glad joy|sad: upset unhappy|angry: mad|afraid: scared fear
scared: afraid|tired: exhausted
surprised: shocked|excited: thrilled|proud: pride|worried: anxious|buy: purchase get|purchase: buy
gift: present|present: gift
money: cash|price: cost|cost: price|cheap: inexpensive|expensive: costly|sell: sale|rent: lease
begin: start|start: begin
finish: complete end|complete: finish|end: finish|stop: quit|quit: stop leave resign|resign: quit
try: attempt|help: assist support
support: help|repair: fix|fix: repair mend|build: construct make|make: create|create: make build
destroy: ruin|damage: break
break: damage|change: switch|replace: swap|update: upgrade|upgrade: update|remove: delete
delete: remove|add: include
like: enjoy love favorite|enjoy: like love|love: adore enjoy|favorite: favourite love prefer
prefer: favorite|hate: dislike
dislike: hate|want: wish|wish: want|need: require|plan: intend|intend: plan|hope: wish|dream: goal
goal: aim dream|aim: goal
idea: thought|opinion: view|problem: issue trouble|issue: problem bug|bug: issue error|error: bug
answer: reply response
question: ask|tell: say|talk: speak chat|chat: talk|meet: encounter|see: watch|watch: see|look: see
find: discover|discover: find
learn: study|study: learn|teach: instruct|know: understand|remember: recall memory
choose: pick select|pick: choose|select: choose
get: receive|receive: get|give: donate|donate: give charity|send: mail|bring: take|carry: bring
keep: store|move: relocate
relocate: move|go: visit|visit: go|return: back|arrive: come|leave: depart|stay: live
live: reside home|reside: live|born: birth|die: pass
grow: raise|raise: grow|adopt: rescue shelter|marry: wed wedding|wedding: marry|divorce: separate
date: relationship
big: large huge|large: big|small: little tiny|tiny: small|old: elderly|new: recent|quick: fast
fast: quick|easy: simple
hard: difficult tough|difficult: hard tough|beautiful: gorgeous pretty|pretty: beautiful
smart: clever|strange: weird odd
famous: popular|popular: famous|school: college university|university: college|college: university
student: pupil
class: course lesson|course: class|degree: diploma|exam: test|grade: mark|teacher: instructor
major: degree|computer: laptop pc
laptop: computer|phone: cellphone mobile|mobile: phone|internet: web online|website: site
password: passphrase|program: app software
software: app|database: db|config: configuration setting|editor: ide|server: host|repository: repo
documentation: docs doc
flower: plant|plant: flower|tree: plant|garden: yard|mountain: hill|ocean: sea beach|sea: ocean
beach: coast ocean|lake: pond
forest: wood|park: garden|weather: climate|rain: storm|snow: winter|church: temple
religion: church faith|event: occasion
party: celebration|festival: fair|concert: gig show|ceremony: event|birthday: anniversary
group: club community|club: group
meeting: gathering|organization: charity group|clothes: clothing outfit|dress: outfit
shoe: sneaker boot|jewelry: necklace ring
necklace: pendant|bag: backpack purse|instrument: guitar piano violin|guitar: instrument
piano: instrument|violin: instrument
kind: type|type: kind|reason: why because|purpose: reason|result: outcome|way: method|area: region
region: area|piece: part
amount: number|nickname: name|color: colour|colour: color|home: house live address
address: live email|spouse: partner husband wife
role: job position title|telephone: phone mobile|cellphone: phone mobile|email: mail address
outage: down downtime incident
downtime: outage down|incident: outage problem|budget: cost money|machine: server host computer
schedule: calendar appointment
calendar: schedule|vegetarian: vegan diet|convention: style rule|rule: policy|policy: rule
secret: password key token
credential: password key token|language: speak
"""

_MEMBERS = """
activity hobby pastime: hiking camping swimming running cycling painting drawing reading \
cooking baking gardening dancing singing yoga
activity hobby pastime: fishing skiing climbing photography knitting pottery gaming biking \
surfing hike camp swim run dance sing paint
activity hobby pastime: cook bake read
sport exercise: football soccer basketball baseball tennis golf hockey swimming running cycling \
skiing surfing boxing volleyball
sport exercise: climbing marathon gym yoga
instrument: guitar piano violin drum flute cello trumpet saxophone clarinet ukulele keyboard
animal pet: dog cat bird fish rabbit hamster turtle snake horse lizard guinea puppy kitten parrot
country nation: usa america canada mexico brazil england france germany spain italy greece \
japan china india australia ireland sweden
country nation: norway thailand turkey egypt portugal
city: london paris rome berlin madrid tokyo york chicago boston seattle toronto sydney \
barcelona amsterdam vancouver
food dish meal cuisine: pizza pasta salad soup sandwich rice chicken beef fish sushi curry \
cheese bread burger taco steak noodle
food dish meal cuisine: vegetable fruit
dessert sweet: cake cookie chocolate pie brownie cupcake cream candy pudding
drink beverage: coffee tea water beer wine juice milk soda smoothie cocktail
fruit: apple banana orange strawberry blueberry mango grape lemon peach cherry
color colour: red blue green yellow purple pink orange black white brown grey gray
family relative: mother father brother sister mom dad grandma grandpa aunt uncle cousin son \
daughter husband wife
vehicle: car truck bike bus train plane boat motorcycle van
furniture: chair table couch sofa bed desk shelf lamp
clothes clothing: shirt dress shoe jacket hat pants coat jeans sweater
weather: rain snow sunny storm wind cloud hot cold
season: spring summer fall autumn winter
emotion feeling mood: happy sad angry proud excited nervous anxious scared grateful lonely
job career profession occupation: engineer teacher nurse doctor lawyer manager designer writer \
developer counselor artist chef waiter
job career profession occupation: accountant
subject: math science history biology chemistry physics art english psychology
language: english spanish french german italian japanese chinese portuguese russian python rust \
java typescript javascript go
database: postgres mysql sqlite redis mongodb|os system: linux windows macos ubuntu android ios
art: painting drawing sculpture pottery photography sketch
nature outdoors outdoor: mountain forest beach lake river ocean park trail sunset waterfall
place location spot: park beach museum cafe restaurant library mountain lake forest
health: doctor hospital diet exercise sleep stress injury illness weight
book: novel series author read fantasy mystery
movie film: comedy drama action thriller watch
music: song band album concert rock jazz classical singer
game: chess cards puzzle console board video
event: concert festival conference parade party wedding workshop fair meeting race
charity volunteer: shelter donate fundraiser homeless charity volunteer
device tool gadget: phone laptop computer tablet camera watch
"""
_INITIALS = """
ci: continuous integration|cd: continuous delivery|qa: quality assurance|pr: pull request
ui: user interface|ux: user experience
gui: graphical user interface|cli: command line interface|api: programming interface|db: database
os: operating system|vm: virtual machine
vpn: virtual private network|dns: domain name system|sso: single sign on
mfa: multi factor authentication|2fa: two factor authentication
k8s: kubernetes|ai: artificial intelligence|ml: machine learning|llm: large language model
nlp: natural language processing
ocr: optical character recognition|csv: comma separated values|faq: frequently asked questions
kpi: key performance indicator
okr: objectives key results|roi: return investment|sla: service level agreement
slo: service level objective|rfc: request comments
poc: proof concept|mvp: minimum viable product|tdd: test driven development
orm: object relational mapping
ide: integrated development environment|crm: customer relationship management
erp: enterprise resource planning|hr: human resources
pto: paid time off|eta: estimated time arrival|ceo: chief executive officer
cto: chief technology officer|cfo: chief financial officer
vat: value added tax|gp: general practitioner|bmi: body mass index|mri: magnetic resonance imaging
dob: date birth
uk: united kingdom|usa: united states america|eu: european union|nyc: new york city|nz: new zealand
ac: air conditioning|tv: television
"""
"""Initials and their words, without the words between them (proof of concept)."""


PAST_FORMS = frozenset(
    form
    for row in _VERBS.replace("|", "\n").strip().split("\n")
    for form in row.split()[1:]
    if not form.endswith("s")
)
BASE_FORMS: Mapping[str, str] = {
    form: base
    for table in (_VERBS, _NOUNS)
    for base, *forms in map(str.split, table.strip().replace("|", "\n").split("\n"))
    for form in forms
}


def _start(word: str) -> str:
    return BASE_FORMS.get(word, word)[:_START]


@cache
def _forms() -> Mapping[str, list[str]]:
    forms: dict[str, list[str]] = defaultdict(list)
    for form, base in BASE_FORMS.items():
        forms[base[:_START]].append(form)
    return forms


@cache
def _table_groups(table: str) -> list[str]:
    return [f" {group}" for row in table.strip().split("\n") for group in row.split("|")]


def _groups_near(start: str, table: str) -> Iterator[str]:
    """Groups with a word whose base form may begin with `start`, so that few are split."""
    word_starts = [f" {word}" for word in (start, *_forms().get(start, ()))]
    return (group for group in _table_groups(table) if any(word in group for word in word_starts))


@lru_cache(maxsize=_KEPT)
def _relatives(start: str) -> list[tuple[str, list[str]]]:
    """Words whose base begins with `start`, with their family (both ways) or synonyms (one way)."""
    families = (
        (word, family)
        for family in map(str.split, _groups_near(start, _FAMILIES))
        for word in family
    )
    synonyms = (
        (word, related_words)
        for group in _groups_near(start, _LIKE)
        for word, *related_words in [group.replace(":", "").split()]
    )
    initials = _split_initials(_groups_near(start, _INITIALS))
    return [
        (word, related_words)
        for word, related_words in chain(families, synonyms, initials)
        if _start(word) == start
    ]


def _split_initials(groups: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for group in groups:
        short, *words = group.replace(":", "").split()
        yield short, words


def initials(stems: Sequence[str], stem: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Neighbouring stems of a question with initials: the first of them, and the initials."""
    by_first = _initials_by_first(stem)
    for at, first in enumerate(stems):
        for words, short in by_first.get(first, ()):
            if tuple(stems[at : at + len(words)]) == words:
                yield first, short


@cache
def _initials_by_first(
    stem: Callable[[str], str],
) -> Mapping[str, list[tuple[tuple[str, ...], str]]]:
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for short, words in _split_initials(_table_groups(_INITIALS)):
        by_first[stem(words[0])].append((tuple(map(stem, words)), stem(short)))
    return by_first


@lru_cache(maxsize=_KEPT)
def _kind_members(start: str) -> list[tuple[str, list[str]]]:
    split = (group.split(":") for group in _groups_near(start, _MEMBERS))
    return [
        (name, members.split())
        for names, members in split
        for name in names.split()
        if _start(name) == start
    ]


def related(stemmed: str, stem: Callable[[str], str]) -> tuple[str, ...]:
    return _related_stems(_relatives, stemmed, stem)


def members(stemmed: str, stem: Callable[[str], str]) -> tuple[str, ...]:
    return _related_stems(_kind_members, stemmed, stem)


def _related_stems(
    rows: Callable[[str], list[tuple[str, list[str]]]], stemmed: str, stem: Callable[[str], str]
) -> tuple[str, ...]:
    groups = (members for word, members in rows(stemmed[:_START]) if stem(word) == stemmed)
    stems = dict.fromkeys(stem(candidate) for members in groups for candidate in members)
    return tuple(candidate for candidate in stems if candidate != stemmed)
