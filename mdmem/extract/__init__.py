"""Draw the entries that are worth keeping from the messages of a session, by rules. Pure; no model, no clock, no files.

`sentences` cuts a message into its sentences. `pasted` tells which of them the person surely typed. `noise` says which of them say nothing. `always_kept` finds the statements that are always kept,
and their kinds; `weights` weighs all others. `attributes` names what a statement is about (`employer`, `home`), `corrections` finds what a
correction corrects, `relative_dates` writes behind `yesterday` the day that it means. `drafts` puts these together. The words are in
`english`.
"""
