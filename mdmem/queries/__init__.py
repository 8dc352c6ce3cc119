"""The reading verbs, with past memory, dates in words and the lookup of facts."""
