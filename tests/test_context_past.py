"""`context --as-of`: today's rules over memory as it was, with nothing recorded."""

import pytest
from dated_memory import DatedMemory, change_employers
from dated_memory import dated as dated
from dated_memory import dated_desk as dated_desk
from page_readers import commit_on

from mdmem.model.errors import HistoryProblem, UsageProblem
from mdmem.model.prompts import BuildContext, ContextBlock
from mdmem.model.writes import Forget, Log, Remember

EVENING, LATER = "2026-05-05T20:00:00", "2026-06-05"
TASK = "## Paint\n\n- goal: a blue door\n"
PROMPT = "where is the spare key?"


@pytest.fixture
def evening(dated: DatedMemory) -> dict[str | None, str]:
    """The blocks that were given on an evening, by prompt; memory goes on for a month."""
    change_employers(dated)
    early = dated.on("2026-05-04")
    early.apply(Log("the spare key hangs behind the lantern", tags=("house",)))
    memory = dated.on(EVENING)
    memory.apply(Remember("rooms have one bed", section="Home"))
    memory.apply(Log("the roof was mended"))
    dated.at.write("memory/tasks.md", f"# Tasks\n\n{TASK}")
    commit_on(dated.at, "2026-05-05")
    blocks = {prompt: memory.context(BuildContext(prompt)).text for prompt in (None, PROMPT)}
    later = dated.on(LATER)
    later.apply(Remember("works at Acme", section="Work", key="employer"))
    later.apply(Forget("rooms have one bed"))
    later.apply(Log("the spare key is with Kim now", tags=("house", "keys")))
    dated.at.write("memory/tasks.md", f"# Tasks\n\n## Sweep\n\n- goal: a clean yard\n\n{TASK}")
    commit_on(dated.at, LATER)
    return blocks


def past(dated: DatedMemory, as_of: str = "2026-05-05", prompt: str | None = None) -> ContextBlock:
    return dated.on(LATER).context(BuildContext(prompt, as_of=as_of))


def test_it_is_what_was_given_on_that_evening(
    dated: DatedMemory, evening: dict[str | None, str]
) -> None:
    start = past(dated)
    assert start.text == evening[None]
    assert "employer: works at Notion" in start.text
    assert "## Today · memory/2026-05-05.md" in start.text
    assert "Paint: a blue door" in start.text
    assert start.as_of == "2026-05-05"
    assert past(dated, prompt=PROMPT).text == evening[PROMPT]
    assert "Kim" in dated.on(LATER).context(BuildContext(PROMPT)).text


def test_an_earlier_evening(dated: DatedMemory, evening: dict[str | None, str]) -> None:
    text = past(dated, "2026-02-20").text
    assert "employer: works at Linear" in text
    assert not [later for later in ("Notion", "Paint", "#house", "bed") if later in text]


def test_nothing_is_recorded(
    dated: DatedMemory, evening: dict[str | None, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDMEM_SESSION", "s1")
    assert past(dated, prompt=PROMPT).text
    memory = dated.on(LATER)
    assert not (memory.workspace.state / "given").exists()
    assert '"verb": "preview-context"' in (memory.workspace.state / "events.jsonl").read_text()
    assert memory.context(BuildContext(PROMPT, session="s1")).repeated == 0


def test_a_day_before_history_is_refused(dated: DatedMemory) -> None:
    with pytest.raises(HistoryProblem, match="memory begins on 2025-01-01") as caught:
        past(dated, "2024-12-31")
    assert (caught.value.code, caught.value.hint) == (
        "before-history",
        "Use that day or a later one.",
    )
    with pytest.raises(UsageProblem, match="exclude each other"):
        BuildContext(as_of="2026-05-05", session="s1")
