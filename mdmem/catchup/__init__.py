"""Bring the index and the trail up to date, before a query or in the background."""
