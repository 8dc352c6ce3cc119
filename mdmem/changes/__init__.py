"""Changes of memory: planned, carried out, recovered, reverted, purged."""
