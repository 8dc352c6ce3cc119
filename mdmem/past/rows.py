"""The tables of the trail, how its file is recognised, and its rows, to and from values.

Paths and texts are UTF-8 bytes, lone surrogates included, several words in one column JSON. Row
numbers grow with time and are never used twice, except those of rows that were cut away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from mdmem.model import CommitId, FactId, FilePath, Op, Source, trail
from mdmem.model.trail import (
    Entry,
    FactCount,
    FactSpan,
    Fate,
    Mark,
    MarkKind,
    Occurrence,
    Origin,
    Revision,
    RevisionOutline,
    StatedRevert,
    TrailCommit,
    plain_first_line,
)
from mdmem.text.facts import line_id, normalise_key, own_words

TRAIL_VERSION = 40
"""A file of another version counts as empty."""
APPLICATION_ID = 0x6D646D76
"""Tells the file apart from those of other programs (`PRAGMA application_id`)."""

FILLED_INDICES = {
    "occurrences_standing": "occurrences (path) WHERE ended IS NULL",
    "occurrences_fact": "occurrences (fact) WHERE fact IS NOT NULL",
    "occurrences_nested": "occurrences (nested) WHERE nested IS NOT NULL",
    "occurrences_beginning": "occurrences (beginning) WHERE beginning IS NOT NULL",
    "revisions_standing": "revisions (path) WHERE ended IS NULL",
    "revisions_lineage": "revisions (lineage)",
    "revisions_newest": "revisions (lineage) WHERE next IS NULL",
    "revisions_path": "revisions (path, lineage)",
}
"""The indices that every new occurrence or revision enters, each with its table and columns."""

# `commits` are those that HEAD reaches, in the order of their arrival; `missing` are the numbers
# below that one does not reach. `moment` is when it counts as made (`clocks`).
# `added` is the commit in whose step a row was made, which may tell of an earlier one: `begun` is
# the commit that brought a line or a mark in. `ends` has all ends of what several commits ended, or
# that a merge keeps after all (`ended` is NULL); such rows are `contested` (the last commit in
# whose step that was; else 0), and the columns for their end are the outcome. `at` is the commit in
# whose step that is, `ended` the one that is told as the end. `reopened` are the commits among
# whose ends something changed when others were cut away. `origin` is the commit that states a mark
# or a revert. `copy_marks` are those that no commit states, of lines of logs that share the fate of
# another line (`history.copies`), and `copies_changed` has the files of which some changed when the
# trail came up to a commit. `promotions` are the facts of logs that a commit took into curated
# files, with the facts that they became there. `nested` is the id of an item in another one, by its
# own words; `beginning` is the start of those, or of a fact's text, as keys are compared.
# `fact_counts` has how many facts began with a commit in a file (x'' for all
# logs), and `repeated_facts` those that were ever in more than one place.
SCHEMA = f"""
CREATE TABLE about (settings BLOB);
CREATE TABLE commits (
    number INTEGER PRIMARY KEY, id BLOB, time INTEGER, committed INTEGER, moment INTEGER,
    author BLOB, email BLOB, message BLOB, parents TEXT, missing TEXT, needed INTEGER,
    brought INTEGER, by_agent INTEGER
);
CREATE UNIQUE INDEX commits_id ON commits (id);
CREATE INDEX commits_moment ON commits (moment);
CREATE INDEX commits_brought ON commits (brought) WHERE brought IS NOT NULL;
CREATE INDEX commits_merges ON commits (number) WHERE instr(parents, ' ');
CREATE TABLE touched (number INTEGER, path BLOB, PRIMARY KEY (number, path)) WITHOUT ROWID;
CREATE TABLE occurrences (
    number INTEGER PRIMARY KEY, begun INTEGER, added INTEGER, contested INTEGER,
    path BLOB, start_line INTEGER, end_line INTEGER, section BLOB, day TEXT, text BLOB, kind BLOB,
    key BLOB, tags BLOB, until TEXT, fact BLOB, first_line BLOB,
    origin BLOB, origin_time INTEGER, source TEXT, confidence REAL, author BLOB, actor BLOB,
    session BLOB, claimed_by BLOB, cites BLOB, attribute BLOB, also INTEGER, beginning BLOB,
    nested BLOB, ended INTEGER, fate TEXT, successor BLOB, last_start INTEGER, last_end INTEGER,
    last_tags BLOB, last_until TEXT
);
CREATE INDEX occurrences_past ON occurrences (path, ended) WHERE ended IS NOT NULL;
CREATE INDEX occurrences_contested ON occurrences (path, contested) WHERE contested;
CREATE INDEX occurrences_ended ON occurrences (ended) WHERE ended IS NOT NULL;
CREATE INDEX occurrences_backdated ON occurrences (begun) WHERE begun <> added;
CREATE INDEX occurrences_until ON occurrences (fact) WHERE coalesce(until, last_until) IS NOT NULL;
CREATE INDEX occurrences_attribute ON occurrences (attribute) WHERE attribute IS NOT NULL;
CREATE INDEX occurrences_successor ON occurrences (successor) WHERE successor IS NOT NULL;
CREATE TABLE fact_counts (
    number INTEGER, path BLOB, kind BLOB, source TEXT, facts INTEGER,
    PRIMARY KEY (number, path, kind, source)
) WITHOUT ROWID;
CREATE TABLE repeated_facts (fact BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, lineage INTEGER, begun INTEGER, contested INTEGER, path BLOB,
    section BLOB, nth INTEGER, quiet INTEGER, previous TEXT, ended INTEGER, next INTEGER,
    head INTEGER, tail INTEGER, text BLOB
);
CREATE INDEX revisions_past ON revisions (path, ended) WHERE ended IS NOT NULL;
CREATE INDEX revisions_contested ON revisions (path, contested) WHERE contested;
CREATE INDEX revisions_ended ON revisions (ended) WHERE ended IS NOT NULL;
CREATE TABLE ends (
    occurrence INTEGER, at INTEGER, ended INTEGER, fate TEXT, successor BLOB,
    last_start INTEGER, last_end INTEGER, last_tags BLOB, last_until TEXT,
    PRIMARY KEY (occurrence, at)
) WITHOUT ROWID;
CREATE INDEX ends_at ON ends (at);
CREATE TABLE revision_ends (
    revision INTEGER, at INTEGER, ended INTEGER, PRIMARY KEY (revision, at)
) WITHOUT ROWID;
CREATE INDEX revision_ends_at ON revision_ends (at);
CREATE TABLE reopened (number INTEGER PRIMARY KEY);
CREATE TABLE marks (
    number INTEGER PRIMARY KEY, kind TEXT, origin BLOB, begun INTEGER, one BLOB, other BLOB,
    occurrence INTEGER, ended INTEGER, added INTEGER, path BLOB
);
CREATE INDEX marks_kind ON marks (kind) WHERE ended IS NULL;
CREATE INDEX marks_origin ON marks (origin);
CREATE INDEX marks_begun ON marks (begun);
CREATE INDEX marks_path ON marks (path);
CREATE INDEX marks_occurrence ON marks (occurrence);
CREATE INDEX marks_other ON marks (other) WHERE ended IS NULL;
CREATE INDEX marks_added ON marks (added);
CREATE INDEX marks_ended ON marks (ended) WHERE ended IS NOT NULL;
CREATE TABLE reverts (number INTEGER PRIMARY KEY, added INTEGER, origin BLOB, reverted BLOB);
CREATE INDEX reverts_origin ON reverts (origin);
CREATE INDEX reverts_reverted ON reverts (reverted);
CREATE TABLE promotions (
    log BLOB, added INTEGER, curated BLOB, PRIMARY KEY (log, added, curated)
) WITHOUT ROWID;
CREATE TABLE copy_marks (
    one BLOB, occurrence INTEGER, begun INTEGER, kind TEXT, origin BLOB, other BLOB, ended INTEGER,
    path BLOB, PRIMARY KEY (one, occurrence, begun, kind, other)
) WITHOUT ROWID;
CREATE INDEX copy_marks_other ON copy_marks (other);
CREATE INDEX copy_marks_path ON copy_marks (path);
CREATE INDEX copy_marks_occurrence ON copy_marks (occurrence);
CREATE TABLE copies_changed (number INTEGER, path BLOB, PRIMARY KEY (number, path)) WITHOUT ROWID;
CREATE VIEW every_mark AS
    SELECT kind, origin, begun, one, other, occurrence, ended, path, number FROM marks
    UNION ALL
    SELECT kind, origin, begun, one, nullif(other, x''), occurrence, ended, path, 0 FROM copy_marks;
