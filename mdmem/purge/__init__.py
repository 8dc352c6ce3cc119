"""Forget for good: a text or a fact, out of every commit, branch, index and state."""
