"""Commands that set up a workspace, examine it and keep it in order."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdmem import memory, secrets
from mdmem.cli.commands import Answer, open_memory, progress, read_argument
from mdmem.cli.fast_parser import Call
from mdmem.cli.terminal import count, in_flags, shown
from mdmem.folder import installed
from mdmem.model.errors import UsageProblem, number_of, shell_word
from mdmem.model.pipelines import Sync
from mdmem.model.reads import FoundWorkspace, Initialise
from mdmem.model.rules import parse_allowances
from mdmem.model.writes import WriteOptions
from mdmem.show import maintenance, reads
from mdmem.show.formatting import VerbatimText
from mdmem.show.values import to_json
from mdmem.startup.late import module
from mdmem.startup.records import replace
from mdmem.text import check

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        AdoptAllFound,
        AgentHost,
        AgentsFile,
        FindWorkspaces,
        HostProject,
        InThisFolder,
        Json,
        Leave,
        NewWorkspace,
        NoAgentsFile,
        OutsideProject,
        SharedMerging,
        UndoHost,
    )


def leave_adopted(folder: str | None) -> Answer:
    root = Path(folder or os.environ.get("MDMEM_WORKSPACE") or ".").resolve()
    was_listed = memory.leave(root, os.environ)
    return Answer(
        {"workspace": str(root), "left": was_listed},
        f"left {root}: agents can no longer access it" if was_listed else f"{root} was not adopted",
    )


def find(call: Call, yes: bool) -> Answer:
    is_silent = call.as_json or call.quiet
    with nullcontext() if is_silent else shown("init"):
        found = memory.find_unadopted(os.environ, None if is_silent else count)
    own = [workspace for workspace in found if workspace.own]
    chosen: Sequence[FoundWorkspace] = own if yes else ()
    if own and not yes and not call.as_json and sys.stdin.isatty():
        chosen = _choose(own)
    if chosen or yes:
        memory.adopt_found(chosen, os.environ)
    adopted = {workspace.path for workspace in chosen}
    notes = [] if found else ["No other workspaces found under your home folder."]
    if own and not chosen:
        notes.append("To adopt those in which you are the only author: mdmem init --found --yes")
    return Answer(
        {"found": found, "adopted": sorted(adopted)},
        maintenance.found_text(found, adopted),
        notes,
    )


def _choose(workspaces: Sequence[FoundWorkspace]) -> Sequence[FoundWorkspace]:
    for number, workspace in enumerate(workspaces, 1):
        print(f"{number}. {maintenance.found_line(workspace)}", file=sys.stderr)
    print("Adopt which? [numbers, all, none]: ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise KeyboardInterrupt
    words = answer.replace(",", " ").casefold().split()
    if words in ([], ["none"]):
        return ()
    if words == ["all"]:
        return workspaces
    numbered = {str(number): workspace for number, workspace in enumerate(workspaces, 1)}
    if unknown := [word for word in words if word not in numbered]:
        raise UsageProblem(f"No number {unknown[0]} in the list.")
    return [numbered[word] for word in dict.fromkeys(words)]


_ANSWERS = {"me": "me", "agent": "agents"}
"""The setting for an answer; any other answer is somebody else."""


def _ask_who_wrote(workspace: Path) -> Iterator[str]:
    if (author := memory.main_author(workspace, os.environ)) is None:
        return
    name, address = author
    question = f"Most commits here are by {name} <{address}>. Who is that? [me, agent, other]: "
    print(question, end="", file=sys.stderr, flush=True)
    if setting := _ANSWERS.get(sys.stdin.readline().strip().casefold()):
        settings = module("folder.own_settings").add_to_list(setting, address, os.environ)
        yield f"{setting} in {settings} now has {address}"


def wire_hosts(host: str, undo: bool, in_project: bool, dry_run: bool) -> Answer:
    changes = memory.wire_hosts(host, os.environ, undo=undo, in_project=in_project, dry_run=dry_run)
    changes = tuple(replace(change, notes=tuple(map(in_flags, change.notes))) for change in changes)
    text = maintenance.hosts_text(changes, undo, dry_run) or "No agent's host is installed."
    status = 1 if any(change.problems for change in changes) else 0
    return Answer({"hosts": changes, "dry_run": dry_run}, text, status=status)


def plugin(call: Call, as_json: Json = False) -> Answer:
    """Print the path of the agent plugin.

    It contains hooks, the server and a skill. Claude Code uses it as a marketplace: claude plugin
    marketplace add "$(mdmem plugin)", then claude plugin install mdmem@mdmem. So does Codex, whose
    second line is codex plugin add mdmem@mdmem.
    """
    folder = str(installed.path("templates", "plugin"))
    return Answer({"plugin": folder}, folder, tuple(_missing_for_plugin()))


def _missing_for_plugin() -> Iterator[str]:
    if shutil.which("mdmem") is None:
        yield (
            "mdmem is not on the PATH, where a host looks for it: it is in"
            f" {Path(sys.executable).parent}"
        )


def init(
    call: Call,
    folder: NewWorkspace = None,
    outside: OutsideProject = False,
    no_hooks: Annotated[bool, typer.Option("--no-hooks", help="Do not install git hooks.")] = False,
    agents: AgentsFile = None,
    no_agents: NoAgentsFile = None,
    shared: SharedMerging = False,
    here: InThisFolder = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")
    ] = False,
    leave: Leave = False,
    host: AgentHost = None,
    undo: UndoHost = False,
    project: HostProject = False,
    found: FindWorkspaces = False,
    yes: AdoptAllFound = False,
    as_json: Json = False,
) -> Answer:
    """Create a workspace, or adopt a folder of memory files.

    Agents can access only what you have adopted on this machine. Existing files are not changed,
    but the one that --agents names, .gitattributes with --shared, and mdmem.toml if git has no user
    name. It can be run again. git is set up to merge memory by section and fact.

    With --outside, in a project: the workspace DIR (created, adopted or cloned) becomes the memory
    of the project, for all its branches and worktrees; the project does not change. In code it asks
    for this, or does it, unless DIR or --here says otherwise. A folder with a memory keeps it.

    With --for it makes no workspace, but sets up the program that agents run in. HOST: claude,
    codex, copilot, vscode, gemini, qwen, cursor, cline, opencode, openclaw, pi, goose, windsurf,
    zed, kiro.
    """
    others = any((no_hooks, agents, no_agents, shared, outside, here))
    if host is not None or undo or project:
        if host is None or others or folder or leave or found or yes or (undo and project):
            raise UsageProblem("--for goes with --dry-run, and with --undo or --project, alone")
        return wire_hosts(host, undo, project, dry_run)
    others = others or dry_run
    if (leave and (found or others)) or (found and (folder or others)) or (yes and not found):
        message = "--leave and --found go with no other option, and --yes only with --found"
        raise UsageProblem(message)
    if found:
        return find(call, yes)
    if leave:
        return leave_adopted(folder or call.workspace)
    code = call.workspace or os.environ.get("MDMEM_WORKSPACE") or "."
    request = Initialise(
        folder=folder or (None if outside else call.workspace),
        hooks=not no_hooks,
        agents=agents,
        no_agents=no_agents,
        shared=shared,
        project=code if outside else None,
        here=here,
        dry_run=dry_run,
    )
    return _initialised(call, request)


def _initialised(call: Call, request: Initialise) -> Answer:
    """Carry out a request of `init`; a person at a terminal is asked what it leaves open."""
    if request.folder and not Path(request.folder).exists():
        _require_no_host(request.folder)
    asks = not call.as_json and sys.stdin.isatty()
    request = _placed(request) if asks and not request.dry_run else request
    result = memory.initialise(request, os.environ, progress(call))
    if result.newly_adopted and asks and sys.stderr.isatty():
        result = replace(result, notes=(*result.notes, *_ask_who_wrote(result.workspace)))
    return Answer(
        replace(result, notes=tuple(map(in_flags, result.notes))),
        maintenance.initialised_text(result),
        result.notes,
    )


def _require_no_host(name: str) -> None:
    if name in module("health.wiring").hosts({}):
        raise UsageProblem(
            f"{name} is the name of an agent's host",
            f"To set it up: mdmem init --for {shell_word(name)}; for a folder: "
            f"mdmem init ./{shell_word(name)}",
        )


def _placed(request: Initialise) -> Initialise:
    """The request with the user's answer to where memory goes in a repository of code."""
    code = memory.code_repository(request, os.environ)
    if code is None:
        return request
    question = f"{code} is a repository of code. Memory outside, or in this branch?"
    print(question, "[OUTSIDE/branch]: ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise KeyboardInterrupt
    match answer.strip().casefold():
        case "" | "o" | "outside":
            return replace(request, project=".")
        case "b" | "branch":
            return replace(request, here=True)
    raise UsageProblem("nothing was written: answer outside or branch")


def check_(
    call: Call,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="The files. [default: all memory files]"),
    ] = None,
    staged: Annotated[
        bool,
        typer.Option("--staged", help="Check the staged changes, as the pre-commit hook does."),
    ] = False,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Change links to notes that git knows as renamed."),
    ] = False,
    push: Annotated[
        bool,
        typer.Option("--push", help="Check OLD..NEW, or `OLD NEW REF` lines of standard input."),
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Check memory files: secrets, conflict markers, invalid UTF-8.

    With --staged: the changes that are about to be committed. With --push: commits that are pushed,
    on a server or in a forge's CI, and who may make them.
    """
    if push:
        return _check_push(call, files or [], staged or fix)
    if staged and (files or fix):
        raise UsageProblem(f"--staged takes no {'files' if files else '--fix'}")
    notes: tuple[str, ...] = ()
    if staged:
        start = Path(call.workspace or ".")
        problems = memory.staged_problems(start, os.environ)
        status = (
            1
            if check.refusals(problems, parse_allowances(os.environ.get("MDMEM_ALLOW", "")))
            else 0
        )
    else:
        opened = open_memory(call)
        notes = opened.fix_links(WriteOptions()) if fix else ()
        problems = opened.check(tuple(files or ()))
        status = 1 if any(problem.level == "error" for problem in problems) else 0
    problems = tuple(
        replace(problem, message=in_flags(problem.message), hint=in_flags(problem.hint))
        for problem in problems
    )
    return Answer(
        {"problems": problems},
        "\n".join(map(reads.problem_text, problems)),
        (*notes, *(() if problems else ("no problems",))),
        status,
    )


def redact(call: Call, as_json: Json = False) -> Answer:
    """Copy standard input, replacing secrets with [REDACTED:KIND].

    Everything else is copied byte for byte, up to 5,000,000 bytes. It needs no workspace.
    """
    text = read_argument("-")
    clean = secrets.redact(text)
    if call.as_json or sys.stdout.isatty():
        answer = {"text": clean, "secrets": secrets.find(text)}
        return Answer(answer, VerbatimText(maintenance.redacted_text(clean)))
    sys.stdout.buffer.write(clean.encode("utf-8", "surrogateescape"))
    return Answer({}, "")


def status(call: Call, as_json: Json = False) -> Answer:
    """Show the state of the workspace and of its index."""
    state = open_memory(call).status()
    return Answer(state, reads.status_text(state), state.notes)


def sync(
    call: Call,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Fetch, and show what would be pulled and pushed.")
    ] = False,
    wait: Annotated[
        float,
        typer.Option(
            "--wait", metavar="SECONDS", help="Wait at most this long for the whole sync."
        ),
    ] = 60,
    all_files: Annotated[
        bool,
        typer.Option("--all", help="Also sync commits that change files other than memory."),
    ] = False,
    join: Annotated[
        bool, typer.Option("--join", help="Merge two memories that were created separately.")
    ] = False,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Also purge here what was purged on the remote, and there what was purged here.",
        ),
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Sync memory with the remote of the current branch.

    It fetches, merges memory by section and fact, and pushes, without prompting. If a commit to be
    pulled or pushed changes files other than memory, nothing is synced (but see --all).
    """
    memory = open_memory(call)
    with nullcontext() if call.as_json or call.quiet else shown("sync"):
        result = memory.sync(
            Sync(dry_run=dry_run, wait=wait, all_files=all_files, join=join, purge=purge)
        )
        left = len(memory.conflicts().conflicts) if result.merged else 0
    incoming = [{**to_json(each), "undo": in_flags(each.undo)} for each in result.incoming]
    return Answer(
        {**to_json(result), "incoming": incoming},
        maintenance.sync_text(result),
        tuple(maintenance.sync_notes(result, left)),
    )


def doctor(
    call: Call,
    fix: Annotated[bool, typer.Option("--fix", help="Fix what can safely be fixed.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List the checks that passed, too.")
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Find problems with the workspace, and fix them with --fix.

    It checks git, settings, locks, hooks, the state folder, the index, the files (as mdmem check
    does), secrets in history and recent failures. The exit status is 1 if an error remains.
    """
    opened = open_memory(call, any_settings=True)
    findings = [
        replace(finding, message=in_flags(finding.message), hint=in_flags(finding.hint))
        for finding in opened.examine(fix)
    ]
    sound = maintenance.is_sound(findings)
    asks = sound and fix and not call.as_json and sys.stdin.isatty() and not opened.workspace.actor
    if asks and (said := opened.date_back(_is_clock_right)):
        print(said, file=sys.stderr)
    return Answer(
        {"findings": findings, "sound": sound},
        in_flags(maintenance.findings_text(findings, everything)),
        status=0 if sound else 1,
    )


def _is_clock_right(ahead: str) -> bool:
    print(f"{ahead}. Is this clock right? [y/N]: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def reindex(
    call: Call,
    full: Annotated[bool, typer.Option("--full", help="Rebuild it from the start.")] = False,
    as_json: Json = False,
) -> Answer:
    """Bring the search index up to date."""
    count = open_memory(call).reindex(full)
    return Answer({"entries": count}, f"{number_of(count, 'entry', 'entries')} indexed")


def merge_driver(
    call: Call,
    base: Annotated[str, typer.Argument(metavar="BASE", help="The common ancestor.")],
    ours: Annotated[
        str, typer.Argument(metavar="OURS", help="Our side. The result is written here.")
    ],
    theirs: Annotated[str, typer.Argument(metavar="THEIRS", help="Their side.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file's path in the work tree.")],
    as_json: Json = False,
) -> Answer:
    """Merge a memory file by section and fact, for git.

    The exit status is 0 if it merged, and 1 if git's own merge of lines left conflicts. init sets
    git up to call it.
    """
    raise UsageProblem("git runs this: merge-driver must be the first word")


def _check_push(call: Call, ranges: Sequence[str], has_others: bool) -> Answer:
    if has_others or len(ranges) > 1:
        raise UsageProblem("--push takes OLD..NEW alone")
    ends = [each.split("..") for each in ranges]
    if not all(len(each) == 2 and all(end.strip("0") for end in each) for each in ends):
        raise UsageProblem(f"{ranges[0]} is not OLD..NEW, with two commits")
    lines = [f"{old} {new} refs/heads/.." for old, new in ends]
    lines = lines or sys.stdin.read().splitlines()
    found = memory.check_push(Path(call.workspace or "."), os.environ, lines)
    said = tuple(line if refuses else f"warning: {line}" for line, refuses in found)
    status = 1 if any(refuses for _, refuses in found) else 0
    return Answer({"problems": list(said)}, "", said, status)


def hooks_install(
    call: Call,
    folder: Annotated[
        str | None, typer.Argument(metavar="BARE", help="With --server: the repository.")
    ] = None,
    server: Annotated[
        bool, typer.Option("--server", help="Install what checks a push, in a bare repository.")
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Install the hooks and the merge driver.

    An existing hook is kept and runs first. With --server: the hook pre-receive, which refuses what
    mdmem check --push refuses; where there is one, the line to add is printed.
    """
    if server:
        path = memory.install_server_hook(Path(folder or call.workspace or "."))
        return Answer({"installed": [str(path)]}, f"installed {path}")
    if folder is not None:
        raise UsageProblem("BARE goes with --server")
    installed = open_memory(call).hooks.install()
    return Answer(
        {"installed": list(installed)},
        f"installed {', '.join(installed)}" if installed else "all hooks are installed",
    )


def hooks_uninstall(call: Call, as_json: Json = False) -> Answer:
    """Remove mdmem's own hooks and its merge driver.

    Your earlier hooks are restored. A .gitattributes of init --shared stays.
    """
    removed = open_memory(call).hooks.uninstall()
    return Answer(
        {"removed": list(removed)},
        f"removed {', '.join(removed)}" if removed else "none of mdmem's hooks were installed",
    )


def hooks_status(call: Call, as_json: Json = False) -> Answer:
    """Show the state of each hook, and of the merge driver."""
    hooks = open_memory(call).hooks
    states, driver = hooks.states(), hooks.merge_driver()
    rows = [*states.items(), ("merge driver", driver)]
    return Answer(
        {"hooks": states, "merge_driver": driver},
        "\n".join(f"{name}: {state}" for name, state in rows),
    )
