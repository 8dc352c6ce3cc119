"""`mdmem setup`: the questions, the steps as they are taken, and the first block."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.commands import Answer, progress
from mdmem.cli.fast_parser import Call
from mdmem.cli.terminal import in_flags, shown
from mdmem.health.wiring import HostChange
from mdmem.memory import first_hour
from mdmem.model.errors import UsageProblem, number_of, shell_word
from mdmem.model.pipelines import DigestResult, DreamResult
from mdmem.model.reads import SetupAnswers, SetupFindings, SetupResult
from mdmem.show import maintenance, runs
from mdmem.show.formatting import one_line

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import Json

_NIGHTS = {"apply": "apply", "propose": "propose", "none": "off"}
_MOST_ORIGINS = 12
_VERBS = ("search", "history")


def setup(
    call: Call,
    yes: Annotated[bool, typer.Option("--yes", help="Take the default of each question.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")
    ] = False,
    undo: Annotated[
        bool,
        typer.Option("--undo", help="Take out of hosts, settings and timers what setup put in."),
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Set up memory for your agents, by at most four questions.

    It finds agents' hosts, their sessions of the last 30 days, and a workspace, or a place for one;
    does what the commands that it prints would do; and shows what the next session of your agent
    will be told. Your own settings change, and memory files are added; nothing leaves this machine.
    Without a terminal it only shows what it would do, unless --yes is given.
    """
    is_silent = call.as_json or call.quiet
    if undo:
        tell_back = partial(_tell, undo=True)
        is_whole = first_hour.undo(os.environ, _pass if is_silent else tell_back)
        text = "Memory itself stays as it is."
        return Answer({"undone": is_whole}, text, status=int(not is_whole))
    found = first_hour.find(os.environ, call.workspace)
    asks = sys.stdin.isatty() and not (yes or dry_run or call.as_json)
    answers = _answers(found, asks)
    if dry_run or not (asks or yes):
        steps = first_hour.commands(found, answers, os.environ)
        commands = [_typed(step, answers.folder or found.folder) for step in steps]
        notes = ("a dry run: nothing was written. To do it: mdmem setup --yes",)
        return Answer({"commands": commands}, "\n".join(commands), notes, status=int(not dry_run))
    tell = partial(_tell, folder=answers.folder or found.folder)
    with shown("setup"):
        result = first_hour.carry_out(
            found, answers, os.environ, _pass if is_silent else tell, progress(call)
        )
    return Answer(result, setup_text(result))


def _answers(found: SetupFindings, asks: bool) -> SetupAnswers:
    hosts: Sequence[str] = found.hosts
    count = sum(found.sessions.values())
    folder, reads, nights = None, bool(count), "apply"
    if asks:
        folder = None if found.is_there else _ask_folder(found)
        hosts = _ask_hosts(hosts) if hosts else ()
        reads = reads and _ask_sessions(found, count)
        nights = _ask_nights()
    return SetupAnswers(folder=folder, hosts=tuple(hosts), reads=reads, nights=nights)


def _ask_folder(found: SetupFindings) -> str | None:
    where = f"{found.project} is code, so beside it" if found.project else "a folder"
    answer = _ask(f"Where is memory to live ({where})?", str(found.folder))
    return None if answer == str(found.folder) else str(Path(answer).expanduser())


def _ask_hosts(hosts: Sequence[str]) -> list[str]:
    answer = _ask(f"Connect which of {', '.join(hosts)}? (names, all, none)", "all")
    words = answer.replace(",", " ").casefold().split()
    if unknown := [word for word in words if word not in (*hosts, "all", "none")]:
        raise UsageProblem(f"{unknown[0]} is not in the list")
    return list(hosts) if "all" in words else [host for host in hosts if host in words]


def _ask_sessions(found: SetupFindings, count: int) -> bool:
    whose = ", ".join(f"{client}: {number}" for client, number in found.sessions.items())
    of_what = "" if found.everything else " of this project"
    question = (
        f"Read the last 30 days of {number_of(count, 'session')}{of_what} ({whose})? Nothing"
        " leaves this machine (yes, no)"
    )
    return _ask(question, "yes").casefold().startswith("y")


def _ask_nights() -> str:
    answer = _ask(
        "Each night, what was said goes into MEMORY.md: apply what is certain, propose all, none",
        "apply",
    ).casefold()
    if answer not in _NIGHTS:
        raise UsageProblem(f"{answer[:60]!r} is none of {', '.join(_NIGHTS)}")
    return _NIGHTS[answer]


def _ask(question: str, default: str) -> str:
    print(f"{question} [{default}]: ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise KeyboardInterrupt
    return answer.strip() or default


def _there(folder: object) -> str:
    is_here = Path.cwd().is_relative_to(Path(str(folder)).resolve())
    return "mdmem" if is_here else f"mdmem -C {shell_word(folder)}"


def _typed(command: str, folder: object) -> str:
    """A step as a command for this folder; those of a workspace name it, unless it is here."""
    name, _, rest = in_flags(command).partition(" ")
    is_of_workspace = name == "mdmem" and not rest.startswith("init ")
    return f"{_there(folder) if is_of_workspace else name} {rest}".rstrip()


def _tell(command: str, outcome: object, folder: object = ".", undo: bool = False) -> None:
    if isinstance(outcome, DigestResult):
        outcome = runs.digest_outcome(outcome)
    elif isinstance(outcome, DreamResult):
        outcome = runs.dream_totals(outcome)
    elif isinstance(outcome, HostChange):
        outcome = maintenance.hosts_text((outcome,), undo=undo, dry_run=False)
    lines = (one_line(line) for line in str(outcome).splitlines() if line)
    print(_typed(command, folder), *lines, sep="\n    ", file=sys.stderr, flush=True)


def _pass(command: str, outcome: object) -> None:
    """Say nothing."""


def setup_text(result: SetupResult) -> str:
    there = _there(result.workspace)
    said = result.lines[:_MOST_ORIGINS]
    example = said[0].text if said else result.example
    return "\n".join(
        [
            "What the next session of your agent is told:",
            result.block or "(nothing yet: talk to your agent, and it will be)",
            *(["", f"Where it was said (to read one: {there} sessions NAME):"] if said else []),
            *(f"  {one_line(each.text)}  ({each.cited})" for each in said),
            *(
                [f"{number_of(result.proposals, 'proposal')} to review: {there} review"]
                if result.proposals
                else []
            ),
            "",
            "To try:",
            *(f"  {there} {verb} {shell_word(example)}" for verb in _VERBS if example),
            "  in a new session of your agent: what do you know about me?",
        ]
    )
