"""The lives of rows, nested items and passages, compared with what git itself tells of their lines.

The oracle reads commits, trees and blame with git alone, and shares no code with mdmem.
"""

from collections.abc import Iterable

import pytest
from dated_memory import DatedMemory
from workspaces import Desk

from mdmem.model import Status
from mdmem.model.history import FactHistory, Made, ShowBlame, ShowHistory
from mdmem.model.searches import Search
from mdmem.model.writes import Action, EditSection, Forget, Remember, Save, WriteOptions

_FILE = "MEMORY.md"
_HOSTS = ["heron", "stork", "crane", "egret", "ibis", "swan", "goose", "duck"]
_PARTS = ["anchor", "bilge", "cabin", "derrick", "engine", "fender", "galley", "hatch"]
_TALES = ["Alva", "Bente", "Carsten", "Dagny"]


def _tale(name: str) -> str:
    """A line of more than 600 characters, which a search gives in passages."""
    days = (
        f"On day {number} of the trip {name} wrote about harbour {number} and the weather there."
        for number in range(1, 12)
    )
    return " ".join(days)


_TEXT = "\n".join(
    [
        "# Memory",
        "## Hosts",
        "",
        "| Host | Port |",
        "|---|---|",
        *(f"| {host} | 80{number} |" for number, host in enumerate(_HOSTS, 10)),
        "",
        "## Boats",
        "",
        *(
            f"- {boat}\n"
            + "\n\n".join(f"  - {part}: first {part} of {boat}" for part in parts)
            + "\n  - built in Turku"
            for boat, parts in (("Aurora", _PARTS[:4]), ("Boreas", _PARTS[4:]))
        ),
        "",
        "## Tales",
        "",
        *(f"{_tale(name)}\n" for name in _TALES),
    ]
)


class GitsOwn:
    """The commits in which git has the lines of a file begin and end."""

    def __init__(self, at: Desk) -> None:
        self._at = at
        rows = at.git("rev-list", "--reverse", "--topo-order", "--parents", "HEAD").splitlines()
        self._parents = {row.split()[0]: row.split()[1:] for row in rows}
        self._lines = {commit: self._lines_in(commit) for commit in self._parents}

    def _lines_in(self, commit: str) -> set[str]:
        return set(self._at.git("show", f"{commit}:{_FILE}", check=False).splitlines())

    def life(self, text: str) -> tuple[list[str], list[str]]:
        """The commits that brought a line with a text in, and those that took it out."""
        has = {commit: any(text in line for line in lines) for commit, lines in self._lines.items()}
        came = [
            commit
            for commit, parents in self._parents.items()
            if has[commit] and not any(has[each] for each in parents)
        ]
        went = [
            commit
            for commit, parents in self._parents.items()
            if parents and not has[commit] and all(has[each] for each in parents)
        ]
        return came, went

    def ever(self) -> set[str]:
        return set[str]().union(*self._lines.values())

    def lines_on(self, day: str) -> set[str]:
        return self._lines[self._at.git("rev-list", "-1", f"--before={day}", "HEAD").strip()]

    def blamed(self) -> dict[int, str]:
        """The commits of the lines with words, by their numbers."""
        rows = self._at.git("blame", "--root", "-s", "-l", "HEAD", "--", _FILE).splitlines()
        blamed = {number: row.split(maxsplit=2) for number, row in enumerate(rows, 1)}
        return {number: row[0] for number, row in blamed.items() if len(row) > 2}


class Lives:
    """A file with rows, nested items and passages, changed by hand, by verbs and by a merge."""

    def __init__(self, dated: DatedMemory) -> None:
        self.at, self.on = dated.at, dated.on

    def git(self, day: str, *arguments: str) -> None:
        date = f"{day}T12:00:00+00:00"
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self.at.world.run(self.at.root, ["git", *arguments], environment=dates)

    def by_hand(self, day: str, *edits: tuple[str, str]) -> None:
        text = self.at.read(_FILE)
        for old, new in edits:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.at.write(_FILE, text)
        self.on(day).save(Save())

    def live_through(self) -> None:
        self.at.write(_FILE, _TEXT)
        self.on("2026-01-10").save(Save())
        self.by_hand(
            "2026-02-10",
            ("| heron | 8010 |", "| heron | 9010 |"),
            ("| stork | 8011 |", "| stork, the old | 8011 |"),
            ("first anchor of Aurora", "second anchor of Aurora"),
            ("  - bilge: first bilge of Aurora\n\n", ""),
            ("day 4 of the trip Alva", "day 4 of the voyage Alva"),
        )
        memory = self.on("2026-03-10")
        section = self.at.read(_FILE).partition("## Hosts\n")[2].partition("## Boats")[0]
        table = section.replace("| crane | 8012 |", "| crane | 9012 |")
        table = table.replace("| egret | 8013 |\n", "")
        memory.apply(EditSection("Hosts", Action.BODY, table, file=_FILE))
        memory.apply(Remember("second cabin of Aurora", key="cabin"))
        memory.apply(
            Remember(
                "winch: instead of the derrick",
                options=WriteOptions(supersedes="Aurora > derrick: first derrick of Aurora"),
            )
        )
        memory.apply(Forget("engine"))
        memory.apply(
            EditSection(
                "Tales",
                Action.BODY,
                self.at.read(_FILE).partition("## Tales\n")[2].replace("8 of the trip Bente", "8"),
                file=_FILE,
            )
        )
        self.git("2026-04-09", "checkout", "-q", "-b", "side")
        self.by_hand(
            "2026-04-10",
            ("| ibis | 8014 |", "| ibis | 9014 |"),
            ("- Boreas\n", "- Boreas II\n"),
            ("first fender of Boreas", "second fender of Boreas"),
            ("day 2 of the trip Carsten", "day 2 of the voyage Carsten"),
        )
        self.git("2026-04-11", "checkout", "-q", "-")
        self.by_hand(
            "2026-04-11",
            ("| duck | 8017 |", "| duck | 9017 |"),
            ("first hatch of Boreas", "second hatch of Boreas"),
            ("day 9 of the trip Dagny", "day 9 of the voyage Dagny"),
        )
        self.git("2026-04-12", "merge", "-q", "--no-edit", "side")
        self.by_hand("2026-05-10", ("| duck | 9017 |", "| duck | 7017 |"), ("- Aurora", "- Aura"))


