import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.folder.layout import (
    day_of,
    is_markdown,
    is_named_by_day,
    kind_of,
    log_day,
    log_glob,
    log_path,
    matches,
    note_folders,
    note_kind,
    parse_path,
    require_no_host_file,
    require_no_mark,
    within,
)
from mdmem.model import FileKind
from mdmem.model.errors import PathProblem

EVERGREEN, DAILY, PROFILE, BOOTSTRAP, OTHER = FileKind


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-03-05.md", date(2026, 3, 5)),
        ("memory/2026-03-05-trip.md", date(2026, 3, 5)),
        ("extra/memory/2026-03-05.md", date(2026, 3, 5)),
        ("memory/2024-02-29.md", date(2024, 2, 29)),
        ("memory/2026-02-29.md", None),
        ("memory/2026-13-01.md", None),
        ("memory/0000-01-01.md", None),
        ("memory/sub/2026-03-05.md", None),
        ("xmemory/2026-03-05.md", None),
        ("2026-03-05.md", None),
        ("memory/2026-03-05-.md", None),
        ("memory/2026-03-05x.md", None),
        ("memory/2026-03-05.md.bak", None),
        ("memory/2026-3-5.md", None),
    ],
)
def test_the_day_of_a_log_is_in_its_name(path: str, day: date | None) -> None:
    assert log_day(path) == day


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-03-05-trip.md", date(2026, 3, 5)),
        ("memory/trips/2026-03-05 Porto.md", date(2026, 3, 5)),
        ("memory/trips/Porto 2026-03-05.md", None),
        ("memory/2026-03-05 Porto.md", None),
        ("memory/trips/2026-02-30.md", None),
        ("notes/Porto 2026-03-05.md", date(2026, 3, 5)),
        ("2026-03-05.md", date(2026, 3, 5)),
        ("notes/12026-03-051.md", None),
        ("notes/2026-03-05/x.md", None),
    ],
)
def test_a_date_in_a_name_gives_a_day(path: str, day: date | None) -> None:
    assert day_of(path) == day


@pytest.mark.parametrize(
    ("daily", "path", "glob"),
    [
        (
            "memory/%Y-%m-%d.md",
            "memory/2026-03-05.md",
            "memory/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md",
        ),
        (
            "log/%Y/%m/%d.md",
            "log/2026/03/05.md",
            "log/[0-9][0-9][0-9][0-9]/[0-9][0-9]/[0-9][0-9].md",
        ),
        (
            "%d.%m.%Y (day).md",
            "05.03.2026 (day).md",
            "[0-9][0-9].[0-9][0-9].[0-9][0-9][0-9][0-9] (day).md",
        ),
    ],
)
def test_names_of_daily_logs(daily: str, path: str, glob: str) -> None:
    day = date(2026, 3, 5)
    assert (log_path(day, daily), log_glob(daily)) == (path, glob)
    assert (log_day(path, daily), day_of(path, daily)) == (day, day)
    assert log_day(path.replace("03", "13"), daily) is None
    assert matches(path, (glob,))
    assert is_named_by_day(daily)
    assert kind_of(log_path(day)) is FileKind.DAILY


@pytest.mark.parametrize(
    "daily",
    [
        "log.md",
        "%Y-%m.md",
        "%Y-%m-%d",
        "%Y-%m-%d-%H.md",
        "../%Y-%m-%d.md",
        "/%Y-%m-%d.md",
        "src/%Y/%m/%d/AGENTS.md",
        "%Y/%m/%d/claude.local.md",
        "CLAUDE.md/%Y-%m-%d.md",
        ".claude/rules/%Y-%m-%d.md",
        "notes/.hidden/%Y-%m-%d.md",
        ".%Y-%m-%d.md",
        "%Y/%m/%d/MEMORY.md",
        "",
    ],
)
def test_what_names_no_daily_logs(daily: str) -> None:
    assert not is_named_by_day(daily)


