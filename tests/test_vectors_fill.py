"""Embedding what has no vector: what is sent, in which order, and what becomes of it."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from test_secrets import EVERYTHING
from test_vectors_source import server as server
from vector_models import VectorServer, answer
from workspaces import Desk, desk

from mdmem.folder import files
from mdmem.githooks.hooks import catch_up
from mdmem.index.catching_up import fresh_index
from mdmem.llm.asking import read_records
from mdmem.memory import Memory
from mdmem.model.writes import Purge
from mdmem.secrets import find
from mdmem.show.reads import status_text
from mdmem.show.values import to_json
from mdmem.vectors import store as fill
from mdmem.vectors.store import FOLDER_NAME, ROWS_NAME, TABLE_NAME, opened_store

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
CURATED = f"""# Memory

## Home

- the flat has a blue door
- the token is {TOKEN}

<private>

- a secret garden

</private>

- open again
"""


def set_up(world: World, url: str, **more: str) -> None:
    own = world.home / ".config/mdmem/config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    values = {"vectors": "always", "vectors_url": url, "vectors_name": "words", **more}
    own.write_text("".join(f'{name} = "{value}"\n' for name, value in values.items()))


@pytest.fixture
def at(world: World, repository: Path, server: VectorServer) -> Desk:
    at = desk(world, repository)
    set_up(world, server.url)
    return at


def filled(at: Desk) -> None:
    workspace = at.workspace
    fresh_index(workspace, lambda _: None)
    fill.fill_store(workspace)


def only_folder(at: Desk) -> Path:
    (folder,) = (at.workspace.state / FOLDER_NAME).iterdir()
    return folder


def test_sent_texts(at: Desk, server: VectorServer):
    at.write("MEMORY.md", CURATED)
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n- did you see it?\n- yes\n")
    filled(at)
    assert set(server.texts) >= {
        "Memory > Home\nthe flat has a blue door",
        "Memory > Home\nthe token is [REDACTED:github-token]",
        "Memory > Home\nopen again",
    }
    assert any(text.endswith("did you see it?\nyes") for text in server.texts)
    sent = "".join(server.texts)
    assert "garden" not in sent
    assert TOKEN not in sent


PRIVATE_LOG = """# 2026-03-04

- before <private> some
- garden gate
- the garden </private>
- yes
- no <Private >garden</private>
- perhaps

<PRIVATE>

## Garden

- garden wall

</PRIVATE>

- of the heading

## Evening

