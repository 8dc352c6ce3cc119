"""Pools: several workspaces read together, each with its name, by words counted in all."""

import json
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from commandline import Done, Shell
from conftest import World

from mdmem.folder import files
from mdmem.index import ranking
from mdmem.memory import Memory
from mdmem.model.searches import Search
from mdmem.queries.pool import fresh_indexes
from mdmem.text.facts import fact_id
from mdmem.workspace import open_at

WORDS = [
    "tea",
    "coffee",
    "harbour",
    "lamp",
    "window",
    "garden",
    "river",
    "stone",
    "bread",
    "clock",
    "winter",
    "paper",
]


@pytest.fixture
def workspaces(world: World, tmp_path: Path, empty_repository: Path) -> Callable[..., Path]:
    """Makes a workspace below the home folder, of facts or of whole files."""

    def make(name: str, *facts: str, **texts: str) -> Path:
        folder = Path(shutil.copytree(empty_repository, world.home / name))
        lines = "".join(f"- {fact}\n" for fact in facts)
        for path, text in {"MEMORY.md": f"# Memory\n\n## Facts\n\n{lines}", **texts}.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        world.git(folder, "add", ".")
        world.git(folder, "commit", "-q", "-m", "by hand")
        return folder

    return make


def pool(world: World, *folders: str | Path, table: str = "") -> None:
    settings = world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"{table}\npool = {json.dumps([str(folder) for folder in folders])}\n")


def hits(done: Done) -> list[tuple[str | None, str]]:
    answer = json.loads(done.out)
    rows = answer["hits"] if "hits" in answer else answer["facts"]
    return [(row["workspace"], row["text"]) for row in rows if not row.get("near")]


@pytest.fixture
def at(shell: Shell, workspaces: Callable[..., Path]) -> Shell:
    """A person's workspace, one of a team, and one of a project; none is in a pool."""
    workspaces("team", "the deploy lamp is red", "tea at four #habits")
    workspaces("project", "the lamp in the project is blue", "tea is not served #habits")
    shell.write(
        "MEMORY.md", "# Memory\n\n## Facts\n\n- my own lamp is green\n- tea with milk #own\n"
    )
    return shell


def test_a_fact_of_several_workspaces_counts_once(
    at: Shell, world: World, workspaces: Callable[..., Path]
):
    shared = [f"lamp number {number} #own" for number in range(4)] + ["tea #own"]
    for name in ("north", "south"):
        workspaces(name, *shared, f"a lamp of {name} #own")
    pool(world, "~/north", "~/south")
    listed = [at.run("facts", "-n", str(limit), "--json").answer for limit in range(4)]
    assert {each["total"] for each in listed} == {len(listed[0]["facts"])}
    tags = at.run("tags", "--json").answer["tags"]
    assert next(tag["count"] for tag in tags if tag["tag"] == "own") == 8


def test_what_expired_here_is_no_answer_beside_a_pool(
    at: Shell, world: World, workspaces: Callable[..., Path]
):
    workspaces("north", "the pass is valid")
    pool(world, "~/north")
    text = "# Memory\n\n## Facts\n\n- the pass is valid (until 2026-01-01)\n"
    at.write("MEMORY.md", text)
    at.run("save")
    at.run("search", "pass")
    at.write("MEMORY.md", f"{text}- one more line\n")
    assert [hit["workspace"] for hit in at.run("search", "pass", "--json").answer["hits"]][:1] == [
        "north"
    ]


def test_a_search_reads_the_pool_and_names_it(at: Shell, world: World):
    pool(world, "~/team", "~/project")
    printed = at.run("search", "lamp").out
    assert printed.startswith("MEMORY.md:5 Memory > Facts [")
    assert "\nteam:MEMORY.md:5 Memory > Facts [" in printed
    assert "\nproject:MEMORY.md:5 Memory > Facts [" in printed
    assert "the deploy lamp is red  team:MEMORY.md:5\n" in at.run("facts").out
    answer = at.run("search", "lamp", "--json").answer
    assert answer["missing"] == []
    assert {hit["workspace"] for hit in answer["hits"]} == {None, "team", "project"}
    assert {hit["path"] for hit in answer["hits"]} == {"MEMORY.md"}


