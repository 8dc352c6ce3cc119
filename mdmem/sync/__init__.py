"""Sync: this machine and the remote of its branch brought together.

`syncing` takes the steps: fetch, combine, land, push. `combining` compares the two sides and merges
them, proposals included; `purged_line` brings a purge to the other side. `outgoing` says what may
not be sent. `sync_state` remembers where both were last, and when one is due by itself; `status`
shows it. `incoming` tells what came in that a commit here would have been refused for.
Files are put in place by `changes.landing`.
"""
