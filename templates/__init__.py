"""What `mdmem init` and a new day's log begin with: data, found as the package
`mdmem.templates`.
"""