def test_a_day_is_asked_for_in_all_of_them(
    at: Shell, workspaces: Callable[..., Path], world: World
):
    log = "# 2026-03-04\n\n## 09:00\n\n- {}\n"
    workspaces("boats", **{"memory/2026-03-04.md": log.format("scraped the hull")})
    at.write("memory/2026-03-04.md", log.format("rang the harbour"))
    pool(world, "~/boats")
    done = at.run("search", "what did I do yesterday?", "--json")
    assert hits(done)[:2] == [(None, "rang the harbour"), ("boats", "scraped the hull")]


def test_alone_and_with(at: Shell, world: World):
    assert hits(at.run("search", "lamp", "--json")) == [(None, "my own lamp is green")]
    assert "missing" not in at.run("search", "lamp", "--json").answer
    team = str(world.home / "team")
    assert ("team", "the deploy lamp is red") in hits(
        at.run("search", "lamp", "--json", "--with", team)
    )
    pool(world, "~/project")
    names = {name for name, _ in hits(at.run("search", "lamp", "--json", "--with", team))}
    assert names == {None, "team", "project"}
    assert hits(at.run("search", "lamp", "--json", "--alone")) == [(None, "my own lamp is green")]
    assert "exclude each other" in at.run("search", "lamp", "--alone", "--with", team).err


def test_a_pool_for_one_workspace_and_a_pools_own_pool(at: Shell, world: World):
    pool(world, "~/project", table=f'[in."{at.folder}"]')
    assert ("project", "the lamp in the project is blue") in hits(
        at.run("search", "lamp", "--json")
    )
    assert {
        name for name, _ in hits(at.run("-C", str(world.home / "team"), "search", "lamp", "--json"))
    } == {None}
    pool(
        world, "~/team", table=f'[in."{world.home}/team"]\npool = ["~/project"]\n[in."{at.folder}"]'
    )
    assert {name for name, _ in hits(at.run("search", "lamp", "--json"))} == {None, "team"}


def test_a_pool_has_full_paths(at: Shell, world: World):
    pool(world, "../team")
    assert "pool must name full paths" in at.run("search", "lamp").err


def test_itself_and_a_folder_named_twice_count_once(at: Shell, world: World):
    (world.home / "link").symlink_to(world.home / "team")
    pool(world, at.folder, "~/team", "~/link", "~/team/")
    assert sorted(hits(at.run("search", "lamp", "--json")), key=str) == [
        ("team", "the deploy lamp is red"),
        (None, "my own lamp is green"),
    ]


def test_folders_of_one_name_are_told_apart(
    at: Shell, world: World, workspaces: Callable[..., Path]
):
    for parent in ("a", "b"):
        (world.home / parent).mkdir()
        workspaces(f"{parent}/team", f"the lamp of {parent}")
    pool(world, "~/a/team", "~/b/team", "~/project")
    names = {name for name, _ in hits(at.run("search", "lamp", "--json"))}
    assert names == {None, "a/team", "b/team", "project"}


def break_settings(folder: Path) -> None:
    (folder / "mdmem.toml").write_text("nonsense = 1\n")


def lose_repository(folder: Path) -> None:
    shutil.rmtree(folder / ".git")


def loop(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder)


@pytest.mark.every(3)
@pytest.mark.parametrize("spoil", [shutil.rmtree, break_settings, lose_repository, loop])
@pytest.mark.parametrize(
    "command",
    [
        ("search", "lamp"),
        ("search", "lamp", "--history"),
        ("facts",),
        ("tags",),
        ("recall", "--tag", "habits"),
    ],
)
def test_what_cannot_be_read_is_named(
    at: Shell, world: World, spoil: Callable[[Path], None], command: tuple[str, ...]
):
    pool(world, "~/team", "~/project")
    spoil(world.home / "team")
    answer = json.loads(at.run(*command, "--json").out)
    assert answer["missing"] == ["team"]
    rows = answer.get("hits", answer.get("facts", []))
    assert {row["workspace"] for row in rows} <= {None, "project"}
    assert "team is missing from this answer: " in at.run(*command).err


