"""The commands that read, as a user meets them."""

import re

from commandline import FACT, FILES, HIT, LOG, Shell

from mdmem.folder import files

SHOWN = [
    "path",
    "section",
    "level",
    "text",
    "etag",
    "tree_etag",
    "start_line",
    "end_line",
    "commit",
    "uncommitted",
    "subsections",
]


class TestReads:
    def test_show(self, shell: Shell):
        assert shell.run("show", "Employer").out == "- works at Stripe\n"
        assert shell.run("show", "memory/rooms.md", "Rooms").out == "- likes dark rooms\n"
        assert shell.run("show", "Rooms", "memory/rooms.md").out == "- likes dark rooms\n"
        assert shell.run("show", "memory/rooms.md").out == FILES["memory/rooms.md"]
        assert shell.run("show", "Twice", "--nth", "2").out == "- two\n"
        answer = shell.run("show", "Work", "--json").answer
        assert list(answer) == SHOWN
        assert (answer["section"], answer["level"], answer["subsections"]) == (
            "Memory > Work",
            2,
            ["Memory > Work > Employer"],
        )
        assert answer["commit"] == shell.git("rev-parse", "HEAD").strip()
        assert not answer["uncommitted"]
        assert shell.run("show", "By hand", "--json").answer["uncommitted"]

    def test_outline(self, shell: Shell):
        lines = shell.run("outline", "MEMORY.md").out.splitlines()
        assert re.fullmatch(r"Memory  \(line 1\) [0-9a-f]{12}", lines[0])
        assert re.fullmatch(r"    Employer  \(line 12\) [0-9a-f]{12}", lines[3])
        answer = shell.run("outline", "MEMORY.md", "--json").answer
        assert list(answer) == ["path", "sections"]
        assert [list(row) for row in answer["sections"]] == [
            ["section", "level", "line", "etag", "lines"]
        ] * len(lines)
        assert shell.run("outline", "memory/rooms.md").out.startswith("Rooms  (line 1) ")

    def test_files(self, shell: Shell):
        listed = shell.run("outline", "-n", "1")
        assert re.fullmatch(
            r"\d{4}-\d\d-\d\d \d\d:\d\d  MEMORY.md  Memory  \(\d+ sections, 9 facts\)\n", listed.out
        )
        assert "more files (--offset 1 shows them)" in listed.err
        answer = shell.run("outline", "--json", "-n", "200").answer
        assert list(answer) == ["total", "stale", "files"]
        assert answer["total"] == len(answer["files"]) > 1
        assert [list(row) for row in answer["files"]] == [
            ["path", "title", "changed", "facts", "sections"]
        ] * answer["total"]
        assert answer["files"][0]["sections"][0] == {"section": "Memory", "level": 1, "facts": 0}
        assert shell.run("outline", "MEMORY.md", "-n", "2").status == 2

    def test_facts_by_page_and_by_last_day(self, shell: Shell):
        every = shell.run("facts", "-n", "0").out.splitlines()
        pages = [shell.run("facts", "-n", "4", "--offset", str(at)).out for at in (0, 4, 8, 12)]
        assert "".join(pages).splitlines() == every
        shell.run("remember", "on leave", "--until", "2026-03-09")
        shell.run("remember", "in Rome", "--until", "2026-03-19")
        assert "in Rome" not in shell.run("facts", "--expiring", "2026-03-18").out
        assert "on leave" in shell.run("facts", "--expiring", "in 2 weeks").out

    def test_search(self, shell: Shell):
        assert (
            shell.run("search", "stripe")
            .out.splitlines()[0]
            .startswith("MEMORY.md:14 Memory > Work > Employer [")
        )
        assert "(uncommitted)" in shell.run("search", "committed", "yet").out
        answer = shell.run("search", "stripe", "-n", "1", "--json").answer
        assert list(answer) == ["query", "as_of", "commit", "stale", "hits"]
        assert [list(hit) for hit in answer["hits"]] == [HIT]
        only = shell.run("search", "rooms", "--file", "memory", "--json").answer
        assert [hit["path"] for hit in only["hits"]] == ["memory/rooms.md"]

    def test_no_match_is_done(self, shell: Shell):
        done = shell.run("search", "zebra")
        assert (done.status, done.out, done.err) == (0, "", "mdmem: no match\n")
        assert shell.run("search", "zebra", "--json").answer["hits"] == []
        assert shell.run("facts", "--tag", "zebra").err == "mdmem: no facts\n"
        assert shell.run("facts", "--tag", "zebra", "--json").answer == {
            "total": 0,
            "stale": False,
            "facts": [],
        }

    def test_where_nothing_is_there_at_all_it_says_so(self, shell: Shell):
        section, file = (
            "mdmem: no section 'Nope'\n",
            "mdmem: no memory file 'nope.md'\n",
        )
        assert (
            shell.run("search", "tea", "--section", "Nope", "--file", "nope.md").err
            == f"mdmem: no match\n{file}{section}"
        )
        assert (
            shell.run("search", "zebra", "--section", "Work", "--file", "memory").err
            == "mdmem: no match\n"
        )
        assert shell.run("search", "zebra", "--file", "nope.md", "--json").answer["hits"] == []
        assert shell.run("facts", "--section", "Nope").err == f"mdmem: no facts\n{section}"
        assert shell.run("facts", "--section", "Work", "--tag", "zebra").err == "mdmem: no facts\n"

    def test_facts(self, shell: Shell):
        assert re.search(
            r"^[0-9a-f]{8}  \[fact\] the heating was mended #house  memory/2026-03-05.md:5$",
            shell.run("facts").out,
            re.MULTILINE,
        )
        answer = shell.run("facts", "--kind", "preference", "--json").answer
        assert [list(fact) for fact in answer["facts"]] == [FACT]
        assert answer["facts"][0] | {"id": ""} == {
            **{
                "id": "",
                "text": "drink: tea",
                "key": "drink",
                "kind": "preference",
                "tags": [],
                "path": "MEMORY.md",
                "line": 5,
            },
            **{
                "section": "Memory > Preferences",
                "source": "user-stated",
                "confidence": 0.95,
                "status": "current",
                "until": None,
            },
            **{"cites": [], "attribute": None, "author": None, "also": [], "workspace": None},
        }

    def test_facts_newest_first_and_how_many_are_left_out(self, shell: Shell):
        for number in range(4):
            shell.run(
                "remember",
                f"parcel {number}",
                "--tag",
                "parcel",
                *(("--key", "My Parcel") if number == 2 else ()),
            )
        shell.run("log", "parcel of old", "--date", "2026-01-02", "--fact", "--tag", "parcel")
        texts = ["parcel 3", "My Parcel: parcel 2", "parcel 1", "parcel 0", "parcel of old"]
        assert [
            fact["text"] for fact in shell.run("facts", "--tag", "parcel", "--json").answer["facts"]
        ] == texts
        few = shell.run("facts", "-n", "2", "--tag", "parcel", "--json").answer
        assert ([fact["text"] for fact in few["facts"]], few["total"], few["stale"]) == (
            texts[:2],
            5,
            False,
        )
        assert (
            shell.run("recall", "--tag", "parcel", "-n", "1").err
            == "mdmem: 1 of 5 facts (all: -n 0)\n"
        )
        assert shell.run("recall", "--tag", "parcel", "-n", "0").err == ""
        assert shell.run("facts", "-n", "-1").status == 2
        assert [
            fact["text"]
            for fact in shell.run("facts", "--key", "my  parcel", "--json").answer["facts"]
        ] == [texts[1]]
        assert [
            fact["path"]
            for fact in shell.run("facts", "--file", "memory/2026-01-02.md", "--json").answer[
                "facts"
            ]
        ] == ["memory/2026-01-02.md"]

    def test_a_hit_says_what_front_matter_says_of_it(self, shell: Shell):
        shell.write(
            "memory/jana.md",
            "---\nbirthday: 1990-07-14\nemployer: Bosch\n---\n# Jana\n\n- plays the viola\n",
        )
        assert shell.run("search", "birthday").out.splitlines()[1:] == [
            "    plays the viola",
            "    birthday: 1990-07-14",
        ]
        assert [
            hit["about"] for hit in shell.run("search", "birthday", "--json").answer["hits"]
        ] == ["birthday: 1990-07-14"]
        assert [hit["about"] for hit in shell.run("search", "viola", "--json").answer["hits"]] == [
            None
        ]

    def test_instructions_to_an_agent_are_no_facts(self, shell: Shell):
        shell.write("AGENTS.md", "# Rules\n\n- tone: short #style\n- tone: friendly #style\n")
        for _ in ("saved by hand", "in the index"):
            (first, second) = shell.run("search", "tone", "--json").answer["hits"]
            assert (first["path"], first["contradicts"], second["contradicts"]) == (
                "AGENTS.md",
                [],
                [],
            )
            assert shell.run("facts", "--file", "AGENTS.md", "--json").answer["total"] == 0
            assert [
                each["key"] for each in shell.run("conflicts", "--json").answer["conflicts"]
            ] == ["pet"]
            assert "style" not in [tag["tag"] for tag in shell.run("tags", "--json").answer["tags"]]
            shell.run("reindex")

    def test_where_the_index_is_behind_lists_say_so(self, shell: Shell):
        shell.run("search", "tea")
        shell.write("mdmem.toml", "lock_timeout = 0.01\n")
        shell.write("memory/new.md", "".join(f"- new {number}\n" for number in range(20_000)))
        behind = "mdmem: the index is behind: another process is still updating it, and the newest changes may be missing\n"
        with files.lock(shell.folder / ".git" / "mdmem" / "root" / files.INDEX_LOCK, 0):
            for command in (
                ["facts"],
                ["tags"],
                ["recall", "--tag", "house"],
                ["conflicts"],
                ["search", "9000"],
            ):
                assert behind in shell.run(*command).err
                assert shell.run(*command, "--json").answer["stale"] is True
            assert shell.run("recall", "--tag", "zebra").err.endswith(
                "mdmem: Nothing found yet; the index is behind\n"
            )

    def test_an_index_that_has_read_nothing_yet_gives_no_empty_answer(self, shell: Shell):
        shell.write("mdmem.toml", "lock_timeout = 0.01\n")
        state = shell.folder / ".git" / "mdmem" / "root"
        files.make_folders(state)
        with files.lock(state / files.INDEX_LOCK, 0):
            for command in (
                ["facts"],
                ["tags"],
                ["recall", "--tag", "house"],
                ["conflicts"],
                ["search", "tea"],
            ):
                done = shell.run(*command)
                assert (done.status, done.out) == (1, "")
                assert (
                    done.err
                    == "mdmem: Nothing found yet; the index is still being built (0 of 4 files)\n"
                )
                done = shell.run(*command, "--json")
                assert (done.status, done.answer["stale"]) == (1, True)
            (state / "index-progress").write_text("3")
            assert "(3 of 4 files)" in shell.run("search", "tea").err
        shell.write("mdmem.toml", "")  # on a busy machine a lock may take longer
        assert shell.run("search", "tea").status == 0

    def test_check(self, shell: Shell):
        clean = shell.run("check", "memory/rooms.md")
        assert (clean.status, clean.out, clean.err) == (0, "", "mdmem: no problems\n")
        done = shell.run("check")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith(
            "MEMORY.md:25: warning: the heading 'Twice' is already in line 21"
        )
        (problem,) = shell.run("check", "--json").answer["problems"]
        assert list(problem) == ["path", "line", "code", "level", "message"]

    def test_check_staged(self, shell: Shell):
        shell.write(LOG, "# 2026-03-05\n")
        shell.git("add", LOG)
        done = shell.run("check", "--staged")
        assert (done.status, done.err) == (1, "")
        assert done.out.startswith(
            f"{LOG}:1: error: an earlier entry of the daily log is lost or changed"
        )
        shell.patch.setenv("MDMEM_ALLOW", "append")
        assert shell.run("check", "--staged", "--json").status == 0

    def test_status(self, shell: Shell):
        shell.write("memory/latin.md", b"caf\xe9\n")
        assert shell.run("reindex").status == 0
        out = shell.run("status").out
        for printed in (
            "branch     main at ",
            "unsaved    MEMORY.md\n",
            "skipped    memory/latin.md: the file is not UTF-8",
        ):
            assert printed in out
        answer = shell.run("status", "--json").answer
        assert list(answer) == [
            "workspace",
            "adopted",
            "branch",
            "commit",
            "files",
            "paths",
            "other_markdown",
            "uncommitted",
            "conflicts",
            "skipped",
            "index",
            "hooks",
            "pipelines",
            "sync",
            "branches",
            "waiting",
        ]

    def test_status_before_a_refused_save(self, shell: Shell):
        shell.write("memory/latin.md", b"caf\xe9\n")
        assert "mdmem save" not in shell.run("status").out
        shell.write("memory/tea.md", "# T\n\n<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n")
        out = shell.run("status").out
        assert "conflict   memory/tea.md:3: conflict markers\n" in out
        assert "next       edit what is in conflict until the markers are gone, then" in out
        answer = shell.run("status", "--json").answer
        assert answer["conflicts"] == [{"path": "memory/tea.md", "line": 3}]
        assert shell.run("save").status == 1

    def test_reindex(self, shell: Shell):
        assert re.fullmatch(r"[1-9]\d* entries indexed\n", shell.run("reindex").out)
        assert list(shell.run("reindex", "--full", "--json").answer) == ["entries"]
