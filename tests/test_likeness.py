"""The successors of changed lines: replacements as people write them, and lines that only stand
where another one stood.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.fact_difference import fact_difference
from mdmem.editors.likeness import CandidateIndex, candidate_pairs, likeness
from mdmem.editors.sameness import StatementIndex, resemble, word_overlap
from mdmem.text.document import parse
from mdmem.text.facts import items

REPLACED = [
    ("works at Stripe", "works at Linear"),
    ("We deploy with Jenkins", "Deployments go through GitHub Actions"),
    ("Lives in Oslo", "Moved to Bergen in May"),
    ("uses vim", "uses helix"),
    ("likes tea", "likes coffee"),
    ("Uses Vim for everything", "Switched to Zed"),
    ("Standup is at 9:30 on weekdays", "Standup moved to 10:00"),
    (
        "The API rate limit is 100 requests per minute",
        "Rate limit raised to 500 requests per minute",
    ),
    ("Postgres 15 runs in production", "Production runs Postgres 17"),
    ("Backups run every night at 2", "Backups run hourly now"),
    ("Tests must pass before merging", "Tests and linters must pass before merging"),
    ("Jenkins runs the builds", "Buildkite runs the builds"),
    ("Use double quotes for strings", "Prefer single quotes for strings"),
    ("Release notes are written by Ana", "Ben writes the release notes"),
    ("The budget for Q3 is 40,000 EUR", "Q3 budget was cut to 30,000 EUR"),
    ("Emergency contact: Maria 555-0101", "Emergency contact: Tom 555-0199"),
    ("The staging server is stage1.example.org", "Staging server: stage2.example.org"),
    ("**Never** push to `main` on Fridays", "Pushing to `main` on Fridays is fine"),
    ("Prefers dark mode (until 2026-01-01)", "Prefers light mode"),
    ("Das Team trifft sich montags um 9 Uhr", "Das Team trifft sich dienstags um 10 Uhr"),
    ("Wohnt in Hamburg", "Ist nach Köln umgezogen"),
    ("La entrega es el viernes a las 5", "La entrega pasa al jueves a las 3"),
    ("Habite à Lyon", "A déménagé à Nantes"),
    ("Живёт в Москве", "Переехала в Казань"),
    ("يعمل في شركة ستارك", "يعمل في شركة نور"),
    ("Zebranie jest w poniedziałek", "Zebranie jest we wtorek"),
    ("他在上海工作", "他在北京工作"),
    ("住在上海", "搬到北京了"),
    ("用户喜欢喝咖啡", "用户现在喜欢喝茶"),
    ("東京に住んでいます", "大阪に引っ越しました"),
    ("毎週月曜日に定例会議がある", "定例会議は火曜日に変わった"),
    ("매주 월요일에 회의가 있다", "회의는 화요일로 옮겼다"),
]
SIDE_BY_SIDE = [
    ("Rollbacks need approval from Ana", "Moved to Bergen in May"),
    ("likes tea", "allergic to nuts"),
    ("buy milk", "call mum"),
    ("User prefers tea", "User works at Linear"),
    ("The user wants short answers", "The user has two children"),
    ("Ana works at Stripe", "Ben works at Linear"),
    ("Ana Lima works at Stripe", "Ben Ray joined Linear"),
    ("Staging database is Postgres 15", "Production database is Postgres 17"),
    ("Has a dog named Rex", "Speaks French and German"),
    ("Lives in Oslo", "The office in Oslo is closed"),
    ("Birthday on 3 May", "Dentist on 3 May"),
    ("Meeting notes are in the wiki", "The build takes 12 minutes"),
    ("We use tabs", "We meet on Mondays"),
    ("Needs visa for Japan", "Passport expires in 2027"),
    ("Wohnt in Hamburg", "Mag keine Oliven"),
    ("Las fotos están en el disco", "El perro se llama Sol"),
    ("他喜欢咖啡", "项目使用Python"),
    ("周一开会", "猫叫小白"),
    ("東京に住んでいます", "犬が二匹います"),
    ("コーヒーが好きです", "来週は休みです"),
    ("회의는 월요일이다", "고양이를 키운다"),
]


def lines(text: str) -> str:
    return "## A\n\n" + "".join(f"- {line}\n" for line in text.split("\n") if line)


def pairs(before: str, after: str) -> set[tuple[str, str]]:
    """The supersessions, by the texts of the facts."""
    old, new = parse(lines(before)), parse(lines(after))
    texts = {item.fact.id: item.fact.text for document in (old, new) for item in items(document)}
    return {(texts[pair.old], texts[pair.new]) for pair in fact_difference(old, new).supersedes}


@pytest.mark.parametrize(("old", "new"), REPLACED)
def test_replacements_in_place(old: str, new: str) -> None:
    assert pairs(f"above\n{old}\nbelow", f"above\n{new}\nbelow") == {(old, new)}


@pytest.mark.parametrize(("old", "new"), SIDE_BY_SIDE)
def test_lines_that_only_stand_where_another_stood(old: str, new: str) -> None:
    assert pairs(f"above\n{old}\nbelow", f"above\n{new}\nbelow") == set()
    assert pairs(f"above\n{old}", f"{new}\nabove") == set()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Several at once: the likest, whatever the order.
        (
            "works at Stripe\nlives in Oslo",
            "lives in Bergen\nworks at Linear",
            {("works at Stripe", "works at Linear"), ("lives in Oslo", "lives in Bergen")},
        ),
        (
            "Ana works at Stripe\nBen works at Hetzner",
            "Ben works at Linear\nAna works at OVH",
            {
                ("Ana works at Stripe", "Ana works at OVH"),
                ("Ben works at Hetzner", "Ben works at Linear"),
            },
        ),
        ("Ana works at Stripe\nx", "y\nBen works at Linear", set()),
        # Far from each other, a little likeness is not enough.
        ("We deploy with Jenkins\nold\nx", "x\nnew\nDeployments go through GitHub Actions", set()),
        # One becomes two, two become one: one of them is the successor, and the other one is new,
        # or gone.
        (
            "Uses Neovim and tmux on the laptop",
            "Uses tmux on the laptop\nUses Neovim on the laptop with plugins",
            {("Uses Neovim and tmux on the laptop", "Uses tmux on the laptop")},
        ),
        (
            "Deploys happen on Fridays\nDeploys happen in the evening",
            "Deploys happen on Friday evening",
            {("Deploys happen in the evening", "Deploys happen on Friday evening")},
        ),
        # Another order is no change, nor is another place.
        ("a b\nc d\ne f", "e f\na b\nc d", set()),
        (
            "works at Stripe\nx\ny",
            "x\ny\nworks at Linear",
            {("works at Stripe", "works at Linear")},
        ),
        # Each in its own place.
        (
            "first\nWe deploy with Jenkins\nsecond\nLives in Oslo\nthird",
            "first\nDeployments go through GitHub Actions\nsecond\nMoved to Bergen in May\nthird",
            {
                ("We deploy with Jenkins", "Deployments go through GitHub Actions"),
                ("Lives in Oslo", "Moved to Bergen in May"),
            },
        ),
        # A line that was replaced by key keeps its place.
        (
            "editor: vim\nWe deploy with Jenkins",
            "editor: helix\nDeployments go through GitHub Actions",
            {
                ("editor: vim", "editor: helix"),
                ("We deploy with Jenkins", "Deployments go through GitHub Actions"),
            },
        ),
        # Keys: only with the same one, or in the same place with none.
        ("editor_theme: dark colours", "editor_font: dark colours", set()),
        ("x\neditor: vim with plugins", "The editor is helix\nx", set()),
        (
            "x\neditor: vim with plugins",
            "x\nThe editor is helix",
            {("editor: vim with plugins", "The editor is helix")},
        ),
        ("x\nThe editor is vim", "x\neditor: helix", {("The editor is vim", "editor: helix")}),
        (
            "phone: 555-0101 at the office\nphone: 555-0102 at home",
            "phone: 555-0202 at home\nphone: 555-0201 at the office",
            {
                ("phone: 555-0101 at the office", "phone: 555-0201 at the office"),
                ("phone: 555-0102 at home", "phone: 555-0202 at home"),
            },
        ),
        ("k: a\nx\nk: b", "k: c\nx\nk: d", {("k: a", "k: c"), ("k: b", "k: d")}),
        # Kind, tags and expiry make no other fact.
        ("works at Stripe", "[fact] works at Stripe (until 2026-01-01) #job", set()),
        ("works at Stripe\nx", "works at Stripe (until 2026-01-01)\nx\nworks at Linear", set()),
    ],
)
def test_several_lines(before: str, after: str, expected: set[tuple[str, str]]) -> None:
    assert pairs(before, after) == expected


def test_a_fact_that_moves_to_another_section_is_not_superseded() -> None:
    before = parse("## A\n\n- works at Stripe\n\n## B\n\n- x\n")
    after = parse("## A\n\n- works at Linear\n\n## B\n\n- x\n- works at Stripe\n")
    assert fact_difference(before, after).supersedes == ()


def test_sections_are_compared_one_by_one() -> None:
    before = parse("## A\n\n- works at Stripe\n\n## B\n\n- x\n")
    after = parse("## A\n\n## B\n\n- x\n- works at Linear\n")
    assert fact_difference(before, after).supersedes == ()


WORDS = st.sampled_from(
    [
        "Ana",
        "works",
        "at",
        "Oslo",
        "deploys",
        "deployment",
        "12",
        "東京",
        "住在",
        "#",
        "(until 2026-01-01)",
        "é",
        "",
        "İ",
    ]
)
STATEMENTS = st.lists(WORDS, max_size=6).map(" ".join) | st.text(max_size=30)


@given(STATEMENTS, STATEMENTS)
def test_likeness_is_a_share_and_goes_both_ways(left: str, right: str) -> None:
    for measure in (likeness, word_overlap):
        assert 0.0 <= measure(left, right) <= 1.0
        assert measure(left, right) == pytest.approx(measure(right, left))


@given(st.lists(STATEMENTS, max_size=5, unique=True), st.lists(STATEMENTS, max_size=5, unique=True))
def test_each_fact_has_one_successor_at_most(before: list[str], after: list[str]) -> None:
    old, new = parse(lines("\n".join(before))), parse(lines("\n".join(after)))
    difference = fact_difference(old, new)
    removed, added = [i.fact.id for i in difference.removed], [i.fact.id for i in difference.added]
    assert len(difference.supersedes) <= min(len(removed), len(added))
    assert all(
        removed.count(p.old) >= [q.old for q in difference.supersedes].count(p.old)
        for p in difference.supersedes
    )
    assert all(
        added.count(p.new) >= [q.new for q in difference.supersedes].count(p.new)
        for p in difference.supersedes
    )


def test_of_very_many_statements_the_nearest_are_candidates() -> None:
    left = [f"runner {number} builds project{number}" for number in range(60)]
    right = [f"machine {number} builds project{number}" for number in reversed(range(60))]
    candidates = list(candidate_pairs(left, right))
    assert len(candidates) < 60 * 60
    assert all((number, 59 - number) in candidates for number in range(60))


@pytest.mark.parametrize(
    ("left", "right", "nearly"),
    [
        ("Prefers dark mode in the editor", "Prefers the dark mode in editors", True),
        ("Reviews need two approvals.", "reviews need two approvals from others", True),
        ("The service listens on port 8080", "The service listens on port 8081", False),
        ("Use tabs in Python files", "Do not use tabs in Python files", False),
        ("用户喜欢喝咖啡", "用户不喜欢喝咖啡", False),
        ("Lives in Oslo", "Lives in Bergen", False),
        ("", "", False),
    ],
)
def test_word_overlap(left: str, right: str, nearly: bool) -> None:
    assert (word_overlap(left, right) >= 0.8) is nearly


WORDS = [
    "pump",
    "pumps",
    "Oslo",
    "Stripe",
    "lives",
    "moved",
    "not",
    "never",
    "7",
    "12",
    "garden",
    "gardens",
    "is",
    "old",
    "brass",
    "在東京",
    "the",
    "boat",
]


class TestManyStatements:
    """An index of statements finds what `resemble` says of each of them."""

    @given(
        statements=st.lists(
            st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join), max_size=12
        ),
        number=st.integers(0, 11),
    )
    def test_the_same_as_one_by_one(self, statements: list[str], number: int):
        asked = statements[number % len(statements)] if statements else "pump"
        numbers = list(StatementIndex(statements).find(asked))
        assert numbers == [
            number for number, statement in enumerate(statements) if resemble(asked, statement)
        ]

    def test_nearly_the_same_words(self):
        index = StatementIndex(["the roof is green", "We decided to keep the old pump, really."])
        assert index.holds_like("We decided to keep the old pump.")
        assert not index.holds_like("We decided to sell the old pump in May.")


class TestCandidatesOneAtATime:
    """An index of candidates gives those of `candidate_pairs`, of few statements and of
    very many.
    """

    @pytest.mark.parametrize("number", [3, 400, 401, 900])
    def test_the_same_as_at_once(self, number: int):
        statements = [f"pump {n} of hall{n % 17} hums near gate{n % 5}" for n in range(number)]
        index = CandidateIndex()
        for n, statement in enumerate([*statements, "gone", "pump 7 gone"]):
            index.add(n, statement)
        for n in (number, number + 1):
            index.remove(n)
        for asked in ("pump 7 of hall7", "hall3 and gate3", "no word of these"):
            assert sorted(index.find(asked)) == sorted(
                b for _, b in candidate_pairs([asked], statements)
            )
