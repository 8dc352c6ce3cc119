"""Results as text, for values made by hand: what no recorded answer holds."""

import itertools
import subprocess
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.health.doctor import Finding, Level
from mdmem.index import ranking
from mdmem.model import CommitId, FactId, FilePath, Op, Source, Status, Supersession
from mdmem.model.errors import field, printable
from mdmem.model.history import (
    Blame,
    BlamedLine,
    FactHistory,
    FactLink,
    Made,
    PresenceView,
    RevisionView,
    SectionHistory,
    TextHistory,
)
from mdmem.model.pipelines import (
    DigestedEntry,
    DigestResult,
    DreamChange,
    DreamOp,
    DreamResult,
    LeftSession,
    ModelFigures,
    StepFigures,
)
from mdmem.model.proposals import Advice, AdviceKind, ReviewResult
from mdmem.model.reads import SectionView
from mdmem.model.searches import (
    Explanation,
    FactList,
    Factor,
    Hit,
    ScorePart,
    SearchResult,
    TagCatalogue,
)
from mdmem.model.writes import WriteResult
from mdmem.secrets import Secret
from mdmem.show import hits, maintenance, past, reads, runs, writes
from mdmem.show.hits import plain
from mdmem.show.values import to_json

COMMIT = CommitId("0123456789abcdef0123456789abcdef01234567")
HIT = Hit(
    path="MEMORY.md",
    start_line=7,
    end_line=8,
    section=("Memory", "Work"),
    kind="fact",
    day=None,
    text="drinks **black** tea",
    score=1.5,
    fact=FactId("1f3c9a2b"),
    key=None,
    tags=("a", "b"),
    source=Source.INFERRED,
    confidence=0.7,
    status=Status.CURRENT,
    until=date(2026, 12, 31),
    commit=COMMIT,
    uncommitted=False,
)
RESULT = WriteResult(
    True,
    "MEMORY.md",
    ("Memory", "Work"),
    "aaaabbbbcccc",
    COMMIT,
    (FactId("11111111"),),
    (FactId("22222222"),),
    (Supersession(FactId("22222222"), FactId("11111111")),),
)
VIEW = SectionView(
    "a.md",
    ("A",),
    1,
    "\nx\r\ny\x1b\r\n\r\n",
    "e" * 12,
    "f" * 12,
    1,
    4,
    COMMIT,
    False,
    (("A", "B"),),
)
STEERS = "\x1b\x9b\x07\x7f\u202e\u2066\u2028"


def result_of(*hits: Hit, query: str = "tea") -> SearchResult:
    return SearchResult(query, COMMIT, False, hits)


class TestWrite:
    def test_every_deed_has_its_word(self):
        for op in Op:
            if op is not Op.INIT:
                kept = " (line kept)" if op is Op.RETRACT else ""
                assert writes.write_text(replace(RESULT, op=op)).endswith(
                    f"MEMORY.md: Memory > Work (commit 0123456789){kept}"
                )


class TestSection:
    def test_text_for_a_program_is_the_text(self):
        assert reads.section_text(VIEW, terminal=False) == "x\r\ny\x1b"

    def test_for_a_terminal_nothing_steers_it(self):
        assert reads.section_text(VIEW, terminal=True) == "x\ny\ufffd"


