"""Three versions of a memory file made one: by `merging.merge3`, or `inverse_patch.undo`."""
