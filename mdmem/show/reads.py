"""Results of reading: sections, tasks, outlines, problems, the status of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from mdmem.model import FileKind, Problem
from mdmem.model.errors import field, number_of, printable, shell_word
from mdmem.model.reads import (
    FileList,
    FileRow,
    ListFiles,
    ModelStatus,
    Outline,
    PipelineStatus,
    SectionView,
    WorkspaceStatus,
)
from mdmem.model.sessions import SessionList, SessionSummary, SessionView, ShownMessage
from mdmem.show.formatting import (
    also_notes,
    dim,
    one_line,
    section_line,
    short_id,
    some_of,
    steerless,
    unreadable_line,
    waiting_line,
)

_COLUMNS = 80


def sessions_text(listed: SessionList, colour: bool) -> str:
    if listed.folders:
        return "\n".join(
            one_line(
                f"{each.client}  {number_of(each.files, 'file')} in {each.folder}"
                f"{', not read' if each.files else ''}"
            )
            for each in listed.folders
        )
    return "\n".join(
        line for session in listed.sessions for line in _session_lines(session, colour)
    )


def sessions_notes(listed: SessionList) -> tuple[str, ...]:
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
    # only the end of a long project path is shown
    if project is None:
        return figures
    room = max(20, _COLUMNS - len(figures) - 2)
    path = one_line(project)
    return f"{figures}  {path if len(path) <= room else '…' + path[1 - room :]}"


def session_view_text(view: SessionView, colour: bool) -> str:
    return "\n".join(_view_lines(view, colour))


def session_view_notes(view: SessionView) -> tuple[str, ...]:
    if view.session.gone:
        return ("the transcript is gone: clients delete old ones",)
    left_out = (
        number_of(count, f"{age} message")
        for age, count in (("older", view.older), ("newer", view.newer))
        if count
    )
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
    return " ".join(
        filter(
            None,
            (f"{mark}{message.line}", _minute(message.time), message.sender or message.speaker),
        )
    )


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "(no time)"


def section_notes(view: SectionView) -> tuple[str, ...]:
    place = f"{view.path}:{view.start_line}  {section_line(view.section)}".rstrip()
    return (
        *([one_line(f"{place}  [{view.fact}]")] if view.fact else []),
        *(() if view.as_of is None else (f"Memory as of {view.as_of}",)),
        *also_notes(view.also),
    )


def section_text(view: SectionView, terminal: bool) -> str:
    text = "\n".join([view.text.strip("\r\n"), *(f"{line}  (said by then)" for line in view.said)])
    return steerless(text) if terminal else text


def tasks_text(names: Iterable[str]) -> str:
    return "\n".join(map(one_line, names))


def outline_text(outline: Outline) -> str:
    rows = (
        f"{'  ' * (len(row.section) - 1)}{section_line(row.section[-1:])}  (line {row.line})"
        f" {row.etag}"
        for row in outline.sections
    )
    return "\n".join(one_line(row) for row in rows) or f"{outline.path} has no headings"


def files_text(listed: FileList) -> str:
    return "\n".join(map(_file_text, listed.files))


def _file_text(row: FileRow) -> str:
    changed = f"{row.changed:%Y-%m-%d %H:%M}" if row.changed else " " * 16
    counts = f"{number_of(len(row.sections), 'section')}, {number_of(row.facts, 'fact')}"
    return one_line(f"{changed}  {row.path}  {row.title}".rstrip() + f"  ({counts})")


def files_notes(listed: FileList, request: ListFiles) -> tuple[str, ...]:
    last = request.offset + len(listed.files)
    more = (
        (f"{number_of(listed.total - last, 'more file')} ({field('offset')} {last} shows them)",)
        if listed.files and last < listed.total
        else ()
    )
    return (*listed.notes, *more)


def problem_text(problem: Problem) -> str:
    line = one_line(
        f"{problem.path}:{problem.line}: {problem.level}: {problem.message} ({problem.code})"
    )
    return f"{line}\n    {printable(problem.hint)}" if problem.hint else line


def _index_state(status: WorkspaceStatus) -> str:
    if not status.entries and not status.current:
        return "not built yet (it is built in the background, or by the next search)"
    state = "up to date" if status.current else "behind (the next search updates it)"
    if status.commit and not status.indexed_commit:
        state = "a part (history is not read yet; the next search reads it)"
    return f"{number_of(status.entries, 'entry', 'entries')}, {state}"


_KIND_NAMES = {
    FileKind.EVERGREEN.value: "curated",
    FileKind.BOOTSTRAP.value: "for agents (such as AGENTS.md)",
}


def kinds_line(status: WorkspaceStatus) -> str:
    kinds = (
        f"{count} {_KIND_NAMES.get(kind, kind)}" for kind, count in status.files.items() if count
    )
    return ", ".join(kinds) or "none"


def status_text(status: WorkspaceStatus) -> str:
    hooks = sorted(set(status.hooks.values()))
    rows = [
        f"workspace  {status.workspace}{'' if status.adopted else ' (not adopted)'}",
        f"branch     {status.branch or 'detached'} at {short_id(status.commit) or 'no commit yet'}",
        f"files      {kinds_line(status)}",
        *(f"paths      {glob}: {number_of(count, 'file')}" for glob, count in status.paths.items()),
        *(
            [f"other      {number_of(status.other_markdown, 'Markdown file')}, not searched"]
            if status.other_markdown
            else []
        ),
        f"index      {_index_state(status)}",
        f"hooks      {', '.join(hooks)}",
        *(f"unsaved    {path}" for path in some_of(status.uncommitted)),
        *(f"conflict   {path}:{line}: conflict markers" for path, line in status.conflicts),
        *(f"skipped    {path}: {reason}" for path, reason in status.skipped),
        *(_pipeline_rows(status.pipelines) if status.pipelines else ()),
        *([f"sync       {status.sync}"] if status.sync else []),
        *(f"elsewhere  {line}" for line in some_of([each.line for each in status.branches])),
        *(f"reads too  {name} ({problem or folder})" for name, folder, problem in status.pool),
        *(
            [f"vectors    {each.rows:,} by {one_line(each.model)}, {each.missing:,} missing"]
            if (each := status.vectors)
            else []
        ),
        *([f"waiting    {waiting}"] if (waiting := waiting_line(status.waiting)) else []),
        *(f"proposal   {unreadable_line(each)}" for each in status.waiting.unreadable),
        *(f"next       {step}" for step in _next_steps(status)),
    ]
    return "\n".join(one_line(row) for row in rows)


def _pipeline_rows(status: PipelineStatus) -> Iterator[str]:
    if status.last_time:
        yield (
            f"last run   {status.last_step} {status.last_outcome},"
            f" {status.last_time.astimezone():%Y-%m-%d %H:%M} ({status.last_run})"
        )
    else:
        yield "last run   none"
    if status.dreamt:
        yield f"dream      the last one was for {status.dreamt:%Y-%m-%d}"
    if days := status.open_days:
        yield (
            f"dream      {number_of(len(days), 'logged day')} not consolidated. To do it now:"
            f" mdmem dream --since {days[0]:%Y-%m-%d}"
        )
    if status.unread and status.oldest_time:
        count = number_of(status.unread, "session")
        yield (
            f"unread     {count} for more than 20 days, oldest {status.oldest_time:%Y-%m-%d}"
            f" ({status.oldest_unread}); clients delete them"
        )
    for silent in status.silent:
        yield (
            f"silent     {silent.step} has found nothing since {silent.since:%Y-%m-%d}, in"
            f" {silent.size:,} bytes of new transcripts"
        )
    if status.model is not None:
        yield f"model      {', '.join(_model_parts(status.model))}"
    parts = [
        f"{part.path}: {number_of(part.count, 'line')}, the first is line {part.line}"
        f" ({part.reason})"
        for part in status.skipped
    ]
    yield from (f"skipped    {part}" for part in some_of(parts))


def _model_parts(status: ModelStatus) -> Iterator[str]:
    yield f"{status.tokens_used:,} of {status.tokens_a_day:,} tokens today"
    if status.last_time:
        yield f"last request {status.last_outcome}, {status.last_time.astimezone():%Y-%m-%d %H:%M}"
    if status.waiting:
        yield f"{number_of(status.waiting, 'session')} waiting"
    if status.given_up:
        yield (
            f"{number_of(status.given_up, 'session')} partly left to the rules, because the model"
            " did not answer"
        )


def _next_steps(status: WorkspaceStatus) -> Iterator[str]:
    if not status.adopted:
        yield (f"mdmem init {shell_word(status.workspace)}  (adopts it, so that agents may use it)")
    if status.conflicts:
        yield "edit what is in conflict until the markers are gone, then mdmem save"
    elif status.uncommitted and not {path for path, _ in status.skipped}.intersection(
        status.uncommitted
    ):
        yield f"mdmem save  (commits {number_of(len(status.uncommitted), 'pending file')} as yours)"
    if status.pipelines is not None and (status.pipelines.unread or not status.pipelines.last_step):
        yield "mdmem run  (reads the sessions)"
    if status.waiting.proposals:
        yield "mdmem review --proposals  (shows open proposals)"
    if status.skipped:
        yield "mdmem check  (explains why files are skipped)"
    if "foreign" not in status.hooks.values() and set(status.hooks.values()) - {"installed"}:
        yield "mdmem hooks install  (checks what is committed)"
    if not status.entries:
        yield (
            'mdmem remember "a fact", mdmem log "what happened"'
            if status.current
            else "mdmem search WORDS  (builds the index)"
        )
