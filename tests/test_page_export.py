"""Pages as files: only committed memory, nothing of the machine; a folder whole or untouched."""

import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path, PurePosixPath
from typing import NoReturn

import pytest
from commandline import MadeOnce
from conftest import World
from dated_memory import DatedMemory
from dated_memory import dated as dated
from dated_memory import dated_desk as dated_desk
from page_readers import commit_on
from workspaces import TOKEN, Desk, desk

from mdmem.cli import main
from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.errors import HistoryProblem, PathProblem
from mdmem.model.proposals import Propose
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Forget, Log, Remember, WriteOptions
from mdmem.page import export as exporting
from mdmem.page.export import START, export, file_name
from mdmem.page.pages import Links

MARKER, STYLES = ".mdmem-export", "page.css"
PASSWORD = "xK9#" + "vT3!pQ7z"
HOUSE = """---
title: The office
tags: [office]
---
# Office

See [[people]], [the web](https://example.org/) and [home](../MEMORY.md#home).

- spare key: with the kiosk #key

## Attic

- [ ] sweep it
"""


def pages_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*.html"))
    }


def all_files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def links_of(name: str, text: str) -> Iterator[str]:
    """The files of an export that a page links to."""
    for address in map(unescape, re.findall(r'(?:href|src|action)="([^"]*)"', text)):
        if not address.startswith(("https:", "#")):
            yield os.path.normpath(PurePosixPath(name).parent / address)


def reached(pages: Mapping[str, str]) -> set[str]:
    """The pages that can be reached from the first one."""
    seen, waiting = {START}, [START]
    while waiting:
        name = waiting.pop()
        for linked in links_of(name, pages[name]):
            if linked not in seen and linked in pages:
                seen.add(linked)
                waiting.append(linked)
    return seen


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page.partition("<main")[2])).split())


@pytest.fixture
def memory(dated: DatedMemory, made_once: MadeOnce) -> Memory:
    """Days of a person and an agent, two notes, and a contradiction."""
    made_once("days to export", lambda: live(dated))
    return dated.on("2026-02-09")


def live(dated: DatedMemory) -> None:
    stated = WriteOptions(source=Source.USER_STATED)
    dated.at.write("memory/house.md", HOUSE)
    dated.at.write("memory/people.md", "# People\n\n- Lena: has the key\n- pet: cat\n- pet: dog\n")
    commit_on(dated.at, "2026-02-01")
    dated.on("2026-02-01").apply(Remember("Dublin", key="region", section="Work", options=stated))
    by_agent = WriteOptions(actor="agent/main", reason="was said so")
    dated.on("2026-02-03").apply(Remember("Oslo", key="region", section="Work", options=by_agent))
    dated.on("2026-02-05T10:00").apply(Log("the lift is out"))
    dated.on("2026-02-05T11:00").apply(Forget("lives in Oslo"))


@pytest.mark.costly
def test_every_link_leads_to_a_page_and_every_page_is_reached(memory: Memory, tmp_path: Path):
    count = export(memory, tmp_path / "out")
    pages = pages_of(tmp_path / "out")
    assert count == len(pages)
    assert reached(pages) == set(pages)
    exported = {*all_files(tmp_path / "out")}
    for name, text in pages.items():
        assert set(links_of(name, text)) <= exported, name
        assert "Not found" not in text, name
    assert exported - {*pages} == {MARKER, STYLES}
    facts = memory.facts(ListFacts(everything=True, limit=0)).facts
    for kind, expected in (
        ("fact", {hit.fact for hit in facts if hit.fact}),
        ("day", {"2026-02-01", "2026-02-03", "2026-02-05"}),
    ):
        named = {PurePosixPath(name).stem for name in pages if name.startswith(f"{kind}/")}
        missing = {each for each in expected if not any(n.startswith(str(each)) for n in named)}
        assert not missing
    for part in ("memory-house-md", "memory-people-md", "memory-md"):
        assert any(name.startswith(f"file/{part}") for name in pages)
    assert any(name.startswith("section/memory-house-md-office-attic-") for name in pages)
    assert {"days.html", "files.html", "trends.html"} <= pages.keys()


