"""The model step: one request to a model that the user has set, one answer, and a check by code of
all that it says.

`requests` writes the text of a request from the `instructions`; `answers` reads the text of an
answer, fenced, among prose or cut. `extraction` and `consolidation` check what an answer suggests
for their task, by `grounding` above all. These are pure. `asking` sends a request, by `server` or
`command`, keeps what was paid for (`kept_answers`), and counts tokens (`request_log`). The model
decides nothing: source, confidence and file are never its to say.
"""
