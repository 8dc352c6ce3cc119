"""Vectors of texts by the user's own model: off by default, and only a help to words.

`source` asks an endpoint or a command, `store` keeps vectors by text, `fill` embeds what has none.
"""
