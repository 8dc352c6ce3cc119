"""`mdmem agent-hook`: answer all hooks of an agent's host.

The host writes a JSON object to standard input, which `hook_shapes` reads. The output goes to the
model. Failures never stop the agent's turn: the exit status is always 0, and the user
is told only at the start of a session, in one line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from mdmem.events import EventRecorder
from mdmem.folder import installed
from mdmem.hook_shapes import CLAUDE, HookEvent, parse_event
from mdmem.index import background
from mdmem.memory import Memory, hosts
from mdmem.model import Source
from mdmem.model.errors import MdmemError, attempt, number_of, typed, verb
from mdmem.model.prompts import BuildContext, Purpose
from mdmem.model.writes import Log, WriteOptions
from mdmem.startup.late import module
from mdmem.text import follow_ups

_ACTOR = "agent-hook"  # of log entries where neither MDMEM_ACTOR nor the settings name one
_REASON = "kept at a compaction"
_MOST_CHARACTERS = 9_500  # above 10,000 Claude Code shows the model only a preview of 2 KB
_MOST_PROMPT = 4_000  # the rest is pasted text, which costs time and finds little
_MOST_MESSAGES = 5  # before the prompt; thanks among them do not count
_MOST_BRANCHES = 5  # that a notice names
_MOST_BYTES = 64_000_000
# PostCompact has no limit: it writes, and may have to wait for another process
_TIME_LIMITS = {
    **{"SessionStart": 5.0, "UserPromptSubmit": 2.0, "PreCompact": 2.0, "SessionEnd": 2.0},
    "": 2.0,  # what is no event of ours
}
_SECONDS_ALONE = 1.0  # for a block without the pool, once the pool took all of the limit


class DeadlinePassed(KeyboardInterrupt):
    """An event's time is up. An interruption, so that no `except Exception` catches it."""


def main() -> int:
    if _is_off(os.environ) or sys.stdin is None:
        return 0
    return reply(parse_event(sys.stdin.buffer.read(_MOST_BYTES), *sys.argv[2:3]))


def reply(event: HookEvent | None) -> int:
    """Print the answer to an event; the exit status."""
    if event is not None and (text := answer(event, os.environ)) and sys.stdout is not None:
        with suppress(OSError):  # a host that has gone, or a full disk behind the pipe
            sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
            sys.stdout.buffer.flush()
    return 0


def answer(event: HookEvent, environment: Mapping[str, str]) -> str:
    """The text for the host; empty where there is nothing to say."""
    if _is_off(environment):
        return ""
    memory: list[Memory] = []
    try:
        with _deadline(_TIME_LIMITS.get(event.name)):
            result: str | Mapping[str, Any] = attempt(
                lambda: _answer(event, environment, memory), typed
            )
    except DeadlinePassed:
        result = _answer_without_pool(event, memory) or {
            "message": "memory was not ready in time; it is being updated in the background",
            "hint": "",
        }
    if isinstance(result, str):
        return result
    if event.name != "SessionStart" or event.host is not CLAUDE:
        return ""
    return json.dumps(
        {
            "systemMessage": (
                f"mdmem: {result['message']}" + (f" ({result['hint']})" if result["hint"] else "")
            )
        }
    )


def _answer_without_pool(event: HookEvent, opened: list[Memory]) -> str | Mapping[str, Any] | None:
    """The answer of this workspace alone, once its pool took too long; None where it cannot be."""
    for memory in opened:
        background.start_catching_up(memory.workspace)
    if (
        event.name not in _BLOCKS
        or not event.is_answered
        or not any(memory.workspace.pool for memory in opened)
    ):
        return None
    result: str | Mapping[str, Any] | None = None
    with suppress(DeadlinePassed), _deadline(_SECONDS_ALONE):
        result = attempt(lambda: _BLOCKS[event.name](opened[0], event, True), typed)
        for memory in opened:
            module("queries.pool").start_catching_up(memory.workspace)
    return result


@contextmanager
def _deadline(seconds: float | None) -> Iterator[None]:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise DeadlinePassed

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_off(environment: Mapping[str, str]) -> bool:
    return environment.get("MDMEM_CONTEXT", "").strip().casefold() == "off"


def _answer(event: HookEvent, environment: Mapping[str, str], opened: list[Memory]) -> str:
    # the memory is added to `opened` at once, for the caller to use after a deadline
    found = hosts.find_host_workspace(environment, event.folder)
    is_start = event.name == "SessionStart" and event.source in (None, "startup")
    text, is_start = "", is_start and event.host is CLAUDE  # others show the user no notice
    notices = [typed(hosts.notice(found, environment))] if is_start else []
    if found.repository is not None:
        memory = Memory.open_in(found.repository, hosts.expanded(environment))
        text = _serve(event, memory, opened)
        notices += (
            (*_sync_news(memory), *_waiting(memory), *_more_on_branches(memory)) if is_start else ()
        )
    return _with_notice(text, ". ".join(filter(None, notices)))


