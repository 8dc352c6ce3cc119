"""The views: each makes the values of a template, and JSON, from memory."""
