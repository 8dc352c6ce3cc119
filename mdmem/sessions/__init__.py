"""Agents' sessions: transcripts of clients, and the entries worth keeping in what was said.

Only the modules of clients know how these write. Entries are drawn by rules: `sentences` splits and
weighs messages, `plain` finds sentences that the person surely typed, `statements` those always
kept, `relative_dates` adds dates; `drafts` combines them.
"""
