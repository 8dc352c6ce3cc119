"""Lines of conversations, with statements that say the same in other words, and with statements
that say more.
"""

REWORDED = (
    (
        "I really can't stand coriander, it tastes like soap to me.",
        (
            "Hates coriander because it tastes like soap",
            "dislikes coriander; finds that it tastes like soap",
        ),
    ),
    (
        "We talked it over and the plan is to retire the staging cluster by the end of the quarter.",
        ("The team will shut down the staging cluster at the end of the quarter",),
    ),
    (
        "My back hurts whenever I sit for more than two hours, so the doctor told me to get a standing desk.",
        ("Has back pain after sitting for over two hours; a doctor recommended a standing desk",),
    ),
    (
        "Took the dog to the vet yesterday, she has an ear infection again.",
        (
            "The dog had another ear infection, seen by the vet on 2026-11-18",
            "The user's dog was at the vet on 18 November 2026 with an ear infection",
        ),
    ),
    (
        "I grew up on a farm near Linz, we had goats and a stubborn donkey.",
        (
            "Grew up on a farm near Linz with goats and a donkey",
            "The user spent their childhood on a farm near Linz",
        ),
    ),
    (
        "honestly the weekly sync could just be an email, I get nothing out of it",
        (
            "Finds the weekly sync useless and would rather have an email",
            "Thinks the weekly sync should be replaced by an email",
        ),
    ),
    (
        "The importer dies because the lock is never released after a timeout.",
        (
            "Root cause: the importer's lock is not released after a timeout",
            "The importer crashes since a lock stays held after timeouts",
        ),
    ),
    (
        "Mia and I are going to Lisbon next week for our anniversary.",
        (
            "Going to Lisbon with Mia from 2026-11-23 to 2026-11-29 for their anniversary",
            "User plans an anniversary trip to Lisbon with Mia",
        ),
    ),
    (
        "I started running again in spring, mostly along the canal before work.",
        (
            "Runs along the canal before work since spring",
            "user has been jogging along the canal in the mornings before work",
        ),
    ),
    (
        "Please keep answers short, I read them on my phone.",
        (
            "Prefers short answers since they are read on a phone",
            "Wants concise answers because of reading on the phone",
        ),
    ),
    (
        "Our customers in Japan complain that the export is slow, about 40 seconds.",
        ("Customers in Japan report that the export takes about 40 s",),
    ),
    (
        "The budget for the kitchen is 12k, the tiles alone are three grand.",
        ("The kitchen budget is 12k, of which the tiles take three grand",),
    ),
    (
        "we ended up painting the nursery green because the yellow looked sickly",
        (
            "The nursery is painted green instead of yellow",
            "Nursery painted green, as yellow looked bad",
        ),
    ),
    (
        "I finished the pottery course, next is glazing with Tomas in March.",
        (
            "Completed a pottery course; will learn glazing with Tomas in March",
            "The pottery course is done and a glazing course with Tomas follows in March",
        ),
    ),
    (
        "it turned out the flaky test depends on the time zone of the runner",
        (
            "The flaky test was caused by the runner's time zone",
            "Lesson: flaky test depends on the runner's timezone",
        ),
    ),
    (
        "We use Postgres for everything and I'd like to keep it that way.",
        (
            "Wants to stay with Postgres for everything",
            "Prefers to keep using Postgres",
        ),
    ),
    (
        "My manager is great but she's leaving at the end of January.",
        ("The user's manager is leaving at the end of January",),
    ),
    (
        "Grandpa left me his old Leica and I've been shooting film on weekends.",
        (
            "Inherited a Leica from grandfather and shoots film on weekends",
            "Photography hobby: shoots film with grandpa's old Leica at weekends",
        ),
    ),
    (
        "The kids are allergic to peanuts, so nothing with nuts in the lunch boxes.",
        ("The children have a peanut allergy; no nuts in lunch boxes",),
    ),
    (
        "We deploy on Tuesdays only, never before a holiday.",
        (
            "Deploys happen only on Tuesdays and never before holidays",
            "Deployment is limited to Tuesday and not done before a holiday",
        ),
    ),
    (
        "I volunteered at the shelter last Saturday and adopted a three-legged cat called Pickle.",
        (
            "Adopted a three-legged cat named Pickle after volunteering at the shelter on 2026-11-14",
            "Has a cat, Pickle, with 3 legs, adopted from a shelter",
        ),
    ),
    (
        "The old boiler broke, the plumber said he can come on the 24th.",
        ("The boiler is broken; the plumber comes on the 24th",),
    ),
    (
        "We moved the docs from Notion to plain Markdown in the repo.",
        (
            "Documentation was moved from Notion to Markdown files in the repository",
            "Docs live in the repo as Markdown, no longer in Notion",
        ),
    ),
    (
        "Learning Portuguese with an app, twenty minutes a day.",
        ("Studies Portuguese 20 minutes a day with an app",),
    ),
    (
        "My landlord Mr. Okafor finally fixed the heating.",
        ("The heating was repaired by the landlord, Mr. Okafor",),
    ),
    (
        "I'd rather have tabs than spaces, don't argue.",
        (
            "Strong preference for tabs over spaces",
            "Favors tabs instead of spaces",
        ),
    ),
    (
        "meeting with the architect moved to half past nine on Friday",
        ("The meeting with the architect is on Friday at half past nine",),
    ),
    (
        "The API rate limit is 600 requests per minute per key.",
        (
            "API rate limit: 600 requests/minute per key",
            "Each API key may make 600 requests per minute",
        ),
    ),
    (
        "I can't make Thursdays any more, choir practice got moved there.",
        (
            "Unavailable on Thursdays because of choir practice",
            "Choir practice now takes place on Thursdays",
        ),
    ),
    (
        "My flat is tiny so I only keep digital books these days.",
        (
            "Owns only e-books because the flat is small",
            "Lives in a tiny flat and keeps only digital books",
        ),
    ),
    (
        "After the layoffs I'm basically doing the job of three people and I'm exhausted.",
        (
            "Exhausted from doing the work of three people after layoffs",
            "Overworked since the layoffs, covering the work of 3 people",
        ),
    ),
    (
        "the cron job ran twice because both servers had it enabled",
        (
            "Cron job executed twice since it was enabled on both servers",
            "Duplicate cron runs were caused by enabling it on both servers",
        ),
    ),
    (
        "I've been seeing a physiotherapist for my knee every other Monday.",
        (
            "Attends physiotherapy for a knee problem every other Monday",
            "Sees a physiotherapist every second Monday about the knee",
        ),
    ),
    (
        "Our landlord wants to raise the rent by 8 percent and we'll fight it.",
        (
            "Disputes the landlord's planned rent increase of 8 percent",
            "Will contest an 8 percent rent increase",
        ),
    ),
    (
        "Mum's hip operation went fine, she's home since Sunday.",
        (
            "Mother's hip surgery went well; home again since Sunday",
            "User's mum had a successful hip operation and has been home since Sunday",
        ),
    ),
    (
        "Let's not mock the database in tests, real ones only.",
        (
            "Tests use real databases, no mocks",
            "Decision: avoid mocking the database in tests",
        ),
    ),
    (
        "I dream of opening a small bakery by the sea one day.",
        (
            "Dreams of running a bakery by the sea",
            "Long-term dream: opening a small seaside bakery",
        ),
    ),
    (
        "Had my first sourdough disaster, the starter was dead.",
        (
            "First sourdough failed as the starter was dead",
            "Bakes sourdough; the first attempt failed due to a dead starter",
        ),
    ),
    (
        "We're expecting twins in April!",
        (
            "Expecting twins in April",
            "Pregnancy with twins, due in April",
        ),
    ),
    (
        "The CSV export breaks on semicolons in names, we should quote fields.",
        (
            "CSV export fails on semicolons in names; fields should be quoted",
            "Quoting of fields is needed in the CSV export because semicolons in names break it",
        ),
    ),
    (
        "I quit smoking 3 years ago and I still miss it with coffee.",
        (
            "Stopped smoking three years ago",
            "Former smoker, quit three years ago",
        ),
    ),
    (
        "Night shifts all week, so don't expect me before noon.",
        (
            "Works night shifts this week and is unavailable before noon",
            "Unreachable before noon during the week of night shifts",
        ),
    ),
    (
        "Ben and I split up in the summer, it was mutual.",
        (
            "Separated from Ben in the summer by mutual agreement",
            "Broke up with Ben in summer",
        ),
    ),
    (
        "my eyes get tired from the bright theme, switch everything to dark",
        (
            "Prefers dark themes since bright ones tire the eyes",
            "Requested dark mode everywhere because of eye strain",
        ),
    ),
    (
        "We have 14 hens and the fox got two of them last night.",
        (
            "Keeps hens; a fox killed two of the 14 last night",
            "Lost two hens to a fox; had 14",
        ),
    ),
    (
        "The contract with the agency ends in June and we won't renew.",
        (
            "Agency contract ends in June and will not be renewed",
            "Contract renewal with the agency was ruled out; it ends in June",
        ),
    ),
    (
        "I inherited a codebase with no tests, so I write characterization tests first.",
        (
            "Writes characterization tests first for the inherited codebase without tests",
            "Approach for untested legacy code: start with characterization tests",
        ),
    ),
    (
        "Grew tomatoes on the balcony, got maybe five kilos this year.",
        (
            "Harvested about five kilos of tomatoes on the balcony this year",
            "Tomatoes grown on the balcony yielded around 5 kilos",
        ),
    ),
    (
        "My brother is getting married in May and asked me to be his best man.",
        (
            "Brother's wedding is in May; the user is the best man",
            "Best man at the brother's wedding in May",
        ),
    ),
    (
        "I always forget to water the plants, two of them died last month.",
        (
            "Tends to forget watering plants; two died in October 2026",
            "Lost two plants last month (2026-10) due to missed watering",
        ),
    ),
    (
        "We can't ship before legal signs off on the licence.",
        (
            "Shipping is blocked until legal approves the licence",
            "Release depends on the legal team's sign-off of the licence",
        ),
    ),
    (
        "The new intern broke the build by deleting the lockfile.",
        (
            "Build broke because an intern deleted the lockfile",
            "Deleting the lockfile breaks the build",
        ),
    ),
    (
        "My commute is an hour each way so I listen to a lot of podcasts.",
        (
            "Commutes an hour each way and listens to podcasts",
            "Podcast listener during a one-hour commute",
        ),
    ),
    (
        "no more meetings after 4pm please, I pick up my daughter",
        (
            "Avoid meetings after 4pm; picks up the daughter then",
            "Needs to be free from 4pm to collect the daughter",
        ),
    ),
    (
        "I read that book on your recommendation and hated every page.",
        (
            "Strongly disliked the recommended book",
            "Hated the book that was recommended",
        ),
    ),
    (
        "Our wifi drops every time the microwave runs.",
        (
            "Microwave use interrupts the wifi",
            "Home wifi is disturbed by the microwave",
        ),
    ),
    (
        "I've got a scholarship for the music school, starting in autumn.",
        (
            "Received a scholarship for music school starting in autumn",
            "Starts music school in autumn on a scholarship",
        ),
    ),
    (
        "the tests take 20 minutes, that's too slow, split them into two jobs",
        (
            "Tests should be split into two jobs because 20 minutes is too slow",
            "Test suite takes 20 minutes; to be parallelised in two jobs",
        ),
    ),
    (
        "I sold the motorbike, too dangerous with the baby.",
        (
            "Sold the motorbike because of the baby",
            "Gave up motorcycling for safety reasons after having a baby",
        ),
    ),
    (
        "My grandmother taught me to knit when I was six.",
        (
            "Learned to knit from the grandmother at age six",
            "Knits since the age of six, taught by grandma",
        ),
    ),
    (
        "We settled the dispute with the neighbours about the fence.",
        (
            "Fence dispute with neighbours is settled",
            "Reached an agreement with the neighbours on the fence",
        ),
    ),
    (
        "I want error messages to say what to do next, not just what broke.",
        (
            "Error messages should state the next step",
            "Wants actionable error messages that tell the user what to do next",
        ),
    ),
    (
        "I'm colour blind so the red green charts don't work for me.",
        (
            "Colour-blind; red/green charts are unreadable",
            "Needs charts without red and green due to colour blindness",
        ),
    ),
    (
        "The cat ate my houseplant and threw up on the rug.",
        (
            "Cat vomited after eating a houseplant",
            "The user's cat got sick from a houseplant",
        ),
    ),
    (
        "I'm writing a novel about lighthouse keepers, 40 pages so far.",
        (
            "Writes a novel about lighthouse keepers (40 pages so far)",
            "Author of an unfinished novel on lighthouse keepers",
        ),
    ),
    (
        "We use conventional commits here, the changelog is generated from them.",
        (
            "Commit messages follow conventional commits, from which the changelog is generated",
            "Changelog generation relies on conventional commits",
        ),
    ),
    (
        "I got stung by a wasp and my arm swelled up like a balloon.",
        (
            "Strong reaction to a wasp sting: swollen arm",
            "Arm swelled after a wasp sting",
        ),
    ),
    (
        "We moved the standup to ten because nobody is awake at nine.",
        (
            "Standup moved from nine to ten",
            "Daily standup takes place at ten",
        ),
    ),
)

