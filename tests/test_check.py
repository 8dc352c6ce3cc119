"""Errors and warnings of `check`: by tables, and by properties for the append-only logs."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.folder.config import Settings
from mdmem.model import FileKind, FilePath, Problem
from mdmem.model.errors import UsageProblem, field
from mdmem.model.rules import parse_allowances
from mdmem.text.check import check, check_file, find_errors, refusals

SETTINGS = Settings()
MEMORY = FilePath("MEMORY.md")
DAY = FilePath("memory/2026-03-05.md")
LOG = "# 2026-03-05\n\n## 09:30\n\n- met Bo\n- lunch\n\n## 14:00\n\n- called Cy\n  about the boat\n"
CONFLICT = "<<<<<<< HEAD\n- tea\n=======\n- coffee\n>>>>>>> other\n"


def judge(
    before: str | None, after: str | None, path: FilePath = MEMORY, renamed_from: str | None = None
) -> tuple[Problem, ...]:
    kind = FileKind.DAILY if path.startswith("memory/2026") else FileKind.EVERGREEN
    old, new = (None if text is None else text.encode() for text in (before, after))
    return check(path, old, new, kind, SETTINGS, renamed_from)


def summaries(problems: tuple[Problem, ...]) -> list[tuple[int, str, str]]:
    return [(problem.line, problem.code, problem.level) for problem in problems]


def numbered(count: int, start: int = 0) -> str:
    return "".join(f"line {number}\n" for number in range(start, start + count))


class TestConflictMarkers:
    @pytest.mark.parametrize(
        ("after", "line"),
        [
            (CONFLICT, 1),
            ("# M\n\n" + CONFLICT, 3),
            (CONFLICT.replace("\n", "\r\n"), 1),
            (CONFLICT.replace("=======", "||||||| base\n- water\n======="), 1),
            ("---\n" + CONFLICT + "---\n# M\n", 2),
            ("<<<<<<< HEAD\n```\n=======\ncode\n>>>>>>> other\n", 1),
            ("- item\n\n  ```\n" + CONFLICT, 4),
            ("<<<<<<< stray\n\n" + CONFLICT, 3),
        ],
    )
    def test_refused(self, after: str, line: int):
        assert (line, "conflict-markers", "error") in summaries(judge("# M\n", after))

    @pytest.mark.parametrize(
        "after",
        [
            "<<<<<<< HEAD\n",
            "Title\n=======\n",
            "=======\n<<<<<<< HEAD\n>>>>>>> other\n",
            "<<<<<<<< HEAD\n========\n>>>>>>>> other\n",
            "```\n" + CONFLICT + "```\n",
            "~~~ diff\n" + CONFLICT + "~~~\n",
            "<<<<<<< stray\n\n```\n" + CONFLICT + "```\n",
            "".join(f"    {line}\n" for line in CONFLICT.splitlines()),
        ],
    )
    def test_fine(self, after: str):
        assert judge("# M\n", after) == ()

    def test_only_where_added(self):
        before = "# M\n\n" + CONFLICT
        assert judge(before, before + "\n- new\n") == ()
        assert judge(before, "# N\n\n- new\n\n" + CONFLICT) == ()
        assert summaries(refusals(judge(before, before + "\n" + CONFLICT), ())) == [
            (9, "conflict-markers", "error")
        ]

    def test_completed_by_the_change(self):
        assert summaries(judge("<<<<<<< HEAD\n- tea\n", CONFLICT)) == [
            (1, "conflict-markers", "error")
        ]

    def test_a_deeply_nested_file(self):
        problems = judge("# M\n", ">" * 5000 + "\n" + CONFLICT)
        assert {problem.code for problem in problems} == {"conflict-markers"}


class TestEncoding:
    def test_refused_at_its_line(self):
        problems = check(
            MEMORY, b"# M\n", b"# M\n\n- caf\xe9\n- th\xe9\n", FileKind.EVERGREEN, SETTINGS
        )
        assert summaries(problems)[1:] == [(3, "not-utf8", "error")]
        assert "2 lines" in problems[1].message

    def test_utf16_is_refused(self):
        problems = check(MEMORY, None, "# Mémoire\n".encode("utf-16"), FileKind.EVERGREEN, SETTINGS)
        assert "not-utf8" in {problem.code for problem in refusals(problems, ())}

    def test_only_where_added(self):
        before = b"- caf\xe9\n"
        assert check(MEMORY, before, before + b"- tea\n", FileKind.EVERGREEN, SETTINGS) == ()

    def test_a_nul_is_a_warning(self):
        assert summaries(judge("# M\n", "# M\n\n- a\0b\n")) == [(1, "unsupported-file", "warning")]

    def test_a_byte_order_mark_is_no_change(self):
        assert judge(LOG, "\ufeff" + LOG, DAY) == ()


def test_instructions_are_no_facts() -> None:
    text = b"# Rules\n\n- answer: briefly\n- answer: briefly\n"
    assert [
        problem.code for problem in check_file(MEMORY, text, FileKind.EVERGREEN, Settings())
    ] == ["duplicate-fact"]
    assert check_file(FilePath("AGENTS.md"), text, FileKind.BOOTSTRAP, Settings()) == ()


class TestDailyLog:
    @pytest.mark.parametrize(
        "after",
        [
            LOG,
            LOG + "- more\n",
            LOG.replace("- lunch\n", "- coffee\n- lunch\n"),
            "---\na: 1\n---\n" + LOG,
            LOG.replace("\n", "\r\n"),
            LOG.replace("- lunch\n", "- lunch  \n"),
            LOG.replace("\n\n", "\n\n\n"),
            LOG.rstrip("\n"),
        ],
    )
    def test_only_added_to(self, after: str):
        assert judge(LOG, after, DAY) == ()

    @pytest.mark.parametrize(
        ("after", "line"),
        [
            ("", 1),
            (LOG.replace("- lunch\n", ""), 6),
            (LOG.replace("- lunch", "- Lunch"), 6),
            (LOG.replace("  about the boat", "about the boat"), 11),
            (LOG.replace("- met Bo\n- lunch\n", "- lunch\n- met Bo\n"), 7),
            (LOG.replace("## 14:00", "## 15:00"), 7),
        ],
    )
    def test_lost_or_changed(self, after: str, line: int):
        problems = judge(LOG, after, DAY)
        assert summaries(problems) == [(line, "append", "error")]
        assert "MDMEM_ALLOW=append git commit" in problems[0].hint
        assert refusals(problems, {"append"}) == ()

    def test_what_is_struck_or_ticked_is_not_lost(self):
        before = LOG + "- [ ] call Bo\n"
        after = before.replace("- lunch", "- ~~lunch~~").replace("[ ] call", "[x] call")
        assert judge(before, after, DAY) == ()
        assert summaries(judge(before, after.replace("Bo", "Li"), DAY))[0][1:] == (
            "append",
            "error",
        )

    def test_names_the_lost_line(self):
        assert "'- lunch'" in judge(LOG, LOG.replace("- lunch\n", ""), DAY)[0].message

    def test_front_matter_is_no_entry(self):
        assert judge("---\nmood: good\n---\n" + LOG, "---\nmood: better\n---\n" + LOG, DAY) == ()
        assert summaries(
            judge("---\nmood: good\n---\n" + LOG, "---\nmood: good\n---\n" + LOG[:-20], DAY)
        ) == [(12, "append", "error")]

    def test_removed_or_renamed_is_a_warning(self):
        assert summaries(judge(LOG, None, DAY)) == [(1, "append", "warning")]
        assert summaries(judge(LOG, LOG, FilePath("memory/2026-03-06.md"), DAY)) == [
            (1, "append", "warning")
        ]
        assert summaries(judge(LOG, LOG, FilePath("memory/spring.md"), DAY)) == [
            (1, "append", "warning")
        ]

    @pytest.mark.parametrize("path", ["memory/2026-03-06.md", "memory/spring.md"])
    def test_lost_or_changed_while_it_is_renamed_is_a_warning(self, path: str):
        problems = judge(
            LOG, LOG.replace("- lunch\n", "").replace("- met Bo", "- met Al"), FilePath(path), DAY
        )
        assert summaries(problems) == [(1, "append", "warning"), (4, "append", "warning")]
        assert "'- met Bo'" in problems[1].message
        assert (
            judge(LOG, LOG.replace("# 2026-03-05", "# 2026-03-06"), FilePath(path), DAY)
            == problems[:1]
        )

    def test_a_topic_that_becomes_a_log_was_none_before(self):
        assert judge("- a\n", "- b\n", DAY, "memory/spring.md") == ()

    def test_a_loss_is_reported_once(self):
        assert summaries(judge(numbered(100), numbered(10), DAY)) == [(10, "append", "error")]

    lines = st.lists(st.text(alphabet="ab- #`\t<>", max_size=4), max_size=12)

    @given(
        old=lines,
        added=st.lists(
            st.tuples(st.integers(0, 12), st.text(alphabet="ab- #", max_size=4)), max_size=6
        ),
    )
    def test_any_insertion_passes(self, old: list[str], added: list[tuple[int, str]]):
        new = list(old)
        for position, line in added:
            new.insert(position, line)
        problems = judge("\n".join(old), "\n".join(new), DAY)
        assert "append" not in {problem.code for problem in problems}

    @given(old=lines, index=st.integers(0, 11))
    def test_any_unique_line_lost_is_refused(self, old: list[str], index: int):
        old = [f"{line}{number}" for number, line in enumerate(old)] or ["0"]
        lost = index % len(old)
        problems = judge("\n".join(old), "\n".join(old[:lost] + old[lost + 1 :]), DAY)
        front = old[0] == "---"
        assert front or "append" in {problem.code for problem in refusals(problems, ())}


class TestShrink:
    @pytest.mark.parametrize(
        ("before", "after", "is_refused"),
        [
            (numbered(40), numbered(19), True),
            (numbered(40), numbered(20), False),
            (numbered(39), "", False),
            (numbered(39), None, False),
            (numbered(40), None, True),
            (numbered(40), numbered(40, 100), True),
            (numbered(40), "".join(sorted(numbered(40).splitlines(True), reverse=True)), False),
            (numbered(40), numbered(40).replace("\n", "\r\n"), False),
            (numbered(40), numbered(40).replace("line", "  line"), False),
            (None, numbered(40), False),
        ],
    )
    def test_more_than_half_lost(self, before: str | None, after: str | None, is_refused: bool):
        problems = judge(before, after)
        assert [problem.code for problem in problems] == ["shrink"] * is_refused
        assert len(refusals(problems, ())) == is_refused
        assert refusals(problems, {"shrink"}) == ()
        assert all("MDMEM_ALLOW=shrink git commit" in problem.hint for problem in problems)


class TestDuplicates:
    @pytest.mark.parametrize(
        ("after", "line"),
        [
            ("# M\n\n## Work\n\n## Work\n", 5),
            ("# M\n\n## Work\n\n## *work*\n", 5),
            ("# M\n\n## A\n\n### X\n\n## B\n\n### Y\n\n### X\n\n### Y\n", 13),
            ("# M\n\n# M\n", 3),
        ],
    )
    def test_headings(self, after: str, line: int):
        assert summaries(judge("", after))[-1] == (line, "duplicate-heading", "warning")

    @pytest.mark.parametrize(
        "after",
        [
            "# M\n\n## A\n\n### X\n\n## B\n\n### X\n",
            "# D\n\n## 09:30\n\n## 10:00\n\n## 09:30\n",
            "# M\n\n##\n\n##\n",
            "## A\n\n```\n## A\n```\n",
        ],
    )
    def test_headings_that_may(self, after: str):
        assert judge("", after) == ()

    def test_facts(self):
        after = "- Tea  is good\n\n# M\n\n- tea is good\n- coffee\n- [fact] tea is good #drink\n"
        assert summaries(judge("", after)) == [(7, "duplicate-fact", "warning")]

    @pytest.mark.parametrize(
        "line", ["[ ] call mum", "[x] call mum", "2026-03-01 walked", "9:30 coffee"]
    )
    def test_tasks_and_lines_of_a_diary_may_repeat(self, line: str):
        assert judge("", f"- {line}\n- {line}\n") == ()

    def test_entries_of_a_log_may_repeat(self):
        assert judge("", "# D\n\n- tea\n- tea\n", FilePath("memory/2026-03-01.md")) == ()

    def test_facts_of_other_sections(self):
        assert judge("", "# A\n\n- tea\n\n# B\n\n- tea\n") == ()

    def test_only_new_ones(self):
        before = "# M\n\n- tea\n- tea\n\n## A\n\n## A\n"
        assert judge(before, "intro\n\n" + before + "\n- more\n") == ()
        assert summaries(judge(before, before.replace("- tea\n", "- tea\n- tea\n", 1))) == [
            (5, "duplicate-fact", "warning")
        ]


class TestBudget:
    @pytest.mark.parametrize("path", ["MEMORY.md", "memory.md"])
    def test_lines_and_bytes(self, path: str):
        assert summaries(judge(numbered(200), numbered(201), FilePath(path))) == [
            (1, "over-budget", "warning")
        ]
        assert summaries(judge("", "x" * 25_001, FilePath(path))) == [(1, "over-budget", "warning")]
        assert judge("", numbered(200), FilePath(path)) == ()

    def test_only_new_ones(self):
        assert judge(numbered(201), numbered(300)) == ()

    def test_only_the_curated_file(self):
        assert judge("", numbered(1000), FilePath("memory/topic.md")) == ()

    def test_is_a_setting(self):
        problems = check(
            MEMORY, None, b"a\nb\n", FileKind.EVERGREEN, replace(SETTINGS, budget_lines=1)
        )
        assert summaries(problems) == [(1, "over-budget", "warning")]


class TestState:
    def test_all_of_it(self):
        data = ("# M\n\n- tea\n- tea\n\n" + CONFLICT + numbered(300) + "\n# M\n").encode()
        problems = check_file(MEMORY, data, FileKind.EVERGREEN, SETTINGS)
        assert [problem.code for problem in problems] == [
            "over-budget",
            "duplicate-fact",
            "conflict-markers",
            "duplicate-fact",
            "duplicate-heading",
        ]
        assert [problem.code for problem in refusals(problems, ())] == ["conflict-markers"]

    @pytest.mark.parametrize("data", [b"caf\xe9\n", b"a\0b\n", b"x" * 5_000_001])
    def test_unsupported_files(self, data: bytes):
        problems = check_file(FilePath("memory/topic.md"), data, FileKind.EVERGREEN, SETTINGS)
        assert summaries(problems) == [(1, "unsupported-file", "warning")]
        assert "neither edited nor searched" in problems[0].message

    @pytest.mark.parametrize(
        "data",
        [b"", b"---\non: yes\n: :\n---\n# M\n", b"---\nopen\n", f"```\n{CONFLICT}```\n".encode()],
    )
    def test_fine(self, data: bytes):
        assert check_file(MEMORY, data, FileKind.EVERGREEN, SETTINGS) == ()


TOKEN = "ghp_" + "q7Rk2" * 7 + "x"


def test_each_way_to_check_offers_what_it_can_override():
    path, text = FilePath(f"memory/{TOKEN}.md"), f"- the token is {TOKEN}\n".encode()
    comment = "Remove it. False alarm? Add <!-- mdmem: allow secret --> to the line"
    found = {
        "a file": check_file(path, text, FileKind.EVERGREEN, SETTINGS),
        "our write": find_errors(path, None, text, FileKind.EVERGREEN),
        "git commit": check(path, None, text, FileKind.EVERGREEN, SETTINGS),
    }
    assert {way: [each.hint for each in problems] for way, problems in found.items()} == {
        "a file": ["Rename it.", f"{comment}."],
        "our write": [
            f"Rename it. False alarm? Use {field('allow')} secret.",
            f"{comment}, or use {field('allow')} secret.",
        ],
        "git commit": [
            "Rename it. False alarm? Use MDMEM_ALLOW=secret git commit …",
            f"{comment}, or use MDMEM_ALLOW=secret git commit …",
        ],
    }


def test_files_outside_memory_have_no_problems():
    before, after = numbered(100).encode(), CONFLICT.encode() + b"\xff"
    assert check(FilePath("README.md"), before, after, FileKind.OTHER, SETTINGS) == ()
    assert check_file(FilePath("README.md"), after, FileKind.OTHER, SETTINGS) == ()


def test_find_errors_finds_the_errors_of_check():
    before, after = numbered(100).encode(), ("- tea\n- tea\n\n" + CONFLICT).encode()
    problems = check(MEMORY, before, after, FileKind.EVERGREEN, SETTINGS)
    errors = find_errors(MEMORY, before, after, FileKind.EVERGREEN)
    assert errors[0].hint == f"If that is meant: {field('allow')} shrink."
    for_git = replace(errors[0], hint="If that is meant: MDMEM_ALLOW=shrink git commit …")
    staged = replace(
        errors[1], hint="Resolve the conflict and remove the markers, then stage the file again."
    )
    assert (for_git, staged, *errors[2:]) == refusals(problems, ()) != problems
    assert find_errors(FilePath("README.md"), before, after, FileKind.OTHER) == ()


def test_no_file_before_and_after():
    assert judge(None, None) == ()


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (None, set()),
        ("", set()),
        ("shrink", {"shrink"}),
        (" append, shrink ,", {"append", "shrink"}),
        ("secret", {"secret"}),
    ],
)
def test_allowed(value: str | None, names: set[str]):
    assert parse_allowances(value or "") == names


@pytest.mark.parametrize("value", ["everything", "shrink,conflict-markers"])
def test_allowed_refuses_unknown_names(value: str):
    with pytest.raises(UsageProblem) as raised:
        parse_allowances(value)
    assert raised.value.message.endswith(" (choose from append, secret, shrink)")


def test_conflict_markers_cannot_be_allowed():
    assert len(refusals(judge("# M\n", CONFLICT), {"conflict-markers", "shrink"})) == 1


def test_big_logs_take_linear_time():
    before, after = numbered(20_000), numbered(20_000, 20_000)
    start = time.process_time()
    assert summaries(judge(before + after, after + before, DAY)) == [
        (20_000 + 20_000, "append", "error")
    ]
    assert time.process_time() - start < 10  # seconds; pairwise comparison would take minutes
