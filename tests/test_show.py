"""Results as text and as JSON: exact lines for values made by hand."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem import show
from mdmem.doctor import Finding, Level
from mdmem.model import (
    CommitId,
    FactId,
    FilePath,
    Hit,
    Op,
    Outline,
    OutlineRow,
    Problem,
    SearchResult,
    SectionView,
    Source,
    Status,
    Superseded,
    WorkspaceStatus,
    WriteResult,
)
from mdmem.purge import Purged, PurgePlan
from mdmem.secrets import Secret

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
    (Superseded(FactId("22222222"), FactId("11111111")),),
)
VIEW = SectionView("a.md", ("A",), 1, "\nx\r\ny\x1b\r\n\r\n", "e" * 12, "f" * 12, 1, 4, COMMIT, False, (("A", "B"),))
STEERS = "\x1b\x9b\x07\x7f\u202e\u2066\u2028"


def found(*hits: Hit, query: str = "tea") -> SearchResult:
    return SearchResult(query, COMMIT, False, hits)


class TestWrite:
    @pytest.mark.parametrize(
        ("result", "op", "fact", "line"),
        [
            (RESULT, Op.REPLACE, None, "changed MEMORY.md: Memory > Work 0123456789"),
            (RESULT, Op.APPEND, None, "appended to MEMORY.md: Memory > Work 0123456789"),
            (RESULT, Op.REMEMBER, "11111111", "remembered in MEMORY.md: Memory > Work 11111111"),
            (replace(RESULT, section=()), Op.PREPEND, None, "prepended to MEMORY.md 0123456789"),
            (replace(RESULT, changed=False, commit=None), Op.REPLACE, None, "unchanged: MEMORY.md: Memory > Work aaaabbbbcccc"),
            (replace(RESULT, section=("a\x1bb", "c\nd")), Op.REPLACE, None, "changed MEMORY.md: a\ufffdb > c\ufffdd 0123456789"),
            (replace(RESULT, diff="-a\n+b\x1b\n"), Op.REPLACE, None, "-a\n+b\ufffd"),
            (replace(RESULT, diff=""), Op.REPLACE, None, "nothing to change"),
        ],
    )
    def test_text(self, result: WriteResult, op: Op, fact: str | None, line: str):
        assert show.write_text(result, op, fact) == line

    def test_json(self):
        value = show.write_json(RESULT)
        assert value["section"] == "Memory > Work"
        assert value["supersedes"] == [{"old": "22222222", "new": "11111111"}]
        assert (value["added"], value["removed"]) == (["11111111"], ["22222222"])
        assert "diff" not in value
        assert show.write_json(replace(RESULT, diff=""))["diff"] == ""


class TestSection:
    def test_text_for_a_program_is_the_text(self):
        assert show.section_text(VIEW, terminal=False) == "x\r\ny\x1b"

    def test_for_a_terminal_nothing_steers_it(self):
        assert show.section_text(VIEW, terminal=True) == "x\ny\ufffd"

    def test_json_has_all_of_the_text(self):
        value = show.section_json(VIEW)
        assert (value["text"], value["subsections"]) == (VIEW.text, ["A > B"])


class TestOutline:
    def test_depth_is_shown(self):
        rows = (OutlineRow(("A",), 1, 1, "e" * 12, 2), OutlineRow(("A", "B\x07"), 3, 3, "f" * 12, 5))
        assert show.outline_text(Outline("a.md", rows)) == f"A  (line 1) {'e' * 12}\n  B\ufffd  (line 3) {'f' * 12}"
        assert show.outline_json(Outline("a.md", rows))["sections"][1]["section"] == "A > B\x07"

    def test_without_headings(self):
        assert show.outline_text(Outline("a.md", ())) == "a.md has no headings"


class TestSearch:
    def test_plain(self):
        other = replace(HIT, fact=None, uncommitted=True, text="a\tparagraph\nof two lines", section=())
        assert show.search_text(found(HIT, other), colour=False) == (
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
        line = show.search_text(found(replace(HIT, text=text), query=query), colour=True).split("\n")[1]
        assert line.strip() == shown.replace("{", "\x1b[1m").replace("}", "\x1b[0m")

    def test_a_long_text_is_cut_around_what_was_found(self):
        text = "word " * 500 + "needle " + "word " * 500
        line = show.search_text(found(replace(HIT, text=text), query="needle"), colour=False).split("\n")[1].strip()
        assert "needle" in line
        assert line.startswith("…")
        assert line.endswith("…")
        assert len(line) <= 322
        start = show.search_text(found(replace(HIT, text=text), query="other"), colour=False).split("\n")[1].strip()
        assert start.startswith("word word")

    def test_what_has_no_words_is_shown_as_it_stands(self):
        assert show.search_text(found(replace(HIT, text="[ref]: https://x.org")), colour=False).endswith("    [ref]: https://x.org")

    @given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None), max_size=20))
    def test_two_lines_a_hit_that_steer_nothing(self, text: str, query: str):
        shown = show.search_text(found(replace(HIT, text=text, section=(text,)), query=query), colour=False)
        assert len(shown.split("\n")) == 2
        assert not set(shown) & set(STEERS + "\r\t")

    def test_json(self):
        value = show.search_json(replace(found(replace(HIT, day=date(2026, 3, 5))), stale=True))
        assert (value["query"], value["as_of"], value["commit"], value["stale"]) == ("tea", None, COMMIT, True)
        (hit,) = value["hits"]
        assert (hit["section"], hit["day"], hit["tags"], hit["superseded_by"]) == ("Memory > Work", "2026-03-05", ["a", "b"], None)
        assert (hit["source"], hit["status"], hit["contradicts"]) == ("inferred", "current", [])


class TestFacts:
    def test_text(self):
        expired = replace(HIT, kind=None, tags=(), status=Status.EXPIRED, text="two\nlines\x1b")
        assert show.facts_text((HIT, expired)) == (
            "1f3c9a2b  [fact] drinks **black** tea #a #b  MEMORY.md:7\n1f3c9a2b  two lines\ufffd (expired)  MEMORY.md:7"
        )

    def test_json(self):
        (row,) = show.facts_json([HIT])["facts"]
        assert (row["id"], row["line"], row["until"], row["tags"]) == ("1f3c9a2b", 7, "2026-12-31", ["a", "b"])


def test_problem():
    problem = Problem("a.md", 3, "shrink", "error", "too\nmuch\x1b", "do this")
    assert show.problem_text(problem) == "a.md:3: error: too\ufffdmuch\ufffd (shrink)\n    do this"
    assert show.problem_text(replace(problem, hint="")).count("\n") == 0
    assert show.problems_json([problem]) == {
        "problems": [{"path": "a.md", "line": 3, "code": "shrink", "level": "error", "message": "too\nmuch\x1b"}]
    }


HIDDEN = "\ufffd" * len(STEERS)
FINDINGS = (
    Finding("git", Level.OK, "git version 2.40"),
    Finding("hooks", Level.WARNING, f"post-commit is {STEERS}missing", hint="one\ntwo"),
    Finding("locks", Level.WARNING, "removed", fixed=True),
    Finding("secrets", Level.ERROR, "key in a.md:1"),
)
PLAN = PurgePlan(1, 2, 3, 4, 5, 6, (f"said {STEERS}",))


def test_findings():
    assert show.findings_text(FINDINGS).splitlines() == [
        "ok      git: git version 2.40",
        f"warning hooks: post-commit is {HIDDEN}missing",
        "        one",
        "        two",
        "fixed   locks: removed",
        "error   secrets: key in a.md:1",
        "errors: 1, warnings: 1, notes: 0",
    ]
    assert show.findings_json(FINDINGS)["findings"][2] == {
        **{"check": "locks", "level": "warning", "message": "removed", "fixed": True, "hint": ""},
    }


@pytest.mark.parametrize(("found", "sound"), [(FINDINGS, False), (FINDINGS[:3], True), ((), True)])
def test_soundness(found: tuple[Finding, ...], sound: bool):
    assert show.findings_json(found)["sound"] is sound


def test_a_purge():
    numbers = {"files": 1, "commits": 2, "messages": 3, "tags": 4, "refs": 5, "signatures": 6}
    assert show.plan_json(PLAN) == {"changed": False, "commit": None, "plan": numbers, "notices": list(PLAN.notices)}
    assert show.plan_text(PLAN) == f"to purge: 1 files, 2 commits, 3 messages, 4 tags, 5 refs\n  said {HIDDEN}"
    done = Purged(PLAN, COMMIT, ("left",))
    assert show.purged_json(done) == {"changed": True, "commit": COMMIT, "plan": numbers, "notices": ["left"]}
    assert show.purged_text(done) == f"purged {COMMIT[:10]}"
    assert show.purged_text(replace(done, commit=None)) == "purged"
    nothing = Purged(PurgePlan(0, 0, 0, 0, 0, 0, ()), COMMIT, ())
    assert (show.purged_text(nothing), show.purged_json(nothing)["changed"]) == (f"nothing is left to purge {COMMIT[:10]}", False)


def test_redacted():
    assert show.redacted_json("a", [Secret("key", 3, 9, 2)]) == {"text": "a", "secrets": [{"kind": "key", "line": 2}]}
    assert show.redacted_text("a\r\n\tb\x1b\n\n") == "a\n\tb\ufffd\n"


def test_saved():
    assert show.saved_text(COMMIT, [FilePath("a.md"), FilePath("b.md")]) == "saved a.md, b.md 0123456789"
    assert show.saved_text(None, []) == "nothing to save"


def test_status():
    status = WorkspaceStatus(
        workspace="/w",
        branch=None,
        commit=None,
        files={"evergreen": 2, "daily": 0, "profile": 1},
        uncommitted=(FilePath("MEMORY.md"),),
        skipped=(("x.md", "not UTF-8"),),
        entries=3,
        indexed_commit=None,
        current=False,
        hooks={"pre-commit": "installed", "post-commit": "missing", "post-merge": "installed"},
        notes=(),
    )
    assert show.status_text(status).splitlines() == [
        "workspace  /w",
        "branch     detached at no commit yet",
        "files      2 evergreen, 1 profile",
        "index      3 entries, behind (the next search catches up)",
        "hooks      installed, missing",
        "uncommitted  MEMORY.md",
        "skipped    x.md: not UTF-8",
    ]
    assert show.status_json(status)["index"] == {"current": False, "entries": 3, "commit": None}
    assert show.status_json(status)["skipped"] == [{"path": "x.md", "reason": "not UTF-8"}]
