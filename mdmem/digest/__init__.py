"""Digests: what is new in the transcripts of sessions, as entries of the days on which it was said.

`sources` finds the transcripts, `cursors` keeps how far each is read, `marks` in which session each
message was, and `rebuilding` makes that again from commits. `news` reads what is new in one and
draws the entries, `judging` says which of them are written, `days` makes changes of logs from them,
and `writing` carries these out, each as a commit. `work` goes from one transcript to the next,
`digesting` is the verb, a step of a pipeline (`mdmem.steps`); `overview` sums up for `status`. Kill
it anywhere: commits that exist count, and the rest is read again. `purging` keeps digests from
bringing back what was purged.
"""
