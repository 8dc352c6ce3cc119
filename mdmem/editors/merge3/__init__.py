"""Three versions of a memory file made one: `merging.merge3` merges, `inverse_patch.undo` reverts."""
