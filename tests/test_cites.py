"""The lines of sessions that a digest's entries cite, and the keys that it gave them: told by every
verb that tells the source.
"""

from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from conftest import World
from pi_sessions import write_session
from workspaces import NOW, Desk, desk

from mdmem.changes import apply
from mdmem.memory import Memory
from mdmem.model import FactId, Source
from mdmem.model.history import FactHistory, SectionHistory, ShowBlame, ShowHistory
from mdmem.model.pipelines import Digest
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import DayEntry, DigestDay, Log, Remember, Revert, WriteOptions
from mdmem.show import hits as show_hits
from mdmem.show import past as show_history
from mdmem.show.values import to_json

DAY = date(2026, 3, 4)
LOG = "memory/2026-03-04.md"
SESSION = "claude/5a1e0012-3456-4789-8abc-def012345678"
WORDS = "I work at Stripe"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def entry(
    text: str = WORDS, line: int = 7, minute: str = "09:00", key: str | None = None
) -> DayEntry:
    return DayEntry(minute=minute, text=text, kind="fact", cites=f"{SESSION}#{line}", key=key)


def digest(at: Desk, *entries: DayEntry, source: Source = Source.USER_STATED) -> tuple[FactId, ...]:
    options = WriteOptions(source=source, session=SESSION)
    return apply.apply(
        at.workspace,
        DigestDay(day=DAY, entries=entries, run="digest/a", options=options),
        lambda _: None,
    ).added


def cites(at: Desk) -> dict[str, tuple[str, ...]]:
    """The cites of every fact that stands, as a search, the list of facts and the facts' histories
    tell them.
    """
    with closing(Memory(at.workspace)) as memory:
        listed = {fact.text: fact.cites for fact in memory.facts(ListFacts(limit=0)).facts}
        for text, references in listed.items():
            (hit,) = [
                hit for hit in memory.search(Search(query=text, limit=50)).hits if hit.text == text
            ]
            history = memory.history(ShowHistory(text))
            assert isinstance(history, FactHistory)
            assert (hit.cites, history.chain[-1].made.cites) == (references, references)
    return listed


def test_each_verb_that_tells_the_source_tells_where_it_was_said(at: Desk):
    first, second = digest(at, entry(key="employer"), entry("it leaks", 8, "10:00"))
    at.apply(Log("by hand and not from a session", time="11:00", day=DAY.isoformat()))
    assert cites(at) == {
        WORDS: (f"{SESSION}#7",),
        "it leaks": (f"{SESSION}#8",),
        "by hand and not from a session": (),
        "works at Stripe": (),
        "lives in Oslo": (),
    }
    with closing(Memory(at.workspace)) as memory:
        section = memory.history(ShowHistory("09:00", file=LOG))
        whole = memory.history(ShowHistory(file=LOG))
        blame = memory.blame(ShowBlame("10:00", file=LOG))
        fact = memory.history(ShowHistory(first))
        listed = to_json(memory.facts(ListFacts(limit=0)))["facts"]
        result = memory.search(Search(query="leaks", explain=True))
    assert isinstance(section, SectionHistory)
    blame, fact, whole = (
        replace(blame, gone=()),
        replace(fact, gone=()),
        replace(whole, gone=()),
    )  # no transcript is there
    assert [revision.made.cites for revision in section.revisions] == [(f"{SESSION}#7",)]
    assert whole.cites == (f"{SESSION}#8", f"{SESSION}#7")
    assert [line.made.cites for line in blame.lines] == [(), (), (f"{SESSION}#8",)]
    assert "  (claude/5a1e0012-3456#8)" in show_history.blame_text(blame, colour=False)
    assert "  (claude/5a1e0012-3456#7)" in show_history.history_text(
        fact, words=False, colour=False
    )
    assert "  digest/a, user-stated 0.95  memory/" in show_history.history_text(
        fact, words=False, colour=False
    )
    assert to_json(section)["revisions"][0]["run"] == "digest/a"
    assert "  (claude/5a1e0012-3456#8, claude/5a1e0012-3456#7)" in show_history.history_text(
        whole, words=False, colour=False
    )
    assert "said in claude/5a1e0012-3456#8" in show_hits.search_text(result, colour=False)
    by_id = {each["id"]: each for each in listed}
    assert [
        (by_id[fact]["cites"], by_id[fact]["key"], by_id[fact]["attribute"])
        for fact in (first, second)
    ] == [
        ([f"{SESSION}#7"], None, "employer"),
        ([f"{SESSION}#8"], None, None),
    ]