INVENTED = (
    (
        "I work at Stripe and my sister Mia lives in Lisbon since 2019; we moved to SQLite yesterday, 3 tables.",
        (
            "Works at Linear",
            "works at initech",
            "Works at Stripe since 2018",
            "The user's sister Anna lives in Lisbon",
            "sister mia lives in porto",
            "Mia moved to SQLite on 2026-11-17",
            "SQLite has 4 tables",
            "SQLite has four tables",
            "Moved to MySQL yesterday",
            "Works at Stripe as CTO",
            "Works at Stripe in Berlin",
            "Mia works for google",
            "Mia is called bob",
            "Mia is 34 and lives in Lisbon",
            "Mia can be reached at mia@stripe.com",
            "See https://stripe.com for Mia",
            "Mia lives at 12 Main Street, Lisbon",
            "Moved from Oracle to SQLite",
            "Joined Stripe on Monday",
            "Moved to SQLite in March",
            "Mia's husband Pedro lives in Lisbon",
            "Mia met carlos in Lisbon",
            "Mia lives with pedro in Lisbon",
            "Three tables were moved to sqlite by the dba team of acme",
            "Works at stripe; salary €90,000",
            "Works at Stripe, paid $5 an hour",
            "Mia moved to Lisbon two years ago",
            "Mia pays rent twice a month",
            "Half of the tables moved to SQLite",
            "Works at Stripe 80%",
            "Mia works near amsterdam",
            "Was hired by stripe in 2019-03",
            "Mia was born on 3 May",
            "We moved to SQLite 3.45",
            "We moved three hundred tables to SQLite",
            "The user's password hint is Fluffy",
            "The tables are in db/main.sqlite",
            "The tables are in main.db",
            "Write to @mia_l about SQLite",
            "Mia lives in Lisbon, Portugal",
        ),
    ),
    (
        "please call the dentist at noon and buy oat milk, the kids finished it",
        (
            "call dr brown at noon",
            "the dentist is named weiss",
            "call the dentist at nine",
            "Call the dentist on Friday",
            "buy 2 oat milk",
            "buy oat milk from oatly at rewe",
            "The kids are Tom and Ida",
            "Call +49 30 1234567 at noon",
            "Call the dentist at 12:30",
            "the dentist is based in potsdam",
            "Allergic to penicillin and lactose",
            "enjoys climbing and old films",
            "the user wants to sue their employer",
        ),
    ),
    (
        "Ich wohne in Köln und arbeite bei der Bahn.",
        (
            "Wohnt in Bonn",
            "wohnt in bonn",
            "Arbeitet bei der Post",
            "arbeitet bei siemens in köln",
            "Wohnt seit 2020 in Köln",
            "Wohnt in Köln mit Jana",
            "Ist 40 Jahre alt und wohnt in Köln",
        ),
    ),
    (
        "我住在柏林,喜歡喝茶。",
        (
            "我住在東京",
            "他叫王小明",
            "喜歡咖啡",
        ),
    ),
    (
        "Mum's hip operation went fine, she's home since Sunday. Ben quit smoking 3 years ago; the export breaks on semicolons.",
        (
            "Mum's operation was done by Dr. Sharma",
            "mum's surgeon was dr patel",
            "Mum's hip operation was on 2026-11-10",
            "Mum is home since Saturday",
            "Ben quit smoking in 2022",
            "Ben quit smoking 5 years ago",
            "Ben Miller quit smoking",
            "Ben quit smoking in Rome",
            "The export of Salesforce breaks on semicolons",
            "The export breaks in v2.3",
            "Ben's phone is 0171 555",
            "ben works for siemens",
            "ben is with carla",
            "Sam quit smoking 3 years ago",
            "Grace quit smoking 3 years ago",
            "Mark quit smoking 3 years ago",
            "Drew quit smoking 3 years ago",
            "Will quit smoking 3 years ago",
            "Teams breaks on semicolons",
            "Mum's hip operation cost $9,000",
            "Mum paid a hundred for the operation",
            "Ben was joined by olga",
            "the export breaks at line forty",
            "Ben likes hiking in the Alps",
            "Ben can be found at ben.example.org",
            "The export writes to /tmp/out.csv",
            "Mum is 71",
            "A quarter of exports break on semicolons",
            "Mum's operation went fine according to the head of orthopedics, Jansen",
            "ben was hired by oracle",
            "The customers of initech, acme and hooli complained loudly",
        ),
    ),
)
