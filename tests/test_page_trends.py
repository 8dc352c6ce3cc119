"""The page of trends, from the history of a real repository and from events."""

from datetime import UTC, datetime, timedelta

import pytest
from dated_memory import DatedMemory, change_employers
from dated_memory import dated as dated
from dated_memory import dated_desk as dated_desk
from page_readers import read, words

from mdmem.events import Event, Outcome, Quality, record_event
from mdmem.model import Source
from mdmem.model.history import ShowTrends
from mdmem.model.searches import Search
from mdmem.model.writes import Log, Remember, WriteOptions
from mdmem.show.values import to_json

STATED = WriteOptions(source=Source.USER_STATED)
HOSTILE = "<img src=x onerror=alert(1)>"


def test_it_shows_charts_with_their_figures_and_tables(dated: DatedMemory) -> None:
    change_employers(dated)
    dated.on("2026-04-11").apply(Remember("tea", key="drink", section="Home", options=STATED))
    dated.on("2026-04-12").apply(
        Log("it rained", options=WriteOptions(actor=HOSTILE, source=Source.AUTO))
    )
    memory = dated.on("2026-04-12")
    answer = read(memory, "/trends")
    assert answer.status == 200
    assert answer.text.count('role="img"') >= 4
    assert answer.text.count("<table>") >= 3
    assert answer.text.count("<h1") == 1
    text = words(answer)
    assert "42 days, 2 March to 12 April" in text
    last = memory.trends(ShowTrends(42)).days[-1]
    assert f"{last.stated} stated, {last.inferred} inferred, {last.automatic} automatic" in text
    assert "2 new, 2 replaced, 0 gone" in text
    assert "Room in MEMORY.md" in text
    assert "of 200 lines" in text
    assert HOSTILE not in answer.text
    assert HOSTILE.replace("<", "&lt;").replace(">", "&gt;") in answer.text


def test_it_says_what_a_program_is_told(dated: DatedMemory) -> None:
    change_employers(dated)
    memory = dated.on("2026-04-12")
    answer = read(memory, "/trends", accept="application/json").json
    told = to_json(memory.trends(ShowTrends(42)))
    assert answer["trends"]["current"] == told["current"]
    assert answer["trends"]["days"] == told["days"]
    assert answer["searches"]["weeks"] == []


def test_searches_are_shown_by_week(dated: DatedMemory) -> None:
    memory = dated.on("2026-04-12")
    assert "No searches yet" in words(read(memory, "/trends"))
    memory.search(Search("Oslo"))
    memory.search(Search("zzzqqq"))
    text = words(read(memory, "/trends"))
    assert "50% without a hit, of 2 searches in 1 week" in text
    assert "6 Apr 2 50%" in text


def test_drift_is_told_in_words(dated: DatedMemory) -> None:
    memory = dated.on("2026-04-12")
    memory.workspace.ensure_state()
    for week, hits in enumerate((5, 6, 5, 6, 5, 6, 1)):
        for number in range(6):
            moment = datetime(2026, 2, 25, 10, number, tzinfo=UTC) + timedelta(weeks=week)
            answer = Quality(words=1, hits=hits)
            searched = Event("search", 5.0, Outcome.DONE, quality=answer, time=moment)
            record_event(memory.workspace.state, searched)
    text = words(read(memory, "/trends"))
    assert "2026-W15 drifts: the number of hits is 1.00; expected from the weeks before:" in text


def test_an_empty_memory_says_what_would_be_here(dated: DatedMemory) -> None:
    answer = read(dated.on("2027-01-01"), "/trends")
    assert answer.status == 200
    assert "No search" in words(answer)


@pytest.mark.parametrize(
    ("text", "said"), [("- a\n" * 300, "150%"), ("# Memory\n", "0%")], ids=["over", "under"]
)
def test_the_room_is_told_in_percent(dated: DatedMemory, text: str, said: str) -> None:
    dated.at.write("MEMORY.md", text)
    assert f"Room in MEMORY.md {said} used:" in words(read(dated.on("2026-04-12"), "/trends"))