@pytest.mark.parametrize(
    ("glob", "matching", "folders"),
    [
        ("*.md", ["a.md"], (("", False),)),
        ("**/*.md", ["a.md", "notes/c.md", "notes/d/e.md", "docs/az.md"], (("", True),)),
        ("notes", ["notes/c.md", "notes/d/e.md"], (("notes", True),)),
        ("./notes/", ["notes/c.md", "notes/d/e.md"], (("notes", True),)),
        ("notes/*.md", ["notes/c.md"], (("notes", False),)),
        ("notes/**", ["notes/c.md", "notes/d/e.md"], (("notes", True),)),
        ("*/[a-c]?.md", ["docs/az.md"], (("", True),)),
        ("notes/d/e.md", ["notes/d/e.md"], (("notes/d", False),)),
        (".", ["a.md", "notes/c.md", "notes/d/e.md", "docs/az.md"], (("", True),)),
        ("**/d/**/*.md", ["notes/d/e.md"], (("", True),)),
        ("n*s/**/e*.md", ["notes/d/e.md"], (("", True),)),
        ("*/[z-a].md", [], (("", True),)),
    ],
)
def test_globs(glob: str, matching: list[str], folders: tuple[tuple[str, bool], ...]) -> None:
    paths = [
        "a.md",
        "notes/c.md",
        "notes/d/e.md",
        "docs/az.md",
        ".trash/x.md",
        "notes/.hidden/y.md",
    ]
    assert [path for path in paths if matches(path, (glob,))] == matching
    assert note_folders((glob,)) == folders


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a" * 20 + "b.md", "a" * 250),
        ("**/a/" * 20 + "b.md", "a/" * 500),
        ("**a" * 20 + "b.md", "a" * 1000),
        ("**/" + "*a" * 20 + "b.md", "/".join(["a" * 200] * 5)),
    ],
)
def test_no_glob_takes_long(glob: str, path: str) -> None:
    start = time.process_time()
    assert not matches(path, (glob,))
    assert time.process_time() - start < 0.1


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.md", FileKind.EVERGREEN),
        ("docs/2026-03-05.md", FileKind.EVERGREEN),
        ("docs/AGENTS.md", FileKind.BOOTSTRAP),
        ("docs/user.md", FileKind.PROFILE),
        ("a.txt", FileKind.OTHER),
        (".a/b.md", FileKind.OTHER),
    ],
)
def test_a_note_is_evergreen_unless_its_name_has_a_kind(path: str, kind: FileKind) -> None:
    assert note_kind(path, ("**/*.md",)) is kind


@given(st.dates())
def test_a_day_finds_its_log(day: date) -> None:
    assert day_of(log_path(day)) == day
    assert kind_of(log_path(day)) is DAILY
    assert parse_path(log_path(day)) == log_path(day)


@pytest.mark.parametrize(
    ("path", "workspace", "kind"),
    [
        ("MEMORY.md", "", EVERGREEN),
        ("memory.md", "", EVERGREEN),
        ("Memory.md", "", OTHER),
        ("memory/a.md", "", EVERGREEN),
        ("memory/a/b.MD", "", EVERGREEN),
        ("memory/2026-03-05.md", "", DAILY),
        ("memory/2026-02-30.md", "", EVERGREEN),
        ("memory/MEMORY.md", "", EVERGREEN),
        ("memory/USER.md", "", EVERGREEN),
        ("User.md", "", PROFILE),
        ("soul.MD", "", PROFILE),
        ("IDENTITY.md", "", PROFILE),
        ("AGENTS.md", "", BOOTSTRAP),
        ("CLAUDE.md", "", BOOTSTRAP),
        ("agents.md", "", OTHER),
        ("README.md", "", OTHER),
        ("README.md", "memory", EVERGREEN),
        ("sub/README.md", "memory", OTHER),
        ("AGENTS.md", "memory", BOOTSTRAP),
        ("docs/a.md", "", OTHER),
        ("notes/a.md", "", EVERGREEN),
        ("notes/memory/2026-03-05.md", "", DAILY),
        ("notesx/a.md", "", OTHER),
        ("one.md", "", EVERGREEN),
        ("memory/a.txt", "", OTHER),
        ("", "", OTHER),
    ],
)
def test_kinds(path: str, workspace: str, kind: FileKind) -> None:
    assert kind_of(path, workspace, ("notes/", "one.md")) is kind
    assert kind.is_memory is (kind is not OTHER)


