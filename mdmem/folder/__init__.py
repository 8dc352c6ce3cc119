"""A workspace's folder on disk: its layout, settings and files, and whom mdmem believes. Nothing
here knows git.
"""
