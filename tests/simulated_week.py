"""Lives through the week of `week_script` in a workspace of its own, and keeps what stood there
before and after each night.
"""

import contextlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest
from conftest import World, keep_from_background, sealed_world
from kept_state import keep_state
from made_sessions import write_session
from week_script import EVENTS, MEMORY, MINUTE, OWNER, PROFILE, SESSIONS, START, Session, moment

from mdmem.cli import main
from mdmem.sessions.clients import CLIENT_NAMES

Proposed = tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def values(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Night:
    """A night: the files before and after it, what is proposed, and a copy of the repository that
    was made on the morning after it.
    """

    files_before: Mapping[str, bytes]
    files_after: Mapping[str, bytes]
    proposed: Proposed
    commit_before: str
    copy: Path
    time: datetime


@dataclass
class Week:
    """A workspace in which a week is lived through: its transcripts, the person's `settings`, and
    its `nights` by their names.
    """

    world: World
    root: Path
    patch: pytest.MonkeyPatch
    settings: Sequence[str] = ()
    sessions: Sequence[Session] = SESSIONS
    nights: dict[str, Night] = field(default_factory=dict)
    steps: list[Mapping[str, Any]] = field(default_factory=list)

    @classmethod
    def begin(
        cls,
        folder: Path,
        empty: Path,
        patch: pytest.MonkeyPatch,
        *settings: str,
        memory: str = MEMORY,
        start: datetime = START,
    ) -> Self:
        """A workspace in a sealed world of its own, with what the person wrote before the week; its
        repository is a copy of an empty one.
        """
        keep_from_background(patch)
        world = sealed_world(folder, patch)
        week = cls(world, folder / "repository", patch, settings)
        shutil.copytree(empty, week.root)
        week.root.joinpath("MEMORY.md").write_text(memory)
        week.root.joinpath("USER.md").write_text(PROFILE)
        week.git("add", "-A")
        week.git("commit", "-q", "-m", "seed", at=start)
        return week

    def call(
        self, *words: str, at: datetime | None = None, root: Path | None = None, status: int = 0
    ) -> Answer:
        """A command in this process."""
        if at is not None:
            self.patch.setenv("MDMEM_NOW", at.astimezone(UTC).isoformat())
        self.patch.setenv("MDMEM_ADOPT", str(root or self.root))
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["-C", str(root or self.root), *words])
        answer = Answer(code, _printed(out), _printed(err))
        assert answer.status == status, f"{words} exited {answer.status}:\n{answer.out}{answer.err}"
        return answer

    def git(self, *words: str, at: datetime | None = None, root: Path | None = None) -> str:
        dates = (
            {name: at.isoformat() for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")}
            if at
            else {}
        )
        return self.world.git(root or self.root, *words, environment=dates).stdout

    def set_zone(self, zone: str) -> None:
        """Write the person's own settings."""
        path = self.world.home / ".config" / "mdmem" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (
            f'timezone = "{zone}"',
            f"sessions = {list(CLIENT_NAMES)}",
            'session_scope = "all"',
            f'owner = ["{OWNER}"]',
            *self.settings,
        )
        path.write_text("".join(f"{line}\n" for line in lines))

    def write_sessions(self, now: datetime) -> None:
        """Write the transcripts as they are at a time."""
        for session in self.sessions:
            data = _transcript(session, now)
            if not data:
                continue
            path = self.world.home / _place(session)
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
                last = min(now, session.start + len(session.turns) * MINUTE).timestamp()
                os.utime(path, (last, last))

    def edit(self, replaced: Sequence[Sequence[str]], message: str | None, *, at: datetime) -> None:
        """Edit MEMORY.md as a person does; a line is named by a pattern."""
        path = self.root / "MEMORY.md"
        lines = path.read_text().splitlines(keepends=True)
        for words, text in replaced:
            (number,) = [number for number, line in enumerate(lines) if re.search(words, line)]
            lines[number] = text
        path.write_text("".join(lines))
        if message:
            self.git("commit", "-q", "-m", message, "MEMORY.md", at=at)

    def files(self, root: Path | None = None) -> dict[str, bytes]:
        """The memory files as they are on disk."""
        folder = root or self.root
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*.md"))
        }

    def proposals(self) -> list[dict[str, Any]]:
        """The open parts of all proposals, each with its proposal's id."""
        parts = []
        for proposal in self.call("proposals", "--json").values["proposals"]:
            name = proposal["proposal"]
            listed = self.call("proposals", name, "--json").values["parts"]
            parts += [
                {**part, "proposal": name}
                for part in listed
                if part["state"] in ("open", "overtaken")
            ]
        return parts

    def proposed(self) -> Proposed:
        """What is proposed, as `OLD -> NEW`, either of which may be empty."""
        return tuple(change_text(part["old"], part["new"]) for part in self.proposals())

    def run(self, night: str | None, *, at: datetime) -> None:
        self.write_sessions(at)
        before = self.files()
        commit = self.git("rev-parse", "HEAD").strip()
        steps = self.call("run", "--json", at=at).values["steps"]
        self.steps += steps
        if night is None:
            return
        copy = self.root.parent / f"morning {len(self.nights)}" / self.root.name
        self.nights[night] = Night(
            files_before=before,
            files_after=self.files(),
            proposed=self.proposed(),
            commit_before=commit,
            copy=copy,
            time=at,
        )
        shutil.copytree(self.root, copy, symlinks=True)
        keep_state(copy)

    def reject(self, text: str, *, at: datetime) -> None:
        """Reject what would bring in a text."""
        parts = [part for part in self.proposals() if part["new"] and text in part["new"]]
        for part in parts:
            self.call("reject", part["proposal"], part["part"], at=at)


