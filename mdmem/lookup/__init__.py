"""Looking up what is meant: facts, files, sections and days, and which of them are current."""
