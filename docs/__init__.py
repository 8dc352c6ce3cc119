"""The pages of the documentation, found as the package `mdmem.docs`: `mdmem help` reads those that
are for users.
"""
