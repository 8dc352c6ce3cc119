"""The health of a workspace: findings of the doctor, figures, timers, the state of its sync.

`doctor` examines and repairs by checks (`repository`, `contents`, `state`, `hosts`); `stats` has
figures of events, `schedule` timers, `sync_status` the state of a sync, with what `incoming` tells
of what came in.
"""
