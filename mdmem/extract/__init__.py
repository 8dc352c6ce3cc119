"""Find entries worth keeping in the messages of a session, by rules. Pure.

`sentences` splits and weighs messages, `plain` finds sentences that the person surely typed,
`statements` those always kept, `relative_dates` adds dates; `drafts` combines them.
"""
