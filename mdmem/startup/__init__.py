"""Start and end short-lived processes quickly: cheap records, late patterns, a quick exit."""
