"""Three-way merge of memory files, by section and fact; the way in is `merging.merge3`."""
