"""A week of a potter with a web shop, who writes English, German and Spanish as it comes.

Before any rule was changed for it 17 of 24 plain statements were kept.
"""

from collections.abc import Sequence

MEMORY = """\
# Memory

## Facts

- home: Freiburg
- employer: Werkhof Süd
- studio landlord: Herr Brandt
- shop port: 3000
- kiln: Nabertherm
- accountant: Lucía Ferrer
- the pottery course takes place on Saturdays
- the kiln needs 9 hours for a glaze firing

## Preferences

- [preference] editor: Atom
- [preference] invoices in German

## Decisions

- [decision] use WooCommerce for the web shop
- [decision] no sales on Sundays
"""
DAYS: dict[int, Sequence[tuple[str, tuple[str, ...]]]] = {
    2: (
        (
            "chat",
            (
                "Hallo! Ich wohne jetzt in Valencia.",
                "Merk dir bitte, dass meine Tochter Greta keine Milch verträgt.",
                "Kannst du mir ein Rezept für Linsensuppe geben?",
                "thx, you're a star",
            ),
        ),
        (
            "tools",
            (
                "The shop runs on port 3100 now.",
                "we've decided to use Stripe for card payments because Klarna's fees were silly",
                "fix the typo in the footer",
                "Product photos are always saved as webp.",
            ),
        ),
    ),
    3: (
        (
            "chat",
            (
                "the accountant is Marta Soler now",
                "Recuerda que soy alérgica a la penicilina.",
                "Por cierto, mi hermano Mateo vive en Sevilla. ¿qué tiempo hace mañana?",
                "Ich bin heute echt kaputt, war ein langer Tag im Atelier",
            ),
        ),
        (
            "tools",
            (
                "I've switched from Atom to Zed as my editor.",
                "Denk daran: Commits immer auf Englisch.",
                "never email customers from the test shop",
            ),
        ),
    ),
    4: (
        (
            "chat",
            (
                "my studio landlord is Frau Keller now, btw",
                "Übersetze bitte: I live in Hamburg and I work at Siemens.",
                "my birthday's on 21 March",
                "Ojalá viviera en Buenos Aires...",
            ),
        ),
        (
            "tools",
            (
                "note that the glaze calculator is in the folder tools/glaze",
                "found this in a forum, does it help?\n\n> Ich benutze jetzt Emacs als Editor\n"
                "> the shop runs on port 7777 now",
                "Let's call the new collection Marea.",
            ),
        ),
    ),
    5: (
        (
            "chat",
            (
                "Mi dentista es la doctora Ibáñez.",
                "I'm vegan. any ideas for dinner?",
                "the pottery course takes place on Fridays now",
                "jaja claro, y yo soy la reina de Inglaterra",
            ),
        ),
        (
            "tools",
            (
                "The deadline of the Christmas catalogue is 20 October.",
                "ja, mach das",
            ),
        ),
    ),
    6: (
        (
            "chat",
            (
                "Ahora trabajo en Taller Norte.",
                "Mein Mann heißt Jonas.",
                "My friend Carmen works at Camper and lives in Palma",
                "Ich trinke keinen Kaffee mehr.",
                "I want invoices in English from now on",
            ),
        ),
        (
            "tools",
            (
                "We agreed to drop WooCommerce and use Medusa for the web shop.",
                "the kiln needs 11 hours for a glaze firing now",
            ),
        ),
    ),
    7: (
        (
            "chat",
            (
                "my kiln is a Rohde now, yay",
                "Vielleicht ziehe ich irgendwann nach Lissabon.",
                "Hazme un texto para Instagram que diga: abrimos una tienda en Madrid",
            ),
        ),
        (
            "tools",
            (
                "The Christmas catalogue deadline is 27 October, sorry.",
                "Ten en cuenta que los pedidos se envían los martes.",
            ),
        ),
    ),
    8: (
        (
            "chat",
            (
                "Übrigens heiße ich Jule, nicht Julia.",
                "Remember that the spare key is at the bakery.",
                "muchas gracias, hasta mañana",
            ),
        ),
    ),
}
KEPT = (
    "Greta Milch",
    "penicilina",
    "Commits Englisch",
    "pedidos martes",
    "home: Valencia",
    "dentist Ibáñez",
    "employer: Taller Norte",
    "Jonas",
    "Mateo Sevilla",
    "Jule",
    "shop port: 3100",
    "Stripe card payments",
    "photos webp",
    "accountant: Marta Soler",
    "editor: Zed",
    "customers test shop",
    "studio landlord: Frau Keller",
    "birthday 21 March",
    "glaze calculator tools/glaze",
    "collection Marea",
    "vegan",
    "Christmas catalogue 27 October",
    "kiln Rohde",
    "spare key bakery",
)
EITHER = (
    "pottery Friday",
    "Kaffee",
    "invoices English",
    "web shop Medusa",
    "11 hours",
)
STALE = (
    "Freiburg",
    "Werkhof",
    "Brandt",
    "3000",
    "Nabertherm",
    "Lucía Ferrer",
    "editor: Atom",
    "20 October",
)
NEVER = (
    "Linsensuppe",
    "footer",
    "- home: Sevilla",
    "kaputt",
    "Hamburg",
    "Siemens",
    "Buenos Aires",
    "Emacs",
    "7777",
    "reina",
    "- employer: Camper",
    "- home: Palma",
    "Lissabon",
    "Instagram",
    "Madrid",
)
OPENERS = (
    "hallo",
    "merk dir",
    "bitte",
    "we've decided",
    "we agreed",
    "recuerda",
    "por cierto",
    "denk daran",
    "btw",
    "note that",
    "let's",
    "sorry",
    "from now on",
    "ten en cuenta",
    "übrigens",
    "remember",
)
