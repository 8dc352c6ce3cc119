"""Write what other tools told: conversations as a digest does, facts to a file of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from mdmem import secrets
from mdmem.changes.verbs.digest_day import entry_fact
from mdmem.folder import config, files
from mdmem.model import MAX_FILE_BYTES, FactId, FileKind, FilePath, Source
from mdmem.model.errors import (
    MdmemError,
    PathProblem,
    TranscriptProblem,
    printable,
    shell_word,
    verb,
)
from mdmem.model.pipelines import (
    Digest,
    DigestResult,
    Import,
    ImportedFact,
    ImportResult,
    LeftSession,
)
from mdmem.model.writes import DayEntry, DigestDay, WriteOptions
from mdmem.nights.digest.writing import EntryWriter
from mdmem.nights.imports.exports import UNREADABLE, ExportFile, beginning, export_files, records
from mdmem.nights.imports.formats import Conversation, Told, ToldFact, read_note, read_record
from mdmem.nights.steps import StepRecorder, in_turn, new_name
from mdmem.queries import cited_sessions, removed_facts
from mdmem.sessions.drafts import DraftRules, draw, draw_permissively
from mdmem.sessions.reading import clean_conversation
from mdmem.sessions.sentences import REDACTED
from mdmem.text.document import parse_bytes
from mdmem.text.facts import items
from mdmem.workspace import Say, Workspace

STEP = "import"
_FORMATS = (
    "Supported: conversations.json or the archive of ChatGPT and of Claude, Claude's memory folder,"
    " JSON of mem0, notes of basic-memory, and the file of the reference memory server. Markdown of"
    " your own becomes memory by the setting `paths`."
)
_UNDATED = "Undated"
_MOST_FACTS = 5_000
"""New ones of one tool at once: a commit names the origin of each."""
_MOST_CHARACTERS = 4_000
"""Of one fact."""
_MOST_HELD = 500
"""Entries of conversations that are written together."""


class _ImportRun:
    def __init__(
        self, workspace: Workspace, request: Import, say: Say, result: ImportResult
    ) -> None:
        self._workspace = workspace
        self._say = say
        self._zone = config.zone(workspace.settings.timezone)
        self._result = result
        self._figures = result.said.figures
        self._request = Digest(dry_run=request.dry_run)
        self._writer = self._writer_of(result.said)
        self._facts: dict[str, dict[FactId, DayEntry]] = {}
        """By tool."""
        self._cited: dict[str, frozenset[FactId]] = {}
        self._own = 0

    def _writer_of(self, tally: DigestResult) -> EntryWriter:
        return EntryWriter(
            self._workspace, self._request, tally.run, self._zone, tally=tally, say=self._say
        )

    def read(self, file: ExportFile) -> None:
        """Take what a file tells; what it is cut off before counts."""
        try:
            if self._is_memory(file.path):
                self._own += 1
            elif beginning(file, 64).lstrip().startswith(("{", "[")):
                self._read_records(file)
            elif (text := beginning(file, MAX_FILE_BYTES + 1)) and len(text) > MAX_FILE_BYTES:
                self._leave(file.name, "over 5 MB")
            else:
                told = read_note(text, file.name, file.modified, file.of_claude)
                self._result.unknown += told is None
                self._take(told or iter(()))
        except UNREADABLE as problem:
            self._leave(file.name, str(problem) or type(problem).__name__)

    def _read_records(self, file: ExportFile) -> None:
        number, unknown = 0, list[int]()
        try:
            for number, record in enumerate(records(file), 1):
                told = read_record(record or {}, file.name, number)
                if told is None:
                    unknown.append(number)
                else:
                    self._take(told)
        except UNREADABLE as problem:
            self._leave(file.name, f"after {number} records: {problem}")
        else:
            if len(unknown) == number:
                self._result.unknown += 1
            elif unknown:
                why = (
                    f"{len(unknown)} of {number} records in another form, the first is {unknown[0]}"
                )
                self._leave(file.name, why)

    def _is_memory(self, path: Path) -> bool:
        root = self._workspace.root
        path = path.resolve()
        return path.is_relative_to(root) and (
            self._workspace.kind_of(path.relative_to(root).as_posix()).is_memory
        )

    def _leave(self, name: str, why: str) -> None:
        self._result.said.left.append(LeftSession(name, why))

    def _take(self, told: Iterator[Told]) -> None:
        for each in told:
            self._result.known += 1
            if isinstance(each, Conversation):
                self._hold(each)
            else:
                self._hold_fact(each)

    def _hold(self, conversation: Conversation) -> None:
        """Draw entries as from the transcript of a session that has ended."""
        messages = clean_conversation(conversation.messages, conversation.started)
        rules = DraftRules(zone=self._zone)
        drawn = draw(messages, rules)
        self._figures.sessions += 1
        self._figures.messages += len(messages)
        self._figures.redacted += sum(REDACTED in message.text for message in messages)
        self._writer.hold_drafts(
            f"{conversation.tool}/{' '.join(conversation.name.split())}",
            conversation.name,
            drawn.drafts or draw_permissively(messages, rules),
        )
        if self._writer.held >= _MOST_HELD:
            self._write_held()

    def _write_held(self) -> None:
        for problem in {str(each): each for each in self._writer.write() if each}.values():
            self._leave("conversations", problem.message)

    def finish(self) -> None:
        """Write what is left of conversations, and the facts: one commit for each tool."""
        if self._own:
            self._leave(self._workspace.root.name, f"{self._own} files are memory here already")
        self._write_held()
        for tool, entries in self._facts.items():
            self._write_facts(FilePath(f"memory/{tool}.md"), tuple(entries.values()))

    def _hold_fact(self, fact: ToldFact) -> None:
        if (entry := self._entry(fact)) is None:
            return
        id_, entries = entry_fact(entry), self._facts.setdefault(fact.tool, {})
        if id_ in entries or id_ in self._standing or id_ in self._imported(fact.tool):
            self._figures.doubled += 1
        elif self._removed.holds(entry.text, id_, None):
            self._figures.refused += 1
        elif len(entries) < _MOST_FACTS:
            entries[id_] = entry
        else:
            self._figures.surplus += 1

    @cached_property
    def _removed(self) -> removed_facts.TakenOutFacts:
        return removed_facts.facts_taken_out(self._workspace, self._say)

    @cached_property
    def _standing(self) -> set[FactId]:
        """The facts of all files that are edited in place."""
        standing: set[FactId] = set()
        for path in self._workspace.memory_files():
            if self._workspace.kind_of(path) is not FileKind.DAILY:
                with suppress(PathProblem):
                    data = files.read(files.path_on_disk(self._workspace.root, path))
                    standing |= {item.fact.id for item in items(parse_bytes(data or b""))}
        return standing

    def _imported(self, tool: str) -> frozenset[FactId]:
        """What was ever imported of a tool: it may have been corrected or moved since."""
        if tool not in self._cited:
            self._cited[tool] = cited_sessions.facts_cited(self._workspace, tool)
        return self._cited[tool]

    def _write_facts(self, path: FilePath, entries: tuple[DayEntry, ...]) -> None:
        tally = DigestResult(run=self._result.said.run, figures=self._figures)
        change = DigestDay(
            day=self._workspace.now().date(),
            entries=entries,
            run=tally.run,
            options=WriteOptions(source=Source.INFERRED),
            file=path,
        )
        try:
            self._writer_of(tally).write_change(change)
        except MdmemError as problem:
            self._leave(path, problem.message)
        self._result.facts += [ImportedFact(path, entry) for entry in tally.entries]
        self._result.said.commits += tally.commits

    def _entry(self, fact: ToldFact) -> DayEntry | None:
        """None: it is empty, or too long or has a secret, which is said."""
        text, cites = printable(fact.text, keep=""), printable(fact.cites, keep="")
        if secrets.find(text) or secrets.find(cites):
            self._result.secrets.append(secrets.redact(cites))
        elif len(text) > _MOST_CHARACTERS:
            self._leave(cites, f"over {_MOST_CHARACTERS:,} characters")
        elif text.strip():
            time = fact.time.astimezone(self._zone) if fact.time and fact.time.tzinfo else fact.time
            return DayEntry(
                minute=time.date().isoformat() if time else _UNDATED,
                text=" ".join((text, *(f"#{tag}" for tag in fact.tags))),
                kind=fact.kind,
                cites=cites,
            )
        return None


def import_memory(workspace: Workspace, request: Import, say: Say) -> ImportResult:
    """Take in what another tool has kept; what is there already stays as it is.

    Raises: WorkspaceProblem (`not-allowed`: an agent asks), PathProblem (`file-not-found`),
    TranscriptProblem (`unknown-format`), RepositoryProblem (`running`), MdmemError.
    """
    path = Path(request.path)
    workspace.require_person(
        workspace.given_actor(None),
        "import another tool's memory",
        f"{verb('import')} {shell_word(request.path)}",
    )
    if not path.exists():
        raise PathProblem("file-not-found", f"no file or folder {request.path[:200]}")
    workspace.ensure_state()

    def work() -> ImportResult:
        with StepRecorder(workspace.state, STEP, keep=not request.dry_run) as step:
            step.run = new_name(workspace.state, STEP)
            result = ImportResult(said=DigestResult(run=step.run, figures=step.figures))
            run = _ImportRun(workspace, request, say, result)
            for file in export_files(path):
                run.read(file)
            run.finish()
            step.figures.left = len(result.said.left)
            step.outcome = result.said.outcome
        return result

    result = in_turn(workspace.state, work, lambda _: False)
    if not result.known and not result.said.left:
        raise TranscriptProblem(
            "unknown-format", f"nothing in {request.path[:200]} is in a known format", _FORMATS
        )
    return result