CREATE TABLE dropped (row INTEGER PRIMARY KEY, id BLOB, number INTEGER, paths BLOB);
{" ".join(f"CREATE INDEX {name} ON {columns};" for name, columns in FILLED_INDICES.items())}
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {TRAIL_VERSION};
"""


SELECT_COMMITS = (
    "SELECT number, id, time, author, message, email, committed, moment, parents, missing, needed,"
    " brought, by_agent FROM commits"
)
HAS_LATER_MERGE = "SELECT 1 FROM commits WHERE number > ? AND instr(parents, ' ') LIMIT 1"
SELECT_LATER_PARENTS = (
    "SELECT number, moment, id, parents FROM commits WHERE number > ? ORDER BY number"
)
_ORIGIN = (
    "origin, origin_time, source, confidence, author, actor, session, claimed_by, cites, attribute"
)
_WHILE_LIVE = (
    "number, begun, path, start_line, end_line, section, day, text, kind, key, tags, until, fact,"
    f" first_line, {_ORIGIN}, also"
)
WHILE_LIVE_COLUMNS = _WHILE_LIVE.count(",") + 1
SELECT_LIVE_OCCURRENCES = f"SELECT {_WHILE_LIVE} FROM occurrences WHERE ended IS NULL"
END_COLUMNS = "ended, fate, successor, last_start, last_end, last_tags, last_until"
_LAST = (
    "(SELECT id FROM commits WHERE number = (SELECT CAST(parents AS INTEGER) FROM commits WHERE"
    " number = ended))"
)
"""The commit before the one that ended an occurrence."""
SELECT_OCCURRENCES = f"SELECT {_WHILE_LIVE}, {END_COLUMNS}, {_LAST} FROM occurrences"
SELECT_ROWS_OF_LINES = (
    f"SELECT {_WHILE_LIVE}, {END_COLUMNS}, NULL, added, contested FROM occurrences"
)
"""Occurrences without their last commit, with the columns that tell their lines."""
SELECT_REVISIONS = "SELECT * FROM revisions"
SELECT_REVISION_OUTLINES = (
    "SELECT number, lineage, begun, ended, quiet, previous FROM revisions WHERE lineage = ?"
)
SELECT_REVISIONS_IN_FILE_OF_LINE = f"""
{SELECT_REVISIONS} WHERE path = :path AND ended IS NULL AND contested < :low
UNION ALL {SELECT_REVISIONS} WHERE path = :path AND ended >= :low AND contested < :low
UNION ALL {SELECT_REVISIONS} WHERE path = :path AND contested >= :low AND contested
ORDER BY number"""
SELECT_LAST_REVISION = (
    f"{SELECT_REVISIONS} WHERE path = ? AND section = ? AND nth = ? ORDER BY number DESC"
)
SELECT_MARKS = "SELECT kind, origin, begun, one, other, occurrence, ended FROM marks"
SELECT_EVERY_MARK = "SELECT kind, origin, begun, one, other, occurrence, ended FROM every_mark"
"""The marks that commits state, and those of copies."""
SELECT_COPY_MARKS = (
    "SELECT kind, origin, begun, one, nullif(other, x''), occurrence, ended FROM copy_marks"
)
PAIR_MARKS_CONDITION = f"kind IN ('{MarkKind.CONTRADICTS}', '{MarkKind.RESOLVED}')"
CLOSING_MARKS_CONDITION = f"kind IN ('{MarkKind.SUPERSEDED}', '{MarkKind.RETRACTED}')"
SELECT_ENTRY_BY_MDMEM = f"""
SELECT 1 FROM occurrences JOIN commits ON commits.number = begun
WHERE path = ? AND ended IS NULL AND moment >= ? AND commits.number BETWEEN ? AND ?
    AND instr(
        replace(replace(message, 'Mdmem-Op: {Op.INIT}', ''), 'Mdmem-Op: {Op.SAVE}', ''),
        'Mdmem-Op: ')
    AND NOT EXISTS (
        SELECT 1 FROM every_mark
        WHERE occurrence = occurrences.number AND ended IS NULL AND {CLOSING_MARKS_CONDITION})
