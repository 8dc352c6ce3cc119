"""The tables of the trail, and how its file is recognised."""

from __future__ import annotations

TRAIL_VERSION = 27
"""A file of another version counts as empty."""
APPLICATION_ID = 0x6D646D76
"""Tells the file apart from those of other programs (`PRAGMA application_id`)."""

FILLED_INDICES = {
    "occurrences_standing": "occurrences (path) WHERE ended IS NULL",
    "occurrences_fact": "occurrences (fact) WHERE fact IS NOT NULL",
    "occurrences_beginning": "occurrences (beginning) WHERE beginning IS NOT NULL",
    "revisions_standing": "revisions (path) WHERE ended IS NULL",
    "revisions_lineage": "revisions (lineage)",
    "revisions_newest": "revisions (lineage) WHERE next IS NULL",
    "revisions_path": "revisions (path, lineage)",
}
"""The indices that take in every new occurrence or revision, each with what it is on."""

# `commits` are those that HEAD reaches, in the order of their arrival; `missing` are the numbers below that one does not reach. `moment` is
# its time as far as that can be told without a clock. `added` is the commit in whose step a row was made, which may tell of an earlier one:
# `begun` is the commit that brought a line or a mark in. `ends` has all ends of what several commits ended, or that a merge has stand after all
# (`ended` is NULL); such rows are `contested` (the last commit in whose step that was; else 0), and the columns for their end are the outcome. `at` is the commit in whose step that is, `ended`
# the one that is told as the end. `reopened` are the commits among whose ends something changed when others were cut away. `origin` is the
# commit that states a mark or a revert. `copy_marks` are those that no commit states, of lines of logs that share the fate of another line
# (`history.copies`), and `copies_changed` has the files of which some changed when the trail came up to a commit. `promotions` are the facts
# of logs that a commit took into curated files, with the facts that they became there. `beginning` is the start of a fact's text as keys are
# compared.
SCHEMA = f"""
CREATE TABLE about (settings BLOB);
CREATE TABLE commits (
    number INTEGER PRIMARY KEY, id BLOB, time INTEGER, committed INTEGER, moment INTEGER, author BLOB, email BLOB, message BLOB,
    parents TEXT, missing TEXT, needed INTEGER, brought INTEGER
);
CREATE INDEX commits_id ON commits (id);
CREATE INDEX commits_moment ON commits (moment);
CREATE INDEX commits_committed ON commits (committed);
CREATE INDEX commits_brought ON commits (brought) WHERE brought IS NOT NULL;
CREATE INDEX commits_merges ON commits (number) WHERE instr(parents, ' ');
CREATE TABLE touched (number INTEGER, path BLOB, PRIMARY KEY (number, path)) WITHOUT ROWID;
CREATE TABLE occurrences (
    number INTEGER PRIMARY KEY, begun INTEGER, added INTEGER, contested INTEGER,
    path BLOB, start_line INTEGER, end_line INTEGER, section BLOB, day TEXT, text BLOB, kind BLOB, key BLOB, tags BLOB, until TEXT,
    fact BLOB, first_line BLOB,
    origin BLOB, origin_time INTEGER, source TEXT, confidence REAL, author BLOB, actor BLOB, session BLOB, claimed_by BLOB,
    cites BLOB, attribute BLOB,
    also INTEGER, beginning BLOB,
    ended INTEGER, fate TEXT, successor BLOB, last_start INTEGER, last_end INTEGER, last_tags BLOB, last_until TEXT
);
CREATE INDEX occurrences_past ON occurrences (path, ended) WHERE ended IS NOT NULL;
CREATE INDEX occurrences_contested ON occurrences (path, contested) WHERE contested;
CREATE INDEX occurrences_ended ON occurrences (ended) WHERE ended IS NOT NULL;
CREATE INDEX occurrences_attribute ON occurrences (attribute) WHERE attribute IS NOT NULL;
CREATE INDEX occurrences_successor ON occurrences (successor) WHERE successor IS NOT NULL;
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, lineage INTEGER, begun INTEGER, contested INTEGER, path BLOB, section BLOB, nth INTEGER, quiet INTEGER,
    previous TEXT, ended INTEGER, next INTEGER, head INTEGER, tail INTEGER, text BLOB
);
CREATE INDEX revisions_past ON revisions (path, ended) WHERE ended IS NOT NULL;
CREATE INDEX revisions_contested ON revisions (path, contested) WHERE contested;
CREATE INDEX revisions_ended ON revisions (ended) WHERE ended IS NOT NULL;
CREATE TABLE ends (
    occurrence INTEGER, at INTEGER, ended INTEGER, fate TEXT, successor BLOB,
    last_start INTEGER, last_end INTEGER, last_tags BLOB, last_until TEXT, PRIMARY KEY (occurrence, at)
) WITHOUT ROWID;
CREATE INDEX ends_at ON ends (at);
CREATE TABLE revision_ends (revision INTEGER, at INTEGER, ended INTEGER, PRIMARY KEY (revision, at)) WITHOUT ROWID;
CREATE INDEX revision_ends_at ON revision_ends (at);
CREATE TABLE reopened (number INTEGER PRIMARY KEY);
CREATE TABLE marks (
    number INTEGER PRIMARY KEY, kind TEXT, origin BLOB, begun INTEGER, one BLOB, other BLOB, occurrence INTEGER, ended INTEGER,
    added INTEGER, path BLOB
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
CREATE TABLE promotions (log BLOB, added INTEGER, curated BLOB, PRIMARY KEY (log, added, curated)) WITHOUT ROWID;
CREATE TABLE copy_marks (
    one BLOB, occurrence INTEGER, begun INTEGER, kind TEXT, origin BLOB, other BLOB, ended INTEGER, path BLOB,
    PRIMARY KEY (one, occurrence, begun, kind, other)
) WITHOUT ROWID;
CREATE INDEX copy_marks_other ON copy_marks (other);
CREATE INDEX copy_marks_path ON copy_marks (path);
CREATE INDEX copy_marks_occurrence ON copy_marks (occurrence);
CREATE TABLE copies_changed (number INTEGER, path BLOB, PRIMARY KEY (number, path)) WITHOUT ROWID;
CREATE VIEW every_mark AS
    SELECT kind, origin, begun, one, other, occurrence, ended, path, number FROM marks
    UNION ALL SELECT kind, origin, begun, one, nullif(other, x''), occurrence, ended, path, 0 FROM copy_marks;
CREATE TABLE dropped (row INTEGER PRIMARY KEY, id BLOB, number INTEGER, paths BLOB);
{" ".join(f"CREATE INDEX {name} ON {columns};" for name, columns in FILLED_INDICES.items())}
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {TRAIL_VERSION};
"""
