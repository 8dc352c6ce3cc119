"""Memory and conversations of other tools, from what they export, made memory of this workspace."""