LIMIT 1"""
_OF_COMMIT = "FROM commits WHERE commits.number = begun"
OLDEST_MARK_FIRST = f"ORDER BY (SELECT moment {_OF_COMMIT}), (SELECT id {_OF_COMMIT}), number"
"""The order in which all clones have them, whichever side's commits came first."""
_ON_LIVE_OCCURRENCE = "(SELECT ended FROM occurrences WHERE number = occurrence) IS NULL"
SELECT_LIVE_MARKS_IN_FILE = (
    f"{SELECT_EVERY_MARK} WHERE path = ? AND (? OR ended IS NULL) AND {CLOSING_MARKS_CONDITION} AND"
    f" {_ON_LIVE_OCCURRENCE} {OLDEST_MARK_FIRST}"
)
SELECT_OVERRULED_MARKS_IN_FILE = (
    f"{SELECT_MARKS} WHERE path = ? AND ended IS NULL AND kind = '{MarkKind.OVERRULED}' AND"
    f" {_ON_LIVE_OCCURRENCE} ORDER BY number"
)
_COMMITS_AFTER = "(SELECT number FROM commits WHERE moment > :time)"
ENDED_AFTER_CONDITION = (
    f"path = :path AND (ended IN {_COMMITS_AFTER} OR number IN (SELECT occurrence FROM ends WHERE"
    f" ended IN {_COMMITS_AFTER}))"
)
"""Occurrences that commits later than a time ended, each perhaps with others."""
SELECT_REPLACED_ROWS = f"""
SELECT occurrence FROM ends WHERE at BETWEEN :first AND :last
UNION SELECT occurrence FROM marks WHERE added BETWEEN :first AND :last
    AND kind = '{MarkKind.SUPERSEDED}'"""
