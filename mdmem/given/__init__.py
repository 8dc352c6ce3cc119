"""Keep record of the entries that sessions were given, so that none of them comes back as a new one.

`sessions` keeps a record of each session in the state folder. `guard` takes blocks out of texts, and drops texts that only repeat memory.
`transcript` reads the progress of a session of Claude Code, `summary` the lines to be kept at a compaction. The last three are pure.
"""