def test_one_that_is_locked_before_its_first_index_is_named(at: Shell, world: World):
    pool(world, "~/team")
    (world.home / "team" / "mdmem.toml").write_text("lock_timeout = 0.1\n")
    workspace = open_at(world.home / "team", world.environment)
    workspace.ensure_state()
    with files.lock(workspace.state / files.INDEX_LOCK, 0):
        done = at.run("search", "lamp", "--json")
        assert json.loads(done.out)["missing"] == ["team"]
    assert {name for name, _ in hits(at.run("search", "lamp", "--json"))} == {None, "team"}
    (world.home / "team" / "MEMORY.md").write_text(
        "# Memory\n\n## Facts\n\n- a lamp more #x\n- key: a (contradicts 12345678)\n"
    )
    with files.lock(workspace.state / files.INDEX_LOCK, 0):
        done = at.run("facts", "--json")
    answer = json.loads(done.out)
    assert answer["stale"], "it answers by what it knows, and says so"
    assert answer["missing"] == []
    assert "team" in {row["workspace"] for row in answer["facts"]}


def test_a_damaged_index_is_built_again(at: Shell, world: World):
    pool(world, "~/team", "~/project")
    expected = hits(at.run("search", "lamp", "--json"))
    for path in (world.home / "team" / ".git" / "mdmem").rglob("*.store"):
        path.write_bytes(b"x" * path.stat().st_size)
    assert hits(at.run("search", "lamp", "--json")) == expected


def test_one_id_is_shown_once_and_this_workspace_comes_first(
    at: Shell, world: World, workspaces: Callable[..., Path]
):
    at.git("commit", "-qam", "by hand")
    workspaces("copy", "the deploy lamp is red", "my own lamp is green", "tea at four #habits")
    pool(world, "~/team", "~/copy")
    found = hits(at.run("search", "deploy lamp green", "--json"))
    assert sorted(found, key=str) == [
        ("team", "the deploy lamp is red"),
        (None, "my own lamp is green"),
    ]
    for words in (
        ("facts",),
        ("facts", "-n", "3"),
        ("recall", "--tag", "habits"),
        ("search", "lamp", "--history"),
        ("search", "lamp", "--as-of", "today"),
    ):
        rows = hits(at.run(*words, "--json"))
        assert len({text for _, text in rows}) == len(rows)
        assert all(name != "copy" for name, _ in rows)
    listed = at.run("facts", "--json").answer
    assert listed["total"] == len(listed["facts"])


def test_what_was_just_saved_is_found_in_each(at: Shell, world: World):
    pool(world, "~/team", "~/project")
    at.run("search", "lamp")
    for name in ("team", "project"):
        memory = world.home / name / "MEMORY.md"
        memory.write_text(memory.read_text() + f"- a new lantern in the {name}\n")
    at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- a lantern of my own\n")
    assert sorted(hits(at.run("search", "lantern", "--json")), key=str) == [
        ("project", "a new lantern in the project"),
        ("team", "a new lantern in the team"),
        (None, "a lantern of my own"),
    ]


def test_the_past_of_each(at: Shell, world: World):
    pool(world, "~/team")
    at.patch.setenv("MDMEM_NOW", "2026-04-01T10:00:00")
    at.patch.setenv("GIT_COMMITTER_DATE", "2026-04-01T10:00:00+00:00")
    at.run("-C", str(world.home / "team"), "remember", "Bergen", "--key", "home town")
    at.patch.setenv("MDMEM_NOW", "2026-05-01T10:00:00")
    at.patch.setenv("GIT_COMMITTER_DATE", "2026-05-01T10:00:00+00:00")
    at.run("-C", str(world.home / "team"), "remember", "Oslo", "--key", "home town")
    now = hits(at.run("search", "home town", "--json"))
    assert now[0] == ("team", "home town: Oslo")
    then = hits(at.run("search", "home town", "--as-of", "2026-04-02", "--json"))
    assert then[0] == ("team", "home town: Bergen")
    past = hits(at.run("search", "what was the previous home town", "--history", "--json"))
    assert past[0] == ("team", "home town: Bergen")
    commit = at.git("rev-parse", "HEAD").strip()
    by_commit = json.loads(at.run("search", "tea", "--as-of", commit, "--json").out)
    assert by_commit["missing"] == ["team"], "a commit is of one repository"


