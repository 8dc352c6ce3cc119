"""The table of versions: what each commit made of the entries and sections of memory, kept in SQLite in the state folder.

It is a cache, filled from the commits: a file that is damaged, foreign or of another version counts as empty and is replaced at the
first write. Each reading call costs what it returns, whatever the table holds, except `containing`.
"""

from mdmem.trail.rows import TRAIL_VERSION
from mdmem.trail.steps import Ending, Step
from mdmem.trail.storage import TRAIL_NAME, BrokenTrail, discard
from mdmem.trail.table import Trail, verify_trail

__all__ = ["TRAIL_NAME", "TRAIL_VERSION", "BrokenTrail", "Ending", "Step", "Trail", "discard", "verify_trail"]