class TestSearch:
    @pytest.mark.parametrize(
        ("query", "text", "shown"),
        [
            ("tea", "Tea and TEA, teapot", "{Tea} and {TEA}, teapot"),
            ("drinking", "she drinks", "she {drinks}"),
            ("日本", "in 日本 now", "in {日本} now"),
            ("(tea) OR [", "tea or [x]", "{tea} {or} [x]"),
            ("", "nothing", "nothing"),
        ],
    )
    def test_highlighted(self, query: str, text: str, shown: str):
        line = hits.search_text(result_of(replace(HIT, text=text), query=query), colour=True).split(
            "\n"
        )[1]
        assert line.strip() == shown.replace("{", "\x1b[1m").replace("}", "\x1b[0m")

    @pytest.mark.parametrize(
        ("fields", "shown"),
        [
            ({}, " (inferred)"),
            ({"source": Source.USER_STATED}, ""),
            ({"source": None, "uncommitted": True}, " (uncommitted)"),
            ({"since": datetime(2026, 3, 1, 9, tzinfo=UTC)}, " (2026-03-01, inferred)"),
            ({"since": datetime(2026, 3, 5, 9, tzinfo=UTC), "source": Source.AUTO}, " (auto)"),
            ({"day": date(2026, 3, 2), "source": Source.USER_STATED}, " (2026-03-02)"),
            ({"day": date(2026, 3, 2), "path": "memory/2026-03-02.md"}, " (inferred)"),
        ],
    )
    def test_on_a_terminal_day_and_source_are_told_where_they_are_not_usual(
        self, fields: dict[str, Any], shown: str
    ):
        found = result_of(replace(HIT, **fields))
        head, _ = hits.search_text(found, False, date(2026, 3, 5)).split("\n")
        assert head.partition("]")[2] == shown
        assert "inferred" not in hits.search_text(found, False)

    def test_what_has_no_words_is_shown_as_it_stands(self):
        assert hits.search_text(
            result_of(replace(HIT, text="[ref]: https://x.org")), colour=False
        ).endswith("    [ref]: https://x.org")

    @given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None), max_size=20))
    def test_two_lines_a_hit_that_steer_nothing(self, text: str, query: str):
        shown = hits.search_text(
            result_of(replace(HIT, text=text, section=(text,)), query=query), colour=False
        )
        assert len(shown.split("\n")) == 2
        assert not set(shown) & set(STEERS + "\r\t")

    @given(
        st.one_of(
            st.text(st.characters(codec=None)),
            st.text("ab1 .,:;-+=#!()'\"\\`*_[]<>&~|^$/%@{}\t\nöß日", max_size=12),
            st.lists(
                st.sampled_from(
                    [
                        "a",
                        "a_b",
                        " ",
                        "**",
                        "`",
                        "_",
                        "*",
                        "\\",
                        ",",
                        "1.",
                        "**bold**",
                        "`code x`",
                        "`a_b`",
                        "日",
                    ]
                )
            ).map("".join),
            st.lists(
                st.sampled_from(
                    [
                        "```",
                        "~~~",
                        "```sh",
                        "``` sh",
                        "````",
                        " ```",
                        "# no heading",
                        "make it",
                        "\ta `b` &amp; <c>",
                        "",
                        " ",
                    ]
                )
            ).map("\n".join),
        )
    )
    def test_the_words_are_those_of_the_parser_whether_it_is_asked_or_not(self, text: str):
        line = hits.search_text(result_of(replace(HIT, text=text), query=""), colour=False).split(
            "\n"
        )[1]
        assert line == f"    {printable(' '.join(plain(text).split()) or text, keep='')}"[:324]


class TestExplained:
    PARTS = (
        ScorePart("text", "tea", "Tea", 1.25),
        ScorePart("around", "tea", "Tea", 0.5),
        ScorePart("heading", "Memory", "memories", 0.4),
        ScorePart("asked", "puppi", "dog", 0.25),
        ScorePart("grams", "東京", "東京", 0.1),
        ScorePart("later", "tea", "tea", 0.1),
    )

    def lines(self, why: Explanation, **fields: Any) -> list[str]:
        return hits.search_text(
            result_of(replace(HIT, explanation=why, **fields)), colour=False
        ).splitlines()[2:]

    def test_words(self):
        assert self.lines(Explanation(self.PARTS, ())) == [
            "      score 1.50",
            '      +1.75  "Tea": 1.25 in the entry, 0.50 nearby',
            '      +0.40  "memories": 0.40 in the headings, file name, tags or front matter as "Memory"',
            '      +0.25  "dog": 0.25 in a question before the entry by a related word',
            '      +0.10  "東京": 0.10 by characters',
            '      +0.10  "tea": 0.10 later',
        ]

    @pytest.mark.parametrize("scores", [*itertools.permutations((0.1, 0.4, 0.305))])
    def test_the_sum_of_a_word_is_rounded_alike_on_every_python(self, scores: tuple[float, ...]):
        parts = tuple(ScorePart("text", "tea", "tea", score) for score in scores)
        assert self.lines(Explanation(parts, ()))[1].startswith('      +0.81  "tea": ')

    @given(text=st.text(alphabet=STEERS + "ab", min_size=1))
    def test_no_terminal_is_steered(self, text: str):
        shown = self.lines(
            Explanation((ScorePart(text, text, text, 1.0),), (Factor("later", 1.0),))
        )
        assert all(printable(line, keep="") == line for line in shown)
        assert len(shown) == 3

    def test_every_field_and_factor_of_the_ranking_has_its_words(self):
        assert set(hits._FIELD_NAMES) == set(ranking.FIELD_WEIGHTS)
        assert {name for name, _ in ranking.ANSWER_FACTORS.values()} <= set(hits._FACTORS)


def test_an_empty_answer_of_an_index_that_is_behind_says_nothing_of_memory():
    behind = "the index is behind"
    assert hits.facts_notes(FactList((), 0)) == ("no facts",)
    assert hits.facts_notes(FactList((), 0, True, (behind,))) == (
        behind,
        "Nothing found yet; the index is behind",
    )
    assert hits.search_notes(replace(result_of(), stale=True, notes=(behind,))) == (
        behind,
        "Nothing found yet; the index is behind",
    )
    assert hits.answer_notes("tags", 0, TagCatalogue((), True, (behind,))) == (
        behind,
        "Nothing found yet; the index is behind",
    )


def test_facts_that_are_left_out_are_counted():
    assert hits.facts_notes(FactList((HIT,), 1200)) == (
        f"1 of 1,200 facts (all: {field('limit')} 0)",
    )