def test_explanations_and_newest_entries(at: Shell, world: World):
    pool(world, "~/team", "~/project")
    explained = at.run("search", "lamp", "--explain", "--json").answer["hits"]
    for hit in explained:
        parts = sum(part["score"] for part in hit["explain"]["parts"])
        factors = [factor["value"] for factor in hit["explain"]["factors"]]
        product = parts
        for factor in factors:
            product *= factor
        assert product == pytest.approx(hit["score"], rel=0.02)
    newest = hits(at.run("search", "--tag", "habits", "--json"))
    assert sorted(newest, key=str) == [("project", "tea is not served"), ("team", "tea at four")]


def test_tags_are_counted_in_all(at: Shell, world: World):
    pool(world, "~/team", "~/project")
    assert at.run("tags", "--json").answer["tags"] == [
        {"tag": "habits", "count": 2},
        {"tag": "house", "count": 1},
        {"tag": "own", "count": 1},
    ]
    recalled = hits(at.run("recall", "--tag", "own", "--tag", "habits", "--json"))
    assert {name for name, _ in recalled} == {None, "team", "project"}


def test_words_of_another_language(at: Shell, world: World, workspaces: Callable[..., Path]):
    workspaces("haus", "die Lampen stehen im Garten", **{"mdmem.toml": 'language = "de"\n'})
    workspaces("maison", "les lampes sont dans le jardin avec les chevaux")
    pool(world, "~/haus", "~/team", "~/maison")
    found = hits(at.run("search", "Lampe Gärten lamps cheval", "--json"))
    assert {name for name, _ in found} == {"haus", "team", "maison", None}


def test_the_language_of_most_entries_of_all_is_first(
    world: World, workspaces: Callable[..., Path]
):
    cats = "".join(f"- die Katze {number} ist nicht im Haus\n" for number in range(9))
    large = workspaces("haus", **{"memory/katzen.md": f"# Katzen\n\n{cats}"})
    small = workspaces("small", "we have a cat in the house")
    for first, second in ((small, large), (large, small)):
        memory = Memory.open(first, world.environment).reading_with([str(second)])
        finder = fresh_indexes(memory.workspace, print).index.finder
        assert finder is not None
        assert finder.lexicon.languages[:2] == ("german", "english")


