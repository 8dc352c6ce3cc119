"""Draw the entries that are worth keeping from the messages of a session, by rules.

Pure; no model, no clock, no files. `sentences` cuts a message into its sentences and says how much
they say, `plain` which of them the person surely typed, `statements` which are always kept and what
they are about. `relative_dates` writes behind `yesterday` the day that it means. `drafts` puts
these together. The words are in `mdmem.words`.
"""
