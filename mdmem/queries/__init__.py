"""What only reads: search, show and history, memory as it was, days in words, which fact is meant."""
