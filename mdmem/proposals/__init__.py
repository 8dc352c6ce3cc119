"""Proposals on branches of their own: read, judged against memory as it is, and put onto it part by
part. `pieces` and `taking` are pure.
"""
