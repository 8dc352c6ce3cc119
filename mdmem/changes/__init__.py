"""Changes of memory: planned, carried out, recovered and reverted."""
