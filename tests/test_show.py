"""Results as text and as JSON: exact lines for values made by hand."""

import itertools
import subprocess
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.health.doctor import Finding, Level
from mdmem.index import ranking
from mdmem.model import CommitId, FactId, FilePath, Op, Problem, Source, Status, Supersession
from mdmem.model.errors import printable
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
)
from mdmem.model.proposals import Advice, AdviceKind, ReviewResult
from mdmem.model.reads import Outline, OutlineRow, SectionView, WorkspaceStatus
from mdmem.model.searches import (
    ConflictList,
    ConflictView,
    Explanation,
    FactList,
    Factor,
    Hit,
    ScorePart,
    SearchResult,
    TagCatalogue,
    TagCount,
)
from mdmem.model.wording import field
from mdmem.model.writes import PurgePlan, PurgeResult, WriteResult
from mdmem.secrets import Secret
from mdmem.show import history, hits, maintenance, pipelines, reads, writes
from mdmem.show.values import to_json
from mdmem.text.render import plain

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
    @pytest.mark.parametrize(
        ("result", "op", "fact", "line"),
        [
            (RESULT, Op.REPLACE, None, "changed MEMORY.md: Memory > Work (commit 0123456789)"),
            (RESULT, Op.APPEND, None, "appended to MEMORY.md: Memory > Work (commit 0123456789)"),
            (RESULT, Op.REMEMBER, "11111111", "remembered in MEMORY.md: Memory > Work [11111111]"),
            (
                replace(
                    RESULT,
                    contradicts=(FactId("33333333"),),
                    kept=("#t", "<!-- c -->", "- beneath"),
                ),
                Op.REMEMBER,
                "11111111",
                "remembered in MEMORY.md: Memory > Work, contradicts 33333333, with #t <!-- c --> "
                "- beneath [11111111]",
            ),
            (
                replace(RESULT, kept=("x" * 99,)),
                Op.REMEMBER,
                "11111111",
                f"remembered in MEMORY.md: Memory > Work, with {'x' * 59}… [11111111]",
            ),
            (
                replace(RESULT, replaced=("drinks\nblack tea",)),
                Op.REMEMBER,
                "11111111",
                "replaced in MEMORY.md: Memory > Work, was: drinks black tea [11111111]",
            ),
            (
                replace(RESULT, section=()),
                Op.PREPEND,
                None,
                "prepended to MEMORY.md (commit 0123456789)",
            ),
            (
                replace(RESULT, changed=False, commit=None),
                Op.REPLACE,
                None,
                "unchanged: MEMORY.md: Memory > Work (etag aaaabbbbcccc)",
            ),
            (
                replace(RESULT, changed=False, commit=None, fact="11111111"),
                Op.FORGET,
                None,
                "already forgotten: MEMORY.md: Memory > Work [11111111]",
            ),
            (
                replace(RESULT, section=("a\x1bb", "c\nd")),
                Op.REPLACE,
                None,
                "changed MEMORY.md: a\ufffdb > c d (commit 0123456789)",
            ),
            (replace(RESULT, diff="-a\n+b\x1b\n"), Op.REPLACE, None, "-a\n+b\ufffd"),
            (replace(RESULT, diff="", changed=False), Op.REPLACE, None, "nothing to change"),
            (replace(RESULT, diff=""), Op.RETRACT, None, "no text changes, only a commit"),
            (
                RESULT,
                Op.SUPERSEDE,
                "11111111",
                "superseded 22222222 in MEMORY.md: Memory > Work [11111111]",
            ),
            (
                RESULT,
                Op.RETRACT,
                "22222222",
                "marked as forgotten in MEMORY.md: Memory > Work [22222222] (line kept)",
            ),
            (
                RESULT,
                Op.REVERT,
                None,
                "reverted changes in MEMORY.md: Memory > Work (commit 0123456789)",
            ),
        ],
    )
    def test_text(self, result: WriteResult, op: Op, fact: str | None, line: str):
        assert writes.write_text(replace(result, op=op), fact) == line

    def test_every_deed_has_its_word(self):
        for op in Op:
            if op is not Op.INIT:
                kept = " (line kept)" if op is Op.RETRACT else ""
                assert writes.write_text(replace(RESULT, op=op)).endswith(
                    f"MEMORY.md: Memory > Work (commit 0123456789){kept}"
                )

    def test_json(self):
        value = to_json(RESULT)
        assert value["section"] == "Memory > Work"
        assert value["supersedes"] == [{"old": "22222222", "new": "11111111"}]
        assert (value["added"], value["removed"]) == (["11111111"], ["22222222"])
        ended = to_json(replace(RESULT, ended=(FactId("33333333"),)))
        assert ended["supersedes"] == [*value["supersedes"], {"old": "33333333", "new": None}]
        assert "diff" not in value
        assert to_json(replace(RESULT, diff=""))["diff"] == ""


