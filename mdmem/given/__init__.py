"""What sessions were given of memory, and how none of it comes back as new.

`sessions` keeps a record of each session in the state folder. `guard` takes blocks out of texts and tells what only repeats them. `transcript`
reads how far a session of Claude Code is. The last two are pure.
"""
