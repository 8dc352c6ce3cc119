"""Sync: this machine and the remote of its branch brought together.

`syncing` takes the steps: fetch, combine, land, push. `combining` compares the two sides and merges
them, `outgoing` says what may not be sent, `sync_state` remembers where both stood last, and
`standing` tells it in the status. Files are put in place by `changes.landing`.
"""
