"""Results as JSON: the fields of each record in a public answer, their names and their order.

The fields are listed, so that a record that grows changes no answer. A class is known by its name:
nothing here imports a record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from mdmem import secrets
from mdmem.startup import late
from mdmem.text.document import join_path

_Reader = Callable[[Any], Any]
_HIT = (
    "path start_line end_line section kind day text score fact tags source confidence status"
    " superseded_by contradicts later near done commit uncommitted cites also author about"
    " workspace item! proposed? like? explain=explanation!"
)
_PART = (
    "part=name path section op old new origin.source origin.confidence origin.reason origin.cites"
    " state standing"
)
FIELDS: Mapping[str, str] = {
    # reading
    "SectionView": (
        "path section level text etag tree_etag start_line end_line commit uncommitted subsections"
        " fact? also? as_of! commits!as_of said_by_then=said!as_of signed!"
    ),
    "OtherReading": "sort name",
    "Outline": "path sections",
    "OutlineRow": "section level line etag lines",
    "FileList": "total stale files",
    "FileRow": "path title changed facts sections",
    "SectionCount": "section level facts",
    "DayView": "day logs changes more?",
    # looking back
    "ChangeList": "changes since! until!",
    "FactChange": (
        "change=kind fact text replaced path section line made.commit made.time made.author"
        " made.actor made.session made.op made.source made.confidence made.claimed_by made.reason"
        " made.run made.proposal made.proposed_by? made.signed!"
    ),
    "ReplacedFact": "fact=id text path section",
    "SectionHistory": "path section revisions also? gone?",
    "RevisionView": (
        "made.commit made.time made.author made.actor made.op made.source made.confidence"
        " made.reason diff text made.claimed_by path section made.cites made.run merged"
        " made.proposed_by? made.signed!"
    ),
    "RevisionView.merged": "commit time",
    "FactHistory": "fact status chain also? gone?",
    "FactLink": (
        "id text from=start to=end made.source made.confidence made.commit path section status"
        " made.author made.actor made.op made.reason made.claimed_by made.cites made.run ended_by"
        " merged also_by made.proposed_by? made.signed!"
    ),
    "FactLink.merged": "commit time",
    "Made": "commit time author actor op reason source confidence proposed_by? signed!",
    "Signature": "state by",
    "Blame": "path section lines gone?",
    "BlamedLine": "line text *made",
    "BlamedLine.made": "commit time author source confidence cites signed!",
    "TextHistory": "text stays",
    "PresenceView": "path section came=came.commit came_at=came.time went went_at ended_by merged",
    "PresenceView.merged": "commit time",
    # searching
    "FleetIndexed": "indexed unchanged dropped failed",
    "FleetState": "repositories rows bytes shards answering behind missing",
    "SearchResult": "query as_of commits? commit stale hits vectors! since! until! missing!",
    "Hit": _HIT,
    "Explanation": "parts factors",
    "ScorePart": "field term said=query_word score",
    "Factor": "name value",
    "FactList": "total stale facts since! until! missing!",
    "FactList.facts": (
        "id=fact text key kind tags path section line=start_line source confidence status until"
        " cites attribute also author workspace signed!"
    ),
    "ConflictList": "stale conflicts",
    "ConflictView": "key one=first other=second",
    "ConflictView.one": f"{_HIT} since",
    "ConflictView.other": f"{_HIT} since",
    "TagCatalogue": "stale tags missing!",
    "TagCount": "tag count",
    # briefing an agent
    "ContextBlock": "text tokens budget as_of? commit stale parts missing!",
    "PartResult": "part tokens shown left_out entries",
    "ContextEntry": "path line fact score cut workspace",
    "FlushPrompts": "system user day path",
    "FlushResult": "due tokens threshold cycle flushed",
    "SessionList": "sessions folders?",
    "SessionSummary": (
        "client session path project started ended messages read_line new_bytes new_messages gone"
    ),
    "ClientFolder": "client folder files",
    "SessionView": "sessions messages older newer",
    "ShownMessage": "line time speaker sender typed text cut",
    # writing
    "WriteResult": (
        "changed path section etag commit added removed supersedes contradicts kept like warnings"
        " forgotten! also! day! proposed? proposal?proposed taken_back? diff! hint?"
    ),
    "Supersession": "old new",
    "LikeFact": "fact text path line",
    "PurgePlan": "files commits messages tags refs signatures loose",
    "PurgeResult": "changed=plan.has_changes commit plan notices",
    # proposals
    "ProposedWrite": "*result proposal",
    "PartView": _PART,
    "ProposalView": "proposal=id actor base tip parts",
    "NumberedList": "stamp items unlisted",
    "ListedItem": "number *value rivals",
    "ListedPart": "proposal *view actor since outdated",
    "DecidedItem": "number? proposal?number part=part.name *result",
    "ListDecision": "changed accepted rejected superseded left commits closed",
    "ListDecision.rejected": "number proposal part=part.name",
    "LeftItem": "number reason=why",
    "ProposedHit": "proposal actor score *part",
    "ReviewResult": "advice applied waiting",
    "Advice": "kind path section line facts message command safe",
    "Waiting": "proposals since unreadable",
    "UnreadableProposal": "proposal=id branch reason",
    # pipelines
    "DigestResult": (
        "run sessions=figures.sessions messages=figures.messages bytes=figures.size"
        " noise=figures.noise entries already=figures.doubled redacted=figures.redacted"
        " refused=figures.refused surplus=figures.surplus tokens=figures.tokens model commits left"
    ),
    "DigestedEntry": "fact day time=minute kind text source confidence cites",
    "ModelFigures": "requests bytes=size entries bad_answers waiting outcome message",
    "LeftSession": "session why",
    "DreamResult": (
        "run days changes requests=model.requests bytes=model.size tokens=model.tokens"
        " refused=figures.refused outcome message=model.message"
    ),
    "DreamChange": "op fact old path section text source applied why cites commit proposal",
    "RunResult": "steps",
    "StepResult": (
        "*record left outside pulled=sync.pulled!sync pushed=sync.pushed!sync message hint"
    ),
    "StepRecord": (
        "time run step ms *figures outcome surplus=figures.surplus skipped=figures.skipped"
    ),
    "StepFigures": (
        "sessions bytes=size messages noise by_rule by_model entries doubled redacted refused"
        " proposed tokens"
    ),
    "ScheduleResult": "schedule=system files timer changed active next notes",
    "UnitFile": "path text",
    "SyncResult": (
        "remote branch state pulled pushed merged taken_in contradicts kept kept_files set_aside"
        " incoming retries ms"
    ),
    "SetAside": "path blob",
    "Incoming": "path code message commit author undo",
    # looking after memory
    "SetupResult": "workspace block lines example proposals",
    "SaidFact": "text cited",
    "InitResult": (
        "workspace made_repository written took_out commit hooks merging notes adopted project"
        " dry_run=planned"
    ),
    "HostChange": "host files commands problems notes",
    "FoundWorkspace": "workspace=path own last_change",
    "Finding": "check level message fixed hint",
    "Problem": "path line code level message",
    "Secret": "kind line",
    "WorkspaceStatus": (
        "workspace adopted branch commit files paths other_markdown uncommitted conflicts skipped"
        " index hooks pipelines sync branches waiting vectors! pool?"
    ),
    "PipelineStatus": "last unread silent dreamt open_days model skipped",
    "ModelStatus": "tokens_used tokens_a_day waiting given_up last",
    "SilentStep": "step since bytes=size",
    "SkippedPart": "path lines=count first=line reason",
    "MoreFacts": "branch facts=count",
    "VectorStatus": "rows missing model",
    # figures
    "Figures": "weeks verbs damaged",
    "VerbFigures": "verb count median_ms~ p95_ms~ refused failed bugs weeks",
    "SearchFigures": "weeks drift damaged",
    "Week": (
        "week searches without_hit~ median_ms~ median_hits~ median_first~ median_spread~"
        " median_age_days~ behind"
    ),
    "Drift": "figure value~ low~ high~",
    "ContextFigures": "weeks drift damaged",
    "ContextWeek": (
        "week prompts answered~ median_tokens~ session_tokens~ again~ kept guarded refused"
    ),
    "RunFigures": "weeks",
    "RunWeek": "week bytes=figures.size steps failed *figures",
    "RunWeek.figures": ("sessions messages noise entries doubled redacted refused by_model tokens"),
    "MarkdownTrends": (
        "commits lines files added removed half_life_days~ weeks authors largest facts!"
    ),
    "TrendWeek": "week commits added removed lines",
    "TrendAuthor": "name commits added removed last",
    "FileSize": "path lines",
    "FactTrends": "current half_life_days~ survival days writers kinds changed_most untouched",
    "FactDay": "day added replaced removed people agents stated inferred automatic contradicted",
    "TrendWriter": "name agent=is_agent count days",
    "TrendKind": "kind count days",
    "TrendSection": "path section count last",
}
"""The fields of each class; `CLASS.NAME` has those of the records in a field, where they differ.

