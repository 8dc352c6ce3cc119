"""The verbs that only read: search, show, history, blame; with memory as it was, dates in words,
lookup of facts.
"""
