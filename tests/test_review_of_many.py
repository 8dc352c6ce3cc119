"""Many proposals of three agents, each with a decision given beforehand, decided on a terminal: the
file is then what those decisions make of it.
"""

import re
from dataclasses import dataclass, field
from random import Random

import pytest
from commandline import NOW, Done, Shell, mdmem, on_terminal

AGENTS = ("claude", "codex", "assistant")
ROOMS = [
    "kitchen",
    "cellar",
    "attic",
    "garden",
    "hall",
    "porch",
    "stable",
    "study",
    "pantry",
    "office",
]
KEYS = ["paint", "floor", "lock", "lamp", "stove"]
THINGS = [
    "a piano",
    "two old clocks",
    "the wine",
    "four green chairs",
    "her books",
    "a loom",
    "no window",
    "our skis",
]
GONE = ("smells of smoke", "was let to Anna")
SIZE = (200, 2000)
MOST_STEPS = 60
EDITOR = "sed -i s/.(draft)//"


@dataclass
class Gold:
    """Each item by its first line in the list, with the word or key that decides it as wanted;
    and the sections, with their lines before and after.
    """

    before: dict[str, list[str]] = field(default_factory=dict)
    after: dict[str, list[str]] = field(default_factory=dict)
    proposed: list[tuple[str, ...]] = field(default_factory=list)
    takes: dict[str, str] = field(default_factory=dict)
    rejects: list[str] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)
    rivals: set[str] = field(default_factory=set)

    def text(self, sections: dict[str, list[str]]) -> str:
        blocks = ["\n".join([f"## {name}\n", *lines]) for name, lines in sections.items()]
        return "\n\n".join(["# Memory", *blocks]) + "\n"


def gold_of(sections: int, things: int) -> Gold:
    gold, chance = Gold(), Random(3)
    for words in ROOMS[:sections]:
        name = words.capitalize()
        olds = [f"- {words}_{key}: old" for key in KEYS]
        lines = [*olds, *(f"- {words} {line}" for line in GONE)]
        after = list(lines)
        gold.before[name], gold.after[name] = lines, after
        is_last = words == ROOMS[sections - 1]

        def propose(*command: str, place: str = name) -> None:
            actor = AGENTS[len(gold.proposed) % len(AGENTS)]
            gold.proposed.append((*command, "--section", place, "--actor", actor))

        def is_taken(shown: str, last: bool = is_last) -> bool:
            if not last and chance.random() < 0.3:
                gold.rejects.append(shown)
                return False
            gold.takes[shown] = ""
            return True

        for thing in THINGS[:things]:
            text = f"{words} has {thing}"
            propose("remember", text)
            if is_taken(f"+ {text}"):
                after.append(f"- {text}")
        draft = "" if is_last else " (draft)"
        propose("remember", f"{words} faces north{draft}")
        after.append(f"- {words} faces north")
        if draft:
            gold.edits.append(f"+ {words} faces north{draft}")
        else:
            gold.takes[f"+ {words} faces north"] = ""
        for key in KEYS[:3]:
            propose("remember", "new", "--key", f"{words}_{key}")
            if is_taken(f"{words}_{key}: old -> new"):
                after[after.index(f"- {words}_{key}: old")] = f"- {words}_{key}: new"
        for key in KEYS[3:]:
            for value in ("older", "newer"):
                propose("remember", value, "--key", f"{words}_{key}")
            shown = f"{words}_{key}: old -> newer"
            gold.rivals.add(shown)
            is_second = key == KEYS[3]
            if is_second or is_taken(shown):
                gold.takes[shown] = "b" if is_second else ""
                value = "older" if is_second else "newer"
                after[after.index(f"- {words}_{key}: old")] = f"- {words}_{key}: {value}"
        for line in GONE:
            propose("forget", f"{words} {line}")
            if is_taken(f"- {words} {line}"):
                after.remove(f"- {words} {line}")
        for _ in range(2):
            propose("remember", f"{words} is warm")
        if is_taken(f"+ {words} is warm"):
            after.append(f"- {words} is warm")
    return gold


