"""Search: entries out of documents, an index that can be deleted at any time, queries and their
ranking.
"""