def live(week: Week, last: str = "sixth") -> None:
    """Live through the week, up to a night."""
    for event in EVENTS:
        at = moment(event["at"])
        match event:
            case {"zone": zone}:
                week.set_zone(zone)
            case {"call": words}:
                week.call(*words, at=at)
            case {"edit": replaced, "message": message}:
                week.edit(replaced, message, at=at)
            case {"reject": text}:
                week.reject(text, at=at)
            case {"run": night}:
                week.run(night, at=at)
                if night == last:
                    return
            case _:
                pytest.fail(f"nothing is done by {event}")


def facts_of(data: bytes) -> list[str]:
    """The list items of a Markdown file, without marker, kind and key."""
    return [plain(line[2:]) for line in data.decode().splitlines() if line.startswith("- ")]


def plain(text: str) -> str:
    """A line without its kind and its key."""
    return re.sub(
        r"^(?:\[\w+\] )?(?:\*\*[\w ]+\*\*: |[a-z][a-z0-9_ ]*: )?",
        "",
        text.removeprefix("- ").strip(),
    )


def change_text(old: str | None, new: str | None) -> str:
    return f"{plain(old or '')} -> {plain(new or '')}".strip()


def _printed(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def _place(session: Session) -> Path:
    start = session.start.astimezone(UTC)
    match session.client:
        case "claude":
            return Path(".claude/projects/-home-ada-work", f"{session.id}.jsonl")
        case "codex":
            return Path(
                f".codex/sessions/{start:%Y/%m/%d}",
                f"rollout-{start:%Y-%m-%dT%H-%M-%S}-{session.id}.jsonl",
            )
        case "gemini":
            return Path(
                ".gemini/tmp/ada/chats", f"session-{start:%Y-%m-%dT%H-%M}-{session.id[:8]}.jsonl"
            )
        case _:
            return Path(".openclaw/agents/main/sessions", f"{session.id}.jsonl")


def _transcript(session: Session, now: datetime) -> bytes:
    """The transcript of a session as it is at a time; empty before it begins."""
    turns = [
        turn
        for number, turn in enumerate(session.turns)
        if session.start.astimezone(UTC) + number * MINUTE <= now.astimezone(UTC)
    ]
    if not turns:
        return b""
    own = write_session(session.client, turns, session.id, session.start.astimezone(UTC))
    if session.fork_of is None:
        return own
    (origin,) = [each for each in SESSIONS if each.id == session.fork_of]
    copied = write_session(origin.client, origin.turns, session.id, origin.start.astimezone(UTC))
    return _chained(copied, own)


def _chained(first: bytes, second: bytes) -> bytes:
    """One session of two of claude, the second of which goes on with the first."""
    rows = [json.loads(line) for line in first.splitlines()]
    more = [json.loads(line) for line in second.splitlines()][1:]
    for row in more:
        row["uuid"] = f"later-{row['uuid']}"
        row["parentUuid"] = f"later-{row['parentUuid']}" if row["parentUuid"] else rows[-1]["uuid"]
    return b"".join(json.dumps(row).encode() + b"\n" for row in (*rows, *more))


def entries_of(week: Week) -> Iterator[tuple[str, str, str]]:
    """The entries of all days: the day, the minute and the line."""
    for name, data in week.files().items():
        if match := re.fullmatch(r"memory/(\d{4}-\d\d-\d\d)\.md", name):
            minute = ""
            for line in data.decode().splitlines():
                minute = line.removeprefix("## ") if line.startswith("## ") else minute
                if line.startswith("- "):
                    yield match[1], minute, line.removeprefix("- ")