A word is `NAME`, `NAME=FIELD` or `RECORD.NAME`, for `NAME=RECORD.NAME`. `?` leaves out an empty
value, `!` None; a field after the sign is tested in place of the value. `~` rounds to three digits.
`*NAME` is replaced by the names of its value. A `section` is joined.
"""

_PLAIN = (str, int, float, type(None))
_DIGITS = 3
_WORD = late.pattern(r"(\*?)(?:(\w+)=)?([\w.]+)(~?)(?:([?!])(\w*))?")


def _difference(revision: Any) -> str:
    # for histories alone
    differences = import_module("mdmem.past.differences")
    end = "\r\n" if "\r\n" in revision.before + revision.text else "\n"
    # A revision's last line has no line end.
    before, text = (
        value and value.rstrip("\r\n") + end for value in (revision.before, revision.text)
    )
    return str(differences.line_difference(before, text))


def _message(hit: Any) -> dict[str, Any]:
    """A message of a session with the fields of a hit."""
    return {
        "path": hit.path,
        "start_line": hit.line,
        "end_line": hit.line,
        "section": None,
        "kind": "session",
        "day": hit.time.date().isoformat() if hit.time else None,
        "text": hit.text,
        "score": hit.score,
        "fact": None,
        "tags": [],
        "source": None,
        "confidence": None,
        "status": "current",
        "superseded_by": None,
        "contradicts": [],
        "later": None,
        "near": False,
        "done": False,
        "commit": None,
        "uncommitted": False,
        "cites": [],
        "also": [],
        "author": None,
        "about": None,
        "workspace": None,
        "reference": hit.reference,
        "speaker": hit.speaker,
        "sender": hit.sender,
        "time": to_json(hit.time),
        "project": hit.project,
    }


def _value(parts: Sequence[Any]) -> dict[str, Any]:
    """A value of an item in the list: its newest part, and who else proposed it."""
    voices = [
        {"proposal": part.proposal, "part": part.view.name, "actor": part.actor}
        for part in parts[1:]
    ]
    return {**to_json(parts[0]), "voices": voices}


def _outdated(part: Any) -> dict[str, Any] | None:
    changed = part.view.changed
    if changed is None or part.view.state != "overtaken":
        return None
    return {"by": changed.actor, "since": changed.time}


def _seconds(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


def _last_step(status: Any) -> dict[str, Any] | None:
    return status.last_step and {
        "step": status.last_step,
        "run": status.last_run,
        "time": _seconds(status.last_time),
        "outcome": status.last_outcome,
    }


def _unread(status: Any) -> dict[str, Any]:
    oldest = {"path": status.oldest_unread, "time": _seconds(status.oldest_time)}
    return {"count": status.unread, "oldest": oldest if status.unread else None}


_UNCOMMITTED = {**dict.fromkeys(FIELDS["BlamedLine.made"].split()[:-1]), "cites": ()}
MADE: Mapping[str, Callable[[Any], Any]] = {
    "SectionView.subsections": lambda view: list(map(join_path, view.subsections)),
    "RevisionView.diff": _difference,
    "BlamedLine.made": lambda line: line.made or _UNCOMMITTED,
    "PresenceView.went": lambda stay: stay.ended_by.commit if stay.went_at else None,
    "SearchResult.hits": lambda result: (*result.hits, *result.messages),
    "Hit.about": lambda hit: hit.about or None,
    "MessageHit": _message,
    "SessionView.sessions": lambda view: [view.session],
    "WriteResult.supersedes": lambda result: (
        *result.supersedes,
        *({"old": fact, "new": None} for fact in result.ended),
    ),
    "WriteResult.forgotten": lambda done: done.forgotten if done.forgotten or done.also else None,
    "WriteResult.also": lambda done: done.also if done.forgotten or done.also else None,
    "NumberedList.stamp": lambda listed: listed.stamp or None,
    "ListedItem.value": lambda item: _value(item.values[0]),
    "ListedItem.rivals": lambda item: list(map(_value, item.values[1:])),
    "ListedPart.outdated": _outdated,
    "ListDecision.changed": lambda decision: bool(decision.commits),
    "ListDecision.superseded": lambda decision: [
        {"proposal": proposal, "part": part.name} for proposal, part in decision.superseded
    ],
    "LeftItem.number": lambda left: left.number or None,
    "ReviewResult.applied": lambda review: [
        {**to_json(advice), "commit": result.commit} for advice, result in review.done
    ],
    "DreamChange.text": lambda change: (
        secrets.redact(change.text) if change.op == "NONE" else change.text
    ),
    "DreamChange.commit": lambda change: change.commit if change.applied else None,
    "StepRecord.time": lambda record: record.time.isoformat(timespec="milliseconds"),
    "Incoming.author": lambda incoming: incoming.author or None,
    "InitResult.workspace": lambda result: str(result.workspace),
    "InitResult.project": lambda result: str(result.project) if result.project else None,
    "WorkspaceStatus.conflicts": lambda status: [
        {"path": path, "line": line} for path, line in status.conflicts
    ],
    "WorkspaceStatus.skipped": lambda status: [
        {"path": path, "reason": reason} for path, reason in status.skipped
    ],
    "WorkspaceStatus.index": lambda status: {
        "current": status.current,
        "entries": status.entries,
        "commit": status.indexed_commit,
    },
    "WorkspaceStatus.pool": lambda status: {
        name: {"folder": folder, "problem": problem or None}
        for name, folder, problem in status.pool
    },
    "PipelineStatus.last": _last_step,
    "PipelineStatus.unread": _unread,
    "ModelStatus.last": lambda status: (
        status.last_time and {"outcome": status.last_outcome, "time": _seconds(status.last_time)}
    ),
    "SilentStep.since": lambda silent: _seconds(silent.since),
    "FactTrends.survival": lambda trends: [
        (age, round(share, _DIGITS)) for age, share in trends.survival
    ],
    "TrendKind.kind": lambda kind: kind.kind or None,
}
"""Values that are computed, by class and name; of `MessageHit` the whole record."""


def to_json(value: Any, row: str = "") -> Any:
    """A record, sequence, mapping or day as values for JSON; `row` names other fields of a record.

    Raises: TypeError, if a class has no fields here.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (tuple, list)):
        return [to_json(each, row) for each in value]
    kind = type(value).__name__
    if kind in FIELDS:
        return _fields(value, kind, row or kind)
    if kind in MADE:
        return MADE[kind](value)
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no JSON for {kind}")


