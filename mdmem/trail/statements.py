"""The statements of SQL by which the trail is read."""

from __future__ import annotations

from mdmem.model.trail import Fate, MarkKind

SELECT_COMMITS = "SELECT number, id, time, author, message, email, committed, moment, parents, missing, needed, brought FROM commits"
HAS_LATER_MERGE = "SELECT 1 FROM commits WHERE number > ? AND instr(parents, ' ') LIMIT 1"
SELECT_LATER_PARENTS = "SELECT number, moment, id, parents FROM commits WHERE number > ? ORDER BY number"
_ORIGIN = "origin, origin_time, source, confidence, author, actor, session, claimed_by, cites, attribute"
_WHILE_LIVE = f"number, begun, path, start_line, end_line, section, day, text, kind, key, tags, until, fact, first_line, {_ORIGIN}, also"
WHILE_LIVE_COLUMNS = _WHILE_LIVE.count(",") + 1
"""The number of columns that the row of an occurrence has before it ends."""
SELECT_LIVE_OCCURRENCES = f"SELECT {_WHILE_LIVE} FROM occurrences WHERE ended IS NULL"
SELECT_LIVE_ORIGINS_IN_FILE = (
    f"SELECT begun, {_ORIGIN}, count(*) FROM occurrences WHERE path = ? AND ended IS NULL GROUP BY begun, {_ORIGIN} LIMIT 2"
)
END_COLUMNS = "ended, fate, successor, last_start, last_end, last_tags, last_until"
_LAST = "(SELECT id FROM commits WHERE number = (SELECT CAST(parents AS INTEGER) FROM commits WHERE number = ended))"
"""The commit before the one that ended an occurrence."""
SELECT_OCCURRENCES = f"SELECT {_WHILE_LIVE}, {END_COLUMNS}, {_LAST} FROM occurrences"
SELECT_ROWS_OF_LINES = f"SELECT {_WHILE_LIVE}, {END_COLUMNS}, NULL, added, contested FROM occurrences"
"""Occurrences without the last commit that had them, with the columns that tell on which lines they are."""
SELECT_REVISIONS = "SELECT * FROM revisions"
SELECT_REVISIONS_IN_FILE_OF_LINE = f"""
{SELECT_REVISIONS} WHERE path = :path AND ended IS NULL AND contested < :low
UNION ALL {SELECT_REVISIONS} WHERE path = :path AND ended >= :low AND contested < :low
UNION ALL {SELECT_REVISIONS} WHERE path = :path AND contested >= :low AND contested ORDER BY number"""
SELECT_LAST_REVISION = f"{SELECT_REVISIONS} WHERE path = ? AND section = ? AND nth = ? ORDER BY number DESC"
SELECT_MARKS = "SELECT kind, origin, begun, one, other, occurrence, ended FROM marks"
SELECT_EVERY_MARK = "SELECT kind, origin, begun, one, other, occurrence, ended FROM every_mark"
"""The marks that commits state, and those of copies."""
SELECT_COPY_MARKS = "SELECT kind, origin, begun, one, nullif(other, x''), occurrence, ended FROM copy_marks"
PAIR_MARKS_CONDITION = f"kind IN ('{MarkKind.CONTRADICTS}', '{MarkKind.RESOLVED}')"
"""The condition on marks of two facts."""
CLOSING_MARKS_CONDITION = f"kind IN ('{MarkKind.SUPERSEDED}', '{MarkKind.RETRACTED}')"
"""The condition on marks by which an occurrence is no longer current."""
_ON_LIVE_OCCURRENCE = "(SELECT ended FROM occurrences WHERE number = occurrence) IS NULL"
SELECT_LIVE_MARKS_IN_FILE = (
    f"{SELECT_EVERY_MARK} WHERE path = ? AND (? OR ended IS NULL) AND {CLOSING_MARKS_CONDITION} AND {_ON_LIVE_OCCURRENCE}"
    " ORDER BY begun, number"
)
SELECT_OVERRULED_MARKS_IN_FILE = (
    f"{SELECT_MARKS} WHERE path = ? AND ended IS NULL AND kind = '{MarkKind.OVERRULED}' AND {_ON_LIVE_OCCURRENCE} ORDER BY number"
)
_COMMITS_AFTER = "(SELECT number FROM commits WHERE moment > :time)"
ENDED_AFTER_CONDITION = (
    f"path = :path AND (ended IN {_COMMITS_AFTER} OR number IN (SELECT occurrence FROM ends WHERE ended IN {_COMMITS_AFTER}))"
)
"""The condition on occurrences that commits later than a time ended, each perhaps with others."""
SELECT_REPLACED_ROWS = f"""
SELECT occurrence FROM ends WHERE at BETWEEN :first AND :last
UNION SELECT occurrence FROM marks WHERE added BETWEEN :first AND :last AND kind = '{MarkKind.SUPERSEDED}'"""
"""The rows that some commits ended and others too, or that some commits marked."""
SELECT_PREDECESSORS = (
    f"{SELECT_OCCURRENCES} WHERE number IN (SELECT number FROM occurrences WHERE successor = ?"
    f" UNION SELECT occurrence FROM every_mark WHERE other = ? AND kind = '{MarkKind.SUPERSEDED}' AND ended IS NULL) ORDER BY number"
)
SELECT_NEWEST_REVISIONS_IN_FILE = f"""
WITH RECURSIVE found (lineage) AS (
    SELECT min(lineage) FROM revisions WHERE path = :path
    UNION ALL
    SELECT (SELECT min(lineage) FROM revisions WHERE path = :path AND lineage > found.lineage)
    FROM found WHERE lineage IS NOT NULL
)
{SELECT_REVISIONS} WHERE next IS NULL AND lineage IN (SELECT lineage FROM found WHERE lineage IS NOT NULL) ORDER BY lineage"""
"""Goes from one lineage of the file to the next, so that the number of its revisions does not matter."""
SELECT_SECTION_CHANGES = """
SELECT number, lineage, begun, 0 FROM revisions AS one
WHERE NOT quiet AND (:path IS NULL OR path = :path OR EXISTS (
    SELECT 1 FROM revisions AS later WHERE later.path = :path AND later.lineage = one.lineage AND later.number > one.number))
UNION ALL
SELECT number, lineage, ended, 1 FROM revisions AS one
WHERE ended IS NOT NULL AND (:path IS NULL OR path = :path) AND NOT EXISTS (
    SELECT 1 FROM revisions AS later WHERE later.lineage = one.lineage AND later.begun = one.ended)"""
