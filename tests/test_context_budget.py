"""The choice of entries for a block: shares, ceilings, order. Pure."""

from hypothesis import given
from hypothesis import strategies as st

from mdmem.context.parts import (
    FRAME_TOKENS,
    SHARES,
    Candidate,
    Offer,
    allot,
    fill,
    heading_line,
    write_block,
)
from mdmem.model import FactId
from mdmem.model.prompts import ContextPart, Purpose, count_tokens


def entry(
    number: int,
    text: str,
    path: str = "MEMORY.md",
    worth: float = 0.0,
    identity: str = "",
    author: str | None = None,
) -> Candidate:
    return Candidate(
        path=path,
        heading=f"Memory · {path}",
        line=number,
        text=text,
        id=FactId(identity or f"{number:08x}"),
        fact=None,
        position=(0, number),
        worth=worth,
        author=author,
    )


def rest(left_out: object) -> str:
    return 'memory_get "Projects"'


def different(candidate: Candidate, other: Candidate) -> bool:
    return False


entries = st.lists(
    st.builds(
        entry,
        st.integers(1, 10_000),
        st.text(
            st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=200
        ),
        st.sampled_from(["MEMORY.md", "memory/2026-03-04.md", "memory/a long name of a topic.md"]),
        st.floats(0, 50),
        author=st.sampled_from([None, None, "Priya", "Bo van der Meer", "é"]),
    ),
    max_size=25,
)
offers = st.fixed_dictionaries(
    {
        ContextPart.PROFILE: st.builds(lambda some: Offer(tuple(some), rest=rest), entries),
        ContextPart.PINNED: st.builds(lambda some: Offer(tuple(some), rest=rest), entries),
        ContextPart.DAYS: st.builds(lambda some: Offer(tuple(some), rest=rest), entries),
        ContextPart.FOUND: st.builds(lambda some: Offer(tuple(some), by_worth=True), entries),
    }
)


class TestCeilings:
    @given(offers, st.integers(1, 1500))
    def test_the_finished_text_keeps_the_budget(
        self, offered: dict[ContextPart, Offer], budget: int
    ):
        fillings, room = allot(offered, Purpose.SESSION, budget, different)
        text = write_block(
            [paragraph for filling in fillings for paragraph in filling.paragraphs()]
        )
        assert count_tokens(text) <= budget or not text
        assert count_tokens(text) == (
            FRAME_TOKENS + sum(filling.tokens for filling in fillings) if text else 0
        )
        assert not text or room == budget - count_tokens(text)

    @given(offers, st.integers(1, 1500))
    def test_an_id_stands_once(self, offered: dict[ContextPart, Offer], budget: int):
        fillings, _ = allot(offered, Purpose.SESSION, budget, different)
        ids = [each.id for filling in fillings for each in filling.shown]
        assert len(ids) == len(set(ids))

    @given(offers, st.integers(1, 1500))
    def test_the_same_offers_give_the_same_choice(
        self, offered: dict[ContextPart, Offer], budget: int
    ):
        assert allot(offered, Purpose.SESSION, budget, different) == allot(
            offered, Purpose.SESSION, budget, different
        )

    def test_shares_are_those_of_the_contract(self):
        assert SHARES[Purpose.SESSION] == {
            ContextPart.PROFILE: 0.15,
            ContextPart.PINNED: 0.28,
            ContextPart.TASKS: 0.08,
            ContextPart.DAYS: 0.20,
            ContextPart.FOUND: 0.25,
            ContextPart.TAGS: 0.02,
            ContextPart.NOTES: 0.02,
        }
        assert SHARES[Purpose.PROMPT] == {ContextPart.FOUND: 1.0}