- done
"""


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_private_text_is_not_sent_with_what_is_beside_it(at: Desk, server: VectorServer, end: str):
    at.write("memory/2026-03-04.md", PRIVATE_LOG.replace("\n", end))
    filled(at)
    assert {each for each in server.texts if each.startswith("2026")} == {
        "2026-03-04\nyes",
        "2026-03-04\nperhaps",
        "2026-03-04 > Evening\ndone",
    }
    assert "garden" not in "".join(server.texts).casefold()


def test_a_file_that_changed_since_it_was_indexed(at: Desk, server: VectorServer):
    at.write("MEMORY.md", CURATED)
    workspace = at.workspace
    fresh_index(workspace, lambda _: None)
    at.write("MEMORY.md", f"- first\n\n- second\n\n{CURATED}")
    fill.fill_store(workspace)
    assert "Memory > Home\nopen again" in server.texts
    assert "second" not in server.texts
    assert "garden" not in "".join(server.texts)


def test_no_kind_of_secret_is_sent(at: Desk, server: VectorServer):
    lines = "".join(f"- see {text}\n" for _, text in EVERYTHING if "\n" not in text)
    fences = "".join(f"```\n{text}\n```\n\n" for _, text in EVERYTHING if "\n" in text)
    at.write("MEMORY.md", f"# Memory\n\n{lines}\n{fences}")
    filled(at)
    sent = "\n".join(server.texts)
    assert len({kind for kind, _ in EVERYTHING}) >= 45
    assert sent.count("[REDACTED:") >= len(EVERYTHING)
    assert not find(sent, strict=True)
    stored = b"".join(path.read_bytes() for path in only_folder(at).iterdir())
    for kind, text in EVERYTHING:
        assert text not in sent, kind
        assert text.encode() not in stored, kind


@pytest.mark.parametrize("shown", [4, 20, 39])
def test_a_secret_that_is_cut_off_is_not_sent(at: Desk, server: VectorServer, shown: int):
    text = "x" * (2000 - len("Memory > Home\n ") - shown)
    heading = "x" * (240 - len("Memory >  ") - shown)
    at.write(
        "MEMORY.md",
        f"# Memory\n\n## Home\n\n- {text} {TOKEN}\n\n## {heading} {TOKEN}\n\n- yes\n",
    )
    filled(at)
    assert len(server.texts) == 2
    assert not any(TOKEN[:4] in sent for sent in server.texts)


def test_filled_once_newest_first(at: Desk, server: VectorServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fill, "BATCH", 2)
    at.write("MEMORY.md", "# Memory\n\n- old\n")
    at.commit()
    for day in (1, 2, 3):
        at.write(f"memory/2026-03-0{day}.md", f"- day {day}, which was long\n")
    filled(at)
    filled(at)
    assert [len(each) for each in server.requests] == [2, 2]
    assert [text.rpartition("day ")[2][:1] for text in server.texts[1:]] == ["3", "2", "1"]
    status = Memory(at.workspace).status().vectors
    assert status is not None
    assert (status.rows, status.missing, status.model) == (4, 0, "words")


def test_moved_and_reverted_texts_are_found_again(at: Desk, server: VectorServer):
    at.write("MEMORY.md", "# Memory\n\n- one\n- two\n")
    filled(at)
    at.write("MEMORY.md", "# Memory\n\n- two\n")
    filled(at)
    at.write("MEMORY.md", "# Memory\n\n- two\n- one\n")
    filled(at)
    assert len(server.texts) == 2


def test_a_full_rebuild_drops_what_no_entry_has(at: Desk, server: VectorServer):
    at.write("MEMORY.md", "# Memory\n\n- one\n- two\n")
    at.commit()
    at.write("MEMORY.md", "# Memory\n\n- one\n- three, never committed\n")
    filled(at)
    at.write("MEMORY.md", "# Memory\n\n- one\n- two\n")
    filled(at)
    at.write("MEMORY.md", "# Memory\n\n- one\n")
    at.commit()
    Memory(at.workspace).reindex(full=True)
    with opened_store(only_folder(at)) as store:
        assert store.count == 2  # the past one too


def test_a_failure_ends_it_and_the_next_goes_on(
    at: Desk, server: VectorServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fill, "BATCH", 2)
    at.write("MEMORY.md", "# Memory\n\n- a\n- b\n- c\n- d\n- e\n")

    def failing(texts: list[str]) -> Any:
        return answer(texts) if len(server.requests) < 2 else b"no"

    server.answer = failing
    filled(at)
    status = Memory(at.workspace).status()
    assert to_json(status)["vectors"] == {"rows": 2, "missing": 3, "model": "words"}
    assert "2 by words, 3 missing" in status_text(status)
    server.answer = answer
    filled(at)
    assert to_json(Memory(at.workspace).status())["vectors"]["missing"] == 0
    assert len(set(server.texts)) == 5
    outcomes = [each.outcome for each in read_records(at.workspace.state)]
    assert outcomes == ["answered", "bad-answer", "answered", "answered"]


def test_one_process_at_a_time(at: Desk, server: VectorServer):
    at.workspace.ensure_state()
    with files.lock(at.workspace.state / fill.FILL_LOCK, 0):
        filled(at)
    assert not server.requests


def test_catching_up_fills(at: Desk, server: VectorServer):
    catch_up([at.root])
    assert Memory(at.workspace).status().vectors is not None
    assert server.texts


def test_off_leaves_no_trace(at: Desk, server: VectorServer):
    set_up(at.world, server.url, vectors="off")
    catch_up([at.root])
    assert not server.requests
    assert not (at.workspace.state / FOLDER_NAME).exists()
    assert "vectors" not in to_json(Memory(at.workspace).status())


@pytest.mark.costly
def test_purged_text_is_in_no_request_row_or_page(at: Desk, server: VectorServer):
    at.write("MEMORY.md", "# Memory\n\n- a quiet heron\n- two\n")
    at.commit()
    filled(at)
    table = sqlite3.connect(only_folder(at) / TABLE_NAME)
    keys = [key for (key,) in table.execute("SELECT key FROM texts")]
    table.close()
    Memory(at.workspace).purge(Purge("a quiet heron"))
    table = sqlite3.connect(only_folder(at) / TABLE_NAME)
    left = [key for (key,) in table.execute("SELECT key FROM texts")]
    table.close()
    (gone,) = set(keys).difference(left)
    assert len(left) == len(keys) - 1
    assert gone.to_bytes(8, "big") not in (only_folder(at) / TABLE_NAME).read_bytes()
    rows = (only_folder(at) / ROWS_NAME).read_bytes()
    size = len(rows) // len(keys)
    assert bytes(size) in {rows[start : start + size] for start in range(0, len(rows), size)}
    server.requests.clear()
    filled(at)
    assert not server.requests


@pytest.mark.costly
def test_a_purge_takes_out_the_entry_after_it_too(at: Desk, server: VectorServer):
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n- a quiet heron\n- yes, by the old mill\n")
    at.commit()
    filled(at)
    assert any("heron\nyes" in text for text in server.texts)
    Memory(at.workspace).purge(Purge("A quiet heron"))
    server.requests.clear()
    filled(at)
    assert [text.rpartition("\n")[2] for text in server.texts] == ["yes, by the old mill"]
    assert "heron" not in "".join(server.texts).casefold()


def test_a_fill_that_a_purge_has_pruned_writes_nothing(at: Desk, server: VectorServer):
    def pruned(texts: list[str]) -> Any:
        with opened_store(only_folder(at)) as store:
            store.keep_only(())
        return answer(texts)

    server.answer = pruned
    filled(at)
    with opened_store(only_folder(at)) as store:
        assert store.count == 0


def test_a_fill_that_a_purge_overtakes_writes_nothing(at: Desk, server: VectorServer):
    def purged(texts: list[str]) -> Any:
        files.remove_tree(at.workspace.state / FOLDER_NAME)
        return answer(texts)

    server.answer = purged
    filled(at)
    assert not (at.workspace.state / FOLDER_NAME).exists()