def _fields(record: Any, kind: str, row: str) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for name, read, own_row, sign, test, is_spliced in _words(kind, row):
        if sign and ((tested := test(record)) is None or (sign == "?" and not tested)):
            continue
        value = read(record)
        if not isinstance(value, _PLAIN):
            value = to_json(value, own_row)
        if is_spliced:
            answer.update(value)
        else:
            answer[name] = value
    return answer


_Word = tuple[str, _Reader, str, str, _Reader, bool]


@cache
def _words(kind: str, row: str) -> Sequence[_Word]:
    """The words of a row: the name, a reader of the value, the row of the records in it, the sign
    with a reader of what it tests, and whether the value's names replace the name.
    """
    words: list[_Word] = []
    for star, name, path, tilde, sign, other in map(_parts, FIELDS[row].split()):
        read = MADE.get(f"{kind}.{name}") or _reader(name, path, tilde)
        own_row = f"{kind}.{name}" if f"{kind}.{name}" in FIELDS else ""
        words.append((name, read, own_row, sign, attrgetter(other) if other else read, bool(star)))
    return words


def _parts(word: str) -> Sequence[str]:
    match = _WORD.fullmatch(word)
    assert match is not None, word
    star, name, path, *signs = match.groups()
    return star, name or path.rpartition(".")[2], path, *signs


def _reader(name: str, path: str, tilde: str) -> _Reader:
    read = attrgetter(path)
    if name == "section":
        return lambda record: join_path(read(record))
    if tilde:
        return lambda record: _rounded(read(record))
    return read


def _rounded(value: float | None) -> float | None:
    return round(value, _DIGITS) if isinstance(value, float) else value