def generated(chance: random.Random, count: int, name: str) -> Mapping[str, str]:
    def words() -> str:
        weights = range(len(WORDS), 0, -1)
        return " ".join(chance.choices(WORDS, weights=weights, k=chance.randint(3, 12)))

    days = {}
    for day in range(1, 1 + max(1, count // 20)):
        lines = [f"- {words()} {name}{day}x{line}\n" for line in range(min(20, count))]
        days[f"memory/2026-01-{day:02}.md"] = f"# 2026-01-{day:02}\n\n## 09:00\n\n" + "".join(lines)
    return days


def test_hits_are_those_of_one_index_of_all(
    world: World, workspaces: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    """Ten entries beside hundreds, the same order but for ties of the last digits."""
    chance = random.Random(5)
    sizes = {"large": 400, "small": 10, "middle": 100}
    texts = {name: generated(chance, count, name) for name, count in sizes.items()}
    folders = {name: workspaces(name, **of_one) for name, of_one in texts.items()}
    one = workspaces(
        "one",
        **{
            f"memory/2026-{month:02}-{path[-5:]}": text.replace("2026-01", f"2026-{month:02}")
            for month, of_one in enumerate(texts.values(), 1)
            for path, text in of_one.items()
        },
    )
    environment = {**world.environment, "MDMEM_NOW": "2026-06-01T10:00:00"}
    others = [str(folders[name]) for name in ("large", "middle")]
    pooled = Memory.open(folders["small"], environment).reading_with(others)
    single = Memory.open(one, environment)
    monkeypatch.setattr(ranking, "DAY_SHARE", 0.0)  # the days of the texts are not the same in one
    near = 0
    for number in range(20):
        query = " ".join(chance.sample(WORDS, 1 + number % 4))
        expected = single.search(Search(query)).hits
        found = pooled.search(Search(query)).hits
        assert [hit.score for hit in found] == pytest.approx(
            [hit.score for hit in expected], rel=0.04
        )
        near += len({hit.text for hit in found} & {hit.text for hit in expected})
    assert near >= 0.9 * 20 * 8


def test_without_a_pool_no_module_of_it_is_loaded(at: Shell, world: World):
    import sys

    for name in ("mdmem.queries.pool", "mdmem.index.pooled"):
        sys.modules.pop(name, None)
    at.run("search", "lamp")
    at.run("facts")
    assert "mdmem.queries.pool" not in sys.modules
    assert "mdmem.index.pooled" not in sys.modules


def test_recall_by_actor_and_session(at: Shell, world: World):
    pool(world, "~/team")
    words = ("--tag", "x", "--json")
    at.run(
        "-C",
        str(world.home / "team"),
        "remember",
        "one fact #x",
        "--actor",
        "agent/a",
        "--session",
        "s1",
    )
    at.run("remember", "another fact #x", "--actor", "agent/b", "--session", "s2")
    assert hits(at.run("recall", *words, "--actor", "agent/a")) == [("team", "one fact")]
    assert hits(at.run("recall", *words, "--session", "s2")) == [(None, "another fact")]
    assert hits(at.run("facts", "--json", "--session", "s1")) == [("team", "one fact")]
    assert len(hits(at.run("recall", *words))) == 2


def context(at: Shell, *words: str) -> str:
    return at.run("context", *words).out


def test_a_block_shows_profile_and_curated_facts_of_the_pool(at: Shell, world: World):
    (world.home / "team" / "USER.md").write_text("# User\n\n- the team is in Oslo\n")
    (world.home / "team" / "memory").mkdir()
    (world.home / "team" / "memory" / "2026-03-05.md").write_text(
        "# 2026-03-05\n\n## 09:00\n\n- the team's own day\n"
    )
    (world.home / "team" / "TASKS.md").write_text("# Tasks\n\n## A task of the team\n\n- goal: x\n")
    pool(world, "~/project", "~/team")
    block = context(at)
    headings = [line for line in block.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Profile · team:USER.md",
        "## Memory · MEMORY.md",
        "## Memory · project:MEMORY.md",
        "## Memory · team:MEMORY.md",
        *[line for line in headings if line.startswith(("## Today", "## Yesterday"))],
        "## Tags",
    ]
    assert "own day" not in block
    assert "A task of the team" not in block
    assert context(at) == block, "the same bytes"
    assert "team:" not in context(at, "--alone")
    pool(world)
    assert "team:" not in context(at)
    assert "## Memory · team:MEMORY.md" in context(at, "--with", str(world.home / "team"))


def test_a_block_for_a_prompt_finds_in_all(at: Shell, world: World):
    pool(world, "~/team", "~/project")
    words = ("--for", "prompt", "which lamp is red after the deploy")
    block = context(at, *words)
    assert "## Found · team:MEMORY.md\n- :5 the deploy lamp is red\n" in block
    assert context(at, *words) == block
    answer = at.run("context", *words, "--json").answer
    assert answer["missing"] == []
    assert "team" in {entry["workspace"] for part in answer["parts"] for entry in part["entries"]}


@pytest.mark.parametrize("budget", [80, 150, 400, 2000])
def test_a_block_keeps_within_its_budget(
    at: Shell, world: World, workspaces: Callable[..., Path], budget: int
):
    workspaces(
        "large",
        *(f"fact {number} about the lamp number {number} in the hall" for number in range(200)),
    )
    pool(world, "~/team", "~/large", "~/gone")
    for prompt in ((), ("--for", "prompt", "the lamp number 7 in the hall")):
        answer = json.loads(at.run("context", *prompt, "--budget", str(budget), "--json").out)
        assert answer["tokens"] <= budget
        assert answer["missing"] == ["gone"]
        if answer["text"] and budget > 150:
            assert "- not read: gone\n" in answer["text"]


def test_a_large_memory_of_ones_own_leaves_the_pool_its_part_of_what_is_found(
    at: Shell, world: World
):
    at.write(
        "MEMORY.md",
        "# Memory\n\n" + "".join(f"- a fact of my own, number {n}\n" for n in range(300)),
    )
    pool(world, "~/team")
    block = context(at, "--for", "session", "what does the deploy lamp show")
    assert "## Found · team:MEMORY.md" in block
    assert "; the rest: memory_get " in block


def test_a_prompts_hook_leaves_out_a_pool_that_takes_too_long(
    at: Shell, world: World, workspaces: Callable[..., Path]
):
    from mdmem import agenthooks

    pool(world, "~/team")
    at.run("search", "lamp", "--alone")
    at.patch.setattr(agenthooks, "_TIME_LIMITS", {"UserPromptSubmit": 0.5, "SessionStart": 0.5})
    workspace = open_at(world.home / "team", world.environment)
    workspace.ensure_state()
    event = {"session_id": "s", "cwd": str(at.folder)}

    def text(name: str, **more: str) -> str:
        data = json.dumps({**event, "hook_event_name": name, **more}).encode()
        parsed = agenthooks.parse_event(data)
        assert parsed
        answer = json.loads(agenthooks.answer(parsed, world.environment))
        return answer["hookSpecificOutput"]["additionalContext"]

    with files.lock(workspace.state / files.INDEX_LOCK, 0):
        assert "- not read: team\n" in text(
            "UserPromptSubmit", prompt="which lamp is my own green one"
        )
        assert "- not read: team\n" in text("UserPromptSubmit", prompt="zebra quagga okapi")
        start = text("SessionStart", source="startup")
        assert "- not read: team\n" in start
        assert "tea with milk" in start
    at.run("search", "lamp")
    assert "team:MEMORY.md" in text("SessionStart", source="clear")


def test_the_tools_of_the_server_read_the_pool(at: Shell, world: World):
    from mdmem.mcp.door import Door

    pool(world, "~/team", "~/gone")
    door = Door(str(at.folder), world.environment)
    found, failed = door.call_tool("memory_search", {"query": "deploy lamp"}, "x")
    assert not failed
    assert "- team:MEMORY.md:5 the deploy lamp is red [" in found
    assert "gone is missing from this answer" in found
    assert (
        "- team:MEMORY.md:6 tea at four"
        in door.call_tool("memory_search", {"tags": ["habits"]}, "x")[0]
    )
    assert "## Memory · team:MEMORY.md" in door.call_tool("memory_context", {}, "x")[0]
    assert "team" not in door.call_tool("memory_get", {}, "x")[0]
    assert "the deploy lamp" not in door.prompt_text("heartbeat", "x")[0]
    door.close(0)


def test_status_lists_the_pool(at: Shell, world: World):
    assert "reads too" not in at.run("status").out
    assert "pool" not in at.run("status", "--json").answer
    pool(world, "~/team", "~/gone")
    assert f"reads too  team ({world.home}/team)\n" in at.run("status").out
    assert f"reads too  gone ({world.home}/gone is not a workspace)\n" in at.run("status").out
    assert at.run("status", "--json").answer["pool"]["team"]["problem"] is None


def test_an_id_of_another_workspace_is_refused_with_the_line_to_type(at: Shell, world: World):
    pool(world, "~/team")
    fact = next(
        row["fact"]
        for row in at.run("search", "deploy lamp", "--json").answer["hits"]
        if row["workspace"] == "team"
    )
    before = at.snapshot(), (world.home / "team" / "MEMORY.md").read_text()
    folder = world.home / "team"
    for words, line in {
        ("forget", fact): f"mdmem -C {folder} forget {fact}",
        ("forget", "--purge", "--yes", fact): f"mdmem -C {folder} forget --purge {fact}",
        (
            "log",
            "--supersedes",
            fact,
            "x",
        ): f'mdmem -C {folder} log --supersedes {fact} "the new text"',
        (
            "remember",
            "--supersedes",
            fact,
            "x",
        ): f'mdmem -C {folder} remember --supersedes {fact} "the new text"',
    }.items():
        failure = json.loads(at.run(*words, "--json").err)
        assert (failure["error"], failure["hint"]) == ("other-workspace", f"Use: {line}"), words
    assert (at.snapshot(), (world.home / "team" / "MEMORY.md").read_text()) == before
    other = fact_id("tea at four")
    both = json.loads(at.run("contradicts", fact, other, "--json").err)
    assert both["hint"] == f"Use: mdmem -C {folder} contradicts {fact} {other}"
    own = fact_id("my own lamp is green")
    one = json.loads(at.run("contradicts", fact, own, "--json").err)
    assert one["error"] == "fact-not-found", "no command would do for two workspaces"
    assert json.loads(at.run("forget", "abcdef12", "--json").err)["error"] == "fact-not-found"
    pool(world)
    assert json.loads(at.run("forget", fact, "--json").err)["error"] == "fact-not-found"


def test_what_a_session_was_given_from_another_workspace_comes_back_from_no_agent(
    at: Shell, world: World
):
    pool(world, "~/team")
    said = ("the deploy lamp is red", "--session", "s1", "--json")
    assert "deploy lamp" in at.run("context", "--session", "s1").out
    for words in (("log", *said), ("remember", *said)):
        by_agent = at.run(*words, "--actor", "agent/x")
        assert json.loads(by_agent.err)["error"] == "recalled-text"
        assert "team" in json.loads(by_agent.err)["message"]
    assert at.run("log", *said[:1], "--session", "s2", "--actor", "agent/x", "--json").answer[
        "changed"
    ]
    assert at.run("log", "the deploy lamp blinks", *said[1:], "--actor", "agent/x").answer[
        "changed"
    ]
    own = at.run("remember", "tea with milk #own", *said[1:], "--actor", "agent/x").answer
    assert not own["changed"], "what this memory holds is said again, as ever"
    stated = at.run("remember", *said, "--actor", "agent/x", "--source", "user-stated")
    assert stated.answer["changed"], "a person says so"
    memory = Memory.open(at.folder, world.environment)
    guarded = memory.drop_given(["tea at four", "something new"], "s1", is_summary=True)
    assert (guarded.kept, guarded.dropped) == (("something new",), 1)


def test_the_server_writes_to_the_pool_only_where_it_is_told_to(at: Shell, world: World):
    from mdmem.mcp.door import Door
    from mdmem.mcp.tools import offered

    pool(world, "~/team", "~/gone")
    team = world.home / "team" / "MEMORY.md"
    arguments = {"text": "a lamp for the team", "workspace": "team"}
    before = at.snapshot(), team.read_text()
    door = Door(str(at.folder), world.environment)
    for tool in ("memory_remember", "memory_log"):
        assert "workspace" not in offered(False)[tool].arguments
        assert "workspace" in offered(False, write_pool=True)[tool].arguments
        text, failed = door.call_tool(tool, arguments, "x")
        assert failed
        assert json.loads(text)["error"] == "not-allowed"
    assert (at.snapshot(), team.read_text()) == before
    door.close(0)
    door = Door(str(at.folder), {**world.environment, "MDMEM_SESSION": "s"}, write_pool=True)
    text, failed = door.call_tool("memory_remember", arguments, "x")
    assert not failed
    assert "- a lamp for the team" in team.read_text()
    assert not door.call_tool("memory_log", {**arguments, "text": "the team met"}, "x")[1]
    assert "the team met" in next((world.home / "team" / "memory").iterdir()).read_text()
    assert at.snapshot() == before[0], "nothing is written here"
    own = "my own lamp is green"
    given, _ = door.call_tool("memory_context", {}, "x")
    assert own in given
    text, failed = door.call_tool("memory_remember", {**arguments, "text": own}, "x")
    assert failed
    assert json.loads(text)["error"] == "recalled-text"
    for name, error in (("gone", "no-workspace"), ("other", "usage"), ("../project", "usage")):
        text, failed = door.call_tool("memory_log", {"text": "x", "workspace": name}, "x")
        assert (failed, json.loads(text)["error"]) == (True, error)
    door.close(0)
