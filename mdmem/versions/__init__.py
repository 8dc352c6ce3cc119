"""The table of versions: what each commit made of the entries and sections of memory, kept in SQLite in the state folder.

It is a cache, filled from the commits: a file that is damaged, foreign or of another version counts as empty and is replaced at the
first write. Each reading call costs what it returns, whatever the table holds, except `containing`.
"""

from mdmem.versions.rows import VERSION
from mdmem.versions.steps import Ending, Step
from mdmem.versions.storage import VERSIONS_NAME, BrokenVersions, discard
from mdmem.versions.table import Versions, verify

__all__ = ["VERSION", "VERSIONS_NAME", "BrokenVersions", "Ending", "Step", "Versions", "discard", "verify"]
