"""Have git merge memory files by section and fact, and make its merges again."""
