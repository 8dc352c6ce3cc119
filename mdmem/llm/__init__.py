"""The model step: one request to the user's model, one answer, and a check of all that it says.

The model decides nothing: source, confidence and file are never its to say. Pure: `requests`
writes, `checks` reads and judges answers by `grounding`. `asking` sends a request by `server` or
`endpoints`, keeps answers that were paid for, and counts tokens.
"""