"""The rows that some commits ended and others too, or that some commits marked."""
SELECT_PREDECESSORS = (
    f"{SELECT_OCCURRENCES} WHERE number IN (SELECT number FROM occurrences WHERE successor = ?"
    f" UNION SELECT occurrence FROM every_mark WHERE other = ? AND kind = '{MarkKind.SUPERSEDED}'"
    " AND ended IS NULL) ORDER BY number"
)
SELECT_NEWEST_REVISIONS_IN_FILE = f"""
WITH RECURSIVE found (lineage) AS (
    SELECT min(lineage) FROM revisions WHERE path = :path
    UNION ALL
    SELECT (SELECT min(lineage) FROM revisions WHERE path = :path AND lineage > found.lineage)
    FROM found WHERE lineage IS NOT NULL
)
{SELECT_REVISIONS} WHERE next IS NULL
AND lineage IN (SELECT lineage FROM found WHERE lineage IS NOT NULL) ORDER BY lineage"""
"""Goes from lineage to lineage of the file: the number of revisions does not matter."""
SELECT_SECTION_CHANGES = """
SELECT number, lineage, begun, 0, path, section, nth FROM revisions AS one
WHERE NOT quiet AND (:path IS NULL OR path = :path OR EXISTS (
    SELECT 1 FROM revisions AS later WHERE later.path = :path AND later.lineage = one.lineage
        AND later.number > one.number))
UNION ALL
SELECT number, lineage, ended, 1, path, section, nth FROM revisions AS one
WHERE ended IS NOT NULL AND (:path IS NULL OR path = :path) AND NOT EXISTS (
    SELECT 1 FROM revisions AS later WHERE later.lineage = one.lineage
        AND later.begun = one.ended)"""
GOES_ON_IN_ANOTHER_LINEAGE = """
SELECT 1 FROM revisions WHERE begun = ? AND path = ? AND section = ? AND nth = ? LIMIT 1"""
SELECT_REVERTS = "SELECT origin, reverted FROM reverts ORDER BY number"
SELECT_STATING_COMMITS = """
SELECT origin FROM marks WHERE origin >= :first AND origin < :end
UNION SELECT origin FROM reverts WHERE origin >= :first AND origin < :end"""
_MARKED_BETWEEN = (
    "SELECT one, other, path FROM marks WHERE added BETWEEN :first AND :last OR ended BETWEEN"
    " :first AND :last"
)
SELECT_BEGINNING_WITH = (
    f"{SELECT_OCCURRENCES} WHERE beginning >= ? AND beginning < ? ORDER BY number"
)
SELECT_CITING = (
    "SELECT fact, added FROM occurrences WHERE cites IS NOT NULL AND day IS NOT NULL AND fact IS"
    " NOT NULL AND instr(x'0a' || cites || x'0a', ?)"
)
SELECT_COPIED = """
SELECT fact FROM occurrences WHERE ended IS NULL AND fact IS NOT NULL
GROUP BY fact HAVING count(*) > 1"""
SELECT_COPIED_IN_FILE = """
SELECT DISTINCT fact FROM occurrences AS here WHERE path = ? AND ended IS NULL AND EXISTS (
    SELECT 1 FROM occurrences AS other
    WHERE other.fact = here.fact AND other.ended IS NULL AND other.number != here.number)"""
