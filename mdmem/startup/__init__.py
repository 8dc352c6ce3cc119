"""Start and end short-lived processes quickly: cheap records, late modules, a quick exit."""