SELECT_REVERTS = "SELECT origin, reverted FROM reverts ORDER BY number"
SELECT_STATING_COMMITS = """
SELECT origin FROM marks WHERE origin >= :first AND origin < :end UNION SELECT origin FROM reverts WHERE origin >= :first AND origin < :end"""
"""The commits with marks or reverts whose ids lie in a range."""
_MARKED_BETWEEN = "SELECT one, other, path FROM marks WHERE added BETWEEN :first AND :last OR ended BETWEEN :first AND :last"
SELECT_BEGINNING_WITH = f"{SELECT_OCCURRENCES} WHERE beginning >= ? AND beginning < ? ORDER BY number"
SELECT_CITING = (
    "SELECT fact, added FROM occurrences WHERE cites IS NOT NULL AND day IS NOT NULL AND fact IS NOT NULL"
    " AND instr(x'0a' || cites || x'0a', ?)"
)
SELECT_TAKEN_OUT_AND_LIVE = f"""
SELECT DISTINCT live.fact FROM occurrences AS gone JOIN occurrences AS live ON live.fact = gone.fact
WHERE gone.ended IS NOT NULL AND gone.fate = '{Fate.REMOVED}' AND live.ended IS NULL
UNION SELECT fact FROM ends JOIN occurrences ON number = occurrence
WHERE ends.fate = '{Fate.REMOVED}' AND occurrences.ended IS NULL AND fact IS NOT NULL ORDER BY 1"""
SELECT_WITH_ATTRIBUTE = f"{SELECT_OCCURRENCES} WHERE attribute = ? ORDER BY number"
SELECT_PATHS_CHANGED_BETWEEN = f"""
SELECT path FROM touched WHERE number BETWEEN :first AND :last
UNION SELECT path FROM copies_changed WHERE number BETWEEN :first AND :last
UNION SELECT path FROM ({_MARKED_BETWEEN}) WHERE path IS NOT NULL
UNION SELECT path FROM occurrences WHERE ended IS NULL AND fact IN (
    SELECT one FROM ({_MARKED_BETWEEN}) WHERE path IS NULL UNION SELECT other FROM ({_MARKED_BETWEEN}) WHERE path IS NULL)
UNION SELECT path FROM occurrences WHERE ended IS NULL AND fact IN (
    SELECT of FROM (
        SELECT one AS changed, other AS of FROM marks WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL
        UNION SELECT other, one FROM marks WHERE {PAIR_MARKS_CONDITION} AND ended IS NULL)
    WHERE EXISTS (
        SELECT 1 FROM occurrences AS its WHERE its.fact = changed AND (
            its.added BETWEEN :first AND :last OR its.ended BETWEEN :first AND :last OR EXISTS (
                SELECT 1 FROM ends WHERE occurrence = its.number AND at BETWEEN :first AND :last) OR EXISTS (
                SELECT 1 FROM marks WHERE occurrence = its.number
                AND (added BETWEEN :first AND :last OR ended BETWEEN :first AND :last)))))"""
SELECT_FACTS_CHANGED_AFTER = """
SELECT fact FROM occurrences WHERE added > :after AND number > :row AND fact IS NOT NULL
UNION SELECT fact FROM occurrences WHERE ended > :after AND fact IS NOT NULL
UNION SELECT fact FROM occurrences WHERE number IN (SELECT occurrence FROM ends WHERE at > :after) AND fact IS NOT NULL
UNION SELECT one FROM marks WHERE added > :after OR ended > :after
UNION SELECT log FROM promotions WHERE added > :after
UNION SELECT curated FROM promotions WHERE added > :after"""
"""The facts of whose occurrences, marks or promotions something changed after a commit; `row` is the last one of the commits before."""
