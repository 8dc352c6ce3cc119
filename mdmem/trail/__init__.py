"""The trail: what each commit that HEAD reaches did to entries and sections, in SQLite.

It is a cache in the state folder: a file that is damaged, foreign or of another version counts as
empty and is replaced at the first write. Each call that reads costs what it returns, however much
the trail holds, except `revisions_containing`, `tips` and, with a commit in the future, `moments`.
"""

from mdmem.trail.ends import verify_trail
from mdmem.trail.line import LineTrail, past_of, side_of
from mdmem.trail.schema import TRAIL_VERSION
from mdmem.trail.steps import Ending, Step, with_past
from mdmem.trail.storage import TRAIL_NAME, BrokenTrail, discard
from mdmem.trail.table import Moments, Trail, was_live

__all__ = [
    "TRAIL_NAME",
    "TRAIL_VERSION",
    "BrokenTrail",
    "Ending",
    "LineTrail",
    "Moments",
    "Step",
    "Trail",
    "discard",
    "past_of",
    "side_of",
    "verify_trail",
    "was_live",
    "with_past",
]