class TestSection:
    def test_text_for_a_program_is_the_text(self):
        assert reads.section_text(VIEW, terminal=False) == "x\r\ny\x1b"

    def test_for_a_terminal_nothing_steers_it(self):
        assert reads.section_text(VIEW, terminal=True) == "x\ny\ufffd"

    def test_json_has_all_of_the_text(self):
        value = to_json(VIEW)
        assert (value["text"], value["subsections"]) == (VIEW.text, ["A > B"])


class TestOutline:
    def test_depth_is_shown(self):
        rows = (
            OutlineRow(("A",), 1, 1, "e" * 12, 2),
            OutlineRow(("A", "B\x07"), 3, 3, "f" * 12, 5),
        )
        assert (
            reads.outline_text(Outline("a.md", rows))
            == f"A  (line 1) {'e' * 12}\n  B\ufffd  (line 3) {'f' * 12}"
        )
        assert to_json(Outline("a.md", rows))["sections"][1]["section"] == "A > B\x07"

    def test_a_title_of_two_lines_is_one(self):
        row = OutlineRow(("A", "B\nC\tD"), 2, 3, "f" * 12, 5)
        assert reads.outline_text(Outline("a.md", (row,))) == f"  B C D  (line 3) {'f' * 12}"
        assert hits.search_text(
            result_of(replace(HIT, section=row.section)), colour=False
        ).startswith("MEMORY.md:7 A > B C D [")
        assert writes.write_text(replace(RESULT, section=row.section), None).startswith(
            "changed MEMORY.md: A > B C D "
        )

    def test_without_headings(self):
        assert reads.outline_text(Outline("a.md", ())) == "a.md has no headings"


class TestSearch:
    def test_plain(self):
        other = replace(
            HIT, fact=None, uncommitted=True, text="a\tparagraph\nof two lines", section=()
        )
        assert hits.search_text(result_of(HIT, other), colour=False) == (
            "MEMORY.md:7 Memory > Work [1f3c9a2b]\n    drinks black tea\nMEMORY.md:7 (uncommitted)\n    a paragraph of two lines"
        )

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

    def test_a_long_text_is_cut_around_what_was_found(self):
        text = "word " * 500 + "needle " + "word " * 500
        line = (
            hits.search_text(result_of(replace(HIT, text=text), query="needle"), colour=False)
            .split("\n")[1]
            .strip()
        )
        assert "needle" in line
        assert line.startswith("…")
        assert line.endswith("…")
        assert len(line) <= 322
        start = (
            hits.search_text(result_of(replace(HIT, text=text), query="other"), colour=False)
            .split("\n")[1]
            .strip()
        )
        assert start.startswith("word word")

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

    def test_json(self):
        value = to_json(replace(result_of(replace(HIT, day=date(2026, 3, 5))), stale=True))
        assert (value["query"], value["as_of"], value["commit"], value["stale"]) == (
            "tea",
            None,
            COMMIT,
            True,
        )
        (hit,) = value["hits"]
        assert (hit["section"], hit["day"], hit["tags"], hit["superseded_by"]) == (
            "Memory > Work",
            "2026-03-05",
            ["a", "b"],
            None,
        )
        assert (hit["source"], hit["status"], hit["contradicts"]) == ("inferred", "current", [])


