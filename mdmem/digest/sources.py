"""Transcripts by name, and those that the settings name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mdmem.errors import PathProblem, TranscriptProblem, UsageProblem
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.transcripts import CLIENT_NAMES
from mdmem.transcripts.files import TranscriptHead, find_files, read_file, read_head
from mdmem.workspace import Workspace

FEWEST_CHARACTERS = 6
"""A session is named by so many characters of its id or more, or by all of them."""
_LINES = late.pattern(r"#([0-9]{1,9})(?:-([0-9]{1,9}))?$")
_BEFORE_ID = late.pattern(r"[-_T](?=[0-9a-f])")
_MOST_NAMED = 10
_TOO_SHORT_HINT = "Name its file, or its id: CLIENT/SESSION, SESSION, or the first six characters or more."


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session as a user names it; `first_line` and `last_line` are None where no lines are named."""

    client: str | None
    session: str
    first_line: int | None = None
    last_line: int | None = None

    @property
    def without_lines(self) -> str:
        """The name without the lines."""
        return self.session if self.client is None else f"{self.client}/{self.session}"

    def fits(self, client: str, session: str) -> bool:
        """True if a session has this name, or one that begins so."""
        return self.client in (None, client) and (
            session == self.session or (len(self.session) >= FEWEST_CHARACTERS and session.startswith(self.session))
        )


@dataclass(frozen=True, slots=True)
class NamedTranscript:
    """A transcript and what its first records tell."""

    path: Path
    head: TranscriptHead

    @property
    def session(self) -> str:
        """CLIENT/SESSION."""
        return f"{self.head.client}/{self.head.session}"


def parse_name(text: str) -> SessionName:
    """Parse `[CLIENT/]SESSION[#LINE[-LINE]]`.

    Raises:
        UsageProblem: the last line comes before the first.
    """
    lines = _LINES.search(text)
    name = text[: lines.start()] if lines else text
    first = int(lines[1]) if lines else None
    last = int(lines[2]) if lines and lines[2] else first
    if first is not None and last is not None and not 1 <= first <= last:
        raise UsageProblem(f"{text[:80]} names no lines", "Lines count from 1, the lower number first: SESSION#12-20.")
    client, slash, session = name.partition("/")
    if slash and client in CLIENT_NAMES:
        return SessionName(client, session, first, last)
    return SessionName(None, name, first, last)


def find_transcript(workspace: Workspace, name: SessionName) -> NamedTranscript | None:
    """The one transcript of a session: of the clients that the settings name, and all others that are known.

    Its file is looked for by the name first, as clients name their files, and only then by what all files say.

    Raises:
        TranscriptProblem: `ambiguous`: several sessions begin so, or several files are of one.
    """
    if not name.session:
        return None
    files = [Path(file.path) for file in find_files((*workspace.settings.sessions, *CLIENT_NAMES), workspace.environment)]
    likely = [path for path in files if may_be_of(path, name.session)]
    for paths in (likely, [path for path in files if path not in set(likely)]):
        transcripts = [each for each in read_heads(paths) if name.fits(each.head.client, each.head.session)]
        exact = [each for each in transcripts if each.head.session == name.session]
        if transcripts:
            return _only(name, exact or transcripts)
    return None


def _only(name: SessionName, transcripts: list[NamedTranscript]) -> NamedTranscript:
    """The only transcript of a session; of several, the one whose file is named after it, or the one in which something is said."""
    if len({each.session for each in transcripts}) == 1 and len(transcripts) > 1:
        transcripts = [each for each in transcripts if each.head.session in each.path.stem] or transcripts
        if len(transcripts) > 1:  # what a sub-agent did has the id of its session
            transcripts = list(filter(_has_messages, transcripts)) or transcripts
    if len(transcripts) == 1:
        return transcripts[0]
    sessions = sorted({each.session for each in transcripts})
    names = sessions if len(sessions) > 1 else sorted(str(each.path) for each in transcripts)
    raise ambiguous(name, names)


def ambiguous(name: SessionName, names: Sequence[str]) -> TranscriptProblem:
    """The failure that a name fits several sessions, or several files of one."""
    named = ", ".join((*names[:_MOST_NAMED], *(["…"] if len(names) > _MOST_NAMED else [])))
    message = f"{name.session[:80]} matches several: {named}"
    return TranscriptProblem("ambiguous", message, "Name one of them, with more characters or by its file.", sessions=list(names))


def _has_messages(transcript: NamedTranscript) -> bool:
    with suppress(TranscriptProblem, OSError):
        read = read_file(str(transcript.path))
        return read is not None and bool(read.messages)
    return False


def read_heads(paths: Iterable[Path]) -> Iterator[NamedTranscript]:
    """The transcripts of which the first records can be read."""
    for path in paths:
        try:
            head = read_head(str(path))
        except (TranscriptProblem, OSError):
            continue
        if head is not None:
            yield NamedTranscript(path, head)


def may_be_of(path: Path, session: str) -> bool:
    """True if a file may be named after a session that begins so. Some files have only the beginning of an id in their name."""
    parts = name_parts(path.stem)
    return any(part.startswith(session) or (len(part) >= FEWEST_CHARACTERS and session.startswith(part)) for part in parts)


def name_parts(stem: str) -> list[str]:
    """The name of a file, and its parts that may be the id of a session: `rollout-TIME-ID`, `TIME_ID`, `session-TIME-ID`."""
    return [stem[at:] for at in (0, *(match.end() for match in _BEFORE_ID.finditer(stem)))]


def named_transcript(workspace: Workspace, name: str) -> Path:
    """The transcript at a path, or that of a session.

    Raises:
        PathProblem: `file-not-found`: there is none. TranscriptProblem: `ambiguous`. UsageProblem: the name has lines.
    """
    if is_file(name):
        return Path(name)
    session = parse_name(name)
    if session.first_line is not None:
        raise UsageProblem(f"{name[:80]} names lines", "A session is read as a whole: name it without them.")
    transcript = find_transcript(workspace, session)
    if transcript is None:
        raise not_found(name)
    return transcript.path


def is_file(name: str) -> bool:
    """True if a name is the path of a file; some are no path at all."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def not_found(name: str) -> PathProblem:
    """The failure that there is no session of a name."""
    return PathProblem("file-not-found", f"no transcript {name[:200]}", _TOO_SHORT_HINT)
