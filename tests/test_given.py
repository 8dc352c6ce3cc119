"""Sessions and what they were given: records, the guard, the progress of a transcript."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from mdmem.context import given
from mdmem.context.given import SessionRecord, read_record, update_record

BLOCK = "<mdmem-context>\nLong-term memory, for reference.\n## Memory · MEMORY.md\n- :9 drink: tea\n</mdmem-context>"


class TestBlocks:
    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ("nothing", "nothing"),
            (f"before {BLOCK} after", "before  after"),
            (f"{BLOCK}between{BLOCK}", "between"),
            ("before <mdmem-context>\nnever closed", "before "),
            ("<MDMEM-CONTEXT>\nx</Mdmem-Context >y", "y"),
            ("only a closing </mdmem-context> tag", "only a closing  tag"),
            ("&lt;mdmem-context&gt;x&lt;/mdmem-context&gt;y", "y"),
            ("<mdmem-contexts> is another word", "<mdmem-contexts> is another word"),
        ],
    )
    def test_stripped(self, text: str, left: str):
        assert given.strip_blocks(text) == left

    @examples(
        st.lists(st.sampled_from(["<mdmem-context>", "</mdmem-context>", "word", "\n"])).map(
            "".join
        )
    )
    def test_no_mark_is_left(self, text: str):
        assert "mdmem-context" not in given.strip_blocks(text)


class TestRestated:
    @pytest.mark.parametrize(
        ("text", "entry", "same"),
        [
            ("drink: tea", "drink: tea", True),
            ("[preference] drink: tea #home", "drink: tea", True),
            ("drink: tea", "drink: coffee", False),
            ("drink: Tea", "drink: tea", True),
            ("drink: tea", "breakfast: tea", False),
            (
                "the staging server has moved to Frankfurt",
                "the staging server moved to Frankfurt",
                True,
            ),
            (
                "the staging server has moved to Dublin",
                "the staging server moved to Frankfurt",
                False,
            ),
            ("the importer took 11 minutes", "the importer took 12 minutes", False),
            ("the importer never fails on Sundays", "the importer fails on Sundays", False),
            ("the heating was mended", "a new desk for the study", False),
        ],
    )
    def test_says_the_same(self, text: str, entry: str, same: bool):
        assert given.restates(text, entry) is same

    def test_dropped_and_counted(self):
        texts = [
            ("drink: tea", ["drink: tea"]),
            ("the heating was mended", []),
            ("a new desk", ["an old chair"]),
        ]
        ids = {given.text_id("the heating was mended")}
        assert given.drop_given(texts, ids) == given.GuardedTexts(("a new desk",), 2)


class TestRecords:
    def test_there_is_none(self, tmp_path: Path):
        assert read_record(tmp_path, "s") == SessionRecord("s")

    def test_kept(self, tmp_path: Path):
        record = update_record(
            tmp_path, "s", lambda record: record.with_given(["a", "b", "a"]).with_block("text")
        )
        assert read_record(tmp_path, "s") == record
        assert record.given == ("a", "b")
        assert read_record(tmp_path, "other") == SessionRecord("other")
        (path,) = (tmp_path / "given").iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        assert set(json.loads(path.read_text())) >= {
            "session",
            "given",
            "block",
            "cycle",
            "flushed",
            "tokens",
        }

    @pytest.mark.parametrize(
        "data", [b"", b"{", b"[]", b'{"given": 3}', b"\xff", b'{"given": [], "cycle": "x"}']
    )
    def test_a_damaged_one_costs_a_repetition(self, tmp_path: Path, data: bytes):
        update_record(tmp_path, "s", lambda record: record.with_given(["a"]))
        (path,) = (tmp_path / "given").iterdir()
        path.write_bytes(data)
        assert read_record(tmp_path, "s") == SessionRecord("s")
        assert update_record(tmp_path, "s", lambda record: record.with_given(["b"])).given == ("b",)

    def test_a_compaction_forgets_and_keeps_the_cycle_before_until_its_summary(self):
        record = SessionRecord("s").with_given(["a"]).with_block("text").in_next_cycle()
        assert (record.given, record.before, record.block, record.cycle) == ((), ("a",), None, 1)
        assert record.with_given(["b"]).after_summary() == SessionRecord(
            "s", given=("b",), earlier=("a",), cycle=1
        )
        assert record.with_given(["b"]).in_next_cycle().with_given(["c"]).all_given == {
            "a",
            "b",
            "c",
        }

    def test_old_ones_go_when_a_new_one_comes(self, tmp_path: Path):
        for name in ("old", "young"):
            update_record(tmp_path, name, lambda record: record.with_given(["a"]))
        month = 31 * 24 * 3600
        old = next(
            path
            for path in (tmp_path / "given").iterdir()
            if json.loads(path.read_text())["session"] == "old"
        )
        os.utime(old, (time.time() - month, time.time() - month))
        update_record(tmp_path, "new", lambda record: record)
        assert {
            json.loads(path.read_text())["session"] for path in (tmp_path / "given").iterdir()
        } == {"young", "new"}

    def test_nothing_is_lost_between_callers(self, tmp_path: Path):
        with ThreadPoolExecutor(4) as pool:
            list(
                pool.map(
                    lambda n: update_record(
                        tmp_path, "s", lambda record: record.with_given([str(n)])
                    ),
                    range(40),
                )
            )
        assert set(read_record(tmp_path, "s").given) == set(map(str, range(40)))


def line(kind: str, **values: object) -> bytes:
    return json.dumps({"type": kind, "sessionId": "5a", **values}).encode() + b"\n"


def answer(tokens: int, **values: object) -> bytes:
    usage = {
        "input_tokens": 1,
        "cache_read_input_tokens": tokens - 4,
        "cache_creation_input_tokens": 1,
        "output_tokens": 2,
    }
    return line("assistant", message={"role": "assistant", "usage": usage}, **values)


BOUNDARY = line("system", subtype="compact_boundary")


class TestTranscript:
    @pytest.mark.parametrize(
        ("lines", "tokens", "cycle"),
        [
            ([], 0, 0),
            ([answer(100)], 100, 0),
            ([answer(100), answer(300)], 300, 0),
            ([answer(100), BOUNDARY], 0, 1),
            ([answer(100), BOUNDARY, answer(40), BOUNDARY, answer(50)], 50, 2),
            ([answer(100), answer(900, isSidechain=True)], 100, 0),
            ([answer(100), line("assistant", message={"usage": {"input_tokens": 0}})], 100, 0),
            ([answer(100), b"no json\n", b'{"half', b"[]\n", b'"usage"\n'], 100, 0),
            ([answer(100), line("user", message="compact_boundary")], 100, 0),
        ],
    )
    def test_how_far_it_is(self, lines: list[bytes], tokens: int, cycle: int):
        progress = given.read_progress(lines)
        assert (progress.tokens, progress.cycle) == (tokens, cycle)
        assert progress.session == ("5a" if lines else None)
