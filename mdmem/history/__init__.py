"""What a section or a fact used to say, and the commits that tell.

The messages are what every write needs, so they are at hand here; `replay` and `trails` are for those who look back.
"""

from mdmem.history.messages import Note, Origins, Said, changed_lines, common_ends, message, origin, origins, said, section_name, trailers

__all__ = ["Note", "Origins", "Said", "changed_lines", "common_ends", "message", "origin", "origins", "said", "section_name", "trailers"]
