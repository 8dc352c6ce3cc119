"""Review: advice, contradictions and proposals, made and listed, and decided by a person."""