@pytest.fixture
def lives(dated: DatedMemory) -> Lives:
    lived = Lives(dated)
    lived.live_through()
    return lived


def _row(line: str) -> str:
    """A row as a search shows it."""
    host, port = (cell.strip() for cell in line.strip("|").split("|"))
    return f"Host: {host} · Port: {port}"


def _rows(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.startswith("| ") and line[-3].isdigit()]


def _nested(lines: Iterable[str]) -> list[str]:
    """The words of nested items, each of which is in the file once."""
    return [line[4:] for line in lines if line.startswith("  - ") and "Turku" not in line]


def _tales(lines: Iterable[str]) -> list[str]:
    """Phrases that are in one version of one long line each."""
    days = (
        f"On day {number} of the {word} {name}"
        for name in _TALES
        for number in range(1, 12)
        for word in ("trip", "voyage")
    )
    text = "\n".join(lines)
    return [phrase for phrase in days if phrase in text]


def _life(came: Made, ended_by: Made | None) -> tuple[list[str], list[str]]:
    return [came.commit], [ended_by.commit] if ended_by else []


def test_the_history_of_each_is_gits_own(lives: Lives):
    own, memory = GitsOwn(lives.at), lives.on("2026-06-01")
    lines = own.ever()
    for words in _nested(lines):
        history = memory.history(ShowHistory(words))
        assert isinstance(history, FactHistory)
        (link,) = [each for each in history.chain if each.text.endswith(f" > {words}")]
        assert _life(link.made, link.ended_by) == own.life(words), words
    for text in (*_rows(lines), *_tales(lines)):
        (stay,) = memory.when(text).stays
        assert _life(stay.came, stay.ended_by) == own.life(text), text


_REPLACED = {
    "anchor: first anchor of Aurora": "anchor: second anchor of Aurora",
    "cabin: first cabin of Aurora": "cabin: second cabin of Aurora",
    "derrick: first derrick of Aurora": "winch: instead of the derrick",
    "fender: first fender of Boreas": "fender: second fender of Boreas",
    "hatch: first hatch of Boreas": "hatch: second hatch of Boreas",
}


def test_what_is_changed_is_replaced_and_what_is_taken_out_is_removed(lives: Lives):
    memory = lives.on("2026-06-01")
    for old, new in _REPLACED.items():
        for name in (old, new):
            history = memory.history(ShowHistory(name))
            assert isinstance(history, FactHistory)
            told = [(each.text.partition(" > ")[2], each.status) for each in history.chain]
            assert told == [(old, Status.SUPERSEDED), (new, Status.CURRENT)]
    for gone in ("bilge: first bilge of Aurora", "engine: first engine of Boreas"):
        (link,) = memory.history(ShowHistory(gone)).chain
        assert link.status is Status.REMOVED
    rows = {
        hit.text: hit.status for hit in memory.search(Search("port", history=True, limit=50)).hits
    }
    assert {row: status for row, status in rows.items() if status is not Status.CURRENT} == {
        **{
            _row(f"| {host} |"): Status.SUPERSEDED
            for host in (
                "heron | 8010",
                "stork | 8011",
                "crane | 8012",
                "ibis | 8014",
                "duck | 8017",
                "duck | 9017",
            )
        },
        "Host: egret · Port: 8013": Status.REMOVED,
    }


@pytest.mark.parametrize("day", ["2026-01-20", "2026-02-20", "2026-03-20", "2026-04-20"])
def test_memory_as_of_a_day_has_the_lines_that_git_had(lives: Lives, day: str):
    own, memory = GitsOwn(lives.at), lives.on("2026-06-01")
    then, ever = own.lines_on(day), own.ever()
    asked = [
        *((_row(line), _row(line), line in then) for line in _rows(ever)),
        *((words, words, f"  - {words}" in then) for words in _nested(ever)),
        *((f'"{each}"', each, each in "\n".join(then)) for each in _tales(ever)),
    ]
    for query, text, was_there in asked:
        hits = memory.search(Search(query, as_of=day, limit=50)).hits
        assert any(text in hit.text for hit in hits) is was_there, text


def test_the_blame_of_each_is_gits_own(lives: Lives):
    own, memory = GitsOwn(lives.at), lives.on("2026-06-01")
    blamed = own.blamed()
    lines = memory.blame(ShowBlame(file=_FILE)).lines
    told = {each.line: each.made and each.made.commit for each in lines if each.text.strip()}
    assert told == blamed
    current = own.lines_on("2026-06-01")
    for words in _nested(current):
        (line,) = memory.blame(ShowBlame(words)).lines
        assert (line.text, line.made and line.made.commit) == (f"  - {words}", blamed[line.line])
    for query in (*map(_row, _rows(current)), *_nested(current)):
        hit = memory.search(Search(query, limit=1)).hits[0]
        assert hit.commit == blamed[hit.start_line], query