def _sync_news(memory: Memory) -> Iterator[str]:
    with suppress(MdmemError, DeadlinePassed):  # as below
        yield typed(memory.sync_news())


def _waiting(memory: Memory) -> Iterator[str]:
    with suppress(MdmemError, DeadlinePassed):  # as below
        if count := module("proposals.branches").waiting(memory.workspace).proposals:
            yield typed(f"{number_of(count, 'proposal')} to review: {verb('review')}")


def _more_on_branches(memory: Memory) -> Iterator[str]:
    with suppress(MdmemError, DeadlinePassed):  # the block is what matters
        if memory.workspace.settings.context == "off":
            return
        if more := [each.line for each in memory.more_on_branches()]:
            others = [f"{len(more) - _MOST_BRANCHES} others"] if len(more) > _MOST_BRANCHES else []
            told = ", ".join((*more[:_MOST_BRANCHES], *others))
            yield f"other branches have more memory ({told})"


def _serve(event: HookEvent, memory: Memory, opened: list[Memory]) -> str:
    opened.append(memory)
    workspace = memory.workspace
    if workspace.settings.context == "off":
        return ""
    with EventRecorder(workspace.state, "agent-hook", workspace.actor, event.session) as recorder:
        recorder.measured({"hook": event.name or "unknown"})
        if (
            event.transcript is not None
            and event.name in _DIGEST_EVENTS
            and workspace.settings.sessions
        ):
            memory.pipelines.start_digest(
                Path(event.transcript), is_last=event.name == _SESSION_END
            )
        if event.name == "SessionStart" and workspace.settings.sync == "auto":
            background.start_syncing(workspace)
        is_only_told = event.name in _BLOCKS and not event.is_answered  # a block would be lost
        handler = None if is_only_told else _HANDLERS.get(event.name)
        if handler is None:
            workspace.ensure_state()  # for the event
            return ""
        return handler(memory, event)


def _with_notice(text: str, notice: str) -> str:
    # the notice is for the user alone
    if not notice:
        return text
    return json.dumps({**(json.loads(text) if text else {}), "systemMessage": f"mdmem: {notice}"})


def _start_session(memory: Memory, event: HookEvent, without_pool: bool = False) -> str:
    compacted = event.source == "compact" and not without_pool  # it was noted at the first try
    request = BuildContext(
        purpose=Purpose.SESSION,
        session=event.session,
        compacted=compacted,
        most_characters=_MOST_CHARACTERS,
    )
    block = memory.context(request, without_pool)
    return "" if event.source == "resume" and block.unchanged else event.shaped(block.text)


def _submit_prompt(memory: Memory, event: HookEvent, without_pool: bool = False) -> str:
    if event.prompt is None:
        return ""
    prompt = event.prompt[:_MOST_PROMPT]
    request = BuildContext(
        prompt=prompt,
        purpose=Purpose.PROMPT,
        session=event.session,
        before=_messages_before(prompt, event.transcript),
        most_characters=_MOST_CHARACTERS,
    )
    return event.shaped(memory.context(request, without_pool).text)


def _messages_before(prompt: str, transcript: str | None) -> tuple[str, ...]:
    if transcript is None or not follow_ups.may_follow(prompt):
        return ()
    with suppress(OSError, MdmemError):  # the prompt alone may do
        said = module("sessions.files").recent_prompts(transcript, _MOST_MESSAGES)
        # some clients write the prompt down before they call the hook
        return tuple(said[1:] if said[:1] == [prompt.strip()] else said)
    return ()


def _before_compaction(memory: Memory, event: HookEvent) -> str:
    if event.session:
        module("memory.contexts").note_compaction(memory.workspace, event.session)
    return installed.template("compact.md").strip() if event.is_answered else ""


def _after_compaction(memory: Memory, event: HookEvent) -> str:
    """Log new lines under `Memory:` in the summary, after removing blocks, as one change."""
    given = module("context.given")
    lines = given.memory_lines(given.strip_blocks(event.summary or ""))
    kept = memory.drop_given(lines, event.session, is_summary=True).kept
    if kept:
        options = WriteOptions(
            source=Source.AUTO,
            actor=memory.workspace.actor or _ACTOR,
            session=event.session,
            reason=_REASON,
        )
        memory.apply(Log(text=kept[0], more=kept[1:], options=options))
    return ""


_BLOCKS: Mapping[str, Callable[[Memory, HookEvent, bool], str]] = {
    "SessionStart": _start_session,
    "UserPromptSubmit": _submit_prompt,
}
_HANDLERS: Mapping[str, Callable[[Memory, HookEvent], str]] = {
    "SessionStart": _start_session,
    "UserPromptSubmit": _submit_prompt,
    "PreCompact": _before_compaction,
    "PostCompact": _after_compaction,
    "SessionEnd": lambda memory, event: "",  # only the digest is started
}
_SESSION_END = "SessionEnd"
# events that start a digest of the session, where the settings allow it
_DIGEST_EVENTS = frozenset({"UserPromptSubmit", "PreCompact", _SESSION_END})