# Cross joins begin with the few that are gone or contested; by itself SQLite reads all facts.
SELECT_TAKEN_OUT_AND_LIVE = f"""
SELECT DISTINCT live.fact
FROM occurrences AS gone CROSS JOIN occurrences AS live ON live.fact = gone.fact
WHERE gone.ended IS NOT NULL AND gone.fate = '{Fate.REMOVED}' AND live.ended IS NULL
UNION SELECT fact FROM ends CROSS JOIN occurrences ON number = occurrence
WHERE ends.fate = '{Fate.REMOVED}' AND occurrences.ended IS NULL AND fact IS NOT NULL ORDER BY 1"""
# Either the stored part of some revision holds the text, or it lies across the ends of that part:
# then it shares the first bytes of the part, or the last.
SELECT_LINEAGES_THAT_MAY_HOLD = """
SELECT DISTINCT lineage FROM revisions WHERE instr(text, :text) OR next IS NOT NULL AND (
    length(text) < 3
    OR instr(:text, substr(text, 1, 3)) OR substr(text, 1, 2) = substr(:text, -2)
    OR substr(text, 1, 1) = substr(:text, -1)
    OR instr(:text, substr(text, -3)) OR substr(text, -2) = substr(:text, 1, 2)
    OR substr(text, -1) = substr(:text, 1, 1))"""
SELECT_PATHS_CHANGED_BETWEEN = f"""
SELECT path FROM touched WHERE number BETWEEN :first AND :last
UNION SELECT path FROM copies_changed WHERE number BETWEEN :first AND :last
UNION SELECT path FROM ({_MARKED_BETWEEN}) WHERE path IS NOT NULL
UNION SELECT path FROM occurrences WHERE ended IS NULL AND fact IN (
    SELECT one FROM ({_MARKED_BETWEEN}) WHERE path IS NULL
    UNION SELECT other FROM ({_MARKED_BETWEEN}) WHERE path IS NULL)
UNION SELECT path FROM occurrences WHERE ended IS NULL AND fact IN (
    SELECT of FROM (
        SELECT one AS changed, other AS of FROM marks WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL
        UNION SELECT other, one FROM marks WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL)
    WHERE EXISTS (
        SELECT 1 FROM occurrences AS its WHERE its.fact = changed AND (
            its.added BETWEEN :first AND :last OR its.ended BETWEEN :first AND :last OR EXISTS (
                SELECT 1 FROM ends WHERE occurrence = its.number AND at BETWEEN :first AND :last
            ) OR EXISTS (
                SELECT 1 FROM marks WHERE occurrence = its.number
                AND (added BETWEEN :first AND :last OR ended BETWEEN :first AND :last)))))"""
_CLOSINGS = f"FROM every_mark WHERE {CLOSING_MARKS_CONDITION} OR kind = '{MarkKind.PROMOTED}'"
SELECT_CLOSINGS = f"SELECT occurrence, begun, ended {_CLOSINGS} ORDER BY begun, number"
"""The ends of occurrences that are still there; a promoted line counts as the curated fact."""
_SPECIAL_FACTS = f"""
    SELECT fact FROM repeated_facts
    UNION SELECT fact FROM occurrences WHERE coalesce(until, last_until) IS NOT NULL
    UNION SELECT fact FROM occurrences WHERE number IN (SELECT occurrence {_CLOSINGS})"""
"""Facts of several places, with a day of end, or ended by a mark; the others are counted."""
SELECT_FACT_SPANS = f"""
SELECT number, fact, path, kind, source, CASE WHEN ended IS NULL THEN until ELSE last_until END,
    begun, ended
FROM occurrences WHERE fact IN ({_SPECIAL_FACTS}) AND fact IS NOT NULL ORDER BY number"""
_ENDED_FACTS = f"""
FROM occurrences JOIN commits AS first ON first.number = begun
    JOIN commits AS last ON last.number = ended
WHERE fact IS NOT NULL AND fact NOT IN (
    SELECT fact FROM ({_SPECIAL_FACTS}) WHERE fact IS NOT NULL)"""
