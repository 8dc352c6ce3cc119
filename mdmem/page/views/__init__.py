"""The pages, one function each: what memory says, as values for a template and as JSON."""