@pytest.mark.parametrize(
    ("level", "fixed", "sound"),
    [(Level.WARNING, False, True), (Level.ERROR, True, True), (Level.ERROR, False, False)],
)
def test_soundness(level: Level, fixed: bool, sound: bool):
    findings = (Finding("git", Level.OK, "version 2"), Finding("hooks", level, "x", fixed=fixed))
    assert maintenance.is_sound(findings) is sound


def test_redacted():
    assert to_json(Secret("key", 3, 9, 2)) == {"kind": "key", "line": 2}
    assert maintenance.redacted_text("a\r\n\tb\x1b\n\n") == "a\n\tb\ufffd\n"


# What memory said before.

AT = datetime.fromisoformat("2026-03-05T09:30:00+01:00")
MADE = Made(COMMIT, AT, "Ada", Source.INFERRED, 0.7, op="remember")
REVISION = RevisionView(MADE, "# A\n\nb\n", "# A\n\na\n", "a.md", ("A",))
STORY = SectionHistory("a.md", ("A",), (REVISION,))
LOGGED = replace(MADE, op="log")
LINK = FactLink(LOGGED, FactId("1f3c9a2b"), "tea", AT, None, "a.md", ("A",), Status.CURRENT)


class TestHistory:
    def test_in_colour(self):
        shown = past.history_text(STORY, words=True, colour=True)
        assert shown == (
            "\x1b[2m2026-03-05 09:30  0123456789  remember\x1b[0m\n    # A\n\n    \x1b[31m[-a-]\x1b[0m\n    \x1b[32m{+b+}\x1b[0m"
        )

    @given(*[st.text(st.characters(codec=None), max_size=40)] * 2)
    def test_nothing_steers_a_terminal(self, text: str, other: str):
        by_hand = replace(MADE, author=text, reason=other, op=None)
        revision = RevisionView(by_hand, other, text, text, (other,))
        link = replace(LINK, text=text, made=replace(LOGGED, reason=other))
        shown = (
            past.history_text(replace(STORY, revisions=(revision,)), words=True, colour=False),
            past.history_text(
                FactHistory(FactId("a"), Status.CURRENT, (link,) * 2), words=True, colour=False
            ),
            past.blame_text(Blame("a.md", (), (BlamedLine(1, text, by_hand),)), colour=False),
            past.presences_text(TextHistory(text, (PresenceView(text, (other,), by_hand, None),))),
        )
        assert not set("".join(shown)) & set(STEERS + "\r")


def test_the_command_of_an_advice_can_be_pasted():
    words = (
        "mdmem",
        "edit-section",
        "It's",
        "--replace",
        "- it's a \\n\n- b\t\x1b",
        "--with",
        "- é\u202e\n",
    )
    advice = Advice(AdviceKind.DUPLICATE, FilePath("a.md"), ("A",), 3, (), "twice", words, True)
    shown = (
        maintenance.reviewed_text(ReviewResult((advice,)))
        .splitlines()[1]
        .strip()
        .removesuffix("  (safe)")
    )
    assert printable(shown, keep="") == shown
    ran = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {shown}"],
        stdout=subprocess.PIPE,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert tuple(ran.stdout.decode().split("\0")[:-1]) == words


def test_nothing_of_a_session_steers_the_terminal_of_a_digest():
    entry = DigestedEntry(
        fact=FactId("0a1b2c3d"),
        day=date(2026, 3, 4),
        minute="09:30",
        kind="decision",
        text="tea",
        source=Source.USER_STATED,
        confidence=0.95,
        cites=("claude/a\n\x1b[2J#1",),
    )
    result = DigestResult(
        run="digest/20260304T093000Z-0a1b2c3d",
        figures=StepFigures(sessions=1, messages=1, size=80),
        entries=[entry],
        left=[LeftSession("/p/\u202e\nx.jsonl", "unknown-format")],
    )
    lines = runs.digest_text(result).split("\n")
    assert len(lines) == 4
    assert "".join(lines).isprintable()


def test_a_night_counts_the_reasons_for_which_entries_are_left():
    def left(why: str) -> DreamChange:
        return DreamChange(
            op=DreamOp.NONE,
            fact=FactId("1f3c9a2b"),
            old=None,
            path=FilePath("memory/2026-03-04.md"),
            section=("2026-03-04", "Facts"),
            text="tea",
            source=Source.INFERRED,
            applied=False,
            why=why,
            cites=(),
        )

    changes = (left("it was said only once"), left("it stands"), left("it was said only once"))
    day = date(2026, 3, 4)
    result = DreamResult("dream/2026-03-04", (day,), changes, StepFigures(), ModelFigures())
    assert runs.dream_text(result).splitlines() == [
        "dream/2026-03-04: 0 applied, 0 proposed, 3 skipped",
        "  2 skipped: it was said only once",
        "  1 skipped: it stands",
    ]
