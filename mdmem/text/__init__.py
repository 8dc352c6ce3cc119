"""The text of memory files: sections, entries, facts, names; problems in it; secrets. Pure."""