class TestExplained:
    PARTS = (
        ScorePart("text", "tea", "Tea", 1.25),
        ScorePart("around", "tea", "Tea", 0.5),
        ScorePart("heading", "Memory", "memories", 0.4),
        ScorePart("asked", "puppi", "dog", 0.25),
        ScorePart("grams", "東京", "東京", 0.1),
        ScorePart("later", "tea", "tea", 0.1),
    )
    FACTORS = (
        "file",
        "confidence",
        "contradicted",
        "speaker",
        "date",
        "asks",
        "time",
        "amount",
        "age",
        "day",
        "beside",
    )

    def lines(self, why: Explanation, **fields: Any) -> list[str]:
        return hits.search_text(
            result_of(replace(HIT, explanation=why, **fields)), colour=False
        ).splitlines()[2:]

    def test_words(self):
        assert self.lines(Explanation(self.PARTS, ())) == [
            "      score 1.50",
            '      +1.75  "Tea": 1.25 in the entry, 0.50 nearby',
            '      +0.40  "memories": 0.40 in the headings, file name or front matter as "Memory"',
            '      +0.25  "dog": 0.25 in a question before the entry by a related word',
            '      +0.10  "東京": 0.10 by characters',
            '      +0.10  "tea": 0.10 later',
        ]

    @pytest.mark.parametrize("scores", [*itertools.permutations((0.1, 0.4, 0.305))])
    def test_the_sum_of_a_word_is_rounded_alike_on_every_python(self, scores: tuple[float, ...]):
        parts = tuple(ScorePart("text", "tea", "tea", score) for score in scores)
        assert self.lines(Explanation(parts, ()))[1].startswith('      +0.81  "tea": ')

    def test_factors(self):
        assert self.lines(
            Explanation((), tuple(Factor(name, 1.5) for name in self.FACTORS)), day=date(2026, 3, 5)
        )[1:] == [
            "      x1.50  already in an agent's prompt",
            "      x1.50  confidence 0.7",
            "      x1.50  contradicts a better supported fact",
            "      x1.50  said by the person in the query",
            "      x1.50  on the date in the query",
            "      x1.50  ends in a question",
            "      x1.50  has words of time (the query asks when)",
            "      x1.50  has an amount (the query asks how many)",
            "      x1.50  by age (see the settings)",
            "      x1.50  by other entries of the same day",
            "      x1.50  beside better results, with no further word of the query",
        ]

    def test_what_an_entry_without_day_or_commit_lacks(self):
        why = Explanation((), (Factor("confidence", 0.99), Factor("day", 1.1), Factor("later", 2)))
        assert self.lines(why, confidence=None)[1:] == [
            "      x0.99  uncommitted, so written by a person",
            "      x1.10  not from a daily log",
            "      x2.00  later",
        ]

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

    def test_json(self):
        (hit,) = to_json(
            result_of(replace(HIT, explanation=Explanation(self.PARTS[:1], (Factor("day", 1.1),))))
        )["hits"]
        assert hit["explain"] == {
            "parts": [{"field": "text", "term": "tea", "said": "Tea", "score": 1.25}],
            "factors": [{"name": "day", "value": 1.1}],
        }
        assert "explain" not in to_json(HIT)


class TestFacts:
    def test_text(self):
        expired = replace(HIT, kind=None, tags=(), status=Status.EXPIRED, text="two\nlines\x1b")
        assert hits.facts_text(FactList((HIT, expired), 2)) == (
            "1f3c9a2b  [fact] drinks **black** tea #a #b  MEMORY.md:7\n1f3c9a2b  two lines\ufffd (expired)  MEMORY.md:7"
        )

    def test_json(self):
        answer = to_json(FactList((HIT,), 3, stale=True))
        (row,) = answer["facts"]
        assert (answer["total"], answer["stale"]) == (3, True)
        assert (row["id"], row["line"], row["until"], row["tags"]) == (
            "1f3c9a2b",
            7,
            "2026-12-31",
            ["a", "b"],
        )


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


def test_problem():
    problem = Problem("a.md", 3, "shrink", "error", "too\nmuch\x1b", "do this")
    assert reads.problem_text(problem) == "a.md:3: error: too\ufffdmuch\ufffd (shrink)\n    do this"
    assert reads.problem_text(replace(problem, hint="")).count("\n") == 0
    assert to_json(problem) == {
        "path": "a.md",
        "line": 3,
        "code": "shrink",
        "level": "error",
        "message": "too\nmuch\x1b",
    }


HIDDEN = "\ufffd" * len(STEERS)
FINDINGS = (
    Finding("git", Level.OK, "git version 2.40"),
    Finding("hooks", Level.WARNING, f"post-commit is {STEERS}missing", hint="one\ntwo"),
    Finding("locks", Level.WARNING, "removed", fixed=True),
    Finding("secrets", Level.ERROR, "key in a.md:1"),
)
PLAN = PurgePlan(1, 2, 3, 4, 5, 6, 0, (f"said {STEERS}",))


