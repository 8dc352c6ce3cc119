"""Start and end a short-lived process quickly: records made without generated code, modules loaded
late, a way out.
"""
