"""Digests: new transcript lines of sessions become entries of their days' logs.

`cursors` stores how far each transcript is read (`news` rebuilds that from commits) and the session
of each message. `news` draws entries, `judging` selects and groups them by day, `writing` commits
them. `digesting` handles one transcript after another, and `overview` sums up for `status`. It can
be killed anywhere: existing commits count, and the rest is read again. `purging` keeps digests from
restoring purged text.
"""