@pytest.mark.parametrize(
    ("path", "folders", "inside"),
    [
        ("a/b.md", ["a"], True),
        ("a", ["a/"], False),
        ("ab/c.md", ["a"], False),
        ("a/b.md", ["."], True),
        ("a.md", ["a.md"], True),
        ("a.md", [], False),
    ],
)
def test_within(path: str, folders: list[str], inside: bool) -> None:
    assert within(path, folders) is inside


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("MEMORY.md", "MEMORY.md"),
        ("./a//b.md", "a/b.md"),
        ("a/./b.MD", "a/b.MD"),
        ("ä/日本.md", "ä/日本.md"),
        (".gitx/a.md", ".gitx/a.md"),
    ],
)
def test_paths(text: str, path: str) -> None:
    assert parse_path(text) == path
    assert is_markdown(path)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "a", "a.txt", "/etc/x.md", "../x.md", "a/../../x.md", "a/..", "C:/x.md", "c:x.md", "a\\b.md", "a\0.md", "a\n.md", "a\x1b.md",
        "a\u2028.md", "\udcff.md", "x" * 1100 + ".md", ".git/x.md", "a/.git/x.md", ".GIT/x.md", "git~1/x.md", "GIT~2/x.md", ".git./x.md",
        ".git /x.md", ".git::$INDEX_ALLOCATION/x.md", ".g\u200cit/x.md", ".git\ufeff/x.md", ".md/..",
    ],
)  # fmt: skip
def test_paths_that_are_refused(text: str) -> None:
    with pytest.raises(PathProblem) as caught:
        parse_path(text)
    assert caught.value.code == "bad-path"
    assert caught.value.hint


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".mcp.json",
            ".envrc",
            ".cursorrules",
            ".windsurfrules",
            ".claude/settings.json",
            "people/.hidden.md",
            ".github/x.md",
        ),
        *(
            "CLAUDE.md",
            "people/claude.MD",
            "AGENTS.md",
            "memory/Gemini.md",
            "memory/AGENTS.md/x.md",
            "TOOLS.md",
            "Heartbeat.md",
        ),
        *(
            "CLAUDE.md.",
            "CLAUDE.md ",
            "CLAUDE.md:stream",
            "C\u200cLAUDE.md",
            "\ufeff.envrc",
            "...",
            "CLAUDE.local.md",
        ),
        *(
            "lefthook.yml",
            "mise.toml",
            "opencode.json",
            "skills/deploy/SKILL.md",
            "copilot-instructions.md",
            "AGENT.md",
        ),
    ],
)
def test_files_that_hosts_read_are_not_for_agents_tools(path: str) -> None:
    with pytest.raises(PathProblem) as caught:
        require_no_host_file(path)
    assert caught.value.code == "bad-path"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "MEMORY.md",
            "USER.md",
            "memory/jana.md",
            "memory/2026-03-05.md",
            "memory/a: b.md",
            "memory/tools.md",
            "memory/x.txt",
        ),
        *(
            "memory/claude.md.md",
            "memory/on claude.md",
            "memory/claude.txt",
            "memory/v1.2/a.b.md",
            "Makefile",
        ),
    ],
)
def test_ordinary_names_are(path: str) -> None:
    require_no_host_file(path)
    require_no_mark(path)


@pytest.mark.parametrize(
    "path", ["a/MEMORY.md", "a/b/memory.md", "memory/Memory.MD", "a/mdmem.toml", "a/MEMORY.md."]
)
def test_a_mark_below_the_workspace_is_refused(path: str) -> None:
    with pytest.raises(PathProblem) as caught:
        require_no_mark(path)
    assert path.rpartition("/")[0] in caught.value.message
