"""Take in what other tools keep: conversations as a digest does, facts to a file of their own."""

from __future__ import annotations

from pathlib import Path

from mdmem import secrets
from mdmem.changes.verbs.digest_day import entry_fact
from mdmem.folder import config
from mdmem.model import FactId, FilePath, Source
from mdmem.model.errors import (
    PathProblem,
    TranscriptProblem,
    number_of,
    printable,
    shell_word,
    verb,
)
from mdmem.model.pipelines import Digest, DigestResult, Import, LeftSession
from mdmem.model.writes import DayEntry, DigestDay, WriteOptions
from mdmem.nights.digest.writing import EntryWriter
from mdmem.nights.imports.exports import UNREADABLE, ExportFile, contents, export_files
from mdmem.nights.imports.formats import read_note, read_record
from mdmem.nights.steps import StepRecorder, in_turn, new_name
from mdmem.past import fresh_trail
from mdmem.queries import removed_facts
from mdmem.sessions.drafts import DraftRules, draw, draw_permissively
from mdmem.sessions.reading import clean_messages
from mdmem.sessions.records import Reading
from mdmem.sessions.sentences import REDACTED
from mdmem.startup.records import replace
from mdmem.workspace import Say, Workspace

_FORMATS = (
    "Supported: the exports of ChatGPT and Claude (conversations.json or the archive), Claude's"
    " memory folder, JSON of mem0, notes of basic-memory, the file of the reference memory server."
)
_MOST_FACTS = 5_000
"""New ones of one tool at once: a commit names the origin of each."""
_MOST_CHARACTERS = 4_000
"""Of one fact."""
_MOST_HELD = 500
"""Entries of conversations that are written together."""


class _ImportRun:
    def __init__(
        self, workspace: Workspace, request: Import, say: Say, tally: DigestResult
    ) -> None:
        self._workspace = workspace
        self._zone = config.zone(workspace.settings.timezone)
        self._tally = tally
        digest = Digest(dry_run=request.dry_run)
        self._writer = EntryWriter(workspace, digest, tally.run, self._zone, tally=tally, say=say)
        self._facts: dict[str, dict[FactId, DayEntry]] = {}
        """By tool."""
        self._removed = removed_facts.facts_taken_out(workspace, say)
        with fresh_trail(workspace, say) as trail:
            self._known = frozenset(trail.ids_with_prefix(""))
            """All facts that were ever in memory: a person may have corrected or moved one."""

    def read(self, file: ExportFile) -> bool:
        """Take what a file tells (False: it is in no known format), and name what is left."""
        number = unknown = 0
        try:
            for number, content in enumerate(contents(file), 1):
                told = (
                    read_note(content, file.name, file.of_claude)
                    if isinstance(content, str)
                    else read_record(content or {}, file.name, number)
                )
                unknown += told is None
                for each in told or ():
                    if isinstance(each, Reading):
                        self._hold_conversation(each)
                    else:
                        self._hold_fact(each, file)
        except UNREADABLE as problem:
            self._leave(file.name, f"after {number_of(number, 'record')}: {problem}")
            return True
        if 0 < unknown < number:
            self._leave(file.name, f"{unknown} of {number} records are in another form")
        return unknown < number

    def _leave(self, place: str, why: str) -> None:
        self._tally.left.append(LeftSession(place, why))

    def _hold_conversation(self, reading: Reading) -> None:
        """Draw entries as from the transcript of a session that has ended."""
        session = " ".join((reading.header.session or "").split())
        messages = clean_messages(reading.messages, reading.header.started)
        rules = DraftRules(zone=self._zone)
        drafts = draw(messages, rules).drafts or draw_permissively(messages, rules)
        self._tally.figures.sessions += 1
        self._tally.figures.messages += len(messages)
        self._tally.figures.redacted += sum(REDACTED in message.text for message in messages)
        self._writer.hold_drafts(session, session, drafts)
        if self._writer.held >= _MOST_HELD:
            self._write_held()

    def _write_held(self) -> None:
        for message in {problem.message for problem in self._writer.write() if problem}:
            self._leave("conversations", message)

    def _hold_fact(self, entry: DayEntry, file: ExportFile) -> None:
        time = entry.time or file.modified
        day = (time.astimezone(self._zone) if time.tzinfo else time).date()
        entry = replace(
            entry,
            minute=day.isoformat(),
            text=printable(entry.text),
            cites=printable(" ".join(entry.cites.split())),
        )
        has_secret = secrets.find(entry.text) or secrets.find(entry.cites)
        if has_secret or len(entry.text) > _MOST_CHARACTERS:
            why = "it has a secret" if has_secret else f"over {_MOST_CHARACTERS:,} characters"
            self._leave(secrets.redact(entry.cites), why)
        elif entry.text:
            fact = entry_fact(entry)
            entries = self._facts.setdefault(entry.cites.partition("/")[0], {})
            if self._removed.holds(entry.text, fact, None):
                self._tally.figures.refused += 1
            elif fact in entries or fact in self._known:
                self._tally.figures.doubled += 1
            elif len(entries) == _MOST_FACTS:
                self._tally.figures.surplus += 1
            else:
                entries[fact] = entry

    def finish(self) -> None:
        """Write what is left of conversations, and the facts: one commit for each tool."""
        self._write_held()
        for tool, entries in self._facts.items():
            change = DigestDay(
                day=self._workspace.now().date(),
                entries=tuple(entries.values()),
                run=self._tally.run,
                options=WriteOptions(source=Source.INFERRED),
                file=FilePath(f"memory/{tool}.md"),
            )
            self._writer.write_change(change)


def import_memory(workspace: Workspace, request: Import, say: Say) -> DigestResult:
    """Take in what another tool has kept; what is there already stays as it is.

    Raises: WorkspaceProblem (`not-allowed`: an agent asks), PathProblem (`file-not-found`,
    `bad-path`), TranscriptProblem (`unknown-format`), RepositoryProblem (`running`), MdmemError.
    """
    path, named = Path(request.path), request.path[:200]
    workspace.require_person(
        workspace.given_actor(None),
        "import another tool's memory",
        f"{verb('import')} {shell_word(request.path)}",
    )
    if not path.exists():
        raise PathProblem("file-not-found", f"no file or folder {named}")
    if workspace.root.is_relative_to(path.resolve()):
        raise PathProblem("bad-path", f"{named} holds this memory itself")
    workspace.ensure_state()

    def work() -> DigestResult:
        with StepRecorder(workspace.state, "import", keep=not request.dry_run) as step:
            step.run = new_name(workspace.state, "import")
            tally = DigestResult(run=step.run, figures=step.figures)
            run = _ImportRun(workspace, request, say, tally)
            known = [run.read(file) for file in export_files(path)]
            if not any(known):
                raise TranscriptProblem("unknown-format", f"{named} has no known format", _FORMATS)
            run.finish()
            step.figures.skipped = known.count(False)
            step.outcome = tally.outcome
        return tally

    return in_turn(workspace.state, work, lambda _: False)
