"""The index: entries of documents, queries and ranking, and how it is brought up to date."""
