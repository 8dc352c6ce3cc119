"""Digests: what is new in the transcripts of sessions, as entries of the days on which it was said.

`cursors` keeps how far each transcript is read, in the state folder. `days` makes changes of logs from what was drawn. `digesting` reads the
transcripts and carries the changes out, each as a commit. Kill it anywhere: commits that exist count, and the rest is read again.
"""