def test_findings():
    assert maintenance.findings_text(FINDINGS).splitlines() == [
        "ok      git: git version 2.40",
        f"warning hooks: post-commit is {HIDDEN}missing",
        "        one",
        "        two",
        "fixed   locks: removed",
        "error   secrets: key in a.md:1",
        "errors: 1, warnings: 1, notes: 0",
    ]
    assert to_json(FINDINGS[2]) == {
        **{"check": "locks", "level": "warning", "message": "removed", "fixed": True, "hint": ""},
    }


@pytest.mark.parametrize(
    ("findings", "sound"), [(FINDINGS, False), (FINDINGS[:3], True), ((), True)]
)
def test_soundness(findings: tuple[Finding, ...], sound: bool):
    assert maintenance.is_sound(findings) is sound


def test_a_purge():
    numbers = {
        "files": 1,
        "commits": 2,
        "messages": 3,
        "tags": 4,
        "refs": 5,
        "signatures": 6,
        "loose": 0,
    }
    assert (
        writes.purge_plan_text(PLAN)
        == f"to purge: 1 file, 2 commits, 3 messages, 4 tags, 5 refs\n  said {HIDDEN}"
    )
    assert "5 refs, 7 objects that nothing refers to\n" in writes.purge_plan_text(
        replace(PLAN, loose=7)
    )
    done = PurgeResult(PLAN, COMMIT, ("left",))
    assert to_json(done) == {
        "changed": True,
        "commit": COMMIT,
        "plan": numbers,
        "notices": ["left"],
    }
    assert writes.purged_text(done) == (
        f"purged the text from 1 file, 2 commits, 4 tags (commit {COMMIT[:10]})"
    )
    loose = PurgeResult(PurgePlan(0, 0, 0, 0, 0, 0, 7, ()), None, ())
    assert writes.purged_text(loose) == "purged the text"
    nothing = PurgeResult(PurgePlan(0, 0, 0, 0, 0, 0, 0, ()), COMMIT, ())
    assert (writes.purged_text(nothing), to_json(nothing)["changed"]) == (
        "nothing to purge: the text is not in this repository",
        False,
    )


def test_redacted():
    assert to_json(Secret("key", 3, 9, 2)) == {"kind": "key", "line": 2}
    assert maintenance.redacted_text("a\r\n\tb\x1b\n\n") == "a\n\tb\ufffd\n"


def test_saved():
    assert (
        writes.saved_text(COMMIT, [FilePath("a.md"), FilePath("b.md")])
        == "saved a.md, b.md (commit 0123456789)"
    )
    many = [FilePath(f"{number}.md") for number in range(300)]
    assert (
        writes.saved_text(COMMIT, many)
        == f"saved {', '.join(many[:9])}, 291 more (commit 0123456789)"
    )
    assert (
        writes.saved_text(COMMIT, many[:10]) == f"saved {', '.join(many[:10])} (commit 0123456789)"
    )
    assert writes.saved_text(None, []) == "nothing to save"


def test_status():
    status = WorkspaceStatus(
        workspace="/w",
        branch=None,
        commit=None,
        files={"evergreen": 2, "daily": 0, "profile": 1},
        paths={"*.md": 2},
        other_markdown=1,
        uncommitted=(FilePath("MEMORY.md"),),
        skipped=(("x.md", "not UTF-8"),),
        entries=3,
        indexed_commit=None,
        current=False,
        hooks={"pre-commit": "installed", "post-commit": "missing", "post-merge": "installed"},
        notes=(),
    )
    assert reads.status_text(status).splitlines() == [
        "workspace  /w",
        "branch     detached at no commit yet",
        "files      2 curated, 1 profile",
        "paths      *.md: 2 files",
        "other      1 Markdown file, not searched",
        "index      3 entries, behind (the next search updates it)",
        "hooks      installed, missing",
        "unsaved    MEMORY.md",
        "skipped    x.md: not UTF-8",
        "next       mdmem save  (commits 1 pending file as yours)",
        "next       mdmem check  (explains why files are skipped)",
        "next       mdmem hooks install  (checks what is committed)",
    ]
    assert to_json(status)["index"] == {"current": False, "entries": 3, "commit": None}
    assert to_json(status)["skipped"] == [{"path": "x.md", "reason": "not UTF-8"}]


# What memory said before.

