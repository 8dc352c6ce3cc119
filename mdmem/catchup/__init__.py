"""The index and the trail brought up to what is on disk and in git, in front of a query or in the
background.
"""
