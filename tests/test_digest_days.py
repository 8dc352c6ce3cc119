"""The day and the minute of an entry are those of its message in the user's zone, at midnight and
on the days on which clocks change.
"""

import time
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from pi_sessions import Transcript, digest, write_session
from week_script import read_rows, values
from workspaces import Desk, desk

ROWS = read_rows("clock_changes")
MOMENTS = {
    zone: [(row["utc"], row["local"]) for row in ROWS if row["zone"] == zone]
    for zone in dict.fromkeys(values(ROWS, "zone"))
}


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return partial(write_session, tmp_path)


@pytest.fixture(params=["setting", "system"])
def set_zone(request: pytest.FixtureRequest, at: Desk, monkeypatch: pytest.MonkeyPatch):
    """Set the user's zone, by a setting or by that of the system."""

    def use(zone: str) -> None:
        monkeypatch.setenv("TZ", zone if request.param == "system" else "Pacific/Honolulu")
        time.tzset()
        if request.param == "setting":
            at.write("mdmem.toml", f'timezone = "{zone}"\n')
            at.commit()

    yield use
    monkeypatch.undo()
    time.tzset()


@pytest.mark.every(2)
@pytest.mark.parametrize("now", [None, "2026-10-25T02:30:00", "2027-01-01T00:00:00+09:00"])
@pytest.mark.parametrize("zone", MOMENTS)
def test_days_and_minutes(
    at: Desk,
    transcript: Transcript,
    set_zone,
    monkeypatch: pytest.MonkeyPatch,
    zone: str,
    now: str | None,
):
    if now is None:
        monkeypatch.delenv("MDMEM_NOW", raising=False)
    else:
        monkeypatch.setenv("MDMEM_NOW", now)
    set_zone(zone)
    paths = [
        transcript(
            f"Remember that pump {number} is old.",
            session=f"{number:02}a1e000",
            start=datetime.fromisoformat(f"{moment}Z"),
        )
        for number, (moment, _) in enumerate(MOMENTS[zone])
    ]
    result = digest(at, *paths)
    assert [f"{entry.day} {entry.minute}" for entry in result.entries] == [
        local for _, local in MOMENTS[zone]
    ]
    for number, (_, local) in enumerate(MOMENTS[zone]):
        day, minute = local.split()
        section = at.read(f"memory/{day}.md").split(f"\n## {minute}\n")[1].split("\n## ")[0]
        assert f"- [fact] Remember that pump {number} is old.\n" in section


def test_yesterday_is_seen_from_the_day_of_the_message(
    at: Desk, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
):
    at.write("mdmem.toml", 'timezone = "Europe/Berlin"\n')
    text = "Remember that we sold the boat yesterday."
    moments = {"2026-03-28T22:59Z": "(2026-03-27)", "2026-03-28T23:00Z": "(2026-03-28)"}
    for number, moment in enumerate(moments):
        result = digest(
            at, transcript(text, session=f"{number}a1e0000", start=datetime.fromisoformat(moment))
        )
        assert moments[moment] in result.entries[0].text


def test_a_message_without_a_time_has_that_of_the_one_before(
    at: Desk, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
):
    at.write("mdmem.toml", 'timezone = "Asia/Kolkata"\n')
    path = transcript(
        "ok", "Remember that pump 7 is old.", start=datetime.fromisoformat("2026-06-30T18:29Z")
    )
    first, second, third = path.read_text().splitlines()
    path.write_text(
        "\n".join([first, second, third.replace('"timestamp": "2026-06-30T18:30:00.000Z", ', "")])
        + "\n"
    )
    (entry,) = digest(at, path).entries
    assert (f"{entry.day}", entry.minute) == ("2026-06-30", "23:59")
