"""The web page for one person on one machine: what memory says, and what that person decides."""