AT = datetime.fromisoformat("2026-03-05T09:30:00+01:00")
MADE = Made(COMMIT, AT, "Ada", Source.INFERRED, 0.7, op="remember")
REVISION = RevisionView(MADE, "# A\n\nb\n", "# A\n\na\n", "a.md", ("A",))
STORY = SectionHistory("a.md", ("A",), (REVISION,))
LOGGED = replace(MADE, op="log")
LINK = FactLink(LOGGED, FactId("1f3c9a2b"), "tea", AT, None, "a.md", ("A",), Status.CURRENT)


def made(**changed: Any) -> RevisionView:
    return replace(REVISION, made=replace(MADE, **changed))


class TestHistory:
    @pytest.mark.parametrize(
        ("revision", "line"),
        [
            (REVISION, "remember"),
            (made(confidence=0.5), "remember, inferred 0.5"),
            (
                made(actor="agent/main", reason="so\nit is"),
                'remember, by agent/main, "so\ufffdit is"',
            ),
            (
                made(source=Source.USER_STATED, confidence=0.95),
                "remember, user-stated 0.95",
            ),
            (
                made(source=Source.USER_STATED, confidence=0.95, actor="a", claimed_by="a"),
                "remember, user-stated (claimed by a) 0.95, by a",
            ),
            (
                made(op=None, source=Source.USER_STATED, confidence=0.95),
                "edited by hand (author Ada)",
            ),
            (replace(REVISION, section=("A", "B\x1b")), "remember  a.md: A > B\ufffd"),
            (replace(REVISION, path="b.md", section=()), "remember  b.md"),
        ],
    )
    def test_a_line_a_revision(self, revision: RevisionView, line: str):
        story = replace(STORY, revisions=(revision,))
        assert (
            history.history_text(story, words=False, colour=False)
            == f"2026-03-05 09:30  0123456789  {line}"
        )

    def test_a_line_a_commit(self):
        paths = [("a.md", ("A", "B")), ("a.md", ("A",)), ("b.md", ())]
        revisions = tuple(replace(REVISION, path=path, section=section) for path, section in paths)
        story = replace(
            STORY,
            path="",
            section=(),
            revisions=(*revisions, made(actor="agent/main")),
        )
        lines = history.history_text(story, words=False, colour=False).splitlines()
        assert [line.partition("remember")[2] for line in lines] == [
            "  b.md (1 section), a.md (2 sections)",
            ", by agent/main  a.md: A",
        ]
        nested = history.history_text(
            replace(story, revisions=revisions[:2]), words=False, colour=False
        )
        assert nested.endswith("remember  a.md: A > B")

    def test_word_by_word_with_some_lines_around(self):
        before = "# A\n\none\ntwo\nthree\nfour\nfive\nsix\n\tseven words stand here\n"
        after = before.replace("# A", "# B").replace("stand", "stood")
        story = replace(STORY, revisions=(replace(REVISION, before=before, text=after),) * 2)
        shown = (
            history.history_text(story, words=True, colour=False)
            .split("\n\n2026")[0]
            .split("\n")[1:]
        )
        assert shown == [
            "    # [-A-]{+B+}",
            "",
            "    one",
            "    …",
            "    five",
            "    six",
            "    \tseven words [-stand-]{+stood+} here",
        ]

    def test_in_colour(self):
        shown = history.history_text(STORY, words=True, colour=True)
        assert shown == (
            "\x1b[2m2026-03-05 09:30  0123456789  remember\x1b[0m\n    # A\n\n    \x1b[31m[-a-]\x1b[0m\n    \x1b[32m{+b+}\x1b[0m"
        )

    def test_json(self):
        (row,) = to_json(STORY)["revisions"]
        assert (row["time"], row["op"], row["section"], row["diff"]) == (
            "2026-03-05T09:30:00+01:00",
            "remember",
            "A",
            "@@ -1,3 +1,3 @@\n # A\n \n-a\n+b\n",
        )

    def test_a_chain(self):
        by_hand = replace(LOGGED, op=None)
        older = replace(LINK, made=by_hand, text="two\nlines", end=AT, status=Status.SUPERSEDED)
        story = FactHistory(FactId("1f3c9a2b"), Status.CURRENT, (older, LINK))
        assert history.history_text(story, words=False, colour=False) == (
            "2026-03-05 09:30 - 2026-03-05 09:30  1f3c9a2b  two lines  (superseded)\n    0123456789  edited by hand (author Ada)  a.md: A\n"
            "2026-03-05 09:30 -                   1f3c9a2b  tea  (current)\n    0123456789  log  a.md: A"
        )
        assert [(link["from"], link["to"]) for link in to_json(story)["chain"]] == [
            (AT.isoformat(),) * 2,
            (AT.isoformat(), None),
        ]

    @given(*[st.text(st.characters(codec=None), max_size=40)] * 2)
    def test_nothing_steers_a_terminal(self, text: str, other: str):
        by_hand = replace(MADE, author=text, reason=other, op=None)
        revision = RevisionView(by_hand, other, text, text, (other,))
        link = replace(LINK, text=text, made=replace(LOGGED, reason=other))
        shown = (
            history.history_text(replace(STORY, revisions=(revision,)), words=True, colour=False),
            history.history_text(
                FactHistory(FactId("a"), Status.CURRENT, (link,) * 2), words=True, colour=False
            ),
            history.blame_text(Blame("a.md", (), (BlamedLine(1, text, by_hand),)), colour=False),
            history.presences_text(
                TextHistory(text, (PresenceView(text, (other,), by_hand, None),))
            ),
        )
        assert not set("".join(shown)) & set(STEERS + "\r")


