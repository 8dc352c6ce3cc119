"""The tables of the trail, and how its file is recognised."""

from __future__ import annotations

TRAIL_VERSION = 22
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

# `landmarks` are the mainline commits; `dated` is the author's time of a commit or, where that is earlier, the committer's, and `reached`
# the latest of these up to a commit. `added` is the commit that brought a mark in: a mark that moved along
# with its occurrence has an older `begun`. `origin` is the commit that states a mark or a revert, on the mainline or on a side. `sides` are
# the side commits from which merges have lines, and `brought` are these lines. `beginning` is the start of a fact's text as keys are compared.
SCHEMA = f"""
CREATE TABLE about (settings BLOB);
CREATE TABLE landmarks (
    number INTEGER PRIMARY KEY, dated INTEGER, reached INTEGER, id BLOB, time INTEGER, author BLOB, message BLOB, merge INTEGER
);
CREATE INDEX landmarks_id ON landmarks (id);
CREATE INDEX landmarks_reached ON landmarks (reached);
CREATE TABLE sides (number INTEGER PRIMARY KEY, landmark INTEGER, id BLOB, time INTEGER, author BLOB, message BLOB);
CREATE INDEX sides_id ON sides (id);
CREATE TABLE brought (landmark INTEGER, path BLOB, line BLOB, side INTEGER, PRIMARY KEY (landmark, path, line)) WITHOUT ROWID;
CREATE TABLE touched (landmark INTEGER, path BLOB, PRIMARY KEY (landmark, path)) WITHOUT ROWID;
CREATE TABLE occurrences (
    number INTEGER PRIMARY KEY, begun INTEGER,
    path BLOB, start_line INTEGER, end_line INTEGER, section BLOB, day TEXT, text BLOB, kind BLOB, key BLOB, tags BLOB, until TEXT,
    fact BLOB, first_line BLOB,
    origin BLOB, origin_time INTEGER, source TEXT, confidence REAL, author BLOB, claimed_by BLOB, cites BLOB, attribute BLOB,
    also INTEGER, beginning BLOB,
    ended INTEGER, fate TEXT, successor BLOB, last_start INTEGER, last_end INTEGER, last_tags BLOB, last_until TEXT
);
CREATE INDEX occurrences_ended ON occurrences (ended) WHERE ended IS NOT NULL;
CREATE INDEX occurrences_attribute ON occurrences (attribute) WHERE attribute IS NOT NULL;
CREATE INDEX occurrences_successor ON occurrences (successor) WHERE successor IS NOT NULL;
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, lineage INTEGER, begun INTEGER, path BLOB, section BLOB, nth INTEGER, quiet INTEGER, ended INTEGER,
    next INTEGER, head INTEGER, tail INTEGER, text BLOB
);
CREATE INDEX revisions_ended ON revisions (ended) WHERE ended IS NOT NULL;
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
CREATE TABLE reverts (number INTEGER PRIMARY KEY, landmark INTEGER, origin BLOB, reverted BLOB);
CREATE INDEX reverts_origin ON reverts (origin);
CREATE TABLE dropped (row INTEGER PRIMARY KEY, id BLOB, number INTEGER, paths BLOB);
{" ".join(f"CREATE INDEX {name} ON {columns};" for name, columns in FILLED_INDICES.items())}
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {TRAIL_VERSION};
"""