@pytest.mark.costly
def test_nothing_of_a_server_or_of_the_machine_is_in_it(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def no_socket(*arguments: object) -> NoReturn:
        raise AssertionError("a socket")

    monkeypatch.setattr(socket, "socket", no_socket)
    export(memory, tmp_path / "out")
    for name, text in pages_of(tmp_path / "out").items():
        found = re.search(
            r"<form|<script|<input|<button|token|/static/|127\.0\.0\.1|localhost", text
        )
        assert not found, name
        for path in (memory.workspace.root, Path.home(), tmp_path, "/tmp/"):
            assert str(path) not in text, name
        assert memory.workspace.root.name in text
    first = (tmp_path / "out" / START).read_text()
    assert "Review" not in re.sub(r"<[^>]+>", "", first)
    assert "Thursday 5 February" in words(first)


@pytest.mark.costly
def test_twice_gives_the_same_bytes_whatever_is_not_committed(
    memory: Memory, dated: DatedMemory, tmp_path: Path
):
    export(memory, tmp_path / "first")
    proposal = WriteOptions(actor="agent/main")
    memory.proposals.propose(Propose(Remember("a proposed fact", section="Home", options=proposal)))
    dated.at.write("memory/people.md", "# People\n\n- Lena: an unsaved edit\n")
    dated.at.write("memory/new.md", "# New\n\n- an unsaved file\n")
    export(dated.on("2026-07-01"), tmp_path / "second")
    first, second = all_files(tmp_path / "first"), all_files(tmp_path / "second")
    assert first == second
    for text in (b"a proposed fact", b"unsaved"):
        assert not any(text in content for content in second.values())


@pytest.mark.costly
def test_from_a_day_on(memory: Memory, tmp_path: Path):
    export(memory, tmp_path / "out", " 2026-02-03")
    pages = pages_of(tmp_path / "out")
    assert {name for name in pages if name.startswith("day/")} >= {
        "day/2026-02-03.html",
        "day/2026-02-05.html",
    }
    assert not [name for name in pages if name.startswith("day/") and name < "day/2026-02-03"]
    exported = {*all_files(tmp_path / "out")}
    for name, text in pages.items():
        assert set(links_of(name, text)) <= exported, name
    assert "Dublin" in words(pages["days.html"])  # what Oslo has replaced
    assert "spare key" not in "".join(pages.values())
    assert not [name for name in pages if name.startswith("file/memory-house-md")]
    assert "house.md" in words(pages["files.html"])


SECRET_NOTE = f"""---
title: Tokens {TOKEN}
tags: [safe]
---
# Tokens

- password: {PASSWORD}
- the token of the printer, which nobody may know before Lena has it, is {TOKEN}
- the door: {TOKEN}

## {TOKEN}

Text with {TOKEN} and **{TOKEN}**; **password**: {PASSWORD}

## password: "{PASSWORD}"

- one: password = "{PASSWORD}"

```
password = {PASSWORD}
```
"""


@pytest.mark.costly
def test_secrets_are_not_in_it(dated: DatedMemory, tmp_path: Path):
    dated.at.write("memory/tokens.md", SECRET_NOTE)
    dated.at.write(f"memory/{TOKEN}.md", "# File\n\n- a fact of it\n")
    commit_on(dated.at, "2026-02-01")
    changed = SECRET_NOTE.replace("- password: " + PASSWORD, "- password: " + PASSWORD[::-1])
    dated.at.write("memory/tokens.md", changed.replace("the door", "a door"))
    commit_on(dated.at, "2026-02-02")
    dated.at.write("memory/tokens.md", changed.replace(f"- the door: {TOKEN}\n", ""))
    dated.at.git("add", "-A")
    date = "2026-02-03T09:00:00+00:00"
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_NAME": TOKEN}
    world = World(dated.at.world.home, {**dated.at.world.environment, **dates})
    message = f"memory: forget the door\n\n{TOKEN}\n\nMdmem-Op: forget\nMdmem-Reason: {TOKEN}"
    Desk(world, dated.at.root).commit(message)
    export(dated.on("2026-02-03"), tmp_path / "out")
    found = all_files(tmp_path / "out")
    everything = "\n".join([*found, *(content.decode() for content in found.values())])
    text = re.sub(r"</?(?:del|ins|mark)>", "", everything)
    for secret in (TOKEN, PASSWORD, PASSWORD[::-1], TOKEN[4:].lower(), TOKEN[:20]):
        assert secret not in text
    assert "[REDACTED:github-token]" in text
    assert "[REDACTED:password]" in text
    assert "a fact of it" in text


@pytest.mark.parametrize(
    ("names", "is_export"),
    [
        (["notes.txt"], False),
        (["a/b/notes.txt"], False),
        (["index.html"], False),
        (["CNAME"], True),
    ],
)
def test_a_folder_with_other_files_is_refused_and_untouched(
    memory: Memory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: list[str],
    is_export: bool,
):
    monkeypatch.setattr(exporting, "_write", fake_pages("new"))
    out = tmp_path / "out"
    if is_export:
        export(memory, out)
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("mine")
    before = all_files(out)
    with pytest.raises(PathProblem) as refused:
        export(memory, out)
    assert refused.value.code == "file-exists"
    assert names[0] in refused.value.message
    assert all_files(out) == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".mdmem")) == []