SELECT_ENDED_FACTS = f"""
SELECT path, ifnull(kind, x''), source, begun, ended, count(*) {_ENDED_FACTS}
    AND last.moment >= :since
GROUP BY path, kind, source, begun, ended"""
SELECT_ENDED_LIVES = f"""
SELECT path, (max(first.moment, last.moment) - first.moment) / 3600, count(*) {_ENDED_FACTS}
    AND last.moment < :before
GROUP BY 1, 2"""
SELECT_LIVING_COUNTS = f"""
SELECT path, kind, source, begun, sum(facts) FROM (
    SELECT path, kind, source, number AS begun, facts FROM fact_counts
    UNION ALL SELECT path, ifnull(kind, x''), source, begun, -1 FROM occurrences
    WHERE fact IS NOT NULL AND ended IS NOT NULL
    UNION ALL SELECT path, ifnull(kind, x''), source, begun, -1 FROM occurrences
    WHERE fact IS NOT NULL AND ended IS NULL AND fact IN ({_SPECIAL_FACTS}))
GROUP BY begun, path, kind, source HAVING sum(facts)"""
"""The facts that are counted and have not ended; of logs the sum of several rows."""
_COUNTS_AS_CHANGED = f"fact IS NOT NULL AND fate IS NOT '{Fate.JOINED}'"
SELECT_CHANGE_STATES = f"""
SELECT number, id, author FROM commits WHERE number > :after AND number <= :upto
UNION ALL
SELECT begun, 'begun', group_concat(number) FROM (
    SELECT begun, number FROM occurrences
    WHERE number > :row AND number <= :last_row AND begun > :after AND {_COUNTS_AS_CHANGED}
    UNION SELECT begun, number FROM occurrences
    WHERE begun > :after AND begun <= :upto AND begun <> added AND {_COUNTS_AS_CHANGED}
    ORDER BY number)
GROUP BY begun
UNION ALL
SELECT ended, 'ended', group_concat(number || fate || last_start || '-' || ifnull(successor, ''))
FROM occurrences WHERE ended > :after AND ended <= :upto AND {_COUNTS_AS_CHANGED} GROUP BY ended
UNION ALL
SELECT begun, 'marked', group_concat(number || '-' || occurrence || '-' || ifnull(other, ''))
FROM marks WHERE begun > :after AND begun <= :upto AND {CLOSING_MARKS_CONDITION} AND EXISTS (
    SELECT 1 FROM occurrences WHERE occurrences.number = occurrence AND {_COUNTS_AS_CHANGED})
GROUP BY begun"""
SELECT_LARGE_COMMITS = f"""
SELECT number FROM fact_counts WHERE number > :after AND number <= :upto
GROUP BY number HAVING sum(facts) > :most
    AND NOT EXISTS (SELECT 1 FROM occurrences WHERE ended = fact_counts.number)
    AND NOT EXISTS (SELECT 1 FROM marks WHERE begun = fact_counts.number)
    AND NOT EXISTS (
        SELECT 1 FROM occurrences
        WHERE ended IS NOT NULL AND begun = fact_counts.number AND fate = '{Fate.JOINED}')
ORDER BY number"""
"""Commits that only added facts, more than `most`."""
SELECT_LIVE_SECTIONS = "SELECT lineage, section FROM revisions WHERE path = ? AND ended IS NULL"
SELECT_SECTIONS_WITH_FACTS = (
    "SELECT DISTINCT section FROM occurrences WHERE path = ? AND ended IS NULL AND fact IS NOT NULL"
)
SELECT_VERSIONS = "SELECT begun FROM revisions WHERE lineage = ? AND NOT quiet"
SELECT_FACTS_CHANGED_AFTER = """
SELECT fact FROM occurrences WHERE added > :after AND number > :row AND fact IS NOT NULL
UNION SELECT fact FROM occurrences WHERE ended > :after AND fact IS NOT NULL
UNION SELECT fact FROM occurrences WHERE number IN (SELECT occurrence FROM ends WHERE at > :after)
    AND fact IS NOT NULL
UNION SELECT one FROM marks WHERE added > :after OR ended > :after
UNION SELECT log FROM promotions WHERE added > :after
UNION SELECT curated FROM promotions WHERE added > :after"""
"""The facts with changes after a commit; `row` is the last one of the commits before."""


SqlRow = tuple["Any", ...]
_NO_END: SqlRow = (None,) * 8
_KEY_CHARACTERS = 100
"""The part of a fact's text in which its key is looked for."""
_KEY_BYTES = 24
"""The bytes that are stored of it, to find the facts of a key."""


def id_column(nested: bool) -> str:
    return "nested" if nested else "fact"


def blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def bulk_blob(text: str) -> bytearray:
    """Bytes for storing many: for `bytes` sqlite3 looks for adapters, which takes as long again."""
    return bytearray(text, "utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def maybe_blob(text: str | None) -> bytes | None:
    return None if text is None else blob(text)


def _maybe_bulk_blob(text: str | None) -> bytearray | None:
    return None if text is None else bulk_blob(text)


def _maybe_text(data: bytes | None) -> str | None:
    return None if data is None else decoded(data)


@lru_cache(4096)
def _path(data: bytes) -> FilePath:
    return FilePath(decoded(data))


@lru_cache(4096)
def join_words(words: tuple[str, ...]) -> bytes:
    # `json.dumps` makes an encoder each time.
    return blob(f"[{','.join(map(encode_basestring, words))}]")


@lru_cache(4096)
def _words(data: bytes) -> tuple[str, ...]:
    return tuple(json.loads(decoded(data)))


def _day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


@lru_cache(4096)
def _date(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def occurrence_rows(begun: Sequence[Occurrence], number: int, first: int) -> Iterator[SqlRow]:
    origin, path, day, day_column, section, tags = None, None, None, None, None, None
    for row, occurrence in enumerate(begun, first):
        entry = occurrence.entry
        text, fact, kind, key = entry.text, entry.fact, entry.kind, entry.key
        until, first_line = entry.until, entry.first_line
        nested = line_id(entry) if fact is None else None
        if occurrence.origin is not origin:
            origin = occurrence.origin
            (
                commit,
                time,
                source,
                confidence,
                author,
                actor,
                session,
                claimed_by,
                cites,
                attribute,
            ) = _origin_columns(origin)
        if entry.path is not path:
            path, path_column = entry.path, bulk_blob(entry.path)
        if entry.day is not day:
            day, day_column = entry.day, _day(entry.day)
        if entry.section is not section:
            section, section_column = entry.section, bytearray(join_words(entry.section))
        if entry.tags is not tags:
            tags, tags_column = entry.tags, bytearray(join_words(entry.tags))
        yield (  # one flat tuple: to join several takes longer than to make them
            row,
            occurrence.begun,
            number,
            0,
            path_column,
            entry.start_line,
            entry.end_line,
            section_column,
            day_column,
            bulk_blob(text),
            None if kind is None else bulk_blob(kind),
            None if key is None else bulk_blob(key),
            tags_column,
            None if until is None else _day(until),
            None if fact is None else bulk_blob(fact),
            None if first_line == plain_first_line(text) else bulk_blob(first_line),
            commit,
            time,
            source,
            confidence,
            author,
            actor,
            session,
            claimed_by,
            cites,
            attribute,
            1 if occurrence.also else 0,
            beginning(text if nested is None else own_words(entry)) if fact or nested else None,
            None if nested is None else bulk_blob(nested),
        )


def _origin_columns(origin: Origin) -> SqlRow:
    return (
        bulk_blob(origin.commit),
        origin.time,
        origin.source.value,
        origin.confidence,
        bulk_blob(origin.author),
        _maybe_bulk_blob(origin.actor),
        _maybe_bulk_blob(origin.session),
        _maybe_bulk_blob(origin.claimed_by),
        bulk_blob("\n".join(origin.cites)) if origin.cites else None,
        _maybe_bulk_blob(origin.attribute),
    )


def beginning(text: str) -> bytes:
    """The first bytes of a fact's text, or of a key, in the form in which keys are compared."""
    return blob(normalise_key(text[:_KEY_CHARACTERS]))[:_KEY_BYTES]


def last_columns(entry: Entry) -> SqlRow:
    """The columns with lines, tags and date as the last commit that had an occurrence has them."""
    return (entry.start_line, entry.end_line, join_words(entry.tags), _day(entry.until))


@lru_cache(4096)
def _origin(
    commit: bytes,
    time: int,
    source: str,
    confidence: float,
    author: bytes,
    actor: bytes | None,
    session: bytes | None,
    claimed_by: bytes | None,
    cites: bytes | None,
    attribute: bytes | None,
) -> Origin:
    return Origin(
        commit=CommitId(decoded(commit)),
        time=time,
        source=Source(source),
        confidence=float(confidence),
        author=decoded(author),
        actor=_maybe_text(actor),
        session=_maybe_text(session),
        claimed_by=_maybe_text(claimed_by),
        cites=tuple(decoded(cites).split("\n")) if cites else (),
        attribute=_maybe_text(attribute),
    )


def commit_row(commit: TrailCommit) -> SqlRow:
    return (
        commit.number,
        blob(commit.commit),
        commit.time,
        commit.committed,
        commit.moment,
        blob(commit.author),
        blob(commit.email),
        blob(commit.message),
        join_numbers(commit.parents),
        trail.ranges_as_text(commit.missing),
        int(commit.is_needed),
        commit.brought,
        int(commit.by_agent),
    )


def parse_commit(row: SqlRow) -> TrailCommit:
    (
        number,
        commit,
        time,
        author,
        message,
        email,
        committed,
        moment,
        parents,
        missing,
        needed,
        brought,
        by_agent,
    ) = row
    return TrailCommit(
        number=number,
        commit=CommitId(decoded(commit)),
        time=time,
        author=decoded(author),
        message=decoded(message),
        email=decoded(email),
        committed=committed,
        moment=moment,
        parents=parse_numbers(parents),
        missing=trail.parse_ranges(missing),
        is_needed=bool(needed),
        brought=brought,
        by_agent=bool(by_agent),
    )


def join_numbers(numbers: Sequence[int]) -> str | None:
    return " ".join(map(str, numbers)) or None


def parse_numbers(text: str | None) -> tuple[int, ...]:
    if not text:
        return ()
    return tuple(map(int, text.split(" "))) if " " in text else (int(text),)


def parse_occurrence(row: SqlRow) -> Occurrence:
    """A row of `SELECT_LIVE_OCCURRENCES` or `SELECT_OCCURRENCES`."""
    (
        number,
        begun,
        path,
        start,
        end,
        section,
        day,
        text,
        kind,
        key,
        tags,
        until,
        fact,
        first_line,
        *origin,
        also,
    ) = row[:WHILE_LIVE_COLUMNS]
    ended, fate, successor, last_start, last_end, last_tags, last_until, last = (
        row[WHILE_LIVE_COLUMNS:] or _NO_END
    )
    if ended is not None:
        start, end, tags, until = last_start, last_end, last_tags, last_until
    text = decoded(text)
    entry = Entry(
        path=_path(path),
        start_line=start,
        end_line=end,
        section=_words(section),
        day=_date(day),
        text=text,
        kind=_maybe_text(kind),
        key=_maybe_text(key),
        tags=_words(tags),
        until=_date(until),
        fact=None if fact is None else FactId(decoded(fact)),
        first_line=plain_first_line(text) if first_line is None else decoded(first_line),
    )
    return Occurrence(
        entry=entry,
        begun=begun,
        origin=_origin(*origin),
        also=bool(also),
        ended=ended,
        fate=None if fate is None else Fate(fate),
        successor=None if successor is None else FactId(decoded(successor)),
        last=None if last is None else CommitId(decoded(last)),
        number=number,
    )


def parse_span(row: SqlRow, begun: int, ended: int | None) -> FactSpan:
    _, fact, path, kind, source, until, _, _ = row
    return FactSpan(
        fact=FactId(decoded(fact)),
        path=_path(path),
        kind=_maybe_text(kind),
        source=Source(source),
        until=_date(until),
        begun=begun,
        ended=ended,
    )


_kind, _source = lru_cache(decoded), lru_cache(Source)


def parse_count(key: SqlRow, ended: int | None, facts: int) -> FactCount:
    path, kind, source, begun = key
    return FactCount(
        path=_path(path) if path else None,
        kind=_kind(kind),
        source=_source(source),
        begun=begun,
        ended=ended,
        facts=facts,
    )


def parse_revision(row: SqlRow) -> Revision:
    number, lineage, begun, _, path, section, nth, quiet, previous, ended, _, _, _, text = row
    return Revision(
        lineage=lineage,
        begun=begun,
        path=FilePath(decoded(path)),
        section=_words(section),
        nth=nth,
        text=decoded(text),
        unchanged_text=bool(quiet),
        ended=ended,
        number=number,
        previous=parse_numbers(previous),
    )


def parse_outline(row: SqlRow) -> RevisionOutline:
    number, lineage, begun, ended, quiet, previous = row
    return RevisionOutline(number, lineage, begun, ended, bool(quiet), parse_numbers(previous))


def mark_row(mark: Mark, occurrence: int, number: int, path: bytes | None) -> SqlRow:
    return (
        mark.kind.value,
        blob(mark.commit),
        mark.begun,
        blob(mark.fact),
        maybe_blob(mark.other),
        occurrence,
        mark.ended,
        number,
        path,
    )


def copy_mark_row(mark: Mark, path: bytes) -> SqlRow:
    return (
        blob(mark.fact),
        mark.occurrence,
        mark.begun,
        mark.kind.value,
        blob(mark.commit),
        blob(mark.other or ""),
        mark.ended,
        path,
    )


def parse_mark(row: SqlRow) -> Mark:
    kind, origin, begun, fact, other, occurrence, ended = row
    return Mark(
        kind=MarkKind(kind),
        commit=CommitId(decoded(origin)),
        begun=begun,
        fact=FactId(decoded(fact)),
        other=None if other is None else FactId(decoded(other)),
        occurrence=occurrence,
        ended=ended,
    )


def parse_revert(row: SqlRow) -> StatedRevert:
    commit, reverted = row
    return StatedRevert(CommitId(decoded(commit)), CommitId(decoded(reverted)))


def parse_dropped(row: SqlRow) -> tuple[CommitId, int, tuple[FilePath, ...]]:
    """Commit, number and files of a commit that was cut away."""
    commit, number, paths = row
    return CommitId(decoded(commit)), number, tuple(FilePath(path) for path in _words(paths))
