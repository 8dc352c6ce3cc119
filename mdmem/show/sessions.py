"""Results of `sessions`: the list of them, and one with its messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from mdmem.model.session_lists import SessionList, SessionSummary, SessionView, ShownMessage
from mdmem.show.formatting import dim, iso, one_line, steerless
from mdmem.wording import field, number_of

_COLUMNS = 80


def sessions_json(listed: SessionList) -> dict[str, Any]:
    """A list of sessions; where the settings name no client, with the folders that could be read."""
    answer: dict[str, Any] = {"sessions": [session_json(session) for session in listed.sessions]}
    if listed.folders:
        answer["folders"] = [{"client": each.client, "folder": each.folder, "files": each.files} for each in listed.folders]
    return answer


def session_json(session: SessionSummary) -> dict[str, Any]:
    """One session."""
    return {
        "client": session.client,
        "session": session.session,
        "path": session.path,
        "project": session.project,
        "started": iso(session.started),
        "ended": iso(session.ended),
        "messages": session.messages,
        "read_line": session.read_line,
        "new_bytes": session.new_bytes,
        "new_messages": session.new_messages,
        "gone": session.gone,
    }


def session_view_json(view: SessionView) -> dict[str, Any]:
    """One session with its messages."""
    messages = [
        {
            "line": message.line,
            "time": iso(message.time),
            "speaker": message.speaker,
            "sender": message.sender,
            "typed": message.typed,
            "text": message.text,
            "cut": message.cut,
        }
        for message in view.messages
    ]
    return {"sessions": [session_json(view.session)], "messages": messages, "older": view.older, "newer": view.newer}


def sessions_text(listed: SessionList, colour: bool) -> str:
    """Two lines a session: when and which, and how much of it there is. Or the folders that could be read."""
    if listed.folders:
        return "\n".join(one_line(f"{each.client}  {number_of(each.files, 'file')} in {each.folder}") for each in listed.folders)
    return "\n".join(line for session in listed.sessions for line in _session_lines(session, colour))


def sessions_notes(listed: SessionList) -> tuple[str, ...]:
    """Notes on a list of sessions."""
    empty = () if listed.sessions or listed.folders else ("no sessions",)
    more = (f"there are more; to see them, use {field('limit')}",) if listed.left_out else ()
    return (*listed.notes, *empty, *more)


def _session_lines(session: SessionSummary, colour: bool) -> Iterator[str]:
    yield one_line(f"{_minute(session.ended or session.started)}  {session.name}")
    yield dim(_shortened(f"    {', '.join(_figures(session))}", session.project), colour)


def _figures(session: SessionSummary) -> Iterator[str]:
    if session.gone:
        yield "gone"
    if session.messages is not None:
        yield number_of(session.messages, "message")
    if session.new_messages:
        yield f"{session.new_messages:,} new"
    if session.read_line:
        yield f"read to line {session.read_line:,}"


def _shortened(figures: str, project: str | None) -> str:
    """The figures of a session and its project, of which only the end is shown where it is long."""
    if project is None:
        return figures
    room = max(20, _COLUMNS - len(figures) - 2)
    path = one_line(project)
    return f"{figures}  {path if len(path) <= room else '…' + path[1 - room :]}"


def session_view_text(view: SessionView, colour: bool) -> str:
    """A session and its messages, oldest first."""
    return "\n".join(_view_lines(view, colour))


def session_view_notes(view: SessionView) -> tuple[str, ...]:
    """Notes on a session."""
    if view.session.gone:
        return ("the transcript is gone: clients delete old ones",)
    left_out = (number_of(count, f"{age} message") for age, count in (("older", view.older), ("newer", view.newer)) if count)
    words = " and ".join(left_out)
    return (f"{words} not shown",) if words else ()


def _view_lines(view: SessionView, colour: bool) -> Iterator[str]:
    yield from _session_lines(view.session, colour)
    for message in view.messages:
        yield ""
        yield dim(one_line(_head(message)), colour)
        yield from (f"    {line}".rstrip() for line in steerless(message.text).split("\n"))
        if message.cut:
            yield dim(f"    … {number_of(message.cut, 'character')} more", colour)


def _head(message: ShownMessage) -> str:
    mark = ">" if message.is_named else "#"
    return " ".join(filter(None, (f"{mark}{message.line}", _minute(message.time), message.sender or message.speaker)))


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "(no time)"
