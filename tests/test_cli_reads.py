"""The commands that read, as a user meets them."""

import pytest
from commandline import LOG, Shell

from mdmem.folder import files


class TestReads:
    def test_facts_by_page_and_by_last_day(self, shell: Shell):
        every = shell.run("facts", "-n", "0").out.splitlines()
        pages = [shell.run("facts", "-n", "4", "--offset", str(at)).out for at in (0, 4, 8, 12)]
        assert "".join(pages).splitlines() == every
        shell.run("remember", "on leave", "--until", "2026-03-09")
        shell.run("remember", "in Rome", "--until", "2026-03-19")
        assert "in Rome" not in shell.run("facts", "--expiring", "2026-03-18").out
        assert "on leave" in shell.run("facts", "--expiring", "in 2 weeks").out

    def test_nothing_found_is_done(self, shell: Shell):
        for words in (("search", "zebra"), ("facts", "--tag", "zebra"), ("check",)):
            assert shell.run(*words).status == shell.run(*words, "--json").status == 0

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


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        (["tags"], "tags"),
        (["outline", "MEMORY.md"], "sections"),
        (["when", "the "], "stays"),
        (["conflicts"], "conflicts"),
        (["review"], "advice"),
    ],
)
def test_so_many_rows_of_any_list(shell: Shell, command: list[str], rows: str):
    shell.write(
        "MEMORY.md",
        "# Memory\n\n## A\n\n- pet: the cat\n- pet: the dog\n- the #x\n- the #x\n\n"
        "## B\n\n- pet: the fox\n- pet: the owl\n- the end (until 2026-01-01)\n- the door #y\n",
    )
    shell.run("save")
    whole = shell.run(*command, "-n", "0", "--json").answer[rows]
    assert len(whole) > 1
    first = shell.run(*command, "-n", "1", "--json").answer[rows]
    assert first == whole[:1]
    assert f"1 of {len(whole)} (all: -n 0)" in shell.run(*command, "-n", "1").err
    assert shell.run(*command, "-n", "-1").status == 2
