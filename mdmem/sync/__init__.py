"""Sync: this machine and the remote of its branch brought together.

`syncing` takes the steps: fetch, combine, land, push. `combining` compares the two sides and merges
them, `shared_proposals` does so with proposals, and `purged_line` brings a purge to the other side.
`outgoing` says what may not be sent, `pulled_secrets` what should not have come, `sync_state`
remembers where both were last, and `status` shows it. `automatic` says when one is due by itself.
Files are put in place by `changes.landing`.
"""