class TestBlame:
    def test_columns(self):
        lines = (
            BlamedLine(1, "# A", replace(MADE, source=Source.AUTO)),
            BlamedLine(2, "", replace(MADE, source=Source.USER_STATED)),
            BlamedLine(3, "new", None),
        )
        assert history.blame_text(Blame("a.md", ("A",), lines), colour=False) == (
            "0123456789 2026-03-05 auto         # A\n0123456789 2026-03-05 user-stated\nuncommitted                        new"
        )


def test_labels():
    tags = (TagCount("house", 2), TagCount("a\x1bb", 1))
    assert hits.tags_text(TagCatalogue(tags)) == "house 2\na\ufffdb 1"
    assert to_json(TagCatalogue(tags))["tags"][0] == {"tag": "house", "count": 2}


def test_how_a_hit_stands():
    stands = replace(
        HIT,
        status=Status.SUPERSEDED,
        superseded_by=FactId("22222222"),
        contradicts=(FactId("3"), FactId("4")),
        uncommitted=True,
    )
    head = hits.search_text(result_of(stands), colour=False).split("\n")[0]
    assert (
        head
        == "MEMORY.md:7 Memory > Work [1f3c9a2b] (superseded by 22222222) (contradicts 3, 4) (uncommitted)"
    )


def test_contradictions():
    other = replace(
        HIT, text="no\ntea", since=AT, fact=FactId("8e0d4c11"), source=None, commit=None
    )
    view = ConflictView(HIT, other, "drink")
    assert hits.conflicts_text(ConflictList((view, replace(view, key=None)))).splitlines()[:4] == [
        "Two values for drink:",
        "    1f3c9a2b  drinks **black** tea  (uncommitted, inferred 0.7, MEMORY.md:7, 0123456789)",
        "    8e0d4c11  no tea  (2026-03-05, MEMORY.md:7)",
        "Marked as contradicting, or changed differently on two branches:",
    ]
    (row,) = to_json(ConflictList((view,)))["conflicts"]
    assert (row["key"], row["one"]["since"], row["other"]["since"]) == (
        "drink",
        None,
        AT.isoformat(),
    )


def test_a_review():
    advice = Advice(
        AdviceKind.EXPIRED,
        FilePath("a.md"),
        ("A",),
        3,
        (FactId("1f3c9a2b"),),
        "'x' held\x1b",
        ("mdmem", "forget", "an x"),
        True,
    )
    result = ReviewResult((advice,), ((advice, RESULT),))
    assert maintenance.reviewed_text(result) == (
        "done: a.md:3: expired: 'x' held\ufffd (commit 0123456789)\na.md:3: expired: 'x' "
        "held\ufffd\n    mdmem forget 'an x'  (safe)"
    )
    assert to_json(result)["applied"][0]["commit"] == COMMIT


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
        sessions=1,
        messages=1,
        size=80,
        noise=0,
        entries=(entry,),
        repeated=0,
        redacted=0,
        refused=0,
        surplus=0,
        commits=(),
        left=(LeftSession("/p/\u202e\nx.jsonl", "unknown-format"),),
    )
    lines = pipelines.digest_text(result).split("\n")
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
    assert pipelines.dream_text(
        DreamResult("dream/2026-03-04", (date(2026, 3, 4),), changes)
    ).splitlines() == [
        "dream/2026-03-04: 0 applied, 0 proposed, 3 skipped",
        "  2 skipped: it was said only once",
        "  1 skipped: it stands",
    ]