class TestFill:
    def test_one_that_does_not_fit_is_skipped_and_a_smaller_one_is_tried(self):
        filling = fill(ContextPart.PINNED, Offer((entry(1, "x" * 400), entry(2, "short"))), 30)
        assert [each.line for each in filling.shown] == [2]
        assert filling.left_out == 1

    def test_printed_in_the_order_of_the_file(self):
        filling = fill(ContextPart.PINNED, Offer((entry(9, "newest"), entry(2, "older"))), 100)
        assert [each.line for each in filling.shown] == [2, 9]

    def test_the_heading_says_what_was_cut(self):
        filling = fill(
            ContextPart.PINNED,
            Offer(tuple(entry(n, "word " * 10) for n in range(1, 41)), rest=rest),
            200,
        )
        (paragraph,) = filling.paragraphs()
        assert (
            paragraph.heading
            == f'Memory · MEMORY.md ({len(filling.shown)} of 40; the rest: memory_get "Projects")'
        )
        assert filling.tokens <= 200

    def test_nothing_is_said_where_all_fits(self):
        filling = fill(
            ContextPart.PINNED, Offer((entry(1, "one"), entry(2, "two")), rest=rest), 100
        )
        assert [paragraph.heading for paragraph in filling.paragraphs()] == ["Memory · MEMORY.md"]

    def test_one_of_two_that_say_the_same(self):
        offer = Offer((entry(1, "one", worth=2), entry(2, "one too", worth=1)), by_worth=True)
        filling = fill(ContextPart.FOUND, offer, 100, alike=lambda candidate, other: True)
        assert [each.line for each in filling.shown] == [1]
        assert filling.left_out == 0

    def test_none_that_another_part_shows(self):
        offer = Offer((entry(1, "one", identity="a"), entry(2, "two", identity="b")))
        assert [
            each.id for each in fill(ContextPart.FOUND, offer, 100, elsewhere={FactId("a")}).shown
        ] == ["b"]

    def test_of_nearly_equal_ones_the_shorter_comes_first(self):
        offer = Offer(
            (entry(1, "word " * 60, worth=10.0), entry(2, "word", worth=9.5)), by_worth=True
        )
        assert [each.line for each in fill(ContextPart.FOUND, offer, 30).shown] == [2]

    def test_what_no_budget_could_hold_is_counted(self):
        offer = Offer(tuple(entry(n, "word") for n in range(1, 6)), rest=rest, beyond=100)
        filling = fill(ContextPart.PINNED, offer, 500)
        assert filling.left_out == 100
        assert [paragraph.heading for paragraph in filling.paragraphs()] == [
            'Memory · MEMORY.md (5 of 105; the rest: memory_get "Projects")'
        ]
        assert filling.tokens <= 500


class TestHeirs:
    def test_what_found_leaves_goes_to_the_days_and_then_to_the_curated_file(self):
        days = Offer(
            tuple(entry(n, "day " * 20, "memory/2026-03-05.md") for n in range(1, 40)), rest=rest
        )
        pinned = Offer(tuple(entry(100 + n, "pin " * 20) for n in range(1, 40)), rest=rest)
        offered = {ContextPart.PINNED: pinned, ContextPart.DAYS: days}
        shown = {
            filling.part: filling for filling in allot(offered, Purpose.SESSION, 1000, different)[0]
        }
        assert shown[ContextPart.DAYS].tokens > 200
        assert shown[ContextPart.PINNED].tokens <= 280

    def test_a_part_that_is_left_out_leaves_its_share(self):
        days = Offer(
            tuple(entry(n, "day " * 20, "memory/2026-03-05.md") for n in range(1, 80)), rest=rest
        )
        pinned = Offer(tuple(entry(100 + n, "pin " * 20) for n in range(1, 40)), rest=rest)
        both, alone = (
            {
                filling.part: filling.tokens
                for filling in allot(offered, Purpose.SESSION, 1000, different)[0]
            }
            for offered in (
                {ContextPart.PINNED: pinned, ContextPart.DAYS: days},
                {ContextPart.DAYS: days},
            )
        )
        assert alone[ContextPart.DAYS] > both[ContextPart.DAYS]

    def test_found_has_its_share_however_full_the_others_are(self):
        full = {
            part: Offer(
                tuple(
                    entry(1000 * number + n, f"{part.value} " * 5, f"{part.value}.md")
                    for n in range(200)
                ),
                part is ContextPart.FOUND,
                rest,
            )
            for number, part in enumerate(SHARES[Purpose.SESSION])
            if part not in (ContextPart.TAGS, ContextPart.NOTES)
        }
        fillings, room = allot(full, Purpose.SESSION, 2000, different, 80)
        hits = next(filling for filling in fillings if filling.part is ContextPart.FOUND)
        assert hits.tokens > 480
        assert room >= 80


class TestAuthors:
    def paragraphs(self, *authors: str | None) -> list[tuple[str, ...]]:
        offer = Offer(
            tuple(entry(n, f"entry {n}", author=author) for n, author in enumerate(authors, 1))
        )
        filling = fill(ContextPart.PINNED, offer, 500)
        return [(paragraph.heading, *paragraph.lines) for paragraph in filling.paragraphs()]

    def test_the_name_of_another_person_is_printed_on_every_line(self):
        expected = ("- :1 entry 1", "- :2 (Priya) entry 2", "- :3 (Priya) entry 3", "- :4 entry 4")
        assert self.paragraphs(None, "Priya", "Priya", None) == [("Memory · MEMORY.md", *expected)]

    def test_no_heading_stands_for_names(self):
        ((heading, *lines),) = self.paragraphs("Priya", "Bo")
        assert heading == "Memory · MEMORY.md"
        assert lines == ["- :1 (Priya) entry 1", "- :2 (Bo) entry 2"]

    def test_names_are_paid_for(self):
        offer = Offer(tuple(entry(n, f"entry {n}", author="Priya" * 9) for n in range(1, 99)))
        filling = fill(ContextPart.PINNED, offer, 500)
        lines = [
            line
            for paragraph in filling.paragraphs()
            for line in (heading_line(paragraph.heading), *paragraph.lines)
        ]
        assert filling.tokens == sum(map(count_tokens, lines)) <= 500
