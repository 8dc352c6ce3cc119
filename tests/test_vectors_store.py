"""Vectors on disk: by text, in rows that nothing but the table names."""

import math
import sqlite3
import subprocess
import sys
from array import array
from pathlib import Path

import pytest
from vector_models import vector

from mdmem.llm.requests import ModelFailure
from mdmem.vectors.source import EmbeddingModel
from mdmem.vectors.store import (
    ROWS_NAME,
    SCALE_BYTES,
    TABLE_NAME,
    EmbeddedText,
    VectorStore,
    opened_store,
    packed,
    store_folder,
)

MODEL = EmbeddingModel("Ada's model", ("", ""))


KILLED_ADDS = """
import os, sys
from pathlib import Path
from test_vectors_store import texts
from mdmem.vectors.store import opened_store

folder = Path(sys.argv[1])

def add():
    with opened_store(folder) as store:
        store.drop_lost_rows()
        for most in range(1, 7):
            store.add(texts(*range(most)))

def end_at(last):
    lines = 0
    def trace(frame, event, argument):
        nonlocal lines
        if not frame.f_code.co_filename.endswith("store.py"):
            return None
        lines += event == "line"
        if lines == last:
            os._exit(9)
        return trace
    return trace

kills = 0
while True:
    child = os.fork()
    if child == 0:
        sys.settrace(end_at(5 * kills + 1))
        add()
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
    kills += 1
print(kills)
"""
"""Adds six texts to a store in process after process, each killed some lines later."""


def unit(text: str) -> "array[float]":
    values = vector(text)
    return array("f", [value / math.hypot(*values) for value in values])


def texts(*keys: int) -> list[EmbeddedText]:
    return [EmbeddedText(key=key, day=key, vector=unit(f"text {key}")) for key in keys]


def row_of(folder: Path, number: int) -> bytes:
    size = SCALE_BYTES + len(unit(""))
    return (folder / ROWS_NAME).read_bytes()[number * size : (number + 1) * size]


def test_each_text_has_one_row(tmp_path: Path):
    with opened_store(tmp_path) as store:
        store.add(texts(7, 8))
        store.add(texts(8, 9))
        assert store.rows([7, 8, 9, 10]) == {7: 0, 8: 1, 9: 2}
        assert store.keys([2, 0]) == {2: 9, 0: 7}
        assert store.missing([10, 9, 11]) == [10, 11]
        assert store.newest_rows(2) == [1, 2]
    assert row_of(tmp_path, 2) == packed(unit("text 9"))


def test_a_row_written_and_not_named_is_written_again(tmp_path: Path):
    with opened_store(tmp_path) as store:
        store.add(texts(7))
    with (tmp_path / ROWS_NAME).open("ab") as file:
        file.write(b"half a row")
    with opened_store(tmp_path) as store:
        store.drop_lost_rows()
        store.add(texts(8))
        assert store.rows([7, 8]) == {7: 0, 8: 1}
    assert row_of(tmp_path, 1) == packed(unit("text 8"))


def test_rows_that_were_cut_off_are_made_again(tmp_path: Path):
    with opened_store(tmp_path) as store:
        store.add(texts(7, 8))
    data = (tmp_path / ROWS_NAME).read_bytes()
    (tmp_path / ROWS_NAME).write_bytes(data[:-1])
    with opened_store(tmp_path) as store:
        store.drop_lost_rows()
        assert store.missing([7, 8]) == [8]


@pytest.mark.costly
def test_killed_at_any_line(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED_ADDS, str(tmp_path)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) >= 20
    with opened_store(tmp_path) as store:
        assert store.rows(range(6)) == {key: key for key in range(6)}
        assert store.count == store.whole_rows == 6
    for key in range(6):
        assert row_of(tmp_path, key) == packed(unit(f"text {key}"))


def test_removed_texts_leave_no_byte(tmp_path: Path):
    with opened_store(tmp_path) as store:
        store.add(texts(*range(2**40, 2**40 + 4)))
        store.remove([2**40 + 1])
        assert store.missing([2**40 + 1]) == [2**40 + 1]
        store.keep_only({2**40})
        assert store.count == 1
    assert set(row_of(tmp_path, 1)) == set(row_of(tmp_path, 2)) == {0}
    held = (tmp_path / TABLE_NAME).read_bytes()
    assert (2**40 + 1).to_bytes(6, "big") not in held
    assert (2**40).to_bytes(6, "big") in held


def test_skipped_texts_are_not_missing(tmp_path: Path):
    with opened_store(tmp_path) as store:
        store.skip([7])
        assert (store.missing([7, 8]), store.rows([7]), store.count) == ([8], {7: None}, 0)


def test_another_length_is_refused(tmp_path: Path):
    with opened_store(tmp_path) as store:
        store.add(texts(7))
        with pytest.raises(ModelFailure):
            store.add([EmbeddedText(key=8, day=8, vector=array("f", [1.0]))])
        assert store.missing([8]) == [8]


def test_another_name_or_prefix_is_another_folder(tmp_path: Path):
    folders = {
        store_folder(tmp_path, model)
        for model in (
            MODEL,
            EmbeddingModel("other", ("", "")),
            EmbeddingModel("Ada's model", ("", "passage: ")),
        )
    }
    assert len(folders) == 3
    assert store_folder(tmp_path, MODEL).name.startswith("Ada-s-model-")


def test_kept_questions_have_no_words(tmp_path: Path):
    with opened_store(tmp_path) as store:
        for number in range(250):
            store.keep_question(f"zebra {number}", unit("zebra"))
        assert store.question("zebra 249") == unit("zebra")
        assert store.question("zebra 0") is None
    assert b"zebra" not in (tmp_path / TABLE_NAME).read_bytes()


def test_a_damaged_table_is_replaced(tmp_path: Path):
    (tmp_path / TABLE_NAME).write_bytes(b"no database" * 500)
    with opened_store(tmp_path) as store:
        store.add(texts(7))
        assert store.count == 1


def test_a_store_takes_little_room(tmp_path: Path):
    values = array("f", [1 / math.sqrt(384)] * 384)
    with opened_store(tmp_path) as store:
        store.add([EmbeddedText(key=key * 2**50, day=1, vector=values) for key in range(1, 2000)])
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size / 2000 < 600


def test_closed_after_a_failure(tmp_path: Path):
    (tmp_path / TABLE_NAME).mkdir()
    with pytest.raises(sqlite3.Error):
        VectorStore(tmp_path)
