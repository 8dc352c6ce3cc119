"""Three versions of a memory file made one: `merging.merge3` merges two sides, `inverse_patch.undo`
takes a change back out of what came of it.
"""