def fake_pages(text: str) -> Callable[[Memory, Path], int]:
    """A writer of one page, for tests of the folder around it."""

    def write(_: Memory, folder: Path) -> int:
        folder.mkdir()
        (folder / START).write_text(text)
        (folder / MARKER).write_text(f"{START}\n")
        return 1

    return write


def test_an_earlier_export_an_empty_folder_and_a_link_to_one_are_replaced(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out, link = tmp_path / "out", tmp_path / "link"
    out.mkdir(mode=0o750)
    link.symlink_to(out)
    for text, folder in (("one", out), ("two", out), ("three", link)):
        monkeypatch.setattr(exporting, "_write", fake_pages(text))
        assert export(memory, folder) == 1
        assert (out / START).read_text() == text
    assert link.is_symlink()
    assert out.stat().st_mode & 0o777 == 0o750
    monkeypatch.setattr(files, "_renameat2", lambda: None)
    monkeypatch.setattr(exporting, "_write", fake_pages("four"))
    export(memory, out)
    export(memory, tmp_path / "deep" / "er")
    assert (out / START).read_text() == (tmp_path / "deep" / "er" / START).read_text() == "four"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".mdmem")]


def test_a_file_is_refused(memory: Memory, tmp_path: Path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(PathProblem, match="is not a folder"):
        export(memory, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_what_fails_half_way_leaves_the_earlier_export(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(exporting, "_write", fake_pages("one"))
    export(memory, tmp_path / "out")

    def fail(_: Memory, folder: Path) -> int:
        folder.mkdir()
        (folder / START).write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "_write", fail)
    with pytest.raises(KeyboardInterrupt):
        export(memory, tmp_path / "out")
    assert (tmp_path / "out" / START).read_text() == "one"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".mdmem")]