def numbers_of(printed: str) -> dict[str, int]:
    """The number of each item of a list, by the line that it begins with."""
    rows = re.finditer(r"^ *(\d+)  (\S.*?) {3,}\S", printed, re.MULTILINE)
    return {row[2]: int(row[1]) for row in rows}


def lines_of(text: str) -> list[list[str]]:
    """The lines of each section, sorted: what is added comes in the order of the decisions."""
    return [sorted(block.splitlines()) for block in text.split("\n## ")]


@pytest.mark.parametrize(
    ("number", "sections", "things"), [(28, 2, 2), pytest.param(200, 10, 8, marks=pytest.mark.slow)]
)
def test_what_is_decided_is_what_the_file_says(
    shell: Shell, number: int, sections: int, things: int
) -> None:
    gold = gold_of(sections, things)
    assert len(gold.proposed) == number
    shell.write("MEMORY.md", gold.text(gold.before))
    shell.git("add", "-A")
    shell.git("commit", "-q", "-m", "a memory")
    for minute, (verb, text, *words) in enumerate(gold.proposed):
        now = f"2026-03-04T{10 + minute // 60}:{minute % 60:02}:00+00:00"
        shell.patch.setenv("MDMEM_NOW", now)
        done = shell.run(verb, text, *(words if verb == "remember" else words[2:]), "--propose")
        assert done.status == 0, done.err
    shell.patch.setenv("MDMEM_NOW", NOW)
    steps: list[str] = []

    def type_command(*words: str, keys: tuple[str, ...] = ()) -> Done:
        steps.extend([" ".join(words), *keys])
        return on_terminal(shell, *mdmem(*words), keys=keys, size=SIZE, EDITOR=EDITOR)

    numbers = numbers_of(type_command("proposals").out)
    assert set(numbers) == {*gold.takes, *gold.rejects, *gold.edits}
    rejects = [str(numbers[shown]) for shown in gold.rejects]
    assert type_command("reject", *rejects).status == 0
    # While the list is shown, the user changes the place of one item.
    overtaken = next(each for each in gold.takes if each.endswith("old -> new"))
    del gold.takes[overtaken]
    key = overtaken.partition(":")[0]
    text = (shell.folder / "MEMORY.md").read_text()
    shell.write("MEMORY.md", text.replace(f"{key}: old\n", f"{key}: mine\n"))
    shell.git("commit", "-qam", "by hand")
    for lines in gold.after.values():
        lines[:] = [f"- {key}: mine" if line == f"- {key}: new" else line for line in lines]
    # The last section, the edits and that item are left for the room.
    in_room = [shown for shown in gold.takes if ROOMS[sections - 1] in shown]
    accepts = [f"{numbers[e]}{value}" for e, value in gold.takes.items() if e not in in_room]
    refused = type_command("accept", *accepts, str(numbers[overtaken]))
    assert f"{numbers[overtaken]} is outdated: its target has changed" in refused.out
    assert type_command("accept", *accepts).status == 0
    keys: list[str] = []
    for shown in sorted([*in_room, *gold.edits, overtaken], key=numbers.__getitem__):
        if shown in gold.edits or shown == overtaken:
            keys += "e" if shown in gold.edits else "n"
        elif shown in gold.rivals:
            keys += "2" if gold.takes[shown] else "y"
        elif "A" not in keys:
            keys += ["A", "y"]
    room = type_command("review", keys=tuple(keys))
    assert room.status == 0, room.out
    assert lines_of((shell.folder / "MEMORY.md").read_text()) == lines_of(gold.text(gold.after))
    assert shell.run("proposals").err == "mdmem: no open proposals\n"
    assert len(steps) <= MOST_STEPS
    assert not re.search(r"\b[0-9a-f]{8}\b", " ".join(steps))
