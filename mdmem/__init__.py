"""mdmem: an agent's long-term memory in Markdown files, with git as its history."""

__version__ = "0.3.0"