def test_a_file_that_comes_while_pages_are_written_is_kept(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "out"
    monkeypatch.setattr(exporting, "_write", fake_pages("one"))
    export(memory, out)

    def write(memory: Memory, folder: Path) -> int:
        (out / "mine.txt").write_text("mine")
        return fake_pages("two")(memory, folder)

    monkeypatch.setattr(exporting, "_write", write)
    with pytest.raises(PathProblem):
        export(memory, out)
    assert {name: text for name, text in all_files(out).items() if name != MARKER} == {
        START: b"one",
        "mine.txt": b"mine",
    }


def test_nothing_is_committed(world: World, repository: Path, tmp_path: Path):
    (repository / "MEMORY.md").write_text("# Memory\n\n- a fact\n")
    with pytest.raises(HistoryProblem, match="nothing is committed"):
        export(Memory.open(repository, os.environ), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.costly
def test_a_workspace_in_a_folder_of_a_work_tree_beside_its_repository(
    world: World, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Only its own Markdown is read, in a linked work tree too; folders elsewhere are not."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far.md").write_text("# Far\n\n- far away\n")
    at = desk(world, repository)
    at.write("docs/MEMORY.md", "# Memory\n\n- of the docs\n")
    at.write("docs/mdmem.toml", f'extra_paths = ["{elsewhere}", "more"]\n')
    own = world.home / ".config" / "mdmem" / "config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(f'extra_paths = ["{elsewhere}"]\n')
    at.write("docs/more/topic.md", "# Topic\n\n- of a topic\n")
    at.write("src/big.bin", b"\0" * 10_000)
    at.commit()
    at.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    shutil.copy(repository / "docs/MEMORY.md", tmp_path / "side/docs/MEMORY.md")
    Desk(world, tmp_path / "side").write("docs/more/topic.md", "# Topic\n\n- on the side\n")
    Desk(world, tmp_path / "side").commit()
    export(Memory.open(tmp_path / "side/docs", os.environ), tmp_path / "out")
    text = "".join(pages_of(tmp_path / "out").values())
    assert "of the docs" in text
    assert "on the side" in text
    assert "far away" not in text
    assert "Stripe" not in text


NAMES = [
    *("memory/a.md", "memory/A.md", "memory/a.MD", "memory/a-md", "memory/CON.md", "memory/a b.md"),
    *("memory/a%20b.md", "memory/ä.md", "memory/a\u0308.md", 'memory/"<&>.md', "memory/a?#.md"),
    *("memory/\udcff.md", "memory/" + "long" * 60 + ".md", "memory/" + "long" * 60 + "b.md"),
]


def test_names_are_safe_anywhere_and_tell_all_things_apart():
    links = Links()
    addresses = [links.file(name) for name in NAMES]
    sections = [("x",), ("X",), ("x", "2"), ("x 2",), ("x-2",), ()]
    addresses += [links.section("memory/a.md", section) for section in sections]
    addresses.append(links.section("memory/a.md", ("x",), nth=2))
    addresses += [links.section("memory/a.md x", ()), links.file("memory/a.md", **{"from": 3})]
    addresses += [links.fact("7dc700a0"), links.commit("0" * 64)]
    made = list(map(file_name, addresses))
    assert len({name.casefold() for name in made}) == len(made)
    for name in made:
        assert re.fullmatch(r"(?:file|section|fact|commit)/[a-z0-9][a-z0-9-]*\.html", name)
        assert len(name) < 100


def test_what_needs_a_server_is_no_file():
    links = Links()
    assert not any(
        map(
            file_name,
            [
                *(links.search(q="x"), links.review(), links.review("1"), links.context()),
                *(links.health(), links.do("forget"), links.static("1/page.js")),
                *(links.days(who="ada"), links.days(before="2026-02-03", file="x")),
                links.section("memory/a.md", ("x",), at=1),
                links.file("memory/a.md", at="2026-02-03"),
            ],
        )
    )
    assert file_name(links.days(before="2026-02-03")) == "days-2026-02-03.html"


def test_the_command(
    memory: Memory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(exporting, "_write", fake_pages("one"))
    monkeypatch.chdir(memory.workspace.root)
    out = tmp_path / "out"
    assert main(["page", "--export", str(out)]) == 0
    assert capsys.readouterr().out == f"exported 1 page to {out}\n"
    assert main(["page", "--export", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"pages": 1, "folder": str(out)}
    assert main(["page", "--since", "2026-02-01"]) == 2
    assert main(["page", "--export", str(out), "--since", "no day"]) == 2
    assert "since" in capsys.readouterr().err


def test_it_needs_the_extra(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "mdmem.folder.installed.find_spec", lambda name: None if name == "jinja2" else name
    )
    monkeypatch.chdir(memory.workspace.root)
    assert main(["page", "--export", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()
