"""The text of memory files: a document and its sections, entries, facts and names; what is
unacceptable in it; secrets. Pure.
"""
