"""Plain English words that may begin a statement: their capital there marks no name."""

from __future__ import annotations

from functools import cache

from mdmem.startup import late
from mdmem.text.terms import stem

_FUNCTION_WORDS = """
    a about above across after again against all along already also although always am amid among an
    and another anyone anything anywhere are around as at away back be because been before behind
    being below beside besides between beyond both but by can concise could currently despite did do
    does done down due during each else enough even ever every everyone everything everywhere few
    for formerly from got had has have having he hence her herself himself his how if in indeed
    inside into is it its itself just last lately later least less make many mine more most much
    must myself near never no nobody not now nowhere off often on once ones only onto or other our
    ours out outside over own per previously recently same several she should since small so some
    sometimes somewhere soon still such than that the their theirs themselves then there these they
    this those though throughout thus today tomorrow too toward towards twice under until up upon
    usually versus very via was we well were what when where whether which while who whom whose why
    with within without would yesterday yet you your yours yourself
"""
_VERBS = """
    abandon abolish absorb abstain abuse accelerate accept accommodate accompany accumulate accuse
    achieve acknowledge acquire activate adapt add adjust admire admit adopt advance advertise
    advise affect afford agree aim allocate allow alter amend analyse analyze announce answer
    anticipate apologise apologize appeal appear apply appoint appreciate approve argue arrange
    arrive ask assemble assert assess assign assist associate assume attach attack attempt attend
    attract audit authorise authorize automate avoid await award bake ban bathe battle become begin
    behave believe belong benefit bet bike bind bite blame bless blow boil book boost borrow bother
    bounce break brew bring broke brush build burn bury buy calculate call calm cancel capture care
    carry catch cause cease celebrate challenge change charge chat cheat check cheer chew choose
    chop circulate claim clarify classify clean clear click climb coach collaborate collapse collect
    combine come command commit communicate commute compare compete compile complain complete
    complicate compose comprise compromise conceive concentrate conclude conduct confess configure
    confirm conflict confuse congratulate connect consider consist consolidate construct consult
    consume contact contain contest continue contribute control convert coordinate cope copy correct
    cost cough count cover crack crash crawl create criticise criticize cross cry cure cut cycle
    damage dance deactivate deal debate debug decide decline decorate dedicate defeat defend define
    delay delete deliver demand demonstrate deny depart depend deploy deposit deprecate derive
    describe deserve design despise detect determine develop devote diagnose die differ dig diminish
    dine disable disagree disappear disconnect discover discuss dislike dispatch display dispute
    disrupt distinguish distribute disturb dive divorce document donate double doubt download dream
    drink drive drop dry dump duplicate dye earn eat edit elect eliminate email embarrass embed
    emerge emigrate emphasise emphasize employ enable encounter encourage enforce engage enhance
    enjoy enrol enroll ensure enter entertain equip erase escape establish estimate evaluate evolve
    examine exceed exchange exclude execute exercise exhaust exist expand expect experience
    experiment expire explain explore export expose extend extract face facilitate fail fall farm
    fasten favor favour fear feature feed feel fetch fight figure file fill filter finance find
    finish fire fit fix flee flip float flow fly focus fold follow force forget forgive format
    forward found frame freeze fry fulfil fulfill fund gain gamble garden gather generate get give
    govern graduate greet grill grind group grow guarantee guard guess guide handle hang happen harm
    harvest hate head heal hear heat help hesitate hide hike hire hit hold host hug hunt hurry hurt
    identify ignore imagine impact implement import impose impress improve include increase inform
    inhabit inherit initiate injure insist inspect inspire install instruct insult integrate intend
    interact interpret interrupt interview introduce invent invest investigate invite involve
    isolate jog join joke juggle jump justify keep kick kill kiss knit knock know label lack land
    launch lay lead leak lean learn leave lend let liaise lie lift lighten like limit link listen
    live load loathe lobby locate lock log look lose mail maintain manage marry maximise maximize
    measure meditate meet melt mend mention mentor merge merit migrate mind minimise minimize
    misplace miss mistake mix mock moderate modify monitor motivate mount mourn move mow multiply
    name nap narrow navigate need neglect negotiate notice notify number object observe obtain
    occupy occur offer omit open operate oppose optimise optimize order organise organize originate
    outline overcome overlook oversee owe pack paint pair participate pass pause pay peel perform
    persuade phone photograph pick pitch plan play pledge plug point polish poll portray possess
    postpone pour practice practise praise pray preach predict prefer prepare present preserve press
    pretend prevent proceed process produce profit program prohibit promise promote prompt pronounce
    propose prosecute protect protest prove provide provision prune publish pull punish purchase
    pursue push put qualify question queue quit race raise ran rate reach read realise realize
    reassign reboot rebuild recall receive recharge recite reckon recognise recognize recommend
    record recover recruit recycle redesign redo reduce refactor reflect refresh refund refuse
    regain register regret rehearse reinstall reject relate relax relearn release relieve relocate
    rely remain remember remind remodel remove renew renovate rent reopen reorganise reorganize
    repair repeat replace reply report represent request require reschedule rescue research resemble
    resent reserve reset reside resign resist resolve respond rest restart restore restrict resume
    retain retire retry return reunite reuse reveal reverse revert review revise revisit reward
    rewrite ride rinse rise risk roast rotate ruin rule run sacrifice sample satisfy save say scale
    scan scare schedule scold score scream screen scroll seal search seat secure see seek seem
    select sell send sense separate serialise serialize serve set settle sew shake shape share
    sharpen shift ship shock shoot shop shorten shout show shrink shut sigh sign simplify sing sit
    sketch sleep slice slide slip smell smile smoke sneeze solicit solve sort sound speak specialise
    specialize specify spell spend spill spin split spoil sponsor spot spray spread squeeze stack
    stain stand stare start starve state stay steal steer stick stir stop store strengthen stress
    stretch strive struggle study style submit subscribe subsidise succeed suffer suggest sum
    supervise supply support suppose surf surprise surrender surround survive suspect suspend swap
    swear sweat sweep swim swing switch sync tackle take talk tape taste teach tear tease telephone
    tell tend terminate test thank think thrive throw tidy tie tighten tolerate touch tour track
    trade train transcribe transfer transform translate transmit travel treat trigger trim trust try
    turn tutor twist type undergo understand undertake undo unify uninstall unite unlock unsubscribe
    update upgrade upload urge use utilise utilize vacuum validate value vanish vary verify view
    violate visit void volunteer vote wait wake walk wander want warm warn wash waste watch wear
    weigh welcome whisper widen win wipe wish withdraw witness wonder work worry wrap write yield
    zip
"""
_NOUNS = """
    ability absence accident accommodation account accountant accuracy achievement acquaintance
    action activity addition address administrator admission adoption adult advantage advertisement
    advice affair afternoon age agenda agent agreement aid airport alarm alcohol allergy alternative
    ambition amount analysis analyst ankle anniversary anxiety apartment apology app appetite
    application appointment approach approval architect area argument army arrival article artist
    aspect assessment assignment assistant asthma athlete atmosphere attendance attention attitude
    attraction audience aunt author authority average awareness baby backup bag bakery balance
    balcony bar barrier basis bathroom battery beach bed bedroom beer beginner behaviour belief bird
    birth birthday blood board boat body boiler booking border boss bottleneck boundary bowl boy
    boyfriend brain branch brand bread breakfast bride bridge brother browser budget bug building
    bus business cabin cable cake calendar camera campaign cancer candidate capacity caption car
    card career cat ceiling cellar ceremony certificate chain chair chairman champion channel
    chapter character charity chart cheese chef chemistry chicken chief child childhood chocolate
    choice choir cinema circumstance citizen city class cleaner cleaning client climate climbing
    clinic clock closure clothes club cluster coast code coffee colleague collection college columns
    combination comfort comment commitment committee communication community company comparison
    competition complaint complexity component computer concept concern concert conclusion condition
    conference confidence config configuration confirmation connection consequence construction
    consultant container content context contract contribution conversation conversion corner
    corporation correction council country county couple course coursework court cousin credit
    criticism crop crowd culture cup currency curriculum cursor custody customer cycling dad dancer
    danger darkness data database date daughter day deadline death debt debugging decision default
    degree deletion dentist department departure dependency deployment depression depth designer
    desk destination detail developer development device diabetes diagnosis diary dictionary diet
    difference dinner diploma direction director disability disagreement disaster discount
    discussion disease dish disk distance distribution doctor documentation dog donation door draft
    drama drawer drawing dress driver driving drug duration duty economy edition editor education
    effect effort egg election electricity elevator embassy emergency emission emotion emphasis
    employee employer enemy energy engagement engine engineer entrance entry environment equipment
    error essay estate evaluation evening event evidence exam example exception exhibition existence
    expectation expense expert explanation exploration extension extent eye eyesight facility fact
    factor factory faculty failure fairness family fan farmer fashion fat father fault favorite
    favourite fee feedback feeling festival fever fiction film finger fish fitness flag flat flavor
    flavour flight flood floor flower folder food foot football forecast forest form fortnight
    foundation freedom freelancer fridge friend fruit fuel function funding funeral furniture future
    game garage gas gear gender generation gift girl girlfriend glass glasses goal goods government
    grade graduation grain grandfather grandma grandmother grandpa grass ground growth guest
    guideline guitar gym habit hair hairdresser half hall hand handling hardware headache health
    hearing heart heating height hen hero hiking hip history hobby holiday home honeymoon horse
    hospital hotel hour house household housing human hunting husband ice idea identity illness
    image implementation importance importer impression improvement inability incident income index
    individual industry infection influence information injury input inquiry insight inspection
    inspiration installation institution instruction instructor instrument insurance integration
    intention interest internet interruption intolerance introduction invention investment
    invitation invoice involvement island issue item jacket job jogging journal journalist journey
    judgment juice justice key keyboard kid kitchen knee knife knowledge lab ladder lady lake lamp
    landing landlady landlord language laptop latency law lawyer layer layoff layout leader
    leadership league leather lecture leg length lesson letter level library life lighting
    limitation line liquid list literature living loan location loss lot lottery luck luggage lunch
    lung machine magazine maintainer maintenance majority male management manager mankind manner
    manufacturer map marathon market marriage material mathematics matter maximum meal measurement
    meat mechanic media medication medicine meditation meeting member membership memory menu merger
    message metal method methodology microphone midnight migraine migration milestone milk minority
    minute mirror mixture mobile mode model moment money monitoring month mood moon morning mortgage
    mother motivation motor mouse mouth movement movie mud mum muscle museum music musician nail
    nation nature neck negotiation neighbor neighbour nephew network news newspaper niece night
    noise noon nose note notebook notification novel novelist nurse objection objective obligation
    observation obstacle occasion occupation ocean offence office officer oil operation operator
    opinion opponent opportunity option organisation organization origin outage outcome output oven
    overtime overview owner ownership package pain painting pan panel paper paperwork paragraph
    parameter parcel parent parking participant participation partner party passenger passport
    password past path patient pattern payment payroll peace peak pension people percentage
    performance period permission permit person personality perspective pet petition pharmacy phase
    philosophy photo photographer photography phrase physics physiotherapist physiotherapy pianist
    piano picture piece pilot pipe pipeline pizza place plane planning plant plate platform player
    pleasure plugin plumber pocket poem poet poetry poison policy pool popularity population portion
    position possession possibility post postcode pottery poverty power prayer prediction preference
    pregnancy preparation presence presentation president pressure pricing principle printer
    priority prison privacy prize problem procedure processor producer product production profession
    profile programme programmer programming progress project promotion proof property proportion
    proposal prospect protection protein protocol provider psychology pub publication publisher
    pupil puppy purpose quality quantity quarter query quiz quote rabbit radio railway range rash
    ratio reachable reaction reader reality reason recipe recipient recommendation recovery
    recruitment reduction refactoring reference reflection reform refrigerator refusal region
    registration regression rejection relation relationship relative relevance relief religion
    relocation reminder renewal renovation rental replacement repository representative reputation
    requirement researcher reservation residence resident resignation resistance resolution resource
    respect response responsibility restaurant restriction result retention retirement retreat
    revenue revision revolution rhythm rice ring road role roof room root rope rota routine row
    rubbish runner running safety sailing salad salary sale salt satisfaction sauce saving scene
    schema scheme scholarship school science scientist scratch script sea season secret secretary
    section sector security seed selection self seller semester sentence separation sequence series
    servant server service session setting sex shadow shareholder shed sheet shelf shelter shirt
    shoe shopping shortage shoulder shower sibling sickness side sight signature significance
    silence singer sink sister site situation size skill skin smoker smoking snack soap society sock
    software soil soldier solution someone something son song soul soup source space speaker
    specialist species specification speech speed spelling spirit sport spouse spreadsheet stability
    stadium staff stage stair stake stamp standard standup starter startup statement station
    statistic status steak step stomach storage story strain stranger strategy street strength
    strike string structure student studio stuff subject submission subscription substance success
    sugar suggestion suit suitcase sunlight supermarket supervisor supplier surface surgeon surgery
    survey survival suspicion sweater swimming sympathy symptom system table tablet tail talent tank
    task tax tea teacher teaching team technician technique technology teenager television temper
    temperature tenant tendency tennis tension tent term terrace territory text thanks theater
    theatre theme theory therapist therapy thesis thing thought thread threat throat throughput
    ticket tile time timeline timeout timetable timezone tip title tomato tone tongue tool tooth
    toothache topic tourist towel tower town toy tradition traffic trail trainer training
    transaction transition translation translator transport treatment tree trend trial triangle
    trick trip trouble truck truth tuition twin uncle understanding unemployment union unit
    university usage user utility vacation vaccine validation valley van variable variation variety
    vegetable vehicle vendor venue verification version vet victim victory video village violence
    violin virus visitor vitamin voice volume voucher wage waiter warehouse warning washing water
    wave weakness wealth weapon weather web website wedding week weekend weight welfare wheel
    wheelchair whistle wife wind window wine wing winner wire woman wool workaround worker workflow
    workload workout workplace workshop world wound wrist writer writing yard year yoga youth zone
"""
_QUALITIES = """
    able absent abusive academic acceptable accidental accurate accustomed active additional
    adequate administrative advanced adventurous afraid aggressive alcoholic allergic alone ancient
    angry annoyed annual anxious apparent apparently appropriate approximately artistic asleep
    athletic attractive automatic automatically available awake aware awful awkward bad basic
    basically beautiful beneficial best better big bigger biggest bilingual blind bored boring brave
    brief briefly bright brilliant broad broken busy capable careful careless casual cautious
    central certain chaotic cheap cheaper cheapest cheerful chemical chronic chronically classic
    clever close closely cold comfortable commercial common comparable compatible competitive
    complex complicated concerned concrete conditional confident consistent consistently constant
    constantly contemporary continuous contrary convenient convinced cool corrupt crazy creative
    critical crowded crucial cruel curious customary daily dangerous dead deaf decent dedicated deep
    deeply deliberate delicate delicious deprecated depressed desperate detailed different difficult
    digital direct directly dirty disabled disappointed distant divorced domestic dual dull dusty
    dynamic eager early easier easy economic effective elderly electric electronic elegant
    embarrassed emotional empty engaged enormous enthusiastic entire environmental equal equally
    essential essentially eventual eventually evident exact exactly exceptional excited exclusive
    exclusively exhausted existing expensive experienced explicit explicitly extended external extra
    extreme extremely fair faithful false familiar famous fantastic fast faster faulty federal
    female fewer final financial fine firm first fixed flaky flexible fluent foggy fond foreign
    formal fortunate frail free freelance freezing frequent frequently fresh friendly frustrated
    full fully funny furious furnished general generally gentle genuine gifted glad global gluten
    good gradual gradually graphic grateful great greatest greedy guilty handmade handy happy hard
    hardly harmful harmless healthy heated heavily heavy helpful helpless hidden high higher highly
    homeless homemade honest honestly hopeful hopefully horrible hostile hot hourly huge humid
    hungry ideal identical idle ignorant ill illegal imaginary immediate immune impatient imperfect
    implicit impolite important impossible impressed inaccurate inadequate inappropriate incapable
    incomplete inconsistent inconvenient incorrect incredible independent indirect indoor industrial
    ineffective inefficient inexperienced informal initial innocent insecure instant instead
    insufficient intelligent intense interested intermittent internal international introverted
    invalid invisible irregular irrelevant isolated jealous joint junior juvenile keen lactose large
    larger late lazy leading left legacy legal lengthy lifelong light likely limited linked literal
    lively local lonely long longer loose lost loud lovely low lower loyal lucky mad magnetic main
    mainly mandatory manual manually married massive mature maybe mean meaningful medical mental
    merely mild military minimum minor misleading missing mixed modern modest monthly moral mostly
    moving multiple musical mutual mysterious naive national native natural naturally nearby nearly
    neat necessary negative neither nervous neutral new next nocturnal noisy none nonsmoking normal
    normally notable nothing noticeable numerous obese obsessed obsolete obvious obviously
    occasional occasionally odd official okay old older ongoing online opposite optimistic optional
    oral ordinary organic original outdated outdoor outstanding overall overdue overseas overweight
    painful pale paperless parallel partial partially particular particularly partly passionate
    peaceful pending perfect perfectly perhaps permanent persistent personal pessimistic physical
    plain planned pleasant pleased plenty polite political poor poorly popular portable positive
    possible possibly potential powerful practical precise precisely preferable pregnant preliminary
    premium pretty previous primarily primary principal prior private probably productive
    professional profitable prolonged prominent promising proper properly proposed protective proud
    provisional public punctual pure qualified qualitative quarterly quick quickly quiet radical
    random rapid rapidly rare rarely rather raw ready really reasonable recent reckless redundant
    regardless regional regular regularly related reliable religious reluctant remarkable remote
    remotely repeated repeatedly required residential resistant respectful responsible restless
    retired reusable right rigid ripe risky romantic rough roughly rude rural sad safe satisfactory
    satisfied scarce scared scientific seasonal second secondary seldom selective selfish semi
    senior sensible sensitive separately serial serious severe shallow shared short shorter shy sick
    similar simple single sleepless sleepy slight slightly slim slow slower slowly smart smooth
    sober social soft solid solo somewhat sophisticated sore sour spare spatial special specific
    specifically spicy spiritual spontaneous stable standing static steady steep sticky straight
    straightforward strange stressed strict strictly strong strongly stubborn stupid subsequent
    substantial successful sudden suddenly sufficient suitable sunny super superior supposed sure
    surgical surprised surprising surprisingly suspicious sustainable sweet swollen sympathetic
    synthetic technical technically temporarily temporary tender tense terrible thankful thick thin
    third thirsty thorough tight tiny tired together tolerant top total tough traditional
    transparent tricky true trusted typical typically ugly ultimate unable unanimous uncertain
    uncomfortable undecided unemployed unexpected unfair unfamiliar unfinished unfortunate
    unfortunately unfriendly unhappy unhealthy uniform unique universal unknown unlikely unpaid
    unpleasant unpopular unreliable unsafe unstable unsuccessful unsuitable unsure untested untidy
    unused unusual unwell unwilling upcoming uphill upper upset upstairs urban urgent usable used
    useful useless usual vague valid valuable various vast vegan vegetarian verbal vertical viable
    violent virtual visible visual vital voluntary vulnerable wasteful weak wealthy weekly weird wet
    whole wicked wide wild wonderful wooden worldwide worried worse worst worthless worthwhile wrong
    yearly younger
"""
# forms of them that may be names
_NAMES_TOO = frozenset(
    [
        "cook",
        "cooks",
        "drew",
        "faith",
        "go",
        "hope",
        "jobs",
        "price",
        "reading",
        "rose",
        "teams",
        "will",
        "word",
    ]
)
_PREFIX = late.pattern(r"^(?:un|over|under|re|mis|pre|non|dis)-?(?=\w{4})")


@cache
def _stems() -> frozenset[str]:
    words = f"{_FUNCTION_WORDS} {_VERBS} {_NOUNS} {_QUALITIES}".split()
    return frozenset((*words, *map(stem, words)))


def is_plain(word: str) -> bool:
    """True if a lower-case word is a form of one of these, and no name."""
    return word not in _NAMES_TOO and any(
        form in _stems() or stem(form) in _stems() for form in (word, _PREFIX.sub("", word))
    )
