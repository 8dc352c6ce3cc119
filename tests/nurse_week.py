"""A week of a nurse who automates her house a little.

Before any rule was changed for it 18 of 24 plain statements were kept.
"""

from collections.abc import Sequence

MEMORY = """\
# Memory

## Facts

- employer: St Brendan's Hospital
- home: Limerick
- ward: cardiology
- MQTT broker port: 1883
- childminder: Sheila Burke
- car: Toyota Yaris
- the greenhouse sensor reports every 10 minutes
- choir practice is on Tuesdays

## Preferences

- [preference] editor: nano
- [preference] temperatures in Fahrenheit on the dashboard

## Decisions

- [decision] use Zigbee for the door sensors
- [decision] back up the hub on Sundays
"""
DAYS: dict[int, Sequence[tuple[str, tuple[str, ...]]]] = {
    2: (
        (
            "chat",
            (
                "hiya, quick one before my shift. I work at Mercy University Hospital now, started last week",
                "can you give me three ideas for a packed lunch?",
                "I'm coeliac by the way. and my daughter Niamh is allergic to peanuts",
                "lol I basically live in the staff canteen these days",
            ),
        ),
        (
            "tools",
            (
                "The MQTT broker runs on port 8883 now.",
                "heads up: the living room lights are Hue, everything else is Ikea",
                "add a debounce of 5 seconds to the hallway automation",
                "never restart the hub between 7pm and 9pm, that's the kids' bedtime",
            ),
        ),
    ),
    3: (
        (
            "chat",
            (
                "oh btw, we moved to Cobh at the weekend",
                "my sister Aoife lives in Galway",
                "I'm wrecked today, can't face another night shift",
                "I can't stand coriander. what should I cook for six people on saturday?",
            ),
        ),
        (
            "tools",
            (
                "We've decided to go with ESPHome for all new sensors because the vendor apps kept breaking.",
                "the greenhouse sensor reports every 5 minutes now",
                "ok try that again",
                "here's what it printed:\n\nINFO core: I am running on host pi-attic\n"
                "WARN mqtt: the MQTT broker port is 4000 now",
            ),
        ),
    ),
    4: (
        (
            "chat",
            (
                "our childminder is Orla Healy now",
                "if I ever won the lotto I'd move to Lisbon and never work again",
                "Niamh's swimming lessons are on Thursdays",
                "can you reword this for a friend?\n\nDear Ms Lynch, I am a single parent, "
                "I live in Tralee and I work at Supermacs.",
                "cheers, that's grand",
            ),
        ),
        (
            "tools",
            (
                "always use double quotes in the yaml files please",
                "I've switched to Micro as my editor",
                "Let's call the new hub Banshee.",
            ),
        ),
    ),
    5: (
        (
            "chat",
            (
                "my GP is Dr. Cormac Daly",
                "sorry, typo. my GP is Dr. Conor Daly",
                "My birthday is on 9 November.",
                "swimming was moved to Fridays actually",
                "my mam says I should go for the ward manager job, she's gas",
            ),
        ),
        (
            "tools",
            (
                "From now on back up the hub on Wednesdays.",
                "why does the hallway light flicker?",
                "For reference, the Home Assistant box has the address 192.168.1.40.",
            ),
        ),
    ),
    6: (
        (
            "chat",
            (
                "our new cat is called Pixel",
                "translate to Irish: my name is Brendan and I live in Dingle",
                "choir practice is on Mondays from now on",
            ),
        ),
        (
            "tools",
            (
                "I like the automations in one file per room.",
                "use a template sensor for this one",
                "I want Celsius on the dashboard from now on, not Fahrenheit.",
            ),
        ),
    ),
    7: (
        (
            "chat",
            (
                "my car is a Kia Niro now. love it!",
                "I might go part-time next year, not sure yet",
                "my ward is paediatrics now",
            ),
        ),
        (
            "tools",
            (
                "the MQTT broker port is 8884, I changed it again",
                "We chose Zigbee2MQTT over ZHA because it supports more devices.",
            ),
        ),
    ),
    8: (
        (
            "chat",
            (
                "just so you know, I only drink decaf",
                "I speak Irish and Polish. how do you say good luck in Polish?",
                "thanks a million",
            ),
        ),
    ),
}
KEPT = (
    "employer: Mercy University Hospital",
    "coeliac",
    "Niamh peanuts",
    "living room Hue",
    "restart hub",
    "home: Cobh",
    "Aoife Galway",
    "coriander",
    "ESPHome sensors",
    "childminder: Orla Healy",
    "double quotes yaml",
    "editor: Micro",
    "hub Banshee",
    "GP Conor Daly",
    "birthday 9 November",
    "192.168.1.40",
    "cat Pixel",
    "one file per room",
    "car Kia Niro",
    "ward: paediatrics",
    "MQTT broker port: 8884",
    "Zigbee2MQTT ZHA",
    "decaf",
    "Irish Polish",
)
EITHER = (
    "greenhouse 5 minutes",
    "swimming Friday",
    "hub Wednesday",
    "choir Monday",
    "Celsius dashboard",
)
STALE = (
    "St Brendan",
    "Limerick",
    "cardiology",
    "1883",
    "8883",
    "Sheila Burke",
    "Yaris",
    "editor: nano",
    "Cormac",
)
NEVER = (
    "canteen",
    "debounce",
    "- home: Galway",
    "wrecked",
    "night shift",
    "pi-attic",
    "4000",
    "Lisbon",
    "lotto",
    "Tralee",
    "Supermacs",
    "Lynch",
    "ward manager",
    "Dingle",
    "name is Brendan",
    "template sensor",
    "part-time",
    "flicker",
)
OPENERS = (
    "hiya",
    "quick one",
    "by the way",
    "btw",
    "heads up",
    "we've decided",
    "please",
    "let's",
    "sorry",
    "typo",
    "actually",
    "from now on",
    "for reference",
    "we chose",
    "just so you know",
)
