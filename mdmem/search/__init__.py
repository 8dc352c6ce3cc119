"""Search: entries of documents, a disposable index, queries and their ranking."""
