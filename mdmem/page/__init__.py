"""The web page, for one person on one machine to read memory and to decide on changes."""
