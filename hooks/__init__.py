"""The shims for git's hooks, as `mdmem hooks install` writes them: data, found as the package
`mdmem.hooks`.
"""
