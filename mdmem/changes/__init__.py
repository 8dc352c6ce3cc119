"""What writes: a change is planned, applied and committed, or undone; what a killed process left is recovered."""