def test_they_go_along_with_the_entry(at: Desk):
    digest(at, entry())
    at.git("mv", LOG, "memory/march.md")
    at.commit("renamed")
    expected = (f"{SESSION}#7",)
    assert cites(at)[WORDS] == expected
    for old, new in (
        ("## 09:00", "## Morning"),
        (WORDS, f"{WORDS} #work"),
        (f"- [fact] {WORDS} #work\n", ""),
        ("\n\n## M", "\n\n## First\n\n## M"),
    ):
        at.write("memory/march.md", at.read("memory/march.md").replace(old, new))
        at.commit("rewritten")
        assert cites(at).get(WORDS, expected) == expected
    at.git("revert", "--no-edit", "HEAD~1")
    assert cites(at)[WORDS] == expected


def test_a_rebase_and_a_merge_keep_them(at: Desk):
    at.git("checkout", "-q", "-b", "side")
    digest(at, entry(), entry("it leaks", 8, "10:00"))
    at.git("checkout", "-q", "main")
    at.write("MEMORY.md", "# Memory\n\n## Home\n\n- lives in Bern\n")
    at.commit("meanwhile")
    at.git("branch", "-q", "other", "side")
    at.git("merge", "-q", "--no-edit", "side")
    expected = {WORDS: (f"{SESSION}#7",), "it leaks": (f"{SESSION}#8",), "lives in Bern": ()}
    assert cites(at) == expected
    at.git("checkout", "-q", "other")
    at.git("rebase", "-q", "main~1")
    assert cites(at) == expected


def test_a_squash_keeps_them(at: Desk):
    at.git("checkout", "-q", "-b", "side")
    digest(
        at,
        *(
            entry(f"the number of pump {number} is {number}", number, key="pump")
            for number in range(1, 26)
        ),
    )
    digest(at, entry("it leaks", 30, "10:00"), source=Source.AUTO)
    at.git("checkout", "-q", "main")
    at.git("merge", "-q", "--squash", "side")
    at.world.git(at.root, "commit", "-q", environment={"GIT_EDITOR": "true"})
    cited = cites(at)
    assert cited["it leaks"] == (f"{SESSION}#30",)
    assert [cited[f"the number of pump {number} is {number}"] for number in range(1, 26)] == [
        (f"{SESSION}#{n}",) for n in range(1, 26)
    ]


def test_a_revert_and_its_revert(at: Desk):
    digest(at, entry())
    first = at.apply(Revert("HEAD")).commit
    assert first is not None
    assert WORDS not in cites(at)
    at.apply(Revert(first))
    assert cites(at)[WORDS] == (f"{SESSION}#7",)
    at.git("revert", "--no-edit", "HEAD~2")
    assert not (at.root / LOG).exists()
    at.git("revert", "--no-edit", "HEAD")
    assert cites(at)[WORDS] == (f"{SESSION}#7",)


def test_what_a_person_states_is_theirs(at: Desk):
    digest(at, entry(), source=Source.INFERRED)
    at.apply(Log(WORDS, day=DAY.isoformat(), options=WriteOptions(source=Source.USER_STATED)))
    assert cites(at)[WORDS] == ()
    at.apply(Remember("it leaks", section="Work"))
    assert cites(at)["it leaks"] == ()


def test_what_cannot_be_read_any_more_is_gone(at: Desk):
    (first,) = digest(at, entry())
    folder = at.world.home / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    transcript = folder / f"{SESSION.partition('/')[2]}.jsonl"
    with closing(Memory(at.workspace)) as memory:
        for is_there in (False, True):
            if is_there:
                transcript.write_text("{}")
            gone = () if is_there else (f"{SESSION}#7",)
            fact, blame = (
                memory.history(ShowHistory(first)),
                memory.blame(ShowBlame("09:00", file=LOG)),
            )
            assert (fact.gone, blame.gone) == (gone, gone)
            mark = "" if is_there else " gone"
            assert f"(claude/5a1e0012-3456#7{mark})" in show_history.history_text(
                fact, words=False, colour=False
            )
            assert f"(claude/5a1e0012-3456#7{mark})" in show_history.blame_text(blame, colour=False)
            assert to_json(fact).get("gone", []) == list(gone)
            assert to_json(blame).get("gone", []) == list(gone)


def test_a_transcript_of_another_name_is_not_gone(at: Desk, tmp_path: Path):
    path = write_session(tmp_path, "I work at Stripe.").rename(tmp_path / "export.jsonl")
    with closing(Memory(at.workspace)) as memory:
        (written,) = memory.pipelines.digest(Digest(sessions=(str(path),))).entries
        assert written.cites == ("openclaw/5a1e0000#2",)
        for is_there in (True, False):
            history = memory.history(ShowHistory(written.fact))
            assert (history.cites, history.gone) == (
                written.cites,
                () if is_there else written.cites,
            )
            path.unlink(missing_ok=True)
